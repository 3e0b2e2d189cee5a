//! One registration of a roster: the known objects of its library, and the time at which the
//! library is asked for them.

use crate::hosting::account::LibraryStamp;
use crate::hosting::lock::lock;
use crate::hosting::pause;
use crate::hosting::provider::ExtensionProvider;
use crate::hosting::state::LibraryState;
use perfhive_contract::Registration;
use perfhive_engine::{ObjectQuery, ProvidedTitles, ProviderError, ProviderState};
use perfhive_format::TitleIndex;
use perfhive_format::titles::TitleList;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// One registration of a roster.
pub(super) struct Entry {
    pub(super) titles: Vec<ProvidedTitles>,
    pub(super) stamp: Option<LibraryStamp>,
    pub(super) state: Arc<LibraryState>,
    pub(super) provider: Arc<ExtensionProvider>,
    /// The time at which `provider` was made.
    described: Instant,
    /// The number of the question for the library's objects that is not answered yet; `None` if no
    /// question is open.
    pub(super) question: Option<u64>,
    /// The time since which readers wait for the answer to `question`, and the time until which
    /// they wait; `None` if they do not wait.
    pub(super) waited_for: Option<(Instant, Instant)>,
    /// Whether readers waited for the library in vain, so that they do not wait for it again.
    pub(super) was_late: bool,
    /// The pause after the next failure or answer without objects, unless the account has a pause. It
    /// doubles each time, up to [`pause::LONGEST`], and is the first pause again after an answer with
    /// objects.
    pub(super) pause: Duration,
    /// The time of the next question for the library's objects; `None` if no question is planned.
    pub(super) due: Option<Instant>,
}

impl Entry {
    /// An entry with the objects, pause and quarantine that the account has.
    pub(super) fn new(
        state: Arc<LibraryState>,
        titles: Vec<ProvidedTitles>,
        stamp: Option<LibraryStamp>,
    ) -> Self {
        let provider = Arc::new(ExtensionProvider {
            state: Arc::clone(&state),
            objects: Vec::new(),
            titles: Vec::new(),
            refusal: None,
            works: false,
        });
        let pause = state.options.first_pause();
        let mut entry = Self {
            titles,
            stamp,
            state,
            provider,
            described: Instant::now(),
            question: None,
            waited_for: None,
            was_late: false,
            pause,
            due: None,
        };
        entry.begin();
        entry
    }

    /// Makes the provider anew. If no objects are known, it has none, and the time is set at which
    /// the library is asked for them. A library that is disabled or in quarantine is not asked, nor is
    /// one with a question that is not answered yet.
    fn begin(&mut self) {
        self.due = None;
        let known = !lock(&self.state.known).is_empty();
        if self.state.registration.disabled {
            let name = &self.state.registration.name;
            let why = format!("is disabled; `perfhive providers --enable {name:?}` enables it");
            lock(&self.state.known).clear();
            return self.describe(Some((ProviderState::Disabled, why)), false);
        }
        if known {
            self.waited_for = None;
            return self.describe(None, true);
        }
        let account = &self.state.account;
        let refusal = account.refusal();
        let is_quarantined = matches!(&refusal, Some((ProviderState::Quarantined, _)));
        if !is_quarantined && self.question.is_none() {
            self.due = Some(Instant::now() + account.pause_left().unwrap_or_default());
        }
        let idle = || (ProviderState::Idle, "has not said yet what it offers".to_string());
        self.describe(Some(refusal.unwrap_or_else(idle)), false);
    }

    /// Takes over the objects, pause and quarantine that another program wrote to the account.
    pub(super) fn adopt(&mut self) {
        let mut known = lock(&self.state.known);
        if known.is_empty() {
            *known = self.state.account.known();
        }
        drop(known);
        self.pause = self.state.options.first_pause();
        self.begin();
    }

    /// Whether the library may have an object that is wanted: one that it registered, or any if it
    /// registered neither names nor objects. Always true for a query that is not a list of indexes.
    pub(super) fn may_have(&self, wanted: &ObjectQuery) -> bool {
        let may = |name: &TitleIndex| self.state.registration.may_give(*name);
        match wanted {
            ObjectQuery::Indexes(list) => list.iter().any(may),
            ObjectQuery::Global | ObjectQuery::Costly | ObjectQuery::Foreign(_) => true,
        }
    }

    /// Whether the library was asked for its objects and has not answered yet, and the answer may
    /// have objects that are wanted.
    pub(super) fn is_awaited(&self, wanted: &ObjectQuery) -> bool {
        self.question.is_some() && self.may_have(wanted)
    }

    /// Puts off the question for the library's objects until after the pause, because no thread
    /// could be started for it.
    pub(super) fn postpone(&mut self) {
        self.due = Some(after(Instant::now(), self.pause));
    }

    /// Notes that the library did not answer within `patience`. The objects that it gave so far are
    /// used.
    pub(super) fn late(&mut self, patience: Duration) {
        self.waited_for = None;
        self.was_late = true;
        let why = format!("did not say within {patience:?} what it offers");
        let known = lock(&self.state.known).clone();
        if !known.is_empty() {
            self.state.account.note_objects(&known);
        }
        self.state.late(&why);
        if known.is_empty() {
            let refusal = self.state.account.refusal();
            let quarantined = refusal.filter(|(state, _)| *state == ProviderState::Quarantined);
            self.describe(quarantined.or(Some((ProviderState::Idle, why))), false);
        } else {
            self.describe(None, true);
        }
    }

    /// Takes the answer to the question for the library's objects: `failure` is the reason why the
    /// library gave none; `None` if it answered. The next question is planned after an answer without
    /// objects, and after a failure that does not leave the provider in quarantine.
    pub(super) fn answered(&mut self, failure: Option<ProviderError>) {
        self.question = None;
        let known = lock(&self.state.known).clone();
        let account = &self.state.account;
        let was_quarantined = account.status().state == ProviderState::Quarantined;
        let works = failure.is_none();
        let refusal = match failure {
            // A pause, whose reason the account has.
            Some(ProviderError::NotYet(why)) => Some((ProviderState::Failed, why)),
            Some(failure) => {
                let failure = failure.to_string();
                account.discovered(Some(&failure), &known);
                let quarantined = account.status().state == ProviderState::Quarantined;
                if quarantined && !was_quarantined {
                    self.state.log_quarantine();
                }
                account.refusal().filter(|_| quarantined).or(Some((ProviderState::Failed, failure)))
            }
            None => {
                account.discovered(None, &known);
                let idle = || (ProviderState::Idle, "offers no objects at the moment".to_string());
                known.is_empty().then(idle)
            }
        };
        match &refusal {
            None => self.pause = self.state.options.first_pause(),
            Some((ProviderState::Quarantined, _)) => {}
            Some(_) => {
                let pause = account.pause_left().unwrap_or(self.pause);
                self.due = Some(after(Instant::now(), pause));
                self.pause = self.pause.saturating_mul(2).min(pause::LONGEST);
            }
        }
        // Objects that were offered before stay in the catalogue.
        let known = !known.is_empty();
        self.describe(refusal.filter(|_| !known), works || known);
    }

    /// Makes a new provider if collections delivered new objects (at most once in
    /// [`HostOptions::look_every`](crate::hosting::options::HostOptions::look_every)), or if the
    /// quarantine began or ended; returns whether it made one.
    pub(super) fn refresh(&mut self, now: Instant) -> bool {
        let mut changed = false;
        if self.state.has_turned.swap(false, Ordering::Relaxed) {
            self.adopt();
            changed = true;
        }
        let is_due = now.saturating_duration_since(self.described) >= self.state.options.look_every;
        if self.state.has_news.load(Ordering::Relaxed) && self.question.is_none() && is_due {
            self.state.account.note_objects(&lock(&self.state.known));
            self.describe(None, true);
            changed = true;
        }
        changed
    }

    /// Makes a new provider with the objects that are known now, and with
    /// [`ExtensionProvider::refusal`] and [`ExtensionProvider::works`].
    fn describe(&mut self, refusal: Option<(ProviderState, String)>, works: bool) {
        self.described = Instant::now();
        self.provider = Arc::new(ExtensionProvider {
            state: Arc::clone(&self.state),
            objects: self.state.describe(),
            titles: self.titles.clone(),
            refusal,
            works,
        });
    }
}

/// The moment that lies `time` after `start`, but at most a century after it.
pub(super) fn after(start: Instant, time: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    start + time.min(CENTURY)
}

/// A stamp of a library's file, which differs for another file of the same name; `None` if the file's
/// metadata cannot be read.
pub(super) fn stamp(library: &Path) -> Option<LibraryStamp> {
    #[cfg(unix)]
    use std::os::unix::fs::MetadataExt as _;
    #[cfg(windows)]
    use std::os::windows::fs::MetadataExt as _;
    let meta = std::fs::metadata(library).ok()?;
    #[cfg(unix)]
    let stamp = (meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.size());
    #[cfg(windows)]
    let stamp = {
        let written = meta.last_write_time().cast_signed();
        (0, meta.creation_time(), written, 0, meta.file_size())
    };
    Some(stamp)
}

/// The names and help texts in `all` with indexes that were allotted to the provider of a
/// registration, in each language that has any.
pub(super) fn titles_of(
    registration: &Registration,
    all: &[ProvidedTitles],
) -> Vec<ProvidedTitles> {
    let names = registration.first_counter..=registration.last_counter;
    let help = registration.first_help..=registration.last_help;
    let part = |list: &TitleList, range: &std::ops::RangeInclusive<u32>| {
        TitleList::from(
            list.titles
                .iter()
                .filter(|title| range.contains(&title.index.0))
                .cloned()
                .collect::<Vec<_>>(),
        )
    };
    all.iter()
        .map(|titles| {
            ProvidedTitles::new(
                titles.language,
                part(&titles.names, &names),
                part(&titles.help, &help),
            )
        })
        .filter(|titles| !(titles.names.titles.is_empty() && titles.help.titles.is_empty()))
        .collect()
}

/// Whether two lists of titles have the same languages, names and help texts.
pub(super) fn is_same(one: &[ProvidedTitles], other: &[ProvidedTitles]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.language == other.language && one.names == other.names && one.help == other.help
        })
}
