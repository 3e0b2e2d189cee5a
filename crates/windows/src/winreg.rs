//! Windows' registry, this machine's and another's.

use crate::explain::{NOT_FOUND, is_lost};
use crate::ffi::{self, Key};
use crate::registry::{LastTitles, Place, Registry, ValueName};
use crate::source::RegistrySource;
use crate::wine::Layout;
use std::sync::{Mutex, PoisonError};

/// Where the names are registered, below `HKEY_LOCAL_MACHINE`.
const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";

/// How many sources read this machine's counters. `HKEY_PERFORMANCE_DATA` is one
/// for the process; who closes it takes the providers from the others as well.
static READERS: Mutex<usize> = Mutex::new(0);

impl RegistrySource {
    /// The counters of this machine.
    #[must_use]
    pub fn local(name: &str) -> Self {
        Self::over(name, Box::new(Local::new()))
    }

    /// The counters of another machine, through its service Remote Registry.
    /// The connection is made with the first request, and anew after it broke.
    #[must_use]
    pub fn remote(name: &str, host: &str) -> Self {
        let host = host.trim_start_matches('\\').to_string();
        Self::over(name, Box::new(Remote { host, connection: None, names: Names::new() }))
    }
}

struct Names {
    last_counter: ValueName,
    last_help: ValueName,
}

impl Names {
    fn new() -> Self {
        Self {
            last_counter: ValueName::new("Last Counter"),
            last_help: ValueName::new("Last Help"),
        }
    }

    fn read(&self, perflib: Option<&Key>) -> LastTitles {
        LastTitles {
            counter: perflib.and_then(|key| key.number(&self.last_counter)),
            help: perflib.and_then(|key| key.number(&self.last_help)),
        }
    }
}

fn language_value(perflib: Option<&Key>, key: &str, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
    match perflib.map(|perflib| perflib.open(key)) {
        Some(Ok(key)) => key.read(name, Layout::Windows, reply),
        Some(Err(code)) => code,
        None => NOT_FOUND,
    }
}

/// This machine's registry.
pub(crate) struct Local {
    layout: Layout,
    /// Kept open: Last Counter is asked for before each sample.
    perflib: Option<Key>,
    names: Names,
}

impl Local {
    pub(crate) fn new() -> Self {
        *READERS.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let perflib = Key::MACHINE.open(PERFLIB).ok();
        Self { layout: Layout::of_system(), perflib, names: Names::new() }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let mut readers = READERS.lock().unwrap_or_else(PoisonError::into_inner);
        *readers = readers.saturating_sub(1);
        if *readers == 0 {
            ffi::close_performance_data();
        }
    }
}

impl Registry for Local {
    fn host(&self) -> Option<&str> {
        None
    }

    fn value(&mut self, place: Place<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        match place {
            Place::Data => Key::DATA.read(name, self.layout, reply),
            Place::Text => Key::TEXT.read(name, Layout::Windows, reply),
            Place::NlsText => Key::NLSTEXT.read(name, Layout::Windows, reply),
            Place::Language(key) => language_value(self.perflib.as_ref(), key, name, reply),
        }
    }

    fn last_titles(&mut self) -> LastTitles {
        self.names.read(self.perflib.as_ref())
    }

    fn language_keys(&mut self) -> Vec<String> {
        self.perflib.as_ref().map(Key::keys).unwrap_or_default()
    }

    fn user_language(&self) -> u16 {
        ffi::user_language()
    }
}

/// Another machine's registry.
struct Remote {
    host: String,
    connection: Option<Connection>,
    names: Names,
}

struct Connection {
    data: Key,
    /// Reading it takes other rights; without it English titles are still there.
    perflib: Option<Key>,
}

impl Remote {
    fn connection(&mut self) -> Result<&Connection, u32> {
        if self.connection.is_none() {
            let data = Key::DATA.connect(&self.host)?;
            let machine = Key::MACHINE.connect(&self.host).ok();
            let perflib = machine.and_then(|machine| machine.open(PERFLIB).ok());
            self.connection = Some(Connection { data, perflib });
        }
        self.connection.as_ref().ok_or(NOT_FOUND)
    }

    fn perflib(&mut self) -> Option<&Key> {
        self.connection().ok()?.perflib.as_ref()
    }
}

impl Registry for Remote {
    fn host(&self) -> Option<&str> {
        Some(&self.host)
    }

    fn value(&mut self, place: Place<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        let code = match (self.connection(), place) {
            (Err(code), _) => code,
            (Ok(connection), Place::Data) => connection.data.read(name, Layout::of_system(), reply),
            // The keys with texts of their own are this machine's only.
            (Ok(_), Place::Text | Place::NlsText) => NOT_FOUND,
            (Ok(connection), Place::Language(key)) => {
                language_value(connection.perflib.as_ref(), key, name, reply)
            }
        };
        if is_lost(code) {
            self.connection = None;
        }
        code
    }

    fn last_titles(&mut self) -> LastTitles {
        // Asked before each sample: a host that is gone is not looked for twice.
        let perflib = self.connection.as_ref().and_then(|connection| connection.perflib.as_ref());
        self.names.read(perflib)
    }

    fn language_keys(&mut self) -> Vec<String> {
        self.perflib().map(Key::keys).unwrap_or_default()
    }

    fn user_language(&self) -> u16 {
        ffi::user_language()
    }
}
