//! `perfhive typeperf`: the options and the output of Windows' typeperf, as far as scripts rely on
//! them.

use super::capture::wait;
use super::columns::Columns;
use super::convert::{LogForm, english_titles, refuse_language};
use super::watch::following;
use crate::args::{Global, ToolForm, Typeperf as Args};
use crate::failure::{Exit, Failure, Outcome, of_source, warn};
use crate::output::Output;
use crate::paths::{add_paths, missing_instances};
use crate::replay::Replay;
use crate::session::Session;
use crate::signals::Signals;
use crate::text::time::zone_at;
use crate::text::{decoded, read_list};
use crate::unfinished::{Unfinished, write_whole};
use perfhive::recording::{
    BinaryLogCounters, BinaryLogWriter, TextForm, TextLines, TextLogWriter, TextZone,
};
use perfhive::{CounterPath, FileTime, Query, SourceError, TitleDatabase};
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest time that the program waits for the current sample after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(3);

/// The text that typeperf prints at its end; scripts wait for it.
const GOODBYE: &str =
    "Exiting, please wait...                         \r\nThe command completed successfully.\r\n";
/// The text that the tools print if none of the counters exists.
const NO_COUNTERS: &str = "Error: No valid counters.\r\n";
const DONE: &str = "The command completed successfully.\r\n";

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let form = form_of(args.form)?;
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
    if matches!(form, LogForm::Binary) && args.output.is_none() {
        let what = "-f BIN: name the log (-o FILE); a terminal shows text";
        return Err(Failure::Usage(what.to_string()));
    }
    if matches!(form, LogForm::Binary) {
        refuse_language(&global)?;
    }
    sample(&global, args, form, &paths)
}

/// The form of the log that the option asks for. A database is an error, since perfhive does not
/// write any.
pub(super) fn form_of(form: ToolForm) -> Result<LogForm, Failure> {
    match form {
        ToolForm::Csv => Ok(LogForm::Text(TextForm::Csv)),
        ToolForm::Tsv => Ok(LogForm::Text(TextForm::Tsv)),
        ToolForm::Bin => Ok(LogForm::Binary),
        ToolForm::Sql => Err(Failure::Usage(
            "-f SQL: databases are not written; every database loads a text log (-f CSV), or the \
             Parquet files of perfhive convert -o NAME.parquet"
                .to_string(),
        )),
    }
}

/// Fails if the file exists, unless `yes` says that it is to be replaced.
pub(super) fn refuse_existing(path: &Path, yes: bool) -> Result<(), Failure> {
    match path.exists() && !yes {
        true => Err(Failure::Usage(format!("{} exists; -y replaces it", path.display()))),
        false => Ok(()),
    }
}

/// The counter paths of a file, one a line, with or without quotes. Blank lines and lines that
/// begin with `;` are left out.
pub(super) fn counters_of(file: &Path) -> Result<Vec<String>, Failure> {
    let text =
        read_list(file).map_err(|error| Failure::Source(format!("{}: {error}", file.display())))?;
    let Some(text) = decoded(&text) else {
        let file = file.display();
        let what = format!("{file}: is neither UTF-8 nor UTF-16 with its mark; save it as UTF-8");
        return Err(Failure::Source(what));
    };
    let lines = text.lines().map(str::trim);
    let paths = lines.filter(|line| !line.is_empty() && !line.starts_with(';'));
    Ok(paths.map(|line| line.trim_matches('"').to_string()).collect())
}

/// Adds the paths that exist to a query, as Windows' tools do, and returns them. Prints a warning for each other
/// path. If no path exists, prints the message of the tools ([`NO_COUNTERS`]) and fails.
pub(super) fn add_known_paths(
    query: &mut Query,
    global: &Global,
    output: &Output,
    paths: &[String],
) -> Result<Vec<String>, Failure> {
    let (mut known, mut failures) = (Vec::new(), Vec::new());
    for path in paths {
        let added = add_paths(query, global, std::slice::from_ref(path));
        match added.map(|mut one| one.pop()) {
            Ok(Some(Err(absent))) => failures.push((path, Failure::Source(absent.message()))),
            Ok(_) => known.push(path.clone()),
            Err(failure) => failures.push((path, failure)),
        }
    }
    if !known.is_empty() {
        for (path, failure) in failures {
            warn(&format!("{path} is left out: {}", failure.message()));
        }
        return Ok(known);
    }
    output.write(NO_COUNTERS)?;
    let mut failures: Vec<Failure> = failures.into_iter().map(|(_, failure)| failure).collect();
    failures.pop().map_or(Ok(known), |last| Err(last.behind(failures)))
}

/// A log file that is being written.
enum LogFile {
    Text(TextLogWriter),
    Binary(Box<BinaryLogWriter>),
}

impl LogFile {
    /// Creates a log with the counters that a query has now.
    fn create(
        path: &Path,
        form: LogForm,
        zone: TextZone,
        (query, columns): (&Query, &Columns),
        titles: &TitleDatabase,
    ) -> Result<Self, SourceError> {
        match form {
            LogForm::Text(form) => {
                TextLogWriter::create(path, form, zone, columns.paths()).map(Self::Text)
            }
            LogForm::Binary => {
                let mut counters = BinaryLogCounters::default();
                query.readings().iter().for_each(|reading| counters.add(query, reading));
                let log = BinaryLogWriter::create(path, zone, counters, titles)?;
                Ok(Self::Binary(Box::new(log)))
            }
        }
    }

    /// Appends the newest sample.
    fn add(
        &mut self,
        time: FileTime,
        query: &Query,
        row: &[Option<f64>],
    ) -> Result<(), SourceError> {
        match self {
            Self::Text(log) => {
                log.add(time, row.iter().copied())?;
                log.flush()
            }
            Self::Binary(log) => {
                log.add(time, query.readings())?;
                log.flush().map(drop)
            }
        }
    }
}

fn sample(global: &Global, args: &Args, form: LogForm, paths: &[String]) -> Outcome {
    let mut session = Session::open(global)?;
    let mut replay = Replay::of(global, args.speed, session.source.is_live())?;
    let titles = english_titles(&mut session);
    let faults = session.faults.clone();
    let mut query = session.query()?;
    let output = Output::new(global);
    add_known_paths(&mut query, global, &output, paths)?;
    let live = query.is_live();
    let signals = Signals::listen_with(PATIENCE);
    let zone = zone_at(None);
    let shown = if let LogForm::Text(form) = form { form } else { TextForm::Csv };
    let mut lines = TextLines::of_console(shown, zone.clone());
    let mut unfinished: Option<Unfinished> = None;
    let mut file: Option<LogFile> = None;
    let mut columns = Columns::new(global);
    // As with Windows' typeperf, the console does not show a first sample that lacks rates, and a log has it.
    let lacks_rates = live && query.samples_needed() > 1;
    let (mut shown, mut is_left_out) = (0, lacks_rates && args.output.is_none());
    let mut next = Instant::now();
    loop {
        match query.collect() {
            Ok(()) => {}
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
        let time = faults.time().and_then(|time| time.to_file_time()).unwrap_or_default();
        if let Some(replay) = &mut replay {
            let due = replay.due(time, Instant::now());
            if wait(&signals, due).is_some() {
                break;
            }
        }
        faults.report();
        if columns.is_empty() {
            // Wildcards mean the instances that are there at the beginning.
            for reading in query.readings() {
                match (&reading.identity, form) {
                    (Some(_), _) => columns.add(&query, reading),
                    (None, LogForm::Text(_)) => columns.await_counter(&query, reading),
                    // A binary log has the type and the clock of a counter, which only a value tells.
                    (None, LogForm::Binary) => {}
                }
            }
            missing_instances(&query).iter().for_each(|why| warn(why));
            if columns.is_empty() {
                output.write(NO_COUNTERS)?;
                return Err(Failure::Said(Exit::NoValue));
            }
            match &args.output {
                Some(path) => {
                    let (begun, what) = (Unfinished::replace(path)?, (&query, &columns));
                    let zone = zone.clone();
                    let log = LogFile::create(begun.path(), form, zone, what, &titles);
                    file = Some(log.map_err(|error| begun.named(error))?);
                    unfinished = Some(begun);
                }
                None => output.write(lines.first(columns.paths()))?,
            }
        }
        if !std::mem::take(&mut is_left_out) {
            let row = columns.row(&query);
            match file.as_mut().zip(unfinished.as_ref()) {
                Some((file, begun)) => {
                    file.add(time, &query, row).map_err(|error| begun.named(error))?;
                    // From the first sample on the log is worth more than what was there before.
                    begun.finish()?;
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
    faults.report();
    if columns.is_empty() {
        return Err(Failure::Missing(of_source(&global.source, "has no sample")));
    }
    output.write(GOODBYE)?;
    Ok(Exit::Done)
}

/// Prints the paths of all counters, if `object` is `*`, or of those of one object: with `expands` a path for each
/// present instance, otherwise one for all instances. With `-o` they are written to this file instead.
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
        write_whole(file, &text)?;
        text.clear();
    }
    text.push_str("\r\n");
    text.push_str(DONE);
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The path of each counter of an object: for all its instances, or with `expands` a path for each
/// present instance.
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
