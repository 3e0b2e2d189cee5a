//! The end of a run: an exit code, and one line for each error.

use crate::args::as_typed;
use crate::args::value::is_file;
use crate::text::escape::{Escaped, shell_word};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfhive::measure::MeasureError;
use perfhive::registration::{DefinitionError, RegisterError, RegisterErrorKind};
use perfhive::{QueryError, SourceError, SourceErrorKind};
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit codes of the program. They are documented in `--help`, in the manual page and in
/// docs/manual/cli.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything that was asked for was found.
    Done = 0,
    /// A reading has no value, or something that was asked for does not exist.
    NoValue = 1,
    /// The command line is invalid, or asks for something impossible.
    Usage = 2,
    /// The source cannot be read or is damaged, or the output cannot be written.
    Source = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The reason why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something that was asked for does not exist.
    Missing(String),
    /// The command line is invalid, or asks for something impossible.
    Usage(String),
    /// The source cannot be read or is damaged.
    Source(String),
    /// The output cannot be written.
    Output(io::Error),
    /// The failure was already printed; the exit code remains.
    Said(Exit),
}

/// The result of every command: its exit code, or the failure that ended it.
pub(crate) type Outcome = Result<Exit, Failure>;

impl Failure {
    /// Prints the error, unless it was printed already, and returns the exit code. A reader that
    /// has closed the output is no error.
    pub(crate) fn report(self) -> Exit {
        match self {
            Self::Missing(message) => say(&message, Exit::NoValue),
            Self::Usage(message) => say(&message, Exit::Usage),
            Self::Source(message) => say(&message, Exit::Source),
            // The program that reads the output has closed it (`| head`).
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Self::Output(error) => say(&format!("cannot write the output: {error}"), Exit::Source),
            Self::Said(exit) => exit,
        }
    }
}

impl Failure {
    /// The message of the failure, for people; `reported above` if it was already printed.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Missing(message) | Self::Usage(message) | Self::Source(message) => {
                message.clone()
            }
            Self::Output(error) => error.to_string(),
            Self::Said(_) => "reported above".to_string(),
        }
    }

    /// Joins this failure with earlier failures: prints the earlier ones and this one, and returns a failure with the
    /// worst exit code. Without earlier ones, returns this failure and prints nothing.
    pub(crate) fn behind(self, others: Vec<Self>) -> Self {
        if others.is_empty() {
            return self;
        }
        let exits = others.into_iter().chain([self]).map(Self::report);
        Self::Said(exits.max().unwrap_or(Exit::Usage))
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Source(error) => error.into(),
            // If no name is near, the message says how to list the names.
            QueryError::UnknownObject { ref nearest, .. } if nearest.is_empty() => {
                Self::Usage(format!("{error}; perfhive list shows what there is"))
            }
            QueryError::UnknownCounter { ref nearest, ref object, .. } if nearest.is_empty() => {
                Self::Usage(format!("{error}; perfhive list {object:?} shows what there is"))
            }
            QueryError::UnknownMachine { .. } => {
                Self::Usage(format!("{error}; --source says which machine is read"))
            }
            misuse => Self::Usage(misuse.to_string()),
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Source(error) => error.into(),
            // If no name is near, the message says how to list the names.
            MeasureError::UnknownSensor { ref nearest, .. } if nearest.is_empty() => {
                Self::Usage(format!("{error}; perfhive sensors shows what there is"))
            }
            MeasureError::UnknownInstance { ref nearest, ref name } if nearest.is_empty() => {
                let sensor = shell_word(&name.as_ref().clone().without_instance().to_string());
                Self::Missing(format!(
                    "{error}; perfhive sensors {sensor} --instances lists the instances"
                ))
            }
            MeasureError::UnknownInstance { .. } => Self::Missing(error.to_string()),
            misuse if misuse.is_misuse() => Self::Usage(misuse.to_string()),
            other => Self::Source(other.to_string()),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error.kind() {
            SourceErrorKind::NotFound => Self::Usage(error.to_string()),
            SourceErrorKind::EndOfData => Self::Missing(error.to_string()),
            _ => Self::Source(error.to_string()),
        }
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        match error.kind() {
            RegisterErrorKind::NotRegistered => Self::Missing(error.to_string()),
            RegisterErrorKind::Invalid => Self::Usage(error.to_string()),
            _ => Self::Source(error.to_string()),
        }
    }
}

impl From<DefinitionError> for Failure {
    fn from(error: DefinitionError) -> Self {
        Self::Source(error.to_string())
    }
}

/// An I/O error is a failure of the output, since sources have errors of their own.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A message about a source: its address, a colon, and the text.
pub(crate) fn of_source(source: &str, what: impl fmt::Display) -> String {
    // An address such as `local:` already ends in a colon.
    let colon = if source.ends_with(':') { "" } else { ":" };
    format!("{source}{colon} {what}")
}

/// Prints a line on standard error, with `perfhive: ` before it; errors are ignored, since standard error may be
/// closed.
fn line(text: impl fmt::Display) {
    let text = format!("perfhive: {text}\n");
    #[cfg(windows)]
    {
        use perfhive::windows::{TextStream, code_page_of_pipe, encoded};
        let page = code_page_of_pipe(TextStream::Error);
        if let Some(bytes) = page.and_then(|page| encoded(&text, page)) {
            let _ = io::stderr().write_all(&bytes);
            return;
        }
    }
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a message on standard error, with its unsafe characters escaped; returns the exit code.
fn say(message: &str, exit: Exit) -> Exit {
    line(Escaped(message));
    exit
}

/// Prints an error that does not end the command.
pub(crate) fn complain(message: &str) {
    line(Escaped(message));
}

/// Prints an error with an excerpt of a file, which takes several lines.
pub(crate) fn complain_in_lines(message: &str) {
    let lines = message.trim_end().lines().map(|line| Escaped(line).to_string());
    line(lines.collect::<Vec<_>>().join("\n"));
}

/// Whether warnings are not printed.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Makes the program print no warnings from now on.
pub(crate) fn silence_warnings() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Prints a warning, which does not change the exit code; nothing with `--quiet`.
pub(crate) fn warn(message: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        line(format_args!("warning: {}", Escaped(message)));
    }
}

/// Makes a panic print one line, which is enough to report it: a panic is a mistake in perfhive.
pub(crate) fn one_line_for_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload().downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        let at = panic.location().map(ToString::to_string);
        line(format_args!(
            "internal error: {} ({}); please report it",
            Escaped(text),
            at.unwrap_or_default()
        ));
    }));
}

/// Prints help on standard output (on standard error if a command is missing), or an error of the
/// command line in one line on standard error; returns the exit code.
pub(crate) fn of_arguments(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Ok(()) => Exit::Done.into(),
            Err(error) => Failure::Output(error).report().into(),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage.into()
        }
        kind => {
            if let Some(message) = in_place_of_a_command(error) {
                return say(&message, Exit::Usage).into();
            }
            let unknown =
                error.get(ContextKind::InvalidArg).filter(|_| kind == ErrorKind::UnknownArgument);
            if matches!(unknown, Some(ContextValue::String(text)) if text == "-n" || text == "--count")
            {
                let message = "this command takes one sample; perfhive watch -n N takes N samples; see perfhive --help";
                return say(message, Exit::Usage).into();
            }
            let message = one_line(&error.render().to_string());
            say(&as_typed(&message, std::env::args_os()), Exit::Usage).into()
        }
    }
}

/// The message for a file or a counter in the place of the command; `None` for another word, and for any other
/// error.
fn in_place_of_a_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let typed = shell_word(word);
    if is_file(word) {
        return Some(format!(
            "{word} is a file, not a command; perfhive view {typed} shows it, and perfhive report {typed} tells \
             what happened in it"
        ));
    }
    let is_short = !word.contains('/') && *perfhive_view::typed_path(word) != **word;
    let is_counter = word.contains('\\') || is_short;
    is_counter.then(|| format!("{word} is a counter, not a command; perfhive get {typed} reads it"))
}

/// Clap's paragraphs in one line: the error, tips, and the command that
/// shows the help.
fn one_line(rendered: &str) -> String {
    let mut message = String::new();
    let mut help = String::from("perfhive");
    for part in rendered.lines().map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(usage) = part.strip_prefix("Usage: ") {
            // The names of the command and its subcommand come first.
            let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase());
            help = usage.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ");
        } else if part.starts_with("For more information") {
            break;
        } else if let Some(tip) = part.strip_prefix("tip: ") {
            // There is no option for a format alone, except for JSON.
            let format = ["csv", "tsv"].into_iter().find(|one| tip.contains(&format!("'--{one}'")));
            match format {
                Some(format) => message.push_str(&format!("; it is --format {format}")),
                // An argument that begins with a dash is a mistyped option.
                None if tip.starts_with("to pass ") => {}
                None => message.push_str(&format!("; {tip}")),
            }
        } else {
            let part = part.strip_prefix("error: ").unwrap_or(part);
            let gap = if message.is_empty() { "" } else { " " };
            message.push_str(gap);
            message.push_str(part);
        }
    }
    format!("{message}; see {help} --help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_of_clap_become_one_line() {
        let rendered = "error: unexpected argument '--frmat' found\n\n  tip: a similar argument \
                        exists: '--format'\n\nUsage: perfhive get --format <FORMAT> <PATH>...\n\n\
                        For more information, try '--help'.\n";
        assert_eq!(
            one_line(rendered),
            "unexpected argument '--frmat' found; a similar argument exists: '--format'; \
             see perfhive get --help"
        );
    }
}
