//! The shared cache conforms to the rules of a source, with any source in it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::{CounterSpec, CounterType, TitleIndex};
use perfhive::recording::ReplaySource;
use perfhive::{Cached, LanguageId, OpenOptions, Source, Worker, open};
use perfhive_testkit::script::{block, titles};
use perfhive_testkit::{conformance, real};
use std::time::Duration;

/// Checks the rules for a cache with the usual limit, one that keeps nothing, a cache of a
/// cache, and a source on a thread of its own.
fn check(make: impl Fn() -> Box<dyn Source>) {
    conformance::source(|| Box::new(Cached::new(make())));
    conformance::source(|| Box::new(Cached::builder(make()).max_age(Duration::ZERO).build()));
    conformance::source(|| Box::new(Cached::new(Cached::new(make()))));
    let patience = Some(Duration::from_secs(60));
    conformance::source(|| Box::new(Cached::new(Worker::new(make(), patience).unwrap())));
    // A consumer that comes after others.
    conformance::source(|| Box::new(Cached::new(make()).clone()));
}

#[cfg(target_os = "linux")]
#[test]
fn over_this_machine() {
    check(|| open("local:").unwrap());
    check(|| open("proc:").unwrap());
    // Costly objects by a second reader.
    conformance::source(|| {
        let costly = open("local:").unwrap();
        Box::new(Cached::builder(open("local:").unwrap()).costly_by(costly).build())
    });
}

/// An answer of the cache for threads has no processes, by which the path is found.
#[cfg(target_os = "linux")]
#[test]
fn a_query_of_one_process_s_threads_collects_once() {
    let cache = Cached::new(open("local:").unwrap()).max_age(Duration::ZERO);
    let mut query = perfhive::Query::new(cache.clone()).unwrap();
    let own = std::process::id();
    query.add(&format!(r"\Thread(pid:{own}/*)\ID Thread")).unwrap();
    let before = cache.statistics().collections;
    for _ in 0..3 {
        query.collect().unwrap();
        assert!(query.readings().iter().any(|reading| reading.process_id() == Some(own)));
    }
    assert_eq!(cache.statistics().collections, before + 3);
}

/// Costly objects through a source that may hang, on a thread of its own.
#[cfg(target_os = "linux")]
#[test]
fn over_workers() {
    let worker = || Worker::new(open("local:").unwrap(), Some(Duration::from_secs(60))).unwrap();
    conformance::source(|| Box::new(Cached::builder(worker()).costly_by(worker()).build()));
    // In the opposite order the cache is behind the thread.
    conformance::source(|| {
        let cache = Cached::new(open("local:").unwrap());
        Box::new(Worker::new(cache, None).unwrap())
    });
}

#[test]
fn a_cache_over_recorded_blocks_conforms() {
    let Some(root) = real::root() else { return };
    let list = |folder: &str, names: &[&str]| {
        let path = |name: &&str| root.join(folder).join(name).display().to_string();
        format!("file:{}", names.iter().map(path).collect::<Vec<_>>().join(","))
    };
    let vista = list("windows-vista", &["s00_global.bin", "s01_global.bin", "s02_global.bin"]);
    let names = root.join("titles/vista_009_from_pal_SampleLog.txt");
    check(|| OpenOptions::new().titles(&names).open(&vista).unwrap());
    check(|| open(&vista).unwrap());
    let samba = list("samba", &["sample_t0.bin", "sample_t1.bin"]);
    let names = root.join("samba/Counter_009.bin");
    check(|| OpenOptions::new().titles(&names).open(&samba).unwrap());
}

#[test]
fn a_cache_over_written_blocks_conforms() {
    let process = [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
    ];
    let thread = [CounterSpec::new(TitleIndex(804), CounterType::PERF_COUNTER_RAWCOUNT)];
    let sample = |seconds: i64| {
        let time = seconds as u64 * 5_000_000;
        let rows = [("a", None, &[time, 7, 1][..]), ("b", None, &[2 * time, 8, 2])];
        let threads = [("0", Some((TitleIndex(230), 1)), &[9][..])];
        let objects = [
            (TitleIndex(230), &process[..], &rows[..]),
            (TitleIndex(232), &thread, &threads),
            (TitleIndex(4), &thread, &[]),
        ];
        (format!("sample {seconds}"), block("host", seconds, &objects))
    };
    let names = titles(&[(230, "Process"), (232, "Thread"), (6, "% Processor Time")]);
    check(|| {
        let source = ReplaySource::new("written", (1..6).map(sample)).unwrap();
        Box::new(source.with_titles(LanguageId::ENGLISH, &names))
    });
    check(|| Box::new(ReplaySource::new("single", [sample(1)]).unwrap()));
}

/// Costly objects are collected by a second source, which stays open, so that other readers
/// need not wait.
#[cfg(target_os = "linux")]
#[test]
fn shared_sources_collect_costly_objects_through_a_second_source() {
    use perfhive::{Category, PerformanceCounter, SharedSource};
    let source = SharedSource::open("proc:").unwrap();
    let mut free = PerformanceCounter::new_in(&source, "Memory", "Available Bytes", "").unwrap();
    assert!(free.next_value().unwrap() > 0.0);
    let collected = || {
        let statuses = source.source().providers(&perfhive::Ask::nothing()).unwrap();
        let of = statuses.iter().filter(|status| status.collections > 0);
        (statuses.len(), of.count())
    };
    let (providers, at_work) = collected();
    Category::new_in(&source, "Process Address Space").unwrap().read().unwrap();
    let (more, more_at_work) = collected();
    assert_eq!(more, 2 * providers);
    assert_eq!(more_at_work, at_work + 1);
}
