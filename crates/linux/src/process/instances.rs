//! The written instances of Process, for the objects whose instances point to them.

use super::thread_sample::Sample;

/// The reader of a process, and the place of the process in the reader's list.
#[derive(Clone, Copy)]
pub(super) enum ReadBy {
    /// Read from `/proc`.
    Proc(usize),
    /// Read through BPF.
    Bpf(usize),
}

/// A process that was written, for writing its threads.
pub(super) struct Owner {
    pub(super) read_by: ReadBy,
    /// Place among the instances of Process.
    pub(super) place: u32,
    /// How many threads it has.
    pub(super) threads: u64,
    /// Its only thread, if that was read with it.
    pub(super) first: Option<Sample>,
}

/// The places of Idle and `_Total` among the instances of Process, where they are written.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) idle: Option<u32>,
    pub(super) total: Option<u32>,
}
