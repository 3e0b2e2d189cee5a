//! The objects Processor (title index 238) and Processor Information.

use super::SystemSession;
use super::topology::Topology;
use crate::cpus::{Cpu, Times, Totals};
use crate::faults::{Faults, describe, is_denied, is_gone, unreadable};
use crate::files::{KeptFile, PidPath, Reader, decimal};
use crate::interrupts::{KINDS, Tally};
use crate::parse::number;
use crate::table::{PROCESSOR, PROCESSOR_INFORMATION, index_of};
use perfhive_engine::standard::{CounterValues, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::InstanceHead;

/// The title index of the counter Interrupts/sec, in Processor and in Processor Information.
pub(super) const INTERRUPTS: u32 = index_of!(PROCESSOR, "Interrupts/sec");
const CLOCK_INTERRUPTS: u32 = index_of!(PROCESSOR_INFORMATION, "Clock Interrupts/sec");
const FREQUENCY: u32 = index_of!(PROCESSOR_INFORMATION, "Processor Frequency");
const OF_MAXIMUM: u32 = index_of!(PROCESSOR_INFORMATION, "% of Maximum Frequency");
/// The title index of the counter of the first kind of soft interrupts; the indexes of the other
/// kinds follow in steps of 2.
const SOFT: u32 = index_of!(PROCESSOR_INFORMATION, "HI Soft Interrupts/sec");

/// The number of counts of a processor: interrupts, clock interrupts, and soft interrupts of each
/// kind.
const COUNTS: usize = 2 + KINDS.len();

/// The counters on request of Processor Information, with whether each is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    all: bool,
    clock: bool,
    soft: [bool; KINDS.len()],
    frequency: bool,
}

impl Extra {
    pub(super) fn asked(asked: impl Fn(u32) -> bool) -> Self {
        let mut soft = [false; KINDS.len()];
        for (counter, wanted) in (SOFT..).step_by(2).zip(&mut soft) {
            *wanted = asked(counter);
        }
        Self {
            all: asked(INTERRUPTS),
            clock: asked(CLOCK_INTERRUPTS),
            soft,
            frequency: asked(FREQUENCY) || asked(OF_MAXIMUM),
        }
    }

    /// Whether a wanted counter needs the file `interrupts`.
    pub(super) fn interrupts(self) -> bool {
        self.all || self.clock
    }
}

/// The state that Processor Information needs beyond that of Processor.
#[derive(Default)]
pub(super) struct Details {
    topology: Topology,
    nodes: Vec<Node>,
    frequencies: Vec<Frequency>,
    /// The processors of the node that is being written.
    cpus: Vec<Cpu>,
    /// The number and the counts of each processor of the node that is being written.
    counts: Vec<(u32, [u64; COUNTS])>,
}

/// A NUMA node with the totals over its processors.
struct Node {
    number: u32,
    totals: Totals,
    tally: Tally<COUNTS>,
}

/// The frequency of a processor in kHz.
struct Frequency {
    cpu: u32,
    file: KeptFile,
    /// The highest frequency; `None` if it is unknown.
    maximum: Option<u64>,
    current: Option<u64>,
}

impl SystemSession {
    pub(super) fn write_processors(
        &mut self,
        with_interrupts: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        if !self.stat.cpus.is_empty() {
            let mut row = CounterValues::new(&PROCESSOR);
            set_times(&mut row, &self.totals.mean);
            let mask = row.mask() | if with_interrupts { PROCESSOR.bits(INTERRUPTS) } else { 0 };
            let mut object = out.object(self.processor.template(mask)?)?;
            let mut values = [0; MOST];
            for (at, cpu) in self.stat.cpus.iter().enumerate() {
                row.clear();
                set_times(&mut row, &cpu.times);
                let counts = self.interrupts.tally.of(at, cpu.number);
                row.set_some(INTERRUPTS, counts.map(|[all, _]| *all));
                let mut digits = [0; 10];
                let name = decimal(cpu.number, &mut digits);
                let name = std::str::from_utf8(name).unwrap_or_default();
                object
                    .instance_prefix(&InstanceHead::named(name), row.values(mask, &mut values))?;
            }
            row.clear();
            set_times(&mut row, &self.totals.mean);
            let [all, _] = self.interrupts.tally.sums();
            row.set(INTERRUPTS, *all);
            let total = InstanceHead::named("_Total");
            object.instance_prefix(&total, row.values(mask, &mut values))?;
            object.finish()?;
        }
        self.faults.report(PROCESSOR.index, out);
        Ok(())
    }

    pub(super) fn write_information(
        &mut self,
        extra: Extra,
        has_interrupts: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        if !self.stat.cpus.is_empty() {
            self.details.topology.update(&self.stat.cpus, self.sys.as_mut(), &mut self.faults);
            let has_soft = extra.soft.contains(&true) && self.read_soft_interrupts();
            if extra.frequency {
                self.details.read_frequencies(&self.stat.cpus, self.sys.as_mut(), &mut self.faults);
            }
            self.write_nodes(extra, has_interrupts, has_soft, out)?;
        }
        self.faults.report(PROCESSOR_INFORMATION.index, out);
        Ok(())
    }

    fn read_soft_interrupts(&mut self) -> bool {
        match self.reader.system(c"softirqs", &mut self.files.softirqs) {
            Ok(text) => {
                let understood = self.soft_interrupts.parse(text);
                if !understood {
                    self.faults.object("softirqs: not understood");
                }
                understood
            }
            Err(error) => {
                // `softirqs` exists since Linux 2.6.32: on older kernels its absence is not a fault.
                if !is_gone(error) {
                    unreadable(c"softirqs", error, &mut self.faults);
                }
                false
            }
        }
    }

    fn write_nodes(
        &mut self,
        extra: Extra,
        has_interrupts: bool,
        has_soft: bool,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let object = &PROCESSOR_INFORMATION;
        let details = &mut self.details;
        let bits = |counter, is: bool| if is { object.bits(counter) } else { 0 };
        let mut row = CounterValues::new(object);
        set_details(&mut row, &self.totals.mean);
        let mut mask = row.mask()
            | bits(INTERRUPTS, has_interrupts && extra.all)
            | bits(CLOCK_INTERRUPTS, has_interrupts && extra.clock && self.interrupts.has_clock);
        let kinds = extra.soft.into_iter().zip(self.soft_interrupts.has);
        for (counter, (asked, has)) in (SOFT..).step_by(2).zip(kinds) {
            mask |= bits(counter, has_soft && asked && has);
        }
        if extra.frequency {
            let all = |has: fn(&Frequency) -> bool| details.frequencies.iter().any(has);
            let current = all(|known| known.current.is_some());
            mask |= bits(FREQUENCY, current);
            mask |= bits(OF_MAXIMUM, current && all(|known| known.maximum.is_some()));
        }
        let mut object = out.object(self.information.template(mask)?)?;
        let mut values = [0; MOST];

        for at in 0..self.stat.cpus.len() {
            let number = details.topology.node(at);
            if let Err(place) = details.nodes.binary_search_by_key(&number, |node| node.number) {
                let (totals, tally) = (Totals::default(), Tally::default());
                details.nodes.insert(place, Node { number, totals, tally });
            }
        }
        for node in &mut details.nodes {
            details.cpus.clear();
            details.counts.clear();
            let mut speed = Mean::default();
            let of_node = |(at, _): &(usize, &Cpu)| details.topology.node(*at) == node.number;
            for (at, cpu) in self.stat.cpus.iter().enumerate().filter(of_node) {
                let interrupts = self.interrupts.tally.of(at, cpu.number);
                let soft = self.soft_interrupts.tally.of(at, cpu.number);
                row.clear();
                set_details(&mut row, &cpu.times);
                if let Some([all, clock]) = interrupts {
                    row.set(INTERRUPTS, *all);
                    row.set(CLOCK_INTERRUPTS, *clock);
                }
                if let Some(soft) = soft {
                    set_soft(&mut row, soft);
                }
                let known = details.frequencies.get(at).filter(|known| known.cpu == cpu.number);
                if let Some(Frequency { current: Some(current), maximum, .. }) = known {
                    set_frequency(&mut row, *current, *maximum);
                    speed.add(*current, *maximum);
                }
                let mut name = [0; 32];
                let name = pair(node.number, cpu.number, &mut name);
                object
                    .instance_prefix(&InstanceHead::named(name), row.values(mask, &mut values))?;
                details.cpus.push(*cpu);
                details.counts.push((cpu.number, joined(interrupts, soft)));
            }
            node.totals.update(&details.cpus);
            node.tally.update(&details.counts);
            if details.cpus.is_empty() {
                continue;
            }
            row.clear();
            set_details(&mut row, &node.totals.mean);
            set_counts(&mut row, node.tally.sums());
            speed.set(&mut row);
            let mut name = [0; 32];
            let name = total(node.number, &mut name);
            object.instance_prefix(&InstanceHead::named(name), row.values(mask, &mut values))?;
        }
        row.clear();
        set_details(&mut row, &self.totals.mean);
        let sums =
            joined(Some(self.interrupts.tally.sums()), Some(self.soft_interrupts.tally.sums()));
        set_counts(&mut row, &sums);
        let mut speed = Mean::default();
        for known in &details.frequencies {
            if let Some(current) = known.current {
                speed.add(current, known.maximum);
            }
        }
        speed.set(&mut row);
        object.instance_prefix(&InstanceHead::named("_Total"), row.values(mask, &mut values))?;
        object.finish()?;
        Ok(())
    }
}

impl Details {
    /// Reads the frequency of each processor. A frequency that its file does not give now is
    /// unknown.
    fn read_frequencies(&mut self, cpus: &[Cpu], sys: Option<&mut Reader>, faults: &mut Faults) {
        let Some(sys) = sys else {
            return;
        };
        let same = self.frequencies.iter().map(|f| f.cpu).eq(cpus.iter().map(|cpu| cpu.number));
        if !same {
            self.frequencies.clear();
            for cpu in cpus {
                let mut path = path_of(cpu.number);
                let length = path.len();
                let maximum = match sys.once_here(path.file(length, b"cpuinfo_max_freq")) {
                    Ok(()) => number(sys.text().trim_ascii_end()).filter(|maximum| *maximum > 0),
                    Err(_) => None,
                };
                let (cpu, file) = (cpu.number, KeptFile::default());
                self.frequencies.push(Frequency { cpu, file, maximum, current: None });
            }
        }
        for known in &mut self.frequencies {
            let mut path = path_of(known.cpu);
            let length = path.len();
            let path = path.file(length, b"scaling_cur_freq");
            known.current = match sys.kept_at(path, &mut known.file, false) {
                // The driver writes `<unknown>` where it has no value.
                Ok(()) => number(sys.text().trim_ascii_end()),
                Err(error) => {
                    // An open file of a device that was removed gives an error.
                    let is_off =
                        matches!(error, rustix::io::Errno::NODEV | rustix::io::Errno::AGAIN);
                    if !is_gone(error) && !is_denied(error) && !is_off {
                        let cpu = known.cpu;
                        let why = describe(error);
                        faults.instance(cpu, format_args!("scaling_cur_freq: {why}"));
                    }
                    None
                }
            };
        }
    }
}

fn path_of(cpu: u32) -> PidPath {
    let mut path = PidPath::numbered(b"devices/system/cpu/cpu", cpu);
    path.push(b"cpufreq/");
    path
}

/// The means of the frequencies of several processors, and of their shares of the maximum.
#[derive(Default)]
struct Mean {
    current: u64,
    count: u64,
    /// The sum of the shares of the maximum, in thousandths of a percent.
    share: u64,
    shares: u64,
}

impl Mean {
    fn add(&mut self, current: u64, maximum: Option<u64>) {
        self.current = self.current.saturating_add(current);
        self.count += 1;
        if let Some(maximum) = maximum.filter(|maximum| *maximum > 0) {
            self.share = self.share.saturating_add(current.saturating_mul(100_000) / maximum);
            self.shares += 1;
        }
    }

    fn set(&self, row: &mut CounterValues) {
        row.set_some(FREQUENCY, self.current.checked_div(self.count).map(|khz| khz / 1000));
        row.set_some(OF_MAXIMUM, self.share.checked_div(self.shares).map(|share| share / 1000));
    }
}

fn set_frequency(row: &mut CounterValues, current: u64, maximum: Option<u64>) {
    let mut one = Mean::default();
    one.add(current, maximum);
    one.set(row);
}

/// The counts of interrupts and of soft interrupts as one array, with 0 for missing counts.
fn joined(interrupts: Option<&[u64; 2]>, soft: Option<&[u64; KINDS.len()]>) -> [u64; COUNTS] {
    let mut counts = [0; COUNTS];
    let both = interrupts.into_iter().flatten();
    // If `interrupts` is missing, the soft interrupts keep their positions.
    for (place, count) in counts.iter_mut().zip(both) {
        *place = *count;
    }
    for (place, count) in counts.iter_mut().skip(2).zip(soft.into_iter().flatten()) {
        *place = *count;
    }
    counts
}

fn set_counts(row: &mut CounterValues, counts: &[u64; COUNTS]) {
    let [all, clock, soft @ ..] = counts;
    row.set(INTERRUPTS, *all);
    row.set(CLOCK_INTERRUPTS, *clock);
    set_soft(row, soft);
}

fn set_soft(row: &mut CounterValues, counts: &[u64; KINDS.len()]) {
    for (counter, count) in (SOFT..).step_by(2).zip(counts) {
        row.set(counter, *count);
    }
}

/// The text `NODE,CPU`, written into `out`.
fn pair(node: u32, cpu: u32, out: &mut [u8; 32]) -> &str {
    let mut digits = [0; 10];
    join(node, decimal(cpu, &mut digits), out)
}

/// The text `NODE,_Total`, written into `out`.
fn total(node: u32, out: &mut [u8; 32]) -> &str {
    join(node, b"_Total", out)
}

fn join<'a>(node: u32, end: &[u8], out: &'a mut [u8; 32]) -> &'a str {
    let mut digits = [0; 10];
    let text = decimal(node, &mut digits).iter().chain(b",").chain(end);
    let mut length = 0;
    for (place, byte) in out.iter_mut().zip(text) {
        *place = *byte;
        length += 1;
    }
    out.get(..length).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
}

fn set_times(row: &mut CounterValues, times: &Times) {
    row.set(index_of!(PROCESSOR, "% Processor Time"), times.idle);
    row.set(index_of!(PROCESSOR, "% User Time"), times.user);
    row.set(index_of!(PROCESSOR, "% Privileged Time"), times.privileged);
    row.set(index_of!(PROCESSOR, "% Idle Time"), times.idle);
    row.set_some(index_of!(PROCESSOR, "% Interrupt Time"), times.interrupt);
    row.set_some(index_of!(PROCESSOR, "% DPC Time"), times.soft_interrupt);
}

fn set_details(row: &mut CounterValues, times: &Times) {
    set_times(row, times);
    row.set(
        index_of!(PROCESSOR_INFORMATION, "% Priority Time"),
        times.idle.saturating_add(times.nice),
    );
    row.set(index_of!(PROCESSOR_INFORMATION, "% Low Priority Time"), times.nice);
    row.set_some(index_of!(PROCESSOR_INFORMATION, "% IO Wait Time"), times.waiting);
    row.set_some(index_of!(PROCESSOR_INFORMATION, "% Steal Time"), times.stolen);
    row.set_some(index_of!(PROCESSOR_INFORMATION, "% Guest Time"), times.guest);
}
