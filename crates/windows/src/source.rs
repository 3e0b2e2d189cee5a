//! `HKEY_PERFORMANCE_DATA` as a source.

use crate::explain::explain;
use crate::read::{LARGEST, ReadError, Size, read};
use crate::registry::{LastTitles, Place, Registry, ValueName};
use crate::titles::{self, Language};
use perfhive_engine::{
    Catalogue, CatalogueObject, Cost, Fault, FaultKind, FramePool, ObjectQuery, Request, Snapshot,
    Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, PerfObject, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;

/// How many requests are remembered with the size of their answers. A program
/// has a handful; whoever makes up new ones without end starts over.
const REMEMBERED: usize = 256;
/// How many objects, and definitions of each, are remembered. A machine has
/// some hundred objects, with one definition each.
const KNOWN: usize = 16 << 10;
const DEFINITIONS: usize = 16;

/// The counters of a machine, read through its registry.
///
/// The key stays open between samples, since closing it unloads the libraries
/// of all providers, and is closed when the source is dropped. Buffers grow by
/// doubling, once for each request; a request that was made before takes no
/// memory and one call of `RegQueryValueExW`.
///
/// A provider that hangs hangs the collection: put the source behind a
/// [`Worker`](perfhive_engine::Worker), as `perfhive::open` does.
pub struct RegistrySource {
    name: String,
    registry: Box<dyn Registry>,
    pool: FramePool,
    /// Value name and size of each request that was made.
    requests: HashMap<ObjectQuery, (ValueName, Size)>,
    /// Number of the last collection.
    generation: u64,
    /// Number of the catalogue, and Last Counter and Last Help as it was taken.
    titles_generation: u64,
    last: LastTitles,
    /// The objects that were seen, each with the definitions that it had.
    known: HashMap<TitleIndex, Vec<Definition>>,
    catalogue: Option<Arc<Catalogue>>,
    databases: HashMap<LanguageId, Arc<TitleDatabase>>,
    languages: Option<Vec<Language>>,
}

/// What changes when a provider defines its object anew: which counters it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Definition {
    counters: usize,
    /// FNV-1a over the title indexes of the names.
    names: u64,
}

impl Definition {
    fn of(object: PerfObject<'_>) -> Self {
        let start = Self { counters: 0, names: 0xcbf2_9ce4_8422_2325 };
        object.counters().fold(start, |so_far, counter| Self {
            counters: so_far.counters + 1,
            names: (so_far.names ^ u64::from(counter.name_index().0))
                .wrapping_mul(0x0100_0000_01b3),
        })
    }
}

impl RegistrySource {
    pub(crate) fn over(name: &str, registry: Box<dyn Registry>) -> Self {
        Self {
            name: name.to_string(),
            registry,
            pool: FramePool::default(),
            requests: HashMap::new(),
            generation: 0,
            titles_generation: 1,
            last: LastTitles::default(),
            known: HashMap::new(),
            catalogue: None,
            databases: HashMap::new(),
            languages: None,
        }
    }

    fn error(&self, error: ReadError) -> SourceError {
        let (kind, message) = match error {
            ReadError::Code(code) => explain(code, self.registry.host()),
            ReadError::TooLarge => (
                SourceErrorKind::Malformed,
                format!(
                    "the answer does not fit into {} MiB, or a provider asks for more without \
                     end; ask for single objects to find it",
                    LARGEST >> 20
                ),
            ),
            ReadError::Deadline => {
                (SourceErrorKind::Deadline, "did not answer in time".to_string())
            }
        };
        SourceError::new(kind, &self.name, message)
    }

    /// Takes note of the objects that a reply holds. One that nobody has seen,
    /// or that is defined as never before, makes the catalogue and the titles
    /// outdated; one that goes back and forth between two definitions does so
    /// but once for each.
    fn note(&mut self, snapshot: &Snapshot) {
        let mut news = false;
        for object in snapshot.objects() {
            let definition = Definition::of(object.view());
            let name = object.view().name_index();
            if self.known.get(&name).is_some_and(|known| known.contains(&definition)) {
                continue;
            }
            news = true;
            if self.known.len() >= KNOWN {
                self.known.clear();
            }
            let known = self.known.entry(name).or_default();
            if known.len() >= DEFINITIONS {
                known.clear();
            }
            known.push(definition);
        }
        if news && self.catalogue.is_some() {
            self.outdate();
        }
    }

    fn outdate(&mut self) {
        self.titles_generation += 1;
        self.catalogue = None;
        self.languages = None;
        self.databases.clear();
    }

    /// Reads one reply; `out` is cleared first.
    fn fetch(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        if let ObjectQuery::Indexes(list) = &request.objects
            && list.is_empty()
        {
            // An empty name means everything to Windows.
            return Ok(());
        }
        if !self.requests.contains_key(&request.objects) {
            if self.requests.len() >= REMEMBERED {
                self.requests.clear();
            }
            let name = ValueName::new(&request.objects.to_string());
            self.requests.insert(request.objects.clone(), (name, Size::default()));
        }
        let Some((name, size)) = self.requests.get_mut(&request.objects) else {
            return Err(self.error(ReadError::Code(crate::explain::NOT_FOUND)));
        };
        self.generation += 1;
        let registry = &mut self.registry;
        let mut result = Ok(());
        let frame = self.pool.fill(self.generation, |bytes| {
            let mut wait = |pause| sleep(pause);
            result = read(size, bytes, request.deadline, &mut wait, |reply| {
                registry.value(Place::Data, name, reply)
            });
        });
        result.map_err(|error| self.error(error))?;
        let frame = frame.map_err(|error| {
            let message = format!("the answer is no performance data: {error}");
            SourceError::new(SourceErrorKind::Malformed, &self.name, message)
        })?;
        out.push_frame(frame, &self.name);
        Ok(())
    }
}

impl Source for RegistrySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        self.fetch(request, out)?;
        self.note(out);
        if let ObjectQuery::Indexes(list) = &request.objects {
            for name in list {
                // What was never there is no fault, what is damaged told already.
                if self.known.contains_key(name)
                    && out.object(*name).is_none()
                    && !out.faults().iter().any(|fault| fault.object == Some(*name))
                {
                    let message = "the object was asked for and is not in the answer: its \
                                   provider failed or is disabled (see the event log, \
                                   Application, source Perflib)";
                    let fault = Fault::new(FaultKind::CollectFailed, &self.name, message);
                    out.push_fault(fault.of_object(*name));
                }
            }
        }
        Ok(())
    }

    /// The objects of `Global` and, behind them, those of `Costly`.
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        // Notices what was registered since.
        let generation = self.catalogue_generation();
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let mut snapshot = Snapshot::new();
        self.fetch(&Request::new(ObjectQuery::Global), &mut snapshot)?;
        let mut catalogue = Catalogue::of_snapshot(&snapshot);
        self.note(&snapshot);
        // Without the costly objects the others can be read all the same.
        if self.fetch(&Request::new(ObjectQuery::Costly), &mut snapshot).is_ok() {
            self.note(&snapshot);
            for object in snapshot.objects() {
                if catalogue.object(object.view().name_index()).is_none() {
                    let mut entry = CatalogueObject::of(object.view());
                    entry.cost = Cost::Costly;
                    catalogue.objects.push(entry);
                }
            }
        }
        catalogue.generation = generation;
        let languages = titles::languages(&mut *self.registry);
        catalogue.languages = languages.iter().map(|language| language.id).collect();
        self.languages = Some(languages);
        let catalogue = Arc::new(catalogue);
        self.catalogue = Some(Arc::clone(&catalogue));
        Ok(catalogue)
    }

    /// Changes with Last Counter and Last Help, and when a reply held an object
    /// that nobody knew, or one that is defined anew.
    fn catalogue_generation(&mut self) -> u64 {
        let last = self.registry.last_titles();
        if last != self.last {
            self.last = last;
            self.outdate();
        }
        self.titles_generation
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.catalogue_generation();
        if let Some(database) = self.databases.get(&language) {
            return Ok(Arc::clone(database));
        }
        let registry = &mut *self.registry;
        let languages = self.languages.get_or_insert_with(|| titles::languages(registry));
        let Some(entry) = languages.iter().find(|entry| entry.id == language) else {
            let message = format!("has no titles in language {language}");
            return Err(SourceError::new(SourceErrorKind::NotFound, &self.name, message));
        };
        let database = titles::load(registry, entry, self.last);
        let database = Arc::new(database.map_err(|error| self.error(error))?);
        self.databases.insert(language, Arc::clone(&database));
        Ok(database)
    }
}
