//! The symbol file of a definition: a C header with `#define`s that give the offsets of the names.

use super::error::{DefinitionError, Warnings};
use std::collections::HashMap;
use std::path::Path;

/// The longest value that is read as a number, in bytes.
const MAX_VALUE: usize = 200;

/// A symbol that the header defines as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) value: u32,
    pub(super) line: u32,
}

/// The symbols that a header defines. Everything else in the header is ignored.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    known: HashMap<String, Symbol>,
    /// The symbols that are defined, but not as a number: the line and the reason of each.
    unclear: HashMap<String, (u32, String)>,
}

impl Symbols {
    /// The symbol `name`; `None` if it is not defined as a number.
    pub(super) fn get(&self, name: &str) -> Option<Symbol> {
        self.known.get(name).copied()
    }

    /// The reason why a defined symbol has no number, with the line of its definition; `None` for
    /// any other symbol.
    pub(super) fn unclear(&self, name: &str) -> Option<(u32, &str)> {
        self.unclear.get(name).map(|(line, why)| (*line, why.as_str()))
    }

    /// Parses the text of a header; returns the symbols and warnings. Of several definitions of a
    /// symbol the last one with a value counts. `file` is for messages.
    pub(super) fn parse(file: &Path, text: &str) -> (Self, Vec<DefinitionError>) {
        let mut warnings = Warnings::new(file);
        let mut symbols = Self::default();
        for (line, directive) in directives(text) {
            let Some(rest) = directive.trim_start().strip_prefix('#') else { continue };
            let Some(rest) = rest.trim_start().strip_prefix("define") else { continue };
            if !rest.starts_with([' ', '\t']) {
                continue;
            }
            let rest = rest.trim();
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let (name, value) = rest.split_at(end);
            // A macro with arguments, or a guard without a value.
            if name.is_empty() || value.starts_with('(') || value.trim().is_empty() {
                continue;
            }
            match symbols.evaluate(value) {
                Ok(value) => {
                    symbols.unclear.remove(name);
                    let old = symbols.known.insert(name.to_string(), Symbol { value, line });
                    if let Some(old) = old.filter(|old| old.value != value) {
                        let message = format!(
                            "{name} is defined again: {value}, and {} in line {}; the later one \
                             counts",
                            old.value, old.line
                        );
                        warnings.add(Some(line), message);
                    }
                }
                Err(why) => {
                    symbols.known.remove(name);
                    symbols.unclear.insert(name.to_string(), (line, why));
                }
            }
        }
        (symbols, warnings.finish())
    }

    /// The value of an expression: a number, a symbol defined above, or a sum of these, in
    /// parentheses or not. `Err` is the reason why the expression has no value.
    fn evaluate(&self, text: &str) -> Result<u32, String> {
        let mut text = text.trim();
        if text.len() > MAX_VALUE {
            return Err(format!("its value has more than {MAX_VALUE} characters"));
        }
        while let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            // The outer parentheses of `(A) + (B)` are not a pair.
            if inner.find(')') < inner.find('(') {
                break;
            }
            text = inner.trim();
        }
        let mut sum = 0_u32;
        for part in text.split('+') {
            let part = part.trim().trim_matches(|c| c == '(' || c == ')').trim();
            let value = match part.chars().next() {
                Some(first) if first.is_ascii_digit() => number(part)
                    .ok_or_else(|| format!("{part} is not a number from 0 to {}", u32::MAX))?,
                Some(first) if first.is_alphabetic() || first == '_' => self
                    .get(part)
                    .map(|symbol| symbol.value)
                    .ok_or_else(|| format!("{part} is not defined above as a number"))?,
                _ => return Err(format!("{text:?} is not a number")),
            };
            sum = sum.checked_add(value).ok_or_else(|| format!("{text} is too large"))?;
        }
        Ok(sum)
    }
}

/// The value of a C integer: decimal, hexadecimal or octal, with or without U and L. `None` for any
/// other text, and for a number above `u32::MAX`.
fn number(text: &str) -> Option<u32> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok();
    }
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => u32::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}

/// The lines of a header as the preprocessor sees them: without comments, with
/// lines that end in a backslash joined; each with the number of its first line.
fn directives(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut pending: Option<(u32, String)> = None;
    let mut in_comment = false;
    for (place, line) in text.lines().enumerate() {
        let at = u32::try_from(place + 1).unwrap_or(u32::MAX);
        let (goes_on, line) = match line.trim_end().strip_suffix('\\') {
            Some(line) => (true, line),
            None => (false, line),
        };
        let (_, out) = pending.get_or_insert_with(|| (at, String::new()));
        strip_comments(line, &mut in_comment, out);
        out.push(' ');
        if !goes_on {
            found.extend(pending.take());
        }
    }
    found.extend(pending);
    found
}

/// Appends a line without its comments to `out`. `in_comment` says whether the line begins inside
/// `/* */`, and afterwards whether it ends inside.
fn strip_comments(mut line: &str, in_comment: &mut bool, out: &mut String) {
    loop {
        if *in_comment {
            let Some((_, rest)) = line.split_once("*/") else { return };
            *in_comment = false;
            line = rest;
        }
        // Each character is examined once: a line may have a million comments.
        let pairs = line.as_bytes().windows(2);
        let begin = pairs.zip(0..).find(|(pair, _)| *pair == b"/*" || *pair == b"//");
        let Some((pair, at)) = begin else { return out.push_str(line) };
        out.push_str(line.get(..at).unwrap_or_default());
        if pair == b"//" {
            return;
        }
        out.push(' ');
        *in_comment = true;
        line = line.get(at + 2..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_kind() {
        let header = "\u{feff}#ifndef H\n#define H\n# define\tA 0 // zero\n#define B 0x1Ful\n\
             #define C (B) /* same\nas B */\n#define D \\\n  A + 2\n#define M(x) 7\n\
             #define TEXT \"no\"\n#define E 010\n//#define F 1\n/* #define G 2 */\n#defineX 3\n\
             #define BIG 99999999999\n#define LATE LATER\n#define LATER 4\n#define A 6\n";
        let (symbols, warnings) = Symbols::parse(Path::new("x.h"), header);
        let value = |name: &str| symbols.get(name).map(|symbol| symbol.value);
        assert_eq!(value("B"), Some(31));
        assert_eq!(value("C"), Some(31));
        assert_eq!(value("D"), Some(2));
        assert_eq!(value("E"), Some(8));
        assert_eq!(value("LATER"), Some(4));
        for none in ["H", "M", "TEXT", "F", "G", "X", "BIG", "LATE"] {
            assert_eq!(value(none), None, "{none}");
        }
        assert_eq!(symbols.unclear("LATE").map(|(line, _)| line), Some(16));
        // Each comment is looked at once.
        let comments =
            format!("#define A {} 2 // {}\n", "/*/ */".repeat(1 << 20), "/*".repeat(1 << 20));
        let (many, _) = Symbols::parse(Path::new("x.h"), &comments);
        assert_eq!(many.get("A").map(|one| one.value), Some(2));
        let nested = format!("#define N {}1{}\n", "(".repeat(1 << 20), ")".repeat(1 << 20));
        let (deep, _) = Symbols::parse(Path::new("x.h"), &nested);
        assert!(deep.unclear("N").is_some_and(|(_, why)| why.contains("200")));
        assert!(symbols.unclear("BIG").is_some_and(|(_, why)| why.contains("99999999999")));
        // The line of a joined definition is its first.
        assert_eq!(symbols.get("D").map(|symbol| symbol.line), Some(7));
        assert_eq!(value("A"), Some(6));
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].line(), Some(18));
    }
}
