//! Events of an experiment and readings at them as data blocks.
//!
//! The object `Experiment Events` has an instance for each event name. A sensor is a counter: its
//! object has the name of the sensor's group, its instance that of the sensor's instance.

use super::RecordKind;
use crate::names::MadeUpNames;
use perfhive_engine::measure::{MOST_EVENT_NAMES, SensorName};
use perfhive_engine::{Frame, SourceError, SourceErrorKind, TitleDatabase};
use perfhive_format::titles::{Title, TitleList};
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CounterSpec, CounterType, FileTime, InstanceHead, LanguageId,
    NameRef, ObjectSpec, ObjectTemplate, TitleIndex, WriteError,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest number of values of sensors in a sample. Places that no sensor fills count as well,
/// since they take room.
const MOST_CELLS: usize = 4096;

const OBJECT_HELP: &str =
    "The events of an experiment by name, and the sections between starts and ends.";

/// The counters of `Experiment Events` with their types and help texts, in the order in which a
/// block has their values.
const COUNTERS: [(&str, CounterType, &str); 6] = [
    (
        "Events",
        CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        "Events of this name so far. A section is one event, at its start.",
    ),
    (
        "Events/sec",
        CounterType::PERF_COUNTER_BULK_COUNT,
        "Events of this name a second. A section is one event, at its start.",
    ),
    (
        "Open Sections",
        CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        "Sections of this name that have started and not ended. What may have ended unseen is none.",
    ),
    (
        "Sections",
        CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        "Sections of this name that have ended so far.",
    ),
    (
        "Section Seconds",
        CounterType::PERF_DOUBLE_RAW,
        "The time in seconds of the section that ends at this sample, without the calls in it. Other \
         samples have no value.",
    ),
    (
        "Section Thread Seconds",
        CounterType::PERF_DOUBLE_RAW,
        "The processor time in seconds of its thread within the section that ends at this sample, without \
         the calls in it. Other samples have no value.",
    ),
];

/// The counts of the events with one name.
#[derive(Clone, Copy, Debug, Default)]
struct EventRow {
    events: u64,
    open: u64,
    sections: u64,
    /// The seconds of the section that ends at this sample; `None` without one, and if they are not known.
    seconds: Option<f64>,
    thread_seconds: Option<f64>,
}

/// The position of a sensor's value: the index of the object, and the indexes of instance and counter in that object.
#[derive(Clone, Copy, Debug)]
struct Cell {
    object: usize,
    instance: usize,
    counter: usize,
}

/// An object with sensors as its counters.
#[derive(Debug)]
struct SensorObject {
    group: TitleIndex,
    has_instances: bool,
    instances: Vec<String>,
    counters: Vec<TitleIndex>,
    /// The newest values, by the index of the instance and of the counter.
    values: HashMap<(usize, usize), f64>,
    /// The template; `None` until it is needed, and after a counter was added.
    template: Option<ObjectTemplate>,
}

/// Makes data blocks from the events of an experiment and the readings at them, which a reader of
/// records adds one by one.
///
/// A block has the counts of all events so far, and the newest reading of each sensor.
#[derive(Debug)]
pub struct EventBlocks {
    machine: String,
    names: MadeUpNames,
    help: TitleList,
    events: Vec<EventRow>,
    event_names: Vec<String>,
    event_places: HashMap<String, usize>,
    objects: Vec<SensorObject>,
    cells: Vec<Cell>,
    template: Option<ObjectTemplate>,
    writer: BlockWriter,
    generation: u64,
    row: Vec<u64>,
}

impl EventBlocks {
    /// The English name of the object of events.
    pub const OBJECT: &'static str = "Experiment Events";

    /// Blocks of the machine called `machine`, without events and sensors so far.
    pub(crate) fn new(machine: &str) -> Self {
        let mut names = MadeUpNames::default();
        let mut help = TitleList::default();
        let texts = COUNTERS.iter().map(|(name, _, help)| (*name, *help));
        for (name, text) in [(Self::OBJECT, OBJECT_HELP)].into_iter().chain(texts) {
            let index = TitleIndex(names.index(name).0 + 1);
            help.titles.push(Title { index, text: text.to_string() });
        }
        Self {
            machine: machine.to_string(),
            names,
            help,
            events: Vec::new(),
            event_names: Vec::new(),
            event_places: HashMap::new(),
            objects: Vec::new(),
            cells: Vec::new(),
            template: None,
            writer: BlockWriter::new(),
            generation: 0,
            row: Vec::new(),
        }
    }

    /// The name of the machine.
    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    pub(crate) fn set_machine(&mut self, machine: &str) {
        self.machine = machine.to_string();
    }

    /// The index of an event name, which is added if it is new. `None` if there are too many names
    /// ([`MOST_EVENT_NAMES`]), or if the name cannot be that of an instance because it contains a
    /// NUL.
    pub(crate) fn event(&mut self, name: &str) -> Option<usize> {
        if let Some(place) = self.event_places.get(name) {
            return Some(*place);
        }
        if self.events.len() >= MOST_EVENT_NAMES || name.contains('\0') {
            return None;
        }
        self.events.push(EventRow::default());
        self.event_names.push(name.to_string());
        self.event_places.insert(name.to_string(), self.events.len() - 1);
        Some(self.events.len() - 1)
    }

    /// Adds a sensor and returns its index. `None` if a sensor with the same group, instance and name
    /// was added before, if the objects would have too many values (more than 4096, with places that
    /// no sensor fills), or if a name contains a NUL.
    pub(crate) fn add_sensor(&mut self, name: &SensorName) -> Option<usize> {
        let instance_name = name.instance().unwrap_or_default();
        if [name.group(), name.sensor(), instance_name].iter().any(|name| name.contains('\0')) {
            return None;
        }
        let has_instances = name.instance().is_some();
        let group = self.names.index(name.group());
        let same = |one: &SensorObject| one.group == group && one.has_instances == has_instances;
        let object = self.objects.iter().position(same);
        let known = object.and_then(|place| self.objects.get(place));
        let counter_name = self.names.index(name.sensor());
        let instance =
            known.and_then(|one| one.instances.iter().position(|known| known == instance_name));
        let counter = known.and_then(|one| one.counters.iter().position(|it| *it == counter_name));
        let taken = |cell: &Cell| {
            (Some(cell.object), Some(cell.instance), Some(cell.counter))
                == (object, instance, counter)
        };
        if self.cells.iter().any(taken) {
            return None;
        }
        let others: usize = (self.objects.iter().enumerate())
            .filter(|(place, _)| Some(*place) != object)
            .map(|(_, one)| one.cells())
            .sum();
        let (instances, counters) =
            known.map_or((0, 0), |one| (one.instances.len(), one.counters.len()));
        let own = (instances + usize::from(instance.is_none()))
            * (counters + usize::from(counter.is_none()));
        if others + own > MOST_CELLS {
            return None;
        }
        let object = object.unwrap_or_else(|| {
            self.objects.push(SensorObject {
                group,
                has_instances,
                instances: Vec::new(),
                counters: Vec::new(),
                values: HashMap::new(),
                template: None,
            });
            self.objects.len() - 1
        });
        let grown = self.objects.get_mut(object)?;
        let instance = instance.unwrap_or_else(|| {
            grown.instances.push(instance_name.to_string());
            grown.instances.len() - 1
        });
        let counter = counter.unwrap_or_else(|| {
            grown.counters.push(counter_name);
            grown.template = None;
            grown.counters.len() - 1
        });
        self.cells.push(Cell { object, instance, counter });
        Some(self.cells.len() - 1)
    }

    /// Notes the reading of a sensor; `None` if the sensor has no value.
    pub(crate) fn read(&mut self, sensor: usize, value: Option<f64>) {
        let Some(cell) = self.cells.get(sensor) else { return };
        let Some(object) = self.objects.get_mut(cell.object) else { return };
        let place = (cell.instance, cell.counter);
        match value {
            Some(value) => drop(object.values.insert(place, value)),
            None => drop(object.values.remove(&place)),
        }
    }

    /// Notes an event of the name with the index `event`. `is_behind_gap` says that events of the name may be missing
    /// before this event: sections that were open then no longer count as open, so that no later end belongs to their
    /// starts.
    pub(crate) fn note(&mut self, event: usize, kind: RecordKind, is_behind_gap: bool) {
        let Some(row) = self.events.get_mut(event) else { return };
        if is_behind_gap {
            row.open = 0;
        }
        match kind {
            RecordKind::Point => row.events += 1,
            RecordKind::Start => (row.events, row.open) = (row.events + 1, row.open + 1),
            // An end with a start that was lost, left out or not asked for is an event of its own.
            RecordKind::End if row.open == 0 => row.events += 1,
            RecordKind::End => row.open -= 1,
        }
    }

    /// Notes a section that has ended. `times` are its seconds, and the seconds of its thread's
    /// processor time; `None` for a time that is not known.
    pub(crate) fn note_section(&mut self, event: usize, times: [Option<f64>; 2]) {
        let Some(row) = self.events.get_mut(event) else { return };
        row.sections += 1;
        [row.seconds, row.thread_seconds] = times;
    }

    /// The block at this time. The times of a section are in the first block after the section's
    /// end only.
    ///
    /// # Errors
    /// [`SourceErrorKind::Malformed`] if names and values do not make a block.
    pub(crate) fn frame(&mut self, time: FileTime) -> Result<Frame, SourceError> {
        let malformed = |why: &dyn std::fmt::Display| {
            SourceError::new(SourceErrorKind::Malformed, "records of an experiment", why)
        };
        self.write(time).map_err(|why| malformed(&why))?;
        self.generation += 1;
        let bytes = self.writer.finish().to_vec();
        Frame::new(bytes, self.generation).map_err(|why| malformed(&why))
    }

    fn write(&mut self, time: FileTime) -> Result<(), WriteError> {
        let clocks = Clocks {
            perf_time: time.0,
            perf_freq: FileTime::PER_SECOND,
            time_100ns: time.0,
            ..Clocks::default()
        };
        self.writer.start(&BlockHead {
            system_name: &self.machine,
            system_time: time.to_system_time(),
            clocks,
            ..BlockHead::default()
        });
        if self.template.is_none() {
            let spec = ObjectSpec::new(self.names.index(Self::OBJECT)).with_instances();
            let counter =
                |(name, kind, _): &(&str, _, _)| CounterSpec::new(self.names.index(name), *kind);
            let counters: Vec<CounterSpec> = COUNTERS.iter().map(counter).collect();
            self.template = Some(ObjectTemplate::new(&spec, &counters)?);
        }
        if let Some(template) = &self.template {
            let mut writing = self.writer.object(template)?.clock(time.0, FileTime::PER_SECOND);
            for (name, row) in self.event_names.iter().zip(&mut self.events) {
                let bits = |value: Option<f64>| value.unwrap_or(f64::NAN).to_bits();
                let values = [
                    row.events,
                    row.events,
                    row.open,
                    row.sections,
                    bits(row.seconds.take()),
                    bits(row.thread_seconds.take()),
                ];
                let name = NameRef::Text(name);
                writing.instance(&InstanceHead { name, unique_id: None, parent: None }, &values)?;
            }
            writing.finish()?;
        }
        for object in &mut self.objects {
            if object.template.is_none() {
                let mut spec = ObjectSpec::new(object.group);
                if object.has_instances {
                    spec = spec.with_instances();
                }
                let double = |name: &_| CounterSpec::new(*name, CounterType::PERF_DOUBLE_RAW);
                let counters: Vec<CounterSpec> = object.counters.iter().map(double).collect();
                object.template = Some(ObjectTemplate::new(&spec, &counters)?);
            }
            let Some(template) = &object.template else { continue };
            let mut writing = self.writer.object(template)?.clock(time.0, FileTime::PER_SECOND);
            for (instance, name) in object.instances.iter().enumerate() {
                self.row.clear();
                self.row.extend((0..object.counters.len()).map(|counter| {
                    let value = object.values.get(&(instance, counter));
                    value.copied().unwrap_or(f64::NAN).to_bits()
                }));
                if object.has_instances {
                    let name = NameRef::Text(name);
                    let head = InstanceHead { name, unique_id: None, parent: None };
                    writing.instance(&head, &self.row)?;
                } else {
                    writing = writing.values(&self.row)?;
                }
            }
            writing.finish()?;
        }
        Ok(())
    }

    /// The names of all objects and counters so far, with help texts.
    pub(crate) fn titles(&self) -> Arc<TitleDatabase> {
        let names = self.names.list();
        Arc::new(TitleDatabase::new(LanguageId::ENGLISH, names, &self.help))
    }

    /// Forgets the times of sections, as [`frame`](Self::frame) does once a block has them.
    pub(crate) fn told(&mut self) {
        for row in &mut self.events {
            (row.seconds, row.thread_seconds) = (None, None);
        }
    }

    /// Forgets all events and readings, but keeps their names.
    pub(crate) fn rewind(&mut self) {
        self.events.iter_mut().for_each(|row| *row = EventRow::default());
        self.objects.iter_mut().for_each(|object| object.values.clear());
    }
}

impl SensorObject {
    fn cells(&self) -> usize {
        self.instances.len() * self.counters.len()
    }
}
