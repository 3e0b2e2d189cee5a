//! The object System 2, and the machine's time.
//!
//! `SYSTEM_PERFORMANCE_INFORMATION` has had 312 bytes since Windows 2000; later systems append to
//! it. These fields are read:
//!
//! | field | offset | bytes |
//! |---|---|---|
//! | `IoReadTransferCount`, `IoWriteTransferCount`, `IoOtherTransferCount` | 8, 16, 24 | 8 |
//! | `IoReadOperationCount`, `IoWriteOperationCount`, `IoOtherOperationCount` | 32, 36, 40 | 4 |
//! | `ContextSwitches`, `SystemCalls` | 296, 308 | 4 |
//!
//! `SYSTEM_TIMEOFDAY_INFORMATION` has 48 bytes and begins with `BootTime` and
//! `CurrentTime`, both FILETIMEs; `SYSTEM_EXCEPTION_INFORMATION` is four counts of 32 bits:
//! alignment fixups, exceptions, floating emulations, byte and word emulations.

use super::information::{Buffer, Class, NoInformation, SystemInformation, u32_at, u64_at};
use super::table::SYSTEM;
use super::walk::{Damage, Processes};
use perfhive_engine::standard::{CounterValues, Layouts, write_single};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{FileTime, TitleIndex};

/// The time of the machine's start and the present time, both as FILETIMEs of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) boot: u64,
    pub(super) now: u64,
}

impl Time {
    pub(super) fn ask(
        buffer: &mut Buffer,
        information: &dyn SystemInformation,
    ) -> Result<Self, NoInformation> {
        let bytes = buffer.ask_for(information, Class::TimeOfDay, 48)?;
        let at = |place| u64_at(bytes, place).unwrap_or(0);
        Ok(Self { boot: at(0), now: at(8) })
    }

    /// The start time of a process as a FILETIME, from the `start` in its entry. Idle and System
    /// have 0 there, and started with the machine.
    pub(super) fn start(self, start: u64) -> u64 {
        if start == 0 { self.boot } else { start }
    }
}

/// Counts for the whole system, from the list of processes: the numbers of processes, of threads
/// and of ready threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Population {
    processes: u64,
    threads: u64,
    ready: u64,
    /// Whether any thread is running. If none is, this system does not fill the states of threads,
    /// and `ready` means nothing.
    has_states: bool,
}

/// Windows' number for the state of a running thread.
const RUNNING: u32 = 2;
/// Windows' numbers for the two states of a thread that is ready and waits for a processor.
const READY: [u32; 2] = [1, 7];

pub(super) struct Writer {
    layouts: Layouts,
    row: CounterValues,
}

impl Writer {
    pub(super) fn new(layouts: Layouts) -> Self {
        Self { layouts, row: CounterValues::new(&SYSTEM) }
    }

    pub(super) fn write(
        &mut self,
        information: &dyn SystemInformation,
        buffer: &mut Buffer,
        list: Result<Processes<'_>, NoInformation>,
        time: Result<Time, NoInformation>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let system = TitleIndex(SYSTEM.index);
        let row = &mut self.row;
        row.clear();
        match list {
            Ok(list) => match population(list) {
                Ok(population) => {
                    row.set(248, population.processes);
                    row.set(250, population.threads);
                    row.set_some(44, population.has_states.then_some(population.ready));
                }
                Err(damage) => out.fault(system, None, damage),
            },
            Err(why) => out.fault(system, None, why),
        }
        match buffer.ask_for(information, Class::Performance, 312) {
            Ok(bytes) => set_counts(bytes, row),
            Err(why) => out.fault(system, None, why),
        }
        // Some systems lack the class and its counters.
        if let Ok(bytes) = buffer.ask_for(information, Class::Exception, 16) {
            for (counter, at) in [(686, 0), (688, 4), (690, 8)] {
                row.set_some(counter, u32_at(bytes, at).map(u64::from));
            }
        }
        let clock = match time {
            Ok(time) => {
                row.set(674, time.boot);
                Some(FileTime(time.now as i64))
            }
            Err(why) => {
                out.fault(system, None, why);
                None
            }
        };
        if row.mask() != 0 {
            write_single(&mut self.layouts, row, clock, out)?;
        }
        Ok(())
    }
}

/// Sets the counts of the whole system in `row`, from the bytes of `SystemPerformanceInformation`.
/// Counts of a running machine are never 0: a 0 (for reads, writes and other operations: three
/// times 0) means that the system does not fill the field, and its counter is not set.
fn set_counts(bytes: &[u8], row: &mut CounterValues) {
    let short = |at| u64::from(u32_at(bytes, at).unwrap_or(0));
    let long = |at| u64_at(bytes, at).unwrap_or(0);
    let [reads, writes, others] = [short(32), short(36), short(40)];
    if reads | writes | others != 0 {
        row.set(10, reads);
        row.set(12, writes);
        row.set(14, others);
        row.set(16, long(8));
        row.set(18, long(16));
        row.set(20, long(24));
        // 32 bits wide, as its parts.
        row.set(406, reads.wrapping_add(writes) & u64::from(u32::MAX));
    }
    for (counter, at) in [(146, 296), (150, 308)] {
        row.set_some(counter, Some(short(at)).filter(|count| *count != 0));
    }
}

/// The numbers of processes, threads and ready threads in the list; threads of Idle are not counted
/// as ready. An error if the list is damaged.
fn population(list: Processes<'_>) -> Result<Population, Damage> {
    let mut population = Population::default();
    for process in list {
        let process = process?;
        population.processes += 1;
        population.threads += u64::from(process.thread_count);
        for thread in process.threads {
            population.has_states |= thread.state == RUNNING;
            let waits = process.id != 0 && READY.contains(&thread.state);
            population.ready += u64::from(waits);
        }
    }
    Ok(population)
}
