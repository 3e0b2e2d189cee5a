//! The definition part of an object, encoded once.

use crate::counter_type::CounterType;
use crate::error::WriteError;
use crate::titles::TitleIndex;
use crate::view::DetailLevel;
use crate::winperf::{PERF_COUNTER_BLOCK, PERF_COUNTER_DEFINITION, PERF_OBJECT_TYPE};
use alloc::vec::Vec;

/// The facts for the header of an object: title indexes, level of detail, default counter,
/// instances, code page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectSpec {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The level of detail.
    pub detail: DetailLevel,
    /// Index (from 0) of the counter that a tool should show first; `None` if there is no such
    /// counter.
    pub default_counter: Option<u32>,
    /// Whether the object has instances.
    pub has_instances: bool,
    /// Code page of the instance names; 0 is UTF-16.
    pub code_page: u32,
}

impl ObjectSpec {
    /// An object of the lowest level of detail, without instances. The index of its help text is
    /// the index of its name plus one, as registration allots them.
    #[must_use]
    pub const fn new(name: TitleIndex) -> Self {
        Self {
            name,
            help: TitleIndex(name.0.saturating_add(1)),
            detail: DetailLevel::NOVICE,
            default_counter: None,
            has_instances: false,
            code_page: 0,
        }
    }

    /// The same object, with instances.
    #[must_use]
    pub const fn with_instances(mut self) -> Self {
        self.has_instances = true;
        self
    }
}

/// The definition of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterSpec {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// Exponent of the power of ten by which a chart should multiply the value.
    pub scale: i32,
    /// The level of detail.
    pub detail: DetailLevel,
    /// Size of the data in bytes.
    pub size: u32,
    /// The offset of the data, in bytes from the start of the counter block. With `None` the data
    /// lies behind the data of all counters before, at a multiple of 8 if it has 8 bytes or more,
    /// and at a multiple of 4 otherwise.
    pub offset: Option<u32>,
}

impl CounterSpec {
    /// A counter of the lowest level of detail, unscaled, with data as wide as its type says (0
    /// bytes for a type of variable length). The index of its help text is the index of its name
    /// plus one.
    #[must_use]
    pub fn new(name: TitleIndex, counter_type: CounterType) -> Self {
        Self {
            name,
            help: TitleIndex(name.0.saturating_add(1)),
            counter_type,
            scale: 0,
            detail: DetailLevel::NOVICE,
            size: counter_type.size_in_bytes().unwrap_or(0),
            offset: None,
        }
    }

    /// The same counter with another help index.
    #[must_use]
    pub const fn help(mut self, help: TitleIndex) -> Self {
        self.help = help;
        self
    }

    /// The same counter with another scale.
    #[must_use]
    pub const fn scale(mut self, scale: i32) -> Self {
        self.scale = scale;
        self
    }

    /// The same counter with another level of detail.
    #[must_use]
    pub const fn detail(mut self, detail: DetailLevel) -> Self {
        self.detail = detail;
        self
    }

    /// The same counter with data of another size, in bytes.
    #[must_use]
    pub const fn size(mut self, size: u32) -> Self {
        self.size = size;
        self
    }
}

/// Offset and size, in bytes, of one counter's data in the counter block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) offset: u32,
    pub(super) size: u32,
}

/// Header and counter definitions of an object in encoded form, ready to be copied into a block.
#[derive(Clone, Debug)]
pub struct ObjectTemplate {
    pub(super) definition: Vec<u8>,
    slots: Vec<Slot>,
    /// Length in bytes of a counter block with all counters, a multiple of 8.
    pub(super) block_len: u32,
    pub(super) has_instances: bool,
    pub(super) code_page: u32,
}

impl ObjectTemplate {
    /// Encodes header and definitions of an object, and gives each counter its place in the counter
    /// block.
    ///
    /// # Errors
    /// [`WriteError::BadLayout`] for a counter with data that begins in the block's length field, or
    /// ends at an offset that does not fit in 32 bits; [`WriteError::TooLong`] if the definitions
    /// or the counter block are too long for 32 bits.
    pub fn new(object: &ObjectSpec, counters: &[CounterSpec]) -> Result<Self, WriteError> {
        let definition_length = counters
            .len()
            .checked_mul(PERF_COUNTER_DEFINITION::SIZE)
            .and_then(|length| length.checked_add(PERF_OBJECT_TYPE::SIZE))
            .and_then(|length| u32::try_from(length).ok())
            .ok_or(WriteError::TooLong)?;
        let mut definition = alloc::vec![0; definition_length as usize];
        PERF_OBJECT_TYPE {
            TotalByteLength: 0,
            DefinitionLength: definition_length,
            HeaderLength: PERF_OBJECT_TYPE::SIZE as u32,
            ObjectNameTitleIndex: object.name.0,
            ObjectNameTitle: 0,
            ObjectHelpTitleIndex: object.help.0,
            ObjectHelpTitle: 0,
            DetailLevel: object.detail.0,
            NumCounters: counters.len() as u32,
            DefaultCounter: object
                .default_counter
                .and_then(|place| i32::try_from(place).ok())
                .unwrap_or(-1),
            NumInstances: 0,
            CodePage: object.code_page,
            PerfTime: 0,
            PerfFreq: 0,
        }
        .write(&mut definition);

        let mut slots = Vec::with_capacity(counters.len());
        let mut next = PERF_COUNTER_BLOCK::SIZE as u32;
        let mut block_len = next;
        let places = definition
            .get_mut(PERF_OBJECT_TYPE::SIZE..)
            .unwrap_or_default()
            .chunks_exact_mut(PERF_COUNTER_DEFINITION::SIZE);
        for (place, (counter, bytes)) in counters.iter().zip(places).enumerate() {
            let bad = WriteError::BadLayout { counter: place };
            let align = if counter.size >= 8 { 8 } else { 4 };
            let offset = match counter.offset {
                Some(offset) => offset,
                None => next.checked_next_multiple_of(align).ok_or(bad)?,
            };
            if offset < PERF_COUNTER_BLOCK::SIZE as u32 && counter.size > 0 {
                return Err(bad);
            }
            let end = offset.checked_add(counter.size).ok_or(bad)?;
            next = next.max(end);
            block_len = block_len.max(end);
            PERF_COUNTER_DEFINITION {
                ByteLength: PERF_COUNTER_DEFINITION::SIZE as u32,
                CounterNameTitleIndex: counter.name.0,
                CounterNameTitle: 0,
                CounterHelpTitleIndex: counter.help.0,
                CounterHelpTitle: 0,
                DefaultScale: counter.scale,
                DetailLevel: counter.detail.0,
                CounterType: counter.counter_type.0,
                CounterSize: counter.size,
                CounterOffset: offset,
            }
            .write(bytes);
            slots.push(Slot { offset, size: counter.size });
        }
        let block_len = block_len.checked_next_multiple_of(8).ok_or(WriteError::TooLong)?;
        Ok(Self {
            definition,
            slots,
            block_len,
            has_instances: object.has_instances,
            code_page: object.code_page,
        })
    }

    /// Title index of the object's name.
    #[must_use]
    pub fn name(&self) -> TitleIndex {
        TitleIndex(crate::bytes::u32_at(&self.definition, 12))
    }

    /// The number of counters, bases included, which is the number of values that each instance
    /// takes.
    #[must_use]
    pub fn counter_count(&self) -> usize {
        self.slots.len()
    }

    /// Whether the object has instances.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.has_instances
    }

    pub(super) fn check_count(&self, got: usize) -> Result<(), WriteError> {
        let expected = self.slots.len();
        if got == expected { Ok(()) } else { Err(WriteError::ValueCount { expected, got }) }
    }

    /// Offsets and sizes of the first `count` counters, and the length of a counter block that ends
    /// behind them. An error if there are fewer counters, or if such a block would also hold a
    /// counter that is left out.
    pub(super) fn prefix(&self, count: usize) -> Result<(&[Slot], u32), WriteError> {
        if count == self.slots.len() {
            return Ok((&self.slots, self.block_len));
        }
        let wrong = WriteError::ValueCount { expected: self.slots.len(), got: count };
        let (head, tail) = self.slots.split_at_checked(count).ok_or(wrong)?;
        let start = PERF_COUNTER_BLOCK::SIZE as u32;
        let end = head.iter().map(|slot| slot.offset + slot.size).max().unwrap_or(start).max(start);
        let mut left_out = tail.iter().filter(|slot| slot.size > 0);
        if left_out.any(|slot| slot.offset + slot.size <= end) {
            return Err(wrong);
        }
        Ok((head, self.padded(end)))
    }

    /// Length of a counter block with data that ends at `end`: padded to a multiple of 8, unless a
    /// counter behind `end` would fit into the padding; then to a multiple of 4, or not at all.
    pub(super) fn padded(&self, end: u32) -> u32 {
        let hidden = |length: u32| {
            let mut slots = self.slots.iter();
            slots.all(|slot| !(end + 1..=length).contains(&(slot.offset + slot.size)))
        };
        [8, 4]
            .into_iter()
            .filter_map(|align| end.checked_next_multiple_of(align))
            .find(|length| hidden(*length))
            .unwrap_or(end)
    }
}
