//! Calls from a program in another process: `examples/calling.rs`.

use super::{context, shown};
use perfhive_experiment::{
    CALLS_VARIABLE, Calls, EventKind, EventSource, Experiment, RecordBatch, Section,
};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A folder that is removed after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-experiment-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program under test, doing one of the things that it can.
fn calling(what: &str, fifo: &Path) -> Command {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples/calling");
    let mut command = Command::new(program);
    command.arg(what).env(CALLS_VARIABLE, fifo);
    command
}

/// Runs the program under test to its end.
fn run(what: &str, fifo: &Path) {
    assert!(calling(what, fifo).status().unwrap().success());
}

#[test]
fn calls_of_another_process_are_events_and_sections() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let calls = Calls::listen(&fifo, &["checkout", "payment", "paid"]).unwrap();
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(calls, context(shown())).unwrap();
    run("shop", &fifo);
    let end = experiment.end();
    let counts = |name: &str, kind: Option<EventKind>| {
        let is_it = |one: &&_| one_is(one, name, kind);
        end.summary.events.iter().find(is_it).map_or(0, |one| one.count)
    };
    fn one_is(
        one: &perfhive_experiment::EventSummary,
        name: &str,
        kind: Option<EventKind>,
    ) -> bool {
        &*one.name == name && one.kind == kind
    }
    assert_eq!(counts("paid", Some(EventKind::Point)), 100);
    for (name, count) in [("checkout", 250), ("payment", 100)] {
        assert_eq!(counts(name, Some(EventKind::Start)), count, "{name}");
        assert_eq!(counts(name, Some(EventKind::End)), count, "{name}");
        assert_eq!(counts(name, None), count, "{name}");
    }
    assert_eq!(counts("not asked for", Some(EventKind::Point)), 0);
    let binding = &end.bindings[0];
    assert_eq!((binding.events, binding.missed, binding.lost), (800, 0, 0));
    assert_eq!((end.summary.unmatched, binding.failure.clone()), (0, None));
    assert!(!fifo.exists());
}

/// The state of a thread of this process, as `stat` has it: `R` where it runs or could, `S` where it sleeps.
fn state_of(thread: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

#[test]
fn source_that_spins_does_not_sleep_and_is_closed_all_the_same() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let calls = Calls::listen(&fifo, &["paid"]).unwrap();
    let mut calls = calls.with_spin(Duration::from_secs(3600));
    let close = calls.closer();
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        let mut events = 0;
        while calls.wait().unwrap().is_some() {
            events += 1;
        }
        events
    });
    let thread = receiver.recv().unwrap();
    run("shop", &fifo);
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(state_of(thread), 'R');
    }
    close();
    assert_eq!(waiting.join().unwrap(), 100);
}

/// How long each section of `known` is.
const KNOWN: Duration = Duration::from_millis(2);

/// The time from a section's start to its end is what the program says, plus at most a hundred
/// microseconds in the best of 50 runs: a call costs one.
#[test]
fn section_of_known_duration_is_measured_so() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let calls = Calls::listen(&fifo, &["known"]).unwrap();
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(calls, context(shown())).unwrap();
    run("known", &fifo);
    let end = experiment.end();
    let known = end.summary.events.iter().find(|one| one.kind.is_none()).unwrap();
    assert_eq!(known.count, 50);
    let shortest = known.time.min().unwrap();
    let expected = KNOWN.as_secs_f64();
    assert!((expected..expected + 1e-4).contains(&shortest), "{shortest}");
    // The thread worked all the time.
    let worked = known.part.max().unwrap();
    assert!((expected * 0.9..).contains(&worked), "{worked}");
}

/// The most that is left of a call when its time is taken off, in seconds.
const LEFT: f64 = 2e-6;

/// The most by which work behind a call takes longer, in seconds, since the call has cooled the
/// processor's caches.
const COLDER: f64 = 5e-6;

/// The time of calls is taken off, however far they are apart: a section with nothing in it takes no time, and the same
/// work as long with calls in it as without, but for colder caches and two hundredths of the work. Processor time is
/// compared, which others' load hardly changes, and the median of a hundred sections.
#[test]
fn time_of_calls_is_taken_off_at_every_distance() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let calls = Calls::listen(&fifo, &["*"]).unwrap();
    let (sender, sections) = std::sync::mpsc::channel();
    let deliver = move |_: &RecordBatch<'_>, sections: &[Section]| {
        sections.iter().for_each(|section| sender.send(section.clone()).unwrap());
    };
    let experiment = Experiment::builder().deliver(deliver).start().unwrap();
    experiment.bind(calls, context(shown())).unwrap();
    run("apart", &fifo);
    let end = experiment.end();
    assert!(end.summary.calls.mean().unwrap() > Duration::ZERO);
    let sections: Vec<Section> = sections.iter().collect();
    for (distance, calls) in [("close", 100.0), ("100us", 10.0), ("1ms", 1.0)] {
        let times = |what: &str| {
            let name = format!("{what} {distance}");
            let named = sections.iter().filter(|section| *section.name == *name);
            let times = named.map(|one| one.corrected_thread_time().unwrap().as_secs_f64());
            times.collect::<Vec<f64>>()
        };
        let median = |mut times: Vec<f64>| {
            assert_eq!(times.len(), 100);
            times.sort_by(f64::total_cmp);
            times[50]
        };
        let empty = median(times("empty"));
        assert!(empty < LEFT, "{distance}: {empty}");
        let pairs = times("with").into_iter().zip(times("without"));
        let more = median(pairs.map(|(with, without)| with - without).collect());
        let bound = COLDER * calls + 0.02 * median(times("without"));
        assert!(more.abs() < bound, "{distance}: {more} {bound}");
    }
}

/// The program under test while it calls without end; it is ended when this value is dropped.
struct Flood(Child);

impl Flood {
    fn start(fifo: &Path) -> Self {
        Self(calling("flood", fifo).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Waits until more was called than the pipe has room for.
    fn wait(&mut self) {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("flooded")));
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn events_that_found_no_room_in_the_pipe_are_counted() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let mut calls = Calls::listen(&fifo, &["flood", "last"]).unwrap();
    let mut flood = Flood::start(&fifo);
    flood.wait();
    let mut flooded = 0;
    while &*calls.wait().unwrap().unwrap().name == "flood" {
        flooded += 1;
    }
    let missed = calls.missed();
    assert!(flooded > 1000 && missed > 1000, "{flooded} {missed}");
    // Calls of "last" may have found no room either.
    assert!((40_000..41_000).contains(&(flooded + missed)), "{flooded} {missed}");
    drop(flood);
    (calls.closer())();
    while calls.wait().unwrap().is_some() {}
}

#[test]
fn program_that_ends_while_the_pipe_is_full_leaves_an_error() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let mut calls = Calls::listen(&fifo, &["flood"]).unwrap();
    let mut flood = Flood::start(&fifo);
    flood.wait();
    drop(flood);
    (calls.closer())();
    let mut flooded = 0;
    let error = loop {
        match calls.wait() {
            Ok(event) => flooded += usize::from(event.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::Other);
    assert!((1000..40_000).contains(&flooded), "{flooded}");
}

#[test]
fn name_that_cannot_be_is_refused() {
    let folder = Folder::new();
    for name in ["", &"x".repeat(97)] {
        let error = Calls::listen(&folder.path("calls"), &[name]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
    let _one = Calls::listen(&folder.path("calls"), &["a"]).unwrap();
    assert!(Calls::listen(&folder.path("calls"), &["a"]).is_err(), "the path is taken");
}

#[test]
fn bytes_that_are_no_event_end_the_source_with_an_error() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let mut calls = Calls::listen(&fifo, &["*"]).unwrap();
    let mut writer = std::fs::OpenOptions::new().write(true).open(&fifo).unwrap();
    writer.write_all(&[0xFF; 64]).unwrap();
    assert_eq!(calls.wait().unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn closed_source_has_no_more_events_though_the_pipe_is_written_on() {
    let folder = Folder::new();
    let fifo = folder.path("calls");
    let mut calls = Calls::listen(&fifo, &["flood"]).unwrap();
    let _flood = Flood::start(&fifo);
    calls.wait().unwrap().unwrap();
    (calls.closer())();
    while matches!(calls.wait(), Ok(Some(_))) {}
}

#[test]
fn file_of_another_kind_or_open_to_others_is_not_written() {
    let folder = Folder::new();
    let file = folder.path("file");
    std::fs::write(&file, "").unwrap();
    run("shop", &file);
    assert_eq!(std::fs::read(&file).unwrap(), b"");
    let fifo = folder.path("calls");
    let mut calls = Calls::listen(&fifo, &["*"]).unwrap();
    std::fs::set_permissions(&fifo, std::fs::Permissions::from_mode(0o622)).unwrap();
    run("shop", &fifo);
    std::fs::set_permissions(&fifo, std::fs::Permissions::from_mode(0o600)).unwrap();
    (calls.closer())();
    assert_eq!(calls.wait().unwrap(), None);
}
