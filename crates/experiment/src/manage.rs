//! Management of a running experiment from another process.
//!
//! The experiment listens on a socket in its [folder](crate::ExperimentFolder). A request is one line of
//! JSON, and so is its answer; the records of `fetch` are many lines:
//!
//! | request | answer |
//! |---|---|
//! | `{"do": "list"}` | the experiment's description, its bindings with their sensors and counts, names of calls |
//! | `{"do": "sensors"}` | the sensors that can be bound, by group; with `"text"` those with this text in their names |
//! | `{"do": "bind", "event": E, "sensors": [...]}`, with `"where"` for a filter | `{"note": N}`, a note for people or `null` |
//! | `{"do": "start"}`, `"stop"`, with `"source"` for one event source | `{"bindings": N}` |
//! | `{"do": "limit", "events": N}`, `null` for no limit; with `"source"` for one event source; with `"where"` for another filter (`"none"` for no filter), which without a source is not for intervals | `{"bindings": N}` |
//! | `{"do": "fetch"}` | a line `experiment`, the lines of [`JsonLines`] from now on, and `{"kind": "alive"}` each second |
//!
//! An answer `{"error": "...", "why": W}` reports an error. W is `missing` where something named does not exist,
//! `refused` for a wrong request, and `failed` for something that the experiment could not do.
//!
//! Neither side trusts the other. Both must be processes of one user or of root, which the kernel confirms. Lines
//! have a greatest length; each request and answer has a deadline as a whole; few connections are served at once. A
//! client that reads too slowly loses its connection, but other clients lose no records.

use crate::deliver::JsonLines;
use crate::event::locked;
use crate::filter::EventFilter;
use crate::run::{BindingCounts, ExperimentHandle};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::geteuid;
use rustix::time::Timespec;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::io::{self, Read as _, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The greatest length in bytes of a request.
const LONGEST_REQUEST: usize = 64 << 10;
/// The greatest length in bytes of an answer, and of a line of `fetch`.
const LONGEST_ANSWER: usize = 4 << 20;
/// The time within which a whole request must be read, counted from the connection or the last answer, or a whole
/// answer written. So it also ends a connection on which nothing is asked.
const DEADLINE: Duration = Duration::from_secs(5);
/// How long the end of the experiment waits for clients that still fetch its last records.
const LAST: Duration = Duration::from_secs(1);
/// The number of connections that are served at once; further ones get an error and are closed.
const CONNECTIONS: usize = 8;
/// The most bytes of records that wait for one client of `fetch`; if there are more, the client
/// loses its connection.
const WAITING: usize = 16 << 20;

/// A request to make another binding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BindRequest {
    /// The text of the event source: `interval 10ms`, `call checkout`.
    pub event: String,
    /// The names of the sensors to read at each event.
    pub sensors: Vec<String>,
    /// The text of the filter for the binding's events; `None` to record all events.
    pub filter: Option<String>,
}

type Bind = dyn FnMut(BindRequest) -> io::Result<Option<String>> + Send;
type Find = dyn FnMut(Option<&str>) -> io::Result<Value> + Send;
type About = dyn Fn() -> Value + Send + Sync;

/// The state that all connections share.
struct Served {
    handle: ExperimentHandle,
    about: Box<About>,
    bind: Mutex<Box<Bind>>,
    sensors: Mutex<Box<Find>>,
    connections: AtomicUsize,
    /// The number of connections that fetch records.
    fetching: AtomicUsize,
    end: AtomicBool,
}

/// The socket and threads through which other processes of this user, or of root, manage an
/// experiment. Once this value is dropped, requests are answered no more.
pub struct ExperimentManager {
    path: PathBuf,
    served: Arc<Served>,
    thread: Option<JoinHandle<()>>,
}

impl ExperimentManager {
    /// Listens at a path where no file exists yet, in a folder of this user. `about` returns a JSON
    /// object that describes the experiment; records that are fetched have its `machine`, `program`, `pid` and
    /// `started` (a time as in RFC 3339) in their first line. `bind` makes another binding, and returns a note about
    /// it for people, if there is one. `sensors` returns the sensors that can be bound; if it is
    /// given a text, only those with the text in their names. Errors of `bind` and `sensors` reach
    /// the other side: [`io::ErrorKind::NotFound`] and [`io::ErrorKind::InvalidInput`] as such, and
    /// any other as [`io::ErrorKind::Other`].
    ///
    /// # Errors
    /// Where the socket cannot be made, or no thread can be started.
    pub fn serve(
        path: &Path,
        handle: ExperimentHandle,
        about: impl Fn() -> Value + Send + Sync + 'static,
        bind: impl FnMut(BindRequest) -> io::Result<Option<String>> + Send + 'static,
        sensors: impl FnMut(Option<&str>) -> io::Result<Value> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let served = Arc::new(Served {
            handle,
            about: Box::new(about),
            bind: Mutex::new(Box::new(bind)),
            sensors: Mutex::new(Box::new(sensors)),
            connections: AtomicUsize::new(0),
            fetching: AtomicUsize::new(0),
            end: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&served);
        let work = move || accept(&listener, &theirs);
        let thread = std::thread::Builder::new().name("perfhive-manage".into()).spawn(work)?;
        Ok(Self { path: path.into(), served, thread: Some(thread) })
    }
}

impl Drop for ExperimentManager {
    fn drop(&mut self) {
        self.served.end.store(true, Ordering::Release);
        // Wakes the thread.
        let woken = connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
        if woken.is_ok() {
            self.thread.take().map(JoinHandle::join);
        }
        // If the experiment has ended before, its last records are still on their way.
        let until = Instant::now() + LAST;
        while self.served.fetching.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn accept(listener: &UnixListener, served: &Arc<Served>) {
    for stream in listener.incoming() {
        if served.end.load(Ordering::Acquire) {
            return;
        }
        let Ok(mut stream) = stream else {
            // Mostly no descriptor is left; later there may be some.
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        if user_of(&stream).is_none() {
            continue;
        }
        if served.connections.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
            served.connections.fetch_sub(1, Ordering::AcqRel);
            let _ = stream.set_nonblocking(true);
            let what = format!(
                "{CONNECTIONS} managers are connected to the experiment, which is the most; try again when one has ended"
            );
            let _ = answer(&mut stream, &wrong(&io::Error::other(what)));
            continue;
        }
        let theirs = Arc::clone(served);
        let work = move || {
            let _ = serve(&mut stream, &theirs);
            theirs.connections.fetch_sub(1, Ordering::AcqRel);
        };
        let thread = std::thread::Builder::new().name("perfhive-manager".into()).spawn(work);
        if thread.is_err() {
            served.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Connects without waiting: a process that does not accept connections causes no delay.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The number of the process at the other end; `None` unless it belongs to this user or to root.
fn user_of(stream: &UnixStream) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    let trusted = peer.uid == geteuid() || peer.uid.is_root();
    trusted.then(|| peer.pid.as_raw_nonzero().get().unsigned_abs())
}

/// Answers the requests of one connection.
fn serve(stream: &mut UnixStream, served: &Served) -> io::Result<()> {
    let mut lines = Lines::default();
    loop {
        let Some(line) = lines.next(stream, LONGEST_REQUEST, DEADLINE)? else { return Ok(()) };
        // A manager that has given up has reported that there was no answer, so the request must have no effect.
        if is_gone(stream) || served.end.load(Ordering::Acquire) {
            return Ok(());
        }
        let result = match serde_json::from_slice(&line) {
            Ok(Request::Fetch {}) => {
                served.fetching.fetch_add(1, Ordering::AcqRel);
                let fetched = fetch(stream, served);
                served.fetching.fetch_sub(1, Ordering::AcqRel);
                return fetched;
            }
            Ok(request) => served.result(request),
            Err(error) => Err(refused(&format!("no request: {error}"))),
        };
        answer(stream, &result.unwrap_or_else(|error| wrong(&error)))?;
    }
}

/// Whether the other side has closed the connection.
fn is_gone(stream: &UnixStream) -> bool {
    let mut waited = [PollFd::new(stream, PollFlags::empty())];
    poll(&mut waited, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
        && waited.iter().any(|one| one.revents().contains(PollFlags::HUP))
}

/// A request of the module's table.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    List {},
    Sensors {
        text: Option<String>,
    },
    Bind {
        event: String,
        #[serde(default)]
        sensors: Vec<String>,
        #[serde(rename = "where")]
        filter: Option<String>,
    },
    Start {
        source: Option<String>,
    },
    Stop {
        source: Option<String>,
    },
    Limit {
        #[serde(deserialize_with = "present")]
        events: Option<u64>,
        source: Option<String>,
        #[serde(rename = "where")]
        filter: Option<String>,
    },
    Fetch {},
}

/// Reads a value that may be `null` but must not be missing.
fn present<'a, D: Deserializer<'a>>(value: D) -> Result<Option<u64>, D::Error> {
    Option::deserialize(value)
}

/// The word of an answer for each kind of error; other kinds have the word `failed`.
const KINDS: [(&str, io::ErrorKind); 3] = [
    ("missing", io::ErrorKind::NotFound),
    ("refused", io::ErrorKind::InvalidInput),
    ("failed", io::ErrorKind::Other),
];

fn wrong(error: &io::Error) -> Value {
    let why = KINDS.iter().find(|(_, kind)| *kind == error.kind()).map_or("failed", |(why, _)| why);
    json!({"error": error.to_string(), "why": why})
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

impl Served {
    fn result(&self, request: Request) -> io::Result<Value> {
        match request {
            Request::List {} => {
                let mut about = (self.about)();
                let list: Vec<Value> = self.handle.bindings().iter().map(described).collect();
                about["bindings"] = list.into();
                Ok(about)
            }
            Request::Start { source } => {
                let bindings = self.handle.bindings();
                let is_named = |one: &&BindingCounts| Some(&*one.source) == source.as_deref();
                let mut named = bindings.iter().filter(is_named).peekable();
                if named.peek().is_some() && named.all(|one| one.ended) {
                    return Err(refused("the event source has ended; bind it again"));
                }
                changed(self.handle.set_running(source.as_deref(), true), source.as_deref())
            }
            Request::Stop { source } => {
                changed(self.handle.set_running(source.as_deref(), false), source.as_deref())
            }
            Request::Limit { events, source, filter } => {
                let source = source.as_deref();
                if let Some(text) = filter {
                    self.set_filter(source, &text)?;
                }
                changed(self.handle.set_limit(source, events), source)
            }
            Request::Sensors { text } => locked(&self.sensors)(text.as_deref()),
            Request::Bind { event, sensors, filter } => {
                let note = locked(&self.bind)(BindRequest { event, sensors, filter })?;
                Ok(json!({"note": note}))
            }
            Request::Fetch {} => Err(refused("fetch has records for its answer")),
        }
    }

    fn set_filter(&self, source: Option<&str>, text: &str) -> io::Result<()> {
        let filter = (text != "none").then(|| text.parse::<EventFilter>()).transpose();
        let set = filter.and_then(|filter| self.handle.set_filter(source, filter.as_ref()));
        match (set.map_err(|why| refused(&why.to_string()))?, source) {
            (0, None) => {
                let what = "a filter is for all events but those of intervals, and there are no others; name an event \
                            source";
                Err(refused(what))
            }
            (count, _) => changed(count, source).map(drop),
        }
    }
}

/// The answer to a request that changed `count` bindings; an error if this is 0 and the request
/// named an event source.
fn changed(count: usize, source: Option<&str>) -> io::Result<Value> {
    match (count, source) {
        (0, Some(source)) => {
            let what = format!("there is no event source {source:?}");
            Err(io::Error::new(io::ErrorKind::NotFound, what))
        }
        (count, _) => Ok(json!({"bindings": count})),
    }
}

fn described(one: &BindingCounts) -> Value {
    let sensors = one
        .columns
        .iter()
        .map(|column| json!({"name": column.name.to_string(), "unit": &*column.unit}));
    json!({
        "source": &*one.source, "running": one.running, "ended": one.ended, "limit": one.limit, "events": one.events,
        "lost": one.lost, "undelivered": one.undelivered, "missed": one.missed, "filtered": one.filtered,
        "skipped": one.skipped, "error": one.failure,
        "sensors": sensors.collect::<Vec<Value>>(),
    })
}

fn answer(stream: &mut UnixStream, value: &Value) -> io::Result<()> {
    let mut text = value.to_string();
    text.push('\n');
    write_all(stream, text.as_bytes())
}

/// Writes all bytes within one deadline. A peer that takes a byte now and then cannot extend it.
fn write_all(stream: &mut UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + DEADLINE;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends the records from now on, until the experiment ends, or the client closes the connection or
/// reads too slowly.
fn fetch(stream: &mut UnixStream, served: &Served) -> io::Result<()> {
    let (sender, receiver): (_, Receiver<Vec<u8>>) = sync_channel(1024);
    let waiting = Arc::new(AtomicUsize::new(0));
    let queue = Queue { sender, waiting: Arc::clone(&waiting) };
    let mut lines = JsonLines::new(queue);
    lines.line(&first_line(&(served.about)()))?;
    if served.handle.deliver(lines).is_err() {
        // The experiment has ended.
        return Ok(());
    }
    loop {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok(lines) => {
                write_all(stream, &lines)?;
                waiting.fetch_sub(lines.len(), Ordering::AcqRel);
            }
            Err(RecvTimeoutError::Timeout) => answer(stream, &json!({"kind": "alive"}))?,
            // The experiment has ended, or the client was too slow.
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The first line of records: what the description of an experiment says of program, machine and beginning.
fn first_line(about: &Value) -> Value {
    let mut line = json!({"kind": "experiment", "version": 1});
    for key in ["machine", "program", "pid", "started"] {
        if let Some(value) = about.get(key) {
            line[key] = value.clone();
        }
    }
    line
}

/// The lines that wait for a client. If too many bytes wait, writing fails, which ends the delivery
/// to this client.
struct Queue {
    sender: SyncSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

impl Write for Queue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let waiting = self.waiting.fetch_add(bytes.len(), Ordering::AcqRel);
        if waiting > WAITING || self.sender.try_send(bytes.to_vec()).is_err() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes that came over a connection, to be read as lines.
#[derive(Default)]
struct Lines {
    read: Vec<u8>,
    /// The number of bytes at the beginning of `read` that were searched and have no line end.
    searched: usize,
}

impl Lines {
    /// The next line without its line end; `None` if the connection ends behind a line. All of the
    /// line must come within `patience`. An end within a line is an error, and so are more than
    /// `longest` bytes without a line end.
    fn next(
        &mut self,
        stream: &mut UnixStream,
        longest: usize,
        patience: Duration,
    ) -> io::Result<Option<Vec<u8>>> {
        let until = Instant::now() + patience;
        let mut piece = [0; 16 << 10];
        loop {
            let new = self.read.get(self.searched..).unwrap_or_default();
            if let Some(place) = new.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(self.searched + place + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                self.searched = 0;
                line.pop();
                return Ok(Some(line));
            }
            self.searched = self.read.len();
            if self.searched > longest {
                let what = format!("a line of more than {longest} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
            match stream.read(&mut piece) {
                Ok(0) if self.read.is_empty() => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.read.extend_from_slice(piece.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// A connection to an experiment of another process, through which this process manages it. The experiment closes a
/// connection on which no whole request comes within 5 seconds of connecting or of the last answer.
pub struct ManagedExperiment {
    stream: UnixStream,
    lines: Lines,
    process: u32,
    patience: Duration,
}

impl ManagedExperiment {
    /// Connects to the socket of the experiment of a process. `patience` is the time for each whole
    /// answer. An experiment that answers `fetch` sends a line each second at least.
    ///
    /// # Errors
    /// Where no process listens at the path, or the listener is another process, or belongs neither
    /// to this user nor to root.
    pub fn connect(path: &Path, process: u32, patience: Duration) -> io::Result<Self> {
        let stream = connect(path)?;
        if user_of(&stream) != Some(process) {
            let what =
                format!("what listens at {} is not process {process} of this user", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(Self { stream, lines: Lines::default(), process, patience })
    }

    /// The number of the process with the experiment.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Sends one of the requests of the module's table, except `fetch`, and returns the answer.
    ///
    /// # Errors
    /// No answer in time, an answer that is not a JSON object, or an error that the experiment
    /// answers ([`io::ErrorKind::NotFound`], [`io::ErrorKind::InvalidInput`],
    /// [`io::ErrorKind::Other`]). After no answer in time the connection is of no use: the late
    /// answer would be taken for that of the next request.
    pub fn ask(&mut self, request: &Value) -> io::Result<Value> {
        self.request(request)?;
        match self.line()? {
            Some(answer) if answer.is_object() => Ok(answer),
            Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "an answer that is none")),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Writes a request. It is no error if the other side has already closed the connection: its
    /// answer, with the reason, can still be read.
    fn request(&mut self, request: &Value) -> io::Result<()> {
        match answer(&mut self.stream, request) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Asks for the records from now on, which [`next_line`](Self::next_line) then returns.
    ///
    /// # Errors
    /// Where the request cannot be written. A connection that the other side has closed is no error
    /// here; `next_line` then tells it.
    pub fn fetch(&mut self) -> io::Result<()> {
        self.request(&json!({"do": "fetch"}))
    }

    /// The next line of records, without the lines `alive`; `None` at the end.
    ///
    /// # Errors
    /// Where no line comes in time, a line is not JSON, or the experiment answers an error.
    pub fn next_line(&mut self) -> io::Result<Option<Value>> {
        loop {
            let line = self.line()?;
            if line.as_ref().is_none_or(|line| line["kind"] != "alive") {
                return Ok(line);
            }
        }
    }

    fn line(&mut self) -> io::Result<Option<Value>> {
        let Some(line) = self.lines.next(&mut self.stream, LONGEST_ANSWER, self.patience)? else {
            return Ok(None);
        };
        let value: Value = serde_json::from_slice(&line)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        match value.get("error").and_then(Value::as_str) {
            Some(error) if value.get("kind").is_none() => {
                let kind = KINDS.iter().find(|(why, _)| value["why"] == *why);
                Err(io::Error::new(kind.map_or(io::ErrorKind::Other, |(_, kind)| *kind), error))
            }
            _ => Ok(Some(value)),
        }
    }
}
