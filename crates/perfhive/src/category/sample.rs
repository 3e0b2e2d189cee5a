//! Raw data of a counter at one moment, in .NET's form.

use perfhive_engine::NoValue;
use perfhive_format::{Clocks, CookOptions, CookedValue, CounterType, Formula, RawSample};

/// The raw data of one counter at one moment: the value, the base, and the clocks that a
/// calculation divides by (.NET: `CounterSample`).
///
/// Values and bases are unsigned, since some providers use the highest of the 64 bits. Where no
/// value can be calculated, the result is an error with the reason ([`NoValue`]), never 0.
///
/// ```
/// use perfhive::{CounterSample, CounterType};
/// let kind = CounterType::PERF_COUNTER_COUNTER; // .NET: RateOfCountsPerSecond32
/// // A clock of 1000 ticks a second, two seconds apart.
/// let old = CounterSample::new(100, 0, 0, 1000, 5_000, 0, kind);
/// let new = CounterSample::new(150, 0, 0, 1000, 7_000, 0, kind);
/// assert_eq!(CounterSample::calculate_between(old, new)?, 25.0);
/// assert!(CounterSample::calculate(new).is_err()); // a rate takes two samples
/// # Ok::<(), perfhive::NoValue>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterSample {
    raw: RawSample,
    counter_type: CounterType,
}

impl CounterSample {
    /// The empty sample: all zero, of the type
    /// [`PERF_COUNTER_RAWCOUNT`](CounterType::PERF_COUNTER_RAWCOUNT). Given as the older of two
    /// samples, it means that there is no older sample.
    ///
    /// ```
    /// use perfhive::{CounterSample, CounterType, NoValue};
    /// let new = CounterSample::new(150, 0, 0, 1000, 7_000, 0, CounterType::PERF_COUNTER_COUNTER);
    /// let value = CounterSample::calculate_between(CounterSample::EMPTY, new);
    /// assert!(matches!(value.map_err(|why| why.code()), Err("needs-two-samples")));
    /// ```
    pub const EMPTY: Self = Self::new(0, 0, 0, 0, 0, 0, CounterType::PERF_COUNTER_RAWCOUNT);

    /// A sample from its parts, in .NET's order. Frequencies are in ticks a second; times in
    /// ticks, and in units of 100 ns for `time_stamp_100nsec`. The object's time stamp is 0;
    /// see [`with_counter_time_stamp`](Self::with_counter_time_stamp).
    ///
    /// ```
    /// use perfhive::{CounterSample, CounterType};
    /// let sample = CounterSample::new(1, 2, 3, 4, 5, 6, CounterType::PERF_RAW_FRACTION);
    /// assert_eq!((sample.raw_value(), sample.base_value()), (1, 2));
    /// assert_eq!((sample.counter_frequency(), sample.system_frequency()), (3, 4));
    /// assert_eq!((sample.time_stamp(), sample.time_stamp_100nsec()), (5, 6));
    /// assert_eq!(sample.counter_time_stamp(), 0);
    /// assert_eq!(sample.counter_type().dotnet_name(), Some("RawFraction"));
    /// ```
    #[must_use]
    pub const fn new(
        raw_value: u64,
        base_value: u64,
        counter_frequency: i64,
        system_frequency: i64,
        time_stamp: i64,
        time_stamp_100nsec: i64,
        counter_type: CounterType,
    ) -> Self {
        let clocks = Clocks {
            perf_time: time_stamp,
            perf_freq: system_frequency,
            time_100ns: time_stamp_100nsec,
            object_time: 0,
            object_freq: counter_frequency,
        };
        let size = match counter_type.size_in_bytes() {
            Some(4) => 4,
            _ => 8,
        };
        let raw = RawSample::new(raw_value, clocks).with_base(base_value).with_sizes(size, 8);
        Self { raw, counter_type }
    }

    /// The same sample with the given time on the object's clock, in ticks of that clock. .NET: the
    /// constructor with eight arguments.
    ///
    /// ```
    /// use perfhive::{CounterSample, CounterType};
    /// let kind = CounterType::PERF_ELAPSED_TIME;
    /// // Started at 100 on a clock of 10 ticks a second, on which it is 350.
    /// let sample = CounterSample::new(100, 0, 10, 0, 0, 0, kind).with_counter_time_stamp(350);
    /// assert_eq!(CounterSample::calculate(sample)?, 25.0);
    /// # Ok::<(), perfhive::NoValue>(())
    /// ```
    #[must_use]
    pub const fn with_counter_time_stamp(mut self, counter_time_stamp: i64) -> Self {
        self.raw.clocks.object_time = counter_time_stamp;
        self
    }

    /// A sample from a raw sample and a counter type.
    ///
    /// ```
    /// use perfhive::{Clocks, CounterSample, CounterType, RawSample};
    /// let raw = RawSample::new(42, Clocks::default());
    /// let sample = CounterSample::of(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, raw);
    /// assert_eq!(sample.raw_value(), 42);
    /// assert_eq!(sample.raw_sample(), &raw);
    /// ```
    #[must_use]
    pub const fn of(counter_type: CounterType, raw: RawSample) -> Self {
        Self { raw, counter_type }
    }

    /// The counter's raw value; its unit depends on the type. For
    /// [`PERF_DOUBLE_RAW`](CounterType::PERF_DOUBLE_RAW) it is the bits of a double.
    #[must_use]
    pub const fn raw_value(&self) -> u64 {
        self.raw.value
    }

    /// The raw value of the counter's base; 0 where the counter has none.
    #[must_use]
    pub const fn base_value(&self) -> u64 {
        match self.raw.base {
            Some(base) => base,
            None => 0,
        }
    }

    /// The frequency of the object's clock, in ticks a second.
    #[must_use]
    pub const fn counter_frequency(&self) -> i64 {
        self.raw.clocks.object_freq
    }

    /// The frequency of the system's performance counter, in ticks a second.
    #[must_use]
    pub const fn system_frequency(&self) -> i64 {
        self.raw.clocks.perf_freq
    }

    /// The time of the sample on the object's clock, in ticks of that clock.
    #[must_use]
    pub const fn counter_time_stamp(&self) -> i64 {
        self.raw.clocks.object_time
    }

    /// The time of the sample on the system's performance counter, in its ticks.
    #[must_use]
    pub const fn time_stamp(&self) -> i64 {
        self.raw.clocks.perf_time
    }

    /// The time of the sample in units of 100 ns.
    #[must_use]
    pub const fn time_stamp_100nsec(&self) -> i64 {
        self.raw.clocks.time_100ns
    }

    /// The counter type, which decides how a value is calculated from the parts.
    #[must_use]
    pub const fn counter_type(&self) -> CounterType {
        self.counter_type
    }

    /// The raw sample, with the widths at which value and base wrap.
    #[must_use]
    pub const fn raw_sample(&self) -> &RawSample {
        &self.raw
    }

    /// The value that one sample alone gives, in the unit of the counter type.
    ///
    /// ```
    /// use perfhive::{CounterSample, CounterType};
    /// let hits = CounterSample::new(30, 40, 0, 0, 0, 0, CounterType::PERF_RAW_FRACTION);
    /// assert_eq!(CounterSample::calculate(hits)?, 75.0);
    /// # Ok::<(), perfhive::NoValue>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no value: [`NoValue::NeedsTwoSamples`] for a type that takes two
    /// samples, [`NoValue::Cook`] otherwise, such as for a base of zero or a type without a formula.
    pub fn calculate(sample: Self) -> Result<f64, NoValue> {
        sample.cook(None)
    }

    /// The value of two samples of one counter, the older one first. For a type of one sample it is
    /// the newer one's value.
    ///
    /// Both samples have to be of the same instance. This function does not check it;
    /// [`PerformanceCounter::next_value`](crate::PerformanceCounter::next_value) does. No wrap is
    /// undone either, since the samples may be of two instances: a counter that went backwards has
    /// no value.
    ///
    /// ```
    /// use perfhive::{CounterSample, CounterType};
    /// let busy = CounterType::PERF_100NSEC_TIMER; // .NET: Timer100Ns
    /// let old = CounterSample::new(10_000_000, 0, 0, 0, 0, 0, busy);
    /// let new = CounterSample::new(15_000_000, 0, 0, 0, 0, 20_000_000, busy);
    /// assert_eq!(CounterSample::calculate_between(old, new)?, 25.0);
    /// let other = CounterSample::new(9, 0, 0, 0, 0, 0, CounterType::PERF_COUNTER_DELTA);
    /// assert!(CounterSample::calculate_between(other, new).is_err());
    /// # Ok::<(), perfhive::NoValue>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no value: [`NoValue::DifferentTypes`] for samples of different
    /// counter types, [`NoValue::NeedsTwoSamples`] if the older one is [`EMPTY`](Self::EMPTY) and
    /// the type takes two, [`NoValue::Cook`] otherwise.
    pub fn calculate_between(old: Self, new: Self) -> Result<f64, NoValue> {
        if old == Self::EMPTY {
            return new.cook(None);
        }
        if old.counter_type != new.counter_type {
            return Err(NoValue::DifferentTypes);
        }
        new.cook(Some(&old.raw))
    }

    fn cook(&self, older: Option<&RawSample>) -> Result<f64, NoValue> {
        let value = Formula::of(self.counter_type)
            .and_then(|formula| formula.apply(CookOptions::default(), older, &self.raw));
        value.map(CookedValue::as_f64).map_err(|why| match why {
            perfhive_format::CookError::NeedsTwoSamples => NoValue::NeedsTwoSamples,
            why => NoValue::Cook(why),
        })
    }
}

/// The default is [`CounterSample::EMPTY`].
impl Default for CounterSample {
    fn default() -> Self {
        Self::EMPTY
    }
}
