//! Title lists as people write and translate them, and the part of them that
//! some objects need.

use super::Object;
use crate::provider::ProvidedTitles;
use perfhive_format::LanguageId;
use perfhive_format::titles::{Title, TitleIndex, TitleList};

/// The titles of some objects and their counters, in every one of the
/// languages.
#[must_use]
pub fn titles_of(objects: &[&Object], languages: &[ProvidedTitles]) -> Vec<ProvidedTitles> {
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
    languages.iter().map(of_language).collect()
}

/// Reads a title list; the second part are lines that make no sense.
///
/// A list is made for people who translate: a block for each name, with the
/// index before it, and below it the help texts of the counters of that name
/// (% Processor Time of a process is not that of a processor), each under its
/// own index:
///
/// ```text
/// 6 % Processor Time
///   help 7
///     Share of time in which ...
///   help 189
///     Processor time of all threads ...
/// ```
///
/// Lines that begin with `#` and empty ones count for nothing.
#[must_use]
pub fn parse_titles(language: LanguageId, text: &str) -> (ProvidedTitles, Vec<String>) {
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

    #[test]
    fn lines_that_make_no_sense_are_named() {
        let text =
            "2 System\n  help 3\n    One\n    two.\nx\n    lost\n  hlp 5\n# no\n\n  help x\n";
        let (titles, bad) = parse_titles(LanguageId::ENGLISH, text);
        assert_eq!(titles.help.titles[0].index, TitleIndex(3));
        assert_eq!(titles.help.titles[0].text, "One two.");
        assert_eq!(bad, ["x", "    lost", "  hlp 5", "  help x"]);
    }
}
