//! The clocks of a block.
//!
//! A rate divides by the difference of two clock readings, so a clock that is
//! set between them would falsify it. Therefore no clock here is ever set:
//!
//! - `PerfTime` is `CLOCK_MONOTONIC` in nanoseconds.
//! - `PerfTime100nSec` (the clock of processor times) and the objects' own clock (the clock
//!   of elapsed times) are FILETIMEs. They show the calendar time of their first use in this
//!   process, to 10 microseconds, and go on by `CLOCK_BOOTTIME` from there, which also counts the
//!   time during which the machine was suspended. The kernel gives the start times of processes by
//!   `CLOCK_BOOTTIME` too: converted to these FILETIMEs, elapsed times are exact whatever
//!   happens to the calendar.
//! - `SystemTime` is the calendar at the moment of the sample; no formula uses it.
//!
//! The clocks of a copy of another machine's `/proc` stand still, at the time when the copy was
//! made: the machine's start (`btime` in `stat`) plus `uptime`. If the copy lacks `uptime`, that
//! time is unknown, and values that are calculated from it are missing.

use crate::files::Reader;
use crate::parse::{hundredths, keyed};
use crate::root::ProcRoot;
use perfhive_engine::BlockClock;
use perfhive_format::{CalendarTime, Clocks, FileTime};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const NANOS: i64 = 1_000_000_000;
/// The step to which the time of the machine's start is rounded, in nanoseconds: far above the error of
/// a reading, and far below a millisecond.
const STEP: i64 = 10_000;

/// The nanoseconds of a time that the kernel gave.
pub(crate) fn of_timespec(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(NANOS).saturating_add(time.tv_nsec)
}

fn nanos(clock: ClockId) -> i64 {
    of_timespec(clock_gettime(clock))
}

/// The present time of [`Clocks::perf_time`] on this machine, in nanoseconds.
pub(crate) fn monotonic() -> i64 {
    nanos(ClockId::Monotonic)
}

fn calendar(nanos: i64) -> FileTime {
    FileTime::from_unix_nanos(i128::from(nanos))
}

/// Calendar time that never steps: the FILETIME at which the machine was started, to which
/// `CLOCK_BOOTTIME`, or the `uptime` of a copy, is added.
#[derive(Clone)]
pub struct TimeBase {
    boot: FileTime,
    /// The `proc` folder of a copy; `None` for this machine.
    copy: Option<Arc<Mutex<Reader>>>,
}

impl TimeBase {
    /// The time base of the machine that is read below `root`. For this machine the base is fixed at
    /// first use, so that every clock and provider of the process has the same base.
    #[must_use]
    pub fn of(root: &ProcRoot) -> Self {
        static BASE: OnceLock<FileTime> = OnceLock::new();
        match Reader::open(root.proc()) {
            Ok(reader) if !reader.is_procfs() => Self::of_copy(reader),
            _ => Self { boot: *BASE.get_or_init(|| Self::by(nanos)), copy: None },
        }
    }

    fn of_copy(mut proc: Reader) -> Self {
        let started = proc.once_here(c"stat").ok().and_then(|()| {
            let [btime] = keyed(proc.text(), [b"btime"]);
            Some(calendar(i64::try_from(btime?).ok()?.checked_mul(NANOS)?))
        });
        // A start of 0 means that the start is unknown. A time of 0 lies before the start of every
        // process, so that without `uptime` there are no elapsed times.
        let has_uptime = uptime(&mut proc).is_some();
        let boot = if has_uptime { started.unwrap_or(calendar(0)) } else { FileTime(0) };
        Self { boot, copy: Some(Arc::new(Mutex::new(proc))) }
    }

    /// The time at which this machine was started, rounded to [`STEP`]; `nanos` reads a clock in
    /// nanoseconds. Until the calendar is set, programs calculate the same time, so that recordings
    /// agree on the start times of processes, by which processes are told apart.
    fn by(nanos: impl Fn(ClockId) -> i64) -> FileTime {
        let read = |_| {
            let before = nanos(ClockId::Boottime);
            let now = nanos(ClockId::Realtime);
            let took = nanos(ClockId::Boottime).saturating_sub(before);
            (took, now.saturating_sub(before.saturating_add(took / 2)))
        };
        // Between two clocks the thread may have to wait. The quickest reading is the most exact.
        let (_, started) = (0..16).map(read).min().unwrap_or_default();
        calendar(started.saturating_add(STEP / 2).div_euclid(STEP).saturating_mul(STEP))
    }

    /// The time at which the machine was started. For a copy without `uptime` it is 0; for a copy
    /// that lacks only the start (`btime`), the beginning of 1970.
    #[must_use]
    pub fn boot(&self) -> FileTime {
        self.boot
    }

    /// The present time; for a copy, the time at which the copy was made; 0 if the copy lacks
    /// `uptime`.
    #[must_use]
    pub fn now(&self) -> FileTime {
        self.now_by(nanos)
    }

    fn now_by(&self, nanos: impl Fn(ClockId) -> i64) -> FileTime {
        let up = match &self.copy {
            None => nanos(ClockId::Boottime) / 100,
            Some(proc) => {
                let mut proc = proc.lock().unwrap_or_else(PoisonError::into_inner);
                uptime(&mut proc).filter(|_| self.boot.0 != 0).unwrap_or(0)
            }
        };
        self.after_boot(up)
    }

    /// The time that lies `units` of 100 ns after the start of the
    /// machine.
    #[must_use]
    pub fn after_boot(&self, units: i64) -> FileTime {
        FileTime(self.boot.0.saturating_add(units))
    }
}

/// The `uptime` of a copy in 100 ns units; `None` if it cannot be read.
fn uptime(proc: &mut Reader) -> Option<i64> {
    proc.once_here(c"uptime").ok()?;
    let seconds = proc.text().split(|byte| *byte == b' ').next()?;
    i64::try_from(hundredths(seconds)?.checked_mul(100_000)?).ok()
}

/// The clock for a broker with this crate's providers: it reads the clocks of each block.
#[derive(Clone)]
pub struct LinuxClock {
    base: TimeBase,
}

impl LinuxClock {
    /// The clock of the machine that is read below `root`.
    #[must_use]
    pub fn of(root: &ProcRoot) -> Self {
        Self { base: TimeBase::of(root) }
    }

    /// The clocks for a block that is made now, and the calendar time in UTC; for a copy, both are
    /// those of the time at which the copy was made.
    pub fn read(&mut self) -> (Clocks, CalendarTime) {
        self.read_by(nanos)
    }

    /// The clocks for a block that is made now, without the calendar time.
    pub(crate) fn clocks(&self) -> Clocks {
        self.clocks_by(&nanos)
    }

    fn clocks_by(&self, nanos: &impl Fn(ClockId) -> i64) -> Clocks {
        let now = self.base.now_by(nanos);
        let perf_time = match self.base.copy {
            None => nanos(ClockId::Monotonic),
            Some(_) => now.0.saturating_sub(self.base.boot.0).saturating_mul(100),
        };
        let (perf_freq, time_100ns) = (NANOS, now.0);
        Clocks { perf_time, perf_freq, time_100ns, object_time: 0, object_freq: 0 }
    }

    fn read_by(&self, nanos: impl Fn(ClockId) -> i64) -> (Clocks, CalendarTime) {
        let clocks = self.clocks_by(&nanos);
        let date = match self.base.copy {
            None => calendar(nanos(ClockId::Realtime)),
            Some(_) => FileTime(clocks.time_100ns),
        };
        (clocks, date.to_system_time())
    }
}

impl BlockClock for LinuxClock {
    fn read(&mut self) -> (Clocks, CalendarTime) {
        Self::read(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_agree_and_move_forward() {
        let mut clock = LinuxClock::of(&ProcRoot::default());
        let (first, calendar) = clock.read();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (second, _) = clock.read();
        let perf = second.perf_time - first.perf_time;
        let wall = (second.time_100ns - first.time_100ns) * 100;
        assert!(perf >= 20_000_000, "{perf}");
        assert!((perf - wall).abs() < 5_000_000, "{perf} {wall}");
        // Calendar and time base agree until the calendar is set.
        let year = FileTime(first.time_100ns).to_system_time().year;
        assert_eq!(year, calendar.year);
        assert_eq!(TimeBase::of(&ProcRoot::default()).boot, clock.base.boot);
        assert!(clock.base.boot() < clock.base.now());
        assert_eq!(clock.base.after_boot(i64::MAX).0, i64::MAX);
    }

    #[test]
    fn programs_that_read_the_clocks_slowly_or_quickly_have_the_same_start_of_the_machine() {
        let started = |call: i64| {
            let now = std::cell::Cell::new(0);
            TimeBase::by(move |clock| {
                // A call that waits now and then takes far longer.
                now.set(now.get() + if now.get() % 7 == 3 { 90_000 } else { call });
                let since = if clock == ClockId::Realtime { 1_700_000_000 } else { 100 };
                since * NANOS + 123_456_700 + now.get()
            })
        };
        assert_eq!(started(30), started(170));
        assert_eq!(started(30), started(1100));
    }

    /// Clocks while the calendar is set forwards and backwards and the machine sleeps.
    #[test]
    fn clocks_that_are_set_and_sleep() {
        const SECOND: i64 = 10_000_000;
        // Seconds awake and asleep since the start of the machine, and of the calendar.
        let clocks = |awake: i64, slept: i64, calendar: i64| {
            move |clock| match clock {
                ClockId::Monotonic => awake * NANOS,
                ClockId::Boottime => (awake + slept) * NANOS,
                ClockId::Realtime => calendar * NANOS,
                other => panic!("{other:?}"),
            }
        };
        let boot = TimeBase::by(clocks(100, 0, 1_700_000_000));
        let clock = LinuxClock { base: TimeBase { boot, copy: None } };
        let (first, date) = clock.read_by(clocks(101, 0, 1_700_000_001));
        assert_eq!((date.year, date.month, date.day), (2023, 11, 14));
        assert_eq!(first.time_100ns, clock.base.after_boot(101 * SECOND).0);
        for (calendar, year) in [(1_800_000_002, 2027), (1_000_000_002, 2001)] {
            let (now, date) = clock.read_by(clocks(102, 0, calendar));
            assert_eq!(now.perf_time - first.perf_time, NANOS);
            assert_eq!(now.time_100ns - first.time_100ns, SECOND);
            // Only the calendar time changes, which no formula uses.
            assert_eq!(date.year, year);
        }
        // Time asleep counts for processes and their starts.
        let (now, _) = clock.read_by(clocks(103, 3600, 1_700_003_603));
        assert_eq!(now.perf_time - first.perf_time, 2 * NANOS);
        assert_eq!(now.time_100ns - first.time_100ns, 3602 * SECOND);
    }
}
