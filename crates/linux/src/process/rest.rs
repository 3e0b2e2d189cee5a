//! Processes that rest: who has not run since the sample before is not read
//! in full again, which is most of them, most of the time.
//!
//! `schedstat` of a process says how often its first thread was given a
//! processor, and for how long it had one. What `stat` and `io` tell of a
//! process with a single thread (times, faults, threads, name, reads and writes)
//! changes only while that thread runs. So, where `stat` once found it not
//! running, and `schedstat` says the same as it did *before* that `stat` was
//! read, both files would say what they said: to run again, the thread would
//! have had to be given a processor, which counts.
//!
//! A thread that is just about to sleep, or was stopped at that, says that it
//! sleeps; if something wakes it before it has given its processor up, it goes on
//! without being given one. Then the time that it had one is what tells, which the
//! kernel counts on with each tick: what is told is at most one tick (1 to 10 ms)
//! old. Where processors do without ticks (`nohz_full`), nobody is taken for
//! resting.
//!
//! Two things change without it. Memory is taken and given back from outside:
//! `statm` is read each time, and tells the size of the address space too. And
//! the parent changes when that ends: so the parent must have been read in this
//! very collection, before its child, and be alive (not about to end either) and
//! the same process as in the collection before. One with a higher number than its
//! child's, which would come later, is looked at beforehand. The nice value, which
//! others can change, and whatever else comes from `stat` is read on request; then
//! nobody is taken for resting.
//!
//! Who asks may change too: `io` takes permission, which this program may have
//! given up since. It is asked of the first process that rests in a collection,
//! the likeliest to need it (1, or a thread of the kernel).
//!
//! A look at `schedstat` that finds that a process has run is a system call
//! more than reading it in full takes. Looks are paid for by those that were
//! spared in the same collection, and some more: see [`Resting::credit`].

use super::tracked::Tracked;
use crate::files::{Kept, PidPath, Reader};
use crate::parse::{Io, PF_EXITING, Stat, Words, number};

/// Readings that found nothing changed before a process is looked at.
const LEAST_PATIENCE: u8 = 2;
/// The same of one that disappoints: at most one look of so many is in vain.
const MOST_PATIENCE: u8 = 128;
/// Of so many processes one may be looked at in vain in each collection.
const FREE_LOOKS: usize = 32;
/// The longest name that the kernel gives a process.
const NAME: usize = 64;

/// What `schedstat` says of a thread: how long it ran, how long it waited for a
/// processor, and how often it was given one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Turns([u64; 3]);

impl Turns {
    /// `None` where the kernel does not count them, or of a thread that has
    /// never run. (One that ran for less than the kernel measures ran for 0 ns.)
    fn parse(text: &[u8]) -> Option<Self> {
        let mut words = Words::new(text);
        let turns = [words.number()?, words.number()?, words.number()?];
        (turns[2] > 0).then_some(Self(turns))
    }
}

/// What `stat` tells that changes only while the process runs, or when its
/// parent ends.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Ticks.
    pub(super) user: u64,
    /// Ticks.
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

/// What is known of a process that may rest.
struct Rest {
    file: Kept,
    /// What `schedstat` said before the values below were read, of a process
    /// that was not running when they were.
    turns: Option<Turns>,
    /// The collection that the values were last found true in.
    confirmed: u64,
    numbers: Numbers,
    name: [u8; NAME],
    name_length: usize,
    io: Option<Io>,
    /// The same of the reading before.
    io_before: Option<Io>,
    /// Readings that found nothing changed.
    quiet: u8,
    patience: u8,
    /// Looks since the last one in vain.
    rests: u8,
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            file: Kept::default(),
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

impl Rest {
    fn name(&self) -> &[u8] {
        self.name.get(..self.name_length).unwrap_or_default()
    }

    /// It has run: not to be looked at for a while, which is the longer the
    /// less it rested.
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

/// Whether the kernel's `schedstat` can be relied on.
#[derive(Clone, Copy)]
enum Counts {
    /// Not known yet; what it said of this process, if it did.
    Unknown(Option<Turns>),
    Yes,
    No,
}

/// The place of a process among those that may rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(usize);

/// What is known of processes that may rest.
pub(super) struct Resting {
    places: Vec<Rest>,
    free: Vec<Place>,
    counts: Counts,
    /// Whether this collection may take processes for resting.
    on: bool,
    /// Number of the collection.
    collection: u64,
    /// System calls that looks may still cost more than reading everything
    /// would. Each look takes one, and gives back those that it spared. (Opening a
    /// file is not counted: it stays open for as long as its process is there.)
    credit: usize,
    /// The processes that were alive in this collection and the same as in the
    /// one before, by ascending number.
    alive: Vec<u32>,
    /// The last of them that was found to be a parent.
    parent: Option<u32>,
    /// Parents of a higher number than a child's, by ascending number.
    elders: Vec<Elder>,
    /// Whether `io` of a process that rests was read in this collection.
    io_permitted: bool,
}

impl Default for Resting {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            counts: Counts::Unknown(None),
            on: false,
            collection: 0,
            credit: 0,
            alive: Vec::new(),
            parent: None,
            elders: Vec::new(),
            io_permitted: false,
        }
    }
}

/// A parent that is looked at before its turn.
struct Elder {
    pid: u32,
    /// Its `stat`, which stays open: a look takes one system call.
    file: Kept,
    /// The collection in which it was looked at last, and what was found then.
    collection: u64,
    start: u64,
    /// The collection since which it was the same process in each.
    since: u64,
    /// Whether it was alive and the same process as in the two collections before.
    is_alive: bool,
}

/// What a resting process would be found to be.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) numbers: Numbers,
    pub(super) name: [u8; NAME],
    pub(super) name_length: usize,
}

impl Resting {
    /// Begins a collection of so many processes. Where `wanted` is not so,
    /// everything is read of all of them.
    pub(super) fn begin(&mut self, processes: usize, wanted: bool, reader: &mut Reader) {
        self.elders.retain(|elder| elder.collection == self.collection);
        self.collection += 1;
        self.on = wanted && self.is_counted(reader);
        self.credit = processes / FREE_LOOKS + 1;
        self.alive.clear();
        self.parent = None;
        self.io_permitted = false;
        if self.on {
            // All at once, rather than for each process that is new.
            self.places.reserve(processes.saturating_sub(self.places.len()));
            self.free.reserve(self.places.len().saturating_sub(self.free.len()));
            self.alive.reserve(processes);
        }
    }

    /// Whether the kernel counts turns: those of this thread, which runs, must
    /// be seen to change. Before Linux 5.9, faults that a debugger makes in the
    /// memory of a process count as those of the process.
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

    /// Gives back what was known of a process that is gone.
    pub(super) fn take_back(&mut self, place: Option<Place>) {
        let Some(place) = place else { return };
        if let Some(rest) = self.places.get_mut(place.0) {
            *rest = Rest::default();
            self.free.push(place);
        }
    }

    /// Looks whether a process rests, and what it would be found to be then.
    pub(super) fn look(&mut self, known: &Tracked, reader: &mut Reader) -> Option<Found> {
        let rest = self.places.get_mut(known.rest?.0)?;
        if !self.on || rest.confirmed + 1 != self.collection {
            rest.turns = None;
            return None;
        }
        let turns = rest.turns?;
        // What is spared: `stat`, and `io` if that could be read.
        let spared = 1 + usize::from(rest.io.is_some());
        if self.credit == 0 {
            return None;
        }
        let parent = rest.numbers.parent;
        let has_parent = match parent {
            // The first process, and the kernel's own.
            0 => known.pid == 1 || known.is_kernel_thread,
            elder if elder > u64::from(known.pid) => {
                let elders = &mut self.elders;
                is_elder_alive(elders, elder, self.collection, &mut self.credit, reader)
            }
            _ => is_alive(&self.alive, &mut self.parent, parent),
        };
        if self.credit == 0 || !has_parent {
            return None;
        }
        self.credit -= 1;
        let read = reader.kept(&mut rest.file, || PidPath::of(known.pid, b"schedstat"));
        // Another process of its number would have to be found by its file;
        // only the one that is kept open is certainly of the same.
        let same = read.is_ok() && rest.file.fd().is_some();
        if !same || Turns::parse(reader.text()) != Some(turns) {
            rest.disappoint();
            return None;
        }
        self.credit += spared;
        rest.confirmed = self.collection;
        rest.rests = rest.rests.saturating_add(1);
        let Rest { numbers, name, name_length, .. } = *rest;
        self.alive.push(known.pid);
        Some(Found { numbers, name, name_length })
    }

    /// To be called before `stat` of a process is read in full: notes its turns
    /// if it may rest from now on.
    pub(super) fn before_stat(&mut self, known: &mut Tracked, reader: &mut Reader) {
        let Some(rest) = known.rest.and_then(|place| self.places.get_mut(place.0)) else {
            return;
        };
        let worth = self.on && rest.turns.is_none() && rest.quiet >= rest.patience;
        if !worth || self.credit == 0 {
            return;
        }
        if rest.file.fd().is_none() && !reader.may_keep() {
            // Its other files are needed the less.
            if known.stat.fd().is_none() && known.io.fd().is_none() {
                return;
            }
            known.stat.close();
            known.io.close();
        }
        self.credit -= 1;
        let read = reader.kept(&mut rest.file, || PidPath::of(known.pid, b"schedstat"));
        if read.is_ok() && rest.file.fd().is_some() {
            rest.turns = Turns::parse(reader.text());
        }
        if rest.turns.is_none() {
            // Nor will it soon: others are to have the credit.
            (rest.quiet, rest.patience) = (0, MOST_PATIENCE);
        }
    }

    /// To be called with what `stat` told of a process; `before` says whether
    /// it is the same process as in the collection before.
    pub(super) fn after_stat(&mut self, known: &mut Tracked, stat: &Stat<'_>, before: bool) {
        if !self.on {
            return;
        }
        let ended = has_ended(stat);
        if before && !ended {
            self.alive.push(known.pid);
        }
        let place = match known.rest {
            Some(place) => place,
            None => {
                let place = self.free.pop().unwrap_or(Place(self.places.len()));
                if place.0 == self.places.len() {
                    self.places.push(Rest::default());
                }
                *known.rest.insert(place)
            }
        };
        let Some(rest) = self.places.get_mut(place.0) else { return };
        if !before {
            *rest = Rest::default();
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
            // Nor is it worth a look soon.
            (rest.turns, rest.quiet) = (None, 0);
        }
        rest.numbers = numbers;
        rest.name_length = stat.name.len().min(NAME);
        for (place, byte) in rest.name.iter_mut().zip(stat.name) {
            *place = *byte;
        }
        rest.io_before = rest.io.take();
        rest.confirmed = self.collection;
    }

    /// What `io` of a process would tell that was found to rest, if that was
    /// read before. The first one of a collection is to be read all the same.
    pub(super) fn io(&mut self, known: &Tracked) -> Option<Io> {
        let io = self.places.get(known.rest?.0)?.io?;
        std::mem::replace(&mut self.io_permitted, true).then_some(io)
    }

    /// To be called where `io` of a process that was found to rest may not be
    /// read. If it might be before, what others' told may not be known any more
    /// either.
    pub(super) fn io_refused(&mut self, known: &Tracked) {
        let place = known.rest.and_then(|place| self.places.get(place.0));
        if place.is_some_and(|rest| rest.io.is_some()) {
            self.places.iter_mut().for_each(|rest| rest.io = None);
        }
    }

    /// To be called with what `io` told of a process.
    pub(super) fn after_io(&mut self, known: &Tracked, io: Io, rested: bool) {
        let Some(rest) = known.rest.and_then(|place| self.places.get_mut(place.0)) else {
            return;
        };
        if !self.on || rest.confirmed != self.collection {
            return;
        }
        if !rested && rest.io_before.is_some_and(|before| before != io) {
            rest.disappoint();
            rest.quiet = 0;
        }
        rest.io = Some(io);
    }
}

/// Whether all processors have ticks, also while they run a single thread.
fn ticks_everywhere(reader: &mut Reader) -> bool {
    let read = reader.once_here(c"cmdline").is_ok();
    read && !reader.text().windows(10).any(|word| word == b"nohz_full=")
}

/// Whether the system's Linux is this version or a later one.
fn is_since(major: u64, minor: u64) -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_bytes();
    let mut numbers = release.split(|byte| !byte.is_ascii_digit());
    let mut next = || numbers.next().and_then(number).unwrap_or(0);
    (next(), next()) >= (major, minor)
}

/// Whether a process has ended or is about to: it has given its children away before it
/// is a zombie, and long before where its first thread is the last one.
fn has_ended(stat: &Stat<'_>) -> bool {
    stat.flags & PF_EXITING != 0 || matches!(stat.state, b'Z' | b'X' | b'x')
}

/// Whether a parent that has a higher number than its child is alive, and the same
/// process as in the two collections before: in the last one a child may have told of
/// its parent before that was looked at. It is looked at once in a collection, which
/// takes a system call.
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
        let file = Kept::default();
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
    // Opened each time, it would take three.
    if elder.file.fd().is_none() && !reader.may_keep() {
        return false;
    }
    *credit = credit.saturating_sub(1);
    if reader.kept(&mut elder.file, || PidPath::of(pid, b"stat")).is_err() {
        // The next of its number is another.
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

/// Whether a parent is among the living.
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
