//! Writes the event trace that a log consists of: buffers of one size with events in them.
//!
//! The fields are those of a log of Windows Vista, which has the container of a 32-bit program. The
//! structures are in Microsoft's `evntrace.h`: `TRACE_LOGFILE_HEADER` in the first buffer, an
//! `EVENT_TRACE_HEADER` in front of each event. A field is 0 if neither the log's bytes nor the
//! header files show its value, such as the time of the system's start.

use super::{BUFFER_HEADER, FILE_HEADER};
use crate::text_log::TextZone;
use perfhive_format::FileTime;
use std::io::{Seek, SeekFrom, Write};

/// The length of a buffer in bytes.
const BUFFER: usize = 0x10000;
/// The most bytes of a record in one event.
pub(super) const PART: usize = 8000;
/// The number of bytes of an event in front of its part of a record.
const EVENT: usize = 72;
/// The class of PDH's events, 933f3bb3-943e-490d-9ced-3cbb14c14479.
const CLASS: [u8; 16] = [
    0xb3, 0x3b, 0x3f, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c, 0xbb, 0x14, 0xc1, 0x44, 0x79,
];
/// The trace's mode: a file written from its beginning to its end, by a logger in paged memory.
const FILE_MODE: u32 = 0x0100_0001;
/// The kind of clock: times of events are those of the system's clock.
const SYSTEM_TIME: u32 = 2;

/// The description of a trace in its first buffer.
pub(super) struct TraceHead {
    /// The trace's GUID, which each event repeats.
    pub(super) guid: [u8; 16],
    /// The name of the file.
    pub(super) file: String,
    /// The zone of the events' times.
    pub(super) zone: TextZone,
    /// The frequency of the machine's performance counter in Hz.
    pub(super) perf_freq: i64,
    /// The time of the first event in UTC.
    pub(super) begin: FileTime,
}

/// A trace that is being written.
pub(super) struct Trace<W> {
    output: W,
    head: TraceHead,
    /// The buffer that is being filled.
    buffer: Vec<u8>,
    /// The number of the buffer that is being filled; the buffer that describes the trace is 0.
    number: u64,
    /// The time of the last event in UTC.
    last: FileTime,
}

impl<W: Write + Seek> Trace<W> {
    /// Begins a trace with the buffer that describes it.
    pub(super) fn new(output: W, head: TraceHead) -> std::io::Result<Self> {
        let last = head.begin;
        let mut trace = Self { output, head, buffer: vec![0; BUFFER_HEADER], number: 1, last };
        trace.describe()?;
        Ok(trace)
    }

    /// Appends a record, cut into events with at most [`PART`] of its bytes each. `kind` is the
    /// kind of these events, `time` their time in UTC.
    pub(super) fn record(
        &mut self,
        kind: u8,
        time: FileTime,
        record: &[u8],
    ) -> std::io::Result<()> {
        let parts = record.chunks(PART);
        let count = u32::try_from(parts.len()).map_err(std::io::Error::other)?;
        for (number, part) in (1_u32..).zip(parts) {
            let length = EVENT + part.len();
            if self.buffer.len() + length > BUFFER {
                self.write(length.next_multiple_of(8), false)?;
                self.buffer.truncate(BUFFER_HEADER);
                self.number += 1;
            }
            self.last = time;
            self.event(kind, time, (number, count), part);
        }
        Ok(())
    }

    fn event(&mut self, kind: u8, time: FileTime, (number, count): (u32, u32), part: &[u8]) {
        let into = &mut self.buffer;
        into.extend(((EVENT + part.len()) as u16).to_le_bytes());
        // The header of a program of 32 bits, a class, the type, the level, and PDH's version.
        into.extend([0x0a, 0xc0, kind, 0, 0x3c, 0]);
        let process = std::process::id();
        into.extend([process, process].iter().flat_map(|id| id.to_le_bytes()));
        into.extend(self.head.zone.local(time).0.to_le_bytes());
        into.extend(CLASS);
        // The thread's processor times.
        into.extend([0; 8]);
        into.extend(self.head.guid);
        into.extend([number, count].iter().flat_map(|number| number.to_le_bytes()));
        into.extend(part);
        into.resize(into.len().next_multiple_of(8), 0);
    }

    /// Writes to the output the buffer that is being filled. `wanted` is the number of bytes that
    /// found no room in the buffer; `is_last` is noted in the buffer's header.
    fn write(&mut self, wanted: usize, is_last: bool) -> std::io::Result<()> {
        let used = self.buffer.len();
        let stamp = self.last;
        buffer_header(&mut self.buffer, (self.number, stamp), used, used + wanted);
        if let Some(flags) = self.buffer.get_mut(0x34..0x36) {
            flags.copy_from_slice(&u16::from(is_last).to_le_bytes());
        }
        self.output.seek(SeekFrom::Start(self.number * BUFFER as u64))?;
        self.buffer.resize(BUFFER, 0xff);
        let written = self.output.write_all(&self.buffer);
        self.buffer.truncate(used);
        written
    }

    /// Writes the buffer that is being filled, so that readers see all records so far. Returns the
    /// file's length in bytes.
    pub(super) fn flush(&mut self) -> std::io::Result<u64> {
        self.write(BUFFER, true)?;
        self.describe()?;
        self.output.flush()?;
        Ok((self.number + 1) * BUFFER as u64)
    }

    /// Writes the first buffer, in the place of an earlier version of it: the description of the trace, with the time
    /// of the last event and the number of buffers.
    fn describe(&mut self) -> std::io::Result<()> {
        let head = &self.head;
        let mut bytes = vec![0; BUFFER_HEADER];
        // SYSTEM_TRACE_HEADER: version 2 of 32 bits.
        bytes.extend([2, 0, 1, 0xc0, 0, 0, 0, 0]);
        bytes.extend(std::process::id().to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(head.begin.0.to_le_bytes());
        bytes.extend([0; 8]);
        // TRACE_LOGFILE_HEADER, of Windows Vista.
        let number = |bytes: &mut Vec<u8>, value: u32| bytes.extend(value.to_le_bytes());
        number(&mut bytes, BUFFER as u32);
        bytes.extend([6, 0, 1, 4]);
        number(&mut bytes, 6000);
        number(&mut bytes, 1);
        bytes.extend(self.last.0.to_le_bytes());
        // The clock ticks 64 times a second; files have no greatest length.
        number(&mut bytes, 156_250);
        number(&mut bytes, 0);
        number(&mut bytes, FILE_MODE);
        number(&mut bytes, (self.number + 1) as u32);
        number(&mut bytes, 1);
        // Bytes of a pointer, events that were lost, the processor's speed in MHz, which readers of
        // traces divide by, and two pointers.
        for value in [4, 0, 1000, 0, 0] {
            number(&mut bytes, value);
        }
        time_zone(&mut bytes, &head.zone);
        number(&mut bytes, 0);
        // When the system was started.
        bytes.extend([0; 8]);
        bytes.extend(head.perf_freq.to_le_bytes());
        bytes.extend(head.begin.0.to_le_bytes());
        number(&mut bytes, SYSTEM_TIME);
        number(&mut bytes, 0);
        let guid = uuid_text(head.guid);
        for text in [guid.as_str(), &head.file] {
            // A name of any length must fit, with all behind it in a length of two bytes.
            bytes.extend(text.encode_utf16().take(4096).chain([0]).flat_map(u16::to_le_bytes));
        }
        let length = (bytes.len() - BUFFER_HEADER) as u16;
        if let Some(field) = bytes.get_mut(BUFFER_HEADER + 4..BUFFER_HEADER + 6) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let used = bytes.len();
        buffer_header(&mut bytes, (0, head.begin), 0, used);
        for (at, value) in [(0x30, used as u16), (0x34, 1), (0x36, FILE_HEADER)] {
            if let Some(field) = bytes.get_mut(at..at + 2) {
                field.copy_from_slice(&value.to_le_bytes());
            }
        }
        bytes.resize(BUFFER, 0xff);
        self.output.seek(SeekFrom::Start(0))?;
        self.output.write_all(&bytes)
    }
}

/// Fills the header of a buffer (`WMI_BUFFER_HEADER`). `used` is the number of used bytes, and
/// `current` that number plus the number of bytes that found no room; in the first buffer, `used`
/// is 0 and `current` is the number of used bytes.
fn buffer_header(buffer: &mut [u8], (number, stamp): (u64, FileTime), used: usize, current: usize) {
    let mut header = Vec::with_capacity(BUFFER_HEADER);
    for value in [BUFFER, used, current, 0] {
        header.extend((value as u32).to_le_bytes());
    }
    header.extend(stamp.0.to_le_bytes());
    header.extend(number.to_le_bytes());
    header.extend([0; 8]);
    // Processor 0, alignment 8, the logger's number, and a buffer that was flushed.
    header.extend([0, 8, 0x11, 0, 3, 0, 0, 0]);
    header.extend((used as u32).to_le_bytes());
    header.resize(BUFFER_HEADER, 0);
    if let Some(place) = buffer.get_mut(..BUFFER_HEADER) {
        place.copy_from_slice(&header);
    }
}

/// Appends the `TIME_ZONE_INFORMATION` of a zone, without daylight saving time.
fn time_zone(bytes: &mut Vec<u8>, zone: &TextZone) {
    bytes.extend(zone.bias.to_le_bytes());
    for _ in 0..2 {
        let start = bytes.len();
        // 31 UTF-16 units and a NUL; then the date of a change to daylight saving time, which is
        // empty.
        bytes.extend(zone.name.encode_utf16().take(31).flat_map(u16::to_le_bytes));
        bytes.resize(start + 64 + 16 + 4, 0);
    }
}

fn uuid_text(guid: [u8; 16]) -> String {
    // The first three numbers are in the machine's order of bytes.
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut text = String::new();
    for (place, from) in order.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02x}", guid.get(from).copied().unwrap_or_default()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blg::events::{Events, Record};
    use std::io::Cursor;
    use std::ops::Range;

    /// The bytes of the first buffer that differ in a log that is written again: when and by which
    /// process it was written, the processor's speed, the logger's memory, the time zone with its
    /// names, and when the system was started.
    const OF_TRACE: [Range<usize>; 7] =
        [0x10..0x18, 0x50..0x54, 0x60..0x68, 0x78..0x80, 0x9c..0xa8, 0xa8..0x154, 0x158..0x160];
    /// The bytes of a buffer behind the first one that differ in a log that is written again.
    const OF_BUFFER: [Range<usize>; 2] = [0x10..0x18, 0x38..0x48];
    /// The bytes of an event that differ in a log that is written again.
    const OF_EVENT: [Range<usize>; 2] = [8..16, 40..48];

    /// A log without what is not the same when it is written again.
    fn masked(mut log: Vec<u8>) -> Vec<u8> {
        for (number, buffer) in log.chunks_mut(BUFFER).enumerate() {
            let used = u32::from_le_bytes(*buffer[0x30..].first_chunk().unwrap()) as usize;
            let own: &[Range<usize>] = if number == 0 { &OF_TRACE } else { &OF_BUFFER };
            own.iter().for_each(|range| buffer[range.clone()].fill(0));
            let mut at = BUFFER_HEADER;
            while number > 0 && at < used {
                let length = usize::from(u16::from_le_bytes([buffer[at], buffer[at + 1]]));
                OF_EVENT.iter().for_each(|range| buffer[at..][range.clone()].fill(0));
                // Behind an event is what the buffer had before.
                buffer[at..][length..length.next_multiple_of(8)].fill(0);
                at += length.next_multiple_of(8);
            }
        }
        log
    }

    #[test]
    fn a_real_log_written_again_is_the_same_bytes_but_for_times_and_the_machine() {
        let Some(log) = perfhive_testkit::real::file("logs/pal_SampleLog.blg") else { return };
        let at = |at: usize| FileTime(i64::from_le_bytes(*log[at..].first_chunk().unwrap()));
        let zone = TextZone { name: String::new(), bias: 240 };
        let guid = *log[BUFFER + BUFFER_HEADER + 48..].first_chunk().unwrap();
        let units =
            log[0x1c2..0x238].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let file = String::from_utf16(&units.collect::<Vec<_>>()).unwrap();
        assert!(file.starts_with(r"c:\perflogs\") && file.ends_with(".blg"), "{file}");
        let head = TraceHead { guid, file, zone, perf_freq: at(0x160).0, begin: at(0x168) };
        let mut trace = Trace::new(Cursor::new(Vec::new()), head).unwrap();
        let mut events = Events::new(Cursor::new(&log)).unwrap();
        let (mut record, mut records) = (Record::default(), 0);
        while let Some(event) = events.next().unwrap() {
            if record.add(&event, events.data(&event)).is_complete {
                let local = at(event.place.offset() as usize + 16);
                let time = FileTime(local.0 + 240 * 60 * FileTime::PER_SECOND);
                trace.record(event.kind, time, &record.bytes).unwrap();
                records += 1;
            }
        }
        assert_eq!(records, 27, "14 of titles, a catalogue, 11 samples, and one at the end");
        assert_eq!(trace.flush().unwrap(), log.len() as u64);
        let written = masked(trace.output.into_inner());
        let wanted = masked(log);
        let differs = (0..wanted.len()).find(|at| written[*at] != wanted[*at]);
        assert_eq!(differs.map(|at| format!("0x{at:x}")), None);
    }

    #[test]
    fn the_lists_of_a_real_log_are_written_as_they_are_in_it() {
        use crate::blg::{CATALOGUE, TITLES, catalogue, without_machine};
        use perfhive_format::titles::TitleList;
        let Some(log) = perfhive_testkit::real::file("logs/pal_SampleLog.blg") else { return };
        let mut events = Events::new(Cursor::new(&log)).unwrap();
        let (mut titles, mut names) = (Vec::new(), Vec::new());
        while let Some(event) = events.next().unwrap() {
            let data = events.data(&event);
            match event.kind {
                TITLES => {
                    titles.push(data.to_vec());
                    names.extend_from_slice(without_machine(data));
                }
                CATALOGUE => assert_eq!(catalogue::write(&catalogue::read(data)), data),
                _ => {}
            }
        }
        let list = TitleList::from_multi_sz(&names).titles;
        let pairs = list.iter().map(|title| (title.index, title.text.as_str())).collect();
        let written = crate::blg::write::records_of_titles("ZACH-PC", pairs);
        assert!(written == titles && titles.len() == 14);
    }
}
