//! What other processes can do to a running experiment: the side of `perfhive experiment run`.

use super::events::conflict;
use super::kernel::{listed_processes, listed_threads, probe};
use super::run::{LISTED, LOOKED_AT, Sensors};
use super::sources::{LineEvents, SignalEvents};
use crate::args::{ExperimentEvent as Event, Global, experiment_event};
use crate::failure::Failure;
use perfhive::experiment::{
    BindRequest, CallNames, EventFilter, EventKind, ExperimentHandle, ExperimentManager, Interval,
    Probes, Processes, Threads, ThresholdCrossing,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The events that can be bound to any running program.
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

/// What other processes manage.
pub(super) struct Managed {
    pub(super) handle: ExperimentHandle,
    pub(super) sensors: Sensors,
    pub(super) global: Global,
    /// The names of calls, where the program was started with calls.
    pub(super) names: Option<CallNames>,
    /// The events so far.
    pub(super) events: Vec<Event>,
    /// The program.
    pub(super) process: u32,
}

impl Managed {
    /// Lets other processes manage the experiment with a program, given with its arguments.
    pub(super) fn serve(
        self,
        socket: &Path,
        program: Vec<String>,
    ) -> io::Result<ExperimentManager> {
        let process = self.process;
        let names = self.names.clone();
        let about = move || {
            let wanted = names.as_ref().map(|names| names.wanted()).unwrap_or_default();
            let others = names.as_ref().map(|names| names.others()).unwrap_or_default();
            let others =
                others.iter().map(|(name, count)| json!({"name": &**name, "calls": count}));
            let mut events = BOUND.to_vec();
            events.extend(names.as_ref().map(|_| "call NAME"));
            json!({
                "program": program,
                "pid": process,
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

    /// The sensors that can be bound and have a text in their names, 1000 at most and how many more there are;
    /// without a text how many there are of each group.
    fn sensors_with(&mut self, text: Option<&str>) -> Result<Value, String> {
        let text = text.map(str::to_lowercase);
        let mut groups: BTreeMap<String, u64> = BTreeMap::new();
        let (mut sensors, mut more) = (Vec::new(), 0);
        for source in self.sensors.sources.iter_mut() {
            let all = source.sensors().map_err(|error| error.to_string())?;
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

    /// Binds another event; returns what the manager is to know of it.
    fn bind(&mut self, wanted: &BindRequest) -> Result<Option<String>, String> {
        let filter = wanted.filter.as_deref().map(str::parse::<EventFilter>).transpose();
        let filter = filter.map_err(|why| why.to_string())?;
        let event = experiment_event(&wanted.event)?;
        if let Some(why) = self.events.iter().find_map(|known| conflict(known, &event)) {
            return Err(why);
        }
        let note = match &event {
            Event::Call(name) => self.want(name, wanted, filter.is_some()).map(|()| None)?,
            _ => self.listen(&event, wanted, filter.unwrap_or_default()).map_err(said)?,
        };
        self.events.push(event);
        Ok(note)
    }

    /// Makes the calls of a name events.
    fn want(&self, name: &str, wanted: &BindRequest, has_filter: bool) -> Result<(), String> {
        let refused = |what: &str| Err(what.to_string());
        match &self.names {
            _ if has_filter => {
                refused("the calls have one filter, which limit PID none calls --where sets")
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

    /// Binds an event source of its own.
    fn listen(
        &mut self,
        event: &Event,
        wanted: &BindRequest,
        filter: EventFilter,
    ) -> Result<Option<String>, Failure> {
        let failed = |error: io::Error| Failure::Source(format!("{event}: {error}"));
        let context = match wanted.sensors.as_slice() {
            [] => self.sensors.context(),
            texts => self.sensors.context_of(&self.global, texts),
        }?;
        let (name, process) = (event.to_string(), self.process);
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
                let source = SignalEvents::of_word(&name, word).map_err(failed)?;
                self.handle.bind_where(source, context, filter)?;
            }
            Event::LineOf(path) => {
                let source = LineEvents::of_fifo(&name, path).map_err(failed)?;
                self.handle.bind_where(source, context, filter)?;
            }
            Event::Start(program) | Event::End(program) => {
                let kind = match event {
                    Event::Start(_) => EventKind::Start,
                    _ => EventKind::End,
                };
                let processes = Processes::watch(&[(program, kind)], LISTED).map_err(failed)?;
                let note = listed_processes(&processes);
                self.handle.bind_where(processes.named(&name), context, filter)?;
                return Ok(note);
            }
            Event::ThreadStart | Event::ThreadEnd => {
                let kind = match event {
                    Event::ThreadStart => EventKind::Start,
                    _ => EventKind::End,
                };
                // The kernel tells what a thread makes, and not what others that are there by now make.
                let threads = match thread_count(process).map_err(failed)? {
                    1 => Threads::watch(process, kind, LISTED),
                    _ => Threads::by_lists(process, kind, LISTED),
                };
                let threads = threads.map_err(failed)?.named(&name);
                let note = threads.every().map(listed_threads);
                self.handle.bind_where(threads, context, filter)?;
                return Ok(note);
            }
            Event::Uprobe(..) | Event::Uretprobe(..) | Event::Usdt(..) => {
                let program = || Ok(PathBuf::from(format!("/proc/{process}/exe")));
                let probes: Vec<_> = probe(event, program)?.into_iter().collect();
                let probes = Probes::of_process(process, &probes).map_err(failed)?;
                self.handle.bind_where(probes.named(&name), context, filter)?;
            }
            Event::Line(_) => {
                let what = "a descriptor is known to the process that was started with it only; name a FIFO by \
                            its path: 'line /PATH'";
                return Err(Failure::Usage(format!("{event}: {what}")));
            }
            // Bound before.
            Event::Call(_) => {}
        }
        Ok(None)
    }
}

fn said(failure: Failure) -> String {
    failure.message()
}

/// The number of threads of a process.
fn thread_count(process: u32) -> io::Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{process}/task"))?.count())
}

/// What is behind a lock; it is whole at every moment.
fn locked(managed: &Mutex<Managed>) -> MutexGuard<'_, Managed> {
    managed.lock().unwrap_or_else(PoisonError::into_inner)
}
