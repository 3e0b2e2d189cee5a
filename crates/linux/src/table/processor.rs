//! The table of the object Processor (title index 238).

use super::{Absent, Counter, Object};
use perfhive_engine::Cost;
use perfhive_engine::standard::windows::processor as w;

const NO_C_STATES: &str = "The kernel's idle states are named and numbered by each processor \
    model's driver, and are not Windows' C1 to C3: see Processor Idle State.";

pub(crate) static PROCESSOR: Object = Object {
    index: 238,
    help: 239,
    name: "Processor",
    meaning: "Counters of each processor that is on, under the kernel's number. _Total is the \
         average of times and the sum of counts.",
    note: "One instance for each processor that is switched on, with the kernel's number, and `_Total`. For times, \
         `_Total` is the average, so that it is a share as well; for counts, it is the sum. If processors are \
         switched off or on, `_Total` continues from its previous value. The kernel counts times in ticks, mostly \
         of 10 ms. Between two samples, a share may therefore be wrong by a tick or two: % Processor Time may be \
         slightly below 0, and other shares above 100. The error is larger at shorter intervals. Without a \
         hypervisor, % Processor Time is % User Time plus % Privileged Time.\
         \n\nA tick counts for the work that runs at that moment. Work that runs between ticks is not counted, and \
         work that runs at ticks counts too much. The following shares are relative to the scheduler's own count \
         (`cpuacct.usage`; Linux 6, 250 ticks a second). Busy programs, programs that start others, disk searches \
         and pipes had 0.97 to 1.00 of it. A program that wakes a thousand times a second for 50 µs had 0.28. A \
         program that always runs between two ticks had 0.01, and one with bursts of half a tick at each tick had \
         2.0. The processor time of Process is counted by the scheduler, and divided into user and privileged \
         time by ticks: if the two differ, the sum over Process without Idle is right.",
    reads: "`stat`; on request `interrupts`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    w::PROCESSOR_TIME
        .means(
            "Share of time in which the processor was not idle. Time that a hypervisor took away \
             counts as not idle.",
        )
        .from("`stat`: `cpuN`: `idle` + `iowait`")
        .differs(
            "Measured as what is not idle, as on Windows: time that a hypervisor took away \
             (`steal`) is in it.",
        ),
    w::USER_TIME
        .means("Share of time that the processor spent in programs, in those of low priority too.")
        .from("`stat`: `cpuN`: `user` + `nice`")
        .differs("Time given to guests of this machine is in it."),
    w::PRIVILEGED_TIME
        .means("Share of time that the processor spent in the kernel, interrupts included.")
        .from("`stat`: `cpuN`: `system` + `irq` + `softirq`"),
    w::IDLE_TIME
        .means("Share of time in which the processor was idle, waiting for disks or not.")
        .from("`stat`: `cpuN`: `idle` + `iowait`"),
    w::INTERRUPT_TIME
        .means("Share of time that the processor spent on hardware interrupts.")
        .from("`stat`: `cpuN`: `irq`")
        .since("2.6")
        .differs("Without `IRQ_TIME_ACCOUNTING` the kernel samples it by ticks and sees little."),
    w::DPC_TIME
        .means(
            "Share of time that the processor spent on work deferred by interrupts, which Linux \
             calls soft interrupts.",
        )
        .from("`stat`: `cpuN`: `softirq`")
        .since("2.6")
        .differs("Linux's counterpart are soft interrupts, without those left to `ksoftirqd`."),
    w::INTERRUPTS
        .means(
            "Interrupts that the processor took, a second, those of the local timer and of other \
             processors included. Filled on request.",
        )
        .on_request()
        .from("`interrupts`: the processor's column")
        .differs("Interrupts between processors and of the local timer count, as in the file."),
];

const ABSENT: &[Absent] = &[
    w::DPCS_QUEUED.absent("Linux counts soft interrupts when they run, not when they are raised."),
    w::DPC_RATE.absent(
        "A number per tick of Windows' clock interrupt, which Linux has no counterpart of.",
    ),
    w::C1_TIME.absent(NO_C_STATES),
    w::C2_TIME.absent(NO_C_STATES),
    w::C3_TIME.absent(NO_C_STATES),
    w::C1_TRANSITIONS.absent(NO_C_STATES),
    w::C2_TRANSITIONS.absent(NO_C_STATES),
    w::C3_TRANSITIONS.absent(NO_C_STATES),
];
