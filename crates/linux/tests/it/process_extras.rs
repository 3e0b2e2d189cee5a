//! Tests of counters of Process and Thread that Windows does not have.

use crate::common::{Look, Machine, Tree, stat, units, wait_for_sleep, wait_until};
use perfhive_linux::ProcRoot;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PROCESS: u32 = 230;
const THREAD: u32 = 232;
const MAJOR: u32 = 105_000;
const NICE: u32 = 105_002;
const REAL_TIME: u32 = 105_004;
const POLICY: u32 = 105_006;
const SWAPPED: u32 = 105_008;
const VOLUNTARY: u32 = 105_010;
const INVOLUNTARY: u32 = 105_012;
const WAITING: u32 = 105_014;
const DELAY: u32 = 105_016;
const DESCRIPTORS: u32 = 105_018;
const READ: u32 = 105_020;
const WRITTEN: u32 = 105_022;
const CANCELLED: u32 = 105_024;
const PROCESSOR: u32 = 105_118;

/// The counters on request of Process.
const ON_REQUEST: [u32; 9] =
    [NICE, REAL_TIME, POLICY, SWAPPED, VOLUNTARY, INVOLUNTARY, WAITING, DELAY, DESCRIPTORS];

fn nothing() -> Vec<String> {
    Vec::new()
}

/// A child process, which ends when this is dropped.
struct Running(Child);

impl Running {
    fn new(command: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(command);
        Self(command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The `stat` text of a process or thread, with a schedule and a delay.
fn scheduled(pid: u32, name: &[u8], threads: u32, nice: i32) -> String {
    let text = String::from_utf8(stat(pid, name, 1, threads)).unwrap();
    let text = text.replace(&format!(" 20 0 {threads} "), &format!(" 20 {nice} {threads} "));
    text.replace(" 17 1 0 0 0 0 0\n", " 17 1 50 2 70 0 0\n")
}

/// A frozen machine with a kernel that measures everything.
fn machine() -> Tree {
    let tree = Tree::machine();
    tree.file("self/status", "Name:\tx\nVmSwap:\t 0 kB\n");
    tree.file("self/schedstat", "5 5 5\n");
    tree.file("sys/kernel/task_delayacct", "1\n");
    tree.file("cmdline", "quiet delayacct\n");
    tree
}

fn status(tree: &Tree, path: &str, voluntary: u64, others: u64) {
    tree.file(
        &format!("{path}/status"),
        format!(
            "Name:\tx\nVmPeak:\t9000 kB\nVmHWM:\t3000 kB\nVmSwap:\t7 kB\n\
             voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{others}\n"
        ),
    );
}

#[test]
fn storage_and_major_faults_come_with_the_rest() {
    let tree = Tree::machine();
    for pid in [20, 21, 22] {
        tree.process(pid, format!("p{pid}").as_bytes());
    }
    let io = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\n";
    tree.file("20/io", format!("{io}cancelled_write_bytes: 512\n"));
    tree.file("21/io", io);
    tree.remove("22/io");
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let row = |name| [MAJOR, 1412, READ, WRITTEN, CANCELLED].map(|c| look.value(PROCESS, name, c));
    assert_eq!(row("p20"), [Some(7), Some(3), Some(4096), Some(8192), Some(512)]);
    assert_eq!(row("p21"), [Some(7), Some(3), None, None, None]);
    assert_eq!(row("p22"), [Some(7), None, None, None, None]);
    assert_eq!(row("Idle"), [Some(0); 5]);
    assert_eq!(row("_Total"), [Some(21), Some(6), Some(4096), Some(8192), Some(512)]);
    let defined: Vec<_> = look.object(PROCESS).counters().map(|c| c.name_index().0).collect();
    assert!(ON_REQUEST.iter().all(|counter| !defined.contains(counter)), "{defined:?}");
}

#[test]
fn all_counters_on_request_have_values() {
    let tree = machine();
    tree.process(20, b"one");
    tree.file("20/stat", scheduled(20, b"one", 1, -5));
    status(&tree, "20", 40, 2);
    tree.file("20/schedstat", "900 123456 8\n");
    tree.file("20/fd/0", "");
    tree.file("20/fd/17", "");
    tree.process(30, b"many");
    tree.file("30/stat", scheduled(30, b"many", 2, 19));
    status(&tree, "30", 1, 1);
    tree.file("30/fd/5", "");
    for tid in [30, 31] {
        tree.thread(30, tid, b'S');
        let path = format!("30/task/{tid}");
        tree.file(&format!("{path}/stat"), scheduled(tid, b"thread", 2, 7));
        status(&tree, &path, 100 + u64::from(tid), 10);
        tree.file(&format!("{path}/schedstat"), "900 1000 8\n");
    }
    let mut machine = Machine::new(&tree.root());
    let extra = ON_REQUEST.map(|counter| (PROCESS, counter));
    let look = machine.look(&[PROCESS], &extra);
    assert_eq!(look.fault_texts(), nothing());
    let row = |look: &Look, name| ON_REQUEST.map(|c| look.value(PROCESS, name, c));
    let one = [15, 50, 2, 7 * 1024, 40, 2, 1234, 7_000_000, 2].map(Some);
    let many = [39, 50, 2, 7 * 1024, 261, 20, 20, 14_000_000, 1].map(Some);
    assert_eq!(row(&look, "one"), one);
    assert_eq!(row(&look, "many"), many);
    assert_eq!(row(&look, "Idle"), [20, 0, 0, 0, 0, 0, 0, 0, 0].map(Some));
    let total = [0, 0, 0, 14 * 1024, 301, 22, 1254, 21_000_000, 3].map(Some);
    assert_eq!(row(&look, "_Total"), total);
    // All counters behind it are at their places.
    assert_eq!(look.value(PROCESS, "many", 1412), Some(30));
    assert_eq!(look.value(PROCESS, "many", 180), Some(500 * 4096));
    // A thread ends: its part stays in the sums, and the part of the other thread grows.
    tree.remove("30/task/30");
    tree.file("30/stat", scheduled(30, b"many", 3, 19));
    status(&tree, "30/task/31", 150, 10);
    let look = machine.look(&[PROCESS], &extra);
    assert_eq!(look.value(PROCESS, "many", VOLUNTARY), Some(261 + 19));
    assert_eq!(look.value(PROCESS, "many", DELAY), Some(14_000_000));
    // Each counter on request is asked for alone.
    for (place, counter) in ON_REQUEST.into_iter().enumerate() {
        let look = Look::at(&tree.root(), &[PROCESS], &[(PROCESS, counter)]);
        assert_eq!(look.value(PROCESS, "one", counter), one[place], "{counter}");
        assert_eq!(look.value(PROCESS, "one", 1412), Some(30), "{counter}");
        assert_eq!(look.fault_texts(), nothing());
    }
}

#[test]
fn a_new_process_starts_with_new_sums() {
    let tree = machine();
    for pid in [20, 30] {
        tree.process(pid, format!("p{pid}").as_bytes());
        status(&tree, &pid.to_string(), u64::from(pid), 1);
    }
    let mut machine = Machine::new(&tree.root());
    let mut sums = |names: [&str; 2]| {
        let look = machine.look(&[PROCESS], &[(PROCESS, VOLUNTARY)]);
        assert_eq!(look.fault_texts(), nothing());
        names.map(|name| look.value(PROCESS, name, VOLUNTARY).unwrap())
    };
    assert_eq!(sums(["p20", "p30"]), [20, 30]);
    // One process ends and another starts, once with a new number and once with the same.
    tree.remove("20");
    tree.process(40, b"p40");
    status(&tree, "40", 4, 1);
    let text = String::from_utf8(stat(30, b"new", 1, 1)).unwrap();
    tree.file("30/stat", text.replace(" 0 30 ", " 0 99 "));
    status(&tree, "30", 31, 1);
    assert_eq!(sums(["p40", "new"]), [4, 31]);
    status(&tree, "30", 33, 1);
    assert_eq!(sums(["p40", "new"]), [4, 33]);
}

#[test]
fn values_that_the_kernel_does_not_measure_are_missing() {
    let tree = Tree::machine();
    tree.process(20, b"one");
    tree.file("20/schedstat", "0 0 0\n");
    let defined = |tree: &Tree| {
        let extra = [SWAPPED, WAITING, DELAY].map(|counter| (PROCESS, counter));
        let look = Look::at(&tree.root(), &[PROCESS], &extra);
        assert_eq!(look.fault_texts(), nothing());
        assert_eq!(look.value(PROCESS, "one", 1412), Some(30));
        let defined: Vec<_> = look.object(PROCESS).counters().map(|c| c.name_index().0).collect();
        [SWAPPED, WAITING, DELAY].map(|counter| defined.contains(&counter))
    };
    assert_eq!(defined(&tree), [false; 3]);
    // Measuring is switched on later: processes that had started before have no values.
    tree.file("sys/kernel/task_delayacct", "1\n");
    tree.file("cmdline", "nodelayacct delayacct=\n");
    tree.file("self/schedstat", "0 0 0\n");
    tree.file("self/status", "VmPeak: 1 kB\n");
    assert_eq!(defined(&tree), [false; 3]);
    tree.file("cmdline", "delayacct");
    assert_eq!(defined(&tree), [false, false, true]);
    tree.file("sys/kernel/task_delayacct", "0\n");
    assert_eq!(defined(&tree), [false; 3]);
}

#[test]
fn damage_costs_a_process_the_values_of_one_file() {
    let tree = machine();
    for pid in [20, 21, 22, 23, 24] {
        tree.process(pid, format!("p{pid}").as_bytes());
        tree.file(&format!("{pid}/stat"), scheduled(pid, format!("p{pid}").as_bytes(), 1, 0));
        tree.file(&format!("{pid}/schedstat"), "1 200 3\n");
    }
    tree.file(
        "20/stat",
        String::from_utf8(stat(20, b"p20", 1, 1)).unwrap().replace(" 20 0 1 ", " 20 x 1 "),
    );
    tree.file("21/status", "Name:\tx\nvoluntary_ctxt_switches:\t4\n");
    tree.file("22/schedstat", "1 2");
    tree.remove("23/schedstat");
    let extra = [NICE, VOLUNTARY, WAITING].map(|counter| (PROCESS, counter));
    let look = Look::at(&tree.root(), &[PROCESS], &extra);
    let row = |name| {
        [MAJOR, NICE, 186, VOLUNTARY, WAITING, 1412].map(|c| look.value(PROCESS, name, c).is_some())
    };
    assert_eq!(row("p20"), [true, false, true, true, true, true]);
    assert_eq!(row("p21"), [true, true, true, false, true, true]);
    for name in ["p22", "p23"] {
        assert_eq!(row(name), [true, true, true, true, false, true], "{name}");
    }
    assert_eq!(row("p24"), [true; 6]);
    assert_eq!(
        look.fault_texts(),
        [
            "230/PID 20: stat: nothing of the schedule is understood",
            "230/PID 21: status: not understood",
            "230/PID 22: schedstat: not understood",
        ]
    );
}

#[test]
fn threads_have_all_counters_on_request() {
    let tree = machine();
    tree.process(20, b"one");
    tree.file("20/task/20/stat", scheduled(20, b"one", 1, 3));
    tree.file("20/task/20/schedstat", "900 5000 8\n");
    let common =
        [28, MAJOR].map(|c| Look::at(&tree.root(), &[THREAD], &[]).value(THREAD, "_Total", c));
    assert_eq!(common, [Some(107), Some(7)]);
    let look = Look::at(&tree.root(), &[THREAD], &[(THREAD, 0)]);
    assert_eq!(look.fault_texts(), nothing());
    let counters = [28, MAJOR, 146, VOLUNTARY, INVOLUNTARY, WAITING, DELAY];
    let sums = [107, 7, 42, 40, 2, 50, 7_000_000].map(Some);
    let last = [46, NICE, REAL_TIME, POLICY, PROCESSOR];
    let thread = look.object(THREAD).instances().nth(2).unwrap();
    assert_eq!(counters.map(|c| look.value_of(THREAD, thread, c)), sums);
    assert_eq!(last.map(|c| look.value_of(THREAD, thread, c)), [5, 23, 50, 2, 1].map(Some));
    assert_eq!(counters.map(|c| look.value(THREAD, "_Total", c)), sums);
    assert_eq!(last.map(|c| look.value(THREAD, "_Total", c)), [None; 5]);
    assert_eq!(look.value(THREAD, "0", 28), Some(0));
    assert_eq!(look.value(THREAD, "0", VOLUNTARY), None);
    assert_eq!(look.value(THREAD, "_Total", 142), units(20));
    // If one file is missing, the counters behind it have no values.
    tree.remove("20/task/20/schedstat");
    let look = Look::at(&tree.root(), &[THREAD], &[(THREAD, 0)]);
    let thread = look.object(THREAD).instances().nth(2).unwrap();
    assert_eq!(look.value_of(THREAD, thread, INVOLUNTARY), Some(2));
    assert_eq!(look.value_of(THREAD, thread, WAITING), None);
    assert_eq!(look.value(THREAD, "_Total", WAITING), None);
    tree.file("20/task/20/stat", stat(20, b"one", 1, 1).split_last_chunk::<30>().unwrap().0);
    let look = Look::at(&tree.root(), &[THREAD], &[(THREAD, NICE)]);
    let thread = look.object(THREAD).instances().nth(2).unwrap();
    assert_eq!(look.value_of(THREAD, thread, 46), Some(5));
    assert_eq!(look.value_of(THREAD, thread, NICE), None);
    assert_eq!(
        look.fault_texts(),
        ["232/PID 20: task: stat: nothing of the schedule is understood"]
    );
}

/// The numbers of voluntary and involuntary switches of all threads of a process, from its files.
fn switches(pid: u32) -> [u64; 2] {
    let mut sums = [0; 2];
    for entry in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let Ok(text) = std::fs::read_to_string(entry.unwrap().path().join("status")) else {
            continue;
        };
        for line in text.lines() {
            let number = || line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
            if line.starts_with("voluntary_ctxt_switches") {
                sums[0] += number();
            } else if line.starts_with("nonvoluntary_ctxt_switches") {
                sums[1] += number();
            }
        }
    }
    sums
}

#[test]
fn threads_that_sleep_often_have_voluntary_switches() {
    // The threads sleep until they are told to end; one of them ends in between.
    let sleep = || {
        let end = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        move || {
            end.store(true, Ordering::Relaxed);
            thread.join().unwrap();
        }
    };
    let me = std::process::id();
    let extra = ON_REQUEST.map(|counter| (PROCESS, counter));
    let mut machine = Machine::new(&ProcRoot::default());
    let (short, long) = (sleep(), sleep());
    let before = switches(me);
    let first = machine.look(&[PROCESS], &extra);
    let value = |look: &Look, counter| look.value_of(PROCESS, look.process(me).unwrap(), counter);
    assert!(value(&first, VOLUNTARY).unwrap() >= before[0]);
    assert!(value(&first, INVOLUNTARY).unwrap() >= before[1]);
    assert!(value(&first, VOLUNTARY).unwrap() <= switches(me)[0]);
    // Waits until both have slept often, however slow the machine is.
    let enough = switches(me)[0] + 100;
    while switches(me)[0] < enough {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = machine.look(&[PROCESS], &extra);
    short();
    let third = machine.look(&[PROCESS], &extra);
    long();
    // The first thread has ended, and its counts stay in the sum.
    let counts = [&first, &second, &third].map(|look| value(look, VOLUNTARY).unwrap());
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(counts[1] >= counts[0] + 100, "{counts:?}");
    assert_eq!(third.fault_texts(), nothing());
}

#[test]
fn waiting_time_and_written_bytes_equal_those_of_the_kernel() {
    // `nice` adds to the nice value of the tests; without arguments it prints that value.
    let own = std::process::Command::new("nice").output().unwrap().stdout;
    let own: u64 = std::str::from_utf8(&own).unwrap().trim().parse().unwrap();
    // More busy processes than processors.
    let processors = std::thread::available_parallelism().unwrap().get();
    let begun = Instant::now();
    let busy: Vec<_> = (0..processors * 2)
        .map(|_| Running::new("nice", &["-n", "10", "sh", "-c", "while :; do :; done"]))
        .collect();
    let file = std::env::temp_dir().join(format!("perfhive-extras-{}", std::process::id()));
    let mut machine = Machine::new(&ProcRoot::default());
    let extra = ON_REQUEST.map(|counter| (PROCESS, counter));
    // At first the children are `nice` itself.
    wait_until("the children are busy", || {
        let name = |child: &Running| std::fs::read(format!("/proc/{}/comm", child.pid()));
        busy.iter().all(|child| name(child).unwrap() == b"sh\n")
    });
    let first = machine.look(&[PROCESS], &extra);
    std::thread::sleep(Duration::from_millis(900));
    let waited = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
        text.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let least: Vec<_> = busy.iter().map(|child| waited(child.pid())).collect();
    let second = machine.look(&[PROCESS], &extra);
    let elapsed = begun.elapsed();
    let mut sum = 0;
    for (child, least) in busy.iter().zip(least) {
        let of = |look: &Look, counter| {
            look.process(child.pid()).and_then(|p| look.value_of(PROCESS, p, counter))
        };
        assert_eq!(of(&second, NICE), Some((30 + own).min(39)));
        assert_eq!((of(&second, REAL_TIME), of(&second, POLICY)), (Some(0), Some(0)));
        let (Some(before), Some(after)) = (of(&first, WAITING), of(&second, WAITING)) else {
            assert_eq!(waited(child.pid()).unwrap_or(0), 0);
            continue;
        };
        // The file gives the same before and after.
        assert!(after >= least.unwrap() / 100 && after <= waited(child.pid()).unwrap() / 100);
        // The time of waiting for a processor counts when the process gets one, including the time before the
        // first collection. It is only certain that the process did not wait before it existed.
        assert!(after >= before && after <= elapsed.as_nanos() as u64 / 100);
        sum += after - before;
    }
    let measured = std::fs::read_to_string("/proc/self/schedstat").is_ok();
    // Half of the processes wait at any time.
    assert!(!measured || sum > 1_000_000, "{sum}");
    drop(busy);

    let me = std::process::id();
    let before = Look::at(&ProcRoot::default(), &[PROCESS], &[]);
    std::fs::write(&file, vec![1u8; 1 << 20]).unwrap();
    let after = Look::at(&ProcRoot::default(), &[PROCESS], &[]);
    std::fs::remove_file(&file).unwrap();
    let value = |look: &Look, counter| look.value_of(PROCESS, look.process(me).unwrap(), counter);
    let own = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = own.lines().find_map(|line| line.strip_prefix("write_bytes: ")).unwrap();
    let (before, after) = (value(&before, WRITTEN).unwrap(), value(&after, WRITTEN).unwrap());
    // A file system in memory writes to no device.
    assert!(before <= after && after <= line.parse().unwrap(), "{before} {after} {line}");
}

#[test]
fn descriptors_counted_in_both_ways_agree() {
    let child = Running::new("sleep", &["600"]);
    wait_for_sleep(child.pid(), "sleep");
    let look = Look::at(&ProcRoot::default(), &[PROCESS], &[(PROCESS, DESCRIPTORS)]);
    assert_eq!(look.fault_texts(), nothing());
    let process = look.process(child.pid()).unwrap();
    let count = std::fs::read_dir(format!("/proc/{}/fd", child.pid())).unwrap().count();
    assert_eq!(look.value_of(PROCESS, process, DESCRIPTORS), Some(count as u64));
}

/// Whether a tool can be run here.
fn has_tool(tool: &str, argument: &str) -> bool {
    let run = Command::new(tool).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if run.is_err() {
        eprintln!("{tool} is not installed: nothing to compare with");
    }
    run.is_ok()
}

#[test]
fn schedules_equal_those_of_ps() {
    if !has_tool("ps", "--version") || !has_tool("chrt", "--version") {
        return;
    }
    let mut children = vec![Running::new("nice", &["-n", "7", "sleep", "600"])];
    for policy in [&["-b", "0"][..], &["-i", "0"], &["-r", "3"], &["-f", "9"]] {
        children.push(Running::new("chrt", &[policy, &["sleep", "600"]].concat()));
    }
    // At first the children are `nice` and `chrt` themselves.
    let name = |child: &Running| std::fs::read_to_string(format!("/proc/{}/comm", child.pid()));
    // A process that runs only on idle processors may not get that far on a busy machine, and is left
    // out then.
    let start = Instant::now();
    while children.iter().any(|child| name(child).is_ok_and(|name| name != "sleep\n"))
        && start.elapsed() < Duration::from_secs(20)
    {
        std::thread::sleep(Duration::from_millis(10));
    }
    let extra = [(PROCESS, 0), (THREAD, PROCESSOR), (THREAD, POLICY)];
    let look = Look::at(&ProcRoot::default(), &[PROCESS, THREAD], &extra);
    let mut compared = 0;
    for child in &children {
        let pid = child.pid().to_string();
        let output = Command::new("ps").args(["-o", "cls=,ni=,rtprio=", "-p", &pid]).output();
        let shown = String::from_utf8(output.unwrap().stdout).unwrap();
        let words: Vec<_> = shown.split_whitespace().collect();
        // A process that was not permitted its policy has ended.
        let (Some(process), [class, nice, real_time]) =
            (look.process(child.pid()), words.as_slice())
        else {
            continue;
        };
        if *class == "?" || name(child).is_ok_and(|name| name != "sleep\n") {
            continue;
        }
        let value = |counter| look.value_of(PROCESS, process, counter).unwrap();
        let classes = ["TS", "FF", "RR", "B", "", "IDL", "DLN"];
        assert_eq!(classes[value(POLICY) as usize], *class);
        assert_eq!(value(REAL_TIME), real_time.parse().unwrap_or(0), "{shown}");
        if let Ok(nice) = nice.parse::<i64>() {
            assert_eq!(value(NICE) as i64, nice + 20, "{shown}");
        }
        let is = |thread: &perfhive_format::Instance<'_>| {
            look.value_of(THREAD, *thread, 804) == Some(u64::from(child.pid()))
        };
        let thread = look.object(THREAD).instances().find(is).unwrap();
        assert_eq!(look.value_of(THREAD, thread, POLICY), Some(value(POLICY)));
        assert!(look.value_of(THREAD, thread, PROCESSOR).unwrap() < 4096);
        compared += 1;
    }
    assert!(compared >= 1);
}
