//! Samples as differences to the sample before.
//!
//! A prediction only makes the differences small: with any segment of the same length as
//! prediction, the decoder would return the same bytes. So the counterpart of an instance is looked
//! for where it mostly is, behind the counterpart of the instance before.

use super::decoder::{ALIKE, END, JUMP, KEEP, RAW, word};
use super::segments::{Sample, Segment, SegmentKind};
use super::varint::{fold, put};
use perfhive_engine::Frame;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// The number of segments among which the counterpart of a segment is searched one by one, from the
/// expected one on. So many instances may begin or end between two others at little cost.
const NEAR: usize = 64;

/// A run of segments that follow each other and are predicted in the same way.
#[derive(Clone, Copy)]
struct Run {
    /// The number of the first segment.
    first: usize,
    count: usize,
    by: By,
}

/// The source of the prediction of segments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The segments of the sample before, from this number on.
    Before(usize),
    /// Segments earlier in this sample.
    Alike,
    /// No prediction: the bytes are written as they are.
    Raw,
}

/// A segment that differs from its prediction.
struct Changed {
    words: u32,
    /// The index of the segment among all that are predicted.
    place: usize,
    number: usize,
    /// The number of the predicting segment: in this sample if `is_alike` is true, otherwise in the sample before.
    prediction: usize,
    is_alike: bool,
}

/// Turns samples into differences.
#[derive(Default)]
pub(super) struct Encoder {
    before: Sample,
    sample: Sample,
    runs: Vec<Run>,
    changed: Vec<Changed>,
    /// The number of the segment with each key in the sample before; filled once an instance was
    /// not found near its expected place.
    places: HashMap<u64, usize, BuildHasherDefault<Hashed>>,
    columns: Columns,
    /// Whether the sample is cut into segments in the same way as the sample before. Then `changed` has the segments
    /// that differ.
    is_cut_alike: bool,
}

impl Encoder {
    /// The frames of the sample before.
    pub(super) fn frames_before(&self) -> &[Arc<Frame>] {
        &self.before.frames
    }

    /// Takes the next sample. Its frames are kept, since the sample after it is compared with them.
    /// Returns whether the sample has the same objects, definitions and instances as the sample
    /// before: only times and values differ.
    pub(super) fn take(&mut self, frames: &[Arc<Frame>]) -> bool {
        std::mem::swap(&mut self.before, &mut self.sample);
        self.changed.clear();
        self.is_cut_alike = compare_alike(frames, &self.before, &mut self.changed);
        match self.is_cut_alike {
            true => self.sample.set_alike(frames, &self.before),
            false => self.sample.set(frames),
        }
        self.is_cut_alike
    }

    /// Forgets the samples.
    pub(super) fn clear(&mut self) {
        self.sample.clear();
        self.before.clear();
    }

    /// Appends the sample to `out`: complete if `is_key` is set, or else as differences to the
    /// sample before.
    pub(super) fn encode(&mut self, is_key: bool, out: &mut Vec<u8>) {
        if is_key {
            self.before.clear();
        }
        let predicted = if self.is_cut_alike && !is_key {
            let count = self.sample.segments.len();
            self.runs.clear();
            self.runs.push(Run { first: 0, count, by: By::Before(0) });
            count
        } else {
            self.predict()
        };
        self.put_operations(out);
        for run in self.runs.iter().filter(|run| run.by == By::Raw) {
            let segments = self.sample.segments.iter().skip(run.first).take(run.count);
            segments.for_each(|of| out.extend_from_slice(self.sample.bytes_of(of)));
        }
        put_turns(&self.changed, predicted, out);
        self.put_differences(out);
    }

    /// Finds the prediction of each segment, and the segments that differ from theirs. Returns the
    /// number of predicted segments.
    fn predict(&mut self) -> usize {
        self.runs.clear();
        self.changed.clear();
        let mut is_listed = false;
        let (mut number, mut next, mut place) = (0, 0, 0);
        while number < self.sample.segments.len() {
            let (first, from) = (number, next);
            loop {
                let equal = self.equal(number, next);
                (number, next, place) = (number + equal, next + equal, place + equal);
                if !self.is_same(number, next) {
                    break;
                }
                self.compare(number, next, false, place);
                (number, next, place) = (number + 1, next + 1, place + 1);
            }
            if number > first {
                self.runs.push(Run { first, count: number - first, by: By::Before(from) });
                continue;
            }
            if let Some(found) = self.find(number, next, &mut is_listed) {
                next = found;
                continue;
            }
            let by = match alike(&self.sample, number) {
                Some(alike) => {
                    self.compare(number, alike, true, place);
                    place += 1;
                    By::Alike
                }
                None => By::Raw,
            };
            match self.runs.last_mut().filter(|run| run.by == by) {
                Some(run) => run.count += 1,
                None => self.runs.push(Run { first: number, count: 1, by }),
            }
            number += 1;
        }
        place
    }

    /// The number of segments from `number` on that equal those of the sample before from `of` on.
    /// The result may be a little too small.
    fn equal(&self, number: usize, of: usize) -> usize {
        let Self { sample, before, .. } = self;
        let is_alike =
            |segment: &Segment, of: &Segment| segment.resembles(of) && segment.id == of.id;
        let pair = sample.segment(number).zip(before.segment(of));
        let Some((first, of_first)) = pair.filter(|(segment, of)| is_alike(segment, of)) else {
            return 0;
        };
        let mut left = equal_bytes(sample.rest_of(first), before.rest_of(of_first));
        let segments = sample.segments.iter().skip(number).zip(before.segments.iter().skip(of));
        let is_equal = |(segment, of): &(&Segment, &Segment)| {
            let length = segment.length as usize;
            let is_inside = length <= left && is_alike(segment, of);
            left -= if is_inside { length } else { 0 };
            is_inside
        };
        segments.take_while(is_equal).count()
    }

    /// Whether the segment `number` is the counterpart of the segment `of` of the sample before.
    fn is_same(&self, number: usize, of: usize) -> bool {
        let Self { sample, before, .. } = self;
        let pair = sample.segment(number).zip(before.segment(of));
        pair.is_some_and(|(segment, of)| sample.is_same(segment, before, of))
    }

    /// Adds the segment `number` to `changed` if it differs from its prediction: the segment `prediction` of this
    /// sample if `is_alike` is true, otherwise of the sample before. `place` is the segment's index among all that are
    /// predicted.
    fn compare(&mut self, number: usize, prediction: usize, is_alike: bool, place: usize) {
        let Self { sample, before, .. } = self;
        let source = if is_alike { &*sample } else { &*before };
        let pair = sample.segment(number).zip(source.segment(prediction));
        if let Some((segment, of)) = pair
            && sample.bytes_of(segment) != source.bytes_of(of)
        {
            let words = segment.words();
            self.changed.push(Changed { words, place, number, prediction, is_alike });
        }
    }

    /// The number, in the sample before, of the counterpart of the segment `number`; the segment
    /// `next` there is known not to be the counterpart. `None` if none is found, and for a segment
    /// of counters. `is_listed` says whether `places` is filled for this sample; it is set when
    /// that is done.
    fn find(&mut self, number: usize, next: usize, is_listed: &mut bool) -> Option<usize> {
        let segment = *self.sample.segment(number)?;
        if segment.kind() == SegmentKind::Counters || self.before.segments.is_empty() {
            return None;
        }
        // If instances ended, the counterpart stands a little further on.
        let further = (next..).take(NEAR).find(|at| self.is_same(number, *at));
        if further.is_some() {
            return further;
        }
        // If instances began, this segment is new, and the segment at `next` has its counterpart
        // further on in this sample. Where an instance's counters have another length than before,
        // the old ones stand at `next`; they are passed over.
        let is_counters = |of: &_| matches!(of, Some(SegmentKind::Counters));
        let kind = self.before.segment(next).map(|of| of.kind());
        let next = next + usize::from(is_counters(&kind));
        if (number..).take(NEAR).any(|further| self.is_same(further, next)) {
            return None;
        }
        if !*is_listed {
            *is_listed = true;
            self.places.clear();
            let listed = self.before.segments.iter().enumerate();
            let listed = listed.filter(|(_, of)| of.kind() != SegmentKind::Counters);
            self.places.extend(listed.map(|(at, of)| (self.before.key(of), at)));
        }
        let found = *self.places.get(&self.sample.key(&segment))?;
        self.is_same(number, found).then_some(found)
    }

    fn put_operations(&self, out: &mut Vec<u8>) {
        let mut next = 0;
        for Run { first, count, by } in self.runs.iter().copied() {
            let code = match by {
                By::Before(from) => {
                    if from != next {
                        out.push(JUMP);
                        put(out, from as u64);
                    }
                    next = from + count;
                    KEEP
                }
                By::Alike => ALIKE,
                By::Raw => RAW,
            };
            out.push(code);
            put(out, count as u64);
            for number in first..first + count {
                match by {
                    By::Before(_) => break,
                    By::Alike => {
                        let back = alike(&self.sample, number).map_or(0, |alike| number - alike);
                        put(out, back as u64);
                    }
                    By::Raw => {
                        put(out, self.sample.segment(number).map_or(0, |of| of.length.into()));
                    }
                }
            }
        }
        out.push(END);
    }

    fn put_differences(&mut self, out: &mut Vec<u8>) {
        let Self { sample, before, changed, columns, .. } = self;
        // Sorted in place, since memory that is allocated for each sample is slow at first use.
        changed.sort_unstable_by_key(|changed| (changed.words, changed.place));
        let pair = |changed: &Changed| {
            let source = if changed.is_alike { &*sample } else { &*before };
            let predicted = source.bytes_of(source.segment(changed.prediction)?);
            Some((predicted, sample.bytes_of(sample.segment(changed.number)?)))
        };
        let mut zeros = 0;
        for group in changed.chunk_by(|a, b| a.words == b.words) {
            let words = group.first().map_or(0, |first| first.words as usize);
            columns.put(words, group.iter().filter_map(pair), &mut zeros, out);
        }
        put_zeros(&mut zeros, out);
    }
}

/// The bytes of the prediction of a segment, and the bytes of the segment.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// The differences of segments of one size, word by word.
#[derive(Default)]
struct Columns {
    /// For each word, the bits in which at least one of the segments differs from its prediction.
    bits: Vec<u32>,
    /// The numbers of the words in which at least one of the segments differs from its prediction.
    numbers: Vec<usize>,
    /// The differences in the first word of `numbers`, of all segments, then those in the second, and so on.
    differences: Vec<u32>,
}

impl Columns {
    /// Appends the differences of `pairs`, segments of `words` words each. `zeros` is the number of
    /// equal words that are not yet written.
    fn put<'a>(
        &mut self,
        words: usize,
        pairs: impl Iterator<Item = Pair<'a>> + Clone,
        zeros: &mut u64,
        out: &mut Vec<u8>,
    ) {
        let Self { bits, numbers, differences } = self;
        bits.clear();
        bits.resize(words, 0);
        let mut rows = 0;
        for (predicted, bytes) in pairs.clone() {
            rows += 1;
            let whole = predicted.as_chunks().0.iter().zip(bytes.as_chunks().0);
            for (bits, (predicted, bytes)) in bits.iter_mut().zip(whole) {
                *bits |= u32::from_le_bytes(*predicted) ^ u32::from_le_bytes(*bytes);
            }
            // A last word that is not whole is not among these.
            if let Some(bits) = bits.last_mut() {
                *bits |= word(predicted, words - 1) ^ word(bytes, words - 1);
            }
        }
        numbers.clear();
        numbers.extend((0..words).zip(&*bits).filter(|(_, bits)| **bits != 0).map(|(at, _)| at));
        // Segment by segment, since these lie far from each other.
        differences.clear();
        differences.resize(numbers.len() * rows, 0);
        for (row, (predicted, bytes)) in pairs.enumerate() {
            let places = differences.iter_mut().skip(row).step_by(rows);
            for (column, place) in numbers.iter().zip(places) {
                *place = fold(word(bytes, *column).wrapping_sub(word(predicted, *column)));
            }
        }
        let mut next = 0;
        for (column, differences) in numbers.iter().zip(differences.chunks(rows.max(1))) {
            *zeros += ((column - next) * rows) as u64;
            next = column + 1;
            for difference in differences {
                if *difference == 0 {
                    *zeros += 1;
                    continue;
                }
                put_zeros(zeros, out);
                put(out, u64::from(*difference));
            }
        }
        *zeros += ((words - next) * rows) as u64;
    }
}

/// Lists in `changed` the segments of `before` that have other bytes in `frames`. Returns whether
/// `frames` are cut in the same way as `before`. Equal bytes are always cut in the same way, so
/// this is faster than to cut first and compare then.
fn compare_alike(frames: &[Arc<Frame>], before: &Sample, changed: &mut Vec<Changed>) -> bool {
    let length = |frame: &Arc<Frame>| frame.as_bytes().len();
    if !frames.iter().map(length).eq(before.frames.iter().map(length)) {
        return false;
    }
    let mut segments = before.segments.iter().enumerate().peekable();
    let mut start = 0;
    for (new, old) in frames.iter().zip(&before.frames) {
        let (new, old) = (new.as_bytes(), old.as_bytes());
        let mut equal_to = 0;
        while let Some((number, segment)) =
            segments.next_if(|(_, segment)| (segment.start as usize) < start + new.len())
        {
            let from = segment.start as usize - start;
            let end = from + segment.length as usize;
            if equal_to < end {
                let rest = new.get(from..).zip(old.get(from..));
                equal_to = from + rest.map_or(0, |(new, old)| equal_bytes(new, old));
            }
            let bytes = new.get(from..end).zip(old.get(from..end));
            let Some((new, old)) = bytes.filter(|(new, old)| equal_to < end && new != old) else {
                continue;
            };
            if !segment.is_cut_alike(new, old) {
                return false;
            }
            let words = segment.words();
            let (place, prediction) = (number, number);
            changed.push(Changed { words, place, number, prediction, is_alike: false });
        }
        start += new.len();
    }
    true
}

/// The number of bytes that are equal at the beginning of both slices, in steps of 64 bytes and up
/// to 64 KiB; more bytes may be equal. No more are compared, so that the time grows with the bytes
/// of a sample and not with their square.
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    const WIDE: usize = 64;
    const MOST: usize = 1024;
    let (a, b) = (a.as_chunks::<WIDE>().0, b.as_chunks::<WIDE>().0);
    WIDE * a.iter().zip(b).take(MOST).take_while(|(a, b)| a == b).count()
}

/// The number of the nearest of the 8 segments before the segment `number` that resembles it, such
/// as the counters of the instance before. `None` if there is none, and for a segment that is not
/// of counters or does not consist of whole words.
fn alike(sample: &Sample, number: usize) -> Option<usize> {
    // Between the counters of two instances stand heads, also those of instances without counters.
    const NEAR: usize = 8;
    let segment = sample.segment(number)?;
    let may_be = segment.kind() == SegmentKind::Counters && segment.length.is_multiple_of(4);
    let near = may_be.then_some(number.saturating_sub(NEAR)..number)?;
    near.rev().find(|at| sample.segment(*at).is_some_and(|of| of.resembles(segment)))
}

/// Writes the lengths of the runs of segments, by turns of those that equal their prediction and
/// those that differ; `predicted` is the number of all predicted segments.
fn put_turns(changed: &[Changed], predicted: usize, out: &mut Vec<u8>) {
    let mut end = 0;
    for run in changed.chunk_by(|a, b| a.place + 1 == b.place) {
        let first = run.first().map_or(end, |of| of.place);
        put(out, (first - end) as u64);
        put(out, run.len() as u64);
        end = first + run.len();
    }
    if end < predicted || predicted == 0 {
        put(out, (predicted - end) as u64);
    }
}

/// Writes the length of a run of words that equal their prediction, and sets the length to 0.
fn put_zeros(zeros: &mut u64, out: &mut Vec<u8>) {
    if *zeros > 0 {
        out.push(0);
        put(out, *zeros - 1);
        *zeros = 0;
    }
}

/// A hasher for keys that are hashes already: its result is the key itself.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
