use super::*;
use crate::identity::Identity;
use crate::label::InstanceLabel;
use proptest::prelude::*;

fn path(text: &str) -> CounterPath {
    text.parse().unwrap()
}

fn label(parent: Option<&str>, name: &str, order: u32) -> InstanceLabel {
    InstanceLabel { parent: parent.map(Into::into), name: name.into(), order }
}

/// Whether a pattern means the only instance of a sample.
fn means(pattern: &InstancePattern, parent: Option<&str>, name: &str, order: u32) -> bool {
    let labels = [label(parent, name, order)];
    pattern.among(&labels, &[Identity::Single]).next().is_some()
}

#[test]
fn usual_paths() {
    let p = path(r"\Memory\Available Bytes");
    assert_eq!(p, CounterPath::new("Memory", None, "Available Bytes"));

    let p = path(r"\\HOST\Process(java#2)\% Processor Time");
    assert_eq!(p.machine, Some(NamePattern::literal("HOST")));
    assert_eq!(p.instance, Some(InstancePattern::literal(None, "java", 2)));

    let p = path(r"\Thread(java/3#1)\ID Thread");
    assert_eq!(p.instance, Some(InstancePattern::literal(Some("java"), "3", 1)));

    let p = path(r"\Process(java#*)\ID Process");
    assert_eq!(p.instance.unwrap().order, OrderNumber::All);
    assert!(path(r"\Process(*)\ID Process").is_wild());
    assert!(path(r"\Mem*\A*Bytes").is_wild());
}

#[test]
fn names_that_look_like_syntax() {
    // Parentheses in pairs, slashes at an end and lone hashes need no escape.
    let p = path(r"\Network Interface(Intel(R) PRO)\Bytes Total/sec");
    assert_eq!(p.instance, Some(InstancePattern::literal(None, "Intel(R) PRO", 0)));
    for name in ["/", "/home", "a#b", "#x", "C#"] {
        let p = path(&format!(r"\LogicalDisk({name})\Free"));
        assert_eq!(p.instance, Some(InstancePattern::literal(None, name, 0)), "{name}");
        assert_eq!(p.to_string(), format!(r"\LogicalDisk({name})\Free"), "{name}");
    }
    for (text, name, order) in [("^#1", "#1", 0), ("#1", "", 1), ("#0", "", 0)] {
        let p = path(&format!(r"\Thing({text})\x"));
        assert_eq!(p.instance, Some(InstancePattern::literal(None, name, order)), "{text}");
        assert_eq!(p.to_string(), format!(r"\Thing({text})\x"));
    }
    let p = path(r"\Thing(p/#0)\x");
    assert_eq!(p.instance, Some(InstancePattern::literal(Some("p"), "", 0)));
    let p = path(r"\Process(a^)b^\c^*^#1^^)\x");
    assert_eq!(p.instance, Some(InstancePattern::literal(None, r"a)b\c*#1^", 0)));
    assert!(means(&p.instance.unwrap(), None, r"A)B\C*#1^", 0));
}

#[test]
fn a_name_with_slashes_written_as_parent_and_name() {
    let matches = |text: &str, name: &str| means(&path(text).instance.unwrap(), None, name, 0);
    for (text, name, fits) in [
        (r"\X(a/b)\x", "A/b", true),
        (r"\X(a/b/c)\x", "a/b/c", true),
        (r"\X(a/*)\x", "a/b/c", true),
        (r"\X(*/c)\x", "a/b/c", true),
        (r"\X(*b/c*)\x", "a/b/c/d", true),
        (r"\X(a/b)\x", "ab", false),
        (r"\X(a*/b)\x", "a/c", false),
        (r"\X(*/*)\x", "a", false),
    ] {
        assert_eq!(matches(text, name), fits, "{text} {name}");
    }
    // In time that grows with the name, not with its square.
    assert!(!matches(r"\X(*x/y)\x", &"/a".repeat(100_000)));
}

#[test]
fn faults_are_named_with_their_place() {
    for (text, at, message) in [
        ("", 0, "empty"),
        ("Memory", 0, "begins with a backslash"),
        (r"\", 1, "object is empty"),
        (r"\\", 2, "object is missing"),
        (r"\\\Memory\X", 2, "machine is empty"),
        (r"\Memory", 7, "counter is missing"),
        (r"\Memory\", 8, "counter is empty"),
        (r"\Memory\a\b", 9, "backslash in the counter"),
        (r"\Process(java\ID", 8, "never closed"),
        (r"\Process(ja(va)\ID", 8, "never closed"),
        (r"\Process)\ID", 8, "without an opening"),
        (r"\Process()\ID", 9, "instance is empty"),
        (r"\Process(a)b\ID", 11, "must follow"),
        (r"\Process(a#99999999999)\ID", 10, "too high"),
        ("\\Process(a\0)\\ID", 10, "NUL"),
    ] {
        let error = text.parse::<CounterPath>().unwrap_err();
        assert_eq!(error.at(), at, "{text}: {error}");
        assert!(error.message().contains(message), "{text}: {error}");
    }
}

#[test]
fn names_orders_and_wildcards_match_as_in_pdh() {
    let only = |text: &str| path(&format!(r"\P({text})\c")).instance.unwrap();
    assert!(means(&only("java"), None, "JAVA", 0));
    assert!(!means(&only("java"), None, "java", 1));
    assert!(means(&only("java#1"), None, "java", 1));
    assert!(means(&only("java#*"), None, "java", 7));
    assert!(means(&only("*"), None, "java", 7));
    assert!(means(&only("j*a"), None, "java", 7));
    assert!(!means(&only("j*x"), None, "java", 0));
    assert!(means(&only("*"), Some("java"), "3", 0));
    assert!(means(&only("java/*"), Some("java"), "3", 0));
    assert!(!means(&only("java"), Some("java"), "3", 0));
    // A slash in a name that has no parent.
    assert!(means(&only("a/b"), None, "a/b", 0));
    assert!(means(&only("/a/b"), None, "/a/b", 0));
    // Overlapping pieces.
    assert!(!means(&only("ab*ba"), None, "aba", 0));
    assert!(means(&only("*a*a*"), None, "aa", 0));
    assert!(means(&only("ÄRGER"), None, "ärger", 0));
}

/// As relog prints `Full Image(bash//usr/bin/bash)`: only one of both parts is written in another way.
#[test]
fn the_spelling_of_pdh_is_found_behind_an_ordinary_parent() {
    let pattern = path(r"\P(bash/_usr_bin_bash)\c").instance.unwrap();
    assert!(means(&pattern, Some("bash"), "/usr/bin/bash", 0));
    assert!(!means(&pattern, Some("dash"), "/usr/bin/bash", 0));
    let pattern = path(r"\P(foo[1]/3)\c").instance.unwrap();
    assert!(means(&pattern, Some("foo(1)"), "3", 0));
}

#[test]
fn the_closest_spelling_wins() {
    let labels = [
        label(None, "Sleep", 0),
        label(None, "sleep", 0),
        label(None, "a", 0),
        label(None, "a#2", 0),
        label(None, "Intel(R) PRO/1000", 0),
        label(None, "b", 2),
        label(None, "b#2", 0),
    ];
    let meant = |text: &str| {
        let pattern = path(&format!(r"\P({text})\c")).instance.unwrap();
        let identities = [const { Identity::Single }; 7];
        let found = pattern.among(&labels, &identities);
        found.map(|(_, label, _)| label.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(meant("sleep"), ["sleep"]);
    assert_eq!(meant("Sleep"), ["Sleep"]);
    assert_eq!(meant("SLEEP"), ["Sleep", "sleep"]);
    assert_eq!(meant("s*p"), ["Sleep", "sleep"]);
    assert_eq!(meant("a#2"), ["a#2"]);
    // The second of a name precedes a name that ends so.
    assert_eq!(meant("b#2"), ["b"]);
    assert_eq!(meant("b^#2"), ["b#2"]);
    assert_eq!(meant("Intel[R] PRO_1000"), ["Intel(R) PRO/1000"]);
    assert_eq!(meant("Intel[R]*"), ["Intel(R) PRO/1000"]);
    assert_eq!(meant("Intel(R) PRO_1000"), [""; 0]);
    // What is printed means the instance that printed it.
    for label in &labels {
        assert_eq!(meant(&label.to_string()), [label.name.to_string()], "{label}");
    }
}

fn name() -> impl Strategy<Value = String> {
    // The characters that mean something, and some that do not.
    proptest::collection::vec(
        prop_oneof![
            Just('\\'),
            Just('('),
            Just(')'),
            Just('/'),
            Just('#'),
            Just('*'),
            Just('^'),
            Just('1'),
            Just('a'),
            Just('%'),
            Just(' '),
            Just('Ä'),
            Just('🦀')
        ],
        1..8,
    )
    .prop_map(|chars| chars.into_iter().collect())
}

fn pattern() -> impl Strategy<Value = NamePattern> {
    prop_oneof![
        name().prop_map(|name| NamePattern::literal(&name)),
        name().prop_map(|name| NamePattern::with_wildcards(&name)),
    ]
}

fn order() -> impl Strategy<Value = OrderNumber> {
    prop_oneof![
        Just(OrderNumber::Default),
        Just(OrderNumber::All),
        (0u32..20).prop_map(OrderNumber::Nth)
    ]
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same(
        machine in proptest::option::of(pattern()),
        object in pattern(),
        instance in proptest::option::of((proptest::option::of(pattern()), pattern(), order())),
        counter in pattern(),
    ) {
        let instance = instance
            .map(|(parent, name, order)| InstancePattern { parent, name, order });
        let built = CounterPath { machine, object, instance, counter };
        let text = built.to_string();
        let parsed: CounterPath = text.parse()
            .map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(parsed, built, "{}", text);
    }

    #[test]
    fn any_text_is_a_path_or_an_error(text in "\\PC*") {
        if let Ok(path) = text.parse::<CounterPath>() {
            let again: CounterPath = path.to_string().parse().unwrap();
            prop_assert_eq!(again, path);
        }
    }

    #[test]
    fn a_name_matches_itself(parent in proptest::option::of(name()), name in name(), n in 0u32..3) {
        let pattern = InstancePattern::literal(parent.as_deref(), &name, n);
        prop_assert!(means(&pattern, parent.as_deref(), &name, n));
    }
}

#[test]
fn pid_selects_process_and_threads_and_with_a_number_a_name() {
    let labels = [label(None, "java", 0), label(None, "java", 1), label(None, "pid:7", 0)];
    let process = |id| Identity::Process { id, start: 1 };
    let identities = [process(12), process(7), process(9)];
    let meant = |text: &str| {
        let pattern = path(&format!(r"\P({text})\c")).instance.unwrap();
        let found = pattern.among(&labels, &identities);
        found.map(|(_, label, _)| label.plain()).collect::<Vec<_>>()
    };
    assert_eq!(meant("pid:12"), ["java"]);
    // Another process is called so.
    assert_eq!(meant("pid:7"), ["java#1"]);
    assert_eq!(meant("pid:7#0"), ["pid:7"]);
    assert_eq!(labels[2].to_string(), "pid:7#0");
    assert_eq!(meant("pid:1"), [""; 0]);
    let threads = path(r"\T(pid:12/*)\c").instance.unwrap();
    let thread = |process, id| Identity::Thread { process, id, start: 1 };
    let of = |identity| threads.among(&labels, &[identity]).next().is_some();
    assert!(of(thread(12, 13)) && !of(thread(13, 12)) && !of(process(12)));
}
