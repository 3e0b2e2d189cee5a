//! Clocks of this machine around a measurement.

use perfhive_engine::measure::{SystemClock, TimeSource};
#[cfg(target_os = "linux")]
use perfhive_linux::clocks;
#[cfg(windows)]
use perfhive_windows::clocks;
use std::time::Duration;

/// The performance counter of this machine's data blocks (`PerfTime`), in nanoseconds since the
/// machine was started: `CLOCK_MONOTONIC` on Linux, which stands still while the machine is
/// suspended, and `QueryPerformanceCounter` on Windows. Setting the time of day does not change
/// this clock.
///
/// ```
/// use perfhive::measure::{PerformanceCounterTime, TimeSource};
///
/// let mut clock = PerformanceCounterTime;
/// assert!(clock.now() <= clock.now());
/// println!("steps of {:?}, read in {:?}", clock.resolution(), clock.cost());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PerformanceCounterTime;

/// Processor time of all threads of this process, in user mode and in the kernel, in nanoseconds.
/// The difference between its values before and after a sample is the cost of the sample, plus the
/// time that the process's other threads used meanwhile.
///
/// Windows counts processor time at each tick of its clock, and the ticks are many milliseconds
/// apart: the value is of use for sums over many samples only.
///
/// ```
/// use perfhive::measure::{ProcessCpuTime, TimeSource};
///
/// let before = ProcessCpuTime.now();
/// let sum: u64 = (0..100_000).map(std::hint::black_box).sum();
/// assert!(sum > 0 && ProcessCpuTime.now() >= before);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCpuTime;

/// Processor time of the reading thread, in user mode and in the kernel, in nanoseconds, in the
/// steps of [`ProcessCpuTime`]. Readings of different threads cannot be compared: the times of
/// a context that moves to another thread between two samples may go back.
///
/// ```
/// use perfhive::measure::{ProcessCpuTime, ThreadCpuTime, TimeSource};
///
/// let of_thread = ThreadCpuTime.now();
/// assert!(of_thread <= ProcessCpuTime.now());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadCpuTime;

macro_rules! clock {
    ($time:ty, $clock:ident, $name:literal) => {
        impl TimeSource for $time {
            fn name(&self) -> &str {
                $name
            }

            fn resolution(&self) -> Duration {
                clocks::resolution(SystemClock::$clock)
            }

            fn now(&mut self) -> Option<i64> {
                clocks::now(SystemClock::$clock)
            }
        }
    };
}

clock!(PerformanceCounterTime, PerformanceCounter, "performance-counter");
clock!(ProcessCpuTime, ProcessCpu, "process-cpu");
clock!(ThreadCpuTime, ThreadCpu, "thread-cpu");

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Uses processor time until a clock has advanced by `nanos` nanoseconds.
    fn work(clock: &mut impl TimeSource, nanos: i64) {
        let begun = clock.now().unwrap();
        while clock.now().unwrap() - begun < nanos {
            std::hint::black_box((0..1000u64).map(std::hint::black_box).sum::<u64>());
        }
    }

    #[test]
    fn the_performance_counter_goes_as_fast_as_time() {
        let mut clock = PerformanceCounterTime;
        let outer = Instant::now();
        let first = clock.now().unwrap();
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(30));
        let slept = inner.elapsed();
        let passed = Duration::from_nanos((clock.now().unwrap() - first) as u64);
        let step = clock.resolution();
        assert!(passed + step >= slept && passed <= outer.elapsed() + step, "{passed:?}");
        assert!(step <= Duration::from_micros(1), "{step:?}");
    }

    #[test]
    fn a_process_has_the_time_of_all_its_threads() {
        let (mut process, mut thread) = (ProcessCpuTime, ThreadCpuTime);
        let before = (process.now().unwrap(), thread.now().unwrap());
        let other = std::thread::spawn(|| work(&mut ThreadCpuTime, 60_000_000));
        other.join().unwrap();
        // The other thread's time is the process's, and not this thread's.
        let of_process = process.now().unwrap() - before.0;
        let of_thread = thread.now().unwrap() - before.1;
        let step = process.resolution().as_nanos() as i64;
        assert!(of_process + 2 * step >= 60_000_000, "{of_process}");
        assert!(of_thread < of_process, "{of_thread} {of_process}");
    }

    #[test]
    fn resolution_and_cost_are_measured() {
        let clocks: [Box<dyn TimeSource>; 3] =
            [Box::new(PerformanceCounterTime), Box::new(ProcessCpuTime), Box::new(ThreadCpuTime)];
        let mut names = Vec::new();
        for mut clock in clocks {
            let step = clock.resolution();
            let sane = Duration::from_nanos(1)..=Duration::from_millis(100);
            assert!(sane.contains(&step), "{step:?}");
            let begun = Instant::now();
            let cost = clock.cost();
            assert!(cost > Duration::ZERO && cost < begun.elapsed(), "{cost:?}");
            names.push(clock.name().to_string());
        }
        assert_eq!(names, ["performance-counter", "process-cpu", "thread-cpu"]);
    }
}
