//! Windows' native functions as a source: `native:`, and `local:` where the
//! registry has no counters of Windows itself, as under Wine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(not(windows))]
#[test]
fn native_is_an_error_elsewhere() {
    let error = perfhive::open("native:").err().unwrap();
    assert!(error.to_string().contains("on Windows only"), "{error}");
}

#[cfg(windows)]
mod windows {
    use perfhive::{LanguageId, Query, Source, open, reader_of_processes};
    use perfhive_testkit::conformance;

    /// The values of this process, the only one of the test's program.
    fn mine(query: &Query) -> Vec<f64> {
        let program = std::env::current_exe().unwrap();
        let name = program.file_stem().unwrap().to_str().unwrap();
        let mut values = Vec::new();
        for reading in query.readings() {
            if reading.instance.as_ref().is_some_and(|label| &*label.name == name) {
                values.push(reading.value.as_ref().unwrap().as_f64());
            }
        }
        values
    }

    #[test]
    fn every_rule_of_a_source_is_kept() {
        conformance::source(|| open("native:").unwrap());
        conformance::source(|| Box::new(perfhive::Cached::new(open("native:").unwrap())));
    }

    #[test]
    fn live_values_of_this_process() {
        for address in ["native:", "local:"] {
            let mut query = Query::new(open(address).unwrap()).unwrap();
            query.add(r"\Process(*)\% Processor Time").unwrap();
            query.collect().unwrap();
            let end = std::time::Instant::now() + std::time::Duration::from_millis(200);
            while std::time::Instant::now() < end {
                std::hint::black_box(0);
            }
            query.collect().unwrap();
            let values = mine(&query);
            assert_eq!(values.len(), 1, "{address}");
            assert!(values[0] > 0.0 && values[0] < 800.0, "{address} {values:?}");
        }
    }

    /// A provider of the zoo: `Sleeps`, which takes three seconds for each collection of
    /// everything, or `Fatal`, which ends the process that asks for it or for everything.
    struct Zoo(&'static str);

    impl Zoo {
        fn register(kind: &'static str) -> Self {
            use perfhive::contract::{Functions, ProviderDefinition, Registrar as _, Texts};
            let tests = std::env::current_exe().unwrap();
            let library = tests.parent().unwrap().parent().unwrap().join("examples/zoo.dll");
            assert!(library.is_file(), "{} is not built", library.display());
            let mut definition = ProviderDefinition::new(&format!("Perfhive{kind}"));
            definition.titles = vec![Texts {
                language: LanguageId::ENGLISH,
                names: vec![(0, "Sleepers".to_string())],
                help: Vec::new(),
            }];
            let functions = Functions {
                library: Some(library),
                open: Some(format!("Open{kind}")),
                collect: Some(format!("Collect{kind}")),
                close: Some("CloseZoo".to_string()),
                ..Functions::default()
            };
            perfhive::windows::WindowsRegistrar::new().register(&definition, &functions).unwrap();
            Self(kind)
        }
    }

    impl Drop for Zoo {
        fn drop(&mut self) {
            use perfhive::contract::Registrar as _;
            let name = format!("Perfhive{}", self.0);
            let _ = perfhive::windows::WindowsRegistrar::new().unregister(&name);
        }
    }

    #[test]
    fn processes_are_there_while_the_registry_hangs() {
        if !perfhive::windows::is_wine() {
            eprintln!("this test changes the registry, and is run under Wine only");
            return;
        }
        let _sleeps = Zoo::register("Sleeps");
        let patience = std::time::Duration::from_secs(4);
        let source = perfhive::OpenOptions::new().patience(patience).open("local:").unwrap();
        let mut query = Query::new(source).unwrap();
        query.add(r"\Process(*)\Working Set").unwrap();
        query.collect().unwrap();
        let values = mine(&query);
        assert!(values.len() == 1 && values[0] > 0.0, "{values:?}");
        // An object that is missing is not reported as unknown.
        let error = query.add(r"\Sleepers(*)\Dreams").unwrap_err();
        assert!(error.to_string().contains("does not come back"), "{error}");
    }

    /// Objects are read by a query, a counter and a category. A request for everything would
    /// end the process.
    #[test]
    fn reading_one_object_asks_no_other_provider() {
        use perfhive::{Category, PerformanceCounter};
        if !perfhive::windows::is_wine() {
            eprintln!("this test changes the registry, and is run under Wine only");
            return;
        }
        let _fatal = Zoo::register("Fatal");
        let mut query = Query::new(open("local:").unwrap()).unwrap();
        for path in [r"\System\Threads", r"\Process(*)\Working Set"] {
            query.add(path).unwrap();
        }
        query.collect().unwrap();
        assert!(mine(&query)[0] > 0.0);
        let mut counter = PerformanceCounter::new("System", "Threads", "").unwrap();
        assert!(counter.next_value().is_ok_and(|value| value > 0.0));
        assert!(Category::exists("Process").unwrap());
        assert!(!Category::new("Process").unwrap().instance_names().unwrap().is_empty());
    }

    #[test]
    fn reader_of_processes_is_named() {
        assert!(reader_of_processes("native:").unwrap().contains("native functions"));
        let told = reader_of_processes("local:").unwrap();
        // Under Wine the registry has no objects of Windows itself.
        if perfhive::windows::is_wine() {
            assert!(told.contains("by native functions, not from the registry"), "{told}");
        }
        let mut source = open("local:").unwrap();
        assert!(
            source
                .catalogue(&perfhive::Ask::everything())
                .unwrap()
                .object(perfhive::TitleIndex(230))
                .is_some()
        );
        let titles = source.titles(LanguageId::ENGLISH, &perfhive::Ask::nothing()).unwrap();
        assert_eq!(titles.name(perfhive::TitleIndex(230)), Some("Process"));
    }
}
