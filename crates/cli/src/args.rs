//! What can be asked on the command line.

mod help;
mod value;

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use perfhive::LanguageId;
use perfhive::registration::TextEncoding;
use std::ffi::OsString;
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
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true
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
    /// Where the counters are: local: or file:A.bin,B.bin
    ///
    /// `local:` is this machine. `file:A.bin,B.bin` reads recorded data blocks, one a file, as
    /// successive samples of one machine, and `file:FOLDER` what `capture` saved there.
    #[cfg_attr(
        not(windows),
        doc = "`proc:` and `bpf:` are this machine with its processes read from /proc or through \
               BPF, `proc:FOLDER` is a copy of a machine's proc and sys. On Windows \
               `registry://HOST` is another machine, and `native:` this one without its registry."
    )]
    #[cfg_attr(
        windows,
        doc = "`registry://HOST` is another machine, read through its service Remote Registry; \
               `native:` is this one without its registry, with System, Processor, Process and \
               Thread."
    )]
    #[arg(
        long, short, global = true, value_name = "ADDRESS", default_value = "local:",
        value_parser = value::address
    )]
    pub(crate) source: String,

    /// Names for recorded blocks, from a title list
    ///
    /// A file with an index and a name by turns: one string a line, or the bytes of a
    /// REG_MULTI_SZ. English, unless the file's name begins with another language's code
    /// (`de.txt`, `007_counter.bin`). Without names their indexes are shown.
    #[arg(long, global = true, value_name = "FILE", action = ArgAction::Append)]
    pub(crate) titles: Vec<PathBuf>,

    /// Language in which names are shown
    ///
    /// A code (`de`), a name (`German`) or a number (`007`). By default the language of the
    /// environment (LC_ALL, LC_MESSAGES, LANG), on Windows without these the user's, if the
    /// source has it, otherwise English. Names in paths are recognised in every language of
    /// the source.
    #[arg(long, global = true, value_name = "LANG", value_parser = value::language)]
    pub(crate) language: Option<LanguageId>,

    /// How the result is printed
    #[arg(long, short, global = true, value_enum, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,

    /// The same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub(crate) json: bool,

    /// When to use colours
    ///
    /// `auto` colours a table on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,

    /// How long providers are waited for
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s. One that takes longer costs its own
    /// counters. By default 10 seconds on Windows, then half as long for each provider to
    /// find out which of them hangs; elsewhere two seconds, or twice as long as it took of late.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) patience: Option<Duration>,

    /// Print no warnings
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// A JSON array of flat objects; of `watch` and `measure`, one object a line
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
    /// Print every raw value of one snapshot
    #[command(name = "enum", after_help = help::here(help::ENUM))]
    Enumerate(Enumerate),
    /// Print the working set of the processes of a name
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
    /// Save raw answers in a folder, to be looked at elsewhere
    #[command(after_help = help::here(help::CAPTURE))]
    Capture(Capture),
    /// Print every field of a raw data block
    #[command(after_help = help::here(help::DUMP))]
    Dump(Dump),
    /// Register a provider's counters, or list what is registered
    #[command(after_help = help::here(help::REGISTER))]
    Register(Register),
    /// Take back everything that is registered of a provider
    #[command(after_help = help::here(help::UNREGISTER))]
    Unregister(Unregister),
    /// Show how providers are doing
    #[command(after_help = help::here(help::PROVIDERS))]
    Providers(Providers),
    /// Check a provider's library, for who writes it
    #[command(after_help = help::here(help::CHECK))]
    Check(Check),
    /// Run a provider's library; perfhive starts this itself
    #[command(hide = true)]
    Host,
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
    /// Counter paths, such as '\Memory\Available Bytes'
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Time between the two samples that rates and percentages take
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. There is no second sample, and no wait,
    /// if no path needs it; recordings have their samples already.
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = value::interval)]
    pub(crate) interval: Duration,

    /// Print bare values in full precision, one a line
    #[arg(long, short, conflicts_with_all = ["format", "json"])]
    pub(crate) bare: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Counter paths; a choice for a first look if none is given
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// End after this many tables
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Enumerate {
    /// Global, Costly, or names and indexes of objects
    #[arg(value_name = "OBJECT", default_value = "Global")]
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
    /// Columns, separated by commas: aliases, or counters of Process by name or index
    #[arg(long, short = 'o', value_name = "COLUMNS", action = ArgAction::Append)]
    pub(crate) columns: Vec<String>,

    /// Column to sort by, in descending order with a minus sign before it
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,

    /// Time between the two samples that rates and percentages take
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = value::interval)]
    pub(crate) interval: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Sensors {
    /// A name, group/sensor, or a group or sensor alone; * stands for any text
    ///
    /// Compared without regard to case, with or without %25, %2F and %23 for %, / and #. What
    /// stands behind a # picks instances, which --instances lists all.
    pub(crate) pattern: Option<String>,

    /// List each sensor once for each instance that it has at the moment
    ///
    /// Instances of Process are named by process ID, those of Thread by thread ID.
    #[arg(long, short = 'I')]
    pub(crate) instances: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Names of sensors, such as 'Memory/Available Bytes' or 'Process/Working Set#*'
    ///
    /// source/group/sensor, or group/sensor; #INSTANCE behind it, or #* for every instance, those
    /// that come later too.
    #[arg(required = true, value_name = "SENSOR")]
    pub(crate) sensors: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// End after this many samples
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// A folder of its own, which is made; one that holds anything is left alone
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// What each sample asks for: Global, Costly, or objects by name or index
    #[arg(value_name = "OBJECT", default_value = "Global")]
    pub(crate) objects: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default; of a recording,
    /// samples are taken as they come.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// Number of samples
    #[arg(
        long, short = 'n', value_name = "COUNT", default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) count: u64,

    /// Write hashes in place of names that tell of this machine
    ///
    /// Of the machine, and of instances that not every machine has. One name has one hash in a
    /// capture, so that instances stay apart, and another in the next. Texts in counters become
    /// blanks. Process IDs, times and values stay.
    #[arg(long)]
    pub(crate) hash_names: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// A raw data block
    pub(crate) file: PathBuf,
}

/// Whose registrations.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Place {
    #[cfg_attr(not(windows), doc = "Of the whole machine; takes root. Usual for root")]
    #[cfg_attr(windows, doc = "Of the whole machine, as always on Windows")]
    #[arg(long, conflicts_with = "user")]
    pub(crate) system: bool,

    /// Of this user alone. Usual for everybody else
    #[arg(long, hide = cfg!(windows))]
    pub(crate) user: bool,
}

/// How a library is called.
#[derive(Debug, Args)]
pub(crate) struct LibraryFunctions {
    /// Name of the function that opens the provider; empty if there is none
    #[arg(long, value_name = "NAME")]
    pub(crate) open: Option<String>,

    /// Name of the function that collects
    #[arg(long, value_name = "NAME")]
    pub(crate) collect: Option<String>,

    /// Name of the function that closes the provider; empty if there is none
    #[arg(long, value_name = "NAME")]
    pub(crate) close: Option<String>,

    /// A string that the open function is given; may be given several times
    #[arg(long, value_name = "TEXT", action = ArgAction::Append)]
    pub(crate) linkage: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Register {
    /// The provider's definition: an .ini file as lodctr takes it, or a manifest (.man)
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    pub(crate) file: Option<PathBuf>,

    /// The library with the provider's functions
    ///
    /// A provider that is registered already keeps its library, and whatever else is not given,
    /// if this is left out.
    #[arg(long, short = 'l', value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) functions: LibraryFunctions,

    /// How long opening may take, 10 seconds by default
    #[arg(long, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) open_timeout: Option<Duration>,

    /// How long collecting may take, 10 seconds by default
    #[arg(long, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) collect_timeout: Option<Duration>,

    /// Memory that the library's process may have, in MiB; 0 for the default, 1024
    #[arg(long, value_name = "MIB", hide = cfg!(windows))]
    pub(crate) memory_limit: Option<u32>,

    /// Let the library's process start others
    ///
    /// Each has the memory limit for itself. All of them end with the library.
    #[arg(long, conflicts_with = "no_processes", hide = cfg!(windows))]
    pub(crate) processes: bool,

    /// Let the library's process start no others, the default
    #[arg(long, hide = cfg!(windows))]
    pub(crate) no_processes: bool,

    /// Register, but do not ask the provider for data
    #[arg(long, conflicts_with = "enable")]
    pub(crate) disable: bool,

    /// Ask a provider again that was registered with --disable
    #[arg(long)]
    pub(crate) enable: bool,

    /// The symbol file of an .ini file, if not at the place that it names
    #[arg(long, value_name = "FILE")]
    pub(crate) symbols: Option<PathBuf>,

    /// Encoding of a file without a byte order mark, such as windows-1251
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<TextEncoding>,

    #[command(flatten)]
    pub(crate) place: Place,

    /// Print the content of the file, with offsets instead of indexes, and register nothing
    #[arg(long, short = 'n', conflicts_with = "list")]
    pub(crate) dry_run: bool,

    /// List the registrations
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Unregister {
    /// Name of the provider, without regard to case
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Providers {
    /// Name of a provider; * stands for any text
    pub(crate) name: Option<String>,

    /// Collect this often before telling; 0 tells what is known already
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "2")]
    pub(crate) count: u32,

    /// Have a provider asked again that was disabled, by its registration or after repeated failures
    ///
    /// One that is slow to say what it offers is given half a minute for it.
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    pub(crate) enable: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A library, or the name of a registered provider
    #[arg(value_name = "FILE|NAME")]
    pub(crate) library: String,

    #[command(flatten)]
    pub(crate) functions: LibraryFunctions,

    /// How long each function may take
    #[arg(long, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) timeout: Option<Duration>,

    /// Memory that the library's process may have, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) memory_limit: Option<u32>,

    /// Let the library's process start others
    #[arg(long)]
    pub(crate) processes: bool,

    /// Ask also for what it has of another machine; may be given again
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Vec<String>,

    /// Print what is wrong alone
    #[arg(long)]
    pub(crate) brief: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command that the page is about; perfhive itself if none is given
    #[arg(value_name = "COMMAND")]
    pub(crate) about: Option<String>,
}

/// Reads the command line.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let mut arguments = Arguments::try_parse_from(args)?;
    if arguments.global.json {
        arguments.global.format = Format::Json;
    }
    Ok(arguments)
}

/// The description of the command line, for completions and manual pages.
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
    fn global_options_stand_anywhere() {
        let parse = |words: &[&str]| parse(words.iter().map(OsString::from));
        let before = parse(&["perfhive", "--json", "list"]).unwrap();
        let behind = parse(&["perfhive", "list", "--json"]).unwrap();
        assert_eq!(before.global.format, Format::Json);
        assert_eq!(behind.global.format, Format::Json);
        assert!(parse(&["perfhive", "list", "--json", "--format", "csv"]).is_err());
        assert!(parse(&["perfhive", "watch", "-n", "0"]).is_err());
        let ps = parse(&["perfhive", "ps", "--sort", "-ws"]).unwrap();
        assert!(matches!(ps.command, Command::Ps(Ps { sort: Some(key), .. }) if key == "-ws"));
    }
}
