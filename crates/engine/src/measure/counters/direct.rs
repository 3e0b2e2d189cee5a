//! Instances that are read without data blocks.

use super::{CounterProbe, ProbedCounter};
use crate::error::SourceError;
use crate::identity::Identity;
use crate::instance_reader::InstanceReader;
use crate::measure::{Anomaly, SensorReading, SensorSlot};
use crate::query::NoValue;
use crate::source::Source;
use perfhive_format::{
    CookError, CookOptions, CookedValue, Formula, RawSample, TitleIndex, ValueError,
};
use std::sync::Arc;
use std::time::Duration;

/// The least length of a rate's interval, as a multiple of the inexactness of its two samples
/// together. The rate's error is then at most a tenth.
const LONGER: u32 = 10;

/// An instance that is read without data blocks, with its reader. A reading becomes the newest when
/// it is decoded, as with blocks.
pub(super) struct DirectInstance {
    /// The index of the object among those of the probe.
    pub(super) object: usize,
    /// The reader of the instance; `None` once the instance is gone.
    reader: Option<Box<dyn InstanceReader>>,
    /// The result of the last reading, from `sample` until it is decoded; `None` otherwise.
    read: Option<Result<Duration, NoValue>>,
    /// The result of the newest decoded reading.
    decoded: Result<(), NoValue>,
    /// The values of the last reading, until it is decoded; `None` for a counter without a value.
    fresh: Vec<Option<RawSample>>,
    /// The values of the newest decoded reading, `None` for a counter without a value; without
    /// meaning if `decoded` is an error.
    current: Vec<Option<RawSample>>,
    /// The values of the last successful reading before the newest one; `None` if there is no such
    /// reading.
    previous: Option<Vec<Option<RawSample>>>,
    /// The inexactness of the times of `current` and of `previous`, in this order, as the reader
    /// returned it.
    inexact: [Duration; 2],
}

/// The position of a sensor's values: the index of the instance in [`CounterProbe::direct`], and
/// the index of the counter among those of its reader.
#[derive(Clone, Copy)]
pub(super) struct DirectPlace {
    instance: usize,
    counter: usize,
}

impl DirectInstance {
    fn new(object: usize, reader: Box<dyn InstanceReader>, counters: usize) -> Self {
        Self {
            object,
            reader: Some(reader),
            read: None,
            decoded: Err(NoValue::ObjectMissing(None)),
            fresh: vec![None; counters],
            current: vec![None; counters],
            previous: None,
            inexact: [Duration::ZERO; 2],
        }
    }

    /// Reads the values of the instance's counters, and keeps them for [`decode`](Self::decode).
    pub(super) fn sample(&mut self) {
        let Some(reader) = &mut self.reader else {
            self.read = Some(Err(NoValue::Vanished));
            return;
        };
        self.read = Some(reader.read(&mut self.fresh));
    }

    /// Makes the values that were read the newest reading. Returns whether the instance ended since
    /// the reading before.
    pub(super) fn decode(&mut self) -> bool {
        if self.decoded.is_ok() {
            self.inexact[1] = self.inexact[0];
            let spare = self.previous.take().unwrap_or_else(|| vec![None; self.current.len()]);
            self.previous = Some(std::mem::replace(&mut self.current, spare));
        }
        // Without a sample the reason is the failure of the source, which the caller has.
        match self.read.take().unwrap_or(Err(NoValue::ObjectMissing(None))) {
            Ok(inexact) => {
                std::mem::swap(&mut self.current, &mut self.fresh);
                self.decoded = Ok(());
                self.inexact[0] = inexact;
            }
            Err(why) => {
                let is_gone = matches!(why, NoValue::Vanished) && self.reader.take().is_some();
                self.decoded = Err(why);
                return is_gone;
            }
        }
        false
    }

    /// Whether the newest reading and the one before it are too close together for a rate.
    fn is_close(&self, older: &RawSample, newer: &RawSample) -> bool {
        let time = |sample: &RawSample| sample.clocks.time_100ns;
        let passed = time(newer).saturating_sub(time(older));
        // Where time goes backwards, the formula says so.
        let passed = u64::try_from(passed).ok();
        let passed = passed.map(|passed| Duration::from_nanos(passed.saturating_mul(100)));
        let [newer, older] = self.inexact;
        passed.is_some_and(|passed| passed < (newer + older).saturating_mul(LONGER))
    }

    /// Adds the reading of a sensor to `out`, with the value of its counter. `failed` is the failure
    /// of the source, if it failed.
    fn push(
        &self,
        (asked, slot): (usize, &Arc<SensorSlot>),
        (counter, formula): (usize, Result<Formula, CookError>),
        failed: Option<&SourceError>,
        out: &mut Vec<SensorReading>,
    ) {
        let (mut raw, mut before, mut raw_per_second) = (None, None, None);
        let mut cook = || -> Result<CookedValue, NoValue> {
            match (&self.decoded, failed) {
                (Ok(()), _) => {}
                // Where nothing was read, the source's failure is the reason.
                (Err(NoValue::ObjectMissing(None)), Some(error)) => {
                    return Err(NoValue::SourceFailed(error.clone()));
                }
                (Err(why), _) => return Err(why.clone()),
            }
            let Some(Some(sample)) = self.current.get(counter) else {
                return Err(NoValue::Data(ValueError::Absent));
            };
            let previous = self.previous.as_ref().and_then(|list| list.get(counter)?.as_ref());
            (raw, before) = (Some(sample.value), previous.map(|previous| previous.value));
            let formula = formula.map_err(NoValue::Cook)?;
            let frequency = formula.clock_of_value().map(|clock| clock.frequency(&sample.clocks));
            raw_per_second = frequency.and_then(|of| u64::try_from(of.ok()?).ok());
            if formula.samples() == 2 {
                let older = previous.ok_or(NoValue::NeedsTwoSamples)?;
                if self.is_close(older, sample) {
                    return Err(NoValue::Cook(CookError::NoTimePassed));
                }
            }
            // Only a certain identity has a reader.
            let options = CookOptions::default().with_same_instance(true);
            formula.apply(options, previous, sample).map_err(NoValue::Cook)
        };
        let value = cook();
        let slot = Arc::clone(slot);
        out.push(SensorReading { asked, slot, value, raw, before, raw_per_second });
    }
}

/// The instances of an object, and the places of its sensors' values, each with the index of the
/// sensor in `CounterProbe::targets`.
type ObjectReaders = (Vec<DirectInstance>, Vec<(usize, DirectPlace)>);

impl ProbedCounter {
    /// Adds the reading of a sensor with an instance that is read without blocks. Returns `false`
    /// for any other sensor.
    pub(super) fn read_direct(
        &self,
        instances: &[DirectInstance],
        failed: Option<&SourceError>,
        out: &mut Vec<SensorReading>,
    ) -> bool {
        let (Some(place), Some(one)) = (self.direct, &self.one) else { return false };
        let Some(instance) = instances.get(place.instance) else { return false };
        instance.push((self.asked, &one.slot), (place.counter, self.formula), failed, out);
        true
    }
}

impl<S: Source> CounterProbe<S> {
    /// Finds the objects of which every measured instance has a reader. These instances are read by
    /// their readers from now on, with a first sample of each; other objects are read from blocks.
    pub(super) fn read_directly(&mut self) {
        for object in 0..self.objects.len() {
            let Some((instances, places)) = self.readers_of(object) else { continue };
            let first = self.direct.len();
            self.direct.extend(instances);
            for (target, place) in places {
                let instance = first + place.instance;
                if let Some(target) = self.targets.get_mut(target) {
                    target.direct = Some(DirectPlace { instance, ..place });
                }
            }
        }
        self.note_objects();
    }

    /// The readers of all measured instances of an object, and the position of its sensors' values,
    /// by the index of the sensor. `None` unless every sensor of the object measures one instance,
    /// and every one of these instances has a reader that delivers values now.
    fn readers_of(&mut self, object: usize) -> Option<ObjectReaders> {
        let probed = self.objects.get(object).filter(|probed| !probed.all)?;
        let index = probed.index.index()?;
        let mut instances: Vec<(Identity, Vec<TitleIndex>)> = Vec::new();
        let mut places = Vec::new();
        for (number, target) in self.targets.iter().enumerate() {
            if target.object != object {
                continue;
            }
            let identity = target.one.as_ref()?.identity.as_ref()?;
            if !identity.is_certain() {
                return None;
            }
            let known = instances.iter().position(|(known, _)| known == identity);
            let instance = known.unwrap_or_else(|| {
                instances.push((identity.clone(), Vec::new()));
                instances.len() - 1
            });
            let (_, counters) = instances.get_mut(instance)?;
            places.push((number, DirectPlace { instance, counter: counters.len() }));
            counters.push(target.counter.index()?);
        }
        let mut readers = Vec::new();
        for (identity, counters) in &instances {
            let reader = self.source.instance_reader(index, identity, counters)?;
            let mut read = DirectInstance::new(object, reader, counters.len());
            read.sample();
            read.decode();
            read.decoded.is_ok().then_some(())?;
            readers.push(read);
        }
        (!readers.is_empty()).then_some((readers, places))
    }

    /// Whether an object is read without blocks.
    pub(super) fn is_direct(&self, object: usize) -> bool {
        self.direct.iter().any(|direct| direct.object == object)
    }

    /// Whether any object comes from blocks; `true` also for a probe context without objects.
    pub(super) fn collects(&self) -> bool {
        self.direct.is_empty() || (0..self.objects.len()).any(|object| !self.is_direct(object))
    }

    /// Makes what was read directly the newest readings, and reports the instances that are gone.
    pub(super) fn decode_direct(&mut self, anomalies: &mut Vec<Anomaly>) {
        for direct in &mut self.direct {
            if direct.decode()
                && let Some(probed) = self.objects.get(direct.object)
            {
                anomalies.push(Anomaly::Gone { group: Arc::clone(&probed.group), count: 1 });
            }
        }
    }
}
