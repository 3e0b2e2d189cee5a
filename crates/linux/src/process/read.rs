//! What is read of one process.

use crate::clock::TimeBase;
use crate::cpus::{Damage, SystemStat, Ticks};
use crate::faults::{Faults, describe, is_denied, is_gone};
use crate::files::{Kept, PidPath, Reader};
use crate::parse::{Io, PF_KTHREAD, Stat, Statm, peaks, utf16_name};
use crate::table::{IO_COUNTERS, STAT_COUNTERS, STATM_COUNTERS, STATUS_COUNTERS};
use perfhive_format::FileTime;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Which counters that cost extra are read.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) handles: bool,
    pub(super) peaks: bool,
}

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
        }
    }

    /// Forgets everything but the number and the file that it was told by.
    fn begin_anew(&mut self, start: u64) {
        self.start = start;
        self.io_pause = 0;
        self.statm.close();
        self.io.close();
        self.thread.close();
    }
}

/// Collections that do not try again what a process has refused: 16 to 31, so
/// that not all are tried again at once.
fn pause(pid: u32) -> u8 {
    16 + (pid % 16) as u8
}

/// Most values of a process.
const MOST: usize = STAT_COUNTERS + STATM_COUNTERS + 1 + STATUS_COUNTERS + IO_COUNTERS;

/// The values of a process in the order of its counters, up to the first that
/// is not known.
#[derive(Clone, Copy, Default)]
pub(super) struct Sample {
    values: [u64; MOST],
    known: usize,
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
    /// Begins with the values that every process has: times and start, own and
    /// parent's number, page faults, size, threads.
    pub(super) fn begin(
        &mut self,
        [user, kernel, start]: [u64; 3],
        [pid, parent]: [u32; 2],
        faults: u64,
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
        ]);
    }

    /// Makes the processor times no less than these, and answers them.
    pub(super) fn raise_times(&mut self, least: Option<(u64, u64)>) -> (u64, u64) {
        let [all, user, kernel, ..] = &mut self.values;
        if let Some(least) = least {
            *user = least.0.max(*user);
            *kernel = least.1.max(*kernel);
            *all = user.saturating_add(*kernel);
        }
        (*user, *kernel)
    }

    /// The counters from `io`.
    pub(super) fn push_io(&mut self, read: u64, written: u64, reads: u64, writes: u64) {
        let operations = reads.saturating_add(writes);
        self.push([reads, writes, operations, read, written, read.saturating_add(written)]);
    }

    pub(super) fn push<const N: usize>(&mut self, values: [u64; N]) {
        for (place, value) in self.values.iter_mut().skip(self.known).zip(values) {
            *place = value;
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
        sample.push::<STAT_COUNTERS>([time, 0, time, start, 0, 0, 0, 0, processors]);
        sample.push([0; STATM_COUNTERS]);
        if wanted.handles {
            sample.push([0]);
        }
        if wanted.peaks {
            sample.push([0; STATUS_COUNTERS]);
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
    pub(super) fn make_total(&mut self, now: FileTime) {
        self.known = self.known.max(STAT_COUNTERS);
        self.values[at::ELAPSED] = now.0 as u64;
        self.values[at::PID] = 0;
        self.values[at::PARENT] = 0;
        self.values[at::THREADS] = self.values[at::THREADS].min(MOST_OF_32_BITS);
    }
}

/// A process that is not there any more.
struct Gone;

/// What became of reading a file of a process.
#[derive(PartialEq, Eq)]
enum Outcome {
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
    handles: Option<bool>,
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
            handles: None,
            faults: Faults::default(),
        }
    }

    /// Lists the processes.
    pub(super) fn numbers(&mut self, pids: &mut Vec<u32>) -> Result<(), Errno> {
        self.reader.numbers(pids)
    }

    /// Whether there is a process of this number.
    pub(super) fn is_there(&self, pid: u32) -> bool {
        let mut path = PidPath::new(pid);
        let folder = path.len();
        self.reader.size(path.file(folder, b"stat")).is_ok()
    }

    /// Whether `io` of a process may be read, or cannot be for another reason
    /// than who asks.
    pub(super) fn tells_io(&mut self, pid: u32) -> bool {
        let mut path = PidPath::new(pid);
        let folder = path.len();
        !self.reader.once_here(path.file(folder, b"io")).is_err_and(is_denied)
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

    /// Whether the kernel tells the number of open descriptors as the size of
    /// the folder `fd`. This process has at least one open.
    pub(super) fn has_handles(&mut self) -> bool {
        let reader = &self.reader;
        let probe = || reader.is_procfs() && reader.size(c"self/fd").is_ok_and(|size| size > 0);
        let has = *self.handles.get_or_insert_with(probe);
        if !has {
            let message = "Handle Count takes a /proc of Linux 6.2 or later";
            self.faults.object(message.to_string());
        }
        has
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
            known.begin_anew(0);
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
            known.begin_anew(stat.start);
        }
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let mut sample = Sample::default();
        sample.begin(
            [self.units(stat.user), self.units(stat.kernel), self.start_time(stat.start)],
            [known.pid, number(stat.parent)],
            stat.faults,
            stat.virtual_bytes,
            number(stat.threads),
        );

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
        if wanted.peaks {
            // A thread of the kernel never had any memory of its own.
            let peaks = match is_kernel_thread {
                true => Ok(Some([0, 0])),
                false => self.peaks(known.pid, &mut path, folder),
            };
            match peaks {
                Err(Gone) => return None,
                Ok(None) => return Some(sample),
                Ok(Some(values)) => sample.push(values),
            }
        }
        match self.io(known, &mut path, folder) {
            Err(Gone) => return None,
            Ok(None) => {}
            Ok(Some(Io { read_bytes, written_bytes, reads, writes })) => {
                sample.push_io(read_bytes, written_bytes, reads, writes);
            }
        }
        Some(sample)
    }

    /// The counters from `statm`, of a process of which nothing is kept open.
    /// `None` where it is gone, or that file cannot be read.
    pub(super) fn memory_once(&mut self, pid: u32) -> Option<Option<[u64; STATM_COUNTERS]>> {
        let mut path = PidPath::new(pid);
        let folder = path.len();
        self.memory(&mut Tracked::new(pid), &mut path, folder).ok()
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

    fn peaks(
        &mut self,
        pid: u32,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<Option<[u64; STATUS_COUNTERS]>, Gone> {
        let read = self.reader.once_here(path.file(folder, b"status"));
        if self.outcome(pid, "status", read)? != Outcome::Read {
            return Ok(None);
        }
        // A process that has ended and is not yet waited for has none any more.
        Ok(match peaks(self.reader.text()) {
            [Some(virtual_bytes), Some(resident)] => Some([virtual_bytes, resident]),
            _ => None,
        })
    }

    fn io(
        &mut self,
        known: &mut Tracked,
        path: &mut PidPath,
        folder: usize,
    ) -> Result<Option<Io>, Gone> {
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
        let io = Io::parse(self.reader.text());
        if io.is_none() {
            self.fault(known.pid, "io", "not understood");
        }
        Ok(io)
    }

    fn outcome(&mut self, pid: u32, file: &str, read: Result<(), Errno>) -> Result<Outcome, Gone> {
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
