//! What every [`Source`] must do, whatever it reads.
//!
//! [`source`] tests the rules and panics with a message that names the broken one. A test calls it
//! once for each source.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_engine::{Ask, Cost, ObjectQuery, Snapshot, Source, SourceErrorKind};
use perfhive_format::{CookOptions, CounterPlan, DataBlock, FileTime, LanguageId, TitleIndex};
use std::time::Instant;

/// Runs every rule on sources made by `make`.
pub fn source(mut make: impl FnMut() -> Box<dyn Source>) {
    answers_are_sound(&mut *make());
    the_catalogue_tells_the_truth(&mut *make());
    selects_by_index(&mut *make());
    titles_are_to_be_had(&mut *make());
    a_deadline_says_nothing(&mut *make());
    time_goes_forward(&mut *make());
    ends_or_goes_on(&mut *make());
}

fn is_live(source: &mut dyn Source) -> bool {
    source.recording().is_none()
}

fn rewind(source: &mut dyn Source) {
    let recording = source.recording().expect("a recording");
    recording.seek(None).expect("a recording can be rewound");
}

fn collect(source: &mut dyn Source, query: ObjectQuery) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let result = source.collect(&Ask::new(query), &mut snapshot);
    assert!(result.is_ok(), "{}: a first collection fails: {result:?}", source.name());
    snapshot
}

/// Rule: blocks parse unless they are known to be damaged, and name a machine, and a collection
/// replaces the objects of the collection before.
fn answers_are_sound(source: &mut dyn Source) {
    let mut snapshot = collect(source, ObjectQuery::Global);
    let before = snapshot.objects().count();
    assert!(before > 0, "{}: Global has no objects", source.name());
    for frame in snapshot.frames() {
        let block = DataBlock::parse(frame.as_bytes());
        assert!(
            block.is_ok() || !frame.damaged().is_empty(),
            "{}: an undamaged frame does not parse: {:?}",
            source.name(),
            block.err()
        );
        assert!(!frame.machine().is_empty(), "{}: a block names no machine", source.name());
    }
    if is_live(source) {
        let result = source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot);
        assert!(result.is_ok(), "{}: a second collection fails: {result:?}", source.name());
        let after = snapshot.frames().len();
        assert!(after <= 64, "{}: collecting does not clear the snapshot", source.name());
        assert_eq!(before, snapshot.objects().count(), "{}: objects pile up", source.name());
    }
}

/// Rule: every collected object, and every counter that is not a base, is in the catalogue, and
/// costly objects are not in `Global`.
fn the_catalogue_tells_the_truth(source: &mut dyn Source) {
    let catalogue = source.catalogue(&Ask::everything()).expect("a catalogue");
    let snapshot = collect(source, ObjectQuery::Global);
    assert_eq!(Some(catalogue.machine.clone()), snapshot.machine(), "the catalogue's machine");
    for object in snapshot.objects() {
        let name = object.view().name_index();
        let entry = catalogue.object(name);
        let entry = entry.unwrap_or_else(|| panic!("object {name} is not in the catalogue"));
        assert_eq!(entry.cost, Cost::Global, "object {name} is not part of Global");
        assert_eq!(entry.has_instances, object.view().has_instances(), "object {name}");
        for counter in object.view().counters().filter(|c| !c.counter_type().is_base()) {
            let listed = entry.counter(counter.name_index());
            let listed =
                listed.unwrap_or_else(|| panic!("counter {} of {name}", counter.name_index()));
            assert_eq!(listed.counter_type, counter.counter_type(), "counter {}", listed.name);
            assert_eq!(listed.help, counter.help_index(), "help of counter {}", listed.name);
        }
    }
}

/// Rule: an object of a live source that is asked for by index is in the answer, or a fault says why
/// it is not. A recording may lack the object without a fault, since a later sample may have it. From
/// both, an index that no object has gives neither an error nor a fault nor an object.
fn selects_by_index(source: &mut dyn Source) {
    let catalogue = source.catalogue(&Ask::everything()).expect("a catalogue");
    let nothing = TitleIndex(0x7fff_fff0);
    let wanted: Vec<_> = catalogue.objects.iter().map(|object| object.name).collect();
    for name in wanted.iter().copied().chain([nothing]) {
        if !is_live(source) {
            rewind(source);
        }
        let snapshot = collect(source, ObjectQuery::one(name));
        let told = snapshot.faults().iter().any(|fault| fault.object == Some(name));
        let there = snapshot.object(name).is_some();
        // A recording may have the object in a later sample only.
        if name == nothing {
            assert!(!there && !told, "object {name} does not exist");
        } else if is_live(source) {
            assert!(there || told, "object {name} was asked for and is not there");
        }
    }
}

/// Rule: every listed language has titles, which in a live source name each listed object. For a language
/// that is not listed, the error is `NotFound`.
fn titles_are_to_be_had(source: &mut dyn Source) {
    let catalogue = source.catalogue(&Ask::everything()).expect("a catalogue");
    for language in &catalogue.languages {
        let titles = source.titles(*language, &Ask::nothing()).expect("a language that is listed");
        assert_eq!(titles.language(), *language);
        for object in &catalogue.objects {
            let named = titles.name(object.name).is_some();
            assert!(named || !is_live(source), "object {} has no name", object.name);
        }
    }
    let other = LanguageId(0x3ff);
    match source.titles(other, &Ask::nothing()) {
        Ok(_) => panic!("titles in a language that does not exist"),
        Err(error) => assert_eq!(error.kind(), SourceErrorKind::NotFound, "{error}"),
    }
}

/// Rule: an ask with a deadline that has passed may fail, and changes nothing for later asks.
fn a_deadline_says_nothing(source: &mut dyn Source) {
    {
        let now = Instant::now();
        let _ = source.catalogue(&Ask::nothing().until(now));
        let _ = source.titles(LanguageId::ENGLISH, &Ask::nothing().until(now));
        let _ = source.catalogue(&Ask::everything().until(now));
        let _ = source.catalogue(&Ask::new(ObjectQuery::Costly).until(now));
        let _ = source.providers(&Ask::nothing().until(now));
        if is_live(source) {
            let _ = source.collect(&Ask::everything().until(now), &mut Snapshot::new());
        }
    }
    // The source may be at work on an earlier question for a while.
    while let Err(error) = source.catalogue(&Ask::nothing()) {
        assert!(error.is_transient(), "{}: a short wait broke it: {error}", source.name());
        std::thread::yield_now();
    }
    the_catalogue_tells_the_truth(source);
    titles_are_to_be_had(source);
}

/// Rule: generations grow, clocks do not go backwards, and two samples cook to a finite number or
/// to an error.
fn time_goes_forward(source: &mut dyn Source) {
    let first = collect(source, ObjectQuery::Global);
    let mut second = Snapshot::new();
    if source.collect(&Ask::new(ObjectQuery::Global), &mut second).is_err() {
        return;
    }
    for newer in second.objects() {
        let view = newer.view();
        let Some(older) = first.object(view.name_index()) else {
            continue;
        };
        assert!(older.generation() < newer.generation(), "generations do not grow");
        let (a, b) = (older.view().clocks(), view.clocks());
        assert!(a.perf_time <= b.perf_time, "the performance counter went backwards");
        assert!(a.time_100ns <= b.time_100ns, "the 100 ns time went backwards");
        assert!(b.perf_freq > 0, "the performance counter has no frequency");
        let plans = CounterPlan::all(view);
        let old = older.view();
        let pairs: Vec<_> = if view.has_instances() {
            old.instances()
                .zip(view.instances())
                .map(|(o, n)| (o.counter_block(), n.counter_block()))
                .collect()
        } else {
            old.counter_block().zip(view.counter_block()).into_iter().collect()
        };
        for (older_block, newer_block) in pairs {
            for plan in plans.iter().filter(|plan| !plan.counter_type.is_base()) {
                let Ok(newer) = plan.sample(view, newer_block) else {
                    continue;
                };
                let older = plan.sample(old, older_block).ok();
                let Ok(formula) = plan.formula else { continue };
                if let Ok(value) = formula.apply(CookOptions::default(), older.as_ref(), &newer) {
                    assert!(value.as_f64().is_finite(), "counter {} is not finite", plan.name);
                }
            }
        }
    }
}

/// Rule: a recording ends with `EndOfData`, has as many samples as its span states, and goes on at
/// the time that `seek` is given.
fn ends_or_goes_on(source: &mut dyn Source) {
    if is_live(source) {
        return;
    }
    let mut snapshot = Snapshot::new();
    let mut samples = 0;
    loop {
        match source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot) {
            Ok(()) => samples += 1,
            Err(error) => {
                assert!(error.is_end_of_data(), "{error}");
                break;
            }
        }
        assert!(samples < 100_000, "a recording without an end");
    }
    assert!(samples > 0, "an empty recording");
    rewind(source);
    collect(source, ObjectQuery::Global);
    let recording = source.recording().expect("a recording");
    let span = recording.span().expect("a span");
    assert_eq!(span.samples, samples, "the span's number of samples");
    recording.seek(Some(span.end)).expect("the last sample is found");
    let last = collect(source, ObjectQuery::Global);
    let time = last.frames().first().map(|frame| frame.time());
    assert_eq!(time, Some(span.end), "the last sample's time");
    let recording = source.recording().expect("a recording");
    recording.seek(Some(FileTime(i64::MAX))).expect("a time behind the end is not an error");
    let result = source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot);
    assert!(result.is_err_and(|error| error.is_end_of_data()), "there is a sample behind the end");
}
