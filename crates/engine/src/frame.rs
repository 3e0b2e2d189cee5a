//! Owned blocks and the sets of objects read from them.

mod parents;
mod pool;

pub use parents::Parents;
pub use pool::FramePool;

use crate::ask::ObjectQuery;
use crate::error::{Fault, FaultKind, SourceError};
use crate::kept_faults::KeptFaults;
use perfhive_format::{
    CalendarTime, Clocks, DataBlock, FileTime, ParseError, PerfObject, TitleIndex,
};
use std::sync::Arc;
use std::time::Duration;

/// One owned, immutable data block, validated once. Each object is validated on its own: a damaged
/// object does not hide those behind it, unless its length is damaged.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    bytes: Vec<u8>,
    objects: Vec<FrameObject>,
    damaged: Vec<(Option<TitleIndex>, ParseError)>,
    damaged_names: Vec<(TitleIndex, ParseError)>,
    machine: String,
    generation: u64,
    origin: u64,
    /// The label: a word that says what filled the frame, such as `registry`, `native` or
    /// `published`; `None` for a frame without a label.
    label: Option<Arc<str>>,
    grown: bool,
}

#[derive(Clone, Copy, Debug)]
struct FrameObject {
    start: usize,
    end: usize,
    name: TitleIndex,
}

impl Frame {
    /// The largest number of characters of a machine's name that are kept; real names have at most 255.
    pub const MOST_MACHINE: usize = 1024;

    /// A frame with the block `bytes`, which is validated.
    ///
    /// # Errors
    /// What is wrong with the header. Damaged objects are no error: they are left out and listed by
    /// [`damaged`](Self::damaged).
    pub fn new(bytes: Vec<u8>, generation: u64) -> Result<Self, ParseError> {
        let mut frame = Self { bytes, generation, ..Self::default() };
        frame.index()?;
        Ok(frame)
    }

    /// Lets the frame hold another block: replaces the bytes and validates them, and keeps the
    /// allocations. An error says what is wrong with the header; damaged objects are no error.
    fn refill(
        &mut self,
        generation: u64,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), ParseError> {
        self.generation = generation;
        let before = self.room();
        fill(&mut self.bytes);
        let indexed = self.index();
        self.grown = self.room() > before;
        indexed
    }

    /// The capacity of all buffers of the frame together, to tell whether one of them had to grow.
    fn room(&self) -> usize {
        self.bytes.capacity()
            + self.objects.capacity()
            + self.damaged.capacity()
            + self.damaged_names.capacity()
            + self.machine.capacity()
    }

    /// Validates the block, and lists its objects, damaged objects and damaged names anew. An error
    /// says what is wrong with the header.
    fn index(&mut self) -> Result<(), ParseError> {
        self.objects.clear();
        self.damaged.clear();
        self.damaged_names.clear();
        let (header, mut objects) = DataBlock::scan(&self.bytes)?;
        self.machine.clear();
        header.system_name().push_to(&mut self.machine);
        if let Some((end, _)) = self.machine.char_indices().nth(Self::MOST_MACHINE) {
            self.machine.truncate(end);
        }
        loop {
            let start = objects.offset();
            match objects.next() {
                None => break,
                Some(Ok(object)) => {
                    let (name, end) = (object.name_index(), start + object.as_bytes().len());
                    self.objects.push(FrameObject { start, end, name });
                    if let Some(mut error) = object.name_fault() {
                        error.offset += start;
                        self.damaged_names.push((name, error));
                    }
                }
                Some(Err(error)) => {
                    // The name of the damaged object is noted if its bytes are there.
                    let name = self
                        .bytes
                        .get(start.saturating_add(12)..)
                        .and_then(|rest| rest.first_chunk::<4>())
                        .map(|bytes| TitleIndex(u32::from_le_bytes(*bytes)));
                    self.damaged.push((name, error));
                }
            }
        }
        Ok(())
    }

    /// The block's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The name of the machine that the block came from, of at most 1,024 characters: of a longer one the beginning.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// The generation: a number that grows with every collection of the source that filled the
    /// frame, unless a recording is moved back.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A number that tells which source of this process filled the frame: each [`FramePool`] has a
    /// number of its own. A frame of a recording has a number that is made from its label and
    /// belongs to no pool. 0 for a frame with neither a pool nor a label. Sources count from
    /// different beginnings and by different clocks, so no value is made of two samples with
    /// different origins.
    #[must_use]
    pub fn origin(&self) -> u64 {
        self.origin
    }

    /// The label: a word that says what filled the frame, such as `registry`, `native` or `published`. A frame has
    /// the label of its pool ([`FramePool::labelled`]), or the one that was recorded with its block. Empty without a
    /// label.
    #[must_use]
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_default()
    }

    /// The same frame with this origin and label. A recording passes the label with which the block
    /// was recorded, and a number that is made from it, so that no value is made of samples of two
    /// sources.
    #[must_use]
    pub fn recorded_by(mut self, origin: u64, label: Option<Arc<str>>) -> Self {
        (self.origin, self.label) = (origin, label);
        self
    }

    /// The same frame with the origin and label of `other`, from which its objects were copied, and
    /// with the damaged names of the copied objects.
    #[must_use]
    pub fn of_origin(mut self, other: &Self) -> Self {
        let copied = |name| self.objects.iter().any(|object| object.name == name);
        let damaged = other.damaged_names.iter().filter(|(name, _)| copied(*name));
        self.damaged_names = damaged.copied().collect();
        self.recorded_by(other.origin, other.label.clone())
    }

    /// The times and frequencies in the header of the block; all 0 if the header is damaged.
    #[must_use]
    pub fn clocks(&self) -> Clocks {
        DataBlock::scan(&self.bytes).map(|(header, _)| header.clocks()).unwrap_or_default()
    }

    /// The time of the block as a file time, in steps of 100 ns; 0 if the header is damaged.
    #[must_use]
    pub fn time(&self) -> FileTime {
        let header = DataBlock::scan(&self.bytes).map(|(header, _)| header.header());
        header.map_or(FileTime::default(), |header| FileTime(header.PerfTime100nSec))
    }

    /// Calendar time of the block, UTC; all fields are 0 if the header is damaged.
    #[must_use]
    pub fn system_time(&self) -> CalendarTime {
        DataBlock::scan(&self.bytes).map(|(header, _)| header.system_time()).unwrap_or_default()
    }

    /// The calendar time as a file time, with a precision of 1 ms. If [`time`](Self::time) lies in
    /// the same millisecond, that time is returned, with its precision of 100 ns. `None` if the
    /// calendar time is not a valid date.
    #[must_use]
    pub fn system_file_time(&self) -> Option<FileTime> {
        let (date, fine) = (self.system_time().to_file_time()?, self.time());
        let is_finer = (0..10_000).contains(&fine.0.wrapping_sub(date.0));
        Some(if is_finer { fine } else { date })
    }

    /// Whether a buffer of the frame had to grow when the frame was filled. `false` for a frame
    /// that was not filled by a [`FramePool`].
    #[must_use]
    pub fn has_grown(&self) -> bool {
        self.grown
    }

    /// The number of objects that are not damaged.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// The object with the given index, from 0, among those that are not damaged; `None` behind the
    /// last object.
    #[must_use]
    pub fn object(&self, place: usize) -> Option<PerfObject<'_>> {
        let object = self.objects.get(place)?;
        let bytes = self.bytes.get(object.start..object.end)?;
        Some(PerfObject::from_validated(bytes, &self.bytes))
    }

    /// The first object in the block that has this title index as its name; `None` if there is
    /// none.
    pub(crate) fn first_of(&self, name: TitleIndex) -> Option<PerfObject<'_>> {
        self.object(self.objects.iter().position(|object| object.name == name)?)
    }

    /// The damaged objects: the title index of the name, if it can be read, and the error.
    #[must_use]
    pub fn damaged(&self) -> &[(Option<TitleIndex>, ParseError)] {
        &self.damaged
    }
}

/// The answer to an ask: a set of objects, each with the clocks, machine and generation of
/// the block it came in, and the faults of the collection.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    frames: Vec<Arc<Frame>>,
    objects: Vec<(u32, u32)>,
    /// The name of each object and its index in `objects`, sorted by name, since a block may hold
    /// many objects.
    by_name: Vec<(TitleIndex, usize)>,
    faults: Vec<Fault>,
    /// Objects of which some instances are missing.
    partial: Vec<TitleIndex>,
    /// Whether filling the snapshot allocated: a list or a frame had to grow.
    grown: bool,
    age: Duration,
    /// Faults of earlier collections. A fault that occurs again is shared, not allocated again.
    /// `None` until the snapshot makes its first fault.
    kept: Option<Box<KeptFaults>>,
}

impl Snapshot {
    /// An empty snapshot.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes everything, keeping the allocations.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.objects.clear();
        self.by_name.clear();
        self.faults.clear();
        self.partial.clear();
        self.grown = false;
        self.age = Duration::ZERO;
        self.kept.iter_mut().for_each(|kept| kept.begin());
    }

    /// Whether a buffer had to grow when the snapshot was filled: that of a block, or one of the snapshot's own
    /// lists. The buffers of frames that a cache kept do not count.
    #[must_use]
    pub fn has_grown(&self) -> bool {
        self.grown
    }

    /// The age of the oldest data: the time from the beginning of its collection until the ask.
    /// Zero if no collection began before the ask, and for a recording.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.age
    }

    /// Notes the age of a part of the data; the snapshot keeps the greatest.
    pub(crate) fn note_age(&mut self, age: Duration) {
        self.age = self.age.max(age);
    }

    /// Notes that filling the snapshot allocated.
    pub(crate) fn set_grown(&mut self) {
        self.grown = true;
    }

    /// Calls `add`, which extends the lists of the snapshot, and notes whether a list had to grow.
    fn add(&mut self, add: impl FnOnce(&mut Self)) {
        let room = |of: &Self| {
            of.frames.capacity()
                + of.objects.capacity()
                + of.by_name.capacity()
                + of.faults.capacity()
                + of.partial.capacity()
        };
        let before = room(self);
        add(self);
        self.grown |= room(self) > before;
    }

    /// Whether the snapshot may lack instances of an object, because only the wanted instances were
    /// collected ([`Ask::instances`](crate::Ask::instances)).
    #[must_use]
    pub fn is_partial(&self, object: TitleIndex) -> bool {
        self.partial.contains(&object)
    }

    /// Notes that these objects are partial.
    pub(crate) fn push_partial(&mut self, objects: &[TitleIndex]) {
        self.add(|this| this.partial.extend_from_slice(objects));
    }

    fn kept(&mut self) -> &mut KeptFaults {
        self.kept.get_or_insert_default()
    }

    /// Adds a frame with all its objects. Damaged objects and names become faults of `provider`.
    pub fn push_frame(&mut self, frame: Arc<Frame>, provider: &str) {
        self.push_frames([frame], provider);
    }

    /// Adds several frames as [`push_frame`](Self::push_frame) does one. For many frames this takes less time, since
    /// the objects are sorted once.
    pub fn push_frames(&mut self, frames: impl IntoIterator<Item = Arc<Frame>>, provider: &str) {
        self.add(|this| {
            for frame in frames {
                let place = this.frames.len() as u32;
                this.objects.extend((0..frame.object_count() as u32).map(|object| (place, object)));
                let first = this.by_name.len();
                this.by_name
                    .extend((first..).zip(&frame.objects).map(|(at, object)| (object.name, at)));
                for (name, error) in frame.damaged() {
                    let kind = FaultKind::DamagedObject(*error);
                    let fault = this.kept().make(kind, provider, (*name, None), error);
                    this.faults.push(fault);
                }
                for (name, error) in &frame.damaged_names {
                    let kind = FaultKind::DamagedName(*error);
                    let fault = this.kept().make(kind, provider, (Some(*name), None), error);
                    this.faults.push(fault);
                }
                this.grown |= frame.has_grown();
                this.frames.push(frame);
            }
            this.by_name.sort_unstable();
        });
    }

    /// Adds the objects with the title index `name` from another snapshot, with the faults that
    /// concern them. If they are partial there, they are partial here, too. The age becomes at
    /// least that of the other snapshot.
    pub(crate) fn push_objects_of(&mut self, other: &Self, name: TitleIndex) {
        self.note_age(other.age);
        self.add(|this| {
            let from = other.by_name.partition_point(|(listed, _)| *listed < name);
            let rest = other.by_name.get(from..).unwrap_or_default();
            for (_, at) in rest.iter().take_while(|(listed, _)| *listed == name) {
                let Some(&(frame, object)) = other.objects.get(*at) else { continue };
                let Some(frame) = other.frames.get(frame as usize) else { continue };
                let known = this.frames.iter().position(|known| Arc::ptr_eq(known, frame));
                let place = known.unwrap_or_else(|| {
                    this.frames.push(Arc::clone(frame));
                    this.frames.len() - 1
                });
                let entry = (name, this.objects.len());
                this.objects.push((place as u32, object));
                let place = this.by_name.partition_point(|listed| *listed < entry);
                this.by_name.insert(place, entry);
            }
            let concerned = other.faults.iter().filter(|fault| fault.object == Some(name));
            this.faults.extend(concerned.cloned());
            this.partial.extend(other.partial.iter().filter(|object| **object == name));
        });
    }

    /// Adds the faults of another snapshot that concern no object in particular.
    pub(crate) fn push_general_faults_of(&mut self, other: &Self) {
        let general = other.faults.iter().filter(|fault| fault.object.is_none());
        self.add(|this| this.faults.extend(general.cloned()));
    }

    /// Adds all objects and faults of another snapshot, its list of partial objects, and its age.
    pub fn push_all_of(&mut self, other: &Self) {
        self.note_age(other.age);
        self.add(|this| {
            let (frames, objects) = (this.frames.len() as u32, this.objects.len());
            this.frames.extend(other.frames.iter().cloned());
            this.objects.extend(other.objects.iter().map(|(frame, at)| (frame + frames, *at)));
            this.by_name.extend(other.by_name.iter().map(|(name, at)| (*name, at + objects)));
            this.by_name.sort_unstable();
            this.faults.extend(other.faults.iter().cloned());
            this.partial.extend_from_slice(&other.partial);
        });
    }

    /// Adds a fault that concerns no object in particular, with this kind and message. If the same fault
    /// of an earlier collection is still kept, that fault is used again.
    pub(crate) fn push_words(
        &mut self,
        kind: FaultKind,
        provider: &str,
        message: impl std::fmt::Display,
    ) {
        self.add(|this| {
            let fault = this.kept().make(kind, provider, (None, None), &message);
            this.faults.push(fault);
        });
    }

    /// Adds faults for a source that failed: one for each object that was asked for by index, or
    /// else one that concerns no object in particular.
    pub fn push_source_failed(&mut self, asked: &ObjectQuery, error: &SourceError) {
        self.add(|this| {
            let mut push = |object| {
                let (kind, source) = (FaultKind::SourceFailed, error.source_name());
                let fault = this.kept().make(kind, source, (object, None), &error.message());
                this.faults.push(fault);
            };
            match asked {
                ObjectQuery::Indexes(list) => list.iter().for_each(|name| push(Some(*name))),
                _ => push(None),
            }
        });
    }

    /// Adds a fault.
    pub fn push_fault(&mut self, fault: Fault) {
        self.add(|this| this.faults.push(fault));
    }

    /// The frames that hold the objects of the snapshot, in the order in which they were added.
    #[must_use]
    pub fn frames(&self) -> &[Arc<Frame>] {
        &self.frames
    }

    /// The faults of the collection: parts that could not be collected, and warnings.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The objects in the order in which they were added, those of one frame in the order of its
    /// block.
    pub fn objects(&self) -> impl Iterator<Item = SnapshotObject<'_>> {
        self.objects.iter().filter_map(|(frame, object)| self.at(*frame, *object))
    }

    fn at(&self, frame: u32, object: u32) -> Option<SnapshotObject<'_>> {
        let frame = self.frames.get(frame as usize)?;
        let view = frame.object(object as usize)?;
        Some(SnapshotObject { frame, view, place: object as usize })
    }

    /// The first object with this title index as its name; `None` if there is none. A snapshot may
    /// hold more objects than were wanted.
    #[must_use]
    pub fn object(&self, name: TitleIndex) -> Option<SnapshotObject<'_>> {
        let (frame, object) = self.objects.get(self.first_place(name)?)?;
        self.at(*frame, *object)
    }

    /// The objects, without those that have the name of an earlier one.
    pub(crate) fn first_objects(&self) -> impl Iterator<Item = SnapshotObject<'_>> {
        self.objects.iter().enumerate().filter_map(|(place, (frame, object))| {
            let object = self.at(*frame, *object)?;
            (self.first_place(object.view.name_index()) == Some(place)).then_some(object)
        })
    }

    /// The index in `objects` of the first object with this name; `None` if there is none.
    fn first_place(&self, name: TitleIndex) -> Option<usize> {
        let at = self.by_name.partition_point(|(listed, _)| *listed < name);
        let (_, place) = self.by_name.get(at).filter(|(listed, _)| *listed == name)?;
        Some(*place)
    }

    /// The name of the machine that the first block came from; `None` without a block.
    #[must_use]
    pub fn machine(&self) -> Option<String> {
        self.frames.first().map(|frame| frame.machine().to_string())
    }

    /// Calendar time of the first block, UTC; `None` without a block.
    #[must_use]
    pub fn system_time(&self) -> Option<CalendarTime> {
        self.frames.first().map(|frame| frame.system_time())
    }
}

/// One object of a [`Snapshot`].
#[derive(Clone, Copy)]
pub struct SnapshotObject<'a> {
    frame: &'a Arc<Frame>,
    view: PerfObject<'a>,
    place: usize,
}

impl<'a> SnapshotObject<'a> {
    /// The object itself: its definitions, instances and values, as a view of the block's bytes.
    #[must_use]
    pub fn view(self) -> PerfObject<'a> {
        self.view
    }

    /// The frame that the object is in.
    #[must_use]
    pub fn frame(self) -> &'a Arc<Frame> {
        self.frame
    }

    /// The object's index, from 0, among the undamaged objects of its frame.
    #[must_use]
    pub fn place(self) -> usize {
        self.place
    }

    /// The machine that the object's block came from.
    #[must_use]
    pub fn machine(self) -> &'a str {
        self.frame.machine()
    }

    /// The generation of the frame that the object is in.
    #[must_use]
    pub fn generation(self) -> u64 {
        self.frame.generation()
    }

    /// A finder of parents: the instances of other objects in the same block that the instances of
    /// this object belong to.
    #[must_use]
    pub fn parents(self) -> Parents<'a> {
        Parents::new(self.frame)
    }
}
