//! Options of the commands about providers: `register`, `unregister`, `providers` and `check`.

use super::value;
use clap::{ArgAction, Args};
use std::path::PathBuf;
use std::time::Duration;

/// Where registrations are kept: for the machine or for the user.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RegistrationPlace {
    #[cfg_attr(
        not(windows),
        doc = "For the whole machine, which takes root; the default for root"
    )]
    #[cfg_attr(windows, doc = "For the whole machine, as always on Windows")]
    #[arg(long, conflicts_with = "user")]
    pub(crate) system: bool,

    /// For this user alone; the default for other users
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

    /// A string that is passed to the open function; may be given several times
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
    /// Without this option, a provider that is already registered keeps its library and all settings
    /// that are not given.
    #[arg(long, short = 'l', value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) functions: LibraryFunctions,

    /// Deadline for opening; 10 seconds by default
    #[arg(long, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) open_timeout: Option<Duration>,

    /// Deadline for collecting; 10 seconds by default
    #[arg(long, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) collect_timeout: Option<Duration>,

    /// Memory limit of the library's process in MiB; 0 for the reader's default, 1024
    #[arg(long, value_name = "MIB", hide = cfg!(windows))]
    pub(crate) memory_limit: Option<u32>,

    /// Let the library's process start other processes
    ///
    /// The memory limit applies to each of these processes. All of them end with the library's process.
    #[arg(long, conflicts_with = "no_processes", hide = cfg!(windows))]
    pub(crate) processes: bool,

    /// Let the library's process start no other processes, the default
    #[arg(long, hide = cfg!(windows))]
    pub(crate) no_processes: bool,

    /// A file or folder that the library reads; may be given several times
    ///
    /// The library's process may then read only these, the library's own folder and the folders of
    /// the system's libraries. Without this option, if the reader is root, the library runs as the
    /// user `nobody`. An empty text removes the limit.
    #[arg(long, value_name = "PATH", hide = cfg!(windows))]
    pub(crate) reads: Vec<PathBuf>,

    /// Register, but never ask the provider for data
    #[arg(long, conflicts_with = "enable")]
    pub(crate) disable: bool,

    /// Enable a provider that was registered with --disable
    #[arg(long)]
    pub(crate) enable: bool,

    /// The symbol file of an .ini file, if it is not at the place that the .ini file names
    #[arg(long, value_name = "FILE")]
    pub(crate) symbols: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) place: RegistrationPlace,

    /// Print the definition, with offsets in place of indexes, and register nothing
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
    pub(crate) place: RegistrationPlace,
}

#[derive(Debug, Args)]
pub(crate) struct Providers {
    /// Name of a provider; * stands for any text
    pub(crate) name: Option<String>,

    /// Number of collections before the report; 0 reports only what is already known
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "2")]
    pub(crate) count: u32,

    /// Enable a provider that its registration or repeated failures disabled
    ///
    /// The provider has half a minute to say which objects it offers.
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

    /// Deadline for each function
    #[arg(long, value_name = "SECONDS", value_parser = value::interval)]
    pub(crate) timeout: Option<Duration>,

    /// Memory limit of the library's process in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) memory_limit: Option<u32>,

    /// Let the library's process start other processes
    #[arg(long)]
    pub(crate) processes: bool,

    /// A file or folder that the library reads, as in register; may be given several times
    #[arg(long, value_name = "PATH", hide = cfg!(windows))]
    pub(crate) reads: Vec<PathBuf>,

    /// Also request the objects of this other machine; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Vec<String>,

    /// Print problems only
    #[arg(long)]
    pub(crate) brief: bool,
}
