//! The records of experiments, in files: what reads them, damaged ones too.
use super::{SHOP, compile, experiment, is_tidy, of_kind};
use crate::run::{Folder, command, finish, perfhive};
use serde_json::Value;
use std::process::Command;

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
    perfhive(["get", "-s", &source, path, "-o", &file]).fails(2);
    let line = perfhive(["get", r"\System\Processes", "-o", &file]).fails(2);
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

#[test]
fn records_on_standard_output_stand_behind_what_it_has() {
    let folder = Folder::new();
    let file = folder.path().join("all.txt");
    std::fs::write(&file, "earlier\n").unwrap();
    let out = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    let args = ["run", "--on", "interval 5ms", "-o", "/dev/stdout", "--"];
    let mut command = experiment(&folder, &args);
    let run = command.args(["sh", "-c", "echo program; sleep 0.05"]).stdout(out).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    let (mut words, mut records) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(record) => records.push(record),
            Err(_) => words.push(line),
        }
    }
    assert_eq!(words, ["earlier", "program"], "{text}");
    assert!(text.starts_with("earlier\n{\"kind\":\"experiment\""), "{text}");
    assert_eq!(of_kind(&records, "end").len(), 1, "{text}");
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
    assert!(counts(&damaged).1.contains("1 damaged frames are left out"));
    damaged.clone_from(&whole);
    damaged[first - 1] ^= 1;
    let (rest, said) = counts(&damaged);
    assert!(rest < 40 && said.contains("damaged frames are left out"), "{rest} {said}");
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
    assert_eq!(perfhive(["report", &file, "--json", "--quiet"]).ok(), run.out);
    for others in [&["--all"][..], &["--every", "2"], &["--machine", "B"]] {
        let other = perfhive(["report", &file].iter().chain(others)).fails(2);
        assert!(other.contains("no other option"), "{other}");
    }
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

#[test]
fn file_of_a_running_experiment_is_not_taken_by_another() {
    let folder = Folder::new();
    let started = folder.path().join("started");
    for name in ["records.jsonl", "records.phr"] {
        let file = folder.path().join(name).display().to_string();
        let args = ["run", "--on", "interval 5ms", "-o", &file, "--"];
        let pipe = std::process::Stdio::piped();
        let mut first = experiment(&folder, &args);
        let mut first =
            first.arg("cat").stdin(pipe).stderr(std::process::Stdio::null()).spawn().unwrap();
        let begun = std::time::Instant::now();
        while std::fs::metadata(&file).map_or(0, |file| file.len()) == 0 {
            assert!(begun.elapsed().as_secs() < 60, "the first did not begin");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let second = finish(experiment(&folder, &args).arg("touch").arg(&started));
        let values = [&["get"][..], &["watch", "-n", "1", "-i", "10ms"]]
            .map(|command| perfhive([command, &["memory", "-o", &file]].concat()));
        // The end of its input ends the program.
        drop(first.stdin.take());
        assert!(first.wait().unwrap().success());
        let said = second.fails(3);
        assert!(said.contains(&format!("{file}: is being written by another program")), "{said}");
        assert!(!started.exists());
        if name.ends_with(".jsonl") {
            for said in values.map(|run| run.fails(3)) {
                assert_eq!(
                    said,
                    format!("{file}: {}", "is being written by another program; name another file")
                );
            }
        }
        let report = perfhive(["report", &file]).ok();
        assert!(report.starts_with("cat "), "{report}");
    }
    is_tidy(&folder);
}

#[test]
fn no_file_is_left_where_nothing_begins() {
    let folder = Folder::new();
    for name in ["records.jsonl", "records.phr"] {
        let file = folder.path().join(name);
        for words in [
            &["--", "./no-such-program"][..],
            &["--on", "above Process/Nothing 3", "--", "true"],
            &["--on", "signal NOTHING", "--", "true"],
            &["--where", "interval 5ms: 'Nothing' > 3", "--", "true"],
        ] {
            let mut command = experiment(&folder, &["run", "--on", "interval 5ms", "-o"]);
            let run = finish(command.arg(&file).args(words));
            assert_eq!(run.code, Some(2), "{words:?}: {}", run.err);
            assert!(!file.exists(), "{words:?}");
        }
    }
    is_tidy(&folder);
}

#[test]
fn old_records_stay_where_nothing_begins() {
    let folder = Folder::new();
    for name in ["records.jsonl", "records.phr"] {
        let file = folder.path().join(name);
        let run = |words: &[&str]| {
            let mut command = experiment(&folder, &["run", "--on", "interval 5ms", "-o"]);
            finish(command.arg(&file).args(words))
        };
        assert_eq!(run(&["--", "sleep", "0.1"]).code, Some(0));
        let old = std::fs::read(&file).unwrap();
        let started = folder.path().join("started");
        for words in [
            &["--", "./no-such-program"][..],
            &["--on", "above Process/Nothing 3", "--", "touch"],
            &["--on", "signal USR1", "--where", "'Nothing' > 3", "--", "touch"],
            &["--where", "interval 5ms: 'Nothing' > 3", "--", "touch"],
        ] {
            let run = run(&[words, &[started.to_str().unwrap()]].concat());
            assert_eq!(run.code, Some(2), "{words:?}: {}", run.err);
            assert_eq!(std::fs::read(&file).unwrap(), old, "{words:?}");
        }
        assert!(!started.exists());
        // A new run replaces them all the same.
        assert_eq!(run(&["--", "true"]).code, Some(0));
        let report = finish(command().arg("report").arg(&file)).ok();
        assert!(report.starts_with("true "), "{report}");
        assert!(std::fs::read(&file).unwrap().len() < old.len());
    }
    is_tidy(&folder);
}
