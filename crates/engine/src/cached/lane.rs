//! A lane joins requests that overlap in time into one collection.
//!
//! A lane owns a source. A consumer that needs fresh data adds its wishes to the union of the
//! *next* run and waits. As soon as the source is free, the waiting consumer with the latest
//! deadline leads that run: its thread collects the whole union and hands the outcome to the
//! others. A request therefore waits at most for the run in progress and the one behind it, and the
//! cache needs no thread of its own.
//!
//! The lock guards a few words and lists. It is never held during a collection, and a consumer that
//! only takes kept data never touches it.

use super::sync::{Condvar, Mutex, MutexGuard, ThreadId, current_thread};
use crate::error::{SourceError, SourceErrorKind};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A set of objects and counters that a run collects.
pub(super) trait Wishes: Default {
    /// Adds to this set what `other` holds.
    fn merge(&mut self, other: &Self);
    /// Whether a run for this set brings at least one item of `other`, as complete as `other` wants
    /// it. A request for `other` may then join that run. `a.overlaps(b)` does not imply
    /// `b.overlaps(a)`.
    fn overlaps(&self, other: &Self) -> bool;
    /// Forgets everything, keeping the allocations.
    fn clear(&mut self);
}

/// The end of a request for fresh data: the result of the run that the request led or waited for.
#[derive(Debug)]
pub(super) struct Outcome<T> {
    /// Whether the run was made for everything that was wanted. A run that was joined after its
    /// start may bring only a part.
    pub(super) in_full: bool,
    /// The deadline of the request that led the run; `None` if that request had no deadline.
    pub(super) deadline: Option<Instant>,
    /// The run's result.
    pub(super) result: Result<T, SourceError>,
}

/// A source and the requests that wait for it.
pub(super) struct Lane<S, W, T> {
    name: Arc<str>,
    state: Mutex<State<S, W, T>>,
    changed: Condvar,
}

/// The state of a lane, under its lock.
struct State<S, W, T> {
    /// The source; `None` during a run and during a use for something other than a collection.
    source: Option<S>,
    /// The thread that has the source; `None` while the source is free.
    leader_thread: Option<ThreadId>,
    running: Option<Running<W>>,
    /// The union of the wishes of all requests that wait for the next run.
    next: W,
    next_number: u64,
    next_waiting: usize,
    /// Which of the waiting requests may lead the next run; the leader's deadline limits the run.
    leader: Leader,
    /// The numbers of the callers that want the source for something other than a collection, in
    /// order of arrival.
    alone: VecDeque<u64>,
    next_alone: u64,
    /// Which kind comes next if both a run and an exclusive caller wait: they take turns, so that
    /// neither waits for ever.
    turn: Turn,
    /// Number of the newest run that ended; 0 before the first.
    ended: u64,
    /// Results of ended runs that a waiting request has not picked up yet.
    outcomes: Vec<Pending<T>>,
    /// Empty sets for reuse.
    spares: Vec<W>,
    /// Number of sleeping threads; without any, the system call that wakes them is saved.
    asleep: usize,
}

/// The request that may lead the next run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leader {
    /// Any request: none waits yet, or the intended leader gave up.
    Anyone,
    /// Only a request with this deadline: the latest deadline of all requests that wait. `None` is
    /// later than any.
    Latest(Option<Instant>),
}

impl Leader {
    /// The leader after another request with this deadline started to wait.
    fn or(self, deadline: Option<Instant>) -> Self {
        match self {
            Self::Latest(latest) if ends(latest, deadline) => Self::Latest(deadline),
            Self::Latest(_) => self,
            Self::Anyone => Self::Latest(deadline),
        }
    }

    /// Whether a request with this deadline may lead.
    fn may_be(self, deadline: Option<Instant>) -> bool {
        match self {
            Self::Latest(latest) => !ends(deadline, latest),
            Self::Anyone => true,
        }
    }
}

/// Whether the deadline `one` is before the deadline `other`. `None` means no deadline, and is
/// later than any.
pub(super) fn ends(one: Option<Instant>, other: Option<Instant>) -> bool {
    one.is_some_and(|one| other.is_none_or(|other| one < other))
}

/// The kind of caller that gets the source next if both kinds wait: a request that leads a run, or
/// a caller that uses the source alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Run,
    Alone,
}

/// The run in progress, and the number of requests that wait for it, without the one that leads it.
struct Running<W> {
    number: u64,
    wants: W,
    begun: Duration,
    deadline: Option<Instant>,
    waiting: usize,
}

/// The result of a run that ended, and the number of requests that have not picked it up yet.
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
            leader_thread: None,
            running: None,
            next: W::default(),
            next_number: 1,
            next_waiting: 0,
            leader: Leader::Anyone,
            alone: VecDeque::new(),
            next_alone: 0,
            turn: Turn::Run,
            ended: 0,
            outcomes: Vec::with_capacity(OUTCOMES),
            spares: Vec::with_capacity(SPARES),
            asleep: 0,
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Self { name: name.into(), state, changed }
    }

    fn error(&self, kind: SourceErrorKind, message: &'static str) -> SourceError {
        SourceError::fixed(kind, &self.name, message)
    }

    /// Waits for a run (a collection for all requests that wait) that brings what is wanted, or leads such
    /// a run. A run in progress is joined if it brings at least a part and `joins` accepts the time of its
    /// start.
    ///
    /// `run` gets the source and what to collect; it is called at most once, without any lock held.
    /// `now` reads the clock for the start of a run. The failure of a run is in the outcome; an
    /// error is returned only if `deadline` passes first, or if the source asks its own cache.
    pub(super) fn request(
        &self,
        wants: &W,
        joins: impl FnOnce(Duration) -> bool,
        now: impl Fn() -> Duration,
        deadline: Option<Instant>,
        run: impl FnOnce(&mut S, &mut W) -> Result<T, SourceError>,
    ) -> Result<Outcome<T>, SourceError> {
        let mut state = self.lock_for_request()?;
        if let Some(running) = &mut state.running
            && running.wants.overlaps(wants)
            && joins(running.begun)
        {
            running.waiting += 1;
            let number = running.number;
            return self.wait_for(state, number, deadline);
        }
        state.next.merge(wants);
        state.next_waiting += 1;
        state.leader = state.leader.or(deadline);
        let number = state.next_number;
        loop {
            if state.next_number != number {
                // Another request leads the run, and has counted this one among those that wait.
                return self.wait_for(state, number, deadline).map(|mut outcome| {
                    outcome.in_full = true;
                    outcome
                });
            }
            let turn = state.alone.is_empty() || state.turn == Turn::Run;
            if turn && state.leader.may_be(deadline) {
                // The clock is read before the source is taken out, so that a panic loses nothing.
                let begun = state.source.is_some().then(|| catch_unwind(AssertUnwindSafe(&now)));
                let begun = match begun.transpose() {
                    Ok(begun) => begun.unwrap_or_default(),
                    Err(panic) => {
                        state.leader = Leader::Anyone;
                        self.leave(state);
                        resume_unwind(panic);
                    }
                };
                if let Some(source) = state.source.take() {
                    let result = self.lead(state, source, (begun, deadline), run);
                    return Ok(Outcome { in_full: true, deadline, result });
                }
            }
            let (woken, timed_out) = self.wait(state, deadline);
            state = woken;
            if timed_out && state.next_number == number {
                self.leave(state);
                return Err(self.late());
            }
        }
    }

    /// Locks the state for a new request.
    ///
    /// # Errors
    /// If the source asks its own cache on the thread that collects: it would wait for itself.
    fn lock_for_request(&self) -> Result<MutexGuard<'_, State<S, W, T>>, SourceError> {
        let state = self.lock();
        match state.leader_thread == Some(current_thread()) {
            true => Err(self.recursion()),
            false => Ok(state),
        }
    }

    /// Ends the caller's wait for the next run. If no other request waits for that run, its wishes
    /// are dropped.
    fn leave(&self, mut state: MutexGuard<'_, State<S, W, T>>) {
        state.next_waiting -= 1;
        if state.next_waiting == 0 {
            state.next.clear();
            state.leader = Leader::Anyone;
        }
        self.wake(state);
    }

    /// Wakes the sleeping threads; it may be the turn of one of them.
    fn wake(&self, state: MutexGuard<'_, State<S, W, T>>) {
        let is_awaited = state.asleep > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    /// Leads the next run: collects the union of the wishes of all requests that wait for the run,
    /// and returns the result of `run`.
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
        state.leader = Leader::Anyone;
        // Later requests compare their wishes with the copy.
        let mut copy = state.spares.pop().unwrap_or_default();
        copy.merge(&wants);
        state.running = Some(Running { number, wants: copy, begun, deadline, waiting });
        state.turn = Turn::Alone;
        state.leader_thread = Some(current_thread());
        drop(state);

        let mut leading = Leading::new(self, source, wants);
        let result = match &mut leading.source {
            Some(source) => run(source, &mut leading.wants),
            None => Ok(T::default()),
        };
        leading.end(&result);
        result
    }

    /// Waits until a run has ended and returns its outcome; an error if `deadline` passes before.
    /// `in_full` is `false` in the outcome. The caller is already counted among the waiting.
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
            // Unreachable: a result is kept until each counted request has it.
            None => {
                let message = "a collection's outcome is lost";
                (None, Err(self.error(SourceErrorKind::Internal, message)))
            }
        };
        Ok(Outcome { in_full: false, deadline, result })
    }

    /// Waits until the source is free, gives it to `use_it` for anything but a collection, and
    /// returns the result. An error if `deadline` passes before, or if the source asks its own
    /// cache.
    pub(super) fn with<V>(
        &self,
        deadline: Option<Instant>,
        use_it: impl FnOnce(&mut S) -> V,
    ) -> Result<V, SourceError> {
        let mut state = self.lock_for_request()?;
        let mine = state.next_alone;
        state.next_alone += 1;
        state.alone.push_back(mine);
        let mut late = false;
        loop {
            let is_mine = state.alone.front() == Some(&mine)
                && (state.turn == Turn::Alone || state.next_waiting == 0);
            if let Some(source) = is_mine.then(|| state.source.take()).flatten() {
                state.alone.pop_front();
                state.turn = Turn::Run;
                state.leader_thread = Some(current_thread());
                // Counts as a run for an empty set, which no request joins.
                let (number, wants) = (state.ended, W::default());
                let begun = Duration::ZERO;
                state.running = Some(Running { number, wants, begun, deadline, waiting: 0 });
                drop(state);
                let mut leading = Leading::new(self, source, W::default());
                let value = leading.source.as_mut().map(use_it);
                leading.end(&Ok(T::default()));
                return value.ok_or_else(|| self.recursion());
            }
            // The source may be free: the thread that has its turn next has not woken yet.
            if late {
                state.alone.retain(|waiting| *waiting != mine);
                self.wake(state);
                return Err(self.late());
            }
            (state, late) = self.wait(state, deadline);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<S, W, T>> {
        // A poisoned state is consistent: the only foreign code under the lock, `joins` and `now`,
        // runs before anything is changed.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sleeps until the state changes or the deadline passes. Returns whether the deadline passed.
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

    /// As [`wait`](Self::wait), without counting the thread among the sleeping ones.
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

/// The capacity of the list of results that were not picked up yet. More than a few wait there only
/// if threads wake very late.
const OUTCOMES: usize = 8;

/// The largest number of sets that are kept for reuse. A run in progress has two, and the requests
/// behind it share one.
const SPARES: usize = 3;

/// A run, or another use of the source, in progress. If the source panics, the drop of this value
/// returns the source to the lane, and the requests that wait for the run get an error.
struct Leading<'a, S, W: Wishes, T: Clone + Default> {
    lane: &'a Lane<S, W, T>,
    source: Option<S>,
    wants: W,
    /// Whether the run, or the other use, has ended and given the source back to the lane.
    has_ended: bool,
}

impl<'a, S, W: Wishes, T: Clone + Default> Leading<'a, S, W, T> {
    fn new(lane: &'a Lane<S, W, T>, source: S, wants: W) -> Self {
        Self { lane, source: Some(source), wants, has_ended: false }
    }

    /// Ends the run: returns the source to the lane, keeps `result` for the requests that wait for
    /// it, and wakes them.
    fn end(&mut self, result: &Result<T, SourceError>) {
        self.has_ended = true;
        let mut state = self.lane.lock();
        state.source = self.source.take();
        state.leader_thread = None;
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
        self.lane.wake(state);
    }
}

impl<S, W: Wishes, T: Clone + Default> Drop for Leading<'_, S, W, T> {
    fn drop(&mut self) {
        if !self.has_ended {
            let message = "panicked while collecting";
            self.end(&Err(self.lane.error(SourceErrorKind::Internal, message)));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
