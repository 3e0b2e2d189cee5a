//! Parsers for the values of options; the error is a message for people.

use super::recordings::FileSpan;
use crate::text::time::{of_local, zone_name};
use jiff::tz::TimeZone;
use perfhive::recording::TimeBound;
use perfhive::{CalendarTime, FileTime, LanguageId, SourceAddress};
use perfhive_view::SHORT_NAMES;
use std::num::NonZeroU64;
use std::time::Duration;

/// The text itself if it is the address of a source; otherwise the error says what is wrong with it.
pub(super) fn address(text: &str) -> Result<String, String> {
    match text.parse::<SourceAddress>() {
        Ok(_) => Ok(text.to_string()),
        // `-sc 3` and `-si 1` leave this behind `-s`.
        Err(_) if matches!(text, "c" | "i") => {
            Err("typeperf's -sc COUNT is -n COUNT here, and -si \
             SECONDS is -i SECONDS; perfhive typeperf takes its flags as they are"
                .to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The full counter path for one as people type it, such as `cpu` or `Memory/Available Bytes`.
pub(super) fn path(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(perfhive_view::typed_path(text).into_owned())
}

/// The text unchanged if it means a recording ([`is_file`]), or else the full counter path for it ([`path`]).
pub(super) fn file_or_path(text: &str) -> Result<String, std::convert::Infallible> {
    match is_file(text) {
        true => Ok(text.to_string()),
        false => path(text),
    }
}

/// Whether a text means a recording rather than a counter path: a file that exists, a folder, or a name with the
/// ending of a recording. A folder with the short name of a counter, such as `cpu`, counts only if it is a capture.
/// A text that begins with a backslash counts only if it is a file that exists or a capture.
pub(crate) fn is_file(text: &str) -> bool {
    let path = std::path::Path::new(text);
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let ends = ["phr", "blg", "csv", "tsv", "jsonl"];
    let is_named = ends.iter().any(|known| known.eq_ignore_ascii_case(end));
    let is_short = SHORT_NAMES.iter().any(|(name, _)| name.eq_ignore_ascii_case(text));
    let is_other = is_named || path.is_dir() && !is_short;
    path.is_file() || is_capture(path) || is_other && !text.starts_with('\\')
}

/// The address of a recording that is named as a file, or by its address: `file:a.csv` means a file of this whole name
/// only if there is one.
pub(crate) fn source_of_file(name: &str) -> String {
    match name.parse::<SourceAddress>() {
        Ok(address) if !std::path::Path::new(name).exists() => address.to_string(),
        _ => SourceAddress::file(name).to_string(),
    }
}

/// The name of the file that was given in the place of a counter path: its slashes were read as backslashes, and are
/// slashes here again, except on Windows; a backslash that was put before it is gone. `None` if the text means no file.
pub(crate) fn file_of(path: &str) -> Option<String> {
    let file = path.replace('\\', std::path::MAIN_SEPARATOR_STR);
    let relative = path.starts_with('\\').then(|| file.get(1..).unwrap_or_default());
    let found = [Some(&*file), relative].into_iter().flatten();
    let found = found.map(str::to_string).find(|name| std::path::Path::new(name).is_file());
    found.or_else(|| is_file(path).then_some(file))
}

/// Whether a path is the folder of a capture: it has a manifest (`manifest.jsonl`), or files with the ending of
/// data blocks (`.bin`).
fn is_capture(path: &std::path::Path) -> bool {
    let is_block = |file: std::fs::DirEntry| {
        let name = file.file_name();
        std::path::Path::new(&name).extension().is_some_and(|end| end.eq_ignore_ascii_case("bin"))
    };
    path.join("manifest.jsonl").is_file()
        || std::fs::read_dir(path).is_ok_and(|files| files.flatten().any(is_block))
}

/// The message that refuses a name for a recording, if it has the ending of one of perfmon's logs: the ending
/// would promise another form. `None` for other names.
pub(crate) fn foreign_form(file: &std::path::Path) -> Option<String> {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is_foreign = ["blg", "csv", "tsv"].iter().any(|known| known.eq_ignore_ascii_case(end));
    is_foreign.then(|| {
        let file = file.display();
        format!(
            "{file}: a recording has a form of its own (.phr); perfhive convert makes a log of it"
        )
    })
}

/// Parses a language from its code, name or number; an error for any other text.
pub(super) fn language(text: &str) -> Result<LanguageId, String> {
    text.parse::<LanguageId>().map_err(|error| error.to_string())
}

/// Parses the number of samples to take, which is at least 1.
pub(super) fn count(text: &str) -> Result<u64, String> {
    match text.trim().parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a whole number from 1 on".to_string()),
    }
}

/// Parses the number of instances to show, which is at least 1.
pub(super) fn top(text: &str) -> Result<usize, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "expected a whole number from 1 on".to_string())
}

/// Parses a process ID.
pub(super) fn pid(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "expected a process ID, or several with commas".to_string())
}

/// The order of instances from the text of `--sort`, without blanks around it; an error if nothing stands behind
/// its signs (`+` and `-`).
pub(super) fn order(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.trim_start_matches(['+', '-']).is_empty() {
        return Err("expected value, name, source, or the name of a counter".to_string());
    }
    Ok(text.to_string())
}

/// The name of an object from a text, without blanks around it and without backslashes and slashes at its
/// beginning. A text that has nothing else is returned unchanged; one with a machine in front (`\\HOST\Memory`) keeps
/// its backslashes.
pub(super) fn object(text: &str) -> Result<String, std::convert::Infallible> {
    let name = text.trim();
    if name.strip_prefix(r"\\").is_some_and(|rest| rest.contains('\\')) {
        return Ok(name.to_string());
    }
    let name = name.trim_start_matches(['\\', '/']);
    Ok(if name.is_empty() { text } else { name }.to_string())
}

/// A number of digits and at most one point; the standard library would also accept "inf", "1e9" and signs.
fn decimal(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain)
}

/// A time in seconds, or in the unit behind the number (ms, s, m, h). An error if it is shorter than a millisecond
/// or longer than a day.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    let expected = || "expected seconds, such as 0.5, or 500ms, 2s, 1m, 1h".to_string();
    let text = text.trim().to_ascii_lowercase();
    let (number, factor) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1e-3)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60.0)
    } else if let Some(number) = text.strip_suffix('h') {
        (number, 3600.0)
    } else {
        (text.as_str(), 1.0)
    };
    let seconds = decimal(number).ok_or_else(expected)? * factor;
    if seconds < 0.001 {
        return Err("an interval is at least a millisecond".to_string());
    }
    if seconds > 86_400.0 {
        return Err("an interval is at most a day".to_string());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A time from a microsecond to an hour, with its unit (us, ms, s).
pub(super) fn spin(text: &str) -> Result<Duration, String> {
    let text = text.trim().to_ascii_lowercase();
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let time = units
        .iter()
        .find_map(|(unit, factor)| decimal(text.strip_suffix(unit)?).map(|number| number * factor));
    let time = time.filter(|time| (1e-6..=3600.0).contains(time)).map(Duration::from_secs_f64);
    time.ok_or_else(|| "expected a time from 1us to 3600s, such as 200us, 0.5ms or 1s".to_string())
}

/// A time as in [`interval`], or 0.
pub(super) fn sync(text: &str) -> Result<Duration, String> {
    match text.trim() {
        "0" => Ok(Duration::ZERO),
        text => interval(text),
    }
}

/// The time between samples that are drawn, as in [`interval`], but at least 50 ms.
pub(crate) fn drawn_interval(text: &str) -> Result<Duration, String> {
    let interval = interval(text)?;
    match interval >= Duration::from_millis(50) {
        true => Ok(interval),
        false => Err("an interval between samples that are drawn is at least 50 ms".to_string()),
    }
}

/// Parses the number N of "every N-th sample", which is at least 1.
pub(super) fn every(text: &str) -> Result<NonZeroU64, String> {
    text.trim().parse().map_err(|_| "expected a whole number from 1, such as 10".to_string())
}

/// How many times as fast a recording is replayed as it was recorded, such as `10`, `10x` or `0.5`: from 0.001 to
/// 1,000,000.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_end_matches('x');
    let speed = decimal(text).filter(|speed| (0.001..=1e6).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.001 to 1000000, such as 10 or 0.5".to_string())
}

/// A time as in [`interval`], or one of any length above 0 in hours or days, with h or d behind the number.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim().to_ascii_lowercase();
    let (number, hours) = match (text.strip_suffix('h'), text.strip_suffix('d')) {
        (Some(number), _) => (number, 1.0),
        (_, Some(number)) => (number, 24.0),
        _ => return interval(&text),
    };
    let time = decimal(number).filter(|number| *number > 0.0);
    let time = time.and_then(|time| Duration::try_from_secs_f64(time * hours * 3600.0).ok());
    time.ok_or_else(|| "expected a time, such as 90s, 30m, 8h or 7d".to_string())
}

/// A number of bytes above 0, which may be followed by K, M or G for 1024, 1024² or 1024³.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let (number, factor) = match upper.strip_suffix(['K', 'M', 'G']) {
        Some(number) if upper.ends_with('K') => (number, 1 << 10),
        Some(number) if upper.ends_with('M') => (number, 1 << 20),
        Some(number) => (number, 1 << 30),
        None => (upper.as_str(), 1),
    };
    let bytes = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let expected = "expected a number of bytes, such as 500000, 100M or 2G";
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| expected.to_string())
}

/// A point in time, or a distance: `+10m` after the beginning or `-30s` before the end of a recording.
pub(super) fn bound(text: &str) -> Result<TimeBound, String> {
    bound_in(text, TimeZone::system())
}

fn bound_in(text: &str, zone: TimeZone) -> Result<TimeBound, String> {
    let text = text.trim();
    let steps = |text: &str| {
        let nanos = duration(text)?.as_nanos() / 100;
        i64::try_from(nanos).map_err(|_| "too long".to_string())
    };
    if let Some(text) = text.strip_prefix('+') {
        return steps(text).map(TimeBound::AfterBegin);
    }
    if let Some(text) = text.strip_prefix('-') {
        return steps(text).map(TimeBound::BeforeEnd);
    }
    let expected = "expected a local time, such as 2026-11-23 14:05:00, or one with Z or an offset, or +10m, or -30s";
    moment(text, zone).map(TimeBound::At).ok_or_else(|| expected.to_string())
}

/// A recording as a whole, or the part of it that is given as `FILE@BEGIN..END`. The text of a file that exists
/// means the whole file, even with an `@` in its name. BEGIN or END may be left out. An error if one of them is
/// wrong, or if something else stands behind the `@` of a file that exists.
pub(super) fn file_span(text: &str) -> Result<FileSpan, String> {
    let whole = FileSpan { file: text.to_string(), begin: None, end: None };
    // A file may have an @ in its name.
    if std::path::Path::new(text).exists() {
        return Ok(whole);
    }
    let Some((file, (begin, end))) =
        text.rsplit_once('@').and_then(|(file, span)| Some((file, span.split_once("..")?)))
    else {
        return match text.rsplit_once('@') {
            Some((file, _)) if std::path::Path::new(file).exists() => {
                Err("a part of a file is FILE@BEGIN..END, such as day.phr@+10m..+20m".to_string())
            }
            _ => Ok(whole),
        };
    };
    let bound = |text: &str| match text.trim() {
        "" => Ok(None),
        text => bound(text).map(Some),
    };
    Ok(FileSpan { file: file.to_string(), begin: bound(begin)?, end: bound(end)? })
}

/// An interval of one second to one day, given as `[[hh:]mm:]ss`, or, without a colon, as [`interval`] takes it.
pub(super) fn clock(text: &str) -> Result<Duration, String> {
    if !text.contains(':') {
        return interval(text);
    }
    let expected = || "expected [[hh:]mm:]ss".to_string();
    let mut seconds = 0_u64;
    for part in text.split(':') {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        let part: u64 = part.parse().ok().filter(|_| is_number).ok_or_else(expected)?;
        seconds = seconds.saturating_mul(60).saturating_add(part);
    }
    match (text.split(':').count(), seconds) {
        (..=3, 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err(expected()),
    }
}

/// A date such as `8/14/2007 3:40:38PM` or `8/14/2007 15:40:38` in this machine's zone, or any text that [`bound`]
/// accepts.
pub(super) fn date_of_windows(text: &str) -> Result<TimeBound, String> {
    date_in(text, TimeZone::system())
}

fn date_in(text: &str, zone: TimeZone) -> Result<TimeBound, String> {
    let expected = || "expected a local time, such as 11/23/2026 14:05:00".to_string();
    let Some((date, time)) = text.trim().split_once(' ').filter(|(date, _)| date.contains('/'))
    else {
        return bound_in(text, zone).map_err(|_| expected());
    };
    let mut date = date.split('/');
    let (month, day, year) = (date.next(), date.next(), date.next());
    let upper = time.trim().to_ascii_uppercase();
    let time = upper.trim_end_matches(['A', 'P', 'M']).trim();
    let is_half = time.len() < upper.len();
    let (hour, rest) = time.split_once(':').unwrap_or((time, "0"));
    let mut hour: u32 = hour.parse().map_err(|_| expected())?;
    if is_half {
        hour = hour % 12 + if upper.contains('P') { 12 } else { 0 };
    }
    match (year, month, day) {
        (Some(year), Some(month), Some(day)) => {
            let time = point(&format!("{year}-{month}-{day} {hour}:{rest}"));
            let time = time.and_then(|time| of_local(time, zone)).map(TimeBound::At);
            time.ok_or_else(expected)
        }
        _ => Err(expected()),
    }
}

/// The time in a text such as `2026-11-23 14:05:00.5`. With `Z` or ` UTC` behind it, it is UTC; with an offset such as
/// `-04:00`, it is local there; otherwise it is local in `zone`, and the name of the zone may follow. `None` for any
/// other text.
pub(crate) fn moment(text: &str, zone: TimeZone) -> Option<FileTime> {
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_alphabetic());
    let (shown, name) = match text.rsplit_once(' ') {
        Some((shown, name)) if is_name(&name) => (shown, Some(name)),
        _ => (text, None),
    };
    if let Some(shown) = shown.strip_suffix(['Z', 'z']) {
        return point(shown).filter(|_| name.is_none());
    }
    if name == Some("UTC") {
        return point(shown);
    }
    let clock = shown.find([' ', 'T', 't']).unwrap_or(shown.len());
    if let Some(at) = shown.get(clock..)?.find(['+', '-']) {
        let (shown, offset) = shown.split_at(clock + at);
        let (hours, minutes) = offset.get(1..)?.split_once(':').unwrap_or((offset.get(1..)?, "0"));
        let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        let steps = (i64::from(hours) * 60 + i64::from(minutes)) * 60 * FileTime::PER_SECOND;
        let ahead = if offset.starts_with('-') { -steps } else { steps };
        return point(shown.trim_end())?.0.checked_sub(ahead).map(FileTime);
    }
    let time = of_local(point(shown)?, zone.clone())?;
    name.is_none_or(|name| zone_name(time, zone).is_some_and(|of| of == name)).then_some(time)
}

/// The date and time in a text such as `2026-11-23 14:05:00.5`, read as UTC. A T may stand for the space, and the
/// time or its smaller parts may be left out and are then 0. `None` for any other text.
fn point(text: &str) -> Option<FileTime> {
    let (date, time) = text.split_once([' ', 'T', 't']).unwrap_or((text, "0:0:0"));
    let part = |text: Option<&str>| text.unwrap_or("0").parse::<u16>().ok();
    let mut date = date.split('-');
    let (year, month, day) = (part(date.next())?, part(date.next())?, part(date.next())?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':');
    let (hour, minute, second) = (part(time.next())?, part(time.next())?, part(time.next())?);
    let milliseconds = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let is_whole = date.next().is_none() && time.next().is_none();
    let day_of_week = 0;
    let time = CalendarTime { year, month, day_of_week, day, hour, minute, second, milliseconds };
    time.to_file_time().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file is found by the path that was made of its name. The files are in the folder of the crate, the working
    /// directory of tests.
    #[test]
    fn a_file_is_found_by_the_path_that_was_made_of_its_name() {
        let whole = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for text in ["Cargo.toml", "./Cargo.toml", "src/args/value.rs", whole] {
            for typed in [text, &text.replace('/', std::path::MAIN_SEPARATOR_STR)] {
                let path = path(typed).unwrap();
                let file = file_of(&path).unwrap_or_else(|| panic!("{path}"));
                assert_eq!(file.replace('\\', "/"), text);
            }
        }
        assert_eq!(file_of(r"\Memory\Available Bytes"), None);
    }

    #[test]
    fn long_times_may_be_hours_and_days() {
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(duration("30m"), Ok(Duration::from_secs(1800)));
        for bad in ["h", "-1h", "0d", "infd", "1e9d", "x"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes_with_and_without_unit_are_read() {
        assert_eq!(bytes("500"), Ok(500));
        assert_eq!(bytes("2k"), Ok(2048));
        assert_eq!(bytes("100M"), Ok(100 << 20));
        assert_eq!(bytes("1G"), Ok(1 << 30));
        for bad in ["", "0", "-1", "x", "1T", "M", "99999999999G"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn dates_and_intervals_of_windows_tools_are_read() {
        let at = |text| date_in(text, TimeZone::UTC).map(|bound| format!("{bound:?}"));
        let east = TimeZone::fixed(jiff::tz::offset(3));
        assert_eq!(date_in("8/14/2007 3:40:38 PM", east), bound("2007-08-14 12:40:38Z"));
        assert_eq!(at("8/14/2007 3:40:38PM"), at("2007-08-14 15:40:38"));
        assert_eq!(at("8/14/2007 15:40:38"), at("2007-08-14 15:40:38"));
        assert_eq!(at("8/14/2007 12:00:00 AM"), at("2007-08-14 0:00"));
        assert!(at("8/14 1:00").is_err() && at("x/y/z 1:00").is_err());
        assert_eq!(clock("01:02:03"), Ok(Duration::from_secs(3723)));
        assert_eq!(clock("5"), Ok(Duration::from_secs(5)));
        assert!(clock("1:2:3:4").is_err() && clock("0:0").is_err() && clock("+1:30").is_err());
    }

    #[test]
    fn bounds_of_recordings_are_times_or_intervals() {
        let in_zone = |text, zone| match bound_in(text, zone) {
            Ok(TimeBound::At(time)) => time.to_string(),
            other => format!("{other:?}"),
        };
        let at = |text| in_zone(text, TimeZone::UTC);
        let zone = TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        for shown in [
            "14:05:00",
            "14:05:00 EDT",
            "14:05:00-04:00",
            "14:05:00 -04",
            "18:05:00Z",
            "18:05:00 UTC",
        ] {
            let time = bound_in(&format!("2026-07-23 {shown}"), zone.clone());
            assert_eq!(time, bound("2026-07-23T18:05:00Z"), "{shown}");
        }
        assert_eq!(in_zone("2026-01-23T14:05:00", zone.clone()), "2026-01-23T19:05:00.000Z");
        for bad in ["2026-07-23 14:05:00 EST", "2026-07-23 14:05:00-99:00", "2026-07-23 14:05:00+é"]
        {
            assert!(bound_in(bad, zone.clone()).is_err(), "{bad}");
        }
        // The last year that a time can have.
        let _ = bound_in("30827-12-31 23:59:59-23:59", zone);
        assert_eq!(at("2026-11-23 14:05:00"), "2026-11-23T14:05:00.000Z");
        assert_eq!(at("2026-11-23T14:05:00.25Z"), "2026-11-23T14:05:00.250Z");
        assert_eq!(at("2026-11-23 14:05"), "2026-11-23T14:05:00.000Z");
        assert_eq!(at("2026-11-23"), "2026-11-23T00:00:00.000Z");
        assert_eq!(bound("+1m"), Ok(TimeBound::AfterBegin(600_000_000)));
        assert_eq!(bound("-500ms"), Ok(TimeBound::BeforeEnd(5_000_000)));
        for bad in ["", "now", "2026-13-01", "2026-11-23 25:00", "14:05", "+", "-x", "2026-1-1-1"] {
            assert!(bound(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_to_spin_have_a_unit() {
        let micros = |text| spin(text).map(|time| time.as_micros());
        for (text, time) in [("200us", 200), ("0.2ms", 200), (" 1US ", 1), ("1s", 1_000_000)] {
            assert_eq!(micros(text), Ok(time), "{text}");
        }
        for bad in ["", "0us", "200", "us", "-1us", "1e3us", "nanus", "0.1us", "3601s", "1m"] {
            assert!(spin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn intervals_with_and_without_unit_are_read() {
        let ms = |text| interval(text).map(|interval| interval.as_millis());
        assert_eq!(ms("1"), Ok(1000));
        assert_eq!(ms("0.25"), Ok(250));
        assert_eq!(ms(".5"), Ok(500));
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("500MS"), Ok(500));
        assert_eq!(ms("2s"), Ok(2000));
        assert_eq!(ms("1.5m"), Ok(90_000));
        assert_eq!(ms("24h"), Ok(86_400_000));
        for bad in
            ["", "0", "-1", "+1", "inf", "nan", "1e3", "25h", "1.2.3", "ms", "h", "86401", "."]
        {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
