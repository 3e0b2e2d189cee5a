//! Taking kept data of one object.

use super::reply::{Reply, Slot};
use crate::error::Fault;
use crate::frame::SnapshotObject;
use perfhive_format::TitleIndex;
use std::sync::Arc;
use std::time::Duration;

/// A consumer of one object, which takes kept data and never collects.
#[derive(Debug)]
pub struct Follower {
    object: TitleIndex,
    slot: Option<Arc<Slot>>,
    seen: u64,
}

impl Follower {
    pub(super) fn new(object: TitleIndex, slot: Option<Arc<Slot>>) -> Self {
        Self { object, slot, seen: 0 }
    }

    /// The newest data of the object, unless this follower has had it, or its
    /// collection began more than `max_age` before `now`.
    // Inlined into the caller's crate, where the bound on the age is worked out
    // once for a whole loop.
    #[inline]
    pub fn take(&mut self, now: Duration, max_age: Duration) -> Option<Taken> {
        let kept = self.slot.as_ref()?.load();
        let reply = kept.as_ref()?;
        if reply.number <= self.seen || reply.begun < now.saturating_sub(max_age) {
            return None;
        }
        self.seen = reply.number;
        Some(Taken { object: self.object, kept })
    }
}

/// Data of an object that stays as it is for as long as this lives. Made for
/// looking at it and letting go: a thread that keeps many at once slows itself
/// down.
pub struct Taken {
    object: TitleIndex,
    #[cfg(not(loom))]
    kept: arc_swap::Guard<Option<Arc<Reply>>>,
    #[cfg(loom)]
    kept: Option<Arc<Reply>>,
}

impl Taken {
    /// The object; `None` where the source was asked for it and does not have
    /// it, for which [`faults`](Self::faults) may have the reason.
    #[must_use]
    pub fn object(&self) -> Option<SnapshotObject<'_>> {
        self.reply()?.snapshot.object(self.object)
    }

    /// What could not be collected of this object.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        let faults = self.reply().map(|reply| reply.snapshot.faults()).unwrap_or_default();
        faults.iter().filter(|fault| fault.object.is_none_or(|object| object == self.object))
    }

    /// Age of the data at `now`.
    #[must_use]
    pub fn age(&self, now: Duration) -> Duration {
        self.reply().map_or(Duration::MAX, |reply| now.saturating_sub(reply.begun))
    }

    fn reply(&self) -> Option<&Reply> {
        self.kept.as_ref().map(Arc::as_ref)
    }
}
