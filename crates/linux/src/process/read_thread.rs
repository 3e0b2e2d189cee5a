//! The values of threads, read from `/proc`.

use super::columns::ThreadColumns;
use super::proc_files::ProcFiles;
use super::thread_sample::{Sample, windows_state};
use crate::faults::{describe, is_denied, is_gone};
use crate::files::{KeptFile, PidPath, Reader};
use crate::parse::{Schedule, Stat, switches, waiting};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// The reason why a thread has no values.
pub(super) enum Missing {
    /// The thread has ended.
    Gone,
    /// The thread exists, but could not be read.
    Unread,
}

/// Reads the only thread of a process; `None` if that fails. After a failure the thread is read
/// again in its turn, which reports the fault.
pub(super) fn first(files: &mut ProcFiles, pid: u32, kept: &mut KeptFile) -> Option<Sample> {
    TaskFiles { pid, folder: None }.stat(&mut files.reader, pid, kept).ok()?;
    let stat = Stat::parse(files.text())?;
    let mut sample = common(files, pid, pid, &stat);
    sample.push(windows_state(stat.state));
    Some(sample)
}

/// A sample with the values that every thread has, from its `stat`.
fn common(reader: &ProcFiles, pid: u32, tid: u32, stat: &Stat<'_>) -> Sample {
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

/// The place of the files of a process's threads.
pub(super) struct TaskFiles<'a> {
    pub(super) pid: u32,
    /// The open folder `task` of the process, which makes paths shorter; `None` for whole paths.
    pub(super) folder: Option<&'a OwnedFd>,
}

impl TaskFiles<'_> {
    /// Reads the thread with this number; the error says why it has no values. Its `stat` stays
    /// open in `kept` if the budget of open files allows that. The sample ends before the first
    /// counter on request that cannot be read.
    pub(super) fn read(
        &self,
        reader: &mut ProcFiles,
        tid: u32,
        kept: &mut KeptFile,
        wanted: ThreadColumns,
    ) -> Result<Sample, Missing> {
        let pid = self.pid;
        let mut read = self.stat(&mut reader.reader, tid, kept);
        if read == Err(Errno::SRCH) {
            // The thread ended. If a thread has this number now, it is a new thread.
            read = self.stat(&mut reader.reader, tid, kept);
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
        // A value that is not known ends the sample.
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

    /// Adds the wanted counters on request that `_Total` sums; `None` if one of them is not known.
    fn counts(
        &self,
        reader: &mut ProcFiles,
        tid: u32,
        wanted: ThreadColumns,
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

    /// Reads the file `name` of a thread, for [`ProcFiles::text`]; `None` if it cannot be read.
    fn further(&self, reader: &mut ProcFiles, tid: u32, name: &str) -> Option<()> {
        let files = &mut reader.reader;
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

    fn stat(&self, files: &mut Reader, tid: u32, kept: &mut KeptFile) -> Result<(), Errno> {
        match self.folder {
            Some(folder) => files.kept_in(folder, kept, || PidPath::of(tid, b"stat")),
            None => files.kept(kept, || PidPath::of_thread(self.pid, tid, b"stat")),
        }
    }
}

/// Reports a fault of reading threads, unless the process ended or permissions refuse.
pub(super) fn thread_fault(
    reader: &mut ProcFiles,
    pid: u32,
    file: impl std::fmt::Display,
    error: Errno,
) {
    if !is_gone(error) && !is_denied(error) {
        reader.fault(pid, file, describe(error));
    }
}
