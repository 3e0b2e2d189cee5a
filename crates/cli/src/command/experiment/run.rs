//! `perfhive experiment run`: starts a program and measures it.

use super::around::Around;
use super::managed::{Managed, Pair};
use super::output::NamedFile;
use super::program::{HeldProgram, ProgramEnder};
use super::sources::{LineEvents, SignalEvents};
use super::table;
use super::{events, kernel};
use crate::args::{ExperimentEvent, ExperimentFilter, ExperimentRun as Args, Format, Global};
use crate::failure::{Exit, Failure, Outcome, complain, of_source, warn};
use crate::sensors::{find_one, with_syntax};
use crate::session::Session;
use crate::signals::{Event, Signals, end_by};
use crate::text::escape::Escaped;
use crate::unfinished::{Unfinished, exclusive, is_phr};
use perfhive::SourceAddress;
use perfhive::experiment::{
    AliveProcesses, BindingCounts, CALLS_VARIABLE, CallNames, Calls, EventFilter, EventKind,
    EventSource as _, Experiment, ExperimentEnd, ExperimentFolder, Interval, JsonLines, PerfEvent,
    Processes, RecordBatch, Section, SocketLines, ThresholdCrossing,
};
use perfhive::measure::{DataSources, MeasurementContext, SensorName, data_source, name_of};
use perfhive::recording::EventRecording;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest time that Ctrl-C waits until the program has ended and all is written.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time after Ctrl-C in which the program may end by itself: the terminal sends the signal to it, too.
const BY_ITSELF: Duration = Duration::from_secs(3);
/// The time between lists of processes or threads, where the kernel does not tell of them.
pub(super) const LISTED: Duration = Duration::from_millis(20);
/// The time between two readings of a value that has a threshold.
pub(super) const LOOKED_AT: Duration = Duration::from_millis(10);
/// The longest time of one wait for a signal.
const FOREVER: Duration = Duration::from_secs(86_400);

/// The sensors that are measured if the command line names none. They are two that are cheap to read, since every event
/// reads them.
const USUAL: [&str; 2] = ["Process/% Processor Time", "Process/Working Set"];

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let address = checked(global)?;
    for on in args.filters.iter().filter_map(|one| one.on.as_ref()) {
        if !args.on.contains(on) {
            let what = format!("--where '{on}: ...' is for an event that no --on names");
            return Err(Failure::Usage(what));
        }
    }
    events::check(&args.on)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        let what = "-o - is no file; -o /dev/stdout writes the records to standard output, and -o ./- to a file of \
                    that name";
        return Err(Failure::Usage(what.to_string()));
    }
    // A file that cannot be written is a mistake to be told at once. Its old contents stay until there are records.
    let is_stdout = args.output.as_deref() == Some(Path::new("/dev/stdout"));
    let is_new = |path: &&PathBuf| !is_stdout && fs::symlink_metadata(path).is_err();
    let new = args.output.as_ref().filter(is_new);
    // Declared before all that writes to the file, so that it is removed after the last of them is gone.
    let mut fresh = None;
    let file = match &args.output {
        // A redirected file that is opened by this name would have an offset of its own, at its beginning.
        Some(_) if is_stdout => {
            let standard = io::stdout().as_fd().try_clone_to_owned();
            Some(fs::File::from(standard.map_err(failed)?))
        }
        Some(path) if !is_phr(path) => Some(exclusive(path)?),
        _ => None,
    };
    if file.is_some() {
        fresh = new.map(|path| Unfinished::of_new(path));
    }
    // Descriptors of lines come first, so that none that perfhive opens itself is taken for one it was started with.
    let (signals_got, lines_read) = told(&args.on)?;
    let folder = ExperimentFolder::create().map_err(failed)?;
    let calls: Vec<&str> = (args.on.iter())
        .filter_map(|one| match one {
            ExperimentEvent::Call(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let watched = kernel::watched_names(&args.on);
    let probes = kernel::probes(args)?;
    let mut listening = None;
    let mut call_names = None;
    let mut variables = Vec::new();
    if !calls.is_empty() {
        let source = Calls::listen(&folder.calls(), &calls).map_err(failed)?;
        let source = source.with_spin(args.spin.unwrap_or_default());
        call_names = Some(source.names());
        listening = Some(source);
        variables.push((CALLS_VARIABLE, folder.calls().into_os_string()));
    }
    let held = HeldProgram::new(&folder.start(), &args.program, &variables)?;
    let mut sensors = Sensors::find(global, &address, &args.sensor, held.process())?;
    sensors.warm()?;
    let signals = Signals::listen_with(PATIENCE);
    // The records' times count from here.
    let (about, builder) = (about(args, held.process()), Experiment::builder());
    let mut builder = builder.capacity(args.capacity as usize);
    let around = args.around.map(|window| Arc::new(Mutex::new(Around::new(window))));
    if let Some(around) = &around {
        let theirs = Arc::clone(around);
        builder = builder.deliver(move |batch: &RecordBatch<'_>, sections: &[Section]| {
            let mut around = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            add_around(&mut around, batch, sections);
        });
    }
    for address in &args.deliver {
        let failed = |error| Failure::Source(format!("{address}: {error}"));
        let mut lines = SocketLines::connect(address).map_err(failed)?;
        lines.line(&about).map_err(failed)?;
        builder = builder.deliver(lines);
    }
    let mut records: Option<Box<dyn io::Write + Send>> = None;
    if let Some(file) = file {
        let path = args.output.clone().unwrap_or_default();
        let is_file = !is_stdout && file.metadata().is_ok_and(|about| about.is_file());
        records = Some(Box::new(NamedFile { file, path, is_old: is_file }));
    }
    if let Some(path) = args.output.as_ref().filter(|path| is_phr(path)) {
        let (machine, program) = (machine().unwrap_or_default(), words(args).join(" "));
        records = Some(Box::new(EventRecording::create(path, &machine, &program)?));
        fresh = new.map(|path| Unfinished::of_new(path));
    }
    if let Some(out) = records {
        let is_old = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0)
        };
        let mut lines = JsonLines::new(out);
        // Old records stay until there are new ones: until the program has begun, an error may end all.
        match args.output.as_ref().is_some_and(is_old) && !is_stdout {
            true => lines.line_with_records(&about),
            false => lines.line(&about),
        }
        .map_err(failed)?;
        builder = builder.deliver(lines);
    }
    let experiment = builder.start().map_err(failed)?;
    if let Some(calls) = listening {
        let filter = filter_of_names(args, |event| match event {
            ExperimentEvent::Call(name) => Some((name.clone(), None)),
            _ => None,
        });
        experiment.bind_where(calls, sensors.context()?, filter)?;
    }
    let mut alive = AliveProcesses::default();
    if !watched.is_empty() {
        let processes = Processes::watch(&watched, LISTED).map_err(failed)?;
        alive = processes.alive();
        if let Some(what) = kernel::listed_processes(&processes) {
            warn(&what);
        }
        let filter = filter_of_names(args, |event| match event {
            ExperimentEvent::Start(name) => Some((name.clone(), Some(EventKind::Start))),
            ExperimentEvent::End(name) => Some((name.clone(), Some(EventKind::End))),
            _ => None,
        });
        experiment.bind_where(processes, sensors.context()?, filter)?;
    }
    if let Some(probes) = kernel::watched(args, &probes, held.process())? {
        let filter = filter_of_names(args, |event| {
            let kind = kernel::kind_of(&args.on, event)?;
            Some((events::name_of(event)?, Some(kind)))
        });
        experiment.bind_where(probes, sensors.context()?, filter)?;
    }
    if let Some(threads) = kernel::threads(args, held.process())? {
        let filter = filter_of_names(args, |event| match event {
            ExperimentEvent::ThreadStart => Some(("thread".to_owned(), Some(EventKind::Start))),
            ExperimentEvent::ThreadEnd => Some(("thread".to_owned(), Some(EventKind::End))),
            _ => None,
        });
        experiment.bind_where(threads, sensors.context()?, filter)?;
    }
    for event in &args.on {
        if let ExperimentEvent::Above(sensor, above, below) = event {
            let watched = sensors.context_of(global, std::slice::from_ref(sensor))?;
            let name = event.to_string();
            let source = ThresholdCrossing::new(&name, watched, LOOKED_AT, *above, *below)?;
            experiment.bind_where(source, sensors.context()?, filter_of(args, event))?;
        }
    }
    for source in signals_got {
        let filter = filter_of_source(args, source.name());
        experiment.bind_where(source, sensors.context()?, filter)?;
    }
    for source in lines_read {
        let filter = filter_of_source(args, source.name());
        experiment.bind_where(source, sensors.context()?, filter)?;
    }
    let mut intervals = Vec::new();
    for event in &args.on {
        if let ExperimentEvent::Interval(every) = event {
            let (context, filter) = (sensors.context()?, filter_of(args, event));
            // Bound once the program has begun, when it is too late for an error.
            filter.check(&context)?;
            intervals.push((event, every, context, filter));
        }
    }
    let process = held.process();
    let (begun, begin) = (Instant::now(), PerfEvent::now(&"begin".into()).time);
    let program = held.begin()?;
    if let Some(fresh) = &fresh {
        fresh.finish()?;
    }
    for (event, every, context, filter) in intervals {
        let source = Interval::new(&event.to_string(), *every).since(begin);
        experiment.bind_where(source, context, filter)?;
    }
    let managed = Managed {
        handle: experiment.handle(),
        sensors,
        global: global.clone(),
        names: call_names.clone(),
        events: args.on.clone(),
        pairs: vec![Pair::of_command(&args.on, alive)],
        process,
        spin: args.spin.unwrap_or_default(),
        about,
    };
    let manager = managed.serve(&folder.manage()).map_err(failed)?;
    let heard = end_on_signal(signals, program.ender());
    let code = program.wait()?;
    // Events that are measured later do not belong to the program's run time.
    let busy = experiment.bindings().iter().map(|one| one.busy).sum();
    let elapsed = begun.elapsed();
    let end = experiment.end();
    drop(manager);
    drop(folder);
    let words = args.program.first().map(|word| word.display().to_string()).unwrap_or_default();
    let mut around = around.as_ref().map(|one| one.lock().unwrap_or_else(PoisonError::into_inner));
    let text = table::page(global, &end, &words, (elapsed, busy), around.as_deref_mut());
    // The program's own output is on standard output.
    let _ = std::io::stderr().write_all(text.as_bytes());
    tell_absent_calls(&args.on, call_names.as_ref(), &end);
    let mut whole = true;
    for failure in &end.failures {
        complain(&format!("the records are not complete: {failure}"));
        whole = false;
    }
    for one in end.bindings.iter().filter(|one| one.failure.is_some()) {
        complain(&format!("{}: {}", one.source, one.failure.as_deref().unwrap_or_default()));
        whole = false;
    }
    match heard.load(Ordering::Acquire) {
        0 if code == 0 && !whole => Ok(Exit::Source),
        0 => std::process::exit(code),
        signal => end_by(signal),
    }
}

/// Warns of each wanted call that never came, with the names of at most ten other calls that did; of `call *` if no call
/// came at all. Does not warn if calls were filtered, skipped, missed or lost: a wanted one may be among them.
fn tell_absent_calls(on: &[ExperimentEvent], names: Option<&CallNames>, end: &ExperimentEnd) {
    // The name of a call that was left out is not known: it may be a wanted one.
    let is_whole = |one: &BindingCounts| {
        &*one.source != "call" || one.filtered + one.skipped + one.missed + one.lost == 0
    };
    if !end.bindings.iter().all(is_whole) {
        return;
    }
    let others = names.map(CallNames::others).unwrap_or_default();
    let others: Vec<&str> = others.iter().map(|(name, _)| &**name).take(10).collect();
    let is_silent = |one: &BindingCounts| &*one.source != "call" || one.events == 0;
    for event in on {
        let ExperimentEvent::Call(name) = event else { continue };
        if name == "*" {
            if end.bindings.iter().all(is_silent) {
                warn(&format!("{event}: no call came"));
            }
            continue;
        }
        let came = end.summary.events.iter().any(|one| *one.name == **name);
        match others.join(", ") {
            _ if came => {}
            none if none.is_empty() => warn(&format!("{event}: no such call came")),
            others => {
                warn(&format!(
                    "{event}: no such call came; the program called {}",
                    Escaped(&others)
                ));
            }
        }
    }
}

/// The event sources for those of the events that are signals or lines; other events are left out.
fn told(events: &[ExperimentEvent]) -> Result<(Vec<SignalEvents>, Vec<LineEvents>), Failure> {
    let (mut signals, mut lines) = (Vec::new(), Vec::new());
    for event in events {
        let name = event.to_string();
        let failed = |error: io::Error| wrong(&name, &error);
        match event {
            ExperimentEvent::Signal(word) => {
                signals.push(SignalEvents::of_word(&name, word).map_err(failed)?);
            }
            ExperimentEvent::Line(descriptor) => {
                lines.push(LineEvents::inherited(&name, *descriptor).map_err(failed)?);
            }
            ExperimentEvent::LineOf(path) => {
                lines.push(LineEvents::of_fifo(&name, path).map_err(failed)?);
            }
            _ => {}
        }
    }
    Ok((signals, lines))
}

/// The failure for an error of the event source of an event that the command line names.
pub(super) fn wrong(event: &str, error: &io::Error) -> Failure {
    let what = format!("{event}: {error}");
    match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing(what),
        _ => Failure::Usage(what),
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::Source(error.to_string())
}

/// The address of the source that the command line names. Fails if it is not valid, or that of a recording, if the
/// command line chooses a part of a recording, or if another format than a table is chosen.
fn checked(global: &Global) -> Result<SourceAddress, Failure> {
    if global.format != Format::Table {
        let what = "an experiment prints a table; -o FILE has every record as a line of JSON";
        return Err(Failure::Usage(what.to_string()));
    }
    let address: SourceAddress =
        global.source.parse().map_err(|error| Failure::Usage(format!("{error}")))?;
    if address.scheme().capabilities.recorded {
        let what = "is a recording; an experiment measures a running program";
        return Err(Failure::Usage(of_source(&global.source, what)));
    }
    match Session::chooses_part(global) {
        true => Err(Session::no_past(global)),
        false => Ok(address),
    }
}

/// Adds the records of a batch to `around`: their readings if the batch is of an interval (a source of events at fixed
/// distances), otherwise their events. Adds the sections, too, as events.
fn add_around(around: &mut Around, batch: &RecordBatch<'_>, sections: &[Section]) {
    let seconds = |time: u64| time as f64 / 1e9;
    let names: Vec<String> = batch.columns().iter().map(|one| one.name.to_string()).collect();
    for record in batch.records() {
        let time = seconds(record.event.time);
        if batch.interval().is_none() {
            around.add_event(&record.event.name, Some(record.event.kind), time, time);
            continue;
        }
        for (name, reading) in names.iter().zip(&record.readings) {
            reading.value.iter().for_each(|value| around.add_reading(name, time, *value));
        }
    }
    for section in sections {
        let from = seconds(section.start);
        around.add_event(&section.name, None, from, from + section.duration.as_secs_f64());
    }
}

/// The filter of an event: the filters for this event, and, unless it is an interval, the filters
/// for all events.
fn filter_of(args: &Args, event: &ExperimentEvent) -> EventFilter {
    let is_clock = matches!(event, ExperimentEvent::Interval(_));
    let is_for = |one: &&ExperimentFilter| match &one.on {
        Some(on) => on == event,
        None => !is_clock,
    };
    let filters = args.filters.iter().filter(is_for);
    filters.fold(EventFilter::default(), |all, one| all.and(&one.filter))
}

/// The filter of the event that is written as `source`; if there is none, a filter that lets all
/// pass.
fn filter_of_source(args: &Args, source: &str) -> EventFilter {
    let event = args.on.iter().find(|event| event.to_string() == source);
    event.map_or_else(EventFilter::default, |event| filter_of(args, event))
}

/// The filter of an event source with events of several names and kinds. `key_of` gives the name and kind of an event
/// of this source, and `None` for any other event. The filter of `call *` is for the names without a filter of their
/// own.
fn filter_of_names(
    args: &Args,
    key_of: impl Fn(&ExperimentEvent) -> Option<(String, Option<EventKind>)>,
) -> EventFilter {
    let keyed = args.on.iter().filter_map(|event| Some((key_of(event)?, filter_of(args, event))));
    let (all, named): (Vec<_>, Vec<_>) = keyed.partition(|((name, _), _)| name == "*");
    let named = named.into_iter().map(|((name, kind), filter)| match kind {
        Some(kind) => filter.of_name(&name).of_kind(kind),
        None => filter.of_name(&name),
    });
    named
        .chain(all.into_iter().map(|(_, filter)| filter))
        .fold(EventFilter::default(), EventFilter::or_else)
}

/// The program and its arguments.
fn words(args: &Args) -> Vec<String> {
    args.program.iter().map(|word| word.display().to_string()).collect()
}

/// The first line of records: what the experiment is about.
fn about(args: &Args, process: u32) -> Value {
    json!({
        "kind": "experiment",
        "version": 1,
        "machine": machine(),
        "program": words(args),
        "pid": process,
        "started": jiff::Timestamp::now().to_string(),
    })
}

/// The name of this machine; `None` where the system does not tell.
fn machine() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_string()).filter(|name| !name.is_empty())
}

/// The sensors that the command line names, or the usual ones, and their data source.
pub(super) struct Sensors {
    pub(super) sources: DataSources,
    own: String,
    process: u32,
    names: Vec<SensorName>,
}

impl Sensors {
    fn find(
        global: &Global,
        address: &SourceAddress,
        texts: &[String],
        process: u32,
    ) -> Result<Self, Failure> {
        let usual = USUAL.map(str::to_string);
        let texts = if texts.is_empty() { &usual } else { texts };
        let source = data_source(&global.source, &Session::options(global))
            .map_err(|error| with_syntax(error.into(), texts))?;
        let mut sources = DataSources::new();
        sources.add(source)?;
        let mut sensors = Self { sources, own: name_of(address, ""), process, names: Vec::new() };
        sensors.choose(global, texts)?;
        Ok(sensors)
    }

    /// With the feature `bpf`, reads the sensors three times before the program begins; without it, does nothing. Where
    /// BPF is permitted, perfhive loads its BPF program in one of these samples, which then takes many times as long as
    /// others.
    fn warm(&mut self) -> Result<(), Failure> {
        const SAMPLES: usize = 3;
        if cfg!(feature = "bpf") {
            for _ in 0..SAMPLES {
                let mut context = self.context()?;
                context.prepare()?;
                context.sample()?;
            }
        }
        Ok(())
    }

    /// Chooses the sensors that the texts name instead of those before; the error is that of the first wrong text.
    /// A text for every instance (`#*`) is wrong, too. After an error the sensors are those before.
    fn choose(&mut self, global: &Global, texts: &[String]) -> Result<(), Failure> {
        let mut names = Vec::new();
        for text in texts {
            let text = of_program(text, &self.own, self.process);
            for asked in find_one(&mut self.sources, &self.own, global, &text)? {
                if asked.name.instance() == Some("*") {
                    let what = "an experiment measures one instance at a time; name it behind #, or \
                                leave #* out for the program's own";
                    return Err(Failure::Usage(format!("{}: {what}", asked.name)));
                }
                names.push(asked.name);
            }
        }
        self.names = names;
        Ok(())
    }

    /// A new context of the sensors that the texts name. The chosen sensors stay chosen.
    pub(super) fn context_of(
        &mut self,
        global: &Global,
        texts: &[String],
    ) -> Result<MeasurementContext, Failure> {
        let names = std::mem::take(&mut self.names);
        let context = match self.choose(global, texts) {
            Ok(()) => self.context(),
            Err(failure) => Err(failure),
        };
        self.names = names;
        context
    }

    /// A new context of the chosen sensors, for one event source.
    pub(super) fn context(&mut self) -> Result<MeasurementContext, Failure> {
        Ok(MeasurementContext::new(&mut self.sources, &self.names)?)
    }
}

/// The text of a sensor or path. One of Process or Process V2 without an instance gets the program's instance; any
/// other is returned unchanged.
fn of_program(text: &str, own: &str, process: u32) -> String {
    if text.contains(['#', '(']) {
        return text.to_string();
    }
    let start = text.trim_start().trim_start_matches(['\\', '/']);
    let after = |text: &str, word: &str| {
        let (first, rest) = text.split_at_checked(word.len())?;
        let rest = rest.strip_prefix(['\\', '/'])?;
        first.eq_ignore_ascii_case(word).then(|| rest.to_string())
    };
    for object in ["Process", "Process V2"] {
        if let Some(counter) = after(start, object) {
            // A name has these characters encoded already, a path has them as they are.
            let counter = counter.replace("%2F", "/").replace("%23", "#").replace("%25", "%");
            let name = SensorName::new(own, object, &counter);
            return name.with_instance(&process.to_string()).to_string();
        }
        if after(start, own).is_some_and(|sensor| after(&sensor, object).is_some()) {
            return format!("{text}#{process}");
        }
    }
    text.to_string()
}

/// Ends the program once this process is asked to end. Returns the place where the number of the signal is
/// noted then; it is 0 before.
fn end_on_signal(signals: Signals, ender: ProgramEnder) -> Arc<AtomicI32> {
    let heard = Arc::new(AtomicI32::new(0));
    let noted = Arc::clone(&heard);
    std::thread::spawn(move || {
        loop {
            if let Event::End(signal) = signals.wait_until(Instant::now() + FOREVER) {
                noted.store(signal, Ordering::Release);
                let is_ctrl_c = signal == signal_hook::consts::SIGINT;
                ender.end(if is_ctrl_c { BY_ITSELF } else { Duration::ZERO });
                return;
            }
        }
    });
    heard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_of_process_without_an_instance_are_the_programs() {
        let of = |text| of_program(text, "linux.procfs", 42);
        let name = |sensor: &str| format!("linux.procfs/{sensor}#42");
        assert_eq!(of("Process/Working Set"), name("Process/Working Set"));
        assert_eq!(of(r"\process v2\IO Read Bytes/sec"), name("Process V2/IO Read Bytes%2Fsec"));
        for text in ["Process/% Processor Time", "/Process/%25 Processor Time"] {
            assert_eq!(of(text), name("Process/%25 Processor Time"));
        }
        assert_eq!(of("linux.procfs/Process/Working Set"), "linux.procfs/Process/Working Set#42");
        for other in [
            "Process/Working Set#7",
            r"\Process(java)\Working Set",
            "Memory/Available Bytes",
            "cpu",
        ] {
            assert_eq!(of(other), other);
        }
    }
}
