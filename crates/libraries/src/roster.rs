//! The providers that are registered, as a roster of a broker.

use crate::account::{LONGEST_PAUSE, LibraryStamp};
use crate::in_process::Closing;
use crate::options::Options;
use crate::provider::{Claims, ExtensionProvider, Shared, lock};
use crate::session::ExtensionSession;
use perfhive_contract::{Registration, Registrations};
use perfhive_engine::{
    Fault, ProvidedTitles, Provider, ProviderError, ProviderState, Roster, TestLevel, Wanted,
    note_growth,
};
use perfhive_format::TitleIndex;
use perfhive_format::titles::TitleList;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

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
/// What a library has is in its account, or known once it was asked. That is
/// done when a reader wants something that may be its, on a thread of its own;
/// the first time, the reader waits for it no longer than
/// [`Options::patience`], however many there are to be asked, and finds the
/// objects of slower ones later. A registration that changes, or a library that
/// is replaced, is a new provider.
pub struct ExtensionRoster {
    source: Box<dyn RegistrationSource>,
    options: Options,
    claims: Claims,
    closing: Arc<Closing>,
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
    failure: Option<ProviderError>,
}

struct Item {
    titles: Vec<ProvidedTitles>,
    stamp: Option<LibraryStamp>,
    shared: Arc<Shared>,
    provider: Arc<ExtensionProvider>,
    described: Instant,
    /// The question that it has not answered yet.
    question: Option<u64>,
    /// Since when and until when readers wait for that, and whether they have waited for it
    /// in vain already.
    until: Option<(Instant, Instant)>,
    awaited: bool,
    /// Pause after an answer that offered nothing.
    pause: Duration,
    /// From when on it is to be asked; `None` if it is not.
    due: Option<Instant>,
}

impl ExtensionRoster {
    /// A roster of what `source` has registered.
    #[must_use]
    pub fn new(source: impl RegistrationSource + 'static, options: Options) -> Self {
        let (report, found) = channel();
        Self {
            source: Box::new(source),
            options,
            claims: Claims::default(),
            closing: Arc::default(),
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
        *lock(&self.claims) = registrations.providers.clone();
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
        stamp: Option<LibraryStamp>,
        level: TestLevel,
    ) -> Item {
        let ours = (Arc::clone(&self.claims), Arc::clone(&self.closing));
        let shared = Shared::new(registration, ours, stamp, self.options.clone(), level);
        let provider = Arc::new(ExtensionProvider {
            shared: Arc::clone(&shared),
            objects: Vec::new(),
            titles: Vec::new(),
            refusal: None,
            works: false,
        });
        let mut item = Item {
            titles,
            stamp,
            shared,
            provider,
            described: Instant::now(),
            question: None,
            until: None,
            awaited: false,
            pause: self.options.first_pause(),
            due: None,
        };
        item.begin();
        item
    }

    /// Asks a library for its objects, on a thread of its own.
    fn ask(&mut self, item: &mut Item) {
        note_growth();
        self.asked += 1;
        let (number, report) = (self.asked, self.report.clone());
        let shared = Arc::clone(&item.shared);
        let body = move || {
            let opened =
                ExtensionSession::open(&shared).inspect_err(|error| shared.log(&error.to_string()));
            let failure = opened.and_then(|mut session| session.discover()).err();
            // Who hears of it may be the last one then, and writes the account.
            drop(shared);
            // The roster may be gone meanwhile.
            let _ = report.send(Found { number, failure });
        };
        let name = "perfhive objects".to_string();
        item.due = None;
        item.question = match thread::Builder::new().name(name).spawn(body) {
            Ok(_) => Some(number),
            Err(_) => {
                item.due = Some(after(Instant::now(), item.pause));
                None
            }
        };
    }

    /// Asks those libraries that may have what is wanted and have not said so
    /// far, all at the same time, and waits for those that are asked for the
    /// first time. Answers whether anything is known now that was not.
    fn find_out(&mut self, wanted: Wanted<'_>, deadline: Option<Instant>) -> bool {
        let now = Instant::now();
        let usual = self.options.patience;
        let mut items = std::mem::take(&mut self.items);
        for item in &mut items {
            if item.due.is_some_and(|due| now >= due) && item.may_have(wanted) {
                self.ask(item);
                let patience = item.shared.account.patience(usual).min(usual);
                // One that was waited for in vain may come back whenever it likes.
                item.until =
                    item.question.filter(|_| !item.awaited).map(|_| (now, after(now, patience)));
            }
        }
        self.items = items;
        let is_awaited = |item: &Item| item.question.is_some() && item.may_have(wanted);
        let awaited = self.items.iter().filter(|item| is_awaited(item));
        let Some(longest) = awaited.filter_map(|item| item.until.map(|(_, end)| end)).max() else {
            return false;
        };
        // What is known is to be collected yet, for which half of the time is left.
        let half = deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
        let until = half.map_or(longest, |half| half.min(longest));
        let mut changed = self.take_answers(until, |item| item.until.is_some() && is_awaited(item));
        let over = Instant::now();
        for item in &mut self.items {
            let is_open = is_awaited(item);
            let Some((since, end)) = item.until else { continue };
            // For a reader in a hurry it is not late yet, and the next one may wait on.
            if is_open && over < end {
                continue;
            }
            if is_open || item.question.is_none() {
                item.until = None;
            }
            if is_open {
                item.awaited = true;
                item.is_late(end.saturating_duration_since(since));
                changed = true;
            }
        }
        changed
    }

    /// Takes the answers that are there, and waits until `deadline` for those that
    /// are open. Answers whether there were any.
    fn take_answers(&mut self, deadline: Instant, is_open: impl Fn(&Item) -> bool) -> bool {
        let mut changed = false;
        while self.items.iter().any(&is_open) {
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

    /// Looks for libraries that were replaced, and for what other programs found
    /// out.
    fn look_again(&mut self) -> bool {
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
            } else if item.shared.account.look() {
                // Another program found something out, or somebody enabled it.
                item.adopt();
                changed = true;
            }
        }
        self.items = items;
        changed
    }
}

impl Drop for ExtensionRoster {
    fn drop(&mut self) {
        // A thread that hangs in a library has a part in the account, and may
        // never let go of it.
        self.items.iter().for_each(|item| item.shared.account.flush());
        // A program that ends would not let trusted libraries come back from Close.
        self.items.clear();
        self.closing.wait();
    }
}

impl Item {
    /// Describes it by its account, and sees whether it is to be asked.
    fn begin(&mut self) {
        self.due = None;
        let known = !lock(&self.shared.known).is_empty();
        if self.shared.registration.disabled {
            let why = "its registration says that it is not to be asked".to_string();
            lock(&self.shared.known).clear();
            return self.describe(Some((ProviderState::Disabled, why)), false);
        }
        if known {
            // Whoever found it out, nobody waits for that any more.
            self.until = None;
            return self.describe(None, true);
        }
        let account = &self.shared.account;
        let refusal = account.refusal();
        let quarantined =
            matches!(&refusal, Some((ProviderState::Quarantined, _))) && self.question.is_none();
        if !quarantined && self.question.is_none() {
            self.due = Some(Instant::now() + account.pause_left().unwrap_or_default());
        }
        let idle = || (ProviderState::Idle, "it has not said yet what it offers".to_string());
        self.describe(Some(refusal.unwrap_or_else(idle)), false);
    }

    /// Takes over what another program found out.
    fn adopt(&mut self) {
        let mut known = lock(&self.shared.known);
        if known.is_empty() {
            *known = self.shared.account.known();
        }
        drop(known);
        self.pause = self.shared.options.first_pause();
        self.begin();
    }

    /// Whether it may have objects that are wanted: those that it lists, or else
    /// those that its names are for. One without either may have any.
    fn may_have(&self, wanted: Wanted<'_>) -> bool {
        let may = |name: &TitleIndex| self.shared.registration.may_give(*name);
        match wanted {
            Wanted::Nothing => false,
            Wanted::Everything => true,
            Wanted::Objects(list) => list.iter().any(may),
        }
    }

    /// Takes note that it did not answer in time. What it said so far is used.
    fn is_late(&mut self, patience: Duration) {
        let why = format!("it did not say within {patience:?} what it offers");
        let known = lock(&self.shared.known).clone();
        if !known.is_empty() {
            self.shared.account.note_objects(&known);
        }
        self.shared.late(&why);
        if known.is_empty() {
            let refusal = self.shared.account.refusal();
            let quarantined = refusal.filter(|(state, _)| *state == ProviderState::Quarantined);
            self.describe(quarantined.or(Some((ProviderState::Idle, why))), false);
        } else {
            self.describe(None, true);
        }
    }

    /// Takes note of what the library has to offer.
    fn answered(&mut self, failure: Option<ProviderError>) {
        let known = lock(&self.shared.known).clone();
        let account = &self.shared.account;
        let was_quarantined = account.status().state == ProviderState::Quarantined;
        let works = failure.is_none();
        let refusal = match failure {
            // Of one that has to wait it is known why.
            Some(ProviderError::NotYet(why)) => Some((ProviderState::Failed, why)),
            Some(failure) => {
                let failure = failure.to_string();
                account.discovered(Some(&failure), &known);
                let quarantined = account.status().state == ProviderState::Quarantined;
                if quarantined && !was_quarantined {
                    self.shared.log_quarantine();
                }
                account.refusal().filter(|_| quarantined).or(Some((ProviderState::Failed, failure)))
            }
            None if known.is_empty() => {
                let why = "it offers no objects at the moment".to_string();
                Some((ProviderState::Failed, why))
            }
            None => {
                account.discovered(None, &known);
                None
            }
        };
        match &refusal {
            None => self.pause = self.shared.options.first_pause(),
            Some((ProviderState::Quarantined, _)) => {}
            Some(_) => {
                let pause = account.pause_left().unwrap_or(self.pause);
                self.due = Some(after(Instant::now(), pause));
                self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
        }
        // What it offered before stays in the catalogue.
        let known = !known.is_empty();
        self.describe(refusal.filter(|_| !known), works || known);
    }

    /// Makes a new provider of what is known now.
    fn describe(&mut self, refusal: Option<(ProviderState, String)>, works: bool) {
        self.described = Instant::now();
        self.provider = Arc::new(ExtensionProvider {
            shared: Arc::clone(&self.shared),
            objects: self.shared.describe(),
            titles: self.titles.clone(),
            refusal,
            works,
        });
    }
}

impl Roster for ExtensionRoster {
    fn changed(&mut self) -> Option<Vec<Arc<dyn Provider>>> {
        self.changed_for(Wanted::Everything, None)
    }

    fn faults(&self) -> &[Fault] {
        self.source.faults()
    }

    fn changed_for(
        &mut self,
        wanted: Wanted<'_>,
        deadline: Option<Instant>,
    ) -> Option<Vec<Arc<dyn Provider>>> {
        let now = Instant::now();
        let mut changed = false;
        if let Some(registrations) = self.source.changed() {
            note_growth();
            changed = self.update(&registrations);
        }
        if now >= self.look {
            self.look = after(now, self.options.look_every);
            changed |= self.look_again();
        }
        changed |= self.take_answers(now, |item| item.question.is_some());
        changed |= self.find_out(wanted, deadline);
        for item in &mut self.items {
            if item.shared.turned.swap(false, Ordering::Relaxed) {
                item.adopt();
                changed = true;
            }
            if item.shared.news.load(Ordering::Relaxed)
                && item.question.is_none()
                && now.saturating_duration_since(item.described) >= self.options.look_every
            {
                item.shared.account.note_objects(&lock(&item.shared.known));
                item.describe(None, true);
                changed = true;
            }
        }
        changed.then(|| {
            note_growth();
            let providers = self.items.iter().map(|item| Arc::clone(&item.provider));
            providers.map(|provider| provider as Arc<dyn Provider>).collect()
        })
    }
}

/// The time so long after another; what is too long for that never comes.
fn after(start: Instant, time: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    start + time.min(NEVER)
}

fn stamp(library: &Path) -> Option<LibraryStamp> {
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
