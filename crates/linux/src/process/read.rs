//! What is read of one process.

use super::rest::{Numbers, Resting};
use super::sample::{MOST_OF_32_BITS, Sample};
use super::sums::Buffers;
use super::thread;
use super::tracked::Tracked;
use super::wanted::{Kernel, Wanted};
use crate::clock::TimeBase;
use crate::cpus::{Damage, SystemStat, Ticks};
use crate::faults::{Faults, describe, is_denied, is_gone};
use crate::files::{PidPath, Reader};
use crate::parse::{Io, PF_KTHREAD, Schedule, Stat, Statm, memory_of_status, switches, utf16_name};
use crate::table::{PEAK_COUNTERS, SCHEDULE_COUNTERS, STAT_COUNTERS, STATM_COUNTERS};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::fmt;
use std::ops::Range;

/// Collections that do not try again what a process has refused: 16 to 31, so
/// that not all are tried again at once.
fn pause(pid: u32) -> u8 {
    16 + (pid % 16) as u8
}

/// Processes whose files are read together: `stat` of all of them, then
/// `statm` of all of them, and so on. What the kernel needs for one kind of
/// file then stays in the processor's caches, and so does what it knows of so
/// few processes. Measured, one process after the other takes an eighth longer
/// at 600 processes and a fifth at 2000; 8 to 128 together are alike.
pub(super) const BATCH: usize = 32;

/// The longest name that the kernel gives a process, with its end.
const LONG_NAME: usize = 64;

/// A process that is being read.
pub(super) struct Slot {
    /// Place in the batch.
    pub(super) at: usize,
    /// Place of its name among the names of the batch.
    name: Range<usize>,
    state: State,
    pub(super) sample: Sample,
    /// Its one thread, if that was to be read, and could be.
    pub(super) thread: Option<thread::Sample>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Every value so far is known.
    Open,
    /// One is not known, so that those behind it have no place.
    Closed,
    /// It ended while it was read.
    Gone,
}

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
    /// The name that was read last.
    name: Vec<u16>,
    pub(super) kernel: Kernel,
    pub(super) buffers: Buffers,
    pub(super) resting: Resting,
    /// The batch that was read last.
    slots: Vec<Slot>,
    /// Its names, one after the other.
    names: Vec<u16>,
    pub(super) faults: Faults,
}

impl ProcessReader {
    pub(super) fn new(reader: Reader, ticks: Ticks, page: u64, base: TimeBase) -> Self {
        Self {
            reader,
            ticks,
            page,
            base,
            name: Vec::with_capacity(LONG_NAME),
            slots: Vec::with_capacity(BATCH),
            names: Vec::with_capacity(BATCH * LONG_NAME),
            kernel: Kernel::default(),
            buffers: Buffers::default(),
            resting: Resting::default(),
            faults: Faults::default(),
        }
    }

    /// Lists the processes.
    pub(super) fn numbers(&mut self, pids: &mut Vec<u32>) -> Result<(), Errno> {
        self.reader.numbers(pids)
    }

    /// Whether there is a process of this number.
    pub(super) fn is_there(&self, pid: u32) -> bool {
        self.reader.size(PidPath::of(pid, b"stat").text()).is_ok()
    }

    /// Whether `io` of a process may be read, or cannot be for another reason
    /// than who asks.
    pub(super) fn tells_io(&mut self, pid: u32) -> bool {
        !self.reader.once_here(PidPath::of(pid, b"io").text()).is_err_and(is_denied)
    }

    /// Reads what Idle's values are made from. Without a processor in it,
    /// there is no Idle.
    pub(super) fn idle(&mut self, file: &mut Option<OwnedFd>, stat: &mut SystemStat) {
        stat.clear();
        match self.reader.system(c"stat", file) {
            Ok(text) => stat.parse(text, self.ticks),
            Err(error) => {
                self.faults.instance("Idle", format_args!("stat: {}", describe(error)));
                return;
            }
        }
        for damage in stat.damage.iter().filter(|damage| !matches!(damage, Damage::Line(_))) {
            self.faults.instance("Idle", damage);
        }
        if stat.cpus.is_empty() {
            self.faults.instance("Idle", "stat: names no processor");
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

    /// Sets the name of the process that is read otherwise.
    pub(super) fn set_name(&mut self, name: &[u8]) {
        utf16_name(name, &mut self.name);
    }

    /// Bytes of a page.
    pub(super) fn page(&self) -> u64 {
        self.page
    }

    /// When a process or thread was started that was so many nanoseconds after
    /// the machine, as its `stat` says it.
    pub(super) fn start_time_of_nanos(&self, nanos: u64) -> u64 {
        self.start_time(self.ticks.of_nanos(nanos))
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

    /// Reads the processes of a batch. What was read is
    /// [`processes`](Self::processes).
    pub(super) fn read(&mut self, batch: &mut [Tracked], wanted: Wanted) {
        self.slots.clear();
        self.names.clear();
        for (at, known) in batch.iter_mut().enumerate() {
            if !self.rests(known, at) {
                self.stat(known, at, wanted);
            }
        }
        self.each(batch, Self::memory);
        if wanted.handles {
            self.each(batch, Self::handles);
        }
        if wanted.peaks || wanted.swap {
            self.each(batch, |reader, known, sample| reader.status(known, wanted, sample));
        }
        if wanted.counts.any() {
            self.each(batch, |reader, known, sample| {
                let status = known.status.take();
                let summed = reader.sums(known, sample.threads(), status, wanted.counts)?;
                if let Some(summed) = &summed {
                    sample.push_all(summed.values());
                }
                Ok(summed.is_some())
            });
        }
        if wanted.descriptors {
            self.each(batch, Self::descriptors);
        }
        self.each(batch, Self::io);
        if wanted.threads {
            self.first_threads(batch);
        }
    }

    /// Reads a single process into `sample`; `false` where it is gone or hidden.
    pub(super) fn process(
        &mut self,
        known: &mut Tracked,
        wanted: Wanted,
        sample: &mut Sample,
    ) -> bool {
        self.read(std::slice::from_mut(known), wanted);
        match self.slots.first().filter(|slot| slot.state != State::Gone) {
            Some(slot) => {
                *sample = slot.sample;
                true
            }
            None => false,
        }
    }

    /// Reads the counters from `statm` of a process of which nothing is kept
    /// open into `sample`; `None` where it is gone, `false` where they cannot be
    /// read.
    pub(super) fn memory_once(&mut self, pid: u32, sample: &mut Sample) -> Option<bool> {
        self.memory(&mut Tracked::new(pid), sample).ok()
    }

    /// The processes of the batch that was read last, and their names. Those
    /// that are gone or hidden are not among them.
    pub(super) fn processes(&self) -> impl Iterator<Item = (&Slot, &[u16])> {
        let there = self.slots.iter().filter(|slot| slot.state != State::Gone);
        there.map(|slot| (slot, self.names.get(slot.name.clone()).unwrap_or_default()))
    }

    /// Begins a collection of so many processes from `/proc`; those that rest
    /// need not be read in full, if `may_rest`.
    pub(super) fn begin(&mut self, processes: usize, may_rest: bool) {
        self.resting.begin(processes, may_rest, &mut self.reader);
    }

    /// Whether a process rests; it gets a slot then, with what `stat` said.
    fn rests(&mut self, known: &mut Tracked, at: usize) -> bool {
        let found = self.resting.look(known, &mut self.reader);
        known.rests = found.is_some();
        let Some(found) = found else { return false };
        known.status = None;
        let name = self.add_name(found.name.get(..found.name_length).unwrap_or_default());
        // How large it is, `statm` says.
        let sample = self.stat_sample(known, found.numbers, 0, 1);
        self.slots.push(Slot { at, name, state: State::Open, sample, thread: None });
        true
    }

    /// Adds a name to those of the batch.
    fn add_name(&mut self, name: &[u8]) -> Range<usize> {
        let start = self.names.len();
        utf16_name(name, &mut self.name);
        self.names.extend_from_slice(&self.name);
        start..self.names.len()
    }

    /// The values from `stat`.
    fn stat_sample(
        &self,
        known: &Tracked,
        Numbers { user, kernel, parent, faults, major_faults }: Numbers,
        virtual_bytes: u64,
        threads: u64,
    ) -> Sample {
        let (user, kernel) = (self.units(user), self.units(kernel));
        let mut sample = Sample::default();
        sample.push::<STAT_COUNTERS>([
            user.saturating_add(kernel),
            user,
            kernel,
            self.start_time(known.start),
            u64::from(known.pid),
            parent.min(MOST_OF_32_BITS),
            faults,
            virtual_bytes,
            threads.min(MOST_OF_32_BITS),
            major_faults,
        ]);
        sample
    }

    /// Reads `stat` of a process. Where it is gone or hidden, it gets no slot.
    fn stat(&mut self, known: &mut Tracked, at: usize, wanted: Wanted) {
        self.resting.before_stat(known, &mut self.reader);
        let pid = known.pid;
        let path = || PidPath::of(pid, b"stat");
        let mut read = self.reader.kept(&mut known.stat, path);
        if read == Err(Errno::SRCH) {
            // It ended; if there is one of its number now, that is another.
            self.buffers.take_back(known.begin_anew(0));
            read = self.reader.kept(&mut known.stat, path);
        }
        if let Err(error) = read {
            if !is_gone(error) && !is_denied(error) {
                self.fault(pid, "stat", describe(error));
            }
            return;
        }
        let Some(stat) = Stat::parse(self.reader.text()) else {
            self.fault(pid, "stat", "not understood");
            return;
        };
        let before = known.start == stat.start && stat.start != 0;
        if !before {
            self.buffers.take_back(known.begin_anew(stat.start));
        }
        known.is_kernel_thread = stat.flags & PF_KTHREAD != 0;
        known.status = None;
        self.resting.after_stat(known, &stat, before);
        let schedule = wanted.schedule.then(|| Schedule::parse(self.reader.text()));
        let (numbers, virtual_bytes, threads) =
            (Numbers::of(&stat), stat.virtual_bytes, stat.threads);
        let start = self.names.len();
        utf16_name(stat.name, &mut self.name);
        self.names.extend_from_slice(&self.name);
        let name = start..self.names.len();
        let mut sample = self.stat_sample(known, numbers, virtual_bytes, threads);
        let mut state = State::Open;
        match schedule {
            None => {}
            Some(Some(Schedule { nice_level, real_time, policy, .. })) => {
                let values = [nice_level, real_time, policy];
                sample.push::<SCHEDULE_COUNTERS>(values.map(|value| value.min(MOST_OF_32_BITS)));
            }
            Some(None) => {
                self.fault(pid, "stat", "nothing of the schedule is understood");
                state = State::Closed;
            }
        }
        self.slots.push(Slot { at, name, state, sample, thread: None });
    }

    /// Reads the next values of each process of the batch that had all before.
    /// `read` adds them, and answers whether they are known.
    fn each(
        &mut self,
        batch: &mut [Tracked],
        read: impl Fn(&mut Self, &mut Tracked, &mut Sample) -> Result<bool, Gone>,
    ) {
        let mut slots = std::mem::take(&mut self.slots);
        for slot in slots.iter_mut().filter(|slot| slot.state == State::Open) {
            let Some(known) = batch.get_mut(slot.at) else {
                continue;
            };
            match read(self, known, &mut slot.sample) {
                Ok(true) => {}
                Ok(false) => slot.state = State::Closed,
                Err(Gone) => slot.state = State::Gone,
            }
        }
        self.slots = slots;
    }

    /// Reads the threads of those processes that have one.
    fn first_threads(&mut self, batch: &mut [Tracked]) {
        let mut slots = std::mem::take(&mut self.slots);
        for slot in slots.iter_mut().filter(|slot| slot.state != State::Gone) {
            if let Some(known) = batch.get_mut(slot.at).filter(|_| slot.sample.threads() == 1) {
                slot.thread = thread::first(self, known);
            }
        }
        self.slots = slots;
    }

    fn memory(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<bool, Gone> {
        // A thread of the kernel has no memory of its own, and its file nothing
        // but zeroes.
        if known.is_kernel_thread {
            sample.push([0; STATM_COUNTERS]);
            return Ok(true);
        }
        let pid = known.pid;
        let read = self.reader.kept(&mut known.statm, || PidPath::of(pid, b"statm"));
        if self.outcome(pid, "statm", read)? != Outcome::Read {
            self.size_from_stat(known, sample)?;
            return Ok(false);
        }
        let Some(Statm { size, resident, shared, data }) = Statm::parse(self.reader.text()) else {
            self.fault(pid, "statm", "not understood");
            self.size_from_stat(known, sample)?;
            return Ok(false);
        };
        if known.rests {
            sample.set_virtual_bytes(size.saturating_mul(self.page));
        }
        let pages = [resident, resident.saturating_sub(shared), data];
        sample.push::<STATM_COUNTERS>(pages.map(|pages| pages.saturating_mul(self.page)));
        Ok(true)
    }

    /// The size of a process that rests, where `statm` does not tell it.
    fn size_from_stat(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<(), Gone> {
        if !known.rests {
            return Ok(());
        }
        let pid = known.pid;
        let read = self.reader.kept(&mut known.stat, || PidPath::of(pid, b"stat"));
        let size = Stat::parse(self.reader.text()).map(|stat| stat.virtual_bytes);
        match (self.outcome(pid, "stat", read)?, size) {
            (Outcome::Read, Some(size)) => sample.set_virtual_bytes(size),
            (Outcome::Read, None) => {
                self.fault(pid, "stat", "not understood");
                return Err(Gone);
            }
            _ => return Err(Gone),
        }
        Ok(())
    }

    fn handles(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<bool, Gone> {
        let size = self.reader.size(PidPath::of(known.pid, b"fd").text());
        self.outcome(known.pid, "fd", size.map(|_| ()))?;
        if let Ok(count) = size {
            sample.push([count.min(MOST_OF_32_BITS)]);
        }
        Ok(size.is_ok())
    }

    /// The peaks, as far as they are wanted, and what is swapped out.
    fn status(
        &mut self,
        known: &mut Tracked,
        wanted: Wanted,
        sample: &mut Sample,
    ) -> Result<bool, Gone> {
        // A thread of the kernel never had any memory of its own.
        let [virtual_bytes, resident, swapped] = match known.is_kernel_thread {
            true => [Some(0); 3],
            false => {
                let read = self.reader.once_here(PidPath::of(known.pid, b"status").text());
                match self.outcome(known.pid, "status", read)? {
                    Outcome::Read => {
                        // Switches of the only thread are in the same file.
                        if wanted.counts.apart && sample.threads() == 1 {
                            known.status = switches(self.reader.text());
                        }
                        memory_of_status(self.reader.text())
                    }
                    _ => [None; 3],
                }
            }
        };
        if wanted.peaks {
            // A process that has ended and is not yet waited for has none any
            // more.
            let (Some(virtual_bytes), Some(resident)) = (virtual_bytes, resident) else {
                return Ok(false);
            };
            sample.push::<PEAK_COUNTERS>([virtual_bytes, resident]);
        }
        if wanted.swap {
            let Some(swapped) = swapped else { return Ok(false) };
            sample.push([swapped]);
        }
        Ok(true)
    }

    /// Open descriptors, counted one by one where the kernel does not tell.
    fn descriptors(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<bool, Gone> {
        if self.counts_descriptors() {
            return self.handles(known, sample);
        }
        let pid = known.pid;
        let count = self.reader.count_in(PidPath::of(pid, b"fd").text());
        self.outcome(pid, "fd", count.map(|_| ()))?;
        if let Ok(count) = count {
            sample.push([count.min(MOST_OF_32_BITS)]);
        }
        Ok(count.is_ok())
    }

    fn io(&mut self, known: &mut Tracked, sample: &mut Sample) -> Result<bool, Gone> {
        if let Some(io) = known.rests.then(|| self.resting.io(known)).flatten() {
            return Ok(sample.push_io_of(io));
        }
        if known.io_pause > 0 {
            known.io_pause -= 1;
            return Ok(false);
        }
        let pid = known.pid;
        let read = self.reader.kept(&mut known.io, || PidPath::of(pid, b"io"));
        match self.outcome(pid, "io", read)? {
            Outcome::Read => {}
            Outcome::Refused => {
                known.io_pause = pause(pid);
                if known.rests {
                    self.resting.io_refused(known);
                }
                return Ok(false);
            }
            Outcome::Failed => return Ok(false),
        }
        let Some(io) = Io::parse(self.reader.text()) else {
            self.fault(pid, "io", "not understood");
            return Ok(false);
        };
        self.resting.after_io(known, io, known.rests);
        Ok(sample.push_io_of(io))
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
            Err(Errno::NOENT) => match self.reader.size(PidPath::of(pid, b"stat").text()) {
                Ok(_) => Ok(Outcome::Refused),
                Err(_) => Err(Gone),
            },
            Err(error) if is_denied(error) => Ok(Outcome::Refused),
            Err(error) => {
                self.fault(pid, file, describe(error));
                Ok(Outcome::Failed)
            }
        }
    }

    /// Reports a fault of a process.
    pub(super) fn fault(&mut self, pid: u32, file: impl fmt::Display, message: &str) {
        self.faults.instance(format_args!("PID {pid}"), format_args!("{file}: {message}"));
    }
}
