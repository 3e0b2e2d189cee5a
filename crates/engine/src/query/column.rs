//! One counter of all instances of a sample.

use super::sample::{ObjectSample, ObjectState};
use perfhive_format::{
    Clocks, CookOptions, CookedValue, CounterBlock, CounterPlan, Formula, RawSample, TitleIndex,
};
use std::sync::Arc;

/// A counter in the newest sample of an object and in the sample before. What is the same for all
/// instances is looked up once, not for each value.
pub(crate) struct CounterColumn<'a> {
    formula: Formula,
    newer: Blocks<'a>,
    /// The counter blocks of the sample before; `None` if there is none.
    older: Option<Blocks<'a>>,
    /// For each instance, its index in the sample before. Empty if both samples have the same
    /// instances, and without a sample before.
    earlier: &'a [Option<EarlierPlace>],
}

/// The value of an instance, and the raw values from which it was made.
pub(crate) struct ColumnValue {
    pub(crate) value: CookedValue,
    pub(crate) raw: u64,
    pub(crate) before: Option<u64>,
}

/// The index that an instance of the newest sample had in the sample before.
#[derive(Clone, Copy)]
pub(crate) struct EarlierPlace {
    pub(crate) place: usize,
    /// Whether the instance had the same label in the sample before.
    pub(crate) has_same_label: bool,
}

/// The counter blocks of a sample, with the start and end of each in the object.
struct Blocks<'a> {
    plan: &'a CounterPlan,
    bytes: &'a [u8],
    clocks: Clocks,
    ranges: &'a [(u32, u32)],
}

/// Fills `out` with the place of each instance of the newest sample in the sample before. The place
/// is `None` for an instance that was not there, or that cannot be told apart from others of its
/// name. `out` is empty if both samples have the same instances, and without a sample before.
pub(crate) fn earlier_places(state: &ObjectState, out: &mut Vec<Option<EarlierPlace>>) {
    out.clear();
    let Some((newer, older)) = state.current().zip(state.previous()) else { return };
    if Arc::ptr_eq(newer.instances(), older.instances()) {
        return;
    }
    let identities = newer.identities().identities().iter().enumerate();
    out.extend(identities.map(|(at, identity)| {
        let place = older.identities().place(identity)?;
        let has_same_label = newer.labels().get(at) == older.labels().get(place);
        let earlier = EarlierPlace { place, has_same_label };
        newer.is_same_crowd(identity, older).then_some(earlier)
    }));
}

impl<'a> CounterColumn<'a> {
    /// The column of a counter. `None` if the newest sample lacks the counter, or its type has no
    /// formula. Also `None` if there is a sample before, and it lacks the counter, has the counter
    /// with another type, comes from another source, or has other instances although `earlier` is
    /// empty. `earlier` is what [`earlier_places`] finds.
    pub(crate) fn of(
        state: &'a ObjectState,
        counter: TitleIndex,
        earlier: &'a [Option<EarlierPlace>],
    ) -> Option<Self> {
        let sample = state.current()?;
        let newer = Blocks::of(sample, counter)?;
        let mut older = None;
        if let Some(previous) = state.previous() {
            let known = Blocks::of(previous, counter)?;
            let is_same_counter = sample.origin() == previous.origin()
                && newer.plan.counter_type == known.plan.counter_type;
            let has_same_instances = Arc::ptr_eq(sample.instances(), previous.instances());
            if !is_same_counter || (earlier.is_empty() && !has_same_instances) {
                return None;
            }
            older = Some(known);
        }
        Some(Self { formula: newer.plan.formula.ok()?, newer, older, earlier })
    }

    /// The value of the instance with the index `place`. `None` if there is no value here:
    /// [`ObjectState::value_and_before`] then gives the reason, or undoes a wrap.
    pub(crate) fn read(&self, place: usize) -> Option<ColumnValue> {
        let newer = self.newer.raw(place)?;
        let older = match (&self.older, self.earlier) {
            (None, _) => None,
            (Some(older), []) => older.raw(place),
            (Some(older), earlier) => older.raw((*earlier.get(place)?)?.place),
        };
        // Whether both samples are certainly of the same instance matters only for a value that
        // went backwards, which has no value here.
        let value = self.formula.apply(CookOptions::default(), older.as_ref(), &newer).ok()?;
        Some(ColumnValue { value, raw: newer.value, before: older.map(|older| older.value) })
    }
}

impl<'a> Blocks<'a> {
    fn of(sample: &'a ObjectSample, counter: TitleIndex) -> Option<Self> {
        let (plan, object) = (sample.plan(counter)?, sample.object()?);
        let (bytes, clocks, ranges) = (object.as_bytes(), object.clocks(), sample.blocks());
        Some(Self { plan, bytes, clocks, ranges })
    }

    fn raw(&self, place: usize) -> Option<RawSample> {
        let (start, end) = *self.ranges.get(place)?;
        let bytes = self.bytes.get(start as usize..end as usize)?;
        self.plan.sample_at(&self.clocks, CounterBlock::from_validated(bytes)).ok()
    }
}

impl ObjectSample {
    /// The number of raw units of a counter in a second; `None` if the raw value does not count
    /// time, or counts it in an unknown unit, and if the sample lacks the counter.
    pub(crate) fn raw_per_second(&self, counter: TitleIndex) -> Option<u64> {
        let clock = self.plan(counter)?.formula.ok()?.clock_of_value()?;
        u64::try_from(clock.frequency(&self.object()?.clocks()).ok()?).ok()
    }
}
