//! Counters that a log recorded one by one, as data blocks.
//!
//! PDH records two numbers of a counter. The first is its value; the second is its base, or for
//! types without a base the reading of the clock that the type's formula takes. The catalogue has
//! the clock's frequency. So each counter can be cooked as on the machine: objects are put together
//! from the counters of one name, with a block for each object, since its clocks are its own.

use super::catalogue::Entry;
use super::{i64_at, u32_at};
use crate::names::MadeUpNames;
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

/// The most definitions of an object: a mask of 64 bits, which is one of them, says which have no
/// value.
const MOST: usize = 64;

/// The most instances of an object in a sample.
const MOST_ROWS: usize = 1 << 16;
/// The most values without a valid status that become faults of a sample.
const MOST_MISSING: usize = 64;

/// The longest name of an instance, in UTF-16 units.
const LONGEST_NAME: usize = 1024;

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
    /// The object and the counter in it that each entry of the catalogue fills.
    places: Vec<Option<(usize, usize)>>,
    /// Local time of the sample.
    local: Option<FileTime>,
    /// What is added to local time to get UTC, as the last sample with both told.
    bias: Option<i64>,
    is_local: bool,
    /// Ticks a second of the machine's performance counter.
    perf_freq: i64,
    /// Instances without a value, by their path.
    pub(super) missing: Vec<(String, u32)>,
}

/// Machine and name of an object, and whether it has instances.
type Key<'a> = (&'a str, &'a str, bool);

/// An object that is put together.
struct Object {
    machine: String,
    name: String,
    has_instances: bool,
    counters: Vec<Entry>,
    /// How many counters there was no room for.
    left_out: usize,
    /// Instances of this sample, with a value of each counter; PDH does not number those of one
    /// name.
    rows: Vec<(String, Vec<Option<Raw>>)>,
    /// The rows of each name.
    by_name: HashMap<String, Vec<usize>>,
}

impl Counters {
    /// Arranges the entries of a catalogue as objects.
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut counters = Self { perf_freq: FileTime::PER_SECOND, ..Self::default() };
        // The machine has one performance counter, whatever an object's counters use.
        if let Some(entry) = entries.iter().find(|entry| uses(entry, Clock::Perf)) {
            counters.perf_freq = entry.frequency;
        }
        let mut objects: HashMap<Key<'_>, usize> = HashMap::new();
        let mut known: HashMap<(Key<'_>, &str), Option<(usize, usize)>> = HashMap::new();
        for entry in entries {
            if entry.is_whole {
                counters.places.push(None);
                continue;
            }
            let key = (entry.machine.as_str(), entry.object.as_str(), entry.instance.is_some());
            let place = *known.entry((key, &entry.counter)).or_insert_with(|| {
                let place = *objects.entry(key).or_insert_with(|| {
                    counters.objects.push(Object::new(entry));
                    counters.objects.len() - 1
                });
                let object = counters.objects.get_mut(place)?;
                if object.counters.iter().chain([entry]).map(definitions).sum::<usize>() >= MOST {
                    object.left_out += 1;
                    return None;
                }
                object.counters.push(entry.clone());
                Some((place, object.counters.len() - 1))
            });
            counters.places.push(place);
        }
        counters
    }

    /// The objects with more counters than are read, and how many these are.
    pub(super) fn left_out(&self) -> Vec<(String, usize)> {
        let objects = self.objects.iter().filter(|object| object.left_out > 0);
        objects.map(|object| (object.name.clone(), object.left_out)).collect()
    }

    /// The same counters, with what is added to local time to get UTC where no counter tells it.
    pub(super) fn with_bias(mut self, bias: Option<i64>) -> Self {
        self.bias = bias;
        self
    }

    /// Adds a single counter (sub-record 0x0103), which is the one of `entry`; `None` where it is
    /// damaged.
    pub(super) fn add_single(&mut self, (number, entry): (usize, &Entry), of: &[u8]) -> Option<()> {
        let payload = of.get(..SINGLE)?;
        let status = u32_at(payload, 0)?;
        self.local = Some(FileTime(i64_at(payload, 4)?));
        let raw = Raw {
            first: i64_at(payload, 16)?,
            second: i64_at(payload, 24)?,
            multi: u32_at(payload, 32)?,
        };
        self.add((number, entry), entry.instance.as_deref().unwrap_or_default(), 0, status, raw);
        Some(())
    }

    /// Adds several instances of a counter (sub-record 0x0203); `None` where it is damaged.
    pub(super) fn add_several(
        &mut self,
        (number, entry): (usize, &Entry),
        of: &[u8],
    ) -> Option<()> {
        let (count, status) = (u32_at(of, 4)? as usize, u32_at(of, 8)?);
        self.local = Some(FileTime(i64_at(of, 16)?));
        let items = of.get(SEVERAL..SEVERAL.checked_add(count.checked_mul(ITEM)?)?)?;
        let mut seen: HashMap<String, usize> = HashMap::new();
        // Names lie one behind the other, so all of them together are no longer than the record.
        let mut left = of.len() / 2;
        for item in items.chunks_exact(ITEM) {
            let units = of.get(u32_at(item, 0)? as usize..)?.chunks_exact(2).take(LONGEST_NAME);
            let units = units.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            let name: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
            left = left.checked_sub(name.len())?;
            let name = String::from_utf16_lossy(&name);
            let raw =
                Raw { multi: u32_at(item, 4)?, first: i64_at(item, 8)?, second: i64_at(item, 16)? };
            let order = seen.entry(name.clone()).or_insert(0);
            self.add((number, entry), &name, *order, status, raw);
            *order += 1;
        }
        Some(())
    }

    /// Adds the value of an instance, which is the `order`-th of its name.
    fn add(
        &mut self,
        (number, entry): (usize, &Entry),
        instance: &str,
        order: usize,
        status: u32,
        raw: Raw,
    ) {
        if !VALID.contains(&status) {
            if self.missing.len() >= MOST_MISSING {
                return;
            }
            let of = entry.instance.as_ref().map_or(String::new(), |_| format!("({instance})"));
            self.missing.push((format!(r"\{}{of}\{}", entry.object, entry.counter), status));
            return;
        }
        let Some((place, counter)) = self.places.get(number).copied().flatten() else { return };
        let Some(object) = self.objects.get_mut(place) else { return };
        let row = object.row(instance, order);
        if let Some(cell) = row.and_then(|row| row.get_mut(counter)) {
            *cell = Some(raw);
        }
    }

    /// The blocks of the sample; the next one begins empty. An object whose counters contradict one
    /// another is left out: `Err` has its name.
    pub(super) fn blocks(&mut self, names: &mut MadeUpNames) -> Vec<Result<Vec<u8>, String>> {
        let local = self.local.take().unwrap_or_default();
        let present = || self.objects.iter().filter(|object| !object.rows.is_empty());
        let utc = present().find_map(Object::time_100ns);
        if let Some(utc) = utc {
            self.bias = Some(whole_quarters(utc.wrapping_sub(local.0)));
        }
        let time = FileTime(local.0.saturating_add(self.bias.unwrap_or(0)));
        self.is_local = present().next().is_some() && self.bias.is_none();
        let block = |object: &Object| {
            let bytes = object.block(time, self.perf_freq, names);
            bytes.ok_or_else(|| object.name.clone())
        };
        let blocks = present().map(block).collect();
        for object in &mut self.objects {
            object.rows.clear();
            object.by_name.clear();
        }
        blocks
    }

    /// Whether the blocks made last have local times: the log does not tell the difference to UTC.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// The next whole number of quarters of an hour: zones differ from UTC by such.
pub(super) fn whole_quarters(steps: i64) -> i64 {
    const QUARTER: i64 = 15 * 60 * FileTime::PER_SECOND;
    steps.saturating_add(QUARTER / 2).div_euclid(QUARTER).saturating_mul(QUARTER)
}

/// How many definitions a counter needs: its own, and its base's.
fn definitions(entry: &Entry) -> usize {
    1 + usize::from(entry.counter_type.usual_base().is_some())
}

/// Whether the formula of a counter takes a clock, or its frequency.
fn uses(entry: &Entry, clock: Clock) -> bool {
    Formula::of(entry.counter_type).is_ok_and(|of| of.clock() == Some(clock))
}

/// The clock that the second number of a type is a reading of, if it is one.
pub(super) fn clock_of(counter_type: CounterType) -> Option<Clock> {
    let clock = Formula::of(counter_type).ok()?.clock()?;
    // An average takes its base; only its frequency is the clock's.
    (!counter_type.needs_base() || counter_type.is_multi()).then_some(clock)
}

impl Object {
    fn new(entry: &Entry) -> Self {
        Self {
            machine: entry.machine.clone(),
            name: entry.object.clone(),
            has_instances: entry.instance.is_some(),
            counters: Vec::new(),
            left_out: 0,
            rows: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// The values of the `order`-th instance of a name.
    fn row(&mut self, name: &str, order: usize) -> Option<&mut Vec<Option<Raw>>> {
        let known = self.by_name.get(name).and_then(|rows| rows.get(order)).copied();
        if known.is_none() && self.rows.len() >= MOST_ROWS {
            return None;
        }
        let place = known.unwrap_or_else(|| {
            self.rows.push((name.to_string(), vec![None; self.counters.len()]));
            self.by_name.entry(name.to_string()).or_default().push(self.rows.len() - 1);
            self.rows.len() - 1
        });
        self.rows.get_mut(place).map(|(_, row)| row)
    }

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

    fn block(&self, time: FileTime, perf_freq: i64, names: &mut MadeUpNames) -> Option<Vec<u8>> {
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
            system_name: &self.machine,
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
