//! The source made of providers: the embedded performance library.
//!
//! It knows what each provider offers, asks those that a query concerns,
//! assembles one block, and tests what each delivers. A provider that fails
//! costs its own objects and nothing else; one that fails again and again is
//! put into quarantine.

mod clock;
mod registry;
mod roster;
mod status;

use crate::collect_tests::{TestLevel, check_objects};
use crate::error::{Fault, FaultKind, ProviderError, SourceError, SourceErrorKind};
use crate::frame::{FramePool, Snapshot};
use crate::provider::{
    Collection, ObjectDescription, ObjectWriter, OpenContext, Provider, Session,
};
use crate::request::{ObjectQuery, Request};
use crate::source::{Catalogue, Cost, Source};
use crate::titles::TitleDatabase;
pub use clock::{Clock, StdClock};
use perfhive_format::{BlockHead, BlockWriter, LanguageId, TitleIndex};
pub use registry::CHOSEN_INDEXES;
use registry::Registered;
pub use roster::Roster;
pub use status::{ProviderState, ProviderStatus};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Entry {
    provider: Arc<dyn Provider>,
    /// The roster it came from; `None` for one that stays.
    roster: Option<usize>,
    registered: Registered,
    session: Option<Box<dyn Session>>,
    status: ProviderStatus,
    /// Collections in a row that failed.
    in_a_row: u32,
    /// Whether it used up a reader's deadline and did not succeed in time since.
    is_late: bool,
    /// The last answer that it had its turn in.
    turn: u64,
    /// Objects wanted of it in this collection; kept for its allocation.
    wanted: Vec<TitleIndex>,
    /// Objects that it offers and another provider has.
    lost: Vec<ObjectDescription>,
}

/// Puts a [`Broker`] together.
pub struct BrokerBuilder {
    name: String,
    machine: String,
    providers: Vec<Arc<dyn Provider>>,
    rosters: Vec<Box<dyn Roster>>,
    clock: Box<dyn Clock>,
    level: TestLevel,
    quarantine_after: u32,
    default_object: Option<TitleIndex>,
    limit: usize,
}

impl BrokerBuilder {
    /// Adds a provider.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Adds providers.
    #[must_use]
    pub fn providers(mut self, providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        self.providers.extend(providers);
        self
    }

    /// Adds a set of providers that may change while the broker is at work.
    #[must_use]
    pub fn roster(mut self, roster: impl Roster + 'static) -> Self {
        self.rosters.push(Box::new(roster));
        self
    }

    /// Sets the clock; [`StdClock`] by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Sets how much of each provider's data is tested; all by default.
    #[must_use]
    pub fn test_level(mut self, level: TestLevel) -> Self {
        self.level = level;
        self
    }

    /// Sets after how many failed collections in a row a provider is
    /// disabled; 5 by default, 0 for never.
    #[must_use]
    pub fn quarantine_after(mut self, faults: u32) -> Self {
        self.quarantine_after = faults;
        self
    }

    /// Sets the object that a tool should show first.
    #[must_use]
    pub fn default_object(mut self, object: TitleIndex) -> Self {
        self.default_object = Some(object);
        self
    }

    /// Sets the size that a block must not exceed, in bytes.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Registers the providers: those with Windows' indexes keep them, the
    /// others get indexes behind Last Counter, in the order they were added.
    #[must_use]
    pub fn build(self) -> Broker {
        let registrations = registry::register(&self.providers, 0);
        let entries = self.providers.into_iter().zip(registrations).map(Entry::new).collect();
        let mut broker = Broker {
            name: self.name,
            machine: self.machine,
            entries,
            rosters: self.rosters,
            clock: self.clock,
            level: self.level,
            quarantine_after: self.quarantine_after,
            default_object: self.default_object,
            limit: self.limit,
            pool: FramePool::default(),
            generation: 0,
            catalogue: None,
            catalogue_generation: 1,
            titles: HashMap::new(),
            foreign: Vec::new(),
            owners: Owners::new(),
        };
        broker.claim();
        broker
    }
}

/// The [`Source`] made of [`Provider`]s.
pub struct Broker {
    name: String,
    machine: String,
    entries: Vec<Entry>,
    rosters: Vec<Box<dyn Roster>>,
    clock: Box<dyn Clock>,
    level: TestLevel,
    quarantine_after: u32,
    default_object: Option<TitleIndex>,
    limit: usize,
    pool: FramePool,
    generation: u64,
    catalogue: Option<Arc<Catalogue>>,
    catalogue_generation: u64,
    titles: HashMap<LanguageId, Arc<TitleDatabase>>,
    foreign: Vec<Vec<u8>>,
    owners: Owners,
}

impl Broker {
    /// Begins a broker: what it is called in messages, and the machine whose
    /// name its blocks carry.
    #[must_use]
    pub fn builder(name: &str, machine: &str) -> BrokerBuilder {
        BrokerBuilder {
            name: name.to_string(),
            machine: machine.to_string(),
            providers: Vec::new(),
            rosters: Vec::new(),
            clock: Box::new(StdClock::default()),
            level: TestLevel::default(),
            quarantine_after: 5,
            default_object: None,
            limit: BlockWriter::DEFAULT_LIMIT,
        }
    }

    /// How each provider is doing; [`Source::providers`] answers copies.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderStatus> {
        self.entries.iter().map(|entry| &entry.status)
    }

    /// Registers a further provider while the broker is at work. Indexes that
    /// were allotted before stay; readers notice by the catalogue's generation.
    pub fn register(&mut self, provider: Arc<dyn Provider>) {
        self.add(provider, None);
        self.catalogue_changed();
    }

    /// Lets a provider out of quarantine; `false` if there is none of this
    /// name in it.
    pub fn release(&mut self, name: &str) -> bool {
        let mut found = false;
        for entry in &mut self.entries {
            if entry.status.name == name && entry.status.state == ProviderState::Quarantined {
                entry.status.state = ProviderState::Idle;
                entry.in_a_row = 0;
                found = true;
            }
        }
        found
    }

    fn languages(&self) -> Vec<LanguageId> {
        let mut languages = vec![LanguageId::ENGLISH];
        for entry in &self.entries {
            for titles in &entry.registered.titles {
                if !languages.contains(&titles.language) {
                    languages.push(titles.language);
                }
            }
        }
        languages
    }
}

impl Entry {
    fn new((provider, registered): (Arc<dyn Provider>, Registered)) -> Self {
        let status = ProviderStatus::of(&*provider);
        Self {
            provider,
            roster: None,
            registered,
            session: None,
            status,
            in_a_row: 0,
            is_late: false,
            turn: 0,
            wanted: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Notes which of this provider's objects a query wants; answers whether
    /// it wants any.
    fn select(&mut self, query: &ObjectQuery) -> bool {
        self.wanted.clear();
        let objects = &self.registered.description.objects;
        let wanted = |cost: Cost, name: TitleIndex| match query {
            ObjectQuery::Global => cost == Cost::Global,
            ObjectQuery::Costly => cost == Cost::Costly,
            ObjectQuery::Foreign(_) => cost == Cost::Foreign,
            ObjectQuery::Indexes(list) => list.contains(&name),
        };
        for object in objects.iter().filter(|object| wanted(object.cost, object.spec.name)) {
            for name in object.brings.iter().chain([&object.spec.name]) {
                if !self.wanted.contains(name) {
                    self.wanted.push(*name);
                }
            }
        }
        !self.wanted.is_empty()
            || (matches!(query, ObjectQuery::Foreign(_)) && self.provider.answers_foreign())
    }

    /// That a provider which offers nothing is missing in an answer that is to
    /// have everything.
    fn refused(&self, query: &ObjectQuery) -> Option<Fault> {
        let everything = matches!(query, ObjectQuery::Global | ObjectQuery::Costly);
        let never = self.status.collections == 0;
        let state = matches!(self.status.state, ProviderState::Failed | ProviderState::Idle);
        let is_refusal = |fault: &Fault| fault.kind == FaultKind::OpenFailed;
        let fault = self.status.last_fault.as_ref().filter(|fault| is_refusal(fault));
        fault.filter(|_| everything && never && state).cloned()
    }

    /// Asks the provider; what it wrote is tested, and taken back if it fails.
    fn collect(
        &mut self,
        request: &Request,
        level: TestLevel,
        owners: &Owners,
        block: &mut BlockWriter,
        faults: &mut Vec<Fault>,
        foreign: &mut Vec<Vec<u8>>,
    ) -> Result<(), Fault> {
        let name: &str = &self.status.name;
        let fault = |kind, message: &dyn std::fmt::Display| Fault::new(kind, name, message);
        let session = match &mut self.session {
            Some(session) => session,
            None => {
                let context = OpenContext {
                    linkage: None,
                    first_counter: self.registered.first_counter,
                    first_help: self.registered.first_help,
                };
                let provider = &self.provider;
                let opened = catch_unwind(AssertUnwindSafe(|| provider.open(&context)))
                    .map_err(|panic| fault(FaultKind::Panicked, &panic_text(&*panic)))?
                    .map_err(|error| fault(FaultKind::OpenFailed, &error))?;
                self.session.insert(opened)
            }
        };
        let mark = block.mark();
        let collection = Collection::new(request, &self.wanted);
        let foreign_before = foreign.len();
        let faults_before = faults.len();
        let mut writer = ObjectWriter::new(block, name, level, faults, foreign);
        let outcome = catch_unwind(AssertUnwindSafe(|| session.collect(&collection, &mut writer)));
        let failed_test = writer.take_failed();
        let verdict = match outcome {
            Ok(Ok(())) if level == TestLevel::All => check_objects(block.since(mark))
                .map(drop)
                .map_err(|error| fault(FaultKind::TestFailed, &error)),
            Ok(Ok(())) => Ok(()),
            Ok(Err(ProviderError::NotYet(why))) => Err(fault(FaultKind::NotYet, &why)),
            Ok(Err(error)) => Err(match &failed_test {
                Some(failed) => fault(FaultKind::TestFailed, failed),
                None => fault(FaultKind::CollectFailed, &error),
            }),
            Err(panic) => Err(fault(FaultKind::Panicked, &panic_text(&*panic))),
        };
        let verdict = verdict.and_then(|()| {
            // An object of another provider would be read in its place.
            let stolen = object_names(block.since(mark))
                .find(|object| owners.get(object).is_some_and(|owner| **owner != *name));
            stolen.map_or(Ok(()), |object| {
                let owner = owners.get(&object).map_or("", |owner| owner);
                let message = format!("wrote object {object}, which is {owner}'s");
                Err(fault(FaultKind::TestFailed, &message))
            })
        });
        let panicked = verdict.as_ref().is_err_and(|fault| fault.kind == FaultKind::Panicked);
        if verdict.is_err() {
            block.rewind(mark);
            foreign.truncate(foreign_before);
            // Partial faults of data that is not there would only confuse.
            faults.truncate(faults_before);
        }
        if panicked {
            // Whatever state the panic left behind is not trusted again.
            close(self.session.take());
        }
        self.status.bytes = block.since(mark).len();
        verdict
    }
}

/// The provider to which each object is registered.
type Owners = HashMap<TitleIndex, Arc<str>>;

/// The names of a sequence of objects, as far as their lengths lead.
fn object_names(mut bytes: &[u8]) -> impl Iterator<Item = TitleIndex> {
    std::iter::from_fn(move || {
        let field = |at: usize| {
            let bytes = bytes.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let (length, name) = (field(0)?, field(12)?);
        // At least the length field: the walk ends.
        bytes = bytes.get((length as usize).max(4)..)?;
        Some(TitleIndex(name))
    })
}

/// Closes a session. One that panics on the way is closed all the same.
fn close(session: Option<Box<dyn Session>>) {
    // Its last fault tells of it already: only those that failed are closed.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the provider panicked: {}", text.unwrap_or("no message"))
}

impl Source for Broker {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        self.look_at_rosters(request.deadline);
        self.generation += 1;
        let (clocks, system_time) = self.clock.read();
        let head = BlockHead {
            system_name: &self.machine,
            default_object: self.default_object,
            system_time,
            clocks,
        };
        let mut faults = Vec::new();
        if request.objects == ObjectQuery::Global {
            faults.extend(self.rosters.iter().flat_map(|roster| roster.faults()).cloned());
        }
        let entries = &mut self.entries;
        let owners = &self.owners;
        let foreign = &mut self.foreign;
        foreign.clear();
        let (level, quarantine_after, limit) = (self.level, self.quarantine_after, self.limit);
        let generation = self.generation;
        let frame = self.pool.write(generation, &head, |block| {
            block.set_limit(limit);
            // Who was late is asked last, so that it costs its own objects only.
            for late in [false, true] {
                for entry in entries.iter_mut() {
                    if entry.is_late != late || entry.turn == generation {
                        continue;
                    }
                    entry.turn = generation;
                    if !entry.select(&request.objects) {
                        faults.extend(entry.refused(&request.objects));
                        continue;
                    }
                    if entry.status.state == ProviderState::Quarantined {
                        let message = "disabled after repeated faults";
                        let fault = Fault::new(FaultKind::Quarantined, &entry.status.name, message);
                        faults.extend(entry.wanted.iter().map(|o| fault.clone().of_object(*o)));
                        continue;
                    }
                    let start = Instant::now();
                    if request.deadline.is_some_and(|deadline| start >= deadline) {
                        let message = "not asked: the deadline had passed";
                        let fault =
                            Fault::new(FaultKind::CollectFailed, &entry.status.name, message);
                        faults.extend(entry.wanted.iter().map(|o| fault.clone().of_object(*o)));
                        continue;
                    }
                    let level = entry.provider.test_level().unwrap_or(level);
                    let verdict =
                        entry.collect(request, level, owners, block, &mut faults, foreign);
                    let is_over = request.deadline.is_some_and(|end| Instant::now() >= end);
                    entry.is_late = is_over || (entry.is_late && verdict.is_err());
                    entry.note(verdict, start.elapsed(), quarantine_after, &mut faults);
                }
            }
        });
        let frame = frame
            .map_err(|error| SourceError::new(SourceErrorKind::Internal, &self.name, error))?;
        out.push_frame(frame, &self.name);
        for bytes in self.foreign.drain(..) {
            match crate::frame::Frame::new(bytes, self.generation) {
                Ok(frame) => out.push_frame(Arc::new(frame), &self.name),
                Err(error) => {
                    out.push_fault(Fault::new(FaultKind::TestFailed, &self.name, error));
                }
            }
        }
        faults.into_iter().for_each(|fault| out.push_fault(fault));
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.look_at_rosters(None);
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let catalogue = Arc::new(Catalogue {
            generation: self.catalogue_generation,
            machine: self.machine.clone(),
            languages: self.languages(),
            objects: self.entries.iter().flat_map(|e| e.registered.catalogue_objects()).collect(),
        });
        self.catalogue = Some(Arc::clone(&catalogue));
        Ok(catalogue)
    }

    fn catalogue_generation(&mut self) -> u64 {
        self.look_at_rosters(None);
        self.catalogue_generation
    }

    fn providers(&mut self) -> Vec<ProviderStatus> {
        self.look_at_rosters(None);
        self.entries.iter().map(|entry| entry.status.clone()).collect()
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.look_at_rosters(None);
        if let Some(titles) = self.titles.get(&language) {
            return Ok(Arc::clone(titles));
        }
        let of_language = || {
            self.entries
                .iter()
                .flat_map(|entry| &entry.registered.titles)
                .filter(|titles| titles.language == language)
        };
        if of_language().next().is_none() {
            let have: Vec<_> = self
                .languages()
                .iter()
                .map(|id| id.name().map_or_else(|| id.to_string(), str::to_string))
                .collect();
            return Err(SourceError::new(
                SourceErrorKind::NotFound,
                &self.name,
                format!("has no titles in language {language}; it has {}", have.join(", ")),
            ));
        }
        let database = Arc::new(TitleDatabase::from_lists(
            language,
            of_language().map(|titles| &titles.names),
            of_language().map(|titles| &titles.help),
        ));
        self.titles.insert(language, Arc::clone(&database));
        Ok(database)
    }
}

impl Entry {
    /// Keeps the provider's account after a collection.
    fn note(
        &mut self,
        verdict: Result<(), Fault>,
        took: Duration,
        quarantine_after: u32,
        faults: &mut Vec<Fault>,
    ) {
        let status = &mut self.status;
        status.collections += 1;
        status.last = took;
        status.total += took;
        status.worst = status.worst.max(took);
        match verdict {
            Ok(()) => {
                status.state = ProviderState::Open;
                self.in_a_row = 0;
            }
            Err(fault) => {
                // Who waits is neither better nor worse for it.
                let waits = fault.kind == FaultKind::NotYet;
                status.faults += u64::from(!waits);
                status.state = if fault.kind == FaultKind::OpenFailed {
                    ProviderState::Failed
                } else {
                    ProviderState::Open
                };
                self.in_a_row += u32::from(!waits);
                if quarantine_after > 0 && !waits && self.in_a_row >= quarantine_after {
                    status.state = ProviderState::Quarantined;
                    close(self.session.take());
                }
                if !waits {
                    let told = || self.provider.failed(&fault, status.state);
                    // A log that panics is not worth the reader's data.
                    let _ = catch_unwind(AssertUnwindSafe(told));
                }
                status.last_fault = Some(fault.clone());
                faults.extend(self.wanted.iter().map(|object| fault.clone().of_object(*object)));
            }
        }
    }
}

impl From<ProviderError> for SourceError {
    fn from(error: ProviderError) -> Self {
        Self::new(SourceErrorKind::Internal, "provider", error)
    }
}
