//! The file of an experiment's records.

use std::fs;
use std::io;
use std::path::PathBuf;

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
