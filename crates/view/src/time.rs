//! Times of samples.

use perfhive_format::CalendarTime;

/// A sample's time as RFC 3339 in UTC; `None` if a field is out of its range, as in a block without
/// a date. Whether the month has the day is not tested.
#[must_use]
pub fn rfc3339(time: CalendarTime) -> Option<String> {
    let valid = (1..=9999).contains(&time.year)
        && (1..=12).contains(&time.month)
        && (1..=31).contains(&time.day)
        && time.hour < 24
        && time.minute < 60
        && time.second < 61
        && time.milliseconds < 1000;
    valid.then(|| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_a_missing_date_is_none() {
        assert_eq!(rfc3339(CalendarTime::default()), None);
        let time = perfhive_format::FileTime(128_315_940_386_596_596).to_system_time();
        assert_eq!(rfc3339(time).as_deref(), Some("2007-08-14T19:40:38.659Z"));
    }
}
