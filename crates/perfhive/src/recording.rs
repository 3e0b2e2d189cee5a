//! Recordings and logs: reading parts of them, and writing.
//!
//! | to | use |
//! |---|---|
//! | read a recording, a capture or a log of perfmon | [`open`](crate::open) with `file:` |
//! | read a part of it | [`Excerpt`] |
//! | write samples into one file, as `perfhive record` does | [`RecordingWriter`] |
//! | keep a source's raw answers in a folder, for tests and reports | [`Capture`] |
//! | write a text or binary log as perfmon does | [`TextLogWriter`], [`BinaryLogWriter`] |
//! | read the records of an experiment, line by line | [`RecordLines`] |
//! | record an experiment's events | [`EventRecording`], to which its `JsonLines` write |
//! | answer with data blocks that are in memory | [`ReplaySource`] |
//!
//! ```
//! use perfhive::recording::{RecordingOptions, RecordingWriter};
//! use perfhive::{Ask, Snapshot, Source};
//! # use perfhive::recording::ReplaySource;
//! # let folder = std::env::temp_dir().join(format!("perfhive-recording-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! # let file = folder.join("a.phr");
//! # let mut writer = perfhive::format::BlockWriter::new();
//! # writer.start(&perfhive::format::BlockHead::default());
//! # let mut source = ReplaySource::new("made up", [("first".to_string(), writer.finish().to_vec())])?;
//!
//! let mut writer = RecordingWriter::open(&file, source.name(), &RecordingOptions::new())?;
//! let mut sample = Snapshot::new();
//! source.collect(&Ask::everything(), &mut sample)?;
//! writer.add(&sample, &[])?;
//! assert_eq!(writer.samples(), 1);
//! writer.finish()?;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use perfhive_recording::{
    BinaryLogCounters, BinaryLogWriter, Capture, CaptureOptions, EventBlocks, EventRecording,
    Excerpt, FileEncoding, MachinePart, MachineParts, RecordKind, RecordLine, RecordLines,
    RecordedBlock, RecordingOptions, RecordingWriter, ReplaySource, Rotation, SensorLine, TextForm,
    TextLines, TextLogWriter, TextZone, TimeBound, UnknownEncoding, has_records, is_made_up,
    language_of_titles, read_block, read_titles, text_log_columns,
};
