//! One program, and what a reader sees of it.

use crate::common::*;
use perfhive_engine::{Ask, Broker, ObjectQuery, Roster as _, Snapshot};
use perfhive_engine::{InstanceWish, NamePattern, Query, Source};
use perfhive_format::{CounterType as T, LanguageId};
use perfhive_shm::{CategoryBuilder, PublishedCounters};
use perfhive_shm::{CounterDeclaration, Lifetime, PublishErrorKind, PublishedCategory};
use perfhive_testkit::alloc::count;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_category_without_instances_has_its_values() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    assert!(reader.read().is_empty());

    let category = shop(&folder).publish().unwrap();
    let (orders, bytes) =
        (category.counter("Orders").unwrap(), category.pair("avg. bytes/order").unwrap());
    assert_eq!(
        reader.rows("Web Shop"),
        [(String::new(), vec![Some((0, None)), Some((0, Some(0)))])]
    );
    orders.increment();
    orders.increment_by(40);
    orders.decrement();
    bytes.record(1000);
    bytes.add(-1, 2);
    bytes.add(1 << 40, 1 << 30);
    let row = vec![Some((40, None)), Some(((1 << 40) + 999, Some((1 << 30) + 3)))];
    assert_eq!(reader.rows("Web Shop"), [(String::new(), row)]);
    bytes.set(7, 2);
    orders.set(u64::MAX);
    let row = vec![Some((u64::MAX, None)), Some((7, Some(2)))];
    assert_eq!(reader.rows("Web Shop"), [(String::new(), row)]);
    assert_eq!(reader.faults(), [""; 0]);

    assert_eq!(category.pair("Orders").unwrap_err().kind(), PublishErrorKind::BadName);
    assert_eq!(category.counter("Order").unwrap_err().kind(), PublishErrorKind::BadName);
    assert_eq!(category.instance("x").unwrap_err().kind(), PublishErrorKind::BadName);

    drop(category);
    assert_eq!(reader.rows("Web Shop"), [(String::new(), vec![None, None])]);
    orders.increment(); // Harmless.
    assert!(Reader::new(&folder).read().is_empty());
    // Windows does not remove a file while it is mapped.
    assert!(folder.files().is_empty() || cfg!(windows));
    drop((orders, bytes));
    assert!(folder.files().is_empty());
}

#[test]
fn instances_are_added_and_removed() {
    let folder = Folder::new();
    let category = shop(&folder).instances(2).publish().unwrap();
    let mut reader = Reader::new(&folder);
    assert_eq!(reader.read()["Web Shop"], []);

    let berlin = category.instance("Berlin").unwrap();
    let orders = berlin.counter("Orders").unwrap();
    orders.increment();
    let madrid = category.instance("Madrid").unwrap();
    assert_eq!(category.instance("Rome").unwrap_err().kind(), PublishErrorKind::Full);
    category.instance("Berlin").unwrap().counter("Orders").unwrap().increment();
    let value = |rows: &Rows| -> Vec<(String, u64)> {
        rows.iter().map(|(name, row)| (name.clone(), row[0].unwrap().0)).collect()
    };
    let (berlin_2, madrid_0) = (("Berlin".to_string(), 2), ("Madrid".to_string(), 0));
    assert_eq!(value(&reader.rows("Web Shop")), [berlin_2, madrid_0.clone()]);

    // A handle remains: the slot is not reused, and writes through the handle reach no other
    // instance.
    berlin.remove();
    assert_eq!(value(&reader.rows("Web Shop")), std::slice::from_ref(&madrid_0));
    assert_eq!(category.instance("Rome").unwrap_err().kind(), PublishErrorKind::Full);
    orders.increment_by(1000);
    drop(orders);
    let rome = category.instance("Rome").unwrap();
    assert_eq!(value(&reader.rows("Web Shop")), [("Rome".to_string(), 0), madrid_0.clone()]);

    // Instances of the other lifetime go with their last handle.
    madrid.remove();
    let handle = category.instance_of("Oslo", Lifetime::Handles, Some(77)).unwrap();
    let orders = handle.counter("Orders").unwrap();
    drop(handle);
    orders.increment();
    let rows = reader.rows("Web Shop");
    assert_eq!(value(&rows), [("Rome".to_string(), 0), ("Oslo".to_string(), 1)]);
    let numbers: Vec<_> = reader
        .snapshot
        .objects()
        .flat_map(|object| object.view().instances().map(|i| i.unique_id()).collect::<Vec<_>>())
        .collect();
    assert_eq!(numbers[1], Some(77));
    drop(orders);
    assert_eq!(value(&reader.rows("Web Shop")), [("Rome".to_string(), 0)]);
    drop(rome); // It is there for as long as the process.
    assert_eq!(reader.rows("Web Shop").len(), 1);
}

#[test]
fn a_reused_name_is_another_instance() {
    let folder = Folder::new();
    let category = shop(&folder).instances(4).publish().unwrap();
    let mut reader = Reader::new(&folder);
    let mut numbers = Vec::new();
    for round in 0..3 {
        let instance = category.instance("Berlin").unwrap();
        instance.counter("Orders").unwrap().set(round);
        assert_eq!(reader.rows("Web Shop")[0].1[0], Some((round, None)));
        let object = reader.snapshot.objects().next().unwrap();
        numbers.push(object.view().instances().next().unwrap().unique_id().unwrap());
        instance.remove();
    }
    numbers.dedup();
    assert_eq!(numbers.len(), 3);
}

/// Cooked values for every family of types.
#[test]
fn values_are_cooked_by_their_types() {
    let folder = Folder::new();
    let count = |name: &str, kind| CounterDeclaration::new(name, kind);
    let category = PublishedCategory::builder("Types")
        .counters([
            count("Number", T::PERF_COUNTER_RAWCOUNT),
            count("Double", T::PERF_DOUBLE_RAW),
            count("Delta", T::PERF_COUNTER_LARGE_DELTA),
            count("Hit %", T::PERF_SAMPLE_FRACTION),
            count("Full %", T::PERF_LARGE_RAW_FRACTION),
            count("Avg. Time", T::PERF_AVERAGE_TIMER),
            count("Avg. Size", T::PERF_AVERAGE_BULK),
            count("Precise %", T::PERF_PRECISION_100NS_TIMER),
            count("Up Time", T::PERF_ELAPSED_TIME),
            count("Busy %", T::PERF_100NSEC_TIMER),
            count("Rate", T::PERF_COUNTER_BULK_COUNT),
        ])
        .folder(folder.path())
        .publish()
        .unwrap();
    let counter = |name: &str| category.counter(name).unwrap();
    let pair = |name: &str| category.pair(name).unwrap();
    counter("Delta").set(5);
    counter("Up Time").set_start();
    pair("Precise %").set(100, 1000);
    let mut query = Query::new(Box::new(Reader::new(&folder).broker) as Box<dyn Source>).unwrap();
    query.add(r"\Types\*").unwrap();
    query.collect().unwrap();
    counter("Number").set(42);
    counter("Double").set_double(1.5);
    counter("Delta").increment_by(7);
    pair("Hit %").record(1);
    pair("Hit %").add(0, 3);
    pair("Full %").set(3, 4);
    pair("Avg. Time").record_time(Duration::from_millis(500));
    pair("Avg. Time").record_time(Duration::from_millis(250));
    pair("Avg. Size").add(30, 3);
    pair("Precise %").set(150, 1100);
    counter("Busy %").add_time(Duration::from_secs(0));
    counter("Rate").increment_by(0);
    query.collect().unwrap();
    let values: Vec<_> = query
        .readings()
        .iter()
        .map(|reading| {
            let path = query.path_of(reading).to_string();
            (
                path.rsplit('\\').next().unwrap().to_string(),
                reading.value.as_ref().unwrap().as_f64(),
            )
        })
        .collect();
    for (name, expected) in [
        ("Number", 42.0),
        ("Double", 1.5),
        ("Delta", 7.0),
        ("Hit %", 25.0),
        ("Full %", 75.0),
        ("Avg. Time", 0.375),
        ("Avg. Size", 10.0),
        ("Precise %", 50.0),
        ("Busy %", 0.0),
        ("Rate", 0.0),
    ] {
        let value = values.iter().find(|(n, _)| n == name).expect(name).1;
        assert!((value - expected).abs() < 1e-9, "{name}: {value}");
    }
    let up = values.iter().find(|(name, _)| name == "Up Time").unwrap().1;
    assert!((0.0..3600.0).contains(&up), "{up}");
}

/// A program that takes back time, for instance to count idle time, may come below zero for a moment.
#[test]
fn times_below_zero_stay_below_zero() {
    let folder = Folder::new();
    let timer = CounterDeclaration::new("Busy", T::PERF_100NSEC_TIMER);
    let category = PublishedCategory::builder("Web Shop").counter(timer).folder(folder.path());
    let category = category.publish().unwrap();
    let busy = category.counter("Busy").unwrap();
    let mut reader = Reader::new(&folder);
    let mut ticks = |nanoseconds: i64| {
        busy.set(nanoseconds as u64);
        reader.rows("Web Shop")[0].1[0].map(|(ticks, _)| ticks as i64)
    };
    assert_eq!([-250, -200, -50, 0, 50, 250].map(&mut ticks), [-3, -2, -1, 0, 0, 2].map(Some));
}

#[test]
fn a_thousand_instances_are_read() {
    let folder = Folder::new();
    let category = shop(&folder).instances(1000).publish().unwrap();
    let instances: Vec<_> =
        (0..1000).map(|n| category.instance(&format!("instance {n}")).unwrap()).collect();
    for (n, instance) in (0i64..).zip(&instances) {
        instance.counter("Orders").unwrap().increment_by(n);
        instance.pair("Avg. Bytes/Order").unwrap().record(2 * n);
    }
    let rows = Reader::new(&folder).rows("Web Shop");
    assert_eq!(rows.len(), 1000);
    for (n, (name, row)) in (0u64..).zip(&rows) {
        assert_eq!(name, &format!("instance {n}"));
        assert_eq!(row, &[Some((n, None)), Some((2 * n, Some(1)))]);
    }
}

#[test]
fn a_category_published_again_has_the_same_indexes() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let other = PublishedCategory::builder("Other")
        .counter(CounterDeclaration::new("x", COUNT))
        .folder(folder.path());
    let category = shop(&folder).publish().unwrap();
    let index = reader.index("Web Shop").unwrap();
    assert!(index.0 >= perfhive_engine::CHOSEN_INDEXES);
    let also = other.clone().publish().unwrap();
    let second = reader.index("Other").unwrap();
    drop(category);
    let generation = reader.broker.catalogue(&Ask::nothing()).unwrap().generation;
    assert_eq!(reader.index("Web Shop"), Some(index), "listed still");
    let again = shop(&folder).publish().unwrap();
    assert_eq!((reader.index("Web Shop"), reader.index("Other")), (Some(index), Some(second)));
    assert_eq!(reader.broker.catalogue(&Ask::nothing()).unwrap().generation, generation);
    drop((again, also));
}

/// A new version of a program has other counters. Readers that hold indexes, as recordings do, go on
/// with those that stay, and take no number of the old program for one of the new.
#[test]
fn a_category_with_other_counters_keeps_the_indexes_of_those_that_stay() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let indexes = |reader: &mut Reader| {
        let object = reader.index("Web Shop").unwrap();
        let titles = reader.broker.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
        let catalogue = reader.broker.catalogue(&Ask::everything()).unwrap();
        let counters = catalogue.object(object).unwrap().counters.iter();
        let named = |index| titles.name(index).unwrap().to_string();
        let counters: BTreeMap<_, _> = counters.map(|c| (named(c.name), c.name)).collect();
        (object, counters)
    };
    let number = |reader: &Reader, index| {
        let mut objects = reader.snapshot.objects();
        let object = objects.find(|object| object.view().name_index() == index).unwrap();
        object.view().instances().next().unwrap().unique_id().unwrap()
    };
    let added = CounterDeclaration::new("Added", COUNT);
    let double = T::PERF_DOUBLE_RAW;
    let counters = [added, CounterDeclaration::new("Avg. Bytes/Order", AVERAGE)];
    let new = PublishedCategory::builder("Web Shop")
        .counters(counters)
        .counter(CounterDeclaration::new("Orders", COUNT))
        .folder(folder.path());
    for instances in [false, true] {
        let of = |builder: CategoryBuilder| {
            let category = if instances { builder.instances(2) } else { builder };
            let category = category.publish().unwrap();
            if instances {
                category.instance("x").unwrap();
            }
            category
        };
        let first = of(shop(&folder));
        reader.read();
        let (before, old) = indexes(&mut reader);
        let old_number = instances.then(|| number(&reader, before));
        let other = zoo(&folder);
        reader.read();
        drop((first, other));
        let second = of(new.clone());
        let rows = reader.rows("Web Shop");
        let (object, now) = indexes(&mut reader);
        assert_eq!(object, before);
        for name in ["Orders", "Avg. Bytes/Order"] {
            assert_eq!(now[name], old[name], "{name}");
        }
        assert_eq!(now.values().collect::<BTreeSet<_>>().len(), 3);
        match old_number {
            Some(old) => assert_ne!(number(&reader, object), old),
            None => assert_eq!(rows[0].1, [None; 3], "one sample without values"),
        }
        assert_eq!(reader.rows("Web Shop")[0].1[0], Some((0, None)));
        // A counter of another type has other numbers, and another index.
        drop(second);
        let third = of(PublishedCategory::builder("Web Shop")
            .counter(CounterDeclaration::new("Orders", double))
            .folder(folder.path()));
        reader.read();
        let (object, now) = indexes(&mut reader);
        assert_eq!(object, before);
        assert!(!old.values().any(|index| *index == now["Orders"]));
        drop(third);
        let again = of(shop(&folder));
        reader.read();
        assert_eq!(indexes(&mut reader), (before, old), "they are remembered");
        drop(again);
    }
}

#[test]
fn a_limited_number_of_ended_categories_is_listed() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    for number in 0..100 {
        let name = format!("Category {number}");
        let counter = CounterDeclaration::new("x", COUNT);
        let category = PublishedCategory::builder(&name)
            .counter(counter)
            .folder(folder.path())
            .publish()
            .unwrap();
        assert_eq!(reader.rows(&name).len(), 1);
        drop(category);
    }
    reader.read();
    assert_eq!(reader.broker.catalogue(&Ask::everything()).unwrap().objects.len(), 64);
    assert!(reader.index("Category 99").is_some() && reader.index("Category 35").is_none());
}

#[test]
fn invalid_definitions_are_refused() {
    let folder = Folder::new();
    let error = |builder: perfhive_shm::CategoryBuilder| builder.publish().unwrap_err().to_string();
    let count = |name: &str| CounterDeclaration::new(name, COUNT);
    let base = || PublishedCategory::builder("C").folder(folder.path());
    for name in ["Memory ", " Memory", "4"] {
        let named = PublishedCategory::builder(name).folder(folder.path()).counter(count("a"));
        assert!(error(named).contains("readers would refuse it"));
    }
    assert!(error(base()).contains("0 counters"));
    assert!(error(base().counters([count("a"), count("A")])).contains("two counters"));
    assert!(error(base().counter(count(" "))).contains("expected text"));
    let text = CounterDeclaration::new("t", T::PERF_COUNTER_TEXT);
    assert!(error(base().counter(text)).contains("not numbers"));
    let based = count("x").base_type(T::PERF_RAW_BASE);
    assert!(error(base().counter(based)).contains("cannot be its base"));
    assert!(error(base().counter(count("a")).instances(70_000)).contains("1 to 65536"));
    let large = base().counter(count("a")).instances(60_000).longest_name(1024);
    assert!(error(large).contains("at most"));
    assert!(folder.files().is_empty());
    let category = base().counter(count("a")).instances(3).longest_name(3).publish().unwrap();
    for bad in ["", "four", "a\0b"] {
        assert_eq!(category.instance(bad).unwrap_err().kind(), PublishErrorKind::BadName);
    }
    category.instance("abc").unwrap();
}

#[test]
fn counting_and_warm_reading_allocate_nothing() {
    let folder = Folder::new();
    let category = shop(&folder).instances(50).publish().unwrap();
    let instances: Vec<_> =
        (0..50).map(|n| category.instance(&format!("Niederlassung {n}")).unwrap()).collect();
    let (orders, bytes) =
        (instances[7].counter("Orders").unwrap(), instances[7].pair("Avg. Bytes/Order").unwrap());
    // The publisher, for every kind of count.
    let ((), allocated) = count(|| {
        orders.increment();
        orders.set(7);
        bytes.record(8);
        bytes.add(1 << 40, 1 << 40);
        bytes.set(1, 2);
        drop((orders.clone(), bytes.time()));
    });
    assert_eq!(allocated.count, 0);
    // The reader, once warm.
    let counters = PublishedCounters::in_folder(folder.path()).every(Duration::from_secs(3600));
    let mut broker = Broker::builder("test:", "HOST").roster(counters).build();
    let index = broker.catalogue(&Ask::everything()).unwrap().objects[0].name;
    let request = Ask::new(ObjectQuery::one(index));
    let mut snapshot = Snapshot::new();
    for _ in 0..3 {
        broker.collect(&request, &mut snapshot).unwrap();
    }
    let (result, allocated) = count(|| broker.collect(&request, &mut snapshot));
    result.unwrap();
    assert_eq!(snapshot.objects().next().unwrap().view().instance_count(), 50);
    assert_eq!(allocated.count, 0);
}
/// Readers look before each sample whether anything is published; without any file, that allocates
/// nothing. (On Linux the usual folders may hold files of tests that run at the same time.)
#[test]
fn a_look_at_empty_folders_allocates_nothing() {
    let folder = Folder::new();
    let nothing = PublishedCounters::in_folder(folder.path().join("nothing"));
    for roster in [Some(nothing), cfg!(windows).then(PublishedCounters::new)] {
        let Some(roster) = roster else { continue };
        let mut roster = roster.every(Duration::ZERO);
        for _ in 0..3 {
            roster.changed(&Ask::nothing());
        }
        let (changed, allocated) = count(|| roster.changed(&Ask::nothing()).is_some());
        assert_eq!((changed, allocated.count), (false, 0));
    }
}

/// Categories that stay allocate nothing, including the look at the folder, however many others
/// came and went.
#[test]
fn categories_that_stay_allocate_nothing() {
    let folder = Folder::new();
    let mut reader = Reader::new(&folder);
    let request = Ask::new(ObjectQuery::Global);
    let mut collect = || {
        reader.snapshot.clear();
        let (done, taken) = count(|| reader.broker.collect(&request, &mut reader.snapshot));
        done.unwrap();
        taken.count
    };
    collect();
    let category = shop(&folder).instances(2000).publish().unwrap();
    collect();
    let mut instances = Vec::new();
    for round in 0..40 {
        let name = |n: usize| format!("{} {round}.{n}", "Niederlassung ".repeat(round % 5));
        instances.extend((0..round).map(|n| category.instance(&name(n)).unwrap()));
        collect();
        collect();
        instances.drain(..instances.len() / 3);
        collect();
    }
    let others: Vec<_> = (0..20)
        .map(|number| {
            let name = format!("Category {number}");
            let builder = PublishedCategory::builder(&name).folder(folder.path());
            let other = builder.counter(CounterDeclaration::new("Orders", COUNT)).publish();
            collect();
            other.unwrap()
        })
        .collect();
    // A second one of the name, which is left out, and a file that is not a category.
    let second =
        PublishedCategory::builder("Category 3").counter(CounterDeclaration::new("Other", COUNT));
    let second = second.folder(folder.path()).publish().unwrap();
    collect();
    let refused = put(&folder, "x.counters", b"no counters");
    collect();
    // A folder that changed recently is listed each time.
    let begun = std::time::Instant::now();
    let mut quiet = 0;
    while quiet < 20 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it allocates again and again");
        quiet = if collect() > 0 { 0 } else { quiet + 1 };
        std::thread::sleep(Duration::from_millis(10));
    }
    drop((others, second, refused));
    for _ in 0..5 {
        collect();
    }
}

#[test]
fn wanted_instances_alone_are_handed_out() {
    let folder = Folder::new();
    let category = shop(&folder).instances(3).publish().unwrap();
    for city in ["Berlin", "Bern", "Rome"] {
        category.instance(city).unwrap().counter("Orders").unwrap().increment();
    }
    let mut reader = Reader::new(&folder);
    reader.read();
    let object = reader.index("Web Shop").unwrap();
    let mut names = |pattern: &str| {
        let wish = InstanceWish::Named(Arc::new(NamePattern::with_wildcards(pattern)));
        let ask = Ask::objects(&[object]).with_instance(object, wish);
        reader.broker.collect(&ask, &mut reader.snapshot).unwrap();
        let shop = reader.snapshot.object(object).unwrap();
        let names = shop.view().instances().map(|instance| instance.name().to_text());
        (names.collect::<Vec<_>>().join(" "), reader.snapshot.is_partial(object))
    };
    assert_eq!(names("ber*"), ("Berlin Bern".to_string(), true));
    assert_eq!(names("Paris"), (String::new(), true));
    let mut query = Query::new(Reader::new(&folder).broker).unwrap();
    query.add(r"\Web Shop(Rome)\Orders").unwrap();
    query.collect().unwrap();
    assert_eq!(query.readings()[0].raw.unwrap().value, 1);
}
