//! Titles of standard objects: in English from the rows of the tables, in other languages from
//! lists of translations.

use super::Object;
use crate::provider::ProvidedTitles;
use perfhive_format::LanguageId;
use perfhive_format::titles::{Title, TitleIndex, TitleList};
use std::collections::BTreeMap;

/// The titles of some objects and their counters: first in English, from the rows of the tables,
/// and then in the language of each translation, of which titles of other objects and counters are
/// left out.
#[must_use]
pub fn titles_of(objects: &[&Object], translations: &[ProvidedTitles]) -> Vec<ProvidedTitles> {
    let mut names = BTreeMap::new();
    let mut helps = BTreeMap::new();
    let mut add = |(index, name): (u32, &str), (help, meaning): (u32, &str)| {
        names.insert(TitleIndex(index), Box::from(name));
        helps.insert(TitleIndex(help), Box::from(meaning));
    };
    for object in objects {
        add((object.index, object.name), (object.help, object.meaning));
        for counter in object.counters {
            add((counter.index, counter.name), (counter.help, counter.meaning));
        }
    }
    let part = |all: &TitleList, wanted: &BTreeMap<TitleIndex, Box<str>>| {
        let mut titles = Vec::new();
        for title in &all.titles {
            if wanted.contains_key(&title.index) {
                titles.push(title.clone());
            }
        }
        TitleList::from(titles)
    };
    let mut all = Vec::new();
    for translation in translations {
        all.push(ProvidedTitles {
            language: translation.language,
            names: part(&translation.names, &names),
            help: part(&translation.help, &helps),
        });
    }
    let (names, help) = (list(names), list(helps));
    all.insert(0, ProvidedTitles { language: LanguageId::ENGLISH, names, help });
    all
}

fn list(texts: BTreeMap<TitleIndex, Box<str>>) -> TitleList {
    let mut titles = Vec::new();
    for (index, text) in texts {
        titles.push(Title { index, text: text.into() });
    }
    TitleList::from(titles)
}

/// Reads a list of translations. Returns the titles, and the lines that cannot be read.
///
/// Each name has a block: its index and the name, then the help texts of the
/// counters of that name (% Processor Time of a process is not that of a
/// processor), each under its own index:
///
/// ```text
/// 6 % Processor Time
///   help 7
///     Share of time in which ...
///   help 189
///     Processor time of all threads ...
/// ```
///
/// Empty lines, and lines that begin with `#`, are skipped.
#[must_use]
pub fn parse_titles(language: LanguageId, text: &str) -> (ProvidedTitles, Vec<String>) {
    let mut titles =
        ProvidedTitles { language, names: TitleList::default(), help: TitleList::default() };
    let mut bad = Vec::new();
    // Whether the next line may continue a help text.
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

/// Adds a line of the form `index text`; returns whether the line has that form.
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
    fn unreadable_lines_are_returned() {
        let text =
            "2 System\n  help 3\n    One\n    two.\nx\n    lost\n  hlp 5\n# no\n\n  help x\n";
        let (titles, bad) = parse_titles(LanguageId::ENGLISH, text);
        assert_eq!(titles.help.titles[0].index, TitleIndex(3));
        assert_eq!(titles.help.titles[0].text, "One two.");
        assert_eq!(bad, ["x", "    lost", "  hlp 5", "  help x"]);
    }
}
