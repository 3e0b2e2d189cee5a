//! Resting processes: a process that has not run since the sample before is not read in full again.
//! Most processes rest most of the time.
//!
//! `schedstat` of a process tells how often its first thread was given a processor, and how long
//! the thread has had one. The values of `stat` and `io` of a process with one thread (times,
//! faults, threads, name, reads and writes) change only while that thread runs. So both files are
//! unchanged if `stat` found the thread not running, and `schedstat` is the same as *before* that
//! `stat` was read: to run again, the thread would have had to be given a processor, which is
//! counted.
//!
//! A thread that is about to sleep shows as sleeping. If it is woken before it gave up its
//! processor, it goes on without being given one. Then the time that it has had one differs. The
//! kernel updates this time with each tick, so a value is at most one tick (1 to 10 ms) old. Where
//! processors may run without ticks (`nohz_full`, `isolcpus`), no process is taken for resting.
//!
//! Two values change from outside:
//! - Memory is taken and given back: `statm` is read each time, and has the size of the address
//!   space as well.
//! - The parent's number changes when the parent ends. So the parent must have been read in this
//!   collection, before its child, be alive, and be the same process as in the collection before. A
//!   parent with a higher number than its child is looked at ahead of its turn ([`Elder`]).
//!
//! Counters on request (nice value and others) can be changed by other processes: while they are
//! wanted, no process is taken for resting. This program may have lost the permission to read `io`;
//! so the `io` of the first resting process is read in each collection.
//!
//! To *look* at a process is to read its `schedstat`. If the process has run, the look was in vain:
//! it costs one system call more than reading the process in full. Looks in vain are paid for by
//! looks that saved calls; see [`Resting::credit`].
//!
//! The interface: [`Resting::look`] and [`Resting::io`] give the values of a resting process in
//! place of its files, and [`Resting::after_stat`] and [`Resting::after_io`] note what was read.
//! [`Resting::begin`] with `false` switches all of this off.

use crate::files::{KeptFile, PidPath, Reader};
use crate::parse::{Io, PF_EXITING, Stat, Words, number};

/// The least number of full readings without a change before a process is looked at: before its
/// `schedstat` is read to find out whether it rests.
const LEAST_PATIENCE: u8 = 2;
/// The largest number of full readings without a change before a process is looked at: before its
/// `schedstat` is read to find out whether it rests.
const MOST_PATIENCE: u8 = 128;
/// The number of processes for which the [`credit`](Resting::credit) of a collection begins with
/// one more system call, beside the one call that it always has: 11 calls for 320 processes.
const FREE_LOOKS: usize = 32;
/// The most bytes of a name that are kept. The kernel gives no process a longer name.
const NAME: usize = 64;

/// The numbers in `schedstat` of a thread: the time it ran and the time it waited for a processor,
/// in nanoseconds, and how often it was given one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Turns([u64; 3]);

impl Turns {
    /// Parses the text of `schedstat`; `None` if the text is invalid, the kernel does not count
    /// turns, or the thread was never given a processor. (A thread that ran for less time than the
    /// kernel measures has run for 0 ns.)
    fn parse(text: &[u8]) -> Option<Self> {
        let mut words = Words::new(text);
        let turns = [words.number()?, words.number()?, words.number()?];
        (turns[2] > 0).then_some(Self(turns))
    }
}

/// Values of `stat`. The parent's number changes only when the parent ends, the others only while
/// the process runs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Processor time in the program, in ticks.
    pub(super) user: u64,
    /// Processor time in the kernel, in ticks.
    pub(super) kernel: u64,
    pub(super) parent: u64,
    pub(super) faults: u64,
    pub(super) major_faults: u64,
}

impl Numbers {
    pub(super) fn of(stat: &Stat<'_>) -> Self {
        Self {
            user: stat.user,
            kernel: stat.kernel,
            parent: stat.parent,
            faults: stat.faults,
            major_faults: stat.major_faults,
        }
    }
}

/// The values of a process that may rest, from one collection to the next.
pub(super) struct RestingProcess {
    file: KeptFile,
    /// The numbers of `schedstat` from before a full reading of the process, with which the next
    /// look compares `schedstat`; `None` if there is nothing to compare with.
    turns: Option<Turns>,
    /// The number of the last collection in which the values were read or found unchanged.
    confirmed: u64,
    numbers: Numbers,
    name: [u8; NAME],
    name_length: usize,
    /// The values of `io`, and the number of the collection in which they were read; `None` if they
    /// were not read since the last full reading.
    io: Option<(Io, u64)>,
    /// The values of `io` that were known before the last full reading; `None` if there were none.
    io_before: Option<Io>,
    /// The number of full readings in a row without a change.
    quiet: u8,
    /// The number of full readings without a change after which the process is looked at (its
    /// `schedstat` is read).
    patience: u8,
    /// The number of looks that found the process resting, since the last look in vain.
    rests: u8,
}

impl Default for RestingProcess {
    fn default() -> Self {
        Self {
            file: KeptFile::default(),
            turns: None,
            confirmed: 0,
            numbers: Numbers::default(),
            name: [0; NAME],
            name_length: 0,
            io: None,
            io_before: None,
            quiet: 0,
            patience: LEAST_PATIENCE,
            rests: 0,
        }
    }
}

impl RestingProcess {
    fn name(&self) -> &[u8] {
        self.name.get(..self.name_length).unwrap_or_default()
    }

    /// Notes that the process has run, although it was expected to rest. It is then not looked at
    /// until `patience` full readings show no change. This number doubles, up to [`MOST_PATIENCE`],
    /// if the process was found resting less often than that; otherwise it becomes
    /// [`LEAST_PATIENCE`]. Does nothing if `turns` is `None`, because no look was due then.
    fn disappoint(&mut self) {
        if self.turns.take().is_none() {
            return;
        }
        self.patience = match self.rests < self.patience {
            true => self.patience.saturating_mul(2).min(MOST_PATIENCE),
            false => LEAST_PATIENCE,
        };
        (self.quiet, self.rests) = (0, 0);
    }
}

/// Whether the numbers in the kernel's `schedstat` can be relied on.
#[derive(Clone, Copy)]
enum Counts {
    /// Not known yet. The numbers are those of this thread in an earlier collection, if they were
    /// read.
    Unknown(Option<Turns>),
    Yes,
    No,
}

/// The state by which resting processes are found, common to all processes of a session.
pub(super) struct Resting {
    counts: Counts,
    /// Whether processes may be taken for resting in this collection.
    on: bool,
    /// The number of this collection.
    collection: u64,
    /// The number of system calls that looks in this collection may still cost beyond reading
    /// everything. A look reads the `schedstat` of a process. Each look takes one call, and a
    /// successful look gives back the calls that it saved. Opening a file is not counted, because
    /// it stays open as long as its process is there.
    credit: usize,
    /// The processes of this collection so far that are alive and the same as in the collection
    /// before, by ascending number.
    alive: Vec<u32>,
    /// The number of the parent that was last found in `alive`; `None` if this collection found
    /// none there.
    parent: Option<u32>,
    /// Parents with a higher number than one of their children, by ascending number.
    elders: Vec<Elder>,
    /// Whether this collection has met a resting process with known values of `io`. The file of the
    /// first is read, to find out whether that is still permitted; the files of the others are not.
    io_permitted: bool,
    /// The number of the last collection in which an `io` was refused after it had been permitted;
    /// 0 for none.
    io_refused: u64,
}

impl Default for Resting {
    fn default() -> Self {
        Self {
            counts: Counts::Unknown(None),
            on: false,
            collection: 0,
            credit: 0,
            alive: Vec::new(),
            parent: None,
            elders: Vec::new(),
            io_permitted: false,
            io_refused: 0,
        }
    }
}

/// A parent with a higher number than one of its children. Its `stat` is read before the child, and
/// so ahead of the parent's turn.
struct Elder {
    pid: u32,
    /// The open `stat` of the parent: a look takes one system call.
    file: KeptFile,
    /// The number of the collection in which the parent was last looked at: its `stat` was read.
    collection: u64,
    /// The start time that the last look found, in ticks; 0 if it found none.
    start: u64,
    /// The number of the collection since which the process number belongs to the same process.
    since: u64,
    /// Whether the parent was alive at the last look, and the same process as in the two
    /// collections before.
    is_alive: bool,
}

/// The values of a resting process, as its `stat` would give them.
#[derive(Clone, Copy)]
pub(super) struct Rested {
    pub(super) numbers: Numbers,
    pub(super) name: [u8; NAME],
    pub(super) name_length: usize,
}

impl Resting {
    /// Begins a collection of this number of processes. With `wanted` false all processes are read
    /// in full.
    pub(super) fn begin(&mut self, processes: usize, wanted: bool, reader: &mut Reader) {
        self.elders.retain(|elder| elder.collection == self.collection);
        self.collection += 1;
        self.on = wanted && self.is_counted(reader);
        self.credit = processes / FREE_LOOKS + 1;
        self.alive.clear();
        self.parent = None;
        self.io_permitted = false;
        if self.on {
            self.alive.reserve(processes);
        }
    }

    /// Whether the numbers in `schedstat` can be relied on, as found so far: the numbers of this
    /// running thread must be seen to change between two collections. They are never relied on in a
    /// copy of `/proc`, nor if processors may run without ticks, nor before Linux 5.9: an older
    /// kernel counts page faults that a debugger causes in a process as the process's own.
    fn is_counted(&mut self, reader: &mut Reader) -> bool {
        let Counts::Unknown(before) = self.counts else {
            return matches!(self.counts, Counts::Yes);
        };
        let now = match reader.is_procfs()
            && is_since(5, 9)
            && ticks_everywhere(reader)
            && reader.once_here(c"thread-self/schedstat").is_ok()
        {
            true => Turns::parse(reader.text()),
            false => None,
        };
        self.counts = match (before, now) {
            (_, None) => Counts::No,
            (Some(before), Some(now)) if before != now => Counts::Yes,
            _ => Counts::Unknown(now),
        };
        matches!(self.counts, Counts::Yes)
    }

    /// The values of a process that rests; `None` if its `stat` must be read next. In that case the
    /// numbers in its `schedstat` are noted if the process may rest from now on. `others` are the
    /// process's open `stat` and `io`, which are closed if `schedstat` needs their place among the
    /// open files.
    pub(super) fn look(
        &mut self,
        process: &mut Option<Box<RestingProcess>>,
        (pid, is_kernel_thread): (u32, bool),
        others: [&mut KeptFile; 2],
        reader: &mut Reader,
    ) -> Option<Rested> {
        let rest = process.as_deref_mut()?;
        let found = self.values(rest, (pid, is_kernel_thread), reader);
        if found.is_none() {
            self.note_turns(rest, pid, others, reader);
        }
        found
    }

    fn values(
        &mut self,
        rest: &mut RestingProcess,
        (pid, is_kernel_thread): (u32, bool),
        reader: &mut Reader,
    ) -> Option<Rested> {
        if !self.on || rest.confirmed + 1 != self.collection {
            rest.turns = None;
            return None;
        }
        let turns = rest.turns?;
        // A successful look saves `stat`, and `io` if that could be read.
        let spared = 1 + usize::from(rest.io.is_some());
        if self.credit == 0 {
            return None;
        }
        let parent = rest.numbers.parent;
        let has_parent = match parent {
            // The first process and kernel threads have no parent.
            0 => pid == 1 || is_kernel_thread,
            elder if elder > u64::from(pid) => {
                let elders = &mut self.elders;
                is_elder_alive(elders, elder, self.collection, &mut self.credit, reader)
            }
            _ => is_alive(&self.alive, &mut self.parent, parent),
        };
        if self.credit == 0 || !has_parent {
            return None;
        }
        self.credit -= 1;
        let read = reader.kept(&mut rest.file, || PidPath::of(pid, b"schedstat"));
        // Only an open file certainly belongs to the same process: a path may lead to another
        // process with its number.
        let same = read.is_ok() && rest.file.fd().is_some();
        if !same || Turns::parse(reader.text()) != Some(turns) {
            rest.disappoint();
            return None;
        }
        self.credit += spared;
        rest.confirmed = self.collection;
        rest.rests = rest.rests.saturating_add(1);
        let RestingProcess { numbers, name, name_length, .. } = *rest;
        self.alive.push(pid);
        Some(Rested { numbers, name, name_length })
    }

    /// Reads and notes the numbers in the `schedstat` of a process, if the process may rest from now
    /// on and the credit suffices.
    fn note_turns(
        &mut self,
        rest: &mut RestingProcess,
        pid: u32,
        others: [&mut KeptFile; 2],
        reader: &mut Reader,
    ) {
        let worth = self.on && rest.turns.is_none() && rest.quiet >= rest.patience;
        if !worth || self.credit == 0 {
            return;
        }
        if rest.file.fd().is_none() && !reader.may_keep() {
            // While the process rests, its other files are not read.
            if others.iter().all(|file| file.fd().is_none()) {
                return;
            }
            others.into_iter().for_each(KeptFile::close);
        }
        self.credit -= 1;
        let read = reader.kept(&mut rest.file, || PidPath::of(pid, b"schedstat"));
        if read.is_ok() && rest.file.fd().is_some() {
            rest.turns = Turns::parse(reader.text());
        }
        if rest.turns.is_none() {
            // Another look soon is of no use: the credit is for others.
            (rest.quiet, rest.patience) = (0, MOST_PATIENCE);
        }
    }

    /// Notes the `stat` of a process; must be called for each process that was read in full.
    /// `before` tells whether it is the same process as in the collection before.
    pub(super) fn after_stat(
        &mut self,
        process: &mut Option<Box<RestingProcess>>,
        pid: u32,
        stat: &Stat<'_>,
        before: bool,
    ) {
        if !self.on {
            return;
        }
        let ended = has_ended(stat);
        if before && !ended {
            self.alive.push(pid);
        }
        let rest = process.get_or_insert_default();
        if !before {
            **rest = RestingProcess::default();
        }
        let numbers = Numbers::of(stat);
        let fits = stat.name.len() <= NAME;
        match rest.numbers == numbers && rest.name() == stat.name {
            true => rest.quiet = rest.quiet.saturating_add(1),
            false => {
                rest.disappoint();
                rest.quiet = 0;
            }
        }
        if stat.state == b'R' || ended || stat.threads != 1 || !fits {
            // A look soon is of no use either.
            (rest.turns, rest.quiet) = (None, 0);
        }
        rest.numbers = numbers;
        rest.name_length = stat.name.len().min(NAME);
        for (place, byte) in rest.name.iter_mut().zip(stat.name) {
            *place = *byte;
        }
        rest.io_before = rest.io.take().map(|(io, _)| io);
        rest.confirmed = self.collection;
    }

    /// The known values of a resting process's `io`; `None` if the file must be read. In each
    /// collection it must be read for the first process with known values, because the permission
    /// may be gone.
    pub(super) fn io(&mut self, process: &Option<Box<RestingProcess>>) -> Option<Io> {
        let (io, read) = process.as_deref()?.io?;
        let is_valid = read > self.io_refused;
        (is_valid && std::mem::replace(&mut self.io_permitted, true)).then_some(io)
    }

    /// Notes the values of a process's `io` after the file was read; `None` if it was refused. If a
    /// resting process (`rested`) is refused although its `io` is known, the permission is gone,
    /// and the known values of all processes are no longer used.
    pub(super) fn after_io(
        &mut self,
        process: &mut Option<Box<RestingProcess>>,
        rested: bool,
        io: Option<Io>,
    ) {
        let Some(rest) = process.as_deref_mut() else { return };
        let Some(io) = io else {
            if rested && rest.io.is_some() {
                self.io_refused = self.collection;
            }
            return;
        };
        if !self.on || rest.confirmed != self.collection {
            return;
        }
        if !rested && rest.io_before.is_some_and(|before| before != io) {
            rest.disappoint();
            rest.quiet = 0;
        }
        rest.io = Some((io, self.collection));
    }
}

/// Whether the kernel's command line leaves ticks to all processors, even while they run a single
/// thread. `false` if the command line cannot be read.
fn ticks_everywhere(reader: &mut Reader) -> bool {
    reader.once_here(c"cmdline").is_ok() && leaves_ticks(reader.text())
}

/// Whether a command line of the kernel has neither `nohz_full=` nor `isolcpus=`, which may take
/// ticks away, too.
fn leaves_ticks(command_line: &[u8]) -> bool {
    let has = |name: &[u8]| command_line.windows(name.len()).any(|word| word == name);
    !has(b"nohz_full=") && !has(b"isolcpus=")
}

/// Whether the running kernel is this version of Linux or a later one.
fn is_since(major: u64, minor: u64) -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_bytes();
    let mut numbers = release.split(|byte| !byte.is_ascii_digit());
    let mut next = || numbers.next().and_then(number).unwrap_or(0);
    (next(), next()) >= (major, minor)
}

/// Whether the first thread of a process has ended or is about to end. Being about to end counts,
/// because a process that ends gives its children another parent before it is a zombie.
pub(super) fn has_ended(stat: &Stat<'_>) -> bool {
    stat.flags & PF_EXITING != 0 || matches!(stat.state, b'Z' | b'X' | b'x')
}

/// Whether a parent with a higher number than its child is alive, and the same process as in the
/// two collections before. It must be two, because in the previous collection the child may have
/// been read before the parent was looked at. The parent is looked at once in a collection, which
/// takes one system call of `credit`. The answer is `false` if no further file may be kept open for
/// the parent.
fn is_elder_alive(
    elders: &mut Vec<Elder>,
    parent: u64,
    collection: u64,
    credit: &mut usize,
    reader: &mut Reader,
) -> bool {
    let Ok(pid) = u32::try_from(parent) else {
        return false;
    };
    let at = elders.binary_search_by_key(&pid, |elder| elder.pid).unwrap_or_else(|at| {
        let file = KeptFile::default();
        let elder = Elder { pid, file, collection: 0, start: 0, since: 0, is_alive: false };
        elders.insert(at, elder);
        at
    });
    let Some(elder) = elders.get_mut(at) else {
        return false;
    };
    if elder.collection == collection {
        return elder.is_alive;
    }
    let before = (elder.collection + 1 == collection && elder.start > 0).then_some(elder.start);
    (elder.collection, elder.start, elder.is_alive) = (collection, 0, false);
    // If the file were opened for each look, a look would take three system calls.
    if elder.file.fd().is_none() && !reader.may_keep() {
        return false;
    }
    *credit = credit.saturating_sub(1);
    if reader.kept(&mut elder.file, || PidPath::of(pid, b"stat")).is_err() {
        // The next process with this number is a new one.
        elder.file.close();
    } else if let Some(stat) = Stat::parse(reader.text()) {
        if before != Some(stat.start) {
            elder.since = collection;
        }
        elder.start = stat.start;
        elder.is_alive = elder.since + 2 <= collection && !has_ended(&stat);
    }
    elder.is_alive
}

/// Whether a parent is in `alive`. `last` is the parent that was last found there, and becomes this
/// parent if it is found.
fn is_alive(alive: &[u32], last: &mut Option<u32>, parent: u64) -> bool {
    let Ok(parent) = u32::try_from(parent) else {
        return false;
    };
    if *last == Some(parent) {
        return true;
    }
    let found = alive.binary_search(&parent).is_ok();
    if found {
        *last = Some(parent);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolated_processors_and_those_without_ticks_are_not_relied_on() {
        for usual in ["", "quiet splash\n", "root=/dev/vda nohz=on isolated=1 nohz_full\n"] {
            assert!(leaves_ticks(usual.as_bytes()), "{usual}");
        }
        for special in [
            "isolcpus=2,3\n",
            "quiet isolcpus=nohz,domain,1-3",
            "root=/dev/vda nohz_full=1-7 quiet\n",
            "nohz_full=",
        ] {
            assert!(!leaves_ticks(special.as_bytes()), "{special}");
        }
    }
}
