//! The costs of a warm collection: memory, system calls, open files.

use crate::common::{Machine, Tree};
use perfhive_engine::{Ask, InstanceWish, ObjectQuery};
use perfhive_format::TitleIndex;
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice};
use perfhive_testkit::alloc::count;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Write;
use std::process::{Child, Command, Stdio};

const ALONE: &str = "PERFHIVE_LINUX_ALONE";

/// Runs the body of a test in a process of its own, since it measures the whole process. The test is one of
/// this module unless its path is given.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var(ALONE).is_ok_and(|name| name == test) {
        body();
        return;
    }
    let path = if test.contains("::") { test.to_string() } else { format!("warm::{test}") };
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &path, "--nocapture"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Sleeping child processes, which end when this is dropped.
pub(crate) struct Sleepers(pub(crate) Vec<Child>);

impl Sleepers {
    pub(crate) fn new(count: usize) -> Self {
        Self::start(count, || {
            let mut command = Command::new("sleep");
            command.arg("600").stdin(Stdio::null());
            command
        })
    }

    fn start(count: usize, command: impl Fn() -> Command) -> Self {
        Self((0..count).map(|_| command().spawn().unwrap()).collect())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

/// The providers of this machine, which read everything from `/proc`.
fn proc() -> Machine {
    Machine::with(&ProcRoot::default(), &LinuxOptions::new().reader(ReaderChoice::Proc))
}

#[test]
fn a_warm_collection_allocates_nothing() {
    alone("warm::a_warm_collection_allocates_nothing", || {
        let _sleepers = Sleepers::new(40);
        let mut machine = proc();
        for (objects, extra) in [
            (&[230][..], false),
            (&[230], true),
            (&[230, 232], true),
            (&[2, 4, 230, 232, 238], true),
            (&[740, 786, 816, 1408], false),
        ] {
            let wanted: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
            let mut request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
            if extra {
                request.extra_counters =
                    wanted.iter().map(|object| (*object, TitleIndex(0))).collect();
            }
            for _ in 0..3 {
                machine.collect(&request, &wanted);
            }
            // A new process elsewhere may make a list longer, and other tests start many processes.
            let mut counts = (0..200).map(|_| count(|| machine.collect(&request, &wanted)).1.count);
            assert!(counts.any(|count| count == 0), "{objects:?}");
        }

        // All objects from memory maps, on a frozen machine.
        let tree = Tree::machine();
        for pid in 10..60 {
            tree.process(pid, b"prog");
            let numbers = "Rss: 4 kB\nPss: 4 kB\nPrivate_Dirty: 4 kB\nSwap: 4 kB\n";
            let line = |at: u32| format!("{at}000-{at}800 r-xp 0 fe:00 1 /lib/{at}\n{numbers}");
            tree.file(&format!("{pid}/smaps"), (0..pid).map(line).collect::<String>());
            tree.file(&format!("{pid}/task/{pid}/syscall"), "0 0x1 0x2 0x3\n");
        }
        let wanted = [740, 786, 816, 1408].map(TitleIndex);
        let mut request = Ask::new(ObjectQuery::Indexes(wanted.to_vec()));
        request.extra_counters = wanted.map(|object| (object, TitleIndex(0))).to_vec();
        let mut machine = Machine::new(&tree.root());
        for _ in 0..3 {
            machine.collect(&request, &wanted);
        }
        assert_eq!(count(|| machine.collect(&request, &wanted)).1.count, 0);
    });
}

#[test]
fn files_of_processes_are_kept_and_given_back() {
    alone("warm::files_of_processes_are_kept_and_given_back", || {
        let mut sleepers = Sleepers::new(2);
        let open = |pid: u32| {
            let links = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
                std::fs::read_link(entry.unwrap().path()).ok()?.to_str().map(str::to_string)
            });
            links.filter(|link| link.starts_with(&format!("/proc/{pid}/"))).count()
        };
        let (first, second) = (sleepers.0[0].id(), sleepers.0[1].id());
        let mut machine = proc();
        machine.look(&[230, 232], &[(230, 0), (232, 0)]);
        machine.look(&[230, 232], &[(230, 0), (232, 0)]);
        // The open files are `stat`, `statm` and `io`, and `stat` of the first thread.
        assert_eq!((open(first), open(second)), (4, 4));
        sleepers.0[0].kill().unwrap();
        sleepers.0[0].wait().unwrap();
        machine.look(&[230], &[]);
        assert_eq!((open(first), open(second)), (0, 4));
        drop(machine);
        assert_eq!(open(second), 0);
    });
}

/// All sessions of a program share one budget: each session returns its part when it ends.
#[test]
fn sessions_in_turn_share_the_budget_of_files() {
    alone("warm::sessions_in_turn_share_the_budget_of_files", || {
        let before = getrlimit(Resource::Nofile);
        let _sleepers = Sleepers::new(30);
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let at_first = open();
        for _ in 0..3 {
            let mut machine = proc();
            machine.look(&[230], &[]);
            // Half of the limit less 64, plus the folders and the files of the system.
            let kept = open() - at_first;
            assert!((64..96).contains(&kept), "{kept}");
            drop(machine);
            assert_eq!(open(), at_first);
        }
    });
}

#[test]
fn without_free_descriptors_all_values_are_read() {
    alone("warm::without_free_descriptors_all_values_are_read", || {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
        let sleepers = Sleepers::new(100);
        let (mut machine, mut fresh) = (proc(), proc());
        // The files of some processes stay open, those of others are opened each time.
        let whole = machine.look(&[230, 232], &[(230, 0), (232, 0)]);
        assert_eq!(whole.fault_texts(), Vec::<String>::new());

        let mut taken = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            taken.push(file);
        }
        let some = machine.look(&[230, 232], &[(230, 0), (232, 0)]);
        let none = fresh.look(&[2, 4, 230, 232, 238], &[(230, 0)]);
        drop(taken);
        let again = machine.look(&[230, 232], &[(230, 0), (232, 0)]);
        setrlimit(Resource::Nofile, before).unwrap();

        let (some_count, whole_count) = (some.names(230).len(), whole.names(230).len());
        assert!(some_count > 5 && some_count < whole_count - 50, "{some_count} of {whole_count}");
        let texts = some.fault_texts();
        assert!(texts.iter().any(|text| text.contains("Too many open files")), "{texts:?}");
        assert!(texts.len() < 50, "{texts:?}");
        assert_eq!(none.names(230), ["_Total"]);
        assert!(none.has(2) && !none.has(4) && !none.has(238));
        assert_eq!(again.fault_texts(), Vec::<String>::new());
        assert!(again.names(230).len() >= 100);
        let last = again.process(sleepers.0[99].id()).unwrap();
        assert!(again.value_of(230, last, 1412).is_some());
    });
}

const ROUNDS: &str = "PERFHIVE_WARM_ROUNDS";

/// Makes collections in a process that runs under `strace`.
fn run_rounds(rounds: u32, objects: &[u32], extra: &[(u32, u32)]) {
    let wanted: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
    let mut request = Ask::objects(&wanted);
    request.extra_counters =
        extra.iter().map(|(object, counter)| (TitleIndex(*object), TitleIndex(*counter))).collect();
    collect_rounds(rounds, &request, &wanted);
}

fn collect_rounds(rounds: u32, request: &Ask, wanted: &[TitleIndex]) {
    let mut machine = proc();
    for _ in 0..rounds {
        machine.collect(request, wanted);
    }
}

/// The number of system calls of a test with this many rounds, including the program's start; `None` where they
/// cannot be counted.
fn calls_of(test: &str, rounds: u32) -> Option<u64> {
    let report = format!("perfhive-calls-{test}-{}", std::process::id());
    let report = std::env::temp_dir().join(report);
    let status = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&report)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("warm::{test}")])
        .env(ROUNDS, rounds.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let text = std::fs::read_to_string(&report);
    let _ = std::fs::remove_file(&report);
    // strace is not installed, or may not trace.
    if !status.is_ok_and(|status| status.success()) {
        return None;
    }
    let text = text.ok()?;
    let total = text.lines().find(|line| line.ends_with(" total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

/// The numbers of the processes and threads that are read.
#[derive(Clone, Copy)]
struct Census {
    processes: usize,
    /// Processes without memory: kernel threads and ended processes, which may have one file less.
    empty: usize,
    threads: usize,
    /// Processes with several threads.
    several: usize,
}

impl Census {
    fn take() -> Self {
        let mut census = Self { processes: 0, empty: 0, threads: 0, several: 0 };
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            if name.to_str().is_none_or(|name| name.parse::<u32>().is_err()) {
                continue;
            }
            let statm = std::fs::read(entry.path().join("statm"));
            let threads = std::fs::read_dir(entry.path().join("task")).map_or(0, Iterator::count);
            census.processes += 1;
            census.empty += usize::from(statm.is_ok_and(|text| text == b"0 0 0 0 0 0 0\n"));
            census.threads += threads;
            census.several += usize::from(threads > 1);
        }
        census
    }

    /// The smaller of both numbers, for each field.
    fn least(self, other: Self) -> Self {
        Self {
            processes: self.processes.min(other.processes),
            empty: self.empty.min(other.empty),
            threads: self.threads.min(other.threads),
            several: self.several.min(other.several),
        }
    }
}

/// Asserts that a warm collection makes at most `most` system calls. Processes that others start meanwhile
/// only add calls, so one of several attempts has to succeed. A result below `least`, the
/// number of files to read, means that the short run met more new processes than the long run: it
/// does not count.
fn assert_calls(test: &str, least: impl Fn(Census) -> f64, most: impl Fn(Census) -> f64) {
    let mut found = Vec::new();
    for _ in 0..12 {
        let before = Census::take();
        let (Some(few), Some(many)) = (calls_of(test, 15), calls_of(test, 35)) else {
            eprintln!("strace cannot be used here: system calls are not counted");
            return;
        };
        let calls = (many as f64 - few as f64) / 20.0;
        let census = before.least(Census::take());
        if calls >= least(census) && calls <= most(census) {
            return;
        }
        found.push((calls, least(census), most(census)));
    }
    panic!("system calls, and what they should be between: {found:?}");
}

/// Counters on request, here the nice value, are read from the same files, for resting processes as well.
#[test]
fn at_most_three_system_calls_for_each_process() {
    if let Ok(rounds) = std::env::var(ROUNDS) {
        return run_rounds(rounds.parse().unwrap(), &[230], &[(230, 105_002)]);
    }
    let _sleepers = Sleepers::new(150);
    assert_calls(
        "at_most_three_system_calls_for_each_process",
        |census| 2.9 * census.processes as f64 - census.empty as f64,
        |census| 3.1 * census.processes as f64,
    );
}

#[test]
fn one_process_takes_three_system_calls() {
    let wanted = [TitleIndex(230)];
    if let Ok(rounds) = std::env::var(ROUNDS) {
        let own = InstanceWish::Process(std::process::id());
        let request = Ask::objects(&wanted).with_instance(wanted[0], own);
        return collect_rounds(rounds.parse().unwrap(), &request, &wanted);
    }
    assert_calls("one_process_takes_three_system_calls", |_| 2.9, |_| 3.1);
}

#[test]
fn processor_time_of_one_process_takes_one_system_call() {
    let wanted = [TitleIndex(230)];
    if let Ok(rounds) = std::env::var(ROUNDS) {
        let own = InstanceWish::Process(std::process::id());
        let request = Ask::objects(&wanted).with_instance(wanted[0], own);
        let request = request.with_enough(wanted[0], TitleIndex(6));
        return collect_rounds(rounds.parse().unwrap(), &request, &wanted);
    }
    assert_calls("processor_time_of_one_process_takes_one_system_call", |_| 0.9, |_| 1.1);
}

/// Handle Count is the size of a folder that is kept open, where the kernel tells it (Linux 6.2).
#[test]
fn one_process_with_handle_count_takes_four_system_calls_among_many() {
    let test = "one_process_with_handle_count_takes_four_system_calls_among_many";
    let wanted = [TitleIndex(230)];
    if let Ok(rounds) = std::env::var(ROUNDS) {
        let own = InstanceWish::Process(std::process::id());
        let mut request = Ask::objects(&wanted).with_instance(wanted[0], own);
        request.extra_counters = vec![(wanted[0], TitleIndex(952))];
        return collect_rounds(rounds.parse().unwrap(), &request, &wanted);
    }
    let is_told = std::fs::metadata("/proc/self/fd").is_ok_and(|folder| folder.len() > 0);
    let _sleepers = Sleepers::new(150);
    // Elsewhere the folder is opened, listed to its end and closed.
    let most = if is_told { 4.1 } else { 7.1 };
    assert_calls(test, |_| 3.9, |_| most);
}

/// Only the test's sleepers rest for certain: other processes may do anything.
#[test]
fn a_resting_process_takes_two_system_calls() {
    const SLEEPERS: usize = 150;
    if let Ok(rounds) = std::env::var(ROUNDS) {
        return run_rounds(rounds.parse().unwrap(), &[230], &[]);
    }
    let _sleepers = Sleepers::new(SLEEPERS);
    assert_calls(
        "a_resting_process_takes_two_system_calls",
        |census| 1.9 * census.processes as f64 - census.empty as f64,
        |census| 2.1 * SLEEPERS as f64 + 3.1 * (census.processes - SLEEPERS) as f64,
    );
}

/// If many processes run again at once, needless checks stop before they cost more than this.
#[test]
fn at_most_three_system_calls_for_each_process_that_runs_now_and_then() {
    if let Ok(rounds) = std::env::var(ROUNDS) {
        return run_rounds(rounds.parse().unwrap(), &[230], &[]);
    }
    let mut wakers = Sleepers::start(100, || {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command
    });
    let mut inputs: Vec<_> = wakers.0.iter_mut().filter_map(|child| child.stdin.take()).collect();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let waking = std::thread::spawn(move || {
        let pause = std::time::Duration::from_millis(40);
        while ended.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            inputs.iter_mut().for_each(|input| input.write_all(b"x").unwrap());
        }
    });
    assert_calls(
        "at_most_three_system_calls_for_each_process_that_runs_now_and_then",
        |census| 1.9 * census.processes as f64 - census.empty as f64,
        |census| 3.1 * census.processes as f64,
    );
    drop(end);
    waking.join().unwrap();
}

#[test]
fn each_thread_takes_one_more_system_call() {
    const THREADS: usize = 200;
    if let Ok(rounds) = std::env::var(ROUNDS) {
        for _ in 0..THREADS {
            std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(600)));
        }
        return run_rounds(rounds.parse().unwrap(), &[230, 232], &[]);
    }
    const SLEEPERS: usize = 100;
    let _sleepers = Sleepers::new(SLEEPERS);
    assert_calls(
        "each_thread_takes_one_more_system_call",
        |census| {
            let threads = census.threads + THREADS;
            1.9 * census.processes as f64 - census.empty as f64 + 0.9 * threads as f64
        },
        // Three more calls list the threads of a process that has several.
        |census| {
            let threads = census.threads + THREADS;
            2.1 * SLEEPERS as f64
                + 3.1 * (census.processes - SLEEPERS) as f64
                + 1.1 * threads as f64
                + 3.0 * census.several as f64
        },
    );
}

#[test]
fn files_of_threads_are_kept_and_given_back() {
    alone("files_of_threads_are_kept_and_given_back", || {
        let open = || {
            let links = std::fs::read_dir("/proc/self/fd").unwrap();
            let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            let prefix = format!("/proc/{}/task/", std::process::id());
            links.filter(|link| link.to_str().is_some_and(|l| l.starts_with(&prefix))).count()
        };
        let mut machine = Machine::new(&ProcRoot::default());
        let mut look = || {
            let look = machine.look(&[230, 232], &[]);
            assert_eq!(look.fault_texts(), Vec::<String>::new());
            let pid = u64::from(std::process::id());
            let object = look.object(232);
            let own = |instance| look.value_of(232, instance, 784) == Some(pid);
            object.instances().filter(|instance| own(*instance)).count()
        };
        let before = (look(), open());
        let (ready, start) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
        let threads: Vec<_> = (0..20)
            .map(|_| {
                let (ready, wait) = (ready.clone(), wait.clone());
                std::thread::spawn(move || {
                    ready.send(()).unwrap();
                    let _ = wait.lock().unwrap().recv();
                })
            })
            .collect();
        (0..20).for_each(|_| start.recv().unwrap());
        for _ in 0..2 {
            assert_eq!(look(), before.0 + 20);
            assert_eq!(open(), before.1 + 20);
        }
        // The file of an ended thread is closed at the next collection.
        drop(end);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // A joined thread may still exist for a moment.
        let mut after = (0, 0);
        for _ in 0..100 {
            after = (look(), open());
            if after == before {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(after, before);
    });
}

#[test]
fn at_most_as_many_files_stay_open_as_the_program_wants() {
    alone("at_most_as_many_files_stay_open_as_the_program_wants", || {
        let of_processes = || {
            let links = std::fs::read_dir("/proc/self/fd").unwrap();
            let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            let texts = links.filter_map(|link| link.to_str().map(str::to_owned));
            texts.filter(|link| link.starts_with("/proc/") && link.ends_with("/stat")).count()
        };
        let _sleepers = Sleepers::new(20);
        for most in [0, 5] {
            perfhive_linux::keep_open_at_most(most);
            let mut machine = proc();
            machine.look(&[230], &[]);
            // The machine's own `stat` is not included.
            assert!(of_processes() <= most + 1, "{most}");
        }
        perfhive_linux::keep_open_at_most(16_384);
        let mut machine = proc();
        machine.look(&[230], &[]);
        assert!(of_processes() >= 20);
    });
}
