//! The traits for producers of objects: providers and their sessions.

use crate::ask::{Ask, InstanceWish, ObjectQuery};
use crate::collect_tests::{CollectFault, CollectWarning, GuardedBuffer, RawClaim, TestLevel};
use crate::error::{Fault, FaultKind, ProviderError};
use crate::identity::Identity;
use crate::instance_reader::InstanceReader;
use crate::kept_faults::KeptFaults;
use crate::source::Cost;
use crate::status::{ProviderState, ProviderStatus};
use perfhive_format::titles::TitleList;
use perfhive_format::{
    BlockWriter, CounterSpec, LanguageId, ObjectSpec, ObjectTemplate, ObjectWriting, TitleIndex,
};
use std::time::{Duration, Instant};

/// A producer of objects, the counterpart of an extensible counter library on Windows: it
/// is opened, collects as often as a reader wants, and is closed when its sessions are
/// dropped.
pub trait Provider: Send + Sync {
    /// The provider's name, unique in a broker; on Windows, the name of its key under `Services`.
    fn name(&self) -> &str;

    /// The description of the objects that the provider offers. It must not change while the
    /// provider is registered with a broker.
    fn describe(&self) -> ProviderDescription;

    /// The names and help texts of the provider's objects and counters: one entry for each
    /// language. English should be among the languages.
    fn titles(&self) -> Vec<ProvidedTitles>;

    /// Whether the provider collects objects of other machines. The broker then calls the provider
    /// for [`ObjectQuery::Foreign`] even if it describes no objects of other machines.
    fn answers_foreign(&self) -> bool {
        false
    }

    /// The title indexes of the names of the objects that are registered for the provider, whether
    /// or not its library has listed them yet. Their names are taken: an object of a
    /// [roster](crate::Roster) is not served if its provider chose its index and it has one of
    /// these names.
    fn registered_objects(&self) -> Vec<TitleIndex> {
        Vec::new()
    }

    /// How thoroughly the broker tests the data of this provider; `None` for the test level that is
    /// set for the broker.
    fn test_level(&self) -> Option<TestLevel> {
        None
    }

    /// The state of a provider that offers nothing from the start, and the reason in words: it is disabled or
    /// in quarantine, or its objects could not be found out. `None` for any other provider.
    fn refusal(&self) -> Option<(ProviderState, String)> {
        None
    }

    /// The account (state and statistics) with which a broker starts to count for this provider;
    /// `None` for an empty account. A provider that keeps its account beyond the life of one broker
    /// returns an account that also counts its collections in other programs, and those before its
    /// objects changed.
    fn account(&self) -> Option<ProviderStatus> {
        None
    }

    /// Called by the broker after each collection of this provider, with the updated account and
    /// the fault of the collection; `None` if the collection succeeded. A provider that keeps an
    /// account or a log of its own updates it here. The reader waits until this method returns.
    fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        let _ = (status, fault);
    }

    /// Called by the broker when a reader releases the provider from quarantine.
    fn released(&self) {}

    /// A reader that reads counters of one instance without data blocks. `None` if the provider has
    /// no such reader for this object and these counters, or if the instance is not there. The
    /// values must be those that a session writes.
    fn instance_reader(
        &self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        let _ = (object, identity, counters);
        None
    }

    /// Opens a session. Several sessions may be open and collect at once.
    ///
    /// # Errors
    /// Why the provider cannot work here. Its objects are then missing, and the reason is a fault
    /// of each collection.
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError>;
}

/// An open provider. Dropping the session closes it.
pub trait Session: Send {
    /// Starts a collection without waiting, for example by sending a message to another process.
    /// The broker calls this only for providers of a [roster](crate::Roster), and starts all of
    /// these before it waits for any of them, so that several providers that hang cost the reader
    /// one deadline, not several. Afterwards the broker calls [`collect`](Self::collect) with the
    /// same collection, apart from the deadline, or does not call it at all.
    fn begin(&mut self, collection: &Collection<'_>) {
        let _ = collection;
    }

    /// The duration of the last collection, if the session began to collect before
    /// [`collect`](Self::collect) was called; `None` if the time that the call of
    /// [`collect`](Self::collect) takes is the whole duration.
    fn took(&self) -> Option<Duration> {
        None
    }

    /// Takes the next step of a collection, after all sessions have begun. The step may wait until
    /// the collection's deadline for the answer to the step before. Returns whether another step
    /// follows: a session takes several steps if it asks several questions one after the other. The
    /// broker calls this at most eight times in a collection.
    fn go_on(&mut self, collection: &Collection<'_>) -> bool {
        let _ = collection;
        false
    }

    /// Writes the wanted objects, and no others except those that come along with wanted objects.
    /// Once its buffers are large enough, a session should not allocate here.
    ///
    /// # Errors
    /// Why nothing could be collected. Parts that are missing from a collected object are no error;
    /// they are reported with [`ObjectWriter::fault`].
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError>;
}

/// What [`Provider::open`] gets: the facts of the provider's registration.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct OpenContext<'a> {
    /// The linkage string of the provider's registration (`Linkage\Export`); `None` if it has none.
    pub linkage: Option<&'a str>,
    /// Title index of the first name allotted (`First Counter`); 0 for a provider with indexes that
    /// are used as they are ([`Numbering::Windows`]).
    pub first_counter: u32,
    /// Title index of the first help text allotted (`First Help`); 0 for a provider with indexes
    /// that are used as they are ([`Numbering::Windows`]).
    pub first_help: u32,
}

impl<'a> OpenContext<'a> {
    /// The registration of a provider with allotted indexes. [`OpenContext::default`] is for a
    /// provider with indexes that are used as they are.
    #[must_use]
    pub fn new(linkage: Option<&'a str>, first_counter: u32, first_help: u32) -> Self {
        Self { linkage, first_counter, first_help }
    }
}

/// The kind of title indexes that a description uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Title indexes that are used as they are: those of Windows' own objects, the same on every
    /// machine, or others that are not allotted by the broker, such as perfhive's own.
    Windows,
    /// Offsets (0, 2, 4, ...) from the title indexes First Counter, for names, and First Help, for
    /// help texts, which are allotted to the provider when it is registered.
    Allotted,
}

/// The objects that a provider offers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderDescription {
    /// The kind of indexes in the description and the titles.
    pub numbering: Numbering,
    /// The objects.
    pub objects: Vec<ObjectDescription>,
}

impl ProviderDescription {
    /// A description of these objects.
    #[must_use]
    pub fn new(numbering: Numbering, objects: Vec<ObjectDescription>) -> Self {
        Self { numbering, objects }
    }
}

/// One object that a provider offers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectDescription {
    /// The definition of the object itself: the title indexes of its name and help text, its level
    /// of detail, and whether it has instances.
    pub spec: ObjectSpec,
    /// The counters, bases included.
    pub counters: Vec<CounterSpec>,
    /// Title indexes of the names of the counters that are filled only on request.
    pub on_request: Vec<TitleIndex>,
    /// How expensive the object is to collect.
    pub cost: Cost,
    /// Objects of the same provider that come along with this object, as Process comes along with
    /// Thread, because the instances of this object have parents there.
    pub brings: Vec<TitleIndex>,
}

impl ObjectDescription {
    /// An object that is part of `Global`, with all counters filled at each collection.
    #[must_use]
    pub fn new(spec: ObjectSpec, counters: Vec<CounterSpec>) -> Self {
        let (on_request, brings) = (Vec::new(), Vec::new());
        Self { spec, counters, on_request, cost: Cost::Global, brings }
    }

    /// The same object with another cost.
    #[must_use]
    pub fn with_cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    /// The same object with counters that are filled only on request, by the title indexes of
    /// their names.
    #[must_use]
    pub fn with_on_request(mut self, counters: Vec<TitleIndex>) -> Self {
        self.on_request = counters;
        self
    }

    /// The same object with other objects that come along with it.
    #[must_use]
    pub fn with_brings(mut self, objects: Vec<TitleIndex>) -> Self {
        self.brings = objects;
        self
    }
}

/// The names and help texts of a provider in one language. For
/// [`Numbering::Allotted`] the indexes are offsets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProvidedTitles {
    /// The language.
    pub language: LanguageId,
    /// Names of objects and counters.
    pub names: TitleList,
    /// Help texts.
    pub help: TitleList,
}

impl ProvidedTitles {
    /// The texts of one language.
    #[must_use]
    pub fn new(language: LanguageId, names: TitleList, help: TitleList) -> Self {
        Self { language, names, help }
    }
}

/// What a broker wants of one provider: objects, counters and instances, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Collection<'a> {
    ask: &'a Ask,
    /// The title indexes of the wanted objects of this provider, including objects that come along
    /// with others.
    wanted: &'a [TitleIndex],
    until: Option<Instant>,
}

impl<'a> Collection<'a> {
    /// A collection of the objects `wanted` of a provider.
    #[must_use]
    pub fn new(ask: &'a Ask, wanted: &'a [TitleIndex]) -> Self {
        Self { ask, wanted, until: ask.until }
    }

    /// The same collection with `until` as its deadline; `None` for no deadline.
    pub(crate) fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }

    /// The title indexes of the wanted objects of this provider, including objects that come along
    /// with others.
    #[must_use]
    pub fn wanted(&self) -> &'a [TitleIndex] {
        self.wanted
    }

    /// Whether an object is wanted.
    #[must_use]
    pub fn wants(&self, object: TitleIndex) -> bool {
        self.wanted.contains(&object)
    }

    /// Whether a counter is wanted that is filled only on request ([`Ask::extra_counters`]).
    #[must_use]
    pub fn wants_extra(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        self.ask.wants_extra(object, counter)
    }

    /// Whether a counter of an object is wanted, for an object that is written with its wanted
    /// instances only ([`Ask::enough`]). `true` if the ask lists no counters of the object as
    /// enough.
    #[must_use]
    pub fn wants_counter(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        self.ask.wants_counter(object, counter)
    }

    /// The wishes that select instances of an object. Without any wish all instances are wanted.
    pub fn instances_of(&self, object: TitleIndex) -> impl Iterator<Item = &'a InstanceWish> {
        self.ask.instances_of(object)
    }

    /// Whether an instance with this name is wanted, for a provider that knows the names before the
    /// values. `true` for an empty name, since readers call an instance without a name by its
    /// number, and for any name if processes are wanted by ID. A provider that leaves instances out
    /// must say so with [`ObjectWriter::partial`].
    #[must_use]
    pub fn wants_instance(&self, object: TitleIndex, name: &str) -> bool {
        let mut wishes = self.instances_of(object).peekable();
        let is_wish = |wish: &InstanceWish| match wish {
            InstanceWish::Named(pattern) => pattern.matches(name),
            InstanceWish::Process(_) => true,
        };
        name.is_empty() || wishes.peek().is_none() || wishes.any(is_wish)
    }

    /// Whether all instances of an object are wanted: the ask has no wish for instances of this
    /// object.
    #[must_use]
    pub fn wants_all_of(&self, object: TitleIndex) -> bool {
        self.instances_of(object).next().is_none()
    }

    /// Whether the ask names an object by its index. `false` for an object that is wanted only
    /// because it comes along with another object, or because it is part of `Global`, `Costly` or
    /// `Foreign`.
    #[must_use]
    pub fn is_asked(&self, object: TitleIndex) -> bool {
        matches!(&self.ask.objects, ObjectQuery::Indexes(asked) if asked.contains(&object))
    }

    /// The objects of the ask, unchanged, also those of other providers. A Windows provider gets
    /// the query as its value name.
    #[must_use]
    pub fn query(&self) -> &'a ObjectQuery {
        &self.ask.objects
    }

    /// The time at which the provider must be done; `None` if there is no limit. After the
    /// deadline, the data is of no use to the caller, or other providers must have their turn.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }
}

/// The title index of the name, and the length in bytes, of each object in a sequence of objects.
/// The objects are not validated: the walk steps from object to object by the length in each
/// header, and ends where a length leads out of `bytes`.
pub(crate) fn object_heads(mut bytes: &[u8]) -> impl Iterator<Item = (TitleIndex, usize)> {
    std::iter::from_fn(move || {
        let field = |at: usize| {
            let bytes = bytes.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let (length, name) = (field(0)?, field(12)?);
        // A length of at least 4 makes the walk end.
        let length = (length as usize).max(4);
        bytes = bytes.get(length..)?;
        Some((TitleIndex(name), length))
    })
}

/// The writer through which a provider writes its objects and reports faults.
pub struct ObjectWriter<'a> {
    block: &'a mut BlockWriter,
    provider: &'a str,
    level: TestLevel,
    faults: &'a mut Vec<Fault>,
    /// Blocks of other machines, which are delivered beside the block of this machine.
    foreign: &'a mut Vec<Vec<u8>>,
    failed: Option<CollectFault>,
    /// Faults of earlier collections; a fault that occurs again is shared, not allocated again.
    /// `None` in a writer that allocates each fault.
    kept: Option<&'a mut KeptFaults>,
    /// Objects that the provider wrote without some of their instances; `None` in a writer that
    /// does not list them.
    partial: Option<&'a mut Vec<TitleIndex>>,
}

impl<'a> ObjectWriter<'a> {
    /// A writer into `block` on behalf of the provider with the name `provider`. The writer adds
    /// faults to `faults` and blocks of other machines to `foreign`, and tests the data of foreign
    /// code at the test level `level`. A broker makes a writer for each collection; a test of a
    /// provider may make one too.
    pub fn new(
        block: &'a mut BlockWriter,
        provider: &'a str,
        level: TestLevel,
        faults: &'a mut Vec<Fault>,
        foreign: &'a mut Vec<Vec<u8>>,
    ) -> Self {
        Self { block, provider, level, faults, foreign, failed: None, kept: None, partial: None }
    }

    /// The same writer, which takes a fault that occurred in an earlier collection from `kept`,
    /// instead of allocating the fault again.
    pub(crate) fn with_kept(self, kept: &'a mut KeptFaults) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// The same writer, which adds the objects that are [partial](Self::partial) to the list
    /// `partial`.
    pub(crate) fn with_partial(self, partial: &'a mut Vec<TitleIndex>) -> Self {
        Self { partial: Some(partial), ..self }
    }

    /// Notes that an object is written with its wanted instances only
    /// ([`Collection::instances_of`]), although it may have other instances.
    pub fn partial(&mut self, object: TitleIndex) {
        self.partial.iter_mut().for_each(|partial| partial.push(object));
    }

    /// Begins an object; see [`BlockWriter::object`].
    ///
    /// # Errors
    /// [`ProviderError::Full`] if the block would exceed its limit.
    pub fn object<'w, 't>(
        &'w mut self,
        template: &'t ObjectTemplate,
    ) -> Result<ObjectWriting<'w, 't>, ProviderError> {
        Ok(self.block.object(template)?)
    }

    /// The present position in the block, for [`since`](Self::since): the length in bytes and the
    /// number of objects so far.
    #[must_use]
    pub fn mark(&self) -> (usize, u32) {
        self.block.mark()
    }

    /// The bytes of the objects that were finished after [`mark`](Self::mark) returned `mark`.
    #[must_use]
    pub fn since(&self, mark: (usize, u32)) -> &[u8] {
        self.block.since(mark)
    }

    /// Validates that `bytes` are whole objects, one behind the other, and adds them to the block.
    ///
    /// # Errors
    /// [`ProviderError::BadWrite`] if the bytes are not objects, [`ProviderError::Full`] if the
    /// block would exceed its limit.
    pub fn raw_objects(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        self.block.raw_objects(bytes)?;
        Ok(())
    }

    /// Hands a guarded buffer of `size` bytes to foreign code that cannot be trusted, such as a
    /// collect function in C. `fill` passes the buffer on and returns what the foreign code claims
    /// to have written. The claim and the data are tested at the test level of this writer; data
    /// that fails is discarded.
    ///
    /// # Errors
    /// [`ProviderError::Failed`] with the fault as text if a test failed;
    /// [`ProviderError::BadWrite`] for bytes that are not objects; [`ProviderError::Full`] if the
    /// block would exceed its limit.
    pub fn guarded(
        &mut self,
        size: usize,
        fill: impl FnOnce(&mut GuardedBuffer) -> RawClaim,
    ) -> Result<(), ProviderError> {
        let mut buffer = GuardedBuffer::new(size);
        let claim = fill(&mut buffer);
        self.take(&buffer, &claim).map(drop)
    }

    /// Adds the objects that foreign code wrote into a buffer of the caller, after the tests of
    /// [`guarded`](Self::guarded). Returns the bytes of the objects, and the warnings of the tests.
    /// The warnings are also added to the faults of the collection.
    ///
    /// # Errors
    /// [`ProviderError::Failed`] with the fault as text if a test failed;
    /// [`ProviderError::BadWrite`] for bytes that are not objects; [`ProviderError::Full`] if the
    /// block would exceed its limit.
    pub fn take<'b>(
        &mut self,
        buffer: &'b GuardedBuffer,
        claim: &RawClaim,
    ) -> Result<(&'b [u8], Vec<CollectWarning>), ProviderError> {
        self.take_if(buffer, claim, |_| true)
    }

    /// As [`take`](Self::take), but adds only the objects for which `keeps` accepts the title index
    /// of the name, so that objects of other providers are left out. The returned bytes hold all
    /// objects.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn take_if<'b>(
        &mut self,
        buffer: &'b GuardedBuffer,
        claim: &RawClaim,
        mut keeps: impl FnMut(TitleIndex) -> bool,
    ) -> Result<(&'b [u8], Vec<CollectWarning>), ProviderError> {
        let (bytes, warnings) = buffer.check(self.level, claim).map_err(|f| self.fail(f))?;
        warnings.iter().for_each(|warning| self.warn(warning));
        let (mut from, mut at) = (0, 0);
        for (name, length) in object_heads(bytes) {
            let end = at + length;
            if !keeps(name) {
                self.block.raw_objects(bytes.get(from..at).unwrap_or_default())?;
                from = end;
            }
            at = end;
        }
        self.block.raw_objects(bytes.get(from..).unwrap_or_default())?;
        Ok((bytes, warnings))
    }

    /// Reports a warning about data that readers get, or about an object that was left out.
    /// `object` is the object concerned; `None` if the warning is about no particular object.
    pub fn warning(&mut self, object: Option<TitleIndex>, message: &str) {
        self.report(FaultKind::Warning, (object, None), message);
    }

    /// Adds blocks of other machines that foreign code wrote into a buffer, one behind the other,
    /// after the tests of [`GuardedBuffer::check_foreign`].
    ///
    /// # Errors
    /// [`ProviderError::Failed`] with the fault as text if a test failed.
    pub fn take_foreign(
        &mut self,
        buffer: &GuardedBuffer,
        claim: &RawClaim,
    ) -> Result<(), ProviderError> {
        let checked = buffer.check_foreign(self.level, claim);
        let (blocks, warnings) = checked.map_err(|fault| self.fail(fault))?;
        warnings.iter().for_each(|warning| self.warn(warning));
        blocks.into_iter().for_each(|block| self.foreign_block(block.to_vec()));
        Ok(())
    }

    fn fail(&mut self, fault: CollectFault) -> ProviderError {
        let message = format!("{fault}");
        self.failed = Some(fault);
        ProviderError::Failed(message)
    }

    /// Adds a block of another machine, which keeps its own clocks and name.
    pub fn foreign_block(&mut self, bytes: Vec<u8>) {
        self.foreign.push(bytes);
    }

    /// Reports a part that could not be read: an object, or one instance of an object.
    pub fn fault(
        &mut self,
        object: TitleIndex,
        instance: Option<&str>,
        message: impl std::fmt::Display,
    ) {
        self.report(FaultKind::Partial, (Some(object), instance), message);
    }

    /// Reports an object, or one instance of an object, with values that changed too fast to be
    /// read together ([`FaultKind::Busy`]).
    pub fn busy(
        &mut self,
        object: TitleIndex,
        instance: Option<&str>,
        message: impl std::fmt::Display,
    ) {
        self.report(FaultKind::Busy, (Some(object), instance), message);
    }

    fn warn(&mut self, warning: &CollectWarning) {
        self.report(FaultKind::Warning, (None, None), warning);
    }

    fn report(
        &mut self,
        kind: FaultKind,
        of: (Option<TitleIndex>, Option<&str>),
        message: impl std::fmt::Display,
    ) {
        let fault = match &mut self.kept {
            Some(kept) => kept.make(kind, self.provider, of, &message),
            None => KeptFaults::default().make(kind, self.provider, of, &message),
        };
        self.faults.push(fault);
    }

    /// Takes out the fault of foreign data that failed a test; `None` if no test failed.
    pub(crate) fn take_failed(&mut self) -> Option<CollectFault> {
        self.failed.take()
    }
}
