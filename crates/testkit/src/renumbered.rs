//! A source whose title indexes mean something else from one moment to the next.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use crate::script::{Row, block, titles};
use perfhive_engine::{
    Ask, Catalogue, Cost, Frame, ObjectQuery, Snapshot, Source, SourceError, SourceErrorKind,
    TitleDatabase,
};
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One object of one counter.
#[derive(Clone, Debug)]
pub struct Thing {
    /// Title index and name of the object.
    pub object: (u32, &'static str),
    /// The same of the counter.
    pub counter: (u32, &'static str),
    /// The instances, and what each counts.
    pub rows: Vec<(&'static str, u64)>,
}

/// An object with its counter, and instances of these values.
#[must_use]
pub fn thing(
    object: (u32, &'static str),
    counter: (u32, &'static str),
    rows: &[(&'static str, u64)],
) -> Thing {
    Thing { object, counter, rows: rows.to_vec() }
}

/// A live source of [`Thing`]s. It answers with what it is asked for, by index;
/// clones show the same.
#[derive(Clone)]
pub struct Renumbered(Arc<Mutex<World>>);

struct World {
    kind: CounterType,
    things: Vec<Thing>,
    /// What there is in place of that after the next collections, one each.
    next: Vec<Vec<Thing>>,
    generation: u64,
    collections: u64,
    silent: bool,
    cost: Cost,
}

impl Renumbered {
    /// A source of gauges.
    #[must_use]
    pub fn gauges(things: &[Thing]) -> Self {
        Self::of(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, things)
    }

    /// A source of counters that grow by one with each collection, which are a
    /// second apart.
    #[must_use]
    pub fn rates(things: &[Thing]) -> Self {
        Self::of(CounterType::PERF_COUNTER_BULK_COUNT, things)
    }

    fn of(kind: CounterType, things: &[Thing]) -> Self {
        Self(Arc::new(Mutex::new(World {
            kind,
            things: things.to_vec(),
            next: Vec::new(),
            generation: 0,
            collections: 0,
            silent: false,
            cost: Cost::Global,
        })))
    }

    /// The same, of objects that are costly.
    #[must_use]
    pub fn costly(self) -> Self {
        self.world().cost = Cost::Costly;
        self
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows other things, with another generation.
    pub fn show(&self, things: &[Thing]) {
        let mut world = self.world();
        world.things = things.to_vec();
        world.generation += 1;
    }

    /// Shows other things just before each of the next collections.
    pub fn show_while_collecting(&self, next: &[&[Thing]]) {
        self.world().next = next.iter().rev().map(|things| things.to_vec()).collect();
    }

    /// Whether it can say what it has.
    pub fn be_silent(&self, silent: bool) {
        self.world().silent = silent;
    }
}

impl World {
    fn block(&self, wanted: &ObjectQuery) -> Vec<u8> {
        let growth = match self.kind.samples() {
            2 => self.collections,
            _ => 0,
        };
        let specs: Vec<_> = (self.things.iter())
            .map(|thing| [CounterSpec::new(TitleIndex(thing.counter.0), self.kind)])
            .collect();
        let values: Vec<Vec<[u64; 1]>> = (self.things.iter())
            .map(|thing| thing.rows.iter().map(|(_, value)| [value + growth]).collect())
            .collect();
        let rows: Vec<Vec<Row<'_>>> = (self.things.iter().zip(&values))
            .map(|(thing, values)| {
                let rows = thing.rows.iter().zip(values);
                rows.map(|((name, _), value)| (*name, None, &value[..])).collect()
            })
            .collect();
        let is_wanted = |index: TitleIndex| match wanted {
            ObjectQuery::Indexes(list) => list.contains(&index),
            _ => true,
        };
        let objects: Vec<(TitleIndex, &[CounterSpec], &[Row<'_>])> =
            (self.things.iter().zip(&specs).zip(&rows))
                .map(|((thing, specs), rows)| (TitleIndex(thing.object.0), &specs[..], &rows[..]))
                .filter(|(index, ..)| is_wanted(*index))
                .collect();
        block("HOST", self.collections as i64 + 1, &objects)
    }
}

impl Source for Renumbered {
    fn name(&self) -> &str {
        "renumbered:"
    }

    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        out.clear();
        let mut world = self.world();
        if let Some(next) = world.next.pop() {
            world.things = next;
            world.generation += 1;
        }
        world.collections += 1;
        let frame = Frame::new(world.block(&request.objects), world.collections);
        out.push_frame(Arc::new(frame.expect("the script's block is whole")), "renumbered:");
        Ok(())
    }

    fn catalogue(&mut self, _: &Ask) -> Result<Arc<Catalogue>, SourceError> {
        let world = self.world();
        if world.silent {
            return Err(SourceError::new(SourceErrorKind::Busy, "renumbered:", "is silent"));
        }
        let mut snapshot = Snapshot::new();
        let frame = Frame::new(world.block(&ObjectQuery::Global), 1);
        snapshot.push_frame(Arc::new(frame.expect("the script's block is whole")), "renumbered:");
        let generation = world.generation;
        let mut catalogue = Catalogue { generation, ..Catalogue::of_snapshot(&snapshot) };
        catalogue.objects.iter_mut().for_each(|object| object.cost = world.cost);
        Ok(Arc::new(catalogue))
    }

    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let world = self.world();
        let names = world.things.iter().flat_map(|thing| [thing.object, thing.counter]);
        let list = titles(&names.collect::<Vec<_>>());
        Ok(Arc::new(TitleDatabase::new(language, &list, &titles(&[]))))
    }
}
