//! What a cache is made of.

use super::Cached;
use super::hub::Hub;
use crate::source::Source;
use std::sync::Arc;
use std::time::Duration;

/// How old kept data may be if nobody says otherwise.
const LIMIT: Duration = Duration::from_millis(500);

pub(super) type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Makes a [`Cached`].
pub struct CacheBuilder<S> {
    pub(super) source: S,
    pub(super) costly: Option<S>,
    pub(super) limit: Duration,
    pub(super) clock: Option<Clock>,
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

    /// The first consumer.
    #[must_use]
    pub fn build(self) -> Cached<S> {
        Cached::consumer(Arc::new(Hub::new(self)))
    }
}
