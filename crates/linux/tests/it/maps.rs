//! Tests of Image, Full Image, Process Address Space and Thread Details.

use crate::common::{Look, Machine, Tree};
use perfhive_engine::{Ask, Broker, InstanceWish, NamePattern, ObjectQuery, Snapshot, Source};
use perfhive_format::{Instance, TitleIndex};
use perfhive_linux::{LinuxClock, ProcRoot, providers};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const IMAGE: u32 = 740;
const FULL: u32 = 1408;
const SPACE: u32 = 786;
const DETAILS: u32 = 816;

/// The counters of an image: its size by protection, and its number of mappings.
const IMAGE_COUNTERS: [u32; 9] = [788, 790, 792, 794, 796, 798, 800, 802, 106_000];
/// The memory counters: resident, proportional, private dirty, swapped.
const MEMORY: [u32; 4] = [106_002, 106_004, 106_006, 106_008];

const MAPS: &str = "\
00001000-00003000 r--p 00000000 fe:00 11                         /usr/bin/a prog\n\
00003000-00006000 r-xp 00002000 fe:00 11                         /usr/bin/a prog\n\
00006000-00007000 rw-p 00005000 fe:00 11                         /usr/bin/a prog\n\
00007000-00009000 rw-p 00000000 00:00 0                          [heap]\n\
10000000-10010000 rw-s 00000000 00:05 77                         /dev/zero (deleted)\n\
20000000-20004000 ---p 00000000 00:00 0 \n\
20004000-20005000 rwxp 00000000 00:00 0 \n\
20005000-20006000 r--p 00000000 fe:00 12                         /usr/share/locale\n\
20006000-20007000 --xp 00000000 00:00 0 \n\
30000000-30001000 rwxs 00000000 00:01 13                         /memfd:jit (deleted)\n\
30001000-30002000 rwxp 00001000 00:01 13                         /memfd:jit (deleted)\n\
30002000-30004000 ---p 00002000 fe:00 14                         /lib/x.so\n\
30004000-30005000 --xp 00004000 fe:00 14                         /lib/x.so\n\
30005000-30006000 rw-s 00005000 fe:00 14                         /lib/x.so\n\
30006000-30007000 -w-p 00000000 fe:00 15                         /data\n\
30007000-30008000 r--p 00003000 fe:00 11                         /usr/bin/a prog\n\
7ffc0000-7ffc2000 rw-p 00000000 00:00 0                          [stack]\n\
7ffc2000-7ffc3000 r--p 00000000 00:00 0                          [vvar]\n\
7ffc3000-7ffc5000 r-xp 00000000 00:00 0                          [vdso]\n\
7ffc5000-7ffc6000 --xs 00000000 00:00 0                          [anon_shmem: x]\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

/// A text of `smaps` with the same four numbers for each mapping, in kB.
fn smaps(maps: &str, numbers: [u64; 4]) -> String {
    let [resident, proportional, dirty, swapped] = numbers;
    maps.lines()
        .map(|line| {
            format!(
                "{line}\nSize: 4 kB\nRss: {resident} kB\nPss: {proportional} kB\nPss_Dirty: 99 kB\n\
                 Private_Dirty: {dirty} kB\nSwap: {swapped} kB\nSwapPss: 99 kB\nVmFlags: rd ex \n"
            )
        })
        .collect()
}

fn machine() -> Tree {
    let tree = Tree::machine();
    tree.process(10, b"prog");
    tree.file("10/maps", MAPS);
    tree
}

/// The values of an instance for these counters.
fn values(look: &Look, object: u32, name: &str, counters: &[u32]) -> Vec<Option<u64>> {
    counters.iter().map(|counter| look.value(object, name, *counter)).collect()
}

/// The values of [`IMAGE_COUNTERS`] for sizes in kibibytes and a number of mappings.
fn kib(sizes: [u64; 8], mappings: u64) -> Vec<Option<u64>> {
    sizes.into_iter().map(|size| Some(size * 1024)).chain([Some(mappings)]).collect()
}

/// The parents of all instances, each as object and place in it.
fn parents(look: &Look, object: u32) -> Vec<Option<(u32, u32)>> {
    let parent =
        |instance: Instance<'_>| instance.parent().map(|(object, place)| (object.0, place));
    look.object(object).instances().map(parent).collect()
}

#[test]
fn images_by_protection() {
    let tree = machine();
    tree.process(4, b"kthread");
    tree.file("4/maps", "");
    let look = Look::at(&tree.root(), &[IMAGE, FULL], &[]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    assert_eq!(look.names(230), ["Idle", "kthread", "prog", "_Total"]);
    assert_eq!(look.names(IMAGE), ["a prog", "memfd:jit (deleted)", "x.so"]);
    assert_eq!(look.names(FULL), ["/usr/bin/a prog", "/memfd:jit (deleted)", "/lib/x.so"]);
    for (object, names) in [(IMAGE, look.names(IMAGE)), (FULL, look.names(FULL))] {
        let all = |name: &String| values(&look, object, name, &IMAGE_COUNTERS);
        assert_eq!(all(&names[0]), kib([0, 12, 0, 4, 0, 12, 0, 0], 4));
        assert_eq!(all(&names[1]), kib([0, 0, 0, 0, 0, 0, 4, 4], 2));
        assert_eq!(all(&names[2]), kib([8, 0, 4, 0, 4, 0, 0, 0], 3));
        assert_eq!(parents(&look, object), [Some((230, 2)); 3]);
        assert_eq!(look.value(object, &names[0], MEMORY[0]), None);
    }
    // Objects that are not wanted are not written; an ask for Process alone has no maps.
    assert!(!look.has(SPACE) && !look.has(DETAILS));
    let alone = Look::at(&tree.root(), &[230], &[]);
    assert!(!alone.has(IMAGE) && alone.has(230));
}

#[test]
fn address_space_by_kind_and_protection() {
    let tree = machine();
    let look = Look::at(&tree.root(), &[SPACE], &[]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    assert_eq!(look.names(SPACE), ["prog"]);
    assert_eq!(parents(&look, SPACE), [None]);
    let value = |counter| look.value(SPACE, "prog", counter);
    let of = |kind: &[u32]| -> Vec<_> {
        kind.iter().map(|counter| value(*counter).map(|size| size / 1024)).collect()
    };
    assert_eq!((value(784), value(106_000)), (Some(10), Some(20)));
    let mapped: Vec<u32> = (710..=722).step_by(2).collect();
    assert_eq!(of(&mapped), [0, 4, 64, 4, 4, 0, 0].map(Some));
    let image: Vec<u32> = (760..=774).step_by(2).collect();
    assert_eq!(of(&image), [8, 12, 4, 4, 4, 12, 4, 4].map(Some));
    assert_eq!(of(&[726, 780]), [16, 16].map(Some));
    assert_eq!(of(&[746, 748, 752, 754, 756]), [4, 16, 4, 8, 4].map(Some));
    for absent in [724, 744, 750, 758, 776, 778, 782, MEMORY[0]] {
        assert_eq!(value(absent), None, "{absent}");
    }
}

#[test]
fn memory_on_request() {
    let tree = machine();
    tree.file("10/smaps", smaps(MAPS, [3, 2, 1, 7]));
    tree.file(
        "10/smaps_rollup",
        "1000-7000 ---p 00000000 00:00 0 [rollup]\nRss: 30 kB\nPss: 20 kB\nPss_Dirty: 1 kB\n\
         Private_Dirty: 10 kB\nSwap: 70 kB\n",
    );
    let bytes = |kib: [u64; 4]| kib.map(|kib| Some(kib * 1024)).to_vec();
    // The process has twenty mappings; `smaps_rollup` is not read where `smaps` is.
    for (objects, extra, of_space) in [
        (&[IMAGE, SPACE][..], &[(IMAGE, 0), (SPACE, 0)][..], [60, 40, 20, 140]),
        (&[SPACE], &[(SPACE, MEMORY[2])], [30, 20, 10, 70]),
    ] {
        let look = Look::at(&tree.root(), objects, extra);
        assert_eq!(look.fault_texts(), Vec::<String>::new());
        assert_eq!(values(&look, SPACE, "prog", &MEMORY), bytes(of_space));
        assert_eq!(look.value(SPACE, "prog", 784), Some(10));
    }
    let look = Look::at(&tree.root(), &[IMAGE, FULL, SPACE], &[(FULL, MEMORY[0])]);
    assert_eq!(values(&look, FULL, "/usr/bin/a prog", &MEMORY), bytes([12, 8, 4, 28]));
    assert_eq!(
        values(&look, FULL, "/usr/bin/a prog", &IMAGE_COUNTERS),
        kib([0, 12, 0, 4, 0, 12, 0, 0], 4)
    );
    assert_eq!(values(&look, IMAGE, "a prog", &MEMORY), [None; 4]);
    assert_eq!(values(&look, SPACE, "prog", &MEMORY), [None; 4]);
}

#[test]
fn a_kernel_without_smaps() {
    let tree = machine();
    let look = Look::at(&tree.root(), &[IMAGE, SPACE], &[(IMAGE, 0), (SPACE, 0)]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    assert_eq!(values(&look, IMAGE, "x.so", &IMAGE_COUNTERS), kib([8, 0, 4, 0, 4, 0, 0, 0], 3));
    assert_eq!(values(&look, IMAGE, "x.so", &MEMORY), [None; 4]);
    assert_eq!(look.value(SPACE, "prog", 106_000), Some(20));
    // A process's `smaps` of another kernel, which has no `Swap`: its other numbers are missing as well.
    // The damaged file of a process is a fault.
    let whole = smaps(MAPS, [3, 2, 1, 7]);
    tree.file("10/smaps", whole.replacen("Swap: 7 kB\n", "", 1));
    let look = Look::at(&tree.root(), &[IMAGE], &[(IMAGE, 0)]);
    assert_eq!(look.fault_texts(), ["740/PID 10: smaps: numbers of some mappings are missing"]);
    assert_eq!(values(&look, IMAGE, "x.so", &IMAGE_COUNTERS), kib([8, 0, 4, 0, 4, 0, 0, 0], 3));
}

#[test]
fn names_of_files() {
    let tree = machine();
    let mut maps = Vec::new();
    for (at, name) in [
        &b"/lib/a b [c] (d)%s"[..],
        b"/lib/x\\012y",
        b"/lib/trailing ",
        b"/lib/\xff\xfe.so",
        "/lib/ä🦀".as_bytes(),
        b"/lib/\\",
        b"/lib/old.so (deleted)",
        b"/lib/c)",
        b"/other/c)",
        b"/c\tc",
    ]
    .iter()
    .enumerate()
    {
        maps.extend_from_slice(format!("{at}000-{at}800 r-xp 0 fe:00 1   ").as_bytes());
        maps.extend_from_slice(name);
        maps.push(b'\n');
    }
    tree.file("10/maps", &maps);
    let look = Look::at(&tree.root(), &[IMAGE, FULL], &[]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    let units = |object| -> Vec<Vec<u16>> {
        let instances = look.object(object).instances();
        let units = |bytes: &[u8]| -> Vec<u16> {
            bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect()
        };
        instances.map(|instance| units(instance.name().as_bytes())).collect()
    };
    let text = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    let names = units(IMAGE);
    assert_eq!(names[0], text("a b [c] (d)%s"));
    assert_eq!(names[1], text("x\ny"));
    assert_eq!(names[2], text("trailing "));
    assert_eq!(names[3], [0xdcff, 0xdcfe, 46, 115, 111]);
    assert_eq!(names[4], text("ä🦀"));
    assert_eq!(names[5], text("\\"));
    assert_eq!(names[6], text("old.so (deleted)"));
    // Two files of one name are two instances.
    assert_eq!((&names[7], &names[8]), (&text("c)"), &text("c)")));
    assert_eq!(names[9], text("c\tc"));
    assert_eq!(units(FULL)[8], text("/other/c)"));
}

#[test]
fn damaged_maps_cost_only_their_process() {
    let good = "1000-2000 r-xp 00000000 fe:00 1 /lib/good\n";
    let long = format!("3000-4000 r-xp 00000000 fe:00 1 /{}\n", "x".repeat(70_000));
    for (bad, message) in [
        (format!("{good}3000-4000 r-x"), "ends in the middle of a line"),
        (format!("{good}3000-4000 r-xp 00000000 fe:00 1 /lib/b"), "ends in the middle of a line"),
        (format!("{good}3000-4000 r-xp 00000000 fe:00\n"), "a line is not understood"),
        (format!("{good}garbage\n"), "a line is not understood"),
        (format!("{good}\n"), "a line is not understood"),
        (format!("{}-2000 r-xp 0 0:0 1 /x\n", "1".repeat(10_000)), "a line is not understood"),
        (format!("1000-2000 r-xp 0 0:0 x{} /x\n", "9".repeat(10_000)), "a line is not understood"),
        (format!("{good}{long}"), "a line is too long"),
        ("\0\0\0\0".to_string(), "ends in the middle of a line"),
    ] {
        let tree = machine();
        tree.process(11, b"other");
        tree.file("11/maps", &bad);
        let look = Look::at(&tree.root(), &[IMAGE, SPACE], &[]);
        let fault = |object: u32| format!("{object}/PID 11: maps: {message}");
        assert_eq!(look.fault_texts(), [fault(IMAGE), fault(SPACE)], "{:.60}", bad);
        assert_eq!(look.names(IMAGE).len(), 3);
        assert_eq!(look.names(SPACE), ["prog"]);
        assert_eq!(look.names(230), ["Idle", "prog", "other", "_Total"]);
    }
}

#[test]
fn maps_that_are_not_files_are_faults_and_delay_nothing() {
    let tree = machine();
    tree.process(11, b"folder");
    tree.file("11/maps/x", "");
    tree.process(12, b"pipe");
    let pipe = tree.path().join("proc/12/maps");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    tree.process(13, b"none");
    tree.process(14, b"zeros");
    std::os::unix::fs::symlink("/dev/zero", tree.path().join("proc/14/maps")).unwrap();
    let start = Instant::now();
    let look = Look::at(&tree.root(), &[IMAGE], &[]);
    assert!(start.elapsed() < Duration::from_secs(20));
    let texts = look.fault_texts();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(
        texts[0].starts_with("740/PID 11: maps: ") && texts[1].starts_with("740/PID 12: maps: ")
    );
    assert_eq!(texts[2], "740/PID 14: maps: a line is too long");
    assert_eq!(look.names(IMAGE).len(), 3);
}

#[test]
fn sixty_five_thousand_mappings() {
    let tree = machine();
    let file = |at: u64| if at.is_multiple_of(5) { at } else { 0 };
    let maps: String = (0..65_000u64)
        .map(|at| {
            let (start, end) = (at * 0x2000 + 0x1000, at * 0x2000 + 0x2000);
            format!("{start:08x}-{end:08x} r-xp 00000000 fe:00 1          /lib/{}.so\n", file(at))
        })
        .collect();
    tree.file("10/maps", &maps);
    let look = Look::at(&tree.root(), &[IMAGE, SPACE], &[]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    assert_eq!(look.names(IMAGE).len(), 13_000);
    // There are 52000 mappings that are not multiples of five, and the first one.
    assert_eq!(look.value(IMAGE, "0.so", 106_000), Some(52_001));
    assert_eq!(look.value(IMAGE, "64995.so", 798), Some(0x1000));
    assert_eq!(look.value(SPACE, "prog", 106_000), Some(65_000));
    assert_eq!(look.value(SPACE, "prog", 770), Some(65_000 * 0x1000));
}

#[test]
fn where_threads_are() {
    let tree = machine();
    tree.thread(10, 15, b'S');
    tree.thread(10, 20, b'R');
    tree.thread(10, 21, b'S');
    tree.file(
        "10/task/10/syscall",
        "0 0x3 0x7f6016b6d000 0x2 0x7 0xf 0x0 0x7fff38635d78 0x7f6016ce92ad\n",
    );
    tree.file("10/task/15/syscall", "-1 0x7fff38635d78 0xffffffffffff\n");
    tree.file("10/task/20/syscall", "running\n");
    tree.file("10/task/21/syscall", "0 0x1 0x2");
    tree.thread(10, 22, b'Z');
    tree.file("10/task/22/syscall", "-1 0x0 0x0\n");
    tree.thread(10, 23, b'S');
    tree.file("10/task/23/syscall", "7 0x0 0x1 0x2\n");
    tree.process(2, b"kthread");
    tree.file("2/task/2/syscall", "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n");
    tree.process(3, b"refused");
    let look = Look::at(&tree.root(), &[232, DETAILS], &[]);
    assert_eq!(look.fault_texts(), ["816/PID 10: task: syscall: not understood"]);
    // A thread that has ended has no address, and keeps its number.
    assert_eq!(look.names(DETAILS), ["0", "1", "2", "3", "5"]);
    let values: Vec<_> = look
        .object(DETAILS)
        .instances()
        .map(|instance| look.value_of(DETAILS, instance, 708))
        .collect();
    assert_eq!(values, [Some(0x7f60_16ce_92ad), Some(0xffff_ffff_ffff), None, None, Some(2)]);
    let place = look.names(230).iter().position(|name| name == "prog").unwrap() as u32;
    assert_eq!(parents(&look, DETAILS), [Some((230, place)); 5]);
}

/// A child process, which ends when this is dropped.
struct Sleeper(Child);

impl Sleeper {
    /// A child that has started and sleeps.
    fn new() -> Self {
        let child = Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap());
        let path = format!("/proc/{}/syscall", child.0.id());
        for _ in 0..500 {
            // It waits in `sleep` itself, so that it has mapped everything it needs.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let name = std::fs::read_to_string(format!("/proc/{}/comm", child.0.id())).unwrap();
            if text.starts_with(|c: char| c.is_ascii_digit()) && name == "sleep\n" {
                std::thread::sleep(Duration::from_millis(20));
                if std::fs::read_to_string(&path).is_ok_and(|again| again == text) {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The size of each path in `maps` of a process, computed independently of the crate.
fn mapped(pid: u32) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut sizes = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (start, end) = words.next().unwrap().split_once('-').unwrap();
        let size = u64::from_str_radix(end, 16).unwrap() - u64::from_str_radix(start, 16).unwrap();
        if let Some(path) = words.nth(4) {
            *sizes.entry(path.to_string()).or_insert(0) += size;
        }
    }
    sizes
}

#[test]
fn maps_of_a_child_equal_those_of_the_kernel() {
    let sleeper = Sleeper::new();
    let pid = sleeper.0.id();
    let mut machine = Machine::new(&ProcRoot::default());
    let look =
        machine.look(&[230, IMAGE, FULL, SPACE, DETAILS], &[(IMAGE, 0), (FULL, 0), (SPACE, 0)]);
    let process = look.process(pid).unwrap();
    let place = look
        .object(230)
        .instances()
        .position(|i| look.value_of(230, i, 784) == Some(u64::from(pid)));
    let parent = Some((230, place.unwrap() as u32));

    // All space together is the virtual size that the kernel gives for the process.
    let is_it = |i: &Instance<'_>| look.value_of(SPACE, *i, 784) == Some(u64::from(pid));
    let space = look.object(SPACE).instances().find(is_it).unwrap();
    assert_eq!(space.name().to_text(), "sleep");
    let value = |counter| look.value_of(SPACE, space, counter);
    let sum: u64 = (710..=774).step_by(2).filter(|c| *c != 740).filter_map(value).sum();
    assert_eq!(Some(sum), look.value_of(230, process, 174));
    let working_set = look.value_of(230, process, 180).unwrap();
    let resident = value(MEMORY[0]).unwrap();
    assert!(resident.abs_diff(working_set) <= 512 << 10, "{resident} {working_set}");
    assert!(value(MEMORY[1]).unwrap() <= resident && value(MEMORY[2]).unwrap() <= resident);

    let sizes = mapped(pid);
    let parents = parents(&look, FULL);
    let mut images = 0;
    for (at, image) in look.object(FULL).instances().enumerate() {
        if parents[at] != parent {
            continue;
        }
        images += 1;
        let name = image.name().to_text();
        let bytes: u64 =
            IMAGE_COUNTERS[..8].iter().filter_map(|c| look.value_of(FULL, image, *c)).sum();
        assert_eq!(sizes.get(&name), Some(&bytes), "{name}");
        let resident = look.value_of(FULL, image, MEMORY[0]).unwrap();
        assert!(resident > 0 && resident <= bytes, "{name}");
    }
    // The program, the C library, and the loader.
    assert!(images >= 2, "{images}");
    assert_eq!(look.object(IMAGE).instances().count(), look.object(FULL).instances().count());

    // The thread waits in the C library, within an image.
    let parents = crate::maps::parents(&look, DETAILS);
    let at = parents.iter().position(|p| *p == parent);
    let Some(at) = at else {
        eprintln!("threads may not be looked at here: User PC is not compared");
        return;
    };
    let thread = look.object(DETAILS).instances().nth(at).unwrap();
    let address = look.value_of(DETAILS, thread, 708).unwrap();
    let text = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let holds = |line: &&str| {
        let (start, end) = line.split_whitespace().next().unwrap().split_once('-').unwrap();
        let number = |digits| u64::from_str_radix(digits, 16).unwrap();
        (number(start)..number(end)).contains(&address)
    };
    let line = text.lines().find(holds).unwrap();
    assert!(line.contains("r-xp"), "{line}");
}

#[test]
fn pmap_says_the_same() {
    let sleeper = Sleeper::new();
    let pid = sleeper.0.id();
    let Ok(output) = Command::new("pmap").args(["-x", &pid.to_string()]).output() else {
        eprintln!("pmap is not installed: maps are not compared with it");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("total kB")).unwrap();
    let words: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let look = Look::at(&ProcRoot::default(), &[SPACE, IMAGE], &[(SPACE, 0), (IMAGE, 0)]);
    let is_it = |i: &Instance<'_>| look.value_of(SPACE, *i, 784) == Some(u64::from(pid));
    let space = look.object(SPACE).instances().find(is_it).unwrap();
    let value = |counter| look.value_of(SPACE, space, counter).unwrap();
    let sum: u64 = (710..=774).step_by(2).filter_map(|c| look.value_of(SPACE, space, c)).sum();
    // pmap also counts the page of the kernel, which is not memory of the process.
    let own = if text.contains("ffffffffff600000") { words[0] - 4 } else { words[0] };
    assert_eq!(sum, own * 1024, "{text}");
    assert_eq!(value(MEMORY[0]), words[1] * 1024, "{text}");
}

/// Processes that end while they are read, and one that changes its mappings.
#[test]
fn maps_that_change_during_a_read_give_stable_images_and_no_faults() {
    let stop = Arc::new(AtomicBool::new(false));
    let until = |body: fn()| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                body();
            }
        })
    };
    let churn = [
        until(|| drop(Command::new("true").stdin(Stdio::null()).status())),
        until(|| {
            let threads: Vec<_> = (0..20).map(|_| std::thread::spawn(|| {})).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }),
    ];
    let mut machine = Machine::new(&ProcRoot::default());
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let (start, mut rounds, mut sizes) = (Instant::now(), 0, Vec::new());
    let mut texts = Vec::new();
    while rounds < 5 || start.elapsed() < Duration::from_millis(500) {
        let look = machine.look(&[IMAGE, FULL, SPACE, DETAILS], &[(SPACE, 0)]);
        texts.extend(look.fault_texts());
        let place = look.object(230).instances().position(|instance| {
            look.value_of(230, instance, 784) == Some(u64::from(std::process::id()))
        });
        let parent = Some((TitleIndex(230), place.unwrap() as u32));
        let is_own = |i: &Instance<'_>| i.parent() == parent && i.name().to_text() == own;
        let image = look.object(FULL).instances().find(is_own).unwrap();
        sizes.push(IMAGE_COUNTERS.map(|counter| look.value_of(FULL, image, counter)));
        rounds += 1;
    }
    stop.store(true, Ordering::Relaxed);
    churn.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(texts, Vec::<String>::new());
    // No other mappings of the process are counted for its program.
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
}

#[test]
fn costly_brings_them_and_process() {
    let mut broker = Broker::builder("local:", "machine")
        .clock(LinuxClock::of(&ProcRoot::default()))
        .providers(providers(&ProcRoot::default()))
        .build();
    let mut objects = |query| {
        let mut snapshot = Snapshot::new();
        broker.collect(&Ask::new(query), &mut snapshot).unwrap();
        snapshot.objects().map(|object| object.view().name_index().0).collect::<Vec<_>>()
    };
    let costly = objects(ObjectQuery::Costly);
    let global = objects(ObjectQuery::Global);
    for object in [IMAGE, FULL, SPACE, DETAILS] {
        assert!(costly.contains(&object) && !global.contains(&object), "{object}");
    }
    assert!(costly.contains(&230) && !costly.contains(&238));
}

#[test]
fn objects_of_maps_are_costly() {
    let costly = perfhive_linux::object_table();
    for index in [IMAGE, FULL, SPACE, DETAILS] {
        let object = costly.iter().find(|object| object.index == TitleIndex(index)).unwrap();
        assert_eq!(object.cost, perfhive_engine::Cost::Costly, "{index}");
    }
}

#[test]
fn wanted_processes_alone_have_their_maps_read() {
    let tree = machine();
    for (pid, name) in [(20, "other"), (30, "prog")] {
        tree.process(pid, name.as_bytes());
        tree.file(&format!("{pid}/maps"), MAPS);
    }
    let mut machine = Machine::new(&tree.root());
    let all = machine.look(&[SPACE, IMAGE], &[]);
    assert_eq!(all.names(SPACE), ["prog", "other", "prog"]);
    // Collections of all processes report the damage; collections of other processes do not.
    tree.file("20/maps", "damaged\n");
    let [process, space, image] = [230, SPACE, IMAGE].map(TitleIndex);
    let named = |pattern| InstanceWish::Named(Arc::new(NamePattern::literal(pattern)));
    for (wish, names) in
        [(InstanceWish::Process(10), &["prog"][..]), (named("prog"), &["prog", "prog"])]
    {
        let ask = Ask::objects(&[space, image]).with_instance(space, wish.clone());
        let look = machine.look_with(&ask.with_instance(image, wish), &[process, space, image]);
        assert_eq!(look.fault_texts(), Vec::<String>::new());
        assert_eq!((look.names(SPACE), look.names(230)), (strings(names), strings(names)));
        let images = look.object(IMAGE).instance_count();
        assert_eq!(images * 3, all.object(IMAGE).instance_count() * names.len() as u32);
        let block = |look: &Look| look.instance(SPACE, "prog").counter_block().as_bytes().to_vec();
        assert_eq!(block(&look), block(&all));
    }
    assert_ne!(machine.look(&[SPACE], &[]).fault_texts(), Vec::<String>::new());
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}
