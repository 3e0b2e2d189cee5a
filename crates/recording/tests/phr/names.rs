//! Indexes that have one name in one part of a recording and another in a later one.

use crate::shared::*;
use perfhive_engine::{Ask, Frame, Query, Snapshot, Source as _, SourceErrorKind, TitleDatabase};
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_recording::{RecordingOptions, RecordingWriter, open};
use perfhive_testkit::script::{block, titles};
use std::path::Path;
use std::sync::Arc;

const SHARED: TitleIndex = TitleIndex(2_000_000);

/// Appends a sample with Process and with an object of the index [`SHARED`], which has the name
/// `name` there; or returns the error.
fn add(path: &Path, second: i64, name: &str) -> Result<(), perfhive_engine::SourceError> {
    let counters = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT)];
    let rows = [("a", None, &[1][..])];
    let objects: [(TitleIndex, &[_], &[_]); 2] =
        [(SHARED, &counters, &rows), (PROCESS, &counters, &rows)];
    let names = titles(&[(SHARED.0, name), (PROCESS.0, "Process"), (6, "Value")]);
    let names = TitleDatabase::new(LanguageId::ENGLISH, &names, &titles(&[]));
    let mut writer = RecordingWriter::open(path, "local:", &RecordingOptions::new())?;
    writer.add(&snapshot(&[block("HOST", second, &objects)]), &[Arc::new(names)])?;
    writer.finish().map(drop)
}

#[test]
fn a_recording_is_not_continued_where_an_index_has_another_name() {
    let file = Scratch::new();
    add(&file.0, 0, "A Example").unwrap();
    let before = std::fs::read(&file.0).unwrap();
    let refused = add(&file.0, 1, "Zebra Example").unwrap_err();
    assert_eq!(refused.kind(), SourceErrorKind::Mismatch);
    let message = refused.to_string();
    for part in ["A Example", "Zebra Example", "2000000", "another file"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(std::fs::read(&file.0).unwrap(), before);
    add(&file.0, 1, "A example").unwrap();
}

#[test]
fn the_sample_after_a_refused_one_has_its_definitions() {
    let file = Scratch::new();
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    let mut add = |second, objects: &[TitleIndex], name: &str| {
        let counters = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT)];
        let rows = [("a", None, &[second as u64][..])];
        let objects: Vec<(TitleIndex, &[_], &[_])> =
            objects.iter().map(|object| (*object, &counters[..], &rows[..])).collect();
        let names = titles(&[(SHARED.0, "Example"), (PROCESS.0, "Process"), (6, name)]);
        let names = TitleDatabase::new(LanguageId::ENGLISH, &names, &titles(&[]));
        writer.add(&snapshot(&[block("HOST", second, &objects)]), &[Arc::new(names)])
    };
    add(0, &[PROCESS], "Value").unwrap();
    let refused = add(1, &[PROCESS, SHARED], "Other").unwrap_err();
    assert_eq!(refused.kind(), SourceErrorKind::Mismatch);
    // The same objects and instances as the sample before, which is not in the file.
    add(2, &[PROCESS, SHARED], "Value").unwrap();
    // The same definitions as well, under another name.
    assert_eq!(add(3, &[PROCESS, SHARED], "Third").unwrap_err().kind(), SourceErrorKind::Mismatch);
    writer.finish().unwrap();
    let mut source = reopen(&file.0);
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!(catalogue.objects.len(), 2);
    assert_eq!(contents(&mut source).0.len(), 2);
}

#[test]
fn recordings_that_name_an_index_differently_are_not_one_source() {
    let (one, two) = (Scratch::new(), Scratch::new());
    add(&one.0, 0, "A Example").unwrap();
    add(&two.0, 1, "Zebra Example").unwrap();
    let refused = open("file:r", &[one.0.clone(), two.0.clone()], &[], None).err().unwrap();
    assert_eq!(refused.kind(), SourceErrorKind::Mismatch);
    let message = refused.to_string();
    let file = two.0.display().to_string();
    for part in [&*file, "A Example", "Zebra Example", "2000000", "one by one"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn one_file_with_two_names_of_an_index_leaves_the_later_object_out() {
    let (one, two) = (Scratch::new(), Scratch::new());
    add(&one.0, 0, "A Example").unwrap();
    add(&two.0, 1, "Zebra Example").unwrap();
    let mut bytes = std::fs::read(&one.0).unwrap();
    bytes.extend(std::fs::read(&two.0).unwrap());
    std::fs::write(&one.0, bytes).unwrap();
    let mut source = reopen(&one.0);
    let mut out = perfhive_engine::Snapshot::new();
    for expected in [&[SHARED, PROCESS][..], &[PROCESS]] {
        source.collect(&Ask::everything(), &mut out).unwrap();
        let frame = &out.frames()[0];
        let objects = (0..frame.object_count()).filter_map(|place| frame.object(place));
        let found: Vec<_> = objects.map(|object| object.name_index()).collect();
        assert_eq!(found, expected);
        assert!(out.faults().iter().any(|fault| fault.message.contains("Zebra Example")));
    }
}

/// The origins of blocks are told apart by their labels, in whichever file they are.
#[test]
fn values_go_on_into_the_next_file_of_the_same_origin_only() {
    let parts = [(0, "registry"), (2, "registry"), (4, "native")].map(|(begin, label)| {
        let file = Scratch::new();
        let options = RecordingOptions::new();
        let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
        for second in begin..begin + 2 {
            let frame = Frame::new(churn(second), 1).unwrap();
            let mut sample = Snapshot::new();
            sample.push_frame(Arc::new(frame.recorded_by(1, Some(label.into()))), "source");
            writer.add(&sample, &[names()]).unwrap();
        }
        writer.finish().unwrap();
        file
    });
    let paths = parts.each_ref().map(|file| file.0.clone());
    let mut query = Query::new(open("file:r", &paths, &[], None).unwrap()).unwrap();
    query.add(r"\Process(p1)\% Processor Time").unwrap();
    let are_there = [(); 6].map(|()| {
        query.collect().unwrap();
        query.readings()[0].value.is_ok()
    });
    assert_eq!(are_there, [false, true, true, true, false, true]);
}
