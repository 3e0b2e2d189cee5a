//! What comes from the second source: when that is decided, and by what.

use super::Fallback;
use crate::relay::HANGS;
use perfhive_engine::{
    Ask, Catalogue, NO_OBJECT, ObjectQuery, Source, SourceError, SourceErrorKind,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Thread points to Process: who fills one fills both.
const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);

/// How many requests in a row must fail, or lack an object, before the second
/// source stands in, and how many must have it before that ends.
pub(super) const IN_A_ROW: u32 = 2;
/// How long a broken registry is left alone: longer each time that it still is.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long a caller waits while a broken registry is tried again.
const TRIAL: Duration = Duration::from_millis(500);

/// What comes from the second source.
pub(super) struct Decision {
    pub(super) first: First,
    pub(super) objects: Vec<TitleIndex>,
    /// The same in words, where there is anything to say.
    pub(super) reason: Option<String>,
    /// When the first one is tried again with these objects, and the pause
    /// after that if it is in vain.
    pub(super) again: Instant,
    pub(super) pause: Duration,
    /// How often in a row it had what it lacked.
    pub(super) answered: u32,
}

/// How the first source is doing.
pub(super) enum First {
    /// It answers; the generation of its catalogue as it was looked at.
    Good(u64),
    /// It does not, and why; the same, as it was last heard of.
    Broken(SourceError, u64),
}

impl<B: Source> Fallback<B> {
    /// Whether something is wanted that the second source can fill and of which the first
    /// one was never asked whether it has it.
    pub(super) fn is_news(&self, wanted: &ObjectQuery) -> bool {
        let is_new = |name: &&TitleIndex| !self.looked_at.contains(name);
        self.capable.iter().filter(is_new).any(|name| wanted.may_mean(*name))
    }

    /// Takes down what is to be looked at from now on.
    fn look_at(&mut self, wanted: &ObjectQuery) {
        let (capable, looked_at) = (&self.capable, &mut self.looked_at);
        let known = std::mem::take(looked_at);
        let is_wanted = |name: &&TitleIndex| known.contains(name) || wanted.may_mean(**name);
        // In the order of the second one, whatever was wanted first.
        looked_at.extend(capable.iter().filter(is_wanted));
        let tried = if looked_at.is_empty() { capable } else { looked_at };
        self.trial.objects = ObjectQuery::Indexes(tried.clone());
    }

    /// Looks how the first source is doing, where that is due.
    ///
    /// # Errors
    /// Where it was never known, and there was no time to find it out.
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
        let (First::Good(seen) | First::Broken(_, seen)) = decision.first;
        let is_news = is_news && matches!(decision.first, First::Good(_));
        // What is broken is not to cost each reader its deadline.
        let limit = self.broken().map(|_| TRIAL);
        let generation = self.generation(ask.until, limit).unwrap_or(seen);
        if generation == seen && !is_news {
            if is_due {
                self.try_again(ask.until);
            }
            return Ok(());
        }
        let begun = Instant::now();
        // Of one that is broken, what the second one has is to be read yet.
        let limit = self.broken().and_then(|_| half_of_what_is_left(ask.until));
        match (self.look(ask, limit), &mut self.decision) {
            (Ok(catalogue), _) => self.settle(&catalogue, None),
            // Whatever was registered, that was not it; or there was no time to see that.
            (Err(_), Some(Decision { first: First::Broken(_, seen), again, pause, .. })) => {
                *seen = generation;
                if self.first.is_late() && limit.is_some() {
                    (*again, *pause) = ((self.clock)() + FIRST_PAUSE, FIRST_PAUSE * 2);
                }
            }
            (Err(error), _) => {
                if let (true, Some(known)) = (self.says_nothing(), known) {
                    self.looked_at = known;
                }
                self.failed(&error, begun, ask.until);
            }
        }
        Ok(())
    }

    /// Looks how the first source is doing, of which nothing is known.
    fn decide_first(&mut self, ask: &Ask) -> Result<(), SourceError> {
        let begun = Instant::now();
        match self.look(ask, None) {
            Ok(catalogue) => self.settle(&catalogue, None),
            Err(error) => {
                // Each of those who came so far may have been in a hurry.
                let since = *self.undecided.get_or_insert(begun);
                if self.says_nothing() && since.elapsed() < self.first.longest() {
                    return Err(error);
                }
                self.break_with(&error);
            }
        }
        Ok(())
    }

    /// Whether that the first source did not answer says nothing of it: who asked had no
    /// time for an answer.
    pub(super) fn says_nothing(&self) -> bool {
        self.first.is_late() && !self.first.hangs()
    }

    /// Whether the first source is to be tried with what it lacked.
    pub(super) fn is_due(&self, decision: &Decision) -> bool {
        !decision.objects.is_empty() && (self.clock)() >= decision.again
    }

    /// Asks the first source what it has of what is looked at, or of everything. One that
    /// does not answer in time goes on, and may have the answer the next time.
    fn look(&mut self, ask: &Ask, limit: Option<Duration>) -> Result<Arc<Catalogue>, SourceError> {
        let until = ask.until_at_most(limit.and_then(|limit| Instant::now().checked_add(limit)));
        let objects = match &ask.objects {
            ObjectQuery::Indexes(_) if self.looked_at.is_empty() => ObjectQuery::one(NO_OBJECT),
            ObjectQuery::Indexes(_) => ObjectQuery::Indexes(self.looked_at.clone()),
            _ => ObjectQuery::Global,
        };
        self.first.catalogue(&Ask::new(objects).until(until))
    }

    /// The generation of the first source's catalogue; `None` where it does not tell.
    fn generation(&mut self, until: Option<Instant>, limit: Option<Duration>) -> Option<u64> {
        let ask = Ask::nothing().until(until);
        let until = ask.until_at_most(limit.and_then(|limit| Instant::now().checked_add(limit)));
        let catalogue = self.first.catalogue(&ask.until(until));
        catalogue.ok().map(|catalogue| catalogue.generation)
    }

    /// Asks the first source for the objects that the second one can fill.
    fn try_first(&mut self, until: Option<Instant>, limit: Duration) -> Result<(), SourceError> {
        let limit = Some(Instant::now() + limit);
        self.trial.until = Ask::nothing().until(until).until_at_most(limit);
        self.tried.clear();
        self.first.collect(&self.trial, &mut self.tried)
    }

    /// Whether the first source has by now what it lacked.
    fn try_again(&mut self, until: Option<Instant>) {
        let limit = half_of_what_is_left(until).map_or(TRIAL, |half| half.min(TRIAL));
        let tried = self.try_first(until, limit);
        let now = (self.clock)();
        let Some(decision) = &mut self.decision else { return };
        if tried.is_err() && limit < TRIAL && self.first.is_late() {
            // It was given less time than it has.
            decision.again = now + FIRST_PAUSE;
            return;
        }
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
        let delivered: Vec<TitleIndex> = self.capable.iter().copied().filter(has).collect();
        if let Ok(catalogue) = self.look(&Ask::nothing().until(until), Some(TRIAL)) {
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
        (self.failures, self.undecided) = (0, None);
        let first = First::Good(catalogue.generation);
        self.decided(first, objects, reason);
    }

    /// A request to the first source failed; `begun` is when it was made.
    pub(super) fn failed(&mut self, error: &SourceError, begun: Instant, until: Option<Instant>) {
        if self.says_nothing() {
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
            // What was asked for hangs, and nothing else.
            self.failures = 0;
        } else if self.failures >= IN_A_ROW || error.kind() == SourceErrorKind::Denied {
            // Who is denied one object is denied all.
            self.doubt(until);
        }
    }

    /// Whether what the first source was just tried with says nothing of it: there was less
    /// time than a trial has. The next request tries it again.
    fn has_no_time(&self, until: Option<Instant>) -> bool {
        Ask::nothing().until(until).is_over() && self.says_nothing()
    }

    /// What was asked of the first source was in vain more than once: that may
    /// be its own fault, or only that of what was asked for.
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
                // What was said already needs no new decision.
                if self.capable.iter().any(|name| lacks(name) && !known.contains(name)) {
                    self.settle(&catalogue, Some(&delivered));
                }
                self.failures = 0;
            }
            Err(_) if self.has_no_time(until) => {}
            Err(error) => self.break_with(&error),
        }
    }

    /// The first source is of no use for now.
    fn break_with(&mut self, error: &SourceError) {
        self.undecided = None;
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
        // Who asks once more is not told anything else: it is not busy for the moment.
        let kind = match error.kind() {
            SourceErrorKind::Busy => SourceErrorKind::Deadline,
            kind => kind,
        };
        let why = SourceError::new(kind, error.source_name(), message);
        let cause = format!("its counters cannot be read: {}", error.message());
        let reason = self.names(&objects).map(|names| by_native(&names, &cause));
        let known = self.generation(None, Some(TRIAL));
        let first = First::Broken(why, known.unwrap_or(self.first.last_generation()));
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
        let titles = self.second.titles(LanguageId::ENGLISH, &Ask::nothing()).ok();
        let name = |index: &TitleIndex| {
            let name = titles.as_ref().and_then(|titles| titles.name(*index));
            name.map_or_else(|| index.to_string(), str::to_string)
        };
        let names: Vec<String> = objects.iter().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Why the first source is of no use, if it is of none.
    pub(super) fn broken(&self) -> Option<&SourceError> {
        match &self.decision {
            Some(Decision { first: First::Broken(why, _), .. }) => Some(why),
            _ => None,
        }
    }
}

/// Half of the time that who asks has left; `None` for one who has no deadline.
fn half_of_what_is_left(until: Option<Instant>) -> Option<Duration> {
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    until.map(|until| left(until) / 2)
}

fn by_native(names: &str, why: &str) -> String {
    format!("{names} by native functions, not from the registry: {why}")
}
