//! `convert` to Parquet, read by pyarrow and DuckDB.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;
use serde_json::Value;

/// The interpreter that has pyarrow and DuckDB: `cargo xtask test --only test` installs them.
const VARIABLE: &str = "PERFHIVE_PARQUET_PYTHON";

/// What pyarrow and DuckDB find in a folder; `None`, said on standard error, where they are absent.
fn read(folder: &str) -> Option<Value> {
    let Some(python) = std::env::var_os(VARIABLE) else {
        eprintln!("{VARIABLE} is not set: Parquet is written and not read back");
        return None;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/parquet_reader.py");
    let output = std::process::Command::new(python).args([script, folder]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn objects_of_another_machine_have_files_of_their_own() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Pages/sec\",\"\\\\B\\Memory\\Pages/sec\",\
               \"\\\\B\\Process(x)\\Working Set\"\r\n\"11/24/2026 10:00:00.000\",\"1\",\"2\",\"3\"\r\n";
    let file = folder.file("a.csv", log);
    let out = folder.path().join("log.parquet").display().to_string();
    perfhive(["convert", &file, "-o", &out]).ok();
    let mut files: Vec<_> =
        std::fs::read_dir(&out).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["B Memory.parquet", "B Process.parquet", "Memory.parquet"]);
    let Some(found) = read(&out) else { return };
    for (file, machine) in [("B Memory", "B"), ("B Process", "B"), ("Memory", "A")] {
        assert_eq!(found[format!("{file}.parquet")]["metadata"]["machine"], machine, "{found}");
    }
}

#[test]
fn events_within_a_millisecond_have_times_of_their_own() {
    let sensor = "linux.procfs/Process/Working Set#7";
    let record = |time: f64| {
        serde_json::json!({"kind": "record", "source": "call", "event": "paid", "type": "point", "time": time,
            "pid": 7, "tid": 7, "delay": 2e-5, "sample": 1e-5, "values": {sensor: 1}, "raw": {}})
    };
    let lines = [
        serde_json::json!({"kind": "experiment", "version": 1, "machine": "M", "program": ["shop"], "pid": 7,
            "started": "2026-11-26T10:00:00Z"}),
        serde_json::json!({"kind": "source", "source": "call", "interval": null,
            "sensors": [{"name": sensor, "unit": "B", "raw_per_second": null}]}),
        record(1.000_003),
        record(1.000_010),
    ];
    let folder = Folder::new();
    let file = folder.file("a.jsonl", lines.map(|line| format!("{line}\n")).concat());
    let log = folder.path().join("a.blg").display().to_string();
    perfhive(["convert", "-q", &file, "-o", &log]).ok();
    for (number, file) in [file, log].iter().enumerate() {
        let out = folder.path().join(format!("{number}.parquet")).display().to_string();
        perfhive(["convert", "-q", file, "-o", &out]).ok();
        let Some(found) = read(&out) else { return };
        let rows = found["Process.parquet"]["rows"].as_array().unwrap().iter();
        let times: Vec<&Value> = rows.map(|row| &row["time"]).collect();
        let expected = ["2026-11-26T10:00:01.000003+00:00", "2026-11-26T10:00:01.000010+00:00"];
        assert_eq!(times, expected, "{file}");
    }
}

#[test]
fn a_log_becomes_files_that_pyarrow_and_duckdb_read_with_the_same_values() {
    let Some(root) = real::root() else { return };
    let log = root.join("logs/pal_SampleLog.blg").display().to_string();
    let folder = Folder::new();
    let out = folder.path().join("log.parquet").display().to_string();
    let row = &perfhive(["convert", &log, "-o", &out, "--json"]).json()[0];
    assert_eq!(row["samples"], 11);
    let sizes =
        std::fs::read_dir(&out).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert_eq!(row["bytes"].as_u64(), Some(sizes.sum()));
    let Some(found) = read(&out) else { return };
    let files: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(files.len(), 8, "{files:?}");
    for (file, contents) in found.as_object().unwrap() {
        assert_eq!(
            (&contents["same"], &contents["is_sorted"]),
            (&true.into(), &true.into()),
            "{file}"
        );
    }
    let process = &found["Process.parquet"];
    assert_eq!(process["metadata"]["machine"], "ZACH-PC");
    assert_eq!(process["metadata"]["object"], "Process");
    let column = |name: &str| &process["columns"][name];
    assert_eq!(column("Working Set")[0], "uint64");
    assert_eq!(column("Working Set")[1]["unit"], "B");
    assert_eq!(column("% Processor Time")[0], "double");
    assert_eq!(column("% Processor Time")[1]["counter_type"], "PERF_100NSEC_TIMER");
    assert_eq!(column("time")[0], "timestamp[us, tz=UTC]");
    assert_eq!(column("instance")[0], "dictionary<values=string, indices=int32, ordered=0>");
    assert_eq!(process["duckdb_types"]["Working Set"], "UBIGINT");
    assert_eq!(process["duckdb_types"]["time"], "TIMESTAMP WITH TIME ZONE");
    // The values are those of `watch`, sample by sample.
    let path = r"\Process(explorer)\% Processor Time";
    let watched = perfhive(["watch", "-s", &format!("file:{log}"), "--json", path]).ok();
    let watched: Vec<Value> = watched
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["value"].take())
        .collect();
    let rows = process["rows"].as_array().unwrap().iter();
    let mine: Vec<&Value> = rows.filter(|row| row["instance"] == "explorer").collect();
    let values: Vec<Value> = mine.iter().map(|row| row["% Processor Time"].clone()).collect();
    assert_eq!((values, watched.len()), (watched, 11));
    assert_eq!(mine[0]["pid"], 1948);
    assert_eq!(mine[0]["time"], "2007-08-14T19:40:38.659659+00:00");
    let memory = &found["Memory.parquet"];
    assert_eq!(memory["rows"].as_array().map(Vec::len), Some(11));
    assert!(memory["columns"]["instance"].is_null());
}

#[test]
fn some_counters_go_to_parquet_and_an_existing_folder_is_refused() {
    let Some(root) = real::root() else { return };
    let log = root.join("logs/pal_SampleLog.blg").display().to_string();
    let folder = Folder::new();
    let out = folder.path().join("few.parquet").display().to_string();
    let path = r"\Processor(_Total)\% Processor Time";
    let convert = ["convert", &log, "-o", &out, "-p", path, "--end", "+3m"];
    assert!(perfhive(convert).ok().starts_with("4 samples, "));
    let error = perfhive(convert).fails(2);
    assert!(error.contains("exists; name another file"), "{error}");
    let Some(found) = read(&out) else { return };
    assert_eq!(found.as_object().unwrap().len(), 1);
    let rows = found["Processor.parquet"]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["instance"]), (4, &Value::from("_Total")));
    assert!(rows[0]["% Processor Time"].is_null() && rows[1]["% Processor Time"].is_f64());
}
