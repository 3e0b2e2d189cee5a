//! Measurement contexts over scripted sources: states, anomalies, and the instances that values
//! belong to.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{
    Anomaly, CounterSource, DataSource, DataSources, MeasureError, MeasurementContext,
    MeasurementOptions, MonotonicTime, Operation, ProbeContext, Readings, SelectedSensor, Sensor,
    SensorId, SensorInstances, SensorKind, SensorName, SensorReading, SensorSelection, SensorSlot,
    State, TimeSource, ValueType, WallTime,
};
use perfhive_engine::{
    Ask, Cached, Catalogue, CatalogueObject, Cost, Fault, FaultKind, Frame, FramePool, NoValue,
    Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase, Worker,
};
use perfhive_format::titles::TitleList;
use perfhive_format::{CookError, CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_testkit::alloc::{Counting, count};
use perfhive_testkit::script::{block, titles};
use perfhive_testkit::shown::ShownBlock;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A process of a scripted machine: name, number, start, and processor time in
/// 100 ns units.
type Process = (&'static str, u64, u64, u64);

#[derive(Clone, Debug)]
enum Answer {
    /// A machine with these processes; the number is the seconds on its clocks.
    Machine(i64, Vec<Process>),
    /// The same, with other counters than before.
    Changed(i64, Vec<Process>),
    Fails(SourceErrorKind),
    /// An object that was not asked for.
    Other,
    Partial(i64, Vec<Process>),
}

/// A source that gives the scripted answers in turn, and then the last one for ever.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    answers: Vec<Answer>,
    at: usize,
    pool: Option<FramePool>,
}

const PROCESS: TitleIndex = TitleIndex(230);
const PATHS: TitleIndex = TitleIndex(700);

fn specs(changed: bool) -> Vec<CounterSpec> {
    let mut specs = vec![
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
    ];
    if changed {
        specs.insert(0, CounterSpec::new(TitleIndex(952), CounterType::PERF_COUNTER_RAWCOUNT));
    }
    specs
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let script = Script { answers: answers.into_iter().collect(), ..Script::default() };
        Self(Arc::new(Mutex::new(script)))
    }

    fn push(&self, answer: Answer) {
        self.0.lock().unwrap().answers.push(answer);
    }
}

fn bytes(seconds: i64, changed: bool, processes: &[Process]) -> Vec<u8> {
    let values: Vec<Vec<u64>> = processes
        .iter()
        .map(|(_, id, start, time)| {
            let mut values = vec![*time, *id, *start];
            if changed {
                values.insert(0, 1);
            }
            values
        })
        .collect();
    let rows: Vec<_> =
        processes.iter().zip(&values).map(|((name, ..), v)| (*name, None, v.as_slice())).collect();
    // The same processes as instances with names only.
    let plain: Vec<Vec<u64>> = processes.iter().map(|(_, _, _, time)| vec![*time]).collect();
    let plain: Vec<_> =
        processes.iter().zip(&plain).map(|((name, ..), v)| (*name, None, v.as_slice())).collect();
    let timer = [CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER)];
    block("host", seconds, &[(PROCESS, &specs(changed), &rows), (PATHS, &timer, &plain)])
}

impl Source for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let mut script = self.0.lock().unwrap();
        let at = script.at;
        script.at = (at + 1).min(script.answers.len() - 1);
        let number = at as u64 + 1;
        let (frame, fault) = match &script.answers[at] {
            Answer::Machine(seconds, list) => (bytes(*seconds, false, list), false),
            Answer::Partial(seconds, list) => (bytes(*seconds, false, list), true),
            Answer::Changed(seconds, list) => (bytes(*seconds, true, list), false),
            Answer::Other => (block("host", 1, &[]), false),
            Answer::Fails(kind) => return Err(SourceError::new(*kind, "scripted", "told to fail")),
        };
        let frame = match &mut script.pool {
            Some(pool) => pool.fill(number, |buffer| buffer.clone_from(&frame)).unwrap(),
            None => Arc::new(Frame::new(frame, number).unwrap()),
        };
        out.push_frame(frame, "scripted");
        if fault {
            let fault = Fault::new(FaultKind::Partial, "scripted", "PID 9: no permission");
            out.push_fault(fault.of_object(PROCESS));
        }
        Ok(())
    }

    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        static KEPT: OnceLock<Arc<Catalogue>> = OnceLock::new();
        let make = || {
            let frame = Frame::new(bytes(0, false, &[]), 0).unwrap();
            let mut objects: Vec<_> =
                (0..2).map(|place| CatalogueObject::of(frame.object(place).unwrap())).collect();
            objects[1].cost = Cost::Costly;
            Arc::new(Catalogue::new("host", Vec::new(), objects))
        };
        Ok(Arc::clone(KEPT.get_or_init(make)))
    }

    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let help = TitleList::default();
        Ok(Arc::new(TitleDatabase::new(LanguageId::ENGLISH, &titles(&NAMES), &help)))
    }
}

const NAMES: [(u32, &str); 5] = [
    (6, "% Processor Time"),
    (230, "Process"),
    (684, "Elapsed Time"),
    (700, "A/B#C"),
    (784, "ID Process"),
];

/// A source that always answers with one block and allocates nothing, unlike a scripted source.
fn shows(block: Vec<u8>) -> ShownBlock {
    ShownBlock::new(&NAMES, block).pooled()
}

const SECOND: u64 = 10_000_000;

fn name(text: &str) -> SensorName {
    text.parse().unwrap()
}

fn sources(scripted: &Scripted) -> DataSources {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test.host", scripted.clone())).unwrap();
    sources
}

fn context(scripted: &Scripted, names: &[&str]) -> MeasurementContext {
    let names: Vec<_> = names.iter().map(|text| name(text)).collect();
    MeasurementContext::new(&mut sources(scripted), &names).unwrap()
}

/// Runs one cycle. Returns for each reading two texts: the name of its instance, and its value
/// or the code of the reason why there is none.
fn cycle(context: &mut MeasurementContext) -> Vec<(String, String)> {
    let mut readings = Readings::new();
    context.prepare().unwrap();
    context.sample().unwrap();
    context.decode(&mut readings).unwrap();
    shown(&readings)
}

fn shown(readings: &Readings) -> Vec<(String, String)> {
    let shown = |reading: &SensorReading| {
        let value = match &reading.value {
            Ok(value) => value.to_string(),
            Err(why) => why.code().to_string(),
        };
        (reading.slot.name.instance().unwrap_or("").to_string(), value)
    };
    readings.iter().map(shown).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

fn anomalies(context: &MeasurementContext) -> Vec<String> {
    context.record().unwrap().anomalies.iter().map(ToString::to_string).collect()
}

const TIME: &str = "test.host/Process/%25 Processor Time";

#[test]
fn the_first_cycle_has_rates() {
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("a", 7, 3, 0), ("b", 8, 4, 0)]),
        Answer::Machine(2, vec![("a", 7, 3, SECOND / 2), ("b", 8, 4, SECOND)]),
    ]);
    let ids = "test.host/Process/ID Process#*";
    let mut context = context(&scripted, &[&format!("{TIME}#8"), &format!("{TIME}#*"), ids]);
    // The structure and momentary numbers are readable from the beginning.
    let two = "needs-two-samples";
    let baseline = pairs(&[("8", two), ("7", two), ("8", two), ("7", "7"), ("8", "8")]);
    assert_eq!(shown(context.values().unwrap()), baseline);
    let asked: Vec<_> = context.values().unwrap().iter().map(|reading| reading.asked).collect();
    assert_eq!(asked, [0, 1, 1, 2, 2]);
    assert_eq!(
        cycle(&mut context),
        pairs(&[("8", "100"), ("7", "50"), ("8", "100"), ("7", "7"), ("8", "8")])
    );
    assert_eq!(anomalies(&context), Vec::<String>::new());
    assert_eq!(context.values().unwrap().len(), 5);
}

#[test]
fn operations_in_the_wrong_state_are_errors_and_change_nothing() {
    let machine = Answer::Machine(1, vec![("a", 7, 3, 0)]);
    let scripted = Scripted::new([machine]);
    let into = |state: State| {
        let mut context = context(&scripted, &[&format!("{TIME}#*")]);
        if state != State::Initialized {
            context.prepare().unwrap();
        }
        if state == State::Sampled {
            context.sample().unwrap();
        }
        assert_eq!(context.state(), state);
        context
    };
    let run = |context: &mut MeasurementContext, operation| match operation {
        Operation::Prepare => context.prepare(),
        Operation::Sample => context.sample().map(|_| ()),
        Operation::Decode => context.decode(&mut Readings::new()).map(|_| ()),
        _ => context.values().map(|_| ()),
    };
    use {Operation as O, State as S};
    for (state, operation, next) in [
        (S::Initialized, O::Prepare, Some(S::Prepared)),
        (S::Initialized, O::Sample, None),
        (S::Initialized, O::Decode, None),
        (S::Initialized, O::Read, Some(S::Initialized)),
        (S::Prepared, O::Prepare, Some(S::Prepared)),
        (S::Prepared, O::Sample, Some(S::Sampled)),
        (S::Prepared, O::Decode, None),
        (S::Prepared, O::Read, None),
        (S::Sampled, O::Prepare, Some(S::Prepared)),
        (S::Sampled, O::Sample, None),
        (S::Sampled, O::Decode, Some(S::Initialized)),
        (S::Sampled, O::Read, None),
    ] {
        let mut context = into(state);
        let monitor = context.monitor();
        let result = run(&mut context, operation);
        match next {
            Some(next) => {
                assert!(result.is_ok(), "{operation} in {state}: {result:?}");
                assert_eq!(context.state(), next);
            }
            None => {
                let error = result.unwrap_err();
                assert_eq!(
                    error.to_string(),
                    format!("{operation} is not possible in state {state}")
                );
                assert!(error.is_misuse());
                assert_eq!(context.state(), state, "{operation} in {state} changed it");
            }
        }
        assert_eq!(monitor.get(), context.state());
        // Dropped in mid-cycle.
    }
}

#[test]
fn a_failed_sample_leads_back_to_initialized() {
    let scripted = Scripted::new([Answer::Machine(1, vec![("a", 7, 3, 0)])]);
    let mut context = context(&scripted, &[&format!("{TIME}#7")]);
    cycle(&mut context);
    scripted.push(Answer::Fails(SourceErrorKind::Unavailable));
    scripted.push(Answer::Machine(2, vec![("a", 7, 3, SECOND)]));
    scripted.push(Answer::Machine(3, vec![("a", 7, 3, 2 * SECOND)]));
    scripted.0.lock().unwrap().at = 1;
    context.prepare().unwrap();
    assert!(matches!(context.sample(), Err(MeasureError::Source(_))));
    assert_eq!(context.state(), State::Initialized);
    // The next cycle works, with the sample from before the failure.
    assert_eq!(cycle(&mut context), pairs(&[("7", "100")]));
}

#[test]
fn a_panic_in_a_source_leads_back_to_initialized() {
    struct Panics;
    impl ProbeContext for Panics {
        fn prepare(&mut self) -> Result<(), MeasureError> {
            Ok(())
        }
        fn sample(
            &mut self,
            _: Option<std::time::Instant>,
            _: &mut Vec<Anomaly>,
        ) -> Result<(), MeasureError> {
            panic!("a data source's own trouble")
        }
        fn decode(
            &mut self,
            _: Option<&MeasureError>,
            _: &mut Vec<Anomaly>,
            _: &mut Vec<SensorReading>,
        ) {
        }
    }
    struct PanicSource;
    impl DataSource for PanicSource {
        fn name(&self) -> &str {
            "panics"
        }
        fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
            Ok(Arc::new([]))
        }
        fn instances(&mut self, _: SensorId) -> Result<Vec<String>, MeasureError> {
            Ok(Vec::new())
        }
        fn probe(
            &mut self,
            _: &SensorSelection,
            _: Duration,
        ) -> Result<Box<dyn ProbeContext>, MeasureError> {
            Ok(Box::new(Panics))
        }
    }
    let mut sources = DataSources::new();
    sources.add(PanicSource).unwrap();
    let options = MeasurementOptions::new();
    let mut context =
        MeasurementContext::of_selection(&mut sources, "panics", &SensorSelection::Global, options)
            .unwrap();
    context.prepare().unwrap();
    let sample = || context.sample().map(|_| ());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(sample)).is_err());
    assert_eq!(context.state(), State::Initialized);
}

#[test]
fn a_process_with_a_reused_pid_gets_no_value_of_the_old_one() {
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("a", 7, 3, 0)]),
        Answer::Machine(2, vec![("a", 7, 3, SECOND)]),
        // Another process with the same name and number.
        Answer::Machine(3, vec![("a", 7, 9, 2 * SECOND)]),
        Answer::Machine(4, vec![("a", 7, 9, 3 * SECOND)]),
    ]);
    let mut one = context(&scripted, &[&format!("{TIME}#7")]);
    assert_eq!(cycle(&mut one), pairs(&[("7", "100")]));
    assert_eq!(cycle(&mut one), pairs(&[("7", "vanished")]));
    assert_eq!(anomalies(&one), ["test.host/Process: 1 instance gone"]);
    assert_eq!(cycle(&mut one), pairs(&[("7", "vanished")]));

    scripted.0.lock().unwrap().at = 0;
    let mut all = context(&scripted, &[&format!("{TIME}#*")]);
    assert_eq!(cycle(&mut all), pairs(&[("7", "100")]));
    assert_eq!(cycle(&mut all), pairs(&[("7", "born")]));
    assert_eq!(
        anomalies(&all),
        ["test.host/Process: 1 instance new", "test.host/Process: 1 instance gone"]
    );
    assert_eq!(cycle(&mut all), pairs(&[("7", "100")]));
}

#[test]
fn instances_with_shifted_order_numbers_have_no_value() {
    // An object with instances without numbers.
    const SENSOR: &str = "test.host/A%2FB%23C/%25 Processor Time";
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("x", 1, 1, 0), ("x", 2, 1, 0), ("y", 3, 1, 0)]),
        Answer::Machine(2, vec![("x", 1, 1, 5), ("x", 2, 1, SECOND), ("y", 3, 1, SECOND)]),
        // The first x is gone: the second is now the first.
        Answer::Machine(3, vec![("x", 2, 1, 2 * SECOND), ("y", 3, 1, 2 * SECOND)]),
        Answer::Machine(4, vec![("x", 2, 1, 3 * SECOND), ("y", 3, 1, 3 * SECOND)]),
    ]);
    let names = [format!("{SENSOR}#x"), format!("{SENSOR}#x%231"), format!("{SENSOR}#y")];
    let mut context = context(&scripted, &names.each_ref().map(String::as_str));
    let first = cycle(&mut context);
    assert_eq!(first[1].1, "100");
    assert_eq!(first[2].1, "100");
    let second = cycle(&mut context);
    assert_eq!(second[0].1, "vanished");
    assert_eq!(second[1].1, "vanished");
    assert_eq!(second[2].1, "100");
    let third = cycle(&mut context);
    assert_eq!((&*third[0].1, &*third[1].1, &*third[2].1), ("vanished", "vanished", "100"));
}

#[test]
fn instances_that_come_and_go_are_measured_and_reported() {
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("a", 7, 3, 0), ("b", 8, 4, 0)]),
        // Between prepare and sample, b goes, and c and d come.
        Answer::Machine(2, vec![("a", 7, 3, SECOND), ("c", 9, 5, 0), ("d", 10, 5, 0)]),
        Answer::Machine(3, vec![("a", 7, 3, SECOND), ("c", 9, 5, SECOND), ("d", 10, 5, 0)]),
    ]);
    let mut context = context(&scripted, &[&format!("{TIME}#*")]);
    assert_eq!(cycle(&mut context), pairs(&[("7", "100"), ("9", "born"), ("10", "born")]));
    assert_eq!(
        anomalies(&context),
        ["test.host/Process: 2 instances new", "test.host/Process: 1 instance gone"]
    );
    assert_eq!(cycle(&mut context), pairs(&[("7", "0"), ("9", "100"), ("10", "0")]));
    assert_eq!(anomalies(&context), Vec::<String>::new());
}

#[test]
fn changed_counters_are_resolved_anew() {
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("a", 7, 3, 0)]),
        Answer::Changed(2, vec![("a", 7, 3, SECOND)]),
        Answer::Changed(3, vec![("a", 7, 3, 2 * SECOND)]),
    ]);
    let mut context = context(&scripted, &[&format!("{TIME}#7"), "test.host/Process/ID Process#7"]);
    let first = cycle(&mut context);
    // The processor time is the same counter, at another place.
    assert_eq!(first, pairs(&[("7", "100"), ("7", "7")]));
    assert_eq!(
        anomalies(&context),
        ["test.host/Process: other counters than before, resolved anew"]
    );
    assert_eq!(cycle(&mut context), pairs(&[("7", "100"), ("7", "7")]));
    assert_eq!(anomalies(&context), Vec::<String>::new());
}

#[test]
fn clocks_that_stand_still_or_go_back_and_missing_objects_have_reasons() {
    let scripted = Scripted::new([
        Answer::Machine(5, vec![("a", 7, 3, 0)]),
        Answer::Other,
        // The clock stands still, then runs backwards.
        Answer::Machine(5, vec![("a", 7, 3, 5)]),
        Answer::Machine(4, vec![("a", 7, 3, 6)]),
        Answer::Partial(6, vec![("a", 7, 3, 2 * SECOND)]),
    ]);
    let mut context = context(&scripted, &[&format!("{TIME}#7")]);
    assert_eq!(cycle(&mut context), pairs(&[("7", "object-missing")]));
    let still = NoValue::Cook(CookError::NoTimePassed).code();
    assert_eq!(cycle(&mut context), pairs(&[("7", still)]));
    let backwards = NoValue::Cook(CookError::ClockWentBackwards).code();
    assert_eq!(cycle(&mut context), pairs(&[("7", backwards)]));
    assert_eq!(cycle(&mut context)[0].1, "99.99997");
    // The list of faults had no room yet.
    let expected = ["test.host: a buffer had to grow", "test.host: PID 9: no permission"];
    assert_eq!(anomalies(&context), expected);
}

/// The baseline has no record of its own, and the first value is made of it.
#[test]
fn faults_of_the_baseline_are_in_the_record_of_the_first_sample() {
    let list = || vec![("a", 7, 3, 0)];
    for first in [Answer::Machine(2, list()), Answer::Partial(2, list())] {
        let answers = [Answer::Partial(1, list()), first, Answer::Machine(3, list())];
        let scripted = Scripted::new(answers);
        let mut context = context(&scripted, &[&format!("{TIME}#7")]);
        cycle(&mut context);
        let mut told = anomalies(&context);
        told.retain(|anomaly| !anomaly.contains("buffer"));
        assert_eq!(told, ["test.host: PID 9: no permission"]);
        cycle(&mut context);
        assert_eq!(anomalies(&context), Vec::<String>::new());
    }
    // At the end of a recording the record is that of the failure.
    let answers = [Answer::Partial(1, list()), Answer::Fails(SourceErrorKind::EndOfData)];
    let mut context = context(&Scripted::new(answers), &[&format!("{TIME}#7")]);
    context.prepare().unwrap();
    assert!(context.sample().is_err());
    assert!(anomalies(&context).contains(&"test.host: PID 9: no permission".to_string()));
}

#[test]
fn unknown_sensor_names_are_errors_with_the_nearest_names() {
    let scripted = Scripted::new([Answer::Machine(1, vec![("a", 7, 3, 0), ("b", 71, 4, 0)])]);
    let fails = |text: &str| {
        MeasurementContext::new(&mut sources(&scripted), &[name(text)]).err().unwrap().to_string()
    };
    assert_eq!(fails("other/Process/x#1"), "no data source \"other\"; there are: test.host");
    assert!(fails("test.host/Process/%25 Processor Tim#7").contains("nearest: test.host/Process/"));
    assert!(fails(&format!("{TIME}#17")).contains("no instance \"17\" of test.host/Process/"));
    assert_eq!(fails(TIME), format!("{TIME} has instances: add #INSTANCE, or #* for all of them"));
    let mut sources = sources(&scripted);
    let same = sources.add(CounterSource::new("test.host", scripted.clone()));
    assert!(matches!(same, Err(MeasureError::SameName(_))));
    let nothing = MeasurementContext::new(&mut sources, &[]).unwrap();
    assert_eq!(nothing.state(), State::Initialized);
}

#[test]
fn sensors_are_listed_with_names_kinds_and_units() {
    let scripted = Scripted::new([Answer::Machine(1, vec![("a", 7, 3, 0), ("_Total", 0, 0, 0)])]);
    let mut sources = sources(&scripted);
    let source = sources.get("test.host").unwrap();
    let sensors = source.sensors().unwrap();
    let names: Vec<_> = sensors.iter().map(|sensor| sensor.name.to_string()).collect();
    assert_eq!(
        names,
        [
            TIME,
            "test.host/Process/ID Process",
            "test.host/Process/Elapsed Time",
            "test.host/A%2FB%23C/%25 Processor Time"
        ]
    );
    let kinds: Vec<_> = sensors.iter().map(|s| (s.kind, s.value_type, s.is_costly)).collect();
    use {SensorKind as K, ValueType as V};
    assert_eq!(
        kinds,
        [
            (K::Counter, V::Double, false),
            (K::Gauge, V::Int32, false),
            (K::Gauge, V::Double, false),
            (K::Counter, V::Double, true),
        ]
    );
    assert_eq!(source.instances(sensors[0].id).unwrap(), ["7", "_Total"]);
    assert_eq!(source.instances(sensors[3].id).unwrap(), ["a", "_Total"]);
}

#[test]
fn whole_selections() {
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("a", 7, 3, 0)]),
        Answer::Machine(2, vec![("a", 7, 3, SECOND)]),
    ]);
    let measure = |selection: &SensorSelection| {
        scripted.0.lock().unwrap().at = 0;
        let options = MeasurementOptions::new();
        let mut context = MeasurementContext::of_selection(
            &mut sources(&scripted),
            "test.host",
            selection,
            options,
        )
        .unwrap();
        let mut readings = Readings::new();
        context.prepare().unwrap();
        context.sample().unwrap();
        context.decode(&mut readings).unwrap();
        readings.iter().map(|reading| reading.slot.name.to_string()).collect::<Vec<_>>()
    };
    let process = [
        format!("{TIME}#7"),
        "test.host/Process/ID Process#7".to_string(),
        "test.host/Process/Elapsed Time#7".to_string(),
    ];
    assert_eq!(measure(&SensorSelection::Global), process);
    assert_eq!(measure(&SensorSelection::Costly), ["test.host/A%2FB%23C/%25 Processor Time#a"]);
    let whole = CounterSource::<Scripted>::sensor_id(PROCESS, TitleIndex(0));
    let custom = SensorSelection::Custom(vec![SelectedSensor::new(whole, SensorInstances::All)]);
    assert_eq!(measure(&custom), process);
}

#[test]
fn a_warm_cycle_allocates_nothing() {
    let processes = |time: u64| (0..50u64).map(|n| ("p", n + 1, 3, time * n)).collect::<Vec<_>>();
    let mut sources = DataSources::new();
    let shown = shows(bytes(1, false, &processes(1)));
    sources.add(CounterSource::new("plain", shown.clone())).unwrap();
    sources.add(CounterSource::new("cached", Cached::new(shown))).unwrap();
    for source in ["plain", "cached"] {
        let names = ["%25 Processor Time#*", "ID Process#7", "ID Process#9"];
        let names = names.map(|sensor| name(&format!("{source}/Process/{sensor}")));
        let options = MeasurementOptions::new().time(WallTime).time(MonotonicTime::default());
        let mut context = MeasurementContext::with_options(&mut sources, &names, options).unwrap();
        let mut readings = Readings::new();
        let (mut allocations, mut decodes) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            context.prepare().unwrap();
            let (grown, counted) = count(|| {
                let record = context.sample().unwrap();
                record.anomalies.iter().any(|a| matches!(a, Anomaly::BufferGrown { .. }))
            });
            let (_, decoded) = count(|| context.decode(&mut readings).unwrap().times.len());
            allocations.push((grown, counted.count));
            decodes.push(decoded.count);
        }
        assert_eq!(readings.len(), 52);
        // Buffers allocate only while they are new, which is an anomaly.
        let silent = allocations.iter().filter(|(grown, count)| !grown && *count > 0).count();
        assert_eq!(silent, 0, "{source}: {allocations:?}");
        assert_eq!(allocations[5..], [(false, 0); 3], "{source}: {allocations:?}");
        assert_eq!(decodes[5..], [0; 3], "{source}: {decodes:?}");
    }
}

#[test]
fn a_late_sample_allocates_nothing() {
    let block = || bytes(1, false, &[("p", 7, 3, 1)]);
    let [held, free] = [shows(block()), shows(block())];
    let mut sources = DataSources::new();
    for (name, shown) in [("held", &held), ("free", &free)] {
        let worker = Worker::new(shown.clone(), None).unwrap();
        let cached = Cached::builder(worker).max_age(Duration::ZERO).build();
        sources.add(CounterSource::new(name, cached)).unwrap();
    }
    let names = ["held", "free"].map(|source| name(&format!("{source}/Process/ID Process#7")));
    // Long enough for the source that is not held, on any machine.
    let options = MeasurementOptions::new().patience(Duration::from_secs(2));
    let mut context = MeasurementContext::with_options(&mut sources, &names, options).unwrap();
    let mut readings = Readings::new();
    let mut sample = |context: &mut MeasurementContext| {
        context.prepare().unwrap();
        let (late, counted) = count(|| {
            let anomalies = &context.sample().unwrap().anomalies;
            anomalies.iter().any(|anomaly| matches!(anomaly, Anomaly::Late { .. }))
        });
        context.decode(&mut readings).unwrap();
        (late, counted.count)
    };
    for _ in 0..6 {
        sample(&mut context);
    }
    assert_eq!(sample(&mut context), (false, 0));
    held.hold(true);
    // Late at its deadline, and then busy with the late request.
    assert_eq!(sample(&mut context), (true, 0));
    assert_eq!(sample(&mut context), (true, 0));
    held.hold(false);
    while sample(&mut context).0 {
        std::thread::yield_now();
    }
    for _ in 0..4 {
        sample(&mut context);
    }
    assert_eq!(sample(&mut context), (false, 0));
}

#[test]
fn a_failed_sample_allocates_nothing() {
    let block = || bytes(1, false, &[("p", 7, 3, 1)]);
    let [noisy, failing] = [shows(block()), shows(block())];
    // More faults than a record has places.
    let many = |n| Fault::new(FaultKind::CollectFailed, "part", format!("no {n}"));
    noisy.add_faults((0..100).map(many).collect());
    let mut sources = DataSources::new();
    for (name, shown) in [("noisy", &noisy), ("failing", &failing)] {
        let cached = Cached::builder(shown.clone()).max_age(Duration::ZERO).build();
        sources.add(CounterSource::new(name, cached)).unwrap();
    }
    let names = ["noisy", "failing"].map(|source| name(&format!("{source}/Process/ID Process#7")));
    let mut context = MeasurementContext::new(&mut sources, &names).unwrap();
    let mut readings = Readings::new();
    let mut sample = |context: &mut MeasurementContext| {
        context.prepare().unwrap();
        let (failed, counted) = count(|| {
            let anomalies = &context.sample().unwrap().anomalies;
            assert!(anomalies.iter().all(|anomaly| !matches!(anomaly, Anomaly::Late { .. })));
            anomalies.iter().any(|anomaly| {
                matches!(anomaly, Anomaly::Failed { source, error } if &**source == "failing"
                    && matches!(error, MeasureError::Source(error) if error.message() == "gone"))
            })
        });
        context.decode(&mut readings).unwrap();
        (failed, counted.count)
    };
    for _ in 0..4 {
        sample(&mut context);
    }
    assert_eq!(sample(&mut context), (false, 0));
    failing.fail(Some(SourceError::new(SourceErrorKind::Unavailable, "failing", "gone")));
    assert_eq!(sample(&mut context), (true, 0));
    assert_eq!(sample(&mut context), (true, 0));
    failing.fail(None);
    assert_eq!(sample(&mut context), (false, 0));
}

#[test]
fn a_grown_buffer_is_an_anomaly() {
    let few = vec![("a", 7, 3, 0)];
    let many: Vec<Process> = (0..3000).map(|n| ("p", n + 1, 3, 0)).collect();
    let scripted = Scripted::new([
        Answer::Machine(1, few.clone()),
        Answer::Machine(2, few.clone()),
        Answer::Machine(3, few.clone()),
        Answer::Machine(4, few.clone()),
        Answer::Machine(5, many),
    ]);
    scripted.0.lock().unwrap().pool = Some(FramePool::new(4));
    let mut context = context(&scripted, &["test.host/Process/ID Process#*"]);
    for _ in 0..3 {
        cycle(&mut context);
    }
    let grown = |context: &MeasurementContext| {
        let anomalies = &context.record().unwrap().anomalies;
        anomalies.iter().any(|anomaly| matches!(anomaly, Anomaly::BufferGrown { .. }))
    };
    assert!(!grown(&context));
    assert_eq!(cycle(&mut context).len(), 3000);
    assert!(grown(&context));
}

/// A user-defined data source, beside one of counters.
struct Dice(i64);

struct DiceProbe {
    rolls: i64,
    slot: Arc<SensorSlot>,
    fails: bool,
}

impl DataSource for Dice {
    fn name(&self) -> &str {
        "dice"
    }
    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
        let name = SensorName::new("dice", "table", "rolls");
        let mut rolls = Sensor::new(SensorId(1), name, SensorKind::Gauge, ValueType::Int64);
        rolls.help = "How often the dice were rolled.".to_string();
        Ok(Arc::new([rolls]))
    }
    fn instances(&mut self, _: SensorId) -> Result<Vec<String>, MeasureError> {
        Ok(Vec::new())
    }
    fn probe(
        &mut self,
        _: &SensorSelection,
        _: Duration,
    ) -> Result<Box<dyn ProbeContext>, MeasureError> {
        let name = SensorName::new("dice", "table", "rolls");
        let slot = Arc::new(SensorSlot::new(name, ValueType::Int64));
        Ok(Box::new(DiceProbe { rolls: self.0, slot, fails: false }))
    }
}

impl ProbeContext for DiceProbe {
    fn prepare(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }
    fn sample(
        &mut self,
        _: Option<std::time::Instant>,
        _: &mut Vec<Anomaly>,
    ) -> Result<(), MeasureError> {
        self.rolls += 1;
        self.fails = self.rolls % 2 == 0;
        match self.fails {
            true => Err(MeasureError::Other("the dice fell off the table".into())),
            false => Ok(()),
        }
    }
    fn decode(
        &mut self,
        failed: Option<&MeasureError>,
        _: &mut Vec<Anomaly>,
        out: &mut Vec<SensorReading>,
    ) {
        let value = match failed {
            None => Ok(perfhive_format::CookedValue::Integer(self.rolls as u64)),
            Some(error) => Err(NoValue::SourceFailed(SourceError::new(
                SourceErrorKind::Unavailable,
                "dice",
                error,
            ))),
        };
        out.push(SensorReading::new(0, Arc::clone(&self.slot), value));
    }
}

#[test]
fn when_a_user_defined_data_source_fails_the_others_have_values() {
    let scripted = Scripted::new([
        Answer::Machine(1, vec![("a", 7, 3, 0)]),
        Answer::Machine(2, vec![("a", 7, 3, SECOND)]),
        Answer::Machine(3, vec![("a", 7, 3, 2 * SECOND)]),
    ]);
    let mut sources = sources(&scripted);
    sources.add(Dice(0)).unwrap();
    let one = format!("{TIME}#7");
    let names = [name("dice/table/rolls"), name(&one), name("dice/table/rolls")];
    let names = &names[..2];
    let mut context = MeasurementContext::new(&mut sources, names).unwrap();
    assert_eq!(cycle(&mut context), pairs(&[("", "1"), ("7", "100")]));
    assert_eq!(cycle(&mut context), pairs(&[("", "source-failed"), ("7", "100")]));
    assert_eq!(anomalies(&context), ["dice: the dice fell off the table"]);
    assert_eq!(context.record().unwrap().anomalies[0].code(), "failed");
}

#[test]
fn a_source_that_hangs_is_late_at_its_deadline() {
    let shown = shows(bytes(1, false, &[("a", 7, 3, 0)]));
    let worker = Worker::new(shown.clone(), None).unwrap();
    let mut sources = DataSources::new();
    let cached = Cached::builder(worker).max_age(Duration::ZERO).build();
    sources.add(CounterSource::new("slow", cached)).unwrap();
    sources.add(Dice(2)).unwrap();
    let names = [name("slow/Process/ID Process#7"), name("dice/table/rolls")];
    let options = MeasurementOptions::new().patience(Duration::from_millis(50));
    let mut context = MeasurementContext::with_options(&mut sources, &names, options).unwrap();
    shown.hold(true);
    let found = cycle(&mut context);
    assert_eq!(found, pairs(&[("7", "source-failed"), ("", "3")]));
    assert_eq!(context.record().unwrap().anomalies, [Anomaly::Late { source: "slow".into() }]);
}

#[test]
fn a_record_has_the_clocks_before_and_after_the_sample() {
    struct Broken;
    impl TimeSource for Broken {
        fn name(&self) -> &str {
            "broken"
        }
        fn resolution(&self) -> Duration {
            Duration::from_secs(1)
        }
        fn now(&mut self) -> Option<i64> {
            None
        }
    }
    let scripted = Scripted::new([Answer::Machine(1, vec![("a", 7, 3, 0)])]);
    let options =
        MeasurementOptions::new().time(WallTime).time(MonotonicTime::default()).time(Broken);
    let names = [name(&format!("{TIME}#7"))];
    let mut context =
        MeasurementContext::with_options(&mut sources(&scripted), &names, options).unwrap();
    cycle(&mut context);
    let record = context.record().unwrap();
    let times: Vec<_> = record.times.iter().map(|time| &*time.name).collect();
    assert_eq!(times, ["wall", "monotonic", "broken"]);
    assert!(record.times[1].before < record.times[1].after);
    assert_eq!(record.times[2].before, None);
    assert!(record.duration > Duration::ZERO);
}
