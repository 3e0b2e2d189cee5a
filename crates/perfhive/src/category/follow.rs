//! A category, and a counter of it, through catalogues that change.
//!
//! What is asked of a source are title indexes, and those of a provider that is
//! registered anew are others; an index of before may be another category's.
//! Names stay: whenever the catalogue has another generation, before a sample
//! or after it, they are looked up again.

use super::instances::same_name;
use crate::shared_source::{Names, SharedSource};
use perfhive_engine::{
    CatalogueCounter, CatalogueObject, Followed, ObjectSample, QueryError, SourceError,
    SourceErrorKind,
};
use perfhive_format::TitleIndex;
use std::sync::Arc;

/// How often a sample is taken again because an index went to another while it
/// was taken.
const ATTEMPTS: usize = 3;

/// What is said of a category or counter that is gone.
const NOT_THERE: &str = "nothing has its name any more, and its title index is another's";

/// A sample of an object; without one, the reason if one is known.
pub(super) type Sampled = Result<ObjectSample, Option<Arc<str>>>;

/// A category, and maybe a counter of it, by name.
#[derive(Clone)]
pub(super) struct Tracked {
    /// As of when the category was there last.
    pub(super) names: Names,
    /// As the catalogue had it then.
    pub(super) object: Arc<CatalogueObject>,
    /// The counter, if it is about one, likewise.
    pub(super) counter: Option<CatalogueCounter>,
    /// The names to look up: as they were given.
    asked: (String, Option<String>),
    /// The catalogue's generation as of which they are looked up.
    generation: u64,
    /// Category and counter, once names have changed; until then as above.
    places: Option<(Followed, Option<Followed>)>,
}

impl Tracked {
    /// A category, and maybe a counter of it, under the names that were found.
    pub(super) fn new(
        names: &Names,
        object: &Arc<CatalogueObject>,
        counter: Option<&CatalogueCounter>,
        asked: (String, Option<String>),
    ) -> Self {
        Self {
            generation: names.generation,
            names: names.clone(),
            object: Arc::clone(object),
            counter: counter.copied(),
            asked,
            places: None,
        }
    }

    /// A sample of the category that the handle `source` has not had. Answers
    /// with it whether anything was moved since the last one: what was sampled
    /// then is not to be calculated with.
    ///
    /// # Errors
    /// A source that fails, that cannot say what its indexes mean now, or that
    /// changes that with every collection.
    pub(super) fn sample(
        &mut self,
        source: &mut SharedSource,
        extra: &[TitleIndex],
    ) -> Result<(Sampled, bool), SourceError> {
        let mut moved = self.follow(source)?;
        for _ in 0..ATTEMPTS {
            let on_request = self.counter.filter(|counter| counter.on_request);
            let extra: Vec<TitleIndex> =
                extra.iter().copied().chain(on_request.map(|counter| counter.name)).collect();
            // Of what is gone too: only who collects learns of changes.
            let sample = source.sample(self.index(), &extra)?;
            // What came is what was asked for only if the index still means that.
            if !self.follow(source)? {
                let sample = match self.is_there() {
                    true => sample,
                    false => Err(Some(NOT_THERE.into())),
                };
                return Ok((sample, moved));
            }
            moved = true;
        }
        let message = "its title indexes change while it is collected; try again";
        Err(SourceError::new(SourceErrorKind::Busy, &source.name(), message))
    }

    fn index(&self) -> TitleIndex {
        self.places.as_ref().map_or(self.object.name, |(place, _)| place.index())
    }

    /// The title index of the counter; `None` where it is another's now.
    pub(super) fn counter_index(&self) -> Option<TitleIndex> {
        match &self.places {
            Some((_, place)) => place.as_ref().filter(|p| p.is_there()).map(Followed::index),
            None => self.counter.map(|counter| counter.name),
        }
    }

    /// Whether the category's index is its own.
    pub(super) fn is_there(&self) -> bool {
        self.places.as_ref().is_none_or(|(place, _)| place.is_there())
    }

    /// Looks the names up again if the catalogue changed. Answers whether an
    /// index is another's than before.
    ///
    /// # Errors
    /// Where the catalogue changed and cannot be read; the next call tries
    /// again.
    pub(super) fn follow(&mut self, source: &mut SharedSource) -> Result<bool, SourceError> {
        let generation = source.generation()?;
        if generation == self.generation {
            return Ok(false);
        }
        let (category, counter) = (&self.asked.0, self.asked.1.as_deref());
        let find = |names: &Names| {
            let object = names.catalogue.object_named(&names.titles, category)?;
            counter.map_or(Ok(()), |name| object.counter_named(&names.titles, name).map(|_| ()))
        };
        let names = match source.find(find) {
            Ok((names, ())) => names,
            Err(QueryError::Source(error)) => return Err(error),
            Err(_) => source.names_in_all_languages()?,
        };
        let (mut place, mut counter_place) = self.places.take().unwrap_or_else(|| {
            let counter_place = self.counter.zip(counter).map(|(counter, asked)| {
                Followed::new(counter.name, counters_of(&self.names, &self.object, asked))
            });
            (Followed::new(self.object.name, objects_of(&self.names, category)), counter_place)
        });
        let index = place.index();
        let named: Vec<_> = objects_of(&names, category).collect();
        // In no list, but delivered perhaps; unless another has it.
        let is_listed = names.catalogue.object(index).is_some();
        let in_use = is_listed || names.titles.name(index).is_some();
        let mut moved = is_other(&self.names, &names, index);
        moved |= place.follow(&named, in_use && !means(&names, category, index));
        if let Some(object) = names.catalogue.object(place.index())
            && place.is_there()
        {
            if let (Some(place), Some(asked)) = (&mut counter_place, counter) {
                let index = place.index();
                let named: Vec<_> = counters_of(&names, object, asked).collect();
                moved |= is_other(&self.names, &names, index);
                moved |= place.follow(&named, object.counter(index).is_some());
                self.counter = object.counter(place.index()).copied().or(self.counter);
            }
            self.object = Arc::new(object.clone());
            self.names = names;
        }
        self.places = Some((place, counter_place));
        self.generation = generation;
        Ok(moved)
    }
}

/// Whether an index has another name than it had: asked for by number, it is
/// there still.
fn is_other(before: &Names, now: &Names, index: TitleIndex) -> bool {
    matches!(
        (before.titles.name(index), now.titles.name(index)),
        (Some(old), Some(new)) if old != new
    )
}

/// Whether a name, or a number, means an index.
fn means(names: &Names, asked: &str, index: TitleIndex) -> bool {
    names.titles.names(index).any(|name| same_name(name, asked))
        || asked.starts_with(|c: char| c.is_ascii_digit()) && index.to_string() == asked
}

/// The objects of a name.
fn objects_of<'a>(names: &'a Names, asked: &'a str) -> impl Iterator<Item = TitleIndex> + 'a {
    let objects = names.catalogue.objects.iter().map(|object| object.name);
    objects.filter(move |index| means(names, asked, *index))
}

/// The counters of a name.
fn counters_of<'a>(
    names: &'a Names,
    object: &'a CatalogueObject,
    asked: &'a str,
) -> impl Iterator<Item = TitleIndex> + 'a {
    let counters = object.counters.iter().map(|counter| counter.name);
    counters.filter(move |index| means(names, asked, *index))
}
