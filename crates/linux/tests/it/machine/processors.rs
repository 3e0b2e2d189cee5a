//! Tests of processors by node, and of counts of the whole machine.

use super::{
    CACHE, ENERGY, INFORMATION, MEMORY, NODE, OBJECTS, PRESSURE, PROCESS, PROCESSOR, SYSTEM,
    THERMAL, cooked, defined, full, nothing,
};
use crate::common::{Look, Machine, units};

#[test]
fn processors_are_instances_under_their_node() {
    let tree = full();
    let look = Look::at(&tree.frozen(), &[INFORMATION], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let names = ["0,0", "0,_Total", "1,1", "1,_Total", "_Total"];
    assert_eq!(look.names(INFORMATION), names);
    // The lines of the tree are: cpu0 100 10 80 500 60 4 6 1, cpu1 200 10 50 400 40 6 14 2.
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
    // The other objects from `/sys` are missing, too.
    let look = Look::at(&tree.root(), &[INFORMATION, NODE, THERMAL, ENERGY], &[]);
    assert_eq!(look.names(INFORMATION), names);
    assert!([NODE, THERMAL, ENERGY].iter().all(|none| look.object(*none).instance_count() == 0));
    assert_eq!(look.fault_texts(), nothing());
    std::fs::remove_dir_all(tree.path().join("sys/devices/system/node")).unwrap();
    let look = Look::at(&tree.frozen(), &[INFORMATION, NODE], &[]);
    assert_eq!(look.names(INFORMATION), names);
    assert_eq!(look.object(NODE).instance_count(), 0);
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn unreadable_node_lists_are_faults() {
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
    // One node has memory but no processors, another has no list of processors.
    tree.sys("devices/system/node/node2/cpulist", "\n");
    tree.sys("devices/system/node/node3/meminfo", "");
    let look = Look::at(&tree.frozen(), &[INFORMATION], &[]);
    assert_eq!(look.object(INFORMATION).instance_count(), 5);
    assert_eq!(look.fault_texts(), nothing());
}

#[test]
fn interrupt_kinds_are_filled_on_request() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[INFORMATION], &[(INFORMATION, 0)]);
    assert_eq!(look.fault_texts(), nothing());
    // All interrupts, those of the clock, and the soft interrupts HI, TIMER, NET_RX and RCU.
    let counters = [148, 100_204, 100_240, 100_242, 100_246, 100_258];
    assert_eq!(defined(&look, INFORMATION)[11..], counters);
    let of = |name| counters.map(|counter| look.value(INFORMATION, name, counter).unwrap());
    let max = u64::from(u32::MAX);
    assert_eq!(of("0,0"), [138, 100, 12, 22_759_101, 7, 1]);
    assert_eq!(of("1,_Total"), [201, 200, 0, 11_940_767, max, 2]);
    // The sum of 32-bit counts wraps as they do.
    assert_eq!(of("_Total"), [339, 300, 12, 34_699_868, 6, 3]);

    // One counter on request is asked for alone.
    let look = machine.look(&[INFORMATION], &[(INFORMATION, 100_246)]);
    assert_eq!(defined(&look, INFORMATION)[11..], [100_246]);
    // A machine other than x86 has no row of the clock; soft interrupts are missing as well.
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
fn totals_do_not_jump_when_processors_or_devices_change() {
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
    // Processor 1 is switched off, and processor 0 takes ten interrupts and is idle for
    // a second.
    tree.file("stat", "cpu0 100 10 80 600 60 4 6 1 0 0\n");
    tree.file("interrupts", "            CPU0       \n  0:         38\nLOC:        110\n");
    assert_eq!(look(), (148, 349, 600));
    // Processor 1 is switched on again with its old counts.
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

/// The only processor of a node is switched off and on: the node's times go on.
#[test]
fn a_node_without_processors_keeps_its_totals() {
    let tree = full();
    let mut machine = Machine::new(&tree.frozen());
    let mut node = || {
        let look = machine.look(&[INFORMATION], &[]);
        let is_there = look.names(INFORMATION).contains(&"1,_Total".to_string());
        is_there.then(|| look.value(INFORMATION, "1,_Total", 6)).flatten()
    };
    assert_eq!(node(), units(440));
    let text = std::fs::read_to_string(tree.path().join("proc/stat")).unwrap();
    tree.file("stat", "cpu0 100 10 80 600 60 4 6 1 0 0\n");
    assert_eq!(node(), None);
    tree.file("stat", &text);
    assert_eq!(node(), units(440));
    tree.file("stat", text.replace("cpu1 200 10 50 400 ", "cpu1 200 10 50 430 "));
    assert_eq!(node(), units(470));
}

#[test]
fn gaps_in_processor_numbers_are_kept() {
    for count in [256u32, 1024] {
        let tree = full();
        // Every fourth processor is off; the four nodes take the processors in turn.
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
fn cpufreq_files_fill_frequencies_on_request() {
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
    // Counters that were not asked for are missing.
    assert_eq!(defined(&machine.look(&[INFORMATION], &[]), INFORMATION).len(), 11);
    // One frequency is unknown, which is not a fault, and so is its maximum.
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
fn stat_and_loadavg_fill_load_and_queue_counters() {
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
    assert_eq!(look.fault_texts(), ["2/: stat: processes is not a number"]);
}

#[test]
fn truncated_files_are_faults() {
    let tree = full();
    for cut in [0, 1, 20] {
        for file in ["softirqs", "interrupts", "pressure/cpu", "loadavg", "stat"] {
            let path = tree.path().join("proc").join(file);
            let text = std::fs::read(&path).unwrap();
            std::fs::write(&path, &text[..text.len().min(cut)]).unwrap();
            let objects = [SYSTEM, MEMORY, CACHE, OBJECTS, PROCESSOR, INFORMATION, PRESSURE, NODE];
            let extra = [(INFORMATION, 0), (PROCESSOR, 0)];
            let look = Look::at(&tree.frozen(), &objects, &extra);
            // The beginning of a list is a list as well. A file of pressure without a line is
            // not even damaged.
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
