//! The clocks of the blocks that a broker makes.

use perfhive_format::{CalendarTime, Clocks, FileTime};
use std::time::{Instant, SystemTime};

/// A clock that gives the times of a broker's blocks.
pub trait BlockClock: Send {
    /// The clocks of a block that is made now, and the calendar time, UTC. The fields of the
    /// object's clock are not used: the provider of an object sets that clock.
    fn read(&mut self) -> (Clocks, CalendarTime);
}

/// The clock of the standard library. The performance counter counts the nanoseconds since this
/// clock was made. The time in 100 ns units begins with the system's time at that moment and never
/// steps. The calendar time is the system's, and steps when the system's clock is set.
#[derive(Debug)]
pub struct StdClock {
    start: Instant,
    wall: FileTime,
}

impl Default for StdClock {
    fn default() -> Self {
        Self { start: Instant::now(), wall: wall_clock() }
    }
}

fn wall_clock() -> FileTime {
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| i128::try_from(time.as_nanos()).unwrap_or(0));
    FileTime::from_unix_nanos(nanos)
}

impl BlockClock for StdClock {
    fn read(&mut self) -> (Clocks, CalendarTime) {
        let nanos = i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let clocks = Clocks {
            perf_time: nanos,
            perf_freq: 1_000_000_000,
            time_100ns: self.wall.0.saturating_add(nanos / 100),
            object_time: 0,
            object_freq: 0,
        };
        (clocks, wall_clock().to_system_time())
    }
}
