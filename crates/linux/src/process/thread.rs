//! Thread 232.

use super::read::ProcessReader;
use super::wanted::ThreadWanted;
use super::{Owner, Places, ProcessSession};
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{Kept, PidPath, decimal};
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
struct Sample {
    values: [u64; MOST],
    known: usize,
    /// How many of them `_Total` has.
    summed: usize,
}

impl Sample {
    fn new(common: [u64; COMMON_COUNTERS]) -> Self {
        let mut sample = Self { values: [0; MOST], known: 0, summed: COMMON_COUNTERS };
        common.into_iter().for_each(|value| sample.push(value));
        sample
    }

    fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.known) {
            *place = value;
            self.known += 1;
        }
    }

    /// Adds a value that `_Total` has as a sum.
    fn push_summed(&mut self, value: u64) {
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

impl ProcessSession {
    pub(super) fn write_threads(
        &mut self,
        places: Places,
        wanted: ThreadWanted,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let mut object = out.object(self.thread.template(wanted.mask())?)?;
        let mut total = Sample::new([0; COMMON_COUNTERS]);

        if let Some(idle) = places.idle {
            let start = self.base.boot().0 as u64;
            for (number, cpu) in (0..).zip(&self.stat.cpus) {
                let idle_time = cpu.times.idle;
                let sample = Sample::new([idle_time, 0, idle_time, start, 0, 0, 0, 0]);
                write(&mut object, number, idle, &sample)?;
            }
            let idle_time = self.totals.sum.idle;
            total.add(&Sample::new([idle_time, 0, idle_time, 0, 0, 0, 0, 0]));
        }
        for owner in &self.owners {
            let Some(folder) = list(&mut self.reader, owner, &mut self.threads) else {
                continue;
            };
            let Some(known) = self.tracked.get_mut(owner.known) else {
                continue;
            };
            let first = &mut known.thread;
            let mut process = ThreadsOf { pid: owner.pid, folder, first, wanted };
            let mut number = 0;
            for tid in &self.threads {
                let Some(sample) = process.read(&mut self.reader, *tid) else {
                    continue;
                };
                write(&mut object, number, owner.place, &sample)?;
                total.add(&sample);
                number += 1;
            }
        }

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

/// Lists the threads of a process, and answers their folder if they are
/// several. `None` where the process is gone.
fn list(
    reader: &mut ProcessReader,
    owner: &Owner,
    threads: &mut Vec<u32>,
) -> Option<Option<OwnedFd>> {
    threads.clear();
    if owner.threads == 1 {
        // The first thread has the number of the process.
        threads.push(owner.pid);
        return Some(None);
    }
    let mut path = PidPath::new(owner.pid);
    let folder = path.len();
    match reader.files().numbers_in(path.file(folder, b"task"), threads) {
        Ok(folder) => Some(Some(folder)),
        Err(error) => {
            thread_fault(reader, owner.pid, "task", error);
            None
        }
    }
}

/// The threads of one process.
struct ThreadsOf<'a> {
    pid: u32,
    /// Their folder, if they are several.
    folder: Option<OwnedFd>,
    /// `stat` of the first thread, which most processes have alone.
    first: &'a mut Kept,
    wanted: ThreadWanted,
}

impl ThreadsOf<'_> {
    /// Reads a thread; `None` where it is gone or hidden.
    fn read(&mut self, reader: &mut ProcessReader, tid: u32) -> Option<Sample> {
        let pid = self.pid;
        if let Err(error) = self.file(reader, tid, b"stat") {
            thread_fault(reader, pid, "task: stat", error);
            return None;
        }
        let Some(stat) = Stat::parse(reader.text()) else {
            reader.fault(pid, "task: stat", "not understood");
            return None;
        };
        let Stat { state, user, kernel, start, faults, major_faults, .. } = stat;
        let wanted = self.wanted;
        let more = wanted.schedule || wanted.processor || wanted.counts.delay;
        let schedule = more.then(|| Schedule::parse(reader.text())).flatten();
        if more && schedule.is_none() {
            reader.fault(pid, "task: stat", "nothing of the schedule is understood");
        }
        let (user, kernel) = (reader.units(user), reader.units(kernel));
        let mut sample = Sample::new([
            user.saturating_add(kernel),
            user,
            kernel,
            reader.start_time(start),
            u64::from(pid),
            u64::from(tid),
            faults,
            major_faults,
        ]);
        // What is not known ends the sample.
        if self.counts(reader, tid, schedule, &mut sample).is_some() {
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
        Some(sample)
    }

    /// Adds the counts that are wanted; `None` where one is not known.
    fn counts(
        &mut self,
        reader: &mut ProcessReader,
        tid: u32,
        schedule: Option<Schedule>,
        sample: &mut Sample,
    ) -> Option<()> {
        let wanted = self.wanted;
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
    fn further(&mut self, reader: &mut ProcessReader, tid: u32, name: &str) -> Option<()> {
        let read = self.file(reader, tid, name.as_bytes());
        if let Err(error) = read {
            thread_fault(reader, self.pid, &format!("task: {name}"), error);
        }
        read.ok()
    }

    fn file(&mut self, reader: &mut ProcessReader, tid: u32, name: &[u8]) -> Result<(), Errno> {
        let files = reader.files();
        match &self.folder {
            Some(folder) if tid != self.pid => {
                let mut path = PidPath::new(tid);
                let length = path.len();
                files.once(folder, path.file(length, name))
            }
            _ => {
                let mut path = PidPath::new(self.pid);
                path.push(b"task/");
                path.push_number(tid);
                path.push(b"/");
                let length = path.len();
                match name {
                    b"stat" => files.kept(path.file(length, name), self.first),
                    _ => files.once_here(path.file(length, name)),
                }
            }
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
