//! Where a machine is read from.

use std::path::{Path, PathBuf};

/// The folder that stands for `/proc`. Another one than the system's own holds
/// a frozen machine; the clocks remain those of the machine that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcRoot {
    proc: PathBuf,
}

impl Default for ProcRoot {
    /// `/proc`.
    fn default() -> Self {
        Self::new("/proc")
    }
}

impl ProcRoot {
    /// A folder laid out as `/proc`.
    pub fn new(proc: impl Into<PathBuf>) -> Self {
        Self { proc: proc.into() }
    }

    /// The folder.
    #[must_use]
    pub fn proc(&self) -> &Path {
        &self.proc
    }
}

/// The machine's name, as `uname -n` says it.
#[must_use]
pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
