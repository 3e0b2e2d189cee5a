//! Numbers in few bytes. A byte has seven bits of the number, the lowest first, and an eighth bit
//! that says whether more bytes follow.

/// Appends a number in groups of 7 bits, the lowest first; the highest bit of each byte but the
/// last is set.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends the length of a text or of other bytes, then the bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A difference as a number that is small if the difference is, for either sign.
pub(super) fn fold(difference: u32) -> u32 {
    (difference << 1) ^ ((difference as i32 >> 31) as u32)
}

/// The difference of which [`fold`] made this number.
pub(super) fn unfold(folded: u32) -> u32 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

/// Bytes that are read from front to back.
#[derive(Clone, Copy)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a number that counts or measures things in memory; `None` if it is larger than `most`,
    /// or damaged.
    pub(super) fn count(&mut self, most: usize) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= most)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a length, then as many bytes, and returns the bytes; `None` if the input is damaged or
    /// has fewer.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.count(self.0.len())?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_differences_come_back() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            let mut input = Input(&bytes);
            assert_eq!((input.number(), input.0.len()), (Some(number), 0));
            bytes.pop();
            assert_eq!(Input(&bytes).number(), None, "cut off");
        }
        assert_eq!(Input(&[0xff; 9]).number(), None);
        assert_eq!(
            Input(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(),
            None
        );
        for difference in [0, 1, u32::MAX, 5, 0x8000_0000, 0x7fff_ffff] {
            assert_eq!(unfold(fold(difference)), difference);
        }
        assert_eq!(fold(1), 2);
        assert_eq!(fold(u32::MAX), 1);
    }
}
