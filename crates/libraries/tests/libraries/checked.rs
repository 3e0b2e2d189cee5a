//! The findings of `check`.

use crate::support::{Folder, OBJECT, host, registration};
use perfhive_contract::{InstanceKind, RegisteredCounter, RegisteredObject};
use perfhive_format::{CounterType, TitleIndex};
use perfhive_libraries::{HostOptions, Severity, Verdict, check, check_with};
use std::time::Duration;

fn verdict(folder: &Folder, kind: &str) -> Verdict {
    let mut registration = registration(&folder.0.join("zoo.so"), kind);
    registration.collect_timeout = Duration::from_secs(2);
    registration.open_timeout = Duration::from_secs(2);
    check(&registration, &HostOptions::new().host(host()))
}

/// The findings that are not good, as one text.
fn wrong(verdict: &Verdict) -> String {
    let findings = verdict.findings.iter().filter(|one| one.severity != Severity::Good);
    let lines = findings.map(|one| format!("{} {}: {}\n", one.severity, one.asked, one.message));
    lines.collect()
}

#[test]
fn sound_libraries_have_no_findings() {
    let folder = Folder::new("sound");
    folder.compile("tests/libraries/zoo.c");
    for kind in ["good", "is large", "!is large", "!is costly", "!reaches another machine"] {
        let verdict = verdict(&folder, kind);
        assert_eq!(wrong(&verdict), "", "{kind}");
        assert_eq!(verdict.objects.len(), 1, "{kind}");
        assert!(verdict.findings.len() >= 11, "{kind}: {:?}", verdict.findings);
        let said = |text: &str| verdict.findings.iter().any(|one| one.message.contains(text));
        assert!(said("may be called a second time") && said("leaves the other readers"), "{kind}");
        assert!(said("at once, with different requests: all are sound"), "{kind}");
    }
    let example = folder.compile("examples/c/gauges.c");
    let mut registration = registration(&example, "");
    registration.collect = "CollectGauges".to_string();
    registration.open = Some("OpenGauges".to_string());
    registration.close = Some("CloseGauges".to_string());
    let verdict = check(&registration, &HostOptions::new().host(host()));
    assert_eq!(wrong(&verdict), "");
}

#[test]
fn each_faulty_library_has_its_finding() {
    let folder = Folder::new("unsound");
    folder.compile("tests/libraries/zoo.c");
    let rows: [(&str, &str); 30] = [
        ("!crashes", "error Global: crashed with signal 11"),
        ("crashes", "error 50000: crashed with signal 11"),
        ("crashes in Open", "crashed with signal 11 (access outside of its memory) in Open"),
        ("refuses to open", "Open answered with error 2"),
        ("never comes back from Open", "did not come back from Open within 2s"),
        ("never comes back from Close", "warning Close: does not come back within"),
        ("crashes in the last Close", "error Close: crashed with signal 11"),
        ("exits in the last Close", "error Close: left its process with exit status 0 in Close"),
        (
            "never comes back from the last Close",
            "warning Close: does not come back within half a second",
        ),
        ("!never returns", "did not come back from Collect within 2s"),
        ("!exits", "left its process with exit status 7"),
        ("!wrong byte count", "warning Global: the byte count says 176"),
        ("!wrong object count", "3 objects were announced, 1 were found (found at test level 1"),
        ("!overrun by 1 byte", "the guard region was written to at offset 63488"),
        ("!underrun by 1 page", "crashed with signal 11"),
        ("!points past its buffer", "buffer overrun: the data ends 8 bytes past"),
        ("!answers an error", "it returns error 1234"),
        ("!wants more and moves", "with ERROR_MORE_DATA the data pointer must stay"),
        ("!never has enough", "ERROR_MORE_DATA even with 67106816 bytes"),
        ("!answers everything", "error no such request: gives data that was not requested"),
        ("!changes its objects", "warning Global: its objects or counters differ"),
        ("!has nothing", "is checked with --machine NAME"),
        ("opens once", "error Open: returns error 2 the second time"),
        ("!ends with the first Close", "error Close: after Open twice and Close once object 50000"),
        ("!is for one thread", "answers are wrong, the first one to "),
        ("!takes another object", "with one thread the answer is wrong too"),
        ("takes another object", "error 50000: gives object 238 and leaves out object 50000"),
        (
            "gives more than its own",
            "error 50000: readers do not get all of it: left out object 238",
        ),
        ("!reaches without a block", "error Foreign NO-SUCH-MACHINE: this is not performance data"),
        ("!crashes in several threads", "error 4 threads: crashed with signal 6 (abort)"),
    ];
    for (kind, text) in rows {
        let verdict = verdict(&folder, kind);
        let wrong = wrong(&verdict);
        assert!(wrong.contains(text), "{kind}: {wrong}");
        // A changed object is missing for its requests.
        let is_warning =
            wrong.lines().all(|line| line.starts_with("warning")) && kind != "!changes its objects";
        let severity = if is_warning { Severity::Warning } else { Severity::Error };
        assert_eq!(verdict.severity(), severity, "{kind}: {wrong}");
    }
}

/// `check` finds what keeps readers from a value: the library writes one word of its answer
/// wrong. The definition of its counter begins at byte 64, its first instance at byte 104.
#[test]
fn content_without_a_value_for_any_reader_is_an_error() {
    let folder = Folder::new("content");
    folder.compile("tests/libraries/zoo.c");
    for (word, text) in [
        ("100 0", "its offset is 0, inside the length field"),
        ("100 8", "its data ends at byte 12 and the counter blocks at byte 8"),
        ("100 10000", "its data ends at byte 65540"),
        ("100 FFFF0000", "its data ends at byte 4294901764"),
        ("96 400", "its data ends at byte 1028"),
        ("96 3", "3 bytes are not a number"),
        ("92 40020500", "needs a base, and the next definition is not a base"),
        ("92 00080000", "no formula is known for its type 0x00080000"),
        ("92 20610500", "PerfTime or PerfFreq of PERF_OBJECT_TYPE is 0"),
        ("124 FFFF", "PERF_INSTANCE_DEFINITION.NameLength"),
        ("128 D800", "is not text of code page 0"),
        ("128 62", "instances 0 and 1 of object 50000 are both \"b\""),
    ] {
        let verdict = verdict(&folder, &format!("!puts {word}"));
        let wrong = wrong(&verdict);
        assert!(wrong.contains("error Global: "), "{word}: {wrong}");
        assert!(wrong.contains(text), "{word}: {wrong}");
    }
}

/// A gauge that is declared as a rate steps back between two answers.
#[test]
fn gauge_declared_as_a_rate_is_a_warning() {
    let folder = Folder::new("gauge");
    folder.compile("tests/libraries/zoo.c");
    let verdict = verdict(&folder, "!falls");
    let wrong = wrong(&verdict);
    assert!(wrong.contains("warning Global: counter 50002 of object 50000: as"), "{wrong}");
    assert!(wrong.contains("it went backwards between two answers"), "{wrong}");
    assert_eq!(verdict.severity(), Severity::Warning, "{wrong}");
}

#[test]
fn library_that_ignores_its_room_is_found() {
    let folder = Folder::new("little-room");
    folder.compile("tests/libraries/zoo.c");
    let wrong = wrong(&verdict(&folder, "!does not look at its room"));
    assert!(wrong.contains("outside of its buffer") || wrong.contains("past a buffer"), "{wrong}");
}

/// The manifest is compared with the library's blocks.
#[test]
fn differences_to_the_manifest_are_warnings() {
    let folder = Folder::new("manifest");
    let library = folder.compile("tests/libraries/zoo.c");
    let declared = |kind, scale, advanced| {
        let counter = RegisteredCounter::new(TitleIndex(OBJECT.0 + 2), kind);
        let counters = vec![counter.scale(scale).advanced(advanced)];
        RegisteredObject::new(OBJECT, InstanceKind::Multiple, counters)
    };
    let good = declared(CounterType::PERF_COUNTER_RAWCOUNT, 0, false);
    let mut single = good.clone();
    single.instances = InstanceKind::Single;
    let mut other = good.clone();
    other.name = TitleIndex(OBJECT.0 + 10);
    let mut more = good.clone();
    let kind = CounterType::PERF_COUNTER_RAWCOUNT;
    more.counters.push(RegisteredCounter::new(TitleIndex(OBJECT.0 + 4), kind));
    let mut none = good.clone();
    none.counters.clear();
    for (objects, texts) in [
        (vec![good.clone()], vec![]),
        (vec![single], vec!["declared as single, and has instances"]),
        (
            vec![declared(CounterType::PERF_COUNTER_COUNTER, -1, true)],
            vec![
                "the type of counter 50002 is PERF_COUNTER_COUNTER, the library that it is \
                 PERF_COUNTER_RAWCOUNT",
                "the scale of counter 50002 is -1, the library that it is 0",
                "the detail level of counter 50002 is advanced, the library that it is standard",
            ],
        ),
        (
            vec![other],
            vec!["declares object 50010, which the library does not", "lacks object 50000"],
        ),
        (vec![more], vec!["declares counter 50004 of object 50000"]),
        (vec![none], vec!["lacks counter 50002 of object 50000"]),
    ] {
        let mut registration = registration(&library, "good");
        registration.declared = objects;
        let verdict = check(&registration, &HostOptions::new().host(host()));
        let wrong = wrong(&verdict);
        assert_eq!(wrong.lines().count(), texts.len(), "{wrong}");
        assert!(texts.iter().all(|text| wrong.contains(text)), "{wrong}");
        if texts.is_empty() {
            assert!(verdict.findings.iter().any(|one| one.asked == "manifest"));
        }
    }
}

#[test]
fn unregistered_indexes_are_found() {
    let folder = Folder::new("indexes");
    let library = folder.compile("tests/libraries/zoo.c");
    let mut registration = registration(&library, "ignores its indexes");
    (registration.first_counter, registration.last_counter) = (60_000, 60_010);
    for (objects, text) in [
        (
            vec![],
            "left out object 50000, which its registration does not claim; it may give 60000 to",
        ),
        (vec![OBJECT], "uses the index 50002, which is not one of its names (60000 to 60010)"),
    ] {
        registration.objects = objects;
        let verdict = check(&registration, &HostOptions::new().host(host()));
        let wrong = wrong(&verdict);
        assert!(wrong.contains(text), "{wrong}");
        assert_eq!(verdict.severity(), Severity::Error);
    }
}

/// A library for other machines is asked for a known and for an unknown machine.
#[test]
fn blocks_of_other_machines_are_checked() {
    let folder = Folder::new("machines");
    let library = folder.compile("tests/libraries/zoo.c");
    let options = HostOptions::new().host(host());
    for (kind, machine, severity, text) in [
        ("reaches another machine", "MARS", Severity::Good, "gives 50100 of machine MARS"),
        ("reaches another machine", "VENUS", Severity::Warning, "the machine is unknown to it"),
        ("reaches any machine", "VENUS", Severity::Good, "gives 50100 of machine MARS"),
        ("reaches without a block", "VENUS", Severity::Error, "begins with a PERF_DATA_BLOCK"),
    ] {
        let registration = registration(&library, &format!("!{kind}"));
        let verdict = check_with(&registration, &options, &[machine.to_string()]);
        let asked = format!("Foreign {machine}");
        let finding = verdict.findings.iter().find(|one| one.asked == asked).unwrap();
        assert_eq!(finding.severity, severity, "{kind} {machine}: {finding:?}");
        assert!(finding.message.contains(text), "{kind} {machine}: {finding:?}");
        // It is sound from several threads as well.
        assert_eq!(verdict.severity(), severity, "{kind} {machine}: {:?}", verdict.findings);
    }
}
