//! Borrowed views over a data block.
//!
//! [`DataBlock::parse`] walks the whole block once and checks every length and offset; the views
//! that it leads to are `Copy`, hold only a slice and read a field when it is asked for. The faults
//! that are still possible (a counter outside its block, a name outside its instance) affect only
//! that value or name.

mod object;

pub use object::{
    CounterBlock, CounterDefinition, Counters, DetailLevel, Instance, Instances, ObjectLayout,
    PerfObject,
};

use crate::bytes::{i32_at, i64_at, len_at, u32_at};
use crate::cook::Clocks;
use crate::error::{ParseError, ParseErrorKind};
use crate::name::InstanceName;
use crate::time::{CalendarTime, FileTime};
use crate::titles::TitleIndex;
use crate::winperf::{PERF_DATA_BLOCK, PERF_OBJECT_TYPE, SYSTEMTIME};

/// A validated data block (`PERF_DATA_BLOCK` and all that follows it).
#[derive(Clone, Copy)]
pub struct DataBlock<'a> {
    bytes: &'a [u8],
}

impl<'a> DataBlock<'a> {
    /// Validates `bytes` in one pass and returns the view of the block.
    ///
    /// Bytes after the last object are allowed (pools and files pad), and so is a `TotalByteLength`
    /// smaller than the length of the objects, which Samba writes.
    ///
    /// # Errors
    /// [`ParseError`] with the first field that is wrong. [`scan`](Self::scan) reads the good
    /// objects of a damaged block.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let block = Self::parse_header(bytes)?;
        for object in block.walk() {
            object?;
        }
        Ok(block)
    }

    /// Validates the header and returns it, with an iterator over the objects. The iterator
    /// validates each object on its own, so that one damaged object does not hide the others. An
    /// object with a wrong length is the last: the iterator returns its error and ends.
    ///
    /// # Errors
    /// [`ParseError`] only if the header is wrong.
    pub fn scan(bytes: &'a [u8]) -> Result<(BlockHeader<'a>, ScanObjects<'a>), ParseError> {
        let block = Self::parse_header(bytes)?;
        Ok((BlockHeader { block }, block.walk()))
    }

    fn parse_header(bytes: &'a [u8]) -> Result<Self, ParseError> {
        use ParseErrorKind as Kind;
        let error = |kind, offset, field, value| Err(ParseError::new(kind, offset, field, value));
        if bytes.len() < PERF_DATA_BLOCK::SIZE {
            return error(Kind::Truncated, 0, "PERF_DATA_BLOCK", bytes.len() as i64);
        }
        if !bytes.starts_with(b"P\0E\0R\0F\0") {
            let found = i64_at(bytes, 0);
            return error(Kind::BadSignature, 0, "PERF_DATA_BLOCK.Signature", found);
        }
        match u32_at(bytes, 8) {
            1 => {}
            0 => return error(Kind::BigEndian, 8, "PERF_DATA_BLOCK.LittleEndian", 0),
            other => {
                // 0 means big endian and reads as 0 in either byte order. A writer of blocks leaves
                // only 0 or 1 here.
                let field = "PERF_DATA_BLOCK.LittleEndian";
                return error(Kind::UnsupportedVersion, 8, field, i64::from(other));
            }
        }
        for (at, field) in [(12, "PERF_DATA_BLOCK.Version"), (16, "PERF_DATA_BLOCK.Revision")] {
            if u32_at(bytes, at) != 1 {
                return error(Kind::UnsupportedVersion, at, field, i64::from(u32_at(bytes, at)));
            }
        }
        let header = len_at(bytes, 24);
        if header < PERF_DATA_BLOCK::SIZE {
            return error(Kind::TooShort, 24, "PERF_DATA_BLOCK.HeaderLength", header as i64);
        }
        if header > bytes.len() {
            return error(Kind::TooLong, 24, "PERF_DATA_BLOCK.HeaderLength", header as i64);
        }
        let total = len_at(bytes, 20);
        if total > bytes.len() {
            return error(Kind::Truncated, 20, "PERF_DATA_BLOCK.TotalByteLength", total as i64);
        }
        Ok(Self { bytes })
    }

    fn walk(self) -> ScanObjects<'a> {
        ScanObjects { bytes: self.bytes, at: len_at(self.bytes, 24), left: self.object_count() }
    }

    /// All bytes from which the view was made, also those behind the last object.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// A copy of the block's header, with the fields as they stand in the block.
    #[must_use]
    pub fn header(self) -> PERF_DATA_BLOCK {
        PERF_DATA_BLOCK::read(self.bytes).unwrap_or_default()
    }

    /// The number of objects in the block, as its header states.
    #[must_use]
    pub fn object_count(self) -> u32 {
        u32_at(self.bytes, 28)
    }

    /// The object that a tool should show first (`DefaultObject`); `None` if the block names none.
    #[must_use]
    pub fn default_object(self) -> Option<TitleIndex> {
        u32::try_from(i32_at(self.bytes, 32)).ok().map(TitleIndex)
    }

    /// The name of the machine that made the block; empty if the header's
    /// offset and length do not lie inside the block.
    #[must_use]
    pub fn system_name(self) -> InstanceName<'a> {
        let from = len_at(self.bytes, 84);
        let to = from.saturating_add(len_at(self.bytes, 80));
        InstanceName::new(self.bytes.get(from..to).unwrap_or_default(), 0)
    }

    /// Calendar time at which the block was made, UTC.
    #[must_use]
    pub fn system_time(self) -> CalendarTime {
        let t = SYSTEMTIME::read(self.bytes.get(36..).unwrap_or_default()).unwrap_or_default();
        CalendarTime {
            year: t.wYear,
            month: t.wMonth,
            day_of_week: t.wDayOfWeek,
            day: t.wDay,
            hour: t.wHour,
            minute: t.wMinute,
            second: t.wSecond,
            milliseconds: t.wMilliseconds,
        }
    }

    /// The time at which the block was made (`PerfTime100nSec`), in units of 100 ns.
    #[must_use]
    pub fn time_100ns(self) -> FileTime {
        FileTime(i64_at(self.bytes, 72))
    }

    /// The clocks in the header of the block. The object's clock among them is 0; see
    /// [`PerfObject::clocks`].
    #[must_use]
    pub fn clocks(self) -> Clocks {
        Clocks {
            perf_time: i64_at(self.bytes, 56),
            perf_freq: i64_at(self.bytes, 64),
            time_100ns: i64_at(self.bytes, 72),
            object_time: 0,
            object_freq: 0,
        }
    }

    /// The objects in the order of the block.
    #[must_use]
    pub fn objects(self) -> Objects<'a> {
        Objects { bytes: self.bytes, at: len_at(self.bytes, 24), left: self.object_count() }
    }

    /// The first object with this title index as its name; `None` if there is none.
    #[must_use]
    pub fn object(self, name: TitleIndex) -> Option<PerfObject<'a>> {
        self.objects().find(|object| object.name_index() == name)
    }

    /// The parent of `instance`, with the parent's object. `None` if the instance has no parent, or
    /// the block does not hold the parent. Each call walks the block from its start: for many
    /// instances, list the instances of the parents' object once instead.
    #[must_use]
    pub fn parent(self, instance: &Instance<'_>) -> Option<(PerfObject<'a>, Instance<'a>)> {
        let (object, place) = instance.parent()?;
        let object = self.object(object)?;
        let parent = object.instances().nth(usize::try_from(place).ok()?)?;
        Some((object, parent))
    }
}

/// The validated header of a block. The block's objects are not validated yet.
#[derive(Clone, Copy)]
pub struct BlockHeader<'a> {
    block: DataBlock<'a>,
}

impl<'a> BlockHeader<'a> {
    /// A copy of the block's header, with the fields as they stand in the block.
    #[must_use]
    pub fn header(self) -> PERF_DATA_BLOCK {
        self.block.header()
    }

    /// The name of the machine; see [`DataBlock::system_name`].
    #[must_use]
    pub fn system_name(self) -> InstanceName<'a> {
        self.block.system_name()
    }

    /// The clocks in the header; see [`DataBlock::clocks`].
    #[must_use]
    pub fn clocks(self) -> Clocks {
        self.block.clocks()
    }

    /// The calendar time in the header, UTC; see [`DataBlock::system_time`].
    #[must_use]
    pub fn system_time(self) -> CalendarTime {
        self.block.system_time()
    }

    /// The number of objects that the header states. A damaged block may hold fewer.
    #[must_use]
    pub fn object_count(self) -> u32 {
        self.block.object_count()
    }
}

/// An iterator over the objects of a validated block; see [`DataBlock::objects`].
#[derive(Clone)]
pub struct Objects<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u32,
}

impl<'a> Iterator for Objects<'a> {
    type Item = PerfObject<'a>;

    fn next(&mut self) -> Option<PerfObject<'a>> {
        self.left = self.left.checked_sub(1)?;
        let rest = self.bytes.get(self.at..)?;
        let length = len_at(rest, 0);
        let object = rest.get(..length).filter(|o| o.len() >= PERF_OBJECT_TYPE::SIZE)?;
        self.at += length;
        Some(PerfObject::trusted(object, self.bytes))
    }
}

/// An iterator over the objects of a block, which validates each when it is reached; see
/// [`DataBlock::scan`].
#[derive(Clone)]
pub struct ScanObjects<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u32,
}

impl<'a> ScanObjects<'a> {
    /// Offset in the block, in bytes, of the object that [`next`](Iterator::next) will return.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for ScanObjects<'a> {
    type Item = Result<PerfObject<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        let rest = self.bytes.get(at..).unwrap_or_default();
        match PerfObject::length(rest) {
            Ok(length) => {
                self.at = at.saturating_add(length);
                let object = rest.get(..length).unwrap_or_default();
                Some(PerfObject::parse_in(object, self.bytes).map_err(|error| error.at(at)))
            }
            Err(error) => {
                // Without a length there is no next object.
                self.left = 0;
                Some(Err(error.at(at)))
            }
        }
    }
}
