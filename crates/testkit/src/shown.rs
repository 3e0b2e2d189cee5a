//! A live source that answers with the block that a test shows.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use crate::script::titles;
use perfhive_engine::{
    Ask, Catalogue, CatalogueObject, Fault, Frame, FramePool, Snapshot, Source, SourceError,
    SourceErrorKind, TitleDatabase,
};
use perfhive_format::LanguageId;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A live source that answers every request with the shown block. Clones are the same source.
#[derive(Clone)]
pub struct ShownBlock(Arc<(Mutex<Shown>, Condvar)>);

struct Shown {
    block: Vec<u8>,
    faults: Vec<Fault>,
    error: Option<SourceError>,
    held: bool,
    pool: Option<FramePool>,
    taken: u64,
    deadlines: Vec<Option<Instant>>,
    catalogue: Arc<Catalogue>,
    titles: Arc<TitleDatabase>,
}

impl ShownBlock {
    /// A source with English names. Its catalogue has the objects of the first block.
    ///
    /// # Panics
    /// If the block is damaged.
    #[must_use]
    pub fn new(names: &[(u32, &str)], block: Vec<u8>) -> Self {
        let frame = Frame::new(block.clone(), 0).expect("the shown block is whole");
        let objects = (0..).map_while(|place| frame.object(place)).map(CatalogueObject::of);
        let names = TitleDatabase::new(LanguageId::ENGLISH, &titles(names), &titles(&[]));
        let shown = Shown {
            block,
            faults: Vec::new(),
            error: None,
            held: false,
            pool: None,
            taken: 0,
            deadlines: Vec::with_capacity(64),
            catalogue: Arc::new(Catalogue::new("", Vec::new(), objects.collect())),
            titles: Arc::new(names),
        };
        Self(Arc::new((Mutex::new(shown), Condvar::new())))
    }

    /// The same source with frames of a pool, so that a warm collection allocates nothing.
    #[must_use]
    pub fn pooled(self) -> Self {
        self.shown().pool = Some(FramePool::default());
        self
    }

    /// Makes a change to the catalogue.
    pub fn change_catalogue(&self, change: impl FnOnce(&mut Catalogue)) {
        change(Arc::make_mut(&mut self.shown().catalogue));
    }

    /// Makes the source show another block.
    pub fn show(&self, block: Vec<u8>) {
        self.shown().block = block;
    }

    /// Makes the source add these faults to each answer from now on, in place of those that were
    /// set before.
    pub fn add_faults(&self, faults: Vec<Fault>) {
        self.shown().faults = faults;
    }

    /// Makes each collection fail with this error from now on, or with `None` answer with the block
    /// again.
    pub fn fail(&self, error: Option<SourceError>) {
        self.shown().error = error;
    }

    /// Makes every collection wait from now on; with `false`, those that wait go on.
    pub fn hold(&self, held: bool) {
        self.shown().held = held;
        self.0.1.notify_all();
    }

    /// The deadlines of the first 64 collections.
    #[must_use]
    pub fn deadlines(&self) -> Vec<Option<Instant>> {
        self.shown().deadlines.clone()
    }

    /// The number of collections so far, including those that failed.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.shown().taken
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for ShownBlock {
    fn name(&self) -> &str {
        "shown"
    }

    fn collect(&mut self, ask: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        let waited = self.0.1.wait_while(self.shown(), |shown| shown.held);
        let mut shown = waited.unwrap_or_else(PoisonError::into_inner);
        let Shown { block, faults, error, pool, taken, deadlines, .. } = &mut *shown;
        out.clear();
        *taken += 1;
        if deadlines.len() < deadlines.capacity() {
            deadlines.push(ask.until);
        }
        if let Some(error) = error {
            return Err(error.clone());
        }
        let frame = match pool {
            Some(pool) => pool.fill(*taken, |buffer| buffer.clone_from(block)),
            None => Frame::new(block.clone(), *taken).map(Arc::new),
        };
        out.push_frame(frame.expect("the shown block is whole"), "shown");
        faults.iter().for_each(|fault| out.push_fault(fault.clone()));
        Ok(())
    }

    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        Ok(Arc::clone(&self.shown().catalogue))
    }

    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        match language {
            LanguageId::ENGLISH => Ok(Arc::clone(&self.shown().titles)),
            _ => Err(SourceError::new(SourceErrorKind::NotFound, "shown", "no such language")),
        }
    }
}
