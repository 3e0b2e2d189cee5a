//! Names with wildcards, and the characters that paths are made of.

use crate::suggest::fold;
use std::fmt::{self, Write};

/// A name in which `*` stands for any text. Names are compared without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamePattern {
    /// The literal pieces, with a wildcard between each two. A name without a wildcard is one
    /// piece.
    pieces: Vec<String>,
}

/// One character of a path, whether a caret escapes it, and the offset in the path, in bytes, of
/// that caret or, without one, of the character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) c: char,
    pub(super) escaped: bool,
    pub(super) at: usize,
}

impl Token {
    /// Whether this is the character `c` with its special meaning: no caret stood before it.
    pub(super) fn is_bare(self, c: char) -> bool {
        self.c == c && !self.escaped
    }
}

/// The characters of a path, each with whether a caret stood before it. A caret before any
/// character but `\`, `(`, `)`, `/`, `#`, `*` and `^` stands for itself. A NUL character is an
/// error: its offset in the path, in bytes, and the message.
pub(super) fn tokens(path: &str) -> Result<Vec<Token>, (usize, &'static str)> {
    const SPECIAL: &str = "\\()/#*^";
    let mut tokens = Vec::with_capacity(path.len());
    let mut chars = path.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '^'
            && let Some((_, next)) = chars.next_if(|(_, next)| SPECIAL.contains(*next))
        {
            tokens.push(Token { c: next, escaped: true, at });
            continue;
        }
        if c == '\0' {
            return Err((at, "a NUL character"));
        }
        tokens.push(Token { c, escaped: false, at });
    }
    Ok(tokens)
}

impl NamePattern {
    /// A name as it stands, without wildcards.
    #[must_use]
    pub fn literal(name: &str) -> Self {
        Self { pieces: vec![name.to_string()] }
    }

    /// `*`: any name.
    #[must_use]
    pub fn any() -> Self {
        Self { pieces: vec![String::new(), String::new()] }
    }

    /// The name `text`, in which every `*` is a wildcard and no caret has a meaning.
    #[must_use]
    pub fn with_wildcards(text: &str) -> Self {
        Self { pieces: text.split('*').map(str::to_string).collect() }
    }

    pub(super) fn from_tokens(tokens: &[Token]) -> Self {
        let mut pieces = Vec::new();
        let mut piece = String::new();
        for token in tokens {
            if token.is_bare('*') {
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece.push(token.c);
            }
        }
        pieces.push(piece);
        Self { pieces }
    }

    /// Whether the name has a wildcard.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        self.pieces.len() > 1
    }

    /// Whether every name matches.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.is_wild() && self.pieces.iter().all(String::is_empty)
    }

    /// The name as text; `None` if it has a wildcard.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Whether a name matches, without regard to case.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        if self.is_any() {
            return true;
        }
        // The usual case needs no copies.
        if let [literal] = &*self.pieces
            && literal.is_ascii()
            && name.is_ascii()
        {
            return literal.eq_ignore_ascii_case(name);
        }
        let name = fold(name);
        let mut pieces = self.pieces.iter().map(|piece| fold(piece));
        let Some(first) = pieces.next() else {
            return false;
        };
        let Some(mut rest) = name.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some(last) = pieces.next_back() else {
            return rest.is_empty();
        };
        // Between the ends the earliest match of each piece is as good as any.
        for piece in pieces {
            match rest.find(piece.as_str()) {
                Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }

    /// One pattern that consists of this pattern, a slash, and `other`. It matches names with a
    /// slash before which this pattern matches and behind which `other` matches.
    pub(crate) fn joined_by_slash(&self, other: &Self) -> Self {
        let mut pieces = self.pieces.clone();
        let mut others = other.pieces.iter();
        if let (Some(last), Some(first)) = (pieces.last_mut(), others.next()) {
            last.push('/');
            last.push_str(first);
        }
        pieces.extend(others.cloned());
        Self { pieces }
    }

    fn literal_chars(&self) -> impl Iterator<Item = char> {
        self.pieces.iter().flat_map(|piece| piece.chars())
    }

    /// Whether any of `characters` is in the pattern, apart from wildcards.
    pub(crate) fn has_any(&self, characters: &str) -> bool {
        self.literal_chars().any(|c| characters.chars().any(|other| other == c))
    }

    pub(super) fn has_balanced_parentheses(&self) -> bool {
        let mut depth = 0i64;
        for c in self.literal_chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                return false;
            }
        }
        depth == 0
    }

    /// Whether the pattern can be written without a caret before a slash: it has no slash, or it
    /// has no wildcard and one slash, at its start or end, where a slash separates nothing. With
    /// `numbered`, an order number follows the name, so that only a slash at the start counts.
    pub(super) fn slash_only_at_an_end(&self, numbered: bool) -> bool {
        if self.is_wild() {
            return !self.literal_chars().any(|c| c == '/');
        }
        let name = self.pieces.first().map_or("", String::as_str);
        match name.matches('/').count() {
            0 => true,
            1 => name.starts_with('/') || (!numbered && name.ends_with('/')),
            _ => false,
        }
    }

    /// Whether the name ends in `#` and digits, or in `#` and a wildcard.
    pub(super) fn ends_like_an_order_number(&self) -> bool {
        let last = self.pieces.last().map_or("", String::as_str);
        if self.is_wild() && last.is_empty() {
            let before = self.pieces.iter().rev().nth(1).map_or("", String::as_str);
            return before.ends_with('#');
        }
        let digits = last.rsplit_once('#').map_or("", |(_, digits)| digits);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Writes a pattern with a caret before every character of `special`, and
/// before a `*` that is not a wildcard.
pub(super) fn write_escaped(
    f: &mut fmt::Formatter<'_>,
    pattern: &NamePattern,
    special: &str,
) -> fmt::Result {
    for (place, piece) in pattern.pieces.iter().enumerate() {
        if place > 0 {
            f.write_char('*')?;
        }
        for c in piece.chars() {
            if c == '*' || special.chars().any(|other| other == c) {
                f.write_char('^')?;
            }
            f.write_char(c)?;
        }
    }
    Ok(())
}

/// Writes the pattern with a caret only before `^` and before a `*` that is not a wildcard.
impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self, "^")
    }
}
