//! The times of a recording's samples.

use perfhive_format::FileTime;

/// A pause is a gap if it is at least so many times as long as the median of the pauses.
const GAP: i64 = 3;

/// The times of a recording's samples, in their order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    times: Vec<FileTime>,
}

/// A pause between two samples that is much longer than usual, or goes back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The time of the last sample before the pause.
    pub begin: FileTime,
    /// The time from `begin` to the next sample, in steps of 100 ns; negative where the clock was
    /// set back.
    pub pause: i64,
}

impl Timeline {
    /// Adds the time of the next sample.
    pub fn push(&mut self, time: FileTime) {
        self.times.push(time);
    }

    /// The times of the samples, in their order.
    #[must_use]
    pub fn times(&self) -> &[FileTime] {
        &self.times
    }

    /// The median of the pauses between samples (of an even number the greater of the middle two),
    /// in steps of 100 ns. `None` with fewer than two samples.
    #[must_use]
    pub fn interval(&self) -> Option<i64> {
        let mut pauses: Vec<i64> = self.pauses().collect();
        pauses.sort_unstable();
        pauses.get(pauses.len() / 2).copied()
    }

    /// Each pause that is at least three times as long as [`interval`](Self::interval), or goes
    /// back in time.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        let longest = self.interval().unwrap_or(0).max(1).saturating_mul(GAP);
        let gaps =
            self.times.iter().zip(self.pauses()).map(|(begin, pause)| Gap { begin: *begin, pause });
        gaps.filter(|gap| gap.pause < 0 || gap.pause >= longest).collect()
    }

    /// The time from each sample to the next, in steps of 100 ns; negative where the clock was set
    /// back.
    fn pauses(&self) -> impl Iterator<Item = i64> {
        self.times.windows(2).map(|pair| match pair {
            [one, next] => next.0.saturating_sub(one.0),
            _ => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pauses_and_steps_back_are_gaps() {
        let mut timeline = Timeline::default();
        for second in [0, 1, 2, 3, 13, 14, 11, 12, 14] {
            timeline.push(FileTime(second * 10_000_000));
        }
        assert_eq!(timeline.interval(), Some(10_000_000));
        let gap = |begin: i64, pause: i64| Gap {
            begin: FileTime(begin * 10_000_000),
            pause: pause * 10_000_000,
        };
        assert_eq!(timeline.gaps(), [gap(3, 10), gap(14, -3)]);
        assert_eq!((Timeline::default().interval(), Timeline::default().gaps()), (None, vec![]));
    }
}
