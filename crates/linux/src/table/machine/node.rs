//! The table of the object NUMA Node Memory.

use crate::table::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::CounterType as T;

pub(crate) static NODE: Object = Object {
    index: 100_420,
    help: 100_421,
    name: "NUMA Node Memory",
    meaning: "Memory of each node, and where pages were taken from.",
    note: "Instances are `0`, `1` and so on, with the kernel's numbers, and `_Total`, the sum. `numastat` shows as \
         counts since the start what are rates here. Without `/sys`, or on a kernel without NUMA, there is no \
         instance. On Windows the index of this object differs between machines; the name is the same everywhere.",
    reads: "`meminfo` and `numastat` of each node in `/sys/devices/system/node`, one \
             listing of that",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(100_422, 100_423, "Total MBytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("MB")
        .from("`meminfo`: `MemTotal`")
        .means("Memory of the node in units of 1024², rounded down."),
    Counter::new(100_424, 100_425, "Free & Zero Page List MBytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("MB")
        .from("`meminfo`: `MemFree`")
        .means("Memory of the node that holds nothing, in units of 1024², rounded down."),
    Counter::new(100_430, 100_431, "Used Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `MemUsed`")
        .means("Memory of the node that holds something."),
    Counter::new(100_432, 100_433, "File Page Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `FilePages`")
        .means("Contents of files and block devices in memory of the node, with shared memory."),
    Counter::new(100_434, 100_435, "Dirty Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Dirty`")
        .means("The part of it that must be written to a disk."),
    Counter::new(100_110, 100_461, "Active Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Active`")
        .means("Memory of the node that was used lately."),
    Counter::new(100_112, 100_463, "Inactive Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Inactive`")
        .means("Memory of the node that was not used lately."),
    Counter::new(100_116, 100_465, "Anonymous Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `AnonPages`")
        .means("Memory of programs in the node that belongs to no file."),
    Counter::new(100_120, 100_467, "Mapped Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Mapped`")
        .means("Contents of files in the node that programs have mapped."),
    Counter::new(100_122, 100_469, "Shared Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Shmem`")
        .means("Shared memory in the node, and files that live in memory alone."),
    Counter::new(100_126, 100_471, "Slab Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Slab`")
        .means("Memory of the kernel's own objects in the node."),
    Counter::new(100_130, 100_473, "Page Table Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `PageTables`")
        .means("Memory of page tables in the node."),
    Counter::new(100_132, 100_475, "Kernel Stack Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `KernelStack`")
        .means("Memory of stacks of the kernel in the node."),
    Counter::new(100_134, 100_477, "Huge Pages Total", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`meminfo`: `HugePages_Total`")
        .means("Huge pages of the pool in the node."),
    Counter::new(100_136, 100_479, "Huge Pages Free", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`meminfo`: `HugePages_Free`")
        .means("Unused huge pages of the pool in the node."),
    Counter::new(100_170, 100_481, "NUMA Hits/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`numastat`: `numa_hit`")
        .means("Pages that were wanted of this node and taken from it."),
    Counter::new(100_172, 100_483, "NUMA Misses/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`numastat`: `numa_miss`")
        .means("Pages that were taken from this node although they were wanted of another."),
    Counter::new(100_436, 100_437, "NUMA Foreign/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`numastat`: `numa_foreign`")
        .means("Pages that were wanted of this node and taken from another."),
    Counter::new(100_438, 100_439, "Interleave Hits/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`numastat`: `interleave_hit`")
        .means("Pages that were to be spread over nodes and taken from this one as planned."),
    Counter::new(100_440, 100_441, "Local Pages/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`numastat`: `local_node`")
        .means("Pages of this node that were given to a program on it."),
    Counter::new(100_442, 100_443, "Remote Pages/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`numastat`: `other_node`")
        .means("Pages of this node that were given to a program on another."),
];

const ABSENT: &[Absent] = &[
    absent(
        100_426,
        "Standby List MBytes",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
        "Linux has no standby lists.",
    ),
    absent(
        100_428,
        "Available MBytes",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
        "Linux estimates what can be had without swapping for the whole machine \
             alone: see Memory's Available MBytes.",
    ),
];
