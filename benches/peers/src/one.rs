//! `cargo xtask bench one`: what a program pays that measures itself alone.

use crate::children::{self, Sleepers};
use anyhow::{Context, Result};
use perfhive::measure::{self, MeasurementContext, Readings, SensorName};
use procfs::process::Process;
use std::hint::black_box;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Processes that sleep.
const PROCESSES: [usize; 3] = [100, 1000, 5000];
/// Threads of this process that sleep.
const THREADS: usize = 16;
const ROUNDS: usize = 301;
/// Time without sampling between rounds: as a program does it, the files are not in the caches of
/// the processor that a loop would find them in.
const PAUSE: Duration = Duration::from_micros(300);
/// How often ten counters are read, and for how many seconds.
const WATCHED: u32 = 5;
const EVERY: Duration = Duration::from_millis(10);

const NINE: [&str; 9] = [
    "% Processor Time",
    "% User Time",
    "% Privileged Time",
    "Page Faults/sec",
    "Thread Count",
    "Virtual Bytes",
    "Working Set",
    "Private Bytes",
    "IO Read Bytes/sec",
];

pub fn bench() -> Result<()> {
    let (stop, wait) = mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let wait = std::sync::Arc::clone(&wait);
            std::thread::spawn(move || drop(wait.lock().map(|wait| wait.recv())))
        })
        .collect();
    println!("Load average {} at the beginning.\n", crate::load_average());
    println!(
        "| processes | own process, 9 values | crate procfs | ratio | goal | own threads | crate procfs | ratio | goal | 10 counters at 100 Hz, beside sleeping alone | crate procfs | goal |"
    );
    println!("|---:|---:|---:|---:|---|---:|---:|---:|---|---:|---:|---|");
    let mut sleepers = Sleepers::new()?;
    for count in PROCESSES {
        sleepers.grow(count)?;
        std::thread::sleep(Duration::from_secs(1));
        let mut process = of_process(&NINE)?;
        let me = Process::myself()?;
        let [own, peer, ratio] = compare(|| cycle(&mut process), || by_procfs(&me))?;
        let mut threads = of_threads()?;
        let [of_threads, of_tasks, by_tasks] =
            compare(|| cycle(&mut threads), || tasks_by_procfs(&me))?;
        let [sleeping, share, peer_share] = at_100_hz(&me)?;
        println!(
            "| {count} | {own:.1} µs | {peer:.1} µs | {ratio:.2} | <= 1.5: {} | {of_threads:.1} µs \
             | {of_tasks:.1} µs | {by_tasks:.2} | <= 1.5: {} | {:.2} % beside {:.2} % | {:.2} % | <= 1 %: {} |",
            judge(ratio <= 1.5),
            judge(by_tasks <= 1.5),
            share * 100.0,
            sleeping * 100.0,
            peer_share * 100.0,
            judge(share <= 0.01),
        );
    }
    drop(stop);
    threads.into_iter().for_each(|thread| drop(thread.join()));
    println!("\nLoad average {} at the end.", crate::load_average());
    Ok(())
}

fn judge(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

struct Measured {
    context: MeasurementContext,
    readings: Readings,
}

fn context(names: &[SensorName]) -> Result<Measured> {
    let mut sources = measure::open(&["local:"])?;
    let context = MeasurementContext::new(&mut sources, names)?;
    Ok(Measured { context, readings: Readings::new() })
}

fn of_process(counters: &[&str]) -> Result<Measured> {
    let own = std::process::id().to_string();
    let name = |counter: &&str| {
        SensorName::new("linux.procfs", "Process", counter).with_instance(own.as_str())
    };
    context(&counters.iter().map(name).collect::<Vec<_>>())
}

/// Processor time of each thread.
fn of_threads() -> Result<Measured> {
    let tasks = std::fs::read_dir("/proc/self/task")?;
    let names = tasks.flatten().filter_map(|task| task.file_name().into_string().ok());
    let name = |task: String| {
        SensorName::new("linux.procfs", "Thread", "% Processor Time").with_instance(task.as_str())
    };
    context(&names.map(name).collect::<Vec<_>>())
}

fn cycle(measured: &mut Measured) -> Result<()> {
    measured.context.prepare()?;
    measured.context.sample()?;
    measured.context.decode(&mut measured.readings)?;
    let values = measured.readings.iter().filter(|reading| reading.value.is_ok()).count();
    black_box(values);
    Ok(())
}

fn by_procfs(me: &Process) -> Result<()> {
    black_box((me.stat()?, me.statm()?, me.io()?));
    Ok(())
}

fn tasks_by_procfs(me: &Process) -> Result<()> {
    for task in me.tasks()? {
        black_box(task?.stat()?);
    }
    Ok(())
}

/// Medians of both in µs, and of the rounds' ratios.
fn compare(
    mut own: impl FnMut() -> Result<()>,
    mut peer: impl FnMut() -> Result<()>,
) -> Result<[f64; 3]> {
    let time = |run: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        run()?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    let mut rounds = Vec::new();
    for round in 0..ROUNDS + 10 {
        let pair = match round % 2 {
            0 => (time(&mut own)?, time(&mut peer)?),
            _ => {
                let peer = time(&mut peer)?;
                (time(&mut own)?, peer)
            }
        };
        if round >= 10 {
            rounds.push(pair);
        }
    }
    let median = |value: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().context("no rounds")
    };
    Ok([median(|pair| pair.0)?, median(|pair| pair.1)?, median(|pair| pair.0 / pair.1)?])
}

/// The shares of a processor that waking a hundred times a second takes, and what ten counters, Handle
/// Count among them, and the peer's reading of the same files take beside it. They take turns of a second.
fn at_100_hz(me: &Process) -> Result<[f64; 3]> {
    let ten: Vec<&str> = NINE.into_iter().chain(["Handle Count"]).collect();
    let mut measured = of_process(&ten)?;
    cycle(&mut measured)?;
    let mut shares = [0.0; 3];
    for _ in 0..WATCHED {
        let now = [
            share(|| Ok(()))?,
            share(|| cycle(&mut measured))?,
            share(|| {
                black_box(me.fd_count()?);
                by_procfs(me)
            })?,
        ];
        shares.iter_mut().zip(now).for_each(|(all, now)| *all += now / f64::from(WATCHED));
    }
    let [sleeping, own, peer] = shares;
    Ok([sleeping, own - sleeping, peer - sleeping])
}

fn share(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let before = children::spent(std::process::id())?;
    let start = Instant::now();
    let mut next = start;
    while start.elapsed() < Duration::from_secs(1) {
        run()?;
        next += EVERY;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok((children::spent(std::process::id())? - before) / start.elapsed().as_secs_f64())
}
