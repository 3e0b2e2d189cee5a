//! Random interleavings over a source that records when each of its answers was begun, and failures
//! around the source.

use crate::ask;
use crate::source::{Gate, Numbered, request};
use perfhive_engine::{
    Ask, Cached, Catalogue, CatalogueObject, Cost, Fault, FaultKind, Frame, ObjectQuery, Snapshot,
    Source, SourceError, SourceErrorKind, TitleDatabase,
};
use perfhive_format::{BlockHead, BlockWriter, LanguageId, ObjectSpec, ObjectTemplate, TitleIndex};
use perfhive_recording::ReplaySource;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A source that stamps each answer with a number and records the start of each.
#[derive(Clone, Default)]
struct Stamped {
    begun: Arc<Mutex<Vec<Instant>>>,
    pause: Duration,
}

/// Objects with this index or a higher one are costly.
const COSTLY: u32 = 100;

impl Source for Stamped {
    fn name(&self) -> &str {
        "stamped"
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let number = {
            let mut begun = self.begun.lock().unwrap();
            begun.push(Instant::now());
            begun.len() as u64
        };
        std::thread::sleep(self.pause);
        if request.until.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(SourceError::new(SourceErrorKind::Deadline, "stamped", "too late"));
        }
        if number % 17 == 0 {
            return Err(SourceError::new(SourceErrorKind::Unavailable, "stamped", "now and then"));
        }
        let ObjectQuery::Indexes(list) = &request.objects else { panic!("{request:?}") };
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        for object in list {
            let template = ObjectTemplate::new(&ObjectSpec::new(*object), &[]).unwrap();
            writer.object(&template).unwrap().values(&[]).unwrap().finish().unwrap();
        }
        out.push_frame(Arc::new(Frame::new(writer.finish().to_vec(), number).unwrap()), "stamped");
        Ok(())
    }

    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let object = |name: u32| {
            let mut object = CatalogueObject::new(TitleIndex(name), Vec::new());
            object.cost = if name < COSTLY { Cost::Global } else { Cost::Costly };
            object
        };
        let objects = [1, 2, 3, 100, 101].map(object).to_vec();
        Ok(Arc::new(Catalogue::new("", Vec::new(), objects)))
    }

    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "stamped", "has no titles"))
    }
}

/// One request of a consumer: objects, limit in ms, deadline in ms, and how long
/// to pause before it, in µs.
type Step = (Vec<u32>, u64, Option<u64>, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let objects = prop::collection::vec(prop::sample::select(&[1u32, 2, 3, 100, 101][..]), 1..4);
    let limit = prop::sample::select(&[0u64, 1, 3, 10, 1000][..]);
    let deadline = prop_oneof![2 => Just(None), 1 => (0u64..6).prop_map(Some)];
    let pause = prop::sample::select(&[0u64, 0, 50, 500, 2500][..]);
    prop::collection::vec((objects, limit, deadline, pause), 1..25)
}

/// Runs the steps of one consumer, and checks its answers against the source's record.
fn go(mut consumer: Cached<Stamped>, steps: &[Step], begun: &Mutex<Vec<Instant>>) {
    let mut seen: HashMap<u32, u64> = HashMap::new();
    let mut out = Snapshot::new();
    for (objects, limit, deadline, pause) in steps {
        std::thread::sleep(Duration::from_micros(*pause));
        let limit = Duration::from_millis(*limit);
        let asked = Instant::now();
        let mut wanted = request(objects).max_age(limit);
        wanted.until = deadline.map(|ms| asked + Duration::from_millis(ms));
        match consumer.collect(&wanted, &mut out) {
            Ok(()) => {}
            Err(error) if error.kind() == SourceErrorKind::Deadline => {
                assert!(Instant::now() >= wanted.until.expect("had no deadline"));
                continue;
            }
            Err(error) => {
                assert_eq!(error.kind(), SourceErrorKind::Unavailable, "{error}");
                continue;
            }
        }
        let had: Vec<u32> = out.objects().map(|o| o.view().name_index().0).collect();
        for object in out.objects() {
            let (name, number) = (object.view().name_index().0, object.generation());
            assert!(objects.contains(&name), "{name} was not asked for");
            let before = seen.insert(name, number);
            assert!(before != Some(number), "object {name}: answer {number} twice");
            let begun = begun.lock().unwrap()[number as usize - 1];
            let oldest = if limit.is_zero() { asked } else { asked.checked_sub(limit).unwrap() };
            // The cache reads its clock just before the source does.
            assert!(begun >= oldest, "{:?} too old for {limit:?}", oldest - begun);
        }
        // Each missing object has its fault.
        let complete = objects.iter().all(|object| had.contains(object));
        assert!(complete || !out.faults().is_empty(), "{objects:?}: only {had:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn ages_and_numbers_hold_under_random_interleavings(
        consumers in prop::collection::vec(steps(), 2..6), two_lanes in any::<bool>(),
        pause in prop::sample::select(&[0u64, 100, 1500][..]),
    ) {
        let source = Stamped { pause: Duration::from_micros(pause), ..Stamped::default() };
        let mut builder = Cached::builder(source.clone());
        if two_lanes {
            builder = builder.costly_by(Stamped { pause: source.pause * 3, ..source.clone() });
        }
        let cache = builder.build();
        std::thread::scope(|scope| {
            for steps in &consumers {
                let (consumer, begun) = (cache.clone(), &source.begun);
                scope.spawn(move || go(consumer, steps, begun));
            }
        });
        prop_assert_eq!(cache.statistics().collections, source.begun.lock().unwrap().len() as u64);
    }
}

/// A source that holds its catalogue back until it is released.
struct Held {
    inner: Numbered,
    hold: Arc<Mutex<()>>,
    asked: Arc<AtomicU64>,
}

impl Source for Held {
    fn name(&self) -> &str {
        "held"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.inner.collect(request, out)
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        if self.hold.try_lock().is_err() {
            self.asked.fetch_add(1, Ordering::SeqCst);
            drop(self.hold.lock().unwrap());
        }
        self.inner.catalogue(&Ask::everything())
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.inner.titles(language, ask)
    }
}

/// A source that has to search for its objects, and counts the searches; only a request for everything is
/// to cause one.
#[derive(Clone)]
struct Reluctant {
    inner: Numbered,
    whole: Arc<AtomicU64>,
}

impl Source for Reluctant {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.inner.collect(request, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        if ask.objects == ObjectQuery::Global {
            self.whole.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.catalogue(ask)
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.inner.titles(language, ask)
    }
}

#[test]
fn a_request_for_some_objects_causes_no_search_for_all() {
    let whole = Arc::new(AtomicU64::new(0));
    let inner = Numbered::new().catalogued(&[1], &[740]);
    let source = || Reluctant { inner: inner.clone(), whole: Arc::clone(&whole) };
    let mut cache = Cached::builder(source()).costly_by(source()).build();
    assert_eq!(ask(&mut cache, &request(&[1, 740])).len(), 2);
    for wanted in [Ask::nothing(), Ask::objects(&[TitleIndex(1)])] {
        assert_eq!(cache.catalogue(&wanted).unwrap().objects.len(), 2);
    }
    assert_eq!(whole.load(Ordering::SeqCst), 0);
    // A request for everything searches once.
    for _ in 0..3 {
        assert_eq!(cache.catalogue(&Ask::everything()).unwrap().objects.len(), 2);
    }
    assert_eq!(whole.load(Ordering::SeqCst), 1);
}

#[test]
fn a_deadline_holds_while_another_request_reads_the_costs() {
    let hold = Arc::new(Mutex::new(()));
    let asked = Arc::new(AtomicU64::new(0));
    let held = || Held {
        inner: Numbered::new().catalogued(&[1], &[740]),
        hold: Arc::clone(&hold),
        asked: Arc::clone(&asked),
    };
    let cache = Cached::builder(held()).costly_by(held()).build();
    let guard = hold.lock().unwrap();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..3)
            .map(|_| {
                let mut consumer = cache.clone();
                scope.spawn(move || ask(&mut consumer, &request(&[1])))
            })
            .collect();
        while asked.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        let (sent, late) = std::sync::mpsc::channel();
        let mut consumer = cache.clone();
        scope.spawn(move || {
            let soon = request(&[740]).until(Instant::now() + Duration::from_millis(30));
            let error = consumer.collect(&soon, &mut Snapshot::new()).err();
            sent.send(error.map(|error| error.kind())).unwrap();
        });
        let answer = late.recv_timeout(Duration::from_secs(60));
        drop(guard);
        assert_eq!(answer, Ok(Some(SourceErrorKind::Deadline)));
        for other in others {
            assert_eq!(other.join().unwrap().len(), 1);
        }
    });
    // The catalogue was read once for all of them.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn costly_objects_in_an_answer_of_the_fast_source_are_not_kept() {
    let fast = Numbered::new().catalogued(&[1], &[740]).brings(1, 740);
    let slow = Numbered::new();
    let cache = Cached::builder(fast.clone()).costly_by(slow.clone()).build();
    ask(&mut cache.clone(), &request(&[1]));
    // Two sources of one object could overtake each other, and its data would go back in time.
    ask(&mut cache.clone(), &request(&[740]));
    assert_eq!((fast.asked(), slow.asked()), (vec![vec![1]], vec![vec![740]]));
}

/// A source that never answers a request with a deadline in time: it returns an error once the
/// deadline has passed.
#[derive(Clone, Default)]
struct LateForSome(Arc<AtomicU64>);

impl Source for LateForSome {
    fn name(&self) -> &str {
        "late"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(deadline) = request.until {
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
            return Err(SourceError::new(SourceErrorKind::Deadline, "late", "too late"));
        }
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        out.push_frame(Arc::new(Frame::new(writer.finish().to_vec(), number).unwrap()), "late");
        Ok(())
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }
    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "late", "has no titles"))
    }
}

#[test]
fn a_request_with_time_left_outlives_the_deadline_of_the_leading_request() {
    let cache = Cached::builder(LateForSome::default()).max_age(Duration::ZERO).build();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..4u32 {
            let (mut hasty, stop) = (cache.clone(), &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let soon = Instant::now() + Duration::from_micros(300);
                    let result =
                        hasty.collect(&request(&[number]).until(soon), &mut Snapshot::new());
                    // Or the request with time left served it.
                    assert!(result.is_ok() || Instant::now() >= soon);
                }
            });
        }
        let mut patient = cache.clone();
        let results: Vec<_> =
            (0..100).map(|_| patient.collect(&request(&[1]), &mut Snapshot::new())).collect();
        stop.store(true, Ordering::Relaxed);
        let failed = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(failed, 0, "{:?}", results.iter().find(|result| result.is_err()));
    });
}

/// Before a costly collection the fast source may be asked for the meaning of the indexes, with the
/// deadline of the leading request.
#[test]
fn a_request_with_time_left_outlives_another_s_deadline_while_titles_are_read() {
    let fast = Numbered::new().catalogued(&[1], &[740]);
    let cache = Cached::builder(fast.clone()).costly_by(Numbered::new()).build();
    let consumer = || {
        let mut consumer = cache.clone();
        ask(&mut consumer, &request(&[1]).max_age(Duration::ZERO));
        consumer
    };
    let (mut hasty, mut patient) = (consumer(), consumer());
    let gate = fast.gate();
    std::thread::scope(|scope| {
        scope.spawn(|| ask(&mut cache.clone(), &request(&[1]).max_age(Duration::ZERO)));
        gate.wait_until_entered();
        let soon = Instant::now() + Duration::from_millis(200);
        let hasty = scope.spawn(move || {
            let result = hasty.collect(&request(&[740]).until(soon), &mut Snapshot::new());
            result.unwrap_err().kind()
        });
        // Most probably behind that request.
        std::thread::sleep(Duration::from_millis(50));
        let patient =
            scope.spawn(move || patient.collect(&request(&[740]), &mut Snapshot::new()).err());
        assert_eq!(hasty.join().unwrap(), SourceErrorKind::Deadline);
        gate.open();
        assert_eq!(patient.join().unwrap().map(|error| error.to_string()), None);
    });
}

#[test]
fn after_a_panic_of_the_clock_the_cache_can_collect() {
    let calls = Arc::new(AtomicU64::new(0));
    let clock = {
        let calls = Arc::clone(&calls);
        move || {
            // The first reading is at the request, the second before the collection.
            assert_ne!(calls.fetch_add(1, Ordering::SeqCst), 1, "a clock's own trouble");
            Duration::from_millis(1)
        }
    };
    let cache = Cached::builder(Numbered::new()).clock(clock).build();
    let mut consumer = cache.clone();
    let attempt = std::panic::AssertUnwindSafe(|| ask(&mut consumer, &request(&[1])));
    assert!(std::panic::catch_unwind(attempt).is_err());
    let soon = request(&[1]).until(Instant::now() + Duration::from_secs(60));
    assert_eq!(ask(&mut cache.clone(), &soon), [(1, 1)]);
}

#[test]
fn titles_are_read_under_constant_collections() {
    let cache = Cached::builder(Numbered::new()).max_age(Duration::ZERO).build();
    let stop = AtomicBool::new(false);
    let turns = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..6u32 {
            let (mut consumer, stop) = (cache.clone(), &stop);
            scope.spawn(move || {
                let mut out = Snapshot::new();
                while !stop.load(Ordering::Relaxed) {
                    consumer.collect(&request(&[number]), &mut out).unwrap();
                }
            });
        }
        let (mut alone, turns, stop) = (cache.clone(), &turns, &stop);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // The source has no titles, and says so.
                assert!(alone.titles(LanguageId::ENGLISH, &Ask::nothing()).is_err());
                turns.fetch_add(1, Ordering::Relaxed);
            }
        });
        let begun = Instant::now();
        while turns.load(Ordering::Relaxed) < 200 && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(turns.into_inner() >= 200);
}

#[test]
fn rewinding_a_recording_drops_kept_data() {
    let sample =
        |second: i64| (second.to_string(), perfhive_testkit::script::block("host", second, &[]));
    let recording = ReplaySource::new("recording", [sample(1), sample(2), sample(3)]).unwrap();
    let mut cache = Cached::new(recording);
    let second_of = |consumer: &mut Cached<ReplaySource>| {
        let mut out = Snapshot::new();
        consumer.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
        out.frames()[0].clocks().perf_time / 3_579_545
    };
    assert_eq!((second_of(&mut cache), second_of(&mut cache)), (1, 2));
    assert_eq!(second_of(&mut cache.clone()), 2);
    cache.recording().unwrap().seek(None).unwrap();
    assert_eq!(second_of(&mut cache.clone()), 1);
    // The same sample, read again.
    assert_eq!((second_of(&mut cache), second_of(&mut cache)), (1, 2));
}

/// A source with object 1, on this machine and every other, and a fault in each answer.
#[derive(Clone, Default)]
struct Everywhere(Arc<AtomicU64>, Gate);

/// Generations from this number on belong to another machine.
const ELSEWHERE: u64 = 1000;

impl Source for Everywhere {
    fn name(&self) -> &str {
        "everywhere"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        self.1.pass();
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let elsewhere = matches!(request.objects, ObjectQuery::Foreign(_));
        let generation = if elsewhere { ELSEWHERE + number } else { number };
        let mut writer = BlockWriter::new();
        writer.start(&BlockHead::default());
        let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(1)), &[]).unwrap();
        writer.object(&template).unwrap().values(&[]).unwrap().finish().unwrap();
        let frame = Frame::new(writer.finish().to_vec(), generation).unwrap();
        out.push_frame(Arc::new(frame), "everywhere");
        out.push_fault(Fault::new(FaultKind::Partial, "everywhere", "something general"));
        Ok(())
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }
    fn titles(&mut self, _: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        Err(SourceError::new(SourceErrorKind::NotFound, "everywhere", "has no titles"))
    }
}

fn foreign(machine: &str) -> Ask {
    Ask::new(ObjectQuery::Foreign(machine.to_string()))
}

#[test]
fn a_foreign_machine_s_objects_do_not_serve_local_requests() {
    let source = Everywhere::default();
    source.1.open();
    let cache = Cached::new(source);
    let asked = |request: &Ask| ask(&mut cache.clone(), request);
    assert_eq!(asked(&foreign("a")), [(1, ELSEWHERE + 1)]);
    assert_eq!(asked(&request(&[1])), [(1, 2)]);
    assert_eq!(asked(&foreign("b")), [(1, ELSEWHERE + 3)]);
    assert_eq!(asked(&foreign("a")), [(1, ELSEWHERE + 1)]);
    assert_eq!(asked(&request(&[1])), [(1, 2)]);
}

#[test]
fn simultaneous_local_and_foreign_requests_get_their_own_machine() {
    let source = Everywhere::default();
    let cache = Cached::new(source.clone());
    std::thread::scope(|scope| {
        let mut busy = cache.clone();
        scope.spawn(move || ask(&mut busy, &request(&[5])));
        source.1.wait_until_entered();
        let spawn = |request: Ask| {
            let mut consumer = cache.clone();
            scope.spawn(move || ask(&mut consumer, &request.max_age(Duration::ZERO))[0].1)
        };
        let (here, there) = (spawn(request(&[1])), spawn(foreign("a")));
        // Time for both to wait; if one is late, the test shows nothing and passes.
        std::thread::sleep(Duration::from_millis(100));
        source.1.open();
        assert!(here.join().unwrap() < ELSEWHERE);
        assert!(there.join().unwrap() > ELSEWHERE);
    });
}

#[test]
fn a_general_fault_is_told_once_to_each_consumer() {
    let source = Everywhere::default();
    source.1.open();
    let cache = Cached::new(source);
    let mut out = Snapshot::new();
    for _ in 0..2 {
        cache.clone().collect(&request(&[1, 2]), &mut out).unwrap();
        let faults: Vec<_> = out.faults().iter().map(|fault| fault.message.to_string()).collect();
        assert_eq!(faults, ["something general"]);
    }
    assert_eq!(cache.statistics().collections, 1);
}
