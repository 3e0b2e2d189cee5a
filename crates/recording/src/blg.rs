//! perfmon's binary logs (`.blg`), as PDH writes them.
//!
//! The layout was found out from the bytes of real logs, written by Windows Vista and Windows 8. A log is
//! an event trace: buffers of one size, each with events aligned to 8 bytes. A record of the log is cut
//! into parts of at most 8,000 bytes; each part is an event. These events are read:
//!
//! | event | record |
//! |---|---|
//! | 0x20 | the catalogue: the counters that were to be recorded, one entry for each sub-record of a sample |
//! | 0x22 | a sample, which consists of sub-records |
//! | 0x24 | titles: the machine's name, then alternately an index and a name |
//!
//! A sub-record of kind 0x0503 is a data block with one object, one of kind 0x0103 is a counter, and one of
//! kind 0x0203 is several instances of a counter. Both kinds of counters are made into blocks, too ([`counters`]).

mod catalogue;
mod counters;
mod events;
mod trace;
mod write;

pub use write::{BinaryLogCounters, BinaryLogWriter};

use crate::files::error;
use crate::names::{MadeUpNames, is_made_up};
use crate::replay::{Sample, Samples, SeenObjects};
use catalogue::Entry;
use counters::{Counters, whole_quarters, without_objects};
use events::{Events, Place, Record};
use perfhive_engine::{
    CatalogueObject, Fault, FaultKind, Frame, SourceError, SourceErrorKind, Span,
};
use perfhive_format::titles::TitleList;
use perfhive_format::winperf::SYSTEMTIME;
use perfhive_format::{DataBlock, FileTime};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The length of a buffer's header in bytes.
const BUFFER_HEADER: usize = 0x48;
/// The kind of the first buffer of a log, which describes the trace.
const FILE_HEADER: u16 = 4;
/// The kind of an event with a part of the catalogue.
const CATALOGUE: u8 = 0x20;
/// The kind of an event with a part of a sample.
const SAMPLE: u8 = 0x22;
/// The kind of an event with a part of the titles.
const TITLES: u8 = 0x24;
/// The length in bytes of the head of a record or sub-record: `BL`, its kind, and its length with the head.
const HEAD: usize = 8;
/// The kind of a record with a sample.
const OF_SAMPLE: u16 = 0x0003;
/// The kind of a sub-record with a data block.
const OF_BLOCK: u16 = 0x0503;
/// The kind of a sub-record with a single counter.
const OF_COUNTER: u16 = 0x0103;
/// The kind of a sub-record with several instances of a counter.
const OF_COUNTERS: u16 = 0x0203;

/// The most faults of a log that are kept; further ones are only counted.
const MOST_FAULTS: usize = 64;

/// The most bytes of a record that is built from its parts.
const LONGEST_RECORD: usize = 128 << 20;

/// The largest difference between a time zone and UTC, in steps of 100 ns.
const MOST_BIAS: i64 = 14 * 3600 * FileTime::PER_SECOND;
/// The largest difference between a [lag](Events::lag) and the nearest time zone, in steps of 100
/// ns: a lag that differs more does not show the log's zone.
const MOST_REST: u64 = 60 * FileTime::PER_SECOND as u64;

/// The most machines of a log that have a data block in each sample. A machine beyond these has a block only in the
/// samples in which it has values.
const MOST_MACHINES: usize = 256;

/// The most [marks](Mark) of a log that are kept for seeking.
const MOST_MARKS: usize = 4096;

/// Whether a path is a file that begins as a binary log of perfmon does; `false` where it cannot be read.
pub(crate) fn is_log(path: &Path) -> bool {
    let mut first = [0; BUFFER_HEADER];
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && begins_log(&first)
}

/// Whether these bytes begin as the first buffer of a log does.
fn begins_log(buffer: &[u8]) -> bool {
    let size = u32_at(buffer, 0).unwrap_or(0);
    size.is_power_of_two()
        && (0x400..=0x0100_0000).contains(&size)
        && u16_at(buffer, 0x36) == Some(FILE_HEADER)
        && !buffer.starts_with(b"P\0E\0R\0F\0")
}

/// The samples of a binary log of perfmon. The log is read buffer by buffer, so that memory does
/// not grow with the number of samples.
pub(crate) struct BinaryLog<R> {
    name: String,
    events: Events<R>,
    record: Record,
    /// The catalogue: for each sub-record of a sample, in the same order, the counters that it has.
    entries: Vec<Entry>,
    names: MadeUpNames,
    counters: Counters,
    /// The titles of the log, in English, and the made-up titles.
    titles: TitleList,
    /// The faults of the log: damage, and parts that are not read.
    faults: Vec<Fault>,
    /// The number of faults beyond [`MOST_FAULTS`].
    more_faults: usize,
    /// The counters without a value, by path and by PDH's status: the number of the first sample with that status, and
    /// how many samples have it. At most [`MOST_FAULTS`] are kept, until they become faults at the end of the first
    /// reading.
    missing: BTreeMap<(String, u32), (u64, u64)>,
    /// Whether the log is read for the first time. Faults are added only then.
    is_first: bool,
    /// The number of the sample that was read last, from 1; 0 before the first.
    number: u64,
    /// The machines of the log, each with the frequency of its performance counter; the first is the log's own.
    machines: Vec<(String, i64)>,
    objects: Vec<CatalogueObject>,
    span: Span,
    marks: Vec<Mark>,
    /// The number of samples from one mark to the next.
    stride: u64,
    /// The sample that a seek found; it is the next one to return.
    found: Option<Sample>,
}

/// A remembered sample: where it begins, its number from 1, and its time.
#[derive(Clone, Copy)]
struct Mark {
    place: Place,
    number: u64,
    time: FileTime,
    /// The latest time among the samples from this one up to the next mark. Where the clock was set
    /// back, it may be later than the time of the last of these samples.
    latest: FileTime,
}

impl BinaryLog<BufReader<File>> {
    /// Opens a log and reads all of it. Names that got made-up indexes in earlier logs (`before`)
    /// keep these, unless this log has indexes for them.
    ///
    /// # Errors
    /// [`SourceErrorKind::Malformed`] where the log has no sample that can be read, [`SourceErrorKind::Mismatch`] where
    /// the frequency of its own machine's performance counter changes, [`SourceErrorKind::Unavailable`] where the file
    /// cannot be read.
    pub(crate) fn open(path: &Path, before: &MadeUpNames) -> Result<Self, SourceError> {
        let failed = |cause| error(path, SourceErrorKind::Unavailable, cause);
        let file = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
        Self::of(&path.display().to_string(), file, before)
    }
}

impl<R: Read + Seek> BinaryLog<R> {
    /// Reads all of a log; `name` is the file's name for messages, `before` has the names that got
    /// made-up indexes in earlier logs.
    pub(crate) fn of(name: &str, input: R, before: &MadeUpNames) -> Result<Self, SourceError> {
        let failed = |cause| SourceError::new(SourceErrorKind::Unavailable, name, cause);
        let mut log = Self {
            name: name.to_string(),
            events: Events::new(input).map_err(failed)?,
            record: Record::default(),
            entries: Vec::new(),
            names: MadeUpNames::default(),
            counters: Counters::default(),
            titles: TitleList::default(),
            faults: Vec::new(),
            more_faults: 0,
            missing: BTreeMap::new(),
            is_first: true,
            number: 0,
            machines: Vec::new(),
            objects: Vec::new(),
            span: Span::new(FileTime(0), FileTime(0), 0),
            marks: Vec::new(),
            stride: 1,
            found: None,
        };
        log.read_about(before)?;
        log.read_once()?;
        Ok(log)
    }

    fn failed(&self, cause: impl std::fmt::Display) -> SourceError {
        SourceError::new(SourceErrorKind::Unavailable, &self.name, cause)
    }

    /// Reads the titles and the catalogue, which may stand behind the samples that need them, and finds out the
    /// difference between local time and UTC.
    fn read_about(&mut self, before: &MadeUpNames) -> Result<(), SourceError> {
        let (mut titles, mut catalogue) = (Vec::new(), Vec::new());
        let mut bias: Option<i64> = None;
        while let Some(event) = self.events.next().map_err(|cause| self.failed(cause))? {
            // The last event of a buffer is as old as the writing of the buffer, or older by about one sample.
            if let Some(lag) = self.events.lag(&event) {
                let zone = whole_quarters(lag);
                if zone.abs() <= MOST_BIAS && lag.abs_diff(zone) <= MOST_REST {
                    bias = Some(bias.map_or(zone, |least| least.min(zone)));
                }
            }
            let data = self.events.data(&event);
            let (into, data) = match event.kind {
                TITLES => (&mut titles, without_machine(data)),
                CATALOGUE => (&mut catalogue, data),
                _ => continue,
            };
            if into.len() + data.len() <= LONGEST_RECORD {
                into.extend_from_slice(data);
            }
        }
        self.titles = TitleList::from_multi_sz(&titles);
        // An index that was made up when another log was read may stand for another name here.
        self.titles.titles.retain(|title| !is_made_up(title.index));
        self.names = MadeUpNames::with(&self.titles, before);
        self.entries = catalogue::read(&catalogue);
        self.counters = Counters::new(&self.entries).with_bias(bias);
        for message in self.counters.left_out() {
            self.fault(format_args!("{message}"));
        }
        Ok(())
    }

    /// Reads all samples to find the log's machines, objects, span, marks and faults.
    fn read_once(&mut self) -> Result<(), SourceError> {
        self.rewind(None)?;
        let mut seen = SeenObjects::default();
        while let Some((mark, sample)) = self.read()? {
            let Some(first) = sample.frames.first() else { continue };
            let (time, perf_freq) = (first.time(), first.clocks().perf_freq);
            if self.span.samples == 0 {
                self.span.begin = time;
            } else if let Some((machine, known)) = self.machines.first()
                && first.machine() == machine
                && perf_freq != *known
            {
                let message = format!(
                    "sample {} has a clock of {perf_freq} Hz, but the first one of {known} Hz: these \
                     are not samples of one machine",
                    mark.number
                );
                return Err(SourceError::new(SourceErrorKind::Mismatch, &self.name, message));
            }
            self.span.goes_back |= time < self.span.end;
            self.span.end = time;
            self.span.samples += 1;
            self.mark(mark);
            for frame in &sample.frames {
                seen.add(frame);
                if self.machines.len() < MOST_MACHINES
                    && !self.machines.iter().any(|(machine, _)| machine == frame.machine())
                {
                    let frequency = frame.clocks().perf_freq;
                    self.machines.push((frame.machine().to_string(), frequency));
                }
            }
        }
        self.objects = seen.objects;
        if self.record.is_open() {
            self.warn(self.events.start, "the log ends in the middle of a sample");
        }
        if self.span.samples == 0 {
            let why = match self.faults.first() {
                Some(fault) => fault.message.to_string(),
                None => "no sample".to_string(),
            };
            let message =
                format!("a binary log of perfmon without a sample that can be read ({why})");
            return Err(SourceError::new(SourceErrorKind::Malformed, &self.name, message));
        }
        // A counter that many samples lack would hide the other faults.
        for ((path, status), (first, samples)) in std::mem::take(&mut self.missing) {
            let more = match samples - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            self.fault(format_args!(
                "sample {first}{more}: {path} has no value (status 0x{status:08X})"
            ));
        }
        if self.more_faults > 0 {
            let message = format!("and {} more faults of the log", self.more_faults);
            self.faults.push(Fault::new(FaultKind::Warning, &self.name, message));
        }
        self.is_first = false;
        self.titles.titles.extend(self.names.list().titles.iter().cloned());
        self.rewind(None)
    }

    /// Takes the mark of the next sample: raises `latest` of the mark kept last to the sample's time if that is later,
    /// and keeps the marks of every `stride`-th sample. Beyond [`MOST_MARKS`], every second mark is dropped and
    /// `stride` doubled.
    fn mark(&mut self, mark: Mark) {
        if let Some(last) = self.marks.last_mut() {
            last.latest = last.latest.max(mark.time);
        }
        if !(self.span.samples - 1).is_multiple_of(self.stride) {
            return;
        }
        self.marks.push(mark);
        if self.marks.len() > MOST_MARKS {
            let pairs = self.marks.chunks(2).filter_map(|pair| {
                let latest = pair.iter().map(|mark| mark.latest).max()?;
                Some(Mark { latest, ..*pair.first()? })
            });
            self.marks = pairs.collect();
            self.stride *= 2;
        }
    }

    /// Goes to a mark, or with `None` to the beginning of the log.
    fn rewind(&mut self, mark: Option<Mark>) -> Result<(), SourceError> {
        self.found = None;
        self.record = Record::default();
        self.number = mark.map_or(0, |mark| mark.number - 1);
        let place = mark.map_or(Place::default(), |mark| mark.place);
        self.events.go(place).map_err(|cause| self.failed(cause))
    }

    /// Reads the next sample with its mark; `None` behind the last sample. A sample with a missing part is left out
    /// with a fault.
    fn read(&mut self) -> Result<Option<(Mark, Sample)>, SourceError> {
        loop {
            let next = self.events.next().map_err(|cause| self.failed(cause))?;
            if let Some(start) = self.events.cut.take() {
                self.warn(start, "the log is cut off in the middle of a buffer");
            }
            if let Some(start) = self.events.another.take() {
                self.warn(
                    start,
                    "another log begins here and is left out: make a file of its own of it",
                );
            }
            let Some(event) = next else { return Ok(None) };
            if event.kind != SAMPLE {
                continue;
            }
            let added = self.record.add(&event, self.events.data(&event));
            if added.is_missing {
                let at = event.place.offset();
                self.warn(added.start.unwrap_or(at), "a part of the sample is missing");
            }
            if added.is_too_long {
                self.warn(event.place.offset(), "the sample is too large to be one");
            }
            if !added.is_complete {
                continue;
            }
            let place = self.record.place;
            let blocks = self.sample(place.offset());
            let mut frames = Vec::with_capacity(blocks.len());
            for block in blocks {
                match Frame::new(block, self.number + 1) {
                    Ok(frame) => frames.push(Arc::new(frame)),
                    Err(cause) => self.warn(place.offset(), &cause.to_string()),
                }
            }
            if let Some(time) = frames.first().map(|first| first.time()) {
                self.number += 1;
                self.complete(&mut frames);
                let mark = Mark { place, number: self.number, time, latest: time };
                return Ok(Some((mark, Sample { frames, faults: Vec::new() })));
            }
        }
    }

    /// Puts the frames of the log's own machine in front, and adds a frame without objects for each machine that has no
    /// value in the sample, since readers take the first frame for that of the log's own machine. Does nothing for a
    /// log of one machine, and while the log is read for the first time.
    fn complete(&self, frames: &mut Vec<Arc<Frame>>) {
        // The first time the log is read, its machines are not known yet.
        let [(own, _), _, ..] = self.machines.as_slice() else { return };
        if self.is_first {
            return;
        }
        frames.sort_by_key(|frame| frame.machine() != own);
        let Some(first) = frames.first().map(Arc::clone) else { return };
        let there: HashSet<String> =
            frames.iter().map(|frame| frame.machine().to_string()).collect();
        for (place, (machine, perf_freq)) in self.machines.iter().enumerate() {
            if there.contains(machine) {
                continue;
            }
            let times = (first.system_time(), first.time());
            let block = without_objects(machine, *perf_freq, times);
            if let Ok(frame) = Frame::new(block, first.generation()) {
                let place = if place == 0 { 0 } else { frames.len() };
                frames.insert(place, Arc::new(frame));
            }
        }
    }

    /// The data blocks of the sample in `self.record`. Damaged parts are left out and become faults. `at` is the
    /// sample's offset in the file, for messages.
    fn sample(&mut self, at: u64) -> Vec<Vec<u8>> {
        let record = std::mem::take(&mut self.record.bytes);
        let number = self.number + 1;
        let (mut blocks, mut others, mut place) = (Vec::new(), 0, 0);
        let Some((OF_SAMPLE, inside)) = head(&record, 0) else {
            self.warn(at, "the sample has no head");
            return blocks;
        };
        let mut next = inside.start;
        while next + HEAD <= inside.end.min(record.len()) {
            let Some((kind, inner)) =
                head(&record, next).filter(|(_, inner)| inner.end <= inside.end)
            else {
                self.warn(at, "the rest of the sample is damaged");
                break;
            };
            next = inner.end;
            let payload = record.get(inner).unwrap_or_default();
            let entry = self.entries.get(place).map(|entry| (place, entry));
            place += 1;
            let added = match (kind, entry) {
                (OF_BLOCK, _) => in_utc(payload).map(|block| blocks.push(block)),
                (OF_COUNTER, Some(entry)) => self.counters.add_single(entry, payload),
                (OF_COUNTERS, Some(entry)) => self.counters.add_several(entry, payload),
                _ => {
                    others += 1;
                    Some(())
                }
            };
            if added.is_none() {
                self.warn(at, "a part of the sample is damaged");
            }
        }
        if others > 0 {
            self.fault(format_args!("sample {number}: {others} parts are of an unknown kind"));
        }
        self.add_counters(number, &mut blocks);
        self.record.bytes = record;
        blocks
    }

    /// Makes blocks of the counters that the sample has one by one, and adds them to `blocks`; if `blocks` is still
    /// empty then, adds a block without objects. What is left out becomes a fault. `number` is the sample's number.
    fn add_counters(&mut self, number: u64, blocks: &mut Vec<Vec<u8>>) {
        for block in self.counters.blocks(&mut self.names) {
            match block {
                Ok(block) => blocks.push(block),
                Err(object) => self.fault(format_args!(
                    "sample {number}: the counters of {object} are not of one moment, and are left out"
                )),
            }
        }
        if std::mem::take(&mut self.counters.is_cut) {
            self.fault(format_args!("sample {number}: it has more instances than are read"));
        }
        if blocks.is_empty() {
            blocks.extend(self.counters.block_without_objects());
        }
        for missing in std::mem::take(&mut self.counters.missing) {
            let has_room = self.missing.len() < MOST_FAULTS;
            match self.missing.get_mut(&missing) {
                Some((_, samples)) if self.is_first => *samples += 1,
                None if self.is_first && has_room => {
                    self.missing.insert(missing, (number, 1));
                }
                None if self.is_first => self.more_faults += 1,
                _ => {}
            }
        }
        if number == 1 && !blocks.is_empty() && self.counters.is_local() {
            self.fault(format_args!("the log has local times only, which are taken for UTC"));
        }
    }

    fn warn(&mut self, at: u64, what: &str) {
        self.fault(format_args!("offset 0x{at:x}: {what}"));
    }

    fn fault(&mut self, message: std::fmt::Arguments<'_>) {
        if !self.is_first {
            return;
        }
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault::new(FaultKind::Warning, &self.name, message));
        } else {
            self.more_faults += 1;
        }
    }

    /// The titles of the log, in English, and the made-up titles.
    pub(crate) fn titles(&self) -> &TitleList {
        &self.titles
    }

    /// The names, with the title indexes that were made up for this log and for earlier ones.
    pub(crate) fn names(&self) -> &MadeUpNames {
        &self.names
    }

    /// The faults of the log: damage, and parts that are not read.
    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl<R: Read + Seek + Send> Samples for BinaryLog<R> {
    fn next(&mut self) -> Result<Option<Sample>, SourceError> {
        match self.found.take() {
            Some(sample) => Ok(Some(sample)),
            None => Ok(self.read()?.map(|(_, sample)| sample)),
        }
    }

    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        let Some(to) = to else { return self.rewind(None) };
        let found = self.marks.iter().find(|mark| mark.latest >= to);
        self.rewind(found.or(self.marks.last()).copied())?;
        while let Some((mark, sample)) = self.read()? {
            if mark.time >= to {
                self.found = Some(sample);
                break;
            }
        }
        Ok(())
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        Ok(self.span)
    }

    fn latest(&mut self) -> Result<FileTime, SourceError> {
        Ok(self.marks.iter().map(|mark| mark.latest).max().unwrap_or_default())
    }

    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError> {
        let own = self.machines.first().map(|(machine, _)| machine.clone());
        Ok((own.unwrap_or_default(), self.objects.clone()))
    }
}

/// The kind of the record or sub-record at an offset, and the range of its contents; `None` where its head is damaged.
fn head(record: &[u8], at: usize) -> Option<(u16, Range<usize>)> {
    let mark = record.get(at..at + 2)?;
    let length = u32_at(record, at + 4)? as usize;
    let end = at.checked_add(length)?;
    (mark == b"BL" && length >= HEAD).then(|| Some((u16_at(record, at + 2)?, at + HEAD..end)))?
}

/// A list of UTF-16 strings without its first string, the machine's name, and without the empty string at its end.
fn without_machine(strings: &[u8]) -> &[u8] {
    let mut units = strings.chunks_exact(2).enumerate();
    let first = units.find(|(_, unit)| **unit == [0, 0]).map_or(0, |(at, _)| 2 * (at + 1));
    let rest = strings.get(first..).unwrap_or_default();
    match rest.strip_suffix(&[0, 0]) {
        // The empty string that ends a list of strings.
        Some(list) if list.ends_with(&[0, 0]) => list,
        _ => rest,
    }
}

/// The block with its calendar time in UTC, as Windows' blocks have it: PDH writes the local time there. `None` where
/// the block's header is damaged.
fn in_utc(block: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = block.to_vec();
    let mut header = DataBlock::scan(block).ok()?.0.header();
    let time = FileTime(header.PerfTime100nSec).to_system_time();
    header.SystemTime = SYSTEMTIME {
        wYear: time.year,
        wMonth: time.month,
        wDayOfWeek: time.day_of_week,
        wDay: time.day,
        wHour: time.hour,
        wMinute: time.minute,
        wSecond: time.second,
        wMilliseconds: time.milliseconds,
    };
    header.write(&mut bytes)?;
    Some(bytes)
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
