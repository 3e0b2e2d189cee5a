//! Filters, which choose the events that are recorded.
//!
//! A filter is a list of terms with `and` between them. Each term compares a field of the event:
//!
//! | term | |
//! |---|---|
//! | `pid = 42`, `tid != 7` | process and thread; also `<`, `<=`, `>`, `>=` |
//! | `name = check*` | the event's name; `*` stands for any text |
//! | `type = start` | `point`, `start` or `end` |
//! | `seconds > 0.01` | the duration of the section that the event ends |
//! | `'Working Set' > 100000000` | the value of a sensor, in quotes |
//! | `every 10` | each tenth of the events that `pid`, `tid`, `name` and `type` let through; not together with `seconds` |
//!
//! The terms `pid`, `tid`, `name`, `type` and `every` are decided before the sensors are read, so
//! that an event that they leave out costs no sample.

use crate::EventKind;
use crate::event::PerfEvent;
use crate::record::{RecordColumn, RecordedReading};
use crate::run::columns_of;
use perfhive_engine::measure::{MeasureError, MeasurementContext, Readings, SensorName};
use std::str::FromStr;
use std::sync::Arc;

/// A filter, which chooses the events of a source that are recorded. The default filter has no
/// terms and lets through all events.
///
/// ```
/// use perfhive_experiment::EventFilter;
/// let long: EventFilter = "name = checkout and seconds > 0.01".parse()?;
/// assert!("checkout > 7".parse::<EventFilter>().is_err());
/// # Ok::<(), perfhive_experiment::BadFilter>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventFilter {
    rules: Vec<Rule>,
}

/// The terms that decide about the events of one name, or of all names, and of one kind, or of all
/// kinds. Of a filter's rules, the first one that is for an event decides alone.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rule {
    name: Option<Arc<str>>,
    /// The kind of events that the rule is for; `None` for all kinds.
    kind: Option<EventKind>,
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Process(Comparison, f64),
    Thread(Comparison, f64),
    /// A pattern for the event's name, and whether the name must match it (`true`) or must not.
    Name(String, bool),
    Kind(EventKind, bool),
    Seconds(Comparison, f64),
    Sensor(String, Comparison, f64),
    Every(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

impl Comparison {
    /// The signs of comparison. A sign that begins with another sign is listed before it.
    const SIGNS: [(&str, Self); 7] = [
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("!=", Self::NotEqual),
        ("==", Self::Equal),
        ("<", Self::Less),
        (">", Self::Greater),
        ("=", Self::Equal),
    ];

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::LessOrEqual => value <= limit,
            Self::Equal => value == limit,
            Self::NotEqual => value != limit,
            Self::GreaterOrEqual => value >= limit,
            Self::Greater => value > limit,
        }
    }
}

/// The reason why a text is not a filter, or why a binding cannot have a filter: a sensor's name in
/// the filter fits no sensor of the binding, or several of them; or `seconds` and `every` are together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFilter(String);

impl std::fmt::Display for BadFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFilter {}

impl FromStr for EventFilter {
    type Err = BadFilter;

    fn from_str(text: &str) -> Result<Self, BadFilter> {
        let mut rest = text.trim();
        let mut terms = Vec::new();
        loop {
            let (term, behind) = term(rest)?;
            terms.push(term);
            rest = behind.trim_start();
            if rest.is_empty() {
                fit_together(&terms)?;
                return Ok(Self { rules: vec![Rule { name: None, kind: None, terms }] });
            }
            let expected = || BadFilter(format!("expected 'and' before {rest:?}"));
            let (word, behind) = rest.split_once(char::is_whitespace).ok_or_else(expected)?;
            if !word.eq_ignore_ascii_case("and") {
                return Err(expected());
            }
            rest = behind.trim_start();
        }
    }
}

/// Fails if there are both `seconds` and `every` (a number above 1) among the terms of a filter: nothing would be recorded.
fn fit_together(terms: &[Term]) -> Result<(), BadFilter> {
    let is_by_seconds = terms.iter().any(|term| matches!(term, Term::Seconds(..)));
    match terms.iter().find(|term| matches!(term, Term::Every(2..))) {
        Some(Term::Every(number)) if is_by_seconds => Err(BadFilter(format!(
            "'seconds' and 'every {number}' cannot be in one filter: every takes away starts and ends before their \
             sections are made, which alone have seconds"
        ))),
        _ => Ok(()),
    }
}

/// Reads the first term of a text; returns the term and the text behind it.
fn term(text: &str) -> Result<(Term, &str), BadFilter> {
    let (field, is_quoted, rest) = word(text)?;
    let rest = rest.trim_start();
    let bad = |what: String| Err(BadFilter(what));
    if field == "every" && !is_quoted {
        let (number, _, behind) = word(rest)?;
        return match number.parse() {
            Ok(number) if number > 0 => Ok((Term::Every(number), behind)),
            _ => bad(format!("every takes a number from 1 on, not {number:?}")),
        };
    }
    let sign =
        Comparison::SIGNS.iter().find_map(|(sign, it)| Some((*it, rest.strip_prefix(sign)?)));
    let Some((comparison, rest)) = sign else {
        return bad(format!("expected <, <=, =, !=, >= or > behind {field:?}"));
    };
    let (value, _, behind) = word(rest.trim_start())?;
    let number = || match value.parse::<f64>().ok().filter(|number| number.is_finite()) {
        Some(number) => Ok(number),
        None => Err(BadFilter(format!("{field} is compared with a number, not {value:?}"))),
    };
    let equals = || match comparison {
        Comparison::Equal => Ok(true),
        Comparison::NotEqual => Ok(false),
        _ => Err(BadFilter(format!("{field} is compared with = and != only"))),
    };
    let term = match field {
        _ if is_quoted => Term::Sensor(field.to_string(), comparison, number()?),
        "pid" => Term::Process(comparison, number()?),
        "tid" => Term::Thread(comparison, number()?),
        "seconds" => match number()? {
            seconds if seconds < 0.0 => {
                return bad(format!("no section takes less than 0 seconds, as {value}"));
            }
            seconds => Term::Seconds(comparison, seconds),
        },
        "name" => Term::Name(value.to_string(), equals()?),
        "type" => {
            let kinds = [EventKind::Point, EventKind::Start, EventKind::End];
            match kinds.into_iter().find(|kind| kind.code() == value) {
                Some(kind) => Term::Kind(kind, equals()?),
                None => return bad(format!("a type is point, start or end, not {value:?}")),
            }
        }
        _ => {
            return bad(format!(
                "{field:?} is no field: there are pid, tid, name, type, seconds, every N, and sensors in \
                 quotes"
            ));
        }
    };
    Ok((term, behind))
}

/// Reads the first word of a text; returns the word without quotes, whether it had quotes, and the
/// text behind it. A word without quotes ends at a space or a sign of comparison.
fn word(text: &str) -> Result<(&str, bool, &str), BadFilter> {
    if let Some(quote) = text.chars().next().filter(|first| ['\'', '"'].contains(first)) {
        let inside = text.get(1..).unwrap_or_default();
        let (word, behind) = inside
            .split_once(quote)
            .ok_or_else(|| BadFilter(format!("{text:?} has no closing quote")))?;
        return Ok((word, true, behind));
    }
    let is_end = |c: char| c.is_whitespace() || "<>=!".contains(c);
    match text.split_at(text.find(is_end).unwrap_or(text.len())) {
        ("", _) => Err(BadFilter(format!("expected a word before {text:?}"))),
        (word, behind) => Ok((word, false, behind)),
    }
}

impl EventFilter {
    /// The same filter, limited to the events of one name; events of other names are all recorded.
    /// Of the default filter this makes a filter that lets through all events of this name, also
    /// where [`or_else`](Self::or_else) adds another filter.
    #[must_use]
    pub fn of_name(mut self, name: &str) -> Self {
        let name: Arc<str> = name.into();
        if self.rules.is_empty() {
            // The rule lets through all events of this name, whatever a later filter says.
            self.rules.push(Rule { name: None, kind: None, terms: Vec::new() });
        }
        for rule in &mut self.rules {
            rule.name = Some(Arc::clone(&name));
        }
        self
    }

    /// The same filter, limited to the events of one kind; events of other kinds are all recorded.
    /// The default filter, which has no terms, is returned unchanged.
    #[must_use]
    pub fn of_kind(mut self, kind: EventKind) -> Self {
        for rule in &mut self.rules {
            rule.kind = Some(kind);
        }
        self
    }

    /// A filter that decides with `self` about the events that `self` is for by name and kind, and
    /// with `other` about all other events. If `self` is the default filter, which has no terms,
    /// `other` decides about all events.
    #[must_use]
    pub fn or_else(mut self, other: Self) -> Self {
        self.rules.extend(other.rules);
        self
    }

    /// Adds the terms of `other` to this filter, so that the events that this filter is for by name
    /// and kind must pass both; other events are recorded as before. The default filter becomes
    /// `other`. `other` must be for all names and kinds.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        if self.rules.is_empty() {
            return other.clone();
        }
        for rule in &mut self.rules {
            rule.terms.extend(other.rules.iter().flat_map(|one| one.terms.clone()));
        }
        self
    }

    /// Fails if [`Experiment::bind_where`](crate::Experiment::bind_where) would refuse this filter
    /// with this context.
    ///
    /// # Errors
    /// A sensor of the filter that the context does not have, or has several times; both `seconds` and
    /// `every`, by [`and`](Self::and); a context that experiments do not take.
    pub fn check(&self, context: &MeasurementContext) -> Result<(), MeasureError> {
        let columns = columns_of(context)?;
        let bound = self.clone().bound(&columns);
        bound.map(drop).map_err(|why| MeasureError::Refused(why.to_string().into()))
    }

    /// The filter, prepared for records with these columns; an error if a sensor of the filter
    /// names no column or several columns, or if an event must pass both `seconds` and `every`.
    pub(crate) fn bound(self, columns: &[RecordColumn]) -> Result<BoundFilter, BadFilter> {
        let mut rules = Vec::new();
        for Rule { name, kind, terms } in self.rules {
            // They may be of several texts, joined by `and`.
            fit_together(&terms)?;
            let mut sensors = Vec::new();
            for term in &terms {
                if let Term::Sensor(name, comparison, limit) = term {
                    sensors.push((place(columns, name)?, *comparison, *limit));
                }
            }
            rules.push(BoundRule { name, kind, terms, sensors, passed: 0 });
        }
        Ok(BoundFilter { rules })
    }
}

/// The index of the one column that a text names, by the sensor's full name, or without its source,
/// without source and instance, or without source, group and instance; an error if the text names
/// no column or several columns.
fn place(columns: &[RecordColumn], text: &str) -> Result<usize, BadFilter> {
    let is_it = |name: &SensorName| {
        let short = format!("{}/{}", name.group(), name.sensor());
        let with_instance = name.instance().map(|instance| format!("{short}#{instance}"));
        name.to_string() == text
            || short == text
            || name.sensor() == text
            || with_instance.as_deref() == Some(text)
    };
    let found: Vec<usize> = (0..columns.len())
        .filter(|at| columns.get(*at).is_some_and(|one| is_it(&one.name)))
        .collect();
    match found.as_slice() {
        [place] => Ok(*place),
        _ => {
            let names: Vec<String> = columns.iter().map(|one| one.name.to_string()).collect();
            let count = if found.is_empty() { "no sensor" } else { "several sensors" };
            Err(BadFilter(format!("{text:?} is {count} of these: {}", names.join(", "))))
        }
    }
}

/// A filter's decision about an event before its sensors are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The event is measured.
    Now,
    /// The event is left out, but other events of its name, kind and thread may be recorded.
    NotNow,
    /// The event is left out, and so is every event of its name, kind and thread.
    Never,
}

/// A filter prepared for the columns of a binding. Deciding allocates nothing.
#[derive(Debug)]
pub(crate) struct BoundFilter {
    rules: Vec<BoundRule>,
}

#[derive(Debug)]
struct BoundRule {
    name: Option<Arc<str>>,
    kind: Option<EventKind>,
    terms: Vec<Term>,
    /// The index of each sensor's column, the comparison, and the number to compare with.
    sensors: Vec<(usize, Comparison, f64)>,
    /// The number of events that the terms `pid`, `tid`, `name` and `type` have let through.
    passed: u64,
}

impl BoundRule {
    fn is_for(&self, name: &str, kind: EventKind) -> bool {
        self.name.as_deref().is_none_or(|it| it == name) && self.kind.is_none_or(|it| it == kind)
    }

    fn has_seconds(&self) -> bool {
        self.terms.iter().any(|term| matches!(term, Term::Seconds(..)))
    }

    /// Whether the terms with sensors hold; `value` returns the value of a column, `None` without one.
    fn wants_values(&self, value: impl Fn(usize) -> Option<f64>) -> bool {
        self.sensors.iter().all(|(place, comparison, limit)| {
            value(*place).is_some_and(|value| comparison.holds(value, *limit))
        })
    }
}

impl BoundFilter {
    fn rule(&mut self, name: &str, kind: EventKind) -> Option<&mut BoundRule> {
        self.rules.iter_mut().find(|rule| rule.is_for(name, kind))
    }

    /// Decides by the terms that need no sample whether an event is to be measured. An event that
    /// passes all of them but `every` counts as one for `every`.
    pub(crate) fn wants(&mut self, event: &PerfEvent) -> Choice {
        let Some(rule) = self.rule(&event.name, event.kind) else { return Choice::Now };
        // By `seconds` only ends are recorded. A start is measured for the sake of its end, so what is asked is
        // whether the end is wanted.
        let kind = match event.kind {
            EventKind::Start if rule.has_seconds() => EventKind::End,
            kind => kind,
        };
        let holds = rule.terms.iter().all(|term| match term {
            Term::Process(comparison, limit) => comparison.holds(f64::from(event.process), *limit),
            Term::Thread(comparison, limit) => comparison.holds(f64::from(event.thread), *limit),
            Term::Name(pattern, is_equal) => matches(pattern, &event.name) == *is_equal,
            Term::Kind(it, is_equal) => (kind == *it) == *is_equal,
            Term::Seconds(..) | Term::Sensor(..) | Term::Every(_) => true,
        });
        if !holds {
            return Choice::Never;
        }
        rule.passed += 1;
        let passed = rule.passed;
        let is_due = rule.terms.iter().all(|term| match term {
            Term::Every(number) => passed % number == 0,
            _ => true,
        });
        if is_due { Choice::Now } else { Choice::NotNow }
    }

    /// Whether the terms with sensors let through an event with these readings; `true` if the
    /// filter has no such terms for the event, or has `seconds` too, so that
    /// [`wants_section`](Self::wants_section) decides. A comparison with a sensor without a value is false.
    pub(crate) fn wants_readings(&mut self, event: &PerfEvent, readings: &Readings) -> bool {
        let Some(rule) = self.rule(&event.name, event.kind) else { return true };
        rule.has_seconds()
            || rule.wants_values(|place| {
                let reading = readings.iter().find(|reading| reading.asked == place)?;
                reading.value.as_ref().ok().map(|value| value.as_f64())
            })
    }

    /// Whether the filter has a term `seconds` for sections of this name, that is, for ends of this
    /// name.
    pub(crate) fn has_seconds(&self, name: &str) -> bool {
        let mut rules = self.rules.iter();
        rules.find(|rule| rule.is_for(name, EventKind::End)).is_some_and(BoundRule::has_seconds)
    }

    /// Whether the filter has a term `seconds` for any name.
    pub(crate) fn is_by_seconds(&self) -> bool {
        self.rules.iter().any(BoundRule::has_seconds)
    }

    /// Whether the terms `seconds` and those with sensors let through a section of this name and
    /// duration, at the end of which these were the readings; `true` if the filter has no such terms
    /// for it.
    pub(crate) fn wants_section(
        &mut self,
        name: &str,
        seconds: f64,
        readings: &[RecordedReading],
    ) -> bool {
        let Some(rule) = self.rule(name, EventKind::End) else { return true };
        let is_long = rule.terms.iter().all(|term| match term {
            Term::Seconds(comparison, limit) => comparison.holds(seconds, *limit),
            _ => true,
        });
        is_long && rule.wants_values(|place| readings.get(place)?.value)
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some((_, behind)) = text.split_once(part) else { return false };
        text = behind;
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> BoundFilter {
        text.parse::<EventFilter>().unwrap().bound(&[]).unwrap()
    }

    fn event(name: &str, kind: EventKind, process: u32) -> PerfEvent {
        PerfEvent { kind, process, thread: process + 1, ..PerfEvent::now(&name.into()) }
    }

    #[test]
    fn terms_before_the_sample_decide_by_fields() {
        for (text, is_wanted) in [
            ("pid = 7", true),
            ("pid=7 and tid>=8", true),
            ("pid != 7", false),
            ("tid < 8", false),
            ("name = check*", true),
            ("name = 'check*t and'", false),
            ("name != *k*t", false),
            ("type = start and name = checkout", true),
            ("type != start", false),
            ("seconds > 100", true),
        ] {
            let event = event("checkout", EventKind::Start, 7);
            let wanted = if is_wanted { Choice::Now } else { Choice::Never };
            assert_eq!(filter(text).wants(&event), wanted, "{text}");
        }
    }

    #[test]
    fn every_tenth_is_counted_among_those_that_match() {
        let mut filter = filter("type = point and every 10");
        let wanted = (0..200).filter(|number| {
            let kind = if number % 2 == 0 { EventKind::Point } else { EventKind::Start };
            filter.wants(&event("a", kind, 1)) == Choice::Now
        });
        assert_eq!(wanted.count(), 10);
    }

    #[test]
    fn filters_of_several_names_decide_each_for_its_own() {
        let of = |text: &str| text.parse::<EventFilter>().unwrap();
        let all = of("pid = 7").of_name("a").or_else(of("pid = 8").of_name("b"));
        let mut all = all.and(&of("type = point")).bound(&[]).unwrap();
        let events = [("a", 7), ("a", 8), ("b", 8), ("c", 9)];
        let wanted =
            events.map(|(name, process)| all.wants(&event(name, EventKind::Point, process)));
        assert_eq!(wanted, [Choice::Now, Choice::Never, Choice::Now, Choice::Now]);
    }

    #[test]
    fn starts_and_ends_of_one_name_have_filters_of_their_own() {
        let of = |text: &str| text.parse::<EventFilter>().unwrap();
        let starts = of("every 2").of_name("f").of_kind(EventKind::Start);
        let ends = EventFilter::default().of_name("f").of_kind(EventKind::End);
        let mut all = starts.or_else(ends).or_else(of("pid = 8")).bound(&[]).unwrap();
        let mut wanted = |name, kind| all.wants(&event(name, kind, 7));
        use Choice::{Never, NotNow, Now};
        assert_eq!([0; 4].map(|_| wanted("f", EventKind::Start)), [NotNow, Now, NotNow, Now]);
        assert_eq!([0; 2].map(|_| wanted("f", EventKind::End)), [Now, Now]);
        assert_eq!(wanted("g", EventKind::Point), Never, "the filter of all other names decides");
    }

    #[test]
    fn text_that_is_no_filter_says_why() {
        for (text, why) in [
            ("", "expected a word"),
            ("pid", "behind \"pid\""),
            ("pid = x", "with a number"),
            ("pid = 1 or pid = 2", "expected 'and'"),
            ("pid = 1 and", "expected"),
            ("checkout > 7", "is no field"),
            ("type = middle", "point, start or end"),
            ("name < a", "= and != only"),
            ("every 0", "from 1 on"),
            ("'Working Set > 7", "closing quote"),
            ("seconds > NaN", "with a number"),
        ] {
            let error = text.parse::<EventFilter>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let unknown = "'Working Set' > 7".parse::<EventFilter>().unwrap().bound(&[]);
        assert!(unknown.unwrap_err().to_string().contains("no sensor"));
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, is_match) in [
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }
}
