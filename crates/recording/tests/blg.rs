//! Binary logs of perfmon, on a real one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{Ask, NoValue, ObjectQuery, Query, Snapshot, Source, SourceErrorKind};
use perfhive_format::{CounterType, DataBlock, FileTime, LanguageId, TitleIndex};
use perfhive_recording::{MachinePart, ReplaySource, open};
use perfhive_testkit::real;
use std::path::PathBuf;

const LOG: &str = "logs/pal_SampleLog.blg";

fn source() -> Option<ReplaySource> {
    let path = real::root()?.join(LOG);
    path.is_file().then(|| open("file:log", &[path], &[], None).unwrap())
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
        match open("file:log", std::slice::from_ref(&file.0), &[], None) {
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
    for place in places.into_iter().step_by(11) {
        let before = bytes[place];
        bytes[place] ^= 0xff;
        std::fs::write(&file.0, &bytes).unwrap();
        if let Ok(mut source) = open("file:log", std::slice::from_ref(&file.0), &[], None) {
            let mut snapshot = Snapshot::new();
            while source.collect(&Ask::new(ObjectQuery::Global), &mut snapshot).is_ok() {}
        }
        bytes[place] = before;
    }
}

/// A log written from the known layout, with counters one by one.
#[derive(Default)]
struct Written {
    events: Vec<(u8, Vec<u8>)>,
}

impl Written {
    /// The record of kind 0x20: an entry for each path, with its type and its clock's frequency.
    fn catalogue(&mut self, entries: &[(&str, Option<&str>, &str, u32, i64)]) {
        let mut record = vec![0xff, 6, 0, 0, 8, 0, 2, 0];
        for (object, instance, counter, counter_type, frequency) in entries {
            let mut strings = Vec::new();
            let mut text = |text: &str| {
                let at = strings.len() as i32;
                strings.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
                at
            };
            let (machine, object) = match object.split_once('|') {
                Some((machine, object)) => (text(machine), text(object)),
                None => (text("\\\\ZACH-PC"), text(object)),
            };
            let instance = instance.map_or(-1, &mut text);
            let counter = text(counter);
            let length = (52 + strings.len()) as u32;
            for number in [length, 0, 0, *counter_type] {
                record.extend(number.to_le_bytes());
            }
            record.extend(frequency.to_le_bytes());
            for number in [0, machine, object, instance, -1, 0, counter] {
                record.extend(number.to_le_bytes());
            }
            record.extend(strings);
        }
        self.events.push((0x20, record));
    }

    fn sample(&mut self, subs: &[(u16, Vec<u8>)]) {
        let head = |kind: u16, inside: Vec<u8>| {
            let mut record = b"BL".to_vec();
            record.extend(kind.to_le_bytes());
            record.extend((inside.len() as u32 + 8).to_le_bytes());
            record.extend(inside);
            record
        };
        let inside = subs.iter().flat_map(|(kind, inside)| head(*kind, inside.clone())).collect();
        self.events.push((0x22, head(3, inside)));
    }

    fn file(&self) -> Vec<u8> {
        const SIZE: usize = 0x10000;
        let mut file = vec![0xff; SIZE];
        file[..4].copy_from_slice(&(SIZE as u32).to_le_bytes());
        file[0x36..0x38].copy_from_slice(&4_u16.to_le_bytes());
        let mut buffer = vec![0; 0x48];
        let end = |buffer: &mut Vec<u8>, file: &mut Vec<u8>| {
            let used = buffer.len() as u32;
            buffer[..4].copy_from_slice(&(SIZE as u32).to_le_bytes());
            buffer[0x30..0x34].copy_from_slice(&used.to_le_bytes());
            buffer.resize(SIZE, 0xff);
            file.append(buffer);
            buffer.resize(0x48, 0);
        };
        for (kind, record) in &self.events {
            let parts = record.chunks(8000);
            let count = parts.len() as u32;
            for (number, part) in (1_u32..).zip(parts) {
                let mut event = vec![0; 48 + 16];
                event[4] = *kind;
                event.extend(number.to_le_bytes());
                event.extend(count.to_le_bytes());
                event.extend(part);
                let length = event.len() as u16;
                event[..2].copy_from_slice(&length.to_le_bytes());
                event.resize(event.len().next_multiple_of(8), 0);
                if buffer.len() + event.len() > SIZE {
                    end(&mut buffer, &mut file);
                }
                buffer.extend(event);
            }
        }
        end(&mut buffer, &mut file);
        file
    }
}

/// Counters of several types and clocks; the last counter is of all instances.
const PATHS: [(&str, Option<&str>, &str); 8] = [
    ("System", None, "File Read Operations/sec"),
    ("System", None, "System Up Time"),
    ("System", None, "Processor Queue Length"),
    ("LogicalDisk", Some("C:"), "% Free Space"),
    ("LogicalDisk", Some("C:"), "Avg. Disk sec/Write"),
    ("Processor", Some("_Total"), "% Processor Time"),
    ("Memory", None, "Available Bytes"),
    ("Process", Some("*"), "% Processor Time"),
];

fn path((object, instance, counter): &(&str, Option<&str>, &str)) -> String {
    let instance = instance.map_or(String::new(), |name| format!("({name})"));
    format!(r"\{object}{instance}\{counter}")
}

/// The readings of [`PATHS`] in each sample of a source.
fn all_readings(source: ReplaySource) -> Vec<Vec<perfhive_engine::Reading>> {
    let mut query = Query::new(source).unwrap();
    for one in &PATHS {
        query.add(&path(one)).unwrap();
    }
    let mut samples = Vec::new();
    while query.collect().is_ok() {
        samples.push(query.readings().to_vec());
    }
    samples
}

#[test]
fn counters_that_were_recorded_one_by_one_have_the_values_of_whole_objects() {
    use perfhive_format::{Clock, Formula};
    let Some(whole) = source() else { return };
    let samples = all_readings(whole);
    let mut log = Written::default();
    let first = |place: usize| {
        samples[0].iter().find(|reading| reading.path == samples[0][place].path).unwrap()
    };
    let entries: Vec<_> = PATHS
        .iter()
        .enumerate()
        .map(|(place, (object, instance, counter))| {
            let reading = first(place);
            let kind = reading.counter_type;
            let clocks = reading.raw.unwrap().clocks;
            let frequency = match Formula::of(kind).ok().and_then(Formula::clock) {
                Some(Clock::Perf) => clocks.perf_freq,
                Some(Clock::Object) => clocks.object_freq,
                _ => 10_000_000,
            };
            (*object, *instance, *counter, kind.0, frequency)
        })
        .collect();
    log.catalogue(&entries);
    for sample in &samples {
        let mut subs = Vec::new();
        for place in 0..PATHS.len() {
            let wanted = samples[0][place].path;
            let numbers = |reading: &perfhive_engine::Reading| {
                let raw = reading.raw.unwrap();
                let clock = Formula::of(reading.counter_type).ok().and_then(Formula::clock);
                let time = clock.map_or(0, |clock| clock.time(&raw.clocks));
                let second = raw.base.map_or(time, |base| base as i64);
                // The log's times are local: four hours behind UTC.
                (raw.value as i64, second, raw.clocks.time_100ns - 4 * 36_000_000_000)
            };
            // An instance that is gone is not recorded.
            let is_there = |of: &&perfhive_engine::Reading| of.path == wanted && of.raw.is_some();
            let readings: Vec<_> = sample.iter().filter(is_there).collect();
            let mut inside = Vec::new();
            if PATHS[place].1 == Some("*") {
                let (_, _, local) = numbers(readings[0]);
                for number in [0, readings.len() as u32, 0, 0] {
                    inside.extend(number.to_le_bytes());
                }
                inside.extend(local.to_le_bytes());
                let mut names: Vec<u8> = Vec::new();
                let start = inside.len() + 24 * readings.len();
                for reading in &readings {
                    let (value, second, _) = numbers(reading);
                    inside.extend(((start + names.len()) as u32).to_le_bytes());
                    inside.extend(0_u32.to_le_bytes());
                    inside.extend(value.to_le_bytes());
                    inside.extend(second.to_le_bytes());
                    let name = &reading.instance.as_ref().unwrap().name;
                    names.extend(name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
                }
                inside.extend(names);
                subs.push((0x0203, inside));
            } else {
                let (value, second, local) = numbers(readings[0]);
                inside.extend(0_u32.to_le_bytes());
                inside.extend(local.to_le_bytes());
                inside.extend(0_u32.to_le_bytes());
                inside.extend(value.to_le_bytes());
                inside.extend(second.to_le_bytes());
                inside.extend([0; 8]);
                subs.push((0x0103, inside));
            }
        }
        log.sample(&subs);
    }
    let file = Scratch::new("single", &log.file());
    let source = || open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    perfhive_testkit::conformance::source(|| Box::new(source()));
    assert_eq!(source().recording().unwrap().span().unwrap().begin.0, 128_315_940_386_596_596);
    let read = all_readings(source());
    assert_eq!(read.len(), 11);
    let labels = samples.iter().flatten().filter_map(|reading| reading.instance.as_ref());
    let several: Vec<_> =
        labels.filter(|label| label.order > 0).map(|label| Some(label.name.clone())).collect();
    let mut values = 0;
    for (read, written) in read.iter().zip(&samples) {
        // Instances of one name are told apart by process ID there, and by their order here.
        let present = |all: &[perfhive_engine::Reading]| -> Vec<_> {
            let name = |of: &perfhive_engine::Reading| of.instance.as_ref().map(|l| l.name.clone());
            let is_alone = |of: &&perfhive_engine::Reading| !several.contains(&name(of));
            all.iter().filter(|of| of.raw.is_some()).filter(is_alone).cloned().collect()
        };
        let (read, written) = (present(read), present(written));
        assert_eq!(read.len(), written.len());
        for (a, b) in read.iter().zip(&written) {
            let label = |of: &perfhive_engine::Reading| of.instance.as_ref().map(|l| l.to_string());
            assert_eq!(label(a), label(b));
            let value = |of: &perfhive_engine::Reading| of.value.clone().ok().map(|v| v.as_f64());
            assert_eq!(value(a), value(b), "{:?} {:?}", label(a), b.value);
            values += 1;
        }
    }
    assert!(values > 300, "{values}");
}

#[test]
fn a_counter_without_a_valid_status_has_no_value_and_a_fault() {
    let mut log = Written::default();
    let raw_count = perfhive_format::CounterType::PERF_COUNTER_LARGE_RAWCOUNT.0;
    log.catalogue(&[("A", None, "one", raw_count, 1), ("A", None, "two", raw_count, 1)]);
    let single = |status: u32, value: i64| {
        let mut inside = status.to_le_bytes().to_vec();
        inside.extend([0; 12]);
        inside.extend(value.to_le_bytes());
        inside.extend([0; 16]);
        (0x0103, inside)
    };
    log.sample(&[single(0, 7), single(0x800007D0, 8)]);
    log.sample(&[single(0, 7), single(1, 9)]);
    // A counter that many samples lack is one fault, so that it hides no other.
    (0..100).for_each(|_| log.sample(&[single(0xC000_0BBA, 0), single(0, 9)]));
    log.sample(&[single(0, 7), single(0x8000_07D1, 8)]);
    let file = Scratch::new("status", &log.file());
    let mut query =
        Query::new(open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap()).unwrap();
    query.add(r"\A\two").unwrap();
    query.collect().unwrap();
    assert!(query.readings()[0].value.is_err());
    let faults: Vec<_> = query.faults(0).iter().map(|fault| fault.message.to_string()).collect();
    assert!(
        faults.contains(&r"sample 1: \A\two has no value (status 0x800007D0)".into()),
        "{faults:?}"
    );
    let often = r"sample 3 and 99 more: \A\one has no value (status 0xC0000BBA)";
    assert!(faults.contains(&often.into()), "{faults:?}");
    assert!(
        faults.contains(&r"sample 103: \A\two has no value (status 0x800007D1)".into()),
        "{faults:?}"
    );
    // The fourth is that the log has local times only.
    assert_eq!(faults.len(), 4, "{faults:?}");
    query.collect().unwrap();
    assert_eq!(query.readings()[0].value.as_ref().unwrap().as_f64(), 9.0);
}

/// The kind and the contents of a sub-record with a single counter.
fn single(local: i64, value: i64) -> (u16, Vec<u8>) {
    let mut inside = vec![0; 4];
    inside.extend(local.to_le_bytes());
    inside.extend([0; 4]);
    inside.extend(value.to_le_bytes());
    inside.extend([0; 16]);
    (0x0103, inside)
}

const RAW: u32 = perfhive_format::CounterType::PERF_COUNTER_LARGE_RAWCOUNT.0;

/// The kind and the contents of a sub-record with all instances of a counter, given by their names
/// and values.
fn several(local: i64, items: &[(&str, i64)]) -> (u16, Vec<u8>) {
    let mut inside: Vec<u8> = Vec::new();
    for number in [0, items.len() as u32, 0, 0] {
        inside.extend(number.to_le_bytes());
    }
    inside.extend(local.to_le_bytes());
    let (mut names, start) = (Vec::new(), inside.len() + 24 * items.len());
    for (name, value) in items {
        inside.extend(((start + names.len()) as u32).to_le_bytes());
        inside.extend(0_u32.to_le_bytes());
        inside.extend(value.to_le_bytes());
        inside.extend(0_i64.to_le_bytes());
        names.extend(name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    }
    inside.extend(names);
    (0x0203, inside)
}

#[test]
fn instances_that_come_go_and_move_keep_their_values() {
    let mut log = Written::default();
    let entry = |counter| ("Process", Some("*"), counter, RAW, 10_000_000);
    log.catalogue(&[entry("A"), entry("B")]);
    // The names of both counters in each sample; values are numbers of their own.
    let samples: [[&[&str]; 2]; 8] = [
        [&["a", "b", "b", "c"], &["a", "b", "b", "c"]],
        [&["a", "b", "b", "c"], &["a", "b", "b", "c", "d"]],
        [&["a", "b", "c"], &["a", "b", "c"]],
        [&["a", "b", "c", "b"], &["b", "a", "c"]],
        [&["b", "b", "a"], &["b", "b", "a"]],
        [&[], &["x"]],
        [&["b", "b", "a"], &["a", "b", "b"]],
        [&["b", "b", "a"], &["b", "b", "a"]],
    ];
    let mut value = 0;
    let mut expected = Vec::new();
    for (second, counters) in (1..).zip(samples) {
        let mut rows: Vec<(String, [Option<i64>; 2])> = Vec::new();
        let mut subs = Vec::new();
        for (counter, names) in counters.iter().enumerate() {
            let mut items = Vec::new();
            for (place, name) in names.iter().enumerate() {
                value += 1;
                items.push((*name, value));
                let label = match names[..place].iter().filter(|known| *known == name).count() {
                    0 => name.to_string(),
                    order => format!("{name}#{order}"),
                };
                let row = rows.iter().position(|(known, _)| *known == label);
                let row = row.unwrap_or_else(|| {
                    rows.push((label, [None; 2]));
                    rows.len() - 1
                });
                rows[row].1[counter] = Some(value);
            }
            subs.push(several(second * FileTime::PER_SECOND, &items));
        }
        log.sample(&subs);
        expected.push(rows);
    }
    let file = Scratch::new("moving", &log.file());
    let mut query =
        Query::new(open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap()).unwrap();
    let ids = ["A", "B"].map(|counter| query.add(&format!(r"\Process(*)\{counter}")).unwrap());
    for (number, rows) in expected.iter().enumerate() {
        query.collect().unwrap();
        for (counter, id) in ids.into_iter().enumerate() {
            let found: Vec<_> = query
                .readings_of(id)
                .filter(|reading| !matches!(reading.value, Err(NoValue::Vanished)))
                .map(|reading| {
                    let value = reading.value.as_ref().ok().map(|value| value.as_f64() as i64);
                    (reading.instance.as_ref().unwrap().to_string(), value)
                })
                .collect();
            let wanted: Vec<_> =
                rows.iter().map(|(label, values)| (label.clone(), values[counter])).collect();
            assert_eq!(found, wanted, "sample {number}, counter {counter}");
        }
    }
}

#[test]
fn counters_of_several_machines_keep_their_machine() {
    let mut log = Written::default();
    log.catalogue(&[("\\\\ONE|A", None, "x", RAW, 1), ("\\\\TWO|A", None, "x", RAW, 1)]);
    log.sample(&[single(1, 7), single(1, 8)]);
    let file = Scratch::new("machines", &log.file());
    let mut source = open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    let mut out = Snapshot::new();
    source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    let values: Vec<_> = out
        .objects()
        .map(|object| {
            let counter = object.view().counters().next().unwrap();
            let block = object.view().counter_block().unwrap();
            (object.frame().machine().to_string(), block.value(&counter).unwrap())
        })
        .collect();
    assert_eq!(values, [("ONE".to_string(), 7), ("TWO".to_string(), 8)]);
}

#[test]
fn names_in_several_spellings_are_those_of_one_machine_object_and_counter() {
    let mut log = Written::default();
    log.catalogue(&[
        ("\\\\b|A", None, "x", RAW, 1),
        ("\\\\B|a", None, "y", RAW, 1),
        ("\\\\B|B", None, "X", RAW, 1),
    ]);
    log.sample(&[single(1, 7), single(1, 8), single(1, 9)]);
    let file = Scratch::new("spellings", &log.file());
    let source = open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    let mut query = Query::new(source).unwrap();
    let ids = [r"\A\x", r"\\B\A\y", r"\B\X"].map(|path| query.add(path).unwrap());
    query.collect().unwrap();
    let value = |id| query.readings_of(id).next().unwrap().value.as_ref().unwrap().as_f64();
    assert_eq!(ids.map(value), [7.0, 8.0, 9.0]);
    // What has another's name with regard to case alone keeps its own.
    let names = ids.map(|id| query.path_of(query.readings_of(id).next().unwrap()).to_string());
    assert_eq!(names, [r"\A\x", r"\\b\A\y", r"\B\X"]);
}

#[test]
fn samples_without_values_of_a_machine_or_of_all_are_samples() {
    let mut log = Written::default();
    log.catalogue(&[("\\\\ONE|A", None, "x", RAW, 1), ("\\\\TWO|A", None, "x", RAW, 1)]);
    let none = |local: i64| {
        let (kind, mut inside) = single(local, 0);
        inside[..4].copy_from_slice(&0xC000_0BBA_u32.to_le_bytes());
        (kind, inside)
    };
    let at = |second: i64| second * FileTime::PER_SECOND;
    log.sample(&[none(at(1)), none(at(1))]);
    log.sample(&[single(at(2), 7), none(at(2))]);
    log.sample(&[none(at(3)), none(at(3))]);
    log.sample(&[none(at(4)), single(at(4), 8)]);
    log.sample(&[single(at(5), 9), single(at(5), 10)]);
    let file = Scratch::new("silent-machine", &log.file());
    let open = || open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    let values = |source: Box<dyn Source>| {
        let mut query = Query::new(source).unwrap();
        query.add(r"\A\x").unwrap();
        let mut values = Vec::new();
        while query.collect().is_ok() {
            let reading = query.readings().first();
            let value = reading.and_then(|reading| reading.value.as_ref().ok());
            values.push(value.map(|value| value.as_f64()));
        }
        values
    };
    assert_eq!(values(Box::new(open())), [None, Some(7.0), None, None, Some(9.0)]);
    let other = MachinePart::new(Box::new(open()), "TWO");
    assert_eq!(values(Box::new(other)), [None, None, None, Some(8.0), Some(10.0)]);
    // Each sample has its time and tells of all machines, the log's own first.
    let (mut source, mut out) = (open(), Snapshot::new());
    for second in 1..=5 {
        source.collect(&Ask::everything(), &mut out).unwrap();
        let frames = out.frames().iter();
        let found: Vec<_> = frames.map(|frame| (frame.machine(), frame.time())).collect();
        assert_eq!(found, ["ONE", "TWO"].map(|machine| (machine, FileTime(at(second)))));
    }
    assert!(source.collect(&Ask::everything(), &mut out).is_err());
}

#[test]
fn an_object_of_many_counters_has_the_values_of_each_instance() {
    let names: Vec<String> = (0..300).map(|number| format!("c{number}")).collect();
    let of = |object, names: &[String]| -> Vec<_> {
        names.iter().map(|name| (object, Some("*"), name.clone(), RAW, 1)).collect()
    };
    let entries = [of("many", &names[..150]), of("too many", &names)].concat();
    let entries: Vec<_> =
        entries.iter().map(|(a, b, c, d, e)| (*a, *b, c.as_str(), *d, *e)).collect();
    let mut log = Written::default();
    log.catalogue(&entries);
    // Every third instance lacks every seventh counter.
    let has = |instance: i64, counter: i64| instance % 3 != 0 || counter % 7 != 0;
    for sample in 1..=3 {
        let value = |instance, counter| sample * 1_000_000 + instance * 1000 + counter;
        let instances = ["a", "b", "c", "d"];
        let subs = (0..450).map(|place| {
            let counter = if place < 150 { place } else { place - 150 };
            let of_one = |(instance, name): (i64, &&'static str)| {
                has(instance, counter).then(|| (*name, value(instance, counter)))
            };
            several(sample, &(0..).zip(&instances).filter_map(of_one).collect::<Vec<_>>())
        });
        log.sample(&subs.collect::<Vec<_>>());
    }
    let file = Scratch::new("many-counters", &log.file());
    let source = open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    let mut query = Query::new(source).unwrap();
    let ids: Vec<_> =
        names[..150].iter().map(|name| query.add(&format!(r"\many(*)\{name}")).unwrap()).collect();
    let last = query.add(r"\too many(b)\c255").unwrap();
    assert!(query.add(r"\too many(b)\c256").is_err());
    for sample in 1..=3 {
        query.collect().unwrap();
        for (counter, id) in (0..).zip(&ids) {
            let mut found: Vec<_> = query
                .readings_of(*id)
                .filter_map(|one| {
                    let value = one.value.as_ref().ok()?.as_f64() as i64;
                    Some((one.instance.as_ref().unwrap().to_string(), value))
                })
                .collect();
            found.sort();
            let wanted: Vec<_> = (0..)
                .zip(["a", "b", "c", "d"])
                .filter(|(instance, _)| has(*instance, counter))
                .map(|(instance, name)| {
                    (name.to_string(), sample * 1_000_000 + instance * 1000 + counter)
                })
                .collect();
            assert_eq!(found, wanted, "sample {sample}, counter {counter}");
        }
        let value = query.readings_of(last).next().unwrap().value.as_ref().unwrap().as_f64();
        assert_eq!(value as i64, sample * 1_000_000 + 1255);
    }
    assert!(query.faults(0).iter().any(|fault| fault.message.contains("too many has 44 counters")));
}

#[test]
fn several_logs_are_one_source_in_which_names_keep_their_meaning() {
    let part = |counter: &str, values: std::ops::Range<i64>| {
        let mut log = Written::default();
        log.catalogue(&[("A", None, counter, RAW, 1)]);
        values.for_each(|value| log.sample(&[single(600_000_000 * (value + 1), value)]));
        Scratch::new(counter, &log.file())
    };
    let (one, two) = (part("one", 0..3), part("two", 3..5));
    let both = || open("file:logs", &[one.0.clone(), two.0.clone()], &[], None).unwrap();
    perfhive_testkit::conformance::source(|| Box::new(both()));
    assert_eq!(samples(&mut both()), 5);
    let mut query = Query::new(both()).unwrap();
    let paths = [r"\A\one", r"\A\two"].map(|path| query.add(path).unwrap());
    let mut values = Vec::new();
    while query.collect().is_ok() {
        let value = |id| query.readings_of(id).next()?.value.as_ref().ok().map(|of| of.as_f64());
        values.push(paths.map(value));
    }
    let first = [0.0, 1.0, 2.0].map(|value| [Some(value), None]);
    let second = [3.0, 4.0].map(|value| [None, Some(value)]);
    assert_eq!(values, [&first[..], &second].concat());
    let mut source = both();
    let to = perfhive_format::FileTime(600_000_000 * 5);
    source.recording().unwrap().seek(Some(to)).unwrap();
    let mut out = Snapshot::new();
    source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
    assert_eq!(out.objects().next().unwrap().frame().time(), to);
}

#[test]
fn any_sample_of_a_long_log_can_be_sought() {
    let mut log = Written::default();
    log.catalogue(&[("A", None, "x", RAW, 1)]);
    // More than the places that are remembered.
    let count = if perfhive_testkit::is_slow() { 50 } else { 4500 };
    (0..count).for_each(|value| log.sample(&[single(10_000_000 * (value + 1), value)]));
    let file = Scratch::new("long", &log.file());
    let mut source = open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    assert_eq!(samples(&mut source), count as u64);
    let mut out = Snapshot::new();
    for value in [0, 1, count / 2, count - 1, 7, count / 3] {
        let to = perfhive_format::FileTime(10_000_000 * (value + 1) - 3);
        source.recording().unwrap().seek(Some(to)).unwrap();
        source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
        assert_eq!(out.objects().next().unwrap().frame().time().0, to.0 + 3);
    }
    let after = perfhive_format::FileTime(10_000_000 * (count + 1));
    source.recording().unwrap().seek(Some(after)).unwrap();
    assert!(source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_err());
}

#[test]
fn a_log_that_shrinks_while_it_is_read_ends_there() {
    let Some(bytes) = real::file(LOG) else { return };
    let file = Scratch::new("shrinks", &bytes);
    for end in [0, 0x10000, 0x30000 + 7, 0x40000, bytes.len() - 0x9000] {
        std::fs::write(&file.0, &bytes).unwrap();
        let mut source = open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
        let span = source.recording().unwrap().span().unwrap();
        let mut out = Snapshot::new();
        source.collect(&Ask::new(ObjectQuery::Global), &mut out).unwrap();
        std::fs::OpenOptions::new().write(true).open(&file.0).unwrap().set_len(end as u64).unwrap();
        let mut samples = 1;
        while source.collect(&Ask::new(ObjectQuery::Global), &mut out).is_ok() {
            // What is left is whole.
            assert_eq!(out.objects().count(), 8, "{end}");
            samples += 1;
        }
        assert!(samples < 11, "{end}: {samples}");
        let sought = source.recording().unwrap().seek(Some(span.end));
        let found = source.collect(&Ask::new(ObjectQuery::Global), &mut out);
        assert!(sought.is_err() || found.is_err(), "{end}");
    }
}

#[test]
fn a_counter_whose_clock_is_not_that_of_its_machine_is_left_out_and_told() {
    const RATE: u32 = CounterType::PERF_COUNTER_BULK_COUNT.0;
    let mut log = Written::default();
    log.catalogue(&[
        ("\\\\ONE|A", None, "unknown", RATE, 0),
        ("\\\\ONE|A", None, "x", RATE, 1000),
        ("\\\\ONE|A", None, "count", RAW, 3),
        ("\\\\ONE|A", None, "other", RATE, 500),
    ]);
    for second in 1..=2 {
        let mut rate = single(second * FileTime::PER_SECOND, 100 * second);
        rate.1[24..32].copy_from_slice(&(1000 * second).to_le_bytes());
        log.sample(&[rate.clone(), rate.clone(), single(second * FileTime::PER_SECOND, 7), rate]);
    }
    let file = Scratch::new("clocks", &log.file());
    let source = open("file:log", std::slice::from_ref(&file.0), &[], None).unwrap();
    let mut query = Query::new(source).unwrap();
    let paths = [r"\A\unknown", r"\A\x", r"\A\count"].map(|path| query.add(path).unwrap());
    assert!(query.add(r"\A\other").is_err());
    query.collect().unwrap();
    let told = query.faults(0).iter().any(|fault| {
        fault
            .message
            .contains(r"\\ONE: counters of another clock than its first ones are left out: 1")
    });
    assert!(told, "{:?}", query.faults(0));
    query.collect().unwrap();
    let value = |path| query.readings_of(path).next().unwrap().value.as_ref().unwrap().as_f64();
    assert_eq!(paths.map(value), [100.0, 100.0, 7.0]);
}
