//! Costly objects, collected by a second source, whose title indexes pass to other objects meanwhile.

use crate::source::Gate;
use perfhive_engine::measure::{CounterSource, DataSources, MeasurementContext, Readings};
use perfhive_engine::{
    Ask, Cached, Catalogue, Query, Snapshot, Source, SourceError, TitleDatabase,
};
use perfhive_format::{LanguageId, TitleIndex};
use perfhive_testkit::renumbered::{Renumbered, Thing, thing};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ITEMS: (u32, &str) = (12, "Items");

fn two(custom: u32, other: u32) -> [Thing; 2] {
    [thing((custom, "Custom"), ITEMS, &[("a", 42)]), thing((other, "Other"), ITEMS, &[("a", 666)])]
}

fn machine() -> Renumbered {
    Renumbered::gauges(&two(10, 20)).costly()
}

fn cached(fast: &Renumbered, slow: &Renumbered) -> Cached<Renumbered> {
    Cached::builder(fast.clone()).costly_by(slow.clone()).max_age(Duration::ZERO).build()
}

fn query(source: impl Source + 'static) -> Query {
    let mut query = Query::new(source).unwrap();
    query.add(r"\Custom(a)\Items").unwrap();
    query
}

fn collect(query: &mut Query) -> Vec<String> {
    let shown = |query: &Query| {
        let values = query.readings().iter().map(|reading| match &reading.value {
            Ok(value) => value.to_string(),
            Err(why) => why.code().to_string(),
        });
        values.collect()
    };
    match query.collect() {
        Ok(()) => shown(query),
        Err(error) => vec![error.to_string()],
    }
}

/// The fast source has none of the wanted objects, so no collection of its own tells of the change.
#[test]
fn a_consumer_of_costly_objects_alone_notices_a_changed_catalogue() {
    let machine = machine();
    let cache = cached(&machine, &machine);
    let mut query = query(cache.clone());
    let mut sources = DataSources::new();
    sources.add(CounterSource::new("test", cache)).unwrap();
    let name = "test/Custom/Items#a".parse().unwrap();
    let mut context = MeasurementContext::new(&mut sources, &[name]).unwrap();
    let mut measure = || {
        let mut readings = Readings::new();
        context.prepare().unwrap();
        context.sample().unwrap();
        context.decode(&mut readings).unwrap();
        let value = readings.iter().next().unwrap().value.clone();
        value.map_or_else(|why| why.code().to_string(), |value| value.to_string())
    };
    for things in [two(10, 20), two(20, 10), two(20, 10), two(10, 30), two(30, 10)] {
        machine.show(&things);
        assert_eq!(collect(&mut query), ["42"], "{things:?}");
        for _ in 0..2 {
            let value = measure();
            assert!(value == "42" || value == "object-missing", "{value} {things:?}");
        }
        assert_eq!(measure(), "42");
    }
}

#[test]
fn a_change_during_a_costly_collection_repeats_it() {
    let machine = machine();
    let mut query = query(cached(&machine, &machine));
    assert_eq!(collect(&mut query), ["42"]);
    let (one, other) = (two(10, 20), two(20, 10));
    machine.show_while_collecting(&[&other]);
    assert_eq!(collect(&mut query), ["42"]);
    machine.show_while_collecting(&[&one, &other]);
    assert_eq!(collect(&mut query), ["42"]);
    // A change at each attempt ends in an error: the meaning of the data is unknown.
    let changes: Vec<&[Thing]> = (0..20).flat_map(|_| [&one[..], &other[..]]).collect();
    machine.show_while_collecting(&changes);
    let failed = collect(&mut query);
    assert!(failed[0].contains("change while it is collected"), "{failed:?}");
    machine.show_while_collecting(&[]);
    assert_eq!(collect(&mut query), ["42"]);
}

/// A source that holds its answers back while a gate is set.
struct KeptBack {
    inner: Renumbered,
    gate: Arc<Mutex<Option<Gate>>>,
}

impl Source for KeptBack {
    fn name(&self) -> &str {
        "kept-back"
    }
    fn collect(&mut self, request: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
        self.inner.collect(request, out)?;
        let gate = self.gate.lock().unwrap().take();
        gate.into_iter().for_each(|gate| gate.pass());
        Ok(())
    }
    fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
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

/// The fast source notices the change during the costly collection; the old indexes' data is not kept.
#[test]
fn data_collected_before_a_change_is_not_kept() {
    let machine = machine();
    let gate: Arc<Mutex<Option<Gate>>> = Arc::default();
    let source = |gate: &Arc<_>| KeptBack { inner: machine.clone(), gate: Arc::clone(gate) };
    let cache = Cached::builder(source(&Arc::default())).costly_by(source(&gate)).build();
    let level = |consumer: &mut Cached<KeptBack>, index: u32| {
        let request = Ask::objects(&[TitleIndex(index)]).max_age(Duration::MAX);
        let mut out = Snapshot::new();
        consumer.collect(&request, &mut out).unwrap();
        let object = out.object(TitleIndex(index)).unwrap().view();
        let counter = object.counters().next().unwrap();
        object.instances().next().unwrap().counter_block().value(&counter).unwrap()
    };
    let mut reader = cache.clone();
    assert_eq!(level(&mut reader, 10), 42);
    let held = Gate::default();
    *gate.lock().unwrap() = Some(held.clone());
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || level(&mut reader, 10));
        held.wait_until_entered();
        machine.show(&two(20, 10));
        // An object that exists nowhere is asked of the fast source, which notices the change.
        cache.clone().collect(&Ask::objects(&[TitleIndex(1)]), &mut Snapshot::new()).unwrap();
        held.open();
        assert_eq!(reader.join().unwrap(), 666);
    });
    let before = cache.statistics().collections;
    assert_eq!(level(&mut cache.clone(), 10), 666);
    assert_eq!(cache.statistics().collections, before, "it is kept");
}

/// The sources notice a change one after the other. Until both did, an index has two meanings and no
/// value.
#[test]
fn an_index_with_different_names_in_both_sources_has_no_value() {
    for fast_first in [false, true] {
        let (fast, slow) = (machine(), machine());
        let mut query = query(cached(&fast, &slow));
        assert_eq!(collect(&mut query), ["42"]);
        let (first, second) = if fast_first { (&fast, &slow) } else { (&slow, &fast) };
        first.show(&two(20, 10));
        let values = collect(&mut query);
        assert!(values[0].contains("change while it is collected"), "{fast_first} {values:?}");
        second.show(&two(20, 10));
        assert_eq!(collect(&mut query), ["42"], "{fast_first}");
        // Changes of other indexes do not count.
        let more = |things: [Thing; 2]| {
            let third = [thing((40, "Third"), ITEMS, &[("a", 3)])];
            things.into_iter().chain(third).collect::<Vec<_>>()
        };
        first.show(&more(two(20, 10)));
        assert_eq!(collect(&mut query), ["42"], "{fast_first}");
    }
}
