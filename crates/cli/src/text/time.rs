//! Times for people, in the time zone of the user. (Output for programs has UTC.)

use jiff::tz::TimeZone;
use perfhive::recording::TextZone;
use perfhive::{CalendarTime, FileTime};
use perfhive_view::time::rfc3339;
use std::time::Duration;

/// A sample's time in this machine's time zone, as `2026-11-24 03:35:12 CET`, with milliseconds if the interval is
/// shorter than a second, or if it is not known and the milliseconds are not zero; `None` if the time is no valid date.
pub(crate) fn local(time: CalendarTime, interval: Option<Duration>) -> Option<String> {
    zoned(time, if has_fractions(time, interval) { "%F %T%.3f %Z" } else { "%F %T %Z" })
}

/// The time of day alone, as `03:35:12`, with milliseconds as in [`local`]; `None` if there is no valid date.
pub(crate) fn local_clock(time: CalendarTime, interval: Option<Duration>) -> Option<String> {
    zoned(time, if has_fractions(time, interval) { "%T%.3f" } else { "%T" })
}

/// The time zone of this machine at a moment, or now if `time` is `None` or no valid date, with the name that a
/// text log of Windows gives it.
pub(crate) fn zone_at(time: Option<FileTime>) -> TextZone {
    let time = time.and_then(|time| rfc3339(time.to_system_time())?.parse().ok());
    super::zone::of(time.unwrap_or_else(jiff::Timestamp::now), TimeZone::system())
}

/// The name of the zone at a moment, as perfhive shows it behind a time; `None` if the time is no valid date.
pub(crate) fn zone_name(time: FileTime, zone: TimeZone) -> Option<String> {
    zoned_in(time.to_system_time(), zone, "%Z")
}

/// The time at which a clock of the zone shows `local`; `None` if it is no valid date. A local time that the clock
/// leaves out or shows twice is taken as summer time.
pub(crate) fn of_local(local: FileTime, zone: TimeZone) -> Option<FileTime> {
    let shown: jiff::Timestamp = rfc3339(local.to_system_time())?.parse().ok()?;
    let zoned = shown.to_zoned(TimeZone::UTC).datetime().to_zoned(zone).ok()?;
    Some(FileTime(local.0 - i64::from(zoned.offset().seconds()) * FileTime::PER_SECOND))
}

/// Whether a time is shown with milliseconds, as [`local`] says.
fn has_fractions(time: CalendarTime, interval: Option<Duration>) -> bool {
    interval.map_or(time.milliseconds > 0, |interval| interval < Duration::from_secs(1))
}

fn zoned(time: CalendarTime, format: &str) -> Option<String> {
    zoned_in(time, TimeZone::system(), format)
}

fn zoned_in(time: CalendarTime, zone: TimeZone, format: &str) -> Option<String> {
    let time: jiff::Timestamp = rfc3339(time)?.parse().ok()?;
    Some(time.to_zoned(zone).strftime(format).to_string())
}
