//! Compares the BPF reader's values of processes that have not run with those of new readers, which read
//! everything.

use super::{ALL, Children, Values, again, instances, machine, refused, role};
use crate::common::{Look, Machine};
use crate::resting::{Orphan, Shell, WORK, wait_for};
use perfhive_linux::ReaderChoice;
use rustix::process::{Pid, setpriority_process};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};

/// The objects of a request, and the counters on request (object, counter).
type Wish = (&'static [u32], &'static [(u32, u32)]);

/// The requests that are made in turn.
const WISHES: [Wish; 6] = [
    (&[230], &[]),
    (&[230], &[(230, 952)]),
    (&[230], &[(230, 105_002)]),
    (&[230], &[(230, 172), (230, 178), (230, 105_008)]),
    (&[230, 232], &[]),
    (&[230, 232], ALL),
];

/// Makes this process have as many further threads as the last line of its input says.
fn be_of_many_threads() {
    let mut threads = Vec::new();
    println!("\nready");
    for line in std::io::stdin().lines() {
        for (end, thread) in threads.drain(..) {
            drop::<std::sync::mpsc::Sender<()>>(end);
            let _ = std::thread::JoinHandle::join(thread);
        }
        for _ in 0..line.unwrap().parse::<u32>().unwrap() {
            let (end, ended) = std::sync::mpsc::channel();
            threads.push((end, std::thread::spawn(move || ended.recv().is_ok())));
        }
        println!("ready");
    }
    std::process::exit(0);
}

type Told = BTreeMap<(u64, u64, u64), (String, Values)>;

/// The instances of an object by process ID, thread ID and start, without the parts of their time, which
/// depend on the moment of reading.
fn told(look: &Look, object: u32) -> Told {
    let all = instances(look, object).into_iter();
    let all = all.map(|(id, (name, _, mut values))| {
        values.retain(|counter, _| ![142, 144].contains(counter));
        (id, (name, values))
    });
    all.collect()
}

/// Compares a reader that knows the processes with new readers just before and after it, where
/// these two agree. Returns the IDs of the compared processes.
fn compare(known: &mut Machine, (objects, extra): Wish) -> Vec<u64> {
    let before = machine(ReaderChoice::Bpf).look(objects, extra);
    let now = known.look(objects, extra);
    let after = machine(ReaderChoice::Bpf).look(objects, extra);
    assert_eq!(now.fault_texts(), Vec::<String>::new());
    let mut compared = Vec::new();
    let own = u64::from(std::process::id());
    for object in objects {
        let mut looks = [&before, &now, &after].map(|look| told(look, *object));
        // A thread's name is the number of threads before it, and changes when others come and go.
        let threads = |all: &Told, pid: u64| -> Vec<u64> {
            all.keys().filter(|id| id.0 == pid).map(|id| id.1).collect()
        };
        let pids: BTreeSet<u64> = looks.iter().flat_map(|all| all.keys().map(|id| id.0)).collect();
        for pid in pids {
            let [before, now, after] = looks.each_ref().map(|all| threads(all, pid));
            if before != now || now != after {
                for all in &mut looks {
                    let of_it = all.iter_mut().filter(|(id, _)| id.0 == pid);
                    of_it.for_each(|(_, (name, _))| name.clear());
                }
            }
        }
        let [before, now, after] = looks;
        for (id, values) in before.iter().filter(|(id, _)| id.0 != own) {
            if after.get(id) == Some(values) {
                assert_eq!(now.get(id), Some(values), "{object} {id:?}");
                compared.push(id.0);
            }
        }
    }
    compared
}

/// A child process that runs [`be_of_many_threads`].
struct Threads(Child, ChildStdin, BufReader<std::process::ChildStdout>);

impl Threads {
    fn new(test: &str) -> Self {
        let mut command = again(test, "threads");
        // If tests run one at a time, the test runs in the first thread.
        command.env("RUST_TEST_THREADS", "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut threads = Self(child, input, BufReader::new(output));
        threads.ready();
        threads
    }

    fn ready(&mut self) {
        let mut line = String::new();
        while line != "ready\n" {
            line.clear();
            assert!(self.2.read_line(&mut line).unwrap() > 0, "it has ended");
        }
    }

    fn have(&mut self, count: u32) {
        writeln!(self.1, "{count}").unwrap();
        self.ready();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Random changes between two readings, with changing requests: processes work and end, later processes
/// move up in the list, they get other parents and priorities, more threads and fewer.
#[test]
fn a_reader_that_knows_the_processes_equals_a_new_one() {
    const TEST: &str = "rested::a_reader_that_knows_the_processes_equals_a_new_one";
    if role().is_some() {
        return be_of_many_threads();
    }
    if refused() {
        return;
    }
    let mut known = machine(ReaderChoice::Bpf);
    let mut sleepers = Children(Vec::new());
    let mut zombies = Children(Vec::new());
    let mut orphans = Vec::new();
    for _ in 0..12 {
        sleepers.spawn("sleep", &["600"]);
    }
    let mut shells: Vec<Shell> = (0..4).map(|_| Shell::new()).collect();
    let mut threads = Threads::new(TEST);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 8) as usize % below
    };
    let rounds = std::env::var("PERFHIVE_CASES").ok().and_then(|cases| cases.parse().ok());
    for round in 0..rounds.unwrap_or(20) {
        // The same request is made several times, so that the reader keeps a picture of all processes; it is
        // used while no process starts or ends.
        let wish = WISHES[random(WISHES.len())];
        for _ in 0..random(5) {
            known.look(wish.0, wish.1);
        }
        for _ in 0..1 + random(4) {
            let shell = random(shells.len());
            let id = shells[shell].id();
            let sleeper = random(sleepers.0.len());
            match random(9) {
                0 | 1 => drop(shells[shell].run(WORK[random(WORK.len())])),
                2 => {
                    let pids = [id, sleepers.0[sleeper].id()];
                    let pid = Pid::from_raw(pids[random(2)] as i32);
                    setpriority_process(pid, random(15) as i32).unwrap();
                }
                // The peaks become the present values.
                3 => std::fs::write(format!("/proc/{id}/clear_refs"), "5").unwrap(),
                // All processes behind it in the list move up.
                4 => {
                    let mut child = sleepers.0.remove(sleeper);
                    child.kill().unwrap();
                    child.wait().unwrap();
                    sleepers.spawn("sleep", &["600"]);
                }
                5 => drop(sleepers.spawn("sleep", &["600"])),
                6 if sleepers.0.len() > 4 => {
                    let mut child = sleepers.0.remove(sleeper);
                    child.kill().unwrap();
                    wait_for(child.id(), b"Z");
                    zombies.0.push(child);
                }
                7 => {
                    let said = shells[shell].run("sleep 600 > /dev/null 2>&1 & echo $!");
                    let orphan = Orphan::of(&said);
                    known.look(&[230], &[]);
                    shells[shell] = Shell::new();
                    orphans.push(orphan);
                }
                _ => threads.have(random(3) as u32),
            }
        }
        for _ in 0..random(6).saturating_sub(3) {
            let (objects, extra) = WISHES[random(WISHES.len())];
            known.look(objects, extra);
        }
        let mut left: Vec<u64> = shells.iter().map(|shell| u64::from(shell.id())).collect();
        // Between two readings the kernel may take memory away from a sleeping process.
        for _ in 0..30 {
            let compared = compare(&mut known, wish);
            left.retain(|id| !compared.contains(id));
            if left.is_empty() {
                break;
            }
        }
        assert!(left.is_empty(), "round {round}: not {left:?}");
    }
}

/// A reader sees values that other processes change while a process sleeps.
#[test]
fn outside_changes_of_a_sleeping_process_are_seen() {
    if refused() {
        return;
    }
    let mut shell = Shell::new();
    // The process gave memory back.
    shell.run(
        "x=1234567890123456; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do x=$x$x; done",
    );
    shell.run("x=");
    let id = shell.id();
    let mut bpf = machine(ReaderChoice::Bpf);
    let schedule = &[(230, 105_002), (230, 178)][..];
    let mut value = |counter: u32, extra: &[(u32, u32)]| {
        let look = bpf.look(&[230], extra);
        look.value_of(230, look.process(id).unwrap(), counter)
    };
    for nice in [7, 9] {
        // The value is the same after it was not wanted for a while.
        value(180, &[]);
        value(180, &[]);
        setpriority_process(Pid::from_raw(id as i32), nice).unwrap();
        for _ in 0..2 {
            assert_eq!(value(105_002, schedule), Some(20 + nice as u64));
        }
    }
    setpriority_process(Pid::from_raw(id as i32), 11).unwrap();
    assert_eq!(value(105_002, schedule), Some(31));
    // The kernel resets the peak to a quick sum over per-processor counters, which may differ by
    // some dozens of pages from the exact one for each.
    const NEAR: u64 = 1 << 20;
    let mut above = || {
        let look = bpf.look(&[230], schedule);
        let process = look.process(id).unwrap();
        let of = |counter| look.value_of(230, process, counter).unwrap();
        of(178) - of(180)
    };
    let peak = above();
    assert!(peak > 2 * NEAR, "{peak}");
    std::fs::write(format!("/proc/{id}/clear_refs"), "5").unwrap();
    let peak = above();
    assert!(peak < NEAR, "{peak}");
}
