//! The object Thread (232), written from the values of either reader: `/proc` or BPF.

use super::bpf_reader::BpfReader;
use super::columns::ThreadColumns;
use super::ended::Ended;
use super::instances::{Owner, Places, ReadBy};
use super::proc_files::ProcFiles;
use super::read_thread::{Missing, TaskFiles, thread_fault};
use super::thread_sample::{SUMS, Sample, key_of};
use super::tracked::{Threads, Tracked, TrackedThread, follow};
use crate::clock::TimeBase;
use crate::cpus::{SystemStat, Totals};
use crate::faults::is_gone;
use crate::files::{KeptFile, PidPath, decimal};
use crate::table::{COMMON_COUNTERS, PROCESS};
use perfhive_engine::ProviderError;
use perfhive_format::{FileTime, InstanceHead, ObjectWriting, TitleIndex};
use std::ops::RangeInclusive;

/// Lists for the threads of one process, kept for reuse.
#[derive(Default)]
pub(super) struct Lists {
    numbers: Vec<u32>,
    /// The previous threads of the process; empty between processes.
    before: Vec<TrackedThread>,
}

/// The readers and state from which Thread is written.
pub(super) struct ThreadWriter<'a> {
    pub(super) files: &'a mut ProcFiles,
    pub(super) bpf: &'a mut BpfReader,
    pub(super) tracked: &'a mut [Tracked],
    pub(super) owners: &'a [Owner],
    /// The processes that exist, but could not be read, by ascending number.
    pub(super) unread: &'a [u32],
    pub(super) lists: &'a mut Lists,
    pub(super) stat: &'a SystemStat,
    pub(super) totals: &'a Totals,
    pub(super) base: &'a TimeBase,
    pub(super) ended: &'a mut Ended<SUMS>,
    /// The processor times and page faults of `_Total` of Process in the order of
    /// [`sample::COMMON`](super::sample::COMMON), which include those of ended threads; `_Total` of
    /// Thread gets the same values.
    pub(super) of_processes: [u64; 5],
}

impl ThreadWriter<'_> {
    /// Writes the object Thread: the threads of the written processes (`owners`), the threads of
    /// Idle, and `_Total` if Process has it. After the deadline the threads of further processes
    /// are left out, with a fault.
    pub(super) fn write(
        self,
        object: ObjectWriting<'_, '_>,
        places: Places,
        wanted: ThreadColumns,
    ) -> Result<(), ProviderError> {
        let is_all = places.total.is_some();
        let ended = (is_all && wanted.sums() != 0).then_some(self.ended);
        let total = Sample::new([0; COMMON_COUNTERS]);
        let complete = !self.files.reader.is_late();
        let mut writing = Writing { object, total, wanted, ended, complete };
        writing.ended.iter_mut().for_each(|ended| ended.begin_with(wanted.sums()));

        if let Some(idle) = places.idle {
            let start = self.base.boot().0 as u64;
            for cpu in &self.stat.cpus {
                let idle_time = cpu.times.idle;
                let sample = Sample::new([idle_time, 0, idle_time, start, 0, 0, 0, 0]);
                write(&mut writing.object, cpu.number, idle, &sample)?;
            }
        }
        let idle_time = self.totals.sum.idle;
        writing.total.add(&Sample::new([idle_time, 0, idle_time, 0, 0, 0, 0, 0]));
        self.bpf.begin_threads();
        let mut unread = self.unread.iter().copied().peekable();
        for owner in self.owners {
            if self.files.reader.is_late() {
                let message = "the deadline passed: the threads of some processes were not read";
                self.files.faults.object(message);
                writing.complete = false;
                break;
            }
            let pid = match owner.read_by {
                ReadBy::Proc(place) => self.tracked.get(place).map(|known| known.pid),
                ReadBy::Bpf(place) => self.bpf.pid(place),
            };
            while let Some(before) = unread.next_if(|unread| pid.is_some_and(|pid| *unread < pid)) {
                writing.unread(threads_of(before));
            }
            let tracked = match owner.read_by {
                ReadBy::Proc(place) => place,
                ReadBy::Bpf(place) => {
                    let mut number = 0;
                    self.bpf.threads(place, wanted, self.files, |sample| {
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
                // The first thread has the number of its process.
                known.threads = None;
                if let Some(sample) = &owner.first {
                    writing.add(sample, (owner.place, 0))?;
                    continue;
                }
                let files = TaskFiles { pid, folder: None };
                let (place, first) = (owner.place, &mut known.thread);
                writing.thread(self.files, &files, (pid, first), (place, 0))?;
                continue;
            }
            known.thread.close();
            let Threads { folder, known } = &mut **known.threads.get_or_insert_default();
            let path = || PidPath::of(pid, b"task");
            let open = match self.files.reader.numbers_in(folder, path, &mut self.lists.numbers) {
                Ok(open) => open,
                Err(error) => {
                    thread_fault(self.files, pid, "task", error);
                    if !is_gone(error) {
                        writing.unread(threads_of(pid));
                    }
                    continue;
                }
            };
            let Lists { numbers, before } = &mut *self.lists;
            follow(numbers, known, before, |known| known.tid, TrackedThread::new, drop);
            let files = TaskFiles { pid, folder: open.as_ref().or(folder.fd()) };
            let mut number = 0;
            for TrackedThread { tid, stat } in known {
                let place = (owner.place, number);
                number += u32::from(writing.thread(self.files, &files, (*tid, stat), place)?);
            }
        }

        if writing.complete {
            unread.for_each(|pid| writing.unread(threads_of(pid)));
        }

        let Writing { mut object, mut total, ended, complete, .. } = writing;
        total.set_common(self.of_processes);
        if let Some(ended) = ended {
            total.add_sums(ended.end(complete));
        }
        let now = self.base.now();
        if let Some(place) = places.total {
            total.make_total(now);
            let head = InstanceHead {
                parent: Some((TitleIndex(PROCESS.index), place)),
                ..InstanceHead::named("_Total")
            };
            object.instance_prefix(&head, total.values())?;
        }
        object.clock(now.0, FileTime::PER_SECOND).finish()?;
        Ok(())
    }
}

/// The object Thread while it is written.
struct Writing<'w, 't> {
    object: ObjectWriting<'w, 't>,
    total: Sample,
    wanted: ThreadColumns,
    /// The counts of threads that ended; `None` unless all processes are wanted, and a counter on
    /// request of which `_Total` has the sum.
    ended: Option<&'w mut Ended<SUMS>>,
    complete: bool,
}

impl Writing<'_, '_> {
    /// Reads the thread `tid` and writes it. Its `stat` stays open in `kept` if the budget of open
    /// files allows that. `place` is the position of its process's instance, and the thread's number
    /// within the process. Returns `false` if the thread has ended, so that its number is free. A
    /// thread that could not be read is not written, but takes its number.
    fn thread(
        &mut self,
        reader: &mut ProcFiles,
        files: &TaskFiles<'_>,
        (tid, kept): (u32, &mut KeptFile),
        place: (u32, u32),
    ) -> Result<bool, ProviderError> {
        let sample = match files.read(reader, tid, kept, self.wanted) {
            Ok(sample) => sample,
            Err(Missing::Gone) => return Ok(false),
            // It keeps its number, so that other threads keep theirs.
            Err(Missing::Unread) => {
                let key = key_of(files.pid, tid);
                self.unread(key..=key);
                return Ok(true);
            }
        };
        self.add(&sample, place)?;
        Ok(true)
    }

    /// Writes a thread, and adds it to the sums. `parent` is the position of its process among the
    /// instances of Process, and `number` the thread's number within the process.
    fn add(&mut self, sample: &Sample, (parent, number): (u32, u32)) -> Result<(), ProviderError> {
        write(&mut self.object, number, parent, sample)?;
        self.total.add(sample);
        if let Some(ended) = &mut self.ended {
            let (key, start) = sample.identity();
            ended.meet(key, start, |slot| sample.sum(slot));
        }
        Ok(())
    }

    /// Notes that threads with these keys may exist, but could not be read: their counts stay in
    /// the sums as they were.
    fn unread(&mut self, keys: RangeInclusive<u64>) {
        if let Some(ended) = &mut self.ended {
            ended.meet_unread(keys);
        }
    }
}

/// The keys ([`key_of`]) of all threads that a process may have.
fn threads_of(pid: u32) -> RangeInclusive<u64> {
    key_of(pid, 0)..=key_of(pid, u32::MAX)
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
