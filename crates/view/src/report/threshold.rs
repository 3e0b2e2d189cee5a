//! Thresholds: limits for the values of counters, and the values that crossed them.

use super::scope::{ScopedCounter, ScopedObject};
use perfhive_engine::{CatalogueObject, InstanceLabel, NamePattern, TitleSet};
use perfhive_format::{FileTime, TitleIndex};
use regex_lite::Regex;
use std::sync::Arc;

/// How severe it is that a threshold is crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThresholdLevel {
    /// Something that should be examined.
    Warning,
    /// A problem.
    Critical,
}

impl ThresholdLevel {
    /// The word for the level, as reports show it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// How a value is compared with a limit. The value crosses the limit if the comparison holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The value is greater than the limit.
    Greater,
    /// The value is greater than the limit or equal to it.
    AtLeast,
    /// The value is less than the limit.
    Less,
    /// The value is less than the limit or equal to it.
    AtMost,
    /// The value is equal to the limit.
    Equal,
    /// The value is not equal to the limit.
    Other,
}

impl Comparison {
    /// Whether the comparison holds for a value and a limit: the value crosses it.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Greater => value > limit,
            Self::AtLeast => value >= limit,
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            #[allow(clippy::float_cmp, reason = "the limit is meant exactly")]
            Self::Equal => value == limit,
            #[allow(clippy::float_cmp, reason = "the limit is meant exactly")]
            Self::Other => value != limit,
        }
    }

    /// Whether `value` is worse than `other`: less for `Less` and `AtMost`, otherwise greater.
    fn is_worse(self, value: f64, other: f64) -> bool {
        match self {
            Self::Less | Self::AtMost => value < other,
            _ => value > other,
        }
    }

    /// The mathematical sign of the comparison.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Equal => "=",
            Self::Other => "<>",
        }
    }
}

/// The objects that a threshold is about, by name.
#[derive(Clone, Debug)]
pub(super) enum ObjectNames {
    Pattern(NamePattern),
    /// A regular expression that matches the whole name.
    Regex(Box<Regex>),
}

/// A set of counters, and of their instances.
#[derive(Clone, Debug)]
pub(super) struct CounterSet {
    pub(super) object: ObjectNames,
    /// The names of the instances; `None` for objects without instances.
    pub(super) instance: Option<NamePattern>,
    pub(super) counter: NamePattern,
    /// The names of instances that do not belong to the set.
    pub(super) without: Vec<NamePattern>,
    /// The path as it was written, for messages.
    pub(super) path: Arc<str>,
}

impl CounterSet {
    /// The counters of a catalogue that belong to the set, each by the title indexes of its object
    /// and of itself.
    pub(super) fn find(
        &self,
        objects: &[CatalogueObject],
        titles: &TitleSet,
    ) -> Vec<(TitleIndex, TitleIndex)> {
        let is_object = |name: &str| match &self.object {
            ObjectNames::Pattern(pattern) => pattern.matches(name),
            ObjectNames::Regex(regex) => regex.is_match(name),
        };
        let named = |index, is_it: &dyn Fn(&str) -> bool| titles.names(index).any(is_it);
        let mut found = Vec::new();
        for object in objects.iter().filter(|object| named(object.name, &is_object)) {
            if object.has_instances != self.instance.is_some() {
                continue;
            }
            let counters = object.counters.iter();
            let is_counter = |name: &str| self.counter.matches(name);
            let counters = counters.filter(|counter| named(counter.name, &is_counter));
            found.extend(counters.map(|counter| (object.name, counter.name)));
        }
        found
    }

    /// Whether a counter of an object belongs to the set.
    pub(super) fn is_about(&self, object: &ScopedObject, counter: &ScopedCounter) -> bool {
        let is_object = |name: &str| match &self.object {
            ObjectNames::Pattern(pattern) => pattern.matches(name),
            ObjectNames::Regex(regex) => regex.is_match(name),
        };
        let names = [&object.name, &object.english];
        names.iter().any(|name| is_object(name))
            && [&counter.name, &counter.english].iter().any(|name| self.counter.matches(name))
    }

    /// Whether an instance belongs to the set; `label` is `None` for an object without instances.
    pub(super) fn has(&self, label: Option<&InstanceLabel>) -> bool {
        let (Some(pattern), Some(label)) = (&self.instance, label) else {
            return self.instance.is_none() && label.is_none();
        };
        let is_named =
            |pattern: &NamePattern| pattern.matches(&label.name) || pattern.matches(&label.plain());
        is_named(pattern) && !self.without.iter().any(is_named)
    }
}

/// A limit for the values of some counters.
#[derive(Clone, Debug)]
pub struct Threshold {
    /// The meaning of a crossed threshold, for people.
    pub title: Arc<str>,
    /// How severe it is that the threshold is crossed.
    pub severity: ThresholdLevel,
    /// The name of the file that the threshold comes from; for a threshold that is built into perfhive, where its limit
    /// was published.
    pub origin: Arc<str>,
    /// How values are compared with the limit.
    pub comparison: Comparison,
    /// The limit, in the counter's unit.
    pub limit: f64,
    /// Whether the change per hour is compared instead of each value.
    pub is_trend: bool,
    pub(super) counters: CounterSet,
    /// The sets from which the limit was computed, each with the number of its instances.
    pub(super) counted: Vec<(CounterSet, u64)>,
}

impl Threshold {
    /// The path of the counters that the threshold is about.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.counters.path
    }
}

/// A summary of the values of one counter of one instance that are beyond a limit: how many, when
/// the first and the last one were, and the worst one. The values themselves are not kept. For a
/// trend it describes the change per hour.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Crossing {
    /// How many values are beyond the limit. For a trend, 1.
    pub count: u64,
    /// The time of the first value beyond the limit. For a trend, the beginning of the first slice
    /// (a thirtieth of the samples) with values.
    pub first: FileTime,
    /// The time of the last value beyond the limit. For a trend, the beginning of the last slice (a
    /// thirtieth of the samples) with values.
    pub last: FileTime,
    /// The value farthest beyond the limit, and for [`Comparison::Equal`] and [`Comparison::Other`]
    /// the greatest value; for a trend, the change per hour.
    pub worst: f64,
    /// The time of the value `worst`; for a trend, the same as `last`.
    pub worst_at: FileTime,
}

impl Crossing {
    /// The crossing that consists of one value beyond a limit.
    pub(super) fn new(value: f64, time: FileTime) -> Self {
        Self { count: 1, first: time, last: time, worst: value, worst_at: time }
    }

    /// Adds another value beyond the limit.
    pub(super) fn add(&mut self, comparison: Comparison, value: f64, time: FileTime) {
        self.count += 1;
        self.last = time;
        if comparison.is_worse(value, self.worst) {
            (self.worst, self.worst_at) = (value, time);
        }
    }
}

/// A threshold that is built into perfhive.
struct BuiltIn {
    path: &'static str,
    comparison: Comparison,
    /// The limits of [`ThresholdLevel::Warning`] and of [`ThresholdLevel::Critical`]; `None` for a level without one.
    limits: [Option<f64>; 2],
    title: &'static str,
    origin: &'static str,
}

/// The origin of the thresholds from PAL's file, which Clint Huffman published under the MIT licence.
const PAL: &str = "PAL, QuickSystemOverview.xml";

const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        path: r"\Processor(*)\% Processor Time",
        comparison: Comparison::Greater,
        limits: [Some(50.0), Some(80.0)],
        title: "Processors are busy",
        origin: PAL,
    },
    BuiltIn {
        path: r"\Processor(*)\% Privileged Time",
        comparison: Comparison::Greater,
        limits: [Some(20.0), Some(30.0)],
        title: "The kernel takes much processor time",
        origin: PAL,
    },
    BuiltIn {
        path: r"\Memory\% Committed Bytes In Use",
        comparison: Comparison::Greater,
        limits: [Some(80.0), Some(90.0)],
        title: "Memory that can be committed runs out",
        origin: PAL,
    },
    BuiltIn {
        path: r"\Memory\Pages/sec",
        comparison: Comparison::Greater,
        limits: [Some(1000.0), None],
        title: "Memory is read from and written to disk",
        origin: PAL,
    },
    BuiltIn {
        path: r"\Paging File(*)\% Usage",
        comparison: Comparison::Greater,
        limits: [Some(70.0), Some(90.0)],
        title: "The paging file fills up",
        origin: PAL,
    },
    BuiltIn {
        path: r"\PhysicalDisk(*)\Avg. Disk sec/Read",
        comparison: Comparison::Greater,
        limits: [Some(0.015), Some(0.025)],
        title: "Reading from a disk is slow",
        origin: PAL,
    },
    BuiltIn {
        path: r"\PhysicalDisk(*)\Avg. Disk sec/Write",
        comparison: Comparison::Greater,
        limits: [Some(0.015), Some(0.025)],
        title: "Writing to a disk is slow",
        origin: PAL,
    },
    BuiltIn {
        path: r"\LogicalDisk(*)\% Free Space",
        comparison: Comparison::Less,
        limits: [Some(10.0), Some(5.0)],
        title: "A disk is nearly full",
        origin: PAL,
    },
    BuiltIn {
        path: r"\Network Interface(*)\Output Queue Length",
        comparison: Comparison::Greater,
        limits: [Some(1.0), Some(2.0)],
        title: "Packets wait for a network interface",
        origin: PAL,
    },
    BuiltIn {
        path: r"\Network Interface(*)\Packets Outbound Errors",
        comparison: Comparison::Greater,
        limits: [None, Some(1.0)],
        title: "Packets could not be sent",
        origin: PAL,
    },
];

impl Threshold {
    /// The thresholds that are built into perfhive; the origin of each names where its limit was published.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        let mut all = Vec::new();
        for one in BUILT_IN {
            let Ok(path) = one.path.parse::<perfhive_engine::CounterPath>() else { continue };
            let severities = [ThresholdLevel::Warning, ThresholdLevel::Critical];
            for (severity, limit) in severities.into_iter().zip(one.limits) {
                let Some(limit) = limit else { continue };
                all.push(Self {
                    title: one.title.into(),
                    severity,
                    origin: one.origin.into(),
                    comparison: one.comparison,
                    limit,
                    is_trend: false,
                    counters: CounterSet {
                        object: ObjectNames::Pattern(path.object.clone()),
                        instance: path.instance.as_ref().map(|instance| instance.name.clone()),
                        counter: path.counter.clone(),
                        without: Vec::new(),
                        path: one.path.into(),
                    },
                    counted: Vec::new(),
                });
            }
        }
        all
    }
}
