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
//! | file | what |
//! |---|---|
//! | `replay.rs` | [`ReplaySource`]: blocks in memory, answered one sample after the other |
//! | `files.rs` | bounded reading of data blocks and title lists |
//! | `blg.rs` | perfmon's binary logs: reading, and [`BinaryLogWriter`] |
//! | `text_log.rs` | perfmon's text logs: PDH-CSV and PDH-TSV |
//! | `chain.rs` | several recordings, one after the other |
//! | `excerpt.rs` | [`Excerpt`]: a part of a recording |
//! | `machine.rs` | [`MachinePart`]: what a recording has of another machine |
//! | `phr.rs` | perfhive's own recordings: [`RecordingWriter`] |
//! | `records.rs` | records of experiments: their lines, and [`EventBlocks`] |
//! | `names.rs` | title indexes that are made up, and those with two names |
//! | `open.rs` | [`open`]: files or a capture folder become a [`ReplaySource`] |
//! | `capture.rs` | [`Capture`]: writes a source's answers to a folder |
//! | `manifest.rs` | `manifest.jsonl` of a capture, written and read |
//! | `pseudonyms.rs` | hashed names, for captures that are given to others |
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

/// Decodes bytes as payloads of samples, for the fuzz target. Each payload stands behind its length
/// of two bytes; the first is that of a keyframe. Checksums and compression would hide the decoder
/// from the fuzzer.
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
pub use machine::MachinePart;
pub use names::is_made_up;
pub use open::{open, reader_of_processes};
pub use perfhive_format::{FileEncoding, UnknownEncoding};
pub use phr::{EventRecording, RecordingOptions, RecordingWriter, Rotation};
pub use records::{EventBlocks, RecordKind, RecordLine, RecordLines, SensorLine, has_records};
pub use replay::{RecordedBlock, ReplaySource};
pub use text_log::{TextForm, TextLines, TextLogWriter, TextZone, text_log_columns};
