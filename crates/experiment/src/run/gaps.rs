//! What was left out between the events of a binding.

use crate::EventKind;
use crate::event::PerfEvent;
use std::collections::HashMap;
use std::sync::Arc;

/// What makes the [`gap`](PerfEvent::gap)s of a binding's events.
#[derive(Default)]
pub(super) struct Gaps {
    /// Those of the event source, and of earlier ones.
    source: u64,
    before: u64,
    /// How many events the sources had missed at the last one.
    missed: u64,
    /// The starts and ends of each name that were left out.
    left_out: HashMap<Arc<str>, u64>,
}

impl Gaps {
    /// Notes the gap that the source gave to an event, and what it has missed by now.
    pub(super) fn of_source(&mut self, gap: u64, missed: u64) {
        (self.source, self.missed) = (gap, missed);
    }

    /// Notes that another source goes on, and what they have missed so far.
    pub(super) fn end_source(&mut self, missed: u64) {
        self.before += self.source + u64::from(missed > self.missed);
        self.source = 0;
    }

    pub(super) fn leave_out(&mut self, event: &PerfEvent) {
        if event.kind != EventKind::Point {
            *self.left_out.entry(Arc::clone(&event.name)).or_default() += 1;
        }
    }

    pub(super) fn of(&self, event: &PerfEvent) -> u64 {
        let left_out = self.left_out.get(&event.name).copied().unwrap_or_default();
        self.before + event.gap + left_out
    }
}
