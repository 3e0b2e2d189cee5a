//! Numbers for people: grouped digits, few decimals, units. (Programs get
//! numbers as they are; see [`Field`](crate::Field).)

use perfhive_format::CookedValue;
use std::fmt::Write as _;

/// Appends a whole number with its digits in groups of three: `1,234,567`.
pub fn push_grouped(out: &mut String, value: u64) {
    let mut digits = [0u8; 26];
    let mut at = digits.len();
    let mut rest = value;
    let mut count = 0;
    loop {
        if count > 0 && count % 3 == 0 {
            at -= 1;
            if let Some(place) = digits.get_mut(at) {
                *place = b',';
            }
        }
        at -= 1;
        if let Some(place) = digits.get_mut(at) {
            *place = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    let text = digits.get(at..).unwrap_or_default();
    out.push_str(std::str::from_utf8(text).unwrap_or_default());
}

/// Appends a number with this many decimals, the digits before them grouped. A number of 10^15 or
/// more, or below -10^15, is written with an exponent and three decimals instead.
pub fn push_float(out: &mut String, value: f64, decimals: usize) {
    // Beyond this a double has no such digits to show.
    if !(-1e15..1e15).contains(&value) {
        let _ = write!(out, "{value:.3e}");
        return;
    }
    let start = out.len();
    let _ = write!(out, "{value:.decimals$}");
    let new = out.get(start..).unwrap_or_default();
    // A small negative number may have been rounded to nothing.
    if new.starts_with('-') && new.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.')) {
        out.remove(start);
    }
    let new = out.get(start..).unwrap_or_default();
    let first = start + usize::from(new.starts_with('-'));
    let mut at = new.find('.').map_or(out.len(), |point| start + point);
    while at > first + 3 {
        at -= 3;
        out.insert(at, ',');
    }
}

/// Appends a cooked value: an integer without decimals; a float with three decimals, or, if it is
/// closer to zero than 0.005 but not than 10^-12, with three significant digits.
pub fn push_cooked(out: &mut String, value: CookedValue) {
    match value {
        CookedValue::Integer(value) => push_grouped(out, value),
        CookedValue::Float(value) => push_float(out, value, decimals(value)),
    }
}

/// The number of decimals for a value: three, or for a value closer to zero than 0.005, but not
/// than 10^-12, as many as show three significant digits.
fn decimals(value: f64) -> usize {
    let size = value.abs();
    if size == 0.0 || size >= 0.005 {
        return 3;
    }
    let place = -size.log10().floor();
    if place > 12.0 { 3 } else { place as usize + 2 }
}

/// An amount of memory in bytes, scaled, with the unit: B, KiB, MiB, GiB, TiB or PiB.
#[must_use]
pub fn bytes_scaled(bytes: f64) -> (f64, &'static str) {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    // Less than would be rounded up to the next unit.
    if bytes.abs() < 1023.5 {
        return (bytes, "B");
    }
    let mut scaled = bytes / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if scaled.abs() < 1023.95 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    (scaled, unit)
}

/// Appends an amount of memory, scaled, with one decimal (none for `B`): `117.7 MiB`.
pub fn push_bytes(out: &mut String, bytes: f64) {
    let (scaled, unit) = bytes_scaled(bytes);
    push_float(out, scaled, usize::from(unit != "B"));
    out.push(' ');
    out.push_str(unit);
}

/// Appends a time in seconds as clocks show it: `0:17`, `4:02`, `2:10:17`, `3d 02:10:17`. A
/// negative time, or one from 10^15 seconds on, is written as `0:00`.
pub fn push_elapsed(out: &mut String, seconds: f64) {
    let total = if (0.0..1e15).contains(&seconds) { seconds as u64 } else { 0 };
    let (days, hours) = (total / 86_400, total / 3600 % 24);
    let (minutes, seconds) = (total / 60 % 60, total % 60);
    let _ = if days > 0 {
        write!(out, "{days}d {hours:02}:{minutes:02}:{seconds:02}")
    } else if hours > 0 {
        write!(out, "{hours}:{minutes:02}:{seconds:02}")
    } else {
        write!(out, "{minutes}:{seconds:02}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        push(&mut out);
        out
    }

    #[test]
    fn digits_are_grouped() {
        let grouped = |value| text(|out| push_grouped(out, value));
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        let float = |value, decimals| text(|out| push_float(out, value, decimals));
        assert_eq!(float(1_241.754_12, 3), "1,241.754");
        assert_eq!(float(999.96, 1), "1,000.0");
        assert_eq!(float(-1_234_567.0, 0), "-1,234,567");
        assert_eq!(float(-123.0, 0), "-123");
        assert_eq!(float(-0.001, 1), "0.0");
        assert_eq!(float(1e300, 1), "1.000e300");
    }

    #[test]
    fn small_numbers_get_more_decimals() {
        let cooked = |value| text(|out| push_cooked(out, CookedValue::Float(value)));
        assert_eq!(cooked(0.0), "0.000");
        assert_eq!(cooked(82.148_113), "82.148");
        assert_eq!(cooked(0.008_170_94), "0.008");
        assert_eq!(cooked(0.000_123_456), "0.000123");
        assert_eq!(cooked(1e-20), "0.000");
        assert_eq!(cooked(0.005), "0.005");
    }

    #[test]
    fn amounts_are_scaled_and_times_written_as_clocks() {
        let bytes = |value| text(|out| push_bytes(out, value));
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(1023.0), "1,023 B");
        assert_eq!(bytes(1024.0), "1.0 KiB");
        assert_eq!(bytes(1_048_575.0), "1.0 MiB");
        assert_eq!(bytes(123_456_789.0), "117.7 MiB");
        assert_eq!(bytes(1e18), "888.2 PiB");
        let elapsed = |value| text(|out| push_elapsed(out, value));
        assert_eq!(elapsed(17.9), "0:17");
        assert_eq!(elapsed(7817.0), "2:10:17");
        assert_eq!(elapsed(267_017.0), "3d 02:10:17");
        assert_eq!(elapsed(-1.0), "0:00");
    }
}
