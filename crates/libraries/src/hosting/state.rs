//! The state of one registered library, which its provider, sessions and account share.

use crate::hosting::account::{Account, LibraryStamp};
use crate::hosting::describe::KnownObjects;
use crate::hosting::hosted::HostedLibrary;
use crate::hosting::lock::lock;
use crate::hosting::options::HostOptions;
use perfhive_contract::Registration;
use perfhive_contract::log::Limiter;
use perfhive_engine::{ObjectDescription, ProviderError, TestLevel};
use perfhive_format::TitleIndex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The registrations of all providers, by which the owner of an object is found.
pub(crate) type AllRegistrations = Arc<Mutex<Vec<Registration>>>;

/// The state of one registered library.
pub(crate) struct LibraryState {
    pub(crate) registration: Arc<Registration>,
    others: AllRegistrations,
    pub(crate) options: HostOptions,
    pub(crate) level: TestLevel,
    pub(crate) known: Mutex<KnownObjects>,
    /// Whether objects, or new definitions of objects, are known that the provider does not
    /// describe yet.
    pub(crate) has_news: AtomicBool,
    /// Whether the provider was last described with objects. Further objects are then unusual, and
    /// are written to the log.
    pub(crate) is_settled: AtomicBool,
    /// Whether quarantine began or ended, which the broker must learn.
    pub(crate) has_turned: AtomicBool,
    /// A note about the host process that no reader has been given yet; `None` if there is none.
    pub(crate) note: Mutex<Option<String>>,
    /// A library in a running host process that the last session left in good order; `None` if
    /// there is none.
    parked: Mutex<Option<HostedLibrary>>,
    /// The size in bytes of the buffer that was large enough for the last collection.
    pub(crate) room: AtomicUsize,
    limiter: Mutex<Limiter>,
    pub(crate) account: Account,
}

impl LibraryState {
    /// The state of a registered library, with the objects and failures that its account has.
    pub(crate) fn new(
        registration: Arc<Registration>,
        others: AllRegistrations,
        library: Option<LibraryStamp>,
        options: HostOptions,
        level: TestLevel,
    ) -> Arc<Self> {
        let account = Account::open(&options, &registration, library, level);
        Arc::new(Self {
            registration,
            others,
            options,
            level,
            known: Mutex::new(account.known()),
            has_news: AtomicBool::new(false),
            is_settled: AtomicBool::new(false),
            has_turned: AtomicBool::new(false),
            note: Mutex::default(),
            parked: Mutex::default(),
            room: AtomicUsize::new(crate::hosting::area::FIRST_ROOM),
            limiter: Mutex::default(),
            account,
        })
    }

    /// Whether the provider may give an object. It may give the objects that it registered; a
    /// provider that registered neither names nor objects may give any object that no other
    /// provider registered.
    pub(crate) fn may_give(&self, object: TitleIndex) -> bool {
        let of = &self.registration;
        of.claims(object) || (of.may_give(object) && self.owner(object).is_none())
    }

    /// The name of another provider that registered this object; `None` if no other did.
    fn owner(&self, object: TitleIndex) -> Option<String> {
        let others = lock(&self.others);
        let mut others = others.iter().filter(|one| one.name != self.registration.name);
        others.find(|one| one.claims(object)).map(|one| one.name.clone())
    }

    /// The message for an object that the provider may not give.
    pub(crate) fn left_out(&self, object: TitleIndex) -> String {
        let owner = match self.owner(object) {
            Some(name) => format!("belongs to {name}"),
            None => "its registration does not claim".to_string(),
        };
        let of = &self.registration;
        let names = of.has_names().then(|| format!("{} to {}", of.first_counter, of.last_counter));
        let list = of.objects.iter().filter(|one| {
            !of.has_names() || !(of.first_counter..=of.last_counter).contains(&one.0)
        });
        let own: Vec<String> = names.into_iter().chain(list.map(ToString::to_string)).collect();
        let own = if own.is_empty() {
            "objects that no other provider claims".to_string()
        } else {
            own.join(", ")
        };
        format!("left out object {object}, which {owner}; it may give {own}")
    }

    /// The library that the last session left running, or else a library with a host process that
    /// starts with the first call. The error `NotYet` if this program has no host program, which is
    /// no failure of the library.
    pub(crate) fn library(&self) -> Result<HostedLibrary, ProviderError> {
        if let Some(library) = lock(&self.parked).take() {
            return Ok(library);
        }
        let host = self.options.host.clone().ok_or_else(|| {
            ProviderError::NotYet(
                "there is no program to run it in: install perfhive as /usr/bin/perfhive or \
                 /usr/local/bin/perfhive, or name a program (HostCommand, or PERFHIVE_HOST when \
                 perfhive is built)"
                    .to_string(),
            )
        })?;
        let library = HostedLibrary::new(Arc::clone(&self.registration), host, &self.options);
        // Failures that other readers met count here too.
        Ok(library.after(self.account.failures(), self.account.pause_left()))
    }

    /// Keeps a library for the next session, in place of the library that was kept before. If the
    /// library's process cannot be called again at once, the library is dropped instead.
    pub(crate) fn park(&self, library: HostedLibrary) {
        let before = if library.is_sound() { lock(&self.parked).replace(library) } else { None };
        // A library that was kept before is closed without the lock held.
        drop(before);
    }

    /// Writes a message to the log, unless the limit for this kind of message is reached.
    pub(crate) fn log(&self, message: &str) {
        let line = lock(&self.limiter).pass(message, Instant::now());
        if let Some(line) = line {
            (self.options.log)(&self.registration.name, &line);
        }
    }

    /// Notes that a reader waited for the library in vain, with the reason.
    pub(crate) fn late(&self, why: &str) {
        self.log(why);
        if self.account.late(why) {
            self.log_quarantine();
            self.has_turned.store(true, Ordering::Relaxed);
        }
    }

    /// Writes to the log that the quarantine begins.
    pub(crate) fn log_quarantine(&self) {
        self.log(
            "is asked no more, after repeated failures, until its library or its registration \
             changes, or it is enabled again (perfhive providers --enable)",
        );
    }

    /// The descriptions of the known objects, which are no longer news afterwards.
    pub(crate) fn describe(&self) -> Vec<ObjectDescription> {
        self.has_news.store(false, Ordering::Relaxed);
        let known = lock(&self.known).descriptions();
        self.is_settled.store(!known.is_empty(), Ordering::Relaxed);
        known
    }
}
