//! System 2.

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

const NO_FILE_CALLS: &str = "Linux counts no read, write or control calls of the whole machine \
    (only of each process: Process has them).";

pub(crate) static SYSTEM: Object = Object {
    index: 2,
    help: 3,
    name: "System",
    note: "Load averages are Linux' own measure: Windows has none.",
    reads: "`stat`, `loadavg`, one listing of `/proc`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(146, 147, "Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .unit("switches/s")
        .from("`stat`: `ctxt`")
        .means("Switches from one thread to another, on all processors."),
    Counter::new(674, 675, "System Up Time", T::PERF_ELAPSED_TIME)
        .scale(-5)
        .unit("s")
        .from("`CLOCK_BOOTTIME`")
        .means("Time since the machine was started.")
        .differs("Time in suspension counts."),
    Counter::new(44, 45, "Processor Queue Length", T::PERF_COUNTER_RAWCOUNT)
        .scale(1)
        .detail(DetailLevel::WIZARD)
        .unit("threads")
        .from("`stat`: `procs_running` less the number of `cpuN` lines")
        .means("Threads that are ready to run and wait for a processor.")
        .differs(
            "The kernel does not say which runnable threads run: counted are those beyond the \
             number of processors, 0 where there are fewer. Waiting threads beside an idle \
             processor are not seen.",
        ),
    Counter::new(248, 249, "Processes", T::PERF_COUNTER_RAWCOUNT)
        .scale(1)
        .detail(DetailLevel::WIZARD)
        .unit("processes")
        .from("the numeric entries of `/proc`, and Idle")
        .means("Processes at this moment, Idle included.")
        .differs("Those that this mount of `/proc` shows (PID namespace, `hidepid`)."),
    Counter::new(250, 251, "Threads", T::PERF_COUNTER_RAWCOUNT)
        .scale(1)
        .detail(DetailLevel::WIZARD)
        .unit("threads")
        .from("`loadavg`: fourth field; `stat`: one idle thread for each `cpuN` line")
        .means("Threads at this moment, those of Idle included.")
        .differs("Always of the whole machine, in a PID namespace too."),
    Counter::new(100_000, 100_001, "Load Average 1 min", T::PERF_DOUBLE_RAW)
        .unit("threads")
        .from("`loadavg`: first field")
        .means(
            "Threads that ran, waited for a processor or waited for a disk, on average \
             over the last 1 min.",
        )
        .differs(
            "A double as it is, such as 0.52: a type that needs no second sample, and \
             that readers made for numbers alone do not know.",
        ),
    Counter::new(100_002, 100_003, "Load Average 5 min", T::PERF_DOUBLE_RAW)
        .unit("threads")
        .from("`loadavg`: second field")
        .means(
            "Threads that ran, waited for a processor or waited for a disk, on average \
             over the last 5 min.",
        )
        .differs(
            "A double as it is, such as 0.52: a type that needs no second sample, and \
             that readers made for numbers alone do not know.",
        ),
    Counter::new(100_004, 100_005, "Load Average 15 min", T::PERF_DOUBLE_RAW)
        .unit("threads")
        .from("`loadavg`: third field")
        .means(
            "Threads that ran, waited for a processor or waited for a disk, on average \
             over the last 15 min.",
        )
        .differs(
            "A double as it is, such as 0.52: a type that needs no second sample, and \
             that readers made for numbers alone do not know.",
        ),
    Counter::new(100_006, 100_007, "Runnable Threads", T::PERF_COUNTER_RAWCOUNT)
        .unit("threads")
        .from("`stat`: `procs_running`")
        .means("Threads that run or wait for a processor, that which reads included."),
    Counter::new(100_008, 100_009, "Blocked Threads", T::PERF_COUNTER_RAWCOUNT)
        .unit("threads")
        .from("`stat`: `procs_blocked`")
        .means("Threads that wait for a disk to be read or written."),
    Counter::new(100_010, 100_011, "Threads Created/sec", T::PERF_COUNTER_COUNTER)
        .unit("threads/s")
        .from("`stat`: `processes`")
        .means(
            "Threads that were made, those that are the first of a new process \
             included.",
        ),
    Counter::new(100_012, 100_013, "Hardware Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .unit("interrupts/s")
        .from("`stat`: first number of `intr`")
        .means(
            "Interrupts that all processors took, those of their clocks and of each \
             other included.",
        ),
    Counter::new(100_014, 100_015, "Soft Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .unit("interrupts/s")
        .from("`stat`: first number of `softirq`")
        .since("2.6.31")
        .means("Runs of work that interrupts had put off, on all processors."),
    Counter::new(100_016, 100_017, "Processors", T::PERF_COUNTER_RAWCOUNT)
        .unit("processors")
        .from("`stat`: the `cpuN` lines")
        .means("Processors that are on at this moment."),
];

const ABSENT: &[Absent] = &[
    absent(10, "File Read Operations/sec", T::PERF_COUNTER_COUNTER, NO_FILE_CALLS),
    absent(12, "File Write Operations/sec", T::PERF_COUNTER_COUNTER, NO_FILE_CALLS),
    absent(14, "File Control Operations/sec", T::PERF_COUNTER_COUNTER, NO_FILE_CALLS),
    absent(16, "File Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT, NO_FILE_CALLS),
    absent(18, "File Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT, NO_FILE_CALLS),
    absent(20, "File Control Bytes/sec", T::PERF_COUNTER_BULK_COUNT, NO_FILE_CALLS),
    absent(
        150,
        "System Calls/sec",
        T::PERF_COUNTER_COUNTER,
        "Linux does not count system calls; tracing them would slow each down.",
    ),
    absent(406, "File Data Operations/sec", T::PERF_COUNTER_COUNTER, NO_FILE_CALLS),
    absent(
        686,
        "Alignment Fixups/sec",
        T::PERF_COUNTER_COUNTER,
        "Linux counts them on a few architectures only, in files of each its own.",
    ),
    absent(
        688,
        "Exception Dispatches/sec",
        T::PERF_COUNTER_COUNTER,
        "Linux has signals instead of dispatched exceptions, and does not count them.",
    ),
    absent(
        690,
        "Floating Emulations/sec",
        T::PERF_COUNTER_COUNTER,
        "No supported processor leaves floating point to the kernel in regular operation.",
    ),
    absent(1350, "% Registry Quota In Use", T::PERF_RAW_FRACTION, "Linux has no registry."),
];
