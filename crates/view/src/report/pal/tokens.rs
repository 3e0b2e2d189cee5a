//! The tokens of PAL's scripts.

/// The kind of a token, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    /// `$name`: the name in lower case.
    Variable(String),
    /// `$name.Count`: the name in lower case.
    Count(String),
    /// `$name.Substring`, `$name.ToUpper` or `$name.ToLower`: the name and the method in lower
    /// case.
    Method(String, &'static str),
    /// A word, `-word` or `::word`, with its signs, in lower case.
    Word(String),
    /// The text between single or double quotes.
    Text(String),
    /// `[name]`: the name in lower case.
    Cast(String),
    Sign(char),
}

/// A token of a script.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The token as it was written, for messages.
    pub(super) text: String,
    /// Whether the token is the first of its line: a statement ends before it.
    pub(super) begins_line: bool,
}

/// The tokens of a script, without comments, or an error that names the text that is no token.
pub(super) fn tokens(code: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    for line in code.lines() {
        let mut rest = line.trim_start();
        let mut begins_line = true;
        while !rest.is_empty() && !rest.starts_with('#') {
            let (kind, length) = token(rest)?;
            let text = rest.get(..length).unwrap_or_default().to_string();
            tokens.push(Token { kind, text, begins_line: std::mem::take(&mut begins_line) });
            rest = rest.get(length..).unwrap_or_default().trim_start();
        }
    }
    Ok(tokens)
}

/// The first token of a text, and its length in bytes; an error if the text does not begin with a token.
fn token(text: &str) -> Result<(Kind, usize), String> {
    let unknown = || format!("uses {:?}", text.chars().take(20).collect::<String>());
    let first = text.chars().next().ok_or_else(unknown)?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let while_name = |text: &str| text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let lower = |text: &str| text.to_lowercase();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    match first {
        '$' if text.starts_with("$(") => Ok((Kind::Sign('('), 2)),
        '$' => {
            let end = 1 + while_name(part(1, text.len()));
            let name = lower(part(1, end));
            let next = part(end, text.len());
            let count = next.get(..6).filter(|word| word.eq_ignore_ascii_case(".count"));
            if count.is_some() && while_name(part(end + 1, text.len())) == 5 {
                return Ok((Kind::Count(name), end + 6));
            }
            let method = next.strip_prefix('.').map_or("", |next| &next[..while_name(next)]);
            let mut methods = ["substring", "toupper", "tolower"].into_iter();
            if let Some(known) = methods.find(|known| method.eq_ignore_ascii_case(known)) {
                return Ok((Kind::Method(name, known), end + 1 + method.len()));
            }
            if name.is_empty() || next.starts_with(['.', '[', ':']) {
                return Err(unknown());
            }
            Ok((Kind::Variable(name), end))
        }
        '0'..='9' | '.' => number(text).ok_or_else(unknown),
        '\'' | '"' => {
            let end = part(1, text.len()).find(first).ok_or_else(unknown)?;
            let inside = part(1, 1 + end);
            // In double quotes, `$` and a backtick have a meaning of their own.
            if inside.contains(['$', '`']) {
                return Err(unknown());
            }
            Ok((Kind::Text(inside.to_string()), end + 2))
        }
        '[' => {
            let end = text.find(']').ok_or_else(unknown)?;
            Ok((Kind::Cast(lower(part(1, end).trim())), end + 1))
        }
        ':' if text.starts_with("::") => {
            let end = 2 + while_name(part(2, text.len()));
            Ok((Kind::Word(lower(part(0, end))), end))
        }
        '-' if part(1, text.len()).starts_with(char::is_alphabetic) => {
            let end = 1 + while_name(part(1, text.len()));
            Ok((Kind::Word(lower(part(0, end))), end))
        }
        '(' | ')' | '{' | '}' | '+' | '-' | '*' | '/' | '=' | ';' | ',' => {
            Ok((Kind::Sign(first), 1))
        }
        c if c.is_alphabetic() => {
            let end = while_name(text);
            Ok((Kind::Word(lower(part(0, end))), end))
        }
        _ => Err(unknown()),
    }
}

/// The number at the beginning of a text, multiplied by its suffix, and its length in bytes with
/// the suffix; `None` for digits that are no number, and for an unknown suffix.
fn number(text: &str) -> Option<(Kind, usize)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text.get(..digits)?.parse().ok()?;
    let rest = text.get(digits..)?;
    let letters = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let power = match rest.get(..letters)?.to_ascii_lowercase().as_str() {
        "" => 0,
        "kb" => 1,
        "mb" => 2,
        "gb" => 3,
        "tb" => 4,
        // Such as `x10` of a hexadecimal number, or an exponent.
        _ => return None,
    };
    Some((Kind::Number(value * 1024_f64.powi(power)), digits + letters))
}
