//! `perfhive convert`: a recording in another form.

#[cfg(feature = "parquet")]
mod parquet;

use super::columns::Columns;
use crate::args::{Convert as Args, Global};
use crate::failure::{Exit, Failure, Outcome, of_source, warn};
use crate::output::Output;
use crate::paths::add_paths;
use crate::session::Session;
use crate::signals::Signals;
use crate::text::escape::Escaped;
use crate::unfinished::{Unfinished, refuse_input};
use perfhive::recording::{
    BinaryLogCounters, BinaryLogWriter, RecordingOptions, RecordingWriter, TextForm, TextLogWriter,
    TextZone, text_log_columns,
};
use perfhive::{
    Ask, CounterPath, FileTime, InstancePattern, LanguageId, NamePattern, Query, QueryError,
    Reading, Snapshot, Source as _, SourceAddress, TitleDatabase,
};
use perfhive_view::Field;
use perfhive_view::number::push_grouped;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The forms of perfmon's logs.
#[derive(Clone, Copy)]
pub(super) enum LogForm {
    Text(TextForm),
    Binary,
}

/// The forms that can be written, by the ending of the file's name.
#[derive(Clone, Copy)]
enum Form {
    Log(LogForm),
    Recording,
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Form {
    fn of(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        match ending.to_str() {
            Some("csv") => Ok(Self::Log(LogForm::Text(TextForm::Csv))),
            Some("tsv") => Ok(Self::Log(LogForm::Text(TextForm::Tsv))),
            Some("blg") => Ok(Self::Log(LogForm::Binary)),
            Some("phr") => Ok(Self::Recording),
            #[cfg(feature = "parquet")]
            Some("parquet") => Ok(Self::Parquet),
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => Err(Failure::Usage(format!(
                "{}: this perfhive was built without Parquet; cargo build -p perfhive-cli --features \
                 parquet builds it with it",
                path.display()
            ))),
            _ => Err(Failure::Usage(format!(
                "{}: the name's ending says what to write: .csv or .tsv for a text log and .blg for a \
                 binary one as Windows writes them, .phr for a recording, .parquet for a folder of \
                 Parquet files",
                path.display()
            ))),
        }
    }
}

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    let (named, output) = files(args)?;
    let inputs: Vec<PathBuf> = named.iter().flat_map(|name| files_of(name)).collect();
    let inputs = inputs.as_slice();
    let form = Form::of(output)?;
    // A signal removes what is unfinished.
    let _signals = Signals::listen_with(Duration::ZERO);
    let mut global = global.clone();
    let names: Vec<String> = inputs.iter().map(|file| file.display().to_string()).collect();
    global.source = format!("file:{}", names.join(","));
    refuse_input(inputs, output)?;
    let (samples, bytes) = match form {
        Form::Recording => to_recording(&global, &args.paths, output)?,
        #[cfg(feature = "parquet")]
        Form::Parquet => {
            refuse_existing(output)?;
            parquet::write(&global, &args.paths, output)?
        }
        Form::Log(form) => {
            let zone = TextZone::utc();
            let paths = args.paths.as_slice();
            to_log(&global, &Selected { paths, output, zone, appends: false }, form)?
        }
    };
    tell(&global, output, samples, bytes)
}

/// The files that are read, and the file that is written: the one behind `-o`, or else the last argument, which must
/// not exist yet: a forgotten `-o` then costs no log.
fn files(args: &Args) -> Result<(&[PathBuf], &Path), Failure> {
    match (&args.output, args.inputs.as_slice()) {
        (Some(output), inputs) => Ok((inputs, output)),
        (None, [inputs @ .., output]) if !inputs.is_empty() => {
            if output.exists() {
                let what = format!(
                    "{} exists; name another file, or a log that is replaced behind -o",
                    output.display()
                );
                return Err(Failure::Usage(what));
            }
            Ok((inputs, output))
        }
        _ => Err(Failure::Usage("name the file to write behind those to read".to_string())),
    }
}

/// The files that a text on the command line names: itself, or those of the address `file:...` where no file has this
/// whole name.
fn files_of(name: &Path) -> Vec<PathBuf> {
    let address = name.to_str().and_then(|text| text.parse::<SourceAddress>().ok());
    let files = address.filter(|_| !name.exists()).map(|address| address.files());
    files.filter(|files| !files.is_empty()).unwrap_or_else(|| vec![name.to_path_buf()])
}

/// A line on standard error that shows how far the work is. It is shown if the value is `true`: only on a terminal,
/// and not with `--quiet`.
pub(super) struct Progress(bool);

impl Progress {
    pub(super) fn of(global: &Global) -> Self {
        Self(!global.quiet && std::io::stderr().is_terminal())
    }

    /// Shows `what` and the number of samples, if the number is a multiple of 100.
    pub(super) fn show(&self, what: &str, samples: u64) {
        if self.0 && samples.is_multiple_of(100) {
            let _ = write!(std::io::stderr(), "\r\x1b[K{what} {samples} samples");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.0 {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

fn to_recording(global: &Global, paths: &[String], output: &Path) -> Result<(u64, u64), Failure> {
    if !paths.is_empty() {
        let what = "a recording takes whole objects: leave --path out, or write a text log";
        return Err(Failure::Usage(what.to_string()));
    }
    let mut session = Session::open(global)?;
    let catalogue = session.source.catalogue(&Ask::everything())?;
    let load = |language: &_| session.source.titles(*language, &Ask::nothing()).ok();
    let titles: Vec<_> = catalogue.languages.iter().filter_map(load).collect();
    refuse_existing(output)?;
    let options = RecordingOptions::new();
    let unfinished = Unfinished::replace(output)?;
    let named = |error| unfinished.named(error);
    let name = session.source.name();
    let mut writer = RecordingWriter::open(unfinished.path(), name, &options).map_err(named)?;
    let mut snapshot = Snapshot::new();
    let progress = Progress::of(global);
    loop {
        match session.source.collect(&Ask::everything(), &mut snapshot) {
            Ok(()) => writer.add(&snapshot, &titles).map_err(named)?,
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
        progress.show("wrote", writer.samples());
    }
    drop(progress);
    session.faults.report();
    let samples = writer.samples();
    if samples == 0 {
        return Err(Failure::Missing(of_source(&global.source, "has no sample")));
    }
    let bytes = writer.finish().map_err(named)?;
    unfinished.finish()?;
    Ok((samples, bytes))
}

/// Fails if the file exists: what is recorded is never replaced.
pub(super) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match path.exists() {
        true => Err(Failure::Usage(format!("{} exists; name another file", path.display()))),
        false => Ok(()),
    }
}

/// The counters that are written to a log, the log's file, and how the log is written.
pub(super) struct Selected<'a> {
    /// The paths of the counters; all counters are written if it is empty.
    pub(super) paths: &'a [String],
    pub(super) output: &'a Path,
    /// The zone of the log's times.
    pub(super) zone: TextZone,
    /// Whether a text log is continued instead of replaced.
    pub(super) appends: bool,
}

/// The columns that a recording has for these paths, or for all counters if there are no paths, and the number of its
/// samples. It is an error if there are no columns.
pub(super) fn columns(global: &Global, paths: &[String]) -> Result<(Columns, u64), Failure> {
    let files = global.source.parse().map(|at: SourceAddress| at.files()).unwrap_or_default();
    let mut known = Vec::new();
    for file in files {
        known.extend(text_log_columns(file, global.encoding)?);
    }
    let mut columns = Columns::of_text_logs(global, known);
    let samples = for_each_reading(global, paths, |query, reading| {
        // A reading without an identity stands for a path that nothing in the sample matches.
        if reading.identity.is_some() {
            columns.add(query, reading);
        }
    })?;
    if columns.is_empty() {
        return Err(no_counters(global));
    }
    columns.arrange(paths.is_empty());
    Ok((columns, samples))
}

/// Reads a recording, and calls `with` for each reading. Returns the number of samples.
fn for_each_reading(
    recording: &Global,
    paths: &[String],
    mut with: impl FnMut(&Query, &Reading),
) -> Result<u64, Failure> {
    let progress = Progress::of(recording);
    let mut samples = 0;
    for_each_sample(recording, paths, true, |query, _| {
        query.readings().iter().for_each(|reading| with(query, reading));
        samples += 1;
        progress.show("looked at", samples);
        Ok(())
    })?;
    Ok(samples)
}

/// Warns if fewer samples were written than the first pass through the recording found (`before`).
fn warn_of_fewer(global: &Global, written: u64, before: u64) {
    if written < before {
        let what =
            format!("became shorter while it was read: {written} of {before} samples are written");
        warn(&of_source(&global.source, what));
    }
}

fn no_counters(global: &Global) -> Failure {
    Failure::Missing(of_source(&global.source, "has no sample with counters to write"))
}

/// Writes a log of perfmon. Returns the numbers of its samples and bytes.
pub(super) fn to_log(
    global: &Global,
    selected: &Selected<'_>,
    form: LogForm,
) -> Result<(u64, u64), Failure> {
    match form {
        LogForm::Text(form) => to_text(global, selected, form),
        LogForm::Binary => to_binary(&[(global, selected.paths)], selected),
    }
}

/// Writes recordings into one binary log, one after the other, each with the counters of its own
/// paths. Returns the number of samples of the last one, and the bytes of the log.
pub(super) fn to_binary(
    recordings: &[(&Global, &[String])],
    selected: &Selected<'_>,
) -> Result<(u64, u64), Failure> {
    let Some((last, _)) = recordings.last() else { return Ok((0, 0)) };
    refuse_language(last)?;
    // The catalogue stands in front of all samples, so each recording is read twice.
    let mut counters = BinaryLogCounters::default();
    let (mut before, mut titles) = (0, None::<Arc<TitleDatabase>>);
    for (recording, paths) in recordings {
        counters.next_recording();
        before +=
            for_each_reading(recording, paths, |query, reading| counters.add(query, reading))?;
        let own = english_titles(&mut Session::open(recording)?);
        titles = Some(match titles {
            Some(first) => first.completed_by(&own).into(),
            None => own,
        });
    }
    let Some(titles) = titles.filter(|_| !counters.is_empty()) else {
        return Err(no_counters(last));
    };
    if let Some(path) = counters.conflict() {
        let file = selected.output.display();
        return Err(Failure::Source(format!(
            "{file}: has {path} with another type or clock than what would be appended; write a log of \
             its own"
        )));
    }
    let progress = Progress::of(last);
    let zone = selected.zone.clone();
    let unfinished = Unfinished::replace(selected.output)?;
    let named = |error| unfinished.named(error);
    let writer = BinaryLogWriter::create(unfinished.path(), zone, counters, &titles);
    let mut writer = writer.map_err(named)?;
    let (mut written, mut all) = (0, 0);
    for (recording, paths) in recordings {
        written = 0;
        writer.next_recording();
        for_each_sample(recording, paths, false, |query, time| {
            writer.add(time, query.readings()).map_err(named)?;
            written += 1;
            progress.show("wrote", written);
            Ok(())
        })?;
        all += written;
    }
    drop(progress);
    warn_of_fewer(last, all, before);
    let bytes = writer.finish().map_err(named)?;
    unfinished.finish()?;
    Ok((written, bytes))
}

/// Fails if another language than English is chosen: readers find the counters of a binary log by English names.
pub(super) fn refuse_language(global: &Global) -> Result<(), Failure> {
    match global.language {
        None | Some(LanguageId::ENGLISH) => Ok(()),
        Some(_) => Err(Failure::Usage(
            "a binary log has English names; leave --language out, or write a text log".to_string(),
        )),
    }
}

/// The English names of a source; an empty database if the source has none or they cannot be read.
pub(super) fn english_titles(session: &mut Session) -> Arc<TitleDatabase> {
    let english = LanguageId::ENGLISH;
    let titles = session.source.titles(english, &Ask::nothing());
    titles.unwrap_or_else(|_| TitleDatabase::from_lists(english, [], []).into())
}

fn to_text(
    global: &Global,
    selected: &Selected<'_>,
    form: TextForm,
) -> Result<(u64, u64), Failure> {
    // The first line names all columns, so the recording is read twice.
    let (mut columns, before) = columns(global, selected.paths)?;
    let progress = Progress::of(global);
    let (output, zone) = (selected.output, selected.zone.clone());
    let unfinished = match selected.appends {
        true => Unfinished::append(output)?,
        false => Unfinished::replace(output)?,
    };
    let named = |error| unfinished.named(error);
    let writer = match selected.appends {
        true => TextLogWriter::append(unfinished.path(), form, zone, columns.paths()),
        false => TextLogWriter::create(unfinished.path(), form, zone, columns.paths()),
    };
    let mut writer = writer.map_err(named)?;
    let mut written = 0;
    for_each_sample(global, selected.paths, false, |query, time| {
        writer.add(time, columns.row(query).iter().copied()).map_err(named)?;
        written += 1;
        progress.show("wrote", written);
        Ok(())
    })?;
    drop(progress);
    warn_of_fewer(global, written, before);
    let bytes = writer.finish().map_err(named)?;
    unfinished.finish()?;
    Ok((written, bytes))
}

/// Reads a recording and calls `with` for each sample that has a time. Without paths it reads all
/// counters. If `warns` is true, it reports faults, and the paths that match nothing in any sample.
fn for_each_sample(
    global: &Global,
    paths: &[String],
    warns: bool,
    mut with: impl FnMut(&Query, FileTime) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut session = Session::open(global)?;
    let faults = session.faults.clone();
    let machines = if paths.is_empty() { session.machines()? } else { Vec::new() };
    let mut query = session.query()?;
    let mut unmatched = Vec::new();
    if paths.is_empty() {
        let others = machines.iter().skip(1).map(|machine| Some(machine.as_str()));
        for machine in [None].into_iter().chain(others) {
            add_all(&mut query, machine).map_err(|error| match error {
                QueryError::UnknownObject { .. } => no_counters(global),
                error => error.into(),
            })?;
        }
    } else {
        unmatched.extend(add_paths(&mut query, global, paths)?.into_iter().filter_map(Result::ok));
    }
    loop {
        match query.collect() {
            Ok(()) => {
                unmatched.retain(|id| query.readings_of(*id).all(|one| one.identity.is_none()));
                // An answer without a time is no sample: it only reports damage at the end of the recording.
                if let Some(time) = faults.time().and_then(|time| time.to_file_time()) {
                    // Events of an experiment are less than a millisecond apart.
                    with(&query, query.file_time().unwrap_or(time))?;
                }
            }
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
    }
    if warns {
        let unmatched = unmatched.into_iter().filter_map(|id| query.path(id));
        unmatched.for_each(|path| faults.add(format!("{path} is left out: no sample has it")));
        faults.report();
    }
    Ok(())
}

/// Adds all counters of a machine to a query; `None` is the recording's own machine. An error if it has no
/// counters.
fn add_all(query: &mut Query, machine: Option<&str>) -> Result<(), QueryError> {
    let any = |instance| CounterPath {
        machine: machine.map(NamePattern::literal),
        object: NamePattern::any(),
        counter: NamePattern::any(),
        ..CounterPath::new("", instance, "")
    };
    // A recording may have no object of one of the two kinds.
    let with_instances = query.add(&any(Some(InstancePattern::any())).to_string());
    query.add(&any(None).to_string()).or(with_instances)?;
    Ok(())
}

fn tell(global: &Global, file: &Path, samples: u64, bytes: u64) -> Outcome {
    let output = Output::new(global);
    let mut text = String::new();
    push_written(&mut text, &output, file, (samples, bytes));
    output.write(&text)?;
    Ok(Exit::Done)
}

/// Appends how many samples and bytes (`sizes`, in this order) were written to a file: a line for people, or a row
/// for programs.
pub(super) fn push_written(text: &mut String, output: &Output, file: &Path, sizes: (u64, u64)) {
    let (samples, bytes) = sizes;
    let file = file.display().to_string();
    if output.is_table() {
        push_grouped(text, samples);
        text.push_str(if samples == 1 { " sample, " } else { " samples, " });
        push_grouped(text, bytes);
        text.push_str(&format!(" bytes in {}\n", Escaped(&file)));
    } else {
        let mut records = output.records(["file", "samples", "bytes"], text);
        let fields = [Field::Text(&file), Field::Unsigned(samples), Field::Unsigned(bytes)];
        records.row(text, fields);
        records.end(text);
    }
}
