//! Tests of the memory of the machine and of each node, as Linux counts it.

use super::{CACHE, MEMORY, NODE, OBJECTS, cooked, defined, full, nothing};
use crate::common::{Look, Machine};
use perfhive_linux::{Availability, CounterDoc, counter_table};

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
fn meminfo_and_vmstat_fill_every_memory_counter() {
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
    // Every counter of the table was there and was compared.
    let all = |object| counter_table().iter().filter(is_present(object)).count();
    assert_eq!(defined(&look, MEMORY).len(), all(MEMORY) + 1);
    assert_eq!(defined(&look, CACHE).len(), all(CACHE));

    // A kernel before Linux 4.8 counts by zone, and lacks all newer lines.
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

#[test]
fn counts_of_32_bits_that_wrap_keep_their_rate() {
    let tree = full();
    let text = |count: u32| format!("pgpgin {count}\npswpout {count}\n");
    tree.file("vmstat", text(u32::MAX - 99));
    let mut machine = Machine::new(&tree.frozen());
    let first = machine.look(&[MEMORY], &[]);
    tree.runs_for(1002);
    tree.file("vmstat", text(100));
    let second = machine.look(&[MEMORY], &[]);
    let clock = |look: &Look| look.block().clocks().perf_time as f64 / 1e9;
    let expected = 200.0 / (clock(&second) - clock(&first));
    for counter in [100_152, 100_154] {
        let rate = cooked(Some(&first), &second, MEMORY, None, counter);
        assert!((rate - expected).abs() < expected * 1e-9, "{counter}: {rate} {expected}");
    }
}

fn is_present(object: u32) -> impl Fn(&&CounterDoc) -> bool {
    move |doc| doc.object.0 == object && matches!(doc.availability, Availability::Present { .. })
}

#[test]
fn files_of_sys_fs_fill_the_objects_counters() {
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
fn node_files_fill_an_instance_each() {
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
    // The sum is rounded down, and not each node.
    assert_eq!(of("_Total"), [4096, 1, 154 << 10, 10 << 10, 6, 4, 201, 2, 4, 6, 8, 10]);

    // Node 0 vanishes with its counts; the total goes on.
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
    // The total has what a node counted before its file could not be read, once.
    tree.sys("devices/system/node/node1/numastat", "damaged\n");
    assert_eq!(machine.look(&[NODE], &[]).value(NODE, "_Total", 100_170), Some(204));
    tree.sys("devices/system/node/node1/numastat", "numa_hit 110\n");
    assert_eq!(machine.look(&[NODE], &[]).value(NODE, "_Total", 100_170), Some(213));
    // Sizes of the sample before are not shown for those of a file that cannot be read.
    std::fs::remove_file(node.join("node0/meminfo")).unwrap();
    std::fs::create_dir(node.join("node0/meminfo")).unwrap();
    let look = machine.look(&[NODE], &[]);
    assert_eq!((look.value(NODE, "0", 100_422), look.faults.len()), (None, 4));
    // The list of nodes is missing, too.
    std::fs::remove_dir_all(&node).unwrap();
    std::fs::write(&node, "").unwrap();
    let look = machine.look(&[NODE], &[]);
    assert!(!look.has(NODE) && look.faults.len() == 1);
}
