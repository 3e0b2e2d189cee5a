//! A source that several queries read, and the recording of its collections.

use crate::session::Observed;
use perfhive::recording::{RecordingOptions, RecordingWriter};
use perfhive::{
    Ask, Catalogue, FileTime, LanguageId, ProviderStatus, Recording, Snapshot, Source, SourceError,
    SourceErrorKind, Span, TitleDatabase,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A handle of a shared source. All handles are used by one thread.
#[derive(Clone)]
pub(super) struct Steered {
    shared: Arc<Mutex<Shared>>,
    name: Arc<str>,
    is_recording: bool,
    /// Whether the collections of this handle are written to the recording.
    is_recorded: bool,
}

/// What all handles of a source share: the source, and the recording in progress.
struct Shared {
    source: Observed,
    recorder: Option<Recorder>,
    /// The time of the last collected sample of a recording; 0 before the first.
    reached: FileTime,
    /// The error that ended recording, until it is taken; `None` if there was none.
    failure: Option<SourceError>,
}

/// A recording in progress, with the titles that it writes and the generation of the catalogue at
/// which the titles were read.
struct Recorder {
    writer: RecordingWriter,
    generation: Option<u64>,
    titles: Vec<Arc<TitleDatabase>>,
}

impl Steered {
    pub(super) fn new(mut source: Observed) -> Self {
        let is_recording = source.recording().is_some();
        let name = source.name().into();
        let shared = Shared { source, recorder: None, reached: FileTime(0), failure: None };
        Self { shared: Arc::new(Mutex::new(shared)), name, is_recording, is_recorded: true }
    }

    /// Another handle of the source; its collections are not recorded.
    pub(super) fn unrecorded(&self) -> Self {
        Self { is_recorded: false, ..self.clone() }
    }

    pub(super) fn is_live(&self) -> bool {
        !self.is_recording
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records collections to a file from now on, after completing a recording in progress; `None`
    /// only completes it. After an error nothing is recorded.
    pub(super) fn record(&self, file: Option<&str>) -> Result<(), SourceError> {
        let mut shared = self.lock();
        if let Some(recorder) = shared.recorder.take() {
            recorder.writer.finish()?;
        }
        if let Some(file) = file {
            let writer = RecordingWriter::open(file, &self.name, &RecordingOptions::new())?;
            shared.recorder = Some(Recorder { writer, generation: None, titles: Vec::new() });
        }
        Ok(())
    }

    /// Reads another recording from now on.
    pub(super) fn replace(&self, source: Box<dyn Source>) {
        self.lock().source.replace(source);
    }

    /// The time of the last collected sample of a recording, by which [`Recording::seek`] finds it;
    /// 0 for a live source.
    pub(super) fn reached(&self) -> FileTime {
        self.lock().reached
    }

    /// The error that ended recording, returned once; `None` if there was none.
    pub(super) fn take_failure(&self) -> Option<SourceError> {
        self.lock().failure.take()
    }
}

impl Shared {
    /// Adds a collection to the recording in progress, if there is one; an error ends the recording
    /// and is kept.
    fn note(&mut self, snapshot: &Snapshot) {
        let Some(mut recorder) = self.recorder.take() else { return };
        match recorder.add(&mut self.source, snapshot) {
            Ok(()) => self.recorder = Some(recorder),
            Err(error) => self.failure = Some(error),
        }
    }
}

impl Recorder {
    fn add(&mut self, source: &mut Observed, snapshot: &Snapshot) -> Result<(), SourceError> {
        let catalogue = source.catalogue(&Ask::nothing())?;
        if self.generation != Some(catalogue.generation) {
            let load = |language: &_| source.titles(*language, &Ask::nothing()).ok();
            self.titles = catalogue.languages.iter().filter_map(load).collect();
            self.generation = Some(catalogue.generation);
        }
        self.writer.add(snapshot, &self.titles)
    }
}

impl Source for Steered {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        let mut shared = self.lock();
        shared.source.collect(ask, out)?;
        if self.is_recording {
            shared.reached = out.frames().first().map_or(FileTime(0), |frame| frame.time());
        }
        if self.is_recorded {
            shared.note(out);
        }
        Ok(())
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.lock().source.catalogue(ask)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.lock().source.titles(language, ask)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.lock().source.providers(ask)
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        if self.is_recording { Some(self) } else { None }
    }
}

impl Recording for Steered {
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        let mut shared = self.lock();
        shared.source.recording().ok_or_else(|| is_none(&self.name))?.seek(to)
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        let mut shared = self.lock();
        shared.source.recording().ok_or_else(|| is_none(&self.name))?.span()
    }
}

/// The error for a source that is no recording.
fn is_none(name: &str) -> SourceError {
    SourceError::new(SourceErrorKind::Mismatch, name, "is no recording")
}
