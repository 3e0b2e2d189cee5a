//! What is known of processes and threads from one collection to the next.

use super::rest::Place;
use super::sums::Sums;
use crate::files::Kept;

/// What is known of a process from one collection to the next.
pub(super) struct Tracked {
    pub(super) pid: u32,
    /// Collections that do not try to read `io` again after it was refused.
    pub(super) io_pause: u8,
    pub(super) is_kernel_thread: bool,
    /// When it was started, in ticks: tells it from a later one of its number.
    pub(super) start: u64,
    pub(super) stat: Kept,
    pub(super) statm: Kept,
    pub(super) io: Kept,
    /// What is known of it for when it rests.
    pub(super) rest: Option<Place>,
    /// Whether it was found to rest in this collection.
    pub(super) rests: bool,
    /// `stat` of its first thread, where that is the only one.
    pub(super) thread: Kept,
    /// Sums over its threads, once they were wanted.
    pub(super) sums: Option<Box<Sums>>,
    /// Switches of its only thread, where they were read along with something
    /// else in this collection.
    pub(super) status: Option<[u64; 2]>,
    /// All of them, where they are several.
    pub(super) threads: Option<Box<Threads>>,
}

/// Threads of a process that has several.
#[derive(Default)]
pub(super) struct Threads {
    /// The folder `task`.
    pub(super) folder: Kept,
    /// By ascending number.
    pub(super) known: Vec<TrackedThread>,
}

/// What is known of a thread from one collection to the next.
pub(super) struct TrackedThread {
    pub(super) tid: u32,
    pub(super) stat: Kept,
}

impl TrackedThread {
    pub(super) fn new(tid: u32) -> Self {
        Self { tid, stat: Kept::default() }
    }
}

/// Makes `known` agree with the ascending `numbers`: what is known of one stays
/// with its number, for as long as that is there. `before` is left empty.
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
            start: 0,
            stat: Kept::default(),
            statm: Kept::default(),
            io: Kept::default(),
            rest: None,
            rests: false,
            thread: Kept::default(),
            sums: None,
            status: None,
            threads: None,
        }
    }

    /// Forgets everything but the number and the file that it was told by;
    /// the sums are of no use any more.
    pub(super) fn begin_anew(&mut self, start: u64) -> Option<Box<Sums>> {
        self.start = start;
        self.io_pause = 0;
        self.statm.close();
        self.io.close();
        self.thread.close();
        self.threads = None;
        self.status = None;
        self.sums.take()
    }
}
