//! Texts: tables for people, and rows for programs.

pub(crate) mod escape;
pub(crate) mod records;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod wide;
pub(crate) mod wrap;

use perfhive::recording::FileEncoding;

/// The text of a file: UTF-16 with its mark, as PowerShell's `>` writes it, or text in this encoding;
/// without an encoding UTF-8, and `None` if it is something else.
pub(crate) fn decoded(bytes: &[u8], encoding: Option<FileEncoding>) -> Option<String> {
    let units = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.as_chunks().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => Some(units(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Some(units(rest, u16::from_be_bytes)),
        _ => match encoding {
            Some(encoding) => Some(encoding.encoding().decode(bytes).0.into_owned()),
            None => Some(str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').to_string()),
        },
    }
}
