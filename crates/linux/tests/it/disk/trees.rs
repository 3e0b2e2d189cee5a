//! Disks of recorded machines.

use crate::common::Look;
use crate::real_trees::unpack;
use std::collections::BTreeMap;

const PHYSICAL: u32 = 234;

#[test]
fn recorded_trees_of_four_machines_give_their_disks() {
    for (name, disks) in [
        ("blkdev-root-001.tgz", &["sda"][..]),
        ("blkdev-root-004.tgz", &["sda", "sdb"]),
        ("cgroups-root-001.tgz", &["sdb", "sda"]),
        ("cgroups-root-003.tgz", &["sda"]),
    ] {
        let Some(tree) = unpack(name) else { return };
        // Once with the tree's sysfs, and once by name alone.
        for root in [tree.frozen(), tree.root()] {
            let look = Look::at(&root, &[PHYSICAL], &[]);
            assert_eq!(look.fault_texts(), Vec::<String>::new(), "{name}");
            let names = look.names(PHYSICAL);
            let (total, named) = names.split_last().unwrap();
            assert_eq!(
                (total.as_str(), named),
                ("_Total", &disks.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
                "{name}"
            );
            let text = std::fs::read_to_string(tree.path().join("proc/diskstats")).unwrap();
            let lines: BTreeMap<&str, Vec<u64>> = text
                .lines()
                .map(|line| {
                    let words: Vec<_> = line.split_whitespace().collect();
                    (words[2], words[3..].iter().map(|word| word.parse().unwrap()).collect())
                })
                .collect();
            let mut sums = [0; 11];
            for disk in disks {
                let fields = &lines[disk];
                assert_eq!(fields.len(), 11);
                sums.iter_mut().zip(fields).for_each(|(sum, field)| *sum += field);
                check(&look, disk, fields);
            }
            check(&look, "_Total", &sums);
            // `_Total` is the mean of the times.
            let time = sums[3] * 10_000 / disks.len() as u64;
            assert_eq!(look.value(PHYSICAL, "_Total", 202), Some(time), "{name}");
        }
    }
}

fn check(look: &Look, name: &str, fields: &[u64]) {
    let value = |counter| look.value(PHYSICAL, name, counter);
    let count = |count: u64| Some(count & 0xffff_ffff);
    assert_eq!(value(214), count(fields[0]), "{name}");
    assert_eq!(value(216), count(fields[4]));
    assert_eq!(value(212), count(fields[0] + fields[4]));
    assert_eq!(value(220), Some(fields[2] * 512));
    assert_eq!(value(222), Some(fields[6] * 512));
    assert_eq!(value(218), Some((fields[2] + fields[6]) * 512));
    assert_eq!(value(1402), Some(fields[3] * 10_000));
    assert_eq!(value(1404), Some(fields[7] * 10_000));
    assert_eq!(value(206), Some((fields[3] + fields[7]) * 1_000_000));
    assert_eq!(value(198), Some(fields[8]));
    assert_eq!(value(102_000), count(fields[1]));
    assert_eq!(value(102_002), count(fields[5]));
    // That kernel had no discards yet.
    assert_eq!(value(102_004), None);
}
