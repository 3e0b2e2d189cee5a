//! The budget of files that stay open.

use rustix::fd::OwnedFd;
#[cfg(any(feature = "objects", feature = "processes"))]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of descriptors that all sessions of this program keep open now.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Raises this program's limit on open files from the soft limit, 1024 on most systems, to the hard
/// limit, and returns the new limit (`u64::MAX` for none).
///
/// Sessions keep the files of processes open up to half of the limit, but no more than
/// [`keep_open_at_most`] says; with some hundred processes the usual soft limit makes a collection
/// three to four times as slow. A session reads the limit when it is opened. Programs that call
/// `select` with descriptors above 1023 must not raise it; child processes inherit it.
///
/// # Errors
/// Where the kernel refuses.
#[cfg(any(feature = "objects", feature = "processes"))]
pub fn raise_open_file_limit() -> std::io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// The most descriptors that are kept, even if the program's limit allows more: each takes some 4 KB of
/// the kernel's memory.
static MOST_KEPT: AtomicUsize = AtomicUsize::new(16_384);

/// Sets the most files of processes, devices and control groups that all sessions of this program
/// keep open; the default is 16,384. They never exceed half of the program's limit on open files
/// (without the features `objects` and `processes`, half of 1024).
///
/// Not counted are the system's own files, such as `/proc/stat`, and up to 64 files of block devices
/// in each session; these stay open. The number applies to sessions that are opened from now on. With
/// 0 every counted file is opened and closed at each reading, which makes a collection three to four
/// times as slow.
pub fn keep_open_at_most(files: usize) {
    MOST_KEPT.store(files, Ordering::Relaxed);
}

/// A limit to the number of descriptors that all sessions of the program keep open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(super) limit: usize,
}

impl Budget {
    /// The budget of this program: half of its limit on open files, less 64 for other files, and at most
    /// the number that was [set](keep_open_at_most).
    pub(crate) fn of_program() -> Self {
        // Without these features few files are kept; the usual soft limit is assumed.
        #[cfg(not(any(feature = "objects", feature = "processes")))]
        let soft = 1024;
        #[cfg(any(feature = "objects", feature = "processes"))]
        let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let half = usize::try_from(soft / 2).unwrap_or(usize::MAX);
        Self { limit: half.saturating_sub(64).min(MOST_KEPT.load(Ordering::Relaxed)) }
    }

    /// Whether another descriptor may be kept now.
    pub(super) fn has_room(self) -> bool {
        KEPT.load(Ordering::Relaxed) < self.limit
    }

    /// Stores a descriptor in `kept`, counts it, and returns `None`; returns the descriptor instead
    /// if the budget is used up.
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

/// A kept descriptor, which counts in [`KEPT`] until it is dropped.
pub(super) struct KeptFd(pub(super) OwnedFd);

impl Drop for KeptFd {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A file that is read again and again, and may be kept open.
#[derive(Default)]
pub(crate) struct KeptFile {
    pub(super) fd: Option<KeptFd>,
}

impl KeptFile {
    /// Closes the file, which returns its descriptor to the budget.
    pub(crate) fn close(&mut self) {
        self.fd = None;
    }

    /// The open descriptor; `None` if the file is not kept open.
    pub(crate) fn fd(&self) -> Option<&OwnedFd> {
        self.fd.as_ref().map(|kept| &kept.0)
    }
}
