//! Sources that ask the cache that collects from them.

use super::source::{Numbered, request};
use super::{Cached, ask};
use perfhive_engine::{Ask, Snapshot, Source, SourceErrorKind};

/// Asks a cache for data and titles from inside its own source; both requests are refused.
fn refused(inner: &mut Cached<impl Source>) {
    let error = inner.collect(&request(&[5]), &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Internal);
    assert!(error.message().contains("its own cache"), "{error}");
    let error = inner.titles(perfhive_format::LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Internal);
}

#[test]
fn a_source_that_asks_its_own_cache_gets_an_error() {
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
fn a_source_that_asks_its_own_cache_through_another_one_gets_an_error() {
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
