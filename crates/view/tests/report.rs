//! Reports of made-up recordings with known figures.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{Ask, Query, Snapshot, Source, TitleSet};
use perfhive_format::{CounterSpec, CounterType, FileTime, LanguageId, TitleIndex};
use perfhive_testkit::script::{Row, block, replay};
use perfhive_view::report::{
    Analysis, Choice, PalRules, Prepared, Report, ReportScope, Threshold, ThresholdLevel, compare,
};
use std::collections::HashMap;

const NAMES: [(u32, &str); 10] = [
    (230, "Process"),
    (6, "% Processor Time"),
    (180, "Working Set"),
    (784, "ID Process"),
    (684, "Elapsed Time"),
    (238, "Processor"),
    (10_000, "Shop"),
    (10_002, "Carts"),
    (10_004, "Sales/sec"),
    (10_006, "% Margin"),
];

/// A process in a sample: name, ID, start, processor time in seconds, working set.
type Process = (&'static str, u64, u64, u64, u64);

/// A sample: its second, the processes, the processor time of each processor in seconds, and the shop's carts
/// and sales.
struct Sample {
    second: i64,
    processes: Vec<Process>,
    processors: Vec<u64>,
    shop: (u64, u64),
}

fn sample(second: i64, processes: &[Process], processors: &[u64], shop: (u64, u64)) -> Sample {
    Sample { second, processes: processes.to_vec(), processors: processors.to_vec(), shop }
}

/// A sample as a data block, which lacks the object Process where the sample has no processes.
fn bytes(sample: &Sample) -> Vec<u8> {
    let of = |index: u32, kind| CounterSpec::new(TitleIndex(index), kind);
    let process = [
        of(6, CounterType::PERF_100NSEC_TIMER),
        of(180, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        of(784, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        of(684, CounterType::PERF_ELAPSED_TIME),
    ];
    let processor = [of(6, CounterType::PERF_100NSEC_TIMER)];
    let shop = [
        of(10_002, CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        of(10_004, CounterType::PERF_COUNTER_BULK_COUNT),
    ];
    let values: Vec<(&str, [u64; 4])> = sample
        .processes
        .iter()
        .map(|(name, id, start, busy, set)| (*name, [busy * 10_000_000, *set, *id, *start]))
        .collect();
    let processes: Vec<Row<'_>> = values.iter().map(|(name, v)| (*name, None, &v[..])).collect();
    let numbers = ["0", "1", "2", "3"];
    let busy: Vec<[u64; 1]> = sample.processors.iter().map(|busy| [busy * 10_000_000]).collect();
    let processors: Vec<Row<'_>> =
        busy.iter().zip(numbers).map(|(v, name)| (name, None, &v[..])).collect();
    let (carts, sales) = sample.shop;
    let values = [carts, sales];
    let objects: [(TitleIndex, &[CounterSpec], &[Row<'_>]); 3] = [
        (TitleIndex(230), &process, &processes),
        (TitleIndex(238), &processor, &processors),
        (TitleIndex(10_000), &shop, &[("main", None, &values)]),
    ];
    block("HOST", sample.second, &objects[usize::from(processes.is_empty())..])
}

/// The report of some samples, with the rules of PAL's that `pal` gives, or else the built-in thresholds.
fn report(samples: &[Sample], pal: Option<&str>, answers: &[(&str, &str)]) -> Report {
    report_of(samples.iter().map(bytes), pal, answers)
}

/// The report of some data blocks, with thresholds as in [`report`].
fn report_of(
    blocks: impl IntoIterator<Item = Vec<u8>>,
    pal: Option<&str>,
    answers: &[(&str, &str)],
) -> Report {
    let mut source = replay(blocks, &NAMES);
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    let titles = TitleSet::new(vec![source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap()]);
    let mut first = Snapshot::new();
    source.collect(&Ask::everything(), &mut first).unwrap();
    source.recording().unwrap().seek(None).unwrap();
    let prepared = match pal {
        Some(text) => {
            let mut rules = PalRules::default();
            rules.add("rules.xml", text).unwrap();
            let answers: HashMap<String, String> =
                answers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            rules.prepare(&catalogue, &titles, &first, &answers)
        }
        None => Prepared { thresholds: Threshold::built_in(), ..Prepared::default() },
    };
    let scope = ReportScope::new(&catalogue, &titles, &Choice::Usual, prepared.thresholds);
    let mut query = Query::new(source).unwrap();
    for path in scope.paths() {
        query.add_path(path).unwrap();
    }
    let mut analysis = Analysis::new(scope);
    while query.collect().is_ok() {
        let time = query.time_of(&query.readings()[0]).unwrap().to_file_time().unwrap();
        analysis.add(&query, time);
    }
    let mut report = analysis.finish(3);
    report.unevaluated.extend(prepared.unevaluated);
    report.without_counters += prepared.without_counters;
    report
}

fn second(second: i64) -> FileTime {
    FileTime(133_000_000_000_000_000 + second * 10_000_000)
}

/// One minute of a machine with two processors: one program is restarted, another starts late.
fn minute() -> Vec<Sample> {
    vec![
        sample(0, &[("web", 1, 5, 0, 100), ("db", 2, 6, 0, 900)], &[0, 0], (5, 0)),
        sample(10, &[("web", 1, 5, 8, 200), ("db", 2, 6, 1, 900)], &[9, 1], (50, 100)),
        sample(20, &[("db", 2, 6, 2, 900)], &[18, 2], (7, 150)),
        sample(30, &[("web", 9, 25, 1, 50), ("db", 2, 6, 3, 900)], &[19, 3], (7, 150)),
        sample(
            60,
            &[("web", 9, 25, 4, 60), ("db", 2, 6, 6, 900), ("late", 3, 55, 1, 7)],
            &[22, 6],
            (7, 150),
        ),
    ]
}

#[test]
fn figures_are_those_of_each_counter_with_their_times() {
    let report = report(&minute(), None, &[]);
    let names: Vec<_> = report.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!((report.machine.as_str(), names), ("HOST", vec!["Processor", "Shop"]));
    let shop = &report.objects[1].instances[0];
    assert_eq!(shop.label.as_deref(), Some("main"));
    let [carts, sales] = &shop.counters[..] else { panic!("{shop:?}") };
    let all = &carts.summary;
    assert_eq!(
        (all.count, all.minimum, all.mean, all.percentile_95, all.maximum),
        (5, 5.0, 15.2, 50.0, 50.0)
    );
    assert_eq!((all.minimum_at, all.maximum_at), (second(0), second(10)));
    // 150 sales in 60 seconds are 2.5 a second; the plain mean of the rates 10, 5, 0 and 0 is another.
    let all = &sales.summary;
    assert_eq!((all.count, all.mean, all.maximum, all.is_exact), (4, 2.5, 10.0, true));
    assert_eq!(sales.unit, "1/s");
    assert_eq!(report.timeline.gaps().len(), 1);
    assert_eq!(report.timeline.interval(), Some(100_000_000));
}

#[test]
fn percentages_below_zero_are_zero_in_the_mean_too() {
    let margin = [CounterSpec::new(TitleIndex(10_006), CounterType::PERF_DOUBLE_RAW)];
    let at = |(second, value): (i64, f64)| {
        let values = [value.to_bits()];
        block("HOST", second, &[(TitleIndex(10_000), &margin, &[("main", None, &values)])])
    };
    let report = report_of([(0, -30.0), (1, 10.0), (2, -30.0), (3, 10.0)].map(at), None, &[]);
    let all = &report.objects[0].instances[0].counters[0].summary;
    assert_eq!((all.count, all.minimum, all.mean, all.maximum), (4, 0.0, 5.0, 10.0));
}

#[test]
fn samples_without_processes_at_both_ends_start_and_end_nothing() {
    let mut samples = vec![sample(-10, &[], &[0], (1, 0))];
    samples.extend(minute());
    samples.push(sample(70, &[], &[23], (1, 200)));
    let (report, plain) = (report(&samples, None, &[]), report(&minute(), None, &[]));
    assert_eq!((report.changes, report.restarts), (plain.changes, plain.restarts));
}

#[test]
fn processes_are_told_apart_and_count_for_the_time_that_they_were_there() {
    let report = report(&minute(), None, &[]);
    let listed: Vec<_> = report
        .processes
        .iter()
        .map(|one| (one.name.as_str(), one.id, one.was_there_always))
        .collect();
    // The three processes with the most processor time also have the largest working sets.
    let web = [("web", Some(1), false), ("web", Some(9), false)];
    assert_eq!(listed, [web[0], ("db", Some(2), true), web[1]]);
    let web = &report.processes[0];
    // The process used 80 % in one of four intervals.
    assert_eq!((web.share, web.processor.unwrap().mean), (Some(20.0), 80.0));
    assert_eq!((web.seen, web.working_set.unwrap().maximum), ((second(0), second(10)), 200.0));
    let restart = &report.restarts[..];
    assert_eq!(restart.len(), 1, "{restart:?}");
    assert_eq!((restart[0].name.as_str(), restart[0].ids, restart[0].count), ("web", (9, 1), 1));
    assert_eq!(restart[0].last, second(30));
    let changes: Vec<_> =
        report.changes.iter().map(|one| (one.name.as_str(), one.started, one.ended)).collect();
    assert_eq!(changes, [("web", 1, 1), ("late", 1, 0)]);
}

#[test]
fn built_in_thresholds_tell_how_often_when_and_how_far() {
    let report = report(&minute(), None, &[]);
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|finding| {
            let crossing = finding.instances[0].crossing;
            let label = finding.instances[0].label.clone().unwrap();
            (
                finding.threshold.severity,
                label,
                crossing.count,
                finding.instances[0].values,
                crossing.worst,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (ThresholdLevel::Critical, "0".to_string(), 2, 4, 90.0),
            (ThresholdLevel::Warning, "0".to_string(), 2, 4, 90.0),
        ]
    );
    let crossing = report.findings[0].instances[0].crossing;
    assert_eq!(
        (crossing.first, crossing.last, crossing.worst_at),
        (second(10), second(20), second(10))
    );
}

fn rules(thresholds: &str) -> String {
    let set = |name: &str, path: &str| {
        format!(
            r#"<DATASOURCE TYPE="CounterLog" COLLECTIONVARNAME="{name}" EXPRESSIONPATH="{path}"><EXCLUDE INSTANCE="_Total"/></DATASOURCE>"#
        )
    };
    format!(
        r#"<?xml version="1.0"?><PAL><QUESTION QUESTIONVARNAME="Carts">How many carts? Count them.</QUESTION>
        <ANALYSIS NAME="A" ENABLED="True" ID="1">{}{}{}{}{thresholds}</ANALYSIS>
        <ANALYSIS NAME="B" ENABLED="True" ID="2">{}<THRESHOLD NAME="x"><CODE>Anything</CODE></THRESHOLD></ANALYSIS></PAL>"#,
        set("Carts1", r"\Shop(*)\Carts"),
        set("Cpus", r"\Processor(*)\% Processor Time"),
        set("Sets", r"\Process(*)\Working Set"),
        set("Both", r"\Shop(*)\*"),
        set("None", r"\Nothing(*)\Here"),
    )
}

fn threshold(name: &str, code: &str) -> String {
    format!(
        r#"<THRESHOLD NAME="{name}" CONDITION="Critical"><CODE><![CDATA[{code}]]></CODE></THRESHOLD>"#
    )
}

#[test]
fn rules_of_pal_are_evaluated_or_named_with_the_reason() {
    let call = |collection: &str, limit: &str| {
        format!(
            "StaticThreshold -CollectionOfCounterInstances ${collection} -Operator 'gt' -Threshold {limit}"
        )
    };
    let all = [
        threshold("constant", &call("Carts1", "40")),
        threshold(
            "computed",
            &format!("[Int] $n = $Cpus.Count\n$limit = $n * 40\n{}", call("Cpus", "$limit")),
        ),
        threshold("asks", &format!("$limit = [Int] $Carts * 10\n{}", call("Carts1", "$limit"))),
        threshold(
            "counts what changes",
            &format!("$limit = $Sets.Count * 40\n{}", call("Carts1", "$limit")),
        ),
        threshold("loops", &format!("For ($i=0;$i -lt 1;$i++) {{}}\n{}", call("Carts1", "1"))),
        threshold("trend", &format!("{} -IsTrendOnly $True", call("Carts1", "100"))),
        threshold("not crossed", &call("Carts1", "50")),
    ]
    .concat();
    let first = report(&minute(), Some(&rules(&all)), &[]);
    let found = |report: &Report| -> Vec<(String, f64)> {
        let findings = report.findings.iter();
        findings.map(|one| (one.threshold.title.to_string(), one.threshold.limit)).collect()
    };
    let a = |name: &str, limit: f64| (format!("A: {name}"), limit);
    assert_eq!(found(&first), [a("constant", 40.0), a("computed", 80.0), a("trend", 100.0)]);
    let trend = first.findings[2].instances[0].crossing;
    // From 5 to 7 carts in a minute are 120 an hour.
    assert!((trend.worst - 120.0).abs() < 1e-6, "{trend:?}");
    let reasons: Vec<_> =
        first.unevaluated.iter().map(|one| (one.title.as_str(), one.reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (
                "A: counts what changes",
                r"counts the instances of \Process(*)\Working Set, and others came during the recording"
            ),
            ("A: asks", "asks for Carts: How many carts? (--answer Carts=VALUE)"),
            ("A: loops", "uses \"For\""),
        ]
    );
    assert_eq!((first.evaluated, first.without_counters), (4, 1));
    // Each of two counters is counted for the one instance.
    let code = format!("$limit = $Both.Count * 15\n{}", call("Carts1", "$limit"));
    let both = report(&minute(), Some(&rules(&threshold("both", &code))), &[]);
    assert_eq!((found(&both), both.unevaluated.len()), (vec![a("both", 30.0)], 0));
    // With the answer the threshold is evaluated.
    let second = report(&minute(), Some(&rules(&all)), &[("carts", "4")]);
    assert!(found(&second).contains(&a("asks", 40.0)), "{:?}", found(&second));
}

#[test]
fn files_that_are_not_pals_are_refused() {
    let mut rules = PalRules::default();
    assert!(rules.add("a", "no xml").unwrap_err().contains("is not XML"));
    assert_eq!(
        rules.add("a", "<html/>").unwrap_err(),
        "is not a file of PAL: its root is <html>, not <PAL>"
    );
    assert_eq!(rules.count(), 0);
    let heirs = r#"<PAL><INHERITANCE FILEPATH="b.xml"/><INHERITANCE FILEPATH=""/></PAL>"#;
    assert_eq!(rules.add("a", heirs), Ok(vec!["b.xml".to_string()]));
}

#[test]
fn two_spans_are_compared_by_part_and_chance_is_told_apart() {
    let span = |from: i64, carts: &[u64], sale: u64| -> Vec<Sample> {
        let at = |(number, carts): (usize, &u64)| {
            let number = number as i64;
            sample(
                from + 10 * number,
                &[("web", 1, 5, number as u64 * sale, 100)],
                &[0],
                (*carts, number as u64 * sale * 10),
            )
        };
        carts.iter().enumerate().map(at).collect()
    };
    let one = report(&span(0, &[5, 6, 5, 6, 5, 6], 1), None, &[]);
    let other = report(&span(0, &[6, 5, 6, 5, 6, 6], 4), None, &[]);
    let comparison = compare(&one, &other);
    let found: Vec<_> = comparison
        .counters
        .iter()
        .map(|change| (change.path.as_str(), change.is_clear, (change.part() * 100.0).round()))
        .collect();
    assert_eq!(
        found,
        [
            (r"\Shop(main)\Sales/sec", true, 75.0),
            (r"\Shop(main)\Carts", false, 3.0),
            (r"\Processor(0)\% Processor Time", false, 0.0),
        ]
    );
    assert_eq!(comparison.processes[0].processor, [Some(10.0), Some(40.0)]);
    let without = report(&minute(), None, &[]);
    let comparison = compare(&one, &without);
    assert_eq!(
        comparison.only,
        [Vec::<String>::new(), vec![r"\Processor(1)\% Processor Time".to_string()]]
    );
}
