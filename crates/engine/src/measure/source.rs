//! The open traits of measuring: data sources and their probe contexts.

use super::error::MeasureError;
use super::name::{SensorName, source_name};
use super::sensor::{Anomaly, Sensor, SensorId, SensorReading};
use crate::suggest::{nearest, same_name};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Something that can be measured: a source of sensors.
pub trait DataSource: Send {
    /// The data source's name, which is the first part of its sensors' names: `linux.procfs`.
    fn name(&self) -> &str;

    /// All sensors of the data source.
    ///
    /// # Errors
    /// The failure of the source if it cannot list its sensors.
    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError>;

    /// The sensors of the data source, at least those of the group called `group`, without regard
    /// to case. Sensors of other groups may be missing if finding them takes time.
    ///
    /// # Errors
    /// As [`sensors`](Self::sensors).
    fn sensors_of(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let _ = group;
        self.sensors()
    }

    /// The sensors of the data source, at least those of groups with names that resemble `group`.
    /// Called when there is no group of this name, to suggest names.
    ///
    /// # Errors
    /// As [`sensors`](Self::sensors).
    fn sensors_near(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let _ = group;
        self.sensors()
    }

    /// The names of the present instances of a sensor, as [`SensorName::instance`] has them; empty
    /// for a sensor without instances.
    ///
    /// # Errors
    /// If there is no such sensor, or the source fails.
    fn instances(&mut self, sensor: SensorId) -> Result<Vec<String>, MeasureError>;

    /// Makes a probe context for a selection. Its samples may have data that was collected up to
    /// `max_age` earlier. A first sample, the baseline, is taken at once, so that the next sample
    /// has rates already.
    ///
    /// # Errors
    /// A sensor or instance that does not exist, or a source that fails.
    fn probe(
        &mut self,
        selection: &SensorSelection,
        max_age: Duration,
    ) -> Result<Box<dyn ProbeContext>, MeasureError>;
}

/// The sensors that a probe context measures.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SensorSelection {
    /// Every sensor that is cheap to measure.
    Global,
    /// Every sensor of the groups that are expensive to measure, or of which the cost is not known.
    /// A [`CounterSource`](super::CounterSource) leaves out counters that are filled only on
    /// request, and objects of other machines.
    Costly,
    /// These sensors, in this order.
    Custom(Vec<SelectedSensor>),
}

/// One sensor of a [`SensorSelection`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedSensor {
    /// The number of the sensor. In a [`CounterSource`](super::CounterSource), a number with
    /// counter 0 means every counter of the object, except those that are filled only on request.
    pub sensor: SensorId,
    /// The instances that are measured.
    pub instances: SensorInstances,
}

impl SelectedSensor {
    /// A selection of a sensor and of its instances.
    #[must_use]
    pub fn new(sensor: SensorId, instances: SensorInstances) -> Self {
        Self { sensor, instances }
    }
}

/// The instances of a sensor that are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SensorInstances {
    /// All instances, or the sensor itself if it has no instances.
    All,
    /// The instance of this name, which has to exist when the probe context is made.
    One(String),
}

/// A selection of sensors of one data source, ready to be measured. A
/// [`MeasurementContext`](super::MeasurementContext) calls the methods in the right order.
pub trait ProbeContext: Send {
    /// Adds the readings of the baseline, the sample that [`probe`](DataSource::probe) took, to `out`, as
    /// [`decode`](Self::decode) does. The readings show which values there will be; a counter that needs two samples
    /// has no value yet. The method is called once, before any other method. By default it adds nothing.
    fn baseline(&mut self, out: &mut Vec<SensorReading>) {
        let _ = out;
    }

    /// Does what can be done before the next sample, such as following changes of the source. Takes
    /// no sample.
    ///
    /// # Errors
    /// The failure of the source.
    fn prepare(&mut self) -> Result<(), MeasureError>;

    /// Takes the data without decoding it. After `deadline` the data is of no use; `None` means no
    /// limit. An implementation should allocate only if a buffer has to grow, which is an anomaly.
    /// `anomalies` is an empty list for this probe context alone, with room for 64 items. Of more
    /// items, some are only counted ([`Anomaly::More`]).
    ///
    /// # Errors
    /// The failure of the source if no data could be taken.
    fn sample(
        &mut self,
        deadline: Option<Instant>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Result<(), MeasureError>;

    /// Adds the readings of the last sample to `out`, in the order of the selection;
    /// [`SensorReading::asked`] is the index in the selection. `out` may already hold readings of
    /// other data sources. If `prepare` or `sample` failed, `failed` is the reason, else `None`.
    /// `anomalies` is an empty list for what decoding finds.
    fn decode(
        &mut self,
        failed: Option<&MeasureError>,
        anomalies: &mut Vec<Anomaly>,
        out: &mut Vec<SensorReading>,
    );
}

/// A set of data sources, each with a name of its own.
#[derive(Default)]
pub struct DataSources {
    sources: Vec<Box<dyn DataSource>>,
}

impl DataSources {
    /// An empty set of data sources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a data source.
    ///
    /// # Errors
    /// [`MeasureError::SameName`] if a data source of this name was added before.
    pub fn add(&mut self, source: impl DataSource + 'static) -> Result<(), MeasureError> {
        if self.place_of(source.name()).is_some() {
            return Err(MeasureError::SameName(source.name().to_string()));
        }
        self.sources.push(Box::new(source));
        Ok(())
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        let name = source_name(name);
        self.sources.iter().position(|source| source_name(source.name()) == name)
    }

    /// The index of the data source with this name; `None` if there is none. Case is ignored,
    /// unless two names differ in nothing else.
    fn place_meant(&self, name: &str) -> Option<usize> {
        let is_meant =
            |source: &&dyn DataSource| same_name(source_name(source.name()), source_name(name));
        let sources = || self.sources.iter().map(|source| &**source as &dyn DataSource);
        let one = || sources().filter(is_meant).count() == 1;
        let folded = || sources().position(|source| is_meant(&source));
        self.place_of(name).or_else(|| folded().filter(|_| one()))
    }

    /// Every data source, in the order in which they were added.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut dyn DataSource> {
        self.sources.iter_mut().map(|source| &mut **source as &mut dyn DataSource)
    }

    /// The data source with this name. Case is ignored, unless the names of two data sources differ
    /// in nothing else: each of them is then found by its exact name only. `win32.winperf` is
    /// another name of `windows.winperf`.
    ///
    /// # Errors
    /// [`MeasureError::UnknownSource`] if the set has no data source of this name.
    pub fn get(&mut self, name: &str) -> Result<&mut dyn DataSource, MeasureError> {
        let place = self.place_meant(name);
        let unknown = || MeasureError::UnknownSource {
            name: name.to_string(),
            known: self.sources.iter().map(|source| source.name().to_string()).collect(),
        };
        let place = place.ok_or_else(unknown)?;
        match self.sources.get_mut(place) {
            Some(source) => Ok(&mut **source),
            None => Err(MeasureError::Other("no data source".into())),
        }
    }

    /// The sensor and instances that a name selects in its data source. Groups and sensors are
    /// found without regard to case.
    ///
    /// # Errors
    /// [`MeasureError::UnknownSource`], [`MeasureError::UnknownSensor`] with the nearest names, the
    /// failure of the source; [`MeasureError::SensorInstances`] if the name has no instance and the
    /// sensor has instances, or the reverse. Whether the instance exists is not tested.
    pub fn find(&mut self, name: &SensorName) -> Result<SelectedSensor, MeasureError> {
        let source = self.get(name.source())?;
        let mut sensors = source.sensors_of(name.group())?;
        if !sensors.iter().any(|sensor| same_name(sensor.name.group(), name.group())) {
            sensors = source.sensors_near(name.group())?;
        }
        let found = sensors.iter().find(|sensor| {
            same_name(sensor.name.group(), name.group())
                && same_name(sensor.name.sensor(), name.sensor())
        });
        let Some(sensor) = found else {
            let wanted = name.clone().without_instance().to_string();
            let names: Vec<String> = sensors.iter().map(|s| s.name.to_string()).collect();
            let near = nearest(&wanted, names.iter().map(String::as_str), 3);
            let nearest = near.into_iter().map(str::to_string).collect();
            return Err(MeasureError::UnknownSensor { name: Box::new(name.clone()), nearest });
        };
        if sensor.has_instances != name.instance().is_some() {
            return Err(MeasureError::SensorInstances {
                name: Box::new(name.clone()),
                has: sensor.has_instances,
            });
        }
        let instances = match name.instance() {
            Some(one) if one != "*" => SensorInstances::One(one.to_string()),
            _ => SensorInstances::All,
        };
        Ok(SelectedSensor { sensor: sensor.id, instances })
    }
}
