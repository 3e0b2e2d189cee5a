//! Objects and counters by name, in any language of a source, or by index.

use super::error::QueryError;
use crate::path::NamePattern;
use crate::source::{Catalogue, CatalogueCounter, CatalogueObject};
use crate::titles::TitleSet;
use perfhive_format::TitleIndex;

impl Catalogue {
    /// The object with this name in any language of `titles`, without regard to case, or with this
    /// text as its title index. If several objects have the name, it is the one with the smallest
    /// index.
    ///
    /// ```
    /// # let recording = perfhive_testkit::script::recording();
    /// use perfhive_engine::{Ask, Source, TitleSet};
    /// use perfhive_format::LanguageId;
    /// let mut source = recording;
    /// let titles = TitleSet::new(vec![source.titles(LanguageId::ENGLISH, &Ask::nothing())?]);
    /// let catalogue = source.catalogue(&Ask::everything())?;
    /// let system = catalogue.object_named(&titles, "SYSTEM")?;
    /// assert_eq!(system.counter_named(&titles, "context switches/sec")?.name.0, 146);
    /// assert_eq!(system.counter_named(&titles, "146")?.name.0, 146);
    /// let error = system.counter_named(&titles, "Context Switch/sec").unwrap_err();
    /// assert!(error.to_string().contains("did you mean"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::UnknownObject`], with the nearest names.
    pub fn object_named(
        &self,
        titles: &TitleSet,
        name: &str,
    ) -> Result<&CatalogueObject, QueryError> {
        let pattern = NamePattern::literal(name);
        let named = |object: &&CatalogueObject| names_match(titles, &pattern, object.name);
        let found = self.objects.iter().filter(named).min_by_key(|object| object.name);
        found.ok_or_else(|| unknown_object(self, titles, name))
    }
}

impl CatalogueObject {
    /// The counter with this name, found as [`Catalogue::object_named`] finds objects. If several
    /// counters have the name, it is the first one of the object.
    ///
    /// # Errors
    /// [`QueryError::UnknownCounter`], with the nearest names.
    pub fn counter_named(
        &self,
        titles: &TitleSet,
        name: &str,
    ) -> Result<&CatalogueCounter, QueryError> {
        let pattern = NamePattern::literal(name);
        let found = self.counters.iter().find(|c| names_match(titles, &pattern, c.name));
        found.ok_or_else(|| unknown_counter(self, titles, name))
    }
}

pub(super) fn unknown_object(catalogue: &Catalogue, titles: &TitleSet, name: &str) -> QueryError {
    let indexes: Vec<_> = catalogue.objects.iter().map(|object| object.name).collect();
    let nearest = titles.suggestions(name, &indexes);
    QueryError::UnknownObject { name: name.to_string(), nearest }
}

pub(super) fn unknown_counter(
    object: &CatalogueObject,
    titles: &TitleSet,
    name: &str,
) -> QueryError {
    let indexes: Vec<_> = object.counters.iter().map(|counter| counter.name).collect();
    let nearest = titles.suggestions(name, &indexes);
    let object = titles.name_or_index(object.name);
    QueryError::UnknownCounter { object, name: name.to_string(), nearest }
}

/// Whether a text is an index as it is written.
fn is_index(text: &str, index: TitleIndex) -> bool {
    // A text with zeros or a sign before the digits is parsed, too.
    text.parse() == Ok(index.0) && index.to_string() == text
}

/// Whether a pattern matches any name of an index, or is the index as text, which a source without
/// titles shows as the name. `*` matches an index without a name too.
pub(super) fn names_match(titles: &TitleSet, pattern: &NamePattern, index: TitleIndex) -> bool {
    titles.names(index).any(|name| pattern.matches(name))
        || pattern.as_literal().is_some_and(|literal| is_index(literal, index))
        || (pattern.is_any() && titles.name(index).is_none())
}
