//! Golden blocks: what the writer writes, byte for byte, with a dump of every
//! field beside it. `UPDATE=1 cargo test -p perfhive-format --test golden`
//! rewrites both; the dumps show in a review what changed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use core::fmt::Write as _;
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CounterPlan, CounterSpec, CounterType, DataBlock, DetailLevel,
    FileTime, InstanceHead, NameRef, ObjectSpec, ObjectTemplate, PerfObject, TitleIndex,
};
use perfhive_testkit::faults::{some_changes, truncations};
use perfhive_testkit::model::BlockModel;
use perfhive_testkit::walk::walk;
use perfhive_testkit::{alloc, is_slow};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

type T = CounterType;

struct Golden {
    name: &'static str,
    build: fn(&mut BlockWriter),
    bytes: &'static [u8],
    dump: &'static str,
}

macro_rules! golden {
    ($($name:ident),+) => {
        [$(Golden {
            name: stringify!($name),
            build: $name,
            bytes: include_bytes!(concat!("golden/", stringify!($name), ".bin")),
            dump: include_str!(concat!("golden/", stringify!($name), ".txt")),
        }),+]
    };
}

fn goldens() -> [Golden; 4] {
    golden!(empty, single, instances, layouts)
}

fn start(writer: &mut BlockWriter) {
    let now = FileTime(128_315_940_386_596_596);
    writer.start(&BlockHead {
        system_name: "HÖST",
        default_object: Some(TitleIndex(238)),
        system_time: now.to_system_time(),
        clocks: Clocks {
            perf_time: 7_178_903_079,
            perf_freq: 3_579_545,
            time_100ns: now.0,
            ..Clocks::default()
        },
    });
}

fn spec(index: u32, kind: CounterType) -> CounterSpec {
    CounterSpec::new(TitleIndex(index), kind)
}

fn template(spec: &ObjectSpec, counters: &[CounterSpec]) -> ObjectTemplate {
    ObjectTemplate::new(spec, counters).unwrap()
}

fn empty(_: &mut BlockWriter) {}

/// Objects without instances: numbers, rates, bases, text, a label.
fn single(writer: &mut BlockWriter) {
    let object = ObjectSpec {
        default_counter: Some(1),
        detail: DetailLevel::ADVANCED,
        ..ObjectSpec::new(TitleIndex(2))
    };
    let counters = [
        spec(248, T::PERF_COUNTER_RAWCOUNT),
        spec(146, T::PERF_COUNTER_COUNTER).scale(-2).detail(DetailLevel::WIZARD),
        spec(674, T::PERF_ELAPSED_TIME).scale(-5).help(TitleIndex(9999)),
        spec(1350, T::PERF_RAW_FRACTION),
        spec(1350, T::PERF_RAW_BASE),
    ];
    let template = template(&object, &counters);
    let object = writer.object(&template).unwrap().clock(128_315_940_386_606_361, 10_000_000);
    let values = [50, 638_820, 128_315_920_365_000_000, 14_827_904, 714_429_781];
    object.values(&values).unwrap().finish().unwrap();

    let counters = [
        spec(2002, T::PERF_COUNTER_TEXT).size(12),
        spec(2004, T::PERF_COUNTER_NODATA),
        spec(2006, CounterType(0x8123_4567)).size(3),
    ];
    let template = crate::template(&ObjectSpec::new(TitleIndex(2000)), &counters);
    let mut data = vec![0; 4];
    data.extend("active".encode_utf16().flat_map(u16::to_le_bytes));
    data.extend([1, 2, 3]);
    let object = writer.object(&template).unwrap();
    object.values_bytes(&data).unwrap().finish().unwrap();
}

/// Instances with names of every kind, parents, numbers, and none at all.
fn instances(writer: &mut BlockWriter) {
    let process = template(
        &ObjectSpec::new(TitleIndex(230)).with_instances(),
        &[
            spec(6, T::PERF_100NSEC_TIMER),
            spec(28, T::PERF_COUNTER_COUNTER),
            spec(684, T::PERF_ELAPSED_TIME),
            spec(784, T::PERF_COUNTER_RAWCOUNT),
        ],
    );
    let mut object = writer.object(&process).unwrap().clock(128_315_940_386_606_361, 10_000_000);
    let names = [
        NameRef::Text("Idle"),
        NameRef::Text("svchost"),
        NameRef::Text("svchost"),
        NameRef::Text("Ω 漢 🦀"),
        NameRef::Utf16(&[0x61, 0xd800, 0x62]),
        NameRef::Text(""),
        NameRef::None,
    ];
    for (place, name) in (0u64..).zip(names) {
        let head = InstanceHead { name, ..InstanceHead::named("") };
        let start = 128_315_920_365_000_000 + place;
        object.instance(&head, &[place << 32, 9, start, place * 4]).unwrap();
    }
    // One that has its first two counters only.
    object.instance_prefix(&InstanceHead::named("_Total"), &[1 << 40, 9]).unwrap();
    object.finish().unwrap();

    let thread = template(
        &ObjectSpec::new(TitleIndex(232)).with_instances(),
        &[spec(804, T::PERF_COUNTER_RAWCOUNT)],
    );
    let mut object = writer.object(&thread).unwrap();
    for (number, parent) in [(0, 0), (1, 2), (2, 99)] {
        let head = InstanceHead {
            unique_id: Some(number),
            parent: Some((TitleIndex(230), parent)),
            ..InstanceHead::named("0")
        };
        object.instance(&head, &[7]).unwrap();
    }
    object.finish().unwrap();
    writer.object(&thread).unwrap().finish().unwrap();
}

/// Bare definitions, another code page, counters packed and of odd sizes.
fn layouts(writer: &mut BlockWriter) {
    let raw = [spec(6, T::PERF_COUNTER_RAWCOUNT)];
    let multiple = template(&ObjectSpec::new(TitleIndex(10)).with_instances(), &raw);
    writer.object(&multiple).unwrap().metadata().unwrap().finish().unwrap();
    let none = template(&ObjectSpec::new(TitleIndex(12)), &raw);
    writer.object(&none).unwrap().metadata().unwrap().finish().unwrap();

    let cyrillic =
        ObjectSpec { code_page: 1251, ..ObjectSpec::new(TitleIndex(14)).with_instances() };
    let cyrillic = template(&cyrillic, &raw);
    let mut object = writer.object(&cyrillic).unwrap();
    object.instance(&InstanceHead::named("Диск C:"), &[1]).unwrap();
    object.finish().unwrap();

    let at = |offset, spec: CounterSpec| CounterSpec { offset: Some(offset), ..spec };
    let packed = [
        at(4, spec(2, T::PERF_COUNTER_RAWCOUNT).size(1)),
        at(5, spec(4, T::PERF_COUNTER_RAWCOUNT).size(2)),
        at(7, spec(6, T::PERF_COUNTER_RAWCOUNT).size(4)),
        at(11, spec(8, T::PERF_COUNTER_LARGE_RAWCOUNT)),
        // Its item count is the 4 bytes behind its 8.
        at(19, spec(10, T::PERF_100NSEC_MULTI_TIMER).size(12)),
    ];
    let packed = template(&ObjectSpec::new(TitleIndex(16)), &packed);
    let data: Vec<u8> = (0..27).collect();
    let object = writer.object(&packed).unwrap();
    object.values_bytes(&data).unwrap().finish().unwrap();
}

/// Every field of a block with its offset, then what the views make of it.
fn dump(bytes: &[u8]) -> String {
    let mut out = String::new();
    let block = DataBlock::parse(bytes).unwrap();
    let place = |part: &[u8]| part.as_ptr().addr() - bytes.as_ptr().addr();
    let mut fields = |at: usize, name: &str, fields: &mut dyn Iterator<Item = _>| {
        writeln!(out, "{at:#06x} {name}").unwrap();
        for (field, offset, value) in fields {
            let (field, offset, value): (&str, usize, i128) = (field, offset, value);
            // The unused pointers stay zero and are left out.
            if !field.ends_with("Title") || value != 0 {
                writeln!(out, "  +{offset} {field} = {value}").unwrap();
            }
        }
    };
    fields(0, "PERF_DATA_BLOCK", &mut block.header().fields());
    for object in block.objects() {
        let at = place(object.as_bytes());
        fields(at, "PERF_OBJECT_TYPE", &mut object.header().fields());
        for counter in object.counters() {
            let at = place(counter.as_bytes());
            fields(at, "PERF_COUNTER_DEFINITION", &mut counter.raw().fields());
        }
        for instance in object.instances() {
            let at = place(instance.definition_bytes());
            fields(at, "PERF_INSTANCE_DEFINITION", &mut instance.raw().fields());
        }
    }
    writeln!(out, "\n{} at {}", block.system_name(), block.system_time()).unwrap();
    for object in block.objects() {
        writeln!(out, "object {} {:?}", object.name_index(), object.layout()).unwrap();
        for counter in object.counters() {
            writeln!(out, "  counter {} {}", counter.name_index(), counter.counter_type()).unwrap();
        }
        for instance in object.instances() {
            let (name, id) = (instance.name(), instance.unique_id());
            writeln!(out, "  instance {name:?} {id:?} parent {:?}", instance.parent()).unwrap();
            dump_values(&mut out, object, instance.counter_block());
        }
        if let Some(values) = object.counter_block() {
            dump_values(&mut out, object, values);
        }
    }
    out
}

fn dump_values(
    out: &mut String,
    object: PerfObject<'_>,
    values: perfhive_format::CounterBlock<'_>,
) {
    for (plan, counter) in CounterPlan::all(object).iter().zip(object.counters()) {
        let index = counter.name_index();
        match (values.value(&counter), values.data(&counter)) {
            (Ok(value), _) => writeln!(out, "    {index} = {value}").unwrap(),
            (Err(_), Ok(data)) => writeln!(out, "    {index} = {data:02x?}").unwrap(),
            (Err(error), Err(_)) => writeln!(out, "    {index}: {error}").unwrap(),
        }
        let sample = plan.sample(object, values);
        if let Some(base) = sample.ok().and_then(|sample| sample.base) {
            writeln!(out, "      base {base}").unwrap();
        }
    }
}

#[test]
fn golden_blocks_are_written_as_ever() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut total = 0;
    let mut writer = BlockWriter::new();
    for golden in goldens() {
        start(&mut writer);
        (golden.build)(&mut writer);
        let bytes = writer.finish();
        let text = dump(bytes);
        total += bytes.len() + text.len();
        if update {
            let path = format!("{}/tests/golden/{}", env!("CARGO_MANIFEST_DIR"), golden.name);
            std::fs::write(format!("{path}.bin"), bytes).unwrap();
            std::fs::write(format!("{path}.txt"), text).unwrap();
            continue;
        }
        let name = golden.name;
        for (place, (new, old)) in bytes.iter().zip(golden.bytes).enumerate() {
            assert_eq!(new, old, "{name} at {place:#x}: see {name}.txt, or UPDATE=1");
        }
        assert_eq!(bytes.len(), golden.bytes.len(), "{name}");
        assert_eq!(text, golden.dump, "{name}");
    }
    assert!(total < 20 << 10, "{total}");
}

#[test]
fn golden_blocks_are_read_as_ever() {
    for golden in goldens() {
        let block = DataBlock::parse(golden.bytes).unwrap();
        let model = BlockModel::read(block);
        assert_eq!(model.to_bytes().unwrap(), golden.bytes, "{}", golden.name);
        assert_eq!(dump(golden.bytes), golden.dump, "{}", golden.name);
    }
}

/// Golden blocks survive damage as the real blocks do; they are small enough for Miri.
#[test]
fn golden_blocks_survive_damage() {
    for golden in goldens() {
        let (mut good, mut bad) = (0, 0);
        let mut survive = |bytes: &[u8]| {
            let (parsed, allocated) = alloc::count(|| DataBlock::parse(bytes));
            assert_eq!(allocated.count, 0);
            match parsed {
                Ok(block) => {
                    good += 1;
                    let (seen, allocated) = alloc::count(|| walk(block));
                    assert!(seen.steps() <= 2 * bytes.len() as u64, "{seen:?}");
                    assert!(allocated.bytes <= 4 * bytes.len() as u64, "{allocated:?}");
                }
                Err(error) => {
                    bad += 1;
                    assert!(error.offset <= bytes.len(), "{error}");
                }
            }
        };
        let (step, per_byte) = if is_slow() { (199, 1) } else { (1, 32) };
        for cut in truncations(golden.bytes).step_by(step) {
            survive(cut);
        }
        let mut bytes = golden.bytes.to_vec();
        for change in some_changes(golden.bytes, per_byte, 1).step_by(step) {
            change.apply(&mut bytes, &mut survive);
        }
        assert!(is_slow() || good > 0 && bad > 0, "{}: {good} {bad}", golden.name);
    }
}

/// Bytes that were never validated give wrong answers, but no panic and no endless walk.
#[test]
fn views_over_unvalidated_bytes_are_harmless() {
    let look = |bytes: &[u8]| {
        let object = PerfObject::from_validated(bytes, bytes);
        let plans = CounterPlan::all(object);
        assert!(plans.len() <= bytes.len() / 40);
        let mut steps = 0;
        for instance in object.instances() {
            steps += 1 + instance.name().as_bytes().len();
            for plan in plans.iter().take(4) {
                steps += usize::from(plan.sample(object, instance.counter_block()).is_ok());
            }
        }
        if let Some(values) = object.counter_block() {
            steps += plans.iter().filter(|plan| plan.value(values).is_ok()).count();
        }
        assert!(steps <= 2 * bytes.len(), "{steps}");
    };
    for golden in goldens() {
        let (step, per_byte) = if is_slow() { (251, 1) } else { (1, 16) };
        let mut bytes = golden.bytes.to_vec();
        for change in some_changes(golden.bytes, per_byte, 2).step_by(step) {
            change.apply(&mut bytes, |bytes| {
                for start in [0, 104, 168] {
                    look(bytes.get(start..).unwrap_or_default());
                }
            });
        }
        for cut in truncations(golden.bytes).step_by(step) {
            look(cut);
            look(cut.get(104..).unwrap_or_default());
        }
    }
}
