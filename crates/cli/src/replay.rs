//! The pauses of a recording, when it is shown as it was recorded.

use crate::args::Global;
use crate::failure::{Failure, of_source};
use perfhive::FileTime;
use std::time::{Duration, Instant};

/// A recording that is shown with the pauses between its samples, or a part of them.
pub(crate) struct Replay {
    speed: f64,
    /// The time of the sample before, and when it was due.
    last: Option<(FileTime, Instant)>,
}

impl Replay {
    /// A replay with the speed that the command line names, if it names one.
    ///
    /// # Errors
    /// Of a live source: it has no past to replay.
    pub(crate) fn of(
        global: &Global,
        speed: Option<f64>,
        is_live: bool,
    ) -> Result<Option<Self>, Failure> {
        if is_live && speed.is_some() {
            let what = "has no past to replay: --speed is for recordings";
            return Err(Failure::Usage(of_source(&global.source, what)));
        }
        Ok(speed.map(Self::with_speed))
    }

    /// A replay so many times as fast as the recording.
    pub(crate) fn with_speed(speed: f64) -> Self {
        Self { speed, last: None }
    }

    /// When a sample of this time is due. After a step back of the clock it is at once.
    pub(crate) fn due(&mut self, time: FileTime, now: Instant) -> Instant {
        let due = self.last.map_or(now, |(before, due)| {
            let steps = time.0.saturating_sub(before.0).max(0);
            due + Duration::from_secs_f64(steps as f64 / 1e7 / self.speed)
        });
        self.last = Some((time, due));
        due
    }

    /// The time of the sample that was due last.
    pub(crate) fn reached(&self) -> Option<FileTime> {
        self.last.map(|(time, _)| time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_keeps_the_pauses_of_the_recording_and_does_not_wait_for_clocks_set_back() {
        let start = Instant::now();
        let mut replay = Replay::with_speed(10.0);
        let mut due =
            |seconds: i64| replay.due(FileTime(seconds * 10_000_000), start).duration_since(start);
        let ms = Duration::from_millis;
        assert_eq!(
            [due(100), due(101), due(161), due(50), due(51)],
            [ms(0), ms(100), ms(6100), ms(6100), ms(6200)]
        );
    }
}
