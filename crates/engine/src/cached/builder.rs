//! Settings of a cache.

use super::Cached;
use super::hub::{Clock, Hub};
use crate::source::Source;
use std::sync::Arc;
use std::time::Duration;

/// The default limit to the age of kept data.
const LIMIT: Duration = Duration::from_millis(500);

/// Builds a [`Cached`].
pub struct CacheBuilder<S> {
    source: S,
    costly: Option<S>,
    limit: Duration,
    clock: Option<Clock>,
}

impl<S: Source> CacheBuilder<S> {
    pub(super) fn new(source: S) -> Self {
        Self { source, costly: None, limit: LIMIT, clock: None }
    }

    /// How old kept data may be where a request does not say; zero keeps
    /// nothing for others, and still makes one collection of requests that come
    /// together.
    #[must_use]
    pub fn max_age(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// A second source of the same data, which alone collects the objects that
    /// the catalogue calls [costly](crate::Cost::Costly): they do not hold up the
    /// others.
    #[must_use]
    pub fn costly_by(mut self, source: S) -> Self {
        self.costly = Some(source);
        self
    }

    /// Another clock for the age of data; it must never go backwards.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(now));
        self
    }

    /// Builds the cache; the answer is its first consumer.
    #[must_use]
    pub fn build(self) -> Cached<S> {
        let Self { source, costly, limit, clock } = self;
        Cached::consumer(Arc::new(Hub::new(source, costly, limit, clock)))
    }
}
