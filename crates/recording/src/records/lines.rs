//! The lines of a file of records, one at a time: a text file, or a recording that holds them.

use crate::phr::{LineText, holds_lines};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

/// The length in bytes of the longest line that is read. A line has some tens of bytes for each
/// sensor.
const LONGEST: u64 = 1 << 20;
/// The greatest distance of a time from the beginning of the experiment, in seconds: 30 years.
const FARTHEST: f64 = 1e9;

/// A line of a file of records; `docs/manual/experiments.md` describes the lines with their units.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the manual describes the fields")]
pub enum RecordLine {
    /// The subject of the experiment; the first line of the file.
    Experiment {
        version: u64,
        machine: Option<String>,
        #[serde(default)]
        program: Vec<String>,
        started: Option<String>,
    },
    /// The sensors of an event source, and its interval if it has one.
    Source { source: String, interval: Option<f64>, sensors: Vec<SensorLine> },
    /// An event with its readings.
    Record {
        source: String,
        event: String,
        #[serde(rename = "type")]
        kind: RecordKind,
        time: f64,
        #[serde(default)]
        gap: u64,
        delay: f64,
        sample: f64,
        values: BTreeMap<String, Option<f64>>,
    },
    /// A section that has ended.
    Section {
        event: String,
        time: f64,
        seconds: f64,
        thread_seconds: Option<f64>,
        calls: u64,
        call_seconds: Option<f64>,
        call_thread_seconds: Option<f64>,
        growth: BTreeMap<String, i64>,
    },
    /// The end of the experiment: the last line.
    End {
        seconds: f64,
        event_seconds: Option<f64>,
        call_thread_seconds: Option<f64>,
        unmatched: u64,
        sources: Vec<Value>,
    },
    /// A line of another kind, such as one that the program with the experiment added.
    #[serde(other)]
    Other,
}

impl RecordLine {
    /// The seconds that a section took, and the seconds of processor time of its thread, both
    /// without the time of the calls inside the section. `None` where the time itself or that of
    /// the calls is not known, and for other lines.
    #[must_use]
    pub fn section_times(&self) -> [Option<f64>; 2] {
        let Self::Section { seconds, thread_seconds, call_seconds, call_thread_seconds, .. } = self
        else {
            return [None, None];
        };
        let pairs = [(Some(*seconds), *call_seconds), (*thread_seconds, *call_thread_seconds)];
        pairs.map(|(time, calls)| Some((time? - calls?).max(0.0)))
    }
}

/// A sensor of an event source.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct SensorLine {
    /// The full name of the sensor, such as `linux.procfs/Process/%25 Processor Time#4711`.
    pub name: String,
    /// The unit of the sensor's values.
    pub unit: String,
    /// The number of raw units in a second; `None` if the raw value does not count time.
    pub raw_per_second: Option<u64>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RecordKind {
    /// A point in the life of the program, without a duration.
    Point,
    /// The start of a section.
    Start,
    /// The end of a section.
    End,
}

/// Whether a file begins with a line of an experiment's records, or is a recording of such lines.
/// `false` for a pipe, since what is read from it is gone.
#[must_use]
pub fn has_records(file: &Path) -> bool {
    if holds_lines(file) {
        return true;
    }
    let is_file = std::fs::metadata(file).is_ok_and(|meta| meta.is_file());
    let Some(file) = is_file.then(|| File::open(file).ok()).flatten() else { return false };
    let mut reader = BufReader::new(file);
    if !reader.fill_buf().is_ok_and(|bytes| bytes.first() == Some(&b'{')) {
        return false;
    }
    let mut line = Vec::new();
    let read = reader.take(LONGEST).read_until(b'\n', &mut line);
    read.is_ok()
        && serde_json::from_slice::<RecordLine>(&line)
            .is_ok_and(|line| !matches!(line, RecordLine::Other))
}

/// The reason why a file has no records although its name ends in `.jsonl` or it begins with `{`, as files of records
/// do; `None` for any other file. A file with records is not passed to this function.
pub(crate) fn lacks_records(path: &Path) -> Option<&'static str> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let is_named = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("jsonl"));
    let mut line = Vec::new();
    let file = BufReader::new(File::open(path).ok()?);
    file.take(LONGEST).read_until(b'\n', &mut line).ok()?;
    match line.as_slice() {
        [] => Some("is empty: the records of an experiment begin with a line about it"),
        [.., b'\n'] => Some("its first line is damaged, or is none of an experiment's records"),
        _ => Some("its first line is not complete, as that of an experiment's records is"),
    }
    .filter(|_| is_named || line.first() == Some(&b'{'))
}

/// A reader of the lines of a file of records, which leaves out damaged lines.
pub struct RecordLines {
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    /// The number of lines that were read so far.
    pub number: u64,
    /// The number of damaged lines that were read so far, and left out. All lines of a damaged frame
    /// of a recording count as one.
    pub damaged: u64,
    /// The line number of the first damaged line; 0 without any.
    pub first_damaged: u64,
    /// Whether the last line lacks its line feed.
    pub is_torn: bool,
    /// Whether the file is a recording, in which damage costs all lines of a frame.
    has_frames: bool,
}

impl RecordLines {
    /// Opens a file of records.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(file: &Path) -> io::Result<Self> {
        let has_frames = holds_lines(file);
        let reader: Box<dyn BufRead + Send> = match has_frames {
            true => Box::new(LineText::open(file).map_err(io::Error::other)?),
            false => Box::new(BufReader::with_capacity(1 << 16, File::open(file)?)),
        };
        let line = Vec::new();
        Ok(Self {
            reader,
            line,
            number: 0,
            damaged: 0,
            first_damaged: 0,
            is_torn: false,
            has_frames,
        })
    }

    /// A sentence about the damaged lines that were read so far; `None` without any.
    #[must_use]
    pub fn damage(&self) -> Option<String> {
        let (damaged, first) = (self.damaged, self.first_damaged);
        match (damaged, self.has_frames) {
            (0, _) => None,
            (_, false) => {
                Some(format!("{damaged} lines are damaged and left out, the first is line {first}"))
            }
            (_, true) => Some(format!(
                "{damaged} damaged frames are left out with all their lines, up to a megabyte of \
                 them in each; the first is behind {} lines",
                first - 1
            )),
        }
    }

    /// The next sound line; `None` at the end of the file, and at a last line without a line feed.
    ///
    /// # Errors
    /// If the file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "reading can fail")]
    pub fn next(&mut self) -> io::Result<Option<RecordLine>> {
        loop {
            self.line.clear();
            self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.line)?;
            if self.line.is_empty() {
                return Ok(None);
            }
            self.number += 1;
            let mut is_whole = self.line.ends_with(b"\n");
            let is_long = !is_whole && self.line.len() as u64 >= LONGEST;
            if is_long {
                is_whole = self.reader.skip_until(b'\n')? > 0;
            }
            if !is_whole {
                self.is_torn = true;
                return Ok(None);
            }
            let line = serde_json::from_slice(&self.line).ok().filter(|_| !is_long);
            match line.filter(is_plausible) {
                Some(line) => return Ok(Some(line)),
                None => {
                    self.damaged += 1;
                    if self.first_damaged == 0 {
                        self.first_damaged = self.number;
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for RecordLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordLines").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Whether the times of a line can be those of an experiment.
fn is_plausible(line: &RecordLine) -> bool {
    let lasts = |seconds: f64| (0.0..=FARTHEST).contains(&seconds);
    match line {
        RecordLine::Record { time, delay, sample, .. } => {
            lasts(time.abs()) && lasts(*delay) && lasts(*sample)
        }
        RecordLine::Section {
            time,
            seconds,
            thread_seconds,
            call_seconds,
            call_thread_seconds,
            ..
        } => {
            let parts = [thread_seconds, call_seconds, call_thread_seconds];
            lasts(time.abs()) && lasts(*seconds) && parts.iter().all(|one| one.is_none_or(lasts))
        }
        RecordLine::End { seconds, event_seconds, call_thread_seconds, .. } => {
            let means = [event_seconds, call_thread_seconds];
            lasts(*seconds) && means.iter().all(|one| one.is_none_or(lasts))
        }
        RecordLine::Experiment { .. } | RecordLine::Source { .. } | RecordLine::Other => true,
    }
}
