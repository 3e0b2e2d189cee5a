//! The objects that readers ask for: those that are needed, and no others.

use super::*;
use crate::parts::NO_OBJECT_NAME;

#[test]
fn a_query_names_its_objects_and_an_empty_one_asks_nothing() {
    let fake = world();
    let mut source = fake.source();
    fake.with(|world| world.data.insert("230 232".into(), object(&[230, 6], 2)));
    collect(&mut source, ObjectQuery::Indexes(vec![TitleIndex(230), TitleIndex(232)]));
    assert_eq!(fake.with(|world| std::mem::take(&mut world.asked)), ["230 232"]);
    // To Windows, an empty name means all objects.
    let nothing = collect(&mut source, ObjectQuery::Indexes(Vec::new()));
    assert_eq!(nothing.objects().count(), 0);
    assert!(fake.with(|world| world.asked.is_empty()));
}

/// The queries for data that were made since the last call.
fn requests(fake: &Fake) -> Vec<String> {
    let asked = fake.with(|world| std::mem::take(&mut world.asked));
    let is_request = |name: &String| {
        ["Global", "Costly"].contains(&name.as_str())
            || name.starts_with(|c: char| c.is_ascii_digit())
    };
    asked.into_iter().filter(is_request).collect()
}

#[test]
fn a_reader_of_one_object_asks_for_no_other() {
    let fake = world();
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    assert_eq!(requests(&fake), [NO_OBJECT_NAME], "the name and languages of the machine");
    for path in [r"\Process(*)\% Processor Time", r"\Prozess(one)\Prozessorzeit (%)"] {
        query.add(path).unwrap();
    }
    assert_eq!(requests(&fake), ["230"], "its counters");
    query.collect().unwrap();
    assert_eq!(requests(&fake), ["230"]);
    assert_eq!(query.items(None, "Process").unwrap().counters, ["Prozessorzeit (%)"]);
    assert_eq!(requests(&fake), ["230"]);
    // After a registration, too.
    fake.with(|world| world.last.counter = Some(232));
    query.collect().unwrap();
    assert_eq!(requests(&fake), ["230", "230"]);
    // Nor are others asked for if its name is gone.
    fake.with(|world| {
        world.titles.insert(("data".into(), "Counter 009".into()), multi_sz(&[(6, "Processing")]));
        world.titles.insert(("data".into(), "Counter 007".into()), multi_sz(&[(6, "Prozedur")]));
        world.last.counter = Some(234);
    });
    query.collect().unwrap();
    let asked = requests(&fake);
    assert!(!asked.is_empty() && asked.iter().all(|one| one == "230"), "{asked:?}");
    let fake = world();
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    query.add(r"\Process(*)\% Processor Time").unwrap();
    requests(&fake);
    // A pattern asks for all.
    query.expand(r"\Proc*(*)\*").unwrap();
    assert_eq!(requests(&fake), ["Global", "230"]);
    assert_eq!(query.catalogue(0).unwrap().objects.len(), 1);
}

#[test]
fn an_unknown_name_asks_for_similar_names_only() {
    let fake = world();
    fake.with(|world| world.data.insert("230 6".to_string(), object(&[230, 6], 1)));
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    let error = query.add(r"\Proces(*)\% Processor Time").unwrap_err();
    assert!(error.to_string().contains("\"Prozess\""), "{error}");
    assert_eq!(requests(&fake), [NO_OBJECT_NAME, "230 6"]);
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    for name in ["Xyzzy", "4711"] {
        let error = query.add(&format!(r"\{name}(*)\% Processor Time")).unwrap_err();
        assert!(matches!(error, perfhive_engine::QueryError::UnknownObject { .. }), "{error}");
    }
    query.items(None, "Xyzzy").unwrap_err();
    assert_eq!(requests(&fake), [NO_OBJECT_NAME, "4711"]);
    // A registry that cannot answer is an error, not a missing object.
    fake.with(|world| world.code = Some(5));
    let error = query.add(r"\Process(*)\% Processor Time").unwrap_err();
    assert!(error.to_string().contains("access"), "{error}");
}

#[test]
fn a_measurement_asks_for_its_object_only() {
    use perfhive_engine::Cached;
    use perfhive_engine::measure::{
        CounterSource, DataSource as _, DataSources, MeasurementContext, Readings,
    };
    let fake = world();
    let source = || CounterSource::new("windows.test", Cached::new(fake.source()));
    let mut sources = DataSources::new();
    sources.add(source()).unwrap();
    let names = ["windows.test/Process/%25 Processor Time#*".parse().unwrap()];
    let mut context = MeasurementContext::new(&mut sources, &names).unwrap();
    context.prepare().unwrap();
    context.sample().unwrap();
    let mut readings = Readings::new();
    context.decode(&mut readings).unwrap();
    assert_eq!(readings.iter().count(), 1);
    let asked = requests(&fake);
    assert_eq!(asked[0], NO_OBJECT_NAME);
    assert!(asked[1..].len() >= 3 && asked[1..].iter().all(|one| one == "230"), "{asked:?}");
    // After a registration, too.
    fake.with(|world| {
        world.last.counter = Some(232);
        world.data.insert("230 6".to_string(), object(&[230, 6], 1));
    });
    for _ in 0..2 {
        context.prepare().unwrap();
        context.sample().unwrap();
        context.decode(&mut readings).unwrap();
        assert_eq!(readings.iter().count(), 1);
    }
    let asked = requests(&fake);
    assert!(asked.len() >= 2 && asked.iter().all(|one| one == "230"), "{asked:?}");
    // An unknown name: a similar one is found without asking for all.
    for name in ["windows.test/Proces/%25 Processor Time", "windows.test/Process/Processor Time"] {
        let error = sources.find(&name.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("Process/%25 Processor Time"), "{error}");
    }
    assert!(!requests(&fake).contains(&"Global".to_string()));
    let mut other = source();
    let sensor = CounterSource::<Cached<RegistrySource>>::sensor_id(TitleIndex(230), TitleIndex(6));
    assert_eq!(other.instances(sensor).unwrap(), ["one"]);
    let of = other.sensors_of("PROCESS").unwrap();
    assert_eq!(of.iter().map(|sensor| sensor.id).collect::<Vec<_>>(), [sensor]);
    assert!(!requests(&fake).contains(&"Global".to_string()));
    // Listing all sensors asks for all.
    other.sensors().unwrap();
    assert!(requests(&fake).contains(&"Global".to_string()));
}

#[test]
fn objects_looked_for_before_are_asked_for_together_after_a_registration() {
    let fake = world();
    fake.with(|world| world.data.insert("240".to_string(), object(&[240, 6], 1)));
    let mut source = fake.source();
    let [process, other] = [230, 240].map(TitleIndex);
    for name in [process, other, TitleIndex(9000)] {
        source.catalogue(&Ask::objects(&[name])).unwrap();
    }
    let before = source.catalogue(&Ask::nothing()).unwrap();
    assert_eq!(before.generation, source.catalogue(&Ask::nothing()).unwrap().generation);
    assert_eq!(requests(&fake), ["230", "240", "9000"]);
    fake.with(|world| {
        world.last.counter = Some(5000);
        world.data.insert("230 240 9000".to_string(), object(&[230, 6], 1));
    });
    let after = source.catalogue(&Ask::nothing()).unwrap();
    assert_ne!(after.generation, before.generation);
    assert!(
        after.object(process).is_some() && after.object(other).is_none(),
        "the other one is gone"
    );
    assert_eq!(requests(&fake), ["230 240 9000"]);
}

/// This holds while the catalogue has only the objects that were looked for.
#[test]
fn an_object_that_was_not_looked_for_is_news_only_without_a_name() {
    let fake = world();
    let mut source = fake.source();
    source.catalogue(&Ask::nothing()).unwrap();
    source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    let generation = source.catalogue(&Ask::nothing()).unwrap().generation;
    collect(&mut source, ObjectQuery::one(TitleIndex(230)));
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
    fake.with(|world| world.data.insert("5000".to_string(), object(&[5000, 6], 1)));
    collect(&mut source, ObjectQuery::one(TitleIndex(5000)));
    let later = source.catalogue(&Ask::nothing()).unwrap().generation;
    assert_ne!(later, generation, "the titles lack its name");
    collect(&mut source, ObjectQuery::one(TitleIndex(5000)));
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, later, "once");
    // A new definition of an object that was looked for is news.
    source.catalogue(&Ask::objects(&[TitleIndex(230)])).unwrap();
    let generation = source.catalogue(&Ask::nothing()).unwrap().generation;
    fake.with(|world| world.data.insert("230".to_string(), object(&[230, 6, 6], 2)));
    collect(&mut source, ObjectQuery::one(TitleIndex(230)));
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
}

#[test]
fn each_query_keeps_its_own_buffer_size() {
    let fake = world();
    let names: Vec<u32> = (0..4000).map(|place| 230 + 2 * place).collect();
    fake.with(|world| world.data.insert("230".to_string(), object(&names, 1)));
    let mut source = fake.source();
    let calls = |source: &mut RegistrySource, name| {
        let request = Ask::new(ObjectQuery::one(TitleIndex(name)));
        source.collect(&request, &mut Snapshot::new()).unwrap();
        requests(&fake).len()
    };
    fake.with(|world| world.data.insert("240".to_string(), object(&[240, 6], 1)));
    let length = fake.with(|world| world.data["230"].len());
    assert!((128 << 10..256 << 10).contains(&length), "{length}");
    assert_eq!(calls(&mut source, 230), 3, "64, 128, 256 KiB");
    assert_eq!([230, 240, 230].map(|name| calls(&mut source, name)), [1, 1, 1]);
}

#[test]
fn a_busy_library_is_asked_again_until_it_answers() {
    let fake = world();
    fake.with(|world| world.busy = 3);
    let answer = collect(&mut fake.source(), ObjectQuery::Global);
    assert_eq!(answer.objects().count(), 1);
    assert_eq!(requests(&fake), ["Global"; 4]);
}

#[test]
fn costly_objects_are_listed_and_not_part_of_global() {
    use perfhive_engine::Cost;
    let fake = world();
    fake.with(|world| world.data.insert("Costly".into(), object(&[816, 6], 1)));
    let mut source = fake.source();
    source.catalogue(&Ask::new(ObjectQuery::Costly)).unwrap();
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    let costs: Vec<_> = catalogue.objects.iter().map(|o| (o.name.0, o.cost)).collect();
    assert_eq!(costs, [(230, Cost::Global), (816, Cost::Costly)]);
}

#[test]
fn a_known_object_missing_in_an_answer_is_a_fault_and_an_unknown_one_is_not() {
    let fake = world();
    let mut source = fake.source();
    source.catalogue(&Ask::everything()).unwrap();
    fake.with(|world| {
        let other = object(&[240, 6], 2);
        world.data.insert("230".into(), other.clone());
        world.data.insert("9999".into(), other);
    });
    let answer = collect(&mut source, ObjectQuery::one(TitleIndex(230)));
    let faults: Vec<_> = answer.faults().iter().map(|fault| fault.object).collect();
    assert_eq!(faults, [Some(TitleIndex(230))]);
    assert!(answer.faults()[0].message.contains("Perflib"));
    assert!(collect(&mut source, ObjectQuery::one(TitleIndex(9999))).faults().is_empty());
}

#[test]
fn costly_objects_are_collected_for_asks_for_them_only() {
    let fake = world();
    fake.with(|world| world.data.insert("Costly".into(), object(&[816, 6], 1)));
    let mut source = fake.source();
    let before = source.catalogue(&Ask::everything()).unwrap();
    assert!(before.object(TitleIndex(816)).is_none());
    assert!(!fake.with(|world| world.asked.contains(&"Costly".to_string())));
    source.catalogue(&Ask::new(ObjectQuery::Costly)).unwrap();
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, before.generation);
    let after = source.catalogue(&Ask::everything()).unwrap();
    assert!(after.object(TitleIndex(816)).is_some());
    source.catalogue(&Ask::new(ObjectQuery::Costly)).unwrap();
    assert_eq!(
        source.catalogue(&Ask::nothing()).unwrap().generation,
        after.generation,
        "nothing is new"
    );
    // A path finds a costly object by its index, and keeps it after a registration.
    fake.with(|world| world.data.insert("816".into(), object(&[816, 6], 1)));
    for all_first in [false, true] {
        let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
        if all_first {
            query.expand(r"\*(*)\*").unwrap();
        }
        requests(&fake);
        let id = query.add(r"\816(*)\% Processor Time").unwrap();
        assert!(query.add(r"\817(*)\% Processor Time").is_err());
        assert!(!requests(&fake).contains(&"Costly".to_string()));
        fake.with(|world| world.last.help = Some(world.last.help.unwrap() + 2));
        query.collect().unwrap();
        query.collect().unwrap();
        assert_eq!(query.readings().iter().filter(|reading| reading.path == id).count(), 1);
        assert!(query.readings().iter().all(|reading| reading.value.is_ok()));
    }
}

#[test]
fn a_costly_object_is_found_by_index_behind_a_cache_with_the_global_catalogue() {
    use perfhive_engine::Cached;
    use perfhive_engine::measure::{CounterSource, DataSource as _};
    let fake = world();
    fake.with(|world| world.data.insert("816".into(), object(&[816, 6], 1)));
    let mut cache = Cached::new(fake.source());
    assert!(cache.catalogue(&Ask::everything()).unwrap().object(TitleIndex(816)).is_none());
    let mut query = perfhive_engine::Query::new(cache).unwrap();
    query.add(r"\816(*)\% Processor Time").unwrap();
    query.collect().unwrap();
    assert!(query.readings()[0].value.is_ok());
    // A registry that cannot answer by then is an error.
    fake.with(|world| world.code = Some(5));
    let error = query.add(r"\817(*)\% Processor Time").unwrap_err();
    assert!(error.to_string().contains("access"), "{error}");
    fake.with(|world| world.code = None);
    let mut sensors = CounterSource::new("windows.test", Cached::new(fake.source()));
    let all = sensors.sensors().unwrap().len();
    assert_eq!(sensors.sensors_of("816").unwrap().len(), all + 1);
    assert_eq!(sensors.sensors().unwrap().len(), all + 1);
}

/// The cost of other programs' objects is known only once all objects were collected.
#[test]
fn the_cost_of_an_object_that_was_looked_for_is_unknown_until_all_are_listed() {
    use perfhive_engine::Cost;
    let fake = world();
    fake.with(|world| {
        world.data.insert("230 816 5000 6000".into(), objects(&[230, 816, 5000, 6000]));
        world.data.insert("Global".into(), objects(&[230, 6000]));
        world.data.insert("Costly".into(), objects(&[816, 5000]));
    });
    let wanted = [230, 816, 5000, 6000].map(TitleIndex);
    let mut source = fake.source();
    let costs = |catalogue: &perfhive_engine::Catalogue| {
        wanted.map(|name| catalogue.object(name).map(|object| object.cost))
    };
    let catalogue = source.catalogue(&Ask::objects(&wanted)).unwrap();
    let [global, costly, unknown] = [Cost::Global, Cost::Costly, Cost::Unknown].map(Some);
    assert_eq!(costs(&catalogue), [global, costly, unknown, unknown]);
    fake.with(|world| world.data.insert("816 5000".into(), objects(&[816, 5000])));
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(costs(&catalogue), [global, costly, unknown, global], "the costly one is kept");
    source.catalogue(&Ask::new(ObjectQuery::Costly)).unwrap();
    let listed = source.catalogue(&Ask::nothing()).unwrap();
    assert_eq!(costs(&listed), [global, costly, costly, global]);
    assert_ne!(listed.generation, catalogue.generation);
    assert_eq!(listed.generation, source.catalogue(&Ask::nothing()).unwrap().generation);
}

/// A provider may add an object after all were listed, without a new registration.
#[test]
fn an_object_that_was_looked_for_is_measured_with_all() {
    use perfhive_engine::Cached;
    use perfhive_engine::measure::{CounterSource, DataSource as _, SensorSelection};
    let fake = world();
    let begins = |name: u32| {
        fake.with(|world| world.data.insert(name.to_string(), objects(&[name])));
    };
    fake.with(|world| {
        world.data.insert("Costly".into(), objects(&[816]));
        world.data.insert("816".into(), objects(&[816]));
        world.data.insert("816 6000".into(), objects(&[816, 6000]));
        world.data.insert("230 5000".into(), objects(&[230, 5000]));
        world.data.insert("5000 6000".into(), objects(&[5000, 6000]));
    });
    let mut sensors = CounterSource::new("windows.test", Cached::new(fake.source()));
    let measured = |sensors: &mut CounterSource<_>, selection| {
        let mut readings = Vec::new();
        sensors.probe(&selection, Duration::ZERO).unwrap().baseline(&mut readings);
        let groups = readings.iter().map(|one| one.slot.name.group().to_string());
        groups.collect::<Vec<_>>()
    };
    assert_eq!(measured(&mut sensors, SensorSelection::Global), ["Process"]);
    // By now one of them is part of Global; the other is found by asking for it.
    fake.with(|world| world.data.insert("Global".into(), objects(&[230, 5000])));
    for name in [5000, 6000] {
        begins(name);
        let all = sensors.sensors_of(&name.to_string()).unwrap();
        assert!(all.iter().any(|sensor| sensor.name.group() == name.to_string()), "{name}");
    }
    assert_eq!(measured(&mut sensors, SensorSelection::Global), ["Process", "5000"]);
    assert_eq!(measured(&mut sensors, SensorSelection::Costly), ["6000", "816"]);
    // All are listed once more for that, and not each time.
    requests(&fake);
    sensors.sensors().unwrap();
    assert_eq!(measured(&mut sensors, SensorSelection::Global), ["Process", "5000"]);
    assert!(!requests(&fake).contains(&"Global".to_string()));
}

#[test]
fn a_provider_without_the_objects_asked_for_is_idle_with_the_possible_reasons() {
    let fake = world();
    fake.with(|world| {
        world.providers = vec![
            service("Dead", &[4000, 4010], SUCCESS),
            service("Alive", &[5000], SUCCESS),
            service("Other", &[6000], SUCCESS),
        ];
        // Dead has no objects, as a library that cannot be opened.
        for query in ["4000", "4010"] {
            world.data.insert(query.into(), objects(&[]));
        }
    });
    let mut source = fake.source();
    let mut after = |name: u32| {
        source.catalogue(&Ask::objects(&[TitleIndex(name)])).unwrap();
        let providers = source.providers(&Ask::nothing()).unwrap();
        let said = |one: &perfhive_engine::ProviderStatus| {
            one.last_fault.as_ref().map(|fault| fault.message.to_string())
        };
        let states: Vec<_> = providers.iter().map(|one| one.state).collect();
        (states, said(&providers[0]).unwrap_or_default())
    };
    use ProviderState::{Idle, Open};
    assert_eq!(after(5000), (vec![Idle, Open, Idle], String::new()));
    let (states, why) = after(4000);
    assert_eq!(states, [Idle, Open, Idle]);
    assert!(why.contains("none of the objects it was asked for"), "{why}");
    assert!(after(4010).1.contains("gives no object"));
    assert!(!requests(&fake).contains(&"Global".to_string()));
}

#[test]
fn an_object_wanted_twice_is_asked_for_once() {
    let fake = world();
    let mut source = fake.source();
    let twice = [TitleIndex(230); 2];
    assert_eq!(source.catalogue(&Ask::objects(&twice)).unwrap().objects.len(), 1);
    assert_eq!(requests(&fake), ["230"]);
    // Also after many others and a registration.
    let many: Vec<TitleIndex> = (0..1500).map(|place| TitleIndex(10_000 + 2 * place)).collect();
    source.catalogue(&Ask::objects(&many[..1000])).unwrap();
    fake.with(|world| world.last.counter = Some(5000));
    let more: Vec<TitleIndex> = many[1000..].iter().copied().chain(twice).collect();
    requests(&fake);
    source.catalogue(&Ask::objects(&more)).unwrap();
    let asked = requests(&fake);
    assert!(asked.iter().any(|one| one.split(' ').any(|index| index == "230")), "{asked:?}");
}

#[test]
fn a_failing_object_that_was_looked_for_fails_no_other_catalogue() {
    let fake = world();
    fake.with(|world| {
        world.providers = vec![service("Broken", &[4000], 31), service("Other", &[5000], SUCCESS)];
    });
    let mut source = fake.source();
    let broken = [TitleIndex(4000)];
    assert!(source.catalogue(&Ask::objects(&broken)).is_err());
    assert!(source.catalogue(&Ask::nothing()).is_ok());
    for counter in [5000, 5002] {
        fake.with(|world| world.last.counter = Some(counter));
        assert_eq!(source.catalogue(&Ask::nothing()).unwrap().machine, "BOX");
    }
    fake.with(|world| world.last.counter = Some(5004));
    let other = source.catalogue(&Ask::objects(&[TitleIndex(5000)])).unwrap();
    assert_eq!(other.objects.len(), 1);
    assert!(source.catalogue(&Ask::objects(&broken)).is_err());
    // Nor does it change the catalogue each time.
    requests(&fake);
    for _ in 0..3 {
        let both = [TitleIndex(5000), TitleIndex(4000)];
        assert_eq!(source.catalogue(&Ask::objects(&both)).unwrap(), other);
        // The sound one is not asked for again.
        let asked = requests(&fake);
        assert!(asked.iter().all(|one| !one.contains("5000")), "{asked:?}");
    }
}

/// A reply with these objects, each with one counter.
fn objects(names: &[u32]) -> Vec<u8> {
    let specs = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let rows: &[_] = &[("one", None, &[7u64][..])];
    let all: Vec<_> = names.iter().map(|name| (TitleIndex(*name), &specs[..], rows)).collect();
    block("BOX", 1, &all)
}
