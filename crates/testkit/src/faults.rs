//! Damage: every truncation, and changes of single bytes.

/// Every proper beginning of `bytes`, the empty one first.
pub fn truncations(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).filter_map(|length| bytes.get(..length))
}

/// One byte set to another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The offset of the byte.
    pub at: usize,
    /// The byte's value before the change.
    pub from: u8,
    /// The byte's value after the change.
    pub to: u8,
}

impl Change {
    /// Runs `work` on the changed bytes, then undoes the change, so that no change needs a copy of
    /// the bytes.
    ///
    /// # Panics
    /// If the byte at the offset is not `from`.
    pub fn apply<T>(self, bytes: &mut [u8], work: impl FnOnce(&[u8]) -> T) -> T {
        assert_eq!(bytes.get(self.at), Some(&self.from), "{self:?}");
        if let Some(byte) = bytes.get_mut(self.at) {
            *byte = self.to;
        }
        let result = work(bytes);
        if let Some(byte) = bytes.get_mut(self.at) {
            *byte = self.from;
        }
        result
    }
}

/// All 255 changes of every byte.
pub fn all_changes(bytes: &[u8]) -> impl Iterator<Item = Change> + use<> {
    let bytes = bytes.to_vec();
    bytes.into_iter().enumerate().flat_map(|(at, from)| {
        (0..=u8::MAX).filter(move |to| *to != from).map(move |to| Change { at, from, to })
    })
}

/// `per_byte` different changes of every byte, at most 255: first the changes that matter most for
/// lengths and counts (0, 255, one more, one less, the sign bit), then random ones. The same seed
/// gives the same changes.
pub fn some_changes(
    bytes: &[u8],
    per_byte: usize,
    seed: u64,
) -> impl Iterator<Item = Change> + use<> {
    let bytes = bytes.to_vec();
    let mut random = Random::new(seed);
    bytes.into_iter().enumerate().flat_map(move |(at, from)| {
        let first = [0, 0xff, from.wrapping_add(1), from.wrapping_sub(1), from ^ 0x80];
        let mut chosen: Vec<u8> = Vec::with_capacity(per_byte);
        for to in first {
            if to != from && !chosen.contains(&to) && chosen.len() < per_byte {
                chosen.push(to);
            }
        }
        while chosen.len() < per_byte.min(255) {
            let to = random.next_u64() as u8;
            if to != from && !chosen.contains(&to) {
                chosen.push(to);
            }
        }
        chosen.into_iter().map(move |to| Change { at, from, to })
    })
}

/// A small generator of numbers that look random (SplitMix64), for tests and benchmarks that need
/// the same numbers each time.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator at the beginning of its sequence; the same seed gives the same sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, any of 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_complete_and_taken_back() {
        let mut bytes = [0u8, 7, 255];
        let all: Vec<Change> = all_changes(&bytes).collect();
        assert_eq!(all.len(), 3 * 255);
        for change in &all {
            change.apply(&mut bytes, |damaged| {
                assert_eq!(damaged[change.at], change.to);
                assert_ne!(damaged, [0u8, 7, 255]);
            });
        }
        assert_eq!(bytes, [0, 7, 255]);
        let some: Vec<Change> = some_changes(&bytes, 8, 1).collect();
        assert_eq!(some.len(), 3 * 8);
        assert_eq!(some, some_changes(&bytes, 8, 1).collect::<Vec<_>>());
        assert_eq!(some_changes(&bytes, 999, 1).count(), all.len());
        let lengths: Vec<usize> = truncations(&bytes).map(<[u8]>::len).collect();
        assert_eq!(lengths, [0, 1, 2]);
    }
}
