//! Every command on recorded blocks of a real Windows machine.

use crate::run::{Folder, Run, perfhive};
use perfhive_testkit::real;

/// The options that open the first samples of the recording; `None` if the real
/// data is absent.
fn vista(samples: usize) -> Option<Vec<String>> {
    let titles = "titles/vista_009_from_pal_SampleLog.txt";
    let blocks = (0..samples).map(|number| format!("windows-vista/s{number:02}_global.bin"));
    let blocks: Vec<String> = blocks.collect();
    for name in blocks.iter().map(String::as_str).chain([titles]) {
        real::file(name)?;
    }
    let root = real::root()?;
    let path = |name: &str| root.join(name).display().to_string();
    let files: Vec<String> = blocks.iter().map(|name| path(name)).collect();
    Some(vec![
        "--source".into(),
        format!("file:{}", files.join(",")),
        "--titles".into(),
        path(titles),
    ])
}

/// Runs a command on the first two samples; `None` if the real data is absent.
fn run(args: &[&str]) -> Option<Run> {
    let mut all = vista(2)?;
    all.extend(args.iter().map(ToString::to_string));
    Some(perfhive(all))
}

/// The value in the only row that a command prints.
#[track_caller]
fn value(args: &[&str]) -> Option<f64> {
    let rows = run(&[args, &["--json"]].concat())?.json();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["status"], "ok");
    rows[0]["value"].as_f64()
}

#[test]
fn get_gives_the_published_values() {
    for (path, expected) in [
        (r"\System\Context Switches/sec", 1241.754),
        (r"\Processor(_Total)\% Processor Time", 82.148_113_155_322_59),
        (r"\System\Processes", 50.0),
        (r"\PhysicalDisk(_Total)\Avg. Disk sec/Read", 0.007_794_827_584_365_24),
    ] {
        let Some(value) = value(&["get", path]) else {
            return;
        };
        let tolerance = if path.contains("Context") { 0.001 } else { expected * 1e-12 };
        assert!((value - expected).abs() <= tolerance, "{path}: {value}");
    }
}

/// The percentages of a processor's time agree with one another.
#[test]
fn get_agrees_with_itself() {
    let get = |counter: &str| value(&["get", &format!(r"\Processor(_Total)\{counter}")]);
    let (Some(total), Some(user), Some(privileged)) =
        (get("% Processor Time"), get("% User Time"), get("% Privileged Time"))
    else {
        return;
    };
    assert!((total - user - privileged).abs() < 0.1, "{total} = {user} + {privileged}");
}

#[test]
fn get_for_people_and_for_scripts() {
    let paths = [r"\Memory\Available Bytes", r"\processor(_total)\% processor time"];
    let Some(run) = run(&[&["get"], &paths[..]].concat()) else {
        return;
    };
    let expected = "\
2007-08-14 15:41:38.614 UTC  --begin and --end choose another time

\\Memory\\Available Bytes              107.8    MiB
\\Processor(_Total)\\% Processor Time   82.148  %
";
    assert_eq!(run.ok(), expected);
    let mut all = vista(2).unwrap_or_default();
    all.extend(["get", "--bare", paths[0], r"\Process(nobody)\ID Process"].map(String::from));
    let run = perfhive(all);
    // Neither path needs a second sample, so that this is the first.
    assert_eq!(run.out, "83587072\n\n");
    assert_eq!(
        run.fails(1),
        "\\Process(nobody)\\ID Process: object \"Process\" has no instance \"nobody\" in the \
         sample that is read; --begin chooses a later one, and perfhive watch shows all"
    );
}

/// A counter that is no rate needs one sample: the first of the recording.
#[test]
fn get_takes_a_second_sample_only_for_rates() {
    let (Some(alone), Some(both)) = (
        value(&["get", r"\Memory\Available Bytes"]),
        run(&["get", r"\Memory\Available Bytes", r"\Memory\Page Faults/sec", "--json"]),
    ) else {
        return;
    };
    let rows = both.json();
    assert_eq!(alone, 83_587_072.0);
    assert_eq!(rows[0]["value"], 113_057_792);
    assert_ne!(rows[0]["time"], serde_json::Value::Null);
}

#[test]
fn list_has_every_object_and_its_instances() {
    let Some(run) = run(&["list", "--json"]) else {
        return;
    };
    let rows = run.json();
    let mut indexes: Vec<u64> = rows.iter().filter_map(|row| row["index"].as_u64()).collect();
    indexes.sort_unstable();
    assert_eq!(indexes, [2, 4, 230, 234, 236, 238, 510, 638]);
    let process = rows.iter().find(|row| row["object"] == "Process").expect("Process");
    assert_eq!(
        (process["instances"].as_bool(), process["counters"].as_u64()),
        (Some(true), Some(28))
    );

    let rows = self::run(&["list", "PROCESSOR", "--json"]).expect("there").json();
    let of_kind = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!((of_kind("counter"), of_kind("instance")), (15, 2));
}

#[test]
fn explain_tells_type_and_formula() {
    let Some(run) = run(&["explain", r"\Processor\% Processor Time", "--json"]) else {
        return;
    };
    let rows = run.json();
    assert_eq!(rows[0]["type"], "PERF_100NSEC_TIMER_INV");
    assert_eq!(rows[0]["dotnet_type"], "Timer100NsInverse");
    assert_eq!(rows[0]["formula"], "100 * (1 - (N1 - N0) / (D1 - D0))");
    assert_eq!(
        (rows[0]["object_index"].as_u64(), rows[0]["counter_index"].as_u64()),
        (Some(238), Some(6))
    );
    // Several objects have a counter of this name.
    let rows = self::run(&["explain", "% Idle Time", "--json"]).expect("there").json();
    assert_eq!(rows.len(), 3);
}

#[test]
fn a_sample_that_lacks_an_object_has_its_time_in_every_row() {
    let folder = crate::run::Folder::new();
    let log = |name: &str, second: u32, path: &str| {
        let text = format!(
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A{path}\"\r\n\"11/24/2026 10:00:0{second}.000\",\"7\"\r\n"
        );
        folder.file(name, text)
    };
    let paths = [r"\Memory\Available Bytes", r"\System\Processes"];
    let logs = [log("1.csv", 1, paths[0]), log("2.csv", 2, paths[1])];
    let source = format!("file:{}", logs.join(","));
    let out = perfhive(["watch", paths[0], paths[1], "--json", "-s", &source]).ok();
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        (row["time"].as_str().map(str::to_string), row["value"].is_number())
    };
    let found: Vec<_> = out.lines().map(row).collect();
    let at = |second: u32| Some(format!("2026-11-24T10:00:0{second}.000Z"));
    assert_eq!(found, [(at(1), true), (at(1), false), (at(2), false), (at(2), true)], "{out}");
}

#[test]
fn watch_shows_every_sample_without_waiting() {
    let Some(mut args) = vista(3) else {
        return;
    };
    args.extend(
        ["watch", "--json", r"\System\Context Switches/sec", r"\System\Processes"]
            .map(String::from),
    );
    let out = perfhive(&args).ok();
    let rows: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0]["status"], "needs-two-samples");
    assert!(rows[0]["value"].is_null());
    assert_eq!(rows[1]["value"], 50);
    let rate = rows[2]["value"].as_f64().expect("a number");
    assert!((rate - 1241.754).abs() < 0.001, "{rate}");
    args.extend(["-n", "1"].map(String::from));
    assert_eq!(perfhive(&args).ok().lines().count(), 2);
}

#[test]
fn watch_without_paths_shows_the_usual_counters() {
    let Some(run) = run(&["watch"]) else {
        return;
    };
    let out = run.ok();
    assert_eq!(out.matches("ZACH-PC").count(), 2);
    let last = out.rsplit("ZACH-PC").next().expect("the last table");
    for text in [
        "Processor(_Total)     % Processor Time             82.1  %",
        "Disk Read Bytes/sec",
        "Processes                    50",
        "taskmgr",
    ] {
        assert!(last.contains(text), "{text}: {last}");
    }
    assert!(!last.contains("_Total\n"), "{last}");
}

#[test]
fn enum_prints_one_snapshot() {
    let Some(run) = run(&["enum", "--json"]) else {
        return;
    };
    let rows = run.json();
    let all: std::collections::BTreeSet<_> =
        rows.iter().filter_map(|row| row["object"].as_str()).collect();
    assert_eq!(all.len(), 8);
    let raw = |path: &str| {
        let row = rows.iter().find(|row| row["path"] == path).expect(path);
        (row["value"].as_u64(), row["subtype"].clone(), row["unit"].clone())
    };
    assert_eq!(raw(r"\System\Processes"), (Some(50), "number".into(), "".into()));
    let (_, subtype, unit) = raw(r"\Processor(0)\% Processor Time");
    assert_eq!((subtype, unit), ("rate".into(), "raw".into()));
    let (_, subtype, unit) = raw(r"\System\System Up Time");
    assert_eq!((subtype, unit), ("elapsed".into(), "raw".into()));

    // The values are the same as in the block itself.
    let out = self::run(&["enum", "Network", "Interface", "memory"]).expect("there").ok();
    assert!(out.contains("\n\nObject count: 2\nSystem name: ZACH-PC\n\n"), "{out}");
    assert!(out.contains("----------- Network Interface object --------------\n"), "{out}");
    let both = self::run(&["enum", "Processor Memory"]).expect("there").ok();
    let apart = self::run(&["enum", "238", "4"]).expect("there").ok();
    assert_eq!(both, apart);
}

#[test]
fn workset_finds_every_process_of_a_name() {
    let Some(run) = run(&["workset", "SVCHOST"]) else {
        return;
    };
    let out = run.ok();
    // Two lines are the time.
    assert_eq!(out.lines().count(), 2 + 13);
    assert!(out.contains("\n\nWorking set:   2.3 MiB  (PID 672)\n"), "{out}");
    let rows = self::run(&["workset", "svchost", "--json"]).expect("there").json();
    assert_eq!(rows[0]["value"], 2_416_640);
    assert_eq!(rows[12]["path"], r"\Process(svchost#12)\Working Set");
    let raw = self::run(&["workset", "svchost", "--raw"]).expect("there").ok();
    assert!(raw.contains("\n\nWorking set:  2416640 B  (PID 672)\n"), "{raw}");
    let hex = self::run(&["workset", "svchost", "--hex"]).expect("there").ok();
    assert!(hex.contains("Working set:  0x24e000 bytes  (PID 672)\n"), "{hex}");
    let line = self::run(&["workset", "svchost.exe"]).expect("there").fails(1);
    assert_eq!(line, "no process is called \"svchost.exe\"; did you mean \"svchost\"?");
}

#[test]
fn ps_has_all_processes_and_no_total() {
    let Some(run) = run(&["ps"]) else {
        return;
    };
    let out = run.ok();
    // The lines are the time, an empty line, the titles, 49 processes and Idle.
    assert_eq!(out.lines().count(), 53);
    assert!(out.contains("\n\n PID  CPU %"), "{out}");
    assert!(out.lines().last().is_some_and(|line| line.ends_with("  Idle")), "{out}");
    assert!(!out.contains("_Total"), "{out}");
    assert_eq!(out.matches("  svchost\n").count(), 13);

    let args = ["ps", "-o", "name,cpu,Page File Bytes,180", "--sort", "-cpu", "--json"];
    let rows = self::run(&args).expect("there").json();
    assert_eq!(rows.len(), 50);
    let keys: Vec<_> = rows[0].as_object().expect("an object").keys().collect();
    // The four chosen columns, and status, time and machine.
    assert_eq!(keys.len(), 7, "{keys:?}");
    assert_eq!((&rows[0]["status"], &rows[0]["machine"]), (&"ok".into(), &"ZACH-PC".into()));
    assert!(rows[0]["Page File Bytes"].is_u64());
    let busiest: Vec<_> = rows.iter().filter_map(|row| row["cpu"].as_f64()).collect();
    assert!(busiest.windows(2).all(|pair| pair[0] >= pair[1]), "{busiest:?}");
    // The second sample has processes that the first does not have.
    let last = rows.last().expect("rows");
    assert!(last["cpu"].is_null());
    assert_eq!(last["status"], "incomplete");
}

#[test]
fn dump_names_every_byte() {
    let Some(bytes) = real::file("windows-vista/s00_global.bin") else {
        return;
    };
    let Some(root) = real::root() else {
        return;
    };
    let file = root.join("windows-vista/s00_global.bin").display().to_string();
    let rows = perfhive(["dump", &file, "--json"]).json();
    let count = |name: &str| {
        let is = |row: &&serde_json::Value| row["kind"] == "structure" && row["structure"] == name;
        rows.iter().filter(is).count()
    };
    assert_eq!(count("PERF_DATA_BLOCK"), 1);
    assert_eq!(count("PERF_OBJECT_TYPE"), 8);
    assert!(count("PERF_INSTANCE_DEFINITION") > 50);
    // The bytes that are printed for each field are those at its place in the block.
    for row in rows.iter().filter(|row| row["kind"] == "field" && row["hex"].is_string()) {
        let at = row["offset"].as_u64().expect("an offset") as usize;
        let hex = row["hex"].as_str().expect("bytes");
        let expected: String =
            bytes[at..at + hex.len() / 2].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{row}");
    }
    let out = perfhive(["dump", &file]).ok();
    assert!(out.ends_with("22,840 bytes, no structure damaged\n"), "{}", &out[out.len() - 80..]);
}

/// English names are recognised although the only title list is in another language.
#[test]
fn common_english_names_are_known_beside_a_german_title_list() {
    let Some(bytes) = real::file("windows-vista/s00_o2_4.bin") else { return };
    let folder = Folder::new();
    let file = format!("file:{}", folder.file("memory.bin", &bytes));
    let titles = folder.file("de.txt", "4\nSpeicher\n24\nVerfügbare Bytes\n");
    let get = |path: &str| perfhive(["get", "--bare", "-s", &file, "--titles", &titles, path]).ok();
    let german = get(r"\Speicher\Verfügbare Bytes");
    assert!(german.trim().parse::<u64>().is_ok(), "{german}");
    assert_eq!(get(r"\Memory\Available Bytes"), german);
    // Names are shown in the language of the title list.
    let list = perfhive(["list", "-s", &file, "--titles", &titles]).ok();
    assert!(list.contains("Speicher") && !list.contains("Memory"), "{list}");
}

/// An instance with a name that lies outside its definition is shown by its number, and every
/// command gives the reason.
#[test]
fn name_outside_its_definition_is_a_fault_with_its_offset() {
    let Some(mut bytes) = real::file("windows-vista/s00_o5_230.bin") else { return };
    let folder = Folder::new();
    // The field NameLength of an instance of Process.
    bytes[0x60C..0x610].copy_from_slice(&0xFFFFu32.to_le_bytes());
    let file = folder.file("cut.bin", &bytes);
    let file = format!("file:{file}");
    for command in [&["get", r"\230(*)\784"][..], &["enum", "230"], &["list", "230"]] {
        let run = perfhive([&["--source", &file], command].concat());
        let fault = "(PERF_INSTANCE_DEFINITION.NameLength = 65535 at offset 0x60c)";
        assert!(run.err.contains(fault), "{command:?}: {}", run.err);
    }
}

/// Blocks that Samba wrote, with indexes of its own.
#[test]
fn samba_blocks() {
    for name in ["samba/sample_t0.bin", "samba/sample_t1.bin", "samba/Counter_009.bin"] {
        if real::file(name).is_none() {
            return;
        }
    }
    let path =
        |name: &str| real::root().expect("there").join("samba").join(name).display().to_string();
    let source = format!("file:{},{}", path("sample_t0.bin"), path("sample_t1.bin"));
    let titles = path("Counter_009.bin");
    let run = |args: &[&str]| {
        let options = ["--source", &source, "--titles", &titles];
        perfhive(options.iter().chain(args))
    };
    let get = run(&["get", "--bare", r"\System\Context Switches/sec"]).ok();
    assert_eq!(get, "1000.0\n");
    // Process has another index there, and is found by its name.
    let workset = run(&["workset", "SMBD"]).ok();
    assert!(workset.ends_with("\n\nWorking set: 201 B  (PID 200)\n"), "{workset}");
    assert!(run(&["ps", "-o", "pid,name"]).ok().contains("300  héllo 日本\n"));
    // Without names the indexes can be used.
    let bare = perfhive(["--source", &source, "get", "--bare", r"\2\14"]).ok();
    assert_eq!(bare, "1000.0\n");
}
