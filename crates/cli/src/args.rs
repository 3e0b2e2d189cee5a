//! The command line: commands, arguments and options.

mod choice;
mod experiment;
mod help;
#[cfg(any(windows, test))]
mod patterns;
mod providing;
mod recordings;
pub(crate) mod value;
mod windows_tools;

pub(crate) use choice::Choice;
pub(crate) use experiment::Experiment;
#[cfg(target_os = "linux")]
pub(crate) use experiment::{
    ExperimentBind, ExperimentCommand, ExperimentEvent, ExperimentFetch, ExperimentFilter,
    ExperimentLimit, ExperimentOne, ExperimentRun, ExperimentSource, event as experiment_event,
};
pub(crate) use providing::{Check, Providers, Register, RegistrationPlace, Unregister};
pub(crate) use recordings::{Capture, Convert, Diff, FileSpan, Info, Record, Report};
pub(crate) use windows_tools::{Relog, ToolForm, Typeperf, as_typed};

use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use perfhive::LanguageId;
use perfhive::recording::{FileEncoding, TimeBound};
use perfhive_view::axis::LineScale;
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// Windows performance counters for everyone.
#[derive(Debug, Parser)]
#[command(
    name = "perfhive",
    bin_name = "perfhive",
    version,
    long_about = help::here(help::ABOUT),
    after_help = help::here(help::EXAMPLES),
    after_long_help = help::here(help::MANUAL),
    max_term_width = 100
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The source to read: local: or file:A.bin,B.bin
    ///
    /// `local:` is this machine. `file:A.bin,B.bin` reads recorded data blocks (one per file) as
    /// successive samples of one machine. `file:FOLDER` reads a folder that `capture` wrote, `file:A.phr` a
    /// recording of `record`, and `file:A.blg` or `file:A.csv` a log of perfmon. `view` accepts the option
    /// several times.
    #[cfg_attr(
        not(windows),
        doc = "`proc:` and `bpf:` are this machine, with its processes read from /proc or through \
               BPF. `proc:FOLDER` is a copy of another machine's /proc and /sys. On Windows, \
               `registry://HOST` is another machine, and `native:` is this machine without its registry."
    )]
    #[cfg_attr(
        windows,
        doc = "`registry://HOST` is another machine, read through its service Remote Registry; \
               `native:` is this machine without its registry, with the objects System, Processor, \
               Process and Thread only."
    )]
    #[arg(
        long = "source", short, global = true, value_name = "ADDRESS", default_value = "local:",
        value_parser = value::address, action = ArgAction::Append
    )]
    pub(crate) sources: Vec<String>,

    /// The address of the source to read: the only one of `sources`, or the first of several.
    #[arg(skip)]
    pub(crate) source: String,

    /// Whether the command line names a source.
    #[arg(skip)]
    pub(crate) has_source: bool,

    /// Names for recorded blocks, from a title list
    ///
    /// A file in which indexes and names alternate: one string per line, or the bytes of a
    /// REG_MULTI_SZ. The names are taken as English, unless the file's name begins with the code of
    /// another language (`de.txt`, `007_counter.bin`). Without this file, indexes are shown.
    #[arg(long, global = true, value_name = "FILE", action = ArgAction::Append)]
    pub(crate) titles: Vec<PathBuf>,

    /// Encoding of text files that are neither UTF-8 nor UTF-16: windows-1251, 932, 850 and so on
    ///
    /// Text logs of perfmon (.csv, .tsv) and provider definitions (.ini) are in the code page of the machine
    /// that wrote them. Without this option a log in such a code page is read as windows-1252,
    /// with a warning.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) encoding: Option<FileEncoding>,

    /// Language in which names are shown
    ///
    /// A code (`de`), a name (`German`) or a number (`007`). The default is the language of
    /// the environment (LC_ALL, LC_MESSAGES, LANG; on Windows without these variables, the user's
    /// language). If the source does not have that language, names are English. Paths may use names
    /// in any language of the source.
    #[arg(long, global = true, value_name = "LANG", value_parser = value::language)]
    pub(crate) language: Option<LanguageId>,

    /// Format of the result
    #[arg(
        long,
        short,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value = "table",
        ignore_case = true
    )]
    pub(crate) format: Format,

    /// Whether the command line names the format.
    #[arg(skip)]
    pub(crate) has_format: bool,

    /// The same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub(crate) json: bool,

    /// When to use colours
    ///
    /// `auto` colours a table on a terminal, unless NO_COLOR is set.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        ignore_case = true
    )]
    pub(crate) color: When,

    /// Deadline for the providers of counters
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s. If a provider does not answer in time, its counters are
    /// missing, and a warning names the provider. With this option no sample takes longer. Without it the deadline
    /// on Windows is 10 seconds, and up to 20 more to find out which provider hangs. On other systems it is
    /// two seconds, or twice the time that the provider needed recently.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) patience: Option<Duration>,

    /// Read a recording from this time on
    ///
    /// A local time (`2026-11-23 14:05:00`), a time with its zone (`2026-11-23T14:05:00Z`,
    /// `2026-11-23 14:05:00-05:00`), or a distance: `+10m` is ten minutes after the beginning of the
    /// recording, `-30s` is thirty seconds before its end.
    #[arg(
        long, global = true, value_name = "WHEN", value_parser = value::bound,
        allow_hyphen_values = true
    )]
    pub(crate) begin: Option<TimeBound>,

    /// Read a recording up to this time; the forms are those of --begin
    #[arg(
        long, global = true, value_name = "WHEN", value_parser = value::bound,
        allow_hyphen_values = true
    )]
    pub(crate) end: Option<TimeBound>,

    /// Read every N-th sample of a recording
    #[arg(long, global = true, value_name = "N", value_parser = value::every)]
    pub(crate) every: Option<NonZeroU64>,

    /// Print all digits, in the unit of the counter, also in tables
    ///
    /// Tables scale bytes to KiB, MiB and so on, and round values. JSON, CSV and TSV do not.
    #[arg(long, global = true, conflicts_with = "human")]
    pub(crate) raw: bool,

    /// Scale bytes to KiB, MiB and so on, also in JSON, CSV and TSV
    #[arg(long, global = true)]
    pub(crate) human: bool,

    /// Print no warnings
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// The format in which a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// A JSON array of flat objects; `watch` and `measure` print one object per line
    Json,
    /// Values separated by commas, quoted as in RFC 4180
    Csv,
    /// Values separated by tabs, with \t, \n, \r and \\ for these characters in names
    Tsv,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List objects, or the counters and instances of one
    #[command(after_help = help::here(help::LIST))]
    List(List),
    /// Explain a counter: help text, type, formula, unit
    #[command(after_help = help::here(help::EXPLAIN))]
    Explain(Explain),
    /// Read counters once
    #[command(after_help = help::here(help::GET))]
    Get(Get),
    /// Read counters again and again
    #[command(after_help = help::here(help::WATCH))]
    Watch(Watch),
    /// Show counters as charts and tables on the whole terminal
    #[command(after_help = help::here(help::VIEW))]
    View(View),
    /// Draw a chart of counters in a file
    #[command(after_help = help::here(help::PLOT))]
    Plot(Plot),
    /// Print every raw value of one snapshot
    #[command(name = "enum", after_help = help::here(help::ENUM))]
    Enumerate(Enumerate),
    /// Print the working sets of all processes with a name
    #[command(after_help = help::here(help::WORKSET))]
    Workset(Workset),
    /// List processes
    #[command(after_help = help::here(help::PS))]
    Ps(Ps),
    /// List what can be measured
    #[command(after_help = help::here(help::SENSORS))]
    Sensors(Sensors),
    /// Measure sensors, with anomalies and what measuring cost
    #[command(after_help = help::here(help::MEASURE))]
    Measure(Measure),
    /// Measure a program at its own events
    #[command(after_help = help::here(help::EXPERIMENT))]
    Experiment(Experiment),
    /// Save raw data blocks in a folder, to be read elsewhere
    #[command(after_help = help::here(help::CAPTURE))]
    Capture(Capture),
    /// Record samples in one small file
    #[command(after_help = help::here(help::RECORD))]
    Record(Record),
    /// Write a recording in another form
    #[command(after_help = help::here(help::CONVERT), override_usage = "perfhive convert [OPTIONS] <IN>... <OUT>")]
    Convert(Convert),
    /// Show what a recording holds
    #[command(after_help = help::here(help::INFO))]
    Info(Info),
    /// Say what happened in a recording: figures, processes, thresholds
    #[command(after_help = help::here(help::REPORT))]
    Report(Report),
    /// Compare two recordings, or two parts of one
    #[command(after_help = help::here(help::DIFF))]
    Diff(Diff),
    /// Print counters as Windows' typeperf does, with its flags
    #[command(override_help = help::TYPEPERF)]
    Typeperf(Typeperf),
    /// Convert logs as Windows' relog does, with its flags
    #[command(override_help = help::RELOG)]
    Relog(Relog),
    /// Print every field of a raw data block
    #[command(after_help = help::here(help::DUMP))]
    Dump(Dump),
    /// Register a provider's counters, or list what is registered
    #[command(after_help = help::here(help::REGISTER))]
    Register(Register),
    /// Remove a provider's registration
    #[command(after_help = help::here(help::UNREGISTER))]
    Unregister(Unregister),
    /// Show the state of providers
    #[command(after_help = help::here(help::PROVIDERS))]
    Providers(Providers),
    /// Check a provider's library, for its developer
    #[command(after_help = help::here(help::CHECK))]
    Check(Check),
    /// Print a completion script for a shell
    #[command(after_help = help::here(help::COMPLETIONS))]
    Completions(Completions),
    /// Print the manual page
    #[command(after_help = help::here(help::MAN))]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Name or index of an object; * stands for any text
    #[arg(value_parser = value::object)]
    pub(crate) object: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Counter path, or the name of an object or counter alone
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Counter paths, such as '\Memory\Available Bytes', or short names: cpu, memory, disk, network
    #[arg(required = true, value_name = "PATH", value_parser = value::path)]
    pub(crate) paths: Vec<String>,

    /// Time between the two samples from which rates and percentages are calculated
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. If no path needs a second sample, none is
    /// taken, and there is no wait. Recordings already have their samples.
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = value::interval)]
    pub(crate) interval: Duration,

    /// Print only the values, in full precision, one per line
    #[arg(long, short, conflicts_with_all = ["format", "json"])]
    pub(crate) bare: bool,

    /// Take N samples, one per interval, and print a curve of each counter
    ///
    /// Without N, 20 samples. From a recording all samples are read, and the curve shows the last N.
    #[arg(
        long, value_name = "N", num_args = 0..=1, require_equals = true,
        default_missing_value = "20", value_parser = clap::value_parser!(u16).range(1..),
        conflicts_with_all = ["bare", "wide", "format", "json"]
    )]
    pub(crate) spark: Option<u16>,

    #[command(flatten)]
    pub(crate) choice: Choice,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Counter paths or short names; without any, processors, memory, disks and the busiest processes
    #[arg(value_name = "PATH", value_parser = value::path)]
    pub(crate) paths: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// Replay a recording at a multiple of its original speed: 1, 10, 0.5
    #[arg(long, value_name = "N", value_parser = value::speed, conflicts_with = "interval")]
    pub(crate) speed: Option<f64>,

    /// Stop after this many tables
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = value::count)]
    pub(crate) count: Option<u64>,

    #[command(flatten)]
    pub(crate) choice: Choice,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// Counter paths or short names to chart; without any, the overview. Recordings may stand among them: they are shown instead of this machine, together with the sources of -s, and followed while they grow
    #[arg(value_name = "PATH", value_parser = value::file_or_path)]
    pub(crate) paths: Vec<String>,

    /// A built-in view (overview, processor, memory, disk, network, processes, containers), or a
    /// settings file
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<String>,

    /// Time between samples of a live source
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m; 50ms at least. One second by default.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::drawn_interval)]
    pub(crate) interval: Option<Duration>,

    /// Replay a recording at a multiple of its original speed: 1, 10, 0.5
    #[arg(long, value_name = "N", value_parser = value::speed, conflicts_with = "interval")]
    pub(crate) speed: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// Counter paths or short names
    #[arg(required = true, value_name = "PATH", value_parser = value::path)]
    pub(crate) paths: Vec<String>,

    /// The picture: FILE.svg or FILE.png
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// How long to read a live source; Ctrl-C ends it earlier
    ///
    /// In seconds, or with a unit: 30s, 10m, 2h. A recording is read as a whole, or the part that --begin
    /// and --end select.
    #[arg(long, short, value_name = "TIME", default_value = "30s", value_parser = value::duration)]
    pub(crate) duration: Duration,

    /// Time between samples of a live source
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = value::interval)]
    pub(crate) interval: Duration,

    /// Text above the chart; the machine and the time by default
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// Width and height in pixels
    #[arg(
        long, value_name = "WIDTHxHEIGHT", default_value = "1000x420",
        value_parser = crate::command::size_of_plot
    )]
    pub(crate) size: (u16, u16),

    /// Scale for lines with different units: auto, default, or a power of ten from -9 to 8
    ///
    /// With `auto`, lines that have the same unit share an axis in that unit.
    #[arg(
        long, value_name = "SCALE", default_value = "auto", allow_hyphen_values = true,
        value_parser = crate::command::scale_of_plot
    )]
    pub(crate) scale: LineScale,
}

#[derive(Debug, Args)]
pub(crate) struct Enumerate {
    /// Global, Costly, or names and indexes of objects
    #[arg(value_name = "OBJECT", default_value = "Global", value_parser = value::object)]
    pub(crate) objects: Vec<String>,

    /// Print raw values in hexadecimal
    #[arg(long)]
    pub(crate) hex: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Workset {
    /// Name of the processes, without regard to case
    pub(crate) name: String,

    /// Print the bytes in hexadecimal
    #[arg(long)]
    pub(crate) hex: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Names of the processes to list, without regard to case; * stands for any text
    pub(crate) names: Vec<String>,

    /// Process IDs to list, separated by commas
    #[arg(
        long, short, value_name = "PID", value_delimiter = ',', value_parser = value::pid
    )]
    pub(crate) pid: Vec<u64>,

    /// Leave Idle out
    #[arg(long)]
    pub(crate) no_idle: bool,

    /// Columns, separated by commas: aliases, or counters of Process by name or index
    #[arg(long, short = 'o', value_name = "COLUMNS", action = ArgAction::Append)]
    pub(crate) columns: Vec<String>,

    /// Column to sort by, in descending order with a minus sign before it
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,

    /// Show the N processes with the most processor time; with --sort, the first N in that order
    #[arg(long, value_name = "N", value_parser = value::top)]
    pub(crate) top: Option<usize>,

    /// Time between the two samples from which rates and percentages are calculated, and between lists
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = value::interval)]
    pub(crate) interval: Duration,

    /// Replay a recording at a multiple of its original speed: 1, 10, 0.5
    #[arg(long, value_name = "N", value_parser = value::speed, conflicts_with = "interval")]
    pub(crate) speed: Option<f64>,

    /// Print this many lists, one after each interval
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "1", value_parser = value::count)]
    pub(crate) count: u64,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Sensors {
    /// A name, group/sensor, or a group or sensor alone; * stands for any text
    ///
    /// Case is ignored. %, / and # may be written as %25, %2F and %23. The part behind a # selects
    /// instances; --instances lists the instances.
    pub(crate) pattern: Option<String>,

    /// List each sensor once for each of its present instances
    ///
    /// The instances of Process are named by process ID, those of Thread by thread ID.
    #[arg(long, short = 'I')]
    pub(crate) instances: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Names of sensors, such as 'Memory/Available Bytes' or 'Process/Working Set#*'
    ///
    /// source/group/sensor, or group/sensor, followed by #INSTANCE, or by #* for every instance,
    /// including instances that appear later.
    #[arg(required = true, value_name = "SENSOR")]
    pub(crate) sensors: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// Stop after this many samples
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = value::count)]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// A raw data block, or a folder of them, such as a capture
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(ignore_case = true)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command of the page, such as get or experiment run; perfhive itself by default
    #[arg(value_name = "COMMAND")]
    pub(crate) about: Vec<String>,
}

/// The arguments that the words of a command line mean; the first word is the program's name. Without further words
/// they mean the overview of `view` on a terminal, and elsewhere one table of `watch`. The error is one of clap's,
/// which may also be a help text.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let mut words = windows_tools::translated(args)
        .map_err(|why| description().error(clap::error::ErrorKind::ValueValidation, why))?;
    // Without a word, the overview is shown on a terminal; elsewhere its readings are printed once.
    if words.len() == 1 {
        let usual: &[&str] =
            if crate::interface::is_possible() { &["view"] } else { &["watch", "-n", "1"] };
        words.extend(usual.iter().map(OsString::from));
    }
    let matches = description().try_get_matches_from(words)?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    arguments.global.has_source = matches.value_source("sources") == Some(ValueSource::CommandLine);
    arguments.global.has_format =
        arguments.global.json || matches.value_source("format") == Some(ValueSource::CommandLine);
    if arguments.global.json {
        arguments.global.format = Format::Json;
    }
    if arguments.global.sources.len() > 1 && !matches!(arguments.command, Command::View(_)) {
        let why = "one --source is read; only view shows several side by side";
        return Err(description().error(clap::error::ErrorKind::ArgumentConflict, why));
    }
    arguments.global.source = arguments.global.sources.first().cloned().unwrap_or_default();
    #[cfg(windows)]
    patterns::expand(&mut arguments.command)
        .map_err(|why| description().error(clap::error::ErrorKind::ValueValidation, why))?;
    Ok(arguments)
}

/// The description of the command line, from which completions and the manual page are made.
pub(crate) fn description() -> clap::Command {
    Arguments::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_consistent() {
        description().debug_assert();
    }

    #[test]
    fn global_options_stand_before_and_behind_the_command() {
        let parse = |words: &[&str]| parse(words.iter().map(OsString::from));
        let before = parse(&["perfhive", "--json", "list"]).unwrap();
        let behind = parse(&["perfhive", "list", "--json"]).unwrap();
        assert_eq!(before.global.format, Format::Json);
        assert_eq!(behind.global.format, Format::Json);
        assert!(parse(&["perfhive", "list", "--json", "--format", "csv"]).is_err());
        assert!(parse(&["perfhive", "watch", "-n", "0"]).is_err());
        let ps = parse(&["perfhive", "ps", "--sort", "-ws"]).unwrap();
        assert!(matches!(ps.command, Command::Ps(Ps { sort: Some(key), .. }) if key == "-ws"));
        let has_source = |words: &[&str]| parse(words).unwrap().global.has_source;
        assert!(!has_source(&["perfhive", "view"]));
        assert!(has_source(&["perfhive", "view", "-s", "local:"]));
        assert!(has_source(&["perfhive", "-s", "local:", "view"]));
    }
}
