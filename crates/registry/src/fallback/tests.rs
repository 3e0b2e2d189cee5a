//! The two sources together, with a registry that follows orders.

use super::*;
use crate::condition::{FIRST_PAUSE, LONGEST_PAUSE};
use perfhive_engine::{Broker, NoValue, Numbering, Provider, Query};
use perfhive_format::{CounterPlan, CounterSpec, CounterType};
use perfhive_testkit::alloc::count;
use perfhive_testkit::conformance;
use perfhive_testkit::script::ScriptProvider;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A provider of one object with one value.
fn provider(object: u32, name: &str, value: u64) -> Arc<dyn Provider> {
    let names = [(object, name), (object + 10_000, "Value"), (object + 20_000, "Value/sec")];
    let spec = [
        (10_000, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        (20_000, CounterType::PERF_COUNTER_BULK_COUNT),
    ]
    .map(|(offset, kind)| CounterSpec::new(TitleIndex(object + offset), kind));
    let head = perfhive_format::ObjectSpec::new(TitleIndex(object));
    let template = perfhive_format::ObjectTemplate::new(&head, &spec).unwrap();
    let script = move |_: &perfhive_engine::Collection<'_>,
                       out: &mut perfhive_engine::ObjectWriter<'_>| {
        out.object(&template)?.values(&[value, value])?.finish()?;
        Ok(())
    };
    let name = format!("p{object}");
    let mut provider = ScriptProvider::new(&name, Numbering::Windows, &names, script);
    provider.description.objects[0].counters = spec.to_vec();
    Arc::new(provider)
}

/// The queries that were made.
type Queries = Arc<Mutex<Vec<String>>>;

/// The orders that a test gives to the made-up registry.
#[derive(Clone, Default)]
struct Orders(Arc<Mutex<Order>>);

#[derive(Default)]
struct Order {
    fails: Option<SourceErrorKind>,
    /// Objects that are in the catalogue, and missing in samples.
    lacks: Vec<u32>,
    /// An object whose provider hangs.
    hangs: Option<u32>,
    /// Whether the registry's list of names cannot be read.
    unnamed: bool,
}

impl Orders {
    fn give(&self, change: impl FnOnce(&mut Order)) {
        change(&mut self.0.lock().unwrap());
    }
}

/// A made-up registry that follows the orders.
struct Registry {
    broker: Arc<Mutex<Broker>>,
    orders: Orders,
    asked: Queries,
}

impl Registry {
    fn check(&self) -> Result<(), SourceError> {
        match self.orders.0.lock().unwrap().fails {
            Some(kind) => Err(SourceError::new(kind, "local:", "out of order")),
            None => Ok(()),
        }
    }
}

impl TimedSource for Registry {
    fn set_timeout(&mut self, timeout: Duration) -> Duration {
        timeout
    }
}

impl Source for Registry {
    fn name(&self) -> &str {
        "local:"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        if let Ok(mut asked) = self.asked.try_lock() {
            // Without an allocation, for the test that counts them.
            if asked.len() < asked.capacity() {
                asked.push(request.objects.to_string());
            }
        }
        self.check()?;
        let told = self.orders.0.lock().unwrap();
        if told.hangs.is_some_and(|name| request.objects == ObjectQuery::one(TitleIndex(name))) {
            return Err(SourceError::new(
                SourceErrorKind::Deadline,
                "local:",
                "does not come back",
            ));
        }
        let mut broker = self.broker.lock().unwrap();
        if told.lacks.is_empty() {
            return broker.collect(request, out);
        }
        let mut names: Vec<TitleIndex> = match &request.objects {
            ObjectQuery::Indexes(list) => list.clone(),
            _ => broker
                .catalogue(&Ask::everything())?
                .objects
                .iter()
                .map(|object| object.name)
                .collect(),
        };
        names.retain(|name| !told.lacks.contains(&name.0));
        broker.collect(&Ask::objects(&names), out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        if !ask.is_nothing() {
            self.check()?;
        }
        self.broker.lock().unwrap().catalogue(ask)
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.check()?;
        if self.orders.0.lock().unwrap().unnamed {
            let message = "its list of names is damaged";
            return Err(SourceError::new(SourceErrorKind::Malformed, "local:", message));
        }
        self.broker.lock().unwrap().titles(language, &Ask::nothing())
    }
}

struct Parts {
    source: Fallback<Registry, Broker>,
    broker: Arc<Mutex<Broker>>,
    orders: Orders,
    asked: Queries,
    /// The time since the start of the test, in milliseconds.
    passed: Arc<AtomicU64>,
}

impl Parts {
    fn pass(&self, time: Duration) {
        self.passed.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }
}

/// A source with the four objects of the native functions.
pub(crate) fn native() -> Broker {
    let broker = Broker::builder("native:", "BOX");
    WINDOWS
        .iter()
        .fold(broker, |broker, (index, name)| broker.provider(provider(*index, name, 2)))
        .build()
}

/// A made-up registry with these objects, together with native functions for the four
/// objects of Windows.
fn parts(objects: &[(u32, &str)]) -> Parts {
    let mut broker = Broker::builder("local:", "BOX");
    for (index, name) in objects {
        broker = broker.provider(provider(*index, name, 1));
    }
    let asked = Arc::new(Mutex::new(Vec::with_capacity(16)));
    let (orders, broker) = (Orders::default(), Arc::new(Mutex::new(broker.build())));
    let registry =
        Registry { broker: Arc::clone(&broker), orders: orders.clone(), asked: Arc::clone(&asked) };
    let mut source = Fallback::new(registry, native());
    let (start, passed) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let clock = Arc::clone(&passed);
    source.clock = Box::new(move || start + Duration::from_millis(clock.load(Ordering::Relaxed)));
    Parts { source, broker, orders, asked, passed }
}

fn collect(source: &mut impl Source, query: &str) -> Snapshot {
    let mut snapshot = Snapshot::new();
    source.collect(&Ask::new(query.parse().unwrap()), &mut snapshot).unwrap();
    snapshot
}

/// The name's index of each object of an answer, in ascending order, and the value of its first counter,
/// which tells the source: 1 for the registry, 2 for native functions.
fn origins(snapshot: &Snapshot) -> Vec<(u32, u64)> {
    let mut origins: Vec<_> = snapshot
        .objects()
        .map(|object| {
            let view = object.view();
            let block = view.counter_block().unwrap();
            (view.name_index().0, CounterPlan::all(view)[0].value(block).unwrap())
        })
        .collect();
    origins.sort_unstable();
    origins
}

const WINDOWS: [(u32, &str); 4] =
    [(2, "System"), (230, "Process"), (232, "Thread"), (238, "Processor")];

const NATIVE: [(u32, u64); 4] = [(2, 2), (230, 2), (232, 2), (238, 2)];

#[test]
fn with_all_objects_in_the_registry_no_other_source_is_used() {
    let Parts { mut source, asked, .. } = parts(&WINDOWS);
    let snapshot = collect(&mut source, "Global");
    assert_eq!(origins(&snapshot), [(2, 1), (230, 1), (232, 1), (238, 1)]);
    assert!(snapshot.faults().is_empty());
    assert_eq!(source.reason().unwrap(), None);
    collect(&mut source, "230 238");
    assert_eq!(*asked.lock().unwrap(), ["Global", "230 238"]);
}

#[test]
fn missing_objects_are_filled_with_one_warning() {
    let Parts { mut source, asked, .. } = parts(&[(2, "System"), (4, "Memory"), (230, "Process")]);
    let snapshot = collect(&mut source, "Global");
    let both = [(2, 1), (4, 1), (230, 1), (230, 2), (232, 2), (238, 2)];
    assert_eq!(origins(&snapshot), both);
    let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
    assert_eq!(fault.kind, FaultKind::Warning);
    assert!(fault.message.starts_with("Process, Thread, Processor by native"), "{fault}");
    let snapshot = collect(&mut source, "238 4");
    assert_eq!(origins(&snapshot), [(4, 1), (238, 2)]);
    assert!(snapshot.faults().is_empty());
    assert_eq!(origins(&collect(&mut source, "232 230")), [(230, 2), (232, 2)]);
    assert_eq!(*asked.lock().unwrap(), ["Global", "4"]);
}

/// Threads refer to processes by their position in the same block.
#[test]
fn readers_get_process_and_thread_of_one_source() {
    for has in [(230, "Process"), (232, "Thread")] {
        let Parts { mut source, .. } = parts(&[has, (4, "Memory")]);
        for query in ["Global", "230 232", "Global"] {
            let snapshot = collect(&mut source, query);
            let origin = |name| snapshot.object(TitleIndex(name)).unwrap().frame().origin();
            assert_eq!(origin(230), origin(232), "{has:?} {query}");
            assert_eq!(snapshot.object(TitleIndex(4)).is_some(), query == "Global");
        }
    }
}

#[test]
fn the_registry_is_asked_for_wanted_objects_only() {
    let Parts { mut source, asked, .. } = parts(&[(2, "System"), (4, "Memory"), (230, "Process")]);
    assert!(source.catalogue(&Ask::nothing()).is_ok());
    let processor = [TitleIndex(238)];
    let catalogue = source.catalogue(&Ask::objects(&processor)).unwrap();
    assert!(catalogue.object(processor[0]).is_some());
    assert_eq!(source.looked_at, processor);
    let snapshot = collect(&mut source, "238");
    assert_eq!(origins(&snapshot), [(238, 2)]);
    assert!(snapshot.faults()[0].message.starts_with("Processor by native"));
    assert!(asked.lock().unwrap().is_empty());
    // A further ask has further objects filled.
    let snapshot = collect(&mut source, "2 232 4");
    assert_eq!(origins(&snapshot), [(2, 1), (4, 1), (232, 2)]);
    assert!(snapshot.faults()[0].message.starts_with("Process, Thread, Processor by native"));
    assert_eq!(*asked.lock().unwrap(), ["2 4"]);
    // Process comes from the source of Thread.
    assert_eq!(origins(&collect(&mut source, "230")), [(230, 2)]);
}

#[test]
fn an_object_that_a_broken_registry_may_have_is_an_error_and_not_missing() {
    let Parts { mut source, orders, .. } = parts(&WINDOWS);
    orders.give(|order| order.fails = Some(SourceErrorKind::Denied));
    for wanted in [&[perfhive_engine::NO_OBJECT], &[TitleIndex(4)]] {
        let error = source.catalogue(&Ask::objects(wanted)).unwrap_err();
        assert!(error.to_string().contains("out of order"), "{error}");
    }
    let both = [TitleIndex(4), TitleIndex(238)];
    assert!(source.catalogue(&Ask::objects(&both)).is_ok());
    let mut query = Query::new(source).unwrap();
    for object in ["Memory", "Xyzzy"] {
        let error = query.add(&format!(r"\{object}\Value")).unwrap_err();
        assert!(error.to_string().contains("out of order"), "{error}");
    }
    query.add(r"\System\Value").unwrap();
}

#[test]
fn one_hanging_object_does_not_break_the_registry() {
    let mut parts = parts(&WINDOWS);
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
    parts.orders.give(|order| order.hangs = Some(4));
    let request = Ask::new("4".parse().unwrap());
    for _ in 0..4 {
        let error = parts.source.collect(&request, &mut Snapshot::new()).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Deadline, "{error}");
        let snapshot = collect(&mut parts.source, "230");
        assert_eq!((origins(&snapshot), snapshot.faults().len()), (vec![(230, 1)], 0));
    }
}

#[test]
fn a_broken_registry_is_not_asked_before_a_trial() {
    let Parts { mut source, orders, asked, .. } = parts(&WINDOWS);
    orders.give(|order| order.fails = Some(SourceErrorKind::Denied));
    let snapshot = collect(&mut source, "Global");
    assert_eq!(origins(&snapshot), NATIVE);
    assert!(snapshot.faults()[0].message.ends_with("cannot be read: out of order"));
    assert_eq!(origins(&collect(&mut source, "238")), [(238, 2)]);
    // Other objects fail with the registry's error.
    let request = Ask::new("4".parse().unwrap());
    let error = source.collect(&request, &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Denied);
    assert!(error.message().contains("-s native:"), "{error}");
    let snapshot = collect(&mut source, "4 238");
    assert_eq!((origins(&snapshot), snapshot.faults().len()), (vec![(238, 2)], 1));
    assert_eq!(snapshot.faults()[0].object, Some(TitleIndex(4)));
    assert!(asked.lock().unwrap().is_empty());
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.objects.len(), 4);
    assert!(
        source
            .titles(LanguageId::ENGLISH, &Ask::nothing())
            .unwrap()
            .name(TitleIndex(230))
            .is_some()
    );
}

#[test]
fn a_broken_registry_is_used_again_after_two_good_trials() {
    for kind in [SourceErrorKind::Denied, SourceErrorKind::Busy, SourceErrorKind::Malformed] {
        let mut parts = parts(&WINDOWS);
        parts.orders.give(|order| order.fails = Some(kind));
        assert_eq!(origins(&collect(&mut parts.source, "Global")), NATIVE);
        let first = parts.source.catalogue(&Ask::nothing()).unwrap().generation;
        // A failed trial: the next one is later.
        parts.pass(FIRST_PAUSE);
        collect(&mut parts.source, "230");
        parts.orders.give(|order| order.fails = None);
        parts.pass(FIRST_PAUSE);
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 2)]);
        // The first good trial.
        parts.pass(FIRST_PAUSE);
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 2)]);
        assert_eq!(parts.source.catalogue(&Ask::nothing()).unwrap().generation, first);
        parts.pass(FIRST_PAUSE);
        let snapshot = collect(&mut parts.source, "230");
        assert_eq!(origins(&snapshot), [(230, 1)]);
        let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
        assert!(fault.message.contains("read from the registry again: "), "{fault}");
        assert!(!fault.lost_data());
        assert_ne!(parts.source.catalogue(&Ask::nothing()).unwrap().generation, first);
        assert!(collect(&mut parts.source, "230").faults().is_empty());
    }
}

#[test]
fn two_failures_in_a_row_break_the_registry_and_one_does_not() {
    let mut parts = parts(&[
        (2, "System"),
        (230, "Process"),
        (232, "Thread"),
        (238, "Processor"),
        (4, "Memory"),
    ]);
    assert_eq!(origins(&collect(&mut parts.source, "230 4")), [(4, 1), (230, 1)]);
    parts.orders.give(|order| order.fails = Some(SourceErrorKind::Unavailable));
    let request = Ask::new("230 4".parse().unwrap());
    let mut snapshot = Snapshot::new();
    parts.source.collect(&request, &mut snapshot).unwrap_err();
    let snapshot = collect(&mut parts.source, "230 4");
    assert_eq!(origins(&snapshot), [(230, 2)]);
    let told: Vec<_> = snapshot.faults().iter().map(|fault| fault.object).collect();
    assert_eq!(told, [None, Some(TitleIndex(4))], "{:?}", snapshot.faults());
    // A single failure.
    parts.orders.give(|order| order.fails = None);
    for _ in 0..2 {
        parts.pass(FIRST_PAUSE);
        collect(&mut parts.source, "230");
    }
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
    parts.orders.give(|order| order.fails = Some(SourceErrorKind::Unavailable));
    parts.source.collect(&request, &mut Snapshot::new()).unwrap_err();
    parts.orders.give(|order| order.fails = None);
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
}

#[test]
fn an_object_missing_in_two_samples_is_filled_until_two_good_trials() {
    let mut parts = parts(&WINDOWS);
    assert_eq!(origins(&collect(&mut parts.source, "230 238")), [(230, 1), (238, 1)]);
    parts.orders.give(|order| order.lacks = vec![230]);
    assert_eq!(origins(&collect(&mut parts.source, "230 238")), [(238, 1)]);
    let snapshot = collect(&mut parts.source, "230 238");
    assert_eq!(origins(&snapshot), [(230, 2), (238, 1)]);
    assert!(snapshot.faults()[0].message.starts_with("Process, Thread by native"));
    parts.orders.give(|order| order.lacks.clear());
    for expected in [2, 2, 1] {
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, expected)]);
        parts.pass(FIRST_PAUSE);
    }
}

#[test]
fn asks_without_an_answer_for_other_objects_do_not_break_the_registry() {
    let mut parts = parts(&WINDOWS);
    collect(&mut parts.source, "230");
    let memory = ["4", "4", "4", "4"];
    for query in memory {
        assert_eq!(origins(&collect(&mut parts.source, query)), []);
    }
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
}

#[test]
fn a_hanging_registry_is_broken_after_one_timeout_and_used_again_after_it_returns() {
    let mut parts = parts(&WINDOWS);
    let hang = |order: &mut Order| order.fails = Some(SourceErrorKind::Deadline);
    parts.orders.give(hang);
    let snapshot = collect(&mut parts.source, "Global");
    assert_eq!(origins(&snapshot), NATIVE);
    assert!(snapshot.faults()[0].message.contains("out of order"));
    let error = parts.source.collect(&Ask::objects(&[TitleIndex(4)]), &mut Snapshot::new());
    assert!(error.unwrap_err().message().contains("a provider may hang; `-s native:`"));
    // A trial while it hangs.
    parts.pass(FIRST_PAUSE);
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 2)]);
    parts.orders.give(|order| order.fails = None);
    for expected in [2, 1] {
        parts.pass(LONGEST_PAUSE);
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, expected)]);
    }
    // A later hang is noticed by the first ask that times out.
    parts.orders.give(hang);
    let snapshot = collect(&mut parts.source, "230");
    assert_eq!(origins(&snapshot), [(230, 2)]);
}

#[test]
fn an_error_after_the_deadline_of_the_ask_breaks_nothing() {
    let mut parts = parts(&WINDOWS);
    assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
    parts.orders.give(|order| order.fails = Some(SourceErrorKind::Deadline));
    let over = Ask::new("230".parse().unwrap()).until(Instant::now());
    let error = parts.source.collect(&over, &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Deadline, "{error}");
    parts.orders.give(|order| order.fails = None);
    let snapshot = collect(&mut parts.source, "230");
    assert_eq!((origins(&snapshot), snapshot.faults().len()), (vec![(230, 1)], 0));
}

#[test]
fn denied_access_breaks_the_registry_at_the_first_error() {
    for (query, both) in [("230", &[(230, 2)][..]), ("230 238", &[(230, 2), (238, 2)])] {
        let mut parts = parts(&WINDOWS);
        assert_eq!(origins(&collect(&mut parts.source, "230")), [(230, 1)]);
        parts.orders.give(|order| order.fails = Some(SourceErrorKind::Denied));
        let snapshot = collect(&mut parts.source, query);
        assert_eq!(origins(&snapshot), both);
        let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
        assert!(fault.message.ends_with("cannot be read: out of order"), "{fault}");
    }
}

#[test]
fn samples_of_two_origins_make_no_rate() {
    let parts = parts(&WINDOWS);
    let orders = parts.orders.clone();
    let mut query = Query::new(parts.source).unwrap();
    query.add(r"\Process\Value/sec").unwrap();
    let collect = |query: &mut Query| {
        query.collect().ok()?;
        Some(query.readings()[0].value.clone().map(|value| value.as_f64()))
    };
    assert!(matches!(collect(&mut query), Some(Err(NoValue::NeedsTwoSamples))));
    assert!(matches!(collect(&mut query), Some(Ok(_))));
    orders.give(|order| order.fails = Some(SourceErrorKind::Unavailable));
    assert!(collect(&mut query).is_none());
    // By native functions: a first sample, though the identity is known.
    let third = collect(&mut query);
    assert!(matches!(third, Some(Err(NoValue::NeedsTwoSamples))), "{third:?}");
    assert!(matches!(collect(&mut query), Some(Ok(_))));
}

#[test]
fn an_object_registered_later_comes_from_the_registry() {
    let Parts { source, .. } = parts(&[(4, "Memory")]);
    let mut query = Query::new(source).unwrap();
    query.add(r"\Processor\Value").unwrap();
    query.collect().unwrap();
    let value = |query: &Query| query.readings()[0].value.as_ref().unwrap().to_string();
    assert_eq!(value(&query), "2");
    let Parts { mut source, broker, .. } = parts(&[(4, "Memory")]);
    let before = source.catalogue(&Ask::nothing()).unwrap().generation;
    broker.lock().unwrap().register(provider(238, "Processor", 1));
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, before);
    assert_eq!(origins(&collect(&mut source, "238 2")), [(2, 2), (238, 1)]);
}

#[test]
fn titles_of_both_sources_are_merged() {
    let Parts { mut source, .. } = parts(&[(4, "Memory")]);
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(TitleIndex(4)), Some("Memory"));
    assert_eq!(titles.name(TitleIndex(230)), Some("Process"));
    let error = source.titles(LanguageId::GERMAN, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::NotFound);
}

#[test]
fn objects_without_names_get_those_of_the_native_functions() {
    let nameless = WINDOWS.map(|(index, _)| (index, ""));
    let Parts { mut source, .. } = parts(&nameless);
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(TitleIndex(230)), Some("Process"));
    let snapshot = collect(&mut source, "230");
    assert_eq!(origins(&snapshot), [(230, 1)]);
    assert!(snapshot.faults().is_empty());
}

#[test]
fn a_registry_that_stays_busy_costs_its_own_objects_only() {
    let Parts { source, orders, .. } = parts(&[(2, "System"), (4, "Memory")]);
    let mut query = Query::new(source).unwrap();
    query.add(r"\System\Value").unwrap();
    query.add(r"\Memory\Value").unwrap();
    query.collect().unwrap();
    orders.give(|order| order.fails = Some(SourceErrorKind::Busy));
    let value =
        |query: &mut Query| query.collect().is_ok_and(|()| query.readings()[0].value.is_ok());
    // Decided after two failures in a row.
    let came = (0..4).map(|_| value(&mut query)).collect::<Vec<_>>();
    assert!(came[3], "{came:?}: {:?}", query.readings());
    assert!(query.readings()[1].value.is_err(), "{:?}", query.readings());
}

#[test]
fn titles_of_a_busy_registry_are_an_error_and_read_later() {
    let Parts { mut source, orders, .. } = parts(&[(2, "System"), (4, "Memory")]);
    source.catalogue(&Ask::everything()).unwrap();
    orders.give(|order| order.fails = Some(SourceErrorKind::Busy));
    let error = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Busy, "{error}");
    orders.give(|order| order.fails = None);
    assert!(
        source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap().name(TitleIndex(4)).is_some()
    );
}

#[test]
fn with_a_damaged_title_list_native_names_are_found_and_others_say_damaged() {
    let Parts { source, orders, .. } = parts(&[(2, "System"), (4, "Memory")]);
    orders.give(|order| order.unnamed = true);
    let mut query = Query::new(source).unwrap();
    query.add(r"\System\Value").unwrap();
    query.collect().unwrap();
    assert!(query.readings()[0].value.is_ok(), "{:?}", query.readings());
    let error = query.add(r"\Memory\Value").unwrap_err().to_string();
    assert!(error.contains("list of names is damaged"), "{error}");
    // The same in a language without native names.
    let Parts { mut source, orders, .. } = parts(&[(4, "Memory")]);
    orders.give(|order| order.unnamed = true);
    let error = source.titles(LanguageId::GERMAN, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
}

#[test]
fn the_rules_of_a_source_are_kept() {
    for objects in [&WINDOWS[..], &[(4, "Memory")], &[(2, "System"), (4, "Memory")]] {
        conformance::source(|| Box::new(parts(objects).source));
        conformance::source(|| Box::new(perfhive_engine::Cached::new(parts(objects).source)));
    }
}

#[test]
fn nothing_is_allocated_once_warm() {
    let Parts { mut source, .. } = parts(&[(2, "System"), (4, "Memory")]);
    let request = Ask::new("2 4 230 232 238".parse().unwrap());
    let mut snapshot = Snapshot::new();
    for _ in 0..20 {
        source.collect(&request, &mut snapshot).unwrap();
    }
    let ((), allocated) = count(|| source.collect(&request, &mut snapshot).unwrap());
    assert_eq!(allocated.count, 0);
    assert_eq!(snapshot.objects().count(), 5);
}

#[test]
fn samples_of_what_lasts_allocate_nothing() {
    let Parts { source, orders, passed, asked, .. } = parts(&[(2, "System"), (4, "Memory")]);
    // The registry notes no queries, which takes memory.
    *asked.lock().unwrap() = Vec::new();
    let mut source = perfhive_engine::Cached::new(source);
    let orders = &orders;
    let fail = |kind: Option<SourceErrorKind>| move || orders.give(|order| order.fails = kind);
    let pass = || {
        passed.fetch_add(FIRST_PAUSE.as_millis() as u64, Ordering::Relaxed);
    };
    type Step<'a> = (&'a str, &'a dyn Fn(), &'a str);
    let steps: [Step<'_>; 7] = [
        ("first", &|| {}, "2 4 230 232 238"),
        ("another request", &|| {}, "4 238"),
        ("a failed trial", &pass, "4 238"),
        ("it fails", &fail(Some(SourceErrorKind::Unavailable)), "4 238"),
        ("it fails still", &pass, "2 4 230 232 238"),
        ("it answers again", &fail(None), "2 4 230 232 238"),
        ("a second good trial", &pass, "2 4 230 232 238"),
    ];
    let mut snapshot = Snapshot::new();
    for (step, happens, query) in steps {
        happens();
        let request = Ask::new(query.parse().unwrap()).max_age(Duration::ZERO);
        for round in 0..8 {
            let (done, taken) = count(|| source.collect(&request, &mut snapshot));
            let is_warm = done.is_ok() && taken.count == 0;
            assert!(done.is_err() || is_warm || round < 6, "{step}, {round}: {taken:?}");
        }
    }
}
