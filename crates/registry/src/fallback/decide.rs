//! Asks the first source what its [`Health`](super::health::Health) needs to know, and does what follows.

use super::Fallback;
use super::health::{Event, Failure, Next, State, Trial};
use crate::relay::HANGS;
use perfhive_engine::{
    Ask, Catalogue, NO_OBJECT, ObjectQuery, Source, SourceError, SourceErrorKind,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Thread refers to Process: both come from one source.
const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);

/// How long a caller waits for a trial.
const TRIAL: Duration = Duration::from_millis(500);

/// What follows from the state of the first source, once it is decided.
pub(super) struct Decision {
    /// The last known generation of the first source's catalogue.
    pub(super) seen: u64,
    /// Why the first source is broken, if it is.
    pub(super) broken: Option<SourceError>,
    /// The objects of the second source that are used.
    pub(super) objects: Vec<TitleIndex>,
    /// The decision in words, unless there is nothing to report.
    pub(super) reason: Option<String>,
}

impl<B: Source> Fallback<B> {
    /// Whether an object is wanted that the second source can fill, and that was never looked for in the
    /// first one.
    pub(super) fn is_news(&self, wanted: &ObjectQuery) -> bool {
        let is_new = |name: &&TitleIndex| !self.looked_at.contains(name);
        self.capable.iter().filter(is_new).any(|name| wanted.may_mean(*name))
    }

    /// Adds the wanted objects to those that are looked for.
    fn look_at(&mut self, wanted: &ObjectQuery) {
        let (capable, looked_at) = (&self.capable, &mut self.looked_at);
        let known = std::mem::take(looked_at);
        let is_wanted = |name: &&TitleIndex| known.contains(name) || wanted.may_mean(**name);
        // In the order of the second source, so that the text is always the same.
        looked_at.extend(capable.iter().filter(is_wanted));
        let tried = if looked_at.is_empty() { capable } else { looked_at };
        self.trial.objects = ObjectQuery::Indexes(tried.clone());
    }

    /// Brings the decision up to date, if an event asks for it.
    ///
    /// # Errors
    /// While undecided, if the deadline is too short to decide.
    pub(super) fn decide(&mut self, ask: &Ask) -> Result<(), SourceError> {
        let wanted = &ask.objects;
        self.learn_capable(ask.until)?;
        let is_news = self.is_news(wanted);
        let known = is_news.then(|| self.looked_at.clone());
        if is_news || self.decision.is_none() {
            self.look_at(wanted);
        }
        let Some(decision) = &self.decision else { return self.decide_first(ask) };
        let seen = decision.seen;
        let is_due = self.is_due();
        let is_broken = self.health.state == State::Broken;
        // A broken source must not cost each reader its deadline.
        let limit = is_broken.then_some(TRIAL);
        let generation = self.generation(ask.until, limit).unwrap_or(seen);
        if generation == seen && (is_broken || !is_news) {
            if is_due {
                self.try_again(ask.until);
            }
            return Ok(());
        }
        let begun = Instant::now();
        // If the first source is broken, the other half of the time is for the second one.
        let limit = half_of_what_is_left(ask.until).filter(|_| is_broken);
        match (self.look(ask, limit), &mut self.decision) {
            (Ok(catalogue), _) => self.settle(&catalogue, None),
            // The registration did not mend it; or there was no time to see that.
            (Err(_), Some(decision)) if is_broken => {
                decision.seen = generation;
                if self.first.is_late() && limit.is_some() {
                    self.health.try_soon((self.clock)());
                }
            }
            (Err(error), _) => {
                if let (true, Some(known)) = (self.decides_nothing(), known) {
                    self.looked_at = known;
                }
                self.failed(&error, begun, ask.until);
            }
        }
        Ok(())
    }

    /// Decides for the first time.
    fn decide_first(&mut self, ask: &Ask) -> Result<(), SourceError> {
        let begun = (self.clock)();
        match self.look(ask, None) {
            Ok(catalogue) => self.settle(&catalogue, None),
            Err(error) => {
                let failure = match self.decides_nothing() {
                    true => Failure::Late(begun, self.first.longest()),
                    false => Failure::Other,
                };
                match self.health.on(Event::Failed(failure), (self.clock)()) {
                    Next::Break => self.break_with(&error),
                    _ => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Whether the last error decides nothing: the deadline of the caller passed before the timeout.
    pub(super) fn decides_nothing(&self) -> bool {
        self.first.is_late() && !self.first.hangs()
    }

    /// Whether it is time for a trial.
    pub(super) fn is_due(&self) -> bool {
        let lacks = |decision: &Decision| !decision.objects.is_empty();
        self.decision.as_ref().is_some_and(lacks) && self.health.is_due((self.clock)())
    }

    /// The catalogue of the first source, for the objects that are looked for or for all. A late answer
    /// may be there at the next look.
    fn look(&mut self, ask: &Ask, limit: Option<Duration>) -> Result<Arc<Catalogue>, SourceError> {
        let until = ask.until_at_most(limit.and_then(|limit| Instant::now().checked_add(limit)));
        let objects = match &ask.objects {
            ObjectQuery::Indexes(_) if self.looked_at.is_empty() => ObjectQuery::one(NO_OBJECT),
            ObjectQuery::Indexes(_) => ObjectQuery::Indexes(self.looked_at.clone()),
            _ => ObjectQuery::Global,
        };
        self.first.catalogue(&Ask::new(objects).until(until))
    }

    /// The generation of the first source's catalogue; `None` without an answer.
    fn generation(&mut self, until: Option<Instant>, limit: Option<Duration>) -> Option<u64> {
        let ask = Ask::nothing().until(until);
        let until = ask.until_at_most(limit.and_then(|limit| Instant::now().checked_add(limit)));
        let catalogue = self.first.catalogue(&ask.until(until));
        catalogue.ok().map(|catalogue| catalogue.generation)
    }

    /// Makes a trial.
    fn try_first(&mut self, until: Option<Instant>, limit: Duration) -> Result<(), SourceError> {
        let limit = Some(Instant::now() + limit);
        self.trial.until = Ask::nothing().until(until).until_at_most(limit);
        self.tried.clear();
        self.first.collect(&self.trial, &mut self.tried)
    }

    /// Makes a trial for objects that were missing.
    fn try_again(&mut self, until: Option<Instant>) {
        let limit = half_of_what_is_left(until).map_or(TRIAL, |half| half.min(TRIAL));
        let tried = self.try_first(until, limit);
        let missing = self.decision.as_ref().map_or(&[][..], |decision| &decision.objects);
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let ending = match tried {
            Err(_) if limit < TRIAL && self.first.is_late() => Trial::TooShort,
            Err(_) => Trial::Failed,
            Ok(()) if self.broken().is_some() || missing.iter().any(has) => Trial::Delivered,
            Ok(()) => Trial::Empty,
        };
        if self.health.on(Event::Tried(ending), (self.clock)()) != Next::List {
            return;
        }
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        if let Ok(catalogue) = self.look(&Ask::nothing().until(until), Some(TRIAL)) {
            self.settle(&catalogue, Some(&delivered));
        }
    }

    /// Decides for good: the second source is used for the objects that the first one does not list or,
    /// after a trial, did not deliver.
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
        self.health.on(Event::Listed, (self.clock)());
        self.decided(Decision { seen: catalogue.generation, broken: None, objects, reason });
    }

    /// Handles a failed ask to the first source, which began at `begun`.
    pub(super) fn failed(&mut self, error: &SourceError, begun: Instant, until: Option<Instant>) {
        let enough = self.first.patience().map_or(HANGS, |patience| patience.min(HANGS));
        let failure = match error.kind() {
            _ if self.decides_nothing() => Failure::Late(begun, self.first.longest()),
            _ if self.first.hangs() => Failure::Hang,
            SourceErrorKind::Deadline if begun.elapsed() >= enough => Failure::Hang,
            // Denied means that all objects are.
            SourceErrorKind::Denied => Failure::Denied,
            _ => Failure::Other,
        };
        self.note(Event::Failed(failure), Some(error), until);
    }

    /// Takes an event of an ask, and makes a check if the first source is in doubt: it may be broken, or
    /// only the objects that were asked for.
    pub(super) fn note(
        &mut self,
        event: Event,
        error: Option<&SourceError>,
        until: Option<Instant>,
    ) {
        let Next::Check(is_hang) = self.health.on(event, (self.clock)()) else { return };
        let checked = self.try_first(until, TRIAL);
        let is_too_short = Ask::nothing().until(until).is_over() && self.decides_nothing();
        let ending = match &checked {
            Ok(()) => Trial::Empty,
            Err(_) if is_too_short => Trial::TooShort,
            Err(_) => Trial::Failed,
        };
        let next = self.health.on(Event::Checked(ending, is_hang), (self.clock)());
        match (next, checked) {
            // The timeout is the better reason.
            (Next::Break, Err(check)) => {
                self.break_with(error.filter(|_| is_hang).unwrap_or(&check))
            }
            (Next::List, _) => self.list_again(until),
            _ => {}
        }
    }

    /// Reads the catalogue after a check, and decides anew if objects are missing that were not before.
    fn list_again(&mut self, until: Option<Instant>) {
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        match self.look(&Ask::nothing().until(until), Some(TRIAL)) {
            Ok(catalogue) => {
                let looked_at = &self.looked_at;
                let lacks = |name| looked_at.contains(name) && !delivered.contains(name);
                let known = self.decision.as_ref().map_or(&[][..], |before| &before.objects);
                if self.capable.iter().any(|name| lacks(name) && !known.contains(name)) {
                    self.settle(&catalogue, Some(&delivered));
                }
            }
            Err(_) if Ask::nothing().until(until).is_over() && self.decides_nothing() => {}
            Err(error) => {
                self.health.on(Event::Checked(Trial::Failed, false), (self.clock)());
                self.break_with(&error);
            }
        }
    }

    /// Uses the second source for everything.
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
        let known = self.generation(None, Some(TRIAL));
        let seen = known.unwrap_or(self.first.last_generation());
        self.decided(Decision { seen, broken: Some(why), objects, reason });
    }

    fn decided(&mut self, decision: Decision) {
        let reason = &decision.reason;
        let same = self.decision.as_ref().is_some_and(|old| old.reason == *reason);
        self.told = reason.is_none() || self.told && same;
        self.decision = Some(decision);
        self.decisions += 1;
        self.catalogue = None;
    }

    /// The names of objects, `None` of none.
    fn names(&mut self, objects: &[TitleIndex]) -> Option<String> {
        let titles = self.second.titles(LanguageId::ENGLISH, &Ask::nothing()).ok();
        let name = |index: &TitleIndex| {
            let name = titles.as_ref().and_then(|titles| titles.name(*index));
            name.map_or_else(|| index.to_string(), str::to_string)
        };
        let names: Vec<String> = objects.iter().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The reason why the first source is broken, if it is.
    pub(super) fn broken(&self) -> Option<&SourceError> {
        self.decision.as_ref()?.broken.as_ref()
    }
}

/// Half of the time until a deadline; `None` without one.
fn half_of_what_is_left(until: Option<Instant>) -> Option<Duration> {
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    until.map(|until| left(until) / 2)
}

fn by_native(names: &str, why: &str) -> String {
    format!("{names} by native functions, not from the registry: {why}")
}
