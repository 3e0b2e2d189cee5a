//! Providers without objects, unreadable parts of the registry, and damaged title lists.

use super::*;
use crate::registry::Unreadable;

/// Windows leaves out a library that cannot be loaded or opened.
#[test]
fn a_provider_of_ours_without_objects_is_a_fault() {
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
    assert_eq!(&*fault.provider, "Mute", "others may have no objects at the moment");
    assert!(fault.message.contains("`perfhive check Mute` says which"), "{fault}");
    let states: Vec<_> = source
        .providers(&Ask::nothing())
        .unwrap()
        .into_iter()
        .map(|one| (one.name, one.state, one.names))
        .collect();
    assert_eq!(
        states,
        [
            ("Shop".to_string(), ProviderState::Open, None),
            ("Mute".to_string(), ProviderState::Failed, Some(6000..=6002)),
            ("Others".to_string(), ProviderState::Idle, Some(7000..=7002)),
            ("Off".to_string(), ProviderState::Disabled, Some(8000..=8002)),
        ]
    );
    let off =
        source.providers(&Ask::nothing()).unwrap().pop().and_then(|one| one.last_fault).unwrap();
    assert!(off.message.contains("`perfhive providers --enable \"Off\"`"), "{off}");
}

/// The names of the registration were not loaded, or were removed.
#[test]
fn a_registration_without_names_and_objects_has_failed() {
    let fake = world();
    fake.with(|world| {
        world.providers = vec![service("Bare", &[], SUCCESS), service("PerfProc", &[230], SUCCESS)];
        let off = Service { disabled: true, ..service("Off", &[], SUCCESS).0 };
        world.providers.push((off, SUCCESS));
    });
    let mut source = fake.source();
    source.catalogue(&Ask::objects(&[TitleIndex(230)])).unwrap();
    let providers = source.providers(&Ask::nothing()).unwrap();
    let states: Vec<_> = providers.iter().map(|one| (one.state, one.objects.len())).collect();
    use ProviderState::{Disabled, Failed, Open};
    assert_eq!(states, [(Failed, 0), (Open, 1), (Disabled, 0)]);
    let why = providers[0].last_fault.as_ref().unwrap();
    assert!(why.message.contains("neither First Counter nor Object List"), "{why}");
    assert!(why.message.contains("`perfhive check Bare` says"), "{why}");
}

#[test]
fn a_suggested_command_escapes_quotation_marks_in_a_name() {
    let fake = world();
    fake.with(|world| world.providers = vec![service("The \"Bare\" one", &[], SUCCESS)]);
    let mut source = fake.source();
    let providers = source.providers(&Ask::nothing()).unwrap();
    let why = providers[0].last_fault.as_ref().unwrap();
    assert!(why.message.contains(r#"`perfhive check "The \"Bare\" one"` says"#), "{why}");
}

#[test]
fn an_unreadable_part_is_one_warning_beside_the_counters() {
    let fake = world();
    fake.with(|world| world.unreadable = vec![(RegistryPart::Services, 5)]);
    let mut source = fake.source();
    source.catalogue(&Ask::everything()).unwrap();
    let answer = collect(&mut source, ObjectQuery::one(TitleIndex(230)));
    let [fault] = answer.faults() else { panic!("{:?}", answer.faults()) };
    assert!(!fault.lost_data() && answer.objects().count() == 1);
    let text = fault.to_string();
    assert!(text.contains(r"CurrentControlSet\Services cannot be read"), "{text}");
    assert!(text.contains("run as an administrator"), "{text}");
    assert!(collect(&mut source, ObjectQuery::Global).faults().is_empty());
}

#[test]
fn an_unreadable_part_is_noted_once_and_a_missing_one_never() {
    let mut unreadable = Unreadable::default();
    assert_eq!(unreadable.read(RegistryPart::Perflib, Ok(7)), Some(7));
    for code in [5, 5, 1314] {
        assert_eq!(unreadable.read::<()>(RegistryPart::Services, Err(code)), None);
    }
    // A lost connection is an error of its own.
    for code in [NOT_FOUND, 1722] {
        assert_eq!(unreadable.read::<()>(RegistryPart::Perflib, Err(code)), None);
    }
    assert_eq!(unreadable.news(), [(RegistryPart::Services, 5)]);
    unreadable.note(RegistryPart::Services, 5);
    assert_eq!(unreadable.news(), []);
    unreadable.note(RegistryPart::Perflib, 5);
    assert_eq!(unreadable.news(), [(RegistryPart::Perflib, 5)]);
}

/// A machine has some hundred services, each with a key.
#[test]
fn services_are_listed_once_and_titles_loaded_once() {
    let fake = world();
    fake.with(|world| {
        let (mute, _) = service("Mute", &[6000], SUCCESS);
        world.providers = vec![(Service { ours: true, ..mute }, SUCCESS)];
    });
    let mut source = fake.source();
    // As `list` does.
    source.titles(LanguageId::GERMAN, &Ask::nothing()).unwrap();
    source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    source.catalogue(&Ask::everything()).unwrap();
    fake.with(|world| world.asked.clear());
    for _ in 0..3 {
        assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
        source.catalogue(&Ask::everything()).unwrap();
        source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    }
    assert_eq!(fake.with(|world| world.listed), 1);
    assert_eq!(fake.with(|world| std::mem::take(&mut world.asked)), ["Global"; 3]);
    // The registration of a provider with a fault is watched.
    source.look_often();
    fake.with(|world| {
        world.providers[0].0.disabled = true;
        world.changed.insert("Mute".to_string(), 2);
    });
    assert!(collect(&mut source, ObjectQuery::Global).faults().is_empty());
    assert_eq!(fake.with(|world| world.listed), 2);
    // A registration changes the titles.
    let (deaf, _) = service("Deaf", &[7000], SUCCESS);
    fake.with(|world| {
        world.providers.push((Service { ours: true, ..deaf }, SUCCESS));
        world.last.counter = Some(7000);
    });
    source.catalogue(&Ask::nothing()).unwrap();
    assert_eq!(collect(&mut source, ObjectQuery::Global).faults().len(), 1);
    assert_eq!(fake.with(|world| world.listed), 3);
}

fn garbage() -> Vec<u8> {
    "no pairs\0".encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Sets a language's list in all places that have one.
fn say_everywhere(fake: &Fake, language: &str, list: &[u8]) {
    fake.with(|world| {
        let (data, by_year) = (format!("Counter {language}"), "Counter".to_string());
        for (place, value) in
            [("data", &data), (language, &by_year), ("nls", &by_year), ("text", &by_year)]
        {
            world.titles.insert((place.to_string(), value.clone()), list.to_vec());
        }
    });
}

#[test]
fn a_damaged_list_of_names_is_an_error_and_other_languages_are_there() {
    let [english, german] = [LanguageId::ENGLISH, LanguageId::GERMAN];
    for (damaged, other) in [(english, german), (german, english)] {
        let fake = world();
        say_everywhere(&fake, &damaged.to_string(), &garbage());
        let mut source = fake.source();
        for _ in 0..2 {
            let error = source.titles(damaged, &Ask::nothing()).unwrap_err();
            assert_eq!(error.kind(), SourceErrorKind::Malformed);
            let words = format!("language {damaged}: the list of names is damaged");
            assert!(error.message().contains(&words), "{error}");
            assert!(error.message().contains("lodctr /R"), "{error}");
            assert!(source.titles(other, &Ask::nothing()).unwrap().name(TitleIndex(230)).is_some());
        }
    }
}

/// Indexes without an owner are found by their names, in any language.
#[test]
fn with_damaged_english_names_a_search_uses_another_language() {
    let fake = world();
    say_everywhere(&fake, "009", &garbage());
    fake.with(|world| {
        world.data.remove("Global");
        world.data.insert("6 230".into(), object(&[230, 6], 1));
        world.providers = vec![service("Broken", &[4000], 31)];
    });
    let answer = collect(&mut fake.source(), ObjectQuery::Global);
    assert!(answer.object(TitleIndex(230)).is_some());
    assert_eq!(&*answer.faults()[0].provider, "Broken");
}

/// Every machine has English names, so an empty English list is damaged; an empty list of
/// another language is not.
#[test]
fn an_empty_list_of_english_names_is_a_damaged_one() {
    for nothing in [&[][..], &[0; 4]] {
        let fake = world();
        say_everywhere(&fake, "009", nothing);
        let error = fake.source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Malformed);
        assert!(error.message().contains("list of names is damaged"), "{error}");
        // Also if it is the only list.
        fake.with(|world| world.titles.retain(|(place, _), _| place == "data"));
        let error = fake.source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
        say_everywhere(&fake, "007", nothing);
        assert!(fake.source().titles(LanguageId::GERMAN, &Ask::nothing()).unwrap().is_empty());
    }
}

/// A missing list costs a call, on another machine a round trip.
#[test]
fn a_missing_list_is_asked_for_once() {
    let fake = world();
    fake.with(|world| world.titles.clear());
    fake.source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
    let asked = fake.with(|world| world.asked.clone());
    assert_eq!(asked, ["Counter 009"]);
}

#[test]
fn denied_access_fails_also_for_known_objects() {
    let fake = world();
    fake.with(|world| world.providers = vec![service("PerfProc", &[230, 232], SUCCESS)]);
    let mut source = fake.source();
    let known = source.catalogue(&Ask::objects(&[TitleIndex(230)])).unwrap();
    assert_eq!(known.objects.len(), 1);
    fake.with(|world| world.code = Some(5));
    let more = [TitleIndex(230), TitleIndex(238)];
    let error = source.catalogue(&Ask::objects(&more)).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Denied, "{error}");
    // The error of a single provider fails only its own objects.
    fake.with(|world| world.code = Some(31));
    assert_eq!(source.catalogue(&Ask::objects(&more)).unwrap(), known);
}

/// Another machine may send lists without end.
#[test]
fn a_list_of_names_beyond_16_mib_is_damaged() {
    let fake = world();
    let endless = "2\0a\0".encode_utf16().flat_map(u16::to_le_bytes).cycle();
    say_everywhere(&fake, "009", &endless.take((16 << 20) + 8).collect::<Vec<u8>>());
    let error = fake.source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed);
    let words = "language 009: the list of names is damaged: it has more than 16 MiB";
    assert!(error.message().contains(words), "{error}");
    assert!(fake.source().titles(LanguageId::GERMAN, &Ask::nothing()).is_ok());
}

/// Each list of another machine may be within its limit, and all together beyond any memory.
#[test]
fn after_too_many_titles_no_further_language_is_read() {
    let fake = world();
    let text = "a".repeat(1 << 20);
    say_everywhere(&fake, "00C", &multi_sz(&[(2, &text)]));
    fake.with(|world| world.languages.extend(["00C", "00A"].map(String::from)));
    say_everywhere(&fake, "00A", &multi_sz(&[(2, "Sistema")]));
    let mut source = fake.source();
    source.limit_titles(1 << 20);
    let read =
        [7, 9, 0xC, 0xA].map(|id| source.titles(LanguageId(id), &Ask::nothing()).map(|_| id));
    let [german, english, french, spanish] = read;
    assert_eq!([german, english, french], [7, 9, 0xC].map(Ok));
    let error = spanish.unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed, "{error}");
    assert!(error.message().contains("00A: its names are not read"), "{error}");
    // What is kept is still there, and after a registration all is read again.
    assert!(source.titles(LanguageId(0xC), &Ask::nothing()).is_ok());
    fake.with(|world| world.last.counter = Some(9000));
    assert!(source.titles(LanguageId(0xA), &Ask::nothing()).is_ok());
}

#[test]
fn a_path_in_a_sound_language_has_a_value_though_another_is_damaged() {
    for (damaged, path) in
        [("007", r"\Process(one)\% Processor Time"), ("009", r"\Prozess(one)\Prozessorzeit (%)")]
    {
        let fake = world();
        say_everywhere(&fake, damaged, &garbage());
        let mut query = perfhive_engine::Query::new(fake.source()).unwrap();
        query.add(path).unwrap();
        query.collect().unwrap();
        assert_eq!(query.readings()[0].value.as_ref().unwrap().as_f64(), 1.0, "{path}");
    }
}
