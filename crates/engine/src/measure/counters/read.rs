//! Readings of what a sample brought: whose value it is, and why there may be
//! none.

use super::{Called, One, Probed, Target, instance_name};
use crate::error::SourceError;
use crate::identity::Identity;
use crate::measure::{SensorReading, Slot};
use crate::query::NoValue;
use crate::query::sample::{ObjectSample, ObjectState};
use perfhive_format::{CookedValue, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// A value or why there is none, and the raw value behind it.
type Measured = (Result<CookedValue, NoValue>, Option<u64>);

fn value(
    state: &ObjectState,
    sample: &ObjectSample,
    counter: Option<TitleIndex>,
    place: usize,
) -> Result<Measured, NoValue> {
    let counter = counter.ok_or(NoValue::CounterMissing)?;
    let newer = sample.counter(place, counter).ok_or(NoValue::CounterMissing)?;
    let raw = newer.raw()?.value;
    let older = match newer.samples() {
        2 => state.older(newer.identity(), counter),
        _ => Ok(None),
    };
    Ok((older.and_then(|older| newer.value(older.as_ref())), Some(raw)))
}

impl One {
    fn read(
        &mut self,
        state: &ObjectState,
        counter: Option<TitleIndex>,
    ) -> Result<Measured, NoValue> {
        let sample = state.current().ok_or(NoValue::ObjectMissing(None))?;
        let identity = self.identity.as_ref().filter(|_| !self.lost);
        let identity = identity.ok_or(NoValue::Vanished)?;
        // Which of several of one name is left cannot be told.
        let same = match state.previous() {
            Some(old) => sample.is_same_crowd(identity, old),
            None => !self.was_alone || sample.is_alone(identity),
        };
        match sample.identities.place(identity).filter(|_| same) {
            Some(place) => value(state, sample, counter, place),
            None => {
                // A name that only one has may come back and mean the same.
                let was_alone =
                    state.previous().map_or(self.was_alone, |old| old.is_alone(identity));
                let may_return = matches!(identity, Identity::Named { .. });
                self.lost = !(may_return && was_alone && sample.is_alone(identity));
                Err(NoValue::Vanished)
            }
        }
    }
}

impl Target {
    /// The readings of this target from the newest sample of its object.
    pub(super) fn read(
        &mut self,
        probed: &Probed,
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
        let mut push = |slot: &Arc<Slot>, result: Result<Measured, NoValue>| {
            let (value, raw) = match result {
                Ok((value, raw)) => (value, raw),
                Err(why) => (Err(why), None),
            };
            out.push(SensorReading { asked, slot: Arc::clone(slot), value, raw });
        };
        if let Some(one) = &mut self.one {
            let result = match missing {
                Some(why) => Err(why),
                None => one.read(&probed.state, counter),
            };
            push(&one.slot, result);
            return;
        }
        let (name, value_type) = (&self.name, self.value_type);
        let slot_of = |slots: &mut HashMap<Identity, Called>,
                       identity: &Identity,
                       at: Option<(&ObjectSample, usize)>| {
            let label = at.and_then(|(sample, place)| sample.labels.get(place));
            if let Some(called) = slots.get(identity).filter(|called| called.is(label)) {
                return Arc::clone(&called.slot);
            }
            let name = match at {
                Some((sample, place)) => name.clone().with_instance(&instance_name(sample, place)),
                None => name.clone(),
            };
            // Of a process the label may be another one, the name is its ID.
            let kept = slots.get(identity).filter(|called| called.slot.name == name);
            let slot = match kept {
                Some(called) => Arc::clone(&called.slot),
                None => Arc::new(Slot { name, value_type }),
            };
            let called = Called { slot: Arc::clone(&slot), label: label.cloned() };
            slots.insert(identity.clone(), called);
            slot
        };
        let sample = match (missing, probed.state.current()) {
            (None, Some(sample)) => sample,
            (why, _) => {
                let why = why.unwrap_or(NoValue::ObjectMissing(None));
                // Of instances nobody knows which there would be.
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
            // An object that got instances has no value of its own any more.
            let alone = sample.identities.place(&Identity::Single).ok_or(NoValue::Vanished);
            push(&slot, alone.and_then(|place| value(state, sample, counter, place)));
            return;
        }
        // Instances that are gone take their slots with them.
        self.slots.retain(|identity, _| sample.identities.place(identity).is_some());
        let identities = sample.identities.identities().iter().enumerate();
        // And an object that lost its instances has none to follow.
        let identities = identities.filter(|(_, identity)| **identity != Identity::Single);
        for (place, identity) in identities {
            let slot = slot_of(&mut self.slots, identity, Some((sample, place)));
            push(&slot, value(state, sample, counter, place));
        }
    }
}
