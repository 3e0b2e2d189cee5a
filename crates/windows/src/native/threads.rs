//! The object Thread 232, from the list of processes.

use super::layout::{Digits, Filled, pick};
use super::processes::Places;
use super::system::Time;
use super::table::{PROCESS, THREAD};
use super::walk::{Processes, Thread};
use perfhive_engine::standard::{Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{FileTime, InstanceHead, NameRef, TitleIndex};

/// The number of counters of Thread in its table.
const COUNTERS: usize = 12;
/// The counters of `_Total`, as bits by position in the table: all but priorities, address,
/// state and reason.
const COMMON: u64 = 0x7F;
/// The counters that every thread has, as bits by position in the table: times and IDs.
const ALWAYS: u64 = 0x3F;
/// The bits of the counters of state and wait reason, by position in the table.
const STATE: u64 = 0b11 << 10;

/// The position in the table of the counter Elapsed Time, which `_Total` does not sum.
const ELAPSED: usize = 3;
/// The position in the table of the counter ID Process, which `_Total` does not sum.
const PROCESS_ID: usize = 4;
/// The position in the table of the counter ID Thread, which `_Total` does not sum.
const ID: usize = 5;

/// Windows' number for the state of a running thread.
const RUNNING: u32 = 2;

pub(super) struct Writer {
    layouts: Layouts,
    filled: Filled,
}

impl Writer {
    pub(super) fn new(layouts: Layouts) -> Self {
        Self { layouts, filled: Filled::new(ALWAYS, STATE) }
    }

    /// Writes the threads of the processes in `list`, and `_Total` if Process has it. The object
    /// Process must have been written from the same `list`: the position of a process in the list is
    /// also the position of the parent among the instances of Process.
    pub(super) fn write(
        &mut self,
        list: Processes<'_>,
        time: Time,
        places: Places,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        for thread in list.clone().flatten().flat_map(|process| process.threads) {
            self.filled.see(&values(&thread, time));
            // The calling thread is running: if no thread is, the system does not fill states.
            if thread.state == RUNNING {
                self.filled.add(STATE);
            }
        }
        let mask = self.filled.mask();
        let mut total = [0u64; COUNTERS];
        let mut row = [0; MOST];
        let mut object = out.object(self.layouts.template(mask)?)?;
        let mut damage = None;
        for (place, process) in (0..).zip(list) {
            let process = match process {
                Ok(process) => process,
                Err(found) => {
                    damage = Some(found);
                    break;
                }
            };
            for (number, thread) in (0..).zip(process.threads) {
                let values = values(&thread, time);
                for (sum, value) in total.iter_mut().zip(values) {
                    *sum = sum.wrapping_add(value);
                }
                let digits = Digits::of(number);
                let head = head(digits.text(), place);
                object.instance(&head, pick(&fit(values), mask, &mut row))?;
            }
        }
        if let Some(place) = places.total.filter(|_| damage.is_none()) {
            total[ELAPSED] = time.now;
            (total[PROCESS_ID], total[ID]) = (0, 0);
            let values = pick(&fit(total), mask & COMMON, &mut row);
            object.instance_prefix(&head("_Total", place), values)?;
        }
        object.clock(time.now as i64, FileTime::PER_SECOND).finish()?;
        if let Some(damage) = damage {
            out.fault(TitleIndex(THREAD.index), None, damage);
        }
        Ok(())
    }
}

fn head(name: &str, process: u32) -> InstanceHead<'_> {
    let parent = Some((TitleIndex(PROCESS.index), process));
    InstanceHead { name: NameRef::Text(name), unique_id: None, parent }
}

/// The values of a thread's counters, in the order of the table.
fn values(thread: &Thread, time: Time) -> [u64; COUNTERS] {
    [
        thread.user.wrapping_add(thread.kernel),
        thread.user,
        thread.kernel,
        time.start(thread.start),
        thread.process,
        thread.id,
        u64::from(thread.switches),
        u64::from(thread.priority),
        u64::from(thread.base_priority),
        thread.start_address,
        u64::from(thread.state),
        u64::from(thread.wait_reason),
    ]
}

/// The values, each as its counter stores it ([`fit`](perfhive_engine::standard::Counter::fit)): a
/// value that is too large for a counter of 4 bytes becomes the largest that fits. A count of which
/// only differences matter is not changed.
fn fit(mut values: [u64; COUNTERS]) -> [u64; COUNTERS] {
    for (value, counter) in values.iter_mut().zip(THREAD.counters) {
        *value = counter.fit(*value);
    }
    values
}
