//! Reads recordings of perfhive's own format (`.phr`).

use super::contents::{Definitions, sample_head};
use super::decoder::Decoder;
use super::varint::Input;
use super::{FrameHeader, FrameKind, HEADER, MOST};
use crate::files::error;
use crate::replay::{Sample, Samples, origin_of, select};
use perfhive_engine::{
    CatalogueObject, Fault, FaultKind, Frame, SourceError, SourceErrorKind, Span, TitleDatabase,
};
use perfhive_format::{FileTime, TitleIndex};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zstd::stream::raw::{self, DParameter, InBuffer, Operation as _, OutBuffer};

/// The largest window of a compressed stream, as a power of two. The writer uses 21.
const WINDOW: u32 = 23;

/// The bytes with which the header of a [`FrameKind::Head`] begins.
const FIRST: [u8; 8] = *b"PHR1\x01\0\0\0";

/// The most damaged places of a file that are skipped: behind each one the next frame must be
/// searched.
pub(super) const MOST_GAPS: usize = 10_000;

/// The message where a file has more than [`MOST_GAPS`] damaged places.
const TOO_DAMAGED: &str = "the file is damaged in too many places; the rest is left out";

/// The most faults about damage that are kept.
const MOST_DAMAGE: usize = 64;
/// How many times as long as the file all its samples together may be, besides [`MOST`] bytes. Those of an idle
/// Linux machine are 260 times as long: names, IDs and times of instances are in each keyframe.
const MOST_RATIO: u64 = 16_384;

/// The frames of a file, read one at a time.
pub(super) struct Frames {
    path: PathBuf,
    input: BufReader<File>,
    /// The position in the file at which the next read begins.
    at: u64,
    pub(super) length: u64,
    pub(super) payload: Vec<u8>,
}

impl Frames {
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let failed = |cause| error(path, SourceErrorKind::Unavailable, cause);
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let input = BufReader::with_capacity(1 << 16, file);
        Ok(Self { path: path.to_path_buf(), input, at: 0, length, payload: Vec::new() })
    }

    /// Whether the file ends before its first frame is complete, or ends with its first frame and
    /// the payload of that frame is damaged. `false` for a file that is not a recording.
    fn is_unfinished(&mut self) -> Result<bool, SourceError> {
        let mut bytes = [0; HEADER];
        self.go(0)?;
        let read = self.read(&mut bytes)?;
        let bytes = bytes.get(..read).unwrap_or_default();
        match FrameHeader::from_bytes(bytes) {
            Some(header) => {
                let end = HEADER as u64 + u64::from(header.length);
                Ok(end > self.length || (end == self.length && !self.payload(&header)?))
            }
            // A text may begin with the same letters.
            None => Ok(read < HEADER && bytes.starts_with(&FIRST)),
        }
    }

    pub(super) fn failed(&self, cause: std::io::Error) -> SourceError {
        error(&self.path, SourceErrorKind::Unavailable, cause)
    }

    fn go(&mut self, to: u64) -> Result<(), SourceError> {
        let by = to as i64 - self.at as i64;
        self.input.seek_relative(by).map_err(|cause| self.failed(cause))?;
        self.at = to;
        Ok(())
    }

    /// Fills `into`, or as much of it as the file still has bytes for. Returns the number of bytes.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, SourceError> {
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.failed(cause)),
            }
        }
        self.at += done as u64;
        Ok(done)
    }

    /// The header of the frame at an offset; `None` where there is no complete frame. After this
    /// call, [`payload`](Self::payload) reads the payload.
    pub(super) fn header(&mut self, at: u64) -> Result<Option<FrameHeader>, SourceError> {
        self.go(at)?;
        let mut bytes = [0; HEADER];
        let read = self.read(&mut bytes)?;
        let header = FrameHeader::from_bytes(bytes.get(..read).unwrap_or_default());
        Ok(header.filter(|of| at + HEADER as u64 + u64::from(of.length) <= self.length))
    }

    /// Reads the payload behind a header into `self.payload`; `false` where it is damaged.
    pub(super) fn payload(&mut self, header: &FrameHeader) -> Result<bool, SourceError> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        // The header's length is bounded: `header()` checked that the payload lies inside the file.
        payload.resize(header.length as usize, 0);
        let read = self.read(&mut payload)?;
        let is_sound = read == payload.len() && crc32fast::hash(&payload) == header.checksum;
        self.payload = payload;
        Ok(is_sound)
    }

    /// The offset of the first sound header behind `behind`; `None` if there is none. It is
    /// searched in pieces of 64 KiB, the last of which begins before `before`.
    pub(super) fn next_sound(
        &mut self,
        behind: u64,
        before: u64,
    ) -> Result<Option<u64>, SourceError> {
        const CHUNK: usize = 1 << 16;
        let mut chunk = vec![0; CHUNK];
        let mut at = behind + 1;
        while at + HEADER as u64 <= self.length && at < before {
            self.go(at)?;
            let read = self.read(&mut chunk)?;
            let found = chunk.get(..read).unwrap_or_default();
            for (place, bytes) in found.windows(HEADER).enumerate() {
                let start = at + place as u64;
                let ends = |of: &FrameHeader| start + HEADER as u64 + u64::from(of.length);
                let header = FrameHeader::from_bytes(bytes);
                if header.is_some_and(|of| ends(&of) <= self.length) {
                    return Ok(Some(start));
                }
            }
            at += (CHUNK - HEADER + 1) as u64;
        }
        Ok(None)
    }
}

/// Whether a file ends before its first frame is complete and sound, so that it holds nothing;
/// `false` for a file that is not a recording.
pub(super) fn is_unfinished(path: &Path) -> Result<bool, SourceError> {
    Frames::open(path)?.is_unfinished()
}

/// Whether a sound header lies behind a file's beginning and before the offset `bytes`, or at most
/// 64 KiB behind that.
pub(super) fn has_frame_within(path: &Path, bytes: u64) -> Result<bool, SourceError> {
    Ok(Frames::open(path)?.next_sound(0, bytes)?.is_some())
}

/// The place and the time of a keyframe.
#[derive(Clone, Copy, Debug)]
struct Key {
    offset: u64,
    time: FileTime,
    /// The latest time among the samples from this keyframe up to the next one. Where the clock was
    /// set back, it may be later than the time of the last of these samples.
    latest: FileTime,
}

/// The samples of a recording.
pub(crate) struct Reader {
    frames: Frames,
    keys: Vec<Key>,
    /// The span of the samples, without its beginning, which is the time of the first keyframe.
    span: Span,
    /// The offset behind the last complete frame.
    end: u64,
    /// Whether frames may follow behind `end`, because reading stopped at too much damage.
    is_cut: bool,
    definitions: Definitions,
    /// Objects that are left out because their index had another name before. The offset is that of
    /// the definitions with the new name; samples behind it are read without the object.
    left_out: HashMap<TitleIndex, u64>,
    /// How many more bytes the definitions and heads may take.
    room: usize,
    /// Length and checksum of the payloads of definitions and heads that were read: a file usually
    /// has each of them twice.
    known: HashSet<(u32, u32)>,
    machine: Option<String>,
    /// The damage that was found when the file was opened.
    damage: Vec<Fault>,
    /// The offset of the next frame.
    next: u64,
    /// The number of samples that were decoded, which is the generation of the last one.
    generation: u64,
    /// The number of bytes that the frames read since the last seek have unpacked to.
    unpacked: u64,
    decoder: Decoder,
    stream: raw::Decoder<'static>,
    plain: Vec<u8>,
    /// The sample that a seek found; it is the next one to return.
    found: Option<Sample>,
}

impl Reader {
    /// Opens a recording and looks at the header of each frame.
    ///
    /// # Errors
    /// An error where the file cannot be read or has no frame of a recording.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let failed = |cause| error(path, SourceErrorKind::Unavailable, cause);
        let mut reader = Self {
            frames: Frames::open(path)?,
            keys: Vec::new(),
            span: Span::new(FileTime(0), FileTime(0), 0),
            end: 0,
            is_cut: false,
            definitions: Definitions::default(),
            left_out: HashMap::new(),
            room: MOST,
            known: HashSet::new(),
            machine: None,
            damage: Vec::new(),
            next: 0,
            generation: 0,
            unpacked: 0,
            decoder: Decoder::default(),
            stream: decompressor().map_err(failed)?,
            plain: Vec::new(),
            found: None,
        };
        reader.scan()?;
        if reader.end == 0 {
            let message = match reader.frames.is_unfinished()? {
                true => "ends before its first sample: the recording was ended too early",
                false => "is a recording of another version, or damaged from its beginning",
            };
            return Err(error(path, SourceErrorKind::Malformed, message));
        }
        if reader.machine.is_none() {
            // The head is damaged, and its copy is damaged, too, or was not yet written.
            reader.seek(None)?;
            let first = reader.found.take().and_then(|sample| sample.frames.into_iter().next());
            reader.machine = first.map(|frame| frame.machine().to_string());
            reader.next = 0;
        }
        Ok(reader)
    }

    /// Reads all headers, and the heads and definitions, to find keyframes, span, titles and
    /// damage.
    fn scan(&mut self) -> Result<(), SourceError> {
        let (mut at, mut gaps) = (0, 0);
        while at < self.frames.length {
            let Some(header) = self.frames.header(at)? else {
                let Some(next) = self.frames.next_sound(at, u64::MAX)? else {
                    let bytes = self.frames.length - at;
                    self.warn(at, format_args!("the last {bytes} bytes are not a complete sample"));
                    break;
                };
                self.warn(at, format_args!("{} bytes are damaged", next - at));
                gaps += 1;
                if gaps > MOST_GAPS {
                    self.warn(at, TOO_DAMAGED);
                    self.is_cut = true;
                    break;
                }
                at = next;
                continue;
            };
            match header.kind {
                FrameKind::Head | FrameKind::Definitions => self.read_facts(at, &header)?,
                FrameKind::Key => {
                    let time = FileTime(header.time);
                    self.keys.push(Key { offset: at, time, latest: time });
                }
                FrameKind::Delta | FrameKind::Lines => {}
            }
            if header.kind.is_sample() {
                let time = FileTime(header.time);
                self.span.goes_back |= self.span.samples > 0 && time < self.span.end;
                self.span.end = time;
                self.span.samples += 1;
                if let Some(key) = self.keys.last_mut() {
                    key.latest = key.latest.max(time);
                }
            }
            at += HEADER as u64 + u64::from(header.length);
            self.end = at;
        }
        Ok(())
    }

    /// Reads a head or definitions at an offset. Damage becomes a fault.
    fn read_facts(&mut self, at: u64, header: &FrameHeader) -> Result<(), SourceError> {
        let mut is_sound = self.frames.payload(header)?;
        let payload = (header.length, header.checksum);
        if is_sound && self.known.contains(&payload) {
            return Ok(());
        }
        let mut stream = decompressor().map_err(|cause| self.frames.failed(cause))?;
        let mut plain = Vec::new();
        // All frames together get no more room than one, and none is unpacked once it is used up.
        is_sound =
            is_sound && unpack(&mut stream, &self.frames.payload, &mut plain, self.room).is_some();
        self.room = self.room.saturating_sub(plain.len());
        let is_read = is_sound
            && match header.kind {
                FrameKind::Head => self.read_head(&plain).is_some(),
                _ => match self.definitions.add(Input(&plain), &mut self.room) {
                    Some(left_out) => {
                        for (object, names) in left_out {
                            self.left_out.entry(object).or_insert(at);
                            self.warn(
                                at,
                                format_args!("{names}: object {object} is left out from here on"),
                            );
                        }
                        true
                    }
                    None => false,
                },
            };
        match is_read {
            true => drop(self.known.insert(payload)),
            false => {
                self.warn(at, "machine or names are damaged; their copy is read if it is there")
            }
        }
        Ok(())
    }

    fn read_head(&mut self, plain: &[u8]) -> Option<()> {
        let head: Value = serde_json::from_slice(plain).ok()?;
        let machine = head.get("machine")?.as_str()?;
        self.machine.get_or_insert_with(|| machine.chars().take(Frame::MOST_MACHINE).collect());
        Some(())
    }

    /// Adds a fault about damage at an offset, up to [`MOST_DAMAGE`] faults.
    fn warn(&mut self, at: u64, what: impl std::fmt::Display) {
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(damage(&self.frames.path, at, what));
        }
    }

    /// The name of the machine that was recorded; `None` where neither a head nor a sample has it.
    pub(crate) fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// A title database for each language of the recording.
    pub(crate) fn titles(&self) -> Vec<Arc<TitleDatabase>> {
        self.definitions.databases()
    }

    /// The damage that was found when the file was opened.
    pub(crate) fn damage(&self) -> &[Fault] {
        &self.damage
    }

    /// The offset behind the last frame with a sound payload since the last keyframe; the
    /// keyframe's offset if none is sound. No sample behind that offset can be read. An error for a
    /// file that is damaged in too many places.
    pub(crate) fn end_of_sound_frames(&mut self) -> Result<u64, SourceError> {
        if self.is_cut {
            return Err(error(&self.frames.path, SourceErrorKind::Malformed, TOO_DAMAGED));
        }
        let mut at = self.keys.last().map_or(0, |key| key.offset);
        let mut end = at;
        while let Some(header) = self.frames.header(at)? {
            at += HEADER as u64 + u64::from(header.length);
            if self.frames.payload(&header)? {
                end = at;
            }
        }
        Ok(end)
    }

    /// Reads the next sample at the time `from` or later; `None` behind the last frame. A damaged
    /// sample is left out together with all others up to the next keyframe, and the next sample has
    /// a fault that says so. If no sample follows, a sample without frames has the faults.
    fn read_next(&mut self, from: FileTime) -> Result<Option<Sample>, SourceError> {
        let mut faults = Vec::new();
        while self.next < self.end {
            let at = self.next;
            let Some(header) = self.frames.header(at)? else {
                // The damage was reported when the file was opened; a file that shrinks meanwhile
                // ends here.
                self.next = self.key_behind(at);
                continue;
            };
            self.next = at + HEADER as u64 + u64::from(header.length);
            if !header.kind.is_sample() {
                continue;
            }
            // Earlier samples are decoded only because later ones are stored as differences.
            let is_wanted = FileTime(header.time) >= from;
            match self.decode(at, &header, is_wanted)? {
                Some(mut sample) if is_wanted => {
                    sample.faults.extend(faults);
                    return Ok(Some(sample));
                }
                Some(_) => {}
                None => {
                    self.next = self.key_behind(at);
                    let what = "a sample is damaged; those up to the next keyframe are left out";
                    faults.push(damage(&self.frames.path, at, what));
                }
            }
        }
        // No sample follows that could carry the faults.
        Ok((!faults.is_empty()).then(|| Sample { frames: Vec::new(), faults }))
    }

    /// The offset of the first keyframe behind an offset, or of the end of the complete frames.
    fn key_behind(&self, at: u64) -> u64 {
        let next = self.keys.partition_point(|key| key.offset <= at);
        self.keys.get(next).map_or(self.end, |key| key.offset)
    }

    /// The sample of the frame at an offset; `header` was read before. `None` if it is damaged. If `is_wanted` is
    /// false, the sample is decoded only for the samples after it, and returned without frames and faults.
    fn decode(
        &mut self,
        at: u64,
        header: &FrameHeader,
        is_wanted: bool,
    ) -> Result<Option<Sample>, SourceError> {
        if !self.frames.payload(header)? {
            return Ok(None);
        }
        let is_key = header.kind == FrameKind::Key;
        if is_key {
            self.stream.reinit().map_err(|cause| self.frames.failed(cause))?;
        }
        let Some(()) = decompress(&mut self.stream, &self.frames.payload, &mut self.plain) else {
            return Ok(None);
        };
        self.unpacked += self.plain.len() as u64;
        if self.unpacked > MOST as u64 + self.frames.length.saturating_mul(MOST_RATIO) {
            let what = format!("its samples are more than {MOST_RATIO} times as long as the file");
            return Err(error(&self.frames.path, SourceErrorKind::Malformed, what));
        }
        let mut input = Input(&self.plain);
        let Some((blocks, faults)) = sample_head(&mut input) else { return Ok(None) };
        let Some(mut bytes) = self.decoder.decode(input, is_key) else { return Ok(None) };
        self.unpacked += bytes.len() as u64;
        self.generation += 1;
        if !is_wanted {
            return Ok(Some(Sample::default()));
        }
        let mut frames = Vec::with_capacity(blocks.len());
        for block in blocks {
            let Some((own, rest)) = bytes.split_at_checked(block.length) else { return Ok(None) };
            bytes = rest;
            let Ok(mut frame) = Frame::new(own.to_vec(), self.generation) else { return Ok(None) };
            let is_left_out = |object| self.left_out.get(&object).is_some_and(|from| *from < at);
            if !self.left_out.is_empty() {
                let objects = (0..frame.object_count()).filter_map(|place| frame.object(place));
                let names = objects.map(|object| object.name_index());
                let kept = names.filter(|object| !is_left_out(*object)).collect();
                let Some(rest) = select(&frame, &kept, self.generation) else { return Ok(None) };
                frame = rest;
            }
            let (origin, label) = origin_of(block.label);
            frames.push(Arc::new(frame.recorded_by(origin, label)));
        }
        Ok(Some(Sample { frames, faults }))
    }
}

impl Samples for Reader {
    fn next(&mut self) -> Result<Option<Sample>, SourceError> {
        match self.found.take() {
            Some(sample) => Ok(Some(sample)),
            None => self.read_next(FileTime(i64::MIN)),
        }
    }

    fn seek(&mut self, to: Option<FileTime>) -> Result<(), SourceError> {
        self.found = None;
        let to = to.unwrap_or(FileTime(i64::MIN));
        let found = self.keys.iter().find(|key| key.latest >= to);
        self.unpacked = 0;
        self.next = found.map_or(self.end, |key| key.offset);
        self.found = self.read_next(to)?;
        Ok(())
    }

    fn span(&mut self) -> Result<Span, SourceError> {
        let mut span = self.span;
        span.begin = self.keys.first().map_or(FileTime(0), |key| key.time);
        Ok(span)
    }

    fn latest(&mut self) -> Result<FileTime, SourceError> {
        Ok(self.keys.iter().map(|key| key.latest).max().unwrap_or_default())
    }

    fn objects(&mut self) -> Result<(String, Vec<CatalogueObject>), SourceError> {
        let machine = self.machine.clone().unwrap_or_default();
        Ok((machine, self.definitions.objects.clone()))
    }
}

fn damage(path: &Path, at: u64, what: impl std::fmt::Display) -> Fault {
    let message = format!("offset 0x{at:x}: {what}");
    Fault::new(FaultKind::Warning, &path.display().to_string(), message)
}

pub(super) fn decompressor() -> std::io::Result<raw::Decoder<'static>> {
    let mut decoder = raw::Decoder::new()?;
    decoder.set_parameter(DParameter::WindowLogMax(WINDOW))?;
    Ok(decoder)
}

/// Decompresses a payload into `out`; `None` where it is damaged or longer than [`MOST`] bytes.
pub(super) fn decompress(
    stream: &mut raw::Decoder<'_>,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Option<()> {
    unpack(stream, payload, out, MOST)
}

/// Decompresses a payload into `out`; `None` where it is damaged or longer than `most` bytes.
fn unpack(
    stream: &mut raw::Decoder<'_>,
    payload: &[u8],
    out: &mut Vec<u8>,
    most: usize,
) -> Option<()> {
    out.clear();
    let mut input = InBuffer::around(payload);
    let mut chunk = [0; 1 << 14];
    loop {
        let before = input.pos();
        let mut output = OutBuffer::around(&mut chunk[..]);
        stream.run(&mut input, &mut output).ok()?;
        let made = output.as_slice();
        out.extend_from_slice(made);
        if out.len() > most {
            return None;
        }
        if made.len() < 1 << 14 {
            let is_read = input.pos() == payload.len();
            if is_read || input.pos() == before {
                return is_read.then_some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_unpacked_no_further_than_its_room() {
        let payload = zstd::bulk::compress(&vec![0; 1 << 20], 3).unwrap();
        let unpacked = |most| {
            let mut out = Vec::new();
            let done = unpack(&mut decompressor().unwrap(), &payload, &mut out, most);
            (done, out.len())
        };
        assert_eq!(unpacked(1 << 20), (Some(()), 1 << 20));
        for most in [(1 << 20) - 1, 1 << 16, 0] {
            let (done, length) = unpacked(most);
            assert!(done.is_none() && length <= most + (1 << 14), "{most}: {length}");
        }
    }
}
