//! The numbered edge cases of data blocks that concern the engine: the others
//! are in perfhive-format's tests of the same name; 7, 19 and 25 have theirs in
//! `query.rs` and `broker.rs` too.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::*;
use perfhive_format::{
    BlockHead, BlockWriter, CounterSpec, CounterType, InstanceHead, LanguageId, ObjectSpec,
    ObjectTemplate, TitleIndex,
};
use perfhive_recording::ReplaySource;
use perfhive_testkit::alloc::count;
use perfhive_testkit::script::{Row, ScriptProvider, block, titles};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: perfhive_testkit::alloc::Counting = perfhive_testkit::alloc::Counting;

fn rawcount(name: u32) -> CounterSpec {
    CounterSpec::new(TitleIndex(name), CounterType::PERF_COUNTER_RAWCOUNT)
}

#[test]
fn edge_case_13_instances_of_one_name_have_numbered_paths() {
    // Fifty instances of one name, and names made of syntax and of halves of
    // surrogate pairs.
    let names = ["svchost"; 50];
    let odd = [r"a\b", "a*b", "a(b", "a)b", "a/b", "a#7", "\u{fffd}"];
    let values: Vec<[u64; 1]> = (0..60).map(|v| [v]).collect();
    let rows: Vec<Row<'_>> =
        names.iter().chain(&odd).zip(&values).map(|(name, v)| (*name, None, &v[..])).collect();
    let bytes = block("HOST", 1, &[(TitleIndex(100), &[rawcount(102)], &rows)]);
    let list = titles(&[(100, "Thing"), (102, "Value")]);
    let open = || {
        ReplaySource::new("t:", [("x".to_string(), bytes.clone())])
            .unwrap()
            .with_titles(LanguageId::ENGLISH, &list)
    };
    let mut query = Query::new(open()).unwrap();
    query.add(r"\Thing(*)\Value").unwrap();
    query.collect().unwrap();
    assert_eq!(query.readings().len(), 57);
    // Each reading's own path finds exactly that reading.
    let all: Vec<_> = query
        .readings()
        .iter()
        .map(|r| (query.path_of(r), r.value.as_ref().unwrap().as_f64()))
        .collect();
    for (path, value) in all {
        let mut one = Query::new(open()).unwrap();
        one.add(&path.to_string()).unwrap();
        one.collect().unwrap();
        let found: Vec<_> =
            one.readings().iter().map(|r| r.value.as_ref().unwrap().as_f64()).collect();
        assert_eq!(found, [value], "{path}");
    }
}

#[test]
fn edge_case_15_an_instance_without_its_parent_is_read() {
    // A reference to no object, to a missing object, and beyond the last instance.
    let parents = [None, Some((TitleIndex(999), 0)), Some((TitleIndex(200), 5))];
    let rows: Vec<Row<'_>> = parents.iter().map(|parent| ("x", *parent, &[1][..])).collect();
    let one: [Row<'_>; 1] = [("p", None, &[1])];
    let counters = [rawcount(102)];
    let bytes = block(
        "HOST",
        1,
        &[(TitleIndex(100), &counters, &rows), (TitleIndex(200), &counters, &one)],
    );
    let mut query =
        Query::new(ReplaySource::new("t:", [("x".to_string(), bytes)]).unwrap()).unwrap();
    query.add(r"\100(*)\102").unwrap();
    query.collect().unwrap();
    let labels: Vec<_> =
        query.readings().iter().map(|r| r.instance.as_ref().unwrap().to_string()).collect();
    assert_eq!(labels, ["x", "x#1", "x#2"]);
}

/// A provider of `count` instances that counts how often it was opened.
struct Opens {
    opened: Arc<AtomicU64>,
    instances: usize,
}
struct OpenSession(ObjectTemplate, usize);
impl Provider for Opens {
    fn name(&self) -> &str {
        "Opens"
    }
    fn describe(&self) -> ProviderDescription {
        ProviderDescription::new(
            Numbering::Windows,
            vec![ObjectDescription::new(
                ObjectSpec::new(TitleIndex(100)).with_instances(),
                vec![rawcount(102)],
            )],
        )
    }
    fn titles(&self) -> Vec<ProvidedTitles> {
        Vec::new()
    }
    fn open(&self, _: &OpenContext<'_>) -> Result<Box<dyn Session>, ProviderError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let spec = ObjectSpec::new(TitleIndex(100)).with_instances();
        Ok(Box::new(OpenSession(ObjectTemplate::new(&spec, &[rawcount(102)])?, self.instances)))
    }
}
impl Session for OpenSession {
    fn collect(
        &mut self,
        _: &Collection<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let mut object = out.object(&self.0)?;
        for value in 0..self.1 {
            object.instance(&InstanceHead::named("instance"), &[value as u64])?;
        }
        Ok(object.finish()?)
    }
}

#[test]
fn edge_case_21_buffers_grow_geometrically_up_to_a_cap() {
    let spec = ObjectSpec::new(TitleIndex(100)).with_instances();
    let template = ObjectTemplate::new(&spec, &[rawcount(102)]).unwrap();
    let mut writer = BlockWriter::new();
    writer.start(&BlockHead::default());
    let (length, allocations) = count(|| {
        let mut object = writer.object(&template).unwrap();
        for _ in 0..40_000 {
            object.instance(&InstanceHead::named("instance"), &[1]).unwrap();
        }
        object.finish().unwrap();
        writer.len()
    });
    assert!(length > 2_000_000);
    assert!(allocations.count < 24, "{} allocations for {length} bytes", allocations.count);
    assert_eq!(BlockWriter::DEFAULT_LIMIT, 64 << 20);
}

#[test]
fn edge_case_22_a_provider_stays_open_and_a_warm_collection_allocates_nothing() {
    let opened = Arc::new(AtomicU64::new(0));
    let provider: Arc<dyn Provider> =
        Arc::new(Opens { opened: Arc::clone(&opened), instances: 500 });
    let mut broker = Broker::builder("t:", "HOST").provider(provider).build();
    let mut snapshots = [Snapshot::new(), Snapshot::new()];
    let request = Ask::objects(&[TitleIndex(100)]);
    for round in 0..20 {
        // Two samples are held at a time, as a reader of rates does.
        let out = &mut snapshots[round % 2];
        let ((), allocated) = count(|| broker.collect(&request, out).unwrap());
        if round >= 6 {
            assert_eq!(allocated.count, 0, "round {round}");
        }
        assert_eq!(out.object(TitleIndex(100)).unwrap().view().instance_count(), 500);
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1);
}

#[test]
fn edge_case_23_changed_title_tables_are_read_again() {
    let provider = |name: &'static str, object: u32| -> Arc<dyn Provider> {
        let names = [(object, name), (object + 2, "Value")];
        Arc::new(ScriptProvider::new(name, Numbering::Windows, &names, move |_, out| {
            let counter = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
            let template = ObjectTemplate::new(
                &ObjectSpec::new(TitleIndex(object)),
                &[CounterSpec::new(TitleIndex(object + 2), counter)],
            )?;
            Ok(out.object(&template)?.values(&[5])?.finish()?)
        }))
    };
    /// A broker that the test can change while a query reads it.
    struct Shared(Arc<std::sync::Mutex<Broker>>);
    impl Source for Shared {
        fn name(&self) -> &str {
            "shared:"
        }
        fn collect(&mut self, r: &Ask, out: &mut Snapshot) -> Result<(), SourceError> {
            self.0.lock().unwrap().collect(r, out)
        }
        fn catalogue(&mut self, ask: &Ask) -> Result<Arc<Catalogue>, SourceError> {
            self.0.lock().unwrap().catalogue(ask)
        }
        fn titles(&mut self, l: LanguageId, ask: &Ask) -> Result<Arc<TitleDatabase>, SourceError> {
            self.0.lock().unwrap().titles(l, ask)
        }
    }
    let broker = Broker::builder("t:", "HOST").provider(provider("One", 2000)).build();
    let broker = Arc::new(std::sync::Mutex::new(broker));
    let mut query = Query::new(Shared(Arc::clone(&broker))).unwrap();
    query.add(r"\*\Value").unwrap();
    query.collect().unwrap();
    assert_eq!(query.readings().len(), 1);
    assert!(query.add(r"\Two\Value").is_err());
    broker.lock().unwrap().register(provider("Two", 3000));
    query.collect().unwrap();
    let paths: Vec<_> = query.readings().iter().map(|r| query.path_of(r).to_string()).collect();
    assert_eq!(paths, [r"\One\Value", r"\Two\Value"]);
    query.add(r"\Two\Value").unwrap();
}

#[test]
fn edge_case_24_an_english_path_on_a_german_system() {
    let bytes = block("HOST", 1, &[(TitleIndex(100), &[rawcount(102)], &[("x", None, &[3])])]);
    let english = titles(&[(100, "Thing"), (102, "Value")]);
    let german = titles(&[(100, "Ding"), (102, "Wert")]);
    let source = ReplaySource::new("t:", [("x".to_string(), bytes)])
        .unwrap()
        .with_titles(LanguageId::GERMAN, &german)
        .with_titles(LanguageId::ENGLISH, &english);
    let mut query = Query::over(SourceSet::new(source), LanguageId::GERMAN).unwrap();
    query.add(r"\thing(x)\Value").unwrap();
    query.collect().unwrap();
    let path = query.path_of(&query.readings()[0]);
    assert_eq!(path.to_string(), r"\Ding(x)\Wert");
}

/// Small blocks that refer to one large part again and again: memory and time stay in proportion.
#[test]
fn edge_case_17_hostile_blocks_cost_memory_and_time_in_proportion() {
    let list = titles(&[(100, "P"), (200, "C"), (102, "Value")]);
    let run = |bytes: Vec<u8>, path: &str| {
        let size = bytes.len() as u64;
        let blocks = [("1".to_string(), bytes.clone()), ("2".to_string(), bytes)];
        let (readings, allocated) = count(|| {
            let source = ReplaySource::new("t:", blocks).unwrap();
            let source = source.with_titles(LanguageId::ENGLISH, &list);
            let mut query = Query::new(source).unwrap();
            query.add(path).unwrap();
            query.collect().unwrap();
            query.collect().unwrap();
            query.readings().len()
        });
        assert!(
            allocated.bytes < 64 * size,
            "{path}: {} bytes for a block of {size} ({readings} readings)",
            allocated.bytes
        );
        readings
    };
    let long = "x".repeat(100_000);
    let counters = [rawcount(102)];

    // One long name, the parent of all instances.
    let parent: [Row<'_>; 1] = [(&long, None, &[1])];
    let children: Vec<Row<'_>> = vec![("c", Some((TitleIndex(100), 0)), &[1]); 4000];
    let objects: [(TitleIndex, &[CounterSpec], &[Row<'_>]); 2] =
        [(TitleIndex(100), &counters, &parent), (TitleIndex(200), &counters, &children)];
    assert_eq!(run(block("H", 1, &objects), r"\C(*)\Value"), 4000);

    // One long name with many counters.
    let many: Vec<CounterSpec> = (0..4000).map(|n| rawcount(1000 + 2 * n)).collect();
    let values = vec![1u64; many.len()];
    let one: [Row<'_>; 1] = [(&long, None, &values)];
    assert_eq!(run(block("H", 1, &[(TitleIndex(100), &many, &one)]), r"\P(*)\*"), 4000);

    // Many objects.
    let instance: [Row<'_>; 1] = [("i", None, &[1])];
    let objects: Vec<(TitleIndex, &[CounterSpec], &[Row<'_>])> =
        (0..4000).map(|n| (TitleIndex(5000 + 2 * n), &counters[..], &instance[..])).collect();
    assert_eq!(run(block("H", 1, &objects), r"\*(*)\*"), 4000);
}
