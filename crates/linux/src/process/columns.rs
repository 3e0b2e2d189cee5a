//! The counters that a collection fills of Process and Thread: those that always are, and those
//! that are filled on request because they take further files.

use super::kernel::Probe;
use crate::table::{
    Counter, IO_COUNTERS, Object, PROCESS, PROCESS_V2, SCHEDULE_COUNTERS, STAT_COUNTERS,
    STATM_COUNTERS, THREAD, THREAD_V2, index_of,
};
use perfhive_engine::Collection;
use perfhive_format::TitleIndex;

/// Process 230, Handle Count.
const HANDLES: u32 = 952;
/// Process 230, Virtual Bytes Peak and Working Set Peak.
const PEAKS: [u32; 2] = [172, 178];
/// Thread 232, Context Switches/sec.
const SWITCHES: u32 = 146;
/// Nice Level, Real-Time Priority, Scheduling Policy, of both objects.
const SCHEDULE: [u32; 3] = [105_002, 105_004, 105_006];
/// Process 230, Swapped Bytes.
const SWAP: u32 = 105_008;
/// Voluntary and Involuntary Context Switches/sec, of both objects.
const APART: [u32; 2] = [105_010, 105_012];
/// % Run Queue Wait Time, of both objects.
const WAITING: u32 = 105_014;
/// % Block I/O Delay Time, of both objects.
const DELAY: u32 = 105_016;
/// Process 230, Open Descriptors.
const DESCRIPTORS: u32 = 105_018;
/// Thread 232, Last Processor.
const PROCESSOR: u32 = 105_118;

/// Which of the counts that the kernel keeps for each thread are wanted.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThreadSums {
    /// Voluntary and involuntary context switches apart.
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

/// The counters of Process that a collection fills: on request, and of few processes without those of a
/// file that is not wanted.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProcessColumns {
    pub(super) schedule: bool,
    pub(super) handles: bool,
    pub(super) peaks: bool,
    pub(super) swap: bool,
    pub(super) counts: ThreadSums,
    pub(super) descriptors: bool,
    /// None from `statm` is wanted; they have no value.
    pub(super) no_memory: bool,
    /// None from `io` is wanted; they have no value.
    pub(super) no_io: bool,
    /// Thread is wanted too, without counters on request: the only thread of a process is
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
            // Some processes have it from `statm`, too.
            no_memory: reads_none(memory) && !reads(index_of!(PROCESS, "Virtual Bytes")),
            no_io: reads_none(io),
            threads,
        }
    }

    /// Whether no counter on request is wanted.
    pub(super) fn is_plain(self) -> bool {
        Self { threads: false, ..self } == Self::default()
    }

    /// The mask of the counters that are filled.
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

    /// The mask of the counters that are filled.
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
