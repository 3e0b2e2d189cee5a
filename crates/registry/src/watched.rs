//! Calls with a timeout, on threads that are left behind if a call does not return.

use crate::codes::{SUCCESS, TIMEOUT, is_lost};
use crate::registry::{LastTitles, PerfRegistry, RegistryKey, RegistryPart, ValueName};
use crate::service::Service;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// `ERROR_INTERNAL_ERROR`: the thread that made the call is gone.
const INTERNAL: u32 = 1359;
/// The largest number of threads that may be left behind at a time. With that many, each call fails
/// at once with `ERROR_TIMEOUT`. A thread holds a buffer, and every hanging provider takes one
/// thread.
const LEFT_BEHIND: usize = 8;

/// A function that makes a registry for one thread.
pub type Make = Box<dyn Fn() -> Box<dyn PerfRegistry> + Send>;

/// A registry with a timeout on each call that performance libraries answer, whatever a provider
/// does.
///
/// Windows collects on the calling thread. A call that does not return in time fails with
/// `ERROR_TIMEOUT`, and its thread is left behind; the next call is made on another thread. Values
/// and keys that are read without the libraries of providers are read on the caller's thread and
/// without a timeout; for another machine this takes a second connection.
pub(crate) struct Watched {
    make: Make,
    own: Box<dyn PerfRegistry>,
    limit: Duration,
    helper: Option<Helper>,
    /// The threads that were left behind because their calls did not return in time.
    behind: Vec<Helper>,
    /// A name that a thread gave back, so that its allocation is used again.
    spare: Option<ValueName>,
}

/// A key with values that performance libraries make, so that reading a value may hang.
#[derive(Clone, Copy)]
enum Special {
    Data,
    Text,
    NlsText,
}

/// A call to make on another thread: the key, the name of the value, and the buffer for its result.
struct Call {
    place: Special,
    name: ValueName,
    reply: Vec<u8>,
}

/// A thread that makes one call at a time, and ends when its sender is dropped.
struct Helper {
    calls: SyncSender<Call>,
    answers: Receiver<(u32, Call)>,
}

impl Helper {
    /// Starts a thread that calls `registry`; `None` if no thread can be started.
    fn start(mut registry: Box<dyn PerfRegistry>) -> Option<Self> {
        let (calls, to_make) = sync_channel::<Call>(1);
        let (made, answers) = sync_channel(1);
        let body = move || {
            for mut call in to_make {
                let place = match call.place {
                    Special::Data => RegistryKey::Data,
                    Special::Text => RegistryKey::Text,
                    Special::NlsText => RegistryKey::NlsText,
                };
                let code = registry.value(place, &call.name, &mut call.reply);
                if made.send((code, call)).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("perfhive call".to_string()).spawn(body).ok()?;
        Some(Self { calls, answers })
    }
}

impl Watched {
    pub(crate) fn new(make: Make, limit: Duration) -> Self {
        let own = make();
        Self { make, own, limit, helper: None, behind: Vec::new(), spare: None }
    }
}

impl PerfRegistry for Watched {
    fn host(&self) -> Option<&str> {
        self.own.host()
    }

    fn connect(&mut self) -> u32 {
        self.own.connect()
    }

    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        let place = match place {
            RegistryKey::Data => Special::Data,
            RegistryKey::Text => Special::Text,
            RegistryKey::NlsText => Special::NlsText,
            RegistryKey::Language(_) => return self.own.value(place, name, reply),
        };
        if self.helper.is_none() {
            if self.hanging() >= LEFT_BEHIND {
                return TIMEOUT;
            }
            let mut registry = (self.make)();
            // Connecting does not count for the timeout: a machine that is not reached is not a
            // provider that hangs.
            let code = registry.connect();
            if code != SUCCESS {
                return code;
            }
            self.helper = Helper::start(registry);
            let _ = self.own.connect();
        }
        let Some(helper) = &self.helper else { return INTERNAL };
        let mut copy = self.spare.take().unwrap_or_else(|| ValueName::new(""));
        copy.assign(name);
        let call = Call { place, name: copy, reply: std::mem::take(reply) };
        let answer = match helper.calls.send(call) {
            Ok(()) => helper.answers.recv_timeout(self.limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok((code, call)) => {
                *reply = call.reply;
                self.spare = Some(call.name);
                if is_lost(code) {
                    // The next call makes new connections.
                    self.helper = None;
                    self.own = (self.make)();
                }
                code
            }
            Err(RecvTimeoutError::Timeout) => {
                self.behind.extend(self.helper.take());
                TIMEOUT
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.helper = None;
                INTERNAL
            }
        }
    }

    fn last_titles(&mut self) -> LastTitles {
        self.own.last_titles()
    }

    fn language_keys(&mut self) -> Vec<String> {
        self.own.language_keys()
    }

    fn services(&mut self) -> Vec<Service> {
        self.own.services()
    }

    fn registration(&mut self, service: &str) -> Option<u64> {
        self.own.registration(service)
    }

    fn user_language(&self) -> u16 {
        self.own.user_language()
    }

    fn asks_everybody(&self) -> bool {
        self.own.asks_everybody()
    }

    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        self.own.unreadable()
    }

    fn set_limit(&mut self, limit: Duration) -> Duration {
        std::mem::replace(&mut self.limit, limit)
    }

    fn hanging(&mut self) -> usize {
        use std::sync::mpsc::TryRecvError;
        // Threads whose calls have returned are dropped, and end.
        self.behind.retain(|helper| matches!(helper.answers.try_recv(), Err(TryRecvError::Empty)));
        self.behind.len()
    }
}
