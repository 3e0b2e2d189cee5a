//! Providers that hang or fail, and the end of that.

use crate::parts::Failed;
use crate::read::ReadError;
use crate::registry::PerfRegistry;
use perfhive_engine::ObjectQuery;
use perfhive_format::TitleIndex;
use std::time::{Duration, Instant};

/// The time of a provider that is asked alone, unless another is set.
const PROBE: Duration = Duration::from_secs(2);
/// How many queries that hung are remembered; each of them cost a timeout.
const QUERIES: usize = 64;

/// The queries and objects whose calls timed out. They are not asked for again before all calls have
/// returned: the next call would hang, too.
#[derive(Debug)]
pub(crate) struct Hangs {
    queries: Vec<ObjectQuery>,
    objects: Vec<TitleIndex>,
    probe: Duration,
    /// How often something hung, and again soon after it was asked for again.
    times: u32,
    /// Whether what hangs now is counted.
    is_counted: bool,
    /// The newest hang.
    last: Option<Instant>,
    /// When all calls had returned.
    returned: Option<Instant>,
}

/// The pause before a provider that hung twice is asked again; it doubles with each further hang.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

impl Default for Hangs {
    fn default() -> Self {
        Self::with_probe(PROBE)
    }
}

impl Hangs {
    /// No hang so far; a provider that is asked alone has the time `probe`.
    pub(crate) fn with_probe(probe: Duration) -> Self {
        let (queries, objects) = (Vec::new(), Vec::new());
        let (last, returned) = (None, None);
        Self { queries, objects, probe, times: 0, is_counted: false, last, returned }
    }

    /// The time of a provider that is asked alone.
    pub(crate) fn probe(&self) -> Duration {
        self.probe
    }

    /// The objects of providers that hang.
    pub(crate) fn objects(&self) -> &[TitleIndex] {
        &self.objects
    }

    /// Whether a query is known to hang.
    pub(crate) fn knows(&self, query: &ObjectQuery) -> bool {
        let is_hanging = |name: &TitleIndex| self.objects.contains(name);
        let has = match query {
            ObjectQuery::Indexes(list) => list.iter().any(is_hanging),
            // A hanging object may be part of either.
            ObjectQuery::Global | ObjectQuery::Costly => !self.objects.is_empty(),
            ObjectQuery::Foreign(_) => false,
        };
        has || self.queries.contains(query)
    }

    /// Notes a query that failed, if it hung.
    pub(crate) fn note(&mut self, failed: Failed, query: &ObjectQuery) {
        if failed == Failed::Read(ReadError::Hangs) && !self.knows(query) {
            if self.queries.len() >= QUERIES {
                self.queries.clear();
            }
            self.queries.push(query.clone());
            self.hung(Instant::now());
        }
    }

    /// Counts a hang, once for all that hangs at the same time.
    fn hung(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.is_counted, true) {
            let is_recent = |last: Instant| now.saturating_duration_since(last) < 2 * LONGEST_PAUSE;
            self.times = if self.last.is_some_and(is_recent) { self.times + 1 } else { 1 };
        }
        (self.last, self.returned) = (Some(now), None);
    }

    /// The pause between the return of all calls and the next attempt: none after the first hang.
    fn pause(&self) -> Duration {
        match self.times {
            0 | 1 => Duration::ZERO,
            times => (FIRST_PAUSE * 2u32.pow((times - 2).min(6))).min(LONGEST_PAUSE),
        }
    }

    /// Notes the objects that a search for the cause of a hanging query found.
    pub(crate) fn found(&mut self, objects: &[TitleIndex], query: &ObjectQuery) {
        self.objects.clear();
        self.objects.extend_from_slice(objects);
        self.objects.sort_unstable();
        self.objects.dedup();
        // A list is recognised by its objects.
        if let (false, ObjectQuery::Indexes(_)) = (objects.is_empty(), query) {
            self.queries.retain(|known| known != query);
        }
    }

    /// Whether all calls have returned, and the pause after that is over.
    pub(crate) fn are_over(&mut self, registry: &mut dyn PerfRegistry) -> bool {
        let is_any = !self.queries.is_empty() || !self.objects.is_empty();
        is_any && registry.hanging() == 0 && self.is_pause_over(Instant::now())
    }

    fn is_pause_over(&mut self, now: Instant) -> bool {
        let returned = *self.returned.get_or_insert(now);
        now.saturating_duration_since(returned) >= self.pause()
    }

    /// Forgets what hung, so that it is asked for again.
    pub(crate) fn forget(&mut self) {
        self.is_counted = false;
        self.queries.clear();
        self.objects.clear();
    }

    /// Forgets how often it hung: a registration has changed.
    pub(crate) fn forget_times(&mut self) {
        (self.times, self.last, self.returned) = (0, None, None);
    }

    /// Forgets the objects, whose indexes may have new owners.
    pub(crate) fn forget_objects(&mut self) {
        self.objects.clear();
    }
}

/// How often the registrations of failing providers are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A watch over the registrations of failing providers: once one is disabled, mended or unregistered,
/// the whole is tried again at once.
#[derive(Debug)]
pub(crate) struct Watch {
    services: Vec<(String, Option<u64>)>,
    looked: Instant,
    /// The time between two looks.
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

    /// Whether a registration has changed or is gone since the provider failed.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A slow provider, which hangs each time that it is asked again, is asked less and less often.
    #[test]
    fn pause_doubles_with_each_hang_and_ends_with_a_long_rest() {
        let mut hangs = Hangs::default();
        let mut now = Instant::now();
        let second = Duration::from_secs(1);
        let mut round = |rest: Duration| {
            now += rest;
            hangs.hung(now);
            hangs.queries.push(ObjectQuery::Global);
            now += second;
            let returned = now;
            while !hangs.is_pause_over(now) {
                now += second;
            }
            hangs.forget();
            now.duration_since(returned).as_secs()
        };
        let pauses: Vec<u64> = (0..10).map(|_| round(second)).collect();
        assert_eq!(pauses, [0, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(round(3 * LONGEST_PAUSE), 0);
        assert_eq!(round(second), 5);
        hangs.forget_times();
        assert_eq!(hangs.pause(), Duration::ZERO);
    }
}
