//! The least, the greatest and the mean value of a counter over raw samples.

use super::format::{FormattedValue, NoFormat, ValueFormat};
use super::no_value::NoValue;
use super::reading::Reading;
use crate::identity::Identity;
use perfhive_format::{
    Clock, CookError, CookOptions, CookedValue, CounterType, Formula, RawSample,
};
use std::collections::VecDeque;

/// Statistics over the values that successive raw samples of one counter give
/// (`PdhComputeCounterStatistics`).
///
/// ```
/// use perfhive_engine::Statistics;
/// use perfhive_format::{Clocks, CookOptions, CounterType, RawSample};
/// // A counter of events at seconds 0, 1 and 3.
/// let at = |second: i64, events| {
///     let clocks = Clocks { perf_time: second * 1000, perf_freq: 1000, ..Clocks::default() };
///     RawSample::new(events, clocks)
/// };
/// let samples = [at(0, 0), at(1, 40), at(3, 60)];
/// let kind = CounterType::PERF_COUNTER_BULK_COUNT;
/// let statistics = Statistics::of(kind, CookOptions::default(), &samples)?;
/// assert_eq!(statistics.count, 2);
/// assert_eq!(statistics.minimum.as_f64(), 10.0);
/// assert_eq!(statistics.maximum.as_f64(), 40.0);
/// // 60 events in 3 seconds: not the mean of 40 and 10.
/// assert_eq!(statistics.mean, 20.0);
/// # Ok::<(), perfhive_format::CookError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// The number of values: one for each sample or, if the type takes two samples, for each pair
    /// of neighbours. Samples and pairs without a value do not count.
    pub count: usize,
    /// The least value, in the counter's unit.
    pub minimum: CookedValue,
    /// The greatest value, in the counter's unit.
    pub maximum: CookedValue,
    /// The mean, in the counter's unit. A value of two samples is weighted by its denominator:
    /// rates and shares of time by the length of the interval, averages and fractions by the number
    /// of operations in it. If every interval has a value, the mean is then the value that the
    /// first and the last sample alone would give, as the documentation of the counter types
    /// defines the average. Differences and values of one sample all have the same weight.
    pub mean: f64,
}

impl Statistics {
    /// The statistics of samples, which must be in order, the oldest first. [`oldest_first`] brings
    /// the entries of a ring buffer into that order.
    ///
    /// An interval without a value (the counter was reset, no time passed) is left out of the mean
    /// as well.
    ///
    /// # Errors
    /// If no sample gives a value: the reason why the newest one gives none.
    pub fn of<'a>(
        kind: CounterType,
        options: CookOptions,
        samples: impl IntoIterator<Item = &'a RawSample>,
    ) -> Result<Self, CookError> {
        let formula = Formula::of(kind)?;
        let mut sum = Sum::default();
        let mut failure = CookError::NeedsTwoSamples;
        let mut older: Option<&RawSample> = None;
        for sample in samples {
            match formula.apply(options, older, sample) {
                Ok(value) => sum.add(value, weight(formula, options, older, sample)),
                // If the type takes two samples, the first one has no value; that is no failure.
                Err(_) if older.is_none() && formula.samples() == 2 => {}
                Err(error) => failure = error,
            }
            older = Some(sample);
        }
        sum.statistics().ok_or(failure)
    }

    /// Minimum, maximum and mean, in this order, in a format (`dwFormat`). Each is formatted on its
    /// own: the maximum may not fit although the mean does.
    ///
    /// ```
    /// use perfhive_engine::{FormattedValue, Statistics, ValueFormat};
    /// use perfhive_format::{Clocks, CookOptions, CounterType, RawSample};
    /// let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    /// let samples = [1, 4, 5_000_000_000].map(|value| RawSample::new(value, Clocks::default()));
    /// let statistics = Statistics::of(kind, CookOptions::default(), &samples)?;
    /// let [minimum, maximum, mean] = statistics.formatted(kind, ValueFormat::long());
    /// assert_eq!(minimum, Ok(FormattedValue::Long(1)));
    /// assert!(maximum.is_err()); // more than 32 bits
    /// assert_eq!(mean, Ok(FormattedValue::Long(1_666_666_668)));
    /// # Ok::<(), perfhive_format::CookError>(())
    /// ```
    ///
    /// # Errors
    /// For each of the three, why it does not fit the format.
    pub fn formatted(
        &self,
        kind: CounterType,
        format: ValueFormat,
    ) -> [Result<FormattedValue, NoFormat>; 3] {
        let mean = CookedValue::Float(self.mean);
        [self.minimum, self.maximum, mean].map(|value| format.apply(kind, value))
    }
}

/// The weight of a value in the mean: its denominator, which is the growth of the clock or base by
/// which the formula divides. 1 for a formula without such a divisor, and for a value of one
/// sample; 0 if the growth of the base is not known.
#[allow(clippy::cast_precision_loss, reason = "a weight")]
pub(super) fn weight(
    formula: Formula,
    options: CookOptions,
    older: Option<&RawSample>,
    newer: &RawSample,
) -> f64 {
    let (Some(older), 2) = (older, formula.samples()) else { return 1.0 };
    let elapsed =
        |clock: Clock| clock.time(&newer.clocks).saturating_sub(clock.time(&older.clocks));
    match formula {
        Formula::Delta => 1.0,
        // The base of a multi timer is the number of items, which does not grow.
        Formula::MultiTimer(clock) | Formula::MultiTimerInverse(clock) => elapsed(clock) as f64,
        _ if formula.needs_base() => {
            let base = |sample: &RawSample| {
                let value = sample.base.unwrap_or(0);
                RawSample { value, value_size: sample.base_size, ..*sample }
            };
            let step = Formula::Delta.apply(options, Some(&base(older)), &base(newer));
            step.map_or(0.0, CookedValue::as_f64)
        }
        _ => formula.clock().map_or(1.0, |clock| elapsed(clock) as f64),
    }
}

/// [`Statistics`] over the readings of one counter of one instance, which are added one after the
/// other and not kept.
///
/// ```
/// # let recording = perfhive_testkit::script::recording();
/// use perfhive_engine::{Query, RunningStatistics};
/// let mut query = Query::new(recording)?;
/// query.add(r"\System\Context Switches/sec")?;
/// let mut statistics = RunningStatistics::default();
/// while query.collect().is_ok() {
///     query.readings().iter().for_each(|reading| statistics.push(reading));
/// }
/// assert_eq!(statistics.get().map(|s| (s.count, s.mean)), Some((1, 25.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunningStatistics {
    sum: Sum,
}

impl RunningStatistics {
    /// Adds a reading. A reading without a value does not count.
    pub fn push(&mut self, reading: &Reading) {
        let Ok(value) = &reading.value else { return };
        if value.as_f64().is_finite() {
            self.sum.add(*value, reading.weight);
        }
    }

    /// The statistics so far; `None` before the first value, and while no value has a weight.
    #[must_use]
    pub fn get(&self) -> Option<Statistics> {
        self.sum.statistics()
    }

    /// The number of values so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sum.count
    }
}

/// Count, weighted sum, weights and extremes of values that are not kept.
#[derive(Clone, Debug, Default)]
struct Sum {
    count: usize,
    weighted: f64,
    weights: f64,
    extremes: Option<(CookedValue, CookedValue)>,
}

impl Sum {
    fn add(&mut self, value: CookedValue, weight: f64) {
        self.count += 1;
        self.weighted += value.as_f64() * weight;
        self.weights += weight;
        let (least, greatest) = self.extremes.unwrap_or((value, value));
        self.extremes = Some((
            if is_less(value, least) { value } else { least },
            if is_less(greatest, value) { value } else { greatest },
        ));
    }

    fn statistics(&self) -> Option<Statistics> {
        let (minimum, maximum) = self.extremes?;
        let mean = self.weighted / self.weights;
        mean.is_finite().then_some(Statistics { count: self.count, minimum, maximum, mean })
    }
}

/// Whether `a` is less than `b`. Whole numbers are compared as such, since doubles cannot tell
/// neighbours apart above 2^53.
fn is_less(a: CookedValue, b: CookedValue) -> bool {
    match (a, b) {
        (CookedValue::Integer(a), CookedValue::Integer(b)) => a < b,
        _ => a.as_f64() < b.as_f64(),
    }
}

/// The entries of a ring buffer, from the oldest to the newest. `first_entry` is the index of the
/// oldest entry; the result is `None` if that index lies outside the buffer.
///
/// ```
/// let ring = ["d", "e", "a", "b", "c"];
/// let ordered: Vec<_> = perfhive_engine::oldest_first(&ring, 2).unwrap().copied().collect();
/// assert_eq!(ordered.concat(), "abcde");
/// assert!(perfhive_engine::oldest_first(&ring, 5).is_none());
/// ```
#[must_use]
pub fn oldest_first<T>(ring: &[T], first_entry: usize) -> Option<impl Iterator<Item = &T>> {
    let (newer, older) = ring.split_at_checked(first_entry)?;
    (!older.is_empty()).then(|| older.iter().chain(newer))
}

/// The last raw samples of one counter of one instance, for [`Statistics`].
///
/// ```
/// # let recording = perfhive_testkit::script::recording();
/// use perfhive_engine::{Query, SampleRing};
/// let mut query = Query::new(recording)?;
/// query.add(r"\System\Context Switches/sec")?;
/// let mut ring = SampleRing::new(60);
/// while query.collect().is_ok() {
///     for reading in query.readings() {
///         ring.push(reading);
///     }
/// }
/// assert_eq!(ring.samples().count(), 2);
/// assert_eq!(ring.statistics()?.mean, 25.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SampleRing {
    samples: VecDeque<RawSample>,
    capacity: usize,
    of: Option<(CounterType, Option<Identity>)>,
}

impl SampleRing {
    /// A ring that keeps the last `capacity` samples, at least 2.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { samples: VecDeque::new(), capacity: capacity.max(2), of: None }
    }

    /// Adds the raw sample of a reading; `false` if the reading has none. If the samples in the
    /// ring are of another instance or type, they are dropped first, since no value may be made of
    /// samples of both. They are also dropped if the value is [`Born`](NoValue::Born), because the
    /// instance may be another one of the same name, and if it is
    /// [`NeedsTwoSamples`](NoValue::NeedsTwoSamples), because the sample before may be of another
    /// source or counter.
    pub fn push(&mut self, reading: &Reading) -> bool {
        if matches!(reading.value, Err(NoValue::Born | NoValue::NeedsTwoSamples)) {
            self.samples.clear();
        }
        let Some(raw) = reading.raw else { return false };
        let of = (reading.counter_type, reading.identity.clone());
        if self.of.as_ref() != Some(&of) {
            self.samples.clear();
            self.of = Some(of);
        }
        if self.samples.len() == self.capacity {
            self.samples.pop_front();
        }
        self.samples.push_back(raw);
        true
    }

    /// The samples, the oldest first.
    pub fn samples(&self) -> impl Iterator<Item = &RawSample> {
        self.samples.iter()
    }

    /// The statistics of the samples in the ring. The wrap of a counter is undone if the identity
    /// alone proves the same instance (a process with a known start time, an object without
    /// instances). Any other step backwards has no value.
    ///
    /// # Errors
    /// The reason why no sample gives a value.
    pub fn statistics(&self) -> Result<Statistics, NoValue> {
        let (kind, identity) = self.of.as_ref().ok_or(NoValue::NeedsTwoSamples)?;
        let same_instance = identity.as_ref().is_some_and(Identity::is_certain);
        let options = CookOptions::default().with_same_instance(same_instance);
        Statistics::of(*kind, options, &self.samples).map_err(NoValue::Cook)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::Clocks;

    fn at(seconds: i64, value: u64, base: u64) -> RawSample {
        let clocks = Clocks {
            perf_time: seconds * 1000,
            perf_freq: 1000,
            time_100ns: seconds * 10_000_000,
            ..Clocks::default()
        };
        RawSample::new(value, clocks).with_base(base)
    }

    fn of(kind: CounterType, samples: &[RawSample]) -> Result<(usize, f64, f64, f64), CookError> {
        let s = Statistics::of(kind, CookOptions::default(), samples)?;
        Ok((s.count, s.minimum.as_f64(), s.maximum.as_f64(), s.mean))
    }

    #[test]
    fn values_of_one_sample_count_alike() {
        let samples = [at(0, 1, 4), at(1, 2, 4), at(9, 6, 4)];
        assert_eq!(of(CounterType::PERF_COUNTER_RAWCOUNT, &samples), Ok((3, 1.0, 6.0, 3.0)));
        assert_eq!(of(CounterType::PERF_RAW_FRACTION, &samples), Ok((3, 25.0, 150.0, 75.0)));
        assert_eq!(of(CounterType::PERF_COUNTER_RAWCOUNT, &samples[..1]), Ok((1, 1.0, 1.0, 1.0)));
    }

    #[test]
    fn rates_count_by_time_and_averages_by_operations() {
        let samples = [at(0, 0, 0), at(1, 40, 1), at(5, 80, 4)];
        assert_eq!(of(CounterType::PERF_COUNTER_BULK_COUNT, &samples), Ok((2, 10.0, 40.0, 16.0)));
        assert_eq!(of(CounterType::PERF_AVERAGE_BULK, &samples).map(|s| s.3), Ok(20.0));
        // The difference is not divided by time.
        assert_eq!(of(CounterType::PERF_COUNTER_DELTA, &samples), Ok((2, 40.0, 40.0, 40.0)));
    }

    #[test]
    fn the_mean_is_the_value_from_the_first_sample_to_the_last() {
        let samples =
            [at(3, 5, 2), at(4, 1_000_005, 7), at(9, 3_000_011, 9), at(11, 3_000_011, 30)];
        for info in CounterType::named() {
            let kind = info.counter_type;
            // The items of a multi timer change here; a difference has no denominator.
            let excluded = kind.is_multi() || Formula::of(kind) == Ok(Formula::Delta);
            if kind.samples() != 2 || kind.is_base() || excluded {
                continue;
            }
            let whole = Formula::of(kind).unwrap().apply(
                CookOptions::default(),
                samples.first(),
                &samples[3],
            );
            match (whole, of(kind, &samples)) {
                (Ok(whole), Ok((3, _, _, mean))) => {
                    let error = (mean - whole.as_f64()).abs();
                    assert!(error <= 1e-12 * mean.abs().max(1.0), "{kind}: {mean} {whole}");
                }
                (Err(why), Err(other)) => assert_eq!(why, other, "{kind}"),
                (whole, mean) => panic!("{kind}: {whole:?} {mean:?}"),
            }
        }
    }

    #[test]
    fn intervals_without_a_value_are_left_out() {
        // Ten a second, a reset, then twenty a second.
        let samples = [at(0, 100, 0), at(1, 110, 0), at(2, 0, 0), at(3, 20, 0), at(3, 25, 0)];
        assert_eq!(of(CounterType::PERF_COUNTER_BULK_COUNT, &samples), Ok((2, 10.0, 20.0, 15.0)));
        let backwards = [at(0, 100, 0), at(1, 99, 0)];
        let kind = CounterType::PERF_COUNTER_BULK_COUNT;
        assert_eq!(of(kind, &backwards), Err(CookError::WentBackwards));
        assert_eq!(of(kind, &backwards[..1]), Err(CookError::NeedsTwoSamples));
        assert_eq!(of(kind, &[]), Err(CookError::NeedsTwoSamples));
        assert_eq!(of(CounterType::PERF_COUNTER_TEXT, &samples), Err(CookError::IsText));
        // A wrap is undone where the instance is known to be the same.
        let wrapped = [at(0, 0xffff_fff0, 0), at(1, 0x10, 0)].map(|s| s.with_sizes(4, 4));
        let options = CookOptions::default().with_same_instance(true);
        let kind = CounterType::PERF_COUNTER_COUNTER;
        assert_eq!(Statistics::of(kind, options, &wrapped).map(|s| s.mean), Ok(32.0));
    }

    #[test]
    fn great_numbers_stay_apart() {
        let samples = [at(0, u64::MAX - 1, 0), at(1, u64::MAX, 0)];
        let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let statistics = Statistics::of(kind, CookOptions::default(), &samples).unwrap();
        assert_eq!(statistics.minimum, CookedValue::Integer(u64::MAX - 1));
        assert_eq!(statistics.maximum, CookedValue::Integer(u64::MAX));
    }
}
