//! Recorded performance data as a [`Source`](perfhive_engine::Source): replayed data blocks and
//! capture folders, and perfmon's binary logs. Its text logs and perfhive's own recordings belong
//! here too.
//!
//! | file | what |
//! |---|---|
//! | `replay.rs` | [`ReplaySource`]: blocks in memory, answered one sample after the other |
//! | `files.rs` | bounded reading of data blocks and title lists |
//! | `blg.rs` | perfmon's binary logs |
//! | `open.rs` | [`open`]: files or a capture folder become a [`ReplaySource`] |
//! | `capture.rs` | [`Capture`]: writes a source's answers to a folder |
//! | `manifest.rs` | `manifest.jsonl` of a capture, written and read |
//! | `pseudonyms.rs` | hashed names, for captures that leave the house |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod blg;
mod capture;
mod files;
mod manifest;
mod open;
mod pseudonyms;
mod replay;

/// Reads bytes as a binary log and replays it: what the fuzz target calls.
#[cfg(fuzzing)]
pub fn fuzz_log(bytes: &[u8]) {
    let log = blg::read("log", bytes);
    let _ = log.and_then(|log| ReplaySource::of_samples("log", log.samples));
}

pub use capture::{Capture, CaptureOptions};
pub use files::{language_of_titles, read_block, read_titles};
pub use open::{open, reader_of_processes};
pub use replay::{RecordedBlock, ReplaySource};
