//! The figures of an experiment's records, by event name.

use crate::record::{EventRecord, RecordBatch, RecordColumn};
use crate::section::Section;
use crate::{CallTotals, EventKind};
use perfhive_engine::measure::MOST_EVENT_NAMES;
use sketches_ddsketch::{Config, DDSketch};
use std::sync::Arc;
use std::time::Duration;

/// The most summaries: of points, starts, ends and sections of each name. Events beyond them are only counted.
const MOST_EVENTS: usize = 4 * MOST_EVENT_NAMES;

/// Count, mean, percentiles and bounds of many numbers.
///
/// Percentiles are those of a DDSketch (Masson, Rim and Lee, 2019), within 1 % of the exact value;
/// everything else is exact.
#[derive(Clone)]
pub struct SummaryFigures {
    sketch: DDSketch,
}

impl Default for SummaryFigures {
    fn default() -> Self {
        Self { sketch: DDSketch::new(Config::defaults()) }
    }
}

impl std::fmt::Debug for SummaryFigures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SummaryFigures")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .finish_non_exhaustive()
    }
}

impl SummaryFigures {
    /// Adds a number. Infinities and NaN are left out.
    pub fn add(&mut self, number: f64) {
        if number.is_finite() {
            self.sketch.add(number);
        }
    }

    /// The number of numbers that were added, without those that were left out.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.sketch.count() as u64
    }

    /// The sum of the numbers; 0 if no number was added.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sketch.sum().unwrap_or_default()
    }

    /// The mean of the numbers; `None` if no number was added.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum() / count as f64)
    }

    /// The quantile (nearest rank): the smallest number at or below which lies at least the given share of all
    /// numbers. 0.5 is the median. `None` if no number was added.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let (low, high) = self.min().zip(self.max())?;
        // The sketch rounds a share of the distances between numbers down to a number. The number of this rank
        // has at least the share at or below it, so that the tail of a few numbers is not cut off.
        let last = self.count().saturating_sub(1) as f64;
        let rank = ((share * (last + 1.0)).ceil() - 1.0).clamp(0.0, last);
        let near = self.sketch.quantile(((rank + 0.5) / last.max(1.0)).min(1.0)).ok().flatten()?;
        Some(near.clamp(low, high))
    }

    /// The smallest number; `None` if no number was added.
    #[must_use]
    pub fn min(&self) -> Option<f64> {
        self.sketch.min()
    }

    /// The greatest number; `None` if no number was added.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        self.sketch.max()
    }
}

/// The figures of the events of one name, or of its sections.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventSummary {
    /// The name of the event source.
    pub source: Arc<str>,
    /// The name of the events.
    pub name: Arc<str>,
    /// The kind of the events; `None` for the sections of this name.
    pub kind: Option<EventKind>,
    /// The number of events, or of sections.
    pub count: u64,
    /// In seconds: of events the time from the event to the end of its sample, of sections their
    /// duration without the calls in them. Sections for which this duration is not known are left
    /// out.
    pub time: SummaryFigures,
    /// In seconds: of events the time that the sample took, of sections the processor time of their thread without
    /// the calls in them.
    pub part: SummaryFigures,
    /// The sensors with the figures of their values. For sections these are the growths of the raw values, in seconds
    /// where the raw values count time.
    pub sensors: Vec<(RecordColumn, SummaryFigures)>,
}

/// The figures of an experiment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExperimentSummary {
    /// A summary of the events of each source, name and kind, and one of the sections of each
    /// source and name, in the order in which they were first delivered.
    pub events: Vec<EventSummary>,
    /// The number of starts without an end and of ends without a start.
    pub unmatched: u64,
    /// The number of events and sections that have no figures because there were too many names.
    pub unnamed: u64,
    /// The number and the cost of the calls of the thread that called most. Of a thread that calls
    /// through several libraries, these are the calls through one of them.
    pub calls: CallTotals,
    /// The seconds from when the event source returned an event until the event's record was
    /// complete, of each recorded event.
    pub overhead: SummaryFigures,
}

impl ExperimentSummary {
    pub(crate) fn add(&mut self, batch: &RecordBatch<'_>, record: &EventRecord) {
        let event = &record.event;
        if let Some(calls) = event.calls.filter(|calls| calls.count > self.calls.count) {
            self.calls = calls;
        }
        self.overhead.add(seconds(Duration::from_nanos(record.done.saturating_sub(record.taken))));
        let Some(summary) = self.of(batch, &event.name, Some(event.kind)) else { return };
        summary.count += 1;
        summary.time.add(seconds(record.delay()));
        summary.part.add(seconds(record.sample));
        for ((_, figures), reading) in summary.sensors.iter_mut().zip(&record.readings) {
            reading.value.into_iter().for_each(|value| figures.add(value));
        }
    }

    pub(crate) fn add_section(&mut self, batch: &RecordBatch<'_>, section: &Section) {
        let Some(summary) = self.of(batch, &section.name, None) else { return };
        summary.count += 1;
        section.corrected().into_iter().for_each(|time| summary.time.add(seconds(time)));
        let time = section.corrected_thread_time();
        time.into_iter().for_each(|time| summary.part.add(seconds(time)));
        for ((column, figures), growth) in summary.sensors.iter_mut().zip(&section.growth) {
            if let Some(growth) = *growth {
                let growth = growth as f64;
                let unit = column.raw_per_second.filter(|unit| *unit > 0);
                figures.add(unit.map_or(growth, |unit| growth / unit as f64));
            }
        }
    }

    fn of(
        &mut self,
        batch: &RecordBatch<'_>,
        name: &Arc<str>,
        kind: Option<EventKind>,
    ) -> Option<&mut EventSummary> {
        let same = |one: &EventSummary| {
            one.kind == kind && one.name == *name && *one.source == *batch.source()
        };
        let place = match self.events.iter().position(same) {
            Some(place) => place,
            None if self.events.len() >= MOST_EVENTS => {
                self.unnamed += 1;
                return None;
            }
            None => {
                let columns = batch.columns().iter();
                self.events.push(EventSummary {
                    source: batch.source().into(),
                    name: Arc::clone(name),
                    kind,
                    count: 0,
                    time: SummaryFigures::default(),
                    part: SummaryFigures::default(),
                    sensors: columns.map(|one| (one.clone(), SummaryFigures::default())).collect(),
                });
                self.events.len() - 1
            }
        };
        self.events.get_mut(place)
    }
}

impl CallTotals {
    /// The mean processor time of a call; `None` without calls. Unlike the time of a call, it does not include
    /// waiting for a processor.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.thread_time.checked_div(self.count)?))
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_hundredth_and_the_rest_is_exact() {
        let mut figures = SummaryFigures::default();
        assert_eq!((figures.mean(), figures.quantile(0.5), figures.max()), (None, None, None));
        for number in 1..=10_000 {
            figures.add(f64::from(number));
        }
        figures.add(f64::NAN);
        assert_eq!((figures.count(), figures.mean()), (10_000, Some(5000.5)));
        assert_eq!((figures.min(), figures.max()), (Some(1.0), Some(10_000.0)));
        for (share, exact) in [(0.5, 5000.0), (0.95, 9500.0), (0.99, 9900.0), (1.0, 10_000.0)] {
            let near = figures.quantile(share).unwrap();
            assert!((near / exact - 1.0).abs() <= 0.01, "{share}: {near}");
        }
    }

    #[test]
    fn the_tail_of_a_few_numbers_is_their_greatest() {
        let mut figures = SummaryFigures::default();
        for number in 1..=10 {
            figures.add(f64::from(number));
            assert_eq!(figures.quantile(0.99), figures.max());
        }
        let median = figures.quantile(0.5).unwrap();
        assert!((median / 5.0 - 1.0).abs() <= 0.01, "{median}");
    }
}
