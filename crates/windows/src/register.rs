//! Registrations of providers in Windows' registry.

mod library;
mod load;
mod trust;

use crate::allot;
use crate::ffi::{self, Key, Value};
use crate::winreg::{Local, MARK, MARKED};
use library::library;
use load::{load, unload};
use perfhive_contract::{
    AllottedIndexes, Change, Functions, ProviderDefinition, RegisterError, RegisterErrorKind,
    RegisterFault, Registrar, Registration, Registrations,
};
use perfhive_engine::{ProvidedTitles, TestLevel};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_registry::codes::NOT_FOUND;
use perfhive_registry::{PerfRegistry as _, ValueName, argument, raw};
use std::collections::BTreeMap;
use std::time::Duration;

const SERVICES: &str = r"SYSTEM\CurrentControlSet\Services";
const PERFLIB: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Perflib";
/// The name of the value that disables a provider unless it is 0. Windows sets the value after
/// failed tests, or an administrator does.
const DISABLED: &str = "Disable Performance Counters";

/// The registry of this machine: `Services\NAME\Performance` for the functions, and `loadperf` for
/// names and help texts. Only an administrator may write.
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

/// The error for a call of the registry that failed with Windows' error code. `what` is the key, or a
/// text about the failure, with which the message begins.
fn refused(what: &str, code: u32) -> RegisterError {
    match code {
        5 => RegisterError::new(
            RegisterErrorKind::Denied,
            format!("{what}: access is denied: run as administrator (Windows error 5)"),
        ),
        code => RegisterError::new(
            RegisterErrorKind::Io,
            format!("{what}: the registry refuses the change (Windows error {code})"),
        ),
    }
}

/// The path of a provider's service key; an error for a name that is empty or too long, or not the
/// name of a single key.
fn service(name: &str) -> Result<String, RegisterError> {
    let bad = |c: char| c.is_control() || c == '\\' || c == '/' || c == '"';
    if name.trim().is_empty() || name.len() > 200 || name.contains(bad) {
        let message = "is not a name of a service: it must not be empty or contain \\, / or \"";
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
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(Registration, Change), RegisterError> {
        let (mut made, titles, before) = prepare(definition, functions)?;
        let Some(before) = before else {
            let made = add(made, &definition.objects, &titles)?;
            return Ok((made, Change::Added));
        };
        let old = titles_of(&before);
        if same(&old, &titles, &languages()) {
            made.objects = objects(&definition.objects, before.first_counter);
            if made == before {
                return Ok((made, Change::Unchanged));
            }
            if let Err(error) = write(&made) {
                // The earlier registration is written back; the first failure is reported.
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

    fn check(
        &self,
        definition: &ProviderDefinition,
        functions: &Functions,
    ) -> Result<(), RegisterError> {
        if functions.library.is_some() || own(&definition.name)?.is_some() {
            return prepare(definition, functions).map(drop);
        }
        // A placeholder for the library's path, to test the rest.
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

    fn enable(&mut self, name: &str) -> Result<bool, RegisterError> {
        enable(name)
    }

    fn registrations(&self) -> Result<(Registrations, Vec<RegisterFault>), RegisterError> {
        let services = Key::MACHINE.open(SERVICES).map_err(|code| refused(SERVICES, code))?;
        let mut all = Registrations::none();
        let (names, ended) = services.keys();
        for name in names {
            // Most services have no counters.
            if let Some((registration, _)) = registered(&name) {
                all.providers.push(registration);
            }
        }
        all.providers.sort_by(|a, b| a.name.cmp(&b.name));
        let mut faults = Vec::new();
        if let Some(code) = ended {
            let message = refused("the list of services ends early", code).to_string();
            faults.push(RegisterFault::new(self.place(), message));
        }
        let mut registry = Local::new();
        let last = registry.last_titles();
        for language in perfhive_registry::languages(&mut registry) {
            match raw(&mut registry, &language, last) {
                Ok((names, help)) => {
                    let (names, help) = (merged(names), merged(help));
                    all.titles.push(ProvidedTitles::new(language.id, names, help));
                }
                Err(error) => {
                    let message = format!("the titles cannot be read: {}", error.explain(None).1);
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

/// Makes the wanted registration with its titles, and reads the present registration. Tests
/// everything that can be tested without writing; what fails is an error. Returns these three;
/// `None` in place of the last if the provider is not registered.
fn prepare(
    definition: &ProviderDefinition,
    functions: &Functions,
) -> Result<(Registration, Vec<ProvidedTitles>, Option<Registration>), RegisterError> {
    let before = own(&definition.name)?;
    let mut made = functions.registration(&definition.name, before.as_ref())?;
    // Windows loads libraries into the reader: no process can be limited.
    (made.memory_limit, made.processes) = (None, false);
    made.reads.clear();
    trust::test(&made.library)?;
    let titles: Vec<ProvidedTitles> = definition.titles_at(0, 0).collect();
    if let Some(objection) = allot::objection(&titles) {
        return Err(invalid(format!("{}: {objection}", definition.name)));
    }
    if before.is_none() {
        has_no_rest(&definition.name)?;
    }
    Ok((made, titles, before))
}

/// One list with the titles of several lists. If an index has several texts, the first counts.
fn merged(lists: Vec<TitleList>) -> TitleList {
    let mut all = BTreeMap::new();
    for title in lists.into_iter().flat_map(|list| list.titles) {
        all.entry(title.index).or_insert(title.text);
    }
    let titles = all.into_iter().map(|(index, text)| Title { index, text });
    TitleList::from(titles.collect::<Vec<_>>())
}

fn objects(offsets: &[u32], first: u32) -> Vec<TitleIndex> {
    offsets.iter().filter_map(|offset| first.checked_add(*offset)).map(TitleIndex).collect()
}

/// A provider's registration, and whether perfhive made it; `None` without a registration, or if it
/// cannot be read or names no library.
fn registered(name: &str) -> Option<(Registration, bool)> {
    let service = Key::MACHINE.open(&service(name).ok()?).ok()?;
    let key = service.open("Performance").ok()?;
    let text = |name: &str| key.text(name).filter(|text| !text.is_empty());
    let number = |name: &str| key.number(&ValueName::new(name));
    let time = |name: &str| number(name).map(|ms| Duration::from_millis(ms.into()));
    let mut one = Registration::new(name, library(&key)?, &text("Collect").unwrap_or_default());
    (one.open, one.close) = (text("Open"), text("Close"));
    one.linkage = registered_linkage(name);
    let list = text("Object List").unwrap_or_default();
    one.objects = list.split_whitespace().filter_map(|n| n.parse().ok()).map(TitleIndex).collect();
    one.first_counter = number("First Counter").unwrap_or(0);
    one.last_counter = number("Last Counter").unwrap_or(0);
    one.first_help = number("First Help").unwrap_or(0);
    one.last_help = number("Last Help").unwrap_or(0);
    one.disabled = number(DISABLED).is_some_and(|number| number != 0);
    one.open_timeout = time("Open Timeout").unwrap_or(Registration::TIMEOUT);
    one.collect_timeout = time("Collect Timeout").unwrap_or(Registration::TIMEOUT);
    let ours = text(MARK).as_deref() == Some(MARKED);
    Some((one, ours))
}

/// A provider's registration that perfhive made. `None` as for [`registered`]; an error if another
/// program made the registration, or if `name` cannot be the name of a service.
fn own(name: &str) -> Result<Option<Registration>, RegisterError> {
    let key = format!(r"{}\Performance", service(name)?);
    match registered(name) {
        Some((registration, true)) => Ok(Some(registration)),
        Some((_, false)) => Err(RegisterError::new(
            RegisterErrorKind::Taken,
            format!(
                "{name} was registered by another program ({key}): take another name, or, if it \
                 is to go, `unlodctr {}`",
                argument(name)
            ),
        )),
        None => Ok(None),
    }
}

/// Enables a provider that Windows or an administrator disabled, as `lodctr /E:NAME` does. Returns
/// whether it was disabled; `false` for an unregistered name.
///
/// # Errors
/// [`RegisterError`] for an invalid name, and if the registry cannot be read or written.
pub fn enable(name: &str) -> Result<bool, RegisterError> {
    let what = format!(r"{}\Performance", service(name)?);
    let failed = |code| match code {
        NOT_FOUND => Ok(false),
        code => Err(refused(&what, code)),
    };
    match Key::MACHINE.open(&what) {
        Ok(key) if key.number(&ValueName::new(DISABLED)).unwrap_or(0) != 0 => {}
        Ok(_) => return Ok(false),
        Err(code) => return failed(code),
    }
    let removed = Key::MACHINE.open_to_write(&what).and_then(|key| key.remove(DISABLED));
    removed.map(|()| true).or_else(failed)
}

/// The indexes that a provider got at its registration; `None` if the provider is not registered,
/// its registration has no indexes, or the registration cannot be read.
#[must_use]
pub fn allotted_indexes(name: &str) -> Option<AllottedIndexes> {
    let key = Key::MACHINE.open(&format!(r"{}\Performance", service(name).ok()?)).ok()?;
    let number = |name: &str| key.number(&ValueName::new(name));
    Some(AllottedIndexes {
        first_counter: number("First Counter")?,
        first_help: number("First Help")?,
    })
}

/// The linkage strings of a provider's registration, with a NUL between each two; `None` if there
/// are none, or if they cannot be read.
#[must_use]
pub fn registered_linkage(name: &str) -> Option<String> {
    let service = Key::MACHINE.open(&service(name).ok()?).ok()?;
    service.open("Linkage").ok()?.texts("Export").filter(|linkage| !linkage.is_empty())
}

/// The registered titles of a provider, in each language that can be read, under their offsets
/// instead of their indexes.
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
    for language in perfhive_registry::languages(&mut registry) {
        let Ok((names, help)) = raw(&mut registry, &language, last) else { continue };
        let names = part(names, registration.first_counter, registration.last_counter);
        let help = part(help, registration.first_help, registration.last_help);
        if !names.titles.is_empty() || !help.titles.is_empty() {
            all.push(ProvidedTitles::new(language.id, names, help));
        }
    }
    all
}

/// The languages in which this machine has titles. Windows' loader skips texts in other languages.
fn languages() -> Vec<LanguageId> {
    perfhive_registry::languages(&mut Local::new())
        .into_iter()
        .map(|language| language.id)
        .collect()
}

/// Whether the registered titles `old` equal the titles `new` in each language of `new` that is one of
/// `languages`, the machine's languages. A text of `old` may still have the quotation marks that
/// `allot::quoted` put around it for the loader, since some loaders keep them.
fn same(old: &[ProvidedTitles], new: &[ProvidedTitles], languages: &[LanguageId]) -> bool {
    type Texts = BTreeMap<u32, String>;
    let texts = |list: &TitleList| -> Texts {
        let texts = list.titles.iter().filter(|title| !title.text.trim().is_empty());
        // A line of the loader's file has neither line ends nor surrounding spaces.
        let line = |text: &str| allot::one_line(text).trim().to_string();
        texts.map(|title| (title.index.0, line(&title.text))).collect()
    };
    let same = |old: Texts, new: Texts| {
        let is_one = |(old, new): ((&u32, &String), (&u32, &String))| {
            old == new || (old.0 == new.0 && *old.1 == allot::quoted(new.1))
        };
        old.len() == new.len() && old.iter().zip(&new).all(is_one)
    };
    let mut kept = new.iter().filter(|new| languages.contains(&new.language));
    kept.all(|new| {
        let old = old.iter().find(|old| old.language == new.language);
        old.is_some_and(|old| {
            same(texts(&old.names), texts(&new.names)) && same(texts(&old.help), texts(&new.help))
        })
    })
}

/// An error if the registry has indexes of this provider, left behind by a registration that is not
/// whole.
fn has_no_rest(name: &str) -> Result<(), RegisterError> {
    if allotted_indexes(name).is_none() {
        return Ok(());
    }
    // Loading the names again would leave these traces and report success.
    let key = service(name)?;
    let message = format!(
        "{key}\\Performance has indexes of a registration that is not whole: `unlodctr {}` \
         takes them back; or take another name",
        argument(name)
    );
    Err(RegisterError::new(RegisterErrorKind::Taken, message))
}

/// Registers a provider with titles; `offsets` are those of its objects. Returns the registration
/// as the registry then has it. After a failure, what was written is removed if possible.
fn add(
    mut made: Registration,
    offsets: &[u32],
    titles: &[ProvidedTitles],
) -> Result<Registration, RegisterError> {
    has_no_rest(&made.name)?;
    made.objects.clear();
    let done = write(&made).and_then(|()| load(&made.name, offsets, titles)).and_then(|first| {
        made.objects = objects(offsets, first.first_counter);
        write(&made)
    });
    if let Err(error) = done {
        // The first failure is reported.
        let _ = take_back(&made.name);
        return Err(error);
    }
    Ok(registered(&made.name).map_or(made, |(registration, _)| registration))
}

/// Writes the values of a registration; `loadperf` writes the indexes.
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
    // An empty text and the number 0 stand for a missing value.
    for (name, value) in [
        (MARK, Value::Text(MARKED)),
        // Not expanded: a `%` in the path is itself.
        ("Library", Value::Text(&library)),
        ("Open", Value::Text(&open)),
        ("Collect", Value::Text(&registration.collect)),
        ("Close", Value::Text(&close)),
        ("Object List", Value::Text(&objects)),
        (DISABLED, Value::Number(registration.disabled.into())),
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

/// Removes a registration: first its titles, then its keys.
fn take_back(name: &str) -> Result<(), RegisterError> {
    let service = service(name)?;
    let performance = format!(r"{service}\Performance");
    let failed = |code| refused(&performance, code);
    unload(name)?;
    Key::MACHINE.remove_tree(&performance).map_err(failed)?;
    let key = match Key::MACHINE.open_to_write(&service) {
        Ok(key) => key,
        Err(NOT_FOUND) => return Ok(()),
        Err(code) => return Err(failed(code)),
    };
    // Only the values written by registering: a service may have a linkage of its own.
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

/// Writes a provider's warning to the event log (Application) with the source `Perfhive`. The
/// function is meant for the entry `report` of `provider_library!`.
pub fn report_event(provider: &str, message: &str) {
    ffi::report_event("Perfhive", &format!("{provider}: {message}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that the loader skips or rewrites do not make a registration different, which would
    /// allot other indexes.
    #[test]
    fn titles_that_the_loader_changes_or_skips_are_no_difference() {
        use perfhive_testkit::script::titles;
        let of =
            |language, text: &str| ProvidedTitles::new(language, titles(&[(0, text)]), titles(&[]));
        let new = [of(LanguageId::ENGLISH, "Bees\nand more "), of(LanguageId::GERMAN, "Bienen")];
        let old = [of(LanguageId::ENGLISH, "Bees and more")];
        assert!(same(&old, &new, &[LanguageId::ENGLISH]));
        // A language added to the machine later is loaded by registering again.
        assert!(!same(&old, &new, &[LanguageId::ENGLISH, LanguageId::GERMAN]));
        assert!(!same(&[of(LanguageId::ENGLISH, "Wasps")], &new, &[LanguageId::ENGLISH]));
        // With or without surrounding quotation marks, depending on the loader.
        let english = |text| [of(LanguageId::ENGLISH, text)];
        for (old, new, expected) in
            [("'Bees'", "'Bees'", true), ("\"'Bees'\"", "'Bees'", true), ("Bees", "'Bees'", false)]
        {
            let told = same(&english(old), &english(new), &[LanguageId::ENGLISH]);
            assert_eq!(told, expected, "{old} {new}");
        }
    }
}
