//! The comparison of two recordings, or of two spans of one recording.

use super::figures::Summary;
use super::{CounterReport, NameTotal, Report, path_of};
use perfhive_format::{CounterType, TitleIndex};
use std::collections::{BTreeSet, HashMap};

/// How many standard errors the difference of two means must reach to be called clear.
const MORE_THAN_CHANCE: f64 = 4.0;

/// The differences between two reports.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Differences {
    /// The counters that both reports have, except elapsed times. Clear differences come before others, and among
    /// the clear ones, as among the others, the largest come first, measured as a part of the larger mean.
    pub counters: Vec<CounterChange>,
    /// The English paths of the counters that only the first report has, and of those that only the second has;
    /// without elapsed times.
    pub only: [Vec<String>; 2],
    /// The processes by name, the largest changes of processor time first; empty if a report has no
    /// processes.
    pub processes: Vec<ProcessChange>,
}

/// A counter that two reports have.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CounterChange {
    /// The path in the shown language.
    pub path: String,
    /// The path in English.
    pub english: String,
    /// The title indexes of object and counter, as the second report has them.
    pub indexes: (TitleIndex, TitleIndex),
    /// The unit of the values.
    pub unit: &'static str,
    /// The counter's type.
    pub counter_type: CounterType,
    /// The statistics of the counter's values in the first report.
    pub first: Summary,
    /// The statistics of the counter's values in the second report.
    pub second: Summary,
    /// Whether the means differ, and by at least four times the standard error of their difference.
    /// Otherwise the difference may be chance.
    pub is_clear: bool,
}

impl CounterChange {
    /// The mean in the second report less the mean in the first.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.second.mean - self.first.mean
    }

    /// The difference divided by the larger of both means: -1 if only the second mean is zero, 1 if
    /// only the first is (for values that are not negative), 0 if both are.
    #[must_use]
    pub fn part(&self) -> f64 {
        let larger = self.first.mean.abs().max(self.second.mean.abs());
        if larger > 0.0 { self.difference() / larger } else { 0.0 }
    }

    /// The change of a counter between two reports, without its English path and its object's index, which the caller
    /// adds; `path` is the path in the shown language.
    fn of(path: &str, (first, second): (&CounterReport, &CounterReport)) -> Self {
        let (one, other) = (first.summary, second.summary);
        let error = |summary: &Summary| {
            let count = summary.count.max(1) as f64;
            summary.deviation * summary.deviation / count
        };
        let error = (error(&one) + error(&other)).sqrt();
        let difference = (other.mean - one.mean).abs();
        Self {
            path: path.to_string(),
            english: String::new(),
            indexes: (TitleIndex(0), second.index),
            unit: second.unit,
            counter_type: second.counter_type,
            first: one,
            second: other,
            // Values that do not vary have no standard error: any difference is clear.
            is_clear: difference > 0.0 && difference >= MORE_THAN_CHANCE * error,
        }
    }
}

/// All processes of one name in two reports, on average over each recording.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProcessChange {
    /// The name that the processes share.
    pub name: String,
    /// The processor time in percent of one processor, in the first report and in the second: 0
    /// where no process of the name ran, and `None` where the counter has no value.
    pub processor: [Option<f64>; 2],
    /// The working set in bytes, in the first report and in the second: 0 where no process of the
    /// name ran, and `None` where the counter has no value.
    pub working_set: [Option<f64>; 2],
}

/// The differences between two reports.
#[must_use]
pub fn compare(first: &Report, second: &Report) -> Differences {
    let (one, mut other) =
        (counters(first), counters(second).into_iter().collect::<HashMap<_, _>>());
    let mut comparison = Differences::default();
    for (key, (path, counter)) in one {
        match other.remove(&key) {
            Some((place, new)) => {
                let mut change = CounterChange::of(&path.shown, (counter, new));
                change.english = path.english;
                change.indexes.0 = place.object;
                comparison.counters.push(change);
            }
            None => comparison.only[0].push(path.english),
        }
    }
    // The order is that of the report: a map has none.
    let left = counters(second).into_iter().filter(|(key, _)| other.contains_key(key));
    comparison.only[1] = left.map(|(_, (path, _))| path.english).collect();
    comparison.counters.sort_by(|a, b| {
        let key = |one: &CounterChange| one.part().abs();
        b.is_clear.cmp(&a.is_clear).then_with(|| key(b).total_cmp(&key(a)))
    });
    comparison.processes = processes(first, second);
    comparison
}

/// The English name of an object, the label of an instance (`None` for an object without
/// instances), and the English name of a counter.
type Key<'a> = (&'a str, Option<&'a str>, &'a str);

/// The paths of a counter, and the title index of its object.
struct Place {
    shown: String,
    english: String,
    object: TitleIndex,
}

/// The counters of a report, each with its paths; the key is the English name of the object, the
/// label of the instance, and the English name of the counter. Counters of elapsed time are left
/// out.
fn counters(report: &Report) -> Vec<(Key<'_>, (Place, &CounterReport))> {
    let mut all = Vec::new();
    for object in &report.objects {
        for instance in &object.instances {
            // Elapsed times differ between any two recordings.
            let is_elapsed =
                |one: &&CounterReport| one.counter_type == CounterType::PERF_ELAPSED_TIME;
            for counter in instance.counters.iter().filter(|one| !is_elapsed(one)) {
                let label = instance.label.as_deref();
                let key = (object.english.as_str(), label, counter.english.as_str());
                let place = Place {
                    shown: path_of(&object.name, label, &counter.name),
                    english: path_of(&object.english, label, &counter.english),
                    object: object.index,
                };
                all.push((key, (place, counter)));
            }
        }
    }
    all
}

/// The processor time and working set of the processes of each name.
struct Totals<'a> {
    by_name: HashMap<&'a str, [Option<f64>; 2]>,
    /// The values of a name without processes: 0, or `None` for a counter of which no process of
    /// the report has a value.
    of_none: [Option<f64>; 2],
}

impl<'a> Totals<'a> {
    fn of(report: &'a Report) -> Self {
        let of = |total: &'a NameTotal| (total.name.as_str(), [total.processor, total.working_set]);
        let by_name: HashMap<_, _> = report.by_name.iter().map(of).collect();
        let of_none = [0, 1].map(|counter| {
            let is_there = by_name.values().any(|values| values[counter].is_some());
            is_there.then_some(0.0)
        });
        Self { by_name, of_none }
    }

    /// The processor time and the working set of a name; [`of_none`](Self::of_none) for a name that
    /// the report does not have.
    fn values(&self, name: &str) -> [Option<f64>; 2] {
        self.by_name.get(name).copied().unwrap_or(self.of_none)
    }
}

/// The processes by name, the largest changes of processor time first; empty if a report has no
/// processes.
fn processes(first: &Report, second: &Report) -> Vec<ProcessChange> {
    if first.by_name.is_empty() || second.by_name.is_empty() {
        return Vec::new();
    }
    let (first, second) = (Totals::of(first), Totals::of(second));
    let all: BTreeSet<&str> = first.by_name.keys().chain(second.by_name.keys()).copied().collect();
    let mut changes: Vec<ProcessChange> = all
        .into_iter()
        .map(|name| {
            let ([a, b], [c, d]) = (first.values(name), second.values(name));
            ProcessChange { name: name.to_string(), processor: [a, c], working_set: [b, d] }
        })
        .collect();
    let change = |[a, b]: [Option<f64>; 2]| a.zip(b).map_or(0.0, |(a, b)| (b - a).abs());
    changes.sort_by(|a, b| {
        let by_processor = change(b.processor).total_cmp(&change(a.processor));
        by_processor.then_with(|| change(b.working_set).total_cmp(&change(a.working_set)))
    });
    changes
}
