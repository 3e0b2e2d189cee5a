//! Unusual environments and processes: PID namespaces, a `/proc` that hides processes, ordinary users,
//! processes that end or exist in thousands.

use crate::common::{Look, Machine, Tree, wait_until};
use perfhive_engine::{Ask, InstanceWish};
use perfhive_format::{Instance, TitleIndex};
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice, bpf_refusal};
use rustix::process::{Resource, getrlimit};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const ALL: [u32; 9] = [2, 4, 230, 232, 238, 740, 786, 816, 1408];
/// Every object with all counters, including those on request.
const EXTRA: [(u32, u32); 6] = [(230, 0), (232, 0), (238, 0), (740, 0), (786, 0), (1408, 0)];
/// The same without objects that take long on machines with much memory.
const LIGHT: [(u32, u32); 3] = [(230, 0), (232, 0), (238, 0)];
const NOBODY: &[&str] = &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

const PLACE: &str = "PERFHIVE_LINUX_PLACE";
const FOLDER: &str = "PERFHIVE_LINUX_FOLDER";

/// Runs the body of a test in a process that `command` starts: in another namespace, or as
/// another user. If that is not permitted, it prints a message. The test is one of this module unless its
/// path is given.
pub(crate) fn within(test: &str, command: &[&str], folder: &str, body: impl FnOnce()) {
    if std::env::var(PLACE).is_ok_and(|name| name == test) {
        let before = open_files();
        body();
        assert_eq!(open_files(), before, "descriptors are left open");
        return;
    }
    let start = |program: &std::path::Path| {
        let (first, others) = command.split_first().unwrap();
        let mut start = Command::new(first);
        start.args(others).arg(program).env(PLACE, test).env(FOLDER, folder);
        start.stdin(Stdio::null());
        start
    };
    // The test program and the files to read must be reachable from there.
    let reaches = |program: &std::path::Path, argument: &str| {
        let probe =
            start(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    };
    let program = std::env::current_exe().unwrap();
    if !(reaches("ls".as_ref(), folder) && reaches(&program, "--list")) {
        eprintln!("{test}: not permitted or not installed here: {}", command.join(" "));
        return;
    }
    let path = if test.contains("::") { test.to_string() } else { format!("odd::{test}") };
    let output = start(&program).args(["--exact", &path, "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    eprint!("{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test did not run");
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A child process, which ends when this is dropped.
struct Running(Child);

impl Running {
    fn new(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn sleep() -> Self {
        Self::new(Command::new("sleep").arg("600"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn no_faults(look: &Look) {
    assert_eq!(look.fault_texts(), Vec::<String>::new());
}

fn ids(look: &Look) -> Vec<u64> {
    let instances = look.object(230).instances();
    instances.filter_map(|instance| look.value_of(230, instance, 784)).collect()
}

/// The instances of an object whose parent is the process with an ID.
fn children<'a>(look: &'a Look, object: u32, pid: u32) -> Vec<Instance<'a>> {
    let is_it = |i: Instance<'_>| look.value_of(230, i, 784) == Some(u64::from(pid));
    let place = look.object(230).instances().position(is_it).unwrap() as u32;
    let instances = look.object(object).instances();
    instances.filter(|i| i.parent().is_some_and(|(_, parent)| parent == place)).collect()
}

fn space(look: &Look, pid: u32) -> Option<Instance<'_>> {
    let is_it = |i: &Instance<'_>| look.value_of(786, *i, 784) == Some(u64::from(pid));
    look.object(786).instances().find(is_it)
}

#[test]
fn in_another_pid_namespace_only_its_processes_are_seen() {
    let command = ["unshare", "-pf", "--mount-proc"];
    within("in_another_pid_namespace_only_its_processes_are_seen", &command, "/", || {
        let child = Running::sleep();
        let mut machine = Machine::new(&ProcRoot::default());
        // The processes of other namespaces are never visible.
        let mut auto = Machine::with(&ProcRoot::default(), &LinuxOptions::new());
        for _ in 0..4 {
            let look = auto.look(&[230], &[]);
            no_faults(&look);
            assert_eq!(ids(&look), [0, 1, u64::from(child.pid()), 0]);
        }
        let look = machine.look(&ALL, &EXTRA);
        no_faults(&look);
        // This process is the first one of its namespace. Idle and _Total have number 0.
        assert_eq!(std::process::id(), 1);
        assert_eq!(ids(&look), [0, 1, u64::from(child.pid()), 0]);
        assert_eq!(look.single(2, 248), Some(3));
        let process = look.process(child.pid()).unwrap();
        assert_eq!(look.value_of(230, process, 1410), Some(1));
        assert!(look.value_of(230, process, 1412).is_some());
        assert!(space(&look, 1).is_some());
    });
}

fn look_at_hidden(test: &str, option: &str, see_others: bool) {
    // Before Linux 5.8, the option applied to all mounts of a PID namespace.
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (5, 8) {
        eprintln!("{test}: takes Linux 5.8");
        return;
    }
    // The script mounts a `/proc` over a folder and then continues as the user nobody.
    let script =
        format!("mount -t proc -o {option} proc \"$0\" && exec {} \"$@\"", NOBODY.join(" "));
    let tree = Tree::new();
    let folder = tree.path().to_str().unwrap();
    within(test, &["unshare", "-m", "sh", "-c", &script, folder], folder, || {
        let child = Running::sleep();
        let root = ProcRoot::new(std::env::var(FOLDER).unwrap());
        let mut machine = Machine::new(&root);
        let look = machine.look(&ALL, &EXTRA);
        no_faults(&look);
        let mut seen = ids(&look);
        seen.retain(|id| *id != 0);
        // Other tests may run as the user nobody meanwhile.
        for own in [std::process::id(), child.pid()] {
            assert!(seen.contains(&u64::from(own)), "{seen:?} {own}");
            let process = look.process(own).unwrap();
            assert!(look.value_of(230, process, 1412).is_some(), "{own}");
        }
        assert!(!seen.contains(&1), "{seen:?}");
        // The count includes Idle.
        let (counted, seen) = (look.single(2, 248).unwrap(), seen.len() as u64);
        assert!(
            if see_others { counted > seen + 1 } else { counted < seen + 10 },
            "{counted} {seen}"
        );
    });
}

#[test]
fn a_proc_that_hides_others_shows_own_processes() {
    look_at_hidden("a_proc_that_hides_others_shows_own_processes", "hidepid=2", false);
}

#[test]
fn a_proc_that_refuses_other_processes_gives_no_fault() {
    look_at_hidden("a_proc_that_refuses_other_processes_gives_no_fault", "hidepid=1", true);
}

/// The BPF reader is refused where `/proc` hides processes, for every user.
#[test]
fn bpf_is_refused_where_proc_hides_processes() {
    let test = "bpf_is_refused_where_proc_hides_processes";
    if let Some(why) = bpf_refusal(&ProcRoot::default())
        && std::env::var(PLACE).is_err()
    {
        eprintln!("{test}: there is no way round here: {why}");
        return;
    }
    let script = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
    within(test, &["unshare", "-m", "sh", "-c", script, "sh"], "/", || {
        let why = bpf_refusal(&ProcRoot::default()).unwrap();
        assert_eq!(why, "/proc hides processes (hidepid or subset)");
    });
}

#[test]
fn an_ordinary_user_reads_without_faults() {
    within("an_ordinary_user_reads_without_faults", NOBODY, "/", || {
        let child = Running::sleep();
        let mut machine = Machine::new(&ProcRoot::default());
        for _ in 0..3 {
            let look = machine.look(&ALL, &EXTRA);
            // Files that may not be read are not faults, however many there are.
            no_faults(&look);
            let first = look.process(1).unwrap();
            assert!(look.value_of(230, first, 180).is_some_and(|bytes| bytes > 0));
            assert_eq!(look.value_of(230, first, 1412), None);
            for object in [740, 1408, 816] {
                assert!(children(&look, object, 1).is_empty(), "{object}");
            }
            assert!(space(&look, 1).is_none());
            let own = look.process(child.pid()).unwrap();
            assert!(look.value_of(230, own, 1412).is_some());
            assert!(!children(&look, 232, 1).is_empty());
        }
        wait_until("the maps of a child", || {
            let look = machine.look(&[740, 786], &EXTRA);
            let images = children(&look, 740, child.pid());
            let is_it = |i: &Instance<'_>| i.name().to_text() == "sleep";
            images.iter().any(is_it) && space(&look, child.pid()).is_some()
        });
    });
}

#[test]
fn unreadable_files_lack_their_counters() {
    let tree = Tree::machine();
    tree.process(10, b"open");
    tree.process(11, b"shut");
    for path in ["10/maps", "11/maps"] {
        tree.file(path, "1000-2000 r-xp 00000000 fe:00 1 /bin/x\n");
    }
    for path in ["loadavg", "vmstat", "interrupts", "11/io", "11/statm", "11/status", "11/maps"] {
        let path = tree.path().join("proc").join(path);
        let mut mode = std::fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0);
        std::fs::set_permissions(path, mode).unwrap();
    }
    within("unreadable_files_lack_their_counters", NOBODY, tree.path().to_str().unwrap(), || {
        let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
        let look = Look::at(
            &ProcRoot::new(folder.join("proc")),
            &[2, 4, 230, 238, 740],
            &[(230, 178), (238, 0)],
        );
        let denied = "Permission denied (os error 13)";
        assert_eq!(
            look.fault_texts(),
            [
                format!("2/: loadavg: {denied}"),
                format!("238/: interrupts: {denied}"),
                format!("4/: vmstat: {denied}"),
            ]
        );
        assert_eq!(look.single(2, 250), None);
        assert!(look.single(4, 24).is_some() && look.single(4, 28).is_none());
        let of = |name, counter| look.value(230, name, counter);
        assert_eq!((of("open", 178), of("open", 1412)), (Some(3000 * 1024), Some(30)));
        assert_eq!((of("shut", 680), of("shut", 180), of("shut", 1412)), (Some(1), None, None));
        assert_eq!(look.names(740), ["x"]);
        // One that is asked for alone is not left out without a word.
        let object = TitleIndex(786);
        let ask = Ask::objects(&[object]).with_instance(object, InstanceWish::Process(11));
        let look = Machine::new(&ProcRoot::new(folder.join("proc"))).look_with(&ask, &[object]);
        assert_eq!(
            look.fault_texts(),
            ["786/: the permission to look at these processes is missing"]
        );
    });
}

#[test]
fn kernel_threads_have_no_memory_counters() {
    if !std::fs::read("/proc/2/comm").is_ok_and(|name| name == b"kthreadd\n") {
        eprintln!("no threads of the kernel are seen here");
        return;
    }
    let look = Look::at(&ProcRoot::default(), &ALL, &LIGHT);
    let faults = look.fault_texts();
    assert!(!faults.iter().any(|text| text.contains("PID 2:")), "{faults:?}");
    let thread = look.process(2).unwrap();
    let value = |counter| look.value_of(230, thread, counter);
    assert_eq!((value(680), value(174), value(180)), (Some(1), Some(0), Some(0)));
    assert_eq!((value(172), value(178), value(1410)), (Some(0), Some(0), Some(0)));
    assert_eq!(children(&look, 232, 2).len(), 1);
    for object in [740, 1408, 816] {
        assert!(children(&look, object, 2).is_empty(), "{object}");
    }
    assert!(space(&look, 2).is_none());
}

/// If the first thread of a process has ended, the process has the memory and the files of its other threads.
#[test]
fn process_whose_first_thread_has_ended_has_the_memory_of_the_others() {
    let program = "#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n\
                   #include <sys/syscall.h>\n#include <unistd.h>\n\
                   static void *stay(void *x) { pause(); return x; }\n\
                   int main(void) { pthread_t other; memset(malloc(4 << 20), 1, 4 << 20);\n\
                   pthread_create(&other, 0, stay, 0); syscall(SYS_exit, 0); return 1; }\n";
    let folder = std::env::temp_dir().join(format!("perfhive-headless-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, file) = (folder.join("headless.c"), folder.join("headless"));
    std::fs::write(&source, program).unwrap();
    let made = Command::new("cc").arg("-o").args([&file, &source]).arg("-pthread").status();
    assert!(made.expect("a C compiler is needed for this test: cc").success());
    let mut child = Command::new(&file).spawn().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    wait_until("the first thread has ended", || {
        std::fs::read_to_string(&stat).unwrap().contains(") Z ")
    });
    for reader in [ReaderChoice::Proc, ReaderChoice::Auto] {
        let mut machine = Machine::with(&ProcRoot::default(), &LinuxOptions::new().reader(reader));
        // The fourth collection is the first through BPF.
        for _ in 0..5 {
            let extra = [172, 178, 952].map(|counter| (230, counter));
            let look = machine.look(&[230], &extra);
            let process = look.process(child.id()).unwrap();
            let value = |counter| look.value_of(230, process, counter);
            // The counters Working Set, Private Bytes and Virtual Bytes, and their peaks.
            for counter in [180, 186, 174, 172, 178] {
                assert!(value(counter) > Some(1 << 20), "{counter}: {:?}", value(counter));
            }
            assert!(value(952).is_none_or(|handles| handles >= 3), "{:?}", value(952));
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn zombies_have_their_values() {
    let mut child = Running::new(&mut Command::new("true"));
    let pid = child.pid();
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    wait_until("the child ends", || state().contains(") Z "));
    let mut machine = Machine::new(&ProcRoot::default());
    for _ in 0..2 {
        let look = machine.look(&ALL, &LIGHT);
        let faults = look.fault_texts();
        assert!(!faults.iter().any(|text| text.contains(&format!("PID {pid}:"))), "{faults:?}");
        let process = look.process(pid).unwrap();
        let value = |counter| look.value_of(230, process, counter);
        assert_eq!(process.name().to_text(), "true");
        assert_eq!((value(174), value(180)), (Some(0), Some(0)));
        assert_eq!(value(1410), Some(u64::from(std::process::id())));
        let threads = children(&look, 232, pid);
        assert_eq!(threads.len(), 1);
        assert_eq!(look.value_of(232, threads[0], 46), Some(4));
        assert!(children(&look, 740, pid).is_empty() && space(&look, pid).is_none());
    }
    child.end();
    let look = machine.look(&ALL, &LIGHT);
    assert!(look.process(pid).is_none());
}

#[test]
fn a_process_number_reused_within_an_interval_is_another_instance() {
    let test = "a_process_number_reused_within_an_interval_is_another_instance";
    within(test, &["unshare", "-pf", "--mount-proc"], "/", || {
        let mut machine = Machine::new(&ProcRoot::default());
        let mut first = Running::sleep();
        let pid = first.pid();
        wait_until("the first runs", || {
            std::fs::read(format!("/proc/{pid}/comm")).unwrap() == b"sleep\n"
        });
        let before = machine.look(&ALL, &EXTRA);
        first.end();
        if std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).is_err() {
            eprintln!("{test}: numbers of processes cannot be chosen here");
            return;
        }
        std::thread::sleep(Duration::from_millis(30));
        let second = Running::new(&mut Command::new("cat"));
        assert_eq!(second.pid(), pid, "the number is not the same");
        wait_until("the second runs", || {
            std::fs::read(format!("/proc/{pid}/comm")).unwrap() == b"cat\n"
        });
        for _ in 0..2 {
            let after = machine.look(&ALL, &EXTRA);
            no_faults(&after);
            let (old, new) = (before.process(pid).unwrap(), after.process(pid).unwrap());
            assert_eq!(new.name().to_text(), "cat");
            let start = |look: &Look, instance| look.value_of(230, instance, 684).unwrap();
            assert!(start(&after, new) > start(&before, old));
            assert!(after.value_of(230, new, 1412).is_some());
            let images = children(&after, 740, pid);
            assert!(images.iter().all(|image| image.name().to_text() != "sleep"));
            assert_eq!(children(&after, 232, pid).len(), 1);
        }
    });
}

const THREADS: &str = "PERFHIVE_LINUX_THREADS";

#[test]
fn ten_thousand_threads_are_read() {
    if let Ok(count) = std::env::var(THREADS) {
        return be_many(count.parse().unwrap());
    }
    let count = 10_000;
    let child = Running::new(
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "odd::ten_thousand_threads_are_read", "--nocapture"])
            .env(THREADS, count.to_string()),
    );
    let mut child = child;
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    let started = lines.find_map(|line| {
        line.unwrap().split_once("threads started: ").map(|(_, n)| n.parse::<u64>().unwrap())
    });
    let Some(started) = started.filter(|started| *started == count) else {
        eprintln!("ten_thousand_threads_are_read: only {started:?} can be had here");
        return;
    };
    let pid = child.pid();
    // The last thread has written its line, and sleeps a moment later.
    wait_until("all threads sleep", || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let last = tasks.map(|task| task.unwrap().path()).last().unwrap();
        let text = std::fs::read_to_string(last.join("stat")).unwrap();
        text.rsplit_once(") ").unwrap().1.starts_with('S')
    });
    let mut machine = Machine::new(&ProcRoot::default());
    for round in 0..3 {
        let look = machine.look(&[230, 232, 786, 816], &[(232, 0)]);
        let faults = look.fault_texts();
        assert!(!faults.iter().any(|text| text.contains(&format!("PID {pid}:"))), "{faults:?}");
        let process = look.process(pid).unwrap();
        let counted = look.value_of(230, process, 680).unwrap();
        assert!(counted > started, "{counted}");
        let threads = children(&look, 232, pid);
        assert_eq!(threads.len() as u64, counted);
        for (number, thread) in threads.iter().enumerate() {
            assert_eq!(thread.name().to_text(), number.to_string());
        }
        let last = threads.last().unwrap();
        assert_eq!(look.value_of(232, *last, 46), Some(5));
        assert!(look.value_of(232, *last, 146).is_some());
        assert_eq!(children(&look, 816, pid).len() as u64, counted);
        // Each thread has a stack and its guard page.
        let space = space(&look, pid).unwrap();
        let mappings = look.value_of(786, space, 106_000).unwrap();
        assert!(mappings > 2 * started, "{mappings}");
        // All mappings were read: the sum equals the kernel's.
        let spaces = (710..=774).step_by(2).filter(|counter| *counter != 740);
        let sum: u64 = spaces.filter_map(|counter| look.value_of(786, space, counter)).sum();
        let before = look.value_of(230, process, 174).unwrap();
        let later = machine.look(&[230], &[]);
        let after = later.value_of(230, later.process(pid).unwrap(), 174).unwrap();
        assert!((before..=after).contains(&sum), "{before} {sum} {after}");
        // The open files of this process stay within half of the limit.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 2;
        assert!((of_process(pid) as u64) < limit, "round {round}");
    }
    drop(machine);
    assert_eq!(of_process(pid), 0);
}

/// How many files of another process this process has open.
fn of_process(pid: u32) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        std::fs::read_link(entry.ok()?.path()).ok()?.to_str().map(str::to_string)
    });
    links.filter(|link| link.starts_with(&format!("/proc/{pid}/"))).count()
}

/// Starts so many waiting threads, prints a line, and waits until standard input ends.
fn be_many(count: usize) {
    static RUN: AtomicUsize = AtomicUsize::new(0);
    let mut threads = Vec::new();
    for _ in 0..count {
        let thread = std::thread::Builder::new().stack_size(16 << 10);
        let wait = || {
            RUN.fetch_add(1, Ordering::Relaxed);
            std::thread::park();
        };
        match thread.spawn(wait) {
            Ok(thread) => threads.push(thread),
            Err(_) => break,
        }
    }
    while RUN.load(Ordering::Relaxed) < threads.len() {
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("\nthreads started: {}", threads.len());
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    std::process::exit(0);
}

#[test]
fn names_with_brackets_and_line_ends_are_kept() {
    // Names in octal digits for the `printf` of a shell, which then takes the name.
    for (octal, name) in [
        ("a b c", &b"a b c"[..]),
        (") R 1 (x", b") R 1 (x"),
        ("))((", b"))(("),
        ("two\\nlines", b"two\nlines"),
        ("tab\\t", b"tab\t"),
        ("bad\\377\\376", b"bad\xff\xfe"),
        ("\\303\\244\\303", b"\xc3\xa4\xc3"),
        ("Total", b"Total"),
        ("%s%n", b"%s%n"),
        ("123456789012345", b"123456789012345"),
    ] {
        let script = "printf \"$0\" > /proc/$$/comm; echo; read x";
        let octal = octal.replace('%', "%%");
        let mut child = Running::new(Command::new("sh").args(["-c", script, &octal]));
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let look = Look::at(&ProcRoot::default(), &[230, 232, 786], &LIGHT);
        let faults = look.fault_texts();
        let pid = child.pid();
        assert!(!faults.iter().any(|text| text.contains(&format!("PID {pid}:"))), "{faults:?}");
        let process = look.process(pid).unwrap();
        let units = units(name);
        assert_eq!(process.name().as_bytes(), units, "{octal}");
        assert_eq!(look.value_of(230, process, 1410), Some(u64::from(std::process::id())));
        assert_eq!(look.value_of(230, process, 680), Some(1));
        assert_eq!(space(&look, pid).unwrap().name().as_bytes(), units, "{octal}");
    }
}

/// A name as UTF-16, as a block has it.
fn units(name: &[u8]) -> Vec<u8> {
    let mut units: Vec<u16> = Vec::new();
    for chunk in name.utf8_chunks() {
        units.extend(chunk.valid().encode_utf16());
        units.extend(chunk.invalid().iter().map(|byte| 0xdc00 + u16::from(*byte)));
    }
    units.into_iter().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn programs_with_brackets_and_line_ends_in_their_names_are_read() {
    let tree = Tree::new();
    let name = std::ffi::OsStr::from_bytes(b"a b) [\n\xff\\");
    let program = tree.path().join(name);
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let child = Running::new(
        Command::new(&program)
            .arg0("it")
            .args(["--exact", "odd::ten_thousand_threads_are_read", "--nocapture"])
            .env(THREADS, "1"),
    );
    let pid = child.pid();
    let mut machine = Machine::new(&ProcRoot::default());
    let mut has = |path: &[u8]| {
        let file = path.rsplit(|byte| *byte == b'/').next().unwrap();
        let look = machine.look(&[740, 1408], &[]);
        let named = |object, name: &[u8]| {
            let units = units(name);
            children(&look, object, pid).iter().any(|image| image.name().as_bytes() == units)
        };
        named(740, file) && named(1408, path)
    };
    let path = program.as_os_str().as_bytes().to_vec();
    wait_until("the program is mapped", || has(&path));
    std::fs::remove_file(&program).unwrap();
    assert!(!has(&path));
    assert!(has(&[&path[..], b" (deleted)"].concat()));
}
