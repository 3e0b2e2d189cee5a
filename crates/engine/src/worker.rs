//! A source on a thread of its own. Callers wait no longer than their deadlines.

use crate::ask::Ask;
use crate::desk::{Desk, NoAnswer};
use crate::error::{SourceError, SourceErrorKind};
use crate::frame::Snapshot;
use crate::source::{Catalogue, Recording, Source, Span, span_of};
use crate::status::ProviderStatus;
use crate::titles::TitleDatabase;
use perfhive_format::{FileTime, LanguageId, TitleIndex};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A source on a thread of its own: a caller waits no longer than its deadline, even if
/// the source hangs.
///
/// While the source is still at work on an earlier request, the worker answers
/// [`SourceErrorKind::Busy`] at once; only [`providers`](Source::providers) waits for that request
/// first, if the worker has a [patience](Self::patience). If the deadline of a catalogue request for
/// [nothing](Ask::nothing) has passed, an idle worker answers with the catalogue that it knows. So
/// a sample that came just in time can still be used, and the next request does not find the source
/// at work on a catalogue.
///
/// For a collection that is repeated, the worker itself allocates nothing on either thread once its buffers are
/// large enough.
///
/// After the worker is dropped, the thread ends as soon as the source has answered. If the source
/// never answers, the thread stays; nothing waits for it.
pub struct Worker {
    name: Arc<str>,
    is_recording: bool,
    desk: Arc<WorkDesk>,
    /// The ask of the last collection, which came back from the thread; its allocations are used
    /// again.
    spare: Option<Ask>,
    /// The unused index list of `spare`, while `spare` is not for indexes.
    list: Vec<TitleIndex>,
    /// A snapshot that came back after its deadline; its allocations are used again.
    room: Option<Snapshot>,
    /// The number of the newest request; 0 before the first.
    asked: u64,
    /// The number of the newest request with an answer that was taken; 0 before the first.
    answered: u64,
    /// The time of the newest request; `None` before the first.
    asked_at: Option<Instant>,
    /// The longest wait for a request without a deadline; `None` for no limit.
    patience: Option<Duration>,
    /// The catalogue that the source gave last; `None` before the first.
    catalogue: Option<Arc<Catalogue>>,
}

/// A request to the worker's thread.
enum Job {
    Collect(Ask, Snapshot),
    Catalogue(Ask),
    Titles(LanguageId, Ask),
    Providers(Ask),
    Seek(Option<FileTime>),
    Span,
}

/// The reply of the worker's thread to a [`Job`].
#[allow(clippy::large_enum_variant, reason = "the large variant is the frequent one")]
enum WorkerReply {
    Collected(Ask, Snapshot, Result<(), SourceError>),
    Catalogue(Result<Arc<Catalogue>, SourceError>),
    Titles(Result<Arc<TitleDatabase>, SourceError>),
    Providers(Result<Vec<ProviderStatus>, SourceError>),
    Sought(Result<(), SourceError>),
    Span(Result<Span, SourceError>),
}

/// The desk between a worker and its thread. Each job and each reply has the number of the request.
type WorkDesk = Desk<(u64, Job), (u64, WorkerReply)>;

/// Ends the answering side of the desk when it is dropped, also by a panic.
struct Ending(Arc<WorkDesk>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.desk.close();
    }
}

impl Worker {
    /// A worker with `source` on a thread of its own, which is started. `patience` is the longest
    /// wait for a request without a deadline; `None` means no limit.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(
        mut source: impl Source + 'static,
        patience: Option<Duration>,
    ) -> Result<Self, SourceError> {
        let name: Arc<str> = source.name().into();
        let is_recording = source.recording().is_some();
        let desk = Arc::new(WorkDesk::default());
        let ending = Ending(Arc::clone(&desk));
        let body = move || {
            let desk = &ending.0;
            while let Some((number, job)) = desk.job() {
                desk.reply((number, work(&mut source, job)));
            }
        };
        thread::Builder::new()
            .name(format!("perfhive {name}"))
            .spawn(body)
            .map_err(|error| SourceError::new(SourceErrorKind::Internal, &name, error))?;
        Ok(Self {
            name,
            is_recording,
            desk,
            spare: None,
            list: Vec::new(),
            room: None,
            asked: 0,
            answered: 0,
            asked_at: None,
            patience,
            catalogue: None,
        })
    }

    /// The longest wait for a request without a deadline; `None` if there is no limit.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Sets the longest wait for a request without a deadline; `None` means no limit.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Whether the last request was not answered in time, and no late answer to it was taken since.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        self.answered != self.asked
    }

    /// The number of the last request. It grows by one with each request; 0 before the first.
    #[must_use]
    pub fn last_asked(&self) -> u64 {
        self.asked
    }

    /// The time of the last request; `None` before the first.
    #[must_use]
    pub fn last_asked_at(&self) -> Option<Instant> {
        self.asked_at
    }

    /// The generation of the catalogue that the source returned last; 0 before the first catalogue.
    #[must_use]
    pub fn last_generation(&self) -> u64 {
        self.catalogue.as_ref().map_or(0, |catalogue| catalogue.generation)
    }

    fn error(&self, kind: SourceErrorKind, message: &'static str) -> SourceError {
        SourceError::fixed(kind, &self.name, message)
    }

    fn gone(&self) -> SourceError {
        self.error(SourceErrorKind::Internal, "the source's thread ended (it panicked)")
    }

    fn mixed_up(&self) -> SourceError {
        self.error(SourceErrorKind::Internal, "the source's thread answered another question")
    }

    /// The deadline or, without a deadline, the end of the worker's patience; `None` if neither
    /// limits the request.
    fn limit(&self, deadline: Option<Instant>) -> Option<Instant> {
        deadline.or_else(|| Instant::now().checked_add(self.patience?))
    }

    /// Takes the reply to an earlier request that was not answered in time, if there was such a
    /// request. An error if the reply has not come yet, or the thread has ended.
    fn catch_up(&mut self) -> Result<(), SourceError> {
        self.catch_up_by(Some(Instant::now()))
    }

    /// As [`catch_up`](Self::catch_up), but waits for the reply until a deadline, or without a
    /// limit for `None`.
    fn catch_up_by(&mut self, deadline: Option<Instant>) -> Result<(), SourceError> {
        if self.answered == self.asked {
            return Ok(());
        }
        match self.desk.answer(deadline) {
            Ok((number, reply)) => {
                self.answered = number;
                match reply {
                    WorkerReply::Collected(sent, mut snapshot, _) => {
                        snapshot.clear();
                        (self.spare, self.room) = (Some(sent), Some(snapshot));
                    }
                    WorkerReply::Catalogue(Ok(catalogue)) => self.catalogue = Some(catalogue),
                    _ => {}
                }
                Ok(())
            }
            Err(NoAnswer::Ended) => Err(self.gone()),
            Err(NoAnswer::Late) => {
                let message = "still busy with an earlier request that exceeded its deadline";
                Err(self.error(SourceErrorKind::Busy, message))
            }
        }
    }

    /// Sends a job to the thread and waits for its reply until a deadline. An error, without
    /// sending the job, while the thread is still at work on an earlier one.
    fn send(&mut self, job: Job, deadline: Option<Instant>) -> Result<WorkerReply, SourceError> {
        let deadline = self.limit(deadline);
        self.catch_up()?;
        self.asked += 1;
        self.asked_at = Some(Instant::now());
        self.desk.ask((self.asked, job));
        match self.desk.answer(deadline) {
            Ok((number, reply)) => {
                self.answered = number;
                Ok(reply)
            }
            Err(NoAnswer::Late) => {
                Err(self.error(SourceErrorKind::Deadline, "did not answer in time"))
            }
            Err(NoAnswer::Ended) => Err(self.gone()),
        }
    }
}

/// Does a job on the worker's thread, and returns the reply.
fn work(source: &mut impl Source, job: Job) -> WorkerReply {
    match job {
        Job::Collect(ask, mut out) => {
            let result = source.collect(&ask, &mut out);
            WorkerReply::Collected(ask, out, result)
        }
        Job::Catalogue(ask) => WorkerReply::Catalogue(source.catalogue(&ask)),
        Job::Titles(language, ask) => WorkerReply::Titles(source.titles(language, &ask)),
        Job::Providers(ask) => WorkerReply::Providers(source.providers(&ask)),
        Job::Seek(to) => {
            WorkerReply::Sought(source.recording().map_or(Ok(()), |recording| recording.seek(to)))
        }
        Job::Span => WorkerReply::Span(span_of(source)),
    }
}

impl Source for Worker {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        self.catch_up()?;
        // The snapshot goes to the thread and back, so that its allocations are kept.
        let taken = self.room.take().unwrap_or_else(|| std::mem::take(out));
        let sent = match self.spare.take() {
            Some(mut spare) => {
                spare.refill(ask, &mut self.list);
                spare
            }
            None => ask.clone(),
        };
        match self.send(Job::Collect(sent, taken), ask.until)? {
            WorkerReply::Collected(sent, snapshot, result) => {
                self.spare = Some(sent);
                *out = snapshot;
                result
            }
            _ => Err(self.mixed_up()),
        }
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let is_idle = !self.is_at_work();
        let known = self.catalogue.as_ref();
        if let Some(known) = known.filter(|_| is_idle && ask.is_nothing() && ask.is_over()) {
            return Ok(Arc::clone(known));
        }
        match self.send(Job::Catalogue(ask.clone()), ask.until)? {
            WorkerReply::Catalogue(result) => {
                if let Ok(catalogue) = &result {
                    self.catalogue = Some(Arc::clone(catalogue));
                }
                result
            }
            _ => Err(self.mixed_up()),
        }
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        match self.send(Job::Titles(language, ask.clone()), ask.until)? {
            WorkerReply::Titles(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    /// The states of the providers. An earlier request is waited for first, until the deadline or the end of
    /// the worker's patience, whichever comes first, since the caller wants to know which providers are late.
    /// Without a patience, it is not waited for. An error if it is still not answered.
    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let now = Instant::now();
        let until = self.patience.map(|patience| now.checked_add(patience));
        self.catch_up_by(ask.until_at_most(until.unwrap_or(Some(now))))?;
        let until = ask.until_at_most(until.flatten());
        match self.send(Job::Providers(ask.clone()), until)? {
            WorkerReply::Providers(providers) => providers,
            _ => Err(self.mixed_up()),
        }
    }

    fn recording(&mut self) -> Option<&mut dyn Recording> {
        if self.is_recording { Some(self) } else { None }
    }
}

impl Recording for Worker {
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        match self.send(Job::Seek(to), None)? {
            WorkerReply::Sought(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        match self.send(Job::Span, None)? {
            WorkerReply::Span(result) => result,
            _ => Err(self.mixed_up()),
        }
    }
}
