//! The source made of providers: the embedded performance library.
//!
//! The broker knows which objects each provider offers. For an ask it calls the providers that
//! offer a wanted object, tests the data that each of them delivers, and assembles one block. If a
//! provider fails, only its own objects are missing. A provider that fails repeatedly is put into
//! quarantine.

mod clock;
mod entry;
mod members;
mod registry;
mod roster;

use crate::ask::{Ask, ObjectQuery};
use crate::collect_tests::TestLevel;
use crate::error::{Fault, FaultKind, ProviderError, SourceError, SourceErrorKind};
use crate::frame::{FramePool, Snapshot};
use crate::identity::Identity;
use crate::instance_reader::InstanceReader;
use crate::kept_faults::KeptFaults;
use crate::provider::Provider;
use crate::source::{Catalogue, Source};
use crate::status::{ProviderState, ProviderStatus};
use crate::titles::TitleDatabase;
pub use clock::{BlockClock, StdClock};
use entry::{Entry, Extras, Step, Turn};
use members::Members;
use perfhive_format::{BlockHead, BlockWriter, LanguageId, TitleIndex};
pub use registry::CHOSEN_INDEXES;
pub use roster::Roster;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// The largest number of steps after the first that each provider of a roster takes in one
/// collection, side by side with the others. After these steps, the broker waits for one provider
/// after the other.
const MOST_STEPS: usize = 8;

/// A builder of a [`Broker`].
pub struct BrokerBuilder {
    name: String,
    machine: String,
    providers: Vec<Arc<dyn Provider>>,
    rosters: Vec<Box<dyn Roster>>,
    clock: Box<dyn BlockClock>,
    level: TestLevel,
    quarantine_after: u32,
    default_object: Option<TitleIndex>,
    limit: usize,
    pool: FramePool,
}

impl BrokerBuilder {
    /// Adds a provider, which stays as long as the broker.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Adds providers, which stay as long as the broker.
    #[must_use]
    pub fn providers(mut self, providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        self.providers.extend(providers);
        self
    }

    /// Adds a [roster](Roster): a set of providers that may change while the broker is at work.
    #[must_use]
    pub fn roster(mut self, roster: impl Roster + 'static) -> Self {
        self.rosters.push(Box::new(roster));
        self
    }

    /// Sets the clock that gives the times of the blocks; [`StdClock`] by default.
    #[must_use]
    pub fn clock(mut self, clock: impl BlockClock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Sets how thoroughly the data of providers without a
    /// [test level](Provider::test_level) of their own is tested; by default with all tests.
    #[must_use]
    pub fn test_level(mut self, level: TestLevel) -> Self {
        self.level = level;
        self
    }

    /// Sets after how many failed collections in a row a provider is put into quarantine; 5
    /// by default, 0 for never.
    #[must_use]
    pub fn quarantine_after(mut self, faults: u32) -> Self {
        self.quarantine_after = faults;
        self
    }

    /// Sets the object that a tool should show first; by default, the blocks name none.
    #[must_use]
    pub fn default_object(mut self, object: TitleIndex) -> Self {
        self.default_object = Some(object);
        self
    }

    /// Sets the largest size of a block, in bytes; 64 MiB by default. If a provider's objects do
    /// not fit, the provider fails in this collection.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets the label of the frames with this machine's blocks: a word that says what fills the
    /// blocks ([`Frame::label`](crate::Frame::label)).
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.pool = self.pool.labelled(label);
        self
    }

    /// Makes the broker and registers its providers. Providers with indexes that are used as they are
    /// ([`Numbering::Windows`](crate::Numbering::Windows)) keep them. The others get indexes in the order in which
    /// they were added, above those of Windows' own objects and above those that providers keep. Two ranges of kept
    /// indexes do not count: 100000 to 199999, which are perfhive's own and never allotted, and those from
    /// [`CHOSEN_INDEXES`](crate::CHOSEN_INDEXES) on.
    #[must_use]
    pub fn build(self) -> Broker {
        let registrations = registry::register(&self.providers, 0);
        let entries = self.providers.into_iter().zip(registrations).map(Entry::new).collect();
        Broker {
            name: self.name,
            machine: self.machine,
            members: Members::new(entries, self.rosters),
            clock: self.clock,
            level: self.level,
            quarantine_after: self.quarantine_after,
            default_object: self.default_object,
            limit: self.limit,
            pool: self.pool,
            generation: 0,
            catalogue: None,
            catalogue_generation: 1,
            titles: Vec::new(),
            foreign: Vec::new(),
            partial: Vec::new(),
            faults: Vec::new(),
            kept: KeptFaults::default(),
        }
    }
}

/// The [`Source`] made of [`Provider`]s.
pub struct Broker {
    name: String,
    machine: String,
    members: Members,
    clock: Box<dyn BlockClock>,
    level: TestLevel,
    quarantine_after: u32,
    default_object: Option<TitleIndex>,
    limit: usize,
    pool: FramePool,
    generation: u64,
    catalogue: Option<Arc<Catalogue>>,
    catalogue_generation: u64,
    titles: Vec<Arc<TitleDatabase>>,
    foreign: Vec<Vec<u8>>,
    /// Objects that the current collection has without some of their instances.
    partial: Vec<TitleIndex>,
    /// The faults of the current collection; empty between collections.
    faults: Vec<Fault>,
    /// Faults of earlier collections. A fault that lasts is shared, not made again.
    kept: KeptFaults,
}

impl Broker {
    /// A builder of a broker. Messages call the broker `name`; its blocks carry the machine name
    /// `machine`.
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
            pool: FramePool::default(),
        }
    }

    /// The account (state and statistics) of each provider. Registrations that make no provider are
    /// left out; [`Source::providers`] returns them too.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderStatus> {
        self.members.entries.iter().map(|entry| &entry.status)
    }

    /// Registers a further provider while the broker is at work. Indexes that were allotted before
    /// stay, and the catalogue gets another generation.
    pub fn register(&mut self, provider: Arc<dyn Provider>) {
        self.members.add(provider, None);
        self.members.claim();
        self.catalogue_changed();
    }

    /// Sets the names that objects of another source have (`names`) or may have (`doubtful`). An
    /// object of a roster is not served if its provider chose its index and it has one of these
    /// names.
    pub fn reserve_names(&mut self, names: &HashSet<String>, doubtful: &HashSet<String>) {
        if self.members.reserve(names, doubtful) {
            self.catalogue_changed();
        }
    }

    fn look_at_rosters(&mut self, ask: &Ask) {
        if self.members.look_at_rosters(ask) {
            self.catalogue_changed();
        }
    }

    fn catalogue_changed(&mut self) {
        self.catalogue = None;
        self.titles.clear();
        self.catalogue_generation += 1;
    }

    /// Releases a provider from quarantine; `false` if no provider of this name is in quarantine.
    pub fn release(&mut self, name: &str) -> bool {
        let mut found = false;
        for entry in &mut self.members.entries {
            found |= entry.status.name == name && entry.release();
        }
        found
    }

    fn languages(&self) -> Vec<LanguageId> {
        let mut languages = vec![LanguageId::ENGLISH];
        for entry in &self.members.entries {
            for titles in &entry.registered.titles {
                if !languages.contains(&titles.language) {
                    languages.push(titles.language);
                }
            }
        }
        languages
    }
}

impl Source for Broker {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        self.look_at_rosters(ask);
        self.generation += 1;
        let (clocks, system_time) = self.clock.read();
        let head = BlockHead {
            system_name: &self.machine,
            default_object: self.default_object,
            system_time,
            clocks,
        };
        let mut faults = std::mem::take(&mut self.faults);
        faults.clear();
        let kept = &mut self.kept;
        kept.begin();
        if ask.objects == ObjectQuery::Global {
            for roster in &self.members.rosters {
                faults.extend_from_slice(roster.faults());
            }
        }
        let Members { entries, owners, .. } = &mut self.members;
        let foreign = &mut self.foreign;
        foreign.clear();
        let partial = &mut self.partial;
        partial.clear();
        let (level, quarantine_after, limit) = (self.level, self.quarantine_after, self.limit);
        let generation = self.generation;
        let frame = self.pool.write(generation, &head, |block| {
            block.set_limit(limit);
            let mut left = 0;
            for entry in entries.iter_mut() {
                if entry.select(&ask.objects) {
                    left += usize::from(entry.status.state != ProviderState::Quarantined);
                } else {
                    entry.refused(&ask.objects, owners, &mut faults);
                }
            }
            // All providers are set to work before any is waited for.
            for entry in entries.iter_mut() {
                entry.goes_on = false;
                if entry.may_begin()
                    && let Some(until) = share(ask.until, Instant::now(), true)
                {
                    entry.begin(ask, until, Step::Begin);
                }
            }
            for late in [false, true].into_iter().cycle().take(2 * MOST_STEPS) {
                if !entries.iter().any(|entry| entry.goes_on) {
                    break;
                }
                let going = |entry: &&mut Entry| entry.goes_on && entry.is_late == late;
                for entry in entries.iter_mut().filter(going) {
                    match share(ask.until, Instant::now(), true) {
                        Some(until) => entry.begin(ask, until, Step::GoOn),
                        None => entry.goes_on = false,
                    }
                }
            }
            // Providers that were late come last, so that a late provider does not take the time of
            // others.
            for late in [false, true] {
                for entry in entries.iter_mut() {
                    let is_turn = entry.is_late == late && entry.turn != generation;
                    if !is_turn || !entry.is_selected() {
                        continue;
                    }
                    entry.turn = generation;
                    if let Some(fault) = entry.quarantined(kept) {
                        entry.add_fault(&fault, &mut faults);
                        continue;
                    }
                    let start = Instant::now();
                    left -= 1;
                    let Some(until) = share(ask.until, start, left > 0) else {
                        let message = "not asked: the deadline had passed";
                        let name = &entry.status.name;
                        let fault = kept.make(FaultKind::NotYet, name, (None, None), &message);
                        entry.add_fault(&fault, &mut faults);
                        continue;
                    };
                    let level = entry.provider.test_level().unwrap_or(level);
                    let turn = Turn { ask, until, level };
                    let extras = Extras { faults: &mut faults, kept: &mut *kept, foreign, partial };
                    let verdict = entry.collect(turn, owners, block, extras);
                    let over = |end: Option<Instant>| end.is_some_and(|end| Instant::now() >= end);
                    entry.is_late =
                        over(ask.until) || (verdict.is_err() && (over(until) || entry.is_late));
                    let took = start.elapsed().max(entry.took());
                    entry.note(verdict, took, quarantine_after, &mut faults);
                }
            }
        });
        let frame = frame
            .map_err(|error| SourceError::new(SourceErrorKind::Internal, &self.name, error))?;
        out.push_frame(frame, &self.name);
        out.push_partial(&self.partial);
        for bytes in self.foreign.drain(..) {
            match crate::frame::Frame::new(bytes, self.generation) {
                Ok(frame) => out.push_frame(Arc::new(frame), &self.name),
                Err(error) => {
                    out.push_words(FaultKind::TestFailed, &self.name, error);
                }
            }
        }
        faults.drain(..).for_each(|fault| out.push_fault(fault));
        self.faults = faults;
        Ok(())
    }

    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.look_at_rosters(ask);
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let mut objects = Vec::new();
        for entry in &self.members.entries {
            objects.extend(entry.registered.catalogue_objects());
        }
        let catalogue = Arc::new(Catalogue {
            generation: self.catalogue_generation,
            machine: self.machine.clone(),
            languages: self.languages(),
            objects,
        });
        self.catalogue = Some(Arc::clone(&catalogue));
        Ok(catalogue)
    }

    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        let entry = self.members.entries.iter().find(|entry| entry.serves(object))?;
        entry.provider.instance_reader(object, identity, counters)
    }

    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.look_at_rosters(&Ask::nothing().until(ask.until));
        let mut all: Vec<_> = self.members.entries.iter().map(Entry::status).collect();
        for roster in &self.members.rosters {
            all.extend(roster.faults().iter().map(ProviderStatus::refused));
        }
        Ok(all)
    }

    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.look_at_rosters(&Ask::nothing().until(ask.until));
        if let Some(titles) = self.titles.iter().find(|known| known.language() == language) {
            return Ok(Arc::clone(titles));
        }
        let mut found = Vec::new();
        for entry in &self.members.entries {
            found.extend(entry.registered.titles.iter().filter(|one| one.language == language));
        }
        if found.is_empty() {
            let have: Vec<_> = self
                .languages()
                .iter()
                .map(|id| id.name().map_or_else(|| format!("{id}"), str::to_string))
                .collect();
            return Err(SourceError::new(
                SourceErrorKind::NotFound,
                &self.name,
                format!("has no titles in language {language}; it has {}", have.join(", ")),
            ));
        }
        let database = Arc::new(TitleDatabase::from_lists(
            language,
            found.iter().map(|titles| &titles.names),
            found.iter().map(|titles| &titles.help),
        ));
        self.titles.push(Arc::clone(&database));
        Ok(database)
    }
}

/// The deadline of one provider. If `others` wait behind it, the provider gets half of the time
/// that is left, so that a provider that hangs does not use up all of the time. `None` if no time
/// is left; `Some(None)` if there is no deadline.
fn share(deadline: Option<Instant>, now: Instant, others: bool) -> Option<Option<Instant>> {
    let Some(deadline) = deadline else { return Some(None) };
    let left = deadline.checked_duration_since(now).filter(|left| !left.is_zero())?;
    Some(Some(if others { now + left / 2 } else { deadline }))
}

impl From<ProviderError> for SourceError {
    fn from(error: ProviderError) -> Self {
        Self::new(SourceErrorKind::Internal, "provider", error)
    }
}
