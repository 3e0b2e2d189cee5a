//! Title indexes that go to other objects and counters while a query or a sensor reads.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::*;
use perfhive_engine::*;
use perfhive_testkit::renumbered::*;
use std::time::Duration;

const ITEMS: (u32, &str) = (12, "Items");

fn query(source: impl Source + 'static, path: &str) -> Query {
    let mut query = Query::new(source).unwrap();
    query.add(path).unwrap();
    query
}

/// The source through a cache that keeps no data.
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

fn measure(context: &mut MeasurementContext) -> Result<String, MeasureError> {
    let mut readings = Readings::new();
    context.prepare()?;
    context.sample()?;
    context.decode(&mut readings)?;
    Ok(readings.iter().map(|reading| show(&reading.value)).collect())
}

fn context(source: impl Source + Clone + 'static, name: &str) -> MeasurementContext {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test", source)).unwrap();
    MeasurementContext::new(&mut sources, &[name.parse().unwrap()]).unwrap()
}

fn sensor_reader(source: impl Source + Clone + 'static, name: &str) -> ItemsReader {
    let mut context = context(source, name);
    Box::new(move || measure(&mut context).unwrap_or_else(|error| error.to_string()))
}

fn path_reader(source: impl Source + 'static) -> ItemsReader {
    let mut query = query(source, r"\Custom(a)\Items");
    Box::new(move || collect(&mut query).remove(0))
}

#[test]
fn a_path_follows_the_names_of_its_object_and_counter() {
    reader_follows_names(DuringSample::Repeats, |source| path_reader(source));
    reader_follows_names(DuringSample::Repeats, |source| path_reader(cached(&source)));
}

#[test]
fn a_sensor_follows_the_names_of_its_object_and_counter() {
    reader_follows_names(DuringSample::Skips, |source| {
        sensor_reader(source, "test/Custom/Items#a")
    });
}

#[test]
fn a_change_of_indexes_is_one_anomaly_of_the_sensor_s_group() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut context = context(source.clone(), "test/Custom/Items#*");
    let mut anomalies = || {
        assert_eq!(measure(&mut context).unwrap(), "42");
        let record = context.record().unwrap();
        record.anomalies.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for things in [two(20, 10), two(10, 30), two(40, 10)] {
        source.show(&things);
        assert_eq!(anomalies(), ["test/Custom: other counters than before, resolved anew"]);
        assert!(anomalies().is_empty());
    }
}

/// A cache shows a change with the collection after it.
#[test]
fn a_sensor_through_a_cache_has_no_value_of_another_object() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut read = sensor_reader(cached(&source), "test/Custom/Items#a");
    for things in [two(20, 10), two(10, 20), two(30, 10)] {
        source.show(&things);
        assert_ne!(read(), "666", "{things:?}");
        assert_eq!(read(), "42", "{things:?}");
    }
}

#[test]
fn a_sensor_keeps_to_its_object_of_two_of_one_name() {
    let names = ["test/Dice/Items#a", "test/Dice%2320/Items#a"];
    reader_keeps_to_its_namesake(|source| names.map(|name| sensor_reader(source.clone(), name)));
}

#[test]
fn the_reason_for_a_lost_object_says_that_its_index_belongs_to_another() {
    for gone in gone() {
        let source = Renumbered::gauges(&two(10, 20));
        let mut query = query(source.clone(), r"\Custom(a)\Items");
        collect(&mut query);
        source.show(&gone);
        collect(&mut query);
        assert_eq!(query.path_of(&query.readings()[0]).to_string(), r"\Custom(a)\Items");
        let why = query.readings()[0].value.as_ref().unwrap_err().to_string();
        assert!(why.contains("belongs to another object"), "{why}");
    }
}

#[test]
fn readings_of_a_lost_object_keep_its_names() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = Query::new(source.clone()).unwrap();
    for path in [r"\Custom(a)\Items", r"\C*(a)\*"] {
        query.add(path).unwrap();
    }
    assert_eq!(collect(&mut query), ["42", "42"]);
    // The indexes are free, then another object's, then free again.
    let other = [thing((10, "Other"), (14, "Things"), &[("a", 1)])];
    let none = [thing((20, "Other"), (14, "Things"), &[("a", 1)])];
    for things in [&none, &other, &none] {
        source.show(things);
        assert_eq!(collect(&mut query), ["object-missing"; 2], "{things:?}");
        for reading in query.readings() {
            assert_eq!(query.names_of(reading), ("Custom".to_string(), "Items".to_string()));
            assert_eq!(query.english_names_of(reading), query.names_of(reading));
            assert_eq!(query.path_of(reading).to_string(), r"\Custom(a)\Items", "{things:?}");
        }
    }
    source.show(&[thing((10, "Custom"), (12, "Pieces"), &[("a", 7)])]);
    assert_eq!(collect(&mut query), ["counter-missing", "7"]);
    assert_eq!(query.english_path_of(&query.readings()[0]).to_string(), r"\Custom(a)\Items");
    let names: Vec<String> = query.readings().iter().map(|one| query.names_of(one).1).collect();
    assert_eq!(names, ["Items", "Pieces"], "each is what its path means");
}

#[test]
fn a_path_by_number_makes_no_rate_of_two_objects() {
    let source = Renumbered::rates(&two(10, 20));
    let mut query = query(source.clone(), r"\10(a)\12");
    let mut values = || (0..3).flat_map(|_| collect(&mut query)).collect::<Vec<_>>();
    assert_eq!(values(), ["needs-two-samples", "1", "1"]);
    source.show(&two(20, 10));
    assert_eq!(values(), ["needs-two-samples", "1", "1"]);
}

#[test]
fn new_objects_with_every_collection_leave_the_others_their_values() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = query(source.clone(), r"\Custom(a)\Items");
    query.add(r"\*(a)\Items").unwrap();
    assert_eq!(collect(&mut query), ["42", "42", "666"]);
    let more = |count: u32| {
        let more = (0..count).map(|n| thing((30 + n, "More"), ITEMS, &[("a", 7)]));
        two(10, 20).into_iter().chain(more).collect::<Vec<_>>()
    };
    let lists: Vec<Vec<Thing>> = (1..9).map(more).collect();
    let lists: Vec<&[Thing]> = lists.iter().map(Vec::as_slice).collect();
    source.show_while_collecting(&lists);
    let values = collect(&mut query);
    assert_eq!(values[..3], ["42", "42", "666"]);
}

#[test]
fn paths_expand_by_the_present_catalogue() {
    let source = Renumbered::gauges(&two(10, 20));
    let mut query = query(source.clone(), r"\Custom(a)\Items");
    let expand = |query: &mut Query| -> Vec<String> {
        query.expand(r"\*(*)\*").unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!(expand(&mut query), [r"\Custom(a)\Items", r"\Other(a)\Items"]);
    let fresh = thing((10, "Fresh"), (14, "Pieces"), &[("b", 1)]);
    source.show(&[fresh, thing((30, "Custom"), ITEMS, &[("c", 2)])]);
    assert_eq!(expand(&mut query), [r"\Fresh(b)\Pieces", r"\Custom(c)\Items"]);
    // The index 30 is another object's now, and 10 is free.
    let other = thing((30, "Other"), (14, "Pieces"), &[("z", 1)]);
    source.show(&[other, thing((20, "Custom"), ITEMS, &[("d", 2)])]);
    let paths = query.expand(r"\Custom(*)\Items").unwrap();
    assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), [r"\Custom(d)\Items"]);
    // A change that was met in expanding is still one for the paths of the query.
    source.show(&two(20, 10));
    assert_eq!(expand(&mut query), [r"\Custom(a)\Items", r"\Other(a)\Items"]);
    assert_eq!(collect(&mut query), ["42"]);
}
