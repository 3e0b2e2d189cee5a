//! Who hangs, or fails, and whether that is over.

use crate::parts::Failed;
use crate::read::ReadError;
use crate::registry::PerfRegistry;
use perfhive_engine::ObjectQuery;
use perfhive_format::TitleIndex;
use std::time::{Duration, Instant};

/// How long a provider is waited for that is asked alone, if nothing is said.
const PROBE: Duration = Duration::from_secs(2);
/// How many requests that hung are remembered; each of them was waited for.
const QUERIES: usize = 64;

/// What was asked and did not come back. It is not asked again as long as a call is
/// left behind: the next one would be as well.
#[derive(Debug)]
pub(crate) struct Hangs {
    queries: Vec<ObjectQuery>,
    objects: Vec<TitleIndex>,
    /// What hung did so elsewhere: nobody has looked for who it is yet.
    is_news: bool,
    probe: Duration,
}

impl Default for Hangs {
    fn default() -> Self {
        Self::of(None, PROBE)
    }
}

impl Hangs {
    pub(crate) fn of(query: Option<ObjectQuery>, probe: Duration) -> Self {
        let is_news = query.is_some();
        Self { queries: query.into_iter().collect(), objects: Vec::new(), is_news, probe }
    }

    /// How long one that is asked alone is waited for.
    pub(crate) fn probe(&self) -> Duration {
        self.probe
    }

    /// The objects of those that hang.
    pub(crate) fn objects(&self) -> &[TitleIndex] {
        &self.objects
    }

    /// Whether a request is known not to come back.
    pub(crate) fn knows(&self, query: &ObjectQuery) -> bool {
        let is_hanging = |name: &TitleIndex| self.objects.contains(name);
        let has = match query {
            ObjectQuery::Indexes(list) => list.iter().any(is_hanging),
            // Who hangs may be part of either.
            ObjectQuery::Global | ObjectQuery::Costly => !self.objects.is_empty(),
            ObjectQuery::Foreign(_) => false,
        };
        has || self.queries.contains(query)
    }

    /// Notes why a request failed, if it hung.
    pub(crate) fn note(&mut self, failed: Failed, query: &ObjectQuery) {
        if failed == Failed::Read(ReadError::Hangs) && !self.knows(query) {
            if self.queries.len() >= QUERIES {
                self.queries.clear();
            }
            self.queries.push(query.clone());
        }
    }

    /// Takes down whose fault it is that a request hangs.
    pub(crate) fn found(&mut self, objects: &[TitleIndex], query: &ObjectQuery) {
        self.is_news = false;
        self.objects.clear();
        self.objects.extend_from_slice(objects);
        self.objects.sort_unstable();
        self.objects.dedup();
        // A list is known by its objects.
        if let (false, ObjectQuery::Indexes(_)) = (objects.is_empty(), query) {
            self.queries.retain(|known| known != query);
        }
    }

    /// Whether everybody has come back.
    pub(crate) fn are_over(&self, registry: &mut dyn PerfRegistry) -> bool {
        let is_any = !self.queries.is_empty() || !self.objects.is_empty();
        is_any && !self.is_news && registry.hanging() == 0
    }

    pub(crate) fn forget(&mut self) {
        self.is_news = false;
        self.queries.clear();
        self.objects.clear();
    }

    /// Whose the objects are has changed.
    pub(crate) fn forget_objects(&mut self) {
        self.objects.clear();
    }
}

/// How often the registrations of those that fail are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The registrations of those that fail: whoever disables or unregisters one does not
/// want to wait until it is tried again.
#[derive(Debug)]
pub(crate) struct Watch {
    services: Vec<(String, Option<u64>)>,
    looked: Instant,
    /// How often they are looked at.
    pub(crate) every: Duration,
}

impl Default for Watch {
    fn default() -> Self {
        Self { services: Vec::new(), looked: Instant::now(), every: LOOK }
    }
}

impl Watch {
    /// Adds services.
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

    /// Whether one of them is registered otherwise than when it failed, or no more.
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
