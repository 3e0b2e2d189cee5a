//! From files to a source: data blocks, perfmon's binary logs, or the folder of a capture.

use crate::blg;
use crate::files::{error, language_of_titles, read_block, read_titles};
use crate::manifest::{self, ListedFile, is_capture};
use crate::replay::{RecordedBlock, ReplaySource};
use perfhive_engine::{Frame, SourceError, SourceErrorKind, TitleDatabase};
use perfhive_format::titles::TitleList;
use perfhive_format::{LanguageId, TitleIndex};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens raw data blocks, one a file, and binary logs of perfmon as successive samples of one
/// machine; or a single folder that [`Capture`](crate::Capture) wrote. `name` is the source's name
/// in messages. Title lists in `titles` are preferred to those of a capture or log.
///
/// # Errors
/// [`SourceErrorKind::Malformed`] where a file is not a data block or a capture is damaged,
/// [`SourceErrorKind::Mismatch`] where the files are not samples of one machine,
/// [`SourceErrorKind::Denied`] or [`SourceErrorKind::Unavailable`] where a file cannot be read.
pub fn open(
    name: &str,
    blocks: &[PathBuf],
    titles: &[PathBuf],
) -> Result<ReplaySource, SourceError> {
    if let [folder] = blocks
        && is_capture(folder)
    {
        return open_capture(name, folder, titles);
    }
    let mut samples: Vec<Vec<RecordedBlock>> = Vec::new();
    let (mut lists, mut faults) = (Vec::new(), Vec::new());
    for path in blocks {
        let (shown, bytes) = whole_block(path)?;
        if blg::is_log(&bytes) {
            let log = blg::read(&shown, &bytes)?;
            samples.extend(log.samples);
            lists.push(log.titles);
            faults.extend(log.faults);
        } else {
            samples.push(vec![(shown, bytes).into()]);
        }
    }
    let source = ReplaySource::of_samples(name, samples)?.with_faults(faults);
    let mut source = with_titles(source, titles)?;
    if let Some(names) = lists.iter().find(|list| !list.titles.is_empty()) {
        source = source.with_titles(LanguageId::ENGLISH, names);
    }
    Ok(source)
}

/// The reader that filled the Process object of a capture, in one line for people; `None` for
/// other recordings. The first sample that has a label decides, since most captures have one
/// origin only.
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

/// A block with its name for messages.
fn whole_block(path: &Path) -> Result<(String, Vec<u8>), SourceError> {
    let bytes = read_block(path)?;
    if bytes.is_empty() {
        let message = "the file is empty; a data block has at least 88 bytes";
        return Err(error(path, SourceErrorKind::Malformed, message));
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
    let mut source = with_titles(ReplaySource::of_samples(name, samples)?, titles)?;
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

/// A block of a capture.
fn listed_block(listed: &ListedFile) -> Result<(String, Vec<u8>), SourceError> {
    check(listed)?;
    whole_block(&listed.path)
}

/// Checks that a listed path is a regular file of the length in the manifest. A pipe would
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
