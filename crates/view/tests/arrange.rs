//! The order of readings, on an object with sums, idle time and instances.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{NamePattern, Query};
use perfhive_testkit::renumbered::{Renumbered, thing};
use perfhive_view::{Arrangement, Order};

const WORK: (u32, &str) = (12, "Work");

/// The labels of the instances in the order of an arrangement, and how many it leaves out.
fn arranged(arrangement: &Arrangement, room: Option<usize>) -> (String, usize) {
    let instances = [("_Total", 106), ("Idle", 90), ("b", 5), ("A", 10), ("c", 1)];
    let machine = Renumbered::gauges(&[thing((10, "Job"), WORK, &instances)]);
    let mut query = Query::new(machine).unwrap();
    query.add(r"\Job(*)\Work").unwrap();
    query.collect().unwrap();
    let arranged = arrangement.of(&query, query.readings().iter().collect(), room);
    let name = |reading: &&perfhive_engine::Reading| reading.instance.as_ref().unwrap().plain();
    let names: Vec<String> = arranged.readings.iter().map(name).collect();
    (names.join(" "), arranged.left_out)
}

fn by(order: Order) -> Arrangement {
    Arrangement { order, ..Arrangement::default() }
}

#[test]
fn the_largest_come_first_and_sums_stand_apart() {
    let value = by(Order::Value);
    assert_eq!(arranged(&by(Order::Source), None), ("_Total Idle b A c".into(), 0));
    assert_eq!(arranged(&value, None), ("A b c Idle _Total".into(), 0));
    let reversed = Arrangement { reversed: true, ..value.clone() };
    assert_eq!(arranged(&reversed, None), ("c b A Idle _Total".into(), 0));
    assert_eq!(arranged(&by(Order::Name), None), ("A b c Idle _Total".into(), 0));
    let counter = by(Order::Counter("WORK".into()));
    assert_eq!(arranged(&counter, None), ("A b c Idle _Total".into(), 0));
    let without = Arrangement { without_idle: true, ..value };
    assert_eq!(arranged(&without, None), ("A b c _Total".into(), 0));
}

#[test]
fn top_and_room_leave_the_smallest_out_and_say_how_many() {
    let top = Arrangement { top: Some(1), ..by(Order::Value) };
    assert_eq!(arranged(&top, None), ("A Idle _Total".into(), 2));
    assert_eq!(arranged(&by(Order::Value), Some(4)), ("A b Idle _Total".into(), 1));
    assert_eq!(arranged(&by(Order::Value), Some(1)), ("A Idle _Total".into(), 2));
    assert_eq!(arranged(&by(Order::Value), Some(5)), ("A b c Idle _Total".into(), 0));
}

#[test]
fn a_filter_is_part_of_a_name_or_a_pattern() {
    let filtered = |text: &str| {
        let filter = Some(NamePattern::with_wildcards(text));
        arranged(&Arrangement { filter, ..Arrangement::default() }, None).0
    };
    assert_eq!(filtered("a"), "_Total A");
    assert_eq!(filtered("a*"), "A");
    assert_eq!(filtered("x"), "");
}

#[test]
fn a_pattern_of_a_whole_name_finds_all_instances_of_that_name() {
    let instances = [("java", 1), ("java", 2), ("javac", 3)];
    let mut query =
        Query::new(Renumbered::gauges(&[thing((10, "Job"), WORK, &instances)])).unwrap();
    query.add(r"\Job(*)\Work").unwrap();
    query.collect().unwrap();
    let filtered = |text: &str| {
        let filter = Some(NamePattern::with_wildcards(text));
        let arrangement = Arrangement { filter, ..Arrangement::default() };
        let shown = arrangement.of(&query, query.readings().iter().collect(), None).readings;
        let name = |one: &&perfhive_engine::Reading| one.instance.as_ref().unwrap().plain();
        shown.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(filtered("*va"), "java java#1");
    assert_eq!(filtered("java#*"), "java#1");
    assert_eq!(filtered("*c"), "javac");
}

#[test]
fn a_path_with_wildcards_decides_the_order_wherever_it_stands() {
    let instances = [("c", 1), ("b", 5), ("A", 10)];
    let job = thing((10, "Job"), WORK, &instances);
    let paths = [r"\Job(c)\Work", r"\Job(*)\Work"];
    for paths in [paths, [paths[1], paths[0]]] {
        let mut query = Query::new(Renumbered::gauges(std::slice::from_ref(&job))).unwrap();
        for path in paths {
            query.add(path).unwrap();
        }
        query.collect().unwrap();
        let arranged = by(Order::Value).of(&query, query.readings().iter().collect(), None);
        let name = |one: &&perfhive_engine::Reading| one.instance.as_ref().unwrap().plain();
        let mut names: Vec<String> = arranged.readings.iter().map(name).collect();
        names.dedup();
        assert_eq!(names, ["A", "b", "c"], "{paths:?}");
    }
}
