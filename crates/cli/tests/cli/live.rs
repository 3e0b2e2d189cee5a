//! Commands that read this machine.
#![cfg(target_os = "linux")]

use crate::run::{Folder, command, perfhive};
use std::process::{Command, Stdio};

/// The name of this test's own process.
fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/self/comm").expect("own name");
    name.trim_end().to_string()
}

#[test]
fn ps_lists_this_process() {
    let pid = u64::from(std::process::id());
    let rows = perfhive(["ps", "--json"]).json();
    let own = rows.iter().find(|row| row["pid"] == pid).expect("this process");
    assert!(own["ws"].as_u64() > Some(0));
    assert!(own["threads"].as_u64() >= Some(1));
    assert!(own["elapsed"].as_f64() >= Some(0.0));
    assert!(rows.iter().all(|row| row["name"] != "_Total"));
    let table = perfhive(["ps", "-o", "pid,name"]).ok();
    assert!(
        table.lines().any(|line| line.trim_start().starts_with(&format!("{pid}  "))),
        "{table}"
    );
}

#[test]
fn ps_runs_in_valgrind_without_errors() {
    let mut command = std::process::Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=9", env!("CARGO_BIN_EXE_perfhive"), "ps"]);
    let output = command.args(["--top", "1", "--json"]).output().expect("valgrind");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
}

#[test]
fn without_arguments_and_terminal_the_figures_are_printed_once_and_help_stays() {
    let text = perfhive([] as [&str; 0]).ok();
    let has_value = |name: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.contains(name) && line.chars().any(|c| c.is_ascii_digit()))
    };
    for name in ["% Processor Time", "Available Bytes", "Processes"] {
        assert!(has_value(name), "{name}: {text}");
    }
    // The rates are there, too, and the list of the busiest processes.
    assert!(!text.contains("needs two samples"), "{text}");
    assert!(text.lines().any(|line| line.contains("PID")), "{text}");
    let help = perfhive(["--help"]).ok();
    assert!(help.contains("Usage: perfhive"), "{help}");
}

#[test]
fn ps_measures_time_with_two_samples() {
    let rows =
        perfhive(["ps", "-o", "pid,cpu,handles", "-i", "0.05", "--sort", "-cpu", "--json"]).json();
    let pid = u64::from(std::process::id());
    let own = rows.iter().find(|row| row["pid"] == pid).expect("this process");
    assert!(own["cpu"].as_f64() >= Some(0.0), "{own}");
}

/// With the usual soft limit only the files of few processes could stay open.
#[test]
fn the_soft_limit_of_open_files_is_raised_to_the_hard_one() {
    let script = r#"ulimit -S -n 256; exec "$0" watch -i 60 '\System\Processes'"#;
    let program = env!("CARGO_BIN_EXE_perfhive");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, program]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = shell.spawn().expect("a shell");
    // The child writes when it has started.
    let mut first = [0];
    let out = child.stdout.as_mut().expect("its output");
    std::io::Read::read_exact(out, &mut first).expect("a byte");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id()));
    child.kill().expect("its end");
    child.wait().expect("its end");
    let limits = limits.expect("limits");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a line");
    let words: Vec<&str> = line.split_whitespace().skip(3).take(2).collect();
    assert_eq!(words[0], words[1], "{line}");
}

#[test]
fn workset_of_this_test() {
    let out = perfhive(["workset", &own_name().to_uppercase()]).ok();
    assert!(out.contains(&format!("(PID {})", std::process::id())), "{out}");
    assert!(out.starts_with("Working set: "), "{out}");
}

#[test]
fn get_as_two_samples() {
    let paths = [r"\Processor(_Total)\% Processor Time", r"\Memory\Available Bytes"];
    let run = perfhive(["get", "-i", "0.1", "--json", paths[0], paths[1]]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let rows = run.json();
    let time = rows[0]["value"].as_f64().expect("a percentage");
    assert!((-1.0..=101.0).contains(&time), "{time}");
    assert!(rows[1]["value"].as_u64() > Some(0));
}

#[test]
fn the_interval_is_kept() {
    let start = std::time::Instant::now();
    perfhive(["get", "-i", "0.3", r"\System\Context Switches/sec"]).ok();
    assert!(start.elapsed().as_millis() >= 300);
    let start = std::time::Instant::now();
    perfhive(["get", "-i", "30", r"\Memory\Available Bytes"]).ok();
    assert!(start.elapsed().as_secs() < 20, "no second sample is needed");
}

#[test]
fn watch_counts_complete_tables() {
    let out = perfhive(["watch", "-n", "2", "-i", "0.1"]).ok();
    assert_eq!(out.matches(" UTC\n").count(), 2, "{out}");
    assert!(!out.contains("needs two samples"), "{out}");
    let out = perfhive(["watch", "-n", "3", "-i", "0.05", "--json", r"\System\Threads"]).ok();
    assert_eq!(out.lines().count(), 3);
}

#[test]
fn every_object_can_be_listed_and_enumerated() {
    let rows = perfhive(["list", "--json"]).json();
    assert!(rows.len() >= 5);
    for row in &rows {
        let name = row["object"].as_str().expect("a name");
        let run = perfhive(["list", name]);
        assert!(run.out.starts_with(name), "{}", run.out);
        if !run.err.is_empty() {
            // This machine may have no control groups with the needed controllers.
            assert!(run.one_line().contains("no control group"), "{}", run.err);
            continue;
        }
        assert!(perfhive(["enum", name]).ok().starts_with("Object count: "));
        assert!(perfhive(["explain", name]).ok().contains("Where"));
    }
}

#[test]
fn explain_names_the_file_that_a_counter_is_made_from() {
    let path = r"\Memory\Available Bytes";
    assert!(perfhive(["explain", path]).ok().contains("Made from  meminfo: MemAvailable\n"));
    let [row] = &perfhive(["explain", path, "--json"]).json()[..] else { panic!("one row") };
    assert_eq!(row["made_from"], "meminfo: MemAvailable");
}

/// A load average is printed as the double in the counter block, not as the number that its
/// bits form.
#[test]
fn doubles_are_enumerated_as_doubles() {
    let rows = perfhive(["enum", "System", "--json"]).json();
    let row = rows.iter().find(|row| row["counter_index"] == 100_000).expect("a load average");
    assert_eq!(row["counter_type"], "PERF_DOUBLE_RAW");
    let value = row["value"].as_f64().expect("a number");
    assert!((0.0..100_000.0).contains(&value), "{value}");
    let page = perfhive(["enum", "System"]).ok();
    let line = page.lines().find(|line| line.contains("Load Average 1 min")).expect("a line");
    assert!(line.contains('.') && !line.contains(','), "{line}");
}

#[test]
fn a_counter_that_linux_lacks_has_a_reason() {
    let line = perfhive(["get", r"\Process(x)\Pool Paged Bytes"]).fails(2);
    assert!(line.starts_with(r"this machine has no \Process\Pool Paged Bytes: "), "{line}");
    assert_eq!(line, perfhive(["ps", "-o", "pid,paged"]).fails(2));
    assert_eq!(line, perfhive(["explain", r"\Process\Pool Paged Bytes"]).fails(2));
}

#[test]
fn titles_are_refused_for_live_sources() {
    let line = perfhive(["list", "--titles", "x.txt"]).fails(2);
    assert!(line.contains("--source file:"), "{line}");
}

/// If the reader closes the pipe, the command ends without a message.
#[test]
fn output_that_is_closed_early() {
    for args in [&["enum"][..], &["ps"], &["watch", "-i", "0.05"], &["list", "Thread", "--json"]] {
        let mut child = command()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn a_full_output_device_is_an_error() {
    for arg in ["list", "--help", "-h", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
        let output = command()
            .arg(arg)
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .and_then(std::process::Child::wait_with_output)
            .expect("the command runs");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(line.starts_with("perfhive: cannot write the output: "), "{arg}: {line}");
        assert_eq!(output.status.code(), Some(3));
    }
}

/// Both words and names may be given at once, and no object is printed twice.
#[test]
fn enum_prints_words_and_names_together() {
    let words = perfhive(["enum", "-q", "--json", "Global", "Costly", "Process"]);
    assert_eq!(words.code, Some(0), "{}", words.err);
    let rows = words.json();
    let of = |object: &str, counter: &str| {
        rows.iter().filter(|row| row["object"] == object && row["counter"] == counter).count()
    };
    assert_eq!(of("Memory", "Available Bytes"), 1);
    assert!(of("Image", "Exec Read Only") > 0);
    // The counter on request is there, and this process has it once.
    let own = |row: &&serde_json::Value| {
        row["object"] == "Process"
            && row["counter"] == "Handle Count"
            && row["pid"] == std::process::id()
    };
    assert_eq!(rows.iter().filter(own).count(), 1);
}

#[test]
fn ctrl_c_ends_the_samples_of_a_plot_that_is_drawn_to_its_end() {
    let folder = Folder::new();
    let chart = folder.path().join("chart.png");
    // A picture of this size takes longer than other commands go on after the signal.
    let args = ["plot", "cpu", "-i", "0.05", "-d", "1h", "--size", "3000x3000", "-o"];
    let mut child = command().args(args).arg(&chart).spawn().expect("the command runs");
    std::thread::sleep(std::time::Duration::from_secs(1));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(std::fs::read(&chart).unwrap().starts_with(b"\x89PNG"));
}

/// The clock of a process runs in finer steps than the 10 ms of a collection.
#[test]
fn one_process_is_measured_by_its_own_clock() {
    let sensor = format!("Process/% Processor Time#{}", std::process::id());
    let out = perfhive(["measure", "-n", "5", "-i", "0.02", "--json", &sensor]).ok();
    let rows: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let readings: Vec<_> = rows.iter().filter(|row| row["kind"] == "reading").collect();
    assert_eq!(readings.len(), 5, "{out}");
    let raw = |row: &&serde_json::Value| row["raw"].as_u64().expect("a raw value");
    assert!(!readings.iter().map(raw).all(|time| time.is_multiple_of(100_000)), "{out}");
    // Each sample has its own time, though it is no data block's.
    let times: Vec<_> = readings.iter().map(|row| row["time"].as_str().expect("a time")).collect();
    assert!(times.is_sorted() && times[0] < times[4], "{times:?}");
}

#[test]
fn a_process_without_others_causes_no_anomaly() {
    let pid = std::process::id();
    let sensors = [format!("Thread/% Processor Time#{pid}"), format!("Process/Working Set#{pid}")];
    let out = perfhive(["measure", "-n", "6", "-i", "0.02", "--json", &sensors[0], &sensors[1]]);
    let out = out.ok();
    assert!(!out.contains("\"kind\":\"anomaly\""), "{out}");
}
