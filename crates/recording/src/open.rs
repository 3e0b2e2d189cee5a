//! From files to a source: data blocks, perfhive's recordings, perfmon's binary and text logs,
//! records of an experiment, or the folder of a capture.

use crate::chain::Chain;
use crate::files::{error, language_of_titles, other_form, read_block, read_titles};
use crate::manifest::{self, ListedFile, is_capture};
use crate::names::{MadeUpNames, NamesByIndex};
use crate::records::{EventRecords, has_records, lacks_records};
use crate::replay::{RecordedBlock, ReplaySource, Samples};
use crate::text_log::{TextLog, is_text_log};
use crate::{blg, phr};
use blg::BinaryLog;
use perfhive_engine::{Fault, Frame, SourceError, SourceErrorKind, TitleDatabase};
use perfhive_format::titles::TitleList;
use perfhive_format::{FileEncoding, LanguageId, TitleIndex};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens files with recorded performance data as one source. `blocks` are one of these:
///
/// - raw data blocks (a block in each file), perfhive's recordings and binary logs of perfmon, in any mixture.
///   Recordings and logs are put in the order of their times; blocks that follow each other stay in the order of
///   `blocks`;
/// - text logs of perfmon;
/// - a single folder that [`Capture`](crate::Capture) wrote, or its manifest, or one of its title lists;
/// - a single file with the records of an experiment.
///
/// All files must be of one machine; a log of several machines counts as one of its first machine.
///
/// `name` is the source's name in messages. `titles` are files with title lists, which are preferred to the titles in
/// `blocks`. Text logs that are neither UTF-8 nor UTF-16 are read in `encoding`; without one, as Windows-1252, with a
/// warning.
///
/// # Errors
/// [`SourceErrorKind::Malformed`] if a file is none of these or a capture is damaged,
/// [`SourceErrorKind::Mismatch`] if the files are not of one machine or cannot be read together,
/// [`SourceErrorKind::Denied`] or [`SourceErrorKind::Unavailable`] if a file cannot be read.
pub fn open(
    name: &str,
    blocks: &[PathBuf],
    titles: &[PathBuf],
    encoding: Option<FileEncoding>,
) -> Result<ReplaySource, SourceError> {
    if let [folder] = blocks
        && is_capture(folder)
    {
        return open_capture(name, folder, titles);
    }
    // A file of a capture leads to its folder: for the manifest or a title list the whole capture
    // is opened; for a block the names are taken from the capture.
    // A recording or log is no part of a capture, so a file beside it may be called as a manifest is.
    let is_part = |file: &&PathBuf| {
        let is_other = phr::is_recording(file) || blg::is_log(file) || is_text_log(file, encoding);
        !is_other && !has_records(file)
    };
    let first = blocks.first().filter(is_part);
    let folder = first.and_then(|file| file.parent()).filter(|folder| is_capture(folder));
    if let (Some(folder), [file]) = (folder, blocks)
        && (manifest::is_manifest(file) || manifest::read(folder)?.lists_titles(file))
    {
        return open_capture(name, folder, titles);
    }
    if blocks.first().is_some_and(|file| is_text_log(file, encoding)) {
        return open_text_logs(name, blocks, titles, encoding);
    }
    if let [file] = blocks
        && has_records(file)
    {
        let records = EventRecords::open(file)?;
        let (faults, names) = (records.faults.clone(), records.titles());
        let source = ReplaySource::of(name, Box::new(records)).with_faults(faults);
        return Ok(with_titles(source, titles)?.with_database(names));
    }
    let mut parts = Parts::default();
    for path in blocks {
        if has_records(path) {
            let message = "holds the records of an experiment, which are read alone";
            return Err(error(path, SourceErrorKind::Mismatch, message));
        }
        if phr::is_recording(path) {
            parts.add_recording(name, path)?;
        } else if blg::is_log(path) {
            parts.end_blocks(name)?;
            parts.add_log(path)?;
        } else if is_text_log(path, encoding) {
            // The indexes of a text log are made up, those of the other files are Windows' own.
            let message = "is a text log, which is read with other text logs only";
            return Err(error(path, SourceErrorKind::Mismatch, message));
        } else if phr::is_damaged_recording(path) {
            parts.add_recording(name, path)?;
        } else if let Some(why) = lacks_records(path) {
            return Err(error(path, SourceErrorKind::Malformed, why));
        } else {
            parts.add(path)?;
        }
    }
    parts.end_blocks(name)?;
    if !parts.log_titles.titles.is_empty() {
        let names = std::mem::take(&mut parts.log_titles);
        let database = TitleDatabase::new(LanguageId::ENGLISH, &names, &TitleList::default());
        parts.titles.push(Arc::new(database));
    }
    let source = match parts.samples.pop() {
        Some((_, only)) if parts.samples.is_empty() => ReplaySource::of(name, only),
        Some(last) => {
            parts.samples.push(last);
            ReplaySource::of(name, Box::new(Chain::new(parts.samples)?))
        }
        None => ReplaySource::of_samples(name, [])?,
    };
    let mut source = with_titles(source.with_faults(parts.faults), titles)?;
    if let Some(folder) = folder {
        source = with_titles_of_capture(source, &manifest::read(folder)?)?;
    }
    Ok(parts.titles.into_iter().fold(source, ReplaySource::with_database))
}

/// Opens text logs of one machine, in the order of time, as one recording.
fn open_text_logs(
    name: &str,
    logs: &[PathBuf],
    titles: &[PathBuf],
    encoding: Option<FileEncoding>,
) -> Result<ReplaySource, SourceError> {
    let mut names = MadeUpNames::of_processes();
    let mut parts: Vec<(String, Box<dyn Samples>)> = Vec::new();
    let mut faults = Vec::new();
    for path in logs {
        if !is_text_log(path, encoding) {
            // If the file cannot be opened, that error is returned instead, since it says more.
            let _ = std::fs::File::open(path)
                .map_err(|cause| error(path, SourceErrorKind::Unavailable, cause))?;
            let message = "is not a text log, as the first file is: only such are read with it";
            return Err(error(path, SourceErrorKind::Mismatch, message));
        }
        let log = TextLog::open(path, encoding, &mut names)?;
        faults.extend_from_slice(&log.faults);
        parts.push((path.display().to_string(), Box::new(log)));
    }
    let samples: Box<dyn Samples> = Box::new(Chain::new(parts)?);
    let source = ReplaySource::of(name, samples).with_faults(faults);
    Ok(with_titles(source, titles)?.with_titles(LanguageId::ENGLISH, &names.into_list()))
}

/// The files of a recording while they are opened.
#[derive(Default)]
struct Parts {
    samples: Vec<(String, Box<dyn Samples>)>,
    /// The samples from files of data blocks, until [`end_blocks`](Self::end_blocks) makes a recording of them.
    blocks: Vec<Vec<RecordedBlock>>,
    titles: Vec<Arc<TitleDatabase>>,
    /// The titles of all binary logs, with the names for which an index was made up.
    log_titles: TitleList,
    names: MadeUpNames,
    /// The names that the files so far give to title indexes.
    known: NamesByIndex,
    faults: Vec<Fault>,
}

impl Parts {
    /// Adds a file with a data block, which is read into memory as a sample.
    fn add(&mut self, path: &Path) -> Result<(), SourceError> {
        let (shown, bytes) = whole_block(path)?;
        self.blocks.push(vec![(shown, bytes).into()]);
        Ok(())
    }

    /// Adds a recording of perfhive (`.phr`).
    fn add_recording(&mut self, name: &str, path: &Path) -> Result<(), SourceError> {
        let mut reader = phr::Reader::open(path)?;
        self.faults.extend_from_slice(reader.damage());
        let titles = reader.titles();
        self.add_names(path, &mut reader, &titles)?;
        self.titles.extend(titles);
        self.end_blocks(name)?;
        self.samples.push((path.display().to_string(), Box::new(reader)));
        Ok(())
    }

    /// Adds a binary log of perfmon.
    fn add_log(&mut self, path: &Path) -> Result<(), SourceError> {
        let mut log = BinaryLog::open(path, &self.names)?;
        self.faults.extend_from_slice(log.faults());
        self.names = log.names().clone();
        let names = log.titles().clone();
        let database = TitleDatabase::new(LanguageId::ENGLISH, &names, &TitleList::default());
        self.add_names(path, &mut log, &[Arc::new(database)])?;
        self.log_titles.titles.extend(names.titles);
        self.samples.push((path.display().to_string(), Box::new(log)));
        Ok(())
    }

    /// Adds the names of a file. It is an error if an earlier file gives one of the indexes another
    /// name, since the objects of this file would be shown under that name.
    fn add_names(
        &mut self,
        path: &Path,
        samples: &mut dyn Samples,
        titles: &[Arc<TitleDatabase>],
    ) -> Result<(), SourceError> {
        let (_, objects) = samples.objects()?;
        for database in titles {
            let conflict = |object| self.known.conflict(object, database);
            if let Some(names) = objects.iter().find_map(conflict) {
                let message = format!(
                    "does not go with the files before it: {names}; open the files one by one"
                );
                return Err(error(path, SourceErrorKind::Mismatch, message));
            }
        }
        titles.iter().for_each(|database| self.known.add(database));
        Ok(())
    }

    /// Makes one recording, in memory, of the blocks so far, and appends it to `samples`.
    fn end_blocks(&mut self, name: &str) -> Result<(), SourceError> {
        let blocks = std::mem::take(&mut self.blocks);
        if let Some(first) = blocks.first().and_then(|sample| sample.first()) {
            let first = first.name.clone();
            self.samples.push((first, ReplaySource::in_memory(name, blocks)?));
        }
        Ok(())
    }
}

/// A line for people that says which reader filled the Process object of a capture: the registry, the native functions,
/// or another. `None` for other recordings, and for a capture that does not tell. Of the first 64 blocks with a known
/// origin, the first one that has the object decides, since most captures have one origin only.
#[must_use]
pub fn reader_of_processes(paths: &[PathBuf]) -> Option<String> {
    const PROCESS: TitleIndex = TitleIndex(230);
    let [folder] = paths else { return None };
    let contents = manifest::read(folder).ok()?;
    let blocks = contents.samples.iter().flatten();
    let labelled = blocks.filter_map(|listed| Some((listed, listed.label.as_deref()?)));
    let label = labelled.take(64).find_map(|(listed, label)| {
        let (_, bytes) = listed_block(listed).ok()?;
        let frame = Frame::new(bytes, 1).ok()?;
        let mut names = (0..frame.object_count()).filter_map(|place| frame.object(place));
        names.any(|object| object.name_index() == PROCESS).then_some(label)
    })?;
    Some(match label {
        "registry" => "processes from the registry's counters, as captured".to_string(),
        "native" => "processes by Windows' native functions, as captured".to_string(),
        label => format!("processes from {label}, as captured"),
    })
}

/// The name of a file for messages, and the data block in it.
fn whole_block(path: &Path) -> Result<(String, Vec<u8>), SourceError> {
    let bytes = read_block(path)?;
    if let Some(why) = other_form(path, &bytes) {
        return Err(error(path, SourceErrorKind::Malformed, why));
    }
    Ok((path.display().to_string(), bytes))
}

/// Opens a capture folder with its titles; the caller's title lists precede them.
fn open_capture(
    name: &str,
    folder: &Path,
    titles: &[PathBuf],
) -> Result<ReplaySource, SourceError> {
    let contents = manifest::read(folder)?;
    let block = |listed: &ListedFile| -> Result<RecordedBlock, SourceError> {
        let (name, bytes) = listed_block(listed)?;
        Ok(RecordedBlock { name, bytes, label: listed.label.clone() })
    };
    let sample = |blocks: &Vec<ListedFile>| blocks.iter().map(block).collect::<Result<Vec<_>, _>>();
    let samples = contents.samples.iter().map(sample).collect::<Result<Vec<_>, _>>()?;
    let source = with_titles(ReplaySource::of_samples(name, samples)?, titles)?;
    with_titles_of_capture(source, &contents)
}

fn with_titles_of_capture(
    mut source: ReplaySource,
    contents: &manifest::Contents,
) -> Result<ReplaySource, SourceError> {
    for (language, names, help) in &contents.titles {
        let list = |listed: &Option<ListedFile>| match listed {
            Some(listed) => check(listed).and_then(|()| read_titles(&listed.path)),
            None => Ok(TitleList::default()),
        };
        let database = TitleDatabase::new(*language, &list(names)?, &list(help)?);
        source = source.with_database(Arc::new(database));
    }
    Ok(source)
}

/// The name of a file of a capture for messages, and the data block in it.
fn listed_block(listed: &ListedFile) -> Result<(String, Vec<u8>), SourceError> {
    check(listed)?;
    whole_block(&listed.path)
}

/// Checks that a listed path is a regular file of the length in the manifest. Reading a pipe would
/// block for ever.
fn check(listed: &ListedFile) -> Result<(), SourceError> {
    let path = &listed.path;
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let message = "no such file, which the manifest beside it lists: a capture is the \
                           whole folder";
            return Err(error(path, SourceErrorKind::Unavailable, message));
        }
        Err(cause) => return Err(error(path, SourceErrorKind::Unavailable, cause)),
    };
    if !found.is_file() {
        return Err(error(path, SourceErrorKind::Malformed, "is not a file, as a capture's are"));
    }
    if found.len() != listed.bytes {
        let message = format!(
            "has {} bytes, and {} by the capture's manifest: it was cut or changed",
            found.len(),
            listed.bytes
        );
        return Err(error(path, SourceErrorKind::Malformed, message));
    }
    Ok(())
}

fn with_titles(mut source: ReplaySource, titles: &[PathBuf]) -> Result<ReplaySource, SourceError> {
    for path in titles {
        let list = read_titles(path)?;
        let language = language_of_titles(path);
        // Titles of objects and counters carry even indexes and help odd ones
        // in a Windows table; a list of names serves as both.
        let database = TitleDatabase::new(language, &list, &list);
        source = source.with_database(Arc::new(database));
    }
    Ok(source)
}
