//! The table of address schemes: every kind of source that an address can name.
//!
//! A new kind of source is one row of [`SCHEMES`]. No other code looks at what an address
//! begins with; it asks the row for its [`Capabilities`].

use crate::machine;
use crate::open::{self, OpenOptions};
use perfhive_engine::{Source, SourceError};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// One kind of source: what its addresses look like, what it can do, and how it is opened.
#[derive(Debug)]
pub struct SourceScheme {
    /// What an address begins with: `local:`.
    pub name: &'static str,
    /// The form of a whole address: `registry://HOST`.
    pub form: &'static str,
    /// What the source reads, as the words behind the form in a list: `for this machine`.
    pub help: &'static str,
    /// What the source can do.
    pub capabilities: Capabilities,
    target: TargetKind,
    open: OpenSource,
    reader: DescribeReader,
    data_source: fn(&SourceAddress, machine: &str) -> String,
}

type OpenSource = fn(&SourceAddress, &OpenOptions) -> Result<Box<dyn Source>, SourceError>;
type DescribeReader = fn(&SourceAddress, &OpenOptions) -> Option<String>;

/// What the sources of a scheme can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Without a target the source is the machine that the program runs on.
    pub this_machine: bool,
    /// The samples are recorded: collecting goes on to the next one and ends with the last.
    pub recorded: bool,
    /// The source may lack names, which title lists give it ([`OpenOptions::titles`]).
    pub takes_titles: bool,
    /// The objects are those of [`standard`](crate::engine::standard) tables, which have a reason for each
    /// counter of Windows that is missing.
    pub standard_objects: bool,
    /// A second source of the same address collects costly objects without delaying the first.
    pub costly_in_parallel: bool,
}

/// What follows the scheme's name in an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetKind {
    Nothing,
    OptionalFolder,
    Host,
    Files,
}

/// Every kind of source, in the order in which help lists them.
pub static SCHEMES: &[SourceScheme] = &[
    SourceScheme {
        name: "local:",
        form: "local:",
        help: "for this machine",
        capabilities: Capabilities {
            this_machine: true,
            // All readers of the registry in one process wait for one lock of Windows.
            costly_in_parallel: !cfg!(windows),
            // On Windows most objects are the registry's.
            standard_objects: !cfg!(windows),
            ..NO_CAPABILITY
        },
        target: TargetKind::Nothing,
        open: machine::open_local,
        reader: machine::reader_of_local,
        data_source: |_, _| machine::DATA_SOURCE.to_string(),
    },
    SourceScheme {
        name: "proc:",
        form: "proc:[FOLDER]",
        help: "for this machine with processes read from /proc, or for a FOLDER with a copy of \
               another machine's proc and sys",
        capabilities: Capabilities {
            this_machine: true,
            costly_in_parallel: true,
            standard_objects: true,
            ..NO_CAPABILITY
        },
        target: TargetKind::OptionalFolder,
        open: machine::open_proc,
        reader: no_choice,
        data_source: |address, _| match address.folder() {
            Some(folder) => {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                format!("copy.{name}")
            }
            None => "linux.procfs".to_string(),
        },
    },
    SourceScheme {
        name: "bpf:",
        form: "bpf:",
        help: "for this machine with processes read through BPF",
        capabilities: Capabilities {
            this_machine: true,
            costly_in_parallel: true,
            standard_objects: true,
            ..NO_CAPABILITY
        },
        target: TargetKind::Nothing,
        open: machine::open_bpf,
        reader: machine::reader_of_bpf,
        data_source: |_, _| "linux.procfs".to_string(),
    },
    SourceScheme {
        name: "native:",
        form: "native:",
        help: "for System, Processor, Process and Thread of this machine without the registry of \
               Windows",
        capabilities: Capabilities { this_machine: true, standard_objects: true, ..NO_CAPABILITY },
        target: TargetKind::Nothing,
        open: machine::open_native,
        reader: machine::reader_of_native,
        data_source: |_, _| "windows.native".to_string(),
    },
    SourceScheme {
        name: "registry://",
        form: "registry://HOST",
        help: "for another Windows machine, by its name or IP address",
        capabilities: NO_CAPABILITY,
        target: TargetKind::Host,
        open: machine::open_registry,
        reader: no_choice,
        data_source: |address, _| format!("windows.{}", address.target),
    },
    SourceScheme {
        name: "file:",
        form: "file:A.bin,B.bin or file:FOLDER",
        help: "for recorded data blocks or for a capture",
        capabilities: Capabilities { recorded: true, takes_titles: true, ..NO_CAPABILITY },
        target: TargetKind::Files,
        open: open::open_files,
        reader: |address, _| perfhive_recording::reader_of_processes(&address.files()),
        data_source: |address, machine| match (machine, address.files().first()) {
            ("", Some(file)) => {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                format!("log.{name}")
            }
            (machine, _) => format!("log.{machine}"),
        },
    },
];

const NO_CAPABILITY: Capabilities = Capabilities {
    this_machine: false,
    recorded: false,
    takes_titles: false,
    costly_in_parallel: false,
    standard_objects: false,
};

fn no_choice(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
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
    scheme: &'static SourceScheme,
    target: String,
}

impl SourceAddress {
    /// `local:`, this machine with the best reader of processes that it allows.
    #[must_use]
    pub fn local() -> Self {
        Self::of("local:", "")
    }

    /// `registry://HOST`, another Windows machine. A host that is no name is refused when the
    /// address is opened.
    #[must_use]
    pub fn registry(host: &str) -> Self {
        Self::of("registry://", host)
    }

    /// `file:FOLDER`, a capture.
    #[must_use]
    pub fn capture(folder: &str) -> Self {
        Self::of("file:", folder)
    }

    fn of(name: &str, target: &str) -> Self {
        let mut schemes = SCHEMES.iter();
        let scheme = schemes.find(|scheme| scheme.name == name).unwrap_or(&SCHEMES[0]);
        Self { scheme, target: target.to_string() }
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> &'static SourceScheme {
        self.scheme
    }

    /// Whether the source is the machine that the program runs on.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        self.scheme.capabilities.this_machine && self.target.is_empty()
    }

    /// The other machine's name, of `registry://HOST`.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        (self.scheme.target == TargetKind::Host).then_some(&self.target)
    }

    /// The files or the folder of a recording; empty for other schemes. A comma may belong to a
    /// file's name: where a file of the whole name exists, it is meant.
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

    /// The folder with a copy of a machine, of `proc:FOLDER`.
    pub(crate) fn folder(&self) -> Option<&Path> {
        let is_folder = self.scheme.target == TargetKind::OptionalFolder;
        (is_folder && !self.target.is_empty()).then(|| Path::new(&self.target))
    }

    /// The operating system that the source runs on, with version and architecture
    /// (`linux 6.1.0 x86_64`), for [`CaptureOptions::system`](crate::CaptureOptions::system);
    /// `None` unless the address is this machine.
    #[must_use]
    pub fn system(&self) -> Option<String> {
        let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        let version = machine::version_of_system;
        self.is_this_machine().then(|| format!("{system} {} {architecture}", version()))
    }

    /// The name of the source in measurements; see
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

impl FromStr for SourceAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let is_of = |scheme: &&SourceScheme| {
            text.starts_with(scheme.name) || scheme.name.strip_suffix(':') == Some(text)
        };
        let bad = |scheme| BadAddress { text: text.to_string(), scheme };
        let scheme = SCHEMES.iter().find(is_of).ok_or_else(|| bad(None))?;
        let mut target = text.strip_prefix(scheme.name).unwrap_or_default();
        let is_good = match scheme.target {
            TargetKind::Nothing => target.is_empty(),
            TargetKind::OptionalFolder => true,
            TargetKind::Host => {
                target = target.strip_suffix('/').unwrap_or(target);
                let is_bad = |c: char| c.is_control() || "/\\ \"".contains(c);
                !target.is_empty() && !target.contains(is_bad)
            }
            TargetKind::Files => {
                text != "file" && !target.is_empty() && !target.split(',').any(str::is_empty)
            }
        };
        let address = Self { scheme, target: target.to_string() };
        if is_good { Ok(address) } else { Err(bad(Some(scheme))) }
    }
}

/// A text that is no address.
#[derive(Clone, Debug)]
pub struct BadAddress {
    text: String,
    /// The scheme, where only what follows it is wrong.
    scheme: Option<&'static SourceScheme>,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no source: expected ", self.text)?;
        // The scheme is known; only its syntax is shown.
        if let Some(scheme) = self.scheme {
            return write!(f, "{} {}", scheme.form, scheme.help);
        }
        let last = SCHEMES.len() - 1;
        for (place, scheme) in SCHEMES.iter().enumerate() {
            let gap = match place {
                0 => "",
                place if place == last => ", or ",
                _ => ", ",
            };
            write!(f, "{gap}{} {}", scheme.form, scheme.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for BadAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SourceAddress {
        text.parse().unwrap()
    }

    #[test]
    fn every_form_of_address_parses_and_prints_as_itself() {
        for text in
            ["local:", "proc:", "proc:/a/b,c", "bpf:", "native:", "registry://BOX", "file:a,b"]
        {
            assert_eq!(address(text).to_string(), text);
        }
        assert_eq!(address("local"), SourceAddress::local());
        assert_eq!(address("registry://BOX/"), SourceAddress::registry("BOX"));
        assert_eq!(address("proc:/a/b,c").folder(), Some(Path::new("/a/b,c")));
        assert_eq!(address("file:a.bin,b.bin").files(), ["a.bin", "b.bin"].map(PathBuf::from));
    }

    #[test]
    fn only_this_machine_names_its_system() {
        for text in ["local:", "proc:", "bpf:", "native:"] {
            assert!(address(text).system().is_some(), "{text}");
        }
        for text in ["proc:/a", "registry://BOX", "file:a"] {
            assert_eq!(address(text).system(), None, "{text}");
        }
    }

    #[test]
    fn bad_addresses_are_refused_with_the_form_that_is_expected() {
        let error = |text: &str| text.parse::<SourceAddress>().unwrap_err().to_string();
        assert!(error("registry://").ends_with("by its name or IP address"));
        assert!(error("file:").contains("file:FOLDER for recorded data blocks or for a capture"));
        assert!(error("http://x").contains("local: for this machine"));
        for bad in [
            "",
            "file",
            "file:",
            "file:a,,b",
            "http://x",
            "a.bin",
            "LOCAL",
            "bpf:x",
            "native:x",
            "registry",
            "registry://",
            "registry://a\\b",
        ] {
            assert!(bad.parse::<SourceAddress>().is_err(), "{bad}");
        }
    }
}
