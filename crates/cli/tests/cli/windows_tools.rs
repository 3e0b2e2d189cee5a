//! `typeperf` and `relog`: what scripts around the Windows tools rely on.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;

const GOODBYE: &str =
    "Exiting, please wait...                         \r\nThe command completed successfully.\r\n";

/// The path of a log of perfmon with eleven samples; `None` if the real data is absent.
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

#[test]
fn a_counter_that_is_not_there_is_left_out_with_a_warning() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let source = format!("file:{log}");
    let known = r"\Memory\Available Bytes";
    let paths = folder.file("paths.txt", format!("\\No\\Such\r\n{known}\r\nno path\r\n"));
    let out = folder.path().join("o.csv").display().to_string();
    let relog = ["relog", &log, "-f", "csv", "-o", &out, "-y"];
    let typeperf = ["typeperf", "--source", &source, "-sc", "1"];
    for asked in [&["-cf", &paths][..], &["-c", known, r"\No\Such"]] {
        let run = perfhive(relog.iter().chain(asked).copied());
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.err.contains(r"warning: \No\Such is left out: "), "{}", run.err);
        assert_eq!(run.err.matches(r"\No\Such is left out").count(), 1, "{}", run.err);
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(text.lines().next().unwrap().matches("ZACH-PC").count(), 1, "{text}");
    }
    for asked in [&["-cf", &paths][..], &[known, r"\No\Such"]] {
        let run = perfhive(typeperf.iter().chain(asked).copied());
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.err.contains(r"warning: \No\Such is left out: "), "{}", run.err);
        assert!(run.out.ends_with(GOODBYE) && run.out.contains(known), "{}", run.out);
    }
    // What was probably meant is a suggestion: no column, and no sample that is lost to it.
    let whole = perfhive(typeperf.into_iter().chain([known]));
    let run = perfhive(typeperf.into_iter().chain([known, r"\Memory\Page/sec"]));
    assert!(run.err.contains(r"Pages/sec"), "{}", run.err);
    assert_eq!((run.code, run.out), (Some(0), whole.out));
    // Without any counter there is nothing to do.
    std::fs::remove_file(&out).unwrap();
    assert_eq!(perfhive(relog.into_iter().chain(["-c", r"\No\Such"])).code, Some(2));
    assert!(!std::path::Path::new(&out).exists());
    let run = perfhive(typeperf.into_iter().chain([r"\No\Such", r"\No\Other"]));
    assert_eq!((run.code, run.out.as_str()), (Some(2), "Error: No valid counters.\r\n"));
}

#[test]
fn an_instance_that_is_not_there_keeps_its_name_or_has_no_column() {
    let folder = Folder::new();
    let log = |name: &str, process: &str, time: &str| {
        let path = |counter: &str| format!(r"\\\\A\\Process({process})\\{counter}");
        let text = format!(
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"{}\",\"{}\"\r\n\"11/24/2026 {time}:00.000\",\"1\",\"2\"\r\n",
            path("Working Set"),
            path("Thread Count")
        )
        .replace(r"\\", r"\");
        folder.file(name, text)
    };
    let logs = [log("1.csv", "early", "10:00"), log("2.csv", "late", "11:00")];
    let source = format!("file:{}", logs.join(","));
    let out = folder.path().join("o.csv").display().to_string();
    let titles = |text: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.contains("PDH-CSV")).unwrap();
        line.split(',').skip(1).map(|cell| cell.trim_matches('"').to_string()).collect()
    };
    // typeperf shows what was asked for, also where it is not there yet.
    let asked = [r"\Process(LATE)\Working Set", r"\Process(nosuch)\Working Set"];
    let run = perfhive(["typeperf", "--source", &source].into_iter().chain(asked));
    assert_eq!(titles(&run.out), asked.map(|path| format!(r"\\A{path}")));
    assert!(run.out.contains(":00.000\",\"1.000000\",\" \"\r\n"), "{}", run.out);
    assert!(run.err.contains("nosuch"), "{}", run.err);
    let run = perfhive(["typeperf", "--source", &source, r"\Process(zz*)\Working Set", "-o", &out]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), "Error: No valid counters.\r\n"));
    let run = perfhive(["typeperf", "--source", &source, asked[1], "-f", "bin", "-o", &out]);
    assert_eq!((run.code, std::path::Path::new(&out).exists()), (Some(1), false));
    // Logs have columns for what they have values of.
    let paths = [r"\Process(late)\Working Set", r"\Process(nosuch)\Working Set", r"\Process(z*)\*"];
    for (first, flag) in [("relog", "-c"), ("convert", "-p")] {
        let wanted = paths.iter().flat_map(|path| [flag, path]);
        let how = if first == "relog" { &["-f", "csv", "-y"][..] } else { &[] };
        let files = logs.iter().map(String::as_str).chain(["-o", &out]);
        let run =
            perfhive([first].into_iter().chain(files).chain(how.iter().copied()).chain(wanted));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(run.err.matches("is left out").count(), 2, "{}", run.err);
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(titles(&text), [r"\\A\Process(late)\Working Set"], "{first}");
    }
}

#[test]
fn what_cannot_be_written_to_its_end_leaves_what_was_there() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n\
               \"11/24/2026 10:00:00.000\",\"7\"\r\n";
    let log = folder.file("a.csv", log);
    let source = format!("file:{log}");
    let count = || std::fs::read_dir(folder.path()).unwrap().count();
    let runs = |out: &str| {
        [
            vec!["typeperf", "--source", &source, r"\Memory\No*", "-o", out, "-y"],
            vec!["relog", &log, "-c", r"\Memory\No*", "-o", out, "-y"],
            vec!["convert", &log, "-p", r"\Memory\No*", "-o", out],
            vec!["get", "--source", &source, r"\Memory\No", "-o", out],
            vec!["watch", "--source", &source, r"\Memory\No", "-o", out],
            // The names of the columns alone are no result.
            vec![
                "watch",
                "-s",
                &source,
                r"\Memory\*",
                "--begin",
                "2100-01-01",
                "-f",
                "csv",
                "-o",
                out,
            ],
        ]
        .map(|words| words.into_iter().map(str::to_string).collect::<Vec<_>>())
    };
    let new = folder.path().join("new.csv").display().to_string();
    let old = folder.file("old.csv", "old");
    for args in runs(&new).iter().chain(&runs(&old)) {
        assert_ne!(perfhive(args).code, Some(0), "{args:?}");
        assert_eq!(
            (count(), std::fs::read_to_string(&old).unwrap().as_str()),
            (2, "old"),
            "{args:?}"
        );
    }
    // Nothing is left of a file that is replaced.
    perfhive(["relog", &log, "-f", "csv", "-o", &old, "-y"]).ok();
    assert_eq!(std::fs::read(&old).unwrap(), std::fs::read(&log).unwrap());
    assert_eq!(count(), 2);
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_what_was_there() {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = Folder::new();
    // Writing it takes longer than sending a signal.
    let line = |second: u32| {
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("\"11/24/2026 {hour:02}:{minute:02}:{second:02}.000\",\"7\"\r\n")
    };
    let lines: String = (0..20_000).map(line).collect();
    let names =
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n";
    let log = folder.file("a.csv", format!("{names}{lines}"));
    let old = folder.path().join("old.csv").display().to_string();
    let new = folder.path().join("new.phr").display().to_string();
    let names = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    for (signal, number, args) in [
        ("-TERM", 15, vec!["convert", &log, "-o", &old]),
        ("-INT", 2, vec!["convert", &log, "-o", &new]),
        ("-INT", 2, vec!["relog", &log, "-f", "csv", "-y", "-o", &old]),
        ("-HUP", 1, vec!["relog", &log, "-f", "bin", "-y", "-o", &old]),
        ("-TERM", 15, vec!["relog", &log, "-f", "csv", "-a", "-o", &old]),
    ] {
        let before = if args.contains(&"-a") { names_and_first(&log) } else { "old".to_string() };
        loop {
            std::fs::write(&old, &before).unwrap();
            let mut child = crate::run::command();
            let child = child.args(&args).stdout(std::process::Stdio::null());
            let mut child = child.spawn().unwrap();
            let is_begun = || names().iter().any(|name| name.ends_with(".new"));
            while !is_begun() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            let id = child.id().to_string();
            let _ = std::process::Command::new("kill").args([signal, &id]).status();
            let status = child.wait().unwrap();
            if status.success() {
                // It was faster than the signal.
                let _ = std::fs::remove_file(&new);
                continue;
            }
            assert_eq!(status.signal(), Some(number), "{args:?}");
            break;
        }
        assert_eq!(names(), ["a.csv", "old.csv"], "{args:?}");
        assert_eq!(std::fs::read_to_string(&old).unwrap(), before, "{args:?}");
    }
}

/// The first two lines of a text log.
#[cfg(unix)]
fn names_and_first(log: &str) -> String {
    std::fs::read_to_string(log).unwrap().split_inclusive('\n').take(2).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_what_was_there() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let cells = "\",\"7".repeat(2000);
    let names: String =
        (0..2000).map(|at| format!("\",\"\\\\A\\Process({at})\\Working Set")).collect();
    let log = format!(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0){names}\"\r\n\"11/24/2026 10:00:00.000{cells}\"\r\n"
    );
    let log = folder.file("a.csv", log);
    let real = folder.file("real", "old");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&real, private.clone()).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let link = link.display().to_string();
    let source = format!("file:{log}");
    let runs = [
        vec!["report", &log, "-o", &link],
        vec!["relog", &log, "-f", "csv", "-o", &link, "-y"],
        vec!["relog", &log, "-o", &link, "-y"],
        vec!["relog", &log, "-q", "-o", &link, "-y"],
        vec!["typeperf", "--source", &source, r"\Process(*)\Working Set", "-o", &link, "-y"],
        vec!["typeperf", "--source", &source, "-qx", "Process", "-o", &link, "-y"],
        vec!["get", "--source", &source, r"\Process(*)\Working Set", "-o", &link],
    ];
    for args in &runs {
        // A limit of the size of files stands for a full disk.
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""]);
        let run = crate::run::finish(limited.arg(crate::run::command().get_program()).args(args));
        assert_eq!(run.code, Some(3), "{args:?} {}", run.err);
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "old", "{args:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "{args:?}");
    }
    for args in &runs {
        perfhive(args).ok();
        let about = std::fs::metadata(&real).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{args:?}");
        assert!(about.len() > 1024 && std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn counters_and_logs_in_a_code_page_are_read_in_the_one_that_is_named() {
    let folder = Folder::new();
    // In code page 932.
    let name = b"\x83\x5c\x95\x5c";
    let log = [
        &b"\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\"[..],
        name,
        b"\\Pages\"\r\n\"11/24/2026 10:00:00.000\",\"7\"\r\n",
    ];
    let log = folder.file("a.csv", log.concat());
    let source = format!("file:{log}");
    // The counters are in UTF-8, or in UTF-16 with its mark, whatever the log is in.
    let path = "\\\u{30bd}\u{8868}\\Pages\r\n";
    let utf16 = "\u{feff}".encode_utf16().chain(path.encode_utf16());
    let utf16: Vec<u8> = utf16.flat_map(u16::to_le_bytes).collect();
    for paths in [path.as_bytes(), format!("\u{feff}{path}").as_bytes(), &utf16] {
        let paths = folder.file("paths.txt", paths);
        let args = ["typeperf", "--source", &source, "-cf", &paths, "--encoding", "932"];
        let text = perfhive(args).ok();
        assert!(text.contains("\\\\A\\\u{30bd}\u{8868}\\Pages"), "{text}");
    }
    // Without its mark, UTF-16 is valid UTF-8 with NULs.
    let unmarked: Vec<u8> = "\\Pages\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let paths = folder.file("paths.txt", unmarked);
    let said = perfhive(["typeperf", "--source", &source, "-cf", &paths]).fails(3);
    assert!(said.contains("UTF-16 with its mark"), "{said}");
    let paths = folder.file("paths.txt", [&b"\\"[..], name, b"\\Pages\r\n"].concat());
    let args = ["typeperf", "--source", &source, "-cf", &paths, "--encoding", "932"];
    assert!(perfhive(args).fails(3).contains("UTF-8"));
    let run = perfhive(["list", "--source", &source]);
    assert!(run.err.contains("warning") && run.err.contains("--encoding"), "{}", run.err);
    let listed = perfhive(["list", "--source", &source, "--encoding", "shift_jis"]);
    assert_eq!((listed.err.as_str(), listed.out.contains('\u{30bd}')), ("", true));
    assert!(perfhive(["list", "--encoding", "klingon"]).fails(2).contains("not an encoding"));
    // What is valid UTF-8 is UTF-8.
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Zeit \u{e4}\\Pages\"\r\n\"11/24/2026 10:00:00.000\",\"7\"\r\n";
    for mark in ["", "\u{feff}"] {
        let source = format!("file:{}", folder.file("u.csv", format!("{mark}{text}")));
        let listed = perfhive(["list", "--source", &source, "--encoding", "850"]).ok();
        assert!(listed.contains("Zeit \u{e4}"), "{listed}");
    }
    let info = perfhive(["info", &log, "--encoding", "932"]).ok();
    assert!(info.contains("names") && !info.contains("English"), "{info}");
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
    let later = ["relog", &log, "-b", "1/1/2030 00:00:00"];
    for more in [&[][..], &["-f", "csv", "-o", &out, "-y"]] {
        let said = perfhive(later.iter().chain(more).copied());
        assert_eq!((said.code, said.out.contains("\r\nNo data to return.\r\n")), (Some(1), true));
    }
    let listed = perfhive(["relog", &log, "-q"]).ok();
    assert!(listed.starts_with("\\\\ZACH-PC\\LogicalDisk(HarddiskVolume1)\\"), "{listed}");
}

#[test]
fn relog_and_convert_leave_what_they_read_as_it_is() {
    let folder = Folder::new();
    let file = folder.path().join("o.csv");
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n\
                \"11/24/2026 10:00:00.000\",\"7\"\r\n";
    std::fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    for args in [&["relog", &path, "-f", "csv", "-o", &path, "-y"][..], &["convert", &path, &path]]
    {
        let said = perfhive(args.iter().copied());
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn the_columns_of_a_text_log_keep_their_order_and_their_names() {
    let folder = Folder::new();
    let out = folder.path().join("o.csv").display().to_string();
    // By counter and then by instance, objects mixed, names with slashes, a path without machine.
    let columns = [
        r"\\A\Process(b)\Working Set",
        r"\\A\Process(a)\Working Set",
        r"\\A\Memory\Pages/sec",
        r"\\A\Process(b)\% Processor Time",
        r"\\A\Thread(b/0#1)\% Processor Time",
        r"\\A\Process(a)\% Processor Time",
        r"\\A\Memory\Available Bytes",
        // Not every instance has every counter.
        r"\\A\Process(c)\ID Process",
    ];
    let line = |cells: &[String]| format!("\"{}\"\r\n", cells.join("\",\""));
    let log = |columns: &[&str], values: &[usize]| {
        let cells = columns.iter().map(|column| column.to_string());
        let first: Vec<_> = ["(PDH-CSV 4.0) (Coordinated Universal Time)(0)".to_string()]
            .into_iter()
            .chain(cells)
            .collect();
        let time = "11/24/2026 10:00:00.000".to_string();
        let cells = values.iter().map(usize::to_string);
        line(&first) + &line(&[time].into_iter().chain(cells).collect::<Vec<_>>())
    };
    let written = |args: &[&str]| {
        perfhive(args.iter().copied()).ok();
        std::fs::read_to_string(&out).unwrap()
    };
    let all = log(&columns, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let file = folder.file("a.csv", &all);
    assert_eq!(written(&["convert", &file, "-o", &out]), all);
    assert_eq!(written(&["relog", &file, "-f", "csv", "-o", &out, "-y"]), all);
    let listed = perfhive(["relog", &file, "-q"]).ok();
    assert!(listed.starts_with(&(columns.join("\r\n") + "\r\n")), "{listed}");
    // Filtered columns keep the order of the log.
    let filter =
        ["relog", &file, "-c", r"\Memory\*", r"\Process(*)\*", "-f", "csv", "-o", &out, "-y"];
    let few = [0, 1, 2, 3, 5, 6, 7];
    assert_eq!(written(&filter), log(&few.map(|at| columns[at]), &few));
    // Of several logs the first one's columns come first.
    let more = ["\\\\A\\Process(c)\\Working Set", columns[0]];
    let later = log(&more, &[8, 9]).replace("10:00", "11:00");
    let second = folder.file("b.csv", later);
    let both = written(&["convert", &file, &second, "-o", &out]);
    let wanted: Vec<&str> = columns.into_iter().chain([more[0]]).collect();
    assert!(both.starts_with(log(&wanted, &[]).lines().next().unwrap()), "{both}");
    assert_eq!(both.lines().nth(2).unwrap().split(',').nth(1), Some("\"9\""), "{both}");
}

#[test]
fn a_column_that_a_log_has_twice_is_written_twice() {
    let folder = Folder::new();
    let row = |time: &str, cells: [&str; 4]| format!("\"{time}\",\"{}\"\r\n", cells.join("\",\""));
    let (a, b, c) = (r"\\A\Process(a)\Working Set", r"\\A\Memory\Pages/sec", r"\\A\Memory\Free");
    let first = row("(PDH-CSV 4.0) (Coordinated Universal Time)(0)", [a, b, a, c]);
    let same = row("11/24/2026 10:00:00.000", ["1", "2", "1", "3"]);
    let file = folder.file("a.csv", format!("{first}{same}"));
    let out = folder.path().join("o.csv").display().to_string();
    perfhive(["convert", &file, "-o", &out]).ok();
    assert_eq!(std::fs::read_to_string(&out).unwrap(), format!("{first}{same}"));
    // Two values are not one.
    let other = row("11/24/2026 10:00:01.000", ["1", "2", "4", "3"]);
    let file = folder.file("b.csv", format!("{first}{other}"));
    let run = perfhive(["convert", &file, "-o", &out]);
    assert!(run.err.contains("line 2: column 4"), "{}", run.err);
    let blank = other.replace("\"1\"", "\" \"").replace("\"4\"", "\" \"");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), format!("{first}{blank}"));
}

#[test]
fn files_that_powershell_wrote_in_utf_16_are_read() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let utf16 = |text: &str| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let paths = folder.file("paths.txt", utf16("\\Memory\\Available Bytes\r\n"));
    let settings = folder.file("settings.txt", utf16(&format!("-sc 2 -cf \"{paths}\"\r\n")));
    let source = format!("file:{log}");
    let text = perfhive(["typeperf", "-config", &settings, "--source", &source]).ok();
    let printed = folder.file("printed.csv", utf16(&text));
    let info = &perfhive(["info", &printed, "--json", "--quiet"]).json()[0];
    assert_eq!((info["samples"].as_u64(), info["counters"].as_u64()), (Some(2), Some(1)), "{text}");
}

#[test]
fn a_file_that_is_too_large_for_counters_or_flags_is_not_read() {
    let folder = Folder::new();
    let file = folder.file("large.txt", "");
    std::fs::File::options().write(true).open(&file).unwrap().set_len(17 << 20).unwrap();
    for (flag, code) in [("-cf", 3), ("-config", 2)] {
        let said = perfhive(["typeperf", flag, &file]).fails(code);
        assert!(said.contains("is larger than 16 MiB"), "{flag}: {said}");
    }
}

#[test]
fn a_wrong_time_of_relog_is_answered_with_the_form_that_it_takes() {
    let folder = Folder::new();
    let file = folder.file(
        "a.csv",
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Pages/sec\"\r\n",
    );
    for wrong in ["garbage", "x/y z", "13/13/2026 10:00:00", "1/1 10:00"] {
        let said = perfhive(["relog", &file, "-b", wrong]).fails(2);
        assert!(said.contains("local time, such as 11/23/2026 14:05:00"), "{wrong}: {said}");
    }
}

#[test]
fn a_recording_without_counters_is_an_error_of_convert() {
    let folder = Folder::new();
    let (file, out) = (folder.path().join("o.csv"), folder.path().join("p.csv"));
    std::fs::write(
        &file,
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"\r\n\"11/24/2026 10:00:00.000\"\r\n",
    )
    .unwrap();
    let said = perfhive(["convert", &file.display().to_string(), &out.display().to_string()]);
    assert!(said.code != Some(0) && !out.exists(), "{}", said.err);
}

#[test]
fn relog_takes_and_tells_local_times_with_the_zone_in_the_banner() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let out = folder.path().join("o.csv").display().to_string();
    let args = ["relog", &log, "-c", r"\Memory\Available Bytes", "-f", "csv", "-o", &out];
    let range = ["-b", "8/14/2007 3:42:00PM", "-e", "8/14/2007 15:45:00"];
    let mut command = crate::run::command();
    command.args(args).args(range).env("TZ", "America/New_York");
    let said = crate::run::finish(&mut command).ok();
    assert!(said.contains("Begin:    8/14/2007 15:42:38\r\n"), "{said}");
    let text = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("\"(PDH-CSV 4.0) (Eastern Daylight Time)(240)\","), "{text}");
    assert_eq!(lines[1], "\"08/14/2007 15:42:38.600\",\"180535296\"");
    assert_eq!(lines.len(), 4);
    // Read again, times are UTC.
    let value =
        perfhive(["get", "-s", &format!("file:{out}"), r"\Memory\Available Bytes", "--json"]);
    assert_eq!(value.json()[0]["time"], "2007-08-14T19:42:38.600Z");
}

#[test]
fn relog_writes_and_continues_binary_and_text_logs() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let samples = |name: &str| {
        let info = perfhive(["info", "--json", &file(name)]).json();
        info[0]["samples"].as_u64().unwrap()
    };
    // The form of the tool is binary unless another is named.
    let memory = r"\Memory\Available Bytes";
    let out = file("o.blg");
    perfhive(["relog", &log, "-c", memory, "-t", "2", "-o", &out]).ok();
    assert_eq!(samples("o.blg"), 6);
    let disks = r"\LogicalDisk(*)\% Free Space";
    let said = perfhive(["relog", &log, "-c", memory, disks, "-a", "-o", &out]).ok();
    assert!(said.contains("Samples:  11\r\n"), "{said}");
    assert_eq!(samples("o.blg"), 17);
    // A log without a clock tells no frequency; its counters go on.
    let rows = perfhive(["watch", "-s", &format!("file:{out}"), memory, "--json"]).out;
    assert_eq!(rows.matches("\"status\":\"ok\"").count(), 17, "{rows}");
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 1, "the log was written beside the old one, which it replaced");
    let text = file("o.csv");
    let args = ["relog", &log, "-c", memory, "-f", "csv", "-o", &text, "-a"];
    for wanted in [11, 22] {
        perfhive(args).ok();
        assert_eq!(samples("o.csv"), wanted);
    }
    let other = perfhive(["relog", &log, "-c", disks, "-f", "csv", "-o", &text, "-a"]).fails(3);
    assert!(other.contains("other counters"), "{other}");
    assert_eq!(samples("o.csv"), 22);
}

#[test]
fn relog_appends_counters_by_their_names_to_a_binary_log() {
    let folder = Folder::new();
    let log = |name: &str, columns: [&str; 2], rows: [&str; 2]| {
        let head = columns.map(|column| format!(",\"\\\\A\\{column}\"")).concat();
        let text = format!(
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"{head}\r\n{}\r\n",
            rows.join("\r\n")
        );
        folder.file(name, text)
    };
    // The logs have no indexes, so the same made-up ones stand for other names in each.
    let one = log(
        "one.csv",
        [r"Processor(_Total)\% User Time", r"Memory\Free"],
        ["\"11/24/2026 10:00:00.000\",\"1\",\"2\"", "\"11/24/2026 10:00:01.000\",\"3\",\"4\""],
    );
    let two = log(
        "two.csv",
        [r"Memory\Free", r"Memory\Pages/sec"],
        ["\"11/24/2026 10:01:00.000\",\"5\",\"6\"", "\"11/24/2026 10:01:01.000\",\"7\",\"8\""],
    );
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (both, apart, read) = (file("both.blg"), file("apart.blg"), file("read.csv"));
    perfhive(["relog", &one, "-o", &both]).ok();
    perfhive(["relog", &two, "-a", "-o", &both]).ok();
    // Warnings name the counters that a sample lacks.
    assert_eq!(perfhive(["relog", &both, "-f", "csv", "-o", &read]).code, Some(0));
    let wanted = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Processor(_Total)\\% User Time\",\"\\\\A\\Memory\\Free\",\
                  \"\\\\A\\Memory\\Pages/sec\"\r\n\
                  \"11/24/2026 10:00:00.000\",\"1\",\"2\",\" \"\r\n\
                  \"11/24/2026 10:00:01.000\",\"3\",\"4\",\" \"\r\n\
                  \"11/24/2026 10:01:00.000\",\" \",\"5\",\"6\"\r\n\
                  \"11/24/2026 10:01:01.000\",\" \",\"7\",\"8\"\r\n";
    assert_eq!(std::fs::read_to_string(&read).unwrap(), wanted);
    // Two binary logs of text logs go together, too.
    perfhive(["relog", &one, "-o", &apart]).ok();
    perfhive(["relog", &two, "-o", &file("other.blg")]).ok();
    perfhive(["relog", &apart, &file("other.blg"), "-f", "csv", "-o", &read, "-y"]).ok();
    assert_eq!(std::fs::read_to_string(&read).unwrap(), wanted);
}

#[test]
fn relog_appends_no_final_values_to_raw_ones() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (binary, text) = (file("o.blg"), file("o.csv"));
    let counters = [r"\Processor(*)\% Processor Time", r"\System\Processes"];
    perfhive(["relog", &log, "-c", counters[0], counters[1], "-o", &binary]).ok();
    perfhive(["relog", &log, "-c", counters[0], counters[1], "-f", "csv", "-o", &text]).ok();
    let before = std::fs::read(&binary).unwrap();
    let error = perfhive(["relog", &text, "-a", "-o", &binary]).fails(3);
    assert!(error.contains("another type or clock"), "{error}");
    assert_eq!(std::fs::read(&binary).unwrap(), before);
}

#[test]
fn relog_appends_to_no_text_log_in_its_usual_binary_form() {
    let folder = Folder::new();
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Free\"\r\n\
               \"11/24/2026 10:00:00.000\",\"1\"\r\n";
    let [from, to] = ["a.csv", "b.csv"].map(|name| folder.file(name, log));
    let error = perfhive(["relog", &from, "-a", "-o", &to]).fails(2);
    assert!(error.contains("b.csv: is a text log; -f CSV or -f TSV appends to it"), "{error}");
    assert_eq!(std::fs::read_to_string(&to).unwrap(), log);
    // Of counters none of which is there both tools print the same words.
    for more in [&["-q"][..], &["-o", "o.csv"]] {
        let run = perfhive(["relog", &from, "-c", r"\Nope\x"].iter().chain(more));
        assert_eq!(
            (run.code, &*run.out),
            (Some(2), "Error: No valid counters.\r\n"),
            "{}",
            run.err
        );
    }
}

/// On the console a first sample without rates is left out; a log has it, with a blank for each rate.
#[cfg(target_os = "linux")]
#[test]
fn typeperf_writes_the_first_sample_to_a_log() {
    let folder = Folder::new();
    let out = folder.path().join("a.csv").display().to_string();
    let typeperf = ["typeperf", "--source", "proc:", "-si", "1", "-sc"];
    let paths = [r"\System\Context Switches/sec", r"\System\Processes"];
    perfhive(typeperf.iter().chain(&["2", "-o", &out]).chain(&paths).copied()).ok();
    let text = std::fs::read_to_string(&out).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0][1]), (2, r#"" ""#), "{text}");
    assert!(rows[0][2] != r#"" ""# && rows[1][1] != r#"" ""#, "{text}");
    let console = perfhive(typeperf.iter().chain(&["1"]).chain(&paths).copied()).ok();
    assert!(!console.contains(r#"" ""#), "{console}");
}

#[test]
fn typeperf_writes_a_binary_log_and_takes_its_flags_from_a_file() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (settings, out) = (file("settings.txt"), file("o.blg"));
    let text =
        format!("; of the tool\r\n-f BIN -o \"{out}\"\r\n\"\\Processor(*)\\% User Time\"\r\n");
    std::fs::write(&settings, text).unwrap();
    let source = format!("file:{log}");
    let said = perfhive(["typeperf", "-config", &settings, "--source", &source]).ok();
    assert_eq!(said, GOODBYE);
    let values = |source: &str| {
        perfhive(["watch", "-s", source, r"\Processor(*)\% User Time", "--format", "csv"]).ok()
    };
    assert_eq!(values(&format!("file:{out}")), values(&source));
    let missing = perfhive(["typeperf", "-config", &file("none")]).fails(2);
    assert!(missing.contains("none"), "{missing}");
}

#[test]
fn forms_and_flags_that_are_not_supported_are_refused() {
    let Some(log) = log() else { return };
    let database = perfhive(["relog", &log, "-f", "SQL", "-o", "o"]).fails(2);
    assert!(database.contains("-f CSV") && database.contains(".parquet"), "{database}");
    let shown = perfhive(["typeperf", r"\a\b", "-f", "bin"]).fails(2);
    assert!(shown.contains("-o FILE"), "{shown}");
    let nothing = perfhive(["typeperf"]).fails(2);
    assert!(nothing.contains("name counters"), "{nothing}");
}

#[test]
fn errors_name_the_flags_as_they_were_typed() {
    let said = perfhive(["relog", "a.blg", "/B", "soon"]).fails(2);
    assert!(said.contains("'/B <") && !said.contains("--b"), "{said}");
    let said = perfhive(["typeperf", r"\a\b", "-sc", "0"]).fails(2);
    assert!(said.contains("'-sc <") && said.contains("from 1 on"), "{said}");
    let said = perfhive(["typeperf", r"\a\b", "-q", "-qx"]).fails(2);
    assert!(said.contains("'-q ") && said.contains("'-qx "), "{said}");
    // A command of perfhive's own has options.
    let said = perfhive(["get", r"\a\b", "--begin", "soon"]).fails(2);
    assert!(said.contains("'--begin <"), "{said}");
}

#[test]
fn names_of_counters_keep_their_slashes() {
    let folder = Folder::new();
    let all = crate::blocks::recording(&folder);
    let paths = [r"\System\Context Switches/sec", r"\Process(bash)\% Processor Time"];
    let out = |name: &str| folder.path().join(name).display().to_string();
    let first =
        |file: &str| std::fs::read_to_string(file).unwrap().lines().next().unwrap().to_string();
    let (phr, csv, relogged) = (out("a.phr"), out("a.csv"), out("b.csv"));
    let record = ["record", "-o", &phr, "System", "Process"].map(String::from);
    perfhive(all.iter().cloned().chain(record)).ok();
    perfhive(["convert", &phr, "-o", &csv, "-p", paths[0], "-p", paths[1]]).ok();
    perfhive(["relog", &phr, "-f", "csv", "-o", &relogged, "-c", paths[0], paths[1]]).ok();
    let source = format!("file:{phr}");
    let typeperf = perfhive(["typeperf", paths[0], paths[1], "--source", &source]);
    let typeperf = typeperf.out.lines().nth(1).unwrap_or_default().to_string();
    for line in [first(&csv), first(&relogged), typeperf] {
        for name in [r"System\Context Switches/sec", r"Process(bash)\% Processor Time"] {
            assert!(line.contains(name), "{name}: {line}");
        }
    }
}

/// The names of zones are those of the language of the Windows that began the log.
#[test]
fn relog_goes_on_with_a_log_whatever_its_zone_is_called() {
    let folder = Folder::new();
    let log = |name: &str, zone: &str, hour: u32| {
        let text = format!(
            "\"(PDH-CSV 4.0) ({zone}\",\"\\\\A\\Memory\\Free\"\r\n\"11/24/2026 {hour}:00:00.000\",\"{hour}\"\r\n"
        );
        folder.file(name, text)
    };
    let next = log("next.csv", "Coordinated Universal Time)(0)", 11);
    for zone in ["UTC)(0)", "Mittlere Greenwich-Zeit (GMT))(0)"] {
        let begun = log("begun.csv", zone, 10);
        perfhive(["relog", &next, "-f", "csv", "-a", "-o", &begun]).ok();
        let text = std::fs::read_to_string(&begun).unwrap();
        assert!(text.contains(zone) && text.lines().count() == 3, "{text}");
    }
    let begun = log("begun.csv", "UTC)(60)", 10);
    let error = perfhive(["relog", &next, "-f", "csv", "-a", "-o", &begun]).fails(3);
    assert!(error.contains("another time zone"), "{error}");
}
