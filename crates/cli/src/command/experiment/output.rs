//! The file of an experiment's records.

use crate::failure::Failure;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Opens the file at a path for the records of one experiment at a time; a missing file is created, and what a file has
/// stays for now. An error where another program writes to the file, as for a recording.
pub(super) fn exclusive(path: &Path) -> Result<fs::File, Failure> {
    let failed = |what: &str| Failure::Source(format!("{}: {what}", path.display()));
    let file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| failed(&error.to_string()))?;
    // A pipe or a device loses nothing to a second writer.
    let is_file = file.metadata().is_ok_and(|about| about.is_file());
    // Any other error is that of a file system without locks, and does not keep its files from being written.
    if is_file && matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
        return Err(failed("is being written by another program; name another file"));
    }
    Ok(file)
}

/// A file with its path, which its errors name. If `is_old`, the file existed before: what it has is removed before
/// the first bytes are written.
pub(super) struct NamedFile {
    pub(super) file: fs::File,
    pub(super) path: PathBuf,
    pub(super) is_old: bool,
}

impl NamedFile {
    fn named<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }
}

impl io::Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if std::mem::take(&mut self.is_old) {
            self.named(self.file.set_len(0))?;
        }
        let written = self.file.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.named(flushed)
    }
}
