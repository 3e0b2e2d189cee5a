//! The values of a process, in the order of its counters.

use super::columns::{ProcessColumns, ThreadSums};
use crate::clock::TimeBase;
use crate::parse::Io;
use crate::table::{IO_COUNTERS, PEAK_COUNTERS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS};
use perfhive_format::FileTime;

/// The most values of a process.
pub(super) const MOST: usize =
    STAT_COUNTERS + SCHEDULE_COUNTERS + STATM_COUNTERS + 1 + PEAK_COUNTERS + 6 + IO_COUNTERS;

/// The values of a process, up to the first that is not known.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    values: [u64; MOST],
    known: usize,
}

impl Default for Sample {
    fn default() -> Self {
        Self { values: [0; MOST], known: 0 }
    }
}

/// Places of the values from `stat`.
mod at {
    pub(super) const ELAPSED: usize = 3;
    pub(super) const PID: usize = 4;
    pub(super) const PARENT: usize = 5;
    pub(super) const VIRTUAL_BYTES: usize = 7;
    pub(super) const THREADS: usize = 8;
}

pub(super) const MOST_OF_32_BITS: u64 = u32::MAX as u64;

impl Sample {
    /// Begins with the values that every process has: times and start, own and parent's number,
    /// page faults and major page faults, size, threads.
    pub(super) fn begin(
        &mut self,
        [user, kernel, start]: [u64; 3],
        [pid, parent]: [u32; 2],
        [faults, major_faults]: [u64; 2],
        virtual_bytes: u64,
        threads: u32,
    ) {
        self.known = 0;
        let [pid, parent, threads] = [pid, parent, threads].map(u64::from);
        let all = user.saturating_add(kernel);
        self.push::<STAT_COUNTERS>([
            all,
            user,
            kernel,
            start,
            pid,
            parent,
            faults,
            virtual_bytes,
            threads,
            major_faults,
        ]);
    }

    /// Raises the processor times to at least these, and answers them.
    pub(super) fn raise_times(&mut self, least: Option<(u64, u64)>) -> (u64, u64) {
        let [all, user, kernel, ..] = &mut self.values;
        if let Some(least) = least {
            *user = least.0.max(*user);
            *kernel = least.1.max(*kernel);
            *all = user.saturating_add(*kernel);
        }
        (*user, *kernel)
    }

    /// Adds the counters from `io`.
    pub(super) fn push_io(&mut self, read: u64, written: u64, reads: u64, writes: u64) {
        let operations = reads.saturating_add(writes);
        self.push([reads, writes, operations, read, written, read.saturating_add(written)]);
    }

    /// Adds the counters from `io` as the file has them; answers whether it has all.
    pub(super) fn push_io_of(&mut self, io: Io) -> bool {
        let Io { read_bytes, written_bytes, reads, writes, storage } = io;
        self.push_io(read_bytes, written_bytes, reads, writes);
        if let Some(storage) = storage {
            self.push(storage);
        }
        storage.is_some()
    }

    pub(super) fn push<const N: usize>(&mut self, values: [u64; N]) {
        self.push_all(&values);
    }

    pub(super) fn push_all(&mut self, values: &[u64]) {
        for (place, value) in self.values.iter_mut().skip(self.known).zip(values) {
            *place = *value;
            self.known += 1;
        }
    }

    pub(super) fn values(&self) -> &[u64] {
        self.values.get(..self.known).unwrap_or_default()
    }

    /// Thread Count.
    pub(super) fn threads(&self) -> u64 {
        self.values[at::THREADS]
    }

    /// Sets Virtual Bytes.
    pub(super) fn set_virtual_bytes(&mut self, bytes: u64) {
        self.values[at::VIRTUAL_BYTES] = bytes;
    }

    /// The sample of Idle, which has processor time and nothing else.
    pub(super) fn idle(
        time: u64,
        processors: u64,
        base: &TimeBase,
        wanted: ProcessColumns,
    ) -> Self {
        let mut sample = Self::default();
        let start = base.boot().0 as u64;
        sample.push::<STAT_COUNTERS>([time, 0, time, start, 0, 0, 0, 0, processors, 0]);
        if wanted.schedule {
            // The kernel's idle tasks have the usual nice value.
            sample.push::<SCHEDULE_COUNTERS>([20, 0, 0]);
        }
        sample.push([0; STATM_COUNTERS]);
        if wanted.handles {
            sample.push([0]);
        }
        if wanted.peaks {
            sample.push([0; PEAK_COUNTERS]);
        }
        if wanted.swap {
            sample.push([0]);
        }
        sample.push_all(Summed::zero(wanted.counts).values());
        if wanted.descriptors {
            sample.push([0]);
        }
        sample.push([0; IO_COUNTERS]);
        sample
    }

    /// Adds the values of a process, as far as it has them.
    pub(super) fn add(&mut self, other: &Self) {
        self.add_values(other);
        self.known = self.known.max(other.known);
    }

    /// As [`add`](Self::add), but the values do not make a sum known: the zeros of Idle must not
    /// give a total of 0 where no process tells a value.
    pub(super) fn add_values(&mut self, other: &Self) {
        for (sum, value) in self.values.iter_mut().zip(other.values()) {
            *sum = sum.saturating_add(*value);
        }
        self.known = self.known.max(STAT_COUNTERS);
    }

    /// Adds sums over processes; `known` is the most values that one of them has.
    pub(super) fn add_sums(&mut self, sums: &[u128; MOST], known: usize) {
        for (sum, more) in self.values.iter_mut().zip(sums) {
            *sum = sum.saturating_add(u64::try_from(*more).unwrap_or(u64::MAX));
        }
        self.known = self.known.max(known.min(MOST));
    }

    /// Turns a sum into the sample of `_Total`.
    pub(super) fn make_total(&mut self, now: FileTime, wanted: ProcessColumns) {
        self.known = self.known.max(STAT_COUNTERS);
        if wanted.schedule {
            self.values.iter_mut().skip(STAT_COUNTERS).take(SCHEDULE_COUNTERS).for_each(|n| *n = 0);
        }
        self.values[at::ELAPSED] = now.0 as u64;
        self.values[at::PID] = 0;
        self.values[at::PARENT] = 0;
        self.values[at::THREADS] = self.values[at::THREADS].min(MOST_OF_32_BITS);
    }
}

/// Values of the sums over the threads of a process, in the order of their counters, as far as they
/// are wanted; times in 100 ns units.
#[derive(Default)]
pub(super) struct Summed {
    values: [u64; 4],
    count: usize,
}

impl Summed {
    /// Zeros, for Idle.
    pub(super) fn zero(wanted: ThreadSums) -> Self {
        let count = usize::from(wanted.waiting) + usize::from(wanted.delay);
        Self { values: [0; 4], count: count + if wanted.apart { 2 } else { 0 } }
    }

    pub(super) fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = value;
            self.count += 1;
        }
    }

    pub(super) fn values(&self) -> &[u64] {
        self.values.get(..self.count).unwrap_or_default()
    }
}
