//! Opening sources: from the text of an address to a source.

use crate::bounded::Bounded;
use crate::options::OpenOptions;
use crate::scheme::SourceAddress;
use perfhive_engine::{Source, SourceError, SourceErrorKind};

impl OpenOptions {
    /// The reader of processes and threads that the source of an address uses, in one line for
    /// people; `None` in the cases that the function [`reader_of_processes`] lists. Finding the
    /// reader of `local:` takes time on Windows; there the timeout of these options limits the search.
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

/// Opens the source of an address with the default options. The address is `local:` or the text of
/// another [`SourceAddress`].
///
/// # Errors
/// Where the text is no [`SourceAddress`], or the source cannot be read.
pub fn open(address: &str) -> Result<Box<dyn Source>, SourceError> {
    OpenOptions::new().open(address)
}

/// The reader of processes and threads that the source of an address uses, in one line for people.
/// For a capture it is the reader that the capture was made with. `None` for `proc:`, `registry://`
/// and recordings other than captures; for `local:` on Linux without the feature `bpf`; for a
/// capture that does not name its reader; for a scheme that this system or build lacks; and for a
/// text that is not an address.
#[must_use]
pub fn reader_of_processes(address: &str) -> Option<String> {
    OpenOptions::new().reader_of_processes(address)
}
