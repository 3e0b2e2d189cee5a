//! From an address to a source.

use crate::scheme::SourceAddress;
use perfhive_engine::{Source, SourceError, SourceErrorKind};
use std::path::PathBuf;
use std::time::Duration;

/// How a source is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    titles: Vec<PathBuf>,
    /// The limit of a request without a deadline of its own, if one was set.
    pub(crate) patience: Option<Duration>,
}

impl OpenOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a title list for sources without names of their own: the bytes of a
    /// `REG_MULTI_SZ`, or a text with one string a line. The language is English unless the
    /// file's name begins with another language's code and a dot or underscore (`de.txt`,
    /// `007_counter.bin`).
    #[must_use]
    pub fn titles(mut self, file: impl Into<PathBuf>) -> Self {
        self.titles.push(file.into());
        self
    }

    /// Sets the timeout of a request without a deadline of its own.
    ///
    /// - On Windows it applies to `local:` and `registry://HOST`; the default is 10 seconds.
    ///   A request that takes longer is repeated provider by provider, each with half of the
    ///   timeout, and a provider that hangs costs its own objects only.
    /// - On Linux it applies to libraries of registered providers; the default is two seconds,
    ///   or twice the time that the library took lately. Other objects do not wait for a late
    ///   library, and its objects are missing from that answer.
    ///
    /// ```
    /// use std::time::Duration;
    /// let options = perfhive::OpenOptions::new().patience(Duration::from_secs(5));
    /// # assert!(options.open("nothing:").is_err());
    /// ```
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// As [`reader_of_processes`], with the timeout of these options.
    #[must_use]
    pub fn reader_of_processes(&self, address: &str) -> Option<String> {
        address.parse::<SourceAddress>().ok()?.reader(self)
    }

    /// Opens a source.
    ///
    /// # Errors
    /// Where the text is no [`SourceAddress`], or the source cannot be read.
    pub fn open(&self, address: &str) -> Result<Box<dyn Source>, SourceError> {
        let parsed: SourceAddress = address
            .parse()
            .map_err(|error| SourceError::new(SourceErrorKind::NotFound, "source", error))?;
        parsed.open(self)
    }
}

/// Opens `file:`: data blocks or a capture.
pub(crate) fn open_files(
    address: &SourceAddress,
    options: &OpenOptions,
) -> Result<Box<dyn Source>, SourceError> {
    let source = perfhive_recording::open(&address.to_string(), &address.files(), &options.titles)?;
    Ok(Box::new(source))
}

/// Opens a source with the default options: `local:`, or another
/// [`SourceAddress`].
///
/// # Errors
/// Where the text is no [`SourceAddress`], or the source cannot be read.
pub fn open(address: &str) -> Result<Box<dyn Source>, SourceError> {
    OpenOptions::new().open(address)
}

/// The reader of processes and threads that a source uses, in one line for people; `None`
/// where the source has no choice of readers. For a capture it is the reader at that time.
#[must_use]
pub fn reader_of_processes(address: &str) -> Option<String> {
    OpenOptions::new().reader_of_processes(address)
}
