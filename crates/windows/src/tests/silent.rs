//! What is told of providers that give nothing, and of what cannot be read beside the
//! counters.

use super::*;
use crate::registry::Unreadable;

/// Windows says nothing of a library that cannot be loaded or opened.
#[test]
fn who_gives_nothing_is_told_of() {
    let fake = Fake::default();
    let silent = |name: &str, first, ours| {
        let (service, code) = service(name, &[], SUCCESS);
        (Service { first: Some(first), last: Some(first + 2), ours, ..service }, code)
    };
    fake.with(|world| {
        world.providers = vec![
            service("Shop", &[5000], SUCCESS),
            silent("Mute", 6000, true),
            silent("Others", 7000, false),
            silent("Off", 8000, true),
        ];
        world.providers[3].0.disabled = true;
        world.last.counter = Some(8002);
    });
    let mut source = fake.source();
    let answer = collect(&mut source, ObjectQuery::Global);
    let [fault] = answer.faults() else { panic!("{:?}", answer.faults()) };
    assert_eq!(&*fault.provider, "Mute", "the others may have nothing to say");
    assert!(fault.message.contains("`perfhive check Mute` says what it is"), "{fault}");
    let states: Vec<_> = source
        .providers()
        .unwrap()
        .into_iter()
        .map(|one| (one.name, one.state, one.names))
        .collect();
    assert_eq!(
        states,
        [
            ("Shop".to_string(), ProviderState::Open, None),
            ("Mute".to_string(), ProviderState::Failed, Some(6000..=6002)),
            ("Others".to_string(), ProviderState::Failed, Some(7000..=7002)),
            ("Off".to_string(), ProviderState::Disabled, Some(8000..=8002)),
        ]
    );
    let off = source.providers().unwrap().pop().and_then(|one| one.last_fault).unwrap();
    assert!(off.message.contains("`perfhive providers --enable \"Off\"`"), "{off}");
}

/// Without the keys beside the counters these are there all the same, and once it is told
/// what is lacking.
#[test]
fn what_may_not_be_read_beside_the_counters_is_told_once() {
    let fake = world();
    fake.with(|world| world.unreadable = vec![(Beside::Services, 5)]);
    let mut source = fake.source();
    source.catalogue().unwrap();
    let answer = collect(&mut source, ObjectQuery::one(TitleIndex(230)));
    let [fault] = answer.faults() else { panic!("{:?}", answer.faults()) };
    assert!(!fault.lost_data() && answer.objects().count() == 1);
    let text = fault.to_string();
    assert!(text.contains(r"CurrentControlSet\Services cannot be read"), "{text}");
    assert!(text.contains("run as an administrator"), "{text}");
    assert!(collect(&mut source, ObjectQuery::Global).faults().is_empty());
}

#[test]
fn what_may_not_be_read_is_noted_once_and_what_is_not_there_never() {
    let mut unreadable = Unreadable::default();
    assert_eq!(unreadable.read(Beside::Perflib, Ok(7)), Some(7));
    for code in [5, 5, 1314] {
        assert_eq!(unreadable.read::<()>(Beside::Services, Err(code)), None);
    }
    // A connection that is lost is a failure of everything, and told as that.
    for code in [NOT_FOUND, 1722] {
        assert_eq!(unreadable.read::<()>(Beside::Perflib, Err(code)), None);
    }
    assert_eq!(unreadable.news(), [(Beside::Services, 5)]);
    unreadable.note(Beside::Services, 5);
    assert_eq!(unreadable.news(), []);
    unreadable.note(Beside::Perflib, 5);
    assert_eq!(unreadable.news(), [(Beside::Perflib, 5)]);
}

/// A machine has some hundred services, each with keys of its own.
#[test]
fn who_is_registered_is_looked_up_once_and_names_are_loaded_once() {
    let fake = world();
    fake.with(|world| {
        let (mute, _) = service("Mute", &[6000], SUCCESS);
        world.providers = vec![(Service { ours: true, ..mute }, SUCCESS)];
    });
    let mut source = fake.source();
    // What `list` does.
    source.titles(LanguageId::GERMAN).unwrap();
    source.titles(LanguageId::ENGLISH).unwrap();
    source.catalogue().unwrap();
    fake.with(|world| world.asked.clear());
    for _ in 0..3 {
        assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
        source.catalogue().unwrap();
        source.titles(LanguageId::ENGLISH).unwrap();
    }
    assert_eq!(fake.with(|world| world.listed), 1);
    assert_eq!(fake.with(|world| std::mem::take(&mut world.asked)), ["Global"; 3]);
    // One that is told of is looked at: somebody may disable it.
    source.look_often();
    fake.with(|world| {
        world.providers[0].0.disabled = true;
        world.changed.insert("Mute".to_string(), 2);
    });
    assert!(collect(&mut source, ObjectQuery::Global).faults().is_empty());
    assert_eq!(fake.with(|world| world.listed), 2);
    // Whoever registers something changes the titles.
    let (deaf, _) = service("Deaf", &[7000], SUCCESS);
    fake.with(|world| {
        world.providers.push((Service { ours: true, ..deaf }, SUCCESS));
        world.last.counter = Some(7000);
    });
    source.catalogue_generation();
    assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
    assert_eq!(fake.with(|world| world.listed), 3);
}

#[test]
fn a_damaged_list_of_names_is_told_as_that() {
    let fake = world();
    for place in ["data", "009"] {
        let garbage = "no pairs\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (place, value) = match place {
            "data" => ("data".to_string(), "Counter 009".to_string()),
            key => (key.to_string(), "Counter".to_string()),
        };
        fake.with(|world| world.titles.insert((place, value), garbage));
    }
    let error = fake.source().titles(LanguageId::ENGLISH).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed);
    assert!(error.message().contains("list of names is damaged"), "{error}");
    assert!(error.message().contains("lodctr /R"), "{error}");
}
