//! How a probe context follows its objects when the catalogue changes: see
//! [`Followed`](crate::Followed).

use super::list::titles_of;
use super::{CounterProbe, ProbedCounter, ProbedObject};
use crate::ask::Ask;
use crate::error::SourceError;
use crate::followed::IndexChange;
use crate::identity::Identity;
use crate::query::Directory;
use crate::query::sample::ObjectState;
use crate::source::Source;
use perfhive_format::TitleIndex;
use std::time::Instant;

impl<S: Source> CounterProbe<S> {
    /// Looks every object and counter up again if the catalogue changed. Returns
    /// [`IndexChange::Taken`] if an index changed, since a sample by the old indexes may be of
    /// other objects, and otherwise [`IndexChange::None`].
    ///
    /// # Errors
    /// The source's error if its catalogue or titles cannot be read. The next call tries again.
    pub(super) fn follow_catalogue(
        &mut self,
        until: Option<Instant>,
    ) -> Result<IndexChange, SourceError> {
        let ask = Ask::nothing().until(until);
        let catalogue = self.source.catalogue(&ask)?;
        let generation = catalogue.generation;
        if generation == self.generation {
            return Ok(IndexChange::None);
        }
        let titles = titles_of(&mut self.source, &catalogue, &ask)?;
        let meant = |probed: &ProbedObject| {
            let indexes = titles.meant_by(probed.index.asked());
            indexes.into_iter().chain([probed.index.last_index()])
        };
        let wanted: Vec<TitleIndex> = self.objects.iter().flat_map(meant).collect();
        let catalogue = self.source.catalogue(&Ask::objects(&wanted).until(until))?;
        let now = Directory { generation, catalogue, titles };
        let mut change = IndexChange::None;
        for (number, probed) in self.objects.iter_mut().enumerate() {
            if probed.follow(number, &mut self.targets, &now) {
                change = IndexChange::Taken;
            }
        }
        self.note_objects();
        self.request.extra_counters.clear();
        self.request.enough.clear();
        for target in &self.targets {
            let object = self.objects.get(target.object).and_then(|probed| probed.index.index());
            let Some(extra) = object.zip(target.counter.index()) else { continue };
            self.request.enough.push(extra);
            if target.on_request && !self.request.extra_counters.contains(&extra) {
                self.request.extra_counters.push(extra);
            }
        }
        self.note_instances();
        self.generation = generation;
        Ok(change)
    }
}

impl ProbedObject {
    /// Looks up an object and its counters. Returns whether an index changed; if so, the samples of
    /// the object are dropped.
    fn follow(&mut self, number: usize, targets: &mut [ProbedCounter], now: &Directory) -> bool {
        let mut moved = self.index.follow_object(now);
        let mine = |target: &&mut ProbedCounter| target.object == number;
        let object = self.index.index().and_then(|index| now.catalogue.object(index));
        if let Some(object) = object {
            for target in targets.iter_mut().filter(mine) {
                moved |= target.counter.follow_counter(now, object);
            }
        }
        if !moved {
            return false;
        }
        // Without a sample before it, several instances of one name cannot be told apart.
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
