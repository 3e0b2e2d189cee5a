//! A value and its base, changed by many threads without a lock, and read as one pair.
//!
//! Not every processor changes two 64-bit numbers at once, and a reader in another process cannot
//! hold writers up. So an update is one addition to a number that contains both: **tagged = value *
//! 2^20 + base** modulo 2^64. The low 20 bits of this number are those of the base. The low 44 bits
//! of the value follow from the tagged number and the whole base. The high bits of both follow from
//! two more numbers, the **anchors**: a value and a base that the counter had not long ago. The
//! present base lies less than 2^20 above its anchor, and the present value less than 2^44 above
//! its own, so that
//!
//! * base = its anchor + the low 20 bits of (tagged - its anchor),
//! * value = its anchor + the low 44 bits of ((tagged - base) / 2^20 - its anchor).
//!
//! An update that takes the base past a multiple of 32, or the value past a multiple of 2^29, then
//! *looks*: it reads the anchors, and renews an anchor that lies half of its range behind. No
//! anchor ever lies farther behind than its range (2^20 or 2^44):
//!
//! * An update is *small* if it adds 1 to 16 to the base and less than 2^29 to the value (half a
//!   second, in nanoseconds). All others are *large* and counted apart, as described below. So the
//!   tagged number and the anchors count small updates, and only grow.
//! * A renewal reads the anchors, the tagged number, and the anchors again until the anchors are
//!   the same twice. So both were the anchors when the tagged number was read, and the decoded
//!   value and base are right. Then the renewal exchanges the value's anchor, and then the base's,
//!   for the decoded value and base, unless another renewal was first. As anchors only grow, an old
//!   one never comes back.
//! * An update that looked when an anchor was half of the range behind therefore left a newer
//!   anchor. There are at most 2^13 updates that have not looked yet, one for each thread inside an
//!   update, and no update passes two multiples at once. So in the meantime less than (2^13 + 2) *
//!   32 < 2^19 is added to the base and less than (2^13 + 2) * 2^29 < 2^43 to the value; with the
//!   half of the range this is less than 2^20 and 2^44. A new anchor is younger than the moment at
//!   which the anchor before was half of the range behind, so that the same holds for the new one.
//! * An update may find the base's anchor ahead of its own addition, and then be wrong about both
//!   anchors. But then another thread renewed the base's anchor after it had read a tagged number
//!   with that addition, and had renewed the value's anchor before, if that was due.
//!
//! *Large* updates add to a value and a base of their own. They are counted in `begun` before the
//! addition and in `ended` after it. A reader adds the large value and base to the others. It reads
//! `ended` before and `begun` after; if they are equal, no large update was in progress.
//!
//! A small update never waits, even if another writer was killed within one. A reader tries again
//! if an anchor was renewed (at most every 2^14 updates) or a large update made meanwhile.
//!
//! # Order
//!
//! An update is one relaxed addition. The look, which is rare, ensures the order: an acquire fence
//! stands between an addition and its look, and a release fence behind the look. Anchors are
//! exchanged with release; anchors and tagged number are read with acquire. Only additions change
//! the tagged number, so that reading it synchronizes with all earlier ones (a release sequence).
//!
//! * A thread that looked and then adds (N) leaves a release fence between the two. A thread that
//!   reads N or a later number, and anchors after it, finds no older anchors than the look found or
//!   left. This holds for a reader, for a renewal, and for another look: the addition before it
//!   comes after N and has the acquire fence behind it.
//! * So all looks of a thread are visible with its later additions; only the look of its last
//!   addition may not be. These looks are the "at most 2^13" above: one for each thread, unless
//!   something else orders them (a join, a lock, a thread that starts another). Threads that ended
//!   or have not run since do not count on any existing machine: processors do not delay their
//!   writes for ever, and a thread moves to another processor only after its writes.
//! * A thread that exchanged an anchor had read a tagged number that has reached the new anchor. So
//!   a thread that reads the anchor, and the tagged number after it, finds the number not behind
//!   the anchor. (An update that looks reads them in the other order; see the last case above.)

use std::sync::atomic::Ordering::{self, AcqRel, Acquire};

#[cfg(loom)]
use loom::sync::atomic::fence;
#[cfg(not(loom))]
use std::sync::atomic::fence;

/// A 64-bit number in the file, changed and read atomically.
pub(crate) trait Word {
    fn get(&self, order: Ordering) -> u64;
    /// Adds a number; returns the number from before the addition.
    fn add(&self, number: u64, order: Ordering) -> u64;
    /// Replaces the number by `new` if it is `current`; returns whether it was.
    fn replace(&self, current: u64, new: u64) -> bool;
}

#[cfg(loom)]
impl Word for loom::sync::atomic::AtomicU64 {
    fn get(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn add(&self, number: u64, order: Ordering) -> u64 {
        self.fetch_add(number, order)
    }
    fn replace(&self, current: u64, new: u64) -> bool {
        self.compare_exchange(current, new, AcqRel, Ordering::Relaxed).is_ok()
    }
}

// With loom as well: the crate's own mapping holds atomics of std, which loom does not model.
impl Word for std::sync::atomic::AtomicU64 {
    #[inline]
    fn get(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    #[inline]
    fn add(&self, number: u64, order: Ordering) -> u64 {
        self.fetch_add(number, order)
    }
    #[inline]
    fn replace(&self, current: u64, new: u64) -> bool {
        self.compare_exchange(current, new, AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The widths of the parts of the tagged number, and so the limits of a small update.
struct Sizes {
    /// The number of bits of the base in the tagged number.
    tag: u32,
    /// The number of bits of the value in the tagged number: 64 less `tag`.
    value: u32,
    /// The largest number that a small update adds to the base.
    small_base: i64,
    /// A small update adds less than this number to the value.
    small_value: i64,
    /// An update looks at the anchors if the base passes a multiple of this number.
    look_base: u64,
    /// An update looks at the anchors if the value passes a multiple of this number.
    look_value: u64,
}

#[cfg(not(loom))]
const SIZES: Sizes = Sizes {
    tag: 20,
    value: 44,
    small_base: 16,
    small_value: 1 << 29,
    look_base: 32,
    look_value: 1 << 29,
};
// These widths are so small that a model's few updates overflow them, with two threads.
#[cfg(loom)]
const SIZES: Sizes =
    Sizes { tag: 4, value: 5, small_base: 1, small_value: 4, look_base: 2, look_value: 4 };

const TAG: u32 = SIZES.tag;
const BASE_BITS: u64 = (1 << TAG) - 1;
const VALUE_BITS: u64 = u64::MAX >> (u64::BITS - SIZES.value);
/// The distance at which the anchor of the base is renewed: half of its range.
const BASE_BEHIND: u64 = 1 << (TAG - 1);
/// The distance at which the anchor of the value is renewed: half of its range.
const VALUE_BEHIND: u64 = 1 << (SIZES.value - 1);
/// The bits of the tagged number of which at least one changes when the base passes a multiple of
/// `look_base`, or the value with the base's carry a multiple of `look_value`.
const LOOK: u64 = (BASE_BITS & !(SIZES.look_base - 1)) | !((SIZES.look_value << TAG) - 1);

/// The seven numbers of a counter with a base.
pub(crate) struct Pair<'a, W> {
    /// The anchor of the value: a value that the counter had not long ago.
    pub(crate) value: &'a W,
    /// The anchor of the base: a base that the counter had not long ago.
    pub(crate) base: &'a W,
    /// The sum of the small updates, as one number: value * 2^20 + base.
    pub(crate) tagged: &'a W,
    /// The number of large updates that have begun.
    pub(crate) begun: &'a W,
    /// The number of large updates that have ended.
    pub(crate) ended: &'a W,
    /// The sum of the values that large updates added.
    pub(crate) large_value: &'a W,
    /// The sum of the bases that large updates added.
    pub(crate) large_base: &'a W,
}

/// The numbers that a read takes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) ended: u64,
    pub(crate) value: u64,
    pub(crate) base: u64,
}

/// The numbers that a read takes second, in any order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) tagged: u64,
    pub(crate) large_value: u64,
    pub(crate) large_base: u64,
}

/// The numbers that a read takes last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    pub(crate) begun: u64,
    pub(crate) value: u64,
    pub(crate) base: u64,
}

/// The value and the base at one moment, from the numbers of a read; `None` if a large update was
/// in progress, or an anchor was renewed, during the read.
#[inline]
pub(crate) fn settle(before: Before, between: Between, after: After) -> Option<(u64, u64)> {
    let Before { ended, value, base } = before;
    let steady = (ended, value, base) == (after.begun, after.value, after.base);
    steady.then(|| {
        let Between { tagged, large_value, large_base } = between;
        let (more_value, more_base) = ahead(tagged, value, base);
        let value = value.wrapping_add(more_value).wrapping_add(large_value);
        (value, base.wrapping_add(more_base).wrapping_add(large_base))
    })
}

/// The distances of value and base, as the tagged number `now` has them, above their anchors.
#[inline]
fn ahead(now: u64, value: u64, base: u64) -> (u64, u64) {
    // Base and value never borrow from each other: neither is below its anchor.
    let ahead = now.wrapping_sub(tagged(value, base));
    ((ahead >> TAG) & VALUE_BITS, ahead & BASE_BITS)
}

/// The number that an update of `value` and `base` adds to the tagged number.
#[inline]
fn tagged(value: u64, base: u64) -> u64 {
    (value << TAG).wrapping_add(base)
}

impl<W: Word> Pair<'_, W> {
    /// Adds to the value and to the base, in one update.
    #[inline]
    pub(crate) fn add(&self, value: i64, base: i64) {
        let small_base = (1..=SIZES.small_base).contains(&base);
        if small_base && (0..SIZES.small_value).contains(&value) {
            let step = tagged(value as u64, base as u64);
            let before = self.tagged.add(step, Ordering::Relaxed);
            let now = before.wrapping_add(step);
            // Rare: the anchors may be in another processor's cache again by now.
            if (before ^ now) & LOOK != 0 {
                self.look(now);
            }
        } else {
            self.add_large(value as u64, base as u64);
        }
    }

    /// Looks at the anchors after an update that resulted in the tagged number `now`, and renews an
    /// anchor that lies half of its range behind.
    fn look(&self, now: u64) {
        fence(Acquire);
        let (value, base) = ahead(now, self.value.get(Acquire), self.base.get(Acquire));
        if value >= VALUE_BEHIND || base >= BASE_BEHIND {
            self.renew();
        }
        fence(Ordering::Release);
    }

    /// Replaces the anchors that lie half of their range behind by newer ones.
    #[cold]
    fn renew(&self) {
        loop {
            let (value, base) = (self.value.get(Acquire), self.base.get(Acquire));
            let now = self.tagged.get(Acquire);
            if (value, base) != (self.value.get(Acquire), self.base.get(Acquire)) {
                continue; // Another thread renewed them.
            }
            let (more_value, more_base) = ahead(now, value, base);
            // In this order: when the base's anchor is renewed, the value's was renewed before if due.
            if more_value >= VALUE_BEHIND {
                self.value.replace(value, value.wrapping_add(more_value));
            }
            if more_base >= BASE_BEHIND {
                self.base.replace(base, base.wrapping_add(more_base));
            }
            return;
        }
    }

    /// Adds to the value and to the base in a large update.
    #[cold]
    fn add_large(&self, value: u64, base: u64) {
        // A reader that sees one of the additions also sees `begun`; a reader that sees `ended` sees
        // both additions.
        self.begun.add(1, Ordering::Relaxed);
        self.large_value.add(value, Ordering::Release);
        self.large_base.add(base, Ordering::Release);
        self.ended.add(1, Ordering::Release);
    }

    /// The value and the base at one moment; `None` if a large update was in progress, or an anchor
    /// was renewed, during the read.
    pub(crate) fn try_read(&self) -> Option<(u64, u64)> {
        let before = Before {
            ended: self.ended.get(Acquire),
            value: self.value.get(Acquire),
            base: self.base.get(Acquire),
        };
        let (between, after) = self.read_on();
        settle(before, between, after)
    }

    /// Takes the numbers that a read takes second and last.
    fn read_on(&self) -> (Between, After) {
        let between = Between {
            tagged: self.tagged.get(Acquire),
            large_value: self.large_value.get(Acquire),
            large_base: self.large_base.get(Acquire),
        };
        let (value, base) = (self.value.get(Acquire), self.base.get(Acquire));
        (between, After { value, base, begun: self.begun.get(Ordering::Relaxed) })
    }

    /// Sets the value and the base; returns `false` if a large update or another call of this
    /// function prevented it.
    pub(crate) fn try_set(&self, value: u64, base: u64) -> bool {
        let ended = self.ended.get(Acquire);
        let begun = ended.wrapping_add(1);
        if !self.begun.replace(ended, begun) {
            return false;
        }
        // Reads fail from here until `ended` follows. Value and base are set as of the moment of the
        // read below; small updates after that moment are added to them.
        let told = loop {
            let (value, base) = (self.value.get(Acquire), self.base.get(Acquire));
            let before = Before { ended: begun, value, base };
            let (between, after) = self.read_on();
            match settle(before, between, after) {
                None if after.begun == begun => {} // An anchor was renewed.
                told => break told,
            }
        };
        if let Some((old_value, old_base)) = told {
            self.large_value.add(value.wrapping_sub(old_value), Ordering::Release);
            self.large_base.add(base.wrapping_sub(old_base), Ordering::Release);
        }
        self.ended.add(1, Ordering::Release);
        told.is_some()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::SeqCst;

    #[derive(Default)]
    struct Cells([AtomicU64; 7]);

    impl Cells {
        fn pair(&self) -> Pair<'_, AtomicU64> {
            let [value, base, tagged, begun, ended, large_value, large_base] = &self.0;
            Pair { value, base, tagged, begun, ended, large_value, large_base }
        }

        /// A pair that has counted so much already, in small updates.
        fn at(value: u64, base: u64) -> Self {
            let cells = Self::default();
            cells.0[0].store(value, SeqCst);
            cells.0[1].store(base, SeqCst);
            cells.0[2].store(tagged(value, base), SeqCst);
            cells
        }
    }

    proptest! {
        #[test]
        fn what_was_added_is_read(
            updates in proptest::collection::vec((any::<i64>(), any::<i64>(), 0u8..4), 0..40),
        ) {
            let cells = Cells::default();
            let mut sum = (0u64, 0u64);
            for (value, base, kind) in updates {
                let (value, base) = match kind {
                    0 => (value, base),
                    1 => (value % (1 << 29), base.rem_euclid(17)),
                    2 => (value % 100, 1),
                    _ => (value >> 20, base >> 40),
                };
                cells.pair().add(value, base);
                sum = (sum.0.wrapping_add(value as u64), sum.1.wrapping_add(base as u64));
                prop_assert_eq!(cells.pair().try_read(), Some(sum));
            }
        }

        /// Anchors as far behind as the limits allow.
        #[test]
        fn what_lies_behind_is_brought_up(
            value in any::<u64>(),
            base in any::<u64>(),
            more_value in 0u64..1 << 44,
            more_base in 0u64..1 << 20,
            large in any::<(u64, u64)>(),
        ) {
            let new = (value.wrapping_add(more_value), base.wrapping_add(more_base));
            let (large_value, large_base) = large;
            let between = Between { tagged: tagged(new.0, new.1), large_value, large_base };
            let before = Before { ended: 3, value, base };
            let after = After { begun: 3, value, base };
            let sum = (new.0.wrapping_add(large.0), new.1.wrapping_add(large.1));
            prop_assert_eq!(settle(before, between, after), Some(sum));
            for after in [
                After { begun: 4, ..after },
                After { value: value.wrapping_add(1), ..after },
                After { base: base.wrapping_add(1), ..after },
            ] {
                prop_assert_eq!(settle(before, between, after), None);
            }
        }

        /// Around the ends of both parts of the tagged number, and of 64 bits.
        #[test]
        fn anchors_follow(
            start in any::<(u64, u64)>(),
            updates in proptest::collection::vec((1i64 << 28..1 << 29, 15i64..17), 200),
        ) {
            // More than once round the smaller part of the tagged number.
            let rounds = if std::env::var_os("PERFHIVE_MIRI").is_some() { 4000 } else { 40_000 };
            let cells = Cells::at(start.0, start.1);
            let mut sum = start;
            for (value, base) in updates.iter().cycle().take(rounds) {
                cells.pair().add(*value, *base);
                sum = (sum.0.wrapping_add(*value as u64), sum.1.wrapping_add(*base as u64));
            }
            prop_assert_eq!(cells.pair().try_read(), Some(sum));
            let anchors = (cells.0[0].load(SeqCst), cells.0[1].load(SeqCst));
            prop_assert!(sum.0.wrapping_sub(anchors.0) < VALUE_BEHIND);
            prop_assert!(sum.1.wrapping_sub(anchors.1) < BASE_BEHIND);
        }

        #[test]
        fn set_is_read(pairs in proptest::collection::vec(any::<(u64, u64)>(), 1..20)) {
            let cells = Cells::default();
            for (value, base) in pairs {
                prop_assert!(cells.pair().try_set(value, base));
                prop_assert_eq!(cells.pair().try_read(), Some((value, base)));
            }
        }
    }

    #[test]
    fn a_pair_is_never_torn() {
        let rounds = if std::env::var_os("PERFHIVE_MIRI").is_some() { 30 } else { 100_000 };
        let cells = Cells::default();
        std::thread::scope(|scope| {
            for thread in 0..4i64 {
                let cells = &cells;
                scope.spawn(move || {
                    for round in 0..rounds {
                        // Each value is three times its base; some updates are large.
                        let base = if round % 64 == 63 { 1 << 30 } else { 1 + thread };
                        cells.pair().add(3 * base, base);
                    }
                });
            }
            let mut read = 0;
            let mut tries = 0u64;
            while read < rounds / 2 && tries < 10_000_000 {
                tries += 1;
                if let Some((value, base)) = cells.pair().try_read() {
                    assert_eq!(value, 3 * base);
                    read += 1;
                }
            }
            assert!(read > 0, "nothing was read");
        });
        let per_thread: i64 = (0..4)
            .map(|thread| {
                let large = rounds / 64;
                large * (1 << 30) + (rounds - large) * (1 + thread)
            })
            .sum();
        let sum = per_thread as u64;
        assert_eq!(cells.pair().try_read(), Some((3 * sum, sum)));
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p perfhive-shm --lib models --release`
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;

    struct Cells([AtomicU64; 7]);

    impl Cells {
        /// A pair with so much counted in small updates, and anchors some of them behind.
        fn at(base: u64, behind: u64) -> Arc<Self> {
            let anchor = base.wrapping_sub(behind);
            let three = |number: u64| number.wrapping_mul(3);
            let cells =
                [three(anchor), anchor, tagged(three(base), base), 0, 0, 0, 0].map(AtomicU64::new);
            Arc::new(Self(cells))
        }
        fn pair(&self) -> Pair<'_, AtomicU64> {
            let [value, base, tagged, begun, ended, large_value, large_base] = &self.0;
            Pair { value, base, tagged, begun, ended, large_value, large_base }
        }
    }

    type Update = fn(&Pair<'_, AtomicU64>);

    /// Runs threads that make `updates` at once, and a reader. Checks that every value read is three
    /// times its base, and that at the end nothing is missing.
    fn check_at(start: u64, behind: u64, updates: &'static [Update], end: &'static [u64]) {
        let mut builder = loom::model::Builder::new();
        // Three threads and the reader are as many as take a minute.
        builder.preemption_bound = Some(if updates.len() > 2 { 2 } else { 3 });
        builder.max_branches = 100_000;
        builder.check(move || {
            let cells = Cells::at(start, behind);
            let threads: Vec<_> = updates
                .iter()
                .map(|update| {
                    let cells = Arc::clone(&cells);
                    thread::spawn(move || update(&cells.pair()))
                })
                .collect();
            if let Some((value, base)) = cells.pair().try_read() {
                assert_eq!(value, base.wrapping_mul(3));
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let (value, base) = cells.pair().try_read().unwrap();
            assert_eq!(value, base.wrapping_mul(3));
            let more = base.wrapping_sub(start);
            assert!(end.contains(&more), "{more}");
        });
    }

    fn check(updates: &'static [Update], end: &'static [u64]) {
        check_at(0, 0, updates, end);
    }

    fn three_times(pair: &Pair<'_, AtomicU64>) {
        (0..3).for_each(|_| pair.add(3, 1));
    }

    fn six_times(pair: &Pair<'_, AtomicU64>) {
        (0..6).for_each(|_| pair.add(3, 1));
    }

    /// Both parts of the tagged number go around, and 64 bits do.
    #[test]
    fn anchors_are_renewed() {
        check_at(u64::MAX - 5, 5, &[six_times, three_times], &[9]);
    }

    /// Three threads about to look, each with its own update.
    #[test]
    fn anchors_that_lie_half_behind() {
        check_at(u64::MAX - 5, 7, &[three_times, three_times], &[6]);
        const ONCE: Update = |pair| pair.add(3, 1);
        check_at(2, 7, &[ONCE, ONCE, ONCE], &[3]);
    }

    /// A thread counts beyond the range of the anchors. A reader that sees the thread's last additions
    /// also sees the anchors that the thread renewed.
    #[test]
    fn renewed_pair_is_read_with_its_new_values() {
        check_at(u64::MAX - 5, 7, &[|pair| (0..10).for_each(|_| pair.add(3, 1))], &[10]);
    }

    const HUGE: i64 = 1 << 50;

    #[test]
    fn a_large_and_a_small_update_are_both_counted() {
        check(&[|pair| pair.add(3 * HUGE, HUGE), |pair| pair.add(3, 1)], &[HUGE as u64 + 1]);
    }

    #[test]
    fn setting_against_adding() {
        // Setting tries once and may lose.
        check(
            &[
                |pair| {
                    pair.try_set(3 << 50, 1 << 50);
                },
                |pair| pair.add(3, 1),
            ],
            &[1, 1 << 50, (1 << 50) + 1],
        );
    }

    #[test]
    fn setting_against_a_large_update() {
        check(
            &[
                |pair| {
                    pair.try_set(3 << 50, 1 << 50);
                },
                |pair| pair.add(3 * HUGE, HUGE),
            ],
            &[1 << 50, 2 << 50],
        );
    }

    #[test]
    fn of_two_that_set_one_is_last() {
        check(
            &[
                |pair| {
                    pair.try_set(3 << 50, 1 << 50);
                },
                |pair| {
                    pair.try_set(3 << 30, 1 << 30);
                },
            ],
            &[1 << 50, 1 << 30],
        );
    }
}
