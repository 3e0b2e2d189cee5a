//! A probe context of a data source, and its readings as arrays.
//!
//! Readings become arrays when they are decoded, which may take time. Handing the arrays to Java is
//! a copy.

use crate::failure::{Failure, Kind, reason};
use crate::wire::Answer;
use perfhive::measure::{
    Anomaly, MeasureError, ProbeContext, SensorReading, SensorSlot, ValueType,
};
use perfhive::{CookedValue, NoValue};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of anomalies of one stage of a cycle for which a probe context has room without
/// allocating.
const ANOMALIES: usize = 64;

/// The number of samples after which the buffers that a source and its cache use in turn have their
/// full size. In earlier samples the buffers grow because they are new, which is no anomaly.
pub(crate) const SETTLING: u32 = 5;

/// The most different reasons for missing values that are kept from one sample to the next: a list
/// with more is emptied at the next sample.
const REASONS: usize = 256;

/// The codes of values, with the meanings that `org.perfhive.ProbeReadings` has.
mod code {
    /// The code of a missing value; the bits are then the number of the reason.
    pub(super) const NONE: i8 = 0;
    pub(super) const INT32: i8 = 1;
    pub(super) const INT64: i8 = 2;
    pub(super) const DOUBLE: i8 = 3;
    /// The bit of a code that says that the raw value is known.
    pub(super) const RAW: i8 = 4;
    /// The bit of a code that says that the raw value of the sample before is known.
    pub(super) const BEFORE: i8 = 8;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Decoded,
    Prepared,
    Taken,
}

/// A probe context with the readings of its newest sample.
pub(crate) struct Probe {
    context: Box<dyn ProbeContext>,
    stage: Stage,
    /// The number of samples taken, counted up to [`SETTLING`].
    samples: u32,
    /// The error of the last `prepare` or `sample`, which the next `decode` takes.
    failed: Option<MeasureError>,
    /// The anomalies of the newest sample, and after decoding also those that decoding found; none
    /// from `prepare` until the sample.
    anomalies: Vec<Anomaly>,
    /// The anomalies that the stage at work has found, before they are added to `anomalies`.
    found: Vec<Anomaly>,
    readings: Vec<SensorReading>,
    pub(crate) values: Values,
}

/// Readings as arrays. Each array has one entry for every reading, in the order of the readings.
#[derive(Default)]
pub(crate) struct Values {
    /// The values: integers, the bits of doubles, or numbers of reasons, as the code says.
    pub(crate) bits: Vec<i64>,
    /// The kinds of the values, and whether the raw values are known; see [`code`].
    pub(crate) codes: Vec<i8>,
    /// The version of the codes, which changes when a code changes. Codes seldom change.
    pub(crate) codes_version: i32,
    /// The bits of the raw values; 0 for one that is not known.
    pub(crate) raw: Vec<i64>,
    /// The bits of the raw values of the sample before; 0 for one that is not known.
    pub(crate) before: Vec<i64>,
    slots: Vec<(usize, Arc<SensorSlot>)>,
    /// The version of the slots, which changes when the slots change.
    pub(crate) version: i32,
    /// The slots that Java was last given, and their version.
    delivered: (i32, Vec<(usize, Arc<SensorSlot>)>),
    reasons: Vec<NoValue>,
    /// The version of the reasons, which changes when the reasons change.
    pub(crate) reasons_version: i32,
}

impl Probe {
    /// A probe context with the readings of its baseline.
    pub(crate) fn new(mut context: Box<dyn ProbeContext>) -> Self {
        let mut readings = Vec::new();
        context.baseline(&mut readings);
        let mut values = Values::default();
        values.fill(&readings);
        Self {
            context,
            stage: Stage::Decoded,
            samples: 0,
            failed: None,
            anomalies: Vec::with_capacity(2 * ANOMALIES),
            found: Vec::with_capacity(ANOMALIES),
            readings,
            values,
        }
    }

    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        self.anomalies.clear();
        self.anomalies.reserve(2 * ANOMALIES);
        self.found.clear();
        self.found.reserve(ANOMALIES);
        // A failure is decoded, too.
        self.stage = Stage::Taken;
        self.failed = self.context.prepare().err();
        self.result()?;
        self.stage = Stage::Prepared;
        Ok(())
    }

    /// Takes a sample within `patience`, without a limit for `None`. Returns the number of the sample's
    /// anomalies. A sample without a failure allocates nothing once the buffers have their full size.
    pub(crate) fn sample(&mut self, patience: Option<Duration>) -> Result<usize, Failure> {
        self.expect(Stage::Prepared, "sample")?;
        self.stage = Stage::Taken;
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        self.failed = self.context.sample(deadline, &mut self.found).err();
        if self.samples < SETTLING {
            self.samples += 1;
            self.found.retain(|anomaly| !matches!(anomaly, Anomaly::BufferGrown { .. }));
        }
        self.anomalies.append(&mut self.found);
        self.result()?;
        Ok(self.anomalies.len())
    }

    pub(crate) fn decode(&mut self) -> Result<(), Failure> {
        self.expect(Stage::Taken, "decode")?;
        self.stage = Stage::Decoded;
        self.readings.clear();
        let failed = self.failed.take();
        self.context.decode(failed.as_ref(), &mut self.found, &mut self.readings);
        self.anomalies.append(&mut self.found);
        self.values.fill(&self.readings);
        Ok(())
    }

    fn result(&self) -> Result<(), Failure> {
        self.failed.clone().map_or(Ok(()), |error| Err(error.into()))
    }

    fn expect(&self, stage: Stage, operation: &str) -> Result<(), Failure> {
        if self.stage == stage {
            return Ok(());
        }
        let message = format!("{operation} is not possible in state {:?}", self.stage);
        Err(Failure::new(Kind::State, message))
    }

    pub(crate) fn anomaly_count(&self) -> usize {
        self.anomalies.len()
    }

    pub(crate) fn anomalies(&self, answer: &mut Answer) {
        answer.count(self.anomalies.len());
        for anomaly in &self.anomalies {
            let (subject, count, age): (&str, usize, Duration) = match anomaly {
                Anomaly::Born { group, count } | Anomaly::Gone { group, count } => {
                    (group, *count, Duration::ZERO)
                }
                Anomaly::StructureChanged { group } => (group, 0, Duration::ZERO),
                Anomaly::Aged { source, age } => (source, 0, *age),
                Anomaly::More { source, count } => (source, *count, Duration::ZERO),
                Anomaly::BufferGrown { source }
                | Anomaly::Late { source }
                | Anomaly::Failed { source, .. }
                | Anomaly::Partial { source, .. } => (source, 0, Duration::ZERO),
                _ => ("", 0, Duration::ZERO),
            };
            answer.text(anomaly.code()).text(subject).count(count);
            answer.i64(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX));
            answer.text(&anomaly.to_string());
        }
    }
}

impl Values {
    fn fill(&mut self, readings: &[SensorReading]) {
        if self.reasons.len() > REASONS {
            self.reasons.clear();
        }
        self.bits.clear();
        let mut codes_changed = self.codes.len() != readings.len();
        self.codes.resize(readings.len(), code::NONE);
        self.raw.clear();
        self.before.clear();
        let is_same = |(slot, reading): (&(usize, Arc<SensorSlot>), &SensorReading)| {
            slot.0 == reading.asked && Arc::ptr_eq(&slot.1, &reading.slot)
        };
        let same =
            self.slots.len() == readings.len() && self.slots.iter().zip(readings).all(is_same);
        if !same {
            self.slots.clear();
            self.slots.extend(readings.iter().map(|r| (r.asked, Arc::clone(&r.slot))));
            self.version = self.version.wrapping_add(1);
        }
        for (place, reading) in readings.iter().enumerate() {
            let (mut code, bits) = match (&reading.value, reading.slot.value_type) {
                (Ok(CookedValue::Integer(value)), ValueType::Int32) => (code::INT32, *value),
                (Ok(CookedValue::Integer(value)), ValueType::Int64) => (code::INT64, *value),
                (Ok(value), _) => (code::DOUBLE, value.as_f64().to_bits()),
                (Err(why), _) => (code::NONE, self.reason(why)),
            };
            code |= reading.raw.map_or(0, |_| code::RAW);
            code |= reading.before.map_or(0, |_| code::BEFORE);
            if let Some(known) = self.codes.get_mut(place) {
                codes_changed |= std::mem::replace(known, code) != code;
            }
            self.bits.push(bits.cast_signed());
            self.raw.push(reading.raw.unwrap_or(0).cast_signed());
            self.before.push(reading.before.unwrap_or(0).cast_signed());
        }
        self.codes_version = self.codes_version.wrapping_add(i32::from(codes_changed));
    }

    /// The number of a reason why there is no value; a new reason is added.
    fn reason(&mut self, why: &NoValue) -> u64 {
        let known = self.reasons.iter().position(|known| is_same(known, why));
        let place = known.unwrap_or_else(|| {
            self.reasons.push(why.clone());
            self.reasons_version = self.reasons_version.wrapping_add(1);
            self.reasons.len() - 1
        });
        place as u64
    }

    /// Puts the slots, the sensor and instance of each reading, into the answer: their version, how
    /// many they are, and then runs. `known` is the version of the slots that Java has. A run of
    /// known slots is the position of its first slot in that version, and the number of slots that
    /// follow one another both there and here. A new slot is -1, the position of its sensor among
    /// the requested ones, and its instance.
    pub(crate) fn structure(&mut self, known: i32, answer: &mut Answer) {
        let key = |(asked, slot): &(usize, Arc<SensorSlot>)| (*asked, Arc::as_ptr(slot));
        let before: HashMap<_, usize> = match &self.delivered {
            (version, slots) if *version == known => {
                slots.iter().enumerate().map(|(place, slot)| (key(slot), place)).collect()
            }
            _ => HashMap::new(),
        };
        answer.i32(self.version).count(self.slots.len());
        let mut slots = self.slots.iter().peekable();
        while let Some(slot) = slots.next() {
            let Some(place) = before.get(&key(slot)) else {
                answer.i32(-1).count(slot.0).optional_text(slot.1.name.instance());
                continue;
            };
            let mut length = 1;
            while slots.next_if(|next| before.get(&key(next)) == Some(&(place + length))).is_some()
            {
                length += 1;
            }
            answer.count(*place).count(length);
        }
        let (version, delivered) = &mut self.delivered;
        *version = self.version;
        delivered.clone_from(&self.slots);
    }

    pub(crate) fn reasons(&self, answer: &mut Answer) {
        answer.i32(self.reasons_version).count(self.reasons.len());
        for why in &self.reasons {
            let (code, message) = reason(why);
            answer.text(code).text(&message);
        }
    }
}

/// Whether two reasons are of the same kind and, if they have a cause, of the same cause. Two such
/// reasons have the same code and text.
fn is_same(one: &NoValue, other: &NoValue) -> bool {
    match (one, other) {
        (NoValue::InstanceFailed(one), NoValue::InstanceFailed(other))
        | (NoValue::Busy(one), NoValue::Busy(other)) => one == other,
        (NoValue::ObjectMissing(one), NoValue::ObjectMissing(other)) => one == other,
        (NoValue::Data(one), NoValue::Data(other)) => one == other,
        (NoValue::Cook(one), NoValue::Cook(other)) => one == other,
        (NoValue::SourceFailed(one), NoValue::SourceFailed(other)) => one == other,
        // Readings are not formatted.
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::handles::{self, Object};
    use crate::source::OpenSource;
    use std::sync::Mutex;

    #[global_allocator]
    static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

    /// The number of the sensor `% Processor Time` of Process: its object and its counter.
    const PROCESSOR_TIME: i64 = 230 << 32 | 6;

    #[test]
    fn a_warm_sample_allocates_nothing() {
        let mut source = OpenSource::new("local:", &[]).unwrap();
        let own = Some(std::process::id().to_string());
        let probe = source.probe(vec![(PROCESSOR_TIME, own)], std::time::Duration::ZERO).unwrap();
        let handle = handles::insert(Object::Probe(Mutex::new(probe))).unwrap();
        let mut counts = Vec::new();
        for _ in 0..6 {
            handles::probe(handle, |probe| probe.prepare()).unwrap();
            let sample = || handles::probe(handle, |probe| probe.sample(None));
            let (taken, allocations) = perfhive_testkit::alloc::count(sample);
            taken.unwrap();
            counts.push(allocations.count);
            handles::probe(handle, |probe| probe.decode()).unwrap();
        }
        handles::close(handle).unwrap();
        assert_eq!(counts.last(), Some(&0), "{counts:?}");
    }
}
