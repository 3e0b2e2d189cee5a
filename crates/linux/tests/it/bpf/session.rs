//! Tests when a session uses the BPF reader, and what that costs.

use super::{ALL, Children, ROLE, TICK, Values, again, alone, instances, machine, refused, role};
use crate::common::{Look, Machine, Tree};
use perfhive_engine::{Ask, Broker, ObjectQuery, Snapshot, Source};
use perfhive_format::TitleIndex;
use perfhive_linux::{LinuxOptions, ProcRoot, ReaderChoice, bpf_refusal, providers_with};
use perfhive_testkit::alloc::count;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How many files of processes this process keeps open.
fn kept() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = links.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let pid = |path: &std::path::Path| {
        let name = path.strip_prefix("/proc").ok()?.iter().next()?.to_str()?;
        name.parse::<u32>().ok()
    };
    // The first process may always be read from /proc.
    let own = std::process::id();
    links.filter(|link| pid(link).is_some_and(|pid| pid != 1 && pid != own)).count()
}

#[test]
fn a_session_switches_to_bpf_with_the_same_values() {
    alone("session::a_session_switches_to_bpf_with_the_same_values", || {
        if refused() {
            return;
        }
        let mut children = Children(Vec::new());
        let busy = children.spawn("sh", &["-c", "while :; do :; done"]);
        let mut auto = machine(ReaderChoice::Auto);
        let (mut samples, mut clocks) = (Vec::new(), Vec::new());
        for round in 1..=6 {
            let before = Instant::now();
            let look = auto.look(&[230, 232], ALL);
            assert_eq!(look.fault_texts(), Vec::<String>::new());
            let time = look.object(230).clocks().time_100ns;
            clocks.push(time as u64);
            samples.push((before, Instant::now(), instances(&look, 230), instances(&look, 232)));
            // From the fourth collection on, the files are closed.
            assert_eq!(kept() > 0, round < 4, "{round}");
            std::thread::sleep(Duration::from_millis(100));
        }
        for (pair, clocks) in samples.windows(2).zip(clocks.windows(2)) {
            let scope = pair[1].1.duration_since(pair[0].0).as_nanos() as u64 / 100 + 3 * TICK;
            for (first, second) in [(&pair[0].2, &pair[1].2), (&pair[0].3, &pair[1].3)] {
                for (id, (name, _, before)) in first {
                    let Some((_, _, after)) = second.get(id) else { continue };
                    for counter in [6, 142, 144] {
                        let [before, after] = [before, after].map(|v| v[&counter].unwrap());
                        assert!(after >= before, "{counter} of {name} {id:?}: {before} {after}");
                    }
                }
            }
            let time = |all: &BTreeMap<(u64, u64, u64), (String, usize, Values)>| {
                let found = all.iter().find(|(id, _)| id.0 == u64::from(busy)).unwrap();
                found.1.2[&6].unwrap()
            };
            let grown = time(&pair[1].2) - time(&pair[0].2);
            assert!(grown <= scope, "{grown} in {scope}");
            // Loading the program lies between no sample's time and its values.
            assert!(grown <= clocks[1] - clocks[0] + 3 * TICK, "{grown} {clocks:?}");
        }
        // `/proc` has whole ticks, BPF the exact time.
        let told = |at: usize| samples[at].2.values().map(|(.., values)| values[&6].unwrap());
        assert!(told(2).all(|time| time % TICK == 0));
        assert!(told(3).any(|time| time % TICK != 0));
    });
}

#[test]
fn a_warm_bpf_collection_allocates_nothing() {
    alone("session::a_warm_bpf_collection_allocates_nothing", || {
        if refused() {
            return;
        }
        let mut children = Children(Vec::new());
        for _ in 0..40 {
            children.spawn("sleep", &["600"]);
        }
        let mut machine = machine(ReaderChoice::Bpf);
        for (objects, extra) in [(&[230][..], false), (&[230], true), (&[230, 232], true)] {
            let wanted: Vec<_> = objects.iter().copied().map(TitleIndex).collect();
            let mut request = Ask::new(ObjectQuery::Indexes(wanted.clone()));
            if extra {
                request.extra_counters = wanted.iter().map(|o| (*o, TitleIndex(0))).collect();
            }
            for _ in 0..3 {
                machine.collect(&request, &wanted);
            }
            // A new process elsewhere may make a list longer, and other tests start many processes.
            let mut counts = (0..200).map(|_| count(|| machine.collect(&request, &wanted)).1.count);
            assert!(counts.any(|count| count == 0), "{objects:?}");
        }
    });
}

/// The number of system calls of a program that makes so many collections, including its start; `None` where
/// they cannot be counted.
fn calls_of(rounds: u32) -> Option<u64> {
    let report = std::env::temp_dir().join(format!("perfhive-bpf-{}", std::process::id()));
    let traced = again("session::system_calls_do_not_depend_on_processes", &rounds.to_string());
    let status = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&report)
        .arg(traced.get_program())
        .args(traced.get_args())
        .env(ROLE, rounds.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let text = std::fs::read_to_string(&report);
    let _ = std::fs::remove_file(&report);
    if !status.is_ok_and(|status| status.success()) {
        return None;
    }
    let text = text.ok()?;
    let total = text.lines().find(|line| line.ends_with(" total"))?;
    total.split_whitespace().nth(3)?.parse().ok()
}

#[test]
fn system_calls_do_not_depend_on_processes() {
    if let Some(rounds) = role() {
        let wanted = [TitleIndex(230)];
        let mut machine = machine(ReaderChoice::Bpf);
        for _ in 0..rounds.parse::<u32>().unwrap() {
            machine.collect(&Ask::objects(&wanted), &wanted);
        }
        return;
    }
    if refused() {
        return;
    }
    let mut children = Children(Vec::new());
    for _ in 0..200 {
        children.spawn("sleep", &["600"]);
    }
    std::thread::sleep(Duration::from_millis(300));
    // Processes that started meanwhile cost further calls once.
    let mut least = f64::INFINITY;
    for _ in 0..8 {
        let (Some(few), Some(many)) = (calls_of(10), calls_of(60)) else {
            eprintln!("strace cannot be used here: system calls are not counted");
            return;
        };
        let calls = (many as f64 - few as f64) / 50.0;
        println!("{calls} system calls for each collection of more than 200 processes");
        if calls > 0.0 {
            least = least.min(calls);
        }
        // One call runs the program, one gets the capabilities, two read `stat` (the clock needs none), and others
        // read the first process where it is not in the list.
        if least <= 12.0 {
            return;
        }
    }
    panic!("{least} system calls for each collection");
}

/// Drops capabilities of the calling thread.
fn give_up(given: CapabilitySet) {
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(given);
    sets.permitted.remove(given);
    set_capabilities(None, sets).unwrap();
}

/// The faults of a collection by a broker.
fn faults(broker: &mut Broker) -> Vec<String> {
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::objects(&[TitleIndex(230)]), &mut snapshot).unwrap();
    snapshot.faults().iter().map(ToString::to_string).collect()
}

fn broker(reader: ReaderChoice) -> Broker {
    let options = LinuxOptions::new().reader(reader);
    Broker::builder("test:", "machine")
        .providers(providers_with(&ProcRoot::default(), &options))
        .build()
}

#[test]
fn without_the_capabilities_proc_is_read() {
    if refused() {
        return;
    }
    // Capabilities belong to a thread, so the test has one of its own.
    let test = std::thread::spawn(|| {
        let mut loaded = machine(ReaderChoice::Auto);
        // `/proc` has whole ticks.
        let of_proc = |look: &Look| {
            instances(look, 230).values().all(|(.., values)| values[&6].unwrap() % TICK == 0)
        };
        let looks = [(); 4].map(|()| loaded.look(&[230], &[]));
        assert_eq!(looks.each_ref().map(of_proc), [true, true, true, false]);
        give_up(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN);
        let why = bpf_refusal(&ProcRoot::default()).unwrap();
        assert_eq!(why, "takes the capability CAP_BPF");
        let mut auto = machine(ReaderChoice::Auto);
        for _ in 0..5 {
            // Without a request for BPF there is no fault: a program of an ordinary user runs this way.
            for machine in [&mut auto, &mut loaded] {
                let look = machine.look(&[230], &[]);
                assert_eq!(look.fault_texts(), Vec::<String>::new());
                assert!(look.process(std::process::id()).is_some());
                assert!(of_proc(&look));
            }
        }
        // An explicit request for BPF gives that line as a fault, and no processes.
        let mut bpf = broker(ReaderChoice::Bpf);
        let said = faults(&mut bpf);
        assert!(said.iter().any(|fault| fault.contains("BPF: takes the capability CAP_BPF")));
        give_up(CapabilitySet::PERFMON | CapabilitySet::SYS_PTRACE);
        let why = bpf_refusal(&ProcRoot::default()).unwrap();
        assert_eq!(why, "takes the capability CAP_BPF and CAP_PERFMON and CAP_SYS_PTRACE");
    });
    test.join().unwrap();
}

/// If `io` of a process may not be read, its values are missing with BPF, too.
#[test]
fn io_that_may_not_be_read_is_missing_with_bpf_too() {
    if refused() {
        return;
    }
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "600"];
    if Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("setpriv is not installed: there is no process of another user");
        return;
    }
    let mut children = Children(Vec::new());
    let (other, own) = (children.spawn("setpriv", &user), children.spawn("sleep", &["600"]));
    let name = |pid: u32| std::fs::read(format!("/proc/{pid}/comm")).unwrap();
    while [other, own].iter().any(|pid| name(*pid) != b"sleep\n") {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Capabilities belong to a thread, so the test has one of its own.
    let test = std::thread::spawn(move || {
        give_up(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        assert!(std::fs::read(format!("/proc/{other}/io")).is_err());
        for reader in [ReaderChoice::Proc, ReaderChoice::Bpf] {
            let mut machine = machine(reader);
            for _ in 0..2 {
                let look = machine.look(&[230], &[]);
                let known = [other, own]
                    .map(|pid| look.value_of(230, look.process(pid).unwrap(), 1412).is_some());
                assert_eq!(known, [false, true], "{reader:?}");
            }
        }
    });
    test.join().unwrap();
}

/// If the kernel refuses to load the program, the fault is one line, and nothing is written anywhere else.
#[test]
fn a_refused_program_is_one_line() {
    if role().is_some() {
        let before = getrlimit(Resource::Nofile);
        for limit in 5..16 {
            setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..before }).unwrap();
            let refusal = bpf_refusal(&ProcRoot::default());
            setrlimit(Resource::Nofile, before).unwrap();
            println!("refused: {refusal:?}");
        }
        return;
    }
    if refused() {
        return;
    }
    let output = again("session::a_refused_program_is_one_line", "few").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let refusals: Vec<_> = said.lines().filter(|line| line.contains("refused: Some")).collect();
    let by_kernel = |line: &&&str| line.contains("the kernel does not take the BPF program");
    assert!(refusals.iter().filter(by_kernel).count() >= 3, "{said}");
    for line in refusals.iter().filter(by_kernel) {
        assert!(line.contains("(os error ") && !line.contains("\\n"), "{line}");
    }
}

#[test]
fn a_copy_of_proc_is_read_without_bpf() {
    if refused() {
        return;
    }
    let tree = Tree::machine();
    tree.process(7, b"seven");
    let why = bpf_refusal(&tree.root()).unwrap();
    assert!(why.ends_with("is not this system's own /proc"), "{why}");
    let mut machine = Machine::new(&tree.root());
    for _ in 0..4 {
        assert_eq!(machine.look(&[230], &[]).names(230), ["Idle", "seven", "_Total"]);
    }
}
