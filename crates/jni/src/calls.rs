//! The operations that Java calls by messages: each has a request and an answer.
//!
//! Most of the interface is one native method that takes and returns bytes, so that few functions
//! are at the edge. An operation that is called often has a native method of its own (`entry.rs`).
//! To add an operation:
//! 1. A name in `operations!` and its answer; the same place in `Native.Op` of
//!    `java/src/main/java/org/perfhive/Native.java`.
//! 2. A public method that calls it, in a class beside `Native.java`, with a test in `java/src/test/java`.
//! 3. `docs/manual/java.md`; its examples are compiled and run: `cargo xtask test --only java`.

use crate::categories;
use crate::clock;
use crate::experiment::JavaExperiment;
use crate::failure::{Failure, Kind};
use crate::handles::{self, Object};
use crate::snapshot::{CounterSnapshot, Wanted};
use crate::source::OpenSource;
use crate::wire::{Answer, Request};
use perfhive::measure::SensorName;
use perfhive::{LanguageId, PerformanceCounter};
use std::sync::Mutex;
use std::time::Duration;

/// Declares the operations with their numbers, which are their positions in Java's `Native.Op`.
macro_rules! operations {
    ($($name:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug)]
        enum Op { $($name),* }

        impl Op {
            const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

operations! {
    Handles, ClockFacts, ParseName,
    Open, Sensors, Find, Instances, Advance, Names, Probe,
    Structure, Reasons, Anomalies,
    Snapshot, SnapshotPrepare, SnapshotSample, SnapshotDecode, SnapshotObjects, SnapshotCounters,
    SnapshotInstances, SnapshotItemCount, SnapshotItems, SnapshotFaults,
    Categories, CategoryInstances, CategoryHas, CategoryCounters, CategoryRead, DataPlaces,
    DataValues, DataOne, Counter, CounterNext, Calculate,
    Experiment, ExperimentBind, ExperimentListen, ExperimentBindings, ExperimentEnd,
    ListenerTake, ListenerLost, ListenerAbandon, CallName,
    Panic,
}

/// Performs an operation, given by its number, and returns the answer.
///
/// # Errors
/// An unknown number, an invalid request, or the failure of the operation.
pub(crate) fn call(operation: i32, request: &[u8]) -> Result<Vec<u8>, Failure> {
    let op = usize::try_from(operation).ok().and_then(|place| Op::ALL.get(place));
    let op = *op.ok_or_else(|| Failure::new(Kind::Internal, "no such operation"))?;
    let mut request = Request::new(request);
    let mut answer = Answer::default();
    answer_to(op, &mut request, &mut answer)?;
    Ok(answer.into_bytes())
}

fn answer_to(op: Op, request: &mut Request<'_>, answer: &mut Answer) -> Result<(), Failure> {
    match op {
        Op::Handles => _ = answer.count(handles::count()),
        Op::ClockFacts => {
            let facts = clock::facts(request.i32()?);
            answer.bool(facts.is_some());
            let (resolution, cost) = facts.unwrap_or_default();
            answer.i64(resolution).i64(cost);
        }
        Op::ParseName => name(&request.text()?, answer)?,
        Op::Open | Op::Sensors | Op::Find | Op::Instances | Op::Advance | Op::Names | Op::Probe => {
            source(op, request, answer)?;
        }
        Op::Structure => {
            let (handle, known) = (request.i64()?, request.i32()?);
            handles::probe(handle, |probe| {
                probe.values.structure(known, answer);
                Ok(())
            })?;
        }
        Op::Reasons => handles::probe(request.i64()?, |probe| {
            probe.values.reasons(answer);
            Ok(())
        })?,
        Op::Anomalies => handles::probe(request.i64()?, |probe| {
            probe.anomalies(answer);
            Ok(())
        })?,
        Op::Snapshot => {
            let (source, kind) = (request.i64()?, request.i32()?);
            let list = request.list(|request| Ok((request.index()?, request.index()?)))?;
            let wanted = match kind {
                0 => Wanted::Global,
                1 => Wanted::Costly,
                _ => Wanted::Custom(list),
            };
            let made = handles::source(source, |source| CounterSnapshot::new(source, wanted))?;
            answer.i64(handles::insert(Object::Snapshot(Mutex::new(made)))?);
        }
        Op::SnapshotPrepare
        | Op::SnapshotSample
        | Op::SnapshotDecode
        | Op::SnapshotObjects
        | Op::SnapshotCounters
        | Op::SnapshotInstances
        | Op::SnapshotItemCount
        | Op::SnapshotItems
        | Op::SnapshotFaults => snapshot(op, request, answer)?,
        Op::Categories
        | Op::CategoryInstances
        | Op::CategoryHas
        | Op::CategoryCounters
        | Op::CategoryRead
        | Op::DataPlaces
        | Op::DataValues
        | Op::DataOne
        | Op::Counter
        | Op::CounterNext
        | Op::Calculate => category(op, request, answer)?,
        Op::Experiment
        | Op::ExperimentBind
        | Op::ExperimentListen
        | Op::ExperimentBindings
        | Op::ExperimentEnd
        | Op::ListenerTake
        | Op::ListenerLost
        | Op::ListenerAbandon
        | Op::CallName => experiment(op, request, answer)?,
        // For the tests of what becomes of a panic.
        #[allow(clippy::panic, reason = "it is asked for")]
        Op::Panic => panic!("a panic that was asked for"),
    }
    Ok(())
}

/// Puts the parts of a sensor's name into the answer: source, group, sensor, and the instance if
/// there is one. The error of a text that is not such a name gives the reason.
fn name(text: &str, answer: &mut Answer) -> Result<(), Failure> {
    let name: SensorName = text.parse().map_err(perfhive::measure::MeasureError::from)?;
    answer.text(name.source()).text(name.group()).text(name.sensor());
    answer.optional_text(name.instance());
    Ok(())
}

fn source(op: Op, request: &mut Request<'_>, answer: &mut Answer) -> Result<(), Failure> {
    if let Op::Open = op {
        let (address, titles) = (request.text()?, request.list(Request::text)?);
        let source = OpenSource::new(&address, &titles)?;
        answer.text(source.name());
        answer.i64(handles::insert(Object::Source(Mutex::new(source)))?);
        return Ok(());
    }
    let handle = request.i64()?;
    match op {
        Op::Sensors => handles::source(handle, |source| source.sensors(answer)),
        Op::Find => {
            let name = request.text()?;
            handles::source(handle, |source| source.find(&name, answer))
        }
        Op::Instances => {
            let sensor = request.i64()?;
            let list = handles::source(handle, |source| source.instances(sensor))?;
            answer.texts(list.iter());
            Ok(())
        }
        Op::Advance => handles::source(handle, OpenSource::advance),
        Op::Names => {
            let language = request.i32()?;
            let language = u16::try_from(language).ok().map(LanguageId);
            let titles = handles::source(handle, |source| source.titles(language))?;
            let all = titles.all();
            answer.count(all.len());
            for (index, name) in all {
                answer.index(index).text(name);
            }
            Ok(())
        }
        _ => {
            let max_age = Duration::from_nanos(request.i64()?.max(0).cast_unsigned());
            let selected = request.list(|request| {
                let sensor = request.i64()?;
                let instance = if request.bool()? { Some(request.text()?) } else { None };
                Ok((sensor, instance))
            })?;
            let probe = handles::source(handle, |source| source.probe(selected, max_age))?;
            answer.i64(handles::insert(Object::Probe(Mutex::new(probe)))?);
            Ok(())
        }
    }
}

fn snapshot(op: Op, request: &mut Request<'_>, answer: &mut Answer) -> Result<(), Failure> {
    handles::snapshot(request.i64()?, |snapshot| {
        match op {
            Op::SnapshotPrepare => snapshot.prepare()?,
            Op::SnapshotSample => _ = answer.bool(snapshot.sample()?),
            Op::SnapshotDecode => _ = answer.bool(snapshot.decode()?),
            Op::SnapshotObjects => {
                let objects = snapshot.objects()?;
                answer.count(objects.len());
                objects.iter().for_each(|object| _ = answer.index(*object));
            }
            Op::SnapshotCounters => snapshot.counters(request.index()?, answer)?,
            Op::SnapshotInstances => snapshot.instances(request.index()?, answer)?,
            Op::SnapshotFaults => categories::faults(snapshot.faults(), answer),
            Op::SnapshotItemCount => _ = answer.count(snapshot.item_count()?),
            _ => snapshot.items(answer)?,
        }
        Ok(())
    })
}

fn category(op: Op, request: &mut Request<'_>, answer: &mut Answer) -> Result<(), Failure> {
    if let Op::Calculate = op {
        return categories::calculate(request, answer);
    }
    let handle = request.i64()?;
    match op {
        Op::Categories => {
            let name = if request.bool()? { Some(request.text()?) } else { None };
            let source = handles::source(handle, OpenSource::shared)?;
            categories::open(&source, name.as_deref(), answer)
        }
        Op::CategoryInstances => handles::category(handle, |category| {
            categories::instances(&category.instances()?, answer);
            Ok(())
        }),
        Op::CategoryHas => {
            let (is_counter, name) = (request.bool()?, request.text()?);
            handles::category(handle, |category| {
                answer.bool(match is_counter {
                    true => category.has_counter(&name),
                    false => category.has_instance(&name)?,
                });
                Ok(())
            })
        }
        Op::CategoryCounters => {
            let instance = request.text()?;
            let counters = handles::category(handle, |category| Ok(category.counters(&instance)?))?;
            answer.count(counters.len());
            counters.into_iter().try_for_each(|counter| categories::counter(counter, answer))
        }
        Op::CategoryRead => {
            handles::category(handle, |category| categories::read(category, answer))
        }
        Op::DataPlaces => {
            let (instance, counter) = (request.text()?, request.text()?);
            handles::data(handle, |data| {
                categories::places(data, &instance, &counter, answer);
                Ok(())
            })
        }
        Op::DataValues => {
            let (what, older) = (request.i32()?, request.i64()?);
            handles::data(handle, |data| match what {
                0 => categories::values(data, None, answer),
                _ => handles::data(older, |older| categories::values(data, Some(older), answer)),
            })
        }
        Op::DataOne => {
            let (is_text, instance, counter) = (request.bool()?, request.text()?, request.text()?);
            handles::data(handle, |data| {
                categories::one(data.get(&counter, &instance), is_text, answer);
                Ok(())
            })
        }
        Op::Counter => {
            let [category, counter, instance] = [request.text()?, request.text()?, request.text()?];
            let source = handles::source(handle, OpenSource::shared)?;
            let counter = PerformanceCounter::new_in(&source, &category, &counter, &instance)?;
            categories::counter(counter, answer)
        }
        _ => {
            let what = request.i32()?;
            handles::counter(handle, |counter| categories::next(counter, what, answer))
        }
    }
}

fn experiment(op: Op, request: &mut Request<'_>, answer: &mut Answer) -> Result<(), Failure> {
    if let Op::Experiment = op {
        let capacity = usize::try_from(request.i32()?).unwrap_or(0);
        let path = if request.bool()? { Some(request.text()?) } else { None };
        let started = JavaExperiment::start(capacity, path.as_deref())?;
        answer.i64(handles::insert(Object::Experiment(started))?);
        return Ok(());
    }
    let handle = request.i64()?;
    match op {
        Op::ExperimentBind => handles::experiment(handle, |one| one.bind(request, answer)),
        Op::ExperimentListen => {
            let outbox = handles::experiment(handle, JavaExperiment::listen)?;
            answer.i64(handles::insert(Object::Outbox(outbox))?);
            Ok(())
        }
        Op::ExperimentBindings => handles::experiment(handle, |one| {
            one.bindings(answer);
            Ok(())
        }),
        Op::ExperimentEnd => handles::experiment(handle, |one| one.end(answer)),
        Op::ListenerTake => {
            match handles::outbox(handle, |outbox| Ok(outbox.take()))? {
                Some(message) => *answer = Answer::from(message),
                None => _ = answer.bool(false),
            }
            Ok(())
        }
        Op::ListenerLost => handles::outbox(handle, |outbox| {
            answer.bits(outbox.lost());
            Ok(())
        }),
        Op::ListenerAbandon => handles::outbox(handle, |outbox| {
            outbox.abandon();
            Ok(())
        }),
        _ => {
            let name = request.text()?;
            answer.count(handles::calls(handle, |calls| calls.name(&name))?);
            Ok(())
        }
    }
}
