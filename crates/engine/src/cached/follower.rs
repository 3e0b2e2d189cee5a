//! Taking kept data of one object.

use super::place::{Kept, Reader};
use super::reply::Reply;
use crate::error::Fault;
use crate::frame::SnapshotObject;
use perfhive_format::TitleIndex;
use std::time::Duration;

/// A consumer of one object, which takes kept data and never collects.
#[derive(Debug)]
pub struct Follower {
    object: TitleIndex,
    /// None where there is too much kept already.
    reader: Option<Reader<Reply>>,
    seen: u64,
}

impl Follower {
    pub(super) fn new(object: TitleIndex, reader: Option<Reader<Reply>>) -> Self {
        Self { object, reader, seen: 0 }
    }

    /// The newest data of the object, unless this follower has had it, or its
    /// collection began more than `max_age` before `now`; with a limit of zero
    /// never any.
    // Inlined into the caller's crate, where the bound on the age is worked out
    // once for a whole loop.
    #[inline]
    pub fn take(&mut self, now: Duration, max_age: Duration) -> Option<Taken<'_>> {
        let reply = self.reader.as_mut()?.newer_than(self.seen)?;
        // It may be lower where the cache forgot everything meanwhile.
        if reply.number <= self.seen {
            return None;
        }
        if max_age.is_zero() || reply.begun < now.saturating_sub(max_age) {
            return None;
        }
        self.seen = reply.number;
        Some(Taken { object: self.object, reply })
    }
}

/// Data of an object that stays as it is for as long as this lives. A follower
/// looks at one at a time.
pub struct Taken<'a> {
    object: TitleIndex,
    reply: Kept<'a, Reply>,
}

impl Taken<'_> {
    /// The object; `None` where the source was asked for it and does not have
    /// it, for which [`faults`](Self::faults) may have the reason.
    #[must_use]
    pub fn object(&self) -> Option<SnapshotObject<'_>> {
        self.reply.snapshot.object(self.object)
    }

    /// What could not be collected of this object.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.reply
            .snapshot
            .faults()
            .iter()
            .filter(|fault| fault.object.is_none_or(|object| object == self.object))
    }

    /// Age of the data at `now`.
    #[must_use]
    pub fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.reply.begun)
    }
}
