//! Real blocks: Windows Vista's, Samba's, and the numbers that two monitoring
//! agents saw. Each must be read, agree with itself, and survive being damaged.
//! Where the real data is absent the tests say so and pass.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(not(miri))]

use perfhive_format::titles::{TitleFaultKind, TitleList};
use perfhive_format::{
    Clocks, CookError, CookOptions, CookedValue, CounterPlan, CounterType, DataBlock, FileTime,
    Instance, ObjectLayout, ParseErrorKind, PerfObject, RawSample, TitleIndex, cook, cook_with,
};
use perfhive_testkit::faults::{all_changes, some_changes, truncations};
use perfhive_testkit::model::BlockModel;
use perfhive_testkit::walk::walk;
use perfhive_testkit::{alloc, is_slow, real};
use serde_json::Value;
use std::collections::BTreeSet;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

fn vista(sample: usize) -> Option<Vec<u8>> {
    real::file(&format!("windows-vista/s{sample:02}_global.bin"))
}

fn object(bytes: &[u8], index: u32) -> PerfObject<'_> {
    DataBlock::parse(bytes).unwrap().object(TitleIndex(index)).unwrap()
}

/// Every block of the real data, without the title lists beside them.
fn blocks() -> Vec<(String, Vec<u8>)> {
    let mut files = real::files("windows-vista", ".bin");
    files.extend(real::files("samba", ".bin"));
    files.retain(|(name, _)| !name.contains("_009"));
    files
}

#[test]
fn every_real_block_is_read_and_written_again() {
    let blocks = blocks();
    if blocks.is_empty() {
        return;
    }
    let vista = blocks.iter().filter(|(name, _)| name.starts_with("windows-vista")).count();
    assert_eq!((vista, blocks.len() - vista), (27, 7));
    for (name, bytes) in &blocks {
        let block = DataBlock::parse(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let model = BlockModel::read(block);
        let written = model.to_bytes().unwrap();
        let again = DataBlock::parse(&written).unwrap();
        assert_eq!(BlockModel::read(again), model, "{name}");
        // No value is outside its block, no name outside its instance, and
        // what was written has the same of everything.
        let seen = walk(block);
        assert_eq!(seen.faults, 0, "{name}");
        assert_eq!(walk(again), seen, "{name}");
        // Every type has a name.
        for counter in block.objects().flat_map(PerfObject::counters) {
            assert!(counter.counter_type().info().is_some(), "{name}");
        }
        let (_, objects) = DataBlock::scan(bytes).unwrap();
        assert_eq!(objects.filter(Result::is_ok).count() as u32, block.object_count());
    }
}

#[test]
fn vista_blocks_say_what_they_are() {
    let Some(bytes) = vista(0) else { return };
    let block = DataBlock::parse(&bytes).unwrap();
    assert_eq!(block.default_object(), Some(TitleIndex(238)));
    assert_eq!(block.clocks().perf_freq, 3_579_545);
    // Both forms of the time are of one moment.
    assert_eq!(block.time_100ns().to_system_time().to_string(), "2007-08-14T19:40:38.659Z");
    let objects: Vec<u32> = block.objects().map(|object| object.name_index().0).collect();
    assert_eq!(objects, [236, 638, 4, 510, 234, 230, 238, 2]);
    let processes = object(&bytes, 230);
    assert_eq!(processes.layout(), ObjectLayout::Instances(51));
    let names: Vec<String> = processes.instances().map(|i| i.name().to_text()).collect();
    assert_eq!((names[0].as_str(), names[50].as_str()), ("Idle", "_Total"));
    assert_eq!(names.iter().filter(|name| *name == "svchost").count(), 13);
    // The single objects are those of the whole block, byte for byte but for
    // the padding behind them.
    for (name, alone) in real::files("windows-vista", ".bin") {
        if name.contains("s00_o") {
            let alone = DataBlock::parse(&alone).unwrap().objects().next().unwrap();
            let whole = object(&bytes, alone.name_index().0);
            assert_eq!(alone.as_bytes(), whole.as_bytes(), "{name}");
        }
    }
}

/// The value of a counter of an instance, between two samples of Vista.
fn cooked(
    [older, newer]: [PerfObject<'_>; 2],
    [before, after]: [Instance<'_>; 2],
    counter: u32,
) -> Result<f64, CookError> {
    let plans = CounterPlan::all(newer);
    let plan = plans.iter().find(|plan| plan.name == TitleIndex(counter)).unwrap();
    let older = plan.sample(older, before.counter_block()).unwrap();
    let newer = plan.sample(newer, after.counter_block()).unwrap();
    cook(plan.counter_type, Some(&older), &newer).map(CookedValue::as_f64)
}

/// The raw number of a counter.
fn raw(object: PerfObject<'_>, instance: Instance<'_>, counter: u32) -> u64 {
    let counter = object.counters().find(|c| c.name_index() == TitleIndex(counter)).unwrap();
    instance.counter_block().value(&counter).unwrap()
}

/// The base of a counter.
fn raw_base(object: PerfObject<'_>, instance: Instance<'_>, counter: u32) -> u64 {
    let plans = CounterPlan::all(object);
    let plan = plans.iter().find(|plan| plan.name == TitleIndex(counter)).unwrap();
    plan.sample(object, instance.counter_block()).unwrap().base.unwrap()
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// The pairs of samples that follow each other.
fn vista_pairs() -> Vec<[Vec<u8>; 2]> {
    let samples: Option<Vec<Vec<u8>>> = (0..3).map(vista).collect();
    let samples = samples.unwrap_or_default();
    samples.windows(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect()
}

/// % Processor Time, % User Time and % Privileged Time of Processor and of
/// Process have the same indexes.
const PROCESSOR_TIME: u32 = 6;
const USER_TIME: u32 = 142;
const PRIVILEGED_TIME: u32 = 144;

#[test]
fn processor_time_is_what_is_not_idle() {
    for [older, newer] in &vista_pairs() {
        let objects = [object(older, 238), object(newer, 238)];
        let elapsed = objects[1].clocks().time_100ns - objects[0].clocks().time_100ns;
        for (before, after) in objects[0].instances().zip(objects[1].instances()) {
            let value = |counter| cooked(objects, [before, after], counter).unwrap();
            let busy = value(PROCESSOR_TIME);
            // 1746 is % Idle Time, the same raw number not inverted.
            assert!(same(busy, 100.0 - value(1746)), "{busy}");
            // User and privileged time are counted in ticks of the system's
            // clock, 15.625 ms, and so is idle time: they miss each other by
            // one tick at most (measured: 0.13 and 0.93 of one).
            let tick = 100.0 * 156_250.0 / elapsed as f64;
            let parts = value(USER_TIME) + value(PRIVILEGED_TIME);
            assert!((busy - parts).abs() <= tick, "{busy} {parts} {tick}");
            // Interrupts and deferred calls are part of the privileged time.
            assert!(value(696) + value(698) <= value(PRIVILEGED_TIME));
        }
    }
}

#[test]
fn a_process_is_in_user_or_privileged_mode() {
    let mut busy = 0;
    for [older, newer] in &vista_pairs() {
        let objects = [object(older, 230), object(newer, 230)];
        // Two samples are of one process if PID and start are the same.
        let identity = |place: usize, instance: Instance<'_>| {
            (raw(objects[place], instance, 784), raw(objects[place], instance, 684))
        };
        for after in objects[1].instances() {
            let parts = raw(objects[1], after, USER_TIME) + raw(objects[1], after, PRIVILEGED_TIME);
            assert_eq!(raw(objects[1], after, PROCESSOR_TIME), parts, "{:?}", after.name());
            let name = after.name().to_text();
            if name == "_Total" {
                continue;
            }
            let before = objects[0].instances().find(|before| {
                identity(0, *before) == identity(1, after) && before.name() == after.name()
            });
            let Some(before) = before else { continue };
            let value = |counter| cooked(objects, [before, after], counter).unwrap();
            let sum = value(USER_TIME) + value(PRIVILEGED_TIME);
            assert!(same(value(PROCESSOR_TIME), sum), "{name}");
            busy += u32::from(sum > 0.0);
            if name == "Idle" {
                // One processor: its idle time is the Idle process's.
                let processors = [object(older, 238), object(newer, 238)];
                let pair = processors.map(|object| object.instances().next().unwrap());
                let idle = cooked(processors, pair, 1746).unwrap();
                assert!(same(value(PROCESSOR_TIME), idle), "{idle}");
            }
        }
    }
    assert!(busy == 35 || vista(0).is_none(), "{busy}");
}

/// Between samples 1 and 2 a process ended: `_Total` went backwards, and so did the
/// instances that took the places behind the process. None of them has a value.
#[test]
fn counter_that_went_backwards_has_no_value() {
    let (Some(older), Some(newer)) = (vista(1), vista(2)) else { return };
    let objects = [object(&older, 230), object(&newer, 230)];
    let total =
        objects.map(|object| object.instances().find(|i| i.name().to_text() == "_Total").unwrap());
    for counter in [PROCESSOR_TIME, USER_TIME, 28, 1412] {
        assert_eq!(cooked(objects, total, counter), Err(CookError::WentBackwards), "{counter}");
    }
}

#[test]
fn disks_agree_with_their_queues() {
    for [older, newer] in &vista_pairs() {
        for index in [234, 236] {
            let objects = [object(older, index), object(newer, index)];
            let elapsed = objects[1].clocks().time_100ns - objects[0].clocks().time_100ns;
            for (before, after) in objects[0].instances().zip(objects[1].instances()) {
                let name = after.name().to_text();
                let value = |counter| cooked(objects, [before, after], counter).unwrap();
                // % Disk (Read, Write) Time is 100 times the Avg. Disk (Read,
                // Write) Queue Length, but each has a clock of its own: the
                // disk's private one may be up to a millisecond behind the
                // system's. Corrected for that, they are the same.
                let own = raw_base(objects[1], after, 200) - raw_base(objects[0], before, 200);
                let drift = own as f64 / elapsed as f64;
                assert!((drift - 1.0).abs() <= 1.63e-5, "{drift}");
                // _Total of the logical disks is an average of the times and
                // a sum of the queues: the provider's business.
                let disks = match (index, name.as_str()) {
                    (236, "_Total") => 2.0,
                    _ => 1.0,
                };
                for (time, queue) in [(200, 1400), (202, 1402), (204, 1404)] {
                    let (time, queue) = (value(time), value(queue));
                    assert!(same(time * drift * disks, 100.0 * queue), "{name} {time} {queue}");
                }
                assert!(same(value(200), value(202) + value(204)), "{name}");
                assert!(same(value(1400), value(1402) + value(1404)), "{name}");
                // Operations and bytes.
                assert!(same(value(212), value(214) + value(216)), "{name}");
                assert!(same(value(218), value(220) + value(222)), "{name}");
                // % Idle Time of a disk without work is more than 100: nothing
                // is capped unless asked for.
                if name == "HarddiskVolume1" {
                    assert!((100.2..100.3).contains(&value(1482)));
                    let capped = capped_idle(objects, [before, after]);
                    assert_eq!(capped, Ok(CookedValue::Float(100.0)));
                }
            }
        }
    }
}

fn capped_idle(
    [older, newer]: [PerfObject<'_>; 2],
    [before, after]: [Instance<'_>; 2],
) -> Result<CookedValue, CookError> {
    let plans = CounterPlan::all(newer);
    let plan = plans.iter().find(|plan| plan.name == TitleIndex(1482)).unwrap();
    let older = plan.sample(older, before.counter_block()).unwrap();
    let newer = plan.sample(newer, after.counter_block()).unwrap();
    let options = CookOptions::default().with_cap_percent(true);
    cook_with(plan.counter_type, options, Some(&older), &newer)
}

#[test]
fn samba_blocks_say_what_they_are() {
    let Some(bytes) = real::file("samba/Global.bin") else { return };
    let block = DataBlock::parse(&bytes).unwrap();
    assert_eq!(block.system_name().to_text(), "PERFBOX");
    assert_eq!(block.default_object(), None);
    // Samba's length leaves the header out; the objects say where they end.
    assert_eq!(block.header().TotalByteLength as usize + 112, bytes.len());
    let names: Vec<String> = object(&bytes, 8).instances().map(|i| i.name().to_text()).collect();
    assert_eq!(names, ["init", "smbd", "héllo 日本", "_Total"]);
    // Numbers that a double cannot hold stay whole; 32-bit types have 64 bits.
    let memory = object(&bytes, 4);
    let values = memory.counter_block().unwrap();
    let numbers: Vec<u64> = memory.counters().map(|c| values.value(&c).unwrap()).collect();
    assert_eq!(numbers[..3], [(1 << 33) + 1, 1 << 53, 1 << 63]);
    assert_eq!(object(&bytes, 10).counters().count(), 0);

    let none = real::file("samba/edge_inst0.bin").unwrap();
    assert_eq!(object(&none, 6).layout(), ObjectLayout::Instances(0));
    assert_eq!(object(&none, 8).instances().count(), 4);
}

#[test]
fn samba_samples_cook() {
    let files = ["samba/sample_t0.bin", "samba/sample_t1.bin"].map(real::file);
    let [Some(older), Some(newer)] = &files else { return };
    let sample = |bytes: &[u8], place: u32| {
        let object = object(bytes, 2);
        let plan = CounterPlan::new(object, place).unwrap();
        (plan.counter_type, plan.sample(object, object.counter_block().unwrap()).unwrap())
    };
    let both = |place| {
        let ((kind, old), (_, new)) = (sample(older, place), sample(newer, place));
        cook(kind, Some(&old), &new)
    };
    assert_eq!(both(0), Ok(CookedValue::Integer(123)));
    // 1000 in the second between the samples.
    assert_eq!(both(1), Ok(CookedValue::Float(1000.0)));
    // An elapsed time is measured by the object's clock, and Samba gives none.
    assert_eq!(both(2), Err(CookError::NoFrequency));
    let processors = [object(older, 6), object(newer, 6)];
    for (before, after) in processors[0].instances().zip(processors[1].instances()) {
        let value = |counter| cooked(processors, [before, after], counter).unwrap();
        // Half of the second was idle, half in user mode; 5,000,000 interrupts.
        assert_eq!((value(28), value(30), value(32)), (50.0, 50.0, 5_000_000.0));
    }
}

#[test]
fn real_title_lists_are_read() {
    let Some(counter) = real::file("samba/Counter_009.bin") else { return };
    let list = TitleList::from_multi_sz(&counter);
    assert_eq!((list.titles.len(), list.faults.len()), (19, 0));
    assert_eq!(list.titles[1].text, "System");
    assert_eq!(TitleList::from_multi_sz(&list.to_multi_sz()), list);
    let explain = TitleList::from_multi_sz(&real::file("samba/Explain_009.bin").unwrap());
    assert_eq!((explain.titles.len(), explain.faults.len()), (18, 0));
    assert!(explain.titles.iter().all(|title| title.index.0 % 2 == 1));

    // A name with stale characters behind it: two strays are skipped, named,
    // and cost no pair.
    let stale = TitleList::from_multi_sz(&real::file("samba/edge_utf8_Counter_009.bin").unwrap());
    assert_eq!(stale.titles.len(), 19);
    assert_eq!(stale.titles[2].text, "Mémoire 日本");
    assert_eq!(stale.titles[3..], list.titles[3..]);
    assert_eq!(stale.faults.len(), 2);
    let strays = stale.faults.iter().map(|fault| &fault.kind);
    assert!(strays.into_iter().all(|kind| matches!(kind, TitleFaultKind::NotAnIndex(_))));

    let text = real::text("titles/vista_009_from_pal_SampleLog.txt").unwrap();
    let vista = TitleList::from_text(&text);
    assert_eq!((vista.titles.len(), vista.faults.len()), (1839, 0));
    assert_eq!(TitleList::from_multi_sz(&vista.to_multi_sz()), vista);
    assert_eq!(TitleList::from_text(&vista.to_text()), vista);
    // One name with several indexes, 375 times over; no index twice.
    let names: BTreeSet<&str> = vista.titles.iter().map(|title| title.text.as_str()).collect();
    let indexes: BTreeSet<TitleIndex> = vista.titles.iter().map(|title| title.index).collect();
    assert_eq!((1839 - names.len(), indexes.len()), (375, 1839));
    // Every name in Vista's blocks is in its list; half of its help texts are
    // not at the index behind the name.
    let bytes = crate::vista(0).unwrap();
    for object in DataBlock::parse(&bytes).unwrap().objects() {
        assert!(indexes.contains(&object.name_index()));
        assert!(object.counters().all(|counter| indexes.contains(&counter.name_index())));
    }
}

// ---- what agents saw ----

fn json(name: &str) -> Option<Value> {
    Some(serde_json::from_str(&real::text(name)?).unwrap())
}

#[test]
fn netdata_idle_process() {
    let Some(seen) = json("agents/netdata_win11_process_idle.json") else { return };
    let clocks = Clocks {
        perf_time: seen["PerfTime"].as_i64().unwrap(),
        perf_freq: seen["PerfFreq"].as_i64().unwrap(),
        time_100ns: seen["PerfTime100nSec"].as_i64().unwrap(),
        object_time: seen["object_perf_time"].as_i64().unwrap(),
        object_freq: seen["object_perf_freq"].as_i64().unwrap(),
    };
    // The day is right; netdata's note has a moment of its own.
    let day = FileTime(clocks.time_100ns).to_system_time();
    assert_eq!(day.to_string(), "2024-09-24T14:21:20.021Z");
    assert_eq!(day.to_string().replace(['T', 'Z'], " ").trim(), seen["systemtime"]);
    let counters = seen["counters"].as_array().unwrap();
    assert_eq!(counters.len(), 28);
    let sample = |name: &str| {
        let row = counters.iter().find(|row| row["counter"] == name).unwrap();
        let kind: CounterType = row["hex"].as_str().unwrap().parse().unwrap();
        assert_eq!(u64::from(kind.0), row["type"].as_u64().unwrap());
        (kind, RawSample::new(row["data"].as_u64().unwrap(), clocks))
    };
    let now = |name: &str| {
        let (kind, sample) = sample(name);
        cook(kind, None, &sample)
    };
    assert_eq!(now("Elapsed Time"), Ok(CookedValue::Float(924_313.372_829_4)));
    assert_eq!(now("Thread Count"), Ok(CookedValue::Integer(24)));
    assert_eq!(now("ID Process"), Ok(CookedValue::Integer(0)));
    let (processor, privileged) = (sample("% Processor Time").1, sample("% Privileged Time").1);
    assert_eq!(processor.value, privileged.value + sample("% User Time").1.value);
    // What the agent knows of clocks is what the formula asks for.
    for row in counters {
        let kind: CounterType = row["hex"].as_str().unwrap().parse().unwrap();
        let formula = perfhive_format::Formula::of(kind).unwrap();
        let time = formula.clock().map_or(0, |clock| clock.time(&clocks));
        assert_eq!(row["time"].as_i64(), Some(time), "{row}");
        let expected = if kind.samples() == 2 {
            Err(CookError::NeedsTwoSamples)
        } else {
            now(row["counter"].as_str().unwrap())
        };
        assert_eq!(now(row["counter"].as_str().unwrap()), expected);
    }
    // Since the system started, all 24 processors were idle for most of it.
    let start = sample("Elapsed Time").1.value as i64;
    let booted = RawSample::new(0, Clocks { time_100ns: start, ..clocks });
    let kind = sample("% Processor Time").0;
    let share = cook(kind, Some(&booted), &processor).unwrap().as_f64();
    assert!((1100.0..2400.0).contains(&share), "{share}");
}

/// A type as Checkmk's agent prints it: a word of its own, or the number,
/// decimal or hexadecimal.
fn checkmk_type(text: &str) -> CounterType {
    match text {
        "rawcount" => CounterType::PERF_COUNTER_RAWCOUNT,
        "large_rawcount" => CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        "counter" => CounterType::PERF_COUNTER_COUNTER,
        "bulk_count" => CounterType::PERF_COUNTER_BULK_COUNT,
        "100nsec_timer" => CounterType::PERF_100NSEC_TIMER,
        "100nsec_timer_inv" => CounterType::PERF_100NSEC_TIMER_INV,
        "average_timer" => CounterType::PERF_AVERAGE_TIMER,
        "average_bulk" => CounterType::PERF_AVERAGE_BULK,
        "average_base" => CounterType::PERF_AVERAGE_BASE,
        "text" => CounterType::PERF_COUNTER_TEXT,
        other => {
            let number = other.strip_prefix("type(").unwrap().strip_suffix(')').unwrap();
            let decimal: CounterType = number.parse().unwrap();
            match decimal.info() {
                Some(_) => decimal,
                None => format!("0x{number}").parse().unwrap(),
            }
        }
    }
}

#[test]
fn checkmk_rows_make_sense() {
    let Some(seen) = json("agents/checkmk_raw.json") else { return };
    let sections = seen["winperf"].as_array().unwrap();
    assert_eq!(sections.len(), 6);
    let mut rows = 0;
    for section in sections {
        let source = &section["source"];
        for row in section["rows"].as_array().unwrap() {
            rows += 1;
            let kind = checkmk_type(row["type"].as_str().unwrap());
            assert!(kind.info().is_some(), "{source} {row}");
            for value in row["values"].as_array().unwrap() {
                let sample = RawSample::new(value.as_u64().unwrap(), Clocks::default());
                let expected = match kind.samples() {
                    2 => Err(CookError::NeedsTwoSamples),
                    1 => Ok(CookedValue::Integer(sample.value)),
                    _ if kind.is_base() => Err(CookError::IsBase),
                    _ => Err(CookError::IsText),
                };
                assert_eq!(cook(kind, None, &sample), expected, "{source} {row}");
            }
        }
    }
    assert_eq!(rows, 31 + 23 + 15 + 9 + 12 + 8);

    // One row's values, by the index that the agent counts from the object's.
    let values = |section: usize, offset: i64, base: bool| -> Vec<u64> {
        let rows = sections[section]["rows"].as_array().unwrap().iter();
        let row = rows
            .filter(|row| row["offset"] == offset)
            .find(|row| checkmk_type(row["type"].as_str().unwrap()).is_base() == base)
            .unwrap();
        row["values"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
    };
    // The disk: time is reading and writing; the agent cuts average timers to
    // 32 bits, as their type says and Windows does not.
    for disk in 0..2 {
        let of = |offset| values(0, offset, false)[disk];
        assert_eq!(of(-34), of(-32) + of(-30));
        assert_eq!(of(-28), of(-34) & 0xffff_ffff);
        assert_eq!(of(-22), of(-20) + of(-18));
        // The private clock is the time of the agent's run.
        let unix = sections[0]["time"].as_f64().unwrap();
        let stamp = FileTime(values(0, -34, true)[disk] as i64).to_unix_nanos() as f64 / 1e9;
        assert!((stamp - unix).abs() < 1.0, "{stamp} {unix}");
        // From nothing to now: bytes and time of an operation.
        let none = RawSample::new(0, Clocks::default()).with_base(0);
        let clocks = Clocks { perf_freq: 10_000_000, ..Clocks::default() };
        let base = values(0, -28, true)[disk];
        let bytes = RawSample::new(of(-16), clocks).with_base(base);
        let kind = CounterType::PERF_AVERAGE_BULK;
        let average = cook(kind, Some(&none), &bytes).unwrap().as_f64();
        assert!((4096.0..1e6).contains(&average), "{average}");
        let time = RawSample::new(of(-34), clocks).with_base(base);
        let kind = CounterType::PERF_AVERAGE_TIMER;
        let seconds = cook(kind, Some(&none), &time).unwrap().as_f64();
        assert!((0.01..1.0).contains(&seconds), "{seconds}");
    }
    // The processors: _Total is an average of times and a sum of counts, and
    // all of them were up for the same time.
    let average = |row: &[u64]| row[..2].iter().sum::<u64>() / 2;
    for offset in [-232, -96, -94, 458, 460, 1508] {
        let row = values(2, offset, false);
        assert!(row[2].abs_diff(average(&row)) <= 1, "{offset}");
    }
    for offset in [-90, 1096, 1516] {
        let row = values(2, offset, false);
        assert_eq!(row[2], row[0] + row[1], "{offset}");
    }
    let up: Vec<u64> = (0..2)
        .map(|cpu| [-232, -96, -94].iter().map(|o| values(2, *o, false)[cpu]).sum())
        .collect();
    assert!(up[0].abs_diff(up[1]) < 10_000_000, "{up:?}");
    let at = |time_100ns| Clocks { time_100ns, ..Clocks::default() };
    let booted = RawSample::new(0, at(0));
    let cook_row = |offset, kind| {
        let sample = RawSample::new(values(2, offset, false)[0], at(up[0] as i64));
        cook(kind, Some(&booted), &sample).unwrap().as_f64()
    };
    let busy = cook_row(-232, CounterType::PERF_100NSEC_TIMER_INV);
    let parts = [-96, -94].map(|offset| cook_row(offset, CounterType::PERF_100NSEC_TIMER));
    assert!((busy - parts[0] - parts[1]).abs() < 1e-10, "{busy} {parts:?}");
}

#[test]
fn checkmk_systems_make_sense() {
    let Some(seen) = json("agents/checkmk_raw.json") else { return };
    let machines = seen["wmi"].as_array().unwrap();
    assert_eq!(machines.len(), 3);
    let mut quotas = Vec::new();
    for machine in machines {
        let number = |field: &str| machine[field].as_i64().unwrap();
        let clocks = Clocks {
            perf_time: number("Timestamp_PerfTime"),
            perf_freq: number("Frequency_PerfTime"),
            time_100ns: number("Timestamp_Sys100NS"),
            object_time: number("Timestamp_Object"),
            object_freq: 10_000_000,
        };
        let up = RawSample::new(number("SystemUpTime") as u64, clocks);
        let up = cook(CounterType::PERF_ELAPSED_TIME, None, &up).unwrap().as_f64();
        // The performance counter began when the system did. (The system's own
        // time is local time here, hours off: the object's clock is the one.)
        let ticks = clocks.perf_time as f64 / clocks.perf_freq as f64;
        assert!((up / ticks - 1.0).abs() < 3e-4, "{up} {ticks}");
        // A base of -1 reads as 2^32 - 1 in 32 bits.
        let part = number("PercentRegistryQuotaInUse") as u32;
        let base = number("PercentRegistryQuotaInUse_Base") as u32;
        let quota = RawSample::new(part.into(), clocks).with_base(base.into());
        let quota = cook(CounterType::PERF_RAW_FRACTION, None, &quota).unwrap().as_f64();
        quotas.push((quota * 100.0).round() / 100.0);
    }
    assert_eq!(quotas, [3.32, 7.08, 5.84]);
    // Counters printed as negative are large, and rates of them positive.
    let negative = machines[1]["ContextSwitchesPersec"].as_i64().unwrap();
    let at = |perf_time| Clocks { perf_time, perf_freq: 2_734_511, ..Clocks::default() };
    let narrow =
        |value: i64, time| RawSample::new(u64::from(value as u32), at(time)).with_sizes(4, 4);
    let (old, new) = (narrow(negative, 0), narrow(negative + 1000, 2_734_511));
    let rate = cook(CounterType::PERF_COUNTER_COUNTER, Some(&old), &new);
    assert_eq!(rate, Ok(CookedValue::Float(1000.0)));
}

// ---- damage ----

/// Damaged bytes are a block or a typed error. A block can then be walked from
/// end to end with work and memory in proportion to its bytes.
fn survives(bytes: &[u8], counts: &mut [u64; 2]) {
    let (parsed, allocated) = alloc::count(|| {
        if let Ok((_, objects)) = DataBlock::scan(bytes) {
            let good = objects.filter(Result::is_ok).count();
            assert!(good <= bytes.len() / 64);
        }
        DataBlock::parse(bytes)
    });
    assert_eq!(allocated.count, 0);
    match parsed {
        Ok(block) => {
            counts[0] += 1;
            let (seen, allocated) = alloc::count(|| walk(block));
            assert!(seen.steps() <= 2 * bytes.len() as u64, "{seen:?}");
            assert!(allocated.bytes <= 4 * bytes.len() as u64, "{allocated:?}");
        }
        Err(error) => {
            counts[1] += 1;
            assert!(error.offset <= bytes.len(), "{error}");
            assert!(error.field.starts_with("PERF_"), "{error}");
        }
    }
}

#[test]
fn every_truncation_gives_a_block_or_an_error() {
    for name in ["samba/Global.bin", "windows-vista/s00_global.bin"] {
        let Some(bytes) = real::file(name) else { return };
        let mut counts = [0; 2];
        let step = if is_slow() { 97 } else { 1 };
        for cut in truncations(&bytes).step_by(step) {
            survives(cut, &mut counts);
        }
        // The whole length is stated, or follows from the last object.
        assert_eq!(counts[0], 0, "{name}");
        let cut = &bytes[..bytes.len() - 1];
        let kind = DataBlock::parse(cut).err().map(|error| error.kind);
        assert_eq!(kind, Some(ParseErrorKind::Truncated), "{name}");
        // A scan still has the objects before the cut, once the header does
        // not claim more than there is.
        let mut half = bytes[..bytes.len() / 2].to_vec();
        let length = half.len() as u32;
        half[20..24].copy_from_slice(&length.to_le_bytes());
        let (_, objects) = DataBlock::scan(&half).unwrap();
        let verdicts: Vec<bool> = objects.map(|object| object.is_ok()).collect();
        assert!(verdicts[0] && !verdicts[verdicts.len() - 1], "{name} {verdicts:?}");
    }
}

#[test]
fn every_change_of_a_byte_of_a_samba_block() {
    let Some(mut bytes) = real::file("samba/Global.bin") else { return };
    let mut counts = [0; 2];
    let step = if is_slow() { 101 } else { 1 };
    for change in all_changes(&bytes.clone()).step_by(step) {
        change.apply(&mut bytes, |damaged| survives(damaged, &mut counts));
    }
    assert!(is_slow() || counts[0] + counts[1] == 1560 * 255);
    assert!(counts[0] > counts[1] && counts[1] > 0, "{counts:?}");
}

#[test]
fn changes_of_every_byte_of_a_windows_block() {
    let Some(mut bytes) = vista(0) else { return };
    let mut counts = [0; 2];
    let per_byte = if is_slow() { 1 } else { 8 };
    let step = if is_slow() { 23 } else { 1 };
    for change in some_changes(&bytes.clone(), per_byte, 8).step_by(step) {
        change.apply(&mut bytes, |damaged| survives(damaged, &mut counts));
    }
    assert!(is_slow() || counts[0] + counts[1] == 22840 * 8);
    assert!(counts[0] > counts[1] && counts[1] > 0, "{counts:?}");
}
