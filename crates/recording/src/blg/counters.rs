//! Counters that a log recorded one by one, as data blocks.
//!
//! PDH records two numbers of a counter. The first is its value; the second is its base, or for
//! types without a base the reading of the clock that the type's formula takes. The catalogue has
//! the clock's frequency. So each counter can be cooked as on the machine: objects are put together
//! from the counters of one name, with a block for each object, since its clocks are its own.

use super::catalogue::Entry;
use super::{i64_at, u32_at};
use crate::names::MadeUpNames;
use crate::replay::RecordedBlock;
use perfhive_format::{
    BlockHead, BlockWriter, Clock, Clocks, CounterSpec, CounterType, FileTime, Formula,
    InstanceHead, NameRef, ObjectSpec, ObjectTemplate, TitleIndex,
};
use std::collections::HashMap;

/// Bytes of a single counter, and of an item of several, without names.
const SINGLE: usize = 40;
const ITEM: usize = 24;
const SEVERAL: usize = 24;

/// Statuses of a value: valid, and valid since the last sample.
const VALID: [u32; 2] = [0, 1];

/// The most definitions of an object: a mask of 64 bits says which have no value.
const MOST: usize = 60;

/// The index that no name has: that of the mask.
const NO_NAME: TitleIndex = TitleIndex(0);

/// A counter of one instance in one sample.
#[derive(Clone, Copy, Debug)]
struct Raw {
    first: i64,
    second: i64,
    multi: u32,
}

/// What sub-records of a sample hold, until its blocks are made.
#[derive(Default)]
pub(super) struct Counters {
    objects: Vec<Object>,
    /// Local time of the sample.
    local: Option<FileTime>,
    /// What is added to local time to get UTC, as the last sample with both told.
    bias: Option<i64>,
    is_local: bool,
    /// Instances without a value, by their path.
    pub(super) missing: Vec<(String, u32)>,
}

/// An object that is put together.
struct Object {
    name: String,
    has_instances: bool,
    counters: Vec<Entry>,
    /// Instances, with a value of each counter; PDH does not number those of one name.
    rows: Vec<(String, Vec<Option<Raw>>)>,
}

impl Counters {
    /// Adds a single counter (sub-record 0x0103); `None` where it is damaged.
    pub(super) fn add_single(&mut self, entry: &Entry, payload: &[u8]) -> Option<()> {
        let payload = payload.get(..SINGLE)?;
        let status = u32_at(payload, 0)?;
        self.local = Some(FileTime(i64_at(payload, 4)?));
        let raw = Raw {
            first: i64_at(payload, 16)?,
            second: i64_at(payload, 24)?,
            multi: u32_at(payload, 32)?,
        };
        let instance = entry.instance.clone();
        self.add(entry, instance.as_deref().unwrap_or_default(), 0, status, raw);
        Some(())
    }

    /// Adds several instances of a counter (sub-record 0x0203); `None` where it is damaged.
    pub(super) fn add_several(&mut self, entry: &Entry, payload: &[u8]) -> Option<()> {
        let (count, status) = (u32_at(payload, 4)? as usize, u32_at(payload, 8)?);
        self.local = Some(FileTime(i64_at(payload, 16)?));
        let items = payload.get(SEVERAL..SEVERAL.checked_add(count.checked_mul(ITEM)?)?)?;
        let mut seen: HashMap<String, usize> = HashMap::new();
        for item in items.chunks_exact(ITEM) {
            let units = payload.get(u32_at(item, 0)? as usize..)?.chunks_exact(2);
            let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            let name: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
            let name = String::from_utf16_lossy(&name);
            let raw =
                Raw { multi: u32_at(item, 4)?, first: i64_at(item, 8)?, second: i64_at(item, 16)? };
            let order = seen.entry(name.clone()).or_insert(0);
            self.add(entry, &name, *order, status, raw);
            *order += 1;
        }
        Some(())
    }

    /// Adds the value of an instance, which is the `order`-th of its name.
    fn add(&mut self, entry: &Entry, instance: &str, order: usize, status: u32, raw: Raw) {
        if !VALID.contains(&status) {
            let of = entry.instance.as_ref().map_or(String::new(), |_| format!("({instance})"));
            self.missing.push((format!(r"\{}{of}\{}", entry.object, entry.counter), status));
            return;
        }
        let has_instances = entry.instance.is_some();
        let place = self.place_of_object(entry, has_instances);
        let Some(object) = self.objects.get_mut(place) else { return };
        let known = object.counters.iter().position(|of| of.counter == entry.counter);
        let counter = known.unwrap_or_else(|| {
            object.counters.push(entry.clone());
            object.counters.len() - 1
        });
        let mut same = object.rows.iter_mut().filter(|(name, _)| name == instance);
        let row = match same.nth(order) {
            Some((_, row)) => row,
            None => {
                object.rows.push((instance.to_string(), Vec::new()));
                match object.rows.last_mut() {
                    Some((_, row)) => row,
                    None => return,
                }
            }
        };
        if row.len() <= counter {
            row.resize(counter + 1, None);
        }
        row[counter] = Some(raw);
    }

    /// The object that a counter joins. One with too many counters is continued by another of its
    /// name.
    fn place_of_object(&mut self, entry: &Entry, has_instances: bool) -> usize {
        let fits = |object: &Object| {
            object.name == entry.object
                && object.has_instances == has_instances
                && (2 * object.counters.len() + 2 < MOST
                    || object.counters.iter().any(|of| of.counter == entry.counter))
        };
        self.objects.iter().position(fits).unwrap_or_else(|| {
            let (counters, rows) = (Vec::new(), Vec::new());
            self.objects.push(Object { name: entry.object.clone(), has_instances, counters, rows });
            self.objects.len() - 1
        })
    }

    /// The blocks of the sample; the next one begins empty. An object whose counters contradict one
    /// another is left out: `Err` has its name.
    pub(super) fn blocks(
        &mut self,
        entries: &[Entry],
        name: &str,
        names: &mut MadeUpNames,
    ) -> Vec<Result<RecordedBlock, String>> {
        let local = self.local.take().unwrap_or_default();
        let objects = std::mem::take(&mut self.objects);
        let utc = objects.iter().find_map(Object::time_100ns);
        if let Some(utc) = utc {
            // Zones differ from UTC by whole quarters of an hour.
            const QUARTER: i64 = 15 * 60 * FileTime::PER_SECOND;
            let quarters =
                utc.wrapping_sub(local.0).saturating_add(QUARTER / 2).div_euclid(QUARTER);
            self.bias = Some(quarters.saturating_mul(QUARTER));
        }
        let time = FileTime(local.0.saturating_add(self.bias.unwrap_or(0)));
        self.is_local = !objects.is_empty() && self.bias.is_none();
        // The machine has one performance counter, whatever an object's counters use.
        let perf = entries.iter().find(|entry| uses(entry, Clock::Perf));
        let perf_freq = perf.map_or(FileTime::PER_SECOND, |entry| entry.frequency);
        let machine = entries.first().map_or("localhost", |entry| entry.machine.as_str());
        let block = |object: Object| {
            let bytes = object.block(machine, time, perf_freq, names);
            let bytes = bytes.ok_or_else(|| object.name.clone())?;
            Ok(RecordedBlock::from((name.to_string(), bytes)))
        };
        objects.into_iter().map(block).collect()
    }

    /// Whether the blocks made last have local times, for want of anything that tells the
    /// difference to UTC.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// Whether the formula of a counter takes a clock, or its frequency.
fn uses(entry: &Entry, clock: Clock) -> bool {
    Formula::of(entry.counter_type).is_ok_and(|of| of.clock() == Some(clock))
}

/// The clock that the second number of a type is a reading of, if it is one.
fn clock_of(counter_type: CounterType) -> Option<Clock> {
    let clock = Formula::of(counter_type).ok()?.clock()?;
    // An average takes its base; only its frequency is the clock's.
    (!counter_type.needs_base() || counter_type.is_multi()).then_some(clock)
}

impl Object {
    /// The readings of a clock; `Err` where they differ.
    fn reading(&self, clock: Clock) -> Result<Option<i64>, ()> {
        let mut found = None;
        for (_, row) in &self.rows {
            for (entry, raw) in self.counters.iter().zip(row) {
                let Some(raw) = raw.filter(|_| clock_of(entry.counter_type) == Some(clock)) else {
                    continue;
                };
                match found {
                    Some(known) if known != raw.second => return Err(()),
                    _ => found = Some(raw.second),
                }
            }
        }
        Ok(found)
    }

    /// The system's time in UTC, if a counter tells it.
    fn time_100ns(&self) -> Option<i64> {
        self.reading(Clock::Ns100).ok()?
    }

    fn block(
        &self,
        machine: &str,
        time: FileTime,
        perf_freq: i64,
        names: &mut MadeUpNames,
    ) -> Option<Vec<u8>> {
        let of_object = self.counters.iter().find(|entry| uses(entry, Clock::Object));
        let read = |clock| self.reading(clock).ok();
        let clocks = Clocks {
            perf_time: read(Clock::Perf)?.unwrap_or(time.0),
            perf_freq,
            time_100ns: read(Clock::Ns100)?.unwrap_or(time.0),
            object_time: read(Clock::Object)?.unwrap_or(time.0),
            object_freq: of_object.map_or(FileTime::PER_SECOND, |entry| entry.frequency),
        };
        let mut specs = Vec::new();
        for entry in &self.counters {
            let spec = CounterSpec::new(names.index(&entry.counter), entry.counter_type);
            specs.push(spec.scale(entry.scale));
            if let Some(base) = entry.counter_type.usual_base() {
                specs.push(CounterSpec::new(names.index(&entry.counter), base));
            }
        }
        specs.push(CounterSpec::new(NO_NAME, CounterType::ABSENT_VALUES));
        let mut object = ObjectSpec::new(names.index(&self.name));
        if self.has_instances {
            object = object.with_instances();
        }
        let template = ObjectTemplate::new(&object, &specs).ok()?;
        let mut writer = BlockWriter::new();
        let system_time = time.to_system_time();
        writer.start(&BlockHead {
            system_name: machine,
            system_time,
            clocks,
            ..BlockHead::default()
        });
        let mut writing = writer.object(&template).ok()?;
        writing = writing.clock(clocks.object_time, clocks.object_freq);
        for (name, row) in &self.rows {
            let values = self.values(row);
            if self.has_instances {
                let name = NameRef::Text(name);
                let head = InstanceHead { name, unique_id: None, parent: None };
                writing.instance(&head, &values).ok()?;
            } else {
                writing = writing.values(&values).ok()?;
                break;
            }
        }
        writing.finish().ok()?;
        Some(writer.finish().to_vec())
    }

    /// The values of an instance in the order of the definitions, the mask last.
    fn values(&self, row: &[Option<Raw>]) -> Vec<u64> {
        let (mut values, mut absent) = (Vec::new(), 0_u64);
        for (place, entry) in self.counters.iter().enumerate() {
            let raw = row.get(place).copied().flatten();
            if raw.is_none() {
                absent |= 1 << values.len();
            }
            let raw = raw.unwrap_or(Raw { first: 0, second: 0, multi: 0 });
            let fit = |value: i64, of: CounterType| match of.size_in_bytes() {
                Some(4) => u64::from(value as u32),
                _ => value as u64,
            };
            values.push(fit(raw.first, entry.counter_type));
            if let Some(base) = entry.counter_type.usual_base() {
                let value =
                    if entry.counter_type.is_multi() { raw.multi.into() } else { raw.second };
                values.push(fit(value, base));
            }
        }
        values.push(absent);
        values
    }
}
