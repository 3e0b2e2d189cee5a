//! Title indexes that change while a probe context measures.
//!
//! What is asked of a source are indexes, and those of a provider that is
//! registered anew are others; an index of before may be another counter's.
//! Names stay: as soon as the catalogue has another generation, every object
//! and counter is looked up by its name again.

use super::known::{follow_counter, follow_object, titles_of};
use super::{CounterProbe, Probed, Target};
use crate::ask::Ask;
use crate::error::SourceError;
use crate::identity::Identity;
use crate::query::sample::ObjectState;
use crate::source::{Catalogue, CatalogueObject, Source};
use crate::titles::TitleDatabase;
use perfhive_format::TitleIndex;

impl<S: Source> CounterProbe<S> {
    /// Looks everything up again if the catalogue changed. Answers whether
    /// something has another index than before: a sample that was asked for
    /// with those of before is not what it seems.
    ///
    /// # Errors
    /// Where the catalogue changed and cannot be read; the next call tries
    /// again.
    pub(super) fn follow_catalogue(&mut self) -> Result<bool, SourceError> {
        let ask = Ask::nothing();
        let catalogue = self.source.catalogue(&ask)?;
        let generation = catalogue.generation;
        if generation == self.generation {
            return Ok(false);
        }
        let titles = titles_of(&mut self.source, &catalogue, &ask)?;
        // Whoever has the names by now, and nobody else.
        let named = |probed: &Probed| {
            let indexes = titles.indexes(&probed.title).to_vec();
            indexes.into_iter().chain([probed.place.index()])
        };
        let wanted: Vec<TitleIndex> = self.objects.iter().flat_map(named).collect();
        let catalogue = self.source.catalogue(&Ask::objects(&wanted))?;
        let mut moved = false;
        for (number, probed) in self.objects.iter_mut().enumerate() {
            moved |= probed.look_up(number, &mut self.targets, &catalogue, &titles);
        }
        // A cache knows of changes by collections only: without any object there
        // would be none.
        let any = self.objects.iter().any(|probed| probed.place.is_there());
        self.request.objects = crate::ObjectQuery::Indexes(Vec::new());
        for probed in self.objects.iter().filter(|probed| probed.place.is_there() || !any) {
            self.request.objects.insert(probed.place.index());
        }
        self.request.extra_counters.clear();
        for target in self.targets.iter().filter(|target| target.on_request) {
            let object = self.objects.get(target.object).filter(|probed| probed.place.is_there());
            let Some(object) = object.filter(|_| target.counter.is_there()) else { continue };
            let extra = (object.place.index(), target.counter.index());
            if !self.request.extra_counters.contains(&extra) {
                self.request.extra_counters.push(extra);
            }
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
        let mut moved = follow_object(&mut self.place, &self.title, catalogue, titles);
        let mine = |target: &&mut Target| target.object == number;
        let object = catalogue.object(self.place.index()).filter(|_| self.place.is_there());
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
            let Some(named @ Identity::Named { .. }) = &one.identity else { continue };
            one.was_alone = last.map_or(one.was_alone, |last| last.is_alone(named));
            one.lost |= !one.was_alone;
        }
        self.state = ObjectState::default();
        self.moved = true;
        true
    }
}

impl Target {
    /// The same for a counter.
    fn look_up(&mut self, object: &CatalogueObject, titles: &TitleDatabase) -> bool {
        follow_counter(&mut self.counter, &self.title, object, titles)
    }
}
