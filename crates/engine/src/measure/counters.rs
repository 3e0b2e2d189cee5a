//! Performance counters as sensors.

mod known;
mod names;
mod read;
mod renumber;

use super::source::{DataSource, Instances, MeasureError, ProbeContext, Selection, Wanted};
use super::{Anomaly, Sensor, SensorId, SensorName, SensorReading, Slot, ValueType};
use crate::broker::Wanted as WantedObjects;
use crate::error::{Fault, SourceError, SourceErrorKind};
use crate::followed::{ATTEMPTS, Followed, NOT_THERE};
use crate::frame::Snapshot;
use crate::growth::GrowthWatch;
use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::query::changing;
use crate::query::sample::{ObjectSample, ObjectState};
use crate::request::{ObjectQuery, Request};
use crate::source::{CatalogueCounter, CatalogueObject, Cost, Source};
use crate::suggest::nearest;
use crate::titles::{TitleSet, fold};
use known::{Known, counter_of, id_of, object_of, title};
use names::{InstancePlaces, instance_name, instance_names};
use perfhive_format::TitleIndex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The sensors of a [`Source`]: every counter of every object. Groups are
/// objects, by their English names; where the source has none, by those of its
/// first language, or else by their indexes. Of several objects of one name the one
/// with the smallest index has it, as in counter paths; the others are `NAME#INDEX`, or
/// `NAME#published` where the index is chosen by the provider.
///
/// Only the objects that are wanted are asked for, unless somebody lists all sensors or
/// measures everything.
///
/// Each probe context has a source of its own, a clone: give it a
/// [`Cached`](crate::Cached), whose clones share what they collect.
///
/// Instances are named so that each name means one thing: those of Process by
/// process ID, those of Thread by thread ID, all others as counter paths write
/// them (`parent/name#n`). `_Total` is `_Total` everywhere.
pub struct CounterSource<S> {
    name: Arc<str>,
    source: S,
    known: Option<Arc<Known>>,
    /// Whether the source was asked for what is expensive to list.
    costly: bool,
    /// Whether all sensors were asked for, or those only of groups that are wanted.
    complete: bool,
    /// The groups that were looked for as of what is known, folded.
    groups: HashSet<String>,
}

impl<S: Source + Clone + 'static> CounterSource<S> {
    /// The sensors of `source`, under a name such as `linux.procfs`.
    pub fn new(name: &str, source: S) -> Self {
        let name = name.into();
        Self { name, source, known: None, costly: false, complete: false, groups: HashSet::new() }
    }

    /// The number of a counter's sensor; counter 0 stands for all of the
    /// object's.
    #[must_use]
    pub fn sensor_id(object: TitleIndex, counter: TitleIndex) -> SensorId {
        id_of(object, counter)
    }

    fn known(&mut self) -> Result<Arc<Known>, MeasureError> {
        let generation = self.source.catalogue_generation();
        if let Some(known) = self.known.as_ref().filter(|known| known.generation == generation) {
            return Ok(Arc::clone(known));
        }
        // Another source may stand in for the one that was asked.
        self.groups.clear();
        let known = Arc::new(Known::load(&self.name, &mut self.source, self.complete)?);
        Ok(Arc::clone(self.known.insert(known)))
    }

    /// The same of everything that there is.
    fn all_known(&mut self) -> Result<Arc<Known>, MeasureError> {
        if !std::mem::replace(&mut self.complete, true) {
            self.known = None;
        }
        self.known()
    }

    /// Has the source find out which of some objects there are.
    fn look_for(&mut self, mut wanted: Vec<TitleIndex>) -> Result<(), MeasureError> {
        wanted.sort_unstable();
        wanted.dedup();
        if !wanted.is_empty() && !self.complete {
            self.source.catalogue_for(WantedObjects::Objects(&wanted))?;
        }
        Ok(())
    }

    /// What the source has, with the objects of some sensors, whose numbers are those of
    /// `before`, and all others of their names.
    fn known_with(
        &mut self,
        before: Option<&Known>,
        sensors: impl Iterator<Item = SensorId>,
    ) -> Result<Arc<Known>, MeasureError> {
        let known = self.known()?;
        let is_same = before.is_none_or(|before| before.generation == known.generation);
        let mut wanted = Vec::new();
        for object in sensors.map(object_of) {
            if is_same && known.catalogue.object(object).is_some() {
                continue;
            }
            let had_it = before.filter(|before| before.catalogue.object(object).is_some());
            match had_it.unwrap_or(&known).titles.name(object) {
                Some(name) => wanted.extend_from_slice(known.titles.indexes(name)),
                None => wanted.push(object),
            }
        }
        self.look_for(wanted)?;
        self.known()
    }
}

impl Known {
    fn name_of(&self, id: SensorId) -> Option<SensorName> {
        let is_it = |sensor: &&Sensor| match counter_of(id) {
            TitleIndex(0) => object_of(sensor.id) == object_of(id),
            _ => sensor.id == id,
        };
        self.sensors.iter().find(is_it).map(|sensor| sensor.name.clone())
    }
}

/// That there is no sensor of a number, by the names that its indexes have.
fn unknown_sensor(source: &str, known: &Known, id: SensorId) -> MeasureError {
    let named = |index| title(&known.titles, index);
    let name = SensorName::new(source, &named(object_of(id)), &named(counter_of(id)));
    MeasureError::UnknownSensor { name: Box::new(name), nearest: Vec::new() }
}

/// How many groups that were looked for are remembered.
const GROUPS: usize = 1024;

/// How long it may take to list instances, or to take a first sample.
const PATIENCE: Duration = Duration::from_secs(30);

impl<S: Source + Clone + 'static> DataSource for CounterSource<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
        // Without what cannot be listed at the moment the rest is as good.
        let _ = self.list_costly();
        Ok(Arc::clone(&self.all_known()?.sensors))
    }

    fn sensors_of(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let known = self.known()?;
        if self.complete || self.groups.contains(&fold(group)) {
            return Ok(Arc::clone(&known.sensors));
        }
        // Of several objects of one name all are needed to tell which is which; one that
        // is not the first has its index behind its name.
        let named = |name: &str| known.titles.indexes(name).to_vec();
        let mut meant = named(group);
        meant.extend(group.rsplit_once('#').into_iter().flat_map(|(name, _)| named(name)));
        let number = group.parse().ok().map(TitleIndex);
        meant.extend(number.filter(|index| known.titles.name(*index).is_none()));
        self.look_for(meant)?;
        if self.groups.len() >= GROUPS {
            self.groups.clear();
        }
        let sensors = Arc::clone(&self.known()?.sensors);
        self.groups.insert(fold(group));
        Ok(sensors)
    }

    fn sensors_near(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let known = self.known()?;
        let near = TitleSet::new(vec![Arc::clone(&known.titles)]).near(group);
        // Without suggestions it is as unknown.
        let _ = self.look_for(near);
        Ok(Arc::clone(&self.known()?.sensors))
    }

    fn instances(&mut self, sensor: SensorId) -> Result<Vec<String>, MeasureError> {
        // The numbers are those of the list that was given out last.
        let mut known = match &self.known {
            Some(known) => Arc::clone(known),
            None => self.known()?,
        };
        let mut sensor = sensor;
        let mut snapshot = Snapshot::new();
        let deadline = Instant::now().checked_add(PATIENCE);
        let mut consumer = self.source.clone();
        for attempt in 0..=ATTEMPTS {
            // What came is what was asked for only if the numbers mean the same.
            let now = self.known_with(Some(&known), std::iter::once(sensor))?;
            let same = now.after(&known, sensor);
            let same = same.ok_or_else(|| unknown_sensor(&self.name, &known, sensor))?;
            if attempt > 0 && same == sensor {
                break;
            }
            if attempt == ATTEMPTS {
                return Err(changing(&self.name).into());
            }
            (known, sensor) = (now, same);
            let request = Request { deadline, ..Request::objects(&[object_of(sensor)]) };
            consumer.collect(&request, &mut snapshot)?;
        }
        let object = object_of(sensor);
        let name = self.name_of(sensor)?;
        let mut state = ObjectState::default();
        state.advance(object, &snapshot);
        if let Some(reason) = state.missing.take() {
            return Err(MeasureError::NotDelivered { name: Box::new(name), reason });
        }
        let has = snapshot.object(object).is_some_and(|object| object.view().has_instances());
        Ok(state.current().filter(|_| has).map(instance_names).unwrap_or_default())
    }

    fn probe(&mut self, selection: &Selection) -> Result<Box<dyn ProbeContext>, MeasureError> {
        let wanted = match selection {
            Selection::Custom(wanted) => self.as_of_now(wanted)?,
            Selection::Global => self.whole(Cost::Global)?,
            Selection::Costly => self.whole(Cost::Costly)?,
        };
        let source = self.source.clone();
        let name = Arc::clone(&self.name);
        let known = self.known()?;
        let mut probe = CounterProbe::new(name, source, &known, &wanted)?;
        probe.take_baseline()?;
        Ok(Box::new(probe))
    }
}

impl<S: Source + Clone + 'static> CounterSource<S> {
    fn list_costly(&mut self) -> Result<(), SourceError> {
        if !self.costly {
            self.source.list_costly()?;
            self.costly = true;
        }
        Ok(())
    }

    /// Sensors by the numbers that they have now: those that were given out may
    /// mean others since.
    fn as_of_now(&mut self, wanted: &[Wanted]) -> Result<Vec<Wanted>, MeasureError> {
        let before = self.known.clone();
        let known =
            self.known_with(before.as_deref(), wanted.iter().map(|wanted| wanted.sensor))?;
        let before = before.unwrap_or_else(|| Arc::clone(&known));
        if before.generation == known.generation {
            return Ok(wanted.to_vec());
        }
        let now = |wanted: &Wanted| {
            let sensor = known.after(&before, wanted.sensor);
            let sensor =
                sensor.ok_or_else(|| unknown_sensor(&self.name, &before, wanted.sensor))?;
            Ok(Wanted { sensor, instances: wanted.instances.clone() })
        };
        wanted.iter().map(now).collect()
    }

    /// The name of a sensor, or of an object's first one where the counter is
    /// 0.
    fn name_of(&mut self, sensor: SensorId) -> Result<SensorName, MeasureError> {
        if let Some(name) = self.known()?.name_of(sensor) {
            return Ok(name);
        }
        // Perhaps nobody has looked for it.
        let known = self.known_with(None, std::iter::once(sensor))?;
        let source = Arc::clone(&self.name);
        known.name_of(sensor).ok_or_else(|| unknown_sensor(&source, &known, sensor))
    }

    /// All objects of a cost.
    fn whole(&mut self, cost: Cost) -> Result<Vec<Wanted>, MeasureError> {
        if cost == Cost::Costly {
            self.list_costly()?;
        }
        let known = self.all_known()?;
        let objects = known.catalogue.objects.iter().filter(|object| object.cost == cost);
        let all = |object: &CatalogueObject| Wanted {
            sensor: id_of(object.name, TitleIndex(0)),
            instances: Instances::All,
        };
        Ok(objects.map(all).collect())
    }
}

/// One counter of one selected object.
struct Target {
    /// Which of the sensors asked for.
    asked: usize,
    /// Place among the objects.
    object: usize,
    counter: Followed,
    /// The counter's name, which others of the object may have too.
    title: String,
    on_request: bool,
    value_type: ValueType,
    name: SensorName,
    /// The only instance wanted.
    one: Option<One>,
    /// The slots made so far, by instance; of a sensor without instances, one.
    slots: HashMap<Identity, Called>,
}

/// A slot, and what its instance was called when it was made.
struct Called {
    slot: Arc<Slot>,
    label: Option<InstanceLabel>,
}

impl Called {
    /// Whether the instance is called so still. Of one with a number of its own
    /// the order among equals is another one when others come and go, and then
    /// somebody else may be called as it was.
    fn is(&self, label: Option<&InstanceLabel>) -> bool {
        self.label.as_ref() == label
    }
}

/// One instance, bound when the probe context was made: nobody else who takes
/// its name or number is it.
struct One {
    name: String,
    identity: Option<Identity>,
    /// It was ambiguous once, or is gone: it does not come back.
    lost: bool,
    /// Whether nobody else had its name in the sample before indexes changed, of
    /// which there is nothing left.
    was_alone: bool,
    slot: Arc<Slot>,
}

struct Probed {
    place: Followed,
    /// The object's name, which others may have too.
    title: String,
    /// Data source and group.
    group: Arc<str>,
    state: ObjectState,
    /// Whether all instances are wanted by some sensor.
    all: bool,
    /// It got other indexes, which was not reported yet.
    moved: bool,
}

/// Sensors of one source, ready to be measured.
struct CounterProbe<S> {
    name: Arc<str>,
    source: S,
    /// The catalogue's generation as of which the indexes are known.
    generation: u64,
    request: Request,
    snapshot: Snapshot,
    objects: Vec<Probed>,
    targets: Vec<Target>,
}

impl<S: Source> CounterProbe<S> {
    fn new(
        source_name: Arc<str>,
        source: S,
        known: &Known,
        wanted: &[Wanted],
    ) -> Result<Self, MeasureError> {
        let mut probe = Self {
            name: source_name,
            source,
            generation: known.generation,
            request: Request::new(ObjectQuery::Indexes(Vec::new())),
            snapshot: Snapshot::new(),
            objects: Vec::new(),
            targets: Vec::new(),
        };
        for (asked, wanted) in wanted.iter().enumerate() {
            let (object, counter) = (object_of(wanted.sensor), counter_of(wanted.sensor));
            let listed = known.catalogue.object(object);
            let found = listed.map(|listed| (listed, listed.counter(counter)));
            match found {
                Some((listed, Some(counter))) => probe.add(asked, wanted, listed, counter, known),
                Some((listed, None)) if counter.0 == 0 => {
                    // On request means: when asked for by name.
                    let counters = listed.counters.iter().filter(|counter| !counter.on_request);
                    counters.for_each(|counter| probe.add(asked, wanted, listed, counter, known));
                }
                _ => return Err(unknown_sensor(&probe.name, known, wanted.sensor)),
            }
        }
        Ok(probe)
    }

    fn add(
        &mut self,
        asked: usize,
        wanted: &Wanted,
        object: &CatalogueObject,
        counter: &CatalogueCounter,
        known: &Known,
    ) {
        let Some(sensor) = known.sensor(object.name, counter.name) else { return };
        let group = sensor.name.group();
        let all = object.has_instances && wanted.instances == Instances::All;
        let place = match self.objects.iter().position(|p| p.place.index() == object.name) {
            Some(place) => place,
            None => {
                self.request.objects.insert(object.name);
                let title = title(&known.titles, object.name);
                let named = known.catalogue.named(&known.titles, &title);
                self.objects.push(Probed {
                    place: Followed::new(object.name, named),
                    title,
                    group: format!("{}/{group}", self.name).into(),
                    state: ObjectState::default(),
                    all: false,
                    moved: false,
                });
                self.objects.len() - 1
            }
        };
        if let Some(probed) = self.objects.get_mut(place) {
            probed.all |= all;
        }
        let extra = (object.name, counter.name);
        if counter.on_request && !self.request.extra_counters.contains(&extra) {
            self.request.extra_counters.push(extra);
        }
        let (name, value_type) = (sensor.name.clone(), sensor.value_type);
        let title = title(&known.titles, counter.name);
        let one = match &wanted.instances {
            Instances::One(instance) => Some(One {
                name: instance.clone(),
                identity: None,
                lost: false,
                was_alone: false,
                slot: Arc::new(Slot { name: name.clone().with_instance(instance), value_type }),
            }),
            Instances::All => None,
        };
        self.targets.push(Target {
            asked,
            object: place,
            counter: Followed::new(counter.name, object.named(&known.titles, &title)),
            title,
            on_request: counter.on_request,
            value_type,
            name,
            one,
            slots: HashMap::new(),
        });
    }

    /// The first sample, which binds instances to their names.
    fn take_baseline(&mut self) -> Result<(), MeasureError> {
        let mut attempts = 0..ATTEMPTS;
        loop {
            attempts.next().ok_or_else(|| changing(&self.name))?;
            self.request.deadline = Instant::now().checked_add(PATIENCE);
            self.source.collect(&self.request, &mut self.snapshot)?;
            // What came is what was asked for only if the indexes still mean that.
            if !self.follow_catalogue()? {
                break;
            }
        }
        for probed in &mut self.objects {
            probed.moved = false;
            if probed.place.is_there() {
                probed.state.advance(probed.place.index(), &self.snapshot);
            } else {
                probed.state.missing = Some(NOT_THERE.into());
            }
        }
        let samples = self.objects.iter().map(|probed| probed.state.current());
        // Of an object that nobody wants one instance of, none.
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
            one.identity = place.and_then(|place| sample?.identities.identity(place).cloned());
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
        Ok(())
    }
}

impl<S: Source> ProbeContext for CounterProbe<S> {
    fn baseline(&mut self, out: &mut Vec<SensorReading>) {
        for target in &mut self.targets {
            if let Some(probed) = self.objects.get(target.object) {
                target.read(probed, None, out);
            }
        }
    }

    fn prepare(&mut self) -> Result<(), MeasureError> {
        // The frames of the sample before the last go back to the source, so
        // that there is a free one.
        self.snapshot.clear();
        self.follow_catalogue()?;
        Ok(())
    }

    fn sample(
        &mut self,
        deadline: Option<Instant>,
        anomalies: &mut Vec<Anomaly>,
    ) -> Result<(), MeasureError> {
        self.request.deadline = deadline;
        let watch = GrowthWatch::begin();
        let collected = self.source.collect(&self.request, &mut self.snapshot);
        let source = || Arc::clone(&self.name);
        // The words of an error may be what was allocated.
        if watch.has_noted() || collected.is_ok() && self.snapshot.has_grown() {
            anomalies.push(Anomaly::BufferGrown { source: source() });
        }
        collected?;
        let partial = |fault: &Fault| Anomaly::Partial {
            source: source(),
            message: Arc::clone(&fault.message),
        };
        let faults = self.snapshot.faults();
        // No more than there is room for; the last place tells of the rest.
        let room = anomalies.capacity() - anomalies.len();
        let kept = if faults.len() > room { room.saturating_sub(1) } else { faults.len() };
        anomalies.extend(faults.iter().take(kept).map(partial));
        if let count @ 1.. = faults.len() - kept {
            anomalies.push(Anomaly::More { source: source(), count });
        }
        Ok(())
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
        // What came is what was asked for only if the indexes still mean that.
        let (failed, unlike) = match failed {
            Some(failed) => (Some(failed), false),
            None => match self.follow_catalogue() {
                Ok(moved) => (None, moved),
                Err(error) => (Some(error), false),
            },
        };
        for (number, probed) in self.objects.iter_mut().enumerate() {
            if failed.is_some() {
                probed.state.skip();
                continue;
            }
            let moved = std::mem::take(&mut probed.moved);
            if moved {
                let group = Arc::clone(&probed.group);
                anomalies.push(Anomaly::StructureChanged { group });
            }
            if moved && unlike || !probed.place.is_there() {
                probed.state.skip();
                probed.state.missing = Some(NOT_THERE.into()).filter(|_| !probed.place.is_there());
                continue;
            }
            let is_first = probed.state.current().is_none() && probed.state.previous().is_none();
            if probed.state.advance(probed.place.index(), &self.snapshot) {
                let group = Arc::clone(&probed.group);
                anomalies.push(Anomaly::StructureChanged { group });
            }
            if !is_first {
                let targets = self.targets.iter().filter(|target| target.object == number);
                probed.report_instances(anomalies, targets);
            }
        }
        for target in &mut self.targets {
            if let Some(probed) = self.objects.get(target.object) {
                target.read(probed, failed.as_ref(), out);
            }
        }
        self.snapshot.clear();
    }
}

impl Probed {
    /// Tells of instances that came or went, of those that are measured.
    fn report_instances<'a>(
        &self,
        anomalies: &mut Vec<Anomaly>,
        targets: impl Iterator<Item = &'a Target>,
    ) {
        let (Some(now), Some(before)) = (self.state.current(), self.state.previous()) else {
            return;
        };
        let missing = |from: &ObjectSample, of: &ObjectSample| {
            let identities = of.identities.identities().iter();
            identities.filter(|identity| from.identities.place(identity).is_none()).count()
        };
        let (born, mut gone) = match self.all {
            true => (missing(before, now), missing(now, before)),
            false => (0, 0),
        };
        if !self.all {
            // Several sensors may be of one instance.
            let ones = targets.filter_map(|target| target.one.as_ref()?.identity.as_ref());
            let lost: HashSet<_> = ones
                .filter(|id| before.identities.place(id).is_some())
                .filter(|id| now.identities.place(id).is_none())
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
