//! The object NUMA Node Memory: the memory of each NUMA node, from `/sys/devices/system/node`.

use super::write_nothing;
use crate::faults::{Faults, describe, is_gone};
use crate::files::{KeptFile, PidPath, Reader, decimal};
use crate::interrupts::Tally;
use crate::parse::{keyed, kib_to_bytes};
use crate::table::{NODE, index_of};
use perfhive_engine::standard::{CounterValues, Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::InstanceHead;
use std::fmt;

/// The words of a node's `meminfo` behind `Node N `, each with its counter and the counter's unit.
const SIZES: [(&[u8], u32, Unit); 15] = [
    (b"MemTotal:", index_of!(NODE, "Total MBytes"), Unit::Megabytes),
    (b"MemFree:", index_of!(NODE, "Free & Zero Page List MBytes"), Unit::Megabytes),
    (b"MemUsed:", index_of!(NODE, "Used Bytes"), Unit::Bytes),
    (b"FilePages:", index_of!(NODE, "File Page Bytes"), Unit::Bytes),
    (b"Dirty:", index_of!(NODE, "Dirty Bytes"), Unit::Bytes),
    (b"Active:", index_of!(NODE, "Active Bytes"), Unit::Bytes),
    (b"Inactive:", index_of!(NODE, "Inactive Bytes"), Unit::Bytes),
    (b"AnonPages:", index_of!(NODE, "Anonymous Bytes"), Unit::Bytes),
    (b"Mapped:", index_of!(NODE, "Mapped Bytes"), Unit::Bytes),
    (b"Shmem:", index_of!(NODE, "Shared Bytes"), Unit::Bytes),
    (b"Slab:", index_of!(NODE, "Slab Bytes"), Unit::Bytes),
    (b"PageTables:", index_of!(NODE, "Page Table Bytes"), Unit::Bytes),
    (b"KernelStack:", index_of!(NODE, "Kernel Stack Bytes"), Unit::Bytes),
    (b"HugePages_Total:", index_of!(NODE, "Huge Pages Total"), Unit::Count),
    (b"HugePages_Free:", index_of!(NODE, "Huge Pages Free"), Unit::Count),
];

/// The words of a node's `numastat`, each with its counter; the numbers are used as they are.
const EVENTS: [(&[u8], u32); 6] = [
    (b"numa_hit", index_of!(NODE, "NUMA Hits/sec")),
    (b"numa_miss", index_of!(NODE, "NUMA Misses/sec")),
    (b"numa_foreign", index_of!(NODE, "NUMA Foreign/sec")),
    (b"interleave_hit", index_of!(NODE, "Interleave Hits/sec")),
    (b"local_node", index_of!(NODE, "Local Pages/sec")),
    (b"other_node", index_of!(NODE, "Remote Pages/sec")),
];

#[derive(Clone, Copy)]
enum Unit {
    /// Units of 1024² bytes, rounded down; the file has kibibytes.
    Megabytes,
    Bytes,
    Count,
}

impl Unit {
    fn of(self, number: u64) -> u64 {
        match self {
            Self::Megabytes => number / 1024,
            Self::Bytes => kib_to_bytes(number),
            Self::Count => number,
        }
    }
}

#[derive(Default)]
pub(super) struct Nodes {
    numbers: Vec<u32>,
    nodes: Vec<Node>,
    /// The `meminfo` of the node that is being read, without the words `Node N `.
    text: Vec<u8>,
    counts: Vec<(u32, [u64; EVENTS.len()])>,
    tally: Tally<{ EVENTS.len() }, { u64::MAX }>,
}

struct Node {
    number: u32,
    meminfo: KeptFile,
    numastat: KeptFile,
    sizes: [Option<u64>; SIZES.len()],
    events: [Option<u64>; EVENTS.len()],
    /// The last values of the events that could be read, for `_Total`; 0 for an event that was
    /// never read.
    counted: [u64; EVENTS.len()],
}

impl Nodes {
    pub(super) fn write(
        &mut self,
        sys: &mut Reader,
        layouts: &mut Layouts,
        faults: &mut Faults,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        match sys.numbered(c"devices/system/node", b"node", &mut self.numbers) {
            Ok(()) => {}
            Err(error) if is_gone(error) => {}
            Err(error) => {
                faults.object(format_args!("nodes: {}", describe(error)));
                return Ok(());
            }
        }
        self.follow();
        let text = &mut self.text;
        self.nodes.retain_mut(|node| node.read(sys, text, faults));
        if self.nodes.is_empty() {
            return write_nothing(&NODE, layouts, out);
        }

        let mut row = CounterValues::new(&NODE);
        let mut mask = 0;
        self.counts.clear();
        for node in &self.nodes {
            node.set(&mut row);
            mask |= row.mask();
            self.counts.push((node.number, node.counted));
        }
        self.tally.update(&self.counts);
        let mut object = out.object(layouts.template(mask)?)?;
        let mut values = [0; MOST];
        for node in &self.nodes {
            node.set(&mut row);
            let mut digits = [0; 10];
            let name = decimal(node.number, &mut digits);
            let name = std::str::from_utf8(name).unwrap_or_default();
            object.instance_prefix(&InstanceHead::named(name), row.values(mask, &mut values))?;
        }
        self.set_total(&mut row);
        let head = InstanceHead::named("_Total");
        object.instance_prefix(&head, row.values(mask, &mut values))?;
        object.finish()?;
        Ok(())
    }

    /// Removes the nodes that are no longer in `numbers`, and adds a node for each new number.
    fn follow(&mut self) {
        let numbers = &self.numbers;
        self.nodes.retain(|node| numbers.binary_search(&node.number).is_ok());
        for number in numbers {
            if let Err(at) = self.nodes.binary_search_by_key(number, |node| node.number) {
                self.nodes.insert(at, Node::new(*number));
            }
        }
    }

    /// Sets the counters of `_Total`: sums over all nodes. A size that no node has is not set.
    fn set_total(&self, row: &mut CounterValues) {
        row.clear();
        for (at, (_, counter, unit)) in SIZES.into_iter().enumerate() {
            let each = self.nodes.iter().filter_map(|node| *node.sizes.get(at)?);
            let sum = each.reduce(u64::saturating_add);
            row.set_some(counter, sum.map(|sum| unit.of(sum)));
        }
        for ((_, counter), sum) in EVENTS.into_iter().zip(self.tally.sums()) {
            row.set(counter, *sum);
        }
    }
}

impl Node {
    fn new(number: u32) -> Self {
        Self {
            number,
            meminfo: KeptFile::default(),
            numastat: KeptFile::default(),
            sizes: [None; SIZES.len()],
            events: [None; EVENTS.len()],
            counted: [0; EVENTS.len()],
        }
    }

    /// Reads the node's files; returns `false` if the node no longer exists. If a file cannot be
    /// read, its counters have no value; that is a fault, unless the node has no `numastat`.
    fn read(&mut self, sys: &mut Reader, text: &mut Vec<u8>, faults: &mut Faults) -> bool {
        let mut path = PidPath::numbered(b"devices/system/node/node", self.number);
        let length = path.len();
        let number = self.number;
        let mut failed = |what: fmt::Arguments<'_>| faults.instance(number, what);
        self.sizes = [None; SIZES.len()];
        match sys.kept_at(path.file(length, b"meminfo"), &mut self.meminfo, false) {
            Ok(()) => {
                strip(sys.text(), text);
                self.sizes = keyed(text, SIZES.map(|(key, ..)| key));
                if self.sizes.first().is_none_or(Option::is_none) {
                    failed(format_args!("meminfo: not understood"));
                }
            }
            Err(error) if is_gone(error) || error == rustix::io::Errno::NODEV => return false,
            Err(error) => failed(format_args!("meminfo: {}", describe(error))),
        }
        self.events = [None; EVENTS.len()];
        match sys.kept_at(path.file(length, b"numastat"), &mut self.numastat, false) {
            Ok(()) => {
                self.events = keyed(sys.text(), EVENTS.map(|(key, _)| key));
                if self.events.iter().any(Option::is_none) {
                    failed(format_args!("numastat: not understood"));
                }
            }
            Err(error) if is_gone(error) || error == rustix::io::Errno::NODEV => {}
            Err(error) => failed(format_args!("numastat: {}", describe(error))),
        }
        for (counted, event) in self.counted.iter_mut().zip(self.events) {
            *counted = event.unwrap_or(*counted);
        }
        true
    }

    fn set(&self, row: &mut CounterValues) {
        row.clear();
        for ((_, counter, unit), number) in SIZES.into_iter().zip(self.sizes) {
            row.set_some(counter, number.map(|number| unit.of(number)));
        }
        for ((_, counter), number) in EVENTS.into_iter().zip(self.events) {
            row.set_some(counter, number);
        }
    }
}

/// Copies a node's `meminfo` into `out`, without the words `Node N ` before each line. A line
/// without them is left out.
fn strip(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        if words.next() == Some(b"Node") {
            words.next();
            out.extend_from_slice(words.next().unwrap_or_default());
        }
    }
}
