//! The figures that a report keeps of one counter of one instance; their size does not depend on the length
//! of the recording.

use perfhive_engine::Reading;
use perfhive_format::FileTime;
use sketches_ddsketch::{Config, DDSketch};

/// The largest number of values that are all kept. If there are more, a sketch is kept instead.
const EXACT: usize = 4096;

/// The most parts that a curve has.
pub(super) const PARTS: u64 = 240;

/// The figures of one counter of one instance.
#[derive(Clone, Default)]
pub(super) struct Figures {
    count: u64,
    /// The sum of the values, each times its weight; `weights` is the sum of the weights.
    weighted: f64,
    weights: f64,
    /// The times of the least and of the greatest value; `None` before the first value.
    pub(super) at: Option<(FileTime, FileTime)>,
    extremes: (f64, f64),
    variance: Variance,
    spread: Spread,
    pub(super) curve: Curve,
}

impl Figures {
    /// Adds a reading of the sample with this number and time; `value` is what [`number`] returns for it. A reading
    /// without a value adds nothing.
    pub(super) fn add(
        &mut self,
        reading: &Reading,
        value: Option<f64>,
        sample: u64,
        time: FileTime,
    ) {
        let Some(value) = value else { return };
        self.count += 1;
        self.weighted += value * reading.weight;
        self.weights += reading.weight;
        let (least, greatest) = self.extremes;
        let (at_least, at_greatest) = self.at.unwrap_or((time, time));
        let is_first = self.at.is_none();
        let (is_less, is_greater) = (is_first || value < least, is_first || value > greatest);
        self.extremes =
            (if is_less { value } else { least }, if is_greater { value } else { greatest });
        self.at = Some((
            if is_less { time } else { at_least },
            if is_greater { time } else { at_greatest },
        ));
        self.variance.add(value);
        self.spread.add(value);
        self.curve.add(sample, value);
    }

    /// How many values the counter had.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The statistics of the values; `None` where there was no value.
    pub(super) fn summary(&self) -> Option<Summary> {
        let (minimum_at, maximum_at) = self.at?;
        let mean = self.weighted / self.weights;
        Some(Summary {
            count: self.count(),
            minimum: self.extremes.0,
            minimum_at,
            // The mean by the counter's type needs denominators. Where all of them are 0, it is the plain mean.
            mean: if mean.is_finite() { mean } else { self.variance.mean },
            percentile_95: self.spread.quantile(0.95)?,
            is_exact: self.spread.sketch.is_none(),
            maximum: self.extremes.1,
            maximum_at,
            deviation: self.variance.deviation(),
        })
    }
}

/// The value of a reading; `None` if it has none that is finite. A percentage below zero, which clocks that
/// differ a little make, is zero.
pub(super) fn number(reading: &Reading, unit: &str) -> Option<f64> {
    let value = reading.value.as_ref().ok()?.as_f64();
    value.is_finite().then(|| if unit == "%" { value.max(0.0) } else { value })
}

/// The statistics of the values of one counter of one instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many values there were.
    pub count: u64,
    /// The least value.
    pub minimum: f64,
    /// The time of the first sample with the least value.
    pub minimum_at: FileTime,
    /// The mean as the counter's type defines it
    /// ([`Statistics::mean`](perfhive_engine::Statistics::mean)): for rates the mean over time, for
    /// averages the mean over operations.
    pub mean: f64,
    /// The 95th percentile: the least of the values that at least 95 % of them do not exceed.
    pub percentile_95: f64,
    /// Whether the percentile is exact: it is for up to 4,096 values, and within 1 % for more.
    pub is_exact: bool,
    /// The greatest value.
    pub maximum: f64,
    /// The time of the first sample with the greatest value.
    pub maximum_at: FileTime,
    /// The standard deviation of the values, calculated with their number less one; 0 for a single
    /// value.
    pub deviation: f64,
}

/// Mean and variance of values that are added one at a time (Welford's method).
#[derive(Clone, Copy, Debug, Default)]
struct Variance {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Variance {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    fn deviation(&self) -> f64 {
        if self.count < 2.0 { 0.0 } else { (self.squares / (self.count - 1.0)).max(0.0).sqrt() }
    }
}

/// The distribution of values: the values themselves, or a sketch if there are many.
#[derive(Clone, Default)]
struct Spread {
    values: Vec<f64>,
    sketch: Option<Box<DDSketch>>,
}

impl Spread {
    fn add(&mut self, value: f64) {
        if let Some(sketch) = &mut self.sketch {
            sketch.add(value);
            return;
        }
        self.values.push(value);
        if self.values.len() > EXACT {
            // The default settings of the sketch allow an error of 1 % of the value.
            let mut sketch = DDSketch::new(Config::defaults());
            std::mem::take(&mut self.values).into_iter().for_each(|value| sketch.add(value));
            self.sketch = Some(Box::new(sketch));
        }
    }

    /// The least value that at least this part of the values (0 to 1) does not exceed; within 1 %
    /// if a sketch is kept. `None` without values.
    fn quantile(&self, part: f64) -> Option<f64> {
        if let Some(sketch) = &self.sketch {
            return sketch.quantile(part).ok().flatten();
        }
        let mut values = self.values.clone();
        values.sort_unstable_by(f64::total_cmp);
        let rank = (part * values.len() as f64).ceil() as usize;
        values.get(rank.max(1) - 1).copied()
    }
}

/// The values of some successive samples, as one part of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CurvePart {
    /// The number of the part in time, from 0. A part without values is left out, and its number is skipped.
    pub number: u64,
    /// How many values the part has.
    pub count: u64,
    /// The sum of the part's values.
    pub sum: f64,
    /// The greatest of the part's values.
    pub maximum: f64,
}

impl CurvePart {
    /// The mean of the part's values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    /// Adds the values of another part to this one, which keeps its number.
    fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.maximum = self.maximum.max(other.maximum);
    }
}

/// The course of values over time: at most 240 parts, each of the same number of samples.
#[derive(Clone, Debug)]
pub struct Curve {
    width: u64,
    parts: Vec<CurvePart>,
}

impl Default for Curve {
    fn default() -> Self {
        Self { width: 1, parts: Vec::new() }
    }
}

impl Curve {
    /// Adds the value of the sample with this number, and widens the parts if they would be more
    /// than [`PARTS`]. The caller adds values in the order of sample numbers.
    fn add(&mut self, sample: u64, value: f64) {
        while sample / self.width >= PARTS {
            self.widen();
        }
        let part = CurvePart { number: sample / self.width, count: 1, sum: value, maximum: value };
        match self.parts.last_mut() {
            Some(last) if last.number == part.number => last.join(&part),
            _ => self.parts.push(part),
        }
    }

    /// Joins the parts in pairs, so that each covers twice as many samples.
    fn widen(&mut self) {
        self.width *= 2;
        let mut joined: Vec<CurvePart> = Vec::with_capacity(self.parts.len() / 2 + 1);
        for part in &self.parts {
            let part = CurvePart { number: part.number / 2, ..*part };
            match joined.last_mut() {
                Some(last) if last.number == part.number => last.join(&part),
                _ => joined.push(part),
            }
        }
        self.parts = joined;
    }

    /// How many samples each part covers.
    #[must_use]
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The parts that have values, in the order of time.
    #[must_use]
    pub fn parts(&self) -> &[CurvePart] {
        &self.parts
    }

    /// The curve with parts so wide that a recording of `samples` samples has at most [`PARTS`].
    pub(super) fn for_samples(mut self, samples: u64) -> Self {
        while samples.saturating_sub(1) / self.width >= PARTS {
            self.widen();
        }
        self
    }

    /// The first and the last slice that have values, each as the number of its first sample and
    /// the mean of its values; `None` if fewer than two slices have values. A slice is a thirtieth
    /// of `samples` (rounded up), as PAL divides a log.
    pub(super) fn ends(&self, samples: u64) -> Option<[(u64, f64); 2]> {
        let slice = samples.div_ceil(30).max(1);
        let of = |part: &CurvePart| part.number * self.width / slice;
        let (first, last) = (of(self.parts.first()?), of(self.parts.last()?));
        let mean = |wanted: u64| {
            let mut all = CurvePart { number: 0, count: 0, sum: 0.0, maximum: 0.0 };
            self.parts.iter().filter(|part| of(part) == wanted).for_each(|part| all.join(part));
            (wanted * slice, all.mean())
        };
        (first < last).then(|| [mean(first), mean(last)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut spread = Spread::default();
        values.into_iter().for_each(|value| spread.add(value));
        spread
    }

    #[test]
    fn percentiles_of_few_values_are_exact_and_of_many_within_one_percent() {
        assert_eq!(spread([]).quantile(0.95), None);
        assert_eq!(spread([7.0]).quantile(0.95), Some(7.0));
        assert_eq!(spread((1..=20).map(f64::from)).quantile(0.95), Some(19.0));
        assert_eq!(spread((1..=100).rev().map(f64::from)).quantile(0.95), Some(95.0));
        let many = spread((0..100_000).map(|n| f64::from(n * 7919 % 100_000)));
        assert!(many.sketch.is_some() && many.values.is_empty());
        let found = many.quantile(0.95).unwrap();
        assert!((found - 95_000.0).abs() <= 950.0, "{found}");
        // Negative values and zeros.
        let many = spread((0..10_000).map(|n| f64::from(n) - 9_900.0));
        let found = many.quantile(0.95).unwrap();
        assert!((found + 400.0).abs() <= 5.0, "{found}");
    }

    #[test]
    fn a_curve_has_at_most_so_many_parts_and_loses_no_value() {
        let mut curve = Curve::default();
        for sample in (0..100_000).filter(|sample| sample % 10 != 3) {
            curve.add(sample, sample as f64);
        }
        assert!(curve.parts().len() <= PARTS as usize && curve.parts().len() >= 120);
        assert_eq!(curve.parts().iter().map(|part| part.count).sum::<u64>(), 90_000);
        let last = curve.parts().last().unwrap();
        assert_eq!((last.maximum, last.number), (99_999.0, 99_999 / curve.width()));
        let [(first, low), (end, high)] = curve.ends(100_000).unwrap();
        assert!(first == 0 && end > 96_000 && low < 2_000.0 && high > 97_000.0);
    }

    #[test]
    fn a_short_life_at_the_end_of_a_long_recording_takes_one_part() {
        let mut curve = Curve::default();
        curve.add(1_000_000, 5.0);
        let curve = curve.for_samples(2_000_000);
        assert_eq!((curve.parts().len(), curve.ends(2_000_000).is_none()), (1, true));
        let width = curve.width();
        assert!(1_999_999 / width < PARTS && 1_999_999 / (width / 2) >= PARTS);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let mut variance = Variance::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].iter().for_each(|value| variance.add(*value));
        assert!((variance.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
