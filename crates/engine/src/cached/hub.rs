//! What all consumers of a cache share.

use super::builder::{CacheBuilder, Clock};
use super::lane::Lane;
use super::reply::{Key, Reply, Slots};
use super::wants::Wants;
use crate::error::SourceError;
use crate::request::ObjectQuery;
use crate::source::{Catalogue, Cost, Source};
use crate::titles::TitleDatabase;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Replies kept for reuse.
const REPLIES: usize = 64;

/// No catalogue was seen yet.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// What all consumers share.
pub(super) struct Hub<S> {
    pub(super) name: String,
    pub(super) live: bool,
    /// Collects all but what `costly` does.
    pub(super) main: Lane<S, Wants, Brought>,
    pub(super) costly: Option<Lane<S, Wants, Brought>>,
    pub(super) limit: Duration,
    pub(super) clock: Clock,
    pub(super) slots: Slots,
    /// Number of the newest collection.
    pub(super) numbers: AtomicU64,
    /// Objects and whole answers that were taken without a collection.
    pub(super) taken: AtomicU64,
    pub(super) generation: AtomicU64,
    pub(super) catalogue: RwLock<Option<Arc<Catalogue>>>,
    pub(super) costly_objects: RwLock<HashSet<TitleIndex>>,
    /// The generation as of which these are known.
    pub(super) costs_of: AtomicU64,
    pub(super) titles: Mutex<HashMap<LanguageId, (u64, Arc<TitleDatabase>)>>,
    /// A handle to each reply; one that nobody else holds is used again.
    pub(super) replies: Mutex<Vec<Arc<Reply>>>,
}

/// What one collection of a run brought.
pub(super) type Collected = Result<Arc<Reply>, SourceError>;

/// What a run brought. Nearly always that is one collection; several only where
/// objects and words were wanted together.
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
    pub(super) fn new(builder: CacheBuilder<S>) -> Self {
        let CacheBuilder { source, costly, limit, clock } = builder;
        let (name, live) = (source.name().to_string(), source.is_live());
        let clock = clock.unwrap_or_else(|| {
            let start = Instant::now();
            Arc::new(move || start.elapsed())
        });
        Self {
            main: Lane::new(&name, source),
            costly: costly.map(|source| Lane::new(&name, source)),
            name,
            live,
            limit,
            clock,
            slots: Slots::default(),
            numbers: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            generation: AtomicU64::new(UNKNOWN),
            catalogue: RwLock::new(None),
            costly_objects: RwLock::new(HashSet::new()),
            costs_of: AtomicU64::new(UNKNOWN),
            titles: Mutex::new(HashMap::new()),
            replies: Mutex::new(Vec::with_capacity(REPLIES)),
        }
    }

    /// The lane that collects something.
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

    /// Collects what is wanted and publishes it.
    pub(super) fn run(
        &self,
        source: &mut S,
        wants: &mut Wants,
        lane: usize,
        deadline: Option<Instant>,
    ) -> Result<Brought, SourceError> {
        let mut brought = Brought::default();
        let grown = wants.has_grown();
        wants.each_request(deadline, |request| {
            let mut reply = self.free_reply();
            let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
            // Unique: nobody else holds a free one.
            let Some(inner) = Arc::get_mut(&mut reply) else { return };
            inner.number = number;
            inner.begun = (self.clock)();
            let grown = inner.answer_to(request) || grown;
            brought.push(match source.collect(request, &mut inner.snapshot) {
                Ok(()) => {
                    if grown {
                        inner.snapshot.note_growth();
                    }
                    self.slots.publish(&reply, |name| self.lane_of(&Key::Object(name)) == lane);
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
            self.notice(source.catalogue_generation());
        }
        Ok(brought)
    }

    /// Takes note of the catalogue's generation.
    ///
    /// With another one an index may be another object's: what was collected
    /// with those of before is kept for nobody.
    pub(super) fn notice(&self, generation: u64) {
        // UNKNOWN is one that no source counts up to.
        let generation = generation.min(UNKNOWN - 1);
        let known = self.generation.load(Ordering::Acquire);
        if known != UNKNOWN && known != generation {
            self.slots.clear();
        }
        // Behind that: who knows the new one finds nothing of before.
        self.generation.store(generation, Ordering::Release);
    }

    /// The whole catalogue, if it was read and is still that.
    pub(super) fn kept_catalogue(&self) -> Option<Arc<Catalogue>> {
        let generation = self.generation.load(Ordering::Acquire);
        let kept = self.catalogue.read().unwrap_or_else(PoisonError::into_inner).clone();
        kept.filter(|kept| kept.generation == generation)
    }

    /// Takes note of which objects of the newest generation are costly.
    pub(super) fn notice_costs(&self, catalogue: &Catalogue) {
        let costly = catalogue.objects.iter().filter(|object| object.cost == Cost::Costly);
        let costly = costly.map(|object| object.name).collect();
        *self.costly_objects.write().unwrap_or_else(PoisonError::into_inner) = costly;
        self.costs_of.store(self.generation.load(Ordering::Acquire), Ordering::Release);
    }

    /// A reply that nobody holds, empty.
    fn free_reply(&self) -> Arc<Reply> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = None;
        for (at, reply) in replies.iter_mut().enumerate() {
            if let Some(reply) = Arc::get_mut(reply) {
                // Its frames go back to the source's pool.
                reply.snapshot.clear();
                free = Some(at);
            }
        }
        free.map(|at| replies.swap_remove(at)).unwrap_or_default()
    }

    /// Keeps a handle to a reply for when nobody else holds it any more.
    fn keep(&self, reply: Arc<Reply>) {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        if replies.len() < REPLIES {
            replies.push(reply);
        }
    }
}
