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

/// The numbers that PDH recorded of a counter.
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
    /// What each entry of the catalogue fills; `None` for what is not read.
    targets: Vec<Option<Target>>,
    /// Local time of the sample.
    local: Option<FileTime>,
    /// What is added to local time to get UTC, as the last sample with both told.
    bias: Option<i64>,
    is_local: bool,
    /// Ticks a second of the machine's performance counter.
    perf_freq: i64,
    writer: BlockWriter,
    /// Instances without a value, by their path.
    pub(super) missing: Vec<(String, u32)>,
}

/// Machine and name of an object, and whether it has instances.
type Key<'a> = (&'a str, &'a str, bool);

/// What an entry of the catalogue fills.
struct Target {
    object: usize,
    column: usize,
    /// The name of the entry's instance, as a row has it.
    name: Vec<u8>,
    /// The row of this instance in the sample before.
    row: usize,
}

/// An object that is put together.
struct Object {
    machine: String,
    name: String,
    has_instances: bool,
    columns: Vec<Column>,
    /// How many counters there was no room for.
    left_out: usize,
    /// Instances of this sample, and behind them those that the sample before had from there on: most
    /// samples have the same ones in the same order. PDH does not number those of one name.
    rows: Vec<Row>,
    /// How many rows are of this sample.
    used: usize,
    /// The rows of each name.
    by_name: HashMap<Vec<u8>, Vec<usize>>,
    /// The readings of the clocks that counters told in this sample.
    clocks: [Told; 3],
    /// Made for the first sample with values.
    template: Option<ObjectTemplate>,
}

/// A counter of an object.
struct Column {
    entry: Entry,
    /// The clock that the second number is a reading of.
    clock: Option<Clock>,
    base: Option<CounterType>,
    /// The place of the value in a row; the base follows.
    at: usize,
    /// Whether a value had more than the 32 bits of its type.
    is_wide: bool,
}

/// An instance of an object.
struct Row {
    /// UTF-16, as the log has it.
    name: Vec<u8>,
    /// The number of rows of this name before it.
    order: usize,
    /// In the order of the definitions, the mask of those without a value last.
    values: Vec<u64>,
}

/// What the counters of an object tell of a clock.
#[derive(Clone, Copy, Default)]
enum Told {
    #[default]
    Nothing,
    Time(i64),
    Contradiction,
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
                counters.targets.push(None);
                continue;
            }
            let key = (entry.machine.as_str(), entry.object.as_str(), entry.instance.is_some());
            let place = *known.entry((key, &entry.counter)).or_insert_with(|| {
                let place = *objects.entry(key).or_insert_with(|| {
                    counters.objects.push(Object::new(entry));
                    counters.objects.len() - 1
                });
                let column = counters.objects.get_mut(place)?.add_column(entry)?;
                Some((place, column))
            });
            counters.targets.push(place.map(|(object, column)| {
                let name = entry.instance.as_deref().unwrap_or_default();
                let name = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
                Target { object, column, name, row: 0 }
            }));
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
        if !VALID.contains(&status) {
            self.missing(entry, entry.instance.as_deref().unwrap_or_default(), status);
            return Some(());
        }
        let Some(Some(target)) = self.targets.get_mut(number) else { return Some(()) };
        let Some(object) = self.objects.get_mut(target.object) else { return Some(()) };
        let is_first = object.rows.get(target.row).is_some_and(|row| row.order == 0);
        if !(is_first && object.expects(target.row, &target.name)) {
            let Some(row) = object.find(&target.name, 0) else { return Some(()) };
            target.row = row;
        }
        object.set(target.row, target.column, raw);
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
        // Names lie one behind the other, so all of them together are no longer than the record.
        let mut left = of.len();
        // As long as the items are those of the first rows, none has to be looked for.
        let mut is_in_step = true;
        let mut seen: HashMap<&[u8], usize> = HashMap::new();
        for (place, item) in items.chunks_exact(ITEM).enumerate() {
            let name = name_at(of, u32_at(item, 0)? as usize)?;
            left = left.checked_sub(name.len())?;
            if !VALID.contains(&status) {
                self.missing(entry, &text(name), status);
                continue;
            }
            let raw =
                Raw { multi: u32_at(item, 4)?, first: i64_at(item, 8)?, second: i64_at(item, 16)? };
            let Some(Some(target)) = self.targets.get(number) else { continue };
            let Some(object) = self.objects.get_mut(target.object) else { continue };
            let was_in_step = is_in_step;
            is_in_step &= object.expects(place, name);
            if is_in_step {
                object.set(place, target.column, raw);
                continue;
            }
            if was_in_step {
                for item in items.chunks_exact(ITEM).take(place) {
                    *seen.entry(name_at(of, u32_at(item, 0)? as usize)?).or_default() += 1;
                }
            }
            let order = seen.entry(name).or_default();
            if let Some(row) = object.find(name, *order) {
                object.set(row, target.column, raw);
            }
            *order += 1;
        }
        Some(())
    }

    /// Notes that an instance has no value.
    fn missing(&mut self, entry: &Entry, instance: &str, status: u32) {
        if self.missing.len() < MOST_MISSING {
            let of = entry.instance.as_ref().map_or(String::new(), |_| format!("({instance})"));
            self.missing.push((format!(r"\{}{of}\{}", entry.object, entry.counter), status));
        }
    }

    /// The blocks of the sample; the next one begins empty. An object whose counters contradict one
    /// another is left out: `Err` has its name.
    pub(super) fn blocks(&mut self, names: &mut MadeUpNames) -> Vec<Result<Vec<u8>, String>> {
        let local = self.local.take().unwrap_or_default();
        let present = || self.objects.iter().filter(|object| object.used > 0);
        let utc = present().find_map(|object| match object.told(Clock::Ns100) {
            Told::Time(time) => Some(time),
            _ => None,
        });
        if let Some(utc) = utc {
            self.bias = Some(whole_quarters(utc.wrapping_sub(local.0)));
        }
        let time = FileTime(local.0.saturating_add(self.bias.unwrap_or(0)));
        self.is_local = present().next().is_some() && self.bias.is_none();
        let mut blocks = Vec::new();
        // What is kept for the next sample is no more than this one has.
        self.objects.iter_mut().for_each(Object::drop_rest);
        for object in self.objects.iter_mut().filter(|object| object.used > 0) {
            let block = object.block(time, self.perf_freq, names, &mut self.writer);
            blocks.push(block.ok_or_else(|| object.name.clone()));
            (object.used, object.clocks) = (0, Default::default());
        }
        blocks
    }

    /// Whether the blocks made last have local times: the log does not tell the difference to UTC.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// The name at an offset, without its end.
fn name_at(of: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = of.get(offset..)?;
    let units = rest.chunks_exact(2).take(LONGEST_NAME);
    rest.get(..2 * units.take_while(|unit| **unit != [0, 0]).count())
}

fn text(name: &[u8]) -> String {
    let units = name.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    String::from_utf16_lossy(&units.collect::<Vec<_>>())
}

/// The next whole number of quarters of an hour: zones differ from UTC by such.
pub(super) fn whole_quarters(steps: i64) -> i64 {
    const QUARTER: i64 = 15 * 60 * FileTime::PER_SECOND;
    steps.saturating_add(QUARTER / 2).div_euclid(QUARTER).saturating_mul(QUARTER)
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
            columns: Vec::new(),
            left_out: 0,
            rows: Vec::new(),
            used: 0,
            by_name: HashMap::new(),
            clocks: Default::default(),
            template: None,
        }
    }

    /// Adds a counter; `None` where there is no room for it.
    fn add_column(&mut self, entry: &Entry) -> Option<usize> {
        let base = entry.counter_type.usual_base();
        let at = self.columns.last().map_or(0, Column::end);
        let clock = clock_of(entry.counter_type);
        let column = Column { entry: entry.clone(), clock, base, at, is_wide: false };
        if column.end() >= MOST {
            self.left_out += 1;
            return None;
        }
        self.columns.push(column);
        Some(self.columns.len() - 1)
    }

    /// Whether an instance has the row that is expected: one of this sample, or the next of the sample
    /// before, which becomes one of this.
    fn expects(&mut self, place: usize, name: &[u8]) -> bool {
        let is_next = place == self.used;
        let row = self.rows.get_mut(place).filter(|row| row.name == name);
        let Some(row) = row.filter(|_| place <= self.used) else { return false };
        if is_next {
            empty(&self.columns, &mut row.values);
            self.used += 1;
        }
        true
    }

    /// Drops the rows of the sample before that are not of this one.
    fn drop_rest(&mut self) {
        if self.used < self.rows.len() {
            self.rows.truncate(self.used);
            self.by_name.clear();
            for (place, row) in self.rows.iter().enumerate() {
                self.by_name.entry(row.name.clone()).or_default().push(place);
            }
        }
    }

    /// The row of the `order`-th instance of a name in this sample.
    fn find(&mut self, name: &[u8], order: usize) -> Option<usize> {
        let known = self.by_name.get(name).and_then(|rows| rows.get(order)).copied();
        if let Some(place) = known.filter(|place| *place < self.used) {
            return Some(place);
        }
        if self.used >= MOST_ROWS {
            return None;
        }
        // The instances are not those of the sample before from here on.
        self.drop_rest();
        let same = self.by_name.entry(name.to_vec()).or_default();
        let mut values = vec![0; self.columns.last().map_or(0, Column::end) + 1];
        empty(&self.columns, &mut values);
        self.rows.push(Row { name: name.to_vec(), order: same.len(), values });
        same.push(self.used);
        self.used += 1;
        Some(self.used - 1)
    }

    /// Sets the value of a counter.
    fn set(&mut self, row: usize, column: usize, raw: Raw) {
        let Some(column) = self.columns.get_mut(column) else { return };
        let counter_type = column.entry.counter_type;
        // The log has room for 64 bits of each value: perfhive counts disk times in more than their type says.
        let is_wide = counter_type.size_in_bytes() == Some(4) && raw.first > i64::from(u32::MAX);
        if is_wide && !column.is_wide {
            column.is_wide = true;
            self.template = None;
        }
        if let Some(clock) = column.clock
            && let Some(told) = self.clocks.get_mut(clock as usize)
        {
            *told = match *told {
                Told::Nothing => Told::Time(raw.second),
                Told::Time(time) if time == raw.second => Told::Time(time),
                _ => Told::Contradiction,
            };
        }
        let Some(row) = self.rows.get_mut(row) else { return };
        let fit = |value: i64, of: CounterType| match of.size_in_bytes() {
            Some(4) => u64::from(value as u32),
            _ => value as u64,
        };
        if let Some(value) = row.values.get_mut(column.at) {
            *value = if column.is_wide { raw.first as u64 } else { fit(raw.first, counter_type) };
        }
        if let (Some(base), Some(value)) = (column.base, row.values.get_mut(column.at + 1)) {
            let of_base = if counter_type.is_multi() { raw.multi.into() } else { raw.second };
            *value = fit(of_base, base);
        }
        if let Some(mask) = row.values.last_mut() {
            *mask &= !(1 << column.at);
        }
    }

    /// The reading of a clock.
    fn told(&self, clock: Clock) -> Told {
        self.clocks.get(clock as usize).copied().unwrap_or_default()
    }

    /// The block of this sample; `None` where its counters are not of one moment.
    fn block(
        &mut self,
        time: FileTime,
        perf_freq: i64,
        names: &mut MadeUpNames,
        writer: &mut BlockWriter,
    ) -> Option<Vec<u8>> {
        let of_object = self.columns.iter().find(|column| uses(&column.entry, Clock::Object));
        let read = |clock| match self.told(clock) {
            Told::Nothing => Some(time.0),
            Told::Time(time) => Some(time),
            Told::Contradiction => None,
        };
        let clocks = Clocks {
            perf_time: read(Clock::Perf)?,
            perf_freq,
            time_100ns: read(Clock::Ns100)?,
            object_time: read(Clock::Object)?,
            object_freq: of_object.map_or(FileTime::PER_SECOND, |column| column.entry.frequency),
        };
        if self.template.is_none() {
            self.template = self.template(names);
        }
        let template = self.template.as_ref()?;
        let system_time = time.to_system_time();
        writer.start(&BlockHead {
            system_name: &self.machine,
            system_time,
            clocks,
            ..BlockHead::default()
        });
        let mut writing = writer.object(template).ok()?;
        writing = writing.clock(clocks.object_time, clocks.object_freq);
        for row in self.rows.get(..self.used)? {
            if self.has_instances {
                let name = NameRef::Bytes(&row.name);
                let head = InstanceHead { name, unique_id: None, parent: None };
                writing.instance(&head, &row.values).ok()?;
            } else {
                writing = writing.values(&row.values).ok()?;
                break;
            }
        }
        writing.finish().ok()?;
        Some(writer.finish().to_vec())
    }

    fn template(&self, names: &mut MadeUpNames) -> Option<ObjectTemplate> {
        let mut specs = Vec::new();
        for Column { entry, base, is_wide, .. } in &self.columns {
            let mut spec = CounterSpec::new(names.index(&entry.counter), entry.counter_type);
            if *is_wide {
                spec = spec.size(8);
            }
            specs.push(spec.scale(entry.scale));
            if let Some(base) = base {
                specs.push(CounterSpec::new(names.index(&entry.counter), *base));
            }
        }
        specs.push(CounterSpec::new(NO_NAME, CounterType::ABSENT_VALUES));
        let mut object = ObjectSpec::new(names.index(&self.name));
        if self.has_instances {
            object = object.with_instances();
        }
        ObjectTemplate::new(&object, &specs).ok()
    }
}

impl Column {
    /// The place behind the value and its base.
    fn end(&self) -> usize {
        self.at + 1 + usize::from(self.base.is_some())
    }
}

/// Makes a row one in which no counter has a value.
fn empty(columns: &[Column], values: &mut [u64]) {
    values.fill(0);
    if let Some(mask) = values.last_mut() {
        *mask = columns.iter().fold(0, |mask, column| mask | 1 << column.at);
    }
}
