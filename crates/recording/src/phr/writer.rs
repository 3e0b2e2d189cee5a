//! [`RecordingWriter`]: writes a recording (`.phr`).

use super::contents::{definition, put_definitions, put_sample_head};
use super::encoder::Encoder;
use super::file::{FileIdentity, exclusive, identity_of, is_file_at, sync_folder};
use super::lines::holds_lines;
use super::reader::{Reader, is_unfinished};
use super::rotation::Rotation;
use super::{FrameHeader, FrameKind, GROUP, HEADER, MOST, SECTOR, is_recording};
use crate::files::{error, write_error};
use crate::names::NamesByIndex;
use crate::replay::Samples as _;
use perfhive_engine::{CatalogueObject, Snapshot, SourceError, SourceErrorKind, TitleDatabase};
use perfhive_format::{FileTime, PerfObject, TitleIndex};
use serde_json::json;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use zstd::stream::raw::{self, InBuffer, Operation as _, OutBuffer};
use zstd::zstd_safe::{CParameter, compress_bound};

/// The level of compression of samples. A higher level takes several times as long and saves some
/// per cent of the size.
pub(super) const LEVEL: i32 = 3;

/// The level of compression of names and definitions, which are written only when they change. It
/// saves a tenth of their size compared with the usual level. The first sample waits some
/// milliseconds for it.
const LEVEL_OF_NAMES: i32 = 6;

/// Parameters of the compressor: the sizes of its tables for long and for short matches, as powers of 2, and the least
/// length of a match. The tables are small because they leave the processor's caches between two samples: with tables
/// of the usual sizes, 128 and 32 times as large, they took a third of the time of a sample of some thousand bytes.
const TABLES: [CParameter; 3] = [
    CParameter::HashLog(10),
    CParameter::ChainLog(11),
    // Shorter matches make up for what is forgotten.
    CParameter::MinMatch(4),
];

/// Options of a [`RecordingWriter`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordingOptions {
    /// The time after which the next sample that is written brings the file to the disk again
    /// (`fdatasync`). A power failure can cost the samples since the last such sample. 10 seconds by
    /// default; zero means with each sample.
    pub sync: Duration,
    /// The operating system that the source runs on, with version and architecture; `None` if it is
    /// not known.
    pub system: Option<String>,
    /// The time between two samples; `None` if it is not known.
    pub interval: Option<Duration>,
    /// The size or time at which a new file begins; never by default.
    pub rotation: Rotation,
    /// Whether an existing recording is replaced. By default it is continued. A file that is not empty and does not
    /// begin as a recording does is an error in both cases.
    pub replaces: bool,
}

impl Default for RecordingOptions {
    fn default() -> Self {
        let (sync, rotation) = (Duration::from_secs(10), Rotation::default());
        Self { sync, system: None, interval: None, rotation, replaces: false }
    }
}

impl RecordingOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// A recording to which samples are appended. Each sample is one write, so a killed program loses
/// at most the sample that it is writing. A reader can read the file meanwhile.
pub struct RecordingWriter {
    path: PathBuf,
    file: File,
    identity: FileIdentity,
    /// The offset in the file at which the next frame begins.
    offset: u64,
    /// The offset in the file at which the last keyframe begins.
    key: u64,
    since_key: u16,
    /// The number of samples from one keyframe to the next.
    group: u16,
    /// The offsets at which samples end that may lie in one sector with the next keyframe.
    ends: Vec<u64>,
    machine: Option<String>,
    options: RecordingOptions,
    source: String,
    encoder: Encoder,
    compressor: raw::Encoder<'static>,
    /// The payload of the frame that is being written.
    payload: Vec<u8>,
    /// The frame that is being written: its header, and `payload` in compressed form.
    frame: Vec<u8>,
    /// For each object, whether it has instances, and the counter definitions that were written
    /// last.
    definitions: HashMap<TitleIndex, (bool, Vec<u8>)>,
    /// The names that are in the file.
    names: NamesByIndex,
    /// The title databases of the last sample. Their names were compared with those in the file.
    titles: Vec<Arc<TitleDatabase>>,
    /// The frames with names and definitions of which there is no copy yet.
    uncopied: Vec<u8>,
    /// The number of samples that were written before the frames in `uncopied`.
    uncopied_since: u64,
    synced: Instant,
    samples: u64,
    /// The length of the file when this writer began to write to it.
    begun_at: u64,
    /// The time of the file's first sample; `None` before that sample.
    begin: Option<FileTime>,
    /// The number of samples, and of bytes, in the files before this one.
    finished: (u64, u64),
    restarts: u64,
}

impl RecordingWriter {
    /// Opens a recording. If there is no file, it is created. An existing recording is continued,
    /// unless [`replaces`](RecordingOptions::replaces) is set; a part of a sample that a killed
    /// program or a power failure left at its end is cut off. `source` is the name of the recorded
    /// source.
    ///
    /// # Errors
    /// If the file is not a recording of samples, is being written by another program, or cannot be written.
    pub fn open(
        path: impl AsRef<Path>,
        source: &str,
        options: &RecordingOptions,
    ) -> Result<Self, SourceError> {
        let path = path.as_ref();
        let failed = |cause: std::io::Error| write_error(path, &cause);
        let mut file = exclusive(path)?;
        let found = file.metadata().map_err(failed)?;
        let (identity, mut offset) = (identity_of(&found), found.len());
        let (mut machine, mut begin) = (None, None);
        let mut names = NamesByIndex::default();
        let is_replaced = options.replaces && is_recording(path);
        if offset > 0 && (is_replaced || is_unfinished(path)?) {
            file.set_len(0).map_err(failed)?;
            offset = 0;
        } else if offset > 0 {
            if holds_lines(path) {
                let message = "holds the records of an experiment, which no samples follow: name another file";
                return Err(error(path, SourceErrorKind::Mismatch, message));
            }
            if !is_recording(path) {
                // It may be anything, even an archive with recordings in it.
                let message = "does not begin as a recording does; name another file";
                return Err(error(path, SourceErrorKind::Malformed, message));
            }
            let mut reader = Reader::open(path)?;
            let span = reader.span()?;
            begin = (span.samples > 0).then_some(span.begin);
            machine = reader.machine().map(str::to_string);
            reader.titles().iter().for_each(|database| names.add(database));
            offset = reader.end_of_sound_frames()?;
            file.set_len(offset).map_err(failed)?;
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        Ok(Self {
            path: path.to_path_buf(),
            file,
            identity,
            offset,
            key: 0,
            since_key: GROUP,
            group: GROUP,
            // Of a recording that is continued, as many as a sector has room for.
            ends: vec![offset; if offset == 0 { 0 } else { SECTOR as usize / HEADER }],
            machine,
            options: options.clone(),
            source: source.to_string(),
            encoder: Encoder::default(),
            compressor: compressor().map_err(failed)?,
            payload: Vec::new(),
            frame: Vec::new(),
            definitions: HashMap::new(),
            names,
            titles: Vec::new(),
            uncopied: Vec::new(),
            uncopied_since: 0,
            synced: Instant::now(),
            samples: 0,
            begun_at: offset,
            begin,
            finished: (0, 0),
            restarts: 0,
        })
    }

    /// Appends a sample; one without frames is left out. `titles` are the source's names; those of
    /// an object are written with its definitions, when these are new in the file or have changed.
    /// The writer keeps the sample's frames, since the next sample is compared with them.
    ///
    /// # Errors
    /// If the file cannot be written; samples that were written before stay readable. If the first
    /// sample of this writer comes from another machine than the recording that it continues; if
    /// `titles` give an index another name than the file has; if the sample is larger than 128 MiB.
    pub fn add(
        &mut self,
        snapshot: &Snapshot,
        titles: &[Arc<TitleDatabase>],
    ) -> Result<(), SourceError> {
        let Some(first) = snapshot.frames().first() else { return Ok(()) };
        let size: usize = snapshot.frames().iter().map(|frame| frame.as_bytes().len()).sum();
        if size > MOST {
            return Err(self.too_large());
        }
        let time = first.time();
        if self.is_cut() || self.is_path_looked_at(time) && !is_file_at(self.identity, &self.path) {
            // The lock would keep this writer itself out where it opens the same file again, which was cut.
            let _ = self.file.unlock();
            // What was written there is not counted, whether another file can be begun or not.
            (self.samples, self.begun_at) = (0, self.offset);
            self.reopen()?;
            self.restarts += 1;
        }
        if let Some(begin) = self.finished_at(time) {
            self.rotate(begin)?;
        }
        self.compare_titles(snapshot, titles)?;
        let new = match self.encoder.take(snapshot.frames()) {
            true => Vec::new(),
            false => self.new_definitions(snapshot),
        };
        let written = self.write_facts(first.machine(), &new, titles, time);
        if written.is_err() {
            // The next sample cannot be compared with one that was not written.
            self.definitions.clear();
            self.encoder.clear();
            self.since_key = GROUP;
        }
        written?;
        let is_key = self.since_key + 1 >= self.group;
        self.ends.retain(|end| end + SECTOR > self.offset);
        if is_key {
            // A sector with the keyframe in it costs the samples in front of it, too.
            self.group = GROUP.saturating_sub(self.ends.len() as u16).max(1);
            self.compressor.reinit().map_err(|cause| write_error(&self.path, &cause))?;
            (self.key, self.since_key) = (self.offset, 0);
        } else {
            self.since_key += 1;
        }
        self.payload.clear();
        put_sample_head(snapshot, &mut self.payload);
        self.encoder.encode(is_key, &mut self.payload);
        let kind = if is_key { FrameKind::Key } else { FrameKind::Delta };
        if let Err(error) = self.write(kind, time) {
            // The next sample cannot be told as differences to one that is not there.
            self.since_key = GROUP;
            return Err(error);
        }
        self.ends.push(self.offset);
        self.samples += 1;
        self.begin.get_or_insert(time);
        if self.samples == 1 {
            // From here on a power failure leaves a recording, whatever it does to later samples.
            self.sync()?;
            sync_folder(&self.path);
        }
        Ok(())
    }

    /// Whether another program has cut the file. Leaves the file positioned where the next frame begins.
    fn is_cut(&mut self) -> bool {
        let end = self.file.seek(SeekFrom::End(0));
        let _ = self.file.seek(SeekFrom::Start(self.offset));
        end.is_ok_and(|end| end < self.offset)
    }

    /// Whether it is time to see that the file is still at its path: before a sample is brought to the disk, and before
    /// whatever is at the path is renamed. To look at each sample would take a tenth of the time of a sample.
    fn is_path_looked_at(&self, time: FileTime) -> bool {
        self.synced.elapsed() >= self.options.sync || self.finished_at(time).is_some()
    }

    /// The time of the file's first sample if the file is to be finished before a sample of the time `time`; otherwise
    /// `None`.
    fn finished_at(&self, time: FileTime) -> Option<FileTime> {
        self.begin.filter(|begin| self.options.rotation.is_due(self.offset, *begin, time))
    }

    fn too_large(&self) -> SourceError {
        let message = format!("the sample is larger than {} MiB", MOST >> 20);
        error(&self.path, SourceErrorKind::Malformed, message)
    }

    /// Brings all that was written to the disk.
    fn sync(&mut self) -> Result<(), SourceError> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|cause| write_error(&self.path, &cause))
    }

    /// Finishes the file, with the time `begin` of its first sample in its name, and begins the
    /// next file at the same path.
    fn rotate(&mut self, begin: FileTime) -> Result<(), SourceError> {
        self.copy_facts()?;
        self.sync()?;
        self.options.rotation.finish(&self.path, begin)?;
        self.reopen()
    }

    /// Opens the path again, after the old file was finished, removed, renamed, cut or replaced. A recording that is
    /// there is continued, whatever [`replaces`](RecordingOptions::replaces) says; without a file, a new one begins.
    fn reopen(&mut self) -> Result<(), SourceError> {
        self.options.replaces = false;
        let (finished, restarts) = ((self.samples(), self.bytes()), self.restarts);
        *self = Self::open(&self.path, &self.source, &self.options)?;
        (self.finished, self.restarts) = (finished, restarts);
        Ok(())
    }

    /// Writes the frames with names and definitions a second time, so that damage in one place
    /// costs no names.
    fn copy_facts(&mut self) -> Result<(), SourceError> {
        if self.uncopied.is_empty() {
            return Ok(());
        }
        std::mem::swap(&mut self.frame, &mut self.uncopied);
        let copied = self.append();
        match copied {
            Ok(()) => self.uncopied.clear(),
            Err(_) => std::mem::swap(&mut self.frame, &mut self.uncopied),
        }
        copied
    }

    /// Writes a head, the facts about the recording such as machine and source, before the first sample that this
    /// writer appends to the file. It is an error if an existing recording is of another machine.
    fn begin(&mut self, machine: &str, time: FileTime) -> Result<(), SourceError> {
        if let Some(known) = &self.machine
            && known != machine
        {
            let message = format!(
                "is a recording of machine {known:?}, and the samples are of {machine:?}: name \
                 another file"
            );
            return Err(error(&self.path, SourceErrorKind::Mismatch, message));
        }
        let head = json!({
            "perfhive": env!("CARGO_PKG_VERSION"),
            "machine": machine,
            "source": self.source,
            "system": self.options.system,
            "interval": self.options.interval.map(|interval| interval.as_secs_f64()),
        });
        self.payload.clear();
        self.payload.extend_from_slice(head.to_string().as_bytes());
        self.reset(FrameKind::Head, time)
    }

    /// The definitions of the snapshot's objects that are new or have changed since they were
    /// written.
    fn new_definitions(&mut self, snapshot: &Snapshot) -> Vec<Vec<u8>> {
        let mut new = Vec::new();
        for (number, frame) in snapshot.frames().iter().enumerate() {
            let before = self.encoder.frames_before().get(number);
            for place in 0..frame.object_count() {
                let Some(view) = frame.object(place) else { continue };
                let has_instances = view.has_instances();
                let (name, counters) = (view.name_index(), view.definition_bytes());
                // Most are those of the sample before, which is compared with this one anyway.
                let is_same = |of: PerfObject<'_>| {
                    of.name_index() == name
                        && of.has_instances() == has_instances
                        && of.definition_bytes() == counters
                };
                let is_known =
                    |(has, known): &(bool, Vec<u8>)| *has == has_instances && known == counters;
                if before.and_then(|before| before.object(place)).is_some_and(is_same)
                    || self.definitions.get(&name).is_some_and(is_known)
                {
                    continue;
                }
                if let Some(bytes) = definition(view) {
                    self.definitions.insert(name, (has_instances, counters.to_vec()));
                    new.push(bytes);
                }
            }
        }
        new
    }

    /// Fails if titles that differ from those of the last sample give an index of the snapshot
    /// another name than the file has: readers would show the values under the old name.
    fn compare_titles(
        &mut self,
        snapshot: &Snapshot,
        titles: &[Arc<TitleDatabase>],
    ) -> Result<(), SourceError> {
        let is_same = self.titles.len() == titles.len()
            && self.titles.iter().zip(titles).all(|(one, other)| Arc::ptr_eq(one, other));
        if is_same {
            return Ok(());
        }
        let frames = snapshot.frames().iter();
        let objects =
            frames.flat_map(|frame| (0..frame.object_count()).filter_map(|at| frame.object(at)));
        for object in objects.map(CatalogueObject::of) {
            self.check_names(&object, titles)?;
        }
        self.titles = titles.to_vec();
        Ok(())
    }

    fn check_names(
        &self,
        object: &CatalogueObject,
        titles: &[Arc<TitleDatabase>],
    ) -> Result<(), SourceError> {
        match titles.iter().find_map(|of| self.names.conflict(object, of)) {
            None => Ok(()),
            Some(names) => {
                let message = format!("cannot be continued: {names}; name another file");
                Err(error(&self.path, SourceErrorKind::Mismatch, message))
            }
        }
    }

    /// Writes what readers need before the sample: the head before the first sample; new
    /// definitions; and, [`GROUP`] samples after heads and definitions were written, their copies.
    fn write_facts(
        &mut self,
        machine: &str,
        new: &[Vec<u8>],
        titles: &[Arc<TitleDatabase>],
        time: FileTime,
    ) -> Result<(), SourceError> {
        let objects = new.iter().filter_map(|bytes| PerfObject::parse(bytes).ok());
        let objects: Vec<_> = objects.map(CatalogueObject::of).collect();
        // A reader would show the new objects under the names that others have in the file.
        objects.iter().try_for_each(|object| self.check_names(object, titles))?;
        if self.samples == 0 {
            self.begin(machine, time)?;
        }
        if self.samples.saturating_sub(self.uncopied_since) >= u64::from(GROUP) {
            self.copy_facts()?;
        }
        if new.is_empty() {
            return Ok(());
        }
        self.payload.clear();
        put_definitions(new, titles, &mut self.payload);
        self.reset(FrameKind::Definitions, time)?;
        for object in &objects {
            titles.iter().for_each(|of| self.names.add_object(object, of));
        }
        Ok(())
    }

    /// Writes the payload as a frame that is not a sample, in a compressed stream of its own, and keeps the frame for
    /// its [copy](Self::copy_facts). The next sample becomes a keyframe.
    fn reset(&mut self, kind: FrameKind, time: FileTime) -> Result<(), SourceError> {
        let thorough = raw::Encoder::new(LEVEL_OF_NAMES);
        let thorough = thorough.map_err(|cause| write_error(&self.path, &cause))?;
        let usual = std::mem::replace(&mut self.compressor, thorough);
        let written = self.write(kind, time);
        self.compressor = usual;
        // A sample behind it begins a new stream.
        self.since_key = GROUP;
        written?;
        if self.uncopied.is_empty() {
            self.uncopied_since = self.samples;
        }
        self.uncopied.extend_from_slice(&self.frame);
        Ok(())
    }

    /// Compresses the payload and appends it to the file as a frame. A payload above [`MOST`] is an
    /// error. After any error the next sample must be a keyframe: the stream of the compressor has
    /// what the file lacks.
    fn write(&mut self, kind: FrameKind, time: FileTime) -> Result<(), SourceError> {
        let failed = |cause: std::io::Error| write_error(&self.path, &cause);
        self.frame.clear();
        self.frame.resize(HEADER, 0);
        compress(&mut self.compressor, &self.payload, &mut self.frame).map_err(failed)?;
        let (header, payload) = self.frame.split_at_mut(HEADER);
        if payload.len().max(self.payload.len()) > MOST {
            return Err(self.too_large());
        }
        let back = if kind == FrameKind::Delta { self.offset - self.key } else { 0 };
        let header_of = FrameHeader {
            kind,
            since_key: if kind == FrameKind::Delta { self.since_key } else { 0 },
            length: payload.len() as u32,
            checksum: crc32fast::hash(payload),
            time: time.0,
            back: u32::try_from(back).unwrap_or(u32::MAX),
        };
        header.copy_from_slice(&header_of.to_bytes());
        self.append()
    }

    /// Appends `self.frame` to the file, in one call, and brings it to the disk if that was last done as long ago as
    /// `sync` says. A part that was written before an error is cut off.
    fn append(&mut self) -> Result<(), SourceError> {
        if let Err(cause) = self.file.write_all(&self.frame) {
            // A part of a frame would be in the way of the next one. Where cutting fails too,
            // readers pass over it.
            let _ = self.file.set_len(self.offset);
            let _ = self.file.seek(SeekFrom::Start(self.offset));
            return Err(write_error(&self.path, &cause));
        }
        self.offset += self.frame.len() as u64;
        if self.synced.elapsed() >= self.options.sync {
            self.sync()?;
        }
        Ok(())
    }

    /// Brings everything to the disk and ends the recording. Returns the number of
    /// [bytes](Self::bytes) written. If a program ends without this call, nothing is lost as long
    /// as the power stays on, but a short recording has its names only once.
    ///
    /// # Errors
    /// If the disk cannot be written.
    pub fn finish(mut self) -> Result<u64, SourceError> {
        let copied = self.copy_facts();
        self.sync().and(copied)?;
        Ok(self.bytes())
    }

    /// The number of samples that this writer has written so far, those in finished files included.
    /// Samples that an existing recording had before do not count.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.finished.0 + self.samples
    }

    /// The number of times that the file was removed, renamed, cut or replaced while it was written, so that its path
    /// was opened again: a missing file is begun anew, a cut one and another recording there are continued. The samples
    /// and bytes that this writer had written to the lost file do not count any more. A cut is seen at the next sample,
    /// anything else within the time of [`RecordingOptions::sync`].
    #[must_use]
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// The number of bytes that this writer has written so far, those in finished files included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.finished.1 + self.offset - self.begun_at
    }
}

fn compressor() -> std::io::Result<raw::Encoder<'static>> {
    let mut compressor = raw::Encoder::new(LEVEL)?;
    TABLES.into_iter().try_for_each(|parameter| compressor.set_parameter(parameter))?;
    Ok(compressor)
}

/// Appends `payload` in compressed form to the output, complete enough that a reader can decompress
/// all of it.
pub(super) fn compress(
    compressor: &mut raw::Encoder<'_>,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    let mut input = InBuffer::around(payload);
    out.reserve(compress_bound(payload.len()));
    loop {
        // Mostly there is room left.
        out.reserve(1 << 10);
        let end = out.len();
        let mut output = OutBuffer::around_pos(out, end);
        let left = match input.pos() < payload.len() {
            true => compressor.run(&mut input, &mut output).map(|_| 1)?,
            false => compressor.flush(&mut output)?,
        };
        if left == 0 {
            return Ok(());
        }
    }
}
