//! Compares values of this machine with those of the system's tools, and under a known load.

use super::{INFORMATION, MEMORY, NODE, OBJECTS, PRESSURE, PROCESSOR, SYSTEM, cooked};
use crate::common::{Look, Machine};
use perfhive_linux::ProcRoot;
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The output of a tool; `None`, and a message, where it is not installed.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        _ => {
            eprintln!("{program} cannot be used here: nothing is compared with it");
            None
        }
    }
}

/// Tries again until the value lies between two readings of the tool: on a busy machine
/// other programs change it meanwhile.
fn sooner_or_later(mut attempt: impl FnMut() -> Result<(), String>) {
    let mut last = String::new();
    for _ in 0..30 {
        match attempt() {
            Ok(()) => return,
            Err(reason) => last = reason,
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{last}");
}

/// An error unless a value lies between two others, which may be exceeded by the part `slack`.
fn between(what: &str, ours: u64, one: u64, other: u64, slack: f64) -> Result<(), String> {
    let (least, most) = (one.min(other) as f64, one.max(other) as f64);
    let ours_f = ours as f64;
    if ours_f < least * (1.0 - slack) || ours_f > most * (1.0 + slack) {
        return Err(format!("{what}: {ours} is not within {least} to {most}"));
    }
    Ok(())
}

/// Asserts that a count of 32 bits lies between two readings of a longer count.
fn counted(what: &str, ours: u64, before: u64, after: u64) {
    let ahead = ours.wrapping_sub(before) & 0xffff_ffff;
    assert!(ahead <= after - before, "{what}: {ours} is not within {before} to {after}");
}

#[test]
fn memory_values_agree_with_free() {
    let columns = || -> Option<[Vec<u64>; 2]> {
        let text = run("free", &["-b"])?;
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
        };
        Some([row("Mem:"), row("Swap:")])
    };
    if columns().is_none() {
        return;
    }
    sooner_or_later(|| {
        let [memory, swap] = columns().unwrap();
        let look = Look::at(&ProcRoot::default(), &[MEMORY], &[]);
        let [memory_after, swap_after] = columns().unwrap();
        let value = |counter| look.single(MEMORY, counter).unwrap();
        // The columns are: total used free shared buff/cache available.
        assert_eq!(value(100_100), memory[0]);
        assert_eq!(value(100_102), swap[0]);
        between("free", value(1676), memory[2], memory_after[2], 0.01)?;
        between("shared", value(100_122), memory[3], memory_after[3], 0.01)?;
        let cached = value(818) + value(100_122) + value(100_128);
        between("buff/cache", cached, memory[4], memory_after[4], 0.01)?;
        between("available", value(24), memory[5], memory_after[5], 0.01)?;
        between("swap free", value(100_104), swap[2], swap_after[2], 0.01)
    });
}

#[test]
fn memory_and_system_values_agree_with_vmstat() {
    let numbers = || -> Option<BTreeMap<String, u64>> {
        let text = run("vmstat", &["-s"])?;
        let pair = |line: &str| {
            let (number, name) = line.trim_start().split_once(' ')?;
            Some((name.trim_start_matches("K ").to_string(), number.parse().ok()?))
        };
        Some(text.lines().filter_map(pair).collect())
    };
    let Some(before) = numbers() else { return };
    let look = Look::at(&ProcRoot::default(), &[MEMORY, SYSTEM], &[]);
    let after = numbers().unwrap();
    for (name, object, counter) in [
        ("paged in", MEMORY, 100_154),
        ("paged out", MEMORY, 100_156),
        ("pages swapped in", MEMORY, 100_150),
        ("pages swapped out", MEMORY, 100_152),
        ("interrupts", SYSTEM, 100_012),
        ("CPU context switches", SYSTEM, 146),
        ("forks", SYSTEM, 100_010),
    ] {
        // Older versions call the first two `pages paged in` and `out`.
        let of = |numbers: &BTreeMap<String, u64>| {
            let long = || numbers.get(&format!("pages {name}"));
            *numbers.get(name).or_else(long).unwrap()
        };
        counted(name, look.single(object, counter).unwrap(), of(&before), of(&after));
    }
    assert_eq!(look.single(MEMORY, 100_100), Some(before["total memory"] * 1024));
}

#[test]
fn node_values_agree_with_numastat() {
    let table = || -> Option<BTreeMap<String, Vec<u64>>> {
        let text = run("numastat", &[])?;
        let row = |line: &str| {
            let mut words = line.split_whitespace();
            let name = words.next()?.to_string();
            let counts: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
            Some((name, counts?))
        };
        Some(text.lines().filter_map(row).collect())
    };
    let Some(before) = table() else { return };
    let look = Look::at(&ProcRoot::default(), &[NODE], &[]);
    let after = table().unwrap();
    if look.object(NODE).instance_count() == 0 {
        eprintln!("this kernel knows no nodes");
        return;
    }
    let nodes = look.object(NODE).instance_count() as usize - 1;
    for (name, counter) in [
        ("numa_hit", 100_170),
        ("numa_miss", 100_172),
        ("numa_foreign", 100_436),
        ("interleave_hit", 100_438),
        ("local_node", 100_440),
        ("other_node", 100_442),
    ] {
        assert_eq!(before[name].len(), nodes);
        for node in 0..nodes {
            let instance = look.object(NODE).instances().nth(node).unwrap();
            let ours = look.value_of(NODE, instance, counter).unwrap();
            counted(name, ours, before[name][node], after[name][node]);
        }
    }
}

#[test]
fn values_agree_with_the_files_of_the_kernel() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let word = |text: &str, at: usize| text.split_whitespace().nth(at).unwrap().to_string();
    sooner_or_later(|| {
        let before = read("/proc/loadavg");
        let look = Look::at(&ProcRoot::default(), &[SYSTEM, OBJECTS], &[]);
        let after = read("/proc/loadavg");
        // The averages change every five seconds, each at a time of its own.
        if (0..3).any(|at| word(&before, at) != word(&after, at)) {
            return Err("the load has changed meanwhile".to_string());
        }
        for (at, counter) in [100_000, 100_002, 100_004].into_iter().enumerate() {
            let ours = cooked(None, &look, SYSTEM, None, counter);
            assert_eq!(format!("{ours:.2}"), word(&before, at));
            assert_eq!(ours, word(&before, at).parse::<f64>().unwrap());
        }
        Ok(())
    });
    sooner_or_later(|| {
        let files = || word(&read("/proc/sys/fs/file-nr"), 0).parse::<u64>().unwrap();
        let before = files();
        let look = Look::at(&ProcRoot::default(), &[OBJECTS], &[]);
        // Other programs open and close files meanwhile.
        between("open files", look.single(OBJECTS, 100_300).unwrap(), before, files(), 0.1)
    });
    let online = run("nproc", &["--all"]).map(|text| text.trim().parse::<u64>().unwrap());
    let look = Look::at(&ProcRoot::default(), &[SYSTEM], &[]);
    let ours = look.single(SYSTEM, 100_016).unwrap();
    assert!(ours > 0 && online.is_none_or(|online| ours <= online), "{ours} {online:?}");
}

#[test]
fn processor_values_agree_with_mpstat() {
    let before = Look::at(&ProcRoot::default(), &[INFORMATION], &[]);
    let node_of_first = before.names(INFORMATION)[0].clone();
    drop(before);
    sooner_or_later(|| {
        let mut machine = Machine::new(&ProcRoot::default());
        let first = machine.look(&[INFORMATION], &[]);
        let Some(text) = run("mpstat", &["-P", "ALL", "1", "1"]) else {
            return Ok(());
        };
        let second = machine.look(&[INFORMATION], &[]);
        let share =
            |name: &str, counter| cooked(Some(&first), &second, INFORMATION, Some(name), counter);
        let averages = text.lines().filter_map(|line| line.strip_prefix("Average:"));
        let rows: Vec<Vec<&str>> = averages.map(|line| line.split_whitespace().collect()).collect();
        let column = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
        let cpu = node_of_first.split_once(',').unwrap().1;
        for (name, ours) in [("all", "_Total"), (cpu, node_of_first.as_str())] {
            let row = rows.iter().find(|row| row[0] == name).unwrap();
            // The tool's shares are of the sum of the kernel's times, ours of the time that
            // passed. The two differ where the hypervisor runs other guests: an idle
            // processor has that time counted twice, as idle and as stolen.
            let counted: f64 =
                [1746, 142, 144, 100_230].into_iter().map(|counter| share(ours, counter)).sum();
            if share(ours, 100_230) < 2.0 && (counted - 100.0).abs() > 8.0 {
                return Err(format!("{name}: all is {counted} % of the time"));
            }
            let theirs = |head: &str| row[column(head)].parse::<f64>().unwrap() * counted / 100.0;
            let pairs = [
                ("%idle", theirs("%idle") + theirs("%iowait"), share(ours, 1746)),
                ("%iowait", theirs("%iowait"), share(ours, 100_232)),
                ("%nice", theirs("%nice"), share(ours, 100_236)),
                ("%usr", theirs("%usr") + theirs("%nice"), share(ours, 142)),
                ("%sys", theirs("%sys") + theirs("%irq") + theirs("%soft"), share(ours, 144)),
                ("%steal", theirs("%steal"), share(ours, 100_230)),
                ("busy", 100.0 - theirs("%idle") - theirs("%iowait"), share(ours, 6)),
            ];
            for (head, theirs, ours) in pairs {
                // The tool's second begins a little later, and times are in ticks.
                if (theirs - ours).abs() > 8.0 {
                    return Err(format!("{name} {head}: {theirs} there, {ours} here"));
                }
            }
        }
        Ok(())
    });
}

/// A child that keeps one processor busy at low priority; it ends when this is dropped.
struct Burner(Child);

impl Burner {
    fn new(cpu: &str) -> Option<Self> {
        let child = Command::new("taskset")
            .args(["-c", cpu, "nice", "-n", "5", "sh", "-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.ok().map(Self)
    }

    /// The child's processor time in ticks.
    fn ticks(&self) -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).ok()?;
        let mut fields = text.rsplit_once(") ")?.1.split_whitespace().skip(11);
        let mut field = || fields.next()?.parse::<f64>().ok();
        Some(field()? + field()?)
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn load_on_one_processor_shows_on_that_processor() {
    let mut machine = Machine::new(&ProcRoot::default());
    let first = machine.look(&[INFORMATION], &[]);
    let name = first.names(INFORMATION)[0].clone();
    let cpu = name.split_once(',').unwrap().1.to_string();
    let Some(burner) = Burner::new(&cpu) else {
        eprintln!("taskset cannot be used here: no load is made");
        return;
    };
    // Waits until the child has become `sh`.
    std::thread::sleep(Duration::from_millis(300));
    sooner_or_later(|| {
        let start = Instant::now();
        let first = machine.look(&[PROCESSOR, INFORMATION, PRESSURE], &[]);
        let before = burner.ticks().ok_or("no load")?;
        std::thread::sleep(Duration::from_millis(1500));
        let burned = burner.ticks().ok_or("no load")? - before;
        let second = machine.look(&[PROCESSOR, INFORMATION, PRESSURE], &[]);
        // The least share of processor time that the child had. If other programs run, it
        // may be small.
        let share = burned / (start.elapsed().as_secs_f64() * 100.0) * 100.0;
        if burned < 5.0 {
            return Err(format!("the load got {burned} ticks only"));
        }
        let of = |object, name: &str, counter| {
            cooked(Some(&first), &second, object, Some(name), counter)
        };
        let cpus = second.object(PROCESSOR).instance_count() as f64 - 1.0;
        for (what, seen, least) in [
            ("% Processor Time", of(PROCESSOR, &cpu, 6), share),
            ("% User Time", of(PROCESSOR, &cpu, 142), share),
            ("information", of(INFORMATION, &name, 6), share),
            ("low priority", of(INFORMATION, &name, 100_236), share),
            ("_Total", of(PROCESSOR, "_Total", 6), share / cpus),
            ("_Total low priority", of(INFORMATION, "_Total", 100_236), share / cpus),
        ] {
            // The processor's times are sampled in ticks, the child's are measured exactly.
            if seen < least * 0.85 - 3.0 || seen > 103.0 {
                return Err(format!("{what}: {seen}, and the load is {least}"));
            }
        }
        // Time at low priority is no priority time.
        let (busy, priority) = (of(INFORMATION, &name, 6), of(INFORMATION, &name, 100_202));
        let nice = of(INFORMATION, &name, 100_236);
        if (busy - nice - priority).abs() > 1e-6 {
            return Err(format!("{busy} {nice} {priority}"));
        }
        Ok(())
    });
}

#[test]
fn every_object_of_this_machine_is_plausible() {
    let root = ProcRoot::default();
    let objects: Vec<u32> = perfhive_linux::object_table()
        .iter()
        .map(|object| object.index.0)
        .filter(|index| {
            [SYSTEM, MEMORY, 86, OBJECTS, PROCESSOR].contains(index)
                || (100_000..102_000).contains(index)
        })
        .collect();
    assert!(objects.len() >= 10, "{objects:?}");
    let extra: Vec<_> = objects.iter().map(|object| (*object, 0)).collect();
    let mut machine = Machine::new(&root);
    let look = machine.look(&objects, &extra);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    assert!(look.has(INFORMATION) && look.has(OBJECTS));
    // Each processor that is in Processor is in Processor Information.
    let names: Vec<String> = look.names(INFORMATION);
    let total = |name: &&String| !name.ends_with("_Total");
    let mut cpus: Vec<&str> =
        names.iter().filter(total).map(|name| name.split_once(',').unwrap().1).collect();
    cpus.sort_by_key(|cpu| cpu.parse::<u32>().unwrap());
    let mut plain = look.names(PROCESSOR);
    assert_eq!(plain.pop().as_deref(), Some("_Total"));
    assert_eq!(cpus, plain);
    // And the same numbers, read once.
    for name in names.iter().filter(total) {
        let cpu = name.split_once(',').unwrap().1;
        for counter in [6, 142, 144, 148, 1746, 698, 696] {
            let value = look.value(PROCESSOR, cpu, counter);
            assert_eq!(look.value(INFORMATION, name, counter), value, "{name} {counter}");
            assert!(value.is_some());
        }
    }
}
