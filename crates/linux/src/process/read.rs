//! A reader of processes from `/proc`, in batches.

use super::columns::ProcessColumns;
use super::few::Few;
use super::kernel::{Kernel, Probe};
use super::proc_files::{Gone, Outcome, ProcFiles};
use super::read_thread;
use super::rest::{Numbers, Resting};
use super::sample::{MOST_OF_32_BITS, Sample};
use super::thread_counts::Buffers;
use super::thread_sample;
use super::tracked::Tracked;
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{PidPath, decimal};
use crate::parse::{Io, PF_KTHREAD, Schedule, Stat, Statm, memory_of_status, switches, utf16_name};
use crate::table::{IO_COUNTERS, PEAK_COUNTERS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS};
use rustix::io::Errno;
use std::ops::Range;

/// The number of collections for which a file that permissions refused is left out before it is
/// tried again: 16 to 31, so that not all processes are tried again at once.
fn pause(pid: u32) -> u8 {
    16 + (pid % 16) as u8
}

/// The number of processes that are read together: `stat` of all of them, then `statm` of all of
/// them, and so on. The memory that the kernel needs for one kind of file, and for so few
/// processes, then stays in the processor's caches. Measured, reading one process after the other
/// takes an eighth longer at 600 processes and a fifth longer at 2000; batches of 8 to 128 are
/// alike.
pub(super) const BATCH: usize = 32;

/// The length of the longest name that the kernel gives a process, including the zero at its end.
const LONG_NAME: usize = 64;

/// A process that is being read.
pub(super) struct Slot {
    /// The position of the process in the batch.
    pub(super) at: usize,
    /// The range of the process's name in [`ProcessReader::names`].
    name: Range<usize>,
    /// Whether the process ended while it was read, or could not be read any more.
    gone: bool,
    pub(super) sample: Sample,
    /// The values of the only thread of the process; `None` unless they were wanted and could be
    /// read.
    pub(super) thread: Option<thread_sample::Sample>,
}

/// A reader of processes from `/proc`, with the batch that it read last.
pub(super) struct ProcessReader {
    pub(super) files: ProcFiles,
    /// The instance name of the process that was read last.
    name: Vec<u16>,
    kernel: Kernel,
    pub(super) buffers: Buffers,
    pub(super) resting: Resting,
    /// The processes of the batch that was read last, also those that ended while they were read.
    slots: Vec<Slot>,
    /// The instance names of the processes in `slots`, one behind the other.
    names: Vec<u16>,
    /// The numbers of the threads of a process; a buffer for reuse.
    tids: Vec<u32>,
    /// Whether processes are read for a collection that wants them by number or name only. Then a
    /// folder of each may stay open, too.
    of_few: bool,
}

impl ProcessReader {
    pub(super) fn new(files: ProcFiles) -> Self {
        Self {
            files,
            name: Vec::with_capacity(LONG_NAME),
            slots: Vec::with_capacity(BATCH),
            names: Vec::with_capacity(BATCH * LONG_NAME),
            kernel: Kernel::default(),
            tids: Vec::new(),
            of_few: false,
            buffers: Buffers::default(),
            resting: Resting::default(),
        }
    }

    /// A probe that answers questions about this kernel.
    pub(super) fn probe(&mut self) -> Probe<'_> {
        Probe { kernel: &mut self.kernel, files: &mut self.files.reader }
    }

    /// The name of the process that was read last.
    pub(super) fn name(&self) -> &[u16] {
        &self.name
    }

    /// Sets [`name`](Self::name) to the instance name of a process that the BPF reader read.
    pub(super) fn set_name(&mut self, name: &[u8], pid: u32) {
        instance_name(name, pid, &mut self.name);
    }

    /// Reads the processes of a batch, or only the processes of `few` in it. The results are
    /// [`processes`](Self::processes).
    pub(super) fn read(
        &mut self,
        batch: &mut [Tracked],
        wanted: ProcessColumns,
        mut few: Option<&mut Few>,
    ) {
        self.slots.clear();
        self.names.clear();
        self.of_few = few.is_some();
        for (at, known) in batch.iter_mut().enumerate() {
            known.is_unread = false;
            if !self.rests(known, at) {
                self.stat(known, at, wanted);
            }
            if let (Some(few), Some(slot)) = (&mut few, self.slots.last())
                && slot.at == at
                && !few.has(known.pid, self.names.get(slot.name.clone()).unwrap_or_default())
            {
                self.names.truncate(slot.name.start);
                self.slots.pop();
            }
        }
        match wanted.no_memory {
            true => self.each(batch, STATM_COUNTERS, |_, _, _| Ok(())),
            false => self.each(batch, STATM_COUNTERS, Self::memory),
        }
        if wanted.handles {
            self.each(batch, 1, Self::descriptors);
        }
        if wanted.peaks || wanted.swap {
            let count = if wanted.peaks { PEAK_COUNTERS } else { 0 } + usize::from(wanted.swap);
            self.each(batch, count, |reader, known, sample| reader.status(known, wanted, sample));
        }
        if wanted.counts.any() {
            self.each(batch, 0, |reader, known, sample| {
                let status = known.status.take();
                let ProcessReader { files, buffers, .. } = reader;
                let (pid, threads) = (known.pid, sample.threads());
                let sums = &mut known.sums;
                buffers.sum(files, sums, (pid, threads), status, wanted.counts)?.push_to(sample);
                Ok(())
            });
        }
        if wanted.descriptors {
            self.each(batch, 1, Self::descriptors);
        }
        match wanted.no_io {
            true => self.each(batch, IO_COUNTERS, |_, _, _| Ok(())),
            false => self.each(batch, IO_COUNTERS, Self::io),
        }
        if wanted.threads {
            self.first_threads(batch);
        }
    }

    /// Reads a single process into `sample`; returns `false` if the process no longer exists or is
    /// hidden, or its `stat` cannot be read.
    pub(super) fn process(
        &mut self,
        known: &mut Tracked,
        wanted: ProcessColumns,
        sample: &mut Sample,
    ) -> bool {
        self.read(std::slice::from_mut(known), wanted, None);
        match self.slots.first().filter(|slot| !slot.gone) {
            Some(slot) => {
                *sample = slot.sample;
                true
            }
            None => false,
        }
    }

    /// Reads the counters from `statm` into `sample` without keeping the file open; returns `false`
    /// if the process no longer exists.
    pub(super) fn memory_once(&mut self, pid: u32, sample: &mut Sample) -> bool {
        let end = sample.len() + STATM_COUNTERS;
        let read = self.memory(&mut Tracked::new(pid), sample);
        sample.push_absent(end - sample.len());
        read.is_ok()
    }

    /// Adds the counters from `statm` of a process to a sample that has only the values from `stat`. The
    /// `stat` of the process must have been read before. Returns `false` if `statm` does not show the
    /// process's memory: the process no longer exists, the file cannot be read, or it holds zeros
    /// because the first thread has ended.
    pub(super) fn memory_of(&mut self, known: &mut Tracked, sample: &mut Sample) -> bool {
        let before = sample.len();
        let read = self.memory(known, sample).is_ok();
        let memory = sample.values().get(before..).unwrap_or_default();
        read && (known.is_kernel_thread || memory.iter().any(|value| *value != 0))
    }

    /// The processes that could be read of the batch that was read last, each with its name.
    pub(super) fn processes(&self) -> impl Iterator<Item = (&Slot, &[u16])> {
        let there = self.slots.iter().filter(|slot| !slot.gone);
        there.map(|slot| (slot, self.names.get(slot.name.clone()).unwrap_or_default()))
    }

    /// Begins a collection of this number of processes from `/proc`. With `may_rest`, processes
    /// that have not run need not be read in full.
    pub(super) fn begin(&mut self, processes: usize, may_rest: bool) {
        self.resting.begin(processes, may_rest, &mut self.files.reader);
    }

    /// Whether a process rests. If so, it gets a slot with the earlier values from `stat`. `at` is
    /// its position in the batch.
    fn rests(&mut self, known: &mut Tracked, at: usize) -> bool {
        let others = [&mut known.stat, &mut known.io];
        let identity = (known.pid, known.is_kernel_thread);
        let found = self.resting.look(&mut known.rest, identity, others, &mut self.files.reader);
        known.rests = found.is_some();
        let Some(found) = found else { return false };
        known.status = None;
        let name = found.name.get(..found.name_length).unwrap_or_default();
        let name = self.add_name(name, known.pid);
        // The size is set from `statm`, which is read next.
        let sample = self.stat_sample(known, found.numbers, 0, 1);
        self.slots.push(Slot { at, name, gone: false, sample, thread: None });
        true
    }

    /// Adds the instance name of a process to the names of the batch; returns the name's range
    /// there.
    fn add_name(&mut self, name: &[u8], pid: u32) -> Range<usize> {
        let start = self.names.len();
        instance_name(name, pid, &mut self.name);
        self.names.extend_from_slice(&self.name);
        start..self.names.len()
    }

    /// A sample with the values from `stat`. The arguments give times in ticks and the size in bytes.
    fn stat_sample(
        &self,
        known: &Tracked,
        Numbers { user, kernel, parent, faults, major_faults }: Numbers,
        virtual_bytes: u64,
        threads: u64,
    ) -> Sample {
        let (user, kernel) = (self.files.units(user), self.files.units(kernel));
        let mut sample = Sample::default();
        sample.push::<STAT_COUNTERS>([
            user.saturating_add(kernel),
            user,
            kernel,
            self.files.start_time(known.start),
            u64::from(known.pid),
            parent.min(MOST_OF_32_BITS),
            faults,
            virtual_bytes,
            threads.min(MOST_OF_32_BITS),
            major_faults,
        ]);
        sample
    }

    /// Reads the `stat` of a process into a new slot. A process that no longer exists or is hidden
    /// gets no slot. A process with a `stat` that cannot be read gets none either, and is marked as
    /// unread. `at` is its position in the batch.
    fn stat(&mut self, known: &mut Tracked, at: usize, wanted: ProcessColumns) {
        let pid = known.pid;
        let path = || PidPath::of(pid, b"stat");
        let mut read = self.files.reader.kept(&mut known.stat, path);
        if read == Err(Errno::SRCH) {
            // The process ended. If a process has this number now, it is a new process.
            self.buffers.take_back(known.begin_anew(0));
            read = self.files.reader.kept(&mut known.stat, path);
        }
        if let Err(error) = read {
            known.is_unread = !is_gone(error);
            if known.is_unread && !is_denied(error) {
                self.files.fault(pid, "stat", describe(error));
            }
            return;
        }
        let Some(stat) = Stat::parse(self.files.reader.text()) else {
            known.is_unread = true;
            self.files.fault(pid, "stat", "not understood");
            return;
        };
        let before = known.start == stat.start && stat.start != 0;
        if !before {
            self.buffers.take_back(known.begin_anew(stat.start));
        }
        known.is_kernel_thread = stat.flags & PF_KTHREAD != 0;
        known.status = None;
        let has_ended = matches!(stat.state, b'Z' | b'X' | b'x');
        self.resting.after_stat(&mut known.rest, known.pid, &stat, before);
        let schedule = wanted.schedule.then(|| Schedule::parse(self.files.reader.text()));
        let (numbers, virtual_bytes, threads) =
            (Numbers::of(&stat), stat.virtual_bytes, stat.threads);
        known.is_ending = super::rest::has_ended(&stat) && threads <= 1;
        let start = self.names.len();
        instance_name(stat.name, pid, &mut self.name);
        self.names.extend_from_slice(&self.name);
        let name = start..self.names.len();
        let mut sample = self.stat_sample(known, numbers, virtual_bytes, threads);
        match schedule {
            None => {}
            Some(Some(Schedule { nice_level, real_time, policy, .. })) => {
                let values = [nice_level, real_time, policy];
                sample.push::<SCHEDULE_COUNTERS>(values.map(|value| value.min(MOST_OF_32_BITS)));
            }
            Some(None) => {
                self.files.fault(pid, "stat", "nothing of the schedule is understood");
                sample.push_absent(SCHEDULE_COUNTERS);
            }
        }
        known.has_ended = has_ended && threads <= 1;
        known.alive = if has_ended && threads > 1 { self.living_thread(pid) } else { pid };
        self.slots.push(Slot { at, name, gone: false, sample, thread: None });
    }

    /// The number of a living thread of a process, after the process's first thread has ended;
    /// `pid` itself if none is found.
    fn living_thread(&mut self, pid: u32) -> u32 {
        let listed = self.files.reader.list(PidPath::of(pid, b"task").text(), &mut self.tids);
        let other = self.tids.iter().rev().find(|tid| **tid != pid);
        listed.ok().and(other).copied().unwrap_or(pid)
    }

    /// Reads the next `count` values of each process in the batch with `read`. Values that `read`
    /// does not add are without a value, and a process for which it fails is left out.
    fn each(
        &mut self,
        batch: &mut [Tracked],
        count: usize,
        read: impl Fn(&mut Self, &mut Tracked, &mut Sample) -> Result<(), Gone>,
    ) {
        let mut slots = std::mem::take(&mut self.slots);
        for slot in slots.iter_mut().filter(|slot| !slot.gone) {
            let Some(known) = batch.get_mut(slot.at) else {
                continue;
            };
            let end = slot.sample.len() + count;
            slot.gone = read(self, known, &mut slot.sample).is_err();
            slot.sample.push_absent(end.saturating_sub(slot.sample.len()));
        }
        self.slots = slots;
    }

    /// Reads, for each process in the batch that has a single thread, this thread into
    /// [`Slot::thread`].
    fn first_threads(&mut self, batch: &mut [Tracked]) {
        let mut slots = std::mem::take(&mut self.slots);
        for slot in slots.iter_mut().filter(|slot| !slot.gone) {
            if let Some(known) = batch.get_mut(slot.at).filter(|_| slot.sample.threads() == 1) {
                slot.thread = read_thread::first(&mut self.files, known.pid, &mut known.thread);
            }
        }
        self.slots = slots;
    }

    fn memory(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<(), Gone> {
        // A kernel thread has no memory of its own; its file holds zeros.
        if known.is_kernel_thread {
            sample.push([0; STATM_COUNTERS]);
            return Ok(());
        }
        let pid = known.pid;
        let read = match known.alive == pid {
            true => self.files.reader.kept(&mut known.statm, || PidPath::of(pid, b"statm")),
            false => self.files.reader.once_here(known.path(b"statm").text()),
        };
        if self.files.outcome(pid, "statm", read)? != Outcome::Read {
            return self.size_from_stat(known, sample);
        }
        let Some(Statm { size, resident, shared, data }) = Statm::parse(self.files.reader.text())
        else {
            self.files.fault(pid, "statm", "not understood");
            return self.size_from_stat(known, sample);
        };
        if known.rests || known.alive != pid {
            sample.set_virtual_bytes(size.saturating_mul(self.files.page));
        }
        let pages = [resident, resident.saturating_sub(shared), data];
        sample.push::<STATM_COUNTERS>(pages.map(|pages| pages.saturating_mul(self.files.page)));
        Ok(())
    }

    /// Sets the size of a resting process from `stat`, since `statm` did not give it. Does nothing
    /// for a process that does not rest. If `stat` cannot be read, the result is the error
    /// [`Gone`], and the process is marked as unread if it still exists.
    fn size_from_stat(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<(), Gone> {
        if !known.rests {
            return Ok(());
        }
        let pid = known.pid;
        let read = self.files.reader.kept(&mut known.stat, || PidPath::of(pid, b"stat"));
        let size = Stat::parse(self.files.reader.text()).map(|stat| stat.virtual_bytes);
        match (self.files.outcome(pid, "stat", read)?, size) {
            (Outcome::Read, Some(size)) => {
                sample.set_virtual_bytes(size);
                return Ok(());
            }
            (Outcome::Read, None) => self.files.fault(pid, "stat", "not understood"),
            _ => {}
        }
        known.is_unread = true;
        Err(Gone)
    }

    /// Adds the number of open descriptors to `sample` as the kernel gives it, as the size of the
    /// folder `fd`; adds no value if it cannot be read.
    fn told_descriptors(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<(), Gone> {
        let pid = known.pid;
        let size = match self.of_few && known.alive == pid {
            true => {
                let path = || PidPath::of(pid, b"fd");
                self.files.reader.size_kept(&mut known.descriptors, path)
            }
            false => self.files.reader.size(known.path(b"fd").text()),
        };
        self.files.outcome(known.pid, "fd", size.map(|_| ()))?;
        if let Ok(count) = size {
            sample.push([count.min(MOST_OF_32_BITS)]);
        }
        Ok(())
    }

    /// Adds the peaks and the swapped bytes from `status`, as far as they are wanted.
    fn status(
        &mut self,
        known: &mut Tracked,
        wanted: ProcessColumns,
        sample: &mut Sample,
    ) -> Result<(), Gone> {
        // A kernel thread never had memory of its own.
        let [virtual_bytes, resident, swapped] = match known.is_kernel_thread {
            true => [Some(0); 3],
            false => {
                let read = self.files.reader.once_here(known.path(b"status").text());
                match self.files.outcome(known.pid, "status", read)? {
                    Outcome::Read => {
                        // Switches of the only thread are in the same file.
                        if wanted.counts.apart && sample.threads() == 1 {
                            known.status = switches(self.files.reader.text());
                        }
                        memory_of_status(self.files.reader.text())
                    }
                    _ => [None; 3],
                }
            }
        };
        if wanted.peaks {
            // A zombie has no peaks any more.
            match (virtual_bytes, resident) {
                (Some(virtual_bytes), Some(resident)) => {
                    sample.push::<PEAK_COUNTERS>([virtual_bytes, resident]);
                }
                _ => sample.push_absent(PEAK_COUNTERS),
            }
        }
        if let (true, Some(swapped)) = (wanted.swap, swapped) {
            sample.push([swapped]);
        }
        Ok(())
    }

    /// Adds the number of open descriptors to `sample`; adds no value if it cannot be read. The
    /// descriptors are counted one by one if the kernel does not give their number.
    fn descriptors(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<(), Gone> {
        if self.kernel.counts_descriptors(&self.files.reader) {
            return self.told_descriptors(known, sample);
        }
        let pid = known.pid;
        let count = self.files.reader.count_in(known.path(b"fd").text());
        self.files.outcome(pid, "fd", count.map(|_| ()))?;
        if let Ok(count) = count {
            sample.push([count.min(MOST_OF_32_BITS)]);
        }
        Ok(())
    }

    fn io(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<(), Gone> {
        if let Some(io) = known.rests.then(|| self.resting.io(&known.rest)).flatten() {
            sample.push_io_of(io);
            return Ok(());
        }
        if known.io_pause > 0 {
            known.io_pause -= 1;
            return Ok(());
        }
        let pid = known.pid;
        let read = self.files.reader.kept(&mut known.io, || PidPath::of(pid, b"io"));
        match self.files.outcome(pid, "io", read)? {
            Outcome::Read => {}
            Outcome::Refused => {
                known.io_pause = pause(pid);
                self.resting.after_io(&mut known.rest, known.rests, None);
                return Ok(());
            }
            Outcome::Failed => return Ok(()),
        }
        let Some(io) = Io::parse(self.files.reader.text()) else {
            self.files.fault(pid, "io", "not understood");
            return Ok(());
        };
        self.resting.after_io(&mut known.rest, known.rests, Some(io));
        sample.push_io_of(io);
        Ok(())
    }
}

/// Writes the instance name of a process into `out`. The names `Idle` and `_Total` are taken, also
/// in other cases of letters: a process of such a name gets its number in parentheses behind the
/// name.
fn instance_name(name: &[u8], pid: u32, out: &mut Vec<u16>) {
    utf16_name(name, out);
    if [&b"_total"[..], b"idle"].iter().any(|taken| name.eq_ignore_ascii_case(taken)) {
        let mut digits = [0; 10];
        let number = decimal(pid, &mut digits).iter();
        let number = [b' ', b'('].iter().chain(number).chain([b')'].iter());
        out.extend(number.map(|byte| u16::from(*byte)));
    }
}
