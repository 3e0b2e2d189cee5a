//! The state machine of a registry: which parts of it answer, and when the other parts are asked
//! for again.
//!
//! Four things have a state. The code here asks no registry and reads no clock: it gets each event
//! with its time, and returns the action that is to be done. Every call of a registry returns or
//! times out, so the deadline of a caller is not an event here.
//!
//! # The whole, for a registry that has a second source ([`Whole`])
//!
//! | state | event | next state | to be done |
//! |---|---|---|---|
//! | undecided | the catalogue was read | good | |
//! | undecided | an ask failed | broken | use the second source for everything |
//! | good | an answer with every expected object | good, no failure | |
//! | good | the first answer in a row that lacks an expected object or is an error | good, one failure | |
//! | good | the second such answer in a row; access is denied; a timeout | good | a check |
//! | good | a check without an answer | broken | use the second source for everything |
//! | good | a check with an answer, after a timeout | good, no failure | |
//! | good | a check with an answer, after other failures | good, no failure | read the catalogue |
//! | good, broken | it is time for a trial | the same | a trial |
//! | good, broken | the first trial in a row that delivers a missing object | the same | a trial after 5 seconds |
//! | good, broken | the second such trial in a row | the same | read the catalogue |
//! | good, broken | a trial that delivers none, or has no answer | the same, after twice the pause | |
//! | good, broken | the catalogue was read | good | |
//!
//! A check, like a trial, is one ask for those wanted objects that the second source has too.
//!
//! # Calls that time out ([`Calls`])
//!
//! | state | event | next state | to be done |
//! |---|---|---|---|
//! | answering | a call timed out | hanging | ask each provider alone; leave out those that hang |
//! | hanging | all calls returned | resting | |
//! | resting | the pause is over | answering | ask for everything again |
//! | resting | a call timed out | hanging | |
//! | any | a registration changed | answering, no pause | ask for everything again |
//!
//! There is no pause after the first hang. The pause after the next hang is 5 seconds, and it
//! doubles with each further hang up to five minutes. After ten minutes without a hang, the next
//! hang counts as the first.
//!
//! # A query (`KnownQuery` in `source.rs`)
//!
//! | state | event | next state |
//! |---|---|---|
//! | whole | it fails, or an object in its answer is damaged | in parts |
//! | in parts | 60 seconds passed; `Calls` is answering again; names were registered | whole |
//! | in parts | the parts fail | whole, and at once in parts again |
//!
//! # The owner of a published name ([`Owner`], for [`Beside`](crate::Beside))
//!
//! A published object is served while its name has no owner in the registry.
//!
//! | state | event | next state |
//! |---|---|---|
//! | any | the registry lists an object of that name | the registry |
//! | any | the registry has no object of that name | none |
//! | the registry | the registry is broken or has a damaged title list, so no such object can be read | the registry |
//! | unknown, none | the registry is broken or has a damaged title list | none |
//! | any | a provider or a title list is late | the same |

use std::time::{Duration, Instant};

/// The number of failures in a row after which the registry is checked (after a timeout or a
/// refused access it is checked at once), and the number of trials in a row that must deliver
/// missing objects before the registry is used for them again.
const IN_A_ROW: u32 = 2;
/// The first pause after a hang that follows another hang, or before a trial for missing objects.
/// The pause doubles up to [`LONGEST_PAUSE`].
pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause after a hang, or before a trial for missing objects.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The length of the next pause. It doubles each time that a pause is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pause(Duration);

impl Pause {
    const FIRST: Self = Self(FIRST_PAUSE);

    fn take(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// The state of a registry's calls: whether calls time out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    state: CallState,
    /// The pause after the next hang, unless that hang counts as the first.
    pause: Pause,
    /// The time of the newest hang; `None` before the first.
    last: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    Answering,
    /// A call has not returned. Holds the length of the pause that follows its return.
    Hanging(Duration),
    /// All calls have returned. Holds the end of the pause.
    Resting(Instant),
}

impl Calls {
    pub(crate) const NEW: Self =
        Self { state: CallState::Answering, pause: Pause::FIRST, last: None };

    /// Notes that a call timed out at the time `now`.
    pub(crate) fn timed_out(&mut self, now: Instant) {
        let is_recent = |last| now.saturating_duration_since(last) < 2 * LONGEST_PAUSE;
        let pause = match self.state {
            CallState::Hanging(pause) => pause,
            CallState::Resting(_) => self.pause.take(),
            CallState::Answering if self.last.is_some_and(is_recent) => self.pause.take(),
            CallState::Answering => {
                self.pause = Pause::FIRST;
                Duration::ZERO
            }
        };
        (self.state, self.last) = (CallState::Hanging(pause), Some(now));
    }

    /// Whether the pause after a hang has just ended; the caller then asks for everything again.
    /// `hanging` is the number of calls that have not returned.
    pub(crate) fn are_over(&mut self, hanging: usize, now: Instant) -> bool {
        if let CallState::Hanging(pause) = self.state
            && hanging == 0
        {
            self.state = CallState::Resting(now + pause);
        }
        let is_over = matches!(self.state, CallState::Resting(end) if now >= end);
        if is_over {
            self.state = CallState::Answering;
        }
        is_over
    }
}

/// The states of a registry as a whole; the first table of `condition.rs` shows how they change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The registry has not answered so far.
    Undecided,
    /// The registry answers.
    Good,
    /// The registry does not answer, or refuses access.
    Broken,
}

/// An event at a registry, which may change its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The catalogue was read, and the missing objects are known.
    Listed,
    /// An answer held every expected object.
    Complete,
    /// An answer lacked an expected object.
    Incomplete,
    /// An ask failed.
    Failed(Failure),
    /// A check ended. `answered` says whether the check had an answer, and `is_hang` whether a
    /// timeout was the reason for the check.
    Checked { answered: bool, is_hang: bool },
    /// A trial for missing objects ended.
    Tried(Trial),
}

/// The way in which an ask failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A call timed out.
    Hang,
    /// Access is denied.
    Denied,
    /// Any other error.
    Other,
}

/// The outcome of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// The trial delivered a missing object.
    Delivered,
    /// The trial had an answer, without any missing object.
    Empty,
    /// The trial had an error.
    Failed,
}

/// The action that the caller has to take after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Nothing,
    /// Make a check; `is_hang` says whether a timeout is the reason for it.
    Check {
        is_hang: bool,
    },
    /// Read the catalogue.
    List,
    /// Use the second source for everything.
    Break,
}

/// The state of a registry as a whole, and the counts that lead to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) state: State,
    /// The number of failures in a row in the state `Good`.
    failures: u32,
    /// The number of trials in a row that delivered a missing object.
    deliveries: u32,
    /// The time of the next trial; `None` while the state is undecided. If that trial delivers no
    /// missing object, the next one comes after `pause`.
    again: Option<Instant>,
    pause: Pause,
}

impl Whole {
    pub(crate) const NEW: Self = Self {
        state: State::Undecided,
        failures: 0,
        deliveries: 0,
        again: None,
        pause: Pause::FIRST,
    };

    /// Whether the time for the next trial has come; `false` while the state is undecided.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| now >= again)
    }

    /// Changes the state after an event at the time `now`, and returns what the caller has to do.
    pub(crate) fn on(&mut self, event: Event, now: Instant) -> Next {
        match (self.state, event) {
            (_, Event::Listed) => self.decide(State::Good, now),
            (State::Undecided, Event::Failed(_)) => self.decide(State::Broken, now),
            (State::Good, Event::Complete) => self.forgive(Next::Nothing),
            (State::Good, Event::Failed(Failure::Hang)) => Next::Check { is_hang: true },
            (State::Good, Event::Failed(Failure::Denied)) => Next::Check { is_hang: false },
            (State::Good, Event::Incomplete | Event::Failed(Failure::Other)) => {
                self.failures += 1;
                if self.failures >= IN_A_ROW {
                    Next::Check { is_hang: false }
                } else {
                    Next::Nothing
                }
            }
            (State::Good, Event::Checked { answered: false, .. }) => {
                self.decide(State::Broken, now)
            }
            (State::Good, Event::Checked { answered: true, is_hang }) => {
                self.forgive(if is_hang { Next::Nothing } else { Next::List })
            }
            (State::Good | State::Broken, Event::Tried(Trial::Delivered)) => {
                self.deliveries += 1;
                self.again = Some(now + FIRST_PAUSE);
                if self.deliveries >= IN_A_ROW { Next::List } else { Next::Nothing }
            }
            (State::Good | State::Broken, Event::Tried(Trial::Empty | Trial::Failed)) => {
                (self.deliveries, self.again) = (0, Some(now + self.pause.take()));
                Next::Nothing
            }
            _ => Next::Nothing,
        }
    }

    /// Forgets the failures, and returns `next`.
    fn forgive(&mut self, next: Next) -> Next {
        self.failures = 0;
        next
    }

    /// Enters a state at the time `now`; all counts begin anew, and the first pause begins. Returns
    /// what the caller has to do: use the second source for everything in the state `Broken`,
    /// nothing in any other.
    fn decide(&mut self, state: State, now: Instant) -> Next {
        *self = Self { state, ..Self::NEW };
        self.again = Some(now + self.pause.take());
        if state == State::Broken { Next::Break } else { Next::Nothing }
    }
}

/// The owner of a published name, as far as it is known: an object of the registry that has the
/// same name owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The registry has not answered yet whether it has an object with this name.
    Unknown,
    /// An object of the registry has the name.
    Registry,
    /// No object of the registry has the name, or none that can be read.
    Nothing,
}

/// An answer of a registry about a published name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameEvent {
    /// The registry lists an object of the published name.
    Listed,
    /// The registry lists no object of the published name.
    Absent,
    /// No object of the published name can be read, because the registry is broken or a title list
    /// is damaged.
    Unreadable,
    /// A provider or a title list did not answer in time.
    Late,
}

impl Owner {
    /// Changes what is known about the owner of a published name, after an answer of the registry
    /// about the name.
    pub(crate) fn on(&mut self, event: NameEvent) {
        *self = match (*self, event) {
            (_, NameEvent::Listed) | (Self::Registry, NameEvent::Unreadable) => Self::Registry,
            (_, NameEvent::Absent | NameEvent::Unreadable) => Self::Nothing,
            (owner, NameEvent::Late) => owner,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state before an event, by name.
    fn state(name: &str, now: Instant) -> Whole {
        let mut good = Whole::NEW;
        good.on(Event::Listed, now);
        match name {
            "undecided" => Whole::NEW,
            "good" => good,
            "good, one failure" => Whole { failures: 1, ..good },
            "good, one delivery" => Whole { deliveries: 1, ..good },
            "broken" => Whole { state: State::Broken, ..good },
            "broken, one delivery" => Whole { state: State::Broken, deliveries: 1, ..good },
            other => unreachable!("{other}"),
        }
    }

    #[test]
    fn every_row_of_the_table_leads_to_its_state() {
        use Event::{Checked, Complete, Failed, Incomplete, Listed, Tried};
        use Failure::{Denied, Hang, Other};
        use Trial::Delivered;
        let now = Instant::now();
        let checked = |answered, is_hang| Checked { answered, is_hang };
        let rows = [
            ("undecided", Listed, "good", Next::Nothing),
            ("undecided", Failed(Other), "broken", Next::Break),
            ("undecided", Failed(Hang), "broken", Next::Break),
            ("undecided", Failed(Denied), "broken", Next::Break),
            ("good", Complete, "good", Next::Nothing),
            ("good, one failure", Complete, "good", Next::Nothing),
            ("good", Incomplete, "good, one failure", Next::Nothing),
            ("good", Failed(Other), "good, one failure", Next::Nothing),
            ("good", Failed(Hang), "good", Next::Check { is_hang: true }),
            ("good", Failed(Denied), "good", Next::Check { is_hang: false }),
            ("good", checked(false, true), "broken", Next::Break),
            ("good", checked(false, false), "broken", Next::Break),
            ("good, one failure", checked(true, true), "good", Next::Nothing),
            ("good, one failure", checked(true, false), "good", Next::List),
            ("good", Tried(Delivered), "good, one delivery", Next::Nothing),
            ("broken", Tried(Delivered), "broken, one delivery", Next::Nothing),
            ("broken", Complete, "broken", Next::Nothing),
            ("broken", Listed, "good", Next::Nothing),
        ];
        for (before, event, after, next) in rows {
            let mut whole = state(before, now);
            assert_eq!(whole.on(event, now), next, "{before}: {event:?}");
            assert_eq!(whole, state(after, now), "{before}: {event:?}");
        }
    }

    #[test]
    fn the_second_failure_and_the_second_delivery_in_a_row_have_an_effect() {
        let now = Instant::now();
        for event in [Event::Incomplete, Event::Failed(Failure::Other)] {
            assert_eq!(
                state("good, one failure", now).on(event, now),
                Next::Check { is_hang: false }
            );
        }
        for before in ["good, one delivery", "broken, one delivery"] {
            let mut whole = state(before, now);
            assert_eq!(whole.on(Event::Tried(Trial::Delivered), now), Next::List, "{before}");
        }
    }

    /// A slow provider that hangs each time it is asked is asked less and less often.
    #[test]
    fn the_pause_after_a_hang_doubles_and_a_long_rest_ends_that() {
        let mut calls = Calls::NEW;
        let mut now = Instant::now();
        let second = Duration::from_secs(1);
        let mut round = |rest: Duration| {
            now += rest;
            calls.timed_out(now);
            now += second;
            // A second call that times out before the first one returned is the same hang.
            calls.timed_out(now);
            assert!(!calls.are_over(1, now));
            let returned = now;
            while !calls.are_over(0, now) {
                now += second;
            }
            assert_eq!(calls.state, CallState::Answering);
            now.duration_since(returned).as_secs()
        };
        let pauses: Vec<u64> = (0..10).map(|_| round(second)).collect();
        assert_eq!(pauses, [0, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(round(3 * LONGEST_PAUSE), 0);
        assert_eq!(round(second), 5);
    }

    #[test]
    fn a_hang_during_the_pause_is_a_further_one() {
        let (mut calls, now) = (Calls::NEW, Instant::now());
        for _ in 0..2 {
            calls.timed_out(now);
            calls.are_over(0, now);
        }
        assert_eq!(calls.state, CallState::Resting(now + FIRST_PAUSE));
        calls.timed_out(now);
        assert_eq!(calls.state, CallState::Hanging(2 * FIRST_PAUSE));
        let mut fresh = Calls::NEW;
        assert!(!fresh.are_over(0, now), "nothing hangs");
    }

    #[test]
    fn the_pause_doubles_with_each_failed_trial_up_to_five_minutes() {
        let mut now = Instant::now();
        for ending in [Trial::Empty, Trial::Failed] {
            let mut whole = state("broken", now);
            let mut pauses = Vec::new();
            for _ in 0..8 {
                let before = now;
                while !whole.is_due(now) {
                    now += Duration::from_secs(5);
                }
                pauses.push((now - before).as_secs());
                whole.on(Event::Tried(ending), now);
            }
            assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
        }
    }

    #[test]
    fn every_answer_about_a_published_name_leads_to_its_owner() {
        use NameEvent::{Absent, Late, Listed, Unreadable};
        use Owner::{Nothing, Registry, Unknown};
        for (event, after) in [
            (Listed, [Registry, Registry, Registry]),
            (Absent, [Nothing, Nothing, Nothing]),
            (Unreadable, [Nothing, Registry, Nothing]),
            (Late, [Unknown, Registry, Nothing]),
        ] {
            for (mut owner, after) in [Unknown, Registry, Nothing].into_iter().zip(after) {
                let before = owner;
                owner.on(event);
                assert_eq!(owner, after, "{before:?}: {event:?}");
            }
        }
    }
}
