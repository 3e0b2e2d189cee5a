//! `typeperf` and `relog`: what scripts around the Windows tools rely on.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;

const GOODBYE: &str =
    "Exiting, please wait...                         \r\nThe command completed successfully.\r\n";

/// perfmon's log of eleven samples.
fn log() -> Option<String> {
    let path = real::root()?.join("logs/pal_SampleLog.blg");
    path.is_file().then(|| path.display().to_string())
}

#[test]
fn typeperf_prints_what_scripts_take_apart() {
    let Some(log) = log() else { return };
    let source = format!("file:{log}");
    let counter = r"\Process(_Total)\Working Set";
    let text = perfhive(["typeperf", counter, "-sc", "2", "--source", &source]).ok();
    // `for /f "skip=2 tokens=2 delims=,"` takes the second cell from the third line on.
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(lines[0], "");
    assert_eq!(lines[1], "\"(PDH-CSV 4.0)\",\"\\\\ZACH-PC\\Process(_Total)\\Working Set\"");
    assert_eq!(lines[2].split(',').nth(1), Some("\"189837312.000000\""), "{text}");
    assert_eq!(lines.len(), 7, "{text}");
    assert!(text.ends_with(GOODBYE), "{text}");
    let tabs = perfhive(["typeperf", counter, "/SC", "1", "-F", "tsv", "--source", &source]).ok();
    assert!(tabs.starts_with("\r\n\"(PDH-TSV 4.0)\"\t\"\\\\ZACH-PC"), "{tabs}");
}

#[test]
fn typeperf_lists_counters_and_takes_them_from_a_file() {
    let Some(log) = log() else { return };
    let source = format!("file:{log}");
    let listed = perfhive(["typeperf", "-q", "LogicalDisk", "--source", &source]).ok();
    assert!(listed.contains("\\LogicalDisk(*)\\% Free Space\r\n"), "{listed}");
    let all = perfhive(["typeperf", "-q", "--source", &source]).ok();
    assert!(all.contains("\\Memory\\Available Bytes\r\n") && all.contains(&listed[..20]), "{all}");
    let folder = Folder::new();
    let file = folder.path().join("paths.txt").display().to_string();
    perfhive(["typeperf", "-qx", "LogicalDisk", "-o", &file, "--source", &source]).ok();
    let paths = std::fs::read_to_string(&file).unwrap();
    assert!(paths.starts_with("\\LogicalDisk(HarddiskVolume1)\\% Free Space\r\n"), "{paths}");
    let out = folder.path().join("o.csv").display().to_string();
    let sample = ["typeperf", "-cf", &file, "-o", &out, "--source", &source];
    assert_eq!(perfhive(sample).ok(), GOODBYE);
    let text = std::fs::read_to_string(&out).unwrap();
    assert_eq!(text.lines().count(), 12, "{text}");
    assert_eq!(text.lines().next().unwrap().split("\",\"").count(), 1 + paths.lines().count());
    // A log that exists is replaced only where that is wanted.
    assert!(perfhive(sample).fails(2).contains("-y replaces it"));
    let again: Vec<&str> = sample.into_iter().chain(["-y"]).collect();
    perfhive(again).ok();
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_called_typeperf_is_it() {
    let folder = Folder::new();
    let link = folder.path().join("typeperf");
    std::os::unix::fs::symlink(crate::run::command().get_program(), &link).unwrap();
    let mut linked = std::process::Command::new(&link);
    let text = crate::run::finish(linked.args(["-sc", "1", "-si", "1", r"\System\Processes"])).ok();
    assert!(text.ends_with(GOODBYE), "{text}");
    let row = text.split("\r\n").nth(2).unwrap();
    assert!(row.split(',').nth(1).unwrap().trim_matches('"').parse::<f64>().unwrap() > 0.0);
}

#[test]
fn relog_says_where_the_number_of_samples_is_and_writes_a_log() {
    let Some(log) = log() else { return };
    // PAL looks for the last line of dashes, and five lines on for the number of samples.
    let samples = |text: &str| {
        let lines: Vec<&str> = text.split("\r\n").collect();
        let dashes = lines.iter().rposition(|line| *line == "----------------").unwrap();
        lines[dashes + 5].strip_prefix("Samples:  ").unwrap().parse::<u64>().unwrap()
    };
    let said = perfhive(["relog", &log]).ok();
    assert!(said.contains("File(s):\r\n     ") && said.contains("\r\nSamples:  11\r\n"), "{said}");
    let folder = Folder::new();
    let out = folder.path().join("o.csv").display().to_string();
    let args = ["relog", &log, "-c", r"\Memory\*", "-f", "CSV", "-o", &out, "-t", "3"];
    assert_eq!(samples(&perfhive(args).ok()), 4);
    let text = std::fs::read_to_string(&out).unwrap();
    assert_eq!(text.lines().count(), 5);
    assert!(text.contains("\"\\\\ZACH-PC\\Memory\\Available Bytes\""), "{text}");
    let range = ["-b", "8/14/2007 7:42:00PM", "-e", "8/14/2007 19:45:00", "-y"];
    let args = ["relog", &log, "-f", "csv", "-o", &out].into_iter().chain(range);
    assert_eq!(samples(&perfhive(args).ok()), 3);
    let listed = perfhive(["relog", &log, "-q"]).ok();
    assert!(listed.starts_with("\\\\ZACH-PC\\LogicalDisk(HarddiskVolume1)\\"), "{listed}");
}

#[test]
fn forms_and_flags_that_are_not_supported_are_refused() {
    let Some(log) = log() else { return };
    let binary = perfhive(["relog", &log, "-o", "o.blg"]).fails(2);
    assert!(binary.contains("-f csv"), "{binary}");
    let settings = perfhive(["typeperf", r"\a\b", "-config", "x"]).fails(2);
    assert!(settings.contains("-config"), "{settings}");
    let nothing = perfhive(["typeperf"]).fails(2);
    assert!(nothing.contains("name counters"), "{nothing}");
}
