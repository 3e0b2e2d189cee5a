//! Frozen machines that other people recorded.

use crate::common::{Look, Tree};
use perfhive_linux::ProcRoot;
use perfhive_testkit::real;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Unpacks a frozen machine; `None` where the real data is absent.
pub(crate) fn unpack(name: &str) -> Option<Tree> {
    let archive = real::root()?.join("proc-trees").join(name);
    if !archive.is_file() {
        return None;
    }
    let tree = Tree::new();
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(tree.path()).status();
    assert!(status.unwrap().success());
    Some(tree)
}

fn root(tree: &Tree) -> ProcRoot {
    ProcRoot::new(tree.path().join("proc"))
}

/// The lines of a file that consist of a word and a number.
pub(crate) fn numbers(path: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        let key = words.next()?.trim_end_matches(':').to_string();
        Some((key, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

#[test]
fn recorded_processes_of_2_6_32_and_4_14_give_their_values() {
    for name in ["procpid-2.6.32-root-001.tgz", "procpid-4.14.5-root-005.tgz"] {
        let Some(tree) = unpack(name) else { return };
        // The trees do not have files of threads.
        let extra = [952, 172, 105_002].map(|counter| (230, counter));
        let look = Look::at(&root(&tree), &[230], &extra);
        // The tree has no `stat` of the machine.
        let faults = look.fault_texts();
        assert_eq!(faults.len(), 1, "{name}: {faults:?}");
        let mut pids = 0;
        let mut with_io = 0;
        for entry in std::fs::read_dir(tree.path().join("proc")).unwrap() {
            let path = entry.unwrap().path();
            let Ok(pid) = path.file_name().unwrap().to_str().unwrap().parse::<u32>() else {
                continue;
            };
            pids += 1;
            let Some(process) = look.process(pid) else { panic!("{name} {pid} is missing") };
            let value = |counter| look.value_of(230, process, counter);
            let stat = std::fs::read_to_string(path.join("stat")).unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            // Fields are counted from 1; the field behind the name is the third.
            let fields: Vec<&str> = fields.split_whitespace().collect();
            let field = |number: usize| Some(fields[number - 3].parse::<u64>().unwrap());
            assert_eq!(value(1410), field(4), "{name} {pid}");
            assert_eq!(value(28), Some(field(10).unwrap() + field(12).unwrap()));
            assert_eq!(value(142), field(14).map(|ticks| ticks * 100_000));
            assert_eq!(value(144), field(15).map(|ticks| ticks * 100_000));
            assert_eq!(value(680), field(20));
            assert_eq!(value(174), field(23));
            assert_eq!(value(105_000), field(12));
            let nice: i64 = fields[19 - 3].parse().unwrap();
            assert_eq!(value(105_002), Some((20 + nice) as u64));
            assert_eq!(value(105_004), field(40));
            assert_eq!(value(105_006), field(41));
            let statm = std::fs::read_to_string(path.join("statm")).unwrap();
            let pages: Vec<u64> = statm.split_whitespace().map(|n| n.parse().unwrap()).collect();
            assert_eq!(value(180), Some(pages[1] * 4096));
            assert_eq!(value(1478), Some((pages[1] - pages[2]) * 4096));
            assert_eq!(value(186), Some(pages[5] * 4096));
            let status = numbers(&path.join("status"));
            let kib = |key| status.get(key).copied().map(|kib: u64| kib * 1024);
            // A kernel thread has no memory lines, and never had memory.
            assert_eq!(value(172), kib("VmPeak").or(Some(0)));
            assert_eq!(value(178), kib("VmHWM").or(Some(0)));
            let io = path.join("io");
            if io.is_file() && std::fs::metadata(&io).unwrap().len() > 0 {
                let io = numbers(&io);
                assert_eq!(value(1420), io.get("rchar").copied());
                assert_eq!(value(1414), io.get("syscw").copied());
                assert_eq!(value(105_020), io.get("read_bytes").copied());
                assert_eq!(value(105_022), io.get("write_bytes").copied());
                assert_eq!(value(105_024), io.get("cancelled_write_bytes").copied());
                with_io += 1;
            } else {
                assert_eq!(value(1420), None);
            }
        }
        assert!(pids >= 4, "{name}");
        assert_eq!(look.object(230).instance_count(), pids + 1);
        assert_eq!(look.value(230, "_Total", 1420).is_some(), with_io > 0);
        let threads: u64 = (0..pids as usize)
            .map(|at| {
                let process = look.object(230).instances().nth(at).unwrap();
                look.value_of(230, process, 680).unwrap()
            })
            .sum();
        assert_eq!(look.value(230, "_Total", 680), Some(threads));
    }
}

#[test]
fn recorded_memory_of_two_machines_gives_its_values() {
    for name in ["meminfo-root-001.tgz", "meminfo-root-005.tgz"] {
        let Some(tree) = unpack(name) else { return };
        let look = Look::at(&root(&tree), &[2, 4, 238], &[(238, 0)]);
        let memory = numbers(&tree.path().join("proc/meminfo"));
        let events = numbers(&tree.path().join("proc/vmstat"));
        let bytes = |key: &str| memory[key] * 1024;
        assert_eq!(look.single(4, 24), Some(bytes("MemAvailable")));
        assert_eq!(look.single(4, 1676), Some(bytes("MemFree")));
        assert_eq!(look.single(4, 26), Some(bytes("Committed_AS")));
        assert_eq!(look.single(4, 42), events.get("pgmajfault").copied());
        assert_eq!(look.single(4, 28), events.get("pgfault").map(|count| count & 0xffff_ffff));
        // The machine has eight processors; `_Total` is their average.
        assert_eq!(look.object(238).instance_count(), 9);
        let sum: u64 = (0..8).map(|cpu| look.value(238, &cpu.to_string(), 6).unwrap()).sum();
        assert_eq!(look.value(238, "_Total", 6), Some(sum / 8));
        let stat = numbers(&tree.path().join("proc/stat"));
        assert_eq!(look.single(2, 146), stat.get("ctxt").map(|count| count & 0xffff_ffff));
    }
}

#[test]
fn recorded_interrupts_of_eight_processors_give_their_values() {
    let Some(table) = real::text("proc-trees/interrupts-8cpu-x86_64") else { return };
    let tree = Tree::new();
    let line = |cpu| format!("cpu{cpu} 1 2 3 4 5 6 7\n");
    tree.file("stat", (0..8).map(line).collect::<String>());
    tree.file("interrupts", &table);
    let look = Look::at(&tree.root(), &[238], &[(238, 148)]);
    let mut columns = [0u64; 8];
    for line in table.lines().skip(1) {
        let counts: Vec<u64> =
            line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
        if counts.len() >= 8 {
            columns.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    for (cpu, count) in columns.iter().enumerate() {
        assert_eq!(look.value(238, &cpu.to_string(), 148), Some(count & 0xffff_ffff));
    }
    let sum = columns.iter().sum::<u64>() & 0xffff_ffff;
    assert_eq!(look.value(238, "_Total", 148), Some(sum));
}
