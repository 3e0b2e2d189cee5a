//! The encodings of text files, by their names and by the numbers of Windows' code pages.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The character encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEncoding(&'static Encoding);

impl FileEncoding {
    /// The decoder of the encoding.
    #[must_use]
    pub fn encoding(self) -> &'static Encoding {
        self.0
    }
}

/// The error for a name that no encoding has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEncoding(String);

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.0;
        write!(f, "{name:?} is not an encoding; utf-8, utf-16le, windows-1252 and 932 are")
    }
}

impl core::error::Error for UnknownEncoding {}

/// Parses a name (`windows-1251`, `shift_jis`, `utf-8`) or the number of a code page
/// (`1251`, `cp932`).
impl FromStr for FileEncoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let number = name.trim_start_matches(['c', 'C', 'p', 'P']);
        let found = match number {
            "874" => Some(encoding_rs::WINDOWS_874),
            "932" => Some(encoding_rs::SHIFT_JIS),
            "936" => Some(encoding_rs::GBK),
            "949" => Some(encoding_rs::EUC_KR),
            "950" => Some(encoding_rs::BIG5),
            "65001" => Some(UTF_8),
            "1200" => Some(UTF_16LE),
            "1201" => Some(UTF_16BE),
            _ if number.len() == 4 && number.starts_with("125") => {
                Encoding::for_label(format!("windows-{number}").as_bytes())
            }
            _ => Encoding::for_label(name.as_bytes()),
        };
        found.map(Self).ok_or_else(|| UnknownEncoding(name.to_string()))
    }
}
