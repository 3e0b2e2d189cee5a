//! The side of the program under test: calls at its points.
//!
//! The experiment names a FIFO in the environment. The first call opens it; each call writes one
//! event ([`wire`](crate::wire)) and never waits. An event for which the FIFO has no room is lost;
//! the process counts it, and the next event of the process carries the count.
//!
//! The FIFO is opened for reading too, so that the kernel never sends `SIGPIPE` when the experiment has ended. A call
//! reads the clocks first and last, and the thread's next event carries the measured cost of the call. This cost
//! includes everything that a call depends on, such as the time since the previous call. Before each event the file
//! at the descriptor is compared with the FIFO that was opened: a program that closes all its descriptors, as daemons
//! do, may have another file at this number. Then the FIFO is opened again, at a number that is none of the standard
//! streams'.

use crate::EventKind;

/// The environment variable with the path of the FIFO for events.
pub const CALLS_VARIABLE: &str = "PERFHIVE_CALLS";

/// Tells a running experiment that the program is at the point `name`. The call has no effect without an experiment. If
/// the experiment did not ask for this name, the call is counted but is no event.
///
/// A name is up to 96 bytes long; further bytes are cut off. A call with an empty name is no event.
///
/// ```
/// perfhive_experiment::call("paid");
/// ```
#[inline]
pub fn call(name: &str) {
    tell(EventKind::Point, name);
}

/// Tells a running experiment of the start of a section, which [`end`] ends on the same thread.
/// Sections may be nested.
#[inline]
pub fn start(name: &str) {
    tell(EventKind::Start, name);
}

/// Tells a running experiment of the end of a section: the innermost section of this name that the
/// thread has started.
#[inline]
pub fn end(name: &str) {
    tell(EventKind::End, name);
}

/// Tells a running experiment of the start of a section, and of its end when
/// the returned guard is dropped.
///
/// ```
/// let total = {
///     let _sum = perfhive_experiment::section("sum");
///     (1..=1000).sum::<u64>()
/// };
/// assert_eq!(total, 500_500);
/// ```
#[inline]
#[must_use = "the section ends when the guard is dropped"]
pub fn section(name: &str) -> SectionGuard<'_> {
    start(name);
    SectionGuard { name, on_this_thread: std::marker::PhantomData }
}

/// A section under way, which ends when this guard is dropped; see [`section`].
#[derive(Debug)]
pub struct SectionGuard<'a> {
    name: &'a str,
    /// Keeps the guard on its thread: a section ends on the thread on which it started.
    on_this_thread: std::marker::PhantomData<*const ()>,
}

impl Drop for SectionGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        end(self.name);
    }
}

#[cfg(not(target_os = "linux"))]
fn tell(_: EventKind, _: &str) {}

#[cfg(target_os = "linux")]
fn tell(kind: EventKind, name: &str) {
    if let Some(pipe) = linux::pipe() {
        pipe.tell(kind, name.as_bytes());
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::CALLS_VARIABLE;
    use crate::wire::{LONGEST, WireEvent};
    use crate::{CallTotals, EventKind};
    use rustix::fs::{FileType, Mode, OFlags};
    use rustix::process::{getegid, geteuid, getgid, getuid};
    use rustix::time::{ClockId, clock_gettime};
    use std::cell::Cell;
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The pipe to the experiment; `None` if the environment names none, if it cannot be opened, or
    /// if the program has other rights than its caller (setuid).
    #[inline]
    pub(super) fn pipe() -> Option<&'static CallPipe> {
        static PIPE: OnceLock<Option<CallPipe>> = OnceLock::new();
        PIPE.get_or_init(|| {
            let path = std::env::var_os(CALLS_VARIABLE)?;
            // A program with more rights than its caller must not trust the environment, which the caller sets.
            let has_own_rights = geteuid() == getuid() && getegid() == getgid();
            has_own_rights.then(|| CallPipe::open(Path::new(&path)).ok()).flatten()
        })
        .as_ref()
    }

    /// The lowest descriptor that is not a standard stream.
    const STANDARD: i32 = 3;

    /// A thread that calls: its number, and the totals of its calls.
    #[derive(Clone, Copy)]
    struct Caller {
        /// The process in which the thread's number was read. After a fork, the thread's number is a different one.
        process: u32,
        thread: u32,
        calls: CallTotals,
    }

    thread_local! {
        static CALLER: Cell<Caller> = const {
            let calls = CallTotals { count: 0, time: 0, thread_time: 0, counter: 0 };
            Cell::new(Caller { process: 0, thread: 0, calls })
        };
    }

    fn nanos_of(clock: ClockId) -> u64 {
        crate::wire::nanos(clock_gettime(clock))
    }

    /// The FIFO to an experiment.
    #[derive(Debug)]
    pub(super) struct CallPipe {
        path: PathBuf,
        fifo: OwnedFd,
        /// The device and inode numbers of the FIFO.
        opened: (u64, u64),
        /// The number of events that could not be written since an event was last written.
        lost: AtomicU32,
        /// The FIFO opened again after the program closed the descriptor; `None` if opening it
        /// again failed.
        again: OnceLock<Option<Box<CallPipe>>>,
    }

    impl CallPipe {
        /// Opens the FIFO at a path. A file that is not a FIFO, belongs to another user, or gives
        /// other users any right is an error.
        fn open(path: &Path) -> rustix::io::Result<Self> {
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            // Opening anything else than a FIFO could have effects of its own.
            let there = rustix::fs::lstat(path)?;
            let is_right = |stat: &rustix::fs::Stat| {
                FileType::from_raw_mode(stat.st_mode) == FileType::Fifo
                    && stat.st_uid == geteuid().as_raw()
                    && stat.st_mode & 0o077 == 0
            };
            if !is_right(&there) {
                return Err(rustix::io::Errno::ACCESS);
            }
            let mut fifo = rustix::fs::open(path, flags, Mode::empty())?;
            if fifo.as_raw_fd() < STANDARD {
                fifo = rustix::io::fcntl_dupfd_cloexec(&fifo, STANDARD)?;
            }
            let stat = rustix::fs::fstat(&fifo)?;
            if !is_right(&stat) {
                return Err(rustix::io::Errno::ACCESS);
            }
            Ok(Self {
                path: path.into(),
                fifo,
                opened: (stat.st_dev, stat.st_ino),
                lost: AtomicU32::new(0),
                again: OnceLock::new(),
            })
        }

        /// The pipe with a descriptor that is still the FIFO: this pipe, or one that was opened again. `None` if no
        /// such pipe can be opened.
        fn open_one(&self) -> Option<&Self> {
            let mut pipe = self;
            loop {
                let is_same = rustix::fs::fstat(&pipe.fifo)
                    .is_ok_and(|stat| (stat.st_dev, stat.st_ino) == pipe.opened);
                if is_same {
                    return Some(pipe);
                }
                let open = || Self::open(&pipe.path).ok().map(Box::new);
                pipe = pipe.again.get_or_init(open).as_deref()?;
            }
        }

        /// Writes an event to the FIFO if there is room for it.
        pub(super) fn tell(&self, kind: EventKind, name: &[u8]) {
            CALLER.with(|caller| self.tell_of(caller, kind, name));
        }

        fn tell_of(&self, caller: &Cell<Caller>, kind: EventKind, name: &[u8]) {
            // The totals are read before the clocks: from here on, the time of a call in a signal handler is a part
            // of this call's time.
            let mut by = caller.get();
            let time = nanos_of(ClockId::Monotonic);
            let thread_time = nanos_of(ClockId::ThreadCPUTime);
            let Some(pipe) = self.open_one() else { return };
            let number = |id: rustix::process::Pid| id.as_raw_nonzero().get().unsigned_abs();
            let process = number(rustix::process::getpid());
            if by.process != process {
                (by.process, by.thread) = (process, number(rustix::thread::gettid()));
                by.calls.counter = std::ptr::from_ref(caller).addr() as u64;
            }
            let lost = self.lost.swap(0, Ordering::Relaxed);
            let Caller { process, thread, calls } = by;
            let event = WireEvent { kind, lost, process, thread, time, thread_time, calls, name };
            let mut buffer = [0; LONGEST];
            let written = rustix::io::write(&pipe.fifo, event.encode(&mut buffer));
            if written.is_err() {
                // The sum may wrap: to lose that many events takes hours at full speed.
                self.lost.fetch_add(lost.wrapping_add(1), Ordering::Relaxed);
            }
            by.calls.count += 1;
            by.calls.thread_time += nanos_of(ClockId::ThreadCPUTime).saturating_sub(thread_time);
            by.calls.time += nanos_of(ClockId::Monotonic).saturating_sub(time);
            caller.set(by);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn descriptor_that_is_another_file_by_now_is_not_written_and_the_fifo_opened_anew() {
            let folder = std::env::temp_dir().join(format!("perfhive-call-{}", std::process::id()));
            std::fs::create_dir(&folder).unwrap();
            let (path, other) = (folder.join("calls"), folder.join("other"));
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
            let mut pipe = CallPipe::open(&path).unwrap();
            let fifo =
                std::mem::replace(&mut pipe.fifo, std::fs::File::create(&other).unwrap().into());
            let mut read = [0; 1024];
            for _ in 0..2 {
                pipe.tell(EventKind::Point, b"paid");
                let length = rustix::io::read(&fifo, &mut read).unwrap();
                let (event, _) = WireEvent::decode(&read[..length]).unwrap().unwrap();
                assert_eq!((event.name, event.lost), (&b"paid"[..], 0));
            }
            assert_eq!(std::fs::read(&other).unwrap(), b"");
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
