//! Processes that start and end.

use super::calls::Folder;
use super::{context, shown};
use perfhive_experiment::{EventKind, Experiment, Processes};
use std::process::Command;
use std::time::{Duration, Instant};

/// A program with a name that no other has, which ends after so many seconds.
fn sleeper(folder: &Folder, name: &str, seconds: &str) -> Command {
    let path = folder.path(name);
    if !path.exists() {
        std::fs::copy("/bin/sleep", &path).unwrap();
    }
    let mut command = Command::new(path);
    command.arg(seconds);
    command
}

fn counts(end: &perfhive_experiment::ExperimentEnd, name: &str, kind: EventKind) -> u64 {
    let mut events = end.summary.events.iter();
    let found = events.find(|one| &*one.name == name && one.kind == Some(kind));
    found.map_or(0, |one| one.count)
}

/// An experiment with the starts and ends of processes of these names; `None`, with a message, if the kernel does not tell
/// this user of them.
fn told_by_kernel(wanted: &[(&str, EventKind)]) -> Option<Experiment> {
    let processes = Processes::watch(wanted, Duration::from_millis(20)).unwrap();
    if processes.every().is_some() {
        eprintln!("not tested: the kernel does not tell this user of processes");
        return None;
    }
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(processes, context(shown())).unwrap();
    Some(experiment)
}

#[test]
fn each_of_a_thousand_short_processes_is_an_event_where_the_kernel_tells() {
    let folder = Folder::new();
    let name = format!("brief{}", std::process::id());
    let wanted = [(name.as_str(), EventKind::Start), (&name, EventKind::End)];
    let Some(experiment) = told_by_kernel(&wanted) else { return };
    for _ in 0..1000 {
        assert!(sleeper(&folder, &name, "0.001").status().unwrap().success());
    }
    let end = experiment.end();
    let found = [EventKind::Start, EventKind::End].map(|kind| counts(&end, &name, kind));
    // What is missing is counted: a name may be gone before it is read on a busy machine.
    let missed = end.bindings[0].missed;
    assert!(
        found.iter().all(|count| *count <= 1000 && count + missed >= 1000),
        "{found:?} {missed}"
    );
    assert!(found[0] > 900, "{found:?} {missed}");
    let sections = end.summary.events.iter().find(|one| one.kind.is_none()).unwrap();
    assert!(sections.time.min().unwrap() >= 0.001, "{:?}", sections.time.min());
}

#[test]
fn process_that_becomes_another_program_at_once_is_not_counted_twice() {
    let folder = Folder::new();
    let [first, second] = ["one", "two"].map(|name| format!("{name}{}", std::process::id()));
    for (program, name) in [("env", &first), ("true", &second)] {
        std::fs::copy(format!("/usr/bin/{program}"), folder.path(name)).unwrap();
    }
    let wanted = [(first.as_str(), EventKind::Start), (&second, EventKind::Point)];
    let Some(experiment) = told_by_kernel(&wanted) else { return };
    for _ in 0..500 {
        let mut command = Command::new(folder.path(&first));
        assert!(command.arg(folder.path(&second)).status().unwrap().success());
    }
    let end = experiment.end();
    let [first, second, ended] =
        [(&first, EventKind::Start), (&second, EventKind::Start), (&second, EventKind::End)]
            .map(|(name, kind)| counts(&end, name, kind));
    let (missed, unmatched) = (end.bindings[0].missed, end.summary.unmatched);
    let all = format!("{first} {second} {ended}, missed {missed}, unmatched {unmatched}");
    // Between the end of a program's loading and the kernel's message of it a name is still taken for the earlier one.
    // One of some ten thousand starts meets that moment.
    assert!(first <= 500 && second <= 505 && first + second + missed >= 1000, "{all}");
    assert!(first > 0 && second > 0 && ended <= second && unmatched <= 5, "{all}");
}

#[test]
fn end_without_start_is_an_event_of_processes_that_ran_before() {
    let folder = Folder::new();
    let [first, second] = ["early", "sooner"].map(|name| format!("{name}{}", std::process::id()));
    let mut children = [&first, &second].map(|name| sleeper(&folder, name, "600").spawn().unwrap());
    // The kernel gives a new process its name and command line shortly after the start.
    for (child, name) in children.iter().zip([&first, &second]) {
        let of = |file| std::fs::read_to_string(format!("/proc/{}/{file}", child.id())).unwrap();
        let begin = &name[..name.len().min(15)];
        while of("comm").trim_end() != begin || !of("cmdline").ends_with("600\0") {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let every = Duration::from_millis(5);
    let of_first = [(first.as_str(), EventKind::End)];
    let of_both = [(first.as_str(), EventKind::End), (&second, EventKind::End)];
    let told = Processes::watch(&of_both, every).unwrap();
    let before = Processes::by_lists(&of_first, every).unwrap();
    let following = Processes::by_lists(&of_both, every).unwrap().following(before.alive());
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(told.named("told"), context(shown())).unwrap();
    experiment.bind(before.named("before"), context(shown())).unwrap();
    experiment.handle().replace("before", following.named("before")).unwrap();
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let begun = Instant::now();
    while experiment.bindings().iter().any(|one| one.events < 2) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", experiment.bindings());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(experiment.end().summary.unmatched, 0);
}

#[test]
fn long_process_is_an_event_by_lists_too() {
    let folder = Folder::new();
    let name = format!("lasting{}", std::process::id());
    let wanted = [(name.as_str(), EventKind::Start), (&name, EventKind::End)];
    let processes = Processes::by_lists(&wanted, Duration::from_millis(5)).unwrap();
    assert_eq!(processes.every(), Some(Duration::from_millis(5)));
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(processes, context(shown())).unwrap();
    let mut child = sleeper(&folder, &name, "600").spawn().unwrap();
    let begun = Instant::now();
    let reached = |count| {
        while experiment.bindings()[0].events < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "no event");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    reached(1);
    child.kill().unwrap();
    child.wait().unwrap();
    reached(2);
    let end = experiment.end();
    let name = &name[..name.len().min(15)];
    for kind in [EventKind::Start, EventKind::End] {
        assert_eq!(counts(&end, name, kind), 1);
    }
    assert_eq!(end.bindings[0].listed_every, Some(Duration::from_millis(5)));
}
