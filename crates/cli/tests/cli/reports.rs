//! `report` and `diff`.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;

/// A text log of a machine with a processor that is busy (`busy` percent) from the third minute on,
/// with a gap of ten minutes.
fn log(folder: &Folder, name: &str, busy: f64) -> String {
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\HOST\\Processor(_Total)\\% Processor Time\",\
         \"\\\\HOST\\Memory\\Available Bytes\",\"\\\\HOST\\Shop(<b>)\\Carts\"\r\n",
    );
    for minute in 0..30 {
        let time = if minute < 20 { minute } else { minute + 10 };
        let value = if minute == 0 {
            " ".to_string()
        } else if minute < 3 {
            "10".to_string()
        } else {
            busy.to_string()
        };
        let memory = 100 + minute;
        text.push_str(&format!(
            "\"11/24/2026 10:{time:02}:00.000\",\"{value}\",\"{memory}\",\"{minute}\"\r\n"
        ));
    }
    folder.file(name, text)
}

#[test]
fn a_report_is_about_the_machine_that_is_named() {
    let folder = Folder::new();
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\",\"\\\\B\\Memory\\Available Bytes\"\r\n",
    );
    for second in 0..5 {
        text.push_str(&format!("\"11/24/2026 10:00:0{second}.000\",\"7\",\"{}\"\r\n", 40 + second));
    }
    let log = folder.file("both.csv", text);
    let report = |args: &[&str]| -> serde_json::Value {
        let run = perfhive(["report", &log, "--json"].iter().chain(args).copied());
        serde_json::from_str(&run.out).unwrap()
    };
    let mean = |report: &serde_json::Value| report["counters"][0]["figures"]["mean"].as_f64();
    let (own, other) = (report(&[]), report(&["--machine", "b"]));
    assert_eq!((own["machine"].as_str(), mean(&own)), (Some("A"), Some(7.0)));
    assert_eq!((other["machine"].as_str(), mean(&other)), (Some("B"), Some(42.0)));
    let run = perfhive(["report", &log]);
    assert!(run.err.contains("about A alone; --machine names one of the others: B"), "{}", run.err);
    let rows = perfhive(["report", &log, "--machine", "B", "--format", "csv"]).ok();
    assert!(rows.lines().next().unwrap().contains(",machine"), "{rows}");
    assert!(rows.contains(",B"), "{rows}");
    let said = perfhive(["report", &log, "--machine", "C"]).fails(1);
    assert!(said.contains("has no machine C; it has A, B"), "{said}");
    let diff = perfhive(["diff", &format!("{log}@..+1s"), &log, "--machine", "B", "--json"]).ok();
    let diff: serde_json::Value = serde_json::from_str(&diff).unwrap();
    assert_eq!(diff["counters"][0]["second"]["mean"], 42.0);
    assert_eq!(diff["second"]["machine"], "B");
    // A path that names the machine is enough.
    let of_other = report(&["-p", r"\\b\Memory\*"]);
    assert_eq!((of_other["machine"].as_str(), mean(&of_other)), (Some("B"), Some(42.0)));
    let mixed = ["-p", r"\\B\Memory\*", "-p", r"\Memory\*"];
    for two in [&mixed[..], &["--machine", "A", "-p", r"\\B\Memory\*"]] {
        let said = perfhive(["report", &log].iter().chain(two).copied()).fails(2);
        assert!(said.contains("several machines"), "{said}");
    }
}

#[test]
fn a_difference_of_a_counter_that_a_log_lacks_has_no_value() {
    let folder = Folder::new();
    let log = |name: &str, bytes: u64| {
        let mut text = String::from(
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Process(web)\\Working Set\"\r\n",
        );
        for second in 0..5 {
            text.push_str(&format!("\"11/24/2026 10:00:0{second}.000\",\"{bytes}\"\r\n"));
        }
        folder.file(name, text)
    };
    let (first, second) = (log("a.csv", 1 << 20), log("b.csv", 2 << 20));
    let text = perfhive(["diff", &first, &second]).ok();
    assert!(text.contains("web") && !text.contains("0.0 %"), "{text}");
    let text = perfhive(["diff", &first, &second, "--json"]).ok();
    let diff: serde_json::Value = serde_json::from_str(&text).unwrap();
    let web = &diff["processes"][0];
    assert_eq!(web["processor_time_of_all"], serde_json::json!([null, null]));
    assert_eq!(web["working_set"], serde_json::json!([1048576.0, 2097152.0]));
}

#[test]
fn a_report_has_figures_gaps_and_crossed_thresholds() {
    let folder = Folder::new();
    let log = log(&folder, "a.csv", 90.0);
    let text = perfhive(["report", &log]).ok();
    for part in [
        "samples  30, one each 1:00",
        "gap      2026-11-24 10:19:00 UTC: no sample for 11:00",
        "critical  \\Processor(_Total)\\% Processor Time  > 80.0 %   27 of 29  90.0 %  2026-11-24 10:03:00 UTC",
        "_Total    % Processor Time   10.0 %  84.5 %           90.0 %   90.0 %  2026-11-24 10:03:00 UTC",
        "Available Bytes    100 B  114 B            128 B    129 B  2026-11-24 10:39:00 UTC",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let report: serde_json::Value =
        serde_json::from_str(&perfhive(["report", &log, "--json"]).ok()).unwrap();
    assert_eq!((report["machine"].as_str(), report["samples"].as_u64()), (Some("HOST"), Some(30)));
    let carts = &report["counters"][2];
    assert_eq!((carts["object"].as_str(), carts["instance"].as_str()), (Some("Shop"), Some("<b>")));
    assert_eq!(carts["figures"]["percentile_95"], 28.0);
    assert_eq!(carts["figures"]["maximum_at"], "2026-11-24T10:39:00.000Z");
    assert_eq!(report["gaps"][0]["seconds"], 660.0);
    let finding = &report["findings"][0];
    assert_eq!(
        (finding["limit"].as_f64(), finding["severity"].as_str()),
        (Some(80.0), Some("critical"))
    );
    assert_eq!(finding["instances"][0]["crossed"], 27);
    // A part of it, in which nothing is beyond a limit.
    let part = ["report", &log, "--json", "--end", "+2m"];
    let report: serde_json::Value = serde_json::from_str(&perfhive(part).ok()).unwrap();
    assert_eq!(
        (report["samples"].as_u64(), report["findings"].as_array().unwrap().len()),
        (Some(3), 0)
    );
    let rows = perfhive(["report", &log, "-f", "csv", "-p", r"\Shop(*)\Carts"]).ok();
    let mut lines = rows.lines();
    assert!(lines.next().unwrap().starts_with("object,instance,counter,unit,count,minimum"));
    assert!(lines.next().unwrap().starts_with("Shop,<b>,Carts,,30,0.0,"), "{rows}");
    assert_eq!(lines.next(), None);
}

#[test]
fn processes_have_the_same_names_in_a_text_log_as_in_a_binary_one() {
    let Some(log) = real::root().map(|root| root.join("logs/pal_SampleLog.blg")) else { return };
    let log = log.display().to_string();
    let folder = Folder::new();
    let text = folder.path().join("a.csv").display().to_string();
    perfhive(["convert", &log, "-o", &text, "-p", r"\Process(*)\*"]).ok();
    let diff: serde_json::Value =
        serde_json::from_str(&perfhive(["diff", &text, &log, "--json"]).ok()).unwrap();
    let processes = diff["processes"].as_array().unwrap();
    assert!(processes.iter().any(|process| process["name"] == "svchost"), "{processes:?}");
    for process in processes {
        let [first, second] = [0, 1].map(|side| process["processor_time_of_all"][side].as_f64());
        assert_eq!(first.is_some(), second.is_some(), "{process}");
        let (first, second) = (first.unwrap_or(0.0), second.unwrap_or(0.0));
        // The mean of a rate is over time where its raw values are known.
        assert!((first - second).abs() <= 1e-3 * second, "{process}");
    }
}

#[test]
fn counters_of_processes_have_figures_where_a_path_names_them() {
    let Some(log) = real::root().map(|root| root.join("logs/pal_SampleLog.blg")) else { return };
    let log = log.display().to_string();
    let report = |args: &[&str]| -> serde_json::Value {
        let args = [&["report", &log, "--json"], args].concat();
        serde_json::from_str(&perfhive(args).ok()).unwrap()
    };
    let path = r"\Process(svchost*)\Working Set";
    let named = report(&["-p", path]);
    let counters = named["counters"].as_array().unwrap();
    assert!(counters.len() > 5, "{counters:?}");
    let is_asked = |counter: &serde_json::Value| {
        counter["object"] == "Process" && counter["counter"] == "Working Set"
    };
    assert!(counters.iter().all(is_asked), "{counters:?}");
    // Without a path they are in the list of processes alone.
    let usual = report(&[]);
    assert!(usual["counters"].as_array().unwrap().iter().all(|one| one["object"] != "Process"));
    let same = perfhive(["diff", &log, &log, "--all", "-p", path]).ok();
    assert!(same.contains(r"\Process(svchost"), "{same}");
}

#[test]
fn a_process_that_is_blank_in_a_text_log_half_of_the_time_is_not_seen_always() {
    let folder = Folder::new();
    let column = |name| format!(",\"\\\\A\\Process({name})\\Working Set\"");
    let columns = ["half", "some", "all"].map(column).concat();
    let mut text = format!("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"{columns}\r\n");
    for second in 0..8 {
        // The first line of a log of rates is blank.
        let [half, some, all] =
            [second > 3, second % 2 == 1, second > 0].map(|is_there| match is_there {
                true => "4096",
                false => " ",
            });
        text.push_str(&format!(
            "\"11/24/2026 10:00:0{second}.000\",\"{half}\",\"{some}\",\"{all}\"\r\n"
        ));
    }
    let log = folder.file("a.csv", text);
    let said = perfhive(["report", &log]).ok();
    let seen = |name: &str| {
        let line = said.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("{said}")).to_string()
    };
    assert!(seen("half").ends_with("10:00:04 UTC to 2026-11-24 10:00:07 UTC"), "{said}");
    assert!(seen("some").ends_with("10:00:01 UTC to 2026-11-24 10:00:07 UTC"), "{said}");
    assert!(seen("all").ends_with("always"), "{said}");
}

#[test]
fn a_page_is_whole_and_needs_nothing_else() {
    let folder = Folder::new();
    let log = log(&folder, "a.csv", 90.0);
    let file = folder.path().join("r.html").display().to_string();
    let row = &perfhive(["report", &log, "-o", &file, "--json"]).json()[0];
    assert_eq!(row["samples"], 30);
    let page = std::fs::read_to_string(&file).unwrap();
    assert_eq!(row["bytes"].as_u64(), Some(page.len() as u64));
    let html = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    let document = roxmltree::Document::parse(html).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("figure"), count("script"), count("link"), count("img")), (3, 0, 0, 0));
    // Each curve is in two pieces, before the gap and behind it.
    assert_eq!(count("polyline"), 6);
    let texts: String = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains("<b>"), "the name of an instance is no markup");
    assert!(!page.contains("http"), "{page}");
}

#[test]
fn thresholds_of_pal_are_read_with_the_files_beside_them() {
    let Some(root) = real::root() else { return };
    let log = root.join("logs/pal_SampleLog.blg").display().to_string();
    let pal = root.join("pal-thresholds/QuickSystemOverview.xml").display().to_string();
    let read = |options: &[&str]| -> serde_json::Value {
        let args = ["report", &log, "--pal", &pal, "--json"];
        let text = perfhive(args.iter().chain(options)).ok();
        serde_json::from_str(&text).unwrap()
    };
    let report = read(&[]);
    let titles = |report: &serde_json::Value, list: &str| -> Vec<String> {
        let all = report[list].as_array().unwrap().iter();
        all.map(|one| one["threshold"].as_str().unwrap().to_string()).collect()
    };
    let queue =
        "System Processor Queue Length: More than 2 ready threads are queued for each processor";
    assert!(titles(&report, "findings").contains(&queue.to_string()), "{report}");
    let memory = "Memory Available MBytes: Less than 10 percent of RAM is available".to_string();
    assert!(titles(&report, "not_evaluated").contains(&memory), "{report}");
    let reason = report["not_evaluated"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["threshold"] == memory.as_str());
    assert!(
        reason.unwrap()["reason"].as_str().unwrap().ends_with("(--answer PhysicalMemory=VALUE)")
    );
    // The machine had 2 GB at most; 79 to 212 MB were free.
    let report = read(&["--answer", "PhysicalMemory=2"]);
    assert!(titles(&report, "findings").contains(&memory), "{report}");
    let processes = report["processes"].as_array().unwrap();
    assert_eq!(
        (processes[0]["name"].as_str(), processes[0]["pid"].as_u64()),
        (Some("mmc"), Some(3852))
    );
}

#[test]
fn wrong_reports_are_refused_with_the_way_out() {
    let folder = Folder::new();
    let log = log(&folder, "a.csv", 90.0);
    let pal = folder.file("p.xml", "<html/>");
    let error = perfhive(["report", &log, "--pal", &pal]).fails(3);
    assert!(error.ends_with("is not a file of PAL: its root is <html>, not <PAL>"), "{error}");
    let error = perfhive(["report", &log, "--pal", "nowhere.xml"]).fails(3);
    assert!(error.starts_with("nowhere.xml: "), "{error}");
    let empty = folder.file("e.xml", "<PAL/>");
    let error = perfhive(["report", &log, "--pal", &empty]).fails(3);
    assert!(error.ends_with("e.xml has no thresholds"), "{error}");
    let error = perfhive(["report", &log, "--answer", "x"]).fails(2);
    assert!(error.contains("write NAME=VALUE"), "{error}");
    let error = perfhive(["report", &log, "-p", r"\Nothing\Here"]).fails(2);
    assert!(error.contains("no object \"Nothing\""), "{error}");
    let some = perfhive(["report", &log, "-p", r"\Shop(*)\Carts", "-p", r"\Nothing\Here"]).err;
    assert!(
        some.contains(r"\Nothing\Here is left out: the recording has no such counter"),
        "{some}"
    );
    let error = perfhive(["report", &log, "-o", "/nowhere/at/all.html"]).fails(3);
    assert!(error.starts_with("/nowhere/at/all.html: "), "{error}");
    let error = perfhive(["report", &log, "--begin", "+2h"]).fails(1);
    assert!(error.contains("has no sample in that part"), "{error}");
    let header = folder.file(
        "h.csv",
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\HOST\\Shop\\Carts\"\r\n",
    );
    assert!(perfhive(["report", &header]).fails(1).ends_with("has no sample"));
    let error = perfhive(["diff", &log, &header]).fails(1);
    assert!(error.contains("h.csv"), "{error}");
    let damaged = folder.file("d.blg", vec![0_u8; 4096]);
    assert_eq!(perfhive(["report", &damaged]).code, Some(3));
    if cfg!(target_os = "linux") {
        let error = perfhive(["report"]).fails(2);
        assert!(error.contains("is not a recording"), "{error}");
    }
    // A threshold file that inherits from one that is not there is used without it.
    let heir = folder.file("h.xml", r#"<PAL><INHERITANCE FILEPATH="gone.xml"/><INHERITANCE FILEPATH="../e.xml"/>
        <ANALYSIS NAME="A"><DATASOURCE TYPE="CounterLog" COLLECTIONVARNAME="C" EXPRESSIONPATH="\Memory\Available Bytes"/>
        <THRESHOLD NAME="low" CONDITION="Critical"><CODE>StaticThreshold -CollectionOfCounterInstances $C -Operator 'lt' -Threshold 1KB</CODE></THRESHOLD>
        </ANALYSIS></PAL>"#);
    let run = perfhive(["report", &log, "--pal", &heir]);
    assert!(run.err.contains("gone.xml") && run.err.lines().count() == 1, "{}", run.err);
    assert!(run.out.contains("\\Memory\\Available Bytes  < 1.0 KiB"), "{}", run.out);
}

#[test]
fn two_logs_are_compared_with_the_largest_changes_first() {
    let folder = Folder::new();
    let (quiet, busy) = (log(&folder, "a.csv", 20.0), log(&folder, "b.csv", 90.0));
    let text = perfhive(["diff", &quiet, &busy]).ok();
    let line = "\\Processor(_Total)\\% Processor Time  19.3 %  84.5 %  +65.2 %  +337.5 %";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("2 counters are as before, or differ no more than by chance"), "{text}");
    let compared = |first: &str, second: &str| -> serde_json::Value {
        let text = perfhive(["diff", first, second, "--json"]).ok();
        serde_json::from_str(&text).unwrap()
    };
    // Two parts of one log: the first three samples, and the last ten minutes.
    let parts = compared(&format!("{busy}@..+2m"), &format!("{busy}@2026-11-24 10:30..-1s"));
    assert_eq!(
        (parts["first"]["samples"].as_u64(), parts["second"]["samples"].as_u64()),
        (Some(3), Some(9))
    );
    let carts = parts["counters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["path"] == r"\Shop(<b>)\Carts")
        .unwrap();
    assert_eq!(
        (carts["first"]["mean"].as_f64(), carts["second"]["mean"].as_f64()),
        (Some(1.0), Some(24.0))
    );
    assert_eq!((carts["change"].as_f64(), carts["is_clear"].as_bool()), (Some(23.0), Some(true)));
    let same = compared(&busy, &busy);
    assert!(
        same["counters"].as_array().unwrap().iter().all(|one| one["is_clear"] == false),
        "{same}"
    );
    let rows = perfhive(["diff", &quiet, &busy, "-f", "tsv"]).ok();
    assert_eq!(rows.lines().count(), 4, "{rows}");
    assert!(rows.lines().nth(1).unwrap().starts_with("\\\\Processor(_Total)"), "{rows}");
    let error = perfhive(["diff", &format!("{busy}@soon..later"), &busy]).fails(2);
    assert!(error.contains("expected a local time"), "{error}");
    let error = perfhive(["diff", &format!("{busy}@+1m"), &busy]).fails(2);
    assert!(error.contains("FILE@BEGIN..END"), "{error}");
    let error = perfhive(["diff", "nowhere.phr@..+1m", &busy]).fails(3);
    assert!(error.contains("nowhere.phr"), "{error}");
}

#[test]
fn several_text_logs_are_one_recording_for_every_command() {
    let folder = Folder::new();
    let first = folder.file(
        "1.csv",
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\HOST\\Shop(a)\\Carts\"\r\n\"11/24/2026 10:00:00.000\",\"1\"\r\n",
    );
    let second = folder.file(
        "2.csv",
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\HOST\\Shop(a)\\Sold\",\"\\\\HOST\\Shop(a)\\Carts\"\r\n\
         \"11/24/2026 10:00:01.000\",\"7\",\"3\"\r\n",
    );
    let out = folder.path().join("both.csv").display().to_string();
    assert!(perfhive(["convert", &first, &second, "-o", &out]).ok().starts_with("2 samples, "));
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.ends_with("\"11/24/2026 10:00:01.000\",\"3\",\"7\"\r\n"), "{text}");
    let both = format!("file:{first},{second}");
    let info = &perfhive(["info", "-s", &both, "--json"]).json()[0];
    assert_eq!((info["samples"].as_u64(), info["counters"].as_u64()), (Some(2), Some(2)));
    // A replay has the pause of a second between the two.
    let begun = std::time::Instant::now();
    let rows = perfhive(["watch", "-s", &both, "--json", "--speed", "2", r"\Shop(a)\Carts"]).ok();
    assert_eq!(rows.lines().count(), 2);
    assert!(begun.elapsed() >= std::time::Duration::from_millis(500));
    let begun = std::time::Instant::now();
    let text = ["typeperf", r"\Shop(a)\Carts", "--source", &both, "--speed", "2"];
    let text = perfhive(text).ok();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(begun.elapsed() >= std::time::Duration::from_millis(500));
    let error = perfhive(["watch", "-s", &both, "--speed", "0", r"\Shop(a)\Carts"]).fails(2);
    assert!(error.contains("expected a number from 0.001"), "{error}");
    if cfg!(target_os = "linux") {
        let error = perfhive(["watch", "--speed", "1", "memory"]).fails(2);
        assert!(error.contains("is not a recording"), "{error}");
    }
}

#[test]
fn report_of_a_log_in_another_language_says_that_no_threshold_is_about_its_counters() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Mitteleurop\u{e4}ische Zeit)(-60)\",\"\\\\PC\\Prozessor(_Total)\\Prozessorzeit (%)\"\r\n\
               \"11/02/2026 10:00:00.000\",\"95\"\r\n\"11/02/2026 10:00:01.000\",\"97\"\r\n";
    let (log, html) = (folder.file("de.csv", log), folder.path().join("de.html"));
    let text = perfhive(["report", &log]).ok();
    assert!(text.contains("is about a counter of the recording"), "{text}");
    perfhive(["report", &log, "--html", html.to_str().unwrap()]).ok();
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("is about a counter of the recording"), "{page}");
}
