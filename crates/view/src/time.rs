//! Times of samples.

use perfhive_format::CalendarTime;

/// A sample's time as RFC 3339 in UTC; `None` if it is no time, as in a block without a date, and
/// after the year 9999, which RFC 3339 cannot write.
#[must_use]
pub fn rfc3339(time: CalendarTime) -> Option<String> {
    let is_time = time.year <= 9999 && time.to_file_time().is_some();
    is_time.then(|| time.to_string())
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

    #[test]
    fn days_that_the_month_lacks_and_years_of_five_digits_are_none() {
        let date = |year, month, day| CalendarTime { year, month, day, ..CalendarTime::default() };
        assert_eq!(rfc3339(date(2026, 2, 31)), None);
        assert_eq!(rfc3339(date(2026, 2, 29)), None);
        assert_eq!(rfc3339(date(2028, 2, 29)).as_deref(), Some("2028-02-29T00:00:00.000Z"));
        assert_eq!(rfc3339(date(10_000, 1, 1)), None);
    }
}
