//! The vertical axis of a chart, and the scale of each line on it.

use crate::number::{bytes_scaled, push_float};
use crate::past::LineSummary;
use crate::scale::{Detail, Quantity, unit_for_people};
use perfhive_format::CookedValue;
use std::collections::HashMap;

/// How the power of ten that multiplies a chart's line is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineScale {
    /// The largest power of ten by which the values on the chart, of all lines of the line's path,
    /// can be multiplied without any result being farther from zero than 100.
    #[default]
    Automatic,
    /// The power of ten for which the line's counter asks.
    Default,
    /// This power of ten, from -9 to 8.
    Power(i8),
}

impl LineScale {
    /// The smallest power of ten that can be chosen.
    pub const LEAST: i8 = -9;
    /// The largest power of ten that can be chosen.
    pub const MOST: i8 = 8;

    /// The power of ten for a line, from [`LEAST`](Self::LEAST) to [`MOST`](Self::MOST). `default`
    /// is the power for which the line's counter asks. `maximum` is the largest distance from zero
    /// that a value on the chart has, over all lines of the line's path; for `Automatic` the result
    /// is 0 where `maximum` is 0 or not finite.
    #[must_use]
    pub fn power(self, default: i32, maximum: f64) -> i8 {
        let within = |power: i32| power.clamp(Self::LEAST.into(), Self::MOST.into()) as i8;
        match self {
            Self::Automatic if maximum > 0.0 && maximum.is_finite() => {
                // A value of 100 is shown as it is, and a value of 101 divided by ten.
                within((100.0 / maximum).log10().floor() as i32)
            }
            Self::Automatic => 0,
            Self::Default => within(default),
            Self::Power(power) => within(power.into()),
        }
    }

    /// The scale with the power of ten after `in_use`, or the one before it if `up` is false, but
    /// never beyond [`LEAST`](Self::LEAST) and [`MOST`](Self::MOST).
    #[must_use]
    pub fn stepped(in_use: i8, up: bool) -> Self {
        let step = if up { 1 } else { -1 };
        Self::Power(in_use.saturating_add(step).clamp(Self::LEAST, Self::MOST))
    }
}

/// Writes a scale: `auto`, `default` or the power.
impl std::fmt::Display for LineScale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Automatic => f.write_str("auto"),
            Self::Default => f.write_str("default"),
            Self::Power(power) => write!(f, "{power}"),
        }
    }
}

impl std::str::FromStr for LineScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.trim(), text.trim().parse::<i8>()) {
            ("auto", _) => Ok(Self::Automatic),
            ("default", _) => Ok(Self::Default),
            (_, Ok(power)) if (Self::LEAST..=Self::MOST).contains(&power) => Ok(Self::Power(power)),
            _ => Err(format!(
                "a scale is auto, default, or a power of ten from {} to {}",
                Self::LEAST,
                Self::MOST
            )),
        }
    }
}

/// The properties of a line that an axis depends on.
#[derive(Clone, Copy, Debug)]
pub struct Scaled<'a> {
    /// The path of the line. Lines of one path have one power of ten, so that they can be compared.
    pub path: &'a str,
    /// The quantity of the line's values.
    pub quantity: &'a Quantity<'static>,
    /// The power of ten for which the line's counter asks.
    pub default: i32,
    /// How the line's power of ten is chosen.
    pub scale: LineScale,
    /// The line's statistics in the window of the chart; `None` if it has no value there.
    pub summary: Option<LineSummary>,
}

/// The vertical axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The value at the bottom.
    pub low: f64,
    /// The value at the top.
    pub high: f64,
    /// The unit that all lines share; `None` if they differ in unit, if one has another scale than
    /// [`LineScale::Automatic`], and without lines.
    pub unit: Option<&'static str>,
    /// The power of ten by which each line is multiplied; all zero with a shared unit.
    pub powers: Vec<i8>,
}

impl Axis {
    /// The axis for these lines. If all have the same unit and [`LineScale::Automatic`], it is in
    /// that unit, from 0 (from a negative round number if a value is negative) to a round number (for
    /// percentages at least 100). Otherwise each line is multiplied by a power of ten, and the axis
    /// goes from 0 (from -100 if a value is negative) to 100, as in perfmon.
    #[must_use]
    pub fn of(lines: &[Scaled<'_>]) -> Self {
        let least = |line: &Scaled<'_>| line.summary.map_or(0.0, |summary| summary.minimum);
        let most = |line: &Scaled<'_>| line.summary.map_or(0.0, |summary| summary.maximum);
        let unit = lines.first().map(|line| line.quantity.unit);
        let is_shared = |line: &Scaled<'_>| {
            line.scale == LineScale::Automatic && Some(line.quantity.unit) == unit
        };
        if !lines.is_empty() && lines.iter().all(is_shared) {
            let unit = unit.unwrap_or_default();
            let low = lines.iter().map(least).fold(0.0, f64::min);
            let high = lines.iter().map(most).fold(0.0, f64::max);
            // Clocks that differ a little make a little more than 100 %.
            let is_full = unit == "%" && high < 101.0;
            let high = if is_full { 100.0 } else { nice(high, unit) };
            let low = if low < 0.0 { -nice(-low, unit) } else { 0.0 };
            return Self { low, high, unit: Some(unit), powers: vec![0; lines.len()] };
        }
        let mut largest: HashMap<&str, f64> = HashMap::new();
        for line in lines {
            let known = largest.entry(line.path).or_default();
            *known = known.max(most(line)).max(-least(line));
        }
        let power = |line: &Scaled<'_>| {
            let largest = largest.get(line.path).copied().unwrap_or_default();
            line.scale.power(line.default, largest)
        };
        let powers: Vec<i8> = lines.iter().map(power).collect();
        let lowest = lines.iter().zip(&powers).map(|(line, p)| least(line) * factor(*p));
        let low = lowest.fold(0.0, f64::min);
        let low = if low < 0.0 { -100.0 } else { 0.0 };
        Self { low, high: 100.0, unit: None, powers }
    }

    /// The height at which a value of the line with the index `line` stands: 0 is the bottom of the
    /// axis, 1 the top. A value beyond the axis stands at its nearer end.
    #[must_use]
    pub fn place(&self, line: usize, value: f64) -> f64 {
        let power = self.powers.get(line).copied().unwrap_or(0);
        let height = (self.high - self.low).max(f64::MIN_POSITIVE);
        ((value * factor(power) - self.low) / height).clamp(0.0, 1.0)
    }

    /// The text of the value at a height of the axis (0 is the bottom, 1 the top), with the axis's
    /// unit if it has one.
    #[must_use]
    pub fn label(&self, part: f64) -> String {
        let value = self.low + (self.high - self.low) * part;
        let mut text = String::new();
        match self.unit {
            Some(unit) => {
                let quantity = Quantity { counter_type: None, unit, is_identifier: false };
                // A part of a byte would be rounded, and so stand at another height than it says.
                let is_exact = value.fract() == 0.0 || value.abs() >= 1024.0;
                match quantity.scaled(CookedValue::Float(value)).filter(|_| is_exact) {
                    Some(_) => {
                        let shown = quantity.shown(CookedValue::Float(value), Detail::Brief);
                        text = format!("{} {}", shown.number, shown.unit);
                    }
                    None => {
                        push_short(&mut text, value);
                        let unit = unit_for_people(unit);
                        if !unit.is_empty() {
                            text.push_str(if unit.starts_with('/') { "" } else { " " });
                            text.push_str(unit);
                        }
                    }
                }
            }
            None => push_short(&mut text, value),
        }
        text
    }
}

/// Ten to this power, as a factor for values.
#[must_use]
pub fn factor(power: i8) -> f64 {
    10f64.powi(power.into())
}

/// Appends a number in few characters: `2.5`, `15k`, `1,000G`.
fn push_short(out: &mut String, value: f64) {
    let size = value.abs();
    let (value, suffix) = match size {
        1e4..1e6 => (value / 1e3, "k"),
        1e6..1e9 => (value / 1e6, "M"),
        1e9..1e15 => (value / 1e9, "G"),
        _ => (value, ""),
    };
    let size = value.abs();
    let decimals = match size {
        0.0 => 0,
        s if s < 1e-12 => 0,
        s if s < 1.0 => (1.0 - s.log10()).ceil() as usize,
        s if s < 10.0 => 1,
        _ => 0,
    };
    push_float(out, value, decimals);
    if out.contains('.') {
        out.truncate(out.trim_end_matches('0').trim_end_matches('.').len());
    }
    out.push_str(suffix);
}

/// The next round number at or above a value: 1, 1.5, 2, 3, 4, 5, 6, 8 or 10 times a power of ten;
/// for bytes, times a power of 1024 as well. 1 for a value that is not positive or not finite.
fn nice(value: f64, unit: &str) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let base = match unit.strip_suffix("/s").unwrap_or(unit) {
        "B" | "KiB" | "MiB" => value / bytes_scaled(value).0,
        _ => 1.0,
    };
    let scaled = value / base;
    let decade = 10f64.powf(scaled.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let step = steps.into_iter().find(|step| step * decade >= scaled * (1.0 - 1e-9));
    step.unwrap_or(10.0) * decade * base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(minimum: f64, maximum: f64) -> Option<LineSummary> {
        Some(LineSummary { last: maximum, average: maximum, minimum, maximum, count: 2 })
    }

    fn quantity(unit: &'static str) -> Quantity<'static> {
        Quantity { counter_type: None, unit, is_identifier: false }
    }

    #[test]
    fn lines_of_one_unit_share_an_axis_in_it() {
        let bytes = quantity("B");
        let line = |maximum| Scaled {
            path: "",
            quantity: &bytes,
            default: -6,
            scale: LineScale::Automatic,
            summary: summary(0.0, maximum),
        };
        let axis = Axis::of(&[line(1e9), line(3.4e9)]);
        assert_eq!((axis.unit, axis.powers.as_slice()), (Some("B"), [0, 0].as_slice()));
        assert_eq!(axis.high, 4.0 * 1024.0 * 1024.0 * 1024.0);
        assert_eq!(axis.label(1.0), "4.0 GiB");
        let percent = quantity("%");
        let cpu = Scaled { quantity: &percent, summary: summary(0.0, 3.0), ..line(0.0) };
        let axis = Axis::of(&[cpu]);
        assert_eq!((axis.high, axis.label(0.5).as_str()), (100.0, "50 %"));
        assert_eq!(Axis::of(&[Scaled { summary: summary(0.0, 230.0), ..cpu }]).high, 300.0);
    }

    #[test]
    fn lines_of_several_units_are_scaled_by_powers_of_ten() {
        let (bytes, percent) = (quantity("B"), quantity("%"));
        let lines = [
            Scaled {
                path: r"\Process(*)\Working Set",
                quantity: &bytes,
                default: -6,
                scale: LineScale::Automatic,
                summary: summary(0.0, 1e9),
            },
            Scaled {
                path: r"\Process(*)\Working Set",
                quantity: &bytes,
                default: -6,
                scale: LineScale::Automatic,
                summary: summary(0.0, 1e6),
            },
            Scaled {
                path: r"\Process(*)\% Processor Time",
                quantity: &percent,
                default: 0,
                scale: LineScale::Power(1),
                summary: summary(0.0, 5.0),
            },
        ];
        let axis = Axis::of(&lines);
        assert_eq!((axis.unit, axis.powers.as_slice()), (None, [-7, -7, 1].as_slice()));
        assert!((axis.place(0, 1e9) - 1.0).abs() < 1e-9 && (axis.place(2, 5.0) - 0.5).abs() < 1e-9);
        assert_eq!(LineScale::Automatic.power(0, 101.0), -1);
        assert_eq!(LineScale::Automatic.power(0, 100.0), 0);
        assert_eq!(LineScale::Automatic.power(0, 0.000_1), 6);
        assert_eq!(LineScale::Default.power(-30, 1.0), -9);
        assert_eq!(LineScale::stepped(8, true), LineScale::Power(8));
    }

    #[test]
    fn scales_come_back_from_their_text_and_others_are_refused() {
        for scale in [LineScale::Automatic, LineScale::Default, LineScale::Power(-9)] {
            assert_eq!(scale.to_string().parse(), Ok(scale));
        }
        assert!("9".parse::<LineScale>().is_err() && "x".parse::<LineScale>().is_err());
    }

    #[test]
    fn numbers_on_the_axis_are_short() {
        let text = |value| {
            let mut out = String::new();
            push_short(&mut out, value);
            out
        };
        let cases = [(0.0, "0"), (0.05, "0.05"), (2.5, "2.5"), (75.0, "75"), (5000.0, "5,000")];
        for (value, expected) in cases {
            assert_eq!(text(value), expected);
        }
        assert_eq!([text(15_000.0), text(2.5e6), text(1e12)], ["15k", "2.5M", "1,000G"]);
    }
}
