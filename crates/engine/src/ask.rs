//! The ask: what a caller wants of a source, and until when.

use crate::path::NamePattern;
use perfhive_format::TitleIndex;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The objects that a caller wants. On Windows, the text of the query is the name of the value that is read from
/// `HKEY_PERFORMANCE_DATA`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectQuery {
    /// `Global`: every object of this machine that is not costly.
    Global,
    /// `Costly`: every object that is expensive to collect.
    Costly,
    /// `Foreign NAME`: the objects of the machine called NAME, collected by a provider that reaches
    /// other machines. NAME may be empty; the query is then written as `Foreign`.
    Foreign(String),
    /// `230 232`: objects by the title indexes of their names. A source may answer with more or
    /// fewer objects. An empty list means no object.
    Indexes(Vec<TitleIndex>),
}

impl ObjectQuery {
    /// A query for one object.
    #[must_use]
    pub fn one(object: TitleIndex) -> Self {
        Self::Indexes(vec![object])
    }

    /// Adds an object to a query by indexes, unless the query names it already. Any other kind of
    /// query becomes a query for this object alone.
    pub fn insert(&mut self, object: TitleIndex) {
        match self {
            Self::Indexes(list) if list.contains(&object) => {}
            Self::Indexes(list) => list.push(object),
            _ => *self = Self::one(object),
        }
    }

    /// Whether the query names this object; `true` for `Global`, `Costly` and `Foreign`, which may
    /// mean any object.
    #[must_use]
    pub fn may_mean(&self, object: TitleIndex) -> bool {
        match self {
            Self::Indexes(list) => list.contains(&object),
            Self::Global | Self::Costly | Self::Foreign(_) => true,
        }
    }
}

/// Writes the query as the name of a value of `HKEY_PERFORMANCE_DATA`.
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

/// The error for a text that is not an [`ObjectQuery`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadObjectQuery(String);

impl fmt::Display for BadObjectQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a query: expected Global, Costly, Foreign NAME, or indexes such as 230 232",
            self.0
        )
    }
}

impl std::error::Error for BadObjectQuery {}

/// Parses `Global`, `Costly` or `Foreign NAME`, with the word in any case, or indexes separated by
/// blanks. An empty text is `Global`, as on Windows. A number that is too large for an index is
/// left out, since no object can have it. A list with an item that is not made of digits alone, or
/// without any valid index, is an error.
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

/// A title index that no object has. A reader that looks for an unknown name asks for the catalogue
/// of this index. The request fails if the source cannot find out at present which objects it has;
/// otherwise it succeeds, and the catalogue lacks the object.
pub const NO_OBJECT: TitleIndex = TitleIndex(2_147_483_632);

/// A selection of the instances of an object that a caller wants: by process ID or by name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstanceWish {
    /// The process with this ID. In an object with instances that belong to processes, such as
    /// threads: the instances of that process.
    Process(u32),
    /// The instances with matching names. In an object with instances that belong to processes,
    /// such as threads: the instances of the processes with matching names.
    Named(Arc<NamePattern>),
}

/// What a caller wants of a [`Source`](crate::Source), and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ask {
    /// The wanted objects.
    pub objects: ObjectQuery,
    /// Counters, as (object, counter), that a source fills only on request because they cost extra.
    /// Counter 0 means all such counters of the object. A source without such counters ignores the
    /// list.
    pub extra_counters: Vec<(TitleIndex, TitleIndex)>,
    /// The wanted instances, by object; an object that is not in this list is wanted with all of
    /// its instances. A source may answer with more instances than wanted. If it leaves instances
    /// out, the object is partial in the snapshot
    /// ([`Snapshot::is_partial`](crate::Snapshot::is_partial)): an instance that is absent there
    /// and was not wanted need not have ended.
    pub instances: Vec<(TitleIndex, InstanceWish)>,
    /// Counters, as (object, counter), that suffice for an object of which only some instances are
    /// wanted ([`instances`](Self::instances)). A source that leaves instances out may also leave
    /// out the values of the object's other counters, except those that identify an instance. All
    /// counters are wanted of an object that is not in this list.
    pub enough: Vec<(TitleIndex, TitleIndex)>,
    /// How old cached data may be, counted from when its collection began. Zero wants a collection
    /// that begins after the call; `None` means the cache's own limit. Sources that keep no data
    /// ignore it.
    pub max_age: Option<Duration>,
    /// The deadline: after it, an answer is of no use to the caller. `None` for no deadline.
    pub until: Option<Instant>,
}

impl Ask {
    /// An ask for `objects`, with all of their instances and no counters that cost extra, without a
    /// deadline. Cached data may be as old as the cache's own limit allows.
    #[must_use]
    pub fn new(objects: ObjectQuery) -> Self {
        Self {
            objects,
            extra_counters: Vec::new(),
            instances: Vec::new(),
            enough: Vec::new(),
            max_age: None,
            until: None,
        }
    }

    /// An ask for `Global`: every object that is not costly.
    #[must_use]
    pub fn everything() -> Self {
        Self::new(ObjectQuery::Global)
    }

    /// An ask for no object. A catalogue request with it returns what the source knows already,
    /// without asking providers.
    #[must_use]
    pub fn nothing() -> Self {
        Self::new(ObjectQuery::Indexes(Vec::new()))
    }

    /// An ask for the objects with these title indexes.
    #[must_use]
    pub fn objects(indexes: &[TitleIndex]) -> Self {
        Self::new(ObjectQuery::Indexes(indexes.to_vec()))
    }

    /// The same ask, which also wants every counter of `object` that is filled only on request.
    #[must_use]
    pub fn with_all_counters_of(self, object: TitleIndex) -> Self {
        self.with_counter(object, TitleIndex(0))
    }

    /// The same ask, which also wants one counter that is filled only on request.
    #[must_use]
    pub fn with_counter(mut self, object: TitleIndex, counter: TitleIndex) -> Self {
        self.extra_counters.push((object, counter));
        self
    }

    /// The same ask, which wants only some instances of an object: those that `wish` or an earlier
    /// wish for this object selects.
    #[must_use]
    pub fn with_instance(mut self, object: TitleIndex, wish: InstanceWish) -> Self {
        self.instances.push((object, wish));
        self
    }

    /// The same ask, with `counter` added to the counters that suffice for `object`
    /// ([`enough`](Self::enough)).
    #[must_use]
    pub fn with_enough(mut self, object: TitleIndex, counter: TitleIndex) -> Self {
        self.enough.push((object, counter));
        self
    }

    /// The wishes that select instances of an object. Without any wish all instances are wanted.
    pub fn instances_of(&self, object: TitleIndex) -> impl Iterator<Item = &InstanceWish> {
        self.instances.iter().filter(move |(of, _)| *of == object).map(|(_, wish)| wish)
    }

    /// Copies all fields of `other` except the field `objects`. Allocates nothing once the
    /// lists are large enough.
    pub fn copy_conditions(&mut self, other: &Self) {
        self.extra_counters.clone_from(&other.extra_counters);
        self.instances.clone_from(&other.instances);
        self.enough.clone_from(&other.enough);
        (self.max_age, self.until) = (other.max_age, other.until);
    }

    /// The same ask with `age` as the greatest age of cached data; zero wants a collection that
    /// begins after the call.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// The same ask with a deadline; `None` removes it.
    #[must_use]
    pub fn until(mut self, deadline: impl Into<Option<Instant>>) -> Self {
        self.until = deadline.into();
        self
    }

    /// Whether the ask is for no object: a list of indexes that is empty.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(&self.objects, ObjectQuery::Indexes(list) if list.is_empty())
    }

    /// Whether the deadline has passed; `false` without a deadline.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// The earlier of the ask's deadline and `other`; `None` if both are missing.
    #[must_use]
    pub fn until_at_most(&self, other: Option<Instant>) -> Option<Instant> {
        match (self.until, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Makes this ask a copy of `other`, and keeps the allocations of its own lists. While this ask is not for
    /// indexes, `kept` holds its unused index list, so that the list's allocation is not lost.
    pub(crate) fn refill(&mut self, other: &Self, kept: &mut Vec<TitleIndex>) {
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
                let before = std::mem::replace(&mut self.objects, wanted.clone());
                if let ObjectQuery::Indexes(list) = before {
                    *kept = list;
                }
            }
            _ => {}
        }
        self.copy_conditions(other);
    }

    /// Whether the ask wants the value of a counter: its object has no list of counters that are
    /// [`enough`](Self::enough), or the list has the counter.
    #[must_use]
    pub fn wants_counter(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        let mut enough = self.enough.iter().filter(|(of, _)| *of == object).peekable();
        enough.peek().is_none() || enough.any(|(_, wanted)| *wanted == counter)
    }

    /// Whether the ask wants a counter that is filled only on request:
    /// [`extra_counters`](Self::extra_counters) names the counter, or counter 0 of its object.
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
    fn object_queries_parse_and_print_as_windows_writes_them() {
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
