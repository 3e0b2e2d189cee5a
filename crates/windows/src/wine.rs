//! The repair of Wine's answers, whose objects are at another place than their header says.
//!
//! Every Wine to date writes the objects `sizeof(PERF_DATA_BLOCK)` bytes, 88, too far: it adds the
//! header's length to a pointer that is behind the header already. `HeaderLength` and
//! `TotalByteLength` are as on Windows, so the objects begin 88 bytes too late, and as many bytes
//! are written beyond the announced size. This file undoes both, and does nothing where `ntdll`
//! does not export `wine_get_version`, a function that no Windows has.
//!
//! A later Wine may be fixed, and then nothing may be moved. Finding objects at the wrong place
//! proves nothing: a reused buffer holds an earlier reply between the header and the objects. So a
//! mark is written there before the call: if it is untouched afterwards, Wine has missed the place.

use perfhive_format::DataBlock;

/// The announced size of a buffer is smaller by this, so that bytes written beyond it are inside: a
/// page, although 88 bytes would do.
const RESERVE: usize = 4096;

/// The distance by which Wine misses: `sizeof(PERF_DATA_BLOCK)` on 64-bit systems.
const SHIFT: usize = 88;

/// The mark: as the length of an object it is beyond any buffer's size.
const MARK: u8 = 0xEE;

/// The marked length of a buffer: a header with the longest name of a machine (256 units), and the
/// distance behind it.
const MARKED: usize = 1024;

/// The handling of a reply, by the system that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Windows: none.
    Windows,
    /// Wine: the objects are moved to their place.
    Wine(Seen),
}

/// Proof that `ntdll` exports Wine's function. The field is private to this file, so that no other
/// file can use the repair, by mistake or for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(());

/// Decides, at one place, whether the repair is used.
fn given(is_exported: bool) -> Layout {
    if is_exported { Layout::Wine(Seen(())) } else { Layout::Windows }
}

impl Layout {
    /// The decision for the running system.
    #[cfg(windows)]
    pub(crate) fn of_system() -> Self {
        given(is_wine())
    }

    /// The number of bytes at the end of a buffer that are not announced.
    pub(crate) fn reserve(self) -> usize {
        match self {
            Self::Windows => 0,
            Self::Wine(_) => RESERVE,
        }
    }

    /// The number of bytes of a reply beyond its stated length.
    pub(crate) fn excess(self) -> usize {
        match self {
            Self::Windows => 0,
            Self::Wine(_) => SHIFT,
        }
    }

    /// Marks a buffer before a call, so that [`repair`](Self::repair) sees what was written.
    pub(crate) fn mark(self, buffer: &mut [u8]) {
        if self != Self::Windows {
            buffer.iter_mut().take(MARKED).for_each(|byte| *byte = MARK);
        }
    }

    /// Moves the objects of a reply to the place in its header, if nothing was written there, and
    /// cuts the reply to its stated length. The reply comes with [`excess`](Self::excess) bytes
    /// behind that length, in a buffer that was [marked](Self::mark) before the call.
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

    /// A buffer with the remains of an earlier reply, as Wine is called with.
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

    /// In a reused buffer, an object of an earlier reply does not pass for the one that was
    /// written.
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

    /// A future Wine that writes at the place in its header.
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

    /// Sound blocks, blocks as Wine writes them, garbage, and nothing.
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

    /// The compiler makes sure that no other file makes a repair ([`Seen`]); this test checks that
    /// this file has one way to it, behind one question.
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

    /// The running system's decision, checked by the one thing that tells the two systems apart.
    #[cfg(windows)]
    #[test]
    fn the_remedy_is_taken_only_where_ntdll_says_that_it_is_wines() {
        let exported = crate::ffi::exports(c"ntdll.dll", c"wine_get_version");
        assert_eq!(is_wine(), exported);
        assert_eq!(Layout::of_system(), given(exported));
        // The check can answer no, and compares the whole name.
        assert!(crate::ffi::exports(c"ntdll.dll", c"NtQuerySystemInformation"));
        assert!(!crate::ffi::exports(c"ntdll.dll", c"wine_get_version_"));
        assert!(!crate::ffi::exports(c"no-such.dll", c"wine_get_version"));
    }
}
