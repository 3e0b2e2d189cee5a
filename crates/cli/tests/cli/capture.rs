//! `capture` saves this machine's answers in a folder, and they are read back from it.
#![cfg(any(target_os = "linux", windows))]

use crate::run::{Folder, perfhive};
use std::path::Path;

/// The address of the source that reads this machine.
const MACHINE: &str = if cfg!(windows) { "native:" } else { "proc:" };

fn kinds(folder: &Path) -> Vec<serde_json::Value> {
    let manifest = std::fs::read_to_string(folder.join("manifest.jsonl")).unwrap();
    manifest.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_capture_has_all_blocks_and_names_and_is_read_as_a_source() {
    let folder = Folder::new();
    let to = folder.path().join("a/b");
    let name = to.display().to_string();
    let out = perfhive(["capture", &name, "-n", "3", "-i", "0.05", "-s", MACHINE]).ok();
    assert!(out.starts_with("3 samples, 3 blocks, "), "{out}");
    assert!(out.ends_with(&format!(" bytes in {name}\nperfhive list -s file:{name}\n")), "{out}");
    let lines = kinds(&to);
    assert_eq!(lines[0]["queries"], serde_json::json!(["Global"]));
    assert_eq!(
        (lines[0]["source"].as_str(), lines[0]["interval"].as_f64()),
        (Some(MACHINE), Some(0.05))
    );
    assert_eq!(lines[0]["perfhive"], env!("CARGO_PKG_VERSION"));
    assert!(lines[0]["system"].as_str().unwrap().starts_with(std::env::consts::OS));
    assert_eq!(lines.last().unwrap()["samples"], 3);
    for block in lines.iter().filter_map(|line| line["blocks"].as_array()).flatten() {
        let file = to.join(block["file"].as_str().unwrap());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), block["bytes"].as_u64().unwrap());
        perfhive(["dump", &file.display().to_string()]).ok();
    }
    // A capture has names in both languages and gives rates, without a wait.
    let source = format!("file:{name}");
    let rows = perfhive([
        "get",
        "-s",
        &source,
        "--json",
        r"\Prozessor(_Total)\Benutzerzeit (%)",
        r"\Process(perfhive)\ID Process",
    ])
    .json();
    assert!(rows.iter().all(|row| row["status"] == "ok"), "{rows:?}");
    assert_eq!(rows.len(), 2);
    let tables = perfhive(["watch", "-s", &source, "--json", r"\System\Processes"]).ok();
    assert_eq!(tables.lines().count(), 3);

    let again = perfhive(["capture", &name, "-s", MACHINE]).fails(2);
    assert_eq!(again, format!("{name}: holds a capture; a capture takes a folder of its own"));
    // A capture can itself be captured: here a part of it, with hashes.
    let part = folder.path().join("part");
    let args = ["capture", part.to_str().unwrap(), "Process", "-s", &source, "--hash-names"];
    let rows = perfhive(args.into_iter().chain(["--json"])).json();
    assert_eq!((rows[0]["samples"].as_u64(), rows[0]["blocks"].as_u64()), (Some(3), Some(3)));
    let lines = kinds(&part);
    assert_eq!(
        (lines[0]["source"].as_str(), lines[0]["names"].as_str()),
        (Some("file:"), Some("hashed"))
    );
    assert_eq!(lines[0]["system"], serde_json::Value::Null, "not where it was taken");
    let list = perfhive(["ps", "-s", &format!("file:{}", part.display()), "--json"]).json();
    assert!(list.iter().all(|row| row["name"] != "perfhive"));
    assert!(list.iter().any(|row| row["name"].as_str().unwrap().starts_with('h')));
}

#[test]
fn an_unreadable_source_leaves_no_capture_folder() {
    let folder = Folder::new();
    let to = folder.path().join("x");
    let name = to.display().to_string();
    perfhive(["capture", &name, "Memroy", "-s", MACHINE]).fails(2);
    perfhive(["capture", &name, "-s", "file:gone.bin"]).fails(3);
    perfhive(["capture", &name, "-n", "0", "-s", MACHINE]).fails(2);
    assert!(!to.exists());
    let file = folder.file("file", "x");
    let said = perfhive(["capture", &file, "-s", MACHINE]).fails(3);
    assert!(said.contains("cannot be written"), "{said}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_valid_capture() {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let to = folder.path().join("x");
    let mut child = crate::run::command()
        .args(["capture", to.to_str().unwrap(), "-n", "100000", "-i", "0.02", "-s", MACHINE])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let manifest = || std::fs::read_to_string(to.join("manifest.jsonl")).unwrap_or_default();
    while manifest().matches("\"kind\":\"sample\"").count() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it goes on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.status.signal()), (None, Some(2)));
    let text = String::from_utf8(output.stdout).unwrap();
    let samples = kinds(&to).last().unwrap()["samples"].as_u64().unwrap();
    assert!(text.starts_with(&format!("{samples} samples, ")), "{text}");
    let source = format!("file:{}", to.display());
    let tables = perfhive(["watch", "-s", &source, "--json", r"\System\Processes"]).ok();
    assert_eq!(tables.lines().count() as u64, samples);
}
