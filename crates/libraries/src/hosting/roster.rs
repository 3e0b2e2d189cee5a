//! The registered libraries as a roster of a broker.

mod entry;

use crate::hosting::lock::lock;
use crate::hosting::options::HostOptions;
use crate::hosting::session::ExtensionSession;
use crate::hosting::state::{AllRegistrations, LibraryState};
use entry::{Entry, after, is_same, stamp, titles_of};
use perfhive_contract::Registrations;
use perfhive_engine::{Ask, Fault, Provider, ProviderError, Roster};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Instant;

/// A place where registrations are kept, and from which a roster reads them.
pub trait RegistrationSource: Send {
    /// All registrations if they may have changed since the last call; `None` if they have not
    /// changed. Called before every collection, so that the answer `None` must be cheap.
    fn changed(&mut self) -> Option<Arc<Registrations>>;

    /// The registrations that cannot be used, and why, as of the last change.
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
/// The objects of a library are taken from its account, a file that all programs of a user share. If
/// that has none, the library is asked for them, on a thread of its own, once a reader wants an
/// object that the library may have. The reader waits at
/// most [`HostOptions::patience`] for the answers of all libraries together; objects of slower
/// libraries appear later. A changed registration or a replaced library becomes a new provider.
pub struct ExtensionRoster {
    source: Box<dyn RegistrationSource>,
    options: HostOptions,
    registrations: AllRegistrations,
    entries: Vec<Entry>,
    next_look: Instant,
    answers: Receiver<DiscoveryResult>,
    report: Sender<DiscoveryResult>,
    /// The number of the last question for a library's objects; each question, to any library, gets
    /// the next number.
    last_question: u64,
}

/// The answer to the question `number`, by which a library was asked for its objects. `failure` is
/// the reason why the library gave none; `None` if it answered.
struct DiscoveryResult {
    number: u64,
    failure: Option<ProviderError>,
}

impl ExtensionRoster {
    /// A roster of the registrations of `source`.
    #[must_use]
    pub fn new(source: impl RegistrationSource + 'static, options: HostOptions) -> Self {
        let (report, answers) = channel();
        Self {
            source: Box::new(source),
            options,
            registrations: AllRegistrations::default(),
            entries: Vec::new(),
            next_look: Instant::now(),
            answers,
            report,
            last_question: 0,
        }
    }

    /// Takes over `registrations` in place of the known ones. Returns whether a provider was added
    /// or removed, or differs in its registration, titles, test level or library's file.
    fn update(&mut self, registrations: &Registrations) -> bool {
        *lock(&self.registrations) = registrations.providers.clone();
        let level = registrations.test_level;
        let mut old = std::mem::take(&mut self.entries);
        let mut changed = false;
        for registration in &registrations.providers {
            let titles = titles_of(registration, &registrations.titles);
            let stamp = stamp(&registration.library);
            let same = old.iter().position(|entry| {
                *entry.state.registration == *registration
                    && entry.stamp == stamp
                    && entry.state.level == level
                    && is_same(&entry.titles, &titles)
            });
            if let Some(at) = same {
                self.entries.push(old.swap_remove(at));
                continue;
            }
            changed = true;
            let registration = Arc::new(registration.clone());
            let (all, options) = (Arc::clone(&self.registrations), self.options.clone());
            let state = LibraryState::new(registration, all, stamp, options, level);
            self.entries.push(Entry::new(state, titles, stamp));
        }
        changed || !old.is_empty()
    }

    /// Asks the library of the entry at the index `at` for its objects, on a new thread.
    fn ask(&mut self, at: usize) {
        self.last_question += 1;
        let (number, report) = (self.last_question, self.report.clone());
        let Some(entry) = self.entries.get_mut(at) else { return };
        let state = Arc::clone(&entry.state);
        let body = move || {
            let opened =
                ExtensionSession::open(&state).inspect_err(|error| state.log(&error.to_string()));
            let failure = opened.and_then(|mut session| session.discover()).err();
            // The last owner of the state writes the account: that must not be this thread.
            drop(state);
            // The roster may be gone meanwhile.
            let _ = report.send(DiscoveryResult { number, failure });
        };
        let name = "perfhive objects".to_string();
        entry.due = None;
        match thread::Builder::new().name(name).spawn(body) {
            Ok(_) => entry.question = Some(number),
            Err(_) => entry.postpone(),
        }
    }

    /// Asks the libraries that may have wanted objects and are due to be asked, all at the same
    /// time. Waits for their answers no longer than the patience of a reader, and no longer than half
    /// of the time until the deadline of `ask`. Does not wait for a library for which readers already
    /// waited in vain. Returns whether anything new is known.
    fn find_out(&mut self, ask: &Ask) -> bool {
        let wanted = &ask.objects;
        let now = Instant::now();
        let usual = self.options.patience;
        for at in 0..self.entries.len() {
            let is_due =
                |entry: &Entry| entry.due.is_some_and(|due| now >= due) && entry.may_have(wanted);
            if !self.entries.get(at).is_some_and(is_due) {
                continue;
            }
            self.ask(at);
            let Some(entry) = self.entries.get_mut(at) else { continue };
            let patience = entry.state.account.patience(usual).min(usual);
            let is_first = entry.question.is_some() && !entry.was_late;
            entry.waited_for = is_first.then(|| (now, after(now, patience)));
        }
        let awaited = self.entries.iter().filter(|entry| entry.is_awaited(wanted));
        let Some(longest) = awaited.filter_map(|entry| Some(entry.waited_for?.1)).max() else {
            return false;
        };
        // The other half of the time is for collecting what is known.
        let half = ask.until.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
        let until = half.map_or(longest, |half| half.min(longest));
        let is_open = |entry: &Entry| entry.waited_for.is_some() && entry.is_awaited(wanted);
        let mut changed = self.take_answers(until, is_open);
        let over = Instant::now();
        for entry in &mut self.entries {
            let Some((since, end)) = entry.waited_for else { continue };
            if entry.question.is_none() {
                entry.waited_for = None;
            } else if entry.may_have(wanted) && over >= end {
                // Before `end` the answer is not late: the next reader may wait on.
                entry.late(end.saturating_duration_since(since));
                changed = true;
            }
        }
        changed
    }

    /// Takes answers, and waits for them until `deadline`, as long as there is an entry of which
    /// `is_open` is true. Returns whether an entry got its answer.
    fn take_answers(&mut self, deadline: Instant, is_open: impl Fn(&Entry) -> bool) -> bool {
        let mut changed = false;
        while self.entries.iter().any(&is_open) {
            let left = deadline.saturating_duration_since(Instant::now());
            let result = match self.answers.recv_timeout(left) {
                Ok(result) => result,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            let number = Some(result.number);
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.question == number) {
                entry.answered(result.failure);
                changed = true;
            }
        }
        changed
    }

    /// Makes a new entry for each library with a replaced file, and takes over the objects, pauses
    /// and quarantines that other programs wrote to accounts. Returns whether anything changed.
    fn look_again(&mut self) -> bool {
        let mut changed = false;
        for entry in &mut self.entries {
            let stamp = stamp(&entry.state.registration.library);
            if stamp != entry.stamp {
                let registration = Arc::clone(&entry.state.registration);
                let (all, options) = (Arc::clone(&self.registrations), self.options.clone());
                let level = entry.state.level;
                let state = LibraryState::new(registration, all, stamp, options, level);
                *entry = Entry::new(state, std::mem::take(&mut entry.titles), stamp);
                changed = true;
            } else if entry.state.account.look() {
                entry.adopt();
                changed = true;
            }
        }
        changed
    }
}

impl Drop for ExtensionRoster {
    fn drop(&mut self) {
        // Dropping the state would write the account too, but a thread that hangs in the library
        // may hold the state for ever.
        self.entries.iter().for_each(|entry| entry.state.account.flush());
    }
}

impl Roster for ExtensionRoster {
    fn faults(&self) -> &[Fault] {
        self.source.faults()
    }

    fn changed(&mut self, ask: &Ask) -> Option<Vec<Arc<dyn Provider>>> {
        let now = Instant::now();
        let mut changed = false;
        if let Some(registrations) = self.source.changed() {
            changed = self.update(&registrations);
        }
        if now >= self.next_look {
            self.next_look = after(now, self.options.look_every);
            changed |= self.look_again();
        }
        changed |= self.take_answers(now, |entry| entry.question.is_some());
        changed |= self.find_out(ask);
        for entry in &mut self.entries {
            changed |= entry.refresh(now);
        }
        changed.then(|| {
            let providers = self.entries.iter().map(|entry| Arc::clone(&entry.provider));
            providers.map(|provider| provider as Arc<dyn Provider>).collect()
        })
    }
}
