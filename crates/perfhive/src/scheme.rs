//! [`SourceScheme`], one kind of source, and [`SourceAddress`], one source.

use crate::options::OpenOptions;
use perfhive_engine::{Source, SourceError};
use std::fmt;
use std::path::{Path, PathBuf};

/// One kind of source: what its addresses look like, what it can do, and how it is opened.
#[derive(Debug)]
pub struct SourceScheme {
    /// The beginning of the scheme's addresses: `local:`.
    pub name: &'static str,
    /// The form of a whole address: `registry://HOST`.
    pub form: &'static str,
    /// What the source reads, as the words behind the form in a list: `for this machine`.
    pub help: &'static str,
    /// What the source can do.
    pub capabilities: Capabilities,
    pub(crate) target: TargetKind,
    pub(crate) open: OpenSource,
    pub(crate) reader: DescribeReader,
    pub(crate) data_source: fn(&SourceAddress, machine: &str) -> String,
}

pub(crate) type OpenSource =
    fn(&SourceAddress, &OpenOptions) -> Result<Box<dyn Source>, SourceError>;
pub(crate) type DescribeReader = fn(&SourceAddress, &OpenOptions) -> Option<String>;

/// What the sources of a scheme can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether an address with nothing behind the scheme's name is the machine that the program
    /// runs on.
    pub this_machine: bool,
    /// Whether the samples are recorded: each collection takes the next sample, and after the last
    /// one there are no more.
    pub recorded: bool,
    /// Whether the source may lack names, which title lists then supply ([`OpenOptions::titles`]).
    pub takes_titles: bool,
    /// Whether Windows' objects in the source are those of the
    /// [`standard`](crate::engine::standard) tables, which give a reason for each counter of
    /// Windows that is missing.
    pub standard_objects: bool,
    /// Whether a second source of the same address collects costly objects without delaying the
    /// first.
    pub costly_in_parallel: bool,
}

/// What follows the scheme's name in an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetKind {
    Nothing,
    OptionalFolder,
    Host,
    Files,
}

/// The address of a source: a [scheme](SourceScheme) and what follows its name.
///
/// ```
/// use perfhive::SourceAddress;
///
/// let address: SourceAddress = "registry://SERVER".parse()?;
/// assert_eq!((address.scheme().name, address.host()), ("registry://", Some("SERVER")));
/// assert_eq!("local".parse::<SourceAddress>()?.to_string(), "local:");
/// assert!("http://x".parse::<SourceAddress>().is_err());
/// # Ok::<(), perfhive::BadAddress>(())
/// ```
#[derive(Clone)]
pub struct SourceAddress {
    pub(crate) scheme: &'static SourceScheme,
    pub(crate) target: String,
}

impl SourceAddress {
    /// The scheme that the address begins with.
    #[must_use]
    pub fn scheme(&self) -> &'static SourceScheme {
        self.scheme
    }

    /// Whether the address is the machine that the program runs on.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        self.scheme.capabilities.this_machine && self.target.is_empty()
    }

    /// The other machine's name in `registry://HOST`; `None` for other schemes.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        (self.scheme.target == TargetKind::Host).then_some(&self.target)
    }

    /// The files or the folder of a recording; empty for other schemes. A comma separates files,
    /// unless a file exists under the whole text with its commas: that file is then the only one.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        match self.scheme.target {
            TargetKind::Files if self.target.contains(',') && !Path::new(&self.target).exists() => {
                self.target.split(',').map(PathBuf::from).collect()
            }
            TargetKind::Files => vec![PathBuf::from(&self.target)],
            TargetKind::Nothing | TargetKind::OptionalFolder | TargetKind::Host => Vec::new(),
        }
    }

    /// The folder with a copy of a machine in `proc:FOLDER`; `None` for any other address.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let is_folder = self.scheme.target == TargetKind::OptionalFolder;
        (is_folder && !self.target.is_empty()).then(|| Path::new(&self.target))
    }

    /// The name of the address's data source in measurements. `machine` is the name of the recorded
    /// machine, and empty if the recording does not name it; it has no effect on live sources. See
    /// [`measure::name_of`](crate::measure::name_of).
    pub(crate) fn data_source(&self, machine: &str) -> String {
        (self.scheme.data_source)(self, machine)
    }

    pub(crate) fn open(&self, options: &OpenOptions) -> Result<Box<dyn Source>, SourceError> {
        (self.scheme.open)(self, options)
    }

    pub(crate) fn reader(&self, options: &OpenOptions) -> Option<String> {
        (self.scheme.reader)(self, options)
    }
}

impl fmt::Debug for SourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceAddress({self})")
    }
}

impl PartialEq for SourceAddress {
    fn eq(&self, other: &Self) -> bool {
        (self.scheme.name, &self.target) == (other.scheme.name, &other.target)
    }
}

impl Eq for SourceAddress {}

impl fmt::Display for SourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.scheme.name, self.target)
    }
}
