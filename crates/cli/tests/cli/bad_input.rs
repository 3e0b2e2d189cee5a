//! Bad input: each case gives one line that says what is wrong, and an exit code.

use crate::blocks::{TITLES, recording, sample, sample_of};
use crate::run::{Folder, Run, perfhive};

fn run(args: &[&str]) -> Run {
    let folder = Folder::new();
    let mut all = recording(&folder);
    all.extend(args.iter().map(ToString::to_string));
    perfhive(all)
}

#[track_caller]
fn usage(args: &[&str], says: &str) {
    let run = run(args);
    assert_eq!(run.out, "", "{args:?}");
    let line = run.fails(2);
    assert!(line.contains(says), "{args:?}: {line}");
}

#[test]
fn malformed_paths_are_usage_errors() {
    for (path, says) in [
        ("", "a path is empty"),
        ("Process", "names no counter"),
        ("memry", "neither a path nor a short name; did you mean"),
        (r"\", "the object is empty"),
        (r"\\", "the object is missing behind the machine"),
        (r"\\HOST", "the object is missing behind the machine"),
        (r"\\HOST\", "the object is empty"),
        (r"\\\Memory\Available Bytes", "the machine is empty"),
        (r"\Memory", "names no counter"),
        (r"\Memory\", "names no counter"),
        (r"\Nix", "the counter is missing"),
        (r"\()\ID Process", "the object is empty"),
        (r"\Process()\ID Process", "the instance is empty"),
        (r"\Process(bash\ID Process", "the parenthesis is never closed"),
        (r"\Process(ba(sh)\ID Process", "the parenthesis is never closed"),
        (r"\Processbash)\ID Process", "a closing parenthesis without an opening one"),
        (r"\Process(bash))\ID Process", "a backslash must follow the parenthesis"),
        (r"\Process(bash)ID Process", "a backslash must follow the parenthesis"),
        (r"\Process(bash)\ID\Process", "a backslash in the counter's name"),
        (r"\Process(bash#99999999999)\ID Process", "the number behind # is too high"),
        ("\\Memory\\Available\nBytes", "has no counter"),
    ] {
        usage(&["get", path], says);
        usage(&["watch", path], says);
    }
}

/// A file is often given where a source should be named.
#[test]
fn files_in_other_places_are_told_from_names() {
    let folder = Folder::new();
    let file = folder.file("day.csv", "");
    let line = perfhive([&file]).fails(2);
    assert!(line.contains("is a file, not a command; perfhive view "), "{line}");
    let line = perfhive(["day.blg"]).fails(2);
    assert!(line.contains("perfhive report day.blg"), "{line}");
    let line = perfhive(["cpu"]).fails(2);
    assert_eq!(line, "cpu is a counter, not a command; perfhive get cpu reads it");
    for command in ["list", "enum"] {
        usage(&[command, &file], "day.csv names a file, not an object; -s ");
        // Already an address.
        usage(&[command, "file:no.csv"], "not an object; -s 'file:no.csv' reads it");
    }
}

#[test]
fn names_and_ids_that_no_process_has_are_told_beside_those_that_are_there() {
    let run = run(&["ps", "BASH", "nosuch", "-p", "102,7", "-o", "pid"]);
    assert_eq!(run.code, Some(1));
    assert!(["100\n", "101\n", "102\n"].iter().all(|pid| run.out.contains(pid)), "{}", run.out);
    let said: Vec<&str> = run.err.lines().collect();
    let expected = [
        "perfhive: no process is called \"nosuch\"; perfhive ps lists all",
        "perfhive: no process has the ID 7; perfhive ps lists all",
    ];
    assert_eq!(said, expected);
    // Idle is left out, but there.
    let run = self::run(&["ps", "idle", "bash", "--no-idle", "-o", "pid"]);
    assert!(run.ok().contains("101"));
}

/// People know programs of Windows by the names of their files.
#[test]
fn the_name_of_a_program_s_file_means_its_processes() {
    let both = run(&["ps", "bash", "-o", "pid"]).ok();
    assert_eq!(run(&["ps", "Bash.EXE", "-o", "pid"]).ok(), both);
    let line = run(&["ps", "nosuch.exe"]).fails(1);
    assert_eq!(line, "no process is called \"nosuch.exe\"; perfhive ps lists all");
    run(&["ps", "*.exe"]).fails(1);
}

/// Backslashes and wildcards in the names of instances are no faults.
#[test]
fn odd_instance_names_are_valid() {
    for path in
        [r"\Process(a^*b)\ID Process", r"\Process(a\b)\ID Process", r"\Process(^(x)\ID Process"]
    {
        let line = run(&["get", path]).fails(1);
        assert!(line.contains("has no instance"), "{path}: {line}");
    }
    run(&["get", r"\Process(b*h)\ID Process"]).ok();
    run(&["get", r"\Thread(bash/*)\ID Thread"]).ok();
}

#[test]
fn unknown_names_suggest_similar_ones() {
    usage(&["get", r"\Memroy\Available Bytes"], r#"no object "Memroy"; did you mean "Memory"?"#);
    usage(&["get", r"\Memory\Available Byte"], r#"did you mean "Available Bytes""#);
    for (typed, meant) in [
        (r"\Memory\Available Byte", r"\Memory\Available Bytes"),
        (r"\Memroy\Available Bytes", r"\Memory\Available Bytes"),
        (r"\Process\ID Process", r"\Process(*)\ID Process"),
        (r"\Memory(x)\Available Bytes", r"\Memory\Available Bytes"),
    ] {
        usage(&["get", typed], &format!("rite '{meant}'"));
    }
    usage(&["get", r"\xyzzy\x"], "perfhive list shows what there is");
    usage(&["get", r"\Memory\xyzzy"], "perfhive list \"Memory\" shows what there is");
    usage(&["get", r"\Process\ID Process"], "has instances: name one");
    usage(&["get", r"\Memory(x)\Available Bytes"], "has no instances");
    usage(
        &["get", r"\\OTHER\Memory\Available Bytes"],
        "no source for machine \"OTHER\" (known: HOST); --source says which machine is read",
    );
    usage(&["list", "Memroy"], r#"did you mean "Memory"?"#);
    usage(&["list", ""], "no object");
    usage(&["enum", "Processes"], r#"did you mean "Process"?"#);
    usage(&["enum", r"\Process(bash)\ID Process"], r"an object such as Process is expected");
    usage(&["enum", "memory", "proces"], "no object \"proces\"");
    usage(&["explain", "Memroy"], r#"did you mean "Memory"?"#);
    usage(&["explain", r"\Memory\Avail"], r#"did you mean "Available Bytes"?"#);
    usage(&["explain", r"\Memory(\x"], "the parenthesis is never closed");
    usage(&["ps", "-o", "pid,nmae"], r#"did you mean "name"?"#);
    usage(&["ps", "-o", "pid,,name"], "a column's name is empty");
    usage(&["providers"], "is not made of providers; --source local: is this machine");
    usage(&["ps", "-o", "threads"], "Process has no counter \"Thread Count\"");
    usage(&["ps", "--sort", "-"], "a column's name is empty");
    usage(&["ps", "-o", "pid,name,pid"], "the column pid is given twice");
    let twice = "the column \"ID Process\" is given twice: it is pid, too";
    usage(&["ps", "-o", "pid,ID Process"], twice);
    usage(&["ps", "-o", "ID Process,784"], "the column ID Process is given twice");
    usage(&["get", "", r"\System\Processes"], "a path is empty");
    usage(&["man", "gte"], "did you mean \"get\"?");
    usage(&["man", "experiment", "rn"], "did you mean \"run\"?");

    let run = run(&["get", r"\Process(bahs)\ID Process", r"\System\Processes"]);
    assert!(run.out.contains("no such instance") && run.out.contains("4\n"), "{}", run.out);
    let line = run.fails(1);
    assert!(
        line.starts_with(r#"\Process(bahs)\ID Process: object "Process" has no instance "bahs""#)
    );
    assert!(line.ends_with(r"? Write '\Process(bash)\ID Process'"), "{line}");
}

#[test]
fn every_wrong_path_is_reported() {
    let run = run(&["get", r"\a\b", r"\Memory\Available Bytes", r"\c"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert_eq!(run.err.lines().count(), 2, "{}", run.err);
    assert!(run.err.lines().all(|line| line.starts_with("perfhive: ")), "{}", run.err);
}

/// Several errors are all reported.
#[test]
fn errors_of_different_kinds_are_all_reported() {
    for (args, code, needles) in [
        (&["explain", r"\Nix(", "Memry", r"\Memory\Nix"][..], 2, &["Nix(", "Memry", "Nix"][..]),
        (&["enum", "Memry", "Prcess", "Memory"], 2, &["Memry", "Prcess"]),
        (&["get", r"\Nix(", r"\Memry\x", r"\Memory\Nix"], 2, &["Nix(", "Memry", "Nix"]),
    ] {
        let run = run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(code), ""), "{args:?}");
        assert_eq!(run.err.lines().count(), needles.len(), "{args:?} {}", run.err);
        for (line, needle) in run.err.lines().zip(needles) {
            assert!(line.contains(needle), "{args:?} {}", run.err);
        }
    }
    let folder = Folder::new();
    folder.file("sample.bin", sample(0));
    let missing = format!("file:{}/smple.bin", folder.path().display());
    let needles = &["never closed", "a path begins with a backslash"][..];
    for command in ["get", "watch", "measure"] {
        let run = perfhive([command, "--source", &missing, r"\Nix(", "Nix"]);
        assert_eq!(run.code, Some(3), "{}", run.err);
        assert_eq!(run.err.lines().count(), needles.len() + 1, "{}", run.err);
        for needle in [needles, &["no such file in", "there is sample.bin"]].concat() {
            assert!(run.err.contains(needle), "{needle}: {}", run.err);
        }
    }
}

/// A pipe is refused, since the command would wait until something is written into it.
#[cfg(unix)]
#[test]
fn pipes_are_refused_as_files() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let block = folder.file("sample.bin", sample(0));
    let source = format!("file:{pipe}");
    let good = format!("file:{block}");
    for args in [
        &["dump", &pipe][..],
        &["get", "-s", &source, r"\4\24"],
        &["dump", &block, "--titles", &pipe],
        &["list", "-s", &good, "--titles", &pipe],
    ] {
        let line = perfhive(args).fails(3);
        assert!(line.contains("pipe: is not a regular file"), "{args:?} {line}");
    }
}

#[test]
fn workset_of_an_unknown_name_fails() {
    assert_eq!(
        run(&["workset", "nobody"]).fails(1),
        "no process is called \"nobody\"; perfhive ps lists the processes"
    );
    assert_eq!(
        run(&["workset", "bahs"]).fails(1),
        "no process is called \"bahs\"; did you mean \"bash\"?"
    );
    // _Total is the sum of processes, and no process.
    run(&["workset", "_Total"]).fails(1);
    // A process without a working set is listed without a value.
    let run = run(&["workset", "quiet"]);
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    assert!(run.out.ends_with("\n\nWorking set: not available here  (PID 102)\n"), "{}", run.out);
}

#[test]
fn wrong_options_are_usage_errors() {
    for (args, says) in [
        (&["list", "--frmat", "json"][..], "a similar argument exists: '--format'"),
        (&["list", "--csv"], "unexpected argument '--csv' found; it is --format csv; see"),
        (&["lits"], "a similar subcommand exists: 'list'"),
        (&["get"], "<PATH>"),
        (&["get", "-i", "0", "x"], "at least a millisecond"),
        (&["get", "-i", "soon", "x"], "expected seconds"),
        (&["watch", "-n", "0"], "expected a whole number from 1 on"),
        (&["get", "--top", "0", "cpu"], "expected a whole number from 1 on"),
        (&["get", "--sort", "+", "cpu"], "expected value, name, source"),
        (&["get", "--bear", "cpu"], "similar argument exists: '--bare'"),
        (&["watch", "-n", "many"], "expected a whole number"),
        (&["get", "-n", "3", "cpu"], "perfhive watch -n N takes N samples"),
        (&["get", "-sc", "3", "cpu"], "typeperf's -sc COUNT is -n COUNT here"),
        (&["list", "--format", "xml"], "possible values"),
        (&["list", "--json", "--format", "csv"], "cannot be used with"),
        (&["list", "--language", "klingon"], "not a language"),
        (&["--source", "http://x", "list"], "expected local: for this machine, "),
        (
            &["--source", "file:", "list"],
            "expected file:A.bin,B.bin or file:FOLDER for recorded data blocks",
        ),
        (&["completions", "tcsh"], "possible values"),
    ] {
        let run = perfhive(args);
        assert_eq!(run.out, "");
        let line = run.fails(2);
        assert!(line.contains(says), "{args:?}: {line}");
        assert!(line.contains("--help"), "{args:?}: {line}");
    }
    usage(&["list", "--language", "de"], "has no names in German; it has English");
}

#[track_caller]
fn bad_source(source: &str, says: &str) {
    for args in
        [&["list"][..], &["get", r"\Memory\Available Bytes"], &["enum"], &["ps"], &["watch"]]
    {
        let line = perfhive([&["--source", source], args].concat()).fails(3);
        assert!(line.contains(says), "{source} {args:?}: {line}");
    }
}

#[test]
fn unreadable_sources_exit_with_3() {
    let folder = Folder::new();
    let here = folder.path().display().to_string();
    bad_source(&format!("file:{here}"), "is a directory");
    bad_source(
        &format!("file:{here}/nowhere.bin"),
        &format!("no such file in {here}; a raw data block is what `perfhive capture FOLDER`"),
    );
    bad_source(&format!("file:{}", folder.file("empty.bin", "")), "the file is empty");
    bad_source(
        &format!("file:{}", folder.file("text.bin", "not a block at all, ".repeat(9))),
        "not performance data but another text",
    );
    for (name, contents, told) in [
        ("a.csv", &b"time,cpu\n10:00,7\n"[..], "\"(PDH-CSV 4.0)\""),
        ("b.csv", b"", "the file is empty"),
        ("c.phr", b"", "the file is empty"),
        (
            "d.csv",
            b"\"(PDH-CSV 4.0) (Coordinated Universal Time)(0)\";\"\\\\A\\B\\C\"\n",
            "separated by semicolons",
        ),
        ("e.blg", b"PK\x03\x04\x14\x00", "a ZIP archive; unpack it"),
        ("f.phr", b"\x00\x01\x02\x03", "does not begin as a recording does"),
    ] {
        bad_source(&format!("file:{}", folder.file(name, contents)), told);
    }
    let good = folder.file("good.bin", sample(0));
    bad_source(&format!("file:{good},{here}/nowhere.bin"), "no such file");
    let other = folder.file("other.bin", sample_of("OTHER", 10));
    bad_source(&format!("file:{good},{other}"), "samples must be of one machine");
    let mut clock = sample(10);
    clock[64] = 1;
    let clock = folder.file("clock.bin", clock);
    bad_source(&format!("file:{good},{clock}"), "these are not samples of one machine");

    let nothing = Folder::new();
    let line = perfhive(["dump", &nothing.path().display().to_string()]).fails(3);
    assert!(line.contains("has no data block"), "{line}");
    assert!(perfhive(["dump", &format!("{here}/x")]).fails(3).contains("no such file"));
    assert!(perfhive(["dump", &folder.file("nil.bin", "")]).fails(3).contains("the file is empty"));
    let source = format!("file:{good}");
    let titles = |file: &str| perfhive(["list", "--source", &source, "--titles", file]).fails(3);
    assert!(titles(&here).contains("is a directory"));
    let line = titles(&folder.path().join("sub/x").display().to_string());
    assert!(line.contains("no such file: there is no folder"), "{line}");
    let line = titles(&format!("{here}/names"));
    assert!(line.contains("a title list has an index and a name in turn"), "{line}");
}

#[cfg(unix)]
#[test]
fn damaged_records_of_an_experiment_are_called_so() {
    let folder = Folder::new();
    for (name, text, says) in [
        ("a.jsonl", "", "is empty"),
        ("b.jsonl", "\u{0}\u{0}\n{\"kind\": \"end\"}\n", "first line is damaged"),
        ("c.txt", "{\"kind\": \"experiment\", \"vers\n", "first line is damaged"),
        ("d.jsonl", "{\"kind\": \"exper", "first line is not complete"),
    ] {
        let file = folder.file(name, text);
        bad_source(&format!("file:{file}"), says);
        let line = perfhive(["report", &file]).fails(3);
        assert!(line.contains(says), "{line}");
    }
    // An experiment without an event may have just begun.
    let text = "{\"kind\": \"experiment\", \"version\": 1}\n";
    bad_source(&format!("file:{}", folder.file("begun.jsonl", text)), "no event so far");
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_exits_with_3() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let file = folder.file("secret.bin", sample(0));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).expect("chmod");
    if std::fs::read(&file).is_ok() {
        eprintln!("this user may read everything, the test of unreadable files is skipped");
        return;
    }
    bad_source(&format!("file:{file}"), "permission denied");
}

/// Changes of the header that make a block unreadable: the error gives the reason.
#[test]
fn a_block_with_a_bad_header_fails_with_the_reason() {
    type Change<'a> = (&'a str, &'a dyn Fn(&mut Vec<u8>));
    let changes: &[Change<'_>] = &[
        ("the data ends before", &|block| block.truncate(87)),
        ("the data ends before", &|block| block.truncate(500)),
        ("not performance data", &|block| block[0] = b'X'),
        ("big-endian", &|block| block[8] = 0),
        ("only version 1", &|block| block[12] = 2),
        ("only version 1", &|block| block[16] = 9),
        ("a length is smaller", &|block| block[24..28].fill(0)),
        ("a length points past", &|block| block[24..28].fill(0xff)),
    ];
    let folder = Folder::new();
    for (number, (says, change)) in changes.iter().enumerate() {
        let mut block = sample(0);
        change(&mut block);
        let file = folder.file(&format!("{number}.bin"), block);
        bad_source(&format!("file:{file}"), says);
        let run = perfhive(["dump", &file]);
        assert!(run.out.starts_with("PERF_DATA_BLOCK"), "{}", run.out);
        assert!(run.fails(3).contains(says));
    }
}

/// The commands about processes report a damaged Process object.
#[test]
fn a_damaged_process_object_fails_ps_and_workset_and_warns_list() {
    let folder = Folder::new();
    let titles = folder.file("titles.txt", TITLES);
    let mut block = sample(0);
    let index = 230u32.to_le_bytes();
    let at = (0..block.len() - 16).step_by(4).find(|at| block[at + 12..at + 16] == index);
    let header = at.expect("the object Process") + 8;
    block[header..header + 4].copy_from_slice(&7u32.to_le_bytes());
    let source = format!("file:{}", folder.file("block.bin", block));
    let named = ["--source", &source, "--titles", &titles];
    for with in [&named[..], &named[..2]] {
        for command in [&["ps"][..], &["workset", "bash"]] {
            let line = perfhive([with, command].concat()).fails(3);
            assert!(line.contains("object 230: "), "{command:?}: {line}");
        }
        let list = perfhive([with, &["list"]].concat());
        assert_eq!(list.code, Some(0));
        assert!(list.one_line().contains("object 230: "), "{}", list.err);
    }
}

/// If one object is damaged, the others are read, and there is a warning.
#[test]
fn blocks_with_a_damaged_object() {
    let folder = Folder::new();
    let titles = folder.file("titles.txt", TITLES);
    let memory = 0x138;
    for (number, (field, value)) in
        [(4, 8u32), (4, u32::MAX), (8, 1), (32, 1000), (40, 0xffff_fff0), (64, 0), (64, u32::MAX)]
            .into_iter()
            .enumerate()
    {
        let mut block = sample(0);
        assert_eq!(block[memory + 12], 4, "the object Memory");
        block[memory + field..memory + field + 4].copy_from_slice(&value.to_le_bytes());
        let source = format!("file:{}", folder.file(&format!("{number}.bin"), block));
        let run =
            |args: &[&str]| perfhive([&["--source", &source, "--titles", &titles], args].concat());

        let others = run(&["get", "--bare", r"\System\Processes"]);
        assert_eq!((others.code, others.out.as_str()), (Some(0), "4\n"), "{}", others.err);
        let enumerated = run(&["enum"]);
        assert_eq!(enumerated.code, Some(0));
        assert!(enumerated.out.contains("\n\nObject count: 4\n"), "{}", enumerated.out);
        let warning = enumerated.one_line();
        assert!(warning.starts_with("warning: ") && warning.contains("object 4: "), "{warning}");
        assert_eq!(run(&["enum", "-q"]).err, "");

        for args in
            [&["get", r"\Memory\Available Bytes"][..], &["list", "memory"], &["explain", "Memory"]]
        {
            let line = run(args).fails(3);
            assert!(line.contains("object 4: "), "{args:?}: {line}");
        }
        let dump = run(&["dump", source.trim_start_matches("file:")]);
        assert!(dump.out.contains("Odd Things"), "{field}: {}", dump.out);
        dump.fails(3);
    }
}

#[test]
fn title_lists_with_faults() {
    let folder = Folder::new();
    let block = folder.file("block.bin", sample(0));
    let get = |name: &str, titles: &str, path: &str| {
        let titles = folder.file(name, titles);
        perfhive(["--source", &format!("file:{block}"), "--titles", &titles, "get", "--bare", path])
    };
    // Gaps, empty names and repeated indexes are normal; of repeated indexes the first counts.
    let doubles = "2\nSystem\n\n248\nProcesses\n248\nTwice\n4\n\n24\nAvailable Bytes\n";
    assert_eq!(get("doubles.txt", doubles, r"\System\Processes").ok(), "4\n");
    assert_eq!(get("doubles.txt", doubles, r"\4\Available Bytes").ok(), "8589934592\n");
    // An odd number of strings, or a string in place of an index, gives a warning.
    for (titles, says) in [
        ("2\nSystem\n248\nProcesses\n4", "index 4 has no text"),
        ("2\nSystem\nstray\n248\nProcesses\n", "\"stray\" is not an index"),
    ] {
        let run = get("odd.txt", titles, r"\System\Processes");
        assert_eq!((run.code, run.out.as_str()), (Some(0), "4\n"));
        let line = run.one_line();
        assert!(line.starts_with("warning: ") && line.contains(says), "{line}");
    }
    // Files that are no title lists.
    for (name, titles) in [("empty.txt", ""), ("prose.txt", "no titles\nat all\n")] {
        let line = get(name, titles, r"\2\248").fails(3);
        assert!(line.contains("holds no title list"), "{line}");
    }
}

#[test]
fn too_few_samples() {
    let folder = Folder::new();
    let block = folder.file("block.bin", sample(0));
    let source = format!("file:{block}");
    let run = perfhive(["--source", &source, "get", r"\2\146", r"\2\248"]);
    assert!(run.out.contains("needs two samples") && run.out.contains("4\n"), "{}", run.out);
    let line = run.fails(1);
    assert!(line.contains("the recording has no more than 1 sample"), "{line}");
    // Values that need only one sample are printed.
    perfhive(["--source", &source, "get", r"\2\248"]).ok();
    let ps = perfhive(["--source", &source, "ps", "-o", "pid,cpu"]);
    assert_eq!(ps.code, Some(1));
    assert!(ps.one_line().contains("no more than 1 sample"));
    assert_eq!(perfhive(["--source", &source, "watch", r"\2\248"]).ok().matches("HOST").count(), 1);
}

#[test]
fn watch_without_its_usual_counters_fails() {
    use perfhive::format::{BlockHead, BlockWriter};
    let folder = Folder::new();
    let mut block = BlockWriter::new();
    block.start(&BlockHead { system_name: "BARE", ..BlockHead::default() });
    let file = folder.file("bare.bin", block.finish());
    let source = format!("file:{file}");
    let line = perfhive(["--source", &source, "watch"]).fails(2);
    assert!(line.contains("name some paths"), "{line}");
    assert!(perfhive(["--source", &source, "ps"]).fails(2).contains("no object \"Process\""));
    assert_eq!(perfhive(["--source", &source, "list", "--json"]).ok(), "[]\n");
    assert_eq!(
        perfhive(["--source", &source, "enum"]).ok(),
        "Object count: 0\nSystem name: BARE\n"
    );
}

/// Messages escape control characters in names.
#[test]
fn messages_are_escaped() {
    let line = run(&["get", "\\Memory\x1b[2J\n\\x"]).fails(2);
    assert!(!line.contains('\x1b'), "{line:?}");
    let line = run(&["workset", "\x1b[2J"]).fails(1);
    assert!(!line.contains('\x1b'), "{line:?}");
    let line = perfhive(["--source", "file:/nowhere/\x1b[2J\n", "list"]).fails(3);
    assert!(line.contains("\\x1b[2J\\n"), "{line:?}");
}

#[test]
fn separators_that_a_shell_took_are_found_again() {
    for (typed, path) in [
        ("MemoryAvailable Bytes", r"\Memory\Available Bytes"),
        ("SystemContext Switches/sec", r"\System\Context Switches/sec"),
        ("Process(bash)ID Process", r"\Process(bash)\ID Process"),
    ] {
        let out = run(&["get", typed]).ok();
        assert!(out.contains(path), "{typed}: {out}");
    }
    usage(&["get", "MemoryAvailable"], "neither a path nor a short name");
    let run = run(&["get", "MemoryAvailable", "Bytes", r"\System\Processes"]);
    assert!(run.fails(2).ends_with(r"write '\Memory\Available Bytes'"));
}

/// Shortening a name took the square of its length, and the machine's name is in each path.
#[test]
fn names_of_millions_of_characters_are_shortened_at_once() {
    let folder = Folder::new();
    let log = |machine: &str, instance: &str| {
        let row = "\"11/27/2026 10:00:00.000\",\"1\"\r\n";
        format!(
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\{machine}\\Process({instance})\\Thread Count\"\r\n{row}"
        )
    };
    let long = "a".repeat(1_500_000);
    for text in [log(&long, "x"), log("A", &long)] {
        let file = folder.file("a.csv", text);
        for command in ["info", "report"] {
            let out = perfhive([command, &file]).ok();
            assert!(out.contains('1'), "{command}");
        }
    }
    let file = folder.file("a.csv", log(&long, "x"));
    let machine = &perfhive(["info", &file, "--json"]).json()[0]["machine"];
    assert!(machine.as_str().unwrap().starts_with("aaa"));
}
