//! Numbers as C's `printf` writes them with `%.20g`, as the logs of Windows have them.

use std::fmt::Write as _;

/// Appends a number with at most 20 significant digits, all of them exact.
pub(super) fn push(text: &mut String, value: f64) {
    const DIGITS: i32 = 20;
    // Most values are whole, and few enough that all of their digits are among the 20.
    let whole = value as i64;
    let is_whole = whole as f64 == value && (whole != 0 || value.is_sign_positive());
    if is_whole && whole.unsigned_abs() < 1 << 62 {
        let _ = write!(text, "{whole}");
        return;
    }
    let start = text.len();
    let _ = write!(text, "{value:.19e}");
    let scientific = text.split_off(start);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        // Infinity and NaN have no exponent.
        text.push_str(&scientific);
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    text.push_str(sign);
    let (first, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (before, behind) =
        fraction.split_at_checked(exponent.max(0) as usize).unwrap_or((fraction, ""));
    match exponent {
        0..DIGITS => push_parts(text, [first, before], ["", "", behind]),
        -4..0 => {
            let zeros = "000".get(..(-1 - exponent) as usize).unwrap_or_default();
            push_parts(text, ["0", ""], [zeros, first, fraction]);
        }
        _ => {
            push_parts(text, [first, ""], ["", "", fraction]);
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
        }
    }
}

/// Appends the digits before the point, the point, and the digits behind it. Zeros behind the
/// point, and the point, are left out at the end.
fn push_parts(text: &mut String, before: [&str; 2], behind: [&str; 3]) {
    before.iter().for_each(|digits| text.push_str(digits));
    text.push('.');
    behind.iter().for_each(|digits| text.push_str(digits));
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        // printf("%.20g") of these values.
        for (value, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.1, "0.10000000000000000555"),
            (1e15, "1000000000000000"),
            (20_261_367_808.0, "20261367808"),
            (99.961_234_567_89, "99.961234567890002722"),
            (1e20, "1e+20"),
            (1.5e-5, "1.500000000000000038e-05"),
            (0.000_123, "0.0001230000000000000082"),
            (12_345_678_901_234_567_890.0, "12345678901234567168"),
            (-1e15, "-1000000000000000"),
            (-0.0, "-0"),
            (-0.1, "-0.10000000000000000555"),
            (1234.5, "1234.5"),
            (9e18, "9000000000000000000"),
            (0.000_1, "0.00010000000000000000479"),
            (99.999_999_999_999_99, "99.999999999999985789"),
        ] {
            let mut text = String::new();
            push(&mut text, value);
            assert_eq!(text, expected);
        }
    }
}
