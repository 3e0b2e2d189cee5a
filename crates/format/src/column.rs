//! Counters that are resolved once and read many times.
//!
//! The definitions of an object give the position and the width of a counter's data and of its
//! base. [`CounterPlan`] finds them once; reading a [`Column`] then takes one load and one shift.

use crate::cook::{Clocks, CookError, Formula, RawSample};
use crate::counter_type::CounterType;
use crate::error::ValueError;
use crate::titles::TitleIndex;
use crate::view::{CounterBlock, CounterDefinition, PerfObject};
use crate::winperf::PERF_COUNTER_BLOCK;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The position of one number, the same in every counter block of an object.
///
/// A number of 4 bytes is read as the upper half of the 8 bytes that end with it. These 8 bytes never
/// begin before the block: a counter block begins with its length, so at least 4 bytes lie before
/// every number. One load, one check against the block's end and one shift thus serve both widths,
/// without a branch on the width and without a special case at the end of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// The offset of the 8 bytes, from the start of the counter block.
    start: u32,
    /// The number of bits by which the 8 bytes are shifted to the right: 0 for a number of 8 bytes,
    /// 32 for a number of 4 bytes.
    shift: u32,
}

impl Column {
    /// The column at an offset, with a size in bytes; `None` unless the size is 4 or 8 and the
    /// offset lies behind the block's length field.
    #[must_use]
    pub const fn new(offset: u32, size: u32) -> Option<Self> {
        const LENGTH_FIELD: u32 = PERF_COUNTER_BLOCK::SIZE as u32;
        if offset < LENGTH_FIELD {
            return None;
        }
        match size {
            4 => Some(Self { start: offset - LENGTH_FIELD, shift: 32 }),
            8 => Some(Self { start: offset, shift: 0 }),
            _ => None,
        }
    }

    /// Width of the number in bytes, 4 or 8.
    #[must_use]
    #[inline]
    pub const fn size(self) -> u8 {
        if self.shift == 0 { 8 } else { 4 }
    }

    /// The number that the column has in one counter block; `None` if the block ends before the
    /// number does.
    #[must_use]
    #[inline(always)]
    pub fn read(self, block: CounterBlock<'_>) -> Option<u64> {
        let start = self.start as usize;
        // If `usize` has 32 bits, the end may wrap. It then lies before the start, which `get`
        // refuses too.
        let chunk = block.as_bytes().get(start..start.wrapping_add(8))?;
        Some(u64::from_le_bytes(*chunk.first_chunk::<8>()?) >> (self.shift & 63))
    }

    fn read_or(self, block: CounterBlock<'_>) -> Result<u64, ValueError> {
        self.read(block).ok_or_else(|| ValueError::OutsideBlock {
            end: u64::from(self.start) + 8,
            block: u32::try_from(block.as_bytes().len()).unwrap_or(u32::MAX),
        })
    }
}

/// The position of the base of a counter, if the counter needs a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BaseColumn {
    /// No base is needed: the type has no base in its formula, or is itself a base.
    NotNeeded,
    /// The type needs a base, but none was found: neither in the next definition nor, for a multi
    /// timer, behind the counter's value.
    Missing,
    /// The column of the base: the data of the next definition, or the 32-bit number of items that
    /// follows the value of a multi timer.
    At(Column),
}

/// One counter of an object: its formula, and the positions of its data and of its base, as needed to
/// read its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterPlan {
    /// Index (from 0) of the definition among those of the object.
    pub place: u32,
    /// Title index of the name.
    pub name: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// The position of the number: the data if it has 4 or 8 bytes, or the first 8 of a multi
    /// timer's 12. `None` for data of another size, or that begins in the length field of the
    /// counter block.
    pub value: Option<Column>,
    /// `CounterSize` as the definition states it.
    pub size: u32,
    /// `CounterOffset` as the definition states it.
    pub offset: u32,
    /// The position of the base.
    pub base: BaseColumn,
    /// The formula that makes the value. For a counter without a formula, an error that says why:
    /// the counter is a base, a text or a label, or no formula is known for its type.
    pub formula: Result<Formula, CookError>,
    /// The column with the bits for values that an instance lacks, and a mask with the bit of this
    /// counter. `None` if the object has no such column for the counter.
    absent: Option<(Column, u64)>,
}

impl CounterPlan {
    /// The plan of the counter with the index `place` (from 0) of an object; `None` if the object
    /// has no such counter.
    #[must_use]
    pub fn new(object: PerfObject<'_>, place: u32) -> Option<Self> {
        let mut counters = object.counters();
        let definition = counters.nth(usize::try_from(place).ok()?)?;
        let plan = Self::resolve(place, definition, counters.next(), &mut Occupied::of(object));
        Some(plan.with_absent(absent_values(object)))
    }

    /// The plans of all counters of an object, bases included, in order.
    #[must_use]
    pub fn all(object: PerfObject<'_>) -> Vec<Self> {
        let mut counters = object.counters().peekable();
        let mut occupied = Occupied::of(object);
        let absent: Vec<_> = absent_values(object).collect();
        let mut plans = Vec::new();
        while let Some(definition) = counters.next() {
            let place = u32::try_from(plans.len()).unwrap_or(u32::MAX);
            let next = counters.peek().copied();
            let plan = Self::resolve(place, definition, next, &mut occupied);
            plans.push(plan.with_absent(absent.iter().copied()));
        }
        plans
    }

    fn resolve(
        place: u32,
        definition: CounterDefinition<'_>,
        next: Option<CounterDefinition<'_>>,
        occupied: &mut Occupied<'_>,
    ) -> Self {
        let counter_type = definition.counter_type();
        let (offset, size) = (definition.offset(), definition.size());
        let formula = Formula::of(counter_type);
        let multi = counter_type.is_multi() && !counter_type.is_base();
        // A multi timer may carry its item count behind its value: its data is
        // then 12 bytes, or 8 with four behind them that no definition claims.
        let value = Column::new(offset, if multi && size == 12 { 8 } else { size });
        let is_base = |of: &CounterType| of.is_base() && *of != CounterType::ABSENT_VALUES;
        let follower = next.filter(|next| is_base(&next.counter_type()));
        let base = if !counter_type.needs_base() || counter_type.is_base() {
            BaseColumn::NotNeeded
        } else if let Some(base) = follower.and_then(|b| Column::new(b.offset(), b.size())) {
            BaseColumn::At(base)
        } else if let Some(behind) = offset
            .checked_add(8)
            .filter(|behind| multi && (size == 12 || (size == 8 && !occupied.any_in(*behind))))
        {
            Column::new(behind, 4).map_or(BaseColumn::Missing, BaseColumn::At)
        } else {
            BaseColumn::Missing
        };
        Self {
            place,
            name: definition.name_index(),
            counter_type,
            value,
            size,
            offset,
            base,
            formula,
            absent: None,
        }
    }

    fn with_absent(mut self, mut absent: impl Iterator<Item = Option<Column>>) -> Self {
        let column = absent.nth((self.place / u64::BITS) as usize).flatten();
        self.absent = column.map(|column| (column, 1 << (self.place % u64::BITS)));
        self
    }

    /// Whether the counter block says that its instance has no value of this counter.
    #[inline]
    fn is_absent(&self, block: CounterBlock<'_>) -> bool {
        self.absent
            .is_some_and(|(column, bit)| column.read(block).is_some_and(|absent| absent & bit != 0))
    }

    /// The raw number in one counter block.
    ///
    /// # Errors
    /// [`ValueError::Absent`] if the instance says that it has no value of this counter,
    /// [`ValueError::OutsideBlock`] if the data does not lie within the block, behind its length
    /// field, [`ValueError::NotANumber`] if the data is neither 4 nor 8 bytes wide, nor the 12 of a
    /// multi timer.
    #[inline]
    pub fn value(&self, block: CounterBlock<'_>) -> Result<u64, ValueError> {
        if self.is_absent(block) {
            return Err(ValueError::Absent);
        }
        match self.value {
            Some(column) => column.read_or(block),
            None => {
                block.data_at(self.offset, self.size)?;
                Err(ValueError::NotANumber { size: self.size })
            }
        }
    }

    /// The sample of this counter in one counter block of `object`, ready to be cooked. It has a
    /// base only if the counter needs one and the object has that base.
    ///
    /// # Errors
    /// As [`value`](Self::value), and [`ValueError::OutsideBlock`] if the block ends before the
    /// base does.
    pub fn sample(
        &self,
        object: PerfObject<'_>,
        block: CounterBlock<'_>,
    ) -> Result<RawSample, ValueError> {
        self.sample_at(&object.clocks(), block)
    }

    /// As [`sample`](Self::sample), with the object's clocks as a parameter: they are the same for
    /// all counter blocks of the object, so that one read serves all.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    #[inline]
    pub fn sample_at(
        &self,
        clocks: &Clocks,
        block: CounterBlock<'_>,
    ) -> Result<RawSample, ValueError> {
        let value = self.value(block)?;
        let (base, base_size) = match self.base {
            BaseColumn::At(column) => (Some(column.read_or(block)?), column.size()),
            BaseColumn::NotNeeded | BaseColumn::Missing => (None, 8),
        };
        let value_size = self.value.map_or(8, Column::size);
        Ok(RawSample { value, value_size, base, base_size, clocks: *clocks })
    }
}

/// The columns of the counters of type [`CounterType::ABSENT_VALUES`], by which the instances of an
/// object say which counters have no value: each has the bits of 64 counters. An item is `None` if
/// the data of that counter is not a number.
fn absent_values(object: PerfObject<'_>) -> impl Iterator<Item = Option<Column>> {
    let counters = object.counters();
    let absent = counters.filter(|one| one.counter_type() == CounterType::ABSENT_VALUES);
    absent.map(|one| Column::new(one.offset(), one.size()))
}

/// The bytes of a counter block that belong to the data of any counter, as the definitions state.
struct Occupied<'a> {
    object: PerfObject<'a>,
    /// For each counter, in ascending order of offset: where its data begins, and the furthest end
    /// of this data and all data before it in the list. `None` until it is first needed, which is
    /// seldom.
    claims: Option<Vec<(u32, u32)>>,
}

impl<'a> Occupied<'a> {
    const fn of(object: PerfObject<'a>) -> Self {
        Self { object, claims: None }
    }

    /// Whether any of the four bytes from the offset `at` on belongs to the data of a counter.
    fn any_in(&mut self, at: u32) -> bool {
        let object = self.object;
        let claims = self.claims.get_or_insert_with(|| {
            let claim =
                |c: CounterDefinition<'_>| (c.offset(), c.offset().saturating_add(c.size()));
            let mut claims: Vec<_> = object.counters().map(claim).collect();
            claims.sort_unstable_by_key(|(start, _)| *start);
            let mut furthest = 0;
            for (_, end) in &mut claims {
                furthest = furthest.max(*end);
                *end = furthest;
            }
            claims
        });
        let end = at.saturating_add(4);
        let before = claims.partition_point(|(start, _)| *start < end);
        let last = before.checked_sub(1).and_then(|last| claims.get(last));
        last.is_some_and(|(_, furthest)| *furthest > at)
    }
}

/// A copy of the definition part of an object, to tell whether a plan fits another sample. Comparing
/// the bytes is cheaper than any hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schema {
    object: TitleIndex,
    has_instances: bool,
    code_page: u32,
    definitions: Box<[u8]>,
}

impl Schema {
    /// The schema of an object.
    #[must_use]
    pub fn of(object: PerfObject<'_>) -> Self {
        Self {
            object: object.name_index(),
            has_instances: object.has_instances(),
            code_page: object.code_page(),
            definitions: object.definition_bytes().into(),
        }
    }

    /// Whether plans that were made for this schema can read `object`: the bytes of the
    /// definitions, the title index, the code page and whether there can be instances are all the
    /// same as in the schema.
    #[must_use]
    pub fn matches(&self, object: PerfObject<'_>) -> bool {
        self.object == object.name_index()
            && self.has_instances == object.has_instances()
            && self.code_page == object.code_page()
            && *self.definitions == *object.definition_bytes()
    }
}
