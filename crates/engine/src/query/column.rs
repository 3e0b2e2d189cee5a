//! One counter of all instances of a sample.

use super::sample::{ObjectSample, ObjectState};
use perfhive_format::{
    Clocks, CookOptions, CookedValue, CounterBlock, CounterPlan, Formula, RawSample, TitleIndex,
};
use std::sync::Arc;

/// A counter in the newest sample of an object and in the sample before, where both have the same
/// instances. What is the same for all instances is looked up once, not for each value.
pub(crate) struct CounterColumn<'a> {
    plan: &'a CounterPlan,
    formula: Formula,
    newer: Blocks<'a>,
    /// `None` if there is no sample before.
    older: Option<Blocks<'a>>,
}

/// A value, and the raw values that it was made of.
pub(crate) struct ColumnValue {
    pub(crate) value: CookedValue,
    pub(crate) raw: u64,
    pub(crate) before: Option<u64>,
}

/// The counter blocks of a sample, with the start and end of each in the object.
struct Blocks<'a> {
    bytes: &'a [u8],
    clocks: Clocks,
    ranges: &'a [(u32, u32)],
}

impl<'a> CounterColumn<'a> {
    /// The column of a counter; `None` if the newest sample lacks it, if it is no number, or if its
    /// instances or its origin are not those of the sample before.
    pub(crate) fn of(state: &'a ObjectState, counter: TitleIndex) -> Option<Self> {
        let newer = state.current()?;
        let plan = newer.plan(counter)?;
        let older = match state.previous() {
            // Samples share their instances only if their counters are the same, too.
            Some(older)
                if Arc::ptr_eq(newer.instances(), older.instances())
                    && newer.origin() == older.origin() =>
            {
                Some(Blocks::of(older)?)
            }
            Some(_) => return None,
            None => None,
        };
        Some(Self { plan, formula: plan.formula.ok()?, newer: Blocks::of(newer)?, older })
    }

    /// The value of the instance with this index. `None` without a value:
    /// [`ObjectState::value_and_before`] has the reason, or undoes a wrap.
    pub(crate) fn read(&self, place: usize) -> Option<ColumnValue> {
        let newer = self.newer.raw(self.plan, place)?;
        let older = self.older.as_ref().and_then(|older| older.raw(self.plan, place));
        // Whether both samples are certainly of the same instance matters only for a value that
        // went backwards, which has no value here.
        let value = self.formula.apply(CookOptions::default(), older.as_ref(), &newer).ok()?;
        Some(ColumnValue { value, raw: newer.value, before: older.map(|older| older.value) })
    }
}

impl<'a> Blocks<'a> {
    fn of(sample: &'a ObjectSample) -> Option<Self> {
        let object = sample.object()?;
        Some(Self { bytes: object.as_bytes(), clocks: object.clocks(), ranges: sample.blocks() })
    }

    fn raw(&self, plan: &CounterPlan, place: usize) -> Option<RawSample> {
        let (start, end) = *self.ranges.get(place)?;
        let bytes = self.bytes.get(start as usize..end as usize)?;
        plan.sample_at(&self.clocks, CounterBlock::from_validated(bytes)).ok()
    }
}

impl ObjectSample {
    /// How many units of a counter's raw value are a second; `None` if the raw value does not count
    /// time.
    pub(crate) fn raw_per_second(&self, counter: TitleIndex) -> Option<u64> {
        let clock = self.plan(counter)?.formula.ok()?.clock_of_value()?;
        u64::try_from(clock.frequency(&self.object()?.clocks()).ok()?).ok()
    }
}
