//! Settings of a cache.

use super::Cached;
use super::hub::{Clock, Hub};
use crate::source::Source;
use std::sync::Arc;
use std::time::Duration;

/// The default limit to the age of kept data.
const LIMIT: Duration = Duration::from_millis(500);

/// A builder of a [`Cached`] with settings.
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

    /// Sets the limit to the age of kept data, for requests and consumers without a limit of their
    /// own. With zero, consumers get no kept data; simultaneous requests still become one
    /// collection.
    #[must_use]
    pub fn max_age(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets a second source of the same data for the objects that the catalogue calls
    /// [costly](crate::Cost::Costly), so that costly objects do not delay others.
    #[must_use]
    pub fn costly_by(mut self, source: S) -> Self {
        self.costly = Some(source);
        self
    }

    /// Sets the clock for the age of data: a function that returns the time since an arbitrary
    /// beginning. The clock must never go backwards.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(now));
        self
    }

    /// Builds the cache. Returns its first consumer.
    #[must_use]
    pub fn build(self) -> Cached<S> {
        let Self { source, costly, limit, clock } = self;
        Cached::consumer(Arc::new(Hub::new(source, costly, limit, clock)))
    }
}
