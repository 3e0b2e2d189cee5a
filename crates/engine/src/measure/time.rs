//! Clocks that are read around a sample.

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that is read around a sample.
pub trait TimeSource: Send {
    /// The name of the clock, such as `wall`, `monotonic` or `process-cpu`.
    fn name(&self) -> &str;

    /// The smallest step of the clock.
    fn resolution(&self) -> Duration;

    /// The time now, in nanoseconds since the beginning of the clock; `None` if the clock cannot be
    /// read.
    fn now(&mut self) -> Option<i64>;

    /// The duration of one reading: the median of many, measured now.
    fn cost(&mut self) -> Duration {
        const READINGS: usize = 101;
        let mut times = [Duration::ZERO; READINGS];
        for time in &mut times {
            let begun = Instant::now();
            // Several readings are measured together, since one may take less time than reading the
            // clock that measures it.
            for _ in 0..16 {
                std::hint::black_box(self.now());
            }
            *time = begun.elapsed() / 16;
        }
        times.sort_unstable();
        times.get(READINGS / 2).copied().unwrap_or_default()
    }
}

impl fmt::Debug for dyn TimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TimeSource").field(&self.name()).finish()
    }
}

/// A clock of the operating system that measurements can read; `perfhive::measure` has a
/// [`TimeSource`] for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemClock {
    /// The performance counter that data blocks carry.
    PerformanceCounter,
    /// Processor time of this process.
    ProcessCpu,
    /// Processor time of the thread that reads the clock.
    ThreadCpu,
}

/// Calendar time, in nanoseconds since 1970, UTC. It jumps forwards or backwards when the system's
/// clock is set.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallTime;

impl TimeSource for WallTime {
    fn name(&self) -> &str {
        "wall"
    }

    fn resolution(&self) -> Duration {
        Duration::from_nanos(if cfg!(windows) { 100 } else { 1 })
    }

    fn now(&mut self) -> Option<i64> {
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).ok(),
            Err(error) => i64::try_from(error.duration().as_nanos()).ok().map(|nanos| -nanos),
        }
    }
}

/// Time that only goes forward, in nanoseconds since this source was made.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicTime {
    start: Instant,
}

impl Default for MonotonicTime {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl TimeSource for MonotonicTime {
    fn name(&self) -> &str {
        "monotonic"
    }

    fn resolution(&self) -> Duration {
        Duration::from_nanos(if cfg!(windows) { 100 } else { 1 })
    }

    fn now(&mut self) -> Option<i64> {
        i64::try_from(self.start.elapsed().as_nanos()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_on() {
        let mut monotonic = MonotonicTime::default();
        let (first, second) = (monotonic.now().unwrap(), monotonic.now().unwrap());
        assert!(first <= second);
        // 2020 to 2100.
        let wall = WallTime.now().unwrap() / 1_000_000_000;
        assert!((1_577_836_800..4_102_444_800).contains(&wall), "{wall}");
        assert!(monotonic.cost() < Duration::from_millis(1));
        let boxed: Box<dyn TimeSource> = Box::new(WallTime);
        assert_eq!(format!("{boxed:?}"), "TimeSource(\"wall\")");
    }
}
