//! Providers in libraries, from their author's check to a reader's value.
#![cfg(target_os = "linux")]

use crate::run::{Folder, Run, command, finish};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const INI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../extension/examples/c/gauges.ini");
const ZOO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../extension/tests/extension/zoo.c");

/// A folder with libraries, and hives of its own.
struct Place(Folder);

impl Place {
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

    fn run(&self, args: &[&str]) -> Run {
        finish(command().args(args).env("PERFHIVE_HIVE", self.0.path().join("hives")))
    }
}

#[test]
fn a_provider_in_c_from_check_to_value() {
    let place = Place::new();
    let library = place.library("gauges.so");
    let out = place.run(&["check", &library]).ok();
    assert!(out.contains("gives 50000 (256 bytes)"), "{out}");
    assert!(out.contains("gauges.so is sound; Global is 256 bytes"), "{out}");

    place.run(&["register", INI, "--library", &library]).ok();
    let out = place.run(&["check", "gauges", "--brief"]).ok();
    assert!(out.contains("gauges.so is sound"), "{out}");
    for trust in ["--trust", "--isolate"] {
        place.run(&["register", INI, trust]).ok();
        let path = r"\Gauges(*)\Level";
        assert_eq!(place.run(&["get", path, "--bare"]).ok(), "70\n71\n");
        let out = place.run(&["get", r"\Messgeräte(pump)\Füllstand", "--bare"]).ok();
        assert_eq!(out, "71\n");
        let rows = place.run(&["providers", "Gauges", "--json"]).json();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0]["state"], "open");
        assert_eq!(rows[0]["collections"], 2);
        assert_eq!(rows[0]["faults"], 0);
        assert_eq!(rows[0]["bytes"], 256);
        assert!(rows[0]["worst_s"].as_f64() >= rows[0]["mean_s"].as_f64());
    }
    place.run(&["register", INI, "--disable"]).ok();
    let rows = place.run(&["providers", "Gauges", "--json"]).json();
    assert_eq!(rows[0]["state"], "disabled");
    place.run(&["unregister", "Gauges"]).ok();
    let missing = place.run(&["providers", "Gauges"]).fails(1);
    assert!(missing.contains("there is no provider"), "{missing}");
}

/// The program is its own host, under any name; nothing on the PATH stands in.
#[test]
fn a_program_of_another_name_runs_libraries_in_itself() {
    let place = Place::new();
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
fn a_bad_library_is_named_and_does_no_harm() {
    let place = Place::new();
    let library = place.library("zoo.so");
    let run = place.run(&["check", &library, "--linkage", "crashes", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    let rows = run.json();
    let errors: Vec<_> = rows.iter().filter(|row| row["severity"] == "error").collect();
    assert!(errors[0]["message"].as_str().unwrap().contains("signal 11"), "{rows:?}");

    let linkage = ["--library", &library, "--linkage", "!crashes"];
    place.run(&[&["register", INI], &linkage[..]].concat()).ok();
    let out = place.run(&["get", r"\System\Processes", "--bare"]).ok();
    assert!(out.trim().parse::<f64>().unwrap() > 0.0);
    let run = place.run(&["providers", "Gauges"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("failed") && run.out.contains("signal 11"), "{}", run.out);
    // Who asks for everything is told what is missing.
    let run = place.run(&["enum"]);
    assert!(run.err.contains("Gauges: crashed with signal 11"), "{}", run.err);
    // So is who asks for what it is registered with.
    let message = place.run(&["get", r"\Gauges(*)\Level"]).fails(3);
    assert!(message.contains("not there at the moment: Gauges: crashed with"), "{message}");
    assert!(place.run(&["get", r"\Gouges(*)\Level"]).fails(2).contains("no object"));
}

#[test]
fn what_cannot_be_checked() {
    let place = Place::new();
    let none = place.library("none.so");
    assert!(place.run(&["check", &none]).fails(3).contains("none.so"));
    assert!(place.run(&["check", "Nobody"]).fails(2).contains("neither a file nor a registered"));
    let zoo = place.library("zoo.so");
    let wrong = place.run(&["check", &zoo, "--collect", "CollectNothing"]).one_line();
    assert!(wrong.contains("CollectNothing"), "{wrong}");
    assert!(place.run(&["providers", "-s", "file:none"]).code != Some(0));
    // The host is not for people.
    assert!(place.run(&["host"]).err.contains("it starts that itself"));
    assert!(!place.run(&["--help"]).out.contains(" host "));
}
