//! Looking for the next event without sleeping.

use crate::clock;
use std::time::Duration;

/// The time for which an event source looks for its next event before its thread sleeps. The program under test has to
/// wake a thread that sleeps, which takes it some microseconds, and the event is measured as much later.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    /// The time in nanoseconds; 0 to sleep at once.
    limit: u64,
    /// The time at which the source first found nothing since its last event.
    since: Option<u64>,
}

impl Spin {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit: u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX), since: None }
    }

    /// Whether the source should look again now that it found no event; `false` if it should sleep.
    /// Before it returns `true`, other threads that wait for this processor may run.
    pub(crate) fn goes_on(&mut self) -> bool {
        if self.limit == 0 {
            return false;
        }
        let now = clock::now();
        if now - *self.since.get_or_insert(now) >= self.limit {
            return false;
        }
        std::thread::yield_now();
        true
    }

    /// Notes that there was an event: the time starts again at the next look that finds none.
    pub(crate) fn begin(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_from_the_first_look_behind_an_event() {
        let mut spin = Spin::new(Duration::from_secs(3600));
        assert!(spin.goes_on());
        spin.since = spin.since.map(|since| since - 3_600_000_000_000);
        assert!(!spin.goes_on());
        spin.begin();
        assert!(spin.goes_on());
        assert!(!Spin::default().goes_on());
    }
}
