//! What a source has, as sensors: their numbers, names and kinds.

use crate::ask::Ask;
use crate::broker::CHOSEN_INDEXES;
use crate::error::{SourceError, SourceErrorKind};
use crate::followed::Followed;
use crate::measure::{Sensor, SensorId, SensorKind, SensorName, ValueType};
use crate::source::{Catalogue, CatalogueCounter, CatalogueObject, Cost, Source};
use crate::suggest::fold;
use crate::titles::TitleDatabase;
use perfhive_format::{CounterType, Formula, LanguageId, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What the source has, as of one generation of its catalogue.
pub(super) struct Known {
    pub(super) generation: u64,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) titles: Arc<TitleDatabase>,
    pub(super) sensors: Arc<[Sensor]>,
    /// Where among these each is.
    places: HashMap<SensorId, usize>,
}

impl Known {
    /// Asks a source what it has, for sensors of a data source of this name.
    /// Of what takes time to find out that is what somebody looked for, or all.
    pub(super) fn load(
        name: &str,
        source: &mut impl Source,
        all: bool,
    ) -> Result<Self, SourceError> {
        let ask = if all { Ask::everything() } else { Ask::nothing() };
        let catalogue = source.catalogue(&ask)?;
        let generation = catalogue.generation;
        let titles = titles_of(source, &catalogue, &ask)?;
        let (sensors, places) = sensors(name, &catalogue, &titles);
        Ok(Self { generation, catalogue, titles, sensors, places })
    }

    /// The sensor of a counter.
    pub(super) fn sensor(&self, object: TitleIndex, counter: TitleIndex) -> Option<&Sensor> {
        self.sensors.get(*self.places.get(&id_of(object, counter))?)
    }

    /// The number that a sensor of an earlier catalogue has in this one, where
    /// its counter may have another index; `None` where it is gone.
    pub(super) fn after(&self, before: &Self, id: SensorId) -> Option<SensorId> {
        let (object, counter) = (object_of(id), counter_of(id));
        let Some(listed) = before.catalogue.object(object) else { return Some(id) };
        let name = title(&before.titles, object);
        let mut place = Followed::new(object, before.catalogue.named(&before.titles, &name));
        follow_object(&mut place, &name, &self.catalogue, &self.titles);
        if !place.is_there() {
            return None;
        }
        let now = self.catalogue.object(place.index());
        let mut counter_place = Followed::new(counter, []);
        if let (Some(_), Some(now)) = (listed.counter(counter), now) {
            let name = title(&before.titles, counter);
            counter_place = Followed::new(counter, listed.named(&before.titles, &name));
            follow_counter(&mut counter_place, &name, now, &self.titles);
        }
        counter_place.is_there().then(|| id_of(place.index(), counter_place.index()))
    }
}

/// Finds an object in a new catalogue. Answers whether anything is not as
/// before.
pub(super) fn follow_object(
    place: &mut Followed,
    name: &str,
    catalogue: &Catalogue,
    titles: &TitleDatabase,
) -> bool {
    let index = place.index();
    let is_renamed = titles.name(index).is_some_and(|other| other != name);
    let in_use = catalogue.object(index).is_some() || is_renamed;
    place.follow(&catalogue.named(titles, name), in_use)
}

/// The same for a counter of an object.
pub(super) fn follow_counter(
    place: &mut Followed,
    name: &str,
    object: &CatalogueObject,
    titles: &TitleDatabase,
) -> bool {
    let in_use = object.counter(place.index()).is_some();
    place.follow(&object.named(titles, name), in_use)
}

impl Catalogue {
    /// The indexes of the objects of a name.
    pub(super) fn named(&self, titles: &TitleDatabase, name: &str) -> Vec<TitleIndex> {
        let indexes = self.objects.iter().map(|object| object.name);
        indexes.filter(|index| is_called(titles, *index, name)).collect()
    }
}

impl CatalogueObject {
    /// The indexes of the counters of a name.
    pub(super) fn named(&self, titles: &TitleDatabase, name: &str) -> Vec<TitleIndex> {
        let indexes = self.counters.iter().map(|counter| counter.name);
        indexes.filter(|index| is_called(titles, *index, name)).collect()
    }
}

/// English names, or else those of the source's first language, or none: a
/// recording may lack them.
pub(super) fn titles_of(
    source: &mut impl Source,
    catalogue: &Catalogue,
    ask: &Ask,
) -> Result<Arc<TitleDatabase>, SourceError> {
    for language in [LanguageId::ENGLISH].iter().chain(&catalogue.languages) {
        match source.titles(*language, ask) {
            Err(error) if error.kind() == SourceErrorKind::NotFound => {}
            found => return found,
        }
    }
    Ok(Arc::new(TitleDatabase::from_lists(LanguageId::ENGLISH, [], [])))
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

/// A name, or the index where there is none.
pub(super) fn title(titles: &TitleDatabase, index: TitleIndex) -> String {
    titles.name(index).map_or_else(|| index.to_string(), str::to_string)
}

/// Whether [`title`] is this.
fn is_called(titles: &TitleDatabase, index: TitleIndex, name: &str) -> bool {
    titles.name(index).map_or_else(|| index.to_string() == name, |own| own == name)
}

fn sensors(
    source: &str,
    catalogue: &Catalogue,
    titles: &TitleDatabase,
) -> (Arc<[Sensor]>, HashMap<SensorId, usize>) {
    let mut sensors = Vec::new();
    let mut places = HashMap::new();
    // Objects may be listed in another order the next time; counters are where
    // their object's definition has them.
    let objects = catalogue.objects.iter().map(|object| object.name);
    let groups = own_names(titles, objects, |_, index| index);
    for (object, group) in catalogue.objects.iter().zip(groups) {
        let counters = object.counters.iter().map(|counter| counter.name);
        let names = own_names(titles, counters, |place, _| place);
        for (counter, name) in object.counters.iter().zip(names) {
            let id = id_of(object.name, counter.name);
            // Of several with one index the first counts, as everywhere.
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
    titles: &TitleDatabase,
) -> Sensor {
    Sensor {
        id,
        name,
        kind: kind_of(counter.counter_type),
        value_type: value_type_of(counter.counter_type),
        unit: counter.counter_type.unit().to_string(),
        help: titles.help(counter.help).unwrap_or_default().to_string(),
        has_instances: object.has_instances,
        is_costly: matches!(object.cost, Cost::Costly | Cost::Foreign) || counter.on_request,
    }
}

/// A name for each index that no other has, whatever the case. `ranks` says who of
/// several of one name has it, as in counter paths: the least. The others have
/// their index behind it, or, where providers choose indexes that mean nothing to
/// another reader, `published`.
fn own_names<R: Ord>(
    titles: &TitleDatabase,
    indexes: impl Iterator<Item = TitleIndex>,
    rank: impl Fn(usize, TitleIndex) -> R,
) -> Vec<String> {
    let mut names: Vec<_> = indexes.map(|index| (index, title(titles, index))).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|place| names.get(*place).map(|(index, _)| rank(*place, *index)));
    let mut taken = HashSet::new();
    // First those that have their names to themselves, which no other is to take.
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
        // Nobody else's name, even where one is called so.
        loop {
            *name = format!("{name}#{index}");
            if taken.insert(fold(name)) {
                break;
            }
        }
    }
    names.into_iter().map(|(_, name)| name).collect()
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
