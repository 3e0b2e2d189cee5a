//! Spans of time in which records of the kernel may have been lost.

/// A span of time: from behind the first time up to and including the second.
pub(super) type Span = (u64, u64);

/// The smallest span that contains both spans; the other span if one is `None`, and `None` if both
/// are.
pub(super) fn united(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// The last span in which records may have been lost, and the gap of the events returned so far.
#[derive(Debug)]
pub(super) struct Tears {
    span: Span,
    /// Whether an event from behind the span was returned.
    is_behind: bool,
    gap: u64,
}

impl Tears {
    pub(super) fn new() -> Self {
        Self { span: (0, 0), is_behind: true, gap: 0 }
    }

    /// Adds a span. `earliest` is the time of the earliest event that was not yet returned. If that time
    /// is not after the end of the present span, the two spans become one; otherwise, or without such
    /// an event, the new span replaces the present one.
    pub(super) fn add(&mut self, new: Span, earliest: Option<u64>) {
        let before = earliest.is_some_and(|earliest| earliest <= self.span.1).then_some(self.span);
        self.gap += u64::from(!self.is_behind);
        self.span = united(before, Some(new)).unwrap_or(new);
        self.is_behind = false;
    }

    /// The [`gap`](crate::PerfEvent::gap) of the next event, which has this time. Within a span in
    /// which records may have been lost, no two events have the same gap.
    pub(super) fn gap(&mut self, time: u64) -> u64 {
        let (from, to) = self.span;
        if time > from {
            self.gap += u64::from(time <= to || !self.is_behind);
            self.is_behind = time > to;
        }
        self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_around_a_tear_have_different_numbers_and_others_the_same() {
        let mut tears = Tears::new();
        assert_eq!([1, 2].map(|time| tears.gap(time)), [0, 0]);
        tears.add((10, 20), Some(5));
        assert_eq!([5, 10, 11, 20, 21, 30].map(|time| tears.gap(time)), [0, 0, 1, 2, 3, 3]);
        // None within.
        tears.add((40, 50), None);
        assert_eq!([40, 51].map(|time| tears.gap(time)), [3, 4]);
        // The next one begins before an event from behind the last one was told.
        tears.add((60, 70), None);
        assert_eq!(tears.gap(65), 5);
        tears.add((80, 90), Some(71));
        assert_eq!([71, 80, 91].map(|time| tears.gap(time)), [6, 6, 7]);
        // One that is not over is made longer.
        tears.add((100, 110), None);
        tears.add((120, 130), Some(105));
        let numbers = [105, 115, 131].map(|time| tears.gap(time));
        assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    }
}
