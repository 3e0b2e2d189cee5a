//! The formats for programs: JSON, CSV, TSV, and the treatment of control characters.

use crate::blocks::{HOSTILE, recording};
use crate::run::{Folder, Run, command, finish, perfhive};

fn run(args: &[&str]) -> Run {
    let folder = Folder::new();
    let mut all = recording(&folder);
    all.extend(args.iter().map(ToString::to_string));
    perfhive(all)
}

#[test]
fn json_rows_have_their_keys() {
    let rows =
        run(&["get", r"\Process(bash)\*", r"\Memory\% Committed Bytes In Use", "--json"]).json();
    assert_eq!(rows.len(), 5);
    let keys = [
        "path",
        "value",
        "unit",
        "status",
        "time",
        "machine",
        "object",
        "instance",
        "counter",
        "counter_type",
        "raw",
        "base",
        "pid",
        "object_index",
        "counter_index",
    ];
    for row in &rows {
        let row = row.as_object().expect("an object");
        assert_eq!(row.len(), keys.len());
        assert!(keys.iter().all(|key| row.contains_key(*key)), "{row:?}");
        assert_eq!(row["machine"], "HOST");
        assert_eq!(row["status"], "ok");
        assert_eq!(row["time"], "2022-06-18T04:26:50.000Z");
    }
    assert_eq!(rows[0]["path"], r"\Process(bash)\% Processor Time");
    assert_eq!(rows[0]["value"], 2.0);
    assert_eq!(rows[0]["unit"], "%");
    assert_eq!(rows[0]["raw"], 3_000_000);
    assert_eq!(rows[1]["value"], 100);
    assert_eq!(rows[1]["instance"], "bash");
    assert_eq!(rows[3]["counter_type"], "PERF_ELAPSED_TIME");
    assert_eq!((rows[4]["value"].as_f64(), rows[4]["base"].as_u64()), (Some(25.0), Some(4)));
    assert!(rows[4]["instance"].is_null());
}

#[test]
fn every_command_prints_json() {
    for args in [
        &["list"][..],
        &["list", "Process"],
        &["explain", r"\Memory\*", "Process"],
        &["get", r"\System\Processes"],
        &["enum"],
        &["enum", "--hex"],
        &["workset", "bash"],
        &["ps"],
    ] {
        let json = run(&[args, &["--json"]].concat());
        assert_eq!(json.code, Some(0), "{args:?} {}", json.err);
        assert!(!json.json().is_empty(), "{args:?}");
        let csv = run(&[args, &["--format", "csv"]].concat()).ok();
        let tsv = run(&[args, &["--format", "tsv"]].concat()).ok();
        let tabs = |line: &str| line.matches('\t').count();
        let header = tabs(tsv.lines().next().expect("a header"));
        assert!(tsv.lines().all(|line| tabs(line) == header), "{args:?}: {tsv}");
        assert!(csv.lines().count() >= tsv.lines().count());
    }
}

#[test]
fn the_ending_of_a_file_chooses_the_format() {
    let folder = Folder::new();
    let written = |name: &str, more: &[&str]| {
        let path = folder.path().join(name);
        let file = path.to_str().unwrap();
        run(&[&["get", r"\System\Processes", "-o", file], more].concat()).ok();
        std::fs::read_to_string(path).unwrap()
    };
    let csv = run(&["get", r"\System\Processes", "-f", "csv"]).ok();
    assert_eq!(written("a.csv", &[]), csv);
    assert_eq!(written("a.txt", &["-f", "csv"]), csv);
    assert_eq!(written("b.csv", &["--json"]), written("b.json", &[]));
    assert_ne!(written("b.txt", &[]), csv);
    assert_eq!(written("A.CSV", &[]), csv);
    assert_eq!(written("A.Tsv", &[]), written("c.tsv", &[]));
    assert_eq!(written("B.JSON", &[]), written("b.json", &[]));
    for (name, says) in [("a.phr", "perfhive record"), ("a.BLG", "perfhive typeperf")] {
        let path = folder.path().join(name);
        for command in [&["get"][..], &["watch", "-n", "1"]] {
            let args = [command, &[r"\System\Processes", "-o", path.to_str().unwrap()]].concat();
            let line = run(&args).fails(2);
            assert!(line.contains(says) && !path.exists(), "{line}");
        }
    }
}

#[test]
fn one_wide_line_is_a_json_array_and_several_are_lines() {
    let path = r"\System\Processes";
    let rows = run(&["get", "--wide", "--json", path]).json();
    assert_eq!((rows.len(), &rows[0][path]), (1, &4.into()));
    let lines = run(&["watch", "--wide", "--json", path]).ok();
    assert!(lines.starts_with("{\"time\":") && !lines.contains('['), "{lines}");
}

#[test]
fn no_result_is_an_empty_json_array() {
    let rows = run(&["get", "--json", r"\Process(*)\ID Process"]).json();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[3]["instance"], HOSTILE);
    assert_eq!(rows[3]["value"], 4_294_967_295u32);
}

#[test]
fn csv_is_quoted() {
    let csv = run(&["get", "--format", "csv", r"\Process(evil*)\ID Process"]).ok();
    let (header, row) = csv.split_once('\n').expect("a header");
    assert_eq!(
        header,
        "path,value,unit,status,time,machine,object,instance,counter,counter_type,raw,base,pid,\
         object_index,counter_index"
    );
    // In a pipe names are unchanged; a program that reads the CSV gets back the original name.
    let path = "\"\\Process(evil\x1b[2J,\"\"\n)\\ID Process\"";
    let instance = "\"evil\x1b[2J,\"\"\n\"";
    let time = "2022-06-18T04:26:40.000Z";
    assert_eq!(
        row,
        format!(
            "{path},4294967295,,ok,{time},HOST,Process,{instance},ID Process,\
             PERF_COUNTER_RAWCOUNT,4294967295,,4294967295,230,784\n"
        )
    );
    let tsv = run(&["ps", "--format", "tsv", "-o", "pid,name", "--sort", "-pid"]).ok();
    let head = "pid\tname\tstatus\ttime\tmachine\n4294967295\tevil\x1b[2J,\"\\n\tok\t";
    assert!(tsv.starts_with(&format!("{head}{time}\tHOST\n102\tquiet\tok\t")), "{tsv:?}");
}

#[test]
fn statuses_are_words() {
    let rows = run(&[
        "get",
        "--json",
        r"\Process(quiet)\Working Set",
        r"\Process(gone)\ID Process",
        r"\Odd Things\*",
    ]);
    assert_eq!(rows.code, Some(1));
    let rows = rows.json();
    let statuses: Vec<_> = rows.iter().filter_map(|row| row["status"].as_str()).collect();
    let expected = [
        "no-data",
        "no-such-instance",
        "ok",
        "no-number",
        "no-formula",
        "nothing-to-average",
        "no-formula",
    ];
    assert_eq!(statuses, expected);
    assert_eq!(rows[1]["path"], r"\Process(gone)\ID Process");
    assert_eq!(rows[2]["value"], "two\nlines");
    for row in rows.iter().filter(|row| row["status"] != "ok") {
        assert!(row["value"].is_null(), "{row}");
    }
}

#[test]
fn watch_streams_rows() {
    let jsonl = run(&["watch", "--json", r"\System\Processes"]).ok();
    assert_eq!(jsonl.lines().count(), 2);
    for line in jsonl.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect(line);
        assert_eq!(row["value"], 4);
    }
    let csv = run(&["watch", "--format", "csv", r"\System\Processes"]).ok();
    assert_eq!(csv.lines().count(), 3);
    assert_eq!(csv.matches("path,value").count(), 1);
}

#[test]
fn colours_follow_option_terminal_and_no_color() {
    let escapes = |args: &[&str]| run(args).ok().matches('\x1b').count();
    assert_eq!(escapes(&["list"]), 0);
    assert!(escapes(&["list", "--color", "always"]) > 0);
    let folder = Folder::new();
    let mut command = command();
    command.args(recording(&folder)).args(["list", "--color", "always"]).env("NO_COLOR", "1");
    // An option takes precedence over the environment.
    assert!(finish(&mut command).ok().contains('\x1b'));
}

#[test]
fn the_environment_chooses_the_language() {
    let folder = Folder::new();
    let mut args = recording(&folder);
    args.extend(["--titles".into(), folder.file("de.txt", crate::blocks::GERMAN)]);
    args.extend(["get".into(), r"\Memory\Available Bytes".into()]);
    let shown = |language: &str| {
        let mut command = command();
        finish(command.args(&args).env("LC_ALL", language)).ok()
    };
    assert!(shown("de_DE.UTF-8").contains(r"\Arbeitsspeicher\Verfügbare Bytes"));
    assert!(shown("C").contains(r"\Memory\Available Bytes"));
    assert!(shown("fr_FR.UTF-8").contains(r"\Memory\Available Bytes"));
}

#[test]
fn a_title_list_in_another_language_gives_names() {
    let folder = Folder::new();
    let mut args = recording(&folder);
    args.truncate(2);
    args.extend(["--titles".into(), folder.file("de.txt", crate::blocks::GERMAN)]);
    let out = perfhive(args.into_iter().chain(["list".into()])).ok();
    assert!(out.contains("Arbeitsspeicher"), "{out}");
    assert!(out.contains("9000  9000"), "{out}");
}

/// The names of all commands, from the help of the program.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 10, "{names:?}");
    names
}

#[test]
fn help_completions_and_manual() {
    let help = perfhive(["--help"]).ok();
    assert!(help.contains("Exit status:") && help.contains("130  Ctrl-C"), "{help}");
    let short = perfhive(["-h"]).ok();
    // The short help has a line for each command, and not much else.
    assert!(short.lines().count() < 68, "{}", short.lines().count());
    for command in commands(&help).into_iter().filter(|command| *command != "help") {
        let help = perfhive([command, "-h"]).ok();
        assert!(help.contains("Examples:\n  perfhive"), "{help}");
        let page = perfhive(["man", command]).ok();
        assert!(page.contains(&format!(".TH perfhive-{command} 1")), "{page}");
    }
    let page = perfhive(["man", "experiment", "run"]).ok();
    assert!(page.contains(".TH perfhive-experiment-run 1") && page.contains(r"\-\-on"), "{page}");
    let page = perfhive(["man"]).ok();
    for section in
        ["NAME", "SYNOPSIS", "EXAMPLES", "PATHS", "FORMATS", "\"EXIT STATUS\"", "ENVIRONMENT"]
    {
        let plain = section.replace('"', "");
        assert!(
            page.contains(&format!(".SH {plain}")) || page.contains(&format!(".SH {section}")),
            "{section}"
        );
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = perfhive(["completions", shell]).ok();
        assert!(script.contains("PERFHIVE_COMPLETE"), "{shell}");
    }
    assert!(perfhive(["--version"]).ok().starts_with("perfhive "));
    // Options without a command are a mistake.
    let line = perfhive(["--json"]).fails(2);
    assert!(line.contains("requires a subcommand"), "{line}");
}

/// The page of the manual names every command and option.
#[test]
fn the_manual_is_complete() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/cli.md");
    let page = std::fs::read_to_string(page).expect("docs/manual/cli.md");
    let help = perfhive(["--help"]).ok();
    for command in commands(&help) {
        assert!(page.contains(&format!("`{command}`")), "{command}");
        let help = perfhive(["help", command]).ok();
        let options = help.split("Examples:").next().unwrap_or_default();
        for word in options.split([' ', '\n', ',']).filter(|word| word.starts_with("--")) {
            let known = ["--help", "--version"].contains(&word);
            assert!(known || page.contains(&format!("`{word}")), "{command} {word}");
        }
    }
}

#[test]
fn a_result_is_not_written_to_the_log_that_is_read() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Pages\"\r\n\
               \"11/24/2026 10:00:00.000\",\"7\"\r\n";
    let file = folder.file("a.csv", log);
    let source = format!("file:{file}");
    for command in ["get", "watch"] {
        let run = perfhive([command, "-s", &source, r"\Memory\Pages", "-o", &file]);
        assert!(run.fails(2).contains("is the input"));
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), log);
}

#[test]
fn a_format_that_is_named_wins_over_the_ending_of_the_file() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Pages\"\r\n\
               \"11/24/2026 10:00:00.000\",\"7\"\r\n";
    let source = format!("file:{}", folder.file("a.csv", log));
    let written = |name: &str, options: &[&str]| {
        let out = folder.path().join(name).display().to_string();
        let args = ["get", "-s", &source, r"\Memory\Pages", "-o", &out];
        assert_eq!(perfhive(args.iter().chain(options)).ok(), "");
        std::fs::read_to_string(&out).unwrap()
    };
    let table = written("plain.txt", &[]);
    assert!(!table.contains(','), "{table}");
    assert!(written("x.csv", &[]).contains(','));
    assert_eq!(written("y.csv", &["--format", "table"]), table);
    assert_eq!(written("y.json", &["-f", "table"]), table);
    let json = written("z.csv", &["--json"]);
    assert!(json.starts_with('['), "{json}");
}
