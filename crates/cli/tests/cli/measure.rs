//! `sensors` and `measure`.

use crate::blocks::{GERMAN, TITLES, recording, sample};
use crate::run::{Folder, Run, perfhive};
use serde_json::Value;

const SWITCHES: &str = "log.HOST/System/Context Switches%2Fsec";
const TIME: &str = "log.HOST/Process/%25 Processor Time";

/// Runs a command on three samples, ten seconds apart.
fn run(args: &[&str]) -> Run {
    let folder = Folder::new();
    let mut all = recording(&folder);
    all[1] += &format!(",{}", folder.file("third.bin", sample(20)));
    all.extend(args.iter().map(ToString::to_string));
    perfhive(all)
}

/// The rows of a stream of JSON objects.
#[track_caller]
fn stream(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn of_kind<'a>(rows: &'a [Value], kind: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["kind"] == kind).collect()
}

#[test]
fn sensors_by_name_part_and_wildcard() {
    let names = |pattern: &str| -> Vec<String> {
        let rows = run(&["sensors", pattern, "--json"]).json();
        rows.iter().map(|row| row["sensor"].as_str().expect("a name").to_string()).collect()
    };
    for pattern in [
        SWITCHES,
        "LOG.host/system/context switches%2FSEC",
        "log.HOST/System/Context Switches/sec",
        "System/Context Switches/sec",
        "System/Context Switches%2Fsec",
        "context switches/sec",
        "*switches*",
    ] {
        assert_eq!(names(pattern), [SWITCHES], "{pattern}");
    }
    let memory = ["log.HOST/Memory/Available Bytes", "log.HOST/Memory/%25 Committed Bytes In Use"];
    assert_eq!(names("MEMORY"), memory);
    assert_eq!(
        names("Process/Working Set#1*"),
        [100, 101, 102].map(|pid| { format!("log.HOST/Process/Working Set#{pid}") })
    );
    assert!(names("*").len() > 10);
}

#[test]
fn a_sensor_is_described() {
    let rows = run(&["sensors", TIME, "--json"]).json();
    assert_eq!(
        (&rows[0]["kind"], &rows[0]["value_type"], &rows[0]["unit"], &rows[0]["instances"]),
        (&"counter".into(), &"double".into(), &"%".into(), &true.into())
    );
    let csv = run(&["sensors", TIME, "-I", "--format", "csv"]).ok();
    assert!(csv.starts_with("sensor,kind,value_type,unit,instances,costly,"), "{csv}");
    // Two processes of one name have different names, and the hostile process is given by its ID.
    assert!(csv.contains(&format!("{TIME}#100,")) && csv.contains(&format!("{TIME}#101,")));
    assert!(csv.contains(&format!("{TIME}#_Total,")) && !csv.contains('\x1b'));
}

/// The first sample has rates: those between the recording's first and second sample.
#[test]
fn measure_has_rates_from_the_first_sample_on() {
    let out = run(&["measure", SWITCHES, &format!("{TIME}#100"), "--json"]).ok();
    let rows = stream(&out);
    let readings = of_kind(&rows, "reading");
    let samples: Vec<_> = readings.iter().filter_map(|row| row["sample"].as_u64()).collect();
    assert_eq!(samples, [1, 1, 2, 2], "{out}");
    for row in &readings {
        assert_eq!(row["status"], "ok");
        let value = row["value"].as_f64().expect("a value");
        let expected = if row["sensor"] == SWITCHES { 1234.0 } else { 2.0 };
        assert!((value - expected).abs() < 1e-9, "{row}");
    }
    assert_eq!(readings[0]["unit"], "1/s");
    assert_eq!(readings[1]["sensor"], format!("{TIME}#100"));
    // The time is when the sample was recorded, not when it was read.
    let times: Vec<_> = readings.iter().filter_map(|row| row["time"].as_str()).collect();
    assert!(times[0].starts_with("2022-06-18T") && times[0] < times[2], "{times:?}");
}

#[test]
fn measure_ends_with_the_cost() {
    let rows = stream(&run(&["measure", SWITCHES, "--json"]).ok());
    let cost = of_kind(&rows, "cost");
    let figure = |clock: &str, figure: &str| {
        let row = cost.iter().find(|row| row["sensor"] == clock && row["status"] == figure);
        row.and_then(|row| row["value"].as_f64())
    };
    assert_eq!(figure("sample", "count"), Some(2.0));
    let (median, longest) = (figure("sample", "median"), figure("sample", "longest"));
    assert!(median > Some(0.0) && median <= longest, "{cost:?}");
    assert_eq!(rows.last().map(|row| &row["kind"]), Some(&"cost".into()));
    #[cfg(target_os = "linux")]
    for clock in ["performance-counter", "process-cpu", "thread-cpu"] {
        assert!(figure(clock, "median") > Some(0.0), "{cost:?}");
        assert!(figure(clock, "longest") < Some(60.0), "{cost:?}");
    }
    // The interval of a clock that is read around the sample is at least as long.
    #[cfg(target_os = "linux")]
    assert!(figure("performance-counter", "longest") >= longest, "{cost:?}");
}

#[test]
fn measure_for_people() {
    let out = run(&["measure", "System/Processes", "-n", "1", SWITCHES]).ok();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("Sample 1  2022-06-18 "), "{out}");
    assert!(lines[0].contains("taken in ") && lines[0].ends_with(" ms"), "{out}");
    // The readings have the order of the command line, and its names as they are printed.
    assert!(
        lines[1].starts_with("log.HOST/System/Processes ") && lines[1].ends_with(" 4"),
        "{out}"
    );
    assert!(
        lines[2].starts_with("log.HOST/System/Context Switches/sec ")
            && lines[2].ends_with("1,234.000  /s"),
        "{out}"
    );
    assert!(out.contains("\nCost of 1 sample, in µs\n"), "{out}");
    let stage = lines.iter().find(|line| line.starts_with("sample ")).expect("the stage");
    assert_eq!(stage.split_whitespace().count(), 3, "{stage}");
}

#[test]
fn formats_have_the_same_keys() {
    let keys = "sensor,value,unit,status,time,kind,sample,value_type,raw,message,path,object_index,\
                counter_index,pid";
    let csv = run(&["measure", "System/Processes", "--format", "csv"]).ok();
    assert_eq!(csv.lines().next(), Some(keys));
    let tsv = run(&["measure", "System/Processes", "--format", "tsv"]).ok();
    assert_eq!(tsv.lines().next(), Some(keys.replace(',', "\t").as_str()));
    assert_eq!(csv.lines().count(), tsv.lines().count());
    assert!(csv.lines().skip(1).all(|line| line.split(',').count() == 14), "{csv}");
}

#[test]
fn a_name_as_the_table_prints_it_is_a_name() {
    let name = "log.HOST/System/Context Switches/sec";
    let out = run(&["measure", name, "log.HOST/Memory/% Committed Bytes In Use", "-n", "1"]).ok();
    assert!(out.contains(&format!("\n{name} ")), "{out}");
    assert!(run(&["sensors"]).ok().contains(&format!("\n{name} ")));
}

#[test]
fn rows_have_the_english_path_the_indexes_and_the_process() {
    let args = ["measure", "Thread(pid:100/*)/ID Thread", "MemoryAvailable Bytes", "-f", "csv"];
    let with = |more: &[&str]| {
        let out = run(&[&args, more].concat()).ok();
        let is_reading = |line: &&str| line.contains(",reading,");
        let path = |line: &str| line.split(",,").last().unwrap_or_default().to_string();
        out.lines().filter(is_reading).map(path).collect::<Vec<_>>()
    };
    let rows = with(&["-n", "1"]);
    let threads = ["100", "7"].map(|id| format!(r"\Thread(pid:100/{id})\ID Thread,232,804,100"));
    assert_eq!(rows[..2], threads);
    assert_eq!(rows[2..], [r"\Memory\Available Bytes,4,24,"]);
    let rows = with(&["--human", "--language", "en"]);
    assert_eq!(rows.last().map(String::as_str), Some("Memory,Available Bytes"));
}

/// New, vanished and missing instances are reported with their sample.
#[test]
fn anomalies_are_rows() {
    let folder = Folder::new();
    let mut changed = sample(20);
    // The second bash gets another process ID, so that it counts as gone, and as a new
    // process.
    let size = changed.windows(8).position(|bytes| bytes == 4_190_208u64.to_le_bytes());
    let size = size.expect("its working set");
    let before = changed[..size].windows(4).rposition(|bytes| bytes == 101u32.to_le_bytes());
    let at = before.expect("its process ID, just before");
    assert!(size - at <= 8);
    changed[at..at + 4].copy_from_slice(&103u32.to_le_bytes());
    let mut all = recording(&folder);
    all[1] += &format!(",{}", folder.file("third.bin", changed));
    let one = format!("{TIME}#101");
    let every = "log.HOST/Process/Working Set#*";
    let run = perfhive(all.iter().map(String::as_str).chain(["measure", &one, every, "--json"]));
    let out = run.ok();
    let rows = stream(&out);
    let told: Vec<_> = of_kind(&rows, "anomaly")
        .iter()
        .map(|row| (row["sample"].as_u64(), row["status"].as_str(), row["value"].as_u64()))
        .collect();
    // Buffers that grow for the first sample are no anomaly.
    let changes = [(Some(2), Some("born"), Some(1)), (Some(2), Some("gone"), Some(1))];
    assert_eq!(told, changes, "{out}");
    let of_one: Vec<_> =
        rows.iter().filter(|row| row["sensor"] == one).map(|row| row["status"].as_str()).collect();
    assert_eq!(of_one, [Some("ok"), Some("vanished")], "{out}");
    // The new process has another name than the old one.
    assert!(rows.iter().any(|row| row["sensor"] == "log.HOST/Process/Working Set#103"), "{out}");
    // A process without a working set.
    let quiet = rows.iter().find(|row| row["sensor"] == "log.HOST/Process/Working Set#102");
    assert_eq!(quiet.map(|row| &row["status"]), Some(&"no-data".into()), "{out}");
}

#[test]
fn names_of_the_recording_s_language_or_none() {
    let folder = Folder::new();
    let args = recording(&folder);
    let out = perfhive(args[..2].iter().map(String::as_str).chain(["sensors", "4"])).ok();
    assert!(out.contains("log.HOST/4/24 "), "{out}");
    let out = perfhive(args[..2].iter().map(String::as_str).chain(["measure", "4/24"])).ok();
    assert!(out.contains("\nlog.HOST/4/24  8,589,934,592\n"), "{out}");
    let german = folder.file("de.txt", GERMAN);
    let with_german = args[..2].iter().map(String::as_str).chain(["--titles", &german]);
    let out = perfhive(with_german.chain(["sensors", "*bytes*"])).ok();
    assert!(out.contains("log.HOST/Arbeitsspeicher/Verfügbare Bytes "), "{out}");
    // English names are used for sensors, whatever language is shown.
    let both = args.iter().map(String::as_str).chain(["--titles", &german, "--language", "de"]);
    let out = perfhive(both.chain(["sensors", "Available Bytes"])).ok();
    assert!(out.contains("log.HOST/Memory/Available Bytes "), "{out}");
}

#[test]
fn errors_of_sensor_names_suggest_a_correction() {
    for (args, code, says) in [
        (&["sensors", "Memroy"][..], 2, "no sensor \"Memroy\"; did you mean \"Memory\"?"),
        (&["sensors", "xyzzy"], 2, "perfhive sensors shows what there is"),
        (&["sensors", "Process/Working Set#9*"], 1, "perfhive sensors 'Process/Working Set' -"),
        (&["measure", "x"], 2, "neither a path nor a short name"),
        (&["measure", "log.HOST//y"], 2, "perfhive sensors shows the names"),
        (&["measure", "log.OTHER/x/y/z"], 2, "there are: log.HOST"),
        (&["measure", r"\Memory\Availible Bytes"], 2, "did you mean \"Available Bytes\""),
        (&["measure", r"\Process(bahs)\Working Set"], 1, "did you mean \"bash\"?"),
        (&["measure", "log.OTHER/Memory/Available Bytes"], 2, "there are: log.HOST"),
        (&["measure", "Memory/Availible Bytes"], 2, r"Write '\Memory\Available Bytes'"),
        (
            &["measure", "log.HOST/Memory/Availible Bytes"],
            2,
            "nearest: log.HOST/Memory/Available Bytes",
        ),
        (&["measure", "Process/Working Set"], 2, r"write '\Process(*)\Working Set'"),
        (&["measure", "log.HOST/Process/Working Set"], 2, "add #INSTANCE, or #* for all of them"),
        (&["measure", "Memory/Available Bytes#1"], 2, "has no instances"),
        (&["measure", "Process/Working Set#1000"], 1, "nearest: 100"),
        (&["measure", "Process/Working Set#bash"], 1, "--instances lists the instances"),
        (&["measure"], 2, "SENSOR"),
        (&["measure", "Memory/Available Bytes", "-n", "0"], 2, "expected a whole number from 1 on"),
    ] {
        let run = run(args);
        assert_eq!(run.out, "", "{args:?}");
        let line = run.fails(code);
        assert!(line.contains(says), "{args:?}: {line}");
    }
    // Each wrong sensor is reported.
    let two = run(&["measure", "Memory/Availible Bytes", "x"]);
    assert_eq!((two.code, two.err.lines().count()), (Some(2), 2), "{}", two.err);
}

#[test]
fn measuring_one_sample_fails() {
    let folder = Folder::new();
    let source = format!("file:{}", folder.file("one.bin", sample(0)));
    let titles = folder.file("titles.txt", TITLES);
    let args = ["--source", &source, "--titles", &titles, "measure", "System/Processes"];
    let line = perfhive(args).fails(1);
    assert!(line.contains("perfhive get reads a single one"), "{line}");
}

#[test]
fn a_sensor_without_any_value() {
    let run = run(&["measure", "Odd Things/Remark", "System/Processes", "--json"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert_eq!(run.one_line(), "log.HOST/Odd Things/Remark had no value in any sample");
    let rows = stream(&run.out);
    assert_eq!(of_kind(&rows, "reading").len(), 4, "{}", run.out);
}

/// For a damaged object the damage is reported, not that the object is unknown; sound objects
/// can be measured.
#[test]
fn a_damaged_object() {
    let folder = Folder::new();
    let files = [0, 10, 20].map(|second| {
        let mut block = sample(second);
        // The length of a counter definition is 0.
        let memory = crate::golden::find(&block, 4);
        block[memory + 64..memory + 68].fill(0);
        folder.file(&format!("{second}.bin"), block)
    });
    let (source, titles) = (format!("file:{}", files.join(",")), folder.file("t.txt", TITLES));
    let run = |args: &[&str]| {
        perfhive([&["--source", source.as_str(), "--titles", titles.as_str()], args].concat())
    };
    let all = run(&["sensors"]);
    assert_eq!(all.code, Some(0));
    assert!(all.one_line().starts_with("warning: ") && all.err.contains("length"), "{}", all.err);
    assert!(all.out.contains("log.HOST/System/Processes ") && !all.out.contains("Memory"));
    for args in [&["sensors", "Memory/Available Bytes"][..], &["measure", "Memory/Available Bytes"]]
    {
        let line = run(args).fails(3);
        assert!(line.contains("length is smaller"), "{args:?}: {line}");
    }
    let rows = stream(&run(&["measure", "System/Processes", "--json"]).ok());
    assert_eq!(of_kind(&rows, "reading").len(), 2);
}

/// A damaged part of a recording is told wherever it is, also where it is the baseline.
#[test]
fn a_damaged_line_of_a_log() {
    let folder = Folder::new();
    for damaged in 0..3 {
        let mut log =
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\HOST\\Memory\\Available Bytes\"\r\n".to_string();
        for second in 0..3 {
            let rest = if second == damaged { ",\"2\"" } else { "" };
            log += &format!("\"11/26/2026 08:00:0{second}.000\",\"1\"{rest}\r\n");
        }
        let source = format!("file:{}", folder.file("log.csv", log));
        let out =
            perfhive(["--source", &source, "measure", "Memory/Available Bytes", "--json"]).ok();
        let rows = stream(&out);
        let told = of_kind(&rows, "anomaly");
        assert_eq!(told.len(), 1, "{out}");
        let (sample, message) = (&told[0]["sample"], told[0]["message"].as_str().unwrap());
        assert_eq!(sample, &damaged.max(1), "{out}");
        assert!(message.contains(&format!("line {} is damaged", damaged + 2)), "{message}");
    }
    // There is no sample behind the baseline.
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\HOST\\Memory\\Available Bytes\"\r\n\
               \"11/26/2026 08:00:00.000\",\"1\",\"2\"\r\n";
    let source = format!("file:{}", folder.file("log.csv", log));
    let run = perfhive(["--source", &source, "measure", "Memory/Available Bytes"]);
    assert!(run.err.contains("warning: log.HOST: line 2 is damaged"), "{}", run.err);
}

#[test]
fn a_source_that_cannot_be_read() {
    let folder = Folder::new();
    for args in [&["sensors"][..], &["measure", "Memory/Available Bytes"]] {
        let missing = folder.path().join("none.bin").display().to_string();
        let source = format!("file:{missing}");
        let line = perfhive([&["--source", source.as_str()], args].concat()).fails(3);
        assert!(line.starts_with(&format!("{missing}: no such file in ")), "{line}");
    }
}

#[cfg(target_os = "linux")]
mod live {
    use super::{of_kind, stream};
    use crate::run::{command, perfhive};
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Command, Stdio};

    fn own(sensor: &str) -> String {
        format!("linux.procfs/Process/{sensor}#{}", std::process::id())
    }

    #[test]
    fn this_process_is_a_sensor() {
        let rows = perfhive(["sensors", "Process/Working Set", "-I", "--json"]).json();
        let own = own("Working Set");
        assert!(rows.iter().any(|row| row["sensor"] == own.as_str()));
        let out = perfhive(["measure", &own, "-n", "2", "-i", "0.05", "--json"]).ok();
        let rows = stream(&out);
        let readings = of_kind(&rows, "reading");
        assert_eq!(readings.len(), 2, "{out}");
        assert!(readings.iter().all(|row| row["value"].as_u64() > Some(0)), "{out}");
    }

    #[test]
    fn every_instance_and_a_rate_in_the_first_sample() {
        let start = std::time::Instant::now();
        let args = ["measure", "Processor/%25 Processor Time#*", "-n", "1", "-i", "0.3", "--json"];
        let rows = stream(&perfhive(args).ok());
        assert!(start.elapsed().as_millis() >= 300);
        let readings = of_kind(&rows, "reading");
        assert!(readings.iter().all(|row| row["status"] == "ok"), "{readings:?}");
        let total = "linux.procfs/Processor/%25 Processor Time#_Total";
        assert!(readings.iter().any(|row| row["sensor"] == total), "{readings:?}");
    }

    #[test]
    fn a_sensor_that_linux_lacks_has_a_reason() {
        let why = "this machine has no \\Process\\Pool Paged Bytes: ";
        for command in ["sensors", "measure"] {
            let line = perfhive([command, "Process/Pool Paged Bytes"]).fails(2);
            assert!(line.starts_with(why), "{line}");
        }
    }

    /// Ctrl-C ends the command by the signal, after the cost was printed.
    #[test]
    fn ctrl_c_leaves_the_cost() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut child = command()
            .args(["measure", "Memory/Available Bytes", "-i", "0.05"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut out = BufReader::new(child.stdout.take().expect("its output"));
        let mut text = String::new();
        while !text.contains("Sample 1 ") {
            assert!(out.read_line(&mut text).expect("a line") > 0, "{text}");
        }
        let interrupted =
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
        assert!(interrupted.success());
        out.read_to_string(&mut text).expect("the rest");
        let status = child.wait().expect("it ends");
        assert_eq!((status.code(), status.signal()), (None, Some(2)), "{text}");
        assert!(text.contains("\nCost of "), "{text}");
        assert!(text.contains("\nthread-cpu "), "{text}");
    }

    #[test]
    fn a_closed_output_ends_measure_quietly() {
        let mut child = command()
            .args(["measure", "Memory/Available Bytes", "-i", "0.05", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the command ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

/// Two objects of one name have different sensor names, and each has its
/// own instances.
#[test]
fn objects_with_the_same_name_are_both_read() {
    let folder = Folder::new();
    let twins = TITLES.replace("232\nThread\n", "232\nProcess\n");
    let titles = folder.file("titles.txt", twins);
    let files: Vec<String> =
        (0..2).map(|n| folder.file(&format!("{n}.bin"), sample(10 * n))).collect();
    let source = format!("file:{}", files.join(","));
    let run =
        |args: &[&str]| perfhive([&["--source", &source, "--titles", &titles], args].concat());
    let names = |args: &[&str]| -> Vec<String> {
        let rows = run(&[&["sensors", "--json"], args].concat()).json();
        rows.iter().map(|row| row["sensor"].as_str().expect("a name").to_string()).collect()
    };
    let all = names(&[]);
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), all.len(), "{all:?}");
    let of = |sensor: &str| names(&[sensor, "--instances"]);
    let first = of("Process/ID Process");
    let second = of("Process%23232/ID Process");
    assert!(!first.is_empty() && !second.is_empty());
    assert!(first.iter().all(|name| name.starts_with("log.HOST/Process/ID Process#")), "{first:?}");
    let begin = "log.HOST/Process%23232/ID Process#";
    assert!(second.iter().all(|name| name.starts_with(begin)), "{second:?}");
    // Sensors can be measured by their listed names; case does not matter in the source's name.
    for name in first.iter().chain(&second) {
        let name = name.replace("log.HOST", "Log.Host");
        let rows = stream(&run(&["measure", &name, "--json", "-n", "1"]).ok());
        let readings = of_kind(&rows, "reading");
        assert_eq!(readings.len(), 1, "{name}");
        assert!(!readings[0]["value"].is_null(), "{name}: {:?}", readings[0]);
    }
}

#[test]
fn a_very_long_name_is_unknown() {
    let name = format!("System/{}", "x".repeat(30_000));
    for (command, says) in [("sensors", "no sensor"), ("measure", "has no counter")] {
        assert!(run(&[command, &name]).fails(2).contains(says));
    }
}

#[test]
fn a_path_with_a_name_of_several_instances_says_which_is_read() {
    let of = |path: &str| run(&["measure", path, "-n", "1", "--json"]);
    let open = of(r"\Process(bash)\Working Set");
    assert!(
        open.one_line().starts_with(r"warning: \Process(bash)\Working Set: 2 instances"),
        "{}",
        open.err
    );
    assert_eq!(stream(&open.out)[0]["pid"], 100);
    for (path, pid) in
        [(r"\Process(bash#1)\Working Set", 101), (r"\Process(pid:100)\Working Set", 100)]
    {
        assert_eq!(stream(&of(path).ok())[0]["pid"], pid);
    }
}
