//! Resting processes are read in part, with the same values: a session that does so is compared with
//! new sessions, which read everything, and with a session that reads resting processes in full.

use crate::common::{Look, Machine};
use crate::odd::within;
use crate::warm::{Sleepers, alone};
use perfhive_format::CounterPlan;
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

fn proc() -> Machine {
    Machine::with(&ProcRoot::default(), &LinuxOptions::new().reader(ReaderChoice::Proc))
}

/// The name, the values and the number of threads of a process.
type Row = (String, Vec<Option<u64>>, Option<u64>);

/// The values of each process by its ID; `None` for a missing value.
fn processes(look: &Look) -> BTreeMap<u64, Row> {
    let object = look.object(230);
    let counters = CounterPlan::all(object);
    let place = |index| counters.iter().position(|plan| plan.name.0 == index).unwrap();
    let (at, threads) = (place(784), place(680));
    let processes = object.instances().filter_map(|instance| {
        let block = instance.counter_block();
        let values: Vec<_> = counters.iter().map(|counter| counter.value(block).ok()).collect();
        let number = values.get(at).copied().flatten().filter(|number| *number > 0)?;
        let threads = values.get(threads).copied().flatten();
        Some((number, (instance.name().to_text(), values, threads)))
    });
    processes.collect()
}

/// The `schedstat` of each process: how often and how long it had a processor.
fn turns() -> BTreeMap<u64, Vec<u8>> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let turns = entries.filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, std::fs::read(entry.path().join("schedstat")).ok()?))
    });
    turns.collect()
}

/// Compares a session that knows the processes with new sessions just before and after it, where
/// these two agree and the process has not run in between (a kernel worker may have returned to its
/// earlier name). Returns how many processes were compared.
fn compare(known: &mut Machine) -> usize {
    compare_with(known, proc)
}

/// Like [`compare`], with new sessions made by `full`.
fn compare_with(known: &mut Machine, full: impl Fn() -> Machine) -> usize {
    let turns_before = turns();
    let before = processes(&full().look(&[230], &[]));
    let now = processes(&known.look(&[230], &[]));
    let after = processes(&full().look(&[230], &[]));
    let turns_after = turns();
    let mut compared = 0;
    // This program may read its own open files even if it has become another user.
    let own = u64::from(std::process::id());
    for (number, values) in before.iter().filter(|(number, _)| **number != own) {
        // For processes with several threads, `schedstat` of all threads would have to be compared.
        let rested = values.2 == Some(1)
            && turns_before.get(number).is_some_and(|t| turns_after.get(number) == Some(t));
        if rested && after.get(number) == Some(values) {
            assert_eq!(now.get(number), Some(values), "PID {number}");
            compared += 1;
        }
    }
    compared
}

/// Collects until this many processes are known to rest, but at least 16 times.
fn settle(machine: &mut Machine, resting: usize) {
    for look in 0..2000 {
        if look >= 16 && watched() >= resting {
            return;
        }
        machine.look(&[230], &[]);
    }
    panic!("{} of {resting} are known to rest", watched());
}

/// How many processes a session knows to rest: it has a file `schedstat` open for each of these.
fn watched() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    links.filter(|link| link.to_str().is_some_and(|link| link.ends_with("/schedstat"))).count()
}

fn state(pid: u32) -> Option<u8> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    text.get(close + 2).copied()
}

/// Waits for a process to be in one of these states.
pub(crate) fn wait_for(pid: u32, states: &[u8]) {
    for _ in 0..10_000 {
        match state(pid) {
            Some(state) if states.contains(&state) => return,
            _ => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
    panic!("{pid} is {:?}", state(pid));
}

/// A shell that runs commands, and sleeps between two of them.
pub(crate) struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let mut command = Command::new("sh");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut shell = Self { child, input, output: BufReader::new(output) };
        shell.run(":");
        shell
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Runs a command and returns its output; afterwards the shell sleeps again.
    pub(crate) fn run(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}; echo done").unwrap();
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the shell has ended");
            if line == "done\n" {
                break;
            }
            said += &line;
        }
        wait_for(self.id(), b"S");
        said
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that this process is not the parent of; it ends when this is dropped.
pub(crate) struct Orphan(u32);

impl Orphan {
    pub(crate) fn of(said: &str) -> Self {
        Self(said.trim().parse().unwrap())
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.0 as i32).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Commands that a shell runs without starting a child.
pub(crate) const WORK: [&str; 8] = [
    ":",
    "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
    "read x < /proc/version",
    "echo some more text > /dev/null",
    "x=1234567890123456; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do x=$x$x; done; x=",
    "echo another > /proc/$$/comm",
    "echo 'a) b (c' > /proc/$$/comm",
    "exec sh -c 'echo done; exec sh'",
];

/// Needless checks of one process use up the saved calls of others only for a while: every sleeping
/// process is found to rest, even one that has hardly ever run.
#[test]
fn every_sleeping_process_is_found_to_rest() {
    alone("resting::every_sleeping_process_is_found_to_rest", || {
        let sleepers = Sleepers::new(20);
        let mut machine = proc();
        let watches = |pid: u32| {
            let links = std::fs::read_dir("/proc/self/fd").unwrap();
            let mut links =
                links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            links.any(|link| link == std::path::Path::new(&format!("/proc/{pid}/schedstat")))
        };
        let may_rest = |pid: &u32| {
            let turns = std::fs::read_to_string(format!("/proc/{pid}/schedstat"));
            let ran = turns.is_ok_and(|turns| turns.split(' ').nth(2) != Some("0\n"));
            ran && state(*pid).is_some_and(|state| b"SI".contains(&state))
        };
        // Kernel threads that were created at the machine's start, and the sleepers.
        let workers = (2..40).filter(|pid| {
            let tasks = std::fs::read_to_string(format!("/proc/{pid}/statm"));
            tasks.is_ok_and(|text| text == "0 0 0 0 0 0 0\n") && may_rest(pid)
        });
        let mut left: Vec<u32> =
            workers.chain(sleepers.0.iter().map(std::process::Child::id)).collect();
        // Some kernel threads may run all the time.
        for _ in 0..3000 {
            machine.look(&[230], &[]);
            left.retain(|pid| !watches(*pid));
            if left.len() < 5 && !left.iter().any(|pid| *pid > 40) {
                return;
            }
        }
        panic!("{left:?} are not known to rest");
    });
}

/// A session that reads resting processes in full opens no `schedstat`, and has the same values.
#[test]
fn skipping_on_and_off_give_the_same_values() {
    alone("resting::skipping_on_and_off_give_the_same_values", || {
        let sleepers = Sleepers::new(20);
        let options = LinuxOptions::new().reader(ReaderChoice::Proc).read_resting(true);
        let full = || Machine::with(&ProcRoot::default(), &options);
        let mut never_skips = full();
        for _ in 0..32 {
            never_skips.look(&[230], &[]);
        }
        assert_eq!(watched(), 0);
        let mut skips = proc();
        settle(&mut skips, sleepers.0.len());
        for _ in 0..16 {
            assert!(compare_with(&mut skips, full) >= sleepers.0.len());
            assert!(compare_with(&mut never_skips, proc) >= sleepers.0.len());
        }
    });
}

#[test]
fn a_process_that_has_run_is_read_again() {
    alone("resting::a_process_that_has_run_is_read_again", || {
        let mut shells: Vec<Shell> = (0..8).map(|_| Shell::new()).collect();
        let mut machine = proc();
        settle(&mut machine, shells.len());
        let rounds = std::env::var("PERFHIVE_CASES").ok().and_then(|cases| cases.parse().ok());
        let mut random = 0x2545_f491_4f6c_dd1du64;
        for round in 0..rounds.unwrap_or(60) {
            for shell in &mut shells {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                // Some processes sleep for long, some for a moment.
                if random.is_multiple_of(3) {
                    shell.run(WORK[(random >> 8) as usize % WORK.len()]);
                }
            }
            assert!(compare(&mut machine) >= shells.len(), "round {round}");
            for _ in 0..(random >> 16) % 6 {
                machine.look(&[230], &[]);
            }
        }
    });
}

#[test]
fn a_parent_that_ends_is_noticed_at_once() {
    alone("resting::a_parent_that_ends_is_noticed_at_once", || {
        let mut machine = proc();
        for reaped in [false, true, false, true] {
            let mut shell = Shell::new();
            let orphan = Orphan::of(&shell.run("sleep 600 > /dev/null 2>&1 & echo $!"));
            wait_for(orphan.0, b"S");
            settle(&mut machine, 2);
            let parent = |look: &Look| look.value_of(230, look.process(orphan.0).unwrap(), 1410);
            assert_eq!(parent(&machine.look(&[230], &[])), Some(u64::from(shell.id())));
            shell.child.kill().unwrap();
            match reaped {
                true => drop(shell.child.wait().unwrap()),
                false => wait_for(shell.id(), b"Z"),
            }
            let now = parent(&machine.look(&[230], &[]));
            assert_eq!(now, parent(&proc().look(&[230], &[])));
            assert_ne!(now, Some(u64::from(shell.id())));
        }
    });
}

const LARGE_PARENT: &str = "PERFHIVE_LINUX_LARGE_PARENT";

/// Makes this process one whose second thread, the calling one, starts a child, and ends the process when told
/// to. Since that thread has files of its own to close, it ends a moment after the first thread begins to
/// end. From then on the child has another parent; but the first thread takes long, since it has much memory
/// to give back, the same pages mapped many times.
fn large_parent() {
    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    const BYTES: usize = 32 << 20;
    let memory = std::fs::File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    memory.set_len(BYTES as u64).unwrap();
    for _ in 0..200 {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses a free place for the mapping, which is never accessed.
        unsafe { mmap(std::ptr::null_mut(), BYTES, ProtFlags::READ, flags, &memory, 0) }.unwrap();
    }
    drop(memory);
    let mut child = Command::new("sleep");
    child.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    println!("orphan {}", child.spawn().unwrap().id());
    // SAFETY: of the files shared until here, this thread uses only the standard ones, which stay
    // open.
    unsafe { unshare_unsafe(UnshareFlags::FILES) }.unwrap();
    let file = std::fs::File::from(memfd_create("own", MemfdFlags::CLOEXEC).unwrap());
    (&file).write_all(&vec![1; BYTES]).unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    std::process::exit(0);
}

#[test]
fn a_parent_that_takes_long_to_end_is_noticed_at_once() {
    const TEST: &str = "resting::a_parent_that_takes_long_to_end_is_noticed_at_once";
    if std::env::var_os(LARGE_PARENT).is_some() {
        return large_parent();
    }
    alone(TEST, || {
        let mut machine = proc();
        let parent_of = |pid: u32| {
            let text = std::fs::read(format!("/proc/{pid}/stat")).unwrap();
            let close = text.iter().rposition(|byte| *byte == b')').unwrap();
            let text = String::from_utf8_lossy(&text[close + 4..]).into_owned();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        let mut met = 0;
        for _ in 0..60 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            // With one test thread, a test would run in the first thread.
            command.args(["--exact", TEST, "--nocapture", "--test-threads=2"]);
            command.env(LARGE_PARENT, "");
            let mut parent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut output = BufReader::new(parent.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("orphan ") {
                line.clear();
                assert!(output.read_line(&mut line).unwrap() > 0, "the parent has ended");
            }
            let orphan = Orphan::of(line.split_once("orphan ").unwrap().1);
            wait_for(orphan.0, b"S");
            settle(&mut machine, 1);
            let first = u64::from(parent.id());
            assert_eq!(parent_of(orphan.0), first);
            writeln!(parent.stdin.take().unwrap()).unwrap();
            let mut now_met = false;
            while state(parent.id()) != Some(b'Z') {
                let before = parent_of(orphan.0);
                let look = machine.look(&[230], &[]);
                let told = look.value_of(230, look.process(orphan.0).unwrap(), 1410).unwrap();
                assert!(told == before || told == parent_of(orphan.0), "{told}, {before}");
                now_met |= before != first && state(parent.id()) != Some(b'Z');
            }
            parent.wait().unwrap();
            met += u32::from(now_met);
            if met == 4 {
                return;
            }
        }
        panic!("no parent took long enough to end: {met}");
    });
}

#[test]
fn another_process_with_the_number_of_an_ended_parent_is_not_the_parent() {
    let test = "resting::another_process_with_the_number_of_an_ended_parent_is_not_the_parent";
    within(test, &["unshare", "-pf", "--mount-proc"], "/", || {
        let mut machine = proc();
        // The calls saved for the sleepers pay for needless checks.
        let _sleepers = Sleepers::new(4);
        for in_between in [false, true] {
            let mut shell = Shell::new();
            let orphan = Orphan::of(&shell.run("sleep 600 > /dev/null 2>&1 & echo $!"));
            wait_for(orphan.0, b"S");
            settle(&mut machine, 6);
            let parent = shell.id();
            shell.child.kill().unwrap();
            shell.child.wait().unwrap();
            let last = "/proc/sys/kernel/ns_last_pid";
            if std::fs::write(last, (parent - 1).to_string()).is_err() {
                eprintln!("{test}: numbers of processes cannot be chosen here");
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(30));
            let other = Shell::new();
            assert_eq!(other.id(), parent, "the number is not the same");
            if in_between {
                machine.look(&[230], &[(230, 105_002)]);
            }
            let look = machine.look(&[230], &[]);
            // The test is the first process of this namespace, and becomes the parent of the child.
            assert_eq!(look.value_of(230, look.process(orphan.0).unwrap(), 1410), Some(1));
            assert!(compare(&mut machine) > 1);
        }
    });
}

/// A parent may have a higher process ID than its children, since process IDs start again after the highest.
#[test]
fn a_parent_may_have_a_higher_number_than_its_children() {
    const CHILDREN: usize = 60;
    let test = "resting::a_parent_may_have_a_higher_number_than_its_children";
    within(test, &["unshare", "-pf", "--mount-proc"], "/", || {
        let last = "/proc/sys/kernel/ns_last_pid";
        if std::fs::write(last, "20000").is_err() {
            eprintln!("{test}: numbers of processes cannot be chosen here");
            return;
        }
        let mut shell = Shell::new();
        std::fs::write(last, "1000").unwrap();
        let children: Vec<_> = (0..CHILDREN)
            .map(|_| Orphan::of(&shell.run("sleep 600 > /dev/null 2>&1 & echo $!")))
            .collect();
        assert!(children.iter().all(|child| child.0 < shell.id()));
        children.iter().for_each(|child| wait_for(child.0, b"S"));
        let mut machine = proc();
        settle(&mut machine, CHILDREN);
        assert!(compare(&mut machine) > CHILDREN);
        // Two files are read of a resting process, and three of another process.
        let reads = || {
            let io = std::fs::read_to_string("/proc/self/io").unwrap();
            let line = io.lines().find(|line| line.starts_with("syscr: ")).unwrap();
            line["syscr: ".len()..].parse::<usize>().unwrap()
        };
        let before = reads();
        machine.look(&[230], &[]);
        let read = reads() - before;
        assert!(read < CHILDREN * 5 / 2, "{read} reads");
        shell.child.kill().unwrap();
        shell.child.wait().unwrap();
        let look = machine.look(&[230], &[]);
        for child in &children {
            assert_eq!(look.value_of(230, look.process(child.0).unwrap(), 1410), Some(1));
        }
        assert!(compare(&mut machine) >= CHILDREN);
    });
}

/// A session sees values that other processes change while a process sleeps.
#[test]
fn nice_value_and_stops_from_outside_are_seen_at_once() {
    alone("resting::nice_value_and_stops_from_outside_are_seen_at_once", || {
        let shell = Shell::new();
        let id = rustix::process::Pid::from_raw(shell.id() as i32).unwrap();
        let mut machine = proc();
        settle(&mut machine, 1);
        rustix::process::setpriority_process(Some(id), 7).unwrap();
        let nice = |machine: &mut Machine| {
            let look = machine.look(&[230], &[(230, 105_002)]);
            look.value_of(230, look.process(shell.id()).unwrap(), 105_002)
        };
        assert_eq!(nice(&mut machine), Some(27));
        settle(&mut machine, 1);
        rustix::process::setpriority_process(Some(id), 9).unwrap();
        assert_eq!(nice(&mut machine), Some(29));
        // The process is stopped and continued.
        for signal in [rustix::process::Signal::STOP, rustix::process::Signal::CONT] {
            settle(&mut machine, 1);
            rustix::process::kill_process(id, signal).unwrap();
            wait_for(shell.id(), if signal == rustix::process::Signal::STOP { b"T" } else { b"S" });
            assert!(compare(&mut machine) > 0);
        }
    });
}

/// Sessions with changing columns, and failed reads in between, show no old values.
#[test]
fn changing_columns_between_collections_keeps_no_old_values() {
    alone("resting::changing_columns_between_collections_keeps_no_old_values", || {
        let mut shells: Vec<Shell> = (0..4).map(|_| Shell::new()).collect();
        let mut machine = proc();
        settle(&mut machine, 1);
        for round in 0..40 {
            let shell = round % shells.len();
            shells[shell].run(WORK[round % WORK.len()]);
            if round % 3 == 0 {
                machine.look(&[230], &[(230, 105_002)]);
            }
            if round % 5 == 0 {
                shells[(shell + 1) % 4].run(WORK[(round / 2) % WORK.len()]);
                machine.look(&[230, 232], &[(230, 952), (232, 0)]);
            }
            if round % 4 == 0 {
                machine.look(&[230, 232], &[]);
            }
            assert!(compare(&mut machine) >= shells.len());
            settle(&mut machine, 1);
        }
    });
}

/// With a low limit on open files, the files of a resting process that are not read are closed.
#[test]
fn few_files_are_enough() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    alone("resting::few_files_are_enough", || {
        let before = getrlimit(Resource::Nofile);
        let _sleepers = Sleepers::new(40);
        let mut shell = Shell::new();
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
        let mut machine = proc();
        settle(&mut machine, 10);
        for work in WORK {
            shell.run(work);
            assert!(compare(&mut machine) > 10);
        }
        setrlimit(Resource::Nofile, before).unwrap();
    });
}

/// If a program drops the privilege to read other processes' `io`, the values are missing, for resting
/// processes as well.
#[test]
fn io_is_missing_after_the_privilege_is_dropped() {
    alone("resting::io_is_missing_after_the_privilege_is_dropped", || {
        if !rustix::process::geteuid().is_root() {
            eprintln!("this takes root");
            return;
        }
        let _sleepers = Sleepers::new(4);
        let mut machine = proc();
        settle(&mut machine, 4);
        assert!(compare(&mut machine) > 4);
        // Permissions belong to a thread, so the test has one of its own.
        let other = std::thread::spawn(move || {
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            assert!(compare(&mut machine) > 4);
            assert!(compare(&mut machine) > 4);
        });
        other.join().unwrap();
    });
}
