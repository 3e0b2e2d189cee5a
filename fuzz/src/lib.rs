//! What the fuzz targets share: a walk over a whole block that checks on its
//! way everything the documentation of perfhive-format promises.
//!
//! A promise that does not hold is a panic here, which the fuzzer reports.

use perfhive_format::{
    BaseColumn, Clocks, CounterBlock, CounterDefinition, CounterPlan, CounterType, DataBlock,
    Instance, ObjectLayout, PerfObject, Schema, ValueError,
};

/// Looking up a parent walks its object, so a block of n instances would take
/// n² steps; a fuzzer finds that first. The first few show as much as all.
const PARENTS: usize = 8;

/// Walks a block that was accepted.
pub fn walk_block(block: DataBlock<'_>) {
    let bytes = block.as_bytes();
    assert_eq!(block.objects().count(), block.object_count() as usize, "every object is shown");
    let _ = (block.header(), block.system_time(), block.time_100ns(), block.default_object());
    check_text(&block.system_name().to_text(), block.system_name().as_bytes());
    let mut end = 0;
    for object in block.objects() {
        let start = within(bytes, object.as_bytes());
        assert!(start >= end, "objects do not overlap");
        end = start + object.as_bytes().len();
        walk_object(object, block.clocks());
        for instance in object.instances().take(PARENTS) {
            if let Some((parent, _)) = block.parent(&instance) {
                assert_eq!(instance.parent().map(|(name, _)| name), Some(parent.name_index()));
            }
        }
    }
}

/// Walks an object that was accepted.
pub fn walk_object(object: PerfObject<'_>, block: Clocks) {
    let bytes = object.as_bytes();
    assert_eq!(object.counters().count(), object.counter_count() as usize);
    assert_eq!(object.instances().count(), object.instance_count() as usize);
    assert!(Schema::of(object).matches(object), "an object has its own schema");
    let clocks = object.clocks();
    assert_eq!(
        (clocks.perf_time, clocks.perf_freq, clocks.time_100ns),
        (block.perf_time, block.perf_freq, block.time_100ns),
        "an object shows its block's clocks"
    );
    let alone = PerfObject::parse(bytes);
    assert!(alone.is_ok_and(|alone| alone.as_bytes() == bytes), "an object stands on its own");

    let plans = CounterPlan::all(object);
    assert_eq!(plans.len(), object.counter_count() as usize);
    if let Some(last) = plans.last() {
        assert_eq!(CounterPlan::new(object, last.place).as_ref(), Some(last));
    }
    assert_eq!(
        CounterPlan::new(object, object.counter_count()),
        None,
        "no counter behind the last"
    );

    let single = object.counter_block();
    assert_eq!(single.is_some(), object.layout() == ObjectLayout::NoInstances);
    if let Some(block) = single {
        walk_values(object, block, &plans);
    }
    let mut end = within(bytes, object.definition_bytes()) + object.definition_bytes().len();
    for instance in object.instances() {
        let start = within(bytes, instance.definition_bytes());
        assert!(start >= end, "instances follow the definitions and do not overlap");
        let block = instance.counter_block();
        end = within(bytes, block.as_bytes()) + block.as_bytes().len();
        walk_instance(instance);
        walk_values(object, block, &plans);
    }
}

fn walk_instance(instance: Instance<'_>) {
    let name = instance.name();
    let text = name.to_text();
    check_text(&text, name.as_bytes());
    assert_eq!(name.to_string(), text, "both ways to text agree");
    if !text.contains('\u{fffd}') {
        assert!(name.eq_ignore_case(&text), "a name equals itself");
    }
    if instance.name_fault().is_some() {
        assert!(name.is_empty(), "a name outside its instance is not a name");
    } else {
        within(instance.definition_bytes(), name.as_bytes());
    }
    let _ = (instance.raw(), instance.unique_id());
}

fn walk_values(object: PerfObject<'_>, block: CounterBlock<'_>, plans: &[CounterPlan]) {
    let is_absent_values = |plan: &CounterPlan| plan.counter_type == CounterType::ABSENT_VALUES;
    let says_absent = plans.iter().any(is_absent_values);
    for (counter, plan) in object.counters().zip(plans) {
        check_plan(counter, plan);
        if let Ok(data) = block.data(&counter) {
            within(block.as_bytes(), data);
            assert_eq!(data.len(), counter.size() as usize);
        }
        // A plan may read more: the first 8 of a multi timer's 12 bytes. And it knows the counters
        // that an instance has no value of, of which the view shows the bytes.
        let value = block.value(&counter);
        if plan.value(block) == Err(ValueError::Absent) {
            assert!(says_absent, "the object says which values are absent");
        } else {
            if let Ok(value) = value {
                assert_eq!(plan.value(block), Ok(value), "a plan reads what the view reads");
            }
            if counter.size() == 4 || counter.size() == 8 {
                assert_eq!(plan.value(block).is_ok(), value.is_ok());
            }
        }
        if let Ok(sample) = plan.sample(object, block) {
            assert_eq!(plan.value(block), Ok(sample.value));
            assert_eq!(sample.base.is_some(), matches!(plan.base, BaseColumn::At(_)));
            if let Ok(formula) = plan.formula {
                let _ = formula.apply(Default::default(), None, &sample);
                let _ = formula.apply(Default::default(), Some(&sample), &sample);
            }
        }
    }
}

fn check_plan(counter: CounterDefinition<'_>, plan: &CounterPlan) {
    assert_eq!(plan.name, counter.name_index());
    assert_eq!(plan.counter_type, counter.counter_type());
    assert_eq!(plan.size, counter.size());
    let _ = (counter.raw(), counter.help_index(), counter.default_scale(), counter.detail_level());
}

/// Where a part lies in its whole; it must lie there.
fn within(whole: &[u8], part: &[u8]) -> usize {
    if part.is_empty() {
        return 0; // An empty slice may come from anywhere.
    }
    let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    assert!(start <= whole.len() && part.len() <= whole.len() - start, "a view left its bytes");
    start
}

/// Text must not be longer than its bytes allow: each byte that cannot be read
/// becomes one replacement character of three bytes.
fn check_text(text: &str, bytes: &[u8]) {
    assert!(text.len() <= bytes.len() * 3, "text grew from {} to {}", bytes.len(), text.len());
}
