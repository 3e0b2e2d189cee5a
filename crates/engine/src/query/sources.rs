//! The sources of a query, chosen by the machine of a path.

use super::QueryError;
use crate::ask::{Ask, NO_OBJECT, ObjectQuery};
use crate::error::SourceError;
use crate::path::NamePattern;
use crate::source::{Catalogue, CatalogueCounter, Source};
use crate::titles::TitleSet;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// Opens the source of a machine on demand.
type Opener = Box<dyn FnMut(&str) -> Result<Box<dyn Source>, SourceError> + Send>;

/// Sources by machine. The first is the default, for paths without a machine.
pub struct SourceSet {
    slots: Vec<Slot>,
    opener: Option<Opener>,
}

/// One source with what is known of it.
pub(super) struct Slot {
    pub(super) source: Box<dyn Source>,
    pub(super) is_live: bool,
    /// The machine as paths may name it; filled when the source is prepared.
    pub(super) machine: Arc<str>,
    /// The name under which the source was added.
    alias: Option<String>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) titles: TitleSet,
    pub(super) wanted: Vec<TitleIndex>,
    pub(super) extra: Vec<(TitleIndex, TitleIndex)>,
    /// What is in `wanted` (without a counter) and `extra`.
    known: HashSet<(TitleIndex, Option<TitleIndex>)>,
    prepared: bool,
    generation: u64,
    /// In which names are shown.
    language: LanguageId,
    all_languages: bool,
    /// Whether the source was asked for what is expensive to list.
    costly: bool,
    /// Whether the catalogue is to have what takes time to find out.
    complete: bool,
    /// Why it could not be found out whether there is what was looked for last.
    failed: Option<SourceError>,
    /// The titles of before a change that the targets have not followed yet.
    before: Option<TitleSet>,
    /// How many samples were taken.
    pub(super) taken: u64,
}

impl SourceSet {
    /// A set with its default source.
    #[must_use]
    pub fn new(source: impl Source + 'static) -> Self {
        Self { slots: vec![Slot::new(Box::new(source), None)], opener: None }
    }

    /// Adds the source of another machine, under the name that paths use.
    #[must_use]
    pub fn with_machine(mut self, machine: &str, source: impl Source + 'static) -> Self {
        self.slots.push(Slot::new(Box::new(source), Some(machine.to_string())));
        self
    }

    /// Sets how the source of a machine that is not in the set is opened.
    #[must_use]
    pub fn with_opener(
        mut self,
        opener: impl FnMut(&str) -> Result<Box<dyn Source>, SourceError> + Send + 'static,
    ) -> Self {
        self.opener = Some(Box::new(opener));
        self
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn slot(&self, number: usize) -> Result<&Slot, QueryError> {
        self.slots.get(number).ok_or_else(no_slot)
    }

    pub(super) fn slot_mut(&mut self, number: usize) -> Result<&mut Slot, QueryError> {
        self.slots.get_mut(number).ok_or_else(no_slot)
    }

    pub(super) fn clear_wants(&mut self) {
        self.slots.iter_mut().for_each(Slot::clear_wants);
    }

    /// Asks a source what it has, once.
    pub(super) fn prepare(
        &mut self,
        number: usize,
        language: Option<LanguageId>,
    ) -> Result<&mut Slot, QueryError> {
        let slot = self.slot_mut(number)?;
        if !slot.prepared {
            let catalogue = slot.source.catalogue(&Ask::nothing())?;
            slot.language = language.unwrap_or_else(|| catalogue.preferred_language(slot.is_live));
            slot.load(catalogue, &Ask::nothing())?;
        }
        Ok(slot)
    }

    /// The slots that a machine pattern means.
    pub(super) fn select(
        &mut self,
        machine: Option<&NamePattern>,
        language: Option<LanguageId>,
    ) -> Result<Vec<usize>, QueryError> {
        let Some(pattern) = machine else {
            self.prepare(0, language)?;
            return Ok(vec![0]);
        };
        let literal = pattern.as_literal();
        let mut found = Vec::new();
        let mut failure = None;
        for number in 0..self.slots.len() {
            // An alias decides without asking the machine, which may be down.
            let alias = self.slots.get(number).and_then(|slot| slot.alias.clone());
            if alias.is_some_and(|alias| !pattern.matches(&alias)) {
                continue;
            }
            let slot = match self.prepare(number, language) {
                Ok(slot) => slot,
                // Of several machines, one that is down does not cost the others.
                Err(error) => {
                    failure.get_or_insert(error);
                    continue;
                }
            };
            let is_default = number == 0 && matches!(literal, Some("." | "localhost"));
            if slot.alias.is_some() || is_default || pattern.matches(&slot.machine) {
                found.push(number);
            }
        }
        if let (true, Some(error)) = (found.is_empty(), failure) {
            return Err(error);
        }
        if let (true, Some(name), Some(opener)) = (found.is_empty(), literal, &mut self.opener) {
            let source = opener(name)?;
            self.slots.push(Slot::new(source, Some(name.to_string())));
            let number = self.slots.len() - 1;
            if let Err(error) = self.prepare(number, language) {
                // A machine that did not answer is asked anew next time.
                self.slots.pop();
                return Err(error);
            }
            found.push(number);
        }
        if found.is_empty() {
            let known = self
                .slots
                .iter()
                .map(|slot| slot.alias.clone().unwrap_or_else(|| slot.machine.to_string()))
                .filter(|name| !name.is_empty())
                .collect();
            return Err(QueryError::UnknownMachine { name: pattern.to_string(), known });
        }
        Ok(found)
    }
}

fn no_slot() -> QueryError {
    QueryError::UnknownMachine { name: String::new(), known: Vec::new() }
}

impl Slot {
    fn new(mut source: Box<dyn Source>, alias: Option<String>) -> Self {
        Self {
            is_live: source.recording().is_none(),
            source,
            machine: "".into(),
            alias,
            catalogue: Arc::default(),
            titles: TitleSet::default(),
            wanted: Vec::new(),
            extra: Vec::new(),
            known: HashSet::new(),
            prepared: false,
            generation: 0,
            language: LanguageId::ENGLISH,
            all_languages: false,
            costly: false,
            complete: false,
            failed: None,
            before: None,
            taken: 0,
        }
    }

    /// The machine as paths may name it; empty before the source was asked.
    pub(super) fn shown_name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.machine)
    }

    /// Asks the source what it has, beyond what is in a catalogue of its.
    fn load(&mut self, mut catalogue: Arc<Catalogue>, ask: &Ask) -> Result<(), SourceError> {
        let generation = catalogue.generation;
        if self.complete {
            catalogue = self.source.catalogue(&Ask::everything().until(ask.until))?;
        }
        let languages = [self.language, LanguageId::ENGLISH];
        let titles = TitleSet::load(languages, |language| self.source.titles(language, ask))?;
        self.generation = generation;
        // Both or neither: what indexes mean is in the one, and whose they are in the other.
        self.machine = match &self.alias {
            Some(alias) => alias.as_str().into(),
            None => catalogue.machine.as_str().into(),
        };
        self.catalogue = catalogue;
        self.titles = titles;
        self.all_languages = false;
        self.prepared = true;
        Ok(())
    }

    /// Loads catalogue and titles anew if they changed, and answers whether they
    /// did.
    ///
    /// # Errors
    /// Where the source does not answer: nobody knows what the indexes mean. The
    /// next call tries again.
    fn refresh(&mut self, until: Option<Instant>) -> Result<bool, SourceError> {
        if !self.prepared {
            return Ok(false);
        }
        let ask = Ask::nothing().until(until);
        let catalogue = self.source.catalogue(&ask)?;
        if catalogue.generation == self.generation {
            return Ok(false);
        }
        let titles = self.titles.clone();
        self.load(catalogue, &ask)?;
        self.before.get_or_insert(titles);
        Ok(true)
    }

    /// The titles as of which targets were looked up, if there are others now.
    ///
    /// # Errors
    /// As [`refresh`](Self::refresh).
    pub(super) fn renamed(
        &mut self,
        until: Option<Instant>,
    ) -> Result<Option<TitleSet>, SourceError> {
        self.refresh(until)?;
        Ok(self.before.take())
    }

    /// Has whoever asks next follow the same change: it could not be found out in time
    /// what the targets are now.
    pub(super) fn follow_again(&mut self, before: TitleSet) {
        self.before.get_or_insert(before);
    }

    /// Has the source list what is expensive to list, once; `true` if there is
    /// more now.
    ///
    /// # Errors
    /// Where nobody can tell at the moment; the next call tries again.
    pub(super) fn list_costly(&mut self, until: Option<Instant>) -> Result<bool, QueryError> {
        if std::mem::replace(&mut self.costly, true) {
            return Ok(false);
        }
        if let Err(error) = self.source.catalogue(&Ask::new(ObjectQuery::Costly).until(until)) {
            self.costly = false;
            return Err(error.into());
        }
        Ok(self.refresh(until)?)
    }

    /// Has the source find out, where that takes time, whether it has what a
    /// path means; answers whether the catalogue is another now.
    pub(super) fn complete(&mut self, object: &NamePattern, until: Option<Instant>) -> bool {
        match object.as_literal() {
            Some(name) => {
                let mut meant = self.titles.meant_by(name);
                if meant.is_empty() {
                    // A source that cannot tell its names says so with an error.
                    meant.push(NO_OBJECT);
                }
                self.find_out(&Ask::objects(&meant).until(until))
            }
            None => {
                self.complete = true;
                self.find_out(&Ask::everything().until(until))
            }
        }
    }

    fn find_out(&mut self, ask: &Ask) -> bool {
        match self.source.catalogue(ask) {
            Ok(catalogue) if *catalogue != *self.catalogue => {
                let all_languages = self.all_languages;
                // Other things may have changed with it.
                if self.refresh(ask.until).is_err() {
                    return false;
                }
                if all_languages {
                    self.load_all_languages(ask.until);
                }
                self.catalogue = catalogue;
                true
            }
            Ok(_) => false,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }

    /// Why it could not be found out what was looked for last.
    pub(super) fn failure(&self) -> Option<&SourceError> {
        self.failed.as_ref()
    }

    /// Forgets what could not be found out for somebody else.
    pub(super) fn forget_failure(&mut self) {
        self.failed = None;
    }

    /// What is left to do for an object that is not found. Of a pattern it may be one that
    /// is in no list so far; a name whose indexes were asked for, or that has none, is
    /// nobody's. Answers whether to look again.
    ///
    /// # Errors
    /// Where nobody can tell at the moment; the next call tries again.
    pub(super) fn look_further(
        &mut self,
        object: &NamePattern,
        until: Option<Instant>,
    ) -> Result<bool, QueryError> {
        match (object.as_literal(), self.failed.take()) {
            (None, _) => self.list_costly(until),
            (Some(_), Some(error)) => Err(error.into()),
            (Some(name), None) => match self.titles.cannot_tell(name) {
                Some(error) => Err(error.into()),
                None => Ok(false),
            },
        }
    }

    /// Has the source find out what is called nearly as an object that there is none of, to
    /// be suggested, and nothing else.
    pub(super) fn look_near(&mut self, object: &NamePattern, until: Option<Instant>) {
        if let Some(name) = object.as_literal() {
            let near = self.titles.near(name);
            if !near.is_empty() {
                self.find_out(&Ask::objects(&near).until(until));
            }
        }
    }

    pub(super) fn clear_wants(&mut self) {
        self.wanted.clear();
        self.extra.clear();
        self.known.clear();
    }

    /// Notes that an object is to be collected, and a counter that is filled
    /// only on request.
    pub(super) fn want(&mut self, object: TitleIndex, counter: &CatalogueCounter) {
        if self.known.insert((object, None)) {
            self.wanted.push(object);
        }
        if counter.on_request && self.known.insert((object, Some(counter.name))) {
            self.extra.push((object, counter.name));
        }
    }

    /// Loads the languages that the source lists beyond those loaded; `true`
    /// if there were any.
    pub(super) fn load_all_languages(&mut self, until: Option<Instant>) -> bool {
        if std::mem::replace(&mut self.all_languages, true) {
            return false;
        }
        let languages = self.catalogue.languages.iter().copied();
        let ask = Ask::nothing().until(until);
        self.titles.add(languages, |language| self.source.titles(language, &ask)).unwrap_or_else(
            |error| {
                // Who looks next asks again for those that were late.
                self.all_languages = false;
                self.failed = Some(error);
                true
            },
        )
    }
}
