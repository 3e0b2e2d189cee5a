//! A worker's requests take no memory once warm. A binary of its own, with one
//! test, since the allocations of both threads are counted.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{
    Catalogue, Frame, ObjectQuery, Request, Snapshot, Source, SourceError, TitleDatabase, Worker,
};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::{alloc, script};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// Answers with the same frame again and again, and allocates nothing.
struct Still(Arc<Frame>);

impl Source for Still {
    fn name(&self) -> &str {
        "still:"
    }
    fn collect(&mut self, _: &Request, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        out.push_frame(Arc::clone(&self.0), "still");
        Ok(())
    }
    fn titles(&mut self, language: LanguageId) -> Result<Arc<TitleDatabase>, SourceError> {
        let empty = script::titles(&[]);
        Ok(Arc::new(TitleDatabase::new(language, &empty, &empty)))
    }
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::default())
    }
}

#[test]
fn a_warm_worker_allocates_nothing() {
    let block = script::block("BOX", 1, &[(TitleIndex(230), &[], &[("one", None, &[])])]);
    let still = Still(Arc::new(Frame::new(block, 1).unwrap()));
    let mut worker = Worker::new(still, Some(Duration::from_secs(60))).unwrap();
    let mut request = Request::new(ObjectQuery::Indexes(vec![TitleIndex(230), TitleIndex(2)]));
    let mut snapshot = Snapshot::new();
    for _ in 0..10 {
        worker.collect(&request, &mut snapshot).unwrap();
        worker.catalogue_generation();
    }
    let mut other = Request::new(ObjectQuery::one(TitleIndex(230)));
    worker.collect(&other, &mut snapshot).unwrap();
    let before = alloc::process();
    for _ in 0..100 {
        for request in [&mut request, &mut other] {
            request.deadline = Some(Instant::now() + Duration::from_secs(60));
            worker.collect(request, &mut snapshot).unwrap();
            worker.catalogue_generation();
        }
    }
    assert_eq!(alloc::process().since(before).count, 0);
    assert_eq!(snapshot.objects().count(), 1);

    // Another request is another one, whatever was kept of the last.
    request.objects = ObjectQuery::Global;
    worker.collect(&request, &mut snapshot).unwrap();
}
