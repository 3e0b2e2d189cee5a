//! Sources that ask the very cache which collects from them.

use super::source::{Numbered, request};
use super::{Cached, ask};
use perfhive_engine::{Ask, Collecting, Snapshot, Source, SourceErrorKind, Worker};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Asks a cache for data and for titles, as a source of its own does; both
/// are refused.
fn refused(inner: &mut Cached<impl Source>) {
    let error = inner.collect(&request(&[5]), &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Internal);
    assert!(error.message().contains("its own cache"), "{error}");
    let error = inner.titles(perfhive_format::LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Internal);
}

#[test]
fn it_is_told_so() {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    let mut inner = cache.clone();
    source.then(move || refused(&mut inner));
    assert_eq!(ask(&mut cache.clone(), &request(&[1])), [(1, 1)]);
    assert_eq!(source.collections(), 1);
    // The closure holds a consumer of the cache that holds the source.
    source.then(|| {});
}

#[test]
fn it_is_told_so_within_a_worker() {
    let source = Numbered::new();
    // Nobody has a deadline: it would wait for ever.
    let cache = Cached::new(Worker::new(source.clone(), None).unwrap());
    let mut inner = cache.clone();
    source.then(move || refused(&mut inner));
    assert_eq!(ask(&mut cache.clone(), &request(&[1])), [(1, 1)]);
    source.then(|| {});
    // The thread is on nobody's behalf any more.
    assert_eq!(ask(&mut cache.clone(), &request(&[2])), [(2, 2)]);
}

#[test]
fn it_is_told_so_on_threads_of_its_own() {
    let source = Numbered::new();
    let cache = Cached::new(source.clone());
    let inner = cache.clone();
    source.then(move || {
        let (collecting, mut inner) = (Collecting::current(), inner.clone());
        let asks = move || {
            let _entered = collecting.enter();
            refused(&mut inner);
        };
        std::thread::spawn(asks).join().unwrap();
    });
    assert_eq!(ask(&mut cache.clone(), &request(&[1])), [(1, 1)]);
    source.then(|| {});
}

#[test]
fn it_is_told_so_through_another_cache() {
    let (outer, middle) = (Numbered::new(), Numbered::new());
    let (first, second) = (Cached::new(outer.clone()), Cached::new(middle.clone()));
    let (mut of_first, mut of_second) = (first.clone(), second.clone());
    // A cache whose source reads another is fine.
    outer.then(move || {
        of_second.collect(&request(&[1]), &mut Snapshot::new()).unwrap();
    });
    middle.then(move || refused(&mut of_first));
    assert_eq!(ask(&mut first.clone(), &request(&[1])), [(1, 1)]);
    assert_eq!(middle.collections(), 1);
    outer.then(|| {});
    middle.then(|| {});
}

#[test]
fn two_that_wait_for_each_other_are_told_so() {
    let sources = [Numbered::new(), Numbered::new()];
    let caches = sources.each_ref().map(|source| Cached::new(source.clone()));
    // Both are at work before either asks for the other.
    let (arrived, arrivals) = channel();
    let mut gates = Vec::new();
    let (told, verdicts) = channel();
    for (source, other) in sources.iter().zip([&caches[1], &caches[0]]) {
        let (go, gate) = channel::<()>();
        gates.push(go);
        let (arrived, told, mut other) = (arrived.clone(), told.clone(), other.clone());
        source.then(move || {
            arrived.send(()).unwrap();
            gate.recv().unwrap();
            // The one who comes second closes the circle; the first one is
            // served by the second, once that was told.
            let wish = Ask { max_age: Some(Duration::ZERO), ..request(&[1]) };
            let outcome = other.collect(&wish, &mut Snapshot::new());
            told.send(outcome.map_err(|error| error.kind())).unwrap();
        });
    }
    std::thread::scope(|scope| {
        for cache in &caches {
            let mut consumer = cache.clone();
            scope.spawn(move || consumer.collect(&request(&[1]), &mut Snapshot::new()).unwrap());
        }
        (0..2).for_each(|_| arrivals.recv().unwrap());
        gates.iter().for_each(|go| go.send(()).unwrap());
        // The first is told at once, or nobody ever is.
        let first = verdicts.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(first, Err(SourceErrorKind::Internal));
        // The other's wish is now collected, and asks once more.
        arrivals.recv().unwrap();
        for go in &gates {
            // Whoever is done does not listen.
            let _ = go.send(());
        }
        let rest: Vec<_> = (0..2).map(|_| verdicts.recv().unwrap()).collect();
        assert!(rest.contains(&Ok(())), "{rest:?}");
    });
    sources.iter().for_each(|source| source.then(|| {}));
}
