//! Data blocks that the tests write themselves.

use crate::run::Folder;
use perfhive::format::{
    BlockHead, BlockWriter, CounterSpec, InstanceHead, NameRef, ObjectSpec, ObjectTemplate,
};
use perfhive::{Clocks, CounterType as T, FileTime, TitleIndex};

/// A title list with English names: indexes and names alternate.
pub(crate) const TITLES: &str = "\
2\nSystem\n146\nContext Switches/sec\n248\nProcesses\n674\nSystem Up Time\n\
4\nMemory\n24\nAvailable Bytes\n1406\n% Committed Bytes In Use\n\
230\nProcess\n6\n% Processor Time\n784\nID Process\n180\nWorking Set\n684\nElapsed Time\n\
232\nThread\n804\nID Thread\n\
9000\nOdd Things\n9002\nRemark\n9004\nSection\n9006\nDistribution\n9008\nAvg. Size\n9010\nLot\n";

/// A title list with German names.
pub(crate) const GERMAN: &str = "2\nSystem\n146\nKontextwechsel/s\n4\nArbeitsspeicher\n\
24\nVerfügbare Bytes\n230\nProzess\n180\nArbeitsseiten\n784\nProzesskennung\n";

/// A process name with sequences that clear the screen and break tables.
pub(crate) const HOSTILE: &str = "evil\x1b[2J,\"\n";

/// The time of the first sample, in 100 ns units.
const START: i64 = 133_000_000_000_000_000;

fn counter(index: u32, counter_type: T) -> CounterSpec {
    CounterSpec::new(TitleIndex(index), counter_type)
}

fn template(spec: ObjectSpec, counters: &[CounterSpec]) -> ObjectTemplate {
    ObjectTemplate::new(&spec, counters).expect("a template")
}

/// The sample of machine HOST at so many seconds after the start.
pub(crate) fn sample(second: i64) -> Vec<u8> {
    sample_of("HOST", second)
}

/// The sample of the machine with this name at so many seconds after the start.
pub(crate) fn sample_of(machine: &str, second: i64) -> Vec<u8> {
    let now = START + second * FileTime::PER_SECOND;
    let ticks = second as u64;
    let mut block = BlockWriter::new();
    block.start(&BlockHead {
        system_name: machine,
        default_object: Some(TitleIndex(2)),
        system_time: FileTime(now).to_system_time(),
        clocks: Clocks {
            perf_time: second * 1000,
            perf_freq: 1000,
            time_100ns: now,
            ..Clocks::default()
        },
    });

    let system = template(
        ObjectSpec::new(TitleIndex(2)),
        &[
            counter(146, T::PERF_COUNTER_COUNTER),
            counter(248, T::PERF_COUNTER_RAWCOUNT),
            counter(674, T::PERF_ELAPSED_TIME),
        ],
    );
    let started = (START - 3600 * FileTime::PER_SECOND) as u64;
    let object = block.object(&system).expect("room").clock(now, FileTime::PER_SECOND);
    let object = object.values(&[5000 + ticks * 1234, 4, started]).expect("values");
    object.finish().expect("an object");

    let memory = template(
        ObjectSpec::new(TitleIndex(4)),
        &[
            counter(24, T::PERF_COUNTER_LARGE_RAWCOUNT),
            counter(1406, T::PERF_RAW_FRACTION),
            counter(1406, T::PERF_RAW_BASE),
        ],
    );
    let object = block.object(&memory).expect("room");
    let object = object.values(&[8_589_934_592, 1, 4]).expect("values");
    object.finish().expect("an object");

    processes(&mut block, now, ticks);
    threads(&mut block, now);
    odd_things(&mut block);
    block.finish().to_vec()
}

fn processes(block: &mut BlockWriter, now: i64, ticks: u64) {
    let process = template(
        ObjectSpec::new(TitleIndex(230)).with_instances(),
        &[
            counter(6, T::PERF_100NSEC_TIMER),
            counter(784, T::PERF_COUNTER_RAWCOUNT),
            counter(180, T::PERF_COUNTER_LARGE_RAWCOUNT),
            counter(684, T::PERF_ELAPSED_TIME),
        ],
    );
    let mut object = block.object(&process).expect("room").clock(now, FileTime::PER_SECOND);
    let start = |seconds: i64| (START - seconds * FileTime::PER_SECOND) as u64;
    let used = |percent: u64| 1_000_000 + ticks * percent * 100_000;
    for (name, time, pid, size, start) in [
        ("Idle", used(150), 0, 0, start(3600)),
        ("bash", used(2), 100, 4_194_304, start(90_061)),
        ("bash", used(0), 101, 4_190_208, start(61)),
        (HOSTILE, used(48), 4_294_967_295, 1_073_741_824, start(1)),
        ("_Total", used(200), 0, 1_082_126_336, now as u64),
    ] {
        object.instance(&InstanceHead::named(name), &[time, pid, size, start]).expect("values");
    }
    // A process without a working set.
    let head = InstanceHead::named("quiet");
    object.instance_prefix(&head, &[used(0), 102]).expect("values");
    object.finish().expect("an object");
}

fn threads(block: &mut BlockWriter, now: i64) {
    let thread = template(
        ObjectSpec::new(TitleIndex(232)).with_instances(),
        &[counter(784, T::PERF_COUNTER_RAWCOUNT), counter(804, T::PERF_COUNTER_RAWCOUNT)],
    );
    let mut object = block.object(&thread).expect("room").clock(now, FileTime::PER_SECOND);
    for (parent, pid, id) in [(1, 100, 100), (1, 100, 7), (2, 101, 101)] {
        let head = InstanceHead {
            name: NameRef::Text(if id == 7 { "1" } else { "0" }),
            unique_id: None,
            parent: Some((TitleIndex(230), parent)),
        };
        object.instance(&head, &[pid, id]).expect("values");
    }
    object.finish().expect("an object");
}

/// Adds an object with a text, a label, a histogram and an average.
fn odd_things(block: &mut BlockWriter) {
    let text: Vec<u8> = "two\nlines\0\0\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let odd = template(
        ObjectSpec::new(TitleIndex(9000)),
        &[
            counter(9002, T::PERF_COUNTER_TEXT).size(text.len() as u32),
            counter(9004, T::PERF_COUNTER_NODATA),
            counter(9006, T(0x0006_0400)).size(12),
            counter(9008, T::PERF_AVERAGE_BULK),
            counter(9008, T::PERF_AVERAGE_BASE),
            counter(9010, T(0x0001_1000)),
        ],
    );
    // The counters follow one another, each aligned to its size. The counter block
    // begins with its length, which is not part of this data.
    let mut data = vec![0; 4];
    data.extend(&text);
    data.extend([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    data.resize(data.len().next_multiple_of(8) + 4, 0);
    data.extend(900u64.to_le_bytes());
    data.extend(3u32.to_le_bytes());
    data.extend(77u32.to_le_bytes());
    let object = block.object(&odd).expect("room").values_bytes(&data).expect("values");
    object.finish().expect("an object");
}

/// A block with counts of context switches only, which are rates.
pub(crate) fn switches(second: i64, count: u64) -> Vec<u8> {
    let now = START + second * FileTime::PER_SECOND;
    let clocks =
        Clocks { perf_time: second * 1000, perf_freq: 1000, time_100ns: now, ..Clocks::default() };
    let system_time = FileTime(now).to_system_time();
    let mut block = BlockWriter::new();
    block.start(&BlockHead { system_name: "HOST", default_object: None, system_time, clocks });
    let system =
        template(ObjectSpec::new(TitleIndex(2)), &[counter(146, T::PERF_COUNTER_BULK_COUNT)]);
    let object = block.object(&system).expect("room").values(&[count]).expect("values");
    object.finish().expect("an object");
    block.finish().to_vec()
}

/// The options that open two samples, ten seconds apart, with names.
pub(crate) fn recording(folder: &Folder) -> Vec<String> {
    let first = folder.file("first.bin", sample(0));
    let second = folder.file("second.bin", sample(10));
    let titles = folder.file("titles.txt", TITLES);
    vec!["--source".into(), format!("file:{first},{second}"), "--titles".into(), titles]
}
