//! Finds the facts about the first source that [`Whole`](crate::condition::Whole) needs, and
//! carries out the actions that follow.

use super::{Fallback, TimedSource, nothing};
use crate::condition::{Event, Failure, Next, State, Trial};
use perfhive_engine::{
    Ask, Catalogue, NO_OBJECT, ObjectQuery, Source, SourceError, SourceErrorKind,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::Duration;

/// The title indexes of Process and Thread. If the first source lacks one of them, a decision names
/// both for the second source, since threads refer to processes.
pub(super) const PAIR: [TitleIndex; 2] = [TitleIndex(230), TitleIndex(232)];

/// The timeout of a call that only tests whether the first source answers (a check or a trial), and
/// of a call of a broken first source. It is short because readers wait for these calls.
const TRIAL: Duration = Duration::from_millis(500);

/// A decision: the state of the first source, and the objects for which the second source is used.
pub(super) struct Decision {
    /// The generation that the first source's catalogue had last.
    pub(super) seen: u64,
    /// The error that broke the first source; `None` if the first source is not broken.
    pub(super) broken: Option<SourceError>,
    /// The objects that are taken from the second source.
    pub(super) objects: Vec<TitleIndex>,
    /// A text for the user about the decision and its reason; `None` if there is nothing to report.
    pub(super) reason: Option<String>,
}

impl<A: TimedSource, B: Source> Fallback<A, B> {
    /// Whether a wanted object was never looked for in the first source, although the second source
    /// can fill it.
    pub(super) fn is_news(&self, wanted: &ObjectQuery) -> bool {
        let is_new = |name: &&TitleIndex| !self.looked_at.contains(name);
        self.capable.iter().filter(is_new).any(|name| wanted.may_mean(*name))
    }

    /// Adds those wanted objects that the second source can deliver to the objects that are looked
    /// for in the first source, and that a check or trial asks for.
    fn look_at(&mut self, wanted: &ObjectQuery) {
        let (capable, looked_at) = (&self.capable, &mut self.looked_at);
        let known = std::mem::take(looked_at);
        let is_wanted = |name: &&TitleIndex| known.contains(name) || wanted.may_mean(**name);
        // In the order of the second source, so that the text is always the same.
        looked_at.extend(capable.iter().filter(is_wanted));
        let tried = if looked_at.is_empty() { capable } else { looked_at };
        self.trial.objects = ObjectQuery::Indexes(tried.clone());
    }

    /// Makes the decision at the first call. A later call decides again if the generation of the
    /// first source changed or, unless the first source is broken, if a wanted object was not looked
    /// for yet. Otherwise it makes a trial if it is time for one.
    ///
    /// # Errors
    /// If the second source cannot be read.
    pub(super) fn decide(&mut self, wanted: &ObjectQuery) -> Result<(), SourceError> {
        self.learn_capable()?;
        let is_news = self.is_news(wanted);
        if is_news || self.decision.is_none() {
            self.look_at(wanted);
        }
        let is_broken = self.whole.state == State::Broken;
        if let Some(Decision { seen, .. }) = self.decision {
            let is_due = self.is_due();
            let generation = self.generation().unwrap_or(seen);
            if generation == seen && (is_broken || !is_news) {
                if is_due {
                    self.try_again();
                }
                return Ok(());
            }
            if let Some(decision) = &mut self.decision
                && is_broken
            {
                // A broken source is asked once after a registration; if it is still broken, not
                // again before the next registration.
                decision.seen = generation;
            }
        }
        match self.look(wanted) {
            Ok(catalogue) => self.settle(&catalogue, None),
            Err(error) => self.failed(&error),
        }
        Ok(())
    }

    /// Whether it is time for a trial; `false` while no object is taken from the second source.
    pub(super) fn is_due(&self) -> bool {
        let lacks = |decision: &Decision| !decision.objects.is_empty();
        self.decision.as_ref().is_some_and(lacks) && self.whole.is_due((self.clock)())
    }

    /// The result of `question`, which asks the first source. With `is_short`, the calls have the
    /// timeout [`TRIAL`], or their usual timeout if that is shorter.
    fn timed<T>(&mut self, is_short: bool, question: impl FnOnce(&mut A) -> T) -> T {
        if !is_short {
            return question(&mut self.first);
        }
        let usual = self.first.set_timeout(TRIAL);
        self.first.set_timeout(usual.min(TRIAL));
        let answer = question(&mut self.first);
        self.first.set_timeout(usual);
        answer
    }

    /// The catalogue of the first source, which is asked for the objects of `looked_at` if `wanted`
    /// is a list of indexes, else for [`ObjectQuery::Global`].
    fn look(&mut self, wanted: &ObjectQuery) -> Result<Arc<Catalogue>, SourceError> {
        let objects = match wanted {
            ObjectQuery::Indexes(_) if self.looked_at.is_empty() => ObjectQuery::one(NO_OBJECT),
            ObjectQuery::Indexes(_) => ObjectQuery::Indexes(self.looked_at.clone()),
            _ => ObjectQuery::Global,
        };
        let is_broken = self.whole.state == State::Broken;
        self.timed(is_broken, |first| first.catalogue(&Ask::new(objects)))
    }

    /// The generation of the first source's catalogue; `None` if the first source does not answer.
    fn generation(&mut self) -> Option<u64> {
        let is_broken = self.whole.state == State::Broken;
        let catalogue = self.timed(is_broken, |first| first.catalogue(&Ask::nothing()));
        catalogue.ok().map(|catalogue| catalogue.generation)
    }

    /// Asks the first source, with a short timeout, for the objects of a check or a trial. The
    /// answer is in `tried`; the error says why there is none.
    fn try_first(&mut self) -> Result<(), SourceError> {
        self.tried.clear();
        let mut tried = std::mem::take(&mut self.tried);
        let trial = std::mem::replace(&mut self.trial, Ask::nothing());
        let result = self.timed(true, |first| first.collect(&trial, &mut tried));
        (self.tried, self.trial) = (tried, trial);
        result
    }

    /// Makes a trial: asks the first source again for the wanted objects. After the second success
    /// in a row, makes a new decision. A success is an answer with an object that was missing or, if
    /// the first source was broken, any answer.
    fn try_again(&mut self) {
        let tried = self.try_first();
        let missing = self.decision.as_ref().map_or(&[][..], |decision| &decision.objects);
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let ending = match tried {
            Err(_) => Trial::Failed,
            Ok(()) if self.broken().is_some() || missing.iter().any(has) => Trial::Delivered,
            Ok(()) => Trial::Empty,
        };
        if self.whole.on(Event::Tried(ending), (self.clock)()) != Next::List {
            return;
        }
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        if let Ok(catalogue) = self.look(&nothing()) {
            self.settle(&catalogue, Some(&delivered));
        }
    }

    /// Makes a new decision: the second source is used for each object that was looked for and that
    /// the first source lacks. The first source lacks an object if `catalogue` does not list it. If
    /// `delivered` is given, the objects that a check or trial delivered, it also lacks those that
    /// are not in there. If it lacks Process or Thread, the second source is used for both.
    fn settle(&mut self, catalogue: &Catalogue, delivered: Option<&[TitleIndex]>) {
        let looked_at = &self.looked_at;
        let lacks = |name: &TitleIndex| {
            let is_told = |all: &[TitleIndex]| !all.contains(name);
            looked_at.contains(name)
                && (catalogue.object(*name).is_none() || delivered.is_some_and(is_told))
        };
        let pair = PAIR.iter().any(lacks);
        let missing = |name: &TitleIndex| lacks(name) || pair && PAIR.contains(name);
        let objects: Vec<TitleIndex> = self.capable.iter().copied().filter(missing).collect();
        let why = "their providers failed or are disabled (`lodctr /Q` tells which)";
        let mut reason = self.names(&objects).map(|names| by_native(&names, why));
        if let (None, Some(before)) = (&reason, &self.decision) {
            let names = before.objects.clone();
            let names = self.names(&names);
            reason = names.map(|names| format!("read from the registry again: {names}"));
        }
        self.whole.on(Event::Listed, (self.clock)());
        self.decided(Decision { seen: catalogue.generation, broken: None, objects, reason });
    }

    /// Handles the error of a failed ask to the first source: the source may be checked, and be
    /// declared broken.
    pub(super) fn failed(&mut self, error: &SourceError) {
        let failure = match error.kind() {
            SourceErrorKind::Deadline => Failure::Hang,
            // If access is denied, all objects are denied.
            SourceErrorKind::Denied => Failure::Denied,
            _ => Failure::Other,
        };
        self.note(Event::Failed(failure), Some(error));
    }

    /// Handles an event at the first source. If the event leaves open whether the whole source is
    /// broken or only the wanted objects are missing, makes a check: asks for these objects with a
    /// short timeout. The outcome may be a new decision. `error` is the error of the event, if it had one.
    pub(super) fn note(&mut self, event: Event, error: Option<&SourceError>) {
        let is_hang = match (self.whole.on(event, (self.clock)()), error) {
            (Next::Check { is_hang }, _) => is_hang,
            (Next::Break, Some(error)) => return self.break_with(error),
            _ => return,
        };
        let checked = self.try_first();
        let event = Event::Checked { answered: checked.is_ok(), is_hang };
        match (self.whole.on(event, (self.clock)()), checked) {
            // A timeout is a better reason than the error of the check.
            (Next::Break, Err(check)) => {
                self.break_with(error.filter(|_| is_hang).unwrap_or(&check))
            }
            (Next::List, _) => self.list_again(),
            _ => {}
        }
    }

    /// Reads the catalogue after a check. Makes a new decision if objects are missing that were not
    /// missing before, or if the catalogue cannot be read.
    fn list_again(&mut self) {
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        match self.look(&nothing()) {
            Ok(catalogue) => {
                let looked_at = &self.looked_at;
                let lacks = |name| looked_at.contains(name) && !delivered.contains(name);
                let known = self.decision.as_ref().map_or(&[][..], |before| &before.objects);
                if self.capable.iter().any(|name| lacks(name) && !known.contains(name)) {
                    self.settle(&catalogue, Some(&delivered));
                }
            }
            Err(error) => {
                let event = Event::Checked { answered: false, is_hang: false };
                self.whole.on(event, (self.clock)());
                self.break_with(&error);
            }
        }
    }

    /// Declares the first source broken because of `error`: the second source is used for
    /// everything.
    fn break_with(&mut self, error: &SourceError) {
        let objects = self.capable.clone();
        let native =
            "`-s native:` reads System, Processor, Process and Thread without the registry";
        let message = match error.kind() {
            SourceErrorKind::Deadline | SourceErrorKind::Busy => {
                format!("{}: a provider may hang; {native} and does not wait", error.message())
            }
            _ => format!("{}; {native}", error.message()),
        };
        // Reported as Deadline: Busy would invite a retry.
        let kind = match error.kind() {
            SourceErrorKind::Busy => SourceErrorKind::Deadline,
            kind => kind,
        };
        let why = SourceError::new(kind, error.source_name(), message);
        let cause = format!("its counters cannot be read: {}", error.message());
        let reason = self.names(&objects).map(|names| by_native(&names, &cause));
        let before = self.decision.as_ref().map_or(0, |decision| decision.seen);
        let seen = self.generation().unwrap_or(before);
        self.decided(Decision { seen, broken: Some(why), objects, reason });
    }

    /// Takes over a decision. A reason that the last decision did not have is reported anew. The
    /// kept catalogue of both sources is dropped.
    fn decided(&mut self, decision: Decision) {
        let reason = &decision.reason;
        let same = self.decision.as_ref().is_some_and(|old| old.reason == *reason);
        self.told = reason.is_none() || self.told && same;
        self.decision = Some(decision);
        self.decisions += 1;
        self.catalogue = None;
    }

    /// The names of objects as text; `None` without objects.
    fn names(&mut self, objects: &[TitleIndex]) -> Option<String> {
        let titles = self.second.titles(LanguageId::ENGLISH, &Ask::nothing()).ok();
        let name = |index: &TitleIndex| {
            let name = titles.as_ref().and_then(|titles| titles.name(*index));
            name.map_or_else(|| index.to_string(), str::to_string)
        };
        let names: Vec<String> = objects.iter().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The error that broke the first source; `None` if the first source is not broken.
    pub(super) fn broken(&self) -> Option<&SourceError> {
        self.decision.as_ref()?.broken.as_ref()
    }
}

fn by_native(names: &str, why: &str) -> String {
    format!("{names} by native functions, not from the registry: {why}")
}
