//! The trait of everything that has counters.

use crate::broker::{ProviderStatus, Wanted};
use crate::error::{SourceError, SourceErrorKind};
use crate::frame::Snapshot;
use crate::request::{ObjectQuery, Request};
use crate::titles::TitleDatabase;
use perfhive_format::{CounterType, DetailLevel, LanguageId, PerfObject, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;

/// Everything that has counters: it answers requests with data blocks.
///
/// The Windows registry, the embedded Linux providers, another machine, a
/// recording and a cache are all sources, and whatever wraps a source is one.
/// A source is used by one thread at a time (`&mut self`).
pub trait Source: Send {
    /// What the source is called in messages: `local:`, `file:a.bin`.
    fn name(&self) -> &str;

    /// Collects what `request` asks for into `out`, which is cleared first.
    /// The answer may hold more objects than asked for, or fewer; what could
    /// not be collected is in [`Snapshot::faults`].
    ///
    /// # Errors
    /// Only where nothing at all could be collected.
    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError>;

    /// What the source has: objects, their counters, cost and languages. By
    /// default read off one collection.
    ///
    /// # Errors
    /// Where that collection fails.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let mut snapshot = Snapshot::new();
        self.collect(&Request::new(ObjectQuery::Global), &mut snapshot)?;
        Ok(Arc::new(Catalogue::of_snapshot(&snapshot)))
    }

    /// Makes the catalogue whole, for a source that leaves out of it what is
    /// expensive even to list: the registry of Windows can list the objects of
    /// `Costly` only by collecting them all. Asked for when an object is looked
    /// for and not found, or everything listed; where something was added, the
    /// catalogue's generation changes.
    ///
    /// # Errors
    /// Where that collection fails; the rest of the catalogue stays.
    fn list_costly(&mut self) -> Result<(), SourceError> {
        Ok(())
    }

    /// The catalogue for a reader of certain objects. Objects of others may be
    /// missing from it, as long as they are to be found out first and that may
    /// take its time; [`catalogue`](Self::catalogue) has them all.
    ///
    /// # Errors
    /// As [`catalogue`](Self::catalogue).
    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        let _ = wanted;
        self.catalogue()
    }

    /// A number that changes when the catalogue or the titles do, as on Windows
    /// Last Counter does when a provider is registered. Cheap: readers ask
    /// before every sample and load both anew only when it changed.
    fn catalogue_generation(&mut self) -> u64 {
        0
    }

    /// The names and help texts of one language.
    ///
    /// # Errors
    /// [`SourceErrorKind::NotFound`] for a language that the source does not
    /// have; the catalogue lists those that it has.
    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError>;

    /// How the providers are doing that the source is made of; none for a
    /// source that is not made of providers.
    ///
    /// # Errors
    /// Where that cannot be told now, of all of them or of some: a list without those
    /// would be taken for all that there is. [Transient](SourceError::is_transient) where
    /// the answer is late.
    fn providers(&mut self) -> Result<Vec<ProviderStatus>, SourceError> {
        Ok(Vec::new())
    }

    /// Puts a source of recorded samples back to its first one.
    ///
    /// # Errors
    /// [`SourceErrorKind::NotFound`] for a live source, which has no first
    /// sample.
    fn rewind(&mut self) -> Result<(), SourceError> {
        let message = "a live source cannot be rewound";
        Err(SourceError::new(SourceErrorKind::NotFound, self.name(), message))
    }

    /// Whether waiting brings a new sample. A recording has its samples
    /// already; a reader need not pause between them.
    fn is_live(&self) -> bool {
        true
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        (**self).collect(request, out)
    }
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        (**self).catalogue()
    }
    fn list_costly(&mut self) -> Result<(), SourceError> {
        (**self).list_costly()
    }
    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        (**self).catalogue_for(wanted)
    }
    fn catalogue_generation(&mut self) -> u64 {
        (**self).catalogue_generation()
    }
    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        (**self).titles(language)
    }
    fn providers(&mut self) -> Result<Vec<ProviderStatus>, SourceError> {
        (**self).providers()
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        (**self).rewind()
    }
    fn is_live(&self) -> bool {
        (**self).is_live()
    }
}

/// What a source has, apart from the values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Changes whenever anything below does.
    pub generation: u64,
    /// The machine that the objects belong to.
    pub machine: String,
    /// The languages that titles are to be had in, the preferred one first.
    pub languages: Vec<LanguageId>,
    /// The objects.
    pub objects: Vec<CatalogueObject>,
}

/// How expensive an object is to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cost {
    /// Part of `Global`.
    Global,
    /// Only on request, or as part of `Costly`.
    Costly,
    /// Belongs to another machine; only on `Foreign`.
    Foreign,
    /// Nobody has told so far: the object was found by its name, and what it is part of is
    /// known once everything was listed. Of a provider's own object, only on request.
    Unknown,
}

/// One object of a [`Catalogue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueObject {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// For whom the object is.
    pub detail: DetailLevel,
    /// What it costs.
    pub cost: Cost,
    /// Whether it has instances.
    pub has_instances: bool,
    /// Place of the counter to show first.
    pub default_counter: Option<u32>,
    /// The counters, without bases.
    pub counters: Vec<CatalogueCounter>,
}

/// One counter of a [`CatalogueObject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueCounter {
    /// Title index of the name.
    pub name: TitleIndex,
    /// Title index of the help text.
    pub help: TitleIndex,
    /// The counter type.
    pub counter_type: CounterType,
    /// Power of ten by which a chart should scale the value.
    pub scale: i32,
    /// For whom the counter is.
    pub detail: DetailLevel,
    /// Whether it is filled only on request
    /// ([`Request::extra_counters`]).
    pub on_request: bool,
}

impl Catalogue {
    /// The object of a name index.
    #[must_use]
    pub fn object(&self, name: TitleIndex) -> Option<&CatalogueObject> {
        self.objects.iter().find(|object| object.name == name)
    }

    /// The language to show names in where nobody chose one: the first of a live
    /// source (on Windows the user's own), English of a recording, which may
    /// have been made in any country; where that is not there, the first.
    #[must_use]
    pub fn preferred_language(&self, is_live: bool) -> LanguageId {
        let has_english = self.languages.contains(&LanguageId::ENGLISH);
        let first = self.languages.first().filter(|_| is_live || !has_english);
        first.copied().unwrap_or(LanguageId::ENGLISH)
    }

    /// Reads a catalogue off a snapshot: its objects, all of them `Global`.
    #[must_use]
    pub fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut catalogue = Self {
            machine: snapshot.machine().unwrap_or_default(),
            languages: vec![LanguageId::ENGLISH],
            ..Self::default()
        };
        let mut seen = HashSet::new();
        for object in snapshot.objects() {
            if seen.insert(object.view().name_index()) {
                catalogue.objects.push(CatalogueObject::of(object.view()));
            }
        }
        catalogue
    }
}

impl CatalogueObject {
    /// Reads the entry off an object.
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

    /// The counter of a name index.
    #[must_use]
    pub fn counter(&self, name: TitleIndex) -> Option<&CatalogueCounter> {
        self.counters.iter().find(|counter| counter.name == name)
    }
}
