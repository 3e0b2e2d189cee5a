//! The age of the data that a measurement takes from a cache that it shares.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{
    Anomaly, CounterSource, DataSource, DataSources, MeasurementContext, MeasurementOptions,
    Readings,
};
use perfhive_engine::{
    Ask, Broker, Cached, Collection, Numbering, ObjectWriter, Query, Snapshot, Source,
};
use perfhive_format::{
    CounterSpec, CounterType, InstanceHead, ObjectSpec, ObjectTemplate, TitleIndex,
};
use perfhive_testkit::script::ScriptProvider;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const WORKERS: TitleIndex = TitleIndex(500);
const LIMIT: Duration = Duration::from_millis(500);

/// The state of a machine when it is collected: the work done so far, and the number of
/// workers beside the first.
#[derive(Default)]
struct Machine {
    work: AtomicU64,
    workers: AtomicU64,
    /// Whether the first worker's values change too fast to be read.
    busy: AtomicBool,
    /// Whether the sample lacks the object.
    absent: AtomicBool,
    /// Milliseconds on the clock of the cache.
    now: AtomicU64,
}

impl Machine {
    fn works(&self, amount: u64, milliseconds: u64) {
        self.work.fetch_add(amount, Ordering::Relaxed);
        self.now.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

fn cache(machine: &Arc<Machine>) -> Cached<Broker> {
    let counter = CounterSpec::new(TitleIndex(502), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
    let spec = ObjectSpec::new(WORKERS).with_instances();
    let template = ObjectTemplate::new(&spec, &[counter]).unwrap();
    let seen = Arc::clone(machine);
    let script = move |_: &Collection<'_>, out: &mut ObjectWriter<'_>| {
        if seen.absent.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut object = out.object(&template)?;
        let busy = seen.busy.load(Ordering::Relaxed);
        for worker in u64::from(busy)..=seen.workers.load(Ordering::Relaxed) {
            let name = format!("w{worker}");
            let mut head = InstanceHead::named(&name);
            head.unique_id = i32::try_from(worker).ok();
            object.instance(&head, &[seen.work.load(Ordering::Relaxed)])?;
        }
        object.finish()?;
        if busy {
            out.busy(WORKERS, Some("w0"), "changes too fast");
        }
        Ok(())
    };
    let names = [(500, "Workers"), (502, "Work")];
    let mut provider = ScriptProvider::new("workers", Numbering::Windows, &names, script);
    provider.description.objects[0].spec = spec;
    provider.description.objects[0].counters = vec![counter];
    let broker = Broker::builder("box:", "BOX").provider(Arc::new(provider)).build();
    let clock = Arc::clone(machine);
    Cached::builder(broker)
        .max_age(LIMIT)
        .clock(move || Duration::from_millis(clock.now.load(Ordering::Relaxed)))
        .build()
}

fn context(
    cache: &Cached<Broker>,
    worker: &str,
    options: MeasurementOptions,
) -> MeasurementContext {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("a", cache.clone())).unwrap();
    let names = [format!("a/Workers/Work#{worker}").parse().unwrap()];
    MeasurementContext::with_options(&mut sources, &names, options).unwrap()
}

fn collect(reader: &mut Cached<Broker>) {
    reader.collect(&Ask::objects(&[WORKERS]), &mut Snapshot::new()).unwrap();
}

/// Takes a sample. Returns the work that it sees.
fn sample(context: &mut MeasurementContext) -> u64 {
    let mut readings = Readings::new();
    context.prepare().unwrap();
    context.sample().unwrap();
    context.decode(&mut readings).unwrap();
    readings.iter().next().unwrap().raw.unwrap()
}

#[test]
fn a_sample_is_of_its_own_moment_though_another_reader_sampled_just_before() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    let mut other = cache.clone();
    let mut context = context(&cache, "w0", MeasurementOptions::new());
    machine.works(400, 100);
    collect(&mut other);
    machine.works(50, 10);
    assert_eq!(sample(&mut context), 450);
    let record = context.record().unwrap();
    assert_eq!(record.age, Duration::ZERO);
    assert!(!record.anomalies.iter().any(|one| matches!(one, Anomaly::Aged { .. })));
}

#[test]
fn shared_data_within_the_limit_has_its_age_in_the_record_and_among_the_anomalies() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    let mut other = cache.clone();
    let mut context = context(&cache, "w0", MeasurementOptions::new().max_age(LIMIT));
    machine.works(400, 100);
    // Data of before the baseline may be what the context had.
    other.collect(&Ask::objects(&[WORKERS]).max_age(Duration::ZERO), &mut Snapshot::new()).unwrap();
    machine.works(50, 10);
    assert_eq!(sample(&mut context), 400);
    let record = context.record().unwrap();
    let age = Duration::from_millis(10);
    assert_eq!(record.age, age);
    assert_eq!(record.anomalies, [Anomaly::Aged { source: "a".into(), age }]);
    assert_eq!(record.anomalies[0].to_string(), "a: its data is 10.0ms old");
    machine.works(1, 600);
    assert_eq!(sample(&mut context), 451, "what was kept is too old");
    assert_eq!(context.record().unwrap().age, Duration::ZERO);
}

#[test]
fn a_section_has_the_differences_of_its_own_work() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    let mut context = context(&cache, "w0", MeasurementOptions::new());
    let mut readings = Readings::new();
    for work in [3, 40] {
        machine.works(1000, 100);
        let done = context.section(&mut readings, || {
            machine.works(work, 5);
            collect(&mut cache.clone());
            "done"
        });
        assert_eq!(done.unwrap(), "done");
        machine.works(1000, 100);
        let [reading] = &readings.iter().collect::<Vec<_>>()[..] else { panic!("one sensor") };
        assert_eq!(reading.difference(), Some(work));
        assert_eq!(reading.before.map(|before| before + work), reading.raw);
    }
    // A gauge that shrank has both ends and no difference.
    context.section(&mut readings, || machine.work.store(1, Ordering::Relaxed)).unwrap();
    let reading = readings.iter().next().unwrap();
    assert_eq!((reading.raw, reading.difference()), (Some(1), None));
    assert!(reading.before > reading.raw);
}

/// The sample before the section has a value, and would be its beginning.
#[test]
fn section_that_begins_without_the_object_has_no_difference() {
    let machine = Arc::new(Machine::default());
    let mut context = context(&cache(&machine), "w0", MeasurementOptions::new());
    machine.works(100, 100);
    assert_eq!(sample(&mut context), 100);
    machine.absent.store(true, Ordering::Relaxed);
    let mut readings = Readings::new();
    let work = || {
        machine.absent.store(false, Ordering::Relaxed);
        machine.works(7, 100);
    };
    context.section(&mut readings, work).unwrap();
    let reading = readings.iter().next().unwrap();
    assert_eq!((reading.raw, reading.before, reading.difference()), (Some(107), None, None));
    let values = context.values().unwrap().iter().next().unwrap().clone();
    assert_eq!((values.raw, values.before), (Some(107), None));
}

#[test]
fn an_instance_that_is_younger_than_the_kept_data_is_found() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    collect(&mut cache.clone());
    machine.workers.fetch_add(1, Ordering::Relaxed);
    for options in [MeasurementOptions::new(), MeasurementOptions::new().max_age(LIMIT)] {
        sample(&mut context(&cache, "w1", options));
    }
    machine.workers.fetch_add(1, Ordering::Relaxed);
    let mut source = CounterSource::new("a", cache.clone());
    let sensor = source.sensors().unwrap()[0].id;
    assert_eq!(source.instances(sensor).unwrap(), ["w0", "w1", "w2"]);
}

#[test]
fn a_query_finds_an_instance_that_is_younger_than_the_kept_data() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    collect(&mut cache.clone());
    machine.works(1, 1);
    machine.workers.fetch_add(1, Ordering::Relaxed);
    let mut query = Query::new(cache.clone()).unwrap();
    let mut collect = |path: Option<&str>| {
        path.map(|path| query.add(path).unwrap());
        let before = cache.statistics().collections;
        query.collect().unwrap();
        let values = query.readings().iter().map(|reading| reading.value.is_ok());
        (values.collect::<Vec<_>>(), cache.statistics().collections - before)
    };
    assert_eq!(collect(Some(r"\Workers(w1)\Work")), (vec![true], 1));
    // One that is missing from fresh data does not make every sample a fresh one.
    let others = || {
        let mut other = cache.clone().max_age(Duration::ZERO);
        other.collect(&Ask::objects(&[WORKERS]), &mut Snapshot::new()).unwrap();
        machine.works(1, 1);
    };
    others();
    assert_eq!(collect(Some(r"\Workers(w9)\Work")), (vec![true, false], 1));
    others();
    assert_eq!(collect(None), (vec![true, false], 0));
}

#[test]
fn handles_and_queries_have_limits_of_their_own() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    let fresh = || cache.clone().max_age(Duration::ZERO);
    let query = |source| Query::new(source).unwrap();
    // What was kept has no work, what is collected has 7.
    for (mut query, expected) in [
        (query(cache.clone()), 0),
        (query(fresh()), 7),
        (query(fresh().clone()), 7),
        (query(cache.clone()).max_age(Duration::ZERO), 7),
        (query(fresh()).max_age(LIMIT), 0),
    ] {
        query.add(r"\Workers(w0)\Work").unwrap();
        machine.work.store(0, Ordering::Relaxed);
        cache.forget();
        collect(&mut cache.clone());
        machine.works(7, 1);
        query.collect().unwrap();
        let value = query.readings()[0].value.as_ref().unwrap().to_string();
        assert_eq!(value, expected.to_string());
    }
}

#[test]
fn an_instance_that_is_busy_in_one_sample_has_values_again_in_the_next() {
    let machine = Arc::new(Machine::default());
    let mut context = context(&cache(&machine), "w0", MeasurementOptions::new());
    machine.busy.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let mut readings = Readings::new();
        context.prepare().unwrap();
        context.sample().unwrap();
        context.decode(&mut readings).unwrap();
        let reading = readings.iter().next().unwrap();
        assert_eq!(reading.value.as_ref().map_err(|why| why.code()), Err("busy"));
    }
    machine.busy.store(false, Ordering::Relaxed);
    machine.works(7, 100);
    assert_eq!(sample(&mut context), 7);
}

#[test]
fn a_section_has_the_age_of_the_data_at_its_beginning() {
    let machine = Arc::new(Machine::default());
    let cache = cache(&machine);
    let mut other = cache.clone();
    let mut context = context(&cache, "w0", MeasurementOptions::new().max_age(LIMIT));
    other.collect(&Ask::objects(&[WORKERS]).max_age(Duration::ZERO), &mut Snapshot::new()).unwrap();
    machine.works(50, 10);
    context.section(&mut Readings::new(), || machine.works(1, 600)).unwrap();
    let record = context.record().unwrap();
    let age = Duration::from_millis(10);
    assert_eq!(record.age, age);
    assert_eq!(record.anomalies[0], Anomaly::Aged { source: "a".into(), age });
}
