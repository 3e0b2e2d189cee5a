//! The form of an event on its way from the program to the experiment.
//!
//! One event is one write to a FIFO. A write of up to `PIPE_BUF` bytes (at least 512) is done as a
//! whole or not at all, so that events of several threads and processes never mix. Numbers are in
//! the machine's byte order:
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 2 | length of the event with its name |
//! | 2 | 1 | version: 2 |
//! | 3 | 1 | kind: 0 a point, 1 a start, 2 an end |
//! | 4 | 4 | number of events that the process could not write since the last one that it wrote |
//! | 8 | 4 | process ID |
//! | 12 | 4 | thread ID |
//! | 16 | 8 | `CLOCK_MONOTONIC` in ns |
//! | 24 | 8 | `CLOCK_THREAD_CPUTIME_ID` in ns |
//! | 32 | 8 | number of calls of this thread before this one |
//! | 40 | 8 | ns that these calls took, each from its first reading of the clock to its last |
//! | 48 | 8 | ns of the thread's processor time in these calls |
//! | 56 | 8 | a number that distinguishes the counts of a thread's calls: the address of the count |
//! | 64 | 0 to 96 | the name, in UTF-8; other bytes are read as U+FFFD |
//!
//! The cost of a call is known only after its event was written, so the next event carries it.
//! `include/perfhive_experiment.h` writes events of the same form.

use crate::{CallTotals, EventKind};

/// The length of an event without its name, in bytes.
pub(crate) const HEAD: usize = 64;
/// The length of the longest name, in bytes. Longer names are cut off.
pub(crate) const LONGEST_NAME: usize = 96;
/// The length of the longest event, in bytes.
pub(crate) const LONGEST: usize = HEAD + LONGEST_NAME;
/// The version of this form.
const VERSION: u8 = 2;

/// One event as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WireEvent<'a> {
    pub(crate) kind: EventKind,
    pub(crate) lost: u32,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) time: u64,
    pub(crate) thread_time: u64,
    /// The totals of the thread's calls before this one.
    pub(crate) calls: CallTotals,
    pub(crate) name: &'a [u8],
}

impl<'a> WireEvent<'a> {
    /// Writes the event to the buffer, with a longer name cut to [`LONGEST_NAME`] bytes; returns
    /// the part of the buffer that the event takes.
    pub(crate) fn encode<'b>(&self, buffer: &'b mut [u8; LONGEST]) -> &'b [u8] {
        let name = self.name.get(..LONGEST_NAME).unwrap_or(self.name);
        let length = HEAD + name.len();
        let kind = match self.kind {
            EventKind::Point => 0,
            EventKind::Start => 1,
            EventKind::End => 2,
        };
        // At most 160, which fits.
        let [low, high] = (length as u16).to_ne_bytes();
        let mut rest = &mut buffer[..];
        let parts: [&[u8]; 11] = [
            &[low, high, VERSION, kind],
            &self.lost.to_ne_bytes(),
            &self.process.to_ne_bytes(),
            &self.thread.to_ne_bytes(),
            &self.time.to_ne_bytes(),
            &self.thread_time.to_ne_bytes(),
            &self.calls.count.to_ne_bytes(),
            &self.calls.time.to_ne_bytes(),
            &self.calls.thread_time.to_ne_bytes(),
            &self.calls.counter.to_ne_bytes(),
            name,
        ];
        for part in parts {
            // Writing to a slice fails only beyond its end, which the lengths exclude.
            let _ = std::io::Write::write_all(&mut rest, part);
        }
        buffer.get(..length).unwrap_or_default()
    }

    /// Reads the first event of the bytes, and returns it with its length in bytes. `Ok(None)` if
    /// the event is not complete yet; an error if the bytes are no event of this version.
    #[cfg(any(feature = "runner", test))]
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, NoEvent> {
        let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let number4 = |at: usize| head.get(at..)?.first_chunk::<4>().copied();
        let number8 = |at: usize| head.get(at..)?.first_chunk::<8>().copied();
        let [low, high, version, kind, ..] = *head;
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let kind = match kind {
            0 => EventKind::Point,
            1 => EventKind::Start,
            2 => EventKind::End,
            _ => return Err(NoEvent),
        };
        if version != VERSION || !(HEAD..=LONGEST).contains(&length) {
            return Err(NoEvent);
        }
        let Some(name) = bytes.get(HEAD..length) else { return Ok(None) };
        let event = || {
            Some(Self {
                kind,
                lost: u32::from_ne_bytes(number4(4)?),
                process: u32::from_ne_bytes(number4(8)?),
                thread: u32::from_ne_bytes(number4(12)?),
                time: u64::from_ne_bytes(number8(16)?),
                thread_time: u64::from_ne_bytes(number8(24)?),
                calls: CallTotals {
                    count: u64::from_ne_bytes(number8(32)?),
                    time: u64::from_ne_bytes(number8(40)?),
                    thread_time: u64::from_ne_bytes(number8(48)?),
                    counter: u64::from_ne_bytes(number8(56)?),
                },
                name,
            })
        };
        event().map(|event| Some((event, length))).ok_or(NoEvent)
    }
}

/// A time of the kernel in nanoseconds. The clocks used here are never negative.
#[cfg(target_os = "linux")]
pub(crate) fn nanos(time: rustix::time::Timespec) -> u64 {
    time.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.unsigned_abs())
}

/// The error where bytes are not an event.
#[cfg(any(feature = "runner", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoEvent;

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: WireEvent<'_> = WireEvent {
        kind: EventKind::Start,
        lost: 3,
        process: 4711,
        thread: 4712,
        time: 1 << 40,
        thread_time: 1 << 33,
        calls: CallTotals { count: 5, time: 6, thread_time: 7, counter: 1 << 47 },
        name: b"checkout",
    };

    #[test]
    fn event_is_read_as_it_was_written() {
        let mut buffer = [0; LONGEST];
        let bytes = EVENT.encode(&mut buffer);
        assert_eq!(bytes.len(), 72);
        assert_eq!(WireEvent::decode(bytes), Ok(Some((EVENT, 72))));
        for end in 0..bytes.len() {
            assert_eq!(WireEvent::decode(&bytes[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn long_name_is_cut_and_an_empty_one_stays_empty() {
        let long = "x".repeat(500);
        let mut buffer = [0; LONGEST];
        let bytes = WireEvent { name: long.as_bytes(), ..EVENT }.encode(&mut buffer);
        assert_eq!(bytes.len(), LONGEST);
        let (event, _) = WireEvent::decode(bytes).unwrap().unwrap();
        assert_eq!(event.name.len(), LONGEST_NAME);
        let bytes = WireEvent { name: b"", ..EVENT }.encode(&mut buffer);
        assert_eq!(WireEvent::decode(bytes).unwrap().unwrap().0.name, b"");
    }

    #[test]
    fn every_single_changed_byte_is_an_event_or_refused() {
        let mut buffer = [0; LONGEST];
        let length = EVENT.encode(&mut buffer).len();
        for at in 0..length {
            for value in 0..=255 {
                let mut changed = buffer;
                changed[at] = value;
                if let Ok(Some((_, taken))) = WireEvent::decode(&changed[..length]) {
                    assert!((HEAD..=length).contains(&taken));
                }
            }
        }
        buffer[2] = 1;
        assert_eq!(WireEvent::decode(&buffer[..length]), Err(NoEvent));
    }
}
