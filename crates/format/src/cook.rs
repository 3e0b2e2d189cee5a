//! From raw samples to values: the formula of every counter type.
//!
//! N is the raw value, B the base, D the clock, F the clock's ticks a second; 0 is the older sample
//! and 1 the newer. Sources: the Win32, Windows Server and WMI documentation of counter types.
//! Where they disagree, perfhive decides as follows:
//!
//! * **Percentages are multiplied by 100**, even where a page of the documentation leaves the
//!   factor out.
//! * **Nothing is capped** unless [`CookOptions::cap_percent`] asks for it:
//!   PDH caps percentages at 100 by default, .NET 1.1 did for some types. A
//!   process on four processors may well show 400 %.
//! * **Inverse timers** are evaluated as `100 * (1 - dN / dD)` in doubles, the
//!   shape that agrees with pdh.dll to 15 digits.
//! * **`PERF_COUNTER_MULTI_TIMER`** divides the time by F, as the platform SDK
//!   and .NET do.
//! * **Inverse multi timers** are divided by B and use the time base of the
//!   direct ones, as the platform SDK says: the inverse is then 100 minus the
//!   direct value. Another page multiplies by 100 without dividing by B, which
//!   gives several hundred percent of one whole.
//! * **`PERF_ELAPSED_TIME`** takes one sample, `(D1 - N1) / F` with the object's clock. (The .NET
//!   description takes the start from the older of two samples. The start does not change while the
//!   instance lives, so one sample gives the same value.) A start of 0 means that it was never set:
//!   no value.
//! * **`PERF_AVERAGE_TIMER`** is time per operation; the .NET description has
//!   it upside down (operations per time).
//! * **`PERF_SAMPLE_COUNTER`** divides by the system's performance time.
//! * **A base that does not change** between samples (no operation took place)
//!   gives no value rather than 0 or infinity, and so does a base of 0.
//! * **A step backwards** gives no value, unless [`CookOptions::same_instance`] says that both
//!   samples are of the same instance: then a 32- or 64-bit wrap is undone, provided that the step
//!   forward it implies is less than half the counter's range. Otherwise the step is taken for a
//!   reset and gives no value.

mod formula;

pub use formula::{Clock, Formula};

use crate::counter_type::CounterType;
use core::fmt;

/// The clocks of a sample and their frequencies: performance counter, system time, and the object's
/// own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clocks {
    /// The performance counter (`PERF_DATA_BLOCK.PerfTime`).
    pub perf_time: i64,
    /// Ticks a second of the performance counter (`PerfFreq`).
    pub perf_freq: i64,
    /// System time in units of 100 ns since the start of 1601, UTC (`PerfTime100nSec`).
    pub time_100ns: i64,
    /// The object's clock (`PERF_OBJECT_TYPE.PerfTime`).
    pub object_time: i64,
    /// Ticks a second of the object's clock (`PERF_OBJECT_TYPE.PerfFreq`).
    pub object_freq: i64,
}

/// One raw sample of one counter of one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RawSample {
    /// The counter's raw data. For [`CounterType::PERF_DOUBLE_RAW`] the bits
    /// of a double.
    pub value: u64,
    /// Width of the value in bytes (`CounterSize`), 4 or 8. A value of 4 bytes wraps at 2^32, one
    /// of 8 bytes at 2^64.
    pub value_size: u8,
    /// The raw data of the counter's base; `None` if the counter has no base.
    pub base: Option<u64>,
    /// Width of the base in bytes, 4 or 8; without a meaning if there is no base.
    pub base_size: u8,
    /// The clocks of the block and object that the sample came in.
    pub clocks: Clocks,
}

impl RawSample {
    /// A sample of a 64-bit counter without a base.
    #[must_use]
    pub const fn new(value: u64, clocks: Clocks) -> Self {
        Self { value, value_size: 8, base: None, base_size: 8, clocks }
    }

    /// The same sample with a base, which is 64 bits wide unless [`with_sizes`](Self::with_sizes)
    /// states another width.
    #[must_use]
    pub const fn with_base(mut self, base: u64) -> Self {
        self.base = Some(base);
        self
    }

    /// The same sample with other widths of value and base, in bytes.
    #[must_use]
    pub const fn with_sizes(mut self, value_size: u8, base_size: u8) -> Self {
        self.value_size = value_size;
        self.base_size = base_size;
        self
    }
}

/// The result of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CookedValue {
    /// A whole number, exact to 64 bits.
    Integer(u64),
    /// A floating-point number, which may be a whole one too.
    Float(f64),
}

impl CookedValue {
    /// The value as a double. A whole number above 2^53 becomes the nearest double.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "documented")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The whole number; `None` for a [`Float`](Self::Float).
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        match self {
            Self::Integer(value) => Some(value),
            Self::Float(_) => None,
        }
    }
}

impl fmt::Display for CookedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => fmt::Display::fmt(value, f),
            Self::Float(value) => fmt::Display::fmt(value, f),
        }
    }
}

/// The reason why a formula gives no value. These are normal results of cooking, not failures of
/// the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CookError {
    /// The type takes two samples and there is only one.
    NeedsTwoSamples,
    /// The raw value, or its base, went backwards: for example, another instance took the name, or
    /// the counter was reset or wrapped.
    WentBackwards,
    /// No time passed between the samples, or too little for a rate, or the clock stood still.
    NoTimePassed,
    /// The clock went backwards between the samples.
    ClockWentBackwards,
    /// The clock that the type needs states no frequency.
    NoFrequency,
    /// The base is missing.
    NoBase,
    /// The base is zero, or did not change between the samples: there is nothing to divide by.
    ZeroBase,
    /// The start time is not set, or lies in the future.
    NoStartTime,
    /// The counter is the base of another counter, not a value of its own.
    IsBase,
    /// The counter is text.
    IsText,
    /// The counter is a label without data.
    NoData,
    /// No formula is known for this type; the raw data is all there is.
    NoFormula,
    /// The result is not a finite number.
    NotFinite,
}

impl fmt::Display for CookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NeedsTwoSamples => "needs two samples",
            Self::WentBackwards => "went backwards",
            Self::NoTimePassed => "too little time passed between the samples",
            Self::ClockWentBackwards => "the clock went backwards",
            Self::NoFrequency => "the clock has no frequency",
            Self::NoBase => "the base is missing",
            Self::ZeroBase => "nothing to average over",
            Self::NoStartTime => "the start time is not known",
            Self::IsBase => "is the base of another counter",
            Self::IsText => "is text",
            Self::NoData => "has no data",
            Self::NoFormula => "no formula is known for its type",
            Self::NotFinite => "no value was recorded (not a finite number)",
        })
    }
}

impl core::error::Error for CookError {}

/// Choices that [`cook_with`] leaves to the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CookOptions {
    /// Whether percentages below 0 become 0 and those above 100 become 100, as PDH does by default.
    /// Off by default.
    pub cap_percent: bool,
    /// Whether both samples are known to be of the same instance. Then a step backwards is taken for
    /// a wrap, which is undone, if the step forward that it implies is less than half the counter's
    /// range. Any other step backwards gives no value. Off by default.
    pub same_instance: bool,
}

impl CookOptions {
    /// The same options with [`cap_percent`](Self::cap_percent) as given.
    #[must_use]
    pub const fn with_cap_percent(self, cap_percent: bool) -> Self {
        Self { cap_percent, ..self }
    }

    /// The same options with [`same_instance`](Self::same_instance) as given.
    #[must_use]
    pub const fn with_same_instance(self, same_instance: bool) -> Self {
        Self { same_instance, ..self }
    }
}

/// The value of a counter of type `kind`, with the default options: uncapped, and no value for a
/// counter that went backwards. Types with a formula for one sample ignore `previous`.
///
/// ```
/// use perfhive_format::{Clocks, CookedValue, CounterType, RawSample, cook};
/// let at = |perf_time| Clocks { perf_time, perf_freq: 10, ..Clocks::default() };
/// let kind = CounterType::PERF_COUNTER_BULK_COUNT;
/// let older = RawSample::new(100, at(0));
/// let newer = RawSample::new(150, at(20));
/// assert_eq!(cook(kind, Some(&older), &newer), Ok(CookedValue::Float(25.0)));
/// ```
///
/// # Errors
/// The reason why there is no value.
pub fn cook(
    kind: CounterType,
    previous: Option<&RawSample>,
    current: &RawSample,
) -> Result<CookedValue, CookError> {
    cook_with(kind, CookOptions::default(), previous, current)
}

/// As [`cook()`], with the given options.
///
/// # Errors
/// The reason why there is no value.
pub fn cook_with(
    kind: CounterType,
    options: CookOptions,
    previous: Option<&RawSample>,
    current: &RawSample,
) -> Result<CookedValue, CookError> {
    Formula::of(kind)?.apply(options, previous, current)
}
