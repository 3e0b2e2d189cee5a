//! Records of experiments as recordings.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_engine::{Ask, Query, Snapshot, Source, SourceErrorKind};
use perfhive_format::FileTime;
use perfhive_recording::{EventRecording, RecordingOptions, RecordingWriter, ReplaySource, open};
use perfhive_testkit::conformance;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of the test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: impl AsRef<[u8]>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-records-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn open(&self) -> ReplaySource {
        open("file:records", std::slice::from_ref(&self.0), &[], None).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const SENSOR: &str = "linux.procfs/Process/Working Set#7";

fn record(source: &str, event: &str, kind: &str, time: f64, value: Option<f64>) -> Value {
    json!({"kind": "record", "source": source, "event": event, "type": kind, "time": time, "pid": 7,
        "tid": 7, "delay": 2e-5, "sample": 1e-5, "values": {SENSOR: value}, "raw": {}})
}

fn source(name: &str, interval: Option<f64>) -> Value {
    let sensor = json!({"name": SENSOR, "unit": "B", "raw_per_second": null});
    json!({"kind": "source", "source": name, "interval": interval, "sensors": [sensor]})
}

/// Calls and an interval. Their lines are not in the order of time.
fn known() -> Vec<Value> {
    vec![
        json!({"kind": "experiment", "version": 1, "program": ["shop"], "machine": "box", "pid": 7,
            "started": "2026-11-24T10:00:00Z"}),
        source("calls", None),
        record("calls", "checkout", "start", 1.0, Some(111.0)),
        record("calls", "paid", "point", 1.5, Some(111.0)),
        record("calls", "checkout", "end", 3.0, Some(111.0)),
        json!({"kind": "section", "event": "checkout", "time": 1.0, "pid": 7, "tid": 7, "seconds": 2.0,
            "thread_seconds": 0.5, "calls": 2, "call_seconds": 0.25, "call_thread_seconds": 0.25,
            "growth": {}}),
        source("interval 1s", Some(1.0)),
        record("interval 1s", "interval 1s", "point", 1.25, Some(4096.0)),
        record("interval 1s", "interval 1s", "point", 2.25, None),
        json!({"kind": "end", "seconds": 4.0, "call_thread_seconds": 0.125, "unmatched": 0, "sources": []}),
    ]
}

fn text(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

const PATHS: [&str; 5] = [
    r"\Experiment Events(checkout)\Events",
    r"\Experiment Events(checkout)\Open Sections",
    r"\Experiment Events(checkout)\Section Seconds",
    r"\Experiment Events(checkout)\Section Thread Seconds",
    r"\Process(7)\Working Set",
];

/// The values of [`PATHS`] in each sample.
fn values(source: ReplaySource) -> Vec<[Option<f64>; 5]> {
    let mut query = Query::new(source).unwrap();
    let ids = PATHS.map(|path| query.add(path).unwrap());
    let mut samples = Vec::new();
    while query.collect().is_ok() {
        samples.push(ids.map(|id| {
            let reading = query.readings_of(id).next().unwrap();
            let value = reading.value.as_ref().ok().map(|value| value.as_f64());
            value.filter(|value| !value.is_nan())
        }));
    }
    samples
}

/// The samples of [`known`]: start, interval, point, interval, end of the section, end.
fn expected() -> Vec<[Option<f64>; 5]> {
    let size = Some(4096.0);
    vec![
        [Some(1.0), Some(1.0), None, None, Some(111.0)],
        // Once an interval has the sensor, a reading at another event is left out.
        [Some(1.0), Some(1.0), None, None, size],
        [Some(1.0), Some(1.0), None, None, size],
        // The interval's reading has no value, so the one before is not kept.
        [Some(1.0), Some(1.0), None, None, None],
        // Two calls of 0.125 s are taken off.
        [Some(1.0), Some(0.0), Some(1.75), Some(0.25), None],
        [Some(1.0), Some(0.0), None, None, None],
    ]
}

#[test]
fn events_and_readings_are_samples_in_the_order_of_time() {
    let file = Scratch::new(text(&known()));
    let mut source = file.open();
    let recording = source.recording().unwrap();
    let span = recording.span().unwrap();
    assert_eq!((span.begin.to_string().as_str(), span.samples), ("2026-11-24T10:00:01.000Z", 6));
    assert_eq!(span.end.0 - span.begin.0, 3 * FileTime::PER_SECOND);
    assert_eq!(values(file.open()), expected());
    // From a time on, counts are those since the beginning.
    let mut source = file.open();
    let later = FileTime(span.begin.0 + 2 * FileTime::PER_SECOND);
    source.recording().unwrap().seek(Some(later)).unwrap();
    assert_eq!(values(source), expected()[4..]);
    conformance::source(|| Box::new(file.open()));
}

#[test]
fn section_that_may_have_ended_unseen_is_not_open() {
    let mut lines = known();
    // The end is lost, and two more sections.
    lines.retain(|line| line["kind"] != "section");
    lines[4]["gap"] = json!(5);
    let open = values(Scratch::new(text(&lines)).open());
    assert_eq!(
        open.iter().map(|one| one[1].unwrap()).collect::<Vec<f64>>(),
        [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    );
    lines[4]["type"] = json!("start");
    let open = values(Scratch::new(text(&lines)).open());
    assert_eq!(open[4][..2], [Some(2.0), Some(1.0)]);
}

#[test]
fn records_are_the_same_behind_a_recording() {
    let (file, copy) = (Scratch::new(text(&known())), Scratch::new(""));
    let mut source = file.open();
    let titles = source.titles(perfhive_format::LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    let mut writer = RecordingWriter::open(&copy.0, "records", &RecordingOptions::new()).unwrap();
    let mut sample = Snapshot::new();
    while source.collect(&Ask::everything(), &mut sample).is_ok() {
        writer.add(&sample, std::slice::from_ref(&titles)).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(values(copy.open()), expected());
}

/// The bytes of a recording to which these texts were written, each with one call.
fn recorded(texts: &[String]) -> Vec<u8> {
    use std::io::Write as _;
    let file = Scratch::new("");
    let mut out = EventRecording::create(&file.0, "box", "shop").unwrap();
    texts.iter().for_each(|text| out.write_all(text.as_bytes()).unwrap());
    drop(out);
    std::fs::read(&file.0).unwrap()
}

#[test]
fn lines_in_a_recording_are_the_same_and_read_alone() {
    let file =
        Scratch::new(recorded(&known().iter().map(|line| format!("{line}\n")).collect::<Vec<_>>()));
    assert_eq!(values(file.open()), expected());
    conformance::source(|| Box::new(file.open()));
    let both = [file.0.clone(), file.0.clone()];
    assert_eq!(open("both", &both, &[], None).err().unwrap().kind(), SourceErrorKind::Mismatch);
    let more = RecordingWriter::open(&file.0, "records", &RecordingOptions::new());
    assert_eq!(more.err().unwrap().kind(), SourceErrorKind::Mismatch);
    assert_eq!(values(file.open()), expected());
}

#[test]
fn every_cut_and_every_changed_byte_of_a_recording_of_lines_is_read_or_refused() {
    let lines = known();
    let (first, second) = lines.split_at(6);
    let whole = recorded(&[text(first), text(second)]);
    let file = Scratch::new("");
    let read = |bytes: &[u8]| {
        std::fs::write(&file.0, bytes).unwrap();
        let Ok(mut source) = open("records", std::slice::from_ref(&file.0), &[], None) else {
            return false;
        };
        let mut sample = Snapshot::new();
        let (mut samples, mut faults) = (0, 0);
        while source.collect(&Ask::everything(), &mut sample).is_ok() {
            samples += 1;
            faults += sample.faults().len();
        }
        // Behind a head alone there is nothing.
        let is_told = faults > 0 || samples == 0;
        assert!(samples == 6 || samples < 6 && is_told, "{samples} samples, {faults} faults");
        samples > 0
    };
    (0..whole.len()).for_each(|end| _ = read(&whole[..end]));
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 1 << (place % 8);
        // One damaged place costs one of the two frames at most.
        assert!(read(&changed), "{place}");
    }
}

#[test]
fn recording_whose_lines_are_out_of_proportion_is_refused() {
    let mut lines = vec![known().remove(0), source("calls", None)];
    lines.extend((0..40).map(|_| json!({"kind": "x", "padding": " ".repeat(1_000_000)})));
    lines.push(record("calls", "paid", "point", 1.0, Some(1.0)));
    let bytes = recorded(&[text(&lines)]);
    assert!(bytes.len() < 30_000, "{}", bytes.len());
    let file = Scratch::new(bytes);
    let error = open("bomb", std::slice::from_ref(&file.0), &[], None).err().unwrap();
    assert!(error.to_string().contains("1024 times"), "{error}");
}

#[test]
fn section_without_its_start_is_open_from_its_time_on() {
    let mut lines = known();
    lines.remove(2);
    let mut without = expected();
    // The reading at the start is gone, which did not count.
    without[0][4] = None;
    assert_eq!(values(Scratch::new(text(&lines)).open()), without);
}

#[test]
fn program_that_ran_shorter_than_its_events_took_makes_no_sample_before_them() {
    let mut lines = known();
    lines.last_mut().unwrap()["seconds"] = 0.5.into();
    let mut source = Scratch::new(text(&lines)).open();
    let span = source.recording().unwrap().span().unwrap();
    assert_eq!((span.begin.to_string().as_str(), span.samples), ("2026-11-24T10:00:01.000Z", 5));
    assert_eq!(values(source), expected()[..5]);
}

#[test]
fn names_beyond_the_limits_are_left_out_and_counted() {
    let mut lines = vec![source("calls", None)];
    for number in 0..300 {
        lines.push(record("calls", &format!("event {number}"), "point", 1.0, Some(1.0)));
    }
    let twice = "other.source/Process/Working Set#7";
    let mut wide = record("calls", "event 1", "point", 2.0, Some(2.0));
    for number in 0..200 {
        wide["values"][format!("a/Square/Counter {number}#Instance {number}")] = json!(1.0);
    }
    wide["values"][twice] = json!(3.0);
    lines.push(wide);
    // An event without room; its reading has some.
    lines.extend([
        source("interval 1s", Some(1.0)),
        record("interval 1s", "interval 1s", "point", 3.0, Some(7.0)),
    ]);
    let mut sample = Snapshot::new();
    let mut source = Scratch::new(text(&lines)).open();
    source.collect(&Ask::everything(), &mut sample).unwrap();
    let faults: Vec<String> =
        sample.faults().iter().map(|fault| fault.message.to_string()).collect();
    // 45 names of events, 137 sensors beyond a square of 63, and one that another source has.
    assert!(faults.iter().any(|one| one.starts_with("183 events and readings")), "{faults:?}");
    assert!(faults.iter().any(|one| one.contains("1970")), "{faults:?}");
    let events = sample.objects().next().unwrap();
    assert_eq!(events.view().instances().count(), 256);
    let mut query = Query::new(Scratch::new(text(&lines)).open()).unwrap();
    let id = query.add(r"\Process(7)\Working Set").unwrap();
    let mut last = None;
    while query.collect().is_ok() {
        let reading = query.readings_of(id).next().unwrap();
        last = reading.value.as_ref().ok().map(|value| value.as_f64());
    }
    assert_eq!(last, Some(7.0));
}

#[test]
fn file_without_events_is_refused_and_so_is_another_version() {
    let kind = |lines: &[Value]| {
        let file = Scratch::new(text(lines));
        open("records", std::slice::from_ref(&file.0), &[], None).err().unwrap().kind()
    };
    assert_eq!(kind(&known()[..2]), SourceErrorKind::Malformed);
    let mut newer = known();
    newer[0]["version"] = json!(2);
    assert_eq!(kind(&newer), SourceErrorKind::Mismatch);
}

#[test]
fn every_cut_and_every_changed_byte_is_a_recording_or_refused() {
    // A line of each kind.
    let mut lines = known();
    lines.retain(|line| line["source"] != "calls" || line["event"] == "paid");
    lines.truncate(4);
    lines.extend(known().pop());
    let whole = text(&lines).into_bytes();
    let file = Scratch::new("");
    let read = |bytes: &[u8]| {
        std::fs::write(&file.0, bytes).unwrap();
        if let Ok(mut source) = open("records", std::slice::from_ref(&file.0), &[], None) {
            let mut sample = Snapshot::new();
            let mut samples = 0;
            while source.collect(&Ask::everything(), &mut sample).is_ok() {
                samples += 1;
            }
            assert!(samples <= 10, "{samples}");
            source.catalogue(&Ask::everything()).unwrap();
        }
    };
    (0..whole.len()).for_each(|end| read(&whole[..end]));
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] = if whole[place].is_ascii_digit() { b'9' } else { whole[place] ^ 1 };
        read(&changed);
    }
}
