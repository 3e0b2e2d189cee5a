//! Records of events, and the memory in which they wait for delivery.

use crate::event::{PerfEvent, locked};
use perfhive_engine::measure::{Readings, SensorName};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

/// A sensor of a binding's records; each record has a reading of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordColumn {
    /// The sensor, with its instance.
    pub name: SensorName,
    /// The unit of the sensor's values, as in
    /// [`SensorSlot::unit`](perfhive_engine::measure::SensorSlot::unit).
    pub unit: Arc<str>,
    /// The number of units of the raw value in a second; `None` if the raw value does not count
    /// time.
    pub raw_per_second: Option<u64>,
}

/// A reading as records keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RecordedReading {
    /// The value; `None` if there is none. A rate or share is calculated over the time since the
    /// binding's previous event.
    pub value: Option<f64>,
    /// The raw value from which the value is calculated; `None` if there is none.
    pub raw: Option<u64>,
}

/// An event and the readings that were taken at it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventRecord {
    /// The event.
    pub event: PerfEvent,
    /// The time at which the event source returned the event, on the clock of [`PerfEvent::time`].
    pub taken: u64,
    /// How long the sample took; zero if no sample could be taken.
    pub sample: Duration,
    /// The time at which the sample ended, on the clock of [`PerfEvent::time`]:
    /// [`delay`](Self::delay) after the event.
    pub sampled: u64,
    /// The time at which the record was complete, on the clock of [`PerfEvent::time`].
    pub done: u64,
    /// The readings, in the order of the columns.
    pub readings: Vec<RecordedReading>,
}

impl EventRecord {
    /// The time between the event and the end of its sample: how old the event was by then.
    #[must_use]
    pub fn delay(&self) -> Duration {
        Duration::from_nanos(self.sampled.saturating_sub(self.event.time))
    }
}

/// The parts of a record beside its readings.
#[derive(Clone, Debug)]
pub(crate) struct RecordHead {
    pub(crate) event: PerfEvent,
    pub(crate) taken: u64,
    pub(crate) sample: Duration,
    pub(crate) sampled: u64,
    /// The time at which the record was complete; 0 until then.
    pub(crate) done: u64,
}

/// The records of a binding that are delivered together.
#[derive(Debug)]
pub struct RecordBatch<'a> {
    /// The beginning of the experiment on the clock of events.
    pub(crate) begin: u64,
    pub(crate) source: &'a str,
    pub(crate) interval: Option<Duration>,
    pub(crate) columns: &'a [RecordColumn],
    pub(crate) half: &'a Half,
}

impl<'a> RecordBatch<'a> {
    /// The name of the event source.
    #[must_use]
    pub fn source(&self) -> &'a str {
        self.source
    }

    /// The time between two events of the source, if a clock decides when they happen; `None`
    /// otherwise.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// The sensors of the records.
    #[must_use]
    pub fn columns(&self) -> &'a [RecordColumn] {
        self.columns
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.half.heads.len()
    }

    /// Whether the batch has no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.half.heads.is_empty()
    }

    /// The records, in the order of the events.
    pub fn records(&self) -> impl Iterator<Item = EventRecord> + use<'a> {
        let width = self.columns.len();
        let half = self.half;
        half.heads.iter().enumerate().map(move |(number, head)| {
            let readings = half.readings.get(number * width..(number + 1) * width);
            EventRecord {
                event: head.event.clone(),
                taken: head.taken,
                sample: head.sample,
                sampled: head.sampled,
                done: head.done,
                readings: readings.unwrap_or_default().to_vec(),
            }
        })
    }
}

/// The number of records of a binding that may wait for delivery, unless the builder says
/// otherwise.
pub(crate) const CAPACITY: usize = 16_384;

/// The most bytes of one half of a binding's memory that are written to before the first event.
const MOST_WRITTEN: usize = 4 << 20;

/// One half of a binding's memory for records.
#[derive(Debug, Default)]
pub(crate) struct Half {
    heads: Vec<RecordHead>,
    readings: Vec<RecordedReading>,
}

impl Half {
    /// An empty half with room for this number of records of `width` sensors. Its memory, up to
    /// [`CAPACITY`] records and [`MOST_WRITTEN`] bytes, is written to here: the kernel provides
    /// memory only at the first write, which takes as long as an event.
    fn with_capacity(records: usize, width: usize) -> Self {
        let (heads, readings) = (Vec::with_capacity(records), Vec::with_capacity(records * width));
        let mut half = Self { heads, readings };
        let event = PerfEvent::now(&Arc::from(""));
        let head = RecordHead { event, taken: 0, sample: Duration::ZERO, sampled: 0, done: 0 };
        let one = size_of::<RecordHead>() + width * size_of::<RecordedReading>();
        let written = records.min(CAPACITY).min(MOST_WRITTEN / one);
        half.heads.resize(written, head);
        half.readings.resize(written * width, RecordedReading { value: None, raw: Some(0) });
        half.clear();
        half
    }

    /// A copy of the records for which `choice` is `true`; `width` is the number of sensors.
    pub(crate) fn chosen(&self, choice: &[bool], width: usize) -> Self {
        let mut chosen = Self::default();
        for (number, head) in self.heads.iter().enumerate() {
            if choice.get(number) == Some(&true) {
                chosen.heads.push(head.clone());
                let readings = self.readings.get(number * width..(number + 1) * width);
                chosen.readings.extend_from_slice(readings.unwrap_or_default());
            }
        }
        chosen
    }

    /// Removes all records; the memory stays allocated.
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.readings.clear();
    }
}

/// The memory of a binding's records: two halves, of which one is filled while the other is
/// delivered. Both are allocated at the beginning.
#[derive(Debug)]
pub(crate) struct RecordStore {
    /// The half that is being filled, and the number of records that found no room.
    filling: Mutex<(Half, u64)>,
    capacity: usize,
    width: usize,
}

/// The result of keeping a record.
#[derive(Debug)]
pub(crate) enum Kept {
    /// The record is kept.
    Stored,
    /// The record is kept, and is the one with which the half becomes half full: it is time to
    /// deliver.
    HalfFull,
    /// There was no room for the record of this event.
    Lost(PerfEvent),
}

impl RecordStore {
    /// A store with its first half, and the second half. Each half has room for `capacity` records,
    /// at least 2, of `width` readings.
    pub(crate) fn new(capacity: usize, width: usize) -> (Self, Half) {
        let (capacity, half) = (capacity.max(2), || Half::with_capacity(capacity.max(2), width));
        (Self { filling: Mutex::new((half(), 0)), capacity, width }, half())
    }

    /// Keeps a record without allocating. Returns the result, and the time at which the record was
    /// complete, which is read last.
    pub(crate) fn keep(&self, head: RecordHead, readings: &Readings) -> (Kept, u64) {
        let mut filling = locked(&self.filling);
        let (half, lost) = &mut *filling;
        if half.heads.len() >= self.capacity {
            *lost += 1;
            return (Kept::Lost(head.event), crate::clock::now());
        }
        let begin = half.readings.len();
        half.readings.resize(begin + self.width, RecordedReading::default());
        for reading in readings.iter() {
            // One reading for each sensor: experiments take no sensor of all instances.
            if let Some(place) =
                half.readings.get_mut(begin..).and_then(|l| l.get_mut(reading.asked))
            {
                let value = reading.value.as_ref().ok().map(|value| value.as_f64());
                *place = RecordedReading { value, raw: reading.raw };
            }
        }
        half.heads.push(head);
        let is_half = half.heads.len() == self.capacity / 2;
        let done = crate::clock::now();
        half.heads.last_mut().into_iter().for_each(|head| head.done = done);
        (if is_half { Kept::HalfFull } else { Kept::Stored }, done)
    }

    /// Exchanges the half that is being filled for `empty`, which is cleared first.
    pub(crate) fn exchange(&self, empty: &mut Half) {
        empty.clear();
        std::mem::swap(&mut locked(&self.filling).0, empty);
    }

    /// The number of records that found no room so far.
    pub(crate) fn lost(&self) -> u64 {
        locked(&self.filling).1
    }
}
