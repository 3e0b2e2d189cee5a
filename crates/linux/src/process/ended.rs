//! The counts that processes and threads had when they ended.
//!
//! A plain sum loses the whole history of a process that ends, and with it the growth of the other
//! processes' counts. So a count of `_Total` is the sum over all living processes and threads, and
//! over ended ones as they were last seen: the sum grows by the growth of each part. A count that
//! cannot be read for a while is in the sum as it was last read. For the time between the last
//! collection and the end of a process, only the processor times are known, from the kernel's own
//! sums over all processes (`/proc/stat`).

use std::ops::RangeInclusive;

/// A process or thread as it was last seen.
struct Seen<const N: usize> {
    key: u64,
    start: u64,
    gone: bool,
    counts: [u64; N],
    /// The bits of the counts that were not read when it was last met.
    unread: u32,
}

/// The counts of all processes or threads that ended, and the state by which their ends are noticed.
/// A key is the number of a process, or of process and thread. In each collection, the keys must be
/// met in ascending order.
pub(super) struct Ended<const N: usize> {
    /// The processes or threads as they were last seen, by ascending key.
    seen: Vec<Seen<N>>,
    /// The processes or threads that were met for the first time in this collection.
    born: Vec<Seen<N>>,
    /// The number of entries at the beginning of `seen` that this collection has passed.
    next: usize,
    /// The number of processes or threads that ended since the previous collection.
    gone: usize,
    /// The sums of the counts of all that ended, as they were last seen.
    lost: [u64; N],
    /// The sums, over all that exist, of the counts that this collection could not read: each count
    /// as it was last read.
    unread: [u64; N],
    /// Whether this collection read everything that it met.
    all_read: bool,
    before: Option<Times>,
    /// The mask of counts that was last given to [`begin_with`](Self::begin_with); 0 before.
    counts: u64,
}

/// Processor time in programs and in the kernel, in 100 ns units: `kernel` are the kernel's own sums,
/// `parts` the sums over the processes.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) kernel: [u64; 2],
    pub(super) parts: [u64; 2],
    /// The number of processes and threads created since the start of the machine.
    pub(super) made: u64,
}

impl<const N: usize> Default for Ended<N> {
    fn default() -> Self {
        let (seen, born) = (Vec::new(), Vec::new());
        let (lost, unread) = ([0; N], [0; N]);
        Self { seen, born, next: 0, gone: 0, lost, unread, all_read: true, before: None, counts: 0 }
    }
}

impl<const N: usize> Ended<N> {
    /// Begins a collection, in which nothing was met yet.
    pub(super) fn begin(&mut self) {
        self.born.clear();
        (self.next, self.gone) = (0, 0);
        (self.unread, self.all_read) = ([0; N], true);
    }

    /// Begins a collection of these counters, given as a mask. If they differ from those before, all
    /// that was seen is forgotten, since its counts are those of other counters.
    pub(super) fn begin_with(&mut self, counts: u64) {
        if self.counts != counts {
            *self = Self { counts, ..Self::default() };
        }
        self.begin();
    }

    /// Notes a process or thread that exists. `count` gives its count at a position; `None` for a
    /// count that was not read, which stays as it was. If the `start` time differs from before, the
    /// earlier process or thread with this key has ended.
    pub(super) fn meet(&mut self, key: u64, start: u64, count: impl Fn(usize) -> Option<u64>) {
        self.pass(key);
        let fresh = |counts| Seen { key, start, gone: false, counts, unread: 0 };
        let all = || std::array::from_fn(|place| count(place).unwrap_or(0));
        let Some(known) = self.seen.get_mut(self.next).filter(|known| known.key == key) else {
            self.born.push(fresh(all()));
            return;
        };
        self.next += 1;
        if known.start == start {
            known.unread = 0;
            for (place, value) in known.counts.iter_mut().enumerate() {
                match count(place) {
                    Some(now) => *value = now,
                    None => known.unread |= 1 << place,
                }
            }
            known.add_unread(&mut self.unread);
            return;
        }
        // Its number belongs to another process or thread now.
        add(&mut self.lost, &known.counts);
        self.gone += 1;
        *known = fresh(all());
    }

    /// Notes a process or thread that exists and did nothing since the previous collection.
    pub(super) fn meet_unchanged(&mut self, key: u64) {
        self.pass(key);
        if let Some(known) = self.seen.get(self.next).filter(|known| known.key == key) {
            known.add_unread(&mut self.unread);
            self.next += 1;
        }
    }

    /// Notes that processes or threads with these keys may exist, but could not be read: the counts
    /// of those that were seen before stay as they were.
    pub(super) fn meet_unread(&mut self, keys: RangeInclusive<u64>) {
        self.all_read = false;
        self.pass(*keys.start());
        while let Some(known) = self.seen.get(self.next).filter(|known| keys.contains(&known.key)) {
            add(&mut self.unread, &known.counts);
            self.next += 1;
        }
    }

    /// Whether this collection read every process or thread that it met.
    pub(super) fn all_read(&self) -> bool {
        self.all_read
    }

    fn pass(&mut self, key: u64) {
        while let Some(known) = self.seen.get_mut(self.next).filter(|known| known.key < key) {
            add(&mut self.lost, &known.counts);
            known.gone = true;
            self.gone += 1;
            self.next += 1;
        }
    }

    /// Ends a collection. Processes or threads that were not met have ended; if the collection is
    /// not `complete`, only those with a lower key than the last one met. Returns the counts that
    /// must be added to the sums over those that were met: the counts of all that ended, and the
    /// counts that could not be read now.
    pub(super) fn end(&mut self, complete: bool) -> [u64; N] {
        if complete {
            self.pass(u64::MAX);
        }
        let mut missing = self.lost;
        add(&mut missing, &self.unread);
        let unmet = self.seen.get(self.next..).unwrap_or_default();
        unmet.iter().for_each(|known| add(&mut missing, &known.counts));
        if self.gone > 0 {
            self.seen.retain(|known| !known.gone);
        }
        if !self.born.is_empty() {
            self.seen.append(&mut self.born);
            self.seen.sort_by_key(|known| known.key);
        }
        missing
    }

    /// The processor time in programs and in the kernel that ended processes used after they were
    /// last seen: the growth of the kernel's sums, less the growth of the sums over the processes.
    /// It is 0 at the first call, and if no process has ended and no more processes and threads were
    /// created than `born`, the number of new processes that were met. `now` has both kinds of sums.
    pub(super) fn unseen(&mut self, born: usize, now: Times) -> [u64; 2] {
        let before = self.before.replace(now);
        let unseen = |before: &Times| {
            let made = now.made.saturating_sub(before.made);
            let any = self.gone > 0 || made > born as u64;
            let grown = |now: [u64; 2], before: [u64; 2]| {
                [0, 1].map(|place: usize| now[place].saturating_sub(before[place]))
            };
            let (kernel, parts) =
                (grown(now.kernel, before.kernel), grown(now.parts, before.parts));
            any.then(|| [0, 1].map(|place: usize| kernel[place].saturating_sub(parts[place])))
        };
        let unseen = before.as_ref().and_then(unseen).unwrap_or_default();
        if let Some(before) = &mut self.before {
            for (place, more) in unseen.into_iter().enumerate() {
                before.parts[place] = before.parts[place].saturating_add(more);
            }
        }
        unseen
    }

    /// The number of processes or threads that were met for the first time in this collection. One
    /// with the key of another from the collection before is not counted. Valid until
    /// [`end`](Self::end), which sets it to 0.
    pub(super) fn born(&self) -> usize {
        self.born.len()
    }

    /// Adds `more` to the count of ended processes or threads at a position.
    pub(super) fn lose(&mut self, place: usize, more: u64) {
        if let Some(lost) = self.lost.get_mut(place) {
            *lost = lost.saturating_add(more);
        }
    }
}

impl<const N: usize> Seen<N> {
    /// Adds to `sum` the counts of this process or thread that were not read when it was last met:
    /// each as it was last read.
    fn add_unread(&self, sum: &mut [u64; N]) {
        let is_unread = |place: usize| self.unread & (1 << place) != 0;
        let counts = sum.iter_mut().zip(&self.counts).enumerate();
        for (_, (sum, count)) in counts.filter(|(place, _)| is_unread(*place)) {
            *sum = sum.saturating_add(*count);
        }
    }
}

fn add<const N: usize>(sum: &mut [u64; N], counts: &[u64; N]) {
    for (sum, more) in sum.iter_mut().zip(counts) {
        *sum = sum.saturating_add(*more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum that `_Total` has after a collection in which the processes `there` were met: all
    /// that exist, if `complete`. Each has its number, its start time, and its one count.
    fn total(ended: &mut Ended<1>, there: &[(u64, u64, u64)], complete: bool) -> u64 {
        ended.begin();
        for (key, start, count) in there {
            ended.meet(*key, *start, |_| Some(*count));
        }
        let sum: u64 = there.iter().map(|(_, _, count)| count).sum();
        sum + ended.end(complete)[0]
    }

    #[test]
    fn the_sum_grows_by_what_each_part_grew() {
        let mut ended = Ended::default();
        assert_eq!(total(&mut ended, &[(1, 7, 10), (3, 7, 20), (5, 7, 30)], true), 60);
        // The middle one ends, the others go on.
        assert_eq!(total(&mut ended, &[(1, 7, 11), (5, 7, 32)], true), 63);
        // A new one, with all that it has counted.
        assert_eq!(total(&mut ended, &[(1, 7, 11), (3, 8, 4), (5, 7, 32)], true), 67);
        // The number of the first one belongs to another process.
        assert_eq!(total(&mut ended, &[(1, 9, 1), (3, 8, 4), (5, 7, 33)], true), 69);
        // Not all could be read: the others count as they were.
        assert_eq!(total(&mut ended, &[(1, 9, 2)], false), 70);
        assert_eq!(total(&mut ended, &[(1, 9, 2), (3, 8, 6)], true), 72);
        assert_eq!(total(&mut ended, &[], true), 72);
        // One that did nothing needs no counts.
        ended.begin();
        ended.meet(4, 1, |_| Some(5));
        assert_eq!(ended.end(true), [72]);
        ended.begin();
        ended.meet_unchanged(4);
        assert_eq!(ended.end(true), [72]);
        // A count that cannot be read any more is kept.
        ended.begin();
        ended.meet(4, 1, |_| None);
        assert_eq!(ended.end(true), [77]);
        ended.begin();
        ended.meet_unchanged(4);
        assert_eq!(ended.end(true), [77]);
        assert_eq!(total(&mut ended, &[], true), 77);
    }

    #[test]
    fn one_that_cannot_be_read_for_a_while_counts_as_it_was() {
        let mut ended = Ended::default();
        let all = [(1, 7, 10), (3, 7, 20), (4, 7, 30), (9, 7, 40)];
        assert_eq!(total(&mut ended, &all, true), 100);
        ended.begin();
        ended.meet(1, 7, |_| Some(11));
        ended.meet_unread(2..=2);
        ended.meet_unread(3..=5);
        ended.meet(9, 7, |_| Some(42));
        assert!(!ended.all_read());
        assert_eq!(53 + ended.end(true)[0], 103);
        // Meanwhile one has ended, and the number of another belongs to another process.
        let all = [(1, 7, 11), (3, 8, 5), (9, 7, 42)];
        assert_eq!(total(&mut ended, &all, true), 108);
        assert!(ended.all_read());
    }

    #[test]
    fn kernel_sums_count_only_where_something_ended() {
        let mut ended = Ended::<1>::default();
        let times = |kernel, parts, made| Times { kernel: [kernel, 0], parts: [parts, 0], made };
        assert_eq!(ended.unseen(0, times(100, 50, 9)), [0, 0]);
        // The kernel counts in ticks: no part ended, so the parts are right.
        assert_eq!(ended.unseen(0, times(120, 60, 9)), [0, 0]);
        // One was made that was never met.
        assert_eq!(ended.unseen(0, times(150, 70, 10)), [20, 0]);
        // What was added belongs to the parts from then on.
        assert_eq!(ended.unseen(1, times(160, 100, 11)), [0, 0]);
        ended.gone = 1;
        assert_eq!(ended.unseen(0, times(190, 110, 11)), [20, 0]);
    }
}
