//! Reading allocates nothing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use core::fmt::Write as _;
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CounterPlan, CounterSpec, CounterType, DataBlock, Formula,
    InstanceHead, ObjectSpec, ObjectTemplate, RawSample, Schema, TitleIndex, cook,
};
use perfhive_testkit::{alloc, real};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// A block with every layout, at a moment.
fn block(moment: u64) -> Vec<u8> {
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead {
        system_name: "HOST",
        clocks: Clocks {
            perf_time: moment as i64 * 5,
            perf_freq: 5,
            time_100ns: moment as i64 * 10_000_000,
            ..Clocks::default()
        },
        ..BlockHead::default()
    });
    let counters = [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(28), CounterType::PERF_COUNTER_COUNTER),
        CounterSpec::new(TitleIndex(206), CounterType::PERF_AVERAGE_TIMER),
        CounterSpec::new(TitleIndex(206), CounterType::PERF_AVERAGE_BASE),
        CounterSpec::new(TitleIndex(40), CounterType::PERF_COUNTER_TEXT).size(6),
    ];
    let processes = ObjectSpec::new(TitleIndex(230)).with_instances();
    let processes = ObjectTemplate::new(&processes, &counters).unwrap();
    let mut object = writer.object(&processes).unwrap();
    for (place, name) in ["Idle", "svchost", "svchost", "Ω 漢 🦀", "_Total"].iter().enumerate()
    {
        let n = place as u64 * 1000 + moment * 7;
        let head = InstanceHead { parent: Some((TitleIndex(2), 0)), ..InstanceHead::named(name) };
        object.instance(&head, &[n, n, n, n, 0]).unwrap();
    }
    object.finish().unwrap();
    let memory = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(4)), &counters).unwrap();
    writer.object(&memory).unwrap().values(&[1, 2, 3, 4, 5]).unwrap().finish().unwrap();
    writer.object(&processes).unwrap().metadata().unwrap().finish().unwrap();
    writer.finish().to_vec()
}

/// Reads everything that there is to read, without keeping any of it.
fn read_everything(bytes: &[u8], text: &mut String) -> u64 {
    let block = DataBlock::parse(bytes).unwrap();
    let (head, objects) = DataBlock::scan(bytes).unwrap();
    assert_eq!(objects.filter(|object| object.is_ok()).count() as u32, head.object_count());
    text.clear();
    write!(text, "{}{:?}", block.system_name(), block.system_time()).unwrap();
    let mut sum = u64::from(block.default_object().is_some());
    for object in block.objects() {
        sum += u64::from(object.name_index().0) + object.header().fields().count() as u64;
        let single = object.counter_block();
        for values in object.instances().map(|i| i.counter_block()).chain(single) {
            for counter in object.counters() {
                sum = sum.wrapping_add(values.value(&counter).unwrap_or(1));
                sum += values.data(&counter).map_or(0, <[u8]>::len) as u64;
            }
        }
        for instance in object.instances() {
            text.clear();
            instance.name().push_to(text);
            write!(text, "{}{:?}", instance.name(), instance.unique_id()).unwrap();
            sum += text.len() as u64 + u64::from(instance.name_fault().is_some());
            sum += u64::from(instance.name().eq_ignore_case("SVCHOST"));
            sum += u64::from(block.parent(&instance).is_some());
        }
    }
    assert!(block.object(TitleIndex(9999)).is_none());
    sum
}

#[test]
fn reading_a_block_allocates_nothing() {
    let blocks = [block(1), block(2)];
    let mut text = String::with_capacity(1000);
    for bytes in blocks.iter().map(Vec::as_slice) {
        let (sum, allocated) = alloc::count(|| read_everything(bytes, &mut text));
        assert!(sum > 0);
        assert_eq!(allocated.count, 0);
    }
    for (name, bytes) in real::files("windows-vista", ".bin") {
        let (sum, allocated) = alloc::count(|| read_everything(&bytes, &mut text));
        assert!(sum > 0);
        assert_eq!(allocated.count, 0, "{name}");
    }
}

#[test]
fn plans_and_cooking_allocate_nothing() {
    let (older, newer) = (block(1), block(2));
    let object = |bytes| DataBlock::parse(bytes).unwrap().object(TitleIndex(230)).unwrap();
    let (before, after) = (object(&older), object(&newer));
    let plans = CounterPlan::all(before);
    let schema = Schema::of(before);
    let (cooked, allocated) = alloc::count(|| {
        assert!(schema.matches(after));
        let mut cooked = 0;
        for place in 0..4 {
            let plan = CounterPlan::new(after, place).unwrap();
            assert_eq!(plan, plans[place as usize]);
            for (old, new) in before.instances().zip(after.instances()) {
                let older = plan.sample(before, old.counter_block()).unwrap();
                let newer = plan.sample(after, new.counter_block()).unwrap();
                cooked += u32::from(cook(plan.counter_type, Some(&older), &newer).is_ok());
            }
        }
        cooked
    });
    assert_eq!(cooked, 3 * 5);
    assert_eq!(allocated.count, 0);
}

#[test]
fn names_of_types_parse_and_print_without_allocating() {
    let mut text = String::with_capacity(100);
    let (found, allocated) = alloc::count(|| {
        let mut found = 0;
        for info in CounterType::named() {
            text.clear();
            write!(text, "{}", info.counter_type).unwrap();
            found += u32::from(text.parse() == Ok(info.counter_type));
            found += u32::from(Formula::of(info.counter_type).is_ok());
            let sample = RawSample::new(5, Clocks::default());
            found += u32::from(cook(info.counter_type, None, &sample).is_ok());
        }
        found
    });
    assert!(found > 41 + 30);
    assert_eq!(allocated.count, 0);
}
