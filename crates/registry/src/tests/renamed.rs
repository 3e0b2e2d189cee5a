//! Names and owners of indexes that change while a reader is at work.

use super::*;

/// An update calls `unlodctr` and `lodctr`: other names for the same indexes, and Last Counter as
/// before.
#[test]
fn names_that_change_places_are_noticed_by_the_time_of_the_registration() {
    let fake = Fake::default();
    let names = |jobs: u32, pages: u32| {
        multi_sz(&[(5000, "Print Shop"), (jobs, "Jobs Waiting"), (pages, "Pages")])
    };
    let say = |list: Vec<u8>, written| {
        fake.with(|world| {
            world.titles.insert(("data".into(), "Counter 009".into()), list);
            world.last.written = Some(written);
        });
    };
    fake.with(|world| {
        world.languages = vec!["009".into()];
        world.user = 0x0409;
        world.last = LastTitles { counter: Some(5004), help: Some(5005), written: None };
        for query in ["5000", "5000 5002", "5000 5004"] {
            world.data.insert(query.into(), object(&[5000, 5002, 5004], 1));
        }
    });
    say(names(5002, 5004), 1);
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    query.add(r"\Print Shop(one)\Jobs Waiting").unwrap();
    let mut value = || {
        query.collect().unwrap();
        query.readings()[0].value.as_ref().unwrap().as_f64()
    };
    assert_eq!([value(), value()], [1.0; 2]);
    fake.with(|world| world.asked.clear());
    say(names(5004, 5002), 2);
    assert_eq!([value(), value()], [2.0; 2], "from the first sample on");
    let asked = fake.with(|world| world.asked.clone());
    let requests = asked.iter().filter(|one| !one.contains("009"));
    assert_eq!(requests.collect::<Vec<_>>(), ["5000"; 3], "its counters were looked at once");
}

#[test]
fn a_failing_provider_is_asked_again_after_indexes_were_allotted_anew() {
    let fake = Fake::default();
    fake.with(|world| {
        world.providers = vec![service("Broken", &[4000], 31), service("Shop", &[5000], SUCCESS)];
        world.last = LastTitles { counter: Some(5002), help: Some(5003), written: Some(1) };
    });
    let mut source = fake.source();
    let generation = source.catalogue(&Ask::everything()).unwrap().generation;
    assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
    fake.with(|world| {
        world.providers[0] = service("Mended", &[4000], SUCCESS);
        world.last.written = Some(2);
    });
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
    let answer = collect(&mut source, ObjectQuery::Global);
    assert_eq!((answer.objects().count(), answer.faults().len()), (2, 0));
    let names: Vec<_> =
        source.providers(&Ask::nothing()).unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["Mended", "Shop"]);
    // The catalogue changes once, not with each sample.
    let generation = source.catalogue(&Ask::nothing()).unwrap().generation;
    collect(&mut source, ObjectQuery::Global);
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
}

#[test]
fn a_new_definition_with_each_sample_gives_right_values_and_loads_titles_seldom() {
    let fake = world();
    fake.with(|world| {
        world.languages = vec!["009".into()];
        world.user = 0x0409;
    });
    let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
    query.add(r"\Process(one)\% Processor Time").unwrap();
    let samples = 100;
    for sample in 0..samples {
        // Other counters before it and behind it.
        let mut names = vec![230];
        names.extend((0..sample % 7).map(|place| 10_000 + 10 * sample + place));
        names.extend([6, 20_000 + sample]);
        fake.with(|world| world.data.insert("230".into(), object(&names, 1)));
        query.collect().unwrap();
        let reading = &query.readings()[0];
        assert_eq!(query.path_of(reading).to_string(), r"\Process(one)\% Processor Time");
        let value = reading.value.as_ref().unwrap().as_f64();
        assert_eq!(value, f64::from(sample % 7 + 1), "in sample {sample}");
    }
    let loaded = fake.with(|world| world.asked.iter().filter(|one| **one == "Help 009").count());
    assert!((2..25).contains(&loaded), "{loaded} times in {samples} samples");
    let asked = fake.with(|world| world.asked.iter().filter(|one| **one == "230").count());
    assert!(asked < 100 + 50, "{asked} requests for {samples} samples");
}
