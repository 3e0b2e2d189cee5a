//! The processes and threads that are followed from one collection to the next.

use super::rest::RestingProcess;
use super::thread_counts::Sums;
use crate::files::{KeptFile, PidPath};

/// A process that is followed from one collection to the next.
pub(super) struct Tracked {
    pub(super) pid: u32,
    /// The number of collections until `io`, which permissions refused, is tried again.
    pub(super) io_pause: u8,
    pub(super) is_kernel_thread: bool,
    /// Whether the process exists, but could not be read in this collection.
    pub(super) is_unread: bool,
    /// Whether the process had ended when `stat` was read, and only waits for its parent.
    pub(super) has_ended: bool,
    /// Whether the process had ended or was about to end when `stat` was read: the kernel takes its
    /// memory away before the end.
    pub(super) is_ending: bool,
    /// The number of the process's first thread or, if that has ended, of another thread. The files
    /// of a thread that has ended do not show the memory and descriptors that the threads share.
    pub(super) alive: u32,
    /// The start time of the process in ticks, which distinguishes the process from a later one
    /// with the same number.
    pub(super) start: u64,
    pub(super) stat: KeptFile,
    pub(super) statm: KeptFile,
    pub(super) io: KeptFile,
    /// The folder `fd` of the process, kept open if few processes are read.
    pub(super) descriptors: KeptFile,
    /// The earlier values of the process, from which it is found whether it rests; `None` until
    /// they are noted.
    pub(super) rest: Option<Box<RestingProcess>>,
    /// Whether the process rests in this collection.
    pub(super) rests: bool,
    /// The file `stat` of the first thread, if that is the only thread.
    pub(super) thread: KeptFile,
    /// The sums over the threads of the process; `None` until they are wanted.
    pub(super) sums: Option<Box<Sums>>,
    /// The voluntary and involuntary context switches of the only thread; `None` unless they were
    /// read in this collection together with another counter of the same file.
    pub(super) status: Option<[u64; 2]>,
    /// The threads of the process; `None` unless it has several.
    pub(super) threads: Option<Box<Threads>>,
}

/// The threads of a process that has several.
#[derive(Default)]
pub(super) struct Threads {
    /// The folder `task` of the process.
    pub(super) folder: KeptFile,
    /// The threads, by ascending number.
    pub(super) known: Vec<TrackedThread>,
}

/// A thread that is followed from one collection to the next.
pub(super) struct TrackedThread {
    pub(super) tid: u32,
    pub(super) stat: KeptFile,
}

impl TrackedThread {
    pub(super) fn new(tid: u32) -> Self {
        Self { tid, stat: KeptFile::default() }
    }
}

/// Updates `known` so that it has one entry for each of the ascending `numbers`. An entry stays as
/// long as its number is listed; entries that are not listed are given to `gone`. `before` is left
/// empty.
pub(super) fn follow<T>(
    numbers: &[u32],
    known: &mut Vec<T>,
    before: &mut Vec<T>,
    number: impl Fn(&T) -> u32,
    new: impl Fn(u32) -> T,
    mut gone: impl FnMut(T),
) {
    if numbers.iter().copied().eq(known.iter().map(&number)) {
        return;
    }
    std::mem::swap(known, before);
    known.clear();
    let mut before = before.drain(..).peekable();
    for next in numbers {
        while let Some(known) = before.next_if(|known| number(known) < *next) {
            gone(known);
        }
        let same = before.next_if(|known| number(known) == *next);
        known.push(same.unwrap_or_else(|| new(*next)));
    }
    before.for_each(gone);
}

impl Tracked {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            io_pause: 0,
            is_kernel_thread: false,
            is_unread: false,
            has_ended: false,
            is_ending: false,
            alive: pid,
            start: 0,
            stat: KeptFile::default(),
            statm: KeptFile::default(),
            io: KeptFile::default(),
            descriptors: KeptFile::default(),
            rest: None,
            rests: false,
            thread: KeptFile::default(),
            sums: None,
            status: None,
            threads: None,
        }
    }

    /// The path of a file that shows what the threads share: of the process, or of a living thread
    /// if the first has ended.
    pub(super) fn path(&self, file: &[u8]) -> PidPath {
        match self.alive == self.pid {
            true => PidPath::of(self.pid, file),
            false => PidPath::of_thread(self.pid, self.alive, file),
        }
    }

    /// Makes this the entry of another process with the same number, which began at `start`
    /// (ticks). The files of the earlier process are closed, except `stat` and the file in `rest`,
    /// and its threads and sums are forgotten. Returns the sums, for reuse; `None` if there were
    /// none.
    pub(super) fn begin_anew(&mut self, start: u64) -> Option<Box<Sums>> {
        self.start = start;
        self.alive = self.pid;
        self.io_pause = 0;
        self.statm.close();
        self.io.close();
        self.descriptors.close();
        self.thread.close();
        self.threads = None;
        self.status = None;
        self.sums.take()
    }
}
