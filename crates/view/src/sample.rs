//! Samples: the readings of one collection with the names of their objects and counters.

use crate::scale::Quantity;
use perfhive_engine::{
    Identity, InstanceLabel, InstanceRole, NoValue, PathId, Query, Reading, is_identifier,
};
use perfhive_format::{CookedValue, FileTime, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// The names and the quantity of a counter, which all its readings share.
#[derive(Clone, Debug)]
pub struct What {
    /// The name of the machine; empty if unknown.
    pub machine: String,
    /// The name of the object, in the shown language.
    pub object: String,
    /// The name of the counter, in the shown language.
    pub counter: String,
    /// Title index of the counter.
    pub index: TitleIndex,
    /// The quantity of the values: type and unit.
    pub quantity: Quantity<'static>,
    /// The power of ten by which the counter asks to be scaled in a chart.
    pub scale: i32,
}

/// One reading of a sample.
#[derive(Clone, Debug)]
pub struct Value {
    /// The path of the reading, as it was given to [`Sampler::add`].
    pub path: Arc<str>,
    /// The names of the object and the counter, and the counter's type and unit.
    pub what: Arc<What>,
    /// Whether the path has wildcards and may have several readings: a [`Line`](crate::past::Line) of such a path
    /// follows the identity of its instance. A line of another path follows the instance's name.
    pub is_wild: bool,
    /// The label of the instance; `None` for an object without instances, and if the instance is missing.
    pub instance: Option<InstanceLabel>,
    /// The identity of the instance; `None` if there is no instance.
    pub identity: Option<Identity>,
    /// Whether the instance is a single thing, a sum or idle time.
    pub role: InstanceRole,
    /// The ID of the process that the instance is or belongs to, if any.
    pub process: Option<u32>,
    /// The text of a text counter; `None` for other counters.
    pub text: Option<String>,
    /// The value, or the reason why there is none.
    pub value: Result<CookedValue, NoValue>,
    /// The weight of the value in a mean over several samples, as in [`Reading`].
    pub weight: f64,
}

/// The readings of one collection.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// When the sample was taken.
    pub time: FileTime,
    /// The readings, in the order of the query's readings.
    pub values: Vec<Value>,
}

type Counter = (PathId, usize, TitleIndex, TitleIndex);

/// Makes a [`Sample`] of each collection of a query. The names are looked up once and shared.
#[derive(Debug, Default)]
pub struct Sampler {
    paths: Vec<(PathId, Arc<str>, bool)>,
    whats: HashMap<Counter, Arc<What>>,
    last: FileTime,
}

impl Sampler {
    /// Adds a path of the query; `text` is the path that its readings carry.
    pub fn add(&mut self, query: &Query, id: PathId, text: &str) {
        let is_wild = query.path(id).is_some_and(perfhive_engine::CounterPath::is_wild);
        self.paths.push((id, text.into(), is_wild));
    }

    /// Forgets a path. Returns the path's ID in the query; `None` if the path is unknown.
    pub fn remove(&mut self, text: &str) -> Option<PathId> {
        let place = self.paths.iter().position(|(_, known, _)| &**known == text)?;
        let (id, ..) = self.paths.remove(place);
        self.whats.retain(|(path, ..), _| *path != id);
        Some(id)
    }

    /// Gives the paths, in their order, other IDs: those of a query that was made anew. The texts
    /// of the paths and the names of their counters stay, so that the next samples go on in the
    /// lines of a [`Past`](crate::past::Past).
    pub fn renumber(&mut self, ids: &[PathId]) {
        let pairs = self.paths.iter().map(|(id, ..)| *id).zip(ids.iter().copied());
        let now: HashMap<PathId, PathId> = pairs.collect();
        for (path, id) in self.paths.iter_mut().zip(ids) {
            path.0 = *id;
        }
        let whats = std::mem::take(&mut self.whats).into_iter();
        self.whats = whats
            .filter_map(|((id, source, object, counter), what)| {
                Some(((*now.get(&id)?, source, object, counter), what))
            })
            .collect();
    }

    /// The paths, as texts, in the order in which they were added.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|(_, text, _)| &**text)
    }

    /// The sample of the query's last collection; readings of paths that were not added are left out. A block
    /// without a date counts as taken a second after the sample before.
    pub fn sample(&mut self, query: &Query) -> Sample {
        let readings = query.readings();
        let time = query.file_time();
        let time = time.unwrap_or(FileTime(self.last.0.saturating_add(FileTime::PER_SECOND)));
        self.last = time;
        let mut values = Vec::with_capacity(readings.len());
        let mut at = 0;
        for reading in readings {
            // Readings mostly come in the order of the paths, which saves the search.
            if self.paths.get(at).is_none_or(|(id, ..)| *id != reading.path) {
                match self.paths.iter().position(|(id, ..)| *id == reading.path) {
                    Some(place) => at = place,
                    None => continue,
                }
            }
            let Some((_, path, is_wild)) = self.paths.get(at) else { continue };
            let key = (reading.path, reading.source, reading.object, reading.counter);
            let what = self.whats.entry(key).or_insert_with(|| Arc::new(what(query, reading)));
            values.push(Value {
                path: Arc::clone(path),
                what: Arc::clone(what),
                is_wild: *is_wild,
                instance: reading.instance.clone(),
                identity: reading.identity.clone(),
                role: reading.role(),
                process: reading.process_id(),
                text: reading.text.clone(),
                value: reading.value.clone(),
                weight: reading.weight,
            });
        }
        Sample { time, values }
    }
}

fn what(query: &Query, reading: &Reading) -> What {
    let (object, counter) = query.names_of(reading);
    let (_, english) = query.english_names_of(reading);
    What {
        machine: reading.machine.to_string(),
        object,
        counter,
        index: reading.counter,
        quantity: Quantity {
            counter_type: Some(reading.counter_type),
            unit: query.unit_of(reading),
            is_identifier: is_identifier(&english),
        },
        scale: reading.scale,
    }
}

impl What {
    /// Whether both are of the same counter of the same machine, with the same unit.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.index == other.index
                && self.quantity.unit == other.quantity.unit
                && [&self.machine, &self.object, &self.counter]
                    == [&other.machine, &other.object, &other.counter]
    }
}

impl Value {
    /// The value as a number, with a percentage below zero as zero; `None` where there is no finite number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        let value = self.value.as_ref().ok()?.as_f64();
        value
            .is_finite()
            .then(|| if self.what.quantity.unit == "%" { value.max(0.0) } else { value })
    }
}
