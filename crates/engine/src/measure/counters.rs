//! Performance counters as sensors.

mod read;
mod renumber;

use super::source::{DataSource, Instances, MeasureError, ProbeContext, Selection, Wanted};
use super::{Anomaly, Sensor, SensorId, SensorKind, SensorName, SensorReading, Slot, ValueType};
use crate::error::{Fault, SourceError, SourceErrorKind};
use crate::frame::Snapshot;
use crate::identity::Identity;
use crate::label::InstanceLabel;
use crate::query::sample::{ObjectSample, ObjectState};
use crate::request::{ObjectQuery, Request};
use crate::source::{Catalogue, CatalogueCounter, CatalogueObject, Cost, Source};
use crate::suggest::nearest;
use crate::titles::TitleDatabase;
use perfhive_format::{CounterType, Formula, LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The sensors of a [`Source`]: every counter of every object. Groups are
/// objects, by their English names; where the source has none, by those of its
/// first language, or else by their indexes.
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
    known: Option<Known>,
    /// Whether the source was asked for what is expensive to list.
    costly: bool,
}

/// What the source has, as of one generation of its catalogue.
struct Known {
    generation: u64,
    catalogue: Arc<Catalogue>,
    titles: Arc<TitleDatabase>,
    sensors: Arc<[Sensor]>,
}

impl<S: Source + Clone + 'static> CounterSource<S> {
    /// The sensors of `source`, under a name such as `linux.procfs`.
    pub fn new(name: &str, source: S) -> Self {
        Self { name: name.into(), source, known: None, costly: false }
    }

    /// The number of a counter's sensor; counter 0 stands for all of the
    /// object's.
    #[must_use]
    pub fn sensor_id(object: TitleIndex, counter: TitleIndex) -> SensorId {
        id_of(object, counter)
    }

    fn known(&mut self) -> Result<&Known, MeasureError> {
        let generation = self.source.catalogue_generation();
        if self.known.as_ref().is_none_or(|known| known.generation != generation) {
            let catalogue = self.source.catalogue()?;
            let titles = titles_of(&mut self.source, &catalogue)?;
            let sensors = sensors(&self.name, &catalogue, &titles);
            self.known = Some(Known { generation, catalogue, titles, sensors });
        }
        // It was just put there.
        self.known.as_ref().ok_or_else(|| MeasureError::Other("no catalogue".into()))
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

/// English names, or else those of the source's first language, or none: a
/// recording may lack them.
fn titles_of(
    source: &mut impl Source,
    catalogue: &Catalogue,
) -> Result<Arc<TitleDatabase>, SourceError> {
    for language in [LanguageId::ENGLISH].iter().chain(&catalogue.languages) {
        match source.titles(*language) {
            Err(error) if error.kind() == SourceErrorKind::NotFound => {}
            found => return found,
        }
    }
    Ok(Arc::new(TitleDatabase::from_lists(LanguageId::ENGLISH, [], [])))
}

fn id_of(object: TitleIndex, counter: TitleIndex) -> SensorId {
    SensorId(u64::from(object.0) << 32 | u64::from(counter.0))
}

fn object_of(id: SensorId) -> TitleIndex {
    TitleIndex((id.0 >> 32) as u32)
}

fn counter_of(id: SensorId) -> TitleIndex {
    TitleIndex((id.0 & 0xffff_ffff) as u32)
}

/// A name, or the index where there is none.
fn title(titles: &TitleDatabase, index: TitleIndex) -> String {
    titles.name(index).map_or_else(|| index.to_string(), str::to_string)
}

fn sensors(source: &str, catalogue: &Catalogue, titles: &TitleDatabase) -> Arc<[Sensor]> {
    let of_object = |object: &CatalogueObject| {
        let group = title(titles, object.name);
        let (name, has_instances, cost) = (object.name, object.has_instances, object.cost);
        let sensor = move |counter: &CatalogueCounter| Sensor {
            id: id_of(name, counter.name),
            name: SensorName::new(source, &group, &title(titles, counter.name)),
            kind: kind_of(counter.counter_type),
            value_type: value_type_of(counter.counter_type),
            unit: counter.counter_type.unit().to_string(),
            help: titles.help(counter.help).unwrap_or_default().to_string(),
            has_instances,
            is_costly: cost != Cost::Global || counter.on_request,
        };
        object.counters.iter().map(sensor).collect::<Vec<_>>()
    };
    catalogue.objects.iter().flat_map(of_object).collect()
}

fn kind_of(counter_type: CounterType) -> SensorKind {
    match counter_type.samples() {
        2 => SensorKind::Counter,
        _ => SensorKind::Gauge,
    }
}

fn value_type_of(counter_type: CounterType) -> ValueType {
    match Formula::of(counter_type) {
        Ok(Formula::Raw | Formula::Delta) => match counter_type.size_in_bytes() {
            Some(4) => ValueType::Int32,
            _ => ValueType::Int64,
        },
        _ => ValueType::Double,
    }
}

/// The names of the instances of a sample, each of one instance: process and
/// thread IDs where they tell apart, or else labels.
fn instance_names(sample: &ObjectSample) -> Vec<String> {
    (0..sample.labels.len()).map(|place| instance_name(sample, place)).collect()
}

fn instance_name(sample: &ObjectSample, place: usize) -> String {
    match (sample.identities.identity(place), sample.labels.get(place)) {
        (Some(Identity::Process { id, .. } | Identity::Thread { id, .. }), _) => id.to_string(),
        (identity, Some(label)) if is_total(identity, label) => "_Total".to_string(),
        (_, Some(label)) => label.to_string(),
        (_, None) => String::new(),
    }
}

/// Whether an instance is the sum over all others, whose parent, where it has
/// one, is called so too; a parent's own sum is not. What has a number of its
/// own and is called like the sum does not take its name.
fn is_total(identity: Option<&Identity>, label: &InstanceLabel) -> bool {
    const TOTAL: &str = "_Total";
    let is_first = match identity {
        Some(Identity::Named { order, .. }) => *order == 0,
        _ => label.order == 0,
    };
    is_first && &*label.name == TOTAL && label.parent.as_deref().is_none_or(|name| name == TOTAL)
}

/// How long it may take to list instances, or to take a first sample.
const PATIENCE: Duration = Duration::from_secs(30);

impl<S: Source + Clone + 'static> DataSource for CounterSource<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
        // Without what cannot be listed at the moment the rest is as good.
        let _ = self.list_costly();
        Ok(Arc::clone(&self.known()?.sensors))
    }

    fn instances(&mut self, sensor: SensorId) -> Result<Vec<String>, MeasureError> {
        let object = object_of(sensor);
        let mut snapshot = Snapshot::new();
        let deadline = Instant::now().checked_add(PATIENCE);
        let request = Request { deadline, ..Request::objects(&[object]) };
        self.source.clone().collect(&request, &mut snapshot)?;
        let mut state = ObjectState::default();
        state.advance(object, &snapshot);
        let name = self.name_of(sensor)?;
        if let Some(reason) = state.missing.take() {
            return Err(MeasureError::NotDelivered { name: Box::new(name), reason });
        }
        let has = snapshot.object(object).is_some_and(|object| object.view().has_instances());
        Ok(state.current().filter(|_| has).map(instance_names).unwrap_or_default())
    }

    fn probe(&mut self, selection: &Selection) -> Result<Box<dyn ProbeContext>, MeasureError> {
        let wanted = match selection {
            Selection::Custom(wanted) => wanted.clone(),
            Selection::Global => self.whole(Cost::Global)?,
            Selection::Costly => self.whole(Cost::Costly)?,
        };
        let source = self.source.clone();
        let name = Arc::clone(&self.name);
        let known = self.known()?;
        let mut probe = CounterProbe::new(name, source, known, &wanted)?;
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

    /// The name of a sensor, or of an object's first one where the counter is
    /// 0.
    fn name_of(&mut self, sensor: SensorId) -> Result<SensorName, MeasureError> {
        let listed = |known: &Known| known.name_of(sensor);
        if let Some(name) = self.known().map(listed)? {
            return Ok(name);
        }
        // Perhaps it is one that costs more to list.
        let _ = self.list_costly();
        let source = Arc::clone(&self.name);
        let known = self.known()?;
        known.name_of(sensor).ok_or_else(|| unknown_sensor(&source, known, sensor))
    }

    /// All objects of a cost.
    fn whole(&mut self, cost: Cost) -> Result<Vec<Wanted>, MeasureError> {
        if cost == Cost::Costly {
            self.list_costly()?;
        }
        let objects = self.known()?.catalogue.objects.iter().filter(|object| object.cost == cost);
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
    counter: TitleIndex,
    /// Whether that index is still its own.
    is_there: bool,
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
    slot: Arc<Slot>,
}

struct Probed {
    name: TitleIndex,
    /// Whether that index is still its own.
    is_there: bool,
    title: String,
    /// Data source and title.
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
        let group = title(&known.titles, object.name);
        let all = object.has_instances && wanted.instances == Instances::All;
        let place = match self.objects.iter().position(|probed| probed.name == object.name) {
            Some(place) => place,
            None => {
                self.request.objects.insert(object.name);
                self.objects.push(Probed {
                    name: object.name,
                    is_there: true,
                    title: group.clone(),
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
        if counter.on_request {
            self.request.extra_counters.push((object.name, counter.name));
        }
        let name = SensorName::new(&self.name, &group, &title(&known.titles, counter.name));
        let value_type = value_type_of(counter.counter_type);
        let one = match &wanted.instances {
            Instances::One(instance) => Some(One {
                name: instance.clone(),
                identity: None,
                lost: false,
                slot: Arc::new(Slot { name: name.clone().with_instance(instance), value_type }),
            }),
            Instances::All => None,
        };
        self.targets.push(Target {
            asked,
            object: place,
            counter: counter.name,
            is_there: true,
            on_request: counter.on_request,
            value_type,
            name,
            one,
            slots: HashMap::new(),
        });
    }

    /// The first sample, which binds instances to their names.
    fn take_baseline(&mut self) -> Result<(), MeasureError> {
        self.request.deadline = Instant::now().checked_add(PATIENCE);
        self.source.collect(&self.request, &mut self.snapshot)?;
        for probed in &mut self.objects {
            probed.state.advance(probed.name, &self.snapshot);
        }
        for target in &mut self.targets {
            let Some(one) = &mut target.one else { continue };
            let probed = self.objects.get(target.object);
            let sample = probed.and_then(|probed| probed.state.current());
            let names = sample.map(instance_names).unwrap_or_default();
            // A name that several have means none of them.
            let only = |is: &dyn Fn(&str) -> bool| {
                let mut same = names.iter().enumerate().filter(|(_, name)| is(name));
                same.next().filter(|_| same.next().is_none()).map(|(place, _)| place)
            };
            let folded = one.name.to_lowercase();
            // As everywhere, case does not matter where it tells nothing apart.
            let place = only(&|name| name == one.name)
                .or_else(|| only(&|name| name.to_lowercase() == folded));
            one.identity = place.and_then(|place| sample?.identities.identity(place).cloned());
            if one.identity.is_none() {
                if let Some(reason) = probed.and_then(|probed| probed.state.missing.clone()) {
                    let name = Box::new(one.slot.name.clone());
                    return Err(MeasureError::NotDelivered { name, reason });
                }
                let near = nearest(&one.name, names.iter().map(String::as_str), 3);
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
        self.source.collect(&self.request, &mut self.snapshot)?;
        let source = || Arc::clone(&self.name);
        if self.snapshot.has_grown() {
            anomalies.push(Anomaly::BufferGrown { source: source() });
        }
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
            if moved && unlike || !probed.is_there {
                probed.state.skip();
                continue;
            }
            let is_first = probed.state.current().is_none() && probed.state.previous().is_none();
            if probed.state.advance(probed.name, &self.snapshot) {
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
