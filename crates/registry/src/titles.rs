//! The title databases of a machine: its languages and their lists.

use crate::codes::{INVALID_DATA, NOT_FOUND};
use crate::read::{LONGEST, ReadError, Size, read};
use crate::registry::{LastTitles, PerfRegistry, RegistryKey, ValueName};
use perfhive_engine::TitleDatabase;
use perfhive_format::LanguageId;
use perfhive_format::titles::TitleList;
use std::thread::sleep;

/// The bits of a language identifier that name the language without a region.
const PRIMARY: u16 = 0x3ff;

/// The largest number of languages of a machine that are listed; Windows has some forty.
const MOST: usize = 64;

/// The size of a title in bytes, without its text, by which the titles of several languages are limited together.
const TITLE: usize = 64;

/// The size in bytes of the loaded titles of a machine above which no further language is loaded. Forty languages have
/// some hundred megabytes. A machine that sends lists without end in each would fill all memory.
pub(crate) const ALL_TITLES: usize = 256 << 20;

/// A language with titles.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Language {
    /// The language.
    pub id: LanguageId,
    /// The names of the language's keys below `Perflib`: three digits, or four digits if they
    /// include a region. The key of the user's region comes first.
    keys: Vec<String>,
    /// Whether this is the user's own language. On this machine the titles of that language are also
    /// in `HKEY_PERFORMANCE_NLSTEXT`.
    own: bool,
}

impl Language {
    /// Whether this is the user's own language.
    pub(crate) fn is_own(&self) -> bool {
        self.own
    }
}

/// The languages of a machine in this order: the user's language if the machine has it, English,
/// which every machine has, and the others. At most 64 are listed.
pub fn languages(registry: &mut dyn PerfRegistry) -> Vec<Language> {
    let user = registry.user_language();
    let mut keys: Vec<(u16, String)> = registry
        .language_keys()
        .into_iter()
        .filter(|key| (3..=4).contains(&key.len()))
        .filter_map(|key| Some((u16::from_str_radix(&key, 16).ok()?, key)))
        .collect();
    // If a language has several regions, that of the user comes first, then the others by number.
    keys.sort_by_key(|(id, key)| (*id != user, *id & PRIMARY, *id, key.len()));
    let mut languages: Vec<Language> = Vec::new();
    for (id, key) in keys {
        let id = LanguageId(id & PRIMARY);
        match languages.iter_mut().find(|known| known.id == id) {
            Some(known) => known.keys.push(key),
            None if id.0 == 0 => {}
            None => languages.push(Language { id, keys: vec![key], own: id.0 == user & PRIMARY }),
        }
    }
    let user = LanguageId(user & PRIMARY);
    let mut add = |id: LanguageId, own| {
        if languages.iter().all(|known| known.id != id) {
            languages.push(Language { id, keys: vec![id.to_string()], own });
        }
    };
    add(LanguageId::ENGLISH, user == LanguageId::ENGLISH);
    if registry.host().is_none() && user.0 != 0 && has_own_titles(registry) {
        add(user, true);
    }
    let english = |id| id != LanguageId::ENGLISH;
    languages.sort_by_key(|language| (language.id != user, english(language.id), language.id));
    languages.truncate(MOST);
    languages
}

/// Whether there are titles in the user's language that differ from the English titles. `false` if
/// the titles in the user's language cannot be read, or if there are none.
fn has_own_titles(registry: &mut dyn PerfRegistry) -> bool {
    let own = list(registry, RegistryKey::NlsText, "Counter");
    own.as_ref().is_ok_and(|own| !own.titles.is_empty())
        && list(registry, RegistryKey::Text, "Counter").ok() != own.ok()
}

/// Loads the titles of a language, names and help texts.
///
/// `Counter LLL` of `HKEY_PERFORMANCE_DATA` is read first. If that fails or is empty, the list comes
/// from `HKEY_PERFORMANCE_NLSTEXT` for the user's language, and from `HKEY_PERFORMANCE_TEXT` for
/// English. If there is no list so far, or it ends before Last Counter, the keys below `Perflib` add to
/// it. If no list of names can be read, the first error is returned; the error that a list does not
/// exist is returned only if there was no other error.
///
/// The number is the size of the titles in bytes, with [`TITLE`] for each.
pub(crate) fn load(
    registry: &mut dyn PerfRegistry,
    language: &Language,
    last: LastTitles,
) -> Result<(TitleDatabase, usize), ReadError> {
    let (names, help) = raw(registry, language, last)?;
    let titles = names.iter().chain(&help).flat_map(|list| &list.titles);
    let size = titles.map(|title| TITLE + title.text.len()).sum();
    Ok((TitleDatabase::from_lists(language.id, &names, &help), size))
}

/// The lists of names and the lists of help texts of a language. If an index is in several lists,
/// the first one counts.
///
/// # Errors
/// If the names cannot be read. Missing help texts are no error.
pub fn raw(
    registry: &mut dyn PerfRegistry,
    language: &Language,
    last: LastTitles,
) -> Result<(Vec<TitleList>, Vec<TitleList>), ReadError> {
    let names = lists(registry, language, "Counter", "Counter", last.counter)?;
    // Names without help texts are better than no names.
    let help = lists(registry, language, "Help", "Explain", last.help).unwrap_or_default();
    Ok((names, help))
}

/// The lists that together make up the names, or the help texts, of a language. The lists are read
/// from values called `value`, or `older` on older systems. If there is no such list for the whole
/// language, or it ends before the index `last`, the lists below `Perflib` are added.
///
/// Every machine has names in English, so an empty list of English names is damaged.
fn lists(
    registry: &mut dyn PerfRegistry,
    language: &Language,
    value: &str,
    older: &str,
    last: Option<u32>,
) -> Result<Vec<TitleList>, ReadError> {
    let values = if value == older { &[value][..] } else { &[value, older] };
    let (mut failure, mut is_empty) = (None, false);
    let mut found = Vec::new();
    // The error that a list does not exist says least, so any other error replaces it.
    let mut failed = |error| match failure {
        None | Some(ReadError::Code(NOT_FOUND)) => failure = Some(error),
        Some(_) => {}
    };
    let is_english = language.id == LanguageId::ENGLISH;
    let id = language.id.to_string();
    let keys = language.keys.iter().chain((!language.keys.contains(&id)).then_some(&id));
    let data = keys.map(|key| {
        let names = values.iter().map(|value| format!("{value} {key}")).collect();
        (RegistryKey::Data, names)
    });
    let own = language.own.then(|| (RegistryKey::NlsText, vec![value.to_string()]));
    let english = is_english.then(|| (RegistryKey::Text, vec![value.to_string()]));
    let whole: Vec<(_, Vec<String>)> = data.chain(own).chain(english).collect();
    for (place, names) in whole {
        match first_list(registry, place, names.iter().map(String::as_str)) {
            Ok(list) if list.titles.is_empty() => is_empty = true,
            Ok(list) => {
                found.push(list);
                break;
            }
            Err(error) => failed(error),
        }
    }
    let highest = found.iter().flat_map(|list| &list.titles).map(|title| title.index.0).max();
    if highest.is_none_or(|highest| last.is_some_and(|last| highest < last)) {
        for key in &language.keys {
            match first_list(registry, RegistryKey::Language(key), values.iter().copied()) {
                Ok(list) if list.titles.is_empty() => is_empty = true,
                Ok(list) => found.push(list),
                Err(error) => failed(error),
            }
        }
    }
    match failure {
        _ if !found.is_empty() => Ok(found),
        Some(error) if !is_empty || error != ReadError::Code(NOT_FOUND) => Err(error),
        _ if is_english => Err(ReadError::NoTitles),
        _ => Ok(found),
    }
}

/// The first readable list among these names, in their order. Later names are then not tried,
/// because a system that does not know a name takes the name for a request for data. If none can be
/// read, the error of the last one is returned.
fn first_list<'a>(
    registry: &mut dyn PerfRegistry,
    place: RegistryKey<'_>,
    names: impl Iterator<Item = &'a str>,
) -> Result<TitleList, ReadError> {
    let mut found = Err(ReadError::Code(NOT_FOUND));
    for name in names {
        found = list(registry, place, name);
        if found.is_ok() {
            break;
        }
    }
    found
}

/// The list in one value. A list of more than 16 MiB, and a value that is not a list, are errors.
fn list(
    registry: &mut dyn PerfRegistry,
    place: RegistryKey<'_>,
    name: &str,
) -> Result<TitleList, ReadError> {
    let (mut bytes, name) = (Vec::new(), ValueName::new(name));
    let mut is_endless = false;
    let call = |reply: &mut Vec<u8>| {
        is_endless = reply.capacity() > LONGEST;
        if is_endless { INVALID_DATA } else { registry.value(place, &name, reply) }
    };
    let answer = read(&mut Size::default(), &mut bytes, None, &mut |pause| sleep(pause), call);
    if is_endless {
        return Err(ReadError::EndlessTitles);
    }
    answer?;
    let list = TitleList::from_multi_sz(&bytes);
    if list.titles.is_empty() && !bytes.iter().all(|byte| *byte == 0) {
        return Err(ReadError::NoTitles);
    }
    Ok(list)
}
