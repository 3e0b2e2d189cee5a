//! Deadlines hold for whatever is asked on the way, and nothing is learned by a wait that
//! was too short. What hangs here does so until it is let go, and who has patience has it
//! for an hour: what does not keep its deadline does not end.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::renumbered::{Renumbered, Thing, thing};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// What nobody waits for in a test.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Calls that wait until they are let through.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<&'static str>, Condvar)>);

impl Gate {
    fn close(&self, call: &'static str) {
        *self.0.0.lock().unwrap() = call;
        self.0.1.notify_all();
    }

    fn pass(&self, call: &'static str) {
        let closed = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(closed, |closed| *closed == call || *closed == "all").unwrap());
    }
}

/// A source that lists only what somebody wants, behind a gate.
struct Gated(Renumbered, Gate);

impl Source for Gated {
    fn name(&self) -> &str {
        "gated:"
    }
    fn collect(&mut self, request: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        self.1.pass("collect");
        self.0.collect(request, out)
    }
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.1.pass("everything");
        self.0.catalogue()
    }
    fn catalogue_for(&mut self, wanted: Wanted<'_>) -> Result<Arc<Catalogue>, SourceError> {
        match wanted {
            Wanted::Everything => self.catalogue(),
            Wanted::Objects(_) => {
                self.1.pass("objects");
                self.0.catalogue()
            }
            Wanted::Nothing => {
                self.1.pass("nothing");
                let whole = self.0.catalogue()?;
                Ok(Arc::new(Catalogue { objects: Vec::new(), ..Catalogue::clone(&whole) }))
            }
        }
    }
    fn list_costly(&mut self) -> Result<(), SourceError> {
        self.1.pass("costly");
        Ok(())
    }
    fn catalogue_generation(&mut self) -> u64 {
        self.1.pass("generation");
        self.0.catalogue_generation()
    }
    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        self.1.pass("titles");
        self.0.titles(language)
    }
    fn providers(&mut self) -> Result<Vec<ProviderStatus>, SourceError> {
        self.1.pass("providers");
        Ok(vec![ProviderStatus::new("gated")])
    }
    fn rewind(&mut self) -> Result<(), SourceError> {
        self.1.pass("rewind");
        Ok(())
    }
}

fn things(custom: u32, other: u32) -> [Thing; 2] {
    let items = (12, "Items");
    [
        thing((custom, "Custom"), items, &[("a", 42)]),
        thing((other, "Other"), items, &[("a", 1_000_000)]),
    ]
}

fn gated() -> (Renumbered, Gate, Worker) {
    let (source, gate) = (Renumbered::gauges(&things(10, 20)), Gate::default());
    let worker = Worker::new(Gated(source.clone(), gate.clone()), Some(FOR_EVER)).unwrap();
    (source, gate, worker)
}

type Call = fn(&mut dyn Source) -> Result<(), SourceError>;

const CALLS: [Call; 7] = [
    |source| source.catalogue().map(drop),
    |source| source.catalogue_for(Wanted::Nothing).map(drop),
    |source| source.catalogue_for(Wanted::Objects(&[TitleIndex(10)])).map(drop),
    |source| source.list_costly(),
    |source| source.titles(LanguageId::ENGLISH).map(drop),
    |source| source.providers().map(|all| assert_eq!(all.len(), 1)),
    |source| source.rewind(),
];

#[test]
fn whatever_a_source_is_asked_ends_when_nobody_waits_any_more() {
    type Wrap = fn(Worker) -> Box<dyn Source>;
    let wraps: [Wrap; 2] = [|worker| Box::new(worker), |worker| Box::new(Cached::new(worker))];
    for wrap in wraps {
        for call in CALLS {
            let (_, gate, worker) = gated();
            let mut source = wrap(worker);
            gate.close("all");
            for _ in 0..2 {
                let _until = Until::enter(Some(Instant::now()));
                let error = call(&mut *source).unwrap_err();
                assert!(error.is_transient(), "{error}");
                source.catalogue_generation();
            }
            gate.close("");
            // Once what is under way has come back.
            while let Err(error) = call(&mut *source) {
                assert!(error.is_transient(), "{error}");
                std::thread::yield_now();
            }
        }
    }
}

/// A list of who there is that lacks somebody would be taken for all.
#[test]
fn who_cannot_tell_of_providers_says_so() {
    for is_shared in [false, true] {
        let (_, gate, mut worker) = gated();
        worker.set_patience(Some(Duration::ZERO));
        gate.close("providers");
        let error = match is_shared {
            true => Cached::new(worker).providers().unwrap_err(),
            false => worker.providers().unwrap_err(),
        };
        assert_eq!(error.kind(), SourceErrorKind::Deadline);
        gate.close("");
    }
}

/// The paths of a query lead to others when its source's catalogue changes, which it has
/// to ask for; by the deadline or by the next sample.
#[test]
fn a_query_keeps_its_deadline_while_the_catalogue_changes() {
    for is_shared in [false, true] {
        for call in ["nothing", "titles", "objects"] {
            let (source, gate, worker) = gated();
            let mut query = match is_shared {
                true => {
                    Query::new(Cached::builder(worker).max_age(Duration::ZERO).build()).unwrap()
                }
                false => Query::new(worker).unwrap(),
            };
            query.add(r"\Custom(a)\Items").unwrap();
            query.collect().unwrap();
            gate.close(call);
            source.show(&things(20, 10));
            for _ in 0..2 {
                // Long enough to see that it changed.
                let soon = Instant::now() + Duration::from_millis(200);
                let error = query.collect_until(Some(soon)).unwrap_err();
                let QueryError::Source(error) = error else { panic!("{error}") };
                assert!(error.is_transient(), "{error}");
            }
            gate.close("");
            // What could not be found out is found out now, and nothing is another's.
            while let Err(error) = query.collect() {
                let QueryError::Source(error) = error else { panic!("{error}") };
                assert!(error.is_transient(), "{error}");
                std::thread::yield_now();
            }
            let value = query.readings()[0].value.as_ref().unwrap().to_string();
            assert_eq!(value, "42", "{call}, {is_shared}");
        }
    }
}

/// Each thread has its own, and what is entered within another is no longer than that.
#[test]
fn the_earlier_of_two_deadlines_counts() {
    let now = Instant::now();
    let [soon, late] = [1, 2].map(|hours| now + FOR_EVER * hours);
    let outer = Until::enter(Some(soon));
    for (inner, counts) in [(Some(late), soon), (None, soon), (Some(now), now)] {
        let _inner = Until::enter(inner);
        assert_eq!(Until::current(), Some(counts));
        assert_eq!(Until::is_over(), counts == now);
        assert_eq!(Until::or_earlier(Some(late)), Some(counts));
    }
    assert_eq!(Until::current(), Some(soon));
    assert_eq!(std::thread::spawn(Until::current).join().unwrap(), None);
    drop(outer);
    assert_eq!(Until::or_earlier(Some(late)), Some(late));
}

/// As on a busy machine, where the generation does not come at once: who collects then
/// waits for it as for his own answer.
#[test]
fn a_late_generation_makes_nobody_busy() {
    let (_source, gate, mut worker) = gated();
    worker.set_patience(Some(Duration::from_millis(1)));
    gate.close("generation");
    worker.catalogue_generation();
    assert!(worker.is_at_work());
    worker.set_patience(Some(FOR_EVER));
    let opened = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        gate.close("");
    });
    worker.collect(&Request::new(ObjectQuery::Global), &mut Snapshot::new()).unwrap();
    opened.join().unwrap();
}

/// One that hangs costs one caller his time, and not each.
#[test]
fn a_generation_that_hangs_is_waited_for_once() {
    let (_source, gate, mut worker) = gated();
    worker.set_patience(Some(Duration::from_millis(1)));
    gate.close("generation");
    worker.catalogue_generation();
    let request = Request::new(ObjectQuery::Global);
    worker.collect(&request, &mut Snapshot::new()).unwrap_err();
    worker.set_patience(Some(FOR_EVER));
    let error = worker.collect(&request, &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Busy);
    gate.close("");
}
