//! Writes a binary log that has its counters one by one, not as data blocks.
//!
//! A log has titles, a catalogue, and samples. In a sample, each counter has a sub-record; the sub-record of a counter
//! with instances holds all instances. So the counters of any source can be written. The log has the raw numbers of
//! each counter (value, and base or clock), from which every program cooks its own values.

use super::catalogue::{self, ALL, Entry};
use super::counters::{clock_of, uses};
use super::trace::{PART, Trace, TraceHead};
use super::{CATALOGUE, HEAD, OF_COUNTER, OF_COUNTERS, OF_SAMPLE, SAMPLE, TITLES};
use crate::files::write_error;
use crate::text_log::TextZone;
use perfhive_engine::{Identity, Query, Reading, SourceError, TitleDatabase};
use perfhive_format::{Clock, CounterType, FileTime, RawSample, TimerFacet, TitleIndex};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The status of a counter without a value: `PDH_CSTATUS_INVALID_DATA`.
const NO_VALUE: u32 = 0xC000_0BBA;

/// The counters that a binary log will have, in the order in which they were added.
#[derive(Default)]
pub struct BinaryLogCounters {
    entries: Vec<Entry>,
    /// For the names of a machine, an object and a counter: the place of the entry, and the number of the recording
    /// that it is from.
    names: HashMap<[String; 3], (usize, usize)>,
    places: HashMap<Key, usize>,
    /// The number, from 0, of the recording that is being added or written, to which title indexes belong.
    recording: usize,
    conflict: Option<String>,
    perf_freq: i64,
    /// The frequency of each machine's performance counter, by the machine's name in small letters.
    frequencies: HashMap<String, i64>,
}

/// A counter of a recording: the number of the recording, the machine, and the indexes of object and counter.
type Key = (usize, Arc<str>, TitleIndex, TitleIndex);

impl BinaryLogCounters {
    /// Adds the counter of a reading, unless it was added before or the reading has no raw value.
    /// The log gets the counter's English name.
    pub fn add(&mut self, query: &Query, reading: &Reading) {
        let Some(raw) = &reading.raw else { return };
        let key = (self.recording, Arc::clone(&reading.machine), reading.object, reading.counter);
        if let Some(known) = self.places.get(&key).map(|place| self.entries.get(*place)) {
            // The machine may have another clock from a later file of the recording on.
            let new = frequency(reading.counter_type, raw);
            let has_other_clock = known.is_some_and(|known| {
                new != known.frequency && new != 0 && uses(known, Clock::Perf)
            });
            if has_other_clock {
                self.conflict.get_or_insert_with(|| query.english_path_of(reading).to_string());
            }
            return;
        }
        let (object, counter) = query.english_names_of(reading);
        let new = Entry {
            is_whole: false,
            machine: reading.machine.to_string(),
            object,
            instance: reading.instance.as_ref().map(|_| ALL.to_string()),
            counter,
            counter_type: reading.counter_type,
            frequency: frequency(reading.counter_type, raw),
            scale: reading.scale,
        };
        // Readers take the performance counter of a machine for one.
        let has_other_clock = uses(&new, Clock::Perf) && new.frequency != 0 && {
            let known = self.frequencies.entry(new.machine.to_lowercase());
            *known.or_insert(new.frequency) != new.frequency
        };
        if has_other_clock {
            self.conflict.get_or_insert_with(|| query.english_path_of(reading).to_string());
        }
        // Readers find a counter by its names, so the log has each once, whatever its indexes.
        let names = [&new.machine, &new.object, &new.counter].map(String::clone);
        let own = (self.entries.len(), self.recording);
        let (place, recording) = *self.names.entry(names).or_insert(own);
        self.places.insert(key, place);
        match self.entries.get(place) {
            None => {
                if place == 0 {
                    self.perf_freq = raw.clocks.perf_freq;
                }
                self.entries.push(new);
            }
            Some(known) if recording < self.recording && !known.has_numbers_of(&new) => {
                let path = query.english_path_of(reading).to_string();
                self.conflict.get_or_insert(path);
            }
            Some(_) => {}
        }
    }

    /// Begins a further recording, in which title indexes may have other names. The counters that
    /// are added from now on are those of this recording. When samples are written, the recordings
    /// must follow in the same order ([`BinaryLogWriter::next_recording`]).
    pub fn next_recording(&mut self) {
        self.recording += 1;
    }

    /// The path of the first counter with values that cannot be in one log with those of the
    /// counters before it; `None` if there is none. It is in an earlier recording too, and there it
    /// has another type or frequency, or only one of the two has instances. Or it takes the
    /// machine's performance counter, which has another frequency for a counter before it.
    #[must_use]
    pub fn conflict(&self) -> Option<&str> {
        self.conflict.as_deref()
    }

    /// Whether no counter was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The counter's frequency in Hz, which PDH calls its time base: that of the clock of its type, or
/// that of the performance counter for types without a clock.
fn frequency(counter_type: CounterType, raw: &RawSample) -> i64 {
    match counter_type.timer() {
        TimerFacet::Ns100 => FileTime::PER_SECOND,
        TimerFacet::Object => raw.clocks.object_freq,
        _ => raw.clocks.perf_freq,
    }
}

/// The numbers that PDH records of a counter: `first` is the raw value, `second` the reading of a clock or the base,
/// and `multi` the number of timers (0 for types without).
#[derive(Clone, Copy)]
struct Pair {
    first: u64,
    second: u64,
    multi: u32,
}

impl Pair {
    fn of(counter_type: CounterType, raw: &RawSample) -> Self {
        let base = raw.base.unwrap_or_default();
        let clock = clock_of(counter_type).map(|clock| clock.time(&raw.clocks) as u64);
        // The base of a type with a clock is the number of timers.
        let multi = if clock.is_some() { base as u32 } else { 0 };
        Self { first: raw.value, second: clock.unwrap_or(base), multi }
    }
}

/// The values of an entry in a sample.
#[derive(Default)]
struct Values {
    single: Option<Pair>,
    rows: Vec<(String, Pair)>,
    /// For each instance name, how many of the rows have it.
    orders: HashMap<String, u32>,
}

/// A binary log of perfmon (`.blg`) that is being written.
pub struct BinaryLogWriter {
    path: PathBuf,
    file: Option<File>,
    trace: Option<Trace<File>>,
    counters: BinaryLogCounters,
    titles: Vec<Vec<u8>>,
    zone: TextZone,
    values: Vec<Values>,
    seen: HashSet<(usize, Option<Identity>)>,
    record: Vec<u8>,
}

impl BinaryLogWriter {
    /// Creates a log with these counters. A file that exists is replaced. `titles` is the English
    /// title database of the machine, from which the log gets its list of titles; `zone` is the
    /// time zone of the log's times.
    ///
    /// # Errors
    /// An error where the file cannot be created.
    pub fn create(
        path: impl AsRef<Path>,
        zone: TextZone,
        counters: BinaryLogCounters,
        titles: &TitleDatabase,
    ) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|cause| write_error(path, &cause))?;
        let machine = counters.entries.first().map_or("", |entry| &entry.machine);
        let titles = records_of_titles(machine, titles.all());
        let values = counters.entries.iter().map(|_| Values::default()).collect();
        let counters = BinaryLogCounters { recording: 0, ..counters };
        Ok(Self {
            path: path.to_path_buf(),
            file: Some(file),
            trace: None,
            counters,
            titles,
            zone,
            values,
            seen: HashSet::new(),
            record: Vec::new(),
        })
    }

    /// Appends a sample; `time` is its time in UTC. A reading is left out if it has no raw value,
    /// if the log does not have its counter, if the counter's type or frequency, or whether it has
    /// instances, has changed since it was added to the log's counters, or if an earlier reading of
    /// the sample has the same counter and instance.
    ///
    /// # Errors
    /// An error where the file cannot be written.
    pub fn add(&mut self, time: FileTime, readings: &[Reading]) -> Result<(), SourceError> {
        self.seen.clear();
        for values in &mut self.values {
            values.single = None;
            values.rows.clear();
            values.orders.clear();
        }
        for reading in readings {
            self.take(reading);
        }
        self.fill_record(time);
        let failed = |cause| write_error(&self.path, &cause);
        if self.trace.is_none() {
            self.trace = self.file.take().map(|file| self.begin(file, time)).transpose()?;
        }
        match &mut self.trace {
            Some(trace) => trace.record(SAMPLE, time, &self.record).map_err(failed),
            // An earlier sample failed to begin the log.
            None => Err(failed(std::io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Begins the next recording: the readings that are added from now on have its indexes
    /// ([`BinaryLogCounters::next_recording`]).
    pub fn next_recording(&mut self) {
        self.counters.recording += 1;
    }

    /// Writes the trace's head, the titles and the catalogue, which stand in front of the samples.
    fn begin(&self, file: File, time: FileTime) -> Result<Trace<File>, SourceError> {
        let random = [0, 1].map(|part| RandomState::new().hash_one(part)).map(u64::to_le_bytes);
        let mut guid = [0; 16];
        guid.iter_mut().zip(random.as_flattened()).for_each(|(to, from)| *to = *from);
        // The version and variant of a random UUID.
        (guid[7], guid[8]) = (guid[7] & 0x0f | 0x40, guid[8] & 0x3f | 0x80);
        let head = TraceHead {
            guid,
            file: self.path.display().to_string(),
            zone: self.zone.clone(),
            perf_freq: self.counters.perf_freq,
            begin: time,
        };
        let written = || {
            let mut trace = Trace::new(file, head)?;
            for record in &self.titles {
                trace.record(TITLES, time, record)?;
            }
            trace.record(CATALOGUE, time, &catalogue::write(&self.counters.entries))?;
            Ok(trace)
        };
        written().map_err(|cause| write_error(&self.path, &cause))
    }

    fn take(&mut self, reading: &Reading) {
        let Some(raw) = &reading.raw else { return };
        let recording = self.counters.recording;
        let key = (recording, Arc::clone(&reading.machine), reading.object, reading.counter);
        let Some(place) = self.counters.places.get(&key).copied() else { return };
        let entry = self.counters.entries.get(place);
        let Some((entry, values)) = entry.zip(self.values.get_mut(place)) else { return };
        if entry.counter_type != reading.counter_type
            || (entry.has_clock() && entry.frequency != frequency(entry.counter_type, raw))
            || entry.instance.is_some() != reading.instance.is_some()
            || !self.seen.insert((place, reading.identity.clone()))
        {
            return;
        }
        let pair = Pair::of(reading.counter_type, raw);
        let Some(label) = &reading.instance else {
            values.single = Some(pair);
            return;
        };
        let parent = label.parent.as_ref().map_or(String::new(), |parent| format!("{parent}/"));
        let name = format!("{parent}{}", label.name);
        let order = values.orders.entry(name.clone()).or_default();
        // Readers number instances of one name by their order in the log. If an earlier instance of
        // the name has no value, that order would be wrong, so the name is written with its number.
        let name = match *order == label.order {
            true => name,
            false => format!("{name}#{}", label.order),
        };
        *order += 1;
        values.rows.push((name, pair));
    }

    /// Makes the record of the sample in `self.record` from `self.values`; `time` is the sample's time in UTC.
    fn fill_record(&mut self, time: FileTime) {
        let local = self.zone.local(time);
        let record = &mut self.record;
        record.clear();
        with_head(record, OF_SAMPLE, |record| {
            for (entry, values) in self.counters.entries.iter().zip(&self.values) {
                match entry.instance {
                    None => with_head(record, OF_COUNTER, |record| {
                        push_single(record, local, values.single);
                    }),
                    Some(_) => with_head(record, OF_COUNTERS, |record| {
                        push_several(record, local, &values.rows);
                    }),
                }
            }
        });
    }

    /// Writes what is buffered, so that readers see all samples so far. Returns the file's length
    /// in bytes; 0 before the first sample.
    ///
    /// # Errors
    /// An error where the file cannot be written.
    pub fn flush(&mut self) -> Result<u64, SourceError> {
        let flushed = self.trace.as_mut().map_or(Ok(0), Trace::flush);
        flushed.map_err(|cause| write_error(&self.path, &cause))
    }

    /// Writes what is buffered and ends the log. Returns its length in bytes; 0 if no sample was
    /// added, in which case the file is empty.
    ///
    /// # Errors
    /// An error where the file cannot be written.
    pub fn finish(mut self) -> Result<u64, SourceError> {
        self.flush()
    }
}

/// The records of the titles, each of at most [`PART`] bytes: the machine's name, then as many pairs
/// of index and name as fit. A name that does not fit into a record of its own is left out.
pub(super) fn records_of_titles(machine: &str, titles: Vec<(TitleIndex, &str)>) -> Vec<Vec<u8>> {
    let text = |text: &str| -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    };
    let start = text(&format!(r"\\{machine}"));
    let mut records: Vec<Vec<u8>> = Vec::new();
    for (index, name) in titles {
        let pair = [text(&index.0.to_string()), text(name)].concat();
        match records.last_mut() {
            Some(last) if last.len() + pair.len() <= PART => last.extend(pair),
            _ if start.len() + pair.len() <= PART => {
                records.push([start.as_slice(), &pair].concat());
            }
            // A name that does not fit into a record is left out.
            _ => {}
        }
    }
    records
}

/// Appends a record or sub-record: its head, and the contents that `inside` adds, padded to a
/// multiple of 8 bytes.
fn with_head(record: &mut Vec<u8>, kind: u16, inside: impl FnOnce(&mut Vec<u8>)) {
    let start = record.len();
    record.extend(*b"BL");
    record.extend(kind.to_le_bytes());
    record.extend([0; 4]);
    inside(record);
    record.resize(start + (record.len() - start).next_multiple_of(8), 0);
    let length = (record.len() - start) as u32;
    if let Some(field) = record.get_mut(start + 4..start + HEAD) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}

/// Appends a `PDH_RAW_COUNTER`: the status, the local time, both numbers, and the number of timers.
/// Without a value, the status is [`NO_VALUE`] and the numbers are 0.
fn push_single(record: &mut Vec<u8>, local: FileTime, value: Option<Pair>) {
    record.extend(value.map_or(NO_VALUE, |_| 0).to_le_bytes());
    record.extend(local.0.to_le_bytes());
    record.extend([0; 4]);
    let value = value.unwrap_or(Pair { first: 0, second: 0, multi: 0 });
    record.extend(value.first.to_le_bytes());
    record.extend(value.second.to_le_bytes());
    record.extend(value.multi.to_le_bytes());
    record.extend([0; 4]);
}

/// Appends all instances of a counter: the length in bytes, the number of instances, the status and
/// the local time; for each instance the offset of its name, the number of timers, and both
/// numbers; then the names.
fn push_several(record: &mut Vec<u8>, local: FileTime, rows: &[(String, Pair)]) {
    let names: Vec<Vec<u8>> = rows
        .iter()
        .map(|(name, _)| name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect())
        .collect();
    let mut at = 24 + 24 * rows.len();
    let length = at + names.iter().map(Vec::len).sum::<usize>();
    for value in [length as u32, rows.len() as u32, 0, 0] {
        record.extend(value.to_le_bytes());
    }
    record.extend(local.0.to_le_bytes());
    for ((_, value), name) in rows.iter().zip(&names) {
        record.extend((at as u32).to_le_bytes());
        record.extend(value.multi.to_le_bytes());
        record.extend(value.first.to_le_bytes());
        record.extend(value.second.to_le_bytes());
        at += name.len();
    }
    names.iter().for_each(|name| record.extend(name));
}
