//! Event sources of `perfhive experiment run`: signals that it gets, and lines that it reads.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use perfhive::experiment::{Closer, EventSource, PerfEvent};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use signal_hook::consts::{SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

/// An event for each signal of one kind that this process gets. The system may merge signals that
/// come faster than they are taken.
pub(super) struct SignalEvents {
    name: Arc<str>,
    signals: Signals,
}

impl SignalEvents {
    /// Events of the signal USR1 for the word `USR1`, otherwise of USR2.
    pub(super) fn of_word(name: &str, word: &str) -> io::Result<Self> {
        let signal = if word == "USR1" { SIGUSR1 } else { SIGUSR2 };
        Ok(Self { name: name.into(), signals: Signals::new([signal])? })
    }
}

impl EventSource for SignalEvents {
    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        Ok(self.signals.forever().next().map(|_| PerfEvent::now(&self.name)))
    }

    fn closer(&self) -> Closer {
        let handle = self.signals.handle();
        Box::new(move || handle.close())
    }

    fn missed(&self) -> u64 {
        0
    }
}

/// An event for each line that comes on a descriptor that this process was started with, or in a FIFO.
pub(super) struct LineEvents {
    name: Arc<str>,
    file: File,
    /// The number of lines that were read and are not returned as events yet.
    lines: usize,
    /// A socket that becomes readable when the source is closed.
    closed: UnixStream,
    close: Arc<UnixStream>,
}

impl LineEvents {
    /// Lines on a descriptor that this process was started with.
    pub(super) fn inherited(name: &str, descriptor: u32) -> io::Result<Self> {
        // A file that is opened again is read from its beginning, whatever the program reads of it. Only a socket
        // cannot be opened again. A FIFO may have lines of a writer that has gone, which is not waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = format!("/proc/self/fd/{descriptor}");
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NXIO) => copied(descriptor)?,
            opened => opened?.into(),
        };
        Self::of(name, file)
    }

    /// Lines in a FIFO; an error for any other file.
    pub(super) fn of_fifo(name: &str, path: &Path) -> io::Result<Self> {
        if !std::fs::metadata(path)?.file_type().is_fifo() {
            let what =
                "it is no FIFO, as mkfifo makes one; of a file that grows: tail -f FILE > FIFO";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        // For writing too: there is no end of file when the last process closes it.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Self::of(name, rustix::fs::open(path, flags, Mode::empty())?.into())
    }

    fn of(name: &str, file: File) -> io::Result<Self> {
        let (closed, close) = UnixStream::pair()?;
        Ok(Self { name: name.into(), file, lines: 0, closed, close: Arc::new(close) })
    }
}

/// A copy of a descriptor of this process.
fn copied(descriptor: u32) -> io::Result<File> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let descriptor = i32::try_from(descriptor).unwrap_or(-1);
    Ok(pidfd_getfd(&own, descriptor, PidfdGetfdFlags::empty())?.into())
}

/// Whether reading may succeed later: there was no data yet, or a signal interrupted it.
fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

impl EventSource for LineEvents {
    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        let mut bytes = [0; 8192];
        while self.lines == 0 {
            let mut waited = [
                PollFd::new(self.file.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.closed.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut waited, PollTimeout::NONE) {
                Ok(_) => {}
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            // Lines that come after the source was closed, when the program has ended, are no events.
            if waited.get(1).and_then(PollFd::any) == Some(true) {
                return Ok(None);
            }
            let length = match self.file.read(&mut bytes) {
                Ok(length) => length,
                // Another process has read what was there, or a signal came.
                Err(error) if is_for_now(&error) => continue,
                Err(error) => return Err(error),
            };
            if length == 0 {
                return Ok(None);
            }
            let read = bytes.get(..length).unwrap_or_default();
            self.lines = read.iter().filter(|byte| **byte == b'\n').count();
        }
        self.lines -= 1;
        Ok(Some(PerfEvent::now(&self.name)))
    }

    fn closer(&self) -> Closer {
        let close = Arc::clone(&self.close);
        Box::new(move || drop(close.shutdown(Shutdown::Both)))
    }

    fn missed(&self) -> u64 {
        0
    }
}
