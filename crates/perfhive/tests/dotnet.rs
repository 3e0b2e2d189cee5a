//! Categories and counters over scripted and recorded sources.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::CounterSpec;
use perfhive::recording::ReplaySource;
use perfhive::*;
use perfhive_testkit::real;
use perfhive_testkit::script::{Row, block, titles};
use perfhive_testkit::shown::ShownBlock;
use std::time::Duration;

const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);
const MEMORY: TitleIndex = TitleIndex(4);

const NAMES: [(u32, &str); 9] = [
    (4, "Memory"),
    (24, "Available Bytes"),
    (230, "Process"),
    (232, "Thread"),
    (784, "ID Process"),
    (684, "Elapsed Time"),
    (6, "% Processor Time"),
    (180, "Working Set"),
    (900, "Odd"),
];

fn german() -> format::titles::TitleList {
    titles(&[(230, "Prozess"), (6, "Prozessorzeit (%)"), (180, "Arbeitsseiten")])
}

fn counters() -> [CounterSpec; 5] {
    [
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        // A type without a formula.
        CounterSpec::new(TitleIndex(900), CounterType(0x0088_0500)),
    ]
}

/// A process: name, PID, start, processor seconds, working set.
type P<'a> = (&'a str, u64, u64, u64, u64);

fn sample(second: usize, processes: &[P<'_>]) -> Vec<u8> {
    let values: Vec<[u64; 5]> = processes
        .iter()
        .map(|(_, pid, start, cpu, set)| [*pid, *start, cpu * 10_000_000, *set, 7])
        .collect();
    let rows: Vec<Row<'_>> =
        processes.iter().zip(&values).map(|(p, v)| (p.0, None, &v[..])).collect();
    let counters = counters();
    let parent = |at| Some((PROCESS, at));
    let threads: [Row<'_>; 2] = [("0", parent(0), &[1]), ("1", parent(0), &[2])];
    let one = [CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let threads = if processes.is_empty() { &threads[..0] } else { &threads[..] };
    let objects: [(TitleIndex, &[CounterSpec], &[Row<'_>]); 2] =
        [(PROCESS, &counters, &rows), (THREAD, &one, threads)];
    block("HOST", second as i64 + 1, &objects)
}

fn recording(samples: &[&[P<'_>]]) -> SharedSource {
    let blocks =
        samples.iter().enumerate().map(|(at, processes)| (at.to_string(), sample(at, processes)));
    let source = ReplaySource::new("script:", blocks).unwrap();
    let source = source.with_titles(LanguageId::ENGLISH, &titles(&NAMES));
    SharedSource::new(source.with_titles(LanguageId::GERMAN, &german()))
}

fn live(processes: &[P<'_>]) -> (SharedSource, ShownBlock) {
    let shown = ShownBlock::new(&NAMES, sample(0, processes));
    (SharedSource::new(shown.clone()), shown)
}

/// The value of each sample as text, or the code of the reason why it has none.
fn run(counter: &mut PerformanceCounter, samples: usize) -> Vec<String> {
    let show = |value: Result<f64, NoValue>| match value {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    };
    (0..samples).map(|_| show(counter.next_value())).collect()
}

#[test]
fn categories_counters_and_instances_are_listed() {
    let source = recording(&[&[("a", 1, 1, 0, 5), ("b", 2, 1, 0, 6), ("a", 3, 1, 0, 7)]]);
    let all = Category::all_in(&source).unwrap();
    assert_eq!(all.iter().map(Category::name).collect::<Vec<_>>(), ["Process", "Thread"]);
    let process = Category::new_in(&source, "pROCESS").unwrap();
    assert_eq!(process.instance_names().unwrap(), ["a", "b", "a#1"]);
    let counters = ["ID Process", "Elapsed Time", "% Processor Time", "Working Set", "Odd"];
    assert_eq!(process.counter_names(), counters);
    let made = process.counters("a#1").unwrap();
    assert_eq!(made.iter().map(PerformanceCounter::counter_name).collect::<Vec<_>>(), counters);
    assert_eq!(made[3].clone().next_value().unwrap(), 7.0);
    let thread = Category::new_in(&source, "Thread").unwrap();
    assert_eq!(thread.instance_names().unwrap(), ["a/0", "a/1"]);
    assert!(process.has_instances() && process.index() == PROCESS);
}

#[test]
fn exists_tests() {
    let source = recording(&[&[("Notepad", 1, 1, 0, 5)]]);
    let exists = |name| Category::exists_in(&source, name).unwrap();
    assert!(exists("process") && exists("230") && exists("Prozess"));
    assert!(!exists("Proces") && !exists("180") && !exists("") && !exists("*"));
    let instance = |name, category| Category::instance_exists_in(&source, name, category);
    assert!(instance("notepad", "Process").unwrap());
    assert!(instance("notepad/0", "Thread").unwrap());
    assert!(instance("1", "Thread").unwrap());
    assert!(!instance("notepad#1", "Process").unwrap());
    assert!(!instance("", "Process").unwrap());
    assert!(!instance("*", "Process").unwrap());
    let counter = |name, category| Category::counter_exists_in(&source, name, category);
    assert!(counter("working set", "Process").unwrap());
    assert!(counter("ARBEITSSEITEN", "Prozess").unwrap());
    assert!(counter("180", "230").unwrap());
    assert!(!counter("Elapsed Time", "Thread").unwrap());
    // Arguments in the wrong order are an error.
    let error = instance("Process", "notepad").unwrap_err();
    assert!(matches!(error, QueryError::UnknownObject { .. }), "{error}");
    assert!(counter("Process", "Working Set").is_err());
}

#[test]
fn an_instance_has_to_be_named_exactly_where_the_category_has_instances() {
    let (source, _) = live(&[("a", 1, 1, 0, 5)]);
    let new = |category, instance| {
        PerformanceCounter::new_in(&source, category, "Working Set", instance).map(|_| ())
    };
    assert!(matches!(new("Process", ""), Err(QueryError::NeedsInstance { .. })));
    assert!(new("Process", "is not there yet").is_ok());
    let error = PerformanceCounter::new_in(&source, "Process", "Workingset", "a").unwrap_err();
    assert!(error.to_string().contains(r#"did you mean "Working Set""#), "{error}");
    let bytes = {
        let memory = format::ObjectTemplate::new(
            &format::ObjectSpec::new(MEMORY),
            &[CounterSpec::new(TitleIndex(24), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
        );
        let mut writer = format::BlockWriter::new();
        writer.start(&format::BlockHead::default());
        writer.object(&memory.unwrap()).unwrap().values(&[42]).unwrap().finish().unwrap();
        writer.finish().to_vec()
    };
    let memory = ReplaySource::new("m:", [("m".to_string(), bytes)]).unwrap();
    let memory = SharedSource::new(memory.with_titles(LanguageId::ENGLISH, &titles(&NAMES)));
    let new = |instance| PerformanceCounter::new_in(&memory, "Memory", "Available Bytes", instance);
    assert!(matches!(new("x"), Err(QueryError::HasNoInstances { .. })));
    assert_eq!(new("").unwrap().raw_value().unwrap(), 42);
    let mut category = Category::new_in(&memory, "Memory").unwrap();
    assert!(category.instance_names().unwrap().is_empty());
    assert!(category.has_instance("").unwrap() && !category.has_instance("x").unwrap());
    assert_eq!(category.counters("").unwrap().len(), 1);
    assert!(category.counters("x").is_err());
    let data = category.read().unwrap();
    assert_eq!(data.get("available bytes", "").unwrap().raw_value().unwrap(), 42);
    assert!(data.get("available bytes", "x").is_none());
    assert_eq!(data.by_instance().iter().map(|row| row.name()).collect::<Vec<_>>(), [""]);
}

#[test]
fn a_value_never_crosses_from_one_process_to_another() {
    let source = recording(&[
        &[("app", 10, 1, 5, 1)],
        &[("app", 10, 1, 6, 1)],
        // Another process has taken the name and the PID.
        &[("app", 10, 2, 100, 1)],
        &[("app", 10, 2, 103, 1)],
        &[],
        &[],
        &[("app", 99, 7, 50, 1)],
        &[("app", 99, 7, 52, 1)],
    ]);
    let new = || PerformanceCounter::new_in(&source, "Process", "% Processor Time", "app").unwrap();
    let (mut counter, mut other) = (new(), new());
    // Two counters see the same samples, in whichever order they ask.
    let mut seen = (Vec::new(), Vec::new());
    for _ in 0..8 {
        seen.0.extend(run(&mut counter, 1));
        seen.1.extend(run(&mut other, 1));
    }
    let expected = [
        "needs-two-samples",
        "100",
        "born",
        "300",
        "vanished",
        "no-such-instance",
        "needs-two-samples",
        "200",
    ];
    assert_eq!(seen.0, expected);
    assert_eq!(seen.1, expected);
    assert!(matches!(counter.identity(), Some(Identity::Process { id: 99, .. })));
    assert!(matches!(counter.next_value(), Err(NoValue::SourceFailed(e)) if e.is_end_of_data()));
}

#[test]
fn an_instance_that_moved_up_to_another_number_has_no_rate() {
    let source = recording(&[
        &[("java", 10, 1, 100, 1), ("java", 20, 2, 200, 2)],
        &[("java", 20, 2, 201, 2), ("java", 30, 3, 999, 3)],
    ]);
    let mut second =
        PerformanceCounter::new_in(&source, "Process", "% Processor Time", "java#1").unwrap();
    assert_eq!(run(&mut second, 2), ["needs-two-samples", "born"]);
}

#[test]
fn instances_of_one_name_that_moved_up_have_no_rate() {
    let second = 10_000_000;
    let timer = [CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER)];
    let sample = |at: i64, rows: &[(&str, u64)]| {
        let values: Vec<[u64; 1]> = rows.iter().map(|(_, time)| [time * second]).collect();
        let rows: Vec<Row<'_>> =
            rows.iter().zip(&values).map(|(r, v)| (r.0, None, &v[..])).collect();
        (at.to_string(), block("HOST", at, &[(MEMORY, &timer, &rows)]))
    };
    let blocks = [
        sample(1, &[("x", 0), ("x", 50), ("y", 0)]),
        // The first x is gone, and the instances have no IDs.
        sample(2, &[("x", 51), ("y", 1)]),
        sample(3, &[("x", 52), ("y", 3)]),
    ];
    let open = || {
        let source = ReplaySource::new("script:", blocks.clone()).unwrap();
        SharedSource::new(source.with_titles(LanguageId::ENGLISH, &titles(&NAMES)))
    };
    let values = |instance: &str| {
        let source = open();
        let mut counter =
            PerformanceCounter::new_in(&source, "Memory", "% Processor Time", instance).unwrap();
        run(&mut counter, 3)
    };
    assert_eq!(values("x"), ["needs-two-samples", "born", "100"]);
    assert_eq!(values("y"), ["needs-two-samples", "100", "200"]);
    let mut category = Category::new_in(&open(), "Memory").unwrap();
    let (first, second, third) =
        (category.read().unwrap(), category.read().unwrap(), category.read().unwrap());
    let since = |newer: &CategoryData, older: &CategoryData, instance: &str| {
        let data = newer.get("% Processor Time", instance).unwrap();
        data.value_since(older).map_err(|why| why.code())
    };
    assert_eq!(since(&second, &first, "x"), Err("born"));
    assert_eq!(since(&second, &first, "y"), Ok(100.0));
    assert_eq!(since(&third, &second, "x"), Ok(100.0));
}

#[test]
fn samples_of_two_machines_make_no_value() {
    let read = |machine: &str, at: i64| {
        let timer = [CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER)];
        let row: [Row<'_>; 1] = [("x", None, &[at as u64 * 10_000_000])];
        let block = (at.to_string(), block(machine, at, &[(MEMORY, &timer, &row)]));
        let source = ReplaySource::new("script:", [block]).unwrap();
        let source = SharedSource::new(source.with_titles(LanguageId::ENGLISH, &titles(&NAMES)));
        Category::new_in(&source, "Memory").unwrap().read().unwrap()
    };
    let (one, same, other) = (read("ONE", 1), read("ONE", 2), read("OTHER", 3));
    let since = |newer: &CategoryData, older: &CategoryData| {
        let data = newer.get("% Processor Time", "x").unwrap();
        data.value_since(older).map_err(|why| why.code())
    };
    assert_eq!(since(&same, &one), Ok(100.0));
    assert_eq!(since(&other, &one), Err("different-types"));
}

#[test]
fn raw_samples_between_values_do_not_change_the_values() {
    let samples: [&[P<'_>]; 4] =
        [&[("a", 1, 1, 0, 1)], &[("a", 1, 1, 1, 1)], &[("a", 1, 1, 1, 1)], &[("a", 1, 1, 3, 1)]];
    let source = recording(&samples);
    let mut counter =
        PerformanceCounter::new_in(&source, "Process", "% Processor Time", "a").unwrap();
    assert_eq!(run(&mut counter, 1), ["needs-two-samples"]);
    assert_eq!(counter.raw_value().unwrap(), 10_000_000);
    assert_eq!(counter.next_sample().unwrap().counter_type().dotnet_name(), Some("Timer100Ns"));
    // Three processor seconds in three seconds.
    assert_eq!(run(&mut counter, 1), ["100"]);
    let mut reset =
        PerformanceCounter::new_in(&recording(&samples), "Process", "% Processor Time", "a")
            .unwrap();
    run(&mut reset, 2);
    reset.reset();
    assert_eq!(run(&mut reset, 2), ["needs-two-samples", "200"]);
}

#[test]
fn a_type_without_a_formula_has_samples() {
    let source = recording(&[&[("a", 1, 1, 0, 1)]]);
    let mut odd = PerformanceCounter::new_in(&source, "Process", "Odd", "a").unwrap();
    let sample = odd.next_sample().unwrap();
    assert_eq!((sample.raw_value(), sample.counter_type().0), (7, 0x0088_0500));
    assert!(matches!(CounterSample::calculate(sample), Err(NoValue::Cook(CookError::NoFormula))));
    assert_eq!(sample.system_frequency(), 3_579_545);
    assert_eq!(sample.counter_frequency(), 10_000_000);
    assert_eq!(sample.counter_time_stamp(), sample.time_stamp_100nsec());
    assert_eq!(sample.time_stamp(), 3_579_545);
}

#[test]
fn listing_instances_does_not_move_a_recording() {
    let mut source = recording(&[&[("a", 1, 1, 0, 1)], &[("b", 2, 1, 0, 1)], &[]]);
    let names = |source: &SharedSource| {
        Category::new_in(source, "Process").unwrap().instance_names().unwrap()
    };
    assert_eq!((names(&source), names(&source)), (vec!["a".to_string()], vec!["a".to_string()]));
    let mut category = Category::new_in(&source, "Process").unwrap();
    assert_eq!(category.read().unwrap().by_instance().iter().next().unwrap().name(), "a");
    assert_eq!(names(&source), ["a"]);
    // A loop that waits for an instance moves the recording on.
    while !Category::instance_exists_in(&source, "b", "Process").unwrap() {
        source.advance().unwrap();
    }
    assert_eq!(category.read().unwrap().by_instance().iter().next().unwrap().name(), "b");
    assert!(category.read().unwrap().by_instance().is_empty());
    assert!(source.advance().unwrap_err().is_end_of_data());
    assert!(category.read().unwrap_err().is_end_of_data());
}

#[test]
fn a_category_is_read_by_instance_and_by_counter() {
    let source = recording(&[
        &[("svchost", 1, 1, 0, 5), ("Total", 2, 1, 0, 6), ("svchost", 3, 1, 4, 7)],
        &[("svchost", 3, 1, 6, 8), ("svchost", 4, 1, 9, 9)],
    ]);
    let mut category = Category::new_in(&source, "Process").unwrap();
    let older = category.read().unwrap();
    let rows: Vec<_> = older.by_instance().iter().map(|row| row.name()).collect();
    assert_eq!(rows, ["svchost", "Total", "svchost#1"]);
    let columns: Vec<_> = older.by_counter().iter().map(|column| column.name()).collect();
    assert_eq!(columns, category.counter_names());
    // Both orders lead to the same data, in any case and language.
    let set = |data: InstanceData<'_>| data.value().unwrap();
    let row = older.by_instance().get("SVCHOST#1").unwrap();
    assert_eq!(set(row.get("WORKING set").unwrap()), 7.0);
    let column = older.by_counter().get("180").unwrap();
    assert_eq!(set(column.get("svchost#1").unwrap()), 7.0);
    assert_eq!(column.iter().map(set).collect::<Vec<_>>(), [5.0, 6.0, 7.0]);
    assert_eq!(row.label().unwrap().order, 1);
    assert!(older.by_instance().get("svchost#2").is_none());
    assert!(older.by_counter().get("Working").is_none());
    assert!(matches!(row.identity(), Some(Identity::Process { id: 3, .. })));
    let time = older.get("% processor time", "svchost").unwrap();
    assert!(matches!(time.value(), Err(NoValue::NeedsTwoSamples)));
    assert_eq!(time.sample().unwrap().raw_value(), 0);
    // Since the older sample the instance is found by identity, although its number has
    // shifted.
    let newer = category.read().unwrap();
    let since = |name| newer.get("% Processor Time", name).unwrap().value_since(&older);
    assert_eq!(since("svchost").unwrap(), 200.0);
    assert!(matches!(since("svchost#1"), Err(NoValue::Born)));
    let end = category.read().err();
    assert!(end.is_some_and(|error| error.is_end_of_data()));
    // A new reader is at the sample of the others.
    let mut threads = Category::new_in(&source, "Thread").unwrap();
    assert_eq!(threads.read().unwrap().by_instance().len(), 2);
    let wrong = threads.clone().read().unwrap();
    let set = wrong.get("Working Set", "svchost/1").unwrap();
    assert!(matches!(set.value_since(&newer), Err(NoValue::DifferentTypes)));
}

#[test]
fn the_counters_of_a_category_without_present_instances_have_their_types() {
    let source = recording(&[&[]]);
    let data = Category::new_in(&source, "Process").unwrap().read().unwrap();
    assert!(data.by_instance().is_empty());
    let types: Vec<_> = data.by_counter().iter().map(|column| column.counter_type()).collect();
    assert_eq!(types, counters().map(|counter| counter.counter_type));
}

#[test]
fn names_are_shown_in_the_requested_language() {
    let source = recording(&[&[("a", 1, 1, 0, 5)]]).language(LanguageId::GERMAN);
    let mut process = Category::new_in(&source, "Process").unwrap();
    assert_eq!(process.name(), "Prozess");
    let counter = PerformanceCounter::new_in(&source, "process", "working set", "A").unwrap();
    assert_eq!(counter.category_name(), "Prozess");
    assert_eq!(counter.counter_name(), "Arbeitsseiten");
    assert_eq!(counter.instance_name(), "A");
    let data = process.read().unwrap();
    let row = data.by_instance().get("a").unwrap();
    assert_eq!(row.get("Working Set").unwrap().counter_name(), "Arbeitsseiten");
    assert_eq!(row.get("arbeitsseiten").unwrap().raw_value().unwrap(), 5);
    // Names that are missing in German are English.
    assert_eq!(process.counter_names()[1], "Elapsed Time");
}

#[test]
fn counters_get_fresh_data_or_share_kept_data() {
    let (source, shown) = live(&[("a", 1, 1, 0, 5)]);
    let new = |source: &SharedSource| {
        PerformanceCounter::new_in(source, "Process", "Working Set", "a").unwrap()
    };
    let mut fresh = [new(&source), new(&source), new(&source)];
    let before = shown.taken();
    for counter in &mut fresh {
        assert_eq!(counter.next_value().unwrap(), 5.0);
    }
    assert_eq!(shown.taken(), before + 3);
    let mut missing = PerformanceCounter::new_in(&source, "Process", "Working Set", "z").unwrap();
    for number in 4..=6 {
        assert!(matches!(missing.next_value(), Err(NoValue::NoSuchInstance)));
        assert_eq!(shown.taken(), before + number);
    }
    // A fresh request is answered from a new collection.
    shown.show(sample(1, &[("a", 1, 1, 0, 6)]));
    assert_eq!(fresh[0].next_value().unwrap(), 6.0);
    // Kept data: one collection for all counters, and never the same sample twice for one of
    // them.
    let shared = source.clone().max_age(Duration::from_secs(3600));
    let mut counters = [new(&shared), new(&shared), new(&shared)];
    let before = shown.taken();
    for round in 1..=3 {
        for counter in &mut counters {
            counter.next_value().unwrap();
        }
        // The first round is served by an earlier collection.
        let now = shown.taken();
        assert!(now < before + round, "{} collections in {round} rounds", now - before);
    }
    assert!(shared.statistics().taken >= 6);
}

#[test]
fn an_instance_that_is_younger_than_kept_data_is_found() {
    let old = [("a", 1, 1, 0, 5), ("b", 2, 1, 0, 6)];
    let new = [old[0], old[1], ("b", 3, 1, 0, 7), ("c", 4, 1, 0, 8), ("(d)", 5, 1, 0, 9)];
    for (name, path, value) in [("b#1", "b#1", 7.0), ("c", "c", 8.0), ("(d)", "^(d^)", 9.0)] {
        let (source, shown) = live(&old);
        let kept = source.max_age(Duration::from_secs(3600));
        let working_set = |name: &str| {
            PerformanceCounter::new_in(&kept, "Process", "Working Set", name).unwrap().next_value()
        };
        let show = |second: usize, processes: &[P<'_>]| {
            shown.show(sample(second, processes));
            kept.source().forget();
        };
        working_set("a").unwrap();
        shown.show(sample(1, &new));
        assert_eq!(working_set(name).unwrap(), value);
        show(2, &old);
        working_set("a").unwrap();
        shown.show(sample(3, &new));
        assert!(Category::instance_exists_in(&kept, name, "Process").unwrap());
        show(4, &old);
        working_set("a").unwrap();
        shown.show(sample(5, &new));
        let mut query = Query::new(kept.source()).unwrap();
        query.add(&format!(r"\Process({path})\Working Set")).unwrap();
        query.collect().unwrap();
        assert_eq!(query.readings()[0].value.as_ref().unwrap().as_f64(), value, "{path}");
    }
}

#[test]
fn queries_over_a_shared_source_take_no_data_older_than_its_limit() {
    let (source, shown) = live(&[("a", 1, 1, 0, 5)]);
    let read = |source: &SharedSource| {
        let mut query = Query::new(source.source()).unwrap();
        query.add(r"\Process(*)\ID Process").unwrap();
        query.collect().unwrap();
        let ids = query.readings().iter().map(|reading| reading.process_id());
        ids.flatten().collect::<Vec<_>>()
    };
    assert_eq!(read(&source), [1]);
    // The process ends, and another one begins.
    shown.show(sample(1, &[("b", 2, 1, 0, 6)]));
    let hour = source.clone().max_age(Duration::from_secs(3600));
    assert_eq!((read(&hour), read(&source), read(&hour)), (vec![1], vec![2], vec![2]));
}

#[test]
fn after_a_failure_of_the_source_the_next_value_is_a_rate() {
    let (source, shown) = live(&[("a", 1, 1, 0, 5)]);
    let mut counter =
        PerformanceCounter::new_in(&source, "Process", "% Processor Time", "a").unwrap();
    assert_eq!(run(&mut counter, 1), ["needs-two-samples"]);
    // The same sample again: no time has passed.
    assert_eq!(run(&mut counter, 1), ["no-time-passed"]);
    shown.fail(Some(SourceError::new(SourceErrorKind::Busy, "live:", "busy")));
    assert_eq!(run(&mut counter, 1), ["source-failed"]);
    shown.fail(None);
    shown.show(sample(2, &[("a", 1, 1, 1, 5)]));
    assert_eq!(run(&mut counter, 1), ["50"]);
}

#[test]
fn handles_are_send_and_sync() {
    fn both<T: Send + Sync>() {}
    both::<SharedSource>();
    both::<Category>();
    both::<PerformanceCounter>();
    both::<CategoryData>();
    both::<CounterSample>();
}

#[test]
fn long_names_in_a_hostile_block_take_linear_time() {
    // A thousand instances of a parent with a name as long as a name can be.
    let long = "x".repeat(30_000);
    let one = [CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let parents: [Row<'_>; 1] = [(&long, None, &[1])];
    let rows: Vec<Row<'_>> = (0..5000).map(|_| ("y", Some((PROCESS, 0)), &[2u64][..])).collect();
    let bytes = block("HOST", 1, &[(PROCESS, &one, &parents), (THREAD, &one, &rows)]);
    let source = ReplaySource::new("hostile:", [("1".to_string(), bytes)]).unwrap();
    let source = SharedSource::new(source.with_titles(LanguageId::ENGLISH, &titles(&NAMES)));
    let mut threads = Category::new_in(&source, "Thread").unwrap();
    let start = std::time::Instant::now();
    let data = threads.read().unwrap();
    assert_eq!(threads.instances().unwrap().len(), 5000);
    for name in ["y", "x/y", "x^/y", "xy#4999"] {
        let found = threads.has_instance(name).unwrap();
        assert_eq!(found, name == "y", "{name}");
        assert!(data.get("Working Set", name).is_none());
    }
    assert!(data.get("Working Set", &format!("{long}/y#4999")).is_some());
    // Writing all names out takes minutes without optimisation.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn threads_are_found_by_parent_and_name() {
    let source = recording(&[&[("a", 1, 1, 0, 5)]]);
    let get = |instance| {
        PerformanceCounter::new_in(&source, "Thread", "Working Set", instance).unwrap().raw_value()
    };
    assert_eq!(get("a/1").unwrap(), 2);
    assert_eq!(get("A/0").unwrap(), 1);
    assert_eq!(get("A/0#0").unwrap(), 1);
    assert_eq!(get("1").unwrap(), 2);
    assert!(matches!(get("b/0"), Err(NoValue::NoSuchInstance)));
    assert!(matches!(get("a/*"), Err(NoValue::NoSuchInstance)));
}

fn vista() -> Option<SharedSource> {
    let blocks = real::files("windows-vista", "_global.bin");
    let names = real::text("titles/vista_009_from_pal_SampleLog.txt")?;
    let list = format::titles::TitleList::from_text(&names);
    let source = ReplaySource::new("vista:", blocks).ok()?;
    Some(SharedSource::new(source.with_titles(LanguageId::ENGLISH, &list)))
}

#[test]
fn a_real_log_has_the_independently_computed_values() {
    let Some(source) = vista() else { return };
    // Values at the second sample, computed independently from the same data.
    let known = [
        ("System", "File Read Operations/sec", "", 241.525_867_351_006_07),
        ("System", "Processes", "", 50.0),
        ("System", "System Up Time", "", 2_062.115_783_1),
        ("Memory", "% Committed Bytes In Use", "", 42.143_595_908_399_26),
        ("Process", "% Processor Time", "Idle", 17.851_886_844_677_406),
        ("PhysicalDisk", "Avg. Disk sec/Transfer", "0 C:", 0.008_170_940_934_075_234),
        ("processor", "% processor time", "_total", 82.148_113_155_322_59),
    ];
    let mut counters: Vec<_> = known
        .iter()
        .map(|(category, counter, instance, _)| {
            PerformanceCounter::new_in(&source, category, counter, instance).unwrap()
        })
        .collect();
    // Every counter sees the first sample, and then the second.
    for counter in &mut counters {
        let first = counter.next_value();
        assert_eq!(first.is_ok(), counter.counter_type().samples() == 1);
    }
    for (counter, (category, name, _, expected)) in counters.iter_mut().zip(known) {
        let value = counter.next_value().unwrap();
        assert!((value - expected).abs() <= 1e-12 * expected, "{category}/{name}: {value}");
    }
}

#[test]
fn calculate_agrees_with_next_value_on_a_real_log() {
    let mut compared = 0;
    for category in ["Processor", "Memory", "PhysicalDisk", "System"] {
        let Some(source) = vista() else { return };
        let mut category = Category::new_in(&source, category).unwrap();
        let (older, newer) = (category.read().unwrap(), category.read().unwrap());
        for row in &newer.by_instance() {
            for data in &row {
                let old = older.get(&data.counter_name(), &row.name()).unwrap().sample();
                let (Ok(old), Ok(new)) = (old, data.sample()) else { continue };
                let (a, b) = (CounterSample::calculate_between(old, new), data.value_since(&older));
                // Wraps are undone only where the instance is known to be the same.
                if let Ok(value) = a {
                    assert_eq!(Ok(value), b.map_err(|why| why.code()), "{data:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn every_instance_of_a_real_log_has_its_own_row() {
    let Some(source) = vista() else { return };
    let mut category = Category::new_in(&source, "Process").unwrap();
    let data = category.read().unwrap();
    let names: Vec<_> = data.by_instance().iter().map(|row| row.name()).collect();
    let has = |name: &str| names.iter().any(|known| known == name);
    assert!(has("svchost") && has("svchost#2"), "{names:?}");
    // Each name finds its row.
    for (place, name) in names.iter().enumerate() {
        let row = data.by_instance().get(name).unwrap();
        let own = data.by_instance().iter().nth(place).unwrap();
        assert_eq!(row.identity(), own.identity(), "{name}");
        assert!(category.has_instance(name).unwrap());
    }
}

#[test]
fn a_counter_has_the_faults_of_its_last_collection() {
    use perfhive::provide::{Broker, Numbering, ObjectWriter};
    let write = |_: &perfhive::provide::Collection<'_>, out: &mut ObjectWriter<'_>| {
        let counter = CounterSpec::new(TitleIndex(10), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
        let spec = format::ObjectSpec::new(TitleIndex(2));
        let template = format::ObjectTemplate::new(&spec, &[counter]).unwrap();
        out.object(&template)?.values(&[7])?.finish()?;
        out.fault(TitleIndex(2), None, "half of it could not be read");
        Ok(())
    };
    let names = [(2, "Shop"), (10, "Orders")];
    let provider =
        perfhive_testkit::script::ScriptProvider::new("p", Numbering::Windows, &names, write);
    let broker = Broker::builder("local:", "machine").provider(std::sync::Arc::new(provider));
    let source = SharedSource::new(broker.build());
    let mut orders = PerformanceCounter::new_in(&source, "Shop", "Orders", "").unwrap();
    assert!(orders.faults().is_empty());
    assert_eq!(orders.raw_value().unwrap(), 7);
    let [fault] = orders.faults() else { panic!("{:?}", orders.faults()) };
    assert_eq!(&*fault.message, "half of it could not be read");
}

#[test]
fn a_counter_whose_values_change_too_fast_is_busy_and_keeps_its_sample() {
    let (source, shown) = live(&[("a", 1, 1, 0, 5), ("b", 2, 1, 0, 6)]);
    let new = |name| PerformanceCounter::new_in(&source, "Process", "% Processor Time", name);
    let (mut counter, mut other) = (new("a").unwrap(), new("c").unwrap());
    assert_eq!(run(&mut counter, 1), ["needs-two-samples"]);
    // The provider leaves the instance out, and reports a fault.
    shown.show(sample(1, &[("b", 2, 1, 0, 6)]));
    let mut fault = Fault::new(FaultKind::Busy, "shown", "changes too fast");
    (fault.object, fault.instance) = (Some(PROCESS), Some("a".into()));
    shown.add_faults(vec![fault]);
    assert_eq!(
        (run(&mut counter, 2), run(&mut other, 1)),
        (vec!["busy".to_string(), "busy".into()], vec!["no-such-instance".to_string()],)
    );
    shown.add_faults(Vec::new());
    shown.show(sample(2, &[("a", 1, 1, 1, 5), ("b", 2, 1, 0, 6)]));
    assert_eq!(run(&mut counter, 1), ["50"]);
}
