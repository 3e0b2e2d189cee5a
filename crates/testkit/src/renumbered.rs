//! A source in which a title index can pass from one object to another, and the tests that every
//! reader of it has to pass.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use crate::script::{Row, block, titles};
use perfhive_engine::{
    Ask, Catalogue, Cost, Frame, ObjectQuery, Snapshot, Source, SourceError, SourceErrorKind,
    TitleDatabase,
};
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An object with one counter or two.
#[derive(Clone, Debug)]
pub struct Thing {
    /// Title index and name of the object.
    pub object: (u32, &'static str),
    /// Title index and name of the counter.
    pub counter: (u32, &'static str),
    /// Title index and name of a second counter, which has the value 1 at first.
    pub second: Option<(u32, &'static str)>,
    /// The instances, each with its name and the value of its counter.
    pub rows: Vec<(&'static str, u64)>,
}

impl Thing {
    /// The same object with a second counter, which has the value 1 at first.
    #[must_use]
    pub fn with(mut self, counter: (u32, &'static str)) -> Self {
        self.second = Some(counter);
        self
    }

    fn counters(&self) -> impl Iterator<Item = (u32, &'static str)> + use<> {
        [self.counter].into_iter().chain(self.second)
    }
}

/// An object with one counter, and instances of these names and values.
#[must_use]
pub fn thing(
    object: (u32, &'static str),
    counter: (u32, &'static str),
    rows: &[(&'static str, u64)],
) -> Thing {
    Thing { object, counter, second: None, rows: rows.to_vec() }
}

/// A live source of [`Thing`]s. It answers with the objects that it is asked for by index, and any
/// other query with all objects. Clones are the same source.
#[derive(Clone)]
pub struct Renumbered(Arc<Mutex<World>>);

struct World {
    kind: CounterType,
    things: Vec<Thing>,
    /// The things that replace `things`, one list for each of the next collections, the last
    /// list first.
    next: Vec<Vec<Thing>>,
    generation: u64,
    collections: u64,
    silent: bool,
    everything: bool,
    after: Option<Vec<Thing>>,
    cost: Cost,
}

impl Renumbered {
    /// A source in which each counter shows its value as it is.
    #[must_use]
    pub fn gauges(things: &[Thing]) -> Self {
        Self::of(CounterType::PERF_COUNTER_LARGE_RAWCOUNT, things)
    }

    /// A source of counters that grow by one with each collection; on its clocks, collections are a
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
            everything: false,
            after: None,
            cost: Cost::Global,
        })))
    }

    /// The same source with costly objects.
    #[must_use]
    pub fn costly(self) -> Self {
        self.world().cost = Cost::Costly;
        self
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the source show other things, with another generation.
    pub fn show(&self, things: &[Thing]) {
        let mut world = self.world();
        world.things = things.to_vec();
        world.generation += 1;
    }

    /// Makes the source show other things just before each of the next collections: those of
    /// `next`, one after the other.
    pub fn show_while_collecting(&self, next: &[&[Thing]]) {
        self.world().next = next.iter().rev().map(|things| things.to_vec()).collect();
    }

    /// Makes the source answer the next collection with all its things, whatever is asked for, and
    /// show other things just after that.
    pub fn show_after_collecting(&self, things: &[Thing]) {
        let mut world = self.world();
        world.everything = true;
        world.after = Some(things.to_vec());
    }

    /// Sets whether the source answers questions for its catalogue with an error.
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
        let spec = |(index, _)| CounterSpec::new(TitleIndex(index), self.kind);
        let specs: Vec<Vec<_>> =
            self.things.iter().map(|thing| thing.counters().map(spec).collect()).collect();
        let values: Vec<Vec<Vec<u64>>> = (self.things.iter())
            .map(|thing| {
                let second = thing.second.map(|_| 1 + growth);
                let values = |value| [value + growth].into_iter().chain(second).collect();
                thing.rows.iter().map(|(_, value)| values(*value)).collect()
            })
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
        let everything = std::mem::take(&mut world.everything);
        let wanted = if everything { &ObjectQuery::Global } else { &request.objects };
        let frame = Frame::new(world.block(wanted), world.collections);
        if let Some(after) = world.after.take() {
            world.things = after;
            world.generation += 1;
        }
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
        let mut catalogue = Catalogue::of_snapshot(&snapshot).with_generation(generation);
        catalogue.objects.iter_mut().for_each(|object| object.cost = world.cost);
        Ok(Arc::new(catalogue))
    }

    fn titles(&mut self, language: LanguageId, _: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
        let world = self.world();
        let of = |thing: &Thing| [thing.object].into_iter().chain(thing.counters());
        let names = world.things.iter().flat_map(of);
        let list = titles(&names.collect::<Vec<_>>());
        Ok(Arc::new(TitleDatabase::new(language, &list, &titles(&[]))))
    }
}

/// Title index and name of the counter of the tests.
const ITEMS: (u32, &str) = (12, "Items");

/// The objects `Custom` and `Other` under these title indexes. Their counter `Items` of instance
/// `a` is 42 in `Custom` and 666 in `Other`.
#[must_use]
pub fn two(custom: u32, other: u32) -> [Thing; 2] {
    [thing((custom, "Custom"), ITEMS, &[("a", 42)]), thing((other, "Other"), ITEMS, &[("a", 666)])]
}

/// Lists without `Custom`; in each of them the index 10, which `Custom` had, belongs to another
/// object.
#[must_use]
pub fn gone() -> [[Thing; 1]; 4] {
    [
        [thing((10, "Other"), (14, "Errors"), &[("a", 666)])],
        [thing((10, "Other"), ITEMS, &[("a", 666)])],
        [thing((10, "Other"), (12, "Errors"), &[("a", 666)])],
        [thing((10, ""), ITEMS, &[("a", 666)])],
    ]
}

/// A reader of counter `Items` of instance `a` of `Custom`: each call takes a sample, and
/// returns the value or the reason why there is none.
pub type ItemsReader = Box<dyn FnMut() -> String>;

/// What a reader does when an index changes while it takes a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuringSample {
    /// The reader takes the sample again.
    Repeats,
    /// The reader has no value this time.
    Skips,
}

/// Tests that a reader finds its object and counter again by name when title indexes change.
///
/// # Panics
/// If the reader does not.
pub fn reader_follows_names(during: DuringSample, open: impl Fn(Renumbered) -> ItemsReader) {
    let is_number = |value: &str| value.parse::<f64>().is_ok();
    let gauge = || {
        let source = Renumbered::gauges(&two(10, 20));
        let mut read = open(source.clone());
        assert_eq!(read(), "42");
        (source, read)
    };

    // Indexes that are exchanged, or new.
    let (source, mut read) = gauge();
    for things in [two(20, 10), two(20, 10), two(10, 20), two(10, 30), two(30, 10), two(40, 50)] {
        source.show(&things);
        assert_eq!([read(), read()], ["42", "42"], "{things:?}");
    }

    // An object that is gone, and its index belongs to another; then it is back.
    for gone in gone() {
        let (source, mut read) = gauge();
        source.show(&gone);
        assert_eq!([read(), read()], ["object-missing", "object-missing"], "{gone:?}");
        source.show(&two(30, 10));
        assert_eq!(read(), "42", "{gone:?}");
    }

    // An object that is away, and comes back under its index.
    let (source, mut read) = gauge();
    source.show(&two(10, 20)[1..]);
    assert_eq!([read(), read()], ["object-missing", "object-missing"]);
    source.show(&two(10, 20));
    assert_eq!(read(), "42");

    // A counter that is gone, and its index belongs to another; then it has a new one.
    source.show(&[thing((10, "Custom"), (12, "Errors"), &[("a", 666)])]);
    assert!(!is_number(&read()) && !is_number(&read()));
    source.show(&[thing((10, "Custom"), (14, "Items"), &[("a", 43)])]);
    assert_eq!(read(), "43");

    // Two counters of one object that exchange their indexes.
    source.show(&[thing((10, "Custom"), (12, "Items"), &[("a", 43)]).with((14, "Errors"))]);
    assert_eq!(read(), "43");
    source.show(&[thing((10, "Custom"), (14, "Items"), &[("a", 43)]).with((12, "Errors"))]);
    assert_eq!([read(), read()], ["43", "43"]);

    // A rate needs two samples of the same object.
    let source = Renumbered::rates(&two(10, 20));
    let mut read = open(source.clone());
    let mut read_to_rate = || (0..4).map(|_| read()).find(|value| is_number(value));
    for things in [two(10, 20), two(20, 10), two(10, 20), two(20, 30), two(30, 20)] {
        source.show(&things);
        assert_eq!(read_to_rate().as_deref(), Some("1"), "{things:?}");
    }

    // Changes while a sample is taken: once, and with every attempt.
    let (source, mut read) = gauge();
    let (one, other) = (two(10, 20), two(20, 10));
    for things in [&other, &one] {
        source.show_while_collecting(&[things]);
        match (during, read().as_str()) {
            (DuringSample::Repeats, value) => assert_eq!(value, "42"),
            (DuringSample::Skips, value) => assert!(!is_number(value), "{value}"),
        }
        assert_eq!(read(), "42");
    }
    // The answer has another object under the new index.
    source.show_after_collecting(&other);
    let value = read();
    assert!(value == "42" || during == DuringSample::Skips && !is_number(&value), "{value}");
    assert_eq!(read(), "42");
    source.show_while_collecting(&[&one, &other, &one, &other]);
    assert!(!is_number(&read()));
    source.show_while_collecting(&[]);
    assert_eq!(read(), "42");

    // A source that cannot tell what its indexes mean.
    source.show(&two(40, 10));
    source.be_silent(true);
    assert!(!is_number(&read()) && !is_number(&read()));
    source.be_silent(false);
    assert_eq!(read(), "42");
}

/// Tests that a reader of one of two objects with the same name never gets values of the other
/// object. `open` makes a reader of each object, in the order of the objects' indexes.
///
/// # Panics
/// If a reader gets values of the other object.
pub fn reader_keeps_to_its_namesake(open: impl Fn(Renumbered) -> [ItemsReader; 2]) {
    let twin = |index, value| thing((index, "Dice"), ITEMS, &[("a", value)]);
    let cards = |index| thing((index, "Cards"), ITEMS, &[("a", 3)]);
    let source = Renumbered::gauges(&[twin(10, 1), twin(20, 2)]);
    let [mut first, mut second] = open(source.clone());
    let mut both = || [first(), second()];
    assert_eq!(both(), ["1", "2"]);
    // The second has another index, and the first keeps its own.
    source.show(&[twin(10, 1), twin(30, 2)]);
    assert_eq!(both(), ["1", "2"]);
    // The second is gone, and its index belongs to another object.
    source.show(&[twin(10, 1), cards(30)]);
    assert_eq!(both(), ["1", "object-missing"]);
    source.show(&[twin(10, 1), twin(30, 2)]);
    assert_eq!(both(), ["1", "2"]);
    // Both have new indexes: which is which cannot be told.
    source.show(&[cards(10), twin(40, 1), twin(50, 2)]);
    assert_eq!(both()[0], "object-missing");
}
