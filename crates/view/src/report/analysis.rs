//! The analysis of a recording, which is read once, sample by sample. Except for the times of the samples,
//! the memory that it takes does not grow with the length of the recording.

use super::chosen;
use super::figures::{Curve, Figures, Summary, number};
use super::processes::{ProcessFigures, changes_of, restarts_of};
use super::scope::{ReportScope, ScopedCounter, ScopedObject};
use super::threshold::{CounterSet, Crossing, Threshold};
use super::timeline::Timeline;
use super::{CounterReport, InstanceReport, ObjectReport, Report, ThresholdFinding, Unevaluated};
use perfhive_engine::{Identity, InstanceLabel, InstanceRole, NoValue, Query, Reading};
use perfhive_format::{CounterType, FileTime, TitleIndex};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most instances of an object, such as processes, that have figures in the whole recording.
/// Others are only counted, up to five times as many.
const MOST_ROWS: usize = 20_000;

/// A recording that is being read, and the figures so far.
#[derive(Clone)]
pub struct Analysis {
    scope: ReportScope,
    timeline: Timeline,
    places: HashMap<(TitleIndex, TitleIndex), (usize, usize)>,
    objects: Vec<Rows>,
    uptime: Option<f64>,
    boots: Vec<FileTime>,
}

/// The instances of an object.
#[derive(Clone, Default)]
struct Rows {
    rows: Vec<Row>,
    places: HashMap<Option<Identity>, usize>,
    /// The identities of the instances beyond [`MOST_ROWS`], at most five times as many.
    left_out: HashSet<Option<Identity>>,
}

/// An instance of an object, with the figures of each counter in the scope.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) label: Option<InstanceLabel>,
    pub(super) role: InstanceRole,
    pub(super) process: Option<u32>,
    /// The numbers of the first and of the last sample that have the instance.
    pub(super) seen: (u64, u64),
    /// How many samples have the instance.
    pub(super) samples: u64,
    pub(super) figures: Vec<Figures>,
    crossings: Vec<(usize, usize, Crossing)>,
}

impl Analysis {
    /// An analysis of the counters of a scope, without samples yet.
    #[must_use]
    pub fn new(scope: ReportScope) -> Self {
        let mut places = HashMap::new();
        for (place, object) in scope.objects.iter().enumerate() {
            for (at, counter) in object.counters.iter().enumerate() {
                places.insert((object.index, counter.index), (place, at));
            }
        }
        let objects = scope.objects.iter().map(|_| Rows::default()).collect();
        let timeline = Timeline::default();
        Self { scope, timeline, places, objects, uptime: None, boots: Vec::new() }
    }

    /// Adds the query's last collection as the next sample, which was taken at `time`. Readings of
    /// counters that are not in the scope are ignored.
    pub fn add(&mut self, query: &Query, time: FileTime) {
        let sample = self.timeline.times().len() as u64;
        self.timeline.push(time);
        let mut last: Option<((TitleIndex, TitleIndex), (usize, usize))> = None;
        for reading in query.readings() {
            let key = (reading.object, reading.counter);
            let place = match last {
                Some((of, place)) if of == key => place,
                _ => match self.places.get(&key) {
                    Some(place) => *place,
                    None => continue,
                },
            };
            last = Some((key, place));
            self.add_reading(reading, place, sample, time);
        }
    }

    /// Adds one reading of the sample with the number `sample`; `object` and `counter` are its
    /// places in the scope. A reading of an instance that is not in the sample adds nothing.
    fn add_reading(
        &mut self,
        reading: &Reading,
        (object, counter): (usize, usize),
        sample: u64,
        time: FileTime,
    ) {
        let (Some(scoped), Some(rows)) =
            (self.scope.objects.get(object), self.objects.get_mut(object))
        else {
            return;
        };
        // The object or the instance is not in this sample. A text log may have it without a value.
        let is_absent = scoped.has_instances && reading.instance.is_none();
        let is_blank =
            reading.counter_type == CounterType::PERF_DOUBLE_RAW && reading.value.is_err();
        if is_absent || is_blank || matches!(reading.value, Err(NoValue::Vanished)) {
            return;
        }
        let Some(definition) = scoped.counters.get(counter) else { return };
        let Some(row) = rows.row(reading, scoped, sample) else { return };
        let value = number(reading, definition.unit);
        if let Some(figures) = row.figures.get_mut(counter) {
            figures.add(reading, value, sample, time);
        }
        let Some(value) = value else { return };
        if definition.is_uptime {
            // The uptime may seem to shrink a little, because clocks differ; that is no restart.
            if self.uptime.is_some_and(|before| value + 1.0 < before) {
                self.boots.push(time);
            }
            self.uptime = Some(value);
        }
        for number in &definition.thresholds {
            let Some(threshold) = self.scope.thresholds.get(*number) else { continue };
            if threshold.is_trend || !threshold.comparison.holds(value, threshold.limit) {
                continue;
            }
            row.cross(*number, counter, threshold, value, time);
        }
    }

    /// The report of the samples so far. Its processes are the `top` busiest ones, followed by those
    /// of the `top` processes with the largest working sets that are not among the busiest.
    #[must_use]
    pub fn finish(mut self, top: usize) -> Report {
        self.add_trends();
        let (held, mut unevaluated) = self.held();
        let findings = self.findings(&held);
        let samples = self.timeline.times().len() as u64;
        let mut objects = Vec::new();
        let (mut processes, mut changes, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
        let mut by_name = Vec::new();
        for (scoped, rows) in self.scope.objects.iter().zip(std::mem::take(&mut self.objects)) {
            if scoped.is_of_processes {
                let figures = ProcessFigures::of(scoped);
                changes = changes_of(&rows.rows);
                restarts = restarts_of(&rows.rows, &self.timeline);
                by_name = figures.by_name(&rows.rows, samples);
                processes = figures.busiest(&rows.rows, &self.timeline, top);
                if !rows.left_out.is_empty() {
                    unevaluated.push(Unevaluated::instances(&scoped.name, rows.left_out.len()));
                }
            }
            // Processes have a list of their own, with the usual counters. Counters of theirs that a path names are
            // listed as those of other objects.
            let is_named = scoped.counters.iter().any(|counter| !counter.only.is_empty());
            if !scoped.is_of_processes || is_named {
                objects.extend(object_of(scoped, rows, samples, &self.timeline));
            }
        }
        Report {
            machine: self.scope.machine,
            boots: self.boots,
            timeline: self.timeline,
            objects,
            processes,
            by_name,
            changes,
            restarts,
            findings,
            evaluated: held.len(),
            unevaluated,
            without_counters: self.scope.without_counters,
        }
    }

    /// Notes the changes per hour that cross the thresholds for trends.
    fn add_trends(&mut self) {
        let samples = self.timeline.times().len() as u64;
        for (scoped, rows) in self.scope.objects.iter().zip(&mut self.objects) {
            for (place, counter) in scoped.counters.iter().enumerate() {
                for number in &counter.thresholds {
                    let Some(threshold) = self.scope.thresholds.get(*number) else { continue };
                    if !threshold.is_trend {
                        continue;
                    }
                    for row in &mut rows.rows {
                        let curve = row.figures.get(place).map(|figures| &figures.curve);
                        let Some(trend) =
                            curve.and_then(|one| Trend::of(one, samples, &self.timeline))
                        else {
                            continue;
                        };
                        if threshold.comparison.holds(trend.per_hour, threshold.limit) {
                            row.cross(*number, place, threshold, trend.per_hour, trend.last);
                            if let Some((_, _, crossing)) = row.crossings.last_mut() {
                                crossing.first = trend.first;
                            }
                        }
                    }
                }
            }
        }
    }

    /// The numbers of the thresholds that are valid for the whole recording, and the invalid thresholds with the
    /// reason. A limit that was computed from a number of instances is invalid if further instances appeared later.
    fn held(&self) -> (Vec<usize>, Vec<Unevaluated>) {
        let count = |set: &CounterSet| {
            let mut count = 0;
            for (scoped, rows) in self.scope.objects.iter().zip(&self.objects) {
                let counters = scoped.counters.iter().filter(|one| set.is_about(scoped, one));
                let rows = rows.rows.iter().filter(|row| set.has(row.label.as_ref()));
                count += (counters.count() * rows.count()) as u64;
            }
            count
        };
        let (mut held, mut lost) = (Vec::new(), Vec::new());
        for (number, threshold) in self.scope.thresholds.iter().enumerate() {
            let changed = threshold.counted.iter().find(|(set, had)| count(set) != *had);
            match changed {
                None => held.push(number),
                Some((set, _)) => lost.push(Unevaluated {
                    title: threshold.title.to_string(),
                    origin: Arc::clone(&threshold.origin),
                    reason: format!(
                        "counts the instances of {}, and others came during the recording",
                        set.path
                    ),
                }),
            }
        }
        (held, lost)
    }

    /// The thresholds that values crossed, the most severe first; `held` has the numbers of valid thresholds.
    fn findings(&self, held: &[usize]) -> Vec<ThresholdFinding> {
        let mut findings: HashMap<(usize, usize, usize), ThresholdFinding> = HashMap::new();
        for (at, (scoped, rows)) in self.scope.objects.iter().zip(&self.objects).enumerate() {
            for row in &rows.rows {
                for (number, place, crossing) in &row.crossings {
                    let (Some(threshold), Some(counter)) =
                        (self.scope.thresholds.get(*number), scoped.counters.get(*place))
                    else {
                        continue;
                    };
                    if !held.contains(number) {
                        continue;
                    }
                    let finding =
                        findings.entry((*number, at, *place)).or_insert_with(|| ThresholdFinding {
                            threshold: Arc::clone(threshold),
                            object: scoped.name.clone(),
                            counter: counter.name.clone(),
                            unit: counter.unit,
                            counter_type: counter.counter_type,
                            instances: Vec::new(),
                        });
                    let values = row.figures.get(*place).map_or(0, Figures::count);
                    finding.instances.push(super::CrossedBy {
                        label: row.shown_label(),
                        crossing: *crossing,
                        values,
                    });
                }
            }
        }
        let mut findings: Vec<_> = findings.into_iter().collect();
        findings.sort_by_key(|(key, _)| *key);
        let mut findings: Vec<ThresholdFinding> =
            findings.into_iter().map(|(_, finding)| finding).collect();
        for finding in &mut findings {
            finding.instances.sort_by_key(|one| Reverse(one.crossing.count));
        }
        findings.sort_by_key(|finding| Reverse(finding.threshold.severity));
        findings
    }
}

impl Rows {
    /// The row of the reading's instance, which is noted as seen in `sample`; `None` for a further
    /// instance where there are [`MOST_ROWS`].
    fn row(&mut self, reading: &Reading, object: &ScopedObject, sample: u64) -> Option<&mut Row> {
        let place = match self.places.get(&reading.identity) {
            Some(place) => *place,
            None if self.rows.len() >= MOST_ROWS => {
                // The set that counts further instances must be bounded, too.
                if self.left_out.len() < 5 * MOST_ROWS {
                    self.left_out.insert(reading.identity.clone());
                }
                return None;
            }
            None => {
                self.places.insert(reading.identity.clone(), self.rows.len());
                self.rows.push(Row {
                    label: reading.instance.clone(),
                    role: reading.role(),
                    process: reading.process_id(),
                    seen: (sample, sample),
                    samples: 1,
                    figures: object.counters.iter().map(|_| Figures::default()).collect(),
                    crossings: Vec::new(),
                });
                self.rows.len() - 1
            }
        };
        let row = self.rows.get_mut(place)?;
        row.samples += u64::from(row.seen.1 != sample);
        row.seen.1 = sample;
        Some(row)
    }
}

impl Row {
    /// Notes a value that is beyond the limit of a threshold, if the threshold is for this instance. `number` is the
    /// threshold's index in the scope, `place` the counter's index in the scope's object.
    fn cross(
        &mut self,
        number: usize,
        place: usize,
        threshold: &Threshold,
        value: f64,
        time: FileTime,
    ) {
        if !threshold.counters.has(self.label.as_ref()) {
            return;
        }
        let known = self.crossings.iter_mut().find(|(of, at, _)| (*of, *at) == (number, place));
        match known {
            Some((_, _, crossing)) => crossing.add(threshold.comparison, value, time),
            None => self.crossings.push((number, place, Crossing::new(value, time))),
        }
    }

    /// The label for people, with the process ID if the instance is a process or belongs to one;
    /// `None` for an object without instances.
    fn shown_label(&self) -> Option<String> {
        let label = self.label.as_ref()?;
        Some(match (self.process, &label.parent) {
            (Some(id), Some(parent)) => format!("{parent}/{} ({id})", label.name),
            (Some(id), None) => format!("{} ({id})", label.name),
            (None, _) => label.plain(),
        })
    }
}

/// The change of a counter per hour.
pub(super) struct Trend {
    pub(super) per_hour: f64,
    first: FileTime,
    last: FileTime,
}

impl Trend {
    /// The mean of the last slice of a curve less that of the first, divided by the hours between their beginnings,
    /// with the times of these beginnings; `None` if fewer than two slices have values, or if no time passed between
    /// them. A slice is a thirtieth of the samples.
    pub(super) fn of(curve: &Curve, samples: u64, timeline: &Timeline) -> Option<Self> {
        let [(first, low), (last, high)] = curve.ends(samples)?;
        let time = |sample: u64| timeline.times().get(usize::try_from(sample).ok()?).copied();
        let (first, last) = (time(first)?, time(last)?);
        let hours = (last.0 - first.0) as f64 / 3.6e10;
        (hours > 0.0).then(|| Self { per_hour: (high - low) / hours, first, last })
    }
}

/// The figures of an object; `None` if no counter that the report lists had a value.
fn object_of(
    scoped: &ScopedObject,
    rows: Rows,
    samples: u64,
    timeline: &Timeline,
) -> Option<ObjectReport> {
    let mut instances = Vec::new();
    for row in rows.rows {
        let label = row.label.as_ref();
        let is_shown = |counter: &ScopedCounter| {
            counter.is_shown
                && (counter.only.is_empty() || counter.only.iter().any(|set| set.has(label)))
        };
        let mut counters = Vec::new();
        for (counter, figures) in scoped.counters.iter().zip(&row.figures) {
            let Some(summary) = figures.summary().filter(|_| is_shown(counter)) else { continue };
            counters.push(CounterReport {
                name: counter.name.clone(),
                english: counter.english.clone(),
                index: counter.index,
                unit: counter.unit,
                counter_type: counter.counter_type,
                summary,
                trend: Trend::of(&figures.curve, samples, timeline).map(|trend| trend.per_hour),
                curve: figures.curve.clone().for_samples(samples),
            });
        }
        if !counters.is_empty() {
            instances.push(InstanceReport { label: row.shown_label(), role: row.role, counters });
        }
    }
    // Sums first, then the instances with the greatest means of the first counter.
    let first =
        |instance: &InstanceReport| instance.counters.first().map_or(0.0, |one| one.summary.mean);
    instances.sort_by(|a, b| {
        let is_single = |one: &InstanceReport| one.role != InstanceRole::Total;
        is_single(a).cmp(&is_single(b)).then_with(|| first(b).total_cmp(&first(a)))
    });
    (!instances.is_empty()).then(|| ObjectReport {
        name: scoped.name.clone(),
        english: scoped.english.clone(),
        index: scoped.index,
        instances,
        left_out: rows.left_out.len(),
    })
}

/// The statistics of a counter, and its change per hour (`None` where [`Trend::of`] returns
/// `None`); `None` instead of both where the counter had no value.
pub(super) fn with_trend(
    figures: &Figures,
    samples: u64,
    timeline: &Timeline,
) -> Option<(Summary, Option<f64>)> {
    let trend = Trend::of(&figures.curve, samples, timeline).map(|trend| trend.per_hour);
    figures.summary().map(|summary| (summary, trend))
}

/// The index of each counter of [`chosen::PROCESSES`] among those of the scope; `None` where the
/// scope does not have it.
pub(super) fn places_of(scoped: &ScopedObject) -> [Option<usize>; 6] {
    let mut places = [None; 6];
    for (place, (index, english)) in places.iter_mut().zip(chosen::PROCESSES) {
        let is_it = |counter: &ScopedCounter| {
            counter.english == *english || counter.english == index.to_string()
        };
        *place = scoped.counters.iter().position(is_it);
    }
    places
}
