//! Collections of a machine that does not change allocate nothing: after any kind of
//! change, and with faults that recur.

use crate::common::{Tree, stat};
use perfhive_engine::{Ask, Broker, ObjectQuery, Snapshot, Source};
use perfhive_format::TitleIndex;
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice, object_table, providers_with};
use perfhive_testkit::alloc::count;

const IMAGE: u32 = 740;

struct Reader {
    broker: Broker,
    snapshot: Snapshot,
}

impl Reader {
    fn new(root: &ProcRoot, choice: ReaderChoice) -> Self {
        let providers = providers_with(root, &LinuxOptions::new().reader(choice));
        let broker = Broker::builder("local:", "machine").providers(providers).build();
        Self { broker, snapshot: Snapshot::new() }
    }

    /// Collects, and returns the number of allocations.
    fn collect(&mut self, request: &Ask) -> u64 {
        let Self { broker, snapshot } = self;
        // Returns the frames of the collection before.
        snapshot.clear();
        let (collected, taken) = count(|| broker.collect(request, snapshot));
        collected.unwrap();
        taken.count
    }
}

/// An ask for objects, with or without all counters on request.
fn request(objects: &[u32], extra: bool) -> Ask {
    let objects: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
    let mut request = Ask::new(ObjectQuery::Indexes(objects.clone()));
    if extra {
        request.extra_counters = objects.iter().map(|object| (*object, TitleIndex(0))).collect();
    }
    request
}

/// A machine with at least one thing of every kind.
fn machine() -> Tree {
    let tree = crate::machine::full();
    tree.file(
        "self/mountinfo",
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    );
    tree.file("diskstats", disks(&["sda", "sda1"]));
    tree.file("swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/sda3 partition 2097148 5 -2\n");
    tree.file("net/dev", interfaces(&["lo", "eth0"]));
    tree.file(
        "net/snmp",
        "Tcp: MaxConn OutSegs InSegs\nTcp: -1 5 9\nUdp: InDatagrams OutDatagrams\nUdp: 1 2\n\
         Ip: InReceives\nIp: 1\nIcmp: InMsgs\nIcmp: 2\n",
    );
    group(&tree, "", "1\n");
    process(&tree, 10, "first");
    tree
}

fn disks(names: &[&str]) -> String {
    let line = |(minor, name): (usize, &&str)| {
        format!(
            "   8  {minor} {name} 100 10 2000 400 200 20 6000 1600 3 1500 2000 7 1 56 70 9 90\n"
        )
    };
    names.iter().enumerate().map(line).collect()
}

fn interfaces(names: &[&str]) -> String {
    let head = crate::network::DEV.to_string();
    let line = |name: &&str| format!("{name}: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
    names.iter().fold(head, |text, name| text + &line(name))
}

fn group(tree: &Tree, path: &str, processes: &str) {
    let file = |name: &str| format!("fs/cgroup{path}/{name}");
    tree.sys(&file("cpu.stat"), "usage_usec 900\nuser_usec 600\nsystem_usec 300\n");
    tree.sys(&file("memory.current"), "5\n");
    tree.sys(&file("cgroup.procs"), processes);
}

fn process(tree: &Tree, pid: u32, name: &str) {
    tree.process(pid, name.as_bytes());
    let line = |at: u32| format!("{at}000-{at}800 r-xp 0 fe:00 1 /lib/{name}{at}\n");
    tree.file(&format!("{pid}/maps"), (1..pid % 97 + 2).map(line).collect::<String>());
    tree.file(&format!("{pid}/task/{pid}/syscall"), "0 0x1 0x2 0x3\n");
}

/// Makes the change with the number `step`; together they are all kinds of change.
fn change(tree: &Tree, step: u32) {
    let pid = 11 + step % 50;
    match step % 14 {
        0 => process(tree, pid, &"name".repeat(step as usize % 30 + 1)),
        1 => {
            for thread in 0..step {
                tree.thread(10, 1000 + thread, b'S');
            }
            tree.file("10/stat", stat(10, b"first", 1, step + 1));
        }
        2 => (0..step).for_each(|number| process(tree, 100 + number, "many")),
        3 => group(tree, &format!("/system.slice/s{step}.service"), "10\n"),
        4 => {
            let id = format!("{step:064x}");
            group(tree, &format!("/docker-{id}.scope/{}", "deep/".repeat(step as usize % 9)), "");
        }
        5 => {
            let names: Vec<String> = (0..step).map(|number| format!("sd{number}")).collect();
            tree.file("diskstats", disks(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        6 => {
            let names: Vec<String> = (0..step).map(|number| format!("veth{number}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            tree.file("net/dev", interfaces(&names));
        }
        7 => tree.file(
            "self/mountinfo",
            format!(
                "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:2 / /m{step}\\040x rw - ext4 /dev/x rw\n\
                 31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
            ),
        ),
        8 => {
            let line = |number: u32| format!("/swap{number}\\040x file {number} 0 5\n");
            let lines: String = (0..step % 20).map(line).collect();
            tree.file("swaps", format!("Filename\tType\tSize\tUsed\tPriority\n{lines}"));
        }
        9 => {
            let cpus: String = (0..step % 40 + 1).map(|cpu| format!("cpu{cpu} 1 2 3 4\n")).collect();
            tree.file("stat", format!("{cpus}ctxt 5\nprocesses 9\nprocs_running 3\n"));
        }
        10 => {
            let zone = format!("class/thermal/thermal_zone{step}");
            tree.sys(&format!("{zone}/temp"), "45000\n");
            tree.sys(&format!("{zone}/type"), "acpitz\n");
            let meter = format!("class/powercap/intel-rapl:{step}");
            tree.sys(&format!("{meter}/energy_uj"), "12345\n");
            tree.sys(&format!("{meter}/name"), "package\n");
            tree.sys(&format!("{meter}/max_energy_range_uj"), "99999999\n");
        }
        11 => {
            let node = format!("devices/system/node/node{}", step % 6);
            tree.sys(&format!("{node}/cpulist"), "0-3\n");
            tree.sys(&format!("{node}/meminfo"), "Node 0 MemTotal: 5 kB\n");
        }
        12 => {
            let line = |at: u32| format!("{at}000-{at}800 r-xp 0 fe:00 1 /long/{at}{step}\n");
            let lines: String = (1..step * 20 + 2).map(line).collect();
            tree.file("10/maps", lines);
        }
        _ => {
            // Texts that cannot be parsed.
            tree.file("10/io", format!("rchar: x{step}\n"));
            tree.file("net/dev", "damaged\n");
            tree.file("loadavg", "");
        }
    }
}

/// On a frozen machine nothing happens by itself.
#[test]
fn steady_machine_after_every_kind_of_change_allocates_nothing() {
    let tree = machine();
    let all: Vec<u32> = object_table().iter().map(|object| object.index.0).collect();
    let mut readers: Vec<(Reader, Ask)> = [(&all[..], false), (&all, true), (&[IMAGE], false)]
        .into_iter()
        .chain(all.chunks(1).map(|one| (one, true)))
        .map(|(objects, extra)| {
            let reader = Reader::new(&tree.frozen(), ReaderChoice::Proc);
            (reader, request(objects, extra))
        })
        .collect();
    for step in 0..43 {
        if step > 0 {
            change(&tree, step);
        }
        for (reader, request) in &mut readers {
            for _ in 0..if step % 10 == 0 { 3 } else { 1 } {
                reader.collect(request);
            }
        }
    }
    // Files that a group lacks are tried again after some collections.
    for (reader, request) in &mut readers {
        let last = (0..40).map(|_| reader.collect(request)).last().unwrap();
        assert_eq!(last, 0, "{:?}", request.objects);
    }
}

/// Faults that recur are reported each time, and allocate nothing.
#[test]
fn lasting_faults_stay_reported_and_allocate_nothing() {
    let tree = machine();
    tree.file("stat", "cpu0 1 2 3 4\nctxt x\n");
    tree.file("loadavg", "");
    tree.file("meminfo", "MemTotal: x kB\n");
    tree.file("vmstat", "pgfault x\n");
    tree.file("interrupts", "nonsense\n");
    tree.file("softirqs", "nonsense\n");
    tree.file("diskstats", "  8 0 sda x\n");
    tree.file("swaps", "");
    tree.file("net/dev", "nonsense\n");
    tree.file("net/snmp", "Tcp: InSegs\n");
    tree.file("pressure/cpu", "some nonsense\n");
    tree.file("sys/fs/file-nr", "x\n");
    tree.file("self/mountinfo", "nonsense\n");
    for pid in 10..40 {
        process(&tree, pid, "hurt");
        tree.file(&format!("{pid}/io"), "x\n");
        tree.file(&format!("{pid}/maps"), "nonsense\n");
        tree.file(&format!("{pid}/task/{pid}/stat"), "nonsense\n");
        tree.file(&format!("{pid}/task/{pid}/syscall"), "nonsense\n");
    }
    tree.sys("devices/system/node/node0/meminfo", "nonsense\n");
    tree.sys("class/thermal/thermal_zone0/temp", "cold\n");
    tree.sys("class/thermal/thermal_zone0/type", b"odd \xff\n");
    for object in object_table().iter().map(|object| object.index.0) {
        let mut reader = Reader::new(&tree.frozen(), ReaderChoice::Proc);
        let request = request(&[object], true);
        for _ in 0..40 {
            reader.collect(&request);
        }
        let before: Vec<_> = reader.snapshot.faults().iter().map(ToString::to_string).collect();
        assert_eq!(reader.collect(&request), 0, "{object}: {before:?}");
        let after: Vec<_> = reader.snapshot.faults().iter().map(ToString::to_string).collect();
        assert_eq!(before, after);
    }
    // And the faults that one object among all has.
    let all: Vec<u32> = object_table().iter().map(|object| object.index.0).collect();
    let mut reader = Reader::new(&tree.frozen(), ReaderChoice::Proc);
    let request = request(&all, true);
    for _ in 0..40 {
        reader.collect(&request);
    }
    assert_eq!(reader.collect(&request), 0);
    assert!(reader.snapshot.faults().len() > 50, "{}", reader.snapshot.faults().len());
}
