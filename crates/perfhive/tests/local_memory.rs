//! What a warm sample of `local:` takes on Windows, as a program opens it: the registry on
//! a thread of its own, the native functions for what that lacks, and what programs
//! publish beside it.
#![cfg(all(windows, target_pointer_width = "64"))]
#![allow(clippy::unwrap_used)]

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

mod windows {
    use perfhive::contract::{Functions, ProviderDefinition, Registrar as _, Texts};
    use perfhive::engine::CHOSEN_INDEXES;
    use perfhive::publish::{CounterDeclaration, PublishedCategory};
    use perfhive::windows::{WindowsRegistrar, allotted_indexes, is_wine};
    use perfhive::{Ask, CounterType, LanguageId, ObjectQuery, Snapshot, Source, TitleIndex, open};
    use perfhive_testkit::alloc;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const FOLDER: &str = "PERFHIVE_COUNTERS";
    const SERVICE: &str = "PerfhiveBees";

    /// A provider of the zoo, registered as long as this lives.
    struct Bees;

    impl Bees {
        fn register() -> Self {
            let tests = std::env::current_exe().unwrap();
            let library = tests.parent().unwrap().parent().unwrap().join("examples/zoo.dll");
            assert!(library.is_file(), "{} is not built", library.display());
            let mut definition = ProviderDefinition::new(SERVICE);
            definition.titles = vec![Texts {
                language: LanguageId::ENGLISH,
                names: vec![(0, "Beekeeping".to_string())],
                help: Vec::new(),
            }];
            let functions = Functions {
                library: Some(library),
                open: Some("OpenBees".to_string()),
                collect: Some("CollectBees".to_string()),
                close: Some("CloseBees".to_string()),
                ..Functions::default()
            };
            WindowsRegistrar::new().register(&definition, &functions).unwrap();
            Self
        }
    }

    impl Drop for Bees {
        fn drop(&mut self) {
            let _ = WindowsRegistrar::new().unregister(SERVICE);
        }
    }

    fn publish(folder: &Path) -> PublishedCategory {
        let counter = CounterDeclaration::new("Orders", CounterType::PERF_COUNTER_RAWCOUNT);
        PublishedCategory::builder("Web Shop").counter(counter).folder(folder).publish().unwrap()
    }

    /// The variable `FOLDER` is looked at when a source is opened, so this test runs itself in a
    /// process that has the variable.
    #[test]
    fn nothing_is_allocated_once_warm() {
        const TEST: &str = "windows::nothing_is_allocated_once_warm";
        if !is_wine() {
            eprintln!("this test changes the registry, and is run under Wine only");
            return;
        }
        if std::env::var_os(FOLDER).is_none() {
            let name = format!("perfhive-local-memory-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let (shop, bees) = (publish(&folder), Bees::register());
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", TEST, "--nocapture"])
                .env(FOLDER, &folder)
                .output()
                .unwrap();
            drop((shop, bees));
            std::fs::remove_dir(&folder).unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return;
        }
        let mut source = open("local:").unwrap();
        let objects = source.catalogue(&Ask::everything()).unwrap().objects.clone();
        let published = objects.iter().find(|object| object.name.0 >= CHOSEN_INDEXES).unwrap();
        let bees = TitleIndex(allotted_indexes(SERVICE).unwrap().first_counter);
        let (processor, processes) = (TitleIndex(238), TitleIndex(230));
        let requests = [
            (ObjectQuery::one(bees), 1),
            (ObjectQuery::one(processor), 1),
            (ObjectQuery::one(published.name), 1),
            (ObjectQuery::Indexes(vec![bees, processor, processes, published.name]), 4),
            (ObjectQuery::Global, objects.len()),
        ]
        .map(|(query, count)| (Ask::new(query), count));
        let mut snapshot = Snapshot::new();
        let mut samples = |lasting: Duration, requests: &[(Ask, usize)]| {
            let end = Instant::now() + lasting;
            let mut samples = 0;
            while samples < 50 || Instant::now() < end {
                for (request, count) in requests {
                    source.catalogue(&Ask::nothing()).unwrap();
                    source.collect(request, &mut snapshot).unwrap();
                    assert_eq!(snapshot.objects().count(), *count, "{request:?}");
                }
                samples += 1;
            }
        };
        // A folder that was just written to is read again and again for a second, and the
        // registry is tried after five with what it lacks.
        samples(Duration::from_secs(6), &requests);
        for request in requests {
            // Of all threads: no others are at work here. What is looked at from time to
            // time is among it.
            let before = alloc::process();
            samples(Duration::from_secs(1), std::slice::from_ref(&request));
            let allocated = alloc::process().since(before);
            assert_eq!(allocated.count, 0, "{:?}: {allocated:?}", request.0);
        }
    }
}
