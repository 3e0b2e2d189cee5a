//! What `watch` shows if nothing is asked for.

use super::view::{Top, Wanted};
use crate::args::Global;
use crate::failure::{Failure, of_source};
use perfhive::{CounterPath, InstancePattern, NamePattern, PathId, Query};

/// A counter by Windows' indexes and English names.
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
const PROCESS: (u32, &str) = (230, "Process");
const TOTAL: Option<&str> = Some("_Total");
const EVERY: Option<&str> = Some("*");

const SUMMARY: &[Usual] = &[
    usual(PROCESSOR, TOTAL, (6, "% Processor Time")),
    usual(PROCESSOR, TOTAL, (142, "% User Time")),
    usual(PROCESSOR, TOTAL, (144, "% Privileged Time")),
    usual(MEMORY, None, (24, "Available Bytes")),
    usual(MEMORY, None, (1406, "% Committed Bytes In Use")),
    usual(MEMORY, None, (28, "Page Faults/sec")),
    usual(SYSTEM, None, (44, "Processor Queue Length")),
    usual(SYSTEM, None, (146, "Context Switches/sec")),
    usual(SYSTEM, None, (248, "Processes")),
    usual(SYSTEM, None, (250, "Threads")),
];

/// Adds what the source has of it.
pub(super) fn add(query: &mut Query, global: &Global) -> Result<Wanted, Failure> {
    let summary: Vec<PathId> = SUMMARY.iter().filter_map(|usual| usual.add(query)).collect();
    let mut process = |counter| usual(PROCESS, EVERY, counter).add(query);
    let time = process((6, "% Processor Time"));
    let id = process((784, "ID Process"));
    let working_set = process((180, "Working Set"));
    let top = match (time, id, working_set) {
        (Some(time), Some(id), Some(working_set)) => Some(Top { time, id, working_set }),
        _ => None,
    };
    if summary.is_empty() && top.is_none() {
        let what = "has none of the counters that are usually watched; name some paths \
                    (perfhive list shows what there is)";
        return Err(Failure::Usage(of_source(&global.source, what)));
    }
    Ok(Wanted { summary, top })
}

impl Usual {
    /// By name, or by index in a source without names.
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
