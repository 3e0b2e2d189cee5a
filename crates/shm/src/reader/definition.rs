//! The constant part of a file, parsed without trust in any byte.

use crate::definition::{is_countable, nanoseconds_per_tick};
use crate::layout::{
    COUNTER, HEADER, LARGEST, LIVE, LONGEST_NAME, LONGEST_TEXT, MAGIC, MOST_COUNTERS, MOST_SLOTS,
    MOST_TEXT, MULTI_INSTANCE, NANOSECONDS, PAIR, SINGLE, SLOT, VERSION, counter as entry, header,
};
use crate::os::Owner;
use perfhive_format::{CounterType, DetailLevel};
use std::fmt;

/// The reason why a file is not a readable file of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutError {
    what: String,
    offset: Option<usize>,
}

impl LayoutError {
    fn at(offset: usize, what: impl Into<String>) -> Self {
        Self { what: what.into(), offset: Some(offset) }
    }

    pub(crate) fn short(length: u64) -> Self {
        Self {
            what: format!("{length} bytes are fewer than what it says, or a header"),
            offset: None,
        }
    }

    /// The text that says what a user can do about the error.
    pub(crate) fn way_out(&self) -> &'static str {
        match self.offset {
            Some(header::VERSION) => "its program and this reader need perfhive of one version",
            Some(0) => "remove it, or name it otherwise",
            _ => "start its program again",
        }
    }

    /// The offset of the wrong field in the file; `None` if the file is too short.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.offset
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at offset {offset}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for LayoutError {}

/// The definition of a published category: its constant part.
#[derive(Clone, Debug)]
pub struct FileDefinition {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) detail: DetailLevel,
    pub(crate) default_counter: Option<u32>,
    pub(crate) counters: Vec<PublishedCounter>,
    pub(crate) has_instances: bool,
    pub(crate) slots: usize,
    pub(crate) name_size: usize,
    pub(crate) live_at: usize,
    pub(crate) names_at: usize,
    pub(crate) values_at: usize,
    pub(crate) values_size: usize,
    pub(crate) owner: Owner,
    pub(crate) created: u64,
}

/// A counter of a published category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublishedCounter {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) counter_type: CounterType,
    pub(crate) base_type: Option<CounterType>,
    pub(crate) scale: i32,
    pub(crate) detail: DetailLevel,
    pub(crate) cell: usize,
    pub(crate) nanoseconds: bool,
}

/// The number of bytes of texts that may always be copied from a file, however few bytes of texts
/// it has: counters may share a help text.
const SHARED_TEXT: usize = 64 << 10;

/// A reader of little-endian numbers in the bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&self, at: usize) -> Result<u32, LayoutError> {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|b| u32::from_le_bytes(*b)).ok_or_else(|| LayoutError::short(self.0.len() as u64))
    }

    fn u64(&self, at: usize) -> Result<u64, LayoutError> {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map(|b| u64::from_le_bytes(*b)).ok_or_else(|| LayoutError::short(self.0.len() as u64))
    }

    /// The 32-bit number at an offset, which must be within a range; `what` names it in the error.
    fn within(
        &self,
        at: usize,
        what: &str,
        range: std::ops::RangeInclusive<usize>,
    ) -> Result<usize, LayoutError> {
        checked(at, what, self.u32(at)?.into(), range)
    }

    /// The start of an area of `size` bytes, as the 64-bit number at `at` gives it. The area must
    /// lie between `from` and `end`, and begin at a multiple of `align`; `what` names it in the
    /// error.
    fn area(
        &self,
        at: usize,
        what: &str,
        from: usize,
        align: usize,
        size: usize,
        end: usize,
    ) -> Result<usize, LayoutError> {
        let last = end.saturating_sub(size);
        let begin = checked(at, what, self.u64(at)?, from..=last)?;
        if !begin.is_multiple_of(align) || begin.checked_add(size).is_none_or(|e| e > end) {
            return Err(LayoutError::at(at, format!("{what} at {begin} do not fit")));
        }
        Ok(begin)
    }
}

/// A number that must be within a range; `at` is its offset, and `what` names it in the error.
fn checked(
    at: usize,
    what: &str,
    number: u64,
    range: std::ops::RangeInclusive<usize>,
) -> Result<usize, LayoutError> {
    let (from, to) = (range.start(), range.end());
    match usize::try_from(number) {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(LayoutError::at(at, format!("{what}: {number}, expected {from} to {to}"))),
    }
}

/// The number of bytes of a counter's cells.
fn size_of_cells(base_type: Option<CounterType>) -> usize {
    if base_type.is_some() { PAIR } else { SINGLE }
}

/// The position of a counter with cells that overlap those of another counter; `None` if there is
/// none. Without overlaps a reader never gets more values than the file has room for.
fn overlapping(counters: &[PublishedCounter]) -> Option<usize> {
    let mut places: Vec<(usize, usize)> =
        counters.iter().enumerate().map(|(place, counter)| (counter.cell, place)).collect();
    places.sort_unstable();
    let mut end = 0;
    for (cell, place) in places {
        if cell < end {
            return Some(place);
        }
        end = cell + size_of_cells(counters.get(place)?.base_type);
    }
    None
}

impl FileDefinition {
    /// The number of bytes of the definition, from the header of a file of `length` bytes.
    pub(crate) fn prefix(bytes: &[u8], length: u64) -> Result<usize, LayoutError> {
        let fields = Fields(bytes);
        if bytes.get(..8) != Some(&MAGIC) {
            return Err(LayoutError::at(0, "not a file of counters"));
        }
        let version = fields.u32(header::VERSION)?;
        if version != VERSION {
            let what = format!("version {version} of the layout, of which {VERSION} is known");
            return Err(LayoutError::at(header::VERSION, what));
        }
        checked(header::FILE_SIZE, "length of the file", length, HEADER..=LARGEST)?;
        let most = HEADER + MOST_COUNTERS * COUNTER + MOST_TEXT + 64;
        let live_at = fields.area(header::LIVE_AT, "slots", HEADER, 64, LIVE, length as usize)?;
        checked(header::LIVE_AT, "length of the definition", live_at as u64, HEADER..=most)
    }

    /// Reads the definition from the start of a file of `length` bytes. Time and memory are in
    /// proportion to the number of bytes, whatever the bytes are.
    ///
    /// # Errors
    /// If the bytes are not a valid definition.
    pub fn parse(bytes: &[u8], length: u64) -> Result<Self, LayoutError> {
        let live_at = Self::prefix(bytes, length)?;
        let definition = bytes.get(..live_at).ok_or_else(|| LayoutError::short(length))?;
        let fields = Fields(definition);
        let declared = fields.u64(header::FILE_SIZE)?;
        if declared > length {
            return Err(LayoutError::short(length));
        }
        let end = checked(header::FILE_SIZE, "length of the file", declared, HEADER..=LARGEST)?;
        fields.within(header::LENGTH, "length of the header", HEADER..=HEADER)?;
        let has_instances = fields.u32(header::FLAGS)? & MULTI_INSTANCE != 0;
        let most = if has_instances { MOST_SLOTS } else { 1 };
        let slots = fields.within(header::SLOTS, "instances", 1..=most)?;
        let shortest = if has_instances { 8 } else { 0 };
        let name_size =
            fields.within(header::NAME_SIZE, "length of names", shortest..=LONGEST_NAME)?;
        let values_size = fields.within(header::VALUES_SIZE, "length of values", 8..=LARGEST)?;
        if !name_size.is_multiple_of(8) || !values_size.is_multiple_of(8) {
            return Err(LayoutError::at(header::NAME_SIZE, "lengths that are not a multiple of 8"));
        }
        // The factors of all products are below 2^25, so that none overflows.
        let slots_end = live_at.saturating_add(LIVE + slots * SLOT);
        checked(header::SLOTS, "end of the slots", slots_end as u64, 0..=end)?;
        let (names, values) = (slots.saturating_mul(name_size), slots.saturating_mul(values_size));
        let names_at = fields.area(header::NAMES_AT, "names", slots_end, 8, names, end)?;
        let names_end = names_at.saturating_add(names);
        let values_at = fields.area(header::VALUES_AT, "values", names_end, 8, values, end)?;

        let count = fields.within(header::COUNTERS, "counters", 1..=MOST_COUNTERS)?;
        let counters_size = count * COUNTER;
        let counters_at =
            fields.area(header::COUNTERS_AT, "counters", HEADER, 8, counters_size, live_at)?;
        let size = checked(
            header::TEXTS_SIZE,
            "length of the texts",
            fields.u64(header::TEXTS_SIZE)?,
            1..=MOST_TEXT,
        )?;
        let texts_at = fields.area(header::TEXTS_AT, "texts", HEADER, 1, size, live_at)?;
        let texts = definition.get(texts_at..texts_at + size).unwrap_or_default();
        // A text may be referred to repeatedly: copied bytes are counted.
        let mut budget = (2 * size).max(SHARED_TEXT);
        let mut text = |at: usize, may_be_empty: bool| -> Result<String, LayoutError> {
            let (begin, length) = (fields.u32(at)? as usize, fields.u32(at + 4)? as usize);
            let bytes = begin.checked_add(length).and_then(|end| texts.get(begin..end));
            let bytes = bytes.filter(|bytes| bytes.len() <= LONGEST_TEXT);
            let bytes = bytes.ok_or_else(|| LayoutError::at(at, "a text that does not fit"))?;
            budget = budget
                .checked_sub(bytes.len())
                .ok_or_else(|| LayoutError::at(at, "texts that are used too often"))?;
            let text = std::str::from_utf8(bytes)
                .map_err(|_| LayoutError::at(at, "a text that is not UTF-8"))?;
            if text.contains('\0') || (text.trim().is_empty() && !may_be_empty) {
                return Err(LayoutError::at(at, "a name that is empty or has a NUL"));
            }
            Ok(text.to_string())
        };
        let name = text(header::NAME, false)?;
        let help = text(header::HELP, true)?;
        let mut counters: Vec<PublishedCounter> = Vec::with_capacity(count);
        for place in 0..count {
            let at = counters_at + place * COUNTER;
            let counter_type = CounterType(fields.u32(at + entry::TYPE)?);
            let base = fields.u32(at + entry::BASE_TYPE)?;
            let base_type = (base != 0).then_some(CounterType(base));
            if !is_countable(counter_type, base_type) {
                let what = format!("no counter can have type {counter_type} and base {base:#x}");
                return Err(LayoutError::at(at + entry::TYPE, what));
            }
            let last = values_size.checked_sub(size_of_cells(base_type));
            let last =
                last.ok_or_else(|| LayoutError::at(at + entry::CELL, "no room for cells"))?;
            let cell = fields.within(at + entry::CELL, "cells", 0..=last)?;
            if !cell.is_multiple_of(8) {
                return Err(LayoutError::at(at + entry::CELL, "cells that are not aligned"));
            }
            let flags = fields.u32(at + entry::FLAGS)?;
            let nanoseconds = flags & NANOSECONDS != 0;
            if nanoseconds && nanoseconds_per_tick(counter_type).is_none() {
                let what = format!("nanoseconds for type {counter_type}, which is not a timer");
                return Err(LayoutError::at(at + entry::FLAGS, what));
            }
            counters.push(PublishedCounter {
                name: text(at + entry::NAME, false)?,
                help: text(at + entry::HELP, true)?,
                counter_type,
                base_type,
                scale: fields.u32(at + entry::SCALE)? as i32,
                detail: DetailLevel(fields.u32(at + entry::DETAIL)?),
                cell,
                nanoseconds,
            });
        }
        if let Some(place) = overlapping(&counters) {
            let at = counters_at + place * COUNTER + entry::CELL;
            return Err(LayoutError::at(at, "cells that another counter has"));
        }
        let default_counter = fields.u32(header::DEFAULT_COUNTER)?;
        Ok(Self {
            name,
            help,
            detail: DetailLevel(fields.u32(header::DETAIL)?),
            default_counter: ((default_counter as usize) < count).then_some(default_counter),
            counters,
            has_instances,
            slots,
            name_size,
            live_at,
            names_at,
            values_at,
            values_size,
            owner: Owner {
                pid: fields.u64(header::PID)?,
                start: fields.u64(header::START)?,
                pid_namespace: fields.u64(header::PID_NAMESPACE)?,
                time_namespace: fields.u64(header::TIME_NAMESPACE)?,
            },
            created: fields.u64(header::CREATED)?,
        })
    }

    /// The category's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the category has instances.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.has_instances
    }

    /// The name and the type of each counter, and the type of its base if it has one.
    pub fn counters(&self) -> impl Iterator<Item = (&str, CounterType, Option<CounterType>)> {
        self.counters
            .iter()
            .map(|counter| (&*counter.name, counter.counter_type, counter.base_type))
    }

    /// Whether both categories have instances or neither has, and both have the same counters in
    /// the same order: names, types and types of bases. Then their instances fit into one object.
    pub(crate) fn has_same_counters(&self, other: &Self) -> bool {
        let same = |(a, b): (&PublishedCounter, &PublishedCounter)| {
            (&a.name, a.counter_type, a.base_type) == (&b.name, b.counter_type, b.base_type)
        };
        self.has_instances == other.has_instances
            && self.counters.len() == other.counters.len()
            && self.counters.iter().zip(&other.counters).all(same)
    }

    /// The number of counters with a base.
    pub(crate) fn pairs(&self) -> usize {
        self.counters.iter().filter(|counter| counter.base_type.is_some()).count()
    }
}
