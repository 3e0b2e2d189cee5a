//! perfmon's binary logs (`.blg`), as PDH writes them.
//!
//! The layout is known from the bytes of real logs, of Windows Vista and 8. A log is an event
//! trace: buffers of one size, each with events of 8-byte alignment. A record of the log is cut
//! into parts of at most 8,000 bytes, an event each. What is read:
//!
//! | event | record |
//! |---|---|
//! | 0x22 | a sample: sub-records, of which kind 0x0503 is a data block with one object |
//! | 0x24 | titles: the machine's name, then index and name by turns |
//!
//! Sub-records of single counters (0x0103) and of several instances of one (0x0203) are not read:
//! their number is told with each sample.

use crate::replay::RecordedBlock;
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
const SAMPLE: u8 = 0x22;
const TITLES: u8 = 0x24;
/// Bytes of the head of a record or sub-record: `BL`, its kind, its length with the head.
const HEAD: usize = 8;
/// The kind of a record with a sample, and of a sub-record with a data block.
const OF_SAMPLE: u16 = 0x0003;
const OF_BLOCK: u16 = 0x0503;

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
    let (titles, record) = (Vec::new(), Vec::new());
    let mut reader = Reader { name, log: Log::default(), titles, record, more_faults: 0 };
    let size = u32_at(bytes, 0).unwrap_or(0) as usize;
    let mut parts = Parts::default();
    // The first buffer describes the trace.
    for (number, buffer) in bytes.chunks(size.max(BUFFER_HEADER)).enumerate().skip(1) {
        let start = number * size;
        if u16_at(buffer, 0x36) != Some(DATA) {
            continue;
        }
        let used = u32_at(buffer, 0x30).unwrap_or(0) as usize;
        if used > buffer.len() {
            reader.warn(start, "the log is cut off in the middle of a buffer");
        }
        let mut at = BUFFER_HEADER;
        while let Some(event) = buffer.get(at..used.min(buffer.len())).and_then(Event::of) {
            let length = event.length;
            reader.event(&event, start + at, &mut parts);
            at += length.next_multiple_of(8);
        }
    }
    if parts.is_open() {
        reader.warn(bytes.len(), "the log ends in the middle of a sample");
    }
    reader.end()
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

struct Reader<'a> {
    name: &'a str,
    log: Log,
    /// `REG_MULTI_SZ` of the titles.
    titles: Vec<u8>,
    /// The sample that is put together.
    record: Vec<u8>,
    /// Faults beyond those that are kept.
    more_faults: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: &Event<'_>, at: usize, parts: &mut Parts) {
        match event.kind {
            TITLES => self.titles.extend_from_slice(without_machine(event.data)),
            SAMPLE => {
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
            _ => {}
        }
    }

    /// Adds the sample that was put together.
    fn sample(&mut self, at: usize) {
        let record = std::mem::take(&mut self.record);
        let number = self.log.samples.len() + 1;
        let (mut blocks, mut others) = (Vec::new(), 0);
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
            match (kind, record.get(inner)) {
                (OF_BLOCK, Some(block)) => match in_utc(block) {
                    Some(block) => {
                        let name = format!("{}, sample {number}", self.name);
                        blocks.push(RecordedBlock::from((name, block)));
                    }
                    None => self.warn(at, "a data block of the sample is damaged"),
                },
                _ => others += 1,
            }
        }
        if others > 0 {
            self.fault(format_args!(
                "sample {number}: {others} counters were recorded one by one, which is not read"
            ));
        }
        if !blocks.is_empty() {
            self.log.samples.push(blocks);
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
            let message = format!(
                "a binary log of perfmon without a sample that can be read ({why}); of such logs \
                 those that record whole objects, `\\Object(*)\\*`, are read"
            );
            return Err(SourceError::new(SourceErrorKind::Malformed, self.name, message));
        }
        if self.more_faults > 0 {
            let message = format!("and {} more faults of the log", self.more_faults);
            self.log.faults.push(Fault::new(FaultKind::Warning, self.name, message));
        }
        self.log.titles = TitleList::from_multi_sz(&self.titles);
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

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
