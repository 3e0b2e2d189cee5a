//! Counter paths: `\\machine\object(parent/instance#n)\counter`.
//!
//! The syntax is PDH's. Every part may hold `*`, which stands for any text. `#n` picks the n-th
//! (from 0) of several instances of one name, in the order of the sample, and `#*` picks all of
//! them. Without either, the first is meant. `#n` without a name is an instance without a name.
//!
//! Names are compared without regard to case, but if an instance has exactly the name that is
//! written, it alone is meant. If no instance matches, `#n` is taken as the end of the name itself.
//! If none matches that either, names are compared as PDH prints them: `[R]` for `(R)`.
//!
//! `\Process(pid:1234)\...` is the process with that ID, and `\Thread(pid:1234/*)\...` are its
//! threads, whatever other processes are called. With an order number, as in `pid:1234#0`, the text
//! is a name.
//!
//! PDH cannot write every name. Here a caret takes away the special meaning of the character behind
//! it: `^\`, `^(`, `^)`, `^/`, `^#`, `^*`, `^^`. A caret is seldom needed: parentheses in pairs, a
//! `/` at the start of a name, and `#` not followed by digits are taken as they stand. What
//! [`CounterPath`] prints parses to the same path again.

mod pattern;

pub use pattern::NamePattern;

use pattern::{Token, write_escaped};
use std::fmt;
use std::str::FromStr;

/// A parsed counter path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CounterPath {
    /// The machine; `None` for the default source of a query.
    pub machine: Option<NamePattern>,
    /// The object.
    pub object: NamePattern,
    /// The instance; `None` for a path without an instance part, to an object without instances.
    pub instance: Option<InstancePattern>,
    /// The counter.
    pub counter: NamePattern,
}

/// The instance part of a path, in parentheses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstancePattern {
    /// The name of the parent instance; `None` if the path names no parent.
    pub parent: Option<NamePattern>,
    /// The instance's name.
    pub name: NamePattern,
    /// Which of several instances of the name is meant.
    pub order: OrderNumber,
}

/// The choice among several instances of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderNumber {
    /// No number is written: the first instance of the name is meant; with a wildcard, all
    /// instances that match.
    Default,
    /// `#n`: the n-th instance of the name, from 0.
    Nth(u32),
    /// `#*`: all instances of the name.
    All,
}

impl InstancePattern {
    /// The pattern `*`, without a parent.
    #[must_use]
    pub fn any() -> Self {
        Self { parent: None, name: NamePattern::any(), order: OrderNumber::Default }
    }

    /// The pattern of exactly this parent, name and order.
    #[must_use]
    pub fn literal(parent: Option<&str>, name: &str, order: u32) -> Self {
        Self {
            parent: parent.map(NamePattern::literal),
            name: NamePattern::literal(name),
            // An empty name can be written only with its number, and `pid:4` is a name only with
            // it.
            order: match order {
                0 if !name.is_empty() && id_in(parent.unwrap_or(name)).is_none() => {
                    OrderNumber::Default
                }
                order => OrderNumber::Nth(order),
            },
        }
    }

    /// The process ID in `pid:1234` and `pid:1234/thread`. `None` for any other pattern, and with
    /// an order number, which makes such a text a name.
    #[must_use]
    pub fn process_id(&self) -> Option<u64> {
        let text = self.parent.as_ref().unwrap_or(&self.name).as_literal()?;
        id_in(text).filter(|_| self.order == OrderNumber::Default)
    }

    /// Whether the instance's or the parent's name has a wildcard. The order number does not count,
    /// even if it is `#*`.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        self.name.is_wild() || self.parent.as_ref().is_some_and(NamePattern::is_wild)
    }
}

/// The number in a text such as `pid:1234` or `PID:1234`; `None` for any other text.
fn id_in(text: &str) -> Option<u64> {
    text.strip_prefix("pid:").or_else(|| text.strip_prefix("PID:"))?.parse().ok()
}

impl CounterPath {
    /// The path of a counter of the default source. The names `object` and `counter` are taken
    /// literally, without wildcards.
    #[must_use]
    pub fn new(object: &str, instance: Option<InstancePattern>, counter: &str) -> Self {
        Self {
            machine: None,
            object: NamePattern::literal(object),
            instance,
            counter: NamePattern::literal(counter),
        }
    }

    /// Whether the path has a wildcard in any part, or `#*`, so that it may mean more than one
    /// counter.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        let wild =
            |pattern: &Option<NamePattern>| pattern.as_ref().is_some_and(NamePattern::is_wild);
        wild(&self.machine)
            || self.object.is_wild()
            || self.counter.is_wild()
            || self.instance.as_ref().is_some_and(|i| i.is_wild() || i.order == OrderNumber::All)
    }
}

/// The error of a text that is not a counter path: what is wrong, and where in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    path: String,
    at: usize,
    message: &'static str,
}

impl PathError {
    /// The offset in the text, in bytes, at which it is wrong.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The message that says what is wrong with the text, without the text itself.
    #[must_use]
    pub fn message(&self) -> &'static str {
        self.message
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} (at character {}); expected \\Object(Instance)\\Counter",
            self.path,
            self.message,
            self.path.get(..self.at).map_or(0, |head| head.chars().count()) + 1
        )
    }
}

impl std::error::Error for PathError {}

impl FromStr for CounterPath {
    type Err = PathError;

    fn from_str(path: &str) -> Result<Self, PathError> {
        parse(path).map_err(|(at, message)| PathError { path: path.to_string(), at, message })
    }
}

/// An error of the parser: the offset in the text, in bytes, at which it is wrong, and the message.
type Fault = (usize, &'static str);

fn parse(path: &str) -> Result<CounterPath, Fault> {
    let tokens = pattern::tokens(path)?;
    let is = |token: Option<&Token>, c: char| token.is_some_and(|token| token.is_bare(c));
    let end = path.len();
    let at = |place: usize| tokens.get(place).map_or(end, |token| token.at);
    if tokens.is_empty() {
        return Err((0, "the path is empty"));
    }
    if !is(tokens.first(), '\\') {
        return Err((0, "a path begins with a backslash"));
    }
    let mut place = 1;
    let mut machine = None;
    if is(tokens.get(1), '\\') {
        let start = 2;
        let length = tokens.iter().skip(start).position(|token| token.is_bare('\\'));
        let stop = start + length.ok_or((end, "the object is missing behind the machine"))?;
        machine = Some(name(&tokens[start..stop]).ok_or((at(start), "the machine is empty"))?);
        place = stop + 1;
    }
    let start = place;
    while tokens.get(place).is_some_and(|token| !token.is_bare('\\') && !token.is_bare('(')) {
        if is(tokens.get(place), ')') {
            return Err((at(place), "a closing parenthesis without an opening one"));
        }
        place += 1;
    }
    let object = name(&tokens[start..place]).ok_or((at(start), "the object is empty"))?;
    let mut instance = None;
    if is(tokens.get(place), '(') {
        let open = place;
        let mut depth = 0usize;
        let close = loop {
            match tokens.get(place) {
                None => return Err((at(open), "the parenthesis is never closed")),
                Some(token) if token.is_bare('(') => depth += 1,
                Some(token) if token.is_bare(')') => {
                    depth -= 1;
                    if depth == 0 {
                        break place;
                    }
                }
                Some(_) => {}
            }
            place += 1;
        };
        instance = Some(instance_part(&tokens[open + 1..close], at(open + 1))?);
        place = close + 1;
    }
    match tokens.get(place) {
        None => return Err((end, "the counter is missing")),
        Some(token) if token.is_bare('\\') => place += 1,
        Some(token) => return Err((token.at, "a backslash must follow the parenthesis")),
    }
    let rest = &tokens[place..];
    if let Some(token) = rest.iter().find(|token| token.is_bare('\\')) {
        return Err((token.at, "a backslash in the counter's name (write ^\\ for a real one)"));
    }
    let counter = name(rest).ok_or((at(place), "the counter is empty"))?;
    Ok(CounterPath { machine, object, instance, counter })
}

/// The name that the tokens make; `None` if there are no tokens.
fn name(tokens: &[Token]) -> Option<NamePattern> {
    if tokens.is_empty() { None } else { Some(NamePattern::from_tokens(tokens)) }
}

/// The instance part that the tokens between the parentheses make. `at` is its offset in the path,
/// in bytes, for the error if there is nothing between the parentheses.
fn instance_part(tokens: &[Token], at: usize) -> Result<InstancePattern, Fault> {
    let empty = (at, "the instance is empty");
    if tokens.is_empty() {
        return Err(empty);
    }
    // `#n` or `#*` at the end. If nothing stands before it, the name is empty.
    let mut name_tokens = tokens;
    let mut order = OrderNumber::Default;
    if let Some(hash) = tokens.iter().rposition(|token| token.is_bare('#')) {
        let tail = &tokens[hash + 1..];
        let digits: String = tail.iter().map(|token| token.c).collect();
        let is_number =
            !tail.is_empty() && tail.iter().all(|token| !token.escaped && token.c.is_ascii_digit());
        if is_number {
            let number = digits.parse();
            let too_high = (tokens[hash].at, "the number behind # is too high");
            order = OrderNumber::Nth(number.map_err(|_| too_high)?);
            name_tokens = &tokens[..hash];
        } else if tail.len() == 1 && tail.iter().all(|token| token.is_bare('*')) {
            order = OrderNumber::All;
            name_tokens = &tokens[..hash];
        }
    }
    // The last slash with text on both sides separates the parent from the instance.
    let numbered = order != OrderNumber::Default;
    let slash = name_tokens.iter().rposition(|token| token.is_bare('/'));
    let (parent, own) = match slash {
        Some(slash) if slash > 0 && (numbered || slash + 1 < name_tokens.len()) => {
            (name(&name_tokens[..slash]), &name_tokens[slash + 1..])
        }
        _ => (None, name_tokens),
    };
    let name = match name(own) {
        None if !numbered => return Err(empty),
        own => own.unwrap_or_else(|| NamePattern::literal("")),
    };
    Ok(InstancePattern { parent, name, order })
}

impl fmt::Display for CounterPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(machine) = &self.machine {
            f.write_str("\\\\")?;
            write_escaped(f, machine, "\\^")?;
        }
        f.write_str("\\")?;
        write_escaped(f, &self.object, "\\^()")?;
        if let Some(instance) = &self.instance {
            write!(f, "({instance})")?;
        }
        f.write_str("\\")?;
        write_escaped(f, &self.counter, "\\^")
    }
}

impl fmt::Display for InstancePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let balanced = |pattern: &NamePattern| pattern.has_balanced_parentheses();
        if let Some(parent) = &self.parent {
            // A slash in the parent need not be escaped: the last one counts.
            let special = if balanced(parent) { "\\^" } else { "\\^()" };
            write_escaped(f, parent, special)?;
            f.write_str("/")?;
        }
        // A backslash inside parentheses is safe for the parser but not for a
        // reader that splits at it; it is escaped everywhere.
        let numbered = self.order != OrderNumber::Default;
        let lone_slash = self.parent.is_none() && self.name.slash_only_at_an_end(numbered);
        let special = match (balanced(&self.name), lone_slash) {
            (true, true) => "\\^",
            (true, false) => "\\^/",
            (false, true) => "\\^()",
            (false, false) => "\\^()/",
        };
        if numbered || self.name.ends_like_an_order_number() {
            write_escaped(f, &self.name, &format!("{special}#"))?;
        } else {
            write_escaped(f, &self.name, special)?;
        }
        match self.order {
            // A path with nothing between the parentheses would not parse.
            OrderNumber::Default if self.name.as_literal() == Some("") => f.write_str("#0"),
            OrderNumber::Default => Ok(()),
            OrderNumber::Nth(order) => write!(f, "#{order}"),
            OrderNumber::All => f.write_str("#*"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
