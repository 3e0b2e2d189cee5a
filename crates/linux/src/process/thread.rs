//! Thread 232.

use super::read::ProcessReader;
use super::tracked::{Threads, Tracked, TrackedThread, follow};
use super::wanted::ThreadWanted;
use super::{Known, Places, ProcessSession};
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{Kept, PidPath, Reader, decimal};
use crate::parse::{Schedule, Stat, switches, waiting};
use crate::table::{COMMON_COUNTERS, PROCESS};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{FileTime, InstanceHead, ObjectWriting, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Most values of a thread.
const MOST: usize = COMMON_COUNTERS + 5 + 5;

/// Places of the values that are no sums in `_Total`.
mod at {
    pub(super) const ELAPSED: usize = 3;
    pub(super) const PID: usize = 4;
    pub(super) const TID: usize = 5;
}

/// The values of a thread, up to the first that is not known.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    values: [u64; MOST],
    known: usize,
    /// How many of them `_Total` has.
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

    /// Adds a value that `_Total` has as a sum.
    pub(super) fn push_summed(&mut self, value: u64) {
        self.push(value);
        self.summed = self.known;
    }

    /// Adds the values of a thread, as far as it has them.
    fn add(&mut self, other: &Self) {
        let values = other.values.iter().take(other.summed);
        for (sum, value) in self.values.iter_mut().zip(values) {
            *sum = sum.saturating_add(*value);
        }
        self.known = self.known.max(other.summed);
    }

    /// Makes a sum the sample of `_Total`.
    fn make_total(&mut self, now: FileTime) {
        self.values[at::ELAPSED] = now.0 as u64;
        self.values[at::PID] = 0;
        self.values[at::TID] = 0;
    }

    fn values(&self) -> &[u64] {
        self.values.get(..self.known).unwrap_or_default()
    }
}

/// Why there is nothing of a thread.
enum Missing {
    /// It has ended.
    Gone,
    /// It is there, and was not read.
    Unread,
}

impl ProcessSession {
    pub(super) fn write_threads(
        &mut self,
        places: Places,
        wanted: ThreadWanted,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let object = out.object(self.thread.template(wanted.mask())?)?;
        let mut writing = Writing { object, total: Sample::new([0; COMMON_COUNTERS]), wanted };

        if let Some(idle) = places.idle {
            let start = self.base.boot().0 as u64;
            for (number, cpu) in (0..).zip(&self.stat.cpus) {
                let idle_time = cpu.times.idle;
                let sample = Sample::new([idle_time, 0, idle_time, start, 0, 0, 0, 0]);
                write(&mut writing.object, number, idle, &sample)?;
            }
        }
        let idle_time = self.totals.sum.idle;
        writing.total.add(&Sample::new([idle_time, 0, idle_time, 0, 0, 0, 0, 0]));
        self.second.begin_threads();
        for (at, owner) in self.owners.iter().enumerate() {
            if self.reader.files().is_late() {
                let left = self.owners.len() - at;
                let what = format_args!("threads of {left} processes were not read");
                self.reader.faults.object(format_args!("the deadline passed: {what}"));
                break;
            }
            let tracked = match owner.known {
                Known::Tracked(place) => place,
                Known::Second(second) => {
                    let mut number = 0;
                    self.second.threads(second, wanted, &self.reader, |sample| {
                        number += 1;
                        writing.add(sample, (owner.place, number - 1))
                    })?;
                    continue;
                }
            };
            let Some(known) = self.tracked.get_mut(tracked) else {
                continue;
            };
            let pid = known.pid;
            if owner.threads == 1 {
                // The first thread has the number of the process.
                known.threads = None;
                if let Some(sample) = &owner.first {
                    writing.add(sample, (owner.place, 0))?;
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
            follow(&self.threads, known, before, |known| known.tid, TrackedThread::new, drop);
            let files = Files { pid, folder: open.as_ref().or(folder.fd()) };
            let mut number = 0;
            for TrackedThread { tid, stat } in known {
                let place = (owner.place, number);
                number +=
                    u32::from(writing.thread(&mut self.reader, &files, (*tid, stat), place)?);
            }
        }

        let Writing { mut object, mut total, .. } = writing;
        let now = self.base.now();
        total.make_total(now);
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
    total: Sample,
    wanted: ThreadWanted,
}

impl Writing<'_, '_> {
    /// Reads a thread, by its number and file, and writes it, to its place:
    /// the process' instance, and its number there. Answers whether it is
    /// there, read or not.
    fn thread(
        &mut self,
        reader: &mut ProcessReader,
        files: &Files<'_>,
        (tid, kept): (u32, &mut Kept),
        place: (u32, u32),
    ) -> Result<bool, ProviderError> {
        let sample = match files.read(reader, tid, kept, self.wanted) {
            Ok(sample) => sample,
            Err(Missing::Gone) => return Ok(false),
            // It keeps its number: the others are not to change theirs.
            Err(Missing::Unread) => return Ok(true),
        };
        self.add(&sample, place)?;
        Ok(true)
    }

    /// Writes a thread.
    fn add(&mut self, sample: &Sample, (parent, number): (u32, u32)) -> Result<(), ProviderError> {
        write(&mut self.object, number, parent, sample)?;
        self.total.add(sample);
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
        stat.faults,
        stat.major_faults,
    ])
}

/// Where the files of a process' threads are.
struct Files<'a> {
    pid: u32,
    /// The open folder, if there is one: a shorter way than the whole path.
    folder: Option<&'a OwnedFd>,
}

impl Files<'_> {
    /// Reads a thread.
    fn read(
        &self,
        reader: &mut ProcessReader,
        tid: u32,
        kept: &mut Kept,
        wanted: ThreadWanted,
    ) -> Result<Sample, Missing> {
        let pid = self.pid;
        let mut read = self.stat(reader.files(), tid, kept);
        if read == Err(Errno::SRCH) {
            // It ended; if there is one of its number now, that is another.
            read = self.stat(reader.files(), tid, kept);
        }
        if let Err(error) = read {
            thread_fault(reader, pid, "task: stat", error);
            return Err(if is_gone(error) { Missing::Gone } else { Missing::Unread });
        }
        let Some(stat) = Stat::parse(reader.text()) else {
            reader.fault(pid, "task: stat", "not understood");
            return Err(Missing::Unread);
        };
        let state = stat.state;
        let mut sample = common(reader, pid, tid, &stat);
        let more = wanted.schedule || wanted.processor || wanted.counts.delay;
        let schedule = more.then(|| Schedule::parse(reader.text())).flatten();
        if more && schedule.is_none() {
            reader.fault(pid, "task: stat", "nothing of the schedule is understood");
        }
        // What is not known ends the sample.
        if self.counts(reader, tid, wanted, schedule, &mut sample).is_some() {
            sample.push(windows_state(state));
            if let Some(Schedule { nice_level, processor, real_time, policy, .. }) = schedule {
                if wanted.schedule {
                    [nice_level, real_time, policy].into_iter().for_each(|n| sample.push(n));
                }
                if wanted.processor {
                    sample.push(processor);
                }
            }
        }
        Ok(sample)
    }

    /// Adds the counts that are wanted; `None` where one is not known.
    fn counts(
        &self,
        reader: &mut ProcessReader,
        tid: u32,
        wanted: ThreadWanted,
        schedule: Option<Schedule>,
        sample: &mut Sample,
    ) -> Option<()> {
        if wanted.switches || wanted.counts.apart {
            self.further(reader, tid, "status")?;
            let [voluntary, others] = switches(reader.text())?;
            if wanted.switches {
                sample.push_summed(voluntary.wrapping_add(others));
            }
            if wanted.counts.apart {
                sample.push_summed(voluntary);
                sample.push_summed(others);
            }
        }
        if wanted.counts.waiting {
            self.further(reader, tid, "schedstat")?;
            // Nanoseconds.
            sample.push_summed(waiting(reader.text())? / 100);
        }
        if wanted.counts.delay {
            sample.push_summed(reader.units(schedule?.delay?));
        }
        Some(())
    }

    /// Reads a further file of a thread.
    fn further(&self, reader: &mut ProcessReader, tid: u32, name: &str) -> Option<()> {
        let files = reader.files();
        let read = match self.folder {
            Some(folder) => files.once(folder, PidPath::of(tid, name.as_bytes()).text()),
            None => {
                let path = PidPath::of_thread(self.pid, tid, name.as_bytes());
                files.once_here(path.text())
            }
        };
        if let Err(error) = read {
            thread_fault(reader, self.pid, format_args!("task: {name}"), error);
        }
        read.ok()
    }

    fn stat(&self, files: &mut Reader, tid: u32, kept: &mut Kept) -> Result<(), Errno> {
        match self.folder {
            Some(folder) => files.kept_in(folder, kept, || PidPath::of(tid, b"stat")),
            None => files.kept(kept, || PidPath::of_thread(self.pid, tid, b"stat")),
        }
    }
}

fn thread_fault(reader: &mut ProcessReader, pid: u32, file: impl std::fmt::Display, error: Errno) {
    if !is_gone(error) && !is_denied(error) {
        reader.fault(pid, file, describe(error));
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
pub(super) fn windows_state(state: u8) -> u64 {
    match state {
        b'R' => 2,
        b'Z' | b'X' | b'x' => 4,
        b'S' | b'D' | b'I' | b'T' | b't' | b'P' | b'K' => 5,
        _ => 7,
    }
}
