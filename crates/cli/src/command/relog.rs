//! `perfhive relog`: the options and the output of Windows' relog, as far as scripts rely on them.

use super::convert::{LogForm, Selected, columns, to_binary, to_log};
use super::typeperf::{add_known_paths, counters_of, form_of, refuse_existing};
use crate::args::{Global, Relog as Args};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;
use crate::text::time::zone_at;
use crate::unfinished::{refuse_input, write_whole};
use perfhive::recording::{TextZone, text_log_columns};
use perfhive::{Ask, FileTime, Snapshot, Source as _, SourceAddress, Span};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    // A signal removes what is unfinished.
    let _signals = Signals::listen_with(Duration::ZERO);
    let mut global = global.clone();
    global.source = address(&args.inputs);
    (global.begin, global.end) = (args.begin.or(global.begin), args.end.or(global.end));
    global.every = args.every.or(global.every);
    let output = Output::new(&global);
    if let Some(file) = &args.output {
        refuse_input(&args.inputs, file)?;
    }
    if args.listed {
        return list(&global, args, &output);
    }
    let mut session = Session::open(&global)?;
    let span = span(&mut session)?;
    // The tool's times are local, in one zone for the whole log.
    let zone = zone_at(Some(span.begin));
    let mut text = String::from("\r\nInput\r\n----------------\r\nFile(s):\r\n");
    for file in &args.inputs {
        text.push_str(&format!("     {} ({})\r\n", file.display(), kind(file)));
    }
    if span.samples == 0 {
        // Scripts recognise logs without samples by these words of relog.
        text.push_str("\r\nNo data to return.\r\n");
        output.write(&text)?;
        return Ok(Exit::NoValue);
    }
    push_span(&mut text, span, &zone);
    if let Some(file) = &args.output {
        let paths = paths(&global, args, session, &output)?;
        let samples = write(&global, args, &paths, file, zone.clone())?;
        text.push_str("\r\nOutput\r\n----------------\r\n");
        text.push_str(&format!("File:     {}\r\n", file.display()));
        push_span(&mut text, Span::new(span.begin, span.end, samples), &zone);
    } else {
        warn_of_faults(&mut session)?;
    }
    text.push_str("\r\nThe command completed successfully.\r\n");
    output.write(&text)?;
    Ok(Exit::Done)
}

/// The address of several files as one recording.
fn address(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    SourceAddress::file(&names.join(",")).to_string()
}

/// The paths of the counters that were asked for, as far as the logs have them; a failure if they have none of
/// them. Empty if all counters are meant, since none were named.
fn paths(
    global: &Global,
    args: &Args,
    session: Session,
    output: &Output,
) -> Result<Vec<String>, Failure> {
    let mut paths = args.paths.clone();
    if let Some(file) = &args.counters {
        paths.extend(counters_of(file)?);
        if paths.is_empty() {
            return Err(Failure::Usage(format!("{}: names no counter", file.display())));
        }
    }
    match paths.is_empty() {
        true => Ok(paths),
        false => add_known_paths(&mut session.query()?, global, output, &paths),
    }
}

/// Writes a log to a file, or appends to the file with `--append`. Returns how many samples were written.
fn write(
    global: &Global,
    args: &Args,
    paths: &[String],
    file: &Path,
    zone: TextZone,
) -> Result<u64, Failure> {
    let form = form_of(args.form)?;
    let continues = args.append && file.exists();
    if !continues {
        refuse_existing(file, args.yes)?;
    }
    if continues
        && matches!(form, LogForm::Binary)
        && text_log_columns(file, global.encoding)?.is_some()
    {
        let what = "is a text log; -f CSV or -f TSV appends to it";
        return Err(Failure::Usage(format!("{}: {what}", file.display())));
    }
    let selected = Selected { paths, output: file, zone, appends: continues };
    if !(continues && matches!(form, LogForm::Binary)) {
        return Ok(to_log(global, &selected, form)?.0);
    }
    // The catalogue at the beginning of a binary log has the counters of all samples, so the log is
    // written anew.
    let source = address(&[file.to_path_buf()]);
    let before = Global { source, begin: None, end: None, every: None, ..global.clone() };
    Ok(to_binary(&[(&before, &[]), (global, paths)], &selected)?.0)
}

/// The times and the number of the samples; all are 0 for a source that is no recording.
fn span(session: &mut Session) -> Result<Span, Failure> {
    let none = Span::new(FileTime(0), FileTime(0), 0);
    Ok(match session.source.recording() {
        Some(recording) => recording.span()?,
        None => none,
    })
}

/// Reads all samples, and reports their faults.
fn warn_of_faults(session: &mut Session) -> Result<(), Failure> {
    let mut sample = Snapshot::new();
    loop {
        match session.source.collect(&Ask::everything(), &mut sample) {
            Ok(()) => {}
            Err(error) if error.is_end_of_data() => break,
            Err(error) => return Err(error.into()),
        }
    }
    session.faults.report();
    Ok(())
}

/// The word that relog prints for the form of a file: CSV or TSV if its name has this ending, otherwise Binary.
fn kind(file: &Path) -> &'static str {
    let ending = file.extension().unwrap_or_default().to_ascii_lowercase();
    match ending.to_str() {
        Some("csv") => "CSV",
        Some("tsv") => "TSV",
        _ => "Binary",
    }
}

/// Appends the times of the first and last sample, and their number, as relog prints them.
fn push_span(text: &mut String, span: Span, zone: &TextZone) {
    let date = |time: FileTime| {
        let time = zone.local(time).to_system_time();
        format!(
            "{}/{}/{} {}:{:02}:{:02}",
            time.month, time.day, time.year, time.hour, time.minute, time.second
        )
    };
    text.push_str(&format!(
        "\r\nBegin:    {}\r\nEnd:      {}\r\nSamples:  {}\r\n",
        date(span.begin),
        date(span.end),
        span.samples
    ));
}

/// Prints the paths of the counters in the log, or writes them to the file of `-o`.
fn list(global: &Global, args: &Args, output: &Output) -> Outcome {
    let paths = paths(global, args, Session::open(global)?, output)?;
    let (columns, _) = columns(global, &paths)?;
    let mut text: String = columns.paths().map(|path| format!("{path}\r\n")).collect();
    if let Some(file) = &args.output {
        refuse_existing(file, args.yes)?;
        write_whole(file, &text)?;
        text.clear();
    }
    text.push_str("\r\nThe command completed successfully.\r\n");
    output.write(&text)?;
    Ok(Exit::Done)
}
