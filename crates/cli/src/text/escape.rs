//! Escapes names, which come from elsewhere: a process may have any name. Characters that could
//! control a terminal, or reverse a line, are shown as `\n`, `\x1b`, `\u{202e}`.

use std::fmt::{self, Write as _};
use unicode_width::UnicodeWidthStr;

/// Whether a character may do more than be shown: control a terminal, hide, or change the direction
/// of text.
pub(crate) fn is_unsafe(c: char) -> bool {
    match c {
        ' '..='~' => false,
        // Marks and overrides of direction, line and paragraph separators,
        // joiners that hide, the byte order mark, tags.
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{61c}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        // C0, DEL, C1.
        c => c.is_control(),
    }
}

/// A path or an address, quoted for this system's shell if necessary.
pub(crate) fn shell_path(text: &str) -> String {
    let marks = if cfg!(windows) { "-_./:\\" } else { "-_./:" };
    match text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c)) {
        true => text.to_string(),
        false => shell_word(text),
    }
}

/// A name, quoted for the shells of Windows if necessary, on every system.
pub(crate) fn windows_word(name: &str) -> String {
    word_for(name, true)
}

/// A name, quoted for this system's shell if necessary.
pub(crate) fn shell_word(name: &str) -> String {
    word_for(name, cfg!(windows))
}

/// A name, quoted if necessary: if `windows` is true in double quotes, which both shells of Windows know, otherwise
/// in single quotes, in which fewer characters have a meaning.
fn word_for(name: &str, windows: bool) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if plain && !name.is_empty() {
        return name.to_string();
    }
    match windows {
        true => format!("\"{}\"", Escaped(&name.replace('"', "\\\""))),
        false => format!("'{}'", Escaped(&name.replace('\'', "'\\''"))),
    }
}

/// Writes a character, or its escape if it is unsafe or a control character.
fn write_char(out: &mut impl fmt::Write, c: char) -> fmt::Result {
    match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..='\x1f' | '\x7f' => write!(out, "\\x{:02x}", c as u32),
        c if is_unsafe(c) => write!(out, "\\u{{{:x}}}", c as u32),
        c => out.write_char(c),
    }
}

/// Shows a text with its unsafe characters escaped.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) {
            return f.write_str(self.0);
        }
        self.0.chars().try_for_each(|c| write_char(f, c))
    }
}

/// Escapes the unsafe characters of `text` from the byte `start` on.
pub(crate) fn escape_from(text: &mut String, start: usize) {
    let new = text.get(start..).unwrap_or_default();
    if is_plain(new) || !new.chars().any(is_unsafe) {
        return;
    }
    let new = new.to_string();
    text.truncate(start);
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", Escaped(&new));
}

/// Whether a text has only printable ASCII characters, so that each is one column wide.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The width of a text in columns of a terminal.
pub(crate) fn width(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

/// A text if it is at most `room` columns wide, otherwise as much of its beginning as leaves a column for an
/// ellipsis; and whether anything was cut off.
pub(crate) fn clip(text: &str, room: usize) -> (&str, bool) {
    if width(text) <= room {
        return (text, false);
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    // Longer heads are wider; the text may be of millions of characters.
    let head = |end: &usize| text.get(..*end).unwrap_or_default();
    let count = ends.partition_point(|end| width(head(end)) < room);
    (ends.get(..count).and_then(<[_]>::last).map(head).unwrap_or_default(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        for (name, unix, windows) in [
            ("Memory", "Memory", "Memory"),
            ("Print Shop", "'Print Shop'", "\"Print Shop\""),
            ("it's 7\"", "'it'\\''s 7\"'", "\"it's 7\\\"\""),
            ("", "''", "\"\""),
        ] {
            assert_eq!((&*word_for(name, false), &*word_for(name, true)), (unix, windows));
        }
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(shell_path("file:/tmp/a-b_c.d"), "file:/tmp/a-b_c.d");
        let quote = if cfg!(windows) { '"' } else { '\'' };
        assert_eq!(shell_path("file:/Max M/a"), format!("{quote}file:/Max M/a{quote}"));
    }

    #[test]
    fn control_characters_are_shown() {
        let shown = |text: &str| Escaped(text).to_string();
        assert_eq!(shown("plain (1) – ü 🦀"), "plain (1) – ü 🦀");
        assert_eq!(shown("a\nb\tc\r"), "a\\nb\\tc\\r");
        assert_eq!(shown("\x1b[2J\x07\x7f"), "\\x1b[2J\\x07\\x7f");
        assert_eq!(shown("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(shown("cod.exe\u{202e}gpj"), "cod.exe\\u{202e}gpj");
        let mut text = "\x1bkept".to_string();
        escape_from(&mut text, 1);
        assert_eq!(text, "\x1bkept");
        text.push('\x1b');
        escape_from(&mut text, 5);
        assert_eq!(text, "\x1bkept\\x1b");
    }

    #[test]
    fn clipping_counts_wide_characters_as_two() {
        assert_eq!(clip("abcdef", 6), ("abcdef", false));
        assert_eq!(clip("abcdef", 4), ("abc", true));
        assert_eq!(clip("日本語", 4), ("日", true));
        assert_eq!(clip("abc", 0), ("", true));
    }
}
