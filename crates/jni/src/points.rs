//! Calls at the points of the Java program itself, as events of its own experiment.

use crate::failure::{Failure, Kind};
use perfhive::experiment::{Closer, EventKind, EventSource, PerfEvent};
use perfhive::measure::MOST_EVENT_NAMES;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The queue of calls that wait to be measured.
pub(crate) struct CallQueue {
    queue: Mutex<Queue>,
    woken: Condvar,
}

struct Queue {
    names: Vec<Arc<str>>,
    events: VecDeque<PerfEvent>,
    capacity: usize,
    missed: u64,
    /// Whether the event source sleeps until there is an event.
    is_waiting: bool,
    is_closed: bool,
}

/// The event source of a queue's calls.
pub(crate) struct CallSource(Arc<CallQueue>);

impl CallQueue {
    /// A queue with room for `capacity` calls. The memory is allocated now.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        let queue = Queue {
            names: Vec::new(),
            events: VecDeque::with_capacity(capacity),
            capacity,
            missed: 0,
            is_waiting: false,
            is_closed: false,
        };
        Arc::new(Self { queue: Mutex::new(queue), woken: Condvar::new() })
    }

    /// The event source of the queue's calls. A queue has one event source.
    pub(crate) fn source(self: &Arc<Self>) -> CallSource {
        CallSource(Arc::clone(self))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a name, which counts from 0 in the order in which names were added; a new name
    /// is added.
    ///
    /// # Errors
    /// If the name is empty, or there are [`MOST_EVENT_NAMES`] names already.
    pub(crate) fn name(&self, name: &str) -> Result<usize, Failure> {
        let mut queue = self.lock();
        if let Some(known) = queue.names.iter().position(|known| **known == *name) {
            return Ok(known);
        }
        if name.is_empty() {
            return Err(Failure::new(Kind::BadName, "the name of a call is not empty"));
        }
        if queue.names.len() >= MOST_EVENT_NAMES {
            let what = format!("an experiment has at most {MOST_EVENT_NAMES} names of calls");
            return Err(Failure::new(Kind::Refused, what));
        }
        queue.names.push(name.into());
        Ok(queue.names.len() - 1)
    }

    /// Adds a call at the present time, with the number of its name. A call without room, or with
    /// an unknown number, is counted as missed. A queue that is closed ignores calls.
    pub(crate) fn tell(&self, name: usize, kind: EventKind, thread: u32, thread_time: Option<u64>) {
        let mut queue = self.lock();
        if queue.is_closed {
            return;
        }
        let is_full = queue.events.len() >= queue.capacity;
        let Some(name) = queue.names.get(name).filter(|_| !is_full) else {
            queue.missed += 1;
            return;
        };
        let mut event = PerfEvent::now(name);
        event.kind = kind;
        event.process = std::process::id();
        event.thread = thread;
        event.thread_time = thread_time;
        event.gap = queue.missed;
        queue.events.push_back(event);
        // Waking takes longer than all the rest, and a source that is at work looks again by itself.
        if std::mem::take(&mut queue.is_waiting) {
            drop(queue);
            self.woken.notify_one();
        }
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.woken.notify_all();
    }
}

impl EventSource for CallSource {
    fn name(&self) -> &str {
        "call"
    }

    fn wait(&mut self) -> std::io::Result<Option<PerfEvent>> {
        let mut queue = self.0.lock();
        loop {
            if let Some(event) = queue.events.pop_front() {
                return Ok(Some(event));
            }
            if queue.is_closed {
                return Ok(None);
            }
            queue.is_waiting = true;
            queue = self.0.woken.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn closer(&self) -> Closer {
        let queue = Arc::clone(&self.0);
        Box::new(move || queue.close())
    }

    fn missed(&self) -> u64 {
        self.0.lock().missed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn calls_come_in_order_and_what_has_no_room_is_missed() {
        let queue = CallQueue::new(2);
        let mut source = queue.source();
        let (first, second) = (queue.name("first").unwrap(), queue.name("second").unwrap());
        assert_eq!(queue.name("first").unwrap(), first);
        queue.tell(first, EventKind::Start, 7, Some(5));
        queue.tell(99, EventKind::Point, 7, None);
        queue.tell(second, EventKind::Point, 8, None);
        queue.tell(second, EventKind::Point, 8, None);
        assert_eq!(source.missed(), 2);
        assert_eq!(queue.lock().events.iter().map(|one| one.gap).collect::<Vec<u64>>(), [0, 1]);
        source.closer()();
        // After closing, what was told before is still measured, and nothing else.
        queue.tell(first, EventKind::Point, 7, None);
        let event = source.wait().unwrap().unwrap();
        assert_eq!((&*event.name, event.kind, event.thread), ("first", EventKind::Start, 7));
        assert_eq!((event.thread_time, event.process), (Some(5), std::process::id()));
        assert_eq!(&*source.wait().unwrap().unwrap().name, "second");
        assert_eq!(source.wait().unwrap(), None);
        assert_eq!(source.missed(), 2);
    }

    #[test]
    fn names_are_limited_and_not_empty() {
        let queue = CallQueue::new(2);
        assert!(queue.name("").is_err());
        (0..MOST_EVENT_NAMES).for_each(|number| _ = queue.name(&number.to_string()).unwrap());
        assert!(queue.name("one more").is_err());
        assert_eq!(queue.name("7").unwrap(), 7);
    }

    #[test]
    fn a_call_wakes_the_source_that_waits() {
        let queue = CallQueue::new(2);
        let name = queue.name("x").unwrap();
        let mut source = queue.source();
        let waiting = std::thread::spawn(move || source.wait().unwrap().is_some());
        while !queue.lock().is_waiting {
            std::thread::yield_now();
        }
        queue.tell(name, EventKind::Point, 1, None);
        assert!(waiting.join().unwrap());
    }
}
