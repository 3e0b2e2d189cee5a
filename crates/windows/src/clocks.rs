//! The system's clocks that a measurement reads before and after a sample.

use crate::ffi;
use perfhive_engine::measure::SystemClock;
use std::time::Duration;

/// The unit of Windows' times, in nanoseconds.
const UNIT: u64 = 100;

/// The smallest step of a clock. For processor time, it is the time between two ticks of the
/// system's clock, at which processor time is accounted; 100 ns if the system does not tell it.
#[must_use]
pub fn resolution(clock: SystemClock) -> Duration {
    match clock {
        SystemClock::PerformanceCounter => {
            let (_, frequency) = ffi::performance_counter();
            let step = 1_000_000_000_i64.checked_div(frequency).unwrap_or(0);
            Duration::from_nanos(u64::try_from(step).unwrap_or(0).max(1))
        }
        SystemClock::ProcessCpu | SystemClock::ThreadCpu => {
            Duration::from_nanos(u64::from(ffi::clock_interval().unwrap_or(1)).max(1) * UNIT)
        }
    }
}

/// The time of a clock, in nanoseconds, from `QueryPerformanceCounter`, `GetProcessTimes` or
/// `GetThreadTimes`; `None` if it cannot be read.
#[must_use]
pub fn now(clock: SystemClock) -> Option<i64> {
    let units = match clock {
        SystemClock::PerformanceCounter => {
            let (ticks, frequency) = ffi::performance_counter();
            let nanos = i128::from(ticks) * 1_000_000_000;
            return i64::try_from(nanos.checked_div(i128::from(frequency))?).ok();
        }
        SystemClock::ProcessCpu => ffi::process_time(),
        SystemClock::ThreadCpu => ffi::thread_time(),
    };
    i64::try_from(units?.checked_mul(UNIT)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::NativeClock;
    use perfhive_engine::BlockClock as _;

    #[test]
    fn the_performance_counter_is_that_of_blocks() {
        let clock = || now(SystemClock::PerformanceCounter).unwrap();
        let before = clock();
        let clocks = NativeClock::new().read().0;
        let of_block = i128::from(clocks.perf_time) * 1_000_000_000;
        let of_block = (of_block / i128::from(clocks.perf_freq)) as i64;
        let after = clock();
        assert!(before <= of_block && of_block <= after, "{before} {of_block} {after}");
    }
}
