//! A source on a thread of its own, which answers by deadlines.

use crate::broker::{ProviderStatus, Wanted};
use crate::collecting::Collecting;
use crate::desk::{Desk, NoAnswer};
use crate::error::{SourceError, SourceErrorKind};
use crate::frame::Snapshot;
use crate::growth::{GrowthWatch, note_growth};
use crate::request::Request;
use crate::source::{Catalogue, Source};
use crate::titles::TitleDatabase;
use crate::until::Until;
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Puts a source on a thread of its own, so that a caller waits no longer than
/// its deadline even if the source hangs: that of a collection, or that which
/// [its thread](Until) has for all that it asks. While the source is still at work on
/// an earlier request the worker answers [`SourceErrorKind::Busy`]; only where that was for
/// the catalogue's generation, which it gives up early, the next caller waits for it once.
///
/// Once warm a request that was made before takes no memory, on either thread.
///
/// The thread ends when the worker is dropped and the source answers; a
/// source that never does keeps its thread, which nobody waits for.
pub struct Worker {
    name: Arc<str>,
    live: bool,
    desk: Arc<WorkDesk>,
    /// The last request as it came back from the thread, to be sent again.
    spare: Option<Request>,
    /// The list of one before, where that one is for something else.
    list: Vec<TitleIndex>,
    /// A snapshot that came back too late, for its allocations.
    room: Option<Snapshot>,
    /// Number of the newest request, and of the newest one answered.
    asked: u64,
    answered: u64,
    /// When the newest one was put.
    asked_at: Option<Instant>,
    /// Whether the newest one is for the catalogue's generation.
    is_asked_generation: bool,
    patience: Option<Duration>,
    /// The catalogue's generation as last heard of.
    generation: u64,
}

/// How long the catalogue's generation may take.
const AT_ONCE: Duration = Duration::from_secs(1);

enum Job {
    Collect(u64, Request, Snapshot),
    Catalogue(u64),
    CatalogueOf(u64, Option<Vec<TitleIndex>>),
    Costly(u64),
    Titles(u64, LanguageId),
    Rewind(u64),
    Generation(u64),
    Providers(u64),
}

enum Answer {
    Collected(Request, Snapshot, Result<(), SourceError>),
    Catalogue(Result<Arc<Catalogue>, SourceError>),
    Costly(Result<(), SourceError>),
    Titles(Result<Arc<TitleDatabase>, SourceError>),
    Rewound(Result<(), SourceError>),
    /// And whether that took memory.
    Generation(u64, bool),
    Providers(Result<Vec<ProviderStatus>, SourceError>),
}

type WorkDesk = Desk<(Collecting, Job), (u64, Answer)>;

/// Says that the thread ended, however it did.
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
    /// Starts the thread. `patience` is how long a request without a deadline
    /// of its own may take; `None` waits for ever.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new(
        mut source: impl Source + 'static,
        patience: Option<Duration>,
    ) -> Result<Self, SourceError> {
        let name: Arc<str> = source.name().into();
        let live = source.is_live();
        let desk = Arc::new(WorkDesk::default());
        let ending = Ending(Arc::clone(&desk));
        let body = move || {
            let desk = &ending.0;
            while let Some((collecting, job)) = desk.job() {
                let _entered = collecting.enter();
                let answer = match job {
                    Job::Collect(id, request, mut out) => {
                        let watch = GrowthWatch::begin();
                        let result = source.collect(&request, &mut out);
                        if watch.has_noted() {
                            out.note_growth();
                        }
                        (id, Answer::Collected(request, out, result))
                    }
                    Job::Catalogue(id) => (id, Answer::Catalogue(source.catalogue())),
                    Job::CatalogueOf(id, wanted) => {
                        let wanted = wanted.as_deref().map_or(Wanted::Nothing, Wanted::Objects);
                        (id, Answer::Catalogue(source.catalogue_for(wanted)))
                    }
                    Job::Costly(id) => (id, Answer::Costly(source.list_costly())),
                    Job::Titles(id, language) => (id, Answer::Titles(source.titles(language))),
                    Job::Rewind(id) => (id, Answer::Rewound(source.rewind())),
                    Job::Providers(id) => (id, Answer::Providers(source.providers())),
                    Job::Generation(id) => {
                        let watch = GrowthWatch::begin();
                        let generation = source.catalogue_generation();
                        (id, Answer::Generation(generation, watch.has_noted()))
                    }
                };
                desk.reply(answer);
            }
        };
        thread::Builder::new()
            .name(format!("perfhive {name}"))
            .spawn(body)
            .map_err(|error| SourceError::new(SourceErrorKind::Internal, &name, error))?;
        Ok(Self {
            name,
            live,
            desk,
            spare: None,
            list: Vec::new(),
            room: None,
            asked: 0,
            answered: 0,
            asked_at: None,
            is_asked_generation: false,
            patience,
            generation: 0,
        })
    }

    /// How long a request without a deadline of its own may take.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Sets how long a request without a deadline of its own may take.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Whether the source is still at work on what was asked last, for which nobody
    /// waits any more.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        self.answered != self.asked
    }

    /// The number of what was asked last; it grows by one with each question.
    #[must_use]
    pub fn last_asked(&self) -> u64 {
        self.asked
    }

    /// When that was asked; `None` before the first question. It may have had to wait for
    /// the answer to the one before.
    #[must_use]
    pub fn last_asked_at(&self) -> Option<Instant> {
        self.asked_at
    }

    /// The catalogue's generation as last heard of, which asks nobody.
    #[must_use]
    pub fn last_generation(&self) -> u64 {
        self.generation
    }

    fn error(&self, kind: SourceErrorKind, message: &'static str) -> SourceError {
        SourceError::fixed(kind, &self.name, message)
    }

    fn gone(&self) -> SourceError {
        self.error(SourceErrorKind::Internal, "the source's thread ended (it panicked)")
    }

    /// Takes an answer that came too late for its caller, whom it is no use any
    /// more. One to the catalogue's generation is waited for by who asks next: that is
    /// given up early, so that a source which does not answer at once is not busy yet.
    fn catch_up(&mut self, deadline: Option<Instant>) -> Result<(), SourceError> {
        let until = match self.is_asked_generation {
            true => Until::or_earlier(deadline),
            false => Some(Instant::now()),
        };
        self.catch_up_by(until)
    }

    /// A deadline, or by when there is to be an answer without one.
    fn limit(&self, deadline: Option<Instant>) -> Option<Instant> {
        deadline.or_else(|| Instant::now().checked_add(self.patience?))
    }

    /// The same of one that may still come by a deadline.
    fn catch_up_by(&mut self, deadline: Option<Instant>) -> Result<(), SourceError> {
        if self.answered == self.asked {
            return Ok(());
        }
        match self.desk.answer(deadline) {
            Ok((id, answer)) => {
                self.answered = id;
                self.is_asked_generation = false;
                match answer {
                    Answer::Collected(sent, mut snapshot, _) => {
                        snapshot.clear();
                        (self.spare, self.room) = (Some(sent), Some(snapshot));
                    }
                    Answer::Generation(generation, _) => self.generation = generation,
                    _ => {}
                }
                Ok(())
            }
            Err(NoAnswer::Ended) => Err(self.gone()),
            Err(NoAnswer::Late) => {
                // One waited for it; whoever comes then is told at once.
                self.is_asked_generation = false;
                let message = "still busy with an earlier request that exceeded its deadline";
                Err(self.error(SourceErrorKind::Busy, message))
            }
        }
    }

    /// Sends a job and waits for its answer.
    fn ask(
        &mut self,
        job: impl FnOnce(u64) -> Job,
        deadline: Option<Instant>,
    ) -> Result<Answer, SourceError> {
        let deadline = self.limit(deadline);
        self.catch_up(deadline)?;
        self.asked += 1;
        self.asked_at = Some(Instant::now());
        let job = job(self.asked);
        self.is_asked_generation = matches!(job, Job::Generation(_));
        self.desk.ask((Collecting::current(), job));
        match self.desk.answer(Until::or_earlier(deadline)) {
            Ok((id, answer)) => {
                self.answered = id;
                Ok(answer)
            }
            Err(NoAnswer::Late) => {
                Err(self.error(SourceErrorKind::Deadline, "did not answer in time"))
            }
            Err(NoAnswer::Ended) => Err(self.gone()),
        }
    }

    fn mixed_up(&self) -> SourceError {
        self.error(SourceErrorKind::Internal, "the source's thread answered another question")
    }
}

impl Source for Worker {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let deadline = self.limit(request.deadline);
        self.catch_up(deadline)?;
        // The snapshot goes to the thread and back, so that its allocations
        // are kept.
        let taken = self.room.take().unwrap_or_else(|| std::mem::take(out));
        let sent = match self.spare.take() {
            Some(mut spare) => {
                spare.refill(request, &mut self.list);
                spare
            }
            None => {
                note_growth();
                request.clone()
            }
        };
        let job = |id| Job::Collect(id, sent, taken);
        match self.ask(job, deadline)? {
            Answer::Collected(sent, snapshot, result) => {
                self.spare = Some(sent);
                *out = snapshot;
                if out.has_grown() {
                    // Of an error, too.
                    note_growth();
                }
                result
            }
            _ => Err(self.mixed_up()),
        }
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        match self.ask(Job::Catalogue, None)? {
            Answer::Catalogue(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        let list = match wanted {
            Wanted::Everything => return self.catalogue(),
            Wanted::Objects(list) => Some(list.to_vec()),
            Wanted::Nothing => None,
        };
        match self.ask(|id| Job::CatalogueOf(id, list), None)? {
            Answer::Catalogue(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    fn list_costly(&mut self) -> Result<(), SourceError> {
        match self.ask(Job::Costly, None)? {
            Answer::Costly(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    /// The generation as last heard of, where the source does not answer at
    /// once: it is asked for before each sample, and should cost nothing.
    fn catalogue_generation(&mut self) -> u64 {
        if Until::is_over() {
            // What is asked next is not to find the source at work on this.
            return self.generation;
        }
        let soon = Instant::now() + AT_ONCE.min(self.patience.unwrap_or(AT_ONCE));
        if let Ok(Answer::Generation(generation, grown)) = self.ask(Job::Generation, Some(soon)) {
            self.generation = generation;
            if grown {
                note_growth();
            }
        }
        self.generation
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        match self.ask(|id| Job::Titles(id, language), None)? {
            Answer::Titles(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    /// Waits for what is under way, too, as long as a request may take: whoever asks wants
    /// to know of those that are late.
    fn providers(&mut self) -> Result<Vec<ProviderStatus>, SourceError> {
        let now = Instant::now();
        let until = self.patience.map(|patience| now.checked_add(patience));
        self.catch_up_by(Until::or_earlier(until.unwrap_or(Some(now))))?;
        match self.ask(Job::Providers, until.flatten())? {
            Answer::Providers(providers) => providers,
            _ => Err(self.mixed_up()),
        }
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        match self.ask(Job::Rewind, None)? {
            Answer::Rewound(result) => result,
            _ => Err(self.mixed_up()),
        }
    }

    fn is_live(&self) -> bool {
        self.live
    }
}
