//! The calls that reading takes, as a trait: Windows' registry, or a test's.

use crate::explain::{NOT_FOUND, SUCCESS, is_lost};
use crate::parts::Service;
use std::time::Duration;

/// A value's name: UTF-16 with a NUL at its end, as the calls want it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueName(Vec<u16>);

impl ValueName {
    /// Makes a name; a NUL inside would end it early, and is left out.
    pub(crate) fn new(name: &str) -> Self {
        Self(name.encode_utf16().filter(|unit| *unit != 0).chain([0]).collect())
    }

    /// The units with the NUL at the end.
    #[cfg(windows)]
    pub(crate) fn as_ptr(&self) -> *const u16 {
        self.0.as_ptr()
    }

    /// The name as text.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        String::from_utf16_lossy(self.0.strip_suffix(&[0]).unwrap_or(&self.0))
    }
}

/// Where a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// `HKEY_PERFORMANCE_DATA`: data, and the titles of any language.
    Data,
    /// `HKEY_PERFORMANCE_TEXT`: titles in English.
    Text,
    /// `HKEY_PERFORMANCE_NLSTEXT`: titles in the user's language.
    NlsText,
    /// The key `Perflib\LLL`: titles of one language.
    Language(&'a str),
}

/// What was counted, and when, as a provider was last registered or taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastTitles {
    /// `Perflib\Last Counter`.
    pub(crate) counter: Option<u32>,
    /// `Perflib\Last Help`.
    pub(crate) help: Option<u32>,
    /// When a value of `Perflib` was last written: a FILETIME.
    ///
    /// Indexes are used again: taking a provider away and registering it with other
    /// names ends with the numbers it began with, and between two samples nobody sees
    /// those in between. What is known: whoever registers writes both numbers, and a key's
    /// time changes with each value that is written, be it the same as before; Wine's does,
    /// and perfhive's own registering there writes the numbers behind the names. What is
    /// assumed: that Windows' `loadperf` also writes them last (the names themselves are in
    /// files, or in keys that have times of their own), and that nobody writes to `Perflib`
    /// all the time. Providers are disabled, and fail, below `Services`.
    pub(crate) written: Option<u64>,
}

/// What is read of the registry beside the counters. Without it there is less to know,
/// and the counters are there all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// All of another machine's registry.
    Machine,
    /// Where providers are registered.
    Services,
    /// Where the names are.
    Perflib,
}

/// What may not be read, and whether that was told.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    known: Vec<(Beside, u32)>,
    told: usize,
}

impl Unreadable {
    /// Takes note of what could not be read, but for what is not there.
    pub(crate) fn note(&mut self, key: Beside, code: u32) {
        let is_known = self.known.iter().any(|(known, _)| *known == key);
        if code != NOT_FOUND && !is_lost(code) && !is_known {
            self.known.push((key, code));
        }
    }

    /// What was read of a key, if it was.
    pub(crate) fn read<T>(&mut self, key: Beside, result: Result<T, u32>) -> Option<T> {
        result.map_err(|code| self.note(key, code)).ok()
    }

    /// What was noted since the last call.
    pub(crate) fn news(&mut self) -> Vec<(Beside, u32)> {
        let news = self.known.get(self.told..).unwrap_or_default().to_vec();
        self.told = self.known.len();
        news
    }
}

/// The registry of a machine, as far as counters are concerned. Error codes
/// are Windows'.
pub(crate) trait Registry: Send {
    /// The other machine's name, if it is one.
    fn host(&self) -> Option<&str>;

    /// Makes the connection to another machine, where there is none; in a time of its
    /// own. Answers the error code.
    fn connect(&mut self) -> u32 {
        SUCCESS
    }

    /// Reads a value into `reply`, whose capacity is the buffer: one
    /// `RegQueryValueExW`.
    fn value(&mut self, place: Place<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32;

    /// `Last Counter` and `Last Help`, and when they were written; takes no memory.
    fn last_titles(&mut self) -> LastTitles;

    /// The names of the keys below `Perflib`.
    fn language_keys(&mut self) -> Vec<String>;

    /// Who is registered; read only where requests fail.
    fn services(&mut self) -> Vec<Service>;

    /// A number that changes with what the registration of a service says of who is
    /// called for what; `None` where there is none. Collects nothing.
    fn registration(&mut self, service: &str) -> Option<u64>;

    /// The user's language: a Windows language identifier.
    fn user_language(&self) -> u16;

    /// Whether every library is asked for everything, whatever its `Object List` says.
    fn asks_everybody(&self) -> bool {
        false
    }

    /// Limits how long a call may take, where that is possible; answers the limit
    /// before.
    fn set_limit(&mut self, limit: Duration) -> Duration {
        limit
    }

    /// What of the registry may not be read, each once: what was found since the last call.
    fn unreadable(&mut self) -> Vec<(Beside, u32)> {
        Vec::new()
    }

    /// How many calls have been given up and have not come back yet.
    fn hanging(&mut self) -> usize {
        0
    }
}
