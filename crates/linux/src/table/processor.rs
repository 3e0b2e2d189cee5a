//! Processor 238.

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

const NO_C_STATES: &str = "The kernel's idle states are named and numbered by each processor \
    model's driver (`cpuidle` in `/sys`), and are not Windows' C1 to C3.";

pub(crate) static PROCESSOR: Object = Object {
    index: 238,
    help: 239,
    name: "Processor",
    note: "One instance for each processor that is on, under the kernel's number, and `_Total`: the \
         average of times, so that it is a share as well, and the sum of counts. The kernel tells times \
         in ticks, mostly of 10 ms: between two samples each share may be off by a tick or two, % Processor \
         Time even a little below 0 and the others above 100, the more the shorter the interval. When processors \
         are switched off or on, `_Total` goes on from where it was. Without a hypervisor, \
         % Processor Time is % User Time and % Privileged Time together.",
    reads: "`stat`; on request `interrupts`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(6, 7, "% Processor Time", T::PERF_100NSEC_TIMER_INV)
        .unit("%")
        .from("`stat`: `cpuN`: `idle` + `iowait`")
        .means("Share of time in which the processor ran anything but its idle thread.")
        .differs(
            "Measured as what is not idle, as on Windows: time that a hypervisor took away \
             (`steal`) is in it.",
        ),
    Counter::new(142, 143, "% User Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`stat`: `cpuN`: `user` + `nice`")
        .means("Share of time spent in programs.")
        .differs("Time given to guests of this machine is in it."),
    Counter::new(144, 145, "% Privileged Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`stat`: `cpuN`: `system` + `irq` + `softirq`")
        .means("Share of time spent in the kernel, interrupts included."),
    Counter::new(1746, 1747, "% Idle Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::WIZARD)
        .unit("%")
        .from("`stat`: `cpuN`: `idle` + `iowait`")
        .means("Share of time in which the processor was idle."),
    Counter::new(698, 397, "% Interrupt Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`stat`: `cpuN`: `irq`")
        .since("2.6")
        .means("Share of time spent on hardware interrupts.")
        .differs("Without `IRQ_TIME_ACCOUNTING` the kernel samples it by ticks and sees little."),
    Counter::new(696, 339, "% DPC Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`stat`: `cpuN`: `softirq`")
        .since("2.6")
        .means("Share of time spent on deferred procedure calls.")
        .differs("Linux's counterpart are soft interrupts, without those left to `ksoftirqd`."),
    Counter::new(148, 149, "Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .on_request()
        .unit("interrupts/s")
        .from("`interrupts`: the processor's column")
        .means("Hardware interrupts that the processor took.")
        .differs("Interrupts between processors and of the local timer count, as in the file."),
];

const ABSENT: &[Absent] = &[
    absent(
        1334,
        "DPCs Queued/sec",
        T::PERF_COUNTER_COUNTER,
        "Linux counts soft interrupts when they run, not when they are raised.",
    ),
    absent(
        1336,
        "DPC Rate",
        T::PERF_COUNTER_RAWCOUNT,
        "A number per tick of Windows' clock interrupt, which Linux has no counterpart of.",
    ),
    absent(1748, "% C1 Time", T::PERF_100NSEC_TIMER, NO_C_STATES),
    absent(1750, "% C2 Time", T::PERF_100NSEC_TIMER, NO_C_STATES),
    absent(1752, "% C3 Time", T::PERF_100NSEC_TIMER, NO_C_STATES),
    absent(1754, "C1 Transitions/sec", T::PERF_COUNTER_BULK_COUNT, NO_C_STATES),
    absent(1756, "C2 Transitions/sec", T::PERF_COUNTER_BULK_COUNT, NO_C_STATES),
    absent(1758, "C3 Transitions/sec", T::PERF_COUNTER_BULK_COUNT, NO_C_STATES),
];
