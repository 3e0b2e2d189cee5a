//! `manifest.jsonl` of a capture: one JSON object a line. A line counts once it ends with a line
//! feed, so the unfinished last line of a killed program is ignored.
//!
//! | kind | what |
//! |---|---|
//! | `capture` | the first line: version, perfhive's version, source, machine, system, queries, interval, whether names are hashed |
//! | `titles` | a language, and the files of its names and help texts |
//! | `titles-fault` | a language with names that could not be captured, or not all of them |
//! | `sample` | number, time, the files of its blocks, each with its origin (`registry`, `native`, `published`) if known, and the faults of the collection |
//! | `end` | the capture was finished, not interrupted |

use crate::files::{NO_FILE, error, write_error};
use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_format::LanguageId;
use serde_json::Value;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Version of the manifest's form.
pub(crate) const VERSION: u64 = 1;

const NAME: &str = "manifest.jsonl";

/// The size in bytes of the largest manifest that is read, enough for hundreds of thousands of
/// samples.
const LIMIT: u64 = 64 << 20;

/// The length in bytes of the longest line that is read. Parsed JSON takes several times the memory
/// of its text.
const LINE: usize = 4 << 20;

/// The longest origin of a block, in bytes.
const LABEL: usize = 32;

/// A manifest being written.
#[derive(Debug)]
pub(crate) struct Manifest {
    path: PathBuf,
    file: File,
    /// The length of the file in bytes.
    length: u64,
}

impl Manifest {
    pub(crate) fn create(folder: &Path, head: &Value) -> Result<Self, SourceError> {
        let path = folder.join(NAME);
        let file = File::create_new(&path).map_err(|cause| write_error(&path, &cause))?;
        let mut manifest = Self { path, file, length: 0 };
        manifest.push(head)?;
        Ok(manifest)
    }

    /// Appends a line. If only a part of the line could be written, that part is cut off, so that the next line does
    /// not continue it.
    pub(crate) fn push(&mut self, line: &Value) -> Result<(), SourceError> {
        let line = format!("{line}\n");
        let written = self.file.write_all(line.as_bytes());
        match written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => {
                let _ = self.file.set_len(self.length);
                let _ = self.file.seek(SeekFrom::Start(self.length));
            }
        }
        written.map_err(|cause| write_error(&self.path, &cause))
    }
}

/// Whether a folder holds a capture: its manifest is a regular file.
pub(crate) fn is_capture(folder: &Path) -> bool {
    folder.join(NAME).is_file()
}

/// Whether the last part of a path is the name of a manifest.
pub(crate) fn is_manifest(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == NAME)
}

/// A file that a manifest lists, with its length in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// The origin of a block, such as `registry`; `None` if the manifest states no valid one.
    pub(crate) label: Option<String>,
}

/// The files that a manifest lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The languages, each with its file of names and its file of help texts; `None` instead of a
    /// file that the manifest does not list.
    pub(crate) titles: Vec<(LanguageId, Option<ListedFile>, Option<ListedFile>)>,
    /// The blocks of each sample.
    pub(crate) samples: Vec<Vec<ListedFile>>,
}

impl Contents {
    /// Whether the manifest lists a file as a list of titles.
    pub(crate) fn lists_titles(&self, file: &Path) -> bool {
        let lists = self.titles.iter().flat_map(|(_, names, help)| [names, help]).flatten();
        lists.into_iter().any(|listed| listed.path == file)
    }
}

/// Reads the manifest of a folder, as hostile input: the result names no file outside of the
/// folder, and no file twice.
pub(crate) fn read(folder: &Path) -> Result<Contents, SourceError> {
    let path = folder.join(NAME);
    let mut text = Vec::new();
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(error(&path, SourceErrorKind::Malformed, NO_FILE));
    }
    let file = File::open(&path);
    let size = file.and_then(|file| file.take(LIMIT + 1).read_to_end(&mut text));
    let name = path.display().to_string();
    let size = size.map_err(|cause| {
        let message = format!("cannot be read: {cause}");
        SourceError::new(SourceErrorKind::Unavailable, &name, message)
    })?;
    if size as u64 > LIMIT {
        let message = format!("is larger than {} MiB", LIMIT >> 20);
        return Err(SourceError::new(SourceErrorKind::Malformed, &name, message));
    }
    parse(folder, &name, &text)
}

/// Parses the text of a manifest. Errors call the manifest `name`.
fn parse(folder: &Path, name: &str, text: &[u8]) -> Result<Contents, SourceError> {
    let bad = |message: String| SourceError::new(SourceErrorKind::Malformed, name, message);
    let mut contents = Contents::default();
    let mut files = Files { folder, seen: HashSet::new() };
    // Bytes behind the last line feed are an unfinished line.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n');
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
        let at = |what: String| bad(format!("line {number}: {what}"));
        if line.len() > LINE {
            return Err(at(format!("is longer than {} MiB", LINE >> 20)));
        }
        let line: Value =
            serde_json::from_slice(line).map_err(|error| at(format!("is not JSON: {error}")))?;
        let kind = line.get("kind").and_then(Value::as_str);
        match kind {
            _ if number == 1 && kind != Some("capture") => {
                return Err(at("is not the beginning of a capture".to_string()));
            }
            Some("capture") => {
                let version = line.get("version").and_then(Value::as_u64);
                if version != Some(VERSION) {
                    let version = version.map_or("none".to_string(), |v| v.to_string());
                    return Err(at(format!("has version {version}; this reads version {VERSION}")));
                }
            }
            Some("titles") => {
                let language = line.get("language").and_then(Value::as_str);
                let language = language.and_then(|text| text.parse().ok());
                let language = language.ok_or_else(|| at("names no language".to_string()))?;
                let mut list =
                    |what: &str| line.get(what).map(|file| files.of(file)).transpose().map_err(at);
                let (names, help) = (list("names")?, list("help")?);
                contents.titles.push((language, names, help));
            }
            Some("sample") => {
                let blocks = line.get("blocks").and_then(Value::as_array);
                let blocks = blocks.ok_or_else(|| at("lists no blocks".to_string()))?;
                let blocks = blocks.iter().map(|file| files.of(file)).collect::<Result<_, _>>();
                contents.samples.push(blocks.map_err(at)?);
            }
            // Lines of unknown kinds are from a later perfhive.
            _ => {}
        }
    }
    if contents.samples.iter().all(Vec::is_empty) {
        return Err(bad("the capture has no sample".to_string()));
    }
    Ok(contents)
}

struct Files<'a> {
    folder: &'a Path,
    seen: HashSet<String>,
}

impl Files<'_> {
    /// The file of a manifest's entry. An error if the entry lacks a name or a size, if an earlier
    /// entry named the file, or if the name is not one of a capture's: ASCII letters, digits, `_`,
    /// `-` and `.`, with no `.` at the beginning.
    fn of(&mut self, entry: &Value) -> Result<ListedFile, String> {
        let name = entry.get("file").and_then(Value::as_str).ok_or("names no file")?;
        let bytes = entry.get("bytes").and_then(Value::as_u64).ok_or("tells no size")?;
        let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(letter) {
            return Err(format!("names a file that cannot be part of a capture: {name:?}"));
        }
        if !self.seen.insert(name.to_string()) {
            return Err(format!("names the file {name} a second time"));
        }
        let label = entry.get("origin").and_then(Value::as_str);
        let is_word = |text: &&str| {
            (1..=LABEL).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
        };
        let label = label.filter(is_word).map(str::to_string);
        Ok(ListedFile { path: self.folder.join(name), bytes, label })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_damaged_manifest_is_an_error_or_names_files_of_the_folder() {
        let folder = Path::new("folder");
        let file = |name: &str| json!({ "file": name, "bytes": 12 });
        let blocks = [file("1.bin"), file("2.bin")];
        let whole: Vec<u8> = [
            json!({ "kind": "capture", "version": VERSION }),
            json!({ "kind": "titles", "language": "009", "names": file("n.bin") }),
            json!({ "kind": "sample", "number": 1, "blocks": blocks }),
        ]
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect();
        let sound = parse(folder, "m", &whole).unwrap();
        assert_eq!((sound.titles.len(), sound.samples[0].len()), (1, 2));
        let look = |bytes: &[u8]| match parse(folder, "m", bytes) {
            Ok(contents) => {
                let blocks = contents.samples.iter().flatten();
                for listed in blocks.chain(contents.titles.iter().flat_map(|titles| &titles.1)) {
                    assert_eq!(listed.path.parent(), Some(folder));
                }
            }
            Err(error) => assert!(!error.message().is_empty()),
        };
        for at in 0..whole.len() {
            look(&whole[..at]);
            for value in 0..=255 {
                let mut changed = whole.clone();
                changed[at] = value;
                look(&changed);
            }
        }
        // Longer than a line may be, and nested deeper than a parser's stack.
        look(&[whole.as_slice(), &vec![b' '; LINE + 1], b"\n"].concat());
        look(&[whole.as_slice(), &[b'['; 100_000], b"\n"].concat());
    }
}
