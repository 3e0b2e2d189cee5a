//! `perfhive relog`: what scripts around Windows' relog rely on.

use super::convert::{Selected, to_text};
use super::typeperf::{counters_of, form_of, refuse_existing};
use crate::args::{Global, Relog as Args};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::session::Session;
use perfhive::{FileTime, Source as _, SourceAddress, Span};
use std::path::Path;

pub(super) fn run(global: &Global, args: &Args) -> Outcome {
    if args.append {
        let what = "-a: text logs are not appended to; name all of them as input";
        return Err(Failure::Usage(what.to_string()));
    }
    let mut global = global.clone();
    let names: Vec<String> = args.inputs.iter().map(|file| file.display().to_string()).collect();
    global.source = SourceAddress::file(&names.join(",")).to_string();
    (global.begin, global.end) = (args.begin.or(global.begin), args.end.or(global.end));
    global.every = args.every.or(global.every);
    let output = Output::new(&global);
    if args.listed {
        return list(&global, args, &output);
    }
    let mut session = Session::open(&global)?;
    let span = span(&mut session)?;
    let mut text = String::from("\r\nInput\r\n----------------\r\nFile(s):\r\n");
    for file in &args.inputs {
        text.push_str(&format!("     {} ({})\r\n", file.display(), kind(file)));
    }
    push_span(&mut text, span);
    drop(session);
    if let Some(file) = &args.output {
        let form = form_of(args.form, args.config.as_deref())?;
        refuse_existing(file, args.yes)?;
        let mut paths = args.paths.clone();
        if let Some(file) = &args.counters {
            paths.extend(counters_of(file)?);
        }
        let (samples, _) = to_text(&global, &Selected { paths: &paths, output: file }, form)?;
        text.push_str("\r\nOutput\r\n----------------\r\n");
        text.push_str(&format!("File:     {}\r\n", file.display()));
        push_span(&mut text, Span::new(span.begin, span.end, samples));
    } else if args.config.is_some() {
        form_of(args.form, args.config.as_deref())?;
    }
    text.push_str("\r\nThe command completed successfully.\r\n");
    output.write(&text)?;
    Ok(Exit::Done)
}

fn span(session: &mut Session) -> Result<Span, Failure> {
    let none = Span::new(FileTime(0), FileTime(0), 0);
    Ok(match session.source.recording() {
        Some(recording) => recording.span()?,
        None => none,
    })
}

/// What relog calls a file.
fn kind(file: &Path) -> &'static str {
    let ending = file.extension().unwrap_or_default().to_ascii_lowercase();
    match ending.to_str() {
        Some("csv") => "CSV",
        Some("tsv") => "TSV",
        _ => "Binary",
    }
}

fn push_span(text: &mut String, span: Span) {
    let date = |time: FileTime| {
        let time = time.to_system_time();
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
    let columns = super::convert::columns(global, &args.paths)?;
    let mut text: String = columns.paths().map(|path| format!("{path}\r\n")).collect();
    if let Some(file) = &args.output {
        refuse_existing(file, args.yes)?;
        let written = std::fs::write(file, &text);
        written.map_err(|error| Failure::Source(format!("{}: {error}", file.display())))?;
        text.clear();
    }
    text.push_str("\r\nThe command completed successfully.\r\n");
    output.write(&text)?;
    Ok(Exit::Done)
}
