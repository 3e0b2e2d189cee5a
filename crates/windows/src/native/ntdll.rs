//! The native functions of Windows, and the clock for blocks that are made from them.

use super::information::{Class, QueryReply, Status, SystemInformation};
use crate::ffi;
use perfhive_engine::BlockClock;
use perfhive_format::{CalendarTime, Clocks, FileTime};

/// `NtQuerySystemInformation` of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ntdll;

impl SystemInformation for Ntdll {
    fn query(&self, class: Class, buffer: &mut [u8]) -> QueryReply {
        let (status, length) = ffi::system_information(class, buffer);
        QueryReply { status: Status(status), length }
    }
}

/// The clock for a broker with [`NativeProvider`](super::NativeProvider).
///
/// `PerfTime` and `PerfFreq` are the performance counter's, as in Windows' own blocks.
/// `PerfTime100nSec` starts with calendar time and continues by the performance counter, so that
/// setting the system's clock does not disturb percentages. In Windows' own blocks it does.
#[derive(Clone, Copy, Debug)]
pub struct NativeClock {
    frequency: i64,
    start: i64,
    calendar: u64,
}

impl Default for NativeClock {
    fn default() -> Self {
        Self::new()
    }
}

impl NativeClock {
    /// A clock that starts with the present calendar time.
    #[must_use]
    pub fn new() -> Self {
        let (start, frequency) = ffi::performance_counter();
        // Windows documents that the frequency is never 0; the division does not rely on it.
        Self { frequency: frequency.max(1), start, calendar: ffi::system_time() }
    }
}

impl BlockClock for NativeClock {
    fn read(&mut self) -> (Clocks, CalendarTime) {
        let (now, _) = ffi::performance_counter();
        let passed = i128::from(now - self.start) * i128::from(FileTime::PER_SECOND);
        let passed = i64::try_from(passed / i128::from(self.frequency)).unwrap_or(i64::MAX);
        let clocks = Clocks {
            perf_time: now,
            perf_freq: self.frequency,
            time_100ns: (self.calendar as i64).saturating_add(passed),
            object_time: 0,
            object_freq: 0,
        };
        (clocks, FileTime(ffi::system_time() as i64).to_system_time())
    }
}

/// The name of this machine, as data blocks have it.
#[must_use]
pub fn machine_name() -> String {
    ffi::computer_name()
}

/// The version of Windows, such as `10.0.22631`.
#[must_use]
pub fn windows_version() -> String {
    ffi::version().map(|number| number.to_string()).join(".")
}
