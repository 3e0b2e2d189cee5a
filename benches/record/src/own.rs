//! perfhive's own recording, in this process: its bytes, and what encoding costs beside collecting.

use anyhow::{Context, Result};
use perfhive::recording::{RecordingOptions, RecordingWriter};
use perfhive::{Ask, LanguageId, ObjectQuery, Snapshot, Source, open};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a recording took.
#[derive(Default)]
pub struct Taken {
    /// Samples behind the first one, of which the times and values are.
    pub samples: u64,
    /// Bytes of all samples, with names and definitions.
    pub bytes: u64,
    /// Counters of instances in all of these samples.
    pub values: u64,
    /// Of these, how many differ from the sample before.
    pub changed: u64,
    /// Processor time of collecting, and of encoding and writing.
    pub collecting: Duration,
    pub recording: Duration,
}

/// Records everything of this machine, a sample a second.
pub fn record(path: &Path, count: u64) -> Result<Taken> {
    let mut source = open("proc:")?;
    let titles = vec![source.titles(LanguageId::ENGLISH, &Ask::nothing())?];
    let mut writer = RecordingWriter::open(path, "proc:", &RecordingOptions::new())?;
    let mut out = Snapshot::new();
    let mut taken = Taken::default();
    let mut next = Instant::now();
    for number in 0..=count {
        let start = spent();
        source.collect(&Ask::new(ObjectQuery::Global), &mut out)?;
        let collected = spent();
        writer.add(&out, &titles)?;
        let written = spent();
        // The first sample opens everything, and writes names and definitions.
        if number > 0 {
            taken.collecting += collected - start;
            taken.recording += written - collected;
            taken.samples += 1;
        }
        next += Duration::from_secs(1);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    taken.bytes = writer.finish()?;
    count_values(path, &mut taken)?;
    Ok(taken)
}

/// Counts the values of a recording. Done beside the recorder, this would put its memory out of the caches and make
/// the allocator give memory back that the next sample takes again.
fn count_values(path: &Path, taken: &mut Taken) -> Result<()> {
    let mut source = open(&format!("file:{}", path.display()))?;
    let samples = source.recording().context("no recording")?.span()?.samples;
    anyhow::ensure!(samples == taken.samples + 1, "{samples} samples of {}", taken.samples + 1);
    let (mut out, mut before) = (Snapshot::new(), HashMap::new());
    for number in 0..samples {
        source.collect(&Ask::new(ObjectQuery::Global), &mut out)?;
        let (values, changed) = compare(&out, &mut before);
        if number > 0 {
            taken.values += values;
            taken.changed += changed;
        }
    }
    Ok(())
}

/// Counts the values of a sample, and those that differ from the sample before.
fn compare(out: &Snapshot, before: &mut HashMap<(u32, String, u64), Vec<u8>>) -> (u64, u64) {
    let (mut values, mut changed) = (0, 0);
    let mut now = HashMap::new();
    for object in out.objects() {
        let view = object.view();
        let counters: Vec<_> = view.counters().collect();
        let id = counters.iter().find(|counter| counter.name_index().0 == 784);
        let mut row = |name: String, block: perfhive_format::CounterBlock<'_>| {
            let id = id.and_then(|id| block.value(id).ok()).unwrap_or(0);
            let key = (view.name_index().0, name, id);
            let known = before.get(&key);
            for counter in &counters {
                values += 1;
                let place = counter.offset() as usize;
                let bytes =
                    |of: &[u8]| of.get(place..place + counter.size() as usize).map(<[u8]>::to_vec);
                let same = known.and_then(|known| bytes(known)) == bytes(block.as_bytes());
                changed += u64::from(!same);
            }
            now.insert(key, block.as_bytes().to_vec());
        };
        if let Some(block) = view.counter_block() {
            row(String::new(), block);
        }
        for instance in view.instances() {
            row(instance.name().to_string(), instance.counter_block());
        }
    }
    *before = now;
    (values, changed)
}

/// Processor time of this thread.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What a day's recording takes to open, and a time in it to find: processor time, which is what passes
/// where nothing else is at work, with the file in memory.
pub struct Day {
    pub bytes: u64,
    pub opening: Duration,
    pub seek: Duration,
    pub slowest_seek: Duration,
}

/// Samples of a day, one a second.
pub const DAY: usize = 86_400;

/// Makes a recording of a day from that of some minutes, one behind the other with later times.
pub fn day(minutes: &Path, path: &Path) -> Result<Day> {
    let address = format!("file:{}", minutes.display());
    let mut source = open(&address)?;
    let titles = vec![source.titles(LanguageId::ENGLISH, &Ask::nothing())?];
    let mut writer = RecordingWriter::open(path, "proc:", &RecordingOptions::new())?;
    let mut out = Snapshot::new();
    let first = source.recording().context("no recording")?.span()?.begin.0;
    for number in 0..DAY {
        if source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_err() {
            source.recording().context("no recording")?.seek(None)?;
            source.collect(&Ask::new(ObjectQuery::Global), &mut out)?;
        }
        let time = first + number as i64 * 10_000_000;
        let mut moved = Snapshot::new();
        for frame in out.frames() {
            let mut bytes = frame.as_bytes().to_vec();
            let mut header = perfhive_format::DataBlock::scan(&bytes)?.0.header();
            header.PerfTime100nSec = time;
            header.write(&mut bytes).context("no header")?;
            let frame = perfhive::Frame::new(bytes, 1)?;
            moved.push_frame(std::sync::Arc::new(frame), "proc:");
        }
        writer.add(&moved, &titles)?;
    }
    let bytes = writer.finish()?;
    let address = format!("file:{}", path.display());
    let mut openings: Vec<Duration> = Vec::new();
    for _ in 0..7 {
        let begun = spent();
        let mut source = open(&address)?;
        let span = source.recording().context("no recording")?.span()?;
        openings.push(spent() - begun);
        anyhow::ensure!(span.samples == DAY as u64, "{} samples", span.samples);
    }
    let mut source = open(&address)?;
    let mut seeks: Vec<Duration> = Vec::new();
    for number in 0..301_usize {
        // A step that meets all places between two keyframes.
        let second = (number * 7919 + 31) % DAY;
        let time = perfhive::FileTime(first + second as i64 * 10_000_000);
        let begun = spent();
        source.recording().context("no recording")?.seek(Some(time))?;
        source.collect(&Ask::new(ObjectQuery::Global), &mut out)?;
        seeks.push(spent() - begun);
        let found = out.frames().first().context("no frame")?.time();
        anyhow::ensure!(found == time, "{found} instead of {time}");
    }
    openings.sort_unstable();
    seeks.sort_unstable();
    let slowest_seek = seeks.last().copied().unwrap_or_default();
    Ok(Day {
        bytes,
        opening: openings[openings.len() / 2],
        seek: seeks[seeks.len() / 2],
        slowest_seek,
    })
}
