//! Allocations and open files of warm collections.

use super::{full, nothing};
use crate::common::Machine;
use crate::warm::alone;
use perfhive_engine::{Ask, ObjectQuery};
use perfhive_format::TitleIndex;
use perfhive_linux::{ProcRoot, object_table};
use perfhive_testkit::alloc::count;

/// The objects of the two providers that do not read processes.
fn objects() -> Vec<u32> {
    let ours =
        |index: &u32| [2, 4, 86, 238, 260].contains(index) || (100_000..102_000).contains(index);
    object_table().iter().map(|object| object.index.0).filter(ours).collect()
}

fn assert_nothing_is_allocated(root: &ProcRoot) {
    let wanted: Vec<_> = objects().into_iter().map(TitleIndex).collect();
    let mut machine = Machine::new(root);
    for extra in [false, true] {
        let mut request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
        if extra {
            request.extra_counters = wanted.iter().map(|object| (*object, TitleIndex(0))).collect();
        }
        for _ in 0..3 {
            machine.collect(&request, &wanted);
        }
        // A process that starts elsewhere may make a list longer.
        let least =
            (0..10).map(|_| count(|| machine.collect(&request, &wanted)).1.count).min().unwrap();
        assert_eq!(least, 0, "{extra}");
    }
}

#[test]
fn warm_collection_allocates_nothing() {
    assert_nothing_is_allocated(&ProcRoot::default());
    let tree = full();
    tree.file("vmstat", "pgfault 1\nallocstall_normal 2\nnr_dirty 3\n");
    tree.sys("devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1800500\n");
    tree.sys("devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3600000\n");
    tree.sys("class/thermal/thermal_zone0/type", "acpitz\n");
    tree.sys("class/thermal/thermal_zone0/temp", "45000\n");
    for (folder, name) in [("intel-rapl:0", "package-0\n"), ("intel-rapl:0:0", "core\n")] {
        tree.sys(&format!("class/powercap/{folder}/name"), name);
        tree.sys(&format!("class/powercap/{folder}/energy_uj"), "5\n");
        tree.sys(&format!("class/powercap/{folder}/max_energy_range_uj"), "262143328850\n");
    }
    let mut machine = Machine::new(&tree.frozen());
    let all = objects();
    let look = machine.look(&all, &all.iter().map(|object| (*object, 0)).collect::<Vec<_>>());
    assert_eq!(look.fault_texts(), nothing());
    assert!(all.iter().all(|object| look.has(*object)), "{all:?}");
    assert_nothing_is_allocated(&tree.frozen());
}

#[test]
fn warm_collection_keeps_few_files_open() {
    alone("machine::warm::warm_collection_keeps_few_files_open", || {
        let links = || -> Vec<String> {
            let entries = std::fs::read_dir("/proc/self/fd").unwrap();
            let links = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
            let mut links: Vec<_> = links.map(|link| link.to_string_lossy().into_owned()).collect();
            links.retain(|link| link.starts_with("/sys/") || link.starts_with("/proc/"));
            links.sort();
            links
        };
        let wanted: Vec<_> = objects().into_iter().map(TitleIndex).collect();
        let request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
        let mut machine = Machine::new(&ProcRoot::default());
        machine.collect(&request, &wanted);
        let first = links();
        for _ in 0..5 {
            machine.collect(&request, &wanted);
        }
        assert_eq!(links(), first);
        for file in ["/proc/stat", "/proc/meminfo", "/proc/vmstat", "/proc/loadavg"] {
            assert!(first.iter().any(|link| link == file), "{file} {first:?}");
        }
        let node = "/sys/devices/system/node/node0/meminfo";
        let is_open = first.iter().any(|link| link == node);
        assert_eq!(is_open, std::path::Path::new(node).exists(), "{first:?}");
    });
}
