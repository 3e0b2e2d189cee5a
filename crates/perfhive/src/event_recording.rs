//! Delivery of an experiment's records into a recording.

use perfhive_engine::measure::SensorName;
use perfhive_engine::{Snapshot, SourceError, TitleDatabase};
use perfhive_experiment::{
    Delivery, EventKind, ExperimentEnd, PerfEvent, RecordBatch, RecordedReading, Section,
};
use perfhive_format::FileTime;
use perfhive_recording::{EventBlocks, RecordKind, RecordingOptions, RecordingWriter};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long records wait for those of other event sources, so that samples are in the order of time.
const HELD: u64 = 2_000_000_000;
/// The most records and sections that wait.
const MOST_HELD: usize = 1 << 18;

/// Writes the records of an experiment into a recording (`.phr`): a sample at each time at which something
/// happened, of the objects that [`EventBlocks`] describes.
///
/// Records wait up to three seconds, until those of other event sources have come. A record that comes later
/// still is counted as lost.
pub struct EventRecording {
    blocks: EventBlocks,
    titles: Arc<TitleDatabase>,
    writer: Option<RecordingWriter>,
    /// The beginning on the clock of events, and as a time of the day.
    begin: (u64, FileTime),
    call: Duration,
    /// The place of each sensor, and whether an interval has it.
    sensors: HashMap<SensorName, (Option<usize>, bool)>,
    waiting: Vec<Waiting>,
    /// The time of the newest sample, on the clock of events.
    written: Option<u64>,
    sample: Snapshot,
}

/// Something that happened and is not written yet.
struct Waiting {
    time: u64,
    event: usize,
    what: What,
}

enum What {
    Event { kind: RecordKind, is_by_clock: bool, readings: Vec<(SensorPlace, RecordedReading)> },
    Section(Section),
}

/// The place of a sensor in the blocks.
type SensorPlace = usize;

impl EventRecording {
    /// A recording of an experiment that begins now. A file of this name is replaced. `machine` is the name
    /// of this machine, `program` what is measured, `call` what a call costs the program, to be taken off
    /// the duration of sections.
    ///
    /// # Errors
    /// Where the file cannot be written, or another program writes it.
    pub fn create(
        path: impl AsRef<Path>,
        machine: &str,
        program: &str,
        call: Duration,
    ) -> Result<Self, SourceError> {
        let mut options = RecordingOptions::new();
        options.replaces = true;
        let writer = RecordingWriter::open(path, program, &options)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = FileTime::from_unix_nanos(i128::try_from(since.as_nanos()).unwrap_or(i128::MAX));
        let blocks = EventBlocks::new(machine);
        let titles = blocks.titles();
        let mut recording = Self {
            blocks,
            titles,
            writer: Some(writer),
            begin: (PerfEvent::now(&"".into()).time, now),
            call,
            sensors: HashMap::new(),
            waiting: Vec::new(),
            written: None,
            sample: Snapshot::new(),
        };
        // The sample from which the rates of the first events begin.
        recording.write(recording.begin.0)?;
        Ok(recording)
    }

    /// The place of a sensor, and whether an interval has it.
    fn sensor(&mut self, name: &SensorName, is_by_clock: bool) -> Option<SensorPlace> {
        if let Some((place, by_clock)) = self.sensors.get_mut(name) {
            *by_clock |= is_by_clock;
            return *place;
        }
        let place = self.blocks.add_sensor(name);
        self.titles = self.blocks.titles();
        self.sensors.insert(name.clone(), (place, is_by_clock));
        place
    }

    /// Writes what happened up to a time on the clock of events.
    fn write_until(&mut self, until: u64) -> Result<(), SourceError> {
        self.waiting.sort_by_key(|one| one.time);
        let ready = self.waiting.partition_point(|one| one.time <= until);
        let mut ready = self.waiting.drain(..ready).collect::<Vec<_>>().into_iter().peekable();
        let by_clock: Vec<SensorPlace> = (self.sensors.values())
            .filter_map(|(place, by_clock)| place.filter(|_| *by_clock))
            .collect();
        while let Some(one) = ready.next() {
            let time = one.time;
            match one.what {
                What::Event { kind, is_by_clock, readings } => {
                    self.blocks.note(one.event, kind);
                    for (sensor, reading) in readings {
                        if is_by_clock || !by_clock.contains(&sensor) {
                            self.blocks.read(sensor, reading.value);
                        }
                    }
                }
                What::Section(section) => {
                    let thread = section.corrected_thread_time(self.call);
                    let seconds = section.corrected(self.call).as_secs_f64();
                    let thread = thread.map(|time| time.as_secs_f64());
                    self.blocks.note_section(one.event, seconds, thread);
                }
            }
            // What happens in one step of a block's clock is one sample.
            if ready.peek().is_none_or(|next| self.time(next.time) != self.time(time)) {
                self.write(time)?;
            }
        }
        Ok(())
    }

    /// A time on the clock of events as a time of the day.
    fn time(&self, time: u64) -> FileTime {
        let since = i128::from(time) - i128::from(self.begin.0);
        FileTime(self.begin.1.0.saturating_add(i64::try_from(since / 100).unwrap_or(i64::MAX)))
    }

    fn write(&mut self, time: u64) -> Result<(), SourceError> {
        let frame = self.blocks.frame(self.time(time))?;
        self.sample.clear();
        self.sample.push_frame(Arc::new(frame), "experiment");
        if let Some(writer) = &mut self.writer {
            writer.add(&self.sample, std::slice::from_ref(&self.titles))?;
        }
        self.written = Some(time);
        Ok(())
    }
}

impl Delivery for EventRecording {
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &[Section]) -> io::Result<u64> {
        let is_by_clock = batch.interval().is_some();
        let places: Vec<Option<SensorPlace>> =
            batch.columns().iter().map(|one| self.sensor(&one.name, is_by_clock)).collect();
        let mut lost = 0;
        let is_late = |written: Option<u64>, time| written.is_some_and(|written| time <= written);
        for record in batch.records() {
            let event = self.blocks.event(&record.event.name);
            let time = record.event.time;
            let Some(event) = event.filter(|_| !is_late(self.written, time)) else {
                lost += 1;
                continue;
            };
            let kind = match record.event.kind {
                EventKind::Start => RecordKind::Start,
                EventKind::End => RecordKind::End,
                _ => RecordKind::Point,
            };
            let readings = places.iter().zip(&record.readings);
            let readings = readings.filter_map(|(place, one)| Some(((*place)?, *one))).collect();
            let what = What::Event { kind, is_by_clock, readings };
            self.waiting.push(Waiting { time, event, what });
        }
        for section in sections {
            let length = u64::try_from(section.duration.as_nanos()).unwrap_or(u64::MAX);
            let time = section.start.saturating_add(length);
            // Its end is counted where it is late.
            if let Some(event) = self.blocks.event(&section.name)
                && !is_late(self.written, time)
            {
                self.waiting.push(Waiting { time, event, what: What::Section(section.clone()) });
            }
        }
        let mut until = PerfEvent::now(&"".into()).time.saturating_sub(HELD);
        if self.waiting.len() > MOST_HELD {
            // The older half.
            self.waiting.sort_by_key(|one| one.time);
            until = self.waiting.get(MOST_HELD / 2).map_or(until, |one| one.time);
        }
        self.write_until(until).map_err(io::Error::other)?;
        Ok(lost)
    }

    fn end(&mut self, end: &ExperimentEnd) -> io::Result<()> {
        self.write_until(u64::MAX).map_err(io::Error::other)?;
        let elapsed = u64::try_from(end.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let last = self.begin.0.saturating_add(elapsed);
        if self.written.is_some_and(|written| self.time(written) < self.time(last)) {
            self.write(last).map_err(io::Error::other)?;
        }
        let Some(writer) = self.writer.take() else { return Ok(()) };
        writer.finish().map(drop).map_err(io::Error::other)
    }
}
