//! An interpreter for the thresholds of PAL: the small part of PowerShell that most of them consist of.
//!
//! It knows assignments, `+ - * /`, parentheses, casts to whole and other numbers, numbers with
//! `KB` to `TB`, `[Math]::Round`, `If`, `ElseIf` and `Else` with comparisons joined by `-and` or
//! `-or`, `switch`, texts with `-eq`, `-ne`, `.ToUpper()`, `.ToLower()` and `.Substring()`, the
//! number of a collection's instances (`.Count`), and the call of `StaticThreshold`. Anything else
//! is an error that names it: nothing is guessed.

use super::tokens::{Kind, Token, tokens};
use crate::report::threshold::Comparison;
use std::collections::HashMap;

/// A call of `StaticThreshold` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// The name of the collection's variable, in lower case.
    pub(super) collection: String,
    pub(super) comparison: Comparison,
    pub(super) limit: f64,
    pub(super) is_trend: bool,
}

/// The source of the values that a script does not compute itself: a recording, and answers.
pub(super) trait World {
    /// The number of instances of the collection with this variable (its name in lower case); `None`
    /// if there is no such collection, or its counters cannot be found.
    fn count(&mut self, collection: &str) -> Option<f64>;

    /// The number in a variable that the script does not set, or the reason why there is none.
    /// `name` is in lower case.
    fn variable(&mut self, name: &str) -> Result<f64, String>;

    /// The text of a variable that the script does not set, or the reason why there is none. `name`
    /// is in lower case.
    fn text(&mut self, name: &str) -> Result<String, String>;
}

/// The most levels of nested blocks and parentheses; a script with more is not run.
const DEEPEST: usize = 32;

/// Runs a script. Returns its calls in their order, or the reason why it cannot be run.
pub(super) fn run(code: &str, world: &mut dyn World) -> Result<Vec<Call>, String> {
    let tokens = tokens(code)?;
    let mut script = Script {
        tokens: &tokens,
        at: 0,
        depth: 0,
        variables: HashMap::new(),
        texts: HashMap::new(),
        calls: Vec::new(),
        world,
    };
    while script.peek().is_some() {
        script.statement(true)?;
    }
    Ok(script.calls)
}

/// The type to which a value is converted when it is assigned or cast.
#[derive(Clone, Copy, PartialEq)]
enum NumberType {
    Any,
    Int,
    Long,
}

impl NumberType {
    /// The type with this name in lower case, with or without `system.`; an error for any other
    /// type.
    fn of(name: &str) -> Result<Self, String> {
        match name.strip_prefix("system.").unwrap_or(name) {
            "int" | "int32" => Ok(Self::Int),
            "long" | "int64" => Ok(Self::Long),
            "double" | "float" | "single" | "decimal" => Ok(Self::Any),
            _ => Err(format!("uses \"[{name}]\"")),
        }
    }

    /// The value in this type: for `Int` and `Long` rounded as PowerShell does, to the nearest
    /// whole number, halves to even. An error for a number farther from zero than 2^31 - 1 for `Int`,
    /// and than 2^53 for `Long`.
    fn apply(self, value: f64) -> Result<f64, String> {
        let limit = match self {
            Self::Any => return Ok(value),
            Self::Int => f64::from(i32::MAX),
            Self::Long => 9_007_199_254_740_992.0,
        };
        let rounded = value.round_ties_even();
        match rounded.abs() <= limit {
            true => Ok(rounded),
            false => Err(format!("makes a whole number of {value}, which is too large")),
        }
    }
}

/// A script that is being run: its tokens, the place `at` of the next one, and what it has set and
/// called so far.
struct Script<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    variables: HashMap<String, (f64, NumberType)>,
    texts: HashMap<String, String>,
    calls: Vec<Call>,
    world: &'a mut dyn World,
}

impl Script<'_> {
    /// The next token, which is not taken; `None` at the end.
    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    /// Takes the next token; `None` at the end.
    fn take(&mut self) -> Option<Kind> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token.kind.clone())
    }

    /// The error for the next token, or for the end of the script.
    fn unexpected(&self) -> String {
        match self.tokens.get(self.at) {
            Some(token) => format!("uses {:?}", token.text),
            None => "ends in the middle of a statement".to_string(),
        }
    }

    fn is_sign(&self, sign: char) -> bool {
        self.peek() == Some(&Kind::Sign(sign))
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Kind::Word(found)) if found == word)
    }

    /// Takes a sign; an error if the next token is another.
    fn skip(&mut self, sign: char) -> Result<(), String> {
        if !self.is_sign(sign) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    /// Counts one more level of nesting; an error if these are more than [`DEEPEST`].
    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST { Err("is nested too deeply".to_string()) } else { Ok(()) }
    }

    /// Reads a statement, and runs it if `does` is true.
    fn statement(&mut self, does: bool) -> Result<(), String> {
        match self.peek() {
            Some(Kind::Sign(';')) => self.skip(';'),
            Some(Kind::Cast(_) | Kind::Variable(_)) => self.assignment(does),
            Some(Kind::Word(word)) if word == "if" => self.conditional(does),
            Some(Kind::Word(word)) if word == "switch" => self.switch(does),
            Some(Kind::Word(word)) if word == "staticthreshold" => self.call(does),
            _ => Err(self.unexpected()),
        }
    }

    /// Reads `$name = value`, with or without a type in front, and sets the variable if `does` is
    /// true.
    fn assignment(&mut self, does: bool) -> Result<(), String> {
        let kind = match self.peek() {
            Some(Kind::Cast(name)) => {
                let kind = NumberType::of(name)?;
                self.at += 1;
                Some(kind)
            }
            _ => None,
        };
        let Some(Kind::Variable(name)) = self.peek().cloned() else {
            return Err(self.unexpected());
        };
        self.at += 1;
        self.skip('=')?;
        if let Some(text) = self.text(does)? {
            if does {
                self.variables.remove(&name);
                self.texts.insert(name, text);
            }
            return Ok(());
        }
        let value = self.sum(does)?;
        if does {
            let before = self.variables.get(&name).map(|(_, kind)| *kind);
            let kind = kind.or(before).unwrap_or(NumberType::Any);
            self.texts.remove(&name);
            self.variables.insert(name, (kind.apply(value)?, kind));
        }
        Ok(())
    }

    /// Reads `if (condition) { ... }` with its `elseif` and `else`, and runs the chosen block if
    /// `does` is true.
    fn conditional(&mut self, does: bool) -> Result<(), String> {
        self.at += 1;
        self.skip('(')?;
        let holds = self.condition(does)?;
        self.skip(')')?;
        self.block(does && holds)?;
        if self.is_word("elseif") {
            return self.conditional(does && !holds);
        }
        if self.is_word("else") {
            self.at += 1;
            self.block(does && !holds)?;
        }
        Ok(())
    }

    /// Reads `switch (value) { label { ... } ... default { ... } }`. If `does` is true, runs the
    /// block of each label that equals the value, or the default block if no label does.
    fn switch(&mut self, does: bool) -> Result<(), String> {
        self.deeper()?;
        self.at += 1;
        self.skip('(')?;
        let text = self.text(does)?;
        let number = if text.is_none() { self.sum(does)? } else { 0.0 };
        self.skip(')')?;
        self.skip('{')?;
        let mut is_done = false;
        while !self.is_sign('}') {
            let is_default = self.is_word("default");
            let holds = match self.take() {
                Some(Kind::Text(label)) => text.as_ref().is_some_and(|text| is_same(text, &label)),
                Some(Kind::Number(label)) => {
                    text.is_none() && Comparison::Equal.holds(number, label)
                }
                _ if is_default => !is_done,
                _ => return Err(self.unexpected_before()),
            };
            is_done |= holds;
            self.block(does && holds)?;
            // PowerShell runs the default last wherever it stands; here it would run too early, so
            // it is refused before other labels.
            if is_default && !self.is_sign('}') {
                return Err("has a \"default\" in front of other labels".to_string());
            }
        }
        self.depth -= 1;
        self.skip('}')
    }

    /// Takes the text at this place; `None` if no text begins here. Unless `does` is true, a
    /// variable's text is not looked up, and is empty.
    fn text(&mut self, does: bool) -> Result<Option<String>, String> {
        let start = self.at;
        if self.peek() == Some(&Kind::Cast("string".to_string())) {
            self.at += 1;
        }
        let text = match self.peek().cloned() {
            Some(Kind::Text(text)) => {
                self.at += 1;
                text
            }
            Some(Kind::Method(name, method)) => {
                self.at += 1;
                let text = if does { self.text_of(&name)? } else { String::new() };
                self.changed(&text, method, does)?
            }
            Some(Kind::Variable(name)) if self.is_text(&name) => {
                self.at += 1;
                if does { self.text_of(&name)? } else { String::new() }
            }
            _ if self.at > start => return Err(self.unexpected_before()),
            _ => return Ok(None),
        };
        Ok(Some(text))
    }

    /// The text of a variable, from the script if it sets one, otherwise from the world.
    fn text_of(&mut self, name: &str) -> Result<String, String> {
        match self.texts.get(name) {
            Some(text) => Ok(text.clone()),
            None => self.world.text(name),
        }
    }

    /// Whether the variable at this place has a text, or is compared with a text.
    fn is_text(&self, name: &str) -> bool {
        let kind = |behind: usize| self.tokens.get(self.at + behind).map(|token| &token.kind);
        self.texts.contains_key(name)
            || matches!((kind(1), kind(2)), (Some(Kind::Word(_)), Some(Kind::Text(_))))
    }

    /// The text that the method `method` returns for `text`. The method's arguments are read here: none, or `(start,
    /// length)` of a part.
    fn changed(&mut self, text: &str, method: &str, does: bool) -> Result<String, String> {
        self.skip('(')?;
        let changed = match method {
            "toupper" => text.to_uppercase(),
            "tolower" => text.to_lowercase(),
            _ => {
                let start = self.sum(does)?;
                self.skip(',')?;
                let length = self.sum(does)?;
                let (from, count) = (start.max(0.0) as usize, length.max(0.0) as usize);
                let part: String = text.chars().skip(from).take(count).collect();
                if does && part.chars().count() != count {
                    return Err(format!("takes more letters than {text:?} has"));
                }
                part
            }
        };
        self.skip(')')?;
        Ok(changed)
    }

    /// Reads statements in braces, and runs them if `does` is true.
    fn block(&mut self, does: bool) -> Result<(), String> {
        self.deeper()?;
        self.skip('{')?;
        while !self.is_sign('}') {
            self.statement(does)?;
        }
        self.depth -= 1;
        self.skip('}')
    }

    /// Reads a condition and returns whether it holds, always `false` unless `does` is true: `a -gt
    /// b`, or several comparisons with `-and` or `-or` between them, joined from the left. As in PowerShell, a comparison
    /// is not calculated if those before it decide.
    fn condition(&mut self, does: bool) -> Result<bool, String> {
        let mut holds = self.comparison(does)?;
        while let Some(Kind::Word(word)) = self.peek() {
            let is_and = match word.as_str() {
                "-and" => true,
                "-or" => false,
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            let is_open = holds == is_and;
            let next = self.comparison(does && is_open)?;
            holds = if is_open { next } else { holds };
        }
        Ok(holds)
    }

    /// Reads a comparison of two numbers or two texts, or a condition in parentheses, and returns
    /// whether it holds; always `false` unless `does` is true.
    fn comparison(&mut self, does: bool) -> Result<bool, String> {
        let start = self.at;
        if self.is_sign('(') {
            // The parenthesis holds a condition, or it begins a sum.
            let depth = self.depth;
            self.deeper()?;
            self.at += 1;
            let inside = self.condition(does).and_then(|holds| self.skip(')').map(|()| holds));
            self.depth = depth;
            if inside.is_ok() {
                return inside;
            }
            self.at = start;
        }
        let text = self.text(does)?;
        let left = if text.is_none() { self.sum(does)? } else { 0.0 };
        let comparison = match self.peek() {
            Some(Kind::Word(word)) => comparison(word.trim_start_matches('-')),
            _ => None,
        };
        let comparison = comparison.ok_or_else(|| self.unexpected())?;
        if let Some(text) = text {
            let is_equal = match comparison {
                Comparison::Equal => true,
                Comparison::Other => false,
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            let right = self.text(does)?.ok_or_else(|| self.unexpected())?;
            return Ok(does && is_same(&text, &right) == is_equal);
        }
        self.at += 1;
        let right = self.sum(does)?;
        Ok(does && comparison.holds(left, right))
    }

    /// The value of products with `+` or `-` between them, calculated from the left; 0 unless `does` is true. An error
    /// if the value is infinite or no number.
    fn sum(&mut self, does: bool) -> Result<f64, String> {
        let mut value = self.product(does)?;
        while let Some(sign) = self.operator(['+', '-']) {
            let next = self.product(does)?;
            value = if sign == '+' { value + next } else { value - next };
        }
        self.finite(value)
    }

    /// The value of factors with `*` or `/` between them, calculated from the left; 0 unless `does` is true. An error
    /// if the value is infinite or no number.
    fn product(&mut self, does: bool) -> Result<f64, String> {
        let mut value = self.factor(does)?;
        while let Some(sign) = self.operator(['*', '/']) {
            let next = self.factor(does)?;
            value = if sign == '*' { value * next } else { value / next };
        }
        if does { self.finite(value) } else { Ok(0.0) }
    }

    /// The value, or an error if it is infinite or no number.
    fn finite(&self, value: f64) -> Result<f64, String> {
        if value.is_finite() { Ok(value) } else { Err("divides by zero".to_string()) }
    }

    /// Takes an operator that is one of two signs; `None` if the next token is neither of them, or
    /// begins a line.
    fn operator(&mut self, signs: [char; 2]) -> Option<char> {
        let token = self.tokens.get(self.at).filter(|token| !token.begins_line)?;
        match token.kind {
            Kind::Sign(sign) if signs.contains(&sign) => {
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    /// The value of a number, a variable, a count, a call of `::Round` or a sum in parentheses,
    /// with any minus signs and casts before it. Unless `does` is true, variables and counts are not
    /// looked up, and are 0.
    fn factor(&mut self, does: bool) -> Result<f64, String> {
        self.deeper()?;
        let token = self.peek().cloned();
        self.at += 1;
        let value = match token {
            Some(Kind::Number(value)) => Ok(value),
            Some(Kind::Sign('-')) => self.factor(does).map(|value| -value),
            Some(Kind::Cast(name)) if matches!(name.as_str(), "math" | "system.math") => {
                self.round(does)
            }
            Some(Kind::Cast(name)) => {
                let kind = NumberType::of(&name)?;
                self.factor(does).and_then(|value| kind.apply(value))
            }
            Some(Kind::Sign('(')) => {
                let value = self.sum(does)?;
                self.skip(')').map(|()| value)
            }
            Some(Kind::Count(_) | Kind::Variable(_)) if !does => Ok(0.0),
            Some(Kind::Count(name)) => {
                let why = || format!("counts \"${name}\", which is not counters of the log");
                self.world.count(&name).ok_or_else(why)
            }
            Some(Kind::Variable(name)) if !self.texts.contains_key(&name) => {
                match self.variables.get(&name) {
                    Some((value, _)) => Ok(*value),
                    None => self.world.variable(&name),
                }
            }
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        };
        self.depth -= 1;
        value
    }

    /// The value of `::Round(value)` or `::Round(value, decimals)`, which rounds halves to even.
    fn round(&mut self, does: bool) -> Result<f64, String> {
        if !self.is_word("::round") {
            return Err(self.unexpected());
        }
        self.at += 1;
        self.skip('(')?;
        let value = self.sum(does)?;
        let decimals = match self.is_sign(',') {
            true => {
                self.at += 1;
                self.sum(does)?.clamp(0.0, 15.0)
            }
            false => 0.0,
        };
        self.skip(')')?;
        let factor = 10_f64.powf(decimals.trunc());
        Ok((value * factor).round_ties_even() / factor)
    }

    /// Reads a call of `StaticThreshold` with its arguments, and keeps it if `does` is true.
    fn call(&mut self, does: bool) -> Result<(), String> {
        self.at += 1;
        let (mut collection, mut sign, mut limit, mut is_trend) = (None, None, None, false);
        while let Some(token) = self.tokens.get(self.at).filter(|token| !token.begins_line) {
            let Kind::Word(option) = token.kind.clone() else { break };
            self.at += 1;
            match option.as_str() {
                "-collectionofcounterinstances" => match self.take() {
                    Some(Kind::Variable(name)) => collection = Some(name),
                    _ => return Err(self.unexpected_before()),
                },
                "-operator" => match self.take() {
                    Some(Kind::Text(word) | Kind::Word(word)) => sign = comparison(&word),
                    _ => return Err(self.unexpected_before()),
                },
                "-threshold" => limit = Some(self.factor(does)?),
                "-istrendonly" => match self.take() {
                    Some(Kind::Variable(name)) if name == "true" => is_trend = true,
                    Some(Kind::Variable(name)) if name == "false" => is_trend = false,
                    _ => return Err(self.unexpected_before()),
                },
                _ => return Err(self.unexpected_before()),
            }
        }
        let (Some(collection), Some(comparison), Some(limit)) = (collection, sign, limit) else {
            return Err("calls StaticThreshold without all it needs".to_string());
        };
        if does {
            self.calls.push(Call { collection, comparison, limit, is_trend });
        }
        Ok(())
    }

    /// The error for the token that was taken last.
    fn unexpected_before(&mut self) -> String {
        self.at -= 1;
        self.unexpected()
    }
}

/// Whether two texts are equal to PowerShell, which ignores case.
fn is_same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// The comparison of the word for an operator, such as `gt`; `None` for another word.
fn comparison(word: &str) -> Option<Comparison> {
    Some(match word.to_ascii_lowercase().as_str() {
        "gt" => Comparison::Greater,
        "ge" => Comparison::AtLeast,
        "lt" => Comparison::Less,
        "le" => Comparison::AtMost,
        "eq" => Comparison::Equal,
        "ne" => Comparison::Other,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
