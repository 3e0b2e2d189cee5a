//! The record of a sample: every source has its places in it, and allocations are reported.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(clippy::unit_arg, reason = "what a probe does, in one line")]

use perfhive_engine::measure::{
    Anomaly, CounterSource, DataSource, DataSources, MeasureError, MeasurementContext,
    MeasurementOptions, MonotonicTime, ProbeContext, Readings, Sensor, SensorId, SensorKind,
    SensorName, SensorReading, SensorSelection, State, ValueType,
};
use perfhive_engine::{
    Ask, Broker, Cached, Collection, Fault, FaultKind, Frame, FramePool, Numbering, ObjectWriter,
    Provider, ProviderError, Snapshot, Source, SourceError,
};
use perfhive_format::{
    BlockHead, BlockWriter, CounterSpec, CounterType, InstanceHead, LanguageId, NameRef,
    ObjectSpec, ObjectTemplate, TitleIndex,
};
use perfhive_recording::ReplaySource;
use perfhive_testkit::alloc::{Counting, count};
use perfhive_testkit::script::{Row, ScriptProvider, block, titles};
use perfhive_testkit::shown::ShownBlock;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PATHS: TitleIndex = TitleIndex(700);
const NAMES: [(u32, &str); 3] = [(700, "Paths"), (8, "Level"), (9, "Depth")];

fn shows(block: Vec<u8>) -> ShownBlock {
    let shown = ShownBlock::new(&NAMES, block).pooled();
    shown.change_catalogue(|catalogue| {
        for counter in catalogue.objects.iter_mut().flat_map(|object| &mut object.counters) {
            counter.on_request = counter.name == TitleIndex(9);
        }
    });
    shown
}

/// Two counters of raw numbers; counter 9 is filled only on request.
fn specs() -> [CounterSpec; 2] {
    [8, 9].map(|name| CounterSpec::new(TitleIndex(name), CounterType::PERF_COUNTER_LARGE_RAWCOUNT))
}

fn paths(names: &[&str]) -> Vec<u8> {
    let rows: Vec<Row<'_>> = names.iter().map(|name| (*name, None, &[1, 2][..])).collect();
    block("host", 1, &[(PATHS, &specs(), &rows)])
}

/// A block of instances, each with a name, a number of its own and a level.
fn numbered(list: &[(&str, i32, u64)]) -> Vec<u8> {
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead { system_name: "host", ..BlockHead::default() });
    let object = ObjectSpec::new(PATHS).with_instances();
    let template = ObjectTemplate::new(&object, &specs()).unwrap();
    let mut object = writer.object(&template).unwrap();
    for (name, id, level) in list {
        let head = InstanceHead { name: NameRef::Text(name), unique_id: Some(*id), parent: None };
        object.instance(&head, &[*level, 0]).unwrap();
    }
    object.finish().unwrap();
    writer.finish().to_vec()
}

fn cached(shown: &ShownBlock) -> Cached<ShownBlock> {
    Cached::builder(shown.clone()).max_age(Duration::ZERO).build()
}

/// A context for sensors of sources `a`, `b` and so on.
fn context(shown: &[&ShownBlock], names: &[&str]) -> MeasurementContext {
    let mut sources = DataSources::new();
    for (shown, name) in shown.iter().zip(["a", "b"]) {
        sources.add(CounterSource::new(name, cached(shown))).unwrap();
    }
    let names: Vec<SensorName> = names.iter().map(|name| name.parse().unwrap()).collect();
    MeasurementContext::new(&mut sources, &names).unwrap()
}

/// Runs one cycle. Returns the number of allocations of its sample.
fn cycle(context: &mut MeasurementContext) -> u64 {
    context.prepare().unwrap();
    let (_, allocations) = count(|| context.sample().map(|_| ()).unwrap());
    context.decode(&mut Readings::new()).unwrap();
    allocations.count
}

fn anomalies(context: &MeasurementContext) -> Vec<String> {
    context.record().unwrap().anomalies.iter().map(ToString::to_string).collect()
}

fn faults(count: u32) -> Vec<Fault> {
    let fault = |number| Fault::new(FaultKind::CollectFailed, "p", format!("no {number}"));
    (0..count).map(fault).collect()
}

const SETTLING: usize = 8;

#[test]
fn many_faults_of_one_source_leave_those_of_another_their_places() {
    let [a, b] = [0, 1].map(|_| shows(paths(&["x"])));
    a.add_faults(faults(100));
    let mut context = context(&[&a, &b], &["a/Paths/Level#x", "b/Paths/Level#x"]);
    for _ in 0..SETTLING {
        cycle(&mut context);
    }
    assert_eq!(cycle(&mut context), 0);
    let said = anomalies(&context);
    assert_eq!((said[0].as_str(), said[62].as_str()), ("a: no 0", "a: no 62"));
    assert_eq!(said[63..], ["a: 37 more anomalies"]);

    b.show(paths(&[&["another"; 500][..], &["x"]].concat()));
    b.add_faults(faults(1));
    assert!(cycle(&mut context) > 0);
    let said = anomalies(&context);
    assert_eq!(said[63..], ["a: 37 more anomalies", "b: a buffer had to grow", "b: no 0"]);
    // As many as there are places are all kept.
    a.add_faults(faults(64));
    cycle(&mut context);
    assert_eq!(anomalies(&context)[63], "a: no 63");
}

#[test]
fn a_new_fault_that_allocates_is_reported_as_growth() {
    let shown = shows(paths(&["x"]));
    let mut context = context(&[&shown], &["a/Paths/Level#x"]);
    for _ in 0..SETTLING {
        cycle(&mut context);
    }
    assert_eq!((cycle(&mut context), anomalies(&context)), (0, vec![]));
    let mut grew = 0;
    for number in 1..=40 {
        shown.add_faults(faults(number));
        for _ in 0..3 {
            let allocations = cycle(&mut context);
            let said = anomalies(&context);
            assert_eq!(said.last().unwrap(), &format!("a: no {}", number - 1));
            let told = said.iter().any(|what| what == "a: a buffer had to grow");
            assert!(allocations == 0 || told, "{allocations} allocations: {said:?}");
            grew += u32::from(told);
        }
    }
    assert!((1..20).contains(&grew), "{grew}");
}

/// What a probe does with the list of anomalies in its sample.
type Does = fn(&mut Vec<Anomaly>) -> Result<(), MeasureError>;

struct Own(&'static str, Does);

impl DataSource for Own {
    fn name(&self) -> &str {
        self.0
    }
    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
        Ok(Arc::new([Sensor::new(
            SensorId(1),
            SensorName::new(self.0, "group", "sensor"),
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
        Ok(Box::new(OwnProbe(self.1)))
    }
}

struct OwnProbe(Does);

impl ProbeContext for OwnProbe {
    fn prepare(&mut self) -> Result<(), MeasureError> {
        Ok(())
    }
    fn sample(&mut self, _: Option<Instant>, list: &mut Vec<Anomaly>) -> Result<(), MeasureError> {
        assert!(list.is_empty() && list.capacity() >= 64);
        (self.0)(list)
    }
    fn decode(
        &mut self,
        _: Option<&MeasureError>,
        list: &mut Vec<Anomaly>,
        _: &mut Vec<SensorReading>,
    ) {
        assert!(list.is_empty(), "{list:?}");
        list.push(Anomaly::Born { group: "own".into(), count: 2 });
    }
}

fn own_context(list: &[(&'static str, Does)]) -> MeasurementContext {
    let mut sources = DataSources::new();
    let mut names = Vec::new();
    for (name, does) in list {
        sources.add(Own(name, *does)).unwrap();
        names.push(SensorName::new(name, "group", "sensor"));
    }
    let options = MeasurementOptions::new().time(MonotonicTime::default());
    MeasurementContext::with_options(&mut sources, &names, options).unwrap()
}

#[test]
fn a_probe_cannot_change_the_anomalies_of_others() {
    fn grown() -> Anomaly {
        Anomaly::BufferGrown { source: "own".into() }
    }
    fn broke() -> Result<(), MeasureError> {
        Err(MeasureError::Other("broke".into()))
    }
    let nothing: Does = |_| Ok(());
    let does: [(&str, Does, &[&str]); 8] = [
        ("pushes", |list| Ok(list.push(grown())), &["own: a buffer had to grow"]),
        ("inserts", |list| Ok(list.insert(0, grown())), &["own: a buffer had to grow"]),
        ("clears", |list| Ok(list.clear()), &[]),
        ("takes", |list| Ok(drop(std::mem::take(list))), &[]),
        (
            "clears and pushes",
            |list| {
                list.clear();
                list.push(grown());
                broke()
            },
            &["one: broke", "own: a buffer had to grow"],
        ),
        ("pops", |list| list.pop().map_or_else(broke, |_| Ok(())), &["one: broke"]),
        (
            "reverses",
            |list| {
                list.push(grown());
                list.push(Anomaly::Gone { group: "own".into(), count: 1 });
                list.reverse();
                Ok(())
            },
            &["own: 1 instance gone", "own: a buffer had to grow"],
        ),
        (
            "fails late",
            |list| {
                list.reverse();
                Err(SourceError::new(perfhive_engine::SourceErrorKind::Deadline, "x", "y").into())
            },
            &["one: did not answer in time"],
        ),
    ];
    for (what, does, expected) in does {
        let other: Does = |list| Ok(list.push(Anomaly::Late { source: "slow".into() }));
        let mut context = own_context(&[("one", does), ("two", other), ("three", nothing)]);
        for _ in 0..2 {
            context.prepare().unwrap();
            context.sample().unwrap();
            let said = [expected, &["slow: did not answer in time"]].concat();
            assert_eq!(anomalies(&context), said, "{what}");
            context.decode(&mut Readings::new()).unwrap();
            let said = [&said[..], &["own: 2 instances new"; 3]].concat();
            assert_eq!(anomalies(&context), said, "{what}");
        }
    }
}

#[test]
fn anomalies_beyond_the_record_are_counted_and_growth_is_kept() {
    let many: Does = |list| {
        list.extend((0..100).map(|count| Anomaly::Gone { group: "own".into(), count }));
        list.push(Anomaly::BufferGrown { source: "own".into() });
        Ok(())
    };
    let mut context = own_context(&[("one", many)]);
    context.prepare().unwrap();
    context.sample().unwrap();
    let said = anomalies(&context);
    assert_eq!((said.len(), said[0].as_str()), (64, "own: a buffer had to grow"));
    assert_eq!(said[63], "one: 38 more anomalies");
}

#[test]
fn after_a_panic_the_next_record_has_no_old_anomalies() {
    let fine: Does = |list| Ok(list.push(Anomaly::Late { source: "slow".into() }));
    let panics: Does = |_| panic!("told to");
    let mut context = own_context(&[("one", fine), ("two", panics)]);
    context.prepare().unwrap();
    let ended = catch_unwind(AssertUnwindSafe(|| context.sample().map(|_| ())));
    assert!(ended.is_err());
    assert_eq!(context.state(), State::Initialized);
    let record = context.record().unwrap();
    assert_eq!((&record.anomalies[..], record.duration), (&[][..], Duration::ZERO));
    assert_eq!(record.times[0].after, None);
    // The next record has nothing of the panic.
    context.prepare().unwrap();
    assert_eq!(anomalies_of_failed(&mut context), Vec::<String>::new());
}

fn anomalies_of_failed(context: &mut MeasurementContext) -> Vec<String> {
    assert!(catch_unwind(AssertUnwindSafe(|| context.sample().map(|_| ()))).is_err());
    anomalies(context)
}

/// The number of cycles whose sample allocates, for a source with one sensor.
fn allocating(source: impl Source + 'static, cycles: usize) -> usize {
    let mut sources = DataSources::new();
    let cached = Cached::builder(source).max_age(Duration::ZERO).build();
    sources.add(CounterSource::new("a", cached)).unwrap();
    let names = ["a/Paths/Level#*".parse().unwrap()];
    let mut context = MeasurementContext::new(&mut sources, &names).unwrap();
    (0..cycles).filter(|_| cycle(&mut context) > 0).count()
}

#[test]
fn allocations_for_a_sample_are_reported() {
    // Objects are copied out of the blocks of a recording.
    let samples = (1..=20).map(|second| (second.to_string(), paths(&["x"])));
    let log = ReplaySource::new("log", samples).unwrap();
    assert_eq!(allocating(log.with_titles(LanguageId::ENGLISH, &titles(&NAMES)), 19), 19);
    // The message of a fault is made once.
    let object = ObjectSpec::new(PATHS).with_instances();
    let template = ObjectTemplate::new(&object, &specs()).unwrap();
    let told = |faults: fn(u64) -> bool| {
        let (template, taken) = (template.clone(), AtomicU64::new(0));
        let write = move |_: &Collection<'_>, out: &mut ObjectWriter<'_>| {
            let taken = taken.fetch_add(1, Ordering::Relaxed);
            if faults(taken) {
                out.fault(PATHS, Some("x"), "no permission");
                out.warning(Some(PATHS), "counts less than there is");
                out.warning(None, "says this of all that it has");
            }
            let mut object = out.object(&template)?;
            let head = InstanceHead { name: NameRef::Text("x"), unique_id: None, parent: None };
            object.instance(&head, &[taken, 0])?;
            object.finish()?;
            Ok(())
        };
        let mut provider = ScriptProvider::new("p", Numbering::Windows, &NAMES, write);
        provider.description.objects[0].spec.has_instances = true;
        let provider = Arc::new(provider) as Arc<dyn Provider>;
        allocating(Broker::builder("test:", "HOST").providers([provider]).build(), 40)
    };
    let first = told(|_| false);
    assert!(first < 10, "{first}");
    assert!(told(|_| true) < 10);
    assert!(told(|taken| taken % 4 == 0) < 10);
}

/// A source of one damaged and one sound object, asked for both.
#[test]
fn a_lasting_fault_is_formatted_once() {
    let mut bytes = block("host", 1, &[(PATHS, &specs(), &[("x", None, &[1, 2])])]);
    let start = bytes.len();
    let whole = block("host", 1, &[(TitleIndex(800), &specs(), &[("x", None, &[1, 2])])]);
    let from = Frame::new(whole.clone(), 0).unwrap();
    bytes.extend_from_slice(from.object(0).unwrap().as_bytes());
    // Two objects; the second claims definitions longer than itself.
    let length = bytes.len() as u32;
    bytes[20..24].copy_from_slice(&length.to_le_bytes());
    bytes[28..32].copy_from_slice(&2u32.to_le_bytes());
    bytes[start + 4..start + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    let damaged = Frame::new(bytes.clone(), 0).unwrap();
    assert_eq!((damaged.object_count(), damaged.damaged().len()), (1, 1));
    assert!(allocating(shows(bytes), 30) < 10);
    // Providers that fail.
    let failing = || -> Arc<dyn Provider> {
        let fail = |_: &Collection<'_>, _: &mut ObjectWriter<'_>| {
            Err(ProviderError::Failed("has nothing".to_string()))
        };
        let mut provider = ScriptProvider::new("p", Numbering::Windows, &NAMES, fail);
        provider.description.objects[0].spec.has_instances = true;
        Arc::new(provider)
    };
    let broker = || Broker::builder("test:", "HOST").provider(failing());
    let quarantined = allocating(broker().build(), 40);
    assert!(quarantined < 12, "{quarantined}");
    assert_eq!(allocating(broker().quarantine_after(0).build(), 20), 20);
}

/// The other reader takes the collected frame without allocating.
#[test]
fn growth_is_reported_only_by_the_reader_that_collected() {
    let shown = shows(paths(&["x"]));
    let mut first = Cached::builder(shown.clone()).max_age(Duration::from_secs(3600)).build();
    let mut second = first.clone();
    let (mut one, mut other) = (Snapshot::new(), Snapshot::new());
    let request = Ask::objects(&[PATHS]);
    for _ in 0..SETTLING {
        first.collect(&request, &mut one).unwrap();
        second.collect(&request, &mut other).unwrap();
    }
    let many: Vec<String> = (0..500).map(|number| number.to_string()).collect();
    shown.show(paths(&many.iter().map(String::as_str).collect::<Vec<_>>()));
    first.collect(&request, &mut one).unwrap();
    second.collect(&request, &mut other).unwrap();
    assert!(one.has_grown() && one.frames()[0].has_grown());
    assert!(Arc::ptr_eq(&one.frames()[0], &other.frames()[0]));
    assert!(!other.has_grown());
}

#[test]
fn samples_beyond_the_end_of_a_recording_allocate_nothing() {
    let samples = (1..=3).map(|second| (second.to_string(), paths(&["x"])));
    let log = ReplaySource::new("log", samples).unwrap();
    let log = log.with_titles(LanguageId::ENGLISH, &titles(&NAMES));
    let shown = shows(paths(&["x"]));
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("a", cached(&shown))).unwrap();
    sources.add(CounterSource::new("log", Cached::new(log))).unwrap();
    let names = ["a/Paths/Level#x", "log/Paths/Level#x"].map(|name| name.parse().unwrap());
    let mut context = MeasurementContext::new(&mut sources, &names).unwrap();
    for _ in 0..SETTLING {
        cycle(&mut context);
    }
    assert_eq!(cycle(&mut context), 0);
    assert_eq!(anomalies(&context), ["log: log: the recording has no more than 3 samples"]);
}

/// Numbered instances in the order of their block, their labels, and the level of number 2.
type Step =
    (&'static [(&'static str, i32, u64)], &'static [(&'static str, &'static str)], &'static str);

#[test]
fn numbered_instances_have_their_present_labels() {
    const STEPS: [Step; 4] = [
        (
            &[("x", 1, 10), ("x", 2, 20), ("y", 9, 90)],
            &[("x", "10"), ("x#1", "20"), ("y", "90")],
            "20",
        ),
        (
            &[("x", 2, 21), ("x", 3, 31), ("y", 9, 91)],
            &[("x", "21"), ("x#1", "31"), ("y", "91")],
            "21",
        ),
        (
            &[("x", 3, 32), ("y", 9, 92), ("x", 2, 22)],
            &[("x", "32"), ("y", "92"), ("x#1", "22")],
            "22",
        ),
        (&[("x", 3, 33)], &[("x", "33")], "vanished"),
    ];
    let shown = shows(numbered(STEPS[0].0));
    let mut context = context(&[&shown], &["a/Paths/Level#*", "a/Paths/Level#x%231"]);
    let mut source = CounterSource::new("a", shown.clone());
    let level = source.sensors().unwrap()[0].id;
    for (instances, called, second) in STEPS {
        shown.show(numbered(instances));
        cycle(&mut context);
        let text = |reading: &SensorReading| match &reading.value {
            Ok(value) => value.to_string(),
            Err(why) => why.code().to_string(),
        };
        let values = context.values().unwrap();
        let (all, one): (Vec<_>, Vec<_>) = values.iter().partition(|reading| reading.asked == 0);
        let name = |reading: &SensorReading| reading.slot.name.instance().unwrap().to_string();
        let found: Vec<_> = all.iter().map(|reading| (name(reading), text(reading))).collect();
        let called: Vec<_> =
            called.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(found, called);
        let names: Vec<_> = called.into_iter().map(|(name, _)| name).collect();
        assert_eq!(source.instances(level).unwrap(), names);
        // An instance selected by name stays the same one.
        assert_eq!((name(one[0]).as_str(), text(one[0]).as_str()), ("x#1", second));
    }
}

#[test]
fn an_instance_that_cannot_be_found_has_a_reason() {
    let shown = shows(paths(&["x"]));
    let mut source = CounterSource::new("a", shown.clone());
    let level = source.sensors().unwrap()[0].id;
    assert_eq!(source.instances(level).unwrap(), ["x"]);
    let of_whole = CounterSource::<ShownBlock>::sensor_id(PATHS, TitleIndex(0));
    assert_eq!(source.instances(of_whole).unwrap(), ["x"]);
    // Numbers without a sensor.
    for (object, counter, name) in [(0, 12345, "a/0/12345"), (700, 7, "a/Paths/7")] {
        let unknown =
            CounterSource::<ShownBlock>::sensor_id(TitleIndex(object), TitleIndex(counter));
        let error = source.instances(unknown).unwrap_err();
        assert!(matches!(error, MeasureError::UnknownSensor { .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("no sensor {name}"));
    }

    shown.show(block("host", 1, &[]));
    let new = |name: &str| {
        let mut sources = DataSources::new();
        sources.add(CounterSource::new("a", shown.clone())).unwrap();
        MeasurementContext::new(&mut sources, &[name.parse().unwrap()]).map(|_| ())
    };
    // Without a fault of the source, the instance is unknown.
    assert_eq!(source.instances(level).unwrap(), Vec::<String>::new());
    let error = new("a/Paths/Level#x").unwrap_err();
    assert_eq!(error.to_string(), "no instance \"x\" of a/Paths/Level");
    shown.add_faults(vec![Fault::new(FaultKind::Panicked, "p", "panicked: boom").of_object(PATHS)]);
    let error = source.instances(level).unwrap_err();
    assert_eq!(error.to_string(), "a/Paths/Level: panicked: boom");
    let error = new("a/Paths/Level#x").unwrap_err();
    assert_eq!(error.to_string(), "a/Paths/Level#x: panicked: boom");
    assert!(!error.is_misuse());
    // A sensor for all instances has it with the first sample.
    assert_eq!(new("a/Paths/Level#*"), Ok(()));
}

#[test]
fn a_pool_grows_with_its_consumers_and_shrinks_after_them() {
    let mut pool = FramePool::default();
    let mut fill = |number: u64| {
        let bytes = paths(&["x"]);
        pool.fill(number, |buffer| buffer.clone_from(&bytes)).unwrap()
    };
    // Each of twenty consumers holds its newest two samples.
    let mut held: Vec<std::collections::VecDeque<Arc<Frame>>> = vec![Default::default(); 20];
    let mut grown = 0;
    for number in 0..400u64 {
        let samples = &mut held[number as usize % 20];
        if samples.len() == 2 {
            samples.pop_front();
        }
        let frame = fill(number);
        grown += usize::from(frame.has_grown());
        samples.push_back(frame);
    }
    assert_eq!(grown, 40);
    // One consumer is left: the frames of the others are freed within some hundred fills.
    held.truncate(1);
    for number in 400..1200 {
        held[0].pop_front();
        let frame = fill(number);
        assert!(!frame.has_grown());
        held[0].push_back(frame);
    }
    let kept = format!("{pool:?}").matches("Frame {").count();
    assert!(kept <= 3, "{kept} frames are kept");
}
