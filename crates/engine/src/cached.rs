//! One source for many readers: data that is collected for one reader is given to the others, too.
//!
//! [`Cached`] is a source around a source. It keeps every object of an answer, wanted or not, each
//! with the clocks of its block. A clone of a `Cached` is another *consumer* of the same data. A
//! consumer gets kept data that is young enough and that it has not had yet, since two readings of
//! one sample make no rate. For other data the source is asked; requests that arrive during a
//! collection are joined into one further collection.
//!
//! ```
//! use perfhive_engine::{Cached, ObjectQuery, Ask, Snapshot, Source};
//! # use perfhive_engine::{Catalogue, Frame, SourceError, TitleDatabase};
//! # use perfhive_format::{BlockHead, BlockWriter, LanguageId};
//! # use std::sync::Arc;
//! # struct Machine(u64);
//! # impl Source for Machine {
//! #     fn name(&self) -> &str { "machine" }
//! #     fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
//! #         self.0 += 1;
//! #         let mut writer = BlockWriter::new();
//! #         writer.start(&BlockHead::default());
//! #         out.clear();
//! #         let block = writer.finish().to_vec();
//! #         out.push_frame(Arc::new(Frame::new(block, self.0).unwrap()), "machine");
//! #         Ok(())
//! #     }
//! #     fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
//! #         Ok(Arc::default())
//! #     }
//! #     fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
//! #         unreachable!()
//! #     }
//! # }
//! # let machine = Machine(0);
//! let mut first = Cached::new(machine);
//! let mut second = first.clone();
//! let request = Ask::new(ObjectQuery::Global);
//! let (mut a, mut b) = (Snapshot::new(), Snapshot::new());
//! first.collect(&request, &mut a)?;
//! // Collected for the first consumer, and new to the second.
//! second.collect(&request, &mut b)?;
//! assert_eq!(first.statistics().collections, 1);
//! // No consumer gets the same data twice.
//! second.collect(&request, &mut b)?;
//! assert_eq!(first.statistics().collections, 2);
//! # Ok::<(), perfhive_engine::SourceError>(())
//! ```
//!
//! # What it promises
//!
//! - A consumer gets no kept data that is older than the limit, counted from when its collection
//!   *began*. The limit is [`Ask::max_age`], or else the limit of the consumer or, without one,
//!   that of the cache (500 ms by default). With a limit of zero, a consumer gets only data of a
//!   collection that began after the request.
//! - Taking kept data takes no lock, and never waits for the source or another reader. Exceptions
//!   are the first request of a consumer for an object and, with a second source for costly
//!   objects, the first request after a change of the catalogue.
//! - A request for fresh data waits at most for the collection in progress and the next one. The
//!   cache has no thread: one of the waiting requests collects for all. The deadlines of the others
//!   are kept. The collecting request returns only when the source does, so wrap a source that may
//!   hang in a [`Worker`](crate::Worker) first.
//! - Requests for the catalogue or titles alternate with collections, so that neither has to wait
//!   for many of the other.
//! - A source that asks its own cache during a collection gets an error if it does so on the
//!   collecting thread. On another thread, that request waits until its deadline.
//! - The requests that waited for a failed collection get its error. The next request tries again.
//! - Data that a consumer holds never changes.

mod builder;
mod catalogue;
mod hub;
mod lane;
#[cfg(all(test, loom))]
mod models;
mod reply;
mod sync;
mod wants;

use crate::ask::{Ask, ObjectQuery};
use crate::error::{FaultKind, SourceError, SourceErrorKind};
use crate::followed::ATTEMPTS;
use crate::frame::Snapshot;
use crate::identity::Identity;
use crate::instance_reader::InstanceReader;
use crate::source::{Catalogue, Recording, Source, Span, span_of};
use crate::status::ProviderStatus;
use crate::titles::TitleDatabase;
pub use builder::CacheBuilder;
use hub::{Hub, UNKNOWN};
use lane::{Outcome, ends};
use perfhive_format::{FileTime, LanguageId, TitleIndex};
use reply::{Key, Reply, Slot};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wants::Wants;

/// The number of keys (objects, and whole answers to `Global`, `Costly` or `Foreign`) beyond which a
/// consumer empties its list of the data that it had. The consumer then counts as having had all data up
/// to the newest collection in the list.
const MOST_SEEN: usize = 4096;

/// A consumer of a shared source, and a source itself. A clone is another consumer, which may be on
/// any thread. The [module](self) lists what a cache promises.
pub struct Cached<S> {
    hub: Arc<Hub<S>>,
    /// The limit of this consumer to the age of kept data; `None` for the cache's own limit.
    limit: Option<Duration>,
    /// For each key, its slot, and which data this consumer had last.
    seen: HashMap<Key, Seen>,
    /// The number of a collection: this consumer counts as having had the data of that collection
    /// and of all before it, whatever `seen` says.
    floor: u64,
    /// The generation of the catalogue for which this consumer last made the hub (the state that all
    /// consumers share) note which objects are costly; `UNKNOWN` before the first time.
    costs_of: u64,
    /// The keys of the current request, each once.
    keys: Vec<Key>,
    /// A buffer for the title indexes of the current request, sorted.
    sorted: Vec<TitleIndex>,
    /// For each of `keys`, the reply found so far; `None` for a key without one.
    found: Vec<Option<Arc<Reply>>>,
    /// The keys without a reply: first those to collect from the main source, then those to collect from
    /// the second source, which is for costly objects.
    missing: [Wants; 2],
    /// The replies of the collections that the current request waited for.
    own: Vec<Arc<Reply>>,
}

/// The slot of a key, which is the place of the newest reply for that key, and the number of the newest
/// data of the key that this consumer has had.
struct Seen {
    slot: Option<Arc<Slot>>,
    /// The number of the newest collection that gave this consumer data of the key, or else the
    /// `floor` that the consumer had when the key was added.
    number: u64,
}

/// What a cache has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// The number of collections of the source, failed ones included.
    pub collections: u64,
    /// The number of objects, and of whole answers to `Global`, `Costly` or `Foreign`, that
    /// consumers got without a collection. Only requests that were answered with kept data alone
    /// count.
    pub taken: u64,
}

impl<S: Source> Cached<S> {
    /// A cache around `source`, with the default limit to the age of kept data, 500 ms.
    pub fn new(source: S) -> Self {
        Self::builder(source).build()
    }

    /// A builder of a cache with other settings.
    pub fn builder(source: S) -> CacheBuilder<S> {
        CacheBuilder::new(source)
    }

    /// The counts of all consumers together.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            collections: self.hub.numbers.load(Ordering::Relaxed),
            taken: self.hub.taken.load(Ordering::Relaxed),
        }
    }

    /// The same consumer with a limit of its own to the age of kept data, for asks that set no
    /// limit ([`Ask::max_age`]). Zero means that no data from before the ask is taken.
    #[must_use]
    pub fn max_age(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Whether the source is live, not a recording.
    #[must_use]
    pub fn is_live(&self) -> bool {
        !self.hub.is_recording
    }

    /// Drops all kept data, but not the catalogue and titles. Data that consumers hold stays valid.
    pub fn forget(&self) {
        self.hub.forget();
    }

    /// Answers a request into `out`, with kept data or by collections. An error only if nothing
    /// that the request needs was found; if a part was found, the error becomes a fault in `out`.
    fn answer(
        &mut self,
        request: &Ask,
        deadline: Option<Instant>,
        out: &mut Snapshot,
    ) -> Result<(), SourceError> {
        let asked_at = (self.hub.clock)();
        self.forget_old();
        // The list of costly objects is valid until the catalogue changes. If the new list cannot
        // be read, the last one is used.
        if self.hub.costly.is_some()
            && (self.costs_of == UNKNOWN
                || self.costs_of != self.hub.generation.load(Ordering::Acquire))
            && let Ok(generation) = self.costs_by(deadline)
        {
            self.costs_of = generation;
        }
        self.list_keys(request);
        let keys = std::mem::take(&mut self.keys);
        let failure = self.gather(request, deadline, &keys, asked_at);
        let served = self.hand_out(&keys, asked_at, out);
        self.keys = keys;
        // An allocation in a collection delays each consumer that waited for it.
        if self.own.iter().any(|reply| reply.snapshot.has_grown()) {
            out.set_grown();
        }
        self.own.clear();
        match failure {
            Some(error) if served == 0 => Err(error),
            Some(error) if served < self.keys.len() => {
                out.push_words(FaultKind::SourceFailed, &self.hub.name, error.message());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Beyond [`MOST_SEEN`] keys, empties `seen` and raises `floor` to the newest number in it, so
    /// that a consumer that asks for ever new objects and machines does not fill the memory.
    fn forget_old(&mut self) {
        if self.seen.len() > MOST_SEEN {
            let newest = self.seen.values().map(|seen| seen.number).max();
            self.floor = newest.unwrap_or(0).max(self.floor);
            self.seen.clear();
        }
    }

    /// Fills the list of the keys that a request needs: each object or whole answer once.
    fn list_keys(&mut self, request: &Ask) {
        self.keys.clear();
        match &request.objects {
            ObjectQuery::Indexes(list) => {
                let mut sorted = std::mem::take(&mut self.sorted);
                sorted.clone_from(list);
                sorted.sort_unstable();
                sorted.dedup();
                self.keys.extend(sorted.iter().copied().map(Key::Object));
                self.sorted = sorted;
            }
            word => self.keys.push(Key::Whole(word.clone())),
        }
    }

    /// Fills `found` with the replies for the keys, and collects for the keys that have none. Returns the
    /// error because of which some keys may still lack a reply; `None` without such an error.
    fn gather(
        &mut self,
        request: &Ask,
        deadline: Option<Instant>,
        keys: &[Key],
        asked_at: Duration,
    ) -> Option<SourceError> {
        let hub = Arc::clone(&self.hub);
        let limit = request.max_age.or(self.limit).unwrap_or(hub.limit);
        let young = |begun| !limit.is_zero() && asked_at.saturating_sub(begun) <= limit;
        let mut failure = None;
        // By lane: whether nothing more can come, and whether a run was joined.
        let (mut done, mut joined) = ([false; 2], [false; 2]);
        let mut waited = false;
        let mut attempts = 0;
        self.found.clear();
        self.found.resize(keys.len(), None);
        loop {
            self.missing.iter_mut().for_each(Wants::reset);
            for (at, key) in keys.iter().enumerate() {
                if self.found.get(at).is_some_and(Option::is_some) {
                    continue;
                }
                let reply = self.find(key, request, young);
                if let (None, Some(wants)) = (&reply, self.missing.get_mut(hub.lane_of(key))) {
                    wants.add(key, request);
                }
                if let Some(place) = self.found.get_mut(at) {
                    *place = reply;
                }
            }
            let mut asked = false;
            for (number, lane) in [Some(&hub.main), hub.costly.as_ref()].into_iter().enumerate() {
                let Some(lane) = lane else { continue };
                let (Some(wants), Some(done), Some(joined)) =
                    (self.missing.get(number), done.get_mut(number), joined.get_mut(number))
                else {
                    continue;
                };
                if *done || wants.is_empty() {
                    continue;
                }
                asked = true;
                let may_join = !*joined;
                let outcome = lane.request(
                    wants,
                    |begun| may_join && young(begun),
                    &*hub.clock,
                    deadline,
                    |source, wants| hub.run(source, wants, number, deadline),
                );
                *joined = true;
                // Only the main source's catalogue tells of changes; without this check a consumer
                // that asks only for costly objects would miss them.
                let looked = if number == 0 { Ok(()) } else { hub.look(deadline) };
                let generation = hub.generation.load(Ordering::Acquire);
                let is_now = |reply: &Reply| reply.generation.is_none_or(|of| of == generation);
                match outcome {
                    Ok(_) if looked.is_err() => {
                        *done = true;
                        failure = looked.err();
                    }
                    Ok(Outcome { in_full, deadline: by, result: Ok(brought) }) => {
                        *done = in_full;
                        for collected in brought.into_iter() {
                            match collected {
                                Ok(reply) if is_now(&reply) => self.own.push(reply),
                                // The reply's indexes may belong to other objects by now.
                                Ok(_) if attempts < ATTEMPTS => {
                                    *done = false;
                                    attempts += 1;
                                }
                                Ok(_) => failure = Some(hub.changing()),
                                Err(error) if is_changing(&error) && attempts < ATTEMPTS => {
                                    *done = false;
                                    attempts += 1;
                                }
                                // The request that led the run had an earlier deadline; for this
                                // one there is time to try again.
                                Err(error) if is_late(&error) && ends(by, deadline) => {
                                    *done = false;
                                }
                                Err(error) => failure = Some(error),
                            }
                        }
                    }
                    Ok(Outcome { result: Err(error), .. })
                        if is_changing(&error) && attempts < ATTEMPTS =>
                    {
                        attempts += 1;
                    }
                    // The same for a run that failed as a whole.
                    Ok(Outcome { deadline: by, result: Err(error), .. })
                        if is_late(&error) && ends(by, deadline) => {}
                    Ok(Outcome { result: Err(error), .. }) | Err(error) => {
                        *done = true;
                        failure = Some(error);
                    }
                }
            }
            if !asked {
                break;
            }
            waited = true;
        }
        if !waited {
            hub.taken.fetch_add(keys.len() as u64, Ordering::Relaxed);
        }
        failure
    }

    /// A reply to a key with data that this consumer has not had: from a collection that this
    /// request waited for, or kept and young enough. `None` if there is no such reply.
    fn find(
        &mut self,
        key: &Key,
        request: &Ask,
        young: impl Fn(Duration) -> bool,
    ) -> Option<Arc<Reply>> {
        if !self.seen.contains_key(key) {
            let slot = self.hub.slots.get(key);
            self.seen.insert(key.clone(), Seen { slot, number: self.floor });
        }
        let seen = self.seen.get(key)?;
        let is_new = |reply: &Reply| match key {
            Key::Object(_) => reply.number > seen.number,
            Key::Whole(_) => {
                let names = reply.snapshot.objects().map(|object| object.view().name_index());
                let mut objects = names.filter_map(|name| self.seen.get(&Key::Object(name)));
                reply.number > seen.number && objects.all(|had| reply.number > had.number)
            }
        };
        let fits = |reply: &&Arc<Reply>| reply.answers(key, request) && is_new(reply);
        let own = self.own.iter().filter(fits).max_by_key(|reply| reply.number);
        if let Some(reply) = own {
            return Some(Arc::clone(reply));
        }
        let kept = seen.slot.as_ref()?.load();
        let reply = kept.as_ref().filter(|reply| young(reply.begun)).filter(fits)?;
        Some(Arc::clone(reply))
    }

    /// Moves the replies found into the answer and notes that this consumer had them. Returns the
    /// number of keys served.
    fn hand_out(&mut self, keys: &[Key], asked_at: Duration, out: &mut Snapshot) -> usize {
        let mut served = 0;
        let mut last = 0;
        for (key, reply) in keys.iter().zip(&mut self.found) {
            let Some(reply) = reply.take() else { continue };
            served += 1;
            // The sample of a recording has no age.
            if !self.hub.is_recording {
                out.note_age(asked_at.saturating_sub(reply.begun));
            }
            if let Some(seen) = self.seen.get_mut(key) {
                seen.number = reply.number;
            }
            match key {
                Key::Object(name) => {
                    out.push_objects_of(&reply.snapshot, *name);
                    if last != reply.number {
                        out.push_general_faults_of(&reply.snapshot);
                        last = reply.number;
                    }
                }
                Key::Whole(word) => {
                    out.push_all_of(&reply.snapshot);
                    if matches!(word, ObjectQuery::Foreign(_)) {
                        continue;
                    }
                    for object in reply.snapshot.objects() {
                        let key = Key::Object(object.view().name_index());
                        let seen = self.seen.entry(key).or_insert_with_key(|key| Seen {
                            slot: self.hub.slots.get(key),
                            number: 0,
                        });
                        seen.number = reply.number;
                    }
                }
            }
        }
        served
    }
}

fn is_changing(error: &SourceError) -> bool {
    error.kind() == SourceErrorKind::Changing
}

fn is_late(error: &SourceError) -> bool {
    error.kind() == SourceErrorKind::Deadline
}

impl<S> Clone for Cached<S> {
    /// Another consumer with the same limit to the age of kept data, which has had no data yet.
    fn clone(&self) -> Self {
        Self { limit: self.limit, ..Self::consumer(Arc::clone(&self.hub)) }
    }
}

impl<S> Cached<S> {
    fn consumer(hub: Arc<Hub<S>>) -> Self {
        Self {
            hub,
            limit: None,
            seen: HashMap::new(),
            floor: 0,
            costs_of: UNKNOWN,
            keys: Vec::new(),
            sorted: Vec::new(),
            found: Vec::new(),
            missing: Default::default(),
            own: Vec::new(),
        }
    }
}

impl<S: Source> Source for Cached<S> {
    fn name(&self) -> &str {
        &self.hub.name
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        self.answer(request, request.until, out)
    }

    /// The source's catalogue. For [`Ask::nothing`]: the catalogue that the source last returned for such a
    /// request. For `Global` and `Foreign`: the catalogue of all objects but those that are costly even to
    /// list, which is read once for each generation. For indexes: the catalogue for `Global`, if it was read
    /// already and lists the wanted objects. If there is no such catalogue, and always for `Costly`, the
    /// source is asked.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let hub = &self.hub;
        let kept = match &ask.objects {
            _ if ask.is_nothing() => {
                // Readers ask this before a sample, on the thread of the sample.
                reply::ready();
                hub.known_catalogue()
            }
            // An object that is in no list is found by asking the source for it.
            ObjectQuery::Indexes(list) => hub
                .kept_catalogue()
                .filter(|kept| list.iter().all(|name| kept.object(*name).is_some())),
            ObjectQuery::Costly => None,
            ObjectQuery::Global | ObjectQuery::Foreign(_) => return self.whole_catalogue(ask),
        };
        if let Some(kept) = kept {
            return Ok(kept);
        }
        hub.main.with(ask.until, |source| {
            if ask.is_nothing() {
                return hub.check(source, ask.until);
            }
            let catalogue = source.catalogue(ask);
            let _ = hub.check(source, ask.until);
            catalogue
        })?
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        let catalogue = self.catalogue(&Ask::nothing().until(ask.until));
        let generation = catalogue.map_or(0, |catalogue| catalogue.generation);
        self.hub.titles_by(language, generation, ask.until)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let mut providers = Vec::new();
        for lane in std::iter::once(&self.hub.main).chain(&self.hub.costly) {
            providers.extend(lane.with(ask.until, |source| source.providers(ask))??);
        }
        Ok(providers)
    }

    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        let made = |source: &mut S| source.instance_reader(object, identity, counters);
        self.hub.main.with(None, made).ok().flatten()
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        if self.hub.is_recording { Some(self) } else { None }
    }
}

impl<S: Source> Recording for Cached<S> {
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        for lane in std::iter::once(&self.hub.main).chain(&self.hub.costly) {
            let seek = |source: &mut S| source.recording().map_or(Ok(()), |of| of.seek(to));
            lane.with(None, seek)??;
        }
        self.hub.forget();
        Ok(())
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        self.hub.main.with(None, |source: &mut S| span_of(source))?
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
