//! The table of the object Processor Information.

use crate::table::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::CounterType as T;

const NO_C_STATES: &str = "The kernel's idle states are named and numbered by each processor \
    model's driver, and are not Windows' C1 to C3: see Processor Idle State.";
const NO_DPC_COUNTS: &str = "Linux counts soft interrupts when they run, not when they are raised: see the counters of \
     each kind of soft interrupt.";
const NO_PERFORMANCE: &str =
    "Takes the processors' own counts of cycles, which Linux shows to profilers alone.";
const NO_LIMIT: &str = "Linux reports limits of the clock, but not which of them was in effect.";

pub(crate) static PROCESSOR_INFORMATION: Object = Object {
    index: 100_200,
    help: 100_201,
    name: "Processor Information",
    meaning: "Counters of each processor that is on, under its node and the kernel's number, and \
         totals of each node.",
    note: "The counters of Processor and more, with instances by node: `0,3` is processor 3 of node 0, `0,_Total` \
         is all of node 0, and `_Total` is all processors. The second number is the kernel's own, so that an \
         instance remains the same processor if others are switched off; Windows counts from 0 in each node. If \
         `/sys` is missing or has no nodes, all processors are in node 0, as on Windows. Totals are the mean of \
         times and the sum of counts, and continue if processors are switched off or on. On Windows the index of \
         this object differs between machines; the name is the same everywhere.",
    reads: "`stat`; when processors come or go, \
             `/sys/devices/system/node/nodeN/cpulist`; on request `interrupts`, \
             `softirqs`, and one file of `/sys` for each processor",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(6, 100_271, "% Processor Time", T::PERF_100NSEC_TIMER_INV)
        .unit("%")
        .from("`stat`: `cpuN`: `idle` + `iowait`")
        .means("Share of time in which the processor ran anything but its idle thread.")
        .differs("Time that a hypervisor took away is in it."),
    Counter::new(142, 100_273, "% User Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `user` + `nice`")
        .means("Share of time spent in programs."),
    Counter::new(144, 100_275, "% Privileged Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `system` + `irq` + `softirq`")
        .means("Share of time spent in the kernel, interrupts included."),
    Counter::new(1746, 100_277, "% Idle Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `idle` + `iowait`")
        .means("Share of time in which the processor was idle."),
    Counter::new(100_202, 100_203, "% Priority Time", T::PERF_100NSEC_TIMER_INV)
        .unit("%")
        .from("`stat`: `cpuN`: `idle` + `iowait` + `nice`")
        .means("Share of time in which the processor ran threads that are not of low priority.")
        .differs(
            "Low priority is a positive nice value; what such threads do in the kernel \
             counts as priority time.",
        ),
    Counter::new(100_236, 100_237, "% Low Priority Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `nice`")
        .means("Share of time spent in programs of low priority (a positive nice value)."),
    Counter::new(100_232, 100_233, "% IO Wait Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `iowait`")
        .since("2.6")
        .means(
            "Share of time in which the processor was idle while a thread that ran on it last \
             waited for a disk; a part of % Idle Time.",
        )
        .differs("The kernel itself calls it unreliable; it can step back."),
    Counter::new(698, 100_279, "% Interrupt Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `irq`")
        .since("2.6")
        .means("Share of time spent on hardware interrupts.")
        .differs(
            "Without `IRQ_TIME_ACCOUNTING` the kernel samples it by ticks and sees \
             little.",
        ),
    Counter::new(696, 100_281, "% DPC Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `softirq`")
        .since("2.6")
        .means("Share of time spent on deferred procedure calls.")
        .differs(
            "Linux's counterpart are soft interrupts, without those left to \
             `ksoftirqd`.",
        ),
    Counter::new(100_230, 100_231, "% Steal Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `steal`")
        .since("2.6.11")
        .means(
            "Share of time in which the processor had work but its hypervisor ran something \
             else.",
        ),
    Counter::new(100_234, 100_235, "% Guest Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`stat`: `cpuN`: `guest` + `guest_nice`")
        .since("2.6.24")
        .means("Share of time given to guests of this machine; a part of % User Time."),
    Counter::new(148, 100_283, "Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .on_request()
        .unit("interrupts/s")
        .from("`interrupts`: the processor's column")
        .means("Hardware interrupts that the processor took. Filled on request.")
        .differs(
            "Interrupts between processors and of the local timer count, as in the \
             file.",
        ),
    Counter::new(100_204, 100_205, "Clock Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .on_request()
        .unit("interrupts/s")
        .from("`interrupts`: `LOC`")
        .means("Clock interrupts that the processor took. Filled on request.")
        .differs("x86 alone names them alike on every machine; elsewhere it is not there."),
    Counter::new(100_240, 100_241, "HI Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `HI`")
        .since("2.6.32")
        .means("Urgent tasklets that ran on the processor. Filled on request."),
    Counter::new(100_242, 100_243, "TIMER Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `TIMER`")
        .since("2.6.32")
        .means("Runs of timers on the processor. Filled on request."),
    Counter::new(100_244, 100_245, "NET_TX Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `NET_TX`")
        .since("2.6.32")
        .means("Runs on the processor that sent to a network. Filled on request."),
    Counter::new(100_246, 100_247, "NET_RX Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `NET_RX`")
        .since("2.6.32")
        .means("Runs on the processor that received from a network. Filled on request."),
    Counter::new(100_248, 100_249, "BLOCK Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `BLOCK`")
        .since("2.6.32")
        .means(
            "Runs on the processor that completed requests of block devices. Filled on request.",
        ),
    Counter::new(100_250, 100_251, "IRQ_POLL Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `IRQ_POLL` (`BLOCK_IOPOLL` until 4.4)")
        .since("2.6.32")
        .means("Runs on the processor that polled devices. Filled on request."),
    Counter::new(100_252, 100_253, "TASKLET Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `TASKLET`")
        .since("2.6.32")
        .means("Tasklets that ran on the processor. Filled on request."),
    Counter::new(100_254, 100_255, "SCHED Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `SCHED`")
        .since("2.6.32")
        .means("Runs on the processor that spread threads over processors. Filled on request."),
    Counter::new(100_256, 100_257, "HRTIMER Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `HRTIMER`")
        .since("2.6.32")
        .means("Runs of precise timers on the processor. Filled on request."),
    Counter::new(100_258, 100_259, "RCU Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .on_request()
        .unit("interrupts/s")
        .from("`softirqs`: `RCU`")
        .since("2.6.32")
        .means("Runs on the processor that freed what no reader uses any more. Filled on request."),
    Counter::new(100_206, 100_207, "Processor Frequency", T::PERF_COUNTER_RAWCOUNT)
        .scale(-1)
        .on_request()
        .unit("MHz")
        .from("`/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq`")
        .means("Clock of the processor at this moment. Filled on request.")
        .differs(
            "As the driver knows it: measured by some, requested by others. Virtual \
             machines mostly have none. Totals are the mean.",
        ),
    Counter::new(100_208, 100_209, "% of Maximum Frequency", T::PERF_COUNTER_RAWCOUNT)
        .on_request()
        .unit("%")
        .from(
            "`/sys/devices/system/cpu/cpuN/cpufreq/scaling_cur_freq` / \
             `cpuinfo_max_freq`",
        )
        .means(
            "Clock of the processor at this moment as a share of its highest. Filled on request.",
        )
        .differs(
            "The highest is with turbo, as far as the driver knows. Totals are the \
             mean.",
        ),
];

const ABSENT: &[Absent] = &[
    absent(1334, "DPCs Queued/sec", T::PERF_COUNTER_COUNTER, NO_DPC_COUNTS),
    absent(1336, "DPC Rate", T::PERF_COUNTER_RAWCOUNT, NO_DPC_COUNTS),
    absent(1748, "% C1 Time", T::PERF_100NSEC_TIMER, NO_C_STATES),
    absent(1750, "% C2 Time", T::PERF_100NSEC_TIMER, NO_C_STATES),
    absent(1752, "% C3 Time", T::PERF_100NSEC_TIMER, NO_C_STATES),
    absent(1754, "C1 Transitions/sec", T::PERF_COUNTER_BULK_COUNT, NO_C_STATES),
    absent(1756, "C2 Transitions/sec", T::PERF_COUNTER_BULK_COUNT, NO_C_STATES),
    absent(1758, "C3 Transitions/sec", T::PERF_COUNTER_BULK_COUNT, NO_C_STATES),
    absent(
        100_210,
        "Parking Status",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux parks no processors: a processor that is off is not an instance.",
    ),
    absent(
        100_212,
        "Processor State Flags",
        T::PERF_COUNTER_RAWCOUNT,
        "The flags are those of Windows' power manager.",
    ),
    absent(
        100_214,
        "Average Idle Time",
        T::PERF_AVERAGE_BULK,
        "Linux counts idle periods for each idle state of a driver alone (`cpuidle` \
             in `/sys`), and not at all where there is none.",
    ),
    absent(
        100_216,
        "Idle Break Events/sec",
        T::PERF_COUNTER_BULK_COUNT,
        "Linux does not count what ended an idle period.",
    ),
    absent(100_218, "% Processor Performance", T::PERF_AVERAGE_BULK, NO_PERFORMANCE),
    absent(100_220, "% Processor Utility", T::PERF_AVERAGE_BULK, NO_PERFORMANCE),
    absent(100_222, "% Privileged Utility", T::PERF_AVERAGE_BULK, NO_PERFORMANCE),
    absent(100_224, "% Performance Limit", T::PERF_COUNTER_RAWCOUNT, NO_LIMIT),
    absent(100_226, "Performance Limit Flags", T::PERF_COUNTER_RAWCOUNT, NO_LIMIT),
];
