//! Providers that come, go and change while a broker is at work.
#![allow(clippy::unwrap_used)]

use perfhive_engine::*;
use perfhive_format::titles::TitleList;
use perfhive_format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate, TitleIndex};
use perfhive_testkit::script::{ScriptProvider, titles};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn sound(name: &str, object: u32, value: u64) -> Arc<dyn Provider> {
    let names = [(object, name), (object + 2, "Value")];
    let template = ObjectTemplate::new(
        &ObjectSpec::new(TitleIndex(object)),
        &[CounterSpec::new(TitleIndex(object + 2), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
    )
    .unwrap();
    Arc::new(ScriptProvider::new(name, Numbering::Windows, &names, move |_, out| {
        out.object(&template)?.values(&[value])?.finish()?;
        Ok(())
    }))
}

/// The providers that the test set; `None` once the broker has read them.
type Told = Arc<Mutex<Option<Vec<Arc<dyn Provider>>>>>;

struct Scripted(Told);

impl Roster for Scripted {
    fn changed(&mut self, _: &Ask) -> Option<Vec<Arc<dyn Provider>>> {
        self.0.lock().unwrap().take()
    }
}

fn broker() -> (Broker, Told) {
    let told = Told::default();
    let broker = Broker::builder("test:", "HOST")
        .provider(sound("Fixed", 100, 1))
        .roster(Scripted(Arc::clone(&told)))
        .build();
    (broker, told)
}

/// The objects of an answer, each with its value.
fn values(broker: &mut Broker, query: &str) -> Vec<(u32, u64)> {
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::new(query.parse().unwrap()), &mut snapshot).unwrap();
    let value = |object: SnapshotObject<'_>| {
        let view = object.view();
        let counter = view.counters().next().unwrap();
        view.counter_block().unwrap().value(&counter).unwrap()
    };
    snapshot.objects().map(|o| (o.view().name_index().0, value(o))).collect()
}

#[test]
fn added_changed_and_removed_providers_show_in_the_next_answer() {
    let (mut broker, told) = broker();
    assert_eq!(values(&mut broker, "Global"), [(100, 1)]);
    let before = broker.catalogue(&Ask::nothing()).unwrap().generation;

    let kept = sound("Kept", 200, 2);
    *told.lock().unwrap() = Some(vec![Arc::clone(&kept), sound("Old", 300, 3)]);
    assert_ne!(broker.catalogue(&Ask::nothing()).unwrap().generation, before, "readers notice");
    assert_eq!(values(&mut broker, "Global"), [(100, 1), (200, 2), (300, 3)]);
    let english = perfhive_format::LanguageId::ENGLISH;
    assert_eq!(broker.titles(english, &Ask::nothing()).unwrap().name(TitleIndex(300)), Some("Old"));

    // The unchanged provider keeps its account.
    *told.lock().unwrap() = Some(vec![kept, sound("New", 300, 4)]);
    assert_eq!(values(&mut broker, "Global"), [(100, 1), (200, 2), (300, 4)]);
    assert_eq!(broker.titles(english, &Ask::nothing()).unwrap().name(TitleIndex(300)), Some("New"));
    let status = broker.providers().find(|status| status.name == "Kept").unwrap();
    assert_eq!(status.collections, 2);

    *told.lock().unwrap() = Some(Vec::new());
    assert_eq!(values(&mut broker, "Global"), [(100, 1)]);
    assert_eq!(broker.catalogue(&Ask::everything()).unwrap().objects.len(), 1);
    assert_eq!(broker.providers().count(), 1);
}

#[test]
fn an_unchanged_roster_keeps_the_generation() {
    let (mut broker, told) = broker();
    let kept = sound("Kept", 200, 2);
    *told.lock().unwrap() = Some(vec![Arc::clone(&kept)]);
    let generation = broker.catalogue(&Ask::nothing()).unwrap().generation;
    // The same list again: readers need not resolve their paths anew.
    *told.lock().unwrap() = Some(vec![kept]);
    assert_eq!(broker.catalogue(&Ask::nothing()).unwrap().generation, generation);
}

#[test]
fn the_second_provider_of_an_object_serves_it_after_its_owner_left() {
    let (mut broker, told) = broker();
    let second = sound("Second", 200, 2);
    *told.lock().unwrap() = Some(vec![sound("First", 200, 1), Arc::clone(&second)]);
    assert_eq!(values(&mut broker, "200"), [(200, 1)]);
    *told.lock().unwrap() = Some(vec![second]);
    assert_eq!(values(&mut broker, "200"), [(200, 2)]);
}

#[test]
fn a_provider_with_a_name_in_use_is_refused() {
    let (mut broker, told) = broker();
    *told.lock().unwrap() = Some(vec![sound("Fixed", 200, 2)]);
    assert_eq!(values(&mut broker, "Global"), [(100, 1)]);
    let status = broker.providers().nth(1).unwrap();
    assert!(status.last_fault.as_ref().unwrap().message.contains("called Fixed"));
    // Its removal leaves the objects of the first provider.
    *told.lock().unwrap() = Some(Vec::new());
    assert_eq!(values(&mut broker, "Global"), [(100, 1)]);
}

/// A path means a name. A provider that gets the index of a removed one does not serve its paths, and no
/// value is made of samples of both.
#[test]
fn a_reused_index_makes_no_value_of_two_objects() {
    let rate = |name: &str, value: u64| -> Arc<dyn Provider> {
        let names = [(300, name), (302, "Rate")];
        let template = ObjectTemplate::new(
            &ObjectSpec::new(TitleIndex(300)),
            &[CounterSpec::new(TitleIndex(302), CounterType::PERF_COUNTER_BULK_COUNT)],
        )
        .unwrap();
        Arc::new(ScriptProvider::new(name, Numbering::Windows, &names, move |_, out| {
            out.object(&template)?.values(&[value])?.finish()?;
            Ok(())
        }))
    };
    let (broker, told) = broker();
    let tell = |provider| *told.lock().unwrap() = Some(vec![provider]);
    tell(rate("Old", 1000));
    let mut query = Query::new(broker).unwrap();
    query.add(r"\Old\Rate").unwrap();
    query.add(r"\300\302").unwrap();
    query.add(r"\*\Rate").unwrap();
    let readings = |query: &Query| -> Vec<(String, &'static str)> {
        let path = |one: &Reading| query.path_of(one).to_string();
        let status = |one: &Reading| one.value.as_ref().map_or_else(NoValue::code, |_| "ok");
        let one = |one: &Reading| (path(one), status(one));
        query.readings().iter().map(one).collect()
    };
    query.collect().unwrap();
    query.collect().unwrap();
    let old = (r"\Old\Rate".to_string(), "ok");
    assert_eq!(readings(&query), [old.clone(), old.clone(), old.clone()]);

    tell(rate("New", 5000));
    query.collect().unwrap();
    let gone = (r"\Old\Rate".to_string(), "object-missing");
    let first = (r"\New\Rate".to_string(), "needs-two-samples");
    assert_eq!(readings(&query), [gone.clone(), first.clone(), first]);
    query.collect().unwrap();
    let new = (r"\New\Rate".to_string(), "ok");
    assert_eq!(readings(&query), [gone, new.clone(), new]);

    // Back again, under the same index.
    tell(rate("Old", 1000));
    query.collect().unwrap();
    query.collect().unwrap();
    assert_eq!(readings(&query), [old.clone(), old.clone(), old]);
}

/// Any user may publish under any name. Such an object replaces no object of the machine, and does not
/// stand beside it.
#[test]
fn a_roster_s_object_named_like_the_machine_s_is_not_served() {
    let (mut broker, told) = broker();
    let free = CHOSEN_INDEXES;
    let named = |provider: &str, object: &str, index: u32| -> Arc<dyn Provider> {
        let template = ObjectTemplate::new(
            &ObjectSpec::new(TitleIndex(index)),
            &[CounterSpec::new(TitleIndex(index + 2), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)],
        )
        .unwrap();
        let names = [(index, object), (index + 2, "Value")];
        Arc::new(ScriptProvider::new(provider, Numbering::Windows, &names, move |_, out| {
            out.object(&template)?.values(&[9])?.finish()?;
            Ok(())
        }))
    };
    let late = named("published: Late", "Late", free + 20);
    *told.lock().unwrap() = Some(vec![
        named("published: fIXED", "fIXED", free),
        named("published: Shop", "Shop", free + 10),
        Arc::clone(&late),
        // Registered with this machine: the administrator chose the name.
        named("registered", "Fixed", 300),
    ]);
    let served = [(100, 1), (free + 10, 9), (free + 20, 9), (300, 9)];
    assert_eq!(values(&mut broker, "Global"), served);
    assert_eq!(values(&mut broker, &free.to_string()), []);
    assert!(broker.catalogue(&Ask::everything()).unwrap().object(TitleIndex(free)).is_none());
    let fault = |broker: &Broker, name: &str| {
        let status = broker.providers().find(|status| status.name == name).unwrap();
        status.last_fault.as_ref().map(|fault| fault.message.to_string())
    };
    assert_eq!(
        fault(&broker, "published: fIXED").as_deref(),
        Some(
            "not served: fIXED is an object of this machine or registered for it; publish it under \
             another name"
        )
    );
    assert_eq!(fault(&broker, "published: Shop"), None);

    // A name that the machine has from now on.
    broker.register(sound("Late", 500, 5));
    assert_eq!(values(&mut broker, "Global"), [(100, 1), (free + 10, 9), (300, 9), (500, 5)]);
    assert!(fault(&broker, "published: Late").is_some());
    let mut query = Query::new(broker).unwrap();
    query.add(r"\late\*").unwrap();
    query.collect().unwrap();
    let values: Vec<f64> =
        query.readings().iter().map(|one| one.value.as_ref().unwrap().as_f64()).collect();
    assert_eq!(values, [5.0]);
}

/// The names of an object in German, with blanks around it, and numbers lead paths to it too.
#[test]
fn a_roster_s_object_is_not_served_under_another_spelling_of_the_machine_s() {
    let german = "de".parse().unwrap();
    let mut processor = ScriptProvider::new(
        "processor",
        Numbering::Windows,
        &[(238, "Processor"), (6, "% Processor Time")],
        |_, _| Ok(()),
    );
    processor.titles.push(ProvidedTitles::new(
        german,
        titles(&[(238, "Prozessor"), (6, "Prozessorzeit (%)")]),
        TitleList::default(),
    ));
    let told = Told::default();
    let mut broker = Broker::builder("test:", "HOST")
        .provider(Arc::new(processor))
        .roster(Scripted(Arc::clone(&told)))
        .build();
    let names = ["Prozessor", "prozessor ", " Processor", "238", "4 ", "Shop", "4 Wheels"];
    let places = (CHOSEN_INDEXES..).step_by(10);
    *told.lock().unwrap() =
        Some(names.iter().zip(places).map(|(name, index)| sound(name, index, 9)).collect());
    let catalogue = broker.catalogue(&Ask::everything()).unwrap();
    let served: Vec<u32> = catalogue.objects.iter().map(|object| object.name.0).collect();
    assert_eq!(served, [238, CHOSEN_INDEXES + 50, CHOSEN_INDEXES + 60]);
    let faults = broker.providers().filter_map(|status| status.last_fault.as_ref());
    let faults: Vec<&str> = faults.map(|fault| &*fault.message).collect();
    assert_eq!(faults.len(), 5);
    assert!(faults.iter().all(|fault| fault.ends_with("publish it under another name")));
}

/// That an object is not served is told once, not at each coming and going of others.
#[test]
fn a_provider_s_own_fault_stays_when_others_come_and_go() {
    let (mut broker, told) = broker();
    let works = Arc::new(AtomicBool::new(true));
    let does_work = Arc::clone(&works);
    let counters = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let other = ObjectSpec::new(TitleIndex(200));
    let template = ObjectTemplate::new(&other, &counters).unwrap();
    let names = [(100, "Fixed"), (6, "Value"), (200, "Other")];
    let mut both = ScriptProvider::new("Both", Numbering::Windows, &names, move |_, out| {
        if !does_work.load(Ordering::Relaxed) {
            return Err(ProviderError::Failed("the disk is gone".into()));
        }
        out.object(&template)?.values(&[2])?.finish()?;
        Ok(())
    });
    both.description.objects.push(ObjectDescription::new(other, counters.to_vec()));
    let both: Arc<dyn Provider> = Arc::new(both);
    let fault = |broker: &Broker| {
        let status = broker.providers().find(|status| status.name == "Both").unwrap();
        status.last_fault.as_ref().map(|fault| fault.message.to_string()).unwrap_or_default()
    };
    *told.lock().unwrap() = Some(vec![Arc::clone(&both)]);
    assert_eq!(values(&mut broker, "200"), [(200, 2)]);
    assert!(fault(&broker).contains("the object is Fixed's"), "{}", fault(&broker));
    works.store(false, Ordering::Relaxed);
    assert_eq!(values(&mut broker, "200"), []);
    assert!(fault(&broker).contains("the disk is gone"), "{}", fault(&broker));
    *told.lock().unwrap() = Some(vec![both, sound("Late", 300, 3)]);
    assert_eq!(values(&mut broker, "300"), [(300, 3)]);
    assert!(fault(&broker).contains("the disk is gone"), "{}", fault(&broker));
}
