//! `perfhive experiment list`, `bind`, `start`, `stop`, `limit` and `fetch`: managing a running
//! experiment.

use crate::args::{
    ExperimentBind, ExperimentEvent, ExperimentFetch, ExperimentLimit, ExperimentOne,
    ExperimentSource, Format, Global,
};
use crate::failure::{Exit, Failure, Outcome, warn};
use crate::output::Output;
use crate::text::escape::Escaped;
use crate::text::style::Style;
use crate::text::table::{Align, Table};
use perfhive::experiment::{ExperimentFolder, ManagedExperiment};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The longest time that an experiment may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

fn failed(error: &io::Error) -> Failure {
    Failure::Source(error.to_string())
}

/// A function that returns the failure for an error of the connection to the experiment of
/// `process`.
fn of_process(process: u32) -> impl Fn(io::Error) -> Failure {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing(format!("process {process} has no experiment")),
        // A perfhive that is stopped (SIGSTOP) accepts no connection either.
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            Failure::Source(format!("the experiment of process {process} does not answer in time"))
        }
        _ => Failure::Source(format!("the experiment of process {process}: {error}")),
    }
}

/// A function that returns the failure for an error of a request to the experiment of `process`.
/// An error that the experiment itself answers with leads to the exit code that `run` has for it.
fn of_request(process: u32) -> impl Fn(io::Error) -> Failure {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing(error.to_string()),
        io::ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        io::ErrorKind::Other => Failure::Source(error.to_string()),
        _ => of_process(process)(error),
    }
}

fn connect(process: u32) -> io::Result<ManagedExperiment> {
    ManagedExperiment::connect(&ExperimentFolder::manage_of(process)?, process, PATIENCE)
}

/// A connection to an experiment and its answer to the request `list`, or the error of connecting or asking.
type Asked = io::Result<(ManagedExperiment, Value)>;

/// The experiments under way, each with its process and its answer to the request `list`. All are
/// asked at once, so that those that hang are waited for together. An experiment that begins or
/// ends meanwhile is left out.
fn ask_all() -> Result<Vec<(u32, Asked)>, Failure> {
    let running = ExperimentFolder::running().map_err(|error| failed(&error))?;
    let ask = |process| {
        let mut one = connect(process)?;
        let about = one.ask(&json!({"do": "list"}))?;
        Ok((one, about))
    };
    let asked: Vec<_> = running
        .into_iter()
        .map(|process| (process, std::thread::spawn(move || ask(process))))
        .collect();
    let answers = asked.into_iter().map(|(process, thread)| {
        (process, thread.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    });
    let mut answers: Vec<(u32, Asked)> = answers.collect();
    // An experiment that begins or ends has nothing to manage.
    answers.retain(
        |(_, asked)| !matches!(asked, Err(error) if error.kind() == io::ErrorKind::NotFound),
    );
    Ok(answers)
}

/// A connection to the experiment of the perfhive with the process ID `pid`, or of the program with this process ID.
fn find(pid: u32) -> Result<ManagedExperiment, Failure> {
    let running = ExperimentFolder::running().map_err(|error| failed(&error))?;
    if running.contains(&pid) {
        return connect(pid).map_err(of_process(pid));
    }
    let mut hanging = Vec::new();
    for (process, listed) in ask_all()? {
        match listed {
            // Another experiment may have hung meanwhile, so that this connection was idle for too long.
            Ok((_, about)) if about["pid"] == pid => {
                return connect(process).map_err(of_process(process));
            }
            Ok(_) => {}
            // The experiment that is looked for may be this one.
            Err(error) => hanging.push(of_process(process)(error)),
        }
    }
    if !hanging.is_empty() {
        let what = format!("cannot find out whether process {pid} has an experiment");
        return Err(Failure::Source(what).behind(hanging));
    }
    let what =
        format!("process {pid} has no experiment; perfhive experiment list shows those there are");
    Err(Failure::Missing(what))
}

pub(super) fn list(global: &Global, args: &ExperimentOne) -> Outcome {
    if !matches!(global.format, Format::Table | Format::Json) {
        let what = "list prints a table, or JSON with --json";
        return Err(Failure::Usage(what.to_string()));
    }
    let output = Output::new(global);
    if let (Some(pid), Some(part)) = (args.pid, &args.sensors) {
        return sensors(&output, pid, part);
    }
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    match args.pid {
        Some(pid) => {
            let mut one = find(pid)?;
            let process = one.process();
            let mut about = one.ask(&json!({"do": "list"})).map_err(of_request(process))?;
            let found = one.ask(&json!({"do": "sensors"})).map_err(of_request(process))?;
            about["sensor_groups"] = found["groups"].clone();
            list.push((process, about));
        }
        None => {
            for (process, asked) in ask_all()? {
                match asked {
                    Ok((_, about)) => list.push((process, about)),
                    Err(error) => exit = of_process(process)(error).report(),
                }
            }
        }
    }
    let mut text = String::new();
    if output.is_table() {
        for (process, about) in &list {
            show(&mut text, &output, *process, about);
        }
        if list.is_empty() && exit == Exit::Done {
            text.push_str("No experiment of yours is under way.\n");
        }
    } else {
        let all = list.into_iter().map(|(process, mut about)| {
            about["perfhive"] = process.into();
            about
        });
        text = format!("{}\n", Value::from(all.collect::<Vec<Value>>()));
    }
    output.write(&text)?;
    Ok(exit)
}

/// Prints the sensors of a running experiment that can be bound and have the text `part` in their names.
fn sensors(output: &Output, pid: u32, part: &str) -> Outcome {
    let mut one = find(pid)?;
    let process = one.process();
    let found = one.ask(&json!({"do": "sensors", "text": part})).map_err(of_request(process))?;
    if !output.is_table() {
        output.write(&format!("{found}\n"))?;
        return Ok(Exit::Done);
    }
    let list = found["sensors"].as_array().map(Vec::as_slice).unwrap_or_default();
    if list.is_empty() {
        let what = format!("no sensor has {part:?} in its name; list {pid} has the groups of them");
        return Err(Failure::Missing(what));
    }
    let mut table = Table::new(&[("SENSOR", Align::Left), ("UNIT", Align::Left)]);
    for sensor in list {
        table.text(Style::Name, sensor["sensor"].as_str().unwrap_or_default());
        table.text(Style::Faint, sensor["unit"].as_str().unwrap_or_default());
    }
    let mut text = String::new();
    table.render(&mut text, output.layout(true));
    if let Some(more) = found["more"].as_u64().filter(|more| *more > 0) {
        text.push_str(&format!("and {more} more\n"));
    }
    output.write(&text)?;
    Ok(Exit::Done)
}

/// Appends a description of an experiment for people: its program, a table of its event sources, and what else it can
/// measure. `about` is its answer to the request `list`. The texts come from another process, so that unsafe characters
/// are escaped.
fn show(text: &mut String, output: &Output, process: u32, about: &Value) {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let words: Vec<String> = each(&about["program"]).iter().map(word).collect();
    let head = format!(
        "{}  pid {}, measured by {process}",
        Escaped(&words.join(" ")),
        Escaped(&word(&about["pid"]))
    );
    output.palette.push(text, Style::Heading, &head);
    text.push('\n');
    let mut table = Table::new(&[
        ("SOURCE", Align::Left),
        ("STATE", Align::Left),
        ("EVENTS", Align::Right),
        ("LIMIT", Align::Right),
        ("LOST", Align::Right),
        ("UNDELIVERED", Align::Right),
        ("MISSED", Align::Right),
        ("FILTERED", Align::Right),
        ("SENSORS", Align::Left),
    ]);
    for one in each(&about["bindings"]) {
        let is = |what: &str| one[what].as_bool() == Some(true);
        let state = match &one["error"] {
            Value::String(error) => error,
            _ if is("running") => "running",
            _ if is("ended") => "ended",
            _ if one["events"].as_u64() >= one["limit"].as_u64() && !one["limit"].is_null() => {
                "at limit"
            }
            _ => "stopped",
        };
        let limit = if one["limit"].is_null() { "-".to_string() } else { word(&one["limit"]) };
        let sensors: Vec<String> =
            each(&one["sensors"]).iter().map(|sensor| word(&sensor["name"])).collect();
        table.text(Style::Name, &word(&one["source"]));
        table.text(Style::Plain, state);
        table.text(Style::Plain, &word(&one["events"]));
        table.text(Style::Plain, &limit);
        table.text(Style::Plain, &word(&one["lost"]));
        table.text(Style::Plain, &word(&one["undelivered"]));
        table.text(Style::Plain, &word(&one["missed"]));
        table.text(Style::Plain, &word(&one["filtered"]));
        table.text(Style::Faint, &sensors.join(", "));
    }
    table.render(text, output.layout(true));
    let mut line = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            text.push_str(&format!("{what}: {}\n", Escaped(&names.join(", "))));
        }
    };
    line("Events to bind", each(&about["events"]).iter().map(word).collect());
    let groups = about["sensor_groups"].as_object().into_iter().flatten();
    let groups = groups.map(|(group, count)| format!("{group} ({count})"));
    line("Sensors to bind", groups.collect());
    line("Calls measured", each(&about["calls"]).iter().map(word).collect());
    let others = each(&about["other_calls"]);
    let others = others.iter().map(|one| format!("{} ({})", word(&one["name"]), one["calls"]));
    line("Other calls of the program", others.collect());
}

/// Sends a request to an experiment. An answer that has the field `field` shows that the experiment
/// did as it was asked; any other is a failure.
fn ask(pid: u32, request: &Value, field: &str) -> Outcome {
    let mut one = find(pid)?;
    let process = one.process();
    let answer = one.ask(request).map_err(of_request(process))?;
    if answer.get(field).is_none() {
        let what = "its answer does not fit the request";
        return Err(of_process(process)(io::Error::new(io::ErrorKind::InvalidData, what)));
    }
    if let Some(note) = answer["note"].as_str() {
        warn(note);
    }
    Ok(Exit::Done)
}

pub(super) fn bind(args: &ExperimentBind) -> Outcome {
    // The process of the experiment may have another working directory.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    let event = match args.event.clone() {
        ExperimentEvent::LineOf(path) => ExperimentEvent::LineOf(absolute(&path)),
        ExperimentEvent::Uprobe(Some(file), name) => {
            ExperimentEvent::Uprobe(Some(absolute(&file)), name)
        }
        ExperimentEvent::Uretprobe(Some(file), name) => {
            ExperimentEvent::Uretprobe(Some(absolute(&file)), name)
        }
        ExperimentEvent::Usdt(Some(file), provider, name) => {
            ExperimentEvent::Usdt(Some(absolute(&file)), provider, name)
        }
        other => other,
    };
    let event = event.to_string();
    ask(
        args.pid,
        &json!({"do": "bind", "event": event, "sensors": args.sensor, "where": args.filter}),
        "note",
    )
}

pub(super) fn set_running(args: &ExperimentSource, running: bool) -> Outcome {
    let what = if running { "start" } else { "stop" };
    ask(args.pid, &json!({"do": what, "source": args.event_source}), "bindings")
}

pub(super) fn limit(args: &ExperimentLimit) -> Outcome {
    let (events, source) = (args.limit.0, &args.event_source);
    let request = json!({"do": "limit", "events": events, "source": source, "where": args.filter});
    ask(args.pid, &request, "bindings")
}

pub(super) fn fetch(args: &ExperimentFetch) -> Outcome {
    let mut one = find(args.pid)?;
    let process = one.process();
    one.fetch().map_err(of_process(process))?;
    let mut out = io::stdout().lock();
    let mut records = 0;
    loop {
        let line = match one.next_line() {
            Ok(Some(line)) => line,
            // The connection may end within a line, too.
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(of_request(process)(error)),
        };
        let is_record = line["kind"] == "record";
        records += u64::from(is_record);
        io::Write::write_all(&mut out, format!("{line}\n").as_bytes())?;
        if line["kind"] == "end" || args.count == Some(records) {
            return Ok(Exit::Done);
        }
    }
    let what = "the experiment dropped this connection before its own end: the records were read too slowly, or it was \
                killed";
    Err(Failure::Source(what.to_string()))
}
