//! The interrupt counts of each processor, from `/proc/interrupts` and `/proc/softirqs`.
//!
//! Both files are tables of 32-bit counts, which wrap, with a column for each processor that is on.
//! A row of `interrupts` vanishes with its device, a column with its processor. A total would then
//! shrink, which readers of a 32-bit counter take for a wrap. So a reported count grows as each
//! processor's total grows, and stays the same when the total shrinks.

use crate::parse::{Words, number, whole_lines};

/// The interrupt counts of one processor.
#[derive(Clone, Copy, Debug)]
struct Column<const N: usize> {
    cpu: u32,
    /// The counts in the newest file that has the column.
    last: [u64; N],
    /// The counts that are reported, which never go back.
    shown: [u64; N],
    /// Whether the newest file has the processor's column.
    is_on: bool,
}

/// The counts of processors (or of NUMA nodes) that come and go, and their sums. `MOST` is the largest
/// value of a count, behind which it wraps.
#[derive(Debug)]
pub(crate) struct Tally<const N: usize, const MOST: u64 = { u32::MAX as u64 }> {
    columns: Vec<Column<N>>,
    sums: [u64; N],
    /// Whether any sample so far had a processor.
    started: bool,
}

impl<const N: usize, const MOST: u64> Default for Tally<N, MOST> {
    fn default() -> Self {
        Self { columns: Vec::new(), sums: [0; N], started: false }
    }
}

impl<const N: usize, const MOST: u64> Tally<N, MOST> {
    /// Takes the next sample: the number of each processor that is on, and its counts since the
    /// start of the machine.
    pub(crate) fn update(&mut self, now: &[(u32, [u64; N])]) {
        if self.columns.len() > now.len().saturating_mul(4).saturating_add(64) {
            self.columns.retain(|column| column.is_on);
        }
        self.columns.iter_mut().for_each(|column| column.is_on = false);
        for (at, (cpu, counts)) in now.iter().enumerate() {
            let place = self.place(at, *cpu);
            let Some(column) = place.and_then(|at| self.columns.get_mut(at)) else {
                self.columns.push(Column { cpu: *cpu, last: *counts, shown: *counts, is_on: true });
                if !self.started {
                    for (sum, count) in self.sums.iter_mut().zip(counts) {
                        *sum = sum.wrapping_add(*count);
                    }
                }
                continue;
            };
            column.is_on = true;
            let told = column.shown.iter_mut().zip(&mut self.sums);
            for ((last, count), (shown, sum)) in column.last.iter_mut().zip(counts).zip(told) {
                let grown = growth(*last, *count, MOST);
                *last = *count;
                *shown = shown.wrapping_add(grown);
                *sum = sum.wrapping_add(grown);
            }
        }
        self.started |= !now.is_empty();
    }

    /// The index of a processor's column, which is mostly `at`; `None` if it has no column yet.
    fn place(&self, at: usize, cpu: u32) -> Option<usize> {
        match self.columns.get(at) {
            Some(column) if column.cpu == cpu => Some(at),
            _ => self.columns.iter().position(|column| column.cpu == cpu),
        }
    }

    /// The reported counts of a processor; `None` unless it is on. `at` is the likely index.
    pub(crate) fn of(&self, at: usize, cpu: u32) -> Option<&[u64; N]> {
        let is = |column: &&Column<N>| column.cpu == cpu && column.is_on;
        let column = self.columns.get(at).filter(is);
        column.or_else(|| self.columns.iter().find(is)).map(|column| &column.shown)
    }

    /// The sums over all processors: of their counts in the first sample, and of the growth of the
    /// reported counts since.
    pub(crate) fn sums(&self) -> &[u64; N] {
        &self.sums
    }
}

/// The growth of a count that wraps behind `most`, which is 2^32 - 1 or 2^64 - 1. A growth by half the
/// range or more is taken for a count that shrank, and gives 0.
fn growth(last: u64, now: u64, most: u64) -> u64 {
    let grown = now.wrapping_sub(last) & most;
    if grown > most / 2 { 0 } else { grown }
}

/// Calls `add` with the number of each processor in the heading of a table. Returns `false` if
/// something other than a number and a blank follows a `CPU` in the line; a line without `CPU` is a
/// heading of no processors.
fn head(line: &[u8], mut add: impl FnMut(u32)) -> bool {
    let mut rest = line;
    while let Some(at) = rest.windows(3).position(|word| word == b"CPU") {
        rest = rest.get(at + 3..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_whole = rest.get(digits).is_none_or(u8::is_ascii_whitespace);
        match rest.get(..digits).and_then(number).map(u32::try_from) {
            Some(Ok(cpu)) if is_whole => add(cpu),
            _ => return false,
        }
    }
    true
}

/// The name of a row and the text behind it; `None` for a line without a colon.
fn row(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, rest) = line.split_at(colon);
    Some((name.trim_ascii(), rest.get(1..)?))
}

/// Whether the text of a row begins with a number for each of the `columns`.
fn has_all(rest: &[u8], columns: usize) -> bool {
    let mut words = Words::new(rest);
    (0..columns).all(|_| words.number().is_some())
}

/// The interrupts of each processor, from `/proc/interrupts`: the count of all interrupts, and the
/// count of the local clock's interrupts.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    table: Vec<(u32, [u64; 2])>,
    pub(crate) tally: Tally<2>,
    /// Whether the table has a row for the interrupts of the local clocks.
    pub(crate) has_clock: bool,
}

impl Interrupts {
    /// Takes the text of `/proc/interrupts` as the next sample. Returns `false`, and keeps the
    /// counts of the sample before, if the text could not be parsed in full.
    pub(crate) fn parse(&mut self, text: &[u8]) -> bool {
        self.table.clear();
        self.has_clock = false;
        let (mut lines, cut) = whole_lines(text);
        let table = &mut self.table;
        // If the last row were missing, the sum would be wrong.
        if cut || !head(lines.next().unwrap_or_default(), |cpu| table.push((cpu, [0; 2]))) {
            return false;
        }
        for (name, rest) in lines.filter_map(row) {
            // Rows with one count for the whole machine (errors) belong to no
            // processor, and `FIQ` of some architectures counts
            // nothing.
            if matches!(name, b"ERR" | b"Err" | b"MIS" | b"FIQ") {
                continue;
            }
            if !has_all(rest, self.table.len()) {
                let mut words = Words::new(rest);
                if words.number().is_some() && words.number_if_any() == Some(None) {
                    continue;
                }
                return false;
            }
            let is_clock = name == b"LOC";
            self.has_clock |= is_clock;
            let mut words = Words::new(rest);
            for (_, [all, clock]) in &mut self.table {
                let count = words.number().unwrap_or(0);
                *all = all.wrapping_add(count);
                if is_clock {
                    *clock = clock.wrapping_add(count);
                }
            }
        }
        if self.table.is_empty() {
            return false;
        }
        self.tally.update(&self.table);
        true
    }
}

/// The kinds of soft interrupts, in the kernel's order.
pub(crate) const KINDS: [&[u8]; 10] = [
    b"HI",
    b"TIMER",
    b"NET_TX",
    b"NET_RX",
    b"BLOCK",
    b"IRQ_POLL",
    b"TASKLET",
    b"SCHED",
    b"HRTIMER",
    b"RCU",
];

/// The soft interrupts of each processor by kind, from `/proc/softirqs`.
#[derive(Debug, Default)]
pub(crate) struct SoftInterrupts {
    table: Vec<(u32, [u64; KINDS.len()])>,
    pub(crate) tally: Tally<{ KINDS.len() }>,
    /// For each of the [`KINDS`], whether the newest table has its row.
    pub(crate) has: [bool; KINDS.len()],
}

impl SoftInterrupts {
    /// Takes the text of `/proc/softirqs` as the next sample. Returns `false`, and keeps the counts
    /// of the sample before, if the text is no table of soft interrupts.
    pub(crate) fn parse(&mut self, text: &[u8]) -> bool {
        self.table.clear();
        self.has = [false; KINDS.len()];
        let (mut lines, _) = whole_lines(text);
        let table = &mut self.table;
        if !head(lines.next().unwrap_or_default(), |cpu| table.push((cpu, [0; KINDS.len()]))) {
            return false;
        }
        for (name, rest) in lines.filter_map(row) {
            // The row was called BLOCK_IOPOLL until Linux 4.4.
            let name = if name == b"BLOCK_IOPOLL" { b"IRQ_POLL" } else { name };
            let Some(kind) = KINDS.iter().position(|kind| *kind == name) else {
                continue;
            };
            if !has_all(rest, self.table.len()) {
                continue;
            }
            if let Some(has) = self.has.get_mut(kind) {
                *has = true;
            }
            let mut words = Words::new(rest);
            for (_, counts) in &mut self.table {
                if let (Some(place), Some(count)) = (counts.get_mut(kind), words.number()) {
                    *place = count;
                }
            }
        }
        if self.table.is_empty() {
            return false;
        }
        self.tally.update(&self.table);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_summed_by_column() {
        let text = "            CPU0       CPU2       \n  0:         38          1  IO  timer\n\
                    LOC:   18017794    5791007   Local timer interrupts\nERR:          7\n\
                    MIS:          9\n 99:   12";
        let mut interrupts = Interrupts::default();
        // The last number of a truncated text may be incomplete.
        assert!(!interrupts.parse(text.as_bytes()));
        assert!(interrupts.parse(format!("{text}\n").as_bytes()));
        assert!(interrupts.has_clock);
        let of = |cpu| interrupts.tally.of(0, cpu).copied();
        assert_eq!(of(0), Some([18_017_832, 18_017_794]));
        assert_eq!(of(2), Some([5_791_008, 5_791_007]));
        assert_eq!(of(1), None);
        assert_eq!(interrupts.tally.sums()[0], 23_808_840);
        let damaged = b"  CPU0 CPU2\n 0: 38 x IO\n";
        for bad in [&b""[..], b"CPUx\n", b"nothing\n", damaged] {
            assert!(!interrupts.parse(bad));
        }
    }

    #[test]
    fn sums_never_step_back() {
        let mut tally = Tally::<1>::default();
        let sums = |tally: &Tally<1>| tally.sums()[0];
        tally.update(&[(0, [100]), (1, [1000])]);
        assert_eq!(sums(&tally), 1100);
        // Processor 1 is switched off.
        tally.update(&[(0, [110])]);
        assert_eq!((sums(&tally), tally.of(1, 1)), (1110, None));
        // It is switched on again with its old counts, and a new processor appears.
        tally.update(&[(0, [110]), (1, [1005]), (7, [5000])]);
        assert_eq!((sums(&tally), tally.of(2, 7)), (1115, Some(&[5000])));
        // A device vanishes, and its count with it; then all counts grow.
        tally.update(&[(0, [10]), (1, [1005]), (7, [5000])]);
        assert_eq!((sums(&tally), tally.of(0, 0)), (1115, Some(&[110])));
        tally.update(&[(0, [13]), (1, [1005]), (7, [5000])]);
        assert_eq!((sums(&tally), tally.of(0, 0)), (1118, Some(&[113])));
        // A count of 32 bits wraps.
        let mut tally = Tally::<1>::default();
        tally.update(&[(0, [0xffff_fff0])]);
        tally.update(&[(0, [0x10])]);
        assert_eq!(sums(&tally), 0x1_0000_0010);
        // A count of 64 bits grows by more than one of 32 bits can.
        let mut wide = Tally::<1, { u64::MAX }>::default();
        wide.update(&[(0, [7])]);
        wide.update(&[(0, [1 << 40])]);
        assert_eq!(wide.sums()[0], 1 << 40);
        // Processors that stay away are forgotten.
        for number in 0..1000 {
            tally.update(&[(number, [1])]);
        }
        assert!(tally.columns.len() <= 70, "{}", tally.columns.len());
    }

    #[test]
    fn soft_interrupts_are_kept_by_kind() {
        let text = "        CPU1   CPU3\n   HI:   1   2\n  NET_RX: 3 4\n NEW: 5 6\n RCU: 7\n\
                    BLOCK_IOPOLL: 8 9\n";
        let mut soft = SoftInterrupts::default();
        assert!(soft.parse(text.as_bytes()));
        assert_eq!(soft.tally.of(0, 3), Some(&[2, 0, 0, 4, 0, 9, 0, 0, 0, 0]));
        let has = [true, false, false, true, false, true, false, false, false, false];
        assert_eq!(soft.has, has);
        assert!(!soft.parse(b"   CPU\n"));
    }
}
