//! Instance names: UTF-16, or text in another code page.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The name of an instance as the block holds it.
///
/// Names are compared by their bytes and code page, so that two names that only look the same (lone
/// surrogates, unknown code pages) stay two names. The text of a name has U+FFFD in place of bytes
/// that cannot be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstanceName<'a> {
    bytes: &'a [u8],
    code_page: u32,
}

impl<'a> InstanceName<'a> {
    /// The name at the start of these raw bytes: it ends at the first NUL, or with the bytes if
    /// they hold none. `code_page` 0 means UTF-16, little endian.
    #[must_use]
    pub fn new(bytes: &'a [u8], code_page: u32) -> Self {
        // The name ends at its first NUL; what follows (Samba sends stale
        // bytes there) is not part of it.
        let bytes = if code_page == 0 {
            let units = bytes.chunks_exact(2).take_while(|unit| *unit != [0, 0]).count();
            bytes.get(..units * 2).unwrap_or_default()
        } else {
            bytes.split(|byte| *byte == 0).next().unwrap_or_default()
        };
        Self { bytes, code_page }
    }

    /// The bytes of the name without a terminator.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The code page that the object states; 0 is UTF-16.
    #[must_use]
    pub fn code_page(self) -> u32 {
        self.code_page
    }

    /// Whether the name is empty, as in an instance that is identified by its number.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// The name as text, with U+FFFD for bytes that cannot be decoded.
    #[must_use]
    pub fn to_text(self) -> String {
        let mut text = String::new();
        self.push_to(&mut text);
        text
    }

    /// Appends the name as text. Allocates only if `out` is too small, or if the name is not
    /// UTF-16.
    pub fn push_to(self, out: &mut String) {
        if self.code_page != 0 {
            out.push_str(&decode_code_page(self.bytes, self.code_page));
            return;
        }
        // Most names are ASCII. ASCII units are copied 16 at a time; the rest, from the first group
        // with another unit, is decoded.
        let (mut units, _) = self.bytes.as_chunks::<2>();
        let mut ascii = [0; 16];
        while let Some((head, tail)) = units.split_at_checked(units.len().min(ascii.len())) {
            let text = ascii.get_mut(..head.len()).unwrap_or_default();
            let mut all = 0;
            for (byte, unit) in text.iter_mut().zip(head) {
                let unit = u16::from_le_bytes(*unit);
                all |= unit;
                *byte = unit as u8;
            }
            match core::str::from_utf8(text) {
                Ok(text) if all < 0x80 && !text.is_empty() => out.push_str(text),
                _ => break,
            }
            units = tail;
        }
        out.extend(decode(units));
    }

    /// The characters of the name's bytes, read as UTF-16.
    fn chars(self) -> impl Iterator<Item = char> + use<'a> {
        decode(self.bytes.as_chunks().0)
    }

    /// Whether the name equals `text` without regard to case.
    #[must_use]
    pub fn eq_ignore_case(self, text: &str) -> bool {
        if self.code_page == 0 {
            fold(self.chars()).eq(fold(text.chars()))
        } else {
            let own = decode_code_page(self.bytes, self.code_page);
            fold(own.chars()).eq(fold(text.chars()))
        }
    }
}

/// The characters of UTF-16 units, little endian; a unit that is not valid becomes U+FFFD.
fn decode(units: &[[u8; 2]]) -> impl Iterator<Item = char> + use<'_> {
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
}

fn fold(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.flat_map(char::to_lowercase)
}

impl fmt::Display for InstanceName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code_page == 0 && f.width().is_none() && f.precision().is_none() {
            self.chars().try_for_each(|c| fmt::Write::write_char(f, c))
        } else {
            f.pad(&self.to_text())
        }
    }
}

impl fmt::Debug for InstanceName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

/// `text` as UTF-16, little endian, without a terminator.
#[must_use]
pub fn encode_utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The text of bytes in a Windows code page. If the code page is unknown, or the feature
/// `code-pages` is off, every byte that is not ASCII becomes U+FFFD.
#[must_use]
pub fn decode_code_page(bytes: &[u8], code_page: u32) -> Cow<'_, str> {
    #[cfg(feature = "code-pages")]
    if let Some(encoding) = encoding_of(code_page) {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    let _ = code_page;
    let letter = |byte: &u8| if byte.is_ascii() { char::from(*byte) } else { '\u{fffd}' };
    bytes.iter().map(letter).collect::<String>().into()
}

/// The encoding of a code page, by the number in Microsoft's list of code page identifiers; `None`
/// for a number that is not in the list below.
#[cfg(feature = "code-pages")]
pub(crate) fn encoding_of(code_page: u32) -> Option<&'static encoding_rs::Encoding> {
    Some(match code_page {
        866 => encoding_rs::IBM866,
        874 => encoding_rs::WINDOWS_874,
        932 => encoding_rs::SHIFT_JIS,
        936 => encoding_rs::GBK,
        949 => encoding_rs::EUC_KR,
        950 => encoding_rs::BIG5,
        1250 => encoding_rs::WINDOWS_1250,
        1251 => encoding_rs::WINDOWS_1251,
        1252 | 28591 => encoding_rs::WINDOWS_1252,
        1253 => encoding_rs::WINDOWS_1253,
        1254 | 28599 => encoding_rs::WINDOWS_1254,
        1255 => encoding_rs::WINDOWS_1255,
        1256 => encoding_rs::WINDOWS_1256,
        1257 => encoding_rs::WINDOWS_1257,
        1258 => encoding_rs::WINDOWS_1258,
        10000 => encoding_rs::MACINTOSH,
        10007 => encoding_rs::X_MAC_CYRILLIC,
        20866 => encoding_rs::KOI8_R,
        21866 => encoding_rs::KOI8_U,
        28592 => encoding_rs::ISO_8859_2,
        28593 => encoding_rs::ISO_8859_3,
        28594 => encoding_rs::ISO_8859_4,
        28595 => encoding_rs::ISO_8859_5,
        28596 => encoding_rs::ISO_8859_6,
        28597 => encoding_rs::ISO_8859_7,
        28598 => encoding_rs::ISO_8859_8,
        28603 => encoding_rs::ISO_8859_13,
        28605 => encoding_rs::ISO_8859_15,
        51932 => encoding_rs::EUC_JP,
        54936 => encoding_rs::GB18030,
        65001 => encoding_rs::UTF_8,
        _ => return None,
    })
}
