//! Bounded reading of files: raw data blocks and title lists.

use perfhive_engine::{SourceError, SourceErrorKind};
use perfhive_format::LanguageId;
use perfhive_format::titles::TitleList;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The size in bytes of the largest file that is read: twice the largest size of a block.
const LIMIT: u64 = 128 << 20;

pub(crate) fn error(
    path: &Path,
    kind: SourceErrorKind,
    message: impl std::fmt::Display,
) -> SourceError {
    SourceError::new(kind, &path.display().to_string(), message)
}

/// Reads the bytes of a file with one raw data block. The bytes are not examined.
///
/// # Errors
/// If the file cannot be read, or is larger than 128 MiB, which no data block is.
pub fn read_block(path: impl AsRef<Path>) -> Result<Vec<u8>, SourceError> {
    read(path.as_ref(), BLOCK)
}

/// The message for a path that leads to a pipe, a socket or a device.
pub(crate) const NO_FILE: &str =
    "is not a regular file; write what it gives to a file first, and name that";

/// What a data block is, and below what a title list is, for the error about a missing file.
const BLOCK: &str = "a raw data block is what `perfhive capture FOLDER` writes for each answer, and \
                     file:FOLDER reads all of them";
const TITLES: &str = "a title list has an index and a name in turn: the value Counter 009 of a Windows \
                      machine, or a text with one a line";

fn read(path: &Path, kind_of_file: &str) -> Result<Vec<u8>, SourceError> {
    let failed = |cause: std::io::Error| {
        let kind = match cause.kind() {
            ErrorKind::PermissionDenied => SourceErrorKind::Denied,
            _ => SourceErrorKind::Unavailable,
        };
        match cause.kind() {
            // Windows reports "access denied" for a folder.
            _ if path.is_dir() => error(
                path,
                kind,
                "is a directory without a capture's manifest; name the files in it",
            ),
            ErrorKind::NotFound => error(path, kind, no_such_file(path, kind_of_file)),
            ErrorKind::PermissionDenied => error(path, kind, "permission denied"),
            _ => error(path, kind, cause),
        }
    };
    // Opening a pipe would block, so the kind is examined first.
    let found = std::fs::metadata(path).map_err(failed)?;
    if !found.is_file() && !found.is_dir() {
        return Err(error(path, SourceErrorKind::Malformed, NO_FILE));
    }
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LIMIT {
        let message = format!("is larger than {} MiB, more than is read of one file", LIMIT >> 20);
        return Err(error(path, SourceErrorKind::Malformed, message));
    }
    Ok(bytes)
}

/// The message for a missing file: near names, or what a file of this kind should be.
fn no_such_file(path: &Path, kind_of_file: &str) -> String {
    // A large folder is searched no further than this.
    const MOST: usize = 4096;
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        _ => std::env::current_dir().unwrap_or_default(),
    };
    let shown = folder.display();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return format!("no such file: there is no folder {shown}");
        }
        Err(error) => return format!("no such file; what {shown} has cannot be listed: {error}"),
    };
    let names: Vec<String> = entries
        .flatten()
        .take(MOST)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = perfhive_engine::nearest(&name, names.iter().map(String::as_str), 3);
    match near.as_slice() {
        [] => format!("no such file in {shown}; {kind_of_file}"),
        near => format!("no such file in {shown}; there is {}", near.join(", ")),
    }
}

/// The message for a file that is neither a recording nor a data block: its form, or what can be done
/// with it. `None` for a file that may be a damaged block.
pub(crate) fn other_form(path: &Path, bytes: &[u8]) -> Option<String> {
    const PACKED: [(&[u8], &str); 5] = [
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
        (b"7z\xbc\xaf", "a 7-Zip archive"),
        (b"MSCF", "a cabinet file"),
    ];
    if bytes.is_empty() {
        return Some(
            "the file is empty: nothing of a recording or log was written to it".to_string(),
        );
    }
    if let Some((_, what)) = PACKED.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        return Some(format!("is {what}; unpack it, and name the file inside"));
    }
    if let [b'P', b'H', b'R', version @ b'2'..=b'9', ..] = bytes {
        let version = char::from(*version);
        return Some(format!(
            "is a recording of version {version}, written by a newer perfhive: read it with that one"
        ));
    }
    if bytes.starts_with(b"PAR1") {
        return Some("is a Parquet file, which is written and not read".to_string());
    }
    let start = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    let is_text = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
    if start.iter().all(is_text) {
        return Some(
            "is not performance data but another text: a log of perfmon, logman, typeperf or relog \
             begins with \"(PDH-CSV 4.0)\" or \"(PDH-TSV 4.0)\""
                .to_string(),
        );
    }
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    match ending.to_str() {
        Some("phr") => Some("does not begin as a recording does".to_string()),
        Some("blg") => Some("does not begin as a binary log of perfmon does".to_string()),
        _ => None,
    }
}

/// Reads a title list: the bytes of a `REG_MULTI_SZ`, or a text in UTF-8, or in UTF-16 with a
/// byte order mark. Entries that are not titles are skipped and counted in the list's `faults`.
///
/// # Errors
/// If the file cannot be read, or holds no title at all.
pub fn read_titles(path: impl AsRef<Path>) -> Result<TitleList, SourceError> {
    let path = path.as_ref();
    let bytes = read(path, TITLES)?;
    let list = match bytes.as_slice() {
        [first @ (0xff | 0xfe), second @ (0xff | 0xfe), rest @ ..] if first != second => {
            let unit = if *first == 0xff { u16::from_le_bytes } else { u16::from_be_bytes };
            let units: Vec<u16> = rest.chunks_exact(2).map(|u| unit([u[0], u[1]])).collect();
            if units.contains(&0) {
                let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
                TitleList::from_multi_sz(&bytes)
            } else {
                TitleList::from_text(&String::from_utf16_lossy(&units))
            }
        }
        // A list begins with the digit of an index: a zero behind it means UTF-16.
        [_, 0, ..] => TitleList::from_multi_sz(&bytes),
        _ => TitleList::from_text(&String::from_utf8_lossy(&bytes)),
    };
    if list.titles.is_empty() {
        let message = "holds no title list: expected an index and a name by turns, \
                       as lines of text or as REG_MULTI_SZ bytes";
        return Err(error(path, SourceErrorKind::Malformed, message));
    }
    Ok(list)
}

/// The error of a file or folder that cannot be written.
pub(crate) fn write_error(path: &Path, cause: &std::io::Error) -> SourceError {
    let kind = match cause.kind() {
        ErrorKind::PermissionDenied => SourceErrorKind::Denied,
        _ => SourceErrorKind::Unavailable,
    };
    error(path, kind, format!("cannot be written: {cause}"))
}

/// The language of a title list, by the name of its file. The name begins with the code or the
/// number of the language (`de.txt`, `007_counter.bin`, `0407.txt`), a number with its 0 in front;
/// without either it is English.
#[must_use]
pub fn language_of_titles(path: impl AsRef<Path>) -> LanguageId {
    let path = path.as_ref();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let code = name.split(['.', '_', '-']).next().unwrap_or_default();
    // Codes and numbers only, not names: a file may be called "counter.txt", or "bad.txt", which looks like a number.
    let is_number = (3..=4).contains(&code.len()) && code.starts_with('0');
    match code.parse() {
        Ok(language) if code.len() == 2 || is_number => language,
        _ => LanguageId::ENGLISH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_list_in_utf_16_of_either_order_is_read() {
        let path = std::env::temp_dir().join(format!("perfhive-titles-{}", std::process::id()));
        for text in ["\u{feff}2\nSystem\n4\nMemory\n", "\u{feff}2\x00System\x004\x00Memory\0\0"] {
            for bytes_of in [u16::to_le_bytes, u16::to_be_bytes] {
                std::fs::write(&path, text.encode_utf16().flat_map(bytes_of).collect::<Vec<u8>>())
                    .unwrap();
                let titles = read_titles(&path).unwrap().titles;
                let found: Vec<_> =
                    titles.iter().map(|title| (title.index.0, title.text.as_str())).collect();
                assert_eq!(found, [(2, "System"), (4, "Memory")]);
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_language_of_a_title_list_is_the_beginning_of_its_file_name() {
        let of = |name: &str| language_of_titles(name);
        assert_eq!(of("x/de.txt"), LanguageId::GERMAN);
        for german in ["007_counter.bin", "0407.txt", "DE-names.txt"] {
            assert_eq!(of(german), LanguageId::GERMAN, "{german}");
        }
        assert_eq!(of("00C.txt"), LanguageId(0x0c));
        for name in ["bad.txt", "add_names.bin", "fed.txt", "cafe.txt", "123.txt", "00707.txt"] {
            assert_eq!(of(name), LanguageId::ENGLISH, "{name}");
        }
        assert_eq!(of("Counter_009.bin"), LanguageId::ENGLISH);
        assert_eq!(of("vista_009.txt"), LanguageId::ENGLISH);
    }
}
