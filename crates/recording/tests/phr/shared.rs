//! What the tests of recordings share: made-up samples, written and read again.

use perfhive_engine::{Ask, Fault, Frame, ObjectQuery, Snapshot, Source, TitleDatabase};
use perfhive_format::{CounterSpec, CounterType, LanguageId, TitleIndex};
use perfhive_recording::{RecordingOptions, RecordingWriter, ReplaySource, open};
use perfhive_testkit::script::{Row, block, titles};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const PROCESS: TitleIndex = TitleIndex(230);

/// A file of the test, removed at its end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("perfhive-phr-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Replaces the byte at the offset `at`.
    pub(crate) fn change(&self, at: usize, byte: u8) {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = std::fs::OpenOptions::new().write(true).open(&self.0).unwrap();
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A block in which processes come, go, and change their places.
pub(crate) fn churn(second: i64) -> Vec<u8> {
    let counters = [
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let mut ids: Vec<u64> = (0..30).filter(|id| !(second as u64 + id).is_multiple_of(7)).collect();
    if second % 11 == 3 {
        ids.reverse();
    }
    let rows: Vec<(String, [u64; 3])> = ids
        .into_iter()
        .map(|id| {
            let name = if id % 5 == 0 { "worker".to_string() } else { format!("p{id}") };
            (name, [id, second as u64 * id * 1000, 4096 << ((id + second as u64) % 20)])
        })
        .collect();
    let rows: Vec<Row> = rows.iter().map(|(name, row)| (name.as_str(), None, &row[..])).collect();
    block("HOST", second, &[(PROCESS, &counters, &rows)])
}

pub(crate) fn snapshot(blocks: &[Vec<u8>]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (number, bytes) in blocks.iter().enumerate() {
        let label = (number > 0).then(|| Arc::from("published"));
        let frame = Frame::new(bytes.clone(), 1).unwrap().recorded_by(number as u64, label);
        snapshot.push_frame(Arc::new(frame), "source");
    }
    snapshot
}

pub(crate) fn names() -> Arc<TitleDatabase> {
    let names = titles(&[(230, "Process"), (6, "% Processor Time"), (180, "Working Set")]);
    let help = titles(&[(231, "Processes.")]);
    Arc::new(TitleDatabase::new(LanguageId::ENGLISH, &names, &help))
}

/// Appends a sample of [`churn`] for each of these seconds to a recording.
pub(crate) fn record(path: &Path, seconds: std::ops::Range<i64>) {
    let mut writer = RecordingWriter::open(path, "local:", &RecordingOptions::new()).unwrap();
    for second in seconds {
        writer.add(&snapshot(&[churn(second)]), &[names()]).unwrap();
    }
    writer.finish().unwrap();
}

pub(crate) fn reopen(path: &Path) -> ReplaySource {
    open("file:r", &[path.to_path_buf()], &[], None).unwrap()
}

/// Checks that a recording of [`churn`] has its machine, object and names, although the byte at
/// `place` is wrong.
#[track_caller]
pub(crate) fn assert_names(source: &mut dyn Source, place: usize) {
    let catalogue = source.catalogue(&Ask::everything()).unwrap();
    assert_eq!((catalogue.machine.as_str(), catalogue.objects.len()), ("HOST", 1), "{place}");
    let titles = source.titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(PROCESS), Some("Process"), "{place}");
}

/// The blocks of all samples that a recording answers with, and its faults.
pub(crate) fn contents(source: &mut dyn Source) -> (Vec<Vec<Vec<u8>>>, Vec<Fault>) {
    let (mut samples, mut faults) = (Vec::new(), Vec::new());
    let mut snapshot = Snapshot::new();
    loop {
        match source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot) {
            Ok(()) => {
                let bytes = |frame: &Arc<Frame>| frame.as_bytes().to_vec();
                samples.push(snapshot.frames().iter().map(bytes).collect());
                faults.extend_from_slice(snapshot.faults());
            }
            Err(error) if error.is_end_of_data() => return (samples, faults),
            Err(error) => panic!("{error}"),
        }
    }
}
