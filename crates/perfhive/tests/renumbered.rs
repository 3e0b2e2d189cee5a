//! Categories and counters whose title indexes go to other objects.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::*;
use perfhive_testkit::renumbered::*;
use std::time::Duration;

const ITEMS: (u32, &str) = (12, "Items");

fn counter(source: &SharedSource) -> PerformanceCounter {
    PerformanceCounter::new_in(source, "Custom", "Items", "a").unwrap()
}

fn value(counter: &mut PerformanceCounter) -> String {
    match counter.next_value() {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    }
}

fn values(counter: &mut PerformanceCounter, samples: usize) -> Vec<String> {
    (0..samples).map(|_| value(counter)).collect()
}

fn read(category: &mut Category) -> Result<(String, u64), String> {
    let data = category.read().map_err(|error| error.to_string())?;
    let value = data.get("Items", "a").ok_or("no Items of a")?.raw_value();
    Ok((data.category_name(), value.map_err(|why| why.to_string())?))
}

#[test]
fn a_counter_follows_the_names_of_its_category_and_its_own() {
    reader_follows_names(DuringSample::Repeats, |source| {
        let mut counter = counter(&SharedSource::new(source));
        Box::new(move || value(&mut counter))
    });
}

#[test]
fn a_counter_keeps_to_its_category_of_two_of_one_name() {
    reader_keeps_to_its_namesake(|source| {
        let all = Category::all_in(&SharedSource::new(source)).unwrap();
        [0, 1].map(|place: usize| -> ItemsReader {
            let mut counter = all[place].counters("a").unwrap().remove(0);
            Box::new(move || value(&mut counter))
        })
    });
}

#[test]
fn a_category_keeps_its_name_and_data_when_indexes_are_exchanged() {
    let machine = Renumbered::gauges(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut category = Category::new_in(&source, "Custom").unwrap();
    for things in [two(20, 10), two(10, 20), two(10, 30), two(30, 10)] {
        machine.show(&things);
        assert_eq!(read(&mut category), Ok(("Custom".into(), 42)), "{things:?}");
        assert_eq!(category.instance_names().unwrap(), ["a"]);
        assert_eq!(category.name(), "Custom");
    }
    // While it is sampled: once, and with every attempt.
    let (one, other) = (two(10, 20), two(20, 10));
    machine.show_while_collecting(&[&one]);
    assert_eq!(read(&mut category), Ok(("Custom".into(), 42)));
    machine.show_while_collecting(&[&other, &one, &other, &one]);
    let why = read(&mut category).unwrap_err();
    assert!(why.contains("change while it is collected"), "{why}");
}

#[test]
fn a_counter_by_number_makes_no_rate_of_two_categories() {
    let machine = Renumbered::rates(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut number = PerformanceCounter::new_in(&source, "10", "12", "a").unwrap();
    assert_eq!(values(&mut number, 2), ["needs-two-samples", "1"]);
    machine.show(&two(20, 10));
    assert_eq!(values(&mut number, 3), ["needs-two-samples", "1", "1"]);
    let mut category = Category::new_in(&source, "Other").unwrap();
    let older = category.read().unwrap();
    machine.show(&two(10, 20));
    // A cache notices the change when it collects.
    category.read().unwrap();
    let newer = Category::new_in(&source, "10").unwrap().read().unwrap();
    assert_eq!(newer.category_name(), "Custom");
    let value = newer.get("Items", "a").unwrap().value_since(&older);
    assert!(matches!(value, Err(NoValue::DifferentTypes)), "{value:?}");
}

#[test]
fn a_change_is_not_forgotten_when_its_sample_fails() {
    let machine = Renumbered::rates(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut number = PerformanceCounter::new_in(&source, "10", "12", "a").unwrap();
    assert_eq!(values(&mut number, 2), ["needs-two-samples", "1"]);
    // With every attempt. The last leaves another category under the index.
    let (one, other) = (two(10, 20), two(20, 10));
    machine.show_while_collecting(&[&other, &one, &other, &one]);
    assert!(matches!(number.next_value(), Err(NoValue::SourceFailed(_))));
    machine.show_while_collecting(&[]);
    assert_eq!(values(&mut number, 2), ["needs-two-samples", "1"]);
}

#[test]
fn a_category_that_is_gone_has_no_data_under_its_index() {
    for gone in gone() {
        let machine = Renumbered::gauges(&two(10, 20));
        let source = SharedSource::new(machine.clone());
        let mut counter = counter(&source);
        let mut category = Category::new_in(&source, "Custom").unwrap();
        machine.show(&gone);
        let why = counter.raw_value().unwrap_err().to_string();
        assert!(why.contains("belongs to another object"), "{why}");
        assert_eq!(
            (counter.category_name(), counter.counter_name()),
            ("Custom".into(), "Items".into())
        );
        let why = read(&mut category).unwrap_err();
        assert!(why.contains("Custom") && why.contains("belongs to another object"), "{why}");
        assert!(category.instance_names().is_err());
        assert!(category.has_instance("a").is_err());
        assert!(!category.has_counter("Items") && !category.has_counter("Errors"));
        assert!(!Category::exists_in(&source, "Custom").unwrap());
        machine.show(&two(30, 10));
        assert_eq!(read(&mut category), Ok(("Custom".into(), 42)));
        assert!(category.has_counter("Items"));
    }
}

#[test]
fn cached_data_from_before_a_change_is_not_read_by_the_new_indexes() {
    let three = |custom, other| {
        let third = [thing((30, "Third"), ITEMS, &[("a", 3)])];
        two(custom, other).into_iter().chain(third).collect::<Vec<_>>()
    };
    let machine = Renumbered::gauges(&three(10, 20));
    let source = SharedSource::new(machine.clone()).max_age(Duration::MAX);
    let read = |category| {
        let counter = PerformanceCounter::new_in(&source, category, "Items", "a");
        values(&mut counter.unwrap(), 1).remove(0)
    };
    let mut third = PerformanceCounter::new_in(&source, "Third", "Items", "a").unwrap();
    assert_eq!((read("Other").as_str(), values(&mut third, 1)), ("666", vec!["3".to_string()]));
    machine.show(&three(20, 10));
    // The first collection shows the change to every reader.
    assert_eq!(values(&mut third, 1), ["3"]);
    assert_eq!((read("Custom").as_str(), read("Other").as_str()), ("42", "666"));
}
