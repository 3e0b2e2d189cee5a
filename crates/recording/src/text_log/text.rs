//! The file of a log as bytes in which quotes, commas and digits are those of ASCII. UTF-8 and code pages stay as they
//! are; UTF-16, which PowerShell makes of typeperf's output, is decoded to UTF-8 piece by piece.

use encoding_rs::{Decoder, Encoding, UTF_16BE, UTF_16LE};
use perfhive_format::FileEncoding;
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};

/// The number of bytes of UTF-16 that are decoded at a time.
const PIECE: usize = 1 << 16;

/// The file of a text log as text. Positions are those in the decoded text.
pub(super) struct Text {
    file: File,
    utf16: Option<Utf16>,
    /// Whether the text was read to its end.
    is_at_end: bool,
    /// The last two bytes that were read.
    last: [u8; 2],
}

struct Utf16 {
    encoding: &'static Encoding,
    decoder: Decoder,
    /// The decoded text of which a part is not read yet.
    text: String,
    /// The number of bytes of `text` that were read.
    read: usize,
    /// The position of the text that is read next.
    at: u64,
    is_ended: bool,
}

impl Text {
    /// The text of a file, which is decoded if it is UTF-16. It is UTF-16 if a byte order mark says so, if its first
    /// two bytes are a letter and a zero in either order, or if `wanted` is UTF-16.
    pub(super) fn new(mut file: File, wanted: Option<FileEncoding>) -> Result<Self> {
        let mut mark = Vec::new();
        Read::take(&mut file, 2).read_to_end(&mut mark)?;
        let marked = Encoding::for_bom(&mark).map(|(encoding, _)| encoding);
        let encoding = marked.or(match mark.as_slice() {
            [letter, 0] if *letter != 0 => Some(UTF_16LE),
            [0, letter] if *letter != 0 => Some(UTF_16BE),
            _ => wanted.and_then(FileEncoding::encoding),
        });
        let encoding = encoding.filter(|encoding| [UTF_16LE, UTF_16BE].contains(encoding));
        let utf16 = encoding.map(Utf16::new);
        let mut text = Self { file, utf16, is_at_end: false, last: [0; 2] };
        text.seek(SeekFrom::Start(0))?;
        Ok(text)
    }

    /// Whether the text ends as a line of perfmon's does, with the quotation mark behind a cell;
    /// `None` if the text was not read to its end.
    pub(super) fn end(&self) -> Option<bool> {
        let is_closed = self.last[1] == b'"' && !b",\t".contains(&self.last[0]);
        self.is_at_end.then_some(is_closed)
    }
}

impl Utf16 {
    fn new(encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        Self { encoding, decoder, text: String::new(), read: 0, at: 0, is_ended: false }
    }

    /// Decodes until there is text to read, or the file ends. Returns the decoded bytes that are not read yet; empty at
    /// the end of the file.
    fn fill(&mut self, file: &mut File) -> Result<&[u8]> {
        let mut piece = [0; PIECE];
        while self.read == self.text.len() && !self.is_ended {
            let count = file.read(&mut piece)?;
            self.is_ended = count == 0;
            self.text.clear();
            self.read = 0;
            let bytes = piece.get(..count).unwrap_or_default();
            self.text.reserve(self.decoder.max_utf8_buffer_length(count).unwrap_or(0));
            let _ = self.decoder.decode_to_string(bytes, &mut self.text, self.is_ended);
        }
        Ok(self.text.as_bytes().get(self.read..).unwrap_or_default())
    }

    fn take(&mut self, count: usize) {
        self.read += count;
        self.at += count as u64;
    }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let count = match &mut self.utf16 {
            None => self.file.read(into)?,
            Some(utf16) => {
                let count = utf16.fill(&mut self.file)?.read(into)?;
                utf16.take(count);
                count
            }
        };
        match into.get(..count).unwrap_or_default() {
            [] => self.is_at_end = true,
            [only] => self.last = [self.last[1], *only],
            [.., before, last] => self.last = [*before, *last],
        }
        Ok(count)
    }
}

impl Seek for Text {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.is_at_end = false;
        let (Some(utf16), SeekFrom::Start(to)) = (&mut self.utf16, to) else {
            return self.file.seek(to);
        };
        // The file's offset for a position in the decoded text is not known, so what lies before is decoded.
        if to < utf16.at || to == 0 {
            self.file.seek(SeekFrom::Start(0))?;
            *utf16 = Utf16::new(utf16.encoding);
        }
        while utf16.at < to {
            let wanted = usize::try_from(to - utf16.at).unwrap_or(usize::MAX);
            match utf16.fill(&mut self.file)?.len() {
                0 => break,
                there => utf16.take(there.min(wanted)),
            }
        }
        Ok(utf16.at)
    }
}
