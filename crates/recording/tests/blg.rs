//! Binary logs of perfmon, on a real one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{Ask, ObjectQuery, Query, Snapshot, Source, SourceErrorKind};
use perfhive_format::{DataBlock, LanguageId, TitleIndex};
use perfhive_recording::{ReplaySource, open};
use perfhive_testkit::real;
use std::path::PathBuf;

const LOG: &str = "logs/pal_SampleLog.blg";

fn source() -> Option<ReplaySource> {
    let path = real::root()?.join(LOG);
    path.is_file().then(|| open("file:log", &[path], &[]).unwrap())
}

/// How many samples a recording has.
fn samples(source: &mut ReplaySource) -> u64 {
    source.recording().unwrap().span().unwrap().samples
}

/// A file of the test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("perfhive-blg-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn samples_are_the_blocks_that_windows_wrote() {
    let Some(mut source) = source() else { return };
    assert_eq!(samples(&mut source), 11);
    let mut snapshot = Snapshot::new();
    for sample in 0..3 {
        source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).unwrap();
        assert!(snapshot.faults().is_empty(), "{:?}", snapshot.faults());
        assert_eq!(snapshot.machine().as_deref(), Some("ZACH-PC"));
        // The calendar time is UTC, as the clock of 100 ns is; in the log it is local.
        let time = snapshot.system_time().unwrap();
        let clock = snapshot.objects().next().unwrap().frame().clocks().time_100ns;
        assert_eq!(time, perfhive_format::FileTime(clock).to_system_time());
        for (place, object) in [236, 638, 4, 510, 234, 230, 238, 2].into_iter().enumerate() {
            let name = format!("windows-vista/s0{sample}_o{place}_{object}.bin");
            let Some(bytes) = real::file(&name) else { return };
            let block = DataBlock::parse(&bytes).unwrap();
            let written = block.object(TitleIndex(object)).unwrap();
            let read = snapshot.object(TitleIndex(object)).unwrap();
            assert_eq!(read.view().as_bytes(), written.as_bytes(), "{name}");
            assert_eq!(read.frame().clocks(), block.clocks(), "{name}");
        }
    }
}

#[test]
fn titles_of_the_log_are_those_of_its_machine() {
    let Some(mut source) = source() else { return };
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(TitleIndex(230)), Some("Process"));
    assert_eq!(titles.all().len(), 1839);
}

#[test]
fn paths_have_values_as_on_a_live_machine() {
    let Some(source) = source() else { return };
    let mut query = Query::new(source).unwrap();
    query.add(r"\System\File Read Operations/sec").unwrap();
    query.add(r"\Process(_Total)\Working Set").unwrap();
    let mut rates = Vec::new();
    while query.collect().is_ok() {
        let value = |place: usize| query.readings()[place].value.as_ref().ok().map(|v| v.as_f64());
        assert!(value(1).unwrap() > 100e6);
        rates.extend(value(0));
    }
    assert_eq!(rates.len(), 10);
}

#[test]
fn a_log_that_is_cut_off_keeps_the_samples_before() {
    let Some(bytes) = real::file(LOG) else { return };
    let mut last = 0;
    for end in (0..bytes.len()).step_by(4093) {
        let file = Scratch::new("cut", &bytes[..end]);
        match open("file:log", std::slice::from_ref(&file.0), &[]) {
            Ok(mut source) => {
                let count = samples(&mut source);
                assert!(count >= last, "{end}");
                last = count;
            }
            Err(error) => {
                assert_eq!((last, error.kind()), (0, SourceErrorKind::Malformed), "{error}");
            }
        }
    }
    assert!(last >= 9, "{last}");
}

#[test]
fn changed_bytes_of_a_log_are_faults_or_other_values_and_never_panic() {
    let Some(mut bytes) = real::file(LOG) else { return };
    // Every field of the buffers' headers and first events, and many other places.
    let headers = (0..bytes.len()).step_by(0x10000).flat_map(|start| start..start + 0x100);
    let places: Vec<usize> = headers.chain((0..bytes.len()).step_by(997)).collect();
    let file = Scratch::new("changed", &bytes);
    for place in places.into_iter().step_by(3) {
        let before = bytes[place];
        bytes[place] ^= 0xff;
        std::fs::write(&file.0, &bytes).unwrap();
        if let Ok(mut source) = open("file:log", std::slice::from_ref(&file.0), &[]) {
            let mut snapshot = Snapshot::new();
            while source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).is_ok() {}
        }
        bytes[place] = before;
    }
}
