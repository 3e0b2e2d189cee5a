//! The connection to another machine: made once, and made again after it broke.
//!
//! `RegConnectRegistryW` returns when the network gives up, which takes up to a minute if, for
//! example, a firewall drops packets. So a connection is made on a thread of its own, with a
//! timeout that is separate from the timeouts of providers: a machine that is not reached is not a
//! provider that hangs.

use crate::codes::{NOT_FOUND, NOT_REACHED, SUCCESS, is_lost};
use crate::registry::{LastTitles, PerfRegistry, RegistryKey, RegistryPart, ValueName};
use crate::service::Service;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// `ERROR_INTERNAL_ERROR`: the thread that made the call is gone.
const INTERNAL: u32 = 1359;
/// `ERROR_NOT_ENOUGH_MEMORY`: no thread can be started.
const NO_THREAD: u32 = 8;

/// A function that connects to the machine with a name; the error is Windows' code.
pub type Connect<R> = Arc<dyn Fn(&str) -> Result<R, u32> + Send + Sync>;

/// Makes connections to one machine, one attempt at a time. If an attempt does not end within its
/// timeout, later callers get the result of that attempt instead of starting another.
pub struct Dialer<R> {
    host: String,
    /// The timeout of one attempt.
    limit: Duration,
    connect: Connect<R>,
    attempt: Mutex<Option<Attempt<R>>>,
}

/// An attempt to connect, on a thread of its own.
struct Attempt<R> {
    answer: Receiver<Result<R, u32>>,
    /// The time at which the attempt's timeout ends. After that, callers do not wait, and only test
    /// whether the attempt has ended.
    until: Instant,
}

impl<R: Send + 'static> Dialer<R> {
    /// A dialer that connects to `host` with `connect`; an attempt has the timeout `limit`.
    pub fn new(host: &str, limit: Duration, connect: Connect<R>) -> Self {
        Self { host: host.to_string(), limit, connect, attempt: Mutex::new(None) }
    }

    /// A connection, which may come from an earlier attempt that took longer than its timeout.
    ///
    /// # Errors
    /// The error code of `connect`; [`NOT_REACHED`] if the attempt did not end in time; other codes
    /// if its thread could not be started or ended without a result.
    pub fn dial(&self) -> Result<R, u32> {
        // The lock is held while waiting, since all callers want the same connection.
        let mut kept = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = match kept.take() {
            Some(attempt) => attempt,
            None => self.start().ok_or(NO_THREAD)?,
        };
        let left = attempt.until.saturating_duration_since(Instant::now());
        match attempt.answer.recv_timeout(left) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => Err(INTERNAL),
            Err(RecvTimeoutError::Timeout) => {
                *kept = Some(attempt);
                Err(NOT_REACHED)
            }
        }
    }

    /// Starts an attempt; `None` if no thread can be started.
    fn start(&self) -> Option<Attempt<R>> {
        let (connect, host) = (Arc::clone(&self.connect), self.host.clone());
        let (done, answer) = sync_channel(1);
        let body = move || {
            // If the dialer is gone, sending fails and the connection is closed.
            let _ = done.send(connect(&host));
        };
        thread::Builder::new().name("perfhive connect".to_string()).spawn(body).ok()?;
        Some(Attempt { answer, until: Instant::now() + self.limit })
    }
}

/// Another machine's registry, over a connection that is made at the first call and again after
/// it broke.
pub struct Remote<R> {
    dialer: Arc<Dialer<R>>,
    connection: Option<R>,
    /// The Windows language identifier of this machine's user.
    user: u16,
    /// The parts of the registry that could not be read and were reported already, over all
    /// connections.
    told: Vec<RegistryPart>,
}

impl<R: PerfRegistry + 'static> Remote<R> {
    /// A registry over connections that `dialer` makes; `user` is the Windows language identifier
    /// of this machine's user.
    pub fn new(dialer: Arc<Dialer<R>>, user: u16) -> Self {
        Self { dialer, connection: None, user, told: Vec::new() }
    }

    /// The connection, which is made if there is none. The error is that of the attempt to connect.
    fn connection(&mut self) -> Result<&mut R, u32> {
        if self.connection.is_none() {
            self.connection = Some(self.dialer.dial()?);
        }
        self.connection.as_mut().ok_or(NOT_FOUND)
    }
}

impl<R: PerfRegistry + 'static> PerfRegistry for Remote<R> {
    fn host(&self) -> Option<&str> {
        Some(&self.dialer.host)
    }

    fn connect(&mut self) -> u32 {
        self.connection().err().unwrap_or(SUCCESS)
    }

    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        let code = match self.connection() {
            Ok(connection) => connection.value(place, name, reply),
            Err(code) => return code,
        };
        if is_lost(code) {
            self.connection = None;
        }
        code
    }

    fn last_titles(&mut self) -> LastTitles {
        // This is called before each sample, which makes a connection itself. So no attempt is made
        // here.
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

    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        let mut news = self.connection.as_mut().map(R::unreadable).unwrap_or_default();
        news.retain(|(key, _)| !self.told.contains(key));
        self.told.extend(news.iter().map(|(key, _)| *key));
        news
    }

    fn user_language(&self) -> u16 {
        self.user
    }
}
