//! Opening sources: from the text of an address to a source.

use crate::bounded::Bounded;
use crate::options::OpenOptions;
use crate::scheme::SourceAddress;
use perfhive_engine::{Source, SourceError, SourceErrorKind};

impl OpenOptions {
    /// The reader of processes and threads that a source uses, as the function
    /// [`reader_of_processes`] returns it, but with the timeout of these options.
    #[must_use]
    pub fn reader_of_processes(&self, address: &str) -> Option<String> {
        address.parse::<SourceAddress>().ok()?.reader(self)
    }

    /// Opens the source of an address with these options.
    ///
    /// # Errors
    /// Where the text is no [`SourceAddress`], or the source cannot be read.
    pub fn open(&self, address: &str) -> Result<Box<dyn Source>, SourceError> {
        let parsed: SourceAddress = address
            .parse()
            .map_err(|error| SourceError::new(SourceErrorKind::NotFound, "source", error))?;
        let mut source = parsed.open(self)?;
        Ok(match self.patience {
            // A recording waits for no provider.
            Some(timeout) if source.recording().is_none() => {
                Box::new(Bounded::new(source, timeout))
            }
            _ => source,
        })
    }
}

/// Opens a source with the default options: `local:`, or another
/// [`SourceAddress`].
///
/// # Errors
/// Where the text is no [`SourceAddress`], or the source cannot be read.
pub fn open(address: &str) -> Result<Box<dyn Source>, SourceError> {
    OpenOptions::new().open(address)
}

/// The reader of processes and threads that the source of an address uses, in one line for people;
/// `None` where the source has no choice of readers, and for a text that is not an address. For a
/// capture it is the reader that the capture was made with.
#[must_use]
pub fn reader_of_processes(address: &str) -> Option<String> {
    OpenOptions::new().reader_of_processes(address)
}
