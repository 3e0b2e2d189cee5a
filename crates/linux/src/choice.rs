//! Options of the providers.

/// The reader of processes and threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
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

/// How providers are made; [`providers_with`](crate::providers_with) takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinuxOptions {
    reader: ReaderChoice,
    read_resting: bool,
}

impl LinuxOptions {
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

    /// Chooses whether a process that has not run since the sample before is
    /// read in full all the same. Its values do not depend on this; it is off by
    /// default, since reading takes a third system call for each such process.
    #[must_use]
    pub fn read_resting(mut self, read: bool) -> Self {
        self.read_resting = read;
        self
    }

    /// Whether a process that has not run may be read in part.
    pub(crate) fn skips_resting(&self) -> bool {
        !self.read_resting
    }

    pub(crate) fn chosen(&self) -> ReaderChoice {
        self.reader
    }
}
