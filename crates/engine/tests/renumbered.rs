//! Title indexes that go to other objects and counters while somebody reads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_testkit::renumbered::{Renumbered, Thing, thing};
use std::time::Duration;

const ITEMS: (u32, &str) = (12, "Items");

fn two(custom: u32, other: u32) -> [Thing; 2] {
    [
        thing((custom, "Custom"), ITEMS, &[("a", 42)]),
        thing((other, "Other"), ITEMS, &[("a", 1_000_000)]),
    ]
}

fn other_alone(index: u32) -> [Thing; 1] {
    [thing((index, "Other"), ITEMS, &[("a", 1_000_000)])]
}

fn query(source: impl Source + 'static, path: &str) -> Query {
    let mut query = Query::new(source).unwrap();
    query.add(path).unwrap();
    query
}

/// A fresh sample each time, through a cache.
fn cached(source: &Renumbered) -> Cached<Renumbered> {
    Cached::builder(source.clone()).max_age(Duration::ZERO).build()
}

fn show(value: &Result<perfhive_format::CookedValue, NoValue>) -> String {
    match value {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    }
}

fn collect(query: &mut Query) -> Vec<String> {
    match query.collect() {
        Ok(()) => query.readings().iter().map(|reading| show(&reading.value)).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn a_path_never_reads_another_object() {
    for through_a_cache in [false, true] {
        let source = Renumbered::gauges(&two(10, 20));
        let mut query = match through_a_cache {
            true => query(cached(&source), r"\Custom(a)\Items"),
            false => query(source.clone(), r"\Custom(a)\Items"),
        };
        assert_eq!(collect(&mut query), ["42"]);
        for things in [two(20, 10), two(20, 10), two(10, 20), two(10, 30)] {
            source.show(&things);
            assert_eq!(collect(&mut query), ["42"], "{through_a_cache} {things:?}");
        }
        // It is gone, and its index is another's.
        source.show(&other_alone(10));
        for _ in 0..2 {
            assert_eq!(collect(&mut query), ["object-missing"]);
        }
        assert_eq!(query.path_of(&query.readings()[0]).to_string(), r"\Custom(a)\Items");
        let why = query.readings()[0].value.as_ref().unwrap_err().to_string();
        assert!(why.contains("belongs to another object"), "{why}");
        // And back.
        source.show(&two(20, 10));
        assert_eq!(collect(&mut query), ["42"]);
    }
}

/// What was taken away is called as it was, and not by numbers.
#[test]
fn what_is_gone_keeps_its_names() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = Query::new(source.clone()).unwrap();
    for path in [r"\Custom(a)\Items", r"\C*(a)\*"] {
        query.add(path).unwrap();
    }
    assert_eq!(collect(&mut query), ["42", "42"]);
    // Nobody has its indexes, another has, or nobody once more.
    let other = [thing((10, "Other"), (14, "Things"), &[("a", 1)])];
    let none = [thing((20, "Other"), (14, "Things"), &[("a", 1)])];
    for things in [&none, &other, &none] {
        source.show(things);
        assert_eq!(collect(&mut query), ["object-missing"; 2], "{things:?}");
        for reading in query.readings() {
            assert_eq!(query.names_of(reading), ("Custom".to_string(), "Items".to_string()));
            assert_eq!(query.path_of(reading).to_string(), r"\Custom(a)\Items", "{things:?}");
        }
    }
    source.show(&[thing((10, "Custom"), (12, "Pieces"), &[("a", 7)])]);
    collect(&mut query);
    let names: Vec<String> = query.readings().iter().map(|one| query.names_of(one).1).collect();
    assert_eq!(names, ["Items", "Pieces"], "each is what its path means");
}

#[test]
fn an_index_without_a_name_is_nobody_s_of_before() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = query(source.clone(), r"\Custom(a)\Items");
    assert_eq!(collect(&mut query), ["42"]);
    source.show(&[thing((10, ""), ITEMS, &[("a", 666)])]);
    assert_eq!(collect(&mut query), ["object-missing"]);
}

#[test]
fn a_rate_is_never_of_two_objects() {
    for through_a_cache in [false, true] {
        let source = Renumbered::rates(&two(10, 20));
        let mut query = match through_a_cache {
            true => query(cached(&source), r"\Custom(a)\Items"),
            false => query(source.clone(), r"\Custom(a)\Items"),
        };
        let values = |query: &mut Query| (0..3).flat_map(|_| collect(query)).collect::<Vec<_>>();
        assert_eq!(values(&mut query), ["needs-two-samples", "1", "1"]);
        source.show(&two(20, 10));
        assert_eq!(values(&mut query), ["needs-two-samples", "1", "1"], "{through_a_cache}");
        // Asked for by number, it is whatever has that number; no rate is of both.
        let mut number = Query::new(source.clone()).unwrap();
        number.add(r"\10(a)\12").unwrap();
        assert_eq!(values(&mut number), ["needs-two-samples", "1", "1"]);
        source.show(&two(10, 20));
        assert_eq!(values(&mut number), ["needs-two-samples", "1", "1"]);
    }
}

#[test]
fn what_changes_during_a_collection_is_collected_again() {
    for through_a_cache in [false, true] {
        let source = Renumbered::gauges(&two(10, 20));
        let mut query = match through_a_cache {
            true => query(cached(&source), r"\Custom(a)\Items"),
            false => query(source.clone(), r"\Custom(a)\Items"),
        };
        assert_eq!(collect(&mut query), ["42"]);
        source.show_while_collecting(&[&two(20, 10)]);
        assert_eq!(collect(&mut query), ["42"], "{through_a_cache}");
        // Each time: nobody knows what came.
        let (one, other) = (two(10, 20), two(20, 10));
        source.show_while_collecting(&[&one, &other, &one, &other]);
        let failed = collect(&mut query);
        assert!(failed[0].contains("change while it is collected"), "{failed:?}");
        assert_eq!(collect(&mut query), ["42"]);
    }
}

#[test]
fn objects_that_come_all_the_time_cost_the_others_nothing() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = query(source.clone(), r"\Custom(a)\Items");
    query.add(r"\*(a)\Items").unwrap();
    assert_eq!(collect(&mut query), ["42", "42", "1000000"]);
    let more = |count: u32| {
        let more = (0..count).map(|n| thing((30 + n, "More"), ITEMS, &[("a", 7)]));
        two(10, 20).into_iter().chain(more).collect::<Vec<_>>()
    };
    let lists: Vec<Vec<Thing>> = (1..9).map(more).collect();
    let lists: Vec<&[Thing]> = lists.iter().map(Vec::as_slice).collect();
    source.show_while_collecting(&lists);
    let values = collect(&mut query);
    assert_eq!(values[..3], ["42", "42", "1000000"]);
}

#[test]
fn a_source_that_cannot_say_what_indexes_mean_gives_no_values() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = query(source.clone(), r"\Custom(a)\Items");
    assert_eq!(collect(&mut query), ["42"]);
    source.show(&two(20, 10));
    source.be_silent(true);
    for _ in 0..2 {
        assert_eq!(collect(&mut query), ["renumbered: is silent"]);
    }
    source.be_silent(false);
    assert_eq!(collect(&mut query), ["42"]);
}
