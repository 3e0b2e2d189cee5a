//! [`OpenOptions`]: how a source is opened.

use std::path::PathBuf;
use std::time::Duration;

/// How a source is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The files with title lists, which name what a source itself does not name.
    pub(crate) titles: Vec<PathBuf>,
    /// The encoding of text logs; `None` if none was set.
    #[cfg(feature = "recording")]
    pub(crate) encoding: Option<crate::recording::FileEncoding>,
    /// The timeout of a request; `None` for the default.
    pub(crate) patience: Option<Duration>,
}

impl OpenOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the file of a title list for sources without names of their own. The file has the bytes
    /// of a `REG_MULTI_SZ`, or is a text with one string a line. The language is English unless the
    /// file's name begins with another language's code and a dot, underscore or hyphen (`de.txt`,
    /// `007_counter.bin`).
    #[must_use]
    pub fn titles(mut self, file: impl Into<PathBuf>) -> Self {
        self.titles.push(file.into());
        self
    }

    /// Sets the encoding of perfmon's text logs. Without it, a log that is neither UTF-8 nor UTF-16 is
    /// read as Windows-1252, with a warning.
    ///
    /// ```
    /// let options = perfhive::OpenOptions::new().encoding("932".parse()?);
    /// # assert!(options.open("file:missing.csv").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "recording")]
    #[must_use]
    pub fn encoding(mut self, encoding: crate::recording::FileEncoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Sets the timeout of each request to a source that is not a recording.
    ///
    /// - On Windows a quarter of the timeout is for the request itself, half for the search for
    ///   providers that hang, and a quarter for connecting to another machine. Only the objects of
    ///   a provider that hangs are missing from the answer. The default is 10, 20 and 10 seconds.
    /// - On Linux the timeout is for libraries of registered providers; the default is about two
    ///   seconds, and depends on the time that the library took lately. Other objects do not wait
    ///   for a late library, and the late library's objects are missing from that answer.
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
}
