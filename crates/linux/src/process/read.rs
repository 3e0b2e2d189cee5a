//! What is read of one process.

use super::sums::{Buffers, Summed, Sums};
use super::wanted::{Kernel, Wanted};
use crate::clock::TimeBase;
use crate::cpus::{Damage, SystemStat, Ticks};
use crate::faults::{Faults, describe, is_denied, is_gone};
use crate::files::{Kept, PidPath, Reader};
use crate::parse::{Io, PF_KTHREAD, Schedule, Stat, Statm, memory_of_status, switches, utf16_name};
use crate::table::{IO_COUNTERS, PEAK_COUNTERS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS};
use perfhive_format::FileTime;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// What is known of a process from one collection to the next.
pub(super) struct Tracked {
    pub(super) pid: u32,
    /// Collections that do not try to read `io` again after it was refused.
    io_pause: u8,
    /// When it was started, in ticks: tells it from a later one of its number.
    start: u64,
    stat: Kept,
    statm: Kept,
    io: Kept,
    /// `stat` of its first thread.
    pub(super) thread: Kept,
    /// Sums over its threads, once they were wanted.
    pub(super) sums: Option<Box<Sums>>,
}

impl Tracked {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            io_pause: 0,
            start: 0,
            stat: Kept::default(),
            statm: Kept::default(),
            io: Kept::default(),
            thread: Kept::default(),
            sums: None,
        }
    }

    /// Forgets everything but the number and the file that it was told by;
    /// the sums are of no use any more.
    fn begin_anew(&mut self, start: u64) -> Option<Box<Sums>> {
        self.start = start;
        self.io_pause = 0;
        self.statm.close();
        self.io.close();
        self.thread.close();
        self.sums.take()
    }
}

/// Collections that do not try again what a process has refused: 16 to 31, so
/// that not all are tried again at once.
fn pause(pid: u32) -> u8 {
    16 + (pid % 16) as u8
}

/// Most values of a process.
const MOST: usize =
    STAT_COUNTERS + SCHEDULE_COUNTERS + STATM_COUNTERS + 1 + PEAK_COUNTERS + 6 + IO_COUNTERS;

/// The values of a process in the order of its counters, up to the first that
/// is not known.
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
    pub(super) const THREADS: usize = 8;
}

const MOST_OF_32_BITS: u64 = u32::MAX as u64;

impl Sample {
    fn push<const N: usize>(&mut self, values: [u64; N]) {
        self.push_all(&values);
    }

    fn push_all(&mut self, values: &[u64]) {
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

    /// The sample of Idle, which has processor time and nothing else.
    pub(super) fn idle(time: u64, processors: u64, base: TimeBase, wanted: Wanted) -> Self {
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

    /// As [`add`](Self::add), where the values do not make a sum known: that
    /// Idle never reads is no reason for a total of 0 where no process tells.
    pub(super) fn add_values(&mut self, other: &Self) {
        for (sum, value) in self.values.iter_mut().zip(other.values()) {
            *sum = sum.saturating_add(*value);
        }
        self.known = self.known.max(STAT_COUNTERS);
    }

    /// Makes a sum the sample of `_Total`.
    pub(super) fn make_total(&mut self, now: FileTime, wanted: Wanted) {
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

/// The values from `io`; those of storage apart, which a file may lack.
type IoValues = ([u64; IO_COUNTERS - 3], Option<[u64; 3]>);

/// A process that is not there any more.
pub(super) struct Gone;

/// What became of reading a file of a process.
#[derive(PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was read.
    Read,
    /// It may not be read, or this kernel does not have it: no fault, and no
    /// use in trying again soon.
    Refused,
    /// A fault, which was reported.
    Failed,
}

/// Reads processes.
pub(super) struct ProcessReader {
    reader: Reader,
    ticks: Ticks,
    page: u64,
    base: TimeBase,
    name: Vec<u16>,
    pub(super) kernel: Kernel,
    pub(super) buffers: Buffers,
    pub(super) faults: Faults,
}

impl ProcessReader {
    pub(super) fn new(reader: Reader, ticks: Ticks, page: u64, base: TimeBase) -> Self {
        Self {
            reader,
            ticks,
            page,
            base,
            name: Vec::new(),
            kernel: Kernel::default(),
            buffers: Buffers::default(),
            faults: Faults::default(),
        }
    }

    /// Lists the processes.
    pub(super) fn numbers(&mut self, pids: &mut Vec<u32>) -> Result<(), Errno> {
        self.reader.numbers(pids)
    }

    /// Reads what Idle's values are made from. Without a processor in it,
    /// there is no Idle.
    pub(super) fn idle(&mut self, file: &mut Option<OwnedFd>, stat: &mut SystemStat) {
        let idle = |message| ("Idle".to_string(), message);
        stat.clear();
        match self.reader.system(c"stat", file) {
            Ok(text) => stat.parse(text, self.ticks),
            Err(error) => {
                self.faults.instance(|| idle(format!("stat: {}", describe(error))));
                return;
            }
        }
        for damage in stat.damage.iter().filter(|damage| !matches!(damage, Damage::Line(_))) {
            self.faults.instance(|| idle(damage.to_string()));
        }
        if stat.cpus.is_empty() {
            self.faults.instance(|| idle("stat: names no processor".to_string()));
        }
    }

    /// The file reader, for threads.
    pub(super) fn files(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// The text that was read last.
    pub(super) fn text(&self) -> &[u8] {
        self.reader.text()
    }

    /// Name of the process that was read last.
    pub(super) fn name(&self) -> &[u16] {
        &self.name
    }

    /// When a process or thread was started.
    pub(super) fn start_time(&self, ticks: u64) -> u64 {
        let units = i64::try_from(self.ticks.to_units(ticks)).unwrap_or(i64::MAX);
        self.base.after_boot(units).0 as u64
    }

    /// Ticks of processor time in 100 ns units.
    pub(super) fn units(&self, ticks: u64) -> u64 {
        self.ticks.to_units(ticks)
    }

    /// Reads a process; `None` where it is gone or hidden.
    pub(super) fn process(&mut self, known: &mut Tracked, wanted: Wanted) -> Option<Sample> {
        let mut path = PidPath::new(known.pid);
        let folder = path.len();
        let stat = path.file(folder, b"stat");
        let mut read = self.reader.kept(stat, &mut known.stat);
        if read == Err(Errno::SRCH) {
            // It ended; if there is one of its number now, that is another.
            self.buffers.take_back(known.begin_anew(0));
            read = self.reader.kept(stat, &mut known.stat);
        }
        if let Err(error) = read {
            if !is_gone(error) && !is_denied(error) {
                self.fault(known.pid, "stat", &describe(error));
            }
            return None;
        }
        let Some(stat) = Stat::parse(self.reader.text()) else {
            self.fault(known.pid, "stat", "not understood");
            return None;
        };
        utf16_name(stat.name, &mut self.name);
        let is_kernel_thread = stat.flags & PF_KTHREAD != 0;
        if known.start != stat.start {
            self.buffers.take_back(known.begin_anew(stat.start));
        }
        let schedule = wanted.schedule.then(|| Schedule::parse(self.reader.text()));
        let threads = stat.threads;
        let mut sample = Sample::default();
        let (user, kernel) = (self.units(stat.user), self.units(stat.kernel));
        sample.push::<STAT_COUNTERS>([
            user.saturating_add(kernel),
            user,
            kernel,
            self.start_time(stat.start),
            u64::from(known.pid),
            stat.parent.min(MOST_OF_32_BITS),
            stat.faults,
            stat.virtual_bytes,
            threads.min(MOST_OF_32_BITS),
            stat.major_faults,
        ]);
        match schedule {
            None => {}
            Some(Some(Schedule { nice_level, real_time, policy, .. })) => {
                let values = [nice_level, real_time, policy];
                sample.push::<SCHEDULE_COUNTERS>(values.map(|value| value.min(MOST_OF_32_BITS)));
            }
            Some(None) => {
                self.fault(known.pid, "stat", "nothing of the schedule is understood");
                return Some(sample);
            }
        }

        match self.memory(known, &mut path, folder) {
            Err(Gone) => return None,
            Ok(None) => return Some(sample),
            Ok(Some(values)) => sample.push(values),
        }
        if wanted.handles {
            match self.handles(known.pid, &mut path, folder) {
                Err(Gone) => return None,
                Ok(None) => return Some(sample),
                Ok(Some(count)) => sample.push([count]),
            }
        }
        // Switches of the only thread, where its file was read for another
        // reason.
        let mut status = None;
        if wanted.peaks || wanted.swap {
            // A thread of the kernel never had any memory of its own.
            let memory = match is_kernel_thread {
                true => Ok([Some(0); 3]),
                false => self.memory_of_status(known.pid, &mut path, folder),
            };
            let Ok([virtual_bytes, resident, swapped]) = memory else {
                return None;
            };
            if wanted.counts.apart && threads == 1 && !is_kernel_thread {
                status = switches(self.reader.text());
            }
            if wanted.peaks {
                // A process that has ended and is not yet waited for has none
                // any more.
                let (Some(virtual_bytes), Some(resident)) = (virtual_bytes, resident) else {
                    return Some(sample);
                };
                sample.push::<PEAK_COUNTERS>([virtual_bytes, resident]);
            }
            if wanted.swap {
                match swapped {
                    Some(swapped) => sample.push([swapped]),
                    None => return Some(sample),
                }
            }
        }
        if wanted.counts.any() {
            match self.sums(known, threads, status, wanted.counts) {
                Err(Gone) => return None,
                Ok(None) => return Some(sample),
                Ok(Some(summed)) => sample.push_all(summed.values()),
            }
        }
        if wanted.descriptors {
            match self.descriptors(known.pid, &mut path, folder) {
                Err(Gone) => return None,
                Ok(None) => return Some(sample),
                Ok(Some(count)) => sample.push([count]),
            }
        }
        match self.io(known, &mut path, folder) {
            Err(Gone) => return None,
            Ok(None) => {}
            Ok(Some((values, storage))) => {
                sample.push(values);
                if let Some(storage) = storage {
                    sample.push(storage);
                }
            }
        }
        Some(sample)
    }

    fn memory(
        &mut self,
        known: &mut Tracked,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<Option<[u64; STATM_COUNTERS]>, Gone> {
        let read = self.reader.kept(path.file(folder, b"statm"), &mut known.statm);
        if self.outcome(known.pid, "statm", read)? != Outcome::Read {
            return Ok(None);
        }
        let Some(Statm { resident, shared, data }) = Statm::parse(self.reader.text()) else {
            self.fault(known.pid, "statm", "not understood");
            return Ok(None);
        };
        let bytes = |pages: u64| pages.saturating_mul(self.page);
        Ok(Some([bytes(resident), bytes(resident.saturating_sub(shared)), bytes(data)]))
    }

    fn handles(
        &mut self,
        pid: u32,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<Option<u64>, Gone> {
        let size = self.reader.size(path.file(folder, b"fd"));
        self.outcome(pid, "fd", size.map(|_| ()))?;
        Ok(size.ok().map(|count| count.min(MOST_OF_32_BITS)))
    }

    /// The peaks and what is swapped out.
    fn memory_of_status(
        &mut self,
        pid: u32,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<[Option<u64>; 3], Gone> {
        let read = self.reader.once_here(path.file(folder, b"status"));
        Ok(match self.outcome(pid, "status", read)? {
            Outcome::Read => memory_of_status(self.reader.text()),
            _ => [None; 3],
        })
    }

    /// Open descriptors, counted one by one where the kernel does not tell.
    fn descriptors(
        &mut self,
        pid: u32,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<Option<u64>, Gone> {
        if self.counts_descriptors() {
            return self.handles(pid, path, folder);
        }
        let count = self.reader.count_in(path.file(folder, b"fd"));
        self.outcome(pid, "fd", count.map(|_| ()))?;
        Ok(count.ok().map(|count| count.min(MOST_OF_32_BITS)))
    }

    fn io(
        &mut self,
        known: &mut Tracked,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<Option<IoValues>, Gone> {
        if known.io_pause > 0 {
            known.io_pause -= 1;
            return Ok(None);
        }
        let read = self.reader.kept(path.file(folder, b"io"), &mut known.io);
        match self.outcome(known.pid, "io", read)? {
            Outcome::Read => {}
            Outcome::Refused => {
                known.io_pause = pause(known.pid);
                return Ok(None);
            }
            Outcome::Failed => return Ok(None),
        }
        let Some(io) = Io::parse(self.reader.text()) else {
            self.fault(known.pid, "io", "not understood");
            return Ok(None);
        };
        let Io { read_bytes, written_bytes, reads, writes, storage } = io;
        let values = [
            reads,
            writes,
            reads.saturating_add(writes),
            read_bytes,
            written_bytes,
            read_bytes.saturating_add(written_bytes),
        ];
        Ok(Some((values, storage)))
    }

    /// What an answer means for the process.
    pub(super) fn outcome(
        &mut self,
        pid: u32,
        file: &str,
        read: Result<(), Errno>,
    ) -> Result<Outcome, Gone> {
        match read {
            Ok(()) => Ok(Outcome::Read),
            Err(Errno::SRCH) => Err(Gone),
            Err(Errno::NOENT) => {
                let mut path = PidPath::new(pid);
                let folder = path.len();
                match self.reader.size(path.file(folder, b"stat")) {
                    Ok(_) => Ok(Outcome::Refused),
                    Err(_) => Err(Gone),
                }
            }
            Err(error) if is_denied(error) => Ok(Outcome::Refused),
            Err(error) => {
                self.fault(pid, file, &describe(error));
                Ok(Outcome::Failed)
            }
        }
    }

    /// Reports a fault of a process.
    pub(super) fn fault(&mut self, pid: u32, file: &str, message: &str) {
        self.faults.instance(|| (format!("PID {pid}"), format!("{file}: {message}")));
    }
}
