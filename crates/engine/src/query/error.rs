//! Errors of a path, and of a query as a whole.

use crate::error::SourceError;
use crate::path::PathError;
use std::fmt;

/// The reason why a path cannot be added, or why no sample can be taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// The text is not a path.
    Path(PathError),
    /// No source is known for the machine.
    UnknownMachine {
        /// The name of the machine in the path; empty if a source was asked for by an index that
        /// the query does not have.
        name: String,
        /// The names of the machines that are known.
        known: Vec<String>,
    },
    /// The source has no such object.
    UnknownObject {
        /// The name that was asked for.
        name: String,
        /// The names of existing objects that resemble `name`, at most three, the nearest first.
        nearest: Vec<String>,
    },
    /// The object has no such counter.
    UnknownCounter {
        /// The name of the object.
        object: String,
        /// The name that was asked for.
        name: String,
        /// The names of the object's counters that resemble `name`, at most three, the nearest
        /// first.
        nearest: Vec<String>,
    },
    /// The object has instances, and the path has no instance part.
    NeedsInstance {
        /// The name of the object.
        object: String,
    },
    /// The object has no instances, and the path has an instance part.
    HasNoInstances {
        /// The name of the object.
        object: String,
    },
    /// A source failed.
    Source(SourceError),
}

impl QueryError {
    /// Whether this is the end of a recording, which is not a failure.
    #[must_use]
    pub fn is_end_of_data(&self) -> bool {
        matches!(self, Self::Source(error) if error.is_end_of_data())
    }

    /// Whether the caller's path is wrong: `true` for every kind but [`QueryError::Source`].
    #[must_use]
    pub fn is_misuse(&self) -> bool {
        !matches!(self, Self::Source(_))
    }
}

impl From<PathError> for QueryError {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

impl From<SourceError> for QueryError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// Writes `; did you mean A, B or C?`; nothing without names.
fn did_you_mean(f: &mut fmt::Formatter<'_>, nearest: &[String]) -> fmt::Result {
    match nearest {
        [] => Ok(()),
        [one] => write!(f, "; did you mean {one:?}?"),
        [head @ .., last] => {
            f.write_str("; did you mean ")?;
            for (place, name) in head.iter().enumerate() {
                write!(f, "{}{name:?}", if place == 0 { "" } else { ", " })?;
            }
            write!(f, " or {last:?}?")
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(error) => error.fmt(f),
            Self::UnknownMachine { name, known } => {
                write!(f, "no source for machine {name:?}")?;
                if known.is_empty() { Ok(()) } else { write!(f, " (known: {})", known.join(", ")) }
            }
            Self::UnknownObject { name, nearest } => {
                write!(f, "no object {name:?}")?;
                did_you_mean(f, nearest)
            }
            Self::UnknownCounter { object, name, nearest } => {
                write!(f, "object {object:?} has no counter {name:?}")?;
                did_you_mean(f, nearest)
            }
            Self::NeedsInstance { object } => write!(
                f,
                "object {object:?} has instances: name one, as in \\{object}(NAME)\\..., \
                 or take all with \\{object}(*)\\..."
            ),
            Self::HasNoInstances { object } => write!(
                f,
                "object {object:?} has no instances: leave the parentheses out, as in \
                 \\{object}\\..."
            ),
            Self::Source(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QueryError {}
