//! Readings of a sample: values by instance, or the reasons why there are none.

use super::{BoundInstance, LabelledSlot, ProbedCounter, ProbedObject, ShownSlots, instance_name};
use crate::error::{Fault, FaultKind, SourceError};
use crate::identity::Identity;
use crate::measure::{SensorReading, SensorSlot};
use crate::path::InstancePattern;
use crate::query::NoValue;
use crate::query::column::{ColumnValue, CounterColumn};
use crate::query::sample::{ObjectSample, ObjectState};
use perfhive_format::{CookedValue, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// A value or the reason why there is none, and the raw values of this sample and of the sample
/// before.
struct Measured {
    value: Result<CookedValue, NoValue>,
    raw: Option<u64>,
    before: Option<u64>,
}

/// The value and the raw values of a counter, for the instance with the index `place` in `sample`,
/// the newest sample of `state`. The error says why there is no raw value.
fn value(
    state: &ObjectState,
    sample: &ObjectSample,
    counter: Option<TitleIndex>,
    place: usize,
) -> Result<Measured, NoValue> {
    let counter = counter.ok_or(NoValue::CounterMissing)?;
    let newer = sample.counter(place, counter).ok_or(NoValue::CounterMissing)?;
    let raw = Some(newer.raw()?.value);
    let (value, before) = state.value_and_before(&newer, counter, place);
    Ok(Measured { value, raw, before })
}

impl BoundInstance {
    /// The value and the raw values of a counter of the instance in the newest sample. An instance
    /// that is gone, or that cannot be told apart from others of its name, becomes
    /// [`lost`](Self::lost), unless it was the only one of its name and may come back under that
    /// name.
    fn read(
        &mut self,
        state: &ObjectState,
        counter: Option<TitleIndex>,
    ) -> Result<Measured, NoValue> {
        let sample = state.current().ok_or(NoValue::ObjectMissing(None))?;
        let identity = self.identity.as_ref().filter(|_| !self.lost);
        let identity = identity.ok_or(NoValue::Vanished)?;
        // If one of several instances with the same name is gone, the others cannot be told apart.
        let same = match state.previous() {
            Some(old) => sample.is_same_crowd(identity, old),
            None => !self.was_alone || sample.is_alone(identity),
        };
        match sample.identities().place(identity).filter(|_| same) {
            Some(place) => value(state, sample, counter, place),
            None => {
                // An instance that was the only one of its name may come back under that name.
                let was_alone =
                    state.previous().map_or(self.was_alone, |old| old.is_alone(identity));
                let may_return = matches!(identity, Identity::Named { .. });
                self.lost = !(may_return && was_alone && sample.is_alone(identity));
                Err(NoValue::Vanished)
            }
        }
    }
}

impl ProbedCounter {
    /// The reading [`NoValue::Busy`] for the one instance that this sensor measures, if a fault
    /// says that the instance's values changed too fast to be read. `None` without such a fault,
    /// for a sensor of all instances, for an instance with a parent, and for one that is lost. A
    /// busy instance is not gone: the next sample may have it.
    pub(super) fn busy(&self, probed: &ProbedObject, faults: &[Fault]) -> Option<SensorReading> {
        let one = self.one.as_ref().filter(|one| !one.lost)?;
        let pattern = one.pattern.as_deref()?;
        let is_it = |fault: &&Fault| {
            fault.kind == FaultKind::Busy
                && fault.object == probed.index.index()
                && fault.instance.as_ref().is_some_and(|name| pattern.matches(name))
        };
        let why = Arc::clone(&faults.iter().find(is_it)?.message);
        Some(SensorReading::new(self.asked, Arc::clone(&one.slot), Err(NoValue::Busy(why))))
    }

    /// Adds the readings of this sensor, made from the newest sample of its object. With `failed`,
    /// the failure of the source, there are no values.
    pub(super) fn read(
        &mut self,
        probed: &ProbedObject,
        failed: Option<&SourceError>,
        out: &mut Vec<SensorReading>,
    ) {
        let asked = self.asked;
        let counter = self.counter.index();
        let missing = match failed {
            Some(error) => Some(NoValue::SourceFailed(error.clone())),
            None if probed.state.current().is_none() => {
                Some(NoValue::ObjectMissing(probed.state.missing.clone()))
            }
            None => None,
        };
        let raw_per_second = probed.state.current().zip(counter);
        let raw_per_second = raw_per_second.and_then(|(sample, it)| sample.raw_per_second(it));
        let mut push = |slot: &Arc<SensorSlot>, result: Result<Measured, NoValue>| {
            let slot = Arc::clone(slot);
            out.push(match result {
                Ok(Measured { value, raw, before }) => {
                    SensorReading { asked, slot, value, raw, before, raw_per_second }
                }
                Err(why) => SensorReading::new(asked, slot, Err(why)),
            });
        };
        if let Some(one) = &mut self.one {
            let result = match missing {
                Some(why) => Err(why),
                None => one.read(&probed.state, counter),
            };
            push(&one.slot, result);
            return;
        }
        let (name, value_type, unit) = (&self.name, self.value_type, &self.unit);
        let slot_of = |slots: &mut HashMap<Identity, LabelledSlot>,
                       identity: &Identity,
                       at: Option<(&ObjectSample, usize)>| {
            let label = at.and_then(|(sample, place)| sample.labels().get(place));
            if let Some(called) = slots.get(identity).filter(|called| called.is(label)) {
                return Arc::clone(&called.slot);
            }
            let name = match at {
                Some((sample, place)) => name.clone().with_instance(&instance_name(sample, place)),
                None => name.clone(),
            };
            // The label of a process may change, but the sensor name calls it by its ID.
            let kept = slots.get(identity).filter(|called| called.slot.name == name);
            let slot = match kept {
                Some(called) => Arc::clone(&called.slot),
                None => {
                    let mut slot = SensorSlot::new(name, value_type).with_unit(unit);
                    slot.instance =
                        label.map(|label| InstancePattern::of_process(Some(identity), label));
                    Arc::new(slot)
                }
            };
            let called = LabelledSlot { slot: Arc::clone(&slot), label: label.cloned() };
            slots.insert(identity.clone(), called);
            slot
        };
        let sample = match (missing, probed.state.current()) {
            (None, Some(sample)) => sample,
            (why, _) => {
                let why = why.unwrap_or(NoValue::ObjectMissing(None));
                // Without a sample it is not known which instances there are.
                if !probed.all {
                    let slot = slot_of(&mut self.slots, &Identity::Single, None);
                    push(&slot, Err(why));
                }
                return;
            }
        };
        let state = &probed.state;
        if !probed.all {
            let slot = slot_of(&mut self.slots, &Identity::Single, None);
            // If the object has instances now, it has no value without an instance.
            let alone = sample.identities().place(&Identity::Single).ok_or(NoValue::Vanished);
            push(&slot, alone.and_then(|place| value(state, sample, counter, place)));
            return;
        }
        let column = counter.and_then(|counter| CounterColumn::of(state, counter, &probed.earlier));
        let value = |place| match column.as_ref().and_then(|column| column.read(place)) {
            Some(ColumnValue { value, raw, before }) => {
                Ok(Measured { value: Ok(value), raw: Some(raw), before })
            }
            None => value(state, sample, counter, place),
        };
        // Finding a slot by the identity of its instance costs more than making the value.
        let instances = sample.instances();
        let same = self.shown.as_ref().filter(|shown| Arc::ptr_eq(&shown.of, instances));
        if let Some(ShownSlots { slots, .. }) = same {
            for (at, slot) in slots {
                push(slot, value(*at));
            }
            return;
        }
        // An instance that has its label still has its slot, too.
        let previous = state.previous().map(ObjectSample::instances);
        let last = self
            .shown
            .take()
            .filter(|last| previous.is_some_and(|previous| Arc::ptr_eq(&last.of, previous)));
        let last = last.map(|last| last.slots).unwrap_or_default();
        let known = |place: usize| {
            let earlier = probed.earlier.get(place).copied().flatten()?;
            let (at, slot) = last.get(earlier.place).filter(|_| earlier.has_same_label)?;
            (*at == earlier.place).then_some(slot)
        };
        let mut shown = Vec::with_capacity(last.len());
        let identities = sample.identities().identities().iter().enumerate();
        // If the object has no instances any more, it has one counter block, which belongs to none
        // of them.
        let identities = identities.filter(|(_, identity)| **identity != Identity::Single);
        for (place, identity) in identities {
            let slot = match known(place) {
                Some(slot) => Arc::clone(slot),
                None => slot_of(&mut self.slots, identity, Some((sample, place))),
            };
            push(&slot, value(place));
            shown.push((place, slot));
        }
        // The slots of instances that are gone are dropped.
        if self.slots.len() > shown.len() {
            self.slots.retain(|identity, _| sample.identities().place(identity).is_some());
        }
        self.shown = Some(ShownSlots { of: Arc::clone(instances), slots: shown });
    }
}
