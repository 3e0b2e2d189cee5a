//! Names and help texts of the objects, a file for each language.

use super::table::OBJECTS;
use perfhive_engine::ProvidedTitles;
use perfhive_engine::standard::{parse_titles, titles_of};
use perfhive_format::LanguageId;

/// The languages, English first.
const FILES: [(LanguageId, &str); 2] = [
    (LanguageId::ENGLISH, include_str!("../../titles/en.txt")),
    (LanguageId::GERMAN, include_str!("../../titles/de.txt")),
];

/// The titles of all objects.
pub(super) fn all() -> Vec<ProvidedTitles> {
    let languages = FILES.map(|(language, text)| parse_titles(language, text).0);
    titles_of(&OBJECTS, &languages)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let mut names = BTreeMap::new();
        let mut helps = BTreeSet::new();
        for object in OBJECTS {
            names.insert(object.index, object.name);
            helps.insert(object.help);
            for counter in object.counters {
                names.insert(counter.index, counter.name);
                helps.insert(counter.help);
            }
        }
        for (language, text) in FILES {
            let (titles, bad) = parse_titles(language, text);
            assert_eq!(bad, Vec::<String>::new(), "{language}");
            let there = map(&titles.names);
            if language == LanguageId::ENGLISH {
                assert_eq!(there, names);
            }
            assert!(there.keys().eq(names.keys()), "{language} names");
            let texts = map(&titles.help);
            assert_eq!(texts.keys().copied().collect::<BTreeSet<_>>(), helps, "{language} help");
            for (index, text) in texts {
                assert!(text.len() > 30 && text.ends_with('.'), "{language} {index} {text:?}");
            }
        }
    }
}
