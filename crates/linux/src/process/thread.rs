//! Thread 232.

use super::read::{ProcessReader, Threads, Tracked, TrackedThread, follow};
use super::{Places, ProcessSession, SWITCHES};
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{Kept, PidPath, Reader, decimal};
use crate::parse::{Stat, switches};
use crate::table::{COMMON_COUNTERS, PROCESS, THREAD};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{FileTime, InstanceHead, ObjectWriting, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Most values of a thread.
const MOST: usize = COMMON_COUNTERS + 2;

/// The values of a thread, up to the first that is not known.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    values: [u64; MOST],
    known: usize,
}

impl Sample {
    fn new(common: [u64; COMMON_COUNTERS]) -> Self {
        let mut sample = Self { values: [0; MOST], known: 0 };
        common.into_iter().for_each(|value| sample.push(value));
        sample
    }

    fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.known) {
            *place = value;
            self.known += 1;
        }
    }

    fn values(&self) -> &[u64] {
        self.values.get(..self.known).unwrap_or_default()
    }
}

/// What `_Total` adds up.
#[derive(Default)]
struct Sums {
    times: [u64; 3],
    switches: Option<u64>,
}

impl Sums {
    fn add(&mut self, times: &[u64], switches: Option<u64>) {
        for (sum, time) in self.times.iter_mut().zip(times) {
            *sum = sum.saturating_add(*time);
        }
        if let Some(switches) = switches {
            self.switches = Some(self.switches.unwrap_or(0).wrapping_add(switches));
        }
    }
}

impl ProcessSession {
    pub(super) fn write_threads(
        &mut self,
        places: Places,
        with_switches: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let mut mask = THREAD.standard();
        if with_switches {
            mask |= THREAD.bits(SWITCHES);
        }
        let object = out.object(self.thread.template(mask)?)?;
        let mut writing = Writing { object, sums: Sums::default(), with_switches };

        if let Some(idle) = places.idle {
            let start = self.base.boot().0 as u64;
            for (number, cpu) in (0..).zip(&self.stat.cpus) {
                let idle_time = cpu.times.idle;
                let sample = Sample::new([idle_time, 0, idle_time, start, 0, 0]);
                write(&mut writing.object, number, idle, &sample)?;
            }
            let idle_time = self.totals.sum.idle;
            writing.sums.add(&[idle_time, 0, idle_time], None);
        }
        for owner in &self.owners {
            let Some(known) = self.tracked.get_mut(owner.known) else {
                continue;
            };
            let pid = known.pid;
            if owner.threads == 1 {
                // The first thread has the number of the process.
                known.threads = None;
                if let Some(sample) = &owner.first {
                    writing.add(sample, None, (owner.place, 0))?;
                    continue;
                }
                let files = Files { pid, folder: None };
                let (place, first) = (owner.place, &mut known.thread);
                writing.thread(&mut self.reader, &files, (pid, first), (place, 0))?;
                continue;
            }
            known.thread.close();
            let Threads { folder, known } = &mut **known.threads.get_or_insert_default();
            let path = || PidPath::of(pid, b"task");
            let open = match self.reader.files().numbers_in(folder, path, &mut self.threads) {
                Ok(open) => open,
                Err(error) => {
                    thread_fault(&mut self.reader, pid, "task", error);
                    continue;
                }
            };
            let before = &mut self.threads_before;
            follow(&self.threads, known, before, |known| known.tid, TrackedThread::new);
            let files = Files { pid, folder: open.as_ref().or(folder.fd()) };
            let mut number = 0;
            for TrackedThread { tid, stat } in known {
                let place = (owner.place, number);
                number +=
                    u32::from(writing.thread(&mut self.reader, &files, (*tid, stat), place)?);
            }
        }

        let Writing { mut object, sums, .. } = writing;
        let now = self.base.now();
        let [processor, user, privileged] = sums.times;
        let mut total = Sample::new([processor, user, privileged, now.0 as u64, 0, 0]);
        if let Some(switches) = sums.switches {
            total.push(switches);
        }
        let head = InstanceHead {
            parent: Some((TitleIndex(PROCESS.index), places.total)),
            ..InstanceHead::named("_Total")
        };
        object.instance_prefix(&head, total.values())?;
        object.clock(now.0, FileTime::PER_SECOND).finish()?;
        Ok(())
    }
}

/// The object while it is written.
struct Writing<'w, 't> {
    object: ObjectWriting<'w, 't>,
    sums: Sums,
    with_switches: bool,
}

impl Writing<'_, '_> {
    /// Reads a thread, by its number and file, and writes it, to its place:
    /// the process' instance, and its number there. Answers whether it was
    /// there.
    fn thread(
        &mut self,
        reader: &mut ProcessReader,
        files: &Files<'_>,
        (tid, kept): (u32, &mut Kept),
        place: (u32, u32),
    ) -> Result<bool, ProviderError> {
        let Some((sample, switches)) = files.read(reader, tid, kept, self.with_switches) else {
            return Ok(false);
        };
        self.add(&sample, switches, place)?;
        Ok(true)
    }

    /// Writes a thread.
    fn add(
        &mut self,
        sample: &Sample,
        switches: Option<u64>,
        (parent, number): (u32, u32),
    ) -> Result<(), ProviderError> {
        write(&mut self.object, number, parent, sample)?;
        self.sums.add(sample.values(), switches);
        Ok(())
    }
}

/// Reads the one thread of a process while the processor's caches still know
/// the process; `None` where that fails, in whichever way. The usual reading of
/// threads will find out what it was.
pub(super) fn first(reader: &mut ProcessReader, known: &mut Tracked) -> Option<Sample> {
    let pid = known.pid;
    Files { pid, folder: None }.stat(reader.files(), pid, &mut known.thread).ok()?;
    let stat = Stat::parse(reader.text())?;
    let mut sample = common(reader, pid, pid, &stat);
    sample.push(windows_state(stat.state));
    Some(sample)
}

/// The values that every thread has.
fn common(reader: &ProcessReader, pid: u32, tid: u32, stat: &Stat<'_>) -> Sample {
    let (user, kernel) = (reader.units(stat.user), reader.units(stat.kernel));
    Sample::new([
        user.saturating_add(kernel),
        user,
        kernel,
        reader.start_time(stat.start),
        u64::from(pid),
        u64::from(tid),
    ])
}

/// Where the files of a process' threads are.
struct Files<'a> {
    pid: u32,
    /// The open folder, if there is one: a shorter way than the whole path.
    folder: Option<&'a OwnedFd>,
}

impl Files<'_> {
    /// Reads a thread, and its context switches; `None` where it is gone or
    /// hidden.
    fn read(
        &self,
        reader: &mut ProcessReader,
        tid: u32,
        kept: &mut Kept,
        with_switches: bool,
    ) -> Option<(Sample, Option<u64>)> {
        let pid = self.pid;
        let mut read = self.stat(reader.files(), tid, kept);
        if read == Err(Errno::SRCH) {
            // It ended; if there is one of its number now, that is another.
            read = self.stat(reader.files(), tid, kept);
        }
        if let Err(error) = read {
            thread_fault(reader, pid, "task: stat", error);
            return None;
        }
        let Some(stat) = Stat::parse(reader.text()) else {
            reader.fault(pid, "task: stat", "not understood");
            return None;
        };
        let state = windows_state(stat.state);
        let mut sample = common(reader, pid, tid, &stat);
        if !with_switches {
            sample.push(state);
            return Some((sample, None));
        }
        let count = match self.status(reader.files(), tid) {
            Ok(()) => switches(reader.text()),
            Err(error) => {
                thread_fault(reader, pid, "task: status", error);
                None
            }
        };
        if let Some(count) = count {
            sample.push(count);
            sample.push(state);
        }
        Some((sample, count))
    }

    fn stat(&self, files: &mut Reader, tid: u32, kept: &mut Kept) -> Result<(), Errno> {
        match self.folder {
            Some(folder) => files.kept_in(folder, kept, || PidPath::of(tid, b"stat")),
            None => files.kept(kept, || PidPath::of_thread(self.pid, tid, b"stat")),
        }
    }

    fn status(&self, files: &mut Reader, tid: u32) -> Result<(), Errno> {
        match self.folder {
            Some(folder) => files.once(folder, PidPath::of(tid, b"status").text()),
            None => files.once_here(PidPath::of_thread(self.pid, tid, b"status").text()),
        }
    }
}

fn thread_fault(reader: &mut ProcessReader, pid: u32, file: &str, error: Errno) {
    if !is_gone(error) && !is_denied(error) {
        reader.fault(pid, file, &describe(error));
    }
}

fn write(
    object: &mut ObjectWriting<'_, '_>,
    number: u32,
    parent: u32,
    sample: &Sample,
) -> Result<(), ProviderError> {
    let mut digits = [0; 10];
    let name = std::str::from_utf8(decimal(number, &mut digits)).unwrap_or_default();
    let head = InstanceHead {
        parent: Some((TitleIndex(PROCESS.index), parent)),
        ..InstanceHead::named(name)
    };
    object.instance_prefix(&head, sample.values())?;
    Ok(())
}

/// Windows' number of a thread's state.
fn windows_state(state: u8) -> u64 {
    match state {
        b'R' => 2,
        b'Z' | b'X' | b'x' => 4,
        b'S' | b'D' | b'I' | b'T' | b't' | b'P' | b'K' => 5,
        _ => 7,
    }
}
