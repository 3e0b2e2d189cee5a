//! Counter paths as people type them.

use std::borrow::Cow;

/// Short names of the counters that people ask for most, each with the counter's path.
pub const SHORT_NAMES: [(&str, &str); 20] = [
    ("cpu", r"\Processor(_Total)\% Processor Time"),
    ("cpus", r"\Processor(*)\% Processor Time"),
    ("user", r"\Processor(_Total)\% User Time"),
    ("kernel", r"\Processor(_Total)\% Privileged Time"),
    ("queue", r"\System\Processor Queue Length"),
    ("switches", r"\System\Context Switches/sec"),
    ("processes", r"\System\Processes"),
    ("threads", r"\System\Threads"),
    ("uptime", r"\System\System Up Time"),
    ("memory", r"\Memory\Available Bytes"),
    ("committed", r"\Memory\Committed Bytes"),
    ("faults", r"\Memory\Page Faults/sec"),
    ("paging", r"\Memory\Pages/sec"),
    ("swap", r"\Paging File(_Total)\% Usage"),
    ("disk", r"\PhysicalDisk(_Total)\Disk Bytes/sec"),
    ("iops", r"\PhysicalDisk(_Total)\Disk Transfers/sec"),
    ("latency", r"\PhysicalDisk(_Total)\Avg. Disk sec/Transfer"),
    ("space", r"\LogicalDisk(*)\% Free Space"),
    ("network", r"\Network Interface(*)\Bytes Total/sec"),
    ("tcp", r"\TCPv4\Connections Established"),
];

/// The path that a typed text means: the text may be a [short name](SHORT_NAMES) in small or capital letters, a path
/// without its first backslash, or one with slashes (`Memory/Available Bytes`). Any other text comes back as it is.
///
/// ```
/// use perfhive_view::typed_path;
/// assert_eq!(typed_path("cpu"), r"\Processor(_Total)\% Processor Time");
/// assert_eq!(typed_path("/Memory/Pages/sec"), r"\Memory\Pages/sec");
/// assert_eq!(typed_path(r"Memory\Available Bytes"), r"\Memory\Available Bytes");
/// ```
#[must_use]
pub fn typed_path(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    if trimmed.starts_with('\\') {
        return Cow::Borrowed(text);
    }
    let is_it = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(trimmed);
    if let Some((_, path)) = SHORT_NAMES.iter().find(is_it) {
        return Cow::Borrowed(path);
    }
    with_slashes(trimmed)
        .or_else(|| trimmed.contains('\\').then(|| format!("\\{trimmed}")))
        .map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The path `Object/Counter` or `Object(Instance)/Counter` with backslashes; `None` for a text of another form.
/// Instances and counters may have slashes of their own: the first slash behind the object divides, or with an
/// instance the slash of the last `)/`.
fn with_slashes(text: &str) -> Option<String> {
    let text = text.strip_prefix('/').unwrap_or(text);
    let first = text.find(['/', '(', '\\'])?;
    let (object, counter) = match text.get(first..)?.chars().next()? {
        '/' => text.split_once('/')?,
        '(' => {
            let close = first + text.get(first..)?.rfind(")/")?;
            (text.get(..=close)?, text.get(close + 2..)?)
        }
        _ => return None,
    };
    let is_whole = !object.is_empty() && !counter.is_empty() && !counter.contains('\\');
    is_whole.then(|| format!(r"\{object}\{counter}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::CounterPath;

    #[test]
    fn typed_texts_become_paths_and_others_stay() {
        for (text, path) in [
            ("cpu", r"\Processor(_Total)\% Processor Time"),
            ("CPU", r"\Processor(_Total)\% Processor Time"),
            (r"\Memory\Available Bytes", r"\Memory\Available Bytes"),
            (r"\\BOX\Memory\Pages/sec", r"\\BOX\Memory\Pages/sec"),
            (r"Memory\Pages/sec", r"\Memory\Pages/sec"),
            ("Memory/Pages/sec", r"\Memory\Pages/sec"),
            ("/Processor(_Total)/% User Time", r"\Processor(_Total)\% User Time"),
            ("Thread(bash/0)/ID Thread", r"\Thread(bash/0)\ID Thread"),
            ("LogicalDisk(/home)/% Free Space", r"\LogicalDisk(/home)\% Free Space"),
            (r"Process(a(b)c)\Working Set", r"\Process(a(b)c)\Working Set"),
            ("PhysicalDisk(0)/Avg. Disk sec/Read", r"\PhysicalDisk(0)\Avg. Disk sec/Read"),
            ("Process", "Process"),
            ("", ""),
            ("/", "/"),
            ("a/", "a/"),
        ] {
            assert_eq!(typed_path(text), path, "{text}");
        }
    }

    #[test]
    fn short_names_are_unique_and_mean_paths() {
        for (place, (name, path)) in SHORT_NAMES.iter().enumerate() {
            assert!(path.parse::<CounterPath>().is_ok(), "{path}");
            assert!(SHORT_NAMES.iter().skip(place + 1).all(|(other, _)| other != name), "{name}");
        }
    }
}
