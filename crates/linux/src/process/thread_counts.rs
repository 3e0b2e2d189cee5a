//! Counters of a process that the kernel counts for each thread: context switches, waiting for a
//! processor, delay by block devices.
//!
//! The files of a process have these counts of its first thread only. A plain sum over the threads
//! would step back whenever a thread ends. So a sum grows by the growth of each thread's count
//! since the sample before, and by the whole count of a new thread.

use super::columns::ThreadSums;
use super::proc_files::{Gone, Outcome, ProcFiles};
use super::sample::Summed;
use crate::files::PidPath;
use crate::parse::{Schedule, switches, waiting};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// The number of a thread, and two counts of it; the second is 0 for a file with one count.
type ThreadCounts = (u32, [u64; 2]);

/// A sum of each of two counts over the threads of a process.
#[derive(Default)]
struct Sum {
    /// The counts of the threads in the sample before, by ascending thread number.
    before: Vec<ThreadCounts>,
    total: [u64; 2],
}

impl Sum {
    fn update(&mut self, now: &[ThreadCounts]) {
        let mut before = self.before.iter().peekable();
        for (tid, counts) in now {
            while before.next_if(|(known, _)| known < tid).is_some() {}
            let last = before.next_if(|(known, _)| known == tid).map_or([0; 2], |known| known.1);
            // Less than before: the number belongs to another thread now.
            let again = counts.iter().zip(last).any(|(now, last)| *now < last);
            let last = if again { [0; 2] } else { last };
            for ((total, now), last) in self.total.iter_mut().zip(counts).zip(last) {
                *total = total.wrapping_add(now.wrapping_sub(last));
            }
        }
        self.before.clear();
        self.before.extend_from_slice(now);
    }
}

/// The sums over the threads of a process, by the file that has the counts.
#[derive(Default)]
pub(super) struct Sums {
    switches: Sum,
    waiting: Sum,
    delay: Sum,
}

impl Sums {
    /// Sets all sums to zero, and forgets the counts of the threads.
    fn clear(&mut self) {
        for sum in [&mut self.switches, &mut self.waiting, &mut self.delay] {
            sum.before.clear();
            sum.total = [0; 2];
        }
    }
}

/// The kinds of a thread's counts, each with its file and parser.
#[derive(Clone, Copy)]
enum Kind {
    Switches,
    Waiting,
    Delay,
}

impl Kind {
    fn file(self) -> &'static str {
        match self {
            Self::Switches => "status",
            Self::Waiting => "schedstat",
            Self::Delay => "stat",
        }
    }

    fn parse(self, text: &[u8]) -> Option<[u64; 2]> {
        match self {
            Self::Switches => switches(text),
            Self::Waiting => Some([waiting(text)?, 0]),
            Self::Delay => Some([Schedule::parse(text)?.delay?, 0]),
        }
    }
}

/// Buffers for the process that is being read, and sums of ended processes, for reuse.
#[derive(Default)]
pub(super) struct Buffers {
    tids: Vec<u32>,
    counts: Vec<ThreadCounts>,
    #[expect(clippy::vec_box, reason = "the boxes are reused too")]
    spare: Vec<Box<Sums>>,
}

/// The most sums of ended processes that are kept for reuse.
const SPARE: usize = 256;

impl Buffers {
    /// Keeps the sums of an ended process for reuse, cleared, unless [`SPARE`] are kept already.
    pub(super) fn take_back(&mut self, sums: Option<Box<Sums>>) {
        if let Some(mut sums) = sums
            && self.spare.len() < SPARE
        {
            sums.clear();
            self.spare.push(sums);
        }
    }
}

impl Buffers {
    /// The values of the wanted sums over the threads of a process, given by its number and its
    /// number of threads; [`Gone`] if the process no longer exists. The sums are kept in `sums`; a
    /// sum has no value if its files cannot be read. `switches` are the context switches of an only
    /// thread, if they were read already.
    pub(super) fn sum(
        &mut self,
        files: &mut ProcFiles,
        sums: &mut Option<Box<Sums>>,
        (pid, threads): (u32, u64),
        switches: Option<[u64; 2]>,
        wanted: ThreadSums,
    ) -> Result<Summed, Gone> {
        let folder = if threads == 1 {
            self.tids.clear();
            self.tids.push(pid);
            None
        } else {
            let mut path = PidPath::new(pid);
            let length = path.len();
            match files.reader.list(path.file(length, b"task"), &mut self.tids) {
                Ok(folder) => Some(folder),
                Err(error) => {
                    files.outcome(pid, "task", Err(error))?;
                    return Ok(Summed::absent(wanted));
                }
            }
        };
        let spare = &mut self.spare;
        let sums = sums.get_or_insert_with(|| spare.pop().unwrap_or_default());
        let mut summed = Summed::default();
        for (kind, wanted, sum) in [
            (Kind::Switches, wanted.apart, &mut sums.switches),
            (Kind::Waiting, wanted.waiting, &mut sums.waiting),
            (Kind::Delay, wanted.delay, &mut sums.delay),
        ] {
            if !wanted {
                continue;
            }
            match (kind, switches) {
                (Kind::Switches, Some(counts)) => {
                    self.counts.clear();
                    self.counts.push((pid, counts));
                }
                _ if self.read(files, pid, folder.as_ref(), kind)? => {}
                _ => {
                    summed.push_absent(if let Kind::Switches = kind { 2 } else { 1 });
                    continue;
                }
            }
            sum.update(&self.counts);
            let [first, second] = sum.total;
            match kind {
                Kind::Switches => {
                    summed.push(first);
                    summed.push(second);
                }
                // Nanoseconds.
                Kind::Waiting => summed.push(first / 100),
                Kind::Delay => summed.push(files.units(first)),
            }
        }
        Ok(summed)
    }

    /// Reads the file of `kind` for each thread into `counts`; returns whether all files could be
    /// read and parsed. The threads are in `folder`; if it is `None`, the only thread is read in
    /// the folder of the process. A thread that has ended is left out; [`Gone`] if the process no
    /// longer exists.
    fn read(
        &mut self,
        files: &mut ProcFiles,
        pid: u32,
        folder: Option<&OwnedFd>,
        kind: Kind,
    ) -> Result<bool, Gone> {
        let name = kind.file();
        self.counts.clear();
        for tid in &self.tids {
            let mut path = PidPath::new(*tid);
            let length = path.len();
            let path = path.file(length, name.as_bytes());
            let read = match folder {
                Some(folder) => files.reader.once(folder, path),
                None => files.reader.once_here(path),
            };
            if folder.is_some() && matches!(read, Err(Errno::NOENT | Errno::SRCH)) {
                continue;
            }
            if files.outcome(pid, name, read)? != Outcome::Read {
                return Ok(false);
            }
            match kind.parse(files.text()) {
                Some(counts) => self.counts.push((*tid, counts)),
                None => {
                    files.fault(pid, name, "not understood");
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_grows_by_what_each_thread_did_and_never_falls() {
        let mut sum = Sum::default();
        sum.update(&[(5, [100, 10]), (7, [50, 5])]);
        assert_eq!(sum.total, [150, 15]);
        // 5 goes on, 7 ended, 9 began.
        sum.update(&[(5, [103, 10]), (9, [2, 1])]);
        assert_eq!(sum.total, [155, 16]);
        // 9 is another thread now, and 3 is new.
        sum.update(&[(3, [1, 0]), (5, [103, 11]), (9, [1, 1])]);
        assert_eq!(sum.total, [157, 18]);
        sum.update(&[]);
        assert_eq!(sum.total, [157, 18]);
    }
}
