//! `cargo xtask bench publish`: what counting costs in published counters, beside a
//! plain atomic number and the crates that programs count with.
//!
//! In every round each row counts once; figures are medians over the rounds,
//! ratios medians of the rounds' ratios. Times are processor time of the threads
//! that count.

use perfhive_shm::{CounterDeclaration, CounterType, PublishedCategory};
use prometheus_client::metrics::{counter, histogram};
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ROUNDS: usize = 51;
const COUNTS: u64 = 200_000;
const THREADS: [usize; 2] = [1, 2];

/// One way to count.
struct Row<'a> {
    name: &'static str,
    /// Place of the row that it is compared with.
    against: usize,
    /// The most that it may cost, compared with that.
    goal: Option<f64>,
    count: Box<dyn Fn(u64) + Sync + 'a>,
}

fn row<'a>(
    name: &'static str,
    against: usize,
    goal: Option<f64>,
    count: impl Fn(u64) + Sync + 'a,
) -> Row<'a> {
    // The loop is inside, so that what is measured is not a call through a pointer.
    let count = move |counts| (0..counts).for_each(&count);
    Row { name, against, goal, count: Box::new(count) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("perfhive-bench-{}", std::process::id()));
    let folder = match std::path::Path::new("/dev/shm") {
        memory if memory.is_dir() => memory.join(folder.file_name().unwrap_or_default()),
        _ => folder,
    };
    let category = PublishedCategory::builder("Bench")
        .counter(CounterDeclaration::new("Count", CounterType::PERF_COUNTER_BULK_COUNT))
        .counter(CounterDeclaration::new("Mean", CounterType::PERF_AVERAGE_BULK))
        .counter(CounterDeclaration::new("Mean time", CounterType::PERF_AVERAGE_TIMER))
        .folder(&folder)
        .publish()?;
    let (own, pair, timer) =
        (category.counter("Count")?, category.pair("Mean")?, category.pair("Mean time")?);
    let plain = AtomicU64::new(0);
    let two = [const { AtomicU64::new(0) }; 2];
    let prometheus: counter::Counter = counter::Counter::default();
    let bounds = || histogram::exponential_buckets(1.0, 4.0, 10);
    let prometheus_histogram = histogram::Histogram::new(bounds());
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let metrics = metrics::with_local_recorder(&recorder, || metrics::counter!("orders"));

    let rows = [
        row("plain `AtomicU64`, relaxed", 0, None, |_| {
            black_box(&plain).fetch_add(1, Ordering::Relaxed);
        }),
        row("**perfhive**, `Counter::increment`", 0, Some(2.0), |_| {
            black_box(&own).increment();
        }),
        row("crate prometheus-client 0.25, `Counter::inc`", 0, None, |_| {
            black_box(&prometheus).inc();
        }),
        row("crate metrics 0.24, a kept handle, exporter for Prometheus", 0, None, |_| {
            black_box(&metrics).increment(1);
        }),
        row("two plain `AtomicU64`, which a reader may see torn", 4, None, |number| {
            black_box(&two[0]).fetch_add(number & 1023, Ordering::Relaxed);
            black_box(&two[1]).fetch_add(1, Ordering::Relaxed);
        }),
        // Against one plain number: it is one addition, too.
        row("**perfhive**, `PairCounter::record`", 0, Some(2.0), |number| {
            black_box(&pair).record((number & 1023) as i64);
        }),
        row("crate prometheus-client 0.25, `Histogram::observe`, 10 buckets", 4, None, |number| {
            black_box(&prometheus_histogram).observe((number & 1023) as f64);
        }),
        row("two readings of the clock", 7, None, |_| {
            black_box(std::time::Instant::now().elapsed());
        }),
        row("**perfhive**, `PairCounter::time`, which reads the clock twice", 7, None, |_| {
            drop(black_box(&timer).time());
        }),
    ];
    println!("Load average {} at the beginning.", load_average());
    for threads in THREADS {
        table(&rows, threads);
    }
    println!("\nLoad average {} at the end.", load_average());
    drop(category);
    std::fs::remove_dir(&folder)?;
    Ok(())
}

fn table(rows: &[Row<'_>], threads: usize) {
    let mut times = vec![Vec::new(); rows.len()];
    for round in 0..ROUNDS + 2 {
        for (row, times) in rows.iter().zip(&mut times) {
            let time = measure(row, threads);
            // The first rounds wake everything up.
            if round >= 2 {
                times.push(time.as_nanos() as f64 / (COUNTS * threads as u64) as f64);
            }
        }
    }
    println!("\n| {threads} thread{}, the same counter | ns | x | goal | |", s(threads));
    println!("|---|---:|---:|---|---|");
    for (place, row) in rows.iter().enumerate() {
        let ratios = times[place].iter().zip(&times[row.against]).map(|(own, of)| own / of);
        let ratio = median(ratios.collect());
        let goal = row.goal.map_or(String::new(), |goal| format!("<= {goal}"));
        let met = row.goal.map_or("", |goal| if ratio <= goal { "met" } else { "MISSED" });
        let time = median(times[place].clone());
        println!("| {} | {time:.1} | {ratio:.2} | {goal} | {met} |", row.name);
    }
}

/// Processor time of threads that all count to `COUNTS`.
fn measure(row: &Row<'_>, threads: usize) -> Duration {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let count = || {
            barrier.wait();
            let start = thread_time();
            (row.count)(COUNTS);
            thread_time() - start
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(count)).collect();
        let own = count();
        others.into_iter().fold(own, |sum, other| sum + other.join().unwrap_or_default())
    })
}

fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
