//! Title indexes that change while a probe context measures.
//!
//! What is asked of a source are indexes, and those of a provider that is
//! registered anew are others; an index of before may be another counter's.
//! Names stay: as soon as the catalogue has another generation, every object
//! and counter is looked up by its name again.

use super::{CounterProbe, Probed, Target, title, titles_of};
use crate::error::SourceError;
use crate::identity::Identity;
use crate::query::sample::ObjectState;
use crate::source::{Catalogue, CatalogueObject, Source};
use crate::titles::TitleDatabase;

impl<S: Source> CounterProbe<S> {
    /// Looks everything up again if the catalogue changed. Answers whether
    /// something has another index than before: a sample that was asked for
    /// with those of before is not what it seems.
    ///
    /// # Errors
    /// Where the catalogue changed and cannot be read; the next call tries
    /// again.
    pub(super) fn follow_catalogue(&mut self) -> Result<bool, SourceError> {
        let generation = self.source.catalogue_generation();
        if generation == self.generation {
            return Ok(false);
        }
        let catalogue = self.source.catalogue()?;
        let titles = titles_of(&mut self.source, &catalogue)?;
        let mut moved = false;
        for (number, probed) in self.objects.iter_mut().enumerate() {
            moved |= probed.look_up(number, &mut self.targets, &catalogue, &titles);
        }
        self.request.objects = crate::ObjectQuery::Indexes(Vec::new());
        for probed in self.objects.iter().filter(|probed| probed.is_there) {
            self.request.objects.insert(probed.name);
        }
        self.request.extra_counters.clear();
        for target in self.targets.iter().filter(|target| target.on_request && target.is_there) {
            let object = self.objects.get(target.object).filter(|probed| probed.is_there);
            let extra = object.map(|probed| (probed.name, target.counter));
            self.request.extra_counters.extend(extra);
        }
        self.generation = generation;
        Ok(moved)
    }
}

impl Probed {
    /// Looks up an object and its counters. Answers whether one has another
    /// index than before, or has none any more.
    fn look_up(
        &mut self,
        number: usize,
        targets: &mut [Target],
        catalogue: &Catalogue,
        titles: &TitleDatabase,
    ) -> bool {
        let is_mine = |object: &&CatalogueObject| title(titles, object.name) == self.title;
        // Several may have one name: it stays the same one if it can.
        let same = catalogue.object(self.name).filter(is_mine);
        let object = same.or_else(|| catalogue.objects.iter().find(is_mine));
        let known = match object {
            Some(object) => Some((object.name, true)),
            // Not delivered at the moment; unless its index is another's now.
            None if catalogue.object(self.name).is_none() => Some((self.name, true)),
            None => None,
        };
        let (name, is_there) = known.unwrap_or((self.name, false));
        let mut moved = (name, is_there) != (self.name, self.is_there);
        (self.name, self.is_there) = (name, is_there);
        let mine = |target: &&mut Target| target.object == number;
        if let Some(object) = object {
            for target in targets.iter_mut().filter(mine) {
                moved |= target.look_up(object, titles);
            }
        }
        if !moved {
            return false;
        }
        // Without a sample before it nobody knows which of several equals is
        // which.
        let last = self.state.current().or(self.state.previous());
        for one in targets.iter_mut().filter(mine).filter_map(|target| target.one.as_mut()) {
            let named = one.identity.as_ref().filter(|id| matches!(id, Identity::Named { .. }));
            one.lost |= named.is_some_and(|id| !last.is_some_and(|last| last.is_alone(id)));
        }
        self.state = ObjectState::default();
        self.moved = true;
        true
    }
}

impl Target {
    /// The same for a counter.
    fn look_up(&mut self, object: &CatalogueObject, titles: &TitleDatabase) -> bool {
        let is_mine = |name| title(titles, name) == self.name.sensor();
        let same = object.counter(self.counter).filter(|counter| is_mine(counter.name));
        let found = same.or_else(|| object.counters.iter().find(|counter| is_mine(counter.name)));
        let (counter, is_there) = match found {
            Some(found) => (found.name, true),
            // Its data may still come; unless its index is another's now.
            None => (self.counter, object.counter(self.counter).is_none()),
        };
        let moved = (counter, is_there) != (self.counter, self.is_there);
        (self.counter, self.is_there) = (counter, is_there);
        moved
    }
}
