//! Formats values as PDH does: the kind of number, scale, cap and rounding.

use perfhive_format::{CookedValue, CounterType, Formula};
use std::fmt;

/// The kind of number that a value is formatted as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NumberFormat {
    /// A 32-bit whole number with a sign (`PDH_FMT_LONG`).
    Long,
    /// A 64-bit whole number with a sign (`PDH_FMT_LARGE`).
    Large,
    /// A double (`PDH_FMT_DOUBLE`).
    #[default]
    Double,
}

/// How a value is formatted: PDH's format flags, each as a setting of its own.
///
/// By default a double, not scaled and not capped.
///
/// ```
/// use perfhive_engine::{FormattedValue, NoFormat, ValueFormat};
/// use perfhive_format::{CookedValue, CounterType};
///
/// let kind = CounterType::PERF_100NSEC_TIMER; // a percentage
/// let busy = CookedValue::Float(397.6);
/// assert_eq!(ValueFormat::long().apply(kind, busy), Ok(FormattedValue::Long(398)));
/// let capped = ValueFormat::long().cap_100(true);
/// assert_eq!(capped.apply(kind, busy), Ok(FormattedValue::Long(100)));
/// // A value that does not fit is an error, not another value.
/// let big = CookedValue::Integer(5_000_000_000);
/// let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
/// assert!(matches!(ValueFormat::long().apply(kind, big), Err(NoFormat::OutOfRange { .. })));
/// assert_eq!(ValueFormat::large().apply(kind, big), Ok(FormattedValue::Large(5_000_000_000)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ValueFormat {
    number: NumberFormat,
    scale: i32,
    thousandfold: bool,
    cap_100: bool,
}

/// A formatted value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FormattedValue {
    /// A value in the format [`NumberFormat::Long`].
    Long(i32),
    /// A value in the format [`NumberFormat::Large`].
    Large(i64),
    /// A value in the format [`NumberFormat::Double`].
    Double(f64),
}

impl fmt::Display for FormattedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long(value) => fmt::Display::fmt(value, f),
            Self::Large(value) => fmt::Display::fmt(value, f),
            Self::Double(value) => fmt::Display::fmt(value, f),
        }
    }
}

/// The reason why a value cannot be formatted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoFormat {
    /// The value, scaled and rounded, does not fit the kind of number.
    OutOfRange {
        /// The value, scaled but not rounded, as a double.
        value: f64,
    },
    /// The scale is less than -7 or greater than 7.
    BadScale {
        /// The scale that was given: the exponent of a power of ten.
        scale: i32,
    },
}

impl fmt::Display for NoFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { value } => write!(f, "{value} is out of the format's range"),
            Self::BadScale { scale } => {
                write!(f, "a scale of {scale}: expected a power of ten from -7 to 7")
            }
        }
    }
}

impl std::error::Error for NoFormat {}

const PDH_FMT_LONG: u32 = 0x0100;
const PDH_FMT_DOUBLE: u32 = 0x0200;
const PDH_FMT_LARGE: u32 = 0x0400;
const PDH_FMT_NOSCALE: u32 = 0x1000;
const PDH_FMT_1000: u32 = 0x2000;
const PDH_FMT_NOCAP100: u32 = 0x8000;

impl ValueFormat {
    /// A double, not scaled and not capped.
    #[must_use]
    pub const fn double() -> Self {
        Self { number: NumberFormat::Double, scale: 0, thousandfold: false, cap_100: false }
    }

    /// A 64-bit whole number, rounded to the nearest, not scaled and not capped.
    #[must_use]
    pub const fn large() -> Self {
        Self { number: NumberFormat::Large, ..Self::double() }
    }

    /// A 32-bit whole number, rounded to the nearest, not scaled and not capped.
    #[must_use]
    pub const fn long() -> Self {
        Self { number: NumberFormat::Long, ..Self::double() }
    }

    /// The format that PDH's flags (`dwFormat`) mean. `scale` is the scale that was set for the
    /// counter, or 0. `None` if the flags do not name exactly one kind of number, or contain an
    /// unknown flag.
    ///
    /// Without `PDH_FMT_NOCAP100` percentages are capped, as in PDH. A scale applies unless
    /// `PDH_FMT_NOSCALE` is given. The scale that a provider suggests
    /// ([`Reading::scale`](crate::Reading::scale)) is meant for charts: it applies only if it
    /// is passed here.
    ///
    /// ```
    /// use perfhive_engine::ValueFormat;
    /// let (large, nocap100) = (0x400, 0x8000);
    /// assert_eq!(ValueFormat::from_pdh_flags(large | nocap100, 0), Some(ValueFormat::large()));
    /// assert_eq!(ValueFormat::from_pdh_flags(0x100 | 0x200, 0), None);
    /// ```
    #[must_use]
    pub const fn from_pdh_flags(flags: u32, scale: i32) -> Option<Self> {
        let number = match flags & (PDH_FMT_LONG | PDH_FMT_DOUBLE | PDH_FMT_LARGE) {
            PDH_FMT_LONG => NumberFormat::Long,
            PDH_FMT_DOUBLE => NumberFormat::Double,
            PDH_FMT_LARGE => NumberFormat::Large,
            _ => return None,
        };
        let known = PDH_FMT_LONG
            | PDH_FMT_DOUBLE
            | PDH_FMT_LARGE
            | PDH_FMT_NOSCALE
            | PDH_FMT_1000
            | PDH_FMT_NOCAP100;
        if flags & !known != 0 {
            return None;
        }
        Some(Self {
            number,
            scale: if flags & PDH_FMT_NOSCALE == 0 { scale } else { 0 },
            thousandfold: flags & PDH_FMT_1000 != 0,
            cap_100: flags & PDH_FMT_NOCAP100 == 0,
        })
    }

    /// The same format with a scale: values are multiplied by 10 to the power `power_of_ten`, from
    /// -7 to 7. The scale that a provider suggests for charts is
    /// [`Reading::scale`](crate::Reading::scale).
    #[must_use]
    pub const fn scale(mut self, power_of_ten: i32) -> Self {
        self.scale = power_of_ten;
        self
    }

    /// The same format with `PDH_FMT_1000` or without: with `yes`, values are multiplied by 1000 in
    /// addition to the scale.
    #[must_use]
    pub const fn thousandfold(mut self, yes: bool) -> Self {
        self.thousandfold = yes;
        self
    }

    /// The same format with a cap or without (`PDH_FMT_NOCAP100`): with `yes`, percentages above
    /// 100 become 100 before they are scaled. A rate or a count is never capped.
    #[must_use]
    pub const fn cap_100(mut self, yes: bool) -> Self {
        self.cap_100 = yes;
        self
    }

    /// Formats the value of a counter of the type `kind`.
    ///
    /// In a format of whole numbers, a whole value that is not scaled stays exact, and any other
    /// value is calculated in doubles and rounded once, at the end, to the nearest whole number,
    /// halves away from zero. In the format of doubles nothing is rounded.
    ///
    /// # Errors
    /// [`NoFormat::OutOfRange`] for a value that does not fit, [`NoFormat::BadScale`] for a scale
    /// outside -7 to 7.
    pub fn apply(self, kind: CounterType, value: CookedValue) -> Result<FormattedValue, NoFormat> {
        if !(-7..=7).contains(&self.scale) {
            return Err(NoFormat::BadScale { scale: self.scale });
        }
        let power = self.scale + if self.thousandfold { 3 } else { 0 };
        let is_capped = self.cap_100 && Formula::of(kind).is_ok_and(Formula::is_percentage);
        let value = match value {
            CookedValue::Integer(whole) if is_capped => CookedValue::Integer(whole.min(100)),
            CookedValue::Float(double) if is_capped && double > 100.0 => CookedValue::Float(100.0),
            value => value,
        };
        if let (CookedValue::Integer(whole), 0) = (value, power)
            && self.number != NumberFormat::Double
        {
            return self.of_whole(whole).ok_or(NoFormat::OutOfRange { value: value.as_f64() });
        }
        let double = value.as_f64();
        // Powers of ten are exact. So a division by one rounds once; a multiplication by 0.1 would
        // round twice.
        let factor = 10f64.powi(power.abs());
        self.of_double(if power < 0 { double / factor } else { double * factor })
    }

    fn of_whole(self, value: u64) -> Option<FormattedValue> {
        match self.number {
            NumberFormat::Long => i32::try_from(value).ok().map(FormattedValue::Long),
            _ => i64::try_from(value).ok().map(FormattedValue::Large),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "the range is tested before")]
    fn of_double(self, value: f64) -> Result<FormattedValue, NoFormat> {
        const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
        let rounded = value.round();
        match self.number {
            _ if !value.is_finite() => Err(NoFormat::OutOfRange { value }),
            NumberFormat::Double => Ok(FormattedValue::Double(value)),
            NumberFormat::Long
                if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&rounded) =>
            {
                Ok(FormattedValue::Long(rounded as i32))
            }
            NumberFormat::Large if (-TWO_TO_63..TWO_TO_63).contains(&rounded) => {
                Ok(FormattedValue::Large(rounded as i64))
            }
            _ => Err(NoFormat::OutOfRange { value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    const PERCENT: CounterType = CounterType::PERF_100NSEC_TIMER;

    fn float(value: f64) -> CookedValue {
        CookedValue::Float(value)
    }

    #[test]
    fn whole_numbers_round_to_the_nearest_and_halves_away_from_zero() {
        let long = |value| ValueFormat::long().apply(COUNT, float(value));
        for (value, rounded) in [(0.4, 0), (0.5, 1), (1.5, 2), (2.5, 3), (-0.5, -1), (-2.4, -2)] {
            assert_eq!(long(value), Ok(FormattedValue::Long(rounded)), "{value}");
        }
    }

    #[test]
    fn whole_percentages_are_capped_too() {
        let whole = CookedValue::Integer(250);
        for format in [ValueFormat::long(), ValueFormat::large(), ValueFormat::double()] {
            let capped = format.cap_100(true).apply(PERCENT, whole).unwrap();
            assert_eq!(capped.to_string(), "100");
            assert_eq!(format.apply(PERCENT, whole).unwrap().to_string(), "250");
            let count = format.cap_100(true).apply(COUNT, whole).unwrap();
            assert_eq!(count.to_string(), "250");
        }
        let scaled = ValueFormat::long().cap_100(true).scale(1).apply(PERCENT, whole);
        assert_eq!(scaled, Ok(FormattedValue::Long(1000)));
    }

    #[test]
    fn value_outside_the_format_has_no_value() {
        let out = |format: ValueFormat, value| {
            matches!(format.apply(COUNT, value), Err(NoFormat::OutOfRange { .. }))
        };
        let (long, large) = (ValueFormat::long(), ValueFormat::large());
        assert_eq!(long.apply(COUNT, float(2_147_483_647.4)), Ok(FormattedValue::Long(i32::MAX)));
        assert_eq!(long.apply(COUNT, float(-2_147_483_648.4)), Ok(FormattedValue::Long(i32::MIN)));
        for value in [2_147_483_647.5, -2_147_483_648.5, 1e300, f64::NAN, f64::INFINITY] {
            assert!(out(long, float(value)), "{value}");
        }
        for value in [9_223_372_036_854_775_808.0, -9.3e18, f64::NAN] {
            assert!(out(large, float(value)), "{value}");
        }
        let least = -9_223_372_036_854_775_808.0;
        assert_eq!(large.apply(COUNT, float(least)), Ok(FormattedValue::Large(i64::MIN)));
        // Whole numbers are compared as such: a double could not tell these.
        let edge = i64::MAX as u64;
        let formatted = large.apply(COUNT, CookedValue::Integer(edge));
        assert_eq!(formatted, Ok(FormattedValue::Large(i64::MAX)));
        assert!(out(large, CookedValue::Integer(edge + 1)));
        assert!(out(long, CookedValue::Integer(u64::MAX)));
        assert!(out(ValueFormat::double(), float(f64::INFINITY)));
    }

    #[test]
    fn scales_are_powers_of_ten_from_minus_7_to_7() {
        let format = |scale| ValueFormat::double().scale(scale).apply(COUNT, float(123.0));
        assert_eq!(format(0), Ok(FormattedValue::Double(123.0)));
        assert_eq!(format(2), Ok(FormattedValue::Double(12_300.0)));
        assert_eq!(format(-2), Ok(FormattedValue::Double(1.23)));
        assert_eq!(format(8), Err(NoFormat::BadScale { scale: 8 }));
        assert_eq!(format(i32::MIN), Err(NoFormat::BadScale { scale: i32::MIN }));
        let both = ValueFormat::large().scale(-3).thousandfold(true);
        let whole = CookedValue::Integer(i64::MAX as u64);
        assert_eq!(both.apply(COUNT, whole), Ok(FormattedValue::Large(i64::MAX)));
    }

    #[test]
    fn flags_mean_what_pdh_says() {
        let apply = |flags, scale, kind, value: f64| {
            ValueFormat::from_pdh_flags(flags, scale).unwrap().apply(kind, float(value))
        };
        // Percentages are capped before anything else; others never.
        assert_eq!(apply(0x200, 0, PERCENT, 250.0), Ok(FormattedValue::Double(100.0)));
        assert_eq!(apply(0x200, 0, PERCENT, -3.0), Ok(FormattedValue::Double(-3.0)));
        assert_eq!(apply(0x8200, 0, PERCENT, 250.0), Ok(FormattedValue::Double(250.0)));
        assert_eq!(apply(0x200, 0, COUNT, 250.0), Ok(FormattedValue::Double(250.0)));
        assert_eq!(apply(0x2100, 0, PERCENT, 250.0), Ok(FormattedValue::Long(100_000)));
        assert_eq!(apply(0x2100, 0, COUNT, 0.0126), Ok(FormattedValue::Long(13)));
        // The scale that was set, unless told otherwise.
        assert_eq!(apply(0x200, 1, COUNT, 5.0), Ok(FormattedValue::Double(50.0)));
        assert_eq!(apply(0x1200, 1, COUNT, 5.0), Ok(FormattedValue::Double(5.0)));
        for bad in [0, 0x10, 0x4200, 0x300, 0x700, 0x1_0200] {
            assert_eq!(ValueFormat::from_pdh_flags(bad, 0), None, "{bad:#x}");
        }
    }
}
