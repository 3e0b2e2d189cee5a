//! Which readings are shown, and in which order.

use perfhive_engine::{
    CounterPath, InstanceLabel, InstanceRole, NamePattern, PathId, Query, Reading, same_name,
};
use perfhive_format::TitleIndex;
use std::collections::HashMap;

/// The key by which the instances of an object are ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In the order in which the source lists them.
    #[default]
    Source,
    /// By the value of the object's first path with wildcards, the largest first; without such a
    /// path, by the value of its first path.
    Value,
    /// By the value of the counter with this name (in English or the shown language), the largest
    /// first.
    Counter(String),
    /// By the name of the instance, from A to Z.
    Name,
}

/// The settings that decide which readings are shown, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    /// The order of instances.
    pub order: Order,
    /// Whether the order is the other way round: smallest value first, or last name first.
    /// Instances without a value stand last in both directions. Has no effect on [`Order::Source`].
    pub reversed: bool,
    /// The largest number of instances that are shown of each object; `None` for no limit. Sums,
    /// idle time, and instances that a path without wildcards names are shown in addition.
    pub top: Option<usize>,
    /// A pattern for the names of the instances that are shown; `None` for all. A pattern without
    /// wildcards matches each name that contains it, in small or capital letters; one with wildcards matches
    /// whole names, with or without the number behind them. Readings without an instance are always shown.
    pub filter: Option<NamePattern>,
    /// Whether instances of idle time are left out.
    pub without_idle: bool,
}

/// The readings that an [`Arrangement`] shows, in its order.
#[derive(Debug, Default)]
pub struct Arranged<'q> {
    /// The readings that are shown. Those of one instance follow one another, and sums and idle
    /// time stand behind the other instances of their object, except in [`Order::Source`] without
    /// `top` and without limited room.
    pub readings: Vec<&'q Reading>,
    /// How many readings are left out because of `top` or for lack of room.
    pub left_out: usize,
}

/// The readings of one instance, or a single reading without an instance.
struct Group<'q> {
    readings: Vec<&'q Reading>,
    role: InstanceRole,
    /// Whether a path without wildcards names the instance, which is then always shown.
    is_named: bool,
    key: Option<f64>,
    name: String,
}

/// The groups of one object of one source.
#[derive(Default)]
struct Section<'q> {
    groups: Vec<Group<'q>>,
}

impl Arrangement {
    /// The readings that this arrangement shows, in its order. `room` is the number of rows for them; `None` for no
    /// limit. If they do not fit, instances are left out until they fit, or until each object has only one instance
    /// left besides sums, idle time, and instances that a path without wildcards names.
    #[must_use]
    pub fn of<'q>(
        &self,
        query: &Query,
        readings: Vec<&'q Reading>,
        room: Option<usize>,
    ) -> Arranged<'q> {
        let chosen = readings.into_iter().filter(|reading| self.shows(reading));
        if self.order == Order::Source && self.top.is_none() && room.is_none() {
            return Arranged { readings: chosen.collect(), left_out: 0 };
        }
        let mut sections = sections(chosen);
        let mut left_out = 0;
        for section in &mut sections {
            self.sort(query, section);
            if let Some(top) = self.top {
                left_out += section.keep(top);
            }
        }
        if let Some(room) = room {
            left_out += fit(&mut sections, room);
        }
        let groups = sections.into_iter().flat_map(|section| section.groups);
        Arranged { readings: groups.flat_map(|group| group.readings).collect(), left_out }
    }

    /// The names of the counters of all readings of the query, if [`Order::Counter`] names none of
    /// them; `None` if it names one, and for other orders.
    #[must_use]
    pub fn counters_without_order(&self, query: &Query) -> Option<Vec<String>> {
        let Order::Counter(wanted) = &self.order else { return None };
        let mut names: Vec<String> = Vec::new();
        for reading in query.readings() {
            let (shown, english) = (query.names_of(reading).1, query.english_names_of(reading).1);
            if same_name(&shown, wanted) || same_name(&english, wanted) {
                return None;
            }
            if !names.contains(&shown) {
                names.push(shown);
            }
        }
        Some(names)
    }

    /// Whether the filter and `without_idle` let the reading through; always `true` for a reading
    /// without an instance.
    fn shows(&self, reading: &Reading) -> bool {
        let Some(label) = &reading.instance else { return true };
        // The number behind a name is for display only: a pattern of the whole name finds every `java`.
        let unnumbered = || InstanceLabel { order: 0, ..label.clone() }.plain();
        let named = |pattern: &NamePattern| match pattern.as_literal() {
            Some(text) => label.plain().to_lowercase().contains(&text.to_lowercase()),
            None => pattern.matches(&label.plain()) || pattern.matches(&unnumbered()),
        };
        !(self.without_idle && reading.role() == InstanceRole::Idle)
            && self.filter.as_ref().is_none_or(named)
    }

    fn sort(&self, query: &Query, section: &mut Section<'_>) {
        let mut all = section.groups.iter().flat_map(|group| &group.readings);
        // The counters of an object without instances keep their order.
        let Some(first) = all.find(|reading| reading.instance.is_some()) else { return };
        let is_wild = |path: PathId| query.path(path).is_some_and(CounterPath::is_wild);
        let paths = section.groups.iter().flat_map(|group| &group.readings);
        // A path with wildcards mostly has a value of every instance to sort by.
        let wild = paths.map(|reading| reading.path).filter(|path| is_wild(*path));
        let first_path = wild.min().unwrap_or(first.path);
        for group in &mut section.groups {
            group.key = self.key_of(query, first_path, &group.readings);
            group.is_named = group.readings.iter().any(|reading| !is_wild(reading.path));
            if self.order == Order::Name {
                let label = group.readings.first().and_then(|reading| reading.instance.as_ref());
                group.name = label.map_or(String::new(), |label| label.plain().to_lowercase());
            }
        }
        let reversed = self.reversed;
        let order = &self.order;
        section.groups.sort_by(|a, b| {
            let rank = |group: &Group<'_>| match group.role {
                InstanceRole::Single => 0,
                InstanceRole::Idle => 1,
                _ => 2,
            };
            let by = match order {
                Order::Source => std::cmp::Ordering::Equal,
                Order::Name if reversed => b.name.cmp(&a.name),
                Order::Name => a.name.cmp(&b.name),
                // Instances without a value stand at the end in either direction.
                Order::Value | Order::Counter(_) => match (a.key, b.key) {
                    (Some(a), Some(b)) if reversed => a.total_cmp(&b),
                    (Some(a), Some(b)) => b.total_cmp(&a),
                    (a, b) => b.is_some().cmp(&a.is_some()),
                },
            };
            rank(a).cmp(&rank(b)).then(by)
        });
    }

    /// The value by which an instance is sorted: that of the counter of [`Order::Counter`],
    /// otherwise that of `path`. `None` if the instance has no finite value of it.
    fn key_of(&self, query: &Query, path: PathId, readings: &[&Reading]) -> Option<f64> {
        let is_key = |reading: &&&Reading| match &self.order {
            Order::Counter(name) => {
                let (_, shown) = query.names_of(reading);
                same_name(&shown, name) || same_name(&query.english_names_of(reading).1, name)
            }
            _ => reading.path == path,
        };
        let value = readings.iter().find(is_key)?.value.as_ref().ok()?.as_f64();
        value.is_finite().then_some(value)
    }
}

impl Group<'_> {
    /// Whether the instance may be left out: it is a single thing, not a sum or idle time, and is
    /// selected only by paths with wildcards.
    fn may_go(&self) -> bool {
        self.role == InstanceRole::Single && !self.is_named
    }
}

impl Section<'_> {
    /// Drops the instances that may be left out ([`Group::may_go`]), except the first `most` of these. Returns the
    /// number of readings of the dropped instances.
    fn keep(&mut self, most: usize) -> usize {
        let before = self.rows();
        let mut single = 0;
        self.groups.retain(|group| {
            single += usize::from(group.may_go());
            !group.may_go() || single <= most
        });
        before - self.rows()
    }

    /// The number of readings, each of which takes a row.
    fn rows(&self) -> usize {
        self.groups.iter().map(|group| group.readings.len()).sum()
    }

    /// The number of instances that may be left out.
    fn singles(&self) -> usize {
        self.groups.iter().filter(|group| group.may_go()).count()
    }
}

/// Drops the last instances of the object that has the most instances that may be dropped, again
/// and again, until the rows fit into `room` or each object has at most one instance that may be
/// dropped. Returns how many readings were dropped.
fn fit(sections: &mut [Section<'_>], room: usize) -> usize {
    let mut left_out = 0;
    loop {
        let rows: usize = sections.iter().map(Section::rows).sum();
        // The object with the most instances loses only a part of the excess at a time, so that the
        // others share the loss.
        let parts = sections.len();
        let Some(section) = sections.iter_mut().max_by_key(|section| section.singles()) else {
            return left_out;
        };
        let singles = section.singles();
        if rows <= room || singles <= 1 {
            return left_out;
        }
        let rows_each = section.groups.first().map_or(1, |group| group.readings.len()).max(1);
        let many = (rows - room).div_ceil(rows_each).div_ceil(parts);
        left_out += section.keep(singles.saturating_sub(many).max(1));
    }
}

/// The readings by object and instance, both in the order of their first reading; each reading
/// without an instance is a group of its own.
fn sections<'q>(readings: impl Iterator<Item = &'q Reading>) -> Vec<Section<'q>> {
    type Instance = (usize, TitleIndex, Option<perfhive_engine::Identity>);
    let mut sections: Vec<Section<'q>> = Vec::new();
    let mut objects: HashMap<(usize, TitleIndex), usize> = HashMap::new();
    let mut places: HashMap<Instance, usize> = HashMap::new();
    for reading in readings {
        let object = (reading.source, reading.object);
        let place = *objects.entry(object).or_insert_with(|| {
            sections.push(Section::default());
            sections.len() - 1
        });
        let Some(section) = sections.get_mut(place) else { continue };
        let instance = (reading.source, reading.object, reading.identity.clone());
        let next = section.groups.len();
        let group = match reading.instance {
            Some(_) => *places.entry(instance).or_insert(next),
            // A counter of an object without instances, or a path without a value: a group of its own.
            None => next,
        };
        match section.groups.get_mut(group) {
            Some(group) => group.readings.push(reading),
            None => section.groups.push(Group {
                readings: vec![reading],
                role: match reading.instance {
                    Some(_) => reading.role(),
                    None => InstanceRole::Total,
                },
                is_named: false,
                key: None,
                name: String::new(),
            }),
        }
    }
    sections
}
