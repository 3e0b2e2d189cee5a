//! Control groups and containers on frozen machines.

use crate::common::{Look, Machine, Tree, stat};
use crate::warm::alone;
use perfhive_engine::{Ask, Broker, InstanceWish, NamePattern, ObjectQuery, Query};
use perfhive_format::TitleIndex;
use perfhive_linux::{LinuxClock, providers};
use perfhive_testkit::{alloc::count, real};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

pub(crate) const CGROUP: u32 = 104_000;
const MEMORY: u32 = 104_002;
const IO: u32 = 104_004;
pub(crate) const PRESSURE: u32 = 104_006;
pub(crate) const PROCESS: u32 = 104_008;
pub(crate) const CONTAINER: u32 = 104_010;
pub(crate) const CONTAINER_PROCESS: u32 = 104_012;
pub(crate) const ALL: [u32; 7] =
    [CGROUP, MEMORY, IO, PRESSURE, PROCESS, CONTAINER, CONTAINER_PROCESS];
const JOB: u32 = 1500;
pub(crate) const ID: u32 = 104_020;

pub(crate) const LONG_ID: &str = "f4d3b90bea1585f216da780c97cc4675827296e1c90fdc957fb2ea0c1db85a6a";

pub(crate) fn nothing() -> Vec<String> {
    Vec::new()
}

/// The faults of a look, except those about a missing controller.
pub(crate) fn damage(look: &Look) -> Vec<String> {
    let texts = look.fault_texts().into_iter();
    texts.filter(|text| !text.contains("no control group has")).collect()
}

/// All counters on request of the objects of control groups.
pub(crate) fn extra() -> [(u32, u32); 7] {
    ALL.map(|object| (object, 0))
}

/// A machine with version 2 of control groups, which has only the root group.
fn machine() -> Tree {
    let tree = Tree::machine();
    tree.file(
        "self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    );
    group_file(&tree, "", "cpu.stat", "usage_usec 900\nuser_usec 600\nsystem_usec 300\n");
    group_file(&tree, "", "cgroup.procs", "");
    tree
}

fn group_file(tree: &Tree, group: &str, file: &str, text: &str) {
    tree.sys(&format!("fs/cgroup{group}/{file}"), text);
}

fn folder(tree: &Tree, group: &str) -> PathBuf {
    tree.path().join(format!("sys/fs/cgroup{group}"))
}

/// Adds a group with every file.
fn whole_group(tree: &Tree, group: &str) {
    for (file, text) in [
        (
            "cpu.stat",
            "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnice_usec 0\nnr_periods 10\n\
             nr_throttled 4\nthrottled_usec 77\nnr_bursts 0\nburst_usec 0\n",
        ),
        ("cgroup.stat", "nr_descendants 3\nnr_dying_descendants 0\n"),
        ("cgroup.procs", ""),
        ("cgroup.events", "populated 1\nfrozen 0\n"),
        ("pids.current", "12\n"),
        ("pids.max", "4915\n"),
        ("cpu.weight", "200\n"),
        ("cpu.max", "150000 100000\n"),
        (
            "memory.stat",
            "anon 100\nfile 200\nkernel 30\nkernel_stack 1\nsock 5\nshmem 6\nfile_mapped 7\n\
             file_dirty 8\nfile_writeback 9\nslab 11\npgfault 4294967300\npgmajfault 13\n",
        ),
        ("memory.current", "4096000\n"),
        ("memory.swap.current", "8192\n"),
        ("memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n"),
        ("memory.peak", "5000000\n"),
        ("memory.max", "6000000\n"),
        ("memory.high", "5500000\n"),
        ("memory.swap.max", "7000000\n"),
        (
            "io.stat",
            "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n\
             8:16 rbytes=10 wbytes=20 rios=30 wios=40 dbytes=50 dios=60\n",
        ),
        (
            "cpu.pressure",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2\n",
        ),
        (
            "memory.pressure",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n",
        ),
        (
            "io.pressure",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=6\n",
        ),
        ("irq.pressure", "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"),
    ] {
        group_file(tree, group, file, text);
    }
}

/// The values of one instance for all counters that the object defines.
fn row(look: &Look, object: u32, name: &str) -> Vec<(u32, Option<u64>)> {
    let instance = look.instance(object, name);
    let indexes = look.object(object).counters().map(|c| c.name_index().0);
    indexes.map(|index| (index, look.value_of(object, instance, index))).collect()
}

fn some(values: &[(u32, u64)]) -> Vec<(u32, Option<u64>)> {
    values.iter().map(|(index, value)| (*index, Some(*value))).collect()
}

#[test]
fn group_files_fill_every_counter() {
    let tree = machine();
    whole_group(&tree, "/a.slice");
    let inode = std::fs::metadata(folder(&tree, "/a.slice")).unwrap().ino();
    let look = Look::at(&tree.frozen(), &ALL, &extra());
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(CGROUP), ["/", "/a.slice"]);
    let cgroup = [
        (6, 50_000),
        (142, 30_000),
        (144, 20_000),
        (ID, inode),
        (104_022, 3),
        (248, 0),
        (104_030, 12),
        (104_026, 1),
        (104_028, 0),
        (104_032, 10),
        (104_034, 4),
        (104_036, 770),
        (104_038, 200),
        (104_040, 4915),
        (104_042, 150),
    ];
    assert_eq!(row(&look, CGROUP, "/a.slice"), some(&cgroup));
    // The root group has the times, and no value behind the first one that is missing.
    let root: Vec<_> = row(&look, CGROUP, "/").into_iter().map(|(_, value)| value).collect();
    let inode = std::fs::metadata(folder(&tree, "")).unwrap().ino();
    assert_eq!(root[..5], [Some(9000), Some(6000), Some(3000), Some(inode), None]);
    assert!(root[4..].iter().all(Option::is_none));
    // A group without the controller is not in the controller's object.
    for object in [MEMORY, IO, PRESSURE] {
        assert_eq!(look.names(object), ["/a.slice"]);
    }
    let memory = [
        (104_200, 100),
        (104_202, 200),
        (104_204, 6),
        (104_206, 7),
        (104_208, 8),
        (104_210, 9),
        (104_212, 5),
        (104_214, 11),
        (104_216, 30),
        (28, 4),
        (105_000, 13),
        (104_230, 4_096_000),
        (104_232, 8192),
        (104_234, 2),
        (104_236, 3),
        (104_238, 4),
        (104_240, 5),
        (104_242, 5_000_000),
        (104_244, 6_000_000),
        (104_246, 5_500_000),
        (104_248, 7_000_000),
    ];
    assert_eq!(row(&look, MEMORY, "/a.slice"), some(&memory));
    let io =
        [(105_020, 11), (105_022, 22), (104_304, 33), (104_306, 44), (104_308, 55), (104_310, 66)];
    assert_eq!(row(&look, IO, "/a.slice"), some(&io));
    let pressure = [
        (104_402, 10),
        (104_406, 30),
        (104_408, 40),
        (104_410, 50),
        (104_412, 60),
        (104_414, 70),
        (104_404, 20),
    ];
    assert_eq!(row(&look, PRESSURE, "/a.slice"), some(&pressure));
    assert!(look.names(CONTAINER).is_empty() && look.names(PROCESS).is_empty());

    // Counters on request are missing without a request.
    let look = Look::at(&tree.frozen(), &ALL, &[]);
    let indexes =
        |object| row(&look, object, "/a.slice").iter().map(|(i, _)| *i).collect::<Vec<_>>();
    assert_eq!(indexes(CGROUP), [6, 142, 144, ID, 104_030, 104_032, 104_034, 104_036]);
    let standard = [104_230, 104_232, 104_234, 104_236, 104_238, 104_240];
    assert_eq!(indexes(MEMORY), standard);
    // One counter on request is asked for alone.
    let look = Look::at(&tree.frozen(), &[CGROUP], &[(CGROUP, 104_042)]);
    assert_eq!(look.value(CGROUP, "/a.slice", 104_042), Some(150));
    assert_eq!(look.value(CGROUP, "/a.slice", 104_040), None);
}

#[test]
fn counters_that_no_group_has_are_left_out() {
    let tree = machine();
    group_file(&tree, "/old", "cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    group_file(&tree, "/old", "memory.current", "5\n");
    group_file(&tree, "/old", "memory.max", "max\n");
    group_file(&tree, "/old", "cpu.max", "max 100000\n");
    group_file(&tree, "/old", "pids.max", "max\n");
    let look = Look::at(&tree.frozen(), &ALL, &extra());
    let inode = std::fs::metadata(folder(&tree, "/old")).unwrap().ino();
    // "No limit" gives no value.
    let mut values = some(&[(6, 10), (142, 10), (144, 0), (ID, inode)]);
    // Only the root has a file with its processes.
    values.push((248, None));
    assert_eq!(row(&look, CGROUP, "/old"), values);
    assert_eq!(row(&look, MEMORY, "/old"), some(&[(104_230, 5)]));
    // The objects of missing controllers are missing.
    assert!(!look.has(IO) && !look.has(PRESSURE));
    assert_eq!(
        look.fault_texts(),
        ["104004/: no control group has io.stat", "104006/: no control group has cpu.pressure"]
    );
}

#[test]
fn groups_of_any_name_stand_before_their_children() {
    let tree = machine();
    for group in ["/b", "/a", "/a/x y", "/a-b", "/a(1)#2*", "/träger", "/system.slice/ssh.service"]
    {
        group_file(&tree, group, "cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    }
    let odd = |name: &[u8]| {
        use std::os::unix::ffi::OsStrExt;
        let folder = folder(&tree, "/b").join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("cpu.stat"), "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
            .unwrap();
    };
    odd(b"x\xffy");
    odd(b"x\ny");
    // A link, a file, and an empty folder are no groups.
    std::os::unix::fs::symlink(folder(&tree, "/a"), folder(&tree, "/link")).unwrap();
    std::os::unix::fs::symlink(folder(&tree, ""), folder(&tree, "/a/loop")).unwrap();
    group_file(&tree, "", "file", "");
    std::fs::create_dir(folder(&tree, "/empty")).unwrap();
    let look = Look::at(&tree.frozen(), &[CGROUP], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let names = look.names(CGROUP);
    let bad = names
        .iter()
        .position(|name| name.starts_with("/b/x") && name.ends_with('y') && name != "/b/x\ny")
        .unwrap();
    let mut expected = vec!["/", "/a", "/a/x y", "/a(1)#2*", "/a-b", "/b", "/b/x\ny"];
    expected.push(&names[bad]);
    expected.extend(["/system.slice", "/system.slice/ssh.service", "/träger"]);
    // The slice has no times of its own, and so no values.
    expected.retain(|name| *name != "/system.slice");
    assert_eq!(names, expected);
    let instance = look.object(CGROUP).instances().nth(bad).unwrap();
    assert_eq!(instance.name().as_bytes()[8..10], 0xdcffu16.to_le_bytes());
}

#[test]
fn damaged_files_are_faults_and_other_values_stay() {
    let tree = machine();
    for group in ["/cut", "/damaged", "/good", "/words"] {
        whole_group(&tree, group);
    }
    group_file(&tree, "/cut", "cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 20");
    group_file(&tree, "/cut", "memory.current", "40");
    group_file(&tree, "/cut", "io.stat", "8:0 rbytes=1 wbytes=2");
    group_file(&tree, "/cut", "cpu.pressure", "some avg10=0.00 total=1\nfull avg");
    group_file(&tree, "/damaged", "cpu.stat", "usage_usec x\nuser_usec 3\nsystem_usec 20\n");
    group_file(&tree, "/damaged", "memory.current", "");
    group_file(&tree, "/damaged", "io.stat", "8:0 rbytes=x\n");
    group_file(&tree, "/damaged", "cpu.pressure", "some avg10=0.00\nfull total=3\n");
    group_file(&tree, "/words", "memory.events", "low 1\nhigh\nmax 3\n");
    group_file(&tree, "/words", "memory.swap.current", "99999999999999999999999\n");
    group_file(&tree, "/words", "cpu.max", "5000 0\n");
    group_file(&tree, "/words", "cgroup.procs", "12\nx\n");
    group_file(&tree, "/words", "pids.current", "-3\n");
    let wanted = [(CGROUP, 104_042)];
    let look = Look::at(&tree.frozen(), &[CGROUP, MEMORY, IO, PRESSURE, PROCESS], &wanted);
    let names = ["/", "/cut", "/good", "/words"];
    assert_eq!(look.names(CGROUP), names);
    assert_eq!(look.value(CGROUP, "/cut", 142), Some(30));
    assert_eq!(look.value(CGROUP, "/cut", 144), None);
    assert_eq!(look.value(CGROUP, "/words", 6), Some(50_000));
    assert_eq!(look.value(CGROUP, "/words", 104_030), None);
    assert_eq!(look.names(MEMORY), ["/good", "/words"]);
    assert_eq!(look.value(MEMORY, "/words", 104_232), Some(u64::MAX));
    assert_eq!(look.value(MEMORY, "/words", 104_234), None);
    assert_eq!(look.names(IO), ["/good", "/words"]);
    assert_eq!(look.names(PRESSURE), ["/cut", "/good", "/words"]);
    assert_eq!(look.value(PRESSURE, "/cut", 104_402), Some(10));
    for name in ["/good", "/words"] {
        assert_eq!(look.value(PRESSURE, name, 104_404), Some(20));
    }
    let texts = look.fault_texts();
    for text in [
        "104000//cut: cpu.stat: not understood",
        "104000//damaged: cpu.stat: usage_usec has no number",
        "104000//words: pids.current: not understood",
        "104000//words: cpu.max: not understood",
        "104002//cut: memory.current: not understood",
        "104002//damaged: memory.current: not understood",
        "104002//words: memory.events: high has no number",
        "104004//cut: io.stat: not understood",
        "104004//damaged: io.stat: rbytes has no number",
        "104006//cut: cpu.pressure: not understood",
        "104006//damaged: cpu.pressure: some has no number",
        "104008//words: cgroup.procs: not understood",
    ] {
        assert!(texts.contains(&text.to_string()), "{text}: {texts:#?}");
    }
    assert_eq!(texts.len(), 12, "{texts:#?}");
}

#[test]
fn without_control_groups_each_object_reports_a_fault() {
    let tree = Tree::machine();
    let none =
        "no control groups are mounted: neither version 2, nor cpuacct or memory of version 1";
    for (mounts, message) in [
        ("25 1 0:1 / /proc rw - proc proc rw\n", none),
        ("32 31 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n", none),
        (
            "32 31 0:29 / /sys/fs/gone rw - cgroup cgroup rw,memory\n",
            "/sys/fs/gone: No such file or directory (os error 2)",
        ),
        (
            "31 23 0:28 / /sys/fs/gone rw - cgroup2 cgroup2 rw\n",
            "/sys/fs/gone: No such file or directory (os error 2)",
        ),
        (
            "31 23 0:28 / /elsewhere rw - cgroup2 cgroup2 rw\n",
            "/elsewhere: No such file or directory (os error 2)",
        ),
    ] {
        tree.file("self/mountinfo", mounts);
        let look = Look::at(&tree.frozen(), &ALL, &[]);
        assert_eq!(look.fault_texts(), ALL.map(|object| format!("{object}/: {message}")));
        assert!(ALL.iter().all(|object| !look.has(*object)));
    }
    tree.remove("self/mountinfo");
    let look = Look::at(&tree.frozen(), &[IO], &[]);
    assert_eq!(
        look.fault_texts(),
        ["104004/: self/mountinfo: No such file or directory (os error 2)"]
    );
    // The groups are mounted later, and unmounted again.
    let mut machine = Machine::new(&tree.frozen());
    assert!(!machine.look(&[CGROUP], &[]).has(CGROUP));
    tree.file("self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    group_file(&tree, "", "cpu.stat", "usage_usec 1\n");
    assert!(machine.look(&[CGROUP], &[]).has(CGROUP));
}

/// Adds a process to a group.
fn add_process(tree: &Tree, group: &str, pid: u32, name: &str) {
    tree.file(&format!("{pid}/stat"), stat(pid, name.as_bytes(), 1, 1));
    let path = folder(tree, group).join("cgroup.procs");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, format!("{before}{pid}\n")).unwrap();
}

#[test]
fn processes_have_their_group_and_container_as_parent() {
    let tree = machine();
    let docker = format!("/system.slice/docker-{LONG_ID}.scope");
    let inner = format!("{docker}/docker/{}", LONG_ID.replace('f', "0"));
    for group in
        ["/system.slice", "/system.slice/ssh.service", &docker, &format!("{docker}/init"), &inner]
    {
        whole_group(&tree, group);
    }
    add_process(&tree, "", 2, "kthreadd");
    add_process(&tree, "/system.slice/ssh.service", 700, "sshd");
    add_process(&tree, &docker, 900, "tini");
    add_process(&tree, &format!("{docker}/init"), 41, "a b)\u{e4}");
    add_process(&tree, &inner, 50, "inner");
    // One process was moved while the groups were read, one belongs to another namespace, and
    // one has ended.
    let path = folder(&tree, "/system.slice").join("cgroup.procs");
    std::fs::write(path, "900\n0\n4000000\n").unwrap();
    let mut machine = Machine::new(&tree.frozen());
    let look = machine.look(&[PROCESS, CONTAINER_PROCESS], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let rows = |object: u32| {
        let instances = look.object(object).instances();
        let row = |instance| {
            let (_, parent) = look.block().parent(&instance).unwrap();
            let value = |counter| look.value_of(object, instance, counter).unwrap();
            (value(784), instance.name().to_text(), parent.name().to_text(), value(ID))
        };
        instances.map(row).collect::<Vec<_>>()
    };
    let inode = |group: &str| std::fs::metadata(folder(&tree, group)).unwrap().ino();
    let of_groups = rows(PROCESS);
    let init = format!("{docker}/init");
    for (row, (pid, name, group)) in of_groups.iter().zip([
        (2, "kthreadd", ""),
        (41, "a b)\u{e4}", init.as_str()),
        (50, "inner", &inner),
        (700, "sshd", "/system.slice/ssh.service"),
    ]) {
        let path = if group.is_empty() { "/" } else { group };
        assert_eq!(*row, (pid, name.to_string(), path.to_string(), inode(group)));
    }
    assert_eq!((of_groups.len(), of_groups[4].0), (5, 900));
    // The process is in one of the two groups.
    assert!([docker.as_str(), "/system.slice"].contains(&of_groups[4].2.as_str()));
    assert_eq!(look.names(CONTAINER), ["docker/f4d3b90bea15", "docker/04d3b90bea15"]);
    let of_containers: Vec<_> =
        rows(CONTAINER_PROCESS).into_iter().map(|(pid, _, parent, _)| (pid, parent)).collect();
    let outer = (41, "docker/f4d3b90bea15".to_string());
    assert_eq!(of_containers[..2], [outer, (50, "docker/04d3b90bea15".to_string())]);

    // Only containers are asked for, with their values.
    let look = machine.look(&[CONTAINER_PROCESS], &[(CONTAINER, 0)]);
    assert!(look.has(CONTAINER) && !look.has(CGROUP));
    let values = [
        (6, 50_000),
        (142, 30_000),
        (144, 20_000),
        (ID, inode(&docker)),
        (104_230, 4_096_000),
        (104_030, 12),
        (105_020, 11),
        (105_022, 22),
        (104_304, 33),
        (104_306, 44),
        (104_032, 10),
        (104_034, 4),
        (104_036, 770),
        (104_232, 8192),
        (104_244, 6_000_000),
        (104_042, 150),
    ];
    assert_eq!(row(&look, CONTAINER, "docker/f4d3b90bea15"), some(&values));
    // The `stat` of a process is damaged.
    tree.file("50/stat", "50 (inner");
    let look = machine.look(&[CONTAINER_PROCESS], &[]);
    assert_eq!(look.fault_texts(), ["104012/PID 50: stat: not understood"]);
}

/// A group without the files of a controller is missing in the object of that controller, and the
/// groups behind it have another place there than in Cgroup.
#[test]
fn processes_keep_their_groups_beside_an_object_that_lacks_some_groups() {
    let tree = machine();
    for (group, pid, name) in [("/a", 11, "one"), ("/b", 12, "two"), ("/c", 13, "three")] {
        whole_group(&tree, group);
        add_process(&tree, group, pid, name);
    }
    let files = ["cpu.pressure", "memory.pressure", "io.pressure", "irq.pressure"];
    for file in files.into_iter().chain(["io.stat", "memory.stat", "memory.current"]) {
        std::fs::remove_file(folder(&tree, "/a").join(file)).unwrap();
    }
    let mut machine = Machine::new(&tree.frozen());
    for beside in [MEMORY, IO, PRESSURE, JOB] {
        let look = machine.look(&[PROCESS, beside], &[]);
        let parent = |instance| {
            let (_, parent) = look.block().parent(&instance).unwrap();
            format!("{} {}", parent.name().to_text(), instance.name().to_text())
        };
        let parents: Vec<_> = look.object(PROCESS).instances().map(parent).collect();
        assert_eq!(parents, ["/a one", "/b two", "/c three"], "beside {beside}");
    }
}

#[test]
fn created_and_removed_groups_are_followed() {
    let tree = machine();
    for group in ["/a", "/a/b", "/c"] {
        whole_group(&tree, group);
    }
    let mut machine = Machine::new(&tree.frozen());
    assert_eq!(machine.look(&[CGROUP], &[]).names(CGROUP), ["/", "/a", "/a/b", "/c"]);
    std::fs::remove_dir_all(folder(&tree, "/a")).unwrap();
    whole_group(&tree, "/b");
    let look = machine.look(&ALL, &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(CGROUP), ["/", "/b", "/c"]);
    // Another group takes the path, and has fewer files.
    std::fs::remove_dir_all(folder(&tree, "/c")).unwrap();
    std::fs::create_dir(folder(&tree, "/other")).unwrap();
    group_file(&tree, "/c", "cpu.stat", "usage_usec 7\nuser_usec 0\nsystem_usec 7\n");
    let look = machine.look(&[CGROUP, MEMORY], &[]);
    assert_eq!(look.value(CGROUP, "/c", 6), Some(70));
    assert_eq!(look.names(MEMORY), ["/b"]);
    // A controller that is switched on is found after some collections.
    group_file(&tree, "/c", "memory.current", "5\n");
    let mut collections = 0;
    while machine.look(&[MEMORY], &[]).names(MEMORY) != ["/b", "/c"] {
        collections += 1;
        assert!(collections < 40);
    }
}

#[test]
fn groups_beyond_the_depth_limit_are_a_fault() {
    let tree = machine();
    let mut group = String::new();
    for _ in 0..80 {
        group.push_str("/g");
        group_file(&tree, &group, "cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    }
    let look = Look::at(&tree.frozen(), &[CGROUP], &[]);
    assert_eq!(look.object(CGROUP).instance_count(), 65);
    assert_eq!(look.faults.len(), 1);
    assert!(look.faults[0].message.contains("too many levels"), "{:?}", look.fault_texts());
}

#[test]
fn pipes_in_place_of_files_do_not_block() {
    let tree = machine();
    for group in ["/pipe", "/folder"] {
        whole_group(&tree, group);
        std::fs::remove_file(folder(&tree, group).join("memory.current")).unwrap();
    }
    std::fs::create_dir(folder(&tree, "/folder/memory.current")).unwrap();
    let pipe = folder(&tree, "/pipe").join("memory.current");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let look = Look::at(&tree.frozen(), &[CGROUP, MEMORY], &[]);
    assert_eq!(look.names(CGROUP), ["/", "/folder", "/pipe"]);
    assert!(!look.names(MEMORY).contains(&"/".to_string()));
    let texts = look.fault_texts();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("104002//folder: memory.current: "), "{texts:?}");
    // Each fault names the group and the file that cannot be read.
    assert!(texts[1].starts_with("104002//pipe: memory.current: "), "{texts:?}");
}

#[test]
fn warm_collection_of_two_thousand_groups_allocates_nothing() {
    alone("cgroup::warm_collection_of_two_thousand_groups_allocates_nothing", || {
        let tree = machine();
        for slice in 0..40 {
            for service in 0..50 {
                let group = format!("/s{slice}.slice/docker-{LONG_ID}{service:04}.scope");
                let group = group.replace(LONG_ID, &LONG_ID[..50]);
                group_file(&tree, &group, "cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
                group_file(&tree, &group, "memory.current", "5\n");
                group_file(&tree, &group, "cgroup.procs", "7\n");
            }
        }
        tree.file("7/stat", stat(7, b"seven", 1, 1));
        let mut machine = Machine::new(&tree.frozen());
        let there = [CGROUP, MEMORY, PROCESS, CONTAINER, CONTAINER_PROCESS];
        let wanted = there.map(TitleIndex);
        let mut request = Ask::new(ObjectQuery::Indexes(wanted.to_vec()));
        request.extra_counters = wanted.iter().map(|object| (*object, TitleIndex(0))).collect();
        let look = machine.look(&there, &[]);
        assert_eq!(look.fault_texts(), nothing());
        let count_of = |object| look.object(object).instance_count();
        assert_eq!((count_of(CGROUP), count_of(MEMORY), count_of(CONTAINER)), (2001, 2000, 2000));
        assert_eq!((count_of(PROCESS), count_of(CONTAINER_PROCESS)), (1, 1));
        machine.collect(&request, &wanted);
        // Of a few collections, the one with the fewest allocations is warm.
        let mut counts = (0..6).map(|_| count(|| machine.collect(&request, &wanted)).1.count);
        assert!(counts.any(|count| count == 0));
    });
}

/// A recorded machine; `None` where the real data is missing.
fn recorded(archive: &str) -> Option<Tree> {
    let archive = real::root()?.join("proc-trees").join(archive);
    if !archive.is_file() {
        return None;
    }
    let tree = Tree::new();
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(tree.path()).status();
    assert!(status.unwrap().success());
    Some(tree)
}

#[test]
fn groups_of_version_1_have_processor_time_and_memory() {
    let Some(tree) = recorded("cgroups-root-003.tgz") else { return };
    let look = Look::at(&tree.frozen(), &[&ALL[..], &[JOB]].concat(), &extra());
    let faults =
        ["104004/: no control group has io.stat", "104006/: no control group has cpu.pressure"];
    assert_eq!(look.fault_texts(), faults);
    // The hierarchy of processors has 78 groups; the hierarchy of memory has 3 of them.
    assert_eq!([CGROUP, JOB, MEMORY].map(|object| look.names(object).len()), [78, 78, 3]);
    let slice = |object, counter| look.value(object, "/system.slice", counter);
    let times = [6, 142, 144].map(|counter| slice(CGROUP, counter));
    assert_eq!(times, [Some(2_270_196), Some(600_000), Some(1_300_000)]);
    let job = [1502, 1504, 1506, 1522, 1524, 1526].map(|counter| slice(JOB, counter));
    assert_eq!(job[..3], times);
    assert_eq!(job[3..], [Some(227), Some(60), Some(130)]);
    assert_eq!(slice(JOB, 1514), Some(12_479));
    let memory = [104_200, 104_202, 104_206, 104_230, 104_232, 104_244];
    let memory = memory.map(|counter| slice(MEMORY, counter));
    let bytes = [675_840, 9_035_776, 2_637_824, 9_977_856, 0].map(Some);
    assert_eq!(memory[..5], bytes);
    assert_eq!(memory[5], None, "there is no limit");
    let [container] = &look.names(CONTAINER)[..] else { panic!("{:?}", look.names(CONTAINER)) };
    assert_eq!(container, "docker/f4d3b90bea15");
    assert!(look.value(CONTAINER, container, 104_230).unwrap() > 0);
}

#[test]
fn hierarchies_of_version_1_outside_sys_are_found_beside_it() {
    let Some(tree) = recorded("cgroups-root-001.tgz") else { return };
    // The recording has no `sys`.
    tree.sys("kernel/x", "");
    let look = Look::at(&tree.frozen(), &[CGROUP, MEMORY], &[]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(look.names(CGROUP), ["/", "/libvirt", "/libvirt/lxc"]);
    assert_eq!(look.names(MEMORY), look.names(CGROUP));
    assert!(look.value(CGROUP, "/", 6).unwrap() > 0);
    assert!(look.value(MEMORY, "/", 104_230).unwrap() > 0);
}

#[test]
fn job_objects_are_control_groups() {
    let tree = machine();
    whole_group(&tree, "/a");
    group_file(&tree, "/b", "cpu.stat", "usage_usec 9000\nuser_usec 2000\nsystem_usec 7000\n");
    let look = Look::at(&tree.frozen(), &[JOB], &[]);
    assert_eq!(look.fault_texts(), nothing());
    let row = |name| [1502, 1504, 1506, 1522, 1524, 1526, 1514].map(|c| look.value(JOB, name, c));
    assert_eq!(row("/a"), [50_000, 30_000, 20_000, 5, 3, 2, 4_294_967_300].map(Some).map(wrapped));
    assert_eq!(row("/b")[..6], [90_000, 20_000, 70_000, 9, 2, 7].map(Some));
    assert_eq!(row("/b")[6], None, "without the memory controller");
}

/// The lower 32 bits of a count.
fn wrapped(count: Option<u64>) -> Option<u64> {
    count.map(|count| count & 0xffff_ffff)
}

#[test]
fn wanted_groups_alone_are_read() {
    let tree = machine();
    for group in ["/a.slice", "/b.slice", "/b.slice/c.scope"] {
        whole_group(&tree, group);
    }
    let mut machine = Machine::new(&tree.frozen());
    let all = machine.look(&[CGROUP, MEMORY], &[]);
    // Collections of all groups report the damage; collections of other groups do not.
    group_file(&tree, "/a.slice", "cpu.stat", "damaged\n");
    let [cgroup, memory, process] = [CGROUP, MEMORY, PROCESS].map(TitleIndex);
    let mut some = |pattern: &str, object: TitleIndex, wanted: &[TitleIndex]| {
        let wish = InstanceWish::Named(Arc::new(NamePattern::with_wildcards(pattern)));
        machine.look_with(&Ask::objects(wanted).with_instance(object, wish), wanted)
    };
    let look = some("/b.SLICE*", cgroup, &[cgroup]);
    assert_eq!(look.names(CGROUP), ["/b.slice", "/b.slice/c.scope"]);
    assert_eq!(look.fault_texts(), nothing());
    assert_eq!(row(&look, CGROUP, "/b.slice"), row(&all, CGROUP, "/b.slice"));
    let look = some("/a.slice", memory, &[memory]);
    assert_eq!(row(&look, MEMORY, "/a.slice"), row(&all, MEMORY, "/a.slice"));
    let look = some("/d.slice", memory, &[memory]);
    assert_eq!((look.names(MEMORY), look.fault_texts()), (nothing(), nothing()));
    // The objects of processes need all groups.
    let look = some("/b.slice", cgroup, &[cgroup, process]);
    assert_eq!(look.names(CGROUP).len(), 3);
}

#[test]
fn a_query_of_one_group_has_its_value_and_a_missing_group_has_suggestions() {
    let tree = machine();
    ["/a.slice", "/b.slice"].iter().for_each(|group| whole_group(&tree, group));
    let broker = Broker::builder("local:", "machine")
        .clock(LinuxClock::of(&tree.frozen()))
        .providers(providers(&tree.frozen()))
        .build();
    let mut query = Query::new(broker).unwrap();
    query.add(r"\Cgroup Memory(/a.slice)\Memory Bytes").unwrap();
    query.add(r"\Cgroup Memory(/a.slicee)\Memory Bytes").unwrap();
    query.collect().unwrap();
    let [there, missing] = query.readings() else { panic!("{:?}", query.readings()) };
    assert_eq!(there.value.as_ref().unwrap().as_f64(), 4_096_000.0);
    assert_eq!(missing.value.as_ref().map_err(|why| why.code()), Err("no-such-instance"));
    assert!(query.instance_names(missing).contains(&"/b.slice".to_string()));
}
