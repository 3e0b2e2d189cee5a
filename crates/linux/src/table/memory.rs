//! The table of the object Memory (title index 4).

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

const NO_FAULT_KINDS: &str =
    "Linux counts page faults in all and those that waited for a disk, and no other kinds.";
const NO_HARD_PAGES: &str = "Linux counts the pages that swapping moves and all traffic of block \
    devices; the pages that hard faults read, or that were written to free memory, are neither. \
    See Swap Pages In/sec, Block KBytes In/sec and those beside them.";
const NO_PAGED_POOL: &str = "Linux' kernel memory is never paged out.";
const NO_KERNEL_PAGING: &str =
    "Linux does not page its own code or drivers, and reports no sizes of them.";
const NO_STANDBY: &str = "Linux has no standby lists by priority; what can be had without paging \
    is all in Available Bytes.";

const IN_USE: Counter = Counter::new(1406, 1407, "% Committed Bytes In Use", T::PERF_RAW_FRACTION)
    .detail(DetailLevel::EXPERT)
    .unit("%")
    .from("`meminfo`: `Committed_AS` / `CommitLimit`")
    .means(
        "Committed Bytes as a share of Commit Limit. More than 100 is possible where the kernel \
         does not keep to the limit.",
    )
    .differs("May exceed 100, see Commit Limit.");

pub(crate) static MEMORY: Object = Object {
    index: 4,
    help: 5,
    name: "Memory",
    meaning: "Counters of physical memory, of memory promised to programs, and of paging.",
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
        .means(
            "Memory that programs can have without anything being swapped out, in bytes: free \
             memory and what the cache can give up, as the kernel estimates it.",
        )
        .differs("The kernel's estimate of what can be had without swapping."),
    Counter::new(1380, 1381, "Available KBytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("KB")
        .from("`meminfo`: `MemAvailable`")
        .since("3.14")
        .means(
            "Memory that programs can have without anything being swapped out, in units of 1024 \
             bytes.",
        ),
    Counter::new(1382, 1383, "Available MBytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("MB")
        .from("`meminfo`: `MemAvailable`")
        .since("3.14")
        .means(
            "Memory that programs can have without anything being swapped out, in units of 1024 \
             times 1024 bytes.",
        ),
    Counter::new(26, 27, "Committed Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::EXPERT)
        .unit("bytes")
        .from("`meminfo`: `Committed_AS`")
        .means("Memory that was promised to programs, whether they have used it or not, in bytes."),
    Counter::new(30, 31, "Commit Limit", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::WIZARD)
        .unit("bytes")
        .from("`meminfo`: `CommitLimit`")
        .since("2.6.10")
        .means(
            "How much memory can be promised to programs, in bytes. The kernel keeps to it only \
             where vm.overcommit_memory is 2.",
        )
        .differs("Kept only where `vm.overcommit_memory` is 2."),
    IN_USE,
    Counter::base(&IN_USE),
    Counter::new(28, 29, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .unit("faults/s")
        .from("`vmstat`: `pgfault`")
        .means("Page faults of the whole machine a second, most of which need no disk."),
    Counter::new(42, 43, "Page Reads/sec", T::PERF_COUNTER_COUNTER)
        .detail(DetailLevel::EXPERT)
        .unit("reads/s")
        .from("`vmstat`: `pgmajfault`")
        .means(
            "Page faults of the whole machine a second that had to wait for a disk. A lasting \
             high rate means that memory is short.",
        )
        .differs("Faults that had to wait for a disk; each counts once."),
    Counter::new(818, 819, "Cache Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`meminfo`: `Cached` + `Buffers` − `Shmem`")
        .since("2.6.32")
        .means(
            "Memory that holds contents of files and block devices, in bytes. Most of it is given \
             up when programs need memory.",
        )
        .differs("The page cache of files and block devices, without shared memory."),
    Counter::new(58, 59, "Pool Nonpaged Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`meminfo`: `SUnreclaim`")
        .since("2.6.19")
        .means(
            "Memory for objects of the kernel that cannot be given up while they exist, in \
             bytes.",
        )
        .differs("Slab memory that cannot be reclaimed; not page tables and stacks."),
    Counter::new(1676, 1677, "Free & Zero Page List Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("bytes")
        .from("`meminfo`: `MemFree`")
        .means(
            "Memory that holds nothing at all, in bytes. A low value is not a sign of shortage: see \
             Available Bytes.",
        ),
    Counter::new(1678, 1679, "Modified Page List Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("bytes")
        .from("`meminfo`: `Dirty`")
        .means(
            "Memory with changed contents of files that must be written to a disk before it can \
             be used for something else, in bytes.",
        )
        .differs("Changed pages of files; anonymous memory is not in it."),
    Counter::new(100_100, 100_101, "Total Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `MemTotal`")
        .means("Memory of the machine, without what the kernel took for itself at the start."),
    Counter::new(100_102, 100_103, "Swap Total Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `SwapTotal`")
        .means("Room that there is for memory on swap devices."),
    Counter::new(100_104, 100_105, "Swap Free Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `SwapFree`")
        .means("Room on swap devices that holds nothing."),
    Counter::new(100_106, 100_107, "Swap Cached Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `SwapCached`")
        .means("Memory that was read back from a swap device and is there unchanged as well."),
    Counter::new(100_108, 100_109, "Buffer Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Buffers`")
        .means("Contents of block devices in memory, apart from contents of files."),
    Counter::new(100_110, 100_111, "Active Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Active`")
        .means("Memory that was used lately, and is the last to be taken back."),
    Counter::new(100_112, 100_113, "Inactive Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Inactive`")
        .means("Memory that was not used lately, and is the first to be taken back."),
    Counter::new(100_114, 100_115, "Unevictable Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Unevictable`")
        .since("2.6.28")
        .means("Memory that must stay, for example because a program locked it."),
    Counter::new(100_116, 100_117, "Anonymous Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `AnonPages`")
        .since("2.6.18")
        .means("Memory of programs that belongs to no file."),
    Counter::new(100_118, 100_119, "Anonymous Huge Page Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `AnonHugePages`")
        .since("2.6.38")
        .means("The part of memory of programs that the kernel keeps in huge pages by itself."),
    Counter::new(100_120, 100_121, "Mapped Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Mapped`")
        .means("Contents of files that programs have mapped, such as their code."),
    Counter::new(100_122, 100_123, "Shared Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Shmem`")
        .since("2.6.32")
        .means("Shared memory, and files that live in memory alone (tmpfs)."),
    Counter::new(100_124, 100_125, "Writeback Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Writeback`")
        .means("Memory that is being written to a disk at this moment."),
    Counter::new(100_126, 100_127, "Slab Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Slab`")
        .means("Memory of the kernel's own objects."),
    Counter::new(100_128, 100_129, "Slab Reclaimable Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `SReclaimable`")
        .since("2.6.19")
        .means(
            "The part of memory of the kernel's own objects that can be given up, such as cached \
             names of files.",
        ),
    Counter::new(100_130, 100_131, "Page Table Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `PageTables`")
        .since("2.6.18")
        .means("Memory of the tables that map the addresses of programs."),
    Counter::new(100_132, 100_133, "Kernel Stack Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `KernelStack`")
        .since("2.6.32")
        .means("Memory of the stacks that threads have in the kernel."),
    Counter::new(100_134, 100_135, "Huge Pages Total", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`meminfo`: `HugePages_Total`")
        .means("Huge pages in the pool that the administrator set aside."),
    Counter::new(100_136, 100_137, "Huge Pages Free", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("pages")
        .from("`meminfo`: `HugePages_Free`")
        .means("Unused huge pages of the pool."),
    Counter::new(100_138, 100_139, "Huge Page Size", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Hugepagesize`")
        .means("Size of a huge page of the pool."),
    Counter::new(100_140, 100_141, "Zswap Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Zswap`")
        .since("5.19")
        .means("Memory that holds compressed pages in place of a swap device."),
    Counter::new(100_142, 100_143, "Zswapped Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`meminfo`: `Zswapped`")
        .since("5.19")
        .means("What the compressed pages in place of a swap device were before."),
    Counter::new(100_150, 100_151, "Swap Pages In/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `pswpin`")
        .means("Pages that were read from swap devices."),
    Counter::new(100_152, 100_153, "Swap Pages Out/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `pswpout`")
        .means("Pages that were written to swap devices."),
    Counter::new(100_154, 100_155, "Block KBytes In/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .unit("KB/s")
        .from("`vmstat`: `pgpgin`")
        .means("Units of 1024 bytes that were read from block devices, for whatever reason."),
    Counter::new(100_156, 100_157, "Block KBytes Out/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .unit("KB/s")
        .from("`vmstat`: `pgpgout`")
        .means("Units of 1024 bytes that were written to block devices, for whatever reason."),
    Counter::new(100_158, 100_159, "Out of Memory Kills/sec", T::PERF_COUNTER_COUNTER)
        .unit("processes/s")
        .from("`vmstat`: `oom_kill`")
        .since("4.13")
        .means(
            "Processes that the kernel ended because memory was short, control groups included.",
        ),
    Counter::new(100_160, 100_161, "Allocation Stalls/sec", T::PERF_COUNTER_COUNTER)
        .unit("stalls/s")
        .from("`vmstat`: `allocstall` or all `allocstall_*`")
        .means("Requests for memory that had to take memory back themselves before they got any."),
    Counter::new(100_162, 100_163, "Pages Scanned Directly/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `pgscan_direct` or all `pgscan_direct_*`")
        .means("Pages that requests for memory scanned to take them back."),
    Counter::new(100_164, 100_165, "Pages Scanned in Background/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `pgscan_kswapd` or all `pgscan_kswapd_*`")
        .means("Pages that the kernel looked at in the background to take them back."),
    Counter::new(100_166, 100_167, "Pages Reclaimed/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `pgsteal_kswapd*` + `pgsteal_direct*`")
        .means("Pages that were taken back from their users, at once or in the background."),
    Counter::new(100_168, 100_169, "Compaction Stalls/sec", T::PERF_COUNTER_COUNTER)
        .unit("stalls/s")
        .from("`vmstat`: `compact_stall`")
        .since("2.6.35")
        .means("Requests that had to move other memory first to get a large piece."),
    Counter::new(100_170, 100_171, "NUMA Hits/sec", T::PERF_COUNTER_COUNTER)
        .scale(-3)
        .unit("pages/s")
        .from("`vmstat`: `numa_hit`")
        .means("Pages that were taken from the node that they were wanted of."),
    Counter::new(100_172, 100_173, "NUMA Misses/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `numa_miss`")
        .means("Pages that were taken from a node although they were wanted of another."),
    Counter::new(100_174, 100_175, "Working Set Refaults/sec", T::PERF_COUNTER_COUNTER)
        .unit("pages/s")
        .from("`vmstat`: `workingset_refault` or all `workingset_refault_*`")
        .since("3.15")
        .means("Pages that had to be read again shortly after they were taken back."),
    Counter::new(100_176, 100_177, "Huge Page Faults/sec", T::PERF_COUNTER_COUNTER)
        .unit("faults/s")
        .from("`vmstat`: `thp_fault_alloc`")
        .since("2.6.38")
        .means("Page faults that the kernel answered with a huge page by itself."),
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
    absent(
        100_198,
        "Long-Term Average Standby Cache Lifetime (s)",
        T::PERF_COUNTER_RAWCOUNT,
        NO_STANDBY,
    ),
];
