//! Bad input: every file that is read is damaged in every way, and the values of the rest
//! of the machine are checked.

use crate::common::{Look, Machine, Tree, stat};
use perfhive_format::{CounterPlan, CounterType, Instance, TitleIndex};
use perfhive_linux::ProcRoot;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

const ALL: [u32; 9] = [2, 4, 230, 232, 238, 740, 786, 816, 1408];
const EXTRA: [(u32, u32); 6] = [(230, 172), (232, 0), (238, 0), (740, 0), (786, 0), (1408, 0)];

/// Files of the machine, each with the objects whose values come from it.
const SYSTEM: [(&str, &[u32]); 5] = [
    ("stat", &[2, 230, 232, 238]),
    ("loadavg", &[2]),
    ("meminfo", &[4]),
    ("vmstat", &[4]),
    ("interrupts", &[238]),
];
/// The files of process 10.
const PROCESS: [&str; 9] = [
    "10/stat",
    "10/statm",
    "10/io",
    "10/status",
    "10/task/10/stat",
    "10/task/10/status",
    "10/task/12/stat",
    "10/task/12/syscall",
    "10/smaps",
];

fn mapped(name: &str) -> String {
    format!(
        "1000-2000 r-xp 00000000 fe:00 1 /bin/{name}\nRss: 4 kB\nPss: 3 kB\nPrivate_Dirty: 2 kB\n\
         Swap: 1 kB\n3000-4000 rw-p 00000000 00:00 0 \nRss: 4 kB\nPss: 3 kB\nPrivate_Dirty: 2 kB\n\
         Swap: 1 kB\n"
    )
}

/// A machine with two processes that have every file that is read; the first has two threads.
fn machine() -> Tree {
    let tree = Tree::machine();
    for (pid, name) in [(10, "hurt"), (11, "whole")] {
        tree.process(pid, name.as_bytes());
        tree.file(&format!("{pid}/smaps"), mapped(name));
        tree.file(&format!("{pid}/task/{pid}/syscall"), "0 0x1 0x2 0xabc\n");
    }
    tree.file("10/stat", stat(10, b"hurt", 1, 2));
    tree.thread(10, 12, b'S');
    tree.file("10/task/12/syscall", "0 0x1 0x2 0xdef\n");
    tree
}

/// Values by object, instance (behind its parent) and counter. For an elapsed time the value is not the
/// start, which has another origin where `stat` lacks `btime`, but the time since then.
type Values = BTreeMap<(u32, String, u32), u64>;

fn values(look: &Look) -> Values {
    let mut all = Values::new();
    for object in look.block().objects() {
        let index = object.name_index().0;
        let plans = CounterPlan::all(object);
        let mut add = |name: &str, block: perfhive_format::CounterBlock<'_>| {
            for counter in plans.iter().filter(|plan| !plan.counter_type.is_base()) {
                if let Ok(mut value) = counter.value(block) {
                    if counter.counter_type == CounterType::PERF_ELAPSED_TIME {
                        value = (object.clocks().object_time as u64).wrapping_sub(value);
                    }
                    all.insert((index, name.to_string(), counter.name.0), value);
                }
            }
        };
        if let Some(block) = object.counter_block() {
            add("", block);
        }
        for instance in object.instances() {
            add(&name_of(look, instance), instance.counter_block());
        }
    }
    all
}

/// The name of an instance, behind that of its parent.
fn name_of(look: &Look, instance: Instance<'_>) -> String {
    let parent = instance.parent().and_then(|(object, place)| {
        let object = look.block().object(TitleIndex(object.0))?;
        Some(object.instances().nth(place as usize)?.name().to_text())
    });
    format!("{}/{}", parent.unwrap_or_default(), instance.name().to_text())
}

/// The values that must not change when a file is damaged: all that do not come from this file. A time
/// since a start is the same in a frozen machine, too; the elapsed time of `_Total`, which depends on
/// the present, is left out.
fn untouched(values: &Values, file: &str, objects: &[u32]) -> Values {
    let is_of_process = PROCESS.contains(&file);
    let mut rest = values.clone();
    rest.retain(|(object, name, counter), _| {
        let depends = match is_of_process {
            true => name.contains("hurt") || name.ends_with("_Total"),
            false => objects.contains(object) && !name.contains("hurt") && !name.contains("whole"),
        };
        !(depends || name.ends_with("_Total") && *counter == 684)
    });
    rest
}

fn check(tree: &Tree, whole: &Values, file: &str, objects: &[u32], what: &str) -> Look {
    let start = Instant::now();
    let look = Look::at(&tree.root(), &ALL, &EXTRA);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{file} {what}: {took:?}");
    let (now, expected) = (values(&look), untouched(whole, file, objects));
    for (key, value) in &expected {
        assert_eq!(now.get(key), Some(value), "{file} {what}: {key:?}");
    }
    let name = file.rsplit('/').next().unwrap();
    for text in look.fault_texts() {
        // A fault names the file, and the process if the file is a process's.
        assert!(text.contains(name) || text.contains("processor"), "{file} {what}: {text}");
        let is_here = text.contains("PID 10:") == PROCESS.contains(&file);
        assert!(is_here || text.contains("/Idle:"), "{file} {what}: {text}");
    }
    look
}

fn files() -> impl Iterator<Item = (&'static str, &'static [u32])> {
    SYSTEM.into_iter().chain(PROCESS.into_iter().map(|file| (file, &[][..])))
}

#[test]
fn folders_pipes_and_devices_as_files_are_faults() {
    let whole = values(&Look::at(&machine().root(), &ALL, &EXTRA));
    for (file, objects) in files() {
        for what in ["folder", "pipe", "zeros", "loop", "garbage", "nothing"] {
            let tree = machine();
            tree.remove(file);
            let path = tree.path().join("proc").join(file);
            match what {
                "folder" => std::fs::create_dir(&path).unwrap(),
                "pipe" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                "zeros" => symlink("/dev/zero", &path).unwrap(),
                "loop" => symlink(&path, &path).unwrap(),
                "garbage" => std::fs::write(&path, [0xff; 5000]).unwrap(),
                _ => std::fs::write(&path, "").unwrap(),
            }
            let look = check(&tree, &whole, file, objects, what);
            // A process that ended meanwhile, or a kernel without a field, looks like an
            // empty file; only there it is right that no fault is reported.
            let silent = [
                "meminfo",
                "vmstat",
                "stat",
                "10/status",
                "10/task/10/status",
                "10/task/12/syscall",
                "10/smaps",
            ];
            let may_be_silent = what == "nothing" && silent.contains(&file)
                || what == "garbage"
                    && ["meminfo", "vmstat", "10/status", "10/task/10/status"].contains(&file)
                || what == "zeros" && ["10/status", "10/task/10/status"].contains(&file);
            assert!(may_be_silent || !look.faults.is_empty(), "{file} {what}");
        }
    }
}

#[test]
fn missing_file_costs_its_own_values_only() {
    let whole = values(&Look::at(&machine().root(), &ALL, &EXTRA));
    for (file, objects) in files() {
        let tree = machine();
        tree.remove(file);
        let look = check(&tree, &whole, file, objects, "missing");
        // A missing file of a process is not a fault: the kernel may lack it, or the process may just have
        // ended.
        assert_eq!(look.faults.is_empty(), PROCESS.contains(&file), "{file}");
    }
}

/// Values that come from a file that was cut off are the same as before, or absent,
/// but never others. Only the number of processors cannot be known when whole lines
/// are missing.
#[test]
fn a_file_that_is_cut_off_makes_no_other_numbers() {
    let whole = values(&Look::at(&machine().root(), &ALL, &EXTRA));
    for (file, objects) in files() {
        let tree = machine();
        let path = tree.path().join("proc").join(file);
        let text = std::fs::read(&path).unwrap();
        for end in 0..text.len() {
            std::fs::write(&path, &text[..end]).unwrap();
            let look = check(&tree, &whole, file, objects, &format!("cut at {end}"));
            let at_line = end == 0 || text[end - 1] == b'\n';
            // It is not visible that a whole line is missing.
            if !at_line || !["stat", "10/smaps", "interrupts"].contains(&file) {
                none_is_another(&look, &whole, &format!("{file} cut at {end}"));
            }
            // Each missing value has a fault. A `status` without a field may be that of a process that has
            // ended.
            let now = values(&look);
            let is_lost = whole.keys().any(|key| !now.contains_key(key));
            if is_lost && !at_line && !file.ends_with("/status") {
                assert!(!look.faults.is_empty(), "{file} cut at {end}");
            }
        }
    }
}

/// The counter Nice Level of processes and threads.
const NICE_LEVEL: u32 = 105_002;

/// Asserts that each value is the same as before, or absent. Sums are not checked: they are sums of the
/// values that remain, as a fault says.
fn none_is_another(look: &Look, whole: &Values, what: &str) {
    for (key, value) in values(look) {
        let name = &key.1;
        // A nice value may be −1.
        if key.2 != NICE_LEVEL
            && !(name.ends_with("_Total") || name == "/Idle" || name.starts_with("Idle/"))
        {
            assert_eq!(Some(&value), whole.get(&key), "{what}: {key:?}");
        }
    }
}

#[test]
fn damaged_numbers_change_no_other_value() {
    let whole = values(&Look::at(&machine().root(), &ALL, &EXTRA));
    for (file, objects) in files() {
        let tree = machine();
        let path = tree.path().join("proc").join(file);
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        for (from, number) in numbers(&text) {
            for other in ["9".repeat(10_000), "-1".into(), "x".into(), "1e9".into(), "0x".into()] {
                let mut damaged = text.clone();
                damaged.replace_range(from..from + number, &other);
                std::fs::write(&path, &damaged).unwrap();
                let what = format!("{file} {other:.9} at {from}");
                let look = check(&tree, &whole, file, objects, &what);
                // Addresses may contain an `e`.
                if !(other.starts_with('9') || file == "10/smaps" && other == "1e9") {
                    none_is_another(&look, &whole, &what);
                }
            }
        }
    }
}

/// The places and lengths of the numbers in a text.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match found.last_mut() {
            _ if !byte.is_ascii_digit() => {}
            Some((from, length)) if *from + *length == at => *length += 1,
            _ => found.push((at, 1)),
        }
    }
    found
}

#[test]
fn entries_of_proc_that_are_not_processes_are_left_out() {
    let tree = machine();
    let whole = values(&Look::at(&tree.root(), &ALL, &EXTRA));
    let proc = tree.path().join("proc");
    // A process that has ended, a file, a link to itself, and a number that no process can have.
    std::fs::create_dir(proc.join("20")).unwrap();
    std::fs::write(proc.join("21"), "").unwrap();
    symlink("22", proc.join("22")).unwrap();
    std::fs::create_dir(proc.join("99999999999")).unwrap();
    std::fs::create_dir(proc.join("007")).unwrap();
    // Threads that have ended, and no threads at all.
    std::fs::create_dir(proc.join("10/task/13")).unwrap();
    tree.process(23, b"idle");
    tree.file("23/stat", stat(23, b"idle", 1, 2));
    std::fs::remove_dir_all(proc.join("23/task")).unwrap();
    std::fs::create_dir(proc.join("23/task")).unwrap();
    let look = Look::at(&tree.root(), &ALL, &EXTRA);
    let texts = look.fault_texts();
    assert!(
        texts.iter().all(|text| text.contains("PID 21:") || text.contains("PID 22:")),
        "{texts:?}"
    );
    let now = values(&look);
    for (key, value) in whole.iter().filter(|((o, n, _), _)| *o != 2 && !n.ends_with("_Total")) {
        assert_eq!(now.get(key), Some(value), "{key:?}");
    }
    assert_eq!(look.names(230), ["Idle", "hurt", "whole", "idle (23)", "_Total"]);
}

/// The formats of `stat` since Linux 2.4: the line of a processor grew from four
/// numbers to ten.
#[test]
fn processors_of_older_and_newer_kernels() {
    let line = "1000 10 100 5000 60 7 8 9 3 2 77 88";
    for count in 4..=12 {
        let words: Vec<&str> = line.split(' ').take(count).collect();
        let tree = Tree::machine();
        let cpu = words.join(" ");
        tree.file("stat", format!("cpu  {cpu}\ncpu0 {cpu}\nctxt 5\nprocs_running 1\n"));
        let look = Look::at(&tree.root(), &[2, 238], &[]);
        assert_eq!(look.fault_texts(), Vec::<String>::new(), "{count}");
        let of = |counter| look.value(238, "0", counter).map(|units| units / 100_000);
        let has = |least: usize, value: u64| if count >= least { value } else { 0 };
        assert_eq!(of(142), Some(1010));
        assert_eq!(of(1746), Some(5000 + has(5, 60)));
        assert_eq!(of(144), Some(100 + has(6, 7) + has(7, 8)));
        assert_eq!(of(698), (count >= 6).then_some(7));
        assert_eq!(of(696), (count >= 7).then_some(8));
    }
    // A damaged number is not taken for a missing one.
    for bad in ["x", "-1", "5.0"] {
        for place in 4..7 {
            let mut words: Vec<&str> = line.split(' ').take(10).collect();
            words[place] = bad;
            let tree = Tree::machine();
            let cpu = words.join(" ");
            tree.file(
                "stat",
                format!("cpu0 1 2 3 4 5 6 7 0 0 0\ncpu1 {cpu}\nctxt 5\nprocs_running 1\n"),
            );
            let look = Look::at(&tree.root(), &[2, 238], &[]);
            assert_eq!(
                look.fault_texts(),
                ["238/1: stat: the line of cpu1 is damaged"],
                "{place} {bad}"
            );
            assert_eq!(look.names(238), ["0", "_Total"]);
            // Then the number of processors is unknown.
            assert_eq!((look.single(2, 44), look.single(2, 250)), (None, None));
            assert_eq!(look.single(2, 146), Some(5));
        }
    }
}

/// The formats of `PID/stat`: 44 numbers before Linux 3.3, 52 since 3.5; later kernels append more.
#[test]
fn processes_of_older_and_newer_kernels() {
    let tree = machine();
    let whole = values(&Look::at(&tree.root(), &[230, 232], &EXTRA));
    let text = String::from_utf8(stat(10, b"hurt", 1, 2)).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    for count in [41, 44, 49, 52] {
        let mut line = words[..count.min(words.len())].join(" ");
        line.push_str(&" 0".repeat(count.saturating_sub(words.len())));
        for path in ["10/stat", "10/task/10/stat"] {
            tree.file(path, format!("{line}\n"));
        }
        let name =
            |path: &str| std::fs::read_to_string(tree.path().join("proc").join(path)).unwrap();
        assert!(name("10/stat").starts_with("10 (hurt) S 1"));
        let look = Look::at(&tree.root(), &[230, 232], &EXTRA);
        assert_eq!(look.fault_texts(), Vec::<String>::new(), "{count}");
        let now = values(&look);
        for (key, value) in
            whole.iter().filter(|((_, n, c), _)| !(n.ends_with("_Total") && *c == 684))
        {
            assert_eq!(now.get(key), Some(value), "{count} {key:?}");
        }
    }
    // Unknown lines of a later kernel, in another order.
    tree.file("10/io", "new: 1\nsyscw: 4\nsyscr: 30\nwchar: 200\nrchar: 1000\nread_bytes: 9\n");
    tree.file("meminfo", "New: 7 kB\nMemAvailable: 4 kB\nMemFree: 3 kB\nNewer: x\n");
    let look = Look::at(&tree.root(), &[4, 230], &[]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    assert_eq!(look.value(230, "hurt", 1412), Some(30));
    assert_eq!((look.single(4, 1676), look.single(4, 24)), (Some(3 * 1024), Some(4 * 1024)));
}

/// Counts of 32 bits: the kernel's own count of interrupts, and counts for which a counter
/// has only 32 bits. Their difference is right across the wrap.
#[test]
fn counts_that_wrap() {
    let tree = machine();
    let row = |timer: u32, local: u32| {
        format!("      CPU0       CPU1\n  0: {timer} 1 IO timer\nLOC: {local} 5 Local\nERR: 7\n")
    };
    let switches = |count: u64| {
        format!("cpu0 1 2 3 4 5 6 7 0\ncpu1 1 2 3 4 5 6 7 0\nctxt {count}\nprocs_running 1\n")
    };
    let wrap = u64::from(u32::MAX) + 1;
    let mut machine = Machine::new(&tree.root());
    tree.file("interrupts", row(u32::MAX - 9, u32::MAX));
    tree.file("stat", switches(wrap - 5));
    tree.file("vmstat", format!("pgfault {}\npgmajfault 1\n", wrap * 3 - 1));
    tree.file(
        "10/task/12/status",
        "voluntary_ctxt_switches:\t4294967295\nnonvoluntary_ctxt_switches:\t0\n",
    );
    let before = machine.look(&ALL, &EXTRA);
    tree.file("interrupts", row(10, 4));
    tree.file("stat", switches(wrap + 15));
    tree.file("vmstat", format!("pgfault {}\npgmajfault 1\n", wrap * 3 + 99));
    tree.file(
        "10/task/12/status",
        "voluntary_ctxt_switches:\t4294967300\nnonvoluntary_ctxt_switches:\t2\n",
    );
    let after = machine.look(&ALL, &EXTRA);
    assert_eq!(after.fault_texts(), Vec::<String>::new());
    let grown = |value: &dyn Fn(&Look) -> Option<u64>| {
        (value(&after).unwrap() as u32).wrapping_sub(value(&before).unwrap() as u32)
    };
    assert_eq!(grown(&|look| look.value(238, "0", 148)), 25);
    assert_eq!(grown(&|look| look.value(238, "1", 148)), 0);
    assert_eq!(grown(&|look| look.value(238, "_Total", 148)), 25);
    assert_eq!(grown(&|look| look.single(2, 146)), 20);
    assert_eq!(grown(&|look| look.single(4, 28)), 100);
    let second =
        |look: &Look| look.value_of(232, look.object(232).instances().nth(3).unwrap(), 146);
    assert_eq!(grown(&second), 7);
}

const ALONE: &str = "PERFHIVE_LINUX_FAULTS_ALONE";

#[test]
fn without_descriptors_maps_are_faults_too() {
    let test = "without_descriptors_maps_are_faults_too";
    if std::env::var(ALONE).is_err() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("faults::{test}"), "--nocapture"])
            .env(ALONE, test)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let at_first = open();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(512), ..limit }).unwrap();
    let mut machine = Machine::new(&ProcRoot::default());
    let own = |look: &Look| {
        let is_own =
            |i: &Instance<'_>| look.value_of(786, *i, 784) == Some(u64::from(std::process::id()));
        look.object(786).instances().any(|instance| is_own(&instance))
    };
    let whole = machine.look(&ALL, &EXTRA);
    assert_eq!(whole.fault_texts(), Vec::<String>::new());
    assert!(own(&whole));
    let mut taken = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        taken.push(file);
    }
    let some = machine.look(&ALL, &EXTRA);
    drop(taken);
    let texts = some.fault_texts();
    for object in [740, 786, 816, 1408] {
        let is_it = |text: &String| {
            text.starts_with(&format!("{object}/")) && text.contains("Too many open files")
        };
        assert!(texts.iter().any(is_it), "{object}: {texts:?}");
    }
    // Files that were open already are still read.
    assert!(some.has(2) && some.names(230).len() > 2 && some.names(786).is_empty());
    assert!(texts.len() < 200, "{}", texts.len());
    let again = machine.look(&ALL, &EXTRA);
    assert_eq!(again.fault_texts(), Vec::<String>::new());
    assert!(own(&again));
    drop(machine);
    assert_eq!(open(), at_first);
}
