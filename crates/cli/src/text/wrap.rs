//! Breaks long texts into lines.

use super::escape::{escape_from, width};

/// Appends a text in lines of at most `columns`, each behind `indent` with at least 20 columns for
/// the text; a longer word has a line of its own. Line breaks in the text are kept, except blank
/// lines; other white space becomes single blanks.
pub(crate) fn push_wrapped(out: &mut String, text: &str, indent: &str, columns: usize) {
    let room = columns.saturating_sub(width(indent)).max(20);
    for paragraph in text.lines() {
        let mut used = 0;
        let start = out.len();
        for word in paragraph.split_whitespace() {
            let length = width(word);
            if used == 0 {
                out.push_str(indent);
            } else if used + 1 + length > room {
                out.push('\n');
                out.push_str(indent);
                used = 0;
            } else {
                out.push(' ');
                used += 1;
            }
            let at = out.len();
            out.push_str(word);
            escape_from(out, at);
            used += length;
        }
        if out.len() > start {
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_between_words() {
        let mut out = String::new();
        push_wrapped(&mut out, "one two  three four five six\n\nseven\x1b", "  ", 22);
        assert_eq!(out, "  one two three four\n  five six\n  seven\\x1b\n");
    }
}
