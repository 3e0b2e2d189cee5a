//! [`Reply`], a kept answer of the source, and [`Slots`], the newest reply for each key.

use super::sync::{Mutex, RwLock};
use crate::ask::{Ask, ObjectQuery};
use crate::frame::Snapshot;
use perfhive_format::TitleIndex;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// One answer of the source, which does not change after it was published.
///
/// Aligned to a pair of cache lines, which processors fetch together. So the count of owners of a
/// reply, which is written often, shares no cache line with other replies.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Reply {
    pub(super) snapshot: Snapshot,
    /// The number of the collection, which grows with each collection of the cache.
    pub(super) number: u64,
    /// The time on the cache's clock at which the collection began. No value in the reply is older.
    pub(super) begun: Duration,
    /// The request that the reply answers.
    pub(super) request: Ask,
    /// The index list of `request`, kept for its allocation while `request` is not for indexes.
    pub(super) list: Vec<TitleIndex>,
    /// The generation of the catalogue that the reply's indexes belong to; `None` if it is not
    /// known.
    pub(super) generation: Option<u64>,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            snapshot: Snapshot::new(),
            number: 0,
            begun: Duration::ZERO,
            request: Ask::new(ObjectQuery::Indexes(Vec::new())),
            list: Vec::new(),
            generation: None,
        }
    }
}

impl Reply {
    /// Whether the reply has the data of a key as complete as `request` wants it: with its extra
    /// counters and its instances. An object may be in a reply without having been asked for.
    pub(super) fn answers(&self, key: &Key, request: &Ask) -> bool {
        match (key, &self.request.objects) {
            (Key::Whole(word), asked) => {
                word == asked
                    && request.extra_counters.iter().all(|(of, _)| self.fills(*of, request))
            }
            (Key::Object(_), ObjectQuery::Foreign(_)) => false,
            (Key::Object(name), asked) => {
                let is_asked = matches!(asked, ObjectQuery::Indexes(list) if list.contains(name));
                (is_asked || self.snapshot.object(*name).is_some())
                    && self.fills(*name, request)
                    && self.has_instances(*name, request)
            }
        }
    }

    /// Whether it is certain that every wanted instance of an object was collected, with the
    /// counters that the request wants.
    fn has_instances(&self, object: TitleIndex, request: &Ask) -> bool {
        if !self.snapshot.is_partial(object) {
            return true;
        }
        let mut enough = request.enough.iter().filter(|(of, _)| *of == object).peekable();
        let wants_all = enough.peek().is_none();
        let had = &self.request.enough;
        let had_all = !had.iter().any(|(of, _)| *of == object);
        if !had_all && (wants_all || !enough.all(|counter| had.contains(counter))) {
            return false;
        }
        let wished = &self.request.instances;
        let mut wanted = request.instances.iter().filter(|(of, _)| *of == object).peekable();
        wanted.peek().is_some() && wanted.all(|wish| wished.contains(wish))
    }

    /// Whether an object was collected with every extra counter that `request` wants of it.
    fn fills(&self, object: TitleIndex, request: &Ask) -> bool {
        let asked = request.extra_counters.iter().filter(|(of, _)| *of == object);
        asked.into_iter().all(|(_, counter)| {
            let had = &self.request.extra_counters;
            had.iter().any(|(of, had)| *of == object && (had == counter || *had == TitleIndex(0)))
        })
    }
}

/// The newest reply of a slot, behind a plain lock: loom has no model of arc-swap.
#[cfg(loom)]
type Newest = std::sync::Mutex<Option<Arc<Reply>>>;

/// The newest reply of a slot, which is read without a lock.
#[cfg(not(loom))]
type Newest = arc_swap::ArcSwapOption<Reply>;

/// Makes this thread's list of protected loads, which arc-swap otherwise allocates with the first
/// load.
#[cfg(not(loom))]
pub(super) fn ready() {
    static NOTHING: arc_swap::ArcSwapOption<()> = arc_swap::ArcSwapOption::const_empty();
    drop(NOTHING.load());
}

#[cfg(loom)]
pub(super) fn ready() {}

/// The newest reply for a key. Reading takes no lock and writes no shared counter, so that it costs
/// the same with any number of threads.
///
/// A slot has cache lines of its own, because consumers that come and go write its count of owners.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    newest: Newest,
}

impl Slot {
    /// The newest reply, valid for the life of the guard; `None` in an empty slot.
    #[cfg(not(loom))]
    #[inline]
    pub(super) fn load(&self) -> arc_swap::Guard<Option<Arc<Reply>>> {
        self.newest.load()
    }

    #[cfg(loom)]
    pub(super) fn load(&self) -> Option<Arc<Reply>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a reply into the slot, unless the slot has a newer one.
    fn publish(&self, reply: &Arc<Reply>) {
        let older = self.load().as_ref().is_none_or(|kept| kept.number < reply.number);
        if older {
            self.set(Some(Arc::clone(reply)));
        }
    }

    fn set(&self, reply: Option<Arc<Reply>>) {
        #[cfg(not(loom))]
        self.newest.store(reply);
        #[cfg(loom)]
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&reply);
    }
}

/// The key of a slot: the object or the whole answer that its replies have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// An object, by the title index of its name.
    Object(TitleIndex),
    /// The whole answer to `Global`, `Costly` or `Foreign NAME`.
    Whole(ObjectQuery),
}

/// The largest number of slots: readers can ask for any index and any name of a foreign machine.
/// Replies for further keys are not kept.
const MOST: usize = 65_536;

/// The slots of all keys. A consumer takes the lock once for each key.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: RwLock<HashMap<Key, Arc<Slot>>>,
    /// A lock that is held while a reply is published, so that comparing numbers and storing is one
    /// step for both lanes.
    publishing: Mutex<()>,
}

impl Slots {
    /// The slot of a key, which is made if it is missing; `None` if it is missing and there are [`MOST`]
    /// slots already.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Slot>> {
        {
            let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(slot) = slots.get(key) {
                return Some(Arc::clone(slot));
            }
        }
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(key) {
            return None;
        }
        Some(Arc::clone(slots.entry(key.clone()).or_default()))
    }

    /// Publishes a reply in the slots of the objects or the whole answer that were asked for, and
    /// in the slots of those objects of the reply that `belongs` accepts. The objects of an answer
    /// to `Foreign` are not published on their own. Partial objects are not published. Publishes
    /// nothing if `holds`, which is called under the lock, returns `false`: the indexes have then
    /// changed their meaning.
    pub(super) fn publish(
        &self,
        reply: &Arc<Reply>,
        belongs: impl Fn(TitleIndex) -> bool,
        holds: impl FnOnce() -> bool,
    ) {
        let _one_at_a_time = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        if !holds() {
            return;
        }
        let put = |key: Key| {
            if let Some(slot) = self.get(&key) {
                slot.publish(reply);
            }
        };
        let asked = &reply.request.objects;
        // A partial object is only for the requests that waited for it.
        let is_whole = |name: &TitleIndex| !reply.snapshot.is_partial(*name);
        match asked {
            ObjectQuery::Indexes(list) => {
                list.iter().filter(|name| is_whole(name)).for_each(|name| put(Key::Object(*name)));
            }
            word => put(Key::Whole(word.clone())),
        }
        // A foreign machine's objects have the same indexes as the local ones.
        if !matches!(asked, ObjectQuery::Foreign(_)) {
            let names = reply.snapshot.objects().map(|object| object.view().name_index());
            names
                .filter(|name| belongs(*name) && is_whole(name))
                .for_each(|name| put(Key::Object(name)));
        }
    }

    /// Empties every slot.
    pub(super) fn clear(&self) {
        self.clear_and(|| {});
    }

    /// Empties every slot, and calls `note` before any reply can be published.
    pub(super) fn clear_and(&self, note: impl FnOnce()) {
        // The same order of locks as in `publish`.
        let _one_at_a_time = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.values().for_each(|slot| slot.set(None));
        note();
    }
}
