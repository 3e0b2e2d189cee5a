//! An opened data source, with its sensors, its titles, and its other readers.

use crate::failure::{Failure, Kind};
use crate::probe::Probe;
use crate::wire::Answer;
use perfhive::measure::{
    self, DataSource, DataSources, SelectedSensor, Sensor, SensorId, SensorInstances, SensorKind,
    SensorName, SensorSelection, SharedCounters, ValueType,
};
use perfhive::{
    Ask, LanguageId, OpenOptions, SharedSource, Source as _, SourceAddress, TitleDatabase,
};
use std::sync::Arc;
use std::time::Duration;

/// The data source of an address, as Java opened it.
pub(crate) struct OpenSource {
    name: String,
    address: String,
    options: OpenOptions,
    sensors: DataSources,
    /// The source that categories, counters and snapshots share; `None` until it is first needed,
    /// unless the source was opened with title lists.
    shared: Option<SharedSource>,
}

impl OpenSource {
    pub(crate) fn new(address: &str, titles: &[String]) -> Result<Self, Failure> {
        let parsed = address.parse::<SourceAddress>();
        let parsed = parsed.map_err(|error| Failure::new(Kind::Refused, error.to_string()))?;
        if !titles.is_empty() && !parsed.scheme().capabilities.takes_titles {
            let message =
                format!("title lists name recorded blocks, but {address} has names of its own");
            return Err(Failure::new(Kind::Refused, message));
        }
        let options = titles.iter().fold(OpenOptions::new(), OpenOptions::titles);
        let source = measure::data_source(address, &options)?;
        let name = source.name().to_string();
        let mut sensors = DataSources::new();
        sensors.add(source)?;
        let shared = match titles {
            [] => None,
            _ => Some(SharedSource::new(options.open(address)?)),
        };
        Ok(Self { name, address: address.to_string(), options, sensors, shared })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Opens another reader of the same address, for another thread. A recording begins anew in it.
    pub(crate) fn another(&self) -> Result<SharedCounters, Failure> {
        Ok(measure::data_source(&self.address, &self.options)?)
    }

    /// The source that the categories, counters and snapshots of this data source share, opened if
    /// need be. For `local:` the sensors have the same source.
    pub(crate) fn shared(&mut self) -> Result<SharedSource, Failure> {
        if let Some(shared) = &self.shared {
            return Ok(shared.clone());
        }
        Ok(self.shared.insert(SharedSource::open(&self.address)?).clone())
    }

    /// Moves a recording to its next sample, for all readers of this object.
    pub(crate) fn advance(&mut self) -> Result<(), Failure> {
        Ok(self.shared()?.advance()?)
    }

    fn source(&mut self) -> Result<&mut dyn DataSource, Failure> {
        Ok(self.sensors.get(&self.name)?)
    }

    pub(crate) fn sensors(&mut self, answer: &mut Answer) -> Result<(), Failure> {
        let sensors = self.source()?.sensors()?;
        answer.count(sensors.len());
        sensors.iter().for_each(|one| sensor(one, answer));
        Ok(())
    }

    /// Puts the sensor with this name into the answer.
    pub(crate) fn find(&mut self, name: &str, answer: &mut Answer) -> Result<(), Failure> {
        let name: SensorName = name.parse().map_err(measure::MeasureError::from)?;
        let found = self.sensors.find(&name)?.sensor;
        let sensors = self.source()?.sensors_of(name.group())?;
        match sensors.iter().find(|sensor| sensor.id == found) {
            Some(found) => sensor(found, answer),
            None => return Err(Failure::new(Kind::UnknownSensor, format!("no sensor {name}"))),
        }
        Ok(())
    }

    pub(crate) fn instances(&mut self, sensor: i64) -> Result<Vec<String>, Failure> {
        Ok(self.source()?.instances(SensorId(sensor.cast_unsigned()))?)
    }

    pub(crate) fn probe(
        &mut self,
        selected: Vec<(i64, Option<String>)>,
        max_age: Duration,
    ) -> Result<Probe, Failure> {
        let selected = selected.into_iter().map(|(sensor, instance)| {
            let instances = instance.map_or(SensorInstances::All, SensorInstances::One);
            SelectedSensor::new(SensorId(sensor.cast_unsigned()), instances)
        });
        let selection = SensorSelection::Custom(selected.collect());
        Ok(Probe::new(self.source()?.probe(&selection, max_age)?))
    }

    /// The titles of a language; for `None`, the titles in the source's preferred language.
    pub(crate) fn titles(
        &mut self,
        language: Option<LanguageId>,
    ) -> Result<Arc<TitleDatabase>, Failure> {
        let mut source = self.shared()?.source();
        let ask = Ask::everything();
        let language = match language {
            Some(language) => language,
            None => source.catalogue(&ask)?.preferred_language(source.is_live()),
        };
        Ok(source.titles(language, &ask)?)
    }
}

fn sensor(sensor: &Sensor, answer: &mut Answer) {
    answer.i64(sensor.id.0.cast_signed());
    answer.text(sensor.name.group()).text(sensor.name.sensor());
    answer.u8(kind(sensor.kind)).u8(value_type(sensor.value_type));
    answer.text(&sensor.unit).text(&sensor.help);
    answer.bool(sensor.has_instances).bool(sensor.is_costly);
}

/// A position that no enumeration of Java has, so that Java refuses the sensor.
const UNKNOWN: u8 = u8::MAX;

/// The position of a sensor's kind in Java's `SensorKind`.
pub(crate) fn kind(kind: SensorKind) -> u8 {
    match kind {
        SensorKind::Counter => 0,
        SensorKind::Gauge => 1,
        _ => UNKNOWN,
    }
}

/// The position of a value type in Java's `ValueType`.
pub(crate) fn value_type(value_type: ValueType) -> u8 {
    match value_type {
        ValueType::Int32 => 0,
        ValueType::Int64 => 1,
        ValueType::Double => 2,
        _ => UNKNOWN,
    }
}
