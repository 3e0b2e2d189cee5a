//! perfhive's own recordings (`.phr`): complete data blocks, a few bytes for each value that
//! changed.
//!
//! The manual's page `recordings.md` specifies the format byte by byte. In short: a file is a
//! sequence of frames, each with a header of 32 bytes and checksums for header and payload, and is
//! only ever appended to. Head and definitions are in it twice, so that no damage in one place costs
//! the names of all samples. A sample is cut into segments (the header of a block, the definition of an
//! object, the head of an instance, its counters). A keyframe holds a sample by itself; each of the
//! up to 59 samples behind it holds the differences to the one before, found by the identity of
//! the instances. A damaged frame costs the samples up to the next keyframe, a torn end the last
//! sample.
//!
//! | file | what |
//! |---|---|
//! | `segments.rs` | a sample cut into segments |
//! | `encoder.rs`, `decoder.rs` | segments as differences to the sample before, and back |
//! | `varint.rs` | numbers of few bytes |
//! | `contents.rs` | what the payloads of the other frames hold: head, definitions, titles, faults |
//! | `rotation.rs` | the limits at which a new file begins, and the removal of old files |
//! | `lines.rs` | the lines of an experiment's records: [`EventRecording`], and reading them |
//! | `writer.rs` | [`RecordingWriter`] |
//! | `reader.rs` | the samples of a file |

mod contents;
mod decoder;
mod encoder;
mod file;
mod lines;
mod reader;
mod rotation;
mod segments;
mod varint;
mod writer;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

pub use lines::EventRecording;
pub(crate) use lines::{LineText, holds_lines};
pub(crate) use reader::Reader;
pub use rotation::Rotation;
pub use writer::{RecordingOptions, RecordingWriter};

/// The bytes at the beginning of each frame, and so of a file. The last byte is the version of the
/// format.
pub(crate) const MAGIC: [u8; 4] = *b"PHR1";

/// The number of bytes in the header of a frame.
const HEADER: usize = 32;

/// The largest number of samples from one keyframe, itself included, to the next. Damage within a
/// sector costs at most as many samples.
const GROUP: u16 = 60;

/// The number of bytes of a sector: the smallest part of a disk that is damaged as a whole.
const SECTOR: u64 = 512;

/// The largest number of bytes of a payload, both compressed and decompressed.
const MOST: usize = 128 << 20;

/// The number of bytes from the beginning of a damaged file in which its first sound frame is searched,
/// in pieces of 64 KiB. A file without a sound frame there is not taken for a recording.
const DAMAGED_BEGINNING: u64 = 1 << 20;

/// Whether a file begins as a recording does; `false` for a file that cannot be read.
pub(crate) fn is_recording(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut first = [0; MAGIC.len()];
    is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && first == MAGIC
}

/// Whether a sound header of a frame begins behind a file's first byte, in the part that
/// [`DAMAGED_BEGINNING`] describes; `false` for a file that cannot be read.
pub(crate) fn is_damaged_recording(path: &Path) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file && reader::has_frame_within(path, DAMAGED_BEGINNING).unwrap_or(false)
}

#[cfg(fuzzing)]
pub(crate) fn fuzz_samples(mut bytes: &[u8]) {
    let mut decoder = decoder::Decoder::default();
    let mut is_key = true;
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
        let (payload, rest) = rest.split_at(length);
        let mut input = varint::Input(payload);
        if contents::sample_head(&mut input).is_some() {
            let _ = decoder.decode(input, std::mem::take(&mut is_key));
        }
        let _ = contents::Definitions::default().add(varint::Input(payload), &mut { MOST });
        bytes = rest;
    }
}

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    /// Facts about the recording, written each time that a program begins to write to the file.
    Head,
    /// Definitions of objects that are in no frame before, and the titles of these objects.
    Definitions,
    /// A sample that can be read without those before it.
    Key,
    /// A sample as differences to the sample before.
    Delta,
    /// Lines of an experiment's records.
    Lines,
}

impl FrameKind {
    const ALL: [Self; 5] = [Self::Head, Self::Definitions, Self::Key, Self::Delta, Self::Lines];

    fn number(self) -> u8 {
        match self {
            Self::Head => 1,
            Self::Definitions => 2,
            Self::Key => 3,
            Self::Delta => 4,
            Self::Lines => 5,
        }
    }

    fn is_sample(self) -> bool {
        matches!(self, Self::Key | Self::Delta)
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameHeader {
    kind: FrameKind,
    /// The number of samples since the keyframe; 0 for a frame that is no delta.
    since_key: u16,
    /// The length of the payload in bytes.
    length: u32,
    /// CRC-32 of the payload.
    checksum: u32,
    /// The time of the sample or, for a frame that is no sample, the time of writing, in steps of
    /// 100 ns since 1601.
    time: i64,
    /// The number of bytes from the beginning of the keyframe to this frame; the largest number
    /// that fits if there are more, and 0 for a frame that is no delta.
    back: u32,
}

impl FrameHeader {
    fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind.number();
        bytes[6..8].copy_from_slice(&self.since_key.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.checksum.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.time.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.back.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The header in these bytes; `None` if they are damaged or of another version.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.first_chunk().filter(|bytes| bytes.starts_with(&MAGIC))?;
        let u32_at = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let kind = FrameKind::ALL.into_iter().find(|kind| kind.number() == bytes[4])?;
        let is_sound = u32_at(28)? == crc32fast::hash(&bytes[..28]);
        let length = u32_at(8)?;
        (is_sound && length as usize <= MOST).then_some(Self {
            kind,
            since_key: u16::from_le_bytes([bytes[6], bytes[7]]),
            length,
            checksum: u32_at(12)?,
            time: i64::from_le_bytes(*bytes.get(16..)?.first_chunk()?),
            back: u32_at(24)?,
        })
    }
}
