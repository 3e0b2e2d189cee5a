//! The values in a hive's lines: numbers, and texts in quotation marks.

use super::MAX_TEXT;
use std::fmt::Write as _;

/// A value: a number, or strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(u32),
    Strings(Vec<String>),
}

impl Value {
    /// Parses a value: a number, or texts in quotation marks with commas between them. `Err` says
    /// why it is neither.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('"') {
            let number = text.parse().map_err(|_| {
                format!(
                    "{text:?} is neither a number up to {} nor a text in quotation marks",
                    u32::MAX
                )
            })?;
            return Ok(Self::Number(number));
        }
        let mut strings = Vec::new();
        let mut rest = text;
        loop {
            let (string, behind) = unquote(rest)?;
            strings.push(string);
            let behind = behind.trim_start();
            if behind.is_empty() {
                return Ok(Self::Strings(strings));
            }
            rest = behind
                .strip_prefix(',')
                .map(str::trim_start)
                .ok_or_else(|| format!("{behind:?} follows a text without a comma between them"))?;
        }
    }

    pub(super) fn number(&self) -> Result<u32, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Strings(_) => Err("is a text and should be a number".to_string()),
        }
    }

    /// The only text of the value; a number and several texts are errors.
    pub(super) fn text(&self) -> Result<String, String> {
        match self {
            Self::Strings(strings) if strings.len() == 1 => Ok(strings.concat()),
            Self::Strings(_) => Err("is several texts and should be one".to_string()),
            Self::Number(_) => Err("is a number and should be a text".to_string()),
        }
    }

    pub(super) fn strings(&self) -> Result<&[String], String> {
        match self {
            Self::Strings(strings) => Ok(strings),
            Self::Number(_) => Err("is a number and should be texts".to_string()),
        }
    }
}

/// Reads the text in quotation marks with which `text` begins. Returns it without the marks and
/// with its escapes replaced, and the part of `text` behind it. `Err` says why there is no such
/// text.
fn unquote(text: &str) -> Result<(String, &str), String> {
    let body = text.strip_prefix('"').ok_or_else(|| format!("{text:?} has no quotation mark"))?;
    let mut made = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                if made.len() > MAX_TEXT {
                    return Err(format!("is a text of more than {MAX_TEXT} bytes"));
                }
                return Ok((made, body.get(at + 1..).unwrap_or_default()));
            }
            '\\' => match chars.next().map(|(_, c)| c) {
                Some(c @ ('\\' | '"')) => made.push(c),
                Some('n') => made.push('\n'),
                Some('r') => made.push('\r'),
                Some('t') => made.push('\t'),
                Some('u') => {
                    let digits: String = chars.by_ref().take(6).map(|(_, c)| c).collect();
                    let code = Some(&digits).filter(|text| text.len() == 6);
                    let code = code.and_then(|text| u32::from_str_radix(text, 16).ok());
                    let c = code.and_then(char::from_u32).ok_or_else(|| {
                        format!("\\u{digits} is not a character; six hexadecimal digits are")
                    })?;
                    made.push(c);
                }
                _ => return Err("after a backslash only \\ \" n r t u may stand".to_string()),
            },
            c => made.push(c),
        }
    }
    Err("a text has no end; a quotation mark ends it".to_string())
}

/// Writes a text in quotation marks. Escaped are quotation marks, backslashes, control characters
/// (also line breaks and tabs), line and paragraph separators, byte order marks, and characters that
/// change the direction of a line.
pub(super) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Invisible characters, and those that change the direction of a line.
            c if c.is_control()
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}') =>
            {
                let _ = write!(out, "\\u{:06x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
