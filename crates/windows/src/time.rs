//! Clocks around a measurement.

use crate::ffi;
use perfhive_engine::measure::TimeSource;
use std::time::Duration;

/// Windows counts times in steps of 100 ns.
const UNIT: u64 = 100;

/// The performance counter that data blocks of this machine carry
/// (`PerfTime`), `QueryPerformanceCounter`, in nanoseconds since the machine
/// was started. It is never set.
///
/// ```
/// use perfhive_engine::measure::TimeSource;
/// use perfhive_windows::PerformanceCounterTime;
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
        let (_, frequency) = ffi::performance_counter();
        let step = 1_000_000_000_i64.checked_div(frequency).unwrap_or(0);
        Duration::from_nanos(u64::try_from(step).unwrap_or(0).max(1))
    }

    fn now(&mut self) -> Option<i64> {
        let (ticks, frequency) = ffi::performance_counter();
        let nanos = i128::from(ticks) * 1_000_000_000;
        i64::try_from(nanos.checked_div(i128::from(frequency))?).ok()
    }
}

/// The clock by which Windows accounts for processor time.
fn interval() -> Duration {
    Duration::from_nanos(u64::from(ffi::clock_interval().unwrap_or(1)).max(1) * UNIT)
}

fn nanos(units: Option<u64>) -> Option<i64> {
    i64::try_from(units?.checked_mul(UNIT)?).ok()
}

/// Processor time that this process has used in all of its threads, in user
/// mode and in the kernel (`GetProcessTimes`), in nanoseconds. Around a sample
/// it tells what the sample took from the machine, beside what the process's
/// other threads did meanwhile.
///
/// Windows accounts for it at each tick of its clock, many milliseconds apart:
/// it is for sums over many samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCpuTime;

impl TimeSource for ProcessCpuTime {
    fn name(&self) -> &str {
        "process-cpu"
    }

    fn resolution(&self) -> Duration {
        interval()
    }

    fn now(&mut self) -> Option<i64> {
        nanos(ffi::process_time())
    }
}

/// Processor time that the thread which reads it has used, in user mode and in
/// the kernel (`GetThreadTimes`), in nanoseconds, in steps as those of
/// [`ProcessCpuTime`]. Readings of different threads have nothing to do with
/// one another: a context that goes from thread to thread between two samples
/// has times that go back.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadCpuTime;

impl TimeSource for ThreadCpuTime {
    fn name(&self) -> &str {
        "thread-cpu"
    }

    fn resolution(&self) -> Duration {
        interval()
    }

    fn now(&mut self) -> Option<i64> {
        nanos(ffi::thread_time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Uses processor time until a clock has gone on by this much.
    fn work(clock: &mut impl TimeSource, nanos: i64) {
        let begun = clock.now().unwrap();
        while clock.now().unwrap() - begun < nanos {
            std::hint::black_box((0..1000u64).map(std::hint::black_box).sum::<u64>());
        }
    }

    #[test]
    fn the_performance_counter_is_that_of_data_blocks_and_goes_as_fast_as_time() {
        let mut clock = PerformanceCounterTime;
        let (ticks, frequency) = ffi::performance_counter();
        let of_block = (i128::from(ticks) * 1_000_000_000 / i128::from(frequency)) as i64;
        let outer = Instant::now();
        let first = clock.now().unwrap();
        assert!(of_block <= first, "{of_block} {first}");
        let inner = Instant::now();
        std::thread::sleep(Duration::from_millis(30));
        let slept = inner.elapsed();
        let passed = Duration::from_nanos((clock.now().unwrap() - first) as u64);
        let step = clock.resolution();
        assert!(passed + step >= slept && passed <= outer.elapsed() + step, "{passed:?}");
        assert!(step <= Duration::from_micros(1), "{step:?}");
    }

    #[test]
    fn processor_time_is_that_of_process_and_thread() {
        let steps = [ProcessCpuTime.resolution(), ThreadCpuTime.resolution()];
        let sane = Duration::from_nanos(100)..=Duration::from_millis(100);
        assert!(steps.iter().all(|step| sane.contains(step)), "{steps:?}");
        let (process, thread) = (ProcessCpuTime.now().unwrap(), ThreadCpuTime.now().unwrap());
        std::thread::spawn(|| work(&mut ThreadCpuTime, 60_000_000)).join().unwrap();
        // What another thread did is the process's time, and not this thread's.
        let process = ProcessCpuTime.now().unwrap() - process;
        let thread = ThreadCpuTime.now().unwrap() - thread;
        assert!(process >= 40_000_000 && thread < process, "{process} {thread}");
    }
}
