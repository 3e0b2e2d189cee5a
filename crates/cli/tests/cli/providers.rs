//! Providers in libraries, from the author's check to the values that a reader gets.
#![cfg(target_os = "linux")]

use crate::run::{Folder, Run, command, finish};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const INI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../libraries/examples/c/gauges.ini");
const ZOO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../libraries/tests/libraries/zoo.c");

/// A folder with libraries, and with hives that only the test uses.
struct TestHive(Folder);

impl TestHive {
    fn new() -> Self {
        let folder = Folder::new();
        let chmod = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(folder.path(), 0o755);
        for source in [Path::new(INI).with_extension("c"), ZOO.into()] {
            let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contract/include");
            let library = folder.path().join(source.file_stem().unwrap()).with_extension("so");
            let status = Command::new("cc")
                .args(["-w", "-shared", "-fPIC", "-I"])
                .arg(include)
                .arg("-o")
                .args([&library, &source])
                .status()
                .expect("a C compiler");
            assert!(status.success());
            chmod(&library, 0o755);
        }
        Self(folder)
    }

    fn library(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// The file with the account of the provider in gauges.ini; `None` if there is none.
    fn account(&self) -> Option<PathBuf> {
        let accounts = self.0.path().join("hives/accounts");
        let mut files = std::fs::read_dir(accounts).ok()?.map(|file| file.unwrap().path());
        files.find(|file| file.file_name().unwrap().to_string_lossy().starts_with("Gauges-"))
    }

    /// Ends the pause of the provider, as if it were over.
    fn wait(&self) {
        self.pause_until("");
    }

    /// Lengthens the pause, since the next commands may take long on a busy machine.
    fn lengthen_pause(&self) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        self.pause_until(&format!("not-before {}\n", now.as_millis() + 200_000));
    }

    fn pause_until(&self, line: &str) {
        let file = self.account().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.split_inclusive('\n');
        let lines = lines.map(|old| if old.starts_with("not-before ") { line } else { old });
        std::fs::write(file, lines.collect::<String>()).unwrap();
    }

    fn run(&self, args: &[&str]) -> Run {
        finish(command().args(args).env("PERFHIVE_HIVE", self.0.path().join("hives")))
    }
}

#[test]
fn library_in_c_is_checked_registered_read_disabled_and_enabled() {
    let place = TestHive::new();
    let library = place.library("gauges.so");
    let out = place.run(&["check", &library]).ok();
    assert!(out.contains("gives 50000 (256 bytes)"), "{out}");
    assert!(out.contains("gauges.so is sound; Global is 256 bytes"), "{out}");

    place.run(&["register", INI, "--library", &library]).ok();
    let out = place.run(&["check", "gauges", "--brief"]).ok();
    assert!(out.contains("gauges.so is sound"), "{out}");
    let path = r"\Gauges(*)\Level";
    assert_eq!(place.run(&["get", path, "--bare"]).ok(), "70\n71\n");
    let out = place.run(&["get", r"\Messgeräte(pump)\Füllstand", "--bare"]).ok();
    assert_eq!(out, "71\n");
    let rows = place.run(&["providers", "Gauges", "--json"]).json();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["state"], "open");
    // The collections of earlier commands count as well.
    assert_eq!(rows[0]["collections"], 4);
    assert_eq!(rows[0]["faults"], 0);
    assert_eq!(rows[0]["bytes"], 256);
    assert!(rows[0]["worst_s"].as_f64() >= rows[0]["mean_s"].as_f64());
    place.run(&["register", INI, "--disable"]).ok();
    let rows = place.run(&["providers", "Gauges", "--json"]).json();
    assert_eq!(rows[0]["state"], "disabled");
    let way_out = "is disabled; `perfhive providers --enable \"Gauges\"` enables it";
    assert!(rows[0]["last_fault"].as_str().unwrap().ends_with(way_out), "{rows:?}");
    let rows = place.run(&["providers", "--enable", "gauges", "--json"]).json();
    assert_eq!(rows[0]["state"], "open");
    assert_eq!(place.run(&["get", r"\Gauges(*)\Level", "--bare"]).ok(), "70\n71\n");
    place.run(&["unregister", "Gauges"]).ok();
    let missing = place.run(&["providers", "Gauges"]).fails(1);
    assert!(missing.contains("there is no provider"), "{missing}");
}

/// The program is its own host process under any name, without the PATH.
#[test]
fn renamed_program_is_its_own_host() {
    let place = TestHive::new();
    let library = place.library("gauges.so");
    place.run(&["register", INI, "--library", &library]).ok();
    let renamed = place.0.path().join("ph");
    let own = command();
    std::fs::copy(own.get_program(), &renamed).unwrap();
    let mut renamed = Command::new(renamed);
    renamed.args(["get", r"\Gauges(*)\Level", "--bare"]);
    renamed.env("PERFHIVE_HIVE", place.0.path().join("hives")).env("PATH", "/nonexistent");
    assert_eq!(finish(&mut renamed).ok(), "70\n71\n");
}

#[test]
fn crashing_library_is_reported_and_costs_only_its_own_objects() {
    let place = TestHive::new();
    let library = place.library("zoo.so");
    let run = place.run(&["check", &library, "--linkage", "crashes", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    let rows = run.json();
    let errors: Vec<_> = rows.iter().filter(|row| row["severity"] == "error").collect();
    assert!(errors[0]["message"].as_str().unwrap().contains("signal 11"), "{rows:?}");
    // Verdict and exit code agree: if there are only warnings, readers get the data. On a busy
    // machine any library may have one warning more, that it takes long.
    for (kind, code, verdict) in [
        ("good", 0, "zoo.so is sound"),
        ("!wrong byte count", 0, "zoo.so is sound, with "),
        ("!has nothing", 0, "zoo.so is sound, with "),
        ("!wrong object count", 1, " errors"),
        ("refuses to open", 1, "zoo.so has 1 error."),
    ] {
        let run = place.run(&["check", &library, "--linkage", kind]);
        assert_eq!(run.code, Some(code), "{kind}: {}", run.out);
        assert!(run.out.contains(verdict), "{kind}: {}", run.out);
    }

    let linkage = ["--library", &library, "--linkage", "!crashes"];
    place.run(&[&["register", INI], &linkage[..]].concat()).ok();
    let out = place.run(&["get", r"\System\Processes", "--bare"]).ok();
    assert!(out.trim().parse::<f64>().unwrap() > 0.0);
    let run = place.run(&["providers", "Gauges"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("failed") && run.out.contains("signal 11"), "{}", run.out);
    // A request for all objects reports the missing provider.
    let run = place.run(&["enum"]);
    assert!(run.err.contains("Gauges: crashed with signal 11"), "{}", run.err);
    // A request for an object among its registered names reports it, too.
    let message = place.run(&["get", r"\Gauges(*)\Level"]).fails(3);
    assert!(message.contains("not there at the moment: Gauges: crashed with"), "{message}");
    assert!(place.run(&["get", r"\Gouges(*)\Level"]).fails(2).contains("no object"));
}

/// A hanging library costs requests for other objects nothing; requests for its own
/// objects wait once, and then not again until the pause is over.
#[test]
fn hanging_library_costs_one_wait_and_then_a_pause() {
    let place = TestHive::new();
    let library = place.library("zoo.so");
    let linkage = ["--library", &library, "--linkage", "!never returns"];
    place.run(&[&["register", INI], &linkage[..]].concat()).ok();
    for _ in 0..2 {
        place.run(&["get", r"\System\Processes", "--bare"]).ok();
        place.run(&["watch", r"\System\Processes", "-n", "1"]).ok();
    }
    assert_eq!(place.account(), None, "no request was for its objects");
    let gauges = r"\Gauges(*)\Level";
    let message = place.run(&["get", gauges]).fails(3);
    assert!(message.contains("Gauges: did not say within 2s what it offers"), "{message}");
    place.lengthen_pause();
    // The other requested objects are printed, in order.
    let both = place.run(&["get", r"\System\Processes", gauges, r"\System\Threads", "--json"]);
    assert_eq!((both.code, both.err.as_str()), (Some(1), ""));
    let rows = both.json();
    let status: Vec<_> = rows.iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(status, ["ok", "object-missing", "ok"]);
    assert_eq!((&rows[1]["path"], &rows[1]["object"]), (&gauges.into(), &"Gauges".into()));
    let text = std::fs::read_to_string(place.account().unwrap()).unwrap();
    // The account counts one late answer: the second command did not wait.
    assert!(text.contains("\nlate 1\n"), "{text}");
    let table = place.run(&["get", gauges, r"\System\Processes"]);
    assert!(table.out.contains("it is asked again after a pause"), "{}", table.out);
    let watched = place.run(&["watch", gauges, r"\System\Processes", "-n", "1"]).ok();
    assert!(watched.contains("it is asked again after a pause"), "{watched}");
    // A command that shows no value at all has the exit code 1.
    assert_eq!(place.run(&["watch", gauges, "-n", "1"]).code, Some(1));
    // A wildcard that may match the library's object reports it, whether or not it matches other objects.
    for (pattern, code) in [(r"\Gaug*(*)\*", 3), (r"\Ga*\*", 3)] {
        let message = place.run(&["get", pattern]).fails(code);
        assert!(message.contains("is not there at the moment: Gauges: did"), "{message}");
    }
    let run = place.run(&["get", r"\*s\Processes"]);
    let why = "object \"Gauges\" is not there at the moment: Gauges: did not say";
    assert_eq!(run.err.lines().filter(|line| line.contains(why)).count(), 1, "{}", run.err);
    assert!(!place.run(&["get", r"\Sys*\*"]).err.contains("Gauges"));
    // A mistyped object is still an error, and ends the command.
    let wrong = place.run(&["get", gauges, r"\Sistem\Processes"]);
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(3), ""));
    assert!(wrong.err.contains("no object \"Sistem\""), "{}", wrong.err);
}

/// A library that answers at first and hangs in Collect: the waits of short commands add up.
#[test]
fn library_hanging_in_collect_is_quarantined_after_five_waits() {
    let place = TestHive::new();
    let library = place.library("zoo.so");
    let linkage = ["--library", &library, "--linkage", "never returns"];
    place.run(&[&["register", INI], &linkage[..]].concat()).ok();
    assert!(place.run(&["list"]).ok().contains("Gauges"));
    let index = place.run(&["list", "--json"]).json();
    let index = index.iter().find(|row| row["object"] == "Gauges").unwrap()["index"].clone();
    let path = format!(r"\Gauges(*)\{}", index.as_u64().unwrap() + 2);
    let paths = [&*path, r"\System\Processes", "--json"];
    for count in 1..=5 {
        for text in ["did not come back from Collect in", "will be started again in"] {
            let run = place.run(&[&["get"], &paths[..]].concat());
            assert_eq!(run.code, Some(1));
            let err = run.err.clone();
            let rows = run.json();
            assert_eq!(rows.last().unwrap()["status"], "ok", "{rows:?}");
            let disabled = count == 5 && text.starts_with("will");
            let text = if disabled { "disabled after repeated faults" } else { text };
            assert!(err.contains(text), "{count}: {err}");
            if count < 5 {
                place.lengthen_pause();
            }
        }
        let account = std::fs::read_to_string(place.account().unwrap()).unwrap();
        assert!(account.contains(&format!("\nlate {count}\n")), "{account}");
        place.wait();
    }
    let rows = place.run(&["providers", "Gauges", "-n", "0", "--json"]).json();
    assert_eq!((&rows[0]["state"], &rows[0]["faults"]), (&"quarantined".into(), &5.into()));
}

#[test]
fn library_failing_five_times_is_quarantined_until_enabled() {
    let place = TestHive::new();
    let library = place.library("zoo.so");
    let linkage = ["--library", &library, "--linkage", "!crashes"];
    place.run(&[&["register", INI], &linkage[..]].concat()).ok();
    for count in 1..=5 {
        place.run(&["enum", "Global"]);
        let rows = place.run(&["providers", "Gauges", "-n", "0", "--json"]).json();
        assert_eq!((&rows[0]["faults"], &rows[0]["in_a_row"]), (&count.into(), &count.into()));
        let state = if count < 5 { "failed" } else { "quarantined" };
        assert_eq!(rows[0]["state"], state);
        place.wait();
    }
    let enable = "perfhive providers --enable \"Gauges\" enables it";
    let run = place.run(&["providers", "Gauges"]);
    assert!(run.out.contains("quarantined") && run.out.contains(enable), "{}", run.out);
    let message = place.run(&["get", r"\Gauges(*)\Level"]).fails(3);
    assert!(message.contains("signal 11") && message.ends_with(enable), "{message}");

    let rows = place.run(&["providers", "--enable", "gauges", "--json"]).json();
    assert_eq!((&rows[0]["state"], &rows[0]["faults"]), (&"failed".into(), &6.into()));
    assert!(place.run(&["providers", "--enable", "Gouges"]).fails(1).contains("Gouges"));
    // Registering the provider with --enable does the same.
    let text = std::fs::read_to_string(place.account().unwrap()).unwrap();
    let text = text.replace("quarantined 0", "quarantined 1");
    std::fs::write(place.account().unwrap(), text).unwrap();
    place.wait();
    place.run(&["register", INI, "--enable"]).ok();
    let rows = place.run(&["providers", "Gauges", "--json"]).json();
    assert_eq!((&rows[0]["state"], &rows[0]["faults"]), (&"failed".into(), &7.into()));
    // A new registration starts with a new account.
    place.run(&["unregister", "Gauges"]).ok();
    assert_eq!(place.account(), None);
}

/// A watched provider keeps its name after it was unregistered.
#[test]
fn watched_provider_keeps_its_name_after_unregister() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let place = TestHive::new();
    place.run(&["register", INI, "--library", &place.library("gauges.so"), "-q"]).ok();
    let args = ["watch", r"\Gauges(pump)\Level", "-i", "0.05", "-n", "1000", "--json"];
    let mut watch = command();
    watch.args(args).env("PERFHIVE_HIVE", place.0.path().join("hives"));
    watch.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut watch = watch.spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains(r#""status":"ok""#), "{first}");
    place.run(&["unregister", "Gauges"]).ok();
    let gone = lines.map(Result::unwrap).find(|line| line.contains("object-missing"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let mut said = String::new();
    watch.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let gone = gone.unwrap_or_else(|| panic!("it never went: {said}"));
    for named in
        [r#""path":"\\Gauges(pump)\\Level""#, r#""object":"Gauges""#, r#""counter":"Level""#]
    {
        assert!(gone.contains(named), "{named}: {gone}");
    }
}

/// A window has no room for all rows of a path: the path that has no values is shown all the same.
#[test]
fn path_of_a_failing_provider_is_shown_in_a_window_of_few_lines() {
    let place = TestHive::new();
    let library = place.library("none.so");
    std::fs::copy(place.library("gauges.so"), &library).unwrap();
    place.run(&["register", INI, "--library", &library, "-q"]).ok();
    std::fs::write(&library, "no library").unwrap();
    let hives = place.0.path().join("hives");
    let line = format!(
        r"PERFHIVE_HIVE={} perfhive get '\Gauges(pump)\Level' '\Process(*)\ID Process'; echo code $?; sleep 60",
        hives.display()
    );
    let Some(terminal) = crate::tmux::Terminal::new(90, 9, &line) else { return };
    let screen = terminal.wait_for(|screen| screen.contains("code "));
    assert!(screen.contains("none.so") && screen.contains("code 1"), "{screen}");
}

/// While a provider fails at the start, its path is shown with the reason, beside the other paths;
/// it has values as soon as the provider delivers.
#[test]
fn watched_path_appears_once_its_provider_delivers() {
    use std::io::{BufRead as _, BufReader};
    let place = TestHive::new();
    let library = place.library("late.so");
    std::fs::copy(place.library("gauges.so"), &library).unwrap();
    place.run(&["register", INI, "--library", &library, "-q"]).ok();
    std::fs::write(&library, "no library").unwrap();
    let level = r"\Gauges(pump)\Level";
    let args = ["watch", r"\System\Processes", level, "-i", "0.2", "-n", "100", "--json"];
    let mut watch = command();
    watch.args(args).env("PERFHIVE_HIVE", place.0.path().join("hives"));
    watch.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut watch = watch.spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut rows = lines.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    let first = rows.next().unwrap();
    assert_eq!((&first["object"], &first["status"]), (&"System".into(), &"ok".into()));
    let second = rows.next().unwrap();
    assert_eq!((&second["path"], &second["status"]), (&level.into(), &"object-missing".into()));
    // The text file is replaced by a library.
    std::fs::rename(place.library("gauges.so"), &library).unwrap();
    let there = rows.any(|row| row["path"] == level && row["status"] == "ok");
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(there);
}

/// Although the remaining pause changes with each sample, its message appears once.
#[test]
fn watch_reports_a_pause_once() {
    let place = TestHive::new();
    let library = place.library("zoo.so");
    let linkage = ["--library", &library, "--linkage", "crashes"];
    place.run(&[&["register", INI, "-q"], &linkage[..]].concat()).ok();
    let run = place.run(&["watch", r"\Gauges(*)\Level", "-n", "8", "-i", "0.05", "--json"]);
    let said = |text| run.err.lines().filter(|line| line.contains(text)).count();
    assert_eq!(said("will be started again"), 1, "{}", run.err);
    assert_eq!(said("1848: crashed with"), 1, "{}", run.err);
    // The account counts the failures.
    let rows = place.run(&["providers", "Gauges", "-n", "0", "--json"]).json();
    // Samples during a pause are no collections.
    assert!(rows[0]["faults"].as_u64() >= Some(2), "{rows:?}");
    assert_eq!(rows[0]["collections"], rows[0]["faults"]);
}

#[test]
fn refused_library_is_shown_with_the_way_out() {
    let place = TestHive::new();
    let library = place.library("gauges.so");
    place.run(&["register", INI, "--library", &library]).ok();
    std::fs::set_permissions(&library, std::fs::Permissions::from_mode(0o777)).unwrap();
    let rows = place.run(&["providers", "Gauges", "--json"]).json();
    assert_eq!(rows[0]["state"], "refused");
    let why = rows[0]["last_fault"].as_str().unwrap();
    assert!(why.contains("chmod go-w"), "{why}");
    // A request for one of its objects reports it, too.
    let run = place.run(&["get", r"\Print Gauges(*)\Level"]);
    assert!(run.code == Some(2) && run.err.contains("chmod go-w"), "{}", run.err);
}

#[test]
fn missing_library_or_function_cannot_be_checked() {
    let place = TestHive::new();
    let none = place.library("none.so");
    assert!(place.run(&["check", &none]).fails(3).contains("none.so"));
    assert!(place.run(&["check", "Nobody"]).fails(2).contains("neither a file nor a registered"));
    let zoo = place.library("zoo.so");
    let wrong = place.run(&["check", &zoo, "--collect", "CollectNothing"]).one_line();
    assert!(wrong.contains("CollectNothing"), "{wrong}");
    assert!(place.run(&["providers", "-s", "file:none"]).code != Some(0));
    // Users are told that `host` is not for them.
    assert!(place.run(&["host"]).err.contains("perfhive starts this program itself"));
    assert!(!place.run(&["--help"]).out.contains(" host "));
}

#[test]
fn experiment_waits_for_a_library_as_long_as_it_is_told() {
    let place = TestHive::new();
    let library = place.library("zoo.so");
    let linkage = ["--library", &library, "--linkage", "!never returns"];
    place.run(&[&["register", INI], &linkage[..]].concat()).ok();
    let of_gauges = ["--on", "interval 5ms", "--sensor", "Gauges/Level#boiler", "--", "true"];
    let run = place.run(&[&["experiment", "run", "--patience", "0.1"], &of_gauges[..]].concat());
    let said = run.fails(3);
    assert!(said.contains("Gauges: did not say within 100ms what it offers"), "{said}");
}
