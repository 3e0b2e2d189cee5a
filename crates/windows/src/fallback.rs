//! The registry's counters, and the native functions for what it lacks.
//!
//! That Windows' own objects are missing from the registry's counters is a
//! frequent complaint: an administrator or a tool has disabled a provider
//! (`Disable Performance Counters`), the list of titles is damaged, or access
//! is denied. The kernel's own numbers are there all the same.

use perfhive_engine::{
    Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Request, Snapshot, Source,
    SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;

/// Thread points to Process: who fills one fills both.
const PROCESS: TitleIndex = TitleIndex(230);
const THREAD: TitleIndex = TitleIndex(232);

/// A source that fills from a second one the objects that a first one lacks.
///
/// What that is, is looked at before the first answer, and when the catalogue's
/// generation is asked for and the first one's has changed. A first source that fails other than for the moment
/// is not asked again. The first answer has a fault, a warning, that says what
/// comes from where.
pub struct Fallback<A, B> {
    first: A,
    second: B,
    /// Which objects come from the second one, and why; `None` before it was
    /// looked at.
    decision: Option<Decision>,
    /// Number of decisions, for the catalogue's generation.
    decisions: u64,
    /// What the second one is asked, and what it answered.
    asked: Request,
    rest: Request,
    answer: Snapshot,
    catalogue: Option<Arc<Catalogue>>,
    told: bool,
}

/// What comes from the second source.
struct Decision {
    /// Generation of the first one's catalogue as it was looked at.
    generation: u64,
    /// Why the first one is of no use at all.
    broken: Option<SourceError>,
    objects: Vec<TitleIndex>,
    /// The same in words, where there is anything to say.
    reason: Option<String>,
}

impl<A: Source, B: Source> Fallback<A, B> {
    /// `second` behind `first`.
    #[must_use]
    pub fn new(first: A, second: B) -> Self {
        Self {
            first,
            second,
            decision: None,
            decisions: 0,
            asked: Request::new(ObjectQuery::Global),
            rest: Request::new(ObjectQuery::Global),
            answer: Snapshot::new(),
            catalogue: None,
            told: false,
        }
    }

    /// What is read with the second source and why, in words; `None` where
    /// nothing is.
    ///
    /// # Errors
    /// Where neither source can be read, or not at this moment.
    pub fn reason(&mut self) -> Result<Option<&str>, SourceError> {
        self.decide()?;
        Ok(self.decision.as_ref().and_then(|decision| decision.reason.as_deref()))
    }

    /// Looks, where it was not looked yet, what the first source lacks.
    fn decide(&mut self) -> Result<(), SourceError> {
        if let Some(decision) = &self.decision {
            if decision.broken.is_some() {
                return Ok(());
            }
            if self.first.catalogue_generation() == decision.generation {
                return Ok(());
            }
        }
        let theirs = self.second.catalogue()?;
        let all: Vec<TitleIndex> = theirs.objects.iter().map(|object| object.name).collect();
        let (broken, objects) = match self.first.catalogue() {
            Ok(catalogue) => {
                let lacks = |name: &TitleIndex| catalogue.object(*name).is_none();
                let pair = [PROCESS, THREAD].iter().any(lacks);
                let is_pair = |name: &TitleIndex| [PROCESS, THREAD].contains(name);
                let missing = |name: &TitleIndex| lacks(name) || pair && is_pair(name);
                (None, all.into_iter().filter(missing).collect())
            }
            Err(error) if error.is_transient() => return Err(error),
            Err(error) => (Some(error), all),
        };
        let generation = self.first.catalogue_generation();
        let reason = self.reason_for(&objects, broken.as_ref());
        self.told &= reason.is_none()
            || self.decision.as_ref().is_some_and(|before| before.reason == reason);
        self.decision = Some(Decision { generation, broken, objects, reason });
        self.decisions += 1;
        self.catalogue = None;
        Ok(())
    }

    fn reason_for(
        &mut self,
        objects: &[TitleIndex],
        broken: Option<&SourceError>,
    ) -> Option<String> {
        if objects.is_empty() {
            return None;
        }
        let titles = self.second.titles(LanguageId::ENGLISH).ok();
        let name = |index: &TitleIndex| {
            let name = titles.as_ref().and_then(|titles| titles.name(*index));
            name.map_or_else(|| index.to_string(), str::to_string)
        };
        let names = objects.iter().map(name).collect::<Vec<_>>().join(", ");
        let why = match broken {
            Some(error) => format!("its counters cannot be read: {}", error.message()),
            None => "their providers failed or are disabled (`lodctr /Q` tells which)".to_string(),
        };
        Some(format!("{names} by native functions, not from the registry: {why}"))
    }

    /// Divides a request into what the second source is asked (`asked`) and
    /// what is left (`rest`); answers whether there is anything of each. No
    /// memory is taken once the lists are large enough.
    fn divide(&mut self, request: &Request) -> (bool, bool) {
        let Some(Decision { objects, broken, .. }) = &self.decision else {
            return (true, false);
        };
        let usable = broken.is_none();
        let mut list = match std::mem::replace(&mut self.asked.objects, ObjectQuery::Global) {
            ObjectQuery::Indexes(list) => list,
            _ => Vec::new(),
        };
        list.clear();
        let mut left = match std::mem::replace(&mut self.rest.objects, ObjectQuery::Global) {
            ObjectQuery::Indexes(list) => list,
            _ => Vec::new(),
        };
        left.clear();
        let (mut first, is_list) = (usable, matches!(request.objects, ObjectQuery::Indexes(_)));
        match &request.objects {
            ObjectQuery::Global => list.extend_from_slice(objects),
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => {}
            ObjectQuery::Indexes(wanted) => {
                for name in wanted {
                    if objects.contains(name) { list.push(*name) } else { left.push(*name) }
                }
                first = usable && !left.is_empty();
            }
        }
        let second = !list.is_empty();
        self.asked.objects = ObjectQuery::Indexes(list);
        self.asked.deadline = request.deadline;
        // With nothing to divide the request goes on as it is.
        if first && is_list && second {
            self.rest.extra_counters.clone_from(&request.extra_counters);
            self.rest.max_age = request.max_age;
            self.rest.deadline = request.deadline;
        }
        self.rest.objects = ObjectQuery::Indexes(left);
        (first, second)
    }
}

impl<A: Source, B: Source> Source for Fallback<A, B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        // Readers ask for the catalogue's generation before each sample, which
        // looks again; one look is enough.
        if self.decision.is_none() {
            self.decide()?;
        }
        let (first, second) = self.divide(request);
        if first {
            let divided = second && matches!(request.objects, ObjectQuery::Indexes(_));
            self.first.collect(if divided { &self.rest } else { request }, out)?;
        }
        if second {
            // What the first one has after all stands for itself.
            if let ObjectQuery::Indexes(list) = &mut self.asked.objects {
                list.retain(|name| out.object(*name).is_none());
            }
            self.second.collect(&self.asked, &mut self.answer)?;
            out.push_all_of(&self.answer);
            self.answer.clear();
        }
        let reason = self.decision.as_ref().and_then(|decision| decision.reason.as_deref());
        if let Some(reason) = reason
            && !self.told
        {
            self.told = true;
            out.push_fault(Fault::new(FaultKind::Warning, self.first.name(), reason));
        }
        if !first && !second {
            // Nothing that is asked for can be had: the reason is the first's.
            let broken = self.decision.as_ref().and_then(|decision| decision.broken.as_ref());
            if let (Some(error), false) = (broken, is_empty(&request.objects)) {
                return Err(error.clone());
            }
        }
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.decide()?;
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let Some(Decision { objects, broken, .. }) = &self.decision else {
            return self.first.catalogue();
        };
        let theirs = self.second.catalogue()?;
        let mut merged = match broken {
            None => Catalogue::clone(&*self.first.catalogue()?),
            Some(_) => Catalogue::clone(&theirs),
        };
        for object in &theirs.objects {
            if objects.contains(&object.name) && merged.object(object.name).is_none() {
                merged.objects.push(object.clone());
            }
        }
        if !objects.is_empty() || merged.languages.is_empty() {
            for language in &theirs.languages {
                if !merged.languages.contains(language) {
                    merged.languages.push(*language);
                }
            }
        }
        merged.generation = self.catalogue_generation();
        let merged = Arc::new(merged);
        self.catalogue = Some(Arc::clone(&merged));
        Ok(merged)
    }

    fn catalogue_generation(&mut self) -> u64 {
        // Where it cannot be decided now, the next request says why.
        let _ = self.decide();
        self.decisions
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.decide()?;
        let mine = self.first.titles(language);
        // A damaged list of titles is a complaint of its own: the objects are
        // there, and nobody finds them by name.
        if let Ok(titles) = &mine
            && self.second.catalogue()?.objects.iter().all(|one| titles.name(one.name).is_some())
        {
            return mine;
        }
        match (mine, self.second.titles(language)) {
            (Ok(mine), Ok(theirs)) => Ok(Arc::new(mine.completed_by(&theirs))),
            (Ok(titles), Err(_)) | (Err(_), Ok(titles)) => Ok(titles),
            (Err(_), Err(error)) if error.kind() == SourceErrorKind::NotFound => {
                let message = format!("has no titles in language {language}");
                Err(SourceError::new(SourceErrorKind::NotFound, self.first.name(), message))
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    fn providers(&mut self) -> Vec<ProviderStatus> {
        let mut providers = self.first.providers();
        providers.extend(self.second.providers());
        providers
    }
}

fn is_empty(query: &ObjectQuery) -> bool {
    matches!(query, ObjectQuery::Indexes(list) if list.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::{Broker, Numbering, Provider, Query};
    use perfhive_format::CounterPlan;
    use perfhive_testkit::alloc::count;
    use perfhive_testkit::conformance;
    use perfhive_testkit::script::ScriptProvider;
    use std::sync::Mutex;

    /// A provider of one object with one value.
    fn provider(object: u32, name: &str, value: u64) -> Arc<dyn Provider> {
        let names = [(object, name), (object + 10_000, "Value")];
        let spec = [perfhive_format::CounterSpec::new(
            TitleIndex(object + 10_000),
            perfhive_format::CounterType::PERF_COUNTER_LARGE_RAWCOUNT,
        )];
        let head = perfhive_format::ObjectSpec::new(TitleIndex(object));
        let template = perfhive_format::ObjectTemplate::new(&head, &spec).unwrap();
        let script = move |_: &perfhive_engine::Collection<'_>,
                           out: &mut perfhive_engine::ObjectWriter<'_>| {
            out.object(&template)?.values(&[value])?.finish()?;
            Ok(())
        };
        Arc::new(ScriptProvider::new(&format!("p{object}"), Numbering::Windows, &names, script))
    }

    /// Queries as they were made.
    type Asked = Arc<Mutex<Vec<String>>>;

    /// A source that fails if it is told to.
    struct Registry {
        broker: Broker,
        fails: Arc<Mutex<Option<SourceErrorKind>>>,
        asked: Asked,
    }

    impl Registry {
        fn check(&self) -> Result<(), SourceError> {
            match *self.fails.lock().unwrap() {
                Some(kind) => Err(SourceError::new(kind, "local:", "out of order")),
                None => Ok(()),
            }
        }
    }

    impl Source for Registry {
        fn name(&self) -> &str {
            "local:"
        }
        fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
            if let Ok(mut asked) = self.asked.try_lock() {
                // Noted without taking memory for the test that counts it.
                if asked.len() < asked.capacity() {
                    asked.push(request.objects.to_string());
                }
            }
            self.check()?;
            self.broker.collect(request, out)
        }
        fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
            self.check()?;
            self.broker.catalogue()
        }
        fn catalogue_generation(&mut self) -> u64 {
            self.broker.catalogue_generation()
        }
        fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
            self.check()?;
            self.broker.titles(language)
        }
    }

    struct Parts {
        source: Fallback<Registry, Broker>,
        fails: Arc<Mutex<Option<SourceErrorKind>>>,
        asked: Asked,
    }

    /// The registry with these objects, and the native functions with Windows'.
    fn parts(objects: &[(u32, &str)]) -> Parts {
        let mut broker = Broker::builder("local:", "BOX");
        for (index, name) in objects {
            broker = broker.provider(provider(*index, name, 1));
        }
        let mut native = Broker::builder("native:", "BOX");
        for (index, name) in [(2, "System"), (230, "Process"), (232, "Thread"), (238, "Processor")]
        {
            native = native.provider(provider(index, name, 2));
        }
        let (fails, asked) = (Arc::default(), Arc::new(Mutex::new(Vec::with_capacity(16))));
        let registry = Registry {
            broker: broker.build(),
            fails: Arc::clone(&fails),
            asked: Arc::clone(&asked),
        };
        Parts { source: Fallback::new(registry, native.build()), fails, asked }
    }

    fn collect(source: &mut impl Source, query: &str) -> Snapshot {
        let mut snapshot = Snapshot::new();
        source.collect(&Request::new(query.parse().unwrap()), &mut snapshot).unwrap();
        snapshot
    }

    /// Objects and where their values come from.
    fn origins(snapshot: &Snapshot) -> Vec<(u32, u64)> {
        let mut origins: Vec<_> = snapshot
            .objects()
            .map(|object| {
                let view = object.view();
                let block = view.counter_block().unwrap();
                (view.name_index().0, CounterPlan::all(view)[0].value(block).unwrap())
            })
            .collect();
        origins.sort_unstable();
        origins
    }

    const WINDOWS: [(u32, &str); 4] =
        [(2, "System"), (230, "Process"), (232, "Thread"), (238, "Processor")];

    #[test]
    fn a_registry_that_has_all_is_left_alone() {
        let Parts { mut source, asked, .. } = parts(&WINDOWS);
        let snapshot = collect(&mut source, "Global");
        assert_eq!(origins(&snapshot), [(2, 1), (230, 1), (232, 1), (238, 1)]);
        assert!(snapshot.faults().is_empty());
        assert_eq!(source.reason().unwrap(), None);
        collect(&mut source, "230 238");
        assert_eq!(*asked.lock().unwrap(), ["Global", "230 238"]);
    }

    #[test]
    fn what_the_registry_lacks_is_filled_and_said_once() {
        let Parts { mut source, asked, .. } =
            parts(&[(2, "System"), (4, "Memory"), (230, "Process")]);
        let snapshot = collect(&mut source, "Global");
        // Process comes along with Thread, so that one is the other's parent.
        let both = [(2, 1), (4, 1), (230, 1), (232, 2), (238, 2)];
        assert_eq!(origins(&snapshot), both);
        let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
        assert_eq!(fault.kind, FaultKind::Warning);
        assert!(fault.message.starts_with("Process, Thread, Processor by native"), "{fault}");
        let snapshot = collect(&mut source, "238 4");
        assert_eq!(origins(&snapshot), [(4, 1), (238, 2)]);
        assert!(snapshot.faults().is_empty());
        assert_eq!(origins(&collect(&mut source, "232 230")), [(230, 2), (232, 2)]);
        assert_eq!(*asked.lock().unwrap(), ["Global", "4"]);
    }

    #[test]
    fn a_registry_that_is_broken_is_not_asked_again() {
        let Parts { mut source, fails, asked } = parts(&WINDOWS);
        *fails.lock().unwrap() = Some(SourceErrorKind::Denied);
        let snapshot = collect(&mut source, "Global");
        assert_eq!(origins(&snapshot), [(2, 2), (230, 2), (232, 2), (238, 2)]);
        assert!(snapshot.faults()[0].message.ends_with("cannot be read: out of order"));
        assert_eq!(origins(&collect(&mut source, "238")), [(238, 2)]);
        // What the native functions do not have fails with the registry's reason.
        let request = Request::new("4".parse().unwrap());
        let error = source.collect(&request, &mut Snapshot::new()).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Denied);
        assert!(asked.lock().unwrap().is_empty());
        let catalogue = source.catalogue().unwrap();
        assert_eq!(catalogue.objects.len(), 4);
        assert!(source.titles(LanguageId::ENGLISH).unwrap().name(TitleIndex(230)).is_some());
    }

    #[test]
    fn a_registry_that_is_busy_is_asked_again() {
        let Parts { mut source, fails, .. } = parts(&WINDOWS);
        *fails.lock().unwrap() = Some(SourceErrorKind::Busy);
        let request = Request::new(ObjectQuery::Global);
        let error = source.collect(&request, &mut Snapshot::new()).unwrap_err();
        assert!(error.is_transient());
        *fails.lock().unwrap() = None;
        assert_eq!(origins(&collect(&mut source, "230")), [(230, 1)]);
    }

    #[test]
    fn an_object_that_comes_back_is_the_registrys() {
        let Parts { mut source, .. } = parts(&[(4, "Memory")]);
        let mut query = Query::new(source).unwrap();
        query.add(r"\Processor\Value").unwrap();
        query.collect().unwrap();
        let value = |query: &Query| query.readings()[0].value.as_ref().unwrap().to_string();
        assert_eq!(value(&query), "2");
        source = parts(&[(4, "Memory")]).source;
        let before = source.catalogue_generation();
        source.first.broker.register(provider(238, "Processor", 1));
        assert_ne!(source.catalogue_generation(), before);
        assert_eq!(origins(&collect(&mut source, "238 2")), [(2, 2), (238, 1)]);
    }

    #[test]
    fn names_of_both_are_there() {
        let Parts { mut source, .. } = parts(&[(4, "Memory")]);
        let titles = source.titles(LanguageId::ENGLISH).unwrap();
        assert_eq!(titles.name(TitleIndex(4)), Some("Memory"));
        assert_eq!(titles.name(TitleIndex(230)), Some("Process"));
        let error = source.titles(LanguageId::GERMAN).unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::NotFound);
    }

    #[test]
    fn objects_without_names_get_them() {
        let nameless = WINDOWS.map(|(index, _)| (index, ""));
        let Parts { mut source, .. } = parts(&nameless);
        let titles = source.titles(LanguageId::ENGLISH).unwrap();
        assert_eq!(titles.name(TitleIndex(230)), Some("Process"));
        let snapshot = collect(&mut source, "230");
        assert_eq!(origins(&snapshot), [(230, 1)]);
        assert!(snapshot.faults().is_empty());
    }

    #[test]
    fn every_rule_of_a_source_is_kept() {
        for objects in [&WINDOWS[..], &[(4, "Memory")], &[(2, "System"), (4, "Memory")]] {
            conformance::source(|| Box::new(parts(objects).source));
            conformance::source(|| Box::new(perfhive_engine::Cached::new(parts(objects).source)));
        }
    }

    #[test]
    fn nothing_is_allocated_once_warm() {
        let Parts { mut source, .. } = parts(&[(2, "System"), (4, "Memory")]);
        let request = Request::new("2 4 230 232 238".parse().unwrap());
        let mut snapshot = Snapshot::new();
        for _ in 0..20 {
            source.collect(&request, &mut snapshot).unwrap();
        }
        let ((), allocated) = count(|| source.collect(&request, &mut snapshot).unwrap());
        assert_eq!(allocated.count, 0);
        assert_eq!(snapshot.objects().count(), 5);
    }
}
