//! The shared cache: what consumers get, how often the source is asked, and
//! what happens when many ask at once or the source fails.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod costly;
mod model;
mod odds;
mod recursion;
mod source;
mod threads;

use perfhive_engine::{
    Ask, Broker, Cached, Numbering, ObjectQuery, Snapshot, Source, SourceErrorKind,
};
use perfhive_format::TitleIndex;
use perfhive_testkit::alloc::{Counting, count};
use perfhive_testkit::conformance;
use perfhive_testkit::script::ScriptProvider;
use source::{Numbered, numbers, request};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A clock that is set by hand, in milliseconds.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn forward(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    fn read(&self) -> impl Fn() -> Duration + Send + Sync + 'static + use<> {
        let clock = Arc::clone(&self.0);
        move || Duration::from_millis(clock.load(Ordering::SeqCst))
    }
}

fn cache(source: Numbered, clock: &Hand) -> Cached<Numbered> {
    Cached::builder(source).clock(clock.read()).build()
}

/// The objects of the answer, each with the number of the collection that it came from.
fn ask(cache: &mut Cached<impl Source>, request: &Ask) -> Vec<(u32, u64)> {
    let mut out = Snapshot::new();
    cache.collect(request, &mut out).unwrap();
    numbers(&out)
}

#[test]
fn a_cache_passes_the_conformance_suite_of_sources() {
    let provider = || {
        ScriptProvider::new("p", Numbering::Windows, &[(2, "System"), (10, "Beats")], |_, out| {
            let counter = perfhive_format::CounterSpec::new(
                TitleIndex(10),
                perfhive_format::CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
            );
            let spec = perfhive_format::ObjectSpec::new(TitleIndex(2));
            let template = perfhive_format::ObjectTemplate::new(&spec, &[counter]).unwrap();
            out.object(&template)?.values(&[7])?.finish()?;
            Ok(())
        })
    };
    conformance::source(|| {
        let broker = Broker::builder("local:", "machine").provider(Arc::new(provider())).build();
        Box::new(Cached::new(broker))
    });
    conformance::source(|| {
        let broker = || Broker::builder("local:", "m").provider(Arc::new(provider())).build();
        Box::new(Cached::builder(broker()).costly_by(broker()).max_age(Duration::ZERO).build())
    });
}

#[test]
fn kept_data_serves_each_consumer_once() {
    let clock = Hand::default();
    let source = Numbered::new();
    let mut first = cache(source.clone(), &clock);
    let mut second = first.clone();
    assert_eq!(ask(&mut first, &request(&[1])), [(1, 1)]);
    assert_eq!(ask(&mut second, &request(&[1])), [(1, 1)]);
    assert_eq!(ask(&mut second, &request(&[1])), [(1, 2)]);
    assert_eq!(ask(&mut first, &request(&[1])), [(1, 2)]);
    assert_eq!(source.collections(), 2);
    // Data of 500 ms is young enough, older data is not.
    clock.forward(500);
    assert_eq!(ask(&mut first.clone(), &request(&[1])), [(1, 2)]);
    clock.forward(1);
    assert_eq!(ask(&mut first.clone(), &request(&[1])), [(1, 3)]);
    assert_eq!(first.statistics().collections, 3);
    assert_eq!(first.statistics().taken, 3);
}

#[test]
fn objects_that_were_not_asked_for_are_kept_with_their_block() {
    let clock = Hand::default();
    let source = Numbered::new().brings(232, 230);
    let mut first = cache(source.clone(), &clock);
    let mut second = first.clone();
    assert_eq!(ask(&mut first, &request(&[232])), [(232, 1)]);
    clock.forward(100);
    let mut out = Snapshot::new();
    second.collect(&request(&[1, 230]), &mut out).unwrap();
    // One object is kept, the other new, each with the clocks of its block.
    assert_eq!(numbers(&out), [(1, 2), (230, 1)]);
    let clocks = |object| out.object(TitleIndex(object)).unwrap().view().clocks().perf_time;
    assert_eq!((clocks(1), clocks(230)), (2, 1));
    // The first consumer asked for Thread only, so Process is new to it.
    assert_eq!(ask(&mut first, &request(&[230])), [(230, 1)]);
    assert_eq!(source.asked(), [vec![232], vec![1]]);
}

#[test]
fn max_age_zero_takes_no_kept_data() {
    let clock = Hand::default();
    let source = Numbered::new();
    let mut first = cache(source.clone(), &clock);
    ask(&mut first, &request(&[1]));
    let mut second = first.clone();
    let now = request(&[1]).max_age(Duration::ZERO);
    assert_eq!(ask(&mut second, &now), [(1, 2)]);
    let never = Cached::builder(source.clone()).max_age(Duration::ZERO).build();
    ask(&mut never.clone(), &request(&[1]));
    ask(&mut never.clone(), &request(&[1]));
    assert_eq!(source.collections(), 4);
}

#[test]
fn a_global_answer_serves_global_and_single_objects() {
    let clock = Hand::default();
    let source = Numbered::new().global(&[1, 2, 3]);
    let mut first = cache(source.clone(), &clock);
    let mut second = first.clone();
    let global = Ask::new(ObjectQuery::Global);
    assert_eq!(ask(&mut first, &global), [(1, 1), (2, 1), (3, 1)]);
    assert_eq!(ask(&mut second, &request(&[2])), [(2, 1)]);
    // The second consumer has had a part, so the whole is not new to it.
    assert_eq!(ask(&mut second, &global), [(1, 2), (2, 2), (3, 2)]);
    assert_eq!(ask(&mut first, &request(&[3])), [(3, 2)]);
    assert_eq!(source.collections(), 2);
}

#[test]
fn a_reply_without_extra_counters_does_not_serve_a_request_for_them() {
    let clock = Hand::default();
    let source = Numbered::new();
    let mut first = cache(source.clone(), &clock);
    ask(&mut first, &request(&[1, 2]));
    let mut second = first.clone();
    let costly = request(&[1, 2]).with_all_counters_of(TitleIndex(2));
    assert_eq!(ask(&mut second, &costly), [(1, 1), (2, 2)]);
    // A request without extra counters takes a reply with them.
    assert_eq!(ask(&mut first, &request(&[2])), [(2, 2)]);
    assert_eq!(source.collections(), 2);
}

#[test]
fn a_missing_object_is_asked_of_the_source_once() {
    let clock = Hand::default();
    let source = Numbered::new().without(9);
    let mut first = cache(source.clone(), &clock);
    assert_eq!(ask(&mut first, &request(&[1, 9])), [(1, 1)]);
    assert_eq!(ask(&mut first.clone(), &request(&[1, 9])), [(1, 1)]);
    assert_eq!(source.collections(), 1);
}

#[test]
fn a_failure_reaches_its_request_and_the_next_one_collects_again() {
    let clock = Hand::default();
    let source = Numbered::new();
    let mut first = cache(source.clone(), &clock);
    ask(&mut first, &request(&[1]));
    let mut second = first.clone();
    source.fail(true);
    // The kept object is delivered, and a fault tells of the other one.
    let mut out = Snapshot::new();
    second.collect(&request(&[1, 2]), &mut out).unwrap();
    assert_eq!(numbers(&out), [(1, 1)]);
    assert_eq!(out.faults().len(), 1, "{:?}", out.faults());
    let error = second.collect(&request(&[1, 2]), &mut out).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Unavailable);
    source.fail(false);
    second.collect(&request(&[1, 2]), &mut out).unwrap();
    assert_eq!(out.objects().count(), 2);
}

#[test]
fn held_data_stays_unchanged_after_newer_collections() {
    let clock = Hand::default();
    let mut first = cache(Numbered::new(), &clock);
    let mut held = Vec::new();
    for number in 1..=20 {
        let mut out = Snapshot::new();
        first.collect(&request(&[1]), &mut out).unwrap();
        held.push((number, out));
    }
    for (number, out) in &held {
        assert_eq!(numbers(out), [(1, *number)]);
    }
}

#[test]
fn a_warm_request_allocates_nothing() {
    let clock = Hand::default();
    let mut first = cache(Numbered::new().pooled(), &clock);
    let mut second = first.clone();
    let wanted = request(&[1, 2]);
    let (mut a, mut b) = (Snapshot::new(), Snapshot::new());
    let mut round = || {
        first.collect(&wanted, &mut a).unwrap();
        second.collect(&wanted, &mut b).unwrap();
        clock.forward(1000);
    };
    (0..6).for_each(|_| round());
    assert_eq!(count(&mut round).1.count, 0);
}

#[test]
fn after_a_panic_of_the_source_the_cache_can_collect() {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    source.then(|| panic!("a source's own trouble"));
    let mut consumer = cache.clone();
    let attempt = std::panic::AssertUnwindSafe(|| ask(&mut consumer, &request(&[1])));
    assert!(std::panic::catch_unwind(attempt).is_err());
    source.then(|| {});
    assert_eq!(ask(&mut cache.clone(), &request(&[1])).len(), 1);
}

#[test]
fn a_waiting_consumer_keeps_its_deadline() {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    let gate = source.gate();
    std::thread::scope(|scope| {
        let mut first = cache.clone();
        let busy = scope.spawn(move || ask(&mut first, &request(&[1])));
        gate.wait_until_entered();
        let mut second = cache.clone();
        let asked = Instant::now();
        let wanted = request(&[2]).until(asked + Duration::from_millis(30));
        let error = second.collect(&wanted, &mut Snapshot::new()).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Deadline);
        assert!(asked.elapsed() >= Duration::from_millis(30));
        gate.open();
        assert_eq!(busy.join().unwrap(), [(1, 1)]);
        // The request for object 2 is gone.
        assert_eq!(ask(&mut cache.clone(), &request(&[3])), [(3, 2)]);
        assert_eq!(source.asked(), [vec![1], vec![3]]);
    });
}

#[test]
fn a_costly_collection_does_not_delay_other_objects() {
    let fast = Numbered::new().catalogued(&[1], &[740]);
    let slow = Numbered::new();
    let cache = Cached::builder(fast.clone()).costly_by(slow.clone()).build();
    let gate = slow.gate();
    std::thread::scope(|scope| {
        let mut first = cache.clone();
        let busy = scope.spawn(move || ask(&mut first, &request(&[740])));
        gate.wait_until_entered();
        assert_eq!(ask(&mut cache.clone(), &request(&[1])).len(), 1);
        gate.open();
        assert_eq!(busy.join().unwrap().len(), 1);
    });
    assert_eq!((fast.asked(), slow.asked()), (vec![vec![1]], vec![vec![740]]));
}

#[test]
fn a_new_provider_is_noticed_after_the_next_collection() {
    let source = Numbered::new().catalogued(&[1], &[]);
    let mut cache = Cached::new(source.clone());
    assert_eq!(cache.catalogue(&Ask::everything()).unwrap().objects.len(), 1);
    source.register(2);
    assert_eq!(cache.catalogue(&Ask::everything()).unwrap().objects.len(), 1);
    ask(&mut cache, &request(&[1]));
    assert_eq!(cache.clone().catalogue(&Ask::everything()).unwrap().objects.len(), 2);
}
