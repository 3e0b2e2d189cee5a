//! The clocks that Java reads around a sample.

use perfhive::measure::{MonotonicTime, TimeSource, WallTime};
use std::sync::LazyLock;

/// The monotonic clock, which counts from the same moment for all readers of the program.
static MONOTONIC: LazyLock<MonotonicTime> = LazyLock::new(MonotonicTime::default);

/// Calls `read` with the clock of this number, which is the clock's position in Java's
/// `TimeSource.Clock`. Returns the result of `read`; `None` if this system has no such clock.
fn clock<R>(number: i32, read: impl FnOnce(&mut dyn TimeSource) -> R) -> Option<R> {
    #[cfg(any(target_os = "linux", windows))]
    use perfhive::measure::{PerformanceCounterTime, ProcessCpuTime, ThreadCpuTime};
    Some(match number {
        0 => read(&mut WallTime),
        1 => read(&mut MONOTONIC.clone()),
        #[cfg(any(target_os = "linux", windows))]
        2 => read(&mut PerformanceCounterTime),
        #[cfg(any(target_os = "linux", windows))]
        3 => read(&mut ProcessCpuTime),
        #[cfg(any(target_os = "linux", windows))]
        4 => read(&mut ThreadCpuTime),
        _ => return None,
    })
}

/// The number given in place of a time if the clock cannot be read or is unknown.
pub(crate) const UNREADABLE: i64 = i64::MIN;

/// The time of the clock of this number in nanoseconds; [`UNREADABLE`] if the clock cannot be read,
/// or this system has no such clock.
pub(crate) fn now(number: i32) -> i64 {
    clock(number, |clock| clock.now()).flatten().unwrap_or(UNREADABLE)
}

/// The processor time of this thread in nanoseconds; `None` if it cannot be read.
pub(crate) fn thread_time() -> Option<u64> {
    clock(4, |clock| clock.now()).flatten().and_then(|time| u64::try_from(time).ok())
}

/// The smallest step of a clock and the time that reading it takes, both in nanoseconds; `None` if
/// this system has no such clock.
pub(crate) fn facts(number: i32) -> Option<(i64, i64)> {
    let nanos = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    clock(number, |clock| (nanos(clock.resolution()), nanos(clock.cost())))
}
