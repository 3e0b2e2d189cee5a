//! Title indexes for names of recordings that have names only.

use perfhive_format::TitleIndex;
use perfhive_format::titles::{Title, TitleList};
use std::collections::HashMap;

/// The first index that is made up. Those of Windows and of perfhive lie below.
const FIRST: u32 = 1_000_000;

/// Whether an index was made up for a name: a text log has no indexes, and its names are in its own
/// language; a binary log has none for the names that are not in its title list.
#[must_use]
pub fn is_made_up(index: TitleIndex) -> bool {
    index.0 >= FIRST
}

/// Names with their indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct MadeUpNames {
    list: TitleList,
    known: HashMap<String, TitleIndex>,
}

impl MadeUpNames {
    /// Takes the indexes of these titles for their names, of several the first, and otherwise those
    /// that were made up before.
    pub(crate) fn with(titles: &TitleList, before: &Self) -> Self {
        let mut names = Self { list: before.list.clone(), known: HashMap::new() };
        for title in &titles.titles {
            names.known.entry(title.text.clone()).or_insert(title.index);
        }
        for title in &before.list.titles {
            names.known.entry(title.text.clone()).or_insert(title.index);
        }
        names
    }

    /// The index of a name, made up where it has none.
    pub(crate) fn index(&mut self, name: &str) -> TitleIndex {
        if let Some(index) = self.known.get(name) {
            return *index;
        }
        // Names have even indexes, and their help texts the odd ones behind.
        let index = TitleIndex(FIRST + 2 * self.list.titles.len() as u32);
        self.list.titles.push(Title { index, text: name.to_string() });
        self.known.insert(name.to_string(), index);
        index
    }

    /// The names whose indexes were made up.
    pub(crate) fn list(&self) -> &TitleList {
        &self.list
    }

    /// The names whose indexes were made up.
    pub(crate) fn into_list(self) -> TitleList {
        self.list
    }
}
