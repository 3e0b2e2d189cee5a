//! `record`, `info`, `convert`, and parts of recordings.

use crate::run::{Folder, perfhive};
use perfhive_testkit::real;

/// The path of a log of perfmon with eleven samples, a minute apart; `None` if the real data is absent.
fn log() -> Option<String> {
    let path = real::root()?.join("logs/pal_SampleLog.blg");
    path.is_file().then(|| path.display().to_string())
}

/// The values of a path in all samples, in their order.
fn values(source: &str, path: &str, options: &[&str]) -> Vec<Option<f64>> {
    let mut args = vec!["watch", "-s", source, "--json", path];
    args.extend(options);
    let text = perfhive(args).ok();
    let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    text.lines().map(|line| row(line)["value"].as_f64()).collect()
}

#[cfg(any(target_os = "linux", windows))]
#[test]
fn this_machine_is_recorded_and_read_again() {
    let machine = if cfg!(windows) { "native:" } else { "proc:" };
    let folder = Folder::new();
    let file = folder.path().join("a.phr").display().to_string();
    let record =
        ["record", "-o", &file, "-i", "0.05", "-n", "5", "-s", machine, "--json", "Process"];
    let mut started = crate::run::command();
    let started = started.args(record).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let id = f64::from(started.id());
    let output = started.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let row = serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    let row = if row.is_array() { &row[0] } else { &row };
    assert_eq!((row["samples"].as_u64(), row["file"].as_str()), (Some(5), Some(file.as_str())));
    assert_eq!(row["bytes"].as_u64(), std::fs::metadata(&file).ok().map(|found| found.len()));
    let source = format!("file:{file}");
    // Others of this name may be other tests', and have no memory at their end.
    let of_each = |counter: &str| values(&source, &format!(r"\Process(perfhive*)\{counter}"), &[]);
    let (ids, sets) = (of_each("ID Process"), of_each("Working Set"));
    let own = ids.iter().zip(&sets).filter(|(of, _)| **of == Some(id));
    let own: Vec<Option<f64>> = own.map(|(_, bytes)| *bytes).collect();
    assert_eq!((own.len(), ids.len()), (5, sets.len()));
    assert!(own.iter().all(|bytes| *bytes > Some(0.0)), "{own:?}");
    // Going on with the file appends.
    perfhive(record).ok();
    let info = &perfhive(["info", &file, "--json"]).json()[0];
    assert_eq!((info["samples"].as_u64(), info["objects"].as_u64()), (Some(10), Some(1)));
    assert!(info["values"].as_u64() > Some(20), "{info}");
}

#[cfg(target_os = "linux")]
#[test]
fn logs_have_english_names_in_every_environment_unless_a_language_is_asked_for() {
    let folder = Folder::new();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (recording, log) = (file("a.phr"), file("a.csv"));
    let record =
        ["record", "-o", &recording, "-i", "0.05", "-n", "2", "-s", "proc:", "Memory", "System"];
    perfhive(record).ok();
    let first_line = |args: &[&str]| {
        let mut command = crate::run::command();
        command.env("LANG", "de_DE.UTF-8").args(["convert", &recording, "-o", &log]);
        crate::run::finish(command.args(["-p", "memory"]).args(args)).ok();
        std::fs::read_to_string(&log).unwrap().lines().next().unwrap_or_default().to_string()
    };
    assert!(first_line(&[]).contains(r"\Memory\Available Bytes"));
    assert!(first_line(&["--language", "de"]).contains(r"\Arbeitsspeicher\"));
    let diff = ["diff", &recording, &recording, "-f", "csv", "--all-counters", "--language", "de"];
    let rows = perfhive(diff).ok();
    let row = rows.lines().find(|line| line.starts_with(r"\Memory\Available Bytes,"));
    let local = row.is_some_and(|row| row.contains(",4,24,") && row.contains(r"\Arbeitsspeicher\"));
    assert!(local, "{rows}");
    let report = perfhive(["report", &recording, "-f", "csv"]).ok();
    assert!(report.contains(r",\Memory\Available Bytes,4,24"), "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_path_of_a_counter_records_its_whole_object() {
    let folder = Folder::new();
    let file = folder.path().join("a.phr").display().to_string();
    let record = |path: &str| {
        let paths = ["Memory", path, "Processor(_Total)/% Idle Time"];
        perfhive([&["record", "-q", "-o", &file, "-n", "1", "-s", "proc:"], &paths[..]].concat())
    };
    record(r"\\nowhere\System\*").fails(2);
    assert!(!std::path::Path::new(&file).exists());
    record("System/Threads").ok();
    let source = format!("file:{file}");
    let rows = perfhive(["list", "-s", &source, "--json"]).ok();
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    let mut objects: Vec<_> = rows.iter().map(|row| row["object"].as_str().unwrap()).collect();
    objects.sort_unstable();
    assert_eq!(objects, ["Memory", "Processor", "System"]);
    assert_eq!(values(&source, r"\System\Processes", &[]).len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_recording_keeps_each_sample_that_was_written() {
    let folder = Folder::new();
    let file = folder.path().join("a.phr").display().to_string();
    let mut last = 0;
    let kills = if perfhive_testkit::is_slow() { 5 } else { 40 };
    for kill in 0..kills {
        let mut recording = crate::run::command();
        recording.args([
            "record",
            "-o",
            &file,
            "-i",
            "0.001",
            "-s",
            "proc:",
            "System",
            "Processor",
        ]);
        let mut recording = recording.spawn().unwrap();
        // The recorder is killed at any moment after it has written samples.
        let length = || std::fs::metadata(&file).map_or(0, |found| found.len());
        let before = length();
        let begun = std::time::Instant::now();
        while length() <= before {
            assert!(begun.elapsed().as_secs() < 30, "nothing is recorded");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(7 * (kill % 13)));
        recording.kill().unwrap();
        recording.wait().unwrap();
        if kill % 3 == 0 {
            // A power failure may leave only a part of the last sample: less is cut off than the shortest sample has.
            let length = std::fs::metadata(&file).unwrap().len();
            let found = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
            found.set_len(length.saturating_sub(1 + kill % 31)).unwrap();
            last = u64::max(last, 1) - 1;
        }
        let info = perfhive(["info", &file, "--json", "--quiet"]);
        // The first bytes of a file are written before its first sample.
        let samples = match info.err.contains("ends before its first sample") {
            true => 0,
            false => info.json()[0]["samples"].as_u64().unwrap(),
        };
        assert!(samples >= last, "{samples} of {last}");
        last = samples;
    }
    assert!(last > kills, "{last} samples");
}

/// Runs a shell script with file systems of its own: `$1` is the command, `$2` a folder, `$3` a
/// log. `None`, with a message, if nothing can be mounted.
#[cfg(target_os = "linux")]
fn in_own_file_systems(script: &str, folder: &Folder, log: &str) -> Option<crate::run::Run> {
    let mut shell = std::process::Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    shell.arg(env!("CARGO_BIN_EXE_perfhive")).arg(folder.path()).arg(log);
    let run = crate::run::finish(&mut shell);
    if run.out.starts_with("mounted") {
        return Some(run);
    }
    eprintln!("not tested, since nothing can be mounted here: {}", run.err);
    None
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_a_recording_that_stays_readable() {
    let folder = Folder::new();
    let script = r#"cd "$2" && mount -t tmpfs -o size=20k none "$2" && cd "$2" && echo mounted
        "$1" record -o a.phr -s proc: -i 0.001 System Memory
        echo "code $?"
        "$1" info a.phr --json
        mount -o remount,ro "$2"
        "$1" record -o a.phr -s proc: -n 1 System
        "$1" record -o b.phr -s proc: -n 1 System
        "$1" info a.phr --json"#;
    let Some(run) = in_own_file_systems(script, &folder, "") else { return };
    let errors: Vec<&str> = run.err.lines().collect();
    assert_eq!(errors.len(), 3, "{}", run.err);
    assert!(errors[0].contains("a.phr: cannot be written: No space left on device"), "{errors:?}");
    assert!(errors[0].contains(" samples until then are recorded"), "{errors:?}");
    for (error, file) in errors[1..].iter().zip(["a.phr", "b.phr"]) {
        let what = format!("{file}: cannot be written: Read-only file system");
        assert!(error.contains(&what), "{error}");
    }
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines[1], "code 3", "{}", run.out);
    let infos: Vec<serde_json::Value> = run
        .out
        .split("code 3\n")
        .nth(1)
        .map(|text| serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap))
        .unwrap()
        .collect();
    assert_eq!(infos.len(), 2);
    assert!(infos[0][0]["samples"].as_u64() > Some(1), "{infos:?}");
    assert_eq!(infos[0], infos[1]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_a_recording_of_several_files_that_are_all_counted() {
    let folder = Folder::new();
    let script = r#"mount -t tmpfs -o size=64k none "$2" && cd "$2" && echo mounted
        "$1" record -o a.phr -s proc: -i 0.001 --rotate-size 9K System Memory
        for file in *.phr; do "$1" info "$file" --json --quiet 2>/dev/null; done"#;
    let Some(run) = in_own_file_systems(script, &folder, "") else { return };
    assert!(run.err.contains("a.phr: cannot be written: No space left on device"), "{}", run.err);
    let infos = serde_json::Deserializer::from_str(run.out.strip_prefix("mounted\n").unwrap());
    let infos: Vec<serde_json::Value> = infos.into_iter().map(Result::unwrap).collect();
    let samples: u64 = infos.iter().filter_map(|info| info[0]["samples"].as_u64()).sum();
    assert!(infos.len() > 3 && samples > 10, "{}", run.out);
    assert!(run.err.contains(&format!("; {samples} samples until then")), "{samples}: {}", run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_of_the_size_of_files_is_an_error_like_a_full_disk() {
    let folder = Folder::new();
    let mut shell = std::process::Command::new("sh");
    let script =
        r#"ulimit -f 40 && cd "$2" && exec "$1" record -o a.phr -s proc: -i 0.001 System Memory"#;
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_perfhive")]).arg(folder.path());
    let error = crate::run::finish(&mut shell).fails(3);
    assert!(error.contains("a.phr: cannot be written: File too large"), "{error}");
    let file = folder.path().join("a.phr").display().to_string();
    let samples = perfhive(["info", &file, "--json"]).json()[0]["samples"].as_u64().unwrap();
    assert!(error.contains(&format!("; {samples} samples until then are recorded")), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_a_full_disk_cuts_short_does_not_stay() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let script = r#"mount -t tmpfs -o size=28k none "$2" && cd "$2" && echo mounted
        "$1" relog "$3" -c '\Memory\*' -f csv -o a.csv && sum=$(cksum a.csv)
        for out in o.csv o.blg o.phr; do "$1" convert "$3" -o $out; echo "code $?"; done
        "$1" relog "$3" -f csv -o o.tsv; echo "code $?"
        while "$1" relog "$3" -c '\Memory\*' -f csv -a -o a.csv; do sum=$(cksum a.csv); done
        test "$sum" = "$(cksum a.csv)" && echo same
        ls"#;
    let Some(run) = in_own_file_systems(script, &folder, &log) else { return };
    let end: Vec<&str> = run.out.lines().rev().take(2).collect();
    assert_eq!(end, ["a.csv", "same"], "{}", run.out);
    assert_eq!(run.out.matches("code 3\n").count(), 4, "{}", run.out);
    assert_eq!(run.err.matches("cannot be written: No space left").count(), 5, "{}", run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_recording_whose_file_is_removed_goes_on_in_a_new_one() {
    let folder = Folder::new();
    let file = folder.path().join("a.phr");
    let mut recording = crate::run::command();
    recording.args(["record", "-s", "proc:", "-i", "0.01", "-n", "300", "--sync", "0", "System"]);
    recording.arg("-o").arg(&file);
    let recording = recording.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let wait = |is_there: &dyn Fn() -> bool| {
        while !is_there() {
            assert!(begun.elapsed().as_secs() < 60, "nothing is recorded");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    let has_samples = || std::fs::metadata(&file).is_ok_and(|found| found.len() > 2000);
    wait(&has_samples);
    std::fs::remove_file(&file).unwrap();
    wait(&has_samples);
    let said = recording.wait_with_output().unwrap();
    let errors = String::from_utf8(said.stderr).unwrap();
    assert!(
        errors.contains("a.phr was removed, renamed, replaced or cut; it is begun again"),
        "{errors}"
    );
    let info = ["info", "--json"].map(std::ffi::OsStr::new);
    let info = perfhive(info.into_iter().chain([file.as_os_str()])).ok();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    // Those in the file that is gone are among the 300.
    let samples = info[0]["samples"].as_u64().unwrap();
    assert!((1..300).contains(&samples), "{info}");
}

/// Empty buffers of a binary log, which logs of a fixed size have, take no memory.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_is_larger_than_memory_is_read() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let large = folder.file("large.blg", std::fs::read(&log).unwrap());
    let file = std::fs::OpenOptions::new().write(true).open(&large).unwrap();
    file.set_len(320 << 20).unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -v 250000 && exec \"$1\" info \"$2\" --json", "sh"]);
    shell.arg(env!("CARGO_BIN_EXE_perfhive")).arg(&large);
    let info = &crate::run::finish(&mut shell).json()[0];
    assert_eq!((info["samples"].as_u64(), info["bytes"].as_u64()), (Some(11), Some(320 << 20)));
}

#[test]
fn a_log_of_perfmon_says_what_it_holds() {
    let Some(log) = log() else { return };
    let info = &perfhive(["info", &log, "--json"]).json()[0];
    assert_eq!(info["machine"], "ZACH-PC");
    assert_eq!(info["begin"], "2007-08-14T19:40:38.659Z");
    assert_eq!(info["samples"], 11);
    assert!((60.0..60.01).contains(&info["interval"].as_f64().unwrap()), "{info}");
    assert_eq!((info["objects"].as_u64(), info["gaps"].as_u64()), (Some(8), Some(0)));
    let table = perfhive(["info", &log]).ok();
    assert!(table.contains("\nmachine   ZACH-PC\n"), "{table}");
}

#[test]
fn a_log_is_converted_to_text_and_to_a_recording_with_the_same_values() {
    let Some(log) = log() else { return };
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (csv, tsv, phr) = (path("o.csv"), path("o.tsv"), path("o.phr"));
    for out in [&csv, &tsv, &phr] {
        let row = &perfhive(["convert", &log, "-o", out, "--json"]).json()[0];
        assert_eq!(row["samples"], 11);
        assert_eq!(row["bytes"].as_u64(), std::fs::metadata(out).ok().map(|found| found.len()));
    }
    for counter in [
        r"\System\File Read Operations/sec",
        r"\Process(_Total)\Working Set",
        r"\Processor(_Total)\% Processor Time",
        r"\LogicalDisk(C:)\% Free Space",
    ] {
        let wanted = values(&format!("file:{log}"), counter, &[]);
        assert_eq!(wanted.len(), 11);
        for out in [&csv, &tsv, &phr] {
            assert_eq!(values(&format!("file:{out}"), counter, &[]), wanted, "{counter} of {out}");
        }
    }
    // Only some counters are converted.
    let few = path("few.csv");
    let counter = r"\Memory\Available Bytes";
    perfhive(["convert", &phr, &few, "-p", counter, "--begin", "+1m", "--every", "2"]).ok();
    let text = std::fs::read_to_string(&few).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    let header = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\ZACH-PC\\Memory\\Available Bytes\"\r\n";
    assert!(text.starts_with(header), "{text}");
}

#[test]
fn the_logs_to_convert_may_be_named_by_their_address() {
    let folder = Folder::new();
    let log = |name: &str, second: u32| {
        let head =
            r#""(PDH-CSV 4.0) (Coordinated Universal Time)(0)","\\A\Memory\Available Bytes""#;
        let row = format!(r#""11/23/2026 10:00:0{second}.000","1""#);
        folder.file(name, format!("{head}\r\n{row}\r\n"))
    };
    let (first, second) = (log("a.csv", 1), log("b.csv", 2));
    let out = folder.path().join("c.csv").display().to_string();
    for inputs in [
        &[format!("file:{first}"), format!("file:{second}")][..],
        &[format!("file:{first},{second}")],
        &[first.clone(), format!("file:{second}")],
    ] {
        let inputs = inputs.iter().map(String::as_str);
        let run = perfhive(["convert"].into_iter().chain(inputs).chain(["-o", &out]));
        assert!(run.ok().starts_with("2 samples"));
        let lines = std::fs::read_to_string(&out).unwrap().lines().count();
        assert_eq!(lines, 3);
    }
    // The file that is read is not written, however it is named.
    let line = perfhive(["convert", &format!("file:{first}"), "-o", &first]).fails(2);
    assert!(line.contains("is the input"), "{line}");
}

#[test]
fn a_recording_of_a_recording_has_each_sample_whatever_is_asked_for() {
    let Some(log) = log() else { return };
    let (folder, source) = (Folder::new(), format!("file:{log}"));
    for objects in [&["Global"][..], &["Global", "Costly"], &["Costly", "Memory", "Global"]] {
        let out = folder.path().join(format!("{}.phr", objects.len())).display().to_string();
        perfhive([&["record", "-s", &source, "-o", &out], objects].concat()).ok();
        let info = &perfhive(["info", &out, "--json"]).json()[0];
        assert_eq!((&info["samples"], &info["values"]), (&11.into(), &1747.into()), "{info}");
    }
}

#[test]
fn threads_of_a_text_log_keep_their_process_by_way_of_other_forms() {
    let folder = Folder::new();
    let column = r"\\box\Thread(sqlservr/12)\% Processor Time";
    let row = |second: i32| format!("\"11/27/2026 10:00:0{second}.000\",\"{second}\"\r\n");
    let log = format!(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"{column}\"\r\n{}{}",
        row(1),
        row(2)
    );
    let log = folder.file("threads.csv", &log);
    for form in ["phr", "blg"] {
        let [between, out] = [form, "csv"]
            .map(|ending| folder.path().join(format!("{form}.{ending}")).display().to_string());
        perfhive(["convert", &log, &between]).ok();
        perfhive(["convert", &between, &out]).ok();
        let text = std::fs::read_to_string(&out).unwrap();
        assert!(text.lines().next().unwrap().contains(column), "{text}");
    }
}

#[test]
fn a_part_of_a_recording_is_chosen_by_time() {
    let Some(log) = log() else { return };
    let source = format!("file:{log}");
    let path = r"\Memory\Available Bytes";
    let all = values(&source, path, &[]);
    assert_eq!(values(&source, path, &["--begin", "+1.9m", "--end", "+4.5m"]), all[2..5]);
    assert_eq!(values(&source, path, &["--begin", "-61s"]), all[9..]);
    assert_eq!(values(&source, path, &["--end", "2007-08-14 19:42"]), all[..2]);
    let every: Vec<_> = all.iter().copied().step_by(5).collect();
    assert_eq!(values(&source, path, &["--every", "5"]), every);
}

#[test]
fn paths_are_understood_as_people_type_them() {
    let Some(log) = log() else { return };
    let source = format!("file:{log}");
    let path = r"\Memory\Available Bytes";
    let wanted = values(&source, path, &[]);
    for typed in
        ["memory", "Memory/Available Bytes", "/Memory/Available Bytes", r"Memory\Available Bytes"]
    {
        assert_eq!(values(&source, typed, &[]), wanted, "{typed}");
    }
    let rows =
        perfhive(["get", "-s", &source, "--json", "cpu", "LogicalDisk(C:)/% Free Space"]).json();
    let paths: Vec<_> = rows.iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [r"\Processor(_Total)\% Processor Time", r"\LogicalDisk(C:)\% Free Space"]);
}

#[test]
fn wrong_uses_are_refused_with_the_way_out() {
    let folder = Folder::new();
    let file = folder.file("a.txt", "x");
    let error = perfhive(["convert", &file, "-o", "o.xyz"]).fails(2);
    assert!(error.contains(".csv or .tsv for a text log"), "{error}");
    let phr = folder.file("b.phr", "x");
    let log = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n\
               \"11/24/2026 10:00:00.000\",\"1\"\r\n";
    let log = folder.file("l.csv", log);
    let error = perfhive(["convert", &phr, "-o", &phr]).fails(2);
    assert!(error.contains("is the input"), "{error}");
    let error = perfhive(["convert"]).fails(2);
    assert!(!error.contains("OPTIONS"), "{error}");
    let error = perfhive(["convert", &phr]).fails(2);
    assert!(error.contains("name the file to write"), "{error}");
    let kept = folder.file("c.csv", "x");
    let error = perfhive(["convert", &phr, &kept]).fails(2);
    assert!(error.contains("exists; name another file"), "{error}");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "x");
    let error = perfhive(["watch", "-s", &format!("file:{log}"), "-o", &phr]).fails(2);
    assert!(error.contains("b.phr is a recording and is not overwritten"), "{error}");
    assert_eq!(std::fs::read_to_string(&phr).unwrap(), "x");
    if cfg!(any(target_os = "linux", windows)) {
        let error = perfhive(["get", "--begin", "+1m", r"\System\Processes"]).fails(2);
        assert!(error.contains("is not a recording"), "{error}");
        let error = perfhive(["record", "-o", &phr, "-n", "1"]).fails(3);
        assert!(error.contains("does not begin as a recording does"), "{error}");
        assert_eq!(std::fs::read(&phr).unwrap(), b"x");
        let error = perfhive(["info"]).fails(2);
        assert!(error.contains("is not a recording"), "{error}");
    }
    // Without rotation no file is ever finished, so there is nothing to keep.
    let error = perfhive(["record", "-o", "none.phr", "--keep", "3"]).fails(2);
    assert!(error.contains("--rotate-size"), "{error}");
}

#[test]
fn a_log_without_samples_has_its_counters() {
    let folder = Folder::new();
    let text =
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n";
    let source = format!("file:{}", folder.file("a.csv", text));
    for args in [&["list"][..], &["list", "Memory"]] {
        let text = perfhive(args.iter().copied().chain(["--source", &source])).ok();
        assert!(text.contains("Memory"), "{text}");
    }
    // The exit code of every command says that there is nothing.
    let log = &source["file:".len()..];
    let outs =
        ["o.phr", "o.blg", "o.csv"].map(|name| folder.path().join(name).display().to_string());
    let of_source = ["get", "watch", "typeperf", "measure"]
        .map(|command| vec![command, r"\Memory\Available Bytes", "--source", &source]);
    let [phr, blg, csv] = outs.each_ref().map(|out| vec!["convert", log, "-o", out]);
    let of_file = [vec!["report", log], vec!["diff", log, log], phr, blg, csv];
    for args in of_source.iter().chain(&of_file) {
        let error = perfhive(args).fails(1);
        assert!(error.contains("no sample") || error.contains("0 samples"), "{args:?}: {error}");
    }
    let relog = perfhive(["relog", log]);
    assert_eq!((relog.code, relog.out.contains("No data to return.")), (Some(1), true));
    assert!(outs.iter().all(|out| !std::path::Path::new(out).exists()));
    // What is wrong with its lines is told, although no sample follows them.
    let bad = folder.file("b.csv", format!("{text}40:38.7,\"5\"\r\n"));
    let run = perfhive(["info", &bad]);
    assert!(run.err.contains("line 2: \"40:38.7\" is not a time"), "{}", run.err);
}

#[test]
fn a_line_that_is_cut_is_told_by_every_command() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n\
                \"11/24/2026 10:00:00.000\",\"7\"\r\n\"11/24/2026 10:00:01.000\",\"12";
    let log = folder.file("a.csv", text);
    let out = folder.path().join("o.csv").display().to_string();
    let (path, source) = (r"\Memory\Available Bytes", format!("file:{log}"));
    for args in [
        &["watch", path, "--source", &source][..],
        &["watch", path, "--source", &source, "--json"],
        &["typeperf", path, "--source", &source],
        &["relog", &log],
        &["relog", &log, "-f", "csv", "-o", &out],
        &["convert", &log, "-o", &out],
        &["report", &log],
        &["info", &log],
    ] {
        let run = perfhive(args);
        assert_eq!(run.code, Some(0), "{args:?} {}", run.err);
        assert!(run.err.contains("line 3, the last one, is not complete"), "{args:?} {}", run.err);
    }
}

#[test]
fn a_recording_of_a_newer_perfhive_is_told_as_such() {
    let folder = Folder::new();
    let file = folder.file("a.phr", b"PHR2\x01\0\0\0 and more of what is not known yet");
    for args in [&["info", &file][..], &["report", &file], &["list", "-s", &format!("file:{file}")]]
    {
        assert!(perfhive(args).fails(3).contains("written by a newer perfhive"), "{args:?}");
    }
    perfhive(["record", "-o", &file, "-n", "1", "System"]).fails(3);
    assert!(std::fs::read(&file).unwrap().starts_with(b"PHR2"));
}

#[test]
fn a_binary_log_in_another_language_is_refused() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n\
                \"11/24/2026 10:00:00.000\",\"7\"\r\n";
    let log = folder.file("a.csv", text);
    let german = folder.file("de.txt", "4\nSpeicher\n24\nVerf\u{fc}gbare Bytes\n");
    let blocks = folder.path().join("a.bin");
    std::fs::write(&blocks, crate::blocks::sample_of("A", 0)).unwrap();
    let blocks = blocks.display().to_string();
    let out = folder.path().join("o.blg").display().to_string();
    let args = ["convert", &blocks, "--titles", &german, "--language", "de", "-o", &out];
    assert!(perfhive(args).fails(2).contains("--language"));
    assert!(!std::path::Path::new(&out).exists());
    perfhive(["convert", &log, "--language", "en", "-o", &out]).ok();
}

#[test]
fn a_part_has_what_lies_in_it_also_where_the_clock_was_set_back() {
    let folder = Folder::new();
    let mut text = String::from(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\"\r\n",
    );
    for (hour, number) in
        (0..90).map(|second| (10, second)).chain((0..90).map(|second| (9, second)))
    {
        let (minute, second) = (number / 60, number % 60);
        text.push_str(&format!(
            "\"11/24/2026 {hour:02}:{minute:02}:{second:02}.000\",\"{number}\"\r\n"
        ));
    }
    let log = folder.file("a.csv", &text);
    let [phr, blg] = ["a.phr", "a.blg"].map(|name| folder.path().join(name).display().to_string());
    for out in [&phr, &blg] {
        perfhive(["convert", &log, "-o", out]).ok();
    }
    for file in [&log, &phr, &blg] {
        let source = format!("file:{file}");
        for (option, bound, wanted) in [
            ("--begin", "2026-11-24 10:01:28Z", vec![88, 89]),
            ("--begin", "2026-11-24 10:00:05Z", (5..90).collect()),
            ("--end", "2026-11-24 09:00:10Z", (0..11).collect()),
            ("--end", "+10s", (0..11).chain(0..90).collect()),
        ] {
            let args =
                ["watch", r"\Memory\Available Bytes", "--json", option, bound, "-s", &source];
            let rows = perfhive(args).ok();
            let value = |line: &str| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["value"].as_f64()
            };
            let values: Vec<f64> = rows.lines().filter_map(value).collect();
            let wanted: Vec<f64> = wanted.into_iter().map(f64::from).collect();
            assert_eq!(values, wanted, "{file} {option} {bound}");
        }
    }
}

#[test]
fn a_caption_behind_the_columns_of_a_text_log_is_no_counter() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\",\"Server 7\"\r\n\
                \"11/24/2026 10:00:00.000\",\"7\"\r\n\"11/24/2026 10:00:01.000\",\"8\",\"\"\r\n";
    let log = folder.file("a.csv", text);
    let run =
        perfhive(["watch", r"\Memory\Available Bytes", "-f", "csv", "-s", &format!("file:{log}")]);
    assert!(run.err.contains("Server 7") && run.err.lines().count() == 1, "{}", run.err);
    let values: Vec<_> =
        run.out.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(values, ["7", "8"], "{}", run.out);
}

#[test]
fn times_of_a_binary_log_are_right_whatever_its_interval_is() {
    let folder = Folder::new();
    let path = r"\\A\Process(x)\Working Set";
    let cells = |cell: &str| format!(",\"{cell}\"").repeat(60);
    let names: String =
        (0..60).map(|at| format!(",\"{}\"", path.replace('x', &at.to_string()))).collect();
    let mut text = format!("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"{names}\r\n");
    // Zones differ from UTC by quarters of an hour, as these samples do from one another.
    for quarter in 0..96 {
        let (hour, minute) = (quarter / 4, quarter % 4 * 15);
        text.push_str(&format!("\"11/24/2026 {hour:02}:{minute:02}:00.000\"{}\r\n", cells("1")));
    }
    let (log, out) =
        (folder.file("a.csv", text), folder.path().join("a.blg").display().to_string());
    perfhive(["convert", &log, "-o", &out]).ok();
    let info = &perfhive(["info", &out, "--json"]).json()[0];
    assert_eq!(info["begin"], "2026-11-24T00:00:00.000Z");
    assert_eq!(info["end"], "2026-11-24T23:45:00.000Z");
}

#[test]
fn processes_of_a_text_log_have_their_numbers() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Process(web)\\ID Process\",\"\\\\A\\Process(web)\\Working Set\"\r\n\
                \"11/24/2026 10:00:00.000\",\"304\",\"4096\"\r\n";
    let source = format!("file:{}", folder.file("a.csv", text));
    let found = &perfhive(["workset", "web", "--json", "-s", &source]).json()[0];
    assert_eq!((found["pid"].as_u64(), found["value"].as_u64()), (Some(304), Some(4096)));
    assert!(perfhive(["ps", "--pid", "304", "-s", &source]).out.contains("web"));
    let rows = perfhive(["ps", "-s", &source, "--json"]).json();
    assert_eq!(rows[0]["pid"].as_u64(), Some(304));
    let path = r"\Process(pid:304)\Working Set";
    assert_eq!(values(&source, path, &[]), [Some(4096.0)]);
    let error =
        perfhive(["workset", "web", "-s", &source, "--begin", "2026-11-24 11:00Z"]).fails(1);
    assert!(error.contains("no sample in the part"), "{error}");
}

/// The first line of a log has no rates, and the columns of processes that are not there are blank.
#[test]
fn a_text_log_has_the_processes_of_each_line_with_their_rates_and_counts() {
    let folder = Folder::new();
    let column =
        |process: &str, counter: &str| format!(",\"\\\\A\\Process({process})\\{counter}\"");
    let columns: String = ["web", "db", "never"]
        .iter()
        .flat_map(|process| {
            ["ID Process", "% Processor Time", "Thread Count", "Page Faults/sec"]
                .map(|counter| column(process, counter))
        })
        .collect();
    let line = |second: u32, web: &str, db: &str| {
        format!("\"11/24/2026 10:00:0{second}.000\",{web},{db},\" \",\" \",\" \",\" \"\r\n")
    };
    let blank = r#"" "," "," "," ""#;
    let text = format!("\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\"{columns}\r\n")
        + &line(0, r#""304"," ","31"," ""#, blank)
        + &line(1, r#""304","5","31","7.5""#, blank)
        + &line(2, blank, r#""9","1","8","2""#);
    let log = folder.file("a.csv", &text);
    let source = format!("file:{log}");
    let columns = ["-o", "pid,cpu,threads,Page Faults/sec,name"];
    let run = perfhive([&["ps", "-s", &source][..], &columns].concat());
    let lines: Vec<Vec<&str>> =
        run.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.last(), Some(&vec!["304", "5.0", "31", "7.5", "web"]), "{}", run.out);
    assert!(!run.out.contains("db") && run.out.contains("/s"), "{}", run.out);
    let bare = perfhive(["get", "-s", &source, "--bare", r"\Process(web)\Thread Count"]);
    assert_eq!(bare.out, "31\n");
    let all = perfhive(["get", "-s", &source, r"\Process(*)\*", "--json"]).json();
    assert!(all.iter().all(|row| row["status"] == "ok"), "{all:?}");
    // A process that is not in the first line is read from the second, and one that is in neither is not there.
    let get = |path: &str| perfhive(["get", "-s", &source, path]);
    assert!(get(r"\Process(web)\% Processor Time").out.contains("5.000  %"));
    assert!(get(r"\Process(db)\Thread Count").out.contains("no such instance"));
    assert_eq!(get(r"\Process(*)\Thread Count").ok().matches("Process(").count(), 1);
    let run = perfhive(["enum", "Process", "-s", &source]);
    assert!(run.out.contains("not available here") && !run.out.contains("NaN"), "{}", run.out);
    assert!(run.out.contains(" 31") && !run.out.contains("31.0"), "{}", run.out);
    // Columns that are blank in all lines keep their places.
    let out = folder.path().join("o.csv").display().to_string();
    perfhive(["convert", &log, &out]).ok();
    assert_eq!(std::fs::read_to_string(out).unwrap().lines().next(), text.lines().next());
}

/// typeperf writes paths as they are typed, and the first line of a log has no rates.
#[test]
fn get_of_a_text_log_has_rates_and_processes_in_any_case() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\process(web)\\id process\",\"\\\\A\\process(web)\\% processor time\"\r\n\
                \"11/24/2026 10:00:00.000\",\"304\",\" \"\r\n\"11/24/2026 10:00:01.000\",\"304\",\"5\"\r\n";
    let source = format!("file:{}", folder.file("a.csv", text));
    let path = r"\Process(pid:304)\% Processor Time";
    let found = perfhive(["get", "-s", &source, path, "--json"]).json();
    assert_eq!(found[0]["value"].as_f64(), Some(5.0));
    // A log of one line has none, which is no error of its own.
    let one = folder
        .file("b.csv", text.lines().take(2).map(|line| format!("{line}\r\n")).collect::<String>());
    let run = perfhive(["get", "-s", &format!("file:{one}"), path]);
    assert!(
        run.out.contains("no value was recorded") && !run.err.contains("need two"),
        "{}{}",
        run.out,
        run.err
    );
}

/// PDH shows processes of one name as `web`, `web#1`, `web#2`.
#[test]
fn processes_of_one_name_in_a_text_log_are_those_of_one_name() {
    let folder = Folder::new();
    let columns = ["web#1", "web", "db#1", "web#2", "web#4"].map(|process| {
        ["ID Process", "Working Set"].map(|name| format!("\"\\\\A\\Process({process})\\{name}\""))
    });
    let text = format!(
        "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",{}\r\n\"11/24/2026 10:00:00.000\",{}\r\n",
        columns.as_flattened().join(","),
        r#""11","110","10","100","21","210","12","120"," "," ""#,
    );
    let source = format!("file:{}", folder.file("a.csv", text));
    let found = perfhive(["workset", "web", "--json", "-s", &source]).json();
    let found: Vec<_> = found.iter().map(|one| one["pid"].as_u64()).collect();
    assert_eq!(found, [Some(10), Some(11), Some(12)]);
    let path = |process: &str| format!(r"\Process({process})\Working Set");
    for (process, value) in [
        ("web", Some(100.0)),
        ("web#1", Some(110.0)),
        ("pid:12", Some(120.0)),
        ("db#1", Some(210.0)),
    ] {
        assert_eq!(values(&source, &path(process), &[]), [value], "{process}");
    }
    assert_eq!(values(&source, &path("web#*"), &[]).len(), 3);
}

#[test]
fn logs_that_were_joined_to_one_file_give_no_values_of_other_counters() {
    let folder = Folder::new();
    let log = |path: &str, hour: u32| {
        format!(
            "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"{path}\"\r\n\"11/24/2026 {hour}:00:00.000\",\"{hour}\"\r\n"
        )
    };
    let (first, second) = (log(r"\\A\Memory\Available Bytes", 10), log(r"\\A\System\Threads", 11));
    let again = log(r"\\A\Memory\Available Bytes", 12);
    let values = |file: &str| {
        let source = format!("file:{file}");
        let run = perfhive(["watch", r"\Memory\Available Bytes", "--json", "-s", &source]);
        let value =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["value"].as_f64();
        (run.out.lines().filter_map(value).collect::<Vec<_>>(), run.err)
    };
    let same = folder.file("same.csv", format!("{first}{again}"));
    assert_eq!(values(&same), (vec![10.0, 12.0], String::new()));
    let joined = folder.file("joined.csv", format!("{first}{second}{again}"));
    let binary = [("1.csv", &first), ("2.csv", &second)].map(|(name, text)| {
        let (log, out) = (folder.file(name, text), folder.path().join(format!("{name}.blg")));
        perfhive(["convert", &log, "-o", &out.display().to_string()]).ok();
        std::fs::read(out).unwrap()
    });
    let binary = folder.file("joined.blg", binary.concat());
    for file in [joined, binary] {
        let (values, warning) = values(&file);
        assert_eq!(values, [10.0], "{file}");
        assert!(
            warning.contains("another log begins") && warning.lines().count() == 1,
            "{warning}"
        );
    }
}

/// The first rundll32 ends, and the second one has its number from then on.
#[test]
fn an_instance_has_its_value_in_the_sample_in_which_it_takes_the_number_of_one_that_ended() {
    let Some(path) = log() else { return };
    let folder = Folder::new();
    let out = folder.path().join("out.csv").display().to_string();
    perfhive(["convert", &path, "-o", &out, "-p", r"\Process(rundll32*)\ID Process"]).ok();
    let text = std::fs::read_to_string(&out).unwrap();
    let blank = text.lines().skip(1).filter(|line| line.split(',').nth(2) == Some(r#"" ""#));
    let line = text.lines().find(|line| line.contains(" 19:47:38.599")).unwrap();
    assert!(line.contains(r#""580""#), "{line}");
    assert!(blank.count() > 0);
}

#[cfg(target_os = "linux")]
#[test]
fn samples_that_lack_the_object_of_a_chart_have_their_own_time() {
    let folder = Folder::new();
    let [file, chart] =
        ["a.phr", "a.svg"].map(|name| folder.path().join(name).display().to_string());
    for objects in [&["System"][..], &["System", "Memory"]] {
        let args = ["record", "-o", &file, "-i", "0.05", "-n", "2", "-s", "proc:"];
        perfhive(args.iter().chain(objects)).ok();
    }
    let source = format!("file:{file}");
    perfhive(["plot", "-s", &source, r"\Memory\Available Bytes", "-o", &chart]).ok();
    let text = std::fs::read_to_string(&chart).unwrap();
    assert!(text.contains("UTC") && !text.contains("1601"), "{text}");
}

#[test]
fn each_of_several_files_is_told_of() {
    let folder = Folder::new();
    let text = "\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\",\"\\\\A\\Memory\\Available Bytes\",\"\\\\A\\System\\Processes\"\r\n\
                \"11/24/2026 10:00:01.000\",\"7\",\"8\"\r\n";
    let logs = ["a.csv", "b.csv"].map(|name| folder.file(name, text));
    let rows = perfhive(["info", &logs[0], &logs[1], "--json"]).json();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["source"], format!("file:{}", logs[1]));
    let out = perfhive(["info", &logs[0], &logs[1]]).ok();
    assert_eq!((out.matches("machine   A").count(), out.matches("\n\n").count()), (2, 1), "{out}");
    // One that is no recording spoils nothing of the others.
    let run = perfhive(["info", &folder.file("c.csv", "x"), &logs[0]]);
    assert!(run.out.contains("machine   A"), "{}", run.out);
    assert!(run.fails(3).contains("c.csv"));
    // What dump cannot take apart, it names the commands for.
    let said = perfhive(["dump", &logs[0]]).fails(2);
    let quote = if cfg!(windows) { '"' } else { '\'' };
    let again = format!("perfhive enum -s {quote}file:");
    assert!(said.contains("perfhive info") && said.contains(&again), "{said}");
    // Several paths, each behind an option.
    let out = folder.path().join("out.csv").display().to_string();
    let paths = [r"\Memory\Available Bytes", r"\System\Processes"];
    perfhive(["convert", &logs[0], "-o", &out, "-p", paths[0], "--path", paths[1]]).ok();
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(paths.iter().all(|path| text.contains(path)), "{text}");
}
