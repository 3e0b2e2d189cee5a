//! Processes that start and end, as events.
//!
//! The kernel reports each `execve` and exit through its process connector, a netlink socket, where it permits that:
//! mostly to root, in the first namespaces. Its messages (`linux/connector.h`, `linux/cn_proc.h`) are in the
//! machine's byte order, behind a header of 16 bytes (`nlmsghdr`):
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 24 | 4 | number of the message, counted for each processor |
//! | 36 | 4 | kind: 0 the answer to a request, 2 `execve`, 0x80000000 exit |
//! | 40 | 4 | processor |
//! | 44 | 8 | `CLOCK_MONOTONIC` in ns |
//! | 52 | 4 | thread, or the error of an answer |
//! | 56 | 4 | process |
//!
//! Otherwise /proc is listed at an interval, which misses every process that lives shorter than the interval.

use crate::EventKind;
use crate::clock;
use crate::event::{Closer, EventSource, PerfEvent, locked};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::netlink::{CONNECTOR, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::time::Timespec;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The most events and messages of the kernel that wait, and the most processes with an awaited end.
const MOST: usize = 1 << 16;
/// The length in bytes of the longest name that the kernel keeps of a process.
const LONGEST_NAME: usize = 15;
/// The number of lists in which the name of a new process is read: a shell makes the process before it becomes a
/// program.
const LOOKS: u8 = 5;
/// The size of the socket's receive buffer, in bytes.
const ROOM: usize = 8 << 20;
/// How long a process may take from the change of its name until the kernel tells of its `execve`, or of its end.
const BECOMING: u64 = 10_000_000;
/// How long the kernel may take to answer the request for its reports.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The event source of processes that start or end. A process counts as started when it becomes a
/// program (`execve`), since its name is known from then on.
#[derive(Debug)]
pub struct Processes {
    name: Arc<str>,
    names: HashMap<Arc<str>, Wish>,
    from: From,
    alive: AliveProcesses,
    events: VecDeque<PerfEvent>,
    missed: u64,
    /// The [`gap`](PerfEvent::gap) of the next event. It grows where messages of the kernel were lost.
    gaps: u64,
    closed: Arc<AtomicBool>,
    woken: Arc<OwnedFd>,
}

/// The processes that are alive and the ends of which the event source will report: their names by
/// their numbers. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct AliveProcesses(Arc<Mutex<HashMap<u32, Arc<str>>>>);

/// Which events of the processes of one name are wanted.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    start: bool,
    end: bool,
}

/// Where the events come from.
#[derive(Debug)]
enum From {
    /// From the kernel: the messages of starts and ends that were read and are no events yet, and the number of the next
    /// message of each processor.
    Kernel { socket: OwnedFd, told: VecDeque<Told>, next: HashMap<u32, u32> },
    /// From lists of /proc at this interval: the processes of the last list, and those that may still change their
    /// name by an `execve`, with the number of lists in which the name is read again.
    Lists { every: Duration, known: HashSet<u32>, young: Vec<(u32, u8)> },
}

impl Processes {
    /// The events of processes with these names: of each name the starts (`Start`), the ends (`End`) or both
    /// (`Point`). The kernel reports them where it permits that; otherwise /proc is listed once in `every`. Where only
    /// the ends of a name are wanted, those of processes that already run are reported, too.
    ///
    /// Names are those that the kernel keeps: the program's file name, cut to 15 bytes, unless the process
    /// changes it before the event is read. The start of a process that has become yet another program by then is
    /// missed.
    ///
    /// # Errors
    /// Where the kernel reports nothing and there is no /proc, or no descriptor is left.
    pub fn watch(names: &[(&str, EventKind)], every: Duration) -> io::Result<Self> {
        Self::watch_by(kernel, names, every)
    }

    /// As [`watch`](Self::watch), with the function that opens the kernel's socket.
    fn watch_by(
        kernel: impl FnOnce() -> Option<OwnedFd>,
        names: &[(&str, EventKind)],
        every: Duration,
    ) -> io::Result<Self> {
        match kernel() {
            Some(socket) => {
                let (told, next) = (VecDeque::new(), HashMap::new());
                Self::with(names, From::Kernel { socket, told, next })
            }
            None => Self::by_lists(names, every),
        }
    }

    /// Names the event source, which is called `process` otherwise.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The processes that are alive and the ends of which this source will report.
    #[must_use]
    pub fn alive(&self) -> AliveProcesses {
        self.alive.clone()
    }

    /// The same source, which also reports the ends of the processes of another source that it replaces.
    #[must_use]
    pub fn following(mut self, alive: AliveProcesses) -> Self {
        let own = std::mem::take(&mut *locked(&self.alive.0));
        locked(&alive.0).extend(own);
        self.alive = alive;
        self
    }

    /// As [`watch`](Self::watch), from lists of /proc alone.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn by_lists(names: &[(&str, EventKind)], every: Duration) -> io::Result<Self> {
        Self::with(names, From::Lists { every, known: listed()?, young: Vec::new() })
    }

    fn with(names: &[(&str, EventKind)], from: From) -> io::Result<Self> {
        let mut wishes: HashMap<Arc<str>, Wish> = HashMap::new();
        for (name, kind) in names {
            let cut =
                (0..=LONGEST_NAME.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
            let name = name.get(..cut.unwrap_or_default()).unwrap_or_default();
            let wish = wishes.entry(name.into()).or_default();
            match kind {
                EventKind::Start => wish.start = true,
                EventKind::End => wish.end = true,
                EventKind::Point => (wish.start, wish.end) = (true, true),
            }
        }
        // The socket is open, so an end from now on is not missed. By lists, the ends are those of the first list.
        let mut alive = HashMap::new();
        if wishes.values().any(|wish| !wish.start) {
            let running = match &from {
                From::Kernel { .. } => listed()?,
                From::Lists { known, .. } => known.clone(),
            };
            for process in running {
                let mut buffer = [0; 32];
                let known =
                    name_of(process, &mut buffer).and_then(|name| wishes.get_key_value(name));
                if let Some((name, Wish { start: false, .. })) = known
                    && alive.len() < MOST
                    && is_program(process)
                {
                    alive.insert(process, Arc::clone(name));
                }
            }
        }
        Ok(Self {
            name: "process".into(),
            names: wishes,
            from,
            alive: AliveProcesses(Arc::new(Mutex::new(alive))),
            events: VecDeque::with_capacity(1024),
            missed: 0,
            gaps: 0,
            closed: Arc::default(),
            woken: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        })
    }

    /// The interval at which /proc is listed; `None` where the kernel reports every start and end.
    #[must_use]
    pub fn every(&self) -> Option<Duration> {
        match &self.from {
            From::Kernel { .. } => None,
            From::Lists { every, .. } => Some(*every),
        }
    }

    /// Adds the events that the kernel has reported, or those that a new list of /proc shows.
    fn gather(&mut self) -> io::Result<()> {
        if let From::Lists { known, young, .. } = &mut self.from {
            let now = listed()?;
            let before = std::mem::replace(known, now);
            let mut looked_at = std::mem::take(young);
            looked_at.extend(known.difference(&before).map(|process| (*process, LOOKS)));
            let gone: Vec<u32> = before.difference(known).copied().collect();
            let time = clock::now();
            looked_at.retain_mut(|(process, looks)| {
                *looks -= 1;
                let mut buffer = [0; 32];
                name_of(*process, &mut buffer)
                    .is_some_and(|name| !self.started(name, *process, time))
                    && *looks > 0
            });
            if let From::Lists { young, .. } = &mut self.from {
                *young = looked_at;
            }
            gone.into_iter().for_each(|process| self.ended(process, time));
            return Ok(());
        }
        self.receive()?;
        while self.events.len() < MOST {
            let From::Kernel { told, .. } = &mut self.from else { return Ok(()) };
            let Some(told) = told.pop_front() else { return Ok(()) };
            if told.kind == EXIT {
                self.ended(told.process, told.time);
                continue;
            }
            let mut buffer = [0; 32];
            // A process that was already reaped has no name any more.
            match name_of(told.process, &mut buffer) {
                Some(name) if self.is_of_last_start(told.process)? => {
                    self.started(name, told.process, told.time);
                }
                _ => self.missed += 1,
            }
        }
        Ok(())
    }

    /// Takes the messages that the kernel has sent, without waiting.
    fn receive(&mut self) -> io::Result<()> {
        let From::Kernel { socket, told: all, next } = &mut self.from else { return Ok(()) };
        let mut bytes = [0; 4096];
        while all.len() < MOST {
            let (length, _) = match rustix::net::recv(&*socket, &mut bytes[..], RecvFlags::DONTWAIT)
            {
                Ok(length) => length,
                Err(Errno::AGAIN) => return Ok(()),
                // The kernel had no room. The numbers of the next messages show how many were lost.
                Err(Errno::NOBUFS) => {
                    self.gaps += 1;
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(told) = Told::read(bytes.get(..length).unwrap_or_default()) else { continue };
            // Answers to other processes have numbers of their own.
            if told.kind == NONE {
                continue;
            }
            let expected = next.insert(told.processor, told.number.wrapping_add(1));
            let gap = expected.map_or(0, |expected| told.number.wrapping_sub(expected));
            // A message in another order makes a negative gap.
            let gap = i32::try_from(gap).map_or(0, |gap| u64::from(gap.unsigned_abs()));
            (self.missed, self.gaps) = (self.missed + gap, self.gaps + gap);
            if told.kind == EXEC || (told.kind == EXIT && told.process == told.thread) {
                all.push_back(told);
            }
        }
        Ok(())
    }

    /// Whether the name that a process had before this call is that of its last start which was taken from the messages:
    /// not where it has become yet another program. The kernel changes the name first and tells of the `execve` once the
    /// program is loaded. Until shortly before then the process has no command line, and none either while it ends: what
    /// it does is then waited for.
    fn is_of_last_start(&mut self, process: u32) -> io::Result<bool> {
        let is_changing = !is_program(process);
        let until = clock::now() + BECOMING;
        loop {
            self.receive()?;
            let From::Kernel { socket, told, .. } = &self.from else { return Ok(true) };
            let left = until.saturating_sub(clock::now());
            match told.iter().find(|told| told.process == process) {
                Some(next) => return Ok(next.kind == EXIT),
                // What the process did may be in a message that is not read yet.
                None if told.len() >= MOST => return Ok(false),
                None if !is_changing => return Ok(true),
                None if left == 0 => return Ok(false),
                None => {}
            }
            let left = Timespec::try_from(Duration::from_nanos(left)).unwrap_or(PATIENCE);
            match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&left)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Adds the start of a process of this name if the name is wanted with starts, and awaits its end if the
    /// name is wanted with ends. Returns whether the name is wanted at all.
    fn started(&mut self, name: &str, process: u32, time: u64) -> bool {
        let Some((name, wish)) = self.names.get_key_value(name) else { return false };
        let (name, wish) = (Arc::clone(name), *wish);
        if wish.end {
            let mut alive = locked(&self.alive.0);
            if alive.len() < MOST {
                alive.insert(process, Arc::clone(&name));
            }
        }
        if wish.start {
            self.push(name, EventKind::Start, process, time);
        }
        true
    }

    fn ended(&mut self, process: u32, time: u64) {
        let name = locked(&self.alive.0).remove(&process);
        if let Some(name) = name {
            self.push(name, EventKind::End, process, time);
        }
    }

    fn push(&mut self, name: Arc<str>, kind: EventKind, process: u32, time: u64) {
        let (thread, gap) = (process, self.gaps);
        let event = PerfEvent { kind, time, process, thread, gap, ..PerfEvent::now(&name) };
        self.events.push_back(event);
    }
}

impl EventSource for Processes {
    fn listed_every(&self) -> Option<Duration> {
        self.every()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        loop {
            // Names are read as early as possible, before waiting events are returned.
            let is_closed = self.closed.load(Ordering::Acquire);
            if matches!(self.from, From::Kernel { .. }) || is_closed {
                self.gather()?;
            }
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if is_closed {
                return Ok(None);
            }
            let woken = PollFd::new(&*self.woken, PollFlags::IN);
            let waited = match &self.from {
                From::Kernel { socket, .. } => {
                    poll(&mut [PollFd::new(socket, PollFlags::IN), woken], None)
                }
                From::Lists { every, .. } => {
                    let every = Timespec::try_from(*every).unwrap_or(PATIENCE);
                    poll(&mut [woken], Some(&every))
                }
            };
            match waited {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if matches!(self.from, From::Lists { .. }) {
                self.gather()?;
            }
        }
    }

    fn closer(&self) -> Closer {
        let (closed, woken) = (Arc::clone(&self.closed), Arc::clone(&self.woken));
        Box::new(move || {
            closed.store(true, Ordering::Release);
            let _ = rustix::io::write(&*woken, &1u64.to_ne_bytes());
        })
    }

    fn halves(&self) -> Vec<Arc<str>> {
        let halves = self.names.iter().filter(|(_, wish)| wish.start != wish.end);
        halves.map(|(name, _)| Arc::clone(name)).collect()
    }

    fn missed(&self) -> u64 {
        self.missed
    }
}

const NONE: u32 = 0;
const EXEC: u32 = 2;
const EXIT: u32 = 0x8000_0000;

/// A message of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    number: u32,
    kind: u32,
    processor: u32,
    time: u64,
    /// The thread; of an answer the error, 0 for none.
    thread: u32,
    process: u32,
}

impl Told {
    fn read(bytes: &[u8]) -> Option<Self> {
        let number4 = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk::<4>()?));
        let number8 = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk::<8>()?));
        Some(Self {
            number: number4(24)?,
            kind: number4(36)?,
            processor: number4(40)?,
            time: number8(44)?,
            thread: number4(52)?,
            process: number4(56)?,
        })
    }
}

/// A socket to which the kernel reports processes; `None` where it does not.
fn kernel() -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(CONNECTOR));
    let socket = socket.ok()?;
    // The forced size is for root; other users get as much as they may have.
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, ROOM).is_err() {
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, ROOM);
    }
    // The group of processes (CN_IDX_PROC).
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 1)).ok()?;
    let mut request = Vec::new();
    let length: u32 = 16 + 20 + 4;
    // nlmsghdr: length, type NLMSG_DONE, flags, number, port.
    request.extend(length.to_ne_bytes());
    request.extend([3u16, 0].into_iter().flat_map(u16::to_ne_bytes));
    request.extend([0u32, 0].into_iter().flat_map(u32::to_ne_bytes));
    // cn_msg: CN_IDX_PROC, CN_VAL_PROC, number, answer, then length and flags.
    request.extend([1u32, 1, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    request.extend([4u16, 0].into_iter().flat_map(u16::to_ne_bytes));
    // PROC_CN_MCAST_LISTEN.
    request.extend(1u32.to_ne_bytes());
    rustix::net::send(&socket, &request, SendFlags::empty()).ok()?;
    // In a container the kernel may say nothing.
    let mut bytes = [0; 4096];
    loop {
        let there = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&PATIENCE)).ok()?;
        if there == 0 {
            return None;
        }
        let (length, _) = rustix::net::recv(&socket, &mut bytes[..], RecvFlags::DONTWAIT).ok()?;
        match Told::read(bytes.get(..length).unwrap_or_default()) {
            Some(told) if told.kind == NONE => return (told.thread == 0).then_some(socket),
            _ => {}
        }
    }
}

/// Reads the name of a process without allocating; `None` where the process is gone, or its name is
/// not UTF-8.
fn name_of(process: u32, buffer: &mut [u8; 32]) -> Option<&str> {
    let mut path = [0u8; 32];
    let mut rest = &mut path[..];
    write!(rest, "/proc/{process}/comm").ok()?;
    let left = rest.len();
    let path = std::str::from_utf8(path.get(..path.len() - left)?).ok()?;
    let length = std::fs::File::open(path).ok()?.read(buffer).ok()?;
    let name = buffer.get(..length)?;
    std::str::from_utf8(name.strip_suffix(b"\n").unwrap_or(name)).ok()
}

/// Whether a process runs a program: a thread of the kernel and a process that has already ended have no command line.
fn is_program(process: u32) -> bool {
    let file = std::fs::File::open(format!("/proc/{process}/cmdline"));
    file.and_then(|mut file| file.read(&mut [0])).is_ok_and(|length| length > 0)
}

/// The IDs of the processes in /proc.
fn listed() -> io::Result<HashSet<u32>> {
    let entries = std::fs::read_dir("/proc")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_kernel_does_not_tell_processes_are_listed() {
        // A name that no other process has.
        let name = format!("last{}", std::process::id());
        let program = std::env::temp_dir().join(&name);
        std::fs::copy("/bin/sleep", &program).unwrap();
        let every = Duration::from_millis(2);
        let wanted = [(name.as_str(), EventKind::Point)];
        let mut processes = Processes::watch_by(|| None, &wanted, every).unwrap();
        assert_eq!(processes.every(), Some(every));
        let mut child = std::process::Command::new(&program).arg("600").spawn().unwrap();
        let event = processes.wait().unwrap().unwrap();
        assert_eq!(
            (&*event.name, event.kind, event.process),
            (&*name, EventKind::Start, child.id())
        );
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processes.wait().unwrap().unwrap().kind, EventKind::End);
        std::fs::remove_file(&program).unwrap();
    }

    #[test]
    fn messages_are_read_and_short_ones_are_none() {
        let mut bytes = [0; 76];
        for (at, number) in [(24, 7u32), (36, EXEC), (40, 1), (52, 12), (56, 11)] {
            bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        bytes[44..52].copy_from_slice(&99u64.to_ne_bytes());
        let told = Told { number: 7, kind: EXEC, processor: 1, time: 99, thread: 12, process: 11 };
        assert_eq!(Told::read(&bytes), Some(told));
        for end in 0..60 {
            assert_eq!(Told::read(&bytes[..end]), None, "{end}");
        }
    }
}
