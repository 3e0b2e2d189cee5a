//! Event sources of `perfhive experiment run`: signals that it gets, and lines that it reads.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use perfhive::experiment::{Closer, EventSource, PerfEvent};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use signal_hook::consts::{SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
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
        loop {
            // Read before the signals, so that one that came before closing is among them. Once closed, nothing is
            // waited for.
            let is_closed = self.signals.is_closed();
            if self.signals.wait().next().is_some() {
                return Ok(Some(PerfEvent::now(&self.name)));
            }
            if is_closed {
                return Ok(None);
            }
        }
    }

    fn closer(&self) -> Closer {
        let handle = self.signals.handle();
        Box::new(move || handle.close())
    }

    fn missed(&self) -> u64 {
        0
    }
}

/// How many bytes of those that wait when the source is closed are read, at most. Where more wait, an error tells that
/// lines are left.
const MOST_AT_END: u64 = 1 << 20;

/// An event for each line that comes on a descriptor that this process was started with, or in a FIFO.
pub(super) struct LineEvents {
    name: Arc<str>,
    file: File,
    /// The number of lines that were read and are not returned as events yet.
    lines: usize,
    /// The number of bytes that are still to be read after the source was closed: those that waited then. What comes later
    /// is no event, so that a writer that goes on keeps no experiment alive. `None` before.
    rest: Option<u64>,
    /// Whether more bytes waited when the source was closed than are read.
    is_cut: bool,
    is_socket: bool,
    /// A socket that becomes readable when the source is closed.
    closed: UnixStream,
    close: Arc<UnixStream>,
}

impl LineEvents {
    /// Lines on a descriptor that this process was started with.
    pub(super) fn inherited(name: &str, descriptor: u32) -> io::Result<Self> {
        // A file that is opened again is read from its beginning, whatever the program reads of it. Only a socket
        // cannot be opened again. A FIFO may have lines of a writer that has gone, which is not waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let path = format!("/proc/self/fd/{descriptor}");
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                let what = format!(
                    "no descriptor {descriptor} is open; {descriptor}< FILE behind the command opens it in a shell"
                );
                return Err(io::Error::new(io::ErrorKind::NotFound, what));
            }
            // One of another user cannot be opened again either.
            Err(Errno::NXIO | Errno::ACCESS) => copied(descriptor)?,
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
        let (name, close) = (name.into(), Arc::new(close));
        let is_socket = file.metadata()?.file_type().is_socket();
        let (lines, rest, is_cut) = (0, None, false);
        Ok(Self { name, file, lines, rest, is_cut, is_socket, closed, close })
    }

    /// Reads without waiting, and no more than the rest after closing.
    fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let most = self.rest.unwrap_or(u64::MAX).min(bytes.len() as u64) as usize;
        let bytes = bytes.get_mut(..most).unwrap_or_default();
        // The copy of a socket waits as the socket does, if another process has read what was there.
        match self.is_socket {
            true => Ok(rustix::net::recv(&self.file, bytes, rustix::net::RecvFlags::DONTWAIT)?.0),
            false => (&self.file).read(bytes),
        }
    }

    /// The number of bytes that wait to be read.
    fn waiting(&self) -> io::Result<u64> {
        let about = self.file.metadata()?;
        match about.is_file() {
            true => Ok(about.len().saturating_sub((&self.file).stream_position()?)),
            false => Ok(rustix::io::ioctl_fionread(&self.file).unwrap_or(MOST_AT_END)),
        }
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
            let ready = |at: usize| waited.get(at).and_then(PollFd::any) == Some(true);
            let (is_there, is_closed) = (ready(0), ready(1));
            match self.rest {
                // The file may have become readable before closing, and behind the look at it.
                None if is_closed => {
                    let waiting = self.waiting()?;
                    self.is_cut = waiting > MOST_AT_END;
                    self.rest = Some(waiting.min(MOST_AT_END));
                    continue;
                }
                Some(0) if self.is_cut => {
                    let what = "more lines were waiting at the program's end than are read then; the last lines are lost";
                    return Err(io::Error::other(what));
                }
                Some(rest) if rest == 0 || !is_there => return Ok(None),
                _ => {}
            }
            let length = match self.read(&mut bytes) {
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
            self.rest = self.rest.map(|rest| rest.saturating_sub(length as u64));
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
