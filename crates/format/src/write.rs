//! Writing data blocks.
//!
//! An [`ObjectTemplate`] holds the definition part of an object, encoded once. A [`BlockWriter`]
//! makes objects of templates and values, and a block of the objects. Writing allocates nothing
//! once the writer's buffer is large enough: a provider that keeps its templates and its writer
//! fills block after block in place. (The exception is a name that is given as text and is not
//! ASCII, in an object with a code page.)

mod name;
mod template;

pub use template::{CounterSpec, ObjectSpec, ObjectTemplate};

use crate::bytes::{len_at, put};
use crate::cook::Clocks;
use crate::error::WriteError;
use crate::time::CalendarTime;
use crate::titles::TitleIndex;
use crate::view::PerfObject;
use crate::winperf::{
    PERF_COUNTER_BLOCK, PERF_DATA_BLOCK, PERF_INSTANCE_DEFINITION,
    PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES, PERF_NO_INSTANCES,
    PERF_NO_UNIQUE_ID, SYSTEMTIME,
};
use alloc::vec::Vec;
use core::fmt;
use name::{put_name, put_text};

/// The header of a block: the machine, the default object and the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockHead<'a> {
    /// Name of the machine.
    pub system_name: &'a str,
    /// The object that a tool should show first; `None` if there is no such object.
    pub default_object: Option<TitleIndex>,
    /// Calendar time, UTC.
    pub system_time: CalendarTime,
    /// The clocks of the block. The object's clock among them is ignored; [`ObjectWriting::clock`]
    /// sets it.
    pub clocks: Clocks,
}

/// The name of an instance to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRef<'a> {
    /// No name: the instance is identified by number.
    None,
    /// A text, which is encoded in the object's code page.
    Text(&'a str),
    /// UTF-16 units, which may hold lone surrogates, for an object with code page 0.
    Utf16(&'a [u16]),
    /// The bytes of the name in the block, without a terminator.
    Bytes(&'a [u8]),
}

/// The definition of an instance: its name, number and parent, without the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceHead<'a> {
    /// The name of the instance.
    pub name: NameRef<'a>,
    /// A number that identifies the instance; `None` if its name does.
    pub unique_id: Option<i32>,
    /// Title index of the parent's object, and the index (from 0) of the parent among the instances
    /// of that object; `None` for an instance without a parent.
    pub parent: Option<(TitleIndex, u32)>,
}

impl<'a> InstanceHead<'a> {
    /// An instance that is identified by its name and has no parent.
    #[must_use]
    pub const fn named(name: &'a str) -> Self {
        Self { name: NameRef::Text(name), unique_id: None, parent: None }
    }
}

/// A writer of data blocks, with a buffer of its own.
pub struct BlockWriter {
    buffer: Vec<u8>,
    limit: usize,
    objects: u32,
}

impl Default for BlockWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BlockWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockWriter")
            .field("len", &self.buffer.len())
            .field("limit", &self.limit)
            .field("objects", &self.objects)
            .finish()
    }
}

impl BlockWriter {
    /// The limit of a new writer, in bytes: 64 MiB; see [`set_limit`](Self::set_limit).
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// A writer with an empty buffer and the default limit.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_buffer(Vec::new())
    }

    /// A writer that fills `buffer`. [`start`](Self::start) drops its contents and keeps its
    /// capacity.
    #[must_use]
    pub const fn with_buffer(buffer: Vec<u8>) -> Self {
        Self { buffer, limit: Self::DEFAULT_LIMIT, objects: 0 }
    }

    /// Sets the size that a block must not exceed, in bytes.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Begins a block, and drops the block before it.
    pub fn start(&mut self, head: &BlockHead<'_>) {
        self.buffer.clear();
        self.objects = 0;
        self.buffer.resize(PERF_DATA_BLOCK::SIZE, 0);
        put_text(&mut self.buffer, head.system_name);
        self.buffer.extend([0, 0]);
        let name_length = self.buffer.len() - PERF_DATA_BLOCK::SIZE;
        pad(&mut self.buffer);
        let t = head.system_time;
        let header = PERF_DATA_BLOCK {
            Signature: [0x50, 0x45, 0x52, 0x46],
            LittleEndian: 1,
            Version: 1,
            Revision: 1,
            TotalByteLength: 0,
            HeaderLength: self.buffer.len() as u32,
            NumObjectTypes: 0,
            DefaultObject: head
                .default_object
                .and_then(|index| i32::try_from(index.0).ok())
                .unwrap_or(-1),
            SystemTime: SYSTEMTIME {
                wYear: t.year,
                wMonth: t.month,
                wDayOfWeek: t.day_of_week,
                wDay: t.day,
                wHour: t.hour,
                wMinute: t.minute,
                wSecond: t.second,
                wMilliseconds: t.milliseconds,
            },
            PerfTime: head.clocks.perf_time,
            PerfFreq: head.clocks.perf_freq,
            PerfTime100nSec: head.clocks.time_100ns,
            SystemNameLength: name_length as u32,
            SystemNameOffset: PERF_DATA_BLOCK::SIZE as u32,
        };
        header.write(&mut self.buffer);
    }

    /// Begins an object. It becomes part of the block when [`ObjectWriting::finish`] is called; if
    /// the returned value is dropped before that, nothing of the object remains.
    ///
    /// # Errors
    /// [`WriteError::Full`] if the block would exceed its limit.
    pub fn object<'w, 't>(
        &'w mut self,
        template: &'t ObjectTemplate,
    ) -> Result<ObjectWriting<'w, 't>, WriteError> {
        self.make_room(template.definition.len())?;
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&template.definition);
        let state = State::Open;
        Ok(ObjectWriting { writer: self, template, start, instances: 0, state })
    }

    /// Validates `bytes` as a sequence of whole objects and appends them unchanged. Returns the
    /// number of objects. After an error nothing is appended.
    ///
    /// # Errors
    /// [`WriteError::NotObjects`] with what is wrong with the bytes, [`WriteError::Full`] if the
    /// block would exceed its limit.
    pub fn raw_objects(&mut self, bytes: &[u8]) -> Result<u32, WriteError> {
        let mut rest = bytes;
        let mut count: u32 = 0;
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            let object =
                PerfObject::parse(rest).map_err(|error| WriteError::NotObjects(error.at(at)))?;
            rest = rest.get(object.as_bytes().len()..).unwrap_or_default();
            count += 1;
        }
        self.make_room(bytes.len())?;
        self.buffer.extend_from_slice(bytes);
        self.objects += count;
        Ok(count)
    }

    /// Length of the block so far, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether the buffer is empty, as in a new writer before [`start`](Self::start).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The number of objects in the block so far: those finished, and those of
    /// [`raw_objects`](Self::raw_objects).
    #[must_use]
    pub fn object_count(&self) -> u32 {
        self.objects
    }

    /// The present position in the block, for [`rewind`](Self::rewind) and [`since`](Self::since):
    /// the length in bytes and the number of objects so far.
    #[must_use]
    pub fn mark(&self) -> (usize, u32) {
        (self.buffer.len(), self.objects)
    }

    /// Removes the objects that were added to this block after [`mark`](Self::mark) returned
    /// `mark`.
    pub fn rewind(&mut self, mark: (usize, u32)) {
        let header = len_at(&self.buffer, 24);
        self.buffer.truncate(mark.0.max(header));
        self.objects = self.objects.min(mark.1);
    }

    /// The bytes that were written after [`mark`](Self::mark) returned `mark`.
    #[must_use]
    pub fn since(&self, mark: (usize, u32)) -> &[u8] {
        self.buffer.get(mark.0..).unwrap_or_default()
    }

    /// Completes the block's header and returns the block.
    pub fn finish(&mut self) -> &[u8] {
        let total = u32::try_from(self.buffer.len()).unwrap_or(u32::MAX);
        put_u32(&mut self.buffer, 20, total);
        put_u32(&mut self.buffer, 28, self.objects);
        &self.buffer
    }

    /// The buffer with the block in it; call [`finish`](Self::finish) first.
    #[must_use]
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Checks that `more` bytes fit within the limit. Nothing is allocated.
    fn make_room(&self, more: usize) -> Result<(), WriteError> {
        let limit = self.limit.min(u32::MAX as usize);
        match self.buffer.len().checked_add(more) {
            Some(length) if length <= limit => Ok(()),
            _ => Err(WriteError::Full { limit }),
        }
    }
}

/// The stage of an object that is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only the definitions are written so far.
    Open,
    /// The counter block of an object without instances is written.
    Single,
    /// At least one instance is written.
    Instances,
    /// The object is a bare definition.
    Metadata,
    /// The object is part of the block: dropping the writing no longer removes it.
    Finished,
}

/// An object being written; see [`BlockWriter::object`].
pub struct ObjectWriting<'w, 't> {
    writer: &'w mut BlockWriter,
    template: &'t ObjectTemplate,
    start: usize,
    instances: u32,
    state: State,
}

impl ObjectWriting<'_, '_> {
    /// Sets the object's own clock (`PERF_OBJECT_TYPE.PerfTime` and
    /// `PerfFreq`), for counters that are measured by it.
    #[must_use]
    pub fn clock(self, time: i64, frequency: i64) -> Self {
        put(&mut self.writer.buffer, self.start + 48, time.to_le_bytes());
        put(&mut self.writer.buffer, self.start + 56, frequency.to_le_bytes());
        self
    }

    /// Adds an instance with one value for each counter of the template.
    ///
    /// # Errors
    /// [`WriteError::ValueCount`] for another number of values than counters,
    /// [`WriteError::MixedLayouts`] for an object without instances or after
    /// [`metadata`](Self::metadata), [`WriteError::BadName`], [`WriteError::Full`]. The instance is
    /// then left out whole.
    pub fn instance(&mut self, head: &InstanceHead<'_>, values: &[u64]) -> Result<(), WriteError> {
        self.template.check_count(values.len())?;
        self.instance_prefix(head, values)
    }

    /// Adds an instance with values for the template's first `values.len()` counters only. The
    /// counter block ends behind them, so that a reader finds no value for the others.
    ///
    /// # Errors
    /// As [`instance`](Self::instance), but [`WriteError::ValueCount`] for more values than counters,
    /// or if the counter block would also hold the data of a counter that is given none.
    pub fn instance_prefix(
        &mut self,
        head: &InstanceHead<'_>,
        values: &[u64],
    ) -> Result<(), WriteError> {
        let mark = self.begin_instance(head)?;
        let done = self.put_block(values);
        self.end_instance(mark, done)
    }

    /// Adds an instance with a counter block that is given as bytes without the length field, for text
    /// and other data that is not a number. A counter has no value if the bytes do not hold all of its
    /// data.
    ///
    /// # Errors
    /// As [`instance`](Self::instance), except for the number of values.
    pub fn instance_bytes(
        &mut self,
        head: &InstanceHead<'_>,
        data: &[u8],
    ) -> Result<(), WriteError> {
        let mark = self.begin_instance(head)?;
        let done = self.put_raw_block(data);
        self.end_instance(mark, done)
    }

    /// Adds `count` instances that were written before to an object of the same template; `bytes`
    /// are the bytes that [`since`](Self::since) returned for them. Names are padded to a multiple
    /// of 8 in the block, so the [`position`](Self::position), divided by 8, must leave the same
    /// remainder as when they were written. The bytes are not examined; a reader refuses an object
    /// in which they are not instances.
    ///
    /// # Errors
    /// [`WriteError::MixedLayouts`] for an object without instances or after
    /// [`metadata`](Self::metadata), [`WriteError::Full`].
    pub fn instances_as_written(&mut self, bytes: &[u8], count: u32) -> Result<(), WriteError> {
        if !self.template.has_instances || !matches!(self.state, State::Open | State::Instances) {
            return Err(WriteError::MixedLayouts);
        }
        self.writer.make_room(bytes.len())?;
        self.writer.buffer.extend_from_slice(bytes);
        self.instances = self.instances.saturating_add(count);
        self.state = State::Instances;
        Ok(())
    }

    /// Offset in the block, in bytes, at which the next instance will begin.
    #[must_use]
    pub fn position(&self) -> usize {
        self.writer.buffer.len()
    }

    /// The bytes of this object that were written since [`position`](Self::position) returned
    /// `position`.
    #[must_use]
    pub fn since(&self, position: usize) -> &[u8] {
        self.writer.buffer.get(position.max(self.start)..).unwrap_or_default()
    }

    /// Writes the counter block of an object without instances, with one value for each counter of
    /// the template.
    ///
    /// # Errors
    /// [`WriteError::ValueCount`] for another number of values than counters,
    /// [`WriteError::MixedLayouts`] for an object with instances or other content,
    /// [`WriteError::Full`]. The object is then left out whole.
    pub fn values(mut self, values: &[u64]) -> Result<Self, WriteError> {
        self.template.check_count(values.len())?;
        self.become_single()?;
        self.put_block(values)?;
        Ok(self)
    }

    /// As [`values`](Self::values), with values for the first `values.len()` counters only.
    ///
    /// # Errors
    /// As [`values`](Self::values), but [`WriteError::ValueCount`] as for
    /// [`instance_prefix`](Self::instance_prefix).
    pub fn values_prefix(mut self, values: &[u64]) -> Result<Self, WriteError> {
        self.become_single()?;
        self.put_block(values)?;
        Ok(self)
    }

    /// As [`values`](Self::values), with the counter block given as bytes without the
    /// length field.
    ///
    /// # Errors
    /// As [`values`](Self::values), except for the number of values.
    pub fn values_bytes(mut self, data: &[u8]) -> Result<Self, WriteError> {
        self.become_single()?;
        self.put_raw_block(data)?;
        Ok(self)
    }

    /// Makes the object a bare definition, which has neither instances nor values.
    ///
    /// # Errors
    /// [`WriteError::MixedLayouts`] if the object already has instances or values, or is a bare
    /// definition already.
    pub fn metadata(mut self) -> Result<Self, WriteError> {
        if self.state != State::Open {
            return Err(WriteError::MixedLayouts);
        }
        self.state = State::Metadata;
        Ok(self)
    }

    /// The number of instances that were written so far.
    #[must_use]
    pub fn instance_count(&self) -> u32 {
        self.instances
    }

    /// Completes the object, which thereby becomes part of the block. An object with instances may
    /// have none at this moment.
    ///
    /// # Errors
    /// [`WriteError::NoValues`] for an object without instances and without values,
    /// [`WriteError::TooManyValues`] if instances times counters are more than the object's bytes. The
    /// object is then left out whole.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let count = match (self.state, self.template.has_instances) {
            (State::Open, false) => return Err(WriteError::NoValues),
            (State::Single, _) => PERF_NO_INSTANCES,
            (State::Metadata, true) => PERF_METADATA_MULTIPLE_INSTANCES,
            (State::Metadata, false) => PERF_METADATA_NO_INSTANCES,
            // Each instance has more than two bytes of a block with a length of 32 bits.
            _ => self.instances as i32,
        };
        let total = self.writer.buffer.len() - self.start;
        let values = u64::from(self.instances) * self.template.counter_count() as u64;
        if values > total as u64 {
            return Err(WriteError::TooManyValues);
        }
        // No block is longer than `make_room` allows, at most `u32::MAX`.
        put_u32(&mut self.writer.buffer, self.start, total as u32);
        put_u32(&mut self.writer.buffer, self.start + 40, count as u32);
        self.writer.objects += 1;
        self.state = State::Finished;
        Ok(())
    }

    fn become_single(&mut self) -> Result<(), WriteError> {
        if self.state != State::Open || self.template.has_instances {
            return Err(WriteError::MixedLayouts);
        }
        self.state = State::Single;
        Ok(())
    }

    /// Appends the definition of an instance and returns the position at which it begins.
    fn begin_instance(&mut self, head: &InstanceHead<'_>) -> Result<usize, WriteError> {
        if !self.template.has_instances || !matches!(self.state, State::Open | State::Instances) {
            return Err(WriteError::MixedLayouts);
        }
        let mark = self.writer.buffer.len();
        // An upper bound: no encoding takes more than four bytes for each byte of UTF-8.
        let name_bound = match head.name {
            NameRef::None => 0,
            NameRef::Text(text) => text.len().saturating_mul(4),
            NameRef::Utf16(units) => units.len().saturating_mul(2),
            NameRef::Bytes(bytes) => bytes.len(),
        };
        let more = name_bound.saturating_add(PERF_INSTANCE_DEFINITION::SIZE + 10);
        self.writer.make_room(more.saturating_add(self.template.block_len as usize))?;

        let buffer = &mut self.writer.buffer;
        buffer.resize(mark + PERF_INSTANCE_DEFINITION::SIZE, 0);
        if let Err(error) = put_name(buffer, head.name, self.template.code_page) {
            buffer.truncate(mark);
            return Err(error);
        }
        let name_length = buffer.len() - mark - PERF_INSTANCE_DEFINITION::SIZE;
        pad(buffer);
        let (parent_object, parent_instance) =
            head.parent.map_or((0, 0), |(object, place)| (object.0, place));
        let definition = PERF_INSTANCE_DEFINITION {
            ByteLength: (buffer.len() - mark) as u32,
            ParentObjectTitleIndex: parent_object,
            ParentObjectInstance: parent_instance,
            UniqueID: head.unique_id.unwrap_or(PERF_NO_UNIQUE_ID),
            NameOffset: if name_length == 0 { 0 } else { PERF_INSTANCE_DEFINITION::SIZE as u32 },
            NameLength: name_length as u32,
        };
        if let Some(place) = buffer.get_mut(mark..) {
            definition.write(place);
        }
        Ok(mark)
    }

    /// Counts the instance that begins at `mark`, or removes it if `done` is an error, which is
    /// returned.
    fn end_instance(
        &mut self,
        mark: usize,
        done: Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        match done {
            Ok(()) => {
                self.instances += 1;
                self.state = State::Instances;
                Ok(())
            }
            Err(error) => {
                self.writer.buffer.truncate(mark);
                Err(error)
            }
        }
    }

    /// Appends a counter block with values for the first `values.len()` counters of the template.
    fn put_block(&mut self, values: &[u64]) -> Result<(), WriteError> {
        let template = self.template;
        let (slots, length) = template.prefix(values.len())?;
        self.writer.make_room(length as usize)?;
        let buffer = &mut self.writer.buffer;
        let at = buffer.len();
        buffer.resize(at + length as usize, 0);
        let Some(block) = buffer.get_mut(at..) else {
            return Ok(());
        };
        put_u32(block, 0, length);
        for (slot, value) in slots.iter().zip(values) {
            match slot.size {
                8 => put(block, slot.offset as usize, value.to_le_bytes()),
                4 => put(block, slot.offset as usize, (*value as u32).to_le_bytes()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends a counter block with `data` behind its length field.
    fn put_raw_block(&mut self, data: &[u8]) -> Result<(), WriteError> {
        let end = data.len().saturating_add(PERF_COUNTER_BLOCK::SIZE);
        self.writer.make_room(end)?;
        // There is no room for a longer block than `u32::MAX`.
        let length = self.template.padded(end as u32) as usize;
        self.writer.make_room(length)?;
        let buffer = &mut self.writer.buffer;
        let at = buffer.len();
        buffer.extend((length as u32).to_le_bytes());
        buffer.extend_from_slice(data);
        buffer.resize(at + length, 0);
        Ok(())
    }
}

impl Drop for ObjectWriting<'_, '_> {
    fn drop(&mut self) {
        if self.state != State::Finished {
            self.writer.buffer.truncate(self.start);
        }
    }
}

fn pad(buffer: &mut Vec<u8>) {
    buffer.resize(buffer.len().next_multiple_of(8), 0);
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    put(bytes, at, value.to_le_bytes());
}
