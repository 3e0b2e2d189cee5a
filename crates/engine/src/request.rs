//! What a reader asks of a source.

use crate::growth::note_growth;
use perfhive_format::TitleIndex;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Which objects a request is for; the value name of a read of
/// `HKEY_PERFORMANCE_DATA`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectQuery {
    /// `Global`: every object that is not costly.
    Global,
    /// `Costly`: every object whose collection is expensive.
    Costly,
    /// `Foreign NAME`: the objects of another machine, by a provider that
    /// reaches it. The name may be empty.
    Foreign(String),
    /// `230 232`: objects by the title indexes of their names. A source may
    /// answer with more or fewer.
    Indexes(Vec<TitleIndex>),
}

impl ObjectQuery {
    /// A query for one object.
    #[must_use]
    pub fn one(object: TitleIndex) -> Self {
        Self::Indexes(vec![object])
    }

    /// Adds an object to a query by indexes; others become one.
    pub fn insert(&mut self, object: TitleIndex) {
        match self {
            Self::Indexes(list) if list.contains(&object) => {}
            Self::Indexes(list) => list.push(object),
            _ => *self = Self::one(object),
        }
    }

    /// Whether a copy of it has memory of its own.
    pub(crate) fn takes_memory(&self) -> bool {
        match self {
            Self::Global | Self::Costly => false,
            Self::Foreign(name) => !name.is_empty(),
            Self::Indexes(list) => !list.is_empty(),
        }
    }
}

/// As Windows writes the value name.
impl fmt::Display for ObjectQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("Global"),
            Self::Costly => f.write_str("Costly"),
            Self::Foreign(name) if name.is_empty() => f.write_str("Foreign"),
            Self::Foreign(name) => write!(f, "Foreign {name}"),
            Self::Indexes(list) => {
                for (place, index) in list.iter().enumerate() {
                    let gap = if place == 0 { "" } else { " " };
                    write!(f, "{gap}{index}")?;
                }
                Ok(())
            }
        }
    }
}

/// A text that is no query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadObjectQuery(String);

impl fmt::Display for BadObjectQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no query: expected Global, Costly, Foreign NAME, or indexes such as 230 232",
            self.0
        )
    }
}

impl std::error::Error for BadObjectQuery {}

/// Takes the three words without regard to case, or indexes separated by
/// blanks. An empty text asks for everything, as on Windows. A number that is too large
/// for an index is no object's, and keeps nobody from the others beside it.
impl FromStr for ObjectQuery {
    type Err = BadObjectQuery;

    fn from_str(text: &str) -> Result<Self, BadObjectQuery> {
        let trimmed = text.trim();
        let (word, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        if word.is_empty() || (word.eq_ignore_ascii_case("global") && rest.trim().is_empty()) {
            return Ok(Self::Global);
        }
        if word.eq_ignore_ascii_case("costly") && rest.trim().is_empty() {
            return Ok(Self::Costly);
        }
        if word.eq_ignore_ascii_case("foreign") {
            return Ok(Self::Foreign(rest.trim().to_string()));
        }
        let mut numbers = trimmed.split_whitespace();
        let indexes = numbers.clone().filter_map(|number| number.parse().ok()).map(TitleIndex);
        let indexes: Vec<_> = indexes.collect();
        let all_digits = numbers.all(|number| number.bytes().all(|b| b.is_ascii_digit()));
        // A list without any index would be written as an empty text.
        if !all_digits || indexes.is_empty() {
            return Err(BadObjectQuery(text.to_string()));
        }
        Ok(Self::Indexes(indexes))
    }
}

/// A request to a [`Source`](crate::Source).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Which objects.
    pub objects: ObjectQuery,
    /// Counters, as (object, counter), that a source fills only on request
    /// because they cost extra. Counter 0 asks for all of an object's. A
    /// source that has no such counters ignores this.
    pub extra_counters: Vec<(TitleIndex, TitleIndex)>,
    /// How old kept data may be, counted from when its collection was begun;
    /// zero asks for a collection that begins after the request, `None` leaves
    /// it to the cache. Only caches look at this.
    pub max_age: Option<Duration>,
    /// When an answer is of no use any more.
    pub deadline: Option<Instant>,
}

impl Request {
    /// A request without a deadline or extra counters.
    #[must_use]
    pub fn new(objects: ObjectQuery) -> Self {
        Self { objects, extra_counters: Vec::new(), max_age: None, deadline: None }
    }

    /// A request for objects by index.
    #[must_use]
    pub fn objects(indexes: &[TitleIndex]) -> Self {
        Self::new(ObjectQuery::Indexes(indexes.to_vec()))
    }

    /// The same request with every counter that costs extra, of one object.
    #[must_use]
    pub fn with_all_counters_of(mut self, object: TitleIndex) -> Self {
        self.extra_counters.push((object, TitleIndex(0)));
        self
    }

    /// The same request with a limit to the age of kept data.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// The same request with a deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Makes it the same as another, in the memory that it has and that of a list which
    /// is not needed at the moment. Answers whether that was too small, which is
    /// [noted](note_growth).
    pub(crate) fn refill(&mut self, other: &Self, kept: &mut Vec<TitleIndex>) -> bool {
        let room = |request: &Self, kept: &Vec<TitleIndex>| {
            let list = match &request.objects {
                ObjectQuery::Indexes(list) => list.capacity(),
                _ => 0,
            };
            list + kept.capacity() + request.extra_counters.capacity()
        };
        let before = room(self, kept);
        let mut grown = false;
        match &other.objects {
            ObjectQuery::Indexes(wanted) => {
                if !matches!(self.objects, ObjectQuery::Indexes(_)) {
                    self.objects = ObjectQuery::Indexes(std::mem::take(kept));
                }
                if let ObjectQuery::Indexes(list) = &mut self.objects {
                    list.clone_from(wanted);
                }
            }
            wanted if *wanted != self.objects => {
                grown = wanted.takes_memory();
                let before = std::mem::replace(&mut self.objects, wanted.clone());
                if let ObjectQuery::Indexes(list) = before {
                    *kept = list;
                }
            }
            _ => {}
        }
        self.extra_counters.clone_from(&other.extra_counters);
        (self.max_age, self.deadline) = (other.max_age, other.deadline);
        grown |= room(self, kept) > before;
        if grown {
            note_growth();
        }
        grown
    }

    /// Whether a counter that costs extra was asked for.
    #[must_use]
    pub fn wants_extra(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        self.extra_counters
            .iter()
            .any(|(o, c)| *o == object && (*c == counter || *c == TitleIndex(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_parse_and_print() {
        let parse = |text: &str| text.parse::<ObjectQuery>();
        assert_eq!(parse("gLOBAL"), Ok(ObjectQuery::Global));
        assert_eq!(parse(""), Ok(ObjectQuery::Global));
        assert_eq!(parse(" Costly "), Ok(ObjectQuery::Costly));
        assert_eq!(parse("Foreign  HOST"), Ok(ObjectQuery::Foreign("HOST".into())));
        let two = ObjectQuery::Indexes(vec![TitleIndex(230), TitleIndex(232)]);
        assert_eq!(parse(" 230  232"), Ok(two.clone()));
        assert_eq!(two.to_string(), "230 232");
        assert_eq!(parse("230 99999999999 232"), Ok(two));
        for bad in ["230 x", "-1", "Global 230", "230 +232", "99999999999", "Costly 2"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
