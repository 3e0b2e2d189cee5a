//! What a sample takes on the way through a cache is told, also where several share
//! it, threads come and go, and collections fail.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::measure::{
    Anomaly, CounterSource, DataSources, MeasurementContext, MeasurementOptions, Readings,
};
use perfhive_engine::{
    Ask, Cached, Catalogue, CatalogueObject, Cost, Frame, FramePool, ObjectQuery, Snapshot, Source,
    SourceError, TitleDatabase,
};
use perfhive_format::titles::TitleList;
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_testkit::alloc::{Counting, count};
use perfhive_testkit::script::{block, titles};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OBJECTS: u32 = 20;
const LEVEL: TitleIndex = TitleIndex(8);

/// A machine of twenty objects, the last of them costly. It answers with the same
/// block again and again, and makes nothing for that.
#[derive(Clone)]
struct Machine(Arc<Shared>);

struct Shared {
    block: Vec<u8>,
    pool: Mutex<FramePool>,
    taken: AtomicU64,
    generation: AtomicU64,
    catalogue: Mutex<Option<Arc<Catalogue>>>,
    /// Whether a collection waits, and whether one does.
    held: AtomicBool,
    waits: Mutex<bool>,
    changed: Condvar,
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
        Self(Arc::new(Shared {
            block: block("host", 1, &objects),
            pool: Mutex::default(),
            taken: AtomicU64::new(0),
            generation: AtomicU64::new(1),
            catalogue: Mutex::default(),
            held: AtomicBool::new(false),
            waits: Mutex::new(false),
            changed: Condvar::new(),
        }))
    }

    fn hold(&self) {
        self.0.held.store(true, Ordering::SeqCst);
    }

    fn wait_until_held(&self) {
        let mut waits = self.0.waits.lock().unwrap();
        while !*waits {
            waits = self.0.changed.wait(waits).unwrap();
        }
    }

    fn let_go(&self) {
        self.0.held.store(false, Ordering::SeqCst);
        *self.0.waits.lock().unwrap() = false;
        self.0.changed.notify_all();
    }

    /// As if a provider had come.
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
        if self.0.held.load(Ordering::SeqCst) {
            let mut waits = self.0.waits.lock().unwrap();
            *waits = true;
            self.0.changed.notify_all();
            while *waits {
                waits = self.0.changed.wait(waits).unwrap();
            }
        }
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
        Ok(Arc::clone(kept.insert(Arc::new(Catalogue {
            objects,
            generation,
            ..Catalogue::default()
        }))))
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

/// What a sample allocates on this thread, and whether it says so.
fn sample(context: &mut MeasurementContext) -> (u64, bool) {
    let (_, taken) = count(|| context.sample().is_ok());
    let record = context.record().unwrap();
    let grown = |anomaly: &Anomaly| matches!(anomaly, Anomaly::BufferGrown { .. });
    (taken.count, record.anomalies.iter().any(grown))
}

fn cycle(context: &mut MeasurementContext) -> (u64, bool) {
    context.prepare().unwrap();
    let told = sample(context);
    context.decode(&mut Readings::new()).unwrap();
    told
}

fn cache(machine: &Machine) -> Cached<Machine> {
    Cached::builder(machine.clone()).max_age(Duration::ZERO).build()
}

/// Does something with each context, on threads that are all there at the same time:
/// nobody takes over what an ended one leaves.
fn side_by_side(
    contexts: &mut [MeasurementContext],
    does: fn(&mut MeasurementContext) -> (u64, bool),
) -> Vec<(u64, bool)> {
    let all_there = Barrier::new(contexts.len());
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for context in contexts {
            threads.push(scope.spawn(|| {
                let told = does(context);
                all_there.wait();
                told
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// With contexts that were made, or made ready, elsewhere.
#[test]
fn on_a_thread_that_is_new() {
    let machine = Machine::new();
    // Each takes kept data: nobody's collection is part of what is counted.
    let cache = Cached::builder(machine.clone()).max_age(Duration::from_secs(3600)).build();
    let mut filler = cache.clone();
    let mut fill = || {
        let mut request = Ask::objects(&[TitleIndex(700), TitleIndex(702)]);
        request.max_age = Some(Duration::ZERO);
        filler.collect(&request, &mut Snapshot::new()).unwrap();
    };
    let mut contexts: Vec<_> =
        (0..9).map(|_| context(&cache, 0..2, MeasurementOptions::new())).collect();
    for _ in 0..8 {
        fill();
        for context in &mut contexts {
            cycle(context);
        }
    }
    fill();
    contexts.iter_mut().for_each(|context| context.prepare().unwrap());
    let told = side_by_side(&mut contexts[..3], sample);
    assert!(told.iter().any(|(allocations, _)| *allocations > 0), "{told:?}");
    assert!(told.iter().all(|(allocations, grown)| *allocations == 0 || *grown), "{told:?}");
    // Who prepares where he samples is ready then.
    assert_eq!(side_by_side(&mut contexts[3..], cycle), [(0, false); 6]);
}

/// Whoever waits for a collection adds what he wants to a list, in vain if he has
/// no time left.
#[test]
fn who_waits_in_vain() {
    let machine = Machine::new();
    let cache = cache(&machine);
    let patience = MeasurementOptions::new().patience(Duration::from_millis(30));
    let mut late = context(&cache, 0..OBJECTS, patience);
    let mut other = cache.clone();
    let small = Ask::objects(&[TitleIndex(700)]);
    let mut out = Snapshot::new();
    let mut allocated = 0;
    for _ in 0..6 {
        late.prepare().unwrap();
        machine.hold();
        thread::scope(|scope| {
            scope.spawn(|| other.collect(&small, &mut out).unwrap());
            machine.wait_until_held();
            let (allocations, grown) = sample(&mut late);
            machine.let_go();
            allocated += allocations;
            let said = &late.record().unwrap().anomalies;
            assert!(said.iter().any(|what| matches!(what, Anomaly::Late { .. })), "{said:?}");
            assert!(allocations == 0 || grown, "{allocations} {said:?}");
        });
    }
    assert!(allocated > 0);
}

/// A provider comes between `prepare` and `sample`, and another context sees it first.
#[test]
fn what_another_noticed_first() {
    let machine = Machine::new();
    let cache = Cached::builder(machine.clone()).max_age(Duration::ZERO);
    let cache = cache.costly_by(machine.clone()).build();
    for objects in [0..2, OBJECTS - 1..OBJECTS] {
        let mut one = context(&cache, objects, MeasurementOptions::new());
        let mut other = context(&cache, 0..1, MeasurementOptions::new());
        for round in 0..20 {
            let changes = round == 10;
            one.prepare().unwrap();
            other.prepare().unwrap();
            if changes {
                machine.change();
            }
            sample(&mut other);
            let (allocations, grown) = sample(&mut one);
            assert!(allocations == 0 || grown, "{round}: {allocations}");
            // The rooms that there are suffice in between.
            assert!(changes || round < 5 || !grown, "{round}: {allocations}");
            assert!(!changes || allocations > 0);
            other.decode(&mut Readings::new()).unwrap();
            one.decode(&mut Readings::new()).unwrap();
        }
    }
}

/// Requests are kept for their memory, which one of another kind has no use for.
#[test]
fn whatever_is_asked_for_in_turns() {
    let mut cached = cache(&Machine::new());
    let foreign = |name: &str| ObjectQuery::Foreign(name.repeat(20));
    let list = |count| (0..count).map(|number| TitleIndex(700 + 2 * number)).collect();
    let queries = [
        foreign("A"),
        foreign("B"),
        ObjectQuery::Indexes(list(9)),
        ObjectQuery::Global,
        foreign("B"),
        ObjectQuery::Indexes(list(3)),
        ObjectQuery::Costly,
    ];
    let requests = queries.map(|query| Ask::new(query).max_age(Duration::ZERO));
    let mut snapshot = Snapshot::new();
    for round in 0..10 {
        for request in requests.iter().flat_map(|request| [request; 3]) {
            let (done, taken) = count(|| cached.collect(request, &mut snapshot));
            done.unwrap();
            let what = format!("{round} {}: {}", request.objects, taken.count);
            assert!(taken.count == 0 || snapshot.has_grown(), "{what}");
        }
    }
}
