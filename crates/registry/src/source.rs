//! [`RegistrySource`]: `HKEY_PERFORMANCE_DATA` as a source.

mod catalogue;
mod definitions;
mod fetch;
mod status;

use crate::codes::{NOT_FOUND, SUCCESS};
use crate::explain::unreadable;
use crate::fallback::TimedSource;
use crate::hangs::{Hangs, Watch};
use crate::parts::{Failed, Split};
use crate::read::{ReadError, Size};
use crate::registry::{LastTitles, PerfRegistry, ValueName};
use crate::service::Service;
use crate::titles::{self, Language};
use crate::watched::{Make, Watched};
use definitions::{Definitions, News};
use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Fault, FaultKind, FramePool, ObjectQuery, ProviderStatus,
    Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, PerfObject, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The most queries that are remembered, each with the size of its buffer. A program makes only a
/// few. A query beyond this number makes the source forget all others.
const REMEMBERED: usize = 256;

/// The message of the fault for an object that was in an earlier answer and is missing now. `host`
/// is the other machine, or `None` for this machine.
fn stays_away(host: Option<&str>) -> String {
    let there = host.map_or(String::new(), |host| format!(" of {host}"));
    format!(
        "the object was asked for and is not in the answer: its provider failed or is disabled \
         (see the event log{there}, Application, source Perflib)"
    )
}

/// A source of the counters of a machine, read through its registry.
///
/// On Windows the key stays open between samples, since closing it unloads the libraries of all
/// providers. The key is closed when the last source of the process is dropped; dropping a source
/// without timeouts waits for this at most two seconds. A source with timeouts closes the key on
/// another thread, without a wait, and not before each of its calls has returned. Buffers grow by
/// doubling. A query that is repeated allocates nothing and takes one call of `RegQueryValueExW`, as
/// long as the answer does not grow.
///
/// A collection waits for each provider that it asks, and never ends if one of them hangs, unless
/// calls [have timeouts](RegistrySource::with_timeouts).
pub struct RegistrySource {
    name: String,
    registry: Box<dyn PerfRegistry>,
    pool: FramePool,
    /// The queries that were made before.
    requests: HashMap<ObjectQuery, KnownQuery>,
    /// The registered providers; `None` before they are needed.
    services: Option<Arc<[Service]>>,
    /// The number of the last collection.
    generation: u64,
    /// The generation of the catalogue and the titles.
    titles_generation: u64,
    /// The highest title indexes of the registry and the time at which they were written, as of the
    /// last comparison; a change outdates the catalogue.
    last: LastTitles,
    /// The objects that were in any answer so far, with their definitions.
    known: Definitions,
    catalogue: Option<Arc<Catalogue>>,
    /// Whether the catalogue has all objects of `Global`; otherwise it has only the objects that
    /// were looked for.
    is_whole: bool,
    /// Whether an object of unknown cost was found after `Global` was listed. The object may be
    /// part of `Global` by now.
    unsure: bool,
    /// Whether `Global` was collected since the last registration. After that, a provider of which
    /// no object was seen counts as one that gave none.
    asked_all: bool,
    /// The objects that were asked for by index so that the catalogue could list them.
    looked_for: Vec<TitleIndex>,
    /// The objects of `Costly`; `None` before they were collected.
    costly: Option<Vec<CatalogueObject>>,
    databases: HashMap<LanguageId, Arc<TitleDatabase>>,
    /// The size in bytes of the titles in `databases`. Once it exceeds `most_titles`, no further
    /// language is loaded.
    titles_size: usize,
    most_titles: usize,
    languages: Option<Vec<Language>>,
    hangs: Hangs,
    watch: Watch,
    /// The timeouts, kept until the first query for all objects was made, which has a longer
    /// timeout than later ones. `None` after that, when `registry` alone knows the timeout of a
    /// call, and for a source without timeouts.
    timeouts: Option<Timeouts>,
    /// The faults of missing objects, kept for reuse because they repeat.
    missing: HashMap<TitleIndex, Fault>,
    /// The faults of providers without objects, kept for the same purpose as `missing`.
    silent: Vec<Fault>,
}

/// The timeouts of the calls of a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// The timeout of each call.
    pub call: Duration,
    /// The timeout of the first query for all objects. For that query Windows loads the libraries
    /// of all providers, which takes longer than any later call.
    pub first_of_all: Duration,
}

impl Timeouts {
    /// The same timeout for all calls.
    #[must_use]
    pub fn all(call: Duration) -> Self {
        Self { call, first_of_all: call }
    }
}

/// The facts that are remembered of a query that was made before.
struct KnownQuery {
    name: ValueName,
    size: Size,
    /// The readable parts of the query, searched for after it failed as a whole or had a damaged
    /// reply; `None` while they are not known.
    split: Option<Box<Split>>,
}

impl RegistrySource {
    /// A source that reads `registry` without timeouts. Messages call the source `name`.
    #[must_use]
    pub fn over(name: &str, registry: Box<dyn PerfRegistry>) -> Self {
        Self {
            name: name.to_string(),
            registry,
            pool: FramePool::default().labelled("registry"),
            requests: HashMap::new(),
            services: None,
            generation: 0,
            titles_generation: 1,
            last: LastTitles::default(),
            known: Definitions::default(),
            catalogue: None,
            is_whole: false,
            unsure: false,
            asked_all: false,
            looked_for: Vec::new(),
            costly: None,
            databases: HashMap::new(),
            titles_size: 0,
            most_titles: titles::ALL_TITLES,
            languages: None,
            hangs: Hangs::default(),
            watch: Watch::default(),
            timeouts: None,
            missing: HashMap::new(),
            silent: Vec::new(),
        }
    }

    /// A source over registries that `make` makes, with timeouts for the calls that performance
    /// libraries answer. After a timeout each provider is asked alone, with half of
    /// [`Timeouts::call`] as its timeout, and providers that hang are left out. Such a request takes
    /// one timeout, which may be [`Timeouts::first_of_all`], about half of [`Timeouts::call`] for each
    /// provider that hangs, and the time of all other answers. Keys are read without a timeout: on
    /// another machine this lasts until the network gives up.
    #[must_use]
    pub fn with_timeouts(name: &str, timeouts: Timeouts, make: Make) -> Self {
        let mut source = Self::over(name, Box::new(Watched::new(make, timeouts.call)));
        source.hangs = Hangs::with_probe(timeouts.call / 2);
        source.timeouts = Some(timeouts);
        source
    }

    fn error(&self, failed: Failed) -> SourceError {
        let (kind, message) = match failed {
            Failed::Read(error) => error.explain(self.registry.host()),
            Failed::Parse(error) => {
                (SourceErrorKind::Malformed, format!("the answer is not performance data: {error}"))
            }
        };
        SourceError::new(kind, &self.name, message)
    }

    /// Notes the objects of a reply. Returns whether any object or definition is new.
    ///
    /// A new object or definition outdates the catalogue and the titles; a definition that keeps
    /// changing soon does so only once a minute. An object that the catalogue does not list is an
    /// exception while the catalogue has only the objects that were looked for, and in an answer to
    /// `Costly`: it outdates only the titles, and only if it or one of its counters has no name.
    fn note(&mut self, snapshot: &Snapshot, query: &ObjectQuery) -> bool {
        let (mut news, mut outdated, mut unnamed) = (false, false, false);
        for object in snapshot.objects() {
            let name = object.view().name_index();
            match self.known.learn(object.view()) {
                News::Nothing => continue,
                News::Defined => {}
                News::Forgotten => self.missing.clear(),
            }
            news = true;
            let is_listed = |catalogue: &Arc<Catalogue>| catalogue.object(name).is_some();
            unnamed |= self.lacks_names(object.view());
            // Costly objects are not in the catalogue before they were asked for.
            outdated |= self.is_whole && *query != ObjectQuery::Costly
                || self.catalogue.as_ref().is_some_and(is_listed);
        }
        if outdated && self.catalogue.is_some() {
            self.outdate();
        } else if unnamed {
            // The object is listed already; its names are missing.
            self.forget_titles();
            self.titles_generation += 1;
            if let Some(catalogue) = &mut self.catalogue {
                Arc::make_mut(catalogue).generation = self.titles_generation;
            }
        }
        news
    }

    /// Whether the loaded titles lack the name of an object or of one of its counters. The titles
    /// are the English ones or, without these, the titles of any loaded language; `false` if none
    /// are loaded.
    fn lacks_names(&self, object: PerfObject<'_>) -> bool {
        let english = self.databases.get(&LanguageId::ENGLISH);
        english.or_else(|| self.databases.values().next()).is_some_and(|titles| {
            let counters = object.counters().filter(|counter| !counter.counter_type().is_base());
            let mut names = counters.map(|counter| counter.name_index());
            titles.name(object.name_index()).is_none()
                || names.any(|name| titles.name(name).is_none())
        })
    }

    /// Forgets the catalogue, the titles and the list of providers, so that they are read again.
    fn outdate(&mut self) {
        self.titles_generation += 1;
        self.catalogue = None;
        self.is_whole = false;
        self.services = None;
        self.silent.clear();
        self.languages = None;
        self.forget_titles();
    }

    fn forget_titles(&mut self) {
        self.databases.clear();
        self.titles_size = 0;
    }

    /// The registered providers, read from the registry once, and again after they were outdated.
    fn services(&mut self) -> Arc<[Service]> {
        if let Some(services) = &self.services {
            return Arc::clone(services);
        }
        let services: Arc<[Service]> = self.registry.services().into();
        // An empty list of another machine means that the list could not be read.
        if !services.is_empty() || self.registry.host().is_none() {
            self.services = Some(Arc::clone(&services));
        }
        services
    }

    /// Adds a fault for each enabled provider that perfhive registered and that has neither an object
    /// nor a fault in `out`: if a library cannot be loaded or opened, Windows leaves it out and reports
    /// no error. Other providers get no fault, since most of those that give no object have none at the
    /// moment.
    fn add_silent_providers(&mut self, out: &mut Snapshot) {
        for service in self.services().iter().filter(|one| one.ours && !one.disabled) {
            let is_there = out.objects().any(|one| service.owns(one.view().name_index()));
            let is_of_it = |fault: &&Fault| *fault.provider == *service.name;
            if is_there || out.faults().iter().any(|fault| is_of_it(&fault)) {
                continue;
            }
            let known = self.silent.iter().find(is_of_it).cloned();
            out.push_fault(known.unwrap_or_else(|| {
                let fault = service.gives_nothing(true, self.registry.host());
                self.silent.push(fault.clone());
                fault
            }));
            // An administrator may disable or mend the provider.
            self.watch.over([&*service.name].into_iter(), &mut *self.registry);
        }
    }

    /// Makes the source examine the registrations of failing providers before each query, instead
    /// of at most once a second.
    #[cfg(test)]
    pub(crate) fn look_often(&mut self) {
        self.watch.every = Duration::ZERO;
    }

    /// Sets the size of titles in bytes with which no further language is loaded.
    #[cfg(test)]
    pub(crate) fn limit_titles(&mut self, most: usize) {
        self.most_titles = most;
    }

    fn has_no_titles(&self, language: LanguageId) -> SourceError {
        let message = format!("has no titles in language {language}");
        SourceError::new(SourceErrorKind::NotFound, &self.name, message)
    }

    /// The title indexes that have a name, taken from the English titles or, if these cannot be read,
    /// from those of another language. Empty if no titles can be read, and if the English ones are late
    /// (a transient error), since those of the other languages then are, too.
    fn named(&mut self) -> Vec<TitleIndex> {
        let mut titles = self.titles(LanguageId::ENGLISH, &Ask::nothing());
        // If one list is late, so are the others.
        if titles.as_ref().is_err_and(|error| !error.is_transient()) {
            let others: Vec<_> = self.languages.iter().flatten().map(|one| one.id).collect();
            let read = others.into_iter().map(|language| self.titles(language, &Ask::nothing()));
            titles = read.into_iter().find(Result::is_ok).unwrap_or(titles);
        }
        titles.iter().flat_map(|titles| titles.all()).map(|(index, _)| index).collect()
    }
}

impl RegistrySource {
    /// The catalogue with all objects of `Global`, which are collected if it does not have them. An
    /// error if they cannot be collected.
    fn whole_catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        match &self.catalogue {
            Some(catalogue) if self.is_whole && !self.unsure => Ok(Arc::clone(catalogue)),
            _ => self.look_for_all(),
        }
    }

    /// The catalogue with all objects, also those of `Costly`; an error if a provider hangs, since
    /// its objects are then unknown.
    fn catalogue_with_costly(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.whole_catalogue()?;
        let mut snapshot = Snapshot::new();
        self.fetch(&Ask::new(ObjectQuery::Costly), &mut snapshot)?;
        self.note(&snapshot, &ObjectQuery::Costly);
        self.learn_costly(&snapshot);
        // The objects of a hanging provider are unknown. An error says so; a catalogue would say
        // that there are none.
        if self.hangs.objects().is_empty() {
            return self.whole_catalogue();
        }
        let services = self.services();
        let is_one = |one: &&Service| {
            one.candidates().iter().any(|name| self.hangs.objects().contains(name))
        };
        match services.iter().find(is_one).map(|one| one.hangs(self.registry.host())) {
            Some(fault) => {
                let message = format!("{}: {}", fault.provider, fault.message);
                Err(SourceError::new(SourceErrorKind::Deadline, &self.name, message))
            }
            None => self.whole_catalogue(),
        }
    }

    /// Outdates the catalogue and the titles after a registration, that is, if Last Counter, Last
    /// Help or the time at which they were written has changed. Also ends reading in parts if it is
    /// time for that.
    ///
    /// The names themselves are not compared. This is called before each sample, and loading them
    /// takes too long.
    fn notice_changes(&mut self) {
        self.look_back();
        let last = self.registry.last_titles();
        if last != self.last {
            // At the first comparison, no provider is new.
            let is_first = self.last == LastTitles::default();
            self.last = last;
            self.outdate();
            // A new provider has not been asked for anything so far.
            self.asked_all &= is_first;
            // Failing providers may be gone, and indexes may have new owners.
            self.requests.values_mut().for_each(|asked| asked.split = None);
            self.hangs.forget_objects();
        }
    }
}

impl TimedSource for RegistrySource {
    fn set_timeout(&mut self, timeout: Duration) -> Duration {
        self.registry.set_limit(timeout)
    }
}

impl Source for RegistrySource {
    fn name(&self) -> &str {
        &self.name
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.fetch(request, out)?;
        self.asked_all |= request.objects == ObjectQuery::Global;
        if self.note(out, &request.objects) && request.objects == ObjectQuery::Costly {
            self.learn_costly(out);
        }
        if request.objects == ObjectQuery::Global {
            self.add_silent_providers(out);
        }
        if let ObjectQuery::Indexes(list) = &request.objects {
            for name in list {
                // A missing object is a fault only if it was seen before. Damaged objects have a
                // fault already.
                if self.known.contains(*name)
                    && out.object(*name).is_none()
                    && !out.faults().iter().any(|fault| fault.object == Some(*name))
                {
                    // The number of these faults is bounded, since the number of known objects is.
                    let words = self.missing.entry(*name).or_insert_with(|| {
                        let words = stays_away(self.registry.host());
                        let fault = Fault::new(FaultKind::CollectFailed, &self.name, words);
                        fault.of_object(*name)
                    });
                    out.push_fault(words.clone());
                }
            }
        }
        for (key, code) in self.registry.unreadable() {
            let message = unreadable(key, code, self.registry.host());
            out.push_fault(Fault::new(FaultKind::Warning, &self.name, message));
        }
        Ok(())
    }

    /// The registered providers. Their state tells whether any of their objects was seen.
    fn providers(&mut self, _: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let services = self.registry.services();
        let code = if services.is_empty() { self.registry.connect() } else { SUCCESS };
        if code != SUCCESS {
            // An empty list tells nothing if the machine was not reached.
            return Err(self.error(Failed::Read(ReadError::Code(code))));
        }
        let status = |service| self.status(service);
        Ok(services.into_iter().map(status).collect())
    }

    /// The catalogue. For `Global`, or another machine's objects, it lists the objects of `Global`
    /// and, if costly objects were asked for before, those of `Costly`; a caller that does not need
    /// costly objects does not wait for their collection. For `Costly`, it lists the objects of
    /// both, of which the costly ones are collected for this. For a list of objects, it lists the
    /// listed objects that exist and all objects that are known already; the registry is asked only
    /// for the unknown ones.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.notice_changes();
        match &ask.objects {
            ObjectQuery::Indexes(list) => self.look_for(list),
            ObjectQuery::Global | ObjectQuery::Foreign(_) => self.whole_catalogue(),
            ObjectQuery::Costly => self.catalogue_with_costly(),
        }
    }

    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.notice_changes();
        if let Some(database) = self.databases.get(&language) {
            return Ok(Arc::clone(database));
        }
        let registry = &mut *self.registry;
        let languages = self.languages.get_or_insert_with(|| titles::languages(registry));
        let Some(entry) = languages.iter().find(|entry| entry.id == language) else {
            return Err(self.has_no_titles(language));
        };
        if self.titles_size > self.most_titles {
            let message = format!(
                "language {language}: its names are not read, since those of the other languages take more than \
                 {} MiB, which is a sign of damage",
                self.most_titles >> 20
            );
            return Err(SourceError::new(SourceErrorKind::Malformed, &self.name, message));
        }
        let own = entry.is_own() && language != LanguageId::ENGLISH;
        let own = own && registry.host().is_none();
        let database = titles::load(registry, entry, self.last);
        let (database, size) = database.map_err(|error| {
            let error = match error {
                ReadError::Code(NOT_FOUND) if own => ReadError::NoTitles,
                // The key has no lists. A language that was removed leaves such a key.
                ReadError::Code(NOT_FOUND) if language != LanguageId::ENGLISH => {
                    return self.has_no_titles(language);
                }
                error => error,
            };
            let told = self.error(Failed::Read(error));
            if !matches!(error, ReadError::NoTitles | ReadError::EndlessTitles) {
                return told;
            }
            // The message names the language, since the lists of other languages may be sound.
            let message = format!("language {language}: {}", told.message());
            SourceError::new(told.kind(), &self.name, message)
        })?;
        let database = Arc::new(database);
        self.titles_size += size;
        self.databases.insert(language, Arc::clone(&database));
        Ok(database)
    }
}
