//! Measurement contexts over real processes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::{CounterSpec, CounterType, TitleIndex};
use perfhive::measure::{
    Anomaly, CounterSource, DataSources, MeasurementContext, MeasurementOptions, MonotonicTime,
    ProcessCpuTime, Readings, SensorName, SensorReading, TimeSource, WallTime,
};
use perfhive::recording::ReplaySource;
use perfhive::{Cached, LanguageId, Query, SharedSource, open};
use perfhive_testkit::script::{block, titles};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A child process that ends with the test.
struct Running(Child);

impl Running {
    fn new(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        // Without input the child waits for ever.
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until a condition holds, for at most a minute: the machine may be busy.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(5));
    }
}

fn sources() -> DataSources {
    let mut sources = DataSources::new();
    let source = Cached::new(open("local:").unwrap());
    sources.add(CounterSource::new("linux.procfs", source)).unwrap();
    sources
}

fn context(sources: &mut DataSources, names: &[String]) -> MeasurementContext {
    let names: Vec<_> = names.iter().map(|name| name.parse().unwrap()).collect();
    let options = MeasurementOptions::new().time(WallTime).time(MonotonicTime::default());
    MeasurementContext::with_options(sources, &names, options).unwrap()
}

fn time_of(instance: impl ToString) -> String {
    format!("linux.procfs/Process/%25 Processor Time#{}", instance.to_string())
}

fn id_of(instance: impl ToString) -> String {
    format!("linux.procfs/Process/ID Process#{}", instance.to_string())
}

fn cycle(context: &mut MeasurementContext) -> Readings {
    let mut readings = Readings::new();
    context.prepare().unwrap();
    context.sample().unwrap();
    context.decode(&mut readings).unwrap();
    readings
}

/// A value, or the code of the reason why there is none.
fn shown(reading: &SensorReading) -> String {
    match &reading.value {
        Ok(value) => value.to_string(),
        Err(why) => why.code().to_string(),
    }
}

/// The value of a requested sensor for one of its instances, or the code of the reason why there is
/// no value; `None` if there is no reading. `asked` is the sensor's index among those requested.
fn found(readings: &Readings, asked: usize, instance: u32) -> Option<String> {
    let instance = instance.to_string();
    let is_it = |reading: &&SensorReading| {
        reading.asked == asked && reading.slot.name.instance() == Some(&instance)
    };
    let mut all = readings.iter().filter(is_it);
    let first = all.next().map(shown);
    assert!(all.next().is_none(), "process {instance} has two slots");
    first
}

/// Checks that a sensor of a share of time has a possible value for an instance. The value may be
/// more than 100 %: the kernel counts in ticks, and one tick can be longer than a short interval.
fn share(readings: &Readings, asked: usize, instance: u32) {
    let value = found(readings, asked, instance).unwrap();
    let number = value.parse::<f64>();
    assert!(number.is_ok_and(|number| number >= 0.0 && number.is_finite()), "{value}");
}

fn born(context: &MeasurementContext) -> usize {
    let anomalies = &context.record().unwrap().anomalies;
    let count = |anomaly: &Anomaly| match anomaly {
        Anomaly::Born { count, .. } => Some(*count),
        _ => None,
    };
    anomalies.iter().find_map(count).unwrap_or(0)
}

fn gone(context: &MeasurementContext) -> usize {
    let anomalies = &context.record().unwrap().anomalies;
    let count = |anomaly: &Anomaly| match anomaly {
        Anomaly::Gone { count, .. } => Some(*count),
        _ => None,
    };
    anomalies.iter().find_map(count).unwrap_or(0)
}

/// The anomalies of a sample without those of buffers, which have to grow at first.
fn odd(context: &MeasurementContext) -> Vec<Anomaly> {
    let mut anomalies = context.record().unwrap().anomalies.clone();
    anomalies.retain(|anomaly| !matches!(anomaly, Anomaly::BufferGrown { .. }));
    anomalies
}

/// Processor time of a process in seconds, from the kernel's ticks.
fn processor_time(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = text.rsplit_once(')').unwrap();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn a_query_over_a_shared_source_does_not_show_a_process_that_ended_before() {
    let shared = SharedSource::new(open("local:").unwrap());
    let mut child = Running::new("cat", &[]);
    let has = |pid: u32| {
        let mut query = Query::new(shared.source()).unwrap();
        query.add(r"\Process(*)\ID Process").unwrap();
        query.collect().unwrap();
        let ids = query.readings().iter().filter_map(|reading| reading.value.as_ref().ok());
        let pid = f64::from(pid);
        ids.map(|id| id.as_f64()).any(|id| id == pid)
    };
    let pid = child.pid();
    assert!(has(pid));
    child.end();
    assert!(!has(pid));
}

#[test]
fn a_busy_process_has_its_processor_time() {
    let child = Running::new("sh", &["-c", "while :; do :; done"]);
    let pid = child.pid();
    wait_until("the child is busy", || processor_time(pid) > 0.05);
    let mut sources = sources();
    // The baseline is taken between these two readings, and the sample between two below, so
    // that the value has bounds however busy the machine is.
    let (begun, outer) = (Instant::now(), processor_time(pid));
    let mut context = context(&mut sources, &[time_of(pid), id_of(pid)]);
    let (ready, inner) = (Instant::now(), processor_time(pid));
    wait_until("the child goes on", || processor_time(pid) > inner + 0.3);
    context.prepare().unwrap();
    let (shortest, least) = (ready.elapsed(), processor_time(pid) - inner);
    context.sample().unwrap();
    let (longest, most) = (begun.elapsed(), processor_time(pid) - outer);
    let mut readings = Readings::new();
    context.decode(&mut readings).unwrap();

    // User and system time are each in whole ticks.
    let tick = 2.0 / rustix::param::clock_ticks_per_second() as f64;
    let least = 100.0 * (least - tick) / longest.as_secs_f64();
    let most = 100.0 * (most + tick) / shortest.as_secs_f64();
    let time: f64 = found(&readings, 0, pid).unwrap().parse().unwrap();
    assert!((least.min(100.0)..=most).contains(&time), "{time}, not {least} to {most}");
    assert_eq!(found(&readings, 1, pid), Some(pid.to_string()));
    let record = context.record().unwrap();
    assert_eq!(odd(&context), []);
    let clocks: Vec<_> = record.times.iter().map(|time| &*time.name).collect();
    assert_eq!(clocks, ["wall", "monotonic"]);
    let monotonic = &record.times[1];
    assert!(monotonic.before.unwrap() < monotonic.after.unwrap());
    let around = monotonic.after.unwrap() - monotonic.before.unwrap();
    assert!(i128::from(around) >= record.duration.as_nanos() as i128);
}

#[test]
fn a_process_that_ends_between_prepare_and_sample_has_vanished() {
    let mut children = [Running::new("cat", &[]), Running::new("cat", &[])];
    let [first, second] = children.each_ref().map(Running::pid);
    let mut sources = sources();
    let names = [time_of(first), id_of(first), id_of(second)];
    let mut context = context(&mut sources, &names);
    let readings = cycle(&mut context);
    assert_eq!(found(&readings, 1, first), Some(first.to_string()));
    assert_eq!(gone(&context), 0);

    context.prepare().unwrap();
    children[0].end();
    context.sample().unwrap();
    let mut readings = Readings::new();
    context.decode(&mut readings).unwrap();
    assert_eq!(found(&readings, 0, first), Some("vanished".to_string()));
    assert_eq!(found(&readings, 1, first), Some("vanished".to_string()));
    assert_eq!(found(&readings, 2, second), Some(second.to_string()));
    assert_eq!(gone(&context), 1);

    let readings = cycle(&mut context);
    assert_eq!(found(&readings, 0, first), Some("vanished".to_string()));
    assert_eq!(found(&readings, 2, second), Some(second.to_string()));
    assert_eq!(gone(&context), 0);
    // A new context for it is an error.
    let name = time_of(first).parse().unwrap();
    let error = MeasurementContext::new(&mut sources, &[name]).err().unwrap();
    assert!(error.to_string().starts_with("no instance"), "{error}");
}

#[test]
fn processes_that_come_and_go_are_measured_and_reported() {
    let mut sources = sources();
    let mut context = context(&mut sources, &[time_of("*"), id_of("*")]);
    let own = std::process::id();
    assert_eq!(found(&cycle(&mut context), 1, own), Some(own.to_string()));
    for _ in 0..3 {
        let mut children: Vec<_> = (0..5).map(|_| Running::new("cat", &[])).collect();
        let readings = cycle(&mut context);
        assert!(born(&context) >= children.len());
        for child in &children {
            assert_eq!(found(&readings, 0, child.pid()), Some("born".to_string()));
            assert_eq!(found(&readings, 1, child.pid()), Some(child.pid().to_string()));
        }
        let readings = cycle(&mut context);
        for child in &children {
            share(&readings, 0, child.pid());
        }
        children.iter_mut().for_each(Running::end);
        let readings = cycle(&mut context);
        assert!(gone(&context) >= children.len());
        for child in &children {
            assert_eq!(found(&readings, 0, child.pid()), None);
        }
    }
}

#[test]
fn the_total_and_idle_alone_are_measured() {
    let name = |instance: &str| format!("linux.procfs/Process/Thread Count#{instance}");
    let mut sources = sources();
    for names in [vec![name("_Total")], vec![name("Idle")], vec![name("_Total"), name("Idle")]] {
        let mut context = context(&mut sources, &names);
        for _ in 0..3 {
            let readings = cycle(&mut context);
            assert_eq!(readings.len(), names.len());
            assert!(readings.iter().all(|reading| reading.value.is_ok()), "{readings:?}");
        }
    }
}

#[test]
fn two_data_sources_are_measured_in_one_context() {
    const PROCESS: TitleIndex = TitleIndex(230);
    let counters = [
        CounterSpec::new(TitleIndex(6), CounterType::PERF_100NSEC_TIMER),
        CounterSpec::new(TitleIndex(784), CounterType::PERF_COUNTER_RAWCOUNT),
        CounterSpec::new(TitleIndex(684), CounterType::PERF_ELAPSED_TIME),
    ];
    let sample = |seconds: i64| {
        let values = [seconds as u64 * 2_500_000, 7, 1];
        let rows = [("a", None, &values[..])];
        (seconds.to_string(), block("host", seconds, &[(PROCESS, &counters, &rows)]))
    };
    let names = [(230, "Process"), (6, "% Processor Time"), (784, "ID Process")];
    let log = ReplaySource::new("log", (1..=3).map(sample)).unwrap();
    let log = log.with_titles(LanguageId::ENGLISH, &titles(&names));
    let mut sources = sources();
    sources.add(CounterSource::new("written.log", Cached::new(log))).unwrap();

    let child = Running::new("cat", &[]);
    let pid = child.pid();
    let names = [
        id_of(pid),
        "written.log/Process/%25 Processor Time#7".to_string(),
        time_of(pid),
        "written.log/Process/ID Process#*".to_string(),
    ];
    let mut context = context(&mut sources, &names);
    for _ in 0..2 {
        let readings = cycle(&mut context);
        // In the requested order, not that of the data sources.
        assert_eq!(readings.iter().map(|r| r.asked).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(found(&readings, 0, pid), Some(pid.to_string()));
        assert_eq!(found(&readings, 1, 7), Some("25".to_string()));
        assert_eq!(found(&readings, 3, 7), Some("7".to_string()));
        assert_eq!(odd(&context), []);
    }
    // The log has ended, so that only its own sensors have no values.
    let readings = cycle(&mut context);
    assert_eq!(found(&readings, 0, pid), Some(pid.to_string()));
    let log = readings.iter().find(|reading| reading.asked == 1).unwrap();
    assert!(log.value.is_err(), "{log:?}");
    let anomalies = odd(&context);
    let [Anomaly::Failed { source, .. }] = &anomalies[..] else { panic!("{anomalies:?}") };
    assert_eq!(&**source, "written.log");
    // A rate takes a time that is long beside what reading takes, on a busy machine too.
    wait_until("the share of the process", || {
        let shown = found(&cycle(&mut context), 2, pid).unwrap();
        let number = shown.parse::<f64>();
        assert!(number.is_ok() || shown == "no-time-passed", "{shown}");
        number.is_ok_and(|number| number >= 0.0 && number.is_finite())
    });
}

const PLACE: &str = "PERFHIVE_MEASURING_PLACE";

/// Runs a test in a PID namespace of its own, or prints that this is not permitted.
fn within_namespace(test: &str, body: impl FnOnce()) {
    if std::env::var(PLACE).is_ok_and(|name| name == test) {
        return body();
    }
    let start = |program: &Path| {
        let mut start = Command::new("unshare");
        start.args(["-pf", "--mount-proc"]).arg(program).env(PLACE, test).stdin(Stdio::null());
        start
    };
    let program = std::env::current_exe().unwrap();
    let probe = start(&program).arg("--list").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("{test}: unshare is not permitted or not installed here");
        return;
    }
    let output = start(&program).args(["--exact", test, "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    eprint!("{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the test did not run");
}

#[test]
fn a_process_with_a_reused_pid_has_no_value_of_the_old_one() {
    const TEST: &str = "a_process_with_a_reused_pid_has_no_value_of_the_old_one";
    within_namespace(TEST, || {
        let mut first = Running::new("sleep", &["600"]);
        let pid = first.pid();
        let runs = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            text.is_ok_and(|text| text.trim_end() == name)
        };
        wait_until("the first runs", || runs("sleep"));
        let mut sources = sources();
        let names = [time_of(pid), id_of(pid), time_of("*"), id_of("*")];
        let mut context = context(&mut sources, &names);
        let readings = cycle(&mut context);
        assert_eq!(found(&readings, 1, pid), Some(pid.to_string()));
        share(&readings, 2, pid);

        // Between prepare and sample another process takes the PID.
        context.prepare().unwrap();
        first.end();
        if std::fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).is_err() {
            eprintln!("{TEST}: numbers of processes cannot be chosen here");
            return;
        }
        // Start times differ by a tick at least.
        sleep(Duration::from_millis(30));
        let second = Running::new("cat", &[]);
        assert_eq!(second.pid(), pid, "the number is not the same");
        wait_until("the second runs", || runs("cat"));
        context.sample().unwrap();
        let mut readings = Readings::new();
        context.decode(&mut readings).unwrap();
        for asked in [0, 1] {
            assert_eq!(found(&readings, asked, pid), Some("vanished".to_string()));
        }
        assert_eq!(found(&readings, 2, pid), Some("born".to_string()));
        assert_eq!(found(&readings, 3, pid), Some(pid.to_string()));
        assert_eq!((born(&context), gone(&context)), (1, 1));

        let readings = cycle(&mut context);
        for asked in [0, 1] {
            assert_eq!(found(&readings, asked, pid), Some("vanished".to_string()));
        }
        share(&readings, 2, pid);
        assert_eq!((born(&context), gone(&context)), (0, 0));
    });
}

#[test]
fn a_section_knows_its_processor_time_and_the_units_of_its_values() {
    let own = std::process::id().to_string();
    let name =
        |sensor: &str| SensorName::new("linux.procfs", "Process", sensor).with_instance(&own);
    let names = [name("% Processor Time"), name("IO Read Bytes/sec"), name("Working Set")];
    let mut sources = sources();
    let mut context = MeasurementContext::new(&mut sources, &names).unwrap();
    let mut readings = Readings::new();
    let mut clock = ProcessCpuTime;
    let mut used = || Duration::from_nanos(clock.now().unwrap() as u64);
    let around = used();
    let (before, after) = context
        .section(&mut readings, || {
            let before = used();
            wait_until_used(&mut used, before + Duration::from_millis(100));
            (before, used())
        })
        .unwrap();
    let around = used() - around;
    let [time, bytes, memory] = &readings.iter().collect::<Vec<_>>()[..] else { panic!() };
    let [units, counts] = [time, bytes].map(|one| (&*one.slot.unit, one.raw_per_second));
    assert_eq!((units, counts), (("%", Some(10_000_000)), ("B/s", None)));
    assert_eq!((&*memory.slot.unit, memory.raw_per_second), ("B", None));
    assert!(bytes.time().is_none() && bytes.difference().is_some());
    // Linux tells processor time in steps of 10 ms.
    let step = Duration::from_millis(20);
    let told = time.time().unwrap();
    assert!(told + step >= after - before, "{told:?} of {:?}", after - before);
    assert!(told <= around + step, "{told:?} of {around:?}");
}

/// Works until the process has used the processor time `end`.
fn wait_until_used(used: &mut impl FnMut() -> Duration, end: Duration) {
    while used() < end {
        std::hint::black_box((0..1000).sum::<u64>());
    }
}
