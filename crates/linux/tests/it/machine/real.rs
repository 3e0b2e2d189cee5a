//! Recorded files of other machines.

use super::{INFORMATION, MEMORY, NODE, PRESSURE, SYSTEM, nothing};
use crate::common::{Look, Tree};
use crate::real_trees::{numbers, unpack};
use perfhive_testkit::real;

#[test]
fn recorded_memory_files_of_two_machines_give_their_values() {
    for name in ["meminfo-root-001.tgz", "meminfo-root-005.tgz"] {
        let Some(tree) = unpack(name) else { return };
        let look = Look::at(&tree.frozen(), &[MEMORY, NODE, INFORMATION], &[]);
        assert_eq!(look.fault_texts(), nothing(), "{name}");
        let memory = numbers(&tree.path().join("proc/meminfo"));
        let events = numbers(&tree.path().join("proc/vmstat"));
        let bytes = |key: &str| Some(memory[key] * 1024);
        assert_eq!(look.single(MEMORY, 100_100), bytes("MemTotal"));
        assert_eq!(look.single(MEMORY, 100_104), bytes("SwapFree"));
        assert_eq!(look.single(MEMORY, 100_110), bytes("Active"));
        assert_eq!(look.single(MEMORY, 100_116), bytes("AnonPages"));
        assert_eq!(look.single(MEMORY, 100_126), bytes("Slab"));
        let wrapped = |count: u64| Some(count & 0xffff_ffff);
        assert_eq!(look.single(MEMORY, 100_154), wrapped(events["pgpgin"]));
        assert_eq!(look.single(MEMORY, 100_170), wrapped(events["numa_hit"]));
        let family = |stem: &str| {
            let is = |key: &str| key.starts_with(stem) && !key.ends_with("throttle");
            events.iter().filter(|(key, _)| is(key)).map(|(_, count)| count).sum::<u64>()
        };
        assert_eq!(look.single(MEMORY, 100_164), wrapped(family("pgscan_kswapd")));
        assert_eq!(look.single(MEMORY, 100_162), wrapped(family("pgscan_direct")));
        assert_eq!(look.single(MEMORY, 100_166), wrapped(family("pgsteal")));
        assert_eq!(look.single(MEMORY, 100_160), wrapped(family("allocstall")));
        assert_eq!(look.single(MEMORY, 100_174), wrapped(family("workingset_refault")));

        let node = tree.path().join("sys/devices/system/node/node0");
        let text = std::fs::read_to_string(node.join("meminfo")).unwrap();
        let kib = |key: &str| -> u64 {
            let line = text.lines().find(|line| line.contains(&format!(" {key}:"))).unwrap();
            line.split_whitespace().nth(3).unwrap().parse().unwrap()
        };
        assert_eq!(look.names(NODE), ["0", "_Total"]);
        for name in ["0", "_Total"] {
            assert_eq!(look.value(NODE, name, 100_422), Some(kib("MemTotal") / 1024));
            assert_eq!(look.value(NODE, name, 100_424), Some(kib("MemFree") / 1024));
            assert_eq!(look.value(NODE, name, 100_430), Some(kib("MemUsed") * 1024));
            assert_eq!(look.value(NODE, name, 100_432), Some(kib("FilePages") * 1024));
            assert_eq!(look.value(NODE, name, 100_116), Some(kib("AnonPages") * 1024));
            let counts = numbers(&node.join("numastat"));
            assert_eq!(look.value(NODE, name, 100_170), wrapped(counts["numa_hit"]));
            assert_eq!(look.value(NODE, name, 100_440), wrapped(counts["local_node"]));
        }
        // The tree has eight processors, and no node of them.
        assert_eq!(look.object(INFORMATION).instance_count(), 10);
        assert_eq!(look.names(INFORMATION)[7..], ["0,7", "0,_Total", "_Total"]);
    }
}

#[test]
fn recorded_system_files_give_their_counts() {
    let Some(tree) = unpack("meminfo-root-001.tgz") else { return };
    let look = Look::at(&tree.root(), &[SYSTEM], &[]);
    let stat = numbers(&tree.path().join("proc/stat"));
    for (counter, key) in [
        (100_006, "procs_running"),
        (100_008, "procs_blocked"),
        (100_010, "processes"),
        (100_012, "intr"),
        (100_014, "softirq"),
    ] {
        assert_eq!(look.single(SYSTEM, counter), Some(stat[key]), "{key}");
    }
    assert_eq!(look.single(SYSTEM, 100_016), Some(8));
}

#[test]
fn pressure_files_without_full_of_processors_are_read() {
    let Some(tree) = unpack("pressure-root-001.tgz") else { return };
    let look = Look::at(&tree.root(), &[PRESSURE], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let names = ["cpu some", "memory some", "memory full", "io some", "io full"];
    assert_eq!(look.names(PRESSURE), names);
    for name in names {
        let (file, line) = name.split_once(' ').unwrap();
        let text = std::fs::read_to_string(tree.path().join("proc/pressure").join(file)).unwrap();
        let line = text.lines().find(|text| text.starts_with(line)).unwrap();
        let field = |key: &str| line.split_once(key).unwrap().1.split(' ').next().unwrap();
        let total: u64 = field("total=").parse().unwrap();
        assert_eq!(look.value(PRESSURE, name, 100_402), Some(total * 10));
        let average: u64 = field("avg60=").replace('.', "").parse().unwrap();
        assert_eq!(look.value(PRESSURE, name, 100_406), Some(average));
    }
}

#[test]
fn recorded_softirqs_of_eight_processors_give_their_values() {
    let Some(table) = real::text("proc-trees/softirqs-8cpu-x86_64") else { return };
    let tree = Tree::new();
    tree.file("stat", (0..8).map(|cpu| format!("cpu{cpu} 1 2 3 4\n")).collect::<String>());
    tree.file("softirqs", &table);
    let look = Look::at(&tree.root(), &[INFORMATION], &[(INFORMATION, 0)]);
    let kinds = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    let mut seen = 0;
    for (counter, kind) in (100_240..).step_by(2).zip(kinds) {
        // Until Linux 4.4 the row has another name.
        let old = if kind == "IRQ_POLL" { "BLOCK_IOPOLL" } else { kind };
        let is_row = |line: &&str| line.trim_start().starts_with(&format!("{old}:"));
        let row = table.lines().find(is_row).unwrap();
        let counts: Vec<u64> =
            row.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect();
        for (cpu, count) in counts.iter().enumerate() {
            let name = format!("0,{cpu}");
            assert_eq!(look.value(INFORMATION, &name, counter), Some(*count), "{kind} {cpu}");
            seen += 1;
        }
        let sum = counts.iter().sum::<u64>() & 0xffff_ffff;
        assert_eq!(look.value(INFORMATION, "_Total", counter), Some(sum));
    }
    assert_eq!(seen, 80);
}
