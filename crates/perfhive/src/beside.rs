//! What programs publish, beside another source.

use perfhive_engine::{
    CHOSEN_INDEXES, Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Request, Snapshot,
    Source, SourceError, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::sync::Arc;

/// A source with the objects of a second one beside its own: on Windows the
/// registry's, and those that programs publish, which the registry knows nothing
/// of. The second one's have indexes from [`CHOSEN_INDEXES`] on, where no registry
/// allots any, so that it is known of every object whose it is.
///
/// The first one's failures are failures of the whole; one of the second is a fault
/// if something else was asked for too.
pub(crate) struct Beside<A, B> {
    first: A,
    second: B,
    /// What each is asked, and what the second one answered; kept for their
    /// memory.
    asked: [Request; 2],
    answer: Snapshot,
    catalogue: Option<Arc<Catalogue>>,
    /// The generations of both that the catalogue was put together of.
    generations: Option<[u64; 2]>,
    /// How often they were others.
    generation: u64,
}

impl<A: Source, B: Source> Beside<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        let nothing = || Request::new(ObjectQuery::Indexes(Vec::new()));
        Self {
            first,
            second,
            asked: [nothing(), nothing()],
            answer: Snapshot::new(),
            catalogue: None,
            generations: None,
            generation: 0,
        }
    }

    /// Divides a list of objects; answers whether there is anything for each. No
    /// memory is taken once the lists are large enough.
    fn divide(&mut self, request: &Request, wanted: &[TitleIndex]) -> [bool; 2] {
        let is_second = |name: &TitleIndex| name.0 >= CHOSEN_INDEXES;
        let mut any = [false; 2];
        for (place, asked) in self.asked.iter_mut().enumerate() {
            asked.extra_counters.clone_from(&request.extra_counters);
            asked.max_age = request.max_age;
            asked.deadline = request.deadline;
            let ObjectQuery::Indexes(list) = &mut asked.objects else { continue };
            list.clear();
            list.extend(wanted.iter().filter(|name| is_second(name) == (place == 1)));
            if let Some(any) = any.get_mut(place) {
                *any = !list.is_empty();
            }
        }
        any
    }
}

impl<A: Source, B: Source> Source for Beside<A, B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let [first, second] = match &request.objects {
            ObjectQuery::Indexes(wanted) => self.divide(request, wanted),
            ObjectQuery::Global => [true, true],
            // What is published is neither.
            ObjectQuery::Costly | ObjectQuery::Foreign(_) => [true, false],
        };
        if !second {
            return self.first.collect(request, out);
        }
        if !first {
            return self.second.collect(request, out);
        }
        let [for_first, for_second] = match request.objects {
            ObjectQuery::Indexes(_) => self.asked.each_ref(),
            _ => [request, request],
        };
        self.first.collect(for_first, out)?;
        match self.second.collect(for_second, &mut self.answer) {
            Ok(()) => out.push_all_of(&self.answer),
            Err(error) => {
                let fault =
                    Fault::new(FaultKind::CollectFailed, self.second.name(), error.message());
                out.push_fault(fault);
            }
        }
        self.answer.clear();
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        let generation = self.catalogue_generation();
        if let Some(catalogue) = &self.catalogue {
            return Ok(Arc::clone(catalogue));
        }
        let mut merged = Catalogue::clone(&*self.first.catalogue()?);
        let theirs = self.second.catalogue()?;
        merged.objects.retain(|object| object.name.0 < CHOSEN_INDEXES);
        merged.objects.extend(theirs.objects.iter().cloned());
        for language in &theirs.languages {
            if !merged.languages.contains(language) {
                merged.languages.push(*language);
            }
        }
        merged.generation = generation;
        let merged = Arc::new(merged);
        self.catalogue = Some(Arc::clone(&merged));
        Ok(merged)
    }

    fn list_costly(&mut self) -> Result<(), SourceError> {
        // What is published is none of it.
        self.first.list_costly()
    }

    fn catalogue_generation(&mut self) -> u64 {
        let now = [self.first.catalogue_generation(), self.second.catalogue_generation()];
        if self.generations != Some(now) {
            self.generations = Some(now);
            self.generation += 1;
            self.catalogue = None;
        }
        self.generation
    }

    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        let theirs = self.second.titles(language);
        match self.first.titles(language) {
            Ok(mine) => {
                // A program tells its names in one language.
                let theirs = theirs.or_else(|_| self.second.titles(LanguageId::ENGLISH));
                Ok(theirs.map_or(mine.clone(), |theirs| Arc::new(mine.completed_by(&theirs))))
            }
            Err(error) => theirs.map_err(|_| error),
        }
    }

    fn providers(&mut self) -> Vec<ProviderStatus> {
        let mut providers = self.first.providers();
        providers.extend(self.second.providers());
        providers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::{
        Broker, Collection, Numbering, ObjectWriter, Provider, Query, SourceErrorKind,
    };
    use perfhive_format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate};
    use perfhive_testkit::conformance;
    use perfhive_testkit::script::ScriptProvider;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PUBLISHED: u32 = CHOSEN_INDEXES + 8;

    /// A provider of one object with one value, which counts how often it is
    /// asked.
    fn provider(
        object: u32,
        name: &str,
        value: u64,
        asked: &Arc<AtomicUsize>,
    ) -> Arc<dyn Provider> {
        let (counter, asked) = (object + 2, Arc::clone(asked));
        let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let spec = [CounterSpec::new(TitleIndex(counter), kind)];
        let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(object)), &spec).unwrap();
        let script = move |_: &Collection<'_>, out: &mut ObjectWriter<'_>| {
            asked.fetch_add(1, Ordering::Relaxed);
            out.object(&template)?.values(&[value])?.finish()?;
            Ok(())
        };
        let names = [(object, name), (counter, "Value")];
        Arc::new(ScriptProvider::new(name, Numbering::Windows, &names, script))
    }

    type Both = Beside<Broker, Broker>;

    fn both(asked: &[Arc<AtomicUsize>; 2]) -> Both {
        let [first, second] = asked;
        let of = |providers: [Arc<dyn Provider>; 2]| {
            Broker::builder("local:", "HOST").providers(providers).build()
        };
        let registry = of([provider(238, "Processor", 5, first), provider(2, "System", 7, first)]);
        // A program may call its category like one of the system's objects.
        let published = of([
            provider(PUBLISHED, "Web Shop", 9, second),
            provider(PUBLISHED + 100, "System", 11, second),
        ]);
        Beside::new(registry, published)
    }

    #[test]
    fn it_is_a_source_like_any_other() {
        conformance::source(|| Box::new(both(&Default::default())));
    }

    #[test]
    fn each_is_asked_for_its_own() {
        let asked = <[Arc<AtomicUsize>; 2]>::default();
        let mut source = both(&asked);
        let mut snapshot = Snapshot::new();
        let mut collect = |query: ObjectQuery| {
            asked.iter().for_each(|asked| asked.store(0, Ordering::Relaxed));
            source.collect(&Request::new(query), &mut snapshot).unwrap();
            let names: Vec<u32> =
                snapshot.objects().map(|object| object.view().name_index().0).collect();
            (names, asked.each_ref().map(|asked| asked.load(Ordering::Relaxed)))
        };
        let list =
            |names: &[u32]| ObjectQuery::Indexes(names.iter().map(|n| TitleIndex(*n)).collect());
        assert_eq!(collect(list(&[238])), (vec![238], [1, 0]));
        assert_eq!(collect(list(&[PUBLISHED])), (vec![PUBLISHED], [0, 1]));
        assert_eq!(collect(list(&[PUBLISHED, 2])), (vec![2, PUBLISHED], [1, 1]));
        assert_eq!(collect(ObjectQuery::Global).0.len(), 4);
        assert_eq!(collect(ObjectQuery::Costly), (vec![], [0, 0]));
        assert_eq!(collect(list(&[])), (vec![], [0, 0]));
    }

    #[test]
    fn paths_lead_to_both_and_the_systems_own_come_first() {
        let mut query = Query::new(both(&Default::default())).unwrap();
        for path in [r"\Web Shop\Value", r"\System\Value", r"\Processor\Value"] {
            query.add(path).unwrap();
        }
        query.collect().unwrap();
        let values: Vec<f64> =
            query.readings().iter().map(|r| r.value.as_ref().unwrap().as_f64()).collect();
        assert_eq!(values, [9.0, 7.0, 11.0, 5.0]);
    }

    /// Fails whatever it is asked.
    struct Broken;

    impl Source for Broken {
        fn name(&self) -> &str {
            "broken:"
        }
        fn collect(&mut self, _: &Request, _: &mut Snapshot) -> Result<(), SourceError> {
            Err(SourceError::new(SourceErrorKind::Unavailable, "broken:", "out of order"))
        }
        fn titles(&mut self, _: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
            Err(SourceError::new(SourceErrorKind::Unavailable, "broken:", "out of order"))
        }
    }

    #[test]
    fn who_fails_costs_what_was_asked_of_him() {
        let asked = <[Arc<AtomicUsize>; 2]>::default();
        let mut snapshot = Snapshot::new();
        let Beside { first, second, .. } = both(&asked);
        let mut source = Beside::new(Broken, second);
        let published = Request::objects(&[TitleIndex(PUBLISHED)]);
        source.collect(&published, &mut snapshot).unwrap();
        assert_eq!(snapshot.objects().count(), 1);
        assert!(source.collect(&Request::new(ObjectQuery::Global), &mut snapshot).is_err());
        let mut source = Beside::new(first, Broken);
        source.collect(&Request::new(ObjectQuery::Global), &mut snapshot).unwrap();
        assert_eq!(snapshot.objects().count(), 2);
        assert_eq!(snapshot.faults()[0].to_string(), "broken: out of order");
        assert!(source.collect(&published, &mut snapshot).is_err());
    }
}
