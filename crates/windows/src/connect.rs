//! The way to another machine: found once, watched, and found anew.
//!
//! `RegConnectRegistryW` comes back when the network has given up, which takes it
//! from nothing to a minute: where a firewall drops what is sent, nobody says no. So a
//! connection is made on a thread of its own and waited for by a limit of its own,
//! apart from the time that a provider may take: who is not reached is not a provider
//! that hangs.

use crate::explain::{NOT_FOUND, NOT_REACHED, SUCCESS, is_lost};
use crate::parts::Service;
use crate::registry::{Beside, LastTitles, Place, Registry, ValueName};
use perfhive_engine::note_growth;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// `ERROR_INTERNAL_ERROR`: the thread that made the call is gone.
const INTERNAL: u32 = 1359;
/// `ERROR_NOT_ENOUGH_MEMORY`: no thread can be started.
const NO_THREAD: u32 = 8;

/// Connects to the machine of a name; the error is Windows' code.
pub(crate) type Connect<R> = Arc<dyn Fn(&str) -> Result<R, u32> + Send + Sync>;

/// How a connection stands, for those who wait for answers over it.
#[derive(Debug)]
pub(crate) struct Line {
    /// The other machine.
    pub(crate) host: String,
    /// How long it is waited for.
    pub(crate) limit: Duration,
    is_dialing: AtomicBool,
    up_since: Mutex<Option<Instant>>,
}

impl Line {
    pub(crate) fn to(host: &str, limit: Duration) -> Self {
        let (is_dialing, up_since) = (AtomicBool::new(false), Mutex::new(None));
        Self { host: host.to_string(), limit, is_dialing, up_since }
    }

    /// Whether somebody waits for the connection just now.
    pub(crate) fn is_dialing(&self) -> bool {
        self.is_dialing.load(Ordering::Acquire)
    }

    /// Since when there is a connection.
    pub(crate) fn up_since(&self) -> Option<Instant> {
        *self.up_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_up(&self, is_up: bool) {
        let mut since = self.up_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = is_up.then(Instant::now);
    }
}

/// Makes connections, one attempt at a time: the thread of one that does not come back
/// is waited for by whoever tries next, and not doubled.
pub(crate) struct Dialer<R> {
    line: Arc<Line>,
    connect: Connect<R>,
    attempt: Mutex<Option<Attempt<R>>>,
}

struct Attempt<R> {
    answer: Receiver<Result<R, u32>>,
    /// Until when it is waited for; from then on it is only asked whether it is over.
    until: Instant,
}

impl<R: Send + 'static> Dialer<R> {
    pub(crate) fn new(line: Arc<Line>, connect: Connect<R>) -> Self {
        Self { line, connect, attempt: Mutex::new(None) }
    }

    /// How the connections stand that are made.
    pub(crate) fn line(&self) -> Arc<Line> {
        Arc::clone(&self.line)
    }

    /// A connection, however late it is after an earlier attempt.
    ///
    /// # Errors
    /// The code with which it failed; [`NOT_REACHED`] where nobody has answered in time.
    pub(crate) fn dial(&self) -> Result<R, u32> {
        // Held while it is waited: whoever else wants to connect wants the same.
        let mut kept = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = match kept.take() {
            Some(attempt) => attempt,
            None => {
                note_growth();
                self.start().ok_or(NO_THREAD)?
            }
        };
        self.line.is_dialing.store(true, Ordering::Release);
        let left = attempt.until.saturating_duration_since(Instant::now());
        let answer = match attempt.answer.recv_timeout(left) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err(INTERNAL),
            Err(RecvTimeoutError::Timeout) => {
                *kept = Some(attempt);
                Err(NOT_REACHED)
            }
        };
        self.line.set_up(answer.is_ok());
        self.line.is_dialing.store(false, Ordering::Release);
        answer
    }

    fn start(&self) -> Option<Attempt<R>> {
        let (connect, line) = (Arc::clone(&self.connect), Arc::clone(&self.line));
        let (done, answer) = sync_channel(1);
        let body = move || {
            // Nobody waits where the source is gone: then the connection is closed.
            let _ = done.send(connect(&line.host));
        };
        thread::Builder::new().name("perfhive connect".to_string()).spawn(body).ok()?;
        Some(Attempt { answer, until: Instant::now() + self.line.limit })
    }
}

/// Another machine's registry. The connection is made with the first request, and anew
/// after it broke.
pub(crate) struct Remote<R> {
    dialer: Arc<Dialer<R>>,
    connection: Option<R>,
    /// The language of the user, who is here.
    user: u16,
    /// What may not be read there and was told, whatever connection it was found by.
    told: Vec<Beside>,
}

impl<R: Registry + 'static> Remote<R> {
    pub(crate) fn new(dialer: Arc<Dialer<R>>, user: u16) -> Self {
        Self { dialer, connection: None, user, told: Vec::new() }
    }

    fn connection(&mut self) -> Result<&mut R, u32> {
        if self.connection.is_none() {
            self.connection = Some(self.dialer.dial()?);
        }
        self.connection.as_mut().ok_or(NOT_FOUND)
    }
}

impl<R: Registry + 'static> Registry for Remote<R> {
    fn host(&self) -> Option<&str> {
        Some(&self.dialer.line.host)
    }

    fn connect(&mut self) -> u32 {
        self.connection().err().unwrap_or(SUCCESS)
    }

    fn value(&mut self, place: Place<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        let code = match self.connection() {
            Ok(connection) => connection.value(place, name, reply),
            Err(code) => return code,
        };
        if is_lost(code) {
            self.connection = None;
            self.dialer.line.set_up(false);
        }
        code
    }

    fn last_titles(&mut self) -> LastTitles {
        // Asked before each sample: a host that is gone is not looked for twice.
        self.connection.as_mut().map(R::last_titles).unwrap_or_default()
    }

    fn language_keys(&mut self) -> Vec<String> {
        self.connection().map(R::language_keys).unwrap_or_default()
    }

    fn services(&mut self) -> Vec<Service> {
        self.connection().map(R::services).unwrap_or_default()
    }

    fn registration(&mut self, service: &str) -> Option<u64> {
        self.connection.as_mut().and_then(|connection| connection.registration(service))
    }

    fn unreadable(&mut self) -> Vec<(Beside, u32)> {
        let mut news = self.connection.as_mut().map(R::unreadable).unwrap_or_default();
        news.retain(|(key, _)| !self.told.contains(key));
        self.told.extend(news.iter().map(|(key, _)| *key));
        news
    }

    fn user_language(&self) -> u16 {
        self.user
    }
}
