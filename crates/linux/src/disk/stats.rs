//! The lines of `/proc/diskstats`, and the counts of each device, continued from sample to sample.
//!
//! The kernel prints times as 32-bit milliseconds, and on 32-bit machines counts
//! as 32-bit numbers: both wrap. The counts of a session continue across a wrap, and also
//! when a device is replaced by another device of the same name.

use crate::parse::{Words, number};

/// The position of the number of reads in [`Line::fields`], which are in the kernel's order.
pub(super) const READS: usize = 0;
pub(super) const READS_MERGED: usize = 1;
pub(super) const READ_SECTORS: usize = 2;
pub(super) const READ_TIME: usize = 3;
pub(super) const WRITES: usize = 4;
pub(super) const WRITES_MERGED: usize = 5;
pub(super) const WRITE_SECTORS: usize = 6;
pub(super) const WRITE_TIME: usize = 7;
pub(super) const IN_FLIGHT: usize = 8;
pub(super) const BUSY: usize = 9;
pub(super) const DISCARDS: usize = 11;
pub(super) const DISCARD_SECTORS: usize = 13;
pub(super) const DISCARD_TIME: usize = 14;
pub(super) const FLUSHES: usize = 15;
pub(super) const FLUSH_TIME: usize = 16;
/// The number of values that are read from a line, in [`Line::fields`].
pub(super) const FIELDS: usize = 17;

/// The groups of numbers that a line has; each variant includes the variants before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FieldGroups {
    /// Counts and sectors of reads and writes only: a partition before Linux 2.6.25.
    #[default]
    Sizes,
    /// The numbers of [`Sizes`](Self::Sizes), and merges, times and the queue.
    Times,
    /// The numbers of [`Times`](Self::Times), and discards: since Linux 4.18.
    Discards,
    /// The numbers of [`Discards`](Self::Discards), and flushes: since Linux 5.5.
    Flushes,
}

/// A line of `diskstats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) number: (u32, u32),
    pub(super) name: &'a [u8],
    pub(super) fields: [u64; FIELDS],
    pub(super) known: FieldGroups,
}

/// A line of `diskstats` that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage<'a> {
    /// The line of the device with this name is damaged.
    Of(&'a [u8]),
    /// The line has no device number or no name.
    Line,
}

impl<'a> Line<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Result<Self, Damage<'a>> {
        let mut words = Words::new(text);
        let mut small = || words.number().and_then(|number| u32::try_from(number).ok());
        let (Some(major), Some(minor)) = (small(), small()) else {
            return Err(Damage::Line);
        };
        let name = words.next_word().ok_or(Damage::Line)?;
        let mut fields = [0; FIELDS];
        let mut count = 0;
        for place in &mut fields {
            let Some(word) = words.next_word() else { break };
            *place = number(word).ok_or(Damage::Of(name))?;
            count += 1;
        }
        let known = match count {
            4 => {
                let [reads, read_sectors, writes, write_sectors, ..] = fields;
                fields = [0; FIELDS];
                fields[READS] = reads;
                fields[READ_SECTORS] = read_sectors;
                fields[WRITES] = writes;
                fields[WRITE_SECTORS] = write_sectors;
                FieldGroups::Sizes
            }
            11..15 => FieldGroups::Times,
            15..17 => FieldGroups::Discards,
            17.. => FieldGroups::Flushes,
            _ => return Err(Damage::Of(name)),
        };
        // A later kernel may have further numbers of a group that is not known.
        let (_, unknown) = fields.split_at_mut(match known {
            FieldGroups::Sizes | FieldGroups::Times => DISCARDS,
            FieldGroups::Discards => FLUSHES,
            FieldGroups::Flushes => FIELDS,
        });
        unknown.fill(0);
        Ok(Self { number: (major, minor), name, fields, known })
    }

    /// Whether all numbers are 0: the device was never used.
    pub(super) fn is_unused(&self) -> bool {
        self.fields.iter().all(|field| *field == 0)
    }
}

/// The counts of a device: the kernel's counts when the device was first seen, plus their growth since.
#[derive(Clone, Debug)]
pub(super) struct DeviceCounts {
    pub(super) known: FieldGroups,
    /// The kernel's counts, continued where they wrapped or began anew. Only the number of requests
    /// under way is not continued: it is the kernel's newest number.
    pub(super) counts: [u64; FIELDS],
    /// The time during which no request was under way, in 100 ns units.
    pub(super) idle: u64,
    /// The growth since the previous sample; `None` if that sample lacked the device, or if its
    /// name belonged to another device then.
    pub(super) step: Option<Growth>,
}

/// The growth of a device's counts, and of its idle time in 100 ns units, between two samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) counts: [u64; FIELDS],
    pub(super) idle: u64,
}

/// The numbers of one device from sample to sample.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) io: DeviceCounts,
    raw: [u64; FIELDS],
    /// The time of the last reading, in 100 ns units after the start of the machine.
    at: u64,
    /// The busy time beyond the time that passed, in 100 ns units; it is added to the next sample's busy time.
    /// It occurs because the kernel counts busy time in steps.
    owed: u64,
}

/// The number of 100 ns units in a millisecond.
pub(super) const UNITS: u64 = 10_000;

/// The most milliseconds by which busy time that wrapped may have grown beyond the time that passed. If
/// it would have grown by more, it did not wrap: the device was replaced. Some excess is normal, since
/// the steps of the kernel's clock do not coincide with samples.
const SLACK: u64 = 10_000;

impl Track {
    /// The track of a device, begun with its first line. `now` is in 100 ns units after the start of
    /// the machine.
    pub(super) fn new(line: &Line<'_>, now: u64) -> Self {
        let idle = now.saturating_sub(line.fields[BUSY].saturating_mul(UNITS));
        let io = DeviceCounts { known: line.known, counts: line.fields, idle, step: None };
        Self { io, raw: line.fields, at: now, owed: 0 }
    }

    /// Takes the line of the next sample. `same` is false if the device is known to be another
    /// device than before. Otherwise it still counts as another device if the line has other groups
    /// of numbers, or if a number went back and no wrap explains it.
    pub(super) fn update(&mut self, line: &Line<'_>, now: u64, same: bool) {
        let passed = now.saturating_sub(self.at);
        self.at = now;
        let grown = if same && line.known == self.io.known {
            grown(&self.raw, &line.fields, passed / UNITS)
        } else {
            None
        };
        self.raw = line.fields;
        self.io.known = line.known;
        self.io.counts[IN_FLIGHT] = line.fields[IN_FLIGHT];
        let Some(counts) = grown else {
            self.owed = 0;
            self.io.step = None;
            return;
        };
        for (count, more) in self.io.counts.iter_mut().zip(counts) {
            *count = count.saturating_add(more);
        }
        let busy = counts[BUSY].saturating_mul(UNITS).saturating_add(self.owed);
        let idle = passed.saturating_sub(busy);
        self.owed = busy.saturating_sub(passed);
        self.io.idle = self.io.idle.saturating_add(idle);
        self.io.step = Some(Growth { counts, idle });
    }

    /// Notes that the device is missing in a sample.
    pub(super) fn miss(&mut self) {
        self.io.step = None;
    }
}

/// The growth of each number since `before`, 0 for the requests under way; `None` if a number went
/// back and no wrap explains it: the device was replaced. `passed` is the time in between, in
/// milliseconds.
fn grown(before: &[u64; FIELDS], now: &[u64; FIELDS], passed: u64) -> Option<[u64; FIELDS]> {
    let mut steps = [0; FIELDS];
    for (field, (step, (before, now))) in steps.iter_mut().zip(before.iter().zip(now)).enumerate() {
        if field == IN_FLIGHT {
            continue;
        }
        *step = match now.checked_sub(*before) {
            Some(step) => step,
            None => unwrapped(*before, *now)
                .filter(|step| field != BUSY || *step <= passed.saturating_add(SLACK))?,
        };
    }
    Some(steps)
}

/// The growth of a 32-bit count that went back; `None` unless a wrap explains it: the count was in
/// the upper half of the range before, and grew by less than half of the range.
fn unwrapped(before: u64, now: u64) -> Option<u64> {
    let before = u32::try_from(before).ok()?;
    let now = u32::try_from(now).ok()?;
    let step = now.wrapping_sub(before);
    (before >= 1 << 31 && step < 1 << 31).then_some(u64::from(step))
}

/// The sums and means over devices that come and go.
///
/// Both start as plain sums and means, and then grow by the growth of the devices that are in two
/// consecutive samples: a device that appears or vanishes changes nothing at that moment. Only the
/// requests under way are always the sum over the present devices.
#[derive(Debug, Default)]
pub(super) struct Totals {
    started: bool,
    pub(super) counts: [u64; FIELDS],
    /// The means of the devices' times, in 100 ns units.
    pub(super) means: Means,
}

/// The times of reads, of writes, and without a request, in 100 ns units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Means {
    pub(super) read: u64,
    pub(super) write: u64,
    pub(super) idle: u64,
}

impl Means {
    /// The times of one device, from its counts and its idle time in 100 ns units.
    pub(super) fn of(counts: &[u64; FIELDS], idle: u64) -> Self {
        Self {
            read: counts[READ_TIME].saturating_mul(UNITS),
            write: counts[WRITE_TIME].saturating_mul(UNITS),
            idle,
        }
    }
}

impl Totals {
    /// Takes the devices of the next sample: adds their growth to the sums and means.
    pub(super) fn update<'a>(&mut self, all: impl Iterator<Item = &'a DeviceCounts>) {
        let mut sums = Means::default();
        let mut count = 0;
        let mut in_flight = 0u64;
        for io in all {
            in_flight = in_flight.saturating_add(queue(&io.counts));
            let (counts, idle) = match &io.step {
                Some(step) => (&step.counts, step.idle),
                None if !self.started => (&io.counts, io.idle),
                None => continue,
            };
            count += 1;
            for (sum, more) in self.counts.iter_mut().zip(counts) {
                *sum = sum.saturating_add(*more);
            }
            let times = Means::of(counts, idle);
            sums.read = sums.read.saturating_add(times.read);
            sums.write = sums.write.saturating_add(times.write);
            sums.idle = sums.idle.saturating_add(times.idle);
        }
        self.counts[IN_FLIGHT] = in_flight;
        self.started |= count > 0;
        for (mean, sum) in [
            (&mut self.means.read, sums.read),
            (&mut self.means.write, sums.write),
            (&mut self.means.idle, sums.idle),
        ] {
            *mean = mean.saturating_add(sum.checked_div(count).unwrap_or(0));
        }
    }
}

/// The number of requests that are under way; 0 for a negative number, which old kernels may print.
pub(super) fn queue(counts: &[u64; FIELDS]) -> u64 {
    match counts[IN_FLIGHT] {
        negative if negative > i32::MAX as u64 => 0,
        count => count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDA: &str = " 8 0 sda 10 1 80 5 20 2 160 7 3 11 12";

    fn line(text: &str) -> Line<'_> {
        Line::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn lines_of_every_kernel_are_parsed() {
        let eleven = format!("{SDA}\n");
        let parsed = line(&eleven);
        assert_eq!(
            (parsed.number, parsed.name, parsed.known),
            ((8, 0), &b"sda"[..], FieldGroups::Times)
        );
        assert_eq!(parsed.fields[..11], [10, 1, 80, 5, 20, 2, 160, 7, 3, 11, 12]);
        let fifteen = format!("{SDA} 13 14 15 16\n");
        let parsed = line(&fifteen);
        assert_eq!((parsed.known, parsed.fields[DISCARD_TIME]), (FieldGroups::Discards, 16));
        let seventeen = format!("{SDA} 13 14 15 16 17 18\n");
        let parsed = line(&seventeen);
        assert_eq!((parsed.known, parsed.fields[FLUSH_TIME]), (FieldGroups::Flushes, 18));
        // More numbers than are known, and a part of a group.
        let more = format!("{SDA} 13 14 15 16 17 18 19 x\n");
        assert_eq!(line(&more).fields, parsed.fields);
        let part = format!("{SDA} 13 14\n");
        assert_eq!((line(&part).known, line(&part).fields[DISCARDS]), (FieldGroups::Times, 0));
        let four = line(" 8 1 sda1 10 80 20 160\n");
        assert_eq!(four.known, FieldGroups::Sizes);
        assert_eq!((four.fields[READS], four.fields[READ_SECTORS]), (10, 80));
        assert_eq!((four.fields[WRITES], four.fields[WRITE_SECTORS]), (20, 160));
        assert_eq!(four.fields.iter().filter(|field| **field > 0).count(), 4);
        assert!(line(" 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n").is_unused() && !four.is_unused());
    }

    #[test]
    fn damaged_lines_name_their_device() {
        let damage = |text: &'static str| Line::parse(text.as_bytes()).unwrap_err();
        for text in ["\n", "8\n", "8 0\n", "x 0 sda 1\n", "8 99999999999 sda 1 2 3 4\n"] {
            assert_eq!(damage(text), Damage::Line, "{text:?}");
        }
        for text in [
            "8 0 sda\n",
            "8 0 sda 1 2 3\n",
            "8 0 sda 1 2 3 4 5\n",
            "8 0 sda 1 2 3 -4\n",
            "8 0 sda 1 2 3 4 5 6 7 8 9 1 1x\n",
        ] {
            assert_eq!(damage(text), Damage::Of(b"sda"), "{text:?}");
        }
        // Cut off in the last number.
        assert_eq!(damage("8 0 sda 1 2 3 4 5 6 7 8 9 1 1"), Damage::Of(b"sda"));
        let text = "8 0 sda 99999999999999999999999 2 3 4\n";
        assert_eq!(line(text).fields[READS], u64::MAX);
    }

    fn with(fields: &[(usize, u64)]) -> Line<'static> {
        let mut line =
            Line { number: (8, 0), name: b"sda", fields: [0; FIELDS], known: FieldGroups::Flushes };
        for (field, value) in fields {
            line.fields[*field] = *value;
        }
        line
    }

    const MAX: u64 = u32::MAX as u64;
    const SECOND: u64 = 1000 * UNITS;

    #[test]
    fn wrapped_counts_go_on() {
        let mut track = Track::new(&with(&[(READ_TIME, MAX - 9), (READS, 5)]), 0);
        track.update(&with(&[(READ_TIME, 90), (READS, 6)]), SECOND, true);
        assert_eq!(track.io.counts[READ_TIME], MAX + 91);
        assert_eq!(track.io.step.unwrap().counts[READ_TIME], 100);
        assert_eq!((track.io.counts[READS], track.io.step.unwrap().counts[READS]), (6, 1));
        track.update(&with(&[(READ_TIME, 95), (READS, 6)]), 2 * SECOND, true);
        assert_eq!(track.io.counts[READ_TIME], MAX + 96);
        // A count beyond 32 bits cannot have wrapped at 32 bits.
        let mut track = Track::new(&with(&[(READS, MAX + 5)]), 0);
        track.update(&with(&[(READS, 3)]), SECOND, true);
        assert!(track.io.step.is_none());
        assert_eq!(track.io.counts[READS], MAX + 5);
    }

    #[test]
    fn a_replaced_device_goes_on_from_the_old_counts() {
        let mut track = Track::new(&with(&[(READS, 100), (WRITES, 7)]), 0);
        // The numbers show another device: 100 cannot wrap.
        track.update(&with(&[(READS, 30), (WRITES, 900)]), SECOND, true);
        assert!(track.io.step.is_none());
        assert_eq!((track.io.counts[READS], track.io.counts[WRITES]), (100, 7));
        track.update(&with(&[(READS, 31), (WRITES, 902)]), 2 * SECOND, true);
        assert_eq!((track.io.counts[READS], track.io.counts[WRITES]), (101, 9));
        // `same` is false: the device is known to be another one.
        track.update(&with(&[(READS, 5000), (WRITES, 5000)]), 3 * SECOND, false);
        assert_eq!((track.io.counts[READS], track.io.counts[WRITES]), (101, 9));
        // If the busy time had wrapped, it would have grown by more than the time that passed.
        let mut track = Track::new(&with(&[(BUSY, MAX - 9)]), 0);
        track.update(&with(&[(BUSY, 900_000)]), SECOND, true);
        assert!(track.io.step.is_none());
        let mut track = Track::new(&with(&[(BUSY, MAX - 9)]), 0);
        track.update(&with(&[(BUSY, 490)]), SECOND, true);
        assert_eq!(track.io.step.unwrap().idle, SECOND / 2);
    }

    #[test]
    fn idle_time_never_steps_back() {
        let mut track = Track::new(&with(&[(BUSY, 400)]), SECOND);
        assert_eq!(track.io.idle, 600 * UNITS);
        // The device was busy for 10 ms in 4 ms, because the kernel counts busy time in ticks.
        track.update(&with(&[(BUSY, 410)]), SECOND + 4 * UNITS, true);
        assert_eq!(track.io.idle, 600 * UNITS);
        track.update(&with(&[(BUSY, 410)]), SECOND + 20 * UNITS, true);
        assert_eq!(track.io.idle, 610 * UNITS);
    }

    #[test]
    fn totals_do_not_jump_with_devices() {
        let io = |reads, read_time, idle, step: Option<[u64; 3]>| {
            let fields = |reads, time| with(&[(READS, reads), (READ_TIME, time)]).fields;
            let step = step.map(|[r, t, idle]| Growth { counts: fields(r, t), idle });
            DeviceCounts {
                known: FieldGroups::Flushes,
                counts: fields(reads, read_time),
                idle,
                step,
            }
        };
        let mut totals = Totals::default();
        totals.update([io(10, 4, 100, None), io(20, 8, 300, None)].iter());
        assert_eq!((totals.counts[READS], totals.counts[READ_TIME]), (30, 12));
        assert_eq!(totals.means, Means { read: 6 * UNITS, write: 0, idle: 200 });
        // One device vanishes, another appears.
        totals.update([io(11, 6, 150, Some([1, 2, 50])), io(999, 999, 999, None)].iter());
        assert_eq!((totals.counts[READS], totals.counts[READ_TIME]), (31, 14));
        assert_eq!(totals.means, Means { read: 8 * UNITS, write: 0, idle: 250 });
        // There is no device.
        totals.update([].iter());
        assert_eq!(totals.counts[READS], 31);
    }

    #[test]
    fn a_queue_below_zero_is_empty() {
        assert_eq!(queue(&with(&[(IN_FLIGHT, MAX)]).fields), 0);
        assert_eq!(queue(&with(&[(IN_FLIGHT, u64::MAX)]).fields), 0);
        assert_eq!(queue(&with(&[(IN_FLIGHT, 300)]).fields), 300);
    }
}
