//! The registries of this machine and of other machines, as [`PerfRegistry`].

use crate::ffi::{self, Key};
use crate::readers::Readers;
use crate::wine::layout::Layout;
use perfhive_format::TitleIndex;
use perfhive_registry::codes::NOT_FOUND;
use perfhive_registry::{
    Dialer, LastTitles, PerfRegistry, RegistryKey, RegistryPart, RegistrySource, Remote, Service,
    Timeouts, Unreadable, ValueName,
};
use std::sync::Arc;
use std::time::Duration;

/// The key below `HKEY_LOCAL_MACHINE` in which providers are registered.
const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
/// The longest time that connecting to another machine may take.
const CONNECTION: Duration = Duration::from_secs(10);
/// The key of title lists below `HKEY_LOCAL_MACHINE`.
const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";

/// The readers of `HKEY_PERFORMANCE_DATA` in this process. The process has the key only once:
/// closing it unloads the providers for all sources.
static READERS: Readers = Readers::new(|| {
    // A failure needs no handling.
    let _code = ffi::close_performance_data();
    #[cfg(test)]
    tests::closed(_code);
});

/// A source of this machine's counters. `name` is the name of the source in messages.
#[must_use]
pub fn local_source(name: &str) -> RegistrySource {
    RegistrySource::over(name, Box::new(Local::new()))
}

/// A source of another machine's counters, through its service Remote Registry. The source connects
/// at the first request, with a timeout of ten seconds, and connects again after a broken
/// connection.
#[must_use]
pub fn remote_source(name: &str, host: &str) -> RegistrySource {
    let dialer = dialer(host, CONNECTION);
    RegistrySource::over(name, Box::new(Remote::new(dialer, ffi::user_language())))
}

/// A source of this machine's counters with calls that have timeouts. After a timeout, providers
/// are asked one by one, and those that hang are left out.
#[must_use]
pub fn local_with_timeouts(name: &str, timeouts: Timeouts) -> RegistrySource {
    RegistrySource::with_timeouts(name, timeouts, Box::new(|| Box::new(Local::new())))
}

/// A source of another machine's counters, as [`remote_source`], with calls that have timeouts, as
/// [`local_with_timeouts`]. Connecting has a timeout of its own, which is the timeout of a call but
/// at most ten seconds: an unreachable machine is reported as unreachable, and no provider is
/// suspected.
#[must_use]
pub fn remote_with_timeouts(name: &str, host: &str, timeouts: Timeouts) -> RegistrySource {
    let dialer = dialer(host, timeouts.call.min(CONNECTION));
    let make = move || -> Box<dyn PerfRegistry> {
        Box::new(Remote::new(Arc::clone(&dialer), ffi::user_language()))
    };
    RegistrySource::with_timeouts(name, timeouts, Box::new(make))
}

/// The name of the value that marks a registration as made by perfhive. Other registrations are
/// neither replaced nor removed.
pub(crate) const MARK: &str = "Registered By";
/// The text of the value [`MARK`].
pub(crate) const MARKED: &str = "perfhive";

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
        let mut last = LastTitles::default();
        last.counter = perflib.and_then(|key| key.number(&self.last_counter));
        last.help = perflib.and_then(|key| key.number(&self.last_help));
        last.written = perflib.and_then(Key::written);
        last
    }
}

fn language_value(perflib: Option<&Key>, key: &str, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
    match perflib.map(|perflib| perflib.open(key)) {
        Some(Ok(key)) => key.read(name, Layout::Windows, reply),
        Some(Err(code)) => code,
        None => NOT_FOUND,
    }
}

/// The names of the keys below `key`. If the list ends early with an error, the error is noted in
/// `unreadable` for the part `which`, and the names so far are returned.
fn keys(key: &Key, which: RegistryPart, unreadable: &mut Unreadable) -> Vec<String> {
    let (names, ended) = key.keys();
    if let Some(code) = ended {
        unreadable.note(which, code);
    }
    names
}

/// The providers that are registered below the key of services of a machine; `machine` is its
/// `HKEY_LOCAL_MACHINE`. Most services are no providers. Empty if the key cannot be read, which is
/// noted in `unreadable`.
fn services(machine: &Key, unreadable: &mut Unreadable) -> Vec<Service> {
    let Some(services) = unreadable.read(RegistryPart::Services, machine.open(SERVICES)) else {
        return Vec::new();
    };
    let read = |name: String| {
        let key = services.open(&format!(r"{name}\Performance")).ok()?;
        let library = key.text("Library")?;
        let number = |name: &str| key.number(&ValueName::new(name));
        let list = key.text("Object List").unwrap_or_default();
        let objects = list.split_whitespace().filter_map(|index| index.parse().ok());
        let disabled = number("Disable Performance Counters").is_some_and(|off| off != 0);
        let mut service = Service::default();
        service.library = library;
        service.objects = objects.map(TitleIndex).collect();
        service.first = number("First Counter");
        service.last = number("Last Counter");
        service.disabled = disabled;
        service.ours = key.text(MARK).as_deref() == Some(MARKED);
        service.name = name;
        Some(service)
    };
    keys(&services, RegistryPart::Services, unreadable).into_iter().filter_map(read).collect()
}

/// A hash (FNV-1a) of a service's registration, to notice changes; `None` if the service has no
/// registration, or if it cannot be read. The key's time of writing would not do, since Windows writes
/// to the key whenever a provider fails.
fn registration(machine: &Key, service: &str) -> Option<u64> {
    let key = machine.open(&format!(r"{SERVICES}\{service}\Performance")).ok()?;
    let texts = ["Library", "Open", "Collect", "Close", "Object List"].map(|name| key.text(name));
    let numbers = ["First Counter", "Last Counter", "Disable Performance Counters"]
        .map(|name| key.number(&ValueName::new(name)));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for text in &texts {
        add(text.as_deref().unwrap_or_default().as_bytes());
        add(&[u8::from(text.is_some())]);
    }
    for number in &numbers {
        add(&number.unwrap_or_default().to_le_bytes());
        add(&[u8::from(number.is_some())]);
    }
    Some(hash)
}

/// This machine's registry.
pub(crate) struct Local {
    layout: Layout,
    /// The key `Perflib`, which is kept open: Last Counter is read before each sample. `None` if it
    /// cannot be read.
    perflib: Option<Key>,
    names: Names,
    unreadable: Unreadable,
}

impl Local {
    pub(crate) fn new() -> Self {
        READERS.enter();
        let mut unreadable = Unreadable::default();
        let perflib = unreadable.read(RegistryPart::Perflib, Key::MACHINE.open(PERFLIB));
        Self { layout: Layout::of_system(), perflib, names: Names::new(), unreadable }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        READERS.leave();
    }
}

impl PerfRegistry for Local {
    fn host(&self) -> Option<&str> {
        None
    }

    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        match place {
            RegistryKey::Data => Key::DATA.read(name, self.layout, reply),
            RegistryKey::Text => Key::TEXT.read(name, Layout::Windows, reply),
            RegistryKey::NlsText => Key::NLSTEXT.read(name, Layout::Windows, reply),
            RegistryKey::Language(key) => language_value(self.perflib.as_ref(), key, name, reply),
        }
    }

    fn last_titles(&mut self) -> LastTitles {
        self.names.read(self.perflib.as_ref())
    }

    fn language_keys(&mut self) -> Vec<String> {
        let perflib = self.perflib.as_ref();
        perflib.map_or(Vec::new(), |key| keys(key, RegistryPart::Perflib, &mut self.unreadable))
    }

    fn services(&mut self) -> Vec<Service> {
        services(&Key::MACHINE, &mut self.unreadable)
    }

    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        self.unreadable.news()
    }

    fn registration(&mut self, service: &str) -> Option<u64> {
        registration(&Key::MACHINE, service)
    }

    fn user_language(&self) -> u16 {
        ffi::user_language()
    }

    fn asks_everybody(&self) -> bool {
        self.layout != Layout::Windows
    }
}

/// Another machine's registry over one connection.
struct Far {
    data: Key,
    /// `HKEY_LOCAL_MACHINE` of the other machine; `None` if it cannot be read, which needs other
    /// rights than reading the counters. Without it only the English titles can be read.
    machine: Option<Key>,
    /// The key `Perflib` below `machine`; `None` if it cannot be read.
    perflib: Option<Key>,
    names: Names,
    unreadable: Unreadable,
}

impl Far {
    fn connect(host: &str) -> Result<Self, u32> {
        let data = Key::DATA.connect(host)?;
        let mut unreadable = Unreadable::default();
        let machine = unreadable.read(RegistryPart::Machine, Key::MACHINE.connect(host));
        let perflib = machine.as_ref().map(|machine| machine.open(PERFLIB));
        let perflib = perflib.and_then(|opened| unreadable.read(RegistryPart::Perflib, opened));
        Ok(Self { data, machine, perflib, names: Names::new(), unreadable })
    }
}

/// A dialer that connects to another machine within the timeout `limit`.
fn dialer(host: &str, limit: Duration) -> Arc<Dialer<Far>> {
    Arc::new(Dialer::new(host.trim_start_matches('\\'), limit, Arc::new(Far::connect)))
}

impl PerfRegistry for Far {
    fn host(&self) -> Option<&str> {
        None
    }

    fn value(&mut self, place: RegistryKey<'_>, name: &ValueName, reply: &mut Vec<u8>) -> u32 {
        match place {
            RegistryKey::Data => self.data.read(name, Layout::of_system(), reply),
            // Windows has these two keys for the local machine only.
            RegistryKey::Text | RegistryKey::NlsText => NOT_FOUND,
            RegistryKey::Language(key) => language_value(self.perflib.as_ref(), key, name, reply),
        }
    }

    fn last_titles(&mut self) -> LastTitles {
        self.names.read(self.perflib.as_ref())
    }

    fn language_keys(&mut self) -> Vec<String> {
        let perflib = self.perflib.as_ref();
        perflib.map_or(Vec::new(), |key| keys(key, RegistryPart::Perflib, &mut self.unreadable))
    }

    fn services(&mut self) -> Vec<Service> {
        let machine = self.machine.as_ref();
        machine.map_or(Vec::new(), |machine| services(machine, &mut self.unreadable))
    }

    fn unreadable(&mut self) -> Vec<(RegistryPart, u32)> {
        self.unreadable.news()
    }

    fn registration(&mut self, service: &str) -> Option<u64> {
        self.machine.as_ref().and_then(|machine| registration(machine, service))
    }

    fn user_language(&self) -> u16 {
        ffi::user_language()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::open_keys;
    use perfhive_engine::{Ask, ObjectQuery, Snapshot, Source as _};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Mutex, PoisonError};

    /// Serializes the tests, since the counts are those of the process.
    static ALONE: Mutex<()> = Mutex::new(());

    /// How many times the key was closed.
    static CLOSED: AtomicU32 = AtomicU32::new(0);

    pub(super) fn closed(code: u32) {
        assert_eq!(code, 0);
        CLOSED.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn the_key_is_closed_with_the_last_source_and_not_before() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut snapshot = Snapshot::new();
        let mut sample = |source: &mut RegistrySource| {
            source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
        };
        for round in 1..=2 {
            let before = CLOSED.load(Ordering::Relaxed);
            let [mut one, mut other] = ["one:", "other:"].map(local_source);
            sample(&mut one);
            sample(&mut other);
            sample(&mut one);
            drop(one);
            sample(&mut other);
            assert_eq!(CLOSED.load(Ordering::Relaxed), before, "round {round}");
            drop(other);
            assert_eq!(CLOSED.load(Ordering::Relaxed), before + 1, "round {round}");
        }
    }

    #[test]
    fn keys_stay_open_between_samples_and_are_closed_on_drop() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let request = Ask::new(ObjectQuery::Global);
        let mut snapshot = Snapshot::new();
        let mut local = local_source("local:");
        local.collect(&request, &mut snapshot).unwrap();
        let own = snapshot.machine().unwrap();
        drop(local);
        type Make<'a> = &'a dyn Fn() -> RegistrySource;
        let local = || local_source("local:");
        let remote = || remote_source("registry://own", &own);
        for make in [&local as Make<'_>, &remote] {
            let before = open_keys::count();
            let mut source = make();
            source.collect(&request, &mut snapshot).unwrap();
            source.catalogue(&Ask::everything()).unwrap();
            let open = open_keys::count();
            assert!(open > before, "{open} {before}");
            for _ in 0..5 {
                source.collect(&request, &mut snapshot).unwrap();
                source.catalogue(&Ask::nothing()).unwrap();
                // Reading title lists opens further keys and closes them.
                let _ = source.titles(perfhive_format::LanguageId::ENGLISH, &Ask::nothing());
                assert_eq!(open_keys::count(), open);
            }
            drop(source);
            assert_eq!(open_keys::count(), before);
        }
    }
}
