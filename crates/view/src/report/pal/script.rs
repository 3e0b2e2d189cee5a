//! An interpreter for the thresholds of PAL: the small part of PowerShell that most of them consist of.
//!
//! It knows assignments, `+ - * /`, parentheses, casts to whole and other numbers, numbers with `KB` to
//! `TB`, `[Math]::Round`, `If` and `Else`, the number of a collection's instances (`.Count`), and the call
//! of `StaticThreshold`. Anything else is an error that names it: nothing is guessed.

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

/// Where a script gets the values that it does not compute itself.
pub(super) trait World {
    /// The number of instances of a collection, by its variable in lower case; `None` where there is no
    /// such collection.
    fn count(&mut self, collection: &str) -> Option<f64>;

    /// The value of a variable that the script does not set, or why there is none.
    fn variable(&mut self, name: &str) -> Result<f64, String>;
}

/// How deep blocks and parentheses may be nested.
const DEEPEST: usize = 32;

/// Runs a script. Returns its calls in their order, or the reason why it cannot be run.
pub(super) fn run(code: &str, world: &mut dyn World) -> Result<Vec<Call>, String> {
    let tokens = tokens(code)?;
    let mut script = Script {
        tokens: &tokens,
        at: 0,
        depth: 0,
        variables: HashMap::new(),
        calls: Vec::new(),
        world,
    };
    while script.peek().is_some() {
        script.statement(true)?;
    }
    Ok(script.calls)
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(f64),
    /// `$name`, in lower case.
    Variable(String),
    /// `$name.Count`.
    Count(String),
    /// A word or `-word`, in lower case.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// `[name]`, in lower case.
    Cast(String),
    Sign(char),
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    /// The token as it was written, for messages.
    text: String,
    /// Whether the token is the first of its line: a statement ends before it.
    begins_line: bool,
}

fn tokens(code: &str) -> Result<Vec<Token>, String> {
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

/// The first token of a text, and its length in bytes; an error if the text begins otherwise.
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

/// The number at the beginning of a text, multiplied by its suffix, and its length in bytes; `None` for
/// an unknown suffix.
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

/// The type to which a value is converted when it is assigned or cast.
#[derive(Clone, Copy, PartialEq)]
enum NumberType {
    Any,
    Int,
    Long,
}

impl NumberType {
    fn of(name: &str) -> Result<Self, String> {
        match name.strip_prefix("system.").unwrap_or(name) {
            "int" | "int32" => Ok(Self::Int),
            "long" | "int64" => Ok(Self::Long),
            "double" | "float" | "single" | "decimal" => Ok(Self::Any),
            _ => Err(format!("uses \"[{name}]\"")),
        }
    }

    /// The value in this type. Whole numbers are rounded as PowerShell does: to the nearest, halves to even.
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

struct Script<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    variables: HashMap<String, (f64, NumberType)>,
    calls: Vec<Call>,
    world: &'a mut dyn World,
}

impl Script<'_> {
    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn take(&mut self) -> Option<Kind> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token.kind.clone())
    }

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

    fn skip(&mut self, sign: char) -> Result<(), String> {
        if !self.is_sign(sign) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

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
            Some(Kind::Word(word)) if word == "staticthreshold" => self.call(does),
            _ => Err(self.unexpected()),
        }
    }

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
        let value = self.sum(does)?;
        if does {
            let before = self.variables.get(&name).map(|(_, kind)| *kind);
            let kind = kind.or(before).unwrap_or(NumberType::Any);
            self.variables.insert(name, (kind.apply(value)?, kind));
        }
        Ok(())
    }

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

    fn block(&mut self, does: bool) -> Result<(), String> {
        self.deeper()?;
        self.skip('{')?;
        while !self.is_sign('}') {
            self.statement(does)?;
        }
        self.depth -= 1;
        self.skip('}')
    }

    /// Reads a condition and returns whether it holds: `a -gt b`, or several comparisons in parentheses with
    /// `-and` or `-or` between them.
    fn condition(&mut self, does: bool) -> Result<bool, String> {
        let mut holds = self.comparison(does)?;
        while let Some(Kind::Word(word)) = self.peek() {
            let is_and = match word.as_str() {
                "-and" => true,
                "-or" => false,
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            let next = self.comparison(does)?;
            holds = if is_and { holds && next } else { holds || next };
        }
        Ok(holds)
    }

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
        let left = self.sum(does)?;
        let comparison = match self.peek() {
            Some(Kind::Word(word)) => comparison(word.trim_start_matches('-')),
            _ => None,
        };
        let comparison = comparison.ok_or_else(|| self.unexpected())?;
        self.at += 1;
        let right = self.sum(does)?;
        Ok(does && comparison.holds(left, right))
    }

    fn sum(&mut self, does: bool) -> Result<f64, String> {
        let mut value = self.product(does)?;
        while let Some(sign) = self.operator(['+', '-']) {
            let next = self.product(does)?;
            value = if sign == '+' { value + next } else { value - next };
        }
        self.finite(value)
    }

    fn product(&mut self, does: bool) -> Result<f64, String> {
        let mut value = self.factor(does)?;
        while let Some(sign) = self.operator(['*', '/']) {
            let next = self.factor(does)?;
            value = if sign == '*' { value * next } else { value / next };
        }
        if does { self.finite(value) } else { Ok(0.0) }
    }

    fn finite(&self, value: f64) -> Result<f64, String> {
        if value.is_finite() { Ok(value) } else { Err("divides by zero".to_string()) }
    }

    /// Takes an operator that is one of these signs; `None` if the next token is another or begins a line.
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
            Some(Kind::Variable(name)) => match self.variables.get(&name) {
                Some((value, _)) => Ok(*value),
                None => self.world.variable(&name),
            },
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

    fn unexpected_before(&mut self) -> String {
        self.at -= 1;
        self.unexpected()
    }
}

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
mod tests {
    use super::*;

    struct Fixed;

    impl World for Fixed {
        fn count(&mut self, collection: &str) -> Option<f64> {
            (collection == "processors").then_some(5.0)
        }

        fn variable(&mut self, name: &str) -> Result<f64, String> {
            match name {
                "physicalmemory" => Ok(16.0),
                name => Err(format!("asks for {name}")),
            }
        }
    }

    fn limit(code: &str) -> Result<f64, String> {
        let code = format!(
            "{code}\nStaticThreshold -CollectionOfCounterInstances $C -Operator 'gt' -Threshold $x"
        );
        run(&code, &mut Fixed).map(|calls| calls.first().map_or(f64::NAN, |call| call.limit))
    }

    #[test]
    fn arithmetic_is_that_of_powershell() {
        for (code, value) in [
            ("$x = 2 + 3 * 4", 14.0),
            ("$x = (2 + 3) * 4 - 1", 19.0),
            ("$x = 7 / 2", 3.5),
            ("$x = [int] 2.5", 2.0),
            ("$x = [Int] 3.5 * 2", 8.0),
            ("[Int] $x = $Processors.Count - 1", 4.0),
            ("[Int] $x = 1\n$x = 2.6", 3.0),
            ("$x = $([Int] $PhysicalMemory * 1024) * 0.10", 1638.4),
            ("$x = -$([Int]$PhysicalMemory) * 0.30", -4.8),
            ("$x = $([Math]::Round($PhysicalMemory / 5,0)) * 1KB", 3072.0),
            ("$x = [math]::Round(2.125, 2)", 2.12),
            ("$x = 0.60 * 8TB # in bytes", 0.60 * 8.0 * 1024_f64.powi(4)),
            ("$x = 1; If ($x -eq 1) { $x = 7 } Else { $x = $nothing }", 7.0),
            (
                "$x = 1\nIf ($x -eq 0)\n{\n$x = 7\n}\nElseIf (($x -gt 0) -and ($x -lt 2))\n{$x = 8}",
                8.0,
            ),
            ("$x = 1\nIf (($x + 1) * 2 -ge 4) {$x = 9}", 9.0),
        ] {
            assert_eq!(limit(code), Ok(value), "{code}");
        }
    }

    #[test]
    fn what_is_not_known_is_an_error_that_names_it() {
        for (code, why) in [
            ("$x = $UserVa", "asks for userva"),
            ("$x = $OS.substring(0,2)", "uses \"$OS.substring(0,2)\""),
            ("For ($i=0;$i -lt 3;$i++) {}", "uses \"For\""),
            ("$x = [Math]::Max(1, 2)", "uses \"::Max\""),
            ("$x = [string] 3", "uses \"[string]\""),
            ("$x = 1 / 0", "divides by zero"),
            ("$x = $Nothing.Count", "counts \"$nothing\", which is not counters of the log"),
            ("$x = 0x10", "uses \"0x10\""),
            ("$x = [int] 3000000000", "makes a whole number of 3000000000, which is too large"),
            ("$x = (1", "uses \"StaticThreshold\""),
            ("$x = ", "uses \"StaticThreshold\""),
        ] {
            assert_eq!(limit(code), Err(why.to_string()), "{code}");
        }
        let deep = format!("$x = {}1", "(".repeat(100_000));
        assert_eq!(limit(&deep), Err("is nested too deeply".to_string()));
        let deep = format!("If {}", "(".repeat(200));
        assert_eq!(limit(&deep), Err("is nested too deeply".to_string()));
    }

    #[test]
    fn calls_have_their_options_in_any_order() {
        let code = "StaticThreshold -Operator 'lt' -Threshold 100MB -IsTrendOnly $True -CollectionOfCounterInstances $A";
        let call = Call {
            collection: "a".to_string(),
            comparison: Comparison::Less,
            limit: 104_857_600.0,
            is_trend: true,
        };
        assert_eq!(run(code, &mut Fixed), Ok(vec![call]));
        let code = "StaticThreshold -Operator 'lt' -Threshold 1";
        assert!(run(code, &mut Fixed).is_err());
        // The condition does not hold, and so nothing is called.
        let code = "If (1 -gt 2) { StaticThreshold -CollectionOfCounterInstances $A -Operator gt -Threshold 1 }";
        assert_eq!(run(code, &mut Fixed), Ok(vec![]));
    }
}
