//! What a sample costs: bytes, allocations, system calls.

use crate::shared::*;
use perfhive_engine::{Frame, Snapshot, SourceErrorKind};
use perfhive_format::winperf::PERF_DATA_BLOCK;
use perfhive_format::{CounterSpec, CounterType, TitleIndex};
use perfhive_recording::{RecordingOptions, RecordingWriter};
use perfhive_testkit::alloc;
use perfhive_testkit::script::{Row, block};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

/// Processes of one name, with values far from each other, in this order.
fn processes(second: i64, ids: &[u64]) -> Snapshot {
    let counters = [
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
    ];
    let far = |id: u64| id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let rows: Vec<[u64; 3]> = ids.iter().map(|id| [*id, far(*id), far(id + 1000)]).collect();
    let rows: Vec<Row> = rows.iter().map(|row| ("worker", None, &row[..])).collect();
    snapshot(&[block("HOST", second, &[(PROCESS, &counters, &rows)])])
}

fn writer(file: &Scratch) -> RecordingWriter {
    RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap()
}

#[test]
fn instances_that_begin_end_or_move_cost_their_own_bytes() {
    let file = Scratch::new();
    let mut writer = writer(&file);
    let all: Vec<u64> = (1..=500).collect();
    let without = |gone: &[u64]| all.iter().copied().filter(|id| !gone.contains(id)).collect();
    let reversed: Vec<u64> = all.iter().rev().copied().collect();
    let steps: [(&str, Vec<u64>, u64); 8] = [
        ("first", all.clone(), 30_000),
        ("nothing changed", all.clone(), 100),
        ("one ended", without(&[250]), 100),
        ("it began again", all.clone(), 150),
        ("many ended", (101..=500).collect(), 100),
        ("as many began", all.clone(), 5_000),
        ("the order changed", reversed, 1_500),
        ("some ended", without(&[1, 7, 300, 499]), 1_500),
    ];
    for (second, (what, ids, most)) in (0..).zip(steps) {
        let before = writer.bytes();
        writer.add(&processes(second, &ids), &[]).unwrap();
        let bytes = writer.bytes() - before;
        assert!(bytes <= most, "{what}: {bytes} bytes");
    }
    drop(writer);
    let (samples, faults) = contents(&mut reopen(&file.0));
    assert_eq!((samples.len(), faults.len()), (8, 0));
}

#[test]
fn a_warm_sample_is_one_write_and_no_allocation() {
    let file = Scratch::new();
    let mut writer = writer(&file);
    let samples: Vec<Snapshot> = (0..59).map(|second| snapshot(&[churn(second)])).collect();
    let (warm, measured) = samples.split_at(40);
    warm.iter().for_each(|sample| writer.add(sample, &[]).unwrap());
    let before = written();
    let ((), allocated) = alloc::count(|| {
        measured.iter().for_each(|sample| writer.add(sample, &[]).unwrap());
    });
    let count = measured.len() as u64;
    assert!(allocated.count <= PATHS * count, "{} in {count} samples", allocated.count);
    if let (Some(before), Some(after)) = (before, written()) {
        assert_eq!(after - before, count);
    }
}

/// Windows takes the path of the file, which is looked for at each sample, in UTF-16.
const PATHS: u64 = if cfg!(windows) { 1 } else { 0 };

/// From one keyframe over the next one, with instances that stay for two samples.
#[test]
fn a_sample_that_is_cut_anew_takes_one_list_and_others_nothing() {
    let file = Scratch::new();
    let mut writer = writer(&file);
    let ids = |second: i64| if second / 2 % 2 == 0 { 1..90 } else { 2..91 };
    let sample = |second: i64| processes(second, &ids(second).collect::<Vec<u64>>());
    let samples: Vec<Snapshot> = (0..130).map(sample).collect();
    let (warm, measured) = samples.split_at(65);
    warm.iter().for_each(|sample| writer.add(sample, &[]).unwrap());
    let ((), allocated) = alloc::count(|| {
        measured.iter().for_each(|sample| writer.add(sample, &[]).unwrap());
    });
    let count = measured.len() as u64;
    // The list and its counter at every second sample, and buffers that grow with the keyframe.
    let most = (PATHS + 1) * count + 10;
    assert!(allocated.count <= most, "{} in {count} samples", allocated.count);
}

/// The number of system calls of this thread that wrote; `None` where the system does not count
/// them.
fn written() -> Option<u64> {
    // Under Wine the file is there, and counts what Wine writes too.
    if !cfg!(target_os = "linux") {
        return None;
    }
    let io = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("syscw: ")?.parse().ok())
}

#[test]
fn a_sample_that_no_reader_accepts_is_refused_and_the_next_one_is_written() {
    let file = Scratch::new();
    let mut writer = writer(&file);
    let mut bytes = churn(1);
    bytes.resize((128 << 20) + 8, 0);
    let mut header = PERF_DATA_BLOCK::read(&bytes).unwrap();
    header.TotalByteLength = bytes.len() as u32;
    header.write(&mut bytes).unwrap();
    let mut large = Snapshot::new();
    large.push_frame(Arc::new(Frame::new(bytes, 1).unwrap()), "source");
    writer.add(&snapshot(&[churn(0)]), &[]).unwrap();
    let error = writer.add(&large, &[]).unwrap_err();
    assert_eq!(error.kind(), SourceErrorKind::Malformed);
    assert!(error.to_string().contains("larger than 128 MiB"), "{error}");
    writer.add(&snapshot(&[churn(2)]), &[]).unwrap();
    drop(writer);
    let (samples, faults) = contents(&mut reopen(&file.0));
    assert!(samples == [vec![churn(0)], vec![churn(2)]]);
    assert!(faults.is_empty(), "{faults:?}");
}
