//! The events of a log, and the records that are cut into several events.

use super::{BUFFER_HEADER, LONGEST_RECORD, begins_log, i64_at, u16_at, u32_at};
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// The length of an event's header in bytes.
const EVENT_HEADER: usize = 48;
/// The number of bytes in front of a part's data: the log's GUID, the part's number, and the number of parts.
const PART_HEADER: usize = 24;
/// The kind of a buffer with events.
const DATA: u16 = 0;

/// The place where an event begins: `buffer` is the offset of its buffer in the file, `at` the offset of the event in
/// that buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    buffer: u64,
    at: usize,
}

impl Place {
    pub(super) fn offset(self) -> u64 {
        self.buffer + self.at as u64
    }
}

/// An event of a trace.
pub(super) struct Event {
    pub(super) kind: u8,
    pub(super) place: Place,
    /// The event's local time, in steps of 100 ns since 1601.
    time: i64,
    length: usize,
    /// The number of the event's part of a record, from 1, and the number of parts.
    part: (u32, u32),
    data: Range<usize>,
}

impl Event {
    /// The event at a place of a buffer; `None` behind the last event, or where the event is damaged.
    fn of(buffer: &[u8], place: Place) -> Option<Self> {
        let bytes = buffer.get(place.at..)?;
        let length = usize::from(u16_at(bytes, 0)?);
        let payload = bytes.get(EVENT_HEADER..length)?;
        let part = (u32_at(payload, 16)?, u32_at(payload, 20)?);
        payload.get(PART_HEADER..)?;
        let data = place.at + EVENT_HEADER + PART_HEADER..place.at + length;
        Some(Self { kind: *bytes.get(4)?, place, time: i64_at(bytes, 16)?, length, part, data })
    }
}

/// The events of a log in their order. One buffer is in memory.
pub(super) struct Events<R> {
    input: R,
    size: usize,
    buffer: Vec<u8>,
    /// The offset in the file of the buffer that is in memory.
    pub(super) start: u64,
    /// The offset in the file of the next buffer.
    next: u64,
    at: usize,
    /// The offset of the buffer at which the file is cut off; `None` if it is not cut off, and
    /// after the reader has taken the offset to report it.
    pub(super) cut: Option<u64>,
    /// The offset of another log behind this one; `None` if there is none, and after the reader has
    /// taken the offset to report it.
    pub(super) another: Option<u64>,
}

impl<R: Read + Seek> Events<R> {
    /// The events of a log from its beginning.
    pub(super) fn new(mut input: R) -> std::io::Result<Self> {
        let mut size = [0; 4];
        input.seek(SeekFrom::Start(0))?;
        input.read_exact(&mut size)?;
        let size = (u32::from_le_bytes(size) as usize).clamp(BUFFER_HEADER, 1 << 24);
        let mut events = Self {
            input,
            size,
            buffer: Vec::new(),
            start: 0,
            next: 0,
            at: 0,
            cut: None,
            another: None,
        };
        events.go(Place::default())?;
        Ok(events)
    }

    /// Goes to the event at a place; [`Place::default`] is that of the first event.
    pub(super) fn go(&mut self, place: Place) -> std::io::Result<()> {
        // The first buffer describes the trace.
        self.next = u64::max(place.buffer, self.size as u64);
        self.input.seek(SeekFrom::Start(self.next))?;
        self.buffer.clear();
        if place != Place::default() && self.fill()? {
            self.at = place.at;
        }
        Ok(())
    }

    /// The next event; `None` behind the last one. Behind a damaged event, the rest of its buffer
    /// is passed over.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Event>> {
        loop {
            let place = Place { buffer: self.start, at: self.at };
            if let Some(event) = Event::of(&self.buffer, place) {
                self.at += event.length.next_multiple_of(8);
                return Ok(Some(event));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// The part of a record in `event`, which must be the event that was read last.
    pub(super) fn data(&self, event: &Event) -> &[u8] {
        self.buffer.get(event.data.clone()).unwrap_or_default()
    }

    /// The time from the last event of a buffer to the writing of the buffer, in steps of 100 ns:
    /// the buffer's time, which is UTC, less the event's, which is local. So it contains the zone's
    /// difference from UTC. `None` if `event` is not the last one of its buffer, since it may then
    /// be older by as much as zones differ, or if one of the two times is missing.
    pub(super) fn lag(&self, event: &Event) -> Option<i64> {
        if Event::of(&self.buffer, Place { buffer: self.start, at: self.at }).is_some() {
            return None;
        }
        let written = i64_at(&self.buffer, 0x10).filter(|time| *time > 0 && event.time > 0)?;
        written.checked_sub(event.time)
    }

    /// Reads the next buffer with events; `false` at the end of the file, or where another log begins.
    fn fill(&mut self) -> std::io::Result<bool> {
        loop {
            self.buffer.clear();
            let read = self.input.by_ref().take(self.size as u64).read_to_end(&mut self.buffer)?;
            if read == 0 {
                return Ok(false);
            }
            self.start = self.next;
            if begins_log(&self.buffer) {
                // The other log's records belong to its own catalogue.
                self.another = Some(self.start);
                self.buffer.clear();
                self.input.seek(SeekFrom::Start(self.start))?;
                return Ok(false);
            }
            self.next += read as u64;
            if u16_at(&self.buffer, 0x36) == Some(DATA) {
                let used = u32_at(&self.buffer, 0x30).unwrap_or(0) as usize;
                if used > read {
                    self.cut = Some(self.start);
                }
                self.buffer.truncate(used);
                self.at = BUFFER_HEADER;
                return Ok(true);
            }
        }
    }
}

/// A record that is built from its parts.
#[derive(Default)]
pub(super) struct Record {
    pub(super) bytes: Vec<u8>,
    /// The place of the record's first part.
    pub(super) place: Place,
    /// The number of the last part that was added, and the number of parts.
    last: (u32, u32),
}

/// The state of a record after a part was added.
#[derive(Default)]
pub(super) struct Added {
    pub(super) is_complete: bool,
    pub(super) is_too_long: bool,
    /// Whether a part is missing: from the record that began at `start`, or, if `start` is `None`, before this part.
    pub(super) is_missing: bool,
    pub(super) start: Option<u64>,
}

impl Record {
    /// Whether the record still lacks parts.
    pub(super) fn is_open(&self) -> bool {
        self.last.0 < self.last.1
    }

    /// Adds the part of the record that an event has. A part out of order, or too much data, drops the record.
    pub(super) fn add(&mut self, event: &Event, data: &[u8]) -> Added {
        let (number, count) = event.part;
        let mut added = Added::default();
        if number == 1 {
            if self.is_open() {
                added.is_missing = true;
                added.start = Some(self.place.offset());
            }
            self.bytes.clear();
            (self.last, self.place) = ((0, count), event.place);
        }
        if (number, count) != (self.last.0 + 1, self.last.1) {
            added.is_missing = true;
            self.last = (0, 0);
            return added;
        }
        if self.bytes.len() + data.len() > LONGEST_RECORD {
            added.is_too_long = true;
            self.last = (0, 0);
            return added;
        }
        self.last.0 = number;
        self.bytes.extend_from_slice(data);
        added.is_complete = number == count;
        added
    }
}
