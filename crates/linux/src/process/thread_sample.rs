//! The values of a thread, in the order of its counters.

use crate::table::COMMON_COUNTERS;
use perfhive_format::FileTime;

/// The most counts behind the common values of which `_Total` has the sum.
pub(super) const SUMS: usize = 5;
/// The most values of a thread.
const MOST: usize = COMMON_COUNTERS + SUMS + 5;

/// The positions of the common values of which `_Total` has no sum.
mod at {
    pub(super) const ELAPSED: usize = 3;
    pub(super) const PID: usize = 4;
    pub(super) const TID: usize = 5;
}

/// The values of a thread, up to the first value that it lacks.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    values: [u64; MOST],
    known: usize,
    /// The number of values up to the last value of which `_Total` has the sum.
    summed: usize,
}

impl Sample {
    pub(super) fn new(common: [u64; COMMON_COUNTERS]) -> Self {
        let mut sample = Self { values: [0; MOST], known: 0, summed: COMMON_COUNTERS };
        common.into_iter().for_each(|value| sample.push(value));
        sample
    }

    pub(super) fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.known) {
            *place = value;
            self.known += 1;
        }
    }

    /// Adds a value of which `_Total` has the sum.
    pub(super) fn push_summed(&mut self, value: u64) {
        self.push(value);
        self.summed = self.known;
    }

    /// Adds the values of a thread to this sum, as far as `_Total` has sums and the thread has
    /// values.
    pub(super) fn add(&mut self, other: &Self) {
        let values = other.values.iter().take(other.summed);
        for (sum, value) in self.values.iter_mut().zip(values) {
            *sum = sum.saturating_add(*value);
        }
        self.known = self.known.max(other.summed);
    }

    /// The [key](key_of) of the thread, and its start time.
    pub(super) fn identity(&self) -> (u64, u64) {
        let number = |place| self.values.get(place).copied().unwrap_or(0) as u32;
        (key_of(number(at::PID), number(at::TID)), self.values[at::ELAPSED])
    }

    /// The count at a position behind the common values; `None` if `_Total` has no sum of it or the
    /// thread lacks it.
    pub(super) fn sum(&self, place: usize) -> Option<u64> {
        let place = COMMON_COUNTERS + place;
        self.values.get(place).copied().filter(|_| place < self.summed)
    }

    /// Adds `more` to the counts behind the common values, as far as this sum has them.
    pub(super) fn add_sums(&mut self, more: [u64; SUMS]) {
        let known = self.known.saturating_sub(COMMON_COUNTERS);
        let sums = self.values.iter_mut().skip(COMMON_COUNTERS).take(known);
        for (sum, more) in sums.zip(more) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Sets processor times in all, in the program and in the kernel (100 ns units), page faults,
    /// and major page faults.
    pub(super) fn set_common(&mut self, [all, user, kernel, faults, major]: [u64; 5]) {
        for (place, value) in [(0, all), (1, user), (2, kernel), (6, faults), (7, major)] {
            self.values[place] = value;
        }
    }

    /// Turns this sum into the sample of `_Total`: the start time is `now`, and the numbers are 0.
    pub(super) fn make_total(&mut self, now: FileTime) {
        self.values[at::ELAPSED] = now.0 as u64;
        self.values[at::PID] = 0;
        self.values[at::TID] = 0;
    }

    pub(super) fn values(&self) -> &[u64] {
        self.values.get(..self.known).unwrap_or_default()
    }
}

/// The process and thread numbers as one number: the process in the upper 32 bits.
pub(super) fn key_of(pid: u32, tid: u32) -> u64 {
    u64::from(pid) << 32 | u64::from(tid)
}

/// Windows' number of a thread state, for the letter in `stat`; 7 (unknown) for another letter.
pub(super) fn windows_state(state: u8) -> u64 {
    match state {
        b'R' => 2,
        b'Z' | b'X' | b'x' => 4,
        b'S' | b'D' | b'I' | b'T' | b't' | b'P' | b'K' => 5,
        _ => 7,
    }
}
