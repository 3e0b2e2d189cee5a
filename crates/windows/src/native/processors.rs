//! The object Processor 238, from `SystemProcessorPerformanceInformation`.
//!
//! The reply is an array of `SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION`, 48 bytes each on every
//! Windows: `IdleTime`, `KernelTime` (in which idle time is), `UserTime`, `DpcTime`,
//! `InterruptTime` in 100 ns units, and `InterruptCount` in 32 bits.

use super::information::{Class, Information, NoInformation, u32_at, u64_at};
use super::layout::{Digits, Filled, pick};
use super::table::PROCESSOR;
use perfhive_engine::standard::{Layouts, MOST};
use perfhive_engine::{ObjectWriter, ProviderError};
use perfhive_format::{InstanceHead, TitleIndex};

const SIZE: usize = 48;
/// The number of counters of Processor in its table.
const COUNTERS: usize = 7;
/// The counters that every processor has, as bits by position in the table: % Processor Time, %
/// User Time, % Idle Time.
const ALWAYS: u64 = 0b1011;
/// The bit of the counter % Privileged Time in a mask of positions in the table of Processor.
const PRIVILEGED: u64 = 1 << 2;
/// The position in the table of the counter of interrupts, the only count, which `_Total` sums;
/// times are averaged.
const INTERRUPTS: usize = 4;

pub(super) struct Writer {
    layouts: Layouts,
    filled: Filled,
}

impl Writer {
    pub(super) fn new(layouts: Layouts) -> Self {
        Self { layouts, filled: Filled::new(ALWAYS, PRIVILEGED) }
    }

    pub(super) fn write(
        &mut self,
        times: Information<'_>,
        out: &mut ObjectWriter<'_>,
    ) -> Result<(), ProviderError> {
        let (processors, rest) = times.bytes.as_chunks::<SIZE>();
        if processors.is_empty() || !rest.is_empty() {
            let why = NoInformation::Short(Class::ProcessorPerformance, times.bytes.len());
            out.fault(TitleIndex(PROCESSOR.index), None, why);
            return Ok(());
        }
        let mut mask = PRIVILEGED;
        for processor in processors {
            match values(processor) {
                (values, true) => self.filled.see(&values),
                // The kernel time lacks the idle time that belongs in it, so % Privileged Time is
                // unknown.
                (values, false) => {
                    self.filled.see(&values);
                    mask = 0;
                }
            }
        }
        mask |= self.filled.mask();
        let mut total = [0u64; COUNTERS];
        let mut row = [0; MOST];
        let mut object = out.object(self.layouts.template(mask)?)?;
        for (number, processor) in (0..).zip(processors) {
            let (values, _) = values(processor);
            for (sum, value) in total.iter_mut().zip(values) {
                *sum = sum.wrapping_add(value);
            }
            let digits = Digits::of(number);
            let head = InstanceHead::named(digits.text());
            object.instance(&head, pick(&values, mask, &mut row))?;
        }
        // `_Total` shows shares of the whole: its times are averages.
        let times = total.iter_mut().enumerate().filter(|(place, _)| *place != INTERRUPTS);
        for (_, sum) in times {
            *sum /= processors.len() as u64;
        }
        object.instance(&InstanceHead::named("_Total"), pick(&total, mask, &mut row))?;
        object.finish()?;
        Ok(())
    }
}

/// The values of the counters in the order of the table, and whether the kernel time contains the
/// idle time, as it should; `false` if the idle time is the longer one.
fn values(processor: &[u8; SIZE]) -> ([u64; COUNTERS], bool) {
    let time = |at| u64_at(processor, at).unwrap_or(0);
    let (idle, kernel, user, dpc, interrupt) = (time(0), time(8), time(16), time(24), time(32));
    let interrupts = u64::from(u32_at(processor, 40).unwrap_or(0));
    let privileged = kernel.checked_sub(idle);
    let values = [idle, user, privileged.unwrap_or(0), idle, interrupts, dpc, interrupt];
    (values, privileged.is_some())
}
