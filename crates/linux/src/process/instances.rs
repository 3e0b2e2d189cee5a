//! The positions of written instances of Process, for objects with instances that refer to Process.

use super::thread_sample::Sample;

/// The reader of a process, and the position of the process in that reader's list.
#[derive(Clone, Copy)]
pub(super) enum ReadBy {
    /// The process was read from `/proc`; its position among the tracked processes.
    Proc(usize),
    /// The process was read through BPF; its position in the order of the BPF reader.
    Bpf(usize),
}

/// A process that was written, with what is needed to write its threads.
pub(super) struct Owner {
    pub(super) read_by: ReadBy,
    /// The position of the process among the instances of Process.
    pub(super) place: u32,
    /// The number of threads of the process.
    pub(super) threads: u64,
    /// The values of the only thread of the process; `None` unless they were read together with the
    /// process.
    pub(super) first: Option<Sample>,
}

/// The positions of Idle and `_Total` among the instances of Process; `None` for an instance that is
/// not written.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) idle: Option<u32>,
    pub(super) total: Option<u32>,
}
