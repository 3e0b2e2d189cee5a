//! Options of the providers.

/// The way in which processes and threads are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReaderChoice {
    /// By BPF where that is possible, otherwise from `/proc`. BPF is used from a session's fourth
    /// collection on at the earliest, since loading the program takes as long as reading `/proc`
    /// several times.
    #[default]
    Auto,
    /// Always from `/proc`.
    Proc,
    /// By BPF from the first collection on. If BPF cannot be used, a collection of Process or Thread
    /// fails with the reason. A collection that wants a counter that BPF does not give reads all
    /// processes from `/proc` instead, and does not fail.
    Bpf,
}

/// Options of this crate's providers, for [`providers_with`](crate::providers_with).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinuxOptions {
    reader: ReaderChoice,
    read_resting: bool,
}

impl LinuxOptions {
    /// The default options: [`ReaderChoice::Auto`], and resting processes are read in part.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses how processes and threads are read.
    #[must_use]
    pub fn reader(mut self, reader: ReaderChoice) -> Self {
        self.reader = reader;
        self
    }

    /// With `true`, a process that has not run since the sample before is read in full all the
    /// same. Read in part, its values may be up to one tick of the kernel (1 to 10 ms) old. The
    /// default is `false`, since reading in full takes a third system call for each such process.
    #[must_use]
    pub fn read_resting(mut self, read: bool) -> Self {
        self.read_resting = read;
        self
    }

    /// Whether a process that has not run since the sample before is read only in part.
    pub(crate) fn skips_resting(&self) -> bool {
        !self.read_resting
    }

    pub(crate) fn chosen(&self) -> ReaderChoice {
        self.reader
    }
}
