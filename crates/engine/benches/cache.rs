//! Measures what it costs a consumer to take data from a cache that the consumer has not had yet,
//! compared with other ways to share data that is replaced now and then.
//!
//! `cargo bench -p perfhive-engine --bench cache [-- --quick]` prints one Markdown table. Each
//! round measures every approach once for each column, so that other load on the machine meets all
//! of them. The times are medians over the rounds; the ratios to the time of one thread are medians
//! of the rounds' ratios. Only the processor time of the threads that take data counts: with more
//! threads than processors, a wall clock would include the wait for a turn.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use arc_swap::ArcSwap;
use perfhive_engine::{
    Ask, Cached, Catalogue, Frame, Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::script::block;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, RwLock};
use std::time::{Duration, Instant};

const OBJECT: TitleIndex = TitleIndex(230);
/// The pause of the writer between two publications, without the time that waking up takes.
const PACE: Duration = Duration::from_micros(50);
/// How long each thread spins before it is measured: longer than waking all threads takes.
const AWAKE: Duration = Duration::from_millis(3);
/// The greatest ratio to the time of one thread at which an approach still counts as flat. Columns
/// with a writer are not tested.
const FLAT: f64 = 1.25;

/// A source that answers with the same block each time.
struct Same {
    bytes: Vec<u8>,
    number: u64,
}

impl Source for Same {
    fn name(&self) -> &str {
        "same"
    }

    fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.number += 1;
        out.clear();
        out.push_frame(Arc::new(Frame::new(self.bytes.clone(), self.number).unwrap()), "same");
        Ok(())
    }

    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }
    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "same", "has no titles"))
    }
}

/// Processor time of this thread, in ns; on systems other than Linux, wall-clock time.
fn thread_time() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
    #[cfg(not(target_os = "linux"))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
    }
}

/// Keeps this thread on one of the processors that the process may use: the one at place `number`,
/// counted round. With more threads than processors, the system would otherwise move the threads
/// about, and what a thread wrote would lie in another processor's cache.
#[cfg(target_os = "linux")]
fn stay(number: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(all) = sched_getaffinity(None) else { return };
    let there: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect();
    let mut one = CpuSet::new();
    one.set(there[number % there.len()]);
    // Without it the figures are worse, and no less true.
    let _ = sched_setaffinity(None, &one);
}

#[cfg(not(target_os = "linux"))]
fn stay(_: usize) {}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The data that the approaches other than the cache share.
struct Data {
    number: u64,
}

/// A way to share data that is measured.
#[derive(Clone, Copy, PartialEq)]
enum Approach {
    Take,
    ArcSwap,
    ArcClone,
    Guard,
    GuardAndClone,
}

use Approach::{ArcClone, ArcSwap as Bare, Guard, GuardAndClone, Take};

/// The rows of the table, with their titles.
const APPROACHES: [(Approach, &str); 5] = [
    (Take, "`Cached::collect`, kept data of one object"),
    (Bare, "`ArcSwap::load`, which it is built on"),
    (ArcClone, "`Arc::clone`"),
    (Guard, "`RwLock::read`"),
    (GuardAndClone, "`RwLock::read` and `Arc::clone`"),
];

/// The columns of the table: the number of threads that take data, and whether another
/// thread publishes meanwhile.
const CROWDS: [(usize, bool); 5] = [(1, false), (2, false), (4, false), (1, true), (2, true)];

/// A consumer of the cache, with its request for kept data of any age and its answer.
struct Consumer {
    cache: Cached<Same>,
    kept: Ask,
    out: Snapshot,
}

impl Consumer {
    fn of(cache: &Cached<Same>) -> Self {
        let kept = Ask::objects(&[OBJECT]).max_age(Duration::MAX);
        Self { cache: cache.clone(), kept, out: Snapshot::new() }
    }
}

/// The shared data of each approach.
struct Shared {
    cache: Cached<Same>,
    swap: ArcSwap<Data>,
    arc: Arc<Data>,
    lock: RwLock<Arc<Data>>,
}

impl Shared {
    /// Replaces the data of an approach, for [`Take`] by a collection. Does nothing for
    /// [`ArcClone`], since an `Arc` alone cannot be replaced.
    fn publish(&self, approach: Approach, number: u64) {
        match approach {
            Take => {
                let fresh = Ask::objects(&[OBJECT]).max_age(Duration::ZERO);
                self.cache.clone().collect(&fresh, &mut Snapshot::new()).unwrap();
            }
            Bare => self.swap.store(Arc::new(Data { number })),
            Guard | GuardAndClone => *self.lock.write().unwrap() = Arc::new(Data { number }),
            // Cannot be replaced.
            ArcClone => {}
        }
    }

    /// Takes data by an approach, once for each consumer.
    fn run(&self, approach: Approach, consumers: &mut [Consumer]) {
        let count = consumers.len();
        match approach {
            Take => {
                for Consumer { cache, kept, out } in consumers {
                    cache.collect(kept, out).unwrap();
                    black_box(&out);
                }
            }
            Bare => (0..count).for_each(|_| {
                black_box(self.swap.load().number);
            }),
            ArcClone => (0..count).for_each(|_| {
                black_box(black_box(Arc::clone(&self.arc)).number);
            }),
            Guard => (0..count).for_each(|_| {
                black_box(self.lock.read().unwrap().number);
            }),
            GuardAndClone => (0..count).for_each(|_| {
                let data = Arc::clone(&self.lock.read().unwrap());
                black_box(data.number);
            }),
        }
    }

    /// Checks that no consumer needs a collection of its own to take data that was published. Each
    /// of `hands` has the consumers of one thread.
    fn check(&self, hands: &mut [Vec<Consumer>]) {
        self.publish(Take, 0);
        let before = self.cache.statistics().collections;
        hands.iter_mut().for_each(|consumers| self.run(Take, consumers));
        assert_eq!(self.cache.statistics().collections, before);
    }

    /// Measures an approach in one round, with one thread for each of `hands` and, with `writes`,
    /// another that publishes meanwhile. Returns the mean processor time of taking data once, in
    /// ns.
    fn measure(
        &self,
        approach: Approach,
        hands: &mut [Vec<Consumer>],
        passes: u64,
        writes: bool,
    ) -> f64 {
        let ready = Barrier::new(hands.len() + usize::from(writes));
        let end = AtomicBool::new(false);
        let threads = hands.len();
        std::thread::scope(|scope| {
            if writes {
                scope.spawn(|| {
                    ready.wait();
                    for number in 1.. {
                        self.publish(approach, number);
                        if end.load(Ordering::Relaxed) {
                            break;
                        }
                        std::thread::sleep(PACE);
                    }
                });
            }
            let takers: Vec<_> = hands
                .iter_mut()
                .enumerate()
                .map(|(number, consumers)| {
                    let ready = &ready;
                    scope.spawn(move || {
                        stay(number);
                        ready.wait();
                        // Until every thread has a processor, if there are as
                        // many: one that is woken late would find the others
                        // done.
                        let woken = Instant::now();
                        while woken.elapsed() < AWAKE {
                            std::hint::spin_loop();
                        }
                        let mut spent = 0;
                        for pass in 0..passes {
                            if approach == Take {
                                // Data that no consumer has had.
                                self.publish(approach, pass);
                            }
                            let begun = thread_time();
                            self.run(approach, consumers);
                            spent += thread_time() - begun;
                        }
                        spent as f64 / passes as f64 / consumers.len() as f64
                    })
                })
                .collect();
            let sum: f64 = takers.into_iter().map(|taker| taker.join().unwrap()).sum();
            end.store(true, Ordering::Relaxed);
            sum / threads as f64
        })
    }
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    // As many consumers as fit into a processor's cache, and passes that last
    // longer than a thread has a processor to itself.
    let (passes, rounds) = if quick { (2, 5) } else { (500, 31) };
    let count = 200;
    let cache = Cached::new(Same { bytes: block("host", 1, &[(OBJECT, &[], &[])]), number: 0 });
    let shared = Shared {
        swap: ArcSwap::from_pointee(Data { number: 0 }),
        arc: Arc::new(Data { number: 0 }),
        lock: RwLock::new(Arc::new(Data { number: 0 })),
        cache,
    };
    let hand = |_| (0..count).map(|_| Consumer::of(&shared.cache)).collect::<Vec<_>>();
    let mut hands: Vec<Vec<Consumer>> = (0..4).map(hand).collect();
    shared.check(&mut hands);
    let mut times = vec![vec![Vec::new(); CROWDS.len()]; APPROACHES.len()];
    for round in 0..=rounds {
        for (crowd, (threads, writes)) in CROWDS.into_iter().enumerate() {
            for (row, (approach, _)) in APPROACHES.into_iter().enumerate() {
                // An `Arc` alone cannot be replaced.
                if writes && approach == ArcClone {
                    continue;
                }
                let time = shared.measure(approach, &mut hands[..threads], passes, writes);
                // The first round fills caches.
                if round > 0 {
                    times[row][crowd].push(time);
                }
            }
        }
    }
    println!(
        "Processor time of one time, in ns; in brackets, how much more than by one thread \
         alone.\n"
    );
    println!(
        "| approach | 1 thread | 2 threads | 4 threads | 1 and a writer | 2 and a writer | goal |"
    );
    println!("|---|---:|---:|---:|---:|---:|---|");
    for (row, (approach, name)) in APPROACHES.into_iter().enumerate() {
        let alone = &times[row][0];
        let cells: Vec<_> = times[row]
            .iter()
            .enumerate()
            .map(|(crowd, times)| {
                if times.is_empty() {
                    return "—".to_string();
                }
                let ratios = times.iter().zip(alone).map(|(time, alone)| time / alone).collect();
                match crowd {
                    0 => format!("{:.1}", median(times.clone())),
                    _ => format!("{:.1} (x {:.2})", median(times.clone()), median(ratios)),
                }
            })
            .collect();
        let is_flat = |(times, (_, writes)): (&Vec<f64>, (usize, bool))| {
            let ratios = times.iter().zip(alone).map(|(time, alone)| time / alone).collect();
            writes || median(ratios) <= FLAT
        };
        let goal = match approach {
            Bare if times[row].iter().zip(CROWDS).all(is_flat) => "flat: met",
            Bare => "flat: MISSED",
            _ => "",
        };
        println!("| {name} | {} | {goal} |", cells.join(" | "));
    }
}
