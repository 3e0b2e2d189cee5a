//! Every question ends at its deadline, those inside a query too, and a question that timed out changes
//! nothing. A gated source hangs until its gate is opened; the patience is an hour, so that a call that
//! misses its deadline does not end.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::forwarding;
use perfhive_testkit::renumbered::{Renumbered, Thing, thing};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Longer than any test runs.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// A gate at which a call waits until it is let through; the text names the call that waits, or
/// `all`.
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

/// A source that lists only the wanted objects, and passes a gate with each call.
struct Gated(Renumbered, Gate);

impl Source for Gated {
    fn name(&self) -> &str {
        "gated:"
    }
    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.1.pass("collect");
        self.0.collect(ask, out)
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        self.1.pass(match &ask.objects {
            _ if ask.is_nothing() => "nothing",
            ObjectQuery::Indexes(_) => "objects",
            ObjectQuery::Costly => "costly",
            ObjectQuery::Global | ObjectQuery::Foreign(_) => "everything",
        });
        let whole = self.0.catalogue(ask)?;
        Ok(match ask.is_nothing() {
            true => {
                let mut known = Catalogue::clone(&whole);
                known.objects.clear();
                Arc::new(known)
            }
            false => whole,
        })
    }
    fn titles(
        &mut self,
        language: LanguageId,
        ask: &Ask,
    ) -> Result<Arc<TitleDatabase>, SourceError> {
        self.1.pass("titles");
        self.0.titles(language, ask)
    }
    fn providers(&mut self, _: &Ask) -> Result<Vec<ProviderStatus>, SourceError> {
        self.1.pass("providers");
        Ok(vec![ProviderStatus::new("gated")])
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

type Call = fn(&mut dyn Source, Option<Instant>) -> Result<(), SourceError>;

const CALLS: [Call; 6] = [
    |source, until| source.catalogue(&Ask::everything().until(until)).map(drop),
    |source, until| source.catalogue(&Ask::nothing().until(until)).map(drop),
    |source, until| source.catalogue(&Ask::objects(&[TitleIndex(10)]).until(until)).map(drop),
    |source, until| source.catalogue(&Ask::new(ObjectQuery::Costly).until(until)).map(drop),
    |source, until| source.titles(LanguageId::ENGLISH, &Ask::nothing().until(until)).map(drop),
    |source, until| {
        source.providers(&Ask::nothing().until(until)).map(|all| assert_eq!(all.len(), 1))
    },
];

#[test]
fn every_question_to_a_source_that_hangs_ends_at_its_deadline() {
    type Wrap = fn(Worker) -> Box<dyn Source>;
    let wraps: [Wrap; 2] = [|worker| Box::new(worker), |worker| Box::new(Cached::new(worker))];
    for wrap in wraps {
        for call in CALLS {
            let (_, gate, worker) = gated();
            let mut source = wrap(worker);
            gate.close("all");
            for _ in 0..2 {
                let now = Some(Instant::now());
                let error = call(&mut *source, now).unwrap_err();
                assert!(error.is_transient(), "{error}");
                source.catalogue(&Ask::nothing().until(now)).unwrap_err();
            }
            gate.close("");
            // The source may still work on the earlier question.
            while let Err(error) = call(&mut *source, None) {
                assert!(error.is_transient(), "{error}");
                std::thread::yield_now();
            }
        }
    }
}

/// A partial list of providers would look complete.
#[test]
fn a_late_list_of_providers_is_an_error() {
    for is_shared in [false, true] {
        let (_, gate, mut worker) = gated();
        worker.set_patience(Some(Duration::ZERO));
        gate.close("providers");
        let error = match is_shared {
            true => Cached::new(worker).providers(&Ask::nothing()).unwrap_err(),
            false => worker.providers(&Ask::nothing()).unwrap_err(),
        };
        assert_eq!(error.kind(), SourceErrorKind::Deadline);
        gate.close("");
    }
}

/// A changed catalogue gives the paths of a query other indexes. The query asks for it within its
/// deadline, or with the next sample.
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
            // The next sample resolves the paths, and has no value of another object.
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

#[test]
fn a_check_of_the_generation_that_hangs_costs_one_caller_its_deadline() {
    let (_source, gate, mut worker) = gated();
    let known = worker.catalogue(&Ask::nothing()).unwrap();
    gate.close("nothing");
    let late = Ask::nothing().until(Instant::now());
    assert_eq!(worker.catalogue(&late).unwrap(), known, "what is known needs no time");
    let soon = Ask::nothing().until(Instant::now() + Duration::from_millis(1));
    assert_eq!(worker.catalogue(&soon).unwrap_err().kind(), SourceErrorKind::Deadline);
    let error = worker.collect(&Ask::everything(), &mut Snapshot::new()).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Busy);
    gate.close("");
}

#[test]
fn cached_and_worker_forward_every_call_with_its_ask() {
    forwarding::source(|source| Box::new(source), |objects| objects);
    forwarding::source(|source| Box::new(Worker::new(source, None).unwrap()), |objects| objects);
    forwarding::source(|source| Box::new(Cached::new(source)), |objects| objects);
    forwarding::instance_reader(|source| Box::new(source));
    forwarding::instance_reader(|source| Box::new(Cached::new(source)));
}
