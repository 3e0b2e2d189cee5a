//! The providers that are registered, as a roster of a broker.

use crate::options::Options;
use crate::provider::{ExtensionProvider, Shared, lock};
use crate::session::ExtensionSession;
use perfhive_contract::{Registration, Registrations};
use perfhive_engine::{Fault, ProvidedTitles, Provider, ProviderState, Roster, TestLevel};
use perfhive_format::titles::TitleList;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The first pause before a library is asked again that had nothing to offer;
/// it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Where registrations are kept.
pub trait RegistrationSource: Send {
    /// Everything that is registered, if it may have changed since it was last
    /// asked for; `None` if it surely has not. Asked before every collection,
    /// so the usual answer must be cheap.
    fn changed(&mut self) -> Option<Arc<Registrations>>;

    /// What is registered and cannot be used, as of the last change.
    fn faults(&self) -> &[Fault] {
        &[]
    }
}

impl<F: FnMut() -> Option<Arc<Registrations>> + Send> RegistrationSource for F {
    fn changed(&mut self) -> Option<Arc<Registrations>> {
        self()
    }
}

/// The registered libraries as providers, one for each registration.
///
/// What a library has is known once it was asked, which is done at once on a
/// thread of its own; a reader waits for that no longer than
/// [`Options::patience`], and finds the objects of slower ones later. A
/// registration that changes, or a library that is replaced, is a new provider.
pub struct ExtensionRoster {
    source: Box<dyn RegistrationSource>,
    options: Options,
    items: Vec<Item>,
    look: Instant,
    found: Receiver<Found>,
    report: Sender<Found>,
    /// Number of the last question that was asked.
    asked: u64,
}

/// What the question `number` for a library's objects came to.
struct Found {
    number: u64,
    failure: Option<String>,
}

/// A library's file: which, and when it was written.
type Stamp = (u64, u64, i64, i64, u64);

struct Item {
    titles: Vec<ProvidedTitles>,
    stamp: Option<Stamp>,
    shared: Arc<Shared>,
    provider: Arc<ExtensionProvider>,
    described: Instant,
    /// The question that it has not answered yet.
    question: Option<u64>,
    pause: Duration,
    ask_again: Option<Instant>,
}

impl ExtensionRoster {
    /// A roster of what `source` has registered.
    #[must_use]
    pub fn new(source: impl RegistrationSource + 'static, options: Options) -> Self {
        let (report, found) = channel();
        Self {
            source: Box::new(source),
            options,
            items: Vec::new(),
            look: Instant::now(),
            found,
            report,
            asked: 0,
        }
    }

    /// Takes over a new state of what is registered; answers whether it
    /// differs.
    fn update(&mut self, registrations: &Registrations) -> bool {
        let level = registrations.test_level;
        let mut old = std::mem::take(&mut self.items);
        let mut changed = false;
        for registration in &registrations.providers {
            let titles = titles_of(registration, &registrations.titles);
            let stamp = stamp(&registration.library);
            let same = old.iter().position(|item| {
                *item.shared.registration == *registration
                    && item.stamp == stamp
                    && item.shared.level == level
                    && is_same(&item.titles, &titles)
            });
            if let Some(place) = same {
                self.items.push(old.swap_remove(place));
                continue;
            }
            changed = true;
            let item = self.item(Arc::new(registration.clone()), titles, stamp, level);
            self.items.push(item);
        }
        changed || !old.is_empty()
    }

    fn item(
        &mut self,
        registration: Arc<Registration>,
        titles: Vec<ProvidedTitles>,
        stamp: Option<Stamp>,
        level: TestLevel,
    ) -> Item {
        let disabled = registration.disabled;
        let shared = Shared::new(registration, self.options.clone(), level);
        let refusal = if disabled {
            (ProviderState::Disabled, "its registration says that it is not to be asked")
        } else {
            (ProviderState::Idle, "it has not said yet what it offers")
        };
        let provider = Arc::new(ExtensionProvider {
            shared: Arc::clone(&shared),
            objects: Vec::new(),
            titles: titles.clone(),
            refusal: Some((refusal.0, refusal.1.to_string())),
        });
        let mut item = Item {
            titles,
            stamp,
            shared,
            provider,
            described: Instant::now(),
            question: None,
            pause: FIRST_PAUSE,
            ask_again: None,
        };
        if !disabled {
            self.ask(&mut item);
        }
        item
    }

    /// Asks a library for its objects, on a thread of its own.
    fn ask(&mut self, item: &mut Item) {
        self.asked += 1;
        let (number, report) = (self.asked, self.report.clone());
        let shared = Arc::clone(&item.shared);
        let body = move || {
            let opened =
                ExtensionSession::open(&shared).inspect_err(|error| shared.log(&error.to_string()));
            let failure = opened.and_then(|mut session| session.discover()).err();
            let failure = failure.map(|error| error.to_string());
            // The roster may be gone meanwhile.
            let _ = report.send(Found { number, failure });
        };
        let name = "perfhive objects".to_string();
        item.ask_again = None;
        item.question = match thread::Builder::new().name(name).spawn(body) {
            Ok(_) => Some(number),
            Err(_) => {
                item.ask_again = Some(Instant::now() + item.pause);
                None
            }
        };
    }

    /// Takes the answers that are there, and waits for others until `deadline`.
    /// Answers whether there were any.
    fn take_answers(&mut self, deadline: Instant) -> bool {
        let mut changed = false;
        while self.items.iter().any(|item| item.question.is_some()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let found = match self.found.recv_timeout(left) {
                Ok(found) => found,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            let item = self.items.iter_mut().find(|item| item.question == Some(found.number));
            if let Some(item) = item {
                item.question = None;
                item.answered(found.failure);
                changed = true;
            }
        }
        changed
    }

    /// Looks for libraries that were replaced, and asks those again that had
    /// nothing to offer.
    fn look_again(&mut self, now: Instant) -> bool {
        let mut items = std::mem::take(&mut self.items);
        let mut changed = false;
        for item in &mut items {
            let stamp = stamp(&item.shared.registration.library);
            if stamp != item.stamp {
                let registration = Arc::clone(&item.shared.registration);
                let level = item.shared.level;
                let titles = std::mem::take(&mut item.titles);
                *item = self.item(registration, titles, stamp, level);
                changed = true;
            } else if item.ask_again.is_some_and(|at| now >= at) {
                self.ask(item);
            }
        }
        self.items = items;
        changed
    }
}

impl Item {
    /// Takes note of what the library has to offer.
    fn answered(&mut self, failure: Option<String>) {
        let nothing = lock(&self.shared.known).is_empty();
        let refusal = match failure {
            Some(failure) => Some((ProviderState::Failed, failure)),
            None if nothing => {
                let why = "it offers no objects at the moment".to_string();
                Some((ProviderState::Failed, why))
            }
            None => None,
        };
        if refusal.is_some() {
            self.ask_again = Some(Instant::now() + self.pause);
            self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        } else {
            self.pause = FIRST_PAUSE;
        }
        self.describe(refusal);
    }

    /// Makes a new provider of what is known now.
    fn describe(&mut self, refusal: Option<(ProviderState, String)>) {
        self.described = Instant::now();
        self.provider = Arc::new(ExtensionProvider {
            shared: Arc::clone(&self.shared),
            objects: self.shared.describe(),
            titles: self.titles.clone(),
            refusal,
        });
    }
}

impl Roster for ExtensionRoster {
    fn changed(&mut self) -> Option<Vec<Arc<dyn Provider>>> {
        self.changed_by(None)
    }

    fn faults(&self) -> &[Fault] {
        self.source.faults()
    }

    fn changed_by(&mut self, deadline: Option<Instant>) -> Option<Vec<Arc<dyn Provider>>> {
        let now = Instant::now();
        let mut changed = false;
        if let Some(registrations) = self.source.changed() {
            changed = self.update(&registrations);
            if changed {
                let patience = now + self.options.patience;
                self.take_answers(deadline.map_or(patience, |deadline| deadline.min(patience)));
            }
        }
        if now >= self.look {
            self.look = now + self.options.look_every;
            changed |= self.look_again(now);
        }
        changed |= self.take_answers(now);
        for item in &mut self.items {
            if item.shared.news.load(Ordering::Relaxed)
                && item.question.is_none()
                && now.saturating_duration_since(item.described) >= self.options.look_every
            {
                item.describe(None);
                changed = true;
            }
        }
        changed.then(|| {
            let providers = self.items.iter().map(|item| Arc::clone(&item.provider));
            providers.map(|provider| provider as Arc<dyn Provider>).collect()
        })
    }
}

fn stamp(library: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(library).ok()?;
    Some((meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.size()))
}

/// The names and help texts whose indexes were allotted to a provider.
fn titles_of(registration: &Registration, all: &[ProvidedTitles]) -> Vec<ProvidedTitles> {
    let names = registration.first_counter..=registration.last_counter;
    let help = registration.first_help..=registration.last_help;
    let part = |list: &TitleList, range: &std::ops::RangeInclusive<u32>| TitleList {
        titles: list
            .titles
            .iter()
            .filter(|title| range.contains(&title.index.0))
            .cloned()
            .collect(),
        faults: Vec::new(),
    };
    all.iter()
        .map(|titles| ProvidedTitles {
            language: titles.language,
            names: part(&titles.names, &names),
            help: part(&titles.help, &help),
        })
        .filter(|titles| !(titles.names.titles.is_empty() && titles.help.titles.is_empty()))
        .collect()
}

fn is_same(one: &[ProvidedTitles], other: &[ProvidedTitles]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.language == other.language && one.names == other.names && one.help == other.help
        })
}
