//! Tests on the machine on which they run.

use crate::common::{Look, Machine, wait_for_sleep, wait_until};
use perfhive_engine::{Ask, Broker, Cost, ObjectQuery, Snapshot, Source};
use perfhive_format::{CounterPlan, CounterType, PerfObject, RawSample, TitleIndex, cook};
use perfhive_linux::{LinuxClock, ObjectDoc, ProcRoot, machine_name, object_table, providers};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ALL: [u32; 5] = [2, 4, 230, 232, 238];

/// A child process, which ends when this is dropped.
struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        let sleeper = Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap());
        wait_for_sleep(sleeper.pid(), "sleep");
        sleeper
    }

    /// A child that uses all the processor time that it gets.
    fn busy() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.end();
    }
}

/// The raw sample of a counter of the instance with a process ID.
fn sample(object: PerfObject<'_>, counter: u32, pid: u32) -> RawSample {
    let plans = CounterPlan::all(object);
    let plan = |index| plans.iter().find(|plan| plan.name == TitleIndex(index)).unwrap();
    let instance = object
        .instances()
        .find(|i| plan(784).value(i.counter_block()) == Ok(u64::from(pid)))
        .unwrap();
    plan(counter).sample(object, instance.counter_block()).unwrap()
}

/// The processor time of this process in seconds, from the kernel's most exact
/// clock.
fn own_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The range, in percent, of the share of processor time that two looks may show. `inner` is the processor
/// time used, and the time passed, between the end of the first look and the beginning of the second;
/// `outer` is the same including both looks. A busy machine may delay a look between reading the clock
/// and the process.
fn shares(inner: (f64, Duration), outer: (f64, Duration)) -> std::ops::RangeInclusive<f64> {
    // User time and system time are each in whole ticks.
    let ticks = 2.0 / rustix::param::clock_ticks_per_second() as f64;
    let least = (inner.0 - ticks) / outer.1.as_secs_f64();
    least * 100.0..=(outer.0 + ticks) / inner.1.as_secs_f64() * 100.0
}

#[test]
fn processor_times_of_the_own_process_equal_its_clock() {
    let me = std::process::id();
    let mut machine = Machine::new(&ProcRoot::default());
    let (begun, before) = (Instant::now(), own_time());
    let first = machine.look(&[230], &[]);
    let (ready, after_first) = (Instant::now(), own_time());
    let mut sum = 0u64;
    while own_time() - after_first < 0.6 {
        for number in 0..10_000u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
    let inner = (own_time() - after_first, ready.elapsed());
    let second = machine.look(&[230], &[]);
    let expected = shares(inner, (own_time() - before, begun.elapsed()));
    let cooked = |counter| {
        let before = sample(first.object(230), counter, me);
        let after = sample(second.object(230), counter, me);
        cook(CounterType::PERF_100NSEC_TIMER, Some(&before), &after).unwrap().as_f64()
    };
    let (all, user, kernel) = (cooked(6), cooked(142), cooked(144));
    assert!(expected.contains(&all), "{all} {expected:?}");
    assert!((all - user - kernel).abs() < 1e-6, "{all} {user} {kernel}");
    assert!(user > 0.0, "{user} {kernel}");
    // The start time is the same in each sample: with the process ID it is the
    // identity of the process.
    let start = |look: &Look| sample(look.object(230), 684, me).value;
    assert_eq!(start(&first), start(&second));
}

/// A child that holds 30 MB and uses processor time, compared with the output of ps before and
/// after.
#[test]
fn ps_says_the_same() {
    let script = "x=$(head -c 30000000 /dev/zero | tr '\\0' x); echo; while :; do :; done";
    let mut child = Sleeper(
        Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let pid = child.pid();
    let ps = || -> Option<[u64; 8]> {
        let columns = "ppid=,nlwp=,vsz=,rss=,cputimes=,etimes=,min_flt=,maj_flt=";
        let output = Command::new("ps").args(["-o", columns, "-p", &pid.to_string()]).output();
        let shown = String::from_utf8(output.ok()?.stdout).ok()?;
        let numbers: Option<Vec<_>> =
            shown.split_whitespace().map(|word| word.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    // The child writes a byte when it has its memory.
    child.0.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let Some(before) = ps() else {
        eprintln!("ps cannot be used here: nothing is compared with it");
        return;
    };
    let look = Look::at(&ProcRoot::default(), &[230], &[]);
    let after = ps().unwrap();
    child.end();

    let process = look.process(pid).unwrap();
    let value = |counter| look.value_of(230, process, counter).unwrap();
    let [parent, threads, size, resident, burnt, age, minor, major] = before;
    assert_eq!((value(1410), value(680)), (parent, threads));
    assert_eq!(value(174), size * 1024);
    // ps shows the kernel's estimate of resident memory.
    let (working_set, resident) = (value(180), resident * 1024);
    assert!(working_set > 30_000_000, "{working_set}");
    assert!(working_set.abs_diff(resident) <= 1 << 20, "{working_set} {resident}");
    // ps shows whole seconds.
    let second = 10_000_000;
    let time = value(6);
    assert!(time > 0 && time >= burnt * second && time <= (after[4] + 1) * second, "{time}");
    let elapsed = sample(look.object(230), 684, pid);
    let elapsed = cook(CounterType::PERF_ELAPSED_TIME, None, &elapsed).unwrap().as_f64();
    assert!(elapsed > age as f64 - 1.0 && elapsed < after[5] as f64 + 2.0, "{elapsed} {age}");
    let faults = value(28);
    assert!((minor + major..=after[6] + after[7]).contains(&faults), "{faults}");
}

#[test]
fn a_busy_child_has_its_time_and_a_sleeping_one_none() {
    // The children are processes of their own, so that their times contain nothing else.
    let mut busy = Sleeper::busy();
    let mut idle = Sleeper::new();
    let mut machine = Machine::new(&ProcRoot::default());
    let used = |child: &Sleeper| {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.pid())).unwrap();
        let fields = text.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
        let ticks: u64 = fields.map(|field| field.parse::<u64>().unwrap()).sum();
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    };
    let (begun, before) = (Instant::now(), used(&busy));
    let first = machine.look(&[230], &[]);
    let (ready, after_first) = (Instant::now(), used(&busy));
    // Waits until it has got processor time, however long that takes on a busy machine.
    wait_until("the child is busy", || used(&busy) > after_first + 0.5);
    let inner = (used(&busy) - after_first, ready.elapsed());
    let second = machine.look(&[230], &[]);
    let outer = (used(&busy) - before, begun.elapsed());
    let cooked = |pid| {
        let before = sample(first.object(230), 6, pid);
        let after = sample(second.object(230), 6, pid);
        cook(CounterType::PERF_100NSEC_TIMER, Some(&before), &after).unwrap().as_f64()
    };
    let (busy_time, idle_time) = (cooked(busy.pid()), cooked(idle.pid()));
    busy.end();
    idle.end();
    let (busy_may, idle_may) = (shares(inner, outer), shares((0.0, inner.1), (0.0, outer.1)));
    assert!(busy_may.contains(&busy_time), "{busy_time} {busy_may:?}");
    assert!(idle_may.contains(&idle_time), "{idle_time} {idle_may:?}");
}

#[test]
fn values_of_this_machine_agree_with_each_other() {
    let extra = [(230, 0), (232, 0), (238, 0)];
    let look = Look::at(&ProcRoot::default(), &ALL, &extra);
    let me = look.process(std::process::id()).unwrap();
    let value = |counter| look.value_of(230, me, counter).unwrap();
    assert!(value(180) > 1 << 20 && value(178) >= value(180) / 2, "{}", value(180));
    assert!(value(174) > value(180) && value(172) >= value(174));
    assert!(value(1478) <= value(180));
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    assert_eq!(me.name().to_text(), own.trim_end_matches('\n'));
    let parent = std::os::unix::process::parent_id();
    assert_eq!(value(1410), u64::from(parent));
    let clocks = look.object(230).clocks();
    let elapsed = (clocks.object_time as u64 - value(684)) as f64 / 1e7;
    assert!((0.0..3600.0).contains(&elapsed), "{elapsed}");
    // The processor time is the sum of the time in the kernel and in the program, for every instance.
    for instance in look.object(230).instances() {
        let value = |counter| look.value_of(230, instance, counter).unwrap();
        assert_eq!(value(6), value(142) + value(144));
        assert!(value(684) <= clocks.object_time as u64, "{}", instance.name().to_text());
    }
    // `_Total` is the sum of the others.
    let names = look.names(230);
    assert_eq!(
        (names.first().unwrap().as_str(), names.last().unwrap().as_str()),
        ("Idle", "_Total")
    );
    for counter in [6, 142, 144, 680, 174, 180, 186, 1424] {
        let values: Vec<_> = look
            .object(230)
            .instances()
            .map(|instance| look.value_of(230, instance, counter).unwrap_or(0))
            .collect();
        let (total, others) = values.split_last().unwrap();
        assert_eq!(others.iter().sum::<u64>(), *total, "{counter}");
    }
    // The process IDs ascend behind Idle.
    let pids: Vec<_> = look
        .object(230)
        .instances()
        .skip(1)
        .map(|instance| look.value_of(230, instance, 784).unwrap())
        .collect();
    let (total, pids) = pids.split_last().unwrap();
    assert!(*total == 0 && pids.is_sorted() && pids.len() >= 2);
    // The numbers are of another moment: others may start and end many processes in between, but not each time.
    let mut machine = Machine::new(&ProcRoot::default());
    let mut apart = || {
        let look = machine.look(&[2, 230], &[]);
        (look.object(230).instance_count() as u64 - 1).abs_diff(look.single(2, 248).unwrap())
    };
    assert!((0..30).any(|_| apart() < 50), "{}", apart());
    // Each thread's parent is its process.
    let mut own_threads = 0;
    for thread in look.object(232).instances() {
        let (_, parent) = look.block().parent(&thread).unwrap();
        let pid = look.value_of(232, thread, 784).unwrap();
        assert_eq!(look.value_of(230, parent, 784), Some(pid));
        own_threads += u32::from(pid == u64::from(std::process::id()));
        if thread.name().to_text() == "_Total" {
            assert_eq!(parent.name().to_text(), "_Total");
        }
    }
    assert!(own_threads >= 1);
    // The kernel's numbers of memory are of another moment.
    let total = std::fs::read_to_string("/proc/meminfo").unwrap();
    let total: u64 = total.split_whitespace().nth(1).unwrap().parse().unwrap();
    let available = look.single(4, 1380).unwrap();
    assert!(available > 0 && available < total);
    assert_eq!(look.single(4, 24).unwrap(), available * 1024);
}

#[test]
fn open_files_are_counted_where_the_kernel_does() {
    let look = Look::at(&ProcRoot::default(), &[230], &[(230, 952)]);
    let me = look.process(std::process::id()).unwrap();
    let size = std::fs::metadata("/proc/self/fd").unwrap().len();
    if size == 0 {
        assert_eq!(look.value_of(230, me, 952), None);
        return;
    }
    let mut child = Sleeper::new();
    let look = Look::at(&ProcRoot::default(), &[230], &[(230, 952)]);
    let sleeper = look.process(child.pid()).unwrap();
    let count = std::fs::read_dir(format!("/proc/{}/fd", child.pid())).unwrap().count();
    assert_eq!(look.value_of(230, sleeper, 952), Some(count as u64));
    child.end();
}

#[test]
fn processes_that_end_and_begin_disturb_nothing() {
    let mut machine = Machine::new(&ProcRoot::default());
    let mut children: Vec<_> = (0..8).map(|_| Sleeper::new()).collect();
    let look = machine.look(&[230], &[]);
    for child in &children {
        assert_eq!(look.process(child.pid()).map(|p| p.name().to_text()), Some("sleep".into()));
    }
    let ended = children.split_off(4);
    let pids: Vec<_> = ended.iter().map(Sleeper::pid).collect();
    drop(ended);
    let late = Sleeper::new();
    let look = machine.look(&[230, 232], &[]);
    assert_eq!(look.fault_texts(), Vec::<String>::new());
    for pid in pids {
        assert!(look.process(pid).is_none());
    }
    for child in children.iter().chain([&late]) {
        assert!(look.process(child.pid()).is_some());
    }
}

#[test]
fn churn_makes_no_faults() {
    let start = Instant::now();
    let end = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&end);
    let churn = std::thread::spawn(move || {
        while !told.load(Ordering::Relaxed) {
            let _ = Command::new("true").stdin(Stdio::null()).status();
        }
    });
    let mut machine = Machine::new(&ProcRoot::default());
    let mut collections = 0;
    // On a busy machine this takes longer.
    while start.elapsed() < Duration::from_millis(700) || collections < 4 {
        let look = machine.look(&ALL, &[(230, 0), (232, 0)]);
        assert_eq!(look.fault_texts(), Vec::<String>::new());
        collections += 1;
    }
    end.store(true, Ordering::Relaxed);
    churn.join().unwrap();
}

#[test]
fn a_broker_of_them_answers_global() {
    let mut broker = Broker::builder("local:", &machine_name())
        .clock(LinuxClock::of(&ProcRoot::default()))
        .providers(providers(&ProcRoot::default()))
        .build();
    let mut snapshot = Snapshot::new();
    broker.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
    let faults: Vec<_> = snapshot.faults().iter().map(ToString::to_string).collect();
    assert_eq!(faults, Vec::<String>::new());
    let objects: Vec<_> = snapshot.objects().map(|o| o.view().name_index()).collect();
    assert!(ALL.iter().all(|object| objects.contains(&TitleIndex(*object))), "{objects:?}");
    let costly = |doc: &ObjectDoc| doc.cost == Cost::Costly && objects.contains(&doc.index);
    assert!(!object_table().iter().any(costly), "{objects:?}");
    assert_eq!(broker.catalogue(&Ask::everything()).unwrap().machine, machine_name());
    // Process is collected with Thread.
    broker.collect(&Ask::objects(&[TitleIndex(232)]), &mut snapshot).unwrap();
    assert_eq!(snapshot.objects().count(), 2);
}

/// `_Total` contains the time of processes that live shorter than an interval: it is the kernel's own sum.
#[test]
fn total_has_the_time_of_processes_that_were_never_seen() {
    const PROCESS: u32 = 230;
    let mut machine = crate::common::Machine::new(&ProcRoot::default());
    let mut times = || {
        let look = machine.look(&[PROCESS, 238], &[]);
        let of = |object, counter| look.value(object, "_Total", counter).unwrap();
        // User and privileged time of the processes without Idle, and of the processors.
        let idle = look.value(PROCESS, "Idle", 144).unwrap();
        let processors = look.object(238).instance_count() as u64 - 1;
        let of_processors = (of(238, 142) + of(238, 144)) * processors;
        (of(PROCESS, 142) + of(PROCESS, 144) - idle, of_processors)
    };
    let before = times();
    for _ in 0..20 {
        let script = "i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", script]).status().unwrap().success());
    }
    let after = times();
    let (grown, used) = (after.0 - before.0, after.1 - before.1);
    let sees_all = std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    // Time is counted in ticks, and the time of interrupts belongs to no process.
    assert!(!sees_all || grown as f64 > used as f64 * 0.8, "{grown} of {used}");
}
