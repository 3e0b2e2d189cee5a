//! Registered providers, loaded by the system's own `RegQueryValueExW` and read.
//!
//! The tests write to the registry, so they run under Wine only, in a prefix of their own: `cargo
//! xtask test --only wine`.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_contract::{
    Change, Functions, ProviderDefinition, RegisterErrorKind, Registrar, Texts,
};
use perfhive_engine::{
    Ask, Broker, Cached, ObjectQuery, Query, Snapshot, Source, SourceErrorKind, Worker,
};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::{alloc, conformance};
use perfhive_windows::native::{NativeClock, NativeProvider, Ntdll};
use perfhive_windows::{
    Fallback, RegistrySource, Timeouts, WindowsRegistrar, is_wine, local_source,
    local_with_timeouts, remote_source,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// All tests share one registry.
static REGISTRY: Mutex<()> = Mutex::new(());

/// Providers that are registered while this lives.
struct Registered {
    services: Vec<String>,
    _registry: MutexGuard<'static, ()>,
}

impl Registered {
    /// Registers the functions `OpenX`, `CollectX` of the zoo. With a real registry it does
    /// nothing, and says so on standard error.
    fn new(names: &[&str]) -> Option<Self> {
        if !is_wine() {
            eprintln!("this test changes the registry, and is run under Wine only");
            return None;
        }
        let registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Self { services: Vec::new(), _registry: registry };
        for name in names {
            all.services.push(format!("Perfhive{name}"));
            let (_, change) = register(name).unwrap();
            assert_eq!(change, Change::Added);
        }
        Some(all)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        for name in &self.services {
            let _ = WindowsRegistrar::new().unregister(name);
        }
    }
}

type Done = Result<(perfhive_contract::Registration, Change), perfhive_contract::RegisterError>;

fn register(name: &str) -> Done {
    let close = match name {
        "Bees" | "Panics" | "Lingers" => format!("Close{name}"),
        _ => "CloseZoo".to_string(),
    };
    let functions = Functions {
        library: Some(zoo()),
        open: Some(format!("Open{name}")),
        collect: Some(format!("Collect{name}")),
        close: Some(close),
        ..Functions::default()
    };
    WindowsRegistrar::new().register(&definition(&format!("Perfhive{name}")), &functions)
}

fn zoo() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let library = tests.parent().unwrap().parent().unwrap().join("examples").join("zoo.dll");
    assert!(library.is_file(), "{} is not built", library.display());
    library
}

/// The definition of the provider of bees.
fn definition(name: &str) -> ProviderDefinition {
    let list = |texts: [&str; 4]| {
        (0u32..).step_by(2).zip(texts).map(|(offset, text)| (offset, text.to_string())).collect()
    };
    let mut definition = ProviderDefinition::new(name);
    definition.objects = vec![0];
    definition.titles = vec![
        Texts {
            language: LanguageId::ENGLISH,
            names: list(["Beekeeping", "Bees", "% Flight Time", "% Full"]),
            help: list(["Hives.", "Bees in the hive.", "Time on the wing.", "How full it is."]),
        },
        Texts {
            language: LanguageId::GERMAN,
            names: list(["Imkerei", "Bienen", "Flugzeit (%)", "Füllung (%)"]),
            help: list(["Stöcke.", "Bienen im Stock.", "Zeit in der Luft.", "Wie voll er ist."]),
        },
    ];
    definition
}

fn source() -> RegistrySource {
    local_source("local:")
}

fn collect(source: &mut dyn Source, query: ObjectQuery) -> Snapshot {
    let mut snapshot = Snapshot::new();
    source.collect(&Ask::new(query), &mut snapshot).unwrap();
    snapshot
}

#[test]
fn the_registry_passes_the_conformance_suite_of_sources() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    conformance::source(|| Box::new(source()));
}

#[test]
fn a_worker_around_the_registry_passes_the_conformance_suite() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    conformance::source(|| Box::new(Worker::new(source(), None).unwrap()));
}

#[test]
fn a_cache_around_the_registry_passes_the_conformance_suite() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    conformance::source(|| Box::new(perfhive_engine::Cached::new(source())));
}

#[test]
fn values_are_cooked_from_what_a_registered_provider_writes() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    let mut query = Query::new(source()).unwrap();
    for path in
        [r"\Beekeeping(*)\Bees", r"\Imkerei(north)\Flugzeit (%)", r"\beekeeping(south)\% full"]
    {
        query.add(path).unwrap();
    }
    query.collect().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    query.collect().unwrap();
    let values: Vec<_> = query
        .readings()
        .iter()
        .map(|r| (query.path_of(r).to_string(), r.value.as_ref().unwrap().as_f64()))
        .collect();
    let ends: Vec<_> =
        values.iter().map(|(path, value)| (path.rsplit_once(r"\Bee").unwrap().1, *value)).collect();
    assert_eq!(
        ends,
        [
            (r"s", 1000.0),
            (r"s", 2000.0),
            (r"keeping(north)\% Flight Time", 25.0),
            (r"keeping(south)\% Full", 75.0),
        ],
        "{values:?}"
    );
}

#[test]
fn warm_samples_allocate_nothing() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    let bees = source().catalogue(&Ask::everything()).unwrap().objects[0].name;
    for query in [ObjectQuery::Global, ObjectQuery::one(bees)] {
        let request = Ask::new(query);
        let count = |source: &mut dyn Source, count: fn() -> alloc::Allocations| {
            let mut snapshot = Snapshot::new();
            for _ in 0..3 {
                source.collect(&request, &mut snapshot).unwrap();
                source.catalogue(&Ask::nothing()).unwrap();
            }
            let before = count();
            for _ in 0..10 {
                source.collect(&request, &mut snapshot).unwrap();
                source.catalogue(&Ask::nothing()).unwrap();
            }
            let allocated = count().since(before);
            assert_eq!((snapshot.objects().count(), snapshot.faults().len()), (1, 0));
            allocated.count
        };
        assert_eq!(count(&mut source(), alloc::thread), 0, "{request:?}");
        // As `local:` reads, on a thread of its own. Counts the allocations of all threads, of
        // which there are no others.
        let mut worker = Worker::new(source(), None).unwrap();
        assert_eq!(count(&mut worker, alloc::process), 0, "{request:?} on a thread of its own");
        let timed = local_with_timeouts("local:", Timeouts::all(Duration::from_secs(60)));
        let mut worker = Worker::new(timed, None).unwrap();
        assert_eq!(count(&mut worker, alloc::process), 0, "{request:?} with timeouts");
    }
}

#[test]
fn a_registration_and_its_removal_are_noticed() {
    let Some(bees) = Registered::new(&["Bees"]) else { return };
    let mut source = source();
    let first = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(first.objects.len(), 1);
    register("Large").unwrap();
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, first.generation);
    let both = source.catalogue(&Ask::everything()).unwrap();
    WindowsRegistrar::new().unregister("PerfhiveLarge").unwrap();
    assert_eq!(both.objects.len(), 2);
    let english = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(english.indexes("Beekeeping").len(), 1, "and its titles are gone");
    drop(bees);
    assert_eq!(source.catalogue(&Ask::everything()).unwrap().objects.len(), 0);
    let english = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert!(english.indexes("Beekeeping").is_empty());
    let error = WindowsRegistrar::new().unregister("PerfhiveBees").unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::NotRegistered, "{error}");
}

#[test]
fn registrations_are_listed_and_changed_in_place() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    let mut registrar = WindowsRegistrar::new();
    let (all, faults) = registrar.registrations().unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let one = all.providers.iter().find(|one| one.name == "PerfhiveBees").unwrap();
    assert_eq!((one.collect.as_str(), one.open.as_deref()), ("CollectBees", Some("OpenBees")));
    // Wine brings a provider of its own, which must not be changed.
    let others = all.providers.iter().find(|one| one.name == "Spooler");
    if others.is_some() {
        let error = registrar.unregister("Spooler").unwrap_err();
        assert_eq!(error.kind(), RegisterErrorKind::Taken, "{error}");
    }
    assert_eq!(one.objects, [TitleIndex(one.first_counter)]);
    assert_eq!((one.first_help, one.last_counter), (one.first_counter + 1, one.first_counter + 6));
    let english = all.titles.iter().find(|titles| titles.language == LanguageId::ENGLISH).unwrap();
    assert!(english.names.titles.iter().any(|title| title.text == "Beekeeping"));
    assert!(english.help.titles.iter().any(|title| title.text == "Hives."));

    // The same registration again is not a change; other functions keep the indexes.
    let one = one.clone();
    assert_eq!(register("Bees").unwrap(), (one.clone(), Change::Unchanged));
    let bees = definition("PerfhiveBees");
    let linkage = Some(vec!["a".to_string(), "b c".to_string()]);
    let more = Functions { linkage, disabled: Some(true), ..Functions::default() };
    let (changed, change) = registrar.register(&bees, &more).unwrap();
    assert_eq!((change, changed.disabled), (Change::Updated, true));
    assert_eq!(changed.linkage.as_deref(), Some("a\0b c"));
    assert_eq!(changed.first_counter, one.first_counter);
    let listed = registrar.registrations().unwrap().0.providers;
    assert!(listed.contains(&changed), "{listed:?}");

    // Other names get other titles.
    let mut renamed = bees.clone();
    renamed.titles[0].names[1].1 = "Honey Bees".to_string();
    let (_, change) = registrar.register(&renamed, &Functions::default()).unwrap();
    assert_eq!(change, Change::Updated);
    let english = source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!((english.indexes("Bees").len(), english.indexes("Honey Bees").len()), (0, 1));

    // An invalid registration is refused before anything is written.
    let mut headless = renamed.clone();
    headless.titles.remove(0);
    let error = registrar.register(&headless, &Functions::default()).unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::Invalid, "{error}");
    let error = registrar.register(&ProviderDefinition::new(r"a\b"), &more).unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::Invalid, "{error}");
    assert_eq!(
        source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap().indexes("Honey Bees").len(),
        1
    );
}

/// An update that is undone and registered with other names: the indexes are reused, and Last
/// Counter is unchanged.
#[test]
fn a_query_follows_names_that_exchange_their_indexes() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    let path = r"\Beekeeping(south)\Bees";
    let value = |query: &mut Query| {
        query.collect().unwrap();
        query.readings()[0].value.as_ref().unwrap().as_f64()
    };
    let mut watch = Query::new(source()).unwrap();
    watch.add(path).unwrap();
    assert_eq!(value(&mut watch), 2000.0);
    let before = WindowsRegistrar::new().registrations().unwrap().0;
    let mut swapped = definition("PerfhiveBees");
    for list in &mut swapped.titles {
        let texts = [list.names[1].1.clone(), list.names[3].1.clone()];
        [list.names[3].1, list.names[1].1] = texts;
    }
    let (_, change) = WindowsRegistrar::new().register(&swapped, &Functions::default()).unwrap();
    assert_eq!(change, Change::Updated);
    let after = WindowsRegistrar::new().registrations().unwrap().0;
    let range = |all: &perfhive_contract::Registrations| {
        let one = all.providers.iter().find(|one| one.name == "PerfhiveBees").unwrap();
        (one.first_counter, one.last_counter)
    };
    assert_eq!(range(&before), range(&after), "the same indexes");
    assert_eq!(value(&mut watch), 75.0);
    let mut fresh = Query::new(source()).unwrap();
    fresh.add(path).unwrap();
    assert_eq!(value(&mut fresh), 75.0);
}

#[test]
fn a_larger_buffer_is_given_and_remembered() {
    let Some(_large) = Registered::new(&["Large"]) else { return };
    let mut source = source();
    let answer = collect(&mut source, ObjectQuery::Global);
    let object = answer.object(TitleIndex(7000)).unwrap();
    assert_eq!(object.view().instances().count(), 10_000);
    assert!(answer.frames()[0].has_grown());
    drop(answer);
    collect(&mut source, ObjectQuery::Global);
    let warm = collect(&mut source, ObjectQuery::Global);
    assert!(!warm.frames()[0].has_grown());
}

#[test]
fn a_provider_that_always_wants_more_is_an_error() {
    let Some(greedy) = Registered::new(&["Greedy"]) else { return };
    let mut source = source();
    let mut snapshot = Snapshot::new();
    let request = Ask::new(ObjectQuery::Global);
    for _ in 0..2 {
        let error = source.collect(&request, &mut snapshot).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
        assert!(error.to_string().contains("64 MiB"), "{error}");
    }
    drop(greedy);
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    source.collect(&request, &mut snapshot).unwrap();
    assert_eq!(snapshot.objects().count(), 1, "and is forgotten with its cause");
}

/// A provider that fails at every request loses its own objects only.
#[test]
fn a_failing_provider_is_left_out_and_named() {
    // Not the last one, whose removal would lower Last Counter.
    let Some(_providers) = Registered::new(&["Broken", "Bees"]) else { return };
    let mut source = source();
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.objects.len(), 1, "the bees: {catalogue:?}");
    let bees = catalogue.objects[0].name;
    for query in [ObjectQuery::Global, ObjectQuery::one(bees), ObjectQuery::Costly] {
        let answer = collect(&mut source, query.clone());
        let is_one = query != ObjectQuery::Costly;
        assert_eq!(answer.object(bees).is_some(), is_one, "{query}");
        if query != ObjectQuery::one(bees) {
            let [fault] = answer.faults() else { panic!("{query}: {:?}", answer.faults()) };
            assert_eq!(&*fault.provider, "PerfhiveBroken");
            for word in ["zoo.dll", "64 MiB", "perfhive check PerfhiveBroken"] {
                assert!(fault.message.contains(word), "{word}: {fault}");
            }
        }
    }
    // Requested together with a good one, and alone.
    let broken =
        TitleIndex(perfhive_windows::allotted_indexes("PerfhiveBroken").unwrap().first_counter);
    let answer = collect(&mut source, ObjectQuery::Indexes(vec![broken, bees]));
    assert!(answer.object(bees).is_some());
    assert_eq!(answer.faults()[0].object, Some(broken), "{:?}", answer.faults());
    let mut snapshot = Snapshot::new();
    let error = source.collect(&Ask::objects(&[broken]), &mut snapshot).unwrap_err();
    assert!(error.message().contains("PerfhiveBroken"), "{error}");
    // After its removal everything is read as before.
    WindowsRegistrar::new().unregister("PerfhiveBroken").unwrap();
    assert!(comes_true(|| {
        let answer = collect(&mut source, ObjectQuery::Global);
        (answer.objects().count(), answer.faults().len()) == (1, 0)
    }));
}

/// Repeats a request until it succeeds; some changes are noticed only after up to a second.
fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is_so()
    })
}

/// The source has timeouts, as `local:` has. The hanging thread stays in the library as long as
/// this process lives.
#[test]
fn a_hanging_provider_is_left_out_until_it_is_unregistered() {
    let Some(_providers) = Registered::new(&["Stuck", "Bees"]) else { return };
    let first = |name| TitleIndex(perfhive_windows::allotted_indexes(name).unwrap().first_counter);
    let (stuck, bees) = (first("PerfhiveStuck"), first("PerfhiveBees"));
    let mut local = Fallback::new(
        local_with_timeouts("local:", Timeouts::all(Duration::from_secs(2))),
        native(),
    );
    let catalogue = local.catalogue(&Ask::everything()).unwrap();
    let has = |index| catalogue.object(index).is_some();
    assert!(has(bees) && has(TitleIndex(230)) && !has(stuck), "{catalogue:?}");
    let blames = |snapshot: &Snapshot| {
        snapshot.faults().iter().any(|fault| {
            &*fault.provider == "PerfhiveStuck" && fault.message.contains("does not come back")
        })
    };
    for query in [ObjectQuery::Global, ObjectQuery::Indexes(vec![stuck, bees])] {
        let answer = collect(&mut local, query);
        assert_eq!(answer.object(bees).unwrap().view().instances().count(), 2);
        assert!(blames(&answer), "{:?}", answer.faults());
    }
    WindowsRegistrar::new().unregister("PerfhiveStuck").unwrap();
    assert!(comes_true(|| {
        let answer = collect(&mut local, ObjectQuery::Global);
        answer.object(bees).is_some() && !blames(&answer)
    }));
}

/// The bad provider's output is reported, and the objects of a good provider remain.
#[test]
fn garbage_of_a_provider_is_a_fault() {
    for bad in ["Count", "Garbage", "Zero", "Claims"] {
        let Some(_providers) = Registered::new(&["Bees", bad]) else { return };
        let mut source = source();
        let mut snapshot = Snapshot::new();
        match source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot) {
            Ok(()) => {
                let told = !snapshot.faults().is_empty();
                assert!(told, "{bad}: no fault names it");
                for object in snapshot.objects() {
                    assert!(object.view().instances().count() <= 2, "{bad}");
                }
            }
            Err(error) => assert_eq!(error.kind(), SourceErrorKind::Malformed, "{bad}: {error}"),
        }
    }
}

#[test]
fn a_failing_provider_leaves_the_others_readable() {
    for bad in ["Refuses", "Fails", "Panics"] {
        let Some(_providers) = Registered::new(&[bad, "Bees"]) else { return };
        let answer = collect(&mut source(), ObjectQuery::Global);
        assert_eq!(answer.objects().count(), 1, "{bad}");
    }
}

#[test]
fn a_provider_that_hangs_does_not_hang_the_caller() {
    let Some(_hangs) = Registered::new(&["Hangs"]) else { return };
    let mut worker = Worker::new(source(), None).unwrap();
    let mut snapshot = Snapshot::new();
    let soon = Instant::now() + Duration::from_millis(100);
    let request = Ask::new(ObjectQuery::Global).until(soon);
    let error = worker.collect(&request, &mut snapshot).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Deadline, "{error}");
    let error = worker.collect(&request, &mut snapshot).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Busy, "{error}");
    assert!(error.is_transient());
}

/// Windows calls Close when the last source closes the key, Wine after every request: in both cases
/// on a thread that is not waited for.
#[test]
fn a_close_that_hangs_delays_neither_end_nor_start_of_a_source() {
    let Some(_lingers) = Registered::new(&["Lingers", "Bees"]) else { return };
    let (done, is_done) = std::sync::mpsc::channel();
    // On a thread of its own: if the test fails, that thread hangs instead of the test.
    std::thread::spawn(move || {
        for _ in 0..2 {
            let registry = local_with_timeouts("local:", Timeouts::all(Duration::from_millis(500)));
            let mut local = Fallback::new(registry, native());
            let process = TitleIndex(230);
            let answer = collect(&mut local, ObjectQuery::one(process));
            assert!(answer.object(process).is_some(), "{:?}", answer.faults());
            drop(local);
            // A source without a thread of its own can be dropped as well.
            drop(source());
        }
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(120)).expect("Close delays no source");
}

/// The native functions of this system.
fn native() -> Broker {
    let provider = NativeProvider::new(Arc::new(Ntdll));
    Broker::builder("native:", "BOX").provider(Arc::new(provider)).clock(NativeClock::new()).build()
}

#[test]
fn native_objects_are_read_while_the_registry_hangs() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    // No call returns in no time.
    let registry = local_with_timeouts("local:", Timeouts::all(Duration::ZERO));
    let mut local = Fallback::new(registry, native());
    let catalogue = local.catalogue(&Ask::everything()).unwrap();
    let process = TitleIndex(230);
    assert!(catalogue.object(process).is_some(), "{catalogue:?}");
    for query in [ObjectQuery::Global, ObjectQuery::one(process)] {
        let answer = collect(&mut local, query);
        assert!(answer.object(process).unwrap().view().instances().count() > 1);
        if let Some(fault) = answer.faults().first() {
            assert!(fault.message.contains("does not come back"), "{fault}");
        }
    }
    let error = local.collect(&Ask::new(ObjectQuery::Costly), &mut Snapshot::new());
    assert!(error.unwrap_err().message().contains("-s native:"));
}

#[test]
fn warm_samples_allocate_nothing_after_registrations() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    let registry = local_with_timeouts("local:", Timeouts::all(Duration::from_secs(60)));
    let mut local = Cached::new(Fallback::new(registry, native()));
    let bees = local.catalogue(&Ask::everything()).unwrap().objects[0].name;
    let mut snapshot = Snapshot::new();
    let mut sample = |step: &str, pause: u64| {
        let mut least = u64::MAX;
        for _ in 0..8 {
            let before = alloc::process();
            for query in [ObjectQuery::Global, ObjectQuery::one(bees)] {
                let ask = Ask::new(query).max_age(Duration::ZERO);
                local.collect(&ask, &mut snapshot).unwrap();
            }
            // Each round makes two requests, one of which holds a list.
            least = least.min(alloc::process().since(before).count.saturating_sub(1));
            std::thread::sleep(Duration::from_millis(pause));
        }
        assert_eq!(least, 0, "{step}");
    };
    sample("first", 0);
    register("Large").unwrap();
    sample("one more", 0);
    register("Broken").unwrap();
    sample("one that fails", 200);
    WindowsRegistrar::new().unregister("PerfhiveBroken").unwrap();
    sample("and is gone", 200);
    WindowsRegistrar::new().unregister("PerfhiveLarge").unwrap();
    sample("and the other", 0);
}

#[test]
fn several_threads_read_at_once() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let mut source = source();
                for _ in 0..10 {
                    let answer = collect(&mut source, ObjectQuery::Global);
                    let counts: Vec<_> =
                        answer.objects().map(|o| o.view().instances().count()).collect();
                    assert_eq!(counts, [2]);
                }
            });
        }
    });
}

#[test]
fn this_machine_is_reached_by_its_name_and_other_names_are_errors() {
    let Some(_bees) = Registered::new(&["Bees"]) else { return };
    let name = collect(&mut source(), ObjectQuery::Global).machine().unwrap();
    let mut source = remote_source("registry://own", &name);
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!((catalogue.machine.as_str(), catalogue.objects.len()), (name.as_str(), 1));
    let english = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(english.name(catalogue.objects[0].name), Some("Beekeeping"));

    let mut other = remote_source("registry://no-such-host", r"\\no-such-host");
    let error = other.catalogue(&Ask::everything()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Unavailable);
    assert!(error.message().contains("no-such-host cannot be reached"), "{error}");
    assert!(error.message().contains("(Windows error 53)"), "{error}");
}

/// A registration as another program's installer makes it.
struct Foreign(&'static str);

impl Foreign {
    fn reg<const N: usize>(&self, what: &str, args: [&str; N]) {
        let key = format!(r"HKLM\SYSTEM\CurrentControlSet\Services\{}\Performance", self.0);
        let mut reg = std::process::Command::new("reg");
        let output = reg.args([what, &key]).args(args).arg("/f").output().unwrap();
        assert!(output.status.success(), "{what} {args:?}: {output:?}");
    }

    fn library(&self, kind: &str, text: &str) -> PathBuf {
        self.reg("add", ["/v", "Library", "/t", kind, "/d", text]);
        let (all, _) = WindowsRegistrar::new().registrations().unwrap();
        all.providers.into_iter().find(|one| one.name == self.0).unwrap().library
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.reg("delete", []);
    }
}

/// `check` and `providers` must examine the file that Windows loads.
#[test]
fn the_library_of_a_foreign_registration_is_the_one_that_windows_loads() {
    let Some(_registry) = Registered::new(&[]) else { return };
    let system = PathBuf::from(std::env::var_os("SystemRoot").unwrap()).join("system32");
    let file = system.join("kernel32.dll");
    let foreign = Foreign("PerfhiveForeign");
    for (kind, text) in [
        ("REG_EXPAND_SZ", r"%SystemRoot%\system32\kernel32.dll"),
        ("REG_EXPAND_SZ", "kernel32.dll"),
        ("REG_SZ", "kernel32.dll"),
    ] {
        let library = foreign.library(kind, text);
        assert!(library.is_file(), "{text}: {}", library.display());
        let (library, file) = (library.to_string_lossy(), file.to_string_lossy());
        assert!(library.eq_ignore_ascii_case(&file), "{text}: {library}");
    }
    // A plain text is not expanded.
    let plain = r"C:\%SystemRoot%\zoo.dll";
    assert_eq!(foreign.library("REG_SZ", plain), PathBuf::from(plain));
}

#[test]
fn a_percent_sign_in_a_path_is_kept() {
    let Some(mut all) = Registered::new(&[]) else { return };
    let folder = std::env::temp_dir().join(format!("a%TEMP%b-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("zoo.dll");
    std::fs::copy(zoo(), &library).unwrap();
    all.services.push("PerfhiveBees".to_string());
    let functions = Functions {
        library: Some(library.clone()),
        open: Some("OpenBees".to_string()),
        collect: Some("CollectBees".to_string()),
        close: Some("CloseBees".to_string()),
        ..Functions::default()
    };
    let mut registrar = WindowsRegistrar::new();
    let bees = definition("PerfhiveBees");
    assert_eq!(registrar.register(&bees, &functions).unwrap().0.library, library);
    assert_eq!(collect(&mut source(), ObjectQuery::Global).objects().count(), 1, "it is loaded");
    assert_eq!(registrar.register(&bees, &functions).unwrap().1, Change::Unchanged);
    drop(all);
    std::fs::remove_dir_all(&folder).unwrap();
}
