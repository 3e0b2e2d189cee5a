//! Measuring: sensors, probe contexts, measurement contexts.
//!
//! Measuring should disturb the measured program as little as possible at the moment of the
//! sample. So a measurement has three stages: *prepare* makes everything ready, *sample* only
//! takes the data, and *decode* makes values of it later.
//!
//! - A [`DataSource`] lists [`Sensor`]s, each with a [name](SensorName) that is unique over all
//!   sources, and makes [`ProbeContext`]s for those that are to be measured. [`CounterSource`]
//!   is the data source of any [`Source`](crate::Source) of performance counters; programs can
//!   add others.
//! - A [`MeasurementContext`] measures sensors of several data sources at once,
//!   with the readings of [`TimeSource`]s around them.
//! - Anything odd about a sample is reported with it, as an [`Anomaly`].
//!
//! ```
//! # use perfhive_engine::measure::*;
//! # fn measure(sources: &mut DataSources) -> Result<(), MeasureError> {
//! let names = ["linux.procfs/Process/%25 Processor Time#4711".parse()?];
//! let mut context = MeasurementContext::new(sources, &names)?;
//! let mut readings = Readings::new();
//! // One cycle. The first one has rates already: a baseline was taken above.
//! context.prepare()?;
//! context.sample()?;
//! context.decode(&mut readings)?;
//! for reading in readings.iter() {
//!     match &reading.value {
//!         Ok(value) => println!("{}: {value}", reading.slot.name),
//!         Err(why) => println!("{}: {why}", reading.slot.name),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # States
//!
//! | in | may be done | and leads to | or, where it fails, to |
//! |---|---|---|---|
//! | [`Initialized`](State::Initialized) | `prepare`; structure and values are readable | [`Prepared`](State::Prepared) | `Initialized` |
//! | `Prepared` | `prepare` | `Prepared` | `Initialized` |
//! | `Prepared` | `sample` | [`Sampled`](State::Sampled), with anomalies too | `Initialized` |
//! | `Sampled` | `prepare` | `Prepared` | `Initialized` |
//! | `Sampled` | `decode` | `Initialized` | `Initialized` |
//!
//! Anything else is an error that names state and operation, and changes
//! nothing.

mod context;
mod counters;
mod error;
mod name;
mod sensor;
mod source;
mod state;
mod time;

/// The largest number of different names: of the calls that an experiment records as events, and of
/// the events that a reader of its records keeps.
pub const MOST_EVENT_NAMES: usize = 256;

pub use context::{MeasurementContext, MeasurementOptions, Readings, SampleRecord, TimeReading};
pub use counters::CounterSource;
pub use error::MeasureError;
pub use name::{BadSensorName, SensorName};
pub use sensor::{Anomaly, Sensor, SensorId, SensorKind, SensorReading, SensorSlot, ValueType};
pub use source::{
    DataSource, DataSources, ProbeContext, SelectedSensor, SensorInstances, SensorSelection,
};
pub use state::{Operation, State, StateMonitor};
pub use time::{MonotonicTime, SystemClock, TimeSource, WallTime};
