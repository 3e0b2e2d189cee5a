//! The processors and counts in `/proc/stat`.

use crate::parse::{Words, number, whole_lines};
use rustix::param::clock_ticks_per_second;
use std::fmt;

/// The times of one processor since the start of the machine, in 100 ns units; `None` for times that
/// this kernel does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Time in programs, including programs of low priority and guests.
    pub(crate) user: u64,
    /// Time in programs of low priority.
    pub(crate) nice: u64,
    /// Time in the kernel, in interrupts and in soft interrupts.
    pub(crate) privileged: u64,
    /// Idle time, including idle time while a task waits for a disk.
    pub(crate) idle: u64,
    /// Idle time while a task waits for a disk; `None` if the kernel does not report it.
    pub(crate) waiting: Option<u64>,
    pub(crate) interrupt: Option<u64>,
    pub(crate) soft_interrupt: Option<u64>,
    /// Time that a hypervisor took away; `None` if the kernel does not report it.
    pub(crate) stolen: Option<u64>,
    /// Time in virtual machines that run on this machine; `None` if the kernel does not report it.
    pub(crate) guest: Option<u64>,
}

/// A processor that is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// The kernel's number of the processor.
    pub(crate) number: u32,
    pub(crate) times: Times,
}

/// The contents of `/proc/stat`.
#[derive(Debug, Default)]
pub(crate) struct SystemStat {
    /// The processors that are switched on, in the kernel's order.
    pub(crate) cpus: Vec<Cpu>,
    /// Whether the list of processors is complete; `false` if it is empty.
    pub(crate) has_all_cpus: bool,
    pub(crate) switches: Option<u64>,
    pub(crate) running: Option<u64>,
    /// The number of threads that wait for a disk; `None` if the text does not give it.
    pub(crate) blocked: Option<u64>,
    /// The number of processes and threads that were created since the machine started; `None` if
    /// the text does not give it.
    pub(crate) made: Option<u64>,
    pub(crate) interrupts: Option<u64>,
    pub(crate) soft_interrupts: Option<u64>,
    /// The parts of the text that could not be parsed; their values are missing in the other
    /// fields.
    pub(crate) damage: Vec<Damage>,
}

/// An unreadable part of `/proc/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The line of the processor with this number.
    Cpu(String),
    /// Another line, which begins with this word.
    Line(&'static str),
    /// The text ends within a line.
    Cut,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(number) => write!(f, "stat: the line of cpu{number} is damaged"),
            Self::Line(name) => write!(f, "stat: {name} is not a number"),
            Self::Cut => f.write_str("stat: ends in the middle of a line"),
        }
    }
}

/// The length, in 100 ns units, of the ticks in which the kernel shows times in `/proc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    units: u64,
}

impl Ticks {
    pub(crate) fn of_system() -> Self {
        Self { units: 10_000_000 / clock_ticks_per_second().max(1) }
    }

    /// A number of nanoseconds in ticks, rounded down as the kernel does.
    pub(crate) fn of_nanos(self, nanos: u64) -> u64 {
        nanos / (self.units * 100).max(1)
    }

    pub(crate) fn to_units(self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.units)
    }
}

impl SystemStat {
    /// Removes the contents that were read.
    pub(crate) fn clear(&mut self) {
        let (mut cpus, mut damage) =
            (std::mem::take(&mut self.cpus), std::mem::take(&mut self.damage));
        cpus.clear();
        damage.clear();
        *self = Self { cpus, damage, ..Self::default() };
    }

    /// Replaces the contents by the contents of a text of `/proc/stat`.
    pub(crate) fn parse(&mut self, text: &[u8], ticks: Ticks) {
        self.clear();
        let (lines, cut) = whole_lines(text);
        let mut others = false;
        for line in lines {
            others |= !line.starts_with(b"cpu");
            if let Some(rest) = line.strip_prefix(b"cpu") {
                // The line `cpu` of all processors includes those that are off, and is not used.
                let is_of_all = rest.first().is_some_and(|byte| *byte == b' ');
                if !is_of_all {
                    self.has_all_cpus = true;
                    match parse_cpu(rest, ticks) {
                        Some(cpu) => self.cpus.push(cpu),
                        None => {
                            self.damage.push(Damage::Cpu(leading_digits(rest)));
                        }
                    }
                }
            } else if let Some(rest) = line.strip_prefix(b"ctxt ") {
                self.switches = self.line("ctxt", rest);
            } else if let Some(rest) = line.strip_prefix(b"procs_running ") {
                self.running = self.line("procs_running", rest);
            } else if let Some(rest) = line.strip_prefix(b"procs_blocked ") {
                self.blocked = self.line("procs_blocked", rest);
            } else if let Some(rest) = line.strip_prefix(b"processes ") {
                self.made = self.line("processes", rest);
            } else if let Some(rest) = line.strip_prefix(b"intr ") {
                self.interrupts = self.line("intr", rest);
            } else if let Some(rest) = line.strip_prefix(b"softirq ") {
                self.soft_interrupts = self.line("softirq", rest);
            }
        }
        if cut {
            self.damage.push(Damage::Cut);
        }
        // The processors' lines come first: if the text is cut off before any other line,
        // some of them may be missing.
        let ends_early = cut && !others;
        let is_damaged = self.damage.iter().any(|damage| matches!(damage, Damage::Cpu(_)));
        self.has_all_cpus &= !ends_early && !is_damaged;
    }

    fn line(&mut self, name: &'static str, rest: &[u8]) -> Option<u64> {
        let number = Words::new(rest).number();
        if number.is_none() {
            self.damage.push(Damage::Line(name));
        }
        number
    }
}

fn parse_cpu(rest: &[u8], ticks: Ticks) -> Option<Cpu> {
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let (name, rest) = rest.split_at_checked(digits)?;
    let number = u32::try_from(number(name)?).ok()?;
    let mut words = Words::new(rest);
    // user nice system idle, since Linux 2.6 iowait irq softirq, then steal,
    // guest and guest_nice. Guests' time is within user and nice.
    let mut four = [0; 4];
    for place in &mut four {
        *place = words.number()?;
    }
    let [user, nice, system, idle] = four;
    let mut more = [None; 6];
    for place in &mut more {
        *place = words.number_if_any()?;
        if place.is_none() {
            break;
        }
    }
    let [waiting, interrupt, soft_interrupt, stolen, guest, nice_guest] = more;
    let sum = |first: u64, others: &[Option<u64>]| {
        others.iter().flatten().fold(first, |sum, more| sum.saturating_add(*more))
    };
    let some = |count: Option<u64>| count.map(|count| ticks.to_units(count));
    let times = Times {
        user: ticks.to_units(user.saturating_add(nice)),
        nice: ticks.to_units(nice),
        privileged: ticks.to_units(sum(system, &[interrupt, soft_interrupt])),
        idle: ticks.to_units(sum(idle, &[waiting])),
        waiting: some(waiting),
        interrupt: some(interrupt),
        soft_interrupt: some(soft_interrupt),
        stolen: some(stolen),
        guest: some(guest.map(|guest| sum(guest, &[nice_guest]))),
    };
    Some(Cpu { number, times })
}

fn leading_digits(text: &[u8]) -> String {
    // A processor number has no more digits.
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).take(10);
    let digits: String = digits.map(|byte| char::from(*byte)).collect();
    if digits.is_empty() { "?".to_string() } else { digits }
}

/// The mean and the sum of the times of processors that come and go.
///
/// When a processor is switched off or on, its times leave or enter the list, and a
/// plain sum or mean would jump. So both start as the plain sum and mean, and then grow by
/// the growth of the processors that are in two consecutive samples.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Whether any sample so far had a processor.
    started: bool,
    last: Vec<Cpu>,
    pub(crate) mean: Times,
    pub(crate) sum: Times,
}

impl Totals {
    /// Takes the processors of the next sample: adds their growth to the mean and the sum.
    pub(crate) fn update(&mut self, cpus: &[Cpu]) {
        let mut grown = [0i128; FIELDS];
        let mut known = [true; FIELDS];
        let mut count = 0;
        for (at, cpu) in cpus.iter().enumerate() {
            let before = match self.before(at, cpu.number) {
                Some(last) => fields(last.times),
                None if !self.started => [Some(0); FIELDS],
                None => continue,
            };
            count += 1;
            let both = fields(cpu.times).into_iter().zip(before);
            for ((sum, known), (now, before)) in grown.iter_mut().zip(&mut known).zip(both) {
                *known &= now.is_some();
                let more = i128::from(now.unwrap_or(0)) - i128::from(before.unwrap_or(0));
                // The kernel's times may step back by some ticks; the times of a processor
                // that was off may restart from 0, which counts as no growth.
                *sum += if more < -SECOND { 0 } else { more };
            }
        }
        if count > 0 {
            self.sum = add(self.sum, grown, known);
            grown.iter_mut().for_each(|sum| *sum /= count);
            self.mean = add(self.mean, grown, known);
        }
        self.started |= !cpus.is_empty();
        self.last.clear();
        self.last.extend_from_slice(cpus);
    }

    /// The processor with this number in the previous sample, in which its index is mostly `at`;
    /// `None` if the previous sample did not have it.
    fn before(&self, at: usize, number: u32) -> Option<&Cpu> {
        match self.last.get(at) {
            Some(last) if last.number == number => Some(last),
            _ => self.last.iter().find(|last| last.number == number),
        }
    }
}

const SECOND: i128 = 10_000_000;
const FIELDS: usize = 9;

fn fields(times: Times) -> [Option<u64>; FIELDS] {
    let Times { user, nice, privileged, idle, waiting, interrupt, soft_interrupt, stolen, guest } =
        times;
    let always = [user, nice, privileged, idle].map(Some);
    let [user, nice, privileged, idle] = always;
    [user, nice, privileged, idle, waiting, interrupt, soft_interrupt, stolen, guest]
}

/// The times plus their growth; `None` for a time that at least one processor lacks (`known` is
/// false).
fn add(times: Times, grown: [i128; FIELDS], known: [bool; FIELDS]) -> Times {
    let mut sums = fields(times);
    for ((sum, more), known) in sums.iter_mut().zip(grown).zip(known) {
        let before = i128::from(sum.unwrap_or(0));
        let now = u64::try_from((before + more).max(0)).unwrap_or(u64::MAX);
        *sum = known.then_some(now);
    }
    let [user, nice, privileged, idle, waiting, interrupt, soft_interrupt, stolen, guest] = sums;
    let always = |time: Option<u64>| time.unwrap_or(0);
    Times {
        user: always(user),
        nice: always(nice),
        privileged: always(privileged),
        idle: always(idle),
        waiting,
        interrupt,
        soft_interrupt,
        stolen,
        guest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICKS: Ticks = Ticks { units: 100_000 };

    fn parse(text: &str) -> SystemStat {
        let mut stat = SystemStat::default();
        stat.parse(text.as_bytes(), TICKS);
        stat
    }

    #[test]
    fn processors_keep_their_numbers() {
        let stat = parse(
            "cpu  9 9 9 9 9 9 9 0 0 0\ncpu0 1 2 3 4 5 6 7 8 1 1\ncpu3 10 0 0 20\n\
             intr 5 1 2\nctxt 77\nbtime 1\nprocesses 9\nprocs_running 3\n\
             procs_blocked 2\nsoftirq 11 1 2\n",
        );
        assert_eq!((stat.switches, stat.running), (Some(77), Some(3)));
        assert_eq!((stat.made, stat.blocked), (Some(9), Some(2)));
        assert_eq!((stat.interrupts, stat.soft_interrupts), (Some(5), Some(11)));
        let units = |ticks: u64| ticks * 100_000;
        let first = Times {
            user: units(3),
            nice: units(2),
            privileged: units(16),
            idle: units(9),
            waiting: Some(units(5)),
            interrupt: Some(units(6)),
            soft_interrupt: Some(units(7)),
            stolen: Some(units(8)),
            guest: Some(units(2)),
        };
        let old = Times { user: units(10), idle: units(20), ..Times::default() };
        assert_eq!(stat.cpus, [Cpu { number: 0, times: first }, Cpu { number: 3, times: old }]);
    }

    #[test]
    fn damaged_lines_leave_other_processors() {
        let stat = parse("cpu0 1 2 3 4\ncpu1 1 x 3 4\ncpu2 1 2 3\nctxt 5x\ncpu4 1 2 3 4");
        assert_eq!(stat.cpus.len(), 1);
        assert_eq!((stat.switches, stat.running), (None, None));
        let damage = [
            Damage::Cpu("1".to_string()),
            Damage::Cpu("2".to_string()),
            Damage::Line("ctxt"),
            Damage::Cut,
        ];
        assert_eq!(stat.damage, damage);
        assert_eq!(parse("").cpus, []);
    }

    #[test]
    fn totals_do_not_jump_with_processors() {
        let cpu = |number, idle| Cpu { number, times: Times { idle, ..Times::default() } };
        let mut totals = Totals::default();
        totals.update(&[cpu(0, 1_000), cpu(1, 3_000)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_000, 4_000));
        // Processor 1 is switched off: only processor 0 counts.
        totals.update(&[cpu(0, 1_100)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_100, 4_100));
        // It is switched on again; what it counted before does not count again.
        totals.update(&[cpu(0, 1_200), cpu(1, 9_000)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_200, 4_200));
        totals.update(&[cpu(0, 1_300), cpu(1, 9_300)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_400, 4_600));
        // Its times restart from 0.
        let mut totals = Totals::default();
        totals.update(&[cpu(0, 90_000_000)]);
        totals.update(&[cpu(0, 5)]);
        assert_eq!(totals.mean.idle, 90_000_000);
        // There is no processor at all.
        totals.update(&[]);
        assert_eq!(totals.mean.idle, 90_000_000);
        // What processors counted before they came back does not count.
        totals.update(&[cpu(0, 700)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (90_000_000, 90_000_000));
        totals.update(&[cpu(0, 800)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (90_000_100, 90_000_100));
    }
}
