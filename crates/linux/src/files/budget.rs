//! How many files stay open.

use rustix::fd::OwnedFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The descriptors that all sessions of this program keep for processes.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Raises this program's limit to open files from the soft limit, 1024 on most systems, to the hard
/// one, and answers it.
///
/// Sessions keep the files of processes open up to half of the limit; with some hundred processes
/// the usual soft limit makes a collection three to four times as slow. A session reads the limit
/// when it is opened. Programs that call `select` with descriptors above 1023 must not raise it;
/// child processes inherit it.
///
/// # Errors
/// Where the kernel refuses.
pub fn raise_open_file_limit() -> std::io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// The most descriptors that are kept, if the program's limit allows them: each takes some 4 KB of
/// the kernel's memory.
static MOST_KEPT: AtomicUsize = AtomicUsize::new(16_384);

/// Sets how many files of processes, devices and control groups all sessions of this program keep
/// open at most, 16,384 by default. Half of the program's limit to open files is never exceeded.
/// The number holds for sessions that are opened from now on; with 0 every file is opened and
/// closed at each reading, which makes a collection three to four times as slow.
pub fn keep_open_at_most(files: usize) {
    MOST_KEPT.store(files, Ordering::Relaxed);
}

/// Limit to the kept descriptors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(super) limit: usize,
}

impl Budget {
    /// Half of the program's limit, less some for other files, and at most what was
    /// [set](keep_open_at_most).
    pub(crate) fn of_program() -> Self {
        let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let half = usize::try_from(soft / 2).unwrap_or(usize::MAX);
        Self { limit: half.saturating_sub(64).min(MOST_KEPT.load(Ordering::Relaxed)) }
    }

    /// Whether another descriptor may be kept now.
    pub(super) fn has_room(self) -> bool {
        KEPT.load(Ordering::Relaxed) < self.limit
    }

    /// Counts a kept descriptor, or gives it back to the budget.
    pub(super) fn keep(self, fd: OwnedFd, kept: &mut KeptFile) -> Option<OwnedFd> {
        let take = |kept| (kept < self.limit).then_some(kept + 1);
        match KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => {
                kept.fd = Some(KeptFd(fd));
                None
            }
            Err(_) => Some(fd),
        }
    }
}

/// A descriptor that counts in the budget.
pub(super) struct KeptFd(pub(super) OwnedFd);

impl Drop for KeptFd {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file of a process that is read repeatedly.
#[derive(Default)]
pub(crate) struct KeptFile {
    pub(super) fd: Option<KeptFd>,
}

impl KeptFile {
    /// Gives the descriptor back.
    pub(crate) fn close(&mut self) {
        self.fd = None;
    }

    /// The descriptor, where it is kept.
    pub(crate) fn fd(&self) -> Option<&OwnedFd> {
        self.fd.as_ref().map(|kept| &kept.0)
    }
}
