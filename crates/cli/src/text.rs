//! Formatting of texts: tables for people, and rows for programs.

pub(crate) mod escape;
pub(crate) mod records;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
pub(crate) mod wide;
pub(crate) mod wrap;
mod zone;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The most bytes of a file of counters or flags, many times what any has.
const LARGEST: u64 = 16 << 20;

/// The bytes of a file of counters or flags, which may be a pipe. A file of more than [`LARGEST`] bytes is an
/// error, and so is a device that has no end.
pub(crate) fn read_list(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => {
            let what = format!("is larger than {} MiB; it lists counters or flags", LARGEST >> 20);
            Err(io::Error::other(what))
        }
        false => Ok(bytes),
    }
}

/// The text of a file in UTF-8, or in UTF-16 with a byte order mark, as PowerShell's `>` writes it;
/// `None` if the bytes are valid in neither, or have a NUL, as UTF-16 without a mark has.
pub(crate) fn decoded(bytes: &[u8]) -> Option<String> {
    let units = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = rest.as_chunks();
        let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16(&units).ok().filter(|_| rest.is_empty())
    };
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => units(rest, u16::from_be_bytes),
        _ => Some(str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}').to_string()),
    };
    text.filter(|text| !text.contains('\0'))
}
