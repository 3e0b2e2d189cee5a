//! A snapshot: objects by their title indexes, sampled in three stages, as the routines of the
//! thesis "Extending Java Performance Monitoring Framework" have it (tables 4.2 to 4.4).
//!
//! | in | may be done | leads to |
//! |---|---|---|
//! | Initialized | `prepare`; structure and items are readable | Prepared |
//! | Prepared | `prepare`, `sample` | Prepared, Sampled |
//! | Sampled | `prepare`, `decode` | Prepared, Initialized |
//!
//! A failure of `sample` or `decode` leads back to Initialized.

use crate::failure::{Failure, Kind};
use crate::probe::SETTLING;
use crate::source::{self, OpenSource};
use crate::wire::Answer;
use perfhive::measure::{Operation, SensorKind, State, ValueType};
use perfhive::{
    Ask, Cached, Catalogue, CookedValue, Fault, NoValue, ObjectQuery, ObjectSample, Snapshot,
    Source, TitleIndex,
};
use std::collections::HashMap;
use std::time::Duration;

/// The objects that a snapshot holds.
pub(crate) enum Wanted {
    Global,
    Costly,
    /// Chosen counters, each with its object; counter 0 means all counters of the object.
    Custom(Vec<(TitleIndex, TitleIndex)>),
}

/// The position in Java's `ValueType` for an item without a value.
const NO_VALUE: u8 = 3;

/// The value of one counter of one instance, or the reason why there is none.
struct Item {
    object: TitleIndex,
    counter: TitleIndex,
    instance: usize,
    value_type: ValueType,
    value: Result<CookedValue, NoValue>,
}

/// Objects of a source, sampled in three stages.
pub(crate) struct CounterSnapshot {
    source: Cached<Box<dyn Source>>,
    wanted: Wanted,
    request: Ask,
    generation: u64,
    state: State,
    /// The number of samples taken, counted up to [`SETTLING`].
    count: u32,
    taken: Snapshot,
    /// The snapshot that was decoded last; its structure is shown.
    shown: Snapshot,
    samples: HashMap<TitleIndex, ObjectSample>,
    items: Vec<Item>,
    faults: Vec<Fault>,
}

impl CounterSnapshot {
    /// A snapshot of the wanted objects with a first sample, so that the first cycle has rates.
    pub(crate) fn new(opened: &mut OpenSource, wanted: Wanted) -> Result<Self, Failure> {
        Self::of(opened.shared()?.source(), wanted)
    }

    fn of(mut source: Cached<Box<dyn Source>>, wanted: Wanted) -> Result<Self, Failure> {
        let objects = match &wanted {
            Wanted::Global => ObjectQuery::Global,
            Wanted::Costly => ObjectQuery::Costly,
            Wanted::Custom(list) => {
                let mut objects = ObjectQuery::Indexes(Vec::new());
                list.iter().for_each(|(object, _)| objects.insert(*object));
                objects
            }
        };
        let mut request = Ask::new(objects).max_age(Duration::ZERO);
        if !source.is_live() {
            // A recording is read sample by sample, each as a whole.
            request = Ask::new(ObjectQuery::Global).max_age(Duration::MAX);
        }
        let named = |(_, counter): &(_, TitleIndex)| counter.0 != 0;
        if let Wanted::Custom(list) = &wanted {
            request.extra_counters = list.iter().copied().filter(named).collect();
        }
        let catalogue = source.catalogue(&Ask::new(request.objects.clone()))?;
        if let Wanted::Custom(list) = &wanted {
            list.iter().try_for_each(|one| check(&catalogue, *one))?;
        }
        let generation = catalogue.generation;
        let mut snapshot = Self {
            source,
            wanted,
            request,
            generation,
            state: State::Sampled,
            count: 0,
            taken: Snapshot::new(),
            shown: Snapshot::new(),
            samples: HashMap::new(),
            items: Vec::new(),
            faults: Vec::new(),
        };
        snapshot.source.collect(&snapshot.request, &mut snapshot.taken)?;
        snapshot.faults.extend_from_slice(snapshot.taken.faults());
        snapshot.decode()?;
        Ok(snapshot)
    }

    fn expect(&self, operation: Operation, possible: &[State]) -> Result<(), Failure> {
        if possible.contains(&self.state) {
            return Ok(());
        }
        let message = format!("{operation} is not possible in state {}", self.state);
        Err(Failure::new(Kind::State, message))
    }

    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        let possible = [State::Initialized, State::Prepared, State::Sampled];
        self.expect(Operation::Prepare, &possible)?;
        self.taken.clear();
        self.state = State::Prepared;
        Ok(())
    }

    /// Takes a sample. Returns whether there was an anomaly: a buffer that grew although it was not
    /// new, or a fault in a part of the collection.
    pub(crate) fn sample(&mut self) -> Result<bool, Failure> {
        self.expect(Operation::Sample, &[State::Prepared])?;
        self.state = State::Initialized;
        self.source.collect(&self.request, &mut self.taken)?;
        self.faults.clear();
        self.faults.extend_from_slice(self.taken.faults());
        self.state = State::Sampled;
        let is_settled = self.count == SETTLING;
        self.count += u32::from(!is_settled);
        Ok(is_settled && self.taken.has_grown() || !self.taken.faults().is_empty())
    }

    /// Decodes the sample into values. Returns whether there was an anomaly compared with the
    /// sample decoded before: objects or instances that came or went, other counters, or a changed
    /// catalogue.
    pub(crate) fn decode(&mut self) -> Result<bool, Failure> {
        self.expect(Operation::Decode, &[State::Sampled])?;
        self.state = State::Initialized;
        let generation = self.source.catalogue(&Ask::nothing())?.generation;
        let mut changed = std::mem::replace(&mut self.generation, generation) != generation;
        if changed {
            // An index may belong to something else now.
            self.samples.clear();
        }
        std::mem::swap(&mut self.taken, &mut self.shown);
        self.items.clear();
        let mut samples = HashMap::new();
        for object in objects(&self.wanted, &self.shown) {
            let Some(found) = self.shown.object(object) else { continue };
            let sample = ObjectSample::of(found);
            let before = self.samples.get(&object);
            if let Some(before) = before {
                let (old, new) = (before.identities(), sample.identities());
                changed |= old.identities() != new.identities();
                let counters = |sample: &ObjectSample| -> Vec<_> {
                    sample.counters().map(|plan| (plan.name, plan.counter_type)).collect()
                };
                changed |= counters(before) != counters(&sample);
            }
            for plan in sample.counters().filter(|plan| is_wanted(&self.wanted, object, plan.name))
            {
                for (instance, identity) in sample.identities().identities().iter().enumerate() {
                    let Some(newer) = sample.counter(instance, plan.name) else { continue };
                    let older = before.and_then(|before| {
                        let place = before.identities().place(identity)?;
                        before.counter(place, plan.name)
                    });
                    self.items.push(Item {
                        object,
                        counter: plan.name,
                        instance,
                        value_type: ValueType::of(plan.counter_type),
                        value: newer.value(older.as_ref()),
                    });
                }
            }
            samples.insert(object, sample);
        }
        changed |= samples.len() != self.samples.len()
            || samples.keys().any(|object| !self.samples.contains_key(object));
        self.samples = samples;
        Ok(changed)
    }

    /// The title indexes, in ascending order, of those wanted objects that the newest decoded
    /// sample has.
    pub(crate) fn objects(&self) -> Result<Vec<TitleIndex>, Failure> {
        self.expect(Operation::Read, &[State::Initialized])?;
        let mut list = objects(&self.wanted, &self.shown);
        list.retain(|object| self.shown.object(*object).is_some());
        Ok(list)
    }

    fn object(&self, object: TitleIndex) -> Result<perfhive::SnapshotObject<'_>, Failure> {
        if !self.objects()?.contains(&object) {
            let message = format!("the snapshot has no object {object}");
            return Err(Failure::new(Kind::UnknownCategory, message));
        }
        let gone = || Failure::new(Kind::Internal, "the object is gone");
        self.shown.object(object).ok_or_else(gone)
    }

    /// Puts the wanted counters of an object into the answer, without bases: for each the members of Java's
    /// `CounterRecord`.
    pub(crate) fn counters(&self, object: TitleIndex, answer: &mut Answer) -> Result<(), Failure> {
        let counters = self.object(object)?.view().counters();
        let counters = counters.filter(|counter| !counter.counter_type().is_base());
        let counters: Vec<_> =
            counters.filter(|one| is_wanted(&self.wanted, object, one.name_index())).collect();
        answer.count(counters.len());
        for counter in counters {
            let kind = counter.counter_type();
            answer.index(counter.help_index()).index(counter.name_index());
            answer.i32(kind.0.cast_signed()).u8(source::kind(SensorKind::of(kind)));
            answer.u8(source::value_type(ValueType::of(kind)));
        }
        Ok(())
    }

    /// Puts the instances of an object into the answer: for each the title index of the object of its
    /// parent, or 0 without a parent, and its name as in the data block, which need not be unique.
    pub(crate) fn instances(&self, object: TitleIndex, answer: &mut Answer) -> Result<(), Failure> {
        let instances: Vec<_> = self.object(object)?.view().instances().collect();
        answer.count(instances.len());
        for instance in instances {
            answer.i32(instance.parent().map_or(0, |(object, _)| object.0.cast_signed()));
            // A zero ends a name in the caller's array.
            answer.text(&instance.name().to_text().replace('\0', "\u{fffd}"));
        }
        Ok(())
    }

    /// The faults of the newest sample that did not fail.
    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(crate) fn item_count(&self) -> Result<usize, Failure> {
        self.expect(Operation::Read, &[State::Initialized])?;
        Ok(self.items.len())
    }

    /// Puts all items into the answer: the object, the counter, the instance, the type of the value
    /// or [`NO_VALUE`], and the value.
    pub(crate) fn items(&self, answer: &mut Answer) -> Result<(), Failure> {
        answer.count(self.item_count()?);
        for item in &self.items {
            answer.index(item.object).index(item.counter).count(item.instance);
            let (value_type, bits) = match (&item.value, item.value_type) {
                (Ok(CookedValue::Integer(value)), ValueType::Int32 | ValueType::Int64) => {
                    (source::value_type(item.value_type), *value)
                }
                (Ok(value), _) => (source::value_type(ValueType::Double), value.as_f64().to_bits()),
                (Err(_), _) => (NO_VALUE, 0),
            };
            answer.u8(value_type).bits(bits);
        }
        Ok(())
    }
}

/// Checks that a source has an object and a counter of it; the counter 0, which means all counters,
/// needs only the object.
fn check(
    catalogue: &Catalogue,
    (object, counter): (TitleIndex, TitleIndex),
) -> Result<(), Failure> {
    let Some(found) = catalogue.object(object) else {
        let message = format!("there is no object with the title index {object}");
        return Err(Failure::new(Kind::UnknownCategory, message));
    };
    if counter.0 == 0 || found.counter(counter).is_some() {
        return Ok(());
    }
    let message = format!("the object {object} has no counter with the title index {counter}");
    Err(Failure::new(Kind::UnknownCounter, message))
}

/// The title indexes of the wanted objects, in ascending order: for `Custom` the chosen objects,
/// whether or not the snapshot has them, and otherwise all objects of the snapshot. (A source may
/// answer with more objects than were chosen; these are not wanted.)
fn objects(wanted: &Wanted, shown: &Snapshot) -> Vec<TitleIndex> {
    let mut list: Vec<TitleIndex> = match wanted {
        Wanted::Custom(list) => list.iter().map(|(object, _)| *object).collect(),
        _ => shown.objects().map(|object| object.view().name_index()).collect(),
    };
    list.sort_unstable();
    list.dedup();
    list
}

fn is_wanted(wanted: &Wanted, object: TitleIndex, counter: TitleIndex) -> bool {
    match wanted {
        Wanted::Custom(list) => {
            list.contains(&(object, counter)) || list.contains(&(object, TitleIndex(0)))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use perfhive::SharedSource;
    use perfhive::format::{CounterSpec, CounterType};
    use perfhive_testkit::script::{Row, block, replay};

    #[test]
    fn objects_that_come_or_go_are_an_anomaly() {
        let counters = [CounterSpec::new(TitleIndex(2), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
        let rows: [Row<'_>; 1] = [("main", None, &[7])];
        let samples: [&[u32]; 5] = [&[10, 12], &[10], &[10], &[12], &[10, 12]];
        let sample = |(objects, second): (&&[u32], i64)| {
            let object = |index: &u32| (TitleIndex(*index), &counters[..], &rows[..]);
            block("HOST", second, &objects.iter().map(object).collect::<Vec<_>>())
        };
        let names = [(10, "Shop"), (12, "Mill"), (2, "Bytes")];
        for wanted in [Wanted::Global, Wanted::Custom(vec![(TitleIndex(10), TitleIndex(2))])] {
            let is_global = matches!(wanted, Wanted::Global);
            let source = SharedSource::new(replay(samples.iter().zip(0..).map(sample), &names));
            let mut snapshot = CounterSnapshot::of(source.source(), wanted).unwrap();
            let changes: Vec<bool> = (1..samples.len())
                .map(|_| {
                    snapshot.prepare().unwrap();
                    snapshot.sample().unwrap();
                    snapshot.decode().unwrap()
                })
                .collect();
            assert_eq!(changes, [is_global, false, true, true]);
        }
    }
}
