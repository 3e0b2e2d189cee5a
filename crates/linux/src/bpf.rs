//! A BPF program that reads all processes and threads in one system call.
//!
//! The program needs a build with the feature `bpf` and clang, Linux 6.7 or later with BTF, and the
//! capabilities `CAP_BPF`, `CAP_PERFMON` and `CAP_SYS_PTRACE`.
//!
//! `build.rs` compiles `bpf/processes.bpf.c` with clang, and `build/link.rs` turns the object file into
//! Rust code. At loading, the numbers of maps and of the kernel's functions are put into the program
//! (`bpf/program.rs`); the kernel itself finds the positions of the members of its structures.
//! `BPF_PROG_RUN` walks the kernel's list of tasks and writes one slot of numbers for each process
//! into arrays that this process has mapped. The program converts nothing; `process/bpf_slot.rs`
//! makes samples of the slots. In a build without the program, `bpf/no_program.rs` stands in for
//! it.
//!
//! - **The values are those of `/proc`.** Processor time is divided as by `cputime_adjust`, in 100
//!   ns units, and never falls below a value that was shown before. Start times are cut to ticks,
//!   since they are half of the identity.
//! - **The program shows no more than `/proc` would.** It is used only with `CAP_SYS_PTRACE`
//!   (checked before each run, so that giving it up counts), in the first namespaces, with the
//!   machine's own `/proc` and without `hidepid`. For each process, the reader tries once whether
//!   `PID/io` may be read, because a security module may refuse it in spite of the capability.
//! - **No lock is taken.** A thread may end after the sums of ended threads were read and before
//!   the living threads are. The program reads the sequence number under which the kernel adds up
//!   the sums; a slot is marked as torn if the number changed, and the process is read from `/proc`
//!   in this sample.
//! - **A process that has not run is not read again.** The kernel notes when a task was last given
//!   a processor. If that time is the same, only the values that others can change are read:
//!   parent, memory, descriptors, schedule.
//! - **Only wanted processes get a slot**, if not all are wanted. A second program looks up
//!   processes by their numbers, so that a run does not depend on the number of other processes.
//!   Names are compared before a process is read.
//! - **Memory is fetched ahead.** Waiting for a dozen cache lines of each process is most of a run.
//!   So a run notes their addresses, and the next run reads a word of each, eight processes ahead.
//! - **Loops and reads of memory are in functions that are not inlined.** The kernel's verifier checks
//!   each such function once; if all code were in one function, it would follow every combination of
//!   branches.
//! - **The program is loaded after the third collection** of a session, since loading takes as long
//!   as some eight readings of 600 processes. A refusal that could be foreseen (capabilities,
//!   kernel, namespaces) is not a fault; any other refusal is reported once.

#[cfg(perfhive_bpf)]
mod allowed;
#[cfg(perfhive_bpf)]
mod btf;
mod chosen;
#[cfg(perfhive_bpf)]
mod kernel;
#[cfg(perfhive_bpf)]
mod memory;
#[cfg(not(perfhive_bpf))]
#[path = "bpf/no_program.rs"]
mod program;
#[cfg(perfhive_bpf)]
mod program;
mod slots;

pub(crate) use chosen::Chosen;
pub(crate) use program::{Program, may_go_on};
pub(crate) use slots::{
    MARK_KERNEL, MARK_MEMORY, MARK_NO_RESIDENT, MARK_TORN, MARK_WORKING, ProcessDetail,
    ProcessSlot, ThreadSlot, Wants,
};

use crate::root::ProcRoot;
use std::fmt;

/// The reason why the BPF reader cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    why: String,
    /// Whether the refusal came although all checks before loading had passed.
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

    /// Whether the refusal is reported as a fault even if BPF was not chosen explicitly.
    pub(crate) fn is_surprising(&self) -> bool {
        self.surprising
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// A number of processes and a number of threads: the slots that exist, or the slots that a run
/// needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) processes: u32,
    pub(crate) threads: u32,
}

/// The most slots of each kind: some 100 MB of memory for each.
const MOST: Room = Room { processes: 1 << 18, threads: 1 << 20 };

impl Room {
    /// Room for at least twice these numbers of processes and threads; `None` if that is beyond the
    /// limit [`MOST`].
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

/// The reason why the BPF reader cannot be used below `root`; `None` if it can. Loads the program
/// once to find out.
pub(crate) fn refusal(root: &ProcRoot) -> Option<Refusal> {
    let room = Room { processes: 1, threads: 1 };
    Program::load(root, room, false).err()
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
