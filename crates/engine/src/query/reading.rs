//! One value with its status.

use super::PathId;
use super::format::NoFormat;
use super::sample::{ObjectSample, ObjectState};
use crate::error::SourceError;
use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::path::{InstancePattern, OrderNumber};
use crate::source::CatalogueCounter;
use perfhive_format::{
    CookError, CookedValue, CounterPlan, CounterType, RawSample, TitleIndex, ValueError,
};
use std::fmt;
use std::sync::Arc;

/// One counter of one instance in the newest sample.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The path that it belongs to.
    pub path: PathId,
    /// The source that it comes from; 0 is the default one.
    pub source: usize,
    /// The machine, as paths name it.
    pub machine: Arc<str>,
    /// Title index of the object.
    pub object: TitleIndex,
    /// Title index of the counter.
    pub counter: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// Power of ten by which a chart should scale the value.
    pub scale: i32,
    /// The instance; `None` for an object without.
    pub instance: Option<InstanceLabel>,
    /// Who the instance is; `None` where there is none.
    pub identity: Option<Identity>,
    /// The raw sample that the value was made from.
    pub raw: Option<RawSample>,
    /// The text of a text counter.
    pub text: Option<String>,
    /// The value, or why there is none.
    pub value: Result<CookedValue, NoValue>,
}

/// Why a reading has no value. Each is an answer, not a failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NoValue {
    /// The type takes two samples, and this is the first.
    NeedsTwoSamples,
    /// The type takes two samples, and the instance was not in the one before.
    Born,
    /// The instance was in the sample before and is gone.
    Vanished,
    /// No instance of this name is there.
    NoSuchInstance,
    /// The object is missing from the sample; why, if that is known.
    ObjectMissing(Option<Arc<str>>),
    /// The object of this sample lacks the counter.
    CounterMissing,
    /// The data block has no value of the counter for this instance.
    Data(ValueError),
    /// The formula has no result.
    Cook(CookError),
    /// The value does not fit the format asked for.
    Format(NoFormat),
    /// Several instances are called so, and none of them exactly.
    AmbiguousInstance,
    /// The two samples are of counters of different types.
    DifferentTypes,
    /// The source could not be read.
    SourceFailed(SourceError),
}

impl NoValue {
    /// A word for machines that tells the statuses apart.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NeedsTwoSamples | Self::Cook(CookError::NeedsTwoSamples) => "needs-two-samples",
            Self::Born => "born",
            Self::Vanished => "vanished",
            Self::NoSuchInstance => "no-such-instance",
            Self::ObjectMissing(_) => "object-missing",
            Self::CounterMissing => "counter-missing",
            Self::Data(ValueError::OutsideBlock { .. }) => "no-data",
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
            Self::ObjectMissing(None) => f.write_str("the object is not in this sample"),
            Self::ObjectMissing(Some(why)) => write!(f, "the object is not in this sample: {why}"),
            Self::CounterMissing => f.write_str("the counter is not in this sample"),
            Self::Data(ValueError::OutsideBlock { .. }) => f.write_str("not available here"),
            Self::Data(error) => error.fmt(f),
            Self::Cook(error) => error.fmt(f),
            Self::Format(error) => error.fmt(f),
            Self::AmbiguousInstance => f.write_str("several instances are called so"),
            Self::DifferentTypes => f.write_str("the samples are of different counter types"),
            Self::SourceFailed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoValue {}

/// What all readings of one target have in common.
pub(super) struct Context<'a> {
    pub(super) path: PathId,
    pub(super) source: usize,
    pub(super) machine: &'a Arc<str>,
    pub(super) object: TitleIndex,
    pub(super) counter: TitleIndex,
    pub(super) definition: CatalogueCounter,
    pub(super) error: Option<&'a SourceError>,
    /// Whether the path asks for any counter: those that this sample does not
    /// define are then none of them.
    pub(super) any_counter: bool,
}

impl Context<'_> {
    /// Makes the readings of a target: one, or one for each instance that
    /// matches.
    pub(super) fn read(
        &self,
        pattern: Option<&InstancePattern>,
        state: &ObjectState,
        out: &mut Vec<Reading>,
    ) {
        let before = out.len();
        let absent = |why: NoValue| self.reading(None, None, Err(why));
        let several = |p: &InstancePattern| p.is_wild() || p.order == OrderNumber::All;
        let wild = pattern.is_some_and(several);
        if let Some(error) = self.error {
            out.push(absent(NoValue::SourceFailed(error.clone())));
            return;
        }
        let Some(sample) = state.current() else {
            out.push(absent(NoValue::ObjectMissing(state.missing.clone())));
            return;
        };
        let Some(object) = sample.object() else {
            return;
        };
        let Some(plan) = sample.plan(self.counter) else {
            if !self.any_counter {
                out.push(absent(NoValue::CounterMissing));
            }
            return;
        };
        if !object.has_instances() {
            match self.at(0, plan, sample, None, state) {
                Some(reading) => out.push(reading),
                None => out.push(absent(NoValue::CounterMissing)),
            }
            return;
        }
        let everything = InstancePattern::any();
        let pattern = pattern.unwrap_or(&everything);
        for (place, label) in sample.labels.iter().enumerate() {
            if pattern.matches(label.parent.as_deref(), &label.name, label.order) {
                out.extend(self.at(place, plan, sample, Some(label.clone()), state));
            }
        }
        // Those that matched the last time and are gone.
        if let Some(previous) = state.previous().filter(|_| wild || out.len() == before) {
            for (label, identity) in previous.labels.iter().zip(previous.identities.identities()) {
                let matched = pattern.matches(label.parent.as_deref(), &label.name, label.order);
                if matched && sample.identities.place(identity).is_none() {
                    let label = Some(label.clone());
                    let identity = Some(identity.clone());
                    out.push(self.reading(label, identity, Err(NoValue::Vanished)));
                }
            }
        }
        if out.len() == before {
            out.push(absent(NoValue::NoSuchInstance));
        }
    }

    fn reading(
        &self,
        instance: Option<InstanceLabel>,
        identity: Option<Identity>,
        value: Result<CookedValue, NoValue>,
    ) -> Reading {
        Reading {
            path: self.path,
            source: self.source,
            machine: Arc::clone(self.machine),
            object: self.object,
            counter: self.counter,
            counter_type: self.definition.counter_type,
            scale: self.definition.scale,
            instance,
            identity,
            raw: None,
            text: None,
            value,
        }
    }

    /// The reading of the instance at a place of the newest sample.
    fn at(
        &self,
        place: usize,
        plan: &CounterPlan,
        sample: &ObjectSample,
        label: Option<InstanceLabel>,
        state: &ObjectState,
    ) -> Option<Reading> {
        let newer = sample.sampled(place, plan)?;
        let older = if newer.samples() == 2 {
            state.older(newer.identity(), self.counter)
        } else {
            Ok(None)
        };
        let value = match older {
            // What this sample lacks comes before what the older one lacks.
            Err(why) => newer.raw().and(Err(why)),
            Ok(older) => newer.value(older.as_ref()),
        };
        let mut reading = self.reading(label, Some(newer.identity().clone()), value);
        reading.counter_type = newer.counter_type();
        reading.raw = newer.raw().ok().copied();
        reading.text = newer.text().map(str::to_string);
        Some(reading)
    }
}
