//! The sources of a query, chosen by the machine of a path.

use super::error::QueryError;
use super::lookup::{Directory, Lookup};
use super::wishes::Wishes;
use crate::error::{SourceError, SourceErrorKind};
use crate::path::{InstancePattern, NamePattern};
use crate::source::{CatalogueCounter, Source};
use perfhive_format::{FileTime, LanguageId, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// A function that opens the source of the machine with a given name.
type Opener = Box<dyn FnMut(&str) -> Result<Box<dyn Source>, SourceError> + Send>;

/// The sources of a query, each for one machine. The first is the default source, for paths that
/// name no machine.
pub struct SourceSet {
    slots: Vec<QuerySource>,
    opener: Option<Opener>,
}

/// One source of a query, and what the paths need of it.
pub(super) struct QuerySource {
    pub(super) lookup: Lookup<Box<dyn Source>>,
    pub(super) is_live: bool,
    /// The name of the machine as paths name it; empty before the source was asked.
    pub(super) machine: Arc<str>,
    /// The name of the machine by which the source was added; `None` for the default source.
    alias: Option<String>,
    pub(super) wanted: Vec<TitleIndex>,
    pub(super) extra: Vec<(TitleIndex, TitleIndex)>,
    /// All counters that paths read, as (object, counter), for [`Ask::enough`](crate::Ask::enough).
    pub(super) enough: Vec<(TitleIndex, TitleIndex)>,
    /// The members of `wanted`, with `None` as the counter, and those of `enough`, as a set for
    /// quick searches.
    known: HashSet<(TitleIndex, Option<TitleIndex>)>,
    /// The instances that the paths want.
    pub(super) wishes: Wishes,
    /// The number of samples that were taken from the source.
    pub(super) taken: u64,
    /// The time of the sample that was taken last; `None` before the first.
    pub(super) reached: Option<FileTime>,
}

impl SourceSet {
    /// A set with one source, which is the default source.
    #[must_use]
    pub fn new(source: impl Source + 'static) -> Self {
        Self { slots: vec![QuerySource::new(Box::new(source), None)], opener: None }
    }

    /// The same set with the source of another machine; `machine` is the name by which paths name
    /// it.
    #[must_use]
    pub fn with_machine(mut self, machine: &str, source: impl Source + 'static) -> Self {
        self.slots.push(QuerySource::new(Box::new(source), Some(machine.to_string())));
        self
    }

    /// The same set with a function that opens the source of a machine that is not in the set. A
    /// source that answers then stays in the set. An error of the kind
    /// [`SourceErrorKind::NotFound`] says that there is no such machine.
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

    pub(super) fn slot(&self, number: usize) -> Result<&QuerySource, QueryError> {
        self.slots.get(number).ok_or_else(no_slot)
    }

    pub(super) fn slot_mut(&mut self, number: usize) -> Result<&mut QuerySource, QueryError> {
        self.slots.get_mut(number).ok_or_else(no_slot)
    }

    pub(super) fn clear_wants(&mut self) {
        self.slots.iter_mut().for_each(QuerySource::clear_wants);
    }

    /// The source of the set with the index `number`. A source that was not read yet is asked for
    /// its catalogue and titles; an error if it does not return them, or if there is no such
    /// source.
    pub(super) fn prepare(
        &mut self,
        number: usize,
        language: Option<LanguageId>,
    ) -> Result<&mut QuerySource, QueryError> {
        let slot = self.slot_mut(number)?;
        if slot.lookup.prepare(language)? {
            slot.note_machine();
        }
        Ok(slot)
    }

    /// The indexes of the sources that a machine pattern selects: the default source for `None`, or
    /// else all that match; `.` and `localhost` match the default source. If none matches and none
    /// failed, the source of the machine is opened, provided that the set has an opener and the
    /// pattern has no wildcard.
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
            // With an alias, the machine, which may be down, need not be asked for its name.
            let alias = self.slots.get(number).and_then(|slot| slot.alias.clone());
            if alias.is_some_and(|alias| !pattern.matches(&alias)) {
                continue;
            }
            let slot = match self.prepare(number, language) {
                Ok(slot) => slot,
                // A machine that is down does not affect the others.
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
            match opener(name) {
                Ok(source) => {
                    self.slots.push(QuerySource::new(source, Some(name.to_string())));
                    let number = self.slots.len() - 1;
                    if let Err(error) = self.prepare(number, language) {
                        // The source of a machine that did not answer is opened again next time.
                        self.slots.pop();
                        return Err(error);
                    }
                    found.push(number);
                }
                Err(error) if error.kind() == SourceErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        if found.is_empty() {
            let known = self
                .slots
                .iter()
                .map(|slot| slot.alias.clone().unwrap_or_else(|| str::to_string(&slot.machine)))
                .filter(|name| !name.is_empty())
                .collect();
            return Err(QueryError::UnknownMachine { name: format!("{pattern}"), known });
        }
        Ok(found)
    }
}

fn no_slot() -> QueryError {
    QueryError::UnknownMachine { name: String::new(), known: Vec::new() }
}

impl QuerySource {
    fn new(mut source: Box<dyn Source>, alias: Option<String>) -> Self {
        Self {
            is_live: source.recording().is_none(),
            lookup: Lookup::new(source),
            machine: "".into(),
            alias,
            wanted: Vec::new(),
            extra: Vec::new(),
            enough: Vec::new(),
            known: HashSet::new(),
            wishes: Wishes::default(),
            taken: 0,
            reached: None,
        }
    }

    /// The name of the machine as paths name it; empty for a default source that was not asked yet.
    pub(super) fn shown_name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.machine)
    }

    /// The source's objects and names, as far as they are known.
    pub(super) fn directory(&self) -> &Directory {
        self.lookup.directory()
    }

    /// Whether the catalogue or the titles of the source changed since the last call. If they did,
    /// they have been read again.
    ///
    /// # Errors
    /// As [`Lookup::take_change`].
    pub(super) fn take_change(&mut self, until: Option<Instant>) -> Result<bool, SourceError> {
        let changed = self.lookup.take_change(until)?;
        if changed {
            self.note_machine();
        }
        Ok(changed)
    }

    /// Reads the present catalogue and titles if they changed. The next
    /// [`take_change`](Self::take_change) reports the change.
    pub(super) fn note_change(&mut self) -> Result<(), SourceError> {
        if self.take_change(None)? {
            self.lookup.put_change_back();
        }
        Ok(())
    }

    fn note_machine(&mut self) {
        let machine = &self.lookup.directory().catalogue.machine;
        self.machine = self.alias.as_deref().unwrap_or(machine).into();
    }

    pub(super) fn clear_wants(&mut self) {
        self.wanted.clear();
        self.extra.clear();
        self.enough.clear();
        self.known.clear();
        self.wishes.clear();
    }

    /// Adds what a path needs: the object, its wanted instances, and the counter, which becomes an
    /// extra counter of the ask if it is filled only on request.
    pub(super) fn want(
        &mut self,
        object: TitleIndex,
        counter: &CatalogueCounter,
        instance: Option<&InstancePattern>,
    ) {
        self.wishes.add(object, instance);
        if self.known.insert((object, None)) {
            self.wanted.push(object);
        }
        if self.known.insert((object, Some(counter.name))) {
            self.enough.push((object, counter.name));
            if counter.on_request {
                self.extra.push((object, counter.name));
            }
        }
    }
}
