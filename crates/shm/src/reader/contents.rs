//! The part of a file that changes, read while it does.
//!
//! Numbers of 8 bytes are copied whole, from places that are aligned to buffers
//! that are aligned like them. In which order they are copied is not known, so
//! what must be read before something else is read in a call of its own.

use super::definition::{Counter, Definition};
use crate::layout::{ALIVE, LIVE, PAIR, PHASE, SLOT, live, pair};
use crate::os::Opened;
use crate::pair::{After, Before, Between, settle};
use std::io;
use std::sync::atomic::{Ordering, fence};

/// How often a pair is read anew that changed too much meanwhile.
const TRIES: usize = 64;
/// Capacity above which buffers are not kept, in numbers of 8 bytes.
const KEPT: usize = 1 << 17;

/// Something that can be read at an offset.
pub(super) trait ReadAt {
    /// Fills the whole buffer.
    fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()>;
}

impl ReadAt for Opened {
    fn read_words(&self, offset: usize, out: &mut [u64]) -> io::Result<()> {
        // Nothing is read earlier or later than the calls are made.
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

/// Buffers for the contents of one file after the other.
#[derive(Default)]
pub(super) struct Contents {
    /// The state of the file, and of each slot, before and after the values.
    slots: [Vec<u64>; 2],
    /// The values, three times.
    values: [Vec<u64>; 3],
    names: Vec<u64>,
    /// The values of one instance.
    row: Vec<u64>,
    state: u64,
}

/// What is known of an instance's name since it was last read.
#[derive(Default)]
pub(super) struct Names(Vec<(u64, String)>);

/// One instance as it was read.
pub(super) struct Row<'a> {
    pub(super) slot: usize,
    /// Which use of the slot it is.
    pub(super) state: u64,
    pub(super) name: &'a str,
    pub(super) unique_id: Option<u32>,
    /// A value for each counter, its base behind it; `None` where they changed
    /// too fast for one that has a base to be told.
    pub(super) values: Option<&'a [u64]>,
}

impl Contents {
    /// The state that the file said it was in.
    pub(super) fn state(&self) -> u64 {
        self.state
    }

    /// Reads a file.
    pub(super) fn read(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &Definition,
    ) -> io::Result<()> {
        let [before, after] = &mut self.slots;
        let mut head = [0; LIVE / 8];
        file.read_words(definition.live_at, &mut head)?;
        let word = |at: usize| head.get(at / 8).copied().unwrap_or(0);
        self.state = word(live::STATE);
        let used = usize::try_from(word(live::USED)).unwrap_or(usize::MAX).min(definition.slots);
        let slots_at = definition.live_at + LIVE;
        let read = |at: usize, length: usize, out: &mut Vec<u64>| {
            if out.capacity() > KEPT && length / 8 <= KEPT {
                *out = Vec::new();
            }
            out.clear();
            out.resize(length / 8, 0);
            file.read_words(at, out)
        };
        read(slots_at, used * SLOT, before)?;
        let size = used * definition.values_size;
        if definition.has_pairs() {
            for values in &mut self.values {
                read(definition.values_at, size, values)?;
            }
        } else {
            let [_, values, _] = &mut self.values;
            read(definition.values_at, size, values)?;
        }
        read(slots_at, used * SLOT, after)
    }

    /// Hands over each instance that was there throughout. What names were
    /// before is not read again.
    pub(super) fn each_named(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &Definition,
        names: &mut Names,
        mut take: impl FnMut(Row<'_>),
    ) {
        let [before, after] = &self.slots;
        let [first, second, third] = &self.values;
        names.0.resize_with(before.len() / 2, Default::default);
        names.0.shrink_to(KEPT);
        let (slots, _) = before.as_chunks::<2>();
        let (slots_after, _) = after.as_chunks::<2>();
        for (slot, ([state, which], then)) in slots.iter().zip(slots_after).enumerate() {
            let (state, which) = (*state, *which);
            if state & PHASE != ALIVE || [state, which] != *then {
                continue;
            }
            let Some((known, name)) = names.0.get_mut(slot) else { break };
            if *known != state {
                let length = ((which >> 32) as usize).min(definition.name_size);
                match read_name(file, definition, slot, length, &mut self.names) {
                    Some(read) if is_still(file, definition, slot, state) => *name = read,
                    _ => continue,
                }
                *known = state;
            }
            let begin = slot * definition.values_size / 8;
            let end = begin + definition.values_size / 8;
            let copies =
                [first, second, third].map(|copy| copy.get(begin..end).unwrap_or_default());
            self.row.clear();
            let mut whole = true;
            for counter in &definition.counters {
                let at = definition.values_at + slot * definition.values_size + counter.cell;
                whole &= put_values(counter, copies, file, at, &mut self.row);
            }
            let unique_id = which as u32;
            take(Row {
                slot,
                state,
                name,
                unique_id: (unique_id != u32::MAX).then_some(unique_id),
                values: whole.then_some(self.row.as_slice()),
            });
        }
    }

    /// As [`each_named`](Self::each_named), with nothing known of names.
    pub(super) fn each(
        &mut self,
        file: &(impl ReadAt + ?Sized),
        definition: &Definition,
        take: impl FnMut(Row<'_>),
    ) {
        self.each_named(file, definition, &mut Names::default(), take);
    }
}

/// Whether a slot is in the same use still, so that what was read of it is of
/// that.
fn is_still(
    file: &(impl ReadAt + ?Sized),
    definition: &Definition,
    slot: usize,
    state: u64,
) -> bool {
    let mut now = [0];
    file.read_words(definition.live_at + LIVE + slot * SLOT, &mut now).is_ok() && now == [state]
}

fn read_name(
    file: &(impl ReadAt + ?Sized),
    definition: &Definition,
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

/// Appends the value of a counter, and its base if it has one; `false` where it
/// cannot be told.
fn put_values(
    counter: &Counter,
    [first, second, third]: [&[u64]; 3],
    file: &(impl ReadAt + ?Sized),
    at: usize,
    row: &mut Vec<u64>,
) -> bool {
    let word = |values: &[u64], offset: usize| {
        values.get((counter.cell + offset) / 8).copied().unwrap_or(0)
    };
    if counter.base_type.is_none() {
        row.push(word(second, 0));
        return true;
    }
    let cells = |values: &[u64]| -> [u64; PAIR / 8] {
        std::array::from_fn(|place| word(values, place * 8))
    };
    let mut three = [cells(first), cells(second), cells(third)];
    for _ in 0..TRIES {
        if let Some((value, base)) = pair_of(&three) {
            row.extend([value, base]);
            return true;
        }
        if three.iter_mut().any(|cells| file.read_words(at, cells).is_err()) {
            break;
        }
    }
    false
}

/// The pair in three copies of its cells, made one after the other.
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
