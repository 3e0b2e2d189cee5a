//! Arguments of the commands that write recordings or look at them.

use super::value;
use clap::{ArgAction, ArgGroup, Args};
use perfhive::recording::TimeBound;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The folder, which is created; a folder that is not empty is refused
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// Objects in each sample: Global, Costly, or objects by name or index; the path of a counter is its whole object
    #[arg(value_name = "OBJECT", default_value = "Global")]
    pub(crate) objects: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// Number of samples
    #[arg(
        long, short = 'n', value_name = "COUNT", default_value = "10", value_parser = value::count
    )]
    pub(crate) count: u64,

    /// Write hashes in place of names that reveal this machine
    ///
    /// Hashed are the name of the machine, and those of instances that not every machine has.
    /// In one capture a name has always the same hash, so that instances stay apart; in the
    /// next it has another. Texts in counters become blanks. Process IDs, times and values
    /// stay.
    #[arg(long)]
    pub(crate) hash_names: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("rotation").multiple(true))]
pub(crate) struct Record {
    /// The file, which ends in .phr by custom, never in .blg, .csv or .tsv; a recording that exists is continued
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Objects in each sample: Global, Costly, or objects by name or index; the path of a counter is its whole object
    #[arg(value_name = "OBJECT", default_value = "Global")]
    pub(crate) objects: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// End after this many samples; without it, Ctrl-C ends
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = value::count)]
    pub(crate) count: Option<u64>,

    /// End after this time: 90s, 30m, 8h, 7d
    #[arg(long, short = 'd', value_name = "TIME", value_parser = value::duration)]
    pub(crate) duration: Option<Duration>,

    /// Begin a new file once one has so many bytes
    ///
    /// With K, M or G for 1024, 1024^2 or 1024^3. The finished file gets the time of its first
    /// sample into its name: today-20261123T140500Z.phr.
    #[arg(long, value_name = "BYTES", value_parser = value::bytes, group = "rotation")]
    pub(crate) rotate_size: Option<u64>,

    /// Begin a new file once one spans so much time: 30m, 8h, 1d
    #[arg(long, value_name = "TIME", value_parser = value::duration, group = "rotation")]
    pub(crate) rotate_time: Option<Duration>,

    /// Keep so many finished files and remove older ones
    #[arg(long, value_name = "COUNT", requires = "rotation")]
    pub(crate) keep: Option<usize>,

    /// After how long samples are on the disk at the latest; 0 for each sample
    ///
    /// A program that is killed loses no written sample. A power failure loses those since the
    /// disk was told to store them.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = value::sync)]
    pub(crate) sync: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Recordings of one machine, in any order
    ///
    /// What is read may be a recording, a binary or text log of perfmon, data blocks, or the folder
    /// of a capture. The last file is the one to write, unless -o names it. Its ending says how: .csv and .tsv are text logs and .blg is a
    /// binary log as Windows writes them, .phr is a recording, .parquet a folder of Parquet files (if perfhive was built with them).
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// The file to write; a log that exists is replaced
    #[arg(long, short = 'o', value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// A counter path to write in a log, and further ones each behind a -p; all counters by default
    #[arg(long = "path", short = 'p', value_name = "PATH", action = ArgAction::Append, value_parser = value::path)]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A recording, log or records of an experiment; without it, what --source names
    pub(crate) file: Option<PathBuf>,

    /// Write one HTML page with charts to this file
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Thresholds from a file of PAL, instead of those built in
    ///
    /// The files beside it that it inherits from are read too. May be given several times.
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub(crate) pal: Vec<PathBuf>,

    /// An answer to a question of PAL's thresholds, such as PhysicalMemory=16
    #[arg(long = "answer", value_name = "NAME=VALUE", action = ArgAction::Append)]
    pub(crate) answers: Vec<String>,

    /// How many instances of each object are listed beside its sums, how many of the processes with the most processor time,
    /// and as many of those with the largest working sets
    #[arg(long, value_name = "COUNT", default_value = "5")]
    pub(crate) top: usize,

    /// Of an experiment's records: what the sensors of intervals read in so much time before and after each other event
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub(crate) around: Option<Duration>,

    /// The machine, of a log with counters of several; the first one by default
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,

    /// List every counter, not only those that matter most
    #[arg(long, conflicts_with = "paths")]
    pub(crate) all: bool,

    /// A counter path to list, and further ones each behind a -p
    #[arg(long = "path", short = 'p', value_name = "PATH", action = ArgAction::Append, value_parser = value::path)]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// A recording or log, or a part of it: FILE, or FILE@BEGIN..END
    ///
    /// BEGIN and END are given as for --begin and --end, and one of them may be left out:
    /// `today.phr@..+10m` are the first ten minutes, `today.phr@-1h..` is the last hour.
    #[arg(value_name = "FIRST", value_parser = value::file_span)]
    pub(crate) first: FileSpan,

    /// What is compared with it, given in the same way
    #[arg(value_name = "SECOND", value_parser = value::file_span)]
    pub(crate) second: FileSpan,

    /// How many changes of each kind are listed
    #[arg(long, value_name = "COUNT", default_value = "20")]
    pub(crate) top: usize,

    /// List differences that may be chance, too
    #[arg(long)]
    pub(crate) all: bool,

    /// The machine, of logs with counters of several; the first one of each by default
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,

    /// Compare every counter, not only those that matter most
    #[arg(long, conflicts_with = "paths")]
    pub(crate) all_counters: bool,

    /// A counter path to compare, and further ones each behind a -p
    #[arg(long = "path", short = 'p', value_name = "PATH", action = ArgAction::Append, value_parser = value::path)]
    pub(crate) paths: Vec<String>,
}

/// A recording, or the part of it from `begin` to `end`; a bound that is `None` leaves that side open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileSpan {
    pub(crate) file: String,
    pub(crate) begin: Option<TimeBound>,
    pub(crate) end: Option<TimeBound>,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Recordings, each told by itself; without one, that of --source
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
