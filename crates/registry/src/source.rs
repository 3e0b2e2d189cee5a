//! `HKEY_PERFORMANCE_DATA` as a source.

mod catalogue;
mod definitions;
mod status;

use crate::codes::{NOT_FOUND, SUCCESS};
use crate::explain::unreadable;
use crate::hangs::{Hangs, Watch};
use crate::parts::{self, Failed, NOBODY, Search, Split, read_block};
use crate::read::{ReadError, Size};
use crate::registry::{LastTitles, PerfRegistry, ValueName};
use crate::service::Service;
use crate::titles::{self, Language};
use crate::watched::Watched;
use definitions::{Definitions, News};
use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Fault, FaultKind, FramePool, ObjectQuery, ProviderStatus,
    Snapshot, Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, PerfObject, TitleIndex};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many requests are remembered with the size of their answers. A program
/// has a handful; whoever makes up new ones without end starts over.
const REMEMBERED: usize = 256;

/// Said of an object that was there once.
fn stays_away(host: Option<&str>) -> String {
    let there = host.map_or(String::new(), |host| format!(" of {host}"));
    format!(
        "the object was asked for and is not in the answer: its provider failed or is disabled \
         (see the event log{there}, Application, source Perflib)"
    )
}

/// The counters of a machine, read through its registry.
///
/// The key stays open between samples, since closing it unloads the libraries
/// of all providers, and is closed when the source is dropped. Buffers grow by
/// doubling, once for each request; a request that was made before takes no
/// memory and one call of `RegQueryValueExW`. Where the last source of a process is
/// dropped, that waits two seconds at most until the key is closed.
///
/// A provider that hangs hangs the collection: put the source behind a
/// [`Worker`](perfhive_engine::Worker), as `perfhive::open` does.
pub struct RegistrySource {
    name: String,
    registry: Box<dyn PerfRegistry>,
    pool: FramePool,
    /// What is known of each request that was made.
    requests: HashMap<ObjectQuery, Asked>,
    /// Who is registered, once it was needed.
    services: Option<Arc<[Service]>>,
    /// Number of the last collection.
    generation: u64,
    /// Number of the catalogue, and what was counted, and when, as it was taken.
    titles_generation: u64,
    last: LastTitles,
    /// The objects that were seen, each with the definitions that it had.
    known: Definitions,
    catalogue: Option<Arc<Catalogue>>,
    /// Whether it has all objects of `Global`, or those only that somebody looked for.
    is_whole: bool,
    /// Whether something was found by itself since all were listed: it may be part of
    /// `Global` by now.
    unsure: bool,
    /// Whether all were asked so far: who was not seen then has nothing.
    asked_all: bool,
    /// The objects that somebody looked for, so far.
    looked_for: Vec<TitleIndex>,
    /// The objects of `Costly`, once somebody needed them.
    costly: Option<Vec<CatalogueObject>>,
    databases: HashMap<LanguageId, Arc<TitleDatabase>>,
    languages: Option<Vec<Language>>,
    hangs: Hangs,
    watch: Watch,
    /// What is said again and again: of objects that stay away, and of providers that
    /// give nothing. Put into words once.
    missing: HashMap<TitleIndex, Fault>,
    silent: Vec<Fault>,
}

/// A request that was made.
struct Asked {
    name: ValueName,
    size: Size,
    /// How it is answered where it failed.
    split: Option<Box<Split>>,
}

impl RegistrySource {
    /// A source over a registry; `name` stands for it in messages.
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
            languages: None,
            hangs: Hangs::default(),
            watch: Watch::default(),
            missing: HashMap::new(),
            silent: Vec::new(),
        }
    }

    /// The same over calls that end by a limit, of whose answers `hung` did not come.
    /// A provider is asked alone for `probe` at most.
    pub(crate) fn carefully(
        name: &str,
        registry: Watched,
        probe: Duration,
        hung: Option<ObjectQuery>,
    ) -> Self {
        let mut source = Self::over(name, Box::new(registry));
        source.hangs = Hangs::of(hung, probe);
        source
    }

    fn error(&self, failed: Failed) -> SourceError {
        let (kind, message) = match failed {
            Failed::Read(error) => error.explain(self.registry.host()),
            Failed::Parse(error) => {
                (SourceErrorKind::Malformed, format!("the answer is no performance data: {error}"))
            }
        };
        SourceError::new(kind, &self.name, message)
    }

    /// Takes note of the objects that a reply holds. One that nobody has seen, or that is
    /// defined as never before, makes the catalogue and the titles outdated; one that is
    /// defined anew without end does so only now and then. Where nobody has looked for all
    /// objects so far, one that nobody looked for does so only if it, or a counter of it,
    /// has no name. Answers whether there was any such object.
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
            // What is costly is in no catalogue before somebody asked for it.
            outdated |= self.is_whole && *query != ObjectQuery::Costly
                || self.catalogue.as_ref().is_some_and(is_listed);
        }
        if outdated && self.catalogue.is_some() {
            self.outdate();
        } else if unnamed {
            // What it has is known, and what that is called is not.
            self.databases.clear();
            self.titles_generation += 1;
            if let Some(catalogue) = &mut self.catalogue {
                Arc::make_mut(catalogue).generation = self.titles_generation;
            }
        }
        news
    }

    /// Whether the English titles, as they were loaded, or others where those are damaged,
    /// lack a name of an object.
    fn lacks_names(&self, object: PerfObject<'_>) -> bool {
        let english = self.databases.get(&LanguageId::ENGLISH);
        english.or_else(|| self.databases.values().next()).is_some_and(|titles| {
            let counters = object.counters().filter(|counter| !counter.counter_type().is_base());
            let mut names = counters.map(|counter| counter.name_index());
            titles.name(object.name_index()).is_none()
                || names.any(|name| titles.name(name).is_none())
        })
    }

    fn outdate(&mut self) {
        self.titles_generation += 1;
        self.catalogue = None;
        self.is_whole = false;
        self.services = None;
        self.silent.clear();
        self.languages = None;
        self.databases.clear();
    }

    /// Reads one reply; `out` is cleared first. Where the request fails because
    /// of one provider, what the others have.
    fn fetch(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
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
            let size = Size::first_for(&request.objects);
            let asked = Asked { name, size, split: None };
            self.requests.insert(request.objects.clone(), asked);
        }
        self.generation += 1;
        self.look_back();
        let mut is_whole = false;
        if let Some(asked) = self.requests.get_mut(&request.objects)
            && let Some(split) = &mut asked.split
        {
            // Whoever hangs is asked again once he has come back.
            let lasts = Instant::now() < split.until || self.hangs.knows(&request.objects);
            is_whole = lasts && split.is_whole;
            if lasts && !is_whole {
                let (registry, name) = (&mut *self.registry, (&split.name, &mut split.size));
                let frame =
                    read_block(registry, &mut self.pool, self.generation, name, request.until);
                match frame {
                    Ok(frame) => {
                        out.push_frame(frame, &self.name);
                        split.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
                        return Ok(());
                    }
                    Err(failed) if !failed.is_a_providers() => return Err(self.error(failed)),
                    // Another one fails by now.
                    Err(failed) => self.hangs.note(failed, &request.objects),
                }
            }
            if !is_whole {
                asked.split = None;
            }
        }
        if self.hangs.knows(&request.objects) {
            return self.fetch_parts(request, Failed::Read(ReadError::Hangs), out);
        }
        let Some(asked) = self.requests.get_mut(&request.objects) else {
            return Err(self.error(Failed::Read(ReadError::Code(NOT_FOUND))));
        };
        let (registry, name) = (&mut *self.registry, (&asked.name, &mut asked.size));
        let frame = read_block(registry, &mut self.pool, self.generation, name, request.until);
        match frame {
            Ok(frame) => {
                let (damaged, sound) = (!frame.damaged().is_empty(), frame.object_count());
                out.push_frame(frame, &self.name);
                if damaged && !is_whole {
                    return self.fetch_more(request, sound, out);
                }
                Ok(())
            }
            Err(failed) if failed.is_a_providers() => {
                self.hangs.note(failed, &request.objects);
                self.fetch_parts(request, failed, out)
            }
            Err(failed) => Err(self.error(failed)),
        }
    }

    /// Looks for more than the `sound` objects of a reply in which one is
    /// damaged: whatever stands behind it is lost with it.
    fn fetch_more(
        &mut self,
        request: &Ask,
        sound: usize,
        out: &mut Snapshot,
    ) -> Result<(), SourceError> {
        let Ok(mut split) = self.split(&request.objects) else { return Ok(()) };
        split.is_whole = split.objects <= sound;
        let is_whole = split.is_whole;
        if let Some(asked) = self.requests.get_mut(&request.objects) {
            asked.split = Some(Box::new(split));
        }
        if is_whole { Ok(()) } else { self.fetch(request, out) }
    }

    /// Answers a request that failed as a whole.
    fn fetch_parts(
        &mut self,
        request: &Ask,
        failed: Failed,
        out: &mut Snapshot,
    ) -> Result<(), SourceError> {
        let error = self.error(failed);
        let with = |more: &str| {
            let message = format!("{}; {more}", error.message());
            SourceError::new(error.kind(), error.source_name(), message)
        };
        let split = match self.split(&request.objects) {
            Ok(split) => split,
            // It is no provider's fault: the other machine is not reached any more.
            Err(other) if other.is_the_connections() => return Err(self.error(other)),
            // Everything fails.
            Err(_) => {
                let services = self.services();
                let active = services.iter().filter(|service| !service.disabled);
                self.watch.over(active.map(|one| &*one.name), &mut *self.registry);
                let everybody = self.registry.asks_everybody();
                let way_out = parts::way_out(&services, self.registry.host(), everybody, failed);
                return Err(if way_out.is_empty() { error } else { with(&way_out) });
            }
        };
        let is_list = matches!(request.objects, ObjectQuery::Indexes(_));
        if split.objects == 0 && (is_list || split.faults.is_empty()) {
            let Some(fault) = split.faults.first() else { return Err(error) };
            return Err(with(&format!("{}: {}", fault.provider, fault.message)));
        }
        let (name, mut size) = (split.name.clone(), Size::default());
        let (registry, name) = (&mut *self.registry, (&name, &mut size));
        let frame = read_block(registry, &mut self.pool, self.generation, name, request.until);
        let frame = frame.map_err(|failed| self.error(failed))?;
        out.push_frame(frame, &self.name);
        split.faults.iter().for_each(|fault| out.push_fault(fault.clone()));
        if let Some(asked) = self.requests.get_mut(&request.objects) {
            asked.split = Some(Box::new(split));
        }
        Ok(())
    }

    fn services(&mut self) -> Arc<[Service]> {
        if let Some(services) = &self.services {
            return Arc::clone(services);
        }
        let services: Arc<[Service]> = self.registry.services().into();
        // Another machine that has none is one that cannot be asked.
        if !services.is_empty() || self.registry.host().is_none() {
            self.services = Some(Arc::clone(&services));
        }
        services
    }

    /// Windows leaves out who cannot be loaded or opened, without a word. Of
    /// providers that perfhive registered it is told; most of the others only have
    /// nothing to say.
    fn tell_of_silent_ones(&mut self, out: &mut Snapshot) {
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
            // Somebody may disable or mend it.
            self.watch.over([&*service.name].into_iter(), &mut *self.registry);
        }
    }

    /// Looks at registrations of those that fail before each request.
    #[cfg(test)]
    pub(crate) fn look_often(&mut self) {
        self.watch.every = Duration::ZERO;
    }

    /// Finds out what can be had of a request.
    ///
    /// # Errors
    /// Where not even a request for nothing has an answer.
    fn split(&mut self, query: &ObjectQuery) -> Result<Split, Failed> {
        let usual = self.registry.set_limit(self.hangs.probe());
        let split = self.search(query);
        self.registry.set_limit(usual);
        split
    }

    fn search(&mut self, query: &ObjectQuery) -> Result<Split, Failed> {
        // Where that hangs, so does what names are read from: nobody waits for each of them.
        let nobody = ValueName::new(NOBODY);
        let nobody = (&nobody, &mut Size::default());
        read_block(&mut *self.registry, &mut self.pool, self.generation, nobody, None)?;
        let global = match query {
            ObjectQuery::Costly => self.names_of_global(),
            _ => Vec::new(),
        };
        let named = match query {
            ObjectQuery::Indexes(_) => Vec::new(),
            _ => self.named(),
        };
        let services = self.services();
        let (registry, pool, generation) = (&mut self.registry, &mut self.pool, self.generation);
        let host = registry.host().map(str::to_string);
        let mut ask = |name: &ValueName| {
            read_block(&mut **registry, pool, generation, (name, &mut Size::default()), None)
        };
        let groups = parts::divide(query, &services, &named, &global);
        let search = Search::new(&services, host.as_deref(), &mut ask);
        let split = search.without(self.hangs.objects()).run(query, &groups, &self.name);
        self.hangs.found(&split.hanging, query);
        let failing = split.faults.iter().map(|fault| &*fault.provider);
        self.watch.over(failing, &mut *self.registry);
        Ok(split)
    }

    fn has_no_titles(&self, language: LanguageId) -> SourceError {
        let message = format!("has no titles in language {language}");
        SourceError::new(SourceErrorKind::NotFound, &self.name, message)
    }

    /// The indexes that have a name, in whatever language there are names.
    fn named(&mut self) -> Vec<TitleIndex> {
        let mut titles = self.titles(LanguageId::ENGLISH, &Ask::nothing());
        // Who does not answer for one does not for the others.
        if titles.as_ref().is_err_and(|error| !error.is_transient()) {
            let others: Vec<_> = self.languages.iter().flatten().map(|one| one.id).collect();
            let read = others.into_iter().map(|language| self.titles(language, &Ask::nothing()));
            titles = read.into_iter().find(Result::is_ok).unwrap_or(titles);
        }
        titles.iter().flat_map(|titles| titles.all()).map(|(index, _)| index).collect()
    }

    /// Whether those that hung have come back, or who failed is registered otherwise
    /// by now: then all is asked as a whole again.
    fn look_back(&mut self) {
        let is_over = self.hangs.are_over(&mut *self.registry);
        let is_other = self.watch.is_other(&mut *self.registry);
        if is_other {
            self.outdate();
        }
        if is_over || is_other {
            self.hangs.forget();
            self.watch.end();
            self.requests.values_mut().for_each(|asked| asked.split = None);
        }
    }
}

impl RegistrySource {
    fn whole_catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        match &self.catalogue {
            Some(catalogue) if self.is_whole && !self.unsure => Ok(Arc::clone(catalogue)),
            _ => self.look_for_all(),
        }
    }

    /// The objects of `Costly`, and those of `Global` as far as nobody looked for them.
    fn catalogue_with_costly(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.whole_catalogue()?;
        let mut snapshot = Snapshot::new();
        self.fetch(&Ask::new(ObjectQuery::Costly), &mut snapshot)?;
        self.note(&snapshot, &ObjectQuery::Costly);
        self.learn_costly(&snapshot);
        // What those have that hang nobody knows: whoever looks for it is to hear that,
        // and not that there is no such object.
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

    /// Outdates what is known where Last Counter and Last Help, or the time at which they
    /// were written, are others; or where those that hung came back. The generation changes
    /// with that, and when a reply held an object that nobody knew, or one that is defined
    /// anew.
    ///
    /// Whether the names are others is not looked at here: this happens before each sample,
    /// and whoever waits for it does not wait long enough to load them.
    fn notice_changes(&mut self) {
        self.look_back();
        let last = self.registry.last_titles();
        if last != self.last {
            // What is told for the first time makes nobody new.
            let is_first = self.last == LastTitles::default();
            self.last = last;
            self.outdate();
            // Who is new was asked for nothing so far.
            self.asked_all &= is_first;
            // Who failed may be gone, and whose the indexes are has changed.
            self.requests.values_mut().for_each(|asked| asked.split = None);
            self.hangs.forget_objects();
        }
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
            self.tell_of_silent_ones(out);
        }
        if let ObjectQuery::Indexes(list) = &request.objects {
            for name in list {
                // What was never there is no fault, what is damaged told already.
                if self.known.contains(*name)
                    && out.object(*name).is_none()
                    && !out.faults().iter().any(|fault| fault.object == Some(*name))
                {
                    // Of what is known there is an end.
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

    /// Who is registered: those whose objects were seen, and those of whom there is
    /// none.
    fn providers(&mut self, _: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        let services = self.registry.services();
        let code = if services.is_empty() { self.registry.connect() } else { SUCCESS };
        if code != SUCCESS {
            // Another machine that nobody reaches has not told that it has none.
            return Err(self.error(Failed::Read(ReadError::Code(code))));
        }
        let status = |service| self.status(service);
        Ok(services.into_iter().map(status).collect())
    }

    /// The objects of `Global` and, behind them, those of `Costly` as far as somebody asked
    /// for them: that collection is one that nobody should wait for who does not need it.
    /// For a list of objects, those, of which no others are asked, and those that somebody
    /// looked for before.
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.notice_changes();
        match &ask.objects {
            // What is costly is in no whole of them.
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
        let own = entry.is_own() && language != LanguageId::ENGLISH;
        let own = own && registry.host().is_none();
        let database = titles::load(registry, entry, self.last);
        let database = Arc::new(database.map_err(|error| {
            let error = match error {
                ReadError::Code(NOT_FOUND) if own => ReadError::NoTitles,
                // A key without lists, as a language leaves it that was removed.
                ReadError::Code(NOT_FOUND) if language != LanguageId::ENGLISH => {
                    return self.has_no_titles(language);
                }
                error => error,
            };
            let told = self.error(Failed::Read(error));
            if !matches!(error, ReadError::NoTitles | ReadError::EndlessTitles) {
                return told;
            }
            // Those in other languages may be sound.
            let message = format!("language {language}: {}", told.message());
            SourceError::new(told.kind(), &self.name, message)
        })?);
        self.databases.insert(language, Arc::clone(&database));
        Ok(database)
    }
}
