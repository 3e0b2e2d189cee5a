//! A category, or one of its counters, found again by name when the catalogue changes: see
//! [`Followed`].

use crate::shared_source::{SampledObject, SharedSource};
use perfhive_engine::{
    Ask, CatalogueCounter, CatalogueObject, Directory, Followed, INDEX_TAKEN, IndexChange,
    QueryError, SourceError, changing, sample_followed,
};
use perfhive_format::TitleIndex;
use std::sync::Arc;

/// The category that a `Category` or `PerformanceCounter` reads, found again by name when title
/// indexes change; of a `PerformanceCounter` also the counter.
#[derive(Clone)]
pub(super) struct TrackedCategory {
    /// The directory in which the category was found last.
    pub(super) directory: Directory,
    /// The catalogue's entry of the category in that directory.
    pub(super) object: Arc<CatalogueObject>,
    /// The catalogue's entry of the counter in that directory; `None` for a `Category`.
    pub(super) counter: Option<CatalogueCounter>,
    /// The generation of the catalogue for which the title indexes were looked up.
    generation: u64,
    pub(super) object_index: Followed,
    counter_index: Option<Followed>,
    /// Whether the samples taken so far may belong to another category or counter, because a title
    /// index changed its owner. The flag stays set until the next sample is taken, even if calls fail
    /// in between.
    is_taken: bool,
}

impl TrackedCategory {
    /// Follows a category that was asked for by the name `asked`, and, if given, one of its
    /// counters with the name that the counter was asked for by.
    pub(super) fn new(
        directory: &Directory,
        object: &CatalogueObject,
        asked: &str,
        counter: Option<(&CatalogueCounter, &str)>,
    ) -> Self {
        let follow = |(counter, asked): (&CatalogueCounter, &str)| {
            Followed::counter(directory, object, asked, counter.name)
        };
        Self {
            generation: directory.generation,
            object: Arc::new(object.clone()),
            counter: counter.map(|(counter, _)| *counter),
            object_index: Followed::object(directory, asked, object.name),
            counter_index: counter.map(follow),
            is_taken: false,
            directory: directory.clone(),
        }
    }

    /// Takes a sample that the handle `source` has not had, and returns the category in it, with a
    /// flag that is true if older samples may belong to another category or counter. `want` gets
    /// the category's title index, and returns what a live source is asked for.
    ///
    /// # Errors
    /// A source that fails, a catalogue that cannot be read, or title indexes that change with
    /// every collection.
    pub(super) fn sample(
        &mut self,
        source: &mut SharedSource,
        want: impl Fn(&Self, TitleIndex) -> Ask,
    ) -> Result<(SampledObject, bool), SourceError> {
        let name = source.name();
        let mut reader = (&mut *self, source);
        let sampled = sample_followed(
            &mut reader,
            |(tracked, source)| match tracked.follow(source)? {
                true => Ok(IndexChange::Taken),
                false => Ok(IndexChange::None),
            },
            |(tracked, source)| {
                // A lost category is sampled too: a cache notices changes only when it
                // collects.
                let object = tracked.object_index.last_index();
                source.sample(object, want(tracked, object))
            },
        )?;
        let (sample, _) = sampled.ok_or_else(|| changing(&name))?;
        let sample = if self.is_there() { sample } else { Err(Some(INDEX_TAKEN.into())) };
        Ok((sample, std::mem::take(&mut self.is_taken)))
    }

    /// The title index of the counter now; `None` while that index belongs to another counter, and
    /// for a `Category`.
    pub(super) fn counter_index(&self) -> Option<TitleIndex> {
        self.counter_index.as_ref().and_then(Followed::index)
    }

    /// Whether the category has a title index now; `false` while its last index belongs to another
    /// category.
    pub(super) fn is_there(&self) -> bool {
        self.object_index.index().is_some()
    }

    /// Looks the names up again if the catalogue changed. Returns true if samples from before this
    /// call may belong to another category or counter.
    ///
    /// # Errors
    /// A catalogue or titles that cannot be read; the next call tries again.
    pub(super) fn follow(&mut self, source: &mut SharedSource) -> Result<bool, SourceError> {
        let generation = source.generation()?;
        if generation == self.generation {
            return Ok(false);
        }
        let (category, counter) = (&self.object_index, &self.counter_index);
        let look = |directory: &Directory| {
            let object = directory.catalogue.object_named(&directory.titles, category.asked())?;
            counter.as_ref().map_or(Ok(()), |counter| {
                object.counter_named(&directory.titles, counter.asked()).map(|_| ())
            })
        };
        let now = match source.search(category.asked(), look)? {
            (_, Err(QueryError::Source(error))) => return Err(error),
            (now, _) => now,
        };
        let mut is_taken = self.object_index.follow_object(&now);
        let object = self.object_index.index().and_then(|index| now.catalogue.object(index));
        if let Some(object) = object {
            if let Some(index) = &mut self.counter_index {
                is_taken |= index.follow_counter(&now, object);
                self.counter = object.counter(index.last_index()).copied().or(self.counter);
            }
            self.object = Arc::new(object.clone());
            self.directory = now;
        }
        self.generation = generation;
        self.is_taken |= is_taken;
        Ok(is_taken)
    }
}
