//! The names and help texts of objects and counters: English from the rows of the [tables](crate::table),
//! each other language from a file of the folder `titles` that is named by the language's
//! code. To add a language, add its file in the format of [`parse_titles`].

use crate::table::Object;
use perfhive_engine::ProvidedTitles;
use perfhive_engine::standard::{parse_titles, titles_of};
use perfhive_format::LanguageId;
use std::sync::OnceLock;

/// The code of each translated language, and the text of its file.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/titles.rs"));

/// The language of each translation file, and the file's text. A test checks that every file name
/// is a language.
fn texts() -> impl Iterator<Item = (LanguageId, &'static str)> {
    FILES.iter().filter_map(|(code, text)| Some((code.parse().ok()?, *text)))
}

/// All translations, parsed once; each provider copies its part. There are none without the feature
/// `languages`.
fn translations() -> &'static [ProvidedTitles] {
    static READ: OnceLock<Vec<ProvidedTitles>> = OnceLock::new();
    if cfg!(not(feature = "languages")) {
        return &[];
    }
    READ.get_or_init(|| texts().map(|(language, text)| parse_titles(language, text).0).collect())
}

/// The names and help texts of some objects and their counters, in all languages.
pub(crate) fn of_objects(objects: &[&Object]) -> Vec<ProvidedTitles> {
    titles_of(objects, translations())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{SYSTEM, objects};
    use perfhive_format::titles::TitleList;
    use std::collections::{BTreeMap, HashMap};

    fn map(list: &TitleList) -> BTreeMap<u32, &str> {
        let map: BTreeMap<_, _> =
            list.titles.iter().map(|title| (title.index.0, title.text.as_str())).collect();
        assert_eq!(map.len(), list.titles.len(), "an index stands twice");
        map
    }

    #[test]
    fn translations_have_exactly_the_indexes_of_the_rows() {
        let all: Vec<_> = objects().collect();
        let english = &titles_of(&all, &[])[0];
        for (language, text) in texts() {
            let (titles, bad) = parse_titles(language, text);
            assert_eq!(bad, Vec::<String>::new(), "{language}");
            let (names, helps) = (map(&titles.names), map(&titles.help));
            assert!(names.keys().eq(map(&english.names).keys()), "{language} names");
            assert!(helps.keys().eq(map(&english.help).keys()), "{language} help");
            check(&titles);
        }
        check(english);
    }

    fn check(titles: &ProvidedTitles) {
        for text in map(&titles.names).values() {
            assert!(!text.is_empty() && text.trim() == *text, "{} {text:?}", titles.language);
        }
        for (index, text) in map(&titles.help) {
            let is_sentence = text.len() > 20 && text.ends_with('.');
            assert!(is_sentence, "{} {index} {text:?}", titles.language);
        }
    }

    #[test]
    fn rows_with_the_same_index_have_the_same_text() {
        let mut texts = HashMap::new();
        let mut same = |kind: &str, index: u32, text: &'static str| {
            let known = *texts.entry((kind.to_string(), index)).or_insert(text);
            assert_eq!(known, text, "{kind} {index}");
        };
        for object in objects() {
            same("name", object.index, object.name);
            same("help", object.help, object.meaning);
            for counter in object.counters {
                same("name", counter.index, counter.name);
                same("help", counter.help, counter.meaning);
            }
            for absent in object.absent {
                same("name", absent.index, absent.name);
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
        names.sort();
        let of = |language: LanguageId| format!("{}.txt", language.code().unwrap());
        assert_eq!(texts().map(|(language, _)| of(language)).collect::<Vec<_>>(), names);
    }

    #[test]
    fn a_provider_gets_its_own_titles_only() {
        let all = of_objects(&[&SYSTEM]);
        assert_eq!(all.len(), FILES.len() + 1);
        assert_eq!(all[0].language, LanguageId::ENGLISH);
        assert_eq!(map(&all[0].names).get(&2), Some(&"System"));
        assert!(!map(&all[0].names).contains_key(&230));
        assert!(!map(&all[0].help).contains_key(&231));
    }
}
