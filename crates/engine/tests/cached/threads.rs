//! Consumers on many threads.

use crate::source::{Numbered, numbers, request};
use perfhive_engine::{Cached, Snapshot, Source};
use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn simultaneous_requests_become_one_collection() {
    // Waiting requests cannot be seen from outside, and a busy machine may need longer until all wait.
    let mut pauses = [50, 200, 1_000, 4_000].map(Duration::from_millis).into_iter();
    let few = pauses.any(|pause| collections_for_nine(pause) <= 5);
    assert!(few, "more collections than groups, however long the pause");
}

/// The number of collections for one consumer and eight more that ask during its collection.
fn collections_for_nine(pause: Duration) -> u64 {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    let gate = source.gate();
    std::thread::scope(|scope| {
        let mut first = cache.clone();
        let mut collect = move |objects: &[u32]| {
            let mut out = Snapshot::new();
            first.collect(&request(objects), &mut out).unwrap();
            numbers(&out)
        };
        let busy = scope.spawn(move || collect(&[1, 2]));
        gate.wait_until_entered();
        // Each wants another object and waits for the next run, but for the one whose object the run in
        // progress brings.
        let waiting: Vec<_> = (0..8u32)
            .map(|number| {
                let mut consumer = cache.clone();
                scope.spawn(move || {
                    let mut out = Snapshot::new();
                    consumer.collect(&request(&[1, 10 + number / 2]), &mut out).unwrap();
                    numbers(&out)
                })
            })
            .collect();
        std::thread::sleep(pause);
        gate.open();
        assert_eq!(busy.join().unwrap(), [(1, 1), (2, 1)]);
        for (number, waiting) in waiting.into_iter().enumerate() {
            let found = waiting.join().unwrap();
            assert_eq!(found[0].0, 1);
            assert_eq!(found[1].0, 10 + number as u32 / 2);
        }
    });
    assert_eq!(source.asked()[0], [1, 2]);
    source.collections()
}

#[test]
fn under_load_no_consumer_gets_data_twice_or_too_old() {
    const THREADS: usize = 8;
    let source = Numbered::new().brings(3, 1);
    let cache = Cached::builder(source.clone()).max_age(Duration::from_millis(2)).build();
    let barrier = Barrier::new(THREADS);
    let answers = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u32 {
            let mut consumer = cache.clone();
            let (barrier, answers) = (&barrier, &answers);
            scope.spawn(move || {
                let mut seen: HashMap<u32, u64> = HashMap::new();
                let mut out = Snapshot::new();
                barrier.wait();
                for round in 0..2_000u32 {
                    let one = 1 + (thread + round) % 4;
                    let two = 1 + round % 3;
                    consumer.collect(&request(&[one, two]), &mut out).unwrap();
                    let mut wanted = vec![one, two];
                    wanted.sort_unstable();
                    wanted.dedup();
                    let found = numbers(&out);
                    assert_eq!(found.iter().map(|(object, _)| *object).collect::<Vec<_>>(), wanted);
                    for (object, number) in found {
                        let before = seen.insert(object, number).unwrap_or(0);
                        assert!(number > before, "object {object}: {number} after {before}");
                    }
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answers.into_inner(), THREADS as u64 * 2_000);
    let statistics = cache.statistics();
    assert_eq!(statistics.collections, source.collections());
    assert!(statistics.collections <= THREADS as u64 * 2_000);
}

#[test]
fn neither_collecting_nor_taking_consumers_starve() {
    let source = Numbered::new();
    let cache = Cached::builder(source.clone()).max_age(Duration::ZERO).build();
    let stop = AtomicBool::new(false);
    let counts: Vec<AtomicU64> = (0..6).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for (number, count) in (0u32..).zip(&counts) {
            let mut consumer = cache.clone();
            let stop = &stop;
            scope.spawn(move || {
                let mut out = Snapshot::new();
                while !stop.load(Ordering::Relaxed) {
                    if number == 0 {
                        // Takes kept data.
                        let kept = request(&[0]).max_age(Duration::from_secs(1));
                        consumer.collect(&kept, &mut out).unwrap();
                    } else {
                        consumer.collect(&request(&[0, number]), &mut out).unwrap();
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Until all have made progress, however slow the machine.
        let begun = Instant::now();
        while counts.iter().any(|count| count.load(Ordering::Relaxed) < 200) {
            if begun.elapsed() > Duration::from_secs(60) {
                stop.store(true, Ordering::Relaxed);
                panic!("a consumer starves: {counts:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_failed_collection_fails_all_requests_that_waited() {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    let gate = source.gate();
    source.fail(true);
    std::thread::scope(|scope| {
        let ask = |mut consumer: Cached<Numbered>| {
            move || consumer.collect(&request(&[1]), &mut Snapshot::new()).map_err(|e| e.kind())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask(cache.clone()))).collect();
        gate.wait_until_entered();
        std::thread::sleep(Duration::from_millis(50));
        gate.open();
        for thread in threads {
            assert!(thread.join().unwrap().is_err());
        }
    });
    source.fail(false);
    let mut out = Snapshot::new();
    cache.clone().collect(&request(&[1]), &mut out).unwrap();
    assert_eq!(numbers(&out), [(1, 1)]);
}

#[test]
fn after_a_panic_in_a_collection_waiting_requests_get_an_answer() {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    let gate = source.gate();
    let mut first_time = true;
    source.then(move || {
        assert!(!std::mem::take(&mut first_time), "a source's own trouble");
    });
    std::thread::scope(|scope| {
        let mut leader = cache.clone();
        let panics = scope.spawn(move || {
            let ask = || leader.collect(&request(&[1]), &mut Snapshot::new());
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).is_err()
        });
        gate.wait_until_entered();
        let mut follower = cache.clone();
        let follows = scope.spawn(move || follower.collect(&request(&[1]), &mut Snapshot::new()));
        std::thread::sleep(Duration::from_millis(50));
        gate.open();
        assert!(panics.join().unwrap());
        // It got the error, or asked late enough to collect again.
        if let Err(error) = follows.join().unwrap() {
            assert!(error.message().contains("panicked"), "{error}");
        }
    });
}
