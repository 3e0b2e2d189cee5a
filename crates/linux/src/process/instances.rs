//! The written instances of Process, for the objects whose instances point to them.

use super::thread_sample::Sample;

/// The reader of a process, and the place of the process in the reader's list.
#[derive(Clone, Copy)]
pub(super) enum ReadBy {
    /// The process was read from `/proc`.
    Proc(usize),
    /// The process was read through BPF.
    Bpf(usize),
}

/// A process that was written, for writing its threads.
pub(super) struct Owner {
    pub(super) read_by: ReadBy,
    /// The place of the process among the instances of Process.
    pub(super) place: u32,
    /// How many threads the process has.
    pub(super) threads: u64,
    /// The only thread of the process; `None` unless it was read together with the process.
    pub(super) first: Option<Sample>,
}

/// The places of Idle and `_Total` among the instances of Process, where they are written.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) idle: Option<u32>,
    pub(super) total: Option<u32>,
}
