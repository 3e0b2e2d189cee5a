//! A warm sample through a cache allocates nothing: on a prepared thread, around a change of the
//! catalogue, and with different requests in turn.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{
    CounterSource, DataSources, MeasurementContext, MeasurementOptions, Readings,
};
use perfhive_engine::{
    Ask, Cached, Catalogue, CatalogueObject, Cost, Frame, FramePool, ObjectQuery, Snapshot, Source,
    SourceError, TitleDatabase,
};
use perfhive_format::titles::TitleList;
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_testkit::alloc::{Counting, count};
use perfhive_testkit::script::{block, titles};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OBJECTS: u32 = 20;
const LEVEL: TitleIndex = TitleIndex(8);

/// A machine of twenty objects, the last of them costly. Every answer is the same block, without an
/// allocation.
#[derive(Clone)]
struct Machine(Arc<MachineState>);

struct MachineState {
    block: Vec<u8>,
    pool: Mutex<FramePool>,
    taken: AtomicU64,
    generation: AtomicU64,
    catalogue: Mutex<Option<Arc<Catalogue>>>,
}

fn names() -> Vec<(u32, String)> {
    let objects = (0..OBJECTS).map(|number| (700 + 2 * number, format!("Object {number}")));
    objects.chain([(LEVEL.0, "Level".to_string())]).collect()
}

impl Machine {
    fn new() -> Self {
        let counters = [CounterSpec::new(LEVEL, CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
        let rows = [("x", None, &[1u64][..])];
        let objects: Vec<_> = (0..OBJECTS)
            .map(|number| (TitleIndex(700 + 2 * number), &counters[..], &rows[..]))
            .collect();
        Self(Arc::new(MachineState {
            block: block("host", 1, &objects),
            pool: Mutex::default(),
            taken: AtomicU64::new(0),
            generation: AtomicU64::new(1),
            catalogue: Mutex::default(),
        }))
    }

    /// Changes the generation, as a new provider does.
    fn change(&self) {
        self.0.generation.fetch_add(1, Ordering::SeqCst);
    }
}

impl Source for Machine {
    fn name(&self) -> &str {
        "machine"
    }
    fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let number = self.0.taken.fetch_add(1, Ordering::SeqCst);
        let mut pool = self.0.pool.lock().unwrap();
        let frame = pool.fill(number, |buffer| buffer.clone_from(&self.0.block)).unwrap();
        out.push_frame(frame, "p");
        Ok(())
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let generation = self.0.generation.load(Ordering::SeqCst);
        let mut kept = self.0.catalogue.lock().unwrap();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.generation == generation) {
            return Ok(Arc::clone(kept));
        }
        let frame = Frame::new(self.0.block.clone(), 0).unwrap();
        let mut objects: Vec<_> =
            (0..).map_while(|place| frame.object(place)).map(CatalogueObject::of).collect();
        objects.last_mut().unwrap().cost = Cost::Costly;
        let catalogue = Catalogue::new("", Vec::new(), objects).with_generation(generation);
        Ok(Arc::clone(kept.insert(Arc::new(catalogue))))
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let names = names();
        let names: Vec<_> = names.iter().map(|(index, name)| (*index, name.as_str())).collect();
        Ok(Arc::new(TitleDatabase::new(language, &titles(&names), &TitleList::default())))
    }
}

fn context(
    cache: &Cached<Machine>,
    objects: std::ops::Range<u32>,
    options: MeasurementOptions,
) -> MeasurementContext {
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("a", cache.clone())).unwrap();
    let names: Vec<_> = objects.map(|n| format!("a/Object {n}/Level#x").parse().unwrap()).collect();
    MeasurementContext::with_options(&mut sources, &names, options).unwrap()
}

/// The number of allocations of a sample on this thread.
fn sample(context: &mut MeasurementContext) -> u64 {
    let (_, taken) = count(|| context.sample().is_ok());
    taken.count
}

fn cycle(context: &mut MeasurementContext) -> u64 {
    context.prepare().unwrap();
    let allocations = sample(context);
    context.decode(&mut Readings::new()).unwrap();
    allocations
}

/// A thread's first sample needs arc-swap's list for the thread; `prepare` makes it. All threads live
/// until the last one has sampled, so that none inherits the list of an ended one.
#[test]
fn a_new_thread_that_prepares_samples_without_an_allocation() {
    let machine = Machine::new();
    let cache = Cached::builder(machine).max_age(Duration::from_secs(3600)).build();
    let mut filler = cache.clone();
    let request = Ask::objects(&[TitleIndex(700), TitleIndex(702)]).max_age(Duration::ZERO);
    filler.collect(&request, &mut Snapshot::new()).unwrap();
    let kept = || MeasurementOptions::new().max_age(Duration::from_secs(3600));
    let mut contexts: Vec<_> = (0..6).map(|_| context(&cache, 0..2, kept())).collect();
    for context in &mut contexts {
        for _ in 0..8 {
            cycle(context);
        }
    }
    let all_there = Barrier::new(contexts.len());
    thread::scope(|scope| {
        for context in &mut contexts {
            scope.spawn(|| {
                let allocations = cycle(context);
                all_there.wait();
                assert_eq!(allocations, 0);
            });
        }
    });
}

/// The catalogue changes between `prepare` and `sample`, and another context notices first.
#[test]
fn only_the_sample_after_a_change_of_the_catalogue_allocates() {
    let machine = Machine::new();
    let cache = Cached::builder(machine.clone()).max_age(Duration::ZERO);
    let cache = cache.costly_by(machine.clone()).build();
    for objects in [0..2, OBJECTS - 1..OBJECTS] {
        let mut one = context(&cache, objects, MeasurementOptions::new());
        let mut other = context(&cache, 0..1, MeasurementOptions::new());
        for round in 0..20 {
            one.prepare().unwrap();
            other.prepare().unwrap();
            if round == 10 {
                machine.change();
            }
            sample(&mut other);
            let allocations = sample(&mut one);
            assert!(allocations == 0 || round < 5 || round == 10, "{round}: {allocations}");
            other.decode(&mut Readings::new()).unwrap();
            one.decode(&mut Readings::new()).unwrap();
        }
    }
}

#[test]
fn requests_for_different_objects_in_turn_allocate_nothing_once_warm() {
    let mut cached = Cached::builder(Machine::new()).max_age(Duration::ZERO).build();
    let list = |count| (0..count).map(|number| TitleIndex(700 + 2 * number)).collect();
    let queries = [
        ObjectQuery::Indexes(list(9)),
        ObjectQuery::Global,
        ObjectQuery::Indexes(list(3)),
        ObjectQuery::Costly,
    ];
    let requests = queries.map(|query| Ask::new(query).max_age(Duration::ZERO));
    let mut snapshot = Snapshot::new();
    for round in 0..10 {
        for request in requests.iter().flat_map(|request| [request; 3]) {
            let (done, taken) = count(|| cached.collect(request, &mut snapshot));
            done.unwrap();
            assert!(taken.count == 0 || round < 3, "{round} {}: {}", request.objects, taken.count);
        }
    }
}
