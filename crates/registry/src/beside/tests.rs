//! A source and published objects beside it, with made-up providers in both.

mod doubt;

use super::*;
use perfhive_engine::FaultKind;
use perfhive_engine::{
    Collection, FramePool, Numbering, ObjectWriter, Provider, Query, Roster, SourceErrorKind,
};
use perfhive_format::{CounterSpec, CounterType, ObjectSpec, ObjectTemplate};
use perfhive_testkit::alloc::count;
use perfhive_testkit::conformance;
use perfhive_testkit::script::{ScriptProvider, block};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const PUBLISHED: u32 = CHOSEN_INDEXES + 8;

/// A provider of one object with one value, which counts its collections.
fn provider(object: u32, name: &str, value: u64, asked: &Arc<AtomicUsize>) -> Arc<dyn Provider> {
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
fn the_rules_of_a_source_are_kept() {
    conformance::source(|| Box::new(both(&Default::default())));
}

#[test]
fn each_source_is_asked_for_its_own_objects() {
    let asked = <[Arc<AtomicUsize>; 2]>::default();
    let mut source = both(&asked);
    let mut snapshot = Snapshot::new();
    let mut collect = |query: ObjectQuery| {
        asked.iter().for_each(|asked| asked.store(0, Ordering::Relaxed));
        source.collect(&Ask::new(query), &mut snapshot).unwrap();
        let names: Vec<u32> =
            snapshot.objects().map(|object| object.view().name_index().0).collect();
        (names, asked.each_ref().map(|asked| asked.load(Ordering::Relaxed)))
    };
    let list = |names: &[u32]| ObjectQuery::Indexes(names.iter().map(|n| TitleIndex(*n)).collect());
    assert_eq!(collect(list(&[238])), (vec![238], [1, 0]));
    assert_eq!(collect(list(&[PUBLISHED])), (vec![PUBLISHED], [0, 1]));
    assert_eq!(collect(list(&[PUBLISHED, 2])), (vec![2, PUBLISHED], [1, 1]));
    assert_eq!(collect(ObjectQuery::Global).0.len(), 4);
    assert_eq!(collect(ObjectQuery::Costly), (vec![], [0, 0]));
    assert_eq!(collect(list(&[])), (vec![], [0, 0]));
}

#[test]
fn paths_lead_to_both_sources_and_a_shared_name_to_the_systems_object() {
    let mut query = Query::new(both(&Default::default())).unwrap();
    for path in [r"\Web Shop\Value", r"\System\Value", r"\Processor\Value"] {
        query.add(path).unwrap();
    }
    query.collect().unwrap();
    let values: Vec<f64> =
        query.readings().iter().map(|r| r.value.as_ref().unwrap().as_f64()).collect();
    assert_eq!(values, [9.0, 7.0, 11.0, 5.0]);
}

/// A roster of published objects, which reports them once.
struct PublishedOnce(Option<Vec<Arc<dyn Provider>>>);

impl Roster for PublishedOnce {
    fn changed(&mut self, _: &Ask) -> Option<Vec<Arc<dyn Provider>>> {
        self.0.take()
    }
}

#[test]
fn a_published_name_that_the_system_has_is_refused() {
    let asked = <[Arc<AtomicUsize>; 2]>::default();
    let Beside { mut first, .. } = both(&asked);
    let programs = [("Web Shop", 8), ("SYSTEM", 108), ("Memory", 208)];
    let programs =
        programs.map(|(name, place)| provider(CHOSEN_INDEXES + place, name, 9, &asked[1])).to_vec();
    let published = Broker::builder("local:", "HOST").roster(PublishedOnce(Some(programs)));
    first.register(provider(10, "Memory", 1, &asked[0]));
    let mut source = Beside::new(first, published.build());
    let served = |source: &mut Both, query| -> Vec<u32> {
        let mut snapshot = Snapshot::new();
        source.collect(&Ask::new(query), &mut snapshot).unwrap();
        snapshot.objects().map(|object| object.view().name_index().0).collect()
    };
    let all = [238, 2, 10, PUBLISHED];
    assert_eq!(served(&mut source, ObjectQuery::Global), all);
    let objects = source
        .catalogue(&Ask::everything())
        .unwrap()
        .objects
        .iter()
        .map(|o| o.name.0)
        .collect::<Vec<_>>();
    assert_eq!(objects, all);
    let namesake = ObjectQuery::one(TitleIndex(PUBLISHED + 100));
    assert!(served(&mut source, namesake).is_empty());
    let status = source
        .providers(&Ask::nothing())
        .unwrap()
        .into_iter()
        .find(|one| one.name == "SYSTEM")
        .unwrap();
    let why = status.last_fault.unwrap().to_string();
    assert!(why.contains("publish it under another name"), "{why}");
    // An object that is registered later takes its name as well.
    source.first.register(provider(20, "Web Shop", 3, &asked[0]));
    source.catalogue(&Ask::nothing()).unwrap();
    assert_eq!(served(&mut source, ObjectQuery::Global), [238, 2, 10, 20]);
}

/// A source that answers with an error for collections, catalogue and titles.
struct Broken;

impl Yielding for Broken {
    fn reserve(&mut self, _: &HashSet<String>, _: &HashSet<String>) {}
}

impl Source for Broken {
    fn name(&self) -> &str {
        "broken:"
    }
    fn collect(&mut self, _: &Ask, _: &mut Snapshot) -> Result<(), SourceError> {
        Err(SourceError::new(SourceErrorKind::Unavailable, "broken:", "out of order"))
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Err(SourceError::new(SourceErrorKind::Unavailable, "broken:", "out of order"))
    }
    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::Unavailable, "broken:", "out of order"))
    }
}

/// A source that answers for its own objects, and returns an error for all others.
struct Partly(Broker);

impl Source for Partly {
    fn name(&self) -> &str {
        "partly:"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.0.collect(request, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let catalogue = self.0.catalogue(ask)?;
        match is_for_none(ask, &catalogue) {
            true => Err(SourceError::new(SourceErrorKind::Denied, "partly:", "out of order")),
            false => Ok(catalogue),
        }
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        self.0.titles(language, &Ask::nothing())
    }
}

#[test]
fn a_catalogue_for_published_objects_lists_those_of_the_first_source_too() {
    let Beside { first, second, .. } = both(&Default::default());
    let mut source = Beside::new(Partly(first), second);
    let looked_for =
        |source: &mut Beside<_, _>, index| source.catalogue(&Ask::objects(&[TitleIndex(index)]));
    let found = looked_for(&mut source, PUBLISHED).unwrap();
    for index in [PUBLISHED, 238] {
        assert!(found.object(TitleIndex(index)).is_some(), "{index}");
    }
    let error = looked_for(&mut source, 4).unwrap_err();
    assert!(error.to_string().contains("out of order"), "{error}");
}

#[test]
fn a_source_that_fails_costs_its_own_objects() {
    let asked = <[Arc<AtomicUsize>; 2]>::default();
    let mut snapshot = Snapshot::new();
    let Beside { first, second, .. } = both(&asked);
    let mut source = Beside::new(Broken, second);
    let published = Ask::objects(&[TitleIndex(PUBLISHED)]);
    source.collect(&published, &mut snapshot).unwrap();
    assert_eq!(snapshot.objects().count(), 1);
    for (request, object) in [
        (Ask::new(ObjectQuery::Global), None),
        (Ask::objects(&[TitleIndex(PUBLISHED), TitleIndex(2)]), Some(TitleIndex(2))),
    ] {
        source.collect(&request, &mut snapshot).unwrap();
        assert!(snapshot.object(TitleIndex(PUBLISHED)).is_some());
        let [fault] = snapshot.faults() else { panic!("{:?}", snapshot.faults()) };
        assert_eq!((fault.kind, fault.object), (FaultKind::SourceFailed, object));
        assert!(fault.to_string().ends_with("out of order"), "{fault}");
    }
    assert!(source.catalogue(&Ask::everything()).unwrap().object(TitleIndex(PUBLISHED)).is_some());
    let alone = Ask::objects(&[TitleIndex(2)]);
    assert!(source.collect(&alone, &mut snapshot).is_err());
    // The same where the published objects fail.
    let mut source = Beside::new(first, Broken);
    source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
    assert_eq!(snapshot.objects().count(), 2);
    assert_eq!(snapshot.faults()[0].to_string(), "broken: out of order");
    assert_eq!(source.catalogue(&Ask::everything()).unwrap().objects.len(), 2);
    assert!(Beside::new(Broken, Broken).catalogue(&Ask::everything()).is_err());
    assert!(source.collect(&published, &mut snapshot).is_err());
}

/// A source that answers with a prepared block, or with an error if it has none.
#[derive(Clone)]
struct Ready {
    block: Arc<Mutex<Vec<u8>>>,
    error: SourceError,
    pool: Arc<Mutex<FramePool>>,
    catalogue: Arc<Catalogue>,
}

impl Ready {
    fn new() -> Self {
        let error = SourceError::new(SourceErrorKind::Unavailable, "ready:", "out of order");
        Self { block: Arc::default(), error, pool: Arc::default(), catalogue: Arc::default() }
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
    fn reserve(&mut self, _: &HashSet<String>, _: &HashSet<String>) {}
}

impl Source for Ready {
    fn name(&self) -> &str {
        "ready:"
    }
    fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
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
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.catalogue))
    }
    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "ready:", "has none"))
    }
}

#[test]
fn samples_of_what_lasts_allocate_nothing() {
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
    let lists = [Ask::objects(&list), Ask::objects(&more)];
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
            let is_warm = !snapshot.has_grown() && taken.count == 0;
            assert!(is_warm || round < 4, "{step}, {round}: {taken:?}");
        }
    }
}
