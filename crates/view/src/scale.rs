//! Numbers with units, scaled for people.

use crate::number::{bytes_scaled, push_cooked, push_float, push_grouped};
use perfhive_format::{CookedValue, CounterKind, CounterType, NumberBase};
use std::fmt::Write as _;

/// 2^53: below it, a double is exactly the count that was written.
const MOST_COUNT: f64 = 9_007_199_254_740_992.0;

/// A number and its unit, written for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The number as text.
    pub number: String,
    /// The unit to write behind the number, such as `MiB/s`; may be empty.
    pub unit: String,
}

/// How exactly a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// For a table that is redrawn: scaled, with decimals by the unit rather than by the size of the
    /// number, so that little jitters.
    Brief,
    /// Scaled: an amount of memory or data with one decimal (none in bytes), another float with three, or with
    /// three significant digits if it is small.
    Full,
    /// Every digit, in the counter's own unit.
    Raw,
}

/// The quantity that a number measures, which decides how the number is written.
#[derive(Clone, Copy, Debug)]
pub struct Quantity<'a> {
    /// The counter type; `None` if it is unknown.
    pub counter_type: Option<CounterType>,
    /// The unit, as [`unit_of`](perfhive_engine::unit_of) returns it.
    pub unit: &'a str,
    /// Whether the number identifies a thing, such as a process ID.
    pub is_identifier: bool,
}

impl Quantity<'_> {
    /// A value of this quantity, written with this detail.
    #[must_use]
    pub fn shown(self, value: CookedValue, detail: Detail) -> Shown {
        let value = self.counted(value);
        let mut number = String::new();
        let is_hex = self.counter_type.is_some_and(is_hex);
        match (value, detail) {
            (CookedValue::Integer(value), _) if is_hex => {
                let _ = write!(number, "{value:#x}");
            }
            (CookedValue::Integer(value), _) if self.is_identifier || detail == Detail::Raw => {
                let _ = write!(number, "{value}");
            }
            (CookedValue::Float(value), Detail::Raw) => {
                let _ = write!(number, "{value}");
            }
            (value, _) => {
                if let Some((scaled, unit)) = self.scaled(value) {
                    push_float(&mut number, scaled, usize::from(!unit.starts_with('B')));
                    return Shown { number, unit };
                }
                match (value, detail) {
                    (CookedValue::Integer(value), _) => push_grouped(&mut number, value),
                    (value, Detail::Full) => push_cooked(&mut number, value),
                    (CookedValue::Float(value), _) => {
                        push_float(&mut number, value, self.decimals(value));
                    }
                }
            }
        }
        Shown { number, unit: unit_for_people(self.unit).to_string() }
    }

    /// An amount of memory or data in the unit in which people read it, such as `MiB/s`; `None` for another
    /// quantity.
    #[must_use]
    pub fn scaled(self, value: CookedValue) -> Option<(f64, String)> {
        let (unit, rate) = match self.unit.strip_suffix("/s") {
            Some(unit) => (unit, "/s"),
            None => (self.unit, ""),
        };
        let factor = match unit {
            "B" => 1.0,
            "KiB" => 1024.0,
            "MiB" => 1_048_576.0,
            _ => return None,
        };
        let (scaled, unit) = bytes_scaled(value.as_f64() * factor);
        Some((scaled, format!("{unit}{rate}")))
    }

    /// The value and the unit of [`scaled`](Self::scaled), with one decimal; `None` for a quantity that is not
    /// scaled.
    #[must_use]
    pub fn rounded(self, value: CookedValue) -> Option<(CookedValue, String)> {
        let (scaled, unit) = self.scaled(value)?;
        Some((CookedValue::Float((scaled * 10.0).round() / 10.0), unit))
    }

    /// The value, as an integer where it is a whole count or amount of memory of the type `PERF_DOUBLE_RAW`, which all
    /// counters of text logs have. Any other value stays as it is.
    #[must_use]
    pub fn counted(self, value: CookedValue) -> CookedValue {
        let CookedValue::Float(number) = value else { return value };
        let is_count = self.counter_type == Some(CounterType::PERF_DOUBLE_RAW)
            && matches!(self.unit, "" | "B" | "KiB" | "MiB");
        match is_count && number.fract() == 0.0 && (0.0..MOST_COUNT).contains(&number) {
            true => CookedValue::Integer(number as u64),
            false => value,
        }
    }

    /// Whether the values are times since a start, in seconds.
    fn is_elapsed(self) -> bool {
        // The other counters with this unit are average times of operations, which take two samples.
        self.counter_type.is_some_and(|one| one.unit() == "s" && one.samples() == 1)
    }

    /// How many decimals a float that is not scaled has in a table that is redrawn.
    fn decimals(self, value: f64) -> usize {
        // A text log does not tell times since a start from those of operations, which are short.
        let is_long = self.counter_type == Some(CounterType::PERF_DOUBLE_RAW) && value >= 60.0;
        match self.unit {
            "%" | "1/s" => 1,
            "s" if self.is_elapsed() || is_long => 0,
            // An operation often takes only microseconds.
            "s" => 6,
            _ => 3,
        }
    }
}

/// Whether numbers of this type are written in hexadecimal, as addresses are.
#[must_use]
pub fn is_hex(counter_type: CounterType) -> bool {
    counter_type.kind() == CounterKind::Number(NumberBase::Hex)
}

/// The unit of a counter as people write it behind a number: `/s` for `1/s`; others do not change.
#[must_use]
pub fn unit_for_people(unit: &str) -> &str {
    match unit {
        "1/s" => "/s",
        unit => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

    fn text(quantity: Quantity<'_>, value: CookedValue, detail: Detail) -> String {
        let shown = quantity.shown(value, detail);
        format!("{} {}", shown.number, shown.unit).trim_end().to_string()
    }

    fn of(counter_type: CounterType, unit: &str) -> Quantity<'_> {
        Quantity { counter_type: Some(counter_type), unit, is_identifier: false }
    }

    #[test]
    fn amounts_are_scaled_and_raw_ones_are_not() {
        let value = CookedValue::Integer(123_456_789);
        let bytes = of(LARGE, "B");
        assert_eq!(text(bytes, value, Detail::Brief), "117.7 MiB");
        assert_eq!(text(bytes, value, Detail::Full), "117.7 MiB");
        assert_eq!(text(bytes, value, Detail::Raw), "123456789 B");
        let rate = of(CounterType::PERF_COUNTER_BULK_COUNT, "B/s");
        assert_eq!(text(rate, CookedValue::Float(2048.0), Detail::Brief), "2.0 KiB/s");
        assert_eq!(text(rate, CookedValue::Float(12.25), Detail::Brief), "12 B/s");
        assert_eq!(text(rate, CookedValue::Float(12.25), Detail::Raw), "12.25 B/s");
        assert_eq!(text(of(LARGE, "MiB"), CookedValue::Integer(2048), Detail::Full), "2.0 GiB");
    }

    #[test]
    fn brief_numbers_keep_their_decimals() {
        let rate = of(CounterType::PERF_COUNTER_COUNTER, "1/s");
        let brief = |value| text(rate, CookedValue::Float(value), Detail::Brief);
        assert_eq!([brief(0.0311), brief(1241.75), brief(9.0)], ["0.0 /s", "1,241.8 /s", "9.0 /s"]);
        assert_eq!(text(rate, CookedValue::Float(0.0311), Detail::Full), "0.031 /s");
        let time = of(CounterType::PERF_AVERAGE_TIMER, "s");
        assert_eq!(text(time, CookedValue::Float(0.000_451_2), Detail::Brief), "0.000451 s");
        let uptime = of(CounterType::PERF_ELAPSED_TIME, "s");
        assert_eq!(text(uptime, CookedValue::Float(7817.0), Detail::Brief), "7,817 s");
        assert_eq!(text(uptime, CookedValue::Float(7817.0), Detail::Full), "7,817.000 s");
    }

    #[test]
    fn identifiers_and_addresses_have_no_separators() {
        let id = Quantity { is_identifier: true, ..of(LARGE, "") };
        assert_eq!(text(id, CookedValue::Integer(123_456), Detail::Brief), "123456");
        let hex = of(CounterType::PERF_COUNTER_LARGE_RAWCOUNT_HEX, "");
        let address = CookedValue::Integer(0x7ff8_ae85_2dc3);
        assert_eq!(text(hex, address, Detail::Full), "0x7ff8ae852dc3");
        assert_eq!(text(of(LARGE, ""), CookedValue::Integer(1234), Detail::Full), "1,234");
        let double = of(CounterType::PERF_DOUBLE_RAW, "");
        assert_eq!(text(double, CookedValue::Float(1234.0), Detail::Brief), "1,234");
        assert_eq!(text(double, CookedValue::Float(1234.5), Detail::Brief), "1,234.500");
        let time = of(CounterType::PERF_DOUBLE_RAW, "s");
        assert_eq!(text(time, CookedValue::Float(2001.7), Detail::Brief), "2,002 s");
        assert_eq!(text(time, CookedValue::Float(0.015), Detail::Brief), "0.015000 s");
    }
}
