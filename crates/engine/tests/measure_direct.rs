//! Measuring instances that a source reads without blocks.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{
    CounterSource, DataSources, MeasurementContext, MeasurementOptions, Readings,
};
use perfhive_engine::{
    Ask, Catalogue, Identity, InstanceReader, NoValue, Snapshot, Source, SourceError, TitleDatabase,
};
use perfhive_format::{Clocks, CounterSpec, CounterType, LanguageId, RawSample, TitleIndex};
use perfhive_testkit::alloc::{Allocations, Counting, count};
use perfhive_testkit::script::block;
use perfhive_testkit::shown::ShownBlock;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROCESS: TitleIndex = TitleIndex(230);
const NAMES: [(u32, &str); 4] =
    [(6, "% Processor Time"), (230, "Process"), (684, "Elapsed Time"), (784, "ID Process")];
const SECOND: u64 = 10_000_000;

/// What the reader of each process gives next: seconds on the clock, and processor time.
type Script = Arc<Mutex<Result<(i64, Option<u64>), NoValue>>>;

#[derive(Clone)]
struct Machine {
    shown: ShownBlock,
    next: Script,
    /// How inexact the moments of its values are.
    inexact: Arc<Mutex<Duration>>,
    /// The process that has no reader.
    without: Option<u64>,
}

struct Reader {
    next: Script,
    inexact: Arc<Mutex<Duration>>,
    pid: u64,
}

impl InstanceReader for Reader {
    fn read(&mut self, out: &mut [Option<RawSample>]) -> Result<Duration, NoValue> {
        let (seconds, value) = self.next.lock().unwrap().clone()?;
        let clocks = Clocks { time_100ns: seconds * SECOND as i64, ..Clocks::default() };
        // The test asks for processor time and for the number.
        let values = [value, Some(self.pid)];
        for (out, value) in out.iter_mut().zip(values) {
            *out = value.map(|value| RawSample::new(value, clocks));
        }
        Ok(*self.inexact.lock().unwrap())
    }
}

impl Source for Machine {
    fn name(&self) -> &str {
        self.shown.name()
    }
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.shown.collect(ask, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.shown.catalogue(ask)
    }
    fn titles(&mut self, of: LanguageId, ask: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.shown.titles(of, ask)
    }
    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        let Identity::Process { id, .. } = *identity else { return None };
        let known = [TitleIndex(6), TitleIndex(784)];
        let has = object == PROCESS && counters == &known[..counters.len()];
        let (next, inexact) = (Arc::clone(&self.next), Arc::clone(&self.inexact));
        let reader = Reader { next, inexact, pid: id };
        (has && self.without != Some(id)).then(|| Box::new(reader) as Box<dyn InstanceReader>)
    }
}

fn machine() -> Machine {
    let specs = [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
    ];
    let rows: [(&str, _, &[u64]); 2] = [("a", None, &[5, 7, 3]), ("b", None, &[5, 8, 4])];
    let shown = ShownBlock::new(&NAMES, block("host", 1, &[(PROCESS, &specs, &rows)])).pooled();
    Machine {
        shown,
        next: Arc::new(Mutex::new(Ok((1, Some(0))))),
        inexact: Arc::new(Mutex::new(Duration::from_millis(40))),
        without: None,
    }
}

fn context(machine: &Machine, sensors: &[&str], max_age: Duration) -> MeasurementContext {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test.host", machine.clone())).unwrap();
    let names: Vec<_> = sensors.iter().map(|name| name.parse().unwrap()).collect();
    let options = MeasurementOptions::new().max_age(max_age);
    MeasurementContext::with_options(&mut sources, &names, options).unwrap()
}

const TIME: &str = "test.host/Process/%25 Processor Time#7";
const NUMBER: &str = "test.host/Process/ID Process#7";

fn cycle(context: &mut MeasurementContext) -> Vec<String> {
    let mut readings = Readings::new();
    context.prepare().unwrap();
    context.sample().unwrap();
    context.decode(&mut readings).unwrap();
    let shown = |value: &Result<_, NoValue>| match value {
        Ok(value) => format!("{value}"),
        Err(why) => why.code().to_string(),
    };
    readings.iter().map(|reading| shown(&reading.value)).collect()
}

#[test]
fn one_instance_is_read_without_a_block() {
    let machine = machine();
    let mut context = context(&machine, &[TIME, NUMBER], Duration::ZERO);
    let baseline = context.values().unwrap();
    let values: Vec<_> = baseline.iter().map(|reading| reading.value.is_ok()).collect();
    assert_eq!(values, [false, true], "a rate needs two samples");
    let collections = machine.shown.taken();
    *machine.next.lock().unwrap() = Ok((3, Some(SECOND / 2)));
    let mut readings = Readings::new();
    context
        .section(&mut readings, || *machine.next.lock().unwrap() = Ok((5, Some(SECOND))))
        .unwrap();
    let time = readings.iter().next().unwrap();
    assert_eq!((time.before, time.raw), (Some(SECOND / 2), Some(SECOND)));
    assert_eq!(time.time(), Some(Duration::from_millis(500)));
    assert_eq!(time.value.as_ref().unwrap().as_f64(), 25.0);
    assert_eq!(readings.iter().nth(1).unwrap().value.as_ref().unwrap().as_u64(), Some(7));
    assert_eq!(machine.shown.taken(), collections);
}

#[test]
fn readings_too_close_together_make_no_rate() {
    let machine = machine();
    let mut context = context(&machine, &[TIME, NUMBER], Duration::ZERO);
    *machine.next.lock().unwrap() = Ok((1, Some(SECOND)));
    // No time passed.
    assert_eq!(cycle(&mut context), ["no-time-passed", "7"]);
    // A second is long beside two times 40 ms.
    *machine.next.lock().unwrap() = Ok((2, Some(SECOND)));
    assert_eq!(cycle(&mut context), ["0", "7"]);
    *machine.inexact.lock().unwrap() = Duration::from_millis(70);
    *machine.next.lock().unwrap() = Ok((3, Some(SECOND)));
    assert_eq!(cycle(&mut context), ["no-time-passed", "7"]);
}

#[test]
fn a_sample_that_is_not_decoded_is_none() {
    let machine = machine();
    let mut context = context(&machine, &[TIME], Duration::ZERO);
    *machine.next.lock().unwrap() = Ok((2, Some(SECOND)));
    context.prepare().unwrap();
    context.sample().unwrap();
    *machine.next.lock().unwrap() = Ok((3, Some(SECOND)));
    // Of two seconds, since the baseline.
    assert_eq!(cycle(&mut context), ["50"]);
}

#[test]
fn blocks_serve_what_has_no_reader() {
    for (sensors, max_age, without) in [
        (vec![TIME], Duration::from_secs(1), None),
        (vec![TIME, "test.host/Process/ID Process#*"], Duration::ZERO, None),
        (vec![TIME, "test.host/Process/Elapsed Time#7"], Duration::ZERO, None),
        (vec![TIME, "test.host/Process/%25 Processor Time#8"], Duration::ZERO, Some(8)),
    ] {
        let machine = Machine { without, ..machine() };
        let mut context = context(&machine, &sensors, max_age);
        let collections = machine.shown.taken();
        // The block stays the same, and so no time passes in it.
        assert_eq!(cycle(&mut context)[0], "no-time-passed", "{sensors:?}");
        assert!(machine.shown.taken() > collections, "{sensors:?}");
    }
}

#[test]
fn an_instance_that_could_not_be_read_goes_on_and_one_that_is_gone_does_not() {
    let machine = machine();
    let mut context = context(&machine, &[TIME, NUMBER], Duration::ZERO);
    *machine.next.lock().unwrap() = Err(NoValue::InstanceFailed("no memory".into()));
    assert_eq!(cycle(&mut context), ["instance-failed", "instance-failed"]);
    assert!(context.record().unwrap().anomalies.is_empty());
    *machine.next.lock().unwrap() = Ok((2, None));
    assert_eq!(cycle(&mut context), ["no-data", "7"]);
    *machine.next.lock().unwrap() = Ok((3, Some(SECOND)));
    assert_eq!(cycle(&mut context), ["needs-two-samples", "7"]);
    *machine.next.lock().unwrap() = Err(NoValue::Vanished);
    assert_eq!(cycle(&mut context), ["vanished", "vanished"]);
    let gone: Vec<_> =
        context.record().unwrap().anomalies.iter().map(ToString::to_string).collect();
    assert_eq!(gone, ["test.host/Process: 1 instance gone"]);
    // Another process with its number is another one.
    *machine.next.lock().unwrap() = Ok((4, Some(SECOND)));
    assert_eq!(cycle(&mut context), ["vanished", "vanished"]);
    assert!(context.record().unwrap().anomalies.is_empty());
}

#[test]
fn a_warm_cycle_allocates_nothing() {
    let machine = machine();
    let mut context = context(&machine, &[TIME, NUMBER], Duration::ZERO);
    let mut readings = Readings::new();
    let mut seconds = 1;
    let mut run = || {
        seconds += 1;
        *machine.next.lock().unwrap() = Ok((seconds, Some(SECOND)));
        context.prepare().unwrap();
        context.sample().unwrap();
        context.decode(&mut readings).unwrap();
    };
    (0..3).for_each(|_| run());
    let ((), allocations) = count(|| (0..10).for_each(|_| run()));
    assert_eq!(allocations, Allocations::default());
}
