//! Processes and threads below `/proc`: a BPF program that reads all of them in one system call.
//!
//! It takes a build with the feature `bpf` and clang, Linux 6.7 with BTF, and the capabilities
//! `CAP_BPF`, `CAP_PERFMON` and `CAP_SYS_PTRACE`.
//!
//! `build.rs` compiles `bpf/processes.bpf.c` with clang, and `build/link.rs` makes Rust code of the
//! object. When it is loaded, the numbers of maps and of the kernel's functions are put into it
//! (`bpf/program.rs`); where the members of its structures lie, the kernel itself finds out.
//! `BPF_PROG_RUN` walks the kernel's list of tasks and writes one slot of numbers for each process
//! into arrays that this program has mapped. The kernel side converts nothing; `process/bpf_reader.rs` makes samples of the slots.
//! Where the program was not built, `bpf/no_program.rs` stands for it.
//!
//! - **The values are those of `/proc`.** Processor time is divided as `cputime_adjust` does it, in
//!   100 ns units, and never falls below what was shown before. Start times are cut to ticks, since
//!   they are half of the identity.
//! - **No more is told than `/proc` would tell.** The program is used only with `CAP_SYS_PTRACE`
//!   (asked before each run, so that giving it up counts), in the first namespaces, with the
//!   machine's own `/proc` and without `hidepid`. Whether `PID/io` may be read is asked of each
//!   process once, for security modules may refuse more.
//! - **No lock is taken.** A thread may end between reading the sums of ended threads and of living
//!   ones. The program reads the sequence number under which the kernel adds them up; a slot where
//!   it changed is marked as torn, and that process is read from `/proc` in this sample.
//! - **A process that has not run is not read again.** The kernel notes when a task was last given a
//!   processor. If that is the same, only what others can change is read: parent, memory,
//!   descriptors, schedule.
//! - **Wanted processes alone get a slot**, where not all are wanted. A second program looks them up by
//!   their numbers, so that nothing depends on how many others there are. Names are compared before
//!   anything is read of a process.
//! - **Memory is fetched ahead.** Waiting for a dozen cache lines of each process is most of a run,
//!   so a run notes where they lie and the next one reads a word of each, eight processes ahead.
//! - **The verifier reads functions.** What loops or reads memory stands in functions that are not
//!   inlined, because the verifier checks each once; in one piece it would follow every combination
//!   of branches.
//! - **It is loaded behind the third collection** of a session, since loading takes as long as some
//!   eight readings of 600 processes. A refusal that could be foreseen (capabilities, kernel,
//!   namespaces) is not a fault; any other one is reported once.

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

/// Why the BPF reader cannot be used here.
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

/// The numbers of processes and of threads that have slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) processes: u32,
    pub(crate) threads: u32,
}

/// The greatest numbers of slots: some 100 MB of memory for each kind.
const MOST: Room = Room { processes: 1 << 18, threads: 1 << 20 };

impl Room {
    /// Room for twice these numbers of processes and threads; `None` if that is beyond the limit.
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

/// Why the BPF reader cannot be used below `root`; `None` if it can. Loads the program once to find
/// out.
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
