//! Event sources of the command: signals to it, and lines that it reads.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use perfhive::experiment::{Closer, EventSource, PerfEvent};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// An event for each signal that this process gets. The system may merge signals that come faster
/// than they are taken.
pub(super) struct SignalEvents {
    name: Arc<str>,
    signals: Signals,
}

impl SignalEvents {
    pub(super) fn new(name: &str, signal: i32) -> io::Result<Self> {
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

/// An event for each line that comes on a descriptor that this process was started with.
pub(super) struct LineEvents {
    name: Arc<str>,
    file: File,
    /// The lines that were read and not told yet.
    lines: usize,
    /// Readable once the source is closed.
    closed: UnixStream,
    close: Arc<UnixStream>,
}

impl LineEvents {
    pub(super) fn open(name: &str, descriptor: u32) -> io::Result<Self> {
        let file = File::open(format!("/proc/self/fd/{descriptor}"))?;
        let (closed, close) = UnixStream::pair()?;
        Ok(Self { name: name.into(), file, lines: 0, closed, close: Arc::new(close) })
    }
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
            // Lines that come when the program has ended are no events of it.
            if waited.get(1).and_then(PollFd::any) == Some(true) {
                return Ok(None);
            }
            let length = self.file.read(&mut bytes)?;
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
