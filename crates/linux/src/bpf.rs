//! The second reader of processes and threads: a BPF program that walks the
//! kernel's own list and writes everything into memory that is mapped here, in
//! one system call for all of them.
//!
//! What it takes: a build with the feature `bpf` and clang, Linux 6.7 with BTF,
//! the capabilities `CAP_BPF`, `CAP_PERFMON` and `CAP_SYS_PTRACE` (with the last
//! one, `/proc` would tell the same), and a program that sees the machine as the
//! kernel does: in its first namespaces, with its own `/proc`.

#[cfg(perfhive_bpf)]
mod allowed;
#[cfg(perfhive_bpf)]
mod memory;
#[cfg(not(perfhive_bpf))]
#[path = "bpf/no_program.rs"]
mod program;
#[cfg(perfhive_bpf)]
mod program;
mod slots;

pub(crate) use program::{Program, may_go_on};
pub(crate) use slots::{
    MARK_KERNEL, MARK_MEMORY, MARK_NO_RESIDENT, MARK_TORN, MARK_WORKING, ProcessDetail,
    ProcessSlot, ThreadSlot, Wants,
};

use crate::root::ProcRoot;
use std::fmt;

/// Why the BPF reader cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    why: String,
    /// All that could be looked at beforehand was as it should be.
    surprising: bool,
}

impl Refusal {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), surprising: false }
    }

    /// A refusal that the checks before loading did not predict.
    pub(crate) fn surprise(why: impl Into<String>) -> Self {
        Self { why: why.into(), surprising: true }
    }

    /// Whether it is reported as a fault although nobody chose BPF.
    pub(crate) fn is_surprising(&self) -> bool {
        self.surprising
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// For how many processes and threads there are slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) processes: u32,
    pub(crate) threads: u32,
}

/// More than this is not mapped: some 100 MB each.
const MOST: Room = Room { processes: 1 << 18, threads: 1 << 20 };

impl Room {
    /// Room for so many, and for as many again. `None` where that is too many.
    pub(crate) fn of(processes: usize, threads: usize) -> Option<Self> {
        let room = |count: usize, least: usize, most: u32| {
            let count = count.max(least).checked_mul(2)?.checked_next_power_of_two()?;
            u32::try_from(count).ok().filter(|count| *count <= most)
        };
        Some(Self {
            processes: room(processes, 512, MOST.processes)?,
            threads: room(threads, 1024, MOST.threads)?,
        })
    }
}

/// Loads the program once, to learn whether it can be used.
pub(crate) fn refusal(root: &ProcRoot) -> Option<Refusal> {
    let room = Room { processes: 1, threads: 1 };
    Program::load(root, room).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_twice_as_many() {
        assert_eq!(Room::of(0, 0), Some(Room { processes: 1024, threads: 2048 }));
        assert_eq!(Room::of(3000, 9000), Some(Room { processes: 8192, threads: 32768 }));
        assert_eq!(Room::of(usize::MAX, 0), None);
        assert_eq!(Room::of(0, 1 << 20), None);
    }
}
