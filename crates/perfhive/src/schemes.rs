//! The table of address schemes: every kind of source that an address can name.
//!
//! A new kind of source is one row of [`SCHEMES`]. No other code looks at what an address
//! begins with; other code asks the row for its [`Capabilities`].

use crate::machine;
use crate::options::OpenOptions;
use crate::scheme::{Capabilities, SourceAddress, SourceScheme, TargetKind};
use perfhive_engine::{Source, SourceError};
use std::fmt;
use std::str::FromStr;

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
        help: "for recorded data blocks or for a capture, or file:A for a recording or a log of \
               perfmon (.phr, .blg, .csv, .tsv)",
        capabilities: Capabilities { recorded: true, takes_titles: true, ..NO_CAPABILITY },
        target: TargetKind::Files,
        open: open_files,
        reader: reader_of_files,
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

/// The reader of processes that a capture was made with; `None` for other recordings.
#[cfg(feature = "recording")]
fn reader_of_files(address: &SourceAddress, _: &OpenOptions) -> Option<String> {
    perfhive_recording::reader_of_processes(&address.files())
}

#[cfg(not(feature = "recording"))]
fn reader_of_files(_: &SourceAddress, _: &OpenOptions) -> Option<String> {
    None
}

/// Opens `file:`: recordings, logs, data blocks or a capture.
#[cfg(feature = "recording")]
fn open_files(
    address: &SourceAddress,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, SourceError> {
    let (name, files) = (address.to_string(), address.files());
    let source = perfhive_recording::open(&name, &files, &options.titles, options.encoding)?;
    Ok(Box::new(source))
}

#[cfg(not(feature = "recording"))]
fn open_files(address: &SourceAddress, _: &OpenOptions) -> Result<Box<dyn Source>, SourceError> {
    let message = "this program was built without the feature `recording` of the crate perfhive";
    Err(machine::unavailable(address, &message))
}

impl SourceAddress {
    /// The address `local:`: this machine, with the best reader of processes that the machine
    /// allows.
    #[must_use]
    pub fn local() -> Self {
        Self::of("local:", "")
    }

    /// The address `registry://HOST`: another Windows machine. A host that is not a name is refused
    /// when the address is opened.
    #[must_use]
    pub fn registry(host: &str) -> Self {
        Self::of("registry://", host)
    }

    /// The address `file:PATH`: a recording, which is a capture's folder, a file, or several files
    /// with commas between their paths.
    #[must_use]
    pub fn file(path: &str) -> Self {
        Self::of("file:", path)
    }

    fn of(name: &str, target: &str) -> Self {
        let mut schemes = SCHEMES.iter();
        let scheme = schemes.find(|scheme| scheme.name == name).unwrap_or(&SCHEMES[0]);
        Self { scheme, target: target.to_string() }
    }

    /// The operating system that the source runs on, with version and architecture
    /// (`linux 6.1.0 x86_64`), for `CaptureOptions::system`;
    /// `None` unless the address is this machine.
    #[must_use]
    pub fn system(&self) -> Option<String> {
        let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        let version = machine::version_of_system;
        self.is_this_machine().then(|| format!("{system} {} {architecture}", version()))
    }
}

impl FromStr for SourceAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        // Case does not matter in the scheme, but it does in the name of a file.
        let head = |scheme: &SourceScheme| text.get(..scheme.name.len());
        let is_of = |scheme: &&SourceScheme| {
            head(scheme).is_some_and(|head| head.eq_ignore_ascii_case(scheme.name))
                || scheme.name.strip_suffix(':').is_some_and(|name| name.eq_ignore_ascii_case(text))
        };
        let bad = |scheme| BadAddress { text: text.to_string(), scheme };
        let scheme = SCHEMES.iter().find(is_of).ok_or_else(|| bad(None))?;
        let mut target = text.get(scheme.name.len()..).unwrap_or_default();
        let is_good = match scheme.target {
            TargetKind::Nothing => target.is_empty(),
            TargetKind::OptionalFolder => true,
            TargetKind::Host => {
                target = target.strip_suffix('/').unwrap_or(target);
                let is_bad = |c: char| c.is_control() || "/\\ \"".contains(c);
                !target.is_empty() && !target.contains(is_bad)
            }
            TargetKind::Files => !target.is_empty() && !target.split(',').any(str::is_empty),
        };
        let address = Self { scheme, target: target.to_string() };
        if is_good { Ok(address) } else { Err(bad(Some(scheme))) }
    }
}

/// The error of a text that is not an address.
#[derive(Clone, Debug)]
pub struct BadAddress {
    text: String,
    /// The scheme that the text begins with, if only the text behind it is wrong; `None` if the
    /// text begins with no scheme.
    scheme: Option<&'static SourceScheme>,
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme.is_none() && std::path::Path::new(&self.text).exists() {
            return write!(f, "{:?} is not a source; did you mean file:{}?", self.text, self.text);
        }
        write!(f, "{:?} is not a source: expected ", self.text)?;
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
    use std::path::{Path, PathBuf};

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
        assert_eq!(address("LOCAL"), SourceAddress::local());
        assert_eq!(address("File:A.bin").to_string(), "file:A.bin");
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
        assert!(error("file:").contains("file:FOLDER for recorded data blocks or"));
        assert!(error("http://x").contains("local: for this machine"));
        for bad in [
            "",
            "file",
            "file:",
            "file:a,,b",
            "http://x",
            "a.bin",
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
