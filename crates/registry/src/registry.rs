//! The trait [`PerfRegistry`]: the access to a machine's registry that reading performance data
//! needs.

use crate::codes::{NOT_FOUND, SUCCESS, is_lost};
use crate::service::Service;
use std::time::Duration;

/// The name of a value, as UTF-16 with a NUL at the end, which Windows' calls need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueName(Vec<u16>);

impl ValueName {
    /// Makes this name a copy of `other`, without a new allocation if the name fits.
    pub(crate) fn assign(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    /// Makes a name of a text. A NUL inside, which would end the name early, is left out.
    pub fn new(name: &str) -> Self {
        Self(name.encode_utf16().filter(|unit| *unit != 0).chain([0]).collect())
    }

    /// A pointer to the units of the name, which end with a NUL. It is valid as long as this name
    /// is not changed or dropped.
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

/// The key from which a value is read.
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

/// The highest title indexes of a registry and the time at which they were written. At least one of
/// the three changes with each registration of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastTitles {
    /// `Perflib\Last Counter`; `None` if it cannot be read.
    pub counter: Option<u32>,
    /// `Perflib\Last Help`; `None` if it cannot be read.
    pub help: Option<u32>,
    /// The time at which a value of `Perflib` was last written, as a FILETIME; `None` if it is not
    /// known.
    ///
    /// Indexes are used again: after a provider was unregistered and registered with other names,
    /// both numbers may be as they were. Every registration writes both numbers, and writing a
    /// value changes the key's time even if the value stays the same (seen under Wine). Two things
    /// are assumed and were not seen: that Windows' `loadperf` writes the numbers after the names,
    /// and that no program writes to `Perflib` all the time. Disabling a provider, and counting its
    /// failures, writes below `Services` and not here.
    pub written: Option<u64>,
}

/// A part of the registry beside the counters. If the part cannot be read, less is known about the
/// counters, but the counters can still be read.
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

/// The parts of the registry that could not be read, so that each is reported only once.
#[derive(Debug, Default)]
pub struct Unreadable {
    known: Vec<(RegistryPart, u32)>,
    told: usize,
}

impl Unreadable {
    /// Notes that a part could not be read, with the error code. A part is noted once. A part that
    /// does not exist is not noted, nor is a part that could not be read because the connection is
    /// lost.
    pub fn note(&mut self, key: RegistryPart, code: u32) {
        let is_known = self.known.iter().any(|(known, _)| *known == key);
        if code != NOT_FOUND && !is_lost(code) && !is_known {
            self.known.push((key, code));
        }
    }

    /// The value of a result of reading a part of the registry; `None` for an error, which is passed
    /// to [`note`](Self::note).
    pub fn read<T>(&mut self, key: RegistryPart, result: Result<T, u32>) -> Option<T> {
        result.map_err(|code| self.note(key, code)).ok()
    }

    /// The parts that were noted since the last call of this method, with their error codes.
    pub fn news(&mut self) -> Vec<(RegistryPart, u32)> {
        let news = self.known.get(self.told..).unwrap_or_default().to_vec();
        self.told = self.known.len();
        news
    }
}

/// The registry of a machine, as far as reading counters needs it. Error codes are those of Windows,
/// and [`NOT_REACHED`](crate::codes::NOT_REACHED). An implementation for another way of access has to
/// read values by name and to list keys.
pub trait PerfRegistry: Send {
    /// The name of the machine that the registry is of, if it is another machine; `None` for this
    /// machine.
    fn host(&self) -> Option<&str>;

    /// Connects to another machine, if it is not connected yet, with a timeout of its own. Returns
    /// the error code: `ERROR_SUCCESS` for success, and always for this machine.
    fn connect(&mut self) -> u32 {
        SUCCESS
    }

    /// Reads a value into `reply` by one call of `RegQueryValueExW`. The capacity of `reply` is the
    /// size of the buffer. Returns the error code.
    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32;

    /// The numbers `Last Counter` and `Last Help`, and the time at which they were written.
    /// Allocates nothing.
    fn last_titles(&mut self) -> LastTitles;

    /// The names of the keys below `Perflib`, one for each language; empty if they cannot be read.
    fn language_keys(&mut self) -> Vec<String>;

    /// The registered providers; empty if they cannot be read. The method is called seldom, so it
    /// may be slow.
    fn services(&mut self) -> Vec<Service>;

    /// A number that changes when the registration of a service changes: library, functions,
    /// objects, indexes, or whether the provider is disabled. `None` if there is no registration, or
    /// if it cannot be read. Collects nothing.
    fn registration(&mut self, service: &str) -> Option<u64>;

    /// The user's language: a Windows language identifier.
    fn user_language(&self) -> u16;

    /// Whether the system asks every library for all of its objects, whatever the `Object List` of
    /// the registration says.
    fn asks_everybody(&self) -> bool {
        false
    }

    /// Sets the timeout of each call to `limit`, and returns the timeout before. A registry with
    /// calls that have no timeout returns `limit`.
    fn set_limit(&mut self, limit: Duration) -> Duration {
        limit
    }

    /// The parts of the registry that could not be read since the last call of this method, with
    /// their error codes. Each part is returned only once.
    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        Vec::new()
    }

    /// The number of calls that timed out and have not returned yet.
    fn hanging(&mut self) -> usize {
        0
    }
}
