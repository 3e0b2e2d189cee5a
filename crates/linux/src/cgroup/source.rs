//! The file of a group from which each counter is read, and the file's format.

pub(super) mod version_1;

use super::file::File;
use super::group::{Group, GroupReader};
use crate::faults::Text;
use crate::parse::{Words, number, whole_lines};
use crate::table::{self, CGROUP_IO, CGROUP_MEMORY, CGROUP_PRESSURE, index_of};
use perfhive_engine::standard::CounterValues;

/// A counter, the word before its number in the file, and the conversion of the number to the
/// counter's unit.
type Field = (u32, &'static [u8], Scale);

/// The conversion of a file's number to the unit of a counter.
type Scale = fn(u64) -> u64;

/// The format of a file, with the counters that are read from it.
pub(super) enum FileFormat {
    /// Lines, each with a word and a number.
    Lines(&'static [Field]),
    /// One number; the text `max` gives no value.
    Single(u32),
    /// One number; the number by which version 1 says "no limit" ([`NO_LIMIT`]) gives no value.
    Limit(u32),
    /// One number, from which one or more counters are made; the text `max` gives no value.
    Number(&'static [(u32, Scale)]),
    /// A quota and a period; the value is their quotient in percent of one processor; the quota
    /// `max` gives no value.
    Quota(u32),
    /// A line of `word=number` for each device; the numbers of the same word are summed.
    Devices(&'static [Field]),
    /// The lines `some` and `full`, each with `total=number`.
    Pressure(&'static [Field]),
    /// Any lines; the number of lines is the value.
    Count(u32),
}

/// A file, and the counters that are read from it.
pub(super) struct Source {
    pub(super) file: File,
    form: FileFormat,
}

fn same(number: u64) -> u64 {
    number
}

/// Converts microseconds to 100 ns units.
fn micros(number: u64) -> u64 {
    number.saturating_mul(10)
}

/// Converts microseconds to milliseconds.
fn millis(number: u64) -> u64 {
    number / 1000
}

/// Converts nanoseconds to 100 ns units.
fn nanos(number: u64) -> u64 {
    number / 100
}

/// Converts nanoseconds to milliseconds.
fn nano_millis(number: u64) -> u64 {
    number / 1_000_000
}

/// Converts ticks of 1/100 s (`USER_HZ`) to 100 ns units.
fn ticks(number: u64) -> u64 {
    number.saturating_mul(100_000)
}

/// Converts ticks of 1/100 s to milliseconds.
fn tick_millis(number: u64) -> u64 {
    number.saturating_mul(10)
}

/// The number from which on a limit of version 1 means "no limit". The kernel then writes the
/// largest number of bytes that is a whole number of pages, and pages have different sizes.
const NO_LIMIT: u64 = i64::MAX as u64 - 0xffff;

const CPU_TIMES: [Field; 3] = [
    (index_of!(table::CGROUP, "% Processor Time"), b"usage_usec", micros),
    (index_of!(table::CGROUP, "% User Time"), b"user_usec", micros),
    (index_of!(table::CGROUP, "% Privileged Time"), b"system_usec", micros),
];
const THROTTLING: [Field; 3] = [
    (index_of!(table::CGROUP, "CPU Periods/sec"), b"nr_periods", same),
    (index_of!(table::CGROUP, "CPU Throttled Periods/sec"), b"nr_throttled", same),
    (index_of!(table::CGROUP, "% CPU Throttled Time"), b"throttled_usec", micros),
];
const CPU_STAT: Source = Source {
    file: File::CpuStat,
    form: FileFormat::Lines(&{
        let ([a, b, c], [d, e, f]) = (CPU_TIMES, THROTTLING);
        [a, b, c, d, e, f]
    }),
};
const TASKS: Source =
    Source { file: File::PidsCurrent, form: FileFormat::Single(index_of!(table::CGROUP, "Tasks")) };
const CPU_MAX: Source =
    Source { file: File::CpuMax, form: FileFormat::Quota(index_of!(table::CGROUP, "CPU Limit")) };
const CURRENT: Source = Source {
    file: File::MemoryCurrent,
    form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Memory Bytes")),
};
const SWAP: Source = Source {
    file: File::SwapCurrent,
    form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Swap Bytes")),
};
const LIMIT: Source = Source {
    file: File::MemoryMax,
    form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Memory Limit Bytes")),
};
const DEVICES: Source = Source {
    file: File::IoStat,
    form: FileFormat::Devices(&[
        (index_of!(CGROUP_IO, "Storage Read Bytes/sec"), b"rbytes", same),
        (index_of!(CGROUP_IO, "Storage Write Bytes/sec"), b"wbytes", same),
        (index_of!(CGROUP_IO, "Storage Reads/sec"), b"rios", same),
        (index_of!(CGROUP_IO, "Storage Writes/sec"), b"wios", same),
        (index_of!(CGROUP_IO, "Discarded Bytes/sec"), b"dbytes", same),
        (index_of!(CGROUP_IO, "Discards/sec"), b"dios", same),
    ]),
};

pub(super) const CGROUP: &[Source] = &[
    CPU_STAT,
    Source {
        file: File::Stat,
        form: FileFormat::Lines(&[(
            index_of!(table::CGROUP, "Descendants"),
            b"nr_descendants",
            same,
        )]),
    },
    Source { file: File::Procs, form: FileFormat::Count(index_of!(table::CGROUP, "Processes")) },
    TASKS,
    Source {
        file: File::Events,
        form: FileFormat::Lines(&[
            (index_of!(table::CGROUP, "Populated"), b"populated", same),
            (index_of!(table::CGROUP, "Frozen"), b"frozen", same),
        ]),
    },
    Source {
        file: File::CpuWeight,
        form: FileFormat::Single(index_of!(table::CGROUP, "CPU Weight")),
    },
    Source {
        file: File::PidsMax,
        form: FileFormat::Single(index_of!(table::CGROUP, "Tasks Limit")),
    },
    CPU_MAX,
];

pub(super) const MEMORY: &[Source] = &[
    Source {
        file: File::MemoryStat,
        form: FileFormat::Lines(&[
            (index_of!(CGROUP_MEMORY, "Anonymous Bytes"), b"anon", same),
            (index_of!(CGROUP_MEMORY, "File Bytes"), b"file", same),
            (index_of!(CGROUP_MEMORY, "Shared Memory Bytes"), b"shmem", same),
            (index_of!(CGROUP_MEMORY, "Mapped File Bytes"), b"file_mapped", same),
            (index_of!(CGROUP_MEMORY, "Dirty File Bytes"), b"file_dirty", same),
            (index_of!(CGROUP_MEMORY, "Writeback File Bytes"), b"file_writeback", same),
            (index_of!(CGROUP_MEMORY, "Socket Bytes"), b"sock", same),
            (index_of!(CGROUP_MEMORY, "Slab Bytes"), b"slab", same),
            (index_of!(CGROUP_MEMORY, "Kernel Bytes"), b"kernel", same),
            (index_of!(CGROUP_MEMORY, "Page Faults/sec"), b"pgfault", same),
            (index_of!(CGROUP_MEMORY, "Major Faults/sec"), b"pgmajfault", same),
        ]),
    },
    CURRENT,
    SWAP,
    Source {
        file: File::MemoryEvents,
        form: FileFormat::Lines(&[
            (index_of!(CGROUP_MEMORY, "High Events"), b"high", same),
            (index_of!(CGROUP_MEMORY, "Limit Events"), b"max", same),
            (index_of!(CGROUP_MEMORY, "Out of Memory Events"), b"oom", same),
            (index_of!(CGROUP_MEMORY, "Out of Memory Kills"), b"oom_kill", same),
        ]),
    },
    Source {
        file: File::MemoryPeak,
        form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Memory Peak Bytes")),
    },
    LIMIT,
    Source {
        file: File::MemoryHigh,
        form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Memory High Limit Bytes")),
    },
    Source {
        file: File::SwapMax,
        form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Swap Limit Bytes")),
    },
];

pub(super) const IO: &[Source] = &[DEVICES];

pub(super) const PRESSURE: &[Source] = &[
    Source {
        file: File::CpuPressure,
        form: FileFormat::Pressure(&[
            (index_of!(CGROUP_PRESSURE, "% Some CPU Pressure"), b"some", micros),
            (index_of!(CGROUP_PRESSURE, "% Full CPU Pressure"), b"full", micros),
        ]),
    },
    Source {
        file: File::MemoryPressure,
        form: FileFormat::Pressure(&[
            (index_of!(CGROUP_PRESSURE, "% Some Memory Pressure"), b"some", micros),
            (index_of!(CGROUP_PRESSURE, "% Full Memory Pressure"), b"full", micros),
        ]),
    },
    Source {
        file: File::IoPressure,
        form: FileFormat::Pressure(&[
            (index_of!(CGROUP_PRESSURE, "% Some IO Pressure"), b"some", micros),
            (index_of!(CGROUP_PRESSURE, "% Full IO Pressure"), b"full", micros),
        ]),
    },
    Source {
        file: File::IrqPressure,
        form: FileFormat::Pressure(&[(
            index_of!(CGROUP_PRESSURE, "% Full IRQ Pressure"),
            b"full",
            micros,
        )]),
    },
];

pub(super) const CONTAINER: &[Source] = &[CPU_STAT, CURRENT, TASKS, DEVICES, SWAP, LIMIT, CPU_MAX];

const PAGES: u32 = index_of!(table::JOB_OBJECT, "Pages/Sec");
const JOB_TIMES: [u32; 3] = [
    index_of!(table::JOB_OBJECT, "Current % Processor Time"),
    index_of!(table::JOB_OBJECT, "Current % User Mode Time"),
    index_of!(table::JOB_OBJECT, "Current % Kernel Mode Time"),
];
const JOB_TOTALS: [u32; 3] = [
    index_of!(table::JOB_OBJECT, "Total mSec - Processor"),
    index_of!(table::JOB_OBJECT, "Total mSec - User Mode"),
    index_of!(table::JOB_OBJECT, "Total mSec - Kernel Mode"),
];

pub(super) const JOB: &[Source] = &[
    Source {
        file: File::CpuStat,
        form: FileFormat::Lines(&[
            (JOB_TIMES[0], b"usage_usec", micros),
            (JOB_TIMES[1], b"user_usec", micros),
            (JOB_TIMES[2], b"system_usec", micros),
            (JOB_TOTALS[0], b"usage_usec", millis),
            (JOB_TOTALS[1], b"user_usec", millis),
            (JOB_TOTALS[2], b"system_usec", millis),
        ]),
    },
    Source { file: File::MemoryStat, form: FileFormat::Lines(&[(PAGES, b"pgfault", same)]) },
];

impl Source {
    /// The title indexes of the counters that are read from the file.
    pub(super) fn counters(&self) -> impl Iterator<Item = u32> + '_ {
        let (fields, numbers, single) = match &self.form {
            FileFormat::Lines(fields)
            | FileFormat::Devices(fields)
            | FileFormat::Pressure(fields) => (*fields, &[][..], None),
            FileFormat::Number(numbers) => (&[][..], *numbers, None),
            FileFormat::Single(counter)
            | FileFormat::Limit(counter)
            | FileFormat::Quota(counter)
            | FileFormat::Count(counter) => (&[][..], &[][..], Some(*counter)),
        };
        let fields = fields.iter().map(|(counter, ..)| *counter);
        fields.chain(numbers.iter().map(|(counter, _)| *counter)).chain(single)
    }

    /// Reads the file of a group and sets the counters in `row` that the file has. Damage of the file
    /// is a fault.
    pub(super) fn fill(
        &self,
        reader: &mut GroupReader,
        group: &mut Group,
        row: &mut CounterValues,
    ) {
        let Some(text) = reader.read(group, self.file) else {
            return;
        };
        let damage = match &self.form {
            FileFormat::Lines(fields) => lines(text, fields, row),
            FileFormat::Single(counter) => single(text, &[(*counter, same)], row),
            FileFormat::Limit(counter) => limit(text, *counter, row),
            FileFormat::Number(counters) => single(text, counters, row),
            FileFormat::Quota(counter) => quota(text, *counter, row),
            FileFormat::Devices(fields) => devices(text, fields, row),
            FileFormat::Pressure(fields) => pressure(text, fields, group.inode, row),
            FileFormat::Count(counter) => count(text, *counter, row),
        };
        if let Err(Damage { word }) = damage {
            match word {
                b"" => reader.fault(group, self.file, "not understood"),
                word => {
                    reader.fault(group, self.file, format_args!("{} has no number", Text(word)))
                }
            }
        }
    }
}

/// The error of a text that cannot be read in full. The values that could be read are set.
struct Damage {
    /// The word that has no number; empty for any other damage.
    word: &'static [u8],
}

const DAMAGE: Damage = Damage { word: b"" };

/// Sets in `row` the counters of a text with the format [`FileFormat::Lines`]. A word without a
/// number is damage; a missing word is not: this kernel does not have the number.
fn lines(text: &[u8], fields: &'static [Field], row: &mut CounterValues) -> Result<(), Damage> {
    let (lines, cut) = whole_lines(text);
    let mut damage = if cut || text.is_empty() { Err(DAMAGE) } else { Ok(()) };
    for line in lines {
        for (counter, word, scale) in fields {
            let Some(rest) = line.strip_prefix(*word) else {
                continue;
            };
            if !rest.first().is_none_or(u8::is_ascii_whitespace) {
                continue;
            }
            match Words::new(rest).number() {
                Some(value) => row.set(*counter, scale(value)),
                None => damage = Err(Damage { word }),
            }
        }
    }
    damage
}

fn single(text: &[u8], counters: &[(u32, Scale)], row: &mut CounterValues) -> Result<(), Damage> {
    match text.strip_suffix(b"\n") {
        Some(b"max") => Ok(()),
        Some(digits) => {
            let number = number(digits).ok_or(DAMAGE)?;
            counters.iter().for_each(|(counter, scale)| row.set(*counter, scale(number)));
            Ok(())
        }
        None => Err(DAMAGE),
    }
}

fn limit(text: &[u8], counter: u32, row: &mut CounterValues) -> Result<(), Damage> {
    let number = text.strip_suffix(b"\n").and_then(number).ok_or(DAMAGE)?;
    row.set_some(counter, Some(number).filter(|number| *number < NO_LIMIT));
    Ok(())
}

/// Sets in `row` the counter of a text with the format [`FileFormat::Quota`]: percent of one
/// processor, rounded down. The quota `max` sets nothing; another text than a quota and a period is
/// damage.
fn quota(text: &[u8], counter: u32, row: &mut CounterValues) -> Result<(), Damage> {
    let mut words = Words::new(text);
    let quota = words.next_word().ok_or(DAMAGE)?;
    if quota != b"max" {
        let (quota, period) = (number(quota).ok_or(DAMAGE)?, words.number().ok_or(DAMAGE)?);
        let percent = quota.saturating_mul(100).checked_div(period).ok_or(DAMAGE)?;
        row.set(counter, percent);
    }
    Ok(())
}

/// Sets in `row` the counters of a text with the format [`FileFormat::Devices`]. A device without
/// input or output has no words, and on some kernels no line end either. So the words of the whole
/// text are summed, without regard to lines. A text without any number gives 0.
fn devices(text: &[u8], fields: &'static [Field], row: &mut CounterValues) -> Result<(), Damage> {
    let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if !last.is_empty() && (!last.ends_with(b" ") || last.contains(&b'=')) {
        return Err(DAMAGE);
    }
    // Without any number nothing was read or written so far.
    let is_idle = !text.contains(&b'=');
    for (counter, word, _) in fields {
        let mut sum = is_idle.then_some(0u64);
        let mut words = Words::new(text);
        while let Some(found) = words.next_word() {
            let rest = found.strip_prefix(*word).and_then(|rest| rest.strip_prefix(b"="));
            if let Some(digits) = rest {
                let more = number(digits).ok_or(Damage { word })?;
                sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
        row.set_some(*counter, sum);
    }
    Ok(())
}

/// The inode of the root of all groups of this machine. The root that a container sees has another
/// inode.
const ROOT: u64 = 1;
/// The title index of the counter % Full CPU Pressure, which the root does not have: for a whole
/// machine the kernel calls it undefined and prints zeros.
const FULL_CPU: u32 = 104_404;

fn pressure(
    text: &[u8],
    fields: &'static [Field],
    inode: u64,
    row: &mut CounterValues,
) -> Result<(), Damage> {
    let (lines, cut) = whole_lines(text);
    let mut damage = if cut || text.is_empty() { Err(DAMAGE) } else { Ok(()) };
    for line in lines {
        let mut words = Words::new(line);
        let first = words.next_word();
        let Some((counter, word, scale)) = fields.iter().find(|field| Some(field.1) == first)
        else {
            continue;
        };
        if inode == ROOT && *counter == FULL_CPU {
            continue;
        }
        let mut total = None;
        while let Some(word) = words.next_word() {
            total = total.or(word.strip_prefix(b"total=").and_then(number));
        }
        match total {
            Some(total) => row.set(*counter, scale(total)),
            None => damage = Err(Damage { word }),
        }
    }
    damage
}

fn count(text: &[u8], counter: u32, row: &mut CounterValues) -> Result<(), Damage> {
    let (lines, cut) = whole_lines(text);
    if cut {
        return Err(DAMAGE);
    }
    row.set(counter, lines.count() as u64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use perfhive_engine::standard::MOST;

    #[test]
    fn every_counter_has_one_source() {
        for (object, sources) in [
            (&table::CGROUP, CGROUP),
            (&table::CGROUP_MEMORY, MEMORY),
            (&table::CGROUP_IO, IO),
            (&table::CGROUP_PRESSURE, PRESSURE),
            (&table::CONTAINER, CONTAINER),
            (&table::JOB_OBJECT, JOB),
        ] {
            for counter in object.counters.iter().filter(|counter| counter.index != 104_020) {
                let of = |source: &&Source| source.counters().any(|found| found == counter.index);
                assert_eq!(
                    sources.iter().filter(of).count(),
                    1,
                    "{} {}",
                    object.name,
                    counter.index
                );
            }
        }
        assert_eq!(File::OomControl as usize + 1, File::COUNT);
    }

    #[test]
    fn the_root_has_no_full_pressure_on_processors() {
        let FileFormat::Pressure(fields) = PRESSURE[0].form else { panic!() };
        let text = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n\
            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        let mut row = CounterValues::new(&table::CGROUP_PRESSURE);
        let mut values = [0; MOST];
        let mut read = |inode| {
            row.clear();
            assert!(pressure(text, fields, inode, &mut row).is_ok());
            row.values(row.mask(), &mut values).to_vec()
        };
        assert_eq!(read(ROOT), [30]);
        assert_eq!(read(2), [30, 0]);
    }

    #[test]
    fn counts_of_all_devices_are_summed() {
        let FileFormat::Devices(fields) = DEVICES.form else { panic!() };
        let mut row = CounterValues::new(&table::CGROUP_IO);
        let mut values = [0; MOST];
        let mut read = |text: &[u8]| {
            row.clear();
            let understood = devices(text, fields, &mut row).is_ok();
            (understood, row.values(row.mask(), &mut values).to_vec())
        };
        let text = b"8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n\
            253:1 8:16 rbytes=10 wbytes=20 rios=30 wios=40 dbytes=50 dios=60\n7:0 \n";
        assert_eq!(read(text), (true, vec![11, 22, 33, 44, 55, 66]));
        assert_eq!(read(b""), (true, vec![0; 6]));
        assert_eq!(read(b"8:0 rbytes=1 wbytes=2 rios=3 wios=4\n"), (true, vec![1, 2, 3, 4]));
        assert_eq!(read(b"8:0 rbytes=1 wbytes=x rios=3\n"), (false, vec![1]));
        assert_eq!(read(b"8:0 rbytes=1"), (false, vec![]));
        // Devices without input or output, with and without line ends.
        for idle in [&b"8:0 \n"[..], b"8:0\n", b"8:0 ", b"8:0 8:16 ", b"8:0 \n8:16 "] {
            assert_eq!(read(idle), (true, vec![0; 6]), "{idle:?}");
        }
        assert_eq!(read(b"8:0 rbytes=1 wbytes=2\n8:16 "), (true, vec![1, 2]));
        assert_eq!(read(b"8:0 rbytes=1 "), (false, vec![]));
        assert_eq!(read(b"8:0 rby"), (false, vec![]));
    }
}
