//! Names and help texts, one file for each language in the folder `titles`, named
//! by the language's code: to add a language, add its file.
//!
//! A file is made for people who translate: a block for each name, with the
//! index before it, and below it the help texts of the counters of that name
//! (% Processor Time of a process is not that of a processor), each under its
//! own index:
//!
//! ```text
//! 6 % Processor Time
//!   help 7
//!     Share of time in which ...
//!   help 189
//!     Processor time of all threads ...
//! ```
//!
//! Lines that begin with `#` and empty ones count for nothing.

use crate::table::Object;
use perfhive_engine::ProvidedTitles;
use perfhive_format::LanguageId;
use perfhive_format::titles::{Title, TitleIndex, TitleList};
use std::sync::OnceLock;

/// Code and text of each file, English first.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/titles.rs"));

/// The languages and their texts. A file whose name is no language has none; a
/// test knows of it.
fn texts() -> impl Iterator<Item = (LanguageId, &'static str)> {
    FILES.iter().filter_map(|(code, text)| Some((code.parse().ok()?, *text)))
}

/// Every language, read once: each provider takes its part of it.
fn languages() -> &'static [ProvidedTitles] {
    static READ: OnceLock<Vec<ProvidedTitles>> = OnceLock::new();
    READ.get_or_init(|| texts().map(|(language, text)| parse(language, text).0).collect())
}

/// The titles of some objects and their counters, in every language.
pub(crate) fn of_objects(objects: &[&Object]) -> Vec<ProvidedTitles> {
    let mut names = Vec::new();
    let mut helps = Vec::new();
    for object in objects {
        names.push(object.index);
        helps.push(object.help);
        for spec in object.counters.iter().map(|counter| counter.spec()) {
            names.push(spec.name.0);
            helps.push(spec.help.0);
        }
    }
    names.sort_unstable();
    helps.sort_unstable();
    let part = |list: &TitleList, wanted: &[u32]| TitleList {
        titles: list
            .titles
            .iter()
            .filter(|title| wanted.binary_search(&title.index.0).is_ok())
            .cloned()
            .collect(),
        ..TitleList::default()
    };
    let of_language = |all: &ProvidedTitles| ProvidedTitles {
        language: all.language,
        names: part(&all.names, &names),
        help: part(&all.help, &helps),
    };
    languages().iter().map(of_language).collect()
}

/// Reads a file; the second part are lines that make no sense.
fn parse(language: LanguageId, text: &str) -> (ProvidedTitles, Vec<String>) {
    let mut titles =
        ProvidedTitles { language, names: TitleList::default(), help: TitleList::default() };
    let mut bad = Vec::new();
    // Whether a help text may go on here.
    let mut in_help = false;
    for line in text.lines() {
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let understood = match line.bytes().take_while(|byte| *byte == b' ').count() {
            0 => {
                in_help = false;
                push(&mut titles.names, words)
            }
            2 => {
                in_help = words
                    .strip_prefix("help ")
                    .is_some_and(|index| push(&mut titles.help, &format!("{index} ")));
                in_help
            }
            _ => match titles.help.titles.last_mut() {
                Some(title) if in_help => {
                    if !title.text.is_empty() {
                        title.text.push(' ');
                    }
                    title.text.push_str(words);
                    true
                }
                _ => false,
            },
        };
        if !understood {
            bad.push(line.to_string());
        }
    }
    (titles, bad)
}

/// Adds `index text`; answers whether it is that.
fn push(list: &mut TitleList, line: &str) -> bool {
    let Some((index, text)) = line.split_once(' ') else {
        return false;
    };
    match index.parse() {
        Ok(index) => {
            list.titles.push(Title { index: TitleIndex(index), text: text.to_string() });
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{SYSTEM, objects};
    use std::collections::{BTreeMap, BTreeSet};

    fn map(list: &TitleList) -> BTreeMap<u32, &str> {
        let map: BTreeMap<_, _> =
            list.titles.iter().map(|title| (title.index.0, title.text.as_str())).collect();
        assert_eq!(map.len(), list.titles.len(), "an index stands twice");
        map
    }

    #[test]
    fn every_language_has_every_index_and_no_other() {
        let mut names = BTreeSet::new();
        let mut helps = BTreeSet::new();
        for object in objects() {
            names.insert(object.index);
            helps.insert(object.help);
            for spec in object.counters.iter().map(|counter| counter.spec()) {
                names.insert(spec.name.0);
                helps.insert(spec.help.0);
            }
        }
        for (language, text) in texts() {
            let (titles, bad) = parse(language, text);
            assert_eq!(bad, Vec::<String>::new(), "{language}");
            let has = |list: &TitleList| map(list).into_keys().collect::<BTreeSet<_>>();
            assert_eq!(has(&titles.names), names, "{language} names");
            assert_eq!(has(&titles.help), helps, "{language} help");
            for text in map(&titles.names).values() {
                assert!(!text.is_empty() && text.trim() == *text, "{language} {text:?}");
            }
            for (index, text) in map(&titles.help) {
                assert!(text.len() > 30 && text.ends_with('.'), "{language} {index} {text:?}");
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_a_language() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/titles");
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_by_key(|name| (name != "en.txt", name.clone()));
        let of = |language: LanguageId| format!("{}.txt", language.code().unwrap());
        assert_eq!(texts().map(|(language, _)| of(language)).collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_provider_gets_its_own_titles_only() {
        let all = of_objects(&[&SYSTEM]);
        assert_eq!(all.len(), FILES.len());
        assert_eq!(map(&all[0].names).get(&2), Some(&"System"));
        assert!(!map(&all[0].names).contains_key(&230));
        assert!(!map(&all[0].help).contains_key(&231));
    }

    #[test]
    fn lines_that_make_no_sense_are_named() {
        let text =
            "2 System\n  help 3\n    One\n    two.\nx\n    lost\n  hlp 5\n# no\n\n  help x\n";
        let (titles, bad) = parse(LanguageId::ENGLISH, text);
        assert_eq!(map(&titles.help).get(&3), Some(&"One two."));
        assert_eq!(bad, ["x", "    lost", "  hlp 5", "  help x"]);
    }
}
