//! Writing a text log as Windows does.

use super::reader::bias_of;
use super::{FORMS, number};
use crate::files::{error, write_error};
use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_format::FileTime;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The two forms of text logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// Separated by commas.
    Csv,
    /// Separated by tabs.
    Tsv,
}

/// How much longer than a zone's name that of another language may be, in bytes.
const MOST_ZONE_NAME: u64 = 512;

/// Whether two first lines differ at most in the name of the zone.
fn is_alike(one: &str, other: &str) -> bool {
    // The banner, as `"(PDH-CSV 4.0) (ZONE)(BIAS)`, and the columns behind it.
    let parts = |line: &str| {
        let (banner, columns) = line.split_once(")\"")?;
        let (form, _) = banner.split_once(" (")?;
        Some((form.to_string(), bias_of(&format!("{banner})"))?, columns.to_string()))
    };
    one == other || parts(one).is_some_and(|found| Some(found) == parts(other))
}

/// The time zone in which a text log states its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextZone {
    /// The name of the zone, as the banner of the log has it.
    pub name: String,
    /// The number of minutes that are added to local time to get UTC.
    pub bias: i32,
}

impl TextZone {
    /// The zone UTC, as an English Windows calls it.
    #[must_use]
    pub fn utc() -> Self {
        Self { name: "Coordinated Universal Time".to_string(), bias: 0 }
    }

    /// The local time of the zone at the UTC time `time`.
    #[must_use]
    pub fn local(&self, time: FileTime) -> FileTime {
        FileTime(time.0.saturating_sub(i64::from(self.bias) * 60 * FileTime::PER_SECOND))
    }
}

/// The lines of a text log, byte for byte as Windows writes them: quoted cells, lines that end in
/// CR LF.
#[derive(Clone, Debug)]
pub struct TextLines {
    form: TextForm,
    zone: TextZone,
    is_console: bool,
    line: String,
}

impl TextLines {
    /// The lines of a file, as logman and relog write them: a zone in the banner, numbers with up to
    /// 20 digits.
    #[must_use]
    pub fn of_file(form: TextForm, zone: TextZone) -> Self {
        Self { form, zone, is_console: false, line: String::new() }
    }

    /// The lines of typeperf's output: an empty line, a banner without a zone, numbers with six
    /// decimals.
    #[must_use]
    pub fn of_console(form: TextForm, zone: TextZone) -> Self {
        Self { form, zone, is_console: true, line: String::new() }
    }

    fn separator(&self) -> (u8, &'static str) {
        FORMS[usize::from(self.form == TextForm::Tsv)]
    }

    /// The first line of the log: the banner, and the paths of the columns. In typeperf's output an
    /// empty line precedes it.
    pub fn first<'a>(&mut self, columns: impl IntoIterator<Item = &'a str>) -> &str {
        self.line.clear();
        let (_, name) = self.separator();
        let TextZone { name: zone, bias } = &self.zone;
        let _ = match self.is_console {
            true => write!(self.line, "\r\n\"({name} 4.0)\""),
            false => write!(self.line, "\"({name} 4.0) ({zone})({bias})\""),
        };
        columns.into_iter().for_each(|column| self.push(column));
        self.end()
    }

    /// The line of a sample at a UTC time: a value for each column, in their order; `None` becomes
    /// a blank cell.
    pub fn sample(
        &mut self,
        time: FileTime,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> &str {
        let time = self.zone.local(time).to_system_time();
        self.line.clear();
        let _ = write!(
            self.line,
            "\"{:02}/{:02}/{:04} {:02}:{:02}:{:02}.{:03}\"",
            time.month, time.day, time.year, time.hour, time.minute, time.second, time.milliseconds
        );
        let mut cell = String::new();
        for value in values {
            cell.clear();
            match value {
                Some(value) if self.is_console => {
                    let _ = write!(cell, "{value:.6}");
                }
                Some(value) => number::push(&mut cell, value),
                None => cell.push(' '),
            }
            self.push(&cell);
        }
        self.end()
    }

    fn push(&mut self, cell: &str) {
        self.line.push(char::from(self.separator().0));
        self.line.push('"');
        self.line.push_str(&cell.replace('"', "\"\""));
        self.line.push('"');
    }

    fn end(&mut self) -> &str {
        self.line.push_str("\r\n");
        &self.line
    }
}

/// A text log that is being written to a file.
pub struct TextLogWriter {
    path: PathBuf,
    file: BufWriter<File>,
    lines: TextLines,
    bytes: u64,
}

impl TextLogWriter {
    /// Creates a log with the paths of its columns. A file that exists is replaced.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create<'a>(
        path: impl AsRef<Path>,
        form: TextForm,
        zone: TextZone,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let file = File::create(path).map_err(|cause| write_error(path, &cause))?;
        let mut writer = Self {
            path: path.to_path_buf(),
            file: BufWriter::with_capacity(1 << 16, file),
            lines: TextLines::of_file(form, zone),
            bytes: 0,
        };
        writer.lines.first(columns);
        writer.write()?;
        Ok(writer)
    }

    /// Continues a log with the same form and columns, and times with the same difference to UTC: its first line must
    /// be the one that a new log would have, but for the name of the zone, which may be in any language.
    ///
    /// # Errors
    /// [`SourceErrorKind::Mismatch`] if the log has another form, difference to UTC or other columns, or does
    /// not end with a whole line. Other kinds if the log cannot be read or written.
    pub fn append<'a>(
        path: impl AsRef<Path>,
        form: TextForm,
        zone: TextZone,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let failed = |cause: std::io::Error| write_error(path, &cause);
        let mut lines = TextLines::of_file(form, zone);
        lines.first(columns);
        let mut options = File::options();
        let mut file = options.read(true).append(true).open(path).map_err(failed)?;
        let mut first = Vec::new();
        let length = lines.line.len() as u64 + MOST_ZONE_NAME;
        Read::take(&mut file, length).read_to_end(&mut first).map_err(failed)?;
        let end = first.iter().position(|byte| *byte == b'\n').map_or(first.len(), |end| end + 1);
        first.truncate(end);
        if !is_alike(&String::from_utf8_lossy(&first), &lines.line) {
            let message = "has other counters, another form or another time zone than what would be \
                           appended; write a log of its own";
            return Err(error(path, SourceErrorKind::Mismatch, message));
        }
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(failed)?;
        if last != *b"\n" {
            let message = "does not end with a whole line; what would be appended would be lost";
            return Err(error(path, SourceErrorKind::Mismatch, message));
        }
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(Self { path: path.to_path_buf(), file, lines, bytes: 0 })
    }

    /// Appends a sample of a time in UTC: a value for each column, in their order; `None` becomes a
    /// blank cell. The sample is buffered: it is certainly in the file only after [`flush`](Self::flush)
    /// or [`finish`](Self::finish).
    ///
    /// # Errors
    /// If the file cannot be written. A later call may be the first to find this out.
    pub fn add(
        &mut self,
        time: FileTime,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Result<(), SourceError> {
        self.lines.sample(time, values);
        self.write()
    }

    fn write(&mut self) -> Result<(), SourceError> {
        let line = &self.lines.line;
        self.bytes += line.len() as u64;
        self.file.write_all(line.as_bytes()).map_err(|cause| write_error(&self.path, &cause))
    }

    /// Writes what is buffered, so that readers see all samples so far.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> Result<(), SourceError> {
        self.file.flush().map_err(|cause| write_error(&self.path, &cause))
    }

    /// Writes what is buffered and ends the log. Returns the number of bytes that this writer has
    /// written, without those that a continued log had before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<u64, SourceError> {
        self.flush()?;
        Ok(self.bytes)
    }
}
