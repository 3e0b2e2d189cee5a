//! `perfhive experiment`.
#![cfg(target_os = "linux")]

mod managed;
mod records;

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
    let run = finish(&mut experiment(&folder, &["run", "--on", "call *", "--", "true"]));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("call *: no call came"), "{}", run.err);
    let program = compile(&folder, SHOP);
    let run = finish(&mut experiment(&folder, &["run", "--on", "call *", "--", &program]));
    assert!(run.err.contains("checkout") && !run.err.contains("no call came"), "{}", run.err);
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
    let run = finish(command.arg(&file).args(["--spin", "200us", "--"]).arg(&program));
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
    command.args(["--spin", "1ms", "--", &program]);
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
fn events_that_where_leaves_out_are_counted_as_filtered() {
    let folder = Folder::new();
    let program = compile(&folder, SHOP);
    let file = folder.path().join("records.jsonl");
    let args = ["run", "--on", "call checkout", "--on", "call paid", "--where", "seconds > 3600"];
    let mut command = experiment(&folder, &args);
    command.args(["--where", "call paid: type = point", "-o"]).arg(&file).arg("--");
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
    // Together they would leave nothing, in one text or in two.
    for wrong in [&["seconds > 1 and every 10"][..], &["seconds > 1", "call paid: every 10"]] {
        let mut command = experiment(&folder, &["run", "--on", "call paid"]);
        for filter in wrong {
            command.args(["--where", filter]);
        }
        let said = finish(command.args(["--", "true"])).fails(2);
        assert!(said.contains("every takes away starts and ends"), "{said}");
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
        ["--on", "call x", "--spin", "0us"],
        ["--on", "interval 5ms", "-o", "-"],
        ["--on", "interval 5ms", "--format", "csv"],
        ["--on", "interval 5ms", "--every", "2"],
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

/// Both get the signal, as from a terminal. The program takes a second to save its work.
#[test]
fn program_ends_by_itself_after_ctrl_c() {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    let folder = Folder::new();
    let saved = folder.path().join("saved");
    let script = r#"trap 'sleep 1; mv "$0.new" "$0"; exit 3' INT; touch "$0.new"
                    while :; do sleep 0.05; done"#;
    let program = ["--", "sh", "-c", script, saved.to_str().unwrap()];
    let mut command = experiment(&folder, &["run", "--on", "interval 100ms"]);
    command.args(program).stderr(std::process::Stdio::null()).process_group(0);
    let mut child = command.spawn().unwrap();
    let begun = std::time::Instant::now();
    while !saved.with_extension("new").exists() {
        assert!(begun.elapsed().as_secs() < 60, "the program does not begin");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(saved.exists());
}

/// A file of a tebibyte, which holds nothing: what is beyond the limit is not read, and told.
#[test]
fn file_of_lines_without_end_does_not_keep_the_experiment() {
    let folder = Folder::new();
    let path = folder.path().join("lines");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let mut command = experiment(&folder, &["run", "--on", "line 0", "--", "true"]);
    command.stdin(std::fs::File::open(&path).unwrap());
    let run = finish(&mut command);
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(run.err.contains("more lines were waiting"), "{}", run.err);
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
    // The writer of a FIFO may be gone before perfhive begins.
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut writer = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    std::io::Write::write_all(&mut writer, b"one\ntwo\n").unwrap();
    let reader = std::fs::File::open(&fifo).unwrap();
    drop(writer);
    let mut command = experiment(&folder, &["run", "--on", "line 0", "--", "sleep", "0.3"]);
    let run = finish(command.stdin(reader));
    let row = run.err.lines().find(|line| line.starts_with("line 0")).unwrap_or_default();
    assert_eq!((run.code, row.split_whitespace().nth(3)), (Some(0), Some("2")), "{}", run.err);
    let wrong = finish(experiment(&folder, &["run", "--on", "line 97", "--", "true"]).arg("x"));
    let wrong = wrong.fails(1);
    assert_eq!(
        wrong,
        "line 97: no descriptor 97 is open; 97< FILE behind the command opens it in a shell"
    );
    let wrong =
        finish(experiment(&folder, &["run", "--on", "line ./no-fifo", "--", "true"]).arg("x"));
    assert!(wrong.fails(1).contains("line ./no-fifo: No such file"));
}

/// The number of events in the row of an event of this name; 0 without one.
fn count_of(figures: &str, event: &str) -> u64 {
    let row = figures.lines().find_map(|line| line.strip_prefix(event)).unwrap_or_default();
    let count = row.split_whitespace().nth(1).unwrap_or_default();
    count.replace(',', "").parse().unwrap_or(0)
}

#[test]
fn lines_and_signals_that_wait_when_the_program_ends_are_events() {
    let folder = Folder::new();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let line = format!("line {}", fifo.display());
    // All lines are in the FIFO, or were read from it, when the program ends.
    let script = format!("seq 1 5000 > {}", fifo.display());
    let run = finish(&mut experiment(&folder, &["run", "--on", &line, "--", "sh", "-c", &script]));
    assert_eq!((run.code, count_of(&run.err, &line)), (Some(0), 5000), "{}", run.err);
    let of_file = |lines: &str| {
        let path = folder.file("lines", lines);
        let mut command = experiment(&folder, &["run", "--on", "line 0", "--", "true"]);
        finish(command.stdin(std::fs::File::open(path).unwrap()))
    };
    let run = of_file(&"line\n".repeat(5000));
    assert_eq!((run.code, count_of(&run.err, "line 0")), (Some(0), 5000), "{}", run.err);
    // What would be measured for too long is told.
    let run = of_file(&format!("{}\n", "x".repeat(999)).repeat(4000));
    let events = count_of(&run.err, "line 0");
    assert!((1000..4000).contains(&events) && run.code == Some(3), "{}", run.err);
    assert!(run.err.contains("more lines were waiting"), "{}", run.err);
    // A writer that goes on keeps no experiment alive.
    let mut writer = Command::new("yes");
    let file = std::fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let mut writer = writer.stdout(file).spawn().unwrap();
    let run = finish(&mut experiment(&folder, &["run", "--on", &line, "--", "true"]));
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(run.code == Some(0) && count_of(&run.err, &line) > 0, "{}", run.err);
    for _ in 0..10 {
        let args = ["run", "--on", "signal USR1", "--", "sh", "-c", "kill -USR1 $PPID"];
        let run = finish(&mut experiment(&folder, &args));
        assert_eq!((run.code, count_of(&run.err, "signal USR1")), (Some(0), 1), "{}", run.err);
    }
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
