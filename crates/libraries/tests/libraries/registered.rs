//! Registrations that come, change and go, and providers of every kind.

use crate::support::{Folder, OBJECT, broker, host, registration};
use perfhive_contract::{Registration, Registrations};
use perfhive_engine::{
    Ask, Broker, Cost, ObjectQuery, ProvidedTitles, ProviderState, Snapshot, Source,
};
use perfhive_format::titles::TitleList;
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_libraries::{ExtensionRoster, HostOptions};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

type News = Arc<Mutex<Option<Arc<Registrations>>>>;

/// A broker of the registrations of a test.
fn registry() -> (News, Broker) {
    let news = News::default();
    let source = Arc::clone(&news);
    let options = HostOptions::new()
        .host(host())
        .patience(Duration::from_secs(30))
        .look_every(Duration::ZERO)
        .log(|_, _| {});
    let roster = ExtensionRoster::new(move || source.lock().unwrap().take(), options);
    (news, Broker::builder("test:", "HERE").roster(roster).build())
}

fn register(news: &News, providers: Vec<Registration>) {
    let mut all = Registrations::none();
    all.providers = providers;
    all.titles = vec![ProvidedTitles::new(
        LanguageId::ENGLISH,
        TitleList::from_text(
            "50000\nZoo\n50002\nAnimals\n60000\nPark\n52000\nGauges\n52002\nAsked\n",
        ),
        TitleList::from_text("50001\nA zoo.\n"),
    )];
    *news.lock().unwrap() = Some(Arc::new(all));
}

fn objects(broker: &mut Broker) -> Vec<(u32, Cost)> {
    let catalogue = broker.catalogue(&Ask::everything()).unwrap();
    catalogue.objects.iter().map(|object| (object.name.0, object.cost)).collect()
}

fn instances(broker: &mut Broker, object: TitleIndex) -> Option<usize> {
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::objects(&[object]), &mut snapshot).unwrap();
    snapshot.object(object).map(|object| object.view().instances().count())
}

#[test]
fn registrations_that_come_change_and_go_are_followed() {
    let folder = Folder::new("come");
    let library = folder.compile("tests/libraries/zoo.c");
    let (news, mut broker) = registry();
    assert_eq!(objects(&mut broker), []);

    register(&news, vec![registration(&library, "good")]);
    assert_eq!(objects(&mut broker), [(50000, Cost::Global)]);
    let titles = broker.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(OBJECT), Some("Zoo"));
    assert_eq!(titles.help(TitleIndex(50001)), Some("A zoo."));
    assert_eq!(titles.name(TitleIndex(60000)), None, "not one of its names");
    assert_eq!(instances(&mut broker, OBJECT), Some(2));

    // The same again is not a change: its process and its counts stay.
    let generation = broker.catalogue(&Ask::nothing()).unwrap().generation;
    register(&news, vec![registration(&library, "good")]);
    assert_eq!(broker.catalogue(&Ask::nothing()).unwrap().generation, generation);
    assert_eq!(broker.providers().next().unwrap().collections, 1);

    // Another linkage is another provider.
    register(&news, vec![registration(&library, "!is costly")]);
    assert_eq!(objects(&mut broker), [(50000, Cost::Costly)]);
    assert_ne!(broker.catalogue(&Ask::nothing()).unwrap().generation, generation);
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
    assert_eq!(snapshot.objects().count(), 0);
    broker.collect(&Ask::new(ObjectQuery::Costly), &mut snapshot).unwrap();
    assert_eq!(snapshot.objects().count(), 1);
    assert_eq!(instances(&mut broker, OBJECT), Some(2));

    let mut disabled = registration(&library, "good");
    disabled.disabled = true;
    register(&news, vec![disabled]);
    assert_eq!(objects(&mut broker), []);
    assert_eq!(instances(&mut broker, OBJECT), None);
    assert_eq!(
        Source::providers(&mut broker, &Ask::nothing()).unwrap()[0].state,
        ProviderState::Disabled
    );

    register(&news, Vec::new());
    assert_eq!(Source::providers(&mut broker, &Ask::nothing()).unwrap().len(), 0);
}

/// A query that was made before knows the object by its index alone: its readings must have the reason.
#[test]
fn running_reader_gets_the_reason_why_a_library_is_gone() {
    let folder = Folder::new("gone");
    let library = folder.compile("tests/libraries/zoo.c");
    let (news, mut broker) = registry();
    register(&news, vec![registration(&library, "good")]);
    assert_eq!(instances(&mut broker, OBJECT), Some(2));
    let why = |broker: &mut Broker| {
        let mut snapshot = Snapshot::new();
        broker.collect(&Ask::objects(&[OBJECT]), &mut snapshot).unwrap();
        let faults = snapshot.faults().iter().filter(|fault| fault.object == Some(OBJECT));
        faults.map(|fault| fault.message.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(why(&mut broker), [""; 0]);

    let mut disabled = registration(&library, "good");
    disabled.disabled = true;
    register(&news, vec![disabled]);
    let told = why(&mut broker);
    assert!(told.len() == 1 && told[0].contains("--enable"), "{told:?}");

    std::fs::remove_file(&library).unwrap();
    register(&news, vec![registration(&library, "good")]);
    let told = why(&mut broker);
    assert!(told.len() == 1 && told[0].contains("zoo.so"), "{told:?}");

    // No registration, no reason.
    register(&news, Vec::new());
    assert_eq!(why(&mut broker), [""; 0]);
}

#[test]
fn replaced_library_is_loaded_anew() {
    let folder = Folder::new("replaced");
    let library = folder.compile("tests/libraries/zoo.c");
    let spare = folder.0.join("spare.so");
    std::fs::copy(&library, &spare).unwrap();
    let (news, mut broker) = registry();
    std::fs::write(&library, "no library").unwrap();
    register(&news, vec![registration(&library, "good")]);
    assert_eq!(instances(&mut broker, OBJECT), None);
    let status = Source::providers(&mut broker, &Ask::nothing()).unwrap().remove(0);
    assert_eq!(status.state, ProviderState::Failed);
    assert!(status.last_fault.unwrap().message.contains("zoo.so"));
    // An installer renames: the next look finds another file.
    std::fs::rename(&spare, &library).unwrap();
    for _ in 0..1000 {
        if instances(&mut broker, OBJECT) == Some(2) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!(
        "the new library was never read: {:?}",
        Source::providers(&mut broker, &Ask::nothing()).unwrap()
    );
}

#[test]
fn changing_objects_are_all_in_the_catalogue() {
    let folder = Folder::new("changes");
    let library = folder.compile("tests/libraries/zoo.c");
    let (news, mut broker) = registry();
    register(&news, vec![registration(&library, "!changes its objects")]);
    let before = objects(&mut broker);
    assert_eq!(before.len(), 1);
    let mut snapshot = Snapshot::new();
    for _ in 0..16 {
        broker.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
        assert_eq!(snapshot.objects().count(), 1, "{:?}", snapshot.faults());
    }
    // Each delivered object stays known, because it may come again.
    let mut after = objects(&mut broker);
    after.sort_unstable();
    let names: Vec<u32> = after.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, [50000, 50010, 50030, 50050, 50070]);
    assert_eq!(broker.providers().next().unwrap().state, ProviderState::Open);
}

#[test]
fn library_is_asked_only_for_the_objects_of_its_list() {
    let folder = Folder::new("list");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut registration = registration(&library, "crashes");
    registration.objects = vec![TitleIndex(60000)];
    // By index it would crash; it is not asked.
    let mut reader = broker(registration, |options| options);
    let seen = reader.see();
    assert_eq!(&*seen.faults[0].message, "the provider gave no data for this object");
    assert_eq!(reader.status().faults, 0);
}

#[test]
fn foreign_request_gives_the_other_machines_block() {
    let folder = Folder::new("foreign");
    let library = folder.compile("tests/libraries/zoo.c");
    let registration = registration(&library, "!reaches another machine");
    let mut reader = broker(registration, |options| options);
    let mars = Ask::new(ObjectQuery::Foreign("MARS".to_string()));
    let (snapshot, faults) = reader.collect(&mars);
    assert!(faults.is_empty(), "{faults:?}");
    let object = snapshot.object(TitleIndex(50100)).unwrap();
    assert_eq!(object.machine(), "MARS");
    assert_eq!(object.frame().clocks().perf_freq, 1000, "its own clock");
    assert_eq!(object.view().instances().count(), 2);
    let venus = Ask::new(ObjectQuery::Foreign("VENUS".to_string()));
    assert_eq!(reader.collect(&venus).0.objects().count(), 0);
    // A local request gives no object of it.
    let (local, _) = reader.collect(&Ask::new(ObjectQuery::Global));
    assert!(local.objects().all(|object| object.machine() == "HERE"));
}

/// The path of the example in Rust, which cargo builds along with this test.
fn example() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let library = tests.parent().unwrap().with_file_name("examples").join("libgauges.so");
    assert!(library.exists(), "cargo build -p perfhive-libraries --examples makes {library:?}");
    library
}

/// A registration of a copy of the example.
fn gauges(folder: &Folder, linkage: &str) -> Registration {
    gauges_of(folder, "gauges.so", linkage)
}

pub(crate) fn gauges_of(folder: &Folder, library: &str, linkage: &str) -> Registration {
    let library = folder.0.join(library);
    if !library.exists() {
        std::fs::copy(example(), &library).unwrap();
    }
    let mut registration = Registration::new("Gauges", library, "CollectGauges");
    registration.open = Some("OpenGauges".to_string());
    registration.close = Some("CloseGauges".to_string());
    registration.linkage = Some(linkage.to_string());
    (registration.first_counter, registration.last_counter) = (50000, 50002);
    (registration.first_help, registration.last_help) = (50001, 50003);
    registration
}

#[test]
fn provider_in_rust_is_read() {
    let folder = Folder::new("rust");
    let mut reader = broker(gauges(&folder, "boiler\0pump\0valve"), |options| options);
    for _ in 0..3 {
        let seen = reader.see();
        assert_eq!(seen.instances, Some(3), "{seen:?} {:?}", reader.lines());
    }
    let mut reader = broker(gauges(&folder, "boiler\0pump\0valve"), |options| options);
    assert_eq!(reader.see().instances, Some(3));
}

/// Libraries pass the conformance tests of all sources.
#[test]
fn libraries_pass_the_conformance_tests() {
    let folder = Folder::new("conformance");
    let library = folder.compile("tests/libraries/zoo.c");
    perfhive_testkit::conformance::source(|| {
        let (news, broker) = registry();
        let registration = registration(&library, "good");
        register(&news, vec![registration, gauges_at(&folder, 52000)]);
        Box::new(broker)
    });
}

fn gauges_at(folder: &Folder, first: u32) -> Registration {
    let mut registration = gauges(folder, "boiler");
    (registration.first_counter, registration.last_counter) = (first, first + 2);
    (registration.first_help, registration.last_help) = (first + 1, first + 3);
    registration
}

#[test]
fn a_library_without_objects_at_the_moment_is_idle() {
    let folder = Folder::new("nothing");
    let library = folder.compile("tests/libraries/zoo.c");
    let (news, mut broker) = registry();
    register(&news, vec![registration(&library, "!has nothing")]);
    assert_eq!(instances(&mut broker, OBJECT), None);
    let status = Source::providers(&mut broker, &Ask::nothing()).unwrap().remove(0);
    assert_eq!(status.state, ProviderState::Idle);
    assert!(status.last_fault.unwrap().message.contains("no objects at the moment"));
}

#[test]
fn panic_in_rust_is_a_fault_of_its_provider() {
    let folder = Folder::new("panic");
    let mut reader = broker(gauges(&folder, "panic"), |options| options);
    assert_eq!(reader.see().instances, None);
    let status = Source::providers(&mut reader.broker, &Ask::nothing()).unwrap().remove(0);
    assert_eq!(status.state, ProviderState::Failed);
    let text = "the provider panicked: the gauge called panic is broken";
    assert_eq!(&*status.last_fault.unwrap().message, text);
    assert_eq!(reader.lines(), [format!("Gauges: {text}")]);
}

/// The longest durations mean no limit.
#[test]
fn longest_durations_are_accepted() {
    let folder = Folder::new("long");
    let library = folder.compile("tests/libraries/zoo.c");
    let long = |options: HostOptions| {
        options.patience(Duration::MAX).look_every(Duration::MAX).pause(Duration::MAX)
    };
    let of = |kind: &str| {
        let mut registration = registration(&library, kind);
        (registration.open_timeout, registration.collect_timeout) = (Duration::MAX, Duration::MAX);
        registration
    };
    assert_eq!(broker(of("good"), long).see().instances, Some(2));
    // After a failure the pause is as long.
    for kind in ["!has nothing", "!refuses to open", "!answers an error"] {
        let mut reader = broker(of(kind), long);
        for _ in 0..3 {
            assert_eq!(reader.see().instances, None, "{kind}");
        }
    }
}
