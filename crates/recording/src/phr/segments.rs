//! A sample cut into segments.
//!
//! What is alike from sample to sample lies in segments of its own: the header of a block, the
//! definition of each object, the head of each instance with its name, and its counters. So most
//! segments have a counterpart in the next sample that differs little.

use super::decoder::MOST_SEGMENTS;
use perfhive_engine::Frame;
use perfhive_format::winperf::{
    PERF_DATA_BLOCK, PERF_INSTANCE_DEFINITION, PERF_OBJECT_TYPE, SYSTEMTIME,
};
use perfhive_format::{CounterDefinition, Instance, PerfObject, TitleIndex};
use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;
use std::sync::Arc;

/// The counters ID Process and ID Thread, by which two instances of one name differ.
const IDENTIFIERS: [TitleIndex; 2] = [TitleIndex(784), TitleIndex(804)];

/// The kind of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// The header of a block.
    Block,
    /// The header and the counter definitions of an object.
    Definition,
    /// The definition of an instance, with its name.
    Head,
    /// Counters of an instance, or of an object without instances.
    Counters,
}

/// A part of a sample's bytes, of one kind.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    /// The offset of the first byte, in the bytes of the whole sample.
    pub(super) start: u32,
    pub(super) length: u32,
    /// The segment's kind, and a mix of its object and of the number of its frame.
    class: u32,
    /// For the head of an instance, a mix of the numbers that identify the instance, which two
    /// instances rarely share. For its counters, the offsets of the [`IDENTIFIERS`] among them, 16
    /// bits each; 0 for none.
    pub(super) id: u32,
}

impl Segment {
    const KINDS: [SegmentKind; 4] =
        [SegmentKind::Block, SegmentKind::Definition, SegmentKind::Head, SegmentKind::Counters];

    pub(super) fn kind(&self) -> SegmentKind {
        Self::KINDS[self.class as usize % Self::KINDS.len()]
    }

    /// The number of words of 4 bytes.
    pub(super) fn words(&self) -> u32 {
        self.length.div_ceil(4)
    }

    /// Whether a sample in which this segment has the bytes `new` is cut in the same way as a
    /// sample in which it has the bytes `old`: only times and values of counters differ, and no
    /// identifier.
    pub(super) fn is_cut_alike(&self, new: &[u8], old: &[u8]) -> bool {
        let is_equal = |range: Range<usize>| new.get(range.clone()) == old.get(range);
        match self.kind() {
            SegmentKind::Block => {
                let without_times = |header| PERF_DATA_BLOCK {
                    SystemTime: SYSTEMTIME::default(),
                    PerfTime: 0,
                    PerfTime100nSec: 0,
                    ..header
                };
                let header = |of| PERF_DATA_BLOCK::read(of).map(without_times);
                header(new) == header(old) && is_equal(PERF_DATA_BLOCK::SIZE..new.len())
            }
            SegmentKind::Definition => {
                let without_time = |header| PERF_OBJECT_TYPE { PerfTime: 0, ..header };
                let header = |of| PERF_OBJECT_TYPE::read(of).map(without_time);
                header(new) == header(old) && is_equal(PERF_OBJECT_TYPE::SIZE..new.len())
            }
            SegmentKind::Head => false,
            SegmentKind::Counters => {
                let offsets = [0, self.id & 0xffff, self.id >> 16].map(|offset| offset as usize);
                offsets.into_iter().all(|offset| is_equal(offset..offset + size_of::<u32>()))
            }
        }
    }

    /// Whether both segments have the same length and kind, and belong to the same object of frames
    /// with the same number.
    pub(super) fn resembles(&self, other: &Self) -> bool {
        (self.length, self.class) == (other.length, other.class)
    }
}

/// One number that is mixed from two numbers, as in a hash.
fn mix(of: u32, more: u32) -> u32 {
    of.wrapping_mul(0x9e37_79b1) ^ more
}

/// The frames of a sample, and their segments in the order of the bytes.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) frames: Vec<Arc<Frame>>,
    /// The segments of all frames, in the order of the bytes; shared with the sample before where both are cut in the
    /// same way.
    pub(super) segments: Arc<Vec<Segment>>,
}

impl Sample {
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        match Arc::get_mut(&mut self.segments) {
            Some(segments) => segments.clear(),
            None => self.segments = Arc::default(),
        }
    }

    /// Replaces the frames of the sample and cuts them into segments. A frame with which the sample would have more
    /// than half of [`MOST_SEGMENTS`] becomes a single segment. The frames have at most 4 GiB together.
    pub(super) fn set(&mut self, frames: &[Arc<Frame>]) {
        let expected = self.segments.len();
        self.clear();
        self.frames.extend_from_slice(frames);
        let segments = Arc::make_mut(&mut self.segments);
        segments.reserve(expected);
        let mut start = 0;
        for (number, frame) in (0..).zip(frames) {
            let before = segments.len();
            cut(frame, number, start, segments);
            let length = frame.as_bytes().len() as u32;
            if segments.len() > MOST_SEGMENTS / 2 {
                segments.truncate(before);
                segments.push(Segment { start, length, class: 0, id: 0 });
            }
            start += length;
        }
    }

    /// Replaces the frames of the sample by `frames`, which must be cut in the same way as those of `other`.
    pub(super) fn set_alike(&mut self, frames: &[Arc<Frame>], other: &Self) {
        self.frames.clear();
        self.frames.extend_from_slice(frames);
        self.segments = Arc::clone(&other.segments);
    }

    pub(super) fn segment(&self, number: usize) -> Option<&Segment> {
        self.segments.get(number)
    }

    pub(super) fn bytes_of(&self, segment: &Segment) -> &[u8] {
        self.rest_of(segment).get(..segment.length as usize).unwrap_or_default()
    }

    /// The bytes of the segment's frame, from the beginning of the segment to the end of the frame.
    pub(super) fn rest_of(&self, segment: &Segment) -> &[u8] {
        let mut start = segment.start as usize;
        for frame in &self.frames {
            let bytes = frame.as_bytes();
            match bytes.get(start..) {
                Some(rest) if !rest.is_empty() => return rest,
                _ => start -= bytes.len(),
            }
        }
        &[]
    }

    /// The bytes of the name of an instance, with the padding behind it; `head` is the instance's head.
    fn name(&self, head: &Segment) -> &[u8] {
        // The number of the parent, in front of the name, changes when instances of its object come or go.
        self.bytes_of(head).get(PERF_INSTANCE_DEFINITION::SIZE..).unwrap_or_default()
    }

    /// Whether a segment is the counterpart of the segment `of` of the sample `other`. For segments of counters this
    /// compares their form only: they belong to one instance if the heads in front of them are counterparts.
    pub(super) fn is_same(&self, segment: &Segment, other: &Self, of: &Segment) -> bool {
        let is_same = segment.resembles(of) && segment.id == of.id;
        is_same && (segment.kind() != SegmentKind::Head || self.name(segment) == other.name(of))
    }

    /// A hash of all that [`is_same`](Self::is_same) compares, so that counterparts have equal
    /// hashes.
    pub(super) fn key(&self, segment: &Segment) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(u64::from(segment.class) << 32 | u64::from(segment.id));
        hasher.write_u32(segment.length);
        if segment.kind() == SegmentKind::Head {
            hasher.write(self.name(segment));
        }
        hasher.finish()
    }
}

/// Appends the segments of a frame to `out`; the bytes of the frame begin at `start` in the sample.
fn cut(frame: &Frame, number: u32, start: u32, out: &mut Vec<Segment>) {
    let bytes = frame.as_bytes();
    let place = |slice: &[u8]| (slice.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
    let class = |kind: SegmentKind, object: u32| mix(object, number) << 2 | kind as u32;
    let mut cutter = Cutter { start, end: bytes.len(), open: None, out };
    cutter.begin(0, class(SegmentKind::Block, 0), 0);
    for object in (0..frame.object_count()).filter_map(|at| frame.object(at)) {
        let name = object.name_index().0;
        let [definition, head, counters] =
            [SegmentKind::Definition, SegmentKind::Head, SegmentKind::Counters]
                .map(|kind| class(kind, name));
        cutter.begin(place(object.as_bytes()), definition, 0);
        let identifiers = identifiers(object);
        let offsets = offsets(&identifiers);
        for instance in object.instances() {
            let id = id(&instance, &identifiers);
            cutter.begin(place(instance.definition_bytes()), head, id);
            cutter.begin(place(instance.counter_block().as_bytes()), counters, offsets);
        }
        if let Some(block) = object.counter_block() {
            cutter.begin(place(block.as_bytes()), counters, 0);
        }
    }
    cutter.close(bytes.len());
}

/// The counters that identify an instance of an object, in the order of [`IDENTIFIERS`]; `None`
/// for each that the object lacks, and for all while it has no instance.
fn identifiers(object: PerfObject<'_>) -> [Option<CounterDefinition<'_>>; IDENTIFIERS.len()] {
    let mut found = [None; IDENTIFIERS.len()];
    if object.instance_count() > 0 {
        for counter in object.counters() {
            let place = IDENTIFIERS.iter().position(|of| *of == counter.name_index());
            if let Some(place) = place.and_then(|place| found.get_mut(place)) {
                *place = Some(counter);
            }
        }
    }
    found
}

/// The offsets of the identifiers in the counters of an instance, 16 bits each; 0 for none, and for an identifier
/// beyond 16 bits. If such an identifier changes, the prediction of its instance may be a worse one.
fn offsets(identifiers: &[Option<CounterDefinition<'_>>]) -> u32 {
    let offsets = identifiers.iter().flatten().map(|identifier| identifier.offset());
    offsets.fold(0, |all, offset| all << 16 | u32::from(u16::try_from(offset).unwrap_or(0)))
}

/// A mix of an instance's number and identifiers.
fn id(instance: &Instance<'_>, identifiers: &[Option<CounterDefinition<'_>>]) -> u32 {
    let block = instance.counter_block();
    let number = instance.unique_id().unwrap_or_default() as u32;
    identifiers.iter().flatten().fold(number, |id, identifier| {
        let value = block.value(identifier).unwrap_or_default();
        mix(id, value as u32)
    })
}

/// Appends segments in the order of their bytes.
struct Cutter<'a> {
    start: u32,
    end: usize,
    /// The place, class and id of the segment that has no end yet.
    open: Option<(usize, u32, u32)>,
    out: &'a mut Vec<Segment>,
}

impl Cutter<'_> {
    /// Begins a segment at the offset `at`, unless the segment before begins at the same offset or
    /// behind it. In that case the bytes belong to the segment before.
    fn begin(&mut self, at: usize, class: u32, id: u32) {
        let is_behind = self.open.is_none_or(|(open, ..)| at > open);
        if is_behind && at < self.end {
            self.close(at);
            self.open = Some((at, class, id));
        }
    }

    fn close(&mut self, at: usize) {
        if let Some((open, class, id)) = self.open.take() {
            let (start, length) = (self.start + open as u32, (at - open) as u32);
            self.out.push(Segment { start, length, class, id });
        }
    }
}
