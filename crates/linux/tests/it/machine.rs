//! Processors in detail, load, pressure, memory by node, and sensors.

use crate::common::{Look, Machine, Tree, units};
use perfhive_format::{CounterPlan, TitleIndex, cook};
use std::process::Command;

const SYSTEM: u32 = 2;
const MEMORY: u32 = 4;
const CACHE: u32 = 86;
const PROCESS: u32 = 230;
const PROCESSOR: u32 = 238;
const OBJECTS: u32 = 260;
const INFORMATION: u32 = 100_200;
const PRESSURE: u32 = 100_400;
const NODE: u32 = 100_420;
const THERMAL: u32 = 100_500;
const ENERGY: u32 = 100_520;

fn nothing() -> Vec<String> {
    Vec::new()
}

/// A machine with everything that this provider reads, on two nodes.
fn full() -> Tree {
    let tree = Tree::machine();
    tree.file("sys/fs/file-nr", "789\t0\t2466170\n");
    tree.file("sys/fs/inode-nr", "132914\t12\n");
    tree.file("sys/fs/dentry-state", "213631\t212221\t45\t0\t71908\t0\n");
    tree.file(
        "softirqs",
        "                    CPU0       CPU1       \n          HI:         12          0\n       \
         TIMER:   22759101   11940767\n      NET_RX:          7    4294967295\n         \
         RCU:          1          2\n",
    );
    tree.file(
        "pressure/cpu",
        "some avg10=12.29 avg60=2.54 avg300=1.14 total=1760861444\n\
         full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    );
    tree.file("pressure/irq", "full avg10=0.01 avg60=100.00 avg300=0.65 total=65\n");
    for (node, cpus) in [(0, "0\n"), (1, "1\n")] {
        let path = |file: &str| format!("devices/system/node/node{node}/{file}");
        tree.sys(&path("cpulist"), cpus);
        tree.sys(
            &path("meminfo"),
            format!(
                "Node {node} MemTotal:       2097153 kB\nNode {node} MemFree:        {node}024 kB\n\
                 Node {node} MemUsed:            77 kB\nNode {node} Active:              5 kB\n\
                 Node {node} HugePages_Total:     3\nNode {node} HugePages_Free:      2\n"
            ),
        );
        tree.sys(
            &path("numastat"),
            format!(
                "numa_hit 10{node}\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\n\
                 local_node 4\nother_node 5\n"
            ),
        );
    }
    tree.sys("devices/system/node/possible", "0-1\n");
    tree
}

/// A counter of an instance, or of an object without any, as a reader shows
/// it: from one sample, or from two.
fn cooked(
    before: Option<&Look>,
    after: &Look,
    object: u32,
    instance: Option<&str>,
    counter: u32,
) -> f64 {
    let sample = |look: &Look| {
        let object = look.object(object);
        let plans = CounterPlan::all(object);
        let plan = plans.iter().find(|plan| plan.name == TitleIndex(counter)).unwrap();
        let block = match instance {
            Some(name) => look.instance(object.name_index().0, name).counter_block(),
            None => object.counter_block().unwrap(),
        };
        (plan.counter_type, plan.sample(object, block).unwrap())
    };
    let (kind, now) = sample(after);
    let before = before.map(|look| sample(look).1);
    cook(kind, before.as_ref(), &now).unwrap().as_f64()
}

/// Names of the counters that an object defines.
fn defined(look: &Look, object: u32) -> Vec<u32> {
    look.object(object).counters().map(|counter| counter.name_index().0).collect()
}

#[test]
fn processors_by_node() {
    let tree = full();
    let look = Look::at(&tree.frozen(), &[INFORMATION], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let names = ["0,0", "0,_Total", "1,1", "1,_Total", "_Total"];
    assert_eq!(look.names(INFORMATION), names);
    // cpu0 100 10 80 500 60 4 6 1, cpu1 200 10 50 400 40 6 14 2.
    let first = [560, 110, 90, 560, 570, 10, 60, 4, 6, 1, 0];
    let second = [440, 210, 70, 440, 450, 10, 40, 6, 14, 2, 0];
    let counters = [6, 142, 144, 1746, 100_202, 100_236, 100_232, 698, 696, 100_230, 100_234];
    assert_eq!(defined(&look, INFORMATION), counters);
    for (at, counter) in counters.into_iter().enumerate() {
        let value = |name| look.value(INFORMATION, name, counter);
        assert_eq!((value("0,0"), value("0,_Total")), (units(first[at]), units(first[at])));
        assert_eq!((value("1,1"), value("1,_Total")), (units(second[at]), units(second[at])));
        let mean = (first[at] + second[at]) * 100_000 / 2;
        assert_eq!(value("_Total"), Some(mean), "{counter}");
    }
}

#[test]
fn without_nodes_every_processor_is_in_node_0() {
    let tree = full();
    let names = ["0,0", "0,1", "0,_Total", "_Total"];
    assert_eq!(Look::at(&tree.root(), &[INFORMATION], &[]).names(INFORMATION), names);
    std::fs::remove_dir_all(tree.path().join("sys/devices/system/node")).unwrap();
    let look = Look::at(&tree.frozen(), &[INFORMATION, NODE], &[]);
    assert_eq!(look.names(INFORMATION), names);
    assert!(!look.has(NODE));
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn nodes_that_are_not_understood() {
    let tree = full();
    tree.sys("devices/system/node/node1/cpulist", "1-");
    let mut machine = Machine::new(&tree.frozen());
    for _ in 0..2 {
        let look = machine.look(&[INFORMATION], &[]);
        assert_eq!(look.names(INFORMATION), ["0,0", "0,1", "0,_Total", "_Total"]);
        assert_eq!(look.fault_texts(), ["100200/: node1/cpulist: not understood"]);
    }
    tree.sys("devices/system/node/node1/cpulist", "1\n");
    let look = machine.look(&[INFORMATION], &[]);
    assert_eq!(look.names(INFORMATION), ["0,0", "0,_Total", "1,1", "1,_Total", "_Total"]);
    assert_eq!(look.fault_texts(), nothing());
    // Memory without processors, and a node without a list.
    tree.sys("devices/system/node/node2/cpulist", "\n");
    tree.sys("devices/system/node/node3/meminfo", "");
    let look = Look::at(&tree.frozen(), &[INFORMATION], &[]);
    assert_eq!(look.object(INFORMATION).instance_count(), 5);
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn interrupts_of_each_kind_on_request() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[INFORMATION], &[(INFORMATION, 0)]);
    assert_eq!(look.fault_texts(), nothing());
    // All, those of the clock, and by kind: HI, TIMER, NET_RX, RCU.
    let counters = [148, 100_204, 100_240, 100_242, 100_246, 100_258];
    assert_eq!(defined(&look, INFORMATION)[11..], counters);
    let of = |name| counters.map(|counter| look.value(INFORMATION, name, counter).unwrap());
    let max = u64::from(u32::MAX);
    assert_eq!(of("0,0"), [138, 100, 12, 22_759_101, 7, 1]);
    assert_eq!(of("1,_Total"), [201, 200, 0, 11_940_767, max, 2]);
    // The sum of 32-bit counts wraps as they do.
    assert_eq!(of("_Total"), [339, 300, 12, 34_699_868, 6, 3]);

    // One alone.
    let look = machine.look(&[INFORMATION], &[(INFORMATION, 100_246)]);
    assert_eq!(defined(&look, INFORMATION)[11..], [100_246]);
    // No row of the clock, as on machines other than x86; no soft interrupts.
    tree.file("interrupts", "       CPU0  CPU1\n 1: 5 6 arch_timer\n");
    tree.remove("softirqs");
    let look = Look::at(&tree.frozen(), &[INFORMATION], &[(INFORMATION, 0)]);
    assert_eq!(defined(&look, INFORMATION)[11..], [148]);
    assert_eq!(look.fault_texts(), nothing());
    tree.file("softirqs", "CPUx\n");
    tree.file("interrupts", "");
    let extra = [(INFORMATION, 0), (PROCESSOR, 0)];
    let look = Look::at(&tree.frozen(), &[INFORMATION, PROCESSOR], &extra);
    assert_eq!(defined(&look, INFORMATION).len(), 11);
    let faults = [
        "238/: interrupts: not understood",
        "100200/: interrupts: not understood",
        "100200/: softirqs: not understood",
    ];
    assert_eq!(look.fault_texts(), faults);
}

#[test]
fn totals_go_on_when_processors_and_devices_come_and_go() {
    let tree = full();
    let extra = [(INFORMATION, 0), (PROCESSOR, 0)];
    let mut machine = Machine::new(&tree.frozen());
    let mut look = || {
        let look = machine.look(&[PROCESSOR, INFORMATION], &extra);
        assert_eq!(look.fault_texts(), nothing());
        let of = |name| look.value(INFORMATION, name, 148);
        assert_eq!(of("_Total"), look.value(PROCESSOR, "_Total", 148));
        assert_eq!(look.value(INFORMATION, "_Total", 6), look.value(PROCESSOR, "_Total", 6));
        let (node, all) = (of("0,_Total").unwrap(), of("_Total").unwrap());
        (node, all, look.value(INFORMATION, "_Total", 6).unwrap() / 100_000)
    };
    assert_eq!(look(), (138, 339, 500));
    // Processor 1 is switched off, and 0 takes ten interrupts and is idle for
    // a second.
    tree.file("stat", "cpu0 100 10 80 600 60 4 6 1 0 0\n");
    tree.file("interrupts", "            CPU0       \n  0:         38\nLOC:        110\n");
    assert_eq!(look(), (148, 349, 600));
    // It comes back with what it counted before.
    tree.file("stat", "cpu0 100 10 80 600 60 4 6 1 0 0\ncpu1 200 10 50 410 40 6 14 2 0 0\n");
    tree.file(
        "interrupts",
        "            CPU0       CPU1\n  0:         38          1\nLOC:        110        203\n",
    );
    assert_eq!(look(), (148, 352, 600));
    // A device is taken away, and its counts with it.
    tree.file("interrupts", "            CPU0       CPU1\nLOC:        111        203\n");
    assert_eq!(look(), (148, 352, 600));
    tree.file("interrupts", "            CPU0       CPU1\nLOC:        113        204\n");
    assert_eq!(look(), (150, 355, 600));
}

#[test]
fn many_processors_with_gaps() {
    for count in [256u32, 1024] {
        let tree = full();
        // Every fourth is off; four nodes by turns.
        let on: Vec<u32> = (0..count).filter(|cpu| cpu % 4 != 3).collect();
        let line = |cpu: &u32| format!("cpu{cpu} 1 2 3 {} 5 6 7 8 9 10\n", cpu + 1);
        tree.file("stat", on.iter().map(line).collect::<String>());
        let head: String = on.iter().map(|cpu| format!("  CPU{cpu}")).collect();
        let row: String = on.iter().map(|cpu| format!(" {}", cpu * 2)).collect();
        tree.file("interrupts", format!("{head}\nLOC: {row} Local timer interrupts\n"));
        tree.file("softirqs", format!("{head}\nRCU: {row}\n"));
        for node in 0..4 {
            let list: Vec<String> = (node..count).step_by(4).map(|cpu| cpu.to_string()).collect();
            tree.sys(
                &format!("devices/system/node/node{node}/cpulist"),
                format!("{}\n", list.join(",")),
            );
        }
        let extra = [(INFORMATION, 0), (PROCESSOR, 0)];
        let objects = [SYSTEM, PROCESSOR, INFORMATION, PROCESS];
        let look = Look::at(&tree.frozen(), &objects, &extra);
        assert_eq!(look.fault_texts(), nothing());
        assert_eq!(look.object(PROCESSOR).instance_count() as usize, on.len() + 1);
        // Node 3 has no processor that is on.
        assert_eq!(look.object(INFORMATION).instance_count() as usize, on.len() + 4);
        assert_eq!(look.single(SYSTEM, 100_016), Some(on.len() as u64));
        for cpu in &on {
            let name = format!("{},{cpu}", cpu % 4);
            let twice = Some(u64::from(cpu * 2));
            assert_eq!(look.value(INFORMATION, &name, 148), twice);
            assert_eq!(look.value(INFORMATION, &name, 100_258), twice);
            assert_eq!(look.value(PROCESSOR, &cpu.to_string(), 148), twice);
            let idle = units(u64::from(cpu + 1 + 5));
            assert_eq!(look.value(INFORMATION, &name, 6), idle);
        }
        let idle: u64 = on.iter().map(|cpu| u64::from(cpu + 1 + 5)).sum();
        let interrupts: u64 = on.iter().map(|cpu| u64::from(cpu * 2)).sum();
        assert_eq!(look.value(PROCESS, "Idle", 6), units(idle));
        assert_eq!(look.value(PROCESS, "Idle", 680), Some(on.len() as u64));
        let mean = idle * 100_000 / on.len() as u64;
        for object in [PROCESSOR, INFORMATION] {
            assert_eq!(look.value(object, "_Total", 6), Some(mean));
            assert_eq!(look.value(object, "_Total", 148), Some(interrupts));
        }
        let of_node = |node: u32| on.iter().filter(move |cpu| *cpu % 4 == node);
        let sum: u64 = of_node(2).map(|cpu| u64::from(cpu * 2)).sum();
        assert_eq!(look.value(INFORMATION, "2,_Total", 148), Some(sum));
    }
}

#[test]
fn clocks_of_processors() {
    let tree = full();
    let path = |cpu: u32, file: &str| format!("devices/system/cpu/cpu{cpu}/cpufreq/{file}");
    tree.sys(&path(0, "scaling_cur_freq"), "1800500\n");
    tree.sys(&path(0, "cpuinfo_max_freq"), "3600000\n");
    tree.sys(&path(1, "scaling_cur_freq"), "900000\n");
    tree.sys(&path(1, "cpuinfo_max_freq"), "3600000\n");
    let mut machine = Machine::new(&tree.frozen());
    let extra = [(INFORMATION, 100_206)];
    let look = machine.look(&[INFORMATION], &extra);
    let of = |name| [100_206, 100_208].map(|counter| look.value(INFORMATION, name, counter));
    assert_eq!(of("0,0"), [Some(1800), Some(50)]);
    assert_eq!(of("1,1"), [Some(900), Some(25)]);
    assert_eq!(of("1,_Total"), [Some(900), Some(25)]);
    assert_eq!(of("_Total"), [Some(1350), Some(37)]);
    // Not asked for, not there.
    assert_eq!(defined(&machine.look(&[INFORMATION], &[]), INFORMATION).len(), 11);
    // One cannot tell, which is no fault; the highest is not known either.
    tree.sys(&path(0, "scaling_cur_freq"), "<unknown>\n");
    let look = machine.look(&[INFORMATION], &extra);
    let of = |name| [100_206, 100_208].map(|counter| look.value(INFORMATION, name, counter));
    assert_eq!(of("0,0"), [None, None]);
    assert_eq!(of("0,_Total"), [None, None]);
    assert_eq!(of("_Total"), [Some(900), Some(25)]);
    assert_eq!(look.value(INFORMATION, "0,0", 6), units(560));
    assert_eq!(look.fault_texts(), nothing());
    tree.sys(&path(0, "cpuinfo_max_freq"), "0\n");
    tree.sys(&path(0, "scaling_cur_freq"), "1000000\n");
    let look = Look::at(&tree.frozen(), &[INFORMATION], &extra);
    let of = |name| [100_206, 100_208].map(|counter| look.value(INFORMATION, name, counter));
    assert_eq!((of("0,0"), of("_Total")), ([Some(1000), None], [Some(950), Some(25)]));
}

#[test]
fn load_and_queues() {
    let tree = full();
    tree.file("loadavg", "0.52 200.07 0.30 5/321 4711\n");
    let look = Look::at(&tree.frozen(), &[SYSTEM], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let value = |counter| cooked(None, &look, SYSTEM, None, counter);
    assert_eq!([100_000, 100_002, 100_004].map(value), [0.52, 200.07, 0.3]);
    assert_eq!([100_006, 100_008, 100_016].map(value), [5.0, 0.0, 2.0]);
    assert_eq!([44, 248, 250].map(value), [3.0, 1.0, 323.0]);
    assert_eq!(look.single(SYSTEM, 100_010), Some(99));
    assert_eq!(look.single(SYSTEM, 100_012), Some(5000));
    // The tree's `stat` has no line of soft interrupts.
    assert_eq!(look.single(SYSTEM, 100_014), None);
    tree.file("stat", "cpu0 1 2 3 4\nintr 4294967298 1\nsoftirq 7 1\nprocesses x\n");
    let look = Look::at(&tree.frozen(), &[SYSTEM], &[]);
    assert_eq!(look.single(SYSTEM, 100_012), Some(2));
    assert_eq!(look.single(SYSTEM, 100_014), Some(7));
    assert_eq!(look.fault_texts(), ["2/: stat: processes is no number"]);
}

const MEMINFO: &str = "MemTotal: 1 kB\nMemFree: 2 kB\nMemAvailable: 3 kB\nBuffers: 4 kB\n\
    Cached: 50 kB\nSwapCached: 6 kB\nActive: 7 kB\nInactive: 8 kB\nActive(anon): 900 kB\n\
    Unevictable: 9 kB\nSwapTotal: 10 kB\nSwapFree: 11 kB\nZswap: 12 kB\nZswapped: 13 kB\n\
    Dirty: 14 kB\nWriteback: 15 kB\nAnonPages: 16 kB\nMapped: 17 kB\nShmem: 18 kB\n\
    Slab: 19 kB\nSReclaimable: 20 kB\nSUnreclaim: 21 kB\nKernelStack: 22 kB\n\
    PageTables: 23 kB\nCommitLimit: 24 kB\nCommitted_AS: 25 kB\nAnonHugePages: 26 kB\n\
    HugePages_Total:      27\nHugePages_Free:       28\nHugepagesize:       29 kB\n";

const VMSTAT: &str = "pgfault 1\npgmajfault 2\npswpin 3\npswpout 4\npgpgin 5\n\
    pgpgout 4294967302\noom_kill 7\ncompact_stall 8\nnuma_hit 9\nnuma_miss 10\n\
    thp_fault_alloc 11\nallocstall_dma 12\nallocstall_normal 100\npgscan_direct 13\n\
    pgscan_direct_throttle 999\npgscan_kswapd 14\npgsteal_kswapd 15\npgsteal_direct 100\n\
    pgsteal_anon 999\nworkingset_refault_anon 16\nworkingset_refault_file 100\nnr_dirty 17\n\
    nr_dirty_threshold 18\nnr_dirty_background_threshold 19\nnr_writeback 20\nnr_dirtied 21\n\
    nr_written 22\nnr_file_pages 23\n";

#[test]
fn memory_as_linux_counts_it() {
    let tree = full();
    tree.file("meminfo", MEMINFO);
    tree.file("vmstat", VMSTAT);
    let look = Look::at(&tree.frozen(), &[MEMORY, CACHE], &[]);
    assert_eq!(look.fault_texts(), nothing());
    for (counter, kib) in [
        (100_100, 1),
        (100_102, 10),
        (100_104, 11),
        (100_106, 6),
        (100_108, 4),
        (100_110, 7),
        (100_112, 8),
        (100_114, 9),
        (100_116, 16),
        (100_118, 26),
        (100_120, 17),
        (100_122, 18),
        (100_124, 15),
        (100_126, 19),
        (100_128, 20),
        (100_130, 23),
        (100_132, 22),
        (100_138, 29),
        (100_140, 12),
        (100_142, 13),
        (818, 50 + 4 - 18),
    ] {
        assert_eq!(look.single(MEMORY, counter), Some(kib * 1024), "{counter}");
    }
    for (counter, count) in [
        (100_134, 27),
        (100_136, 28),
        (28, 1),
        (42, 2),
        (100_150, 3),
        (100_152, 4),
        (100_154, 5),
        (100_156, 6),
        (100_158, 7),
        (100_160, 112),
        (100_162, 13),
        (100_164, 14),
        (100_166, 115),
        (100_168, 8),
        (100_170, 9),
        (100_172, 10),
        (100_174, 116),
        (100_176, 11),
    ] {
        assert_eq!(look.single(MEMORY, counter), Some(count), "{counter}");
    }
    for (counter, count) in (100_320..).step_by(2).zip(17..=23) {
        assert_eq!(look.single(CACHE, counter), Some(count), "{counter}");
    }
    // Every counter of the table was there, and has been looked at.
    let all = |object| perfhive_linux::counter_table().iter().filter(is_present(object)).count();
    assert_eq!(defined(&look, MEMORY).len(), all(MEMORY) + 1);
    assert_eq!(defined(&look, CACHE).len(), all(CACHE));

    // Counted by zone, as before Linux 4.8; nothing of what is newer.
    tree.file("vmstat", "pgscan_direct_dma 1\npgscan_direct_normal 2\npgscan_direct_throttle 9\n");
    let look = Look::at(&tree.frozen(), &[MEMORY, CACHE], &[]);
    assert_eq!(look.single(MEMORY, 100_162), Some(3));
    assert_eq!(look.single(MEMORY, 100_160), None);
    assert!(!look.has(CACHE));
    tree.file("vmstat", "allocstall_dma many\nnr_dirty 1\nnr_written\n");
    let look = Look::at(&tree.frozen(), &[MEMORY, CACHE], &[]);
    assert_eq!(look.single(CACHE, 100_320), Some(1));
    let faults =
        ["4/: vmstat: allocstall_dma has no number", "86/: vmstat: nr_written has no number"];
    assert_eq!(look.fault_texts(), faults);
}

fn is_present(object: u32) -> impl Fn(&&perfhive_linux::CounterDoc) -> bool {
    use perfhive_linux::Availability::Present;
    move |doc| doc.object.0 == object && matches!(doc.availability, Present { .. })
}

#[test]
fn what_the_kernel_holds() {
    let tree = full();
    let look = Look::at(&tree.frozen(), &[OBJECTS], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let counters = [248, 250, 100_300, 100_302, 100_304, 100_306, 100_308, 100_310];
    assert_eq!(defined(&look, OBJECTS), counters);
    let values = counters.map(|counter| look.single(OBJECTS, counter).unwrap());
    assert_eq!(values, [1, 323, 789, 2_466_170, 132_914, 12, 213_631, 212_221]);
    tree.file("sys/fs/file-nr", "789\t0\tmany\n");
    tree.file("sys/fs/inode-nr", "13");
    tree.remove("sys/fs/dentry-state");
    let look = Look::at(&tree.frozen(), &[OBJECTS], &[]);
    assert_eq!(defined(&look, OBJECTS), [248, 250, 100_300]);
    let faults = ["260/: sys/fs/file-nr: not understood", "260/: sys/fs/inode-nr: not understood"];
    assert_eq!(look.fault_texts(), faults);
    tree.remove("sys");
    let look = Look::at(&tree.frozen(), &[OBJECTS], &[]);
    assert_eq!((defined(&look, OBJECTS), look.fault_texts()), (vec![248, 250], nothing()));
}

#[test]
fn pressure() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[PRESSURE], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(PRESSURE), ["cpu some", "cpu full", "irq full"]);
    assert_eq!(look.value(PRESSURE, "cpu some", 100_402), Some(17_608_614_440));
    let averages = |name| {
        [100_404, 100_406, 100_408]
            .map(|counter| cooked(None, &look, PRESSURE, Some(name), counter))
    };
    for (name, expected) in [
        ("cpu some", [12.29, 2.54, 1.14]),
        ("cpu full", [0.0, 0.0, 0.0]),
        ("irq full", [0.01, 100.0, 0.65]),
    ] {
        for (average, expected) in averages(name).into_iter().zip(expected) {
            assert!((average - expected).abs() < 1e-9, "{name} {average} {expected}");
        }
    }

    // A tenth of the time that has passed.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let text =
        |stalled: u64| format!("full avg10=0.00 avg60=0.00 avg300=0.00 total={}\n", 65 + stalled);
    let clock = |look: &Look| look.block().clocks().time_100ns as u64;
    let elapsed = |after: &Look| (clock(after) - clock(&look)) as f64 / 10.0;
    tree.file("pressure/irq", text(10_000));
    let later = machine.look(&[PRESSURE], &[]);
    let share = cooked(Some(&look), &later, PRESSURE, Some("irq full"), 100_402);
    assert!((share - 10_000.0 / elapsed(&later) * 100.0).abs() < 1e-6, "{share}");

    // Damage costs only the line; what is cut off is told.
    tree.file("pressure/irq", "full avg10=0 total=5\n");
    tree.file("pressure/io", text(0) + "some avg10=0.00");
    let look = machine.look(&[PRESSURE], &[]);
    assert_eq!(look.names(PRESSURE), ["cpu some", "cpu full", "io full"]);
    let faults =
        ["100400/: pressure/io: ends in the middle of a line", "100400/irq full: not understood"];
    assert_eq!(look.fault_texts(), faults);
    tree.remove("pressure");
    let look = machine.look(&[PRESSURE], &[]);
    assert!(!look.has(PRESSURE));
    assert_eq!(look.fault_texts(), nothing());
    // A folder where a file should be.
    tree.file("pressure/memory/x", "");
    let look = machine.look(&[PRESSURE], &[]);
    assert!(!look.has(PRESSURE) && look.faults.len() == 1, "{:?}", look.fault_texts());
}

#[test]
fn memory_by_node() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[NODE], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(NODE), ["0", "1", "_Total"]);
    let counters = [
        100_422, 100_424, 100_430, 100_110, 100_134, 100_136, 100_170, 100_172, 100_436, 100_438,
        100_440, 100_442,
    ];
    assert_eq!(defined(&look, NODE), counters);
    let of = |name| counters.map(|counter| look.value(NODE, name, counter).unwrap());
    assert_eq!(of("0"), [2048, 0, 77 << 10, 5 << 10, 3, 2, 100, 1, 2, 3, 4, 5]);
    assert_eq!(of("1"), [2048, 1, 77 << 10, 5 << 10, 3, 2, 101, 1, 2, 3, 4, 5]);
    // Rounded down once, not for each node.
    assert_eq!(of("_Total"), [4096, 1, 154 << 10, 10 << 10, 6, 4, 201, 2, 4, 6, 8, 10]);

    // Node 0 goes with its counts; the total goes on.
    let node = tree.path().join("sys/devices/system/node");
    std::fs::rename(node.join("node0"), node.join("away")).unwrap();
    let look = machine.look(&[NODE], &[]);
    assert_eq!(look.names(NODE), ["1", "_Total"]);
    assert_eq!(look.value(NODE, "_Total", 100_170), Some(201));
    assert_eq!(look.value(NODE, "_Total", 100_422), Some(2048));
    std::fs::rename(node.join("away"), node.join("node0")).unwrap();
    tree.sys("devices/system/node/node0/numastat", "numa_hit 103\nnuma_miss x\n");
    tree.sys("devices/system/node/node1/meminfo", "Node 1 MemTotal: lots kB\n");
    let look = machine.look(&[NODE], &[]);
    assert_eq!(look.names(NODE), ["0", "1", "_Total"]);
    assert_eq!(look.value(NODE, "0", 100_170), Some(103));
    assert_eq!(look.value(NODE, "0", 100_172), None);
    assert_eq!(look.value(NODE, "1", 100_422), None);
    assert_eq!(look.value(NODE, "_Total", 100_170), Some(204));
    let faults = ["100420/0: numastat: not understood", "100420/1: meminfo: not understood"];
    assert_eq!(look.fault_texts(), faults);
    // Not even a list of nodes.
    std::fs::remove_dir_all(&node).unwrap();
    std::fs::write(&node, "").unwrap();
    let look = machine.look(&[NODE], &[]);
    assert!(!look.has(NODE) && look.faults.len() == 1);
}

#[test]
fn thermal_zones() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let mut look = || machine.look(&[THERMAL], &[]);
    assert!(!look().has(THERMAL) && look().faults.is_empty());
    let zone = |number: u32, kind: &[u8], temp: &str| {
        tree.sys(&format!("class/thermal/thermal_zone{number}/type"), kind);
        tree.sys(&format!("class/thermal/thermal_zone{number}/temp"), temp);
    };
    tree.sys("class/thermal/cooling_device0/type", "fan\n");
    let seen = look();
    assert_eq!(seen.object(THERMAL).instance_count(), 0);
    zone(10, b"x86_pkg_temp\n", "45000\n");
    zone(0, b"acpitz\n", "-5500\n");
    zone(2, b"odd \xff (name)#1\n", "27849\n");
    let seen = look();
    assert_eq!(seen.fault_texts(), nothing());
    assert_eq!(seen.names(THERMAL)[0], "acpitz 0");
    assert_eq!(seen.names(THERMAL)[2], "x86_pkg_temp 10");
    let odd = seen.object(THERMAL).instances().nth(1).unwrap();
    assert_eq!(odd.name().as_bytes()[8..10], 0xdcffu16.to_le_bytes());
    let of = |name| [100_502, 100_504].map(|counter| seen.value(THERMAL, name, counter));
    assert_eq!(of("x86_pkg_temp 10"), [Some(318), Some(3182)]);
    assert_eq!(of("acpitz 0"), [Some(267), Some(2677)]);
    assert_eq!(seen.value_of(THERMAL, odd, 100_504), Some(3010));
    // One is damaged, one gone; a pipe holds nobody up.
    zone(0, b"acpitz\n", "cold\n");
    let folder = tree.path().join("sys/class/thermal");
    std::fs::remove_dir_all(folder.join("thermal_zone2")).unwrap();
    std::fs::remove_file(folder.join("thermal_zone10/temp")).unwrap();
    let pipe = folder.join("thermal_zone10/temp");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let seen = look();
    assert_eq!(seen.names(THERMAL), ["acpitz 0", "x86_pkg_temp 10"]);
    assert_eq!(seen.value(THERMAL, "acpitz 0", 100_502), None);
    let faults = [
        "100500/acpitz 0: temp: not understood",
        "100500/x86_pkg_temp 10: temp: Illegal seek (os error 29)",
    ];
    assert_eq!(seen.fault_texts(), faults);
}

#[test]
fn energy_meters() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let mut look = || machine.look(&[ENERGY], &[]);
    assert!(!look().has(ENERGY) && look().faults.is_empty());
    let meter = |folder: &str, name: &str, energy: &str| {
        tree.sys(&format!("class/powercap/{folder}/name"), name);
        tree.sys(&format!("class/powercap/{folder}/energy_uj"), energy);
        tree.sys(&format!("class/powercap/{folder}/max_energy_range_uj"), "262143328850\n");
    };
    tree.sys("class/powercap/intel-rapl/enabled", "1\n");
    meter("intel-rapl-mmio:0", "package-0\n", "5\n");
    assert_eq!(look().object(ENERGY).instance_count(), 0);
    meter("intel-rapl:0:1", "dram\n", "0\n");
    meter("intel-rapl:0", "package-0\n", "262143000000\n");
    meter("intel-rapl:0:0", "core\n", "36\n");
    let first = look();
    assert_eq!(first.fault_texts(), nothing());
    assert_eq!(first.names(ENERGY), ["package-0", "package-0 core", "package-0 dram"]);
    assert_eq!(first.value(ENERGY, "package-0 core", 100_522), Some(10_000));
    assert_eq!(first.value(ENERGY, "package-0 core", 100_526), None);
    std::thread::sleep(std::time::Duration::from_millis(30));
    // The package's meter begins anew; the core used 9 mJ.
    meter("intel-rapl:0", "package-0\n", "671150\n");
    meter("intel-rapl:0:0", "core\n", "9036\n");
    let second = look();
    let grown = |name| {
        let of = |look: &Look| look.value(ENERGY, name, 100_522).unwrap();
        of(&second) - of(&first)
    };
    // One joule is 1/3600 Wh; rounding down may cost one.
    assert!(grown("package-0").abs_diff(1_000_000 * 2500 / 9) <= 1, "{}", grown("package-0"));
    assert!(grown("package-0 core").abs_diff(2_500_000) <= 1);
    assert_eq!(grown("package-0 dram"), 0);
    let time = |look: &Look| look.value(ENERGY, "package-0 core", 100_524).unwrap();
    let seconds = (time(&second) - time(&first)) as f64 / 1e7;
    assert!(seconds >= 0.03, "{seconds}");
    let power = second.value(ENERGY, "package-0 core", 100_526).unwrap() as f64;
    assert!((power - 9.0 / seconds).abs() < 1.0 + power * 1e-3, "{power} {seconds}");
    assert_eq!(second.value(ENERGY, "package-0 dram", 100_526), Some(0));
    // Damaged, and gone.
    meter("intel-rapl:0:0", "core\n", "much\n");
    std::fs::remove_dir_all(tree.path().join("sys/class/powercap/intel-rapl:0:1")).unwrap();
    let third = look();
    assert_eq!(third.names(ENERGY), ["package-0"]);
    assert_eq!(third.fault_texts(), ["100520/intel-rapl:0:0: energy_uj: not understood"]);
}

#[test]
fn files_that_are_cut_off_are_told() {
    let tree = full();
    for cut in [0, 1, 20] {
        for file in ["softirqs", "interrupts", "pressure/cpu", "loadavg", "stat"] {
            let path = tree.path().join("proc").join(file);
            let text = std::fs::read(&path).unwrap();
            std::fs::write(&path, &text[..text.len().min(cut)]).unwrap();
            let objects = [SYSTEM, MEMORY, CACHE, OBJECTS, PROCESSOR, INFORMATION, PRESSURE, NODE];
            let extra = [(INFORMATION, 0), (PROCESSOR, 0)];
            let look = Look::at(&tree.frozen(), &objects, &extra);
            // The beginning of a list is one; not even that is in a file of
            // pressure without a line.
            assert!(!look.faults.is_empty() || (cut, file) == (0, "pressure/cpu"), "{file} {cut}");
            std::fs::write(&path, &text).unwrap();
        }
    }
    for file in ["meminfo", "vmstat"] {
        tree.file(file, "");
        let look = Look::at(&tree.frozen(), &[MEMORY], &[]);
        assert_eq!(look.fault_texts(), [format!("4/: {file}: is empty")]);
        tree.file(file, "MemFree: 1 kB\npgfault 1\n");
    }
}
