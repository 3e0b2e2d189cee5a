//! System calls, counted by `strace` in processes that do nothing else.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate, TitleIndex};
use perfhive::measure::{
    Anomaly, CounterSource, DataSources, MeasurementContext, MeasurementOptions, MonotonicTime,
    WallTime,
};
use perfhive::provide::{Broker, Numbering};
use perfhive::{Ask, Cached, PerformanceCounter, SharedSource, Snapshot, Source, open};
use perfhive_testkit::script::ScriptProvider;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const WORK: &str = "PERFHIVE_CALLS_WORK";
const ROUNDS: &str = "PERFHIVE_CALLS_ROUNDS";
const FOLDER: &str = "PERFHIVE_CALLS_FOLDER";

/// The name of the work and the number of rounds that this process has to do; `None` unless it
/// was started to be counted.
fn told() -> Option<(String, u32)> {
    let rounds = std::env::var(ROUNDS).ok()?.parse().ok()?;
    Some((std::env::var(WORK).ok()?, rounds))
}

/// The number of system calls of `rounds` rounds of a test's work, start and end of the program
/// included; `None` where `strace` cannot be used. Reading the clock does not count: it is a system
/// call on some machines only.
fn calls(test: &str, work: &str, rounds: u32, folder: &Path) -> Option<i64> {
    let report = format!("perfhive-calls-{test}-{work}-{}", std::process::id());
    let report = std::env::temp_dir().join(report);
    let status = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&report)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(WORK, work)
        .env(ROUNDS, rounds.to_string())
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let text = std::fs::read_to_string(&report);
    let _ = std::fs::remove_file(&report);
    if !status.is_ok_and(|status| status.success()) {
        // strace is not installed, or may not trace. Otherwise the work failed.
        let quiet = || Stdio::null();
        let mut trace = Command::new("strace");
        trace.args(["-f", "-c", "true"]).stdin(quiet()).stdout(quiet()).stderr(quiet());
        let can_trace = trace.status().is_ok_and(|status| status.success());
        assert!(!can_trace, "{work} of {test} failed");
        return None;
    }
    let count = |line: &str| -> Option<i64> {
        let name = line.split_whitespace().next_back()?;
        let is_clock = ["clock_gettime", "gettimeofday", "total"].contains(&name);
        if is_clock { None } else { line.split_whitespace().nth(3)?.parse().ok() }
    };
    Some(text.ok()?.lines().filter_map(count).sum())
}

const MORE: u32 = 400;

/// The number of system calls of `MORE` rounds, without start and end of the program; `None` where
/// `strace` cannot be used.
fn calls_of_more(test: &str, work: &str, folder: &Path) -> Option<i64> {
    let few = calls(test, work, 20, folder);
    let many = few.and_then(|few| Some(calls(test, work, 20 + MORE, folder)? - few));
    if many.is_none() {
        eprintln!("strace cannot be used here: system calls are not counted");
    }
    many
}

/// The greatest difference between the numbers of system calls that two runs of a program make at
/// start and end: in one, threads may have to wait for each other.
const SLACK: i64 = 20;

#[test]
fn sharing_makes_no_system_call() {
    const TEST: &str = "sharing_makes_no_system_call";
    if let Some((_, rounds)) = told() {
        return share(rounds);
    }
    if let Some(calls) = calls_of_more(TEST, "share", "/".as_ref()) {
        assert!(calls.abs() <= SLACK, "{calls} system calls of {MORE} rounds");
    }
}

/// Makes one consumer collect from a source that makes no system call, and two other consumers
/// take the data.
fn share(rounds: u32) {
    let provider =
        ScriptProvider::new("p", Numbering::Windows, &[(2, "System"), (10, "Beats")], |_, out| {
            let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
            let counter = CounterSpec::new(TitleIndex(10), kind);
            let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)), &[counter])?;
            out.object(&template)?.values(&[7])?.finish()?;
            Ok(())
        });
    let broker = Broker::builder("local:", "machine").provider(Arc::new(provider)).build();
    let mut first = Cached::new(broker);
    let mut others = [first.clone(), first.clone()];
    let wanted = Ask::objects(&[TitleIndex(2)]);
    let anew = Ask::objects(&[TitleIndex(2)]).max_age(Duration::ZERO);
    let young = wanted.clone().max_age(Duration::from_secs(60));
    let mut out = Snapshot::new();
    let mut had = 0;
    for _ in 0..rounds {
        first.collect(&anew, &mut out).unwrap();
        for other in &mut others {
            other.collect(&young, &mut out).unwrap();
            had += out.objects().count();
        }
    }
    assert_eq!(had, 2 * rounds as usize);
    assert_eq!(first.statistics().collections, u64::from(rounds));
}

#[test]
fn a_sample_makes_the_system_calls_of_its_source_alone() {
    const TEST: &str = "a_sample_makes_the_system_calls_of_its_source_alone";
    if let Some((work, rounds)) = told() {
        let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
        return if work == "sample" { sample(rounds, &folder) } else { collect(rounds, &folder) };
    }
    let folder = frozen(["it", "it"]);
    let count = |work| calls_of_more(TEST, work, &folder);
    let counted = count("collect").and_then(|source| Some((source, count("sample")?)));
    std::fs::remove_dir_all(&folder).unwrap();
    if let Some((source, sample)) = counted {
        // Two processes, of three files each.
        assert!(source > 6 * i64::from(MORE), "{source} system calls of {MORE} collections");
        let own = sample - source;
        assert!(own.abs() <= SLACK, "{own} system calls more than {source}");
    }
}

/// A counter of one process reads the names of all, and what else it needs of its own process only.
#[test]
fn a_counter_reads_one_process() {
    const TEST: &str = "a_counter_reads_one_process";
    if let Some((work, rounds)) = told() {
        let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
        return if work == "counter" { count(rounds, &folder) } else { collect(rounds, &folder) };
    }
    let folder = frozen(["one", "other"]);
    let count = |work| calls_of_more(TEST, work, &folder);
    let counted = count("collect").and_then(|all| Some((all, count("counter")?)));
    std::fs::remove_dir_all(&folder).unwrap();
    if let Some((all, one)) = counted {
        assert!(one <= all - 2 * i64::from(MORE), "{one} system calls, {all} for all processes");
    }
}

/// Reads a counter of a process, by name.
fn count(rounds: u32, folder: &Path) {
    let source = SharedSource::open(&format!("proc:{}", folder.display())).unwrap();
    let mut counter = PerformanceCounter::new_in(&source, "Process", "Working Set", "one").unwrap();
    for _ in 0..rounds {
        assert_eq!(counter.raw_value().unwrap(), 500 * 4096);
    }
}

/// A copy of /proc with two processes of these names, in which nothing changes.
fn frozen(names: [&str; 2]) -> PathBuf {
    let folder = format!("perfhive-frozen-{}-{}", names[1], std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let write = |path: &str, text: &str| {
        let path = folder.join("proc").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("stat", "cpu 4 0 0 8\ncpu0 4 0 0 8\nctxt 7\nbtime 1700000000\n");
    for (pid, name) in [10, 11].into_iter().zip(names) {
        let rest = "20 0 1 0 50 8192000 123 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0";
        let head = format!("{pid} ({name}) S 1 {pid} {pid} 0 -1 4194560 100 9 7 9 {pid} 5 1 2");
        write(&format!("{pid}/stat"), &format!("{head} {rest} 0 0 0 0\n"));
        write(&format!("{pid}/statm"), "2000 500 100 10 0 300 0\n");
        write(
            &format!("{pid}/io"),
            "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 0\nwrite_bytes: 0\n",
        );
    }
    folder
}

fn collect(rounds: u32, folder: &Path) {
    let mut source = open(&format!("proc:{}", folder.display())).unwrap();
    let mut out = Snapshot::new();
    for _ in 0..rounds {
        source.collect(&Ask::objects(&[TitleIndex(230)]), &mut out).unwrap();
    }
}

/// Runs whole measurement cycles, since preparing and decoding make no system call.
fn sample(rounds: u32, folder: &Path) {
    let source = Cached::new(open(&format!("proc:{}", folder.display())).unwrap());
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("linux.frozen", source)).unwrap();
    let names = ["linux.frozen/Process/%25 Processor Time#*", "linux.frozen/Process/ID Process#10"];
    let names = names.map(|name| name.parse().unwrap());
    let options = MeasurementOptions::new()
        .time(WallTime)
        .time(MonotonicTime::default())
        .patience(Duration::from_secs(60));
    let mut context = MeasurementContext::with_options(&mut sources, &names, options).unwrap();
    let mut readings = perfhive::measure::Readings::new();
    for round in 0..rounds {
        context.prepare().unwrap();
        let record = context.sample().unwrap();
        let grown = |what: &Anomaly| matches!(what, Anomaly::BufferGrown { .. });
        // The first cycles have new buffers.
        assert!(record.anomalies.iter().all(|what| round < 5 && grown(what)), "{record:?}");
        context.decode(&mut readings).unwrap();
    }
    let last = readings.iter().last().unwrap();
    assert_eq!(last.value.as_ref().unwrap().to_string(), "10");
}

/// Published counters take no system call from readers of other objects, and few from their own
/// readers, however many instances there are.
#[cfg(target_endian = "little")]
#[test]
fn published_counters_take_few_system_calls() {
    use perfhive::publish::{CounterDeclaration, PublishedCategory};

    const TEST: &str = "published_counters_take_few_system_calls";
    if let Some((work, rounds)) = told() {
        return published(&work, rounds, &PathBuf::from(std::env::var_os(FOLDER).unwrap()));
    }
    let folder = std::env::temp_dir().join(format!("perfhive-calls-shm-{}", std::process::id()));
    let category = PublishedCategory::builder("Web Shop")
        .instances(100)
        .counter(CounterDeclaration::new("Orders", CounterType::PERF_COUNTER_BULK_COUNT))
        .counter(CounterDeclaration::new("Avg. Size", CounterType::PERF_AVERAGE_BULK))
        .folder(&folder)
        .publish()
        .unwrap();
    (0..100).for_each(|n| drop(category.instance(&format!("shop {n}")).unwrap()));
    let count = |work| calls_of_more(TEST, work, &folder);
    let counted = count("others").and_then(|others| Some((others, count("published")?)));
    drop(category);
    std::fs::remove_dir_all(&folder).unwrap();
    if let Some((others, published)) = counted {
        assert!(others.abs() <= SLACK, "{others} system calls of {MORE} other collections");
        // The lock, the state, the slots twice, the values three times.
        let most = 7 * i64::from(MORE) + SLACK;
        assert!((i64::from(MORE)..=most).contains(&published), "{published} of {MORE}");
    }
}

#[cfg(target_endian = "little")]
fn published(work: &str, rounds: u32, folder: &Path) {
    use perfhive::publish::PublishedCounters;

    let provider =
        ScriptProvider::new("p", Numbering::Windows, &[(2, "System"), (10, "Beats")], |_, out| {
            let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
            let counter = CounterSpec::new(TitleIndex(10), kind);
            let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)), &[counter])?;
            out.object(&template)?.values(&[7])?.finish()?;
            Ok(())
        });
    let counters = PublishedCounters::in_folder(folder).every(Duration::from_secs(3600));
    let mut broker =
        Broker::builder("local:", "machine").provider(Arc::new(provider)).roster(counters).build();
    let catalogue = broker.catalogue(&Ask::everything()).unwrap();
    let index = catalogue.objects.iter().map(|object| object.name).max().unwrap();
    let index = if work == "others" { TitleIndex(2) } else { index };
    let mut out = Snapshot::new();
    for _ in 0..rounds {
        broker.collect(&Ask::objects(&[index]), &mut out).unwrap();
        assert_eq!(out.objects().next().unwrap().view().name_index(), index);
    }
}
