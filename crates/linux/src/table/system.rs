//! The table of the object System (title index 2).

use super::{Absent, Counter, Object};
use perfhive_engine::Cost;
use perfhive_engine::standard::windows::system as w;
use perfhive_format::CounterType as T;

const NO_FILE_CALLS: &str = "Linux counts no read, write or control calls of the whole machine \
    (only of each process: Process has them).";

pub(crate) static SYSTEM: Object = Object {
    index: 2,
    help: 3,
    name: "System",
    meaning: "Counters of the whole machine that belong to no single processor, process or device.",
    note: "Load averages are Linux' own measure: Windows has none.",
    reads: "`stat`, `loadavg`, one listing of `/proc`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    w::CONTEXT_SWITCHES
        .means("Switches from one thread to another on all processors of the machine, a second.")
        .from("`stat`: `ctxt`"),
    w::SYSTEM_UP_TIME
        .means("Time since the machine was started, suspension included.")
        .from("`CLOCK_BOOTTIME`")
        .differs("Time in suspension counts."),
    w::PROCESSOR_QUEUE_LENGTH
        .means(
            "Threads that are ready to run and have no processor. Linux tells how many threads \
             are runnable, running ones included; this is how many there are beyond the number of \
             processors.",
        )
        .from("`stat`: `procs_running` less the number of `cpuN` lines")
        .differs(
            "The kernel does not say which runnable threads run: counted are those beyond the \
             number of processors, 0 where there are fewer. Waiting threads beside an idle \
             processor are not seen.",
        ),
    w::PROCESSES
        .means(
            "Processes at this moment, Idle included. Processes that this /proc hides are not \
             counted.",
        )
        .from("the numeric entries of `/proc`, and Idle")
        .differs("Only processes that this mount of `/proc` shows (PID namespace, `hidepid`)."),
    w::THREADS
        .means(
            "Threads of the whole machine at this moment, with one idle thread for each \
             processor.",
        )
        .from("`loadavg`: fourth field; `stat`: one idle thread for each `cpuN` line")
        .differs("Always of the whole machine, in a PID namespace too."),
    Counter::new(100_000, 100_001, "Load Average 1 min", T::PERF_DOUBLE_RAW)
        .unit("threads")
        .from("`loadavg`: first field")
        .means(
            "Threads that ran, waited for a processor or waited for a disk, on average over the \
             last 1 min.",
        )
        .differs(
            "A double as it is, such as 0.52: a type that needs no second sample, and \
             that readers made for numbers alone do not know.",
        ),
    Counter::new(100_002, 100_003, "Load Average 5 min", T::PERF_DOUBLE_RAW)
        .unit("threads")
        .from("`loadavg`: second field")
        .means(
            "Threads that ran, waited for a processor or waited for a disk, on average over the \
             last 5 min.",
        )
        .differs(
            "A double as it is, such as 0.52: a type that needs no second sample, and \
             that readers made for numbers alone do not know.",
        ),
    Counter::new(100_004, 100_005, "Load Average 15 min", T::PERF_DOUBLE_RAW)
        .unit("threads")
        .from("`loadavg`: third field")
        .means(
            "Threads that ran, waited for a processor or waited for a disk, on average over the \
             last 15 min.",
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
        .means("Threads that were made, those that are the first of a new process included."),
    Counter::new(100_012, 100_013, "Hardware Interrupts/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .unit("interrupts/s")
        .from("`stat`: first number of `intr`")
        .means(
            "Interrupts that all processors took, those of their clocks and of each other \
             included.",
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
    w::FILE_READ_OPERATIONS.absent(NO_FILE_CALLS),
    w::FILE_WRITE_OPERATIONS.absent(NO_FILE_CALLS),
    w::FILE_CONTROL_OPERATIONS.absent(NO_FILE_CALLS),
    w::FILE_READ_BYTES.absent(NO_FILE_CALLS),
    w::FILE_WRITE_BYTES.absent(NO_FILE_CALLS),
    w::FILE_CONTROL_BYTES.absent(NO_FILE_CALLS),
    w::SYSTEM_CALLS.absent("Linux does not count system calls; tracing them would slow each down."),
    w::FILE_DATA_OPERATIONS.absent(NO_FILE_CALLS),
    w::ALIGNMENT_FIXUPS
        .absent("Linux counts them on a few architectures only, in files of each its own."),
    w::EXCEPTION_DISPATCHES
        .absent("Linux has signals instead of dispatched exceptions, and does not count them."),
    w::FLOATING_EMULATIONS
        .absent("No supported processor leaves floating point to the kernel in regular operation."),
    w::REGISTRY_QUOTA_IN_USE.absent("Linux has no registry."),
];
