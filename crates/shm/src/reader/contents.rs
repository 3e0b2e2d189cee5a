//! The changing part of a published file, read while its program changes it.
//!
//! Numbers of 8 bytes are copied whole, between aligned places. The order within one copy is
//! unknown. So a number that must be read before another one is read in a call of its own.

use super::definition::{FileDefinition, PublishedCounter};
use crate::layout::{ALIVE, LIVE, PAIR, PHASE, SLOT, live, pair};
use crate::os::Opened;
use crate::pair::{After, Before, Between, settle};
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{Ordering, fence};

/// The most times that one pair is read again, if it changes during a read.
const TRIES: usize = 64;
/// The number of repeated reads of pairs that a file gets in one collection, besides one more for
/// each [`BYTES_FOR_A_TRY`] bytes of its values. So a file with pairs that never settle slows readers
/// down only in proportion to its size.
const TRIES_OF_A_FILE: usize = 256;
/// The number of bytes of a file's values for which the file gets one more repeated read.
const BYTES_FOR_A_TRY: usize = 1024;
/// The capacity above which buffers are not kept, in numbers of 8 bytes.
const KEPT: usize = 1 << 17;

/// Bytes that can be read at an offset: an open file, or memory.
pub(super) trait ReadAt {
    /// Fills the buffer with the 8-byte numbers from an offset on, which is in bytes.
    fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()>;
}

impl ReadAt for Opened {
    fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()> {
        // Reads are not reordered with other calls.
        fence(Ordering::SeqCst);
        let done = Opened::read_words(self, offset as u64, out);
        fence(Ordering::SeqCst);
        done
    }
}

impl ReadAt for [u8] {
    fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()> {
        let bytes = self.get(offset..).and_then(|rest| rest.get(..out.len() * 8));
        let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
        for (word, bytes) in out.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        }
        Ok(())
    }
}

/// The most bytes of unwanted values that are read because they lie between wanted values: reading
/// them is cheaper than one more call.
const GAP: usize = 4096;

/// The changing part of one file, as it was read last, in buffers that are reused.
#[derive(Default)]
pub(super) struct Contents {
    /// The slots that were ever used, as read before the values: two numbers each.
    before: Vec<u64>,
    /// The slots that are read, as ranges of slot numbers.
    runs: Vec<Range<usize>>,
    /// The slots in `runs`, read again after the values.
    after: Vec<u64>,
    /// The values of the slots in `runs`: three copies, made one after the other. In a file without
    /// pairs only the second is made.
    values: [Vec<u64>; 3],
    names: Vec<u64>,
    /// The values of the instance that is being decoded.
    row: Vec<u64>,
    state: u64,
}

/// The names that earlier reads found in a file: for each slot, its state then and the name.
#[derive(Default)]
pub(super) struct Names(Vec<(u64, String)>);

/// One instance of a file, as it was read.
pub(super) struct Row<'a> {
    pub(super) slot: usize,
    /// The state of the slot, which differs for each instance that uses the slot.
    pub(super) state: u64,
    pub(super) name: &'a str,
    pub(super) unique_id: Option<u32>,
    pub(super) values: Values<'a>,
}

/// The values of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values<'a> {
    /// One value for each counter, followed by the value of its base if it has one.
    Whole(&'a [u64]),
    /// A pair changed too fast to be read, or could not be read.
    Torn,
    /// A pair had changed at the first look, and the file's tries are used up.
    Untried,
}

impl Contents {
    /// The state of the category, from the file's live header.
    pub(super) fn state(&self) -> u64 {
        self.state
    }

    /// Reads the changing part of a file, with all instances.
    pub(super) fn read(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
    ) -> io::Result<()> {
        self.read_slots(file, definition)?;
        let used = self.before.len() / 2;
        self.runs.clear();
        self.runs.extend((used > 0).then_some(0..used));
        self.read_runs(file, definition)
    }

    /// Reads the changing part of a file, with the instances of wanted names and few others that
    /// lie between them. Names in `names` are not read again.
    pub(super) fn read_named(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
        names: &mut Names,
        wanted: impl Fn(&str) -> bool,
    ) -> io::Result<()> {
        self.read_slots(file, definition)?;
        self.runs.clear();
        let gap = GAP / definition.values_size.max(1);
        let (slots, _) = self.before.as_chunks::<2>();
        for (slot, found) in slots.iter().enumerate() {
            let name = names.name(file, definition, (slot, *found), &mut self.names);
            if !name.is_some_and(&wanted) {
                continue;
            }
            match self.runs.last_mut() {
                Some(run) if slot - run.end <= gap => run.end = slot + 1,
                _ => self.runs.push(slot..slot + 1),
            }
        }
        self.read_runs(file, definition)
    }

    /// Reads the slots that were ever used, and the category's state.
    fn read_slots(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
    ) -> io::Result<()> {
        let mut head = [0; LIVE / 8];
        file.read_words(definition.live_at, &mut head)?;
        let word = |at: usize| head.get(at / 8).copied().unwrap_or(0);
        self.state = word(live::STATE);
        let used = usize::try_from(word(live::USED)).unwrap_or(usize::MAX).min(definition.slots);
        begin(&mut self.before, used * SLOT);
        append(file, definition.live_at + LIVE, used * SLOT, &mut self.before)
    }

    /// Reads the values of the chosen slots, and then these slots once more.
    fn read_runs(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
    ) -> io::Result<()> {
        let Self { runs, values, after, .. } = self;
        let count = runs.iter().map(ExactSizeIterator::len).sum::<usize>();
        let read = |at: usize, size: usize, out: &mut Vec<u64>| {
            begin(out, count * size);
            runs.iter()
                .try_for_each(|run| append(file, at + run.start * size, run.len() * size, out))
        };
        // Three copies are needed only to read pairs.
        let copies = if definition.pairs() > 0 { 0..3 } else { 1..2 };
        for values in values.get_mut(copies).unwrap_or_default() {
            read(definition.values_at, definition.values_size, values)?;
        }
        read(definition.live_at + LIVE, SLOT, after)
    }

    /// Calls `take` with each instance that existed throughout the read and has a wanted name,
    /// until `take` breaks. Names in `names` are not read again.
    pub(super) fn each_named(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
        names: &mut Names,
        wanted: impl Fn(&str) -> bool,
        mut take: impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) {
        let [first, second, third] = &self.values;
        let mut tries = TRIES_OF_A_FILE + second.len() * 8 / BYTES_FOR_A_TRY;
        let (before, _) = self.before.as_chunks::<2>();
        let (after, _) = self.after.as_chunks::<2>();
        let slots = self.runs.iter().cloned().flatten();
        for (place, (slot, then)) in slots.zip(after).enumerate() {
            let Some(found) = before.get(slot).filter(|found| *found == then) else { continue };
            let [state, which] = *found;
            let name = names.name(file, definition, (slot, *found), &mut self.names);
            let Some(name) = name.filter(|name| wanted(name)) else { continue };
            let begin = place * definition.values_size / 8;
            let end = begin + definition.values_size / 8;
            let copies =
                [first, second, third].map(|copy| copy.get(begin..end).unwrap_or_default());
            self.row.clear();
            let tries_before = tries;
            // The first lost pair loses the instance.
            let lost = definition.counters.iter().find_map(|counter| {
                let at = definition.values_at + slot * definition.values_size + counter.cell;
                put_values(counter, copies, file, at, &mut tries, &mut self.row).err()
            });
            // The pair read again may belong to the slot's next instance.
            let is_anew = lost.is_none() && tries != tries_before;
            if is_anew && !is_still(file, definition, slot, state) {
                continue;
            }
            let values = match lost {
                None => Values::Whole(&self.row),
                Some(Lost::Torn) => Values::Torn,
                Some(Lost::Untried) => Values::Untried,
            };
            let unique_id = which as u32;
            let unique_id = (unique_id != u32::MAX).then_some(unique_id);
            if take(Row { slot, state, name, unique_id, values }).is_break() {
                break;
            }
        }
    }

    /// Like [`each_named`](Self::each_named), for all instances, and without names from before.
    pub(super) fn each(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
        take: impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) {
        self.each_named(file, definition, &mut Names::default(), |_| true, take);
    }
}

impl Names {
    /// The name of the living instance in a slot, given as the slot's number and its two words. A
    /// name that is not known yet is read. `None` if the slot has no living instance, or if the name
    /// cannot be read or the slot changed while the name was read.
    fn name(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &FileDefinition,
        (slot, [state, which]): (usize, [u64; 2]),
        words: &mut Vec<u64>,
    ) -> Option<&str> {
        if state & PHASE != ALIVE {
            return None;
        }
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, Default::default);
        }
        let (known, name) = self.0.get_mut(slot)?;
        if *known != state {
            let length = ((which >> 32) as usize).min(definition.name_size);
            let read = read_name(file, definition, slot, length, words)?;
            if !is_still(file, definition, slot, state) {
                return None;
            }
            (*known, *name) = (state, read);
        }
        Some(name)
    }
}

/// Empties a buffer that is about to take `length` bytes, and frees its memory if that is far too
/// large.
fn begin(out: &mut Vec<u64>, length: usize) {
    if out.capacity() > KEPT && length / 8 <= KEPT {
        *out = Vec::new();
    }
    out.clear();
}

/// Appends `length` bytes of a file from the offset `at` on to a buffer.
fn append(
    file: &(impl ReadAt + ?Sized),
    at: usize,
    length: usize,
    out: &mut Vec<u64>,
) -> io::Result<()> {
    let begin = out.len();
    out.resize(begin + length / 8, 0);
    file.read_words(at, out.get_mut(begin..).unwrap_or_default())
}

/// Whether a slot still has this state, so that everything that was read of it belongs to one
/// instance.
fn is_still(
    file: &(impl ReadAt + ?Sized),
    definition: &FileDefinition,
    slot: usize,
    state: u64,
) -> bool {
    let mut now = [0];
    file.read_words(definition.live_at + LIVE + slot * SLOT, &mut now).is_ok() && now == [state]
}

/// The name in a slot, of `length` bytes; `None` if it cannot be read. `words` is a buffer.
fn read_name(
    file: &(impl ReadAt + ?Sized),
    definition: &FileDefinition,
    slot: usize,
    length: usize,
    words: &mut Vec<u64>,
) -> Option<String> {
    words.clear();
    words.resize(length.div_ceil(8), 0);
    file.read_words(definition.names_at + slot * definition.name_size, words).ok()?;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).replace('\0', "\u{FFFD}"))
}

/// The reason why a pair has no values.
enum Lost {
    /// The pair changed too fast, or can no longer be read.
    Torn,
    /// The pair had changed at the first read, and the file has no repeated reads left.
    Untried,
}

/// Appends the value of a counter, and its base if it has one. `at` is the offset of the counter's
/// cells in the file, for repeated reads, each of which uses up one of `tries`.
fn put_values(
    counter: &PublishedCounter,
    [first, second, third]: [&[u64]; 3],
    file: &(impl ReadAt + ?Sized),
    at: usize,
    tries: &mut usize,
    row: &mut Vec<u64>,
) -> Result<(), Lost> {
    let word = |values: &[u64], offset: usize| {
        values.get((counter.cell + offset) / 8).copied().unwrap_or(0)
    };
    if counter.base_type.is_none() {
        row.push(word(second, 0));
        return Ok(());
    }
    let cells = |values: &[u64]| -> [u64; PAIR / 8] {
        std::array::from_fn(|place| word(values, place * 8))
    };
    let mut three = [cells(first), cells(second), cells(third)];
    for tried in 0..=TRIES {
        if let Some((value, base)) = pair_of(&three) {
            row.extend([value, base]);
            return Ok(());
        }
        if tried == TRIES {
            break;
        }
        *tries = tries.checked_sub(1).ok_or(Lost::Untried)?;
        if three.iter_mut().any(|cells| file.read_words(at, cells).is_err()) {
            break;
        }
    }
    Err(Lost::Torn)
}

/// The value and the base of a pair, decoded from three copies of its cells that were made one
/// after the other; `None` if a large update was in progress, or an anchor was renewed, meanwhile.
fn pair_of([first, second, third]: &[[u64; PAIR / 8]; 3]) -> Option<(u64, u64)> {
    let word = |cells: &[u64; PAIR / 8], at: usize| cells.get(at / 8).copied().unwrap_or(0);
    settle(
        Before {
            ended: word(first, pair::ENDED),
            value: word(first, pair::VALUE),
            base: word(first, pair::BASE),
        },
        Between {
            tagged: word(second, pair::TAGGED),
            large_value: word(second, pair::LARGE_VALUE),
            large_base: word(second, pair::LARGE_BASE),
        },
        After {
            begun: word(third, pair::BEGUN),
            value: word(third, pair::VALUE),
            base: word(third, pair::BASE),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CounterDeclaration;
    use crate::definition::{Declared, Places};
    use crate::layout::{ONE_USE, READY, slot};
    use crate::os::Owner;
    use perfhive_format::{CounterType, DetailLevel};
    use std::cell::{Cell, RefCell};

    /// The bytes of a file, and a count of the reads and of what they read.
    struct Counted {
        bytes: Vec<u8>,
        reads: Cell<usize>,
        read: Cell<usize>,
    }

    impl ReadAt for Counted {
        fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()> {
            self.reads.set(self.reads.get() + 1);
            self.read.set(self.read.get() + out.len() * 8);
            self.bytes.as_slice().read_words(offset, out)
        }
    }

    /// A file of `slots` instances with `pairs` averages each. An average is torn if `is_torn` returns
    /// `true` for its slot and counter.
    fn file(
        slots: usize,
        pairs: usize,
        is_torn: impl Fn(usize, usize) -> bool,
    ) -> (Counted, FileDefinition) {
        let average = |n| CounterDeclaration::new(&format!("{n}"), CounterType::PERF_AVERAGE_BULK);
        let declared = Declared {
            name: "Torn".to_string(),
            help: String::new(),
            detail: DetailLevel::NOVICE,
            instances: Some(slots),
            longest_name: 8,
            counters: (0..pairs).map(average).collect(),
            default_counter: None,
        };
        let places = declared.places().unwrap();
        let Places { live_at, values_at, values_size, .. } = places;
        let mut bytes = declared.encode(&places, &Owner::this(), 1);
        bytes.resize(places.file_size, 0);
        let mut put = |at: usize, number: u64| {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        };
        put(live_at + live::STATE, READY);
        put(live_at + live::USED, slots as u64);
        for slot in 0..slots {
            put(live_at + LIVE + slot * SLOT + slot::STATE, ONE_USE | ALIVE);
            put(live_at + LIVE + slot * SLOT + slot::UNIQUE_ID, u64::from(u32::MAX));
            for (place, cell) in places.cells.iter().enumerate() {
                let at = values_at + slot * values_size + cell;
                put(at + pair::BEGUN, u64::from(is_torn(slot, place)));
            }
        }
        let definition = FileDefinition::parse(&bytes, bytes.len() as u64).unwrap();
        (Counted { bytes, reads: Cell::new(0), read: Cell::new(0) }, definition)
    }

    /// The instances, and the reads that names and torn pairs took.
    fn read(
        file: &Counted,
        definition: &FileDefinition,
        most: usize,
    ) -> (Vec<&'static str>, usize) {
        let mut contents = Contents::default();
        contents.read(file, definition).unwrap();
        file.reads.set(0);
        let mut seen = Vec::new();
        contents.each(file, definition, |row| {
            seen.push(match row.values {
                Values::Whole(_) => "whole",
                Values::Torn => "torn",
                Values::Untried => "untried",
            });
            if seen.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        // A name, and a second look at the slot.
        let reads = file.reads.get() - 2 * seen.len();
        (seen, reads)
    }

    #[test]
    fn a_lost_pair_costs_the_instance_and_others_are_not_tried() {
        let (file, definition) = file(3, 100, |slot, _| slot == 1);
        let (seen, reads) = read(&file, &definition, usize::MAX);
        assert_eq!(seen, ["whole", "torn", "whole"]);
        assert_eq!(reads, 3 * TRIES);
    }

    #[test]
    fn tries_of_a_file_are_limited_and_further_pairs_stay_untried() {
        let (file, definition) = file(20_000, 1, |slot, _| slot % 2 == 0);
        let (seen, reads) = read(&file, &definition, usize::MAX);
        let count = |what| seen.iter().filter(|one| **one == what).count();
        let tries = TRIES_OF_A_FILE + 20_000 * 64 / BYTES_FOR_A_TRY;
        assert_eq!(reads, 3 * tries);
        assert_eq!(count("torn"), tries / TRIES);
        assert_eq!(count("untried"), 10_000 - tries / TRIES);
        assert_eq!(count("whole"), 10_000);
    }

    /// A file whose first slot passes to another instance as soon as a pair is read again.
    struct GivenAway {
        bytes: RefCell<Vec<u8>>,
        slot_at: usize,
        values_at: usize,
        row: usize,
    }

    impl ReadAt for GivenAway {
        fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()> {
            let mut bytes = self.bytes.borrow_mut();
            if offset == self.values_at && out.len() < self.row {
                bytes[self.slot_at..self.slot_at + 8]
                    .copy_from_slice(&((2 * ONE_USE) | ALIVE).to_le_bytes());
                bytes[self.values_at..self.values_at + PAIR].fill(0);
            }
            bytes.as_slice().read_words(offset, out)
        }
    }

    #[test]
    fn reading_again_gives_the_same_instance() {
        let (file, definition) = file(2, 1, |slot, _| slot == 0);
        let file = GivenAway {
            slot_at: definition.live_at + LIVE,
            values_at: definition.values_at,
            row: definition.values_size / 8,
            bytes: RefCell::new(file.bytes),
        };
        let mut contents = Contents::default();
        contents.read(&file, &definition).unwrap();
        let mut seen = Vec::new();
        contents.each(&file, &definition, |row| {
            seen.push(row.slot);
            ControlFlow::Continue(())
        });
        assert_eq!(seen, [1]);
    }

    #[test]
    fn sharing_ends_when_no_user_wants_more() {
        let (file, definition) = file(1000, 1, |_, _| false);
        assert_eq!(read(&file, &definition, 7).0.len(), 7);
        // Only names are read again.
        assert_eq!(file.reads.get(), 2 * 7);
    }

    #[test]
    fn values_of_unwanted_instances_are_not_read() {
        let (mut file, definition) = file(1000, 10, |_, _| false);
        let mut name = |slot: usize, name: u8| {
            let at = definition.live_at + LIVE + slot * SLOT + slot::UNIQUE_ID;
            file.bytes[at..at + 8]
                .copy_from_slice(&((1 << 32) | u64::from(u32::MAX)).to_le_bytes());
            file.bytes[definition.names_at + slot * definition.name_size] = name;
        };
        name(3, b'a');
        name(500, b'b');
        let mut contents = Contents::default();
        let mut names = Names::default();
        let mut read = |wanted: &str| {
            let wanted = |name: &str| !name.is_empty() && wanted.contains(name);
            file.read.set(0);
            contents.read_named(&file, &definition, &mut names, wanted).unwrap();
            let mut seen = Vec::new();
            contents.each_named(&file, &definition, &mut names, wanted, |row| {
                assert!(matches!(row.values, Values::Whole(values) if values.len() == 20));
                seen.push((row.slot, row.name.to_string()));
                ControlFlow::Continue(())
            });
            (seen, file.read.get() - LIVE - 1000 * SLOT)
        };
        // The first collection reads the names.
        read("");
        let each = 3 * definition.values_size + SLOT;
        assert_eq!(read(""), (vec![], 0));
        assert_eq!(read("b"), (vec![(500, "b".to_string())], each));
        assert_eq!(read("ab"), (vec![(3, "a".to_string()), (500, "b".to_string())], 2 * each));
    }
}
