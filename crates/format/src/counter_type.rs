//! Counter types: a 32-bit number made of facets.
//!
//! [`CounterType`] is a newtype, not an enum, so that bits without a name in any header survive a
//! round trip. The named types are the rows of [`CounterType::named`].

mod table;

pub use table::TypeInfo;

use crate::winperf as w;
use core::fmt;
use core::str::FromStr;

/// The type of a counter (`PERF_COUNTER_DEFINITION.CounterType`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterType(pub u32);

/// The width of the data according to the type. Trust the definition's `CounterSize` instead: real
/// Windows writes 8 bytes for some types that say 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeFacet {
    /// 4 bytes.
    Dword,
    /// 8 bytes.
    Large,
    /// No data.
    Zero,
    /// The number of bytes that the definition states.
    VariableLength,
}

/// The kind facet of a type: number, text or label, with the subtype of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterKind {
    /// A number that is shown as it is, without a calculation.
    Number(NumberBase),
    /// A number from which the shown value is calculated.
    Counter(NumericSubtype),
    /// Text.
    Text(TextEncoding),
    /// A field without a value: a label.
    Zero,
}

/// The way in which a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberBase {
    /// Hexadecimal.
    Hex,
    /// Decimal.
    Decimal,
    /// Decimal, divided by 1000.
    Dec1000,
    /// A subtype without a name.
    Unknown(u8),
}

/// The calculation that makes a value of the raw values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumericSubtype {
    /// The raw value itself, or its change between two samples.
    Value,
    /// The change divided by the time between two samples.
    Rate,
    /// The raw value, or its change between two samples, divided by a base.
    Fraction,
    /// The base of the counter before it.
    Base,
    /// A start time, subtracted from now.
    Elapsed,
    /// The average length of a queue between two samples.
    QueueLength,
    /// A histogram.
    Histogram,
    /// The change between two samples, divided by the change of a private clock, which is the base
    /// that follows the counter.
    Precision,
}

/// The encoding of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// UTF-16.
    Unicode,
    /// The code page of the object.
    Ascii,
    /// A subtype without a name.
    Unknown(u8),
}

/// The clock by which a time-dependent counter is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimerFacet {
    /// The system's performance counter.
    Tick,
    /// The system's time in 100 ns units.
    Ns100,
    /// The object's own clock.
    Object,
    /// Both timer bits are set; no header names this combination.
    Unknown,
}

/// The way in which the cooked value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DisplayFacet {
    /// Without a suffix.
    NoSuffix,
    /// With `/sec`.
    PerSecond,
    /// With `%`.
    Percent,
    /// With `sec`.
    Seconds,
    /// Not shown: a base or an intermediate.
    NoShow,
    /// Bits without a name.
    Unknown(u8),
}

impl CounterType {
    /// The size facet.
    #[must_use]
    pub const fn size(self) -> SizeFacet {
        match self.0 & w::PERF_SIZE_MASK {
            w::PERF_SIZE_DWORD => SizeFacet::Dword,
            w::PERF_SIZE_LARGE => SizeFacet::Large,
            w::PERF_SIZE_ZERO => SizeFacet::Zero,
            _ => SizeFacet::VariableLength,
        }
    }

    /// perfhive's own type of a counter that marks the counters without a value for an instance: a
    /// number of 8 bytes. Its bit N is set if the counter with the index N (from 0) has no value. A
    /// second counter of this type has the bits of the counters with the indexes 64 to 127, and so
    /// on. A counter without a bit is not marked. The type is a base, so that readers do not show
    /// it. If the counter block ends before this number, no counter is marked. Windows has no such
    /// type: there a value that does not exist is 0.
    pub const ABSENT_VALUES: Self = Self(0x4003_057F);

    /// The number of bytes of data that the size facet states; `None` for variable length. For
    /// [`PERF_DOUBLE_RAW`](Self::PERF_DOUBLE_RAW) the result is 8, the size of a double, although
    /// the type has the facet for 4.
    #[must_use]
    pub const fn size_in_bytes(self) -> Option<u32> {
        match self.size() {
            _ if self.0 == Self::PERF_DOUBLE_RAW.0 => Some(8),
            SizeFacet::Dword => Some(4),
            SizeFacet::Large => Some(8),
            SizeFacet::Zero => Some(0),
            SizeFacet::VariableLength => None,
        }
    }

    /// The kind with its subtype.
    #[must_use]
    pub const fn kind(self) -> CounterKind {
        let subtype = (self.0 & w::PERF_SUBTYPE_MASK) >> 16;
        match self.0 & w::PERF_TYPE_MASK {
            w::PERF_TYPE_NUMBER => CounterKind::Number(match subtype {
                0 => NumberBase::Hex,
                1 => NumberBase::Decimal,
                2 => NumberBase::Dec1000,
                other => NumberBase::Unknown(other as u8),
            }),
            w::PERF_TYPE_COUNTER => CounterKind::Counter(match subtype {
                0 => NumericSubtype::Value,
                1 => NumericSubtype::Rate,
                2 => NumericSubtype::Fraction,
                3 => NumericSubtype::Base,
                4 => NumericSubtype::Elapsed,
                5 => NumericSubtype::QueueLength,
                6 => NumericSubtype::Histogram,
                _ => NumericSubtype::Precision,
            }),
            w::PERF_TYPE_TEXT => CounterKind::Text(match subtype {
                0 => TextEncoding::Unicode,
                1 => TextEncoding::Ascii,
                other => TextEncoding::Unknown(other as u8),
            }),
            _ => CounterKind::Zero,
        }
    }

    /// The clock that the counter is measured by.
    #[must_use]
    pub const fn timer(self) -> TimerFacet {
        match self.0 & w::PERF_TIMER_MASK {
            w::PERF_TIMER_TICK => TimerFacet::Tick,
            w::PERF_TIMER_100NS => TimerFacet::Ns100,
            w::PERF_OBJECT_TIMER => TimerFacet::Object,
            _ => TimerFacet::Unknown,
        }
    }

    /// Whether the type has the flag `PERF_DELTA_COUNTER`: the raw values of two samples are
    /// subtracted. The formulas of averages subtract them without the flag.
    #[must_use]
    pub const fn is_delta(self) -> bool {
        self.0 & w::PERF_DELTA_COUNTER != 0
    }

    /// Whether the type has the flag `PERF_DELTA_BASE`: the bases of two samples are subtracted.
    /// The formulas of averages subtract them without the flag.
    #[must_use]
    pub const fn is_delta_base(self) -> bool {
        self.0 & w::PERF_DELTA_BASE != 0
    }

    /// Whether the value is the whole less the counted share, such as 100 % less the share.
    #[must_use]
    pub const fn is_inverse(self) -> bool {
        self.0 & w::PERF_INVERSE_COUNTER != 0
    }

    /// Whether the value is a sum over several items. The base is the number of items.
    #[must_use]
    pub const fn is_multi(self) -> bool {
        self.0 & w::PERF_MULTI_COUNTER != 0
    }

    /// The way in which the value is shown: its suffix, or not at all.
    #[must_use]
    pub const fn display(self) -> DisplayFacet {
        match self.0 & w::PERF_DISPLAY_MASK {
            w::PERF_DISPLAY_NO_SUFFIX => DisplayFacet::NoSuffix,
            w::PERF_DISPLAY_PER_SEC => DisplayFacet::PerSecond,
            w::PERF_DISPLAY_PERCENT => DisplayFacet::Percent,
            w::PERF_DISPLAY_SECONDS => DisplayFacet::Seconds,
            w::PERF_DISPLAY_NOSHOW => DisplayFacet::NoShow,
            other => DisplayFacet::Unknown((other >> 28) as u8),
        }
    }

    /// Whether a definition of this type is the base of the counter before it, or
    /// [`ABSENT_VALUES`](Self::ABSENT_VALUES), rather than a counter of its own.
    #[must_use]
    pub const fn is_base(self) -> bool {
        matches!(self.kind(), CounterKind::Counter(NumericSubtype::Base))
    }

    /// Whether the formula needs a base. The base is usually the next definition; a multi timer may
    /// have it in its own data ([`CounterPlan::base`](crate::CounterPlan::base)).
    #[must_use]
    pub const fn needs_base(self) -> bool {
        matches!(
            self.kind(),
            CounterKind::Counter(NumericSubtype::Fraction | NumericSubtype::Precision)
        ) || (self.is_multi() && !self.is_base())
    }

    /// The usual type of the counter's base on Windows; `None` for a type without a base.
    #[must_use]
    pub fn usual_base(self) -> Option<Self> {
        if !self.needs_base() || self.is_base() {
            return None;
        }
        Some(match self {
            Self::PERF_AVERAGE_TIMER | Self::PERF_AVERAGE_BULK => Self::PERF_AVERAGE_BASE,
            Self::PERF_SAMPLE_FRACTION => Self::PERF_SAMPLE_BASE,
            Self::PERF_RAW_FRACTION => Self::PERF_RAW_BASE,
            _ if self.is_multi() => Self::PERF_COUNTER_MULTI_BASE,
            _ if self.kind() == CounterKind::Counter(NumericSubtype::Precision) => {
                Self::PERF_PRECISION_TIMESTAMP
            }
            _ => Self::PERF_LARGE_RAW_BASE,
        })
    }

    /// The suffix that Windows' tools print behind the value; empty for a type without one.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self.display() {
            DisplayFacet::PerSecond => "/sec",
            DisplayFacet::Percent => "%",
            DisplayFacet::Seconds => "sec",
            _ => "",
        }
    }

    /// The unit of the cooked value: `%`, `1/s` or `s`; empty for all other types.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self.display() {
            DisplayFacet::PerSecond => "1/s",
            DisplayFacet::Percent => "%",
            DisplayFacet::Seconds => "s",
            _ => "",
        }
    }

    /// The row of this type in the table of named types; `None` if `winperf.h` has no name for the
    /// type.
    #[must_use]
    pub fn info(self) -> Option<&'static TypeInfo> {
        table::TYPES.iter().find(|info| info.counter_type == self)
    }

    /// The named types of `winperf.h`, in ascending order of their numbers.
    #[must_use]
    pub fn named() -> &'static [TypeInfo] {
        table::TYPES
    }

    /// The type's name in `winperf.h`; `None` if it has none.
    #[must_use]
    pub fn winperf_name(self) -> Option<&'static str> {
        self.info().map(|info| info.winperf)
    }

    /// The type's name in .NET's `PerformanceCounterType`; `None` if it has none.
    #[must_use]
    pub fn dotnet_name(self) -> Option<&'static str> {
        self.info().and_then(|info| info.dotnet)
    }
}

/// Writes the name in `winperf.h`, or for a type without a name the number in hexadecimal.
impl fmt::Display for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.winperf_name() {
            Some(name) => f.pad(name),
            None => write!(f, "{:#010X}", self.0),
        }
    }
}

impl fmt::Debug for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterType({self})")
    }
}

/// The error of a text that is neither a name of a counter type nor a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCounterType;

impl fmt::Display for UnknownCounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not a counter type: expected a name of winperf.h (PERF_COUNTER_COUNTER), \
             a .NET name (RateOfCountsPerSecond32) or a number (0x10410400)",
        )
    }
}

impl core::error::Error for UnknownCounterType {}

/// Parses a name of `winperf.h` or .NET, or another name of a type ([`TypeInfo::aliases`]), without
/// regard to case, or a number, decimal or hexadecimal with `0x`. Any 32-bit number is accepted.
/// Blanks at both ends are ignored.
impl FromStr for CounterType {
    type Err = UnknownCounterType;

    fn from_str(text: &str) -> Result<Self, UnknownCounterType> {
        let text = text.trim();
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        if let Some(digits) = hex {
            // from_str_radix would take a sign.
            if digits.starts_with('+') {
                return Err(UnknownCounterType);
            }
            return u32::from_str_radix(digits, 16).map(Self).map_err(|_| UnknownCounterType);
        }
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        if let (true, Ok(number)) = (digits, text.parse()) {
            return Ok(Self(number));
        }
        table::TYPES
            .iter()
            .find(|info| {
                info.winperf.eq_ignore_ascii_case(text)
                    || info.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(text))
                    || info.dotnet.is_some_and(|name| name.eq_ignore_ascii_case(text))
            })
            .map(|info| info.counter_type)
            .ok_or(UnknownCounterType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn names_parse_and_print() {
        for info in CounterType::named() {
            let ty = info.counter_type;
            assert_eq!(ty.to_string(), info.winperf);
            assert_eq!(info.winperf.parse(), Ok(ty));
            assert_eq!(info.winperf.to_lowercase().parse(), Ok(ty));
            for alias in info.aliases {
                assert_eq!(alias.parse(), Ok(ty));
            }
            if let Some(dotnet) = info.dotnet {
                assert_eq!(dotnet.parse(), Ok(ty));
                assert_eq!(ty.dotnet_name(), Some(dotnet));
            }
            assert_eq!(std::format!("{:#x}", ty.0).parse(), Ok(ty));
            assert_eq!(ty.0.to_string().parse(), Ok(ty));
        }
        let unknown = CounterType(0x1234_5678);
        assert_eq!(unknown.to_string(), "0x12345678");
        assert_eq!(unknown.to_string().parse(), Ok(unknown));
        for bad in ["", "0x", "0x+1", "-1", "4294967296", "PERF", "0x123456789"] {
            assert_eq!(bad.parse::<CounterType>(), Err(UnknownCounterType), "{bad}");
        }
    }

    #[test]
    fn the_table_is_sorted_and_without_doubles() {
        let types = CounterType::named();
        assert!(types.windows(2).all(|w| w[0].counter_type < w[1].counter_type));
        assert_eq!(types.iter().filter(|t| t.dotnet.is_some()).count(), 28);
    }

    #[test]
    fn edge_case_02_the_subtype_mask_has_three_bits() {
        let precision = CounterType::PERF_PRECISION_100NS_TIMER;
        assert_eq!(precision.kind(), CounterKind::Counter(NumericSubtype::Precision));
        assert!(!precision.is_base());
        assert!(CounterType::PERF_AVERAGE_BASE.is_base());
    }
}
