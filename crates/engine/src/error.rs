//! Errors of sources and providers, and faults of parts of a collection.

use perfhive_format::{ParseError, TitleIndex, WriteError};
use std::fmt;
use std::sync::Arc;

/// The error of a source that could not answer: kind, name of the source, and message.
#[derive(Clone, Debug)]
pub struct SourceError {
    kind: SourceErrorKind,
    source_name: Arc<str>,
    message: Words,
}

/// The text of a message: a constant, or a shared text.
#[derive(Clone, Debug)]
enum Words {
    Fixed(&'static str),
    Shared(Arc<str>),
}

/// The kinds of [`SourceError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The source cannot be reached or opened: no such file, host, service.
    Unavailable,
    /// The source refused, for example because permissions are missing.
    Denied,
    /// The answer was late. The next answer may be in time.
    Deadline,
    /// The source is still busy with an earlier request.
    Busy,
    /// The source's title indexes changed during the collection.
    Changing,
    /// A recording has no further samples.
    EndOfData,
    /// The source's answer is not performance data.
    Malformed,
    /// The files or samples of a recording do not belong together, for example because they are of
    /// different machines.
    Mismatch,
    /// The source lacks the thing asked for, such as a language.
    NotFound,
    /// A fault inside perfhive or a provider.
    Internal,
}

/// A message as shared text. The parameter is a `dyn Display`, so that this function is compiled
/// once and not for each type of message.
fn shared(message: &dyn fmt::Display) -> Arc<str> {
    format!("{message}").into()
}

impl SourceError {
    /// An error of the source called `source_name`. `message` says what happened and, if there is
    /// one, the way out.
    pub fn new(kind: SourceErrorKind, source_name: &str, message: impl fmt::Display) -> Self {
        let message = Words::Shared(shared(&message));
        Self { kind, source_name: source_name.into(), message }
    }

    /// An error with a constant message, made without an allocation: a sample that is late must
    /// not allocate.
    pub(crate) fn fixed(
        kind: SourceErrorKind,
        source_name: &Arc<str>,
        message: &'static str,
    ) -> Self {
        Self { kind, source_name: Arc::clone(source_name), message: Words::Fixed(message) }
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> SourceErrorKind {
        self.kind
    }

    /// The name of the source that failed.
    #[must_use]
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// The message: what happened, and the way out if there is one, without the source's name.
    #[must_use]
    pub fn message(&self) -> &str {
        match &self.message {
            Words::Fixed(text) => text,
            Words::Shared(text) => text,
        }
    }

    /// Whether the same request may succeed if it is made again later, without any change: `true`
    /// for the kinds `Deadline`, `Busy` and `Changing`.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use SourceErrorKind::{Busy, Changing, Deadline};
        matches!(self.kind, Deadline | Busy | Changing)
    }

    /// Whether the error says that a recording has no further samples, which is not a failure.
    #[must_use]
    pub fn is_end_of_data(&self) -> bool {
        self.kind == SourceErrorKind::EndOfData
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address such as `local:` brings its own colon.
        let colon = if self.source_name.ends_with(':') { "" } else { ":" };
        write!(f, "{}{colon} {}", self.source_name, self.message())
    }
}

/// Two errors are equal if kind, source and message are equal, however the message is stored.
impl PartialEq for SourceError {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.source_name == other.source_name
            && self.message() == other.message()
    }
}

impl Eq for SourceError {}

impl std::error::Error for SourceError {}

/// The error of a provider that could not open or collect.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProviderError {
    /// The block would exceed its size limit. A Windows provider answers `ERROR_MORE_DATA` in this
    /// case.
    Full,
    /// The provider wrote no valid object; the error says why.
    BadWrite(WriteError),
    /// A file or call that the counters are made from could not be read.
    Io {
        /// The name of the file or call.
        what: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The provider cannot deliver at the moment, and the text says why: for example, it is still
    /// at work on an earlier request, or waits to be started again. A broker does not count a
    /// collection that ends with this error as a failure.
    NotYet(String),
    /// Any other failure; the text says what happened.
    Failed(String),
}

impl ProviderError {
    /// The error for a failure to read `what`, such as a file.
    pub fn io(what: impl Into<String>, error: std::io::Error) -> Self {
        Self::Io { what: what.into(), error }
    }
}

impl From<WriteError> for ProviderError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Full { .. } => Self::Full,
            other => Self::BadWrite(other),
        }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the data exceeds the size limit of a block"),
            Self::BadWrite(error) => write!(f, "the provider wrote no valid object: {error}"),
            Self::Io { what, error } => write!(f, "{what}: {error}"),
            Self::NotYet(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ProviderError {}

/// The failure of a part of a collection, or a warning.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The name of the provider or source concerned.
    pub provider: Arc<str>,
    /// The object concerned; `None` if the fault does not concern one object in particular.
    pub object: Option<TitleIndex>,
    /// The name of the instance concerned; `None` if the fault does not concern one instance in
    /// particular.
    pub instance: Option<Arc<str>>,
    /// The message: what happened, in words.
    pub message: Arc<str>,
}

/// The kinds of [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A provider could not be opened.
    OpenFailed,
    /// A provider failed to collect.
    CollectFailed,
    /// A provider does not deliver at the moment ([`ProviderError::NotYet`]), or was not asked
    /// because the deadline had passed.
    NotYet,
    /// A provider panicked.
    Panicked,
    /// The data of a provider failed a test and was discarded.
    TestFailed,
    /// Something odd about data that was kept, such as a count that disagrees with the data; or an
    /// object that was left out on purpose, for example because another provider owns it.
    Warning,
    /// A provider is in quarantine after repeated faults; a reader can release it
    /// ([`Broker::release`](crate::Broker::release)).
    Quarantined,
    /// Windows or an administrator disabled a provider; the message names the
    /// command that enables it.
    Disabled,
    /// An object of a block is damaged and was left out. If its length is damaged, the objects
    /// behind it are missing too.
    DamagedObject(ParseError),
    /// The name of an instance lies outside its definition, so the instance is known by its
    /// number only. An object has at most one such fault, for its first damaged name.
    DamagedName(ParseError),
    /// A part of an object could not be read: an instance, or some counters.
    Partial,
    /// The values of an object or an instance changed during every attempt to read them together.
    /// The next collection tries again.
    Busy,
    /// A source could not answer at all.
    SourceFailed,
}

impl Fault {
    /// A fault of a provider or source that concerns no object and no instance in particular.
    pub fn new(kind: FaultKind, provider: &str, message: impl fmt::Display) -> Self {
        Self {
            kind,
            provider: provider.into(),
            object: None,
            instance: None,
            message: shared(&message),
        }
    }

    /// The same fault, as the fault of one object.
    #[must_use]
    pub fn of_object(mut self, object: TitleIndex) -> Self {
        self.object = Some(object);
        self
    }

    /// The same fault, as the fault of one instance.
    #[must_use]
    pub fn of_instance(mut self, instance: &str) -> Self {
        self.instance = Some(instance.into());
        self
    }

    /// Whether data was lost: `true` for every kind but [`FaultKind::Warning`].
    #[must_use]
    pub fn lost_data(&self) -> bool {
        self.kind != FaultKind::Warning
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.object.is_none() && self.instance.is_none() && self.provider.ends_with(':') {
            // An address such as `local:` brings its own colon.
            return write!(f, "{} {}", self.provider, self.message);
        }
        write!(f, "{}", self.provider)?;
        if let Some(object) = self.object {
            write!(f, ", object {object}")?;
        }
        if let Some(instance) = &self.instance {
            write!(f, ", instance {instance}")?;
        }
        write!(f, ": {}", self.message)
    }
}
