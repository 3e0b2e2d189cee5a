//! Events and where they come from.

use crate::clock;
use crate::{CallTotals, EventKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A point in the life of a program at which it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PerfEvent {
    /// Its name. Cloning it allocates nothing.
    pub name: Arc<str>,
    /// Whether it is a point, or the start or end of a section.
    pub kind: EventKind,
    /// When it was, in nanoseconds of the machine's monotonic clock (`CLOCK_MONOTONIC` on
    /// Linux).
    pub time: u64,
    /// The process and thread in which it was; 0 where it belongs to none.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// Processor time of the thread at the event, in nanoseconds, where the thread itself told it.
    pub thread_time: Option<u64>,
    /// The calls of the thread before this one, where the thread itself told them.
    pub calls: Option<CallTotals>,
    /// A number that grows with each start or end of this name that may have been missed, left out or lost before this
    /// event. Between a start and an end with different numbers there may be others, so they are no section. An event
    /// source counts what it missed; the binding adds the rest.
    pub gap: u64,
}

impl PerfEvent {
    /// A point of this moment, in no process. Fields set more.
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
        }
    }
}

/// Ends the waiting of an [`EventSource`], from any thread.
pub type Closer = Box<dyn Fn() + Send + Sync>;

/// Tells of events.
pub trait EventSource: Send {
    /// The text by which it is listed: `interval 10ms`.
    fn name(&self) -> &str;

    /// Waits for the next event, for as long as it takes; `None` when there are no more, or the
    /// source was closed and has told of what happened before.
    ///
    /// # Errors
    /// Where the source fails. It is not waited for again.
    fn wait(&mut self) -> std::io::Result<Option<PerfEvent>>;

    /// A function that closes the source.
    fn closer(&self) -> Closer;

    /// The number of events that the source knows it missed. If they may have been starts or ends, the next event has
    /// another [`gap`](PerfEvent::gap).
    fn missed(&self) -> u64;

    /// The names of events of which it tells starts alone, or ends alone: they make no sections, and none lacks its
    /// other half.
    fn halves(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The distance of its events, if a clock decides when they are.
    fn interval(&self) -> Option<Duration> {
        None
    }
}

/// An event at equal distances of time. Where the measuring takes longer than the interval, the
/// events meanwhile are missed, and counted.
#[derive(Debug)]
pub struct Interval {
    name: Arc<str>,
    every: u64,
    due: u64,
    missed: u64,
    closed: Arc<(Mutex<bool>, Condvar)>,
}

impl Interval {
    /// Events `every` so much time, of at least a microsecond.
    #[must_use]
    pub fn new(name: &str, every: Duration) -> Self {
        let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1000);
        Self { name: name.into(), every, due: 0, missed: 0, closed: Arc::default() }
    }

    /// Counts from this time on, on the clock of [`PerfEvent::time`], instead of from its first wait: events that are due
    /// by then are missed, and counted.
    #[must_use]
    pub fn since(self, time: u64) -> Self {
        Self { due: time, ..self }
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind the locks of this crate is whole at every moment.
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
