//! The test whether a reader gets a value of each counter, and a name of each instance.

use super::{Check, CheckedCall};
use crate::hosting::describe::objects;
use perfhive_engine::TestLevel;
use perfhive_format::winperf::PERF_COUNTER_BLOCK;
use perfhive_format::{
    BaseColumn, Clocks, CookError, CounterBlock, CounterPlan, Instance, PerfObject, RawSample, cook,
};
use std::collections::HashMap;

const NO_CLOCK: &str = "its type divides by the object's clock, and PerfTime or PerfFreq of \
                        PERF_OBJECT_TYPE is 0";
/// The clocks of the older and of the newer sample, one second apart, in 100 ns.
const TIMES: [i64; 2] = [10_000_000, 20_000_000];

/// A fault of an object: `Loses` if readers lose data by it, `Doubtful` if it makes a value doubtful.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContentFault {
    Loses(String),
    Doubtful(String),
}

impl Check {
    /// Tests whether each counter of the answer `newer` gives a value, with `older`, the objects of
    /// an earlier answer to the same request `value`. Faults become findings.
    pub(super) fn look_at_content(&mut self, value: &str, older: &[u8], newer: &CheckedCall) {
        let newer = match newer.buffer.check(TestLevel::All, &newer.claim) {
            Ok((bytes, _)) => bytes,
            Err(fault) => return self.wrong(value, fault),
        };
        let mut before = objects(older);
        for bytes in objects(newer) {
            let Ok(object) = PerfObject::parse(bytes) else { continue };
            let before = before.next().and_then(|bytes| PerfObject::parse(bytes).ok());
            for fault in content_faults(before, object) {
                match fault {
                    ContentFault::Loses(message) => self.wrong(value, message),
                    ContentFault::Doubtful(message) => self.warn(value, message),
                }
            }
        }
    }
}

/// The faults of an object, from a sample of it and the sample before.
fn content_faults(older: Option<PerfObject<'_>>, newer: PerfObject<'_>) -> Vec<ContentFault> {
    let older = older.filter(|older| older.definition_bytes() == newer.definition_bytes());
    let name = newer.name_index();
    let plans = CounterPlan::all(newer);
    let counters = plans.iter().filter_map(|plan| {
        let fault = counter_fault(plan, older, newer)?;
        let of = format!("counter {} of object {name}: ", plan.name);
        Some(match fault {
            ContentFault::Loses(message) => ContentFault::Loses(of + &message),
            ContentFault::Doubtful(message) => ContentFault::Doubtful(of + &message),
        })
    });
    counters.chain(name_fault(newer).map(ContentFault::Loses)).collect()
}

/// The fault that keeps readers from a value of a counter, or makes the value doubtful; `None` if
/// there is none.
fn counter_fault(
    plan: &CounterPlan,
    older: Option<PerfObject<'_>>,
    newer: PerfObject<'_>,
) -> Option<ContentFault> {
    let loses = |message: String| Some(ContentFault::Loses(message));
    match plan.formula {
        // A label has no data, and the type of a base says nothing about its value.
        Err(CookError::NoData | CookError::IsBase) => return None,
        Err(CookError::NoFormula) => {
            let kind = plan.counter_type.0;
            return loses(format!("no formula is known for its type {kind:#010x}"));
        }
        _ => {}
    }
    let (from, end) = (plan.offset, u64::from(plan.offset) + u64::from(plan.size));
    if from < PERF_COUNTER_BLOCK::SIZE as u32 {
        return loses(format!(
            "its offset is {from}, inside the length field of the counter block: offsets are \
             counted from the start of PERF_COUNTER_BLOCK"
        ));
    }
    // A counter behind the end of a short block has no value for that instance, which is
    // allowed; behind the end of all blocks it has none at all.
    let longest = blocks(newer).map(|block| block.as_bytes().len()).max()?;
    if end > longest as u64 {
        return loses(format!(
            "its data ends at byte {end} and the counter blocks at byte {longest}"
        ));
    }
    if plan.formula == Err(CookError::IsText) {
        return None;
    }
    if plan.value.is_none() {
        return loses(format!("{} bytes are not a number: the size is 4 or 8", plan.size));
    }
    if plan.base == BaseColumn::Missing {
        return loses(format!(
            "its type {} needs a base, and the next definition is not a base",
            plan.counter_type
        ));
    }
    let before = older.map(|object| blocks(object).collect::<Vec<_>>()).unwrap_or_default();
    let faults = blocks(newer).enumerate().filter_map(|(place, block)| {
        let sample = |object, block, at| sample_at(plan, object, block, at);
        let current = sample(newer, block, TIMES[1])?;
        let previous = older
            .zip(before.get(place))
            .and_then(|(object, block)| sample(object, *block, TIMES[0]));
        cook(plan.counter_type, Some(&previous?), &current).err()
    });
    // One instance with such a reason is enough.
    let mut worst = None;
    for fault in faults {
        match fault {
            // The clocks of the reader run, so this is the object's.
            CookError::NoFrequency => return loses(NO_CLOCK.to_string()),
            CookError::NoTimePassed if newer.clocks().object_time == 0 => {
                return loses(NO_CLOCK.to_string());
            }
            CookError::WentBackwards | CookError::ClockWentBackwards | CookError::NotFinite => {
                worst = Some(fault);
            }
            // Nothing happened between the samples.
            _ => {}
        }
    }
    let kind = plan.counter_type;
    worst.map(|fault| ContentFault::Doubtful(format!("as {kind} it {fault} between two answers")))
}

/// The counter blocks of an object: its own, or those of its instances.
fn blocks<'a>(object: PerfObject<'a>) -> impl Iterator<Item = CounterBlock<'a>> {
    let single = object.counter_block().into_iter();
    single.chain(object.instances().map(Instance::counter_block))
}

/// The raw sample of a counter with `time` as the reader's clocks, and the object's own clock.
/// `None` if the counter has no number in this block.
fn sample_at(
    plan: &CounterPlan,
    object: PerfObject<'_>,
    block: CounterBlock<'_>,
    time: i64,
) -> Option<RawSample> {
    let mut sample = plan.sample(object, block).ok()?;
    sample.clocks =
        Clocks { perf_time: time, perf_freq: TIMES[0], time_100ns: time, ..object.clocks() };
    Some(sample)
}

/// The fault of the first instance with a name that readers cannot write, or cannot tell from the
/// name of another instance; `None` if there is none.
fn name_fault(object: PerfObject<'_>) -> Option<String> {
    let name = object.name_index();
    if let Some(fault) = object.name_fault() {
        return Some(format!("the name of an instance of object {name}: {fault}"));
    }
    let mut seen: HashMap<_, usize> = HashMap::new();
    for (place, instance) in object.instances().enumerate() {
        let of = instance.name();
        let text = of.to_text();
        if text.contains(char::REPLACEMENT_CHARACTER) {
            return Some(format!(
                "the name of instance {place} of object {name}, \"{text}\", is not text of code \
                 page {}",
                of.code_page()
            ));
        }
        if instance.unique_id().is_some() {
            continue;
        }
        if let Some(first) = seen.insert((instance.parent(), of), place) {
            return Some(format!(
                "instances {first} and {place} of object {name} are both \"{text}\" and have no \
                 UniqueID: readers cannot tell them apart when one goes"
            ));
        }
    }
    None
}
