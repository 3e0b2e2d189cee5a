//! Requests that overlap become one collection.
//!
//! A lane owns a source. Whoever needs fresh data adds what it wants to the
//! union of the *next* run and waits; as soon as the source is free, one of
//! those who wait, whichever wakes first, takes the whole union, collects, and
//! hands the outcome to the others. So nobody waits longer than for the run
//! that is at work and the one behind it, however many there are, and there is
//! no thread that would have to be woken.
//!
//! The lock guards a few words and lists. It is never held while the source is
//! at work, and those who only take kept data never touch it.

use super::sync::{Condvar, Mutex, MutexGuard, ThreadId, this_thread};
use crate::error::{SourceError, SourceErrorKind};
use std::time::{Duration, Instant};

/// What a run is asked to collect, as a set.
pub(super) trait Wishes: Default {
    /// Adds what another set holds.
    fn merge(&mut self, other: &Self);
    /// Whether a run for this set brings something of another set.
    fn overlaps(&self, other: &Self) -> bool;
    /// Forgets everything, keeping the allocations.
    fn clear(&mut self);
}

/// How a request for fresh data ended.
#[derive(Debug)]
pub(super) struct Outcome<T> {
    /// Whether the run that served it was asked for all that was wanted; one
    /// that was joined on its way may bring a part only.
    pub(super) in_full: bool,
    /// The deadline of the one who collected.
    pub(super) deadline: Option<Instant>,
    /// What that run brought.
    pub(super) result: Result<T, SourceError>,
}

/// A source, and those who wait for it.
pub(super) struct Lane<S, W, T> {
    name: String,
    state: Mutex<State<S, W, T>>,
    changed: Condvar,
}

struct State<S, W, T> {
    /// The source; none while a run has it.
    source: Option<S>,
    running: Option<Running<W>>,
    /// The union of what those want who wait for the next run.
    next: W,
    next_number: u64,
    next_waiting: usize,
    /// Number of the newest run that ended.
    ended: u64,
    /// What those runs brought whose outcome somebody has not picked up yet.
    outcomes: Vec<Pending<T>>,
    /// Empty sets for reuse.
    spares: Vec<W>,
    /// Threads that wait for a change: waking nobody would be a system call.
    asleep: usize,
}

struct Running<W> {
    number: u64,
    wants: W,
    begun: Duration,
    deadline: Option<Instant>,
    thread: ThreadId,
    waiting: usize,
}

struct Pending<T> {
    run: u64,
    deadline: Option<Instant>,
    result: Result<T, SourceError>,
    waiting: usize,
}

impl<S, W: Wishes, T: Clone + Default> Lane<S, W, T> {
    pub(super) fn new(name: &str, source: S) -> Self {
        let state = State {
            source: Some(source),
            running: None,
            next: W::default(),
            next_number: 1,
            next_waiting: 0,
            ended: 0,
            outcomes: Vec::new(),
            spares: Vec::new(),
            asleep: 0,
        };
        Self { name: name.to_string(), state: Mutex::new(state), changed: Condvar::new() }
    }

    fn error(&self, kind: SourceErrorKind, message: &str) -> SourceError {
        SourceError::new(kind, &self.name, message)
    }

    /// Waits for a run that brings what is wanted, or makes it. A run that is
    /// at work already is joined if `joins` agrees to when it was begun, and it
    /// brings at least a part.
    ///
    /// `run` gets the source and what to collect; it is called at most once,
    /// without any lock held.
    pub(super) fn request(
        &self,
        wants: &W,
        joins: impl FnOnce(Duration) -> bool,
        now: impl Fn() -> Duration,
        deadline: Option<Instant>,
        run: impl FnOnce(&mut S, &mut W) -> Result<T, SourceError>,
    ) -> Result<Outcome<T>, SourceError> {
        let me = this_thread();
        let mut state = self.lock();
        if let Some(running) = &mut state.running {
            if running.thread == me {
                return Err(self.recursion());
            }
            if running.wants.overlaps(wants) && joins(running.begun) {
                running.waiting += 1;
                let number = running.number;
                return self.wait_for(state, number, deadline);
            }
        }
        state.next.merge(wants);
        state.next_waiting += 1;
        let number = state.next_number;
        loop {
            if state.next_number != number {
                // Somebody else took the union along; this one's place in the
                // number of those who wait went with it.
                return self.wait_for(state, number, deadline).map(|mut outcome| {
                    outcome.in_full = true;
                    outcome
                });
            }
            // The clock is read first: if it panics, the source stays.
            let begun = state.source.is_some().then(&now).unwrap_or_default();
            if let Some(source) = state.source.take() {
                let result = self.lead(state, source, (begun, deadline), run);
                return Ok(Outcome { in_full: true, deadline, result });
            }
            let (woken, timed_out) = self.wait(state, deadline);
            state = woken;
            if timed_out && state.next_number == number {
                state.next_waiting -= 1;
                if state.next_waiting == 0 {
                    // Nobody wants it any more.
                    state.next.clear();
                }
                return Err(self.late());
            }
        }
    }

    /// Collects the union on behalf of all who wait for it.
    fn lead(
        &self,
        mut state: MutexGuard<'_, State<S, W, T>>,
        source: S,
        (begun, deadline): (Duration, Option<Instant>),
        run: impl FnOnce(&mut S, &mut W) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let number = state.next_number;
        let empty = state.spares.pop().unwrap_or_default();
        let wants = std::mem::replace(&mut state.next, empty);
        let waiting = state.next_waiting.saturating_sub(1);
        state.next_number += 1;
        state.next_waiting = 0;
        // One set goes to the run; its copy stays for others to compare with.
        let mut copy = state.spares.pop().unwrap_or_default();
        copy.merge(&wants);
        state.running =
            Some(Running { number, wants: copy, begun, deadline, thread: this_thread(), waiting });
        drop(state);

        let mut leading = Leading { lane: self, source: Some(source), wants, ended: false };
        let result = match &mut leading.source {
            Some(source) => run(source, &mut leading.wants),
            None => Ok(T::default()),
        };
        leading.end(&result);
        result
    }

    /// Waits until a run has ended, and answers how. The caller counts among
    /// those who wait for it.
    fn wait_for(
        &self,
        mut state: MutexGuard<'_, State<S, W, T>>,
        run: u64,
        deadline: Option<Instant>,
    ) -> Result<Outcome<T>, SourceError> {
        while state.ended < run {
            let (woken, timed_out) = self.wait(state, deadline);
            state = woken;
            if timed_out && state.ended < run {
                if let Some(running) = state.running.as_mut().filter(|r| r.number == run) {
                    running.waiting = running.waiting.saturating_sub(1);
                }
                return Err(self.late());
            }
        }
        let at = state.outcomes.iter().position(|pending| pending.run == run);
        let (deadline, result) = match at.and_then(|at| Some((at, state.outcomes.get_mut(at)?))) {
            Some((at, pending)) => {
                pending.waiting = pending.waiting.saturating_sub(1);
                let by = pending.deadline;
                if pending.waiting == 0 {
                    (by, state.outcomes.swap_remove(at).result)
                } else {
                    (by, pending.result.clone())
                }
            }
            // Kept until everybody who was counted has it.
            None => {
                let message = "a collection's outcome is lost";
                (None, Err(self.error(SourceErrorKind::Internal, message)))
            }
        };
        Ok(Outcome { in_full: false, deadline, result })
    }

    /// Has the source alone for something else than a collection.
    pub(super) fn with<V>(
        &self,
        deadline: Option<Instant>,
        use_it: impl FnOnce(&mut S) -> V,
    ) -> Result<V, SourceError> {
        let mut state = self.lock();
        loop {
            if state.running.as_ref().is_some_and(|running| running.thread == this_thread()) {
                return Err(self.recursion());
            }
            if let Some(source) = state.source.take() {
                // Counts as a run of nothing, which nobody joins.
                let number = state.ended;
                state.running = Some(Running {
                    number,
                    wants: W::default(),
                    begun: Duration::ZERO,
                    deadline,
                    thread: this_thread(),
                    waiting: 0,
                });
                drop(state);
                let wants = W::default();
                let mut leading = Leading { lane: self, source: Some(source), wants, ended: false };
                let value = leading.source.as_mut().map(use_it);
                leading.end(&Ok(T::default()));
                return value.ok_or_else(|| self.recursion());
            }
            let (woken, timed_out) = self.wait(state, deadline);
            state = woken;
            if timed_out && state.source.is_none() {
                return Err(self.late());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<S, W, T>> {
        // A panic cannot come between two steps here: nothing of a caller's
        // runs under the lock but `joins` and `now`, before anything changed.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State<S, W, T>>,
        deadline: Option<Instant>,
    ) -> (MutexGuard<'a, State<S, W, T>>, bool) {
        state.asleep += 1;
        let (mut state, timed_out) = self.sleep(state, deadline);
        state.asleep -= 1;
        (state, timed_out)
    }

    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, State<S, W, T>>,
        deadline: Option<Instant>,
    ) -> (MutexGuard<'a, State<S, W, T>>, bool) {
        match deadline {
            None => {
                let woken = self.changed.wait(state);
                (woken.unwrap_or_else(std::sync::PoisonError::into_inner), false)
            }
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return (state, true);
                }
                let woken = self.changed.wait_timeout(state, left);
                let (state, result) = woken.unwrap_or_else(std::sync::PoisonError::into_inner);
                (state, result.timed_out())
            }
        }
    }

    fn late(&self) -> SourceError {
        self.error(SourceErrorKind::Deadline, "did not answer in time")
    }

    fn recursion(&self) -> SourceError {
        let message = "the source asked its own cache while it was collecting for it";
        self.error(SourceErrorKind::Internal, message)
    }
}

/// Sets kept for reuse: those of the run at work, and of the one behind it.
const SPARES: usize = 3;

/// A run at work. Dropped without an end, the source panicked: it goes back,
/// and those who wait learn of it.
struct Leading<'a, S, W: Wishes, T: Clone + Default> {
    lane: &'a Lane<S, W, T>,
    source: Option<S>,
    wants: W,
    ended: bool,
}

impl<S, W: Wishes, T: Clone + Default> Leading<'_, S, W, T> {
    fn end(&mut self, result: &Result<T, SourceError>) {
        self.ended = true;
        let mut state = self.lane.lock();
        state.source = self.source.take();
        if let Some(running) = state.running.take() {
            state.ended = state.ended.max(running.number);
            if running.waiting > 0 {
                let Running { number: run, deadline, waiting, .. } = running;
                let result = result.clone();
                state.outcomes.push(Pending { run, deadline, result, waiting });
            }
            for mut set in [running.wants, std::mem::take(&mut self.wants)] {
                set.clear();
                if state.spares.len() < SPARES {
                    state.spares.push(set);
                }
            }
        }
        let anybody = state.asleep > 0;
        drop(state);
        if anybody {
            self.lane.changed.notify_all();
        }
    }
}

impl<S, W: Wishes, T: Clone + Default> Drop for Leading<'_, S, W, T> {
    fn drop(&mut self) {
        if !self.ended {
            let message = "panicked while collecting";
            self.end(&Err(self.lane.error(SourceErrorKind::Internal, message)));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[derive(Default)]
    struct Bits(u32);

    impl Wishes for Bits {
        fn merge(&mut self, other: &Self) {
            self.0 |= other.0;
        }
        fn overlaps(&self, other: &Self) -> bool {
            self.0 & other.0 != 0
        }
        fn clear(&mut self) {
            self.0 = 0;
        }
    }

    #[test]
    fn nothing_is_kept_for_who_stopped_waiting() {
        let lane: Lane<(), Bits, u32> = Lane::new("source", ());
        let ask = |wants, joins, patience: Option<u64>, run: &dyn Fn()| {
            let deadline = patience.map(|ms| Instant::now() + Duration::from_millis(ms));
            let run = |(): &mut (), wants: &mut Bits| {
                run();
                Ok(wants.0)
            };
            let outcome = lane.request(&Bits(wants), |_| joins, || Duration::ZERO, deadline, run);
            outcome.map(|outcome| outcome.result.unwrap()).map_err(|error| error.kind())
        };
        std::thread::scope(|scope| {
            let (entered, enter) = channel();
            let (open, opened) = channel::<()>();
            scope.spawn(move || {
                let wait = || {
                    entered.send(()).unwrap();
                    opened.recv().unwrap();
                };
                assert_eq!(ask(1, false, None, &wait), Ok(1));
            });
            enter.recv().unwrap();
            // One joins the run at work, the other waits for the next one.
            assert_eq!(ask(1, true, Some(5), &|| {}), Err(SourceErrorKind::Deadline));
            assert_eq!(ask(6, false, Some(5), &|| {}), Err(SourceErrorKind::Deadline));
            open.send(()).unwrap();
        });
        assert_eq!(ask(8, false, None, &|| {}), Ok(8));
        let state = lane.lock();
        assert!(state.outcomes.is_empty() && state.running.is_none());
        assert_eq!((state.next.0, state.next_waiting), (0, 0));
    }
}
