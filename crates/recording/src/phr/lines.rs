//! The records of an experiment in a recording: the lines that a text file of them has, compressed.
//!
//! Behind its head such a file has only frames of lines, each compressed as a stream of its own.
//! All lines that are delivered together are written at once, so a killed program loses only the
//! lines that were not delivered, and at most the last frame.

use super::file::{exclusive, sync_folder};
use super::reader::{Frames, MOST_GAPS, decompress, decompressor};
use super::writer::{LEVEL, compress};
use super::{FrameHeader, FrameKind, HEADER, is_damaged_recording, is_recording};
use crate::files::{error, write_error};
use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_format::FileTime;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use zstd::stream::raw::{self, Operation as _};

/// The largest amount of text in a frame, in bytes.
const MOST_TEXT: usize = 1 << 20;
/// The largest number of bytes of text for each byte of the file, besides [`MOST_TEXT`]; a file with more is an error.
/// Lines of a hundred sensors that never change reach some hundreds.
const MOST_RATIO: u64 = 1024;
/// The shortest time between two times at which lines are brought to the disk before the recording ends. The last
/// lines before a pause wait for the next ones, or for the recording's end.
const SYNC: Duration = Duration::from_secs(10);
/// The text that stands for a damaged frame: a line that cannot be read.
const DAMAGED: &[u8] = b"?\n";
/// The text that stands for a damaged end of the file: the beginning of a line.
const TORN: &[u8] = b"?";

/// Writes the lines of an experiment's records into a recording (`.phr`). `JsonLines` of the crate
/// `perfhive-experiment` takes it as its output.
///
/// ```
/// use perfhive_recording::{EventRecording, RecordLines};
/// use std::io::Write;
/// # let path = std::env::temp_dir().join(format!("perfhive-lines-{}.phr", std::process::id()));
///
/// let mut recording = EventRecording::create(&path, "box", "shop")?;
/// recording.write_all(b"{\"kind\": \"experiment\", \"version\": 1}\n")?;
/// drop(recording);
/// assert!(RecordLines::open(&path)?.next()?.is_some());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EventRecording {
    path: PathBuf,
    file: File,
    /// The offset in the file at which the next frame begins.
    offset: u64,
    compressor: raw::Encoder<'static>,
    frame: Vec<u8>,
    /// The time at which the file was last brought to the disk, or was created.
    synced: Instant,
    /// Whether the file's entry in its folder is on the disk.
    is_named: bool,
    /// The head of a recording that replaces another one, until the first lines are written; `None` then, and for a new
    /// recording.
    head: Option<String>,
}

impl EventRecording {
    /// Creates a recording of the experiment with a program on the machine called `machine`. A file
    /// of this name is replaced, once there are lines to write: until then it stays as it is.
    ///
    /// # Errors
    /// If the file cannot be written, or another program writes it.
    pub fn create(
        path: impl AsRef<Path>,
        machine: &str,
        program: &str,
    ) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let failed = |cause: io::Error| write_error(path, &cause);
        let file = exclusive(path)?;
        let is_new = file.metadata().map_err(failed)?.len() == 0;
        let mut recording = Self {
            path: path.to_path_buf(),
            file,
            offset: 0,
            compressor: raw::Encoder::new(LEVEL).map_err(failed)?,
            frame: Vec::new(),
            synced: Instant::now(),
            is_named: false,
            head: None,
        };
        let head = json!({
            "perfhive": env!("CARGO_PKG_VERSION"),
            "machine": machine,
            "source": program,
            "system": null,
            "interval": null,
        });
        recording.head = Some(head.to_string());
        if is_new {
            recording.put_head().map_err(failed)?;
        }
        Ok(recording)
    }

    /// Writes the head, if it is not written yet, in the place of what the file has.
    fn put_head(&mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            let written =
                self.file.set_len(0).and_then(|()| self.put(FrameKind::Head, head.as_bytes()));
            if written.is_err() {
                // The next lines try again, since without a head they are in no recording.
                self.head = Some(head);
            }
            return written;
        }
        Ok(())
    }

    /// Writes a frame with this kind and payload in one call.
    fn put(&mut self, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
        self.compressor.reinit()?;
        self.frame.clear();
        self.frame.resize(HEADER, 0);
        compress(&mut self.compressor, payload, &mut self.frame)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = FileTime::from_unix_nanos(i128::try_from(since.as_nanos()).unwrap_or(i128::MAX));
        let (header, payload) = self.frame.split_at_mut(HEADER);
        let header_of = FrameHeader {
            kind,
            since_key: 0,
            // A megabyte, and what its compression adds at worst.
            length: payload.len() as u32,
            checksum: crc32fast::hash(payload),
            time: now.0,
            back: 0,
        };
        header.copy_from_slice(&header_of.to_bytes());
        if let Err(cause) = self.file.write_all(&self.frame) {
            let _ = self.file.set_len(self.offset);
            let _ = self.file.seek(SeekFrom::Start(self.offset));
            return Err(cause);
        }
        self.offset += self.frame.len() as u64;
        Ok(())
    }
}

impl Write for EventRecording {
    /// Writes the whole lines in the first megabyte of `bytes` as one frame. If no line ends there, these bytes are a
    /// part of a line, and are written as they are. Returns the number of bytes written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = bytes.get(..MOST_TEXT).unwrap_or(bytes);
        let last = room.iter().rposition(|byte| *byte == b'\n');
        let part = last.and_then(|last| room.get(..=last)).unwrap_or(room);
        if !part.is_empty() {
            let written = self.put_head().and_then(|()| self.put(FrameKind::Lines, part));
            written.map_err(|cause| io::Error::other(write_error(&self.path, &cause)))?;
        }
        Ok(part.len())
    }

    /// Brings the lines to the disk (`fdatasync`) if this was last done, or the file was created,
    /// ten seconds ago or more. So the beginning of an experiment does not wait for the disk.
    fn flush(&mut self) -> io::Result<()> {
        if self.synced.elapsed() >= SYNC {
            self.file.sync_data()?;
            if !std::mem::replace(&mut self.is_named, true) {
                sync_folder(&self.path);
            }
            self.synced = Instant::now();
        }
        Ok(())
    }
}

impl Drop for EventRecording {
    fn drop(&mut self) {
        let _ = self.file.sync_data();
        if !self.is_named {
            sync_folder(&self.path);
        }
    }
}

/// Whether a file is a recording of an experiment's lines: it has lines before any sample.
pub(crate) fn holds_lines(path: &Path) -> bool {
    if !is_recording(path) && !is_damaged_recording(path) {
        return false;
    }
    let look = || -> Result<bool, SourceError> {
        let mut frames = Frames::open(path)?;
        let (mut at, mut gaps) = (0, 0);
        while at < frames.length && gaps < MOST_GAPS {
            match frames.header(at)? {
                Some(header) if header.kind == FrameKind::Lines => return Ok(true),
                Some(header) if header.kind.is_sample() => return Ok(false),
                Some(header) => at += HEADER as u64 + u64::from(header.length),
                None => match frames.next_sound(at, u64::MAX)? {
                    Some(next) => (at, gaps) = (next, gaps + 1),
                    None => return Ok(false),
                },
            }
        }
        Ok(false)
    };
    look().unwrap_or(false)
}

/// The text of the lines in a recording. A damaged frame gives a line that cannot be read.
pub(crate) struct LineText {
    frames: Frames,
    /// The offset in the file at which the next frame begins.
    at: u64,
    gaps: usize,
    stream: raw::Decoder<'static>,
    plain: Vec<u8>,
    /// The number of bytes of `plain` that were read.
    used: usize,
    /// The number of bytes of text so far.
    total: u64,
}

impl LineText {
    /// Opens a recording of lines.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let failed = |cause| error(path, SourceErrorKind::Unavailable, cause);
        let stream = decompressor().map_err(failed)?;
        let (frames, plain) = (Frames::open(path)?, Vec::new());
        Ok(Self { frames, at: 0, gaps: 0, stream, plain, used: 0, total: 0 })
    }

    /// Reads the text of the next frame of lines into `plain`, which stays empty at the end of the file.
    fn advance(&mut self) -> Result<(), SourceError> {
        self.plain.clear();
        self.used = 0;
        while self.plain.is_empty() && self.at < self.frames.length {
            let at = self.at;
            let Some(header) = self.frames.header(at)? else {
                let next = self.frames.next_sound(at, u64::MAX)?.filter(|_| self.gaps < MOST_GAPS);
                self.gaps += 1;
                self.at = next.unwrap_or(self.frames.length);
                self.plain.extend_from_slice(if next.is_some() { DAMAGED } else { TORN });
                break;
            };
            self.at = at + HEADER as u64 + u64::from(header.length);
            if header.kind != FrameKind::Lines {
                continue;
            }
            self.stream.reinit().map_err(|cause| self.frames.failed(cause))?;
            let is_sound = self.frames.payload(&header)?
                && decompress(&mut self.stream, &self.frames.payload, &mut self.plain).is_some()
                && self.plain.len() <= MOST_TEXT;
            if !is_sound {
                self.plain.clear();
                self.plain.extend_from_slice(DAMAGED);
            }
        }
        self.total += self.plain.len() as u64;
        if self.total > MOST_TEXT as u64 + self.frames.length.saturating_mul(MOST_RATIO) {
            let what = format!("its lines are more than {MOST_RATIO} times as long as the file");
            return Err(self.frames.failed(io::Error::other(what)));
        }
        Ok(())
    }
}

impl BufRead for LineText {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used >= self.plain.len() {
            self.advance().map_err(io::Error::other)?;
        }
        Ok(self.plain.get(self.used..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.used += amount;
    }
}

impl Read for LineText {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first lines that replace another recording cannot be written, such as on a full disk; later ones can.
    #[test]
    fn lines_behind_a_failed_write_are_in_a_recording() {
        let path = std::env::temp_dir().join(format!("perfhive-head-{}.phr", std::process::id()));
        drop(EventRecording::create(&path, "box", "shop").unwrap());
        let mut recording = EventRecording::create(&path, "box", "shop").unwrap();
        let closed = File::open(&path).unwrap();
        let file = std::mem::replace(&mut recording.file, closed);
        recording.write_all(b"{\"kind\": \"lost\"}\n").unwrap_err();
        recording.file = file;
        recording.write_all(b"{\"kind\": \"kept\"}\n").unwrap();
        drop(recording);
        assert!(holds_lines(&path));
        let mut text = String::new();
        LineText::open(&path).unwrap().read_to_string(&mut text).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text, "{\"kind\": \"kept\"}\n");
    }
}
