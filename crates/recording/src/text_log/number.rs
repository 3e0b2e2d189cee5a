//! Numbers as C's `printf` writes them with `%.20g`, as the logs of Windows have them.

/// Appends a number with at most 20 significant digits, all of them exact.
pub(super) fn push(text: &mut String, value: f64) {
    const DIGITS: i32 = 20;
    let scientific = format!("{value:.19e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        // Infinity and NaN have no exponent.
        text.push_str(&scientific);
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let places = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        text.push_str(without_zeros(&format!("{value:.places$}")));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        text.push_str(without_zeros(mantissa));
        text.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
    }
}

/// A number without zeros at the end of its fraction.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
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
        ] {
            let mut text = String::new();
            push(&mut text, value);
            assert_eq!(text, expected);
        }
    }
}
