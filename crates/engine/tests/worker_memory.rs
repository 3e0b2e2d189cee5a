//! A warm worker's requests allocate nothing. A binary with one test, since the allocations of all
//! threads are counted.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{
    Ask, Catalogue, Frame, ObjectQuery, Snapshot, Source, SourceError, TitleDatabase, Worker,
};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::{alloc, script};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// A source that answers with one frame, without an allocation.
struct Still(Arc<Frame>, Arc<Catalogue>);

impl Source for Still {
    fn name(&self) -> &str {
        "still:"
    }
    fn collect(&mut self, _: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        out.push_frame(Arc::clone(&self.0), "still");
        Ok(())
    }
    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let empty = script::titles(&[]);
        Ok(Arc::new(TitleDatabase::new(language, &empty, &empty)))
    }
    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.1))
    }
}

/// The least number of allocations of all threads in a round, over five rounds: the thread that
/// started the test may still be at its own lists in the first round.
fn least_of(mut round: impl FnMut()) -> u64 {
    let rounds = (0..5).map(|_| {
        let before = alloc::process();
        round();
        alloc::process().since(before).count
    });
    rounds.min().unwrap()
}

#[test]
fn a_warm_worker_allocates_nothing() {
    let block = script::block("BOX", 1, &[(TitleIndex(230), &[], &[("one", None, &[])])]);
    let still = Still(Arc::new(Frame::new(block, 1).unwrap()), Arc::default());
    let mut worker = Worker::new(still, Some(Duration::from_secs(60))).unwrap();
    let mut request = Ask::new(ObjectQuery::Indexes(vec![TitleIndex(230), TitleIndex(2)]));
    let mut snapshot = Snapshot::new();
    for _ in 0..10 {
        worker.collect(&request, &mut snapshot).unwrap();
        worker.catalogue(&Ask::nothing()).unwrap();
    }
    let mut other = Ask::new(ObjectQuery::one(TitleIndex(230)));
    worker.collect(&other, &mut snapshot).unwrap();
    let least = least_of(|| {
        for _ in 0..100 {
            for request in [&mut request, &mut other] {
                request.until = Some(Instant::now() + Duration::from_secs(60));
                worker.collect(request, &mut snapshot).unwrap();
                worker.catalogue(&Ask::nothing()).unwrap();
            }
        }
    });
    assert_eq!(least, 0);
    assert_eq!(snapshot.objects().count(), 1);

    // Requests in turn allocate nothing once each was made before.
    other.objects = ObjectQuery::Global;
    worker.collect(&other, &mut snapshot).unwrap();
    let least = least_of(|| {
        for _ in 0..100 {
            for request in [&request, &other] {
                worker.collect(request, &mut snapshot).unwrap();
                assert!(!snapshot.has_grown(), "{request:?}");
            }
        }
    });
    assert_eq!(least, 0);
}
