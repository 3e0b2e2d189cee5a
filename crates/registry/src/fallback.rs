//! [`Fallback`]: the registry's counters, and native functions for the objects that it lacks.
//!
//! Windows' own objects are often missing from the registry's counters: an administrator or a tool
//! has disabled a provider (`Disable Performance Counters`), the list of titles is damaged, access
//! is denied, or a provider hangs and holds up all others. Native functions can then still read the
//! kernel's own numbers.
//!
//! The states of the first source are those of [`Whole`]: undecided (nothing was asked so far),
//! good (the second source is used for the objects that the first one lacks), and broken (the
//! second source is used for all objects that it has).

mod decide;
#[cfg(test)]
pub(crate) mod tests;

use crate::condition::{Event, Whole};
use decide::{Decision, PAIR};
use perfhive_engine::{
    Ask, Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Snapshot, Source, SourceError,
    SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A source that answers or fails within a timeout, whatever its providers do.
pub trait TimedSource: Source {
    /// Sets the timeout of a call, and returns the timeout before.
    fn set_timeout(&mut self, timeout: Duration) -> Duration;
}

/// A source with the objects of a first source, and with those objects of a second source that the
/// first one lacks.
///
/// The states of the first source are those of the state machine in `condition.rs`. Whether the
/// first source has an object is found out when the object is first wanted, before it is read.
///
/// However short a [deadline](Ask::until) is, it never changes the source of an object: the first
/// source has its own timeout. Callers with deadlines ask through a
/// [`Worker`](perfhive_engine::Worker).
///
/// Each change of source is reported as a warning among the faults of the next answer. Two samples
/// of an object from different sources make no value
/// ([`Frame::origin`](perfhive_engine::Frame::origin)).
pub struct Fallback<A, B> {
    first: A,
    second: B,
    clock: Box<dyn Fn() -> Instant + Send>,
    whole: Whole,
    /// The last decision; `None` while undecided.
    decision: Option<Decision>,
    /// The number of decisions so far, which is the generation of the catalogue.
    decisions: u64,
    /// The objects that the second source can deliver.
    capable: Vec<TitleIndex>,
    /// The objects of `capable` that were wanted, and are therefore looked for in the first source.
    looked_at: Vec<TitleIndex>,
    /// The part of an ask that goes to the second source.
    asked: Ask,
    /// The part of an ask that goes to the first source.
    rest: Ask,
    /// The answer of the second source.
    answer: Snapshot,
    /// The ask of a check or trial.
    trial: Ask,
    /// The answer to the last check or trial.
    tried: Snapshot,
    catalogue: Option<MergedCatalogue>,
    /// Whether the reason of the decision was reported already; also `true` if there is no reason
    /// to report.
    told: bool,
}

/// A catalogue of both sources. `of` is the first source's catalogue, from which `merged` was made;
/// `None` if the first source is broken.
struct MergedCatalogue {
    of: Option<Arc<Catalogue>>,
    merged: Arc<Catalogue>,
}

impl<A: TimedSource, B: Source> Fallback<A, B> {
    /// A source with the objects of `first`, and with those objects of `second` that `first` lacks.
    #[must_use]
    pub fn new(first: A, second: B) -> Self {
        Self {
            first,
            second,
            clock: Box::new(Instant::now),
            whole: Whole::NEW,
            decision: None,
            decisions: 0,
            capable: Vec::new(),
            looked_at: Vec::new(),
            trial: Ask::new(ObjectQuery::Global),
            tried: Snapshot::new(),
            asked: Ask::new(ObjectQuery::Global),
            rest: Ask::new(ObjectQuery::Global),
            answer: Snapshot::new(),
            catalogue: None,
            told: false,
        }
    }

    /// A text that names the objects of the second source that are used, and the reason. After the
    /// first source has recovered, the text names the objects that are read from the first source
    /// again. `None` if the second source was not needed.
    ///
    /// # Errors
    /// If the second source cannot be read.
    pub fn reason(&mut self) -> Result<Option<&str>, SourceError> {
        self.learn_capable()?;
        self.decide(&ObjectQuery::Indexes(self.capable.clone()))?;
        Ok(self.decision.as_ref().and_then(|decision| decision.reason.as_deref()))
    }

    /// Asks the second source for the objects that it can deliver, unless they are known already.
    /// An error if the source cannot be read.
    fn learn_capable(&mut self) -> Result<(), SourceError> {
        if self.capable.is_empty() {
            let theirs = self.second.catalogue(&Ask::everything())?;
            self.capable = theirs.objects.iter().map(|object| object.name).collect();
        }
        Ok(())
    }

    /// Divides an ask: `asked` becomes the part for the second source, `rest` the part for the
    /// first. Returns whether the first source has to be asked, and whether the second has to be.
    /// Allocates nothing once the lists are large enough.
    fn divide(&mut self, request: &Ask) -> (bool, bool) {
        let usable = self.broken().is_none();
        let Some(Decision { objects, .. }) = &self.decision else {
            return (true, false);
        };
        let mut list = match std::mem::replace(&mut self.asked.objects, ObjectQuery::Global) {
            ObjectQuery::Indexes(list) => list,
            _ => Vec::new(),
        };
        list.clear();
        let mut left = match std::mem::replace(&mut self.rest.objects, ObjectQuery::Global) {
            ObjectQuery::Indexes(list) => list,
            _ => Vec::new(),
        };
        left.clear();
        let (mut first, is_list) = (usable, matches!(request.objects, ObjectQuery::Indexes(_)));
        match &request.objects {
            ObjectQuery::Global => list.extend_from_slice(objects),
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => {}
            ObjectQuery::Indexes(wanted) => {
                for name in wanted {
                    if objects.contains(name) { list.push(*name) } else { left.push(*name) }
                }
                first = usable && !left.is_empty();
            }
        }
        let second = !list.is_empty();
        self.asked.objects = ObjectQuery::Indexes(list);
        self.asked.copy_conditions(request);
        // Without a division the ask is passed on as it is.
        if first && is_list && second {
            self.rest.copy_conditions(request);
        }
        self.rest.objects = ObjectQuery::Indexes(left);
        (first, second)
    }

    /// Asks the first source: for `rest` if the ask was `divided`, else for the whole ask. Returns
    /// whether the answer or its error changed the decision, so that the ask must be divided again.
    /// Otherwise the error of a divided ask becomes a fault in `out`, and that of a whole ask is
    /// returned.
    fn collect_first(
        &mut self,
        request: &Ask,
        divided: bool,
        out: &mut Snapshot,
    ) -> Result<bool, SourceError> {
        let decisions = self.decisions;
        let request = if divided { &self.rest } else { request };
        match self.first.collect(request, out) {
            Ok(()) => {
                let known = self.decision.as_ref().map_or(&[][..], |decision| &decision.objects);
                let is_wanted = |name: &&TitleIndex| match &request.objects {
                    ObjectQuery::Global => true,
                    ObjectQuery::Indexes(list) => list.contains(name),
                    _ => false,
                };
                let mut expected =
                    self.capable.iter().filter(is_wanted).filter(|name| !known.contains(name));
                let is_complete = expected.all(|name| out.object(*name).is_some());
                self.note(if is_complete { Event::Complete } else { Event::Incomplete }, None);
                Ok(self.decisions != decisions)
            }
            Err(error) => {
                // The error may be that of a deadline that passed between two tries.
                if !request.is_over() {
                    self.failed(&error);
                }
                if self.decisions != decisions {
                    return Ok(true);
                }
                if !divided {
                    return Err(error);
                }
                // The objects of the second source are added by the caller.
                out.clear();
                out.push_source_failed(&self.rest.objects, &error);
                Ok(false)
            }
        }
    }

    /// The catalogue of both sources, after the decision was brought up to date for the objects of
    /// `ask`. If the first source is broken, only the second source's objects are listed. An error
    /// if a source that is needed cannot be read.
    fn merged_catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.decide(&ask.objects)?;
        let mut mine = None;
        if self.broken().is_none() {
            match self.first.catalogue(ask) {
                Ok(catalogue) => {
                    mine = Some(catalogue);
                    // The request may have found more objects, which changes the catalogue.
                    self.decide(&nothing())?;
                }
                Err(error) => {
                    self.failed(&error);
                    if self.broken().is_none() {
                        return Err(error);
                    }
                }
            }
        }
        if let Some(kept) = &self.catalogue
            && kept.of == mine
        {
            return Ok(Arc::clone(&kept.merged));
        }
        let theirs = self.second.catalogue(&Ask::everything())?;
        let mut merged = Catalogue::clone(mine.as_deref().unwrap_or(&theirs));
        let objects = self.decision.as_ref().map_or(&[][..], |decision| &decision.objects);
        for object in &theirs.objects {
            if objects.contains(&object.name) && merged.object(object.name).is_none() {
                merged.objects.push(object.clone());
            }
        }
        if !objects.is_empty() || merged.languages.is_empty() {
            for language in &theirs.languages {
                if !merged.languages.contains(language) {
                    merged.languages.push(*language);
                }
            }
        }
        merged.generation = self.decisions;
        let merged = Arc::new(merged);
        self.catalogue = Some(MergedCatalogue { of: mine, merged: Arc::clone(&merged) });
        Ok(merged)
    }
}

impl<A: TimedSource, B: Source> Source for Fallback<A, B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let wanted = match &request.objects {
            wanted @ (ObjectQuery::Global | ObjectQuery::Indexes(_)) => wanted,
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => &nothing(),
        };
        // Readers ask for the catalogue's generation before each sample, and that call makes the
        // decision already. It is not made again here without need.
        if self.decision.is_none() || self.is_due() || self.is_news(wanted) {
            self.decide(wanted)?;
        }
        let (mut first, mut second) = self.divide(request);
        let mut divided = second && matches!(request.objects, ObjectQuery::Indexes(_));
        if first && self.collect_first(request, divided, out)? {
            // The ask is repeated according to the new decision.
            out.clear();
            (first, second) = self.divide(request);
            divided = second && matches!(request.objects, ObjectQuery::Indexes(_));
            if first {
                self.first.collect(if divided { &self.rest } else { request }, out)?;
            }
        }
        if second {
            // Objects that the first source did deliver are not read from the second. A pair of which
            // it delivered one object is: the parents of threads are positions in their own block.
            let mut is_split = false;
            if let ObjectQuery::Indexes(list) = &mut self.asked.objects {
                let lacks = |name: &TitleIndex| out.object(*name).is_none();
                is_split = PAIR.iter().any(|name| list.contains(name) && lacks(name))
                    && !PAIR.iter().all(lacks);
                list.retain(|name| lacks(name) || is_split && PAIR.contains(name));
            }
            self.second.collect(&self.asked, &mut self.answer)?;
            if is_split {
                // Of two objects with one name, readers take the first.
                std::mem::swap(out, &mut self.answer);
            }
            out.push_all_of(&self.answer);
            self.answer.clear();
        }
        let reason = self.decision.as_ref().and_then(|decision| decision.reason.as_deref());
        if let Some(reason) = reason
            && !self.told
        {
            self.told = true;
            out.push_fault(Fault::new(FaultKind::Warning, self.first.name(), reason));
        }
        if let (Some(why), false) = (self.broken(), is_empty(&request.objects)) {
            if !second {
                // None of the objects can be read, because the first source is broken.
                return Err(why.clone());
            }
            out.push_source_failed(&self.rest.objects, why);
        }
        Ok(())
    }

    /// The catalogue of both sources. If the first source is broken, an ask for objects of which
    /// the second source has none gets the error of the first source, which may have them. An ask
    /// for costly objects gets this error too.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let catalogue = self.merged_catalogue(ask)?;
        match (&ask.objects, self.broken()) {
            (ObjectQuery::Indexes(list), Some(why))
                if !list.is_empty()
                    && list.iter().all(|name| catalogue.object(*name).is_none()) =>
            {
                Err(why.clone())
            }
            (ObjectQuery::Costly, Some(why)) => Err(why.clone()),
            _ => Ok(catalogue),
        }
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.decide(&nothing())?;
        let mine = match self.broken() {
            None => self.first.titles(language, ask),
            Some(why) => Err(why.clone()),
        };
        if self.broken().is_none() && mine.as_ref().is_err_and(SourceError::is_transient) {
            // The names may come later.
            return mine;
        }
        // The titles of the second source complete a damaged list: without them, no path finds the
        // objects.
        if let Ok(titles) = &mine
            && self
                .second
                .catalogue(&Ask::everything())?
                .objects
                .iter()
                .all(|one| titles.name(one.name).is_some())
        {
            return mine;
        }
        match (mine, self.second.titles(language, ask)) {
            (Ok(mine), Ok(theirs)) => Ok(Arc::new(mine.completed_by(&theirs))),
            (Ok(titles), Err(_)) => Ok(titles),
            // No name of the first source is known.
            (Err(error), Ok(titles)) if error.kind() != SourceErrorKind::NotFound => {
                Ok(Arc::new(titles.lacking(error)))
            }
            (Err(_), Ok(titles)) => Ok(titles),
            (Err(mine), Err(error))
                if error.kind() == SourceErrorKind::NotFound
                    && (mine.kind() == SourceErrorKind::NotFound || self.broken().is_some()) =>
            {
                let message = format!("has no titles in language {language}");
                Err(SourceError::new(SourceErrorKind::NotFound, self.first.name(), message))
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// The states of the providers of both sources. No counters are collected for the list.
    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let mut providers = self.first.providers(ask)?;
        providers.extend(self.second.providers(ask)?);
        Ok(providers)
    }
}

/// A query for no object.
fn nothing() -> ObjectQuery {
    ObjectQuery::Indexes(Vec::new())
}

/// Whether a query is an empty list of indexes.
fn is_empty(query: &ObjectQuery) -> bool {
    matches!(query, ObjectQuery::Indexes(list) if list.is_empty())
}
