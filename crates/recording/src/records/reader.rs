//! A file of records as the samples of a recording: one at each time at which something happened.
//!
//! The file is read as a whole, since the lines of several event sources are not in the order of time.
//! What is kept of a line takes less memory than the line.

use super::{EventBlocks, RecordKind, RecordLine, RecordLines};
use crate::files::error;
use crate::replay::{Sample, Samples};
use perfhive_engine::measure::SensorName;
use perfhive_engine::{
    CatalogueObject, Fault, FaultKind, SourceError, SourceErrorKind, Span, TitleDatabase,
};
use perfhive_format::FileTime;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The largest number of sensors, by name, that are read; others are left out.
const MOST_SENSORS: usize = 4096;
/// The largest number of happenings that are kept: with their values some gigabytes of memory.
const MOST_HAPPENINGS: usize = 1 << 25;
/// The largest number of values of happenings that are kept.
const MOST_VALUES: usize = 1 << 27;

/// The index of an event that has no place among the counted names.
const NO_EVENT: u32 = u32::MAX;

/// Something that happened at a time, from a line of the file.
#[derive(Clone, Copy, Debug)]
struct Happening {
    time: FileTime,
    event: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// An event. `is_behind_gap` says that events of its name may be missing before it, `is_by_clock` that its source
    /// has an interval. `values` is the index of its first value, and `count` the number of its values.
    Event { kind: RecordKind, is_behind_gap: bool, is_by_clock: bool, values: u32, count: u32 },
    /// The end of the experiment, at which nothing else happens.
    Nothing,
    /// The end of a section, with the seconds that it took and those of its thread's processor time, both without the
    /// calls inside it; NaN for a time that is not known.
    Section { seconds: f64, thread_seconds: f64 },
}

/// The samples of a file of records.
pub(crate) struct EventRecords {
    blocks: EventBlocks,
    /// The happenings in the order of time.
    happenings: Vec<Happening>,
    /// The values that were read, each with the index of its sensor; NaN for no value.
    values: Vec<(u32, f64)>,
    /// The sensors that an event source with an interval has read so far. From the first such
    /// reading of a sensor on, the sensor's readings at other events are left out: a rate since the
    /// event before covers a different span each time.
    by_clock: HashSet<u32>,
    next: usize,
    /// The faults of the file, such as damaged lines.
    pub(crate) faults: Vec<Fault>,
}

/// The state while a file is read.
struct Reading {
    records: EventRecords,
    /// The time at which the experiment began.
    begin: FileTime,
    /// The index of each sensor by its name; `None` for a sensor that is left out.
    sensors: HashMap<String, Option<u32>>,
    /// The event sources with an interval.
    clocks: HashSet<String>,
    /// The number of events and values that are left out.
    left_out: u64,
    /// For each event name, by its index, the `gap` of its last record. A record with another `gap` shows that events
    /// before it may be missing.
    gaps: HashMap<u32, u64>,
    /// The time at which each section started, and the index of the section's event name.
    sections: Vec<(FileTime, u32)>,
    /// Whether the line about the experiment was read.
    has_head: bool,
    /// Whether the line about the experiment states when it began.
    has_start: bool,
    has_end: bool,
}

impl EventRecords {
    /// Reads a file of records.
    ///
    /// # Errors
    /// If the file cannot be read, has no event, holds several experiments, or has records of another version.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let failed = |cause| error(path, SourceErrorKind::Unavailable, cause);
        let mut lines = RecordLines::open(path).map_err(failed)?;
        let mut reading = Reading {
            records: Self {
                blocks: EventBlocks::new("localhost"),
                happenings: Vec::new(),
                values: Vec::new(),
                by_clock: HashSet::new(),
                next: 0,
                faults: Vec::new(),
            },
            begin: FileTime::from_unix_nanos(0),
            sensors: HashMap::new(),
            clocks: HashSet::new(),
            left_out: 0,
            gaps: HashMap::new(),
            sections: Vec::new(),
            has_head: false,
            has_start: false,
            has_end: false,
        };
        while let Some(line) = lines.next().map_err(failed)? {
            reading.add(line).map_err(|why| error(path, SourceErrorKind::Mismatch, why))?;
        }
        reading.add_starts();
        let mut warn = |what: String| {
            let name = path.display().to_string();
            reading.records.faults.push(Fault::new(FaultKind::Warning, &name, what));
        };
        lines.damage().into_iter().for_each(&mut warn);
        if lines.is_torn {
            warn("the last line is not complete and left out".to_string());
        }
        if !reading.has_end {
            warn("has no end: the experiment is under way, or perfhive was killed".to_string());
        }
        if !reading.has_start {
            warn("does not say when it began; times count from 1970-01-01".to_string());
        }
        if reading.left_out > 0 {
            warn(format!(
                "{} events and readings are left out: there are too many of them or of their names, or \
                 two sensors have the same",
                reading.left_out
            ));
        }
        let mut records = reading.records;
        if !records.happenings.iter().any(|one| !matches!(one.what, What::Nothing)) {
            let why = match reading.has_end {
                true => "has no event",
                false => "has no event so far: the experiment is under way, or perfhive was killed",
            };
            return Err(error(path, SourceErrorKind::Malformed, why));
        }
        records.happenings.sort_by_key(|one| one.time);
        Ok(records)
    }

    /// The names of the objects and counters that the samples have.
    pub(crate) fn titles(&self) -> Arc<TitleDatabase> {
        self.blocks.titles()
    }

    /// Takes in all that happened at the next time, and returns that time; `None` behind the last
    /// one.
    fn step(&mut self) -> Option<FileTime> {
        let time = self.happenings.get(self.next)?.time;
        while let Some(one) = self.happenings.get(self.next).filter(|one| one.time == time) {
            self.next += 1;
            let event = one.event as usize;
            match one.what {
                What::Event { kind, is_behind_gap, is_by_clock, values, count } => {
                    self.blocks.note(event, kind, is_behind_gap);
                    let values = values as usize..values as usize + count as usize;
                    for (sensor, value) in self.values.get(values).unwrap_or_default() {
                        if is_by_clock {
                            self.by_clock.insert(*sensor);
                        }
                        if is_by_clock || !self.by_clock.contains(sensor) {
                            let value = Some(*value).filter(|value| !value.is_nan());
                            self.blocks.read(*sensor as usize, value);
                        }
                    }
                }
                What::Nothing => {}
                What::Section { seconds, thread_seconds } => {
                    let times = [seconds, thread_seconds];
                    let times = times.map(|time| Some(time).filter(|time| !time.is_nan()));
                    self.blocks.note_section(event, times);
                }
            }
        }
        Some(time)
    }

    fn rewind(&mut self) {
        self.next = 0;
        self.by_clock.clear();
        self.blocks.rewind();
    }
}

impl Reading {
    fn add(&mut self, line: RecordLine) -> Result<(), String> {
        let section_times = line.section_times();
        match line {
            RecordLine::Experiment { version, machine, started, .. } => {
                if version != 1 {
                    return Err(format!("version {version} of records is not known; version 1 is"));
                }
                if std::mem::replace(&mut self.has_head, true) {
                    return Err("holds several experiments one after the other; divide it".into());
                }
                if let Some(machine) = machine.filter(|name| !name.contains('\0')) {
                    self.records.blocks.set_machine(&machine);
                }
                let started = started.and_then(|text| text.parse::<jiff::Timestamp>().ok());
                if let Some(started) = started {
                    self.begin = FileTime::from_unix_nanos(started.as_nanosecond());
                    self.has_start = true;
                }
            }
            RecordLine::Source { source, interval, sensors } => {
                if interval.is_some() && self.clocks.len() < MOST_SENSORS {
                    self.clocks.insert(source);
                }
                for sensor in &sensors {
                    let _ = self.sensor(&sensor.name);
                }
            }
            RecordLine::Record { source, event, kind, time, gap, values, .. } => {
                if self.records.values.len() + values.len() > MOST_VALUES {
                    self.left_out += 1;
                    return Ok(());
                }
                // Readings count although their event has no place.
                let event = self.event(&event).unwrap_or(NO_EVENT);
                let is_behind_gap =
                    self.gaps.insert(event, gap).is_some_and(|before| before != gap);
                let is_by_clock = self.clocks.contains(&source);
                let begin = self.records.values.len();
                for (name, value) in values {
                    let Some(sensor) = self.sensor(&name) else {
                        self.left_out += 1;
                        continue;
                    };
                    self.records.values.push((sensor, value.unwrap_or(f64::NAN)));
                }
                let count = (self.records.values.len() - begin) as u32;
                let values = begin as u32;
                let what = What::Event { kind, is_behind_gap, is_by_clock, values, count };
                self.push(time, event, what);
            }
            RecordLine::Section { event, time, seconds, .. } => {
                let Some(event) = self.event(&event) else { return Ok(()) };
                if self.sections.len() < MOST_HAPPENINGS {
                    self.sections.push((self.at(time), event));
                }
                let [own, own_thread] = section_times.map(|time| time.unwrap_or(f64::NAN));
                let what = What::Section { seconds: own, thread_seconds: own_thread };
                self.push(time + seconds, event, what);
            }
            RecordLine::End { seconds, .. } => {
                self.has_end = true;
                // `seconds` is how long the experiment lasted. If an event of the file is later,
                // the end is put at that event.
                let last = self.records.happenings.iter().map(|one| one.time).max();
                self.push_at(self.at(seconds).max(last.unwrap_or(self.begin)), 0, What::Nothing);
            }
            RecordLine::Other => {}
        }
        Ok(())
    }

    fn event(&mut self, name: &str) -> Option<u32> {
        let place = self.records.blocks.event(name);
        self.left_out += u64::from(place.is_none());
        place.map(|place| place as u32)
    }

    fn sensor(&mut self, name: &str) -> Option<u32> {
        if let Some(known) = self.sensors.get(name) {
            return *known;
        }
        if self.sensors.len() >= MOST_SENSORS {
            return None;
        }
        let parsed = name.parse::<SensorName>().ok();
        let place = parsed.and_then(|name| self.records.blocks.add_sensor(&name));
        let place = place.map(|place| place as u32);
        self.sensors.insert(name.to_string(), place);
        place
    }

    /// The time that is `time` seconds after the beginning of the experiment.
    fn at(&self, time: f64) -> FileTime {
        let steps = (time * FileTime::PER_SECOND as f64).round() as i64;
        FileTime(self.begin.0.saturating_add(steps))
    }

    /// Adds the starts of sections that have none, because a filter chose the sections by their duration.
    fn add_starts(&mut self) {
        let is_start =
            |one: &&Happening| matches!(one.what, What::Event { kind: RecordKind::Start, .. });
        let mut starts: HashMap<(FileTime, u32), u64> = HashMap::new();
        for one in self.records.happenings.iter().filter(is_start) {
            *starts.entry((one.time, one.event)).or_default() += 1;
        }
        for (time, event) in std::mem::take(&mut self.sections) {
            match starts.get_mut(&(time, event)).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => {
                    let what = What::Event {
                        kind: RecordKind::Start,
                        is_behind_gap: false,
                        is_by_clock: false,
                        values: 0,
                        count: 0,
                    };
                    self.records.happenings.push(Happening { time, event, what });
                }
            }
        }
    }

    /// Adds a happening of the event name with the index `event`, at a time in seconds after the beginning of the
    /// experiment. Beyond [`MOST_HAPPENINGS`] it is only counted as left out.
    fn push(&mut self, time: f64, event: u32, what: What) {
        self.push_at(self.at(time), event, what);
    }

    fn push_at(&mut self, time: FileTime, event: u32, what: What) {
        if self.records.happenings.len() >= MOST_HAPPENINGS {
            self.left_out += 1;
            return;
        }
        self.records.happenings.push(Happening { time, event, what });
    }
}

impl Samples for EventRecords {
    fn next(&mut self) -> Result<Option<Sample>, SourceError> {
        let Some(time) = self.step() else { return Ok(None) };
        let frame = self.blocks.frame(time)?;
        Ok(Some(Sample { frames: vec![Arc::new(frame)], faults: Vec::new() }))
    }

    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        self.rewind();
        let Some(to) = to else { return Ok(()) };
        while self.happenings.get(self.next).is_some_and(|one| one.time < to) {
            self.step();
        }
        // The section times are those of the sample before.
        self.blocks.told();
        Ok(())
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        let time = |one: Option<&Happening>| one.map_or(FileTime(0), |one| one.time);
        let changes = self.happenings.windows(2).filter(|two| match two {
            [one, other] => one.time != other.time,
            _ => false,
        });
        let samples = changes.count() as u64 + u64::from(!self.happenings.is_empty());
        Ok(Span::new(time(self.happenings.first()), time(self.happenings.last()), samples))
    }

    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError> {
        let next = self.next;
        self.rewind();
        let frame = self.blocks.frame(FileTime(0))?;
        let objects = (0..frame.object_count()).filter_map(|place| frame.object(place));
        let objects = objects.map(CatalogueObject::of).collect();
        while self.next < next {
            self.step();
        }
        self.blocks.told();
        Ok((self.blocks.machine().to_string(), objects))
    }
}
