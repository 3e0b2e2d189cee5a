//! Units of values, found from the counter type and the English names of object and counter.

use perfhive_format::CounterType;

/// The unit of a counter's cooked value: `%`, `1/s`, `s`, `B`, `KiB`, `MiB`, `B/s`, `KiB/s` or
/// `MiB/s`; empty for counts, and if the unit is not known.
///
/// A counter type does not say that a value is a number of bytes. The English name does: by a word
/// such as Bytes, KBytes or Megabytes, or because the counter, such as Working Set, or its object,
/// such as Image, is known for amounts of bytes. A counter with a name that begins with a percent
/// sign, or that is known for shares, such as CPU Limit, is a percentage, unless the type says that
/// the value is in seconds. Of a [`PERF_DOUBLE_RAW`](CounterType::PERF_DOUBLE_RAW), which is any counter of a text log,
/// the name also says whether it is a rate (`/sec` at its end) or a time in seconds (`sec/` in it, as in Avg. Disk
/// sec/Read).
///
/// ```
/// use perfhive_engine::unit_of;
/// use perfhive_format::CounterType;
/// let large = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
/// assert_eq!(unit_of(large, "Memory", "Available Bytes"), "B");
/// assert_eq!(unit_of(large, "Memory", "Available MBytes"), "MiB");
/// let rate = CounterType::PERF_COUNTER_BULK_COUNT;
/// assert_eq!(unit_of(rate, "LogicalDisk", "Disk Bytes/sec"), "B/s");
/// assert_eq!(unit_of(rate, "Memory", "Page Faults/sec"), "1/s");
/// ```
#[must_use]
pub fn unit_of(counter_type: CounterType, object: &str, counter: &str) -> &'static str {
    let per_second = match counter_type.unit() {
        "" if counter_type == CounterType::PERF_DOUBLE_RAW => {
            if counter.contains(" sec/") || TIMES.contains(&counter) {
                return "s";
            }
            // Windows has Split IO/Sec, too.
            counter
                .as_bytes()
                .last_chunk()
                .is_some_and(|end: &[u8; 4]| end.eq_ignore_ascii_case(b"/sec"))
        }
        "" => false,
        "1/s" => true,
        unit => return unit,
    };
    if counter.starts_with('%') || SHARES.contains(&counter) {
        return "%";
    }
    let mut words = counter.split(|c: char| !c.is_alphanumeric());
    let of_word = words.find_map(|word| match word.to_ascii_lowercase().as_str() {
        "bytes" => Some(("B", "B/s")),
        "kb" | "kbytes" | "kilobytes" => Some(("KiB", "KiB/s")),
        "mb" | "mbytes" | "megabytes" => Some(("MiB", "MiB/s")),
        _ => None,
    });
    let is_amount = AMOUNTS.iter().any(|name| counter.starts_with(name))
        || OF_MEMORY.contains(&object) && counter != "Mappings" && !is_identifier(counter);
    match (of_word, per_second) {
        (Some((_, unit)), true) | (Some((unit, _)), false) => unit,
        // A rate is an amount of bytes only if its name has the word.
        (None, true) => "1/s",
        (None, false) if is_amount => "B",
        (None, false) => "",
    }
}

/// The beginnings of the names of counters that count bytes although their names lack a word such
/// as Bytes.
const AMOUNTS: [&str; 4] = ["Working Set", "Commit Limit", "Huge Page Size", "MTU"];

/// Windows' objects about maps of memory. Their counters count bytes, except for identifiers and
/// numbers of mappings.
const OF_MEMORY: [&str; 3] = ["Image", "Full Image", "Process Address Space"];

/// Windows' counters of the type [`PERF_ELAPSED_TIME`](CounterType::PERF_ELAPSED_TIME).
const TIMES: [&str; 2] = ["Elapsed Time", "System Up Time"];

/// Names of counters that are percentages without a percent sign.
const SHARES: [&str; 1] = ["CPU Limit"];

/// Whether the values of a counter are identifiers, such as process IDs: its English name has the
/// word ID. Such values are written without separators between digits.
#[must_use]
pub fn is_identifier(english: &str) -> bool {
    english.split(|c: char| !c.is_alphanumeric()).any(|word| word == "ID")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_add_bytes_and_percent_to_types() {
        let large = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        for (object, name, unit) in [
            ("Process", "Working Set - Private", "B"),
            ("Process", "Page File Bytes Peak", "B"),
            ("LogicalDisk", "Free Megabytes", "MiB"),
            ("Memory", "Available KBytes", "KiB"),
            ("Memory", "Commit Limit", "B"),
            ("Paging File", "% Usage", "%"),
            ("Process", "Thread Count", ""),
            ("Image", "Read Only", "B"),
            ("Web Shop", "Bytesize", ""),
        ] {
            assert_eq!(unit_of(large, object, name), unit, "{name}");
        }
        let share = CounterType::PERF_RAW_FRACTION;
        assert_eq!(unit_of(share, "Memory", "% Committed Bytes In Use"), "%");
        assert_eq!(unit_of(share, "Web Shop", "Bytes of something"), "%");
        let rate = CounterType::PERF_COUNTER_BULK_COUNT;
        assert_eq!(unit_of(rate, "Memory", "Working Set Refaults/sec"), "1/s");
        for (name, unit) in [
            ("Disk Read Bytes/sec", "B/s"),
            ("Disk Reads/sec", "1/s"),
            ("Split IO/Sec", "1/s"),
            ("Avg. Disk sec/Read", "s"),
            ("Avg. Disk Bytes/Read", "B"),
            ("Elapsed Time", "s"),
            ("% Disk Time", "%"),
            ("Thread Count", ""),
        ] {
            assert_eq!(unit_of(CounterType::PERF_DOUBLE_RAW, "Disk", name), unit, "{name}");
        }
    }

    #[test]
    fn identifiers_are_known_by_the_word() {
        assert!(is_identifier("ID Process") && is_identifier("Creating Process ID"));
        assert!(!is_identifier("% Idle Time") && !is_identifier("Identity"));
    }
}
