//! A value and its base, changed by many threads without a lock, and read as
//! one pair.
//!
//! Two numbers of 64 bits cannot be read at once everywhere, and a reader from
//! another process cannot hold writers up. So there is a third number, **tagged
//! = value * 2^20 + base** modulo 2^64, and one addition to it is the moment at
//! which an update happens to both. It says the low 20 bits of the base and,
//! these taken away with the whole base, the low 44 bits of the value. The value
//! and the base alone lag behind it or run ahead of it by what threads are about
//! to add just then; they give the high bits. Neither can be off by half of what
//! the tag tells apart, for these reasons:
//!
//! * An update is *small* if it adds 1 to 16 to the base and less than 2^28 to or
//!   from the value (a quarter of a second, in nanoseconds). A reader reads the
//!   base before and after. As every small update adds at least 1, fewer than
//!   2^14 were completed meanwhile where the base grew by less. If besides at
//!   most 2^13 threads are inside an update at once, value and tag differ by
//!   fewer than 2^13 + 2^13 + 2^14 updates: less than 2^43, half of 44 bits; base
//!   and tag by less than 2^14 + 2 * 16 * 2^13, below 2^19, half of 20 bits.
//! * Every other update counts itself in `begun` before and in `ended` after. A
//!   reader reads `ended` before and `begun` after; where they are equal none was
//!   under way.
//!
//! Small updates are three relaxed additions; nobody waits for anybody, a writer
//! killed in the middle included. A reader tries again only where 2^14 updates
//! were made while it looked, or a large one.

use std::sync::atomic::Ordering;

/// A number in the file.
pub(crate) trait Word {
    fn get(&self, order: Ordering) -> u64;
    fn add(&self, number: u64, order: Ordering);
    fn replace(&self, current: u64, new: u64) -> bool;
}

#[cfg(not(loom))]
type Atomic = std::sync::atomic::AtomicU64;
#[cfg(loom)]
type Atomic = loom::sync::atomic::AtomicU64;

impl Word for Atomic {
    #[inline]
    fn get(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    #[inline]
    fn add(&self, number: u64, order: Ordering) {
        self.fetch_add(number, order);
    }
    #[inline]
    fn replace(&self, current: u64, new: u64) -> bool {
        self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

// The crate's own mapping is of std's atomics, which loom does not know.
#[cfg(loom)]
impl Word for std::sync::atomic::AtomicU64 {
    fn get(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn add(&self, number: u64, order: Ordering) {
        self.fetch_add(number, order);
    }
    fn replace(&self, current: u64, new: u64) -> bool {
        self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// Bits of the base in the tagged number.
const TAG: u32 = 20;
/// The largest addition to the base of a small update.
const SMALL_BASE: i64 = 16;
/// Above any addition to the value of a small update.
const SMALL_VALUE: u64 = 1 << 28;
/// What the base must not have grown by while a reader looked.
const PROGRESS: u64 = 1 << 14;

/// The five numbers of a counter with a base.
pub(crate) struct Pair<'a, W> {
    pub(crate) value: &'a W,
    pub(crate) base: &'a W,
    pub(crate) tagged: &'a W,
    pub(crate) begun: &'a W,
    pub(crate) ended: &'a W,
}

/// What a reader reads first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) ended: u64,
    pub(crate) base: u64,
}

/// What a reader reads then, in any order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) value: u64,
    pub(crate) base: u64,
    pub(crate) tagged: u64,
}

/// What a reader reads last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    pub(crate) begun: u64,
    pub(crate) base: u64,
}

/// Value and base as they were at one moment, or nothing where too much
/// happened meanwhile.
#[inline]
pub(crate) fn settle(before: Before, between: Between, after: After) -> Option<(u64, u64)> {
    let steady = before.ended == after.begun && after.base.wrapping_sub(before.base) < PROGRESS;
    steady.then(|| {
        let Between { value, base, tagged } = between;
        let base = base.wrapping_add(nearest(tagged.wrapping_sub(base), TAG));
        let low = tagged.wrapping_sub(base) >> TAG;
        (value.wrapping_add(nearest(low.wrapping_sub(value), u64::BITS - TAG)), base)
    })
}

/// The number closest to 0, in two's complement, with these low bits.
#[inline]
fn nearest(number: u64, bits: u32) -> u64 {
    let unused = u64::BITS - bits;
    (((number << unused) as i64) >> unused) as u64
}

/// What an update adds to the tagged number.
#[inline]
fn tagged(value: u64, base: u64) -> u64 {
    (value << TAG).wrapping_add(base)
}

impl<W: Word> Pair<'_, W> {
    /// Adds to both.
    #[inline]
    pub(crate) fn add(&self, value: i64, base: i64) {
        if (1..=SMALL_BASE).contains(&base) && value.unsigned_abs() < SMALL_VALUE {
            let (value, base) = (value as u64, base as u64);
            self.value.add(value, Ordering::Relaxed);
            self.base.add(base, Ordering::Relaxed);
            self.tagged.add(tagged(value, base), Ordering::Relaxed);
        } else {
            self.add_large(value as u64, base as u64);
        }
    }

    #[cold]
    fn add_large(&self, value: u64, base: u64) {
        // Whoever sees one of the additions also sees that it was begun, and
        // whoever sees that it ended sees all of them.
        self.begun.add(1, Ordering::Relaxed);
        self.value.add(value, Ordering::Release);
        self.base.add(base, Ordering::Release);
        self.tagged.add(tagged(value, base), Ordering::Release);
        self.ended.add(1, Ordering::Release);
    }

    /// Both, if they can be told at the first try.
    pub(crate) fn try_read(&self) -> Option<(u64, u64)> {
        self.try_look().map(|(pair, _)| pair)
    }

    /// Both, and the tagged number that says so.
    fn try_look(&self) -> Option<((u64, u64), u64)> {
        let before = Before {
            ended: self.ended.get(Ordering::Acquire),
            base: self.base.get(Ordering::Acquire),
        };
        let between = Between {
            value: self.value.get(Ordering::Acquire),
            base: self.base.get(Ordering::Acquire),
            tagged: self.tagged.get(Ordering::Acquire),
        };
        let after = After {
            base: self.base.get(Ordering::Relaxed),
            begun: self.begun.get(Ordering::Relaxed),
        };
        Some((settle(before, between, after)?, between.tagged))
    }

    /// Sets both, whatever they were; `false` if somebody else changed them
    /// meanwhile.
    pub(crate) fn try_set(&self, value: u64, base: u64) -> bool {
        let Some(((old_value, old_base), old)) = self.try_look() else { return false };
        let (value, base) = (value.wrapping_sub(old_value), base.wrapping_sub(old_base));
        self.begun.add(1, Ordering::Relaxed);
        let new = old.wrapping_add(tagged(value, base));
        // The tagged number has not changed since both were told, so they are
        // still what they were then.
        let won = self.tagged.replace(old, new);
        if won {
            self.value.add(value, Ordering::Release);
            self.base.add(base, Ordering::Release);
        }
        self.ended.add(1, Ordering::Release);
        won
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicU64;

    #[derive(Default)]
    struct Cells([AtomicU64; 5]);

    impl Cells {
        fn pair(&self) -> Pair<'_, AtomicU64> {
            let [value, base, tagged, begun, ended] = &self.0;
            Pair { value, base, tagged, begun, ended }
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
                    1 => (value % (1 << 28), base.rem_euclid(17)),
                    2 => (value % 100, 1),
                    _ => (value >> 20, base >> 40),
                };
                cells.pair().add(value, base);
                sum = (sum.0.wrapping_add(value as u64), sum.1.wrapping_add(base as u64));
                prop_assert_eq!(cells.pair().try_read(), Some(sum));
            }
        }

        /// Value and base off by all that the limits allow.
        #[test]
        fn lagging_numbers_are_brought_up(
            value in any::<u64>(),
            base in any::<u64>(),
            value_off in -(1i64 << 43) + 1..1 << 43,
            base_off in -(1i64 << 19) + 1..1 << 19,
        ) {
            let between = Between {
                value: value.wrapping_add(value_off as u64),
                base: base.wrapping_add(base_off as u64),
                tagged: tagged(value, base),
            };
            let before = Before { ended: 3, base };
            let after = After { begun: 3, base };
            prop_assert_eq!(settle(before, between, after), Some((value, base)));
            prop_assert_eq!(settle(before, between, After { begun: 4, base }), None);
            let grown = After { begun: 3, base: base.wrapping_add(PROGRESS) };
            prop_assert_eq!(settle(before, between, grown), None);
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
                        // Each has three times its base; some are large.
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

    struct Cells([AtomicU64; 5]);

    impl Cells {
        fn new() -> Arc<Self> {
            Arc::new(Self(std::array::from_fn(|_| AtomicU64::new(0))))
        }
        fn pair(&self) -> Pair<'_, AtomicU64> {
            let [value, base, tagged, begun, ended] = &self.0;
            Pair { value, base, tagged, begun, ended }
        }
    }

    /// Threads that do these at once, and a reader; every pair that is read has
    /// three times its base as its value, and in the end nothing is missing.
    fn check(updates: &'static [fn(&Pair<'_, AtomicU64>)], end: &'static [u64]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let cells = Cells::new();
            let threads: Vec<_> = updates
                .iter()
                .map(|update| {
                    let cells = Arc::clone(&cells);
                    thread::spawn(move || update(&cells.pair()))
                })
                .collect();
            if let Some((value, base)) = cells.pair().try_read() {
                assert_eq!(value, 3 * base);
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            let (value, base) = cells.pair().try_read().unwrap();
            assert_eq!(value, 3 * base);
            assert!(end.contains(&base), "{base}");
        });
    }

    const HUGE: i64 = 1 << 50;

    #[test]
    fn small_updates() {
        check(&[|pair| pair.add(3, 1), |pair| pair.add(48, 16)], &[17]);
    }

    #[test]
    fn a_large_update_and_a_small_one() {
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
