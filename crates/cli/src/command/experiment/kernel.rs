//! Events of unmodified programs that the kernel tells of: probes, threads and processes.

use super::events::name_of;
use super::run::LISTED;
use crate::args::{ExperimentEvent as Event, ExperimentRun as Args};
use crate::failure::{Failure, warn};
use perfhive::experiment::{EventKind, Probe, Probes, Processes, Threads};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The probes of the command line. The events of a function that is probed at both ends are starts and ends. Prints a
/// warning for each probe that may end the program.
pub(super) fn probes(args: &Args) -> Result<Vec<Probe>, Failure> {
    let mut probes = Vec::new();
    for event in &args.on {
        if let Some(probe) = probe(event, || program(args))? {
            if let Some(danger) = danger(event, &probe) {
                warn(&danger);
            }
            probes.push(probe.of_kind(kind_of(&args.on, event).unwrap_or(EventKind::Point)));
        }
    }
    Ok(probes)
}

/// The warning of a probe that may end the program; `None` for one that does not.
pub(super) fn danger(event: &Event, probe: &Probe) -> Option<String> {
    probe.may_end_program().then(|| {
        format!(
            "{event} ends the program where an exception or a panic leaves the function, or Go's runtime reads the stack"
        )
    })
}

/// The probe of an event; its events are points (neither starts nor ends). `None` for an event that is no probe.
/// `program` finds the file where the event names none.
pub(super) fn probe(
    event: &Event,
    program: impl Fn() -> Result<PathBuf, Failure>,
) -> Result<Option<Probe>, Failure> {
    let of = |file: &Option<PathBuf>| file.clone().map_or_else(&program, Ok);
    let probe = match event {
        Event::Uprobe(file, function) => Probe::function(&of(file)?, function),
        Event::Uretprobe(file, function) => {
            Probe::function(&of(file)?, function).map(Probe::at_return)
        }
        Event::Usdt(file, provider, name) => Probe::usdt(&of(file)?, provider, name),
        _ => return Ok(None),
    };
    let probe = probe.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing(format!("{event}: {error}")),
        _ => Failure::Usage(format!("{event}: {error}")),
    })?;
    Ok(Some(match name_of(event) {
        Some(name) => probe.named(&name),
        None => probe,
    }))
}

/// The kind of a probe's events: start or end if `events` has the probe of the function's other
/// end, otherwise point. `None` for an event that is no probe.
pub(super) fn kind_of(events: &[Event], event: &Event) -> Option<EventKind> {
    let pair = |other: Event, kind| match events.contains(&other) {
        true => kind,
        false => EventKind::Point,
    };
    match event {
        Event::Uprobe(file, function) => {
            Some(pair(Event::Uretprobe(file.clone(), function.clone()), EventKind::Start))
        }
        Event::Uretprobe(file, function) => {
            Some(pair(Event::Uprobe(file.clone(), function.clone()), EventKind::End))
        }
        Event::Usdt(..) => Some(EventKind::Point),
        _ => None,
    }
}

/// The event source of probes in a process that is about to become the program; `None` without any probes.
pub(super) fn watched(
    args: &Args,
    probes: &[Probe],
    process: u32,
) -> Result<Option<Probes>, Failure> {
    if probes.is_empty() {
        return Ok(None);
    }
    let probes =
        Probes::watch(process, probes).map_err(|error| Failure::Source(error.to_string()))?;
    // Until its `execve` the process runs perfhive, not the program.
    Ok(Some(probes.after_exec().with_spin(args.spin.unwrap_or_default())))
}

/// The event source of the program's threads; `None` if the command line asks for no events of threads. Prints a
/// warning if threads can only be found by listing them.
pub(super) fn threads(args: &Args, process: u32) -> Result<Option<Threads>, Failure> {
    let Some(kind) = kind_of_threads(&args.on) else { return Ok(None) };
    let threads = Threads::watch(process, kind, LISTED);
    let threads = threads.map_err(|error| Failure::Source(error.to_string()))?;
    if let Some(every) = threads.every() {
        warn(&format!(
            "the kernel does not report threads (perf events are not permitted); {}",
            listed_threads(every)
        ));
    }
    Ok(Some(threads))
}

/// Which events of threads are wanted: `Start`, `End`, or `Point` for both; `None` for neither.
pub(super) fn kind_of_threads(events: &[Event]) -> Option<EventKind> {
    let wants = |event| events.contains(&event);
    match (wants(Event::ThreadStart), wants(Event::ThreadEnd)) {
        (false, false) => None,
        (true, true) => Some(EventKind::Point),
        (true, false) => Some(EventKind::Start),
        (false, true) => Some(EventKind::End),
    }
}

/// The names of the processes that are watched, each with the kind of event: start or end.
pub(super) fn watched_names(events: &[Event]) -> Vec<(&str, EventKind)> {
    let watched = events.iter().filter_map(|event| match event {
        Event::Start(name) => Some((name.as_str(), EventKind::Start)),
        Event::End(name) => Some((name.as_str(), EventKind::End)),
        _ => None,
    });
    watched.collect()
}

/// A note about the threads that are missed where threads are found by listing them every `every`.
pub(super) fn listed_threads(every: Duration) -> String {
    format!(
        "perfhive lists the program's threads every {0} ms: starts and ends are noticed up to {0} ms late; threads \
         that live for less may be missed, and threads of child processes are missed",
        every.as_millis()
    )
}

/// A note about the events of processes that come late or are missed where processes are listed;
/// `None` if the kernel tells of processes.
pub(super) fn listed_processes(processes: &Processes) -> Option<String> {
    let every = processes.every()?;
    Some(format!(
        "the kernel does not report processes (it may do so for root only); perfhive lists them every {0} ms: \
         starts and ends are noticed up to {0} ms late, and processes that live for less may be missed",
        every.as_millis()
    ))
}

/// The program's file, found as the system finds it: in the folders of PATH, unless the name has a slash.
fn program(args: &Args) -> Result<PathBuf, Failure> {
    let word = args.program.first().map(Path::new).unwrap_or(Path::new(""));
    if word.as_os_str().as_encoded_bytes().contains(&b'/') {
        return Ok(word.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(word));
    let mut found = found.filter(|file| {
        use std::os::unix::fs::PermissionsExt as _;
        let about = std::fs::metadata(file);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    });
    let missing = || format!("{} cannot be probed: it is in no folder of PATH", word.display());
    found.next().ok_or_else(|| Failure::Usage(missing()))
}
