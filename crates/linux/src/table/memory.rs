//! Memory 4.

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

const NO_FAULT_KINDS: &str = "Linux counts page faults in all and those that waited for a disk, \
    and tells no other kinds apart.";
const NO_HARD_PAGES: &str = "Linux counts the pages that swapping moves (`pswpin`, `pswpout`) and \
    all traffic of block devices (`pgpgin`, `pgpgout`); the pages that hard faults read, or that \
    were written to free memory, are neither.";
const NO_PAGED_POOL: &str = "Linux' kernel memory is never paged out.";
const NO_KERNEL_PAGING: &str = "Linux does not page its own code or drivers, and tells no sizes \
    of them.";
const NO_STANDBY: &str = "Linux has no standby lists by priority; what can be had without paging \
    is all in Available Bytes.";

const IN_USE: Counter = Counter::new(1406, 1407, "% Committed Bytes In Use", T::PERF_RAW_FRACTION)
    .detail(DetailLevel::EXPERT)
    .unit("%")
    .from("`meminfo`: `Committed_AS` / `CommitLimit`")
    .means("Committed Bytes as a share of Commit Limit.")
    .differs("May exceed 100, see Commit Limit.");

pub(crate) static MEMORY: Object = Object {
    index: 4,
    help: 5,
    name: "Memory",
    note: "Sizes that `meminfo` calls kB are units of 1024 bytes.",
    reads: "`meminfo`, `vmstat`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(24, 25, "Available Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::EXPERT)
        .unit("bytes")
        .from("`meminfo`: `MemAvailable`")
        .since("3.14")
        .means("Memory that programs can have at once: free, zeroed and standby pages.")
        .differs("The kernel's estimate of what can be had without swapping."),
    Counter::new(1380, 1381, "Available KBytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("KB")
        .from("`meminfo`: `MemAvailable`")
        .since("3.14")
        .means("Available Bytes in units of 1024."),
    Counter::new(1382, 1383, "Available MBytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("MB")
        .from("`meminfo`: `MemAvailable`")
        .since("3.14")
        .means("Available Bytes in units of 1024², rounded down."),
    Counter::new(26, 27, "Committed Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::EXPERT)
        .unit("bytes")
        .from("`meminfo`: `Committed_AS`")
        .means("Memory that was promised to programs, used or not."),
    Counter::new(30, 31, "Commit Limit", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::WIZARD)
        .unit("bytes")
        .from("`meminfo`: `CommitLimit`")
        .since("2.6.10")
        .means("How much can be promised before the paging files must grow.")
        .differs("Kept to only where `vm.overcommit_memory` is 2."),
    IN_USE,
    Counter::base(&IN_USE),
    Counter::new(28, 29, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .unit("faults/s")
        .from("`vmstat`: `pgfault`")
        .means("Page faults, those without any disk access included."),
    Counter::new(42, 43, "Page Reads/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::EXPERT)
        .unit("reads/s")
        .from("`vmstat`: `pgmajfault`")
        .means("Read operations on disks to resolve page faults, whatever their size.")
        .differs("Faults that had to wait for a disk; each counts once."),
    Counter::new(818, 819, "Cache Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`meminfo`: `Cached` + `Buffers` − `Shmem`")
        .since("2.6.32")
        .means("Memory in use by the file system cache and other parts of the system.")
        .differs("The page cache of files and block devices, without shared memory."),
    Counter::new(58, 59, "Pool Nonpaged Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`meminfo`: `SUnreclaim`")
        .since("2.6.19")
        .means("Memory for the system's objects that must stay in memory while they exist.")
        .differs("Slab memory that cannot be reclaimed; not page tables and stacks."),
    Counter::new(1676, 1677, "Free & Zero Page List Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("bytes")
        .from("`meminfo`: `MemFree`")
        .means("Memory that holds nothing at all."),
    Counter::new(1678, 1679, "Modified Page List Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("bytes")
        .from("`meminfo`: `Dirty`")
        .means("Memory that must be written to a disk before it can be used otherwise.")
        .differs("Changed pages of files; anonymous memory is not in it."),
];

const ABSENT: &[Absent] = &[
    absent(32, "Write Copies/sec", T::PERF_COUNTER_COUNTER, NO_FAULT_KINDS),
    absent(34, "Transition Faults/sec", T::PERF_COUNTER_COUNTER, NO_FAULT_KINDS),
    absent(36, "Cache Faults/sec", T::PERF_COUNTER_COUNTER, NO_FAULT_KINDS),
    absent(38, "Demand Zero Faults/sec", T::PERF_COUNTER_COUNTER, NO_FAULT_KINDS),
    absent(40, "Pages/sec", T::PERF_COUNTER_COUNTER, NO_HARD_PAGES),
    absent(822, "Pages Input/sec", T::PERF_COUNTER_COUNTER, NO_HARD_PAGES),
    absent(48, "Pages Output/sec", T::PERF_COUNTER_COUNTER, NO_HARD_PAGES),
    absent(50, "Page Writes/sec", T::PERF_COUNTER_COUNTER, NO_HARD_PAGES),
    absent(56, "Pool Paged Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PAGED_POOL),
    absent(
        60,
        "Pool Paged Allocs",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux counts no allocations of kernel memory.",
    ),
    absent(
        64,
        "Pool Nonpaged Allocs",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux counts no allocations of kernel memory.",
    ),
    absent(
        678,
        "Free System Page Table Entries",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux has no fixed stock of page table entries.",
    ),
    absent(
        820,
        "Cache Bytes Peak",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
        "Linux keeps no peak of its cache.",
    ),
    absent(66, "Pool Paged Resident Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PAGED_POOL),
    absent(68, "System Code Total Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_KERNEL_PAGING),
    absent(70, "System Code Resident Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_KERNEL_PAGING),
    absent(72, "System Driver Total Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_KERNEL_PAGING),
    absent(74, "System Driver Resident Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_KERNEL_PAGING),
    absent(
        76,
        "System Cache Resident Bytes",
        T::PERF_COUNTER_LARGE_RAWCOUNT,
        "Linux' cache is always resident: Cache Bytes is all of it.",
    ),
    absent(
        824,
        "Transition Pages RePurposed/sec",
        T::PERF_COUNTER_COUNTER,
        "Linux reclaims pages of every kind from one set of lists, and does not count those \
         that Windows would have had in transition.",
    ),
    absent(1680, "Standby Cache Reserve Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_STANDBY),
    absent(1682, "Standby Cache Normal Priority Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_STANDBY),
    absent(1684, "Standby Cache Core Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_STANDBY),
];
