//! The known objects and names of a source, and the search for more.
//!
//! A source lists at once only the objects that cost nothing to list. A search for a name finds
//! more: the objects of a provider that has to be asked, names in other languages, objects that are
//! costly to list. [`Lookup::find`] tries these in the order of their cost.

use super::error::QueryError;
use crate::ask::{Ask, NO_OBJECT, ObjectQuery};
use crate::error::SourceError;
use crate::path::NamePattern;
use crate::source::{Catalogue, Source};
use crate::titles::TitleSet;
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::Instant;

/// The known objects of a source and their names, as of one generation of its catalogue.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Directory {
    /// The generation of the source's catalogue when this directory was read.
    pub generation: u64,
    /// The objects that are known so far.
    pub catalogue: Arc<Catalogue>,
    /// The names of objects and counters, those of the shown language first.
    pub titles: Arc<TitleSet>,
}

/// A source with a [`Directory`] of it, to which a search adds what it finds out.
///
/// ```
/// # let recording = perfhive_testkit::script::recording();
/// use perfhive_engine::{Directory, Lookup, NamePattern};
/// let mut lookup = Lookup::new(recording);
/// lookup.prepare(None)?;
/// let look = |directory: &Directory| {
///     directory.catalogue.object_named(&directory.titles, "system").map(|object| object.name)
/// };
/// assert_eq!(lookup.find(&NamePattern::literal("system"), None, look)?.0, 2);
/// # Ok::<(), perfhive_engine::QueryError>(())
/// ```
pub struct Lookup<S> {
    pub(super) source: S,
    directory: Directory,
    /// The language in which names are shown; `None` before the titles were read.
    language: Option<LanguageId>,
    /// Whether the titles of every language are loaded.
    all_languages: bool,
    /// Whether the source was asked to list its costly objects.
    costly: bool,
    /// Whether every object of the source is wanted in the catalogue, not only the objects that
    /// were looked for.
    complete: bool,
    /// The source's error that the last search met and did not return; `None` if there is none.
    failed: Option<SourceError>,
    /// Whether the generation changed since the last call of [`take_change`](Self::take_change).
    changed: bool,
}

impl<S: Source> Lookup<S> {
    /// The lookup of a source, which is not asked yet; call [`prepare`](Self::prepare) next.
    pub fn new(source: S) -> Self {
        Self {
            source,
            directory: Directory::default(),
            language: None,
            all_languages: false,
            costly: false,
            complete: false,
            failed: None,
            changed: false,
        }
    }

    /// Reads catalogue and titles, unless an earlier call has done so. Names are shown in
    /// `language`, or, for `None`, in the language that the source prefers. Returns whether
    /// anything was read.
    ///
    /// # Errors
    /// The source's error if it does not return its catalogue or titles.
    pub fn prepare(&mut self, language: Option<LanguageId>) -> Result<bool, SourceError> {
        if self.language.is_some() {
            return Ok(false);
        }
        let is_live = self.source.recording().is_none();
        let catalogue = self.source.catalogue(&Ask::nothing())?;
        let language = language.unwrap_or_else(|| catalogue.preferred_language(is_live));
        self.load(language, catalogue, &Ask::nothing())?;
        Ok(true)
    }

    /// The objects and names that are known so far.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The result of `look`, which searches the directory for something in the objects that
    /// `object` matches. `look` is called again each time that more of the source is known, until
    /// it succeeds. If `object` has a wildcard, the search does not end before the source was asked
    /// for all objects that it can list at little cost. The source is asked with the deadline
    /// `until`.
    ///
    /// # Errors
    /// The error of `look` after there is nothing more to find out; [`QueryError::Source`] if the
    /// source does not know at present whether the object exists. The next call tries again.
    pub fn find<T>(
        &mut self,
        object: &NamePattern,
        until: Option<Instant>,
        look: impl Fn(&Directory) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        self.search(object, until, &look)
    }

    /// [`find`](Self::find), compiled once for each kind of result.
    fn search<T>(
        &mut self,
        object: &NamePattern,
        until: Option<Instant>,
        look: &dyn Fn(&Directory) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        self.failed = None;
        let mut found = look(&self.directory);
        // A pattern may match more objects than those known so far.
        if (found.is_err() || object.is_wild()) && self.complete(object, until) {
            found = look(&self.directory);
        }
        if found.is_err() && self.load_all_languages(until) {
            found = look(&self.directory);
            if found.is_err() && self.complete(object, until) {
                found = look(&self.directory);
            }
        }
        if matches!(found, Err(QueryError::UnknownObject { .. }))
            && self.look_further(object, until)?
        {
            // A costly object may be known only by a name in another language.
            self.load_all_languages(until);
            found = look(&self.directory);
        }
        found
    }

    /// As [`find`](Self::find) without a deadline. If there is no such object, objects with similar
    /// names are found out, so that the error of `look` can list them.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_or_suggest<T>(
        &mut self,
        object: &NamePattern,
        look: impl Fn(&Directory) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let found = self.search(object, None, &look);
        let Err(QueryError::UnknownObject { .. }) = &found else { return found };
        let near = object.as_literal().map(|name| self.directory.titles.near(name));
        match near.filter(|near| !near.is_empty()) {
            Some(near) if self.find_out(&Ask::objects(&near)) => look(&self.directory),
            _ => found,
        }
    }

    /// Finds out all objects of the source. Costly objects that cannot be listed now are left out.
    ///
    /// # Errors
    /// The source's error if it cannot list its objects.
    pub fn list(&mut self) -> Result<(), SourceError> {
        self.failed = None;
        self.complete = true;
        self.find_out(&Ask::everything());
        let failed = self.failed.take();
        let _ = self.list_costly(None);
        failed.map_or(Ok(()), Err)
    }

    /// Loads the titles of every language of the source. Returns whether there may be more titles
    /// than before. If a language is late, the next call asks for it again, and
    /// [`failure`](Self::failure) returns its error.
    pub fn load_all_languages(&mut self, until: Option<Instant>) -> bool {
        if std::mem::replace(&mut self.all_languages, true) {
            return false;
        }
        let languages = self.directory.catalogue.languages.iter().copied();
        let ask = Ask::nothing().until(until);
        let titles = Arc::make_mut(&mut self.directory.titles);
        titles.add(languages, |language| self.source.titles(language, &ask)).unwrap_or_else(
            |error| {
                self.all_languages = false;
                self.failed = Some(error);
                true
            },
        )
    }

    /// Whether the generation changed since the last call. If it did, catalogue and titles have
    /// been read again.
    ///
    /// # Errors
    /// The source's error if it does not answer, so that the meaning of its indexes is not known.
    /// The next call tries again.
    pub fn take_change(&mut self, until: Option<Instant>) -> Result<bool, SourceError> {
        self.refresh(until)?;
        Ok(std::mem::take(&mut self.changed))
    }

    /// Makes the next [`take_change`](Self::take_change) report the change again, because the
    /// change could not be followed.
    pub(super) fn put_change_back(&mut self) {
        self.changed = true;
    }

    /// The source's error that the last search met and did not return: there may be more objects or
    /// names than the search found. `None` if there is no such error.
    #[must_use]
    pub fn failure(&self) -> Option<&SourceError> {
        self.failed.as_ref()
    }

    /// Replaces the directory by `catalogue` and the titles in `language` and English. If every
    /// object is wanted, the full catalogue is read in place of `catalogue`.
    fn load(
        &mut self,
        language: LanguageId,
        mut catalogue: Arc<Catalogue>,
        ask: &Ask,
    ) -> Result<(), SourceError> {
        // The generation is read first, so that a change during the next requests is noticed.
        let generation = catalogue.generation;
        if self.complete {
            catalogue = self.source.catalogue(&Ask::everything().until(ask.until))?;
        }
        let languages = [language, LanguageId::ENGLISH];
        let titles = TitleSet::load(languages, |language| self.source.titles(language, ask))?;
        self.directory = Directory { generation, catalogue, titles: Arc::new(titles) };
        self.language = Some(language);
        self.all_languages = false;
        Ok(())
    }

    /// Reads catalogue and titles again if the generation changed, and returns whether it did.
    /// `false` before [`prepare`](Self::prepare).
    fn refresh(&mut self, until: Option<Instant>) -> Result<bool, SourceError> {
        let Some(language) = self.language else { return Ok(false) };
        let ask = Ask::nothing().until(until);
        let catalogue = self.source.catalogue(&ask)?;
        if catalogue.generation == self.directory.generation {
            return Ok(false);
        }
        self.load(language, catalogue, &ask)?;
        self.changed = true;
        Ok(true)
    }

    /// Makes the source list its costly objects, unless an earlier call has done so. Returns
    /// whether the catalogue changed by that.
    fn list_costly(&mut self, until: Option<Instant>) -> Result<bool, SourceError> {
        if self.costly {
            return Ok(false);
        }
        self.source.catalogue(&Ask::new(ObjectQuery::Costly).until(until))?;
        self.costly = true;
        self.refresh(until)
    }

    /// Makes the source find out which objects have the name `object` or, for a pattern with a
    /// wildcard, which objects there are. Returns as [`find_out`](Self::find_out).
    fn complete(&mut self, object: &NamePattern, until: Option<Instant>) -> bool {
        let ask = match object.as_literal() {
            Some(name) => {
                let mut meant = self.directory.titles.meant_by(name);
                if meant.is_empty() {
                    // A source that cannot tell its names says so with an error.
                    meant.push(NO_OBJECT);
                }
                Ask::objects(&meant)
            }
            None => {
                self.complete = true;
                Ask::everything()
            }
        };
        self.find_out(&ask.until(until))
    }

    /// Makes the source find out the objects of `ask`. Returns whether the directory has another
    /// catalogue now; `false` also after an error of the source, which is kept as the
    /// [`failure`](Self::failure).
    fn find_out(&mut self, ask: &Ask) -> bool {
        match self.source.catalogue(ask) {
            Ok(catalogue) if *catalogue != *self.directory.catalogue => {
                let all_languages = self.all_languages;
                // The titles may have changed with the catalogue.
                if let Err(error) = self.refresh(ask.until) {
                    self.failed = Some(error);
                    return false;
                }
                if all_languages {
                    self.load_all_languages(ask.until);
                }
                self.directory.catalogue = catalogue;
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }

    /// The last step for an object that was not found. For a pattern, which may match a costly
    /// object, the costly objects are listed; returns whether the catalogue changed, so that
    /// looking again may help, or an error if the source could not say it. For a name, the source
    /// was asked for all indexes of the name before: returns `false`, or an error if not all names
    /// could be read or looked for.
    fn look_further(
        &mut self,
        object: &NamePattern,
        until: Option<Instant>,
    ) -> Result<bool, QueryError> {
        let Some(name) = object.as_literal() else {
            if self.list_costly(until)? {
                return Ok(true);
            }
            return self.failed.take().map_or(Ok(false), |error| Err(error.into()));
        };
        let error = self.failed.take().or_else(|| self.directory.titles.cannot_tell(name));
        error.map_or(Ok(false), |error| Err(error.into()))
    }
}

impl Directory {
    /// Whether the catalogue lists an object with this title index.
    pub(crate) fn has(&self, object: TitleIndex) -> bool {
        self.catalogue.object(object).is_some()
    }
}
