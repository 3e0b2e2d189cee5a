//! The names of a source's objects and counters, and the search for objects by name.

use perfhive_engine::{
    Ask, Catalogue, CatalogueCounter, CatalogueObject, NO_OBJECT, NamePattern, ObjectQuery,
    QueryError, Source, SourceError, TitleSet, unit_of,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::borrow::Cow;
use std::sync::Arc;

/// The catalogue of a source, with the names of its objects and counters.
pub struct Names {
    /// The objects and counters that are known so far.
    pub catalogue: Arc<Catalogue>,
    titles: TitleSet,
    /// Whether every language of the source has been loaded.
    complete: bool,
    /// The source's last error when it was asked for further objects or names, because of which the
    /// catalogue may be incomplete. `None` if there was no error, and after each search by
    /// [`objects`](Self::objects): the error of a search that found nothing is kept elsewhere, for
    /// [`no_such_object`](Self::no_such_object).
    pub unlisted: Option<SourceError>,
    /// Patterns that matched nothing, each with the error of its search.
    failed: Vec<(NamePattern, SourceError)>,
}

impl Names {
    /// Loads the names of one language and of English, and the objects that the source knows without
    /// asking providers.
    ///
    /// # Errors
    /// Where the source's catalogue cannot be read, where the names of a language cannot be read in
    /// time or at the moment, or where reading a language fails and no other is left. A language that
    /// the source does not have is no error.
    pub fn load(source: &mut dyn Source, language: LanguageId) -> Result<Self, SourceError> {
        let catalogue = source.catalogue(&Ask::nothing())?;
        let titles = TitleSet::load([language, LanguageId::ENGLISH], |one| {
            source.titles(one, &Ask::nothing())
        })?;
        Ok(Self { catalogue, titles, complete: false, unlisted: None, failed: Vec::new() })
    }

    /// The names in the languages that are loaded.
    #[must_use]
    pub fn titles(&self) -> &TitleSet {
        &self.titles
    }

    /// The name of an index in the chosen language, or else in another loaded language; the index
    /// itself if it has no name.
    #[must_use]
    pub fn name(&self, index: TitleIndex) -> Cow<'_, str> {
        match self.titles.name(index) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(index.to_string()),
        }
    }

    /// The English name of an index, whatever language is shown; without one the name in another
    /// language, or else the index itself.
    #[must_use]
    pub fn english(&self, index: TitleIndex) -> Cow<'_, str> {
        match self.titles.english_name(index) {
            Some(name) => Cow::Borrowed(name),
            None => self.name(index),
        }
    }

    /// The unit of the values of an object's counter.
    #[must_use]
    pub fn unit(&self, object: TitleIndex, counter: &CatalogueCounter) -> &'static str {
        unit_of(counter.counter_type, &self.english(object), &self.english(counter.name))
    }

    /// The objects that a pattern matches by their name in a language that is loaded, or, if there are none, in
    /// any language of the source. A pattern may have wildcards, or be an index.
    pub fn objects(
        &mut self,
        source: &mut dyn Source,
        pattern: &NamePattern,
    ) -> Vec<CatalogueObject> {
        // An error of an earlier pattern says nothing about this one.
        self.unlisted = None;
        self.failed.retain(|(other, _)| other != pattern);
        let found = self.search(source, pattern);
        if let (Some(error), true) = (self.unlisted.take(), found.is_empty()) {
            self.failed.push((pattern.clone(), error));
        }
        found
    }

    /// The objects that a pattern matches. For a pattern with a wildcard, the source is first asked for its
    /// objects. Then, as long as none is found, it is asked for further objects, and for its other languages.
    fn search(&mut self, source: &mut dyn Source, pattern: &NamePattern) -> Vec<CatalogueObject> {
        if pattern.as_literal().is_none() {
            self.find_out(source, pattern);
        }
        let mut found = self.matching(pattern);
        if found.is_empty() && pattern.as_literal().is_some() {
            // The source may not know the object before it asks a provider.
            self.find_out(source, pattern);
            found = self.matching(pattern);
        }
        if !found.is_empty() {
            return found;
        }
        if !self.complete {
            // The name may be from a language that is not loaded yet.
            let languages = self.catalogue.languages.iter().copied();
            // A language that could not be loaded is tried again by the next search.
            let added = self.titles.add(languages, |one| source.titles(one, &Ask::nothing()));
            self.complete = added.is_ok();
            if let Err(error) = added {
                self.unlisted = Some(error);
            }
            found = self.matching(pattern);
        }
        if found.is_empty() {
            // The name is known only now, and the source may have to ask a provider for its object.
            self.find_out(source, pattern);
            found = self.matching(pattern);
        }
        if found.is_empty() && pattern.as_literal().is_none() {
            // The object may be costly even to list. A literal name needs no list: it was
            // asked for by its indexes.
            self.list_costly(source);
            return self.matching(pattern);
        }
        found
    }

    /// Asks the source, and through it the providers, for the objects that a pattern may mean (for
    /// all objects if the pattern has a wildcard), and keeps the catalogue with them, or the error
    /// in [`unlisted`](Self::unlisted).
    pub fn find_out(&mut self, source: &mut dyn Source, pattern: &NamePattern) {
        let meant = pattern.as_literal().map(|name| self.titles.meant_by(name));
        match meant {
            // A source that cannot tell its names says so with an error.
            Some(meant) if meant.is_empty() => {
                self.look_for(source, &Ask::objects(&[NO_OBJECT]));
            }
            Some(meant) => self.look_for(source, &Ask::objects(&meant)),
            None => self.look_for(source, &Ask::everything()),
        }
    }

    /// Asks the source for the objects with names like an unknown name, so that they can be suggested; an error of the
    /// source is not kept. Asks nothing if an error leaves it unknown whether an object of this name exists.
    pub fn look_near(&mut self, source: &mut dyn Source, name: &str) {
        let near = self.titles.near(name);
        if self.failure(name).is_none() && !near.is_empty() {
            self.look_for(source, &Ask::objects(&near));
            self.unlisted = None;
        }
    }

    /// Replaces the catalogue by the source's answer; an error is kept in
    /// [`unlisted`](Self::unlisted), and the catalogue stays.
    fn look_for(&mut self, source: &mut dyn Source, ask: &Ask) {
        // After an error the objects that are known already are still right.
        match source.catalogue(ask) {
            Ok(catalogue) => self.catalogue = catalogue,
            Err(error) => self.unlisted = Some(error),
        }
    }

    /// Adds the objects that are expensive even to list to the catalogue, or keeps the error in
    /// [`unlisted`](Self::unlisted).
    pub fn list_costly(&mut self, source: &mut dyn Source) {
        let before = self.catalogue.generation;
        let listed = source.catalogue(&Ask::new(ObjectQuery::Costly));
        match listed {
            Ok(catalogue) if catalogue.generation != before => self.catalogue = catalogue,
            Ok(_) => {}
            Err(error) => self.unlisted = Some(error),
        }
    }

    /// The objects of the catalogue that a pattern matches.
    fn matching(&self, pattern: &NamePattern) -> Vec<CatalogueObject> {
        let objects = self.catalogue.objects.iter();
        objects.filter(|object| self.is_meant(pattern, object.name)).cloned().collect()
    }

    /// Whether a pattern matches a name of the index, or is the index itself. `*` also matches an index
    /// without a name.
    #[must_use]
    pub fn is_meant(&self, pattern: &NamePattern, index: TitleIndex) -> bool {
        self.titles.names(index).any(|name| pattern.matches(name))
            || pattern.as_literal().is_some_and(|literal| literal == index.to_string())
            || (pattern.is_any() && self.titles.name(index).is_none())
    }

    /// The error that leaves it unknown whether an object of this name exists; `None` if there was no error.
    fn failure(&self, text: &str) -> Option<&SourceError> {
        let pattern = NamePattern::with_wildcards(text);
        let is_it = |one: &NamePattern| *one == pattern || one.to_string() == text;
        let failed = self.failed.iter().find(|(one, _)| is_it(one)).map(|(_, error)| error);
        failed.or(self.unlisted.as_ref()).or(self.titles.lacks())
    }

    /// The error for an unknown object, with the nearest names. If an error of the source leaves it
    /// unknown whether the object exists, that error is returned instead.
    #[must_use]
    pub fn no_such_object(&self, name: &str) -> QueryError {
        if let Some(error) = self.failure(name) {
            let message = format!(
                "object {name:?} is not among those that are listed, and others cannot be: {}",
                error.message()
            );
            let error = SourceError::new(error.kind(), error.source_name(), message);
            return QueryError::Source(error);
        }
        let objects: Vec<_> = self.catalogue.objects.iter().map(|object| object.name).collect();
        let nearest = self.titles.suggestions(name, &objects);
        QueryError::UnknownObject { name: name.to_string(), nearest }
    }

    /// The error for an unknown counter of an object, with the nearest names. If a counter has no name
    /// because a title list cannot be read, the error of reading that list is returned instead.
    #[must_use]
    pub fn no_such_counter(&self, object: &CatalogueObject, name: &str) -> QueryError {
        let is_unnamed = |counter: &CatalogueCounter| self.titles.name(counter.name).is_none();
        if object.counters.iter().any(is_unnamed)
            && let Some(error) = self.titles.cannot_tell(name)
        {
            return QueryError::Source(error);
        }
        let counters: Vec<_> = object.counters.iter().map(|counter| counter.name).collect();
        let nearest = self.titles.suggestions(name, &counters);
        let object = self.name(object.name).into_owned();
        QueryError::UnknownCounter { object, name: name.to_string(), nearest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::{Snapshot, SourceErrorKind, TitleDatabase};
    use perfhive_format::titles::{Title, TitleList};

    /// A source that knows two names; the provider of one of them does not answer.
    struct Failing;

    impl Source for Failing {
        fn name(&self) -> &str {
            "failing:"
        }

        fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            out.clear();
            Ok(())
        }

        fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            match ask.objects == ObjectQuery::one(TitleIndex(10)) {
                true => Err(SourceError::new(SourceErrorKind::Deadline, "failing:", "it hangs")),
                false => Ok(Arc::default()),
            }
        }

        fn titles(
            &mut self,
            language: LanguageId,
            _: &Ask,
        ) -> Result<Arc<TitleDatabase>, SourceError> {
            let titles = [(10, "Stuck"), (20, "Sound")];
            let titles = titles
                .map(|(index, text)| Title { index: TitleIndex(index), text: text.to_string() });
            let list = TitleList::from(Vec::from(titles));
            Ok(Arc::new(TitleDatabase::from_lists(language, [&list], [])))
        }
    }

    #[test]
    fn an_error_of_one_name_is_not_reported_for_another() {
        let mut names = Names::load(&mut Failing, LanguageId::ENGLISH).unwrap();
        // A command searches for all names before it reports any.
        for name in ["Stuck", "Sound", "Xyzzy"] {
            assert!(names.objects(&mut Failing, &NamePattern::with_wildcards(name)).is_empty());
        }
        for (name, hangs) in [("Stuck", true), ("Sound", false), ("Xyzzy", false)] {
            names.look_near(&mut Failing, name);
            let told = match (names.no_such_object(name), hangs) {
                (QueryError::Source(error), true) => error.message().contains("it hangs"),
                (QueryError::UnknownObject { .. }, false) => true,
                _ => false,
            };
            assert!(told, "{name}: {:?}", names.no_such_object(name));
        }
    }

    /// A source with a damaged German title list.
    struct Damaged;

    impl Source for Damaged {
        fn name(&self) -> &str {
            "damaged:"
        }
        fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            out.clear();
            Ok(())
        }
        fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            Ok(Arc::default())
        }
        fn titles(
            &mut self,
            language: LanguageId,
            _: &Ask,
        ) -> Result<Arc<TitleDatabase>, SourceError> {
            if language == LanguageId::GERMAN {
                let kind = SourceErrorKind::Malformed;
                return Err(SourceError::new(kind, "damaged:", "its names are damaged"));
            }
            Ok(Arc::new(TitleDatabase::from_lists(language, [], [])))
        }
    }

    #[test]
    fn a_damaged_title_list_is_the_reason_why_names_lack() {
        for (language, lacks) in [(LanguageId::GERMAN, true), (LanguageId::ENGLISH, false)] {
            let names = Names::load(&mut Damaged, language).unwrap();
            assert_eq!(names.titles().lacks().is_some(), lacks);
        }
    }
}
