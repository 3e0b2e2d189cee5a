//! Threads that start and end, as events.

use crate::event::{Closer, EventSource, PerfEvent};
use crate::perf_rings::{PerfRings, PerfTold};
use crate::{EventKind, clock};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The event source of threads that start or end: the threads of a process except its first one. Where the kernel
/// reports threads, those of the processes that the process starts are included.
///
/// The events have the name `thread`. A start and its end are events of the thread that starts and
/// ends, so that the thread's life is a section.
pub struct Threads {
    name: Arc<str>,
    /// The name of the events.
    event: Arc<str>,
    start: bool,
    end: bool,
    from: From,
}

/// Where the events come from.
enum From {
    Kernel(Box<PerfRings>),
    Lists(Lists),
}

/// Lists of the threads of a process at an interval.
struct Lists {
    process: u32,
    every: Duration,
    known: HashSet<u32>,
    events: VecDeque<PerfEvent>,
    closed: Arc<AtomicBool>,
    woken: Arc<OwnedFd>,
}

impl Threads {
    /// The events of a process's threads: starts (`Start`), ends (`End`) or both (`Point`). The process must have
    /// only its first thread so far. The kernel reports threads where it permits that (perf events); otherwise /proc
    /// is listed once in `every`.
    ///
    /// # Errors
    /// Where there is no such process, or no descriptor is left.
    pub fn watch(process: u32, kind: EventKind, every: Duration) -> io::Result<Self> {
        let open = || {
            let mut rings = PerfRings::new(0)?;
            rings.add_threads(process)?;
            Ok(rings)
        };
        Self::watch_by(open, process, kind, every)
    }

    /// As [`watch`](Self::watch), with the function that opens the rings.
    fn watch_by(
        open: impl FnOnce() -> io::Result<PerfRings>,
        process: u32,
        kind: EventKind,
        every: Duration,
    ) -> io::Result<Self> {
        match open() {
            Ok(rings) => Ok(Self::with(kind, From::Kernel(Box::new(rings)))),
            Err(_) => Self::by_lists(process, kind, every),
        }
    }

    /// Names the event source, which is called `thread` otherwise.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// As [`watch`](Self::watch), from lists of /proc alone. The process may have several threads.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn by_lists(process: u32, kind: EventKind, every: Duration) -> io::Result<Self> {
        let lists = Lists {
            process,
            every,
            known: listed(process)?,
            events: VecDeque::with_capacity(1024),
            closed: Arc::default(),
            woken: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        };
        Ok(Self::with(kind, From::Lists(lists)))
    }

    fn with(kind: EventKind, from: From) -> Self {
        let (start, end) = (kind != EventKind::End, kind != EventKind::Start);
        Self { name: "thread".into(), event: "thread".into(), start, end, from }
    }

    /// The interval at which /proc is listed; `None` where the kernel reports every start and end.
    #[must_use]
    pub fn every(&self) -> Option<Duration> {
        match &self.from {
            From::Kernel(_) => None,
            From::Lists(lists) => Some(lists.every),
        }
    }
}

impl EventSource for Threads {
    fn listed_every(&self) -> Option<Duration> {
        self.every()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        let Self { event: name, start, end, from, .. } = self;
        let event = |kind, time, process, thread| PerfEvent {
            kind,
            time,
            process,
            thread,
            ..PerfEvent::now(name)
        };
        let rings = match from {
            From::Kernel(rings) => rings,
            From::Lists(lists) => return lists.wait(*start, *end, event),
        };
        while let Some(record) = rings.next()? {
            let kind = match record.told {
                PerfTold::Fork if *start => EventKind::Start,
                PerfTold::Exit if *end => EventKind::End,
                _ => continue,
            };
            if record.thread != record.process {
                let event = event(kind, record.time, record.process, record.thread);
                return Ok(Some(PerfEvent { gap: rings.gap(record.time), ..event }));
            }
        }
        Ok(None)
    }

    fn closer(&self) -> Closer {
        let lists = match &self.from {
            From::Kernel(rings) => return rings.closer(),
            From::Lists(lists) => lists,
        };
        let (closed, woken) = (Arc::clone(&lists.closed), Arc::clone(&lists.woken));
        Box::new(move || {
            closed.store(true, Ordering::Release);
            let _ = rustix::io::write(&*woken, &1u64.to_ne_bytes());
        })
    }

    fn halves(&self) -> Vec<Arc<str>> {
        if self.start && self.end { Vec::new() } else { vec![Arc::clone(&self.event)] }
    }

    fn missed(&self) -> u64 {
        match &self.from {
            From::Kernel(rings) => rings.lost(),
            From::Lists(_) => 0,
        }
    }
}

impl Lists {
    fn wait(
        &mut self,
        start: bool,
        end: bool,
        event: impl Fn(EventKind, u64, u32, u32) -> PerfEvent,
    ) -> io::Result<Option<PerfEvent>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            // A source that is closed has the changes since the last list.
            let is_closed = self.closed.load(Ordering::Acquire);
            let every =
                Timespec::try_from(self.every).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
            match poll(&mut [PollFd::new(&*self.woken, PollFlags::IN)], Some(&every)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            // A process that has ended has no threads.
            let now = listed(self.process).unwrap_or_default();
            let time = clock::now();
            let before = std::mem::replace(&mut self.known, now);
            let (started, ended) = (self.known.difference(&before), before.difference(&self.known));
            let of_kind = |kind| move |thread: &u32| (kind, *thread);
            let changes = started.filter(|_| start).map(of_kind(EventKind::Start));
            let changes = changes.chain(ended.filter(|_| end).map(of_kind(EventKind::End)));
            let changes = changes.filter(|(_, thread)| *thread != self.process);
            self.events
                .extend(changes.map(|(kind, thread)| event(kind, time, self.process, thread)));
            if is_closed && self.events.is_empty() {
                return Ok(None);
            }
        }
    }
}

/// The IDs of the threads of a process; an error where there is no such process.
fn listed(process: u32) -> io::Result<HashSet<u32>> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_that_started_before_the_source_was_closed_is_an_event() {
        let own = std::process::id();
        let every = Duration::from_secs(3600);
        let mut threads = Threads::by_lists(own, EventKind::Start, every).unwrap();
        let (number, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            number.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        let number = told.recv().unwrap();
        threads.closer()();
        let mut found = Vec::new();
        while let Some(event) = threads.wait().unwrap() {
            found.push(event.thread);
        }
        // Other tests may start threads in this process, too.
        assert!(found.contains(&number), "{number} in {found:?}");
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn where_perf_events_are_not_permitted_threads_are_listed() {
        let every = Duration::from_millis(2);
        let denied = || Err(io::ErrorKind::PermissionDenied.into());
        let own = std::process::id();
        let mut threads = Threads::watch_by(denied, own, EventKind::Start, every).unwrap();
        assert_eq!(threads.every(), Some(every));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let _ = ended.recv();
        });
        // Other tests may start threads in this process, too.
        let event = threads.wait().unwrap().unwrap();
        assert_eq!((&*event.name, event.kind, event.process), ("thread", EventKind::Start, own));
        drop(end);
        thread.join().unwrap();
    }
}
