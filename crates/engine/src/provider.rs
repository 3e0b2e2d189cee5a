//! The other half: whoever has counters to offer.

use crate::ask::{Ask, ObjectQuery};
use crate::collect_tests::{CollectFault, CollectWarning, GuardedBuffer, RawClaim, TestLevel};
use crate::error::{Fault, FaultKind, ProviderError};
use crate::kept_faults::KeptFaults;
use crate::source::Cost;
use crate::status::{ProviderState, ProviderStatus};
use perfhive_format::titles::TitleList;
use perfhive_format::{
    BlockWriter, CounterSpec, LanguageId, ObjectSpec, ObjectTemplate, ObjectWriting, TitleIndex,
};
use std::time::{Duration, Instant};

/// Produces objects. The counterpart of an extensible counter library on
/// Windows: it is opened, collects as often as it is asked, and is closed when
/// its sessions are dropped.
pub trait Provider: Send + Sync {
    /// The provider's name, unique in a broker (`Services\NAME`).
    fn name(&self) -> &str;

    /// What the provider offers. Must not change while the provider is
    /// registered.
    fn describe(&self) -> ProviderDescription;

    /// Names and help texts, one entry for each language. English should be
    /// among them.
    fn titles(&self) -> Vec<ProvidedTitles>;

    /// Whether the provider reaches other machines, and so is asked for
    /// [`ObjectQuery::Foreign`] even if it names no objects of theirs.
    fn answers_foreign(&self) -> bool {
        false
    }

    /// Objects that were registered for it, by names among its
    /// [`titles`](Self::titles), whether or not it has said by now that it has them:
    /// what a roster chose an index for is not served under their names.
    fn registered_objects(&self) -> Vec<TitleIndex> {
        Vec::new()
    }

    /// How much of its data is tested, if that is not the broker's choice.
    fn test_level(&self) -> Option<TestLevel> {
        None
    }

    /// Why the provider has nothing to offer, and the state that this means,
    /// where it is so from the start: it is registered and yet disabled, or what
    /// it offers could not be found out.
    fn refusal(&self) -> Option<(ProviderState, String)> {
        None
    }

    /// The account that the provider begins with in a broker, where it keeps
    /// one beyond that: what it did in other programs, or before its objects
    /// changed.
    fn account(&self) -> Option<ProviderStatus> {
        None
    }

    /// Told by a broker of each collection, with the account as it is after
    /// that and the fault if it failed: for a provider that keeps an account or
    /// a log. On the reader's time.
    fn collected(&self, status: &ProviderStatus, fault: Option<&Fault>) {
        let _ = (status, fault);
    }

    /// Told by a broker that somebody let the provider out of quarantine.
    fn released(&self) {}

    /// Opens a session. Several may be open and collect at once.
    ///
    /// # Errors
    /// Where the provider cannot work here; its objects are then missing, and
    /// the reason is a fault of each collection.
    fn open(&self, context: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError>;
}

/// A provider at work. Dropping it closes it.
pub trait Session: Send {
    /// Makes a start at a collection without waiting for anything: asks another
    /// process, say. All providers of a [roster](crate::Roster) are begun before
    /// any is waited for, so that those that hang do so side by side.
    /// [`collect`](Self::collect) follows with the same collection, or nothing.
    fn begin(&mut self, collection: &Collection<'_>) {
        let _ = collection;
    }

    /// How long the last collection was at work, where it began before
    /// [`collect`](Self::collect) was called.
    fn took(&self) -> Option<Duration> {
        None
    }

    /// Goes on with what was begun, once all are: may wait for what
    /// [`begin`](Self::begin) asked, by the collection's deadline. Answers whether it
    /// wants to go on once more, when all the others have: who asks several things one
    /// after the other begins with the next.
    fn go_on(&mut self, collection: &Collection<'_>) -> bool {
        let _ = collection;
        false
    }

    /// Writes the objects asked for, and no others but those that come along
    /// with them. What allocates for it beyond the writer is to
    /// [say so](crate::note_growth).
    ///
    /// # Errors
    /// Where nothing could be collected. What is missing of an object that was
    /// collected is reported with [`ObjectWriter::fault`].
    fn collect(
        &mut self,
        collection: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError>;
}

/// What a provider learns when it is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenContext<'a> {
    /// The linkage string of its registration (`Linkage\Export`).
    pub linkage: Option<&'a str>,
    /// Title index of the first name allotted (`First Counter`); 0 for a
    /// provider with Windows' own indexes.
    pub first_counter: u32,
    /// Title index of the first help text allotted (`First Help`).
    pub first_help: u32,
}

/// Whose title indexes a description uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Indexes of Windows' own objects: the same on every machine.
    Windows,
    /// Offsets (0, 2, 4, ...) from First Counter and First Help, which the
    /// registration allots behind Last Counter.
    Allotted,
}

/// What a provider offers.
#[derive(Clone, Debug)]
pub struct ProviderDescription {
    /// Whose indexes the description and the titles use.
    pub numbering: Numbering,
    /// The objects.
    pub objects: Vec<ObjectDescription>,
}

/// One object that a provider offers.
#[derive(Clone, Debug)]
pub struct ObjectDescription {
    /// The object's header.
    pub spec: ObjectSpec,
    /// The counters, bases included.
    pub counters: Vec<CounterSpec>,
    /// Names of the counters that are filled only on request.
    pub on_request: Vec<TitleIndex>,
    /// What the object costs.
    pub cost: Cost,
    /// Objects of the same provider that come along with this one, as Process
    /// does with Thread: the instances of this object point to theirs.
    pub brings: Vec<TitleIndex>,
}

/// The names and help texts of a provider in one language. For
/// [`Numbering::Allotted`] the indexes are offsets.
#[derive(Clone, Debug)]
pub struct ProvidedTitles {
    /// The language.
    pub language: LanguageId,
    /// Names of objects and counters.
    pub names: TitleList,
    /// Help texts.
    pub help: TitleList,
}

/// What one collection asks of a provider.
#[derive(Clone, Copy, Debug)]
pub struct Collection<'a> {
    ask: &'a Ask,
    /// The objects of this provider that are wanted, those that come along
    /// included.
    wanted: &'a [TitleIndex],
    until: Option<Instant>,
}

impl<'a> Collection<'a> {
    /// A collection of the objects `wanted` of a provider.
    #[must_use]
    pub fn new(ask: &'a Ask, wanted: &'a [TitleIndex]) -> Self {
        Self { ask, wanted, until: ask.until }
    }

    /// The same with another deadline than the request's.
    pub(crate) fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }

    /// The objects of this provider that are wanted.
    #[must_use]
    pub fn wanted(&self) -> &'a [TitleIndex] {
        self.wanted
    }

    /// Whether an object is wanted.
    #[must_use]
    pub fn wants(&self, object: TitleIndex) -> bool {
        self.wanted.contains(&object)
    }

    /// Whether a counter that is filled only on request was asked for.
    #[must_use]
    pub fn wants_extra(&self, object: TitleIndex, counter: TitleIndex) -> bool {
        self.ask.wants_extra(object, counter)
    }

    /// The query as it was made; a Windows provider gets it as its value name.
    #[must_use]
    pub fn query(&self) -> &'a ObjectQuery {
        &self.ask.objects
    }

    /// When an answer is of no use any more, or others must have their turn.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }
}

/// The names and lengths of a sequence of objects, as far as their lengths lead: they
/// are not validated here.
pub(crate) fn object_heads(mut bytes: &[u8]) -> impl Iterator<Item = (TitleIndex, usize)> {
    std::iter::from_fn(move || {
        let field = |at: usize| {
            let bytes = bytes.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let (length, name) = (field(0)?, field(12)?);
        // At least the length field: the walk ends.
        let length = (length as usize).max(4);
        bytes = bytes.get(length..)?;
        Some((TitleIndex(name), length))
    })
}

/// Where a provider writes its objects.
pub struct ObjectWriter<'a> {
    block: &'a mut BlockWriter,
    provider: &'a str,
    level: TestLevel,
    faults: &'a mut Vec<Fault>,
    /// Blocks of foreign machines, which stand beside the local one.
    foreign: &'a mut Vec<Vec<u8>>,
    failed: Option<CollectFault>,
    /// Faults of before, for their words.
    kept: Option<&'a mut KeptFaults>,
}

impl<'a> ObjectWriter<'a> {
    /// A writer into `block` on behalf of `provider`. Brokers make these; a
    /// test of a provider may too.
    pub fn new(
        block: &'a mut BlockWriter,
        provider: &'a str,
        level: TestLevel,
        faults: &'a mut Vec<Fault>,
        foreign: &'a mut Vec<Vec<u8>>,
    ) -> Self {
        Self { block, provider, level, faults, foreign, failed: None, kept: None }
    }

    /// The same, in which faults that were there before have their words.
    pub(crate) fn with_kept(self, kept: &'a mut KeptFaults) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Begins an object; see [`BlockWriter::object`].
    ///
    /// # Errors
    /// [`ProviderError::Full`].
    pub fn object<'w, 't>(
        &'w mut self,
        template: &'t ObjectTemplate,
    ) -> Result<ObjectWriting<'w, 't>, ProviderError> {
        Ok(self.block.object(template)?)
    }

    /// Adds whole objects as bytes. They are validated like everything else.
    ///
    /// # Errors
    /// Where the bytes are no objects, or the block is full.
    pub fn raw_objects(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        self.block.raw_objects(bytes)?;
        Ok(())
    }

    /// Hands a guarded buffer of `size` bytes to code that cannot be trusted,
    /// the C contract of a collect function: `fill` gets the bytes and answers
    /// what the foreign code claims. What it claims is tested at the broker's
    /// level; data that fails is discarded.
    ///
    /// # Errors
    /// The fault, as [`ProviderError::Failed`], when a test failed.
    pub fn guarded(
        &mut self,
        size: usize,
        fill: impl FnOnce(&mut GuardedBuffer) -> RawClaim,
    ) -> Result<(), ProviderError> {
        let mut buffer = GuardedBuffer::new(size);
        let claim = fill(&mut buffer);
        self.take(&buffer, &claim).map(drop)
    }

    /// Takes what foreign code wrote into a buffer that its caller keeps, as
    /// [`guarded`](Self::guarded) does. Answers the objects' bytes, and the
    /// warnings, which are among the collection's faults already.
    ///
    /// # Errors
    /// The fault, as [`ProviderError::Failed`], when a test failed.
    pub fn take<'b>(
        &mut self,
        buffer: &'b GuardedBuffer,
        claim: &RawClaim,
    ) -> Result<(&'b [u8], Vec<CollectWarning>), ProviderError> {
        self.take_if(buffer, claim, |_| true)
    }

    /// The same for those objects alone whose names `keeps` answers true to: what
    /// foreign code gives that is not its to give is left out. The bytes that are
    /// answered have them all.
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

    /// Says what readers should know of data that they get, or of an object that was
    /// left out of it. One that lasts allocates nothing after its first time.
    pub fn warning(&mut self, object: Option<TitleIndex>, message: &str) {
        self.report(FaultKind::Warning, (object, None), message);
    }

    /// Takes blocks of other machines that foreign code wrote, one behind the
    /// other, with the same tests.
    ///
    /// # Errors
    /// As [`take`](Self::take).
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
        let message = fault.to_string();
        self.failed = Some(fault);
        ProviderError::Failed(message)
    }

    /// Adds a block of another machine, which keeps its own clocks and name.
    pub fn foreign_block(&mut self, bytes: Vec<u8>) {
        self.foreign.push(bytes);
    }

    /// Reports a part that could not be read: an object, or one instance of it. One
    /// that lasts allocates nothing after its first time.
    pub fn fault(
        &mut self,
        object: TitleIndex,
        instance: Option<&str>,
        message: impl std::fmt::Display,
    ) {
        self.report(FaultKind::Partial, (Some(object), instance), message);
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
            Some(kept) => kept.make(kind, self.provider, of, message),
            None => KeptFaults::default().make(kind, self.provider, of, message),
        };
        self.faults.push(fault);
    }

    /// The test that the last guarded collection failed, if it did.
    pub(crate) fn take_failed(&mut self) -> Option<CollectFault> {
        self.failed.take()
    }
}
