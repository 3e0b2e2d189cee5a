//! The providers that hang or fail, and the times at which they are asked again.

use crate::condition::Calls;
use crate::parts::Failed;
use crate::read::ReadError;
use crate::registry::PerfRegistry;
use perfhive_engine::ObjectQuery;
use perfhive_format::TitleIndex;
use std::time::{Duration, Instant};

/// The default timeout of a provider that is asked alone.
const PROBE: Duration = Duration::from_secs(2);
/// The largest number of queries that are remembered because they hung. One more query that hangs
/// makes all others forgotten. Each of the remembered queries cost one timeout.
const QUERIES: usize = 64;

/// The queries and objects with calls that timed out. They are left out, since the next call would
/// hang too, until every call of the registry that timed out has returned and a pause is over, or
/// until the registration of a failing provider changes.
#[derive(Debug)]
pub(crate) struct Hangs {
    queries: Vec<ObjectQuery>,
    objects: Vec<TitleIndex>,
    /// Whether even a query for no object hung, so that each query would.
    everything: bool,
    probe: Duration,
    calls: Calls,
}

impl Default for Hangs {
    fn default() -> Self {
        Self::with_probe(PROBE)
    }
}

impl Hangs {
    /// A state in which nothing has hung. `probe` is the timeout of a provider that is asked alone.
    pub(crate) fn with_probe(probe: Duration) -> Self {
        let (queries, objects) = (Vec::new(), Vec::new());
        Self { queries, objects, everything: false, probe, calls: Calls::NEW }
    }

    /// The timeout of a provider that is asked alone.
    pub(crate) fn probe(&self) -> Duration {
        self.probe
    }

    /// The objects of providers that hang.
    pub(crate) fn objects(&self) -> &[TitleIndex] {
        &self.objects
    }

    /// Whether even a query for no object hung, so that every query would.
    pub(crate) fn are_everywhere(&self) -> bool {
        self.everything
    }

    /// Whether a query is known to hang: it hung before, it may include an object that hangs, or
    /// every query would hang.
    pub(crate) fn knows(&self, query: &ObjectQuery) -> bool {
        let is_hanging = |name: &TitleIndex| self.objects.contains(name);
        let has = match query {
            ObjectQuery::Indexes(list) => list.iter().any(is_hanging),
            // A hanging object may be part of either.
            ObjectQuery::Global | ObjectQuery::Costly => !self.objects.is_empty(),
            ObjectQuery::Foreign(_) => false,
        };
        self.everything || has || self.queries.contains(query)
    }

    /// Notes how the query `query` failed. Only a hang has an effect.
    pub(crate) fn note(&mut self, failed: Failed, query: &ObjectQuery) {
        if failed == Failed::Read(ReadError::Hangs) && !self.knows(query) {
            if self.queries.len() >= QUERIES {
                self.queries.clear();
            }
            self.queries.push(query.clone());
            self.calls.timed_out(Instant::now());
        }
    }

    /// Notes how a query for no object failed. Only a hang has an effect.
    pub(crate) fn note_no_object(&mut self, failed: Failed) {
        if failed == Failed::Read(ReadError::Hangs) {
            self.everything = true;
            self.calls.timed_out(Instant::now());
        }
    }

    /// Notes the hanging objects that a search found for `query`. They replace the hanging objects
    /// that were known before.
    pub(crate) fn found(&mut self, objects: &[TitleIndex], query: &ObjectQuery) {
        self.objects.clear();
        self.objects.extend_from_slice(objects);
        self.objects.sort_unstable();
        self.objects.dedup();
        // A list of indexes need not be remembered, since it is recognised by its objects.
        if let (false, ObjectQuery::Indexes(_)) = (objects.is_empty(), query) {
            self.queries.retain(|known| known != query);
        }
    }

    /// Whether all calls have returned after a hang, and the pause after that has just ended;
    /// `false` if nothing hung.
    pub(crate) fn are_over(&mut self, registry: &mut dyn PerfRegistry) -> bool {
        let is_any = self.everything || !self.queries.is_empty() || !self.objects.is_empty();
        is_any && self.calls.are_over(registry.hanging(), Instant::now())
    }

    /// Forgets the queries and objects that hung, so that they are asked for again.
    pub(crate) fn forget(&mut self) {
        self.everything = false;
        self.queries.clear();
        self.objects.clear();
    }

    /// Forgets the pauses between attempts, because a registration has changed.
    pub(crate) fn forget_pauses(&mut self) {
        self.calls = Calls::NEW;
    }

    /// Forgets the objects that hung, because their indexes may have new owners.
    pub(crate) fn forget_objects(&mut self) {
        self.objects.clear();
    }
}

/// The shortest time between two examinations of the registrations of failing providers.
const LOOK: Duration = Duration::from_secs(1);

/// A watch over the registrations of failing providers. When one of these registrations changes or
/// vanishes, whole queries are tried again.
#[derive(Debug)]
pub(crate) struct Watch {
    services: Vec<(String, Option<u64>)>,
    looked: Instant,
    /// The shortest time between two examinations of the registrations.
    pub(crate) every: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self { services: Vec::new(), looked: Instant::now(), every: LOOK }
    }
}

impl Watch {
    /// Adds failing services to the watch.
    pub(crate) fn over<'a>(
        &mut self,
        services: impl Iterator<Item = &'a str>,
        registry: &mut dyn PerfRegistry,
    ) {
        for name in services {
            if !self.services.iter().any(|(known, _)| known == name) {
                let was = registry.registration(name);
                self.services.push((name.to_string(), was));
            }
        }
    }

    /// Whether the registration of any watched provider has changed or vanished since the watch
    /// over it began. `false` if the last examination was less than `every` ago.
    pub(crate) fn is_other(&mut self, registry: &mut dyn PerfRegistry) -> bool {
        if self.services.is_empty() || self.looked.elapsed() < self.every {
            return false;
        }
        self.looked = Instant::now();
        self.services.iter().any(|(name, was)| registry.registration(name) != *was)
    }

    pub(crate) fn end(&mut self) {
        self.services.clear();
    }
}
