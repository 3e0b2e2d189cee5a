//! Readers of one process, beside the blocks.

use crate::common::wait_for_sleep;
use perfhive_engine::{
    Ask, Broker, Identity, InstanceReader, InstanceWish, NoValue, ObjectSample, Snapshot, Source,
};
use perfhive_format::{RawSample, TitleIndex};
use perfhive_linux::{LinuxClock, LinuxOptions, ProcRoot, ReaderChoice, providers_with};
use perfhive_testkit::alloc::{Allocations, count};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROCESS: TitleIndex = TitleIndex(230);
const PROCESSOR_TIME: TitleIndex = TitleIndex(6);
const WORKING_SET: TitleIndex = TitleIndex(180);
const HANDLE_COUNT: TitleIndex = TitleIndex(952);

fn machine() -> Broker {
    let root = ProcRoot::default();
    let options = LinuxOptions::new().reader(ReaderChoice::Proc);
    let builder = Broker::builder("local:", "machine").clock(LinuxClock::of(&root));
    builder.providers(providers_with(&root, &options)).build()
}

fn every_counter(machine: &mut Broker) -> Vec<TitleIndex> {
    let catalogue = machine.catalogue(&Ask::objects(&[PROCESS])).unwrap();
    catalogue.object(PROCESS).unwrap().counters.iter().map(|counter| counter.name).collect()
}

/// A process as a block has it.
fn sample_of(machine: &mut Broker, pid: u32, counters: &[TitleIndex]) -> ObjectSample {
    let mut ask = Ask::objects(&[PROCESS]).with_instance(PROCESS, InstanceWish::Process(pid));
    ask.extra_counters = counters.iter().map(|counter| (PROCESS, *counter)).collect();
    let mut snapshot = Snapshot::new();
    machine.collect(&ask, &mut snapshot).unwrap();
    ObjectSample::of(snapshot.object(PROCESS).unwrap())
}

fn place_of(sample: &ObjectSample, pid: u32) -> usize {
    let identities = sample.identities().identities();
    identities.iter().position(|identity| identity.process_id() == Some(pid)).unwrap()
}

fn identity_of(machine: &mut Broker, pid: u32) -> Identity {
    let sample = sample_of(machine, pid, &[]);
    sample.identities().identity(place_of(&sample, pid)).unwrap().clone()
}

fn reader_of(machine: &mut Broker, pid: u32, counters: &[TitleIndex]) -> Box<dyn InstanceReader> {
    let identity = identity_of(machine, pid);
    machine.instance_reader(PROCESS, &identity, counters).unwrap()
}

fn read(reader: &mut dyn InstanceReader, counters: usize) -> Vec<Option<RawSample>> {
    let mut values = vec![None; counters];
    reader.read(&mut values).unwrap();
    values
}

/// A child that waits for its input to be closed.
fn waiting(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn every_counter_of_a_sleeping_process_is_that_of_a_block() {
    let mut child = waiting("read line");
    wait_for_sleep(child.id(), "sh");
    let mut machine = machine();
    let mut counters = every_counter(&mut machine);
    let sample = sample_of(&mut machine, child.id(), &counters);
    // Some kernels lack some.
    counters.retain(|counter| sample.counter(place_of(&sample, child.id()), *counter).is_some());
    assert!(counters.len() > 20, "{counters:?}");
    let values = read(&mut *reader_of(&mut machine, child.id(), &counters), counters.len());
    let sample = sample_of(&mut machine, child.id(), &counters);
    let place = place_of(&sample, child.id());
    for (counter, value) in counters.iter().zip(values) {
        let sampled = sample.counter(place, *counter).unwrap();
        let known = sampled.raw().ok().copied();
        let shown = |raw: RawSample| (raw.value, raw.value_size, raw.clocks.object_freq);
        assert_eq!(value.map(shown), known.map(shown), "{counter}");
        if let (Some(value), Some(known)) = (value, known) {
            assert!(value.clocks.time_100ns <= known.clocks.time_100ns);
            assert_eq!(value.clocks.perf_freq, known.clocks.perf_freq);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_schedule_of_a_process_is_that_of_a_block() {
    const SCHEDULE: [TitleIndex; 3] =
        [TitleIndex(105_002), TitleIndex(105_004), TitleIndex(105_006)];
    let mut command = Command::new("nice");
    command.args(["-n", "7", "sh", "-c", "read line"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for_sleep(child.id(), "sh");
    let mut machine = machine();
    for pid in [child.id(), std::process::id()] {
        for with in [&[][..], &[PROCESSOR_TIME], &[WORKING_SET], &[WORKING_SET, HANDLE_COUNT]] {
            let counters = [&SCHEDULE[..], with].concat();
            let values = read(&mut *reader_of(&mut machine, pid, &counters), counters.len());
            let sample = sample_of(&mut machine, pid, &counters);
            let place = place_of(&sample, pid);
            let known = SCHEDULE.map(|c| sample.counter(place, c).unwrap().raw().unwrap().value);
            let values: Vec<_> = values.iter().map(|value| value.unwrap().value).collect();
            assert_eq!(values[..3], known, "{pid} {with:?}");
        }
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn processor_time_alone_is_that_of_a_block_but_finer() {
    // A tick of the kernel, by which `stat` counts, twice.
    const TICKS: u64 = 200_000;
    let mut child = waiting("while :; do :; done");
    let mut machine = machine();
    let mut reader = reader_of(&mut machine, child.id(), &[WORKING_SET, PROCESSOR_TIME]);
    let mut odd = 0;
    let end = Instant::now() + Duration::from_secs(20);
    while odd < 3 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(3));
        let known = |machine: &mut Broker| {
            let sample = sample_of(machine, child.id(), &[]);
            let place = place_of(&sample, child.id());
            let raw = |counter| sample.counter(place, counter).unwrap().raw().unwrap().value;
            (raw(PROCESSOR_TIME), raw(WORKING_SET))
        };
        let (before, memory) = known(&mut machine);
        let values = read(&mut *reader, 2);
        let (after, _) = known(&mut machine);
        let time = values[1].unwrap().value;
        assert!(before <= time + TICKS && time <= after + TICKS, "{before} {time} {after}");
        assert_eq!(values[0].unwrap().value, memory);
        odd += u32::from(!time.is_multiple_of(100_000));
    }
    assert_eq!(odd, 3, "the time counts whole ticks only");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_this_program_has_used_is_that_of_a_block_but_finer() {
    const TICKS: u64 = 200_000;
    let used = [6, 142, 144, 28, 105_000].map(TitleIndex);
    let mut machine = machine();
    let pid = std::process::id();
    let mut reader = reader_of(&mut machine, pid, &used);
    let known = |machine: &mut Broker| {
        let sample = sample_of(machine, pid, &[]);
        let place = place_of(&sample, pid);
        used.map(|counter| sample.counter(place, counter).unwrap().raw().unwrap().value)
    };
    let before = known(&mut machine);
    let values = read(&mut *reader, used.len());
    let after = known(&mut machine);
    for (at, value) in values.iter().enumerate() {
        let (value, slack) = (value.unwrap().value, if at < 3 { TICKS } else { 0 });
        let range = before[at]..=after[at];
        assert!(*range.start() <= value + slack && value <= range.end() + slack, "{at}: {value}");
    }
    assert!(values[0].unwrap().value > 0);
    assert_eq!(values[3].unwrap().value_size, 4);
}

#[test]
fn a_process_that_ended_has_its_last_time_until_it_is_reaped() {
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; read line";
    let mut child = waiting(script);
    wait_for_sleep(child.id(), "sh");
    let mut machine = machine();
    let mut time = reader_of(&mut machine, child.id(), &[PROCESSOR_TIME]);
    let mut others = reader_of(&mut machine, child.id(), &[HANDLE_COUNT, PROCESSOR_TIME]);
    let last = read(&mut *time, 1)[0].unwrap().value;
    assert!(last > 0);
    drop(child.stdin.take());
    let stat = format!("/proc/{}/stat", child.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = read(&mut *time, 1)[0].unwrap().value;
    assert!(ended >= last, "{ended} {last}");
    let [handles, used] = read(&mut *others, 2).try_into().unwrap();
    assert!(handles.is_none() && used.is_some(), "it has no handles any more");
    let mut values = [None; 2];
    assert!(matches!(others.read(&mut values), Err(NoValue::Vanished)), "it uses nothing any more");
    child.wait().unwrap();
    assert!(matches!(time.read(&mut values[..1]), Err(NoValue::Vanished)));
    assert!(matches!(others.read(&mut values), Err(NoValue::Vanished)));
}

#[test]
fn what_a_reader_cannot_tell_has_none() {
    let mut machine = machine();
    let own = identity_of(&mut machine, std::process::id());
    let Identity::Process { id, start } = own else { panic!("{own:?}") };
    let later = Identity::Process { id, start: start + 1 };
    assert!(machine.instance_reader(PROCESS, &later, &[PROCESSOR_TIME]).is_none());
    assert!(machine.instance_reader(PROCESS, &own, &[TitleIndex(1)]).is_none());
    assert!(machine.instance_reader(TitleIndex(238), &own, &[PROCESSOR_TIME]).is_none());
    assert!(machine.instance_reader(PROCESS, &Identity::Single, &[PROCESSOR_TIME]).is_none());
}

#[test]
fn a_warm_reading_allocates_nothing() {
    let mut machine = machine();
    let counters = [PROCESSOR_TIME, WORKING_SET, HANDLE_COUNT];
    for counters in [&counters[..2], &counters[..]] {
        let mut reader = reader_of(&mut machine, std::process::id(), counters);
        let mut values = [None; 3];
        let mut run = || assert!(reader.read(&mut values[..counters.len()]).is_ok());
        (0..3).for_each(|_| run());
        let ((), allocations) = count(|| (0..10).for_each(|_| run()));
        assert_eq!(allocations, Allocations::default());
    }
}
