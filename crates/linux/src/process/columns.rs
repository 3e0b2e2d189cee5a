//! The counters of Process and Thread that a collection fills. Some are always filled; others only
//! on request, because they take further files.

use super::kernel::Probe;
use crate::table::{
    Counter, IO_COUNTERS, Object, PROCESS, PROCESS_V2, SCHEDULE_COUNTERS, STAT_COUNTERS,
    STATM_COUNTERS, THREAD, THREAD_V2, index_of,
};
use perfhive_engine::Collection;
use perfhive_format::TitleIndex;

/// The title index of Handle Count in Process (230).
const HANDLES: u32 = 952;
/// The title indexes of Virtual Bytes Peak and Working Set Peak in Process (230).
const PEAKS: [u32; 2] = [172, 178];
/// The title index of Context Switches/sec in Thread (232).
const SWITCHES: u32 = 146;
/// The title indexes of Nice Level, Real-Time Priority and Scheduling Policy in Process and Thread.
const SCHEDULE: [u32; 3] = [105_002, 105_004, 105_006];
/// The title index of Swapped Bytes in Process (230).
const SWAP: u32 = 105_008;
/// The title indexes of Voluntary and Involuntary Context Switches/sec in Process and Thread.
const APART: [u32; 2] = [105_010, 105_012];
/// The title index of % Run Queue Wait Time in Process and Thread.
const WAITING: u32 = 105_014;
/// The title index of % Block I/O Delay Time in Process and Thread.
const DELAY: u32 = 105_016;
/// The title index of Open Descriptors in Process (230).
const DESCRIPTORS: u32 = 105_018;
/// The title index of Last Processor in Thread (232).
const PROCESSOR: u32 = 105_118;

/// The wanted counters that the kernel counts for each thread, and that this kernel has.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThreadSums {
    /// Whether voluntary and involuntary context switches are wanted apart.
    pub(super) apart: bool,
    pub(super) waiting: bool,
    pub(super) delay: bool,
}

impl ThreadSums {
    fn new(asked: impl Fn(u32) -> bool, probe: &mut Probe<'_>) -> Self {
        Self {
            apart: APART.into_iter().any(&asked),
            waiting: asked(WAITING) && probe.has_waiting(),
            delay: asked(DELAY) && probe.has_delay(),
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

/// The counters of Process that a collection fills on request, and files that it does not read if
/// it wants processes by number or name only.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProcessColumns {
    pub(super) schedule: bool,
    pub(super) handles: bool,
    pub(super) peaks: bool,
    pub(super) swap: bool,
    pub(super) counts: ThreadSums,
    pub(super) descriptors: bool,
    /// Whether processes are wanted by number or name only, and neither a counter from `statm` nor
    /// Virtual Bytes is wanted of them; the counters from `statm` then have no value.
    pub(super) no_memory: bool,
    /// Whether processes are wanted by number or name only, and no counter from `io` is wanted of
    /// them; these counters then have no value.
    pub(super) no_io: bool,
    /// Whether Thread is wanted, too, without counters on request. The only thread of a process is
    /// then read together with the process.
    pub(super) threads: bool,
}

impl ProcessColumns {
    pub(super) fn new(
        collection: &Collection<'_>,
        is_few: bool,
        threads: bool,
        probe: &mut Probe<'_>,
    ) -> Self {
        let asked = |counter| asked(collection, [&PROCESS, &PROCESS_V2], counter);
        let objects = [&PROCESS, &PROCESS_V2].map(|object| TitleIndex(object.index));
        let comes_along = !objects.iter().any(|object| collection.is_asked(*object));
        let reads = |index| {
            let mut objects = objects.iter().filter(|object| collection.is_asked(**object));
            let wants = |object: &TitleIndex| collection.wants_counter(*object, TitleIndex(index));
            comes_along || objects.any(wants)
        };
        let reads_none =
            |counters: &[Counter]| is_few && !counters.iter().any(|counter| reads(counter.index));
        let memory = STAT_COUNTERS + SCHEDULE_COUNTERS;
        let memory = PROCESS.counters.get(memory..memory + STATM_COUNTERS).unwrap_or_default();
        let io = PROCESS.counters.len() - IO_COUNTERS;
        let io = PROCESS.counters.get(io..).unwrap_or_default();
        Self {
            schedule: SCHEDULE.into_iter().any(asked),
            handles: asked(HANDLES),
            peaks: PEAKS.into_iter().any(asked),
            swap: asked(SWAP) && probe.has_swap(),
            counts: ThreadSums::new(asked, probe),
            descriptors: asked(DESCRIPTORS),
            // For some processes, Virtual Bytes is read from `statm`, too.
            no_memory: reads_none(memory) && !reads(index_of!(PROCESS, "Virtual Bytes")),
            no_io: reads_none(io),
            threads,
        }
    }

    /// Whether no counter on request is wanted, and `statm` and `io` are read.
    pub(super) fn is_plain(self) -> bool {
        Self { threads: false, ..self } == Self::default()
    }

    /// The counters of Process that are filled, as a mask.
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

/// The counters of Thread that a collection fills on request.
#[derive(Clone, Copy, Default)]
pub(super) struct ThreadColumns {
    pub(super) switches: bool,
    pub(super) counts: ThreadSums,
    pub(super) schedule: bool,
    pub(super) processor: bool,
}

impl ThreadColumns {
    pub(super) fn new(collection: &Collection<'_>, probe: &mut Probe<'_>) -> Self {
        let asked = |counter| asked(collection, [&THREAD, &THREAD_V2], counter);
        Self {
            switches: asked(SWITCHES),
            counts: ThreadSums::new(asked, probe),
            schedule: SCHEDULE.into_iter().any(asked),
            processor: asked(PROCESSOR),
        }
    }

    /// Whether no counter on request is wanted.
    pub(super) fn is_plain(self) -> bool {
        !(self.switches || self.schedule || self.processor || self.counts.any())
    }

    /// The counters on request of which `_Total` has the sum, as a mask; 0 for none.
    pub(super) fn sums(self) -> u64 {
        let switches = if self.switches { bits(&THREAD, &[SWITCHES]) } else { 0 };
        self.counts.mask(&THREAD) | switches
    }

    /// The counters of Thread that are filled, as a mask.
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

fn asked(collection: &Collection<'_>, objects: [&Object; 2], counter: u32) -> bool {
    let mut indexes = objects.into_iter().map(|object| TitleIndex(object.index));
    indexes.any(|object| collection.wants_extra(object, TitleIndex(counter)))
}

fn bits(object: &Object, counters: &[u32]) -> u64 {
    counters.iter().fold(0, |mask, counter| mask | object.bits(*counter))
}
