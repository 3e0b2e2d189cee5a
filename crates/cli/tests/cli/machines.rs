//! Logs with counters of several machines.

use crate::run::{Folder, perfhive};

const FIRST: &str = r"\\A\Memory\Available Bytes";
const SECOND: &str = r"\\B\Memory\Available Bytes";
const PROCESS: &str = r"\\B\Process(x)\Working Set";

/// A log with a counter of the machine A and two of B, and its address.
fn log(folder: &Folder) -> (String, String) {
    let rows = [
        format!(
            r#""(PDH-CSV 4.0) (Coordinated Universal Time)(0)","{FIRST}","{SECOND}","{PROCESS}""#
        ),
        r#""11/23/2026 10:00:00.000","100","200","5""#.into(),
        r#""11/23/2026 10:00:01.000","101","201","6""#.into(),
        r#""11/23/2026 10:00:02.000","102"," ","7""#.into(),
    ];
    let file = folder.file("two.csv", rows.join("\r\n") + "\r\n");
    let source = format!("file:{file}");
    (file, source)
}

#[test]
fn sensors_are_those_of_the_first_machine() {
    let folder = Folder::new();
    let (_, source) = log(&folder);
    let values = |sensor: &str| -> Vec<Option<f64>> {
        let text = perfhive(["measure", "-s", &source, sensor, "--json"]).ok();
        let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let rows: Vec<serde_json::Value> = rows.collect();
        rows.iter()
            .filter(|row| row["kind"] == "reading")
            .map(|row| row["value"].as_f64())
            .collect()
    };
    for sensor in [FIRST, r"\Memory\Available Bytes", "log.A/Memory/Available Bytes"] {
        assert_eq!(values(sensor), [Some(101.0), Some(102.0)], "{sensor}");
    }
    // Values of another machine are not shown as those of the first.
    let error = perfhive(["measure", "-s", &source, SECOND]).fails(2);
    assert!(error.contains("sensors are those of the first machine"), "{error}");
    let error = perfhive(["measure", "-s", &source, "Process/Working Set#x"]).fails(1);
    assert!(error.contains("no instance \"x\""), "{error}");
    let listed = perfhive(["sensors", "-s", &source, "--instances"]).ok();
    assert!(listed.contains("Available Bytes") && !listed.contains("#x"), "{listed}");
}

#[test]
fn counters_of_another_machine_alone_have_their_times() {
    let folder = Folder::new();
    let (file, source) = log(&folder);
    let cells = ["\"200\"", "\"201\"", "\" \""];
    let rows = cells.iter().enumerate();
    let rows = rows.map(|(n, cell)| format!("\"11/23/2026 10:00:0{n}.000\",{cell}\r\n"));
    let wanted = format!(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"{SECOND}\"\r\n{}",
        rows.collect::<String>()
    );
    let [converted, relogged] =
        ["a.csv", "b.csv"].map(|name| folder.path().join(name).display().to_string());
    perfhive(["convert", &file, "-o", &converted, "-p", SECOND]).ok();
    assert_eq!(std::fs::read_to_string(&converted).unwrap(), wanted);
    perfhive(["relog", &file, "-c", SECOND, "-f", "CSV", "-o", &relogged]).ok();
    assert_eq!(std::fs::read_to_string(&relogged).unwrap(), wanted);
    let told = perfhive(["typeperf", SECOND, "--source", &source]).ok();
    assert!(told.contains("\"11/23/2026 10:00:01.000\",\"201.000000\""), "{told}");
    let watched = perfhive(["watch", "-w", "-f", "csv", "-s", &source, SECOND]).ok();
    assert!(watched.contains("\n2026-11-23T10:00:01.000Z,201\n"), "{watched}");
    let read = perfhive(["get", "-s", &source, SECOND]).ok();
    assert!(read.starts_with("2026-11-23 10:00:00"), "{read}");
}

/// Without its machine, the path would be that of the first machine.
#[test]
fn suggested_paths_keep_their_machine() {
    let folder = Folder::new();
    let (_, source) = log(&folder);
    for path in [
        r"\\B\Process(xx)\Working Set",
        r"\\B\Process(xx)\Working Sets",
        r"\\B\Proces(xx)\Working Set",
    ] {
        let run = perfhive(["get", "-s", &source, path]);
        assert!(run.err.ends_with(&format!("rite '{PROCESS}'\n")), "{path}: {}", run.err);
    }
}

#[test]
fn counters_of_several_machines_keep_their_machine() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Pages/sec\",\"\\\\B\\Memory\\Pages/sec\",\
               \"\\\\B\\Process(x)\\Working Set\",\"\\\\A\\Memory\\Available Bytes\"\r\n\
               \"11/24/2026 10:00:00.000\",\"1\",\"2\",\"3\",\"4\"\r\n\
               \"11/24/2026 10:01:00.000\",\"5\",\"6\",\"7\",\" \"\r\n";
    let file = folder.file("a.csv", log);
    let [csv, blg, phr, again] = ["o.csv", "o.blg", "o.phr", "p.csv"]
        .map(|name| folder.path().join(name).display().to_string());
    perfhive(["convert", &file, "-o", &csv]).ok();
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), log);
    for (from, to) in [(&file, &blg), (&file, &phr), (&blg, &again), (&phr, &again)] {
        perfhive(["convert", from, "-o", to]).ok();
    }
    let source = |file: &str| format!("file:{file}");
    for file in [&file, &blg, &phr, &again] {
        let values = |path: &str, wanted: [f64; 2]| {
            let watched = perfhive(["watch", "-s", &source(file), path, "--json"]).ok();
            let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
            let found: Vec<_> = watched.lines().map(|line| row(line)["value"].as_f64()).collect();
            assert_eq!(found, wanted.map(Some), "{file} {path}");
        };
        values(r"\Memory\Pages/sec", [1.0, 5.0]);
        values(r"\\b\Memory\Pages/sec", [2.0, 6.0]);
        values(r"\\B\Process(x)\Working Set", [3.0, 7.0]);
        // The first machine has no such process.
        let of_first = perfhive(["get", "-s", &source(file), r"\Process(x)\Working Set"]);
        assert!(of_first.code != Some(0) && !of_first.out.contains('3'), "{}", of_first.out);
    }
    let info = perfhive(["info", &file]).ok();
    assert!(info.contains("\nmachine   A, B\n"), "{info}");
    let error = perfhive(["get", "-s", &source(&file), r"\\C\Memory\Pages/sec"]);
    assert!(error.err.contains("no source for machine \"C\""), "{}", error.err);
}

#[test]
fn an_unknown_machine_is_told_beside_all_that_the_log_has() {
    let folder = Folder::new();
    let (_, source) = log(&folder);
    let line = perfhive(["get", "-s", &source, r"\\C\Memory\Available Bytes"]).fails(2);
    assert!(line.contains("no source for machine \"C\" (known: A, B)"), "{line}");
}

#[test]
fn watched_rows_of_several_machines_have_their_machine() {
    let folder = Folder::new();
    let (_, source) = log(&folder);
    let watched = |more: &[&str]| {
        let args = [&["watch", "-s", &source, "-n", "1", r"\Memory\*", r"\\B\*\*"][..], more];
        perfhive(args.concat()).ok()
    };
    let lines: Vec<String> = watched(&[r"\\B\Process(*)\*"])
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let wanted = [
        "2026-11-23 10:00:00 UTC",
        "",
        r"\\A\Memory Available Bytes 100 B",
        r"\\B\Memory Available Bytes 200 B",
        r"\\B\Process(x) Working Set 5 B",
    ];
    assert_eq!(lines, wanted);
    let wide = watched(&["--wide"]);
    let titles = wide.lines().next().unwrap_or_default();
    assert_eq!(titles.split_whitespace().collect::<Vec<_>>(), [r"\\A\Memory", r"\\B\Memory"]);
    // One machine stands above its rows.
    let one = perfhive(["watch", "-s", &source, "-n", "1", r"\\B\Memory\*"]).ok();
    assert!(one.starts_with("B  2026-11-23 10:00:00 UTC\n\nMemory "), "{one}");
}

#[test]
fn an_object_of_a_machine_is_told_with_the_way_to_its_counters() {
    let folder = Folder::new();
    let (_, source) = log(&folder);
    let unknown =
        "no source for machine \"HOST9\" (known: A, B); --source says which machine is read";
    for command in ["list", "enum"] {
        let line = |text: &str| perfhive([command, "-s", &source, text]).fails(2);
        assert_eq!(line(r"\\HOST9\Memory"), unknown, "{command}");
        let known = line(r"\\B\Memory");
        assert!(known.ends_with(r"read it by perfhive get '\\B\Memory\*'"), "{command}: {known}");
        let known = line(r"\\B\Process");
        assert!(
            known.ends_with(r"read it by perfhive get '\\B\Process(*)\*'"),
            "{command}: {known}"
        );
        let absent = line(r"\\B\Memroy");
        assert!(
            absent.contains("no object \"Memroy\"; did you mean \"Memory\"?"),
            "{command}: {absent}"
        );
    }
    assert_eq!(perfhive(["list", "-s", &source, r"\\HOST9\Memory\*"]).fails(2), unknown);
}
