//! Errors and warnings about a definition file, with their lines.

use std::fmt;
use std::path::{Path, PathBuf};

/// An error or a warning about a definition file: the message, the file and the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    file: PathBuf,
    line: Option<u32>,
    message: String,
}

impl DefinitionError {
    pub(crate) fn new(file: &Path, line: Option<u32>, message: impl Into<String>) -> Self {
        Self { file: file.to_path_buf(), line, message: message.into() }
    }

    /// The file that the error is about: the definition file, or its symbol file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, from 1; `None` for an error about the whole file.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// The message: what is wrong, and the way out.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for DefinitionError {}

/// The result of reading a definition, with the warnings about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithWarnings<T> {
    /// The result of reading.
    pub value: T,
    /// The warnings, those of the symbol file first. After 100 warnings about one file, a last
    /// warning gives the number of further ones.
    pub warnings: Vec<DefinitionError>,
}

/// The warnings about one file while it is read. Only the first [`LIMIT`](Self::LIMIT) are kept;
/// further ones are counted.
pub(crate) struct Warnings<'a> {
    file: &'a Path,
    list: Vec<DefinitionError>,
    left_out: usize,
}

impl<'a> Warnings<'a> {
    /// The most warnings that are kept.
    const LIMIT: usize = 100;

    pub(crate) fn new(file: &'a Path) -> Self {
        Self { file, list: Vec::new(), left_out: 0 }
    }

    /// Whether a further warning is kept.
    pub(crate) fn has_room(&self) -> bool {
        self.list.len() < Self::LIMIT
    }

    /// Adds a warning about a line, or about the whole file for `None`. Warnings beyond the first
    /// [`LIMIT`](Self::LIMIT) are only counted.
    pub(crate) fn add(&mut self, line: Option<u32>, message: impl Into<String>) {
        if self.has_room() {
            self.list.push(DefinitionError::new(self.file, line, message));
        } else {
            self.left_out += 1;
        }
    }

    /// An error about the file that these warnings are about, for the caller to return. It is not
    /// added to the warnings.
    pub(crate) fn error(
        &self,
        line: impl Into<Option<u32>>,
        message: impl Into<String>,
    ) -> DefinitionError {
        DefinitionError::new(self.file, line.into(), message)
    }

    /// The warnings. If some were not kept, a last warning gives their number.
    pub(crate) fn finish(mut self) -> Vec<DefinitionError> {
        if self.left_out > 0 {
            let message = format!("{} more warnings", self.left_out);
            self.list.push(DefinitionError::new(self.file, None, message));
        }
        self.list
    }
}
