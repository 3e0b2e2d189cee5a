//! Arguments of the commands that write recordings or look at them.

use super::value;
use clap::{ArgAction, Args};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The folder, which is created; a folder that is not empty is refused
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    /// Objects in each sample: Global, Costly, or objects by name or index
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
        long, short = 'n', value_name = "COUNT", default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..)
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
pub(crate) struct Record {
    /// The file, which ends in .phr by custom; a recording that exists is continued
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Objects in each sample: Global, Costly, or objects by name or index
    #[arg(value_name = "OBJECT", default_value = "Global")]
    pub(crate) objects: Vec<String>,

    /// Time between samples
    ///
    /// In seconds, or with a unit: 0.5, 500ms, 2s, 1m. One second by default. Recordings are
    /// read without a pause unless this is given.
    #[arg(long, short, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) interval: Option<Duration>,

    /// End after this many samples; without it, Ctrl-C ends
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,

    /// End after this time: 90s, 30m, 8h, 7d
    #[arg(long, short = 'd', value_name = "TIME", value_parser = value::duration)]
    pub(crate) duration: Option<Duration>,

    /// Begin a new file once one has so many bytes
    ///
    /// With K, M or G for 1024, 1024^2 or 1024^3. The finished file gets the time of its first
    /// sample into its name: today-20261123T140500Z.phr.
    #[arg(long, value_name = "BYTES", value_parser = value::bytes)]
    pub(crate) rotate_size: Option<u64>,

    /// Begin a new file once one spans so much time: 30m, 8h, 1d
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub(crate) rotate_time: Option<Duration>,

    /// Keep so many finished files and remove older ones
    #[arg(long, value_name = "COUNT")]
    pub(crate) keep: Option<usize>,

    /// After how long samples are on the disk at the latest
    ///
    /// A program that is killed loses no written sample. A power failure loses those since the
    /// disk was told to store them.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = value::interval)]
    pub(crate) sync: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Recordings of one machine, in the order of time
    ///
    /// What is read may be a recording, a binary or text log of perfmon, data blocks, or the folder
    /// of a capture. The ending of what is written says how: .csv and .tsv are text logs as Windows
    /// writes them, .phr is a recording.
    #[arg(value_name = "IN", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// The file to write
    #[arg(long, short = 'o', value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Counter paths to write in a text log; all counters by default
    #[arg(long = "path", short = 'p', value_name = "PATH", action = ArgAction::Append, value_parser = value::path)]
    pub(crate) paths: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// A recording; without it, that of --source
    pub(crate) file: Option<PathBuf>,
}
