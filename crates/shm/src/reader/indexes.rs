//! The title indexes of published categories. A category of the same name and counters gets the
//! same indexes for as long as they are remembered.

use super::definition::FileDefinition;
use super::provider::CategoryProvider;
use crate::os::User;
use perfhive_engine::CHOSEN_INDEXES;
use perfhive_format::TitleIndex;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// The most remembered categories of a user, besides those published now, so that a user cannot
/// fill a reader's memory with names.
const MOST_OF_A_USER: usize = 2048;

/// Two hashes of the name and counters of a category, which programs cannot predict.
type Key = (u64, u64);

/// A remembered category: its first index, and the user that published it.
struct Known {
    index: u32,
    user: User,
    /// The value of [`Indexes::asked`] when the index was last used.
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

    /// The first title index of a user's category, allotted if the category is new. The indexes in
    /// `in_use` stay with their categories. `None` if no indexes are left.
    pub(super) fn index(
        &mut self,
        definition: &FileDefinition,
        user: &User,
        in_use: impl Fn() -> Vec<Range<u32>>,
    ) -> Option<TitleIndex> {
        let key = self.key(definition);
        self.asked += 1;
        if let Some(known) = self.known.get_mut(&key) {
            known.used = self.asked;
            return Some(TitleIndex(known.index));
        }
        let count = self.counts.entry(user.clone()).or_default();
        *count += 1;
        if *count > MOST_OF_A_USER {
            self.forget(user, &in_use());
        }
        let width = CategoryProvider::indexes(definition);
        let others = if self.again { in_use() } else { Vec::new() };
        let index = match behind(self.next, width, &others) {
            Some(index) => index,
            // All indexes were allotted once: entries that are not in use are forgotten, and
            // allotting begins again.
            None => {
                self.again = true;
                let others = in_use();
                let starts: HashSet<u32> = others.iter().map(|range| range.start).collect();
                self.known.retain(|_, known| starts.contains(&known.index));
                behind(CHOSEN_INDEXES, width, &others)?
            }
        };
        self.next = index + width;
        self.known.insert(key, Known { index, user: user.clone(), used: self.asked });
        Some(TitleIndex(index))
    }

    /// Forgets the older half of a user's entries, except entries in use. Rarely called, since it
    /// looks at all entries.
    fn forget(&mut self, user: &User, in_use: &[Range<u32>]) {
        let starts: HashSet<u32> = in_use.iter().map(|range| range.start).collect();
        let is_old = |known: &Known| known.user == *user && !starts.contains(&known.index);
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

/// The lowest index, from `index` on, at which `width` indexes begin that are in none of `others`;
/// `None` if no indexes are left.
fn behind(mut index: u32, width: u32, others: &[Range<u32>]) -> Option<u32> {
    loop {
        let end = index.checked_add(width)?;
        match others.iter().find(|range| range.start < end && index < range.end) {
            Some(range) => index = range.end,
            None => return Some(index),
        }
    }
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
        let index = |indexes: &mut Indexes, name: &str, in_use: &[Range<u32>]| {
            indexes.index(&category(name), &user, || in_use.to_vec()).unwrap().0
        };
        let first = index(&mut indexes, "first", &[]);
        let second = index(&mut indexes, "second", &[]);
        assert_eq!((first, second), (CHOSEN_INDEXES, CHOSEN_INDEXES + 6));
        let in_use = Range { start: first, end: first + 6 };
        let in_use = std::slice::from_ref(&in_use);
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
