//! Binary logs that are written, read back.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::{Ask, Query, Reading, Source, SourceSet, TitleDatabase};
use perfhive_format::{
    BlockHead, BlockWriter, Clocks, CounterSpec, CounterType, FileTime, InstanceHead, LanguageId,
    NameRef, ObjectSpec, ObjectTemplate, TitleIndex,
};
use perfhive_recording::{
    BinaryLogCounters, BinaryLogWriter, MachinePart, ReplaySource, TextForm, TextLogWriter,
    TextZone, open,
};
use perfhive_testkit::real;
use perfhive_testkit::script::{self, replay};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file of the test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("perfhive-written-{}-{name}", std::process::id())))
    }

    fn open(&self) -> ReplaySource {
        open("file:log", std::slice::from_ref(&self.0), &[], None).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A query of all counters of a source.
fn all(source: ReplaySource) -> Query {
    let mut query = Query::new(source).unwrap();
    let added = [r"\*(*)\*", r"\*\*"].into_iter().filter(|path| query.add(path).is_ok()).count();
    assert!(added > 0);
    query
}

fn time(query: &Query) -> FileTime {
    query.time_of(&query.readings()[0]).unwrap().to_file_time().unwrap()
}

/// Writes all counters of a source, with the times of a zone. Returns the file's length.
fn write(path: &Path, source: impl Fn() -> ReplaySource, zone: TextZone) -> u64 {
    let mut counters = BinaryLogCounters::default();
    let mut query = all(source());
    while query.collect().is_ok() {
        query.readings().iter().for_each(|reading| counters.add(&query, reading));
    }
    let english = LanguageId::ENGLISH;
    let titles = source().titles(english, &Ask::nothing());
    let titles = titles.unwrap_or_else(|_| TitleDatabase::from_lists(english, [], []).into());
    let mut writer = BinaryLogWriter::create(path, zone, counters, &titles).unwrap();
    let mut query = all(source());
    while query.collect().is_ok() {
        writer.add(time(&query), query.readings()).unwrap();
    }
    writer.finish().unwrap()
}

/// The time of each sample of a source, and the bits of its values by machine and path; `None` for
/// a reading without a value.
fn values(source: ReplaySource) -> Vec<(FileTime, BTreeMap<String, Option<u64>>)> {
    let mut query = all(source);
    let mut samples = Vec::new();
    while query.collect().is_ok() {
        let has_data = |reading: &&Reading| reading.raw.is_some();
        let value = |reading: &Reading| {
            let path = query.english_path_of(reading).to_string();
            let value = reading.value.as_ref().ok().map(|value| value.as_f64().to_bits());
            (format!("{} {path}", reading.machine), value)
        };
        let all = query.readings().iter().filter(has_data).map(value).collect();
        samples.push((time(&query), all));
    }
    samples
}

fn zone() -> TextZone {
    TextZone { name: "Ostseezeit".to_string(), bias: -180 }
}

#[test]
fn a_log_of_whole_objects_written_one_by_one_has_the_same_values() {
    let Some(path) = real::root().map(|root| root.join("logs/pal_SampleLog.blg")) else { return };
    if !path.is_file() {
        return;
    }
    let source = || open("file:log", std::slice::from_ref(&path), &[], None).unwrap();
    let file = Scratch::new("whole.blg");
    let length = write(&file.0, source, zone());
    assert_eq!(std::fs::metadata(&file.0).unwrap().len(), length);
    let (wanted, read) = (values(source()), values(file.open()));
    assert_eq!(read.len(), 11);
    let (mut all, mut some) = (0, 0);
    for ((time, wanted), (read_time, read)) in wanted.into_iter().zip(read) {
        assert!((time.0 - read_time.0).abs() < 10_000, "{time} {read_time}");
        let paths = |of: &BTreeMap<String, _>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(paths(&wanted), paths(&read));
        for (path, value) in wanted {
            assert_eq!(read[&path], value, "{path}");
            all += 1;
            some += usize::from(value.is_some());
        }
    }
    assert!(all > 18_000 && some > 17_000, "{all} {some}");
    // The log is a source like others, and has the names of the machine.
    perfhive_testkit::conformance::source(|| Box::new(file.open()));
    let titles = file.open().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    assert_eq!(titles.name(TitleIndex(230)), Some("Process"));
}

#[test]
fn a_text_log_becomes_a_binary_one_with_its_values_and_times() {
    let (text, file) = (Scratch::new("a.csv"), Scratch::new("text.blg"));
    let columns = [r"\\BOX\Disk(0 C:)\% Free", r"\\BOX\Disk(1 D:)\% Free", r"\\BOX\Memory\Bytes"];
    let start = FileTime(134_086_752_000_000_000);
    let mut writer = TextLogWriter::create(&text.0, TextForm::Csv, zone(), columns).unwrap();
    for (place, row) in
        [[Some(1.5), None, Some(1e-7)], [Some(-2.0), Some(99.9), None]].into_iter().enumerate()
    {
        writer.add(FileTime(start.0 + place as i64 * 600_000_000), row).unwrap();
    }
    writer.finish().unwrap();
    let source = || open("file:log", std::slice::from_ref(&text.0), &[], None).unwrap();
    write(&file.0, source, zone());
    let has_value = |samples: Vec<(FileTime, BTreeMap<String, Option<u64>>)>| -> Vec<_> {
        let only = |(time, all): (FileTime, BTreeMap<String, Option<u64>>)| {
            (time, all.into_iter().filter(|(_, value)| value.is_some()).collect::<Vec<_>>())
        };
        samples.into_iter().map(only).collect()
    };
    let (wanted, read) = (has_value(values(source())), has_value(values(file.open())));
    assert_eq!(wanted, read);
    assert_eq!(read.iter().map(|(_, values)| values.len()).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(read[0].0, start);
    // No counter tells the difference to UTC, but the buffers' times do.
    let mut source = file.open();
    let mut snapshot = perfhive_engine::Snapshot::new();
    source.collect(&Ask::everything(), &mut snapshot).unwrap();
    assert!(snapshot.faults().is_empty(), "{:?}", snapshot.faults());
}

/// A block with two counters of instances, of which some have no value of the second one.
fn block(second: i64, instances: &[(&str, u64, Option<u64>)]) -> Vec<u8> {
    let time = FileTime(134_086_752_000_000_000 + second * FileTime::PER_SECOND);
    let clocks = Clocks {
        perf_time: time.0,
        perf_freq: FileTime::PER_SECOND,
        time_100ns: time.0,
        object_time: time.0,
        object_freq: FileTime::PER_SECOND,
    };
    let head = BlockHead {
        system_name: "BOX",
        system_time: time.to_system_time(),
        clocks,
        ..BlockHead::default()
    };
    let counters = [
        CounterSpec::new(TitleIndex(4), CounterType::PERF_COUNTER_LARGE_RAWCOUNT),
        CounterSpec::new(TitleIndex(6), CounterType::PERF_COUNTER_BULK_COUNT),
        CounterSpec::new(TitleIndex(0), CounterType::ABSENT_VALUES),
    ];
    let object = ObjectSpec::new(TitleIndex(2)).with_instances();
    let template = ObjectTemplate::new(&object, &counters).unwrap();
    let mut writer = BlockWriter::new();
    writer.start(&head);
    let mut writing = writer.object(&template).unwrap();
    for (name, first, other) in instances {
        let head = InstanceHead { name: NameRef::Text(name), unique_id: None, parent: None };
        let absent = if other.is_some() { 0 } else { 2 };
        writing.instance(&head, &[*first, other.unwrap_or_default(), absent]).unwrap();
    }
    writing.finish().unwrap();
    writer.finish().to_vec()
}

#[test]
fn an_instance_without_a_value_does_not_lend_its_place_to_another_of_its_name() {
    let folder = Scratch::new("blocks");
    std::fs::create_dir(&folder.0).unwrap();
    let samples = [
        block(0, &[("java", 10, None), ("java", 20, Some(100)), ("sh", 30, Some(7))]),
        block(1, &[("java", 11, None), ("java", 21, Some(150)), ("sh", 31, None)]),
    ];
    let blocks: Vec<PathBuf> = (0..2).map(|place| folder.0.join(format!("{place}.bin"))).collect();
    samples.iter().zip(&blocks).for_each(|(bytes, file)| std::fs::write(file, bytes).unwrap());
    let names = folder.0.join("en.txt");
    std::fs::write(&names, "2\nThing\n4\nCount\n6\nRate\n").unwrap();
    let file = Scratch::new("absent.blg");
    write(
        &file.0,
        || open("file:log", &blocks, std::slice::from_ref(&names), None).unwrap(),
        zone(),
    );
    let read = values(file.open());
    std::fs::remove_dir_all(&folder.0).unwrap();
    let value = |sample: usize, path: &str| {
        let all = &read[sample].1;
        let found = all.iter().filter(|(known, value)| known.ends_with(path) && value.is_some());
        found.filter_map(|(_, value)| value.map(f64::from_bits)).collect::<Vec<_>>()
    };
    assert_eq!(value(0, r"\Thing(java)\Count"), [10.0]);
    assert_eq!(value(1, r"\Thing(java#1)\Count"), [21.0]);
    let rates: Vec<(&String, f64)> = read[1]
        .1
        .iter()
        .filter_map(|(path, value)| Some((path, f64::from_bits((*value)?))))
        .filter(|(path, _)| path.ends_with("Rate"))
        .collect();
    assert_eq!(rates.len(), 1, "{rates:?}");
    assert!(rates[0].0.contains("java") && rates[0].0.contains('1'), "{rates:?}");
    assert!((rates[0].1 - 50.0).abs() < 1e-9, "{rates:?}");
}

#[test]
fn counters_beyond_those_that_are_read_of_an_object_are_told() {
    const MANY: u32 = 300;
    let counters: Vec<_> = (0..MANY)
        .map(|number| {
            CounterSpec::new(TitleIndex(10 + 2 * number), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)
        })
        .collect();
    let values: Vec<u64> = (0..u64::from(MANY)).collect();
    let rows = [("a", None, &values[..]), ("b", None, &values[..])];
    let bytes = perfhive_testkit::script::block("BOX", 1, &[(TitleIndex(2), &counters, &rows)]);
    let (block, names) = (Scratch::new("many.bin"), Scratch::new("en.txt"));
    std::fs::write(&block.0, bytes).unwrap();
    let mut titles = String::from("2\nThing\n");
    (0..MANY).for_each(|number| titles.push_str(&format!("{}\nC{number}\n", 10 + 2 * number)));
    std::fs::write(&names.0, titles).unwrap();
    let file = Scratch::new("many.blg");
    let source = || {
        open("file:log", std::slice::from_ref(&block.0), std::slice::from_ref(&names.0), None)
            .unwrap()
    };
    write(&file.0, source, zone());
    let mut log = file.open();
    let mut snapshot = perfhive_engine::Snapshot::new();
    log.collect(&Ask::everything(), &mut snapshot).unwrap();
    let told: Vec<String> = snapshot.faults().iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("Thing has 44 counters more than"), "{told:?}");
    let read = values_of(file.open());
    assert_eq!(read.len(), 2 * 256);
    for number in 0..256 {
        let path = format!(r"BOX \Thing(b)\C{number}");
        assert_eq!(read[&path].map(f64::from_bits), Some(f64::from(number)), "{path}");
    }
}

/// The bits of the values in the first sample of a source, by machine and path.
fn values_of(source: ReplaySource) -> BTreeMap<String, Option<u64>> {
    values(source).swap_remove(0).1
}

#[test]
fn a_log_can_be_read_while_it_is_written() {
    let Some(path) = real::root().map(|root| root.join("logs/pal_SampleLog.blg")) else { return };
    if !path.is_file() {
        return;
    }
    let file = Scratch::new("live.blg");
    let source = || open("file:log", std::slice::from_ref(&path), &[], None).unwrap();
    let mut query = all(source());
    query.collect().unwrap();
    let mut counters = BinaryLogCounters::default();
    query.readings().iter().for_each(|reading| counters.add(&query, reading));
    let titles = source().titles(LanguageId::ENGLISH, &Ask::nothing()).unwrap();
    let mut writer = BinaryLogWriter::create(&file.0, zone(), counters, &titles).unwrap();
    for samples in 1..=4 {
        writer.add(time(&query), query.readings()).unwrap();
        let length = writer.flush().unwrap();
        assert_eq!(std::fs::metadata(&file.0).unwrap().len(), length);
        assert_eq!(file.open().recording().unwrap().span().unwrap().samples, samples);
        query.collect().unwrap();
    }
}

#[test]
fn a_value_of_more_bits_than_its_type_has_stays_whole() {
    const DISK: TitleIndex = TitleIndex(234);
    let counters = [
        CounterSpec::new(TitleIndex(210), CounterType::PERF_AVERAGE_TIMER).size(8),
        CounterSpec::new(TitleIndex(210), CounterType::PERF_AVERAGE_BASE),
    ];
    let sample = |second: i64, values: &[u64]| {
        script::block("BOX", second, &[(DISK, &counters, &[("sda", None, values)])])
    };
    let limit = 1 << 32;
    let times =
        [[limit - 900_000, 10], [limit - 400_000, 12], [limit + 200_000, 14], [3 * limit, 16]];
    let names = [(234, "PhysicalDisk"), (210, "Avg. Disk sec/Write")];
    let blocks = || (0..).zip(&times).map(|(second, values)| sample(second, values.as_slice()));
    let source = || replay(blocks(), &names);
    let file = Scratch::new("wide.blg");
    write(&file.0, source, zone());
    let (wanted, read) = (values(source()), values(file.open()));
    let wanted: Vec<_> = wanted.into_iter().map(|(_, values)| values).collect();
    assert!(wanted[1..].iter().all(|values| values.values().all(Option::is_some)), "{wanted:?}");
    assert_eq!(read.into_iter().map(|(_, values)| values).collect::<Vec<_>>(), wanted);
}

/// The names of [`clocked`].
const CLOCKED: [(u32, &str); 4] =
    [(2, "Shop"), (4, "Sales/sec"), (6, "Returns/sec"), (8, "sec/Sale")];

/// A recording of a machine with a performance counter of this frequency: 100 sales in one second, half a second each. The
/// rate has this index.
fn clocked(machine: &'static str, perf_freq: i64, rate: u32) -> ReplaySource {
    let blocks = (0..2).map(move |second| {
        let time = FileTime(134_086_752_000_000_000 + second * FileTime::PER_SECOND);
        let clocks = Clocks {
            perf_time: second * perf_freq,
            perf_freq,
            time_100ns: time.0,
            ..Clocks::default()
        };
        let counters = [
            CounterSpec::new(TitleIndex(rate), CounterType::PERF_COUNTER_BULK_COUNT),
            CounterSpec::new(TitleIndex(8), CounterType::PERF_AVERAGE_TIMER).size(8),
            CounterSpec::new(TitleIndex(8), CounterType::PERF_AVERAGE_BASE),
        ];
        let template = ObjectTemplate::new(&ObjectSpec::new(TitleIndex(2)), &counters).unwrap();
        let mut writer = BlockWriter::new();
        let system_time = time.to_system_time();
        let head = BlockHead { system_name: machine, clocks, system_time, ..BlockHead::default() };
        writer.start(&head);
        let sales = 100 * second as u64;
        let values = [sales, sales * perf_freq as u64 / 2, sales];
        let object = writer.object(&template).unwrap();
        object.values(&values).and_then(|object| object.finish()).unwrap();
        writer.finish().to_vec()
    });
    replay(blocks, &CLOCKED)
}

#[test]
fn rates_and_times_of_each_machine_of_a_log_are_by_its_own_clock() {
    let query = || {
        let sources = SourceSet::new(clocked("ONE", 3_000_000, 4))
            .with_machine("TWO", clocked("TWO", 10_000_000, 4));
        let mut query = Query::over(sources, LanguageId::ENGLISH).unwrap();
        query.add(r"\\*\Shop\*").unwrap();
        query
    };
    let mut counters = BinaryLogCounters::default();
    let mut reading = query();
    while reading.collect().is_ok() {
        reading.readings().iter().for_each(|one| counters.add(&reading, one));
    }
    assert_eq!(counters.conflict(), None);
    let titles = TitleDatabase::from_lists(LanguageId::ENGLISH, [], []);
    let file = Scratch::new("clocks.blg");
    let mut writer = BinaryLogWriter::create(&file.0, zone(), counters, &titles).unwrap();
    let mut reading = query();
    while reading.collect().is_ok() {
        writer.add(time(&reading), reading.readings()).unwrap();
    }
    writer.finish().unwrap();
    for machine in ["ONE", "TWO"] {
        let mut query = Query::new(MachinePart::new(Box::new(file.open()), machine)).unwrap();
        let paths = [r"\Shop\Sales/sec", r"\Shop\sec/Sale"].map(|path| query.add(path).unwrap());
        query.collect().unwrap();
        query.collect().unwrap();
        let value = |path| query.readings_of(path).next().unwrap().value.as_ref().unwrap().as_f64();
        assert_eq!(paths.map(value), [100.0, 0.5], "{machine}");
    }
}

#[test]
fn a_machine_with_another_clock_in_a_later_recording_is_a_conflict() {
    let conflict = |second: (&'static str, i64)| {
        let mut counters = BinaryLogCounters::default();
        for (machine, frequency, rate) in [("ONE", 3_000_000, 4), (second.0, second.1, 6)] {
            counters.next_recording();
            let mut query = Query::new(clocked(machine, frequency, rate)).unwrap();
            query
                .add(match rate {
                    4 => r"\Shop\Sales/sec",
                    _ => r"\Shop\Returns/sec",
                })
                .unwrap();
            while query.collect().is_ok() {
                query.readings().iter().for_each(|one| counters.add(&query, one));
            }
        }
        counters.conflict().map(str::to_string)
    };
    assert_eq!(conflict(("ONE", 3_000_000)), None);
    assert_eq!(conflict(("TWO", 10_000_000)), None);
    assert_eq!(conflict(("ONE", 10_000_000)).as_deref(), Some(r"\Shop\Returns/sec"));
    // Of two files that are read as one recording.
    let mut counters = BinaryLogCounters::default();
    for frequency in [3_000_000, 10_000_000] {
        let mut query = Query::new(clocked("ONE", frequency, 4)).unwrap();
        query.add(r"\Shop\Sales/sec").unwrap();
        while query.collect().is_ok() {
            query.readings().iter().for_each(|one| counters.add(&query, one));
        }
    }
    assert_eq!(counters.conflict(), Some(r"\Shop\Sales/sec"));
}
