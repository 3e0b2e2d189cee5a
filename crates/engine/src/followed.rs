//! Title indexes that change while a reader runs.
//!
//! A reader asks a source for objects by title index, but knows objects and counters by name. A
//! provider that is registered again may get other indexes, and an index that it had before may
//! belong to another object now. So every reader compares the generation of the catalogue before a
//! sample and after it. If the generation changed, the reader looks its names up again; if an index
//! belongs to another object now, the reader takes the sample again ([`sample_followed`]).
//!
//! Several objects of a source may have the same name. A counter path means all of them, so a query
//! resolves its paths again. A category, a counter of a category, and a sensor mean one of them:
//! [`Followed`] remembers which.

use crate::error::{SourceError, SourceErrorKind};
use crate::query::lookup::Directory;
use crate::source::CatalogueObject;
use crate::titles::TitleSet;
use perfhive_format::TitleIndex;

/// What a change of the catalogue means for the sample that a reader took before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexChange {
    /// No index changed its meaning, and the reader has the same objects and counters.
    None,
    /// The reader has more or fewer objects or counters now. The sample is right, but may lack new
    /// objects.
    Others,
    /// A title index belongs to another object or counter now: data that was sampled by that index
    /// must not be used.
    Taken,
}

/// The largest number of attempts to take a sample while title indexes keep changing.
pub(crate) const ATTEMPTS: usize = 3;

/// Takes a sample with `collect`, and takes it again if `follow` then finds a change, at most three
/// times in all. `follow` is also called before the first attempt. Returns the sample, and `true`
/// if an index came to belong to another object or counter since the reader's previous sample. `None` if every
/// attempt met a change and the last one [`IndexChange::Taken`].
///
/// # Errors
/// The errors of `follow` and `collect`.
pub fn sample_followed<R, T, E>(
    reader: &mut R,
    mut follow: impl FnMut(&mut R) -> Result<IndexChange, E>,
    mut collect: impl FnMut(&mut R) -> Result<T, E>,
) -> Result<Option<(T, bool)>, E> {
    let mut is_taken = follow(reader)? == IndexChange::Taken;
    for attempt in 1..=ATTEMPTS {
        let sample = collect(reader)?;
        match follow(reader)? {
            IndexChange::None => return Ok(Some((sample, is_taken))),
            // A new object has no data yet, and its readings say so.
            IndexChange::Others if attempt == ATTEMPTS => return Ok(Some((sample, is_taken))),
            change => is_taken |= change == IndexChange::Taken,
        }
    }
    Ok(None)
}

/// The title index of one object, or of one counter of an object, that a reader knows by
/// name. Several objects of a source, and several counters of an object, may have one name.
///
/// ```
/// use perfhive_engine::{Followed, Lookup};
/// use perfhive_format::TitleIndex;
/// use perfhive_testkit::renumbered::{Renumbered, two};
///
/// // Objects `Custom` and `Other`, with indexes 10 and 20.
/// let source = Renumbered::gauges(&two(10, 20));
/// let mut lookup = Lookup::new(source.clone());
/// lookup.prepare(None)?;
/// let mut custom = Followed::object(lookup.directory(), "Custom", TitleIndex(10));
/// // They exchange their indexes.
/// source.show(&two(20, 10));
/// assert!(lookup.take_change(None)?);
/// assert!(custom.follow_object(lookup.directory()));
/// assert_eq!(custom.index(), Some(TitleIndex(20)));
/// # Ok::<(), perfhive_engine::SourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The text by which a user asked for the object or counter: a name in any language, or an
    /// index.
    asked: String,
    /// The name that the index had when the index was found; `None` if it had none.
    title: Option<String>,
    index: TitleIndex,
    is_there: bool,
    /// The other indexes in the catalogue that `asked` may mean.
    namesakes: Vec<TitleIndex>,
}

impl Followed {
    /// Follows the object that now has the title index `index`. `asked` is the text by which a user
    /// asked for the object: its name in any language, or its index.
    #[must_use]
    pub fn object(directory: &Directory, asked: &str, index: TitleIndex) -> Self {
        Self::new(&directory.titles, asked, index, &|other| directory.has(other))
    }

    /// Follows the counter of `object` that now has the title index `index`. `asked` is the text by
    /// which a user asked for the counter: its name in any language, or its index.
    #[must_use]
    pub fn counter(
        directory: &Directory,
        object: &CatalogueObject,
        asked: &str,
        index: TitleIndex,
    ) -> Self {
        Self::new(&directory.titles, asked, index, &|other| object.counter(other).is_some())
    }

    fn new(
        titles: &TitleSet,
        asked: &str,
        index: TitleIndex,
        is_listed: &dyn Fn(TitleIndex) -> bool,
    ) -> Self {
        let mut namesakes = titles.meant_by(asked);
        namesakes.retain(|other| *other != index && is_listed(*other));
        let title = titles.name(index).map(str::to_string);
        Self { asked: asked.to_string(), title, index, is_there: true, namesakes }
    }

    /// The text by which a user asked for the object or counter: its name, or its index.
    #[must_use]
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// The title index that the object or counter had last, even if the index belongs to another
    /// object or counter now.
    #[must_use]
    pub fn last_index(&self) -> TitleIndex {
        self.index
    }

    /// The title index of the object or counter; `None` while that index belongs to another object
    /// or counter.
    #[must_use]
    pub fn index(&self) -> Option<TitleIndex> {
        self.is_there.then_some(self.index)
    }

    /// Looks for the object in a new directory. If it is found, [`index`](Self::index) then returns
    /// its title index there. Returns `true` if samples taken before must not be compared with new
    /// ones, since they may be of another object.
    pub fn follow_object(&mut self, now: &Directory) -> bool {
        self.follow(&now.titles, &|index| now.has(index))
    }

    /// Looks for the counter among those of `object` in a new directory. If it is found,
    /// [`index`](Self::index) then returns its title index there. Returns `true` if samples taken
    /// before must not be compared with new ones, since they may be of another counter.
    pub fn follow_counter(&mut self, now: &Directory, object: &CatalogueObject) -> bool {
        self.follow(&now.titles, &|index| object.counter(index).is_some())
    }

    fn follow(&mut self, titles: &TitleSet, is_listed: &dyn Fn(TitleIndex) -> bool) -> bool {
        let mut named = titles.meant_by(&self.asked);
        let is_meant = named.contains(&self.index);
        named.retain(|index| is_listed(*index));
        let mut new = named.iter().filter(|index| !self.namesakes.contains(index));
        let found = match (named.contains(&self.index), new.next(), new.next()) {
            (true, ..) => Some(self.index),
            // If a namesake is missing as well, the new index may be that of the namesake.
            (false, Some(one), None) if self.namesakes.iter().all(|n| named.contains(n)) => {
                Some(*one)
            }
            _ => None,
        };
        // An index that is in no list may still be delivered, unless it has another name now.
        let is_anothers = !is_meant && (is_listed(self.index) || titles.name(self.index).is_some());
        let (index, is_there) = match found {
            Some(index) => (index, true),
            None => (self.index, !is_anothers),
        };
        // An object or counter that is asked for by its index is there under any name.
        let mut is_taken =
            self.is_there && is_renamed(self.title.as_deref(), titles.name(self.index));
        is_taken |= (index, is_there) != (self.index, self.is_there);
        if found.is_some() {
            named.retain(|other| *other != index);
            self.namesakes = named;
            self.title = titles.name(index).map(str::to_string);
        }
        (self.index, self.is_there) = (index, is_there);
        is_taken
    }
}

/// Whether the name of an index changed. `false` if the name before or the name now is unknown,
/// which proves nothing.
pub(crate) fn is_renamed(before: Option<&str>, now: Option<&str>) -> bool {
    matches!((before, now), (Some(before), Some(now)) if before != now)
}

/// The reason why a sample lacks an object: its title index belongs to another object now.
pub const INDEX_TAKEN: &str =
    "no object has its name now, and its title index belongs to another object";

/// The error of a source that changed its indexes with every attempt to take a sample.
#[must_use]
pub fn changing(source: &str) -> SourceError {
    let message = "its title indexes change while it is collected; try again";
    SourceError::new(SourceErrorKind::Changing, source, message)
}
