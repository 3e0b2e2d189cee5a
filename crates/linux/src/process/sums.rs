//! Counts that the kernel keeps for each thread, as counts of their process.
//!
//! The files of a process tell these of its first thread alone. A plain sum
//! over the threads would fall whenever one ends, so a sum grows by what each
//! thread did since the sample before, and a new one since it began.

use super::read::{Gone, Outcome, ProcessReader};
use super::tracked::Tracked;
use super::wanted::Counts;
use crate::files::PidPath;
use crate::parse::{Schedule, switches, waiting};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// Counts of a thread by its number.
type ThreadCounts = (u32, [u64; 2]);

/// A sum over the threads of a process.
#[derive(Default)]
struct Sum {
    /// What the threads had in the sample before, by ascending number.
    before: Vec<ThreadCounts>,
    total: [u64; 2],
}

impl Sum {
    fn update(&mut self, now: &[ThreadCounts]) {
        let mut before = self.before.iter().peekable();
        for (tid, counts) in now {
            while before.next_if(|(known, _)| known < tid).is_some() {}
            let last = before.next_if(|(known, _)| known == tid).map_or([0; 2], |known| known.1);
            // Less than before: another thread that got the number.
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

/// The sums of a process.
#[derive(Default)]
pub(super) struct Sums {
    switches: Sum,
    waiting: Sum,
    delay: Sum,
}

impl Sums {
    /// Forgets everything.
    fn clear(&mut self) {
        for sum in [&mut self.switches, &mut self.waiting, &mut self.delay] {
            sum.before.clear();
            sum.total = [0; 2];
        }
    }
}

/// A file of a thread, and what is read of it.
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

/// Buffers for one process, and sums of processes that are gone: a machine on
/// which processes come and go all the time needs no more memory for them.
#[derive(Default)]
pub(super) struct Buffers {
    tids: Vec<u32>,
    counts: Vec<ThreadCounts>,
    #[expect(clippy::vec_box, reason = "a process has its sums in a box, which is kept with them")]
    spare: Vec<Box<Sums>>,
}

/// Most sums that are kept for later.
const SPARE: usize = 256;

impl Buffers {
    /// Takes the sums of a process that is gone.
    pub(super) fn take_back(&mut self, sums: Option<Box<Sums>>) {
        if let Some(mut sums) = sums
            && self.spare.len() < SPARE
        {
            sums.clear();
            self.spare.push(sums);
        }
    }
}

/// Sums by counter: switches, waiting and delay, as far as they are wanted, in
/// 100 ns units where they are times.
pub(super) struct Summed {
    values: [u64; 4],
    count: usize,
}

impl Summed {
    /// Nothing happened.
    pub(super) fn zero(wanted: Counts) -> Self {
        let count = usize::from(wanted.waiting) + usize::from(wanted.delay);
        Self { values: [0; 4], count: count + if wanted.apart { 2 } else { 0 } }
    }

    fn push(&mut self, value: u64) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = value;
            self.count += 1;
        }
    }

    pub(super) fn values(&self) -> &[u64] {
        self.values.get(..self.count).unwrap_or_default()
    }
}

impl ProcessReader {
    /// The sums of a process; `None` where something of it cannot be read.
    /// `switches` are those of its only thread, if they are known already.
    pub(super) fn sums(
        &mut self,
        known: &mut Tracked,
        threads: u64,
        switches: Option<[u64; 2]>,
        wanted: Counts,
    ) -> Result<Option<Summed>, Gone> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let summed = self.sums_with(known, threads, switches, wanted, &mut buffers);
        self.buffers = buffers;
        summed
    }

    fn sums_with(
        &mut self,
        known: &mut Tracked,
        threads: u64,
        switches: Option<[u64; 2]>,
        wanted: Counts,
        buffers: &mut Buffers,
    ) -> Result<Option<Summed>, Gone> {
        let pid = known.pid;
        let folder = if threads == 1 {
            buffers.tids.clear();
            buffers.tids.push(pid);
            None
        } else {
            let mut path = PidPath::new(pid);
            let length = path.len();
            match self.files().list(path.file(length, b"task"), &mut buffers.tids) {
                Ok(folder) => Some(folder),
                Err(error) => {
                    self.outcome(pid, "task", Err(error))?;
                    return Ok(None);
                }
            }
        };
        let spare = &mut buffers.spare;
        let sums = known.sums.get_or_insert_with(|| spare.pop().unwrap_or_default());
        let mut summed = Summed { values: [0; 4], count: 0 };
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
                    buffers.counts.clear();
                    buffers.counts.push((pid, counts));
                }
                _ if self.counts(pid, folder.as_ref(), kind, buffers)? => {}
                _ => return Ok(None),
            }
            sum.update(&buffers.counts);
            let [first, second] = sum.total;
            match kind {
                Kind::Switches => {
                    summed.push(first);
                    summed.push(second);
                }
                // Nanoseconds.
                Kind::Waiting => summed.push(first / 100),
                Kind::Delay => summed.push(self.units(first)),
            }
        }
        Ok(Some(summed))
    }

    /// Reads a file of each thread. Answers whether all was understood; a
    /// thread that is gone is none.
    fn counts(
        &mut self,
        pid: u32,
        folder: Option<&OwnedFd>,
        kind: Kind,
        buffers: &mut Buffers,
    ) -> Result<bool, Gone> {
        let name = kind.file();
        buffers.counts.clear();
        for tid in &buffers.tids {
            let mut path = PidPath::new(*tid);
            let length = path.len();
            let path = path.file(length, name.as_bytes());
            let read = match folder {
                Some(folder) => self.files().once(folder, path),
                None => self.files().once_here(path),
            };
            if folder.is_some() && matches!(read, Err(Errno::NOENT | Errno::SRCH)) {
                continue;
            }
            if self.outcome(pid, name, read)? != Outcome::Read {
                return Ok(false);
            }
            match kind.parse(self.text()) {
                Some(counts) => buffers.counts.push((*tid, counts)),
                None => {
                    self.fault(pid, name, "not understood");
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
    fn sums_grow_by_what_threads_did() {
        let mut sum = Sum::default();
        sum.update(&[(5, [100, 10]), (7, [50, 5])]);
        assert_eq!(sum.total, [150, 15]);
        // 5 goes on, 7 ended, 9 began.
        sum.update(&[(5, [103, 10]), (9, [2, 1])]);
        assert_eq!(sum.total, [155, 16]);
        // 9 is another one now, and 3 comes before all.
        sum.update(&[(3, [1, 0]), (5, [103, 11]), (9, [1, 1])]);
        assert_eq!(sum.total, [157, 18]);
        sum.update(&[]);
        assert_eq!(sum.total, [157, 18]);
    }
}
