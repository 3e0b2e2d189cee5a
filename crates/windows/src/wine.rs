//! Wine's counters lie in another place than their header says.
//!
//! Every Wine to date writes the objects `sizeof(PERF_DATA_BLOCK)` bytes, 88,
//! too far: it adds the header's length to a pointer that is behind the header
//! already. `HeaderLength` and `TotalByteLength` are as on Windows, so the
//! objects begin 88 bytes behind the place where they should, and as many bytes
//! are written beyond the size that was announced. This file undoes both, and
//! nothing of it happens where `ntdll` does not export `wine_get_version`, a
//! function that no Windows has.
//!
//! A Wine that is mended one day writes where it should, and nothing may be moved then.
//! Objects that seem to be there prove nothing: a buffer is used again, and what it held
//! before lies between the header and the objects. So a mark is written there before the
//! call: where it is untouched afterwards, Wine has missed the place.

use perfhive_format::DataBlock;

/// How much less than there is is announced as the buffer's size, so that what
/// Wine writes beyond it is still inside: a page, where 88 bytes would do.
const RESERVE: usize = 4096;

/// The distance by which Wine misses: `sizeof(PERF_DATA_BLOCK)` on 64-bit systems.
const SHIFT: usize = 88;

/// The mark: as the length of an object it is beyond any buffer's size.
const MARK: u8 = 0xEE;

/// How much of a buffer is marked: what a header takes with the longest name of a machine
/// (256 units), and the distance behind it.
const MARKED: usize = 1024;

/// What must be done about a reply because of who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Windows' own: nothing.
    Windows,
    /// Wine's: the objects are moved to where they belong.
    Wine(Seen),
}

/// That `ntdll` exports Wine's function. The field is this file's alone, so that no other
/// can have the remedy used: not by mistake, and not for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(());

/// The gate: the one place where it is decided whether the remedy is used.
fn given(is_exported: bool) -> Layout {
    if is_exported { Layout::Wine(Seen(())) } else { Layout::Windows }
}

impl Layout {
    /// That of the system this program runs on.
    #[cfg(windows)]
    pub(crate) fn of_system() -> Self {
        given(is_wine())
    }

    /// How many bytes at the end of a buffer are not to be announced.
    pub(crate) fn reserve(self) -> usize {
        match self {
            Self::Windows => 0,
            Self::Wine(_) => RESERVE,
        }
    }

    /// How many bytes beyond the length that was told belong to a reply.
    pub(crate) fn excess(self) -> usize {
        match self {
            Self::Windows => 0,
            Self::Wine(_) => SHIFT,
        }
    }

    /// Marks a buffer before a call, so that [`repair`](Self::repair) sees what was
    /// written.
    pub(crate) fn mark(self, buffer: &mut [u8]) {
        if self != Self::Windows {
            buffer.iter_mut().take(MARKED).for_each(|byte| *byte = MARK);
        }
    }

    /// Puts the objects of a reply where its header says that they are, if nothing was
    /// written there, and cuts it to the length that it tells. The reply comes with
    /// [`excess`](Self::excess) bytes behind that length, in a buffer that was
    /// [marked](Self::mark) before the call.
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

/// Whether `ntdll` exports `wine_get_version`.
#[cfg(windows)]
#[must_use]
pub fn is_wine() -> bool {
    use std::sync::OnceLock;
    static WINE: OnceLock<bool> = OnceLock::new();
    *WINE.get_or_init(|| crate::ffi::exports(c"ntdll.dll", c"wine_get_version"))
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

    /// A buffer that Wine is called with, and what an earlier reply left in it.
    fn buffer(room: usize, before: &[u8]) -> Vec<u8> {
        let mut buffer = before.to_vec();
        buffer.resize(room, 0);
        given(true).mark(&mut buffer);
        buffer
    }

    /// What Wine makes of a block in a buffer: the same header, the objects `shift` bytes
    /// on, and nothing in between.
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

    /// A buffer is used again, with whatever an earlier reply left: the object that stood
    /// there before is not the one that was written.
    #[test]
    fn what_a_buffer_held_before_is_not_taken_for_what_was_written() {
        let sound = sound();
        let counters = [CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
        let rows: &[_] = &[("one", None, &[8u64][..]), ("two", None, &[9])];
        let earlier = block("BOX", 1, &[(TitleIndex(2), &counters, rows)]);
        assert_eq!((earlier.len(), earlier == sound), (sound.len(), false));
        let mut reply = written(buffer(4096, &earlier), &sound, SHIFT);
        given(true).repair(&mut reply);
        assert_eq!(reply, sound);
    }

    /// A Wine that writes where its header says, some day.
    #[test]
    fn what_is_in_its_place_stays_there() {
        let sound = sound();
        for before in [Vec::new(), sound.clone(), misplaced(&sound), vec![0xFF; 4096]] {
            let mut reply = written(buffer(4096, &before), &sound, 0);
            given(true).repair(&mut reply);
            assert_eq!(reply, sound);
        }
    }

    #[test]
    fn objects_go_back_to_where_the_header_says() {
        let sound = sound();
        let mut reply = misplaced(&sound);
        assert!(DataBlock::parse(&reply).is_err(), "the bug is there to be undone");
        given(true).repair(&mut reply);
        assert_eq!(reply, sound);
    }

    /// Whatever comes: a sound block, one as Wine would write it, garbage, nothing.
    #[test]
    fn without_wines_function_nothing_is_done() {
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

    /// That a remedy cannot be made elsewhere is for the compiler to see to ([`Seen`]);
    /// this sees to this file, in which there is one way to it, behind one question.
    #[test]
    fn one_gate_leads_to_the_remedy_and_one_question_opens_it() {
        let file = include_str!("wine.rs");
        let (code, _) = file.split_once("#[cfg(test)]").unwrap();
        let lines = |word: &str| -> Vec<&str> {
            code.lines().map(str::trim).filter(|line| line.contains(word)).collect()
        };
        let made = "if is_exported { Layout::Wine(Seen(())) } else { Layout::Windows }";
        assert_eq!(lines("Seen(())"), ["pub(crate) struct Seen(());", made], "in one place");
        let gate = ["fn given(is_exported: bool) -> Layout {", "given(is_wine())"];
        assert_eq!(lines("given("), gate, "which is reached in one way");
        let question = r#"crate::ffi::exports(c"ntdll.dll", c"wine_get_version")"#;
        let (_, body) = code.split_once("pub fn is_wine() -> bool {").unwrap();
        let body: Vec<&str> = body.lines().map(str::trim).take(4).collect();
        let answer = format!("*WINE.get_or_init(|| {question})");
        assert_eq!(body[3], answer, "and asks for nothing else: {body:?}");
    }

    #[test]
    fn what_is_no_block_is_only_cut() {
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

    /// That of the system, proven by the one thing that tells the two apart.
    #[cfg(windows)]
    #[test]
    fn the_remedy_is_taken_only_where_ntdll_says_that_it_is_wines() {
        let exported = crate::ffi::exports(c"ntdll.dll", c"wine_get_version");
        assert_eq!(is_wine(), exported);
        assert_eq!(Layout::of_system(), given(exported));
        // What asks is able to say no, and looks for the whole name.
        assert!(crate::ffi::exports(c"ntdll.dll", c"NtQuerySystemInformation"));
        assert!(!crate::ffi::exports(c"ntdll.dll", c"wine_get_version_"));
        assert!(!crate::ffi::exports(c"no-such.dll", c"wine_get_version"));
    }
}
