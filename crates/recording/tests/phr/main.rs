//! perfhive's own recordings: written, read again, cut, changed, continued.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cost;
mod crash;
mod names;
mod shared;

use perfhive_engine::{
    Ask, Fault, FaultKind, Frame, ObjectQuery, Recording, Snapshot, Source, SourceErrorKind,
};
use perfhive_format::{BlockWriter, CounterSpec, CounterType, FileTime, LanguageId, TitleIndex};
use perfhive_recording::{Excerpt, RecordingOptions, RecordingWriter, TimeBound, open};
use perfhive_testkit::script::block;
use perfhive_testkit::{conformance, model, real};
use proptest::collection::vec;
use proptest::prelude::*;
use shared::*;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(unix)]
use std::time::Duration;

#[test]
fn a_recording_gives_back_each_block_byte_by_byte() {
    let file = Scratch::new();
    record(&file.0, 0..150);
    let (samples, faults) = contents(&mut reopen(&file.0));
    let written: Vec<Vec<Vec<u8>>> = (0..150).map(|second| vec![churn(second)]).collect();
    assert!(samples == written);
    assert!(faults.is_empty(), "{faults:?}");
    let whole: usize = written.iter().flatten().map(Vec::len).sum();
    let size = std::fs::metadata(&file.0).unwrap().len() as usize;
    assert!(size * 10 < whole, "{size} of {whole}");
}

#[test]
fn a_recording_is_a_source_like_others() {
    let file = Scratch::new();
    record(&file.0, 0..70);
    conformance::source(|| Box::new(reopen(&file.0)));
    let mut source = reopen(&file.0);
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!((catalogue.machine.as_str(), catalogue.objects.len()), ("HOST", 1));
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(PROCESS), Some("Process"));
    assert_eq!(titles.help(TitleIndex(231)), Some("Processes."));
}

#[test]
fn any_time_can_be_sought() {
    let file = Scratch::new();
    record(&file.0, 0..200);
    let mut source = reopen(&file.0);
    let mut out = Snapshot::new();
    for second in [0_i64, 1, 59, 60, 61, 120, 199, 5, 180, 119] {
        let time = Frame::new(churn(second), 1).unwrap().time();
        // Between two samples the later one counts.
        for to in [time, FileTime(time.0 - 1)] {
            source.recording().unwrap().seek(Some(to)).unwrap();
            source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
            assert_eq!(out.frames()[0].as_bytes(), churn(second), "{second}");
        }
    }
}

#[test]
fn labels_and_faults_of_a_sample_are_recorded() {
    let file = Scratch::new();
    let mut sample = snapshot(&[churn(1), churn(2)]);
    let fault = Fault::new(FaultKind::Partial, "linux", "no rights").of_object(PROCESS);
    sample.push_fault(fault.of_instance("p1"));
    sample.push_fault(Fault::new(FaultKind::Busy, "disk", "later"));
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    writer.add(&sample, &[]).unwrap();
    drop(writer);
    let mut out = Snapshot::new();
    reopen(&file.0).collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    let labels: Vec<&str> = out.frames().iter().map(|frame| frame.label()).collect();
    assert_eq!(labels, ["", "published"]);
    let fault = &out.faults()[0];
    assert_eq!((fault.kind, fault.object), (FaultKind::Partial, Some(PROCESS)));
    assert_eq!(fault.to_string(), "linux, object 230, instance p1: no rights");
    assert_eq!(out.faults()[1].kind, FaultKind::Busy);
}

#[test]
fn a_real_log_is_recorded_unchanged() {
    let Some(log) = real::root().map(|root| root.join("logs/pal_SampleLog.blg")) else { return };
    let mut source = open("file:log", &[log], &[], None).unwrap();
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    let file = Scratch::new();
    let mut writer = RecordingWriter::open(&file.0, "file:log", &RecordingOptions::new()).unwrap();
    let mut out = Snapshot::new();
    while source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_ok() {
        writer.add(&out, &[Arc::clone(&titles)]).unwrap();
    }
    drop(writer);
    source.recording().unwrap().seek(None).unwrap();
    assert!(contents(&mut source).0 == contents(&mut reopen(&file.0)).0);
}

#[test]
fn a_recording_that_is_cut_off_keeps_the_samples_before_and_is_continued() {
    let file = Scratch::new();
    record(&file.0, 0..64);
    let bytes = std::fs::read(&file.0).unwrap();
    let mut last = 0;
    for end in (400..bytes.len()).rev().step_by(61) {
        std::fs::write(&file.0, &bytes[..end]).unwrap();
        let (samples, _) = contents(&mut reopen(&file.0));
        let first = last.max(samples.len());
        assert!(last == 0 || samples.len() <= last, "{end}");
        for (second, sample) in samples.iter().enumerate() {
            assert!(sample[0] == churn(second as i64), "{end}, sample {second}");
        }
        last = samples.len();
        if end % 5 == 0 {
            record(&file.0, 500..503);
            let (continued, faults) = contents(&mut reopen(&file.0));
            assert_eq!(continued.len(), last + 3, "{end} of {first}");
            assert!(continued[last][0] == churn(500));
            assert!(faults.is_empty(), "{faults:?}");
        }
    }
    assert_eq!(last, 0, "the first cut leaves no sample");
}

#[test]
fn every_changed_byte_is_found_and_costs_at_most_one_group() {
    let file = Scratch::new();
    record(&file.0, 0..125);
    let bytes = std::fs::read(&file.0).unwrap();
    let written: Vec<Vec<u8>> = (0..125).map(churn).collect();
    let step = if perfhive_testkit::is_slow() { 97 } else { 61 };
    for place in (0..bytes.len()).step_by(step) {
        file.change(place, bytes[place] ^ 1 << (place % 8));
        if let Some(before) = place.checked_sub(step) {
            file.change(before, bytes[before]);
        }
        let mut source = open("file:r", std::slice::from_ref(&file.0), &[], None)
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_names(&mut source, place);
        let (samples, faults) = contents(&mut source);
        assert!(!faults.is_empty(), "{place}: the damage is not told");
        let samples: Vec<_> = samples.into_iter().filter(|sample| !sample.is_empty()).collect();
        assert!(samples.len() >= 125 - 60, "{place}: {} samples", samples.len());
        let mut written = written.iter();
        for sample in samples {
            let known = written.any(|written| sample[0] == *written);
            assert!(known, "{place}: a sample that was not recorded");
        }
    }
}

#[test]
fn a_sector_that_is_lost_costs_at_most_60_samples() {
    let file = Scratch::new();
    let counter = [CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_RAWCOUNT)];
    // The smaller the samples, the more of them are in a sector.
    let small = |second| block("HOST", second, &[(PROCESS, &counter, &[("p", None, &[7])])]);
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    for second in 0..190 {
        writer.add(&snapshot(&[small(second)]), &[names()]).unwrap();
    }
    writer.finish().unwrap();
    let bytes = std::fs::read(&file.0).unwrap();
    let step = if perfhive_testkit::is_slow() { 211 } else { 31 };
    let mut most = 0;
    for place in (0..bytes.len()).step_by(step) {
        let mut damaged = bytes.clone();
        damaged.iter_mut().skip(place).take(512).for_each(|byte| *byte = 0);
        std::fs::write(&file.0, damaged).unwrap();
        let (samples, _) = contents(&mut reopen(&file.0));
        most = most.max(190 - samples.iter().filter(|sample| !sample.is_empty()).count());
        assert!(most <= 60, "{place}: {most} samples lost");
    }
    assert!(most > 50, "{most}");
}

#[test]
fn one_file_has_one_writer_and_one_machine() {
    let file = Scratch::new();
    let options = RecordingOptions::new();
    let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
    writer.add(&snapshot(&[churn(0)]), &[]).unwrap();
    let second = RecordingWriter::open(&file.0, "local:", &options).err().unwrap();
    #[cfg(not(windows))]
    assert_eq!(second.kind(), SourceErrorKind::Busy);
    drop((writer, second));
    let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
    let other = writer.add(&snapshot(&[block("OTHER", 1, &[])]), &[]).unwrap_err();
    assert_eq!(other.kind(), SourceErrorKind::Mismatch);
    drop(writer);
}

#[test]
fn a_foreign_file_is_not_touched() {
    let file = Scratch::new();
    record(&file.0, 0..3);
    let recording = std::fs::read(&file.0).unwrap();
    let archive = [&[b'x'; 512][..], &recording].concat();
    let long = "PHR1 is what these notes are about.\n".repeat(9);
    let texts = ["no recording", "P", "PHR1", "PHR1 notes", "PHR1\n\n\n\nnotes", &long];
    for content in texts.iter().map(|text| text.as_bytes()).chain([&archive[..]]) {
        std::fs::write(&file.0, content).unwrap();
        let opened = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new());
        assert_eq!(opened.err().unwrap().kind(), SourceErrorKind::Malformed);
        assert!(std::fs::read(&file.0).unwrap() == content);
        if content.starts_with(b"PHR1") {
            continue;
        }
        let mut options = RecordingOptions::new();
        options.replaces = true;
        let opened = RecordingWriter::open(&file.0, "local:", &options);
        assert_eq!(opened.err().unwrap().kind(), SourceErrorKind::Malformed);
        assert!(std::fs::read(&file.0).unwrap() == content);
    }
}

#[test]
fn recording_that_is_whole_unfinished_or_empty_is_replaced() {
    let file = Scratch::new();
    record(&file.0, 0..3);
    let recording = std::fs::read(&file.0).unwrap();
    let mut options = RecordingOptions::new();
    options.replaces = true;
    for content in [&recording[..], &recording[..20], &[]] {
        std::fs::write(&file.0, content).unwrap();
        let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
        writer.add(&snapshot(&[churn(7)]), &[names()]).unwrap();
        drop(writer);
        assert!(contents(&mut reopen(&file.0)).0 == [[churn(7)]], "{} bytes", content.len());
    }
}

#[test]
fn names_and_all_samples_survive_each_change_of_head_and_definitions() {
    let file = Scratch::new();
    record(&file.0, 0..70);
    let bytes = std::fs::read(&file.0).unwrap();
    let frames = crash::frames(&bytes);
    let facts: Vec<_> = frames.iter().filter(|(_, kind)| *kind < 3).collect();
    let kinds: Vec<u8> = facts.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, [1, 2, 1, 2]);
    let step = if perfhive_testkit::is_slow() { 211 } else { 1 };
    for place in facts.iter().flat_map(|(range, _)| range.clone()).step_by(step) {
        file.change(place, bytes[place] ^ 1 << (place % 8));
        let mut source = reopen(&file.0);
        assert_names(&mut source, place);
        let (samples, faults) = contents(&mut source);
        assert!(samples.len() == 70 && !faults.is_empty(), "{place}: {} samples", samples.len());
        file.change(place, bytes[place]);
    }
    // A sector that is lost, and all of the first copy with it.
    let mut lost = bytes.clone();
    lost[..facts[1].0.end].fill(0);
    std::fs::write(&file.0, &lost).unwrap();
    let mut source = reopen(&file.0);
    assert_names(&mut source, 0);
    assert_eq!(contents(&mut source).0.len(), 70);
    // Writing goes on only where the file is known for a recording.
    let opened = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new());
    assert_eq!(opened.err().unwrap().kind(), SourceErrorKind::Malformed);
    lost[..4].copy_from_slice(b"PHR1");
    std::fs::write(&file.0, &lost).unwrap();
    record(&file.0, 100..103);
    let mut source = reopen(&file.0);
    assert_names(&mut source, 0);
    assert_eq!(contents(&mut source).0.len(), 73);
}

#[test]
fn a_recording_of_which_only_the_samples_are_left_has_its_machine() {
    let file = Scratch::new();
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    (0..3).for_each(|second| writer.add(&snapshot(&[churn(second)]), &[names()]).unwrap());
    // Killed before there was a copy.
    drop(writer);
    let mut bytes = std::fs::read(&file.0).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&file.0, &bytes).unwrap();
    let mut source = reopen(&file.0);
    assert_names(&mut source, 40);
    assert_eq!(contents(&mut source).0.len(), 3);
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    let other = writer.add(&snapshot(&[block("OTHER", 1, &[])]), &[]).unwrap_err();
    assert_eq!(other.kind(), SourceErrorKind::Mismatch);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_removed_or_renamed_while_it_is_written_is_begun_again() {
    let (file, moved) = (Scratch::new(), Scratch::new());
    let mut options = RecordingOptions::new();
    options.sync = Duration::ZERO;
    let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
    let mut add = |seconds: std::ops::Range<i64>| {
        seconds.for_each(|second| writer.add(&snapshot(&[churn(second)]), &[names()]).unwrap());
        (writer.restarts(), writer.samples())
    };
    assert_eq!(add(0..5), (0, 5));
    std::fs::remove_file(&file.0).unwrap();
    assert_eq!(add(5..7), (1, 2));
    std::fs::rename(&file.0, &moved.0).unwrap();
    assert_eq!(add(7..10), (2, 3));
    for (path, seconds) in [(&moved.0, 5..7), (&file.0, 7..10)] {
        let (samples, faults) = contents(&mut reopen(path));
        assert!(samples == seconds.map(|second| vec![churn(second)]).collect::<Vec<_>>());
        assert!(faults.is_empty(), "{faults:?}");
    }
    // What another program cut off is gone; what follows is whole.
    std::fs::OpenOptions::new().write(true).truncate(true).open(&file.0).unwrap();
    assert_eq!(add(10..12), (3, 2));
    let (samples, faults) = contents(&mut reopen(&file.0));
    assert!(samples == [10, 11].map(|second| vec![churn(second)]));
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(writer.bytes(), std::fs::metadata(&file.0).unwrap().len());
    // Another file in its place is not written over.
    std::fs::write(&moved.0, "notes").unwrap();
    std::fs::rename(&moved.0, &file.0).unwrap();
    for _ in 0..2 {
        let error = writer.add(&snapshot(&[churn(12)]), &[names()]).unwrap_err();
        assert_eq!((error.kind(), writer.samples()), (SourceErrorKind::Malformed, 0));
    }
    assert_eq!(std::fs::read(&file.0).unwrap(), b"notes");
    // Where it comes back, writing goes on in it.
    let (aside, back) = (Scratch::new(), Scratch::new());
    let mut writer = RecordingWriter::open(&aside.0, "local:", &options).unwrap();
    let mut add = |second| {
        // An object that comes later has definitions of its own.
        let later = block("HOST", second, &[(TitleIndex(4), &[], &[])]);
        let blocks = [churn(second), later];
        writer.add(&snapshot(&blocks[..if second < 65 { 1 } else { 2 }]), &[names()])
    };
    (0..66).for_each(|second| add(second).unwrap());
    std::fs::rename(&aside.0, &back.0).unwrap();
    std::fs::copy(&file.0, &aside.0).unwrap();
    add(66).unwrap_err();
    std::fs::rename(&back.0, &aside.0).unwrap();
    (67..70).for_each(|second| add(second).unwrap());
    let (samples, faults) = contents(&mut reopen(&aside.0));
    assert!(samples.len() == 69 && faults.is_empty(), "{} samples, {faults:?}", samples.len());
}

/// The path is looked at when the file is brought to the disk: until then a renamed file has the samples, and a rotation
/// does not rename what stands in its place.
#[cfg(unix)]
#[test]
fn renamed_file_keeps_its_samples_until_the_next_sync_or_rotation() {
    let (file, moved) = (Scratch::new(), Scratch::new());
    let mut options = RecordingOptions::new();
    (options.sync, options.rotation.time) =
        (Duration::from_secs(3600), Some(Duration::from_secs(60)));
    let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
    let mut add = |second| {
        let added = writer.add(&snapshot(&[churn(second)]), &[names()]).map_err(|of| of.kind());
        (added, writer.restarts(), writer.samples())
    };
    assert_eq!(add(0), (Ok(()), 0, 1));
    std::fs::rename(&file.0, &moved.0).unwrap();
    assert_eq!(add(1), (Ok(()), 0, 2));
    assert_eq!(contents(&mut reopen(&moved.0)).0, [vec![churn(0)], vec![churn(1)]]);
    std::fs::write(&file.0, "notes").unwrap();
    assert_eq!(add(61), (Err(SourceErrorKind::Malformed), 0, 0));
    assert_eq!(std::fs::read(&file.0).unwrap(), b"notes");
    // A cut is seen at the next sample.
    let mut writer = RecordingWriter::open(&moved.0, "local:", &options).unwrap();
    let mut add = |at: i64| writer.add(&snapshot(&[churn(at)]), &[names()]).unwrap();
    add(2);
    std::fs::OpenOptions::new().write(true).truncate(true).open(&moved.0).unwrap();
    add(3);
    assert_eq!(contents(&mut reopen(&moved.0)).0, [vec![churn(3)]]);
}

#[test]
fn a_recording_can_be_read_while_it_is_written() {
    let file = Scratch::new();
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    for second in 0..130 {
        writer.add(&snapshot(&[churn(second)]), &[names()]).unwrap();
        if second % 13 == 0 {
            assert_eq!(contents(&mut reopen(&file.0)).0.len() as i64, second + 1);
        }
    }
}

proptest! {
    #![proptest_config(perfhive_testkit::proptest_config(64))]
    #[test]
    fn any_blocks_come_back(samples in vec(vec(model::any_block(), 1..3), 1..6)) {
        let file = Scratch::new();
        let options = RecordingOptions::new();
        let mut recorder = RecordingWriter::open(&file.0, "local:", &options).unwrap();
        let mut written = Vec::new();
        for sample in samples {
            let mut blocks = Vec::new();
            for block in sample {
                let mut writer = BlockWriter::new();
                // One machine, as recordings have.
                let block = model::BlockModel { system_name: "HOST".into(), ..block };
                if block.write(&mut writer).is_ok() {
                    blocks.push(writer.finish().to_vec());
                }
            }
            if !blocks.is_empty() {
                recorder.add(&snapshot(&blocks), &[]).unwrap();
                written.push(blocks);
            }
        }
        drop(recorder);
        if !written.is_empty() {
            prop_assert!(contents(&mut reopen(&file.0)).0 == written);
        }
    }
}

#[test]
fn several_recordings_are_one_source() {
    let (one, two) = (Scratch::new(), Scratch::new());
    record(&one.0, 0..70);
    record(&two.0, 100..130);
    // In the order of time, however they are named.
    let both = || open("file:r", &[two.0.clone(), one.0.clone()], &[], None).unwrap();
    conformance::source(|| Box::new(both()));
    let (samples, _) = contents(&mut both());
    assert_eq!(samples.len(), 100);
    assert!(!both().recording().unwrap().span().unwrap().goes_back);
    let mut source = both();
    let time = Frame::new(churn(101), 1).unwrap().time();
    source.recording().unwrap().seek(Some(time)).unwrap();
    let mut out = Snapshot::new();
    source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    assert_eq!(out.frames()[0].as_bytes(), churn(101));
    let other = Scratch::new();
    let mut writer = RecordingWriter::open(&other.0, "x", &RecordingOptions::new()).unwrap();
    writer.add(&snapshot(&[block("OTHER", 1, &[])]), &[]).unwrap();
    let error = open("file:r", &[one.0.clone(), other.0.clone()], &[], None).err().unwrap();
    assert_eq!(error.kind(), SourceErrorKind::Mismatch);
}

#[test]
fn an_excerpt_has_the_samples_between_two_times() {
    let file = Scratch::new();
    record(&file.0, 0..100);
    let second = |second: i64| second * FileTime::PER_SECOND;
    let part = |begin, end, every: u64| {
        let source = Box::new(reopen(&file.0));
        Excerpt::new(source, begin, end, NonZeroU64::new(every).unwrap()).unwrap()
    };
    let seconds = |mut part: Excerpt| -> Vec<i64> {
        let (samples, _) = contents(&mut part);
        let first = Frame::new(churn(0), 1).unwrap().time().0;
        let time = |sample: &Vec<Vec<u8>>| Frame::new(sample[0].clone(), 1).unwrap().time().0;
        samples.iter().map(|sample| (time(sample) - first) / FileTime::PER_SECOND).collect()
    };
    let after = |seconds| Some(TimeBound::AfterBegin(second(seconds)));
    let before = |seconds| Some(TimeBound::BeforeEnd(second(seconds)));
    assert_eq!(seconds(part(after(10), after(13), 1)), [10, 11, 12, 13]);
    assert_eq!(seconds(part(before(2), None, 1)), [97, 98, 99]);
    assert_eq!(seconds(part(after(5), after(20), 6)), [5, 11, 17]);
    assert_eq!(seconds(part(None, after(0), 1)), [0]);
    conformance::source(|| Box::new(part(after(10), before(10), 7)));
}

#[test]
fn span_of_an_excerpt_leaves_its_place_behind_a_seek() {
    let file = Scratch::new();
    record(&file.0, 0..20);
    let second = |second: i64| Frame::new(churn(second), 1).unwrap().time();
    let every = NonZeroU64::new(3).unwrap();
    let begin = Some(TimeBound::At(second(2)));
    let mut part = Excerpt::new(Box::new(reopen(&file.0)), begin, None, every).unwrap();
    let mut out = Snapshot::new();
    let mut next = |part: &mut Excerpt| {
        part.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
        out.frames()[0].time()
    };
    part.seek(Some(second(7))).unwrap();
    assert_eq!(next(&mut part), second(7));
    let span = Recording::span(&mut part).unwrap();
    assert_eq!((span.begin, span.end, span.samples), (second(2), second(17), 6));
    assert_eq!(next(&mut part), second(10));
}

#[test]
fn file_called_as_a_manifest_hides_no_recording_beside_it() {
    let folder = Scratch::new();
    std::fs::create_dir(&folder.0).unwrap();
    std::fs::write(folder.0.join("manifest.jsonl"), "{\"name\": \"another program's\"}\n").unwrap();
    let path = folder.0.join("a.phr");
    record(&path, 0..3);
    assert_eq!(contents(&mut reopen(&path)).0.len(), 3);
    std::fs::remove_dir_all(&folder.0).unwrap();
}

/// The reader in Python was written from the manual's page alone.
#[cfg(target_os = "linux")]
#[test]
fn the_specification_is_enough_to_read_a_recording() {
    let file = Scratch::new();
    record(&file.0, 0..125);
    let reader = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/phr_reader.py");
    // Debian's module belongs to Debian's Python.
    let out = std::process::Command::new("/usr/bin/python3").arg(reader).arg(&file.0).output();
    let out = out.unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    let must_have = std::env::var_os("PERFHIVE_PYTHON_HAS_ZSTANDARD").is_some();
    if error.contains("No module named 'zstandard'") && !must_have {
        eprintln!("not compared with the reader in Python: {error}");
        return;
    }
    let lines: Vec<serde_json::Value> = String::from_utf8_lossy(&out.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 125, "{error}");
    for (second, line) in (0..).zip(lines) {
        let block = churn(second);
        let expected = serde_json::json!([[block.len(), crc32fast::hash(&block)]]);
        assert_eq!(line["blocks"], expected, "{second}");
        assert_eq!(line["time"], Frame::new(block, 1).unwrap().time().0);
    }
}

#[test]
fn a_recording_rotates_by_size_and_keeps_the_newest_files() {
    let folder = Scratch::new();
    std::fs::create_dir(&folder.0).unwrap();
    let path = folder.0.join("a.phr");
    let mut options = RecordingOptions::new();
    let files = || {
        let entries = std::fs::read_dir(&folder.0).unwrap();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        // The file without a time is the newest one.
        all.sort_by_key(|file| (*file == path, file.clone()));
        all
    };
    options.rotation.bytes = Some(6_000);
    let mut writer = RecordingWriter::open(&path, "local:", &options).unwrap();
    for second in 0..300 {
        writer.add(&snapshot(&[churn(second)]), &[names()]).unwrap();
    }
    assert_eq!(writer.samples(), 300);
    let all = files();
    assert!(all.len() > 3, "{all:?}");
    let size = |file: &PathBuf| std::fs::metadata(file).unwrap().len();
    assert_eq!(writer.bytes(), all.iter().map(size).sum::<u64>());
    assert!(all.iter().all(|file| size(file) < 12_000));
    let (samples, faults) = contents(&mut open("file:r", &all, &[], None).unwrap());
    assert!(faults.is_empty(), "{faults:?}");
    assert!(samples == (0..300).map(|second| vec![churn(second)]).collect::<Vec<_>>());
    drop(writer);
    // A folder is no finished file, whatever its name.
    let named = folder.0.join("a-20000101T000000Z.phr");
    std::fs::create_dir(&named).unwrap();
    // A limit that holds from now on removes older files, too.
    options.rotation.keep = Some(1);
    options.rotation.time = Some(std::time::Duration::from_secs(10));
    let mut writer = RecordingWriter::open(&path, "local:", &options).unwrap();
    for second in 300..345 {
        writer.add(&snapshot(&[churn(second)]), &[names()]).unwrap();
    }
    drop(writer);
    std::fs::remove_dir(&named).unwrap();
    assert_eq!(files().len(), 2);
    let (samples, _) = contents(&mut open("file:r", &files(), &[], None).unwrap());
    assert!(samples.last().unwrap()[0] == churn(344) && samples.len() <= 20, "{}", samples.len());
    std::fs::remove_dir_all(&folder.0).unwrap();
}

#[test]
fn what_looks_like_many_frames_costs_one_look_each() {
    let file = Scratch::new();
    record(&file.0, 0..3);
    let sound = std::fs::read(&file.0).unwrap();
    let mut bytes = sound.clone();
    bytes.extend(b"PHR1".repeat(1 << 19));
    std::fs::write(&file.0, &bytes).unwrap();
    let (samples, faults) = contents(&mut reopen(&file.0));
    assert_eq!(samples.len(), 3);
    assert!(faults[0].message.contains("are not a complete sample"), "{faults:?}");
    // Frames that are sound, with a byte between them.
    let frame = &sound[..32 + u32::from_le_bytes(*sound[8..].first_chunk().unwrap()) as usize];
    let mut bytes = sound.clone();
    for _ in 0..12_000 {
        bytes.push(0);
        bytes.extend(frame);
    }
    bytes.extend(&sound);
    std::fs::write(&file.0, &bytes).unwrap();
    let (samples, _) = contents(&mut reopen(&file.0));
    assert_eq!(samples.len(), 3);
    // What is not read is not cut off either.
    let opened = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new());
    assert_eq!(opened.err().unwrap().kind(), SourceErrorKind::Malformed);
    assert!(std::fs::read(&file.0).unwrap() == bytes);
}
