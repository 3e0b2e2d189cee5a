//! The state machine of a registry: what [`Fallback`](super::Fallback) knows of its first source.
//!
//! | state | event | next state | to be done |
//! |---|---|---|---|
//! | undecided | the catalogue was read | good | |
//! | undecided | the deadline of the ask passed, and all asks so far had less than the longest time | undecided | |
//! | undecided | the same, and they had the longest time; any other failure | broken | |
//! | good | an answer with every expected object | good, no failure | |
//! | good | the first answer in a row without one, or with an error | good, one failure | |
//! | good | the second one in a row; access is denied; a timeout | good | a check |
//! | good | the deadline of the ask passed | the same | |
//! | good | a check without an answer | broken | |
//! | good | a check with an answer, after a timeout | good, no failure | |
//! | good | a check with an answer, after other failures | good, no failure | read the catalogue |
//! | good, broken | it is time for a trial | the same | a trial |
//! | good, broken | a trial that delivers a missing object; the second in a row | the same | read the catalogue |
//! | good, broken | a trial that delivers none, or has no answer | the same, after twice the pause | |
//! | good, broken | a check or a trial with less time than it may take | the same | |
//! | good, broken | the catalogue was read | good | |
//!
//! A check and a trial are one ask for the wanted objects that the second source has too. The first pause
//! before a trial is 5 seconds, the longest five minutes. [`Health::on`] asks no source and reads no clock.

use std::time::{Duration, Instant};

/// Failures in a row before a check, and deliveries in a row before the objects are used again.
const IN_A_ROW: u32 = 2;
/// The pause before a trial: the first, and the longest after doubling with each failed trial.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(5);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What is known of the first source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No answer so far; the time of the first ask that ended with its deadline.
    Undecided(Option<Instant>),
    /// It answers.
    Good,
    /// It does not answer, or refuses access.
    Broken,
}

/// What happened at the first source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The catalogue was read, and the missing objects are known.
    Listed,
    /// An answer held every expected object.
    Complete,
    /// An answer lacked an expected object.
    Incomplete,
    /// An ask failed.
    Failed(Failure),
    /// A check after failures ended; whether a timeout was its cause.
    Checked(Trial, bool),
    /// A trial for missing objects ended.
    Tried(Trial),
}

/// How an ask failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Its deadline passed before the timeout; the time of its start, and the longest time of an ask.
    Late(Instant, Duration),
    /// The timeout passed.
    Hang,
    /// Access is denied.
    Denied,
    /// Any other error.
    Other,
}

/// How a check or a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// With a missing object.
    Delivered,
    /// With an answer, and without a missing object.
    Empty,
    /// With an error.
    Failed,
    /// Without an answer, in less time than it may take.
    TooShort,
}

/// What has to be done after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// Make a check; whether a timeout is its cause.
    Check(bool),
    /// Read the catalogue.
    List,
    /// Use the second source for everything.
    Break,
}

/// The state of the first source, and the counts that lead to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Health {
    pub(super) state: State,
    /// Failures in a row in the state `Good`.
    failures: u32,
    /// Trials in a row that delivered a missing object.
    deliveries: u32,
    /// The time of the next trial, and the pause after it if it fails.
    again: Option<Instant>,
    pause: Duration,
}

impl Health {
    pub(super) const NEW: Self = Self {
        state: State::Undecided(None),
        failures: 0,
        deliveries: 0,
        again: None,
        pause: FIRST_PAUSE,
    };

    /// Whether it is time for a trial.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| now >= again)
    }

    /// Makes the next trial after the first pause, as after a trial that had too little time.
    pub(super) fn try_soon(&mut self, now: Instant) {
        (self.again, self.pause) = (Some(now + FIRST_PAUSE), FIRST_PAUSE * 2);
    }

    /// Takes an event, and returns what has to be done.
    pub(super) fn on(&mut self, event: Event, now: Instant) -> Next {
        match (self.state, event) {
            (_, Event::Listed) => self.decide(State::Good, now),
            (State::Undecided(since), Event::Failed(Failure::Late(begun, longest))) => {
                let since = since.unwrap_or(begun);
                if now.saturating_duration_since(since) < longest {
                    self.state = State::Undecided(Some(since));
                    return Next::Nothing;
                }
                self.decide(State::Broken, now)
            }
            (State::Undecided(_), Event::Failed(_)) => self.decide(State::Broken, now),
            (State::Good, Event::Complete) => self.forgive(Next::Nothing),
            (State::Good, Event::Failed(Failure::Hang)) => Next::Check(true),
            (State::Good, Event::Failed(Failure::Denied)) => Next::Check(false),
            (State::Good, Event::Incomplete | Event::Failed(Failure::Other)) => {
                self.failures += 1;
                if self.failures >= IN_A_ROW { Next::Check(false) } else { Next::Nothing }
            }
            (State::Good, Event::Checked(Trial::Failed, _)) => self.decide(State::Broken, now),
            (State::Good, Event::Checked(Trial::Delivered | Trial::Empty, is_hang)) => {
                self.forgive(if is_hang { Next::Nothing } else { Next::List })
            }
            (State::Good | State::Broken, Event::Tried(Trial::Delivered)) => {
                self.deliveries += 1;
                self.again = Some(now + FIRST_PAUSE);
                if self.deliveries >= IN_A_ROW { Next::List } else { Next::Nothing }
            }
            (State::Good | State::Broken, Event::Tried(Trial::Empty | Trial::Failed)) => {
                (self.deliveries, self.again) = (0, Some(now + self.pause));
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                Next::Nothing
            }
            (State::Good | State::Broken, Event::Tried(Trial::TooShort)) => {
                self.again = Some(now + FIRST_PAUSE);
                Next::Nothing
            }
            _ => Next::Nothing,
        }
    }

    fn forgive(&mut self, next: Next) -> Next {
        self.failures = 0;
        next
    }

    fn decide(&mut self, state: State, now: Instant) -> Next {
        *self = Self { state, ..Self::NEW };
        self.try_soon(now);
        if state == State::Broken { Next::Break } else { Next::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(30);

    /// A state before an event, by name.
    fn state(name: &str, now: Instant) -> Health {
        let mut health = Health { state: State::Good, ..Health::NEW };
        health.try_soon(now);
        match name {
            "undecided" => Health::NEW,
            "undecided for long" => {
                Health { state: State::Undecided(Some(now - LONGEST)), ..Health::NEW }
            }
            "good" => health,
            "good, one failure" => Health { failures: 1, ..health },
            "good, one delivery" => Health { deliveries: 1, ..health },
            "broken" => Health { state: State::Broken, ..health },
            "broken, one delivery" => Health { state: State::Broken, deliveries: 1, ..health },
            other => unreachable!("{other}"),
        }
    }

    #[test]
    fn every_row_of_the_table_leads_to_its_state() {
        use Event::{Checked, Complete, Failed, Incomplete, Listed, Tried};
        use Failure::{Denied, Hang, Other};
        use Trial::{Delivered, Empty, TooShort};
        let now = Instant::now() + LONGEST;
        let late = Failed(Failure::Late(now, LONGEST));
        let rows = [
            ("undecided", Listed, "good", Next::Nothing),
            ("undecided for long", late, "broken", Next::Break),
            ("undecided", Failed(Other), "broken", Next::Break),
            ("undecided", Failed(Hang), "broken", Next::Break),
            ("undecided", Failed(Denied), "broken", Next::Break),
            ("good", Complete, "good", Next::Nothing),
            ("good, one failure", Complete, "good", Next::Nothing),
            ("good", Incomplete, "good, one failure", Next::Nothing),
            ("good", Failed(Other), "good, one failure", Next::Nothing),
            ("good", Failed(Hang), "good", Next::Check(true)),
            ("good", Failed(Denied), "good", Next::Check(false)),
            ("good", late, "good", Next::Nothing),
            ("good, one failure", late, "good, one failure", Next::Nothing),
            ("good", Checked(Trial::Failed, true), "broken", Next::Break),
            ("good", Checked(Trial::Failed, false), "broken", Next::Break),
            ("good", Checked(TooShort, false), "good", Next::Nothing),
            ("good, one failure", Checked(Empty, true), "good", Next::Nothing),
            ("good, one failure", Checked(Empty, false), "good", Next::List),
            ("good, one failure", Checked(Delivered, false), "good", Next::List),
            ("good", Tried(Delivered), "good, one delivery", Next::Nothing),
            ("broken", Tried(Delivered), "broken, one delivery", Next::Nothing),
            ("broken", Tried(TooShort), "broken", Next::Nothing),
            ("broken", Complete, "broken", Next::Nothing),
            ("broken", Listed, "good", Next::Nothing),
        ];
        for (before, event, after, next) in rows {
            let mut health = state(before, now);
            assert_eq!(health.on(event, now), next, "{before}: {event:?}");
            assert_eq!(health, state(after, now), "{before}: {event:?}");
        }
    }

    #[test]
    fn the_second_failure_and_the_second_delivery_in_a_row_have_an_effect() {
        let now = Instant::now();
        for event in [Event::Incomplete, Event::Failed(Failure::Other)] {
            assert_eq!(state("good, one failure", now).on(event, now), Next::Check(false));
        }
        for before in ["good, one delivery", "broken, one delivery"] {
            let mut health = state(before, now);
            assert_eq!(health.on(Event::Tried(Trial::Delivered), now), Next::List, "{before}");
        }
    }

    #[test]
    fn a_first_ask_that_is_late_keeps_the_time_of_its_start() {
        let now = Instant::now();
        let mut health = Health::NEW;
        let late = |begun| Event::Failed(Failure::Late(begun, LONGEST));
        assert_eq!(health.on(late(now), now + LONGEST / 2), Next::Nothing);
        assert_eq!(health.on(late(now + LONGEST / 2), now + LONGEST / 2), Next::Nothing);
        assert_eq!(health.state, State::Undecided(Some(now)));
        assert_eq!(health.on(late(now + LONGEST), now + LONGEST), Next::Break);
    }

    #[test]
    fn the_pause_doubles_with_each_failed_trial_up_to_five_minutes() {
        let mut now = Instant::now();
        for ending in [Trial::Empty, Trial::Failed] {
            let mut health = state("broken", now);
            let mut pauses = Vec::new();
            for _ in 0..8 {
                let before = now;
                while !health.is_due(now) {
                    now += Duration::from_secs(5);
                }
                pauses.push((now - before).as_secs());
                health.on(Event::Tried(ending), now);
            }
            assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
        }
    }
}
