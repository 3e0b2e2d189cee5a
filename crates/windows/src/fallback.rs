//! The registry's counters, and the native functions for what it lacks.
//!
//! That Windows' own objects are missing from the registry's counters is a
//! frequent complaint: an administrator or a tool has disabled a provider
//! (`Disable Performance Counters`), the list of titles is damaged, access is
//! denied, or a provider hangs and all others with it. The kernel's own numbers
//! are there all the same.

#[cfg(test)]
mod tests;

use crate::relay::{HANGS, Relay};
use perfhive_engine::{
    Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Request, Snapshot, Source,
    SourceError, SourceErrorKind, TitleDatabase, Wanted, note_growth,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Thread points to Process: who fills one fills both.
const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);

/// How many requests in a row must fail, or lack an object, before the second
/// source stands in, and how many must have it before that ends.
const IN_A_ROW: u32 = 2;
/// How long a broken registry is left alone: longer each time that it still is.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long a caller waits while a broken registry is tried again.
const TRIAL: Duration = Duration::from_millis(500);

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
/// Each change is told by a fault, a warning, in the next answer. An object's
/// samples of the two sources make no value together
/// ([`Frame::origin`](perfhive_engine::Frame::origin)).
pub struct Fallback<B> {
    first: Relay,
    second: B,
    /// How long the first one may take without a deadline.
    patience: Option<Duration>,
    clock: Box<dyn Fn() -> Instant + Send>,
    /// `None` before it was looked.
    decision: Option<Decision>,
    /// Number of decisions, for the catalogue's generation.
    decisions: u64,
    /// The objects that the second one can fill.
    capable: Vec<TitleIndex>,
    /// Those of them of which the first one was asked whether it has them.
    looked_at: Vec<TitleIndex>,
    /// Requests in a row that failed, or lacked one of these objects.
    failures: u32,
    /// What the second one is asked, and what it answered.
    asked: Request,
    rest: Request,
    answer: Snapshot,
    /// What the first one is tried with, and what it answered.
    trial: Request,
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

/// What comes from the second source.
struct Decision {
    first: First,
    objects: Vec<TitleIndex>,
    /// The same in words, where there is anything to say.
    reason: Option<String>,
    /// When the first one is tried again with these objects, and the pause
    /// after that if it is in vain.
    again: Instant,
    pause: Duration,
    /// How often in a row it had what it lacked.
    answered: u32,
}

/// How the first source is doing.
enum First {
    /// It answers; the generation of its catalogue as it was looked at.
    Good(u64),
    /// It does not, and why; the same, as it was last heard of.
    Broken(SourceError, u64),
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
        let patience = first.patience();
        Self {
            first,
            second,
            patience,
            clock: Box::new(Instant::now),
            decision: None,
            decisions: 0,
            capable: Vec::new(),
            looked_at: Vec::new(),
            failures: 0,
            trial: Request::new(ObjectQuery::Global),
            tried: Snapshot::new(),
            asked: Request::new(ObjectQuery::Global),
            rest: Request::new(ObjectQuery::Global),
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
        self.decide(Wanted::Objects(&all), None)?;
        Ok(self.decision.as_ref().and_then(|decision| decision.reason.as_deref()))
    }

    fn learn_capable(&mut self) -> Result<(), SourceError> {
        if self.capable.is_empty() {
            note_growth();
            let theirs = self.second.catalogue()?;
            self.capable = theirs.objects.iter().map(|object| object.name).collect();
        }
        Ok(())
    }

    /// Whether something is wanted that the second source can fill and of which the first
    /// one was never asked whether it has it.
    fn is_news(&self, wanted: Wanted<'_>) -> bool {
        let is_wanted = |name: &TitleIndex| match wanted {
            Wanted::Nothing => false,
            Wanted::Objects(list) => list.contains(name),
            Wanted::Everything => true,
        };
        self.capable.iter().any(|name| is_wanted(name) && !self.looked_at.contains(name))
    }

    /// Takes down what is to be looked at from now on.
    fn look_at(&mut self, wanted: Wanted<'_>) {
        let (capable, looked_at) = (&self.capable, &mut self.looked_at);
        let known = std::mem::take(looked_at);
        let is_wanted = |name: &&TitleIndex| match wanted {
            Wanted::Nothing => known.contains(name),
            Wanted::Objects(list) => known.contains(name) || list.contains(name),
            Wanted::Everything => true,
        };
        // In the order of the second one, whatever was wanted first.
        looked_at.extend(capable.iter().filter(is_wanted));
        let tried = if looked_at.is_empty() { capable } else { looked_at };
        self.trial.objects = ObjectQuery::Indexes(tried.clone());
    }

    /// Looks how the first source is doing, where that is due.
    fn decide(&mut self, wanted: Wanted<'_>, deadline: Option<Instant>) -> Result<(), SourceError> {
        self.learn_capable()?;
        let is_news = self.is_news(wanted);
        if is_news || self.decision.is_none() {
            note_growth();
            self.look_at(wanted);
        }
        let Some(decision) = &self.decision else {
            match self.look(wanted, left(self.patience, deadline)) {
                Ok(catalogue) => self.settle(&catalogue, None),
                Err(error) => self.break_with(&error),
            }
            return Ok(());
        };
        let is_due = self.is_due(decision);
        let (First::Good(known) | First::Broken(_, known)) = decision.first;
        let is_news = is_news && matches!(decision.first, First::Good(_));
        let generation = self.first.catalogue_generation();
        if generation == known && !is_news {
            if is_due {
                self.try_again(deadline);
            }
            return Ok(());
        }
        note_growth();
        let begun = Instant::now();
        match (self.look(wanted, left(self.patience, deadline)), &mut self.decision) {
            (Ok(catalogue), _) => self.settle(&catalogue, None),
            // Whatever was registered, that was not it.
            (Err(_), Some(Decision { first: First::Broken(_, known), .. })) => *known = generation,
            (Err(error), _) => self.failed(&error, begun),
        }
        Ok(())
    }

    /// Whether the first source is to be tried with what it lacked.
    fn is_due(&self, decision: &Decision) -> bool {
        !decision.objects.is_empty() && (self.clock)() >= decision.again
    }

    /// Asks the first source what it has of what is looked at, or of everything. One that
    /// does not answer in time goes on, and may have the answer the next time.
    fn look(
        &mut self,
        wanted: Wanted<'_>,
        limit: Option<Duration>,
    ) -> Result<Arc<Catalogue>, SourceError> {
        self.first.set_patience(limit);
        let catalogue = match wanted {
            Wanted::Everything => self.first.catalogue(),
            _ => self.first.catalogue_for(Wanted::Objects(&self.looked_at)),
        };
        self.first.set_patience(self.patience);
        catalogue
    }

    /// Asks the first source for the objects that the second one can fill.
    fn try_first(&mut self, deadline: Option<Instant>) -> Result<(), SourceError> {
        let soon = Instant::now() + TRIAL;
        self.trial.deadline = Some(deadline.map_or(soon, |deadline| deadline.min(soon)));
        self.tried.clear();
        self.first.collect(&self.trial, &mut self.tried)
    }

    /// Whether the first source has by now what it lacked.
    fn try_again(&mut self, deadline: Option<Instant>) {
        let tried = self.try_first(deadline);
        let now = (self.clock)();
        let Some(decision) = &mut self.decision else { return };
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let has_more = match decision.first {
            First::Good(_) => decision.objects.iter().any(has),
            First::Broken(..) => true,
        };
        if tried.is_err() || !has_more {
            decision.answered = 0;
            decision.again = now + decision.pause;
            decision.pause = (decision.pause * 2).min(LONGEST_PAUSE);
            return;
        }
        decision.answered += 1;
        decision.again = now + FIRST_PAUSE;
        if decision.answered < IN_A_ROW {
            return;
        }
        note_growth();
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        let limit = left(Some(TRIAL), deadline);
        if let Ok(catalogue) = self.look(Wanted::Nothing, limit) {
            self.settle(&catalogue, Some(&delivered));
        }
    }

    /// The first source answers: only what it lacks comes from the second. What
    /// it has is what it lists and, if it was tried, delivered.
    fn settle(&mut self, catalogue: &Catalogue, delivered: Option<&[TitleIndex]>) {
        let looked_at = &self.looked_at;
        let lacks = |name: &TitleIndex| {
            let is_told = |all: &[TitleIndex]| !all.contains(name);
            looked_at.contains(name)
                && (catalogue.object(*name).is_none() || delivered.is_some_and(is_told))
        };
        let pair = [PROCESS, THREAD].iter().any(lacks);
        let missing = |name: &TitleIndex| lacks(name) || pair && [PROCESS, THREAD].contains(name);
        let objects: Vec<TitleIndex> = self.capable.iter().copied().filter(missing).collect();
        let why = "their providers failed or are disabled (`lodctr /Q` tells which)";
        let mut reason = self.names(&objects).map(|names| by_native(&names, why));
        if let (None, Some(before)) = (&reason, &self.decision) {
            let names = before.objects.clone();
            let names = self.names(&names);
            reason = names.map(|names| format!("{names} from the registry again, which has them"));
        }
        self.failures = 0;
        let first = First::Good(self.first.catalogue_generation());
        self.decided(first, objects, reason);
    }

    /// A request to the first source failed; `begun` is when it was made.
    fn failed(&mut self, error: &SourceError, begun: Instant) {
        self.failures += 1;
        let took = begun.elapsed();
        let hangs = error.kind() == SourceErrorKind::Deadline
            && (took >= HANGS || self.patience.is_some_and(|patience| took >= patience));
        if hangs && self.try_first(None).is_err() {
            self.break_with(error);
        } else if hangs {
            // What was asked for hangs, and nothing else.
            self.failures = 0;
        } else if self.failures >= IN_A_ROW {
            self.doubt();
        }
    }

    /// What was asked of the first source was in vain more than once: that may
    /// be its own fault, or only that of what was asked for.
    fn doubt(&mut self) {
        note_growth();
        if let Err(error) = self.try_first(None) {
            self.break_with(&error);
            return;
        }
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        match self.look(Wanted::Nothing, Some(TRIAL)) {
            Ok(catalogue) => {
                let looked_at = &self.looked_at;
                let lacks = |name| looked_at.contains(name) && !delivered.contains(name);
                let known = self.decision.as_ref().map_or(&[][..], |before| &before.objects);
                // What was said already needs no new decision.
                if self.capable.iter().any(|name| lacks(name) && !known.contains(name)) {
                    self.settle(&catalogue, Some(&delivered));
                }
                self.failures = 0;
            }
            Err(error) => self.break_with(&error),
        }
    }

    /// The first source is of no use for now.
    fn break_with(&mut self, error: &SourceError) {
        note_growth();
        let objects = self.capable.clone();
        let native =
            "`-s native:` reads System, Processor, Process and Thread without the registry";
        let message = match (error.kind(), error.message().contains("native:")) {
            (_, true) => error.message().to_string(),
            (SourceErrorKind::Deadline | SourceErrorKind::Busy, _) => {
                format!("{}: a provider may hang; {native} and does not wait", error.message())
            }
            _ => format!("{}; {native}", error.message()),
        };
        let why = SourceError::new(error.kind(), error.source_name(), message);
        let cause = format!("its counters cannot be read: {}", error.message());
        let reason = self.names(&objects).map(|names| by_native(&names, &cause));
        let first = First::Broken(why, self.first.catalogue_generation());
        self.decided(first, objects, reason);
    }

    fn decided(&mut self, first: First, objects: Vec<TitleIndex>, reason: Option<String>) {
        let same = self.decision.as_ref().is_some_and(|old| old.reason == reason);
        self.told = reason.is_none() || self.told && same;
        let again = (self.clock)() + FIRST_PAUSE;
        let pause = FIRST_PAUSE * 2;
        self.decision = Some(Decision { first, objects, reason, again, pause, answered: 0 });
        self.decisions += 1;
        self.catalogue = None;
    }

    /// The names of objects, `None` of none.
    fn names(&mut self, objects: &[TitleIndex]) -> Option<String> {
        let titles = self.second.titles(LanguageId::ENGLISH).ok();
        let name = |index: &TitleIndex| {
            let name = titles.as_ref().and_then(|titles| titles.name(*index));
            name.map_or_else(|| index.to_string(), str::to_string)
        };
        let names: Vec<String> = objects.iter().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Why the first source is of no use, if it is of none.
    fn broken(&self) -> Option<&SourceError> {
        match &self.decision {
            Some(Decision { first: First::Broken(why, _), .. }) => Some(why),
            _ => None,
        }
    }

    /// Divides a request into what the second source is asked (`asked`) and
    /// what is left (`rest`); answers whether there is anything of each. No
    /// memory is taken once the lists are large enough.
    fn divide(&mut self, request: &Request) -> (bool, bool) {
        let usable = self.broken().is_none();
        let Some(Decision { objects, .. }) = &self.decision else {
            return (true, false);
        };
        let mut list = match std::mem::replace(&mut self.asked.objects, ObjectQuery::Global) {
            ObjectQuery::Indexes(list) => list,
            _ => Vec::new(),
        };
        let mut room = list.capacity();
        list.clear();
        let mut left = match std::mem::replace(&mut self.rest.objects, ObjectQuery::Global) {
            ObjectQuery::Indexes(list) => list,
            _ => Vec::new(),
        };
        room += left.capacity() + self.rest.extra_counters.capacity();
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
        let (second, list_room) = (!list.is_empty(), list.capacity());
        self.asked.objects = ObjectQuery::Indexes(list);
        self.asked.deadline = request.deadline;
        // With nothing to divide the request goes on as it is.
        if first && is_list && second {
            self.rest.extra_counters.clone_from(&request.extra_counters);
            self.rest.max_age = request.max_age;
            self.rest.deadline = request.deadline;
        }
        if list_room + left.capacity() + self.rest.extra_counters.capacity() != room {
            note_growth();
        }
        self.rest.objects = ObjectQuery::Indexes(left);
        (first, second)
    }

    /// Asks the first source; answers whether it changed by that what is to come
    /// from the second one, so that the request must be divided anew.
    fn collect_first(
        &mut self,
        request: &Request,
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
                    self.doubt();
                }
                Ok(self.decisions != decisions)
            }
            Err(error) => {
                self.failed(&error, begun);
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

/// What is left of a limit at a deadline.
fn left(limit: Option<Duration>, deadline: Option<Instant>) -> Option<Duration> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    match (limit, left) {
        (Some(limit), Some(left)) => Some(limit.min(left)),
        (limit, left) => limit.or(left),
    }
}

fn by_native(names: &str, why: &str) -> String {
    format!("{names} by native functions, not from the registry: {why}")
}

impl<B: Source> Source for Fallback<B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let wanted = match &request.objects {
            ObjectQuery::Global => Wanted::Everything,
            ObjectQuery::Indexes(list) => Wanted::Objects(list),
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => Wanted::Nothing,
        };
        // Readers ask for the catalogue's generation before each sample, which
        // looks again; one look is enough.
        if self.decision.as_ref().is_none_or(|decision| self.is_due(decision))
            || self.is_news(wanted)
        {
            self.decide(wanted, request.deadline)?;
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
            if self.answer.has_grown() {
                note_growth();
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
                // Nothing that is asked for can be had: the reason is the first's.
                return Err(why.clone());
            }
            let why = why.clone();
            fail_all(&self.rest.objects, self.first.name(), &why, &mut self.lost, out);
        }
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.catalogue_for(Wanted::Everything)
    }

    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        self.decide(wanted, None)?;
        let mut mine = None;
        if self.broken().is_none() {
            let begun = Instant::now();
            match self.first.catalogue_for(wanted) {
                Ok(catalogue) => {
                    mine = Some(catalogue);
                    // It may have more by that, which is another catalogue.
                    self.decide(Wanted::Nothing, None)?;
                }
                Err(error) => {
                    self.failed(&error, begun);
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
        let theirs = self.second.catalogue()?;
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

    /// Fails where the first one is broken: what it would list nobody knows.
    fn list_costly(&mut self) -> Result<(), SourceError> {
        self.decide(Wanted::Everything, None)?;
        match self.broken() {
            Some(why) => Err(why.clone()),
            None => self.first.list_costly(),
        }
    }

    fn catalogue_generation(&mut self) -> u64 {
        // Where it cannot be decided now, the next request says why.
        let _ = self.decide(Wanted::Nothing, None);
        self.decisions
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.decide(Wanted::Nothing, None)?;
        let mine = match self.broken() {
            None => self.first.titles(language),
            Some(why) => Err(why.clone()),
        };
        // A damaged list of titles is a complaint of its own: the objects are
        // there, and nobody finds them by name.
        if let Ok(titles) = &mine
            && self.second.catalogue()?.objects.iter().all(|one| titles.name(one.name).is_some())
        {
            return mine;
        }
        match (mine, self.second.titles(language)) {
            (Ok(mine), Ok(theirs)) => Ok(Arc::new(mine.completed_by(&theirs))),
            (Ok(titles), Err(_)) | (Err(_), Ok(titles)) => Ok(titles),
            (Err(_), Err(error)) if error.kind() == SourceErrorKind::NotFound => {
                let message = format!("has no titles in language {language}");
                Err(SourceError::new(SourceErrorKind::NotFound, self.first.name(), message))
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Who is registered is known where nobody answers, too: nothing is collected for it.
    fn providers(&mut self) -> Vec<ProviderStatus> {
        let mut providers = self.first.providers();
        providers.extend(self.second.providers());
        providers
    }
}

fn is_empty(query: &ObjectQuery) -> bool {
    matches!(query, ObjectQuery::Indexes(list) if list.is_empty())
}
