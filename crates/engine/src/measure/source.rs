//! The open traits: whoever has sensors.

use super::error::MeasureError;
use super::name::{SensorName, source_name};
use super::sensor::{Anomaly, Sensor, SensorId, SensorReading};
use crate::suggest::nearest;
use std::sync::Arc;
use std::time::Instant;

/// Something that can be measured.
pub trait DataSource: Send {
    /// Its name, the first part of its sensors' names: `linux.procfs`.
    fn name(&self) -> &str;

    /// Its sensors.
    ///
    /// # Errors
    /// Where it cannot be asked.
    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError>;

    /// Its sensors, of which those of other groups than this may be missing where they
    /// are to be found out first. Case does not matter.
    ///
    /// # Errors
    /// As [`sensors`](Self::sensors).
    fn sensors_of(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let _ = group;
        self.sensors()
    }

    /// The same of the groups that are called nearly as one that there is none of: what
    /// may be suggested for it.
    ///
    /// # Errors
    /// As [`sensors`](Self::sensors).
    fn sensors_near(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let _ = group;
        self.sensors()
    }

    /// The instances that a sensor has at the moment, by the names that
    /// [`SensorName::instance`] takes.
    ///
    /// # Errors
    /// Where there is no such sensor, or it cannot be asked.
    fn instances(&mut self, sensor: SensorId) -> Result<Vec<String>, MeasureError>;

    /// Makes a probe context for what is selected. It takes a first sample, its
    /// baseline, so that rates are there in the first cycle.
    ///
    /// # Errors
    /// A sensor or instance that does not exist, or a source that fails.
    fn probe(&mut self, selection: &Selection) -> Result<Box<dyn ProbeContext>, MeasureError>;
}

/// What a probe context measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Everything that is cheap to measure.
    Global,
    /// Everything that is expensive; and what is known to exist and is had only by asking
    /// for it, of which nobody tells what it costs.
    Costly,
    /// These sensors, in this order.
    Custom(Vec<Wanted>),
}

/// One sensor of a [`Selection`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The sensor. Of a [`CounterSource`](super::CounterSource), counter 0
    /// means every counter of the object.
    pub sensor: SensorId,
    /// Which instances.
    pub instances: Instances,
}

/// Which instances of a sensor are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instances {
    /// The sensor has none; or, of one that has, all of them.
    All,
    /// One, which must be there when the probe context is made.
    One(String),
}

/// A selection of a data source, ready to be measured. A
/// [`MeasurementContext`](super::MeasurementContext) calls these in the right
/// order only.
pub trait ProbeContext: Send {
    /// Readings of the baseline, from which the structure is known before the
    /// first cycle: what needs two samples says so. Called once, first of all;
    /// readings are added as by [`decode`](Self::decode). A source without
    /// anything to tell then adds none.
    fn baseline(&mut self, out: &mut Vec<SensorReading>) {
        let _ = out;
    }

    /// Makes ready whatever the next sample needs.
    ///
    /// # Errors
    /// Where that fails.
    fn prepare(&mut self) -> Result<(), MeasureError>;

    /// Takes the data, without looking at it. Allocates nothing but where a
    /// buffer has to grow, which is an anomaly. `anomalies` is this probe
    /// context's own list, empty, with room for 64; of more, the first ones
    /// are kept and the rest is counted ([`Anomaly::More`]).
    ///
    /// # Errors
    /// Where nothing could be taken.
    fn sample(
        &mut self,
        deadline: Option<Instant>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Result<(), MeasureError>;

    /// Makes readings of what the last sample took, or of there being none:
    /// `failed` says why. Readings are added in the order of the selection,
    /// [`SensorReading::asked`] counting from 0; `anomalies` is empty again.
    fn decode(
        &mut self,
        failed: Option<&MeasureError>,
        anomalies: &mut Vec<Anomaly>,
        out: &mut Vec<SensorReading>,
    );
}

/// Whether two names are the same without regard to case.
fn is_same(a: &str, b: &str) -> bool {
    let fold = |name| str::chars(name).flat_map(char::to_lowercase);
    a == b || fold(a).eq(fold(b))
}

/// The data sources that there are, by name.
#[derive(Default)]
pub struct DataSources {
    sources: Vec<Box<dyn DataSource>>,
}

impl DataSources {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a data source.
    ///
    /// # Errors
    /// [`MeasureError::SameName`].
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

    /// As everywhere, case does not matter where it tells nothing apart.
    fn place_meant(&self, name: &str) -> Option<usize> {
        let is_meant =
            |source: &&dyn DataSource| is_same(source_name(source.name()), source_name(name));
        let sources = || self.sources.iter().map(|source| &**source as &dyn DataSource);
        let one = || sources().filter(is_meant).count() == 1;
        let folded = || sources().position(|source| is_meant(&source));
        self.place_of(name).or_else(|| folded().filter(|_| one()))
    }

    /// Every data source.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut dyn DataSource> {
        self.sources.iter_mut().map(|source| &mut **source as &mut dyn DataSource)
    }

    /// The data source of a name, without regard to case if that means only
    /// one; `win32.winperf` is another name of `windows.winperf`.
    ///
    /// # Errors
    /// [`MeasureError::UnknownSource`].
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

    /// What a name selects in its data source.
    ///
    /// # Errors
    /// A sensor that does not exist, or an instance where there are none, or
    /// none where there are.
    pub fn find(&mut self, name: &SensorName) -> Result<Wanted, MeasureError> {
        let source = self.get(name.source())?;
        let mut sensors = source.sensors_of(name.group())?;
        if !sensors.iter().any(|sensor| is_same(sensor.name.group(), name.group())) {
            sensors = source.sensors_near(name.group())?;
        }
        let found = sensors.iter().find(|sensor| {
            is_same(sensor.name.group(), name.group())
                && is_same(sensor.name.sensor(), name.sensor())
        });
        let Some(sensor) = found else {
            let wanted = name.clone().without_instance().to_string();
            let names: Vec<String> = sensors.iter().map(|s| s.name.to_string()).collect();
            let near = nearest(&wanted, names.iter().map(String::as_str), 3);
            let nearest = near.into_iter().map(str::to_string).collect();
            return Err(MeasureError::UnknownSensor { name: Box::new(name.clone()), nearest });
        };
        if sensor.has_instances != name.instance().is_some() {
            return Err(MeasureError::Instances {
                name: Box::new(name.clone()),
                has: sensor.has_instances,
            });
        }
        let instances = match name.instance() {
            Some(one) if one != "*" => Instances::One(one.to_string()),
            _ => Instances::All,
        };
        Ok(Wanted { sensor: sensor.id, instances })
    }
}
