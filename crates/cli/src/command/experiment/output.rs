//! The file of an experiment's records.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The file of records. An old file of the same name keeps what it has until the program has begun: until then an
/// error may end all. The lines by then wait in memory.
#[derive(Clone)]
pub(super) struct RecordsFile(Arc<Mutex<Records>>);

struct Records {
    out: Box<dyn io::Write + Send>,
    /// The lines that wait; `None` once the program has begun.
    waiting: Option<Vec<u8>>,
    /// The error of writing these lines, which the next line gets.
    failed: Option<io::Error>,
}

impl RecordsFile {
    pub(super) fn new(out: Box<dyn io::Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(Records { out, waiting: Some(Vec::new()), failed: None })))
    }

    /// Writes the lines that wait, and each later one at once.
    pub(super) fn begin(&self) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Records { out, waiting, failed } = &mut *records;
        if let Some(lines) = waiting.take().filter(|lines| !lines.is_empty()) {
            *failed = out.write_all(&lines).and_then(|()| out.flush()).err();
        }
    }
}

impl io::Write for RecordsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Records { out, waiting, failed } = &mut *records;
        match (waiting, failed.take()) {
            (Some(waiting), _) => waiting.write(bytes),
            (None, Some(error)) => Err(error),
            (None, None) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match records.waiting {
            Some(_) => Ok(()),
            None => records.out.flush(),
        }
    }
}

/// A file with its path in errors. What an old file has is removed before the first bytes are written.
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
