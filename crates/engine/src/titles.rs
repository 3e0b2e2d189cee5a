//! Names and help texts by index, and indexes by name, in several languages.

use crate::error::{SourceError, SourceErrorKind};
use crate::suggest::{fold, nearest};
use perfhive_format::titles::TitleList;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

/// The names and help texts of one language.
#[derive(Debug)]
pub struct TitleDatabase {
    language: LanguageId,
    names: BTreeMap<TitleIndex, Box<str>>,
    help: BTreeMap<TitleIndex, Box<str>>,
    /// For each name, in lower case, its title indexes in ascending order. The map is made at the
    /// first use, since most readers only look up names by index.
    by_name: OnceLock<HashMap<String, Vec<TitleIndex>>>,
    /// The error of a list of names that could not be read; `None` if there is no such list.
    lacks: Option<SourceError>,
    /// Whether the names, or some of them, are those that every Windows has for the indexes,
    /// because the source has no names in this language.
    assumed: bool,
}

/// The largest number of names that count as near to an unknown name, names of counters included.
const NEAR: usize = 32;

impl TitleDatabase {
    /// A database from a list of names and a list of help texts. If an index has several texts, the
    /// first counts.
    #[must_use]
    pub fn new(language: LanguageId, names: &TitleList, help: &TitleList) -> Self {
        Self::from_lists(language, [names], [help])
    }

    /// A database from the lists of several providers. If an index has several texts, the first
    /// counts.
    pub fn from_lists<'a>(
        language: LanguageId,
        names: impl IntoIterator<Item = &'a TitleList>,
        help: impl IntoIterator<Item = &'a TitleList>,
    ) -> Self {
        fn add(map: &mut BTreeMap<TitleIndex, Box<str>>, list: &TitleList) {
            for title in &list.titles {
                map.entry(title.index).or_insert_with(|| title.text.as_str().into());
            }
        }
        let mut database = Self::empty(language);
        names.into_iter().for_each(|list| add(&mut database.names, list));
        help.into_iter().for_each(|list| add(&mut database.help, list));
        database
    }

    fn empty(language: LanguageId) -> Self {
        let (names, help) = (BTreeMap::new(), BTreeMap::new());
        Self { language, names, help, by_name: OnceLock::new(), lacks: None, assumed: false }
    }

    /// A database of the English names that every Windows has for the indexes of its common
    /// objects. Indexes without a name in `known` are left out.
    fn assumed_english(known: &Self) -> Self {
        let lines = include_str!("standard/english.txt").lines();
        let title = |line: &'static str| {
            let (index, name) = line.split_once(' ')?;
            Some((TitleIndex(index.parse().ok()?), name))
        };
        let mut database = Self::empty(LanguageId::ENGLISH);
        for (index, name) in lines.filter_map(title) {
            if known.name(index).is_some() {
                database.names.insert(index, name.into());
            }
        }
        database.assumed = true;
        database
    }

    /// Whether the names, or some of them, are assumed: the source has names, but not in English,
    /// and these are the English names that its indexes have on every Windows.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// The same titles, with the titles of `other` added for indexes that have none here, or an
    /// empty one.
    #[must_use]
    pub fn completed_by(&self, other: &Self) -> Self {
        let fill = |mine: &BTreeMap<TitleIndex, Box<str>>, theirs: &BTreeMap<_, Box<str>>| {
            let mut map = mine.clone();
            for (index, text) in theirs {
                let place = map.entry(*index).or_default();
                if place.is_empty() {
                    place.clone_from(text);
                }
            }
            map
        };
        Self {
            language: self.language,
            names: fill(&self.names, &other.names),
            help: fill(&self.help, &other.help),
            by_name: OnceLock::new(),
            lacks: self.lacks.clone().or_else(|| other.lacks.clone()),
            assumed: self.assumed || other.assumed,
        }
    }

    /// The same titles, marked as incomplete because a list could not be read; `why` is the error
    /// of that list.
    #[must_use]
    pub fn lacking(&self, why: SourceError) -> Self {
        let (names, help) = (self.names.clone(), self.help.clone());
        let (language, by_name) = (self.language, OnceLock::new());
        Self { language, names, help, by_name, lacks: Some(why), assumed: self.assumed }
    }

    /// The error of a list of names that could not be read; `None` if all names are there. With an
    /// error, a name that is not found may still exist.
    #[must_use]
    pub fn lacks(&self) -> Option<&SourceError> {
        self.lacks.as_ref()
    }

    /// The language.
    #[must_use]
    pub fn language(&self) -> LanguageId {
        self.language
    }

    /// The number of names, empty ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of an index; `None` if it has none or an empty one.
    #[must_use]
    pub fn name(&self, index: TitleIndex) -> Option<&str> {
        self.names.get(&index).map(|name| &**name).filter(|name| !name.is_empty())
    }

    /// The help text with this help index, which is not the index of the name; `None` if there is
    /// none or an empty one.
    #[must_use]
    pub fn help(&self, index: TitleIndex) -> Option<&str> {
        self.help.get(&index).map(|text| &**text).filter(|text| !text.is_empty())
    }

    /// The indexes that have this name, without regard to case, in ascending order. A name may have
    /// many indexes; the object decides which of them is meant.
    #[must_use]
    pub fn indexes(&self, name: &str) -> &[TitleIndex] {
        let map = self.by_name.get_or_init(|| {
            let mut map: HashMap<String, Vec<TitleIndex>> = HashMap::new();
            for (index, name) in self.all() {
                map.entry(fold(name)).or_default().push(index);
            }
            map
        });
        map.get(&fold(name)).map_or(&[], Vec::as_slice)
    }

    /// Every title index in the list of names, with its name, which may be empty, in ascending
    /// order of the indexes.
    #[must_use]
    pub fn all(&self) -> Vec<(TitleIndex, &str)> {
        in_order(&self.names)
    }

    /// Every help index in the list of help texts, with its text, which may be empty, in ascending
    /// order of the indexes.
    #[must_use]
    pub fn all_help(&self) -> Vec<(TitleIndex, &str)> {
        in_order(&self.help)
    }

    /// The highest index of a name (`Last Counter`); 0 if there is none.
    #[must_use]
    pub fn last_counter(&self) -> TitleIndex {
        self.names.last_key_value().map_or(TitleIndex(0), |(index, _)| *index)
    }
}

fn in_order(texts: &BTreeMap<TitleIndex, Box<str>>) -> Vec<(TitleIndex, &str)> {
    texts.iter().map(|(index, text)| (*index, &**text)).collect()
}

/// The title databases of several languages. Names are shown in the first language and recognised
/// in all.
#[derive(Clone, Debug, Default)]
pub struct TitleSet {
    databases: Vec<Arc<TitleDatabase>>,
    /// The error of the first language that could not be read; `None` if there is no such language.
    /// A language that the source does not have, or that was late, does not count.
    lacks: Option<SourceError>,
}

impl TitleSet {
    /// A set of these databases. Names are shown in the language of the first, and recognised in
    /// all of them.
    #[must_use]
    pub fn new(databases: Vec<Arc<TitleDatabase>>) -> Self {
        Self { databases, lacks: None }
    }

    /// A set with the titles of `languages`. A language that the source does not have is left out. So is a language
    /// with a list that cannot be read; [`lacks`](Self::lacks) returns the error. Names are shown in the first
    /// language that was loaded. If the source does not have English although it is among `languages`, the English
    /// names are [assumed](TitleDatabase::is_assumed), with the feature `languages`.
    ///
    /// # Errors
    /// The error of a language that is late or cannot be read just now
    /// ([`SourceError::is_transient`]); the error of a language that cannot be read, if no other
    /// language is left.
    pub fn load(
        languages: impl IntoIterator<Item = LanguageId>,
        titles: impl FnMut(LanguageId) -> Result<Arc<TitleDatabase>, SourceError>,
    ) -> Result<Self, SourceError> {
        let mut set = Self::default();
        set.add(languages, titles)?;
        match set.lacks {
            Some(error) if set.databases.is_empty() => Err(error),
            _ => Ok(set),
        }
    }

    /// Loads those of `languages` that the set does not have, as [`load`](Self::load) does. Returns
    /// whether any was added.
    ///
    /// # Errors
    /// The error of a language that is late or cannot be read just now
    /// ([`SourceError::is_transient`]). The other languages are added.
    pub fn add(
        &mut self,
        languages: impl IntoIterator<Item = LanguageId>,
        mut titles: impl FnMut(LanguageId) -> Result<Arc<TitleDatabase>, SourceError>,
    ) -> Result<bool, SourceError> {
        self.add_each(&mut languages.into_iter(), &mut titles)
    }

    /// [`add`](Self::add), compiled once.
    fn add_each(
        &mut self,
        languages: &mut dyn Iterator<Item = LanguageId>,
        titles: &mut dyn FnMut(LanguageId) -> Result<Arc<TitleDatabase>, SourceError>,
    ) -> Result<bool, SourceError> {
        let before = self.databases.len();
        let mut late = None;
        let mut has_no_english = false;
        for language in languages {
            if self.databases.iter().any(|known| known.language() == language) {
                continue;
            }
            match titles(language) {
                Ok(database) => self.databases.push(database),
                Err(error) if error.kind() == SourceErrorKind::NotFound => {
                    has_no_english |= language == LanguageId::ENGLISH;
                }
                Err(error) if error.is_transient() => {
                    late.get_or_insert(error);
                }
                Err(error) => {
                    self.lacks.get_or_insert(error);
                }
            }
        }
        let assumes = has_no_english && cfg!(feature = "languages");
        if let (true, Some(shown)) = (assumes, self.databases.first()) {
            let english = TitleDatabase::assumed_english(shown);
            if !english.is_empty() {
                self.databases.push(Arc::new(english));
            }
        }
        late.map_or(Ok(self.databases.len() > before), Err)
    }

    /// The error of a list of names that could not be read; `None` if there is no such list.
    #[must_use]
    pub fn lacks(&self) -> Option<&SourceError> {
        let of_one = self.databases.iter().find_map(|database| database.lacks());
        self.lacks.as_ref().or(of_one)
    }

    /// The error for a name that is not found although it may exist, because some names could not
    /// be read. `None` if all names could be read.
    #[must_use]
    pub fn cannot_tell(&self, name: &str) -> Option<SourceError> {
        let why = self.lacks()?;
        let message = format!(
            "whether there is a {name:?} is not known, since not all names can be read: {}",
            why.message()
        );
        Some(SourceError::new(why.kind(), why.source_name(), message))
    }

    /// The databases, the shown one first.
    #[must_use]
    pub fn databases(&self) -> &[Arc<TitleDatabase>] {
        &self.databases
    }

    /// The language in which names are shown; `None` for an empty set.
    #[must_use]
    pub fn language(&self) -> Option<LanguageId> {
        self.databases.first().map(|database| database.language())
    }

    /// The name of an index in the shown language, or else in any other; `None` without a name.
    #[must_use]
    pub fn name(&self, index: TitleIndex) -> Option<&str> {
        self.databases.iter().find_map(|database| database.name(index))
    }

    /// The English name of an index; `None` if there is none.
    #[must_use]
    pub fn english_name(&self, index: TitleIndex) -> Option<&str> {
        self.databases.iter().find(|one| one.language() == LanguageId::ENGLISH)?.name(index)
    }

    /// The name of an index or, without a name, the index as text.
    #[must_use]
    pub fn name_or_index(&self, index: TitleIndex) -> String {
        self.name(index).map_or_else(|| format!("{index}"), str::to_string)
    }

    /// The help text with this help index in the shown language, or else in any other; `None`
    /// without a help text.
    #[must_use]
    pub fn help(&self, index: TitleIndex) -> Option<&str> {
        self.databases.iter().find_map(|database| database.help(index))
    }

    /// The title indexes that have this name in any of the languages, without regard to case and
    /// without duplicates.
    #[must_use]
    pub fn indexes(&self, name: &str) -> Vec<TitleIndex> {
        let mut found = Vec::new();
        for index in self.databases.iter().flat_map(|database| database.indexes(name)) {
            if !found.contains(index) {
                found.push(*index);
            }
        }
        found
    }

    /// The title indexes that a text may mean: the indexes with that name and, if the text is a
    /// number, the index with that number.
    #[must_use]
    pub fn meant_by(&self, text: &str) -> Vec<TitleIndex> {
        let mut meant = self.indexes(text);
        meant.extend(text.parse().ok().map(TitleIndex));
        meant
    }

    /// The title indexes of the names that resemble an unknown name most, at most 64, the nearest
    /// first. An index may be that of a counter, or of an object that does not exist; only the
    /// source knows that.
    #[must_use]
    pub fn near(&self, name: &str) -> Vec<TitleIndex> {
        let mut names: Vec<&str> = Vec::new();
        for database in &self.databases {
            names.extend(database.names.values().map(|name| &**name));
        }
        let mut found = Vec::new();
        for name in nearest(name, names, NEAR) {
            for index in self.indexes(name) {
                if found.len() < 2 * NEAR && !found.contains(&index) {
                    found.push(index);
                }
            }
        }
        found
    }

    /// At most three of the names of these indexes: those that resemble the unknown name most in
    /// any language. The names are given in the shown language.
    #[must_use]
    pub fn suggestions(&self, name: &str, indexes: &[TitleIndex]) -> Vec<String> {
        let mut names = Vec::new();
        for index in indexes {
            names.extend(self.names(*index));
        }
        let mut found: Vec<String> = Vec::new();
        for near in nearest(name, names, 3) {
            let index = indexes.iter().find(|index| self.names(**index).any(|one| one == near));
            let shown = index.and_then(|index| self.name(*index)).unwrap_or(near);
            if !found.iter().any(|one| one == shown) {
                found.push(shown.to_string());
            }
        }
        found
    }

    /// The names of an index in all languages, that in the shown language first.
    pub fn names(&self, index: TitleIndex) -> impl Iterator<Item = &str> {
        self.databases.iter().filter_map(move |database| database.name(index))
    }
}
