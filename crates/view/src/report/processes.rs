//! The processes of a recording: the busiest, the totals by name, the starts and ends.

use super::analysis::{Row, places_of, with_trend};
use super::figures::{Curve, Summary};
use super::scope::ScopedObject;
use super::timeline::Timeline;
use perfhive_engine::InstanceRole;
use perfhive_format::FileTime;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The least time for which a process must be seen before its growth per hour is reported, in steps
/// of 100 ns: five minutes.
const SHORTEST_GROWTH: i64 = 3_000_000_000;

/// The figures of a process in a recording. A figure is `None` if the recording does not have the
/// counter, or the counter had no value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessReport {
    /// The process's name.
    pub name: String,
    /// The process's ID; `None` in recordings that do not have it.
    pub id: Option<u32>,
    /// The times of the first and of the last sample that have the process.
    pub seen: (FileTime, FileTime),
    /// Whether the process is in every sample, apart from samples before the first that has any process.
    pub was_there_always: bool,
    /// The process's time on processors over the whole recording, in percent of one processor: a
    /// process that ran half of the time counts half. `None` without values.
    pub share: Option<f64>,
    /// The process's time on processors while it ran, in percent of one processor; `None` without
    /// values.
    pub processor: Option<Summary>,
    /// The course of the processor time.
    pub curve: Curve,
    /// The working set in bytes; `None` without values.
    pub working_set: Option<Summary>,
    /// The private memory in bytes; `None` without values.
    pub private_bytes: Option<Summary>,
    /// The growth of the private bytes per hour; `None` where the process was seen for less than
    /// five minutes, where all values lie in one thirtieth of the samples, and without values.
    pub growth: Option<f64>,
    /// The number of the process's threads; `None` without values.
    pub threads: Option<Summary>,
    /// The number of the process's handles; `None` without values.
    pub handles: Option<Summary>,
    /// The bytes that the process read and wrote per second; `None` without values.
    pub io: Option<Summary>,
}

/// How many processes of one name started and ended during a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartsAndEnds {
    /// The name that the processes share.
    pub name: String,
    /// How many processes of the name were not in the first sample that has any process.
    pub started: u64,
    /// How many processes of the name were not in the last sample that has any process.
    pub ended: u64,
}

/// A program that ended and was started again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restart {
    /// The name of the processes.
    pub name: String,
    /// How often the program was started again.
    pub count: u64,
    /// The time of the first sample that has the newest process.
    pub last: FileTime,
    /// The process IDs of the newest process and of the process before it.
    pub ids: (u32, u32),
}

/// The totals of all processes of one name, on average over the whole recording. A total is `None`
/// if no process of the name had a value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NameTotal {
    /// The name that the processes share.
    pub name: String,
    /// The processor time of the processes in percent of one processor; `None` without values.
    pub processor: Option<f64>,
    /// The working sets of the processes in bytes; `None` without values.
    pub working_set: Option<f64>,
}

/// The indexes of a process's counters in the figures of a row, in the order of
/// [`PROCESSES`](super::chosen::PROCESSES); `None` for a counter that the scope does not have.
pub(super) struct ProcessFigures {
    places: [Option<usize>; 6],
}

impl ProcessFigures {
    pub(super) fn of(scoped: &ScopedObject) -> Self {
        Self { places: places_of(scoped) }
    }

    /// The statistics of a counter of a row, given by its index in
    /// [`PROCESSES`](super::chosen::PROCESSES); `None` without the counter, and without values.
    fn summary(&self, row: &Row, counter: usize) -> Option<Summary> {
        row.figures.get((*self.places.get(counter)?)?)?.summary()
    }

    /// The processor time and working set of all processes of each name, on average over all samples.
    pub(super) fn by_name(&self, rows: &[Row], samples: u64) -> Vec<NameTotal> {
        let mut names: BTreeMap<&str, [Option<f64>; 2]> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_process(row)) {
            let Some(label) = &row.label else { continue };
            let sums = names.entry(plain_name(row, &label.name)).or_default();
            for (counter, sum) in sums.iter_mut().enumerate() {
                let part = self.summary(row, counter).map(|one| over_all(&one, counter, samples));
                *sum = match (*sum, part) {
                    (Some(a), Some(b)) => Some(a + b),
                    (a, b) => a.or(b),
                };
            }
        }
        let total = |(name, [processor, working_set]): (&str, [Option<f64>; 2])| NameTotal {
            name: name.to_string(),
            processor,
            working_set,
        };
        names.into_iter().map(total).collect()
    }

    /// The `top` processes with the most processor time, the busiest first, followed by those of
    /// the `top` processes with the largest working sets that are not among the busiest.
    pub(super) fn busiest(
        &self,
        rows: &[Row],
        timeline: &Timeline,
        top: usize,
    ) -> Vec<ProcessReport> {
        let samples = timeline.times().len() as u64;
        let first = first_sample(rows);
        let rows: Vec<(&Row, [f64; 2])> = rows
            .iter()
            .filter(|row| is_process(row))
            .map(|row| {
                let share = self.summary(row, 0).map_or(-1.0, |one| over_all(&one, 0, samples));
                let largest = self.summary(row, 1).map_or(-1.0, |one| one.maximum);
                (row, [share, largest])
            })
            .collect();
        let mut chosen: Vec<usize> = Vec::new();
        for by in [0, 1] {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            let key = |place: &usize| rows.get(*place).and_then(|(_, keys)| keys.get(by)).copied();
            order.sort_by(|a, b| key(b).unwrap_or(-1.0).total_cmp(&key(a).unwrap_or(-1.0)));
            let new: Vec<_> =
                order.into_iter().take(top).filter(|one| !chosen.contains(one)).collect();
            chosen.extend(new);
        }
        let chosen = chosen.into_iter().filter_map(|place| rows.get(place));
        chosen.map(|(row, _)| self.report(row, first, timeline)).collect()
    }

    /// The figures of the process of a row; `first` is what [`first_sample`] returns.
    fn report(&self, row: &Row, first: u64, timeline: &Timeline) -> ProcessReport {
        let samples = timeline.times().len() as u64;
        let time = |sample: u64| {
            let found = usize::try_from(sample).ok().and_then(|at| timeline.times().get(at));
            found.copied().unwrap_or_default()
        };
        let figures = |counter: usize| row.figures.get((*self.places.get(counter)?)?);
        let private = figures(2).and_then(|figures| with_trend(figures, samples, timeline));
        let curve = figures(0).map(|figures| figures.curve.clone()).unwrap_or_default();
        let processor = self.summary(row, 0);
        ProcessReport {
            name: row.label.as_ref().map(|label| label.name.to_string()).unwrap_or_default(),
            id: row.process,
            seen: (time(row.seen.0), time(row.seen.1)),
            was_there_always: row.samples + first == samples,
            share: processor.map(|one| over_all(&one, 0, samples)),
            processor,
            curve: curve.for_samples(samples),
            working_set: self.summary(row, 1),
            private_bytes: private.map(|(summary, _)| summary),
            growth: private.and_then(|(_, trend)| trend).filter(|_| {
                time(row.seen.1).0.saturating_sub(time(row.seen.0).0) >= SHORTEST_GROWTH
            }),
            threads: self.summary(row, 3),
            handles: self.summary(row, 4),
            io: self.summary(row, 5),
        }
    }
}

/// The name of a process. In a recording without process IDs, a number behind the name is left out:
/// `java` of `java#1`.
fn plain_name<'a>(row: &Row, name: &'a str) -> &'a str {
    match name.rsplit_once('#') {
        Some((plain, number)) if row.process.is_none() && number.parse::<u32>().is_ok() => plain,
        _ => name,
    }
}

/// The mean over the samples with a value, converted to a mean over all samples. `counter` is the
/// counter's index in [`PROCESSES`](super::chosen::PROCESSES); the first one, processor time, is a
/// rate and has no value in the first sample.
fn over_all(summary: &Summary, counter: usize, samples: u64) -> f64 {
    let all = samples.saturating_sub(u64::from(counter == 0)).max(summary.count).max(1);
    summary.mean * summary.count as f64 / all as f64
}

/// Whether a row is of a process, and not of `_Total` or `Idle`.
fn is_process(row: &Row) -> bool {
    row.role == InstanceRole::Single
}

/// The number of the first sample that has a process: in a text log of rates it is the second
/// sample. 0 if there is no process.
fn first_sample(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.seen.0).min().unwrap_or_default()
}

/// The names with processes that started or ended, those with the most starts and ends first. Empty
/// for recordings without process IDs.
pub(super) fn changes_of(rows: &[Row]) -> Vec<StartsAndEnds> {
    let first = first_sample(rows);
    let last = rows.iter().map(|row| row.seen.1).max().unwrap_or_default();
    let mut names: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.process.is_some()) {
        let Some(label) = &row.label else { continue };
        let (started, ended) = names.entry(&label.name).or_default();
        *started += u64::from(row.seen.0 > first);
        *ended += u64::from(row.seen.1 < last);
    }
    let changed = names.into_iter().filter(|(_, (started, ended))| started + ended > 0);
    let mut changes: Vec<StartsAndEnds> = changed
        .map(|(name, (started, ended))| StartsAndEnds { name: name.to_string(), started, ended })
        .collect();
    changes.sort_by_key(|change| Reverse(change.started + change.ended));
    changes
}

/// The programs that ran in the first sample that has any process, ended, and came back as another
/// process while no process of that name ran. The latest restart is first.
pub(super) fn restarts_of(rows: &[Row], timeline: &Timeline) -> Vec<Restart> {
    let first = first_sample(rows);
    let mut names: BTreeMap<&str, Vec<(&Row, u32)>> = BTreeMap::new();
    for row in rows {
        if let (Some(label), Some(id)) = (&row.label, row.process) {
            names.entry(&label.name).or_default().push((row, id));
        }
    }
    let mut restarts = Vec::new();
    for (name, mut rows) in names {
        rows.sort_by_key(|(row, _)| row.seen);
        if rows.first().is_none_or(|(row, _)| row.seen.0 > first) {
            continue;
        }
        let mut last_seen: Option<(u64, u32)> = None;
        let (mut count, mut newest) = (0, None);
        for (row, id) in rows {
            if let Some((_, before)) = last_seen.filter(|(seen, _)| row.seen.0 > *seen) {
                count += 1;
                newest = Some((row.seen.0, (id, before)));
            }
            let is_later = last_seen.is_none_or(|(seen, _)| row.seen.1 >= seen);
            if is_later {
                last_seen = Some((row.seen.1, id));
            }
        }
        let Some((sample, ids)) = newest else { continue };
        let time = usize::try_from(sample).ok().and_then(|at| timeline.times().get(at));
        let last = time.copied().unwrap_or_default();
        restarts.push(Restart { name: name.to_string(), count, last, ids });
    }
    restarts.sort_by_key(|restart| Reverse(restart.last));
    restarts
}
