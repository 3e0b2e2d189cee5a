//! Recorded data blocks as a source: the samples of one machine, one after the other.

use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Fault, FaultKind, Frame, ObjectQuery, Recording, Snapshot,
    Source, SourceError, SourceErrorKind, Span, TitleDatabase,
};
use perfhive_format::titles::TitleList;
use perfhive_format::{DataBlock, FileTime, LanguageId, TitleIndex, encode_utf16};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// A data block of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedBlock {
    /// The block's name in messages.
    pub name: String,
    /// The block's bytes.
    pub bytes: Vec<u8>,
    /// The [label](Frame::label) of the block's origin, if the recording has it.
    pub label: Option<String>,
}

impl From<(String, Vec<u8>)> for RecordedBlock {
    fn from((name, bytes): (String, Vec<u8>)) -> Self {
        Self { name, bytes, label: None }
    }
}

/// A source of recorded data blocks. Every collection answers with the next sample; behind the last
/// sample the error is [`EndOfData`](SourceErrorKind::EndOfData).
///
/// An ask for `Global`, `Costly` or `Foreign` objects is answered with the blocks as recorded. An
/// ask for objects by their title indexes is answered with these objects of the first block's
/// machine, and with the objects of their instances' parents, as Windows adds Process to Thread.
pub struct ReplaySource {
    name: String,
    samples: Box<dyn Samples>,
    titles: Vec<Arc<TitleDatabase>>,
    /// Faults of the recording as a whole, which every answer has.
    faults: Vec<Fault>,
    /// The catalogue; `None` until it is first asked for.
    catalogue: Option<Arc<Catalogue>>,
    /// The error behind the last sample. It is made once, because a measurement that goes on gets
    /// it with every collection and must not allocate.
    end: Option<SourceError>,
}

/// The samples of a recording in their order, in memory or in a file.
pub(crate) trait Samples: Send {
    /// The next sample; `None` behind the last one.
    fn next(&mut self) -> Result<Option<Sample>, SourceError>;

    /// Returns, once, the faults of what the recording has behind its last sample; empty before the
    /// end was reached.
    fn left(&mut self) -> Vec<Fault> {
        Vec::new()
    }

    /// Moves to the first sample at the time `to` or later, or with `None` to the first sample.
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError>;

    /// The times of the first and the last sample, and the number of samples.
    fn span(&mut self) -> Result<Span, SourceError>;

    /// The latest time of all samples. Where the clock was set back, it may be later than the time
    /// of the last sample.
    fn latest(&mut self) -> Result<FileTime, SourceError> {
        Ok(self.span()?.end)
    }

    /// The machine's name, and the objects of all samples. An object is there at least once for each
    /// list of counters that it had.
    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError>;
}

/// A sample of a recording.
#[derive(Clone, Default)]
pub(crate) struct Sample {
    /// The sample's blocks, the machine's own first.
    pub(crate) frames: Vec<Arc<Frame>>,
    /// The faults of the collection, as recorded.
    pub(crate) faults: Vec<Fault>,
}

/// Samples in memory.
struct InMemory {
    samples: Vec<Vec<Arc<Frame>>>,
    next: usize,
}

impl InMemory {
    /// The time of a sample's first block.
    fn time(sample: &[Arc<Frame>]) -> FileTime {
        sample.first().map_or(FileTime::default(), |frame| frame.time())
    }
}

impl Samples for InMemory {
    fn next(&mut self) -> Result<Option<Sample>, SourceError> {
        let found = self.samples.get(self.next).cloned();
        self.next += usize::from(found.is_some());
        Ok(found.map(|frames| Sample { frames, faults: Vec::new() }))
    }

    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        let is_before = |sample: &Vec<_>| to.is_some_and(|to| Self::time(sample) < to);
        self.next = self.samples.iter().take_while(|sample| is_before(sample)).count();
        Ok(())
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        let time = |sample: Option<&Vec<_>>| sample.map_or(FileTime(0), |one| Self::time(one));
        let (begin, end) = (time(self.samples.first()), time(self.samples.last()));
        let mut span = Span::new(begin, end, self.samples.len() as u64);
        span.goes_back = !self.samples.is_sorted_by_key(|sample| Self::time(sample));
        Ok(span)
    }

    fn latest(&mut self) -> Result<FileTime, SourceError> {
        Ok(self.samples.iter().map(|sample| Self::time(sample)).max().unwrap_or_default())
    }

    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError> {
        let first = self.samples.first().and_then(|sample| sample.first());
        let machine = first.map(|frame| frame.machine().to_string()).unwrap_or_default();
        let mut seen = SeenObjects::default();
        self.samples.iter().flatten().for_each(|frame| seen.add(frame));
        Ok((machine, seen.objects))
    }
}

/// The objects of many frames, each once with each of its definitions.
#[derive(Default)]
pub(crate) struct SeenObjects {
    /// The definitions of each index, which are several where machines differ.
    known: HashMap<TitleIndex, Vec<Vec<u8>>>,
    pub(crate) objects: Vec<CatalogueObject>,
}

impl SeenObjects {
    pub(crate) fn add(&mut self, frame: &Frame) {
        for object in (0..frame.object_count()).filter_map(|place| frame.object(place)) {
            let definitions = object.definition_bytes();
            let known = self.known.entry(object.name_index()).or_default();
            if !known.iter().any(|one| one == definitions) {
                known.push(definitions.to_vec());
                self.objects.push(CatalogueObject::of(object));
            }
        }
    }
}

impl ReplaySource {
    /// A source of samples with one block each. The blocks are given in the order of time and not
    /// sorted here; each block has a name for messages.
    ///
    /// # Errors
    /// [`SourceErrorKind::Malformed`] where there is no block or one is not a data block,
    /// [`SourceErrorKind::Mismatch`] where the blocks are not of one machine.
    pub fn new(
        name: &str,
        blocks: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, SourceError> {
        Self::of_samples(name, blocks.into_iter().map(|block| vec![block.into()]))
    }

    /// A source of samples of one or more blocks each. The first block of a sample comes from the
    /// recorded machine; the others may come from other machines.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_samples(
        name: &str,
        samples: impl IntoIterator<Item = Vec<RecordedBlock>>,
    ) -> Result<Self, SourceError> {
        Ok(Self::of(name, Self::in_memory(name, samples)?))
    }

    /// The blocks as samples in memory, with the errors of [`new`](Self::new).
    pub(crate) fn in_memory(
        name: &str,
        samples: impl IntoIterator<Item = Vec<RecordedBlock>>,
    ) -> Result<Box<dyn Samples>, SourceError> {
        let mut kept: Vec<Vec<Arc<Frame>>> = Vec::new();
        let mut first_name = String::new();
        for (generation, blocks) in (1..).zip(samples) {
            let mut frames = Vec::with_capacity(blocks.len());
            for RecordedBlock { name: block_name, bytes, label } in blocks {
                let frame = Frame::new(bytes, generation).map_err(|error| {
                    SourceError::new(SourceErrorKind::Malformed, &block_name, error)
                })?;
                let (origin, label) = origin_of(label.as_deref());
                let frame = frame.recorded_by(origin, label);
                match kept.first().and_then(|sample| sample.first()) {
                    Some(first) if frames.is_empty() => {
                        check_same_machine(first, &frame, &first_name, &block_name)?;
                    }
                    None if frames.is_empty() => first_name = block_name,
                    _ => {}
                }
                frames.push(Arc::new(frame));
            }
            if !frames.is_empty() {
                kept.push(frames);
            }
        }
        if kept.is_empty() {
            let message = "no blocks were given";
            return Err(SourceError::new(SourceErrorKind::Malformed, name, message));
        }
        Ok(Box::new(InMemory { samples: kept, next: 0 }))
    }

    /// A source over any kind of samples.
    pub(crate) fn of(name: &str, samples: Box<dyn Samples>) -> Self {
        Self {
            name: name.to_string(),
            samples,
            titles: Vec::new(),
            faults: Vec::new(),
            catalogue: None,
            end: None,
        }
    }

    /// The error behind the last sample; its message has the number of samples.
    fn end(&mut self) -> Result<SourceError, SourceError> {
        if let Some(end) = &self.end {
            return Ok(end.clone());
        }
        let message = match self.samples.span()?.samples {
            0 => "the recording has no sample".to_string(),
            1 => "the recording has no more than 1 sample".to_string(),
            count => format!("the recording has no more than {count} samples"),
        };
        let end = SourceError::new(SourceErrorKind::EndOfData, &self.name, message);
        Ok(self.end.insert(end).clone())
    }

    /// Adds the names of one language. If the language was added before, only names for indexes
    /// without a name are added.
    #[must_use]
    pub fn with_titles(self, language: LanguageId, names: &TitleList) -> Self {
        let help = TitleList::default();
        self.with_database(Arc::new(TitleDatabase::new(language, names, &help)))
    }

    /// Adds a title database. If its language was added before, only titles for indexes without a
    /// title are added.
    #[must_use]
    pub fn with_database(mut self, database: Arc<TitleDatabase>) -> Self {
        let language = database.language();
        match self.titles.iter_mut().find(|known| known.language() == language) {
            Some(known) => *known = Arc::new(known.completed_by(&database)),
            None => self.titles.push(database),
        }
        self.catalogue = None;
        self
    }

    /// Adds faults that every answer has.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>) -> Self {
        self.faults.extend(faults);
        self
    }
}

/// The number of a frame's origin, which is made from the label, and the label itself; 0 and `None`
/// without a label. A label gives the same number in every file. No live source has such a number.
pub(crate) fn origin_of(label: Option<&str>) -> (u64, Option<Arc<str>>) {
    let Some(label) = label else { return (0, None) };
    let mut hasher = DefaultHasher::new();
    label.hash(&mut hasher);
    (hasher.finish() | 1 << 63, Some(label.into()))
}

fn check_same_machine(
    first: &Frame,
    other: &Frame,
    first_name: &str,
    other_name: &str,
) -> Result<(), SourceError> {
    let mismatch =
        |message: String| Err(SourceError::new(SourceErrorKind::Mismatch, other_name, message));
    if first.machine() != other.machine() {
        return mismatch(format!(
            "comes from machine {:?}, but {first_name} from {:?}: samples must be of one machine",
            other.machine(),
            first.machine()
        ));
    }
    let (a, b) = (first.clocks(), other.clocks());
    if a.perf_freq != b.perf_freq {
        return mismatch(format!(
            "has a clock of {} Hz, but {first_name} one of {} Hz: these are not samples of one \
             machine",
            b.perf_freq, a.perf_freq
        ));
    }
    Ok(())
}

/// The indexes of the wanted objects, and of the objects of their instances' parents.
fn with_parents(frame: &Frame, wanted: &HashSet<TitleIndex>) -> HashSet<TitleIndex> {
    let objects = (0..frame.object_count()).filter_map(|place| frame.object(place));
    let parents = objects
        .filter(|object| wanted.contains(&object.name_index()))
        .flat_map(|object| object.instances().filter_map(|instance| instance.parent()))
        .map(|(parent, _)| parent);
    wanted.iter().copied().chain(parents).collect()
}

/// Copies the wanted objects of a frame into a frame of their own; `None` where the block's header
/// is damaged.
pub(crate) fn select(
    frame: &Frame,
    wanted: &HashSet<TitleIndex>,
    generation: u64,
) -> Option<Frame> {
    let block = DataBlock::scan(frame.as_bytes()).ok()?.0.header();
    let mut bytes = frame.as_bytes().get(..block.HeaderLength as usize)?.to_vec();
    let mut header = block;
    // The machine's name may lie behind the objects, which are about to move.
    let name_end = block.SystemNameOffset.checked_add(block.SystemNameLength);
    if name_end.is_none_or(|end| end > block.HeaderLength) {
        header.SystemNameOffset = block.HeaderLength;
        bytes.extend(encode_utf16(frame.machine()).iter().chain(&[0, 0]));
        header.SystemNameLength = u32::try_from(bytes.len()).ok()? - block.HeaderLength;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        header.HeaderLength = u32::try_from(bytes.len()).ok()?;
    }
    header.NumObjectTypes = 0;
    for object in (0..frame.object_count()).filter_map(|place| frame.object(place)) {
        if wanted.contains(&object.name_index()) {
            bytes.extend_from_slice(object.as_bytes());
            header.NumObjectTypes += 1;
        }
    }
    header.TotalByteLength = u32::try_from(bytes.len()).ok()?;
    header.write(&mut bytes)?;
    Some(Frame::new(bytes, generation).ok()?.of_origin(frame))
}

/// Adds the counters of another sample's definition to a catalogue entry.
fn merge(entry: &mut CatalogueObject, other: CatalogueObject) {
    let known: HashSet<TitleIndex> = entry.counters.iter().map(|counter| counter.name).collect();
    entry.counters.extend(other.counters.into_iter().filter(|c| !known.contains(&c.name)));
}

impl Source for ReplaySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let Some(Sample { frames, faults }) = self.samples.next()? else {
            // These faults belong to no sample, and would be lost.
            self.samples.left().into_iter().for_each(|fault| out.push_fault(fault));
            self.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
            return Err(self.end()?);
        };
        faults.into_iter().for_each(|fault| out.push_fault(fault));
        self.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
        let ObjectQuery::Indexes(list) = &request.objects else {
            out.push_frames(frames, &self.name);
            return Ok(());
        };
        let wanted: HashSet<TitleIndex> = list.iter().copied().collect();
        let is_own =
            |frame: &Frame| frames.first().is_none_or(|own| own.machine() == frame.machine());
        // The wanted objects are copied into new blocks.
        for (place, frame) in frames.iter().enumerate() {
            // Objects of other machines would pass for objects of the first one: `MachinePart`
            // reads them.
            if !is_own(frame) {
                continue;
            }
            let selected = select(frame, &with_parents(frame, &wanted), frame.generation());
            let Some(selected) = selected else {
                out.push_frame(Arc::clone(frame), &self.name);
                continue;
            };
            // Damage is reported even where the object is left out.
            for (name, error) in frame.damaged() {
                if name.is_none_or(|name| wanted.contains(&name)) {
                    let kind = FaultKind::DamagedObject(*error);
                    let mut fault = Fault::new(kind, &self.name, error);
                    fault.object = *name;
                    out.push_fault(fault);
                }
            }
            // The first frame has the machine and the time, even without objects.
            if place == 0 || selected.object_count() > 0 {
                out.push_frame(Arc::new(selected), &self.name);
            }
        }
        Ok(())
    }

    /// The catalogue of all samples, including objects that appear in later ones.
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let (machine, objects) = self.samples.objects()?;
        let languages = self.titles.iter().map(|database| database.language()).collect();
        let mut catalogue = Catalogue::new(&machine, languages, Vec::new()).with_generation(1);
        let mut places: HashMap<TitleIndex, usize> = HashMap::new();
        for object in objects {
            let place = *places.entry(object.name).or_insert(catalogue.objects.len());
            match catalogue.objects.get_mut(place) {
                Some(listed) => merge(listed, object),
                None => catalogue.objects.push(object),
            }
        }
        Ok(Arc::clone(self.catalogue.insert(Arc::new(catalogue))))
    }

    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let found = self.titles.iter().find(|database| database.language() == language);
        found.cloned().ok_or_else(|| {
            let message = format!("has no titles in language {language}");
            SourceError::new(SourceErrorKind::NotFound, &self.name, message)
        })
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        Some(self)
    }
}

impl Recording for ReplaySource {
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        self.samples.seek(to)
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        self.samples.span()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_format::{CounterSpec, CounterType};
    use perfhive_testkit::script::{Row, block};

    #[test]
    fn objects_of_two_machines_are_seen_once_each_in_any_number_of_samples() {
        let frame = |machine, counters: &[u32]| {
            let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
            let specs: Vec<_> =
                counters.iter().map(|name| CounterSpec::new(TitleIndex(*name), kind)).collect();
            let values = vec![1; counters.len()];
            let rows: &[Row<'_>] = &[("a", None, &values)];
            Frame::new(block(machine, 1, &[(TitleIndex(10), &specs, rows)]), 1).unwrap()
        };
        let frames = [frame("ONE", &[12]), frame("TWO", &[12, 14])];
        let mut seen = SeenObjects::default();
        (0..100).for_each(|_| frames.iter().for_each(|frame| seen.add(frame)));
        let counters: Vec<_> = seen.objects.iter().map(|object| object.counters.len()).collect();
        assert_eq!(counters, [1, 2]);
    }
}
