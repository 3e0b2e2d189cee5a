//! The catalogue of a cache, and the objects in it that are costly.

use super::Cached;
use super::hub::UNKNOWN;
use crate::ask::Ask;
use crate::error::SourceError;
use crate::source::{Catalogue, Source};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

impl<S: Source> Cached<S> {
    /// The catalogue that the source returns for `Global` or `Foreign`: all objects but those that
    /// are costly even to list. It is read once for all consumers at each generation. The error is
    /// that of the source, or of the wait for it.
    pub(super) fn whole_catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let hub = &self.hub;
        if let Some(kept) = hub.kept_catalogue() {
            return Ok(kept);
        }
        hub.main.with(ask.until, |source| {
            // Another consumer may have read the catalogue meanwhile.
            let _ = hub.check(source, ask.until);
            if let Some(kept) = hub.kept_catalogue() {
                return Ok(kept);
            }
            let catalogue = source.catalogue(ask)?;
            let _ = hub.check(source, ask.until);
            hub.notice_costs(&catalogue);
            let kept = Some(Arc::clone(&catalogue));
            *hub.catalogue.write().unwrap_or_else(PoisonError::into_inner) = kept;
            Ok(catalogue)
        })?
    }

    /// Notes in the hub, the state that all consumers share, which objects are costly, unless the hub knows
    /// it already. Returns the generation of the catalogue for which the hub knows it. An object that is found later
    /// changes the generation, so that its cost is noted with the next call.
    pub(super) fn costs_by(&mut self, deadline: Option<Instant>) -> Result<u64, SourceError> {
        let hub = &self.hub;
        let known = |generation| hub.costs_of.load(Ordering::Acquire) == generation;
        let generation = hub.generation.load(Ordering::Acquire);
        if generation != UNKNOWN && known(generation) {
            return Ok(generation);
        }
        hub.main.with(deadline, |source| {
            // Another consumer may have read the catalogue meanwhile.
            let catalogue = hub.check(source, deadline)?;
            let generation = hub.generation.load(Ordering::Acquire);
            if known(generation) {
                return Ok(generation);
            }
            hub.notice_costs(&catalogue);
            Ok(hub.generation.load(Ordering::Acquire))
        })?
    }
}
