//! [`Hub`]: the state that all consumers of a cache share.

use super::lane::Lane;
use super::reply::{Key, Reply, Slots};
use super::wants::Wants;
use crate::ask::{Ask, ObjectQuery};
use crate::error::{SourceError, SourceErrorKind};
use crate::followed::changing;
use crate::source::{Catalogue, Cost, Source};
use crate::titles::TitleDatabase;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The largest number of replies that are kept for reuse.
const REPLIES: usize = 64;

/// The clock for the age of data: a function that returns the time since an arbitrary beginning.
pub(super) type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The value of a generation that is not known, before the first catalogue was read.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// The shared state of a cache.
pub(super) struct Hub<S> {
    pub(super) name: String,
    pub(super) is_recording: bool,
    /// The lane (a source and the requests that wait for it) for all objects or, if there is a `costly`
    /// lane, for all objects that are not costly.
    pub(super) main: Lane<S, Wants, Brought>,
    pub(super) costly: Option<Lane<S, Wants, Brought>>,
    pub(super) limit: Duration,
    pub(super) clock: Clock,
    pub(super) slots: Slots,
    /// Number of the newest collection; 0 before the first.
    pub(super) numbers: AtomicU64,
    /// The number of objects, and of whole answers to `Global`, `Costly` or `Foreign`, that
    /// consumers got by requests that were answered with kept data alone.
    pub(super) taken: AtomicU64,
    pub(super) generation: AtomicU64,
    pub(super) catalogue: RwLock<Option<Arc<Catalogue>>>,
    /// The catalogue that answers [`Ask::nothing`]; `None` before it was read.
    known: RwLock<Option<Arc<Catalogue>>>,
    /// Whether the main source answered when it was last asked for its catalogue, such as after its
    /// newest collection; `false` before it was asked. If not, the next reader asks it again.
    is_checked: AtomicBool,
    pub(super) costly_objects: RwLock<HashSet<TitleIndex>>,
    /// The generation of the catalogue of which `costly_objects` are the costly objects;
    /// [`UNKNOWN`] before these were first noted.
    pub(super) costs_of: AtomicU64,
    pub(super) titles: Mutex<HashMap<LanguageId, (u64, Arc<TitleDatabase>)>>,
    /// The hub's generation and the costly source's own, at which both sources gave the indexes of
    /// costly objects the same names; `None` before they first did.
    agreed: Mutex<Option<(u64, u64)>>,
    replies: Mutex<Vec<Arc<Reply>>>,
}

/// The result of one collection of a run.
pub(super) type Collected = Result<Arc<Reply>, SourceError>;

/// The results of the collections of a run, in which one request collects for all that wait. There is
/// usually one collection; there are more if objects by index and whole answers (`Global`, `Costly`,
/// `Foreign`) were wanted together.
#[derive(Clone, Debug, Default)]
pub(super) struct Brought {
    first: Option<Collected>,
    more: Vec<Collected>,
}

impl Brought {
    fn push(&mut self, collected: Collected) {
        match self.first {
            None => self.first = Some(collected),
            Some(_) => self.more.push(collected),
        }
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = Collected> {
        self.first.into_iter().chain(self.more)
    }
}

impl<S: Source> Hub<S> {
    pub(super) fn new(
        mut source: S,
        costly: Option<S>,
        limit: Duration,
        clock: Option<Clock>,
    ) -> Self {
        let (name, is_recording) = (source.name().to_string(), source.recording().is_some());
        let clock = clock.unwrap_or_else(|| {
            let start = Instant::now();
            Arc::new(move || start.elapsed())
        });
        Self {
            main: Lane::new(&name, source),
            costly: costly.map(|source| Lane::new(&name, source)),
            name,
            is_recording,
            limit,
            clock,
            slots: Slots::default(),
            numbers: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            generation: AtomicU64::new(UNKNOWN),
            catalogue: RwLock::new(None),
            known: RwLock::new(None),
            is_checked: AtomicBool::new(false),
            costly_objects: RwLock::new(HashSet::new()),
            costs_of: AtomicU64::new(UNKNOWN),
            titles: Mutex::new(HashMap::new()),
            agreed: Mutex::new(None),
            replies: Mutex::new(Vec::with_capacity(REPLIES)),
        }
    }

    /// The number of the lane that collects a key: 0 or, for costly objects, 1.
    pub(super) fn lane_of(&self, key: &Key) -> usize {
        let is_costly = match key {
            _ if self.costly.is_none() => false,
            Key::Whole(word) => *word == ObjectQuery::Costly,
            Key::Object(name) => {
                self.costly_objects.read().unwrap_or_else(PoisonError::into_inner).contains(name)
            }
        };
        usize::from(is_costly)
    }

    /// Collects what is wanted, publishes it, and returns the results of the collections. An error
    /// if the source of the costly lane (1) cannot be compared with the main source, or the two do
    /// not [agree](Self::agree).
    pub(super) fn run(
        &self,
        source: &mut S,
        wants: &mut Wants,
        lane: usize,
        deadline: Option<Instant>,
    ) -> Result<Brought, SourceError> {
        let mut brought = Brought::default();
        let as_of = if lane == 0 { None } else { Some(self.agree(source, deadline)?) };
        wants.each_request(deadline, |request| {
            let mut reply = self.free_reply();
            let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
            // A free reply has no other owner.
            let Some(inner) = Arc::get_mut(&mut reply) else { return };
            inner.number = number;
            inner.begun = (self.clock)();
            inner.generation = as_of.map(|(generation, _)| generation);
            inner.request.refill(request, &mut inner.list);
            let collected = source.collect(request, &mut inner.snapshot);
            // The answer is valid only if the indexes kept their meaning.
            let moved = as_of.is_some_and(|(_, own)| has_moved(source, own, deadline));
            brought.push(match collected {
                Ok(()) if moved => {
                    self.keep(reply);
                    Err(self.changing())
                }
                Ok(()) => {
                    let belongs = |name| self.lane_of(&Key::Object(name)) == lane;
                    let now = || self.generation.load(Ordering::Acquire);
                    let holds = || as_of.is_none_or(|(generation, _)| now() == generation);
                    self.slots.publish(&reply, belongs, holds);
                    self.keep(Arc::clone(&reply));
                    Ok(reply)
                }
                Err(error) => {
                    self.keep(reply);
                    Err(error)
                }
            });
        });
        if lane == 0 {
            let _ = self.check(source, deadline);
        }
        Ok(brought)
    }

    /// Reads the catalogue that the main source knows already ([`Ask::nothing`]), and notes it and
    /// its generation. After an error of the source, the next reader asks the source again.
    pub(super) fn check(
        &self,
        source: &mut S,
        deadline: Option<Instant>,
    ) -> Result<Arc<Catalogue>, SourceError> {
        let catalogue = source.catalogue(&Ask::nothing().until(deadline));
        if let Ok(catalogue) = &catalogue {
            let is_kept = |kept: &Option<Arc<Catalogue>>| {
                kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, catalogue))
            };
            // It is nearly always the same; readers are then not locked out.
            if !is_kept(&self.known.read().unwrap_or_else(PoisonError::into_inner)) {
                let kept = Some(Arc::clone(catalogue));
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = kept;
            }
            self.notice(catalogue.generation);
        }
        self.is_checked.store(catalogue.is_ok(), Ordering::Release);
        catalogue
    }

    /// The catalogue that the main source had when it was last asked for it, such as after the
    /// newest collection. `None` if that request failed or was never made, or if the generation has
    /// changed since: the source must then be asked.
    pub(super) fn known_catalogue(&self) -> Option<Arc<Catalogue>> {
        if !self.is_checked.load(Ordering::Acquire) {
            return None;
        }
        let generation = self.generation.load(Ordering::Acquire);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.filter(|known| known.generation == generation)
    }

    /// Notes the catalogue's generation. If it changed, an index may belong to another object, so
    /// all kept data is dropped; the catalogue and titles stay.
    pub(super) fn notice(&self, generation: u64) {
        // No source counts up to UNKNOWN.
        let generation = generation.min(UNKNOWN - 1);
        let known = self.generation.load(Ordering::Acquire);
        // Stored after the clearing: a reader that sees the new generation finds no older data.
        let store = || self.generation.store(generation, Ordering::Release);
        match known {
            UNKNOWN => store(),
            known if known != generation => self.slots.clear_and(store),
            _ => {}
        }
    }

    /// Asks the main source for its catalogue again, to notice a change. An error only if the
    /// source is not free before the deadline, or asks its own cache; a failure of the source
    /// itself is ignored.
    pub(super) fn look(&self, deadline: Option<Instant>) -> Result<(), SourceError> {
        self.main.with(deadline, |source| drop(self.check(source, deadline)))
    }

    /// The titles of a language at this `generation` of the catalogue: those that are kept, or else
    /// read from the main source. The error is that of the source, or of the wait for it.
    pub(super) fn titles_by(
        &self,
        language: LanguageId,
        generation: u64,
        deadline: Option<Instant>,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        {
            let titles = self.titles.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, kept)) = titles.get(&language).filter(|(of, _)| *of == generation) {
                return Ok(Arc::clone(kept));
            }
        }
        let ask = Ask::nothing().until(deadline);
        let titles = self.main.with(deadline, |source| source.titles(language, &ask))??;
        let mut kept = self.titles.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(language, (generation, Arc::clone(&titles)));
        Ok(titles)
    }

    /// Checks that the costly source gives the indexes of costly objects the same names as the main
    /// source, which gives consumers their catalogue; an error if it does not. The two may differ,
    /// since each source notices changes of providers by itself. One language that both have is
    /// compared; an index without a name in the costly source passes. Returns the hub's generation
    /// and the costly source's own, for which they agree.
    fn agree(&self, source: &mut S, deadline: Option<Instant>) -> Result<(u64, u64), SourceError> {
        let ask = Ask::nothing().until(deadline);
        let own = source.catalogue(&ask)?.generation;
        let now = (self.generation.load(Ordering::Acquire), own);
        let agreed = *self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        if agreed == Some(now) {
            return Ok(now);
        }
        let mine = self.main.with(deadline, |source| self.check(source, deadline))??;
        let generation = self.generation.load(Ordering::Acquire);
        let mut languages = vec![LanguageId::ENGLISH];
        languages.extend(mine.languages.iter().filter(|one| **one != LanguageId::ENGLISH));
        let mut same = true;
        // One common language is enough.
        for language in languages {
            let names = match self.titles_by(language, generation, deadline) {
                Err(error) if error.kind() == SourceErrorKind::NotFound => continue,
                names => names?,
            };
            let own_names = match source.titles(language, &ask) {
                Err(error) if error.kind() == SourceErrorKind::NotFound => continue,
                names => names?,
            };
            let costly = mine.objects.iter().filter(|object| object.cost == Cost::Costly);
            let indexes = costly.flat_map(|object| {
                object.counters.iter().map(|counter| counter.name).chain([object.name])
            });
            for index in indexes {
                // An index without a name is not a contradiction.
                let own_name = own_names.name(index);
                same &= own_name.is_none() || own_name == names.name(index);
            }
            break;
        }
        let now = (self.generation.load(Ordering::Acquire), source.catalogue(&ask)?.generation);
        if !same || now != (generation, own) {
            return Err(self.changing());
        }
        *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        Ok(now)
    }

    /// The error of a collection during which indexes may have changed their meaning.
    pub(super) fn changing(&self) -> SourceError {
        changing(&self.name)
    }

    /// The catalogue that [`Cached::whole_catalogue`](super::Cached::whole_catalogue) read; `None`
    /// if it was not read at the present generation.
    pub(super) fn kept_catalogue(&self) -> Option<Arc<Catalogue>> {
        let generation = self.generation.load(Ordering::Acquire);
        let kept = self.catalogue.read().unwrap_or_else(PoisonError::into_inner).clone();
        kept.filter(|kept| kept.generation == generation)
    }

    /// Notes which objects of the newest generation are costly.
    pub(super) fn notice_costs(&self, catalogue: &Catalogue) {
        let costly = catalogue.objects.iter().filter(|object| object.cost == Cost::Costly);
        let costly = costly.map(|object| object.name).collect();
        *self.costly_objects.write().unwrap_or_else(PoisonError::into_inner) = costly;
        self.costs_of.store(self.generation.load(Ordering::Acquire), Ordering::Release);
    }

    /// An empty reply: a kept reply that has no other owner, or a new one.
    fn free_reply(&self) -> Arc<Reply> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        match empty(&mut replies) {
            Some(at) => replies.swap_remove(at),
            None => Arc::default(),
        }
    }

    /// Keeps a handle to a reply, so that its memory is used again once no consumer holds it; does
    /// nothing if [`REPLIES`] handles are kept already.
    fn keep(&self, reply: Arc<Reply>) {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        if replies.len() < REPLIES {
            replies.push(reply);
        }
    }

    /// Empties all slots, and the replies that no consumer holds. Catalogue and titles stay.
    pub(super) fn forget(&self) {
        self.slots.clear();
        empty(&mut self.replies.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Whether a source's catalogue has, or may have, another generation than the given one.
fn has_moved(source: &mut impl Source, generation: u64, deadline: Option<Instant>) -> bool {
    let now = source.catalogue(&Ask::nothing().until(deadline));
    !now.is_ok_and(|now| now.generation == generation)
}

/// Empties the replies that no slot and no consumer holds, so that their frames return to the
/// source's pool. Returns the position of an emptied reply; `None` if there is none.
fn empty(replies: &mut [Arc<Reply>]) -> Option<usize> {
    let mut free = None;
    for (at, reply) in replies.iter_mut().enumerate() {
        if let Some(reply) = Arc::get_mut(reply) {
            reply.snapshot.clear();
            free = Some(at);
        }
    }
    free
}
