//! Views over one object: definitions, instances, counter blocks.

use crate::bytes::{i32_at, i64_at, len_at, u32_at, u64_at};
use crate::cook::Clocks;
use crate::counter_type::CounterType;
use crate::error::{ParseError, ParseErrorKind, ValueError};
use crate::name::InstanceName;
use crate::titles::TitleIndex;
use crate::winperf::{
    PERF_COUNTER_BLOCK, PERF_COUNTER_DEFINITION, PERF_DATA_BLOCK, PERF_INSTANCE_DEFINITION,
    PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES, PERF_NO_INSTANCES,
    PERF_NO_UNIQUE_ID, PERF_OBJECT_TYPE,
};

/// The level of detail of an object or counter (`DetailLevel`), 100 to 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DetailLevel(pub u32);

impl DetailLevel {
    /// For everyone.
    pub const NOVICE: Self = Self(crate::winperf::PERF_DETAIL_NOVICE);
    /// For advanced users.
    pub const ADVANCED: Self = Self(crate::winperf::PERF_DETAIL_ADVANCED);
    /// For experts.
    pub const EXPERT: Self = Self(crate::winperf::PERF_DETAIL_EXPERT);
    /// For the system's designers.
    pub const WIZARD: Self = Self(crate::winperf::PERF_DETAIL_WIZARD);
}

/// Whether an object has instances, and whether the block holds its data or only its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectLayout {
    /// The object never has instances: it has one counter block, or none if it has no counters.
    NoInstances,
    /// The object can have instances; the number is that of its present instances, which may be 0.
    Instances(u32),
    /// Only the definition of an object that has instances.
    MetadataInstances,
    /// Only the definition of an object without instances.
    MetadataNoInstances,
}

/// One validated object of a block (`PERF_OBJECT_TYPE`).
#[derive(Clone, Copy)]
pub struct PerfObject<'a> {
    /// The bytes of the object, from the first to the last.
    bytes: &'a [u8],
    /// The bytes of the block around the object, which hold the block's clocks; empty for an object
    /// without a block.
    block: &'a [u8],
}

impl<'a> PerfObject<'a> {
    /// Validates the object at the start of `bytes`, which are not part of a block. Bytes behind
    /// the object are ignored. The object's own clock is in its [`clocks`](Self::clocks); the
    /// clocks of a block are 0 there.
    ///
    /// # Errors
    /// [`ParseError`] with the first field that is wrong.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let length = Self::length(bytes)?;
        Self::parse_in(bytes.get(..length).unwrap_or_default(), &[])
    }

    /// The length in bytes of the object at the start of `rest`; an error if the length is smaller
    /// than an object's header or larger than `rest`.
    pub(super) fn length(rest: &[u8]) -> Result<usize, ParseError> {
        const FIELD: &str = "PERF_OBJECT_TYPE.TotalByteLength";
        if rest.len() < PERF_OBJECT_TYPE::SIZE {
            let have = rest.len() as i64;
            return Err(ParseError::new(ParseErrorKind::Truncated, 0, "PERF_OBJECT_TYPE", have));
        }
        let length = len_at(rest, 0);
        if length < PERF_OBJECT_TYPE::SIZE {
            return Err(ParseError::new(ParseErrorKind::TooShort, 0, FIELD, length as i64));
        }
        if length > rest.len() {
            return Err(ParseError::new(ParseErrorKind::Truncated, 0, FIELD, length as i64));
        }
        Ok(length)
    }

    /// Validates all of `bytes` as one object of `block`.
    pub(super) fn parse_in(bytes: &'a [u8], block: &'a [u8]) -> Result<Self, ParseError> {
        use ParseErrorKind as Kind;
        let error = |kind, at, field, value: usize| {
            Err(ParseError::new(kind, at, field, i64::try_from(value).unwrap_or(i64::MAX)))
        };
        let object = Self { bytes, block };
        let definition = len_at(bytes, 4);
        let header = len_at(bytes, 8);
        if header < PERF_OBJECT_TYPE::SIZE {
            return error(Kind::TooShort, 8, "PERF_OBJECT_TYPE.HeaderLength", header);
        }
        if definition < header {
            return error(Kind::TooShort, 4, "PERF_OBJECT_TYPE.DefinitionLength", definition);
        }
        if definition > bytes.len() {
            return error(Kind::TooLong, 4, "PERF_OBJECT_TYPE.DefinitionLength", definition);
        }

        let mut at = header;
        for _ in 0..object.counter_count() {
            let left = definition - at;
            let length = len_at(bytes, at);
            const FIELD: &str = "PERF_COUNTER_DEFINITION.ByteLength";
            if left < PERF_COUNTER_DEFINITION::SIZE {
                return error(Kind::TooLong, at, "PERF_OBJECT_TYPE.NumCounters", left);
            }
            if length < PERF_COUNTER_DEFINITION::SIZE {
                return error(Kind::TooShort, at, FIELD, length);
            }
            if length > left {
                return error(Kind::TooLong, at, FIELD, length);
            }
            at += length;
        }

        match i32_at(bytes, 40) {
            PERF_NO_INSTANCES => {
                // An object with no counters may come without a counter block.
                if definition < bytes.len() || object.counter_count() > 0 {
                    check_counter_block(bytes, definition)?;
                }
            }
            PERF_METADATA_MULTIPLE_INSTANCES | PERF_METADATA_NO_INSTANCES => {}
            count => {
                let Ok(count) = u32::try_from(count) else {
                    return Err(ParseError::new(
                        Kind::BadInstanceCount,
                        40,
                        "PERF_OBJECT_TYPE.NumInstances",
                        i64::from(count),
                    ));
                };
                if u64::from(count) * u64::from(object.counter_count()) > bytes.len() as u64 {
                    let count = count as usize;
                    return error(Kind::TooManyValues, 40, "PERF_OBJECT_TYPE.NumInstances", count);
                }
                let mut at = definition;
                for _ in 0..count {
                    const FIELD: &str = "PERF_INSTANCE_DEFINITION.ByteLength";
                    let left = bytes.len() - at;
                    if left < PERF_INSTANCE_DEFINITION::SIZE {
                        return error(Kind::Truncated, at, "PERF_INSTANCE_DEFINITION", left);
                    }
                    let length = len_at(bytes, at);
                    if length < PERF_INSTANCE_DEFINITION::SIZE {
                        return error(Kind::TooShort, at, FIELD, length);
                    }
                    if length > left {
                        return error(Kind::TooLong, at, FIELD, length);
                    }
                    at += length;
                    at += check_counter_block(bytes, at)?;
                }
            }
        }
        Ok(object)
    }

    /// The view over an object that [`DataBlock::parse`](crate::DataBlock::parse) or
    /// [`scan`](crate::DataBlock::scan) accepted before: `bytes` is the object, `block` the block
    /// around it. This saves a second validation of a block that is kept. Bytes that were never
    /// validated give wrong values, never a panic.
    #[must_use]
    pub fn from_validated(bytes: &'a [u8], block: &'a [u8]) -> Self {
        Self::trusted(bytes, block)
    }

    /// As [`from_validated`](Self::from_validated), within this crate.
    pub(super) fn trusted(bytes: &'a [u8], block: &'a [u8]) -> Self {
        Self { bytes, block }
    }

    /// All bytes of the object: header, counter definitions, and instances or counter block.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// A copy of the object's header, with the fields as they stand in the block.
    #[must_use]
    pub fn header(self) -> PERF_OBJECT_TYPE {
        PERF_OBJECT_TYPE::read(self.bytes).unwrap_or_default()
    }

    /// The bytes of the counter definitions, without the object's header.
    #[must_use]
    pub fn definition_bytes(self) -> &'a [u8] {
        self.bytes.get(len_at(self.bytes, 8)..len_at(self.bytes, 4)).unwrap_or_default()
    }

    /// Title index of the object's name.
    #[must_use]
    pub fn name_index(self) -> TitleIndex {
        TitleIndex(u32_at(self.bytes, 12))
    }

    /// Title index of the object's help text.
    #[must_use]
    pub fn help_index(self) -> TitleIndex {
        TitleIndex(u32_at(self.bytes, 20))
    }

    /// The level of detail.
    #[must_use]
    pub fn detail_level(self) -> DetailLevel {
        DetailLevel(u32_at(self.bytes, 28))
    }

    /// Number of counter definitions, bases included.
    #[must_use]
    pub fn counter_count(self) -> u32 {
        u32_at(self.bytes, 32)
    }

    /// Index (from 0) of the counter that a tool should show first; `None` if the object names
    /// none.
    #[must_use]
    pub fn default_counter(self) -> Option<u32> {
        u32::try_from(i32_at(self.bytes, 36)).ok()
    }

    /// Whether the object has instances, and whether the block holds its data or only its
    /// definition.
    #[must_use]
    pub fn layout(self) -> ObjectLayout {
        match i32_at(self.bytes, 40) {
            PERF_NO_INSTANCES => ObjectLayout::NoInstances,
            PERF_METADATA_MULTIPLE_INSTANCES => ObjectLayout::MetadataInstances,
            PERF_METADATA_NO_INSTANCES => ObjectLayout::MetadataNoInstances,
            count => ObjectLayout::Instances(u32::try_from(count).unwrap_or(0)),
        }
    }

    /// Whether the object can have instances.
    #[must_use]
    pub fn has_instances(self) -> bool {
        matches!(self.layout(), ObjectLayout::Instances(_) | ObjectLayout::MetadataInstances)
    }

    /// Number of instances; 0 for an object without instances, and for a bare definition.
    #[must_use]
    pub fn instance_count(self) -> u32 {
        match self.layout() {
            ObjectLayout::Instances(count) => count,
            _ => 0,
        }
    }

    /// Code page of the instance names; 0 is UTF-16.
    #[must_use]
    pub fn code_page(self) -> u32 {
        u32_at(self.bytes, 44)
    }

    /// The clocks of the block and of the object. Those of the block are 0 for an object without a
    /// block.
    #[must_use]
    pub fn clocks(self) -> Clocks {
        let block = self.block.get(..PERF_DATA_BLOCK::SIZE).unwrap_or_default();
        Clocks {
            perf_time: i64_at(block, 56),
            perf_freq: i64_at(block, 64),
            time_100ns: i64_at(block, 72),
            object_time: i64_at(self.bytes, 48),
            object_freq: i64_at(self.bytes, 56),
        }
    }

    /// The counter definitions in order, bases included.
    #[must_use]
    pub fn counters(self) -> Counters<'a> {
        Counters { definitions: self.definition_bytes(), left: self.counter_count() }
    }

    /// The instances in order; none for an object without instances, and for a bare definition.
    #[must_use]
    pub fn instances(self) -> Instances<'a> {
        Instances {
            rest: self.bytes.get(len_at(self.bytes, 4)..).unwrap_or_default(),
            left: self.instance_count(),
            code_page: self.code_page(),
        }
    }

    /// The error of the first instance with a name that lies outside its definition; `None` if
    /// there is no such instance. The error's offset is counted from the start of the object.
    #[must_use]
    pub fn name_fault(self) -> Option<ParseError> {
        let mut at = len_at(self.bytes, 4);
        self.instances().find_map(|instance| {
            let fault = instance.name_fault().map(|error| error.at(at));
            at += instance.definition.len() + instance.block.len();
            fault
        })
    }

    /// The counter block of an object without instances. `None` for an object with instances, for a
    /// bare definition, and for an object without counters that has no block.
    #[must_use]
    pub fn counter_block(self) -> Option<CounterBlock<'a>> {
        match self.layout() {
            ObjectLayout::NoInstances => {
                CounterBlock::at_start(self.bytes.get(len_at(self.bytes, 4)..)?)
            }
            _ => None,
        }
    }
}

/// The length in bytes of the counter block at the offset `at`; an error if the length is smaller
/// than its own field or reaches behind `bytes`.
fn check_counter_block(bytes: &[u8], at: usize) -> Result<usize, ParseError> {
    const FIELD: &str = "PERF_COUNTER_BLOCK.ByteLength";
    let left = bytes.len().saturating_sub(at);
    if left < PERF_COUNTER_BLOCK::SIZE {
        let left = left as i64;
        return Err(ParseError::new(ParseErrorKind::Truncated, at, "PERF_COUNTER_BLOCK", left));
    }
    let length = len_at(bytes, at);
    if length < PERF_COUNTER_BLOCK::SIZE {
        return Err(ParseError::new(ParseErrorKind::TooShort, at, FIELD, length as i64));
    }
    if length > left {
        return Err(ParseError::new(ParseErrorKind::TooLong, at, FIELD, length as i64));
    }
    Ok(length)
}

/// An iterator over the counter definitions of an object; see [`PerfObject::counters`].
#[derive(Clone)]
pub struct Counters<'a> {
    definitions: &'a [u8],
    left: u32,
}

impl<'a> Iterator for Counters<'a> {
    type Item = CounterDefinition<'a>;

    #[inline]
    fn next(&mut self) -> Option<CounterDefinition<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (bytes, rest) = self.definitions.split_at_checked(len_at(self.definitions, 0))?;
        if bytes.len() < PERF_COUNTER_DEFINITION::SIZE {
            return None;
        }
        self.definitions = rest;
        Some(CounterDefinition { bytes })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.left).ok())
    }
}

/// The definition of one counter (`PERF_COUNTER_DEFINITION`).
#[derive(Clone, Copy)]
pub struct CounterDefinition<'a> {
    bytes: &'a [u8],
}

impl<'a> CounterDefinition<'a> {
    /// All bytes of the definition.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// A copy of the definition, with the fields as they stand in the block.
    #[must_use]
    pub fn raw(self) -> PERF_COUNTER_DEFINITION {
        PERF_COUNTER_DEFINITION::read(self.bytes).unwrap_or_default()
    }

    /// Title index of the counter's name. A base often has the index of the
    /// counter that it serves.
    #[must_use]
    pub fn name_index(self) -> TitleIndex {
        TitleIndex(u32_at(self.bytes, 4))
    }

    /// Title index of the counter's help text. It is not always the index of the name plus one.
    #[must_use]
    pub fn help_index(self) -> TitleIndex {
        TitleIndex(u32_at(self.bytes, 12))
    }

    /// Exponent of the power of ten by which a chart should multiply the value. Values themselves
    /// are not scaled.
    #[must_use]
    pub fn default_scale(self) -> i32 {
        i32_at(self.bytes, 20)
    }

    /// The level of detail.
    #[must_use]
    pub fn detail_level(self) -> DetailLevel {
        DetailLevel(u32_at(self.bytes, 24))
    }

    /// The counter type.
    #[must_use]
    pub fn counter_type(self) -> CounterType {
        CounterType(u32_at(self.bytes, 28))
    }

    /// Size in bytes of the counter's data. This, not the type's size facet,
    /// says how wide the data is.
    #[must_use]
    pub fn size(self) -> u32 {
        u32_at(self.bytes, 32)
    }

    /// The offset of the counter's data, in bytes from the start of the counter block.
    #[must_use]
    pub fn offset(self) -> u32 {
        u32_at(self.bytes, 36)
    }
}

/// An iterator over the instances of an object; see [`PerfObject::instances`].
#[derive(Clone)]
pub struct Instances<'a> {
    rest: &'a [u8],
    left: u32,
    code_page: u32,
}

impl<'a> Iterator for Instances<'a> {
    type Item = Instance<'a>;

    #[inline]
    fn next(&mut self) -> Option<Instance<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (definition, rest) = self.rest.split_at_checked(len_at(self.rest, 0))?;
        let (block, rest) = rest.split_at_checked(len_at(rest, 0))?;
        if definition.len() < PERF_INSTANCE_DEFINITION::SIZE {
            return None;
        }
        self.rest = rest;
        Some(Instance { definition, block, code_page: self.code_page })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.left).ok())
    }
}

/// One instance of an object (`PERF_INSTANCE_DEFINITION`) with its counter block.
#[derive(Clone, Copy)]
pub struct Instance<'a> {
    definition: &'a [u8],
    block: &'a [u8],
    code_page: u32,
}

impl<'a> Instance<'a> {
    /// A copy of the definition, with the fields as they stand in the block.
    #[must_use]
    pub fn raw(self) -> PERF_INSTANCE_DEFINITION {
        PERF_INSTANCE_DEFINITION::read(self.definition).unwrap_or_default()
    }

    /// The bytes of the definition with the name.
    #[must_use]
    pub fn definition_bytes(self) -> &'a [u8] {
        self.definition
    }

    /// The name of the instance. It is empty if the instance has no name, and if the name lies
    /// outside the definition; [`name_fault`](Self::name_fault) tells the two cases apart.
    #[must_use]
    pub fn name(self) -> InstanceName<'a> {
        InstanceName::new(self.name_bytes().unwrap_or_default(), self.code_page)
    }

    fn name_bytes(self) -> Option<&'a [u8]> {
        let from = len_at(self.definition, 16);
        self.definition.get(from..from.checked_add(len_at(self.definition, 20))?)
    }

    /// The error of a name that lies outside the definition; `None` if the name is right. The
    /// error's offset is counted from the start of the instance's definition.
    #[must_use]
    pub fn name_fault(self) -> Option<ParseError> {
        let length = len_at(self.definition, 20);
        if length == 0 || self.name_bytes().is_some() {
            return None;
        }
        let field = "PERF_INSTANCE_DEFINITION.NameLength";
        Some(ParseError::new(ParseErrorKind::TooLong, 20, field, length as i64))
    }

    /// The number that identifies the instance (`UniqueID`); `None` for an instance that is
    /// identified by its name.
    #[must_use]
    pub fn unique_id(self) -> Option<i32> {
        Some(i32_at(self.definition, 12)).filter(|id| *id != PERF_NO_UNIQUE_ID)
    }

    /// The parent: the title index of the parent's object, and the index (from 0) of the parent
    /// among the instances of that object. `None` if the instance has no parent. The block need not
    /// hold the parent.
    #[must_use]
    pub fn parent(self) -> Option<(TitleIndex, u32)> {
        match u32_at(self.definition, 4) {
            0 => None,
            object => Some((TitleIndex(object), u32_at(self.definition, 8))),
        }
    }

    /// The counter block of the instance: its raw counter data.
    #[must_use]
    #[inline]
    pub fn counter_block(self) -> CounterBlock<'a> {
        CounterBlock { bytes: self.block }
    }
}

/// Raw counter data of one instance or object (`PERF_COUNTER_BLOCK`).
#[derive(Clone, Copy)]
pub struct CounterBlock<'a> {
    /// The bytes of the counter block, from its length field on. Counter offsets are counted from
    /// its start.
    bytes: &'a [u8],
}

impl<'a> CounterBlock<'a> {
    /// The view over a counter block that was found before: `bytes` begin with its length field.
    /// This saves a second walk to the block. Any bytes are safe: a counter with data outside
    /// `bytes` has no value.
    #[must_use]
    pub fn from_validated(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The counter block at the start of `rest`; `None` if `rest` ends before the counter block
    /// does.
    fn at_start(rest: &'a [u8]) -> Option<Self> {
        Some(Self { bytes: rest.get(..len_at(rest, 0))? })
    }

    /// The bytes of the counter block, from its length field on.
    #[must_use]
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of one counter: text, a histogram, or a number that
    /// [`value`](Self::value) reads.
    ///
    /// # Errors
    /// [`ValueError::OutsideBlock`] if the counter's data does not lie within this block.
    pub fn data(self, counter: &CounterDefinition<'_>) -> Result<&'a [u8], ValueError> {
        self.data_at(counter.offset(), counter.size())
    }

    /// The `size` bytes at `offset`, counted from the start of the counter block; an error if they
    /// do not lie within the block, behind its length field. For a size of 0 the result is empty,
    /// whatever the offset.
    pub(crate) fn data_at(self, offset: u32, size: u32) -> Result<&'a [u8], ValueError> {
        if size == 0 {
            // A label has no data, so its offset means nothing.
            return Ok(&[]);
        }
        let from = u64::from(offset);
        let end = from + u64::from(size);
        let outside = ValueError::OutsideBlock { end, block: self.bytes.len() as u32 };
        // An offset inside the length field would read the length as data.
        if from < PERF_COUNTER_BLOCK::SIZE as u64 {
            return Err(outside);
        }
        match (usize::try_from(from), usize::try_from(end)) {
            (Ok(from), Ok(end)) => self.bytes.get(from..end).ok_or(outside),
            _ => Err(outside),
        }
    }

    /// The raw number of one counter.
    ///
    /// # Errors
    /// [`ValueError::OutsideBlock`] if the counter's data does not lie within this block,
    /// [`ValueError::NotANumber`] if it is neither 4 nor 8 bytes wide.
    pub fn value(self, counter: &CounterDefinition<'_>) -> Result<u64, ValueError> {
        let data = self.data(counter)?;
        match counter.size() {
            4 => Ok(u64::from(u32_at(data, 0))),
            8 => Ok(u64_at(data, 0)),
            size => Err(ValueError::NotANumber { size }),
        }
    }
}
