//! The values of a process, in the order of its counters.

use super::columns::{ProcessColumns, ThreadSums};
use crate::clock::TimeBase;
use crate::parse::Io;
use crate::table::{IO_COUNTERS, PEAK_COUNTERS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS};
use perfhive_format::FileTime;

/// The most values of a process.
pub(super) const MOST: usize =
    STAT_COUNTERS + SCHEDULE_COUNTERS + STATM_COUNTERS + 1 + PEAK_COUNTERS + 6 + IO_COUNTERS;

/// The values of a process, and which of them it lacks.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Behind the values stands `absent`.
    values: [u64; MOST + 1],
    count: usize,
    /// A bit for each value that is not known, and 0 in its place.
    absent: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { values: [0; MOST + 1], count: 0, absent: 0 }
    }
}

/// Places of the values from `stat`.
mod at {
    pub(super) const ALL: usize = 0;
    pub(super) const USER: usize = 1;
    pub(super) const KERNEL: usize = 2;
    pub(super) const ELAPSED: usize = 3;
    pub(super) const PID: usize = 4;
    pub(super) const PARENT: usize = 5;
    pub(super) const FAULTS: usize = 6;
    pub(super) const VIRTUAL_BYTES: usize = 7;
    pub(super) const THREADS: usize = 8;
    pub(super) const MAJOR_FAULTS: usize = 9;
}

/// How many counts of a process only grow: times and faults, sums over threads, `io`.
pub(super) const GROWING: usize = 5 + 4 + IO_COUNTERS;
/// Those that Thread has too.
pub(super) const COMMON: [usize; 5] = [at::ALL, at::USER, at::KERNEL, at::FAULTS, at::MAJOR_FAULTS];

/// The places of the counts that only grow, among the wanted values.
pub(super) fn growing(wanted: ProcessColumns) -> [Option<usize>; GROWING] {
    let mut places = [None; GROWING];
    for (slot, place) in places.iter_mut().zip(COMMON) {
        *slot = Some(place);
    }
    let before = [
        (wanted.schedule, SCHEDULE_COUNTERS),
        (true, STATM_COUNTERS),
        (wanted.handles, 1),
        (wanted.peaks, PEAK_COUNTERS),
        (wanted.swap, 1),
    ];
    let before = before.iter().filter(|(wanted, _)| *wanted).map(|(_, count)| count);
    let mut next = STAT_COUNTERS + before.sum::<usize>();
    let counts = wanted.counts;
    let sums = [counts.apart, counts.apart, counts.waiting, counts.delay];
    for (slot, wanted) in places.iter_mut().skip(COMMON.len()).zip(sums) {
        *slot = wanted.then_some(next);
        next += usize::from(wanted);
    }
    next += usize::from(wanted.descriptors);
    for (slot, place) in places.iter_mut().skip(COMMON.len() + sums.len()).zip(next..) {
        *slot = Some(place);
    }
    places
}

/// The place of % Processor Time.
pub(super) const ALL: usize = at::ALL;
/// The places of what a process has used: times and page faults.
pub(super) const USED: [usize; 5] = COMMON;
/// The places of the values from `statm`, if the schedule is not wanted.
pub(super) const MEMORY: std::ops::Range<usize> = STAT_COUNTERS..STAT_COUNTERS + STATM_COUNTERS;

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
        *self = Self { values: self.values, ..Self::default() };
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

    /// Removes all values.
    pub(super) fn clear(&mut self) {
        (self.count, self.absent) = (0, 0);
    }

    /// Sets what the process has used. Of an empty sample the other values from `stat` are 0 then.
    pub(super) fn set_used(&mut self, [user, kernel]: [u64; 2], [faults, major]: [u64; 2]) {
        self.count = self.count.max(STAT_COUNTERS);
        let values = [user.saturating_add(kernel), user, kernel, faults, major];
        for (place, value) in USED.into_iter().zip(values) {
            self.values[place] = value;
        }
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

    /// Adds the counters from `io` as the file has them.
    pub(super) fn push_io_of(&mut self, io: Io) {
        let Io { read_bytes, written_bytes, reads, writes, storage } = io;
        self.push_io(read_bytes, written_bytes, reads, writes);
        match storage {
            Some(storage) => self.push(storage),
            None => self.push_absent(3),
        }
    }

    pub(super) fn push<const N: usize>(&mut self, values: [u64; N]) {
        for (place, value) in self.values.iter_mut().take(MOST).skip(self.count).zip(values) {
            *place = value;
            self.count += 1;
        }
    }

    /// Adds counters without a value.
    pub(super) fn push_absent(&mut self, counters: usize) {
        for _ in 0..counters {
            self.absent |= 1 << self.count;
            self.push([0]);
        }
    }

    /// The number of values, those that are not known included.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The values; 0 for those that are not known.
    pub(super) fn values(&self) -> &[u64] {
        self.values.get(..self.count).unwrap_or_default()
    }

    /// The bits of the values that are not known.
    pub(super) fn absent(&self) -> u64 {
        self.absent
    }

    /// What the counter block holds: the values, and which of them mean nothing, if any do.
    pub(super) fn block(&mut self) -> &[u64] {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = self.absent;
        }
        let length = self.count + usize::from(self.absent != 0);
        self.values.get(..length).unwrap_or_default()
    }

    /// A value by its place, unless it is not known.
    pub(super) fn told(&self, place: usize) -> Option<u64> {
        let value = self.values().get(place)?;
        (self.absent & (1 << place) == 0).then_some(*value)
    }

    /// Number, start and parent.
    pub(super) fn identity(&self) -> (u64, u64, u64) {
        (self.values[at::PID], self.values[at::ELAPSED], self.values[at::PARENT])
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
        Summed::zero(wanted.counts).push_to(&mut sample);
        if wanted.descriptors {
            sample.push([0]);
        }
        sample.push([0; IO_COUNTERS]);
        sample
    }
}

/// The sums over processes, for `_Total`.
pub(super) struct Sum {
    values: [u64; MOST],
    /// The bits of the values that some process tells.
    told: u64,
}

impl Default for Sum {
    fn default() -> Self {
        // What `stat` tells has a sum even of no process.
        Self { values: [0; MOST], told: (1 << STAT_COUNTERS) - 1 }
    }
}

impl Sum {
    /// Adds the values of a process, as far as it has them.
    pub(super) fn add(&mut self, sample: &Sample) {
        self.add_values(sample);
        self.told |= !sample.absent & ((1 << sample.count) - 1);
    }

    /// As [`add`](Self::add), but the values do not make a sum known: the zeros of Idle must not
    /// give a total of 0 where no process tells a value.
    pub(super) fn add_values(&mut self, sample: &Sample) {
        for (sum, value) in self.values.iter_mut().zip(sample.values()) {
            *sum = sum.saturating_add(*value);
        }
    }

    /// Adds sums over processes; `told` has the bits of those that one of them tells.
    pub(super) fn add_sums(&mut self, sums: &[u128; MOST], told: u64) {
        for (sum, more) in self.values.iter_mut().zip(sums) {
            *sum = sum.saturating_add(u64::try_from(*more).unwrap_or(u64::MAX));
        }
        self.told |= told;
    }

    /// Adds to one value.
    pub(super) fn add_at(&mut self, place: usize, more: u64) {
        if let Some(sum) = self.values.get_mut(place) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Processor time in programs and in the kernel.
    pub(super) fn times(&self) -> [u64; 2] {
        [self.values[at::USER], self.values[at::KERNEL]]
    }

    /// The sample of `_Total`, with `count` values.
    pub(super) fn into_total(
        mut self,
        now: FileTime,
        wanted: ProcessColumns,
        count: usize,
    ) -> Sample {
        if wanted.schedule {
            self.values.iter_mut().skip(STAT_COUNTERS).take(SCHEDULE_COUNTERS).for_each(|n| *n = 0);
        }
        self.values[at::ELAPSED] = now.0 as u64;
        self.values[at::PID] = 0;
        self.values[at::PARENT] = 0;
        self.values[at::THREADS] = self.values[at::THREADS].min(MOST_OF_32_BITS);
        let mut total = Sample::default();
        for (place, value) in self.values.iter().enumerate().take(count) {
            match self.told & (1 << place) {
                0 => total.push_absent(1),
                _ => total.push([*value]),
            }
        }
        total
    }
}

/// Values of the sums over the threads of a process, in the order of their counters, as far as they
/// are wanted; times in 100 ns units.
#[derive(Default)]
pub(super) struct Summed {
    values: [Option<u64>; 4],
    count: usize,
}

impl Summed {
    /// The number of wanted values.
    fn count(wanted: ThreadSums) -> usize {
        let count = usize::from(wanted.waiting) + usize::from(wanted.delay);
        count + if wanted.apart { 2 } else { 0 }
    }

    /// Zeros, for Idle.
    pub(super) fn zero(wanted: ThreadSums) -> Self {
        Self { values: [Some(0); 4], count: Self::count(wanted) }
    }

    /// No value at all.
    pub(super) fn absent(wanted: ThreadSums) -> Self {
        Self { values: [None; 4], count: Self::count(wanted) }
    }

    pub(super) fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = Some(value);
            self.count += 1;
        }
    }

    /// Leaves out values that are not known.
    pub(super) fn push_absent(&mut self, count: usize) {
        self.count += count;
    }

    /// Adds the values to those of the process.
    pub(super) fn push_to(&self, sample: &mut Sample) {
        for value in self.values.iter().take(self.count) {
            match value {
                Some(value) => sample.push([*value]),
                None => sample.push_absent(1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::PROCESS;

    /// With every counter wanted, the values stand at the places of the table.
    #[test]
    fn places_are_those_of_the_table() {
        for (place, name) in [
            (at::ALL, "% Processor Time"),
            (at::USER, "% User Time"),
            (at::KERNEL, "% Privileged Time"),
            (at::ELAPSED, "Elapsed Time"),
            (at::PID, "ID Process"),
            (at::PARENT, "Creating Process ID"),
            (at::FAULTS, "Page Faults/sec"),
            (at::VIRTUAL_BYTES, "Virtual Bytes"),
            (at::THREADS, "Thread Count"),
            (at::MAJOR_FAULTS, "Major Faults/sec"),
        ] {
            assert_eq!(PROCESS.counters[place].name, name);
        }
        assert_eq!(PROCESS.counters.len(), MOST);
        let counts = ThreadSums { apart: true, waiting: true, delay: true };
        let wanted = ProcessColumns {
            schedule: true,
            handles: true,
            peaks: true,
            swap: true,
            counts,
            descriptors: true,
            ..ProcessColumns::default()
        };
        // Counts that only grow are those of which two samples make a value.
        let growing: Vec<usize> = growing(wanted).into_iter().flatten().collect();
        for (place, counter) in PROCESS.counters.iter().enumerate() {
            let two_samples = counter.spec().counter_type.samples() == 2;
            assert_eq!(growing.contains(&place), two_samples, "{}", counter.name);
        }
    }
}
