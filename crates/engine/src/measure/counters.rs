//! Performance counters as sensors.

mod direct;
mod follow;
mod list;
mod names;
mod read;
mod sensors;

pub use sensors::CounterSource;

use super::source::{ProbeContext, SelectedSensor, SensorInstances};
use super::{Anomaly, MeasureError, SensorName, SensorReading, SensorSlot, ValueType};
use crate::ask::{Ask, InstanceWish, ObjectQuery};
use crate::error::{Fault, SourceError, SourceErrorKind};
use crate::followed::{Followed, INDEX_TAKEN, IndexChange, changing, sample_followed};
use crate::frame::Snapshot;
use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::path::{InstancePattern, NamePattern};
use crate::query::column::{EarlierPlace, earlier_places};
use crate::query::sample::{ObjectSample, ObjectState, SampledInstances};
use crate::query::wishes::needs_all;
use crate::source::{CatalogueCounter, CatalogueObject, Source};
use crate::suggest::nearest;
use direct::{DirectInstance, DirectPlace};
use list::{PATIENCE, SensorList, counter_of, object_of, unknown_sensor};
use names::{InstancePlaces, instance_name, instance_names};
use perfhive_format::{CookError, Formula};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One counter of one probed object.
struct ProbedCounter {
    /// The index of the counter's sensor among the requested sensors.
    asked: usize,
    /// The index of the object in [`CounterProbe::objects`].
    object: usize,
    counter: Followed,
    formula: Result<Formula, CookError>,
    on_request: bool,
    value_type: ValueType,
    unit: Arc<str>,
    name: SensorName,
    /// The instance, if exactly one is wanted; `None` for all instances, and for a sensor without
    /// instances.
    one: Option<BoundInstance>,
    /// The position of the values, if they are read without blocks; `None` if they are read from
    /// blocks.
    direct: Option<DirectPlace>,
    /// The slots made so far, by instance; a sensor without instances has one slot.
    slots: HashMap<Identity, LabelledSlot>,
    shown: Option<ShownSlots>,
}

/// The slots of the instances that a sample has, each with the index of its instance.
struct ShownSlots {
    of: Arc<SampledInstances>,
    slots: Vec<(usize, Arc<SensorSlot>)>,
}

/// A slot, and the label that its instance had in the newest sample that was read.
struct LabelledSlot {
    slot: Arc<SensorSlot>,
    label: Option<InstanceLabel>,
}

impl LabelledSlot {
    /// Whether the label is still `label`. The order in the label of an instance changes when
    /// others of the same name come and go, and another instance may then have the old label.
    fn is(&self, label: Option<&InstanceLabel>) -> bool {
        self.label.as_ref() == label
    }
}

/// An instance that was found by its name when the probe context was made, and that is found by its
/// identity in later samples.
struct BoundInstance {
    name: String,
    identity: Option<Identity>,
    /// Matches the name of the instance; `None` if the instance has a parent.
    pattern: Option<Arc<NamePattern>>,
    /// Whether the instance is gone for good, or could once not be told apart from others of its
    /// name: it then has no further values.
    lost: bool,
    /// Whether the instance was the only one of its name in the last sample before the indexes
    /// changed. That sample is not kept.
    was_alone: bool,
    slot: Arc<SensorSlot>,
}

/// One object that a probe measures, with its last two samples.
struct ProbedObject {
    index: Followed,
    /// Data source and group: `linux.procfs/Process`.
    group: Arc<str>,
    state: ObjectState,
    /// Whether any sensor of the object wants all instances.
    all: bool,
    /// For each instance, its index in the sample before; see [`earlier_places`].
    earlier: Vec<Option<EarlierPlace>>,
    /// Whether a title index changed and the change was not reported yet.
    moved: bool,
}

/// The [`Ask::max_age`] for a source: `max_age`, or `None` for a recording, as its samples have no
/// age.
fn limit_of(source: &mut impl Source, max_age: Duration) -> Option<Duration> {
    source.recording().is_none().then_some(max_age)
}

/// A selection of counters of one source, ready to be measured.
struct CounterProbe<S> {
    name: Arc<str>,
    source: S,
    /// The generation of the catalogue that the title indexes belong to.
    generation: u64,
    request: Ask,
    snapshot: Snapshot,
    objects: Vec<ProbedObject>,
    targets: Vec<ProbedCounter>,
    /// Instances that are read without blocks. Their objects are not in `request`.
    direct: Vec<DirectInstance>,
    /// The faults of the baseline. The baseline has no record, so the first sample reports them.
    untold: Vec<Fault>,
}

impl<S: Source> CounterProbe<S> {
    fn new(
        source_name: Arc<str>,
        source: S,
        list: &SensorList,
        wanted: &[SelectedSensor],
    ) -> Result<Self, MeasureError> {
        let mut probe = Self {
            name: source_name,
            source,
            generation: list.directory.generation,
            request: Ask::new(ObjectQuery::Indexes(Vec::new())),
            snapshot: Snapshot::new(),
            objects: Vec::new(),
            targets: Vec::new(),
            direct: Vec::new(),
            untold: Vec::new(),
        };
        for (asked, wanted) in wanted.iter().enumerate() {
            let (object, counter) = (object_of(wanted.sensor), counter_of(wanted.sensor));
            let listed = list.directory.catalogue.object(object);
            let found = listed.map(|listed| (listed, listed.counter(counter)));
            match found {
                Some((listed, Some(counter))) => probe.add(asked, wanted, listed, counter, list),
                Some((listed, None)) if counter.0 == 0 => {
                    // A counter on request is measured only by its own name.
                    let counters = listed.counters.iter().filter(|counter| !counter.on_request);
                    counters.for_each(|counter| probe.add(asked, wanted, listed, counter, list));
                }
                _ => return Err(unknown_sensor(&probe.name, list, wanted.sensor)),
            }
        }
        Ok(probe)
    }

    /// Adds a counter of an object to the probe, for the requested sensor with the index `asked`.
    fn add(
        &mut self,
        asked: usize,
        wanted: &SelectedSensor,
        object: &CatalogueObject,
        counter: &CatalogueCounter,
        list: &SensorList,
    ) {
        let Some(sensor) = list.sensor(object.name, counter.name) else { return };
        let group = sensor.name.group();
        let all = object.has_instances && wanted.instances == SensorInstances::All;
        let place = match self.objects.iter().position(|p| p.index.last_index() == object.name) {
            Some(place) => place,
            None => {
                self.request.objects.insert(object.name);
                self.objects.push(ProbedObject {
                    index: list.directory.follow_object(object.name),
                    group: format!("{}/{group}", self.name).into(),
                    state: ObjectState::default(),
                    all: false,
                    earlier: Vec::new(),
                    moved: false,
                });
                self.objects.len() - 1
            }
        };
        if let Some(probed) = self.objects.get_mut(place) {
            probed.all |= all;
        }
        let extra = (object.name, counter.name);
        self.request.enough.push(extra);
        if counter.on_request && !self.request.extra_counters.contains(&extra) {
            self.request.extra_counters.push(extra);
        }
        let (name, value_type) = (sensor.name.clone(), sensor.value_type);
        let unit: Arc<str> = sensor.unit.as_str().into();
        let one = match &wanted.instances {
            SensorInstances::One(instance) => Some(BoundInstance {
                name: instance.clone(),
                identity: None,
                pattern: None,
                lost: false,
                was_alone: false,
                slot: Arc::new(
                    SensorSlot::new(name.clone().with_instance(instance), value_type)
                        .with_unit(&unit),
                ),
            }),
            SensorInstances::All => None,
        };
        self.targets.push(ProbedCounter {
            asked,
            object: place,
            counter: list.directory.follow_counter(object, counter.name),
            formula: Formula::of(counter.counter_type),
            on_request: counter.on_request,
            value_type,
            unit,
            name,
            one,
            direct: None,
            slots: HashMap::new(),
            shown: None,
        });
    }

    /// Takes the first sample, and binds each wanted instance to the identity that its name has
    /// there. An error if the sample lacks such an instance.
    fn take_baseline(&mut self) -> Result<(), MeasureError> {
        let until = Instant::now().checked_add(PATIENCE);
        self.request.until = until;
        // An instance may have begun after the data that a cache has was collected.
        self.request.max_age = limit_of(&mut self.source, Duration::ZERO);
        let follow = |probe: &mut Self| probe.follow_catalogue(until);
        let sampled = sample_followed(self, follow, |probe| {
            probe.source.collect(&probe.request, &mut probe.snapshot)
        })?;
        sampled.ok_or_else(|| changing(&self.name))?;
        self.untold = self.snapshot.faults().to_vec();
        for probed in &mut self.objects {
            probed.moved = false;
            match probed.index.index() {
                Some(index) => {
                    probed.state.advance(index, &self.snapshot);
                }
                None => probed.state.missing = Some(INDEX_TAKEN.into()),
            }
        }
        let samples = self.objects.iter().map(|probed| probed.state.current());
        // Names are needed only if a sensor measures one instance.
        let mut wanted = vec![false; self.objects.len()];
        for target in self.targets.iter().filter(|target| target.one.is_some()) {
            wanted.get_mut(target.object).into_iter().for_each(|wanted| *wanted = true);
        }
        let names: Vec<Vec<String>> = (samples.zip(wanted))
            .map(|(sample, wanted)| sample.filter(|_| wanted).map(instance_names))
            .map(Option::unwrap_or_default)
            .collect();
        let places: Vec<InstancePlaces<'_>> =
            names.iter().map(|names| InstancePlaces::of(names)).collect();
        for target in &mut self.targets {
            let Some(one) = &mut target.one else { continue };
            let probed = self.objects.get(target.object);
            let sample = probed.and_then(|probed| probed.state.current());
            let place = places.get(target.object).and_then(|places| places.find(&one.name));
            one.identity = place.and_then(|place| sample?.identities().identity(place).cloned());
            let label = place.and_then(|place| sample?.labels().get(place));
            let of_path = |label| InstancePattern::of_process(one.identity.as_ref(), label);
            Arc::make_mut(&mut one.slot).instance = label.map(of_path);
            let alone = label.filter(|label| label.parent.is_none());
            one.pattern = alone.map(|label| Arc::new(NamePattern::literal(&label.name)));
            if one.identity.is_none() {
                if let Some(reason) = probed.and_then(|probed| probed.state.missing.clone()) {
                    let name = Box::new(one.slot.name.clone());
                    return Err(MeasureError::NotDelivered { name, reason });
                }
                let near = nearest(
                    &one.name,
                    names.get(target.object).into_iter().flatten().map(String::as_str),
                    3,
                );
                return Err(MeasureError::UnknownInstance {
                    name: Box::new(one.slot.name.clone()),
                    nearest: near.into_iter().map(str::to_string).collect(),
                });
            }
        }
        self.note_instances();
        Ok(())
    }

    /// Adds the faults of the sample to `anomalies`; the first time, also those faults of the
    /// baseline that have other messages. Faults that do not fit into `anomalies` without
    /// allocating are only counted.
    fn report_faults(&mut self, anomalies: &mut Vec<Anomaly>) {
        let new = self.snapshot.faults();
        if new.is_empty() && self.untold.is_empty() {
            return;
        }
        let is_new = |fault: &&Fault| !new.iter().any(|other| other.message == fault.message);
        let faults = new.iter().chain(self.untold.iter().filter(is_new));
        let count = faults.clone().count();
        // No more anomalies are added than fit without allocating; the last of them counts the
        // rest.
        let room = anomalies.capacity() - anomalies.len();
        let kept = if count > room { room.saturating_sub(1) } else { count };
        anomalies.extend(faults.take(kept).map(|fault| Anomaly::Partial {
            source: Arc::clone(&self.name),
            message: Arc::clone(&fault.message),
        }));
        if let count @ 1.. = count - kept {
            anomalies.push(Anomaly::More { source: Arc::clone(&self.name), count });
        }
        self.untold.clear();
    }

    /// Notes in the request which objects are asked for: those that are read from blocks.
    fn note_objects(&mut self) {
        let objects = self.objects.iter().enumerate();
        let objects = objects.filter(|(number, _)| !self.is_direct(*number));
        let mut indexes: Vec<_> = objects.clone().filter_map(|(_, p)| p.index.index()).collect();
        if indexes.is_empty() {
            // A cache notices changes only when it collects: without any object there would
            // be no collection.
            indexes = objects.map(|(_, probed)| probed.index.last_index()).collect();
        }
        self.request.objects = ObjectQuery::Indexes(Vec::new());
        indexes.into_iter().for_each(|object| self.request.objects.insert(object));
    }

    /// Notes which instances to ask for. All instances of an object are asked for if one of its
    /// sensors measures all instances, or an instance that has neither a process ID nor a name
    /// without a parent, or Idle or `_Total`. Otherwise only the measured instances are asked for;
    /// for a thread, all threads of its process.
    fn note_instances(&mut self) {
        self.request.instances.clear();
        for (number, probed) in self.objects.iter().enumerate().filter(|(_, probed)| !probed.all) {
            let Some(object) = probed.index.index() else { continue };
            let targets = self.targets.iter().filter(|target| target.object == number);
            let before = self.request.instances.len();
            for target in targets {
                let wish = target.one.as_ref().and_then(|one| match one.identity.as_ref()? {
                    Identity::Process { id: process, .. } | Identity::Thread { process, .. } => {
                        u32::try_from(*process).ok().map(InstanceWish::Process)
                    }
                    _ => {
                        let name = one.pattern.as_ref().filter(|name| !needs_all(name))?;
                        Some(InstanceWish::Named(Arc::clone(name)))
                    }
                });
                match wish.map(|wish| (object, wish)) {
                    Some(wish) if self.request.instances.contains(&wish) => {}
                    Some(wish) => self.request.instances.push(wish),
                    None => {
                        self.request.instances.truncate(before);
                        break;
                    }
                }
            }
        }
    }
}

impl<S: Source> ProbeContext for CounterProbe<S> {
    fn baseline(&mut self, out: &mut Vec<SensorReading>) {
        for target in &mut self.targets {
            if !target.read_direct(&self.direct, None, out)
                && let Some(probed) = self.objects.get(target.object)
            {
                target.read(probed, None, out);
            }
        }
    }

    fn prepare(&mut self) -> Result<(), MeasureError> {
        // The frames of the last sample go back to the source, which needs a free one.
        self.snapshot.clear();
        if self.collects() {
            self.follow_catalogue(Instant::now().checked_add(PATIENCE))?;
        }
        Ok(())
    }

    fn sample(
        &mut self,
        deadline: Option<Instant>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Result<(), MeasureError> {
        self.direct.iter_mut().for_each(DirectInstance::sample);
        let mut collected = Ok(());
        if self.collects() {
            self.request.until = deadline;
            collected = self.source.collect(&self.request, &mut self.snapshot);
            let source = || Arc::clone(&self.name);
            // The message of an error is allocated too, and is not a buffer.
            if collected.is_ok() && self.snapshot.has_grown() {
                anomalies.push(Anomaly::BufferGrown { source: source() });
            }
            let age = self.snapshot.age();
            if !age.is_zero() {
                anomalies.push(Anomaly::Aged { source: source(), age });
            }
        }
        // At the end of a recording, no later sample can report the faults of the baseline.
        self.report_faults(anomalies);
        Ok(collected?)
    }

    fn decode(
        &mut self,
        failed: Option<&MeasureError>,
        anomalies: &mut Vec<Anomaly>,
        out: &mut Vec<SensorReading>,
    ) {
        let failed = failed.map(|error| match error {
            MeasureError::Source(error) => error.clone(),
            other => SourceError::new(SourceErrorKind::Internal, &self.name, other),
        });
        self.decode_direct(anomalies);
        // The sample belongs to the wanted objects only if their indexes did not change.
        let (failed, unlike) = match failed {
            Some(failed) => (Some(failed), false),
            None if !self.collects() => (None, false),
            None => match self.follow_catalogue(self.request.until) {
                Ok(change) => (None, change == IndexChange::Taken),
                Err(error) => (Some(error), false),
            },
        };
        let direct = &self.direct;
        let of_blocks = |number| !direct.iter().any(|direct| direct.object == number);
        let objects = self.objects.iter_mut().enumerate();
        for (number, probed) in objects.filter(|(number, _)| of_blocks(*number)) {
            probed.earlier.clear();
            if failed.is_some() {
                probed.state.skip();
                continue;
            }
            let moved = std::mem::take(&mut probed.moved);
            if moved {
                let group = Arc::clone(&probed.group);
                anomalies.push(Anomaly::StructureChanged { group });
            }
            let Some(index) = probed.index.index().filter(|_| !(moved && unlike)) else {
                probed.state.skip();
                let is_gone = probed.index.index().is_none();
                probed.state.missing = is_gone.then(|| INDEX_TAKEN.into());
                continue;
            };
            let is_first = probed.state.current().is_none() && probed.state.previous().is_none();
            if probed.state.advance(index, &self.snapshot) {
                let group = Arc::clone(&probed.group);
                anomalies.push(Anomaly::StructureChanged { group });
            }
            if probed.all {
                earlier_places(&probed.state, &mut probed.earlier);
            }
            if !is_first {
                let targets = self.targets.iter().filter(|target| target.object == number);
                probed.report_instances(anomalies, targets);
            }
        }
        let faults = self.snapshot.faults();
        for target in &mut self.targets {
            if target.read_direct(&self.direct, failed.as_ref(), out) {
                continue;
            }
            let Some(probed) = self.objects.get(target.object) else { continue };
            match target.busy(probed, faults) {
                Some(reading) if failed.is_none() => out.push(reading),
                _ => target.read(probed, failed.as_ref(), out),
            }
        }
        self.snapshot.clear();
    }
}

impl ProbedObject {
    /// Reports how many measured instances went and, if all instances are measured, how many came.
    fn report_instances<'a>(
        &self,
        anomalies: &mut Vec<Anomaly>,
        targets: impl Iterator<Item = &'a ProbedCounter>,
    ) {
        let (Some(now), Some(before)) = (self.state.current(), self.state.previous()) else {
            return;
        };
        if Arc::ptr_eq(now.instances(), before.instances()) {
            return;
        }
        let missing = |from: &ObjectSample, of: &ObjectSample| {
            let identities = of.identities().identities().iter();
            identities.filter(|identity| from.identities().place(identity).is_none()).count()
        };
        let (born, mut gone) = match self.all {
            true => (missing(before, now), missing(now, before)),
            false => (0, 0),
        };
        if !self.all {
            // Several sensors may measure one instance.
            let ones = targets.filter_map(|target| target.one.as_ref()?.identity.as_ref());
            let lost: HashSet<_> = ones
                .filter(|id| before.identities().place(id).is_some())
                .filter(|id| now.identities().place(id).is_none())
                .collect();
            gone = lost.len();
        }
        let group = || Arc::clone(&self.group);
        if born > 0 {
            anomalies.push(Anomaly::Born { group: group(), count: born });
        }
        if gone > 0 {
            anomalies.push(Anomaly::Gone { group: group(), count: gone });
        }
    }
}
