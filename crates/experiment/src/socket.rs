//! Delivery to a socket: the lines of [`JsonLines`] over a connection.

use crate::deliver::{Delivery, JsonLines};
use crate::record::RecordBatch;
use crate::run::ExperimentEnd;
use crate::section::Section;
use serde_json::Value;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most time that connecting by TCP may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// The most bytes of lines that wait for the receiver, unless the lines of one batch alone have more; further lines
/// are lost.
const WAITING: usize = 16 << 20;
/// How long the end of the experiment waits for the receiver.
const LAST: Duration = Duration::from_secs(1);

/// A connection to a receiver.
enum Connection {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Connection {
    fn open(address: &str) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
        if let Some(address) = address.strip_prefix("tcp:") {
            let address: SocketAddr =
                address.parse().map_err(|_| invalid("expected tcp:127.0.0.1:PORT"))?;
            if !address.ip().is_loopback() {
                return Err(invalid(
                    "records are sent to this machine only, as in tcp:127.0.0.1:PORT",
                ));
            }
            return TcpStream::connect_timeout(&address, CONNECTING).map(Self::Tcp);
        }
        #[cfg(unix)]
        if let Some(path) = address.strip_prefix("unix:") {
            // A process that does not accept connections causes no delay.
            #[cfg(target_os = "linux")]
            return crate::manage::connect(std::path::Path::new(path)).map(Self::Unix);
            #[cfg(not(target_os = "linux"))]
            return UnixStream::connect(path).map(Self::Unix);
        }
        Err(invalid("expected unix:PATH or tcp:127.0.0.1:PORT"))
    }

    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }

    fn shutdown(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// Sends JSON lines to a socket on which another program listens.
///
/// A receiver that hangs, is too slow or goes away delays no measurement, and the end of the experiment
/// by a second at most. Records for which 16 MiB of waiting lines leave no room are counted as
/// [undelivered](crate::BindingCounts::undelivered).
pub struct SocketLines {
    address: String,
    lines: JsonLines<Vec<u8>>,
    /// The channel to the thread that sends; an item is lines and the number of records in them.
    /// `None` once closed.
    sender: Option<SyncSender<(Vec<u8>, u64)>>,
    /// The number of bytes of the lines that wait to be sent.
    waiting: Arc<AtomicUsize>,
    /// The number of records in the lines that wait to be sent.
    records: Arc<AtomicU64>,
    connection: Connection,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl SocketLines {
    /// Connects to `unix:PATH` or `tcp:127.0.0.1:PORT`.
    ///
    /// # Errors
    /// An address of another form or of another machine, or one at which no program listens.
    pub fn connect(address: &str) -> io::Result<Self> {
        let connection = Connection::open(address)?;
        let mut writing = connection.try_clone()?;
        let (sender, receiver) = sync_channel::<(Vec<u8>, u64)>(1024);
        let (waiting, records) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
        let theirs = (Arc::clone(&waiting), Arc::clone(&records));
        let work = move || {
            for (lines, count) in receiver {
                writing.write_all(&lines)?;
                theirs.0.fetch_sub(lines.len(), Ordering::AcqRel);
                theirs.1.fetch_sub(count, Ordering::AcqRel);
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("perfhive-send".into()).spawn(work)?;
        Ok(Self {
            address: address.to_string(),
            lines: JsonLines::new(Vec::new()),
            sender: Some(sender),
            waiting,
            records,
            connection,
            thread: Some(thread),
        })
    }

    /// Sends a line that the caller made, as [`JsonLines::line`] does.
    ///
    /// # Errors
    /// Where there is no room for the line, or the receiver is gone.
    pub fn line(&mut self, line: &Value) -> io::Result<()> {
        self.lines.line(line)?;
        match self.send(0) {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Passes the lines written so far, which have `records` records, to the thread that sends. Returns `false` where
    /// there is no room for the lines or the thread has ended; the lines are then lost.
    fn send(&mut self, records: u64) -> bool {
        let lines = self.lines.take();
        let length = lines.len();
        let waiting = self.waiting.load(Ordering::Acquire);
        // Where nothing waits, there is room for lines of any length.
        let is_full = waiting > 0 && waiting + length > WAITING;
        let Some(sender) = self.sender.as_ref().filter(|_| !is_full) else { return false };
        self.waiting.fetch_add(length, Ordering::AcqRel);
        self.records.fetch_add(records, Ordering::AcqRel);
        let is_sent = sender.try_send((lines, records)).is_ok();
        if !is_sent {
            self.waiting.fetch_sub(length, Ordering::AcqRel);
            self.records.fetch_sub(records, Ordering::AcqRel);
        }
        is_sent
    }

    /// Waits until all lines are sent, at most [`LAST`], and closes the connection. Missing records
    /// are an error.
    fn close(&mut self) -> io::Result<()> {
        self.sender = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let until = Instant::now() + LAST;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.connection.shutdown();
        let sent = thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        match (self.records.load(Ordering::Acquire), sent) {
            (0, sent) => sent,
            (left, _) => {
                let what = format!("{}: {left} records did not reach the receiver", self.address);
                Err(io::Error::other(what))
            }
        }
    }
}

impl Delivery for SocketLines {
    fn deliver(&mut self, batch: &RecordBatch<'_>, sections: &[Section]) -> io::Result<u64> {
        self.lines.deliver(batch, sections)?;
        if self.send(batch.len() as u64) {
            return Ok(0);
        }
        // The line with a source's sensors may be among the lost lines.
        self.lines.forget();
        Ok(batch.len() as u64)
    }

    fn end(&mut self, end: &ExperimentEnd) -> io::Result<()> {
        self.lines.end(end)?;
        let is_sent = self.send(0);
        self.close()?;
        match is_sent {
            true => Ok(()),
            false => {
                Err(io::Error::other(format!("{}: the receiver is gone or slow", self.address)))
            }
        }
    }
}

impl Drop for SocketLines {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
