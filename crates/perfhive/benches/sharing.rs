//! What sharing the measurements of this machine saves, and what measuring
//! costs the program that is measured.
//!
//! `cargo bench -p perfhive --bench sharing [-- --quick]` prints two Markdown
//! tables: K consumers of one cache against K sources; and the raw interface, a
//! cache of objects and a cache of cooked values side by side with a program
//! that only calculates. Every round runs every approach once; figures are
//! medians over the rounds, ratios medians of the rounds' ratios.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("There is no live machine to measure here.");
}

#[cfg(target_os = "linux")]
mod linux {
    use perfhive::{Ask, Cached, Query, Snapshot, Source, TitleIndex, open};
    use rustix::time::{ClockId, clock_gettime};
    use std::hint::black_box;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread::{scope, sleep};
    use std::time::{Duration, Instant};

    const PROCESS: TitleIndex = TitleIndex(230);
    const PATHS: [&str; 2] = [r"\Process(*)\% Processor Time", r"\Process(*)\Working Set"];

    type Local = Cached<Box<dyn Source>>;

    fn seconds(clock: ClockId) -> f64 {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }

    fn of_rank(values: &[f64], rank: f64) -> f64 {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let last = values.len().saturating_sub(1) as f64;
        values.get((last * rank).round() as usize).copied().unwrap_or(f64::NAN)
    }

    fn median(values: &[f64]) -> f64 {
        of_rank(values, 0.5)
    }

    /// Calls `work` at `first` and at each `period` after it until the end, and returns the
    /// duration of each call in seconds. Times that were missed are left out, not caught up.
    fn at_times(
        first: Instant,
        period: Duration,
        end: Instant,
        mut work: impl FnMut(),
    ) -> Vec<f64> {
        let mut took = Vec::new();
        let mut next = first;
        while next < end {
            sleep(next.saturating_duration_since(Instant::now()));
            let begun = Instant::now();
            work();
            took.push(begun.elapsed().as_secs_f64());
            next += period;
            while next < Instant::now() {
                next += period;
            }
        }
        took
    }

    /// The results of the consumers of Process in one round.
    struct Consumed {
        collections: f64,
        samples: f64,
        processor: f64,
        took: Vec<f64>,
    }

    const PERIOD: Duration = Duration::from_millis(100);

    /// Makes each source ask for Process ten times a second, at times of its own, for the
    /// time `length`.
    fn consume<S: Source>(sources: &mut [S], length: Duration) -> Consumed {
        let request = Ask::objects(&[PROCESS]);
        let count = sources.len() as u32;
        // The threads start up before.
        let start = Instant::now() + Duration::from_millis(100);
        let end = start + length;
        let mut processor = 0.0;
        let took: Vec<f64> = scope(|scope| {
            let threads: Vec<_> = (0..count)
                .zip(sources)
                .map(|(number, source)| {
                    let request = &request;
                    scope.spawn(move || {
                        let mut out = Snapshot::new();
                        let first = start + PERIOD * number / count;
                        at_times(first, PERIOD, end, || source.collect(request, &mut out).unwrap())
                    })
                })
                .collect();
            sleep(start.saturating_duration_since(Instant::now()));
            let before = seconds(ClockId::ProcessCPUTime);
            let took = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            processor = seconds(ClockId::ProcessCPUTime) - before;
            took
        });
        let samples = took.len() as f64;
        Consumed { collections: samples, samples, processor, took }
    }

    fn processes() -> usize {
        let mut source = open("local:").unwrap();
        let mut out = Snapshot::new();
        source.collect(&Ask::objects(&[PROCESS]), &mut out).unwrap();
        out.object(PROCESS).unwrap().view().instances().count()
    }

    fn consumers(quick: bool) {
        let counts: &[usize] = if quick { &[1, 10] } else { &[1, 10, 100] };
        let (length, rounds) = if quick { (300, 1) } else { (2000, 3) };
        let length = Duration::from_millis(length);
        println!(
            "{} instances of Process, which each consumer wants ten times a second; {rounds} \
             rounds of {} s.\n",
            processes(),
            length.as_secs_f64(),
        );
        println!(
            "| consumers | by | samples/s | collections/s | processor, % | for a sample | x | \
             median | 99th percentile |"
        );
        println!("|---:|---|---:|---:|---:|---:|---:|---:|---:|");
        for count in counts {
            let cache = Local::new(open("local:").unwrap());
            let mut shared: Vec<_> = (0..*count).map(|_| cache.clone()).collect();
            let mut own: Vec<_> = (0..*count).map(|_| open("local:").unwrap()).collect();
            // The first collection opens files.
            let request = Ask::objects(&[PROCESS]);
            for source in &mut own {
                source.collect(&request, &mut Snapshot::new()).unwrap();
            }
            let (mut by_own, mut by_cache) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                by_own.push(consume(&mut own, length));
                let before = cache.statistics().collections;
                let mut round = consume(&mut shared, length);
                round.collections = (cache.statistics().collections - before) as f64;
                by_cache.push(round);
            }
            let cost = |round: &Consumed| round.processor / round.samples;
            let ratios: Vec<_> =
                by_cache.iter().zip(&by_own).map(|(c, o)| cost(c) / cost(o)).collect();
            for (name, rounds, ratio) in
                [("a source each", &by_own, 1.0), ("one cache", &by_cache, median(&ratios))]
            {
                let of = |what: &dyn Fn(&Consumed) -> f64| {
                    median(&rounds.iter().map(what).collect::<Vec<_>>())
                };
                let took: Vec<f64> = rounds.iter().flat_map(|r| r.took.iter().copied()).collect();
                println!(
                    "| {count} | {name} | {:.0} | {:.1} | {:.1} | {:.0} µs | {ratio:.3} | {:.0} µs \
                     | {:.2} ms |",
                    of(&|r| r.samples) / length.as_secs_f64(),
                    of(&|r| r.collections) / length.as_secs_f64(),
                    of(&|r| r.processor) / length.as_secs_f64() * 100.0,
                    of(&|r| cost(r)) * 1e6,
                    median(&took) * 1e6,
                    of_rank(&took, 0.99) * 1e3,
                );
            }
        }
    }

    /// A cache of readings, with the time at which they were made.
    struct Cooked {
        query: Query,
        values: Vec<f64>,
        made: Option<Instant>,
        number: u64,
    }

    /// How long readings are kept: as long as the cache of objects keeps its data.
    const KEPT: Duration = Duration::from_millis(500);

    fn values_of(query: &Query, into: &mut Vec<f64>) {
        into.clear();
        let values = query.readings().iter();
        let value = |reading: &perfhive::Reading| {
            reading.value.as_ref().map_or(f64::NAN, |value| value.as_f64())
        };
        into.extend(values.map(value));
    }

    fn query(source: impl Source + 'static) -> Query {
        let mut query = Query::new(source).unwrap();
        for path in PATHS {
            query.add(path).unwrap();
        }
        query.collect().unwrap();
        query
    }

    impl Cooked {
        /// Puts the readings into `into`, made anew if they are too old. Returns how many times
        /// readings have been made.
        fn read(this: &Mutex<Self>, into: &mut Vec<f64>) -> u64 {
            let mut kept = this.lock().unwrap();
            if kept.made.is_none_or(|made| made.elapsed() > KEPT) {
                // The age counts from when the collection began, as there.
                kept.made = Some(Instant::now());
                kept.query.collect().unwrap();
                let kept = &mut *kept;
                values_of(&kept.query, &mut kept.values);
                kept.number += 1;
            }
            into.clone_from(&kept.values);
            kept.number
        }
    }

    /// A consumer that measures next to the program: with a query of its own and the number of its
    /// cycles, or by the shared cache of readings.
    enum Consumer {
        Query(Box<Query>, u64),
        Cooked(Arc<Mutex<Cooked>>),
    }

    impl Consumer {
        /// Runs one measurement cycle. Returns a number that grows with each new data.
        fn cycle(&mut self, into: &mut Vec<f64>) -> u64 {
            match self {
                Self::Query(query, number) => {
                    query.collect().unwrap();
                    values_of(query, into);
                    *number += 1;
                    *number
                }
                Self::Cooked(kept) => Cooked::read(kept, into),
            }
        }
    }

    const APPROACHES: [&str; 3] = ["raw interface", "cache of objects", "cache of cooked values"];

    fn consumers_of(approach: usize, count: usize) -> Vec<Consumer> {
        match approach {
            0 => {
                let own = |_| Consumer::Query(Box::new(query(open("local:").unwrap())), 0);
                (0..count).map(own).collect()
            }
            1 => {
                let cache = Local::new(open("local:").unwrap());
                let one = |_| Consumer::Query(Box::new(query(cache.clone())), 0);
                (0..count).map(one).collect()
            }
            _ => {
                let query = query(open("local:").unwrap());
                let cooked = Cooked { query, values: Vec::new(), made: None, number: 0 };
                let cooked = Arc::new(Mutex::new(cooked));
                (0..count).map(|_| Consumer::Cooked(Arc::clone(&cooked))).collect()
            }
        }
    }

    /// One thread of the program that is measured, which has a thread for each processor:
    /// calculates until `end` over as much memory as a processor's cache holds. Returns the number
    /// of rounds over this memory, and the thread's processor time in seconds.
    fn calculate(end: &AtomicBool) -> (f64, f64) {
        let mut memory = vec![1u64; 32 << 10];
        let begun = seconds(ClockId::ThreadCPUTime);
        let mut done = 0u64;
        while !end.load(Ordering::Relaxed) {
            let mut sum = done;
            for word in &mut memory {
                sum = sum.wrapping_mul(31).wrapping_add(*word);
                *word = sum;
            }
            done += 1;
        }
        black_box(&memory);
        (done as f64, seconds(ClockId::ThreadCPUTime) - begun)
    }

    /// The results of a round next to the program.
    #[derive(Default)]
    struct Disturbed {
        /// The number of rounds over its memory that the program calculated in each second.
        done: f64,
        /// The number of these rounds in each second of the program's processor time.
        pace: f64,
        took: Vec<f64>,
        /// The number of times that a consumer got data that it had not had before.
        different: f64,
        processor: f64,
    }

    fn disturb(consumers: &mut [Consumer], period: Duration, length: Duration) -> Disturbed {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let count = consumers.len().max(1) as u32;
        let stop = AtomicBool::new(false);
        scope(|scope| {
            let program: Vec<_> =
                (0..processors).map(|_| scope.spawn(|| calculate(&stop))).collect();
            let start = Instant::now();
            let end = start + length;
            let measuring: Vec<_> = (0..count)
                .zip(consumers)
                .map(|(number, consumer)| {
                    scope.spawn(move || {
                        let (mut values, mut different, mut last) = (Vec::new(), 0u64, 0);
                        let begun = seconds(ClockId::ThreadCPUTime);
                        let took = at_times(start + period * number / count, period, end, || {
                            let number = consumer.cycle(&mut values);
                            black_box(&values);
                            different += u64::from(number != last);
                            last = number;
                        });
                        (took, different, seconds(ClockId::ThreadCPUTime) - begun)
                    })
                })
                .collect();
            let mut round = Disturbed::default();
            for thread in measuring {
                let (took, different, processor) = thread.join().unwrap();
                round.took.extend(took);
                round.different += different as f64 / f64::from(count);
                round.processor += processor;
            }
            sleep(end.saturating_duration_since(Instant::now()));
            stop.store(true, Ordering::Relaxed);
            let mut processor = 0.0;
            for thread in program {
                let (done, spent) = thread.join().unwrap();
                round.done += done;
                processor += spent;
            }
            // Ends a little late where there is much else to do.
            round.done /= start.elapsed().as_secs_f64();
            round.pace = round.done * start.elapsed().as_secs_f64() / processor;
            round
        })
    }

    fn approaches(quick: bool) {
        let (length, rounds) = if quick { (200, 1) } else { (500, 5) };
        let length = Duration::from_millis(length);
        println!(
            "{} instances of Process, two counters of each; {rounds} rounds of {} s beside a \
             program that calculates on every processor.\n",
            processes(),
            length.as_secs_f64(),
        );
        println!(
            "| consumers, each | by | cycle, median | 99th percentile | new values/s | \
             processor, % | the program gets done, x | in its own processor time, x |"
        );
        println!("|---|---|---:|---:|---:|---:|---:|---:|");
        for (count, rate) in [(1, 10), (1, 100), (10, 10), (10, 100)] {
            let period = Duration::from_secs(1) / rate;
            let mut crowds: Vec<_> = (0..3).map(|approach| consumers_of(approach, count)).collect();
            let mut results: [Vec<(Disturbed, f64, f64)>; 3] = Default::default();
            for _ in 0..rounds {
                // The program alone, before and after, so that a load that
                // changes counts on both sides.
                let mut alone = disturb(&mut [], period, length);
                for (crowd, results) in crowds.iter_mut().zip(&mut results) {
                    let round = disturb(crowd, period, length);
                    let after = disturb(&mut [], period, length);
                    let done = round.done / ((alone.done + after.done) / 2.0);
                    let pace = round.pace / ((alone.pace + after.pace) / 2.0);
                    results.push((round, done, pace));
                    alone = after;
                }
            }
            for (name, rounds) in APPROACHES.iter().zip(&results) {
                let of = |what: &dyn Fn(&(Disturbed, f64, f64)) -> f64| {
                    median(&rounds.iter().map(what).collect::<Vec<_>>())
                };
                let took: Vec<f64> = rounds.iter().flat_map(|r| r.0.took.iter().copied()).collect();
                println!(
                    "| {count}, {rate} Hz | {name} | {:.0} µs | {:.2} ms | {:.1} | {:.2} | {:.3} | \
                     {:.3} |",
                    median(&took) * 1e6,
                    of_rank(&took, 0.99) * 1e3,
                    of(&|r| r.0.different) / length.as_secs_f64(),
                    of(&|r| r.0.processor) / length.as_secs_f64() * 100.0,
                    of(&|r| r.1),
                    of(&|r| r.2),
                );
            }
        }
    }

    pub(crate) fn main() {
        let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
        let load = || std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!("Load average before: {}", load());
        consumers(quick);
        println!();
        approaches(quick);
        println!("\nLoad average after: {}", load());
    }
}
