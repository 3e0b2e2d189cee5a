//! The system's clocks that a measurement reads before and after a sample.

use crate::clock::of_timespec;
use perfhive_engine::measure::SystemClock;
use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::time::Duration;

fn id(clock: SystemClock) -> ClockId {
    match clock {
        SystemClock::PerformanceCounter => ClockId::Monotonic,
        SystemClock::ProcessCpu => ClockId::ProcessCPUTime,
        SystemClock::ThreadCpu => ClockId::ThreadCPUTime,
    }
}

/// The smallest step by which a clock advances, as the kernel reports it; 1 ns if the kernel
/// reports less.
#[must_use]
pub fn resolution(clock: SystemClock) -> Duration {
    let step = of_timespec(clock_getres(id(clock)));
    // 0 means that the step is smaller than the kernel can express.
    Duration::from_nanos(u64::try_from(step).unwrap_or(0).max(1))
}

/// The time of a clock, in nanoseconds; always `Some`, since Linux has all of these clocks.
#[must_use]
pub fn now(clock: SystemClock) -> Option<i64> {
    Some(of_timespec(clock_gettime(id(clock))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinuxClock, ProcRoot};

    #[test]
    fn the_performance_counter_is_that_of_blocks() {
        let clock = || now(SystemClock::PerformanceCounter).unwrap();
        let before = clock();
        let of_block = LinuxClock::of(&ProcRoot::default()).read().0.perf_time;
        let after = clock();
        assert!(before <= of_block && of_block <= after, "{before} {of_block} {after}");
    }

    #[test]
    fn processor_time_stands_still_while_nothing_is_done() {
        let before = now(SystemClock::ThreadCpu).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let used = now(SystemClock::ThreadCpu).unwrap() - before;
        // Going to sleep and waking up takes some processor time, but not that much.
        assert!((0..25_000_000).contains(&used), "{used}");
    }
}
