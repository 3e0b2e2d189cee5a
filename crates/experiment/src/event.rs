//! Performance events, and the event sources that they come from.

use crate::clock;
use crate::{CallTotals, EventKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A performance event: a point in the life of a program at which it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PerfEvent {
    /// The event's name. Cloning it allocates nothing.
    pub name: Arc<str>,
    /// Whether the event is a point, or the start or end of a section.
    pub kind: EventKind,
    /// When the event happened, in nanoseconds: on Linux on `CLOCK_MONOTONIC`, and on other systems
    /// since this process first read the clock of events.
    pub time: u64,
    /// The number of the process in which the event happened; 0 for an event without a process.
    pub process: u32,
    /// The number of the thread in which the event happened; 0 for an event without a thread.
    pub thread: u32,
    /// The processor time that the thread had used at the event, in nanoseconds; `None` unless the
    /// thread itself reported the event with this time.
    pub thread_time: Option<u64>,
    /// The totals of the thread's calls before this event; `None` unless the thread itself reported
    /// the event with these totals.
    pub calls: Option<CallTotals>,
    /// A number that grows with each start or end of this name that was lost, missed or left out
    /// before this event, or may have been. If a start and an end have different numbers, other
    /// starts and ends may lie between them, and the two make no section. An event source counts
    /// the events that it missed; the binding adds the events that it left out.
    pub gap: u64,
    /// The place on the thread's stack of the function call that starts or ends here; `None` where it is not known. A
    /// start and an end with different places make no section: one of the two is of another call, which did not
    /// return, or of which the return was not reported.
    pub frame: Option<u64>,
}

impl PerfEvent {
    /// A point at the present time, without a process. Set the fields for any other event.
    #[must_use]
    pub fn now(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            kind: EventKind::Point,
            time: clock::now(),
            process: 0,
            thread: 0,
            thread_time: None,
            calls: None,
            gap: 0,
            frame: None,
        }
    }
}

/// A function that closes an [`EventSource`] from any thread, which ends the waiting for its
/// events. It may use the experiment's [`ExperimentHandle`](crate::ExperimentHandle), except to
/// [`replace`](crate::ExperimentHandle::replace) its own source.
pub type Closer = Box<dyn Fn() + Send + Sync>;

/// A source of performance events, which a binding waits for.
pub trait EventSource: Send {
    /// The text by which the source is listed: `interval 10ms`.
    fn name(&self) -> &str;

    /// Waits for the next event, without a limit of time. `None` when there are no more events, or
    /// after the source was closed and has returned the events from before then.
    ///
    /// # Errors
    /// An error where the source fails. The caller does not wait for the source again.
    fn wait(&mut self) -> std::io::Result<Option<PerfEvent>>;

    /// A function that closes the source.
    fn closer(&self) -> Closer;

    /// The number of events that the source knows it missed. If starts or ends may be among them,
    /// the next event has a larger [`gap`](PerfEvent::gap).
    fn missed(&self) -> u64;

    /// The names of events of which the source has only starts or only ends. They make no sections,
    /// and are not counted as starts without an end or ends without a start.
    fn halves(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The time between two events, if a clock decides when they happen; `None` otherwise.
    fn interval(&self) -> Option<Duration> {
        None
    }

    /// The time between two lists in which the source looks for its events, such as processes. What
    /// begins and ends between two lists is missed, and not counted. `None` for a source that is
    /// told of each event.
    fn listed_every(&self) -> Option<Duration> {
        None
    }
}

/// The event source of events at equal distances of time. Events that are due while a measurement
/// takes longer than the interval are missed, and counted as such.
#[derive(Debug)]
pub struct Interval {
    name: Arc<str>,
    every: u64,
    due: u64,
    missed: u64,
    closed: Arc<(Mutex<bool>, Condvar)>,
}

impl Interval {
    /// A source of events with this name, one event each time that `every` has passed. `every` is
    /// at least a microsecond; a shorter time becomes a microsecond.
    #[must_use]
    pub fn new(name: &str, every: Duration) -> Self {
        let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1000);
        Self { name: name.into(), every, due: 0, missed: 0, closed: Arc::default() }
    }

    /// Counts the intervals from `time`, on the clock of [`PerfEvent::time`], or from the first
    /// wait if `time` is 0. Events that are due before the first wait are missed, and counted as
    /// such.
    #[must_use]
    pub fn since(self, time: u64) -> Self {
        Self { due: time, ..self }
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves no half-made value behind: the values behind the locks of this crate are valid at every moment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EventSource for Interval {
    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> std::io::Result<Option<PerfEvent>> {
        let now = clock::now();
        if self.due == 0 {
            self.due = now;
        }
        self.due = self.due.saturating_add(self.every);
        if let Some(late) = now.checked_sub(self.due) {
            let over = late / self.every + 1;
            self.missed += over;
            self.due = self.due.saturating_add(over.saturating_mul(self.every));
        }
        let (closed, woken) = &*self.closed;
        let mut closed = locked(closed);
        loop {
            if *closed {
                return Ok(None);
            }
            let left = self.due.saturating_sub(clock::now());
            if left == 0 {
                break;
            }
            let waited = woken.wait_timeout(closed, Duration::from_nanos(left));
            closed = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(Some(PerfEvent { time: self.due, ..PerfEvent::now(&self.name) }))
    }

    fn closer(&self) -> Closer {
        let shared = Arc::clone(&self.closed);
        Box::new(move || {
            let (closed, woken) = &*shared;
            *locked(closed) = true;
            woken.notify_all();
        })
    }

    fn missed(&self) -> u64 {
        self.missed
    }

    fn interval(&self) -> Option<Duration> {
        Some(Duration::from_nanos(self.every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_keeps_its_distances_and_counts_what_it_missed() {
        let mut interval = Interval::new("interval 1ms", Duration::from_millis(1));
        let first = interval.wait().unwrap().unwrap();
        let second = interval.wait().unwrap().unwrap();
        assert_eq!((second.time - first.time) % 1_000_000, 0);
        let missed = interval.missed();
        std::thread::sleep(Duration::from_millis(5));
        let third = interval.wait().unwrap().unwrap();
        let steps = (third.time - second.time) / 1_000_000;
        assert!(steps >= 5, "{steps}");
        assert_eq!(interval.missed() - missed, steps - 1);
    }

    #[test]
    fn interval_counts_what_it_missed_before_it_waits() {
        let begin = clock::now() - 10_500_000;
        let mut interval = Interval::new("interval 1ms", Duration::from_millis(1)).since(begin);
        let first = interval.wait().unwrap().unwrap();
        let steps = (first.time - begin) / 1_000_000;
        assert!(steps >= 11 && interval.missed() == steps - 1, "{steps} {}", interval.missed());
    }

    #[test]
    fn closed_interval_has_no_more_events() {
        let mut interval = Interval::new("interval 1h", Duration::from_secs(3600));
        let close = interval.closer();
        let waiting = std::thread::spawn(move || interval.wait().unwrap());
        close();
        assert_eq!(waiting.join().unwrap(), None);
    }
}
