//! The native functions compared with other functions of Windows, for this process and machine.
//! Wine runs these tests too.
#![cfg(windows)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{Ask, Broker, ObjectQuery, Snapshot, Source};
use perfhive_format::{CounterBlock, CounterPlan, TitleIndex};
use perfhive_windows::native::{NativeClock, NativeProvider, Ntdll, machine_name};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::{
    GetSystemInfo, GetSystemTimeAsFileTime, SYSTEM_INFO,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThreadId, GetProcessTimes, GetSystemTimes,
};

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

fn machine() -> Broker {
    Broker::builder("native:", &machine_name())
        .provider(Arc::new(NativeProvider::new(Arc::new(Ntdll))))
        .clock(NativeClock::new())
        .build()
}

fn collect(machine: &mut Broker) -> Snapshot {
    let mut snapshot = Snapshot::new();
    machine.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
    assert!(snapshot.faults().is_empty(), "{:?}", snapshot.faults());
    snapshot
}

type Row = HashMap<u32, u64>;

fn rows(snapshot: &Snapshot, object: u32) -> Vec<(String, Row)> {
    let object = snapshot.object(TitleIndex(object)).unwrap().view();
    let plans = CounterPlan::all(object);
    let values = |block: CounterBlock<'_>| {
        let of = |plan: &CounterPlan| Some((plan.name.0, plan.value(block).ok()?));
        plans.iter().filter_map(of).collect::<Row>()
    };
    if let Some(block) = object.counter_block() {
        return vec![(String::new(), values(block))];
    }
    object.instances().map(|one| (one.name().to_string(), values(one.counter_block()))).collect()
}

/// The instance of this process: its name and its values.
fn mine(snapshot: &Snapshot) -> (String, Row) {
    let id = u64::from(std::process::id());
    let rows = rows(snapshot, 230);
    rows.into_iter().find(|(_, row)| row.get(&784) == Some(&id)).expect("this process")
}

fn number(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

const NO_TIME: FILETIME = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };

/// Start time, kernel time and user time of this process.
fn process_times() -> [u64; 3] {
    let [mut start, mut end, mut kernel, mut user] = [NO_TIME; 4];
    // SAFETY: the handle is a constant, the places live beyond the call.
    let told = unsafe {
        GetProcessTimes(GetCurrentProcess(), &mut start, &mut end, &mut kernel, &mut user)
    };
    assert_ne!(told, 0);
    [start, kernel, user].map(number)
}

fn memory() -> PROCESS_MEMORY_COUNTERS {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of_val(&counters) as u32;
    // SAFETY: the structure has the stated size and lives beyond the call.
    let told = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, size) };
    assert_ne!(told, 0);
    counters
}

fn spend(time: Duration) {
    let start = std::time::Instant::now();
    let mut number = 1u64;
    while start.elapsed() < time {
        number = std::hint::black_box(number.wrapping_mul(31));
    }
}

/// A value read between two readings of the same value by another function.
fn between(before: u64, value: u64, after: u64, what: &str) {
    assert!((before..=after).contains(&value), "{what}: {before} {value} {after}");
}

#[test]
fn values_of_this_process_equal_those_of_other_functions() {
    let mut machine = machine();
    spend(Duration::from_millis(60));
    let before = (process_times(), memory());
    let snapshot = collect(&mut machine);
    let after = (process_times(), memory());
    let (name, row) = mine(&snapshot);
    let file = std::env::current_exe().unwrap();
    assert_eq!(name, file.file_stem().unwrap().to_str().unwrap());
    // Times are in ticks, and the two functions may see different ones.
    let tick = 200_000;
    assert_eq!(row[&684], before.0[0], "start");
    between(before.0[1].saturating_sub(tick), row[&144], after.0[1] + tick, "kernel");
    between(before.0[2].saturating_sub(tick), row[&142], after.0[2] + tick, "user");
    assert_eq!(row[&6], row[&142] + row[&144]);
    assert!(row[&6] > 0, "{row:?}");
    // Collecting itself may change the memory.
    let slack = 16 << 20;
    let near = |value: u64, told: usize, what: &str| {
        let told = told as u64;
        assert!(value.abs_diff(told) <= slack, "{what}: {value} {told}");
        assert!(value > 0, "{what}");
    };
    near(row[&180], before.1.WorkingSetSize, "working set");
    near(row[&178], before.1.PeakWorkingSetSize, "its peak");
    near(row[&184], before.1.PagefileUsage, "page file");
    // Wine counts the size of its table of handles, which grows in steps.
    let files: Vec<_> = (0..100).map(|_| std::fs::File::open(&file).unwrap()).collect();
    let (_, later) = mine(&collect(&mut machine));
    assert!(later[&952] >= 100 && later[&952] > row[&952], "handles");
    drop(files);
}

#[test]
fn threads_refer_to_this_process() {
    let mut machine = machine();
    let done = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = std::sync::mpsc::channel();
    let others: Vec<_> = (0..3)
        .map(|_| {
            let (done, sender) = (Arc::clone(&done), sender.clone());
            std::thread::spawn(move || {
                // SAFETY: takes nothing and only returns a number.
                sender.send(unsafe { GetCurrentThreadId() }).unwrap();
                while !done.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            })
        })
        .collect();
    let mut expected: Vec<u64> = receiver.iter().take(3).map(u64::from).collect();
    // SAFETY: as above.
    expected.push(u64::from(unsafe { GetCurrentThreadId() }));
    let snapshot = collect(&mut machine);
    done.store(true, Ordering::Relaxed);
    others.into_iter().for_each(|thread| thread.join().unwrap());

    let (name, row) = mine(&snapshot);
    let id = u64::from(std::process::id());
    let threads: Vec<_> = rows(&snapshot, 232);
    let of_mine: Vec<_> = threads.iter().filter(|(_, row)| row.get(&784) == Some(&id)).collect();
    assert_eq!(of_mine.len() as u64, row[&680], "Thread Count");
    for id in expected {
        assert!(of_mine.iter().any(|(_, row)| row[&804] == id), "thread {id}");
    }
    let object = snapshot.object(TitleIndex(232)).unwrap();
    let mut parents = object.parents();
    for (instance, (_, row)) in object.view().instances().zip(&threads) {
        let parent = parents.of(&instance).unwrap().name().to_string();
        assert_eq!(row[&784] == id, parent == name, "{row:?}");
        assert_eq!(instance.name().to_string() == "_Total", parent == "_Total");
    }
}

#[test]
fn values_of_processors_and_system_equal_those_of_other_functions() {
    let mut machine = machine();
    let times = || {
        let [mut idle, mut kernel, mut user] = [NO_TIME; 3];
        // SAFETY: the places live beyond the call.
        assert_ne!(unsafe { GetSystemTimes(&mut idle, &mut kernel, &mut user) }, 0);
        [idle, kernel, user].map(number)
    };
    let before = times();
    let snapshot = collect(&mut machine);
    let after = times();
    let mut info = SYSTEM_INFO::default();
    // SAFETY: the structure lives beyond the call.
    unsafe { GetSystemInfo(&mut info) };
    let processors = rows(&snapshot, 238);
    assert_eq!(processors.len(), info.dwNumberOfProcessors as usize + 1);
    let sum = |counter| processors.iter().rev().skip(1).map(|(_, row)| row[&counter]).sum::<u64>();
    let tick = 200_000 * u64::from(info.dwNumberOfProcessors);
    between(before[0].saturating_sub(tick), sum(1746), after[0] + tick, "idle");
    between(before[2].saturating_sub(tick), sum(142), after[2] + tick, "user");
    if processors[0].1.contains_key(&144) {
        let kernel = sum(144) + sum(1746);
        between(before[1].saturating_sub(tick), kernel, after[1] + tick, "kernel");
    }
    let average = sum(1746) / u64::from(info.dwNumberOfProcessors);
    assert_eq!(processors.last().unwrap().1[&1746], average);

    let system = rows(&snapshot, 2).remove(0).1;
    let processes = rows(&snapshot, 230);
    assert_eq!(system[&248], processes.len() as u64 - 1, "_Total is not a process");
    assert_eq!(system[&250], processes.last().unwrap().1[&680]);
    let mut now = NO_TIME;
    // SAFETY: the structure lives beyond the call.
    unsafe { GetSystemTimeAsFileTime(&mut now) };
    let object = snapshot.object(TitleIndex(2)).unwrap().view();
    let clock = object.clocks().object_time as u64;
    assert!(clock <= number(now), "{clock}");
    assert!(system[&674] < clock, "the machine started in the past");
    for (_, row) in &processes {
        assert!(row[&684] <= clock, "a process starts in the future: {row:?}");
    }
}

#[test]
fn warm_samples_allocate_nothing() {
    let mut machine = machine();
    let request = Ask::new(ObjectQuery::Global);
    let mut snapshot = Snapshot::new();
    // A process that starts meanwhile takes room, once.
    let quiet = (0..40).any(|_| {
        let ((), allocated) = perfhive_testkit::alloc::count(|| {
            machine.collect(&request, &mut snapshot).unwrap();
        });
        allocated.count == 0
    });
    assert!(quiet, "every sample allocates");
}

#[test]
fn clocks_are_those_of_the_performance_counter() {
    let mut machine = machine();
    let clocks = |snapshot: &Snapshot| snapshot.frames()[0].clocks();
    let first = clocks(&collect(&mut machine));
    std::thread::sleep(Duration::from_millis(30));
    let second = clocks(&collect(&mut machine));
    assert_eq!(first.perf_freq, second.perf_freq);
    let by_counter = (second.perf_time - first.perf_time) as f64 / first.perf_freq as f64;
    let by_calendar = (second.time_100ns - first.time_100ns) as f64 / 1e7;
    assert!(by_counter > 0.0 && (by_counter - by_calendar).abs() < 1e-6);
    assert_eq!(collect(&mut machine).machine(), Some(machine_name()));
    assert!(!machine_name().is_empty());
}
