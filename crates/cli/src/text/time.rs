//! Times for people, in the time zone of the user. (Output for programs has UTC.)

use perfhive::CalendarTime;
use perfhive_view::time::rfc3339;
use std::time::Duration;

/// A sample's time as `2026-11-24 03:35:12 CET`, with milliseconds if the interval is shorter than
/// a second; `None` if the block has no valid date.
pub(crate) fn local(time: CalendarTime, interval: Option<Duration>) -> Option<String> {
    zoned(time, if has_fractions(interval) { "%F %T%.3f %Z" } else { "%F %T %Z" })
}

/// The time of day alone, as `03:35:12`, with milliseconds as in [`local`]; `None` if there is no valid date.
pub(crate) fn local_clock(time: CalendarTime, interval: Option<Duration>) -> Option<String> {
    zoned(time, if has_fractions(interval) { "%T%.3f" } else { "%T" })
}

fn has_fractions(interval: Option<Duration>) -> bool {
    interval.is_some_and(|interval| interval < Duration::from_secs(1))
}

fn zoned(time: CalendarTime, format: &str) -> Option<String> {
    let time: jiff::Timestamp = rfc3339(time)?.parse().ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::system()).strftime(format).to_string())
}
