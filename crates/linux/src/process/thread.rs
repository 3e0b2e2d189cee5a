//! Thread 232.

use super::read::ProcessReader;
use super::{Known, Owner, Places, ProcessSession, SWITCHES};
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{Kept, PidPath, decimal};
use crate::parse::{Stat, switches};
use crate::table::{COMMON_COUNTERS, PROCESS, THREAD};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{FileTime, InstanceHead, ObjectWriting, TitleIndex};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Most values of a thread.
const MOST: usize = COMMON_COUNTERS + 2;

/// The values of a thread, up to the first that is not known.
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

    /// A thread's times and start, the numbers of its process and of itself, and
    /// its state, with the switches in between if they are wanted.
    pub(super) fn of(
        [user, kernel, start]: [u64; 3],
        (pid, tid): (u32, u32),
        switches: Option<u64>,
        state: u64,
    ) -> Self {
        let all = user.saturating_add(kernel);
        let mut sample = Self::new([all, user, kernel, start, u64::from(pid), u64::from(tid)]);
        switches.into_iter().for_each(|count| sample.push(count));
        sample.push(state);
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
        let mut object = out.object(self.thread.template(mask)?)?;
        let mut sums = Sums::default();

        if let Some(idle) = places.idle {
            let start = self.base.boot().0 as u64;
            for (number, cpu) in (0..).zip(&self.stat.cpus) {
                let idle_time = cpu.times.idle;
                let sample = Sample::new([idle_time, 0, idle_time, start, 0, 0]);
                write(&mut object, number, idle, &sample)?;
            }
            let idle_time = self.totals.sum.idle;
            sums.add(&[idle_time, 0, idle_time], None);
        }
        self.second.begin_threads();
        for owner in &self.owners {
            let tracked = match owner.known {
                Known::Tracked(place) => place,
                Known::Second(second) => {
                    let mut number = 0;
                    let reader = &self.reader;
                    self.second.threads(second, with_switches, reader, |sample, switches| {
                        sums.add(sample.values(), switches);
                        number += 1;
                        write(&mut object, number - 1, owner.place, sample)
                    })?;
                    continue;
                }
            };
            let Some(folder) = list(&mut self.reader, owner, &mut self.threads) else {
                continue;
            };
            let Some(known) = self.tracked.get_mut(tracked) else {
                continue;
            };
            let first = &mut known.thread;
            let mut process = ThreadsOf { pid: owner.pid, folder, first, with_switches };
            let mut number = 0;
            for tid in &self.threads {
                let Some((sample, switches)) = process.read(&mut self.reader, *tid) else {
                    continue;
                };
                write(&mut object, number, owner.place, &sample)?;
                sums.add(sample.values(), switches);
                number += 1;
            }
        }

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
    with_switches: bool,
}

impl ThreadsOf<'_> {
    /// Reads a thread, and its context switches; `None` where it is gone or
    /// hidden.
    fn read(&mut self, reader: &mut ProcessReader, tid: u32) -> Option<(Sample, Option<u64>)> {
        let pid = self.pid;
        if let Err(error) = self.file(reader, tid, b"stat") {
            thread_fault(reader, pid, "task: stat", error);
            return None;
        }
        let Some(stat) = Stat::parse(reader.text()) else {
            reader.fault(pid, "task: stat", "not understood");
            return None;
        };
        let state = windows_state(stat.state);
        let times =
            [reader.units(stat.user), reader.units(stat.kernel), reader.start_time(stat.start)];
        if !self.with_switches {
            return Some((Sample::of(times, (pid, tid), None, state), None));
        }
        let count = match self.file(reader, tid, b"status") {
            Ok(()) => switches(reader.text()),
            Err(error) => {
                thread_fault(reader, pid, "task: status", error);
                None
            }
        };
        let mut sample = Sample::of(times, (pid, tid), count, state);
        if count.is_none() {
            // What stands behind it has no place then.
            sample.known = COMMON_COUNTERS;
        }
        Some((sample, count))
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
pub(super) fn windows_state(state: u8) -> u64 {
    match state {
        b'R' => 2,
        b'Z' | b'X' | b'x' => 4,
        b'S' | b'D' | b'I' | b'T' | b't' | b'P' | b'K' => 5,
        _ => 7,
    }
}
