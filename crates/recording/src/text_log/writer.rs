//! Writing a text log as Windows does.

use super::{FORMS, number};
use crate::files::write_error;
use perfhive_engine::SourceError;
use perfhive_format::SystemTime;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The two forms of text logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// Separated by commas.
    Csv,
    /// Separated by tabs.
    Tsv,
}

/// A text log that is being written, byte for byte as `relog` and `logman` of Windows do: quoted
/// cells, numbers with up to 20 digits, lines that end in CR LF. Times are UTC, which the banner
/// says.
pub struct TextLogWriter {
    path: PathBuf,
    file: BufWriter<File>,
    form: TextForm,
    line: String,
    bytes: u64,
}

impl TextLogWriter {
    /// Creates a log with the paths of its columns. A file that exists is replaced.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn create<'a>(
        path: impl AsRef<Path>,
        form: TextForm,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|cause| write_error(path, &cause))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let path = path.to_path_buf();
        let mut writer = Self { path, file, form, line: String::new(), bytes: 0 };
        let (_, name) = writer.separator();
        let _ = write!(writer.line, "\"({name} 4.0) (UTC)(0)\"");
        columns.into_iter().for_each(|column| writer.push(column));
        writer.end_line()?;
        Ok(writer)
    }

    fn separator(&self) -> (u8, &'static str) {
        FORMS[usize::from(self.form == TextForm::Tsv)]
    }

    fn push(&mut self, cell: &str) {
        self.line.push(char::from(self.separator().0));
        self.line.push('"');
        self.line.push_str(&cell.replace('"', "\"\""));
        self.line.push('"');
    }

    /// Appends a sample: a value for each column, in their order; `None` is a blank.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn add(
        &mut self,
        time: SystemTime,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Result<(), SourceError> {
        let _ = write!(
            self.line,
            "\"{:02}/{:02}/{:04} {:02}:{:02}:{:02}.{:03}\"",
            time.month, time.day, time.year, time.hour, time.minute, time.second, time.milliseconds
        );
        let mut cell = String::new();
        for value in values {
            cell.clear();
            match value {
                Some(value) => number::push(&mut cell, value),
                None => cell.push(' '),
            }
            self.push(&cell);
        }
        self.end_line()
    }

    fn end_line(&mut self) -> Result<(), SourceError> {
        self.line.push_str("\r\n");
        self.bytes += self.line.len() as u64;
        let written = self.file.write_all(self.line.as_bytes());
        self.line.clear();
        written.map_err(|cause| write_error(&self.path, &cause))
    }

    /// Writes what is buffered and ends the log.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(mut self) -> Result<u64, SourceError> {
        self.file.flush().map_err(|cause| write_error(&self.path, &cause))?;
        Ok(self.bytes)
    }
}
