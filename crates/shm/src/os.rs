//! The part that differs between operating systems: files in memory, their owners, and whether a
//! process is alive. All code for a single system is here.
#![allow(unsafe_code, reason = "memory is mapped here")]

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The environment variable that names a folder for published files instead of the usual folders.
const FOLDER_VARIABLE: &str = "PERFHIVE_COUNTERS";

/// The folder that the environment names; `None` if it names none, and in a program with more
/// rights than its caller, because the caller chose the environment.
pub(crate) fn named_folder() -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty())?;
    (!has_more_rights()).then(|| PathBuf::from(folder))
}

/// The folder in which this process publishes.
pub(crate) fn folder_to_publish_in() -> io::Result<PathBuf> {
    named_folder().map_or_else(own_folder, Ok)
}

/// The identity of the process that published a file, among all processes that ever ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: u64,
    /// The start time of the process: on Linux in clock ticks since the machine's start, on Windows
    /// as a FILETIME; 0 if it is not known.
    pub(crate) start: u64,
    /// The namespace that `pid` belongs to; 0 if it is not known, and on Windows, which has none.
    pub(crate) pid_namespace: u64,
    /// The namespace that `start` belongs to; 0 if it is not known, and on Windows, which has none.
    pub(crate) time_namespace: u64,
}

impl Owner {
    /// The identity of this process.
    pub(crate) fn this() -> Self {
        this_process()
    }

    /// Whether the process has certainly ended, as far as the process `here` can tell.
    #[cfg(feature = "reader")]
    pub(crate) fn is_gone(&self, here: &Self) -> bool {
        is_gone(self, here)
    }
}

/// The outcome of an attempt to remove the file of a possibly dead process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cleared {
    /// A process holds the file or may be making it, or the path cannot be opened or is not that of
    /// a file.
    InUse,
    /// The file was removed.
    Removed,
    /// The file was left in place although no process holds it: for example, it belongs to another
    /// user.
    Left,
}

/// The age below which an incomplete file without a lock is left alone: its process may be about to
/// lock it.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes a file that an ended process of this user published or was about to publish, even if the
/// file is damaged; a file of another version of the layout is left. Returns what became of the
/// file.
pub(crate) fn clear_away(path: &Path) -> Cleared {
    let Ok(file) = open(path) else { return Cleared::InUse };
    if !is_plain_file(&file) || is_being_made(&file, path) || !lock_if_free(&file) {
        return Cleared::InUse;
    }
    if is_mine(&file) && is_of_counters(&file, path) && remove(&file, path).is_ok() {
        Cleared::Removed
    } else {
        Cleared::Left
    }
}

/// Whether a file is incomplete and so young that its process may not have locked it yet.
fn is_being_made(file: &File, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let written = || file.metadata().and_then(|meta| meta.modified()).ok();
    let is_old = || SystemTime::now().duration_since(written()?).ok().map(|age| age > YOUNG);
    name.ends_with(crate::layout::UNFINISHED) && !is_old().unwrap_or(false)
}

/// Whether a file is a file of counters of this version of the layout: by its first bytes or, if
/// these are lost, by the form of its name. `false` for a file of another version, which is left to
/// programs of that version.
fn is_of_counters(file: &File, path: &Path) -> bool {
    if let Some([magic @ .., a, b, c, d]) = head(file)
        && magic == crate::layout::MAGIC
    {
        return u32::from_le_bytes([a, b, c, d]) == crate::layout::VERSION;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(crate::layout::SUFFIX);
    let Some(stem) = stem.or_else(|| name.strip_suffix(crate::layout::UNFINISHED)) else {
        return false;
    };
    let mut parts = stem.rsplitn(3, '-');
    let (time, pid) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    parts.next().is_some() && time.len() >= 12 && is_hex(time) && pid.parse::<u32>().is_ok()
}

/// Removes the file of an ended process of any user, if this user has the right to remove it.
#[cfg(feature = "reader")]
pub(crate) fn remove_abandoned(path: &Path) {
    let Ok(file) = open(path) else { return };
    if lock_if_free(&file) {
        let _ = remove(&file, path);
    }
}

/// Removes the files that ended processes of this user published, or were about to publish, from a
/// folder, of which at most 4096 entries are looked at.
pub(crate) fn tidy_up(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(4096) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(crate::layout::SUFFIX) || name.ends_with(crate::layout::UNFINISHED) {
            clear_away(&entry.path());
        }
    }
}

/// The facts that the file system has about a file.
#[cfg(feature = "reader")]
pub(crate) struct Facts {
    pub(crate) is_file: bool,
    pub(crate) user: User,
    pub(crate) device: u64,
    pub(crate) number: u64,
    pub(crate) length: u64,
    /// The time at which the system recorded the file's creation; `None` if the system does not
    /// know it.
    pub(crate) made: Option<std::time::SystemTime>,
}
