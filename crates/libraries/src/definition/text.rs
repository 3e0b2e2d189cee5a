//! Decoding definition files: UTF-16 and UTF-8 with or without a byte order
//! mark, and Windows' ANSI code pages.

use super::DefinitionError;
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};
use perfhive_format::{FileEncoding, LanguageId};
use std::io::Read as _;
use std::path::Path;

/// The size of the largest definition file that is read, in bytes. The largest known ones have some
/// hundred kilobytes.
const LIMIT: u64 = 16 << 20;

/// The words for what to do about a file that is not a definition file.
const WANTED: &str = "name the .ini or .man file that describes the provider";

/// Reads a whole file. A file that is too large, and a path that is no file, are errors.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, DefinitionError> {
    let wrong = |message: String| DefinitionError::new(file, None, message);
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong(format!("cannot be read: {error}; {WANTED}")),
        _ => wrong(format!("cannot be read: {error}")),
    };
    // Opening a pipe would block, so the kind is examined first.
    if !std::fs::metadata(file).map_err(failed)?.is_file() {
        return Err(wrong(format!("is not a file; {WANTED}")));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(failed)?;
    opened.take(LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LIMIT {
        return Err(wrong(format!("is larger than {} MiB; is it the right file?", LIMIT >> 20)));
    }
    Ok(bytes)
}

/// The ANSI code page of Windows in a language.
fn ansi(language: LanguageId) -> &'static Encoding {
    match language.0 & 0x3ff {
        0x001 | 0x020 | 0x029 => encoding_rs::WINDOWS_1256,
        0x002 | 0x019 | 0x022 | 0x023 | 0x02f => encoding_rs::WINDOWS_1251,
        0x004 => encoding_rs::GBK,
        0x005 | 0x00e | 0x015 | 0x018 | 0x01a | 0x01b | 0x01c | 0x024 => encoding_rs::WINDOWS_1250,
        0x008 => encoding_rs::WINDOWS_1253,
        0x00d => encoding_rs::WINDOWS_1255,
        0x011 => encoding_rs::SHIFT_JIS,
        0x012 => encoding_rs::EUC_KR,
        0x01e => encoding_rs::WINDOWS_874,
        0x01f | 0x02c => encoding_rs::WINDOWS_1254,
        0x025..=0x027 => encoding_rs::WINDOWS_1257,
        0x02a => encoding_rs::WINDOWS_1258,
        _ => encoding_rs::WINDOWS_1252,
    }
}

/// Decodes the bytes of a file: as its byte order mark says, else in the encoding `wanted`, else as
/// UTF-16 or UTF-8 if they look like it, else in the code page of the file's languages. `languages`
/// finds these languages in a text of which only the ASCII part is reliable. An error if the code page
/// is needed and the languages have different ones, or if bytes are invalid in the encoding.
pub(super) fn decode(
    file: &Path,
    bytes: &[u8],
    wanted: Option<FileEncoding>,
    languages: impl Fn(&str) -> Vec<LanguageId>,
) -> Result<String, DefinitionError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return strictly(file, bytes.get(mark..).unwrap_or_default(), encoding);
    }
    if let Some(wanted) = wanted {
        return strictly(file, bytes, wanted);
    }
    // UTF-16 without a mark: these files begin in ASCII.
    match bytes {
        [low, 0, ..] if *low != 0 => return strictly(file, bytes, UTF_16LE),
        [0, low, ..] if *low != 0 => return strictly(file, bytes, UTF_16BE),
        _ => {}
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.to_string());
    }
    let (rough, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes);
    // English is ASCII in every code page, so that it does not tell the code page.
    let mut pages: Vec<&'static Encoding> = languages(&rough)
        .into_iter()
        .filter(|language| *language != LanguageId::ENGLISH)
        .map(ansi)
        .collect();
    pages.sort_by_key(|page| page.name());
    pages.dedup();
    match pages.as_slice() {
        [] => strictly(file, bytes, encoding_rs::WINDOWS_1252),
        [one] => strictly(file, bytes, *one),
        several => {
            let names: Vec<&str> = several.iter().map(|page| page.name()).collect();
            let message = format!(
                "is in a code page, and its languages have different ones ({}): say which with \
                 --encoding, or save the file as UTF-8 or UTF-16",
                names.join(", ")
            );
            Err(DefinitionError::new(file, None, message))
        }
    }
}

/// Decodes a file. Bytes that are invalid in the encoding are an error: a name with a replacement
/// character in it would be wrong.
fn strictly(
    file: &Path,
    bytes: &[u8],
    encoding: impl Into<FileEncoding>,
) -> Result<String, DefinitionError> {
    let encoding = encoding.into();
    match encoding.decode(bytes) {
        (text, false) => Ok(text.into_owned()),
        (text, true) => {
            let before = text.find('\u{fffd}').and_then(|at| text.get(..at)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let message = format!(
                "is not {} text: this line has bytes that are not a character; name the encoding \
                 with --encoding, or save the file as UTF-8 or UTF-16",
                encoding.name()
            );
            Err(DefinitionError::new(file, u32::try_from(line).ok(), message))
        }
    }
}
