//! Names and help texts, one file for each language in the folder `titles`, named
//! by the language's code: to add a language, add its file. What a file looks like
//! is told by [`parse_titles`].

use crate::table::Object;
use perfhive_engine::ProvidedTitles;
use perfhive_engine::standard::{parse_titles, titles_of};
use perfhive_format::LanguageId;
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
    READ.get_or_init(|| texts().map(|(language, text)| parse_titles(language, text).0).collect())
}

/// The titles of some objects and their counters, in every language.
pub(crate) fn of_objects(objects: &[&Object]) -> Vec<ProvidedTitles> {
    titles_of(objects, languages())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{SYSTEM, objects};
    use perfhive_format::titles::TitleList;
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
            let (titles, bad) = parse_titles(language, text);
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
}
