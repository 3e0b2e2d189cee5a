//! Recorded data blocks as a source: successive samples of one machine.

use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Fault, FaultKind, Frame, ObjectQuery, Recording, Snapshot,
    Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::titles::TitleList;
use perfhive_format::{DataBlock, LanguageId, PerfObject, TitleIndex, encode_utf16};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A block of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedBlock {
    /// Its name in messages.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The [label](Frame::label) of its origin, if the recording has it.
    pub label: Option<String>,
}

impl From<(String, Vec<u8>)> for RecordedBlock {
    fn from((name, bytes): (String, Vec<u8>)) -> Self {
        Self { name, bytes, label: None }
    }
}

/// A source of recorded data blocks. Every collection answers with the next sample; behind the
/// last one comes [`EndOfData`](SourceErrorKind::EndOfData).
///
/// `Global` and `Costly` are answered with the blocks as recorded. A query by indexes is answered
/// with these objects and the objects of their instances' parents, as Windows adds Process to
/// Thread.
pub struct ReplaySource {
    name: String,
    /// The frames of each sample.
    samples: Vec<Vec<Arc<Frame>>>,
    next: usize,
    titles: Vec<Arc<TitleDatabase>>,
    /// What the recording holds beside its samples and is not read; told with each sample.
    faults: Vec<Fault>,
    /// Put together when it is first asked for.
    catalogue: Option<Arc<Catalogue>>,
    /// The error behind the last sample. It is made once, because a measurement that goes on
    /// gets it with every sample and must not allocate.
    end: SourceError,
}

impl ReplaySource {
    /// A source of one block a sample, in the order of time, each with a name for messages.
    ///
    /// # Errors
    /// [`SourceErrorKind::Malformed`] where one is not a data block,
    /// [`SourceErrorKind::Mismatch`] where they are not samples of one machine.
    pub fn new(
        name: &str,
        blocks: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, SourceError> {
        Self::of_samples(name, blocks.into_iter().map(|block| vec![block.into()]))
    }

    /// A source of samples of one or more blocks each: one block for each of the machine's
    /// origins, and foreign machines' blocks. The first block of a sample is the machine's own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_samples(
        name: &str,
        samples: impl IntoIterator<Item = Vec<RecordedBlock>>,
    ) -> Result<Self, SourceError> {
        let mut labels: Vec<Arc<str>> = Vec::new();
        let mut kept: Vec<Vec<Arc<Frame>>> = Vec::new();
        let mut first_name = String::new();
        for (generation, blocks) in (1..).zip(samples) {
            let mut frames = Vec::with_capacity(blocks.len());
            for RecordedBlock { name: block_name, bytes, label } in blocks {
                let frame = Frame::new(bytes, generation).map_err(|error| {
                    SourceError::new(SourceErrorKind::Malformed, &block_name, error)
                })?;
                let (origin, label) = origin_of(&mut labels, label);
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
        let count = kept.len();
        let samples = if count == 1 { "sample" } else { "samples" };
        let message = format!("the recording has no more than {count} {samples}");
        let end = SourceError::new(SourceErrorKind::EndOfData, name, message);
        Ok(Self {
            name: name.to_string(),
            samples: kept,
            next: 0,
            titles: Vec::new(),
            faults: Vec::new(),
            catalogue: None,
            end,
        })
    }

    /// Adds the names of one language; of several the first is preferred.
    #[must_use]
    pub fn with_titles(self, language: LanguageId, names: &TitleList) -> Self {
        let help = TitleList::default();
        self.with_database(Arc::new(TitleDatabase::new(language, names, &help)))
    }

    /// Adds a title database.
    #[must_use]
    pub fn with_database(mut self, database: Arc<TitleDatabase>) -> Self {
        self.titles.push(database);
        self.catalogue = None;
        self
    }

    /// Adds faults that every answer tells.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>) -> Self {
        self.faults.extend(faults);
        self
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there are no samples; `false` for every source that could be made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }
}

/// The origin of a label: a number that no live source has, or 0 without a label.
fn origin_of(labels: &mut Vec<Arc<str>>, label: Option<String>) -> (u64, Option<Arc<str>>) {
    let Some(label) = label else { return (0, None) };
    let known = labels.iter().position(|known| **known == *label);
    let place = known.unwrap_or_else(|| {
        labels.push(label.into());
        labels.len() - 1
    });
    (u64::MAX - place as u64, labels.get(place).cloned())
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

/// Copies the wanted objects of a frame, and the objects of their instances' parents, into a block
/// of their own.
fn select(frame: &Frame, wanted: &HashSet<TitleIndex>, generation: u64) -> Option<Frame> {
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
    let objects = || (0..frame.object_count()).filter_map(|place| frame.object(place));
    let parents: HashSet<TitleIndex> = objects()
        .filter(|object| wanted.contains(&object.name_index()))
        .flat_map(|object| object.instances().filter_map(|instance| instance.parent()))
        .map(|(parent, _)| parent)
        .collect();
    header.NumObjectTypes = 0;
    for object in objects() {
        let name = object.name_index();
        if wanted.contains(&name) || parents.contains(&name) {
            bytes.extend_from_slice(object.as_bytes());
            header.NumObjectTypes += 1;
        }
    }
    header.TotalByteLength = u32::try_from(bytes.len()).ok()?;
    header.write(&mut bytes)?;
    Some(Frame::new(bytes, generation).ok()?.of_origin(frame))
}

/// Adds the counters of another sample's definition to a catalogue entry.
fn merge(entry: &mut CatalogueObject, object: PerfObject<'_>) {
    let known: HashSet<TitleIndex> = entry.counters.iter().map(|counter| counter.name).collect();
    let other = CatalogueObject::of(object);
    entry.counters.extend(other.counters.into_iter().filter(|c| !known.contains(&c.name)));
}

impl Source for ReplaySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let Some(frames) = self.samples.get(self.next) else {
            return Err(self.end.clone());
        };
        self.next += 1;
        self.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
        let ObjectQuery::Indexes(list) = &request.objects else {
            frames.iter().for_each(|frame| out.push_frame(Arc::clone(frame), &self.name));
            return Ok(());
        };
        let wanted: HashSet<TitleIndex> = list.iter().copied().collect();
        // The wanted objects are copied into new blocks.
        for (place, frame) in frames.iter().enumerate() {
            let Some(selected) = select(frame, &wanted, frame.generation()) else {
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
            // The first frame tells machine and time, even without objects.
            if place == 0 || selected.object_count() > 0 {
                out.push_frame(Arc::new(selected), &self.name);
            }
        }
        Ok(())
    }

    /// The objects of all samples, including those that appear later.
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let first = self.samples.first().and_then(|sample| sample.first());
        let mut catalogue = Catalogue {
            generation: 1,
            machine: first.map(|frame| frame.machine().to_string()).unwrap_or_default(),
            languages: self.titles.iter().map(|database| database.language()).collect(),
            objects: Vec::new(),
        };
        let mut seen: HashMap<TitleIndex, (usize, &[u8])> = HashMap::new();
        for frame in self.samples.iter().flatten() {
            for object in (0..frame.object_count()).filter_map(|place| frame.object(place)) {
                let definitions = object.definition_bytes();
                match seen.entry(object.name_index()) {
                    Entry::Vacant(entry) => {
                        entry.insert((catalogue.objects.len(), definitions));
                        catalogue.objects.push(CatalogueObject::of(object));
                    }
                    Entry::Occupied(mut entry) if entry.get().1 != definitions => {
                        let (place, last) = entry.get_mut();
                        *last = definitions;
                        if let Some(listed) = catalogue.objects.get_mut(*place) {
                            merge(listed, object);
                        }
                    }
                    Entry::Occupied(_) => {}
                }
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
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }
}
