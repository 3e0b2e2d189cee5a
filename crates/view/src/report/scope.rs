//! The counters of a recording that a report reads.

use super::chosen;
use super::threshold::{CounterSet, ObjectNames, Threshold};
use perfhive_engine::{
    Catalogue, CatalogueCounter, CatalogueObject, CounterPath, InstancePattern, NamePattern,
    TitleSet, unit_of,
};
use perfhive_format::{CounterType, TitleIndex};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The counters that a report reads, and the thresholds with which it compares them.
#[derive(Clone, Debug)]
pub struct ReportScope {
    pub(super) machine: String,
    pub(super) objects: Vec<ScopedObject>,
    pub(super) thresholds: Vec<Arc<Threshold>>,
    /// The number of thresholds on counters that the recording does not have.
    pub(super) without_counters: usize,
    /// The paths of [`Choice::Paths`] that no counter of the recording matches.
    unmatched: Vec<CounterPath>,
}

/// An object of a scope, and the counters that are read of it.
#[derive(Clone, Debug)]
pub(super) struct ScopedObject {
    pub(super) index: TitleIndex,
    pub(super) name: String,
    pub(super) english: String,
    pub(super) has_instances: bool,
    pub(super) is_of_processes: bool,
    pub(super) counters: Vec<ScopedCounter>,
}

/// A counter that a report lists, or reads for thresholds.
#[derive(Clone, Debug)]
pub(super) struct ScopedCounter {
    pub(super) index: TitleIndex,
    pub(super) name: String,
    pub(super) english: String,
    pub(super) counter_type: CounterType,
    pub(super) unit: &'static str,
    /// Whether the report lists the counter; other counters are read for thresholds only.
    pub(super) is_shown: bool,
    /// The instances that are listed; all of them if empty.
    pub(super) only: Vec<CounterSet>,
    /// The thresholds for the counter's values, as indexes into [`ReportScope::thresholds`].
    pub(super) thresholds: Vec<usize>,
    /// Whether the counter is the time since the machine started.
    pub(super) is_uptime: bool,
}

/// Which counters a report lists.
#[derive(Clone, Debug, Default)]
pub enum Choice {
    /// The counters that say most: a table names them for Windows' usual objects. Of another object
    /// all counters with numbers, or if they are more than 16, the first 16 of the novice level. An
    /// object such as `Process V2` is left out if there is an older one with the same figures.
    #[default]
    Usual,
    /// Every counter that has numbers.
    All,
    /// The counters that match one of these paths.
    Paths(Vec<CounterPath>),
}

impl ReportScope {
    /// The scope for a recording with this catalogue: the counters that `choice` lists, and those
    /// of the thresholds. A threshold on counters that the catalogue lacks is only counted.
    #[must_use]
    pub fn new(
        catalogue: &Catalogue,
        titles: &TitleSet,
        choice: &Choice,
        thresholds: Vec<Threshold>,
    ) -> Self {
        let given = thresholds.len();
        let is_there =
            |threshold: &Threshold| !threshold.counters.find(&catalogue.objects, titles).is_empty();
        let thresholds: Vec<_> = thresholds.into_iter().filter(is_there).map(Arc::new).collect();
        let mut scope = Self {
            machine: catalogue.machine.clone(),
            objects: Vec::new(),
            without_counters: given - thresholds.len(),
            thresholds,
            unmatched: Vec::new(),
        };
        scope.choose(catalogue, titles, choice);
        let mut known: HashMap<(TitleIndex, TitleIndex), (usize, usize)> = HashMap::new();
        for (place, object) in scope.objects.iter().enumerate() {
            for (at, counter) in object.counters.iter().enumerate() {
                known.insert((object.index, counter.index), (place, at));
            }
        }
        for (number, threshold) in scope.thresholds.clone().iter().enumerate() {
            let mut sets = vec![(Some(number), &threshold.counters)];
            sets.extend(threshold.counted.iter().map(|(set, _)| (None, set)));
            for (number, set) in sets {
                for key in set.find(&catalogue.objects, titles) {
                    let place = match known.get(&key) {
                        Some(place) => Some(*place),
                        None => scope.add_hidden(catalogue, titles, key),
                    };
                    let Some((object, counter)) = place else { continue };
                    known.insert(key, (object, counter));
                    let found = scope.objects.get_mut(object);
                    let found = found.and_then(|object| object.counters.get_mut(counter));
                    if let Some(counter) = found {
                        counter.thresholds.extend(number);
                    }
                }
            }
        }
        scope
    }

    /// Adds the objects with counters that `choice` lists, in the order of the report.
    fn choose(&mut self, catalogue: &Catalogue, titles: &TitleSet, choice: &Choice) {
        let mut objects: Vec<_> = catalogue.objects.iter().collect();
        objects.sort_by_key(|object| chosen::rank(titles, object));
        let mut has_processes = false;
        let mut matched = HashSet::new();
        for object in objects {
            let mut scoped = ScopedObject::of(titles, object);
            // `Process V2` has the same processes as `Process`: only one of both is read as processes.
            let is_first = !has_processes;
            has_processes |= scoped.is_of_processes;
            scoped.is_of_processes &= is_first;
            let is_there = |english: &str| {
                let names = catalogue.objects.iter();
                names.filter_map(|one| titles.english_name(one.name)).any(|name| name == english)
            };
            scoped.counters = match choice {
                Choice::Usual if chosen::twin(&scoped.english).is_some_and(is_there) => Vec::new(),
                Choice::Usual => {
                    let counters = chosen::of_object(titles, object).into_iter();
                    counters
                        .map(|counter| ScopedCounter::of(titles, object.name, counter))
                        .collect()
                }
                Choice::All => {
                    let counters = object.counters.iter();
                    counters
                        .filter(|counter| counter.counter_type.samples() > 0)
                        .map(|counter| ScopedCounter::of(titles, object.name, counter))
                        .collect()
                }
                Choice::Paths(paths) => scoped.counters_of(titles, object, paths, &mut matched),
            };
            if !scoped.counters.is_empty() {
                self.objects.push(scoped);
            }
        }
        if let Choice::Paths(paths) = choice {
            let unmatched = paths.iter().enumerate().filter(|(at, _)| !matched.contains(at));
            self.unmatched = unmatched.map(|(_, path)| path.clone()).collect();
        }
    }

    /// Adds a counter that only thresholds need. Returns the places of the object and the counter in their lists;
    /// `None` if the catalogue lacks it.
    fn add_hidden(
        &mut self,
        catalogue: &Catalogue,
        titles: &TitleSet,
        (object, counter): (TitleIndex, TitleIndex),
    ) -> Option<(usize, usize)> {
        let listed = catalogue.object(object)?;
        let place = self.objects.iter().position(|scoped| scoped.index == object);
        let place = place.unwrap_or_else(|| {
            let mut scoped = ScopedObject::of(titles, listed);
            scoped.is_of_processes = false;
            self.objects.push(scoped);
            self.objects.len() - 1
        });
        let scoped = self.objects.get_mut(place)?;
        let counter = ScopedCounter::of(titles, listed.name, listed.counter(counter)?);
        scoped.counters.push(ScopedCounter { is_shown: false, ..counter });
        Some((place, scoped.counters.len() - 1))
    }

    /// Whether the report lists no counter; also `true` for a scope whose counters are all read for thresholds only.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.objects.iter().flat_map(|object| &object.counters).any(|counter| counter.is_shown)
    }

    /// The paths of [`Choice::Paths`] that no counter of the recording matches.
    #[must_use]
    pub fn unmatched(&self) -> &[CounterPath] {
        &self.unmatched
    }

    /// The counter paths to add to a query: one for each counter, for all instances. Names in them are title indexes.
    pub fn paths(&self) -> impl Iterator<Item = CounterPath> {
        self.objects.iter().flat_map(|object| {
            let number = |index: TitleIndex| NamePattern::literal(&index.to_string());
            object.counters.iter().map(move |counter| CounterPath {
                machine: None,
                object: number(object.index),
                instance: object.has_instances.then(InstancePattern::any),
                counter: number(counter.index),
            })
        })
    }
}

impl ScopedObject {
    fn of(titles: &TitleSet, object: &CatalogueObject) -> Self {
        let name = titles.name_or_index(object.name);
        Self {
            index: object.name,
            english: titles.english_name(object.name).unwrap_or(&name).to_string(),
            name,
            has_instances: object.has_instances,
            is_of_processes: chosen::is_of_processes(titles, object),
            counters: Vec::new(),
        }
    }

    /// The counters of `object` that match at least one of `paths`, each once. The places of the paths that
    /// match a counter are added to `matched`.
    fn counters_of(
        &self,
        titles: &TitleSet,
        object: &CatalogueObject,
        paths: &[CounterPath],
        matched: &mut HashSet<usize>,
    ) -> Vec<ScopedCounter> {
        let mut scoped: Vec<ScopedCounter> = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            let set = CounterSet {
                object: ObjectNames::Pattern(path.object.clone()),
                instance: path.instance.as_ref().map(|instance| instance.name.clone()),
                counter: path.counter.clone(),
                without: Vec::new(),
                path: path.to_string().into(),
            };
            for (_, index) in set.find(std::slice::from_ref(object), titles) {
                matched.insert(at);
                match scoped.iter_mut().find(|counter| counter.index == index) {
                    Some(counter) => counter.only.push(set.clone()),
                    None => scoped.extend(object.counter(index).map(|counter| ScopedCounter {
                        only: vec![set.clone()],
                        ..ScopedCounter::of(titles, object.name, counter)
                    })),
                }
            }
        }
        scoped
    }
}

impl ScopedCounter {
    fn of(titles: &TitleSet, object: TitleIndex, counter: &CatalogueCounter) -> Self {
        let name = titles.name_or_index(counter.name);
        let english = titles.english_name(counter.name).unwrap_or(&name).to_string();
        let of_object = titles.english_name(object).unwrap_or_default();
        Self {
            index: counter.name,
            counter_type: counter.counter_type,
            unit: unit_of(counter.counter_type, of_object, &english),
            is_shown: true,
            only: Vec::new(),
            thresholds: Vec::new(),
            is_uptime: chosen::is_meant(titles, counter, chosen::UPTIME),
            name,
            english,
        }
    }
}
