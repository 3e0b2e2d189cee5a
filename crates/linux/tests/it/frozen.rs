//! Frozen machines: tests of every value, and of every kind of damage.

use crate::common::{Look, Machine, Tree, stat, units};
use perfhive_engine::OpenContext;
use perfhive_format::{CookError, CounterPlan, CounterType, FileTime, cook};
use perfhive_linux::{ProcRoot, providers};

const SYSTEM: u32 = 2;
const MEMORY: u32 = 4;
const PROCESS: u32 = 230;
const THREAD: u32 = 232;
const PROCESSOR: u32 = 238;
const PAGE: u64 = 4096;

fn nothing() -> Vec<String> {
    Vec::new()
}

#[test]
fn objects_of_a_frozen_machine_have_its_values() {
    let tree = Tree::machine();
    tree.process(7, b"seven");
    let look = Look::at(&tree.root(), &[SYSTEM, MEMORY, PROCESSOR], &[]);
    assert_eq!(look.fault_texts(), nothing());

    assert_eq!(look.single(SYSTEM, 146), Some(123_456));
    assert_eq!(look.single(SYSTEM, 44), Some(3));
    assert_eq!(look.single(SYSTEM, 248), Some(2));
    assert_eq!(look.single(SYSTEM, 250), Some(323));
    let clocks = look.object(SYSTEM).clocks();
    // The time is that of the copy: 1000 seconds after `btime`.
    let start = FileTime::from_unix_nanos(1_700_000_000_000_000_000);
    assert_eq!(look.single(SYSTEM, 674), Some(start.0 as u64));
    assert_eq!(clocks.object_time, start.0 + 1000 * FileTime::PER_SECOND);
    assert_eq!(clocks.object_freq, FileTime::PER_SECOND);
    let block = look.block();
    assert_eq!(block.time_100ns().0, clocks.object_time);
    assert_eq!(block.header().PerfTime, 1_000_000_000_000);
    assert_eq!((block.system_time().year, block.system_time().month), (2023, 11));

    let kib = |kib: u64| Some(kib * 1024);
    assert_eq!(look.single(MEMORY, 24), kib(2_097_153));
    assert_eq!(look.single(MEMORY, 1380), Some(2_097_153));
    assert_eq!(look.single(MEMORY, 1382), Some(2048));
    assert_eq!(look.single(MEMORY, 26), kib(1_048_576));
    assert_eq!(look.single(MEMORY, 30), kib(2_097_152));
    assert_eq!(look.single(MEMORY, 1406), Some(262_144));
    // The numbers are more than 32 bits hold: the count of a rate wraps.
    assert_eq!(look.single(MEMORY, 28), Some(4));
    assert_eq!(look.single(MEMORY, 42), Some(77));
    assert_eq!(look.single(MEMORY, 818), kib(524_288 + 1024 - 2048));
    assert_eq!(look.single(MEMORY, 58), kib(4096));
    assert_eq!(look.single(MEMORY, 1676), kib(524_288));
    assert_eq!(look.single(MEMORY, 1678), kib(128));

    assert_eq!(look.names(PROCESSOR), ["0", "1", "_Total"]);
    for (name, idle, user, privileged, irq, softirq) in
        [("0", 560, 110, 90, 4, 6), ("1", 440, 210, 70, 6, 14), ("_Total", 500, 160, 80, 5, 10)]
    {
        assert_eq!(look.value(PROCESSOR, name, 6), units(idle), "{name}");
        assert_eq!(look.value(PROCESSOR, name, 1746), units(idle));
        assert_eq!(look.value(PROCESSOR, name, 142), units(user));
        assert_eq!(look.value(PROCESSOR, name, 144), units(privileged));
        assert_eq!(look.value(PROCESSOR, name, 698), units(irq));
        assert_eq!(look.value(PROCESSOR, name, 696), units(softirq));
        assert_eq!(look.value(PROCESSOR, name, 148), None);
    }
}

#[test]
fn interrupts_are_read_on_request_only() {
    let tree = Tree::machine();
    let mut machine = Machine::new(&tree.root());
    let look = machine.look(&[PROCESSOR], &[(PROCESSOR, 148)]);
    assert_eq!(look.fault_texts(), nothing());
    for (name, count) in [("0", 138), ("1", 201), ("_Total", 339)] {
        assert_eq!(look.value(PROCESSOR, name, 148), Some(count), "{name}");
    }
    let look = machine.look(&[PROCESSOR], &[]);
    assert_eq!(look.value(PROCESSOR, "0", 148), None);
    assert_eq!(look.object(PROCESSOR).counter_count(), 6);

    tree.remove("interrupts");
    let look = Look::at(&tree.root(), &[PROCESSOR], &[(PROCESSOR, 0)]);
    assert_eq!(look.value(PROCESSOR, "0", 148), None);
    assert_eq!(look.value(PROCESSOR, "0", 6), units(560));
    assert_eq!(look.faults.len(), 1);
}

#[test]
fn active_processors_have_the_kernel_s_numbers() {
    let tree = Tree::machine();
    let mut machine = Machine::new(&tree.root());
    machine.look(&[PROCESSOR], &[]);
    tree.file("stat", "cpu0 100 10 80 600 60 4 6\ncpu71 5 0 0 7 0 0 0\nctxt 1\n");
    let look = machine.look(&[PROCESSOR], &[]);
    assert_eq!(look.names(PROCESSOR), ["0", "71", "_Total"]);
    // `_Total` grows by the times of processor 0, whatever processors come and go.
    assert_eq!(look.value(PROCESSOR, "_Total", 6), units(600));
}

#[test]
fn values_missing_in_old_kernels_are_missing() {
    let tree = Tree::machine();
    tree.file("meminfo", "MemFree: 100 kB\nCached: 5 kB\n");
    tree.file("vmstat", "pgfault 5\n");
    tree.file("stat", "cpu0 1 2 3 4\nctxt 5\n");
    let look = Look::at(&tree.root(), &[SYSTEM, MEMORY, PROCESSOR], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let names =
        |object| look.object(object).counters().map(|c| c.name_index().0).collect::<Vec<_>>();
    assert_eq!(names(MEMORY), [28, 1676]);
    assert_eq!(names(PROCESSOR), [6, 142, 144, 1746]);
    let own = [100_000, 100_002, 100_004, 100_016];
    assert_eq!(names(SYSTEM), [&[146, 674, 248, 250], &own[..]].concat());
    assert_eq!(look.single(MEMORY, 24), None);
}

#[test]
fn a_damaged_system_file_is_a_fault_and_loses_its_own_counters_only() {
    let tree = Tree::machine();
    tree.file("stat", "cpu0 1 2 3 4 5 6 7\ncpu1 1 2 x 4\nctxt abc\nprocs_running 2");
    tree.file("meminfo", "MemFree: lots kB\nMemAvailable: 44 kB\nDirty: 12");
    tree.remove("vmstat");
    tree.file("loadavg", "0.5 0.4\n");
    let look = Look::at(&tree.root(), &[SYSTEM, MEMORY, PROCESSOR], &[]);
    assert_eq!(look.single(MEMORY, 24), Some(44 * 1024));
    assert_eq!(look.single(MEMORY, 1676), None);
    // The number may be cut off: "12" may be the beginning of "128".
    assert_eq!(look.single(MEMORY, 1678), None);
    assert_eq!(look.names(PROCESSOR), ["0", "_Total"]);
    assert_eq!(look.single(SYSTEM, 146), None);
    assert_eq!(look.single(SYSTEM, 248), Some(1));
    assert_eq!(
        look.fault_texts(),
        [
            "2/: stat: ctxt is not a number",
            "2/: stat: ends in the middle of a line",
            "2/: loadavg: not understood",
            "238/1: stat: the line of cpu1 is damaged",
            "238/: stat: ends in the middle of a line",
            "4/: meminfo: MemFree has no number",
            "4/: meminfo: Dirty has no number",
            "4/: meminfo: ends in the middle of a line",
            "4/: vmstat: No such file or directory (os error 2)",
        ]
    );
}

#[test]
fn an_empty_proc_and_a_missing_one_are_errors() {
    let tree = Tree::new();
    let look = Look::at(&tree.root(), &[SYSTEM, MEMORY, PROCESSOR, PROCESS, THREAD], &[]);
    assert!(look.has(SYSTEM) && !look.has(MEMORY) && !look.has(PROCESSOR));
    assert_eq!(look.names(PROCESS), ["_Total"]);
    assert_eq!(look.names(THREAD), ["_Total"]);
    assert!(look.faults.len() >= 5, "{:?}", look.fault_texts());

    for provider in providers(&ProcRoot::new("/nowhere/proc")) {
        let error = provider.open(&OpenContext::default()).err().unwrap();
        assert!(error.to_string().starts_with("/nowhere/proc: "), "{error}");
    }
}

#[test]
fn processes_with_idle_and_total() {
    let tree = Tree::machine();
    tree.process(300, b"three hundred");
    tree.process(20, b"twenty");
    tree.file("self/stat", "1 (x) S");
    tree.file("007/stat", stat(7, b"no", 1, 1));
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(PROCESS), ["Idle", "twenty", "three hundred", "_Total"]);
    let clock = look.object(PROCESS).clocks().object_time as u64;

    let twenty = |counter| look.value(PROCESS, "twenty", counter);
    assert_eq!(twenty(6), units(25));
    assert_eq!(twenty(142), units(20));
    assert_eq!(twenty(144), units(5));
    assert_eq!(twenty(784), Some(20));
    assert_eq!(twenty(1410), Some(1));
    assert_eq!(twenty(28), Some(107));
    assert_eq!(twenty(174), Some(8_192_000));
    assert_eq!(twenty(680), Some(1));
    assert_eq!(twenty(180), Some(500 * PAGE));
    assert_eq!(twenty(1478), Some(400 * PAGE));
    assert_eq!(twenty(186), Some(300 * PAGE));
    assert_eq!(twenty(1412), Some(30));
    assert_eq!(twenty(1414), Some(4));
    assert_eq!(twenty(1416), Some(34));
    assert_eq!(twenty(1420), Some(1000));
    assert_eq!(twenty(1422), Some(200));
    assert_eq!(twenty(1424), Some(1200));
    let start = |name| look.value(PROCESS, name, 684).unwrap();
    assert_eq!(start("three hundred") - start("twenty"), units(280).unwrap());
    assert_eq!(start("twenty") - start("Idle"), units(20).unwrap());
    assert_eq!(start("_Total"), clock);

    let idle = |counter| look.value(PROCESS, "Idle", counter);
    assert_eq!((idle(6), idle(144), idle(142)), (units(1000), units(1000), Some(0)));
    assert_eq!((idle(784), idle(680), idle(180)), (Some(0), Some(2), Some(0)));
    let total = |counter| look.value(PROCESS, "_Total", counter);
    assert_eq!(total(6), units(1000 + 25 + 305));
    assert_eq!(total(680), Some(4));
    assert_eq!(total(180), Some(1000 * PAGE));
    assert_eq!(total(1424), Some(2400));
    assert_eq!((total(784), total(1410)), (Some(0), Some(0)));
    // No counter on request was asked for.
    assert_eq!((twenty(952), twenty(172), twenty(178)), (None, None, None));
}

#[test]
fn peaks_on_request() {
    let tree = Tree::machine();
    tree.process(20, b"twenty");
    // The `status` of a zombie has no memory lines.
    tree.process(21, b"zombie");
    tree.file("21/status", "Name:\tzombie\nState:\tZ (zombie)\n");
    // A thread of the kernel.
    tree.process(22, b"kworker");
    let text = String::from_utf8(stat(22, b"kworker", 2, 1)).unwrap();
    tree.file("22/stat", text.replace(" 4194560 ", " 2129984 "));
    tree.file("22/status", "Name:\tkworker\n");
    let look = Look::at(&tree.root(), &[PROCESS], &[(PROCESS, 178)]);
    assert_eq!(look.value(PROCESS, "twenty", 172), Some(9000 * 1024));
    assert_eq!(look.value(PROCESS, "twenty", 178), Some(3000 * 1024));
    assert_eq!(look.value(PROCESS, "twenty", 1412), Some(30));
    assert_eq!(look.value(PROCESS, "zombie", 172), None);
    assert_eq!(look.value(PROCESS, "zombie", 186), Some(300 * PAGE));
    assert_eq!(look.value(PROCESS, "kworker", 172), Some(0));
    // A kernel thread has no memory, so that `statm` is not read.
    assert_eq!(look.value(PROCESS, "kworker", 186), Some(0));
    assert_eq!(look.value(PROCESS, "_Total", 178), Some(3000 * 1024));
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn handle_count_is_counted_where_the_kernel_does_not_tell_it() {
    let tree = Tree::machine();
    tree.process(20, b"twenty");
    tree.file("20/fd/0", "");
    tree.file("self/fd/0", "");
    let look = Look::at(&tree.root(), &[PROCESS], &[(PROCESS, 952)]);
    // Outside of procfs the size of a folder is not a count (in procfs it is one since Linux 6.2).
    assert_eq!(look.value(PROCESS, "twenty", 952), Some(1));
    assert_eq!(look.value(PROCESS, "twenty", 1412), Some(30));
    assert_eq!(look.fault_texts(), nothing());
}

/// The instances `Idle` and `_Total` are the machine's, even if processes have these names.
#[test]
fn processes_called_total_or_idle_have_their_number_in_their_name() {
    let tree = Tree::machine();
    tree.process(20, b"_Total");
    tree.process(21, b"idle");
    tree.process(22, b"idler");
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    let expected = ["Idle", "_Total (20)", "idle (21)", "idler", "_Total"];
    assert_eq!(look.names(PROCESS), expected);
}

#[test]
fn names_with_any_bytes_are_kept_apart() {
    let tree = Tree::machine();
    let names: [&[u8]; 9] = [
        b"a) S 1 (b",
        b"line\nend",
        b" ",
        "träger 🦀".as_bytes(),
        b"bad\xffbyte",
        b"bad\xfebyte",
        b"x/y#1\\*",
        b"Total",
        b"",
    ];
    for (pid, name) in (1..).zip(names) {
        tree.process(pid, name);
    }
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.object(PROCESS).instance_count(), 11);
    for (pid, name) in (1..).zip(names) {
        let instance = look.process(pid).unwrap();
        if let Ok(text) = std::str::from_utf8(name) {
            assert_eq!(instance.name().to_text(), text);
        }
    }
    let bytes = |pid| look.process(pid).unwrap().name().as_bytes().to_vec();
    assert_ne!(bytes(5), bytes(6));
    assert_eq!(bytes(5)[6..8], 0xdcffu16.to_le_bytes());
}

#[test]
fn a_missing_file_of_one_process_affects_that_process_only() {
    let tree = Tree::machine();
    for (pid, name) in (10..).zip([
        "whole",
        "no-io",
        "bad-io",
        "no-statm",
        "bad-statm",
        "no-stat",
        "bad-stat",
        "cut-stat",
        "empty-stat",
    ]) {
        tree.process(pid, name.as_bytes());
    }
    tree.remove("11/io");
    tree.file("12/io", "rchar: many\n");
    tree.remove("13/statm");
    tree.file("14/statm", "1 2 3\n");
    tree.remove("15/stat");
    tree.file("16/stat", "16 (bad-stat) S x\n");
    tree.file("17/stat", &stat(17, b"cut-stat", 1, 1)[..40]);
    tree.file("18/stat", "");
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    let expected = ["Idle", "whole", "no-io", "bad-io", "no-statm", "bad-statm", "_Total"];
    assert_eq!(look.names(PROCESS), expected);
    let row = |name, counter| look.value(PROCESS, name, counter);
    assert_eq!((row("no-io", 186), row("no-io", 1412)), (Some(300 * PAGE), None));
    assert_eq!((row("bad-io", 186), row("bad-io", 1412)), (Some(300 * PAGE), None));
    for name in ["no-statm", "bad-statm"] {
        assert_eq!((row(name, 680), row(name, 180), row(name, 1412)), (Some(1), None, Some(30)));
    }
    assert_eq!(row("_Total", 1412), Some(90));
    assert_eq!(row("_Total", 180), Some(1500 * PAGE));
    let mut faults = look.fault_texts();
    faults.sort();
    assert_eq!(
        faults,
        [
            "230/PID 12: io: not understood",
            "230/PID 14: statm: not understood",
            "230/PID 16: stat: not understood",
            "230/PID 17: stat: not understood",
            "230/PID 18: stat: not understood",
        ]
    );
}

#[test]
fn many_processes_with_some_missing() {
    let tree = Tree::machine();
    let missing = [1, 40, 64, 65, 90];
    for pid in 1..=90 {
        tree.process(pid, format!("p{pid}").as_bytes());
        if missing.contains(&pid) {
            tree.remove(&format!("{pid}/stat"));
        }
        if pid % 7 == 0 {
            tree.remove(&format!("{pid}/io"));
        }
    }
    let mut machine = Machine::new(&tree.root());
    for _ in 0..2 {
        let look = machine.look(&[PROCESS, THREAD], &[]);
        let there: Vec<_> = (1..=90).filter(|pid| !missing.contains(pid)).collect();
        let names: Vec<_> = there.iter().map(|pid| format!("p{pid}")).collect();
        assert_eq!(look.names(PROCESS)[1..=there.len()], names);
        for pid in &there {
            let process = look.process(*pid).unwrap();
            assert_eq!(process.name().to_text(), format!("p{pid}"));
            let reads = (pid % 7 != 0).then_some(30);
            assert_eq!(look.value_of(PROCESS, process, 1412), reads, "{pid}");
        }
    }
}

#[test]
fn a_counter_without_instances_has_no_total() {
    let tree = Tree::machine();
    tree.process(10, b"ten");
    tree.remove("10/io");
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    assert_eq!(look.value(PROCESS, "_Total", 186), Some(300 * PAGE));
    assert_eq!(look.value(PROCESS, "_Total", 1412), None);
}

#[test]
fn processes_end_start_and_reuse_numbers() {
    let tree = Tree::machine();
    for pid in [5, 6, 7] {
        tree.process(pid, format!("p{pid}").as_bytes());
    }
    let mut machine = Machine::new(&tree.root());
    assert_eq!(machine.look(&[PROCESS], &[]).names(PROCESS), ["Idle", "p5", "p6", "p7", "_Total"]);
    tree.remove("6");
    tree.process(4, b"p4");
    tree.process(8, b"p8");
    let names = ["Idle", "p4", "p5", "p7", "p8", "_Total"];
    assert_eq!(machine.look(&[PROCESS], &[]).names(PROCESS), names);
    // Another process gets the number of one that ended.
    tree.remove("5");
    tree.process(5, b"new");
    let text = String::from_utf8(stat(5, b"new", 1, 1)).unwrap();
    tree.file("5/stat", text.replace(" 0 5 ", " 0 9 "));
    let look = machine.look(&[PROCESS], &[]);
    assert_eq!(look.names(PROCESS), ["Idle", "p4", "new", "p7", "p8", "_Total"]);
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn without_stat_there_is_no_idle() {
    let tree = Tree::machine();
    tree.process(10, b"ten");
    tree.remove("stat");
    let look = Look::at(&tree.root(), &[PROCESS, THREAD], &[]);
    assert_eq!(look.names(PROCESS), ["ten", "_Total"]);
    assert_eq!(look.names(THREAD), ["0", "_Total"]);
    assert_eq!(look.fault_texts(), ["230/Idle: stat: No such file or directory (os error 2)"]);
}

/// A total does not go back by everything that Idle ever counted.
#[test]
fn totals_continue_after_an_unreadable_stat() {
    let tree = Tree::machine();
    tree.process(10, b"ten");
    let text = std::fs::read_to_string(tree.path().join("proc/stat")).unwrap();
    let mut machine = Machine::new(&tree.root());
    let mut totals = || {
        let look = machine.look(&[PROCESS, THREAD], &[]);
        [PROCESS, THREAD].map(|object| look.value(object, "_Total", 6).unwrap())
    };
    let before = totals();
    tree.remove("stat");
    assert_eq!(totals(), before);
    tree.file("stat", text);
    assert_eq!([totals(), totals()], [before; 2]);
}

#[test]
fn threads_point_to_their_processes() {
    let tree = Tree::machine();
    tree.process(10, b"ten");
    tree.process(20, b"twenty");
    tree.file("20/stat", stat(20, b"twenty", 1, 3));
    tree.thread(20, 1000, b'R');
    tree.thread(20, 23, b'Z');
    tree.thread(20, 24, b'?');
    // The thread ended between listing and reading.
    tree.remove("20/task/24/stat");
    for extra in [&[][..], &[(THREAD, 146)]] {
        let look = Look::at(&tree.root(), &[THREAD], extra);
        assert_eq!(look.fault_texts(), nothing());
        // Process is written, too.
        assert_eq!(look.names(PROCESS), ["Idle", "ten", "twenty", "_Total"]);
        let rows: Vec<_> = look
            .object(THREAD)
            .instances()
            .map(|thread| {
                let (process, parent) = look.block().parent(&thread).unwrap();
                assert_eq!(process.name_index().0, PROCESS);
                let value = |counter| look.value_of(THREAD, thread, counter);
                let ids = (value(784).unwrap(), value(804).unwrap());
                (parent.name().to_text(), thread.name().to_text(), ids, value(46), value(146))
            })
            .collect();
        let switches = |count| if extra.is_empty() { None } else { Some(count) };
        let row = |parent: &str, name: &str, ids, state, switches| {
            (parent.to_string(), name.to_string(), ids, state, switches)
        };
        assert_eq!(
            rows,
            [
                row("Idle", "0", (0, 0), None, None),
                row("Idle", "1", (0, 0), None, None),
                row("ten", "0", (10, 10), Some(5), switches(42)),
                row("twenty", "0", (20, 20), Some(5), switches(42)),
                row("twenty", "1", (20, 23), Some(4), switches(42)),
                row("twenty", "2", (20, 1000), Some(2), switches(42)),
                row("_Total", "_Total", (0, 0), None, switches(168)),
            ]
        );
        // As in Process: a process has the times of its ended threads.
        assert_eq!(look.value(THREAD, "_Total", 142), units(10 + 20));
        assert_eq!(look.value(THREAD, "0", 144), units(560));
    }
}

#[test]
fn numbers_that_are_too_large_saturate() {
    let tree = Tree::machine();
    let huge = "99999999999999999999999";
    tree.process(10, b"ten");
    let text = String::from_utf8(stat(10, b"ten", 1, 1)).unwrap();
    tree.file("10/stat", text.replace(" 8192000 ", &format!(" {huge} ")));
    tree.file("10/statm", format!("{huge} {huge} 0 0 0 {huge} 0\n"));
    tree.file("meminfo", format!("CommitLimit: {huge} kB\nCommitted_AS: {huge} kB\n"));
    let look = Look::at(&tree.root(), &[PROCESS, MEMORY], &[]);
    assert_eq!(look.value(PROCESS, "ten", 174), Some(u64::MAX));
    assert_eq!(look.value(PROCESS, "_Total", 180), Some(u64::MAX));
    assert_eq!(look.single(MEMORY, 26), Some(u64::MAX));
    let part = look.single(MEMORY, 1406).unwrap();
    assert!(part > u64::from(u32::MAX) / 2, "{part}");
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn a_flood_of_faults_is_summed_up() {
    let tree = Tree::machine();
    for pid in 1..=100 {
        tree.file(&format!("{pid}/stat"), "damaged");
    }
    let look = Look::at(&tree.root(), &[PROCESS], &[]);
    assert_eq!(look.faults.len(), 17);
    assert!(look.faults[16].message.starts_with("84 more"), "{:?}", look.faults[16]);
}

#[test]
fn a_frozen_machine_has_proc_and_sys_and_no_mount_points() {
    let tree = Tree::machine();
    tree.sys("class/thermal/thermal_zone0/temp", "45000\n");
    let root = tree.frozen();
    let temperature = root.sys().unwrap().join("class/thermal/thermal_zone0/temp");
    assert_eq!(std::fs::read_to_string(temperature).unwrap(), "45000\n");
    assert!(root.proc().join("stat").is_file());
    assert_eq!(root.mounts(), None);
    assert_eq!(tree.root().sys(), None);
}

#[test]
fn objects_after_the_deadline_are_left_out_with_a_fault() {
    use perfhive_engine::{Ask, ObjectQuery};
    use perfhive_format::TitleIndex;
    use std::time::{Duration, Instant};

    let tree = Tree::machine();
    (1..=100).for_each(|pid| tree.process(pid, b"slow"));
    let mut machine = Machine::new(&tree.root());
    let objects = [PROCESS, THREAD, MEMORY, 786].map(TitleIndex);
    let mut late = Ask::new(ObjectQuery::Indexes(objects.to_vec()));
    late.until = Some(Instant::now());
    let look = machine.look_with(&late, &objects);
    // Objects that need no process are complete, and so are the instances Idle and `_Total`.
    assert_eq!(look.single(MEMORY, 1676), Some(524_288 * 1024));
    assert_eq!(look.names(PROCESS), ["Idle", "_Total"]);
    let faults = look.fault_texts();
    assert_eq!(faults, ["230/: the deadline passed: some processes were not read"]);

    late.until = Some(Instant::now() + Duration::from_secs(600));
    let look = machine.look_with(&late, &objects);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(PROCESS).len(), 102);
    assert_eq!(look.names(THREAD).len(), 103);
}

/// Without `uptime` the time of a copy is unknown: values that count from it are missing.
#[test]
fn copy_without_uptime_has_no_elapsed_times() {
    let tree = Tree::machine();
    tree.process(7, b"seven");
    let elapsed = |look: &Look| {
        [(SYSTEM, 674, None), (PROCESS, 684, Some("seven"))].map(|(object, name, instance)| {
            let object = look.object(object);
            let plan = CounterPlan::all(object).into_iter().find(|plan| plan.name.0 == name);
            let block = match instance {
                Some(name) => look.instance(PROCESS, name).counter_block(),
                None => object.counter_block().unwrap(),
            };
            let sample = plan.unwrap().sample(object, block).unwrap();
            cook(CounterType::PERF_ELAPSED_TIME, None, &sample).map(|value| value.as_f64())
        })
    };
    let [up, of_process] = elapsed(&Look::at(&tree.root(), &[SYSTEM, PROCESS], &[]));
    assert_eq!(up, Ok(1000.0));
    assert!(of_process.unwrap() < 1000.0);
    tree.remove("uptime");
    let none = elapsed(&Look::at(&tree.root(), &[SYSTEM, PROCESS], &[]));
    assert_eq!(none, [Err(CookError::NoStartTime); 2]);
}

/// The threads of Idle have the numbers of their processors, and vanish with them.
#[test]
fn idle_threads_have_the_numbers_of_their_processors() {
    let tree = Tree::machine();
    let idle = |look: &Look| {
        let object = look.object(THREAD);
        let names = object.instances().filter(|thread| {
            let (_, place) = thread.parent().unwrap();
            let owner = look.object(PROCESS).instances().nth(place as usize).unwrap();
            owner.name().to_text() == "Idle"
        });
        names.map(|thread| thread.name().to_text()).collect::<Vec<_>>()
    };
    let stat = |cpus: &[u32]| {
        let cpus = cpus.iter().map(|cpu| format!("cpu{cpu} 1 1 1 {cpu}00 1 1 1 1 0 0\n"));
        let lines: String = cpus.collect();
        tree.file("stat", format!("cpu  1 1 1 900 1 1 1 0 0 0\n{lines}ctxt 1\nbtime 1700000000\n"));
    };
    stat(&[0, 1, 2]);
    let mut machine = Machine::new(&tree.root());
    assert_eq!(idle(&machine.look(&[PROCESS, THREAD], &[])), ["0", "1", "2"]);
    stat(&[0, 2]);
    assert_eq!(idle(&machine.look(&[PROCESS, THREAD], &[])), ["0", "2"]);
}

/// `_Total` keeps the counts of processes that ended, and grows by the counts of the others.
#[test]
fn total_keeps_the_counts_of_processes_that_ended() {
    let tree = Tree::machine();
    tree.process(7, b"stays");
    tree.process(9, b"ends");
    let io = |pid: u32, reads: u32| {
        let text = format!(
            "rchar: 0\nwchar: 0\nsyscr: {reads}\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n"
        );
        tree.file(&format!("{pid}/io"), text);
    };
    io(7, 100);
    io(9, 5000);
    let mut machine = Machine::new(&tree.root());
    let mut totals = || {
        let look = machine.look(&[PROCESS, THREAD], &[]);
        let reads = look.value(PROCESS, "_Total", 1412).unwrap();
        let [of_process, of_threads] = [PROCESS, THREAD].map(|object| {
            let user = look.value(object, "_Total", 142).unwrap();
            assert!(user >= look.value(PROCESS, "stays", 142).unwrap());
            user
        });
        assert_eq!(of_process, of_threads);
        (reads, of_process)
    };
    let before = totals();
    assert_eq!(before.0, 5100);
    tree.remove("9");
    io(7, 130);
    assert_eq!(totals(), (5130, before.1));
    // A new process with its number counts in full.
    tree.process(9, b"new");
    let text = String::from_utf8(stat(9, b"new", 1, 1)).unwrap();
    let (head, tail) = text.rsplit_once(") ").unwrap();
    let mut fields: Vec<&str> = tail.split(' ').collect();
    fields[19] = "777777";
    tree.file("9/stat", format!("{head}) {}", fields.join(" ")));
    io(9, 7);
    assert_eq!(totals().0, 5137);
    tree.remove("9");
    assert_eq!(totals().0, 5137);
}
