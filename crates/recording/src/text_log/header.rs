//! The first line of a text log: the banner, and the path of each column.

use super::FORMS;
use super::text::Text;
use crate::files::error;
use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_format::FileEncoding;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The largest number of bytes of a line in a text log. The first line of a log with many columns
/// has some megabytes.
const LONGEST_LINE: u64 = 64 << 20;

/// A reader of a file that fails when a line is too long for a text log.
pub(super) struct ShortLines<R> {
    pub(super) file: R,
    /// The number of bytes since the last end of a line.
    line: u64,
}

impl<R: Read> Read for ShortLines<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(into)?;
        let read = into.get(..count).unwrap_or_default();
        self.line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => (count - end) as u64,
            None => self.line + count as u64,
        };
        if self.line > LONGEST_LINE {
            let message = format!("a line is longer than {} MiB", LONGEST_LINE >> 20);
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}

impl<R: Seek> Seek for ShortLines<R> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.line = 0;
        self.file.seek(to)
    }
}

/// Whether a file, read in this encoding, begins as a text log does; `false` where it cannot be
/// read.
pub(crate) fn is_text_log(path: &Path, encoding: Option<FileEncoding>) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let opened = || first_of(&mut Text::new(File::open(path)?, encoding)?);
    is_file && opened().is_ok_and(|first| form_of(&first).is_some())
}

/// The first bytes of a decoded text, at most 64: enough for the banner of a log.
fn first_of(text: &mut Text) -> std::io::Result<Vec<u8>> {
    let mut first = Vec::new();
    text.take(64).read_to_end(&mut first)?;
    Ok(first)
}

/// The byte order mark of a text in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The separator of the log that begins with these bytes; `None` if no log does. An empty line at
/// the beginning, as in a console's output, is skipped.
fn form_of(first: &[u8]) -> Option<u8> {
    let text = first.strip_prefix(MARK).unwrap_or(first);
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"\"").unwrap_or(text).strip_prefix(b"(")?;
    FORMS
        .iter()
        .find(|(_, name)| text.starts_with(name.as_bytes()))
        .map(|(separator, _)| *separator)
}

/// The first line of a log: the banner, and the path of each column.
pub(super) struct Header {
    pub(super) lines: csv::Reader<ShortLines<BufReader<Text>>>,
    /// The number of this line in the file, from 1: a console's output begins with an empty line.
    pub(super) line: u64,
    pub(super) cells: Vec<String>,
    /// The cells of the line, before decoding.
    pub(super) record: csv::ByteRecord,
    /// The warning about names that may be wrong; `None` if all names are right.
    pub(super) warning: Option<String>,
}

impl Header {
    pub(super) fn read(path: &Path, encoding: Option<FileEncoding>) -> Result<Self, SourceError> {
        let failed = |cause: std::io::Error| error(path, SourceErrorKind::Unavailable, cause);
        let malformed =
            |what: &dyn std::fmt::Display| error(path, SourceErrorKind::Malformed, what);
        let opened = File::open(path).and_then(|file| Text::new(file, encoding));
        let mut file = opened.map_err(failed)?;
        let first = first_of(&mut file).map_err(failed)?;
        let no_banner = "does not begin with the banner of a log, \"(PDH-CSV 4.0)\"";
        let separator = form_of(&first).ok_or_else(|| malformed(&no_banner))?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut lines = csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(ShortLines { file: BufReader::with_capacity(1 << 18, file), line: 0 });
        let mut record = csv::ByteRecord::new();
        lines.read_byte_record(&mut record).map_err(|cause| malformed(&cause))?;
        let blanks = first.iter().take_while(|byte| byte.is_ascii_whitespace());
        let line = 1 + blanks.filter(|byte| **byte == b'\n').count() as u64;
        let is_marked = first.starts_with(MARK);
        let encoding = if is_marked { Some(encoding_rs::UTF_8.into()) } else { encoding };
        let (cells, warning) = decoded(&record, encoding);
        Ok(Self { lines, line, cells, record, warning })
    }
}

/// The paths of a text log's columns as the log has them, in their order; `None` if the file is not
/// a text log or cannot be opened. `encoding` means the same as for [`open`](crate::open).
///
/// # Errors
/// If the first line cannot be read.
pub fn text_log_columns(
    path: impl AsRef<Path>,
    encoding: Option<FileEncoding>,
) -> Result<Option<Vec<String>>, SourceError> {
    let path = path.as_ref();
    if !is_text_log(path, encoding) {
        return Ok(None);
    }
    Ok(Some(Header::read(path, encoding)?.cells.into_iter().skip(1).collect()))
}

/// The texts of the first line's cells, and a warning if some of them may be wrong. Windows writes
/// the texts in the code page of its language, which the log does not name. `encoding` is the
/// encoding of names that are not UTF-8.
fn decoded(
    cells: &csv::ByteRecord,
    encoding: Option<FileEncoding>,
) -> (Vec<String>, Option<String>) {
    let is_utf8 = cells.iter().all(|cell| str::from_utf8(cell).is_ok());
    let decoder = match encoding {
        _ if is_utf8 => encoding_rs::UTF_8.into(),
        Some(encoding) => encoding,
        None => encoding_rs::WINDOWS_1252.into(),
    };
    let mut is_damaged = false;
    let text = |cell: &[u8]| {
        let (text, has_errors) = decoder.decode(cell);
        is_damaged |= has_errors;
        text.trim_start_matches('\u{feff}').trim().to_string()
    };
    let texts = cells.iter().map(text).collect();
    let warning = match encoding {
        Some(_) if is_damaged => Some(format!(
            "some names are not {} text; --encoding names another encoding",
            decoder.name()
        )),
        None if !is_utf8 => Some(
            "names are in a code page that the log does not tell, and are read as windows-1252, \
             that of Western languages; --encoding names another one (932, windows-1251)"
                .to_string(),
        ),
        _ => None,
    };
    (texts, warning)
}
