//! A walk that asks a block for everything that it can be asked for.

use perfhive_format::{
    CookOptions, CounterPlan, DataBlock, PerfObject, RawSample, Schema, TitleIndex, ValueError,
};
use std::fmt::{self, Write as _};

/// The counts of a walk. Every count is at most a small multiple of the block's length, whatever
/// numbers the block states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The number of objects visited.
    pub objects: u64,
    /// The number of counter definitions visited.
    pub counters: u64,
    /// The number of instances visited.
    pub instances: u64,
    /// The number of values asked for, those of bases included.
    pub values: u64,
    /// The number of values that cooked, from one sample or from two.
    pub cooked: u64,
    /// The number of characters of names.
    pub name_chars: u64,
    /// The number of faults: names outside their instance, values without a sample, and (for the
    /// first instances) parents that the block does not hold.
    pub faults: u64,
}

impl Walk {
    /// The number of all things visited.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.objects + self.counters + self.instances + self.values + self.name_chars
    }
}

/// A sink for text that counts its characters.
#[derive(Default)]
struct Chars(u64);

impl fmt::Write for Chars {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count() as u64;
        Ok(())
    }
}

/// Visits every name and value of a block, and the parents of its first instances. Values are read
/// in two ways, which are compared where they should agree, and every sample is cooked. The heap
/// holds only the plans and the schema of one object at a time.
///
/// # Panics
/// If two ways of reading the same thing disagree.
#[must_use]
pub fn walk(block: DataBlock<'_>) -> Walk {
    let mut seen = Walk::default();
    let mut names = Chars::default();
    let _ = write!(names, "{}", block.system_name());
    for object in block.objects() {
        walk_object(object, &mut seen, &mut names);
        for instance in object.instances() {
            seen.faults += u64::from(instance.name_fault().is_some());
            let _ = write!(names, "{}", instance.name());
            // Looking for a parent walks the block, so only a few parents are looked for: a damaged
            // block may have as many parents as instances.
            if seen.instances < 16 && instance.parent().is_some() {
                seen.faults += u64::from(block.parent(&instance).is_none());
            }
            seen.instances += 1;
        }
        let found = block.object(object.name_index());
        assert_eq!(found.map(PerfObject::name_index), Some(object.name_index()));
    }
    let missing = u64::from(block.object_count()) - seen.objects;
    assert_eq!(missing, 0, "validated objects that iteration does not reach");
    assert!(block.object(TitleIndex(u32::MAX)).is_none_or(|o| o.name_index().0 == u32::MAX));
    seen.name_chars = names.0;
    seen
}

fn walk_object(object: PerfObject<'_>, seen: &mut Walk, names: &mut Chars) {
    seen.objects += 1;
    let plans = CounterPlan::all(object);
    assert_eq!(plans.len(), object.counter_count() as usize);
    seen.counters += plans.len() as u64;
    let counted = object.instances().count();
    assert_eq!(counted, object.instance_count() as usize);
    let _ = write!(names, "{:?}", object.layout());
    assert!(Schema::of(object).matches(object));

    let single = object.counter_block();
    for values in object.instances().map(|i| i.counter_block()).chain(single) {
        for (plan, counter) in plans.iter().zip(object.counters()) {
            seen.values += 1;
            let value = values.value(&counter);
            // A multi timer of 12 bytes is a number and its count to a plan.
            if counter.size() != 12 || !counter.counter_type().is_multi() {
                let own = plan.value(values);
                assert!(own == value || own == Err(ValueError::Absent), "{own:?} {value:?}");
            }
            match plan.sample(object, values) {
                Ok(sample) => {
                    let mut older = RawSample { value: sample.value / 2, ..sample };
                    older.base = sample.base.map(|base| base / 2);
                    older.clocks.perf_time = sample.clocks.perf_time.wrapping_sub(1);
                    older.clocks.time_100ns = sample.clocks.time_100ns.wrapping_sub(1);
                    older.clocks.object_time = sample.clocks.object_time.wrapping_sub(1);
                    for previous in [None, Some(&older)] {
                        let options = CookOptions::default();
                        let cooked = plan.formula.and_then(|f| f.apply(options, previous, &sample));
                        seen.cooked += u64::from(cooked.is_ok());
                    }
                }
                Err(_) => seen.faults += 1,
            }
        }
    }
}
