//! The cost of the sample stage.

use super::rows::Rows;
use crate::output::Output;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::measure::{SampleRecord, TimeSource};
use perfhive_view::number::{push_float, push_grouped};
use std::time::Duration;

/// The most samples from which the median is computed; of more, the newest.
const KEPT: usize = 100_000;

/// The durations of samples in ns: the [`KEPT`] newest ones, the number of all, and the longest of all.
#[derive(Default)]
struct Series {
    newest: Vec<u64>,
    count: u64,
    longest: u64,
}

impl Series {
    /// Adds the duration of a sample, in place of the oldest kept one if there are [`KEPT`].
    fn add(&mut self, nanos: u64) {
        let place = self.count as usize % KEPT;
        match self.newest.get_mut(place) {
            Some(oldest) => *oldest = nanos,
            None => self.newest.push(nanos),
        }
        self.count += 1;
        self.longest = self.longest.max(nanos);
    }

    /// The median of the [`KEPT`] newest durations; the greater of the middle two for an even
    /// number. `None` without samples.
    fn median(&self) -> Option<u64> {
        let mut sorted = self.newest.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }
}

/// A time source that is read before and after each sample, and the times that passed between.
struct Clock {
    name: String,
    resolution: Duration,
    /// The time that one reading of the clock takes.
    reading: Duration,
    series: Series,
}

/// The durations of the samples so far, and the times that each clock measured for them.
#[derive(Default)]
pub(super) struct Cost {
    stage: Series,
    clocks: Vec<Clock>,
}

impl Cost {
    /// Adds a clock; clocks must be added in the order in which the context reads them.
    pub(super) fn clock(&mut self, clock: &mut dyn TimeSource) {
        self.clocks.push(Clock {
            name: clock.name().to_string(),
            resolution: clock.resolution(),
            reading: clock.cost(),
            series: Series::default(),
        });
    }

    /// Adds the duration of a sample, and the time that each clock measured for it; none for a clock that went
    /// back.
    pub(super) fn add(&mut self, record: &SampleRecord) {
        self.stage.add(u64::try_from(record.duration.as_nanos()).unwrap_or(u64::MAX));
        for (clock, reading) in self.clocks.iter_mut().zip(&record.times) {
            let passed = reading.after.zip(reading.before);
            let passed = passed.and_then(|(after, before)| after.checked_sub(before));
            // If a clock went back, its duration is unknown.
            if let Some(nanos) = passed.and_then(|passed| u64::try_from(passed).ok()) {
                clock.series.add(nanos);
            }
        }
    }

    /// The number of samples so far.
    pub(super) fn samples(&self) -> u64 {
        self.stage.count
    }

    /// Appends the cost as a table for people, in microseconds.
    pub(super) fn render(&self, output: &Output, text: &mut String) {
        let mut head = String::from("Cost of ");
        push_grouped(&mut head, self.samples());
        head.push_str(if self.samples() == 1 { " sample" } else { " samples" });
        head.push_str(", in µs");
        output.palette.push(text, Style::Heading, &head);
        text.push('\n');
        let mut table = Table::new(&[
            ("", Align::Left),
            ("MEDIAN", Align::Point),
            ("LONGEST", Align::Point),
            ("STEP", Align::Point),
            ("READING", Align::Point),
        ]);
        let mut row = |name: &str, series: &Series, clock: Option<(Duration, Duration)>| {
            let longest = (series.count > 0).then_some(series.longest);
            let of = |time: Duration| u64::try_from(time.as_nanos()).ok();
            let (step, reading) = clock.unzip();
            table.text(Style::Name, name);
            for nanos in [series.median(), longest, step.and_then(of), reading.and_then(of)] {
                table.cell(Style::Plain, |out| {
                    if let Some(nanos) = nanos {
                        push_float(out, nanos as f64 / 1e3, 3);
                    }
                });
            }
        };
        row("sample", &self.stage, None);
        for clock in &self.clocks {
            row(&clock.name, &clock.series, Some((clock.resolution, clock.reading)));
        }
        table.render(text, output.layout(true));
    }

    /// Adds the cost as rows for programs, in seconds.
    pub(super) fn push(&self, rows: &mut Rows, text: &mut String) {
        rows.cost(text, "sample", "count", self.samples(), None);
        let clocks = self.clocks.iter().map(|clock| (clock.name.as_str(), &clock.series));
        for (name, series) in [("sample", &self.stage)].into_iter().chain(clocks) {
            if let Some(median) = series.median() {
                rows.cost(text, name, "median", series.count, Some(median));
                rows.cost(text, name, "longest", series.count, Some(series.longest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_the_newest_samples() {
        let mut series = Series::default();
        assert_eq!(series.median(), None);
        for nanos in [5, 1, 9] {
            series.add(nanos);
        }
        assert_eq!((series.median(), series.longest, series.count), (Some(5), 9, 3));
        for _ in 0..KEPT {
            series.add(2);
        }
        assert_eq!((series.median(), series.longest), (Some(2), 9));
        assert_eq!(series.newest.len(), KEPT);
    }
}
