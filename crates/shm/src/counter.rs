//! [`PublishedCounter`] and [`PairCounter`]: the handles that a program counts with.
#![allow(unsafe_code, reason = "handles point into the mapping")]

use crate::os::ForkGuard;
use crate::pair::Pair;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A pointer to a number in the mapping. The owner of the cell keeps the mapping alive.
#[derive(Clone, Copy, Debug)]
struct Cell(NonNull<AtomicU64>);

// SAFETY: it points to an atomic, which any thread may use.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

impl Cell {
    #[inline]
    fn get(&self) -> &AtomicU64 {
        // SAFETY: `PublishedCounter` and `PairCounter` make cells of references into the mapping of the
        // instance that they hold (or to a static) and hand out no cell, so that the mapping
        // outlives every cell.
        unsafe { self.0.as_ref() }
    }
}

/// A reference to an instance, which keeps the instance's slot from being used again.
type Instance = Arc<dyn std::fmt::Debug + Send + Sync>;

/// A counter without a base. Clones are handles to the same counter.
///
/// Every change is one relaxed atomic operation: no lock, no system call, no allocation. In a
/// process that was forked from the publishing process, changes have no effect.
#[derive(Clone, Debug)]
pub struct PublishedCounter {
    cell: Cell,
    guard: ForkGuard,
    _instance: Instance,
}

impl PublishedCounter {
    pub(crate) fn new(instance: Instance, at: &AtomicU64, guard: ForkGuard) -> Self {
        let cell = Cell(NonNull::from(at));
        Self { cell, guard, _instance: instance }
    }

    #[inline]
    fn add(&self, number: u64) {
        if self.guard.holds() {
            self.cell.get().fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Adds 1 to the counter.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds a number, which may be negative, to the counter. Readers take the sum for a number
    /// without sign: -1 is 2^64 - 1. For a number that may be below 0, declare the type
    /// `PERF_DOUBLE_RAW` and call [`set_double`](Self::set_double).
    #[inline]
    pub fn increment_by(&self, number: i64) {
        self.add(number as u64);
    }

    /// Subtracts 1 from the counter; see [`increment_by`](Self::increment_by) for numbers below 0.
    #[inline]
    pub fn decrement(&self) {
        self.add(u64::MAX);
    }

    /// Sets the counter to a number.
    #[inline]
    pub fn set(&self, number: u64) {
        if self.guard.holds() {
            self.cell.get().store(number, Ordering::Relaxed);
        }
    }

    /// Sets a counter of type `PERF_DOUBLE_RAW`, which holds a double, to a number.
    #[inline]
    pub fn set_double(&self, number: f64) {
        self.set(number.to_bits());
    }

    /// Sets a counter of type `PERF_ELAPSED_TIME` to the present time: readers show the time since
    /// this call.
    pub fn set_start(&self) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |time| i128::try_from(time.as_nanos()).unwrap_or(0));
        self.set(perfhive_format::FileTime::from_unix_nanos(nanos).0 as u64);
    }

    /// Adds a duration, in nanoseconds, to a counter of a timer type.
    #[inline]
    pub fn add_time(&self, time: Duration) {
        self.add(nanoseconds(time));
    }

    /// Starts to measure a time. When the returned guard is dropped, the nanoseconds since this call
    /// are added to the counter, which must be of a timer type.
    #[must_use = "it measures until it is dropped"]
    pub fn time(&self) -> ActiveTime<'_> {
        ActiveTime { counter: self, start: Instant::now() }
    }

    /// The present number of the counter.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.cell.get().load(Ordering::Relaxed)
    }
}

#[inline]
fn nanoseconds(time: Duration) -> u64 {
    // 64 bits hold 584 years.
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A guard that measures an active time until it is dropped; see [`PublishedCounter::time`].
#[derive(Debug)]
pub struct ActiveTime<'a> {
    counter: &'a PublishedCounter,
    start: Instant,
}

impl Drop for ActiveTime<'_> {
    fn drop(&mut self) {
        self.counter.add_time(self.start.elapsed());
    }
}

/// A counter that has a base: an average, a fraction, a share of several items. Clones are handles
/// to the same counter.
///
/// Value and base change together, and readers see both changes or neither. An update of 1 to 16
/// operations and 0 to half a second (0 to 2^29 - 1 of another unit) is usually one atomic
/// addition; any other update is four additions. Counting never waits; [`set`](Self::set) and
/// [`get`](Self::get) may.
#[derive(Clone, Debug)]
pub struct PairCounter {
    cells: [Cell; 7],
    guard: ForkGuard,
    _instance: Instance,
}

impl PairCounter {
    pub(crate) fn new(instance: Instance, at: [&AtomicU64; 7], guard: ForkGuard) -> Self {
        Self { cells: at.map(|at| Cell(NonNull::from(at))), guard, _instance: instance }
    }

    #[inline]
    fn pair(&self) -> Pair<'_, AtomicU64> {
        let [value, base, tagged, begun, ended, large_value, large_base] = &self.cells;
        Pair {
            value: value.get(),
            base: base.get(),
            tagged: tagged.get(),
            begun: begun.get(),
            ended: ended.get(),
            large_value: large_value.get(),
            large_base: large_base.get(),
        }
    }

    /// Adds a number to the value and a number to the base; both may be negative.
    #[inline]
    pub fn add(&self, value: i64, base: i64) {
        if self.guard.holds() {
            self.pair().add(value, base);
        }
    }

    /// Counts one operation: adds 1 to the base, and a number to the value. The number is the
    /// operation's size, or 1 for a hit and 0 for a miss.
    #[inline]
    pub fn record(&self, value: i64) {
        self.add(value, 1);
    }

    /// Counts one operation of this duration, for a counter of the type `PERF_AVERAGE_TIMER`.
    #[inline]
    pub fn record_time(&self, time: Duration) {
        self.add(i64::try_from(nanoseconds(time)).unwrap_or(i64::MAX), 1);
    }

    /// Counts one operation that lasts until the returned guard is dropped.
    #[must_use = "it measures until it is dropped"]
    pub fn time(&self) -> OperationTime<'_> {
        OperationTime { counter: self, start: Instant::now() }
    }

    /// Sets the value and the base. Waits while another thread sets them or makes an update of four
    /// additions.
    pub fn set(&self, value: u64, base: u64) {
        while self.guard.holds() && !self.pair().try_set(value, base) {
            std::thread::yield_now();
        }
    }

    /// The value and the base, in this order, at one moment. Waits while another thread sets them or
    /// makes an update of four additions.
    #[must_use]
    pub fn get(&self) -> (u64, u64) {
        loop {
            if let Some(pair) = self.pair().try_read() {
                return pair;
            }
            std::thread::yield_now();
        }
    }
}

/// A guard that measures the time of one operation until it is dropped; see [`PairCounter::time`].
#[derive(Debug)]
pub struct OperationTime<'a> {
    counter: &'a PairCounter,
    start: Instant,
}

impl Drop for OperationTime<'_> {
    fn drop(&mut self) {
        self.counter.record_time(self.start.elapsed());
    }
}
