//! Reasons why there is no value.

use super::format::NoFormat;
use crate::error::{Fault, FaultKind, SourceError};
use perfhive_format::{CookError, TitleIndex, ValueError};
use std::fmt;
use std::sync::Arc;

/// The reason why a reading has no value. Such a reason is a normal result, not a failure of the
/// query.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoValue {
    /// The counter type takes two samples, and there is no usable sample before this one.
    NeedsTwoSamples,
    /// The counter type takes two samples, and the instance was not in the sample before, or is
    /// known by its name only, which more or fewer instances had there.
    Born,
    /// The instance was in the sample before and is gone.
    Vanished,
    /// No instance in the sample has the wanted name.
    NoSuchInstance,
    /// The instance exists but could not be read this time; the text is the reason.
    InstanceFailed(Arc<str>),
    /// The values changed too fast to be read together; the text is the reason. The next sample
    /// tries again.
    Busy(Arc<str>),
    /// The object is missing from the sample; the text is the reason, if it is known.
    ObjectMissing(Option<Arc<str>>),
    /// The object has no such counter in this sample.
    CounterMissing,
    /// The data block has no value of the counter for this instance; the error says why.
    Data(ValueError),
    /// No value can be calculated from the raw data; the error says why.
    Cook(CookError),
    /// The value does not fit the requested format.
    Format(NoFormat),
    /// Several instances match the name, and none of them exactly.
    AmbiguousInstance,
    /// The two samples do not belong together: their counters have different types, or they are of
    /// different counters, categories or machines.
    DifferentTypes,
    /// The source could not be read.
    SourceFailed(SourceError),
}

impl NoValue {
    /// The reason why an instance of an object could not be read, according to the faults of a
    /// collection: [`Busy`](Self::Busy) or [`InstanceFailed`](Self::InstanceFailed); `None` if no
    /// fault concerns the instance. `is_it` gets the name of the instance that a fault concerns, or
    /// `None` for a fault of the object itself.
    pub fn of_fault(
        faults: &[Fault],
        object: TitleIndex,
        is_it: &dyn Fn(Option<&str>) -> bool,
    ) -> Option<Self> {
        let mut faults = faults.iter().filter(|fault| fault.object == Some(object));
        let fault = faults.find(|fault| is_it(fault.instance.as_deref()))?;
        let why = Arc::clone(&fault.message);
        Some(match fault.kind {
            FaultKind::Busy => Self::Busy(why),
            _ => Self::InstanceFailed(why),
        })
    }

    /// The word for this reason in machine-readable output.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NeedsTwoSamples | Self::Cook(CookError::NeedsTwoSamples) => "needs-two-samples",
            Self::Born => "born",
            Self::Vanished => "vanished",
            Self::NoSuchInstance => "no-such-instance",
            Self::InstanceFailed(_) => "instance-failed",
            Self::Busy(_) => "busy",
            Self::ObjectMissing(_) => "object-missing",
            Self::CounterMissing => "counter-missing",
            Self::Data(ValueError::OutsideBlock { .. } | ValueError::Absent) => "no-data",
            Self::Data(_) => "not-a-number",
            Self::Cook(CookError::WentBackwards) => "went-backwards",
            Self::Cook(CookError::NoTimePassed) => "no-time-passed",
            Self::Cook(CookError::ClockWentBackwards) => "clock-went-backwards",
            Self::Cook(CookError::ZeroBase) => "nothing-to-average",
            Self::Cook(CookError::NoBase) => "no-base",
            Self::Cook(CookError::NoFormula) => "no-formula",
            Self::Cook(CookError::IsText) => "text",
            Self::Cook(_) => "no-number",
            Self::Format(_) => "out-of-range",
            Self::AmbiguousInstance => "ambiguous-instance",
            Self::DifferentTypes => "different-types",
            Self::SourceFailed(_) => "source-failed",
        }
    }
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedsTwoSamples => f.write_str("needs two samples"),
            Self::Born => f.write_str("new since the last sample"),
            Self::Vanished => f.write_str("gone since the last sample"),
            Self::NoSuchInstance => f.write_str("no such instance"),
            Self::InstanceFailed(why) => write!(f, "not read this time: {why}"),
            Self::Busy(why) => write!(f, "busy: {why}"),
            Self::ObjectMissing(None) => f.write_str("the object is not in this sample"),
            Self::ObjectMissing(Some(why)) => write!(f, "the object is not in this sample: {why}"),
            Self::CounterMissing => f.write_str("the counter is not in this sample"),
            Self::Data(ValueError::OutsideBlock { .. } | ValueError::Absent) => {
                f.write_str("not available here")
            }
            Self::Data(error) => error.fmt(f),
            Self::Cook(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::AmbiguousInstance => f.write_str("several instances match the name"),
            Self::DifferentTypes => {
                f.write_str("the samples are of different counters, types, categories or machines")
            }
            Self::SourceFailed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoValue {}
