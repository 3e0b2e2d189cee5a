//! The formulas of counter types, found from the facets of a type.

use super::{Clocks, CookError, CookOptions, CookedValue, RawSample};
use crate::counter_type::{
    CounterKind, CounterType, DisplayFacet, NumberBase, NumericSubtype, TimerFacet,
};

/// Ticks a second of the 100 ns clock.
const HZ_100NS: i64 = 10_000_000;

/// The clock of a sample that a formula reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The system's performance counter.
    Perf,
    /// The system's time in 100 ns units.
    Ns100,
    /// The object's clock.
    Object,
}

impl Clock {
    const fn of(timer: TimerFacet) -> Option<Self> {
        match timer {
            TimerFacet::Tick => Some(Self::Perf),
            TimerFacet::Ns100 => Some(Self::Ns100),
            TimerFacet::Object => Some(Self::Object),
            TimerFacet::Unknown => None,
        }
    }

    /// The time that this clock shows, in ticks; `clocks` are the clocks of a sample.
    #[must_use]
    pub const fn time(self, clocks: &Clocks) -> i64 {
        match self {
            Self::Perf => clocks.perf_time,
            Self::Ns100 => clocks.time_100ns,
            Self::Object => clocks.object_time,
        }
    }

    /// The number of ticks that the clock makes in a second.
    ///
    /// # Errors
    /// [`CookError::NoFrequency`] if the frequency in the block is not greater than 0.
    pub const fn frequency(self, clocks: &Clocks) -> Result<i64, CookError> {
        let frequency = match self {
            Self::Perf => clocks.perf_freq,
            Self::Ns100 => HZ_100NS,
            Self::Object => clocks.object_freq,
        };
        if frequency > 0 { Ok(frequency) } else { Err(CookError::NoFrequency) }
    }

    /// The number of ticks from the older to the newer sample; an error unless it is greater than
    /// 0.
    pub(super) fn elapsed(self, older: &Clocks, newer: &Clocks) -> Result<f64, CookError> {
        match self.time(newer).checked_sub(self.time(older)) {
            Some(0) => Err(CookError::NoTimePassed),
            Some(ticks) if ticks > 0 => Ok(to_f64(ticks)),
            _ => Err(CookError::ClockWentBackwards),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "the formulas are defined in doubles")]
const fn to_f64(value: i64) -> f64 {
    value as f64
}

#[allow(clippy::cast_precision_loss, reason = "the formulas are defined in doubles")]
const fn u64_to_f64(value: u64) -> f64 {
    value as f64
}

/// The calculation of a value, which follows from the facets of a counter type.
///
/// N, B, D, F as in the documentation of [`cook`](mod@crate::cook).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Formula {
    /// `N`.
    Raw,
    /// `N / 1000`.
    RawThousandth,
    /// `N` is a double already.
    Double,
    /// `N1 - N0`.
    Delta,
    /// `(N1 - N0) / ((D1 - D0) / F)`.
    Rate(Clock),
    /// `(N1 - N0) / (D1 - D0)`.
    QueueLength(Clock),
    /// `100 * N / B`.
    RawFraction,
    /// `100 * (N1 - N0) / (B1 - B0)`.
    SampleFraction,
    /// `100 * (N1 - N0) / (D1 - D0)`.
    Timer(Clock),
    /// `100 * (1 - (N1 - N0) / (D1 - D0))`.
    TimerInverse(Clock),
    /// `100 * (N1 - N0) / (B1 - B0)`, B being a private clock.
    PrecisionTimer,
    /// `100 * (1 - (N1 - N0) / (B1 - B0))`, B being a private clock.
    PrecisionTimerInverse,
    /// `100 * T / B1`, where `T` is `(N1 - N0) / ((D1 - D0) / F)`, without F
    /// for the 100 ns clock.
    MultiTimer(Clock),
    /// `100 * (B1 - T) / B1`, where `T` is `(N1 - N0) / ((D1 - D0) / F)`, without F for the 100 ns
    /// clock.
    MultiTimerInverse(Clock),
    /// `((N1 - N0) / F) / (B1 - B0)`.
    AverageTimer(Clock),
    /// `(N1 - N0) / (B1 - B0)`.
    AverageBulk,
    /// `(D1 - N1) / F`.
    Elapsed(Clock),
}

/// Bits that no facet of `winperf.h` names.
const UNNAMED_BITS: u32 = 0x8C08_F0FF;

impl Formula {
    /// The formula of a type, found from its facets. A type that no header names has a formula too
    /// if its facets make sense together.
    ///
    /// # Errors
    /// [`CookError::IsBase`] for a base, [`CookError::IsText`] for a text, [`CookError::NoData`] for a
    /// type without data; [`CookError::NoFormula`] for facets that make no sense together.
    pub fn of(kind: CounterType) -> Result<Self, CookError> {
        if kind == CounterType::PERF_DOUBLE_RAW {
            return Ok(Self::Double);
        }
        // Bases carry a number in the low bits, and their flags mean nothing.
        if kind.is_base() {
            return Err(CookError::IsBase);
        }
        if kind.0 & UNNAMED_BITS != 0 {
            return Err(CookError::NoFormula);
        }
        match kind.kind() {
            CounterKind::Text(_) => Err(CookError::IsText),
            CounterKind::Zero => Err(CookError::NoData),
            _ if kind.size_in_bytes() == Some(0) => Err(CookError::NoData),
            CounterKind::Number(base) => Self::of_number(kind, base),
            CounterKind::Counter(subtype) => Self::of_counter(kind, subtype),
        }
    }

    fn of_number(kind: CounterType, base: NumberBase) -> Result<Self, CookError> {
        // A number has no clock and no calculation; such bits make no sense.
        let plain = kind.0
            & (crate::winperf::PERF_TIMER_MASK
                | crate::winperf::PERF_INVERSE_COUNTER
                | crate::winperf::PERF_MULTI_COUNTER
                | crate::winperf::PERF_DELTA_BASE)
            == 0;
        match base {
            _ if !plain => Err(CookError::NoFormula),
            NumberBase::Hex | NumberBase::Decimal if kind.is_delta() => Ok(Self::Delta),
            NumberBase::Hex | NumberBase::Decimal => Ok(Self::Raw),
            NumberBase::Dec1000 if !kind.is_delta() => Ok(Self::RawThousandth),
            _ => Err(CookError::NoFormula),
        }
    }

    fn of_counter(kind: CounterType, subtype: NumericSubtype) -> Result<Self, CookError> {
        let clock = Clock::of(kind.timer()).ok_or(CookError::NoFormula)?;
        let percent = kind.display() == DisplayFacet::Percent;
        let facets = (kind.is_delta(), kind.is_delta_base(), kind.is_inverse(), kind.is_multi());
        Ok(match (subtype, facets) {
            (NumericSubtype::Value, (false, false, false, false)) => Self::Raw,
            (NumericSubtype::Value, (true, false, false, false)) => Self::Delta,
            // A rate shown in percent is a share of time: not divided by F.
            (NumericSubtype::Rate, (true, false, false, false)) if percent => Self::Timer(clock),
            (NumericSubtype::Rate, (true, false, false, false)) => Self::Rate(clock),
            (NumericSubtype::Rate, (true, false, true, false)) if percent => {
                Self::TimerInverse(clock)
            }
            (NumericSubtype::Rate, (true, false, false, true)) if percent => {
                Self::MultiTimer(clock)
            }
            (NumericSubtype::Rate, (true, false, true, true)) if percent => {
                Self::MultiTimerInverse(clock)
            }
            (NumericSubtype::Fraction, (true, true, false, false)) if percent => {
                Self::SampleFraction
            }
            (NumericSubtype::Fraction, (false, false, false, false)) => match kind.display() {
                DisplayFacet::Percent => Self::RawFraction,
                DisplayFacet::Seconds => Self::AverageTimer(clock),
                DisplayFacet::NoShow | DisplayFacet::NoSuffix => Self::AverageBulk,
                _ => return Err(CookError::NoFormula),
            },
            (NumericSubtype::Elapsed, (false, false, false, false)) => Self::Elapsed(clock),
            (NumericSubtype::QueueLength, (true, false, false, false)) => Self::QueueLength(clock),
            (NumericSubtype::Precision, (true, false, false, false)) if percent => {
                Self::PrecisionTimer
            }
            (NumericSubtype::Precision, (true, false, true, false)) if percent => {
                Self::PrecisionTimerInverse
            }
            _ => return Err(CookError::NoFormula),
        })
    }

    /// The number of samples that the formula takes: 1 or 2.
    #[must_use]
    pub const fn samples(self) -> u8 {
        match self {
            Self::Raw
            | Self::RawThousandth
            | Self::Double
            | Self::RawFraction
            | Self::Elapsed(_) => 1,
            _ => 2,
        }
    }

    /// The clock with the ticks that the raw value counts, for timers and average times. `None` if
    /// the raw value counts something else, or the ticks of a private clock.
    #[must_use]
    pub const fn clock_of_value(self) -> Option<Clock> {
        match self {
            Self::Timer(clock)
            | Self::TimerInverse(clock)
            | Self::MultiTimer(clock)
            | Self::MultiTimerInverse(clock)
            | Self::AverageTimer(clock) => Some(clock),
            _ => None,
        }
    }

    /// Whether the formula uses the counter's base.
    #[must_use]
    pub const fn needs_base(self) -> bool {
        matches!(
            self,
            Self::RawFraction
                | Self::SampleFraction
                | Self::PrecisionTimer
                | Self::PrecisionTimerInverse
                | Self::MultiTimer(_)
                | Self::MultiTimerInverse(_)
                | Self::AverageTimer(_)
                | Self::AverageBulk
        )
    }

    /// The clock of a sample that the formula reads; `None` for a formula without a clock, or with
    /// a private clock, which is the base.
    #[must_use]
    pub const fn clock(self) -> Option<Clock> {
        match self {
            Self::Rate(clock)
            | Self::QueueLength(clock)
            | Self::Timer(clock)
            | Self::TimerInverse(clock)
            | Self::MultiTimer(clock)
            | Self::MultiTimerInverse(clock)
            | Self::AverageTimer(clock)
            | Self::Elapsed(clock) => Some(clock),
            _ => None,
        }
    }

    /// Whether the value is a percentage, so that [`CookOptions::cap_percent`] applies to it.
    #[must_use]
    pub const fn is_percentage(self) -> bool {
        matches!(
            self,
            Self::RawFraction
                | Self::SampleFraction
                | Self::Timer(_)
                | Self::TimerInverse(_)
                | Self::PrecisionTimer
                | Self::PrecisionTimerInverse
                | Self::MultiTimer(_)
                | Self::MultiTimerInverse(_)
        )
    }

    /// The value from one or two samples. A formula that takes one sample ignores `previous`.
    ///
    /// # Errors
    /// The reason why there is no value.
    pub fn apply(
        self,
        options: CookOptions,
        previous: Option<&RawSample>,
        current: &RawSample,
    ) -> Result<CookedValue, CookError> {
        if self == Self::Raw {
            return Ok(CookedValue::Integer(current.value));
        }
        if self.samples() == 1 {
            return finite(self.apply_one(current)?, self, options);
        }
        let previous = previous.ok_or(CookError::NeedsTwoSamples)?;
        let delta = step(previous.value, current.value, current.value_size, options)?;
        if self == Self::Delta {
            return Ok(CookedValue::Integer(delta));
        }
        finite(self.apply_two(u64_to_f64(delta), options, previous, current)?, self, options)
    }

    fn apply_one(self, current: &RawSample) -> Result<f64, CookError> {
        let n = current.value;
        match self {
            Self::RawThousandth => Ok(u64_to_f64(n) / 1000.0),
            Self::Double => Ok(f64::from_bits(n)),
            Self::RawFraction => match current.base.ok_or(CookError::NoBase)? {
                0 => Err(CookError::ZeroBase),
                base => Ok(100.0 * (u64_to_f64(n) / u64_to_f64(base))),
            },
            Self::Elapsed(clock) => {
                let start = i64::try_from(n).map_err(|_| CookError::NoStartTime)?;
                let frequency = clock.frequency(&current.clocks)?;
                match clock.time(&current.clocks).checked_sub(start) {
                    Some(ticks) if ticks >= 0 && start != 0 => {
                        Ok(to_f64(ticks) / to_f64(frequency))
                    }
                    _ => Err(CookError::NoStartTime),
                }
            }
            _ => Err(CookError::NeedsTwoSamples),
        }
    }

    fn apply_two(
        self,
        delta: f64,
        options: CookOptions,
        previous: &RawSample,
        current: &RawSample,
    ) -> Result<f64, CookError> {
        let elapsed = |clock: Clock| clock.elapsed(&previous.clocks, &current.clocks);
        // The frequency is taken from the newer sample: a clock's frequency cannot change while the
        // machine is up.
        let seconds = |clock: Clock| -> Result<f64, CookError> {
            Ok(elapsed(clock)? / to_f64(clock.frequency(&current.clocks)?))
        };
        // The time that a multi timer divides by: in seconds, but in ticks for the 100 ns clock,
        // since the raw values are counted in these ticks.
        let multi = |clock: Clock| match clock {
            Clock::Ns100 => elapsed(clock),
            _ => seconds(clock),
        };
        let base_step = || -> Result<f64, CookError> {
            let older = previous.base.ok_or(CookError::NoBase)?;
            let newer = current.base.ok_or(CookError::NoBase)?;
            match step(older, newer, current.base_size, options)? {
                0 => Err(CookError::ZeroBase),
                step => Ok(u64_to_f64(step)),
            }
        };
        let items = || match current.base.ok_or(CookError::NoBase)? {
            0 => Err(CookError::ZeroBase),
            base => Ok(u64_to_f64(base)),
        };
        Ok(match self {
            Self::Rate(clock) => delta / seconds(clock)?,
            Self::QueueLength(clock) => delta / elapsed(clock)?,
            Self::Timer(clock) => 100.0 * (delta / elapsed(clock)?),
            Self::TimerInverse(clock) => 100.0 * (1.0 - delta / elapsed(clock)?),
            Self::SampleFraction => 100.0 * (delta / base_step()?),
            Self::PrecisionTimer => 100.0 * (delta / clock_step(base_step)?),
            Self::PrecisionTimerInverse => 100.0 * (1.0 - delta / clock_step(base_step)?),
            Self::MultiTimer(clock) => 100.0 * (delta / multi(clock)?) / items()?,
            Self::MultiTimerInverse(clock) => {
                let items = items()?;
                100.0 * (items - delta / multi(clock)?) / items
            }
            Self::AverageTimer(clock) => {
                (delta / to_f64(clock.frequency(&current.clocks)?)) / base_step()?
            }
            Self::AverageBulk => delta / base_step()?,
            _ => return Err(CookError::NoFormula),
        })
    }
}

impl CounterType {
    /// The number of samples that a value of this type takes: 1, 2, or 0 for a type without a
    /// formula.
    #[must_use]
    pub fn samples(self) -> u8 {
        Formula::of(self).map_or(0, Formula::samples)
    }
}

/// The difference of a base that is a private clock, which `step` calculates. Errors become the
/// errors of a clock: [`CookError::NoTimePassed`] instead of [`CookError::ZeroBase`],
/// [`CookError::ClockWentBackwards`] instead of [`CookError::WentBackwards`].
fn clock_step(step: impl Fn() -> Result<f64, CookError>) -> Result<f64, CookError> {
    step().map_err(|error| match error {
        CookError::ZeroBase => CookError::NoTimePassed,
        CookError::WentBackwards => CookError::ClockWentBackwards,
        other => other,
    })
}

fn finite(value: f64, formula: Formula, options: CookOptions) -> Result<CookedValue, CookError> {
    if !value.is_finite() {
        return Err(CookError::NotFinite);
    }
    let cap = options.cap_percent && formula.is_percentage();
    Ok(CookedValue::Float(if cap { value.clamp(0.0, 100.0) } else { value }))
}

/// The difference from the older to the newer value of a counter of `size` bytes. A wrap is undone
/// if `options` say that both samples are of the same instance, unless the difference would be half
/// the counter's range or more. Any other step backwards is an error, and so is a step forward of
/// 2^63 or more.
#[inline]
fn step(older: u64, newer: u64, size: u8, options: CookOptions) -> Result<u64, CookError> {
    if newer >= older {
        let step = newer - older;
        // A step forward of half the 64-bit range or more is in truth a small step back, to a
        // number below zero.
        return if step >> 63 == 0 { Ok(step) } else { Err(CookError::WentBackwards) };
    }
    if !options.same_instance {
        return Err(CookError::WentBackwards);
    }
    let (mask, half) = if size == 4 { (u64::from(u32::MAX), 1 << 31) } else { (u64::MAX, 1 << 63) };
    // A value wider than its stated size cannot have wrapped there.
    if older > mask {
        return Err(CookError::WentBackwards);
    }
    let step = newer.wrapping_sub(older) & mask;
    if step < half { Ok(step) } else { Err(CookError::WentBackwards) }
}
