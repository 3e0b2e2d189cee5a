//! Counters that a program (this test) publishes.
#![cfg(any(
    all(target_os = "linux", target_endian = "little"),
    all(windows, target_pointer_width = "64")
))]

use crate::run::{Folder, command, finish};
use perfhive::CounterType;
use perfhive::publish::{CounterDeclaration, PublishedCategory};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn shop(folder: &Folder) -> PublishedCategory {
    PublishedCategory::builder("Web Shop")
        .help("Orders of the shop, by city.")
        .instances(10)
        .counter(
            CounterDeclaration::new("Orders", CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
                .help("Orders since the shop was opened."),
        )
        .counter(CounterDeclaration::new("Avg. Bytes/Order", CounterType::PERF_AVERAGE_BULK))
        .folder(folder.path())
        .publish()
        .expect("published")
}

fn reading(folder: &Folder) -> Command {
    let mut command = reading_with_warnings(folder);
    // --quiet omits the note that some objects come from elsewhere than the registry:
    // Wine's registry does not have them.
    command.args(cfg!(windows).then_some("--quiet"));
    command
}

#[test]
fn list_explain_and_get_show_what_is_published() {
    let folder = Folder::new();
    let category = shop(&folder);
    let berlin = category.instance("Berlin").expect("an instance");
    berlin.counter("Orders").expect("a counter").increment_by(42);
    category.instance("São Paulo").expect("another");

    let objects = finish(reading(&folder).args(["list"])).ok();
    assert!(objects.lines().any(|line| line.contains("Web Shop")), "{objects}");
    let shop = finish(reading(&folder).args(["list", "web shop"])).ok();
    for text in ["Orders", "Avg. Bytes/Order", "Berlin", "São Paulo"] {
        assert!(shop.contains(text), "{shop}");
    }
    let explained = finish(reading(&folder).args(["explain", r"\Web Shop(*)\Orders"])).ok();
    assert!(explained.contains("Orders since the shop was opened."), "{explained}");
    let rows = finish(reading(&folder).args(["get", "--json", r"\Web Shop(Berlin)\Orders"])).json();
    assert_eq!(rows[0]["value"], 42);
    drop(category);
    let gone = finish(reading(&folder).args(["get", r"\Web Shop(Berlin)\Orders"])).fails(2);
    assert!(gone.contains("Web Shop"), "{gone}");
}

fn reading_with_warnings(folder: &Folder) -> Command {
    let mut command = command();
    command.env("PERFHIVE_COUNTERS", folder.path());
    command
}

/// Every command that cannot find the category of a refused file reports the file.
#[test]
fn a_missing_category_reports_the_refused_file() {
    let folder = Folder::new();
    let path = folder.file("a.counters", [&b"PERFHSHM\x09\0\0\0"[..], &[0; 4096]].concat());
    let held = std::fs::File::open(&path).expect("the file");
    held.lock().expect("locked");
    for args in [
        &["get", r"\Its Category\X", r"\Its Category\Y"][..],
        &["watch", "-n", "1", r"\Its Category\X"],
        &["explain", r"\Its Category\X"],
        &["enum", "Its Category"],
        &["list", "Its Category"],
        &["sensors", "Its Category/X"],
        &["measure", "-n", "1", "Its Category/X"],
    ] {
        let run = finish(reading_with_warnings(&folder).args(args));
        assert_eq!(run.code, Some(2), "{args:?} {}", run.err);
        assert!(run.err.contains("Its Category"), "{args:?} {}", run.err);
        let why = "a.counters is not read: version 9 of the layout, of which 2 is known at offset 8; \
                   its program and this reader need perfhive of one version";
        assert_eq!(run.err.matches(why).count(), 1, "{args:?} {}", run.err);
    }
    // A list reports the file as well.
    let list = finish(reading(&folder).args(["list"]));
    assert_eq!(list.code, Some(0));
    assert!(list.err.contains("a.counters is not read") || cfg!(windows), "{}", list.err);
    assert!(list.out.lines().count() > 1 || cfg!(windows), "{}", list.out);
    drop(held);
}

/// A published category does not take the name of an object of the machine.
#[test]
fn a_published_category_does_not_shadow_an_object_of_the_machine() {
    let folder = Folder::new();
    let category = PublishedCategory::builder("system")
        .counter(CounterDeclaration::new("Threads", CounterType::PERF_COUNTER_LARGE_RAWCOUNT))
        .folder(folder.path())
        .publish()
        .expect("published");
    category.counter("Threads").expect("a counter").set(1 << 60);
    let rows = finish(reading(&folder).args(["get", "--json", r"\System\Threads"])).json();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0]["value"].as_f64().is_some_and(|threads| threads < 1e9), "{rows:?}");
    let providers = finish(reading(&folder).args(["providers", "--json"])).ok();
    assert!(providers.contains("system is an object of this machine"), "{providers}");
}

/// A program ends and is started again while a command watches it.
#[test]
fn watch_goes_on_when_the_program_comes_back() {
    let folder = Folder::new();
    let orders = |category: &PublishedCategory, value| {
        let berlin = category.instance("Berlin").expect("an instance");
        berlin.counter("Orders").expect("a counter").set(value);
    };
    let category = shop(&folder);
    orders(&category, 1234);
    let mut watch = reading(&folder)
        .args(["watch", "-i", "0.05", "--format", "csv", r"\Web Shop(Berlin)\Orders"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut lines = BufReader::new(watch.stdout.take().expect("output"));
    let mut until = |wanted: &str| {
        let mut line = String::new();
        for _ in 0..1000 {
            line.clear();
            let length = lines.read_line(&mut line).expect("a line");
            assert!(length > 0, "it ended before {wanted:?}");
            if line.contains(wanted) {
                return;
            }
        }
        panic!("no {wanted:?}, but {line:?}");
    };
    until(",1234,");
    drop(category);
    until(",no-such-instance,");
    let category = shop(&folder);
    orders(&category, 4711);
    until(",4711,");
    watch.kill().expect("killed");
    watch.wait().expect("waited for");
    drop(category);
}

/// A program publishes in the folder of its user without any setting on either
/// side. The program is another process.
#[cfg(windows)]
#[test]
fn a_program_publishes_in_the_users_folder() {
    let folder = Folder::new();
    let own = |command: &mut Command| {
        command.env_remove("PERFHIVE_COUNTERS").env("LOCALAPPDATA", folder.path());
    };
    let examples = std::path::Path::new(env!("CARGO_BIN_EXE_perfhive")).with_file_name("examples");
    let mut program = Command::new(examples.join("publish.exe"));
    own(&mut program);
    let mut program = program.stdout(Stdio::piped()).spawn().expect("the example is built");
    let mut line = String::new();
    let mut lines = BufReader::new(program.stdout.take().expect("output"));
    lines.read_line(&mut line).expect("a line");
    let path = line.trim().strip_prefix("publishing in ").expect(&line);
    let path = std::path::Path::new(path);
    assert_eq!(path.parent(), Some(&*folder.path().join("perfhive").join("counters")));

    let read = |args: &[&str]| {
        let mut command = reading(&folder);
        own(&mut command);
        finish(command.args(args))
    };
    // The mean of no throws is not a number; on a busy machine there may be no throws yet.
    let eyes = loop {
        let path = r"\Dice(red)\Avg. Eyes/Throw";
        let rows = read(&["get", "--json", "-i", "0.3", path]).json();
        if let Some(eyes) = rows[0]["value"].as_f64() {
            break eyes;
        }
        assert_eq!(program.try_wait().expect("waited for"), None, "it goes on");
    };
    assert!((1.0..=6.0).contains(&eyes), "{eyes}");
    program.kill().expect("killed");
    program.wait().expect("waited for");
    let gone = read(&["get", r"\Dice(red)\Throws/sec"]).fails(2);
    assert!(gone.contains("Dice"), "{gone}");
    assert!(!path.exists(), "its file is gone with it");
}
