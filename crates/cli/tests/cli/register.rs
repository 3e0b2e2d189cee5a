//! `register` and `unregister`.
#![cfg(target_os = "linux")]

use crate::run::{Folder, Run, command, finish};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A folder with an example provider, and with hives that only the test uses.
struct TestHive {
    folder: Folder,
    library: String,
}

const INI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../libraries/examples/c/gauges.ini");

impl TestHive {
    fn new() -> Self {
        let folder = Folder::new();
        let example = Path::new(INI).with_extension("c");
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contract/include");
        let library = folder.path().join("gauges.so");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-I"])
            .arg(include)
            .arg("-o")
            .args([&library, &example])
            .status()
            .expect("a C compiler");
        assert!(status.success());
        let chmod = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(&library, 0o755);
        chmod(folder.path(), 0o755);
        Self { library: library.display().to_string(), folder }
    }

    fn run(&self, args: &[&str]) -> Run {
        finish(command().args(args).env("PERFHIVE_HIVE", self.folder.path().join("hives")))
    }

    fn hive(&self) -> String {
        let hive = self.folder.path().join("hives/system/hive");
        std::fs::read_to_string(hive).unwrap()
    }
}

/// An empty variable counts as not set, and not as the current folder.
#[test]
fn a_variable_that_is_empty_names_no_folder() {
    let place = TestHive::new();
    place.run(&["register", INI, "--library", &place.library, "--system"]).ok();
    let listed = |hive: &str| {
        let mut list = command();
        list.args(["register", "--list"]).current_dir(place.folder.path().join("hives"));
        let home = place.folder.path();
        list.env("HOME", home).env_remove("XDG_CONFIG_HOME").env("PERFHIVE_HIVE", hive);
        finish(&mut list).ok().contains(&place.library)
    };
    assert!(listed(".") && !listed(""));
}

#[test]
fn a_provider_is_registered_listed_and_taken_back() {
    let place = TestHive::new();
    assert_eq!(place.run(&["register", "--list"]).ok(), "Nothing is registered.\n");
    let out = place.run(&["register", INI, "--library", &place.library, "--system"]).ok();
    assert!(out.starts_with("Gauges is registered: names 1848 to 1852, help"), "{out}");
    let hive = place.hive();
    for line in [
        "Collect = \"CollectGauges\"",
        "Open = \"OpenGauges\"",
        "Object List = \"1848\"",
        "1850 = \"Level\"",
        "1850 = \"Füllstand\"",
        "1851 = \"How full it is, in litres.\"",
    ] {
        assert!(hive.lines().any(|other| other == line), "{line} in\n{hive}");
    }
    // Registered again, with one new setting: the library stays known.
    let out = place.run(&["register", INI, "--system"]).ok();
    assert!(out.starts_with("Gauges was already registered like this"), "{out}");
    let linkage = ["--linkage", "one", "--linkage", "two", "--collect-timeout", "1.5"];
    let linkage = [&linkage[..], &["--memory-limit", "256", "--processes"]].concat();
    let out = place.run(&[&["register", INI, "--system"], &linkage[..]].concat()).ok();
    assert!(out.starts_with("Gauges is updated: names 1848 to 1852"), "{out}");

    let list = place.run(&["register", "--list", "--json"]).json();
    assert_eq!(list.len(), 1);
    let expected: [(&str, serde_json::Value); 9] = [
        ("name", "Gauges".into()),
        ("scope", "system".into()),
        ("collect", "CollectGauges".into()),
        ("linkage", "one\ntwo".into()),
        ("objects", "1848".into()),
        ("last_help", 1853.into()),
        ("collect_timeout_ms", 1500.into()),
        ("memory_limit", (256u32 << 20).into()),
        ("start_processes", true.into()),
    ];
    for (key, value) in expected {
        assert_eq!(list[0][key], value, "{key}");
    }
    let table = place.run(&["register", "--list"]).ok();
    assert!(table.contains("1848-1852"), "{table}");

    // In the other scope it is not registered; the message says where it is.
    let message = place.run(&["unregister", "gauges", "--user"]).fails(1);
    assert!(message.contains("give --system"), "{message}");
    let out = place.run(&["unregister", "gauges", "--system"]).ok();
    assert!(out.starts_with("Gauges is no longer registered"), "{out}");
    assert!(!place.hive().contains("Gauges"));
    let message = place.run(&["unregister", "gauges", "--system"]).fails(1);
    assert!(message.contains("gauges is not registered"), "{message}");
    assert!(message.contains("perfhive register --list shows"), "{message}");
}

#[test]
fn refused_registration_changes_nothing() {
    let place = TestHive::new();
    let library = place.library.as_str();
    let ini = |text: &str| place.folder.file("x.ini", text);
    for (args, code, needle) in [
        (vec!["register"], 2, "required"),
        (vec!["register", INI], 2, "--library FILE"),
        (vec!["register", INI, "-l", "/none/x.so"], 3, "/none/x.so cannot be read"),
        (vec!["register", INI, "-l", INI], 2, "is not a library"),
        (vec!["register", INI, "-l", library, "--collect", "X"], 2, "there are"),
        (vec!["register", "/none.ini", "-l", library], 3, "/none.ini: cannot be read"),
        (vec!["register", "/none.ini"], 3, "name the .ini or .man file that describes"),
        (vec!["register", "/"], 3, "name the .ini or .man file that describes"),
        (vec!["register", INI, "--list"], 2, "cannot be used"),
        (vec!["register", INI, "--encoding", "x"], 2, "is not an encoding"),
        (vec!["register", &ini("[info]\nsymbolfile=x\n[text]\n"), "-l", library], 3, "drivername"),
    ] {
        let run = place.run(&args);
        assert_eq!(run.code, Some(code), "{args:?} {}", run.err);
        assert!(run.err.contains(needle), "{args:?} {}", run.err);
    }
    // Other users could change the library and so run code in a reader.
    std::fs::set_permissions(library, std::fs::Permissions::from_mode(0o777)).unwrap();
    let message = place.run(&["register", INI, "-l", library]).fails(3);
    assert!(message.contains("chmod go-w"), "{message}");
    assert_eq!(place.run(&["register", "--list", "--json"]).json().len(), 0);
}

/// All users can read the machine's hive, whatever the umask of the program that wrote it.
#[test]
fn machine_hive_is_readable_for_all_users() {
    let place = TestHive::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"umask 077; exec "$0" "$@""#, env!("CARGO_BIN_EXE_perfhive")]);
    shell.args(["register", INI, "--library", &place.library, "--system"]);
    finish(shell.env("PERFHIVE_HIVE", place.folder.path().join("hives"))).ok();
    let mode = |path: &str| {
        std::fs::metadata(place.folder.path().join(path)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((mode("hives/system"), mode("hives/system/hive")), (0o755, 0o644));
}

/// A damaged hive, or a damaged part of a hive, does not hide the rest.
#[test]
fn damaged_hive_does_not_hide_the_other() {
    let place = TestHive::new();
    place.run(&["register", INI, "-l", &place.library, "--system"]).ok();
    place.run(&["register", INI, "-l", &place.library, "--user", "-n"]).ok();
    let user = place.folder.path().join("hives/user");
    std::fs::create_dir(&user).unwrap();
    std::fs::write(
        user.join("hive"),
        "perfhive hive 1\n[Services\\X\\Performance]\nnothing\n[End]\n",
    )
    .unwrap();
    let chmod = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&user, mode).unwrap();
    };
    chmod(0o755);
    let list = place.run(&["register", "--list", "--json"]);
    assert!(list.err.contains("user/hive:3: is not of the form NAME = VALUE"), "{}", list.err);
    assert_eq!((list.code, list.json().len()), (Some(0), 1));
    let message = place.run(&["register", INI, "-l", &place.library, "--user"]).fails(3);
    assert!(message.contains("is damaged") && message.contains("line 2"), "{message}");
    chmod(0o777);
    let list = place.run(&["register", "--list", "--json"]);
    assert!(list.one_line().contains("chmod go-w"), "{}", list.err);
    assert_eq!((list.code, list.json().len()), (Some(3), 1));
}

/// `list` reports an unreadable hive in one line, and lists everything else.
#[test]
fn list_reports_an_unreadable_hive_in_one_line() {
    let place = TestHive::new();
    place.run(&["register", INI, "-l", &place.library, "--system"]).ok();
    let user = place.folder.path().join("hives/user");
    let told = |needle: &str| {
        let list = place.run(&["list"]);
        assert_eq!(list.code, Some(0), "{}", list.err);
        assert!(list.one_line().contains(needle), "{needle}: {}", list.err);
        assert!(list.out.contains("System") && list.out.contains("Gauges"), "{}", list.out);
        assert_eq!(place.run(&["list", "--quiet"]).err, "");
        // A command that cannot find an object reports it, too.
        let get = place.run(&["get", r"\Nothing of the kind\x"]);
        assert_eq!(get.code, Some(2));
        assert!(get.err.contains(needle), "{needle}: {}", get.err);
    };
    std::fs::write(&user, "").unwrap();
    told("is a file, not a folder");
    std::fs::remove_file(&user).unwrap();
    std::fs::create_dir_all(user.join("hive")).unwrap();
    told("is a folder, not a file");
    std::fs::remove_dir(user.join("hive")).unwrap();
    std::fs::write(user.join("hive"), "broken\n").unwrap();
    told("move it away");
    std::fs::set_permissions(&user, std::fs::Permissions::from_mode(0o777)).unwrap();
    told("chmod go-w");
}

/// A published category cannot take a registered name, even before the library was
/// asked.
#[cfg(target_endian = "little")]
#[test]
fn published_category_does_not_shadow_a_registered_name() {
    use perfhive::CounterType;
    use perfhive::publish::{CounterDeclaration, PublishedCategory};

    let place = TestHive::new();
    place.run(&["register", INI, "-l", &place.library, "--system"]).ok();
    let counters = Folder::new();
    let category = PublishedCategory::builder("gauges")
        .instances(1)
        .counter(CounterDeclaration::new("Level", CounterType::PERF_COUNTER_LARGE_RAWCOUNT))
        .folder(counters.path())
        .publish()
        .unwrap();
    category.instance("boiler").unwrap().counter("Level").unwrap().set(666);
    let run = |args: &[&str]| {
        let mut command = command();
        command.env("PERFHIVE_HIVE", place.folder.path().join("hives"));
        finish(command.env("PERFHIVE_COUNTERS", counters.path()).args(args))
    };
    for _ in 0..2 {
        let rows = run(&["get", "--json", r"\Gauges(boiler)\Level"]).json();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["value"], 70);
    }
    let providers = run(&["providers", "--json"]).ok();
    assert!(providers.contains("gauges is an object of this machine or registered"), "{providers}");
    // When the provider is unregistered, the published category has the name.
    place.run(&["unregister", "Gauges", "--system"]).ok();
    let rows = run(&["get", "--json", r"\Gauges(boiler)\Level"]).json();
    assert_eq!(rows[0]["value"], 666);
}

/// A dry run fails where registering would fail.
#[test]
fn dry_run_fails_like_the_registration() {
    let place = TestHive::new();
    let library = place.library.as_str();
    let ini = |name: &str| {
        let text = format!("[info]\ndrivername={name}\nsymbolfile=x.h\n[text]\nA_009_NAME=a\n");
        place.folder.file("x.h", "#define A 0\n");
        place.folder.file("x.ini", text)
    };
    let both = |args: &[&str], code: i32, needle: &str| {
        let dry = place.run(&[&["register", "-n"], args].concat());
        let wet = place.run(&[&["register"], args].concat());
        assert_eq!((dry.code, &dry.err), (Some(code), &wet.err), "{args:?}");
        assert_eq!(wet.code, Some(code), "{args:?}");
        assert!(wet.err.contains(needle), "{args:?} {}", wet.err);
    };
    both(&[&ini(r"..\..\x"), "-l", library], 2, "cannot be the name of a provider");
    both(&[&ini("x"), "-l", "/none.so"], 3, "cannot be read");
    both(&[INI, "-l", library, "--collect", "X"], 2, "exports no function X");
    // Without a library everything else is checked.
    let dry = place.run(&["register", "--quiet", "-n", &ini(r"..\..\x")]).fails(2);
    assert!(dry.contains("cannot be the name of a provider"), "{dry}");
    std::fs::set_permissions(library, std::fs::Permissions::from_mode(0o777)).unwrap();
    both(&[INI, "-l", library], 3, "chmod go-w");
    assert_eq!(place.run(&["register", "--list", "--json"]).json().len(), 0);
}

/// A reader that is running notices registering and unregistering.
#[test]
fn running_reader_notices_register_and_unregister() {
    let place = TestHive::new();
    // The reader ends by itself, so that the test fails if it never notices.
    let mut reader = command()
        .args(["watch", r"\*(*)\L*", "-i", "0.2", "-n", "150", "--json", "--quiet"])
        .env("PERFHIVE_HIVE", place.folder.path().join("hives"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    let mut rows = lines.map(|line| {
        let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        (row["time"].to_string(), row["path"].to_string(), row["value"].as_f64())
    });
    let (first, ..) = rows.next().expect("a row");
    assert!(place.run(&["list", "Gauges"]).code == Some(2));

    place.run(&["register", INI, "-l", &place.library, "--system"]).ok();
    let seen = rows.find(|(_, path, _)| path.contains("Gauges(boiler)"));
    let (time, path, value) = seen.expect("the reader sees the provider");
    assert_eq!((path.as_str(), value), (r#""\\Gauges(boiler)\\Level""#, Some(70.0)));
    assert!(time > first);

    // The provider is gone as soon as a whole sample lacks it.
    place.run(&["unregister", "Gauges", "--system"]).ok();
    let (mut sample, mut gauges) = (time, true);
    let gone = rows.any(|(time, path, _)| {
        let ended = time != sample;
        let gone = ended && !gauges;
        if ended {
            (sample, gauges) = (time, false);
        }
        gauges |= path.contains("Gauges");
        gone
    });
    assert!(gone, "the reader sees that the provider is gone");
    drop(rows);
    reader.kill().unwrap();
    reader.wait().unwrap();
}

#[test]
fn a_dry_run_shows_what_a_file_says() {
    let place = TestHive::new();
    let table = place.run(&["register", INI, "--dry-run"]).ok();
    let row = |table: &str, words: [&str; 4]| {
        table.lines().any(|line| {
            let mut rest = line;
            words.iter().all(|word| match rest.split_once(word) {
                Some((_, behind)) => {
                    rest = behind;
                    true
                }
                None => false,
            })
        })
    };
    assert!(row(&table, ["0", "object", "Gauges", "in an example only"]), "{table}");
    assert!(row(&table, ["2", "counter", "Level", "in litres"]), "{table}");
    let german = place.run(&["register", INI, "-n", "--language", "de"]).ok();
    assert!(row(&german, ["2", "counter", "Füllstand", "in Litern"]), "{german}");
    let rows = place.run(&["register", INI, "-n", "--json"]).json();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[4]["name"], "Level");
    assert_eq!((&rows[4]["language"], &rows[4]["offset"]), (&"009".into(), &2.into()));
    assert_eq!(place.run(&["register", "--list"]).ok(), "Nothing is registered.\n");
}
