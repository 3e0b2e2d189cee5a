//! `perfhive experiment run`: starts a program and measures it.

use super::program::{HeldProgram, ProgramEnder};
use super::table;
use crate::args::{ExperimentEvent, ExperimentRun as Args, Format, Global};
use crate::failure::{Exit, Failure, Outcome, complain, of_source};
use crate::sensors::{find, with_syntax};
use crate::signals::{Event, Signals, end_by};
use perfhive::experiment::{
    CALLS_VARIABLE, Calls, Experiment, ExperimentFolder, Interval, JsonLines, call_cost,
};
use perfhive::measure::{DataSources, MeasurementContext, SensorName, data_source, name_of};
use perfhive::{OpenOptions, SourceAddress};
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How long Ctrl-C waits at most until the program has ended and all is written.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a program has to end by the Ctrl-C that the terminal sends it, too.
const BY_ITSELF: Duration = Duration::from_millis(500);
/// How long is waited for a signal at a time.
const FOREVER: Duration = Duration::from_secs(86_400);

/// The sensors without any on the command line.
const USUAL: [&str; 3] =
    ["Process/% Processor Time", "Process/Working Set", "Process/Page Faults/sec"];

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let address = checked(global)?;
    let output = args.output.as_ref().map(|path| {
        let file = File::create(path);
        file.map_err(|error| Failure::Source(format!("{}: {error}", path.display())))
    });
    let output = output.transpose()?;
    let folder = ExperimentFolder::create().map_err(failed)?;
    let calls: Vec<&str> = (args.on.iter())
        .filter_map(|one| match one {
            ExperimentEvent::Call(name) => Some(name.as_str()),
            ExperimentEvent::Interval(_) => None,
        })
        .collect();
    let mut call = Duration::ZERO;
    let mut listening = None;
    let mut variables = Vec::new();
    if !calls.is_empty() {
        call = call_cost(&folder.cost()).map_err(failed)?;
        listening = Some(Calls::listen(&folder.calls(), &calls).map_err(failed)?);
        variables.push((CALLS_VARIABLE, folder.calls().into_os_string()));
    }
    let held = HeldProgram::new(&folder.start(), &args.program, &variables)?;
    let signals = Signals::listen_with(PATIENCE);
    let mut builder = Experiment::builder().capacity(args.capacity as usize).call_cost(call);
    if let Some(file) = output {
        builder = builder.deliver(lines(file, args, held.process()).map_err(failed)?);
    }
    let mut experiment = builder.start().map_err(failed)?;
    let mut sensors = Sensors::find(global, &address, &args.sensor, held.process())?;
    if let Some(calls) = listening {
        experiment.bind(calls, sensors.context()?)?;
    }
    let mut intervals = Vec::new();
    for event in &args.on {
        if let ExperimentEvent::Interval(every) = event {
            intervals.push((every, sensors.context()?));
        }
    }
    let begun = Instant::now();
    let program = held.begin()?;
    for (every, context) in intervals {
        let name = format!("interval {}", table::plain(*every));
        experiment.bind(Interval::new(&name, *every), context)?;
    }
    let heard = end_on_signal(signals, program.ender());
    let code = program.wait()?;
    let elapsed = begun.elapsed();
    let end = experiment.end();
    drop(folder);
    let words = args.program.first().map(|word| word.display().to_string()).unwrap_or_default();
    let text = table::page(global, &end, &words, elapsed);
    // The program's own output is on standard output.
    let _ = std::io::stderr().write_all(text.as_bytes());
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

fn failed(error: std::io::Error) -> Failure {
    Failure::Source(error.to_string())
}

/// The address of the source, which has to be live.
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
    Ok(address)
}

/// The file of records, with a line about the experiment.
fn lines(file: File, args: &Args, process: u32) -> std::io::Result<JsonLines<File>> {
    let mut lines = JsonLines::new(file);
    let words = args.program.iter().map(|word| word.display().to_string());
    lines.line(&serde_json::json!({
        "kind": "experiment",
        "version": 1,
        "program": words.collect::<Vec<String>>(),
        "pid": process,
        "started": jiff::Timestamp::now().to_string(),
    }))?;
    Ok(lines)
}

/// The sensors of the command line.
struct Sensors {
    sources: DataSources,
    names: Vec<SensorName>,
}

impl Sensors {
    fn find(
        global: &Global,
        address: &SourceAddress,
        texts: &[String],
        process: u32,
    ) -> Result<Self, Failure> {
        let own = name_of(address, "");
        let usual = USUAL.map(str::to_string);
        let texts = if texts.is_empty() { &usual } else { texts };
        let texts: &Vec<String> =
            &texts.iter().map(|text| of_program(text, &own, process)).collect();
        let source = data_source(&global.source, &OpenOptions::new())
            .map_err(|error| with_syntax(error.into(), texts))?;
        let mut sources = DataSources::new();
        sources.add(source)?;
        let mut names = Vec::new();
        for asked in find(&mut sources, &own, global, texts)? {
            if asked.name.instance() == Some("*") {
                let what = "an experiment measures one instance at a time; name it behind #, or \
                            leave #* out for the program's own";
                return Err(Failure::Usage(format!("{}: {what}", asked.name)));
            }
            names.push(asked.name);
        }
        Ok(Self { sources, names })
    }

    /// A context of its own for a kind of event.
    fn context(&mut self) -> Result<MeasurementContext, Failure> {
        Ok(MeasurementContext::new(&mut self.sources, &self.names)?)
    }
}

/// A sensor or path of Process without an instance, as that of the program; any other as it is.
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
            return format!("\\{object}(pid:{process})\\{counter}");
        }
        if after(start, own).is_some_and(|sensor| after(&sensor, object).is_some()) {
            return format!("{text}#{process}");
        }
    }
    text.to_string()
}

/// Ends the program once this process is asked to end; returns where the signal is noted.
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
        assert_eq!(of("Process/Working Set"), r"\Process(pid:42)\Working Set");
        assert_eq!(of(r"\process v2\IO Read Bytes/sec"), r"\Process V2(pid:42)\IO Read Bytes/sec");
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
