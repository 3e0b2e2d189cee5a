//! Allots title indexes, and makes the files that Windows' own loader reads.

use perfhive_engine::ProvidedTitles;
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_registry::BASE_INDEX;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The title indexes of one registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allotted {
    pub(crate) first_counter: u32,
    pub(crate) last_counter: u32,
    pub(crate) first_help: u32,
    pub(crate) last_help: u32,
}

/// Allots title indexes to titles with these offsets, behind the last indexes of the machine and
/// [`BASE_INDEX`]. Names get even indexes, and help texts the odd indexes after them. `None` if no
/// indexes are left.
pub(crate) fn allot(
    last_counter: u32,
    last_help: u32,
    titles: &[ProvidedTitles],
) -> Option<Allotted> {
    let highest = |list: fn(&ProvidedTitles) -> &TitleList| {
        titles.iter().flat_map(|t| &list(t).titles).map(|title| title.index.0).max().unwrap_or(0)
    };
    let last = last_counter.max(last_help).max(BASE_INDEX);
    let first_counter = last.checked_add(1)?.checked_next_multiple_of(2)?;
    let first_help = first_counter.checked_add(1)?;
    Some(Allotted {
        first_counter,
        last_counter: first_counter.checked_add(highest(|titles| &titles.names))?,
        first_help,
        last_help: first_help.checked_add(highest(|titles| &titles.help))?,
    })
}

/// The titles of `list` together with the titles of `more`, which get indexes from `first` on.
/// Titles of `list` that have these indexes are replaced.
pub(crate) fn added(list: &TitleList, more: &TitleList, first: u32) -> TitleList {
    let moved = more.titles.iter().filter_map(|title| {
        let index = TitleIndex(first.checked_add(title.index.0)?);
        Some(Title { index, text: title.text.clone() })
    });
    let moved: Vec<Title> = moved.collect();
    let kept = list.titles.iter().filter(|old| moved.iter().all(|new| new.index != old.index));
    let mut titles: Vec<Title> = kept.cloned().collect();
    titles.extend(moved.iter().cloned());
    titles.sort_by_key(|title| title.index);
    TitleList::from(titles)
}

/// The titles of a list without those with indexes from `first` to `last`, both included.
pub(crate) fn removed(list: &TitleList, first: u32, last: u32) -> TitleList {
    let kept = list.titles.iter().filter(|title| !(first..=last).contains(&title.index.0));
    TitleList::from(kept.cloned().collect::<Vec<_>>())
}

/// The titles of a list as index and text in turn, separated by NUL: the content of a
/// `REG_MULTI_SZ`, without the NULs at its end. An empty text, and a NUL within a text, becomes a
/// space: an empty text would end the list, and a NUL would shift all later entries.
pub(crate) fn multi_sz(list: &TitleList) -> String {
    let mut text = String::new();
    for title in &list.titles {
        let clean = title.text.replace('\0', " ");
        let clean = if clean.is_empty() { " " } else { clean.as_str() };
        let end = if text.is_empty() { "" } else { "\0" };
        let _ = write!(text, "{end}{}\0{clean}", title.index);
    }
    text
}

/// The files that `lodctr` reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    /// The `.ini` file: UTF-16 with a byte order mark. An empty line stands before the first section,
    /// because old readers find no section in the line that begins with the mark.
    pub(crate) ini: Vec<u8>,
    /// The `.h` file, in ASCII.
    pub(crate) header: Vec<u8>,
}

/// The files that register titles, in the form that .NET's installer writes and every version of
/// Windows reads: the `.ini` file in UTF-16, the `.h` file in ASCII. `header` is the name of the `.h`
/// file in the same folder, `objects` are the offsets of objects.
pub(crate) fn files(name: &str, header: &str, objects: &[u32], titles: &[ProvidedTitles]) -> Files {
    let mut ini =
        format!("\r\n[info]\r\ndrivername={name}\r\nsymbolfile={header}\r\n\r\n[languages]\r\n");
    for titles in titles {
        let language = titles.language;
        let _ = write!(ini, "{language}={}\r\n", language.name().unwrap_or("Other"));
    }
    // Without this section `lodctr` logs an error event.
    ini.push_str("\r\n[objects]\r\n");
    let english = titles.iter().filter(|titles| titles.language == LanguageId::ENGLISH);
    for title in english.flat_map(|titles| &titles.names.titles) {
        let (offset, text) = (title.index.0, one_line(&title.text));
        if objects.contains(&offset) {
            let text = quoted(&text);
            let _ = write!(ini, "TITLE_{offset}_{}_NAME={text}\r\n", LanguageId::ENGLISH);
        }
    }
    ini.push_str("\r\n[text]\r\n");
    for titles in titles {
        for (list, what) in [(&titles.names, "NAME"), (&titles.help, "HELP")] {
            for title in &list.titles {
                let (offset, text) = (title.index.0, one_line(&title.text));
                let text = quoted(&text);
                let _ = write!(ini, "TITLE_{offset}_{}_{what}={text}\r\n", titles.language);
            }
        }
    }
    let mut symbols = String::new();
    for offset in offsets(titles) {
        let _ = write!(symbols, "#define TITLE_{offset} {offset}\r\n");
    }
    let units = [0xfeff].into_iter().chain(ini.encode_utf16());
    Files { ini: units.flat_map(u16::to_le_bytes).collect(), header: symbols.into_bytes() }
}

/// The offsets that have a name or a help text in any language.
fn offsets(titles: &[ProvidedTitles]) -> BTreeSet<u32> {
    let all = titles.iter().flat_map(|t| t.names.titles.iter().chain(&t.help.titles));
    all.map(|title| title.index.0).collect()
}

/// A text with a space in place of each control character, line ends included, for an `.ini` file.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A text as the value of a line of an `.ini` file. Windows' profile functions remove one pair of
/// quotation marks around a value. So a text in such a pair (double or single, blanks at the ends not
/// counted) loses these blanks and gets a further pair of double quotation marks around it. Any other
/// text stays as it is.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    let is_quoted =
        |mark| trimmed.len() > 1 && trimmed.starts_with(mark) && trimmed.ends_with(mark);
    match is_quoted('"') || is_quoted('\'') {
        true => format!("\"{trimmed}\"").into(),
        false => text.into(),
    }
}

/// The reason why titles cannot be registered; `None` if they can be. English titles are required.
/// Offsets must be even, since help texts take the odd numbers, and have no gap from 0 on, as
/// Windows documents for the constants of a `.h` file.
pub(crate) fn objection(titles: &[ProvidedTitles]) -> Option<String> {
    if titles.iter().all(|titles| titles.language != LanguageId::ENGLISH) {
        return Some("the titles have no English texts, which every machine needs".to_string());
    }
    let mut all = titles.iter().flat_map(|t| t.names.titles.iter().chain(&t.help.titles));
    if let Some(odd) = all.find(|title| title.index.0 % 2 != 0) {
        return Some(format!(
            "offset {} of {:?} is odd: offsets count by two",
            odd.index, odd.text
        ));
    }
    let missing = (0..).step_by(2).zip(offsets(titles)).find(|(wanted, offset)| wanted != offset);
    missing.map(|(wanted, offset)| {
        format!(
            "offset {wanted} has neither name nor help text, and {offset} has: Windows takes \
             offsets that count by two from 0, without a gap"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_testkit::script::titles;

    fn bees() -> Vec<ProvidedTitles> {
        vec![
            ProvidedTitles::new(
                LanguageId::ENGLISH,
                titles(&[(0, "Beekeeping"), (2, "Bees")]),
                titles(&[(0, "Hives."), (2, "How many\nthere are.")]),
            ),
            ProvidedTitles::new(
                LanguageId::GERMAN,
                titles(&[(0, "Imkerei"), (2, "Bienen – süß")]),
                titles(&[]),
            ),
        ]
    }

    #[test]
    fn new_titles_get_the_indexes_after_the_last_ones() {
        let allotted = allot(0, 0, &bees()).unwrap();
        assert_eq!((allotted.first_counter, allotted.last_counter), (1848, 1850));
        assert_eq!((allotted.first_help, allotted.last_help), (1849, 1851));
        assert_eq!(allot(1850, 1851, &bees()).unwrap().first_counter, 1852);
        assert_eq!(allot(5001, 0, &bees()).unwrap().first_counter, 5002);
        assert_eq!(allot(u32::MAX - 2, 0, &bees()), None);
        assert_eq!(allot(u32::MAX, 0, &bees()), None);
    }

    #[test]
    fn added_titles_are_removed_by_their_range() {
        let list = titles(&[(2, "System"), (4, "")]);
        let with = added(&list, &bees()[0].names, 1848);
        let text = multi_sz(&with);
        assert_eq!(text.replace('\0', "|"), "2|System|4| |1848|Beekeeping|1850|Bees");
        assert_eq!(removed(&with, 1848, 1850), list);
        assert_eq!(added(&with, &bees()[0].names, 1848), with, "twice is once");
        let units = text.encode_utf16().chain([0, 0]).flat_map(u16::to_le_bytes);
        let back = TitleList::from_multi_sz(&units.collect::<Vec<u8>>());
        assert_eq!(back.titles.last(), with.titles.last());
    }

    /// Byte for byte as the installer of .NET writes them: UTF-16 with its mark and an
    /// empty first line, and ASCII.
    #[test]
    fn loader_files_equal_those_of_the_installer_of_dotnet() {
        let Files { ini, header } = files("Bees", "bees.h", &[0], &bees());
        assert_eq!(&ini[..10], b"\xff\xfe\r\0\n\0[\0i\0");
        let units: Vec<u16> =
            ini[2..].as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        assert_eq!(units.len() * 2 + 2, ini.len());
        let text = String::from_utf16(&units).unwrap();
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "",
                "[info]",
                "drivername=Bees",
                "symbolfile=bees.h",
                "",
                "[languages]",
                "009=English",
                "007=German",
                "",
                "[objects]",
                "TITLE_0_009_NAME=Beekeeping",
                "",
                "[text]",
                "TITLE_0_009_NAME=Beekeeping",
                "TITLE_2_009_NAME=Bees",
                "TITLE_0_009_HELP=Hives.",
                "TITLE_2_009_HELP=How many there are.",
                "TITLE_0_007_NAME=Imkerei",
                "TITLE_2_007_NAME=Bienen – süß",
            ]
        );
        assert_eq!(header, b"#define TITLE_0 0\r\n#define TITLE_2 2\r\n");
    }

    #[test]
    fn a_text_in_quotation_marks_gets_a_second_pair() {
        for (text, written) in [
            ("\"Bees\"", "\"\"Bees\"\""),
            (" 'Bees' ", "\"'Bees'\""),
            ("\"\"", "\"\"\"\""),
            ("\"", "\""),
            ("\"Bees'", "\"Bees'"),
            ("The \"Bees\"", "The \"Bees\""),
            ("", ""),
        ] {
            assert_eq!(quoted(text), written);
        }
        let one = ProvidedTitles::new(
            LanguageId::ENGLISH,
            titles(&[(0, "'Bees'")]),
            titles(&[(0, "\"Hives\"")]),
        );
        let ini = files("Bees", "bees.h", &[0], &[one]).ini;
        let units: Vec<u16> = ini.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
        let text = String::from_utf16(&units).unwrap();
        assert_eq!(text.matches("_NAME=\"'Bees'\"\r\n").count(), 2, "{text}");
        assert!(text.ends_with("_HELP=\"\"Hives\"\"\r\n"), "{text}");
    }

    #[test]
    fn titles_without_english_or_with_bad_offsets_are_refused() {
        assert_eq!(objection(&bees()), None);
        assert!(objection(&bees()[1..]).unwrap().contains("English"));
        let mut odd = bees();
        odd[0].names = titles(&[(0, "Beekeeping"), (3, "Bees")]);
        assert!(objection(&odd).unwrap().contains("offset 3 of \"Bees\""));
        for (offsets, told) in [([2, 4], "offset 0 has neither"), ([0, 6], "offset 2 has neither")]
        {
            let mut gap = bees();
            gap.truncate(1);
            gap[0].names = titles(&[(offsets[0], "Beekeeping"), (offsets[1], "Bees")]);
            gap[0].help = titles(&[]);
            assert!(objection(&gap).unwrap().contains(told), "{offsets:?}");
        }
        // One language may lack titles that another has.
        let mut whole = bees();
        whole[1].names = titles(&[(4, "Honig")]);
        assert_eq!(objection(&whole), None);
    }
}
