//! What programs publish, beside another source.

use perfhive_engine::{
    Broker, CHOSEN_INDEXES, Catalogue, Fault, FaultKind, ObjectQuery, ProviderStatus, Request,
    Snapshot, Source, SourceError, TitleDatabase, Wanted, note_growth,
};
use perfhive_format::{LanguageId, TitleIndex};
use std::collections::HashSet;
use std::sync::Arc;

/// A source with the objects of a second one beside its own: on Windows the
/// registry's, and those that programs publish, which the registry knows nothing
/// of. The second one's have indexes from [`CHOSEN_INDEXES`] on, where no registry
/// allots any, so that it is known of every object whose it is.
///
/// Where one of them fails and was not asked alone, what the other has is there, with a
/// fault. What is published under the name of one of the first one's objects is not
/// served: a path is to mean what it always meant. The first one is asked for the objects
/// of such names, and for no others that nobody wants.
pub(crate) struct Beside<A, B> {
    first: A,
    second: B,
    /// What each is asked, and what the second one answered; kept for their
    /// memory.
    asked: [Request; 2],
    answer: Snapshot,
    /// What was said last of one that failed, put into words once.
    lost: Option<Fault>,
    catalogue: Option<Kept>,
    /// The generations of both, as of the last look.
    generations: Option<[u64; 2]>,
    /// Names that the first one has objects of, and names that it has none of, as far as
    /// somebody published under them.
    taken: HashSet<String>,
    free: HashSet<String>,
    /// How often they were others.
    generation: u64,
}

/// A catalogue of both, and those that it was made of.
struct Kept {
    of: [Arc<Catalogue>; 2],
    merged: Arc<Catalogue>,
}

/// A source that leaves names to others.
pub(crate) trait Yielding: Source {
    /// Serves nothing under these names any more.
    fn reserve(&mut self, names: &HashSet<String>);
}

impl Yielding for Broker {
    fn reserve(&mut self, names: &HashSet<String>) {
        self.reserve_names(names);
    }
}

impl<A: Source, B: Yielding> Beside<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        let nothing = || Request::new(ObjectQuery::Indexes(Vec::new()));
        Self {
            first,
            second,
            asked: [nothing(), nothing()],
            answer: Snapshot::new(),
            lost: None,
            catalogue: None,
            generations: None,
            taken: HashSet::new(),
            free: HashSet::new(),
            generation: 0,
        }
    }

    /// Divides a list of objects; answers whether there is anything for each. No
    /// memory is taken once the lists are large enough.
    fn divide(&mut self, request: &Request, wanted: &[TitleIndex]) -> [bool; 2] {
        let is_second = |name: &TitleIndex| name.0 >= CHOSEN_INDEXES;
        let mut any = [false; 2];
        let before = self.room();
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
        if self.room() != before {
            note_growth();
        }
        any
    }

    /// How much there is room for in the lists.
    fn room(&self) -> usize {
        let room = |asked: &Request| match &asked.objects {
            ObjectQuery::Indexes(list) => list.capacity() + asked.extra_counters.capacity(),
            _ => asked.extra_counters.capacity(),
        };
        self.asked.iter().map(room).sum()
    }

    /// Has the second one leave the names of the first one's objects, in every language
    /// that it has; all of them anew where the first one is another.
    fn reserve(&mut self, is_other: bool) {
        note_growth();
        if is_other {
            self.free.clear();
            if !self.taken.is_empty() {
                self.taken.clear();
                self.second.reserve(&self.taken);
            }
        }
        let Ok(theirs) = self.second.catalogue() else { return };
        let mut published: Vec<String> = Vec::new();
        for language in &theirs.languages {
            let Ok(titles) = self.second.titles(*language) else { continue };
            let names = theirs.objects.iter().filter_map(|one| titles.name(one.name));
            published.extend(names.map(str::to_string));
        }
        published.retain(|name| !self.taken.contains(name) && !self.free.contains(name));
        if published.is_empty() {
            return;
        }
        let Ok(mine) = self.first.catalogue_for(Wanted::Nothing) else { return };
        let titles: Vec<_> =
            mine.languages.iter().filter_map(|one| self.first.titles(*one).ok()).collect();
        let before = self.taken.len();
        for name in published {
            let meant: Vec<TitleIndex> =
                titles.iter().flat_map(|titles| titles.indexes(&name)).copied().collect();
            let has = |mine: Arc<Catalogue>| meant.iter().any(|one| mine.object(*one).is_some());
            let is_taken = !meant.is_empty()
                && self.first.catalogue_for(Wanted::Objects(&meant)).is_ok_and(has);
            if is_taken {
                self.taken.insert(name)
            } else {
                self.free.insert(name)
            };
        }
        if self.taken.len() > before {
            self.second.reserve(&self.taken);
        }
    }
}

/// Whether objects are wanted of which a catalogue has none.
fn is_for_none(wanted: Wanted<'_>, theirs: &Catalogue) -> bool {
    let Wanted::Objects(list) = wanted else { return false };
    list.iter().all(|name| theirs.object(*name).is_none())
}

/// What there is to say of one that failed: of each object that it was asked for.
fn tell(error: &SourceError, asked: &Request, known: &mut Option<Fault>, out: &mut Snapshot) {
    let is_it = |fault: &Fault| {
        *fault.message == *error.message() && *fault.provider == *error.source_name()
    };
    let fault = match known.take().filter(is_it) {
        Some(fault) => fault,
        None => Fault::new(FaultKind::SourceFailed, error.source_name(), error.message()),
    };
    *known = Some(fault.clone());
    match &asked.objects {
        ObjectQuery::Indexes(list) => {
            list.iter().for_each(|name| out.push_fault(fault.clone().of_object(*name)));
        }
        _ => out.push_fault(fault),
    }
}

impl<A: Source, B: Yielding> Source for Beside<A, B> {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        if self.generations.is_none() {
            self.catalogue_generation();
        }
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
        let mine = self.first.collect(for_first, out);
        let grown = out.has_grown();
        let theirs = self.second.collect(for_second, &mut self.answer);
        if grown || self.answer.has_grown() {
            // The first one's, should its part be cleared.
            note_growth();
        }
        match (mine, theirs) {
            (Ok(()), Ok(())) => out.push_all_of(&self.answer),
            (Ok(()), Err(error)) => tell(&error, for_second, &mut self.lost, out),
            (Err(error), Ok(())) => {
                out.clear();
                out.push_all_of(&self.answer);
                tell(&error, for_first, &mut self.lost, out);
            }
            (Err(error), Err(_)) => return Err(error),
        }
        self.answer.clear();
        Ok(())
    }

    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.catalogue_for(Wanted::Everything)
    }

    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        let mine = self.first.catalogue_for(wanted);
        // The first one may have more by that, which leaves less to the second one.
        let generation = self.catalogue_generation();
        let (mine, theirs) = match (mine, self.second.catalogue_for(wanted)) {
            (Ok(mine), Ok(theirs)) => (mine, theirs),
            (Err(error), Err(_)) => return Err(error),
            // Who wants some objects is to hear why it is not known whether there are any.
            (Err(error), Ok(theirs)) if is_for_none(wanted, &theirs) => return Err(error),
            // Half of it, and only for now.
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => {
                return Ok(Arc::new(Catalogue { generation, ..Catalogue::clone(&one) }));
            }
        };
        if let Some(Kept { of: [first, second], merged }) = &self.catalogue
            && (first, second) == (&mine, &theirs)
            && merged.generation == generation
        {
            return Ok(Arc::clone(merged));
        }
        let mut merged = Catalogue::clone(&mine);
        merged.objects.retain(|object| object.name.0 < CHOSEN_INDEXES);
        merged.objects.extend(theirs.objects.iter().cloned());
        for language in &theirs.languages {
            if !merged.languages.contains(language) {
                merged.languages.push(*language);
            }
        }
        merged.generation = generation;
        let merged = Arc::new(merged);
        self.catalogue = Some(Kept { of: [mine, theirs], merged: Arc::clone(&merged) });
        Ok(merged)
    }

    fn list_costly(&mut self) -> Result<(), SourceError> {
        // What is published is none of it.
        self.first.list_costly()
    }

    fn catalogue_generation(&mut self) -> u64 {
        let look = |this: &mut Self| {
            [this.first.catalogue_generation(), this.second.catalogue_generation()]
        };
        let now = look(self);
        if self.generations != Some(now) {
            note_growth();
            self.reserve(self.generations.is_none_or(|[known, _]| known != now[0]));
            // By that either may be another.
            self.generations = Some(look(self));
            self.generation += 1;
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
        Collection, FramePool, Numbering, ObjectWriter, Provider, Query, Roster, SourceErrorKind,
    };
    use perfhive_format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate};
    use perfhive_testkit::alloc::{Counting, count};
    use perfhive_testkit::conformance;
    use perfhive_testkit::script::{ScriptProvider, block};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

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

    /// What programs publish, once.
    struct Programs(Option<Vec<Arc<dyn Provider>>>);

    impl Roster for Programs {
        fn changed(&mut self) -> Option<Vec<Arc<dyn Provider>>> {
            self.0.take()
        }
    }

    #[test]
    fn nothing_is_published_in_the_systems_name() {
        let asked = <[Arc<AtomicUsize>; 2]>::default();
        let Beside { mut first, .. } = both(&asked);
        let programs = [("Web Shop", 8), ("SYSTEM", 108), ("Memory", 208)];
        let programs = programs
            .map(|(name, place)| provider(CHOSEN_INDEXES + place, name, 9, &asked[1]))
            .to_vec();
        let published = Broker::builder("local:", "HOST").roster(Programs(Some(programs)));
        first.register(provider(10, "Memory", 1, &asked[0]));
        let mut source = Beside::new(first, published.build());
        let served = |source: &mut Both, query| -> Vec<u32> {
            let mut snapshot = Snapshot::new();
            source.collect(&Request::new(query), &mut snapshot).unwrap();
            snapshot.objects().map(|object| object.view().name_index().0).collect()
        };
        let all = [238, 2, 10, PUBLISHED];
        assert_eq!(served(&mut source, ObjectQuery::Global), all);
        let objects =
            source.catalogue().unwrap().objects.iter().map(|o| o.name.0).collect::<Vec<_>>();
        assert_eq!(objects, all);
        let namesake = ObjectQuery::one(TitleIndex(PUBLISHED + 100));
        assert!(served(&mut source, namesake).is_empty());
        let status = source.providers().into_iter().find(|one| one.name == "SYSTEM").unwrap();
        let why = status.last_fault.unwrap().to_string();
        assert!(why.contains("publish it under another name"), "{why}");
        // What is registered later takes its name as well.
        source.first.register(provider(20, "Web Shop", 3, &asked[0]));
        source.catalogue_generation();
        assert_eq!(served(&mut source, ObjectQuery::Global), [238, 2, 10, 20]);
    }

    /// Fails whatever it is asked.
    struct Broken;

    impl Yielding for Broken {
        fn reserve(&mut self, _: &HashSet<String>) {}
    }

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
        // The published half is there whatever becomes of the registry.
        for (request, object) in [
            (Request::new(ObjectQuery::Global), None),
            (Request::objects(&[TitleIndex(PUBLISHED), TitleIndex(2)]), Some(TitleIndex(2))),
        ] {
            source.collect(&request, &mut snapshot).unwrap();
            assert!(snapshot.object(TitleIndex(PUBLISHED)).is_some());
            let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
            assert_eq!((fault.kind, fault.object), (FaultKind::SourceFailed, object));
            assert!(fault.to_string().ends_with("out of order"), "{fault}");
        }
        assert!(source.catalogue().unwrap().object(TitleIndex(PUBLISHED)).is_some());
        let alone = Request::objects(&[TitleIndex(2)]);
        assert!(source.collect(&alone, &mut snapshot).is_err());
        // And the registry whatever becomes of what is published.
        let mut source = Beside::new(first, Broken);
        source.collect(&Request::new(ObjectQuery::Global), &mut snapshot).unwrap();
        assert_eq!(snapshot.objects().count(), 2);
        assert_eq!(snapshot.faults()[0].to_string(), "broken: out of order");
        assert_eq!(source.catalogue().unwrap().objects.len(), 2);
        assert!(Beside::new(Broken, Broken).catalogue().is_err());
        assert!(source.collect(&published, &mut snapshot).is_err());
    }

    /// Answers with a block that lies ready; with none, fails by the same error each time.
    #[derive(Clone)]
    struct Ready {
        block: Arc<Mutex<Vec<u8>>>,
        error: SourceError,
        pool: Arc<Mutex<FramePool>>,
    }

    impl Ready {
        fn new() -> Self {
            let error = SourceError::new(SourceErrorKind::Unavailable, "ready:", "out of order");
            Self { block: Arc::default(), error, pool: Arc::default() }
        }

        fn says(&self, object: u32, instances: usize) {
            let rows = vec![("one", None, &[7u64][..]); instances];
            let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
            let spec = [CounterSpec::new(TitleIndex(object + 2), kind)];
            *self.block.lock().unwrap() = block("HOST", 1, &[(TitleIndex(object), &spec, &rows)]);
        }

        fn fails(&self) {
            self.block.lock().unwrap().clear();
        }
    }

    impl Yielding for Ready {
        fn reserve(&mut self, _: &HashSet<String>) {}
    }

    impl Source for Ready {
        fn name(&self) -> &str {
            "ready:"
        }
        fn collect(&mut self, _: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
            out.clear();
            let block = self.block.lock().unwrap();
            if block.is_empty() {
                return Err(self.error.clone());
            }
            let frame = self.pool.lock().unwrap().fill(1, |bytes| {
                bytes.clear();
                bytes.extend_from_slice(&block);
            });
            out.push_frame(frame.unwrap(), "ready:");
            Ok(())
        }
        fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
            Ok(Arc::default())
        }
        fn titles(&mut self, _: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
            Err(SourceError::new(SourceErrorKind::NotFound, "ready:", "has none"))
        }
    }

    #[test]
    fn what_a_sample_takes_is_told() {
        let [first, second] = [Ready::new(), Ready::new()];
        let mut source = perfhive_engine::Cached::new(Beside::new(first.clone(), second.clone()));
        let mut snapshot = Snapshot::new();
        let list: Vec<TitleIndex> = [2, 4, 6, PUBLISHED]
            .into_iter()
            .chain(PUBLISHED + 2..PUBLISHED + 9)
            .map(TitleIndex)
            .collect();
        let more: Vec<TitleIndex> =
            (1..200).chain(PUBLISHED..PUBLISHED + 200).map(TitleIndex).collect();
        let lists = [Request::objects(&list), Request::objects(&more)];
        first.says(2, 1);
        second.says(PUBLISHED, 1);
        type Step<'a> = (&'a str, &'a dyn Fn(), usize);
        let steps: [Step<'_>; 7] = [
            ("first", &|| {}, 0),
            ("more published", &|| second.says(PUBLISHED, 900), 0),
            ("more of the system", &|| first.says(2, 9000), 0),
            ("more asked for", &|| {}, 1),
            ("nothing published", &|| second.fails(), 0),
            ("nothing of the system", &|| (first.fails(), second.says(PUBLISHED, 1)).0, 0),
            ("both again", &|| first.says(2, 1), 0),
        ];
        for (step, happens, list) in steps {
            happens();
            let request = lists[list].clone().max_age(std::time::Duration::ZERO);
            for round in 0..6 {
                let (done, taken) = count(|| source.collect(&request, &mut snapshot));
                done.unwrap();
                let told = snapshot.has_grown();
                assert!(told || taken.count == 0, "{step}, {round}: {taken:?}");
                assert!(!told || round < 4, "{step}: what lasts takes nothing more");
            }
        }
    }
}
