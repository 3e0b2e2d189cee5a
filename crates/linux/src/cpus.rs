//! The processors in `/proc/stat`.

use crate::parse::{Words, number, whole_lines};
use rustix::param::clock_ticks_per_second;
use std::fmt;

/// What one processor did so far, in 100 ns units. Times that the kernel does
/// not tell apart are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) user: u64,
    /// System, interrupts and soft interrupts.
    pub(crate) privileged: u64,
    /// Idle, and idle while something waits for a disk.
    pub(crate) idle: u64,
    pub(crate) interrupt: Option<u64>,
    pub(crate) soft_interrupt: Option<u64>,
}

/// One processor that is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpu {
    /// The kernel's number.
    pub(crate) number: u32,
    pub(crate) times: Times,
}

/// What `/proc/stat` says.
#[derive(Debug, Default)]
pub(crate) struct SystemStat {
    /// The processors that are on, in the kernel's order.
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) switches: Option<u64>,
    pub(crate) running: Option<u64>,
    /// What could not be understood, and is missing above.
    pub(crate) damage: Vec<Damage>,
}

/// A part of `/proc/stat` that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The line of a processor, by its number.
    Cpu(String),
    /// Another line.
    Line(&'static str),
    /// The text ends within a line.
    Cut,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(number) => write!(f, "stat: the line of cpu{number} is damaged"),
            Self::Line(name) => write!(f, "stat: {name} is no number"),
            Self::Cut => f.write_str("stat: ends in the middle of a line"),
        }
    }
}

/// Ticks of the kernel's user interface in 100 ns units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    units: u64,
}

impl Ticks {
    pub(crate) fn of_system() -> Self {
        Self { units: 10_000_000 / clock_ticks_per_second().max(1) }
    }

    /// The ticks in so many nanoseconds, as the kernel counts them.
    pub(crate) fn of_nanos(self, nanos: u64) -> u64 {
        nanos / (self.units * 100).max(1)
    }

    pub(crate) fn to_units(self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.units)
    }
}

impl SystemStat {
    /// Forgets what was read.
    pub(crate) fn clear(&mut self) {
        self.cpus.clear();
        self.switches = None;
        self.running = None;
        self.damage.clear();
    }

    /// Reads the text.
    pub(crate) fn parse(&mut self, text: &[u8], ticks: Ticks) {
        self.clear();
        let (lines, cut) = whole_lines(text);
        for line in lines {
            if let Some(rest) = line.strip_prefix(b"cpu") {
                // The line of all processors counts those that are off, too.
                if rest.first().is_some_and(u8::is_ascii_digit) {
                    match parse_cpu(rest, ticks) {
                        Some(cpu) => self.cpus.push(cpu),
                        None => self.damage.push(Damage::Cpu(leading_digits(rest))),
                    }
                }
            } else if let Some(rest) = line.strip_prefix(b"ctxt ") {
                self.switches = self.line("ctxt", rest);
            } else if let Some(rest) = line.strip_prefix(b"procs_running ") {
                self.running = self.line("procs_running", rest);
            }
        }
        if cut {
            self.damage.push(Damage::Cut);
        }
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
    // user nice system idle, and since Linux 2.6 iowait irq softirq. Guests'
    // time, further on, is within user and nice.
    let mut four = [0; 4];
    for place in &mut four {
        *place = words.number()?;
    }
    let [user, nice, system, idle] = four;
    let waiting = words.number().unwrap_or(0);
    let interrupt = words.number();
    let soft_interrupt = interrupt.and_then(|_| words.number());
    let privileged =
        [interrupt, soft_interrupt].into_iter().flatten().fold(system, u64::saturating_add);
    let times = Times {
        user: ticks.to_units(user.saturating_add(nice)),
        privileged: ticks.to_units(privileged),
        idle: ticks.to_units(idle.saturating_add(waiting)),
        interrupt: interrupt.map(|count| ticks.to_units(count)),
        soft_interrupt: soft_interrupt.map(|count| ticks.to_units(count)),
    };
    Some(Cpu { number, times })
}

fn leading_digits(text: &[u8]) -> String {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.map(|byte| char::from(*byte)).collect()
}

/// Mean and sum over processors that come and go.
///
/// A processor that is switched off takes its times out of the list, one that
/// comes back brings them in again; either would make a plain sum or mean jump.
/// So both grow from sample to sample by what the processors did that are in
/// both, beginning with the plain ones.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    last: Vec<Cpu>,
    pub(crate) mean: Times,
    pub(crate) sum: Times,
}

impl Totals {
    /// Takes the next sample.
    pub(crate) fn update(&mut self, cpus: &[Cpu]) {
        let mut grown = [0i128; 5];
        let mut count = 0;
        let start = self.last.is_empty();
        for cpu in cpus {
            let before = self.last.iter().find(|last| last.number == cpu.number);
            let before = match before {
                Some(last) => fields(last.times),
                None if start => [0; 5],
                None => continue,
            };
            count += 1;
            for ((sum, now), before) in grown.iter_mut().zip(fields(cpu.times)).zip(before) {
                let more = i128::from(now) - i128::from(before);
                // The kernel's times may step back by ticks; a processor that
                // was off may have begun anew.
                *sum += if more < -SECOND { 0 } else { more };
            }
        }
        if count > 0 {
            let known = cpus.iter().fold((true, true), |(hard, soft), cpu| {
                (hard && cpu.times.interrupt.is_some(), soft && cpu.times.soft_interrupt.is_some())
            });
            self.mean = add(self.mean, grown.map(|sum| sum / count), known);
            self.sum = add(self.sum, grown, known);
        }
        self.last.clear();
        self.last.extend_from_slice(cpus);
    }
}

const SECOND: i128 = 10_000_000;

fn fields(times: Times) -> [u64; 5] {
    let Times { user, privileged, idle, interrupt, soft_interrupt } = times;
    [user, privileged, idle, interrupt.unwrap_or(0), soft_interrupt.unwrap_or(0)]
}

fn add(times: Times, grown: [i128; 5], (hard, soft): (bool, bool)) -> Times {
    let mut sums = fields(times);
    for (sum, more) in sums.iter_mut().zip(grown) {
        *sum = u64::try_from((i128::from(*sum) + more).max(0)).unwrap_or(u64::MAX);
    }
    let [user, privileged, idle, interrupt, soft_interrupt] = sums;
    Times {
        user,
        privileged,
        idle,
        interrupt: hard.then_some(interrupt),
        soft_interrupt: soft.then_some(soft_interrupt),
    }
}

/// Interrupts of each processor since the start, from `/proc/interrupts`.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    /// By the kernel's number, in the order of the table's columns.
    columns: Vec<(u32, u64)>,
}

impl Interrupts {
    /// Adds up the columns. Answers whether the text is such a table.
    pub(crate) fn parse(&mut self, text: &[u8]) -> bool {
        self.columns.clear();
        let (mut lines, _) = whole_lines(text);
        let mut header = lines.next().unwrap_or_default();
        while let Some(at) = header.windows(3).position(|word| word == b"CPU") {
            header = header.get(at + 3..).unwrap_or_default();
            let digits = header.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match header.get(..digits).and_then(number).map(u32::try_from) {
                Some(Ok(cpu)) => self.columns.push((cpu, 0)),
                _ => return false,
            }
        }
        for line in lines {
            self.add(line);
        }
        !self.columns.is_empty()
    }

    /// Adds a row with a count for each column. Rows with one count for the
    /// whole machine (errors) belong to no processor.
    fn add(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return;
        };
        let (name, rest) = line.split_at(colon);
        if matches!(name.trim_ascii(), b"ERR" | b"MIS") {
            return;
        }
        let counts = || Words::new(rest.get(1..).unwrap_or_default());
        let mut words = counts();
        if self.columns.iter().any(|_| words.number().is_none()) {
            return;
        }
        let mut words = counts();
        for (_, sum) in &mut self.columns {
            *sum = sum.wrapping_add(words.number().unwrap_or(0));
        }
    }

    /// The interrupts of a processor.
    pub(crate) fn of(&self, cpu: u32) -> Option<u64> {
        self.columns.iter().find(|(number, _)| *number == cpu).map(|(_, sum)| *sum)
    }

    /// Those of all processors.
    pub(crate) fn sum(&self) -> u64 {
        self.columns.iter().fold(0, |sum, (_, more)| sum.wrapping_add(*more))
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
    fn processors_by_their_numbers() {
        let stat = parse(
            "cpu  9 9 9 9 9 9 9 0 0 0\ncpu0 1 2 3 4 5 6 7 8 1 1\ncpu3 10 0 0 20\n\
             intr 5 1 2\nctxt 77\nbtime 1\nprocs_running 3\n",
        );
        assert_eq!((stat.switches, stat.running), (Some(77), Some(3)));
        let units = |ticks: u64| ticks * 100_000;
        let first = Times {
            user: units(3),
            privileged: units(16),
            idle: units(9),
            interrupt: Some(units(6)),
            soft_interrupt: Some(units(7)),
        };
        let old = Times { user: units(10), idle: units(20), ..Times::default() };
        assert_eq!(stat.cpus, [Cpu { number: 0, times: first }, Cpu { number: 3, times: old }]);
    }

    #[test]
    fn damaged_lines_cost_only_themselves() {
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
        // Processor 1 goes: only 0 counts.
        totals.update(&[cpu(0, 1_100)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_100, 4_100));
        // It comes back, and brings nothing with it.
        totals.update(&[cpu(0, 1_200), cpu(1, 9_000)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_200, 4_200));
        totals.update(&[cpu(0, 1_300), cpu(1, 9_300)]);
        assert_eq!((totals.mean.idle, totals.sum.idle), (2_400, 4_600));
        // It begins anew.
        let mut totals = Totals::default();
        totals.update(&[cpu(0, 90_000_000)]);
        totals.update(&[cpu(0, 5)]);
        assert_eq!(totals.mean.idle, 90_000_000);
        // None at all.
        totals.update(&[]);
        assert_eq!(totals.mean.idle, 90_000_000);
    }

    #[test]
    fn interrupts_by_column() {
        let text = "            CPU0       CPU2       \n  0:         38          1  IO  timer\n\
                    LOC:   18017794    5791007   Local timer interrupts\nERR:          7\n\
                    MIS:          9\n 99:   12";
        let mut interrupts = Interrupts::default();
        assert!(interrupts.parse(text.as_bytes()));
        assert_eq!(interrupts.of(0), Some(18_017_832));
        assert_eq!(interrupts.of(2), Some(5_791_008));
        assert_eq!(interrupts.of(1), None);
        assert_eq!(interrupts.sum(), 23_808_840);
        assert!(!interrupts.parse(b""));
        assert!(!interrupts.parse(b"CPUx\n"));
    }
}
