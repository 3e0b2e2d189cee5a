//! The readings of one collection, with the names of everything in them.

use crate::scale::Quantity;
use perfhive_engine::{
    Identity, InstanceLabel, InstanceRole, NoValue, PathId, Query, Reading, is_identifier,
};
use perfhive_format::{CookedValue, FileTime, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;

/// What the readings of one counter have in common.
#[derive(Clone, Debug)]
pub struct What {
    /// The machine; empty if unknown.
    pub machine: String,
    /// The object, in the shown language.
    pub object: String,
    /// The counter, in the shown language.
    pub counter: String,
    /// Title index of the counter.
    pub index: TitleIndex,
    /// What the values are of: type, unit.
    pub quantity: Quantity<'static>,
    /// The power of ten by which the counter asks to be scaled in a chart.
    pub scale: i32,
}

/// One reading of a sample.
#[derive(Clone, Debug)]
pub struct Value {
    /// The path that it is a reading of, as it was added.
    pub path: Arc<str>,
    /// Object, counter and unit.
    pub what: Arc<What>,
    /// Whether the path may have several readings, so that its lines follow identities. The one
    /// line of another path goes on when an instance of its name comes back.
    pub is_wild: bool,
    /// The instance; `None` for an object without, and where there is none.
    pub instance: Option<InstanceLabel>,
    /// The identity of the instance.
    pub identity: Option<Identity>,
    /// Whether the instance is a sum or idle time.
    pub role: InstanceRole,
    /// The process that the reading is of.
    pub process: Option<u32>,
    /// The text of a text counter.
    pub text: Option<String>,
    /// The value, or the reason why there is none.
    pub value: Result<CookedValue, NoValue>,
}

/// The readings of one collection.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// When it was taken.
    pub time: FileTime,
    /// The readings, in the order of the paths.
    pub values: Vec<Value>,
}

type Counter = (PathId, usize, TitleIndex, TitleIndex);

/// Makes samples of a query, and keeps the names that they share.
#[derive(Debug, Default)]
pub struct Sampler {
    paths: Vec<(PathId, Arc<str>, bool)>,
    whats: HashMap<Counter, Arc<What>>,
    last: FileTime,
}

impl Sampler {
    /// Adds a path of the query under the text that its readings carry.
    pub fn add(&mut self, query: &Query, id: PathId, text: &str) {
        let is_wild = query.path(id).is_some_and(perfhive_engine::CounterPath::is_wild);
        self.paths.push((id, text.into(), is_wild));
    }

    /// Forgets a path; its number in the query, if it was known.
    pub fn remove(&mut self, text: &str) -> Option<PathId> {
        let place = self.paths.iter().position(|(_, known, _)| &**known == text)?;
        let (id, ..) = self.paths.remove(place);
        self.whats.retain(|(path, ..), _| *path != id);
        Some(id)
    }

    /// The texts of all paths.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|(_, text, _)| &**text)
    }

    /// The sample of the query's last collection; readings of unknown paths are left out. A block
    /// without a date counts as a second later than the sample before.
    pub fn sample(&mut self, query: &Query) -> Sample {
        let readings = query.readings();
        let time = readings.iter().find_map(|reading| query.time_of(reading)?.to_file_time());
        let time = time.unwrap_or(FileTime(self.last.0.saturating_add(FileTime::PER_SECOND)));
        self.last = time;
        let mut values = Vec::with_capacity(readings.len());
        let mut at = 0;
        for reading in readings {
            // Readings are in the order of the paths, mostly.
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

impl Value {
    /// The number, with a percentage below zero as zero; `None` where there is none.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        let value = self.value.as_ref().ok()?.as_f64();
        let value = if self.what.quantity.unit == "%" { value.max(0.0) } else { value };
        value.is_finite().then_some(value)
    }
}
