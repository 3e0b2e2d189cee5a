//! The encodings of text files, by their names and by the numbers of Windows' code pages.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The character encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEncoding(Known);

/// An encoding that the web uses, with a decoder of `encoding_rs`, or a code page of consoles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    OfWeb(&'static Encoding),
    OfConsole(&'static CodePage),
}

/// A code page of consoles, in which every character has one byte. Files that a shell's `>` makes
/// on Windows may be written in it.
#[derive(Debug, PartialEq, Eq)]
struct CodePage {
    name: &'static str,
    /// The characters of the bytes from 128 on.
    upper: &'static str,
}

static CODE_PAGES: [CodePage; 8] = [
    CodePage {
        name: "437",
        upper: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
    CodePage {
        name: "737",
        upper: "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρσςτυφχψ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀ωάέήϊίόύϋώΆΈΉΊΌΎΏ±≥≤ΪΫ÷≈°∙·√ⁿ²■\u{a0}",
    },
    CodePage {
        name: "775",
        upper: "ĆüéāäģåćłēŖŗīŹÄÅÉæÆōöĢ¢ŚśÖÜø£Ø×¤ĀĪóŻżź”¦©®¬½¼Ł«»░▒▓│┤ĄČĘĖ╣║╗╝ĮŠ┐└┴┬├─┼ŲŪ╚╔╩╦╠═╬Žąčęėįšųūž┘┌█▄▌▐▀ÓßŌŃõÕµńĶķĻļņĒŅ’\u{ad}±“¾¶§÷„°∙·¹³²■\u{a0}",
    },
    CodePage {
        name: "850",
        upper: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    CodePage {
        name: "852",
        upper: "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}",
    },
    CodePage {
        name: "857",
        upper: "ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ºªÊËÈ\u{fffd}ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\u{fffd}×ÚÛÙìÿ¯´\u{ad}±\u{fffd}¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    CodePage {
        name: "858",
        upper: "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
    },
    CodePage {
        name: "862",
        upper: "אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
    },
];

impl From<&'static Encoding> for FileEncoding {
    fn from(encoding: &'static Encoding) -> Self {
        Self(Known::OfWeb(encoding))
    }
}

impl FileEncoding {
    /// The name of the encoding; for a code page of consoles, its number.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Known::OfWeb(encoding) => encoding.name(),
            Known::OfConsole(page) => page.name,
        }
    }

    /// The encoding as `encoding_rs` knows it; `None` for a code page of consoles, which that crate
    /// does not have.
    #[must_use]
    pub fn encoding(self) -> Option<&'static Encoding> {
        match self.0 {
            Known::OfWeb(encoding) => Some(encoding),
            Known::OfConsole(_) => None,
        }
    }

    /// Reads bytes, in which a byte order mark would be a character like any other. Returns the
    /// text, and whether some bytes are no characters of this encoding.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match self.0 {
            Known::OfWeb(encoding) => encoding.decode_without_bom_handling(bytes),
            Known::OfConsole(page) => {
                let character = |byte: &u8| match byte.checked_sub(128) {
                    Some(place) => page.upper.chars().nth(place.into()).unwrap_or('\u{fffd}'),
                    None => char::from(*byte),
                };
                let text: String = bytes.iter().map(character).collect();
                let is_damaged = text.contains('\u{fffd}');
                (text.into(), is_damaged)
            }
        }
    }
}

/// The error for a text that names no known encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEncoding(String);

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an encoding that is known; known are utf-8, utf-16le, utf-16be, the code pages 437, \
             737, 775, 850, 852, 857, 858, 862, 866, 874, 932, 936, 949, 950, 1250 to 1258, 20866, 21866, 28591 to 28606 and 54936, and \
             names such as shift_jis and koi8-r",
            self.0
        )
    }
}

impl core::error::Error for UnknownEncoding {}

/// Parses a name (`windows-1251`, `shift_jis`, `utf-8`) or the number of a code page
/// (`1251`, `cp932`), without regard to case.
impl FromStr for FileEncoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let number = name.trim_start_matches(['c', 'C', 'p', 'P']);
        if let Some(page) = CODE_PAGES.iter().find(|page| page.name == number) {
            return Ok(Self(Known::OfConsole(page)));
        }
        let found = match number {
            "874" => Some(encoding_rs::WINDOWS_874),
            "932" => Some(encoding_rs::SHIFT_JIS),
            "936" => Some(encoding_rs::GBK),
            "949" => Some(encoding_rs::EUC_KR),
            "950" => Some(encoding_rs::BIG5),
            "20866" => Some(encoding_rs::KOI8_R),
            "21866" => Some(encoding_rs::KOI8_U),
            "54936" => Some(encoding_rs::GB18030),
            "65001" => Some(UTF_8),
            "1200" => Some(UTF_16LE),
            "1201" => Some(UTF_16BE),
            _ if number.len() == 4 && number.starts_with("125") => {
                Encoding::for_label(format!("windows-{number}").as_bytes())
            }
            // 28591 is ISO 8859-1, and so on.
            _ if number.len() == 5 && number.starts_with("28") => {
                let part = number.parse().ok().and_then(|number: u16| number.checked_sub(28590));
                part.and_then(|part| Encoding::for_label(format!("iso-8859-{part}").as_bytes()))
            }
            _ => Encoding::for_label(name.as_bytes()),
        };
        found.map(Self::from).ok_or_else(|| UnknownEncoding(name.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_pages_have_their_characters() {
        for (page, bytes, text) in [
            ("437", &b"\x81\xe1\xff"[..], "\u{fc}\u{df}\u{a0}"),
            ("cp850", b"Prozessorzeit\x84\x9b\xb8", "Prozessorzeit\u{e4}\u{f8}\u{a9}"),
            ("852", b"\x88\xa5", "\u{142}\u{105}"),
            ("737", b"\x80\xab", "\u{391}\u{3c4}"),
            ("775", b"\xd0", "\u{105}"),
            ("857", b"\x98\xa7", "\u{130}\u{11f}"),
            ("cp858", b"\xd5", "\u{20ac}"),
            ("862", b"\x80", "\u{5d0}"),
            ("866", b"\x8f\xe0", "\u{41f}\u{440}"),
            ("20866", b"\xf0", "\u{41f}"),
            ("28591", b"\xe4", "\u{e4}"),
            ("28592", b"\xb3", "\u{142}"),
            ("54936", b"\xd6\xd0", "\u{4e2d}"),
            ("932", b"\x83\x5c", "\u{30bd}"),
        ] {
            let encoding: FileEncoding = page.parse().unwrap();
            assert_eq!(encoding.decode(bytes), (text.into(), false), "{page}");
        }
        for page in &CODE_PAGES {
            assert_eq!(page.upper.chars().count(), 128, "{}", page.name);
        }
        for unknown in ["28590", "28602", "281", "1259", "859", ""] {
            assert!(unknown.parse::<FileEncoding>().is_err(), "{unknown}");
        }
    }
}
