//! Probes in unmodified programs, and threads that start and end.

use super::calls::Folder;
use super::{context, shown};
use perfhive_experiment::{
    EventKind, Experiment, ExperimentEnd, Probe, Probes, RecordBatch, Section, Threads,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that knows nothing of perfhive. Once a line comes, it calls `work` so often on each of so many threads,
/// and again in a child of each of so many forks, and `deep` a hundred times within itself. The children meet the USDT probe `shop:paid` too, where its
/// semaphore is up. With a further word it calls `work` once and then becomes itself without this word.
const SHOP: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned short shop_paid_semaphore __attribute__((section(".probes")));

static int calls;

#ifdef __GLIBC__
static int (*choose(void))(int)
{
    return NULL;
}
int chosen(int) __attribute__((ifunc("choose")));
#endif

__attribute__((noinline)) int work(int i)
{
    __asm__ volatile("" : "+r"(i));
    return i;
}

__attribute__((noinline)) int deep(int i)
{
    int j = i > 1 ? deep(i - 1) : 0;
    __asm__ volatile("" : "+r"(j));
    return j + 1;
}

static void paid(void)
{
    __asm__ volatile(
        "990: nop\n"
        ".pushsection .note.stapsdt,\"\",\"note\"\n"
        ".balign 4\n"
        ".4byte 992f-991f, 994f-993f, 3\n"
        "991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n"
        "993: .8byte 990b, 0, shop_paid_semaphore\n"
        ".asciz \"shop\"\n"
        ".asciz \"paid\"\n"
        ".asciz \"\"\n"
        "994: .balign 4\n"
        ".popsection\n");
}

static void *run(void *unused)
{
    for (int i = 0; i < calls; i++)
        work(i);
    deep(100);
    return unused;
}

int main(int count, char **words)
{
    char line;
    if (count < 4 || read(0, &line, 1) != 1)
        return 2;
    if (count > 4) {
        work(0);
        words[4] = NULL;
        execv(words[0], words);
        return 5;
    }
    calls = atoi(words[1]);
    for (int i = 0; i < atoi(words[2]); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, NULL))
            return 3;
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < atoi(words[3]); i++) {
        pid_t child = fork();
        if (child < 0)
            return 4;
        if (child == 0) {
            run(NULL);
            if (shop_paid_semaphore)
                paid();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
"#;

fn compile(folder: &Folder) -> PathBuf {
    compile_with(folder, "")
}

/// [`SHOP`] with more code behind it.
fn compile_with(folder: &Folder, more: &str) -> PathBuf {
    let (source, program) = (folder.path("shop.c"), folder.path("shop"));
    std::fs::write(&source, format!("{SHOP}{more}")).unwrap();
    let compiled =
        Command::new("cc").args(["-O1", "-pthread", "-o"]).args([&program, &source]).status();
    assert!(compiled.unwrap().success());
    program
}

/// The running program [`SHOP`], which waits for a line; it is ended when this value is dropped.
struct Shop(Child);

impl Shop {
    fn new(program: &Path, [calls, threads, forks]: [u32; 3]) -> Self {
        let numbers = [calls, threads, forks].map(|number| number.to_string());
        Self::with(program, &numbers)
    }

    fn with(program: &Path, words: &[String]) -> Self {
        Self(Command::new(program).args(words).stdin(Stdio::piped()).spawn().unwrap())
    }

    fn run(mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n\n").unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The event source of probes in a shop; `None` where this user may not place probes.
fn watch(shop: &Shop, probes: &[Probe]) -> Option<Probes> {
    match Probes::watch(shop.0.id(), probes) {
        Ok(probes) => Some(probes),
        Err(error) => {
            use std::io::ErrorKind as Kind;
            assert!(matches!(error.kind(), Kind::PermissionDenied | Kind::Unsupported), "{error}");
            eprintln!("not tested: {error}");
            None
        }
    }
}

fn counts(end: &ExperimentEnd, name: &str, kind: Option<EventKind>) -> u64 {
    let mut events = end.summary.events.iter();
    events.find(|one| &*one.name == name && one.kind == kind).map_or(0, |one| one.count)
}

#[test]
fn calls_on_threads_and_in_forks_are_events_and_sections() {
    let folder = Folder::new();
    let program = compile(&folder);
    let shop = Shop::new(&program, [50, 3, 2]);
    // Its events are not of the program.
    let other = Shop::new(&program, [50, 1, 1]);
    let work = Probe::function(&program, "work").unwrap();
    let probes = [
        work.clone().of_kind(EventKind::Start),
        work.at_return().of_kind(EventKind::End),
        Probe::usdt(&program, "shop", "paid").unwrap(),
    ];
    let Some(probes) = watch(&shop, &probes) else { return };
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(probes, context(shown())).unwrap();
    other.run();
    shop.run();
    let end = experiment.end();
    let missed = end.bindings[0].missed;
    let of_kind = |kind| counts(&end, "work", kind);
    let found = [Some(EventKind::Start), Some(EventKind::End), None].map(of_kind);
    assert_eq!((found, missed), ([250; 3], 0));
    assert_eq!(counts(&end, "shop:paid", Some(EventKind::Point)), 2);
    assert_eq!(end.summary.unmatched, 0);
    let sections = end.summary.events.iter().find(|one| one.kind.is_none()).unwrap();
    assert!(sections.time.max().unwrap() < 1.0, "{:?}", sections.time.max());
}

/// The kernel tells no more than 64 returns of functions that are called within others.
#[test]
fn returns_of_calls_within_calls_are_those_of_their_own_starts() {
    let folder = Folder::new();
    let program = compile(&folder);
    let shop = Shop::new(&program, [0, 1, 0]);
    let deep = Probe::function(&program, "deep").unwrap();
    let probes = [deep.clone().of_kind(EventKind::Start), deep.at_return().of_kind(EventKind::End)];
    let Some(probes) = watch(&shop, &probes) else { return };
    let (sender, delivered) = std::sync::mpsc::channel();
    let deliver = move |batch: &RecordBatch<'_>, sections: &[Section]| {
        let starts = batch.records().filter(|one| one.event.kind == EventKind::Start);
        let starts: Vec<_> = starts.map(|one| one.event.time).collect();
        let of_sections: Vec<_> = sections.iter().map(|one| one.start).collect();
        let _ = sender.send((starts, of_sections));
    };
    let experiment = Experiment::builder().deliver(deliver).start().unwrap();
    experiment.bind(probes, context(shown())).unwrap();
    shop.run();
    let end = experiment.end();
    let (starts, of_sections): (Vec<_>, Vec<_>) = delivered.iter().unzip();
    let starts = starts.concat();
    let ends = counts(&end, "deep", Some(EventKind::End));
    assert_eq!((starts.len(), end.bindings[0].missed), (100, 0));
    assert!(ends >= 64, "{ends}");
    let mut of_sections = of_sections.concat();
    of_sections.reverse();
    // The outer calls' returns are told, and the innermost of them returns first.
    assert_eq!(of_sections, starts[..ends as usize]);
    assert_eq!(end.summary.unmatched, 100 - ends);
}

#[test]
fn hits_before_the_program_are_left_out() {
    let folder = Folder::new();
    let program = compile(&folder);
    let words = ["50", "1", "1", "again"].map(str::to_string);
    for (after_exec, count) in [(true, 100), (false, 101)] {
        let shop = Shop::with(&program, &words);
        let Some(probes) = watch(&shop, &[Probe::function(&program, "work").unwrap()]) else {
            return;
        };
        let probes = if after_exec { probes.after_exec() } else { probes };
        let experiment = Experiment::builder().start().unwrap();
        experiment.bind(probes, context(shown())).unwrap();
        shop.run();
        let end = experiment.end();
        assert_eq!(counts(&end, "work", Some(EventKind::Point)), count);
    }
}

#[test]
fn damaged_program_files_are_read_or_refused() {
    let folder = Folder::new();
    let whole = std::fs::read(compile(&folder)).unwrap();
    let file = folder.path("damaged");
    let read = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let _ = Probe::function(&file, "work");
        let _ = Probe::usdt(&file, "shop", "paid");
    };
    (0..whole.len()).step_by(97).for_each(|end| read(&whole[..end]));
    // Headers at the beginning, symbols, notes and the table of sections behind.
    for at in (0..700).chain((700..whole.len()).step_by(23)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        read(&bytes);
    }
}

#[test]
fn return_in_a_file_that_unwinds_may_end_the_program() {
    for (more, unwinds) in [("", false), ("void _Unwind_Resume(void) {}\n", true)] {
        let folder = Folder::new();
        let program = compile_with(&folder, more);
        let work = Probe::function(&program, "work").unwrap();
        assert!(!work.may_end_program());
        assert_eq!(work.at_return().may_end_program(), unwinds);
    }
}

#[test]
fn what_is_not_in_a_file_is_named() {
    use std::io::ErrorKind;
    let folder = Folder::new();
    let program = compile(&folder);
    let script = folder.path("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    for (probe, kind, words) in [
        (Probe::function(&program, "toil"), ErrorKind::NotFound, "no function toil"),
        #[cfg(target_env = "gnu")]
        (Probe::function(&program, "chosen"), ErrorKind::NotFound, "one of several functions"),
        (Probe::usdt(&program, "shop", "sold"), ErrorKind::NotFound, "but shop:paid"),
        (
            Probe::usdt(Path::new("/bin/true"), "shop", "sold"),
            ErrorKind::NotFound,
            "no USDT probes",
        ),
        (Probe::function(&script, "work"), ErrorKind::InvalidData, "a script"),
        (Probe::function(Path::new("/dev/zero"), "work"), ErrorKind::InvalidData, "no file"),
        (Probe::function(Path::new("/no/such"), "work"), ErrorKind::NotFound, "/no/such"),
    ] {
        let error = probe.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn hits_beyond_the_room_are_counted_as_missed() {
    let folder = Folder::new();
    let program = compile(&folder);
    let calls = 60_000;
    let shop = Shop::new(&program, [calls, 1, 0]);
    let probes = [Probe::function(&program, "work").unwrap()];
    let Some(probes) = watch(&shop, &probes) else { return };
    let experiment = Experiment::builder().capacity(1 << 16).start().unwrap();
    // Nothing is read while the program runs.
    let slow = Slow { probes, shop: Some(shop) };
    experiment.bind(slow, context(shown())).unwrap();
    while experiment.bindings()[0].events == 0 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let end = experiment.end();
    let (found, missed) = (counts(&end, "work", Some(EventKind::Point)), end.bindings[0].missed);
    assert_eq!(found + missed, u64::from(calls), "{found} {missed}");
    assert!(found > 1000 && missed > 1000, "{found} {missed}");
}

/// An event source of probes that is first read when the program with the probes has ended.
struct Slow {
    probes: Probes,
    shop: Option<Shop>,
}

impl perfhive_experiment::EventSource for Slow {
    fn name(&self) -> &str {
        self.probes.name()
    }

    fn wait(&mut self) -> std::io::Result<Option<perfhive_experiment::PerfEvent>> {
        if let Some(shop) = self.shop.take() {
            shop.run();
        }
        self.probes.wait()
    }

    fn closer(&self) -> perfhive_experiment::Closer {
        self.probes.closer()
    }

    fn missed(&self) -> u64 {
        self.probes.missed()
    }
}

#[test]
fn each_of_a_thousand_short_threads_is_an_event_or_missed() {
    let folder = Folder::new();
    let program = compile(&folder);
    let shop = Shop::new(&program, [1, 1000, 0]);
    let threads = Threads::watch(shop.0.id(), EventKind::Point, Duration::from_millis(20)).unwrap();
    if threads.every().is_some() {
        eprintln!("not tested: the kernel does not tell this user of threads");
        return;
    }
    let experiment = Experiment::builder().start().unwrap();
    experiment.bind(threads, context(shown())).unwrap();
    shop.run();
    let end = experiment.end();
    let found = [EventKind::Start, EventKind::End].map(|kind| counts(&end, "thread", Some(kind)));
    let missed = end.bindings[0].missed;
    assert!(found.iter().all(|count| *count <= 1000), "{found:?}");
    assert_eq!(found.iter().sum::<u64>() + missed, 2000, "{found:?} {missed}");
    assert!(found[0] > 900, "{found:?} {missed}");
}

#[test]
fn long_thread_is_an_event_by_lists_too() {
    use perfhive_experiment::EventSource as _;
    let every = Duration::from_millis(5);
    let own = std::process::id();
    let mut threads = Threads::by_lists(own, EventKind::Point, every).unwrap();
    assert_eq!(threads.every(), Some(every));
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
        ended.recv().unwrap_err();
    });
    let number = told.recv().unwrap();
    let mut reached = |kind| {
        // Other tests may have threads in this process.
        while let Some(event) = threads.wait().unwrap() {
            if (event.kind, event.thread) == (kind, number) {
                assert_eq!((&*event.name, event.process), ("thread", own));
                return;
            }
        }
        panic!("no event");
    };
    reached(EventKind::Start);
    drop(end);
    thread.join().unwrap();
    reached(EventKind::End);
}
