//! The file of a recording that is written: its lock, its identity, and its place on the disk.

use crate::files::{error, write_error};
use perfhive_engine::{SourceError, SourceErrorKind};
use std::fs::{File, Metadata, OpenOptions};
use std::path::Path;

/// Whether `path` still leads to the file with this identity; `true` also if the system returns any other error than
/// "not found". On a system that does not tell files apart, any file passes.
pub(super) fn is_file_at(identity: FileIdentity, path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(found) => identity_of(&found) == identity,
        // Another error says nothing about the file.
        Err(cause) => cause.kind() != std::io::ErrorKind::NotFound,
    }
}

/// The numbers that distinguish an open file from all others: its device's and its own. On systems
/// other than Unix, both are 0.
pub(super) type FileIdentity = (u64, u64);

pub(super) fn identity_of(file: &Metadata) -> FileIdentity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (file.dev(), file.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        (0, 0)
    }
}

/// Brings the entry of a file in its folder to the disk. On a system without such a call, a power
/// failure may cost the name of a new file.
pub(super) fn sync_folder(path: &Path) {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    }
}

/// Opens a file for one writer at a time, positioned at the beginning; a missing file is created. An error where
/// another program writes the file, or where it is not a regular file.
pub(super) fn exclusive(path: &Path) -> Result<File, SourceError> {
    let failed = |cause: std::io::Error| write_error(path, &cause);
    let found = std::fs::metadata(path);
    if found.is_ok_and(|found| !found.is_file()) {
        let message = "is not a regular file, which a recording is";
        return Err(error(path, SourceErrorKind::Malformed, message));
    }
    let mut options = OpenOptions::new();
    // Not opened for appending alone: Windows then lets nothing be cut off.
    options.write(true).create(true).truncate(false);
    #[cfg(windows)]
    {
        // Others may read and rename meanwhile and may not write (FILE_SHARE_READ,
        // FILE_SHARE_DELETE): a finished file is renamed before it is closed. A lock would keep
        // readers out, too.
        use std::os::windows::fs::OpenOptionsExt as _;
        options.share_mode(1 | 4);
    }
    let file = options.open(path).map_err(failed)?;
    #[cfg(not(windows))]
    match file.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let message = "is being written by another program; name another file";
            return Err(error(path, SourceErrorKind::Busy, message));
        }
        Err(std::fs::TryLockError::Error(cause)) => return Err(failed(cause)),
    }
    Ok(file)
}
