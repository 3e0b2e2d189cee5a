//! Failures, which become exceptions in Java.

use perfhive::measure::MeasureError;
use perfhive::{NoValue, QueryError, SourceError};

/// The kind of a failure. The numbers are the positions in Java's `PerfhiveException.Kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    BadName = 0,
    UnknownSource = 1,
    UnknownSensor = 2,
    UnknownInstance = 3,
    NotDelivered = 4,
    Instances = 5,
    SameName = 6,
    State = 7,
    Source = 8,
    Late = 9,
    EndOfData = 10,
    UnknownCategory = 11,
    UnknownCounter = 12,
    Handle = 13,
    Internal = 14,
    Other = 15,
    Refused = 16,
}

/// The error of an operation, which becomes an exception in Java.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A failure with a kind and a message, which becomes a `PerfhiveException`.
    Of(Kind, String),
    /// A JNI call failed. If it left a Java exception, that exception goes on.
    Jni(jni::errors::Error),
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self::Of(kind, message.into())
    }
}

impl From<jni::errors::Error> for Failure {
    fn from(error: jni::errors::Error) -> Self {
        Self::Jni(error)
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let kind = match () {
            () if error.is_end_of_data() => Kind::EndOfData,
            () if error.is_transient() => Kind::Late,
            () => Kind::Source,
        };
        Self::Of(kind, error.to_string())
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        let kind = match &error {
            MeasureError::BadName(_) => Kind::BadName,
            MeasureError::UnknownSource { .. } => Kind::UnknownSource,
            MeasureError::UnknownSensor { .. } => Kind::UnknownSensor,
            MeasureError::UnknownInstance { .. } => Kind::UnknownInstance,
            MeasureError::NotDelivered { .. } => Kind::NotDelivered,
            MeasureError::SensorInstances { .. } => Kind::Instances,
            MeasureError::SameName(_) => Kind::SameName,
            MeasureError::State { .. } => Kind::State,
            MeasureError::Refused(_) => Kind::Refused,
            MeasureError::Source(source) => return source.clone().into(),
            _ => Kind::Other,
        };
        Self::Of(kind, error.to_string())
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let kind = match &error {
            QueryError::Path(_) => Kind::BadName,
            QueryError::UnknownObject { .. } => Kind::UnknownCategory,
            QueryError::UnknownCounter { .. } => Kind::UnknownCounter,
            QueryError::NeedsInstance { .. } | QueryError::HasNoInstances { .. } => Kind::Instances,
            QueryError::Source(source) => return source.clone().into(),
            _ => Kind::Other,
        };
        Self::Of(kind, error.to_string())
    }
}

/// The code and the message for a reason why there is no value.
pub(crate) fn reason(why: &NoValue) -> (&'static str, String) {
    (why.code(), why.to_string())
}
