//! What the writer writes, the reader reads: arbitrary models, and every way
//! in which writing fails.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CounterPlan, CounterSpec, CounterType, DataBlock, FileTime,
    InstanceHead, NameRef, ObjectSpec, ObjectTemplate, ParseErrorKind, PerfObject, TitleIndex,
    ValueError, WriteError,
};
use perfhive_testkit::alloc;
use perfhive_testkit::model::{BlockModel, BodyModel, ObjectModel, any_block, any_object};
use perfhive_testkit::proptest_config;
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

proptest! {
    #![proptest_config(proptest_config(4000))]

    /// A model that is written and read again is the same, also from a used writer.
    #[test]
    fn what_is_written_is_read(model in any_block(), before in any_block()) {
        let bytes = model.to_bytes().unwrap();
        let block = DataBlock::parse(&bytes).unwrap();
        prop_assert_eq!(BlockModel::read(block), model.clone());
        prop_assert_eq!(block.header().TotalByteLength as usize, bytes.len());

        let mut writer = BlockWriter::new();
        before.write(&mut writer).unwrap();
        writer.finish();
        model.write(&mut writer).unwrap();
        prop_assert_eq!(writer.finish(), &*bytes);
    }

    /// A block that is read and written again is the same, byte for byte.
    #[test]
    fn reading_and_writing_is_a_fixed_point(model in any_block()) {
        let bytes = model.to_bytes().unwrap();
        let again = BlockModel::read(DataBlock::parse(&bytes).unwrap());
        prop_assert_eq!(again.to_bytes().unwrap(), bytes);
    }

    /// Objects taken over as bytes are the same objects.
    #[test]
    fn raw_objects_are_taken_over(model in any_block()) {
        let bytes = model.to_bytes().unwrap();
        let block = DataBlock::parse(&bytes).unwrap();
        let from = block.header().HeaderLength as usize;

        let mut writer = BlockWriter::new();
        BlockModel { objects: Vec::new(), ..model.clone() }.write(&mut writer).unwrap();
        let count = writer.raw_objects(&bytes[from..]).unwrap();
        prop_assert_eq!(count, block.object_count());
        prop_assert_eq!(writer.finish(), &*bytes);
    }

    /// Once its buffer is large enough, the writer asks for no memory.
    #[test]
    fn a_warm_writer_does_not_allocate(models in prop::collection::vec(any_object(), 0..4)) {
        let templates: Vec<ObjectTemplate> =
            models.iter().map(|model| model.template().unwrap()).collect();
        let mut writer = BlockWriter::new();
        let mut write = |warm: bool| {
            writer.start(&BlockHead { system_name: "HOST", ..BlockHead::default() });
            for (model, template) in models.iter().zip(&templates) {
                let mut writing = writer.object(template).unwrap().clock(1, 2);
                let values = vec![u64::MAX; if warm { 0 } else { template.counter_count() }];
                match &model.body {
                    BodyModel::Instances(instances) => {
                        for instance in instances {
                            // The values' vector is the test's own.
                            let values = if warm { &[u64::MAX; 8][..template.counter_count()] } else { &values };
                            writing.instance(&instance.head(), values).unwrap();
                        }
                        writing.finish().unwrap();
                    }
                    BodyModel::Single(_) => {
                        let values = if warm { &[u64::MAX; 8][..template.counter_count()] } else { &values };
                        writing.values(values).unwrap().finish().unwrap();
                    }
                    _ => writing.metadata().unwrap().finish().unwrap(),
                }
            }
            writer.finish().len()
        };
        let length = write(false);
        let (again, allocated) = alloc::count(|| write(true));
        prop_assert_eq!(again, length);
        prop_assert_eq!(allocated.count, 0, "{:?}", allocated);
    }

    /// Whatever the limit, a block is whole or the writer says that it is full,
    /// and what was complete before stays as it was.
    #[test]
    fn a_full_block_stays_whole(model in any_block(), room in 0..600usize) {
        let mut writer = BlockWriter::new();
        BlockModel { objects: Vec::new(), ..model.clone() }.write(&mut writer).unwrap();
        let limit = writer.len() + room;
        writer.set_limit(limit);
        let mut written = Vec::new();
        for object in &model.objects {
            match object.write(&mut writer) {
                Ok(()) => written.push(object.clone()),
                Err(error) => prop_assert_eq!(error, WriteError::Full { limit }),
            }
        }
        let bytes = writer.finish();
        prop_assert!(bytes.len() <= limit);
        let read = BlockModel::read(DataBlock::parse(bytes).unwrap());
        prop_assert_eq!(read.objects, written);
    }
}

const RAW: CounterType = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;

fn instanced(counters: &[CounterSpec]) -> ObjectTemplate {
    ObjectTemplate::new(&ObjectSpec::new(TitleIndex(230)).with_instances(), counters).unwrap()
}

fn single(counters: &[CounterSpec]) -> ObjectTemplate {
    ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)), counters).unwrap()
}

fn counter(index: u32, size: u32) -> CounterSpec {
    CounterSpec::new(TitleIndex(index), RAW).size(size)
}

/// A writer with one whole object, and the bytes it must keep.
fn begun() -> (BlockWriter, Vec<u8>) {
    let mut writer = BlockWriter::new();
    let time = FileTime(128_315_940_386_596_596);
    writer.start(&BlockHead {
        system_name: "HOST",
        default_object: Some(TitleIndex(2)),
        system_time: time.to_system_time(),
        clocks: Clocks { time_100ns: time.0, ..Clocks::default() },
    });
    let template = single(&[counter(4, 8)]);
    writer.object(&template).unwrap().values(&[7]).unwrap().finish().unwrap();
    let bytes = writer.finish().to_vec();
    (writer, bytes)
}

/// Runs an attempt that must fail with `expected`, and checks that the block is as it was.
fn refused<T>(
    expected: WriteError,
    attempt: impl FnOnce(&mut BlockWriter) -> Result<T, WriteError>,
) {
    let (mut writer, bytes) = begun();
    assert_eq!(attempt(&mut writer).err(), Some(expected));
    assert_eq!(writer.finish(), bytes);
    assert_eq!(writer.object_count(), 1);
    assert!(DataBlock::parse(writer.finish()).is_ok());
}

#[test]
fn errors_leave_the_block_as_it_was() {
    let two = instanced(&[counter(6, 8), counter(8, 4)]);
    let none = single(&[counter(6, 8)]);
    let named = InstanceHead::named("a");
    let count = |got| WriteError::ValueCount { expected: 2, got };

    refused(count(1), |w| w.object(&two)?.instance(&named, &[1]));
    refused(count(3), |w| w.object(&two)?.instance(&named, &[1, 2, 3]));
    refused(count(3), |w| w.object(&two)?.instance_prefix(&named, &[1, 2, 3]));
    let one = WriteError::ValueCount { expected: 1, got: 0 };
    refused(one, |w| w.object(&none)?.values(&[])?.finish());
    refused(WriteError::NoValues, |w| w.object(&none)?.finish());
    refused(WriteError::MixedLayouts, |w| w.object(&none)?.instance(&named, &[1]));
    refused(WriteError::MixedLayouts, |w| w.object(&two)?.values(&[1, 2])?.finish());
    refused(WriteError::MixedLayouts, |w| w.object(&two)?.values_bytes(&[])?.finish());
    refused(WriteError::MixedLayouts, |w| w.object(&none)?.values(&[1])?.values(&[1])?.finish());
    refused(WriteError::MixedLayouts, |w| w.object(&none)?.values(&[1])?.metadata()?.finish());
    refused(WriteError::MixedLayouts, |w| {
        let mut writing = w.object(&two)?;
        writing.instance(&named, &[1, 2])?;
        writing.metadata()?.finish()
    });
    refused(WriteError::MixedLayouts, |w| {
        let mut writing = w.object(&two)?.metadata()?;
        writing.instance(&named, &[1, 2])
    });
    refused(WriteError::Full { limit: 300 }, |w| {
        w.set_limit(300);
        w.object(&two)?.instance(&named, &[1, 2])
    });
    let truncated = |w: &mut BlockWriter| w.raw_objects(&[1; 10]);
    let (mut writer, bytes) = begun();
    match truncated(&mut writer) {
        Err(WriteError::NotObjects(error)) => assert_eq!(error.kind, ParseErrorKind::Truncated),
        other => panic!("{other:?}"),
    }
    assert_eq!(writer.finish(), bytes);
}

#[test]
fn names_that_do_not_fit_the_code_page_are_refused() {
    let template = |code_page| {
        let spec = ObjectSpec { code_page, ..ObjectSpec::new(TitleIndex(230)).with_instances() };
        ObjectTemplate::new(&spec, &[]).unwrap()
    };
    let attempt = |code_page, name| {
        move |w: &mut BlockWriter| {
            let head = InstanceHead { name, ..InstanceHead::named("") };
            w.object(&template(code_page))?.instance(&head, &[])
        }
    };
    // No Cyrillic in Western Europe, no UTF-16 in a code page, and nothing but
    // ASCII in a code page that is not known.
    refused(WriteError::BadName, attempt(1252, NameRef::Text("Ж")));
    refused(WriteError::BadName, attempt(1252, NameRef::Utf16(&[0x41])));
    refused(WriteError::BadName, attempt(437, NameRef::Text("ä")));

    // A NUL ends a name, so none can be inside; half a unit is not a name either.
    refused(WriteError::BadName, attempt(0, NameRef::Text("a\0b")));
    refused(WriteError::BadName, attempt(0, NameRef::Utf16(&[0x41, 0])));
    refused(WriteError::BadName, attempt(0, NameRef::Bytes(&[0x41, 0, 0, 0])));
    refused(WriteError::BadName, attempt(0, NameRef::Bytes(&[0x41, 0, 0x42])));
    refused(WriteError::BadName, attempt(1252, NameRef::Text("a\0b")));
    refused(WriteError::BadName, attempt(1252, NameRef::Bytes(&[0x41, 0])));

    let (mut writer, _) = begun();
    let template = template(1251);
    let mut writing = writer.object(&template).unwrap();
    for name in [NameRef::Text("Ж"), NameRef::Bytes(b"\xc6"), NameRef::Text("Z")] {
        writing.instance(&InstanceHead { name, ..InstanceHead::named("") }, &[]).unwrap();
    }
    // An instance that is refused leaves those before and after it.
    let bad = InstanceHead { name: NameRef::Text("漢"), ..InstanceHead::named("") };
    assert_eq!(writing.instance(&bad, &[]), Err(WriteError::BadName));
    writing.instance(&InstanceHead::named("last"), &[]).unwrap();
    writing.finish().unwrap();
    let block = DataBlock::parse(writer.finish()).unwrap();
    let object = block.object(TitleIndex(230)).unwrap();
    let names: Vec<String> = object.instances().map(|i| i.name().to_text()).collect();
    assert_eq!(names, ["Ж", "Ж", "Z", "last"]);
}

/// A counter block ends behind the last value given: no padding makes a
/// counter appear that was left out.
#[test]
fn values_left_out_stay_out() {
    for sizes in [[8, 8, 8], [4, 4, 4], [8, 4, 4], [4, 8, 4], [2, 2, 2], [1, 2, 1], [4, 2, 1]] {
        // As the writer lays them out, and packed.
        for packed in [false, true] {
            let mut at = 4;
            let counters: Vec<CounterSpec> = (0..3)
                .map(|place| {
                    let offset = at;
                    at += sizes[place];
                    let spec = counter(10 + place as u32, sizes[place]);
                    CounterSpec { offset: packed.then_some(offset), ..spec }
                })
                .collect();
            let template = instanced(&counters);
            for given in 0..=3usize {
                let mut writer = BlockWriter::new();
                writer.start(&BlockHead::default());
                let mut writing = writer.object(&template).unwrap();
                let head = InstanceHead::named("x");
                writing.instance_prefix(&head, &[1, 2, 3][..given]).unwrap();
                writing.finish().unwrap();
                let block = DataBlock::parse(writer.finish()).unwrap();
                let object = block.object(TitleIndex(230)).unwrap();
                let values = object.instances().next().unwrap().counter_block();
                let present: Vec<bool> =
                    object.counters().map(|c| values.data(&c).is_ok()).collect();
                let expected: Vec<bool> = (0..3).map(|place| place < given).collect();
                assert_eq!(present, expected, "{sizes:?} packed {packed} given {given}");
                // What can be aligned is.
                assert!(packed || values.as_bytes().len().is_multiple_of(4), "{sizes:?} {given}");
            }
        }
    }
}

/// The writer does not write what the reader refuses.
#[test]
fn more_values_than_bytes_are_refused_on_both_sides() {
    // 100 counters, and instances that have none of them.
    let counters: Vec<CounterSpec> = (0..100).map(|place| counter(2 * place, 8)).collect();
    let template = instanced(&counters);
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead::default());
    let start = writer.finish().to_vec();
    let mut writing = writer.object(&template).unwrap();
    for _ in 0..100 {
        writing.instance_prefix(&InstanceHead::named(""), &[]).unwrap();
    }
    assert_eq!(writing.finish(), Err(WriteError::TooManyValues));
    assert_eq!(writer.finish(), start);

    // Fewer are written, and more put behind them by hand are not read.
    let mut writing = writer.object(&template).unwrap();
    for _ in 0..60 {
        writing.instance_prefix(&InstanceHead::named(""), &[]).unwrap();
    }
    writing.finish().unwrap();
    let mut object = writer.finish()[start.len()..].to_vec();
    assert!(PerfObject::parse(&object).is_ok());
    let instance = object[object.len() - 40..].to_vec();
    object.extend(instance.repeat(40));
    let length = object.len() as u32;
    object[..4].copy_from_slice(&length.to_le_bytes());
    object[40..44].copy_from_slice(&100u32.to_le_bytes());
    let error = PerfObject::parse(&object).err().unwrap();
    assert_eq!((error.kind, error.value), (ParseErrorKind::TooManyValues, 100));
}

/// The template's first counters have values; the counters behind the counter block have
/// none.
#[test]
fn a_prefix_has_values_of_the_first_counters_only() {
    let template = single(&[counter(4, 8), counter(6, 4), counter(8, 8)]);
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead::default());
    writer.object(&template).unwrap().values_prefix(&[1, 2]).unwrap().finish().unwrap();
    let block = DataBlock::parse(writer.finish()).unwrap();
    let object = block.objects().next().unwrap();
    let values = object.counter_block().unwrap();
    let read: Vec<Result<u64, ValueError>> =
        object.counters().map(|counter| values.value(&counter)).collect();
    assert_eq!(read[..2], [Ok(1), Ok(2)]);
    assert!(matches!(read[2], Err(ValueError::OutsideBlock { .. })));
}

#[test]
fn marks_take_objects_back() {
    let (mut writer, bytes) = begun();
    let mark = writer.mark();
    let template = single(&[counter(4, 8)]);
    for value in 0..3 {
        writer.object(&template).unwrap().values(&[value]).unwrap().finish().unwrap();
    }
    let written = writer.since(mark).to_vec();
    assert_eq!(writer.object_count(), 4);
    let one = written.len() / 3;
    assert_eq!(PerfObject::parse(&written[one..]).unwrap().as_bytes().len(), one);
    writer.rewind(mark);
    assert_eq!(writer.finish(), bytes);
    // A mark of another, longer block drops nothing of this one.
    writer.rewind((usize::MAX, u32::MAX));
    assert_eq!(writer.finish(), bytes);
    // One from before the block began leaves the header.
    let mut other = BlockWriter::new();
    let early = other.mark();
    other.start(&BlockHead { system_name: "HOST", ..BlockHead::default() });
    other.object(&template).unwrap().values(&[1]).unwrap().finish().unwrap();
    other.rewind(early);
    let block = DataBlock::parse(other.finish()).unwrap();
    assert_eq!((block.object_count(), block.system_name().to_text().as_str()), (0, "HOST"));
    // What was dropped unfinished leaves no trace.
    let mut writing = writer.object(&template).unwrap();
    assert!(writing.instance(&InstanceHead::named("a"), &[1]).is_err());
    drop(writing);
    assert_eq!(writer.finish(), bytes);
}

/// The strategy generates every layout and oddity; otherwise the properties above would say
/// little.
#[test]
#[cfg_attr(miri, ignore = "about the strategy, not about the crate")]
fn the_generator_covers_what_it_promises() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..400 {
        let object: ObjectModel = any_object().new_tree(&mut runner).unwrap().current();
        let mut see = |what, is: bool| *seen.entry(what).or_default() += u32::from(is);
        see("code page", object.code_page != 0);
        for counter in &object.counters {
            see("no data", counter.size == 0);
            see("odd size", ![0, 4, 8].contains(&counter.size));
            see("unaligned", counter.offset % 4 != 0);
            see("unnamed type", counter.counter_type.info().is_none());
        }
        match &object.body {
            BodyModel::Single(values) => {
                see("single", true);
                see("value left out", values.0.iter().any(Option::is_none));
            }
            BodyModel::Instances(instances) => {
                see("no instance now", instances.is_empty());
                for instance in instances {
                    see("no name", instance.name.is_none());
                    see("empty name", instance.name.as_deref() == Some(&[]));
                    see("unique id", instance.unique_id.is_some());
                    see("parent", instance.parent.is_some());
                    let units = instance.name.iter().flat_map(|name| name.chunks_exact(2));
                    let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
                    let lone = char::decode_utf16(units).any(|c| c.is_err());
                    see("lone surrogate", object.code_page == 0 && lone);
                }
            }
            BodyModel::MetadataInstances => see("metadata, instances", true),
            BodyModel::MetadataNoInstances => see("metadata, no instances", true),
        }
    }
    assert_eq!(seen.len(), 15, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 5), "{seen:?}");
}

#[test]
fn instances_are_written_again_as_they_were() {
    let counter = CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_RAWCOUNT);
    let template =
        ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)).with_instances(), &[counter]).unwrap();
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead::default());
    let mut object = writer.object(&template).unwrap();
    let start = object.position();
    for (name, value) in [("one", 1), ("another", 2), ("", 3)] {
        object.instance(&InstanceHead::named(name), &[value]).unwrap();
    }
    let written = object.since(start).to_vec();
    assert_eq!(object.since(0), object.since(start - template_length(&template)));
    object.finish().unwrap();
    let whole = writer.finish().to_vec();

    let start_again = |bytes: &[u8], count| {
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let mut object = writer.object(&template).unwrap();
        object.instances_as_written(bytes, count).unwrap();
        assert_eq!(object.instance_count(), count);
        object.finish().unwrap();
        writer.finish().to_vec()
    };
    assert_eq!(start_again(&written, 3), whole);
    // Bytes that are no such instances are refused by the reader.
    for (bytes, count) in [(&written[..], 4), (&written[..written.len() - 8], 3), (&[0; 64], 1)] {
        assert!(DataBlock::parse(&start_again(bytes, count)).is_err(), "{count}");
    }

    // Not where there are no instances, nor where there is no room.
    let single = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(6)), &[]).unwrap();
    let mut object = writer.object(&single).unwrap();
    assert_eq!(object.instances_as_written(&written, 3), Err(WriteError::MixedLayouts));
    drop(object);
    let limit = writer.len() + template_length(&template) + written.len() - 1;
    writer.set_limit(limit);
    let mut object = writer.object(&template).unwrap();
    assert_eq!(object.instances_as_written(&written, 3), Err(WriteError::Full { limit }));
    assert_eq!(object.instance_count(), 0);
}

/// The length of the definitions of an object, in bytes.
fn template_length(template: &ObjectTemplate) -> usize {
    let mut writer = BlockWriter::new();
    let before = writer.len();
    let object = writer.object(template).unwrap();
    object.position() - before
}

/// An instance can tell that any of its counters has no value, wherever the counter stands;
/// an instance that tells nothing has all values.
#[test]
fn any_counter_of_an_instance_may_have_no_value() {
    let counter = |name, kind| CounterSpec::new(TitleIndex(name), kind);
    let counters = [
        counter(12, CounterType::PERF_COUNTER_RAWCOUNT),
        counter(14, CounterType::PERF_AVERAGE_BULK),
        counter(14, CounterType::PERF_AVERAGE_BASE),
        counter(16, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        counter(16, CounterType::ABSENT_VALUES),
    ];
    let spec = ObjectSpec::new(TitleIndex(10)).with_instances();
    let template = ObjectTemplate::new(&spec, &counters).unwrap();
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead::default());
    let mut object = writer.object(&template).unwrap();
    object.instance(&InstanceHead::named("some"), &[1, 0, 0, 4, 0b0110]).unwrap();
    object.instance_prefix(&InstanceHead::named("all"), &[1, 2, 3, 4]).unwrap();
    object.finish().unwrap();
    let block = DataBlock::parse(writer.finish()).unwrap();
    let object = block.objects().next().unwrap();
    let values = |place| {
        let plans = CounterPlan::all(object);
        let block = object.instances().nth(place).unwrap().counter_block();
        let one = CounterPlan::new(object, 1).unwrap().value(block);
        let values: Vec<_> = plans.iter().take(4).map(|plan| plan.value(block)).collect();
        assert_eq!(values[1], one);
        values
    };
    let none = Err(ValueError::Absent);
    assert_eq!(values(0), [Ok(1), none, none, Ok(4)]);
    assert_eq!(values(1), [Ok(1), Ok(2), Ok(3), Ok(4)]);
}

/// Each of several counters that mark missing values does so for 64 counters.
#[test]
fn counters_beyond_the_first_64_may_have_no_value() {
    let number = |index| CounterSpec::new(TitleIndex(index), CounterType::PERF_COUNTER_RAWCOUNT);
    let mut counters: Vec<_> = (0..150).map(|index| number(12 + 2 * index)).collect();
    counters.extend([CounterSpec::new(TitleIndex(0), CounterType::ABSENT_VALUES); 2]);
    let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(10)), &counters).unwrap();
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead::default());
    let mut values = vec![7; 150];
    values.extend([1 << 63, 0b11]);
    writer.object(&template).unwrap().values(&values).unwrap().finish().unwrap();
    let block = DataBlock::parse(writer.finish()).unwrap();
    let object = block.objects().next().unwrap();
    let data = object.counter_block().unwrap();
    for (place, plan) in CounterPlan::all(object).into_iter().enumerate().take(150) {
        let is_absent = [63, 64, 65].contains(&place);
        let expected = if is_absent { Err(ValueError::Absent) } else { Ok(7) };
        let one = CounterPlan::new(object, place as u32).unwrap();
        assert_eq!((plan.value(data), one.value(data)), (expected, expected), "{place}");
    }
}
