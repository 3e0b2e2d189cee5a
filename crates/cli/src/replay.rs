//! [`Replay`]: the schedule by which a recording is shown with the pauses between its samples.

use crate::args::Global;
use crate::failure::{Failure, of_source};
use perfhive::FileTime;
use std::time::{Duration, Instant};

/// The schedule by which a recording is shown: the pauses between its samples, divided by a speed.
pub(crate) struct Replay {
    speed: f64,
    /// The time of the previous sample, and the moment when it was due.
    last: Option<(FileTime, Instant)>,
}

impl Replay {
    /// A replay with the speed of the command line; `None` without one.
    ///
    /// # Errors
    /// If a speed is given for a live source, which has no past to replay.
    pub(crate) fn of(
        global: &Global,
        speed: Option<f64>,
        is_live: bool,
    ) -> Result<Option<Self>, Failure> {
        if is_live && speed.is_some() {
            let what = "is not a recording, and --speed replays recordings";
            return Err(Failure::Usage(of_source(&global.source, what)));
        }
        Ok(speed.map(Self::with_speed))
    }

    /// A replay that is `speed` times as fast as the recording.
    pub(crate) fn with_speed(speed: f64) -> Self {
        Self { speed, last: None }
    }

    /// The moment when a sample of this time is due: `now` for the first sample, for another one as long after the
    /// previous one was due as the recorded time between both, divided by the speed. If the recorded clock went
    /// back, it is the moment when the previous sample was due.
    pub(crate) fn due(&mut self, time: FileTime, now: Instant) -> Instant {
        let due = self.last.map_or(now, |(before, due)| {
            let steps = time.0.saturating_sub(before.0).max(0);
            due + Duration::from_secs_f64(steps as f64 / 1e7 / self.speed)
        });
        self.last = Some((time, due));
        due
    }

    /// The time of the last sample that [`due`](Self::due) was asked for; `None` before the first.
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
