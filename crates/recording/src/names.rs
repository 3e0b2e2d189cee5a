//! Title indexes of recordings: those that are made up for names, and those with two names.

use perfhive_engine::{CatalogueObject, TitleDatabase};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{LanguageId, TitleIndex, winperf};
use std::collections::HashMap;
use std::fmt;

/// The first title index that is made up. Indexes that Windows and perfhive allot to providers lie
/// far below.
const FIRST: u32 = 1 << 30;

/// Whether a title index was made up for a name when a recording was read, since the recording has none for it: a text
/// log has no indexes at all, a binary log none for names that are not in its title list.
#[must_use]
pub fn is_made_up(index: TitleIndex) -> bool {
    index.0 >= FIRST
}

/// Names with their title indexes, which are made up for names without an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct MadeUpNames {
    list: TitleList,
    known: HashMap<String, TitleIndex>,
}

/// The names from which the process or thread of an instance is known, with the title indexes that they have on Windows.
const OF_PROCESSES: [(&str, u32); 4] = [
    ("Process", winperf::PROCESS),
    ("Thread", winperf::THREAD),
    ("ID Process", winperf::ID_PROCESS),
    ("ID Thread", winperf::ID_THREAD),
];

impl MadeUpNames {
    /// A set of names for logs without indexes. The names by which processes and threads are told apart have the
    /// indexes that they have on Windows.
    pub(crate) fn of_processes() -> Self {
        let title =
            |(name, index): (&str, u32)| Title { index: TitleIndex(index), text: name.to_string() };
        let list = TitleList::from(OF_PROCESSES.map(title).to_vec());
        Self::with(&TitleList::default(), &Self { list, known: HashMap::new() })
    }

    /// A set of names in which a name has its first title index in `titles`, unless an earlier
    /// title of the list gives that index another name. Other names keep the indexes that were made
    /// up in `before`.
    pub(crate) fn with(titles: &TitleList, before: &Self) -> Self {
        let mut names = Self { list: before.list.clone(), known: HashMap::new() };
        let mut first: HashMap<TitleIndex, &str> = HashMap::new();
        for title in &titles.titles {
            // An object or counter with the second name of an index would be shown under the first name.
            if *first.entry(title.index).or_insert(&title.text) == title.text {
                names.known.entry(title.text.clone()).or_insert(title.index);
            }
        }
        for title in &before.list.titles {
            names.known.entry(title.text.clone()).or_insert(title.index);
        }
        names
    }

    /// The title index of a name. A name without an index gets a new one.
    pub(crate) fn index(&mut self, name: &str) -> TitleIndex {
        let is_it = |(known, _): &&(&str, u32)| known.eq_ignore_ascii_case(name);
        let of_processes = || self.known.get(OF_PROCESSES.iter().find(is_it)?.0);
        if let Some(index) = self.known.get(name).or_else(of_processes) {
            return *index;
        }
        // Names have even indexes, and their help texts the odd ones behind.
        let index = TitleIndex(FIRST + 2 * self.list.titles.len() as u32);
        self.list.titles.push(Title { index, text: name.to_string() });
        self.known.insert(name.to_string(), index);
        index
    }

    /// The names with title indexes that were made up.
    pub(crate) fn list(&self) -> &TitleList {
        &self.list
    }

    /// The names with title indexes that were made up.
    pub(crate) fn into_list(self) -> TitleList {
        self.list
    }
}

/// The name of each title index in each language; if an index had several names, the first.
#[derive(Default)]
pub(crate) struct NamesByIndex(HashMap<(LanguageId, TitleIndex), Box<str>>);

/// A title index that has one name in an earlier file and another name in a later one.
pub(crate) struct TwoNames {
    index: TitleIndex,
    before: Box<str>,
    later: Box<str>,
}

impl fmt::Display for TwoNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, before, later } = self;
        write!(f, "index {index} has the name {later:?}, and {before:?} before")
    }
}

impl NamesByIndex {
    /// Adds the names of a database. A title index that has a name already keeps it.
    pub(crate) fn add(&mut self, database: &TitleDatabase) {
        for (index, name) in database.all().into_iter().filter(|(_, name)| !name.is_empty()) {
            self.0.entry((database.language(), index)).or_insert_with(|| name.into());
        }
    }

    /// Adds the names that a database has for an object and its counters. A title index that has a
    /// name already keeps it.
    pub(crate) fn add_object(&mut self, object: &CatalogueObject, database: &TitleDatabase) {
        for index in indexes(object) {
            if let Some(name) = database.name(index) {
                self.0.entry((database.language(), index)).or_insert_with(|| name.into());
            }
        }
    }

    /// A title index of an object or of its counters to which a database gives another name than an
    /// earlier file, without regard to case; `None` if there is none.
    pub(crate) fn conflict(
        &self,
        object: &CatalogueObject,
        database: &TitleDatabase,
    ) -> Option<TwoNames> {
        indexes(object).find_map(|index| {
            let before = self.0.get(&(database.language(), index))?;
            let later = database.name(index)?;
            // Names that differ in case only are the same to every reader.
            let is_other = before.to_lowercase() != later.to_lowercase();
            is_other.then(|| TwoNames { index, before: before.clone(), later: later.into() })
        })
    }
}

/// The title indexes of the names of an object and of its counters; the object's comes first.
fn indexes(object: &CatalogueObject) -> impl Iterator<Item = TitleIndex> {
    let counters = object.counters.iter().map(|counter| counter.name);
    std::iter::once(object.name).chain(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_name_of_an_index_gets_an_index_of_its_own() {
        let title = |text: &str| Title { index: TitleIndex(4), text: text.to_string() };
        let list = TitleList::from(vec![title("Memory"), title("Example")]);
        let mut names = MadeUpNames::with(&list, &MadeUpNames::default());
        assert_eq!(names.index("Memory"), TitleIndex(4));
        assert!(is_made_up(names.index("Example")));
    }
}
