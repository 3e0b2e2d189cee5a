//! Sensors with title indexes that go to other objects, and several objects of one name.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{self, *};
use perfhive_engine::*;
use perfhive_format::LanguageId;
use perfhive_testkit::renumbered::{Renumbered, Thing, thing};
use std::time::Duration;

const ITEMS: (u32, &str) = (12, "Items");

fn two(custom: u32, other: u32) -> [Thing; 2] {
    [
        thing((custom, "Custom"), ITEMS, &[("a", 42)]),
        thing((other, "Other"), ITEMS, &[("a", 666), ("b", 667)]),
    ]
}

/// A source through a cache, which shows a change with the collection after it.
fn sources(source: &Renumbered) -> DataSources {
    let cached = Cached::builder(source.clone()).max_age(Duration::ZERO).build();
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test", cached)).unwrap();
    sources
}

fn context(sources: &mut DataSources, name: &str) -> Result<MeasurementContext, MeasureError> {
    MeasurementContext::new(sources, &[name.parse().unwrap()])
}

fn shown(readings: &Readings) -> Vec<String> {
    let show = |reading: &SensorReading| match &reading.value {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    };
    readings.iter().map(show).collect()
}

fn cycle(context: &mut MeasurementContext) -> Vec<String> {
    let mut readings = Readings::new();
    context.prepare().unwrap();
    context.sample().unwrap();
    context.decode(&mut readings).unwrap();
    shown(&readings)
}

#[test]
fn an_index_that_changes_during_the_baseline_gives_no_value_of_another_object() {
    let machine = Renumbered::gauges(&two(10, 20));
    let mut sources = sources(&machine);
    assert_eq!(
        shown(context(&mut sources, "test/Custom/Items#a").unwrap().values().unwrap()),
        ["42"]
    );
    machine.show(&two(20, 10));
    let mut measured = context(&mut sources, "test/Custom/Items#a").unwrap();
    assert_eq!(shown(measured.values().unwrap()), ["42"]);
    assert_eq!(cycle(&mut measured), ["42"]);
    assert!(measured.record().unwrap().anomalies.iter().all(|a| a.code() != "structure-changed"));
    // It is gone meanwhile, for a new list of sensors and for one from before.
    let found = sources.find(&"test/Custom/Items#*".parse().unwrap()).unwrap();
    machine.show(&two(20, 10)[1..]);
    let selection = SensorSelection::Custom(vec![found]);
    let gone = MeasurementContext::of_selection(
        &mut sources,
        "test",
        &selection,
        MeasurementOptions::new(),
    );
    assert_eq!(shown(gone.unwrap().values().unwrap()), [""; 0]);
    let unknown = context(&mut sources, "test/Custom/Items#*").err().unwrap();
    assert!(matches!(unknown, MeasureError::UnknownSensor { .. }), "{unknown}");
    // Another one with each collection.
    machine.show(&two(20, 10));
    assert_eq!(cycle(&mut measured).len(), 1);
    let (one, other) = (two(10, 20), two(20, 10));
    machine.show_while_collecting(&[&one, &other, &one, &other]);
    let failed = context(&mut sources, "test/Custom/Items#a").err().unwrap().to_string();
    assert!(failed.contains("change while it is collected"), "{failed}");
}

#[test]
fn sensor_numbers_from_before_a_change_mean_the_same_sensors_after_it() {
    let machine = Renumbered::gauges(&two(10, 20));
    for cached in [false, true] {
        machine.show(&two(10, 20));
        let mut sources = match cached {
            true => sources(&machine),
            false => {
                let mut sources = DataSources::new();
                sources.add(CounterSource::new("test", machine.clone())).unwrap();
                sources
            }
        };
        let source = sources.get("test").unwrap();
        let id = source.sensors().unwrap()[0].id;
        machine.show(&two(20, 10));
        assert_eq!(source.instances(id).unwrap(), ["a"], "{cached}");
        machine.show(&two(10, 20));
        let wanted =
            [measure::SelectedSensor::new(source.sensors().unwrap()[0].id, SensorInstances::All)];
        machine.show(&two(20, 10));
        let selection = SensorSelection::Custom(wanted.to_vec());
        let options = MeasurementOptions::new();
        let context = MeasurementContext::of_selection(&mut sources, "test", &selection, options);
        assert_eq!(shown(context.unwrap().values().unwrap()), ["42"], "{cached}");
    }
}

#[test]
fn a_sensor_that_is_gone_is_found_when_it_comes_back() {
    let machine = Renumbered::gauges(&two(10, 20));
    let mut sources = sources(&machine);
    let mut context = context(&mut sources, "test/Custom/Items#*").unwrap();
    machine.show(&[thing((10, "Other"), ITEMS, &[("a", 666)])]);
    assert_eq!(cycle(&mut context), [""; 0]);
    assert_eq!(cycle(&mut context), [""; 0]);
    machine.show(&two(30, 10));
    cycle(&mut context);
    assert_eq!(cycle(&mut context), ["42"]);
}

/// In one interval the indexes change, and another instance of the name comes before the only
/// one.
#[test]
fn an_instance_is_lost_when_a_second_of_its_name_comes_while_indexes_change() {
    let level = |counter| (counter, "Level");
    let paths = |counter, rows: &[_]| [thing((10, "Paths"), level(counter), rows)];
    let start =
        |machine: &Renumbered| context(&mut sources(machine), "test/Paths/Level#x").unwrap();
    let machine = Renumbered::gauges(&paths(12, &[("x", 41)]));
    let mut measured = start(&machine);
    machine.show(&paths(14, &[("x", 666), ("x", 41)]));
    for _ in 0..3 {
        assert_ne!(cycle(&mut measured), ["666"]);
    }
    assert_eq!(cycle(&mut measured), ["vanished"]);
    machine.show(&paths(14, &[("x", 666)]));
    assert_eq!(cycle(&mut measured), ["vanished"]);
    // The only one of the name before and after is the same instance.
    let machine = Renumbered::gauges(&paths(12, &[("x", 41)]));
    let mut measured = start(&machine);
    machine.show(&paths(14, &[("y", 7), ("x", 41)]));
    cycle(&mut measured);
    assert_eq!(cycle(&mut measured), ["41"]);
    // Missing for a while, as without a change.
    machine.show(&paths(16, &[("y", 7)]));
    cycle(&mut measured);
    assert_eq!(cycle(&mut measured), ["vanished"]);
    machine.show(&paths(16, &[("x", 43)]));
    cycle(&mut measured);
    assert_eq!(cycle(&mut measured), ["43"]);
}

fn names(sources: &mut DataSources) -> Vec<String> {
    let sensors = sources.get("test").unwrap().sensors().unwrap();
    sensors.iter().map(|sensor| sensor.name.to_string()).collect()
}

#[test]
fn objects_and_counters_of_one_name_have_distinct_sensor_names() {
    let throws = (12, "Throws/sec");
    let dice = |index, name, value| thing((index, name), throws, &[("red", value)]);
    let things = [
        dice(10, "Dice", 1),
        dice(20, "dice", 2),
        dice(CHOSEN_INDEXES, "Dice", 3),
        dice(CHOSEN_INDEXES + 40, "DICE", 4),
        dice(30, "dice#20", 5),
    ];
    let machine = Renumbered::gauges(&things);
    let mut sources = sources(&machine);
    let expected = [
        "test/Dice/Throws%2Fsec",
        "test/dice%2320%2320/Throws%2Fsec",
        "test/Dice%23published/Throws%2Fsec",
        "test/DICE%2316777256/Throws%2Fsec",
        "test/dice%2320/Throws%2Fsec",
    ];
    let listed = names(&mut sources);
    assert_eq!(listed, expected);
    for (value, name) in (1..).zip(&listed) {
        let context = context(&mut sources, &format!("{name}#red")).unwrap();
        let reading = context.values().unwrap().iter().next().unwrap().clone();
        assert_eq!(reading.value.unwrap().to_string(), value.to_string());
        assert_eq!(reading.slot.name.to_string(), format!("{name}#red"));
    }
}

/// The order in which a source lists its objects does not matter.
#[test]
fn of_objects_of_one_name_the_smallest_index_has_the_name_in_every_order() {
    let dice = |index, value| thing((index, "Dice"), ITEMS, &[("red", value)]);
    let things = [dice(1848, 2), dice(CHOSEN_INDEXES, 4), dice(300, 1), dice(2000, 3)];
    let path = "\\Dice(red)\\Items";
    for turn in 0..things.len() {
        let mut things = things.clone();
        things.rotate_left(turn);
        let machine = Renumbered::gauges(&things);
        let mut sources = sources(&machine);
        let listed = names(&mut sources);
        for (value, group) in (1..).zip(["Dice", "Dice%231848", "Dice%232000", "Dice%23published"])
        {
            let name = format!("test/{group}/Items");
            assert!(listed.contains(&name), "{turn}: {listed:?}");
            let context = context(&mut sources, &format!("{name}#red")).unwrap();
            assert_eq!(shown(context.values().unwrap()), [value.to_string()], "{turn}: {name}");
        }
        let mut query = Query::new(machine.clone()).unwrap();
        query.add(path).unwrap();
        query.collect().unwrap();
        let values = query.readings().iter().map(|reading| reading.value.clone().unwrap());
        assert_eq!(values.map(|value| value.to_string()).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
        let titles = TitleSet::new(vec![
            machine.clone().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap(),
        ]);
        let catalogue = machine.clone().catalogue(&Ask::everything()).unwrap();
        assert_eq!(catalogue.object_named(&titles, "dice").unwrap().name.0, 300);
    }
}

#[test]
fn a_namesake_does_not_take_the_place_of_an_object_that_is_gone() {
    let dice = |index, value| thing((index, "Dice"), ITEMS, &[("red", value)]);
    let machine = Renumbered::gauges(&[dice(10, 1), dice(20, 2)]);
    let mut sources = sources(&machine);
    let mut first = context(&mut sources, "test/Dice/Items#red").unwrap();
    let mut second = context(&mut sources, "test/Dice%2320/Items#red").unwrap();
    let mut both = || {
        cycle(&mut first);
        cycle(&mut second);
        [cycle(&mut first).remove(0), cycle(&mut second).remove(0)]
    };
    assert_eq!(both(), ["1", "2"]);
    machine.show(&[dice(10, 1), dice(30, 2)]);
    assert_eq!(both(), ["1", "2"]);
    machine.show(&[dice(30, 2), thing((10, "Cards"), ITEMS, &[("red", 3)])]);
    assert_eq!(both(), ["object-missing", "2"]);
}

#[test]
fn data_sources_are_found_without_regard_to_case() {
    let machine = Renumbered::gauges(&two(10, 20));
    let mut sources = sources(&machine);
    let names = ["test/custom/items#a", "Test/Custom/Items#A", "TEST/OTHER/ITEMS#a"];
    let names = names.map(|name| name.parse().unwrap());
    let context = MeasurementContext::new(&mut sources, &names).unwrap();
    assert_eq!(shown(context.values().unwrap()), ["42", "42", "666"]);
    let slot = &context.values().unwrap().iter().nth(1).unwrap().slot;
    assert_eq!(slot.name.source(), "test");
    // Case matters where the names differ in nothing else.
    sources.add(CounterSource::new("TEST", machine.clone())).unwrap();
    assert_eq!(sources.get("TEST").unwrap().name(), "TEST");
    assert_eq!(sources.get("test").unwrap().name(), "test");
    assert!(matches!(sources.get("Test"), Err(MeasureError::UnknownSource { .. })));
    sources.add(CounterSource::new("windows.winperf", machine)).unwrap();
    assert_eq!(sources.get("Win32.WinPerf").unwrap().name(), "windows.winperf");
}

/// The path of an instance is written in the same way before and after the instance is gone.
#[test]
fn path_keeps_its_spelling_when_the_instance_is_gone() {
    let things = |instances| [thing((10, "Things"), ITEMS, instances)];
    let machine = Renumbered::gauges(&things(&[("Bash", 1)]));
    let mut query = Query::new(machine.clone()).unwrap();
    let id = query.add(r"\things(BASH)\items").unwrap();
    for instances in [&[("Bash", 1)][..], &[("other", 2)], &[("other", 2)]] {
        machine.show(&things(instances));
        query.collect().unwrap();
        let paths: Vec<String> =
            query.readings_of(id).map(|reading| query.path_of(reading).to_string()).collect();
        assert_eq!(paths, [r"\Things(Bash)\Items"]);
    }
}
