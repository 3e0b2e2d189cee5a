//! The object Process 230, from the list of processes.

use super::layout::{Digits, Filled, pick};
use super::system::Time;
use super::table::PROCESS;
use super::walk::{Process, Processes};
use perfhive_engine::standard::{Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{FileTime, InstanceHead, NameRef, TitleIndex};

/// The number of counters of Process in its table.
const COUNTERS: usize = 28;
/// The counters of `_Total`, as bits by position in the table: all but the priority.
const COMMON: u64 = (1 << (COUNTERS - 1)) - 1;
/// The counters that every process has, as bits by position in the table: times, process IDs and
/// the number of threads.
const ALWAYS: u64 = 0x7F;

/// The position in the table of the counter Elapsed Time, which `_Total` does not sum.
const ELAPSED: usize = 3;
/// The position in the table of the counter ID Process, which `_Total` does not sum.
const ID: usize = 4;
/// The position in the table of the counter Creating Process ID, which `_Total` does not sum.
const PARENT: usize = 5;

/// The position of `_Total` among the instances of Process, where it is the parent of Thread's
/// `_Total`; `None` if it was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) total: Option<u32>,
}

pub(super) struct Writer {
    layouts: Layouts,
    filled: Filled,
}

impl Writer {
    pub(super) fn new(layouts: Layouts) -> Self {
        Self { layouts, filled: Filled::new(ALWAYS, 0) }
    }

    pub(super) fn write(
        &mut self,
        list: Processes<'_>,
        time: Time,
        out: &mut ObjectWriter<'_>,
    ) -> Result<Places, ProviderError> {
        for process in list.clone().flatten() {
            self.filled.see(&values(&process, time));
        }
        let mask = self.filled.mask();
        let mut damage = None;
        let mut total = [0u64; COUNTERS];
        let mut row = [0; MOST];
        let mut object = out.object(self.layouts.template(mask)?)?;
        for process in list {
            let process = match process {
                Ok(process) => process,
                Err(found) => {
                    damage = Some(found);
                    break;
                }
            };
            let values = values(&process, time);
            for (sum, value) in total.iter_mut().zip(values) {
                *sum = sum.wrapping_add(value);
            }
            let digits = Digits::of(process.id);
            let head =
                InstanceHead { name: name(&process, &digits), unique_id: None, parent: None };
            object.instance(&head, pick(&fit(values), mask, &mut row))?;
        }
        // A sum over a part of the processes would be a wrong number.
        let mut places = Places { total: None };
        if damage.is_none() {
            total[ELAPSED] = time.now;
            (total[ID], total[PARENT]) = (0, 0);
            places.total = Some(object.instance_count());
            let values = pick(&fit(total), mask & COMMON, &mut row);
            object.instance_prefix(&InstanceHead::named("_Total"), values)?;
        }
        object.clock(time.now as i64, FileTime::PER_SECOND).finish()?;
        if let Some(damage) = damage {
            out.fault(TitleIndex(PROCESS.index), None, damage);
        }
        Ok(places)
    }
}

/// The values of a process's counters, in the order of the table.
fn values(process: &Process<'_>, time: Time) -> [u64; COUNTERS] {
    let memory = &process.memory;
    let [reads, writes, others, read, written, other] = process.io;
    [
        process.user.wrapping_add(process.kernel),
        process.user,
        process.kernel,
        time.start(process.start),
        process.id,
        process.parent,
        u64::from(process.thread_count),
        memory.virtual_peak,
        memory.virtual_size,
        u64::from(process.page_faults),
        memory.working_set_peak,
        memory.working_set,
        memory.working_set_private,
        memory.page_file_peak,
        memory.page_file,
        memory.private,
        memory.paged_pool,
        memory.nonpaged_pool,
        u64::from(process.handles),
        reads,
        writes,
        reads.wrapping_add(writes),
        others,
        read,
        written,
        read.wrapping_add(written),
        other,
        u64::from(process.priority),
    ]
}

/// The values, each as its counter stores it ([`fit`](perfhive_engine::standard::Counter::fit)): a
/// value that is too large for a counter of 4 bytes becomes the largest that fits. A count of which
/// only differences matter is not changed.
fn fit(mut values: [u64; COUNTERS]) -> [u64; COUNTERS] {
    for (value, counter) in values.iter_mut().zip(PROCESS.counters) {
        *value = counter.fit(*value);
    }
    values
}

/// The name of a process as in Windows' own library: the name of the image without `.exe`. Without
/// an image, the name is `Idle` for process 0, and the process ID for all others.
fn name<'a>(process: &Process<'a>, digits: &'a Digits) -> NameRef<'a> {
    const EXE: [u8; 4] = *b".exe";
    if process.name.is_empty() {
        return NameRef::Text(if process.id == 0 { "Idle" } else { digits.text() });
    }
    let (units, _) = process.name.as_chunks::<2>();
    let (stem, ending) = units.split_at(units.len().saturating_sub(EXE.len()));
    let is_exe = ending.len() == EXE.len()
        && ending
            .iter()
            .zip(EXE)
            .all(|([low, high], letter)| *high == 0 && low.eq_ignore_ascii_case(&letter));
    match is_exe && !stem.is_empty() {
        true => NameRef::Bytes(stem.as_flattened()),
        false => NameRef::Bytes(process.name),
    }
}
