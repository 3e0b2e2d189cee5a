//! A value that crosses a threshold, as events.

use crate::EventKind;
use crate::event::{Closer, EventSource, Interval, PerfEvent};
use crate::run::columns_of;
use perfhive_engine::measure::{MeasureError, MeasurementContext, Readings};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The event source of a sensor's value that crosses a threshold. A start happens when the value
/// reaches the upper limit or has reached it at the first reading, and an end when it then falls
/// below the lower limit: the time between them is a section. The value is read at an interval;
/// changes between two readings are not seen.
///
/// With two limits (hysteresis), a value that trembles around one of them is one event.
pub struct ThresholdCrossing {
    name: Arc<str>,
    context: MeasurementContext,
    readings: Readings,
    interval: Interval,
    above: f64,
    below: f64,
    is_above: bool,
}

impl ThresholdCrossing {
    /// The events of a context's one sensor, which is read once in `every`: a start when its value
    /// is `above` or more, and an end when it is then less than `below`, which is at most `above`.
    ///
    /// # Errors
    /// A context with no sensor, with several, or with a sensor of all instances; limits that are not finite; `below`
    /// greater than `above`.
    pub fn new(
        name: &str,
        context: MeasurementContext,
        every: Duration,
        above: f64,
        below: f64,
    ) -> Result<Self, MeasureError> {
        if columns_of(&context)?.len() != 1 {
            let what = "a threshold is of one sensor of one instance";
            return Err(MeasureError::Refused(what.into()));
        }
        if !(above.is_finite() && below.is_finite() && below <= above) {
            let what = format!(
                "the limits {above} and {below}: both are finite, and the lower one at most the upper"
            );
            return Err(MeasureError::Refused(what.into()));
        }
        let (interval, readings) = (Interval::new(name, every), Readings::new());
        let name = name.into();
        Ok(Self { name, context, readings, interval, above, below, is_above: false })
    }

    /// The sensor's value now; `None` if it has none or the sample failed. The end of a recording
    /// is an error.
    fn value(&mut self) -> io::Result<Option<f64>> {
        let mut cycle = || {
            self.context.prepare()?;
            self.context.sample()?;
            self.context.decode(&mut self.readings).map(drop)
        };
        match cycle() {
            Ok(()) => {}
            Err(MeasureError::Source(error)) if error.is_end_of_data() => {
                return Err(io::Error::other(error));
            }
            Err(_) => return Ok(None),
        }
        let reading = self.readings.iter().next();
        Ok(reading.and_then(|one| one.value.as_ref().ok()).map(|value| value.as_f64()))
    }
}

impl EventSource for ThresholdCrossing {
    fn name(&self) -> &str {
        &self.name
    }

    fn wait(&mut self) -> io::Result<Option<PerfEvent>> {
        loop {
            if self.interval.wait()?.is_none() {
                return Ok(None);
            }
            // A missing value changes nothing.
            let Some(value) = self.value()? else { continue };
            let kind = match self.is_above {
                false if value >= self.above => EventKind::Start,
                true if value < self.below => EventKind::End,
                _ => continue,
            };
            self.is_above = kind == EventKind::Start;
            return Ok(Some(PerfEvent { kind, ..PerfEvent::now(&self.name) }));
        }
    }

    fn closer(&self) -> Closer {
        self.interval.closer()
    }

    /// The number of missed events, which is 0: a value that is read late is still read.
    fn missed(&self) -> u64 {
        0
    }
}
