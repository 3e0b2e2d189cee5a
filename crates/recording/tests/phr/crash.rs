//! Recordings after their writer was killed, the power failed, bytes were changed, or the clock
//! jumped.
use crate::shared::*;
use perfhive_engine::{Ask, Frame, ObjectQuery, Snapshot, Source, SourceErrorKind};
use perfhive_format::winperf::PERF_DATA_BLOCK;
use perfhive_format::{CounterSpec, CounterType, DataBlock, FileTime, TitleIndex};
use perfhive_recording::{RecordingOptions, RecordingWriter, open};
use perfhive_testkit::is_slow;
use perfhive_testkit::script::{Row, block};
use std::ops::Range;

/// Bytes of the header of a frame.
const HEADER: usize = 32;

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// How often something is tried that chance decides: `PERFHIVE_CRASHES`, or so many times.
fn rounds(usual: u64) -> u64 {
    let asked = std::env::var("PERFHIVE_CRASHES").map_or(usual, |rounds| rounds.parse().unwrap());
    if is_slow() { 2 } else { asked }
}

/// The range of the bytes of each frame of a recording, and the number of its kind.
pub(crate) fn frames(bytes: &[u8]) -> Vec<(Range<usize>, u8)> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let length = u32::from_le_bytes(*bytes[at + 8..].first_chunk().unwrap()) as usize;
        all.push((at..at + HEADER + length, bytes[at + 4]));
        at += HEADER + length;
    }
    all
}

/// The number of samples of a file that are not empty. Checks that each of them was written, and
/// that they are in the order in which they were.
#[track_caller]
fn sound_samples(file: &Scratch, written: &[Vec<u8>], what: impl std::fmt::Display) -> usize {
    let (samples, _) = contents(&mut reopen(&file.0));
    let mut rest = written.iter();
    let samples: Vec<_> = samples.into_iter().filter(|sample| !sample.is_empty()).collect();
    for sample in &samples {
        assert!(rest.any(|block| sample[0] == *block), "{what}: a sample that was not recorded");
    }
    samples.len()
}

#[test]
fn every_flipped_bit_of_a_file_is_found() {
    let file = Scratch::new();
    let counters = [CounterSpec::new(TitleIndex(180), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let small = |second: i64| {
        let (set, other) = ([4096 << second], [second as u64 * 1000]);
        let rows: [Row; 2] = [("one", None, &set), ("two", None, &other)];
        block("HOST", second, &[(PROCESS, &counters, &rows)])
    };
    // Two groups, so that damage to one leaves the other.
    let written: Vec<Vec<u8>> = (0..6).map(small).collect();
    for group in written.chunks(3) {
        let options = RecordingOptions::new();
        let mut writer = RecordingWriter::open(&file.0, "local:", &options).unwrap();
        for block in group {
            writer.add(&snapshot(std::slice::from_ref(block)), &[names()]).unwrap();
        }
        writer.finish().unwrap();
    }
    let bytes = std::fs::read(&file.0).unwrap();
    // Opening a file takes long under Wine.
    let step = if is_slow() { 509 } else { 1 + 12 * usize::from(cfg!(windows)) };
    for bit in (0..8 * bytes.len()).step_by(step) {
        let before = bit.saturating_sub(step) / 8;
        file.change(before, bytes[before]);
        file.change(bit / 8, bytes[bit / 8] ^ 1 << (bit % 8));
        let mut source = reopen(&file.0);
        assert_names(&mut source, bit / 8);
        let mut out = Snapshot::new();
        let mut rest = written.iter();
        let (mut is_told, mut found) = (false, 0);
        while source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_ok() {
            is_told |= !out.faults().is_empty();
            for frame in out.frames() {
                let is_known = rest.any(|block| frame.as_bytes() == block);
                assert!(is_known, "bit {bit}: a sample that was not recorded");
                found += 1;
            }
        }
        assert!(is_told, "bit {bit}: the damage is not told");
        assert!(found >= 3, "bit {bit}: {found} samples");
    }
}

/// What a power failure can leave of a file: everything up to the last `fdatasync`, and behind it any
/// sectors, in any order, with zeros in the place of those that were not written.
#[test]
fn a_power_failure_costs_only_what_was_not_synced() {
    let file = Scratch::new();
    record(&file.0, 0..125);
    let bytes = std::fs::read(&file.0).unwrap();
    let written: Vec<Vec<u8>> = (0..125).map(churn).chain((500..503).map(churn)).collect();
    let frames = frames(&bytes);
    // The first sample is synced in any case.
    let first = frames.iter().position(|(_, kind)| *kind == 3).unwrap() + 1;
    for seed in 1..=rounds(40) {
        let mut random = Random(seed * 0x9e37_79b9);
        const SECTOR: usize = 512;
        let synced = first + random.below(frames.len() - first);
        let kept = frames[..synced].iter().filter(|(_, kind)| *kind > 2).count();
        let durable = frames[synced - 1].0.end;
        let end = durable + random.below(bytes.len() - durable + 1);
        let mut left = bytes[..end].to_vec();
        for sector in (durable / SECTOR..end.div_ceil(SECTOR)).filter(|_| random.below(3) == 0) {
            let lost = usize::max(sector * SECTOR, durable)..usize::min((sector + 1) * SECTOR, end);
            left[lost].fill(0);
        }
        std::fs::write(&file.0, &left).unwrap();
        let found = sound_samples(&file, &written, format_args!("seed {seed}"));
        assert!(found >= kept, "seed {seed}: {found} of {kept} synced samples");
        record(&file.0, 500..503);
        let (continued, _) = contents(&mut reopen(&file.0));
        let found = sound_samples(&file, &written, format_args!("seed {seed}, continued"));
        assert!(found >= kept + 3, "seed {seed}: {found} of {kept} and three more");
        assert!(continued.last().unwrap()[0] == churn(502), "seed {seed}");
    }
}

/// A block that is neither compressed nor like the one before, so that writing it takes long.
fn large(number: i64) -> Vec<u8> {
    let mut bytes = churn(number);
    let mut random = Random(number as u64 + 1);
    let length = (1 << 18) + random.below(1 << 16);
    bytes.extend((0..length / 8).flat_map(|_| {
        random.below(1);
        random.0.to_le_bytes()
    }));
    let mut header: PERF_DATA_BLOCK = DataBlock::scan(&bytes).unwrap().0.header();
    header.TotalByteLength = bytes.len() as u32;
    header.write(&mut bytes).unwrap();
    bytes
}

/// The environment variable with the path of the file that a writer to be killed writes.
#[cfg(target_os = "linux")]
const KILLED_FILE: &str = "PERFHIVE_KILLED_FILE";

/// Records until it is killed, and says what it has written.
#[cfg(target_os = "linux")]
fn record_for_ever(path: &std::ffi::OsStr) {
    let mut writer = RecordingWriter::open(path, "local:", &RecordingOptions::new()).unwrap();
    let samples: Vec<Snapshot> = (0..4).map(|number| snapshot(&[large(number)])).collect();
    for number in 0.. {
        writer.add(&samples[number % 4], &[]).unwrap();
        println!("\nwritten {number}");
    }
}

/// Of 1,000 kills at least 50 must leave a torn end.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_writer_loses_no_sample_that_was_written() {
    use std::io::{BufRead, BufReader};
    if let Some(path) = std::env::var_os(KILLED_FILE) {
        // This is the writer, which the test below started.
        return record_for_ever(&path);
    }
    let kills = rounds(12);
    let written: Vec<Vec<u8>> = (0..4).map(large).collect();
    let mut random = Random(0x5eed);
    let (mut torn, mut samples) = (0, 0);
    for kill in 0..kills {
        let file = Scratch::new();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let name = "crash::a_killed_writer_loses_no_sample_that_was_written";
        command.args([name, "--exact", "--nocapture"]);
        command.env(KILLED_FILE, &file.0).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number = |line: String| line.strip_prefix("written ")?.parse::<usize>().ok();
        let mut last = lines.by_ref().find_map(|line| number(line.unwrap())).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before its end was written before.
        last = lines.filter_map(|line| number(line.unwrap())).last().unwrap_or(last);
        let (found, faults) = contents(&mut reopen(&file.0));
        assert!(found.len() > last, "kill {kill}: {} samples, {last} written", found.len());
        assert!(found.len() <= last + 2, "kill {kill}: {} samples, {last} written", found.len());
        for (number, sample) in found.iter().enumerate() {
            assert!(sample[0] == written[number % 4], "kill {kill}, sample {number}");
        }
        torn += usize::from(faults.iter().any(|of| of.message.contains("not a complete sample")));
        samples += found.len();
        record(&file.0, 500..501);
        let (continued, faults) = contents(&mut reopen(&file.0));
        assert!(faults.is_empty() && continued.len() == found.len() + 1, "kill {kill}: {faults:?}");
    }
    println!("{kills} kills, {torn} torn ends, {samples} samples");
    assert!(kills < 1000 || torn >= 50, "{torn} torn ends");
}

#[test]
fn a_recording_that_was_ended_before_its_first_sample_is_begun_again() {
    let file = Scratch::new();
    record(&file.0, 0..3);
    let bytes = std::fs::read(&file.0).unwrap();
    let head = frames(&bytes)[0].0.end;
    for end in 1..head + 5 {
        std::fs::write(&file.0, &bytes[..end]).unwrap();
        if end < 8 {
            // It may as well be a text with these letters, and no write ends there.
            let opened = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new());
            assert_eq!(opened.err().unwrap().kind(), SourceErrorKind::Malformed);
            continue;
        }
        if end < head {
            let error = open("file:r", std::slice::from_ref(&file.0), &[], None).err().unwrap();
            assert!(error.message().contains("ends before its first sample"), "{end}: {error}");
        }
        record(&file.0, 10..12);
        let (samples, faults) = contents(&mut reopen(&file.0));
        assert!(samples == [[churn(10)], [churn(11)]] && faults.is_empty(), "{end}: {faults:?}");
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_ends_there() {
    let file = Scratch::new();
    let written: Vec<Vec<u8>> = (0..5).map(large).collect();
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    for block in &written {
        writer.add(&snapshot(std::slice::from_ref(block)), &[]).unwrap();
    }
    drop(writer);
    let bytes = std::fs::read(&file.0).unwrap();
    let frames = frames(&bytes);
    for at in [frames.len() - 2, 3] {
        for end in [frames[at].0.start, frames[at].0.start + 7, frames[at].0.end - 1, 10, 0] {
            std::fs::write(&file.0, &bytes).unwrap();
            let mut source = reopen(&file.0);
            let mut out = Snapshot::new();
            source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
            let left = std::fs::OpenOptions::new().write(true).open(&file.0).unwrap();
            left.set_len(end as u64).unwrap();
            let (samples, _) = contents(&mut source);
            let samples: Vec<_> = samples.into_iter().filter(|sample| !sample.is_empty()).collect();
            assert!(samples.len() < 4, "{end}: {} samples", samples.len());
            assert!(samples.iter().zip(&written[1..]).all(|(a, b)| a[0] == *b), "{end}");
            let time = Frame::new(written[3].clone(), 1).unwrap().time();
            source.recording().unwrap().seek(Some(time)).unwrap();
        }
    }
}

/// A frame with a payload that unpacks to so many zeros.
fn bomb(kind: u8, zeros: usize) -> Vec<u8> {
    let payload = zstd::bulk::compress(&vec![0; zeros], 3).unwrap();
    let mut frame = b"PHR1".to_vec();
    frame.extend([kind, 0, 0, 0]);
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(crc32fast::hash(&payload).to_le_bytes());
    frame.extend(i64::MAX.to_le_bytes());
    frame.extend([0; 4]);
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame.extend(payload);
    frame
}

#[test]
fn a_compressed_bomb_is_a_damaged_sample() {
    for kind in 1..=4 {
        let file = Scratch::new();
        record(&file.0, 0..3);
        let mut bytes = std::fs::read(&file.0).unwrap();
        let frame = bomb(kind, 200 << 20);
        assert!(frame.len() < 100_000, "{} bytes", frame.len());
        bytes.extend(frame);
        std::fs::write(&file.0, bytes).unwrap();
        let (samples, faults) = contents(&mut reopen(&file.0));
        let samples: Vec<_> = samples.into_iter().filter(|sample| !sample.is_empty()).collect();
        assert!(samples == [[churn(0)], [churn(1)], [churn(2)]], "kind {kind}");
        assert!(!faults.is_empty(), "kind {kind}");
    }
}

#[test]
fn samples_that_are_out_of_proportion_to_the_file_are_refused() {
    // Eight megabytes that do not change: a sample is some bytes of the file.
    let counter = CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
    let rows: [Row; 1000] = [("i", None, &[0; 1000]); 1000];
    let block = block("BOX", 1, &[(TitleIndex(2), &[counter; 1000], &rows)]);
    let file = Scratch::new();
    let mut recording = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    for _ in 0..40 {
        recording.add(&snapshot(std::slice::from_ref(&block)), &[]).unwrap();
    }
    drop(recording);
    let mut source = reopen(&file.0);
    let mut out = Snapshot::new();
    let error = (0..40).find_map(|_| source.collect(&Ask::everything(), &mut out).err());
    assert_eq!(error.unwrap().kind(), SourceErrorKind::Malformed);
    // A seek begins anew.
    source.recording().unwrap().seek(None).unwrap();
    source.collect(&Ask::everything(), &mut out).unwrap();
}

#[test]
fn samples_of_a_clock_that_jumps_stay_in_the_order_of_the_file() {
    let file = Scratch::new();
    let seconds: Vec<i64> = (1000..1070).chain(20..90).chain(100_000..100_070).collect();
    let mut writer = RecordingWriter::open(&file.0, "local:", &RecordingOptions::new()).unwrap();
    for second in &seconds {
        writer.add(&snapshot(&[churn(*second)]), &[]).unwrap();
    }
    drop(writer);
    let (samples, faults) = contents(&mut reopen(&file.0));
    let written: Vec<_> = seconds.iter().map(|second| vec![churn(*second)]).collect();
    assert!(samples == written && faults.is_empty(), "{faults:?}");
    let time = |second| Frame::new(churn(second), 1).unwrap().time();
    let mut source = reopen(&file.0);
    let span = source.recording().unwrap().span().unwrap();
    assert_eq!((span.begin, span.end, span.samples), (time(1000), time(100_069), 210));
    let mut out = Snapshot::new();
    for (to, found) in [(time(1030), 1030), (time(100_010), 100_010), (FileTime(0), 1000)] {
        source.recording().unwrap().seek(Some(to)).unwrap();
        source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
        assert!(out.frames()[0].as_bytes() == churn(found), "{found}");
    }
}

/// The damage of each group is told, though no sample follows that could carry it.
#[test]
fn damage_of_the_last_groups_is_told_at_the_end() {
    let file = Scratch::new();
    record(&file.0, 0..190);
    let mut bytes = std::fs::read(&file.0).unwrap();
    let samples: Vec<_> =
        frames(&bytes).into_iter().filter(|(_, kind)| [3, 4].contains(kind)).collect();
    let keyframes: Vec<usize> = (0..samples.len()).filter(|at| samples[*at].1 == 3).collect();
    let (whole, last) = (keyframes[2], &keyframes[2..]);
    let places: Vec<usize> = last.iter().map(|at| samples[*at].0.start).collect();
    assert_eq!(places.len(), 2);
    // Behind the header, so that it is the payload that is damaged.
    places.iter().for_each(|at| bytes[at + HEADER] ^= 1);
    std::fs::write(&file.0, bytes).unwrap();
    let (samples, faults) = contents(&mut reopen(&file.0));
    assert_eq!(samples.iter().filter(|sample| !sample.is_empty()).count(), whole);
    let told: Vec<String> = faults.iter().map(|fault| fault.message.to_string()).collect();
    let what = "a sample is damaged; those up to the next keyframe are left out";
    let expected: Vec<String> =
        places.iter().map(|at| format!("offset 0x{at:x}: {what}")).collect();
    assert_eq!(told, expected);
}
