//! Registrations of providers in Windows' registry.

use crate::allot::{self, Allotted};
use crate::explain::NOT_FOUND;
use crate::ffi::{self, Key, Value, load_perf};
use crate::read::{Size, read};
use crate::registry::{Registry as _, ValueName};
use crate::titles;
use crate::wine::{Layout, is_wine};
use crate::winreg::Local;
use perfhive_contract::{
    AllottedIndexes, Change, Definition, Functions, RegisterError, RegisterErrorKind,
    RegisterFault, Registrar, Registration, Registrations,
};
use perfhive_engine::{ProvidedTitles, TestLevel};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";
/// The value by which a registration is known as one of ours: those of others
/// are neither replaced nor taken back.
pub(crate) const MARK: &str = "Registered By";
pub(crate) const MARKED: &str = "perfhive";

/// The registry of this machine: `Services\NAME\Performance` for the functions,
/// and `loadperf` for names and help texts. Writing takes an administrator.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct WindowsRegistrar;

impl WindowsRegistrar {
    /// The registry of this machine.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

fn invalid(message: impl Into<String>) -> RegisterError {
    RegisterError::new(RegisterErrorKind::Invalid, message)
}

/// What an error code means where something is written.
fn refused(what: &str, code: u32) -> RegisterError {
    match code {
        5 => RegisterError::new(
            RegisterErrorKind::Denied,
            format!("{what}: access is denied: run as administrator (Windows error 5)"),
        ),
        code => RegisterError::new(
            RegisterErrorKind::Io,
            format!("{what}: the registry does not take it (Windows error {code})"),
        ),
    }
}

/// The service key of a provider, whose name must be one step.
fn service(name: &str) -> Result<String, RegisterError> {
    let bad = |c: char| c.is_control() || c == '\\' || c == '/' || c == '"';
    if name.trim().is_empty() || name.len() > 200 || name.contains(bad) {
        let message = "is no name of a service: it must not be empty, nor hold \\, / or \"";
        return Err(invalid(format!("{name:?} {message}")));
    }
    Ok(format!(r"{SERVICES}\{name}"))
}

impl Registrar for WindowsRegistrar {
    fn place(&self) -> String {
        format!(r"HKEY_LOCAL_MACHINE\{SERVICES}")
    }

    fn register(
        &mut self,
        definition: &Definition,
        functions: &Functions,
    ) -> Result<(Registration, Change), RegisterError> {
        let (mut made, titles, before) = prepare(definition, functions)?;
        let Some(before) = before else {
            let made = add(made, &definition.objects, &titles)?;
            return Ok((made, Change::Added));
        };
        let old = titles_of(&before);
        if same(&old, &titles) {
            made.objects = objects(&definition.objects, before.first_counter);
            if made == before {
                return Ok((made, Change::Unchanged));
            }
            if let Err(error) = write(&made) {
                // What there was is written back; the first failure is told.
                let _ = write(&before);
                return Err(error);
            }
            return Ok((made, Change::Updated));
        }
        take_back(&before.name)?;
        match add(made, &definition.objects, &titles) {
            Ok(made) => Ok((made, Change::Updated)),
            Err(error) => {
                let offsets = before.objects.iter();
                let offsets = offsets.map(|object| object.0.saturating_sub(before.first_counter));
                let offsets: Vec<u32> = offsets.collect();
                let _ = add(before, &offsets, &old);
                Err(error)
            }
        }
    }

    fn check(&self, definition: &Definition, functions: &Functions) -> Result<(), RegisterError> {
        if functions.library.is_some() || own(&definition.name)?.is_some() {
            return prepare(definition, functions).map(drop);
        }
        // Any library, to test the rest.
        let functions = Functions { library: Some(r"C:\library".into()), ..functions.clone() };
        prepare(definition, &functions).map(drop)
    }

    fn unregister(&mut self, name: &str) -> Result<Registration, RegisterError> {
        let Some(before) = own(name)? else {
            let message = format!("{name} is not registered in {}", self.place());
            return Err(RegisterError::new(RegisterErrorKind::NotRegistered, message));
        };
        take_back(name)?;
        Ok(before)
    }

    fn registrations(&self) -> Result<(Registrations, Vec<RegisterFault>), RegisterError> {
        let services = Key::MACHINE.open(SERVICES).map_err(|code| refused(SERVICES, code))?;
        let mut all = Registrations::none();
        for name in services.keys() {
            // Most services have no counters.
            if let Some((registration, _)) = registered(&name) {
                all.providers.push(registration);
            }
        }
        all.providers.sort_by(|a, b| a.name.cmp(&b.name));
        let mut faults = Vec::new();
        let mut registry = Local::new();
        let last = registry.last_titles();
        for language in titles::languages(&mut registry) {
            match titles::raw(&mut registry, &language, last) {
                Ok((names, help)) => {
                    let (names, help) = (merged(names), merged(help));
                    all.titles.push(ProvidedTitles { language: language.id, names, help });
                }
                Err(error) => {
                    let message = format!("the titles cannot be read: {error:?}");
                    faults.push(RegisterFault::new(format!("language {}", language.id), message));
                }
            }
        }
        let perflib = Key::MACHINE.open(PERFLIB).ok();
        let level = perflib.and_then(|key| key.number(&ValueName::new("ExtCounterTestLevel")));
        all.test_level = match level {
            Some(2) => TestLevel::Basic,
            Some(3) => TestLevel::None,
            _ => TestLevel::All,
        };
        Ok((all, faults))
    }
}

/// What is to be registered, with its titles, and what is registered before; all
/// that can be tested without writing.
fn prepare(
    definition: &Definition,
    functions: &Functions,
) -> Result<(Registration, Vec<ProvidedTitles>, Option<Registration>), RegisterError> {
    let before = own(&definition.name)?;
    let mut made = functions.registration(&definition.name, before.as_ref())?;
    // Whatever Windows loads runs in the reader's process.
    made.in_process = false;
    (made.memory_limit, made.processes) = (None, false);
    let titles: Vec<ProvidedTitles> = definition.titles_at(0, 0).collect();
    if let Some(objection) = allot::objection(&titles) {
        return Err(invalid(format!("{}: {objection}", definition.name)));
    }
    if before.is_none() {
        has_no_rest(&definition.name)?;
    }
    Ok((made, titles, before))
}

/// One list of several, of whose texts for one index the first counts.
fn merged(lists: Vec<TitleList>) -> TitleList {
    let mut all = BTreeMap::new();
    for title in lists.into_iter().flat_map(|list| list.titles) {
        all.entry(title.index).or_insert(title.text);
    }
    let titles = all.into_iter().map(|(index, text)| Title { index, text }).collect();
    TitleList { titles, faults: Vec::new() }
}

fn objects(offsets: &[u32], first: u32) -> Vec<TitleIndex> {
    offsets.iter().filter_map(|offset| first.checked_add(*offset)).map(TitleIndex).collect()
}

/// What is registered of a provider, and whether it is one of ours.
fn registered(name: &str) -> Option<(Registration, bool)> {
    let service = Key::MACHINE.open(&service(name).ok()?).ok()?;
    let key = service.open("Performance").ok()?;
    let text = |name: &str| key.text(name).filter(|text| !text.is_empty());
    let number = |name: &str| key.number(&ValueName::new(name));
    let time = |name: &str| number(name).map(|ms| Duration::from_millis(ms.into()));
    let library = PathBuf::from(text("Library")?);
    let mut one = Registration::new(name, library, &text("Collect").unwrap_or_default());
    (one.open, one.close) = (text("Open"), text("Close"));
    one.linkage = registered_linkage(name);
    let list = text("Object List").unwrap_or_default();
    one.objects = list.split_whitespace().filter_map(|n| n.parse().ok()).map(TitleIndex).collect();
    one.first_counter = number("First Counter").unwrap_or(0);
    one.last_counter = number("Last Counter").unwrap_or(0);
    one.first_help = number("First Help").unwrap_or(0);
    one.last_help = number("Last Help").unwrap_or(0);
    one.disabled = number("Disable Performance Counters").is_some_and(|number| number != 0);
    one.open_timeout = time("Open Timeout").unwrap_or(Registration::TIMEOUT);
    one.collect_timeout = time("Collect Timeout").unwrap_or(Registration::TIMEOUT);
    let ours = text(MARK).as_deref() == Some(MARKED);
    Some((one, ours))
}

/// What is registered of a provider of ours; `None` if there is none.
fn own(name: &str) -> Result<Option<Registration>, RegisterError> {
    let key = format!(r"{}\Performance", service(name)?);
    match registered(name) {
        Some((registration, true)) => Ok(Some(registration)),
        Some((_, false)) => Err(RegisterError::new(
            RegisterErrorKind::Taken,
            format!(
                "{name} was registered by another program ({key}): take another name, or, if it \
                 is to go, `unlodctr {name}`"
            ),
        )),
        None => Ok(None),
    }
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

/// The linkage that a provider was registered with, its strings apart by NUL.
#[must_use]
pub fn registered_linkage(name: &str) -> Option<String> {
    let service = Key::MACHINE.open(&service(name).ok()?).ok()?;
    service.open("Linkage").ok()?.text("Export").filter(|linkage| !linkage.is_empty())
}

/// The titles of a provider, under offsets.
fn titles_of(registration: &Registration) -> Vec<ProvidedTitles> {
    let part = |lists: Vec<TitleList>, first: u32, last: u32| {
        let mut list = merged(lists);
        list.titles.retain(|title| (first..=last).contains(&title.index.0));
        list.titles.iter_mut().for_each(|title| title.index.0 -= first);
        list
    };
    let mut registry = Local::new();
    let last = registry.last_titles();
    let mut all = Vec::new();
    for language in titles::languages(&mut registry) {
        let Ok((names, help)) = titles::raw(&mut registry, &language, last) else { continue };
        let names = part(names, registration.first_counter, registration.last_counter);
        let help = part(help, registration.first_help, registration.last_help);
        if !names.titles.is_empty() || !help.titles.is_empty() {
            all.push(ProvidedTitles { language: language.id, names, help });
        }
    }
    all
}

/// Whether the titles that are registered are these.
fn same(old: &[ProvidedTitles], new: &[ProvidedTitles]) -> bool {
    let texts = |list: &TitleList| -> BTreeMap<u32, String> {
        let texts = list.titles.iter().filter(|title| !title.text.trim().is_empty());
        texts.map(|title| (title.index.0, title.text.clone())).collect()
    };
    new.iter().all(|new| {
        let old = old.iter().find(|old| old.language == new.language);
        old.is_some_and(|old| {
            texts(&old.names) == texts(&new.names) && texts(&old.help) == texts(&new.help)
        })
    })
}

/// Whether nothing is left of a registration that is not there any more.
fn has_no_rest(name: &str) -> Result<(), RegisterError> {
    if allotted_indexes(name).is_none() {
        return Ok(());
    }
    // Loading the names again would leave these, and say that all is well.
    let key = service(name)?;
    let message = format!(
        "{key}\\Performance has indexes of a registration that is not whole: `unlodctr {name}` \
         takes them back; or take another name"
    );
    Err(RegisterError::new(RegisterErrorKind::Taken, message))
}

/// Registers what is not registered; where anything fails, nothing is left.
fn add(
    mut made: Registration,
    offsets: &[u32],
    titles: &[ProvidedTitles],
) -> Result<Registration, RegisterError> {
    has_no_rest(&made.name)?;
    made.objects.clear();
    let done = write(&made).and_then(|()| load(&made.name, titles)).and_then(|first| {
        made.objects = objects(offsets, first.first_counter);
        write(&made)
    });
    if let Err(error) = done {
        // The first failure is the one to tell.
        let _ = take_back(&made.name);
        return Err(error);
    }
    Ok(registered(&made.name).map_or(made, |(registration, _)| registration))
}

/// Writes the values of a registration; its indexes are `loadperf`'s.
fn write(registration: &Registration) -> Result<(), RegisterError> {
    let service = service(&registration.name)?;
    let what = format!(r"{service}\Performance");
    let failed = |code| refused(&what, code);
    let key = Key::MACHINE.create(&what).map_err(failed)?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let milliseconds = |time: Duration| match time {
        Registration::TIMEOUT => 0,
        time => u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1),
    };
    let library = registration.library.to_string_lossy();
    let (open, close) = (text(&registration.open), text(&registration.close));
    let objects: Vec<_> = registration.objects.iter().map(TitleIndex::to_string).collect();
    let objects = objects.join(" ");
    // An empty text, and a number that is 0, stand for no value at all.
    for (name, value) in [
        (MARK, Value::Text(MARKED)),
        ("Library", Value::Path(&library)),
        ("Open", Value::Text(&open)),
        ("Collect", Value::Text(&registration.collect)),
        ("Close", Value::Text(&close)),
        ("Object List", Value::Text(&objects)),
        ("Disable Performance Counters", Value::Number(registration.disabled.into())),
        ("Open Timeout", Value::Number(milliseconds(registration.open_timeout))),
        ("Collect Timeout", Value::Number(milliseconds(registration.collect_timeout))),
    ] {
        match value {
            Value::Text("") | Value::Number(0) => key.remove(name),
            value => key.set(name, value),
        }
        .map_err(failed)?;
    }
    let what = format!(r"{service}\Linkage");
    let failed = |code| refused(&what, code);
    match &registration.linkage {
        Some(linkage) => {
            let key = Key::MACHINE.create(&what).map_err(failed)?;
            key.set("Export", Value::List(linkage)).map_err(failed)
        }
        None => match Key::MACHINE.open_to_write(&what) {
            Ok(key) => key.remove("Export").map_err(failed),
            Err(NOT_FOUND) => Ok(()),
            Err(code) => Err(failed(code)),
        },
    }
}

/// Has the titles written, by `loadperf` where that does it.
fn load(name: &str, titles: &[ProvidedTitles]) -> Result<AllottedIndexes, RegisterError> {
    let folder = Folder::new(name)?;
    let (ini, header) = allot::files(name, "titles.h", titles);
    let path = folder.write("titles.ini", &ini)?;
    folder.write("titles.h", &header)?;
    let command = format!("lodctr \"{}\"", path.display());
    let code = load_perf(c"LoadPerfCounterTextStringsW", &command);
    let loaded = loaded(code, allotted_indexes(name));
    // Wine's function says that all went well, and does nothing.
    if loaded.is_err() && is_wine() {
        return write_titles(name, titles);
    }
    loaded.map_err(|(kind, why)| RegisterError::new(kind, format!("the names of {name}: {why}")))
}

/// What came of loading names, by what `loadperf` answered and by the indexes that
/// are in the registry since; there were none before. Both must say that it went
/// well.
fn loaded(
    code: Option<u32>,
    allotted: Option<AllottedIndexes>,
) -> Result<AllottedIndexes, (RegisterErrorKind, String)> {
    match (code, allotted) {
        (Some(0), Some(indexes)) => Ok(indexes),
        (Some(0), None) => Err((
            RegisterErrorKind::Io,
            "LoadPerfCounterTextStringsW succeeded, but allotted no indexes; `lodctr /R`, run as \
             administrator, rebuilds the title tables"
                .to_string(),
        )),
        (None, _) => Err((
            RegisterErrorKind::Io,
            "this system has no loadperf.dll, without which names cannot be registered".to_string(),
        )),
        (Some(5), _) => Err((
            RegisterErrorKind::Denied,
            "access is denied: run as administrator (Windows error 5)".to_string(),
        )),
        (Some(code), _) => Err((
            RegisterErrorKind::Io,
            format!(
                "LoadPerfCounterTextStringsW failed (Windows error {code}); where the title \
                 tables are damaged, `lodctr /R`, run as administrator, rebuilds them"
            ),
        )),
    }
}

/// Takes a registration back: its titles, then its keys.
fn take_back(name: &str) -> Result<(), RegisterError> {
    let service = service(name)?;
    let performance = format!(r"{service}\Performance");
    let failed = |code| refused(&performance, code);
    if allotted_indexes(name).is_some() {
        let quote = if name.contains(char::is_whitespace) { "\"" } else { "" };
        let command = format!("unlodctr {quote}{name}{quote}");
        let code = load_perf(c"UnloadPerfCounterTextStringsW", &command);
        if allotted_indexes(name).is_some() {
            if !is_wine() {
                let (kind, why) = match code {
                    None => (RegisterErrorKind::Io, "this system has no loadperf.dll".to_string()),
                    Some(5) => (
                        RegisterErrorKind::Denied,
                        "access is denied: run as administrator (Windows error 5)".to_string(),
                    ),
                    Some(code) => (
                        RegisterErrorKind::Io,
                        format!(
                            "UnloadPerfCounterTextStringsW answered {code}; `lodctr /R`, run as \
                             administrator, rebuilds damaged title tables"
                        ),
                    ),
                };
                let message = format!("the names of {name} stay: {why}");
                return Err(RegisterError::new(kind, message));
            }
            remove_titles(name)?;
        }
    }
    Key::MACHINE.remove_tree(&performance).map_err(failed)?;
    let key = match Key::MACHINE.open_to_write(&service) {
        Ok(key) => key,
        Err(NOT_FOUND) => return Ok(()),
        Err(code) => return Err(failed(code)),
    };
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

/// The key of a language below `Perflib`. Wine opens `Perflib\009` as
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
    let failed = |code| refused(PERFLIB, code);
    let perflib = Key::MACHINE.create(PERFLIB).map_err(failed)?;
    let last = |name: &str| perflib.number(&ValueName::new(name)).unwrap_or(0);
    let (counter, help) = (last("Last Counter"), last("Last Help"));
    let Some(allotted) = allot::allot(counter, help, titles) else {
        return Err(RegisterError::new(RegisterErrorKind::Taken, "there are no indexes left"));
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
    let failed = |code| refused(&what, code);
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
    let provider = Key::MACHINE.open(&what).map_err(|code| refused(&what, code))?;
    let failed = |code| refused(PERFLIB, code);
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
        std::fs::create_dir_all(&path).map_err(|error| io(&path, &error))?;
        Ok(Self(path))
    }

    /// Writes a file as UTF-16 with a byte order mark, which `lodctr` takes.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, RegisterError> {
        let path = self.0.join(name);
        let units = [0xfeff].into_iter().chain(text.encode_utf16());
        let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        std::fs::write(&path, bytes).map_err(|error| io(&path, &error))?;
        Ok(path)
    }
}

fn io(path: &std::path::Path, error: &std::io::Error) -> RegisterError {
    RegisterError::new(RegisterErrorKind::Io, format!("{}: {error}", path.display()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loadperf_answers_counts() {
        let indexes = AllottedIndexes { first_counter: 5000, first_help: 5001 };
        assert_eq!(loaded(Some(0), Some(indexes)), Ok(indexes));
        for (code, allotted, kind, why) in [
            (Some(0), None, RegisterErrorKind::Io, "allotted no indexes"),
            (Some(5), None, RegisterErrorKind::Denied, "administrator"),
            // It failed on the way: what is there is not whole.
            (Some(5), Some(indexes), RegisterErrorKind::Denied, "administrator"),
            (Some(1009), Some(indexes), RegisterErrorKind::Io, "(Windows error 1009)"),
            (None, Some(indexes), RegisterErrorKind::Io, "no loadperf.dll"),
        ] {
            let (told, message) = loaded(code, allotted).unwrap_err();
            assert_eq!(told, kind, "{message}");
            assert!(message.contains(why), "{message}");
        }
    }
}
