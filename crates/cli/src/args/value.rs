//! Values of options.

use perfhive::{LanguageId, SourceAddress};
use std::time::Duration;

/// A source's address, checked and kept as it was written.
pub(super) fn address(text: &str) -> Result<String, String> {
    match text.parse::<SourceAddress>() {
        Ok(_) => Ok(text.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// A language's code, name or number.
pub(super) fn language(text: &str) -> Result<LanguageId, String> {
    text.parse::<LanguageId>().map_err(|error| error.to_string())
}

/// A time in seconds, or with a unit.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let expected = || "expected seconds, such as 0.5, or 500ms, 2s, 1m".to_string();
    let text = text.trim();
    let (number, factor) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1e-3)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60.0)
    } else {
        (text, 1.0)
    };
    // Digits only: the standard library would take "inf", "1e9" and signs.
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(expected());
    }
    let seconds = number.parse::<f64>().map_err(|_| expected())? * factor;
    if seconds < 0.001 {
        return Err("an interval is at least a millisecond".to_string());
    }
    if seconds > 86_400.0 {
        return Err("an interval is at most a day".to_string());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_with_and_without_unit_are_read() {
        let ms = |text| interval(text).map(|interval| interval.as_millis());
        assert_eq!(ms("1"), Ok(1000));
        assert_eq!(ms("0.25"), Ok(250));
        assert_eq!(ms(".5"), Ok(500));
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("2s"), Ok(2000));
        assert_eq!(ms("1.5m"), Ok(90_000));
        for bad in ["", "0", "-1", "+1", "inf", "nan", "1e3", "1h", "1.2.3", "ms", "86401", "."] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
