//! The gaps between the events of a binding: starts and ends that were left out.

use crate::EventKind;
use crate::event::PerfEvent;
use std::collections::HashMap;
use std::sync::Arc;

/// The parts of the [`gap`](PerfEvent::gap)s of a binding's events.
#[derive(Default)]
pub(super) struct Gaps {
    /// The gap of the event source's last event.
    source: u64,
    /// The sum of the gaps of the last events of earlier event sources, and 1 for each of these
    /// that missed events afterwards.
    before: u64,
    /// The number of events that the sources had missed by the last event.
    missed: u64,
    /// The number of starts and ends of each name that were left out.
    left_out: HashMap<Arc<str>, u64>,
}

impl Gaps {
    /// Sets the gap that the source gave to its last event, and the number of events missed by
    /// then.
    pub(super) fn of_source(&mut self, gap: u64, missed: u64) {
        (self.source, self.missed) = (gap, missed);
    }

    /// Goes on to another source; `missed` is the number of events missed so far.
    pub(super) fn end_source(&mut self, missed: u64) {
        self.before += self.source + u64::from(missed > self.missed);
        self.source = 0;
    }

    /// Counts an event that is left out, unless it is a point.
    pub(super) fn leave_out(&mut self, event: &PerfEvent) {
        if event.kind != EventKind::Point {
            *self.left_out.entry(Arc::clone(&event.name)).or_default() += 1;
        }
    }

    /// The gap that an event of the present source has within its binding: it counts what earlier sources missed, what
    /// the present source missed, and what the binding left out of the event's name.
    pub(super) fn of(&self, event: &PerfEvent) -> u64 {
        let left_out = self.left_out.get(&event.name).copied().unwrap_or_default();
        self.before + event.gap + left_out
    }
}
