//! A span of time.

use perfhive_format::FileTime;

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The beginning of the span.
    pub from: FileTime,
    /// The end of the span; later than the beginning.
    pub to: FileTime,
}

impl Window {
    /// The length of the span in steps of 100 ns, at least 1.
    #[must_use]
    pub fn width(self) -> i64 {
        self.to.0.saturating_sub(self.from.0).max(1)
    }

    /// The length of the span in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.width() as f64 / FileTime::PER_SECOND as f64
    }

    /// The time at a part of the span: 0 is its beginning, 1 its end.
    #[must_use]
    pub fn at(self, part: f64) -> FileTime {
        FileTime(self.from.0.saturating_add((self.width() as f64 * part).round() as i64))
    }
}
