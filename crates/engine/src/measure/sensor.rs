//! Sensors, their readings, and the anomalies of a sample.

use super::error::MeasureError;
use super::name::SensorName;
use crate::path::InstancePattern;
use crate::query::NoValue;
use perfhive_format::{CookedValue, CounterType, Formula};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The number of a sensor within its data source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SensorId(pub u64);

/// The behaviour of a sensor's quantity: it only grows, or it goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SensorKind {
    /// A count that only grows. Its value is made of two samples: a growth, a rate or a share.
    Counter,
    /// A number at a moment. Its value is made of one sample.
    Gauge,
}

/// The type of a sensor's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueType {
    /// A whole number with raw data of 32 bits.
    Int32,
    /// A whole number with raw data of 64 bits.
    Int64,
    /// A floating-point number.
    Double,
}

impl SensorKind {
    /// The kind of sensor that a counter of this type makes: [`Counter`](Self::Counter) if its
    /// value takes two samples, else [`Gauge`](Self::Gauge).
    #[must_use]
    pub fn of(counter_type: CounterType) -> Self {
        match counter_type.samples() {
            2 => Self::Counter,
            _ => Self::Gauge,
        }
    }
}

impl ValueType {
    /// The type of the values that a counter of this type has: [`Int32`](Self::Int32) or
    /// [`Int64`](Self::Int64), by the size of the data, for raw numbers and differences;
    /// [`Double`](Self::Double) for every other counter.
    #[must_use]
    pub fn of(counter_type: CounterType) -> Self {
        match Formula::of(counter_type) {
            Ok(Formula::Raw | Formula::Delta) => match counter_type.size_in_bytes() {
                Some(4) => Self::Int32,
                _ => Self::Int64,
            },
            _ => Self::Double,
        }
    }
}

impl fmt::Display for SensorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        })
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Double => "double",
        })
    }
}

/// One thing that a data source can measure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sensor {
    /// The sensor's number within the data source.
    pub id: SensorId,
    /// The sensor's name, without an instance.
    pub name: SensorName,
    /// Whether the quantity only grows, or goes up and down.
    pub kind: SensorKind,
    /// The type of the sensor's values.
    pub value_type: ValueType,
    /// The unit of the sensor's values; empty if there is none or it is not known.
    pub unit: String,
    /// The help text; empty if the source has none.
    pub help: String,
    /// Whether the sensor can have instances.
    pub has_instances: bool,
    /// Whether measuring the sensor costs more than measuring others.
    pub is_costly: bool,
}

impl Sensor {
    /// A sensor that has no unit, no help text and no instances, and is cheap to measure. Anything
    /// else is set through its fields.
    #[must_use]
    pub fn new(id: SensorId, name: SensorName, kind: SensorKind, value_type: ValueType) -> Self {
        Self {
            id,
            name,
            kind,
            value_type,
            unit: String::new(),
            help: String::new(),
            has_instances: false,
            is_costly: false,
        }
    }
}

/// What a value is about: a sensor, or one instance of a sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SensorSlot {
    /// The name of the sensor, with the instance if it has instances.
    pub name: SensorName,
    /// The type of the values.
    pub value_type: ValueType,
    /// The unit of the values, as [`Sensor::unit`], such as `%`, `1/s`, `s` or `B`; empty for
    /// counts, and if the unit is not known.
    pub unit: Arc<str>,
    /// The instance as a counter path writes it; a process is written with its ID (`pid:1234`).
    /// `None` for a sensor without instances, while the instance has not been found yet, and if the
    /// data source does not set it.
    pub instance: Option<InstancePattern>,
}

impl SensorSlot {
    /// A slot of values without a unit. Anything else is set through its fields.
    #[must_use]
    pub fn new(name: SensorName, value_type: ValueType) -> Self {
        Self { name, value_type, unit: Arc::default(), instance: None }
    }

    /// The same slot with a unit of the values.
    #[must_use]
    pub fn with_unit(mut self, unit: &Arc<str>) -> Self {
        self.unit = Arc::clone(unit);
        self
    }
}

/// The value of a sensor, or of one instance of a sensor, in a sample, and the raw values from
/// which it was made.
///
/// `value` is in the [unit](SensorSlot::unit) of the slot. The raw values are what the data source
/// counts (for [`PERF_DOUBLE_RAW`](CounterType::PERF_DOUBLE_RAW), the bits of the double):
///
/// | unit of `value` | `raw` and `before` |
/// |---|---|
/// | `1/s`, `B/s` | events or bytes so far |
/// | `%` of time, `s` an operation | time so far: [`raw_per_second`](Self::raw_per_second) units, if known, are a second. Some types of counters count the time in which nothing was done: `\Processor(*)\% Processor Time` |
/// | `%` of an amount | the part; the whole is not here |
/// | `s` since a beginning | the point in time of the beginning |
/// | `B`, none | the quantity itself; if `value` is a mean or a change between two samples, the sum so far |
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SensorReading {
    /// The index, from 0, of the reading's sensor among the requested sensors. A sensor with
    /// several measured instances has several readings.
    pub asked: usize,
    /// The sensor, or the instance of a sensor, that the value belongs to.
    pub slot: Arc<SensorSlot>,
    /// The value, or why there is none.
    pub value: Result<CookedValue, NoValue>,
    /// The raw value in this sample; `None` if the sample has none.
    pub raw: Option<u64>,
    /// The raw value in the sample before; `None` without [`raw`](Self::raw), and if no such sample
    /// has been taken or it has no value of this instance. Samples that lack the whole object, or that
    /// failed, are passed over.
    pub before: Option<u64>,
    /// The number of raw units in a second; `None` without [`raw`](Self::raw), and if the raw value
    /// does not count time, or counts it in an unknown unit.
    pub raw_per_second: Option<u64>,
}

impl SensorReading {
    /// A reading with a value, or with the reason why there is no value. It has no raw values;
    /// these are set through the fields.
    #[must_use]
    pub fn new(asked: usize, slot: Arc<SensorSlot>, value: Result<CookedValue, NoValue>) -> Self {
        Self { asked, slot, value, raw: None, before: None, raw_per_second: None }
    }

    /// The time by which the raw value grew since the sample before: the
    /// [difference](Self::difference) in units of time. `None` without a difference, or without
    /// [`raw_per_second`](Self::raw_per_second).
    ///
    /// ```
    /// # use perfhive_engine::measure::{SensorName, SensorReading, SensorSlot, ValueType};
    /// # use perfhive_format::CookedValue;
    /// # let name = SensorName::new("source", "Process", "% Processor Time");
    /// # let slot = std::sync::Arc::new(SensorSlot::new(name, ValueType::Double));
    /// let mut reading = SensorReading::new(0, slot, Ok(CookedValue::Float(15.0)));
    /// (reading.before, reading.raw) = (Some(7_000_000), Some(8_500_000));
    /// reading.raw_per_second = Some(10_000_000);
    /// assert_eq!(reading.time().unwrap().as_millis(), 150);
    /// ```
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        let nanos = u128::from(self.difference()?) * 1_000_000_000;
        let nanos = nanos.checked_div(u128::from(self.raw_per_second?))?;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }

    /// The amount by which the raw value grew since the sample before, in raw units. `None` if one
    /// of the two raw values is missing, or if the value shrank: a count was reset, or passed the end
    /// of its 32 or 64 bits (`value` may then have a rate all the same). A gauge may shrink; its two
    /// values are [`before`](Self::before) and [`raw`](Self::raw).
    #[must_use]
    pub fn difference(&self) -> Option<u64> {
        self.raw?.checked_sub(self.before?)
    }
}

/// Something odd about a sample that a user of its values should know. The sample is still of use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anomaly {
    /// A buffer was too small and had to grow while the sample was taken, which took longer.
    BufferGrown {
        /// The name of the data source.
        source: Arc<str>,
    },
    /// A data source gave data that was collected before the sample, which
    /// [`MeasurementOptions::max_age`](super::MeasurementOptions::max_age) allows. The values are
    /// those of that earlier time.
    Aged {
        /// The name of the data source.
        source: Arc<str>,
        /// How long before the sample the collection of the data began.
        age: Duration,
    },
    /// Instances that were not there in the sample before. They are reported only for a group of
    /// which all instances are measured.
    Born {
        /// Data source and group: `linux.procfs/Process`.
        group: Arc<str>,
        /// The number of these instances.
        count: usize,
    },
    /// Measured instances that were there in the sample before and are gone.
    Gone {
        /// Data source and group: `linux.procfs/Process`.
        group: Arc<str>,
        /// The number of these instances.
        count: usize,
    },
    /// The counters of a group changed, or title indexes of the group did. After a change of
    /// indexes, counters that take two samples have no values at first.
    StructureChanged {
        /// Data source and group: `linux.procfs/Process`.
        group: Arc<str>,
    },
    /// A data source did not answer in time, was busy, or changed its title indexes meanwhile. Its
    /// sensors may have no values in this sample.
    Late {
        /// The name of the data source.
        source: Arc<str>,
    },
    /// A data source failed; its sensors may have no values in this sample.
    Failed {
        /// The name of the data source.
        source: Arc<str>,
        /// The failure. The text of the message is made only when it is shown.
        error: MeasureError,
    },
    /// A fault of the collection: a part of the wanted data that could not be collected, such as
    /// one object or instance, or a warning about data that is in the sample.
    Partial {
        /// The name of the data source.
        source: Arc<str>,
        /// The message of the fault.
        message: Arc<str>,
    },
    /// A data source has more anomalies than the record of a sample has room for.
    More {
        /// The name of the data source.
        source: Arc<str>,
        /// The number of anomalies that were left out.
        count: usize,
    },
}

impl Anomaly {
    /// The word for this kind of anomaly in machine-readable output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BufferGrown { .. } => "buffer-grown",
            Self::Aged { .. } => "aged",
            Self::Born { .. } => "born",
            Self::Gone { .. } => "gone",
            Self::StructureChanged { .. } => "structure-changed",
            Self::Late { .. } => "late",
            Self::Failed { .. } => "failed",
            Self::Partial { .. } => "partial",
            Self::More { .. } => "more",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instances = |count: &usize| match count {
            1 => "1 instance".to_string(),
            count => format!("{count} instances"),
        };
        match self {
            Self::BufferGrown { source } => write!(f, "{source}: a buffer had to grow"),
            Self::Aged { source, age } => write!(f, "{source}: its data is {age:.1?} old"),
            Self::Born { group, count } => write!(f, "{group}: {} new", instances(count)),
            Self::Gone { group, count } => write!(f, "{group}: {} gone", instances(count)),
            Self::StructureChanged { group } => {
                write!(f, "{group}: other counters than before, resolved anew")
            }
            Self::Late { source } => write!(f, "{source}: did not answer in time"),
            Self::Failed { source, error } => write!(f, "{source}: {error}"),
            Self::Partial { source, message } => write!(f, "{source}: {message}"),
            Self::More { source, count } => write!(f, "{source}: {count} more anomalies"),
        }
    }
}
