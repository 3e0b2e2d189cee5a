//! The title indexes of published categories. A category of the same name and counters gets the
//! same indexes for as long as they are remembered. If the counters of a category change, as with a
//! new version of its program, object and counters that stay keep their indexes.

use super::definition::{FileDefinition, PublishedCounter};
use crate::os::User;
use perfhive_engine::CHOSEN_INDEXES;
use perfhive_format::{CounterType, TitleIndex};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

/// The most remembered categories of a user, besides those published now, so that a user cannot
/// fill a reader's memory with names.
const MOST_OF_A_USER: usize = 2048;

/// Two hashes of the name and counters of a category, which programs cannot predict.
type Key = (u64, u64);

/// The title indexes of the names of a category. The help text of each has the index behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CategoryIndexes {
    pub(super) object: TitleIndex,
    /// The index of each counter, in the order of the definition.
    pub(super) counters: Vec<TitleIndex>,
}

/// A remembered category: its indexes, and the user that published it.
struct Known {
    indexes: Arc<CategoryIndexes>,
    user: User,
    /// The value of [`Indexes::asked`] when the indexes were last used.
    used: u64,
}

/// The title indexes that were allotted to categories.
pub(super) struct Indexes {
    known: HashMap<Key, Known>,
    /// An upper limit to the number of entries of each user: entries that were forgotten because
    /// all indexes were allotted once are not subtracted.
    counts: BTreeMap<User, usize>,
    next: u32,
    /// Whether all indexes were allotted once, so that indexes in use must be avoided.
    again: bool,
    /// The number of calls of [`index`](Self::index).
    asked: u64,
    hashes: [RandomState; 2],
}

impl Indexes {
    pub(super) fn new() -> Self {
        Self {
            known: HashMap::new(),
            counts: BTreeMap::new(),
            next: CHOSEN_INDEXES,
            again: false,
            asked: 0,
            hashes: [RandomState::new(), RandomState::new()],
        }
    }

    /// The title indexes of a user's category. A new category gets new indexes, except for what it
    /// shares with `before`, the category of the same name that was shown until now. Indexes in
    /// `in_use` are not allotted again. `None` if no indexes are left.
    pub(super) fn of(
        &mut self,
        definition: &FileDefinition,
        user: &User,
        before: Option<(&FileDefinition, &CategoryIndexes)>,
        in_use: impl Fn() -> Vec<Arc<CategoryIndexes>>,
    ) -> Option<Arc<CategoryIndexes>> {
        let key = self.key(definition);
        self.asked += 1;
        if let Some(known) = self.known.get_mut(&key) {
            known.used = self.asked;
            return Some(Arc::clone(&known.indexes));
        }
        let count = self.counts.entry(user.clone()).or_default();
        *count += 1;
        if *count > MOST_OF_A_USER {
            self.forget(user, &in_use());
        }
        let before = before.filter(|(before, _)| before.has_instances == definition.has_instances);
        let mut kept = before.map(|(before, indexes)| by_counter(before, indexes));
        let mut kept_of = |counter| kept.as_mut().and_then(|kept| kept.remove(&identity(counter)));
        let counters: Vec<_> = definition.counters.iter().map(&mut kept_of).collect();
        let object = before.map(|(_, indexes)| indexes.object);
        let new = [object].iter().chain(&counters).filter(|index| index.is_none()).count();
        let first = self.allot(2 * new as u32, in_use)?;
        let mut next = (first..).step_by(2).map(TitleIndex);
        let mut or_next = |index: Option<TitleIndex>| index.or_else(|| next.next());
        let object = or_next(object)?;
        let counters = counters.into_iter().map(or_next).collect::<Option<Vec<_>>>()?;
        let indexes = Arc::new(CategoryIndexes { object, counters });
        let known = Known { indexes: Arc::clone(&indexes), user: user.clone(), used: self.asked };
        self.known.insert(key, known);
        Some(indexes)
    }

    /// The first of `width` indexes in a row that no category has; `None` if none are left.
    fn allot(&mut self, width: u32, in_use: impl Fn() -> Vec<Arc<CategoryIndexes>>) -> Option<u32> {
        let others = if self.again { ranges(&in_use()) } else { Vec::new() };
        let index = match behind(self.next, width, &others) {
            Some(index) => index,
            // All indexes were allotted once: entries that are not in use are forgotten, and
            // allotting begins again.
            None => {
                self.again = true;
                let others = in_use();
                let used: HashSet<&Arc<CategoryIndexes>> = others.iter().collect();
                self.known.retain(|_, known| used.contains(&known.indexes));
                behind(CHOSEN_INDEXES, width, &ranges(&others))?
            }
        };
        self.next = index + width;
        Some(index)
    }

    /// Forgets the older half of those entries of a user that are not in use. Rarely called, since
    /// it looks at all entries.
    fn forget(&mut self, user: &User, in_use: &[Arc<CategoryIndexes>]) {
        let used: HashSet<&Arc<CategoryIndexes>> = in_use.iter().collect();
        let is_old = |known: &Known| known.user == *user && !used.contains(&known.indexes);
        let mut ages: Vec<u64> =
            self.known.values().filter(|known| is_old(known)).map(|known| known.used).collect();
        ages.sort_unstable();
        let Some(middle) = ages.get(ages.len() / 2) else { return };
        self.known.retain(|_, known| !is_old(known) || known.used > *middle);
        let left = self.known.values().filter(|known| known.user == *user).count();
        self.counts.insert(user.clone(), left + 1);
    }

    /// The key of a category: its name without regard to case, and its counters.
    fn key(&self, definition: &FileDefinition) -> Key {
        let hash = |state: &RandomState| {
            let mut hasher = state.build_hasher();
            // Texts hold no NUL, so that it separates them.
            let mut text = |text: &str| {
                hasher.write(text.as_bytes());
                hasher.write_u8(0);
            };
            text(&definition.name.to_lowercase());
            definition.counters().for_each(|(name, ..)| text(name));
            hasher.write_u8(definition.has_instances.into());
            for (_, kind, base) in definition.counters() {
                hasher.write_u32(kind.0);
                hasher.write_u32(base.map_or(0, |base| base.0));
            }
            hasher.finish()
        };
        let [first, second] = &self.hashes;
        (hash(first), hash(second))
    }
}

/// The name of a counter, its type and the type of its base. A counter of another version of the
/// category is the same counter if all three are equal.
type Identity<'a> = (&'a str, CounterType, Option<CounterType>);

fn identity(counter: &PublishedCounter) -> Identity<'_> {
    (&counter.name, counter.counter_type, counter.base_type)
}

/// The index of each counter of a category.
fn by_counter<'a>(
    definition: &'a FileDefinition,
    indexes: &CategoryIndexes,
) -> HashMap<Identity<'a>, TitleIndex> {
    definition.counters.iter().map(identity).zip(indexes.counters.iter().copied()).collect()
}

/// The ranges of the indexes of names and help texts that categories have, ascending and apart.
fn ranges(in_use: &[Arc<CategoryIndexes>]) -> Vec<Range<u32>> {
    let of = |one: &Arc<CategoryIndexes>| [&[one.object], &*one.counters].concat();
    let mut all: Vec<u32> = in_use.iter().flat_map(of).map(|index| index.0).collect();
    all.sort_unstable();
    let runs = all.chunk_by(|one, next| next - one == 2);
    runs.filter_map(|run| Some(*run.first()?..*run.last()? + 2)).collect()
}

/// The lowest index, from `index` on, at which `width` indexes begin that are in none of `others`,
/// which ascend; `None` if no indexes are left.
fn behind(mut index: u32, width: u32, others: &[Range<u32>]) -> Option<u32> {
    for range in others {
        if range.start < index.checked_add(width)? && index < range.end {
            index = range.end;
        }
    }
    index.checked_add(width).map(|_| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CounterDeclaration;
    use crate::definition::Declared;
    use crate::os::Owner;
    use perfhive_format::{CounterType, DetailLevel};

    fn category(name: &str) -> FileDefinition {
        let counter = |name| CounterDeclaration::new(name, CounterType::PERF_COUNTER_RAWCOUNT);
        let declared = Declared {
            name: name.to_string(),
            help: String::new(),
            detail: DetailLevel::NOVICE,
            instances: None,
            longest_name: 8,
            counters: vec![counter("a"), counter("b")],
            default_counter: None,
        };
        let places = declared.places().unwrap();
        let mut bytes = declared.encode(&places, &Owner::this(), 1);
        bytes.resize(places.file_size, 0);
        FileDefinition::parse(&bytes, bytes.len() as u64).unwrap()
    }

    fn user() -> User {
        let file = crate::os::Opened::open(&std::env::current_exe().unwrap()).unwrap();
        file.facts().unwrap().user
    }

    #[test]
    fn indexes_in_use_stay_and_old_ones_are_forgotten() {
        let mut indexes = Indexes::new();
        let user = user();
        let of = |indexes: &mut Indexes, name: &str, in_use: &[Arc<CategoryIndexes>]| {
            indexes.of(&category(name), &user, None, || in_use.to_vec()).unwrap()
        };
        let index = |indexes: &mut Indexes, name: &str, in_use: &[Arc<CategoryIndexes>]| {
            of(indexes, name, in_use).object.0
        };
        let in_use = [of(&mut indexes, "first", &[])];
        let first = in_use[0].object.0;
        let second = index(&mut indexes, "second", &[]);
        assert_eq!((first, second), (CHOSEN_INDEXES, CHOSEN_INDEXES + 6));
        let in_use = &in_use;
        for number in 0..2 * MOST_OF_A_USER {
            index(&mut indexes, &format!("n{number}"), in_use);
        }
        assert!(indexes.known.len() <= MOST_OF_A_USER, "{}", indexes.known.len());
        assert_eq!(index(&mut indexes, "FIRST", in_use), first);
        assert!(index(&mut indexes, "second", in_use) > second, "it was forgotten");

        // After the last number, numbers that are not in use are given again.
        indexes.next = u32::MAX - 3;
        assert_eq!(index(&mut indexes, "last", in_use), first + 6);
        assert_eq!(index(&mut indexes, "first", in_use), first);
        assert_eq!(index(&mut indexes, "behind", in_use), first + 12);
    }
}
