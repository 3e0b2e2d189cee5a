use super::*;
use perfhive_contract::{
    Change, DeclaredCounter, DeclaredObject, Functions, InstanceKind, ProviderDefinition,
    RegisterErrorKind, Texts,
};
use perfhive_format::CounterType;
use proptest::prelude::*;

fn definition(name: &str, count: u32) -> ProviderDefinition {
    let mut made = ProviderDefinition::new(name);
    let texts = |what: &str| (0..count).map(|n| (2 * n, format!("{what} {n} of {name}"))).collect();
    made.objects = vec![0];
    made.titles =
        vec![Texts { language: LanguageId::ENGLISH, names: texts("Name"), help: texts("Help") }];
    made
}

fn library() -> Functions {
    Functions { library: Some("/usr/lib/x.so".into()), ..Functions::default() }
}

fn of(hive: &Hive, name: &str) -> (u32, u32, u32, u32) {
    let one = hive.get(name).unwrap();
    (one.first_counter, one.last_counter, one.first_help, one.last_help)
}

#[test]
fn new_names_get_indexes_behind_last_counter() {
    let mut hive = Hive::new(Scope::System);
    let (one, change) = hive.register(&definition("A", 3), &library()).unwrap();
    assert_eq!(change, Change::Added);
    assert_eq!(of(&hive, "A"), (1848, 1852, 1849, 1853));
    assert_eq!((hive.last_counter(), hive.last_help()), (1852, 1853));
    assert_eq!(one.objects, [TitleIndex(1848)]);
    assert_eq!(one.collect, "CollectPerformanceData");
    hive.register(&definition("B", 2), &library()).unwrap();
    hive.register(&definition("C", 1), &library()).unwrap();
    assert_eq!(of(&hive, "B"), (1854, 1856, 1855, 1857));
    assert_eq!(of(&hive, "C"), (1858, 1858, 1859, 1859));
    let english = &hive.languages[&LanguageId::ENGLISH];
    assert_eq!(english.names[&1856], "Name 1 of B");
    assert_eq!(english.help[&1857], "Help 1 of B");

    // The same again, under a name in another case: nothing changes.
    let before = hive.clone();
    assert_eq!(hive.register(&definition("B", 2), &library()).unwrap().1, Change::Unchanged);
    assert_eq!(hive, before);
    // Without a library the known one stays.
    let (one, change) = hive.register(&definition("B", 2), &Functions::default()).unwrap();
    assert_eq!((one.library.to_str(), change), (Some("/usr/lib/x.so"), Change::Unchanged));
    // Fewer names keep their indexes; more than fit get new ones.
    assert_eq!(hive.register(&definition("B", 1), &library()).unwrap().1, Change::Updated);
    assert_eq!(of(&hive, "B"), (1854, 1854, 1855, 1855));
    assert!(!hive.languages[&LanguageId::ENGLISH].names.contains_key(&1856));
    hive.register(&definition("B", 3), &library()).unwrap();
    assert_eq!(of(&hive, "B"), (1860, 1864, 1861, 1865));

    // A provider in the middle leaves a gap; the last one frees its indexes.
    hive.unregister("a").unwrap();
    assert_eq!(hive.last_counter(), 1864);
    hive.unregister("B").unwrap();
    assert_eq!((hive.last_counter(), hive.last_help()), (1858, 1859));
    let error = hive.unregister("B").unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::NotRegistered);
    assert!(error.to_string().contains("there are: C"), "{error}");
    hive.unregister("C").unwrap();
    assert_eq!((hive.last_counter(), hive.last_help()), (1846, 1847));
    assert!(hive.services.is_empty() && hive.languages.is_empty());
    // A new provider does not get their indexes.
    hive.register(&definition("D", 1), &library()).unwrap();
    assert_eq!(of(&hive, "D").0, 1866);
    hive.unregister("D").unwrap();
    // When no unused indexes are left, freed ones are allotted again.
    hive.highest = 999_999;
    hive.register(&definition("E", 1), &library()).unwrap();
    assert_eq!(of(&hive, "E").0, 1848);
}

#[test]
fn allotting_skips_the_indexes_of_perfhives_own_objects() {
    let mut hive = Hive::new(Scope::System);
    hive.last_counter = 99_990;
    hive.register(&definition("A", 3), &library()).unwrap();
    assert_eq!(of(&hive, "A"), (99_992, 99_996, 99_993, 99_997));
    hive.register(&definition("B", 3), &library()).unwrap();
    assert_eq!(of(&hive, "B").0, 200_000);
    // The last provider that fits, and one that does not.
    hive.last_counter = 999_995;
    hive.register(&definition("C", 2), &library()).unwrap();
    assert_eq!(of(&hive, "C").3, 999_999);
    let before = hive.clone();
    let error = hive.register(&definition("D", 1), &library()).unwrap_err();
    assert!(error.to_string().contains("all allotted"), "{error}");
    assert_eq!(hive, before);
    // A provider with more names than before does not grow into these indexes.
    hive.unregister("C").unwrap();
    hive.register(&definition("A", 5), &library()).unwrap();
    assert_eq!(of(&hive, "A").0, 200_006);
    let mut user = Hive::new(Scope::User);
    user.register(&definition("U", 1), &library()).unwrap();
    assert_eq!(of(&user, "U").0, 1_000_000);
}

#[test]
fn invalid_definitions_and_functions_are_refused_with_a_reason() {
    let refused = |definition: &ProviderDefinition, functions: &Functions, needle: &str| {
        let mut hive = Hive::new(Scope::System);
        let error = hive.register(definition, functions).unwrap_err().to_string();
        assert!(error.contains(needle), "{error}");
        assert_eq!(hive, Hive::new(Scope::System));
    };
    for name in ["", " a", "a\\b", "a/b", "x]", "..", "a\nb"] {
        refused(&definition(name, 1), &library(), "definition file");
    }
    refused(&definition(&"n".repeat(256), 1), &library(), "longer");
    refused(&definition("A", 0), &library(), "no names");
    refused(&definition("A", 1), &Functions::default(), "--library");
    let with = |change: fn(&mut Functions)| {
        let mut made = library();
        change(&mut made);
        made
    };
    refused(&definition("A", 1), &with(|f| f.library = Some("x.so".into())), "absolute");
    refused(&definition("A", 1), &with(|f| f.collect = Some(String::new())), "Collect");
    refused(&definition("A", 1), &with(|f| f.open = Some("a\0b".into())), "NUL");
    let mut odd = definition("A", 1);
    odd.titles[0].names[0].0 = 1;
    refused(&odd, &library(), "odd");
    let mut odd = definition("A", 1);
    odd.titles[0].names[0].1 = "a\0b".into();
    refused(&odd, &library(), "NUL");
    let mut long = definition("A", 1);
    long.titles[0].names[0].1 = "x".repeat(MAX_TEXT + 1);
    refused(&long, &library(), "too long");
    let mut twice = definition("A", 1);
    twice.titles.push(twice.titles[0].clone());
    refused(&twice, &library(), "twice");
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let mut hive = Hive::new(Scope::System);
    // Each control character takes eight bytes in the file.
    let mut long = definition("A", 1);
    long.titles[0].help[0].1 = "\u{1}".repeat(MAX_TEXT);
    let error = hive.register(&long, &library()).unwrap_err();
    assert_eq!(error.kind(), RegisterErrorKind::Invalid);
    #[cfg(unix)]
    for path in ["/srv/a:b", "/srv/a\0b"] {
        let functions = Functions { reads: Some(vec![path.into()]), ..library() };
        let error = hive.register(&definition("A", 1), &functions).unwrap_err();
        assert_eq!(error.kind(), RegisterErrorKind::Invalid, "{path:?}");
    }
    assert_eq!(hive, Hive::new(Scope::System));
}

/// A hive that uses every kind of line.
fn full() -> Hive {
    let mut hive = Hive::new(Scope::System);
    hive.test_level = Some(TestLevel::Basic);
    let mut one = definition("My Provider", 2);
    one.titles.push(Texts {
        language: LanguageId::GERMAN,
        names: vec![(0, "Größe \"a\\b\"\t\n\r\u{202e}🦀".to_string())],
        help: Vec::new(),
    });
    let mut object = DeclaredObject::new(0, "{guid}", InstanceKind::MultipleAggregate);
    let mut counter = DeclaredCounter::new(2, 1, CounterType::PERF_COUNTER_BULK_COUNT);
    (counter.scale, counter.advanced) = (-3, true);
    object.counters.push(counter);
    one.declared.push(object);
    let functions = Functions {
        linkage: Some(vec![r"\Device\One".to_string(), "two, \"2\"".to_string()]),
        open: Some(String::new()),
        close: Some("Ende".to_string()),
        collect_timeout: Some(Duration::from_millis(1500)),
        disabled: Some(true),
        memory_limit: Some(300 << 20),
        processes: Some(true),
        reads: Some(vec!["/proc".into(), "/srv/with space".into()]),
        ..library()
    };
    hive.register(&one, &functions).unwrap();
    hive.register(&definition("Zwei", 1), &library()).unwrap();
    hive.services[0].other.push(("Own Value".into(), "7".into()));
    hive
}

use std::time::Duration;

#[test]
fn text_form_has_the_expected_lines_and_reads_back() {
    let text = full().to_text();
    for line in [
        "perfhive hive 1",
        "[Perflib]",
        "Base Index = 1847",
        "Last Counter = 1852",
        "Last Help = 1853",
        "Highest Index = 1853",
        "ExtCounterTestLevel = 2",
        r"[Services\My Provider\Performance]",
        "Library = \"/usr/lib/x.so\"",
        "Collect = \"CollectPerformanceData\"",
        "Close = \"Ende\"",
        "Object List = \"1848\"",
        r"[Services\My Provider\Counters]",
        "1848 = \"object\", \"multipleAggregate\"",
        "1850 = \"counter\", \"272696576\", \"-3\", \"advanced\"",
        "First Help = 1849",
        "Disable Performance Counters = 1",
        "Collect Timeout = 1500",
        "Own Value = 7",
        r"[Services\My Provider\Linkage]",
        r#"Export = "\\Device\\One", "two, \"2\"""#,
        r"[Perflib\009\Counter]",
        "1852 = \"Name 0 of Zwei\"",
        r"[Perflib\007\Counter]",
        r#"1848 = "Größe \"a\\b\"\t\n\r\u00202e🦀""#,
        "[End]",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
    }
    assert_eq!(text.matches("\nOpen = ").count(), 1, "{text}");
    let (again, faults) = Hive::parse(Scope::System, text.as_bytes());
    assert_eq!(faults, []);
    assert_eq!(again, full());
    // Line ends of another system, blanks and comments do not matter.
    let other = text.replace('\n', " \r\n;\r\n").replacen(" \r\n;", "\r\n;", 1);
    assert_eq!(Hive::parse(Scope::System, other.as_bytes()), (full(), Vec::new()));
}

#[test]
fn damaged_lines_leave_out_their_provider_only() {
    let text = full().to_text();
    let good = full();
    let lines: Vec<&str> = text.lines().collect();
    for place in 0..lines.len() {
        let mut damaged = lines.clone();
        damaged[place] = "?\u{1}= \"";
        let bytes = damaged.join("\n");
        let (hive, faults) = Hive::parse(Scope::System, bytes.as_bytes());
        if lines[place].is_empty() || lines[place].starts_with(';') {
            let line = u32::try_from(place + 1).unwrap();
            assert!(faults.iter().any(|fault| fault.line == line), "{place}: {faults:?}");
        }
        // A damaged line affects one provider, or two at their border, and adds none.
        let others = good.services.iter().filter(|one| hive.services.contains(one)).count();
        let expected = usize::from(place != 0 && !lines[place].starts_with('['));
        assert!(others >= expected, "{}: {faults:?}", lines[place]);
        for service in &hive.services {
            assert!(good.services.contains(service), "{}: {service:?}", lines[place]);
        }
        assert!(!faults.is_empty(), "{}", lines[place]);
    }
    // Cut off anywhere, it has faults, except without the last line end.
    for end in 0..text.trim_end().len() {
        let (_, faults) = Hive::parse(Scope::System, &text.as_bytes()[..end]);
        assert!(!faults.is_empty(), "cut off at {end}");
    }
    let (_, faults) = Hive::parse(Scope::System, b"perfhive hive 2\n[End]\n");
    assert!(faults[0].message.contains("another version"));
    let (_, faults) =
        Hive::parse(Scope::System, &[b"perfhive hive 1\n".to_vec(), vec![0xff; 9]].concat());
    assert!(faults[0].message.contains("UTF-8"));
    // A text that would end at a NUL where it is used.
    let cut = text.replacen("\nOpen = \"", "\nOpen = \"x\\u000000", 1);
    let (hive, faults) = Hive::parse(Scope::System, cut.as_bytes());
    assert_eq!((hive.services.len(), faults.len()), (1, 1), "{faults:?}");
    assert!(faults[0].message.contains("Open holds a NUL"), "{faults:?}");
    // Two providers with the same indexes: the first counts.
    let both = text.replace("[Services\\Zwei", "[Services\\Zwei2").replace("1852\n", "1848\n");
    let (hive, faults) = Hive::parse(Scope::System, both.as_bytes());
    assert_eq!((hive.services.len(), faults.len()), (1, 1), "{faults:?}");
    assert!(faults[0].message.contains("My Provider's"));
}

#[test]
fn hostile_files_use_memory_in_proportion_to_their_size() {
    // As many sections as fit, each of another provider, none of them whole.
    let mut many = String::from("perfhive hive 1\n");
    for n in 0..200_000 {
        many.push_str(&format!("[Services\\{n}\\Performance]\nX = 1\n"));
    }
    let (hive, faults) = Hive::parse(Scope::System, many.as_bytes());
    assert!(hive.services.is_empty());
    assert!(faults.len() <= 2 * MAX_SERVICES + 200, "{}", faults.len());
    let long =
        [b"perfhive hive 1\n[Perflib\\009\\Help]\n2 = \"".to_vec(), vec![b'x'; MAX_HIVE]].concat();
    let (_, faults) = Hive::parse(Scope::System, &long);
    assert!(faults[0].message.contains("longer"), "{faults:?}");
}

#[test]
fn joined_hives_prefer_the_machines_providers() {
    let mut system = Hive::new(Scope::System);
    system.register(&definition("A", 2), &library()).unwrap();
    let mut user = Hive::new(Scope::User);
    user.register(&definition("a", 1), &library()).unwrap();
    user.register(&definition("B", 1), &library()).unwrap();
    user.test_level = Some(TestLevel::None);
    let (mut all, mut faults) = (Registrations::none(), Vec::new());
    system.add_to(&mut all, "system", &mut faults);
    user.add_to(&mut all, "user", &mut faults);
    let names: Vec<&str> = all.providers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().starts_with("user: a is left out"), "{}", faults[0]);
    let texts: Vec<&str> = all.titles[0].names.titles.iter().map(|t| t.text.as_str()).collect();
    assert_eq!(texts, ["Name 0 of A", "Name 1 of A", "Name 0 of B"]);
    // Only the machine's hive sets the test level.
    assert_eq!(all.test_level, TestLevel::All);
}

/// A damaged line about counters leaves out its provider.
#[test]
fn damaged_counter_lines_leave_out_their_provider() {
    let whole = full().to_text();
    for (line, instead) in [
        ("1848 = \"object\", \"multipleAggregate\"", "1848 = \"object\", \"some\""),
        ("1848 = \"object\", \"multipleAggregate\"", "1848 = 7"),
        ("1848 = \"object\", \"multipleAggregate\"", "; the object is not there"),
        ("\"272696576\"", "\"rate\""),
        ("\"-3\"", "\"-\""),
        ("\"advanced\"", "\"expert\""),
        ("1850 = \"counter\"", "x = \"counter\""),
        ("\"counter\", ", ""),
    ] {
        assert!(whole.contains(line), "{line}");
        let (hive, faults) =
            Hive::parse(Scope::System, whole.replacen(line, instead, 1).as_bytes());
        assert!(!faults.is_empty(), "{instead}");
        assert!(hive.get("My Provider").is_none() && hive.get("Zwei").is_some(), "{instead}");
    }
}

fn any_definition() -> impl Strategy<Value = (ProviderDefinition, Functions, bool)> {
    let text = "[ -~äß\\n\\t\"\\\\\u{202e}🦀]{1,12}";
    let names = proptest::collection::btree_map(0_u32..40, (text, text), 1..6);
    ("[a-dA-D]", names, proptest::option::of(text), any::<[bool; 3]>()).prop_map(
        |(name, texts, linkage, [disabled, declared, back])| {
            let mut made = ProviderDefinition::new(&name);
            let list = |help: bool| {
                let text = |(n, (a, b)): (&u32, &(String, String))| {
                    (2 * n, if help { b } else { a }.clone())
                };
                texts.iter().map(text).collect()
            };
            made.objects = texts.keys().take(1).map(|n| 2 * n).collect();
            made.titles =
                vec![Texts { language: LanguageId::GERMAN, names: list(false), help: list(true) }];
            let counters = |object: &mut DeclaredObject| {
                for n in texts.keys().skip(1) {
                    let kind = CounterType::PERF_COUNTER_RAWCOUNT;
                    object.counters.push(DeclaredCounter::new(2 * n, *n, kind));
                }
            };
            if declared {
                for offset in &made.objects {
                    let mut object = DeclaredObject::new(*offset, "", InstanceKind::Single);
                    counters(&mut object);
                    made.declared.push(object);
                }
            }
            let functions = Functions {
                linkage: linkage.map(|text| vec![text]),
                disabled: Some(disabled),
                memory_limit: Some(if disabled { 1 } else { 0 }),
                processes: Some(back),
                reads: None,
                ..library()
            };
            (made, functions, back)
        },
    )
}

proptest! {
    #![proptest_config(perfhive_testkit::proptest_config(256))]

    /// After any registrations in any order the file reads back the same, no indexes overlap,
    /// no provider's indexes move when another one is registered, and an emptied hive has
    /// nothing left.
    #[test]
    fn registering_keeps_its_promises(steps in proptest::collection::vec(any_definition(), 1..12)) {
        let mut hive = Hive::new(Scope::User);
        for (definition, functions, back) in &steps {
            let others: Vec<Registration> = hive
                .services()
                .filter(|one| fold(&one.name) != fold(&definition.name))
                .cloned()
                .collect();
            if *back {
                let known = hive.get(&definition.name).is_some();
                prop_assert_eq!(hive.unregister(&definition.name).is_ok(), known);
            } else {
                let (one, _) = hive.register(definition, functions).unwrap();
                prop_assert_eq!(hive.get(&definition.name), Some(&one));
                let names = &hive.languages[&LanguageId::GERMAN].names;
                for (offset, text) in &definition.titles[0].names {
                    prop_assert_eq!(names.get(&(one.first_counter + offset)), Some(text));
                }
                let again = hive.register(definition, functions).unwrap();
                prop_assert_eq!(again, (one, Change::Unchanged));
            }
            for other in &others {
                prop_assert_eq!(hive.get(&other.name), Some(other));
            }
            let all: Vec<_> = hive.services().collect();
            for (at, one) in all.iter().enumerate() {
                prop_assert!(span(one).end() <= &hive.last_help);
                for other in &all[at + 1..] {
                    prop_assert!(!overlap(one, other));
                }
            }
            let (again, faults) = Hive::parse(Scope::User, hive.to_text().as_bytes());
            prop_assert_eq!(faults, vec![]);
            prop_assert_eq!(&again, &hive);
        }
        let names: Vec<String> = hive.services().map(|one| one.name.clone()).collect();
        for name in names {
            hive.unregister(&name).unwrap();
        }
        let highest = hive.highest;
        prop_assert_eq!(hive, Hive { highest, ..Hive::new(Scope::User) });
    }

    /// Any bytes are read without panic, and the result can be written and read again.
    #[test]
    fn any_bytes_are_read(edits in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        let mut bytes = full().to_text().into_bytes();
        for (at, byte) in edits {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let (hive, _) = Hive::parse(Scope::System, &bytes);
        let (again, faults) = Hive::parse(Scope::System, hive.to_text().as_bytes());
        prop_assert_eq!(faults, vec![]);
        prop_assert_eq!(again, hive);
    }
}
