//! The folder of a running experiment, with its FIFO and sockets.

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The name of the FIFO for calls in the folder.
const CALLS: &str = "calls";
const MANAGE: &str = "manage";
const START: &str = "start";
/// The name of the file that stays locked as long as the experiment runs.
const LOCK: &str = "lock";
/// The name of the lock file until it is locked and renamed to [`LOCK`]. So a [`LOCK`] that is not locked is that of an
/// abandoned folder.
const NEW_LOCK: &str = "lock.new";
/// The beginning of a folder's name; the process ID follows.
const NAME: &str = "experiment-";

/// The folder of this process's experiment, which only its user can enter. Dropping this value
/// removes the folder. The next experiment removes the folder of a process that was killed.
///
/// The folder lies in the folder `perfhive` of `XDG_RUNTIME_DIR`. If `XDG_RUNTIME_DIR` is not a
/// folder of this user, or `perfhive` cannot be made in it, the folder lies in
/// `perfhive-experiments-UID` of `TMPDIR` or, if that is not set, of `/dev/shm` or `/tmp`.
#[derive(Debug)]
pub struct ExperimentFolder {
    path: PathBuf,
    _lock: File,
}

impl ExperimentFolder {
    /// Makes the folder of this process.
    ///
    /// # Errors
    /// Where the folder cannot be made, where another user could enter the folder around it, or
    /// where this process already has such a folder.
    pub fn create() -> io::Result<Self> {
        let around = make_around()?;
        remove_abandoned(&around);
        let path = around.join(format!("{NAME}{}", std::process::id()));
        // The path of a socket has a greatest length. This is the longer one of the two sockets' paths.
        SocketAddr::from_pathname(path.join(MANAGE)).map_err(|error| {
            let what = format!("{error}; set XDG_RUNTIME_DIR to a folder with a shorter path");
            named(&path, &io::Error::new(error.kind(), what))
        })?;
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| named(&path, &error))?;
        let new = path.join(NEW_LOCK);
        let lock = File::create_new(&new).map_err(|error| named(&path, &error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        std::fs::rename(new, path.join(LOCK)).map_err(|error| named(&path, &error))?;
        Ok(Self { path, _lock: lock })
    }

    /// The path for the FIFO of [`Calls`](crate::Calls).
    #[must_use]
    pub fn calls(&self) -> PathBuf {
        self.path.join(CALLS)
    }

    /// The path for the socket on which the program under test waits until it may start.
    #[must_use]
    pub fn start(&self) -> PathBuf {
        self.path.join(START)
    }

    /// The path for the socket on which the experiment is managed.
    #[must_use]
    pub fn manage(&self) -> PathBuf {
        self.path.join(MANAGE)
    }

    /// The path of the socket on which another process's experiment is managed; an error if that
    /// process has no folder of this user. The socket itself may be missing.
    pub fn manage_of(process: u32) -> io::Result<PathBuf> {
        let name = format!("{NAME}{process}");
        let folders = arounds().into_iter().filter(|around| check_private(around).is_ok());
        let found = folders.map(|around| around.join(&name)).find(|path| path.is_dir());
        found.map(|path| path.join(MANAGE)).ok_or_else(|| {
            let what = format!("process {process} has no experiment of this user");
            io::Error::new(io::ErrorKind::NotFound, what)
        })
    }

    /// The numbers of this user's processes with experiments under way, in ascending order.
    ///
    /// # Errors
    /// Where no experiment was found and a folder around experiments cannot be read or can be
    /// entered by another user. A missing folder is not an error: it has no experiments.
    pub fn running() -> io::Result<Vec<u32>> {
        let (mut entries, mut failed) = (Vec::new(), None);
        for around in arounds() {
            match check_private(&around).and_then(|()| std::fs::read_dir(&around)) {
                Ok(found) => entries.extend(found.flatten()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => failed = Some(error),
            }
        }
        // A folder that another user has made does not hide the experiments in other folders.
        if let Some(error) = failed.filter(|_| entries.is_empty()) {
            return Err(error);
        }
        let process = |entry: std::fs::DirEntry| {
            let number = entry.file_name().to_str()?.strip_prefix(NAME)?.parse().ok()?;
            (!is_abandoned(&entry.path())).then_some(number)
        };
        let mut found: Vec<u32> = entries.into_iter().filter_map(process).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

impl Drop for ExperimentFolder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The folders in which experiments may have their folders, the preferred one first. There are
/// several: a login session has `XDG_RUNTIME_DIR`, and a job of the same user may lack it.
fn arounds() -> Vec<PathBuf> {
    let set = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let is_own = |path: &PathBuf| {
        let meta = std::fs::metadata(path);
        path.is_absolute() && meta.is_ok_and(|meta| meta.uid() == geteuid().as_raw())
    };
    let runtime = set.filter(is_own).map(|runtime| runtime.join("perfhive"));
    // A call writes to the FIFO, and the kernel notes the time in the FIFO's inode: in memory this takes less time than on
    // a disk.
    let memory = std::env::var_os("TMPDIR").is_none().then(|| PathBuf::from("/dev/shm"));
    let temporary = memory.into_iter().chain([std::env::temp_dir()]);
    let name = format!("perfhive-experiments-{}", geteuid().as_raw());
    runtime.into_iter().chain(temporary.map(|folder| folder.join(&name))).collect()
}

/// Makes or finds the folder in which experiments have their folders: the first one of [`arounds`]
/// that exists or can be made, and that no other user can enter.
fn make_around() -> io::Result<PathBuf> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for around in arounds() {
        match DirBuilder::new().mode(0o700).create(&around) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                let what = format!("{error}; set XDG_RUNTIME_DIR to a folder of this user's");
                failed = named(&around, &io::Error::new(error.kind(), what));
            }
            _ => match check_private(&around) {
                Ok(()) => return Ok(around),
                Err(error) => failed = error,
            },
        }
    }
    Err(failed)
}

/// Fails unless the path is a folder of this user that no other user can enter.
fn check_private(path: &Path) -> io::Result<()> {
    let meta = std::fs::symlink_metadata(path).map_err(|error| named(path, &error))?;
    if !meta.is_dir() || meta.uid() != geteuid().as_raw() || meta.mode() & 0o077 != 0 {
        let what = "it is not a folder that only this user can enter; set \
                    XDG_RUNTIME_DIR to another folder, or remove it";
        return Err(named(path, &io::Error::new(io::ErrorKind::PermissionDenied, what)));
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Whether the process of a folder has ended without removing the folder; `false` for a folder
/// without a lock file that can be read.
fn is_abandoned(path: &Path) -> bool {
    // A folder without the lock file is just being made, and so not abandoned.
    let lock = File::open(path.join(LOCK));
    lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_ok())
}

fn remove_abandoned(around: &Path) {
    let Ok(entries) = std::fs::read_dir(around) else { return };
    for entry in entries.flatten() {
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(NAME));
        if is_one && is_abandoned(&entry.path()) {
            remove(&entry.path());
        }
    }
}

/// Removes a folder with the files that an experiment makes in it. A folder with any other file
/// stays.
fn remove(path: &Path) {
    for name in [CALLS, START, MANAGE, NEW_LOCK, LOCK] {
        let _ = std::fs::remove_file(path.join(name));
    }
    let _ = std::fs::remove_dir(path);
}
