//! The counters that are shown if the user chooses none.

use crate::selection::{Selection, TopProcesses};
use perfhive_engine::{CounterPath, InstancePattern, NamePattern, PathId, Query};

/// A counter and its instance. Object and counter have their title indexes on Windows and English
/// names; the instance is a name, `*` for every instance, or `None` for an object without instances.
struct Usual {
    object: (u32, &'static str),
    instance: Option<&'static str>,
    counter: (u32, &'static str),
}

const fn usual(
    object: (u32, &'static str),
    instance: Option<&'static str>,
    counter: (u32, &'static str),
) -> Usual {
    Usual { object, instance, counter }
}

const PROCESSOR: (u32, &str) = (238, "Processor");
const MEMORY: (u32, &str) = (4, "Memory");
const SYSTEM: (u32, &str) = (2, "System");
const DISK: (u32, &str) = (234, "PhysicalDisk");
const PROCESS: (u32, &str) = (230, "Process");
const TOTAL: Option<&str> = Some("_Total");
const EVERY: Option<&str> = Some("*");

/// The usual counters, except those of the busiest processes.
const SUMMARY: &[Usual] = &[
    usual(PROCESSOR, TOTAL, (6, "% Processor Time")),
    usual(PROCESSOR, TOTAL, (142, "% User Time")),
    usual(PROCESSOR, TOTAL, (144, "% Privileged Time")),
    usual(MEMORY, None, (24, "Available Bytes")),
    usual(MEMORY, None, (1406, "% Committed Bytes In Use")),
    usual(MEMORY, None, (28, "Page Faults/sec")),
    usual(DISK, TOTAL, (220, "Disk Read Bytes/sec")),
    usual(DISK, TOTAL, (222, "Disk Write Bytes/sec")),
    usual(SYSTEM, None, (44, "Processor Queue Length")),
    usual(SYSTEM, None, (146, "Context Switches/sec")),
    usual(SYSTEM, None, (248, "Processes")),
    usual(SYSTEM, None, (250, "Threads")),
];

impl Selection {
    /// Adds the usual counters to a query, as far as its source has them: processor, memory, disks, system, and the
    /// busiest processes. Returns the selection of them; `None` if the source has none.
    pub fn usual(query: &mut Query) -> Option<Self> {
        let summary: Vec<PathId> = SUMMARY.iter().filter_map(|usual| usual.add(query)).collect();
        let mut process = |counter| usual(PROCESS, EVERY, counter).add(query);
        let time = process((6, "% Processor Time"));
        let id = process((784, "ID Process"));
        let working_set = process((180, "Working Set"));
        let top = match (time, id, working_set) {
            (Some(time), Some(id), Some(working_set)) => {
                Some(TopProcesses { time, id, working_set })
            }
            _ => None,
        };
        (!summary.is_empty() || top.is_some()).then_some(Self { summary, top })
    }
}

impl Usual {
    /// Adds the counter by its English name, or by its index if the source does not find the name;
    /// `None` if the source has neither.
    fn add(&self, query: &mut Query) -> Option<PathId> {
        let instance = self.instance.map(|name| match name {
            "*" => InstancePattern::any(),
            name => InstancePattern::literal(None, name, 0),
        });
        let named = CounterPath::new(self.object.1, instance.clone(), self.counter.1);
        let numbered = CounterPath {
            object: NamePattern::literal(&self.object.0.to_string()),
            counter: NamePattern::literal(&self.counter.0.to_string()),
            ..named.clone()
        };
        query.add_path(named).or_else(|_| query.add_path(numbered)).ok()
    }
}
