//! `perfhive typeperf`: what scripts around Windows' typeperf rely on.

use super::capture::wait;
use super::columns::Columns;
use super::watch::following;
use crate::args::{Global, ToolForm, Typeperf as Args};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::paths::add_paths;
use crate::session::Session;
use crate::signals::Signals;
use perfhive::recording::{TextForm, TextLines, TextLogWriter, TextZone};
use perfhive::{CounterPath, FileTime, Query};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long Ctrl-C waits for a sample under way.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the tool says at its end; scripts wait for it.
const GOODBYE: &str =
    "Exiting, please wait...                         \r\nThe command completed successfully.\r\n";
const DONE: &str = "The command completed successfully.\r\n";

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let form = form_of(args.form, args.config.as_deref())?;
    let mut global = global.clone();
    if let Some(host) = &args.host {
        global.source = format!("registry://{}", host.trim_start_matches('\\'));
    }
    if let Some(output) = &args.output {
        refuse_existing(output, args.yes)?;
    }
    let listed = args.listed.as_ref().map(|object| (object, false));
    if let Some((object, expands)) = listed.or(args.expanded.as_ref().map(|object| (object, true)))
    {
        return list(&global, args, object, expands);
    }
    let mut paths = args.paths.clone();
    if let Some(file) = &args.counters {
        paths.extend(counters_of(file)?);
    }
    if paths.is_empty() {
        let what = "name counters, such as \"\\Processor(_Total)\\% Processor Time\", or a file with \
                    them (-cf)";
        return Err(Failure::Usage(what.to_string()));
    }
    sample(&global, args, form, &paths)
}

/// The form that is asked for; binary logs and databases cannot be written.
pub(super) fn form_of(form: ToolForm, config: Option<&Path>) -> Result<TextForm, Failure> {
    if config.is_some() {
        let what = "-config: settings files are not read; give the flags themselves";
        return Err(Failure::Usage(what.to_string()));
    }
    match form {
        ToolForm::Csv => Ok(TextForm::Csv),
        ToolForm::Tsv => Ok(TextForm::Tsv),
        ToolForm::Bin | ToolForm::Sql => Err(Failure::Usage(
            "only the forms csv and tsv are written (-f csv); perfhive convert and record write \
             recordings (.phr)"
                .to_string(),
        )),
    }
}

pub(super) fn refuse_existing(path: &Path, yes: bool) -> Result<(), Failure> {
    match path.exists() && !yes {
        true => Err(Failure::Usage(format!("{} exists; -y replaces it", path.display()))),
        false => Ok(()),
    }
}

/// The counter paths of a file, one a line.
pub(super) fn counters_of(file: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read(file)
        .map_err(|error| Failure::Source(format!("{}: {error}", file.display())))?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let paths = lines.filter(|line| !line.is_empty() && !line.starts_with(';'));
    Ok(paths.map(|line| line.trim_matches('"').to_string()).collect())
}

/// The zone of this machine at the moment.
fn zone() -> TextZone {
    let zone = jiff::Zoned::now();
    let name = zone.strftime("%Z").to_string();
    TextZone { name, bias: -zone.offset().seconds() / 60 }
}

fn sample(global: &Global, args: &Args, form: TextForm, paths: &[String]) -> Outcome {
    let session = Session::open(global)?;
    let faults = session.faults.clone();
    let mut query = session.query()?;
    add_paths(&mut query, global, paths)?;
    let live = query.is_live();
    let signals = Signals::listen_with(PATIENCE);
    let output = Output::new(global);
    let mut lines = TextLines::of_console(form, zone());
    let mut file: Option<TextLogWriter> = None;
    let mut columns = Columns::default();
    let (mut shown, mut is_first) = (0, live && query.samples_needed() > 1);
    let mut next = Instant::now();
    loop {
        match query.collect() {
            Ok(()) => {}
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
        faults.report();
        if columns.is_empty() {
            // Wildcards mean the instances that are there at the beginning.
            query.readings().iter().for_each(|reading| columns.add(&query, reading));
            match &args.output {
                Some(path) => {
                    let writer = TextLogWriter::create(path, form, zone(), columns.paths())?;
                    file = Some(writer);
                }
                None => output.write(lines.first(columns.paths()))?,
            }
        }
        // As the tool does, a rate's first sample is not shown.
        if !std::mem::take(&mut is_first) {
            let time = faults.time().and_then(|time| time.to_file_time());
            let (time, row) = (time.unwrap_or(FileTime(0)), columns.row(&query));
            match &mut file {
                Some(file) => {
                    file.add(time, row.iter().copied())?;
                    file.flush()?;
                }
                None => output.write(lines.sample(time, row.iter().copied()))?,
            }
            shown += 1;
        }
        if args.count.is_some_and(|count| shown >= count) {
            break;
        }
        if live {
            next = following(next, args.interval, Instant::now());
            if wait(&signals, next).is_some() {
                break;
            }
        }
    }
    if let Some(file) = file {
        file.finish()?;
    }
    output.write(GOODBYE)?;
    Ok(Exit::Done)
}

/// Prints the paths of all counters, or of those of one object: with their instances, or as what
/// matches all instances.
fn list(global: &Global, args: &Args, object: &str, expands: bool) -> Outcome {
    let session = Session::open(global)?;
    let faults = session.faults.clone();
    let mut query = session.query()?;
    let mut paths = Vec::new();
    let names: Vec<String> = match object {
        "*" => query.objects(None)?,
        object => vec![object.trim_matches('\\').to_string()],
    };
    for name in names {
        paths.extend(paths_of(&mut query, &name, expands)?);
    }
    faults.report();
    let mut text: String = paths.into_iter().map(|path| path + "\r\n").collect();
    let output = Output::new(global);
    if let Some(file) = &args.output {
        let written = std::fs::write(file, &text);
        written.map_err(|error| Failure::Source(format!("{}: {error}", file.display())))?;
        text.clear();
    }
    text.push_str("\r\n");
    text.push_str(DONE);
    output.write(&text)?;
    Ok(Exit::Done)
}

fn paths_of(query: &mut Query, object: &str, expands: bool) -> Result<Vec<String>, Failure> {
    let items = query.items(None, object)?;
    let instance = items.has_instances.then(perfhive::InstancePattern::any);
    if !expands {
        let path = |counter| CounterPath::new(&items.object, instance.clone(), counter).to_string();
        return Ok(items.counters.iter().map(|counter| path(counter)).collect());
    }
    let mut paths = Vec::new();
    for counter in &items.counters {
        let all = CounterPath::new(&items.object, instance.clone(), counter).to_string();
        paths.extend(query.expand(&all)?.iter().map(ToString::to_string));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exiting_line_is_padded_as_by_typeperf() {
        let line = GOODBYE.lines().next().unwrap();
        assert_eq!(line.len() - line.trim_end().len(), 25);
    }
}
