//! Measurement contexts and odd data: names that mean no instance or several, objects with
//! other instances or indexes than before, and sources that hang.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{
    Anomaly, CounterSource, DataSource, DataSources, MeasureError, MeasurementContext,
    MeasurementOptions, Operation, ProbeContext, Readings, Sensor, SensorId, SensorKind,
    SensorName, SensorReading, SensorSelection, State, TimeSource, ValueType,
};
use perfhive_engine::{Cached, NoValue, Worker};
use perfhive_format::{
    BlockHead, BlockWriter, CounterSpec, CounterType, ObjectSpec, ObjectTemplate, TitleIndex,
};
use perfhive_testkit::script::{Row, block};
use perfhive_testkit::shown::ShownBlock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

const PROCESS: TitleIndex = TitleIndex(230);
const PATHS: TitleIndex = TitleIndex(700);
const SECOND: u64 = 10_000_000;

fn shows(block: Vec<u8>) -> ShownBlock {
    let names = [
        (6, "Time"),
        (8, "Level"),
        (230, "Process"),
        (684, "Elapsed"),
        (700, "Paths"),
        (784, "ID"),
    ];
    ShownBlock::new(&names, block)
}

fn time_and_level() -> [CounterSpec; 2] {
    [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(8), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
    ]
}

fn process_counters() -> [CounterSpec; 3] {
    [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
    ]
}

fn sources(shown: &ShownBlock) -> DataSources {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test.host", shown.clone())).unwrap();
    sources
}

fn context(shown: &ShownBlock, names: &[&str]) -> Result<MeasurementContext, MeasureError> {
    let names: Vec<SensorName> = names.iter().map(|name| name.parse().unwrap()).collect();
    MeasurementContext::new(&mut sources(shown), &names)
}

fn cycle(context: &mut MeasurementContext) -> Vec<String> {
    let mut readings = Readings::new();
    context.prepare().unwrap();
    context.sample().unwrap();
    context.decode(&mut readings).unwrap();
    let shown = |value: &Result<perfhive_format::CookedValue, NoValue>| match value {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    };
    readings.iter().map(|reading| shown(&reading.value)).collect()
}

fn anomalies(context: &MeasurementContext) -> Vec<String> {
    context.record().unwrap().anomalies.iter().map(ToString::to_string).collect()
}

/// A block with an object of children that have parents, and two instances called `_Total`.
fn children(second: i64, levels: [u64; 4]) -> Vec<u8> {
    let values = levels.map(|level| [0, level]);
    let parents: [Row<'_>; 2] = [("p", None, &[0, 0]), ("q", None, &[0, 0])];
    let of = |place| Some((TitleIndex(600), place));
    let rows: [Row<'_>; 4] = [
        ("x", of(0), &values[0]),
        ("_Total", of(0), &values[1]),
        ("x", of(1), &values[2]),
        ("_Total", of(1), &values[3]),
    ];
    let counters = time_and_level();
    block("host", second, &[(TitleIndex(600), &counters, &parents), (PATHS, &counters, &rows)])
}

#[test]
fn sums_of_several_parents_have_distinct_names() {
    let shown = shows(children(1, [10, 11, 12, 13]));
    let mut sources = sources(&shown);
    let source = sources.get("test.host").unwrap();
    let level = CounterSource::<ShownBlock>::sensor_id(PATHS, TitleIndex(8));
    let names = source.instances(level).unwrap();
    assert_eq!(names, ["p/x", "p/_Total", "q/x", "q/_Total"]);
    let sensor = |instance: &str| {
        SensorName::new("test.host", "Paths", "Level").with_instance(instance).to_string()
    };
    let asked = [sensor("q/_Total"), sensor("p/_Total")];
    let mut both = context(&shown, &asked.each_ref().map(String::as_str)).unwrap();
    assert_eq!(cycle(&mut both), ["13", "11"]);
    // Case matters only where names differ in nothing else.
    assert_eq!(cycle(&mut context(&shown, &[&sensor("Q/_TOTAL")]).unwrap()), ["13"]);
    // The name of two sums means neither.
    let error = context(&shown, &[&sensor("_Total")]).err().unwrap();
    assert!(matches!(error, MeasureError::UnknownInstance { .. }), "{error}");
}

fn processes(second: i64, list: &[(&str, u64, u64, u64)]) -> Vec<u8> {
    let values: Vec<[u64; 3]> =
        list.iter().map(|(_, id, start, time)| [*time, *id, *start]).collect();
    let rows: Vec<Row<'_>> = list.iter().zip(&values).map(|(p, v)| (p.0, None, &v[..])).collect();
    block("host", second, &[(PROCESS, &process_counters(), &rows)])
}

#[test]
fn a_process_with_the_name_total_is_not_the_sum() {
    let machine = |second: i64, time: u64| {
        processes(second, &[("_Total", 7, 3, time), ("_Total", 0, 0, 4 * time), ("a", 8, 3, 0)])
    };
    let shown = shows(machine(1, 0));
    let names = ["test.host/Process/Time#_Total", "test.host/Process/Time#7"];
    let mut context = context(&shown, &names).unwrap();
    shown.show(machine(2, SECOND / 4));
    assert_eq!(cycle(&mut context), ["100", "25"]);
}

/// A sensor of all instances reads them together, one of an instance reads that alone.
#[test]
fn instances_have_the_same_values_together_and_alone() {
    let names = [(6, "Time"), (8, "Level"), (10, "Growth"), (230, "Process"), (684, "Elapsed")];
    let mut counters = vec![
        CounterSpec::new(TitleIndex(8), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        CounterSpec::new(TitleIndex(10), CounterType::PERF_COUNTER_DELTA),
    ];
    counters.extend(process_counters());
    let machine = |second: i64, list: &[(&str, u64, u64, u64)]| {
        let values = |(name, id, time, growth): &(&str, u64, u64, u64)| {
            [*time, *growth, *time, *id, u64::from(*name != "_Total")]
        };
        let values: Vec<_> = list.iter().map(values).collect();
        let rows: Vec<Row<'_>> =
            list.iter().zip(&values).map(|(one, v)| (one.0, None, &v[..])).collect();
        block("host", second, &[(PROCESS, &counters, &rows)])
    };
    let top = u64::from(u32::MAX);
    let first = [("a", 7, 0, top - 5), ("b", 8, 9, 5), ("_Total", 0, 0, top - 5)];
    let shown = ShownBlock::new(&names, machine(1, &first));
    let sensors = ["Time", "Level", "Growth"];
    let of =
        |instance: &str| sensors.map(|sensor| format!("test.host/Process/{sensor}#{instance}"));
    let measured = |names: &[String]| {
        context(&shown, &names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap()
    };
    let mut together = measured(&of("*"));
    let mut alone = measured(&["7", "8", "_Total"].map(of).concat());
    let mut samples = [
        // The 32 bits of a process have wrapped; those of a sum may be of other processes.
        (2, first.map(|(name, id, ..)| (name, id, SECOND / 2, 4))),
        // One goes back, one rests.
        (3, [("a", 7, SECOND, 8), ("b", 8, SECOND / 4, 2), ("_Total", 0, SECOND / 2, 4)]),
        // No time passes.
        (3, [("a", 7, SECOND, 9), ("b", 8, SECOND, 9), ("_Total", 0, SECOND, 9)]),
    ]
    .map(|(second, list)| (second, list.to_vec()))
    .to_vec();
    // One comes and another one goes.
    samples.push((4, vec![("c", 9, 0, 0), ("a", 7, 2 * SECOND, 10), ("_Total", 0, SECOND, 9)]));
    samples.push((5, vec![("c", 9, SECOND, 7), ("a", 7, 2 * SECOND, 11), ("_Total", 0, 0, 0)]));
    let mut all = Vec::new();
    for (second, list) in samples {
        shown.show(machine(second, &list));
        let read = |context: &mut MeasurementContext| {
            let mut readings = Readings::new();
            context.prepare().unwrap();
            context.sample().unwrap();
            context.decode(&mut readings).unwrap();
            let one = |reading: &SensorReading| {
                let value = match &reading.value {
                    Ok(value) => value.to_string(),
                    Err(why) => why.code().to_string(),
                };
                let raw = (reading.raw, reading.before, reading.raw_per_second);
                (reading.slot.name.to_string(), value, raw)
            };
            let mut list: Vec<_> = readings.iter().map(one).collect();
            list.sort();
            list
        };
        let (together, alone) = (read(&mut together), read(&mut alone));
        let present = |name: &str| together.iter().any(|(known, ..)| known == name);
        let mut compared = 0;
        for one in alone.iter().filter(|(name, ..)| present(name)) {
            assert!(together.contains(one), "{second}: {one:?} is not in {together:?}");
            compared += 1;
        }
        all.push((compared, together.into_iter().map(|(_, value, _)| value).collect::<Vec<_>>()));
    }
    let growth = |of: usize| all[of].1[..all[of].1.len() / 3].to_vec();
    assert_eq!(growth(0), ["10", "went-backwards", "went-backwards"], "{all:?}");
    assert_eq!(all.iter().map(|(compared, _)| *compared).collect::<Vec<_>>(), [9, 9, 9, 6, 6]);
}

#[test]
fn a_gone_instance_is_counted_once_and_only_where_it_is_measured() {
    let machine = |second, rest: &[(&str, u64, u64, u64)], total: bool| {
        let values = [[0, 0], [0, 0]];
        let rows: [Row<'_>; 2] = [("_Total", None, &values[0]), ("y", None, &values[1])];
        let rows = if total { &rows[..] } else { &rows[1..] };
        let process: Vec<[u64; 3]> = rest.iter().map(|(_, id, s, t)| [*t, *id, *s]).collect();
        let process: Vec<Row<'_>> =
            rest.iter().zip(&process).map(|(p, v)| (p.0, None, &v[..])).collect();
        let counters = time_and_level();
        block("host", second, &[(PROCESS, &process_counters(), &process), (PATHS, &counters, rows)])
    };
    let all = [("a", 7, 3, 0), ("b", 8, 3, 0), ("_Total", 0, 0, 0)];
    let shown = shows(machine(1, &all, true));
    let names = [
        "test.host/Process/Time#7",
        "test.host/Process/Time#8",
        "test.host/Process/ID#7",
        "test.host/Process/Time#_Total",
        "test.host/Paths/Level#y",
    ];
    let mut context = context(&shown, &names).unwrap();
    // The sum of the paths is not measured.
    shown.show(machine(2, &[("_Total", 0, 0, 0)], false));
    cycle(&mut context);
    assert_eq!(anomalies(&context), ["test.host/Process: 2 instances gone"]);
}

#[test]
fn a_sensor_without_instances_has_no_value_once_its_object_has_instances() {
    let alone = |second: i64| {
        let mut writer = BlockWriter::new();
        let time = second * SECOND as i64;
        let clocks =
            perfhive_format::Clocks { time_100ns: time, ..perfhive_format::Clocks::default() };
        writer.start(&BlockHead { clocks, ..BlockHead::default() });
        let template = ObjectTemplate::new(&ObjectSpec::new(PATHS), &time_and_level()).unwrap();
        writer.object(&template).unwrap().values(&[0, 42]).unwrap().finish().unwrap();
        writer.finish().to_vec()
    };
    let shown = shows(alone(1));
    let names = ["test.host/Paths/Level", "test.host/Paths/Time"];
    let mut context = context(&shown, &names).unwrap();
    assert_eq!(cycle(&mut context)[0], "42");
    let counters = time_and_level();
    shown.show(block(
        "host",
        2,
        &[(PATHS, &counters, &[("x", None, &[0, 7]), ("y", None, &[1, 8])])],
    ));
    assert_eq!(cycle(&mut context), ["vanished", "vanished"]);
    shown.show(alone(3));
    assert_eq!(cycle(&mut context), ["42", "born"]);
}

#[test]
fn an_id_without_a_start_time_that_was_gone_is_not_the_same_process() {
    // Without start times, the number may belong to a new process.
    let counters = process_counters();
    let machine = |second: i64, list: &[(u64, u64)]| {
        let values: Vec<[u64; 2]> = list.iter().map(|(id, time)| [*time, *id]).collect();
        let rows: Vec<Row<'_>> = values.iter().map(|v| ("p", None, &v[..])).collect();
        block("host", second, &[(PROCESS, &counters[..2], &rows)])
    };
    let shown = shows(machine(1, &[(7, 0), (8, 0)]));
    let names = ["test.host/Process/Time#7", "test.host/Process/Time#8"];
    let mut context = context(&shown, &names).unwrap();
    shown.show(machine(2, &[(8, SECOND)]));
    assert_eq!(cycle(&mut context), ["vanished", "100"]);
    for second in 3..6 {
        let time = second as u64 * SECOND;
        shown.show(machine(second, &[(7, 50 * time), (8, time - SECOND)]));
        assert_eq!(cycle(&mut context), ["vanished", "100"]);
    }
}

/// A clock whose time grows by one with each reading of any clock that shares its counter.
struct Ticks(&'static str, Arc<AtomicI64>);

impl TimeSource for Ticks {
    fn name(&self) -> &str {
        self.0
    }
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }
    fn now(&mut self) -> Option<i64> {
        Some(self.1.fetch_add(1, Ordering::SeqCst))
    }
}

#[test]
fn the_first_clock_encloses_all_others() {
    let shown = shows(children(1, [0; 4]));
    let ticks = Arc::new(AtomicI64::new(1));
    let ticking = |name| Ticks(name, Arc::clone(&ticks));
    let options = MeasurementOptions::new().time(ticking("outer")).time(ticking("inner"));
    let names = ["test.host/Paths/Level#*".parse().unwrap()];
    let mut context =
        MeasurementContext::with_options(&mut sources(&shown), &names, options).unwrap();
    cycle(&mut context);
    let times = &context.record().unwrap().times;
    let times: Vec<_> = times.iter().map(|time| (&*time.name, time.before, time.after)).collect();
    assert_eq!(times, [("outer", Some(1), Some(4)), ("inner", Some(2), Some(3))]);
}

#[test]
fn slots_of_gone_instances_are_removed() {
    let counters = time_and_level();
    let machine = |second, names: &[&str]| {
        let rows: Vec<Row<'_>> = names.iter().map(|name| (*name, None, &[0, 1][..])).collect();
        block("host", second, &[(PATHS, &counters, &rows)])
    };
    let shown = shows(machine(1, &["x", "y"]));
    let mut context = context(&shown, &["test.host/Paths/Level#*"]).unwrap();
    let mut readings = Readings::new();
    let mut slots = |context: &mut MeasurementContext| {
        context.prepare().unwrap();
        context.sample().unwrap();
        context.decode(&mut readings).unwrap();
        readings.iter().map(|reading| Arc::downgrade(&reading.slot)).collect::<Vec<_>>()
    };
    let both = slots(&mut context);
    // A slot is made once for each instance.
    assert!(both.iter().zip(slots(&mut context)).all(|(a, b)| a.ptr_eq(&b)));
    shown.show(machine(2, &["y"]));
    assert!(slots(&mut context)[0].ptr_eq(&both[1]));
    assert!(both[0].upgrade().is_none(), "the slot of x is kept");
}

#[test]
fn readings_of_several_sources_are_in_the_requested_order() {
    let (one, two) = (shows(children(1, [1; 4])), shows(children(1, [2; 4])));
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("one", one)).unwrap();
    sources.add(CounterSource::new("two", two)).unwrap();
    let names = [
        "two/Paths/Level#p%2Fx",
        "one/Paths/Level#*",
        "two/Paths/Level#q%2Fx",
        "one/Paths/Level#q%2Fx",
    ];
    let names = names.map(|name| name.parse().unwrap());
    let mut context = MeasurementContext::new(&mut sources, &names).unwrap();
    assert_eq!(cycle(&mut context), ["2", "1", "1", "1", "1", "2", "1"]);
    let asked: Vec<_> = context.values().unwrap().iter().map(|reading| reading.asked).collect();
    assert_eq!(asked, [0, 1, 1, 1, 1, 2, 3]);
}

#[test]
fn win32_winperf_and_windows_winperf_are_one_data_source() {
    let shown = shows(children(1, [0; 4]));
    for name in ["windows.winperf", "win32.winperf"] {
        let mut sources = DataSources::new();
        sources.add(CounterSource::new(name, shown.clone())).unwrap();
        let again = sources.add(CounterSource::new("windows.winperf", shown.clone()));
        assert!(matches!(again, Err(MeasureError::SameName(_))), "{name}");
        for asked in ["windows.winperf", "win32.winperf"] {
            let sensor = format!("{asked}/Paths/Level#*").parse().unwrap();
            assert!(MeasurementContext::new(&mut sources, &[sensor]).is_ok(), "{asked} of {name}");
            assert!(sources.get(asked).is_ok(), "{asked} of {name}");
        }
    }
}

#[test]
fn a_source_that_hangs_takes_no_time_of_the_others() {
    let (slow, fast) = (shows(children(1, [1; 4])), shows(children(1, [2; 4])));
    let mut sources = DataSources::new();
    let cached = |shown: &ShownBlock| {
        let worker = Worker::new(shown.clone(), None).unwrap();
        Cached::builder(worker).max_age(Duration::ZERO).build()
    };
    sources.add(CounterSource::new("slow", cached(&slow))).unwrap();
    sources.add(CounterSource::new("fast", cached(&fast))).unwrap();
    let names = ["slow/Paths/Level#p%2Fx", "fast/Paths/Level#p%2Fx"].map(|n| n.parse().unwrap());
    // Long enough for the fast source on any machine; the slow one never answers.
    let options = MeasurementOptions::new().patience(Duration::from_secs(2));
    let mut context = MeasurementContext::with_options(&mut sources, &names, options).unwrap();
    slow.hold(true);
    // The buffers are new in the first cycle.
    assert_eq!(cycle(&mut context), ["source-failed", "2"]);
    let [late, grown] = ["did not answer in time", "a buffer had to grow"];
    let expected = [("slow", late), ("fast", grown)];
    assert_eq!(anomalies(&context), expected.map(|(source, what)| format!("{source}: {what}")));
}

#[test]
fn the_baseline_has_a_deadline() {
    let shown = shows(children(1, [0; 4]));
    let mut source = CounterSource::new("test.host", shown.clone());
    source.probe(&SensorSelection::Global, Duration::ZERO).unwrap();
    let deadlines = shown.deadlines();
    assert!(!deadlines.is_empty() && deadlines.iter().all(Option::is_some), "{deadlines:?}");
}

/// A data source that can be prepared only while its flag is set.
#[derive(Clone, Default)]
struct Unready(Arc<AtomicBool>);

impl DataSource for Unready {
    fn name(&self) -> &str {
        "unready"
    }
    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
        Ok(Arc::new([Sensor::new(
            SensorId(1),
            SensorName::new("unready", "group", "sensor"),
            SensorKind::Gauge,
            ValueType::Int64,
        )]))
    }
    fn instances(&mut self, _: SensorId) -> Result<Vec<String>, MeasureError> {
        Ok(Vec::new())
    }
    fn probe(
        &mut self,
        _: &SensorSelection,
        _: Duration,
    ) -> Result<Box<dyn ProbeContext>, MeasureError> {
        Ok(Box::new(self.clone()))
    }
}

impl ProbeContext for Unready {
    fn prepare(&mut self) -> Result<(), MeasureError> {
        match self.0.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err(MeasureError::Other("not ready".into())),
        }
    }
    fn sample(&mut self, _: Option<Instant>, _: &mut Vec<Anomaly>) -> Result<(), MeasureError> {
        assert!(self.0.load(Ordering::SeqCst), "sampled without being prepared");
        Ok(())
    }
    fn decode(
        &mut self,
        _: Option<&MeasureError>,
        _: &mut Vec<Anomaly>,
        _: &mut Vec<SensorReading>,
    ) {
    }
}

#[test]
fn a_failed_prepare_leads_back_to_initialized() {
    let (unready, shown) = (Unready::default(), shows(children(1, [1; 4])));
    let mut sources = sources(&shown);
    sources.add(unready.clone()).unwrap();
    let name = |text: &str| -> SensorName { text.parse().unwrap() };
    let alone = [name("unready/group/sensor")];
    let mut context = MeasurementContext::new(&mut sources, &alone).unwrap();
    let fails = |context: &mut MeasurementContext| {
        unready.0.store(false, Ordering::SeqCst);
        assert_eq!(context.prepare().unwrap_err().to_string(), "not ready");
        assert_eq!(context.state(), State::Initialized);
        assert!(context.values().is_ok());
        let error = context.sample().unwrap_err();
        let wrong = matches!(
            error,
            MeasureError::State { operation: Operation::Sample, state: State::Initialized }
        );
        assert!(wrong, "{error}");
        unready.0.store(true, Ordering::SeqCst);
    };
    // From Initialized, from Prepared, and from Sampled.
    fails(&mut context);
    context.prepare().unwrap();
    fails(&mut context);
    context.prepare().unwrap();
    context.sample().unwrap();
    fails(&mut context);

    // Beside a source that is ready, only its own sensors have no values.
    let both = [alone[0].clone(), name("test.host/Paths/Level#p%2Fx")];
    let mut context = MeasurementContext::new(&mut sources, &both).unwrap();
    unready.0.store(false, Ordering::SeqCst);
    assert_eq!(cycle(&mut context), ["1"]);
    assert!(anomalies(&context).contains(&"unready: not ready".to_string()));
}
