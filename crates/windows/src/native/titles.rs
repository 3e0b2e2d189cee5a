//! Names and help texts of the objects: English from the rows of the
//! [table](super::table), German from a file.

use super::table::OBJECTS;
use perfhive_engine::ProvidedTitles;
use perfhive_engine::standard::{parse_titles, titles_of};
use perfhive_format::LanguageId;

const GERMAN: &str = include_str!("../../titles/de.txt");

/// The names and help texts of the objects that the native functions fill, and of their counters:
/// English first, then German.
pub(super) fn all() -> Vec<ProvidedTitles> {
    titles_of(&OBJECTS, &[parse_titles(LanguageId::GERMAN, GERMAN).0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::titles::TitleList;
    use std::collections::BTreeMap;

    fn map(list: &TitleList) -> BTreeMap<u32, &str> {
        let map: BTreeMap<_, _> =
            list.titles.iter().map(|title| (title.index.0, title.text.as_str())).collect();
        assert_eq!(map.len(), list.titles.len(), "an index stands twice");
        map
    }

    #[test]
    fn translations_have_exactly_the_indexes_of_the_rows() {
        let (german, bad) = parse_titles(LanguageId::GERMAN, GERMAN);
        assert_eq!(bad, Vec::<String>::new());
        let english = &titles_of(&OBJECTS, &[])[0];
        assert!(map(&german.names).keys().eq(map(&english.names).keys()));
        assert!(map(&german.help).keys().eq(map(&english.help).keys()));
        for (index, text) in map(&german.help).into_iter().chain(map(&english.help)) {
            assert!(text.len() > 30 && text.ends_with('.'), "{index} {text:?}");
        }
    }
}
