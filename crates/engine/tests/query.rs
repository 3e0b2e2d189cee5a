//! Paths over scripted samples: names, identities, statuses.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CookError, CookedValue, CounterSpec, CounterType, InstanceHead,
    LanguageId, ObjectSpec, ObjectTemplate, TitleIndex,
};
use perfhive_recording::ReplaySource;
use perfhive_testkit::conformance;
use perfhive_testkit::script::{Row, ScriptProvider, block, titles};
use std::sync::Arc;

const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);

fn process_counters() -> Vec<CounterSpec> {
    vec![
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        CounterSpec::new(TitleIndex(28), CounterType::PERF_COUNTER_COUNTER),
    ]
}

fn names() -> perfhive_format::titles::TitleList {
    titles(&[
        (230, "Process"),
        (232, "Thread"),
        (784, "ID Process"),
        (804, "ID Thread"),
        (684, "Elapsed Time"),
        (6, "% Processor Time"),
        (180, "Working Set"),
        (28, "Page Faults/sec"),
    ])
}

/// A process: name, PID, start, processor time in seconds, working set.
type P<'a> = (&'a str, u64, u64, u64, u64);

fn processes(machine: &str, samples: &[&[P<'_>]]) -> ReplaySource {
    let blocks = samples.iter().enumerate().map(|(second, processes)| {
        let values: Vec<[u64; 5]> = processes
            .iter()
            .map(|(_, pid, start, cpu, ws)| [*pid, *start, cpu * 10_000_000, *ws, cpu * 100])
            .collect();
        let rows: Vec<Row<'_>> =
            processes.iter().zip(&values).map(|(p, v)| (p.0, None, &v[..])).collect();
        let bytes = block(machine, second as i64 + 1, &[(PROCESS, &process_counters(), &rows)]);
        (format!("sample {second}"), bytes)
    });
    ReplaySource::new("script:", blocks).unwrap().with_titles(LanguageId::ENGLISH, &names())
}

/// `path` over the samples: each sample's readings as `instance=value` or
/// `instance:status`.
fn run(samples: &[&[P<'_>]], path: &str) -> Vec<Vec<String>> {
    let mut query = Query::new(processes("HOST", samples)).unwrap();
    query.add(path).unwrap();
    samples
        .iter()
        .map(|_| {
            query.collect().unwrap();
            query.readings().iter().map(show).collect()
        })
        .collect()
}

fn show(reading: &Reading) -> String {
    let label = reading.instance.as_ref().map_or(String::new(), ToString::to_string);
    match &reading.value {
        Ok(value) => format!("{label}={}", value.as_f64()),
        Err(why) => format!("{label}:{}", why.code()),
    }
}

#[test]
fn after_a_process_exits_values_stay_with_the_right_instances_of_its_name() {
    // Three processes of one name. The first exits, so that `#n` shifts.
    let samples: [&[P<'_>]; 2] = [
        &[("java", 10, 1, 100, 1), ("java", 20, 2, 200, 2), ("java", 30, 3, 300, 3)],
        &[("java", 20, 2, 201, 2), ("java", 30, 3, 300, 3)],
    ];
    let seen = run(&samples, r"\Process(java#*)\% Processor Time");
    assert_eq!(
        seen[0],
        ["java:needs-two-samples", "java#1:needs-two-samples", "java#2:needs-two-samples"]
    );
    assert_eq!(seen[1], ["java=100", "java#1=0", "java:vanished"]);
}

#[test]
fn a_reused_pid_with_another_start_time_has_no_rate() {
    let samples: [&[P<'_>]; 2] = [&[("sh", 10, 1, 100, 1)], &[("sh", 10, 2, 150, 1)]];
    let seen = run(&samples, r"\Process(sh)\% Processor Time");
    assert_eq!(seen[1], ["sh:born"]);
    // A counter of one sample has a value immediately.
    assert_eq!(run(&samples, r"\Process(sh)\Working Set")[1], ["sh=1"]);
}

#[test]
fn a_path_has_values_again_when_a_process_of_its_name_comes_back() {
    let samples: [&[P<'_>]; 5] = [
        &[("app", 10, 1, 5, 1)],
        &[("app", 10, 1, 6, 1)],
        &[],
        &[("app", 99, 7, 50, 1)],
        &[("app", 99, 7, 52, 1)],
    ];
    let seen = run(&samples, r"\Process(app)\% Processor Time");
    assert_eq!(
        seen.concat(),
        ["app:needs-two-samples", "app=100", "app:vanished", "app:born", "app=200"]
    );
}

#[test]
fn total_and_idle_with_pid_0_are_identified_by_name() {
    // Both have PID 0, and the start of `_Total` follows the clock.
    let samples: [&[P<'_>]; 2] = [
        &[("Idle", 0, 5, 10, 0), ("_Total", 0, 100, 20, 9)],
        &[("Idle", 0, 5, 11, 0), ("_Total", 0, 200, 23, 9)],
    ];
    let seen = run(&samples, r"\Process(*)\% Processor Time");
    assert_eq!(seen[1], ["Idle=100", "_Total=300"]);
}

#[test]
fn edge_case_07_a_total_that_shrinks_is_not_unwrapped() {
    // 32-bit page faults of a sum: a process with many exited.
    let samples: [&[P<'_>]; 2] =
        [&[("_Total", 0, 1, 42_000_000, 0)], &[("_Total", 0, 2, 4_000_000, 0)]];
    let seen = run(&samples, r"\Process(_Total)\Page Faults/sec");
    assert_eq!(seen[1], ["_Total:went-backwards"]);
    // The same step of one process of known identity is a wrap.
    let samples: [&[P<'_>]; 2] = [&[("p", 9, 1, 42_949_672, 0)], &[("p", 9, 1, 1, 0)]];
    let seen = run(&samples, r"\Process(p)\Page Faults/sec");
    assert_eq!(seen[1], ["p=196"]);
}

#[test]
fn instances_without_ids_are_identified_by_parent_name_and_order() {
    // No ID counters: threads named by their parents.
    let counters = [CounterSpec::new(TitleIndex(28), CounterType::PERF_COUNTER_COUNTER)];
    let sample = |second, values: [u64; 3]| {
        let parent = |n| Some((PROCESS, n));
        let v = values.map(|v| [v]);
        let rows: [Row<'_>; 3] =
            [("0", parent(0), &v[0]), ("0", parent(1), &v[1]), ("0", parent(7), &v[2])];
        let processes: [Row<'_>; 2] = [("a", None, &[1]), ("b", None, &[2])];
        block("HOST", second, &[(PROCESS, &counters, &processes), (THREAD, &counters, &rows)])
    };
    let blocks = [("1".to_string(), sample(1, [0, 0, 0])), ("2".into(), sample(2, [1, 2, 3]))];
    let source =
        ReplaySource::new("t:", blocks).unwrap().with_titles(LanguageId::ENGLISH, &names());
    let mut query = Query::new(source).unwrap();
    query.add(r"\Thread(*)\Page Faults/sec").unwrap();
    query.collect().unwrap();
    query.collect().unwrap();
    let seen: Vec<_> = query.readings().iter().map(show).collect();
    // The third names a parent that is not in the block (edge case 15).
    assert_eq!(seen, ["a/0=1", "b/0=2", "0=3"]);
    let paths: Vec<_> = query.readings().iter().map(|r| query.path_of(r).to_string()).collect();
    assert_eq!(paths[1], r"\Thread(b/0)\Page Faults/sec");
}

#[test]
fn unknown_names_in_paths_are_errors_with_the_nearest_names() {
    let mut query = Query::new(processes("HOST", &[&[("p", 1, 1, 1, 1)]])).unwrap();
    let mut fails = |path: &str| query.add(path).unwrap_err().to_string();
    assert_eq!(fails(r"\Proces(p)\Working Set"), r#"no object "Proces"; did you mean "Process"?"#);
    assert!(fails(r"\Process(p)\Workingset").contains(r#"did you mean "Working Set""#));
    assert!(fails(r"\Process\Working Set").contains(r"\Process(*)\"));
    assert!(fails(r"\\OTHER\Process(p)\Working Set").contains("HOST"));
    assert!(fails(r"Process").contains("begins with a backslash"));
}

#[test]
fn names_match_in_every_language_and_case() {
    let german = titles(&[(230, "Prozess"), (180, "Arbeitsseiten")]);
    let open =
        || processes("HOST", &[&[("p", 1, 1, 1, 42)]]).with_titles(LanguageId::GERMAN, &german);
    // German names match where English is shown, and the reverse.
    for language in [LanguageId::ENGLISH, LanguageId::GERMAN] {
        let mut query = Query::over(SourceSet::new(open()), language).unwrap();
        query.add(r"\PROZESS(P)\arbeitsseiten").unwrap();
        query.add(r"\process(P)\WORKING SET").unwrap();
        query.collect().unwrap();
        let paths: Vec<_> = query.readings().iter().map(|r| query.path_of(r).to_string()).collect();
        let shown = match language {
            LanguageId::GERMAN => r"\Prozess(p)\Arbeitsseiten",
            _ => r"\Process(p)\Working Set",
        };
        assert_eq!(paths, [shown, shown]);
    }
    // Indexes match where there are no names.
    let mut query = Query::new(open()).unwrap();
    query.add(r"\230(p)\180").unwrap();
    query.collect().unwrap();
    assert!(matches!(query.readings()[0].value, Ok(CookedValue::Integer(42))));
}

#[test]
fn wildcards_match_in_every_part_of_a_path() {
    let samples: [&[P<'_>]; 1] = [&[("java", 1, 1, 1, 10), ("javac", 2, 2, 1, 20)]];
    assert_eq!(run(&samples, r"\Pro*(java*)\Work*Set")[0], ["java=10", "javac=20"]);
    assert_eq!(run(&samples, r"\\H*T\*(*c)\work*")[0], ["javac=20"]);
    assert_eq!(run(&samples, r"\*(java)\*")[0].len(), 5);
}

#[test]
fn the_machine_of_a_path_chooses_the_source() {
    let at = |machine: &str, ws| processes(machine, &[&[("p", 1, 1, 1, ws)]]);
    let sources =
        SourceSet::new(at("A", 1)).with_machine("bee", at("B", 2)).with_opener(|name| match name {
            "c" => Ok(Box::new(processes("C", &[&[("p", 1, 1, 1, 3)]]))),
            "d" => Err(SourceError::new(SourceErrorKind::NotFound, name, "not in the log")),
            _ => Err(SourceError::new(SourceErrorKind::Unavailable, name, "unknown host")),
        });
    let mut query = Query::over(sources, LanguageId::ENGLISH).unwrap();
    for path in [r"\Process(p)\Working Set", r"\\BEE\Process(p)\Working Set"] {
        query.add(path).unwrap();
    }
    query.add(r"\\c\Process(p)\Working Set").unwrap();
    let error = query.add(r"\\nowhere\Process(p)\Working Set").unwrap_err();
    assert!(error.to_string().contains("unknown host"), "{error}");
    let error = query.add(r"\\d\Process(p)\Working Set").unwrap_err();
    assert!(matches!(&error, QueryError::UnknownMachine { .. }), "{error}");
    query.add(r"\\*\Process(p)\Working Set").unwrap();
    query.collect().unwrap();
    let values: Vec<_> = query.readings().iter().map(show).collect();
    assert_eq!(values, ["p=1", "p=2", "p=3", "p=1", "p=2", "p=3"]);
    let machines: Vec<_> = query.readings().iter().map(|r| r.machine.to_string()).collect();
    assert_eq!(&machines[..3], ["A", "bee", "c"]);
    assert!(query.path_of(&query.readings()[1]).to_string().starts_with(r"\\bee\"));
}

#[test]
fn a_pattern_of_machines_means_those_of_the_time_when_it_was_added() {
    let at =
        |machine: &str, ws| processes(machine, &[&[("p", 1, 1, 1, ws)], &[("p", 1, 1, 1, ws)]]);
    let sources = SourceSet::new(at("A", 1)).with_opener(move |_| Ok(Box::new(at("C", 3))));
    let mut query = Query::over(sources, LanguageId::ENGLISH).unwrap();
    let every = r"\\*\Process(p)\Working Set";
    let early = query.add(every).unwrap();
    let named = query.add(r"\\c\Process(p)\Working Set").unwrap();
    let late = query.add(every).unwrap();
    query.collect().unwrap();
    let of = |id| query.readings_of(id).map(show).collect::<Vec<_>>();
    assert_eq!((of(early), of(named)), (vec!["p=1".to_string()], vec!["p=3".to_string()]));
    assert_eq!(of(late), ["p=1", "p=3"]);
}

#[test]
fn frames_are_the_same_objects_and_faults_at_once_or_one_by_one() {
    let counters = process_counters();
    let rows: [Row<'_>; 1] = [("p", None, &[1, 1, 1, 1, 1])];
    let whole = |machine, objects: &[TitleIndex]| {
        let objects: Vec<_> =
            objects.iter().map(|name| (*name, &counters[..], &rows[..])).collect();
        block(machine, 1, &objects)
    };
    let mut damaged = whole("B", &[PROCESS]);
    damaged.iter_mut().rev().take(60).for_each(|byte| *byte = 0xff);
    let blocks =
        [whole("A", &[THREAD]), damaged, whole("C", &[PROCESS, THREAD]), whole("D", &[PROCESS])];
    let frames = blocks.map(|bytes| Arc::new(Frame::new(bytes, 1).unwrap()));
    let (mut at_once, mut by_one) = (Snapshot::new(), Snapshot::new());
    at_once.push_frames(frames.clone(), "source");
    frames.into_iter().for_each(|frame| by_one.push_frame(frame, "source"));
    // The first frame with an object has it.
    let of = |snapshot: &Snapshot| {
        let machine =
            |name| snapshot.object(name).map(|object| object.frame().machine().to_string());
        let objects =
            snapshot.objects().map(|object| object.view().name_index()).collect::<Vec<_>>();
        (objects, machine(PROCESS), machine(THREAD), snapshot.faults().to_vec())
    };
    let (objects, process, thread, faults) = of(&at_once);
    assert_eq!(objects, [THREAD, PROCESS, THREAD, PROCESS]);
    assert_eq!((process.as_deref(), thread.as_deref()), (Some("C"), Some("A")));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        matches!(faults[0].kind, FaultKind::DamagedObject(_)) && &*faults[0].provider == "source"
    );
    assert_eq!(format!("{:?}", of(&at_once)), format!("{:?}", of(&by_one)));
}

/// A source that fails at its second collection.
struct Fails(ReplaySource, u32);
impl Source for Fails {
    fn name(&self) -> &str {
        "fails:"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.1 += 1;
        if self.1 == 2 {
            out.clear();
            return Err(SourceError::new(SourceErrorKind::Unavailable, self.name(), "cable cut"));
        }
        self.0.collect(request, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<std::sync::Arc<Catalogue>, SourceError> {
        self.0.catalogue(ask)
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<std::sync::Arc<TitleDatabase>, SourceError> {
        self.0.titles(language, ask)
    }
}

/// A source that finds out another catalogue when it is asked for objects, and whose titles are late from then on.
struct LateTitles(ReplaySource, bool);
impl Source for LateTitles {
    fn name(&self) -> &str {
        "late:"
    }
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.0.collect(ask, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.1 |= matches!(&ask.objects, ObjectQuery::Indexes(asked) if !asked.is_empty());
        let mut catalogue = Catalogue::clone(&*self.0.catalogue(ask)?);
        catalogue.generation += u64::from(self.1);
        Ok(Arc::new(catalogue))
    }
    fn titles(&mut self, of: LanguageId, ask: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        match self.1 {
            true => Err(SourceError::new(SourceErrorKind::Deadline, "late:", "late")),
            false => self.0.titles(of, ask),
        }
    }
}

#[test]
fn when_titles_are_late_a_name_is_not_called_unknown() {
    let source = LateTitles(processes("A", &[&[("p", 1, 1, 1, 1)]]), false);
    let mut query = Query::new(source).unwrap();
    let error = query.add(r"\Unheard(p)\Working Set").unwrap_err();
    assert!(matches!(&error, QueryError::Source(error) if error.is_transient()), "{error:?}");
}

#[test]
fn when_one_source_fails_the_others_have_values() {
    let samples: [&[P<'_>]; 3] = [&[("p", 1, 1, 1, 1)], &[("p", 1, 1, 2, 1)], &[("p", 1, 1, 4, 1)]];
    let sources = SourceSet::new(processes("A", &samples))
        .with_machine("b", Fails(processes("B", &samples), 0));
    let mut query = Query::over(sources, LanguageId::ENGLISH).unwrap();
    query.add(r"\Process(p)\% Processor Time").unwrap();
    query.add(r"\\b\Process(p)\% Processor Time").unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        query.collect().unwrap();
        seen.push(query.readings().iter().map(show).collect::<Vec<_>>());
    }
    assert_eq!(seen[1], ["p=100", ":source-failed"]);
    // Its next value spans the failure: its second sample is one second after its first.
    assert_eq!(seen[2], ["p=200", "p=100"]);

    // Without another source the collection fails.
    let mut query = Query::new(Fails(processes("B", &samples), 1)).unwrap();
    query.add(r"\Process(p)\Working Set").unwrap();
    assert!(query.collect().unwrap_err().to_string().contains("cable cut"));
}

#[test]
fn a_recording_ends() {
    let mut query = Query::new(processes("A", &[&[("p", 1, 1, 1, 1)]])).unwrap();
    query.add(r"\Process(p)\Working Set").unwrap();
    assert!(!query.is_live());
    query.collect().unwrap();
    assert!(query.collect().unwrap_err().is_end_of_data());
}

#[test]
fn a_removed_path_has_no_readings() {
    let samples: [&[P<'_>]; 1] = [&[("p", 1, 1, 1, 1)]];
    let mut query = Query::new(processes("A", &samples)).unwrap();
    let one = query.add(r"\Process(p)\Working Set").unwrap();
    let two = query.add(r"\Process(p)\ID Process").unwrap();
    assert!(query.remove(one));
    assert!(!query.remove(one));
    query.collect().unwrap();
    assert_eq!(query.readings().len(), 1);
    assert_eq!(query.readings_of(two).count(), 1);
}

#[test]
fn samples_of_two_machines_in_one_recording_are_an_error() {
    let one = block("A", 1, &[]);
    let other = block("B", 2, &[]);
    let blocks = [("a.bin".to_string(), one), ("b.bin".to_string(), other)];
    let error = ReplaySource::new("t:", blocks).err().unwrap();
    assert_eq!(error.kind(), SourceErrorKind::Mismatch);
    assert!(error.to_string().contains("a.bin"), "{error}");
    let error = ReplaySource::new("t:", [("c.bin".to_string(), vec![1, 2, 3])]).err().unwrap();
    assert_eq!(error.kind(), SourceErrorKind::Malformed);
    assert!(error.to_string().starts_with("c.bin: "), "{error}");
}

#[test]
fn samples_in_the_wrong_order_have_no_rates() {
    let rows: [Row<'_>; 1] = [("p", None, &[1, 1, 10, 1, 1])];
    let sample = |second| block("A", second, &[(PROCESS, &process_counters(), &rows)]);
    let blocks = [("2".to_string(), sample(2)), ("1".to_string(), sample(1))];
    let source =
        ReplaySource::new("t:", blocks).unwrap().with_titles(LanguageId::ENGLISH, &names());
    let mut query = Query::new(source).unwrap();
    query.add(r"\Process(p)\% Processor Time").unwrap();
    query.collect().unwrap();
    query.collect().unwrap();
    let why = query.readings()[0].value.as_ref().unwrap_err();
    assert!(matches!(why, NoValue::Cook(CookError::ClockWentBackwards)), "{why}");
}

#[test]
fn a_recording_is_a_source() {
    let samples: [&[P<'_>]; 3] = [&[("p", 1, 1, 1, 1)], &[("p", 1, 1, 2, 1)], &[("p", 1, 1, 4, 1)]];
    conformance::source(|| Box::new(processes("A", &samples)));
}

#[test]
fn when_one_object_is_damaged_the_others_have_values() {
    let rows: [Row<'_>; 1] = [("p", None, &[1, 1, 1, 1, 1])];
    let counters = process_counters();
    let mut bytes = block("A", 1, &[(THREAD, &counters, &rows), (PROCESS, &counters, &rows)]);
    // The first instance of the first object claims to be longer than the block.
    let header = u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as usize;
    let start =
        header + u32::from_le_bytes(bytes[header + 4..header + 8].try_into().unwrap()) as usize;
    bytes[start..start + 4].copy_from_slice(&9999u32.to_le_bytes());
    let source = ReplaySource::new("t:", [("x".to_string(), bytes)]).unwrap();
    let mut query = Query::new(source.with_titles(LanguageId::ENGLISH, &names())).unwrap();
    query.add(r"\Process(p)\Working Set").unwrap();
    query.collect().unwrap();
    assert_eq!(show(&query.readings()[0]), "p=1");
    assert!(query.add(r"\Thread(p)\Working Set").is_err(), "it is not in the catalogue");
}

#[test]
fn the_path_of_a_reading_without_an_instance_has_the_added_instance() {
    let samples: [&[P<'_>]; 1] = [&[("java", 10, 1, 100, 1)]];
    let mut query = Query::new(processes("HOST", &samples)).unwrap();
    query.add(r"\Process(cat#2)\working set").unwrap();
    query.collect().unwrap();
    let reading = &query.readings()[0];
    assert_eq!(show(reading), ":no-such-instance");
    assert_eq!(query.path_of(reading).to_string(), r"\Process(cat#2)\Working Set");
}

#[test]
fn many_instances_with_parents_are_labelled_in_linear_time() {
    let counter = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let count = 20_000;
    let parents: Vec<Row<'_>> = (0..count).map(|_| ("p", None, &[1][..])).collect();
    let children: Vec<Row<'_>> =
        (0..count).map(|n| ("c", Some((TitleIndex(100 + n % 2 * 2), n)), &[2][..])).collect();
    let objects = [
        (TitleIndex(100), &counter[..], &parents[..]),
        (TitleIndex(102), &counter[..], &parents[..]),
        (TitleIndex(104), &counter[..], &children[..]),
    ];
    let bytes = block("HOST", 1, &objects);
    let source = ReplaySource::new("script:", [("a".to_string(), bytes)]).unwrap();
    let mut query = Query::new(source).unwrap();
    query.add(r"\104(p/c#*)\6").unwrap();
    let start = std::time::Instant::now();
    query.collect().unwrap();
    assert_eq!(query.readings().len(), count as usize);
    // A walk for each instance would take quadratic time.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn the_first_value_of_an_instance_needs_a_second_sample() {
    let counter = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_BULK_COUNT)];
    let spec = ObjectSpec::new(TitleIndex(100)).with_instances();
    let template = ObjectTemplate::new(&spec, &counter).unwrap();
    let values: [&[u64]; 3] = [&[], &[100], &[150]];
    let blocks = (1..).zip(values).map(|(second, values)| {
        let clocks = Clocks { perf_time: second, perf_freq: 1, ..Clocks::default() };
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead { clocks, ..BlockHead::default() });
        let mut object = writer.object(&template).unwrap();
        object.instance_prefix(&InstanceHead::named("a"), values).unwrap();
        object.finish().unwrap();
        (format!("sample {second}"), writer.finish().to_vec())
    });
    let mut query = Query::new(ReplaySource::new("script:", blocks).unwrap()).unwrap();
    query.add(r"\100(a)\6").unwrap();
    for expected in ["a:no-data", "a:needs-two-samples", "a=50"] {
        query.collect().unwrap();
        assert_eq!(show(&query.readings()[0]), expected);
    }
}

#[test]
fn a_pattern_of_machines_skips_one_that_is_down() {
    struct Down;
    impl Source for Down {
        fn name(&self) -> &str {
            "down:"
        }
        fn collect(&mut self, _: &Ask, _: &mut Snapshot) -> Result<(), SourceError> {
            Err(SourceError::new(SourceErrorKind::Unavailable, self.name(), "no route"))
        }
        fn catalogue(&mut self, _: &Ask) -> Result<std::sync::Arc<Catalogue>, SourceError> {
            Err(SourceError::new(SourceErrorKind::Unavailable, self.name(), "no route"))
        }
        fn titles(
            &mut self,
            _: LanguageId,
            _: &Ask,
        ) -> Result<std::sync::Arc<TitleDatabase>, SourceError> {
            Err(SourceError::new(SourceErrorKind::Unavailable, self.name(), "no route"))
        }
    }
    let samples: [&[P<'_>]; 1] = [&[("p", 1, 1, 1, 1)]];
    let sources = SourceSet::new(processes("A", &samples)).with_machine("b", Down);
    let mut query = Query::over(sources, LanguageId::ENGLISH).unwrap();
    query.add(r"\\*\Process(p)\Working Set").unwrap();
    query.collect().unwrap();
    assert_eq!(query.readings().iter().map(show).collect::<Vec<_>>(), ["p=1"]);
    let error = query.add(r"\\b\Process(p)\Working Set").unwrap_err();
    assert!(error.to_string().contains("no route"), "{error}");
}

#[test]
fn a_counter_of_a_later_sample_of_a_recording_is_in_the_catalogue() {
    let counters = process_counters();
    let rows: [Row<'_>; 1] = [("p", None, &[1, 1, 1, 7, 1])];
    let few: [Row<'_>; 1] = [("p", None, &[1])];
    let blocks = [
        ("1".to_string(), block("A", 1, &[(PROCESS, &counters[..1], &few)])),
        ("2".to_string(), block("A", 2, &[(PROCESS, &counters, &rows)])),
    ];
    let source = ReplaySource::new("t:", blocks).unwrap();
    let mut query = Query::new(source.with_titles(LanguageId::ENGLISH, &names())).unwrap();
    query.add(r"\Process(p)\Working Set").unwrap();
    query.collect().unwrap();
    assert_eq!(show(&query.readings()[0]), ":counter-missing");
    query.collect().unwrap();
    assert_eq!(show(&query.readings()[0]), "p=7");
}

#[test]
fn a_machine_name_at_the_end_of_a_block_is_kept() {
    let rows: [Row<'_>; 1] = [("p", None, &[1, 1, 1, 7, 1])];
    let mut bytes = block("AB", 1, &[(PROCESS, &process_counters(), &rows)]);
    // Move the machine's name to the end of the block.
    let end = bytes.len() as u32;
    bytes.extend(*b"Z\0Z\0\0\0\0\0");
    bytes[80..84].copy_from_slice(&6u32.to_le_bytes());
    bytes[84..88].copy_from_slice(&end.to_le_bytes());
    let mut source = ReplaySource::new("t:", [("x".to_string(), bytes)]).unwrap();
    let mut snapshot = Snapshot::new();
    source.collect(&Ask::objects(&[PROCESS]), &mut snapshot).unwrap();
    assert_eq!(snapshot.machine().as_deref(), Some("ZZ"));
    assert!(snapshot.object(PROCESS).is_some());
}

#[test]
fn an_instance_with_a_fault_is_not_missing() {
    let provider =
        ScriptProvider::new("p", Numbering::Windows, &[(2, "Shop"), (10, "Orders")], |_, out| {
            let counter =
                CounterSpec::new(TitleIndex(10), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
            let spec = ObjectSpec::new(TitleIndex(2)).with_instances();
            let template = ObjectTemplate::new(&spec, &[counter]).unwrap();
            let mut object = out.object(&template)?;
            object.instance(&InstanceHead::named("open"), &[7])?;
            object.finish()?;
            out.fault(TitleIndex(2), Some("locked"), "is locked");
            out.busy(TitleIndex(2), Some("busy"), "changed too fast");
            Ok(())
        });
    let broker =
        Broker::builder("local:", "machine").provider(Arc::new(provider.with_instances())).build();
    let mut query = Query::new(broker).unwrap();
    for name in ["open", "locked", "busy", "shut"] {
        query.add(&format!(r"\Shop({name})\Orders")).unwrap();
    }
    query.collect().unwrap();
    let code = |place: usize| query.readings()[place].value.as_ref().map_err(|why| why.code());
    assert!(code(0).is_ok());
    let codes = [1, 2, 3].map(|place| code(place).err());
    assert_eq!(codes, [Some("instance-failed"), Some("busy"), Some("no-such-instance")]);
    let [_, fault] = query.faults(0) else { panic!("{:?}", query.faults(0)) };
    assert_eq!((&*fault.message, fault.instance.as_deref()), ("changed too fast", Some("busy")));
}

/// An instance called `a/b` without a parent, and one called `b` with the parent `a`.
#[test]
fn a_label_as_a_path_means_its_own_instance_alone() {
    let counters = [CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let own: &[Row<'_>] = &[("a/b", None, &[1]), ("b", Some((PROCESS, 0)), &[2])];
    let objects: [(_, &[_], &[Row<'_>]); 2] =
        [(PROCESS, &counters, &[("a", None, &[0])]), (THREAD, &counters, own)];
    let bytes = block("HOST", 1, &objects);
    let source = ReplaySource::new("script:", [("a".to_string(), bytes)]).unwrap();
    let mut query = Query::new(source.with_titles(LanguageId::ENGLISH, &names())).unwrap();
    let paths = [r"\Thread(a^/b)\Working Set", r"\Thread(a/b)\Working Set"];
    let ids = paths.map(|path| query.add(path).unwrap());
    query.collect().unwrap();
    let own = ids.map(|id| {
        let readings = query.readings().iter().filter(|reading| reading.path == id);
        readings.map(show).collect::<Vec<_>>()
    });
    assert_eq!(own, [["a^/b=1"], ["a/b=2"]]);
}
