//! The bytes of a sample from its differences to the sample before; `encoder.rs` does the reverse.
//!
//! The decoder knows nothing of data blocks: a sample is a list of segments, and each segment
//! is predicted by a segment of the sample before, by one further up in the same sample, or not
//! at all. The page `recordings.md` of the manual has the layout.

use super::MOST;
use super::varint::{Input, unfold};

/// The operation that ends a sample's list of segments. The list consists of operations: [`KEEP`],
/// [`JUMP`], [`RAW`], [`ALIKE`] and at last this one.
pub(super) const END: u8 = 0;
/// The operation for segments that the sample before predicts: the next segments of that sample, as many as the
/// following number says, predict as many segments of this sample.
pub(super) const KEEP: u8 = 1;
/// The operation by which the next [`KEEP`] begins with another segment of the sample before; the number of that
/// segment follows.
pub(super) const JUMP: u8 = 2;
/// The operation for segments without a prediction, as many as the following number says. Their lengths follow, and
/// their bytes stand behind the operations.
pub(super) const RAW: u8 = 3;
/// The operation for segments that earlier segments of this sample predict, as many as the
/// following number says. For each of them a number follows: how many segments earlier its
/// prediction lies.
pub(super) const ALIKE: u8 = 4;

/// The largest number of segments of a sample.
pub(super) const MOST_SEGMENTS: usize = 1 << 20;

/// The source of the prediction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prediction {
    /// The segment of the sample before with this number.
    Before(usize),
    /// The segment of this sample with this number.
    Alike(usize),
    /// Nothing: the bytes of the segment are in the payload as they are.
    Raw,
}

/// A part of a sample's bytes.
#[derive(Clone, Copy)]
struct Segment {
    /// The offset of the first byte, in the bytes of the whole sample.
    start: usize,
    length: usize,
}

/// The bytes of a sample and its segments.
#[derive(Default)]
struct Image {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
}

impl Image {
    fn clear(&mut self) {
        self.bytes.clear();
        self.segments.clear();
    }

    fn bytes_of(&self, segment: &Segment) -> &[u8] {
        self.bytes.get(segment.start..segment.start + segment.length).unwrap_or_default()
    }
}

/// The word of 4 bytes with the index `at`, counted in words from 0; bytes behind the end of
/// `bytes` count as zero.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let rest = bytes.get(4 * at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(chunk) => u32::from_le_bytes(*chunk),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)),
    }
}

/// The number of words of 4 bytes in a segment.
fn words(segment: &Segment) -> usize {
    segment.length.div_ceil(4)
}

/// Sorts numbers of segments by the number of words in the segment, smallest first. Segments with the
/// same number of words keep the order that they have in `changed`.
fn by_size(changed: &mut [usize], segments: &[Segment]) {
    changed.sort_by_key(|number| segments.get(*number).map(words));
}

fn same_size(segments: &[Segment], a: usize, b: usize) -> bool {
    segments.get(a).map(words) == segments.get(b).map(words)
}

/// Turns differences into samples.
#[derive(Default)]
pub(super) struct Decoder {
    before: Image,
    sample: Image,
    predictions: Vec<Prediction>,
    changed: Vec<usize>,
}

impl Decoder {
    /// The bytes of the next sample; `None` if the payload is damaged. `is_key` says that the
    /// sample is a keyframe, to which no sample before contributes.
    pub(super) fn decode(&mut self, input: Input<'_>, is_key: bool) -> Option<&[u8]> {
        std::mem::swap(&mut self.before, &mut self.sample);
        self.sample.clear();
        if is_key {
            self.before.clear();
        }
        let decoded = self.apply(input);
        if decoded.is_none() {
            self.sample.clear();
        }
        decoded.map(|()| self.sample.bytes.as_slice())
    }

    fn apply(&mut self, mut input: Input<'_>) -> Option<()> {
        self.operations(&mut input)?;
        // Predictions are copied first: what follows only changes words.
        let mut length = 0_usize;
        for segment in &mut self.sample.segments {
            segment.start = length;
            length = length.checked_add(segment.length).filter(|length| *length <= MOST)?;
        }
        self.sample.bytes.reserve_exact(length);
        for (segment, prediction) in self.sample.segments.iter().zip(&self.predictions) {
            match prediction {
                Prediction::Raw => {
                    self.sample.bytes.extend_from_slice(input.take(segment.length)?);
                }
                Prediction::Before(number) => {
                    let of = self.before.segments.get(*number)?;
                    self.sample.bytes.extend_from_slice(self.before.bytes_of(of));
                }
                // The bytes of its prediction may still change, so they are added later.
                Prediction::Alike(_) => {
                    let end = self.sample.bytes.len() + segment.length;
                    self.sample.bytes.resize(end, 0);
                }
            }
        }
        self.differences(&mut input)?;
        self.add_alike()?;
        input.0.is_empty().then_some(())
    }

    /// Reads the list of segments with their predictions; `None` if it is damaged.
    fn operations(&mut self, input: &mut Input<'_>) -> Option<()> {
        self.predictions.clear();
        let mut next = 0;
        loop {
            let code = input.byte()?;
            if code == END {
                return Some(());
            }
            if code == JUMP {
                next = input.count(self.before.segments.len())?;
                continue;
            }
            let room = MOST_SEGMENTS.checked_sub(self.sample.segments.len())?;
            for _ in 0..input.count(room)? {
                let number = self.sample.segments.len();
                let (length, prediction) = match code {
                    KEEP => {
                        let length = self.before.segments.get(next)?.length;
                        next += 1;
                        (length, Prediction::Before(next - 1))
                    }
                    RAW => (input.count(MOST)?, Prediction::Raw),
                    ALIKE => {
                        let back = input.count(number)?;
                        let alike = number.checked_sub(back).filter(|alike| *alike < number)?;
                        let length = self.sample.segments.get(alike)?.length;
                        // Whole words only: in a word that is cut off, there may be no room for the difference.
                        (Some(length).filter(|length| length % 4 == 0)?, Prediction::Alike(alike))
                    }
                    _ => return None,
                };
                self.sample.segments.push(Segment { start: 0, length });
                self.predictions.push(prediction);
            }
        }
    }

    /// Reads which segments differ from their predictions, and adds the differences to their words; `None` if the input
    /// is damaged.
    fn differences(&mut self, input: &mut Input<'_>) -> Option<()> {
        self.changed.clear();
        let count = self.predictions.iter().filter(|of| **of != Prediction::Raw).count();
        let mut numbers = (self.predictions.iter().enumerate())
            .filter(|(_, of)| **of != Prediction::Raw)
            .map(|(number, _)| number);
        let (mut left, mut is_changed) = (count, false);
        loop {
            let run = input.count(left)?;
            let run_of = numbers.by_ref().take(run);
            if is_changed {
                self.changed.extend(run_of);
            } else {
                run_of.for_each(drop);
            }
            left -= run;
            if left == 0 {
                break;
            }
            is_changed = !is_changed;
        }
        by_size(&mut self.changed, &self.sample.segments);
        let segments = &self.sample.segments;
        let mut zeros = 0;
        for group in self.changed.chunk_by(|a, b| same_size(segments, *a, *b)) {
            let columns = group.first().and_then(|of| segments.get(*of)).map_or(0, words);
            for column in 0..columns {
                for number in group {
                    if zeros > 0 {
                        zeros -= 1;
                        continue;
                    }
                    let folded = input.number()?;
                    if folded == 0 {
                        zeros = input.number()?;
                        continue;
                    }
                    let segment = segments.get(*number)?;
                    let bytes = self.sample.bytes.get_mut(segment.start..)?;
                    let bytes = bytes.get_mut(..segment.length)?;
                    add_to_word(bytes, column, unfold(u32::try_from(folded).ok()?))?;
                }
            }
        }
        (zeros == 0).then_some(())
    }

    /// Completes the segments that are predicted by an earlier segment of the same sample: adds the words of the
    /// earlier segment to their words, in the order of the segments. `None` if the sample is damaged.
    fn add_alike(&mut self) -> Option<()> {
        for (segment, prediction) in self.sample.segments.iter().zip(&self.predictions) {
            let Prediction::Alike(number) = prediction else { continue };
            let of = self.sample.segments.get(*number)?;
            let (front, back) = self.sample.bytes.split_at_mut_checked(segment.start)?;
            let predicted = front.get(of.start..of.start + of.length)?;
            let bytes = back.get_mut(..segment.length)?;
            for at in 0..words(segment) {
                add_to_word(bytes, at, word(predicted, at))?;
            }
        }
        Some(())
    }
}

/// Adds `difference` to the word with the index `at`, as [`word`] counts. `None` if the word is cut
/// off at the end of the bytes and the sum does not fit.
fn add_to_word(bytes: &mut [u8], at: usize, difference: u32) -> Option<()> {
    let sum = word(bytes, at).wrapping_add(difference).to_le_bytes();
    let rest = bytes.get_mut(4 * at..)?;
    let length = rest.len().min(4);
    let (inside, outside) = sum.split_at_checked(length)?;
    rest.get_mut(..length)?.copy_from_slice(inside);
    outside.iter().all(|byte| *byte == 0).then_some(())
}
