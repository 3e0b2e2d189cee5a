//! The two forms in which Windows writes a point in time.

use core::fmt;

/// A point in time as Windows' `FILETIME`: the number of units of 100 ns since the start of 1601,
/// UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub i64);

impl FileTime {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(116_444_736_000_000_000);
    /// The number of units of 100 ns in a second.
    pub const PER_SECOND: i64 = 10_000_000;

    /// The point in time that is `nanos` nanoseconds after the start of 1970, UTC, rounded down to
    /// 100 ns. A time outside the range of the type becomes its least or greatest value.
    #[must_use]
    pub const fn from_unix_nanos(nanos: i128) -> Self {
        Self(saturate(nanos.div_euclid(100) + Self::UNIX_EPOCH.0 as i128))
    }

    /// Nanoseconds since the start of 1970, UTC; negative before it.
    #[must_use]
    pub const fn to_unix_nanos(self) -> i128 {
        (self.0 as i128 - Self::UNIX_EPOCH.0 as i128) * 100
    }

    /// The calendar form, UTC, cut to whole milliseconds. A year before 0 becomes 0.
    #[must_use]
    pub fn to_system_time(self) -> CalendarTime {
        const DAY: i64 = 86_400 * FileTime::PER_SECOND;
        let days = self.0.div_euclid(DAY);
        let in_day = self.0.rem_euclid(DAY);
        let ms = in_day / 10_000;
        // Days since 1601-01-01, a Monday and the first day of a 400-year cycle.
        let (year, month, day) = civil_from_days(days);
        CalendarTime {
            year: u16::try_from(year).unwrap_or(0),
            month,
            day_of_week: (days + 1).rem_euclid(7) as u16,
            day,
            hour: (ms / 3_600_000) as u16,
            minute: (ms / 60_000 % 60) as u16,
            second: (ms / 1000 % 60) as u16,
            milliseconds: (ms % 1000) as u16,
        }
    }
}

const fn saturate(value: i128) -> i64 {
    if value > i64::MAX as i128 {
        i64::MAX
    } else if value < i64::MIN as i128 {
        i64::MIN
    } else {
        value as i64
    }
}

/// Year, month (1 to 12) and day of the month of a day counted from 1601-01-01, day 0, in the
/// Gregorian calendar. The calculation begins a year in March, so that the leap day comes last.
fn civil_from_days(days: i64) -> (i64, u16, u16) {
    // 1600-03-01 begins the 400-year cycle used here; 1601-01-01 is day 306 of it.
    let z = days + 306;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = 1600 + era * 400 + yoe + i64::from(month <= 2);
    (year, month as u16, day as u16)
}

/// Windows' `SYSTEMTIME`: a calendar date and time, UTC in a data block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CalendarTime {
    /// Year, 1601 to 30827.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u16,
    /// Day of the week, 0 is Sunday.
    pub day_of_week: u16,
    /// Day of the month, 1 to 31.
    pub day: u16,
    /// Hour, 0 to 23.
    pub hour: u16,
    /// Minute, 0 to 59.
    pub minute: u16,
    /// Second, 0 to 59.
    pub second: u16,
    /// Milliseconds, 0 to 999.
    pub milliseconds: u16,
}

impl CalendarTime {
    /// This point in time as a [`FileTime`]. `None` if a field is out of its range or the month
    /// does not have the day. The day of the week is ignored.
    #[must_use]
    pub fn to_file_time(self) -> Option<FileTime> {
        let is_time = self.hour < 24 && self.minute < 60 && self.second < 60;
        let is_date = (1601..=30827).contains(&self.year) && (1..=12).contains(&self.month);
        if !is_time || !is_date || self.day == 0 || self.milliseconds >= 1000 {
            return None;
        }
        let days = days_from_civil(self.year.into(), self.month.into(), self.day.into());
        // A day that the month does not have is one of the next month.
        let back = civil_from_days(days);
        if back != (self.year.into(), self.month, self.day) {
            return None;
        }
        let seconds = i64::from(self.hour) * 3600 + i64::from(self.minute) * 60;
        let seconds = days * 86_400 + seconds + i64::from(self.second);
        Some(FileTime(seconds * FileTime::PER_SECOND + i64::from(self.milliseconds) * 10_000))
    }
}

/// Days from 1601-01-01 to a date: the inverse of [`civil_from_days`].
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - 1600 - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let doy = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 306
}

/// Writes the time in the form `2007-08-14T19:40:38.659Z`.
impl fmt::Display for CalendarTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            self.year, self.month, self.day, self.hour, self.minute, self.second, self.milliseconds
        )
    }
}

impl fmt::Display for FileTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_system_time().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn dates_convert_both_ways_and_impossible_dates_are_refused() {
        for days in (0..400_000).step_by(97) {
            let time = FileTime(days * 86_400 * FileTime::PER_SECOND + 12_345_670_000);
            assert_eq!(time.to_system_time().to_file_time(), Some(time));
        }
        let date = |month, day, year| CalendarTime { year, month, day, ..CalendarTime::default() };
        for bad in [
            date(2, 29, 2026),
            date(13, 1, 2026),
            date(0, 1, 2026),
            date(1, 0, 2026),
            date(1, 1, 1600),
        ] {
            assert_eq!(bad.to_file_time(), None, "{bad}");
        }
    }

    #[test]
    fn known_dates() {
        assert_eq!(FileTime(0).to_string(), "1601-01-01T00:00:00.000Z");
        assert_eq!(FileTime(0).to_system_time().day_of_week, 1);
        assert_eq!(FileTime::UNIX_EPOCH.to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(FileTime::UNIX_EPOCH.to_system_time().day_of_week, 4);
        // 2000-02-29, a leap day of a century.
        let leap = FileTime::from_unix_nanos(951_782_400_000_000_000);
        assert_eq!(leap.to_string(), "2000-02-29T00:00:00.000Z");
        assert_eq!(leap.to_unix_nanos(), 951_782_400_000_000_000);
        assert_eq!(FileTime(128_315_940_386_596_596).to_string(), "2007-08-14T19:40:38.659Z",);
    }

    #[test]
    fn times_beyond_the_range_are_its_ends_and_all_others_come_back() {
        for time in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX].map(FileTime) {
            assert_eq!(FileTime::from_unix_nanos(time.to_unix_nanos()), time);
        }
        let (least, greatest) = (FileTime(i64::MIN), FileTime(i64::MAX));
        assert_eq!(FileTime::from_unix_nanos(least.to_unix_nanos() - 1), least);
        assert_eq!(FileTime::from_unix_nanos(i128::MIN), least);
        assert_eq!(FileTime::from_unix_nanos(greatest.to_unix_nanos() + 100), greatest);
        assert_eq!(FileTime::from_unix_nanos(i128::MAX), greatest);
    }
}
