//! The processes that a run of the BPF program reads if it does not read all processes.

use perfhive_engine::NamePattern;
use std::sync::Arc;

/// The most processes that can be chosen by number; `processes.bpf.c` has the same limit.
const MOST_NUMBERS: usize = 64;
/// The most names by which processes can be chosen; `processes.bpf.c` has the same limit.
const MOST_NAMES: usize = 8;
/// The length in bytes of the kernel's names of processes, including the zero at the end.
const NAME: usize = 16;

/// The length in bytes of a name's text together with its mask.
const TEXT_AND_MASK: usize = 2 * NAME;
const NUMBERS_AT: usize = 8;
const NAMES_AT: usize = NUMBERS_AT + MOST_NUMBERS * 4;
const SIZE: usize = NAMES_AT + MOST_NAMES * TEXT_AND_MASK;

/// The process IDs and names of the chosen processes, in the form in which the BPF program reads
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    numbers: usize,
    names: usize,
    bytes: Vec<u8>,
}

impl Chosen {
    /// Sets the chosen processes, by process ID and by name. Returns `false`, and changes nothing,
    /// if there are more than the BPF program has room for.
    pub(crate) fn set(&mut self, numbers: &[u32], names: &[Arc<NamePattern>]) -> bool {
        if numbers.len() > MOST_NUMBERS || names.len() > MOST_NAMES {
            return false;
        }
        (self.numbers, self.names) = (numbers.len(), names.len());
        self.bytes.clear();
        let counts = [numbers.len() as u32, names.len() as u32];
        self.bytes.extend(counts.iter().flat_map(|count| count.to_ne_bytes()));
        self.bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        self.bytes.resize(NAMES_AT, 0);
        for pattern in names {
            let (text, mask) = text_and_mask(pattern);
            self.bytes.extend(text);
            self.bytes.extend(mask);
        }
        self.bytes.resize(SIZE, 0);
        true
    }

    /// The bytes that the BPF program reads; empty before the first [`set`](Self::set).
    #[cfg(perfhive_bpf)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg(perfhive_bpf)]
    pub(super) fn has_numbers(&self) -> bool {
        self.numbers > 0
    }

    #[cfg(perfhive_bpf)]
    pub(super) fn has_names(&self) -> bool {
        self.names > 0
    }
}

/// The beginning that all names matching `pattern` have, and a mask of the bits that count. A name
/// that does not match may have the same beginning; no name that matches is missed.
fn text_and_mask(pattern: &NamePattern) -> ([u8; NAME], [u8; NAME]) {
    let (mut text, mut mask) = ([0; NAME], [0; NAME]);
    let known = pattern.to_string();
    // A letter beyond ASCII may equal an ASCII letter when case is ignored. A caret is an escape in
    // the pattern's text. A number in parentheses may have been added to the name.
    let end = |c: char| !c.is_ascii() || matches!(c, '*' | '^' | '(');
    let length = known.find(end).unwrap_or(known.len());
    let is_whole = length == known.len();
    let begin = known.get(..length).unwrap_or_default();
    let begin = if is_whole { begin } else { begin.trim_end_matches(' ') };
    let places = text.iter_mut().zip(&mut mask).take(NAME - 1);
    for ((text, mask), byte) in places.zip(begin.bytes()) {
        let case = if byte.is_ascii_alphabetic() { 0x20 } else { 0 };
        (*text, *mask) = (byte & !case, !case);
    }
    // A whole name must end here, so the zero behind it counts, too.
    if let Some(mask) = mask.get_mut(begin.len()).filter(|_| is_whole) {
        *mask = 0xff;
    }
    (text, mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the BPF program, which compares as this function does, takes `name` for a name that
    /// `pattern` may match.
    fn is_named(pattern: &str, name: &str) -> bool {
        let (text, mask) = text_and_mask(&NamePattern::with_wildcards(pattern));
        let mut known = [0; NAME];
        known[..name.len()].copy_from_slice(name.as_bytes());
        (0..NAME).all(|at| (known[at] ^ text[at]) & mask[at] == 0)
    }

    #[test]
    fn names_that_match_are_let_through_and_others_kept_off() {
        for (pattern, yes, no) in [
            ("java", vec!["java", "JAVA", "jaVa"], vec!["javac", "jav", "j\u{1}va", "*ava"]),
            ("ja*", vec!["ja", "javac", "Jar"], vec!["j", "xja"]),
            ("*", vec!["a", ""], vec![]),
            ("[x]", vec!["[x]"], vec!["{x]", "[x}"]),
            // The kernel cuts names, and libraries know more of some.
            ("fifteen-letters-and-more", vec!["fifteen-letters"], vec!["fifteen-letter"]),
            ("fifteen-letters", vec!["fifteen-letters"], vec!["fifteen-letter"]),
            ("idle (7)", vec!["idle"], vec!["idl"]),
            ("a^b", vec!["a^b"], vec!["b"]),
            ("b\u{212a}", vec!["bk", "b"], vec!["c"]),
        ] {
            assert!(yes.iter().all(|name| is_named(pattern, name)), "{pattern}");
            assert!(!no.iter().any(|name| is_named(pattern, name)), "{pattern}");
        }
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        let mut chosen = Chosen::default();
        assert!(chosen.set(&[1; MOST_NUMBERS], &[]) && chosen.bytes.len() == SIZE);
        assert!(!chosen.set(&[1; MOST_NUMBERS + 1], &[]));
        let name = Arc::new(NamePattern::literal("x"));
        let names = vec![name; MOST_NAMES + 1];
        assert!(chosen.set(&[], &names[1..]) && !chosen.set(&[], &names));
    }
}
