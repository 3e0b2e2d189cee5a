//! Title lists: the names and help texts behind the indexes in a block.
//!
//! Windows keeps them as `REG_MULTI_SZ`, in which indexes and texts alternate
//! (`2\0System\04\0Memory\0...`), under `Counter LLL` and `Help LLL` (or `Explain LLL`). Real lists
//! have gaps, empty texts, indexes that occur twice and stray strings. Reading keeps every pair
//! that can be recognised, and reports the strings that it skipped, except empty ones.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// The number under which a title list knows a name or help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TitleIndex(pub u32);

impl fmt::Display for TitleIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A language of a title list: Windows' primary language identifier, without a region. Written as
/// three hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanguageId(pub u16);

impl LanguageId {
    /// English, `009`: the language that every machine has.
    pub const ENGLISH: Self = Self(0x009);
    /// German, `007`.
    pub const GERMAN: Self = Self(0x007);

    /// Number, ISO 639 code and English name of the languages that Windows has title lists in.
    const NAMES: &'static [(u16, &'static str, &'static str)] = &[
        (0x001, "ar", "Arabic"),
        (0x002, "bg", "Bulgarian"),
        (0x004, "zh", "Chinese"),
        (0x005, "cs", "Czech"),
        (0x006, "da", "Danish"),
        (0x007, "de", "German"),
        (0x008, "el", "Greek"),
        (0x009, "en", "English"),
        (0x00A, "es", "Spanish"),
        (0x00B, "fi", "Finnish"),
        (0x00C, "fr", "French"),
        (0x00D, "he", "Hebrew"),
        (0x00E, "hu", "Hungarian"),
        (0x010, "it", "Italian"),
        (0x011, "ja", "Japanese"),
        (0x012, "ko", "Korean"),
        (0x013, "nl", "Dutch"),
        (0x014, "no", "Norwegian"),
        (0x015, "pl", "Polish"),
        (0x016, "pt", "Portuguese"),
        (0x018, "ro", "Romanian"),
        (0x019, "ru", "Russian"),
        (0x01B, "sk", "Slovak"),
        (0x01D, "sv", "Swedish"),
        (0x01E, "th", "Thai"),
        (0x01F, "tr", "Turkish"),
        (0x022, "uk", "Ukrainian"),
        (0x024, "sl", "Slovenian"),
    ];

    /// The ISO 639 code, such as `de`; `None` for a language that is not in the list of known ones.
    #[must_use]
    pub fn code(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(id, ..)| *id == self.0).map(|(_, code, _)| *code)
    }

    /// The language's English name; `None` for a language that is not in the list of known ones.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(id, ..)| *id == self.0).map(|(.., name)| *name)
    }
}

/// Writes three hexadecimal digits, as in `Counter 009`.
impl fmt::Display for LanguageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03X}", self.0)
    }
}

/// The error of a text that names no language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLanguage;

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a language: expected a code (en, de), a name (German) or a number (007)")
    }
}

impl core::error::Error for UnknownLanguage {}

/// Parses three or four hexadecimal digits (`007` or `0407`, of which only the primary language, 7,
/// is kept), an ISO code with or without a region (`de`, `de-DE`, `de_DE.UTF-8`) or an English
/// name, without regard to case.
impl FromStr for LanguageId {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        let text = text.trim();
        if (3..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return u16::from_str_radix(text, 16)
                .map(|id| Self(id & 0x3ff))
                .map_err(|_| UnknownLanguage);
        }
        let code = text.split(['-', '_', '.']).next().unwrap_or_default();
        Self::NAMES
            .iter()
            .find(|(_, iso, name)| {
                iso.eq_ignore_ascii_case(code) || name.eq_ignore_ascii_case(text)
            })
            .map(|(id, ..)| Self(*id))
            .ok_or(UnknownLanguage)
    }
}

/// One pair of a title list: an index and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The title index.
    pub index: TitleIndex,
    /// The name or help text; may be empty.
    pub text: String,
}

/// Something in a list that is not a pair; the pairs around it were kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TitleFault {
    /// The index, from 0, of the string that is wrong, or of the first such string for
    /// [`TitleFaultKind::More`]. For a fault at the end of the list, the number of the list's
    /// strings.
    pub string: usize,
    /// The kind of the fault.
    pub kind: TitleFaultKind,
}

/// The kinds of [`TitleFault`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TitleFaultKind {
    /// A string that should be an index is not a number, and was skipped. The first 64 characters
    /// of the string are kept, with an ellipsis if it was longer.
    NotAnIndex(String),
    /// The list ends behind this index, which therefore has no text.
    MissingText(TitleIndex),
    /// The bytes end in half a UTF-16 unit.
    OddLength,
    /// The last UTF-16 unit of the list is not a NUL. A single NUL at the end is accepted, and so
    /// is an empty list. The pairs are kept.
    MissingTerminator,
    /// Further strings that should be indexes are not numbers. Only their number is kept, not the
    /// strings.
    More(usize),
}

impl fmt::Display for TitleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.string;
        match &self.kind {
            TitleFaultKind::NotAnIndex(text) => {
                write!(f, "string {at}: {text:?} is not an index and was skipped")
            }
            TitleFaultKind::MissingText(index) => {
                write!(f, "string {at}: index {index} has no text")
            }
            TitleFaultKind::OddLength => {
                write!(f, "string {at}: the list ends in half a character")
            }
            TitleFaultKind::MissingTerminator => {
                write!(f, "string {at}: the list has no terminator")
            }
            TitleFaultKind::More(count) => {
                write!(f, "string {at}: {count} more are not indexes and were skipped")
            }
        }
    }
}

/// A title list as it was read: the pairs in their order, and the faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TitleList {
    /// The pairs in the order of the list. An index may occur more than once.
    pub titles: Vec<Title>,
    /// The parts of the list that were not pairs.
    pub faults: Vec<TitleFault>,
}

/// At most this many strings that are not indexes are kept as faults, since a hostile list may
/// consist of nothing else.
const STRAYS: usize = 64;
/// At most this many characters are kept of a string that is not an index.
const STRAY_LENGTH: usize = 64;

impl From<Vec<Title>> for TitleList {
    /// A list without faults.
    fn from(titles: Vec<Title>) -> Self {
        Self { titles, faults: Vec::new() }
    }
}

impl TitleList {
    /// The number of faults, including those that were only counted ([`TitleFaultKind::More`]).
    #[must_use]
    pub fn fault_count(&self) -> usize {
        let count = |fault: &TitleFault| match fault.kind {
            TitleFaultKind::More(count) => count,
            _ => 1,
        };
        self.faults.iter().map(count).sum()
    }

    /// Reads a list from `REG_MULTI_SZ` bytes, UTF-16 little endian. Reading never fails: strings
    /// that are no pairs are in [`faults`](Self::faults), except empty ones. Lone surrogates become
    /// U+FFFD.
    #[must_use]
    pub fn from_multi_sz(bytes: &[u8]) -> Self {
        let units: Vec<u16> =
            bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
        let terminated = units.is_empty() || units.last() == Some(&0);
        let body = units.strip_suffix(&[0]).unwrap_or(&units);
        let mut list = Self::default();
        let mut count = 0;
        if !body.is_empty() {
            let strings = body.split(|unit| *unit == 0).map(String::from_utf16_lossy);
            count = list.pair(strings);
        }
        if bytes.len() % 2 == 1 {
            list.faults.push(TitleFault { string: count, kind: TitleFaultKind::OddLength });
        }
        if !terminated {
            let kind = TitleFaultKind::MissingTerminator;
            list.faults.push(TitleFault { string: count, kind });
        }
        list
    }

    /// Reads a text with one string a line, in which indexes and names alternate, as title lists
    /// are kept in files. A byte order mark at the start and a `\r` at the end of a line are
    /// ignored.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut list = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        list.pair(text.lines().map(ToString::to_string));
        list
    }

    /// Makes pairs of index and text from the strings and adds them to the list. Strings that are
    /// skipped and not empty become faults: the first [`STRAYS`] of them one each, all others
    /// together one. Returns the number of all strings.
    fn pair(&mut self, strings: impl Iterator<Item = String>) -> usize {
        let mut pending = None;
        let mut count = 0;
        let (mut strays, mut first_more) = (0, 0);
        for (at, string) in strings.enumerate() {
            count = at + 1;
            match pending.take() {
                Some(index) => self.titles.push(Title { index, text: string }),
                // An empty string in place of an index is a gap or the end.
                None if string.is_empty() => {}
                None => match parse_index(&string) {
                    Some(index) => pending = Some(index),
                    None => {
                        if strays < STRAYS {
                            let kind = TitleFaultKind::NotAnIndex(shortened(string));
                            self.faults.push(TitleFault { string: at, kind });
                        } else if strays == STRAYS {
                            first_more = at;
                        }
                        strays += 1;
                    }
                },
            }
        }
        if strays > STRAYS {
            let kind = TitleFaultKind::More(strays - STRAYS);
            self.faults.push(TitleFault { string: first_more, kind });
        }
        if let Some(index) = pending {
            let kind = TitleFaultKind::MissingText(index);
            self.faults.push(TitleFault { string: count, kind });
        }
        count
    }

    /// Writes the pairs as `REG_MULTI_SZ` bytes. A NUL within a text is left out.
    #[must_use]
    pub fn to_multi_sz(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |text: &str| {
            bytes.extend(text.encode_utf16().filter(|u| *u != 0).flat_map(u16::to_le_bytes));
            bytes.extend([0, 0]);
        };
        for title in &self.titles {
            push(&title.index.to_string());
            push(&title.text);
        }
        bytes.extend([0, 0]);
        bytes
    }

    /// Writes the pairs as text, one string a line. A line break within a text becomes a blank.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for title in &self.titles {
            out.push_str(&title.index.to_string());
            out.push('\n');
            // A line break inside a text would shift every pair after it.
            out.extend(title.text.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
            out.push('\n');
        }
        out
    }
}

/// The first `STRAY_LENGTH` characters of a string, with an ellipsis if it was longer.
fn shortened(text: String) -> String {
    match text.char_indices().nth(STRAY_LENGTH) {
        Some(_) => text.chars().take(STRAY_LENGTH).chain(['…']).collect(),
        None => text,
    }
}

fn parse_index(text: &str) -> Option<TitleIndex> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok().map(TitleIndex) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::encode_utf16;
    use alloc::format;

    fn list(text: &str) -> TitleList {
        TitleList::from_multi_sz(&encode_utf16(text))
    }

    fn pairs(list: &TitleList) -> Vec<(u32, &str)> {
        list.titles.iter().map(|t| (t.index.0, t.text.as_str())).collect()
    }

    #[test]
    fn edge_case_23_title_lists_with_faults() {
        let good = list("1\x001847\x002\0System\0\0");
        assert_eq!(pairs(&good), [(1, "1847"), (2, "System")]);
        assert!(good.faults.is_empty());

        // An empty text in the middle, then on.
        let empty = list("2\0\x004\0Memory\0\0");
        assert_eq!(pairs(&empty), [(2, ""), (4, "Memory")]);

        // A gap (double terminator) between pairs.
        let gap = list("2\0System\0\x004\0Memory\0\0");
        assert_eq!(pairs(&gap), [(2, "System"), (4, "Memory")]);

        // A stray string is skipped and named.
        let stray = list("2\0System\0junk\x004\0Memory\0\0");
        assert_eq!(pairs(&stray), [(2, "System"), (4, "Memory")]);
        assert_eq!(stray.faults.len(), 1);
        assert_eq!(stray.faults[0].string, 2);

        // Doubles are kept in order.
        let double = list("2\0A\x002\0B\x004\0A\0\0");
        assert_eq!(pairs(&double), [(2, "A"), (2, "B"), (4, "A")]);

        // An odd number of strings, no terminator, half a character.
        let odd = list("2\0System\x004\0");
        assert_eq!(odd.faults[0].kind, TitleFaultKind::MissingText(TitleIndex(4)));
        assert_eq!(list("2\0Sys").faults[0].kind, TitleFaultKind::MissingTerminator);
        let half = TitleList::from_multi_sz(&[b'2', 0, 0]);
        assert_eq!(half.faults.len(), 3);
        for nothing in ["", "\0", "\0\0", "\0\0\0"] {
            assert_eq!(list(nothing), TitleList::default(), "{nothing:?}");
        }
    }

    /// Skipped strings are counted to the end of the list, and only some of them are kept.
    #[test]
    fn strays_without_end_are_counted_and_take_no_memory_each() {
        let strays = 1_000;
        let text = "x\0".repeat(strays) + "2\0System\0" + &"y".repeat(1_000) + "\x004\0";
        let list = list(&text);
        assert_eq!(pairs(&list), [(2, "System")]);
        // 64, the rest of them, and the index without a text.
        assert_eq!(list.faults.len(), 66);
        assert_eq!(list.fault_count(), strays + 2);
        assert_eq!(list.faults[63].string, 63);
        let more = &list.faults[64];
        assert_eq!((more.string, &more.kind), (64, &TitleFaultKind::More(strays + 1 - 64)));
        assert_eq!(more.to_string(), "string 64: 937 more are not indexes and were skipped");
        let kept: usize = list.faults.iter().map(|fault| fault.to_string().len()).sum();
        assert!(kept < 66 * 200, "{kept}");
        let long = self::list(&("y".repeat(1_000) + "\0"));
        assert_eq!(long.fault_count(), 1);
        let words = format!("string 0: \"{}…\" is not an index and was skipped", "y".repeat(64));
        assert_eq!(long.faults[0].to_string(), words);
    }

    #[test]
    fn lists_round_trip() {
        let text = "2\nSystem\n4\nSpeicher Ä 🦀\n6\n\n";
        let list = TitleList::from_text(text);
        assert_eq!(list.to_text(), text);
        assert_eq!(TitleList::from_multi_sz(&list.to_multi_sz()), list);
        assert_eq!(TitleList::from_text("\u{feff}2\r\nSystem\r\n").titles, list.titles[..1]);
    }

    #[test]
    fn languages() {
        for (text, id) in
            [("de", 7), ("German", 7), ("007", 7), ("0407", 7), ("de_DE.UTF-8", 7), ("en-US", 9)]
        {
            assert_eq!(text.parse(), Ok(LanguageId(id)), "{text}");
        }
        assert!("klingon".parse::<LanguageId>().is_err());
        assert_eq!(LanguageId::GERMAN.to_string(), "007");
        assert_eq!(LanguageId::GERMAN.name(), Some("German"));
    }
}
