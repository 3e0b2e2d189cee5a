//! Providers that hang, and the objects of the others.

use super::*;
use crate::fallback::Fallback;
use perfhive_engine::Worker;
use std::time::{Duration, Instant};

/// A machine with three providers, whose calls have a timeout.
fn machine() -> (Fake, RegistrySource) {
    let fake = Fake::default();
    fake.with(|world| {
        world.providers = vec![
            service("PerfProc", &[230, 232], SUCCESS),
            service("Stuck", &[4000, 4010], SUCCESS),
            service("Shop", &[5000], SUCCESS),
        ];
        world.changed = [("PerfProc", 1), ("Stuck", 1), ("Shop", 1)]
            .map(|(name, time)| (name.to_string(), time))
            .into();
        world.last.counter = Some(5000);
    });
    let other = fake.at(None);
    let make = Box::new(move || -> Box<dyn PerfRegistry> { Box::new(other.at(None)) });
    let source =
        RegistrySource::with_timeouts("test:", Timeouts::all(Duration::from_secs(2)), make);
    (fake, source)
}

#[test]
fn a_hanging_provider_is_left_out_until_it_returns() {
    let (fake, mut source) = machine();
    let before = names(&mut source);
    assert_eq!(before, [230, 232, 4000, 4010, 5000]);
    let generation = source.catalogue(&Ask::nothing()).unwrap().generation;
    fake.2.close(&[4000]);
    let answer = collect(&mut source, ObjectQuery::Global);
    let [fault] = answer.faults() else { panic!("{:?}", answer.faults()) };
    assert_eq!((&*fault.provider, fault.object), ("Stuck", Some(TitleIndex(4000))));
    for words in [r"C:\Stuck.dll", "does not come back", "perfhive check Stuck"] {
        assert!(fault.message.contains(words), "{words}: {fault}");
    }
    // Its objects are known, and stay in the catalogue.
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
    assert_eq!(names(&mut source), before);
    // Neither Stuck nor Global is asked for, and no ask waits.
    fake.with(|world| world.asked.clear());
    for _ in 0..3 {
        let answer = collect(&mut source, ObjectQuery::Global);
        assert_eq!((answer.objects().count(), answer.faults().len()), (3, 1));
    }
    let both = ObjectQuery::Indexes(vec![TitleIndex(4010), TitleIndex(5000)]);
    let answer = collect(&mut source, both);
    assert_eq!(answer.objects().count(), 1);
    assert_eq!(answer.faults()[0].object, Some(TitleIndex(4010)));
    let alone = Ask::new(ObjectQuery::one(TitleIndex(4000)));
    let error = source.collect(&alone, &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Deadline);
    assert!(error.message().contains(r"Stuck: C:\Stuck.dll fails"), "{error}");
    let asked = fake.with(|world| world.asked.clone());
    let is_one_of =
        |query: &str| query.split(' ').any(|one| ["Global", "4000", "4010"].contains(&one));
    assert!(!asked.iter().any(|query| is_one_of(query)), "{asked:?}");
    let error = source.catalogue(&Ask::new(ObjectQuery::Costly)).unwrap_err();
    assert!(error.message().starts_with(r"Stuck: C:\Stuck.dll"), "{error}");
    let states: Vec<_> =
        source.providers(&Ask::nothing()).unwrap().into_iter().map(|one| one.state).collect();
    assert_eq!(states, [ProviderState::Open, ProviderState::Failed, ProviderState::Open]);

    fake.2.close(&[]);
    assert!(comes_true(|| {
        let answer = collect(&mut source, ObjectQuery::Global);
        answer.objects().count() == 5 && answer.faults().is_empty()
    }));
    assert_eq!(names(&mut source), before);
}

#[test]
fn asks_for_other_objects_never_wait_for_the_hanging_provider() {
    let (fake, mut source) = machine();
    fake.2.close(&[4000]);
    assert_eq!(collect(&mut source, ObjectQuery::one(TitleIndex(5000))).objects().count(), 1);
    // Nor do catalogues of other objects.
    let wanted = [TitleIndex(5000), TitleIndex(230)];
    let catalogue = source.catalogue(&Ask::objects(&wanted)).unwrap();
    assert!(wanted.iter().all(|name| catalogue.object(*name).is_some()));
    assert_eq!(fake.with(|world| world.asked.iter().filter(|name| *name == "Global").count()), 0);
    assert_eq!(source.catalogue(&Ask::nothing()).unwrap().generation, catalogue.generation);
    // An ask for everything finds Stuck.
    assert_eq!(names(&mut source), [230, 232, 5000]);
    fake.2.close(&[]);
}

#[test]
fn readers_of_other_objects_go_on_while_a_provider_hangs() {
    use perfhive_engine::measure::{CounterSource, DataSources};
    use perfhive_engine::{Cached, Query};
    let (fake, source) = machine();
    fake.with(|world| {
        let english = multi_sz(&[(4000, "Stuck"), (5000, "Shop"), (5002, "Pages")]);
        world.titles.insert(("data".into(), "Counter 009".into()), english);
        world.languages = vec!["009".to_string()];
        world.user = 0x0409;
    });
    let shared = Cached::new(source);
    let mut query = Query::new(shared.clone()).unwrap();
    let id = query.add(r"\Shop(*)\Pages").unwrap();
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("windows.test", shared.clone())).unwrap();
    let sensor = "windows.test/Shop/Pages#*".parse().unwrap();
    sources.find(&sensor).unwrap();
    fake.2.close(&[4000]);
    let mut other = shared.clone();
    assert_eq!(names(&mut other), [230, 232, 5000], "Stuck hangs");
    for _ in 0..2 {
        query.collect().unwrap();
        let values = query.readings().iter().filter(|one| one.path == id && one.value.is_ok());
        assert_eq!(values.count(), 1);
        sources.find(&sensor).unwrap();
    }
    fake.2.close(&[]);
}

#[test]
fn if_all_providers_hang_the_error_names_them_until_they_return() {
    let (fake, mut source) = machine();
    // Every query hangs, as with a library without an `Object List`.
    fake.2.close(&[230, 4000, 5000, 2_147_483_632]);
    let error = source.catalogue(&Ask::everything()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Deadline, "{error}");
    for words in [r"Stuck (C:\Stuck.dll)", "perfhive check NAME"] {
        assert!(error.message().contains(words), "{words}: {error}");
    }
    fake.2.close(&[]);
    assert!(comes_true(|| source
        .catalogue(&Ask::everything())
        .is_ok_and(|all| all.objects.len() == 5)));
}

#[test]
fn an_unregistered_hanging_provider_is_not_waited_for() {
    let (fake, mut source) = machine();
    fake.2.close(&[4000]);
    assert_eq!(names(&mut source), [230, 232, 5000]);
    assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
    fake.with(|world| {
        world.providers.remove(1);
        world.changed.remove("Stuck");
    });
    assert!(comes_true(|| collect(&mut source, ObjectQuery::Global).faults().is_empty()));
    assert!(fake.2.is_closed(), "its call still hangs");
    fake.2.close(&[]);
}

/// Long before the whole would be tried again.
#[test]
fn a_failing_provider_is_asked_again_once_its_registration_changes() {
    let (fake, _) = machine();
    fake.with(|world| world.providers[1].1 = 31);
    let mut source = fake.source();
    assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
    let generation = source.catalogue(&Ask::nothing()).unwrap().generation;
    fake.with(|world| {
        world.providers[1].1 = SUCCESS;
        world.changed.insert("Stuck".to_string(), 2);
    });
    assert!(comes_true(|| collect(&mut source, ObjectQuery::Global).faults().is_empty()));
    assert_ne!(source.catalogue(&Ask::nothing()).unwrap().generation, generation);
    assert_eq!(names(&mut source), [230, 232, 4000, 4010, 5000]);
    // The same after every query failed.
    fake.with(|world| world.code = Some(31));
    let mut source = fake.source();
    source.catalogue(&Ask::everything()).unwrap_err();
    source.catalogue(&Ask::nothing()).unwrap_err();
    fake.with(|world| {
        world.code = None;
        world.changed.remove("Shop");
    });
    assert!(comes_true(|| source.catalogue(&Ask::nothing()).is_ok()));
}

/// All three mechanisms together: the timeouts, the native functions and the deadline of the reader.
#[test]
fn while_every_call_hangs_native_objects_are_read_and_no_further_call_is_made() {
    let (fake, source) = machine();
    let source = Fallback::new(source, crate::fallback::tests::native());
    let mut source = Worker::new(source, None).unwrap();
    fake.2.close(&[230, 4000, 5000, 2_147_483_632]);
    let ask = || Ask::new(ObjectQuery::one(TitleIndex(230)));
    let error = source.collect(&ask().until(Instant::now()), &mut Snapshot::new()).unwrap_err();
    assert!(error.is_transient(), "{error}");
    let mut snapshot = Snapshot::new();
    assert!(comes_true(|| source.collect(&ask(), &mut snapshot).is_ok()));
    assert!(snapshot.object(TitleIndex(230)).is_some(), "{:?}", snapshot.faults());
    let calls = || fake.with(|world| world.asked.len());
    let before = calls();
    for _ in 0..5 {
        source.collect(&ask(), &mut snapshot).unwrap();
        let error = source.collect(&Ask::objects(&[TitleIndex(5000)]), &mut snapshot).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Deadline, "{error}");
    }
    assert_eq!(calls(), before);
    // Objects that the native functions do not have are back once the calls have returned.
    fake.2.close(&[]);
    assert!(comes_true(|| source
        .collect(&Ask::objects(&[TitleIndex(5000)]), &mut snapshot)
        .is_ok()));
}

#[test]
fn the_first_query_for_all_has_a_longer_timeout_and_the_next_has_not() {
    let (fake, _) = machine();
    let other = fake.at(None);
    let make = Box::new(move || -> Box<dyn PerfRegistry> { Box::new(other.at(None)) });
    let call = Duration::from_millis(200);
    let timeouts = Timeouts { call, first_of_all: Duration::from_secs(60) };
    let mut source = RegistrySource::with_timeouts("test:", timeouts, make);
    fake.2.close(&[4000]);
    let opened = {
        let gate = fake.at(None);
        std::thread::spawn(move || {
            std::thread::sleep(5 * call);
            gate.2.close(&[]);
        })
    };
    assert!(collect(&mut source, ObjectQuery::Global).faults().is_empty(), "late, and waited for");
    opened.join().unwrap();
    fake.2.close(&[4000]);
    assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
    fake.2.close(&[]);
}
