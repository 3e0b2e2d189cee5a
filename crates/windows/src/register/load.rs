//! Loading and unloading names and help texts by `loadperf`, as `lodctr` and `unlodctr` do. Wine's
//! `loadperf` does nothing; under Wine the texts are written to `Perflib`.

use super::{PERFLIB, allotted_indexes, refused, service};
use crate::allot::{self, Allotted, Files};
use crate::ffi::{Key, LoadPerf, Value};
use crate::wine::is_wine;
use crate::wine::layout::Layout;
use perfhive_contract::{AllottedIndexes, RegisterError, RegisterErrorKind};
use perfhive_engine::ProvidedTitles;
use perfhive_format::LanguageId;
use perfhive_format::titles::TitleList;
use perfhive_registry::{Size, ValueName, read};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Allots indexes to the titles of a provider and writes both to the registry, by `loadperf`.
/// Wine's `loadperf` does nothing, so under Wine they are written directly. `objects` are the
/// offsets of objects. Returns the first index of the names and that of the help texts.
pub(super) fn load(
    name: &str,
    objects: &[u32],
    titles: &[ProvidedTitles],
) -> Result<AllottedIndexes, RegisterError> {
    let folder = Folder::new()?;
    let Files { ini, header } = allot::files(name, "titles.h", objects, titles);
    let path = folder.write("titles.ini", &ini)?;
    folder.write("titles.h", &header)?;
    let code = LoadPerf::Load.call(&format!("lodctr \"{}\"", path.display()));
    let loaded = loaded(code, allotted_indexes(name));
    // Wine's function reports success and does nothing.
    if loaded.is_err() && is_wine() {
        return write_titles(name, titles);
    }
    loaded.map_err(|(kind, why)| RegisterError::new(kind, format!("the names of {name}: {why}")))
}

/// The outcome of loading names, from the answer `code` of `loadperf` (0 for success, `None` if
/// there is no `loadperf`) and from the indexes that are in the registry now and were not before.
/// Loading has succeeded only if both the answer and the indexes show it.
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

/// Unloads the titles of a provider: by `loadperf`, or directly under Wine. Does nothing if the
/// provider has no indexes.
pub(super) fn unload(name: &str) -> Result<(), RegisterError> {
    if allotted_indexes(name).is_none() {
        return Ok(());
    }
    let quote = if name.contains(char::is_whitespace) { "\"" } else { "" };
    let code = LoadPerf::Unload.call(&format!("unlodctr {quote}{name}{quote}"));
    if allotted_indexes(name).is_none() {
        return Ok(());
    }
    if is_wine() {
        return remove_titles(name);
    }
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
    Err(RegisterError::new(kind, format!("the names of {name} stay: {why}")))
}

/// The key of a language below `Perflib`, under Wine: the language's number, but `0409` for
/// English. Wine opens `Perflib\009` as `HKEY_PERFORMANCE_TEXT`, with a few fixed texts; readers
/// look at all keys of a language, and this one is free.
fn wine_key(language: LanguageId) -> String {
    match language {
        LanguageId::ENGLISH => "0409".to_string(),
        other => other.to_string(),
    }
}

/// Registers titles under Wine, and returns the indexes allotted to them: writes the titles into the
/// keys below `Perflib`, where Wine reads them, and the indexes into the provider's key as well. On
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

/// Removes the titles of a provider from the keys below `Perflib`, under Wine.
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
        for language in perflib.keys().0 {
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
        // The indexes of the provider that was registered last become free, as after `unlodctr`.
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

/// The most existing folders that are passed over in the search for a free name. A process that was
/// killed leaves its folder behind, and this process may have got the same process ID.
const FOLDERS: u32 = 64;

/// A folder for the files that `loadperf` reads. The folder is removed on drop.
struct Folder(PathBuf);

impl Folder {
    /// A new folder in the folder for temporary files, from which the new folder inherits its access rights. The name
    /// of the new folder has this process's ID. An error if the new folder cannot be made.
    fn new() -> Result<Self, RegisterError> {
        let temporary = std::env::temp_dir();
        let mut number = 0;
        loop {
            let path = temporary.join(format!("perfhive-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < FOLDERS => {
                    number += 1;
                }
                Err(error) => return Err(io(&path, &error)),
            }
        }
    }

    /// Writes a new file. A file that is there already is an error: in `C:\Windows\Temp` any user may create files
    /// in the folder of another, and could change that file afterwards.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, RegisterError> {
        let path = self.0.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| io(&path, &error))?;
        Ok(path)
    }
}

fn io(path: &Path, error: &std::io::Error) -> RegisterError {
    RegisterError::new(RegisterErrorKind::Io, format!("{}: {error}", path.display()))
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_new_and_is_removed_when_dropped() {
        let [one, other] = [Folder::new().unwrap(), Folder::new().unwrap()];
        assert_ne!(one.0, other.0);
        let file = one.write("titles.h", b"#define A 0\r\n").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"#define A 0\r\n");
        // Another user may have put a file there.
        let placed = other.0.join("titles.ini");
        std::fs::write(&placed, b"placed").unwrap();
        other.write("titles.ini", b"[info]").unwrap_err();
        assert_eq!(std::fs::read(&placed).unwrap(), b"placed");
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists() && other.0.exists());
    }

    /// Windows' own functions read the intended texts.
    #[test]
    fn profile_functions_read_texts_with_quotation_marks_unchanged() {
        use crate::ffi::profile_string;
        use perfhive_testkit::script::titles;
        let texts = ["\"Bees\"", "'Bees'", "\"\"", "The \"Bees\"", "\"Bees' "];
        let offsets = (0u32..).step_by(2);
        let names: Vec<_> = offsets.zip(texts).collect();
        let (names, help) = (titles(&names), titles(&[]));
        let given = [ProvidedTitles::new(LanguageId::ENGLISH, names, help)];
        let folder = Folder::new().unwrap();
        let file = folder.write("titles.ini", &allot::files("Bees", "b.h", &[0], &given).ini);
        let file = file.unwrap();
        assert_eq!(profile_string(&file, "objects", "TITLE_0_009_NAME"), texts[0]);
        for (offset, text) in (0u32..).step_by(2).zip(texts) {
            let key = format!("TITLE_{offset}_009_NAME");
            assert_eq!(profile_string(&file, "text", &key), text.trim(), "{key}");
        }
    }

    #[test]
    fn loading_succeeds_only_with_code_0_and_new_indexes() {
        let indexes = AllottedIndexes { first_counter: 5000, first_help: 5001 };
        assert_eq!(loaded(Some(0), Some(indexes)), Ok(indexes));
        for (code, allotted, kind, why) in [
            (Some(0), None, RegisterErrorKind::Io, "allotted no indexes"),
            (Some(5), None, RegisterErrorKind::Denied, "administrator"),
            // A failed call may leave part of the titles.
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
