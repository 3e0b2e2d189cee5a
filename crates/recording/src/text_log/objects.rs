//! The objects and instances that the columns of a text log name.

use perfhive_format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate, TitleIndex};
use std::collections::{HashMap, HashSet};

/// An object that the columns name, with its values of one line.
pub(super) struct Object {
    pub(super) template: ObjectTemplate,
    /// The instances in the order of the block; empty for an object without instances.
    instances: Vec<Row>,
    pub(super) has_instances: bool,
    pub(super) counters: usize,
    /// Bits of doubles, the counters of one instance after another; NaN for a missing value.
    pub(super) values: Vec<u64>,
}

/// An instance that the columns name.
struct Row {
    name: String,
    /// The number of its row in `values`.
    row: usize,
    /// The place, among the instances, of the next instance with this name; `None` for the last one.
    next_of_name: Option<usize>,
}

impl Object {
    /// The names and values of the instances that the sample has, in the order of the block.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &[u64])> {
        let all = self.instances.iter().zip(self.present());
        all.filter(|(_, is_there)| *is_there).map(|(one, _)| (&*one.name, self.row(one)))
    }

    /// The values of an instance.
    fn row(&self, instance: &Row) -> &[u64] {
        let from = instance.row * self.counters;
        self.values.get(from..from + self.counters).unwrap_or_default()
    }

    /// For each instance, whether the sample has it. The columns name the instances of all lines; an instance that a
    /// line lacks has blank cells there. Such an instance still counts as present if a later one of its name is, since
    /// the number of the later one counts it. All count as present if the object has no value at all, as rates have
    /// none in the first line.
    fn present(&self) -> Vec<bool> {
        let has_value = |row: &[u64]| row.iter().any(|bits| !f64::from_bits(*bits).is_nan());
        let mut present = vec![true; self.instances.len()];
        if has_value(&self.values) {
            for (place, instance) in self.instances.iter().enumerate().rev() {
                let next = instance.next_of_name.and_then(|next| present.get(next).copied());
                let is_there = next == Some(true) || has_value(self.row(instance));
                if let Some(of) = present.get_mut(place) {
                    *of = is_there;
                }
            }
        }
        present
    }
}

/// An object while its columns are read.
pub(super) struct Draft {
    name: TitleIndex,
    has_instances: bool,
    pub(super) instances: Vec<String>,
    pub(super) counters: Vec<TitleIndex>,
}

impl Draft {
    pub(super) fn new(name: TitleIndex, has_instances: bool) -> Self {
        Self { name, has_instances, instances: Vec::new(), counters: Vec::new() }
    }

    /// The number of values in a sample: instances times counters.
    pub(super) fn cells(&self) -> usize {
        let rows = if self.has_instances { self.instances.len() } else { 1 };
        rows.saturating_mul(self.counters.len())
    }

    pub(super) fn build(self) -> Result<Object, String> {
        let cells = self.cells();
        let spec = match self.has_instances {
            true => ObjectSpec::new(self.name).with_instances(),
            false => ObjectSpec::new(self.name),
        };
        let counter = |name: &_| CounterSpec::new(*name, CounterType::PERF_DOUBLE_RAW);
        let counters: Vec<_> = self.counters.iter().map(counter).collect();
        let template = ObjectTemplate::new(&spec, &counters).map_err(|error| error.to_string())?;
        Ok(Object {
            template,
            has_instances: self.has_instances,
            counters: self.counters.len(),
            values: vec![f64::NAN.to_bits(); cells],
            instances: as_recorded(&self.instances),
        })
    }
}

/// The instances with the names that they had where they were recorded, in the order of a block; `row` is the place of
/// the name in `shown`. PDH shows instances of one name as `svchost`, `svchost#1`, `svchost#2`. If all before a number
/// are there, the instances have one name and stand in the order of these numbers; otherwise each has the name as it is
/// shown.
fn as_recorded(shown: &[String]) -> Vec<Row> {
    let places: HashMap<&str, usize> = (0..).zip(shown).map(|(at, name)| (&**name, at)).collect();
    let alone = |(name, row): (&String, _)| Row { name: name.clone(), row, next_of_name: None };
    let mut all: Vec<_> = shown.iter().zip(0..).map(alone).collect();
    // A name is shorter than those that it makes with numbers, which then have none of their own.
    let mut by_length: Vec<&String> = shown.iter().collect();
    by_length.sort_by_key(|name| name.len());
    let mut numbered = HashSet::new();
    for name in by_length {
        let Some(first) = places.get(&**name).filter(|first| !numbered.contains(*first)) else {
            continue;
        };
        let others = (1..).map_while(|number| places.get(&*format!("{name}#{number}")));
        let rows: Vec<usize> = [first].into_iter().chain(others).copied().collect();
        numbered.extend(rows.iter().skip(1).copied());
        let mut slots = rows.clone();
        slots.sort_unstable();
        let next = slots.iter().skip(1).copied().map(Some).chain([None]);
        for ((slot, row), next_of_name) in slots.iter().zip(rows).zip(next) {
            if let Some(slot) = all.get_mut(*slot) {
                *slot = Row { name: name.clone(), row, next_of_name };
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_are_those_of_one_name_if_none_is_missing() {
        let of = |shown: &[&str]| {
            let shown: Vec<_> = shown.iter().map(ToString::to_string).collect();
            as_recorded(&shown)
                .iter()
                .map(|one| format!("{} {}", one.name, one.row))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&["a", "b", "a#1", "b#1"]), ["a 0", "b 1", "a 2", "b 3"]);
        assert_eq!(of(&["a#2", "b", "a", "a#1"]), ["a 2", "b 1", "a 3", "a 0"]);
        assert_eq!(of(&["a", "a#2", "b#1", "c#0"]), ["a 0", "a#2 1", "b#1 2", "c#0 3"]);
        assert_eq!(of(&["a#1#1", "a#1", "a"]), ["a#1#1 0", "a 2", "a 1"]);
    }

    #[test]
    fn instances_are_those_with_values_and_those_that_numbers_count() {
        let mut draft = Draft::new(TitleIndex(2), true);
        draft.instances = ["a", "b", "a#1", "c", "a#2"].map(str::to_string).into();
        draft.counters = vec![TitleIndex(4), TitleIndex(6)];
        let mut object = draft.build().unwrap();
        let names = |object: &Object| object.rows().map(|(name, _)| name.to_string()).collect();
        let all: Vec<String> = names(&object);
        assert_eq!(all, ["a", "b", "a", "c", "a"]);
        // The second counters of `c` and of the second `a`.
        for place in [7, 5] {
            object.values[place] = 1f64.to_bits();
        }
        let some: Vec<String> = names(&object);
        assert_eq!(some, ["a", "a", "c"]);
        object.values[5] = f64::NAN.to_bits();
        let one: Vec<String> = names(&object);
        assert_eq!(one, ["c"]);
    }
}
