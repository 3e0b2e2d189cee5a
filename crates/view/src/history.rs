//! The past values of counters, as curves one line high.

use perfhive_engine::{Identity, PathId, Query, Reading};
use perfhive_format::{CounterType, TitleIndex};
use std::collections::{HashMap, VecDeque};

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The path, the source, the object, the counter and the instance of a reading.
type Key = (PathId, usize, TitleIndex, TitleIndex, Option<Identity>);

fn key(reading: &Reading) -> Key {
    (reading.path, reading.source, reading.object, reading.counter, reading.identity.clone())
}

/// The last values of each reading of a query.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The values of each reading, and their unit.
    values: HashMap<Key, (VecDeque<Option<f64>>, &'static str)>,
}

impl History {
    /// Adds the values of the query's last collection. Of each reading the last `length` values, at
    /// least one, are kept; readings that the collection does not have are forgotten.
    pub fn note(&mut self, query: &Query, length: usize) {
        let mut old = std::mem::take(&mut self.values);
        for reading in query.readings() {
            let key = key(reading);
            let known = old.remove(&key);
            let (mut values, unit) =
                known.unwrap_or_else(|| (VecDeque::new(), query.unit_of(reading)));
            while values.len() >= length.max(1) {
                values.pop_front();
            }
            values.push_back(reading.value.as_ref().ok().map(|value| value.as_f64()));
            self.values.insert(key, (values, unit));
        }
    }

    /// The past values of a reading as a curve in block characters. The curve's scale goes from 0 to
    /// 100 for percentages, or to their peak if that is higher; at least from the lowest to the highest
    /// value for counts and amounts that one sample gives; from 0 to the peak for all others. The
    /// counter's type and [unit](Query::unit_of) decide which of these a value is. A missing value is a
    /// space. Empty before there are two values.
    #[must_use]
    pub fn curve(&self, reading: &Reading) -> String {
        let Some((values, unit)) = self.values.get(&key(reading)) else {
            return String::new();
        };
        sparkline(values.iter().copied(), reading.counter_type, unit)
    }
}

/// The values as a curve in block characters, scaled as in [`History::curve`]; `unit` is the unit that
/// [`unit_of`](perfhive_engine::unit_of) returns. Empty if fewer than two values are known.
#[must_use]
pub fn sparkline(
    values: impl Iterator<Item = Option<f64>> + Clone,
    counter_type: CounterType,
    unit: &str,
) -> String {
    let known: Vec<f64> = values.clone().flatten().collect();
    if known.len() < 2 {
        return String::new();
    }
    let is_of_one_sample = counter_type.samples() == 1;
    let (low, high) = match unit {
        "%" => (0.0, known.iter().copied().fold(100.0, f64::max)),
        "" | "B" | "KiB" | "MiB" if is_of_one_sample => range(&known),
        _ => (0.0, known.iter().copied().fold(0.0, f64::max)),
    };
    curve(values, low, high)
}

/// The lower and the upper end of a curve's scale: the lowest and highest value, but at least a
/// tenth of the highest value apart, so that a number that hardly changes is a line in the middle.
fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low).max(high.abs() * 0.1);
    let middle = low.midpoint(high);
    (middle - width / 2.0, middle + width / 2.0)
}

/// A block character for each value: the lowest for `low` and below, the full block for `high` and
/// above; a space for `None`.
fn curve(values: impl Iterator<Item = Option<f64>>, low: f64, high: f64) -> String {
    let step = |value: f64| {
        let part = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        let place = (part * STEPS.len() as f64) as usize;
        STEPS.get(place.min(STEPS.len() - 1)).copied().unwrap_or(' ')
    };
    values.map(|value| value.map_or(' ', step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::SourceSet;
    use perfhive_format::{CounterSpec, LanguageId};
    use perfhive_testkit::script::{block, replay};

    #[test]
    fn a_path_of_two_machines_has_a_curve_for_each() {
        let machine = |name: &str, values: [u64; 2]| {
            let counters =
                [CounterSpec::new(TitleIndex(2), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
            let at = |second: usize| {
                let rows = [("main", None, &values[second..=second])];
                block(name, second as i64, &[(TitleIndex(1), &counters, &rows)])
            };
            replay([at(0), at(1)], &[(1, "Shop"), (2, "Bytes")])
        };
        let sources = SourceSet::new(machine("A", [4, 8])).with_machine("B", machine("B", [8, 4]));
        let mut query = Query::over(sources, LanguageId::ENGLISH).expect("both have titles");
        query.add(r"\\*\Shop(*)\Bytes").expect("both machines have the counter");
        let mut history = History::default();
        for _ in 0..2 {
            query.collect().expect("both machines have two samples");
            history.note(&query, 10);
        }
        let curves: Vec<_> = query.readings().iter().map(|one| history.curve(one)).collect();
        assert_eq!(curves, ["▁█", "█▁"]);
    }

    #[test]
    fn the_name_of_a_plain_number_decides_the_scale_of_its_curve() {
        let names = [(1, "Shop"), (2, "% Sold"), (3, "Bytes/sec"), (4, "Bytes"), (5, "Goods")];
        let counters: Vec<CounterSpec> = (2..=5)
            .map(|index| CounterSpec::new(TitleIndex(index), CounterType::PERF_DOUBLE_RAW))
            .collect();
        let at = |(second, value): (i64, f64)| {
            let values = [value.to_bits(); 4];
            block("A", second, &[(TitleIndex(1), &counters, &[("main", None, &values)])])
        };
        let blocks = [(0, 51.0), (1, 55.0)].map(at);
        let mut query = Query::new(replay(blocks, &names)).expect("the source has titles");
        let mut history = History::default();
        let paths = names[1..].iter().map(|(_, name)| query.add(&format!(r"\Shop(*)\{name}")));
        let paths: Vec<PathId> = paths.map(|path| path.expect("the source has it")).collect();
        for _ in 0..2 {
            query.collect().expect("there are two samples");
            history.note(&query, 10);
        }
        let curve =
            |path: &PathId| query.readings_of(*path).map(|one| history.curve(one)).collect();
        let curves: Vec<String> = paths.iter().map(curve).collect();
        // From 0 to 100, from 0 to the peak, and twice from below the lowest to above the highest.
        assert_eq!(curves, ["▅▅", "██", "▂▇", "▂▇"]);
    }

    #[test]
    fn curves_scale_clamp_and_leave_gaps() {
        let values = [Some(0.0), None, Some(50.0), Some(100.0), Some(400.0), Some(-1.0)];
        assert_eq!(curve(values.into_iter(), 0.0, 100.0), "▁ ▅██▁");
        assert_eq!(curve([Some(0.0), Some(0.0)].into_iter(), 0.0, 0.0), "▁▁");
        let (low, high) = range(&[80.0, 80.0]);
        assert_eq!(curve([Some(80.0), Some(80.0)].into_iter(), low, high), "▅▅");
    }
}
