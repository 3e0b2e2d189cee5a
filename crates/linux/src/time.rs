//! Clocks around a measurement.

use crate::clock::of_timespec;
use perfhive_engine::measure::TimeSource;
use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::time::Duration;

fn resolution(clock: ClockId) -> Duration {
    let step = of_timespec(clock_getres(clock));
    // A kernel that says 0 means that the step is below what it can say.
    Duration::from_nanos(u64::try_from(step).unwrap_or(0).max(1))
}

fn now(clock: ClockId) -> Option<i64> {
    Some(of_timespec(clock_gettime(clock)))
}

/// The performance counter that data blocks of this machine carry
/// (`PerfTime`): `CLOCK_MONOTONIC`, in nanoseconds since the machine was
/// started, without the time that it was suspended. It is never set.
///
/// ```
/// use perfhive_engine::measure::TimeSource;
/// use perfhive_linux::PerformanceCounterTime;
///
/// let mut clock = PerformanceCounterTime;
/// assert!(clock.now() <= clock.now());
/// println!("steps of {:?}, read in {:?}", clock.resolution(), clock.cost());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PerformanceCounterTime;

impl TimeSource for PerformanceCounterTime {
    fn name(&self) -> &str {
        "performance-counter"
    }

    fn resolution(&self) -> Duration {
        resolution(ClockId::Monotonic)
    }

    fn now(&mut self) -> Option<i64> {
        now(ClockId::Monotonic)
    }
}

/// Processor time that this process has used in all of its threads, in user
/// mode and in the kernel, in nanoseconds. Around a sample it tells what the
/// sample took from the machine, beside what the process's other threads did
/// meanwhile.
///
/// ```
/// use perfhive_engine::measure::TimeSource;
/// use perfhive_linux::ProcessCpuTime;
///
/// let before = ProcessCpuTime.now();
/// let sum: u64 = (0..100_000).map(std::hint::black_box).sum();
/// assert!(sum > 0 && ProcessCpuTime.now() > before);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCpuTime;

impl TimeSource for ProcessCpuTime {
    fn name(&self) -> &str {
        "process-cpu"
    }

    fn resolution(&self) -> Duration {
        resolution(ClockId::ProcessCPUTime)
    }

    fn now(&mut self) -> Option<i64> {
        now(ClockId::ProcessCPUTime)
    }
}

/// Processor time that the thread which reads it has used, in user mode and in
/// the kernel, in nanoseconds. Readings of different threads have nothing to
/// do with one another: a context that goes from thread to thread between two
/// samples has times that go back.
///
/// ```
/// use perfhive_engine::measure::TimeSource;
/// use perfhive_linux::{ProcessCpuTime, ThreadCpuTime};
///
/// let of_thread = ThreadCpuTime.now();
/// assert!(of_thread <= ProcessCpuTime.now());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadCpuTime;

impl TimeSource for ThreadCpuTime {
    fn name(&self) -> &str {
        "thread-cpu"
    }

    fn resolution(&self) -> Duration {
        resolution(ClockId::ThreadCPUTime)
    }

    fn now(&mut self) -> Option<i64> {
        now(ClockId::ThreadCPUTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinuxClock;
    use std::time::Instant;

    /// Uses processor time until a clock has gone on by this much.
    fn work(clock: &mut impl TimeSource, nanos: i64) {
        let begun = clock.now().unwrap();
        while clock.now().unwrap() - begun < nanos {
            std::hint::black_box((0..1000u64).map(std::hint::black_box).sum::<u64>());
        }
    }

    #[test]
    fn the_performance_counter_is_that_of_blocks() {
        let mut clock = PerformanceCounterTime;
        let before = clock.now().unwrap();
        let of_block = LinuxClock::new().read().0.perf_time;
        let after = clock.now().unwrap();
        assert!(before <= of_block && of_block <= after, "{before} {of_block} {after}");
    }

    #[test]
    fn processor_time_stands_still_while_nothing_is_done() {
        let mut clock = ThreadCpuTime;
        let before = clock.now().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let used = clock.now().unwrap() - before;
        // Going to sleep and waking up costs something, but not that much.
        assert!((0..25_000_000).contains(&used), "{used}");
    }

    #[test]
    fn a_process_has_the_time_of_all_its_threads() {
        let (mut process, mut thread) = (ProcessCpuTime, ThreadCpuTime);
        let before = (process.now().unwrap(), thread.now().unwrap());
        let other = std::thread::spawn(|| work(&mut ThreadCpuTime, 30_000_000));
        other.join().unwrap();
        let of_process = process.now().unwrap() - before.0;
        let of_thread = thread.now().unwrap() - before.1;
        assert!(of_process >= 30_000_000, "{of_process}");
        assert!(of_thread < of_process, "{of_thread} {of_process}");
    }

    #[test]
    fn resolution_and_cost_are_measured() {
        let clocks: [Box<dyn TimeSource>; 3] =
            [Box::new(PerformanceCounterTime), Box::new(ProcessCpuTime), Box::new(ThreadCpuTime)];
        let mut names = Vec::new();
        for mut clock in clocks {
            let step = clock.resolution();
            assert!(
                step >= Duration::from_nanos(1) && step <= Duration::from_millis(20),
                "{step:?}"
            );
            let begun = Instant::now();
            let cost = clock.cost();
            assert!(cost > Duration::ZERO && cost < begun.elapsed(), "{cost:?}");
            names.push(clock.name().to_string());
        }
        assert_eq!(names, ["performance-counter", "process-cpu", "thread-cpu"]);
    }
}
