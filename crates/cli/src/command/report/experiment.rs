//! The report of an experiment's records.

mod show;

use super::super::experiment::around::Around;
use super::super::experiment::figures::titled;
use crate::args::{Format, Global, Report as Args};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::text::escape::shell_word;
use perfhive::experiment::{EventKind, SummaryFigures};
use perfhive::recording::{RecordKind, RecordLine as Line, RecordLines};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// The most summaries of times and sensors that are kept. A summary takes up to some 16 KiB.
const MOST_FIGURES: usize = 8192;
/// The most sensors of which the units are kept, and the most event sources with an interval.
const MOST_SENSORS: usize = 4096;
/// The most parts of the timeline.
const MOST_PARTS: usize = 12;

pub(super) fn run(global: &Global, args: &Args, file: &Path) -> Outcome {
    let takes_others = args.html.is_some()
        || args.all
        || !args.pal.is_empty()
        || !args.answers.is_empty()
        || !args.paths.is_empty()
        || args.machine.is_some()
        || global.begin.or(global.end).is_some()
        || global.every.is_some();
    if takes_others || !matches!(global.format, Format::Table | Format::Json) {
        let what = "holds the records of an experiment, of which report prints a table, or JSON with \
                    --json; it takes no other option but --around";
        let name = super::source_of(file);
        let what = format!("{what}; report -s {} has the others", shell_word(&name));
        return Err(Failure::Usage(format!("{}: {what}", file.display())));
    }
    let failed = |error| Failure::Source(format!("{}: {error}", file.display()));
    let around = args.around.map(Around::new);
    let mut records = Records { around, ..Records::default() };
    let mut lines = RecordLines::open(file).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        records.add(line, file)?;
    }
    // The width of the parts is known only once all times were read.
    let mut timeline = Timeline::over(records.span);
    let mut again = RecordLines::open(file).map_err(failed)?;
    // Lines that were written meanwhile belong to the next report.
    while again.number < lines.number
        && let Some(line) = again.next().map_err(failed)?
    {
        timeline.add(&records, line);
    }
    if let Some(damage) = lines.damage() {
        warn(&format!("{}: {damage}", file.display()));
    }
    if lines.is_torn {
        warn(&format!("{}: the last line is not complete and left out", file.display()));
    }
    if records.end.is_none() {
        let what = "has no end: the experiment is under way, or perfhive was killed";
        warn(&format!("{}: {what}", file.display()));
    }
    let around = records.around.take().map(|mut around| (around.rows(), around));
    let output = Output::new(global);
    let mut text = String::new();
    if output.is_table() {
        show::page(&mut text, &records, &timeline, around.as_ref(), &output);
    } else {
        show::push_json(&mut text, &records, &timeline, around.as_ref(), &lines);
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The kind of the event in a record: start, end, or point for every other kind of record.
fn kind_of(kind: RecordKind) -> EventKind {
    match kind {
        RecordKind::Start => EventKind::Start,
        RecordKind::End => EventKind::End,
        _ => EventKind::Point,
    }
}

/// The key of events: the event source, the name, and the kind. For sections (each from a start to its end) the source
/// is empty, and the kind is `None`.
type EventKey = (String, String, Option<EventKind>);

/// The figures of all events of one source, name and kind, or of all sections of one name.
#[derive(Default)]
struct Events {
    source: String,
    name: String,
    kind: Option<EventKind>,
    count: u64,
    /// In seconds: of events the delay to the end of their sample, and the time that the sample took; of sections the
    /// duration, and the processor time of their thread.
    times: [SummaryFigures; 2],
    sensors: BTreeMap<String, SummaryFigures>,
}

impl Events {
    fn title(&self) -> String {
        titled(&self.name, self.kind)
    }
}

/// The units of a sensor's values and raw values.
#[derive(Default)]
struct Sensor {
    unit: String,
    /// The number of units of the raw value in a second; `None` if the sensor does not count time.
    per_second: Option<u64>,
}

/// The facts and figures from the lines of a file of records.
#[derive(Default)]
struct Records {
    /// Whether the line about the experiment was read.
    has_start: bool,
    program: Vec<String>,
    started: Option<String>,
    sensors: HashMap<String, Sensor>,
    /// The events in the order of their first occurrence.
    events: Vec<Events>,
    places: HashMap<EventKey, usize>,
    figures: usize,
    /// The number of events and readings that found no room.
    left_out: u64,
    /// The first and the last time of an event or of the start of a section, in seconds from the
    /// experiment's beginning.
    span: Option<(f64, f64)>,
    /// The event sources with an interval.
    clocks: HashSet<String>,
    /// The readings around events; `None` if the user did not ask for them.
    around: Option<Around>,
    /// From the last line: the seconds of the experiment, the number of starts without an end and of
    /// ends without a start, and the event sources. `None` before that line is read.
    end: Option<(f64, u64, Vec<Value>)>,
    /// From the last line, in seconds: the mean time of an event in perfhive, and the mean processor time of a call
    /// in the program.
    costs: [Option<f64>; 2],
}

impl Records {
    fn add(&mut self, line: Line, file: &Path) -> Result<(), Failure> {
        let section_times = line.section_times();
        match line {
            Line::Experiment { version, program, started, .. } => {
                if std::mem::replace(&mut self.has_start, true) {
                    let what = "holds several experiments one after the other; divide it";
                    return Err(Failure::Source(format!("{}: {what}", file.display())));
                }
                if version != 1 {
                    let what = format!("version {version} of records is not known; version 1 is");
                    return Err(Failure::Source(format!("{}: {what}", file.display())));
                }
                self.program = program;
                self.started = started;
            }
            Line::Source { source, interval, sensors, .. } => {
                if interval.is_some() && self.clocks.len() < MOST_SENSORS {
                    self.clocks.insert(source);
                }
                for sensor in sensors {
                    if self.sensors.len() < MOST_SENSORS {
                        let about = Sensor { unit: sensor.unit, per_second: sensor.raw_per_second };
                        self.sensors.insert(sensor.name, about);
                    }
                }
            }
            Line::Record { source, event, kind, time, delay, sample, values, .. } => {
                self.note(time);
                if let Some(around) = &mut self.around {
                    let kind = kind_of(kind);
                    match self.clocks.contains(&source) {
                        true => values.iter().for_each(|(sensor, value)| {
                            value.iter().for_each(|value| around.add_reading(sensor, time, *value));
                        }),
                        false => around.add_event(&event, Some(kind), time, time),
                    }
                }
                let Some(place) = self.place((source, event, Some(kind_of(kind)))) else {
                    return Ok(());
                };
                self.count(place, [Some(delay), Some(sample)], values);
            }
            Line::Section { event, time, seconds, growth, .. } => {
                self.note(time);
                if let Some(around) = &mut self.around {
                    around.add_event(&event, None, time, time + seconds);
                }
                let Some(place) = self.place((String::new(), event, None)) else { return Ok(()) };
                let growth = growth.into_iter().map(|(name, growth)| {
                    let per_second = self.sensors.get(&name).and_then(|one| one.per_second);
                    let unit = per_second.filter(|unit| *unit > 0).unwrap_or(1);
                    (name, Some(growth as f64 / unit as f64))
                });
                let growth = growth.collect();
                self.count(place, section_times, growth);
            }
            Line::End { seconds, event_seconds, call_thread_seconds, unmatched, sources } => {
                self.costs = [event_seconds, call_thread_seconds];
                self.end = Some((seconds, unmatched, sources));
            }
            _ => {}
        }
        Ok(())
    }

    /// Extends `span` by a time.
    fn note(&mut self, time: f64) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }

    /// The place in `events` of a key, added where it is new; `None` if a new one would exceed
    /// [`MOST_FIGURES`], and the event is then counted in `left_out`.
    fn place(&mut self, key: EventKey) -> Option<usize> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        if self.figures + 2 > MOST_FIGURES {
            self.left_out += 1;
            return None;
        }
        self.figures += 2;
        let (source, name, kind) = key.clone();
        self.events.push(Events { source, name, kind, ..Events::default() });
        self.places.insert(key, self.events.len() - 1);
        Some(self.events.len() - 1)
    }

    /// Counts an event in the figures at a place of `events`, with its times and the values of its sensors. A
    /// sensor that would exceed [`MOST_FIGURES`] is only counted in `left_out`.
    fn count(
        &mut self,
        place: usize,
        times: [Option<f64>; 2],
        values: BTreeMap<String, Option<f64>>,
    ) {
        let Some(events) = self.events.get_mut(place) else { return };
        events.count += 1;
        for (figures, time) in events.times.iter_mut().zip(times) {
            time.into_iter().for_each(|time| figures.add(time));
        }
        for (name, value) in values {
            if !events.sensors.contains_key(&name) {
                if self.figures >= MOST_FIGURES {
                    self.left_out += 1;
                    continue;
                }
                self.figures += 1;
            }
            let figures = events.sensors.entry(name).or_default();
            value.into_iter().for_each(|value| figures.add(value));
        }
    }

    /// The seconds that the experiment took, as the last line says; before that line is read, the time of the last
    /// event.
    fn seconds(&self) -> f64 {
        let last = self.span.map_or(0.0, |(_, last)| last.max(0.0));
        self.end.as_ref().map_or(last, |(seconds, ..)| *seconds)
    }

    /// The rate of events in 1/s; `None` where no time passed.
    fn rate(&self, events: &Events) -> Option<f64> {
        let seconds = self.seconds();
        (seconds > 0.0).then(|| events.count as f64 / seconds)
    }
}

/// The counts of events, and the means of readings, in parts of the experiment's time.
struct Timeline {
    /// Seconds from the beginning of the experiment to that of the first part.
    begin: f64,
    /// The width of a part in seconds.
    width: f64,
    parts: usize,
    /// The counts of each part, by the events' place in [`Records::events`].
    counts: BTreeMap<usize, Vec<u64>>,
    /// The sum and the number of values of each part, by sensor.
    readings: BTreeMap<String, Vec<(f64, u64)>>,
}

impl Timeline {
    /// An empty timeline from the first to the last time of `span`, in seconds. It has at most [`MOST_PARTS`]
    /// parts, each 1, 2 or 5 times a power of ten seconds wide; a single part at 0 without a span.
    fn over(span: Option<(f64, f64)>) -> Self {
        let (first, last) = span.unwrap_or_default();
        let widths = (-6..=10).flat_map(|power| [1.0, 2.0, 5.0].map(|one| one * 10f64.powi(power)));
        let parts = |width: f64| ((last / width).floor() - (first / width).floor()) as usize + 1;
        let width = widths.into_iter().find(|width| parts(*width) <= MOST_PARTS).unwrap_or(1e10);
        Self {
            begin: (first / width).floor() * width,
            width,
            parts: parts(width).min(MOST_PARTS),
            counts: BTreeMap::new(),
            readings: BTreeMap::new(),
        }
    }

    /// The number of the part in which a time in seconds lies; `None` if it is outside of the timeline. That can be
    /// so for lines that were written after the file was read for the first time.
    fn part(&self, time: f64) -> Option<usize> {
        let part = ((time - self.begin) / self.width).floor();
        (part >= 0.0 && part < self.parts as f64).then_some(part as usize)
    }

    fn add(&mut self, records: &Records, line: Line) {
        let (key, time, values) = match line {
            Line::Record { source, event, kind, time, values, .. } => {
                ((source, event, Some(kind_of(kind))), time, values)
            }
            Line::Section { event, time, .. } => {
                ((String::new(), event, None), time, BTreeMap::new())
            }
            _ => return,
        };
        let (Some(place), Some(part)) = (records.places.get(&key), self.part(time)) else { return };
        let counts = self.counts.entry(*place).or_insert_with(|| vec![0; self.parts]);
        counts.get_mut(part).into_iter().for_each(|count| *count += 1);
        let Some(events) = records.events.get(*place) else { return };
        for (name, value) in values {
            let Some(value) = value.filter(|_| events.sensors.contains_key(&name)) else {
                continue;
            };
            let means = self.readings.entry(name).or_insert_with(|| vec![(0.0, 0); self.parts]);
            if let Some((sum, count)) = means.get_mut(part) {
                *sum += value;
                *count += 1;
            }
        }
    }
}
