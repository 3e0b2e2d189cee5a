//! Repairs replies of Wine: their objects do not begin where the header says.
//!
//! Every Wine to date writes the objects `sizeof(PERF_DATA_BLOCK)` bytes, 88, too far: it adds the
//! header's length to a pointer that is already behind the header. `HeaderLength` and
//! `TotalByteLength` are as on Windows, so the objects begin 88 bytes too late, and the reply ends
//! 88 bytes beyond the announced size. This file undoes both. It does nothing unless `ntdll`
//! exports `wine_get_version`, which no Windows does.
//!
//! Replies of a later Wine without the fault must stay as they are. What looks like objects 88 bytes
//! too late is no proof of the fault: a reused buffer holds an earlier reply. So a mark is written to
//! the buffer before the call. If the mark is untouched right behind the header, Wine has the fault.

use perfhive_format::DataBlock;

/// The number of bytes at the end of a buffer that Wine is not told of, so that bytes which Wine
/// writes beyond the announced size stay inside. 88 would do; a page is used.
const RESERVE: usize = 4096;

/// The distance by which Wine writes too far: `sizeof(PERF_DATA_BLOCK)` on 64-bit systems.
const SHIFT: usize = 88;

/// The byte of the mark. Read as the length of an object, the mark exceeds any buffer.
const MARK: u8 = 0xEE;

/// The number of bytes at the start of a buffer that are marked: enough for a header with the longest
/// machine name (256 units) and the 88 bytes behind it.
const MARKED: usize = 1024;

/// The layout of replies, which depends on the system that gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Windows: objects stand where the header says.
    Windows,
    /// Wine: objects may have to be moved.
    Wine(Seen),
}

/// Proof that `ntdll` exports `wine_get_version`. The private field keeps other files from using the
/// repair on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(());

/// The layout of replies: Wine's if `ntdll` exports Wine's function (`is_exported`), else Windows'.
/// No other place decides whether the repair is used.
pub(super) fn given(is_exported: bool) -> Layout {
    if is_exported { Layout::Wine(Seen(())) } else { Layout::Windows }
}

impl Layout {
    /// The number of bytes at the end of a buffer that the system is not told of; 0 on Windows.
    pub(crate) fn reserve(self) -> usize {
        match self {
            Self::Windows => 0,
            Self::Wine(_) => RESERVE,
        }
    }

    /// The number of bytes that a reply may have beyond its stated length; 0 on Windows.
    pub(crate) fn excess(self) -> usize {
        match self {
            Self::Windows => 0,
            Self::Wine(_) => SHIFT,
        }
    }

    /// Writes the mark into a buffer before a call, for [`repair`](Self::repair). Does nothing on
    /// Windows.
    pub(crate) fn mark(self, buffer: &mut [u8]) {
        if self != Self::Windows {
            buffer.iter_mut().take(MARKED).for_each(|byte| *byte = MARK);
        }
    }

    /// Moves the objects of a reply to the place that its header states, if the mark there is
    /// untouched, and cuts the reply to its stated length. `reply` has [`excess`](Self::excess)
    /// bytes beyond that length, and its buffer was [marked](Self::mark) before the call.
    pub(crate) fn repair(self, reply: &mut Vec<u8>) {
        if self == Self::Windows {
            return;
        }
        let total = reply.len().saturating_sub(SHIFT);
        let header = DataBlock::scan(reply).ok().map(|(header, _)| header.header());
        if let Some(header) = header.map(|header| header.HeaderLength as usize)
            && header < total
            && reply.get(header..header + SHIFT).is_some_and(|gap| *gap == [MARK; SHIFT])
        {
            reply.copy_within(header + SHIFT..total + SHIFT, header);
        }
        reply.truncate(total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::winperf::PERF_DATA_BLOCK;
    use perfhive_format::{CounterSpec, CounterType, TitleIndex};
    use perfhive_testkit::script::block;

    fn sound() -> Vec<u8> {
        let counters = [CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
        let rows: &[_] = &[("one", None, &[1u64][..]), ("two", None, &[2])];
        block("BOX", 1, &[(TitleIndex(2), &counters, rows)])
    }

    /// A buffer with the remains of an earlier reply, as passed to Wine.
    fn buffer(room: usize, before: &[u8]) -> Vec<u8> {
        let mut buffer = before.to_vec();
        buffer.resize(room, 0);
        given(true).mark(&mut buffer);
        buffer
    }

    /// A block as Wine writes it: the same header, the objects `shift` bytes later, and untouched
    /// bytes between.
    fn written(mut buffer: Vec<u8>, sound: &[u8], shift: usize) -> Vec<u8> {
        let header = PERF_DATA_BLOCK::read(sound).unwrap().HeaderLength as usize;
        buffer[..header].copy_from_slice(&sound[..header]);
        let end = sound.len() + shift;
        buffer[header + shift..end].copy_from_slice(&sound[header..]);
        buffer.truncate(sound.len() + SHIFT);
        buffer
    }

    fn misplaced(sound: &[u8]) -> Vec<u8> {
        written(buffer(4096, &[]), sound, SHIFT)
    }

    /// An object left in the buffer by an earlier reply is not taken for a new one.
    #[test]
    fn remains_of_an_earlier_reply_are_not_taken_for_objects() {
        let sound = sound();
        let counters = [CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
        let rows: &[_] = &[("one", None, &[8u64][..]), ("two", None, &[9])];
        let earlier = block("BOX", 1, &[(TitleIndex(2), &counters, rows)]);
        assert_eq!((earlier.len(), earlier == sound), (sound.len(), false));
        let mut reply = written(buffer(4096, &earlier), &sound, SHIFT);
        given(true).repair(&mut reply);
        assert_eq!(reply, sound);
    }

    /// A later, fixed Wine leaves the objects at the stated place.
    #[test]
    fn objects_at_the_stated_place_are_not_moved() {
        let sound = sound();
        for before in [Vec::new(), sound.clone(), misplaced(&sound), vec![0xFF; 4096]] {
            let mut reply = written(buffer(4096, &before), &sound, 0);
            given(true).repair(&mut reply);
            assert_eq!(reply, sound);
        }
    }

    #[test]
    fn objects_88_bytes_too_late_are_moved_back() {
        let sound = sound();
        let mut reply = misplaced(&sound);
        assert!(DataBlock::parse(&reply).is_err(), "the bug is there to be undone");
        given(true).repair(&mut reply);
        assert_eq!(reply, sound);
    }

    /// Sound blocks, blocks as Wine writes them, garbage, and nothing.
    #[test]
    fn without_wines_function_replies_stay_unchanged() {
        let windows = given(false);
        assert_eq!(windows, Layout::Windows);
        assert_eq!((windows.reserve(), windows.excess()), (0, 0));
        let sound = sound();
        for before in [misplaced(&sound), sound, vec![0xAA; 300], Vec::new()] {
            let mut reply = before.clone();
            windows.mark(&mut reply);
            assert_eq!(reply, before);
            windows.repair(&mut reply);
            assert_eq!(reply, before);
        }
        assert_ne!(given(true), windows, "and with it, it is the remedy");
    }

    #[test]
    fn a_reply_that_is_no_block_is_only_cut() {
        let sound = sound();
        for length in 0..sound.len() {
            let mut reply = misplaced(&sound);
            reply.truncate(length);
            given(true).repair(&mut reply);
            assert_eq!(reply.len(), length.saturating_sub(SHIFT));
        }
        // A header without objects, and one that is longer than the reply.
        let mut reply = vec![0xAA; 96 + SHIFT];
        given(true).repair(&mut reply);
        assert_eq!(reply, [0xAA; 96]);
    }
}
