//! The answers of `perfhive experiment run` to other processes that manage its running experiment.

use super::events::{are_halves, conflict};
use super::kernel::{
    danger, kind_of, kind_of_threads, listed_processes, listed_threads, probe, watched_names,
};
use super::run::{LISTED, LOOKED_AT, Sensors, wrong};
use super::sources::{LineEvents, SignalEvents};
use crate::args::{ExperimentEvent as Event, Global, experiment_event};
use crate::failure::Failure;
use perfhive::experiment::{
    AliveProcesses, BindRequest, CallNames, EventFilter, EventKind, ExperimentHandle,
    ExperimentManager, Interval, Probes, Processes, Threads, ThresholdCrossing,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The forms of the events that can be bound to any running program, as `list` prints them.
const BOUND: [&str; 11] = [
    "interval TIME",
    "above SENSOR LIMIT",
    "signal USR1",
    "line PATH",
    "start NAME",
    "end NAME",
    "thread start",
    "thread end",
    "uprobe FUNCTION",
    "uretprobe FUNCTION",
    "usdt PROVIDER:NAME",
];

/// The state of a running experiment that requests of other processes read and change.
pub(super) struct Managed {
    pub(super) handle: ExperimentHandle,
    pub(super) sensors: Sensors,
    pub(super) global: Global,
    /// The names of the calls that are measured; `None` if the experiment was started without events of calls.
    pub(super) names: Option<CallNames>,
    /// The events of the command line, and those that were bound later.
    pub(super) events: Vec<Event>,
    /// The event sources to which the missing half of their sections can be added.
    pub(super) pairs: Vec<Pair>,
    /// The process ID of the program.
    pub(super) process: u32,
    /// How long probes that are bound look for the next hit before they sleep.
    pub(super) spin: Duration,
    /// The first line of the records, with the program and its arguments.
    pub(super) about: Value,
}

/// The name of an event source of processes, threads or probes, with its events. If it has the start of something
/// without its end, or the other way round, the missing one can be added later.
pub(super) struct Pair {
    source: String,
    events: Vec<Event>,
    alive: AliveProcesses,
}

impl Pair {
    /// The event source `process` of the command line, with its starts and ends. Nothing can be added
    /// to the threads and probes of the command line: they cover the program's children, too, which
    /// could not be found later.
    pub(super) fn of_command(events: &[Event], alive: AliveProcesses) -> Self {
        let is_it = |event: &&Event| matches!(event, Event::Start(_) | Event::End(_));
        Self {
            source: "process".into(),
            events: events.iter().filter(is_it).cloned().collect(),
            alive,
        }
    }
}

impl Managed {
    /// Begins to answer other processes that manage the experiment through the socket with this path. Returns the
    /// manager that answers them.
    pub(super) fn serve(self, socket: &Path) -> io::Result<ExperimentManager> {
        let (of_program, names) = (self.about.clone(), self.names.clone());
        let about = move || {
            let wanted = names.as_ref().map(|names| names.wanted()).unwrap_or_default();
            let others = names.as_ref().map(|names| names.others()).unwrap_or_default();
            let others =
                others.iter().map(|(name, count)| json!({"name": &**name, "calls": count}));
            let mut events = BOUND.to_vec();
            events.extend(names.as_ref().map(|_| "call NAME"));
            json!({
                "machine": of_program["machine"],
                "program": of_program["program"],
                "pid": of_program["pid"],
                "started": of_program["started"],
                "events": events,
                "calls": wanted.iter().map(|name| &**name).collect::<Vec<&str>>(),
                "other_calls": others.collect::<Vec<Value>>(),
            })
        };
        let handle = self.handle.clone();
        let managed = Arc::new(Mutex::new(self));
        let binds = Arc::clone(&managed);
        let bind = move |wanted| locked(&binds).bind(&wanted);
        let sensors = move |text: Option<&str>| locked(&managed).sensors_with(text);
        ExperimentManager::serve(socket, handle, about, bind, sensors)
    }

    /// With a text, the sensors that can be measured and have the text in their names: at most 1000, and how many more
    /// there are. Without a text, the number of sensors of each group.
    fn sensors_with(&mut self, text: Option<&str>) -> io::Result<Value> {
        let text = text.map(str::to_lowercase);
        let mut groups: BTreeMap<String, u64> = BTreeMap::new();
        let (mut sensors, mut more) = (Vec::new(), 0);
        for source in self.sensors.sources.iter_mut() {
            let all = source.sensors().map_err(io::Error::other)?;
            for sensor in &*all {
                let name = &sensor.name;
                let Some(text) = &text else {
                    *groups.entry(format!("{}/{}", name.source(), name.group())).or_default() += 1;
                    continue;
                };
                let plain = format!("{}/{}", name.group(), name.sensor());
                match plain.to_lowercase().contains(text) {
                    true if sensors.len() >= 1000 => more += 1,
                    true => sensors.push(json!({
                        "name": name.to_string(), "sensor": plain, "unit": sensor.unit,
                        "has_instances": sensor.has_instances,
                    })),
                    false => {}
                }
            }
        }
        Ok(match text {
            Some(_) => json!({"sensors": sensors, "more": more}),
            None => json!({"groups": groups}),
        })
    }

    /// Binds another event. Returns a note for the process that asked; `None` if there is nothing to note.
    fn bind(&mut self, wanted: &BindRequest) -> io::Result<Option<String>> {
        let filter = wanted.filter.as_deref().map(str::parse::<EventFilter>).transpose();
        let filter = filter.map_err(|why| refused(why.to_string()))?;
        let event = experiment_event(&wanted.event).map_err(refused)?;
        if let Some(why) = self.events.iter().find_map(|known| conflict(known, &event)) {
            return Err(refused(why));
        }
        let pair = (self.pairs.iter())
            .position(|pair| pair.events.iter().any(|half| are_halves(half, &event)));
        let is_lone = pair.is_none() && self.events.iter().any(|known| are_halves(known, &event));
        let mut note = match (&event, pair) {
            (Event::Call(name), _) => {
                self.want(name, wanted, filter.is_some()).map(|()| None).map_err(refused)?
            }
            (_, Some(pair)) => self.join(pair, &event, wanted).map_err(said)?,
            _ => self.listen(&event, wanted, filter.unwrap_or_default()).map_err(said)?,
        };
        if is_lone {
            let lone = format!(
                "{event} makes no sections with the other half of the command line; run both with --on"
            );
            note = Some(note.map_or(lone.clone(), |note| format!("{lone}; {note}")));
        }
        self.events.push(event);
        Ok(note)
    }

    /// Adds an event to the event source at the place `pair` of `pairs`, which has its counterpart already: the end of
    /// a start, or the start of an end. Returns a note for the process that asked; `None` if there is nothing to note.
    fn join(
        &mut self,
        pair: usize,
        event: &Event,
        wanted: &BindRequest,
    ) -> Result<Option<String>, Failure> {
        let Some(Pair { source, events, alive }) = self.pairs.get_mut(pair) else {
            return Ok(None);
        };
        if !wanted.sensors.is_empty() || wanted.filter.is_some() {
            let what = format!(
                "{event}: it makes sections with the other half in '{source}' and is measured with its sensors; limit PID \
                 none '{source}' --where sets a filter"
            );
            return Err(Failure::Usage(what));
        }
        let mut all = events.clone();
        all.push(event.clone());
        let failed = |error: io::Error| Failure::Source(format!("{event}: {error}"));
        let warning = match event {
            Event::Start(_) | Event::End(_) => {
                let both = Processes::watch(&watched_names(&all), LISTED).map_err(failed)?;
                let listed = listed_processes(&both);
                self.handle.replace(source, both.following(alive.clone()))?;
                listed
            }
            Event::ThreadStart | Event::ThreadEnd => {
                let both = threads(self.process, &all).map_err(failed)?;
                let listed = both.every().map(listed_threads);
                self.handle.replace(source, both)?;
                listed
            }
            _ => {
                let (probes, danger) = probes(self.process, self.spin, &all)?;
                self.handle.replace(source, probes)?;
                danger
            }
        };
        *events = all;
        let joined = format!("{event} is measured by the event source '{source}' from now on");
        Ok(Some(warning.map_or(joined.clone(), |warning| format!("{joined}; {warning}"))))
    }

    /// Measures the calls of a name as events from now on; the error says why that is refused. A filter or sensors are
    /// refused: all calls have the same ones.
    fn want(&self, name: &str, wanted: &BindRequest, has_filter: bool) -> Result<(), String> {
        let refused = |what: &str| Err(what.to_string());
        match &self.names {
            _ if has_filter => {
                refused("the calls have one filter, which limit PID none call --where sets")
            }
            _ if !wanted.sensors.is_empty() => {
                refused("calls are measured with the sensors of the others")
            }
            Some(names) => names.want(name).map_err(|error| error.to_string()),
            None => refused(
                "the program was not told where to call, since the experiment was started without calls: run \
                 --on 'call NAME'; an unmodified program has 'uprobe FUNCTION'",
            ),
        }
    }

    /// Measures an event from now on, with an event source of its own. Returns a note for the process that asked;
    /// `None` if there is nothing to note.
    fn listen(
        &mut self,
        event: &Event,
        wanted: &BindRequest,
        filter: EventFilter,
    ) -> Result<Option<String>, Failure> {
        let failed = |error: io::Error| Failure::Source(format!("{event}: {error}"));
        let wrong = |error: io::Error| wrong(&event.to_string(), &error);
        let context = match wanted.sensors.as_slice() {
            [] => self.sensors.context(),
            texts => self.sensors.context_of(&self.global, texts),
        }?;
        let (name, process) = (event.to_string(), self.process);
        let events = [event.clone()];
        let mut note = None;
        match event {
            Event::Interval(every) => {
                self.handle.bind_where(Interval::new(&name, *every), context, filter)?;
            }
            Event::Above(sensor, above, below) => {
                let watched =
                    self.sensors.context_of(&self.global, std::slice::from_ref(sensor))?;
                let source = ThresholdCrossing::new(&name, watched, LOOKED_AT, *above, *below)?;
                self.handle.bind_where(source, context, filter)?;
            }
            Event::Signal(word) => {
                let source = SignalEvents::of_word(&name, word).map_err(wrong)?;
                self.handle.bind_where(source, context, filter)?;
            }
            Event::LineOf(path) => {
                let source = LineEvents::of_fifo(&name, path).map_err(wrong)?;
                self.handle.bind_where(source, context, filter)?;
            }
            Event::Start(_) | Event::End(_) => {
                let processes = Processes::watch(&watched_names(&events), LISTED);
                let processes = processes.map_err(failed)?.named(&name);
                note = listed_processes(&processes);
                let (events, alive) = (events.to_vec(), processes.alive());
                self.handle.bind_where(processes, context, filter)?;
                self.pairs.push(Pair { source: name, events, alive });
            }
            Event::ThreadStart | Event::ThreadEnd => {
                let threads = threads(process, &events).map_err(failed)?.named(&name);
                note = threads.every().map(listed_threads);
                self.handle.bind_where(threads, context, filter)?;
                let (events, alive) = (events.to_vec(), AliveProcesses::default());
                self.pairs.push(Pair { source: name, events, alive });
            }
            Event::Uprobe(..) | Event::Uretprobe(..) | Event::Usdt(..) => {
                let (probes, danger) = probes(process, self.spin, &events)?;
                note = danger;
                self.handle.bind_where(probes.named(&name), context, filter)?;
                let (events, alive) = (events.to_vec(), AliveProcesses::default());
                self.pairs.push(Pair { source: name, events, alive });
            }
            Event::Line(_) => {
                let what = "a descriptor is known to the process that was started with it only; name a FIFO by \
                            its path: 'line /PATH'";
                return Err(Failure::Usage(format!("{event}: {what}")));
            }
            // `want` binds calls.
            Event::Call(_) => {}
        }
        Ok(note)
    }
}

/// The failure as an error for the process that asked; its kind says which exit code `run` would have.
fn said(failure: Failure) -> io::Error {
    let kind = match &failure {
        Failure::Missing(_) => io::ErrorKind::NotFound,
        Failure::Usage(_) => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, failure.message())
}

fn refused(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// The event source of a running program's threads. If the program has several threads already, new
/// ones are found by lists: the kernel would tell only of those that one of the threads makes.
fn threads(process: u32, events: &[Event]) -> io::Result<Threads> {
    let kind = kind_of_threads(events).unwrap_or(EventKind::Point);
    match thread_count(process)? {
        1 => Threads::watch(process, kind, LISTED),
        _ => Threads::by_lists(process, kind, LISTED),
    }
}

/// The event source of probes in a running program, and a warning if one of them may end it, otherwise `None`.
fn probes(
    process: u32,
    spin: Duration,
    events: &[Event],
) -> Result<(Probes, Option<String>), Failure> {
    let program = || Ok(PathBuf::from(format!("/proc/{process}/exe")));
    let (mut probes, mut warning) = (Vec::new(), None);
    for event in events {
        let kind = kind_of(events, event).unwrap_or(EventKind::Point);
        let Some(probe) = probe(event, program)? else { continue };
        warning = warning.or_else(|| danger(event, &probe));
        probes.push(probe.of_kind(kind));
    }
    let failed = |error: io::Error| Failure::Source(error.to_string());
    let probes = Probes::of_process(process, &probes).map_err(failed)?;
    Ok((probes.with_spin(spin), warning))
}

/// The number of threads of a process.
fn thread_count(process: u32) -> io::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{process}/task"))?.count())
}

/// The value behind a lock, even if a thread panicked with it: the value is whole at every moment.
fn locked(managed: &Mutex<Managed>) -> MutexGuard<'_, Managed> {
    managed.lock().unwrap_or_else(PoisonError::into_inner)
}
