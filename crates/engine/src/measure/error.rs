//! Errors of measuring.

use super::name::{BadSensorName, SensorName};
use super::state::{Operation, State};
use crate::error::SourceError;
use std::fmt;
use std::sync::Arc;

/// The reason why something could not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeasureError {
    /// A text that is not a sensor name.
    BadName(BadSensorName),
    /// No data source has the name.
    UnknownSource {
        /// The name that was asked for.
        name: String,
        /// The names of the data sources that exist.
        known: Vec<String>,
    },
    /// The data source has no such sensor.
    UnknownSensor {
        /// The name that was asked for.
        name: Box<SensorName>,
        /// The names of existing sensors that resemble `name`, at most three, the nearest first.
        nearest: Vec<String>,
    },
    /// The sensor has no such instance now.
    UnknownInstance {
        /// The name that was asked for.
        name: Box<SensorName>,
        /// The names of existing instances that resemble the instance in `name`, at most three, the
        /// nearest first.
        nearest: Vec<String>,
    },
    /// The data source has the sensor, and does not deliver it now.
    NotDelivered {
        /// The name that was asked for.
        name: Box<SensorName>,
        /// The reason that the source gives.
        reason: Arc<str>,
    },
    /// The sensor has instances and the name has none, or the other way round.
    SensorInstances {
        /// The name that was asked for.
        name: Box<SensorName>,
        /// Whether the sensor has instances.
        has: bool,
    },
    /// A data source of this name was added already.
    SameName(String),
    /// The operation is not possible in this state.
    State {
        /// The operation that was tried.
        operation: Operation,
        /// The state of the context, which does not change.
        state: State,
    },
    /// The request is a mistake of another kind, which the text names.
    Refused(Arc<str>),
    /// The source of the data failed.
    Source(SourceError),
    /// Any other failure, such as that of a data source of the program's own; the text says what
    /// happened.
    Other(Arc<str>),
}

impl MeasureError {
    /// Whether the source failed only for the moment: it did not answer in time, was busy, or its
    /// title indexes changed ([`SourceError::is_transient`]).
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Source(error) if error.is_transient())
    }

    /// Whether the caller made a mistake, such as a wrong name, or operations in the wrong order:
    /// `true` for every kind but `Source`, `NotDelivered` and `Other`.
    #[must_use]
    pub fn is_misuse(&self) -> bool {
        !matches!(self, Self::Source(_) | Self::NotDelivered { .. } | Self::Other(_))
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = |f: &mut fmt::Formatter<'_>, nearest: &[String]| match nearest {
            [] => Ok(()),
            names => write!(f, "; nearest: {}", names.join(", ")),
        };
        match self {
            Self::BadName(error) => error.fmt(f),
            Self::UnknownSource { name, known } => {
                write!(f, "no data source {name:?}; there are: {}", known.join(", "))
            }
            Self::UnknownSensor { name, nearest } => {
                write!(f, "no sensor {name}")?;
                near(f, nearest)
            }
            Self::UnknownInstance { name, nearest } => {
                let sensor = SensorName::clone(name).without_instance();
                write!(f, "no instance {:?} of {sensor}", name.instance().unwrap_or(""))?;
                near(f, nearest)
            }
            Self::NotDelivered { name, reason } => write!(f, "{name}: {reason}"),
            Self::SensorInstances { name, has: true } => {
                write!(f, "{name} has instances: add #INSTANCE, or #* for all of them")
            }
            Self::SensorInstances { name, has: false } => {
                write!(f, "{} has no instances", SensorName::clone(name).without_instance())
            }
            Self::SameName(name) => write!(f, "there is a data source {name:?} already"),
            Self::State { operation, state } => {
                write!(f, "{operation} is not possible in state {state}")
            }
            Self::Source(error) => error.fmt(f),
            Self::Refused(message) | Self::Other(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for MeasureError {}

impl From<SourceError> for MeasureError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<BadSensorName> for MeasureError {
    fn from(error: BadSensorName) -> Self {
        Self::BadName(error)
    }
}
