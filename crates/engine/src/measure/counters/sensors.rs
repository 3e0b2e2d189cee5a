//! The data source of a [`Source`]'s counters.

use super::CounterProbe;
use super::limit_of;
use super::list::{PATIENCE, SensorList, counter_of, id_of, object_of, unknown_sensor};
use super::names::instance_names;
use crate::ask::{Ask, NO_OBJECT, ObjectQuery};
use crate::error::SourceError;
use crate::followed::{IndexChange, changing, sample_followed};
use crate::frame::Snapshot;
use crate::measure::source::{
    DataSource, ProbeContext, SelectedSensor, SensorInstances, SensorSelection,
};
use crate::measure::{MeasureError, Sensor, SensorId, SensorName};
use crate::query::sample::ObjectState;
use crate::source::{CatalogueObject, Cost, Source};
use crate::suggest::fold;
use perfhive_format::TitleIndex;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The sensors of a [`Source`]: every counter of every object. A group is an object, under its
/// English name, or its name in the source's first language with titles, or its index. If several
/// objects have the same name, the one with the smallest index keeps it, as in counter paths. The
/// others are called `NAME#INDEX`, or `NAME#published` for the first of them with an index that its
/// provider chose.
///
/// The source is not asked for all of its objects until all sensors are listed, or all global or
/// all costly ones are measured.
///
/// Each probe context has a clone of the source. Clones of a [`Cached`](crate::Cached) share
/// what they collect.
///
/// An instance is named by its process ID in Process, by its thread ID in Thread, and otherwise as
/// in counter paths (`parent/name#n`). The sum over all instances is called `_Total`.
pub struct CounterSource<S> {
    name: Arc<str>,
    source: S,
    list: Option<Arc<SensorList>>,
    /// Whether the source was asked to list its costly objects.
    costly: bool,
    /// Whether the list has all sensors of the source, not only those of wanted groups.
    complete: bool,
    /// The groups that were looked for since the list was made, in lower case.
    groups: HashSet<String>,
}

impl<S: Source + Clone + 'static> CounterSource<S> {
    /// A data source that offers the counters of `source`, under a name such as `linux.procfs`.
    pub fn new(name: &str, source: S) -> Self {
        let name = name.into();
        Self { name, source, list: None, costly: false, complete: false, groups: HashSet::new() }
    }

    /// The number of a counter's sensor. In a selection, counter 0 means all counters of the
    /// object, except those that are filled only on request.
    #[must_use]
    pub fn sensor_id(object: TitleIndex, counter: TitleIndex) -> SensorId {
        id_of(object, counter)
    }

    /// The title indexes of the object and of the counter of a sensor, in this order.
    #[must_use]
    pub fn indexes_of(sensor: SensorId) -> (TitleIndex, TitleIndex) {
        (object_of(sensor), counter_of(sensor))
    }

    /// Whether any title satisfies the condition `is_it`, among the titles from which the sensors'
    /// names are made. The title may be that of an object or counter that does not exist now. Names
    /// such as `NAME#INDEX` are not titles.
    ///
    /// # Errors
    /// The source's error if it does not return its catalogue or titles.
    pub fn has_name(&mut self, is_it: impl Fn(&str) -> bool) -> Result<bool, MeasureError> {
        let list = self.list()?;
        let mut titles = list.directory.titles.databases().iter().flat_map(|titles| titles.all());
        Ok(titles.any(|(_, name)| is_it(name)))
    }

    /// The list of sensors, which is made again if the generation of the catalogue changed.
    fn list(&mut self) -> Result<Arc<SensorList>, MeasureError> {
        let generation = self.source.catalogue(&Ask::nothing())?.generation;
        if let Some(list) =
            self.list.as_ref().filter(|list| list.directory.generation == generation)
        {
            return Ok(Arc::clone(list));
        }
        // After a change of the catalogue the groups have to be looked for again.
        self.groups.clear();
        let list = Arc::new(SensorList::load(&self.name, &mut self.source, self.complete)?);
        Ok(Arc::clone(self.list.insert(list)))
    }

    /// The list of all sensors, after the source was made to find out all of its objects. Objects
    /// that are costly even to list are in it only after [`list_costly`](Self::list_costly).
    fn whole_list(&mut self) -> Result<Arc<SensorList>, MeasureError> {
        if !std::mem::replace(&mut self.complete, true) {
            self.list = None;
        }
        self.list()
    }

    /// Makes the source find out which of these objects exist.
    fn look_for(&mut self, mut wanted: Vec<TitleIndex>) -> Result<(), MeasureError> {
        wanted.sort_unstable();
        wanted.dedup();
        if !wanted.is_empty() {
            self.source.catalogue(&Ask::objects(&wanted))?;
        }
        Ok(())
    }

    /// The list of sensors after the source was asked, where need be, for the objects of some
    /// sensors, and for all other objects with the same names. The sensors are given by their
    /// numbers in the list `before` or, for `None`, in the present list.
    fn list_with(
        &mut self,
        before: Option<&SensorList>,
        sensors: impl Iterator<Item = SensorId>,
    ) -> Result<Arc<SensorList>, MeasureError> {
        let list = self.list()?;
        let is_same =
            before.is_none_or(|before| before.directory.generation == list.directory.generation);
        let mut wanted = Vec::new();
        for object in sensors.map(object_of) {
            if is_same && list.directory.catalogue.object(object).is_some() {
                continue;
            }
            let had_it =
                before.filter(|before| before.directory.catalogue.object(object).is_some());
            match had_it.unwrap_or(&list).directory.titles.name(object) {
                Some(name) => wanted.extend(list.directory.titles.indexes(name)),
                None => wanted.push(object),
            }
        }
        self.look_for(wanted)?;
        self.list()
    }
}

impl SensorList {
    /// The name of a sensor; counter 0 means the first sensor of the object. `None` if the list has
    /// no such sensor.
    fn name_of(&self, id: SensorId) -> Option<SensorName> {
        let is_it = |sensor: &&Sensor| match counter_of(id) {
            TitleIndex(0) => object_of(sensor.id) == object_of(id),
            _ => sensor.id == id,
        };
        self.sensors.iter().find(is_it).map(|sensor| sensor.name.clone())
    }
}

/// The largest number of groups that are remembered because they were looked for. A group beyond
/// this number makes the source forget all others.
const GROUPS: usize = 1024;

impl<S: Source + Clone + 'static> DataSource for CounterSource<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn sensors(&mut self) -> Result<Arc<[Sensor]>, MeasureError> {
        // Objects that cannot be listed now are left out.
        let _ = self.list_costly();
        Ok(Arc::clone(&self.whole_list()?.sensors))
    }

    fn sensors_of(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let list = self.list()?;
        // An object may exist and be in no list, even after everything was listed.
        let folded = fold(group);
        let is_of_it = |sensor: &Sensor| fold(sensor.name.group()) == folded;
        if self.groups.contains(&folded) || self.complete && list.sensors.iter().any(is_of_it) {
            return Ok(Arc::clone(&list.sensors));
        }
        // All objects with the name are needed to tell them apart. `NAME#INDEX` means an object
        // with the name `NAME`.
        let named = |name: &str| list.directory.titles.indexes(name);
        let mut meant = named(group);
        meant.extend(group.rsplit_once('#').into_iter().flat_map(|(name, _)| named(name)));
        let number = group.parse().ok().map(TitleIndex);
        meant.extend(number.filter(|index| list.directory.titles.name(*index).is_none()));
        if meant.is_empty() {
            // A source that cannot tell its names says so with an error.
            self.source.catalogue(&Ask::objects(&[NO_OBJECT]))?;
        }
        self.look_for(meant)?;
        if self.groups.len() >= GROUPS {
            self.groups.clear();
        }
        let sensors = Arc::clone(&self.list()?.sensors);
        self.groups.insert(folded);
        Ok(sensors)
    }

    fn sensors_near(&mut self, group: &str) -> Result<Arc<[Sensor]>, MeasureError> {
        let list = self.list()?;
        let near = list.directory.titles.near(group);
        // If this fails, there are fewer suggestions.
        let _ = self.look_for(near);
        Ok(Arc::clone(&self.list()?.sensors))
    }

    fn instances(&mut self, sensor: SensorId) -> Result<Vec<String>, MeasureError> {
        // `sensor` is a number of the list that was handed out last.
        let list = match &self.list {
            Some(list) => Arc::clone(list),
            None => self.list()?,
        };
        let mut snapshot = Snapshot::new();
        let deadline = Instant::now().checked_add(PATIENCE);
        let mut consumer = self.source.clone();
        let max_age = limit_of(&mut consumer, Duration::ZERO);
        let mut reader = (&mut *self, list, sensor);
        let sampled = sample_followed(
            &mut reader,
            |(source, list, sensor)| {
                let now = source.list_with(Some(list), std::iter::once(*sensor))?;
                let same = now.after(list, *sensor);
                let same = same.ok_or_else(|| unknown_sensor(&source.name, list, *sensor))?;
                *list = now;
                match std::mem::replace(sensor, same) == same {
                    true => Ok(IndexChange::None),
                    false => Ok(IndexChange::Taken),
                }
            },
            |(_, _, sensor)| {
                let objects = Ask::objects(&[object_of(*sensor)]);
                let request = Ask { until: deadline, max_age, ..objects };
                Ok::<_, MeasureError>(consumer.collect(&request, &mut snapshot)?)
            },
        )?;
        let sensor = reader.2;
        sampled.ok_or_else(|| changing(&self.name))?;
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

    fn probe(
        &mut self,
        selection: &SensorSelection,
        max_age: Duration,
    ) -> Result<Box<dyn ProbeContext>, MeasureError> {
        let wanted = match selection {
            SensorSelection::Custom(wanted) => self.as_of_now(wanted)?,
            SensorSelection::Global => self.whole(Cost::Global)?,
            SensorSelection::Costly => self.whole(Cost::Costly)?,
        };
        let source = self.source.clone();
        let name = Arc::clone(&self.name);
        let list = self.list()?;
        let mut probe = CounterProbe::new(name, source, &list, &wanted)?;
        probe.take_baseline()?;
        probe.request.max_age = limit_of(&mut probe.source, max_age);
        // Readers that let others use their samples share collections.
        if probe.request.max_age == Some(Duration::ZERO) {
            probe.read_directly();
        }
        Ok(Box::new(probe))
    }
}

impl<S: Source + Clone + 'static> CounterSource<S> {
    /// Makes the source list its costly objects, unless an earlier call has done so.
    fn list_costly(&mut self) -> Result<(), SourceError> {
        if !self.costly {
            self.source.catalogue(&Ask::new(ObjectQuery::Costly))?;
            self.costly = true;
        }
        Ok(())
    }

    /// The selected sensors under their present numbers. A number may have changed since the caller
    /// got it. An error if a number belongs to another object or counter now, and the sensor's name
    /// is not found.
    fn as_of_now(
        &mut self,
        wanted: &[SelectedSensor],
    ) -> Result<Vec<SelectedSensor>, MeasureError> {
        let before = self.list.clone();
        let list = self.list_with(before.as_deref(), wanted.iter().map(|wanted| wanted.sensor))?;
        let before = before.unwrap_or_else(|| Arc::clone(&list));
        if before.directory.generation == list.directory.generation {
            return Ok(wanted.to_vec());
        }
        let now = |wanted: &SelectedSensor| {
            let sensor = list.after(&before, wanted.sensor);
            let sensor =
                sensor.ok_or_else(|| unknown_sensor(&self.name, &before, wanted.sensor))?;
            Ok(SelectedSensor { sensor, instances: wanted.instances.clone() })
        };
        wanted.iter().map(now).collect()
    }

    /// The name of a sensor; counter 0 means the first sensor of the object. An error if there is
    /// no such sensor.
    fn name_of(&mut self, sensor: SensorId) -> Result<SensorName, MeasureError> {
        if let Some(name) = self.list()?.name_of(sensor) {
            return Ok(name);
        }
        // The object of the sensor may not have been looked for yet.
        let list = self.list_with(None, std::iter::once(sensor))?;
        let source = Arc::clone(&self.name);
        list.name_of(sensor).ok_or_else(|| unknown_sensor(&source, &list, sensor))
    }

    /// A selection of the objects with this cost, with all instances, and all counters but those
    /// that are filled only on request. For `Costly`, it also has the objects with unknown cost.
    fn whole(&mut self, cost: Cost) -> Result<Vec<SelectedSensor>, MeasureError> {
        if cost == Cost::Costly {
            self.list_costly()?;
        }
        let list = self.whole_list()?;
        let is_of_it = |of: Cost| match cost {
            // An object that is neither global nor costly is delivered on request.
            Cost::Costly => matches!(of, Cost::Costly | Cost::Unknown),
            _ => of == cost,
        };
        let objects =
            list.directory.catalogue.objects.iter().filter(|object| is_of_it(object.cost));
        let all = |object: &CatalogueObject| SelectedSensor {
            sensor: id_of(object.name, TitleIndex(0)),
            instances: SensorInstances::All,
        };
        Ok(objects.map(all).collect())
    }
}
