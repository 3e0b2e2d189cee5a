//! `perfhive experiment`.
#![cfg(target_os = "linux")]

use crate::run::{Folder, command, finish, perfhive};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The command with a place for its sockets.
fn experiment(folder: &Folder, args: &[&str]) -> Command {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let mut command = command();
    // Managers look for experiments in both.
    command.env("XDG_RUNTIME_DIR", folder.path()).env("TMPDIR", folder.path());
    command.arg("experiment").args(args);
    command
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

/// Asserts that nothing of the experiment is left in the runtime folder.
#[track_caller]
fn is_tidy(folder: &Folder) {
    let left: Vec<_> = std::fs::read_dir(folder.path().join("perfhive")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn program_is_measured_at_an_interval_and_its_exit_code_passed_on() {
    let folder = Folder::new();
    let file = folder.path().join("records.jsonl");
    let args = ["run", "--on", "interval 5ms", "-o", file.to_str().unwrap(), "--", "sh", "-c"];
    let mut command = experiment(&folder, &args);
    let run = finish(command.arg("echo out; sleep 0.2; exit 7"));
    assert_eq!((run.code, run.out.as_str()), (Some(7), "out\n"), "{}", run.err);
    for word in ["interval 5ms", "delay", "sample", "Process/Working Set#", "P99", "Cost: "] {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
    let lines = lines(&file);
    assert_eq!(lines[0]["kind"], "experiment");
    assert_eq!(lines[0]["program"][0], "sh");
    let records = of_kind(&lines, "record");
    assert!(records.len() >= 3, "{}", records.len());
    let sensor = format!("linux.procfs/Process/Working Set#{}", lines[0]["pid"]);
    let sizes: Vec<f64> =
        records.iter().filter_map(|one| one["values"][&sensor].as_f64()).collect();
    // A program that ends has no memory any more, and then there is no value.
    assert!(sizes.len() >= 3 && sizes.iter().all(|size| *size > 0.0), "{sizes:?}");
    let end = of_kind(&lines, "end");
    assert_eq!(end[0]["sources"][0]["events"], records.len());
    is_tidy(&folder);
}

#[test]
fn a_call_that_never_comes_is_told() {
    let folder = Folder::new();
    let args = ["run", "--on", "interval 5ms", "--on", "call chekout", "--", "sleep", "0.1"];
    let run = finish(&mut experiment(&folder, &args));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("call chekout: no such call came"), "{}", run.err);
}

/// A program in C with calls at named points.
const SHOP: &str = r#"
#include "perfhive_experiment.h"
int main(void)
{
    for (int i = 0; i < 50; i++) {
        perfhive_start("checkout");
        perfhive_call("paid");
        perfhive_end("checkout");
    }
    return 0;
}
"#;

fn compile(folder: &Folder, source: &str) -> String {
    let file = folder.file("program.c", source);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiment/include");
    let program = folder.path().join("program").display().to_string();
    let mut cc = Command::new("cc");
    let status = cc.arg("-pthread").arg("-I").arg(include).args([&file, "-o", &program]).status();
    assert!(status.unwrap().success());
    program
}

#[test]
fn program_is_measured_at_its_calls() {
    let folder = Folder::new();
    let program = compile(&folder, SHOP);
    let file = folder.path().join("records.jsonl");
    let args = ["run", "--on", "call checkout", "--on", "call paid"];
    let mut command = experiment(&folder, &args);
    command.args(["--sensor", "Process/Working Set", "--sensor", "System/System Up Time", "-o"]);
    let run = finish(command.arg(&file).arg("--").arg(&program));
    assert_eq!(run.code, Some(0), "{}", run.err);
    for word in ["checkout start", "checkout end", "checkout section", "paid", "thread time"] {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
    assert!(run.err.ends_with("No event was lost.\n"), "{}", run.err);
    let lines = lines(&file);
    assert_eq!(of_kind(&lines, "record").len(), 150);
    let sections = of_kind(&lines, "section");
    assert_eq!(sections.len(), 50);
    for section in sections {
        assert_eq!((&section["event"], &section["calls"]), (&"checkout".into(), &2.into()));
        assert!(section["seconds"].as_f64().unwrap() > 0.0);
    }
    is_tidy(&folder);
}

/// A program with sections of some milliseconds, of which every third call alone is recorded. The end of one section
/// is lost with a start, because perfhive is stopped meanwhile.
const CUT: &str = r#"
#include "perfhive_experiment.h"
#include <signal.h>
int main(void)
{
    for (int i = 0; i < 30; i++) {
        perfhive_start("short");
        perfhive_end("short");
    }
    perfhive_start("long");
    usleep(200000);
    kill(getppid(), SIGSTOP);
    for (int i = 0; i < 20000; i++)
        perfhive_call("flood");
    perfhive_end("long");
    perfhive_start("long");
    kill(getppid(), SIGCONT);
    /* Until there is room for calls again, on a busy machine, too. */
    usleep(1000000);
    perfhive_end("long");
    perfhive_start("last");
    perfhive_end("last");
    return 0;
}
"#;

#[test]
fn events_that_are_left_out_or_lost_lengthen_no_section() {
    let folder = Folder::new();
    let program = compile(&folder, CUT);
    let file = folder.path().join("records.jsonl");
    let mut command = experiment(&folder, &["run", "--where", "call short: every 3", "-o"]);
    command.arg(&file);
    for name in ["short", "long", "last"] {
        command.args(["--on", &format!("call {name}")]);
    }
    let run = finish(command.args(["--", &program]));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines = lines(&file);
    let sections: Vec<&Value> =
        of_kind(&lines, "section").iter().map(|one| &one["event"]).collect();
    assert_eq!(sections, ["last"], "{}", run.err);
    let end = of_kind(&lines, "end")[0];
    assert_eq!(end["unmatched"], 20 + 2, "{end}");
    assert!(end["sources"][0]["missed"].as_u64() > Some(1000), "{end}");
    assert!(run.err.contains("! 22 starts without an end"), "{}", run.err);
    // The view has no bar for them either.
    let source = format!("file:{}", file.display());
    let run = perfhive(["get", "-s", &source, r"\Experiment Events(long)\Open Sections"]);
    assert!(run.out.contains('0'), "{}", run.out);
}

/// A program that knows nothing of perfhive, with threads and forks.
const UNMODIFIED: &str = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int work(int i)
{
    __asm__ volatile("" : "+r"(i));
    return i;
}
static void *run(void *unused)
{
    for (int i = 0; i < 20; i++)
        work(i);
    return unused;
}
/* The probe shop:paid, as sys/sdt.h makes one. */
__attribute__((noinline)) static void paid(void)
{
    __asm__ volatile(
        "990: nop\n"
        ".pushsection .note.stapsdt,\"\",\"note\"\n"
        ".balign 4\n"
        ".4byte 992f-991f, 994f-993f, 3\n"
        "991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n"
        "993: .8byte 990b, 0, 0\n"
        ".asciz \"shop\"\n"
        ".asciz \"paid\"\n"
        ".asciz \"\"\n"
        "994: .balign 4\n"
        ".popsection\n");
}
int main(void)
{
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        paid();
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
    }
    if (fork() == 0) {
        run(NULL);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
"#;

#[test]
fn unmodified_program_is_measured_at_its_functions_and_threads() {
    let folder = Folder::new();
    let program = compile(&folder, UNMODIFIED);
    let file = folder.path().join("records.jsonl");
    let of_file = format!("uprobe {program}:main");
    let args = ["run", "--on", "uprobe work", "--on", "uretprobe work", "--on", &of_file, "-o"];
    let mut command = experiment(&folder, &args);
    command.arg(&file).args([
        "--on",
        "thread start",
        "--on",
        "thread end",
        "--on",
        "usdt shop:paid",
    ]);
    command.args(["--", &program]);
    let run = finish(&mut command);
    if run.code == Some(3) && run.err.contains("CAP_SYS_ADMIN") {
        eprintln!("not tested: {}", run.err);
        return;
    }
    assert_eq!(run.code, Some(0), "{}", run.err);
    for word in ["work start", "work section", "program:main", "thread section"] {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
    assert!(run.err.ends_with("No event was lost.\n"), "{}", run.err);
    let lines = lines(&file);
    let count = |kind: &str, event: &str| {
        of_kind(&lines, kind).iter().filter(|one| one["event"] == event).count()
    };
    assert_eq!((count("record", "work"), count("section", "work")), (120, 60));
    assert_eq!((count("record", "thread"), count("section", "thread")), (4, 2));
    assert_eq!((count("record", "program:main"), count("record", "shop:paid")), (1, 2));
    assert!(of_kind(&lines, "section").iter().all(|one| one["calls"] == 0));
    is_tidy(&folder);
}

#[test]
fn probe_that_is_not_there_is_one_error_before_anything_runs() {
    let folder = Folder::new();
    for (event, code, words) in [
        ("uprobe no_such_function", 1, "no function no_such_function"),
        ("usdt shop:paid", 1, "/true: it has no USDT probes"),
        ("uprobe /no/such:work", 1, "/no/such: No such file"),
        ("uprobe /dev/null:work", 2, "/dev/null: "),
    ] {
        let line =
            finish(&mut experiment(&folder, &["run", "--on", event, "--", "true"])).fails(code);
        assert!(line.starts_with(event) && line.contains(words), "{line}");
    }
    is_tidy(&folder);
}

#[test]
fn records_in_a_recording_are_read_by_every_command() {
    let folder = Folder::new();
    let program = compile(&folder, SHOP);
    let file = folder.path().join("records.phr").display().to_string();
    let args = ["run", "--on", "call *", "--sensor", "Process/Working Set", "-o", &file, "--"];
    // The second one replaces the first one.
    for _ in 0..2 {
        let run = finish(experiment(&folder, &args).arg(&program));
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    // Nothing else does.
    let before = std::fs::read(&file).unwrap();
    let source = format!("file:{file}");
    let path = r"\Experiment Events(checkout)\Events";
    let line = perfhive(["get", "-s", &source, path, "-o", &file]).fails(2);
    assert!(line.contains("is a recording"), "{line}");
    assert!(std::fs::read(&file).unwrap() == before);
    let paths = [
        r"\Experiment Events(checkout)\Events",
        r"\Experiment Events(checkout)\Open Sections",
        r"\Experiment Events(checkout)\Section Seconds",
        r"\Experiment Events(paid)\Events",
        r"\Process(*)\Working Set",
    ];
    let source = format!("file:{file}");
    let chosen = paths.iter().flat_map(|path| ["-p", path]);
    let report = perfhive(["report", "-s", &source, "--json"].into_iter().chain(chosen)).ok();
    let report: Value = serde_json::from_str(&report).unwrap();
    let counter = |place: usize| {
        let all = report["counters"].as_array().unwrap();
        let path = all.iter().find(|one| one["path"].as_str() == Some(paths[place]));
        path.unwrap_or_else(|| panic!("{} in {report:#}", paths[place]))["figures"].clone()
    };
    assert_eq!((&counter(0)["maximum"], &counter(3)["maximum"]), (&50.0.into(), &50.0.into()));
    assert_eq!(counter(1)["minimum"], 0.0);
    let seconds = counter(2);
    assert_eq!(seconds["count"], 50, "{seconds}");
    assert!(seconds["minimum"].as_f64().unwrap() >= 0.0);
    // The first sample is that of the first event.
    let first = perfhive(["get", "-s", &source, "--json", paths[0]]).ok();
    assert_eq!(first.matches("\"value\":1,").count(), 1, "{first}");
    // Nothing else is written behind the records.
    let line = perfhive(["record", "-o", &file, "-n", "1", "System"]).fails(3);
    assert!(line.contains("the records of an experiment"), "{line}");
}

/// Writes the text of records into a recording; returns the path of the recording.
fn recorded(folder: &Folder, text: &str) -> String {
    use std::io::Write as _;
    let file = folder.path().join("known.phr");
    let mut out = perfhive::recording::EventRecording::create(&file, "box", "shop").unwrap();
    out.write_all(text.as_bytes()).unwrap();
    file.display().to_string()
}

#[test]
fn report_of_records_is_the_same_from_a_recording() {
    let folder = Folder::new();
    let text = known_records();
    let (lines, recording) = (folder.file("known.jsonl", &text), recorded(&folder, &text));
    for more in [&[][..], &["--json"], &["--around", "1s"]] {
        let report = |file: &str| perfhive(["report", file].iter().chain(more)).ok();
        let of_lines = report(&lines);
        assert!(of_lines.contains("checkout"), "{of_lines}");
        assert_eq!(report(&recording), of_lines);
    }
    let get = |file: &str| {
        perfhive(["get", "-s", &format!("file:{file}"), r"\Process(7)\Working Set"]).ok()
    };
    assert!(get(&lines).contains("1.0  MiB"), "{}", get(&lines));
    assert_eq!(get(&recording), get(&lines));
}

#[test]
fn recording_of_records_that_is_cut_or_damaged_loses_that_part_alone() {
    let folder = Folder::new();
    let text = known_records();
    let (head, rest) = text.split_at(text.len() / 2);
    let file = recorded(&folder, head);
    let first = std::fs::read(&file).unwrap().len();
    {
        // As a delivery that came later.
        use std::io::Write as _;
        let path = folder.path().join("both.phr");
        let mut out = perfhive::recording::EventRecording::create(&path, "box", "shop").unwrap();
        out.write_all(head.as_bytes()).unwrap();
        out.write_all(rest.as_bytes()).unwrap();
    }
    let whole = std::fs::read(folder.path().join("both.phr")).unwrap();
    let counts = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let run = perfhive(["report", &file, "--json"]);
        let report: Value = serde_json::from_str(&run.out).unwrap_or_default();
        let events = report["events"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count: u64 = events.iter().map(|one| one["count"].as_u64().unwrap()).sum();
        (count, run.err)
    };
    let (all, said) = counts(&whole);
    assert_eq!((all, said.as_str()), (40, ""));
    let (cut, said) = counts(&whole[..whole.len() - 1]);
    assert!((10..40).contains(&cut) && said.contains("the last line is not complete"), "{said}");
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(counts(&damaged).1.contains("damaged and left out"));
    damaged.clone_from(&whole);
    damaged[first - 1] ^= 1;
    let (rest, said) = counts(&damaged);
    assert!(rest < 40 && said.contains("damaged and left out"), "{rest} {said}");
}

#[test]
fn events_that_where_leaves_out_are_counted_as_filtered() {
    let folder = Folder::new();
    let program = compile(&folder, SHOP);
    let file = folder.path().join("records.jsonl");
    let args = ["run", "--on", "call checkout", "--on", "call paid", "--where", "seconds > 3600"];
    let mut command = experiment(&folder, &args);
    command.args(["--where", "call paid: type = point and every 10", "-o"]).arg(&file).arg("--");
    let run = finish(command.arg(&program));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("150 events were filtered"), "{}", run.err);
    let lines_of = lines(&file);
    assert!(of_kind(&lines_of, "record").is_empty());
    let args = ["run", "--on", "call checkout", "--on", "call paid"];
    let mut command = experiment(&folder, &args);
    command.args(["--where", "call paid: every 10", "-o"]).arg(&file).arg("--");
    let run = finish(command.arg(&program));
    assert!(run.err.contains("45 events were filtered"), "{}", run.err);
    let lines_of = lines(&file);
    assert_eq!(
        (of_kind(&lines_of, "record").len(), of_kind(&lines_of, "section").len()),
        (105, 50)
    );
    for wrong in ["second > 1", "call other: pid = 1", "'No Such Sensor' > 1", "seconds > -1"] {
        let args = ["run", "--on", "call paid", "--where", wrong, "--", "true"];
        finish(&mut experiment(&folder, &args)).fails(2);
    }
    is_tidy(&folder);
}

/// A program that calls at points of 300 names, once each, and then at the first one as often as
/// its last argument says.
const MANY: &str = r#"
#include "perfhive_experiment.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    char name[32];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "point %d", i);
        perfhive_call(name);
    }
    for (int i = 0; i < atoi(words[count - 1]); i++)
        perfhive_call("point 0");
    return 0;
}
"#;

#[test]
fn calls_beyond_the_most_names_are_counted_as_missed() {
    let folder = Folder::new();
    let program = compile(&folder, MANY);
    let file = folder.path().join("records.jsonl");
    let mut command = experiment(&folder, &["run", "--on", "call *", "-o"]);
    let run = finish(command.arg(&file).args(["--", &program, "0"]));
    assert!(run.err.contains("44 events were missed"), "{}", run.err);
    assert!(!run.err.contains("No event was lost"), "{}", run.err);
    let lines_of = lines(&file);
    assert_eq!(of_kind(&lines_of, "record").len(), 256);
    assert_eq!(of_kind(&lines_of, "end")[0]["sources"][0]["missed"], 44);
    // All of them have figures, and are counters, and nothing is left out.
    let run = perfhive(["report", file.to_str().unwrap(), "--json"]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((report["events"].as_array().unwrap().len(), &report["left_out"]), (256, &0.into()));
    let source = format!("file:{}", file.display());
    let run = perfhive(["list", "-s", &source, "Experiment Events"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn share_of_the_run_time_is_of_what_was_measured_within_it() {
    let folder = Folder::new();
    let program = compile(&folder, MANY);
    // Most of these calls are measured when the program has ended.
    let args = ["run", "--on", "call point 0", "--", &program, "10000"];
    let run = finish(&mut experiment(&folder, &args));
    let share = run.err.split_once("in all ").unwrap().1.split_once(" %").unwrap().0;
    let share: f64 = share.replace(',', "").parse().unwrap();
    assert!((0.0..=100.0).contains(&share), "{}", run.err);
}

#[test]
fn events_that_could_not_be_told_apart_are_refused() {
    let folder = Folder::new();
    for (one, other) in [
        ("interval 1s", "interval 1000ms"),
        ("call work", "uprobe work"),
        ("signal USR1", "signal USR1"),
        ("call thread", "thread start"),
    ] {
        let args = ["run", "--on", one, "--on", other, "--", "touch", "witness"];
        let line = finish(&mut experiment(&folder, &args)).fails(2);
        assert!(line.contains(one) && line.contains("--on"), "{line}");
    }
}

#[test]
fn delivery_that_fails_is_not_called_whole() {
    use std::io::Read as _;
    let folder = Folder::new();
    let socket = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let address = format!("unix:{}", socket.display());
    let args = ["run", "--on", "interval 5ms", "--deliver", &address, "--", "sleep", "0.3"];
    let child = experiment(&folder, &args).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // The receiver goes away after a byte.
    listener.accept().unwrap().0.read_exact(&mut [0]).unwrap();
    let run = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(3), "{err}");
    assert!(err.contains("records did not reach the receiver"), "{err}");
    assert!(!err.contains("No event was lost"), "{err}");
}

#[test]
fn records_are_sent_to_a_socket() {
    use std::io::Read as _;
    let folder = Folder::new();
    let socket = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let address = format!("unix:{}", socket.display());
    let args = ["run", "--on", "interval 5ms", "--deliver", &address, "--", "sleep", "0.1"];
    let mut child =
        experiment(&folder, &args).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].as_str().unwrap().into())
        .collect();
    assert_eq!((kinds[0].as_str(), kinds.last().unwrap().as_str()), ("experiment", "end"));
    assert!(kinds.iter().filter(|kind| *kind == "record").count() >= 3, "{kinds:?}");
    drop(listener);
    std::fs::remove_file(&socket).unwrap();
    let line = finish(&mut experiment(&folder, &args)).fails(3);
    assert!(line.contains(&address), "{line}");
}

#[test]
fn program_that_cannot_start_is_one_error() {
    let folder = Folder::new();
    let start = ["run", "--on", "interval 5ms", "--"];
    // A file that cannot be written is named.
    let full = ["run", "--on", "interval 5ms", "-o", "/dev/full", "--", "true"];
    assert!(finish(&mut experiment(&folder, &full)).fails(3).starts_with("/dev/full: "));
    for (program, message) in [
        ("no-such-program", "it is in no folder of PATH"),
        ("./no-such-program", "No such file or directory"),
        ("/", "Permission denied"),
    ] {
        let line = finish(experiment(&folder, &start).arg(program)).fails(2);
        assert!(line.starts_with(program) && line.contains(message), "{line}");
    }
    is_tidy(&folder);
}

#[test]
fn wrong_words_are_refused_before_anything_runs() {
    let folder = Folder::new();
    let witness = folder.path().join("witness");
    for args in [
        ["--on", "interval -1s", "--sensor", "Process/Working Set"],
        ["--on", "interval soon", "--sensor", "Process/Working Set"],
        ["--on", "wink", "--sensor", "Process/Working Set"],
        ["--on", "interval 5ms", "--sensor", "Process/Working Set#*"],
        ["--on", "interval 5ms", "--sensor", "Process/No Such Sensor"],
        ["--on", "interval 5ms", "--source", "file:/no/such.phr"],
        ["--on", "above Process/No Such Sensor 7", "--sensor", "Process/Working Set"],
        ["--on", "interval 5ms", "--around", "-1s"],
        ["--on", "interval 5ms", "-o", "-"],
        ["--on", "interval 5ms", "--format", "csv"],
    ] {
        let mut command = experiment(&folder, &["run"]);
        let run = finish(command.args(args).args(["--", "touch"]).arg(&witness));
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.err);
        run.one_line();
    }
    assert!(!witness.exists());
}

#[test]
fn ctrl_c_ends_program_and_experiment_with_the_figures() {
    let folder = Folder::new();
    let file = folder.path().join("records.jsonl");
    let args = ["run", "--on", "interval 5ms", "-o", file.to_str().unwrap(), "--", "sleep", "600"];
    let mut command = experiment(&folder, &args);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let program = loop {
        assert!(begun.elapsed().as_secs() < 60, "no record came");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if text.contains(r#""kind":"record""#) {
            let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
            break head["pid"].as_u64().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let status = child.wait().unwrap();
    use std::os::unix::process::ExitStatusExt as _;
    assert_eq!(status.signal(), Some(2));
    let text = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(text.contains("interval 5ms"), "{text}");
    assert!(!Path::new(&format!("/proc/{program}")).exists(), "the program runs on");
    assert_eq!(of_kind(&lines(&file), "end").len(), 1);
    is_tidy(&folder);
}

#[test]
fn processes_of_a_name_are_events() {
    let folder = Folder::new();
    let program = folder.path().join("napper");
    std::fs::copy("/bin/sleep", &program).unwrap();
    let args = ["run", "--on", "start napper", "--on", "end napper", "--", "sh", "-c"];
    let mut command = experiment(&folder, &args);
    let run = finish(command.arg(format!("sleep 0.2; {} 0.4; sleep 0.2", program.display())));
    assert_eq!(run.code, Some(0), "{}", run.err);
    for word in ["napper start", "napper end", "napper section"] {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
}

#[test]
fn starts_that_are_measured_alone_lack_no_end() {
    let folder = Folder::new();
    let program = compile(&folder, UNMODIFIED);
    let args = ["run", "--on", "thread start", "--", &program];
    let run = finish(&mut experiment(&folder, &args));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!run.err.contains("without an end"), "{}", run.err);
}

#[test]
fn fetch_that_was_dropped_within_a_line_says_why() {
    use std::io::{BufRead as _, Write as _};
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = Folder::new();
    let around = folder.path().join("perfhive");
    let process = std::process::id();
    let own = around.join(format!("experiment-{process}"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&own).unwrap();
    let lock = std::fs::File::create(own.join("lock")).unwrap();
    lock.lock().unwrap();
    let listener = std::os::unix::net::UnixListener::bind(own.join("manage")).unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        stream.write_all(b"{\"kind\": \"record\"}\n{\"kind\": \"rec").unwrap();
    });
    let run = finish(&mut experiment(&folder, &["fetch", &process.to_string()]));
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("read too slowly"), "{}", run.err);
    serving.join().unwrap();
}

#[test]
fn signals_and_lines_are_events() {
    let folder = Folder::new();
    let file = folder.path().join("records.jsonl");
    let lines_to_read = folder.file("lines", "one\ntwo\nthree");
    // The program signals its parent, perfhive, and waits a little in between.
    let script = "for i in 1 2 3; do kill -USR1 $PPID; sleep 0.1; done";
    let mut command = experiment(&folder, &["run", "--on", "signal USR1", "--on", "line 0", "-o"]);
    command.arg(&file).args(["--", "sh", "-c", script]);
    let run = finish(command.stdin(std::fs::File::open(lines_to_read).unwrap()));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines = lines(&file);
    let of =
        |event: &str| of_kind(&lines, "record").iter().filter(|one| one["event"] == event).count();
    assert_eq!((of("signal USR1"), of("line 0")), (3, 2), "{}", run.err);
    // A socket cannot be opened again.
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    std::io::Write::write_all(&mut ours, b"one\ntwo\n").unwrap();
    let mut command = experiment(&folder, &["run", "--on", "line 0", "--", "sleep", "0.3"]);
    let run = finish(command.stdin(std::os::fd::OwnedFd::from(theirs)));
    let row = run.err.lines().find(|line| line.starts_with("line 0")).unwrap_or_default();
    assert_eq!((run.code, row.split_whitespace().nth(3)), (Some(0), Some("2")), "{}", run.err);
    let wrong = finish(experiment(&folder, &["run", "--on", "line 97", "--", "true"]).arg("x"));
    assert!(wrong.fails(1).contains("line 97: No such file"));
    let wrong =
        finish(experiment(&folder, &["run", "--on", "line ./no-fifo", "--", "true"]).arg("x"));
    assert!(wrong.fails(1).contains("line ./no-fifo: No such file"));
}

#[test]
fn value_that_crosses_a_threshold_is_an_event() {
    let folder = Folder::new();
    // The shell takes memory for a variable of some 8 MB, and gives it back.
    let script = "sleep 0.2; x=$(head -c 8000000 /dev/zero | tr '\\0' x); sleep 0.3; x=; sleep 0.3";
    let above = "above Process/Working Set 7000000 below 6000000";
    let mut command = experiment(&folder, &["run", "--on", above, "--", "sh", "-c", script]);
    let run = finish(&mut command);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains(&format!("{above} start")), "{}", run.err);
}

/// A program under test in the background, which ends with the test.
struct Running {
    child: std::process::Child,
    program: Option<u64>,
}

impl Running {
    fn new(folder: &Folder, events: &[&str], program: &[&str]) -> Self {
        let file = folder.path().join("records.jsonl");
        let mut command = experiment(folder, &["run", "-o"]);
        command.arg(&file);
        for event in events {
            command.args(["--on", event]);
        }
        let child = command.arg("--").args(program).stderr(std::process::Stdio::null()).spawn();
        let mut running = Self { child: child.unwrap(), program: None };
        let begun = std::time::Instant::now();
        while running.program.is_none() {
            assert!(begun.elapsed().as_secs() < 60, "no experiment");
            let run = finish(&mut experiment(folder, &["list", "--json"]));
            let list: Value = serde_json::from_str(&run.out).unwrap_or_default();
            // Another experiment of this user's is not the test's to end.
            let own = (list.as_array().into_iter().flatten())
                .find(|one| one["perfhive"] == running.child.id());
            running.program = own.and_then(|own| own["pid"].as_u64());
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // perfhive ends with its program.
        let _ = match self.program {
            Some(program) => Command::new("kill").arg(program.to_string()).status().map(drop),
            None => self.child.kill(),
        };
        let _ = self.child.wait();
    }
}

#[test]
fn running_experiment_is_managed_from_another_process() {
    let folder = Folder::new();
    let of = |args: &[&str]| finish(&mut experiment(&folder, args));
    assert_eq!(of(&["list"]).ok(), "No experiment of yours is under way.\n");
    let sleeping = ["sleep", "600"];
    let running = Running::new(&folder, &["interval 20ms", "call checkout"], &sleeping);
    let program = running.program.unwrap().to_string();
    let perfhive = running.child.id().to_string();
    let shown = of(&["list", &program]).ok();
    for word in [
        "sleep 600",
        "interval 20ms",
        "running",
        "Working Set#",
        "Calls measured: checkout",
        "Events to bind: interval TIME, above SENSOR LIMIT",
        "linux.procfs/Process (",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let sensors = of(&["list", &program, "--sensors", "process/thread c"]).ok();
    assert!(sensors.contains("Process/Thread Count"), "{sensors}");
    assert!(!sensors.contains("Working Set"), "{sensors}");
    of(&["list", &program, "--sensors", "no such"]).fails(1);
    of(&["stop", &program, "interval 20ms"]).ok();
    assert!(of(&["list", &perfhive]).ok().contains("stopped"));
    of(&["start", &perfhive]).ok();
    of(&["limit", &program, "100000"]).ok();
    let every = ["--where", "'Thread Count' > 0 and every 2"];
    let bind = ["bind", &program, "interval 10ms", "--sensor", "Process/Thread Count"];
    of(&[&bind[..], &every[..]].concat()).ok();
    of(&["limit", &program, "none", "interval 20ms", "--where", "pid = 1"]).ok();
    of(&["limit", &program, "100000", "interval 20ms", "--where", "none"]).ok();
    let wrong = of(&["limit", &program, "none", "--where", "'No Such' > 1"]).fails(2);
    assert!(wrong.contains("no sensor"), "{wrong}");
    of(&["bind", &program, "call payment"]).ok();
    let fetched = of(&["fetch", &program, "-n", "5"]).ok();
    assert_eq!(fetched.matches(r#""kind":"record""#).count(), 5);
    let shown = of(&["list", &program]).ok();
    for word in ["interval 10ms", "Thread Count#", "100000", "Calls measured: checkout, payment"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    for format in ["csv", "tsv"] {
        let wrong = of(&["list", "--format", format]).fails(2);
        assert!(wrong.contains("--json"), "{wrong}");
    }
    let wrong = of(&["bind", &program, "interval 30ms", "--sensor", "Process/No Such"]).fails(2);
    assert!(wrong.contains("No Such"), "{wrong}");
    let wrong = of(&["stop", &program, "interval 7s"]).fails(1);
    assert!(wrong.contains("interval 7s"), "{wrong}");
    let wrong = of(&["stop", "1"]).fails(1);
    assert!(wrong.contains("process 1 has no experiment"), "{wrong}");
    drop(running);
    assert_eq!(of(&["list"]).ok(), "No experiment of yours is under way.\n");
    is_tidy(&folder);
}

#[test]
fn experiment_that_is_stopped_is_one_that_does_not_answer() {
    let folder = Folder::new();
    let running = Running::new(&folder, &["interval 20ms"], &["sleep", "600"]);
    let (program, perfhive) =
        (running.program.unwrap().to_string(), running.child.id().to_string());
    let kill = |signal: &str| {
        assert!(Command::new("kill").args([signal, &perfhive]).status().unwrap().success());
    };
    kill("-STOP");
    for args in [&["stop", &program][..], &["list", &program], &["stop", &perfhive], &["list"]] {
        let run = finish(&mut experiment(&folder, args));
        assert_eq!(run.code, Some(3), "{args:?}: {}", run.err);
        assert!(run.err.contains("does not answer in time"), "{args:?}: {}", run.err);
    }
    kill("-CONT");
    assert!(finish(&mut experiment(&folder, &["list"])).ok().contains("running"));
}

#[test]
fn experiment_without_a_runtime_folder_is_managed_all_the_same() {
    let folder = Folder::new();
    let gone = folder.path().join("gone");
    let of = |args: &[&str]| {
        let mut command = experiment(&folder, args);
        finish(command.env("XDG_RUNTIME_DIR", &gone).env("TMPDIR", folder.path()))
    };
    let run = of(&["run", "--on", "interval 5ms", "--", "sleep", "0.05"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(of(&["list"]).ok(), "No experiment of yours is under way.\n");
    // One that was started without it is found from a session with it.
    let mut command = experiment(&folder, &["run", "--on", "interval 5ms", "--", "cat"]);
    command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", folder.path());
    command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let begun = std::time::Instant::now();
    loop {
        let run = finish(experiment(&folder, &["list"]).env("TMPDIR", folder.path()));
        if run.out.contains("cat") {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{}{}", run.out, run.err);
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn every_kind_of_event_is_bound_to_a_running_program() {
    let folder = Folder::new();
    let of = |args: &[&str]| finish(&mut experiment(&folder, args));
    let fifo = folder.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // It starts a process of this name again and again, until the test ends it.
    let napper = folder.path().join("napper").display().to_string();
    std::fs::copy("/bin/sleep", &napper).unwrap();
    let script = format!("while :; do {napper} 0.1; done");
    let running = Running::new(&folder, &["interval 50ms"], &["sh", "-c", &script]);
    let program = running.program.unwrap().to_string();
    let line = format!("line {fifo}");
    let sources =
        ["above Process/Working Set 1", "signal USR2", &line, "start napper", "end napper"];
    for source in sources {
        let run = of(&["bind", &program, source]);
        assert_eq!(run.code, Some(0), "{source}: {}", run.err);
        assert_eq!(run.err.contains("'start napper' from now on"), source == "end napper");
    }
    std::fs::write(&fifo, "a line\n").unwrap();
    let kill = Command::new("kill").args(["-USR2", &running.child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let begun = std::time::Instant::now();
    loop {
        let list: Value = serde_json::from_str(&of(&["list", &program, "--json"]).ok()).unwrap();
        let bindings = list[0]["bindings"].as_array().unwrap();
        assert_eq!(bindings.len(), 5, "{list}");
        let events = |source: &str| {
            let one = bindings.iter().find(|one| one["source"] == source);
            one.unwrap_or_else(|| panic!("{source} in {list}"))["events"].as_u64().unwrap()
        };
        // The ends are those of the starts.
        if sources[..4].iter().all(|source| events(source) > 0) {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{list:#}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let fetched = of(&["fetch", &program, "-n", "60"]).ok();
    let sections = fetched.lines().filter(|line| line.contains(r#""kind":"section""#));
    assert!(sections.filter(|line| line.contains("napper")).count() > 0, "{fetched}");
    for (event, code, words) in [
        ("signal USR2", 2, "already"),
        ("above Nope/Nope 7", 2, "no object \"Nope\""),
        ("call checkout", 2, "without calls"),
        ("line 3", 2, "name a FIFO by its path"),
        ("line /dev/null", 2, "it is no FIFO"),
        ("line /no/fifo", 1, "No such file"),
        ("uprobe no_such_function", 1, "no function no_such_function"),
    ] {
        let wrong = of(&["bind", &program, event]);
        assert_eq!(wrong.code, Some(code), "{event}: {}", wrong.err);
        assert!(wrong.err.contains(words), "{event}: {}", wrong.err);
    }
}

#[test]
fn functions_and_threads_of_a_running_program_are_bound() {
    let folder = Folder::new();
    let of = |args: &[&str]| finish(&mut experiment(&folder, args));
    let source = r#"
        #include <pthread.h>
        #include <unistd.h>
        __attribute__((noinline)) int work(int i)
        {
            __asm__ volatile("" : "+r"(i));
            return i;
        }
        static void *run(void *unused)
        {
            work(1);
            usleep(100000);
            return unused;
        }
        static void *begin(void *unused)
        {
            for (;;) {
                pthread_t thread;
                pthread_create(&thread, NULL, run, NULL);
                pthread_join(thread, NULL);
            }
            return unused;
        }
        int main(void)
        {
            pthread_t thread;
            pthread_create(&thread, NULL, begin, NULL);
            pthread_join(thread, NULL);
        }
    "#;
    let file = compile(&folder, source);
    let running = Running::new(&folder, &["interval 50ms"], &[&file]);
    let program = running.program.unwrap().to_string();
    // Threads of a thread that is there by now are listed.
    let run = of(&["bind", &program, "thread start"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("every 20 ms"), "{}", run.err);
    let mut wanted = vec!["thread start".to_string()];
    let run = of(&["bind", &program, "thread end"]);
    assert!(run.err.contains("'thread start' from now on"), "{}", run.err);
    let mut has_pair = false;
    for event in
        ["uprobe work".to_string(), "uretprobe work".to_string(), format!("uprobe {file}:run")]
    {
        let run = of(&["bind", &program, &event]);
        match run.code {
            Some(0) if event == "uretprobe work" => has_pair = true,
            Some(0) => wanted.push(event),
            _ => {
                assert!(run.err.contains("CAP_SYS_ADMIN"), "{}", run.err);
                eprintln!("not tested: {}", run.err);
            }
        }
    }
    let begun = std::time::Instant::now();
    loop {
        let list: Value = serde_json::from_str(&of(&["list", &program, "--json"]).ok()).unwrap();
        let bindings = list[0]["bindings"].as_array().unwrap();
        let has_events = |source: &String| {
            let mut of_source = bindings.iter().filter(|one| one["source"] == source.as_str());
            of_source.any(|one| one["events"].as_u64() > Some(1))
        };
        if wanted.iter().all(has_events) {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{list:#}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let fetched = of(&["fetch", &program, "-n", "200"]).ok();
    let has_section = |name: &str| {
        let mut lines = fetched.lines().filter(|line| line.contains(r#""kind":"section""#));
        lines.any(|line| line.contains(name))
    };
    assert!(has_section(r#""event":"thread""#), "{fetched}");
    assert!(!has_pair || has_section(r#""event":"work""#), "{fetched}");
}

#[test]
fn records_that_reach_the_limit_of_the_size_of_files_are_an_error_and_stay_readable() {
    let folder = Folder::new();
    let file = folder.path().join("records.jsonl").display().to_string();
    // Makes the folder private.
    experiment(&folder, &[]);
    let limited =
        "ulimit -f 64; exec \"$0\" experiment run --on 'interval 1ms' -o \"$1\" -- sleep 2";
    let mut shell = Command::new("bash");
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_perfhive"), &file]);
    let run = finish(shell.env("XDG_RUNTIME_DIR", folder.path()).env("TMPDIR", folder.path()));
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("the records are not complete"), "{}", run.err);
    assert!(perfhive(["report", &file]).out.contains("interval 1ms"));
}

/// Records of an experiment with a known course: a section a second, with a point in it.
fn known_records() -> String {
    let sensor = "linux.procfs/Process/Working Set#7";
    let mut lines = vec![
        serde_json::json!({"kind": "experiment", "version": 1, "program": ["shop", "\u{1b}[31m"],
            "pid": 7, "started": "2026-11-24T10:00:00Z"}),
        serde_json::json!({"kind": "source", "source": "calls",
            "sensors": [{"name": sensor, "unit": "B", "raw_per_second": null}]}),
    ];
    for second in 0..10 {
        for (event, kind, after) in
            [("checkout", "start", 0.0), ("paid", "point", 0.1), ("checkout", "end", 0.2)]
        {
            let value = (second < 9).then_some(f64::from(second + 1) * 1_048_576.0);
            lines.push(serde_json::json!({"kind": "record", "source": "calls", "event": event,
                "type": kind, "time": f64::from(second) + after, "pid": 7, "tid": 7,
                "delay": 2e-5, "sample": 1e-5, "values": {sensor: value}, "raw": {}}));
        }
        lines.push(serde_json::json!({"kind": "section", "event": "checkout",
            "time": f64::from(second), "pid": 7, "tid": 7, "seconds": 0.202,
            "thread_seconds": 0.102, "calls": 2, "call_seconds": 0.002,
            "call_thread_seconds": 0.002, "growth": {sensor: -4096}}));
    }
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let end = serde_json::json!({"kind": "end", "seconds": 10.0, "event_seconds": 1e-5,
        "call_thread_seconds": 2e-6, "unmatched": 0,
        "sources": [{"source": "calls", "events": 30, "lost": 3, "missed": 0, "busy": 0.05}]});
    text.push_str(&format!("{end}\n"));
    text
}

#[test]
fn report_of_records_has_figures_by_event_and_a_timeline_with_readings() {
    let folder = Folder::new();
    let file = folder.file("records.jsonl", known_records());
    let run = perfhive(["report", &file]);
    assert_eq!(run.err, "");
    let text = run.ok();
    let rows: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for row in [
        "shop \\x1b[31m 10.000 s, started 2026-11-24T10:00:00Z",
        "paid delay 10 20.00 20.00 20.00 20.00 20.00 20.00 µs",
        "checkout section time 10 200,000.00 200,000.00 200,000.00 200,000.00 200,000.00 200,000.00 µs",
        "+Process/Working Set#7 10 -4.00 -4.00 -4.00 -4.00 -4.00 -4.00 KiB",
        "TIME MEAN 0 s 1 s 2 s 3 s 4 s 5 s 6 s 7 s 8 s 9 s",
        "checkout end events 1.00/s 1 1 1 1 1 1 1 1 1 1",
        "Process/Working Set#7 MiB 5.00 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00 9.00 -",
        "Cost: 10.00 µs for an event in perfhive, in all 0.50 % of the experiment's time; a call costs the program 2.00 µs \
         of its processor time.",
        "! calls: 3 records found no room",
    ] {
        assert!(rows.iter().any(|one| one == row), "{row}\n{text}");
    }
    let report: Value = serde_json::from_str(&perfhive(["report", &file, "--json"]).ok()).unwrap();
    assert_eq!((&report["has_end"], &report["torn_line"]), (&true.into(), &false.into()));
    let section = report["events"].as_array().unwrap().iter().find(|one| one["type"] == "section");
    let time = section.unwrap()["thread_seconds"]["max"].as_f64().unwrap();
    assert!((time - 0.1).abs() < 1e-9, "{time}");
    assert_eq!(report["timeline"]["part_seconds"], 1.0);
    assert_eq!(report["timeline"]["readings"][0]["means"][9], Value::Null);
}

#[test]
fn readings_of_intervals_around_events_are_reported() {
    let folder = Folder::new();
    let sensor = "linux.procfs/Process/Working Set#7";
    let mut text = known_records();
    let interval = serde_json::json!({"kind": "source", "source": "interval 1s", "interval": 1.0,
        "sensors": [{"name": sensor, "unit": "B", "raw_per_second": null}]});
    text.push_str(&format!("{interval}\n"));
    // 1 MiB before the first half of each second, 3 MiB behind it.
    for second in 0..10 {
        for (after, size) in [(0.95, 1), (0.35, 3)] {
            let line = serde_json::json!({"kind": "record", "source": "interval 1s",
                "event": "interval 1s", "type": "point", "time": f64::from(second) + after, "pid": 0,
                "tid": 0, "delay": 0, "sample": 0, "values": {sensor: size << 20}, "raw": {}});
            text.push_str(&format!("{line}\n"));
        }
    }
    let file = folder.file("records.jsonl", text);
    let page = perfhive(["report", &file, "--around", "200ms"]).ok();
    let rows: Vec<String> =
        page.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for row in [
        "AROUND 200ms BEFORE AFTER OVERALL",
        "checkout start Process/Working Set#7 1.00 - 2.00 MiB",
        "checkout section Process/Working Set#7 1.00 3.00 2.00 MiB",
    ] {
        assert!(rows.iter().any(|one| one == row), "{row}\n{page}");
    }
    let json = perfhive(["report", &file, "--around", "200ms", "--json"]).ok();
    let report: Value = serde_json::from_str(&json).unwrap();
    let all = report["around"]["readings"].as_array().unwrap();
    let section = all.iter().find(|one| one["type"] == "section").unwrap();
    assert_eq!(section["after"], serde_json::json!({"mean": 3_145_728.0, "count": 10}));
    assert_eq!(
        (&section["before"]["count"], &section["overall_mean"]),
        (&9.into(), &2_097_152.0.into())
    );
    let alone = folder.file("alone.jsonl", known_records());
    let page = perfhive(["report", &alone, "--around", "200ms"]).ok();
    assert!(page.contains("it takes an interval's readings"), "{page}");
}

#[test]
fn figures_of_a_run_have_the_readings_around_its_events() {
    let folder = Folder::new();
    let program = compile(&folder, SHOP);
    let args =
        ["run", "--on", "interval 5ms", "--on", "call paid", "--around", "2s", "--", "sh", "-c"];
    let mut command = experiment(&folder, &args);
    let run = finish(command.arg(format!("sleep 0.1; '{program}'; sleep 0.1")));
    assert_eq!(run.code, Some(0), "{}", run.err);
    let around = run.err.split_once("AROUND 2s").unwrap().1;
    assert!(around.lines().any(|line| line.starts_with("paid ")), "{}", run.err);
    assert!(around.contains("MiB"), "{}", run.err);
}

#[test]
fn report_of_damaged_records_tells_and_leaves_out_the_damaged_lines() {
    let folder = Folder::new();
    let whole = known_records();
    let cut = whole.trim_end();
    let mut lines: Vec<String> = cut[..cut.len() - 9].lines().map(str::to_string).collect();
    lines[2] = "x".repeat(3 << 20);
    lines[3] =
        r#"{"kind":"record","source":"calls","event":"paid","type":"point","time":1e300}"#.into();
    let file = folder.file("records.jsonl", lines.join("\n"));
    let run = perfhive(["report", &file, "--json"]);
    assert_eq!(run.err.lines().count(), 3, "{}", run.err);
    for what in ["2 lines are damaged and left out, the first is line 3", "last line", "no end"] {
        assert!(run.err.contains(what), "{what}: {}", run.err);
    }
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&report["damaged_lines"], &report["torn_line"]), (&2.into(), &true.into()));
    let counts = report["events"].as_array().unwrap().iter();
    let counts: u64 = counts.map(|one| one["count"].as_u64().unwrap()).sum();
    assert_eq!(counts, 38);
    let other = perfhive(["report", &file, "--all"]).fails(2);
    assert!(other.contains("no other option"), "{other}");
    let twice = folder.file("twice.jsonl", whole.repeat(2));
    for args in [vec!["report", &twice], vec!["list", "-s", &format!("file:{twice}")]] {
        assert!(perfhive(args).fails(3).contains("several experiments"));
    }
    let newer = whole.replacen(r#""version":1"#, r#""version":2"#, 1);
    let newer = folder.file("newer.jsonl", newer);
    assert!(perfhive(["report", &newer]).fails(3).contains("version 2"));
}

#[test]
fn experiment_that_is_killed_leaves_whole_lines_that_report_reads() {
    let folder = Folder::new();
    let file = folder.path().join("records.jsonl");
    // The program ends by itself once the reader of its pipe is gone.
    let args = ["run", "--on", "interval 2ms", "-o", file.to_str().unwrap(), "--", "cat"];
    let mut command = experiment(&folder, &args);
    let pipe = std::process::Stdio::piped();
    let mut child = command.stdin(pipe).stderr(std::process::Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if text.matches(r#""kind":"record""#).count() > 100 {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "no records came");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    // Only a write that was under way can be cut.
    let text = std::fs::read_to_string(&file).unwrap();
    let is_torn = !text.ends_with('\n');
    let whole = text.lines().take(text.matches('\n').count());
    let lines: Vec<Value> = whole.map(|line| serde_json::from_str(line).expect(line)).collect();
    let records = of_kind(&lines, "record").len();
    assert!(records > 100 && of_kind(&lines, "end").is_empty());
    let run = perfhive(["report", file.to_str().unwrap(), "--json"]);
    assert!(run.err.contains("has no end"), "{}", run.err);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    let damaged = (&report["damaged_lines"], &report["torn_line"]);
    assert_eq!(damaged, (&0.into(), &is_torn.into()));
    assert_eq!(report["events"][0]["count"], records);
}

#[test]
fn recording_of_an_experiment_that_is_killed_has_what_was_delivered() {
    let folder = Folder::new();
    let file = folder.path().join("records.phr").display().to_string();
    let args = ["run", "--on", "interval 2ms", "-o", &file, "--", "cat"];
    let mut command = experiment(&folder, &args);
    let pipe = std::process::Stdio::piped();
    let mut child = command.stdin(pipe).stderr(std::process::Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let count = || {
        let run = perfhive(["report", &file, "--json"]);
        let report: Value = serde_json::from_str(&run.out).unwrap_or_default();
        (report["events"][0]["count"].as_u64().unwrap_or_default(), run.err)
    };
    let before = loop {
        assert!(begun.elapsed().as_secs() < 60, "no records came");
        match count() {
            (count, _) if count > 100 => break count,
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    let (count, said) = count();
    assert!(count >= before, "{count} {before}");
    assert!(said.contains("has no end") && !said.contains("damaged"), "{said}");
}
