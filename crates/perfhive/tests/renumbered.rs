//! Categories and counters whose title indexes go to others.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::*;
use perfhive_testkit::renumbered::{Renumbered, Thing, thing};
use std::time::Duration;

const ITEMS: (u32, &str) = (12, "Items");

fn two(custom: u32, other: u32) -> [Thing; 2] {
    [thing((custom, "Custom"), ITEMS, &[("a", 42)]), thing((other, "Other"), ITEMS, &[("a", 666)])]
}

fn counter(source: &SharedSource) -> PerformanceCounter {
    PerformanceCounter::new_in(source, "Custom", "Items", "a").unwrap()
}

fn values(counter: &mut PerformanceCounter, samples: usize) -> Vec<String> {
    let show = |value: Result<f64, NoValue>| match value {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    };
    (0..samples).map(|_| show(counter.next_value())).collect()
}

fn read(category: &mut Category) -> Result<(String, u64), String> {
    let data = category.read().map_err(|error| error.to_string())?;
    let value = data.get("Items", "a").ok_or("no Items of a")?.raw_value();
    Ok((data.category_name(), value.map_err(|why| why.to_string())?))
}

#[test]
fn indexes_that_are_exchanged_exchange_no_values() {
    let machine = Renumbered::gauges(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut counter = counter(&source);
    let mut category = Category::new_in(&source, "Custom").unwrap();
    assert_eq!(values(&mut counter, 1), ["42"]);
    for things in [two(20, 10), two(10, 20), two(10, 30), two(30, 10)] {
        machine.show(&things);
        assert_eq!(read(&mut category), Ok(("Custom".into(), 42)), "{things:?}");
        assert_eq!(category.instance_names().unwrap(), ["a"]);
        machine.show(&two(20, 10));
        assert_eq!(values(&mut counter, 2), ["42", "42"], "{things:?}");
        assert_eq!(counter.raw_value().unwrap(), 42);
        assert_eq!((counter.category_name(), category.name()), ("Custom".into(), "Custom".into()));
    }
}

#[test]
fn a_rate_is_never_of_two_categories() {
    let machine = Renumbered::rates(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut counter = counter(&source);
    let mut number = PerformanceCounter::new_in(&source, "10", "12", "a").unwrap();
    assert_eq!(values(&mut counter, 3), ["needs-two-samples", "1", "1"]);
    assert_eq!(values(&mut number, 2), ["needs-two-samples", "1"]);
    machine.show(&two(20, 10));
    assert_eq!(values(&mut counter, 3), ["needs-two-samples", "1", "1"]);
    // By number it is whatever has the number.
    assert_eq!(values(&mut number, 3), ["needs-two-samples", "1", "1"]);
    let mut category = Category::new_in(&source, "Other").unwrap();
    let older = category.read().unwrap();
    machine.show(&two(10, 20));
    category.read().unwrap();
    let newer = Category::new_in(&source, "10").unwrap().read().unwrap();
    assert_eq!(newer.category_name(), "Custom");
    let value = newer.get("Items", "a").unwrap().value_since(&older);
    assert!(matches!(value, Err(NoValue::DifferentTypes)), "{value:?}");
}

/// Its index is another's, under whatever names.
#[test]
fn what_is_gone_has_no_value() {
    let gone = [
        [thing((10, "Other"), (14, "Errors"), &[("a", 666)])],
        [thing((10, "Other"), ITEMS, &[("a", 666)])],
        [thing((10, "Other"), (12, "Errors"), &[("a", 666)])],
        [thing((10, ""), ITEMS, &[("a", 666)])],
    ];
    for gone in gone {
        let machine = Renumbered::gauges(&two(10, 20));
        let source = SharedSource::new(machine.clone());
        let mut counter = counter(&source);
        let mut category = Category::new_in(&source, "Custom").unwrap();
        assert_eq!(values(&mut counter, 1), ["42"]);
        machine.show(&gone);
        assert_eq!(values(&mut counter, 2), ["object-missing", "object-missing"]);
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
        assert_eq!(values(&mut counter, 1), ["42"]);
        assert_eq!(read(&mut category), Ok(("Custom".into(), 42)));
        assert!(category.has_counter("Items"));
    }
}

#[test]
fn a_counter_that_is_gone_has_no_value() {
    let machine = Renumbered::gauges(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut counter = counter(&source);
    assert_eq!(values(&mut counter, 1), ["42"]);
    machine.show(&[thing((10, "Custom"), (12, "Errors"), &[("a", 666)])]);
    assert_eq!(values(&mut counter, 2), ["counter-missing", "counter-missing"]);
    machine.show(&[thing((10, "Custom"), (14, "Items"), &[("a", 43)])]);
    assert_eq!(values(&mut counter, 1), ["43"]);
}

#[test]
fn a_provider_that_is_away_may_come_back_under_its_index() {
    let machine = Renumbered::gauges(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut counter = counter(&source);
    assert_eq!(values(&mut counter, 1), ["42"]);
    machine.show(&two(10, 20)[1..]);
    assert_eq!(values(&mut counter, 2), ["object-missing", "object-missing"]);
    machine.show(&two(10, 20));
    assert_eq!(values(&mut counter, 1), ["42"]);
}

#[test]
fn two_of_one_name_stay_two() {
    let twins = |first: u32, second: u32| {
        [thing((first, "Dice"), ITEMS, &[("a", 1)]), thing((second, "Dice"), ITEMS, &[("a", 2)])]
    };
    let machine = Renumbered::gauges(&twins(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut all = Category::all_in(&source).unwrap();
    assert_eq!(read(&mut all[1]), Ok(("Dice".into(), 2)));
    let mut counters = all.iter().map(|dice| dice.counters("a").unwrap().remove(0));
    let (mut first, mut second) = (counters.next().unwrap(), counters.next().unwrap());
    // The second has another index, and the first stays where it is.
    machine.show(&twins(10, 30));
    assert_eq!(
        (values(&mut first, 1), values(&mut second, 1)),
        (vec!["1".into()], vec!["2".into()])
    );
    assert_eq!(read(&mut all[1]), Ok(("Dice".into(), 2)));
    // Gone; its namesake is not it.
    machine.show(&[twins(10, 30)[0].clone(), thing((30, "Cards"), ITEMS, &[("a", 3)])]);
    assert_eq!(
        (values(&mut first, 1), values(&mut second, 1)),
        (vec!["1".into()], vec!["object-missing".into()])
    );
    // Both at once: which is which?
    machine.show(&twins(10, 30));
    assert_eq!(values(&mut second, 1), ["2"]);
    machine.show(&[
        thing((10, "Cards"), ITEMS, &[("a", 3)]),
        twins(40, 50)[0].clone(),
        twins(40, 50)[1].clone(),
    ]);
    assert_eq!(values(&mut first, 1), ["object-missing"]);
}

#[test]
fn what_changes_during_a_sample_is_sampled_again() {
    let machine = Renumbered::gauges(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut counter = counter(&source);
    let mut category = Category::new_in(&source, "Custom").unwrap();
    let (one, other) = (two(10, 20), two(20, 10));
    machine.show_while_collecting(&[&other]);
    assert_eq!(values(&mut counter, 1), ["42"]);
    machine.show_while_collecting(&[&one]);
    assert_eq!(read(&mut category), Ok(("Custom".into(), 42)));
    machine.show_while_collecting(&[&other, &one, &other, &one]);
    assert_eq!(values(&mut counter, 1), ["source-failed"]);
    machine.show_while_collecting(&[&one, &other, &one, &other]);
    let why = read(&mut category).unwrap_err();
    assert!(why.contains("change while it is collected"), "{why}");
    machine.show_while_collecting(&[]);
    assert_eq!(values(&mut counter, 1), ["42"]);
    assert_eq!(read(&mut category), Ok(("Custom".into(), 42)));
}

#[test]
fn a_source_that_cannot_say_what_indexes_mean_gives_no_values() {
    let machine = Renumbered::gauges(&two(10, 20));
    let source = SharedSource::new(machine.clone());
    let mut counter = counter(&source);
    let mut category = Category::new_in(&source, "Custom").unwrap();
    assert_eq!(values(&mut counter, 1), ["42"]);
    machine.show(&two(20, 10));
    machine.be_silent(true);
    assert_eq!(values(&mut counter, 2), ["source-failed", "source-failed"]);
    assert!(read(&mut category).unwrap_err().contains("is silent"));
    machine.be_silent(false);
    assert_eq!(values(&mut counter, 1), ["42"]);
    assert_eq!(read(&mut category), Ok(("Custom".into(), 42)));
}

/// Kept data was collected with the indexes of its time.
#[test]
fn kept_data_of_before_is_not_taken_for_what_its_index_means_now() {
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
    // Whoever collects learns that everything changed, and all others do so.
    assert_eq!(values(&mut third, 1), ["3"]);
    assert_eq!((read("Custom").as_str(), read("Other").as_str()), ("42", "666"));
}
