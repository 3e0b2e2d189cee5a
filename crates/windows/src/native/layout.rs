//! The counters of an object that this system fills, and their values.

use perfhive_engine::standard::MOST;

/// The counters of an object that this system fills, as positions in the object's table of
/// counters.
///
/// Some counters are always filled. Others are filled once an instance has a value other than 0, or
/// only by [`add`](Self::add). A filled counter stays filled.
pub(super) struct Filled {
    known: u64,
    /// Positions that count as filled only after [`add`](Self::add), whatever their values are.
    by_rule: u64,
}

impl Filled {
    /// Begins with the positions in `always` as filled. The positions in `by_rule` count as filled
    /// only after [`add`](Self::add), whatever their values are.
    pub(super) fn new(always: u64, by_rule: u64) -> Self {
        Self { known: always, by_rule }
    }

    /// Notes as filled the positions at which an instance has a value other than 0.
    pub(super) fn see(&mut self, values: &[u64]) {
        let bits = (0..).zip(values).filter(|(_, value)| **value != 0);
        self.known |= bits.fold(0, |mask, (place, _)| mask | 1u64 << place) & !self.by_rule;
    }

    /// Adds positions that are known to be filled for a reason other than their values.
    pub(super) fn add(&mut self, mask: u64) {
        self.known |= mask;
    }

    pub(super) fn mask(&self) -> u64 {
        self.known
    }
}

/// Copies the values at the positions of the bits that are set in `mask` to `out`, in order, and returns
/// the copied ones.
pub(super) fn pick<'a>(values: &[u64], mask: u64, out: &'a mut [u64; MOST]) -> &'a [u64] {
    let wanted = (0..).zip(values).filter(|(place, _)| mask & (1u64 << place) != 0);
    let mut count = 0;
    for (slot, (_, value)) in out.iter_mut().zip(wanted) {
        *slot = *value;
        count += 1;
    }
    out.get(..count).unwrap_or_default()
}

/// The decimal digits of a number, made without an allocation.
pub(super) struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    pub(super) fn of(number: u64) -> Self {
        let (mut bytes, mut start, mut rest) = ([b'0'; 20], 20, number);
        loop {
            start -= 1;
            if let Some(digit) = bytes.get_mut(start) {
                *digit = b'0' + (rest % 10) as u8;
            }
            rest /= 10;
            if rest == 0 || start == 0 {
                return Self { bytes, start };
            }
        }
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(self.bytes.get(self.start..).unwrap_or_default()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_numbers_are_decimal() {
        for number in [0, 7, 10, 4294967296, u64::MAX] {
            assert_eq!(Digits::of(number).text(), number.to_string());
        }
    }

    #[test]
    fn a_counter_that_was_filled_once_stays_filled() {
        let mut filled = Filled::new(0b0001, 0b1000);
        assert_eq!(filled.mask(), 0b0001);
        filled.see(&[0, 0, 5, 5]);
        filled.see(&[0, 0, 0, 0]);
        assert_eq!(filled.mask(), 0b0101);
        filled.add(0b1000);
        let mut out = [0; MOST];
        assert_eq!(pick(&[1, 2, 3, 4], filled.mask(), &mut out), [1, 3, 4]);
    }
}
