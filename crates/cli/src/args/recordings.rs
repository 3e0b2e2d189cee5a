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
    /// The name of the machine and the names of instances are hashed, except instance names that every machine has.
    /// Within a capture, a name always has the same hash, so that instances can be told apart; in the next
    /// capture it has another one. Texts in counters become blanks. Process IDs, times and values are kept.
    #[arg(long)]
    pub(crate) hash_names: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("rotation").multiple(true))]
pub(crate) struct Record {
    /// The file; its name usually ends in .phr, and .blg, .csv and .tsv are refused. An existing recording is continued
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

    /// Stop after this many samples; by default at Ctrl-C
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = value::count)]
    pub(crate) count: Option<u64>,

    /// Stop after this time: 90s, 30m, 8h, 7d
    #[arg(long, short = 'd', value_name = "TIME", value_parser = value::duration)]
    pub(crate) duration: Option<Duration>,

    /// Begin a new file when the present one has this size
    ///
    /// In bytes, or with K, M or G for 1024, 1024^2 or 1024^3. The finished file is renamed: its name gets
    /// the time of its first sample, as in today-20261123T140500Z.phr.
    #[arg(long, value_name = "BYTES", value_parser = value::bytes, group = "rotation")]
    pub(crate) rotate_size: Option<u64>,

    /// Begin a new file when the present one spans this time: 30m, 8h, 1d
    #[arg(long, value_name = "TIME", value_parser = value::duration, group = "rotation")]
    pub(crate) rotate_time: Option<Duration>,

    /// Keep this number of finished files, and remove older ones
    #[arg(long, value_name = "COUNT", requires = "rotation")]
    pub(crate) keep: Option<usize>,

    /// Samples are on the disk after this time at the latest; 0 for each sample at once
    ///
    /// If perfhive is killed, no written sample is lost. A power failure loses the samples that are not
    /// on the disk.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = value::sync)]
    pub(crate) sync: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Recordings of one machine, in any order
    ///
    /// The input may be a recording, a binary or text log of perfmon, data blocks, or the folder of a capture. The
    /// last file is the output, unless -o names it. The output's ending decides its form: .csv and .tsv are text logs
    /// and .blg is a binary log, as Windows writes them; .phr is a recording; .parquet is a folder of Parquet files (if
    /// perfhive was built with this feature).
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// The file to write; a log that exists is replaced
    #[arg(long, short = 'o', value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// A counter path to write in a log; may be given several times. All counters by default
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
    /// If it inherits from other files in the same folder, these are read as well. May be given several times.
    #[arg(long, value_name = "FILE", action = ArgAction::Append)]
    pub(crate) pal: Vec<PathBuf>,

    /// An answer to a question of PAL's thresholds, such as PhysicalMemory=16
    #[arg(long = "answer", value_name = "NAME=VALUE", action = ArgAction::Append)]
    pub(crate) answers: Vec<String>,

    /// Number of instances of each object to list besides its sums, of processes with the most processor time, and of
    /// processes with the largest working sets
    #[arg(long, value_name = "COUNT", default_value = "5")]
    pub(crate) top: usize,

    /// For records of an experiment: the means of the sensors of intervals in this time before and after each other event
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub(crate) around: Option<Duration>,

    /// The machine to report, if the log has several; the first one by default
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,

    /// List every counter, not only those that matter most
    #[arg(long, conflicts_with = "paths")]
    pub(crate) all: bool,

    /// A counter path to list; may be given several times
    #[arg(long = "path", short = 'p', value_name = "PATH", action = ArgAction::Append, value_parser = value::path)]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// A recording or log, or a part of it: FILE, or FILE@BEGIN..END
    ///
    /// BEGIN and END have the forms of --begin and --end, and one of them may be left out:
    /// `today.phr@..+10m` are the first ten minutes, `today.phr@-1h..` is the last hour.
    #[arg(value_name = "FIRST", value_parser = value::file_span)]
    pub(crate) first: FileSpan,

    /// The recording, log or part to compare it with
    #[arg(value_name = "SECOND", value_parser = value::file_span)]
    pub(crate) second: FileSpan,

    /// Number of changes of each kind to list
    #[arg(long, value_name = "COUNT", default_value = "20")]
    pub(crate) top: usize,

    /// Also list differences that may be due to chance
    #[arg(long)]
    pub(crate) all: bool,

    /// The machine to compare, if the logs have several; the first one of each by default
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,

    /// Compare every counter, not only those that matter most
    #[arg(long, conflicts_with = "paths")]
    pub(crate) all_counters: bool,

    /// A counter path to compare; may be given several times
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
    /// Recordings to describe, one by one; by default that of --source
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
