//! Recorded performance data as a [`Source`](perfhive_engine::Source): perfhive's own recordings,
//! capture folders, replayed data blocks, and perfmon's logs; and writing them.
//!
//! ```
//! use perfhive_engine::{Ask, Snapshot, Source};
//! use perfhive_recording::{RecordingOptions, RecordingWriter, open};
//! # let folder = std::env::temp_dir().join(format!("perfhive-doc-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let path = folder.join("today.phr");
//! # let mut source = perfhive_testkit::script::recording();
//!
//! let mut sample = Snapshot::new();
//! source.collect(&Ask::everything(), &mut sample)?;
//! let mut writer = RecordingWriter::open(&path, source.name(), &RecordingOptions::new())?;
//! writer.add(&sample, &[])?;
//! writer.finish()?;
//!
//! let mut replayed = open("today", &[path.clone()], &[], None)?;
//! let mut again = Snapshot::new();
//! replayed.collect(&Ask::everything(), &mut again)?;
//! assert_eq!(again.objects().count(), sample.objects().count());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | read recordings, logs, data blocks or a capture folder | [`open`], which gives a [`ReplaySource`] |
//! | replay data blocks that are in memory | [`ReplaySource::new`], [`ReplaySource::of_samples`] |
//! | read a part of a recording | [`Excerpt`] from one [`TimeBound`] to another |
//! | read another machine's counters in a recording | [`MachinePart`]; of several machines [`MachineParts`] |
//! | record samples | [`RecordingWriter`]; [`Rotation`] for a new file at a limit |
//! | write a log for perfmon | [`BinaryLogWriter`], [`TextLogWriter`] |
//! | print the lines of a text log | [`TextLines`] |
//! | know the columns of a text log | [`text_log_columns`] |
//! | keep a source's answers as they came, with titles and a manifest | [`Capture`]; names can be hashed ([`CaptureOptions`]) |
//! | read the records of an experiment, or make blocks of them | [`RecordLines`], [`EventBlocks`] |
//! | keep the records of an experiment as a recording | [`EventRecording`] |
//! | read one data block or title list | [`read_block`], [`read_titles`] |
//! | know whether an index comes from the recording's machine | [`is_made_up`] |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod blg;
mod capture;
mod chain;
mod excerpt;
mod files;
mod machine;
mod manifest;
mod names;
mod open;
mod phr;
mod pseudonyms;
mod records;
mod replay;
mod text_log;

/// Decodes bytes as payloads of samples, for the fuzz target. In front of each payload stand two
/// bytes with its length. The first payload is that of a keyframe. Checksums and compression would
/// hide the decoder from the fuzzer.
#[cfg(fuzzing)]
pub fn fuzz_samples(bytes: &[u8]) {
    phr::fuzz_samples(bytes);
}

/// Reads bytes as a binary log and replays the log, for the fuzz target.
#[cfg(fuzzing)]
pub fn fuzz_log(bytes: &[u8]) {
    use replay::Samples as _;
    let input = std::io::Cursor::new(bytes);
    if let Ok(mut log) = blg::BinaryLog::of("log", input, &names::MadeUpNames::default()) {
        while let Ok(Some(_)) = log.next() {}
        let end = log.span().ok().map(|span| span.end);
        let _ = log.seek(end);
    }
}

pub use blg::{BinaryLogCounters, BinaryLogWriter};
pub use capture::{Capture, CaptureOptions};
pub use excerpt::{Excerpt, TimeBound};
pub use files::{language_of_titles, read_block, read_titles};
pub use machine::{MachinePart, MachineParts};
pub use names::is_made_up;
pub use open::{open, reader_of_processes};
pub use perfhive_format::{FileEncoding, UnknownEncoding};
pub use phr::{EventRecording, RecordingOptions, RecordingWriter, Rotation};
pub use records::{EventBlocks, RecordKind, RecordLine, RecordLines, SensorLine, has_records};
pub use replay::{RecordedBlock, ReplaySource};
pub use text_log::{TextForm, TextLines, TextLogWriter, TextZone, text_log_columns};
