//! Recorded blocks as a source: successive samples of one machine.

use crate::error::{SourceError, SourceErrorKind};
use crate::frame::{Frame, Snapshot};
use crate::request::{ObjectQuery, Request};
use crate::source::{Catalogue, CatalogueObject, Source};
use crate::titles::TitleDatabase;
use perfhive_format::titles::TitleList;
use perfhive_format::{BlockWriter, DataBlock, LanguageId, PerfObject, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;

/// Raw data blocks, answered one after the other: every collection is the next
/// sample, and after the last one comes
/// [`EndOfData`](SourceErrorKind::EndOfData).
///
/// A query by indexes is answered with those objects and the ones in which the
/// parents of their instances are, as Windows brings Process along with
/// Thread; all others are left out. `Global` and `Costly` with the block as it was recorded.
pub struct ReplaySource {
    name: String,
    frames: Vec<Arc<Frame>>,
    next: usize,
    titles: Vec<Arc<TitleDatabase>>,
}

impl ReplaySource {
    /// From blocks in the order of time, each with a name for messages.
    ///
    /// # Errors
    /// [`SourceErrorKind::Malformed`] where one is no data block,
    /// [`SourceErrorKind::Mismatch`] where they are not samples of one machine.
    pub fn new(
        name: &str,
        blocks: impl IntoIterator<Item = (String, Vec<u8>)>,
    ) -> Result<Self, SourceError> {
        let mut frames: Vec<Arc<Frame>> = Vec::new();
        let mut first_name = String::new();
        for (generation, (block_name, bytes)) in (1..).zip(blocks) {
            let frame = Frame::new(bytes, generation).map_err(|error| {
                SourceError::new(SourceErrorKind::Malformed, &block_name, error)
            })?;
            if let Some(first) = frames.first() {
                check_same_machine(first, &frame, &first_name, &block_name)?;
            } else {
                first_name = block_name;
            }
            frames.push(Arc::new(frame));
        }
        if frames.is_empty() {
            let message = "no blocks were given";
            return Err(SourceError::new(SourceErrorKind::Malformed, name, message));
        }
        Ok(Self { name: name.to_string(), frames, next: 0, titles: Vec::new() })
    }

    /// Adds the names of one language; of several the first is preferred.
    #[must_use]
    pub fn with_titles(mut self, language: LanguageId, names: &TitleList) -> Self {
        let help = TitleList::default();
        self.titles.push(Arc::new(TitleDatabase::new(language, names, &help)));
        self
    }

    /// Adds a title database.
    #[must_use]
    pub fn with_database(mut self, database: Arc<TitleDatabase>) -> Self {
        self.titles.push(database);
        self
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there are none; never true of a source that was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
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

/// Copies the wanted objects of a frame into a block of their own.
fn select(frame: &Frame, wanted: &[TitleIndex], generation: u64) -> Option<Frame> {
    // The header is copied as it stands, name and all; only its counts change.
    let block = DataBlock::scan(frame.as_bytes()).ok()?.0.header();
    let mut bytes = frame.as_bytes().get(..block.HeaderLength as usize)?.to_vec();
    let mut objects = 0u32;
    let parents = parents_of(frame, wanted);
    for place in 0..frame.object_count() {
        let object: PerfObject<'_> = frame.object(place)?;
        if parents.contains(&object.name_index()) || wanted.contains(&object.name_index()) {
            bytes.extend_from_slice(object.as_bytes());
            objects += 1;
        }
    }
    let total = u32::try_from(bytes.len()).ok()?;
    bytes.get_mut(20..24)?.copy_from_slice(&total.to_le_bytes());
    bytes.get_mut(28..32)?.copy_from_slice(&objects.to_le_bytes());
    debug_assert!(bytes.len() <= BlockWriter::DEFAULT_LIMIT.max(frame.as_bytes().len()));
    Frame::new(bytes, generation).ok()
}

/// The objects to which instances of the wanted objects point.
fn parents_of(frame: &Frame, wanted: &[TitleIndex]) -> HashSet<TitleIndex> {
    (0..frame.object_count())
        .filter_map(|place| frame.object(place))
        .filter(|object| wanted.contains(&object.name_index()))
        .flat_map(|object| object.instances().filter_map(|instance| instance.parent()))
        .map(|(parent, _)| parent)
        .collect()
}

impl Source for ReplaySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let Some(frame) = self.frames.get(self.next) else {
            let count = self.frames.len();
            let samples = if count == 1 { "sample" } else { "samples" };
            let message = format!("the recording has no more than {count} {samples}");
            return Err(SourceError::new(SourceErrorKind::EndOfData, &self.name, message));
        };
        self.next += 1;
        let frame = match &request.objects {
            ObjectQuery::Indexes(wanted) => match select(frame, wanted, frame.generation()) {
                Some(selected) => {
                    // What is damaged is told even where it is left out.
                    for (name, error) in frame.damaged() {
                        if name.is_none_or(|name| wanted.contains(&name)) {
                            let kind = crate::error::FaultKind::DamagedObject(*error);
                            let mut fault = crate::error::Fault::new(kind, &self.name, error);
                            fault.object = *name;
                            out.push_fault(fault);
                        }
                    }
                    Arc::new(selected)
                }
                None => Arc::clone(frame),
            },
            _ => Arc::clone(frame),
        };
        out.push_frame(frame, &self.name);
        Ok(())
    }

    /// The objects of all samples; an object that appears only later is there.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let mut catalogue = Catalogue {
            generation: 1,
            machine: self.frames.first().map(|f| f.machine().to_string()).unwrap_or_default(),
            languages: self.titles.iter().map(|database| database.language()).collect(),
            objects: Vec::new(),
        };
        let mut seen = HashSet::new();
        for frame in &self.frames {
            for object in (0..frame.object_count()).filter_map(|place| frame.object(place)) {
                if seen.insert(object.name_index()) {
                    catalogue.objects.push(CatalogueObject::of(object));
                }
            }
        }
        Ok(Arc::new(catalogue))
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        let found = self.titles.iter().find(|database| database.language() == language);
        found.cloned().ok_or_else(|| {
            let message = format!("has no titles in language {language}");
            SourceError::new(SourceErrorKind::NotFound, &self.name, message)
        })
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        Ok(())
    }

    fn is_live(&self) -> bool {
        false
    }
}
