//! [`PublishError`]: the reason why counters cannot be published.

use std::fmt;
use std::path::Path;

/// The error of an operation on a category, an instance or a counter.
#[derive(Debug)]
pub struct PublishError {
    kind: PublishErrorKind,
    message: String,
    io: Option<std::io::Error>,
}

/// The kinds of [`PublishError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublishErrorKind {
    /// The definitions are invalid: a name twice, no counters, text too long.
    BadDefinition,
    /// The name is wrong for the call: for example, the category has no such counter, or the name is
    /// invalid for an instance.
    BadName,
    /// The declared number of instances is reached. A removed instance counts while there are handles to it.
    Full,
    /// The folder cannot be used, or the file cannot be created.
    Unavailable,
    /// The category belongs to the process from which this process was forked.
    Forked,
}

impl PublishError {
    pub(crate) fn new(kind: PublishErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), io: None }
    }

    pub(crate) fn bad_definition(message: impl Into<String>) -> Self {
        Self::new(PublishErrorKind::BadDefinition, message)
    }

    pub(crate) fn io(what: &str, path: &Path, error: std::io::Error) -> Self {
        Self {
            kind: PublishErrorKind::Unavailable,
            message: format!("{what} {}", path.display()),
            io: Some(error),
        }
    }

    pub(crate) fn forked() -> Self {
        Self::new(
            PublishErrorKind::Forked,
            "the category belongs to the process that this one was forked from: publish it anew",
        )
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> PublishErrorKind {
        self.kind
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.io {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PublishError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.io.as_ref().map(|error| error as _)
    }
}
