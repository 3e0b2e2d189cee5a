//! Registrations of providers in Windows' registry.

use crate::allot::{self, Allotted};
use crate::explain::NOT_FOUND;
use crate::ffi::{self, Key, Value, load_perf};
use crate::read::{Size, read};
use crate::registry::ValueName;
use crate::wine::{Layout, is_wine};
use perfhive_contract::{AllottedIndexes, Registration};
use perfhive_engine::ProvidedTitles;
use perfhive_format::titles::TitleList;
use perfhive_format::{LanguageId, TitleIndex};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";

/// Why a provider could not be registered, or taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    /// The key or step that failed.
    pub what: String,
    /// What happened, and the way out.
    pub message: String,
}

impl RegisterError {
    fn new(what: impl Into<String>, message: impl Into<String>) -> Self {
        Self { what: what.into(), message: message.into() }
    }

    fn code(what: impl Into<String>, code: u32) -> Self {
        let message = match code {
            5 => "access is denied: run as administrator (Windows error 5)".to_string(),
            code => format!("the registry does not take it (Windows error {code})"),
        };
        Self { what: what.into(), message }
    }
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.message)
    }
}

impl std::error::Error for RegisterError {}

/// The service key of a provider, whose name must be one step.
fn service(name: &str) -> Result<String, RegisterError> {
    let bad = |c: char| c.is_control() || c == '\\' || c == '/';
    if name.trim().is_empty() || name.len() > 200 || name.contains(bad) {
        let message = "is no name of a service: it must not be empty, nor hold \\ or /";
        return Err(RegisterError::new(format!("{name:?}"), message));
    }
    Ok(format!(r"{SERVICES}\{name}"))
}

/// Registers a provider: the values of `Services\NAME\Performance`, then its
/// titles, whose indexes are offsets (0, 2, 4, ...), through `loadperf`, which
/// allots their indexes. What there was of the same name is taken back first;
/// where anything fails, everything is.
///
/// # Errors
/// What could not be written, and why.
pub fn register(
    registration: &Registration,
    titles: &[ProvidedTitles],
) -> Result<AllottedIndexes, RegisterError> {
    if let Some(objection) = allot::objection(titles) {
        return Err(RegisterError::new(&registration.name, objection));
    }
    unregister(&registration.name)?;
    let done = write(registration).and_then(|()| load(&registration.name, titles));
    if done.is_err() {
        // The first failure is the one to tell.
        let _ = unregister(&registration.name);
    }
    done
}

fn write(registration: &Registration) -> Result<(), RegisterError> {
    let service = service(&registration.name)?;
    let what = format!(r"{service}\Performance");
    let failed = |code| RegisterError::code(&what, code);
    let key = Key::MACHINE.create(&what).map_err(failed)?;
    let library = registration.library.to_string_lossy();
    let milliseconds = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let list = registration.objects.iter().map(TitleIndex::to_string).collect::<Vec<_>>();
    let list = list.join(" ");
    let mut values =
        vec![("Library", Value::Path(&library)), ("Collect", Value::Text(&registration.collect))];
    let functions = [("Open", &registration.open), ("Close", &registration.close)];
    values.extend(functions.iter().filter_map(|(name, function)| {
        function.as_deref().map(|function| (*name, Value::Text(function)))
    }));
    if !list.is_empty() {
        values.push(("Object List", Value::Text(&list)));
    }
    if registration.disabled {
        values.push(("Disable Performance Counters", Value::Number(1)));
    }
    for (name, time) in [
        ("Open Timeout", registration.open_timeout),
        ("Collect Timeout", registration.collect_timeout),
    ] {
        if time != Registration::TIMEOUT {
            values.push((name, Value::Number(milliseconds(time))));
        }
    }
    for (name, value) in values {
        key.set(name, value).map_err(failed)?;
    }
    if let Some(linkage) = &registration.linkage {
        let what = format!(r"{service}\Linkage");
        let failed = |code| RegisterError::code(&what, code);
        let key = Key::MACHINE.create(&what).map_err(failed)?;
        key.set("Export", Value::List(linkage)).map_err(failed)?;
    }
    Ok(())
}

/// Has the titles written, by `loadperf` where that does it.
fn load(name: &str, titles: &[ProvidedTitles]) -> Result<AllottedIndexes, RegisterError> {
    let folder = Folder::new(name)?;
    let (ini, header) = allot::files(name, "titles.h", titles);
    let path = folder.write("titles.ini", &ini)?;
    folder.write("titles.h", &header)?;
    let command = format!("lodctr \"{}\"", path.display());
    let code = load_perf(c"LoadPerfCounterTextStringsW", &command);
    // Only what stands in the registry counts: Wine's function says that all
    // went well, and does nothing.
    if let Some(indexes) = allotted_indexes(name) {
        return Ok(indexes);
    }
    if is_wine() {
        return write_titles(name, titles);
    }
    let message = match code {
        None => "this system has no loadperf.dll, so that titles cannot be registered".to_string(),
        Some(0) => "LoadPerfCounterTextStringsW succeeded, but allotted no indexes".to_string(),
        Some(5) => "access is denied: run as administrator (Windows error 5)".to_string(),
        Some(code) => format!(
            "LoadPerfCounterTextStringsW failed (Windows error {code}); where the title tables \
             are damaged, `lodctr /R`, run as administrator, rebuilds them"
        ),
    };
    Err(RegisterError::new(format!("titles of {name}"), message))
}

/// The indexes that were allotted to a provider when it was registered.
#[must_use]
pub fn allotted_indexes(name: &str) -> Option<AllottedIndexes> {
    let key = Key::MACHINE.open(&format!(r"{}\Performance", service(name).ok()?)).ok()?;
    let number = |name: &str| key.number(&ValueName::new(name));
    Some(AllottedIndexes {
        first_counter: number("First Counter")?,
        first_help: number("First Help")?,
    })
}

/// Takes a provider's registration back: its titles and its keys. One that is
/// not registered is no error.
///
/// # Errors
/// What could not be taken away, and why.
pub fn unregister(name: &str) -> Result<(), RegisterError> {
    let service = service(name)?;
    let performance = format!(r"{service}\Performance");
    let failed = |code| RegisterError::code(&performance, code);
    match Key::MACHINE.open(&performance) {
        Ok(key) => drop(key),
        Err(NOT_FOUND) => return Ok(()),
        Err(code) => return Err(failed(code)),
    }
    if allotted_indexes(name).is_some() {
        let code = load_perf(c"UnloadPerfCounterTextStringsW", &format!("unlodctr {name}"));
        if allotted_indexes(name).is_some() {
            if !is_wine() {
                let message = match code {
                    None => "this system has no loadperf.dll".to_string(),
                    Some(5) => "access is denied: run as administrator".to_string(),
                    Some(code) => format!("UnloadPerfCounterTextStringsW answered {code}"),
                };
                return Err(RegisterError::new(format!("titles of {name}"), message));
            }
            remove_titles(name)?;
        }
    }
    Key::MACHINE.remove_tree(&performance).map_err(failed)?;
    let key = Key::MACHINE.open_to_write(&service).map_err(failed)?;
    // Only what registering made: a service may have a linkage of its own.
    if let Ok(linkage) = key.open_to_write("Linkage") {
        linkage.remove("Export").map_err(failed)?;
        drop(linkage);
        key.remove_if_empty("Linkage");
    }
    drop(key);
    if let Ok(services) = Key::MACHINE.open_to_write(SERVICES) {
        services.remove_if_empty(name);
    }
    Ok(())
}

/// The key of a language below `Perflib`. Wine opens `Perflib\\009` as
/// `HKEY_PERFORMANCE_TEXT`, whose few texts are fixed; readers look at all keys
/// of a language, and this one has room.
fn wine_key(language: LanguageId) -> String {
    match language {
        LanguageId::ENGLISH => "0409".to_string(),
        other => other.to_string(),
    }
}

/// Writes titles where Wine has them read: into the keys below `Perflib`. On
/// Windows only its own loader may do this.
fn write_titles(name: &str, titles: &[ProvidedTitles]) -> Result<AllottedIndexes, RegisterError> {
    let failed = |code| RegisterError::code(PERFLIB, code);
    let perflib = Key::MACHINE.create(PERFLIB).map_err(failed)?;
    let last = |name: &str| perflib.number(&ValueName::new(name)).unwrap_or(0);
    let (counter, help) = (last("Last Counter"), last("Last Help"));
    let Some(allotted) = allot::allot(counter, help, titles) else {
        return Err(RegisterError::new(PERFLIB, "there are no indexes left"));
    };
    for titles in titles {
        let key = perflib.create(&wine_key(titles.language)).map_err(failed)?;
        let lists = [
            ("Counter", &titles.names, allotted.first_counter),
            ("Help", &titles.help, allotted.first_help),
        ];
        for (value, list, first) in lists {
            let list = allot::added(&read_list(&key, value), list, first);
            key.set(value, Value::List(&allot::multi_sz(&list))).map_err(failed)?;
        }
    }
    perflib.set("Last Counter", Value::Number(allotted.last_counter)).map_err(failed)?;
    perflib.set("Last Help", Value::Number(allotted.last_help)).map_err(failed)?;
    let what = format!(r"{}\Performance", service(name)?);
    let failed = |code| RegisterError::code(&what, code);
    let key = Key::MACHINE.create(&what).map_err(failed)?;
    let Allotted { first_counter, last_counter, first_help, last_help } = allotted;
    for (value, number) in [
        ("Last Counter", last_counter),
        ("Last Help", last_help),
        ("First Help", first_help),
        ("First Counter", first_counter),
    ] {
        key.set(value, Value::Number(number)).map_err(failed)?;
    }
    Ok(AllottedIndexes { first_counter, first_help })
}

/// Takes the titles of a provider out of the keys below `Perflib`, under Wine.
fn remove_titles(name: &str) -> Result<(), RegisterError> {
    let what = format!(r"{}\Performance", service(name)?);
    let provider = Key::MACHINE.open(&what).map_err(|code| RegisterError::code(&what, code))?;
    let failed = |code| RegisterError::code(PERFLIB, code);
    let perflib = Key::MACHINE.open_to_write(PERFLIB).map_err(failed)?;
    for (value, first, last) in
        [("Counter", "First Counter", "Last Counter"), ("Help", "First Help", "Last Help")]
    {
        let number = |name: &str| provider.number(&ValueName::new(name));
        let (Some(first), Some(last_index)) = (number(first), number(last)) else { continue };
        let mut highest = 0;
        for language in perflib.keys() {
            let Ok(key) = perflib.open_to_write(&language) else { continue };
            let before = read_list(&key, value);
            let list = allot::removed(&before, first, last_index);
            highest = list.titles.iter().map(|title| title.index.0).fold(highest, u32::max);
            if list.titles == before.titles {
                continue;
            }
            match list.titles.is_empty() {
                true => key.remove(value),
                false => key.set(value, Value::List(&allot::multi_sz(&list))),
            }
            .map_err(failed)?;
        }
        // The numbers of the last provider are free again, as `unlodctr` leaves it.
        if perflib.number(&ValueName::new(last)) == Some(last_index) {
            perflib.set(last, Value::Number(highest)).map_err(failed)?;
        }
    }
    Ok(())
}

fn read_list(key: &Key, value: &str) -> TitleList {
    let (name, mut bytes) = (ValueName::new(value), Vec::new());
    let call = |reply: &mut Vec<u8>| key.read(&name, Layout::Windows, reply);
    match read(&mut Size::default(), &mut bytes, None, &mut |_| {}, call) {
        Ok(()) => TitleList::from_multi_sz(&bytes),
        Err(_) => TitleList::default(),
    }
}

/// A folder for the files that `loadperf` reads, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self, RegisterError> {
        let path = std::env::temp_dir().join(format!("perfhive-{}-{name}", std::process::id()));
        let failed = |error: std::io::Error| {
            RegisterError::new(path.display().to_string(), error.to_string())
        };
        std::fs::create_dir_all(&path).map_err(failed)?;
        Ok(Self(path))
    }

    /// Writes a file as UTF-16 with a byte order mark, which `lodctr` takes.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, RegisterError> {
        let path = self.0.join(name);
        let units = [0xfeff].into_iter().chain(text.encode_utf16());
        let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        std::fs::write(&path, bytes)
            .map_err(|error| RegisterError::new(path.display().to_string(), error.to_string()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a warning of a provider to the event log (Application), under the
/// source `Perfhive`; for `report` of a provider library.
pub fn report_event(provider: &str, message: &str) {
    ffi::report_event("Perfhive", &format!("{provider}: {message}"));
}
