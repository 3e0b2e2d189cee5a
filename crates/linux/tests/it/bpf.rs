//! Tests that the BPF reader and the reader of `/proc` agree on this machine.

mod few;
mod rested;
mod session;

use crate::common::{Look, Machine, wait_for_sleep};
use perfhive_format::CounterPlan;
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice, bpf_refusal};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Counters on request that the BPF reader has.
const ALL: &[(u32, u32)] = &[
    (230, 172),
    (230, 178),
    (230, 952),
    (230, 105_002),
    (230, 105_008),
    (230, 105_018),
    (232, 146),
    (232, 105_002),
    (232, 105_010),
    (232, 105_014),
];
/// A tick of the kernel in 100 ns units: a shorter time does not show in `/proc`.
const TICK: u64 = 100_000;

/// Counters of Process that only grow.
const PROCESS_GROWING: [u32; 14] = [
    28, 1412, 1414, 1416, 1420, 1422, 1424, 105_000, 105_010, 105_012, 105_014, 105_020, 105_022,
    105_024,
];
/// Counters of Process that show a present state, or identify the process.
const PROCESS_LEVELS: [u32; 15] = [
    684, 784, 1410, 174, 680, 180, 1478, 186, 952, 172, 105_002, 105_004, 105_006, 105_008, 105_018,
];

fn machine(reader: ReaderChoice) -> Machine {
    Machine::with(&ProcRoot::default(), &LinuxOptions::new().reader(reader))
}

/// Child processes, which end when this is dropped.
struct Children(Vec<Child>);

impl Children {
    fn spawn(&mut self, program: &str, args: &[&str]) -> u32 {
        let child = Command::new(program).args(args).stdin(Stdio::null()).spawn().unwrap();
        self.0.push(child);
        self.0.last().unwrap().id()
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const ROLE: &str = "PERFHIVE_BPF_ROLE";

/// A command that runs one test of this program in a process of its own, with a role.
fn again(test: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("bpf::{test}"), "--nocapture"]).env(ROLE, role);
    command
}

fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Runs the body of a test in a process of its own.
fn alone(test: &str, body: impl FnOnce()) {
    if role().is_some() {
        return body();
    }
    let output = again(test, "alone").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Threads that start and end processes and threads until this is dropped.
struct Churn(std::sync::Arc<AtomicBool>, Vec<std::thread::JoinHandle<()>>);

impl Churn {
    fn new() -> Self {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let begin = |work: fn()| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    work();
                }
            })
        };
        let processes = begin(|| {
            let _ = Command::new("true").stdin(Stdio::null()).status();
        });
        let threads = begin(|| {
            let pause = || std::thread::sleep(Duration::from_millis(1));
            let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(pause)).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Self(stop, vec![processes, threads])
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        for thread in self.1.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Whether BPF cannot be used here; then it prints the reason.
fn refused() -> bool {
    let refusal = bpf_refusal(&ProcRoot::default());
    if let Some(why) = &refusal {
        eprintln!("BPF cannot be used here, and is not tested: {why}");
    }
    refusal.is_some()
}

type Values = BTreeMap<u32, Option<u64>>;

/// The instances of an object, by process ID, thread ID and start: name, place, and values.
fn instances(look: &Look, object: u32) -> BTreeMap<(u64, u64, u64), (String, usize, Values)> {
    let view = look.object(object);
    let plans = CounterPlan::all(view);
    let counters = plans.iter().filter(|plan| !plan.counter_type.is_base());
    let counters: Vec<_> = counters.map(|plan| (plan.name.0, plan)).collect();
    let mut all = BTreeMap::new();
    for (place, instance) in view.instances().enumerate() {
        let name = instance.name().to_text();
        let block = instance.counter_block();
        let values: Values =
            counters.iter().map(|(index, counter)| (*index, counter.value(block).ok())).collect();
        let value = |counter| values.get(&counter).copied().flatten();
        if value(784) == Some(0) {
            continue;
        }
        let id = (value(784).unwrap(), value(804).unwrap_or(0), value(684).unwrap());
        assert!(all.insert(id, (name, place, values)).is_none(), "{id:?} twice");
    }
    all
}

/// The values of a reading that do not fit to those of a reading before and one after it.
struct Judge {
    /// The differing values, each with its three numbers.
    wrong: BTreeMap<String, String>,
    compared: usize,
}

impl Judge {
    /// Compares a value: it must lie between the values before and after it, within a tolerance.
    fn between(&mut self, what: &str, values: [Option<u64>; 3], tolerance: u64) {
        let [Some(before), Some(value), Some(after)] = values else {
            if values[0].is_some() != values[1].is_some()
                && values[0].is_some() == values[2].is_some()
            {
                self.wrong.insert(what.to_string(), format!("{values:?}"));
            }
            return;
        };
        self.compared += 1;
        if value + tolerance < before || value > after + tolerance {
            self.wrong.insert(what.to_string(), format!("{before} {value} {after}"));
        }
    }
}

/// Reads with one reader between two readings with the other, and notes what
/// differs of processes and threads that were there throughout.
fn compare(proc: &mut Machine, bpf: &mut Machine) -> Judge {
    let before = proc.look(&[230, 232], ALL);
    let look = bpf.look(&[230, 232], ALL);
    let after = proc.look(&[230, 232], ALL);
    for look in [&before, &look, &after] {
        assert_eq!(look.fault_texts(), Vec::<String>::new());
    }
    let mut judge = Judge { wrong: BTreeMap::new(), compared: 0 };
    for object in [230, 232] {
        let all = [&before, &look, &after].map(|look| instances(look, object));
        let definitions = |look: &Look| {
            look.object(object).counters().map(|c| c.name_index()).collect::<Vec<_>>()
        };
        assert_eq!(definitions(&before), definitions(&look));
        let mut places = Vec::new();
        for (id, (name, place, first)) in &all[0] {
            let Some((last_name, _, last)) = all[2].get(id) else { continue };
            let Some((own_name, own_place, own)) = all[1].get(id) else {
                judge.wrong.insert(format!("{name} {id:?}"), "missing".to_string());
                continue;
            };
            places.push((*place, *own_place));
            if name == last_name && name != own_name {
                judge.wrong.insert(format!("name of {name} {id:?}"), own_name.clone());
            }
            // Other tests open files and end threads in this process.
            let own_process = id.0 == u64::from(std::process::id());
            for counter in first.keys().filter(|c| !own_process || ![952, 105_018].contains(*c)) {
                let values = [first, own, last].map(|values| values[counter]);
                let what = format!("{object}/{counter} of {name} {id:?}");
                match counter {
                    // The time has two parts, each of which /proc rounds down.
                    6 => judge.between(&what, values, 2 * TICK),
                    // How the kernel divides a time into its parts depends on when it is read.
                    142 | 144 => {
                        let scope = values[2].unwrap_or(0) / 10;
                        judge.between(&what, values, 2 * TICK + scope);
                    }
                    counter if PROCESS_GROWING.contains(counter) || *counter == 146 => {
                        judge.between(&what, values, 0);
                    }
                    counter if PROCESS_LEVELS.contains(counter) || *counter == 804 => {
                        if values[0] == values[2] {
                            judge.between(&what, values, 0);
                        }
                    }
                    // The kernel updates its peak later.
                    178 => judge.between(&what, values, 4 << 20),
                    // The state of a thread may change at any moment.
                    46 => {}
                    other => panic!("{other} is not compared"),
                }
            }
        }
        places.sort_unstable();
        assert!(places.is_sorted_by_key(|(_, own)| *own), "in the same order");
    }
    judge
}

/// Compares until each value was right once: a value of a process that is at
/// work may change and change back between two readings. Returns how many
/// values were compared.
fn agree(proc: &mut Machine, bpf: &mut Machine) -> usize {
    let mut first = compare(proc, bpf);
    for _ in 0..30 {
        if first.wrong.is_empty() {
            return first.compared;
        }
        let again = compare(proc, bpf).wrong;
        first.wrong.retain(|what, how| again.get(what).map(|again| *how = again.clone()).is_some());
    }
    panic!("{:#?}", first.wrong);
}

#[test]
fn both_readers_agree_while_nothing_much_happens() {
    if refused() {
        return;
    }
    let mut children = Children(Vec::new());
    for _ in 0..20 {
        children.spawn("sleep", &["600"]);
    }
    let (mut proc, mut bpf) = (machine(ReaderChoice::Proc), machine(ReaderChoice::Bpf));
    // A process that has not run since is not read again in full.
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(100));
        assert!(agree(&mut proc, &mut bpf) > 500);
    }
}

#[test]
fn processes_that_sleep_take_no_time_when_the_program_takes_over() {
    if refused() {
        return;
    }
    let mut children = Children(Vec::new());
    // Time in the program and in the kernel, so that both are rounded.
    let work = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); : > /dev/null; done; exec sleep 600";
    let pids: Vec<u32> = (0..20).map(|_| children.spawn("sh", &["-c", work])).collect();
    pids.iter().for_each(|pid| wait_for_sleep(*pid, "sleep"));
    // The first collections read /proc, which shows whole ticks.
    let mut machine = machine(ReaderChoice::Auto);
    let mut times = || {
        let look = machine.look(&[230, 232], &[]);
        [(230, 6), (232, 6)].map(|(object, counter)| {
            let all = instances(&look, object);
            let own = all.iter().filter(|(id, _)| pids.contains(&(id.0 as u32)));
            own.map(|(id, (.., values))| (*id, values[&counter])).collect::<Vec<_>>()
        })
    };
    let first = times();
    assert_eq!(first.each_ref().map(Vec::len), [20, 20]);
    for _ in 0..4 {
        assert_eq!(times(), first);
    }
}

#[test]
fn changes_from_outside_are_seen_in_a_process_that_does_not_run() {
    if refused() {
        return;
    }
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 600 & echo $!; read x"]);
    let mut parent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let pid: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    wait_for_sleep(pid, "sleep");
    let mut bpf = machine(ReaderChoice::Bpf);
    let mut creator = || {
        let look = bpf.look(&[230], &[]);
        let process = look.process(pid)?;
        look.value_of(230, process, 1410)
    };
    assert_eq!(
        (creator(), creator()),
        (Some(u64::from(parent.id())), Some(u64::from(parent.id())))
    );
    drop(parent.stdin.take());
    parent.wait().unwrap();
    let orphan = creator();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let told = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().ok();
    Command::new("kill").arg(pid.to_string()).status().unwrap();
    assert_eq!(orphan, told);
    assert_ne!(orphan, Some(u64::from(parent.id())));
}

#[test]
fn both_readers_agree_while_processes_and_threads_come_and_go() {
    alone("both_readers_agree_while_processes_and_threads_come_and_go", || {
        if refused() {
            return;
        }
        let mut children = Children(Vec::new());
        for _ in 0..20 {
            children.spawn("sleep", &["600"]);
        }
        children.spawn("sh", &["-c", "while :; do :; done"]);
        children.spawn("dd", &["if=/dev/zero", "of=/dev/null", "bs=4096"]);
        children.spawn("sh", &["-c", "while sleep 0.02; do echo; done >/dev/null"]);
        let churn = Churn::new();
        let (mut proc, mut bpf) = (machine(ReaderChoice::Proc), machine(ReaderChoice::Bpf));
        for _ in 0..10 {
            assert!(agree(&mut proc, &mut bpf) > 500);
        }
        drop(churn);
    });
}

#[test]
fn processes_that_have_ended_and_threads_of_the_kernel() {
    if refused() {
        return;
    }
    let mut children = Children(Vec::new());
    let ended = children.spawn("true", &[]);
    let state = || std::fs::read_to_string(format!("/proc/{ended}/stat")).unwrap();
    while !state().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let [proc, bpf] = [ReaderChoice::Proc, ReaderChoice::Bpf].map(|reader| {
        let look = machine(reader).look(&[230, 232], ALL);
        (instances(&look, 230), instances(&look, 232))
    });
    let of = |all: &BTreeMap<_, (String, usize, Values)>, pid: u64| {
        let found = all.iter().find(|(id, _): &(&(u64, u64, u64), _)| id.0 == pid);
        found.map(|(id, (name, _, values))| (*id, name.clone(), values.clone())).unwrap()
    };
    let (id, name, mut first) = of(&proc.0, u64::from(ended));
    let (second_id, second_name, mut second) = of(&bpf.0, u64::from(ended));
    // Only these times are more exact.
    for counter in [6, 142, 144] {
        let (less, more) = (first.remove(&counter), second.remove(&counter));
        assert!(more.flatten().unwrap().abs_diff(less.flatten().unwrap()) <= 2 * TICK);
    }
    assert_eq!((id, name, first), (second_id, second_name, second));
    assert_eq!(of(&bpf.1, u64::from(ended)).2[&46], Some(4), "terminated");
    // The parent of all kernel threads always has number 2.
    let (_, name, values) = of(&bpf.0, 2);
    assert_eq!(name, "kthreadd");
    assert_eq!((values[&174], values[&180], values[&172]), (Some(0), Some(0), Some(0)));
    // A kernel worker's name says what it works on. Some workers may come and go, with file systems for one.
    let names = |reader| {
        let names = machine(reader).look(&[230], &[]).names(230).into_iter();
        names.filter(|name| name.starts_with("kworker/R-")).collect::<Vec<_>>()
    };
    let both = || (names(ReaderChoice::Proc), names(ReaderChoice::Bpf));
    assert!((0..30).map(|_| both()).any(|(proc, bpf)| proc == bpf), "{:?}", both());
}

/// Makes this process have that many threads, which sleep until its input ends.
fn be_many(threads: usize) {
    let sleep = || std::thread::sleep(Duration::from_secs(600));
    let spawn = |_| std::thread::Builder::new().stack_size(16 << 10).spawn(sleep).is_ok();
    println!("threads {}", (0..threads).filter(|at| spawn(*at)).count());
    let _ = std::io::stdin().lines().count();
    std::process::exit(0);
}

#[test]
fn five_thousand_threads_and_more_slots() {
    if role().is_some() {
        return be_many(5000);
    }
    if refused() {
        return;
    }
    let mut bpf = machine(ReaderChoice::Bpf);
    // The program was loaded with room for fewer threads.
    bpf.look(&[230, 232], &[]);
    let mut command = again("five_thousand_threads_and_more_slots", "many");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = u64::from(child.id());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.find_map(|line| Some(line.unwrap().split_once("threads ")?.1.to_string()));
    let count: u64 = said.unwrap().parse().unwrap();
    let look = bpf.look(&[230, 232], ALL);
    let reference = machine(ReaderChoice::Proc).look(&[230, 232], ALL);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    let told = look.process(pid as u32).map(|process| look.value_of(230, process, 680)).unwrap();
    assert!(told.unwrap() >= count && count > 1000, "{told:?} {count}");
    let ids = |look: &Look| {
        let all = instances(look, 232).into_iter();
        let all = all.filter(|(id, _)| id.0 == pid);
        all.map(|(id, (name, ..))| (id, name)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&look), ids(&reference));
    assert_eq!(ids(&look).len() as u64, told.unwrap());
}

/// Makes this process have many threads, some of which end all the time.
fn be_restless() {
    let sleep = || std::thread::sleep(Duration::from_secs(600));
    for _ in 0..500 {
        let _ = std::thread::Builder::new().stack_size(16 << 10).spawn(sleep);
    }
    let work = || {
        let mut sum = 0u64;
        for number in 0..200_000u64 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    };
    for _ in 0..2 {
        std::thread::spawn(move || {
            loop {
                let _ = std::thread::spawn(work).join();
            }
        });
    }
    println!("threads 500");
    let _ = std::io::stdin().lines().count();
    std::process::exit(0);
}

#[test]
fn threads_that_end_take_no_time_with_them() {
    if role().is_some() {
        return be_restless();
    }
    if refused() {
        return;
    }
    let mut command = again("threads_that_end_take_no_time_with_them", "restless");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("threads 500")));
    let mut proc = machine(ReaderChoice::Proc);
    let mut kept = machine(ReaderChoice::Bpf);
    let time = |machine: &mut Machine| {
        let look = machine.look(&[230], &[]);
        let process = look.process(pid).unwrap();
        [6, 1424].map(|counter| look.value_of(230, process, counter).unwrap())
    };
    let (mut last, mut from_proc) = ([0; 2], 0);
    for _ in 0..40 {
        let before = time(&mut proc);
        // A new session has no earlier times that would hide an error.
        let own = time(&mut machine(ReaderChoice::Bpf));
        let again = time(&mut kept);
        let after = time(&mut proc);
        for value in [own, again] {
            let [first, second, third] = [before, value, after];
            assert!(first[0] <= second[0] + 2 * TICK, "{first:?} {second:?} {third:?}");
            assert!(second[0] <= third[0] + 2 * TICK, "{first:?} {second:?} {third:?}");
            assert!(first[1] <= second[1] && second[1] <= third[1], "{first:?} {second:?}");
        }
        assert!(again[0] >= last[0] && again[1] >= last[1], "{again:?} {last:?}");
        last = again;
        from_proc += u32::from(own[0] % TICK == 0);
    }
    println!("{from_proc} of 40 samples were taken from /proc, as a thread ended meanwhile");
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Makes this process have threads that have read something, and then end one by one.
fn be_dwindling() {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = std::sync::Arc::new(std::sync::Mutex::new(ended));
    let read = std::sync::Arc::new(std::sync::Barrier::new(DWINDLING + 1));
    for _ in 0..DWINDLING {
        let (ended, read) = (ended.clone(), read.clone());
        let work = move || {
            let mut zeros = std::fs::File::open("/dev/zero").unwrap();
            std::io::Read::read_exact(&mut zeros, &mut [0; 8192]).unwrap();
            drop(zeros);
            read.wait();
            let _ = ended.lock().unwrap().recv();
        };
        std::thread::Builder::new().stack_size(64 << 10).spawn(work).unwrap();
    }
    read.wait();
    println!("threads {DWINDLING}");
    let _ = std::io::stdin().read_line(&mut String::new());
    for _ in 0..DWINDLING {
        let _ = end.send(());
        std::thread::sleep(Duration::from_micros(100));
    }
    let _ = std::io::stdin().lines().count();
    std::process::exit(0);
}

const DWINDLING: usize = 2000;

/// What a thread did is counted once, even while the thread ends.
#[test]
fn threads_that_end_are_counted_once() {
    if role().is_some() {
        return be_dwindling();
    }
    if refused() {
        return;
    }
    let mut command = again("threads_that_end_are_counted_once", "dwindling");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("threads 2000")));
    let mut bpf = machine(ReaderChoice::Bpf);
    let mut look = || {
        let look = bpf.look(&[230], &[]);
        let process = look.process(pid).unwrap();
        [1420, 680].map(|counter| look.value_of(230, process, counter).unwrap())
    };
    let [read, _] = look();
    assert!(read >= 8192 * DWINDLING as u64, "{read}");
    let input = child.stdin.as_mut().unwrap();
    std::io::Write::write_all(input, b"end\n").unwrap();
    let mut looks = 0;
    loop {
        let [now, threads] = look();
        // The thread also read the line that told it to end.
        assert!((read..read + 4096).contains(&now), "{read} {now} with {threads} threads");
        looks += 1;
        if threads < 10 {
            break;
        }
    }
    println!("{looks} looks at {DWINDLING} threads that end");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn descriptors_are_counted_in_tables_of_any_size() {
    if refused() {
        return;
    }
    let mut children = Children(Vec::new());
    // The table has room for the highest number, rounded up to a power of two.
    let mut opened = |highest: u32| {
        let script = format!("exec 3<&0 {highest}<&0; exec sleep 600");
        children.spawn("bash", &["-c", &script])
    };
    let pids = [9, 64, 127, 128, 200, 255, 256, 700].map(&mut opened);
    pids.iter().for_each(|pid| wait_for_sleep(*pid, "sleep"));
    let look = machine(ReaderChoice::Bpf).look(&[230], &[(230, 952)]);
    for pid in pids {
        let count = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        let process = look.process(pid).unwrap();
        assert_eq!(look.value_of(230, process, 952), Some(count as u64));
        assert!(count >= 5, "{count}");
    }
}

#[test]
fn counters_that_bpf_lacks_are_read_from_proc() {
    if refused() {
        return;
    }
    // Context switches summed over threads: the sum begins anew with each reader.
    let mut bpf = machine(ReaderChoice::Bpf);
    let own = std::process::id();
    for _ in 0..4 {
        let look = bpf.look(&[230, 232], &[(230, 0), (232, 0)]);
        assert_eq!(look.fault_texts(), Vec::<String>::new());
        let value = |counter| look.value_of(230, look.process(own).unwrap(), counter);
        assert!(value(105_010).is_some());
        let without = bpf.look(&[230, 232], ALL);
        assert_eq!(without.fault_texts(), Vec::<String>::new());
        assert_eq!(without.value_of(230, without.process(own).unwrap(), 105_010), None);
        assert!(without.value_of(230, without.process(own).unwrap(), 105_018) > Some(0));
    }
}
