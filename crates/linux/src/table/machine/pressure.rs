//! The table of the object Pressure.

use crate::table::{Counter, Object};
use perfhive_engine::Cost;
use perfhive_format::CounterType as T;

const TEN: Counter =
    Counter::new(100_404, 100_405, "% Stalled Time 10 s Average", T::PERF_RAW_FRACTION)
        .unit("%")
        .from("`pressure/RESOURCE`: `avg10`")
        .means(
            "The same as the kernel averages it over the last 10 seconds; takes no second \
             sample.",
        );

const SIXTY: Counter =
    Counter::new(100_406, 100_407, "% Stalled Time 60 s Average", T::PERF_RAW_FRACTION)
        .unit("%")
        .from("`pressure/RESOURCE`: `avg60`")
        .means(
            "The same as the kernel averages it over the last 60 seconds; takes no second \
             sample.",
        );

const THREE_HUNDRED: Counter =
    Counter::new(100_408, 100_409, "% Stalled Time 300 s Average", T::PERF_RAW_FRACTION)
        .unit("%")
        .from("`pressure/RESOURCE`: `avg300`")
        .means(
            "The same as the kernel averages it over the last 300 seconds; takes no second \
             sample.",
        );

pub(crate) static PRESSURE: Object = Object {
    index: 100_400,
    help: 100_401,
    name: "Pressure",
    meaning: "Time that tasks lost because they waited for processors, memory or devices. Takes \
         Linux 4.20.",
    note: "An instance is the resource for which tasks wait, with `some` if at least one task waits, or `full` if \
         all tasks that have something to do wait: `cpu some`, `memory full` and so on. `irq` has only `full`, \
         since Linux 6.1. `cpu full` is left out: it has no meaning for a whole machine, and the kernel prints 0 \
         for it (since 5.19); Cgroup Pressure has it for groups. Without `CONFIG_PSI`, or with `psi=0`, there is \
         no instance. There is no `_Total`, because the times in which tasks wait for different resources \
         overlap.",
    reads: "`pressure/cpu`, `memory`, `io` and `irq`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: &[],
};

const COUNTERS: &[Counter] = &[
    Counter::new(100_402, 100_403, "% Stalled Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`pressure/RESOURCE`: `total`")
        .means(
            "Share of time in which some tasks, or all that had something to do, waited for the \
             resource.",
        ),
    TEN,
    Counter::base(&TEN),
    SIXTY,
    Counter::base(&SIXTY),
    THREE_HUNDRED,
    Counter::base(&THREE_HUNDRED),
];
