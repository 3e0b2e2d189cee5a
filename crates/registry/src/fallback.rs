//! The registry's counters, and the native functions for what it lacks.
//!
//! That Windows' own objects are missing from the registry's counters is a
//! frequent complaint: an administrator or a tool has disabled a provider
//! (`Disable Performance Counters`), the list of titles is damaged, access is
//! denied, or a provider hangs and all others with it. The kernel's own numbers
//! are there all the same.

mod decide;
#[cfg(test)]
mod tests;

use crate::relay::Relay;
use decide::{Decision, IN_A_ROW};
use perfhive_engine::{
    Ask, Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Snapshot, Source, SourceError,
    SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A source that fills from a second one the objects that a first one lacks.
///
/// The first one works on a thread of its own, since it may hang. What it lacks, of what
/// is wanted, is looked at before the first answer that it is wanted for, and again when
/// its catalogue changes, and when two requests in a row failed or lacked something. Where it cannot
/// tell what it has, or hangs, it counts as broken: then the second source has
/// all objects that it can fill. Whatever is filled so is tried with the first
/// one again after 5 seconds, and more seldom the longer that is in vain; once
/// it had the objects twice in a row they are its own again.
///
/// Who asks with a [deadline](Ask::until) that is too short for an answer learns nothing by
/// that, neither of the first source nor who answers: that is an error, and the next one
/// asks again. One that hangs is found out by those as well, once it has given no answer
/// for as long as somebody without a deadline would wait. What native functions tell until
/// then would be of the same objects with other beginnings.
///
/// Each change is told by a fault, a warning, in the next answer. An object's
/// samples of the two sources make no value together
/// ([`Frame::origin`](perfhive_engine::Frame::origin)).
pub struct Fallback<B> {
    first: Relay,
    second: B,
    clock: Box<dyn Fn() -> Instant + Send>,
    /// `None` before it was looked.
    decision: Option<Decision>,
    /// Since when it was looked in vain, by those who had no time for an answer.
    undecided: Option<Instant>,
    /// Number of decisions, for the catalogue's generation.
    decisions: u64,
    /// The objects that the second one can fill.
    capable: Vec<TitleIndex>,
    /// Those of them of which the first one was asked whether it has them.
    looked_at: Vec<TitleIndex>,
    /// Requests in a row that failed, or lacked one of these objects.
    failures: u32,
    /// What the second one is asked, and what it answered.
    asked: Ask,
    rest: Ask,
    answer: Snapshot,
    /// What the first one is tried with, and what it answered.
    trial: Ask,
    tried: Snapshot,
    catalogue: Option<Kept>,
    told: bool,
    /// What is said of each object that cannot be had, put into words once.
    lost: Option<Fault>,
}

/// A catalogue of both, and the one of the first source that it was made of.
struct Kept {
    of: Option<Arc<Catalogue>>,
    merged: Arc<Catalogue>,
}

impl<B: Source> Fallback<B> {
    /// `second` behind `first`, which may take `patience` for a request without
    /// a deadline; `None` waits for ever.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new(
        first: impl Source + 'static,
        second: B,
        patience: Option<Duration>,
    ) -> Result<Self, SourceError> {
        Ok(Self::over(Relay::new(first, patience)?, second))
    }

    /// `second` behind a source that is on a thread of its own already.
    #[must_use]
    pub fn over(first: Relay, second: B) -> Self {
        Self {
            first,
            second,
            clock: Box::new(Instant::now),
            decision: None,
            undecided: None,
            decisions: 0,
            capable: Vec::new(),
            looked_at: Vec::new(),
            failures: 0,
            trial: Ask::new(ObjectQuery::Global),
            tried: Snapshot::new(),
            asked: Ask::new(ObjectQuery::Global),
            rest: Ask::new(ObjectQuery::Global),
            answer: Snapshot::new(),
            catalogue: None,
            told: false,
            lost: None,
        }
    }

    /// What is read with the second source and why, in words; `None` where
    /// nothing is.
    ///
    /// # Errors
    /// Where the second source cannot be read.
    pub fn reason(&mut self) -> Result<Option<&str>, SourceError> {
        self.learn_capable()?;
        let all = self.capable.clone();
        self.decide(&Ask::objects(&all))?;
        Ok(self.decision.as_ref().and_then(|decision| decision.reason.as_deref()))
    }

    fn learn_capable(&mut self) -> Result<(), SourceError> {
        if self.capable.is_empty() {
            let theirs = self.second.catalogue(&Ask::everything())?;
            self.capable = theirs.objects.iter().map(|object| object.name).collect();
        }
        Ok(())
    }

    /// Divides a request into what the second source is asked (`asked`) and
    /// what is left (`rest`); answers whether there is anything of each. No
    /// memory is taken once the lists are large enough.
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
        self.asked.until = request.until;
        // With nothing to divide the request goes on as it is.
        if first && is_list && second {
            self.rest.extra_counters.clone_from(&request.extra_counters);
            self.rest.max_age = request.max_age;
            self.rest.until = request.until;
        }
        self.rest.objects = ObjectQuery::Indexes(left);
        (first, second)
    }

    /// Asks the first source; answers whether it changed by that what is to come
    /// from the second one, so that the request must be divided anew.
    fn collect_first(
        &mut self,
        request: &Ask,
        divided: bool,
        out: &mut Snapshot,
    ) -> Result<bool, SourceError> {
        let (begun, decisions) = (Instant::now(), self.decisions);
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
                if expected.all(|name| out.object(*name).is_some()) {
                    self.failures = 0;
                    return Ok(false);
                }
                self.failures += 1;
                if self.failures >= IN_A_ROW {
                    self.doubt(request.until);
                }
                Ok(self.decisions != decisions)
            }
            Err(error) => {
                self.failed(&error, begun, request.until);
                if self.decisions != decisions {
                    return Ok(true);
                }
                if !divided {
                    return Err(error);
                }
                // What the second one has is there.
                out.clear();
                fail_all(&self.rest.objects, self.first.name(), &error, &mut self.lost, out);
                Ok(false)
            }
        }
    }

    /// What both have, as far as it was found out.
    fn merged_catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.decide(ask)?;
        let mut mine = None;
        if self.broken().is_none() {
            let begun = Instant::now();
            match self.first.catalogue(ask) {
                Ok(catalogue) => {
                    mine = Some(catalogue);
                    // It may have more by that, which is another catalogue.
                    self.decide(&Ask::nothing().until(ask.until))?;
                }
                Err(error) => {
                    self.failed(&error, begun, ask.until);
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
        self.catalogue = Some(Kept { of: mine, merged: Arc::clone(&merged) });
        Ok(merged)
    }
}

/// A fault for each object of a list.
fn fail_all(
    objects: &ObjectQuery,
    source: &str,
    why: &SourceError,
    known: &mut Option<Fault>,
    out: &mut Snapshot,
) {
    let ObjectQuery::Indexes(list) = objects else { return };
    if list.is_empty() {
        return;
    }
    let is_it = |fault: &Fault| *fault.message == *why.message();
    let fault = match known.take().filter(is_it) {
        Some(fault) => fault,
        None => Fault::new(FaultKind::SourceFailed, source, why.message()),
    };
    *known = Some(fault.clone());
    list.iter().for_each(|name| out.push_fault(fault.clone().of_object(*name)));
}

impl<B: Source> Source for Fallback<B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let nothing = Ask::nothing().until(request.until);
        let wanted = match &request.objects {
            ObjectQuery::Global | ObjectQuery::Indexes(_) => request,
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => &nothing,
        };
        // Readers ask for the catalogue's generation before each sample, which
        // looks again; one look is enough.
        if self.decision.as_ref().is_none_or(|decision| self.is_due(decision))
            || self.is_news(&wanted.objects)
        {
            self.decide(wanted)?;
        }
        let (mut first, mut second) = self.divide(request);
        let mut divided = second && matches!(request.objects, ObjectQuery::Indexes(_));
        if first && self.collect_first(request, divided, out)? {
            // Once more, as it is decided now.
            out.clear();
            (first, second) = self.divide(request);
            divided = second && matches!(request.objects, ObjectQuery::Indexes(_));
            if first {
                self.first.collect(if divided { &self.rest } else { request }, out)?;
            }
        }
        if second {
            // What the first one has after all stands for itself.
            if let ObjectQuery::Indexes(list) = &mut self.asked.objects {
                list.retain(|name| out.object(*name).is_none());
            }
            self.second.collect(&self.asked, &mut self.answer)?;
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
                // Nothing that is asked for can be had: the reason is the first's.
                return Err(why.clone());
            }
            let why = why.clone();
            fail_all(&self.rest.objects, self.first.name(), &why, &mut self.lost, out);
        }
        Ok(())
    }

    /// What both have, or the first one's error where that is broken and the second one
    /// has none of what is wanted: there may be such objects.
    ///
    /// What is costly fails, too, where the first one is broken: what it would list nobody
    /// knows.
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
        self.decide(&Ask::nothing().until(ask.until))?;
        let mine = match self.broken() {
            None => self.first.titles(language, ask),
            Some(why) => Err(why.clone()),
        };
        let is_for_now = |error: &SourceError| {
            !self.first.hangs() && (error.is_transient() || self.first.is_late())
        };
        if self.broken().is_none() && mine.as_ref().is_err_and(is_for_now) {
            // It may have names for all that it has.
            return mine;
        }
        // A damaged list of titles is a complaint of its own: the objects are
        // there, and nobody finds them by name.
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
            // Of all that the first one has no name is known.
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

    /// Who is registered is known where nobody answers, too: nothing is collected for it.
    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let mut providers = self.first.providers(ask)?;
        providers.extend(self.second.providers(ask)?);
        Ok(providers)
    }
}

fn is_empty(query: &ObjectQuery) -> bool {
    matches!(query, ObjectQuery::Indexes(list) if list.is_empty())
}
