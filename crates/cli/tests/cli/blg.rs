//! Logs of perfmon, written and read: a binary one by another program, several as one recording.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;
use serde_json::Value;

/// The interpreter that has dissect.etl: `cargo xtask test --only test` installs it.
const VARIABLE: &str = "PERFHIVE_TRACE_PYTHON";

#[test]
fn a_reader_of_event_traces_finds_the_raw_values_of_a_written_log() {
    let Some(root) = real::root() else { return };
    let log = root.join("logs/pal_SampleLog.blg").display().to_string();
    let folder = Folder::new();
    let out = folder.path().join("o.blg").display().to_string();
    assert!(perfhive(["convert", &log, "-o", &out]).ok().starts_with("11 samples, "));
    let Some(python) = std::env::var_os(VARIABLE) else {
        eprintln!("{VARIABLE} is not set: no other program reads the log");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/blg_reader.py");
    let output = std::process::Command::new(python).args([script, &out]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["titles"], &found["samples"]), (&14.into(), &11.into()));
    // Raw counts are the values that are shown, whichever instances there are.
    let paths = [r"\Process(*)\Working Set", r"\Memory\Available Bytes"];
    let shown = perfhive(["watch", "-s", &format!("file:{log}"), "--json", paths[0], paths[1]]);
    let mut wanted: Vec<u64> = shown
        .ok()
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["value"].as_u64())
        .collect();
    let values = found["values"].as_object().unwrap().iter();
    let is_meant =
        |path: &str| path.ends_with(r"\Working Set") || path.ends_with(r"\Available Bytes");
    let rows = values.filter(|(path, _)| is_meant(path)).flat_map(|(_, rows)| rows.as_array());
    let mut read: Vec<u64> = rows.flatten().filter_map(|row| row[1].as_u64()).collect();
    wanted.sort_unstable();
    read.sort_unstable();
    assert!(read.len() > 500, "{}", read.len());
    assert_eq!(read, wanted);
}

/// A text log with one sample, taken at this second of a minute; each of these columns has the
/// second as its value.
fn text_log(second: u32, columns: &[&str]) -> String {
    let names: String = columns.iter().map(|column| format!(",\"{column}\"")).collect();
    let values = format!(",\"{second}\"").repeat(columns.len());
    format!(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"{names}\r\n\"09/22/2026 21:42:{second:02}.000\"{values}\r\n"
    )
}

#[test]
fn logs_that_name_an_index_differently_are_not_joined() {
    let folder = Folder::new();
    let mut logs = Vec::new();
    for (second, column) in [(1, r"\\A\Memory\Available MBytes"), (2, r"\\A\System\Threads")] {
        let text = folder.file(&format!("s{second}.csv"), text_log(second, &[column]));
        for ending in ["blg", "phr"] {
            let log = folder.path().join(format!("s{second}.{ending}")).display().to_string();
            if perfhive(["convert", &text, "-o", &log]).ok().starts_with("1 sample, ") {
                logs.push(log);
            }
        }
    }
    assert_eq!(logs.len(), 4);
    // A binary log made of a text log has names alone, and gets indexes that go with the others.
    let joined = perfhive(["report", &format!("file:{},{}", logs[0], logs[2])]).ok();
    assert!(joined.contains("Available MBytes") && joined.contains("Threads"), "{joined}");
    let run = perfhive(["report", &format!("file:{},{}", logs[1], logs[3])]);
    for part in [&*logs[3], "has the name \"System\", and", "one by one"] {
        assert!(run.err.contains(part), "{}", run.err);
    }
}

#[test]
fn a_machine_that_only_a_later_log_has_is_kept() {
    let folder = Folder::new();
    let (a, b) = (r"\\A\Memory\Available MBytes", r"\\B\Memory\Available MBytes");
    let first = folder.file("m0.csv", text_log(1, &[a]));
    let second = folder.file("m1.csv", text_log(2, &[a, b]));
    for command in ["convert", "relog"] {
        let out = folder.path().join(format!("{command}.csv")).display().to_string();
        match command {
            "convert" => perfhive(["convert", &first, &second, "-o", &out]).ok(),
            _ => perfhive(["relog", &first, &second, "-f", "CSV", "-o", &out]).ok(),
        };
        let written = std::fs::read_to_string(&out).unwrap();
        assert!(written.contains(a) && written.contains(b), "{written}");
        assert!(written.lines().last().unwrap().ends_with(",\"2\",\"2\""), "{written}");
    }
}
