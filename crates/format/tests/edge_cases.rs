//! The numbered edge cases of the data block, one test each, by number.
//!
//! Elsewhere: 23 (title lists) is in `src/titles.rs` and, on real lists, in
//! `real_data.rs`. 21 (growing buffers, busy machines), 22 (keeping the key
//! open) and 24 (names in several languages) are about sources and paths and
//! belong to the engine and to the crates that read machines; so do the
//! identity of instances in 13, choosing objects by name in 19, and the guards
//! around a provider's buffer that follow the list. What those cases ask of the
//! format is here.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_format::{
    BaseColumn, BlockHead, BlockWriter, Clocks, Column, CookError, CookOptions, CookedValue,
    CounterKind, CounterPlan, CounterSpec, CounterType, DataBlock, Formula, InstanceHead, NameRef,
    NumericSubtype, ObjectLayout, ObjectSpec, ObjectTemplate, ParseErrorKind, PerfObject,
    RawSample, TextEncoding, TitleIndex, ValueError, cook, cook_with,
};
use perfhive_testkit::model::BlockModel;
use perfhive_testkit::{alloc, is_slow};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

type T = CounterType;

fn spec(index: u32, kind: CounterType) -> CounterSpec {
    CounterSpec::new(TitleIndex(index), kind)
}

fn single(index: u32, counters: &[CounterSpec]) -> ObjectTemplate {
    ObjectTemplate::new(&ObjectSpec::new(TitleIndex(index)), counters).unwrap()
}

fn instanced(index: u32, counters: &[CounterSpec]) -> ObjectTemplate {
    let object = ObjectSpec::new(TitleIndex(index)).with_instances();
    ObjectTemplate::new(&object, counters).unwrap()
}

/// Clocks of 5 and 3 Hz besides the 100 ns clock, so that none passes for
/// another.
const CLOCKS: Clocks = Clocks {
    perf_time: 1_000,
    perf_freq: 5,
    time_100ns: 128_315_940_386_596_596,
    object_time: 700,
    object_freq: 3,
};

fn block(fill: impl FnOnce(&mut BlockWriter)) -> Vec<u8> {
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead { system_name: "HOST", clocks: CLOCKS, ..BlockHead::default() });
    fill(&mut writer);
    writer.finish().to_vec()
}

/// A block of one object without instances.
fn one(counters: &[CounterSpec], values: &[u64]) -> Vec<u8> {
    block(|writer| {
        let template = single(2, counters);
        let object =
            writer.object(&template).unwrap().clock(CLOCKS.object_time, CLOCKS.object_freq);
        object.values(values).unwrap().finish().unwrap();
    })
}

/// A block with one object of two instances and two counters, and one without
/// instances behind it.
fn usual() -> Vec<u8> {
    block(|writer| {
        let counters = [spec(6, T::PERF_100NSEC_TIMER), spec(28, T::PERF_COUNTER_COUNTER)];
        let template = instanced(230, &counters);
        let mut object = writer.object(&template).unwrap();
        object.instance(&InstanceHead::named("Idle"), &[1, 2]).unwrap();
        object.instance(&InstanceHead::named("_Total"), &[3, 4]).unwrap();
        object.finish().unwrap();
        let template = single(4, &[spec(24, T::PERF_COUNTER_LARGE_RAWCOUNT)]);
        writer.object(&template).unwrap().values(&[5]).unwrap().finish().unwrap();
    })
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn header_length(bytes: &[u8]) -> usize {
    DataBlock::parse(bytes).unwrap().header().HeaderLength as usize
}

fn only(bytes: &[u8]) -> PerfObject<'_> {
    DataBlock::parse(bytes).unwrap().objects().next().unwrap()
}

fn plan(bytes: &[u8], place: u32) -> CounterPlan {
    CounterPlan::new(only(bytes), place).unwrap()
}

fn sample(bytes: &[u8], place: u32) -> RawSample {
    let object = only(bytes);
    plan(bytes, place).sample(object, object.counter_block().unwrap()).unwrap()
}

fn kind_of<T>(result: Result<T, perfhive_format::ParseError>) -> Option<ParseErrorKind> {
    result.err().map(|error| error.kind)
}

#[test]
fn edge_case_01_instance_counts() {
    let raw = [spec(6, T::PERF_COUNTER_RAWCOUNT)];
    let bytes = block(|writer| {
        let (none, some) = (single(2, &raw), instanced(4, &raw));
        writer.object(&none).unwrap().values(&[7]).unwrap().finish().unwrap();
        writer.object(&some).unwrap().finish().unwrap();
        writer.object(&some).unwrap().metadata().unwrap().finish().unwrap();
        writer.object(&none).unwrap().metadata().unwrap().finish().unwrap();
        let mut object = writer.object(&some).unwrap();
        object.instance(&InstanceHead::named("a"), &[8]).unwrap();
        object.finish().unwrap();
    });
    let parsed = DataBlock::parse(&bytes).unwrap();
    let objects: Vec<PerfObject<'_>> = parsed.objects().collect();
    let raw_counts: Vec<i32> = objects.iter().map(|o| o.header().NumInstances).collect();
    assert_eq!(raw_counts, [-1, 0, -2, -3, 1]);
    let layouts: Vec<ObjectLayout> = objects.iter().map(|o| o.layout()).collect();
    assert_eq!(
        layouts,
        [
            ObjectLayout::NoInstances,
            ObjectLayout::Instances(0),
            ObjectLayout::MetadataInstances,
            ObjectLayout::MetadataNoInstances,
            ObjectLayout::Instances(1),
        ]
    );
    // One counter block for -1, none for the rest, and no phantom instance
    // behind a 0.
    let blocks: Vec<bool> = objects.iter().map(|o| o.counter_block().is_some()).collect();
    assert_eq!(blocks, [true, false, false, false, false]);
    let instances: Vec<usize> = objects.iter().map(|o| o.instances().count()).collect();
    assert_eq!(instances, [0, 0, 0, 0, 1]);
    let has: Vec<bool> = objects.iter().map(|o| o.has_instances()).collect();
    assert_eq!(has, [false, true, true, false, true]);

    // Other negative numbers mean nothing.
    let at = header_length(&bytes) + 40;
    for count in [-4, -5, i32::MIN] {
        let mut bytes = bytes.clone();
        put(&mut bytes, at, count as u32);
        let kind = kind_of(DataBlock::parse(&bytes));
        assert_eq!(kind, Some(ParseErrorKind::BadInstanceCount));
    }
}

#[test]
fn edge_case_02_the_subtype_mask_has_three_bits() {
    for kind in [
        T::PERF_PRECISION_SYSTEM_TIMER,
        T::PERF_PRECISION_100NS_TIMER,
        T::PERF_PRECISION_OBJECT_TIMER,
    ] {
        assert_eq!(kind.kind(), CounterKind::Counter(NumericSubtype::Precision));
        assert!(!kind.is_base() && kind.needs_base());
        // The base that follows is one, and is not taken for the next counter.
        let bytes = one(&[spec(200, kind), spec(200, T::PERF_PRECISION_TIMESTAMP)], &[1, 2]);
        let plans = CounterPlan::all(only(&bytes));
        assert!(matches!(plans[0].base, BaseColumn::At(_)));
        assert_eq!(plans[0].formula, Ok(Formula::PrecisionTimer));
        assert_eq!(plans[1].formula, Err(CookError::IsBase));
    }
}

#[test]
fn edge_case_03_a_base_with_the_title_of_its_counter() {
    let counters = [
        spec(206, T::PERF_AVERAGE_TIMER).size(8),
        spec(206, T::PERF_AVERAGE_BASE),
        spec(208, T::PERF_AVERAGE_TIMER).size(8),
        spec(208, T::PERF_AVERAGE_BASE),
    ];
    let bytes = one(&counters, &[10, 20, 30, 40]);
    let plans = CounterPlan::all(only(&bytes));
    // By title, without the bases, each counter is found once.
    for (title, value, base) in [(206, 10, 20), (208, 30, 40)] {
        let found: Vec<&CounterPlan> = plans
            .iter()
            .filter(|plan| plan.name == TitleIndex(title) && !plan.counter_type.is_base())
            .collect();
        assert_eq!(found.len(), 1);
        let object = only(&bytes);
        let sample = found[0].sample(object, object.counter_block().unwrap()).unwrap();
        assert_eq!((sample.value, sample.base), (value, Some(base)));
    }
}

#[test]
fn edge_case_04_a_base_belongs_to_the_counter_before_it() {
    let counters = [
        spec(2, T::PERF_RAW_FRACTION),
        spec(4, T::PERF_RAW_BASE),
        spec(6, T::PERF_COUNTER_RAWCOUNT),
        // A fraction without a base, and one at the end of the list.
        spec(8, T::PERF_RAW_FRACTION),
        spec(10, T::PERF_COUNTER_RAWCOUNT),
        spec(12, T::PERF_RAW_FRACTION),
    ];
    let bytes = one(&counters, &[1, 4, 5, 6, 7, 8]);
    let plans = CounterPlan::all(only(&bytes));
    let cooked: Vec<Result<CookedValue, CookError>> = (0..6)
        .map(|place| cook(plans[place as usize].counter_type, None, &sample(&bytes, place)))
        .collect();
    let expected = [
        Ok(CookedValue::Float(25.0)),
        Err(CookError::IsBase),
        Ok(CookedValue::Integer(5)),
        Err(CookError::NoBase),
        Ok(CookedValue::Integer(7)),
        Err(CookError::NoBase),
    ];
    assert_eq!(cooked, expected);
    assert_eq!(plans[3].base, BaseColumn::Missing);
    assert_eq!(plans[5].base, BaseColumn::Missing);
    assert_eq!(plans[2].base, BaseColumn::NotNeeded);
    assert_eq!(CounterPlan::new(only(&bytes), 6), None);
}

#[test]
fn edge_case_05_where_a_multi_timer_has_its_count() {
    let kind = T::PERF_100NSEC_MULTI_TIMER;
    let bits = |bytes: &[u8]| {
        let sample = sample(bytes, 0);
        (sample.value, sample.base)
    };
    // As the next definition.
    let bytes = one(&[spec(2, kind), spec(2, T::PERF_COUNTER_MULTI_BASE)], &[77, 4]);
    assert_eq!(bits(&bytes), (77, Some(4)));

    // As 32 bits behind the value: 12 bytes of data, or 8 and then the count.
    let with_count = |size, data: &[u8]| {
        let template = single(2, &[spec(2, kind).size(size)]);
        block(|writer| {
            let object = writer.object(&template).unwrap();
            object.values_bytes(data).unwrap().finish().unwrap();
        })
    };
    let mut data = [0; 16];
    data[4..12].copy_from_slice(&77u64.to_le_bytes());
    data[12..].copy_from_slice(&4u32.to_le_bytes());
    for size in [12, 8] {
        let bytes = with_count(size, &data);
        assert_eq!(plan(&bytes, 0).size, size);
        assert_eq!(bits(&bytes), (77, Some(4)), "{size}");
    }
    // A block that ends behind the value has no count: an error for this
    // counter, in the sample.
    let bytes = with_count(8, &data[..12]);
    let object = only(&bytes);
    let got = plan(&bytes, 0).sample(object, object.counter_block().unwrap());
    assert_eq!(got, Err(ValueError::OutsideBlock { end: 20, block: 16 }));

    // Both: the definition is preferred.
    let counters = [spec(2, kind).size(12), spec(2, T::PERF_COUNTER_MULTI_BASE)];
    let template = single(2, &counters);
    let mut data = data.to_vec();
    data.resize(28, 0);
    data[20..].copy_from_slice(&9u64.to_le_bytes());
    let bytes = block(|writer| {
        let object = writer.object(&template).unwrap();
        object.values_bytes(&data).unwrap().finish().unwrap();
    });
    assert_eq!(bits(&bytes), (77, Some(9)));
}

#[test]
fn edge_case_06_the_size_is_the_definitions_not_the_types() {
    // PERF_AVERAGE_TIMER says 32 bits; Windows writes 64.
    let large = 129_203_443_492_420;
    let counters = [spec(206, T::PERF_AVERAGE_TIMER).size(8), spec(206, T::PERF_AVERAGE_BASE)];
    let bytes = one(&counters, &[large, 3]);
    assert_eq!(sample(&bytes, 0).value, large);
    assert_eq!(sample(&bytes, 0).value_size, 8);
    // A 32-bit type with 64 bits of data (Samba), a 64-bit type with 32.
    for (kind, size, value) in [
        (T::PERF_COUNTER_COUNTER, 8, u64::MAX),
        (T::PERF_COUNTER_BULK_COUNT, 4, u64::from(u32::MAX)),
    ] {
        let bytes = one(&[spec(2, kind).size(size)], &[u64::MAX]);
        assert_eq!(sample(&bytes, 0).value, value);
        assert_eq!(u32::from(sample(&bytes, 0).value_size), size);
    }
    // Other sizes are not numbers, and keep their bytes.
    for size in [1, 2, 3, 5, 12, 16] {
        let template = single(2, &[spec(2, T::PERF_COUNTER_RAWCOUNT).size(size)]);
        let data: Vec<u8> = (1..=20).collect();
        let bytes = block(|writer| {
            let object = writer.object(&template).unwrap();
            object.values_bytes(&data).unwrap().finish().unwrap();
        });
        let object = only(&bytes);
        let values = object.counter_block().unwrap();
        let definition = object.counters().next().unwrap();
        let offset = definition.offset() as usize - 4;
        let stored = &data[offset..offset + size as usize];
        assert_eq!(values.data(&definition), Ok(stored));
        assert_eq!(values.value(&definition), Err(ValueError::NotANumber { size }));
        let plan = plan(&bytes, 0);
        assert_eq!(plan.value, None);
        assert_eq!(plan.value(values), Err(ValueError::NotANumber { size }));
    }
    // No data at all.
    let bytes = one(&[spec(2, T::PERF_COUNTER_NODATA)], &[0]);
    let object = only(&bytes);
    let label = object.counters().next().unwrap();
    let values = object.counter_block().unwrap();
    assert_eq!(values.data(&label), Ok(&[][..]));
    assert_eq!(values.value(&label), Err(ValueError::NotANumber { size: 0 }));
}

#[test]
fn edge_case_07_a_step_backwards_and_a_wrap() {
    let kind = T::PERF_COUNTER_COUNTER;
    let at = |perf_time| Clocks { perf_time, ..CLOCKS };
    let old = RawSample::new(0xffff_fff0, at(0)).with_sizes(4, 4);
    let new = RawSample::new(0x10, at(5)).with_sizes(4, 4);
    // Another instance may have taken the name: no value.
    assert_eq!(cook(kind, Some(&old), &new), Err(CookError::WentBackwards));
    // The same instance, known: unwrapped by the width of the data.
    let same = CookOptions::default().with_same_instance(true);
    assert_eq!(cook_with(kind, same, Some(&old), &new), Ok(CookedValue::Float(32.0)));
    let (old, new) = (old.with_sizes(8, 8), new.with_sizes(8, 8));
    assert_eq!(cook_with(kind, same, Some(&old), &new), Err(CookError::WentBackwards));
    // A reset is not a wrap.
    let old = RawSample::new(1000, at(0)).with_sizes(4, 4);
    let new = RawSample::new(10, at(5)).with_sizes(4, 4);
    assert_eq!(cook_with(kind, same, Some(&old), &new), Err(CookError::WentBackwards));
}

/// The choice, and why: an inverse multi timer is divided by its count, as the platform SDK
/// has it, so that it is 100 minus the direct timer and a share of the whole. The other
/// reading gives hundreds of percent of one whole.
#[test]
fn edge_case_08_inverse_multi_timers_are_divided_by_the_count() {
    let at = |seconds: i64| Clocks {
        perf_time: seconds * 5,
        time_100ns: seconds * 10_000_000,
        ..CLOCKS
    };
    // Four processors, idle for three of the eight seconds they had together.
    let busy = |value, seconds| RawSample::new(value, at(seconds)).with_base(4);
    for (direct, inverse, unit) in [
        (T::PERF_COUNTER_MULTI_TIMER, T::PERF_COUNTER_MULTI_TIMER_INV, 1),
        (T::PERF_100NSEC_MULTI_TIMER, T::PERF_100NSEC_MULTI_TIMER_INV, 10_000_000),
    ] {
        let (old, new) = (busy(0, 0), busy(3 * unit, 2));
        let direct = cook(direct, Some(&old), &new).unwrap().as_f64();
        let inverse = cook(inverse, Some(&old), &new).unwrap().as_f64();
        assert_eq!((direct, inverse), (37.5, 62.5));
    }
}

#[test]
fn edge_case_09_totals_are_the_providers() {
    // A total that is an average, and one that comes first: both are read as
    // they are, as instances among others.
    let bytes = block(|writer| {
        let template = instanced(238, &[spec(6, T::PERF_COUNTER_RAWCOUNT)]);
        let mut object = writer.object(&template).unwrap();
        for (name, value) in [("_Total", 15), ("0", 10), ("1", 20)] {
            object.instance(&InstanceHead::named(name), &[value]).unwrap();
        }
        object.finish().unwrap();
    });
    let object = only(&bytes);
    let column = plan(&bytes, 0).value.unwrap();
    let values: Vec<(String, Option<u64>)> = object
        .instances()
        .map(|instance| (instance.name().to_text(), column.read(instance.counter_block())))
        .collect();
    let expected = [("_Total", 15), ("0", 10), ("1", 20)];
    assert_eq!(values, expected.map(|(name, value)| (name.to_string(), Some(value))));
}

#[test]
fn edge_case_10_a_first_sample_gives_an_error_and_not_zero() {
    for info in CounterType::named() {
        let kind = info.counter_type;
        let cooked = cook(kind, None, &RawSample::new(5, CLOCKS).with_base(6));
        if kind.samples() == 2 {
            assert_eq!(cooked, Err(CookError::NeedsTwoSamples), "{kind}");
        } else {
            assert_ne!(cooked, Err(CookError::NeedsTwoSamples), "{kind}");
        }
    }
}

#[test]
fn edge_case_11_the_objects_clock_and_the_systems() {
    // In one second of each clock a counter goes 60 ticks: what comes out
    // shows which clock was taken.
    let later = Clocks {
        perf_time: CLOCKS.perf_time + 5,
        time_100ns: CLOCKS.time_100ns + 10_000_000,
        object_time: CLOCKS.object_time + 3,
        ..CLOCKS
    };
    let (old, new) = (RawSample::new(0, CLOCKS), RawSample::new(60, later));
    for (kind, value) in [
        (T::PERF_COUNTER_COUNTER, 60.0),
        (T::PERF_COUNTER_TIMER, 1200.0),
        (T::PERF_COUNTER_LARGE_QUEUELEN_TYPE, 12.0),
        (T::PERF_100NSEC_TIMER, 0.0006),
        (T::PERF_COUNTER_100NS_QUEUELEN_TYPE, 0.000_006),
        (T::PERF_OBJ_TIME_TIMER, 2000.0),
        (T::PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE, 20.0),
        // A start at 60 of the object's clock, now at 703 of 3 a second.
        (T::PERF_ELAPSED_TIME, (703.0 - 60.0) / 3.0),
    ] {
        let cooked = cook(kind, Some(&old), &new).unwrap().as_f64();
        assert!((cooked - value).abs() <= 1e-12 * value, "{kind}: {cooked}");
    }
    // The clocks are found in the block's and the object's header.
    let bytes = one(&[spec(2, T::PERF_ELAPSED_TIME)], &[100]);
    assert_eq!(only(&bytes).clocks(), CLOCKS);
    assert_eq!(sample(&bytes, 0).clocks, CLOCKS);
    let block = DataBlock::parse(&bytes).unwrap().clocks();
    assert_eq!((block.object_time, block.object_freq), (0, 0));
    // An object on its own has no other clocks than its own.
    let alone = PerfObject::parse(only(&bytes).as_bytes()).unwrap().clocks();
    let own = Clocks { object_time: 700, object_freq: 3, ..Clocks::default() };
    assert_eq!(alone, own);
}

#[test]
fn edge_case_12_data_that_is_not_a_number_keeps_type_and_bytes() {
    let kinds = [
        (T::PERF_COUNTER_TEXT, 12, Err(CookError::IsText)),
        (CounterType(0x0001_0B00), 4, Err(CookError::IsText)),
        (T::PERF_COUNTER_HISTOGRAM_TYPE, 8, Err(CookError::NoFormula)),
        (CounterType(0x0006_0700), 16, Err(CookError::NoFormula)),
        (T::PERF_COUNTER_NODATA, 0, Err(CookError::NoData)),
        // Variable length, but of a number's size: cooks by its facets.
        (CounterType(0x0001_0300), 8, Ok(CookedValue::Integer(0x0807_0605_0403_0201))),
        (CounterType(0x0001_0300), 4, Ok(CookedValue::Integer(0x0403_0201))),
    ];
    for (kind, size, expected) in kinds {
        let template = single(2, &[CounterSpec { offset: Some(4), ..spec(2, kind).size(size) }]);
        let data: Vec<u8> = (1..=16).collect();
        let bytes = block(|writer| {
            let object = writer.object(&template).unwrap();
            object.values_bytes(&data).unwrap().finish().unwrap();
        });
        let object = only(&bytes);
        let definition = object.counters().next().unwrap();
        let values = object.counter_block().unwrap();
        assert_eq!(definition.counter_type(), kind);
        assert_eq!(values.data(&definition), Ok(&data[..size as usize]));
        let plan = plan(&bytes, 0);
        let cooked = match plan.sample(object, values) {
            Ok(sample) => cook(kind, None, &sample),
            Err(ValueError::NotANumber { .. }) => plan.formula.map(|_| unreachable!("{kind}")),
            Err(error) => panic!("{kind}: {error}"),
        };
        assert_eq!(cooked, expected, "{kind}");
    }
    assert_eq!(T::PERF_COUNTER_TEXT.kind(), CounterKind::Text(TextEncoding::Unicode));
    assert_eq!(CounterType(0x0001_0B00).kind(), CounterKind::Text(TextEncoding::Ascii));
}

/// Names are read as they were written; the engine decides which instance a name means.
#[test]
fn edge_case_13_instance_names() {
    let names = ["svchost", "svchost", "a\\b*(c)/d#1", "_Total", "", "Ω≈ç√ 漢字 🦀", "0 C: D:"];
    let lone = [0x41, 0xd800, 0x42];
    let template = instanced(230, &[]);
    let bytes = block(|writer| {
        let mut object = writer.object(&template).unwrap();
        for name in names {
            object.instance(&InstanceHead::named(name), &[]).unwrap();
        }
        for name in [NameRef::Utf16(&lone), NameRef::Utf16(&[0x41, 0xd801, 0x42]), NameRef::None] {
            let head = InstanceHead { name, ..InstanceHead::named("") };
            object.instance(&head, &[]).unwrap();
        }
        object.finish().unwrap();
    });
    let object = only(&bytes);
    let read: Vec<_> = object.instances().map(|instance| instance.name()).collect();
    let text: Vec<String> = read.iter().map(|name| name.to_text()).collect();
    assert_eq!(text[..names.len()], names);
    // Duplicates stay; nothing is numbered here.
    assert_eq!(read[0], read[1]);
    // Lone surrogates are shown as one sign and still tell names apart.
    assert_eq!(text[7..9], ["A\u{fffd}B", "A\u{fffd}B"]);
    assert_ne!(read[7], read[8]);
    assert_eq!(read[7].as_bytes(), [0x41, 0, 0, 0xd8, 0x42, 0]);
    // NameLength counts the terminator; no name has 0.
    let lengths: Vec<u32> = object.instances().map(|i| i.raw().NameLength).collect();
    assert_eq!((lengths[0], lengths[4], lengths[9]), (16, 2, 0));
    assert!(read[9].is_empty());

    // NameOffset leads to the name, wherever in the definition it is.
    let first = only(&bytes).header().DefinitionLength as usize + header_length(&bytes);
    let mut moved = bytes.clone();
    put(&mut moved, first + 16, 26);
    put(&mut moved, first + 20, 6);
    let instance = only(&moved).instances().next().unwrap();
    assert_eq!(instance.name().to_text(), "vch");
    // What follows the terminator is stale.
    let mut stale = bytes.clone();
    stale[first + 24 + 4..first + 24 + 6].fill(0);
    assert_eq!(only(&stale).instances().next().unwrap().name().to_text(), "sv");
    // Half a unit at the end is left out.
    let mut odd = bytes.clone();
    put(&mut odd, first + 20, 5);
    assert_eq!(only(&odd).instances().next().unwrap().name().to_text(), "sv");
}

#[test]
fn edge_case_14_code_pages_and_unique_ids() {
    let object =
        |code_page| ObjectSpec { code_page, ..ObjectSpec::new(TitleIndex(230)).with_instances() };
    for (code_page, stored, text) in [
        (1252, &b"caf\xe9"[..], "café"),
        (1251, b"\xc6", "Ж"),
        (932, b"\x8a\xbf", "漢"),
        (65001, "漢".as_bytes(), "漢"),
        // Not known: ASCII is read, the rest is not guessed.
        (437, b"a\x82", "a\u{fffd}"),
    ] {
        let template = ObjectTemplate::new(&object(code_page), &[]).unwrap();
        let bytes = block(|writer| {
            let mut object = writer.object(&template).unwrap();
            let name = NameRef::Bytes(stored);
            let head = InstanceHead { name, ..InstanceHead::named("") };
            object.instance(&head, &[]).unwrap();
            object.finish().unwrap();
        });
        let object = only(&bytes);
        let name = object.instances().next().unwrap().name();
        assert_eq!(name.code_page(), code_page);
        assert_eq!(name.as_bytes(), stored, "{code_page}");
        assert_eq!(name.to_text(), text, "{code_page}");
        assert_eq!(name.to_string(), text, "{code_page}");
        assert!(name.eq_ignore_case(&text.to_uppercase()), "{code_page}");
    }

    let template = instanced(230, &[]);
    let bytes = block(|writer| {
        let mut object = writer.object(&template).unwrap();
        for unique_id in [Some(0), Some(-2), Some(i32::MAX), None] {
            let name = NameRef::None;
            let head = InstanceHead { name, unique_id, parent: None };
            object.instance(&head, &[]).unwrap();
        }
        object.finish().unwrap();
    });
    let ids: Vec<Option<i32>> = only(&bytes).instances().map(|i| i.unique_id()).collect();
    assert_eq!(ids, [Some(0), Some(-2), Some(i32::MAX), None]);
    let raw = only(&bytes).instances().nth(3).unwrap().raw();
    assert_eq!(raw.UniqueID, -1);
}

/// A parent is found in the same block; that it may be in another block is for the engine
/// to handle.
#[test]
fn edge_case_15_parents_are_in_the_same_block() {
    let (processes, threads) = (instanced(230, &[]), instanced(232, &[]));
    let bytes = block(|writer| {
        let mut object = writer.object(&threads).unwrap();
        // The second process, one that is not there, an object that is not
        // there, and none.
        for (name, parent) in
            [("0", Some((230, 1))), ("1", Some((230, 2))), ("2", Some((999, 0))), ("3", None)]
        {
            let parent = parent.map(|(object, place)| (TitleIndex(object), place));
            object.instance(&InstanceHead { parent, ..InstanceHead::named(name) }, &[]).unwrap();
        }
        object.finish().unwrap();
        let mut object = writer.object(&processes).unwrap();
        for name in ["Idle", "init"] {
            object.instance(&InstanceHead::named(name), &[]).unwrap();
        }
        object.finish().unwrap();
    });
    let block = DataBlock::parse(&bytes).unwrap();
    let threads = block.object(TitleIndex(232)).unwrap();
    let parents: Vec<Option<String>> = threads
        .instances()
        .map(|thread| block.parent(&thread).map(|(_, process)| process.name().to_text()))
        .collect();
    assert_eq!(parents, [Some("init".to_string()), None, None, None]);
    let stated: Vec<bool> = threads.instances().map(|t| t.parent().is_some()).collect();
    assert_eq!(stated, [true, true, true, false]);
}

#[test]
fn edge_case_16_blocks_of_another_kind() {
    let bytes = usual();
    for (at, value, kind) in [
        (0, 0x0045_0051, ParseErrorKind::BadSignature),
        (4, 0x0046_0053, ParseErrorKind::BadSignature),
        (8, 0, ParseErrorKind::BigEndian),
        (8, 2, ParseErrorKind::UnsupportedVersion),
        (12, 2, ParseErrorKind::UnsupportedVersion),
        (12, 0, ParseErrorKind::UnsupportedVersion),
        (16, 2, ParseErrorKind::UnsupportedVersion),
    ] {
        let mut bytes = bytes.clone();
        put(&mut bytes, at, value);
        let error = DataBlock::parse(&bytes).err().unwrap();
        assert_eq!(error.kind, kind, "{at} {value}");
        // The error says where, and prints in one line.
        assert_eq!(error.offset, if at < 8 { 0 } else { at });
        assert!(error.field.starts_with("PERF_DATA_BLOCK."));
        let line = error.to_string();
        assert!(line.contains(error.field) && !line.contains('\n'), "{line}");
        assert_eq!(kind_of(DataBlock::scan(&bytes).map(|_| ())), Some(kind));
    }
    // A block with big-endian numbers: the signature is of bytes, the flag is 0.
    let mut big = bytes.clone();
    for field in big[8..88].chunks_exact_mut(4) {
        field.reverse();
    }
    big[8..12].fill(0);
    assert_eq!(kind_of(DataBlock::parse(&big)), Some(ParseErrorKind::BigEndian));
    assert_eq!(kind_of(DataBlock::parse(b"")), Some(ParseErrorKind::Truncated));
    assert_eq!(kind_of(DataBlock::parse(&[0; 88])), Some(ParseErrorKind::BadSignature));
}

/// Asks everything that a view can be asked, so that a wrong length would show. Returns the
/// number of steps.
fn walk(block: DataBlock<'_>) -> usize {
    let mut steps = usize::from(!block.system_name().is_empty());
    for object in block.objects() {
        let plans = CounterPlan::all(object);
        let single = object.counter_block();
        let instances = object.instances();
        for instance in instances.clone() {
            steps +=
                instance.name().as_bytes().len() + usize::from(instance.name_fault().is_some());
        }
        for values in single.into_iter().chain(instances.map(|i| i.counter_block())) {
            for (plan, counter) in plans.iter().zip(object.counters()) {
                assert_eq!(plan.value(values), values.value(&counter));
                steps += 1;
            }
        }
    }
    steps
}

#[test]
fn edge_case_17_lengths_of_every_kind_of_wrong() {
    let bytes = usual();
    let header = header_length(&bytes);
    let object = DataBlock::parse(&bytes).unwrap().objects().next().unwrap();
    let definition = header + object.header().DefinitionLength as usize;
    let instance = object.instances().next().unwrap();
    let counter_block = definition + instance.definition_bytes().len();
    let second_object = header + object.as_bytes().len();
    let fields = [
        20,                // TotalByteLength
        24,                // HeaderLength
        28,                // NumObjectTypes
        80,                // SystemNameLength
        84,                // SystemNameOffset
        header,            // the object's TotalByteLength
        header + 4,        // DefinitionLength
        header + 8,        // HeaderLength
        header + 32,       // NumCounters
        header + 40,       // NumInstances
        header + 64,       // a counter definition's ByteLength
        header + 64 + 32,  // CounterSize
        header + 64 + 36,  // CounterOffset
        header + 104,      // the second definition's ByteLength
        definition,        // an instance's ByteLength
        definition + 16,   // NameOffset
        definition + 20,   // NameLength
        counter_block,     // a counter block's ByteLength
        second_object,     // the last object's TotalByteLength
        second_object + 4, // and its DefinitionLength
    ];
    let length = bytes.len() as u32;
    let mut seen = [0u32; 2];
    for at in fields {
        let was = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let around = (0..16).flat_map(|step| [was.wrapping_add(step), was.wrapping_sub(step)]);
        let limits = [0, 1, 3, 4, 23, 24, 39, 40, 63, 64, 87, 88, length - 1, length, length + 1];
        let far =
            [1 << 16, 1 << 24, i32::MAX as u32, 1 << 31, u32::MAX - 8, u32::MAX - 1, u32::MAX];
        let step = if is_slow() { 11 } else { 1 };
        for value in around.chain(limits).chain(far).step_by(step) {
            let mut bytes = bytes.clone();
            put(&mut bytes, at, value);
            let (parsed, allocated) = alloc::count(|| DataBlock::parse(&bytes));
            assert_eq!(allocated.count, 0);
            match parsed {
                Ok(block) => {
                    let (steps, allocated) = alloc::count(|| walk(block));
                    assert!(steps <= 4 * bytes.len(), "{at} {value}: {steps}");
                    assert!(allocated.bytes <= 16 * bytes.len() as u64, "{at}: {allocated:?}");
                    seen[0] += 1;
                }
                Err(error) => {
                    assert!(error.offset <= bytes.len(), "{at} {value}: {error}");
                    seen[1] += 1;
                }
            }
        }
    }
    assert!(is_slow() || seen[0] > 50 && seen[1] > 200, "{seen:?}");

    // A block that claims more bytes than there are, though its objects fit,
    // was cut; one that claims fewer is Samba's, and one that is followed by
    // others' bytes is in a file.
    for (stated, truncated) in [(length - 1, false), (length, false), (length + 1, true)] {
        let mut bytes = bytes.clone();
        put(&mut bytes, 20, stated);
        let verdict = DataBlock::parse(&bytes).err().map(|error| (error.kind, error.offset));
        assert_eq!(verdict, truncated.then_some((ParseErrorKind::Truncated, 20)));
        bytes.push(0xee);
        assert!(DataBlock::parse(&bytes).is_ok());
    }

    // Counts that only overlapping data could fill.
    let mut many = bytes.clone();
    put(&mut many, header + 40, 0x7fff_ffff);
    assert_eq!(kind_of(DataBlock::parse(&many)), Some(ParseErrorKind::TooManyValues));
    let mut many = bytes.clone();
    put(&mut many, 28, u32::MAX);
    assert!(DataBlock::parse(&many).is_err());
}

#[test]
fn edge_case_17_every_length_has_its_verdict() {
    let bytes = usual();
    let header = header_length(&bytes);
    let object = only(&bytes);
    let total = object.as_bytes().len() as u32;
    let definition = header + object.header().DefinitionLength as usize;
    let instance = object.instances().next().unwrap();
    let values = definition + instance.definition_bytes().len();
    let left = total - (definition - header) as u32;
    use ParseErrorKind::{TooLong, TooShort, Truncated};
    for (at, value, kind) in [
        (24, 87, TooShort),
        (24, bytes.len() as u32 + 1, TooLong),
        (header, 63, TooShort),
        (header, (bytes.len() - header) as u32 + 1, Truncated),
        (header + 8, 63, TooShort),
        (header + 4, 63, TooShort),
        (header + 4, total + 1, TooLong),
        (header + 64, 39, TooShort),
        (header + 64, 81, TooLong),
        (header + 104, 41, TooLong),
        (definition, 23, TooShort),
        (definition, left + 1, TooLong),
        (values, 3, TooShort),
        (values, left - (values - definition) as u32 + 1, TooLong),
    ] {
        let mut bytes = bytes.clone();
        put(&mut bytes, at, value);
        let error = DataBlock::parse(&bytes).err().unwrap();
        let seen = (error.kind, error.offset, error.value);
        assert_eq!(seen, (kind, at, i64::from(value)), "{error}");
    }
    // One counter or instance more than there are.
    let mut more = bytes.clone();
    put(&mut more, header + 32, 3);
    let error = DataBlock::parse(&more).err().unwrap();
    assert_eq!((error.kind, error.field), (TooLong, "PERF_OBJECT_TYPE.NumCounters"));
    let mut more = bytes.clone();
    put(&mut more, header + 40, 3);
    let error = DataBlock::parse(&more).err().unwrap();
    assert_eq!((error.kind, error.field), (Truncated, "PERF_INSTANCE_DEFINITION"));
    assert_eq!(error.offset, header + total as usize);
    // One object more.
    let mut more = bytes;
    put(&mut more, 28, 3);
    let error = DataBlock::parse(&more).err().unwrap();
    assert_eq!((error.kind, error.field), (Truncated, "PERF_OBJECT_TYPE"));
}

#[test]
fn edge_case_18_unaligned_data() {
    let bytes = usual();
    let model = BlockModel::read(DataBlock::parse(&bytes).unwrap());
    for shift in 0..8 {
        let mut shifted = vec![0xaa; shift];
        shifted.extend_from_slice(&bytes);
        let block = DataBlock::parse(&shifted[shift..]).unwrap();
        assert_eq!(BlockModel::read(block), model);
    }
    // Counters at odd offsets inside their block.
    let counters = [(5, 4), (9, 8), (17, 4), (4, 8)];
    let counters = counters.map(|(offset, size)| CounterSpec {
        offset: Some(offset),
        ..spec(offset, T::PERF_COUNTER_LARGE_RAWCOUNT).size(size)
    });
    let template = single(2, &counters);
    let data: Vec<u8> = (1..=20).collect();
    let bytes = block(|writer| {
        let object = writer.object(&template).unwrap();
        object.values_bytes(&data).unwrap().finish().unwrap();
    });
    let values: Vec<u64> = (0..4).map(|place| sample(&bytes, place).value).collect();
    let expected = [0x0504_0302, 0x0d0c_0b0a_0908_0706, 0x1110_0f0e, 0x0807_0605_0403_0201];
    assert_eq!(values, expected);
    assert_eq!(walk(DataBlock::parse(&bytes).unwrap()), 5);
}

#[test]
fn edge_case_19_objects_are_selected_by_index() {
    let bytes = usual();
    let block = DataBlock::parse(&bytes).unwrap();
    // Asked for 4: 230 came along, and 2 is missing.
    assert_eq!(block.object(TitleIndex(4)).unwrap().name_index(), TitleIndex(4));
    assert!(block.object(TitleIndex(2)).is_none());
    assert_eq!(block.object_count(), 2);
    // Two objects of one index: the first.
    let twice = crate::block(|writer| {
        let template = single(2, &[spec(6, T::PERF_COUNTER_RAWCOUNT)]);
        for value in [1, 2] {
            writer.object(&template).unwrap().values(&[value]).unwrap().finish().unwrap();
        }
    });
    let first = DataBlock::parse(&twice).unwrap().object(TitleIndex(2)).unwrap();
    let counter = first.counters().next().unwrap();
    assert_eq!(first.counter_block().unwrap().value(&counter), Ok(1));
}

#[test]
fn edge_case_20_lengths_say_where_things_start() {
    let bytes = usual();
    let model = BlockModel::read(DataBlock::parse(&bytes).unwrap());
    let header = header_length(&bytes);
    // The name of this machine makes the header 104 bytes long; 88 would be
    // one without a name.
    assert_eq!(header, 104);
    // Everything grown: headers, definitions and instances by 8 bytes each.
    let grow = |bytes: &mut Vec<u8>, at: usize, length_at: usize| {
        bytes.splice(at..at, [0xee; 8]);
        let length = u32::from_le_bytes(bytes[length_at..length_at + 4].try_into().unwrap());
        put(bytes, length_at, length + 8);
    };
    let mut longer = bytes;
    let object = header;
    let definition = object + only(&longer).header().DefinitionLength as usize;
    let name_end = definition + only(&longer).instances().next().unwrap().definition_bytes().len();
    // From the back, so that places do not move.
    grow(&mut longer, name_end, definition);
    grow(&mut longer, object + 64 + 40, object + 64);
    grow(&mut longer, object + 64, object + 8);
    grow(&mut longer, header, 24);
    for (field, growth) in [(object + 8, 24), (object + 8 + 4, 16), (20, 32)] {
        let length = u32::from_le_bytes(longer[field..field + 4].try_into().unwrap());
        put(&mut longer, field, length + growth);
    }
    let grown = BlockModel::read(DataBlock::parse(&longer).unwrap());
    assert_eq!(grown, model);
    assert_eq!(header_length(&longer), 112);
    assert_eq!(only(&longer).counters().next().unwrap().as_bytes().len(), 48);

    // A header of 88 bytes: no room for a name, none is read.
    let mut bare = crate::block(|_| {});
    bare.drain(88..);
    put(&mut bare, 20, 88);
    put(&mut bare, 24, 88);
    let block = DataBlock::parse(&bare).unwrap();
    assert!(block.system_name().is_empty());
    assert_eq!(block.objects().count(), 0);
}

/// A plan gives what the definition gives, also where the definition is wrong.
#[test]
fn edge_case_25_one_bad_counter_instance_or_object_costs_only_itself() {
    // A counter outside its block, in one instance of three.
    let counters = [spec(6, T::PERF_COUNTER_RAWCOUNT), spec(8, T::PERF_COUNTER_RAWCOUNT)];
    let template = instanced(230, &counters);
    let bytes = block(|writer| {
        let mut object = writer.object(&template).unwrap();
        object.instance(&InstanceHead::named("a"), &[1, 2]).unwrap();
        object.instance_prefix(&InstanceHead::named("b"), &[3]).unwrap();
        object.instance(&InstanceHead::named("c"), &[4, 5]).unwrap();
        object.finish().unwrap();
        let template = single(4, &counters);
        writer.object(&template).unwrap().values(&[6, 7]).unwrap().finish().unwrap();
    });
    let plans = CounterPlan::all(only(&bytes));
    let read: Vec<Vec<Option<u64>>> = only(&bytes)
        .instances()
        .map(|i| plans.iter().map(|p| p.value(i.counter_block()).ok()).collect())
        .collect();
    assert_eq!(read, [[Some(1), Some(2)], [Some(3), None], [Some(4), Some(5)]]);

    // A counter with an impossible place: that counter, in every instance.
    let definitions = header_length(&bytes) + 64;
    for (size, offset) in [(4, 0), (4, 3), (8, 0), (4, u32::MAX), (8, u32::MAX - 3), (u32::MAX, 8)]
    {
        let mut bytes = bytes.clone();
        put(&mut bytes, definitions + 32, size);
        put(&mut bytes, definitions + 36, offset);
        let object = only(&bytes);
        let plans = CounterPlan::all(object);
        for instance in object.instances() {
            let values = instance.counter_block();
            let definition = object.counters().next().unwrap();
            let wrong = values.value(&definition);
            assert!(matches!(wrong, Err(ValueError::OutsideBlock { .. })), "{wrong:?}");
            assert_eq!(plans[0].value(values), wrong, "{size} {offset}");
        }
        assert_eq!(plans[1].value(object.instances().next().unwrap().counter_block()), Ok(2));
    }

    // A name outside its instance: no name, said so, and nothing else lost.
    let mut nameless = bytes.clone();
    let instance = header_length(&bytes) + only(&bytes).header().DefinitionLength as usize;
    put(&mut nameless, instance + 16, 9999);
    let object = only(&nameless);
    let faults: Vec<bool> = object.instances().map(|i| i.name_fault().is_some()).collect();
    assert_eq!(faults, [true, false, false]);
    let first = object.instances().next().unwrap();
    assert!(first.name().is_empty());
    assert_eq!(plans[0].value(first.counter_block()), Ok(1));

    // A damaged object: `parse` says what is wrong, `scan` gives the others.
    let mut damaged = bytes.clone();
    put(&mut damaged, instance, 7);
    let error = DataBlock::parse(&damaged).err().unwrap();
    assert_eq!((error.kind, error.offset), (ParseErrorKind::TooShort, instance));
    let (head, objects) = DataBlock::scan(&damaged).unwrap();
    assert_eq!(head.object_count(), 2);
    assert_eq!(head.system_name().to_text(), "HOST");
    let verdicts: Vec<Option<TitleIndex>> =
        objects.map(|object| object.ok().map(|object| object.name_index())).collect();
    assert_eq!(verdicts, [None, Some(TitleIndex(4))]);
    // Without a length there is no next object, and the walk ends.
    put(&mut damaged, header_length(&bytes), 0);
    let (_, objects) = DataBlock::scan(&damaged).unwrap();
    assert_eq!(objects.map(|object| object.is_ok()).collect::<Vec<_>>(), [false]);
}

/// Reading by a column and reading by the definition agree for every offset and size at the
/// edges of a block.
#[test]
fn columns_and_definitions_agree_at_the_edges() {
    let data: Vec<u8> = (1..=28).collect();
    let mut bytes = block(|writer| {
        let template = single(2, &[spec(2, T::PERF_COUNTER_RAWCOUNT)]);
        let object = writer.object(&template).unwrap();
        object.values_bytes(&data).unwrap().finish().unwrap();
    });
    let definition = header_length(&bytes) + 64;
    for size in [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, u32::MAX] {
        for offset in (0..40).chain(u32::MAX - 12..=u32::MAX) {
            put(&mut bytes, definition + 32, size);
            put(&mut bytes, definition + 36, offset);
            let object = only(&bytes);
            let values = object.counter_block().unwrap();
            let by_definition = values.value(&object.counters().next().unwrap());
            let by_column = Column::new(offset, size).and_then(|column| column.read(values));
            assert_eq!(by_column, by_definition.ok(), "{size} at {offset}");
        }
    }
}

/// The item count behind a multi timer's value, of case 5, exists only where no other
/// counter has its data.
#[test]
fn edge_case_05_the_count_behind_the_value_is_not_another_counter() {
    let multi = CounterSpec::new(TitleIndex(2), CounterType::PERF_100NSEC_MULTI_TIMER);
    let other = CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_RAWCOUNT);
    let base_of = |counters: &[CounterSpec]| {
        let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(1)), counters).unwrap();
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let data = [7u8; 28];
        writer.object(&template).unwrap().values_bytes(&data).unwrap().finish().unwrap();
        let block = DataBlock::parse(writer.finish()).unwrap();
        let object = block.objects().next().unwrap();
        let plan = CounterPlan::new(object, 0).unwrap();
        assert_eq!(Some(plan), CounterPlan::all(object).into_iter().next());
        plan.base
    };
    let at = |offset| Column::new(offset, 4).map(BaseColumn::At).unwrap();
    // The value lies at 8 (aligned), its count at 16.
    assert_eq!(base_of(&[multi]), at(16));
    assert_eq!(base_of(&[multi, other]), BaseColumn::Missing);
    // 12 bytes of data hold the count, whatever comes behind.
    assert_eq!(base_of(&[multi.size(12), other]), at(16));
}
