//! Writes the names of instances and machines as they stand in blocks.

use super::NameRef;
use crate::error::WriteError;
#[cfg(feature = "code-pages")]
use crate::name::encoding_of;
use alloc::vec::Vec;

/// Appends a name with its terminator; appends nothing for [`NameRef::None`]. After an error, part
/// of the name may have been appended.
pub(super) fn put_name(
    buffer: &mut Vec<u8>,
    name: NameRef<'_>,
    code_page: u32,
) -> Result<(), WriteError> {
    let start = buffer.len();
    match name {
        NameRef::None => return Ok(()),
        NameRef::Bytes(bytes) => buffer.extend_from_slice(bytes),
        NameRef::Utf16(units) if code_page == 0 => put_units(buffer, units.iter().copied()),
        NameRef::Utf16(_) => return Err(WriteError::BadName),
        NameRef::Text(text) if code_page == 0 => put_text(buffer, text),
        NameRef::Text(text) if text.is_ascii() => buffer.extend_from_slice(text.as_bytes()),
        #[cfg(not(feature = "code-pages"))]
        NameRef::Text(_) => return Err(WriteError::BadName),
        #[cfg(feature = "code-pages")]
        NameRef::Text(text) => {
            let encoding = encoding_of(code_page).ok_or(WriteError::BadName)?;
            let (bytes, _, unmappable) = encoding.encode(text);
            if unmappable {
                return Err(WriteError::BadName);
            }
            buffer.extend_from_slice(&bytes);
        }
    }
    // A NUL inside would end the name for every reader. The loop has no early exit, so that the
    // compiler can check many units at once.
    let written = buffer.get(start..).unwrap_or_default();
    let readable = if code_page == 0 {
        let (units, half) = written.as_chunks::<2>();
        let nul = units.iter().fold(false, |nul, unit| nul | (u16::from_le_bytes(*unit) == 0));
        half.is_empty() && !nul
    } else {
        !written.contains(&0)
    };
    if !readable {
        return Err(WriteError::BadName);
    }
    buffer.extend_from_slice(if code_page == 0 { &[0, 0] } else { &[0] });
    Ok(())
}

/// Appends all UTF-16 units of an iterator.
#[inline]
fn put_units(buffer: &mut Vec<u8>, units: impl ExactSizeIterator<Item = u16>) {
    let at = buffer.len();
    buffer.resize(at + 2 * units.len(), 0);
    let (places, _) = buffer.get_mut(at..).unwrap_or_default().as_chunks_mut();
    for (place, unit) in places.iter_mut().zip(units) {
        *place = unit.to_le_bytes();
    }
}

/// Appends text as UTF-16.
pub(super) fn put_text(buffer: &mut Vec<u8>, text: &str) {
    if text.is_ascii() {
        put_units(buffer, text.bytes().map(u16::from));
    } else {
        buffer.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    }
}
