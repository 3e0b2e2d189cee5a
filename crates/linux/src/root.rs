//! [`ProcRoot`]: the folders from which a machine is read.

use std::path::{Path, PathBuf};

/// The folders from which a machine is read: the system's own, the folders of a copy of a machine, with
/// `uptime` as its clock, or the host's folders inside a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcRoot {
    proc: PathBuf,
    sys: Option<PathBuf>,
    mounts: Option<PathBuf>,
}

impl Default for ProcRoot {
    /// The folders of this machine: `/proc`, `/sys`, and mount points as they are.
    fn default() -> Self {
        Self::new("/proc").with_sys("/sys").with_mounts("/")
    }
}

impl ProcRoot {
    /// A machine of which only a folder like `/proc` exists: objects from other folders have no
    /// instances or are missing.
    pub fn new(proc: impl Into<PathBuf>) -> Self {
        Self { proc: proc.into(), sys: None, mounts: None }
    }

    /// A copy of a machine: `folder` has its `proc` and `sys`. The free space of its mount points is not
    /// queried.
    pub fn frozen(folder: impl AsRef<Path>) -> Self {
        Self::new(folder.as_ref().join("proc")).with_sys(folder.as_ref().join("sys"))
    }

    /// The same machine with a folder like `/sys`.
    #[must_use]
    pub fn with_sys(mut self, sys: impl Into<PathBuf>) -> Self {
        self.sys = Some(sys.into());
        self
    }

    /// The same machine with a folder below which its mount points are found, so that the space of
    /// their file systems is queried: `/`, or the place of the host's files in a container.
    #[must_use]
    pub fn with_mounts(mut self, root: impl Into<PathBuf>) -> Self {
        self.mounts = Some(root.into());
        self
    }

    /// The folder that takes the place of `/proc`.
    #[must_use]
    pub fn proc(&self) -> &Path {
        &self.proc
    }

    /// Whether the folder is `/proc` itself. If so, other interfaces of the kernel show the same
    /// machine and namespaces.
    pub(crate) fn is_live(&self) -> bool {
        self.proc == Path::new("/proc")
    }

    /// The folder that takes the place of `/sys`; `None` if there is none.
    #[must_use]
    pub fn sys(&self) -> Option<&Path> {
        self.sys.as_deref()
    }

    /// The folder below which the mount points of the machine are found; `None` if the space of
    /// their file systems is not queried.
    #[must_use]
    pub fn mounts(&self) -> Option<&Path> {
        self.mounts.as_deref()
    }
}

/// The name of this machine, as `uname -n` prints it.
#[must_use]
pub fn machine_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
