//! The values of a process, in the order of its counters.

use super::columns::{ProcessColumns, ThreadSums};
use crate::clock::TimeBase;
use crate::parse::Io;
use crate::table::{IO_COUNTERS, PEAK_COUNTERS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS};
use perfhive_format::FileTime;

/// The most values of a process.
pub(super) const MOST: usize =
    STAT_COUNTERS + SCHEDULE_COUNTERS + STATM_COUNTERS + 1 + PEAK_COUNTERS + 6 + IO_COUNTERS;

/// The values of a process in the order of its counters, and the bits of the values that it lacks.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// The values; [`block`](Self::block) puts `absent` behind them.
    values: [u64; MOST + 1],
    count: usize,
    /// A bit for each value that the process lacks; the value is 0 then.
    absent: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { values: [0; MOST + 1], count: 0, absent: 0 }
    }
}

/// The positions of the values from `stat`.
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

/// The number of a process's counts that only grow: times and faults, sums over threads, and `io`.
pub(super) const GROWING: usize = 5 + 4 + IO_COUNTERS;
/// The positions of the counts from `stat` that only grow, which Thread has, too.
pub(super) const COMMON: [usize; 5] = [at::ALL, at::USER, at::KERNEL, at::FAULTS, at::MAJOR_FAULTS];

/// The positions of the counts that only grow, if the counters of `wanted` are filled; `None` for a
/// count that is not wanted.
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

/// The position of % Processor Time in a sample.
pub(super) const ALL: usize = at::ALL;
/// The positions in a sample of times and page faults, which are what a process has used.
pub(super) const USED: [usize; 5] = COMMON;
/// The positions in a sample of the values from `statm`, if the schedule is not wanted.
pub(super) const MEMORY: std::ops::Range<usize> = STAT_COUNTERS..STAT_COUNTERS + STATM_COUNTERS;

pub(super) const MOST_OF_32_BITS: u64 = u32::MAX as u64;

impl Sample {
    /// Replaces all values with the values from `stat`, which every process has. `user` and
    /// `kernel` are in 100 ns units, and `start` is a FILETIME; the other arguments are the own and
    /// the parent's number, all page faults and the major ones, the size in bytes, and the number
    /// of threads.
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

    /// Removes all values but those from `stat`, which stay as they were until
    /// [`set_used`](Self::set_used) replaces some of them.
    pub(super) fn begin_used(&mut self) {
        (self.count, self.absent) = (STAT_COUNTERS, 0);
    }

    /// Sets the times (100 ns units), and the numbers of all page faults and of major ones. The other
    /// values from `stat` stay.
    pub(super) fn set_used(&mut self, [user, kernel]: [u64; 2], [faults, major]: [u64; 2]) {
        let values = [user.saturating_add(kernel), user, kernel, faults, major];
        for (place, value) in USED.into_iter().zip(values) {
            self.values[place] = value;
        }
    }

    /// Raises the processor times to at least `least`, or leaves them if it is `None`; returns
    /// times in the program and in the kernel, in 100 ns units.
    pub(super) fn raise_times(&mut self, least: Option<(u64, u64)>) -> (u64, u64) {
        let [all, user, kernel, ..] = &mut self.values;
        if let Some(least) = least {
            *user = least.0.max(*user);
            *kernel = least.1.max(*kernel);
            *all = user.saturating_add(*kernel);
        }
        (*user, *kernel)
    }

    /// Adds the six values of input and output: the bytes `read` and `written`, the numbers of
    /// `reads` and `writes`, and the sum of each pair. The counters of storage must follow.
    pub(super) fn push_io(&mut self, read: u64, written: u64, reads: u64, writes: u64) {
        let operations = reads.saturating_add(writes);
        self.push([reads, writes, operations, read, written, read.saturating_add(written)]);
    }

    /// Adds the values of all counters from `io`. Counters of storage that the file lacks have no
    /// value.
    pub(super) fn push_io_of(&mut self, io: Io) {
        let Io { read_bytes, written_bytes, reads, writes, storage } = io;
        self.push_io(read_bytes, written_bytes, reads, writes);
        match storage {
            Some(storage) => self.push(storage),
            None => self.push_absent(3),
        }
    }

    pub(super) fn push<const N: usize>(&mut self, values: [u64; N]) {
        let end = (self.count + N).min(MOST);
        if let Some(places) = self.values.get_mut(self.count..end) {
            let (values, _) = values.split_at(places.len());
            places.copy_from_slice(values);
            self.count = end;
        }
    }

    /// Adds a number of counters without a value.
    pub(super) fn push_absent(&mut self, counters: usize) {
        for _ in 0..counters {
            self.absent |= 1 << self.count;
            self.push([0]);
        }
    }

    /// The number of values, counters without a value included.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The values; 0 for a counter without a value.
    pub(super) fn values(&self) -> &[u64] {
        self.values.get(..self.count).unwrap_or_default()
    }

    /// The bits of the counters without a value.
    pub(super) fn absent(&self) -> u64 {
        self.absent
    }

    /// The content of the counter block: the values, and behind them, if the process lacks any, the
    /// bits of the lacking values.
    pub(super) fn block(&mut self) -> &[u64] {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = self.absent;
        }
        let length = self.count + usize::from(self.absent != 0);
        self.values.get(..length).unwrap_or_default()
    }

    /// The value at a position; `None` if the process lacks it.
    pub(super) fn told(&self, place: usize) -> Option<u64> {
        let value = self.values().get(place)?;
        (self.absent & (1 << place) == 0).then_some(*value)
    }

    /// The number, start time and parent's number of the process.
    pub(super) fn identity(&self) -> (u64, u64, u64) {
        (self.values[at::PID], self.values[at::ELAPSED], self.values[at::PARENT])
    }

    /// The value of Thread Count.
    pub(super) fn threads(&self) -> u64 {
        self.values[at::THREADS]
    }

    /// Sets the value of Virtual Bytes.
    pub(super) fn set_virtual_bytes(&mut self, bytes: u64) {
        self.values[at::VIRTUAL_BYTES] = bytes;
    }

    /// The sample of Idle, which has processor time (`time`, in 100 ns units) and a thread for each
    /// processor; its other counts are 0.
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

/// The sums of each value over processes, for `_Total`.
pub(super) struct Sum {
    values: [u64; MOST],
    /// The bits of the values of which there is a sum: those from `stat`, and those that at least
    /// one process has.
    told: u64,
}

impl Default for Sum {
    fn default() -> Self {
        // The values from `stat` have a sum even if there is no process.
        Self { values: [0; MOST], told: (1 << STAT_COUNTERS) - 1 }
    }
}

impl Sum {
    /// Adds the values of a process. A sum that had no value has one from now on if the process has
    /// a value for it.
    pub(super) fn add(&mut self, sample: &Sample) {
        self.add_values(sample);
        self.told |= !sample.absent & ((1 << sample.count) - 1);
    }

    /// Adds the values of a process. Unlike [`add`](Self::add), it leaves sums that had no value
    /// without one: the zeros of Idle must not give a total of 0 if no process has a value.
    pub(super) fn add_values(&mut self, sample: &Sample) {
        for (sum, value) in self.values.iter_mut().zip(sample.values()) {
            *sum = sum.saturating_add(*value);
        }
    }

    /// Adds sums over several processes; `told` has the bits of the values that at least one of
    /// them has.
    pub(super) fn add_sums(&mut self, sums: &[u128; MOST], told: u64) {
        for (sum, more) in self.values.iter_mut().zip(sums) {
            *sum = sum.saturating_add(u64::try_from(*more).unwrap_or(u64::MAX));
        }
        self.told |= told;
    }

    /// Adds `more` to the sum at a position.
    pub(super) fn add_at(&mut self, place: usize, more: u64) {
        if let Some(sum) = self.values.get_mut(place) {
            *sum = sum.saturating_add(more);
        }
    }

    /// The sums of processor time in programs and in the kernel, in 100 ns units.
    pub(super) fn times(&self) -> [u64; 2] {
        [self.values[at::USER], self.values[at::KERNEL]]
    }

    /// The sample of `_Total`, with `count` values. The values of scheduling, the number and the
    /// parent's number are 0, and the start time is `now`. A sum that no process has a value for is
    /// without a value.
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

/// The values of the wanted sums over the threads of a process, in the order of their counters;
/// times are in 100 ns units.
#[derive(Default)]
pub(super) struct Summed {
    values: [Option<u64>; 4],
    count: usize,
}

impl Summed {
    /// The number of values of the wanted sums.
    fn count(wanted: ThreadSums) -> usize {
        let count = usize::from(wanted.waiting) + usize::from(wanted.delay);
        count + if wanted.apart { 2 } else { 0 }
    }

    /// The sums of Idle, which are 0.
    pub(super) fn zero(wanted: ThreadSums) -> Self {
        Self { values: [Some(0); 4], count: Self::count(wanted) }
    }

    /// The sums of a process with threads that cannot be read: none has a value.
    pub(super) fn absent(wanted: ThreadSums) -> Self {
        Self { values: [None; 4], count: Self::count(wanted) }
    }

    pub(super) fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = Some(value);
            self.count += 1;
        }
    }

    /// Adds a number of sums without a value.
    pub(super) fn push_absent(&mut self, count: usize) {
        self.count += count;
    }

    /// Adds the sums to the values of the process.
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
