//! Data sources by address: recordings and this machine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::CounterSpec;
use perfhive::measure::{
    self, DataSource, DataSources, MeasureError, MeasurementContext, Readings, SensorName,
    SharedCounters,
};
use perfhive::recording::ReplaySource;
use perfhive::*;
use perfhive_testkit::script::{Row, block, titles};

const MEMORY: TitleIndex = TitleIndex(4);
const SYSTEM: TitleIndex = TitleIndex(2);

/// A sample of two objects with the sample's number as their values.
fn sample(number: u64) -> Vec<u8> {
    let bytes = [CounterSpec::new(TitleIndex(24), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let processes = [CounterSpec::new(TitleIndex(248), CounterType::PERF_COUNTER_LARGE_RAWCOUNT)];
    let values = [number];
    let rows: [Row<'_>; 1] = [("x", None, &values)];
    block("host", number as i64, &[(MEMORY, &bytes, &rows), (SYSTEM, &processes, &rows)])
}

fn replay(samples: u64) -> ReplaySource {
    let blocks = (1..=samples).map(|number| (format!("s{number}"), sample(number)));
    ReplaySource::new("test", blocks).unwrap()
}

fn names() -> format::titles::TitleList {
    titles(&[(2, "System"), (4, "Memory"), (24, "Available Bytes"), (248, "Processes")])
}

fn recording(samples: u64) -> SharedCounters {
    let source = replay(samples).with_titles(LanguageId::ENGLISH, &names());
    measure::counters_of("log.host", source)
}

fn name(text: &str) -> SensorName {
    text.parse().unwrap()
}

fn cycle(context: &mut MeasurementContext) -> Result<Vec<String>, MeasureError> {
    let mut readings = Readings::new();
    context.prepare()?;
    context.sample()?;
    context.decode(&mut readings)?;
    let shown = |reading: &measure::SensorReading| reading.value.as_ref().unwrap().to_string();
    Ok(readings.iter().map(shown).collect())
}

/// The second object was not asked for when the first one was sampled, and yet both are of one
/// sample.
#[test]
fn contexts_of_one_recording_are_at_the_same_sample() {
    let mut source = recording(3);
    let sensors = source.sensors().unwrap();
    let memory = sensors.iter().find(|sensor| sensor.name.group() == "Memory").unwrap();
    assert_eq!(source.instances(memory.id).unwrap(), ["x"]);
    let mut sources = DataSources::new();
    sources.add(source).unwrap();
    let both = [name("log.host/Memory/Available Bytes#x"), name("log.host/System/Processes#*")];
    let mut one = MeasurementContext::new(&mut sources, &both).unwrap();
    let mut other = MeasurementContext::new(&mut sources, &both[1..]).unwrap();
    assert_eq!(cycle(&mut one).unwrap(), ["2", "2"]);
    assert_eq!(cycle(&mut other).unwrap(), ["2"]);
    assert_eq!(cycle(&mut other).unwrap(), ["3"]);
    assert_eq!(cycle(&mut one).unwrap(), ["3", "3"]);
    let end = cycle(&mut one).unwrap_err();
    assert!(matches!(end, MeasureError::Source(error) if error.is_end_of_data()));
}

#[test]
fn sensor_names_are_the_titles_of_the_source() {
    let listed = |source: ReplaySource| -> Vec<String> {
        let sensors = measure::counters_of("log.host", source).sensors().unwrap();
        sensors.iter().map(|sensor| sensor.name.to_string()).collect()
    };
    assert_eq!(listed(replay(1)), ["log.host/4/24", "log.host/2/248"]);
    let german = titles(&[(4, "Arbeitsspeicher")]);
    let in_german = || replay(1).with_titles(LanguageId::GERMAN, &german);
    assert_eq!(listed(in_german())[0], "log.host/Arbeitsspeicher/24");
    let both = in_german().with_titles(LanguageId::ENGLISH, &names());
    assert_eq!(listed(both)[0], "log.host/Memory/Available Bytes");
}

/// A folder that is removed after the test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("perfhive-measuring-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn recordings_are_opened_by_address() {
    let folder = Folder::new("address");
    let files = [1, 2].map(|number| {
        let path = folder.0.join(format!("{number}.bin"));
        std::fs::write(&path, sample(number)).unwrap();
        path.display().to_string()
    });
    let address = format!("file:{}", files.join(","));
    let mut sources = measure::open(&[&address]).unwrap();
    let mut context = MeasurementContext::new(&mut sources, &[name("log.host/4/24#x")]).unwrap();
    assert_eq!(cycle(&mut context).unwrap(), ["2"]);
    // Two recordings of one machine need names of their own.
    let twice = measure::open(&[&address, &address]);
    assert!(matches!(twice, Err(MeasureError::SameName(name)) if name == "log.host"));
    let again = measure::counters_of("log.again", open(&address).unwrap());
    assert!(sources.add(again).is_ok());
}

#[test]
fn addresses_without_a_source_are_errors() {
    let fails = |address: &str| match measure::open(&[address]) {
        Err(MeasureError::Source(error)) => error,
        other => panic!("{address}: {:?}", other.err()),
    };
    assert_eq!(fails("nowhere").kind(), SourceErrorKind::NotFound);
    assert!(fails("nowhere").to_string().contains("local: for this machine"));
    assert_eq!(fails("file:/nonexistent.bin").kind(), SourceErrorKind::Unavailable);
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_and_a_recording_are_measured_in_one_context() {
    let mut sources = measure::open(&["local:"]).unwrap();
    sources.add(recording(2)).unwrap();
    let own = format!("linux.procfs/Process/ID Process#{}", std::process::id());
    let both = [name("log.host/Memory/Available Bytes#x"), name(&own)];
    let options = measure::MeasurementOptions::new()
        .time(measure::PerformanceCounterTime)
        .time(measure::ProcessCpuTime)
        .time(measure::ThreadCpuTime);
    let mut context = MeasurementContext::with_options(&mut sources, &both, options).unwrap();
    assert_eq!(cycle(&mut context).unwrap(), ["2".to_string(), std::process::id().to_string()]);
    let record = context.record().unwrap();
    let times: Vec<i64> =
        record.times.iter().map(|time| time.after.unwrap() - time.before.unwrap()).collect();
    // Each clock encloses the next one, and no thread uses more time than its process.
    assert!(times[0] >= i64::try_from(record.duration.as_nanos()).unwrap(), "{times:?}");
    assert!(times[2] > 0 && times[1] >= times[2], "{times:?}");
}
