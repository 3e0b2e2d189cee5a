//! Messages between Java and Rust: little-endian numbers, texts as length and UTF-8.
//!
//! | type | bytes |
//! |---|---|
//! | `u8`, `bool` | 1 |
//! | `i32` | 4 |
//! | `i64` | 8 |
//! | text | `i32` length in bytes, then UTF-8 |
//! | list | `i32` count, then the entries |
//!
//! The reader on Java's side is `org.perfhive.Message`. Both sides come from one build, so there is
//! no version in a message.

use crate::failure::{Failure, Kind};

/// A message to Java.
#[derive(Default)]
pub(crate) struct Answer(Vec<u8>);

impl Answer {
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(u8::from(value))
    }

    pub(crate) fn i32(&mut self, value: i32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn i64(&mut self, value: i64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds the bits of an unsigned number.
    pub(crate) fn bits(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn index(&mut self, index: perfhive::TitleIndex) -> &mut Self {
        self.i32(index.0.cast_signed())
    }

    /// Adds a length. A length greater than that of any Java array is written as the greatest
    /// one.
    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        self.i32(i32::try_from(count).unwrap_or(i32::MAX))
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.count(text.len());
        self.0.extend(text.as_bytes());
        self
    }

    pub(crate) fn optional_text(&mut self, text: Option<&str>) -> &mut Self {
        self.bool(text.is_some());
        if let Some(text) = text {
            self.text(text);
        }
        self
    }

    pub(crate) fn texts(&mut self, texts: impl ExactSizeIterator<Item = impl AsRef<str>>) {
        self.count(texts.len());
        texts.for_each(|text| _ = self.text(text.as_ref()));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// An answer with the bytes of a message that was written before.
impl From<Vec<u8>> for Answer {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// A message from Java.
pub(crate) struct Request<'a>(&'a [u8]);

impl<'a> Request<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Failure> {
        let short = || Failure::new(Kind::Internal, "the request of the Java side is too short");
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, Failure> {
        Ok(self.array::<1>()? != [0])
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Failure> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Failure> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub(crate) fn index(&mut self) -> Result<perfhive::TitleIndex, Failure> {
        Ok(perfhive::TitleIndex(self.i32()?.cast_unsigned()))
    }

    pub(crate) fn text(&mut self) -> Result<String, Failure> {
        let length = usize::try_from(self.i32()?).unwrap_or(usize::MAX);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    /// Reads a list, each entry with `read`.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        // Nothing is reserved: the count is not to be trusted.
        (0..self.i32()?).map(|_| read(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn requests_are_read_back_and_short_ones_are_errors() {
        let mut answer = Answer::default();
        answer.bool(true).i32(-5).i64(1 << 40).text("Größe");
        answer.texts(["a", ""].iter());
        let bytes = answer.into_bytes();
        let mut request = Request::new(&bytes);
        assert!(request.bool().unwrap());
        assert_eq!((request.i32().unwrap(), request.i64().unwrap()), (-5, 1 << 40));
        assert_eq!(request.text().unwrap(), "Größe");
        assert_eq!(request.list(Request::text).unwrap(), ["a", ""]);
        for bytes in [&[][..], &[1, 0, 0], &[255, 255, 255, 127], &[255; 4]] {
            assert!(Request::new(bytes).text().is_err(), "{bytes:?}");
        }
        assert!(Request::new(&[255, 255, 255, 127]).list(Request::i64).is_err());
    }
}
