//! perfmon's binary logs (`.blg`), as PDH writes them.
//!
//! The layout is known from the bytes of real logs, of Windows Vista and 8. A log is an event
//! trace: buffers of one size, each with events of 8-byte alignment. A record of the log is cut
//! into parts of at most 8,000 bytes, an event each. What is read:
//!
//! | event | record |
//! |---|---|
//! | 0x20 | the catalogue: what was to be recorded, an entry for each sub-record of a sample |
//! | 0x22 | a sample: sub-records |
//! | 0x24 | titles: the machine's name, then index and name by turns |
//!
//! A sub-record of kind 0x0503 is a data block with one object, 0x0103 a counter, 0x0203 several
//! instances of a counter; the latter become blocks, too ([`counters`]).

mod catalogue;
mod counters;

use crate::names::MadeUpNames;
use crate::replay::RecordedBlock;
use catalogue::Entry;
use counters::Counters;
use perfhive_engine::{Fault, FaultKind, SourceError, SourceErrorKind};
use perfhive_format::titles::TitleList;
use perfhive_format::winperf::SYSTEMTIME;
use perfhive_format::{DataBlock, FileTime};
use std::ops::Range;

/// Bytes of the header of a buffer.
const BUFFER_HEADER: usize = 0x48;
/// Bytes of the header of an event.
const EVENT_HEADER: usize = 48;
/// Bytes in front of the data of a part: the log's GUID, the part's number, and how many there are.
const PART_HEADER: usize = 24;
/// Kinds of buffers: data, and the one at the beginning.
const DATA: u16 = 0;
const FILE_HEADER: u16 = 4;
/// Kinds of events.
const CATALOGUE: u8 = 0x20;
const SAMPLE: u8 = 0x22;
const TITLES: u8 = 0x24;
/// Bytes of the head of a record or sub-record: `BL`, its kind, its length with the head.
const HEAD: usize = 8;
/// The kind of a record with a sample, and of its sub-records.
const OF_SAMPLE: u16 = 0x0003;
const OF_BLOCK: u16 = 0x0503;
const OF_COUNTER: u16 = 0x0103;
const OF_COUNTERS: u16 = 0x0203;

/// Faults that are kept of a log; more are counted.
const MOST_FAULTS: usize = 64;

/// What a log holds.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The data blocks of each sample.
    pub(crate) samples: Vec<Vec<RecordedBlock>>,
    /// The machine's names at the time, in English.
    pub(crate) titles: TitleList,
    /// What was recorded and is not read.
    pub(crate) faults: Vec<Fault>,
}

/// Whether bytes begin as a log does.
pub(crate) fn is_log(bytes: &[u8]) -> bool {
    let size = u32_at(bytes, 0).unwrap_or(0);
    size.is_power_of_two()
        && (0x400..=0x0100_0000).contains(&size)
        && u16_at(bytes, 0x36) == Some(FILE_HEADER)
        && !bytes.starts_with(b"P\0E\0R\0F\0")
}

/// Reads a log; `name` is that of the file, for messages. What is cut off at the end is left out.
///
/// # Errors
/// [`SourceErrorKind::Malformed`] where no sample can be read.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Log, SourceError> {
    let mut reader = Reader { name, ..Reader::default() };
    // Titles and the catalogue may stand behind the samples that need them.
    let mut about = (Vec::new(), Vec::new());
    each_event(bytes, |event, _| match event.kind {
        TITLES => about.0.extend_from_slice(without_machine(event.data)),
        CATALOGUE => about.1.extend_from_slice(event.data),
        _ => {}
    });
    reader.log.titles = TitleList::from_multi_sz(&about.0);
    reader.names = MadeUpNames::with(&reader.log.titles);
    reader.entries = catalogue::read(&about.1);
    reader.counters = Counters::new(&reader.entries);
    let mut parts = Parts::default();
    let cut = each_event(bytes, |event, at| {
        if event.kind == SAMPLE {
            reader.event(event, at, &mut parts);
        }
    });
    for start in cut {
        reader.warn(start, "the log is cut off in the middle of a buffer");
    }
    if parts.is_open() {
        reader.warn(bytes.len(), "the log ends in the middle of a sample");
    }
    reader.end()
}

/// Hands out each event with its place. Returns where buffers begin that are cut off.
fn each_event(bytes: &[u8], mut with: impl FnMut(&Event<'_>, usize)) -> Vec<usize> {
    let mut cut = Vec::new();
    let size = u32_at(bytes, 0).unwrap_or(0) as usize;
    // The first buffer describes the trace.
    for (number, buffer) in bytes.chunks(size.max(BUFFER_HEADER)).enumerate().skip(1) {
        let start = number * size;
        if u16_at(buffer, 0x36) != Some(DATA) {
            continue;
        }
        let used = u32_at(buffer, 0x30).unwrap_or(0) as usize;
        if used > buffer.len() {
            cut.push(start);
        }
        let mut at = BUFFER_HEADER;
        while let Some(event) = buffer.get(at..used.min(buffer.len())).and_then(Event::of) {
            let length = event.length;
            with(&event, start + at);
            at += length.next_multiple_of(8);
        }
    }
    cut
}

/// An event of a trace.
struct Event<'a> {
    kind: u8,
    length: usize,
    /// The number of the part, from 1, and how many there are.
    part: (u32, u32),
    data: &'a [u8],
}

impl<'a> Event<'a> {
    /// The event at the beginning of some bytes.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let length = usize::from(u16_at(bytes, 0)?);
        let payload = bytes.get(EVENT_HEADER..length)?;
        let part = (u32_at(payload, 16)?, u32_at(payload, 20)?);
        let data = payload.get(PART_HEADER..)?;
        Some(Self { kind: *bytes.get(4)?, length, part, data })
    }
}

/// The parts of a sample that came so far.
#[derive(Default)]
struct Parts {
    /// The number of the last part, and how many there are.
    last: (u32, u32),
    /// Where the first part is.
    start: usize,
}

impl Parts {
    fn is_open(&self) -> bool {
        self.last.0 < self.last.1
    }
}

#[derive(Default)]
struct Reader<'a> {
    name: &'a str,
    log: Log,
    /// What each sub-record of a sample holds.
    entries: Vec<Entry>,
    names: MadeUpNames,
    counters: Counters,
    /// The sample that is put together.
    record: Vec<u8>,
    /// Faults beyond those that are kept.
    more_faults: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: &Event<'_>, at: usize, parts: &mut Parts) {
        let (number, count) = event.part;
        if number == 1 {
            if parts.is_open() {
                self.warn(parts.start, "a part of the sample is missing");
            }
            self.record.clear();
            *parts = Parts { last: (0, count), start: at };
        }
        if (number, count) != (parts.last.0 + 1, parts.last.1) {
            self.warn(at, "a part of the sample is missing");
            *parts = Parts::default();
            return;
        }
        parts.last.0 = number;
        self.record.extend_from_slice(event.data);
        if number == count {
            self.sample(parts.start);
        }
    }

    /// Adds the sample that was put together.
    fn sample(&mut self, at: usize) {
        let record = std::mem::take(&mut self.record);
        let number = self.log.samples.len() + 1;
        let name = format!("{}, sample {number}", self.name);
        let (mut blocks, mut others, mut place) = (Vec::new(), 0, 0);
        let Some((OF_SAMPLE, inside)) = head(&record, 0) else {
            return self.warn(at, "the sample has no head");
        };
        let mut next = inside.start;
        while next + HEAD <= inside.end.min(record.len()) {
            let Some((kind, inner)) =
                head(&record, next).filter(|(_, inner)| inner.end <= inside.end)
            else {
                self.warn(at, "the rest of the sample is damaged");
                break;
            };
            next = inner.end;
            let payload = record.get(inner).unwrap_or_default();
            let entry = self.entries.get(place).map(|entry| (place, entry));
            place += 1;
            let added = match (kind, entry) {
                (OF_BLOCK, _) => in_utc(payload)
                    .map(|block| blocks.push(RecordedBlock::from((name.clone(), block)))),
                (OF_COUNTER, Some(entry)) => self.counters.add_single(entry, payload),
                (OF_COUNTERS, Some(entry)) => self.counters.add_several(entry, payload),
                _ => {
                    others += 1;
                    Some(())
                }
            };
            if added.is_none() {
                self.warn(at, "a part of the sample is damaged");
            }
        }
        if others > 0 {
            self.fault(format_args!("sample {number}: {others} parts are of an unknown kind"));
        }
        self.add_counters(number, &name, &mut blocks);
        if !blocks.is_empty() {
            self.log.samples.push(blocks);
        }
    }

    /// Adds the blocks of the counters that the sample has one by one.
    fn add_counters(&mut self, number: usize, name: &str, blocks: &mut Vec<RecordedBlock>) {
        for block in self.counters.blocks(name, &mut self.names) {
            match block {
                Ok(block) => blocks.push(block),
                Err(object) => self.fault(format_args!(
                    "sample {number}: the counters of {object} are not of one moment, and are left out"
                )),
            }
        }
        for (path, status) in std::mem::take(&mut self.counters.missing) {
            self.fault(format_args!(
                "sample {number}: {path} has no value (status 0x{status:08X})"
            ));
        }
        if number == 1 && !blocks.is_empty() && self.counters.is_local() {
            self.fault(format_args!("the log has local times only, which are taken for UTC"));
        }
    }

    fn warn(&mut self, at: usize, what: &str) {
        self.fault(format_args!("offset 0x{at:x}: {what}"));
    }

    fn fault(&mut self, message: std::fmt::Arguments<'_>) {
        if self.log.faults.len() < MOST_FAULTS {
            self.log.faults.push(Fault::new(FaultKind::Warning, self.name, message));
        } else {
            self.more_faults += 1;
        }
    }

    fn end(mut self) -> Result<Log, SourceError> {
        if self.log.samples.is_empty() {
            let why = match self.log.faults.first() {
                Some(fault) => fault.message.to_string(),
                None => "no sample".to_string(),
            };
            let message =
                format!("a binary log of perfmon without a sample that can be read ({why})");
            return Err(SourceError::new(SourceErrorKind::Malformed, self.name, message));
        }
        if self.more_faults > 0 {
            let message = format!("and {} more faults of the log", self.more_faults);
            self.log.faults.push(Fault::new(FaultKind::Warning, self.name, message));
        }
        self.log.titles.titles.extend(std::mem::take(&mut self.names).into_list().titles);
        Ok(self.log)
    }
}

/// The kind of a record, and where its contents are.
fn head(record: &[u8], at: usize) -> Option<(u16, Range<usize>)> {
    let mark = record.get(at..at + 2)?;
    let length = u32_at(record, at + 4)? as usize;
    let end = at.checked_add(length)?;
    (mark == b"BL" && length >= HEAD).then(|| Some((u16_at(record, at + 2)?, at + HEAD..end)))?
}

/// A list of strings without its first, the machine's name, and without its end.
fn without_machine(strings: &[u8]) -> &[u8] {
    let mut units = strings.chunks_exact(2).enumerate();
    let first = units.find(|(_, unit)| **unit == [0, 0]).map_or(0, |(at, _)| 2 * (at + 1));
    let rest = strings.get(first..).unwrap_or_default();
    match rest.strip_suffix(&[0, 0]) {
        // The empty string that ends a list of strings.
        Some(list) if list.ends_with(&[0, 0]) => list,
        _ => rest,
    }
}

/// A block whose calendar time is UTC, as Windows' blocks have it: PDH writes the local time there.
/// `None` where the block's header is damaged.
fn in_utc(block: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = block.to_vec();
    let mut header = DataBlock::scan(block).ok()?.0.header();
    let time = FileTime(header.PerfTime100nSec).to_system_time();
    header.SystemTime = SYSTEMTIME {
        wYear: time.year,
        wMonth: time.month,
        wDayOfWeek: time.day_of_week,
        wDay: time.day,
        wHour: time.hour,
        wMinute: time.minute,
        wSecond: time.second,
        wMilliseconds: time.milliseconds,
    };
    header.write(&mut bytes)?;
    Some(bytes)
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
