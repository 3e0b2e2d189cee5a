//! Disks, file systems and paging files on frozen machines and on this machine.

mod live;
mod trees;

use crate::common::{Look, Machine, Tree};
use perfhive_format::{DataBlock, TitleIndex};
use perfhive_linux::{Availability, ProcRoot, counter_table, providers};
use perfhive_testkit::real;
use std::os::unix::fs::MetadataExt;

const PHYSICAL: u32 = 234;
const LOGICAL: u32 = 236;
const PAGING: u32 = 700;
const MS: u64 = 10_000;
const MAX: u64 = u32::MAX as u64;

fn nothing() -> Vec<String> {
    Vec::new()
}

/// A machine with two disks, one of which has two partitions, and devices that are no
/// disks.
fn machine() -> Tree {
    let tree = Tree::new();
    tree.file(
        "diskstats",
        "   8       0 sda 100 10 2000 400 200 20 6000 1600 3 1500 2000 7 1 56 70 9 90\n   \
         8       1 sda1 40 4 800 160 80 8 2400 640 1 600 800 3 1 24 30 0 0\n   \
         8       2 sda2 60 6 1200 240 120 12 3600 960 2 900 1200 4 0 32 40 0 0\n \
         254       0 vda 10 0 80 20 30 0 240 60 0 70 80 0 0 0 0 2 4\n \
         253       0 dm-0 5 0 40 10 5 0 40 10 0 15 20 0 0 0 0 0 0\n   \
         7       0 loop0 1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n  \
         11       0 sr0 9 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
    );
    tree.file(
        "self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 0:5 / /proc rw - proc proc rw\n\
         22 20 0:40 /@ /data\\040sets rw - btrfs /dev/sda2 rw\n\
         23 20 253:0 / /mapped rw - xfs /dev/mapper/one rw\n\
         24 20 0:41 / /tank rw - zfs tank rw\n",
    );
    tree.file(
        "swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
         /dev/sda3                               partition\t2097148\t\t524287\t\t-2\n\
         /swap\\040file\\040(deleted) file\t\t8\t\t4\t\t-3\n",
    );
    for disk in ["sda", "vda", "dm-0", "loop0", "sr0"] {
        tree.sys(&format!("block/{disk}/size"), "1000\n");
    }
    tree.sys("fs/btrfs/1-2-3/devices/sda2", "");
    tree.sys("dev/block/8:0/diskseq", "1\n");
    tree
}

#[test]
fn diskstats_fill_every_counter_of_disks() {
    let tree = machine();
    let look = Look::at(&tree.frozen(), &[PHYSICAL], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(PHYSICAL), ["sda", "vda", "_Total"]);
    let sda = [
        (198, 3),
        (200, 2000 * MS),
        (1400, 2000 * MS),
        (202, 400 * MS),
        (1402, 400 * MS),
        (204, 1600 * MS),
        (1404, 1600 * MS),
        (206, 2_000_000_000),
        (208, 400_000_000),
        (210, 1_600_000_000),
        (212, 300),
        (214, 100),
        (216, 200),
        (218, 8000 * 512),
        (220, 2000 * 512),
        (222, 6000 * 512),
        (224, 8000 * 512),
        (226, 2000 * 512),
        (228, 6000 * 512),
        (102_000, 10),
        (102_002, 20),
        (102_004, 7),
        (102_006, 56 * 512),
        (102_008, 70_000_000),
        (102_010, 9),
        (102_012, 90_000_000),
    ];
    for (counter, value) in sda {
        assert_eq!(look.value(PHYSICAL, "sda", counter), Some(value), "{counter}");
    }
    // `_Total` has the sums, and the means of the percentages.
    for (counter, value) in [
        (198, 3),
        (200, 1040 * MS),
        (202, 210 * MS),
        (204, 830 * MS),
        (1400, 2080 * MS),
        (206, 2_080_000_000),
        (212, 340),
        (218, 8320 * 512),
        (102_004, 7),
        (102_010, 11),
        (102_012, 94_000_000),
    ] {
        assert_eq!(look.value(PHYSICAL, "_Total", counter), Some(value), "{counter}");
    }
    // A disk is idle for the time that it is not busy; `_Total` is the mean.
    let idle = |name| look.value(PHYSICAL, name, 1482).unwrap();
    assert_eq!(idle("vda") - idle("sda"), 1430 * MS);
    assert_eq!(idle("_Total"), idle("sda") + 715 * MS);
    assert_eq!(look.value(PHYSICAL, "sda", 1484), None);
    // The bases are the clock of the times, and the counts of the averages.
    let object = look.object(PHYSICAL);
    let block = look.instance(PHYSICAL, "sda").counter_block();
    let bases: Vec<_> = object
        .counters()
        .filter(|counter| counter.counter_type().is_base())
        .map(|counter| (counter.name_index().0, counter.size(), block.value(&counter).unwrap()))
        .collect();
    let time = object.clocks().time_100ns as u64;
    for (counter, size, base) in bases {
        match counter {
            200 | 202 | 204 | 1482 => {
                assert!(size == 8 && base.abs_diff(time) < 50_000_000, "{base} {time}");
            }
            206 | 224 => assert_eq!((size, base), (4, 300)),
            208 | 226 => assert_eq!((size, base), (4, 100)),
            210 | 228 => assert_eq!((size, base), (4, 200)),
            102_008 => assert_eq!((size, base), (4, 7)),
            102_012 => assert_eq!((size, base), (4, 9)),
            _ => panic!("{counter}"),
        }
    }
}

#[test]
fn mounted_file_systems_have_transfers_and_space() {
    let tree = machine();
    tree.sys("block/dm-0/dm/name", "one\n");
    let look = Look::at(&tree.frozen(), &[LOGICAL], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(LOGICAL), ["/", "/data sets", "/mapped", "/tank", "_Total"]);
    for (name, reads, queue, written) in [
        ("/", 40, 1, 2400),
        ("/data sets", 60, 2, 3600),
        ("/mapped", 5, 0, 40),
        ("_Total", 105, 3, 6040),
    ] {
        assert_eq!(look.value(LOGICAL, name, 214), Some(reads), "{name}");
        assert_eq!(look.value(LOGICAL, name, 198), Some(queue), "{name}");
        assert_eq!(look.value(LOGICAL, name, 222), Some(written * 512), "{name}");
    }
    assert_eq!(look.value(LOGICAL, "/", 102_008), Some(30_000_000));
    // The ZFS has no device.
    assert_eq!(look.value(LOGICAL, "/tank", 214), None);
    // No file system is asked for its space, and partitions have no flushes.
    for counter in [408, 410, 102_010, 102_014] {
        assert_eq!(look.value(LOGICAL, "/", counter), None, "{counter}");
    }
    // The mean of three devices, with reads and writes each rounded down.
    let mean = look.value(LOGICAL, "_Total", 200);
    assert_eq!(mean, Some(410 * MS / 3 + 1610 * MS / 3));
    // A file system on several devices has no device.
    tree.sys("fs/btrfs/1-2-3/devices/sdb", "");
    let look = Look::at(&tree.frozen(), &[LOGICAL], &[]);
    assert_eq!(look.value(LOGICAL, "/data sets", 214), None);
    // Without sysfs the number of devices is unknown, and so is the device.
    let look = Look::at(&tree.root(), &[LOGICAL], &[]);
    assert_eq!(look.value(LOGICAL, "/data sets", 214), None);
    assert_eq!(look.value(LOGICAL, "/", 214), Some(40));
}

#[test]
fn swap_areas_give_use_and_size() {
    let tree = machine();
    let look = Look::at(&tree.root(), &[PAGING], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(PAGING), ["/dev/sda3", "/swap file", "_Total"]);
    let fraction = |name| {
        let object = look.object(PAGING);
        let block = look.instance(PAGING, name).counter_block();
        let mut values = object.counters().take(2).map(|c| block.value(&c).unwrap());
        (values.next().unwrap(), values.next().unwrap())
    };
    assert_eq!(fraction("/dev/sda3"), (524_287, 2_097_148));
    assert_eq!(fraction("_Total"), (524_291, 2_097_156));
    assert_eq!(look.value(PAGING, "/swap file", 102_020), Some(4096));
    assert_eq!(look.value(PAGING, "_Total", 102_022), Some(2_097_156 * 1024));
    // The sizes are more than 32 bits hold.
    tree.file("swaps", "Filename\n/big file 17179869184 8589934592 -2\n");
    let look = Look::at(&tree.root(), &[PAGING], &[]);
    assert_eq!(look.value(PAGING, "/big", 702), Some(1 << 30));
    // There is no swap area.
    tree.file("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    let look = Look::at(&tree.root(), &[PAGING], &[]);
    assert_eq!((look.names(PAGING), look.fault_texts()), (nothing(), nothing()));
}

#[test]
fn counters_that_an_old_kernel_lacks_are_left_out() {
    let tree = machine();
    tree.file("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 12 13 14 15\n");
    let look = Look::at(&tree.frozen(), &[PHYSICAL, LOGICAL], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let counters = |object| {
        let counters = look.object(object).counters().map(|c| c.name_index().0);
        counters.collect::<Vec<_>>()
    };
    assert_eq!(counters(PHYSICAL).last(), Some(&102_002));
    assert_eq!(
        counters(LOGICAL),
        [212, 214, 216, 218, 220, 222, 224, 224, 226, 226, 228, 228],
        "a partition of 2.6.24"
    );
    assert_eq!(look.value(LOGICAL, "/", 214), Some(12));
    assert_eq!(look.value(LOGICAL, "/", 222), Some(15 * 512));
    tree.file("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
    let look = Look::at(&tree.frozen(), &[PHYSICAL], &[]);
    assert_eq!(look.value(PHYSICAL, "sda", 102_006), Some(14 * 512));
    assert_eq!(look.value(PHYSICAL, "sda", 102_010), None);
}

#[test]
fn damaged_lines_are_faults_and_other_disks_keep_values() {
    let tree = machine();
    tree.file(
        "diskstats",
        "8 0 sda 1 2 3 x\n8 16 sdb 1 2 3 4 5 6 7 8 9 10 11\nrubbish\n8 32 sdc 1",
    );
    let look = Look::at(&tree.frozen(), &[PHYSICAL], &[]);
    assert_eq!(look.names(PHYSICAL), ["sdb", "_Total"]);
    let faults = look.fault_texts();
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults.contains(&"234/sda: diskstats: the line of sda is damaged".to_string()));
    assert!(faults.contains(&"234/: diskstats: line 3 is damaged".to_string()));
    // If the disks are not wanted, the faults belong to the file systems.
    let look = Look::at(&tree.frozen(), &[LOGICAL], &[]);
    assert!(look.fault_texts().iter().all(|text| text.starts_with("236/")));
    assert_eq!(look.faults.len(), 3);

    tree.file("self/mountinfo", "20 1 8:16 / / rw - ext4 x rw\nx\n21 20 8:17 / /b");
    let look = Look::at(&tree.frozen(), &[LOGICAL, PHYSICAL], &[]);
    assert_eq!(look.names(LOGICAL), ["/", "_Total"]);
    assert_eq!(look.value(LOGICAL, "/", 214), Some(1));
    assert!(look.fault_texts().contains(&"236/: mountinfo: line 2 is damaged".to_string()));
    // The next collection reports the same.
    let mut machine = Machine::new(&tree.frozen());
    let first = machine.look(&[LOGICAL], &[]).fault_texts();
    assert_eq!(machine.look(&[LOGICAL], &[]).fault_texts(), first);

    tree.file("swaps", "Filename\n/a file x 1 -1\n/b file 4 y -1\n/c file 4 2 -1\n/d file 4");
    let look = Look::at(&tree.frozen(), &[PAGING], &[]);
    assert_eq!(look.names(PAGING), ["/c", "_Total"]);
    let faults = look.fault_texts();
    assert_eq!(faults.len(), 3, "{faults:?}");
    assert!(faults.contains(&"700//a: swaps: Size is not a number".to_string()), "{faults:?}");
    assert!(faults.contains(&"700//b: swaps: Used is not a number".to_string()), "{faults:?}");

    for file in ["diskstats", "self/mountinfo", "swaps"] {
        tree.file(file, "");
    }
    let look = Look::at(&tree.frozen(), &[PHYSICAL, LOGICAL, PAGING], &[]);
    assert_eq!((look.names(PHYSICAL), look.names(LOGICAL)), (nothing(), nothing()));
    assert_eq!(look.fault_texts(), ["700/: swaps: is empty"]);
    for file in ["diskstats", "self/mountinfo", "swaps"] {
        tree.remove(file);
    }
    let look = Look::at(&tree.frozen(), &[PHYSICAL, LOGICAL, PAGING], &[]);
    assert!(!look.has(PHYSICAL) && !look.has(LOGICAL) && !look.has(PAGING));
    assert_eq!(look.faults.len(), 4);
    // A folder and a pipe stand where files should be.
    std::fs::create_dir(tree.path().join("proc/diskstats")).unwrap();
    let pipe = tree.path().join("proc/swaps");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let look = Look::at(&tree.frozen(), &[PHYSICAL, PAGING], &[]);
    assert_eq!(look.faults.len(), 2, "{:?}", look.fault_texts());
}

#[test]
fn names_with_escapes_and_other_bytes_are_kept() {
    let tree = machine();
    let mut text = b"20 1 8:1 / /a\\040(b)\\134%s#1\\012 rw - ext4 x rw\n".to_vec();
    text.extend_from_slice(b"21 20 8:2 / /\xff rw - ext4 x rw\n");
    text.extend_from_slice("22 20 254:0 / /ä🦀 rw - ext4 x rw\n".as_bytes());
    tree.file("self/mountinfo", text);
    let look = Look::at(&tree.frozen(), &[LOGICAL], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let names = look.names(LOGICAL);
    assert_eq!((names[0].as_str(), names[2].as_str()), ("/a (b)\\%s#1\n", "/ä🦀"));
    let raw = look.object(LOGICAL).instances().nth(1).unwrap().name().as_bytes().to_vec();
    assert_eq!(raw[..4], [0x2f, 0, 0xff, 0xdc]);
}

#[test]
fn random_file_contents_never_panic() {
    let tree = machine();
    let mut machine = Machine::new(&tree.frozen());
    for (file, objects) in [
        ("diskstats", &[PHYSICAL, LOGICAL][..]),
        ("self/mountinfo", &[LOGICAL]),
        ("swaps", &[PAGING]),
    ] {
        let whole = std::fs::read(tree.path().join("proc").join(file)).unwrap();
        for end in 0..whole.len() {
            let mut text = whole.clone();
            text[end] = b"\n 9-\\\xff"[end % 6];
            tree.file(file, &text);
            machine.look(objects, &[]);
            if end % 3 == 0 {
                tree.file(file, &whole[..end]);
                machine.look(objects, &[]);
            }
        }
        tree.file(file, &whole);
    }
    let look = machine.look(&[PHYSICAL, LOGICAL, PAGING], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(LOGICAL).len(), 5);
    // The largest numbers, twice, and then small ones.
    let line = |number: &str| format!("8 0 sda{}\n", format!(" {number}").repeat(17));
    for number in ["99999999999999999999999", "18446744073709551615", "0"] {
        tree.file("diskstats", line(number));
        let look = machine.look(&[PHYSICAL, LOGICAL], &[]);
        assert_eq!(look.fault_texts(), nothing());
    }
    // Many lines are read, and few faults are reported.
    let lines = |line: fn(u32) -> String| (0..3_000).map(line).collect::<String>();
    tree.file("diskstats", lines(|at| format!("8 {at} sd{at}x 1 2 3 4\n{at}\n")));
    let mounts = |at| format!("{at} {} 8:{at} / /{at} rw - ext4 x rw\n{at}\n", at + 1);
    tree.file("self/mountinfo", lines(mounts));
    let look = machine.look(&[PHYSICAL, LOGICAL], &[]);
    assert_eq!(look.object(PHYSICAL).instance_count(), 3_001);
    assert!(look.faults.len() < 10, "{}", look.faults.len());
}

/// A line of `diskstats` for a disk with some numbers.
fn disk(name: &str, minor: u32, reads: u64, read_time: u64, busy: u64) -> String {
    format!("8 {minor} {name} {reads} 0 0 {read_time} 0 0 0 0 0 {busy} 0\n")
}

#[test]
fn wrapped_counts_keep_their_rate() {
    let tree = machine();
    let mut machine = Machine::new(&tree.frozen());
    let part = "8 1 sda1 1 0 0 4294967290 0 0 0 0 0 0 0\n";
    tree.file("diskstats", disk("sda", 0, MAX - 4, MAX - 9, MAX - 1) + part);
    machine.look(&[PHYSICAL, LOGICAL], &[]);
    let part = "8 1 sda1 1 0 0 4 0 0 0 0 0 0 0\n";
    tree.file("diskstats", disk("sda", 0, 5, 90, 0) + part);
    let look = machine.look(&[PHYSICAL, LOGICAL], &[]);
    for name in ["sda", "_Total"] {
        assert_eq!(look.value(PHYSICAL, name, 1402), Some((MAX + 91) * MS), "{name}");
        assert_eq!(look.value(PHYSICAL, name, 208), Some((MAX + 91) * 1_000_000), "{name}");
        // A rate's count has 32 bits and wraps at 32 bits.
        assert_eq!(look.value(PHYSICAL, name, 214), Some(5), "{name}");
    }
    for name in ["/", "_Total"] {
        assert_eq!(look.value(LOGICAL, name, 1402), Some((MAX + 5) * MS), "{name}");
    }
}

#[test]
fn a_replaced_disk_begins_where_the_old_one_ended() {
    let tree = machine();
    let mut machine = Machine::new(&tree.frozen());
    let mut reads = |text: String| {
        tree.file("diskstats", text);
        let look = machine.look(&[PHYSICAL, LOGICAL], &[]);
        assert_eq!(look.fault_texts(), nothing());
        let of = |object, name| {
            let there = look.names(object).iter().any(|known| known == name);
            there.then(|| look.value(object, name, 214)).flatten()
        };
        [of(PHYSICAL, "sda"), of(PHYSICAL, "_Total"), of(LOGICAL, "/")]
    };
    let part = |reads| disk("sda1", 1, reads, 0, 0);
    let other = |reads| disk("sdb", 16, reads, 0, 0);
    assert_eq!(reads(disk("sda", 0, 100, 0, 0) + &part(50)), [Some(100), Some(100), Some(50)]);
    // Another disk appears with counts from before, which are not counted.
    assert_eq!(
        reads(disk("sda", 0, 110, 0, 0) + &part(60) + &other(1000)),
        [Some(110), Some(110), Some(60)]
    );
    assert_eq!(
        reads(disk("sda", 0, 110, 0, 0) + &part(60) + &other(1003)),
        [Some(110), Some(113), Some(60)]
    );
    // The disk's counts begin anew.
    assert_eq!(
        reads(disk("sda", 0, 3, 0, 0) + &part(2) + &other(1003)),
        [Some(110), Some(113), Some(60)]
    );
    assert_eq!(
        reads(disk("sda", 0, 5, 0, 0) + &part(3) + &other(1003)),
        [Some(112), Some(115), Some(61)]
    );
    // The disk was replaced, although its counts went on, and so were its partitions.
    tree.sys("dev/block/8:0/diskseq", "2\n");
    assert_eq!(
        reads(disk("sda", 0, 5000, 0, 0) + &part(4000) + &other(1003)),
        [Some(112), Some(115), Some(61)]
    );
    assert_eq!(
        reads(disk("sda", 0, 5001, 0, 0) + &part(4001) + &other(1003)),
        [Some(113), Some(116), Some(62)]
    );
    // The disk vanishes, and comes back.
    assert_eq!(reads(other(1004)), [None, Some(117), None]);
    assert_eq!(
        reads(disk("sda", 0, 9000, 0, 0) + &part(9000) + &other(1004)),
        [Some(113), Some(117), Some(62)]
    );
    assert_eq!(
        reads(disk("sda", 0, 9001, 0, 0) + &part(9001) + &other(1004)),
        [Some(114), Some(118), Some(63)]
    );
    // Another disk has the name, and a number of its own: one sample has no growth.
    tree.sys("dev/block/8:32/diskseq", "3\n");
    assert_eq!(
        reads(disk("sda", 32, 7000, 0, 0) + &part(9001) + &other(1004)),
        [Some(114), Some(118), Some(63)]
    );
    assert_eq!(
        reads(disk("sda", 32, 7001, 0, 0) + &part(9002) + &other(1004)),
        [Some(115), Some(119), Some(64)]
    );
}

#[test]
fn a_replaced_volume_begins_where_the_old_one_ended() {
    let tree = machine();
    let mut machine = Machine::new(&tree.frozen());
    let mount = |minor: u32| format!("20 1 8:{minor} / /media rw - ext4 x rw\n");
    let mut reads = |minor: Option<u32>, sda: u64, sdb: u64| {
        tree.file("diskstats", disk("sda", 0, sda, 0, 0) + &disk("sdb", 16, sdb, 0, 0));
        tree.file("self/mountinfo", minor.map(mount).unwrap_or_default());
        let look = machine.look(&[LOGICAL], &[]);
        let there = look.object(LOGICAL).instance_count() > 0;
        there.then(|| {
            (
                look.value(LOGICAL, "/media", 214).unwrap(),
                look.value(LOGICAL, "_Total", 214).unwrap(),
            )
        })
    };
    assert_eq!(reads(Some(0), 10, 1000), Some((10, 10)));
    assert_eq!(reads(Some(0), 12, 1000), Some((12, 12)));
    assert_eq!(reads(Some(16), 13, 1000), Some((12, 12)));
    assert_eq!(reads(Some(16), 13, 1005), Some((17, 17)));
    assert_eq!(reads(None, 13, 1010), None);
    assert_eq!(reads(Some(16), 13, 1011), Some((17, 17)));
    assert_eq!(reads(Some(16), 13, 1012), Some((18, 18)));
}

#[test]
fn two_volumes_at_one_mount_point_keep_their_counts_when_the_table_changes() {
    let tree = machine();
    let mut machine = Machine::new(&tree.frozen());
    let both = "20 1 8:0 / /media rw - ext4 x rw\n21 20 8:16 / /media rw - ext4 x rw\n";
    let mut reads = |mounts: &str, sda: u64, sdb: u64| -> Vec<u64> {
        tree.file("diskstats", disk("sda", 0, sda, 0, 0) + &disk("sdb", 16, sdb, 0, 0));
        tree.file("self/mountinfo", mounts);
        let look = machine.look(&[LOGICAL], &[]);
        let rows = look.object(LOGICAL).instances();
        rows.map(|row| look.value_of(LOGICAL, row, 214).unwrap()).collect()
    };
    assert_eq!(reads(both, 1000, 10), [1000, 10, 1010]);
    let more = format!("{both}22 1 0:40 / /tmp rw - tmpfs x rw\n");
    assert_eq!(reads(&more, 1001, 12), [1001, 12, 1013]);
    assert_eq!(reads(both, 1002, 13), [1002, 13, 1015]);
    // The upper one is unmounted, and mounted again.
    let (lower, _) = both.split_at(both.find("21 ").unwrap());
    assert_eq!(reads(lower, 1003, 14), [1003, 1016]);
    assert_eq!(reads(both, 1004, 15), [1004, 13, 1017]);
}

#[test]
fn empty_and_stacked_devices_are_not_disks() {
    let tree = machine();
    let zero = "0 0 0 0 0 0 0 0 0 0 0";
    let text = |nbd: &str| {
        format!(
            "8 0 sda 1 0 0 0 0 0 0 0 0 0 0\n43 0 nbd0 {nbd}\n8 16 sdb {zero}\n8 32 stack {zero}\n"
        )
    };
    tree.sys("block/nbd0/size", "0\n");
    tree.sys("block/sdb/size", "7\n");
    tree.sys("block/stack/slaves/sda", "");
    let mut machine = Machine::new(&tree.frozen());
    tree.file("diskstats", text(zero));
    assert_eq!(machine.look(&[PHYSICAL], &[]).names(PHYSICAL), ["sda", "sdb", "_Total"]);
    tree.file("diskstats", text("5 0 0 0 0 0 0 0 0 0 0"));
    let look = machine.look(&[PHYSICAL], &[]);
    assert_eq!(look.names(PHYSICAL), ["sda", "nbd0", "sdb", "_Total"]);
    // By name alone, empty devices and those that consist of others are not recognized.
    let look = Look::at(&tree.root(), &[PHYSICAL], &[]);
    assert_eq!(look.names(PHYSICAL), ["sda", "nbd0", "sdb", "stack", "_Total"]);
}

#[test]
fn with_another_root_the_mounts_of_process_1_count() {
    let tree = machine();
    tree.file("1/mountinfo", "20 1 8:1 / /host rw - ext4 x rw\n");
    assert_eq!(Look::at(&tree.frozen(), &[LOGICAL], &[]).names(LOGICAL).len(), 5);
    let root = tree.frozen().with_mounts(tree.path());
    let look = Look::at(&root, &[LOGICAL], &[]);
    assert_eq!(look.names(LOGICAL), ["/host", "_Total"]);
    // The mount point does not exist, or is no file system of that number.
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(
        (look.value(LOGICAL, "/host", 410), look.value(LOGICAL, "/host", 214)),
        (None, Some(40))
    );
    std::fs::create_dir(tree.path().join("host")).unwrap();
    let look = Look::at(&root, &[LOGICAL], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.value(LOGICAL, "/host", 410), None);
    // The mount point exists: it is this machine's file system, with its number.
    let dev = std::fs::metadata(tree.path()).unwrap().dev();
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    if major != 0 && (major, minor) != (8, 1) {
        let other = "21 1 8:1 / /host/none rw - ext4 x rw\n";
        let mount = format!("20 1 {major}:{minor} / /host rw - ext4 x rw\n{other}");
        tree.file("1/mountinfo", mount);
        let look = Look::at(&root, &[LOGICAL], &[]);
        assert!(look.value(LOGICAL, "/host", 410).is_some());
        // The other file system has no mount point, and its values end before its transfers.
        assert_eq!(look.value(LOGICAL, "/host/none", 214), None);
        assert_eq!(look.value(LOGICAL, "_Total", 410), look.value(LOGICAL, "/host", 410));
        let here = look.value(LOGICAL, "/host", 214).unwrap_or(0);
        assert_eq!(look.value(LOGICAL, "_Total", 214), Some(40 + here));
    }
    tree.remove("1/mountinfo");
    assert_eq!(Look::at(&root, &[LOGICAL], &[]).names(LOGICAL).len(), 5);
    // A frozen machine may have only the table of process 1.
    tree.file("1/mountinfo", "20 1 8:1 / /host rw - ext4 x rw\n");
    tree.remove("self/mountinfo");
    assert_eq!(Look::at(&tree.frozen(), &[LOGICAL], &[]).names(LOGICAL), ["/host", "_Total"]);
}

#[test]
fn real_windows_blocks_have_the_same_definitions() {
    let mut seen = 0;
    for (file, object) in [("s00_o4_234", PHYSICAL), ("s00_o0_236", LOGICAL)] {
        let Some(bytes) = real::file(&format!("windows-vista/{file}.bin")) else { return };
        let block = DataBlock::parse(&bytes).unwrap();
        let theirs = block.object(TitleIndex(object)).unwrap();
        let described = providers(&ProcRoot::default()).into_iter().map(|p| p.describe());
        let mut described = described.flat_map(|d| d.objects);
        let ours = described.find(|o| o.spec.name == TitleIndex(object)).unwrap();
        assert_eq!(ours.spec.help, theirs.help_index());
        assert_eq!(ours.spec.detail, theirs.detail_level());
        let mut mine = ours.counters.iter().filter(|counter| counter.name.0 < 100_000);
        for counter in theirs.counters() {
            let index = counter.name_index();
            let absent = counter_table().iter().any(|doc| {
                let is_absent = matches!(doc.availability, Availability::Absent { .. });
                is_absent && doc.object.0 == object && doc.counter == index
            });
            if absent {
                continue;
            }
            // The counters are in Windows' order, including bases.
            let our = mine.next().unwrap();
            assert_eq!(our.name, index);
            assert_eq!(our.help, counter.help_index(), "{our:?}");
            assert_eq!(our.counter_type, counter.counter_type(), "{our:?}");
            assert_eq!(our.scale, counter.default_scale(), "{our:?}");
            assert_eq!(our.detail, counter.detail_level(), "{our:?}");
            assert_eq!(our.size, counter.size(), "{our:?}");
            seen += 1;
        }
        assert_eq!(mine.next(), None);
    }
    assert_eq!(seen, 30 + 33);
}
