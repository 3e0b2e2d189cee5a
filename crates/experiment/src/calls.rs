//! The event source of calls in the program under test.

use crate::event::{Closer, EventSource, PerfEvent, locked};
use crate::spin::Spin;
use crate::wire::{LONGEST, LONGEST_NAME, WireEvent};
use crate::{CallTotals, EventKind};
use perfhive_engine::measure::MOST_EVENT_NAMES;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The capacity of the FIFO in bytes: the most that the kernel lets a user set.
const PIPE_BYTES: usize = 1 << 20;
/// How many bytes are read from the FIFO at once, at most.
const READ_BYTES: usize = 1 << 16;
/// The most counts of calls that the source follows; a count beyond them makes the source forget
/// all counts, which is a gap. Each thread has a count in each library that calls.
const MOST_COUNTS: usize = 4096;

/// The names of calls: the names that are events, and other names with which the program called.
/// Clones share the names of one source.
#[derive(Clone, Debug)]
pub struct CallNames(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    /// The names that are events. If all names are events, the names that the program has called
    /// with since then, and those that were asked for by themselves.
    wanted: HashSet<Arc<str>>,
    all: bool,
    /// How often the program called with each name that is not an event.
    others: BTreeMap<Arc<str>, u64>,
}

impl CallNames {
    /// Makes the calls with this name events from now on; with `*`, the calls with any name.
    ///
    /// # Errors
    /// An empty name; a name of more than 96 bytes; more names than [`MOST_EVENT_NAMES`].
    pub fn want(&self, name: &str) -> io::Result<()> {
        if name.is_empty() || name.len() > LONGEST_NAME {
            let what =
                format!("the name of a call has 1 to {LONGEST_NAME} bytes, not {}", name.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let mut names = locked(&self.0);
        if name == "*" {
            names.all = true;
            names.others.clear();
        } else if !names.wanted.contains(name) {
            if names.wanted.len() >= MOST_EVENT_NAMES {
                let what = format!("calls of {MOST_EVENT_NAMES} names at most are events");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            names.others.remove(name);
            names.wanted.insert(name.into());
        }
        Ok(())
    }

    /// The names that are events, in ascending order. If all names are events, the names that the
    /// program has called with since then, and those that were asked for by themselves.
    #[must_use]
    pub fn wanted(&self) -> Vec<Arc<str>> {
        let mut wanted: Vec<Arc<str>> = locked(&self.0).wanted.iter().cloned().collect();
        wanted.sort();
        wanted
    }

    /// The names of calls that are not events, each with the number of its calls: the first
    /// [`MOST_EVENT_NAMES`] such names with which the program called, in ascending order.
    #[must_use]
    pub fn others(&self) -> Vec<(Arc<str>, u64)> {
        locked(&self.0).others.iter().map(|(name, count)| (Arc::clone(name), *count)).collect()
    }

    /// The shared text of the name of a call that was just read; `None` if calls with this name are
    /// not events, in which case the call is counted under its name, and `Err` if all names are
    /// events, this name is new, and there are already [`MOST_EVENT_NAMES`].
    fn of(&self, name: &str) -> Result<Option<Arc<str>>, ()> {
        let mut names = locked(&self.0);
        if let Some(name) = names.wanted.get(name) {
            return Ok(Some(Arc::clone(name)));
        }
        if names.all {
            if names.wanted.len() >= MOST_EVENT_NAMES {
                return Err(());
            }
            let name: Arc<str> = name.into();
            names.wanted.insert(Arc::clone(&name));
            return Ok(Some(name));
        }
        if let Some(count) = names.others.get_mut(name) {
            *count += 1;
        } else if names.others.len() < MOST_EVENT_NAMES {
            names.others.insert(name.into(), 1);
        }
        Ok(None)
    }
}

/// The warning for a program that ended before it could tell how many calls were lost.
const NO_ROOM: &str = "the program called faster than its calls were measured until it ended; some of its \
                       last calls may be lost";

/// The event source of calls: a FIFO, which the program under test opens by the path in the
/// environment variable [`CALLS_VARIABLE`](crate::CALLS_VARIABLE).
///
/// Only processes of the same user can call. The source trusts none of the bytes that it reads:
/// bytes that are not an event end the source with an error. Calls with a name that was not asked
/// for are no events.
#[derive(Debug)]
pub struct Calls {
    path: PathBuf,
    fifo: Arc<OwnedFd>,
    /// The number of bytes in the FIFO from which on the FIFO may have no room for another event.
    full_bytes: u64,
    closed: Arc<AtomicBool>,
    names: CallNames,
    buffer: Box<[u8]>,
    /// The range of the buffer that holds bytes not yet decoded.
    unread: (usize, usize),
    /// Whether the last reading left nothing in the FIFO, so that the next one has to be waited for.
    is_empty: bool,
    spin: Spin,
    /// The name of the last event. Names stay events once they are.
    name: Option<Arc<str>>,
    missed: u64,
    gap: u64,
    /// The number that the next call of each count must have, by process, thread and count.
    counts: HashMap<(u32, u32, u64), u64>,
    /// The number of bytes that may still be read after the source was closed. The limit lets the
    /// source end although the program goes on calling.
    rest: usize,
    /// The time at which the FIFO was last seen full, on the clock of events; `None` if it never was,
    /// or once an event that happened after that time was read, since that event reports how many
    /// calls were lost.
    full: Option<u64>,
}

impl Calls {
    /// Makes the FIFO at a path where no file exists yet, in a folder of this user. The calls with
    /// the given names are events. With the name `*` all calls are events, up to
    /// [`MOST_EVENT_NAMES`] names; calls with further names are counted as missed.
    ///
    /// # Errors
    /// A name of more than 96 bytes, or too many names; where the FIFO cannot be made.
    pub fn listen(path: &Path, names: &[&str]) -> io::Result<Self> {
        let wanted = CallNames(Arc::default());
        names.iter().try_for_each(|name| wanted.want(name))?;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, Mode::RUSR | Mode::WUSR)?;
        // For reading and writing: there is no end of file when the last process closes it.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fifo = rustix::fs::open(path, flags, Mode::empty())?;
        // Where the user's pipes have used up their room, the FIFO stays smaller and more events are lost.
        let _ = rustix::pipe::fcntl_setpipe_size(&fifo, PIPE_BYTES);
        let size = rustix::pipe::fcntl_getpipe_size(&fifo)?;
        // An event lies in one page. The end of each page may be too short for the next one.
        let page = rustix::param::page_size();
        let full_bytes = ((size / page).saturating_sub(1) * (page - LONGEST)) as u64;
        Ok(Self {
            path: path.into(),
            fifo: Arc::new(fifo),
            full_bytes,
            closed: Arc::default(),
            names: wanted,
            buffer: vec![0; READ_BYTES].into(),
            unread: (0, 0),
            is_empty: false,
            spin: Spin::default(),
            name: None,
            missed: 0,
            gap: 0,
            counts: HashMap::with_capacity(MOST_COUNTS),
            rest: PIPE_BYTES,
            full: None,
        })
    }

    /// Makes the source look for the next call for this long before its thread sleeps; zero by default. While the thread
    /// looks it uses a processor. An event is then measured sooner and costs the program less.
    #[must_use]
    pub fn with_spin(mut self, time: Duration) -> Self {
        self.spin = Spin::new(time);
        self
    }

    /// The names of this source's calls, which may be changed while the source is at work.
    #[must_use]
    pub fn names(&self) -> CallNames {
        self.names.clone()
    }

    /// The next event of the bytes in the buffer; `None` if they hold no further whole event. Calls
    /// that are no events are passed over.
    fn next(&mut self) -> io::Result<Option<PerfEvent>> {
        loop {
            let (begin, end) = self.unread;
            let bytes = self.buffer.get(begin..end).unwrap_or_default();
            let decoded = WireEvent::decode(bytes).map_err(|_| {
                let what = "the program wrote something else than events; its library for calls is \
                            of another version, or another program writes there";
                io::Error::new(io::ErrorKind::InvalidData, what)
            })?;
            let Some((event, length)) = decoded else { return Ok(None) };
            self.unread.0 += length;
            self.missed += u64::from(event.lost);
            // Calls that this thread lost may be reported by another thread, and later than this event. So the number
            // of the thread's calls is compared with the number that is expected.
            let (count, key) =
                (event.calls.count, (event.process, event.thread, event.calls.counter));
            if self.counts.len() >= MOST_COUNTS && !self.counts.contains_key(&key) {
                self.counts.clear();
                self.gap += 1;
            }
            let next = self.counts.entry(key).or_insert(count);
            self.gap += u64::from(event.lost > 0 || count > *next);
            // A call in a signal handler may have the same number as the call that it interrupts.
            *next = count.wrapping_add(1).max(*next);
            self.full = self.full.filter(|full| event.time <= *full);
            // An event with an empty name only wakes the source.
            if event.name.is_empty() {
                continue;
            }
            let name = match &self.name {
                Some(name) if name.as_bytes() == event.name => Arc::clone(name),
                // A name in another encoding, or one that was cut within a character, is an event all the same.
                _ => match self.names.of(&String::from_utf8_lossy(event.name)) {
                    Ok(Some(name)) => Arc::clone(self.name.insert(name)),
                    Ok(None) => continue,
                    Err(()) => {
                        self.missed += 1;
                        continue;
                    }
                },
            };
            return Ok(Some(PerfEvent {
                name,
                kind: event.kind,
                time: event.time,
                process: event.process,
                thread: event.thread,
                thread_time: Some(event.thread_time),
                calls: Some(event.calls),
                gap: self.gap,
                frame: None,
            }));
        }
    }

    /// Reads the bytes that are in the FIFO, as many as the buffer has room for, without waiting.
    /// Returns their number, 0 if there were none.
    fn fill(&mut self) -> io::Result<usize> {
        let (begin, end) = self.unread;
        // The beginning of an event that was cut by the end of the buffer.
        self.buffer.copy_within(begin..end, 0);
        self.unread = (0, end - begin);
        let room = self.buffer.get_mut(end - begin..).unwrap_or_default();
        let before = crate::clock::now();
        match rustix::io::read(&*self.fifo, &mut *room) {
            Ok(count) => {
                self.spin.begin();
                self.unread.1 += count;
                // A reading that does not fill the buffer empties the FIFO; only after one that does, the rest is asked
                // for. What was written meanwhile counts, too: the FIFO is then full a little too early.
                self.is_empty = count < room.len();
                let left = match self.is_empty {
                    true => 0,
                    false => rustix::io::ioctl_fionread(&*self.fifo).unwrap_or(0),
                };
                if left + count as u64 >= self.full_bytes {
                    self.full = Some(before);
                }
                Ok(count)
            }
            Err(Errno::AGAIN) => {
                self.is_empty = true;
                Ok(0)
            }
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

impl EventSource for Calls {
    fn name(&self) -> &str {
        "call"
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        loop {
            if let Some(event) = self.next()? {
                return Ok(Some(event));
            }
            // The flag is read before the FIFO, so that everything written before closing is in the FIFO.
            let is_closed = self.closed.load(Ordering::Acquire);
            // Closing writes to the FIFO after the flag is set, which ends the waiting.
            if self.is_empty && !is_closed && !self.spin.goes_on() {
                match poll(&mut [PollFd::new(&*self.fifo, PollFlags::IN)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            let there = self.fill()?;
            if is_closed {
                if there == 0 || self.rest == 0 {
                    return match self.full {
                        None => Ok(None),
                        Some(_) => Err(io::Error::other(NO_ROOM)),
                    };
                }
                self.rest = self.rest.saturating_sub(there);
            }
        }
    }

    fn closer(&self) -> Closer {
        let (closed, fifo) = (Arc::clone(&self.closed), Arc::clone(&self.fifo));
        Box::new(move || {
            closed.store(true, Ordering::Release);
            // A call without a name wakes the source. It cannot be written to a full FIFO, but then
            // the source is awake.
            let event = WireEvent {
                kind: EventKind::Point,
                lost: 0,
                process: 0,
                thread: 0,
                time: 0,
                thread_time: 0,
                calls: CallTotals::default(),
                name: b"",
            };
            let _ = rustix::io::write(&*fifo, event.encode(&mut [0; LONGEST]));
        })
    }

    fn missed(&self) -> u64 {
        self.missed
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
