//! [`Root`]: the folders that a machine is read from.

use std::path::{Path, PathBuf};

/// The folders that a machine is read from. Folders other than the system's own hold a frozen
/// machine, whose clock is its own `uptime`, or the host's folders inside a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcRoot {
    proc: PathBuf,
    sys: Option<PathBuf>,
    mounts: Option<PathBuf>,
}

impl Default for ProcRoot {
    /// This machine: `/proc`, `/sys`, and mount points as they are.
    fn default() -> Self {
        Self::new("/proc").with_sys("/sys").with_mounts("/")
    }
}

impl ProcRoot {
    /// A folder laid out as `/proc` alone: objects that need other folders are missing.
    pub fn new(proc: impl Into<PathBuf>) -> Self {
        Self { proc: proc.into(), sys: None, mounts: None }
    }

    /// A folder with a machine's `proc` and `sys`. The free space of its mount points is not
    /// queried.
    pub fn frozen(folder: impl AsRef<Path>) -> Self {
        Self::new(folder.as_ref().join("proc")).with_sys(folder.as_ref().join("sys"))
    }

    /// With a folder laid out as `/sys`.
    #[must_use]
    pub fn with_sys(mut self, sys: impl Into<PathBuf>) -> Self {
        self.sys = Some(sys.into());
        self
    }

    /// With a folder that stands for `/` in front of mount points, whose file systems are queried:
    /// `/`, or the place of the host's files in a container.
    #[must_use]
    pub fn with_mounts(mut self, root: impl Into<PathBuf>) -> Self {
        self.mounts = Some(root.into());
        self
    }

    /// The folder that stands for `/proc`.
    #[must_use]
    pub fn proc(&self) -> &Path {
        &self.proc
    }

    /// Whether `/proc` is this process's own: what the kernel says by other ways is then of the
    /// same machine and namespaces.
    pub(crate) fn is_live(&self) -> bool {
        self.proc == Path::new("/proc")
    }

    /// The folder that stands for `/sys`.
    #[must_use]
    pub fn sys(&self) -> Option<&Path> {
        self.sys.as_deref()
    }

    /// The folder that stands for `/` in front of mount points.
    #[must_use]
    pub fn mounts(&self) -> Option<&Path> {
        self.mounts.as_deref()
    }
}

/// The machine's name, as from `uname -n`.
#[must_use]
pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
