//! A registration as a provider.

use crate::account::{Account, LibraryStamp};
use crate::caller::Caller;
use crate::describe::Known;
use crate::in_process::{Closing, InProcess, LoadedOnce};
use crate::isolated::Isolated;
use crate::options::Options;
use crate::session::ExtensionSession;
use perfhive_contract::Registration;
use perfhive_contract::log::Limiter;
use perfhive_engine::{
    Fault, FaultKind, Numbering, ObjectDescription, OpenContext, ProvidedTitles, Provider,
    ProviderDescription, ProviderError, ProviderState, ProviderStatus, Session, TestLevel,
};
use perfhive_format::TitleIndex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Everything that is registered beside a provider, to know whose an object is.
pub(crate) type Claims = Arc<Mutex<Vec<Registration>>>;

/// What all providers and sessions of one registration share, as its library's
/// objects become known and change.
pub(crate) struct Shared {
    pub(crate) registration: Arc<Registration>,
    claims: Claims,
    closing: Arc<Closing>,
    pub(crate) options: Options,
    pub(crate) level: TestLevel,
    /// The library, once it is loaded into this process.
    loaded: LoadedOnce,
    pub(crate) known: Mutex<Known>,
    /// Whether there is more known than the provider describes.
    pub(crate) news: AtomicBool,
    /// Whether it was described with objects once: those that come then are unusual.
    pub(crate) settled: AtomicBool,
    /// Whether it went into quarantine or out of it, which its broker is to hear of.
    pub(crate) turned: AtomicBool,
    /// What readers are to be told of its process.
    pub(crate) note: Mutex<Option<String>>,
    /// A library at work that its last session left in good order.
    parked: Mutex<Option<Caller>>,
    /// Room that sufficed for the last collection.
    pub(crate) room: AtomicUsize,
    limiter: Mutex<Limiter>,
    pub(crate) account: Account,
}

impl Shared {
    pub(crate) fn new(
        registration: Arc<Registration>,
        (claims, closing): (Claims, Arc<Closing>),
        library: Option<LibraryStamp>,
        options: Options,
        level: TestLevel,
    ) -> Arc<Self> {
        let account = Account::open(&options, &registration, library, level);
        Arc::new(Self {
            registration,
            claims,
            closing,
            options,
            level,
            loaded: LoadedOnce::default(),
            known: Mutex::new(account.known()),
            news: AtomicBool::new(false),
            settled: AtomicBool::new(false),
            turned: AtomicBool::new(false),
            note: Mutex::default(),
            parked: Mutex::default(),
            room: AtomicUsize::new(crate::area::FIRST_ROOM),
            limiter: Mutex::default(),
            account,
        })
    }

    /// Whether an object is this provider's to give. One that registered neither
    /// names nor objects may give what no other has registered.
    pub(crate) fn may_give(&self, object: TitleIndex) -> bool {
        let of = &self.registration;
        of.claims(object) || (of.may_give(object) && self.claimant(object).is_none())
    }

    /// Which other provider registered an object.
    fn claimant(&self, object: TitleIndex) -> Option<String> {
        let others = lock(&self.claims);
        let mut others = others.iter().filter(|one| one.name != self.registration.name);
        others.find(|one| one.claims(object)).map(|one| one.name.clone())
    }

    /// That an object was left out which is not this provider's to give.
    pub(crate) fn left_out(&self, object: TitleIndex) -> String {
        let whose = match self.claimant(object) {
            Some(name) => format!("{name}'s"),
            None => "not registered with it".to_string(),
        };
        let of = &self.registration;
        let names = of.has_names().then(|| format!("{} to {}", of.first_counter, of.last_counter));
        let list = of.objects.iter().filter(|one| {
            !of.has_names() || !(of.first_counter..=of.last_counter).contains(&one.0)
        });
        let own: Vec<String> = names.into_iter().chain(list.map(ToString::to_string)).collect();
        let own = if own.is_empty() { "what no other has".to_string() } else { own.join(", ") };
        format!("left out object {object}, which is {whose}: its own are {own}")
    }

    /// A library at work, or one that will be with the first collection.
    pub(crate) fn caller(&self) -> Result<Caller, ProviderError> {
        if let Some(caller) = lock(&self.parked).take() {
            return Ok(caller);
        }
        let registration = &self.registration;
        if !registration.in_process {
            let host = self.options.host.clone().ok_or_else(|| {
                ProviderError::Failed(
                    "there is no program to run it in: perfhive-host is not beside this one nor \
                     on the PATH"
                        .to_string(),
                )
            })?;
            let isolated = Isolated::new(Arc::clone(registration), host, &self.options);
            // What others met with it, or this one before its objects changed.
            let isolated = isolated.after(self.account.failures(), self.account.pause_left());
            return Ok(Caller::Isolated(Box::new(isolated)));
        }
        let (loaded, closing) = (Arc::clone(&self.loaded), Arc::clone(&self.closing));
        let started = InProcess::start(Arc::clone(registration), loaded, closing);
        let library = started.map_err(ProviderError::Failed)?;
        let (_, last) = self.account.failures();
        Ok(Caller::InProcess(library.after(&last, self.account.pause_left())))
    }

    /// Keeps a library at work for the next session.
    pub(crate) fn park(&self, caller: Caller) {
        let before = if caller.is_sound() { lock(&self.parked).replace(caller) } else { None };
        // Closed without the lock held.
        drop(before);
    }

    /// Writes to the log, if it is worth a line.
    pub(crate) fn log(&self, message: &str) {
        let line = lock(&self.limiter).pass(message, Instant::now());
        if let Some(line) = line.and_then(|line| self.account.pass_log(line)) {
            (self.options.log)(&self.registration.name, &line);
        }
    }

    /// Takes note that a reader waited for it in vain.
    pub(crate) fn late(&self, why: &str) {
        self.log(why);
        if self.account.late(why) {
            self.log_quarantine();
            self.turned.store(true, Ordering::Relaxed);
        }
    }

    /// Writes to the log that the provider is disabled from now on.
    pub(crate) fn log_quarantine(&self) {
        self.log(
            "is asked no more, after repeated failures, until its library or its registration \
             changes, or it is enabled again (perfhive providers --enable)",
        );
    }

    /// The description as far as things are known, and no more news from then.
    pub(crate) fn describe(&self) -> Vec<ObjectDescription> {
        self.news.store(false, Ordering::Relaxed);
        let known = lock(&self.known).descriptions();
        self.settled.store(!known.is_empty(), Ordering::Relaxed);
        known
    }
}

/// What is behind these locks is whole at every moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registered library with what is known of its objects.
pub(crate) struct ExtensionProvider {
    pub(crate) shared: Arc<Shared>,
    pub(crate) objects: Vec<ObjectDescription>,
    pub(crate) titles: Vec<ProvidedTitles>,
    pub(crate) refusal: Option<(ProviderState, String)>,
    /// Whether it is asked for other machines: it works, though it may have
    /// nothing of this one.
    pub(crate) works: bool,
}

impl Provider for ExtensionProvider {
    fn name(&self) -> &str {
        &self.shared.registration.name
    }

    fn describe(&self) -> ProviderDescription {
        // The indexes are final: registration chose them.
        ProviderDescription { numbering: Numbering::Windows, objects: self.objects.clone() }
    }

    fn titles(&self) -> Vec<ProvidedTitles> {
        self.titles.clone()
    }

    fn registered_objects(&self) -> Vec<TitleIndex> {
        let registration = &self.shared.registration;
        match registration.objects.as_slice() {
            // By custom the first name is an object's.
            [] => vec![TitleIndex(registration.first_counter)],
            objects => objects.to_vec(),
        }
    }

    fn answers_foreign(&self) -> bool {
        self.works
    }

    fn test_level(&self) -> Option<TestLevel> {
        Some(self.shared.level)
    }

    fn refusal(&self) -> Option<(ProviderState, String)> {
        self.refusal.clone()
    }

    fn account(&self) -> Option<ProviderStatus> {
        Some(self.shared.account.status())
    }

    fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        self.shared.account.collected(status, fault);
        if let Some(fault) = fault.filter(|fault| fault.kind != FaultKind::NotYet) {
            self.shared.log(&fault.message);
            if status.state == ProviderState::Quarantined {
                self.shared.log_quarantine();
            }
        }
    }

    fn released(&self) {
        self.shared.account.release();
        self.shared.turned.store(true, Ordering::Relaxed);
    }

    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        Ok(Box::new(ExtensionSession::open(&self.shared)?))
    }
}
