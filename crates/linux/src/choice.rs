//! How providers are made other than by default.

/// What processes and threads are read with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReaderChoice {
    /// BPF where that is possible, from a session's third collection on, since
    /// loading it takes as long as reading `/proc` several times; otherwise
    /// `/proc`.
    #[default]
    Auto,
    /// `/proc`, always.
    Proc,
    /// BPF; where that is refused, a collection of Process or Thread fails and
    /// says why.
    Bpf,
}

/// How providers are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    reader: ReaderChoice,
}

impl Options {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses what processes and threads are read with.
    #[must_use]
    pub fn reader(mut self, reader: ReaderChoice) -> Self {
        self.reader = reader;
        self
    }

    pub(crate) fn chosen(&self) -> ReaderChoice {
        self.reader
    }
}
