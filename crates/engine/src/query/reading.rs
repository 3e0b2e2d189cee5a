//! The readings of a query: each is a value, or the reason why there is none.

use super::format::{FormattedValue, ValueFormat};
use super::no_value::NoValue;
use super::sample::{ObjectSample, ObjectState};
use crate::error::{Fault, SourceError};
use crate::identity::Identity;
use crate::label::{InstanceLabel, InstanceRole};
use crate::path::{InstancePattern, OrderNumber};
use crate::source::CatalogueCounter;
use perfhive_format::{CookedValue, CounterPlan, CounterType, RawSample, TitleIndex};
use std::sync::Arc;

/// The handle of a path that was added to a [`Query`](crate::Query).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub(super) u32);

/// What a path reads: one counter of one instance in the newest sample, with its value or the
/// reason why there is none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reading {
    /// The path to which the reading belongs.
    pub path: PathId,
    /// The index of the source; 0 is the default source.
    pub source: usize,
    /// The machine, as paths name it.
    pub machine: Arc<str>,
    /// Title index of the object.
    pub object: TitleIndex,
    /// Title index of the counter.
    pub counter: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// Exponent of the power of ten by which a chart should multiply the value.
    pub scale: i32,
    /// The label of the instance; `None` for an object without instances, and if the reason in
    /// `value` concerns no single instance.
    pub instance: Option<InstanceLabel>,
    /// The identity of the instance, [`Identity::Single`] for an object without instances; `None`
    /// if the reason in `value` concerns no single instance.
    pub identity: Option<Identity>,
    /// The raw value, base and clocks of the counter in the newest sample, also if no value could
    /// be made of them; `None` if the sample has none.
    pub raw: Option<RawSample>,
    /// The text of a text counter; `None` for any other counter, and if the block does not hold the
    /// text.
    pub text: Option<String>,
    /// The value, or why there is none.
    pub value: Result<CookedValue, NoValue>,
    /// The weight of the value in a mean over several samples (see [`Statistics::mean`](crate::Statistics::mean)).
    pub weight: f64,
}

impl Reading {
    /// The process ID of an instance that is a process, or the ID of the process to which an
    /// instance that is a thread belongs. `None` for every other instance, Idle and `_Total` among
    /// them.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.identity.as_ref()?.process_id()
    }

    /// The role of the instance: a single thing, a sum over others, or idle time. An instance with
    /// a [process ID](Self::process_id) is a single thing, even if it is called `_Total` or `Idle`.
    #[must_use]
    pub fn role(&self) -> InstanceRole {
        let is_of_process = self.process_id().is_some();
        self.instance.as_ref().map_or(InstanceRole::Single, |label| match label.role() {
            // A process may be called `Idle` or `_Total`.
            InstanceRole::Idle | InstanceRole::Total if is_of_process => InstanceRole::Single,
            role => role,
        })
    }

    /// The value in a format (`PdhGetFormattedCounterValue`).
    ///
    /// ```
    /// # let recording = perfhive_testkit::script::recording();
    /// use perfhive_engine::{FormattedValue, Query, ValueFormat};
    /// let mut query = Query::new(recording)?;
    /// query.add(r"\System\Context Switches/sec")?;
    /// query.collect()?;
    /// query.collect()?;
    /// let reading = &query.readings()[0];
    /// assert_eq!(reading.formatted(ValueFormat::long())?, FormattedValue::Long(25));
    /// // In thousands.
    /// let format = ValueFormat::double().scale(-3);
    /// assert_eq!(reading.formatted(format)?, FormattedValue::Double(0.025));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The reason why there is no value; [`NoValue::Format`] if the value does not fit the format,
    /// or if the format is invalid.
    pub fn formatted(&self, format: ValueFormat) -> Result<FormattedValue, NoValue> {
        let value = self.value.clone()?;
        format.apply(self.counter_type, value).map_err(NoValue::Format)
    }
}

/// Facts about a target that all of its readings share.
pub(super) struct TargetReader<'a> {
    pub(super) path: PathId,
    pub(super) source: usize,
    pub(super) machine: &'a Arc<str>,
    pub(super) object: TitleIndex,
    pub(super) counter: TitleIndex,
    pub(super) definition: CatalogueCounter,
    pub(super) error: Option<&'a SourceError>,
    /// The faults of the newest collection of the source.
    pub(super) faults: &'a [Fault],
    /// Whether the counter part of the path has a wildcard: a counter that the sample does not
    /// define is then left out.
    pub(super) any_counter: bool,
}

impl TargetReader<'_> {
    /// Adds the readings of a target, which is one counter that the path means:
    /// - one for each instance that the pattern matches;
    /// - one for each instance of the sample before that the pattern matches and that is gone, if
    ///   the pattern has a wildcard or `#*`, or matches no present instance;
    /// - without any of these, one with the value of an object without instances, or with the reason
    ///   why there is no value.
    ///
    /// If a wildcard found the counter and the sample lacks it, there is no reading. `likely` is the
    /// index that the instance had in the sample before, and is updated.
    pub(super) fn read(
        &self,
        pattern: Option<&InstancePattern>,
        state: &ObjectState,
        likely: &mut usize,
        out: &mut Vec<Reading>,
    ) {
        if let Err(why) = self.add(pattern, state, likely, out) {
            out.push(self.reading(None, None, Err(why)));
        }
    }

    /// Adds the readings as [`read`](Self::read) says, except the one that only has a reason: this reason is
    /// the error.
    fn add(
        &self,
        pattern: Option<&InstancePattern>,
        state: &ObjectState,
        likely: &mut usize,
        out: &mut Vec<Reading>,
    ) -> Result<(), NoValue> {
        let before = out.len();
        let several = |p: &InstancePattern| p.is_wild() || p.order == OrderNumber::All;
        let wild = pattern.is_some_and(several);
        if let Some(error) = self.error {
            return Err(NoValue::SourceFailed(error.clone()));
        }
        let missing = || NoValue::ObjectMissing(state.missing.clone());
        let sample = state.current().ok_or_else(missing)?;
        let Some(object) = sample.object() else { return Ok(()) };
        let Some(plan) = sample.plan(self.counter) else {
            return if self.any_counter { Ok(()) } else { Err(NoValue::CounterMissing) };
        };
        if !object.has_instances() {
            out.push(self.at(0, plan, sample, None, state).ok_or(NoValue::CounterMissing)?);
            return Ok(());
        }
        let everything = InstancePattern::any();
        let pattern = pattern.unwrap_or(&everything);
        let (labels, identities) = (sample.labels(), sample.identities().identities());
        let there = labels.get(*likely).zip(identities.get(*likely));
        if let Some((label, _)) = there.filter(|(label, of)| pattern.is_exactly(label, of)) {
            out.extend(self.at(*likely, plan, sample, Some(label.clone()), state));
        } else {
            for (place, label, _) in pattern.among(labels, identities) {
                *likely = place;
                out.extend(self.at(place, plan, sample, Some(label.clone()), state));
            }
        }
        // Instances that matched in the sample before and are gone.
        if let Some(previous) = state.previous().filter(|_| wild || out.len() == before) {
            let identities = previous.identities().identities();
            for (_, label, identity) in pattern.among(previous.labels(), identities) {
                if sample.identities().place(identity).is_none() {
                    let why = self.failed(&|name| name.is_some_and(|name| *label.name == *name));
                    let why = why.unwrap_or(NoValue::Vanished);
                    let (label, identity) = (Some(label.clone()), Some(identity.clone()));
                    out.push(self.reading(label, identity, Err(why)));
                }
            }
        }
        if out.len() == before { Err(self.missing_instance(pattern)) } else { Ok(()) }
    }

    /// The reason why a pattern matches no instance of the newest sample.
    fn missing_instance(&self, pattern: &InstancePattern) -> NoValue {
        let failed = self.failed(&|name| name.is_some_and(|name| pattern.name.matches(name)));
        failed.unwrap_or(NoValue::NoSuchInstance)
    }

    /// The reason why an instance could not be read, according to the faults of the object; `None`
    /// if no fault concerns the instance. `is_it` gets the name of the instance that a fault
    /// concerns, or `None` for a fault of the object itself.
    fn failed(&self, is_it: &dyn Fn(Option<&str>) -> bool) -> Option<NoValue> {
        NoValue::of_fault(self.faults, self.object, is_it)
    }

    pub(super) fn reading(
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
            weight: 1.0,
        }
    }

    /// The reading of the instance with the index `place` in the newest sample; `None` if the
    /// sample lacks it.
    fn at(
        &self,
        place: usize,
        plan: &CounterPlan,
        sample: &ObjectSample,
        label: Option<InstanceLabel>,
        state: &ObjectState,
    ) -> Option<Reading> {
        let newer = sample.sampled(place, plan)?;
        let (mut value, weight) = match state.value(&newer, self.counter) {
            Ok((value, weight)) => (Ok(value), weight),
            Err(why) => (Err(why), 1.0),
        };
        if matches!(value, Err(NoValue::Data(_)))
            && let Some(busy @ NoValue::Busy(_)) = self.failed(&|name| name.is_none())
        {
            value = Err(busy);
        }
        let mut reading = self.reading(label, Some(newer.identity().clone()), value);
        reading.weight = weight;
        reading.counter_type = newer.counter_type();
        reading.raw = newer.raw().ok().copied();
        reading.text = newer.text().map(str::to_string);
        Some(reading)
    }
}
