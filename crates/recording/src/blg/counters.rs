//! Counters that a log recorded one by one, as data blocks.
//!
//! PDH records two numbers of a counter. The first is its value. The second is its base or, for
//! types without a base, the reading of the clock that the type's formula takes. The catalogue has
//! the clock's frequency, so each counter can be cooked as on the machine. The counters of one object name
//! make an object. Each object gets a block of its own, because its clocks are its own.

use super::catalogue::Entry;
use super::{i64_at, u32_at};
use crate::names::MadeUpNames;
use perfhive_format::{
    BlockHead, BlockWriter, CalendarTime, Clock, Clocks, CounterSpec, CounterType, FileTime,
    Formula, InstanceHead, NameRef, ObjectSpec, ObjectTemplate, TitleIndex,
};
use std::collections::{BTreeMap, HashMap};

/// The length in bytes of a counter with a single value.
const SINGLE: usize = 40;
/// The length in bytes of an instance's item in a counter with several instances, without the name.
const ITEM: usize = 24;
/// The length in bytes of the head in front of the items of a counter with several instances.
const SEVERAL: usize = 24;

/// The statuses of a value that exists: `PDH_CSTATUS_VALID_DATA` and `PDH_CSTATUS_NEW_DATA`.
const VALID: [u32; 2] = [0, 1];

/// The most values and bases of an instance.
const MOST: usize = 256;

/// The most values and bases of all instances together that a sample takes memory for: 128 MiB.
const MOST_VALUES: usize = 1 << 24;
/// The most values with an invalid status that become faults of one sample.
const MOST_MISSING: usize = 64;

/// The most UTF-16 units of an instance's name.
const LONGEST_NAME: usize = 1024;

/// The title index of the masks in [`Row::values`]: 0, which stands for no name.
const NO_NAME: TitleIndex = TitleIndex(0);

/// The numbers that PDH recorded of a counter: `first` is the raw value, `second` the reading of a clock or the base,
/// and `multi` the number of timers.
#[derive(Clone, Copy, Debug)]
struct Raw {
    first: i64,
    second: i64,
    multi: u32,
}

/// The counters of a sample, collected from its sub-records until its blocks are made.
#[derive(Default)]
pub(super) struct Counters {
    objects: Vec<Object>,
    /// The target of each entry of the catalogue; `None` for entries that are not read.
    targets: Vec<Option<Target>>,
    /// The local time of the sample; `None` before its first counter.
    local: Option<FileTime>,
    /// The difference from local time to UTC in steps of 100 ns: that of the last sample that had
    /// both times, or, before such a sample, that which the log's buffers show. `None` if it is not
    /// known.
    bias: Option<i64>,
    /// The time of the sample of the blocks that were made last, in UTC, or in local time where `bias` is `None`.
    /// `None` if that sample had no counter, with a value or without.
    time: Option<FileTime>,
    is_local: bool,
    writer: BlockWriter,
    /// How many of [`MOST_VALUES`] are left for new instances of this sample.
    room: usize,
    /// Whether the sample has instances for which there was no room.
    pub(super) is_cut: bool,
    /// For each machine, the number of counters that are left out since their clock is not that of the machine.
    other_clocks: BTreeMap<String, usize>,
    /// The counters of this sample without a value: the path, and PDH's status.
    pub(super) missing: Vec<(String, u32)>,
}

/// The key of an object: its machine, its name, and whether it has instances.
type Key<'a> = (&'a str, &'a str, bool);

/// The place for the values of an entry of the catalogue: object, column and row.
struct Target {
    object: usize,
    column: usize,
    /// The name of the entry's instance in UTF-16, as [`Row::name`] has it.
    name: Vec<u8>,
    /// The row of this instance in the previous sample.
    row: usize,
}

/// An object that is built from its counters.
struct Object {
    machine: String,
    /// The frequency of the machine's performance counter in Hz.
    perf_freq: i64,
    name: String,
    has_instances: bool,
    columns: Vec<Column>,
    /// The number of counters beyond [`MOST`], which are left out.
    left_out: usize,
    /// The instances of this sample so far. Behind them are the rows of the previous sample from
    /// that place on: most samples have the same instances in the same order. PDH does not number
    /// instances of one name, so their order tells them apart.
    rows: Vec<Row>,
    /// The number of rows that belong to this sample.
    used: usize,
    /// For each instance name, the places of its rows in `rows`.
    by_name: HashMap<Vec<u8>, Vec<usize>>,
    /// The readings of each [`Clock`], as the counters of this sample have them.
    clocks: [Told; 3],
    /// The object's definitions; `None` until the first sample with values.
    template: Option<ObjectTemplate>,
}

/// A counter of an object, and where a row has its values.
struct Column {
    entry: Entry,
    /// The clock that the counter's second number is a reading of; `None` where that number is a base.
    clock: Option<Clock>,
    base: Option<CounterType>,
    /// The place of the value in [`Row::values`]; the base, if there is one, follows it.
    at: usize,
    /// Whether some value needed more than the 32 bits of the counter's type.
    is_wide: bool,
}

/// An instance of an object.
struct Row {
    /// The instance's name in UTF-16, as the log has it.
    name: Vec<u8>,
    /// The number of earlier rows with the same name.
    order: usize,
    /// The values in the order of the definitions. Behind them are masks of counters without a value, each for 64
    /// definitions.
    values: Vec<u64>,
}

/// The reading of a clock that an object's counters have: none, one, or several that differ.
#[derive(Clone, Copy, Default)]
enum Told {
    #[default]
    Nothing,
    Time(i64),
    Contradiction,
}

impl Counters {
    /// Arranges the entries of a catalogue as objects with columns.
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut counters = Self { room: MOST_VALUES, ..Self::default() };
        // Each machine has one performance counter, whatever an object's counters use. 0 is no frequency.
        let mut frequencies: HashMap<&str, i64> = HashMap::new();
        for entry in entries.iter().filter(|entry| uses(entry, Clock::Perf)) {
            let known = frequencies.entry(&entry.machine).or_default();
            if *known == 0 {
                *known = entry.frequency;
            }
        }
        let mut objects: HashMap<Key<'_>, usize> = HashMap::new();
        let mut known: HashMap<(Key<'_>, &str), Option<(usize, usize)>> = HashMap::new();
        for entry in entries {
            if entry.is_whole {
                counters.targets.push(None);
                continue;
            }
            let perf_freq = frequencies.get(&*entry.machine).copied();
            let perf_freq = perf_freq.unwrap_or(FileTime::PER_SECOND);
            if uses(entry, Clock::Perf) && ![0, perf_freq].contains(&entry.frequency) {
                *counters.other_clocks.entry(entry.machine.clone()).or_default() += 1;
                counters.targets.push(None);
                continue;
            }
            let key = (entry.machine.as_str(), entry.object.as_str(), entry.instance.is_some());
            let place = *known.entry((key, &entry.counter)).or_insert_with(|| {
                let place = *objects.entry(key).or_insert_with(|| {
                    counters.objects.push(Object::new(entry, perf_freq));
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

    /// A message for each object with more counters than are read, and for each machine with counters that are left
    /// out since their clock is not that of the machine.
    pub(super) fn left_out(&self) -> Vec<String> {
        let objects = self.objects.iter().filter(|object| object.left_out > 0);
        let objects = objects.map(|Object { name, left_out, .. }| {
            format!("{name} has {left_out} counters more than are read of counters one by one")
        });
        let clocks = self.other_clocks.iter().map(|(machine, count)| {
            format!(
                "\\\\{machine}: counters of another clock than its first ones are left out: {count}"
            )
        });
        objects.chain(clocks).collect()
    }

    /// The same counters with the difference from local time to UTC, in steps of 100 ns, that holds until a counter
    /// has the UTC time itself.
    pub(super) fn with_bias(mut self, bias: Option<i64>) -> Self {
        self.bias = bias;
        self
    }

    /// Adds the value of a single counter (sub-record 0x0103), which `entry`, with the index `number` in the catalogue,
    /// describes. A value with an invalid status is remembered as missing. `None` where the sub-record is damaged.
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
            let Some(row) = object.find(&target.name, 0, &mut self.room) else {
                self.is_cut = true;
                return Some(());
            };
            target.row = row;
        }
        object.set(target.row, target.column, raw);
        Some(())
    }

    /// Adds the values of several instances of a counter (sub-record 0x0203), which `entry`, with the index `number` in
    /// the catalogue, describes. Values with an invalid status are remembered as missing. `None` where the sub-record
    /// is damaged.
    pub(super) fn add_several(
        &mut self,
        (number, entry): (usize, &Entry),
        of: &[u8],
    ) -> Option<()> {
        let (count, status) = (u32_at(of, 4)? as usize, u32_at(of, 8)?);
        self.local = Some(FileTime(i64_at(of, 16)?));
        let items = of.get(SEVERAL..SEVERAL.checked_add(count.checked_mul(ITEM)?)?)?;
        // Names lie one behind the other, so all names together are no longer than the record.
        let mut left = of.len();
        // As long as items and rows have the same names in the same order, no row has to be searched.
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
            match object.find(name, *order, &mut self.room) {
                Some(row) => object.set(row, target.column, raw),
                None => self.is_cut = true,
            }
            *order += 1;
        }
        Some(())
    }

    /// Remembers that an instance has no value, and PDH's status of it, up to [`MOST_MISSING`]
    /// times in a sample.
    fn missing(&mut self, entry: &Entry, instance: &str, status: u32) {
        if self.missing.len() < MOST_MISSING {
            let of = entry.instance.as_ref().map_or(String::new(), |_| format!("({instance})"));
            self.missing.push((format!(r"\{}{of}\{}", entry.object, entry.counter), status));
        }
    }

    /// Makes the blocks of the sample; the next sample begins empty. An object has no block if its
    /// counters have different readings of one clock, or make no block for another reason: `Err`
    /// has the object's name.
    pub(super) fn blocks(&mut self, names: &mut MadeUpNames) -> Vec<Result<Vec<u8>, String>> {
        let local = self.local.take();
        let present = || self.objects.iter().filter(|object| object.used > 0);
        let utc = present().find_map(|object| match object.told(Clock::Ns100) {
            Told::Time(time) => Some(time),
            _ => None,
        });
        if let (Some(utc), Some(local)) = (utc, local) {
            self.bias = Some(whole_quarters(utc.wrapping_sub(local.0)));
        }
        self.time = local.map(|local| FileTime(local.0.saturating_add(self.bias.unwrap_or(0))));
        self.is_local = local.is_some() && self.bias.is_none();
        let Some(time) = self.time else { return Vec::new() };
        let mut blocks = Vec::new();
        // Rows that are not of this sample are not kept for the next one.
        self.objects.iter_mut().for_each(Object::drop_rest);
        for object in self.objects.iter_mut().filter(|object| object.used > 0) {
            let block = object.block(time, names, &mut self.writer);
            blocks.push(block.ok_or_else(|| object.name.clone()));
            (object.used, object.clocks) = (0, Default::default());
        }
        let kept = self.objects.iter().map(|object| object.rows.len() * object.width()).sum();
        self.room = MOST_VALUES.saturating_sub(kept);
        blocks
    }

    /// A block without objects at the time of the sample of the blocks that were made last, for a sample in which no
    /// counter has a value. `None` if that sample had no counter.
    pub(super) fn block_without_objects(&self) -> Option<Vec<u8>> {
        let Object { machine, perf_freq, .. } = self.objects.first()?;
        let time = self.time?;
        Some(without_objects(machine, *perf_freq, (time.to_system_time(), time)))
    }

    /// Whether the blocks made last have local times, because the log lacks the difference to UTC.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }
}

/// A block without objects of a sample at this time; `perf_freq` is the frequency of the machine's performance counter.
pub(super) fn without_objects(
    machine: &str,
    perf_freq: i64,
    (system_time, time): (CalendarTime, FileTime),
) -> Vec<u8> {
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead {
        system_name: machine,
        system_time,
        clocks: Clocks { perf_freq, time_100ns: time.0, ..Clocks::default() },
        ..BlockHead::default()
    });
    writer.finish().to_vec()
}

/// The UTF-16 name at an offset, without the NUL behind it and cut off at [`LONGEST_NAME`]; `None` where the offset is
/// behind the record.
fn name_at(of: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = of.get(offset..)?;
    let units = rest.chunks_exact(2).take(LONGEST_NAME);
    rest.get(..2 * units.take_while(|unit| **unit != [0, 0]).count())
}

fn text(name: &[u8]) -> String {
    let units = name.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    String::from_utf16_lossy(&units.collect::<Vec<_>>())
}

/// The nearest multiple of 15 minutes, in steps of 100 ns: zones differ from UTC by such multiples.
pub(super) fn whole_quarters(steps: i64) -> i64 {
    const QUARTER: i64 = 15 * 60 * FileTime::PER_SECOND;
    steps.saturating_add(QUARTER / 2).div_euclid(QUARTER).saturating_mul(QUARTER)
}

/// Whether the formula of a counter takes this clock or its frequency.
pub(super) fn uses(entry: &Entry, clock: Clock) -> bool {
    Formula::of(entry.counter_type).is_ok_and(|of| of.clock() == Some(clock))
}

/// The clock that a type's second number is a reading of; `None` where that number is a base or unused.
pub(super) fn clock_of(counter_type: CounterType) -> Option<Clock> {
    let clock = Formula::of(counter_type).ok()?.clock()?;
    // The second number of an average is its base; of the clock it takes only the frequency.
    (!counter_type.needs_base() || counter_type.is_multi()).then_some(clock)
}

impl Object {
    fn new(entry: &Entry, perf_freq: i64) -> Self {
        Self {
            machine: entry.machine.clone(),
            perf_freq,
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

    /// The number of values and bases of an instance, and of their masks.
    fn width(&self) -> usize {
        let values = self.columns.last().map_or(0, Column::end);
        values + values.div_ceil(64)
    }

    /// Adds a column for a counter and returns its place; `None` if values and bases would be more than [`MOST`].
    fn add_column(&mut self, entry: &Entry) -> Option<usize> {
        let base = entry.counter_type.usual_base();
        let at = self.columns.last().map_or(0, Column::end);
        let clock = clock_of(entry.counter_type);
        let column = Column { entry: entry.clone(), clock, base, at, is_wide: false };
        if column.end() > MOST {
            self.left_out += 1;
            return None;
        }
        self.columns.push(column);
        Some(self.columns.len() - 1)
    }

    /// Whether the row at `place` has this name and is of this sample. If `place` is the first one behind the rows of
    /// this sample, and the row of the previous sample there has the name, that row becomes a row of this sample,
    /// without values, and the result is `true`.
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

    /// Drops the rows of the previous sample that this sample has not reached.
    fn drop_rest(&mut self) {
        if self.used < self.rows.len() {
            self.rows.truncate(self.used);
            self.by_name.clear();
            for (place, row) in self.rows.iter().enumerate() {
                self.by_name.entry(row.name.clone()).or_default().push(place);
            }
        }
    }

    /// The place of the row of the `order`-th instance (from 0) of a name in this sample. A missing row is added in the
    /// place of the rows left over from the previous sample, and its number of values is taken off `room`; `None` where
    /// `room` has not as many values as an instance.
    fn find(&mut self, name: &[u8], order: usize, room: &mut usize) -> Option<usize> {
        let known = self.by_name.get(name).and_then(|rows| rows.get(order)).copied();
        if let Some(place) = known.filter(|place| *place < self.used) {
            return Some(place);
        }
        let width = self.width();
        *room = room.checked_sub(width)?;
        // From here on the instances differ from those of the previous sample.
        self.drop_rest();
        let same = self.by_name.entry(name.to_vec()).or_default();
        let mut values = vec![0; width];
        empty(&self.columns, &mut values);
        self.rows.push(Row { name: name.to_vec(), order: same.len(), values });
        same.push(self.used);
        self.used += 1;
        Some(self.used - 1)
    }

    /// Sets the value of a counter in a row and, if the counter's type has one, the base; notes the reading of the
    /// clock in `clocks`.
    fn set(&mut self, row: usize, column: usize, raw: Raw) {
        let masks = self.columns.last().map_or(0, Column::end);
        let Some(column) = self.columns.get_mut(column) else { return };
        let counter_type = column.entry.counter_type;
        // The log has 64 bits for each value: perfhive counts disk times in more bits than their type has.
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
        if let Some(mask) = row.values.get_mut(masks + column.at / 64) {
            *mask &= !(1 << (column.at % 64));
        }
    }

    /// The reading of a clock in this sample.
    fn told(&self, clock: Clock) -> Told {
        self.clocks.get(clock as usize).copied().unwrap_or_default()
    }

    /// The block of this object in the sample; `None` if the object's counters have different
    /// readings of one clock, or make no block.
    fn block(
        &mut self,
        time: FileTime,
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
            perf_freq: self.perf_freq,
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
        let masks = self.width() - specs.len();
        specs.extend(vec![CounterSpec::new(NO_NAME, CounterType::ABSENT_VALUES); masks]);
        let mut object = ObjectSpec::new(names.index(&self.name));
        if self.has_instances {
            object = object.with_instances();
        }
        ObjectTemplate::new(&object, &specs).ok()
    }
}

impl Column {
    /// The place in a row behind the value and its base.
    fn end(&self) -> usize {
        self.at + 1 + usize::from(self.base.is_some())
    }
}

/// Marks every counter of a row as one without a value.
fn empty(columns: &[Column], values: &mut [u64]) {
    values.fill(0);
    let masks = columns.last().map_or(0, Column::end);
    for column in columns {
        if let Some(mask) = values.get_mut(masks + column.at / 64) {
            *mask |= 1 << (column.at % 64);
        }
    }
}
