//! Measures how fast blocks are decoded, cooked and written, compared with `memcpy` of the same
//! bytes and with an owned tree.
//!
//! `cargo bench -p perfhive-format --bench decode [-- [--quick] [TEXT]]` prints one Markdown table:
//! `memcpy`, and all approaches or those with TEXT in their name. Each round measures every
//! approach once, so that other load on the machine meets all of them. The times are medians over
//! the rounds; the ratios to `memcpy` are medians of the rounds' ratios.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_format::{
    BlockHead, BlockWriter, Clocks, Column, CookOptions, CounterPlan, CounterSpec, CounterType,
    DataBlock, Formula, InstanceHead, NameRef, ObjectSpec, ObjectTemplate, PerfObject, RawSample,
    TitleIndex,
};
use perfhive_testkit::alloc;
use perfhive_testkit::faults::Random;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

const PROCESS: TitleIndex = TitleIndex(230);
/// The number of instances of the large block: with 28 counters each they have 154,728 values.
const INSTANCES: usize = 5526;
/// The number of instances of the small block and of a block that is written.
const PROCESSES: usize = 300;
/// The number of pairs of samples that are cooked.
const COOKED: usize = 1000;

/// The 28 counters of Windows' Process object, with their widths and order.
fn counters() -> Vec<CounterSpec> {
    use CounterType as T;
    let layout = [
        (6, T::PERF_100NSEC_TIMER),
        (142, T::PERF_100NSEC_TIMER),
        (144, T::PERF_100NSEC_TIMER),
        (172, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (174, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (28, T::PERF_COUNTER_COUNTER),
        (178, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (180, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (182, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (184, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (186, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (680, T::PERF_COUNTER_RAWCOUNT),
        (682, T::PERF_COUNTER_RAWCOUNT),
        (684, T::PERF_ELAPSED_TIME),
        (784, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (1410, T::PERF_COUNTER_LARGE_RAWCOUNT),
        (56, T::PERF_COUNTER_RAWCOUNT),
        (58, T::PERF_COUNTER_RAWCOUNT),
        (952, T::PERF_COUNTER_RAWCOUNT),
        (1412, T::PERF_COUNTER_BULK_COUNT),
        (1414, T::PERF_COUNTER_BULK_COUNT),
        (1416, T::PERF_COUNTER_BULK_COUNT),
        (1418, T::PERF_COUNTER_BULK_COUNT),
        (1420, T::PERF_COUNTER_BULK_COUNT),
        (1422, T::PERF_COUNTER_BULK_COUNT),
        (1424, T::PERF_COUNTER_BULK_COUNT),
        (1426, T::PERF_COUNTER_BULK_COUNT),
        (1478, T::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let spec = |(index, kind)| CounterSpec::new(TitleIndex(index), kind);
    layout.map(spec).to_vec()
}

fn template() -> ObjectTemplate {
    ObjectTemplate::new(&ObjectSpec::new(PROCESS).with_instances(), &counters()).unwrap()
}

/// The clocks `moment` seconds after their beginning.
fn clocks(moment: i64) -> Clocks {
    let now = 133_000_000_000_000_000 + moment * 10_000_000;
    Clocks {
        perf_time: moment * 3_579_545,
        perf_freq: 3_579_545,
        time_100ns: now,
        object_time: now,
        object_freq: 10_000_000,
    }
}

/// A block of processes `moment` seconds after the beginning. At later moments, the values are the
/// same or larger.
fn block(instances: usize, moment: u64) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut writer = BlockWriter::new();
    let clocks = clocks(moment as i64);
    writer.start(&BlockHead { system_name: "HOST", clocks, ..BlockHead::default() });
    let template = template();
    let object = writer.object(&template).unwrap();
    let mut object = object.clock(clocks.object_time, clocks.object_freq);
    for place in 0..instances {
        let width = 27 + place % 23;
        let name = format!("a-process-with-some-name-{place:0width$}");
        let mut values = [0; 28];
        for value in &mut values {
            *value = random.below(1 << 31) + moment * random.below(1 << 20);
        }
        object.instance(&InstanceHead::named(&name[..width]), &values).unwrap();
    }
    object.finish().unwrap();
    writer.finish().to_vec()
}

/// The longest time that an approach may take.
#[derive(Clone, Copy)]
enum Goal {
    /// No limit: the approach is there for comparison.
    None,
    /// A multiple of the time of `memcpy`, included.
    Ratio(f64),
    /// Nanoseconds for each value or instance, included.
    PerItem(f64),
}

/// One way to decode, cook or write that is measured.
struct Approach<'a> {
    name: String,
    /// How many values or instances one run handles.
    items: usize,
    goal: Goal,
    /// One run. Its result only keeps the compiler from leaving work out.
    run: Box<dyn FnMut() -> u64 + 'a>,
    /// How many runs in a row one measurement takes the mean of.
    repeat: u32,
    /// The mean duration of a run in nanoseconds, for each round.
    times: Vec<f64>,
    /// How many allocations one run makes.
    allocations: u64,
}

#[derive(Default)]
struct Table<'a> {
    approaches: Vec<Approach<'a>>,
}

impl<'a> Table<'a> {
    fn add(&mut self, name: &str, items: usize, goal: Goal, run: impl FnMut() -> u64 + 'a) {
        self.approaches.push(Approach {
            name: name.to_string(),
            items,
            goal,
            run: Box::new(run),
            repeat: 1,
            times: Vec::new(),
            allocations: 0,
        });
    }

    /// Measures every approach once in each of `rounds` rounds. A measurement repeats the run until
    /// it lasts about as long as `slot`, at most 10,000 times.
    fn measure(&mut self, rounds: usize, slot: Duration) {
        for approach in &mut self.approaches {
            for _ in 0..3 {
                black_box((approach.run)());
            }
            approach.allocations = alloc::count(&mut approach.run).1.count;
            let start = Instant::now();
            black_box((approach.run)());
            let once = start.elapsed().as_nanos().max(100);
            approach.repeat = (slot.as_nanos() / once).clamp(1, 10_000) as u32;
        }
        for _ in 0..rounds {
            for approach in &mut self.approaches {
                let start = Instant::now();
                for _ in 0..approach.repeat {
                    black_box((approach.run)());
                }
                let nanos = start.elapsed().as_nanos() as f64;
                approach.times.push(nanos / f64::from(approach.repeat));
            }
        }
    }

    /// Prints the table. The ratios are those to the time of the first approach, for approaches
    /// with as many items.
    fn print(&self) {
        println!("| what | x memcpy | ns each | allocations | goal |");
        println!("|---|---:|---:|---:|---|");
        let reference = &self.approaches[0].times;
        for approach in &self.approaches {
            let ratios = approach.times.iter().zip(reference).map(|(a, b)| a / b);
            let ratio = median(ratios.collect());
            let each = median(approach.times.clone()) / approach.items as f64;
            let verdict = |met| if met { "met" } else { "MISSED" };
            let goal = match approach.goal {
                Goal::None => String::new(),
                Goal::Ratio(most) => format!("<= {most:.2} x: {}", verdict(ratio <= most)),
                Goal::PerItem(most) => format!("<= {most} ns: {}", verdict(each <= most)),
            };
            // Of another number of things, the ratio says nothing.
            let ratio = if approach.items == self.approaches[0].items {
                format!("{ratio:.2}")
            } else {
                String::new()
            };
            println!(
                "| {} | {ratio} | {each:.2} | {} | {goal} |",
                approach.name, approach.allocations
            );
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The formulas that have a row each in the table.
const FORMULAS: &[(&str, CounterType)] = &[
    ("Rate", CounterType::PERF_COUNTER_COUNTER),
    ("Timer", CounterType::PERF_100NSEC_TIMER),
    ("TimerInverse", CounterType::PERF_100NSEC_TIMER_INV),
    ("QueueLength", CounterType::PERF_COUNTER_100NS_QUEUELEN_TYPE),
    ("PrecisionTimer", CounterType::PERF_PRECISION_100NS_TIMER),
    ("AverageTimer", CounterType::PERF_AVERAGE_TIMER),
    ("AverageBulk", CounterType::PERF_AVERAGE_BULK),
    ("RawFraction", CounterType::PERF_RAW_FRACTION),
    ("Elapsed", CounterType::PERF_ELAPSED_TIME),
    ("Raw", CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
];

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, slot) = if quick { (15, 1) } else { (101, 2) };

    let (older, newer, small) = (block(INSTANCES, 1), block(INSTANCES, 2), block(PROCESSES, 1));
    let (before, after, few) = (object(&older), object(&newer), object(&small));
    let plans = CounterPlan::all(after);
    let columns: Vec<Column> = plans.iter().filter_map(|plan| plan.value).collect();
    assert_eq!(columns.len(), plans.len());
    let values = columns.len() * INSTANCES;

    let samples = samples(COOKED);
    let template = template();
    let sum = by_definitions(after);
    assert_eq!(walk(after, &columns), sum);
    assert_eq!(Tree::decode(&newer).sum(), sum);

    let mut table = Table::default();
    let (bytes, columns) = (newer.as_slice(), columns.as_slice());
    let mut copy = vec![0; bytes.len()];
    table.add("`memcpy` of the block", values, Goal::None, move || {
        copy.copy_from_slice(black_box(bytes));
        u64::from(copy[0])
    });
    table.add("validate (`DataBlock::parse`)", values, Goal::None, || {
        let block = DataBlock::parse(black_box(bytes)).unwrap();
        u64::from(block.object_count())
    });
    let name = "walk: every value through prepared columns";
    table.add(name, values, Goal::Ratio(1.05), || walk(black_box(after), columns));
    table.add("validate and walk", values, Goal::None, || walk(object(black_box(bytes)), columns));
    let mut out = vec![0; values];
    let name = "extract everything into `u64[]`, by instance";
    table.add(name, values, Goal::Ratio(1.0 / 0.9), move || {
        extract_rows(black_box(after), columns, &mut out);
        out[0]
    });
    let mut out = vec![0; values];
    let name = "extract everything into `u64[]`, by counter";
    table.add(name, values, Goal::None, move || {
        extract_columns(black_box(after), columns, &mut out);
        out[0]
    });
    let name = "walk by definitions, nothing prepared";
    table.add(name, values, Goal::None, || by_definitions(black_box(after)));
    let name = "naive peer: an owned tree of `String` and `Vec`";
    table.add(name, values, Goal::None, || Tree::decode(black_box(bytes)).objects.len() as u64);
    let mut text = String::with_capacity(100);
    table.add("names as UTF-8, a name", INSTANCES, Goal::None, move || {
        let mut length = 0;
        for instance in black_box(after).instances() {
            text.clear();
            instance.name().push_to(&mut text);
            length += text.len();
        }
        length as u64
    });

    let one = columns[0];
    let mut out = [0; PROCESSES];
    let name = "one counter of 300 processes, an instance";
    table.add(name, PROCESSES, Goal::PerItem(6.0), move || {
        for (slot, instance) in out.iter_mut().zip(black_box(few).instances()) {
            *slot = one.read(instance.counter_block()).unwrap_or(0);
        }
        out[0]
    });

    for (name, kind) in FORMULAS {
        let formula = Formula::of(*kind).unwrap();
        let name = format!("cook a sample with one before, `{name}`, a value");
        let samples = &samples;
        table.add(&name, COOKED, Goal::None, move || {
            let cook = |pair: &[RawSample; 2]| {
                let cooked = formula.apply(CookOptions::default(), Some(&pair[0]), &pair[1]);
                cooked.map_or(0, |value| value.as_f64().to_bits())
            };
            black_box(samples).iter().map(cook).fold(0, |check, bits| check ^ bits)
        });
    }
    let name = "read two blocks and cook every value";
    let plans = plans.as_slice();
    table.add(name, values, Goal::None, move || {
        cook_all(plans, [black_box(before), black_box(after)])
    });

    let name: Vec<u16> = "a-process-with-some-name".encode_utf16().collect();
    let numbers: [u64; 28] = std::array::from_fn(|place| place as u64 * 1_000_003);
    let mut writer = BlockWriter::new();
    let what = "write an instance of 28 counters with its UTF-16 name";
    let template = &template;
    table.add(what, PROCESSES, Goal::None, move || {
        writer.start(&BlockHead::default());
        let mut writing = writer.object(template).unwrap();
        let head = InstanceHead { name: NameRef::Utf16(&name), ..InstanceHead::named("") };
        for _ in 0..PROCESSES {
            writing.instance(black_box(&head), black_box(&numbers)).unwrap();
        }
        writing.finish().unwrap();
        writer.finish().len() as u64
    });

    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if let Some(wanted) = wanted {
        // The first is what the others are compared to.
        let mut first = true;
        table
            .approaches
            .retain(|approach| std::mem::take(&mut first) || approach.name.contains(&wanted));
    }
    table.measure(rounds, Duration::from_millis(slot));
    println!(
        "A block of {:.2} MB, {values} values ({INSTANCES} instances of {} counters); medians of \
         {rounds} interleaved rounds.\n",
        newer.len() as f64 / 1e6,
        columns.len(),
    );
    table.print();
}

fn object(bytes: &[u8]) -> PerfObject<'_> {
    DataBlock::parse(bytes).unwrap().object(PROCESS).unwrap()
}

/// The sum of all values, read through prepared columns.
fn walk(object: PerfObject<'_>, columns: &[Column]) -> u64 {
    let mut sum = 0u64;
    for instance in object.instances() {
        let block = instance.counter_block();
        for column in columns {
            sum = sum.wrapping_add(column.read(block).unwrap_or(0));
        }
    }
    sum
}

/// The sum of all values, each found by its counter's definition.
fn by_definitions(object: PerfObject<'_>) -> u64 {
    let mut sum = 0u64;
    for instance in object.instances() {
        for counter in object.counters() {
            let value = instance.counter_block().value(&counter);
            sum = sum.wrapping_add(value.unwrap_or(0));
        }
    }
    sum
}

/// Copies all values to `out`, instance by instance.
fn extract_rows(object: PerfObject<'_>, columns: &[Column], out: &mut [u64]) {
    for (row, instance) in out.chunks_exact_mut(columns.len()).zip(object.instances()) {
        let block = instance.counter_block();
        for (slot, column) in row.iter_mut().zip(columns) {
            *slot = column.read(block).unwrap_or(0);
        }
    }
}

/// Copies all values to `out`, counter by counter.
fn extract_columns(object: PerfObject<'_>, columns: &[Column], out: &mut [u64]) {
    let instances = out.len() / columns.len();
    for (place, instance) in object.instances().enumerate() {
        let block = instance.counter_block();
        for (column, values) in columns.iter().zip(out.chunks_exact_mut(instances)) {
            values[place] = column.read(block).unwrap_or(0);
        }
    }
}

/// Cooks every value of two samples of one object, instances paired by their place. Returns a
/// checksum of the results.
fn cook_all(plans: &[CounterPlan], [before, after]: [PerfObject<'_>; 2]) -> u64 {
    let mut check = 0;
    for (old, new) in before.instances().zip(after.instances()) {
        let (old, new) = (old.counter_block(), new.counter_block());
        for plan in plans {
            let Ok(formula) = plan.formula else { continue };
            let (older, newer) = (plan.sample(before, old), plan.sample(after, new));
            let Ok(newer) = newer else { continue };
            let cooked = formula.apply(CookOptions::default(), older.ok().as_ref(), &newer);
            check ^= cooked.map_or(0, |value| value.as_f64().to_bits());
        }
    }
    check
}

/// `length` pairs of samples, one second apart, with values and bases that grow.
fn samples(length: usize) -> Vec<[RawSample; 2]> {
    let mut random = Random::new(2);
    let mut number = |from: u64| from + random.below(1 << 24);
    let mut sample = |moment: i64| RawSample {
        base: Some(number((1 << 34) * (moment as u64 + 1))),
        ..RawSample::new(number((1 << 32) * (moment as u64 + 1)), clocks(moment))
    };
    (0..length).map(|_| [sample(0), sample(1)]).collect()
}

/// A decoded block that owns its names and values.
struct Tree {
    objects: Vec<TreeObject>,
}

struct TreeObject {
    instances: Vec<TreeInstance>,
}

struct TreeCounter {
    offset: usize,
    size: usize,
}

struct TreeInstance {
    name: String,
    values: Vec<u64>,
}

impl Tree {
    fn decode(bytes: &[u8]) -> Self {
        let block = DataBlock::parse(bytes).unwrap();
        let objects = block.objects().map(|object| {
            let counter = |counter: perfhive_format::CounterDefinition<'_>| TreeCounter {
                offset: counter.offset() as usize,
                size: counter.size() as usize,
            };
            let counters: Vec<TreeCounter> = object.counters().map(counter).collect();
            let instance = |instance: perfhive_format::Instance<'_>| {
                let block = instance.counter_block().as_bytes();
                let value = |counter: &TreeCounter| {
                    let digits = block[counter.offset..][..counter.size].iter().rev();
                    digits.fold(0, |value, digit| value << 8 | u64::from(*digit))
                };
                TreeInstance {
                    name: instance.name().to_text(),
                    values: counters.iter().map(value).collect(),
                }
            };
            let instances = object.instances().map(instance).collect();
            TreeObject { instances }
        });
        Self { objects: objects.collect() }
    }

    fn sum(&self) -> u64 {
        let instances = self.objects.iter().flat_map(|object| &object.instances);
        let values = instances.filter(|instance| !instance.name.is_empty());
        values.flat_map(|instance| &instance.values).fold(0, |sum, value| sum.wrapping_add(*value))
    }
}
