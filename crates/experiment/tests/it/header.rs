//! The header for C and C++.

use super::calls::Folder;
use super::{context, shown};
use perfhive_experiment::{CALLS_VARIABLE, Calls, EventKind, EventSource as _, Experiment};
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
#include "perfhive_experiment.h"
#include <pthread.h>
#include <stdio.h>

static void *work(void *unused)
{
    for (int i = 0; i < 20; i++) {
        perfhive_start("checkout");
        perfhive_call("paid");
        perfhive_end("checkout");
    }
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    errno = 33;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return errno == 33 ? 7 : 1;
}
"#;

/// A program with sections that have nothing in them but the calls of a signal handler.
const INTERRUPTED: &str = r#"
#include "perfhive_experiment.h"
#include <signal.h>
#include <sys/time.h>

static void told(int number)
{
    (void)number;
    perfhive_call("signal");
}

int main(void)
{
    struct itimerval every = {{0, 50}, {0, 50}};
    signal(SIGALRM, told);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 2000; i++) {
        perfhive_start("empty");
        perfhive_end("empty");
    }
    return 0;
}
"#;

/// A program that closes its descriptors, gives their numbers to another file, and then closes its standard streams,
/// too. It calls before, between and after.
const CLOSING: &str = r#"
#include "perfhive_experiment.h"

int main(int count, char **words)
{
    (void)count;
    perfhive_call("paid");
    for (int i = 3; i < 100; i++)
        close(i);
    for (int i = 0; i < 10; i++)
        open(words[1], O_WRONLY | O_CREAT, 0600);
    perfhive_call("paid");
    for (int i = 0; i < 100; i++)
        close(i);
    perfhive_call("paid");
    return open(words[1], O_WRONLY);
}
"#;

#[test]
fn program_that_closes_its_descriptors_goes_on_calling_and_its_files_are_its_own() {
    let folder = Folder::new();
    let program = folder.path("program");
    compile(&folder, CLOSING, &["-x", "c"]);
    let (fifo, file) = (folder.path("calls"), folder.path("file"));
    let mut calls = Calls::listen(&fifo, &["paid"]).unwrap();
    let status = Command::new(program).arg(&file).env(CALLS_VARIABLE, &fifo).status().unwrap();
    // The first descriptor is the program's.
    assert_eq!(status.code(), Some(0));
    (calls.closer())();
    let mut count = 0;
    while calls.wait().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, calls.missed()), (3, 0));
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}

const NAMES: &str = r#"
#include "perfhive_experiment.h"

int main(void)
{
    perfhive_call("caf\xE9");
    perfhive_call(LONG);
    return 0;
}
"#;

#[test]
fn names_that_are_no_utf_8_are_events_too() {
    let folder = Folder::new();
    // The header cuts it within the last character of its first 96 bytes.
    let long = format!("x{}", "\u{e9}".repeat(60));
    let program = folder.path("program");
    compile(&folder, &NAMES.replace("LONG", &format!("{long:?}")), &["-x", "c"]);
    let fifo = folder.path("calls");
    let mut calls = Calls::listen(&fifo, &["*"]).unwrap();
    assert!(Command::new(&program).env(CALLS_VARIABLE, &fifo).status().unwrap().success());
    (calls.closer())();
    let mut names = Vec::new();
    while let Some(event) = calls.wait().unwrap() {
        names.push(event.name.to_string());
    }
    let cut = format!("x{}\u{fffd}", "\u{e9}".repeat(47));
    assert_eq!(names, ["caf\u{fffd}".to_string(), cut]);
    assert_eq!(calls.missed(), 0);
}

/// Compiles a program without warnings.
fn compile(folder: &Folder, text: &str, options: &[&str]) {
    let source = folder.path("program.src");
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc")
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(&source)
        .arg("-o")
        .arg(folder.path("program"))
        .arg("-pthread")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{options:?}: {errors}");
}

#[test]
fn program_in_c_and_cpp_calls_as_one_in_rust() {
    let folder = Folder::new();
    let program = folder.path("program");
    let posix = "-D_POSIX_C_SOURCE=200809L";
    for options in [
        &["-x", "c", "-std=c99"][..],
        &["-x", "c", "-std=c99", posix],
        &["-x", "c", "-std=gnu99"],
        &["-x", "c", "-std=c11"],
        &["-x", "c", "-std=c11", posix],
        &["-x", "c", "-std=c11", "-D_GNU_SOURCE"],
        &["-x", "c++", "-std=c++11"],
    ] {
        compile(&folder, PROGRAM, options);
        let fifo = folder.path("calls");
        let calls = Calls::listen(&fifo, &["checkout", "paid"]).unwrap();
        let experiment = Experiment::builder().start().unwrap();
        experiment.bind(calls, context(shown())).unwrap();
        let status = Command::new(&program).env(CALLS_VARIABLE, &fifo).status().unwrap();
        assert_eq!(status.code(), Some(7), "errno stays as it was");
        let end = experiment.end();
        let counts: Vec<_> = (end.summary.events.iter())
            .map(|one| (one.name.to_string(), one.kind, one.count))
            .collect();
        for kind in [Some(EventKind::Start), Some(EventKind::End), None] {
            assert!(counts.contains(&("checkout".to_string(), kind, 80)), "{counts:?}");
        }
        assert!(counts.contains(&("paid".to_string(), Some(EventKind::Point), 80)), "{counts:?}");
        assert_eq!((end.summary.unmatched, end.bindings[0].missed), (0, 0));
        // Without an experiment the program runs all the same.
        assert_eq!(Command::new(&program).status().unwrap().code(), Some(7));
    }
}

#[test]
fn calls_in_signal_handlers_are_taken_off_once() {
    let folder = Folder::new();
    compile(&folder, INTERRUPTED, &["-x", "c", "-std=gnu99"]);
    let fifo = folder.path("calls");
    let calls = Calls::listen(&fifo, &["empty"]).unwrap();
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(calls, context(shown())).unwrap();
    let program = folder.path("program");
    assert!(Command::new(&program).env(CALLS_VARIABLE, &fifo).status().unwrap().success());
    let end = experiment.end();
    let sections = end.summary.events.iter().find(|one| one.kind.is_none()).unwrap();
    // What was taken off twice would be more than all.
    assert_eq!((sections.count, sections.time.count(), sections.part.count()), (2000, 2000, 2000));
    let (time, thread_time) = (sections.time.quantile(0.5), sections.part.quantile(0.5));
    assert!(time.unwrap() < 2e-6 && thread_time.unwrap() < 2e-6, "{time:?} {thread_time:?}");
}
