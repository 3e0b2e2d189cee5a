//! The clocks of a block.
//!
//! A rate divides by the difference of two clock readings, so a clock that is
//! set between them would falsify it. Therefore no clock here is ever set:
//!
//! - `PerfTime` is `CLOCK_MONOTONIC` in nanoseconds.
//! - `PerfTime100nSec`, the clock of the processor times, and the objects' own
//!   clock, the one of elapsed times, are FILETIMEs that show the calendar time
//!   of the first use in this process and go on by `CLOCK_BOOTTIME` from there,
//!   which counts the time in which the machine was suspended as well. Start
//!   times of processes are told by the kernel on that clock: in these
//!   FILETIMEs, elapsed times are exact whatever happens to the calendar.
//! - Only `SystemTime`, which nothing is calculated with, is the calendar as it
//!   is at the moment.

use perfhive_engine::Clock;
use perfhive_format::{Clocks, FileTime, SystemTime};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::OnceLock;

const NANOS: i64 = 1_000_000_000;

/// A time of the kernel's in nanoseconds.
pub(crate) fn of_timespec(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(NANOS).saturating_add(time.tv_nsec)
}

fn nanos(clock: ClockId) -> i64 {
    of_timespec(clock_gettime(clock))
}

fn calendar(nanos: i64) -> FileTime {
    FileTime::from_unix_nanos(i128::from(nanos))
}

/// Calendar time that never steps: the FILETIME at which the machine was
/// started, from which on `CLOCK_BOOTTIME` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBase {
    boot: FileTime,
}

impl TimeBase {
    /// The base of this process, fixed at first use: every clock and provider
    /// has the same.
    #[must_use]
    pub fn process() -> Self {
        static BASE: OnceLock<TimeBase> = OnceLock::new();
        *BASE.get_or_init(|| Self::by(nanos))
    }

    /// The base by these clocks, in nanoseconds.
    fn by(nanos: impl Fn(ClockId) -> i64) -> Self {
        let up = nanos(ClockId::Boottime) / 100;
        Self { boot: FileTime(calendar(nanos(ClockId::Realtime)).0.saturating_sub(up)) }
    }

    /// The time at which the machine was started.
    #[must_use]
    pub fn boot(self) -> FileTime {
        self.boot
    }

    /// The time now.
    #[must_use]
    pub fn now(self) -> FileTime {
        self.now_by(nanos)
    }

    fn now_by(self, nanos: impl Fn(ClockId) -> i64) -> FileTime {
        self.after_boot(nanos(ClockId::Boottime) / 100)
    }

    /// The time that lies the given 100 ns units after the start of the
    /// machine.
    #[must_use]
    pub fn after_boot(self, units: i64) -> FileTime {
        FileTime(self.boot.0.saturating_add(units))
    }
}

/// The clock for a broker with this crate's providers.
#[derive(Clone, Copy, Debug)]
pub struct LinuxClock {
    base: TimeBase,
}

impl Default for LinuxClock {
    fn default() -> Self {
        Self::new()
    }
}

impl LinuxClock {
    /// A clock on this process's [`TimeBase`].
    #[must_use]
    pub fn new() -> Self {
        Self { base: TimeBase::process() }
    }

    /// The clocks of a block that is made now, and calendar time, UTC.
    pub fn read(&mut self) -> (Clocks, SystemTime) {
        self.read_by(nanos)
    }

    fn read_by(self, nanos: impl Fn(ClockId) -> i64) -> (Clocks, SystemTime) {
        let clocks = Clocks {
            perf_time: nanos(ClockId::Monotonic),
            perf_freq: NANOS,
            time_100ns: self.base.now_by(&nanos).0,
            object_time: 0,
            object_freq: 0,
        };
        (clocks, calendar(nanos(ClockId::Realtime)).to_system_time())
    }
}

impl Clock for LinuxClock {
    fn read(&mut self) -> (Clocks, SystemTime) {
        Self::read(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_agree_and_move_forward() {
        let mut clock = LinuxClock::new();
        let (first, calendar) = clock.read();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (second, _) = clock.read();
        let perf = second.perf_time - first.perf_time;
        let wall = (second.time_100ns - first.time_100ns) * 100;
        assert!(perf >= 20_000_000, "{perf}");
        assert!((perf - wall).abs() < 5_000_000, "{perf} {wall}");
        // Calendar and base agree until the clock is set.
        let year = FileTime(first.time_100ns).to_system_time().year;
        assert_eq!(year, calendar.year);
        assert_eq!(TimeBase::process(), clock.base);
        assert!(clock.base.boot() < clock.base.now());
        assert_eq!(clock.base.after_boot(i64::MAX).0, i64::MAX);
    }

    /// The calendar is set forwards and backwards, and the machine sleeps.
    #[test]
    fn clocks_that_are_set_and_sleep() {
        const SECOND: i64 = 10_000_000;
        // Seconds since the start of the machine, slept, and of the calendar.
        let clocks = |awake: i64, slept: i64, calendar: i64| {
            move |clock| match clock {
                ClockId::Monotonic => awake * NANOS,
                ClockId::Boottime => (awake + slept) * NANOS,
                ClockId::Realtime => calendar * NANOS,
                other => panic!("{other:?}"),
            }
        };
        let clock = LinuxClock { base: TimeBase::by(clocks(100, 0, 1_700_000_000)) };
        let (first, date) = clock.read_by(clocks(101, 0, 1_700_000_001));
        assert_eq!((date.year, date.month, date.day), (2023, 11, 14));
        assert_eq!(first.time_100ns, clock.base.after_boot(101 * SECOND).0);
        for (calendar, year) in [(1_800_000_002, 2027), (1_000_000_002, 2001)] {
            let (now, date) = clock.read_by(clocks(102, 0, calendar));
            assert_eq!(now.perf_time - first.perf_time, NANOS);
            assert_eq!(now.time_100ns - first.time_100ns, SECOND);
            // Only what nothing is calculated with goes along.
            assert_eq!(date.year, year);
        }
        // Time asleep is time of processes and their starts.
        let (now, _) = clock.read_by(clocks(103, 3600, 1_700_003_603));
        assert_eq!(now.perf_time - first.perf_time, 2 * NANOS);
        assert_eq!(now.time_100ns - first.time_100ns, 3602 * SECOND);
    }
}
