//! The NUMA node of each processor, from `/sys`.

use crate::cpus::Cpu;
use crate::faults::{Faults, describe, is_gone};
use crate::files::{PidPath, Reader};
use crate::parse::number;

/// The NUMA nodes of the processors that are on.
#[derive(Debug, Default)]
pub(super) struct Topology {
    /// Ranges of processors: the first, the last, and their node.
    ranges: Vec<(u32, u32, u32)>,
    numbers: Vec<u32>,
    /// The number of each processor that is on, and its node. If other processors are on at the next
    /// collection, the nodes are read again.
    placed: Vec<(u32, u32)>,
}

impl Topology {
    /// Reads the nodes again if other processors are on than at the last call, or if the last
    /// reading failed. A processor without a node counts to node 0.
    pub(super) fn update(&mut self, cpus: &[Cpu], sys: Option<&mut Reader>, faults: &mut Faults) {
        let same = self.placed.iter().map(|(cpu, _)| *cpu).eq(cpus.iter().map(|cpu| cpu.number));
        if same {
            return;
        }
        self.ranges.clear();
        let whole = sys.is_none_or(|sys| self.read(sys, faults));
        let ranges = &self.ranges;
        let node = |cpu: u32| {
            let range = ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&cpu));
            range.map_or(0, |(_, _, node)| *node)
        };
        self.placed.clear();
        self.placed.extend(cpus.iter().map(|cpu| (cpu.number, node(cpu.number))));
        if !whole {
            // After an error, an entry of no processor makes the nodes be read again at the next collection.
            self.placed.push((u32::MAX, 0));
        }
    }

    /// The node of the processor at an index of the list given to [`update`](Self::update).
    pub(super) fn node(&self, at: usize) -> u32 {
        self.placed.get(at).map_or(0, |(_, node)| *node)
    }

    /// Reads the ranges of processors of each node; returns whether all could be parsed.
    fn read(&mut self, sys: &mut Reader, faults: &mut Faults) -> bool {
        match sys.numbered(c"devices/system/node", b"node", &mut self.numbers) {
            Ok(()) => {}
            Err(error) if is_gone(error) => return true,
            Err(error) => {
                faults.object(format_args!("nodes: {}", describe(error)));
                return false;
            }
        }
        let mut whole = true;
        for node in &self.numbers {
            let mut path = PidPath::numbered(b"devices/system/node/node", *node);
            let length = path.len();
            let understood = match sys.once_here(path.file(length, b"cpulist")) {
                Ok(()) => add_ranges(sys.text(), *node, &mut self.ranges),
                Err(error) if is_gone(error) => true,
                Err(_) => false,
            };
            if !understood {
                faults.object(format_args!("node{node}/cpulist: not understood"));
                whole = false;
            }
        }
        whole
    }
}

/// Adds the ranges in a list of processors such as `0-3,8` to `out`, with `node`; returns `false`
/// if the text is no such list.
fn add_ranges(text: &[u8], node: u32, out: &mut Vec<(u32, u32, u32)>) -> bool {
    let Some(list) = text.strip_suffix(b"\n") else {
        return false;
    };
    if list.is_empty() {
        return true;
    }
    list.split(|byte| *byte == b',').all(|part| {
        let mut ends = part.splitn(2, |byte| *byte == b'-');
        let mut end = || u32::try_from(number(ends.next()?)?).ok();
        let Some(first) = end() else {
            return false;
        };
        let last = if part.contains(&b'-') { end() } else { Some(first) };
        match last {
            Some(last) if last >= first => {
                out.push((first, last, node));
                true
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_lists_are_parsed() {
        let read = |text: &str| {
            let mut ranges = Vec::new();
            add_ranges(text.as_bytes(), 1, &mut ranges).then_some(ranges)
        };
        assert_eq!(
            read("0-3,8,10-4294967295\n").unwrap(),
            [(0, 3, 1), (8, 8, 1), (10, u32::MAX, 1)]
        );
        assert_eq!(read("\n"), Some(vec![]));
        for bad in ["", "0-3", "3-1\n", "a\n", "1,\n", "1-\n", "99999999999\n", "1-2-3\n"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
