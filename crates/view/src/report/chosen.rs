//! The counters that a report lists if the user names none.

use perfhive_engine::{CatalogueCounter, CatalogueObject, TitleSet};
use perfhive_format::DetailLevel;

/// The most counters that are listed of an object that [`OBJECTS`] does not have.
const MOST: usize = 16;

/// The title index that a counter has on Windows (0 where it differs between machines), and its English name.
type Name = (u32, &'static str);

/// Windows' usual objects by title index and English name, each with the counters that say most about it, the
/// most telling first. An object with an empty list is not shown.
const OBJECTS: &[(u32, &str, &[Name])] = &[
    (238, "Processor", PROCESSOR),
    (0, "Processor Information", PROCESSOR),
    (
        2,
        "System",
        &[
            (44, "Processor Queue Length"),
            (146, "Context Switches/sec"),
            (248, "Processes"),
            (250, "Threads"),
            UPTIME,
        ],
    ),
    (
        4,
        "Memory",
        &[
            (24, "Available Bytes"),
            (1382, "Available MBytes"),
            (26, "Committed Bytes"),
            (1406, "% Committed Bytes In Use"),
            (40, "Pages/sec"),
            (28, "Page Faults/sec"),
            (56, "Pool Paged Bytes"),
            (58, "Pool Nonpaged Bytes"),
            (818, "Cache Bytes"),
        ],
    ),
    (700, "Paging File", &[(702, "% Usage"), (704, "% Usage Peak")]),
    (234, "PhysicalDisk", DISK),
    (236, "LogicalDisk", DISK),
    (
        510,
        "Network Interface",
        &[
            (388, "Bytes Total/sec"),
            (264, "Bytes Received/sec"),
            (506, "Bytes Sent/sec"),
            (400, "Packets/sec"),
            (544, "Output Queue Length"),
            (530, "Packets Received Errors"),
            (542, "Packets Outbound Errors"),
        ],
    ),
    (638, "TCPv4", TCP),
    (1530, "TCPv6", TCP),
    // Processes have a list of their own in the report; threads are not shown.
    (PROCESS, "Process", PROCESSES),
    (0, "Process V2", PROCESSES),
    (232, "Thread", &[]),
    (0, "Thread V2", &[]),
];

/// The title index of Process.
const PROCESS: u32 = 230;

/// The title index and the English name of the counter of the time since the machine started.
pub(super) const UPTIME: (u32, &str) = (674, "System Up Time");

const PROCESSOR: &[Name] = &[
    (6, "% Processor Time"),
    (142, "% User Time"),
    (144, "% Privileged Time"),
    (698, "% Interrupt Time"),
    (696, "% DPC Time"),
];

const DISK: &[Name] = &[
    (206, "Avg. Disk sec/Transfer"),
    (208, "Avg. Disk sec/Read"),
    (210, "Avg. Disk sec/Write"),
    (198, "Current Disk Queue Length"),
    (212, "Disk Transfers/sec"),
    (218, "Disk Bytes/sec"),
    (200, "% Disk Time"),
    (1482, "% Idle Time"),
    (408, "% Free Space"),
    (410, "Free Megabytes"),
];

const TCP: &[Name] = &[
    (642, "Connections Established"),
    (640, "Segments/sec"),
    (652, "Segments Received/sec"),
    (654, "Segments Sent/sec"),
    (656, "Segments Retransmitted/sec"),
    (648, "Connection Failures"),
];

/// The counters of each process, in the order of [`ProcessReport`](super::ProcessReport).
pub(super) const PROCESSES: &[Name] = &[
    (6, "% Processor Time"),
    (180, "Working Set"),
    (186, "Private Bytes"),
    (680, "Thread Count"),
    (952, "Handle Count"),
    (1424, "IO Data Bytes/sec"),
];

/// The older object with the same figures as the newer object of this English name; `None` if there
/// is no such object. Where a source has both, the usual choice lists only the older one.
pub(super) fn twin(english: &str) -> Option<&'static str> {
    match english {
        "Processor Information" => Some("Processor"),
        "Process V2" => Some("Process"),
        _ => None,
    }
}

/// Whether an object is one of which the instances are processes.
pub(super) fn is_of_processes(titles: &TitleSet, object: &CatalogueObject) -> bool {
    match titles.english_name(object.name) {
        Some(name) => matches!(name, "Process" | "Process V2"),
        None => object.name.0 == PROCESS,
    }
}

/// Whether a counter is the one with this index and English name. The name is compared, or the index where
/// the source has no names.
pub(super) fn is_meant(titles: &TitleSet, counter: &CatalogueCounter, meant: (u32, &str)) -> bool {
    match titles.english_name(counter.name) {
        Some(name) => name == meant.1,
        None => meant.0 != 0 && counter.name.0 == meant.0,
    }
}

/// The counters of an object that a report lists: those that [`OBJECTS`] names, or, if [`OBJECTS`]
/// does not have the object, all counters with numbers; if they are more than [`MOST`], only the
/// first [`MOST`] of the novice level.
pub(super) fn of_object<'a>(
    titles: &TitleSet,
    object: &'a CatalogueObject,
) -> Vec<&'a CatalogueCounter> {
    let name = titles.english_name(object.name);
    let is_it = |(index, english, _): &&(u32, &str, _)| match name {
        Some(name) => name == *english,
        None => *index != 0 && *index == object.name.0,
    };
    if let Some((_, _, counters)) = OBJECTS.iter().find(is_it) {
        let find = |meant: &(u32, &str)| {
            object.counters.iter().find(|counter| is_meant(titles, counter, *meant))
        };
        return counters.iter().filter_map(find).collect();
    }
    let is_number = |counter: &&CatalogueCounter| counter.counter_type.samples() > 0;
    let all: Vec<_> = object.counters.iter().filter(is_number).collect();
    if all.len() <= MOST {
        return all;
    }
    let for_all = all.iter().copied().filter(|counter| counter.detail == DetailLevel::NOVICE);
    for_all.take(MOST).collect()
}

/// The rank of an object in the order of the report: objects of [`OBJECTS`] come first, in its
/// order. All others have the same rank.
pub(super) fn rank(titles: &TitleSet, object: &CatalogueObject) -> usize {
    let name = titles.english_name(object.name);
    let is_it = |(index, english, _): &(u32, &str, _)| match name {
        Some(name) => name == *english,
        None => *index != 0 && *index == object.name.0,
    };
    OBJECTS.iter().position(is_it).unwrap_or(OBJECTS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_and_names_of_the_table_are_windows_own() {
        let Some(root) = perfhive_testkit::real::root() else { return };
        let path = root.join("titles/vista_009_from_pal_SampleLog.txt");
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let lines: Vec<&str> = text.lines().collect();
        let known: std::collections::HashMap<u32, &str> = lines
            .chunks_exact(2)
            .filter_map(|pair| Some((pair.first()?.parse().ok()?, *pair.get(1)?)))
            .collect();
        let objects = OBJECTS.iter().map(|(index, name, _)| (*index, *name));
        let counters = OBJECTS.iter().flat_map(|(_, _, counters)| counters.iter().copied());
        let mut checked = 0;
        for (index, name) in objects.chain(counters).filter(|(index, _)| *index != 0) {
            assert_eq!(known.get(&index).copied(), Some(name), "{index}");
            checked += 1;
        }
        assert!(checked > 50);
    }
}
