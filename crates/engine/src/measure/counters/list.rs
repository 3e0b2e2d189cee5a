//! The counters of a source as sensors: their numbers, names and kinds.

use crate::ask::Ask;
use crate::broker::CHOSEN_INDEXES;
use crate::error::{SourceError, SourceErrorKind};
use crate::followed::Followed;
use crate::measure::{MeasureError, Sensor, SensorId, SensorKind, SensorName, ValueType};
use crate::query::Directory;
use crate::source::{Catalogue, CatalogueCounter, CatalogueObject, Cost, Source};
use crate::suggest::fold;
use crate::titles::TitleSet;
use crate::unit::unit_of;
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The time limit for listing instances, for a first sample, and for following the catalogue before
/// a sample.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The sensors of a source, as of one generation of its catalogue.
pub(super) struct SensorList {
    pub(super) directory: Directory,
    pub(super) sensors: Arc<[Sensor]>,
    /// For each sensor, its index in `sensors`.
    places: HashMap<SensorId, usize>,
}

impl SensorList {
    /// The sensors of `source`, for the data source called `name`. If `all` is `true`, the source
    /// first finds out its objects, except those that are costly even to list; otherwise the list
    /// has the objects that are known already. An error if the source does not return its catalogue
    /// or titles.
    pub(super) fn load(
        name: &str,
        source: &mut impl Source,
        all: bool,
    ) -> Result<Self, SourceError> {
        let ask = if all { Ask::everything() } else { Ask::nothing() };
        let catalogue = source.catalogue(&ask)?;
        let titles = titles_of(source, &catalogue, &ask)?;
        let directory = Directory { generation: catalogue.generation, catalogue, titles };
        let (sensors, places) = sensors(name, &directory);
        Ok(Self { directory, sensors, places })
    }

    /// The sensor of a counter; `None` if it is not in the list.
    pub(super) fn sensor(&self, object: TitleIndex, counter: TitleIndex) -> Option<&Sensor> {
        self.sensors.get(*self.places.get(&id_of(object, counter))?)
    }

    /// The number that a sensor of the earlier list `before` has in this list. `None` if a title
    /// index of the sensor belongs to another object or counter now, and the name is not found. If
    /// `before` does not have the object, the number stays.
    pub(super) fn after(&self, before: &Self, id: SensorId) -> Option<SensorId> {
        let (object, counter) = (object_of(id), counter_of(id));
        let (before, now) = (&before.directory, &self.directory);
        let Some(listed) = before.catalogue.object(object) else { return Some(id) };
        let mut index = before.follow_object(object);
        index.follow_object(now);
        let object = index.index()?;
        let counter = match (listed.counter(counter), now.catalogue.object(object)) {
            (Some(_), Some(now_listed)) => {
                let mut index = before.follow_counter(listed, counter);
                index.follow_counter(now, now_listed);
                index.index()?
            }
            _ => counter,
        };
        Some(id_of(object, counter))
    }
}

impl Directory {
    /// The object with a title index, to be found again by its name when indexes change.
    pub(super) fn follow_object(&self, object: TitleIndex) -> Followed {
        Followed::object(self, &self.titles.name_or_index(object), object)
    }

    /// The counter of an object with a title index, to be found again by its name when indexes
    /// change.
    pub(super) fn follow_counter(&self, object: &CatalogueObject, counter: TitleIndex) -> Followed {
        Followed::counter(self, object, &self.titles.name_or_index(counter), counter)
    }
}

/// The titles of a source in English. If it has none, those in the first language of its catalogue
/// that has titles. If no language has any, as in some recordings, the set is empty. Errors other
/// than `NotFound` are returned.
pub(super) fn titles_of(
    source: &mut impl Source,
    catalogue: &Catalogue,
    ask: &Ask,
) -> Result<Arc<TitleSet>, SourceError> {
    for language in [LanguageId::ENGLISH].iter().chain(&catalogue.languages) {
        match source.titles(*language, ask) {
            Err(error) if error.kind() == SourceErrorKind::NotFound => {}
            found => return Ok(Arc::new(TitleSet::new(vec![found?]))),
        }
    }
    Ok(Arc::default())
}

pub(super) fn id_of(object: TitleIndex, counter: TitleIndex) -> SensorId {
    SensorId(u64::from(object.0) << 32 | u64::from(counter.0))
}

pub(super) fn object_of(id: SensorId) -> TitleIndex {
    TitleIndex((id.0 >> 32) as u32)
}

pub(super) fn counter_of(id: SensorId) -> TitleIndex {
    TitleIndex((id.0 & 0xffff_ffff) as u32)
}

/// The error for a number that no sensor has. It shows the names of the title indexes that the
/// number is made of.
pub(super) fn unknown_sensor(source: &str, list: &SensorList, id: SensorId) -> MeasureError {
    let named = |index| list.directory.titles.name_or_index(index);
    let name = SensorName::new(source, &named(object_of(id)), &named(counter_of(id)));
    MeasureError::UnknownSensor { name: Box::new(name), nearest: Vec::new() }
}

fn sensors(source: &str, directory: &Directory) -> (Arc<[Sensor]>, HashMap<SensorId, usize>) {
    let Directory { catalogue, titles, .. } = directory;
    let mut sensors = Vec::new();
    let mut places = HashMap::new();
    // Objects are ranked by index, because their order may differ from one catalogue to the next.
    // Counters are ranked by their order in the definition of the object.
    let objects = catalogue.objects.iter().map(|object| object.name);
    let groups = own_names(titles, objects, |_, index| index);
    for (object, group) in catalogue.objects.iter().zip(groups) {
        let counters = object.counters.iter().map(|counter| counter.name);
        let names = own_names(titles, counters, |place, _| place);
        for (counter, name) in object.counters.iter().zip(names) {
            let id = id_of(object.name, counter.name);
            // If several counters have the same index, the first counts.
            if places.contains_key(&id) {
                continue;
            }
            places.insert(id, sensors.len());
            let name = SensorName::new(source, &group, &name);
            sensors.push(sensor(id, name, object, counter, titles));
        }
    }
    (sensors.into(), places)
}

fn sensor(
    id: SensorId,
    name: SensorName,
    object: &CatalogueObject,
    counter: &CatalogueCounter,
    titles: &TitleSet,
) -> Sensor {
    let named = |index| titles.name(index).unwrap_or_default();
    Sensor {
        id,
        name,
        kind: SensorKind::of(counter.counter_type),
        value_type: ValueType::of(counter.counter_type),
        unit: unit_of(counter.counter_type, named(object.name), named(counter.name)).to_string(),
        help: titles.help(counter.help).unwrap_or_default().to_string(),
        has_instances: object.has_instances,
        is_costly: matches!(object.cost, Cost::Costly | Cost::Foreign) || counter.on_request,
    }
}

/// For each index a name that no other index has, without regard to case. If several indexes have
/// the same name, the index with the least `rank` keeps it, as in counter paths. The names of the
/// others end in `#INDEX`, or in `#published` for the first of them that a provider chose, since
/// such an index differs from reader to reader.
fn own_names<R: Ord>(
    titles: &TitleSet,
    indexes: impl Iterator<Item = TitleIndex>,
    rank: impl Fn(usize, TitleIndex) -> R,
) -> Vec<String> {
    let mut names: Vec<_> = indexes.map(|index| (index, titles.name_or_index(index))).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|place| names.get(*place).map(|(index, _)| rank(*place, *index)));
    let mut taken = HashSet::new();
    // Each name goes to its first index by rank. The indexes that remain get other names.
    order.retain(|place| !names.get(*place).is_some_and(|(_, name)| taken.insert(fold(name))));
    for place in order {
        let Some((index, name)) = names.get_mut(place) else { continue };
        if index.0 >= CHOSEN_INDEXES {
            let published = format!("{name}#published");
            if taken.insert(fold(&published)) {
                *name = published;
                continue;
            }
        }
        // Another index may have this name as well.
        loop {
            *name = format!("{name}#{index}");
            if taken.insert(fold(name)) {
                break;
            }
        }
    }
    names.into_iter().map(|(_, name)| name).collect()
}
