//! From an address to a source.

use crate::files;
use perfhive_engine::{Source, SourceError, SourceErrorKind};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where counters are to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceAddress {
    /// `local:`: this machine.
    Local,
    /// `file:A.bin,B.bin`: raw data blocks, one a file, as successive samples.
    Files(Vec<PathBuf>),
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAddress(String);

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no source: expected local: for this machine, or file:A.bin,B.bin for \
             recorded data blocks",
            self.0
        )
    }
}

impl std::error::Error for BadAddress {}

impl FromStr for SourceAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress(text.to_string());
        if text == "local:" || text == "local" {
            return Ok(Self::Local);
        }
        let list = text.strip_prefix("file:").ok_or_else(bad)?;
        if list.is_empty() || list.split(',').any(str::is_empty) {
            return Err(bad());
        }
        // A comma may belong to a file's name: if there is a file of the whole
        // name, that one is meant.
        let whole = PathBuf::from(list);
        if list.contains(',') && whole.exists() {
            return Ok(Self::Files(vec![whole]));
        }
        Ok(Self::Files(list.split(',').map(PathBuf::from).collect()))
    }
}

impl fmt::Display for SourceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local:"),
            Self::Files(files) => {
                f.write_str("file:")?;
                for (place, file) in files.iter().enumerate() {
                    write!(f, "{}{}", if place == 0 { "" } else { "," }, file.display())?;
                }
                Ok(())
            }
        }
    }
}

/// How a source is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    titles: Vec<PathBuf>,
}

impl OpenOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a title list for sources that carry no names of their own: a
    /// `REG_MULTI_SZ` as bytes, or a text with one string a line. English,
    /// unless the file's name begins with another language's code and a dot
    /// or underscore (`de.txt`, `007_counter.bin`).
    #[must_use]
    pub fn titles(mut self, file: impl Into<PathBuf>) -> Self {
        self.titles.push(file.into());
        self
    }

    /// Opens a source.
    ///
    /// # Errors
    /// Where the address is none, or the source cannot be read.
    pub fn open(&self, address: &str) -> Result<Box<dyn Source>, SourceError> {
        let parsed: SourceAddress = address
            .parse()
            .map_err(|error| SourceError::new(SourceErrorKind::NotFound, "source", error))?;
        match parsed {
            SourceAddress::Local => local(),
            SourceAddress::Files(paths) => {
                Ok(Box::new(files::open(&parsed_name(&paths), &paths, &self.titles)?))
            }
        }
    }
}

fn parsed_name(paths: &[PathBuf]) -> String {
    SourceAddress::Files(paths.to_vec()).to_string()
}

/// Opens a source with the default options: `local:` or `file:A.bin,B.bin`.
///
/// # Errors
/// Where the address is none, or the source cannot be read.
pub fn open(address: &str) -> Result<Box<dyn Source>, SourceError> {
    OpenOptions::new().open(address)
}

#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_wraps, reason = "other systems have nothing to open")]
fn local() -> Result<Box<dyn Source>, SourceError> {
    let root = perfhive_linux::ProcRoot::default();
    let broker = perfhive_engine::Broker::builder("local:", &perfhive_linux::machine_name())
        .providers(perfhive_linux::providers(&root))
        .clock(perfhive_linux::LinuxClock::new())
        // Processor, the object that Windows names as its default.
        .default_object(perfhive_format::TitleIndex(238))
        .build();
    Ok(Box::new(broker))
}

#[cfg(not(target_os = "linux"))]
fn local() -> Result<Box<dyn Source>, SourceError> {
    let message = "this machine's counters can be read on Linux only so far; \
                   recorded blocks open with file:A.bin,B.bin";
    Err(SourceError::new(SourceErrorKind::Unavailable, "local:", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!("local:".parse(), Ok(SourceAddress::Local));
        let two = SourceAddress::Files(vec!["a.bin".into(), "b.bin".into()]);
        assert_eq!("file:a.bin,b.bin".parse(), Ok(two.clone()));
        assert_eq!(two.to_string(), "file:a.bin,b.bin");
        for bad in ["", "file:", "file:a,,b", "http://x", "a.bin", "LOCAL"] {
            assert!(bad.parse::<SourceAddress>().is_err(), "{bad}");
        }
    }
}
