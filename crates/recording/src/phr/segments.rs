//! A data block cut into segments.
//!
//! What is alike from sample to sample lies in segments of its own: the block's header, the
//! definition of each object, the head of each instance with its name, and its counters. Each
//! has a key by which the next sample finds its counterpart.

use perfhive_engine::Frame;
use perfhive_format::{Instance, PerfObject, TitleIndex};
use std::hash::{DefaultHasher, Hash, Hasher};

/// ID Process and ID Thread: two instances of one name differ in these.
const IDENTIFIERS: [TitleIndex; 2] = [TitleIndex(784), TitleIndex(804)];

/// A piece of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The first byte, counted from the beginning of the sample's bytes.
    pub(super) start: usize,
    pub(super) length: usize,
    /// Equal for counterparts in different samples.
    pub(super) key: u64,
    /// Equal for segments of one sample that resemble each other: the counters of the instances
    /// of one object. 0 for those that resemble none.
    pub(super) class: u64,
}

/// Appends the segments of a frame, whose bytes begin at `start` in the sample.
pub(super) fn cut(frame: &Frame, number: usize, start: usize, out: &mut Vec<Segment>) {
    let bytes = frame.as_bytes();
    let place = |slice: &[u8]| (slice.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
    let mut cutter = Cutter { start, end: bytes.len(), open: None, out };
    cutter.begin(0, hash((0_u8, number)), 0);
    for (nth, object) in (0..frame.object_count()).filter_map(|at| Some((at, frame.object(at)?))) {
        let name = object.name_index();
        cutter.begin(place(object.as_bytes()), hash((1_u8, number, name)), 0);
        let class = hash((2_u8, number, nth));
        let identifiers = Identifiers::of(object);
        for instance in object.instances() {
            let counters = instance.counter_block().as_bytes();
            let key = identity(&instance, &identifiers, class);
            cutter.begin(place(instance.definition_bytes()), key, 0);
            cutter.begin(place(counters), !key, class);
        }
        if let Some(counters) = object.counter_block() {
            cutter.begin(place(counters.as_bytes()), hash((5_u8, number, name)), class);
        }
    }
    cutter.close(bytes.len());
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    // 0 means that there is no class.
    hasher.finish() | 1
}

/// The counters that identify an instance of an object.
struct Identifiers<'a>(Vec<perfhive_format::CounterDefinition<'a>>);

impl<'a> Identifiers<'a> {
    fn of(object: PerfObject<'a>) -> Self {
        Self(object.counters().filter(|of| IDENTIFIERS.contains(&of.name_index())).collect())
    }
}

/// A hash of what an instance has in each sample: its object, number, name and identifiers.
fn identity(instance: &Instance<'_>, identifiers: &Identifiers<'_>, object: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    // The number of the parent changes with its object's list, so it does not identify.
    let head = instance.raw();
    let name = instance.definition_bytes().get(head.NameOffset as usize..);
    hasher.write_u64(object ^ u64::from(head.UniqueID as u32) << 32);
    hasher.write(name.unwrap_or_default());
    let block = instance.counter_block();
    for identifier in &identifiers.0 {
        hasher.write_u64(block.value(identifier).unwrap_or_default());
    }
    hasher.finish()
}

/// Segments in the order of their bytes.
struct Cutter<'a> {
    start: usize,
    end: usize,
    /// The place, key and class of the segment that has no end yet.
    open: Option<(usize, u64, u64)>,
    out: &'a mut Vec<Segment>,
}

impl Cutter<'_> {
    /// Begins a segment, unless its place is not behind the last one's: then the bytes belong
    /// to the last one.
    fn begin(&mut self, at: usize, key: u64, class: u64) {
        let is_behind = self.open.is_none_or(|(open, ..)| at > open);
        if is_behind && at < self.end {
            self.close(at);
            self.open = Some((at, key, class));
        }
    }

    fn close(&mut self, at: usize) {
        if let Some((open, key, class)) = self.open.take() {
            let (start, length) = (self.start + open, at - open);
            self.out.push(Segment { start, length, key, class });
        }
    }
}
