//! The trait of everything that has counters.

use crate::ask::Ask;
use crate::error::{SourceError, SourceErrorKind};
use crate::frame::Snapshot;
use crate::identity::Identity;
use crate::instance_reader::InstanceReader;
use crate::status::ProviderStatus;
use crate::titles::TitleDatabase;
use perfhive_format::{CounterType, DetailLevel, FileTime, LanguageId, PerfObject, TitleIndex};
use std::sync::Arc;

/// A source: anything that has counters and answers asks with data blocks.
///
/// The Windows registry, the embedded Linux providers, another machine, a recording and a cache are
/// all sources, and whatever wraps a source is a source too. A source is used by one thread at a
/// time (`&mut self`). Every request carries its deadline ([`Ask::until`]); a source that wraps
/// others passes the deadline on.
pub trait Source: Send {
    /// The source's name in messages, such as `local:` or `file:a.bin`.
    fn name(&self) -> &str;

    /// Collects the wanted objects into `out`, which is cleared first. The answer may
    /// hold more objects than wanted, or fewer; parts that could not be collected are
    /// in [`Snapshot::faults`].
    ///
    /// # Errors
    /// Only if nothing at all could be collected.
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError>;

    /// The objects of the source with their counters and cost, its machine and its languages.
    /// Objects that are not wanted may be missing if finding them out takes time:
    ///
    /// | the ask is for | listed |
    /// |---|---|
    /// | nothing | what is known without asking providers |
    /// | indexes | those objects, if they exist, and what is known |
    /// | `Global`, `Foreign` | everything except objects that are costly even to list |
    /// | `Costly` | everything |
    ///
    /// The catalogue carries a generation, which changes whenever the catalogue or the titles
    /// change, for example when a provider is registered. Readers request the catalogue with
    /// [`Ask::nothing`] before and after each sample and compare generations. While the catalogue
    /// is the same, such a request must be cheap and must not allocate: an [`Arc`] is cloned. An
    /// ask for no object with a deadline that has passed may be answered with the catalogue that
    /// was returned last, so that a sample that came just in time can still be used.
    ///
    /// # Errors
    /// If the objects cannot be found out; a later call tries again. An object that does not exist
    /// is no error.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError>;

    /// The names and help texts of one language. Of the ask, only the deadline counts.
    ///
    /// # Errors
    /// [`SourceErrorKind::NotFound`](crate::SourceErrorKind::NotFound) for a language that
    /// the source does not have; the catalogue lists its languages.
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError>;

    /// The state and statistics of the source's providers; an empty list for a source that is not
    /// made of providers. Of the ask, only the deadline counts.
    ///
    /// # Errors
    /// If the state of any provider is not known now: a partial list would pass for a complete one.
    /// The error is [transient](SourceError::is_transient) if the answer is late.
    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let _ = ask;
        Ok(Vec::new())
    }

    /// A reader that reads counters of one instance without data blocks. `None` if the source has
    /// no such reader for this object and these counters, or if the instance is not there. The
    /// caller then takes the values from [`collect`](Self::collect), which also tells why a value is
    /// missing.
    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        let _ = (object, identity, counters);
        None
    }

    /// The recorded samples behind this source; `None` for a live source, where waiting
    /// brings a new sample.
    fn recording(&mut self) -> Option<&mut dyn Recording> {
        None
    }
}

/// The methods that only a source of recorded samples has.
pub trait Recording {
    /// Moves the recording: the next collection answers with the first sample of the time `to` or
    /// later, or, for `None`, with the very first sample. If there is no such sample, the next
    /// collection returns the error
    /// [`SourceErrorKind::EndOfData`](crate::SourceErrorKind::EndOfData).
    ///
    /// # Errors
    /// If the recording cannot be read.
    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError>;

    /// The time that the recording covers. The position of the recording does not change.
    ///
    /// # Errors
    /// If the recording cannot be read.
    fn span(&mut self) -> Result<Span, SourceError>;
}

/// The time that the recording `source` covers; an error if the source is not a recording.
pub(crate) fn span_of(source: &mut dyn Source) -> Result<Span, SourceError> {
    let name = source.name().to_string();
    let message = "a source that was a recording is one no more";
    let none = || SourceError::new(SourceErrorKind::Internal, &name, message);
    source.recording().ok_or_else(none)?.span()
}

/// The time that a recording covers, and the number of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The time of the first sample.
    pub begin: FileTime,
    /// The time of the last sample.
    pub end: FileTime,
    /// The number of samples.
    pub samples: u64,
    /// Whether a sample is earlier than one before it, because the clock was set back.
    pub goes_back: bool,
}

impl Span {
    /// The span from `begin` to `end`, with this number of samples, none of which is earlier than
    /// one before it.
    #[must_use]
    pub fn new(begin: FileTime, end: FileTime, samples: u64) -> Self {
        Self { begin, end, samples, goes_back: false }
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        (**self).collect(ask, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        (**self).catalogue(ask)
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        (**self).titles(language, ask)
    }
    fn providers(&mut self, ask: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        (**self).providers(ask)
    }
    fn instance_reader(
        &mut self,
        object: TitleIndex,
        identity: &Identity,
        counters: &[TitleIndex],
    ) -> Option<Box<dyn InstanceReader>> {
        (**self).instance_reader(object, identity, counters)
    }
    fn recording(&mut self) -> Option<&mut dyn Recording> {
        (**self).recording()
    }
}

/// What a source has, apart from values: its machine, languages, objects and counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Catalogue {
    /// A number that changes whenever another field of the catalogue, or a title, changes.
    pub generation: u64,
    /// The name of the machine that the objects belong to.
    pub machine: String,
    /// The languages in which the source has titles, the preferred one first.
    pub languages: Vec<LanguageId>,
    /// The objects that are known; a source may have more ([`Source::catalogue`]).
    pub objects: Vec<CatalogueObject>,
}

/// How expensive an object is to collect, and which query brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cost {
    /// Cheap: the object is part of an answer to `Global`.
    Global,
    /// Expensive: the object is collected only if it is asked for by index, or for `Costly`.
    Costly,
    /// The object belongs to another machine, and is part of an answer to `Foreign`.
    Foreign,
    /// The cost is not known so far: the object was asked for by index, and its cost is known only
    /// after the source has listed everything. In a provider's description, `Unknown` means that
    /// the object is collected only if it is asked for by index.
    Unknown,
}

/// One object of a [`Catalogue`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogueObject {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The level of detail: the experience that users need, from novice to wizard.
    pub detail: DetailLevel,
    /// How expensive the object is to collect.
    pub cost: Cost,
    /// Whether the object can have instances.
    pub has_instances: bool,
    /// Index, from 0, of the counter that a tool should show first, among all definitions of the
    /// object, bases included; `None` if the object names none.
    pub default_counter: Option<u32>,
    /// The counters, without bases.
    pub counters: Vec<CatalogueCounter>,
}

/// One counter of a [`CatalogueObject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogueCounter {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// Exponent of the power of ten by which a chart should multiply the value.
    pub scale: i32,
    /// The level of detail: the experience that users need, from novice to wizard.
    pub detail: DetailLevel,
    /// Whether the counter is filled only on request ([`Ask::extra_counters`]).
    pub on_request: bool,
}

impl Catalogue {
    /// A catalogue of generation 0.
    #[must_use]
    pub fn new(machine: &str, languages: Vec<LanguageId>, objects: Vec<CatalogueObject>) -> Self {
        Self { generation: 0, machine: machine.to_string(), languages, objects }
    }

    /// The same catalogue with another generation.
    #[must_use]
    pub fn with_generation(mut self, generation: u64) -> Self {
        self.generation = generation;
        self
    }

    /// The object with this title index as its name; `None` if there is none.
    #[must_use]
    pub fn object(&self, name: TitleIndex) -> Option<&CatalogueObject> {
        self.objects.iter().find(|object| object.name == name)
    }

    /// The language in which to show names by default. For a live source it is the first language
    /// (on Windows the user's own). For a recording, which may have been made in any country, it is
    /// English, or the first language if English is missing. For a catalogue without languages it
    /// is English.
    #[must_use]
    pub fn preferred_language(&self, is_live: bool) -> LanguageId {
        let has_english = self.languages.contains(&LanguageId::ENGLISH);
        let first = self.languages.first().filter(|_| is_live || !has_english);
        first.copied().unwrap_or(LanguageId::ENGLISH)
    }

    /// A catalogue of the objects of a snapshot, the first of each name, all of them `Global`, with
    /// generation 0 and English as the only language.
    #[must_use]
    pub fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut catalogue = Self {
            machine: snapshot.machine().unwrap_or_default(),
            languages: vec![LanguageId::ENGLISH],
            ..Self::default()
        };
        for object in snapshot.first_objects() {
            catalogue.objects.push(CatalogueObject::of(object.view()));
        }
        catalogue
    }
}

impl CatalogueCounter {
    /// A counter with the lowest level of detail and no help text, which is always filled. Other
    /// properties are set through the fields.
    #[must_use]
    pub fn new(name: TitleIndex, counter_type: CounterType) -> Self {
        let (help, detail) = (TitleIndex(0), DetailLevel::NOVICE);
        Self { name, help, counter_type, scale: 0, detail, on_request: false }
    }
}

impl CatalogueObject {
    /// An object of the lowest level of detail, without instances and help text, that is part of
    /// `Global`. Other properties are set through the fields.
    #[must_use]
    pub fn new(name: TitleIndex, counters: Vec<CatalogueCounter>) -> Self {
        Self {
            name,
            help: TitleIndex(0),
            detail: DetailLevel::NOVICE,
            cost: Cost::Global,
            has_instances: false,
            default_counter: None,
            counters,
        }
    }

    /// The catalogue entry of an object of a block, as part of `Global` and without counters on
    /// request.
    #[must_use]
    pub fn of(object: PerfObject<'_>) -> Self {
        let counters = object
            .counters()
            .filter(|counter| !counter.counter_type().is_base())
            .map(|counter| CatalogueCounter {
                name: counter.name_index(),
                help: counter.help_index(),
                counter_type: counter.counter_type(),
                scale: counter.default_scale(),
                detail: counter.detail_level(),
                on_request: false,
            })
            .collect();
        Self {
            name: object.name_index(),
            help: object.help_index(),
            detail: object.detail_level(),
            cost: Cost::Global,
            has_instances: object.has_instances(),
            default_counter: object.default_counter(),
            counters,
        }
    }

    /// The counter with this title index as its name; `None` if there is none.
    #[must_use]
    pub fn counter(&self, name: TitleIndex) -> Option<&CatalogueCounter> {
        self.counters.iter().find(|counter| counter.name == name)
    }
}
