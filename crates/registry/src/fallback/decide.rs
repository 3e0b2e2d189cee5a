//! The decision of [`Fallback`]: the state of the first source, and its transitions.

use super::Fallback;
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

/// How many asks in a row must fail, or lack an object, before the second source is used; and how many
/// trials in a row must have it before that ends.
pub(super) const IN_A_ROW: u32 = 2;
/// The pause before a trial: the first, and the longest after doubling with each failed trial.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long a caller waits for a trial.
const TRIAL: Duration = Duration::from_millis(500);

/// A decision: the state of the first source, and the objects of the second one that are used.
pub(super) struct Decision {
    pub(super) first: FirstState,
    pub(super) objects: Vec<TitleIndex>,
    /// The decision in words, unless there is nothing to report.
    pub(super) reason: Option<String>,
    /// The time of the next trial, and the pause after it if it fails.
    pub(super) again: Instant,
    pub(super) pause: Duration,
    /// Trials in a row that had objects that were missing.
    pub(super) answered: u32,
}

/// The state of the first source.
pub(super) enum FirstState {
    /// It answers; the generation of its catalogue at the last look.
    Good(u64),
    /// It does not answer, with the reason; the last known generation.
    Broken(SourceError, u64),
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
        self.learn_capable()?;
        let is_news = self.is_news(wanted);
        let known = is_news.then(|| self.looked_at.clone());
        if is_news || self.decision.is_none() {
            self.look_at(wanted);
        }
        let Some(decision) = &self.decision else { return self.decide_first(ask) };
        let is_due = self.is_due(decision);
        let (FirstState::Good(seen) | FirstState::Broken(_, seen)) = decision.first;
        let is_news = is_news && matches!(decision.first, FirstState::Good(_));
        // A broken source must not cost each reader its deadline.
        let limit = self.broken().map(|_| TRIAL);
        let generation = self.generation(ask.until, limit).unwrap_or(seen);
        if generation == seen && !is_news {
            if is_due {
                self.try_again(ask.until);
            }
            return Ok(());
        }
        let begun = Instant::now();
        // If the first source is broken, the other half of the time is for the second one.
        let limit = self.broken().and_then(|_| half_of_what_is_left(ask.until));
        match (self.look(ask, limit), &mut self.decision) {
            (Ok(catalogue), _) => self.settle(&catalogue, None),
            // The registration did not mend it; or there was no time to see that.
            (Err(_), Some(Decision { first: FirstState::Broken(_, seen), again, pause, .. })) => {
                *seen = generation;
                if self.first.is_late() && limit.is_some() {
                    (*again, *pause) = ((self.clock)() + FIRST_PAUSE, FIRST_PAUSE * 2);
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
        let begun = Instant::now();
        match self.look(ask, None) {
            Ok(catalogue) => self.settle(&catalogue, None),
            Err(error) => {
                // Each caller so far may have had a short deadline.
                let since = *self.undecided.get_or_insert(begun);
                if self.decides_nothing() && since.elapsed() < self.first.longest() {
                    return Err(error);
                }
                self.break_with(&error);
            }
        }
        Ok(())
    }

    /// Whether the last error decides nothing: the deadline of the caller passed before the timeout.
    pub(super) fn decides_nothing(&self) -> bool {
        self.first.is_late() && !self.first.hangs()
    }

    /// Whether it is time for a trial.
    pub(super) fn is_due(&self, decision: &Decision) -> bool {
        !decision.objects.is_empty() && (self.clock)() >= decision.again
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

    /// Makes a trial for objects that were missing, and notes its result.
    fn try_again(&mut self, until: Option<Instant>) {
        let limit = half_of_what_is_left(until).map_or(TRIAL, |half| half.min(TRIAL));
        let tried = self.try_first(until, limit);
        let now = (self.clock)();
        let Some(decision) = &mut self.decision else { return };
        if tried.is_err() && limit < TRIAL && self.first.is_late() {
            // The trial had less time than it may take.
            decision.again = now + FIRST_PAUSE;
            return;
        }
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let has_more = match decision.first {
            FirstState::Good(_) => decision.objects.iter().any(has),
            FirstState::Broken(..) => true,
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
        (self.failures, self.undecided) = (0, None);
        let first = FirstState::Good(catalogue.generation);
        self.decided(first, objects, reason);
    }

    /// Handles a failed ask to the first source, which began at `begun`.
    pub(super) fn failed(&mut self, error: &SourceError, begun: Instant, until: Option<Instant>) {
        if self.decides_nothing() {
            return;
        }
        self.failures += 1;
        let enough = self.first.patience().map_or(HANGS, |patience| patience.min(HANGS));
        let hangs = self.first.hangs()
            || error.kind() == SourceErrorKind::Deadline && begun.elapsed() >= enough;
        if hangs && self.try_first(until, TRIAL).is_err() {
            if !self.has_no_time(until) {
                self.break_with(error);
            }
        } else if hangs {
            // Only these objects hang.
            self.failures = 0;
        } else if self.failures >= IN_A_ROW || error.kind() == SourceErrorKind::Denied {
            // Denied means that all objects are.
            self.doubt(until);
        }
    }

    /// Whether the trial just made decides nothing, since it had less time than it may take. The next ask
    /// makes another.
    fn has_no_time(&self, until: Option<Instant>) -> bool {
        Ask::nothing().until(until).is_over() && self.decides_nothing()
    }

    /// Makes a trial after repeated failures: the first source may be broken, or only the objects that
    /// were asked for.
    pub(super) fn doubt(&mut self, until: Option<Instant>) {
        if let Err(error) = self.try_first(until, TRIAL) {
            if !self.has_no_time(until) {
                self.break_with(&error);
            }
            return;
        }
        let has = |name: &TitleIndex| self.tried.object(*name).is_some();
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        match self.look(&Ask::nothing().until(until), Some(TRIAL)) {
            Ok(catalogue) => {
                let looked_at = &self.looked_at;
                let lacks = |name| looked_at.contains(name) && !delivered.contains(name);
                let known = self.decision.as_ref().map_or(&[][..], |before| &before.objects);
                // Objects that are known to be missing need no new decision.
                if self.capable.iter().any(|name| lacks(name) && !known.contains(name)) {
                    self.settle(&catalogue, Some(&delivered));
                }
                self.failures = 0;
            }
            Err(_) if self.has_no_time(until) => {}
            Err(error) => self.break_with(&error),
        }
    }

    /// Decides for broken.
    fn break_with(&mut self, error: &SourceError) {
        self.undecided = None;
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
        let first = FirstState::Broken(why, known.unwrap_or(self.first.last_generation()));
        self.decided(first, objects, reason);
    }

    fn decided(&mut self, first: FirstState, objects: Vec<TitleIndex>, reason: Option<String>) {
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
        match &self.decision {
            Some(Decision { first: FirstState::Broken(why, _), .. }) => Some(why),
            _ => None,
        }
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
