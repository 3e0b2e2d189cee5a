//! Which counters that cost extra are wanted, and whether this kernel has them.

use super::read::ProcessReader;
use crate::parse::{Words, memory_of_status, number, waiting};
use crate::table::{Object, PROCESS, THREAD};
use perfhive_engine::Collection;
use perfhive_format::TitleIndex;

/// Process 230, Handle Count.
const HANDLES: u32 = 952;
/// Process 230, Virtual Bytes Peak and Working Set Peak.
const PEAKS: [u32; 2] = [172, 178];
/// Thread 232, Context Switches/sec.
const SWITCHES: u32 = 146;
/// The following are of both objects, except where said. Nice Level, Real-Time
/// Priority, Scheduling Policy.
const SCHEDULE: [u32; 3] = [105_002, 105_004, 105_006];
/// Of Process: Swapped Bytes.
const SWAP: u32 = 105_008;
/// Voluntary and Involuntary Context Switches/sec.
const APART: [u32; 2] = [105_010, 105_012];
/// % Run Queue Wait Time.
const WAITING: u32 = 105_014;
/// % Block I/O Delay Time.
const DELAY: u32 = 105_016;
/// Of Process: Open Descriptors.
const DESCRIPTORS: u32 = 105_018;
/// Of Thread: Last Processor.
const PROCESSOR: u32 = 105_118;

/// Counts that the kernel keeps for each thread.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Voluntary and involuntary context switches apart.
    pub(super) apart: bool,
    pub(super) waiting: bool,
    pub(super) delay: bool,
}

impl Counts {
    fn new(object: u32, asked: impl Fn(u32, u32) -> bool, reader: &mut ProcessReader) -> Self {
        Self {
            apart: APART.iter().any(|counter| asked(object, *counter)),
            waiting: asked(object, WAITING) && reader.has_waiting(),
            delay: asked(object, DELAY) && reader.has_delay(),
        }
    }

    fn mask(self, object: &Object) -> u64 {
        let mut mask = 0;
        if self.apart {
            mask |= bits(object, &APART);
        }
        if self.waiting {
            mask |= object.bits(WAITING);
        }
        if self.delay {
            mask |= object.bits(DELAY);
        }
        mask
    }

    pub(super) fn any(self) -> bool {
        self.apart || self.waiting || self.delay
    }
}

/// Of Process.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) schedule: bool,
    pub(super) handles: bool,
    pub(super) peaks: bool,
    pub(super) swap: bool,
    pub(super) counts: Counts,
    pub(super) descriptors: bool,
    /// Threads as well, without what costs extra of them: the one of a process
    /// that has no more is read with the process.
    pub(super) threads: bool,
}

impl Wanted {
    pub(super) fn new(
        collection: &Collection<'_>,
        threads: bool,
        reader: &mut ProcessReader,
    ) -> Self {
        let asked = |object, counter| asked(collection, object, counter);
        let any = |counters: &[u32]| counters.iter().any(|counter| asked(PROCESS.index, *counter));
        Self {
            schedule: any(&SCHEDULE),
            handles: asked(PROCESS.index, HANDLES) && reader.has_handles(),
            peaks: any(&PEAKS),
            swap: asked(PROCESS.index, SWAP) && reader.has_swap(),
            counts: Counts::new(PROCESS.index, asked, reader),
            descriptors: asked(PROCESS.index, DESCRIPTORS),
            threads,
        }
    }

    /// Whether nothing is wanted that costs extra.
    pub(super) fn is_plain(self) -> bool {
        Self { threads: false, ..self } == Self::default()
    }

    /// The counters that are filled.
    pub(super) fn mask(self) -> u64 {
        let mut mask = PROCESS.standard() | self.counts.mask(&PROCESS);
        let groups = [
            (self.schedule, &SCHEDULE[..]),
            (self.handles, &[HANDLES]),
            (self.peaks, &PEAKS),
            (self.swap, &[SWAP]),
            (self.descriptors, &[DESCRIPTORS]),
        ];
        for (_, counters) in groups.iter().filter(|(wanted, _)| *wanted) {
            mask |= bits(&PROCESS, counters);
        }
        mask
    }
}

/// Of Thread.
#[derive(Clone, Copy, Default)]
pub(super) struct ThreadWanted {
    pub(super) switches: bool,
    pub(super) counts: Counts,
    pub(super) schedule: bool,
    pub(super) processor: bool,
}

impl ThreadWanted {
    pub(super) fn new(collection: &Collection<'_>, reader: &mut ProcessReader) -> Self {
        let asked = |object, counter| asked(collection, object, counter);
        Self {
            switches: asked(THREAD.index, SWITCHES),
            counts: Counts::new(THREAD.index, asked, reader),
            schedule: SCHEDULE.iter().any(|counter| asked(THREAD.index, *counter)),
            processor: asked(THREAD.index, PROCESSOR),
        }
    }

    /// Whether nothing is wanted that costs extra.
    pub(super) fn is_plain(self) -> bool {
        !(self.switches || self.schedule || self.processor || self.counts.any())
    }

    /// The counters that are filled.
    pub(super) fn mask(self) -> u64 {
        let mut mask = THREAD.standard() | self.counts.mask(&THREAD);
        let groups = [
            (self.switches, &[SWITCHES][..]),
            (self.schedule, &SCHEDULE),
            (self.processor, &[PROCESSOR]),
        ];
        for (_, counters) in groups.iter().filter(|(wanted, _)| *wanted) {
            mask |= bits(&THREAD, counters);
        }
        mask
    }
}

fn asked(collection: &Collection<'_>, object: u32, counter: u32) -> bool {
    collection.wants_extra(TitleIndex(object), TitleIndex(counter))
}

fn bits(object: &Object, counters: &[u32]) -> u64 {
    counters.iter().fold(0, |mask, counter| mask | object.bits(*counter))
}

/// What was found out of a kernel.
#[derive(Default)]
pub(super) struct Kernel {
    handles: Option<bool>,
    swap: Option<bool>,
    waiting: Option<bool>,
}

impl ProcessReader {
    /// Whether the kernel tells the number of open descriptors as the size of
    /// the folder `fd`. This process has at least one open.
    pub(super) fn has_handles(&mut self) -> bool {
        let has = self.counts_descriptors();
        if !has {
            let message = "Handle Count takes a /proc of Linux 6.2 or later";
            self.faults.object(message);
        }
        has
    }

    /// As [`has_handles`](Self::has_handles), where there is another way.
    pub(super) fn counts_descriptors(&mut self) -> bool {
        if let Some(has) = self.kernel.handles {
            return has;
        }
        let reader = self.files();
        let has = reader.is_procfs() && reader.size(c"self/fd").is_ok_and(|size| size > 0);
        *self.kernel.handles.insert(has)
    }

    /// Whether the kernel tells what of a process is swapped out.
    fn has_swap(&mut self) -> bool {
        if let Some(has) = self.kernel.swap {
            return has;
        }
        let read = self.files().once_here(c"self/status");
        let has = read.is_ok() && memory_of_status(self.text())[2].is_some();
        *self.kernel.swap.insert(has)
    }

    /// Whether the kernel measures how long threads wait for a processor. This
    /// one has had a processor at some time; a kernel that does not measure
    /// says 0.
    fn has_waiting(&mut self) -> bool {
        if let Some(has) = self.kernel.waiting {
            return has;
        }
        let read = self.files().once_here(c"self/schedstat");
        let text = self.text();
        let ran = Words::new(text).number().is_some_and(|time| time > 0);
        let has = read.is_ok() && ran && waiting(text).is_some();
        *self.kernel.waiting.insert(has)
    }

    /// Whether the kernel has measured waiting for block devices since it was
    /// started: a thread that is older than the measuring says 0 for ever.
    fn has_delay(&mut self) -> bool {
        let on = self.files().once_here(c"sys/kernel/task_delayacct").is_ok()
            && number(self.text().trim_ascii()) == Some(1);
        let started = self.files().once_here(c"cmdline").is_ok();
        let mut words = self.text().split(u8::is_ascii_whitespace);
        on && started && words.any(|word| word == b"delayacct")
    }
}
