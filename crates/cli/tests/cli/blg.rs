//! `convert` to a binary log of perfmon, read by another program.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;
use serde_json::Value;

/// The interpreter that has dissect.etl: `cargo xtask test --only parquet` installs it.
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
