//! What the author of a library is told.

use crate::support::{Folder, host, registration};
use perfhive_extension::{Options, Severity, Verdict, check};
use std::time::Duration;

fn verdict(folder: &Folder, kind: &str) -> Verdict {
    let mut registration = registration(&folder.0.join("zoo.so"), kind);
    registration.collect_timeout = Duration::from_millis(500);
    registration.open_timeout = Duration::from_millis(500);
    check(&registration, &Options::new().host(host()))
}

/// The findings that are not good, as one text.
fn wrong(verdict: &Verdict) -> String {
    let findings = verdict.findings.iter().filter(|one| one.severity != Severity::Good);
    let lines = findings.map(|one| format!("{} {}: {}\n", one.severity, one.asked, one.message));
    lines.collect()
}

#[test]
fn sound_libraries_pass() {
    let folder = Folder::new("sound");
    folder.compile("tests/extension/zoo.c");
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
    let verdict = check(&registration, &Options::new().host(host()));
    assert_eq!(wrong(&verdict), "");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = Folder::new("unsound");
    folder.compile("tests/extension/zoo.c");
    let rows: [(&str, &str); 23] = [
        ("!crashes", "error Global: crashed with signal 11"),
        ("crashes", "error 50000: crashed with signal 11"),
        ("crashes in Open", "crashed with signal 11 (access outside of its memory) in Open"),
        ("refuses to open", "Open answered with error 2"),
        ("never comes back from Open", "did not come back from Open within 500ms"),
        ("never comes back from Close", "warning Close: does not come back within"),
        ("!never returns", "did not come back from Collect within 500ms"),
        ("!exits", "left its process with exit status 7"),
        ("!wrong byte count", "warning Global: the byte count says 176"),
        ("!wrong object count", "3 objects were announced, 1 were found (found at test level 1"),
        ("!overrun by 1 byte", "the guard region was written to at offset 63488"),
        ("!underrun by 1 page", "crashed with signal 11"),
        ("!points past its buffer", "buffer overrun: the data ends 8 bytes past"),
        ("!answers an error", "it answers error 1234"),
        ("!wants more and moves", "with ERROR_MORE_DATA the data pointer must stay"),
        ("!never has enough", "ERROR_MORE_DATA even with 67106816 bytes"),
        ("!answers everything", "error no such request: gives data that nobody asked for"),
        ("!changes its objects", "warning Global: its objects or counters differ"),
        ("!has nothing", "warning Global: it offers nothing"),
        ("opens once", "error Open: answers the second time with error 2"),
        ("!ends with the first Close", "error Close: after Open twice and Close once object 50000"),
        ("!is for one thread", "answers are wrong, the first one to "),
        ("!crashes in several threads", "error 4 threads: crashed with signal 6 (abort)"),
    ];
    for (kind, text) in rows {
        let verdict = verdict(&folder, kind);
        let wrong = wrong(&verdict);
        assert!(wrong.contains(text), "{kind}: {wrong}");
        // Objects that change are missed by whoever asks for them.
        let is_warning = text.starts_with("warning") && kind != "!changes its objects";
        let severity = if is_warning { Severity::Warning } else { Severity::Error };
        assert_eq!(verdict.severity(), severity, "{kind}: {wrong}");
    }
}

#[test]
fn a_library_that_does_not_count_its_room() {
    let folder = Folder::new("little-room");
    folder.compile("tests/extension/zoo.c");
    let wrong = wrong(&verdict(&folder, "!does not look at its room"));
    assert!(wrong.contains("outside of its buffer") || wrong.contains("past a buffer"), "{wrong}");
}

#[test]
fn indexes_that_are_not_its_own() {
    let folder = Folder::new("indexes");
    let library = folder.compile("tests/extension/zoo.c");
    let mut registration = registration(&library, "good");
    (registration.first_counter, registration.last_counter) = (60_000, 60_010);
    let verdict = check(&registration, &Options::new().host(host()));
    let wrong = wrong(&verdict);
    assert!(wrong.contains("uses the index 50002, which is not one of its names"), "{wrong}");
}
