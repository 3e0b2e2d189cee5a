//! The registry of a machine as a trait: what reading performance data needs of it.

use crate::codes::{NOT_FOUND, SUCCESS, is_lost};
use crate::service::Service;
use std::time::Duration;

/// A value's name: UTF-16 with a NUL at its end, as the calls want it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueName(Vec<u16>);

impl ValueName {
    /// Copies another name into this one's allocation.
    pub(crate) fn assign(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    /// Makes a name; a NUL inside would end it early, and is left out.
    pub fn new(name: &str) -> Self {
        Self(name.encode_utf16().filter(|unit| *unit != 0).chain([0]).collect())
    }

    /// The units with the NUL at the end.
    #[must_use]
    pub fn as_ptr(&self) -> *const u16 {
        self.0.as_ptr()
    }

    /// The name as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf16_lossy(self.0.strip_suffix(&[0]).unwrap_or(&self.0))
    }
}

/// The place where a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistryKey<'a> {
    /// `HKEY_PERFORMANCE_DATA`: data, and the titles of any language.
    Data,
    /// `HKEY_PERFORMANCE_TEXT`: titles in English.
    Text,
    /// `HKEY_PERFORMANCE_NLSTEXT`: titles in the user's language.
    NlsText,
    /// The key `Perflib\LLL`: titles of one language.
    Language(&'a str),
}

/// The numbers and the time of the last registration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastTitles {
    /// `Perflib\Last Counter`.
    pub counter: Option<u32>,
    /// `Perflib\Last Help`.
    pub help: Option<u32>,
    /// When a value of `Perflib` was last written, as a FILETIME; `None` if it is not known.
    ///
    /// Indexes are used again: after a provider was taken away and registered with other names, the
    /// numbers may be as they were. Every registration writes both numbers, and writing a value
    /// changes the key's time even if the value stays (seen under Wine). Assumed, not seen: that
    /// Windows' `loadperf` writes the numbers behind the names, and that no program writes to
    /// `Perflib` all the time. Disabling a provider, and counting its failures, writes below
    /// `Services` and not here.
    pub written: Option<u64>,
}

/// A part of the registry beside the counters. If it cannot be read, less is known about the
/// counters, but they can be read all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryPart {
    /// All of another machine's registry.
    Machine,
    /// The registrations of providers.
    Services,
    /// The names and help texts.
    Perflib,
}

/// The parts of the registry that may not be read, and how many of them were reported.
#[derive(Debug, Default)]
pub struct Unreadable {
    known: Vec<(RegistryPart, u32)>,
    told: usize,
}

impl Unreadable {
    /// Notes a part that could not be read. A part that does not exist is not noted.
    pub fn note(&mut self, key: RegistryPart, code: u32) {
        let is_known = self.known.iter().any(|(known, _)| *known == key);
        if code != NOT_FOUND && !is_lost(code) && !is_known {
            self.known.push((key, code));
        }
    }

    /// The value of a result; for an error, which is noted, `None`.
    pub fn read<T>(&mut self, key: RegistryPart, result: Result<T, u32>) -> Option<T> {
        result.map_err(|code| self.note(key, code)).ok()
    }

    /// The parts that were noted since the last call, with their error codes.
    pub fn news(&mut self) -> Vec<(RegistryPart, u32)> {
        let news = self.known.get(self.told..).unwrap_or_default().to_vec();
        self.told = self.known.len();
        news
    }
}

/// The registry of a machine, as far as counters are concerned. Error codes are those of Windows
/// ([`codes`](crate::codes)). To implement it for another way to a registry, all that is needed is
/// reading values by name and listing keys.
pub trait PerfRegistry: Send {
    /// The name of the other machine; `None` for this machine.
    fn host(&self) -> Option<&str>;

    /// Connects to another machine, with a timeout of its own. Returns the error code.
    fn connect(&mut self) -> u32 {
        SUCCESS
    }

    /// Reads a value into `reply`, whose capacity is the buffer: one `RegQueryValueExW`. Returns
    /// the error code.
    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32;

    /// `Last Counter` and `Last Help`, and when they were written. Allocates nothing.
    fn last_titles(&mut self) -> LastTitles;

    /// The names of the keys below `Perflib`.
    fn language_keys(&mut self) -> Vec<String>;

    /// The registered providers. Read only where questions fail.
    fn services(&mut self) -> Vec<Service>;

    /// A number that changes with the registration of a service: its library, functions, objects,
    /// indexes, and whether it is disabled; `None` without a registration. Collects nothing.
    fn registration(&mut self, service: &str) -> Option<u64>;

    /// The user's language: a Windows language identifier.
    fn user_language(&self) -> u16;

    /// Whether the system asks every library for everything, whatever its `Object List` says.
    fn asks_everybody(&self) -> bool {
        false
    }

    /// Sets the timeout of a call, where there is one; returns the timeout before.
    fn set_limit(&mut self, limit: Duration) -> Duration {
        limit
    }

    /// The parts of the registry that may not be read, with the error codes: those found since the
    /// last call, each part only once.
    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        Vec::new()
    }

    /// The number of calls that timed out and have not returned yet.
    fn hanging(&mut self) -> usize {
        0
    }
}
