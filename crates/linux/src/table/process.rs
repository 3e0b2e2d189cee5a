//! The tables of the objects Process (title index 230) and Process V2.
//!
//! To add a counter of Process or Thread (Process V2 and Thread V2 have the same counters):
//! - The values stand in the order of the table. `process/sample.rs` and `process/thread_sample.rs`
//!   write them, with the group sizes at the top of this file and of `thread.rs`. These two files
//!   also list, by place, the counters that are sums (`MOST`, `GROWING`).
//! - The file of the value is parsed in `parse.rs`, and read in `process/read.rs`,
//!   `process/read_thread.rs` or, for sums over threads, `process/thread_counts.rs`. A file that a
//!   kernel may lack is in `process/kernel.rs`.
//! - If BPF gives the value, too, change `process/bpf_slot.rs`, `bpf/kernel.h`,
//!   `bpf/processes.bpf.c` and `bpf/slots.rs`.
//! - A counter on request is chosen in `process/columns.rs`.

use super::{Absent, Counter, Object};
use perfhive_engine::Cost;
use perfhive_engine::standard::{self, windows::process as w};
use perfhive_format::{CounterType as T, DetailLevel};

const NO_POOL: &str = "Linux does not account kernel memory to processes.";
const NO_PAGE_FILE: &str = "Linux promises memory to mappings, not to processes; how much of a \
    process was swapped out (`VmSwap`) is something else.";
const NO_OTHER: &str = "Linux counts reads and writes of a process only.";
const CHILDREN: &str = "Calls of the read and write family on any descriptor, met by the cache or \
    not; those of the send and recv family on sockets, and access to mapped files, do not count. \
    What ended children did is added when the process waits for them.";
const SUM: &str = "Sum of reads and writes, see there.";

/// The number of counters from `stat`, which stand at the front of the counter block. Counters that
/// a process may lack follow in groups: scheduling, `statm`, Handle Count, `status`, sums over the
/// threads, Open Descriptors, and last `io`, which only a permitted reader gets.
pub(crate) const STAT_COUNTERS: usize = 10;
/// The number of counters of the schedule: nice level, real-time priority and policy.
pub(crate) const SCHEDULE_COUNTERS: usize = 3;
/// The number of counters from `statm`.
pub(crate) const STATM_COUNTERS: usize = 3;
/// The number of counters from `status` that are peaks: of virtual and of resident memory.
pub(crate) const PEAK_COUNTERS: usize = 2;
/// The number of counters from `io`.
pub(crate) const IO_COUNTERS: usize = 9;

pub(crate) static PROCESS: Object = Object {
    index: 230,
    help: 231,
    name: "Process",
    meaning: "Counters of each process, under the name of its command. Idle stands for the time in \
         which processors had nothing to do, _Total for the sum of all.",
    note: "Instances are `Idle`, the processes by ascending process ID, and `_Total`. The name of an instance is \
         that of the command (`comm`). A byte of the name that is not UTF-8 becomes the UTF-16 unit 0xDC00 + \
         byte, so that different names remain different. If a process is itself called `_Total` or `idle`, its \
         process ID is added to the name: `idle (1234)`. `Idle` has the process ID 0, the idle time of all \
         processors as its processor time, and one thread for each processor that is switched on.\
         \n\n`_Total` is the sum of all instances that have the value, including `Idle`. Its counts keep the last \
         known counts of processes that ended, so that the sum grows by the work of each process. Processor times \
         also include the work of processes after they were last seen, and of processes that live shorter than \
         the interval: if all processes of the machine are visible, the kernel's own sums in `/proc/stat` include \
         it. In their other counts it is lost. If a count cannot be read for a while, its last value stays in the \
         sum. Processes that `/proc` hides (another PID namespace, `hidepid`) are not included.\
         \n\nThe counters from `PID/io` need permission to trace the process (an ordinary user has it for the user's \
         own processes). For other processes they have no value and are not part of `_Total`.\
         \n\nIf the BPF reader is used ([manual](cli.md#processes-through-bpf)), all values come from the kernel's \
         structures that `/proc` reports, with two differences: processor times have steps of 100 ns, up to the \
         last tick or switch of each processor, and Working Set is exact before Linux 6.17 as well.",
    reads: "`stat`, one listing of `/proc`, and for each process `PID/stat`, `PID/statm` and `PID/io`, kept open \
        (of a process with one thread that has not run since the collection before, as \
        `PID/schedstat` says from Linux 5.9 on, only that and `PID/statm`: the others would say \
        what they said, or did so a tick ago; of processes that are named alone, `PID/statm` and \
        `PID/io` only where one of their counters is read); \
        on request the size or the entries of `PID/fd`, `PID/status`, and of each thread `status`, \
        `schedstat` and `stat`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

pub(crate) static PROCESS_V2: Object = Object {
    index: standard::PROCESS_V2,
    help: standard::PROCESS_V2 + 1,
    name: "Process V2",
    meaning: "Counters of each process, under the name of its command and its number: name:1234. \
         The name stays when other processes of that name begin or end.",
    note: "As on Windows 11. The values are those of Process, of the same collection. The name is that in Process, \
         followed by a colon and the process ID, also for `Idle:0`; `_Total` keeps its name. The object is not \
         part of `Global`, which already has every process once.",
    reads: "nothing beyond what Process reads",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[230],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    w::PROCESSOR_TIME
        .means(
            "Processor time of all threads of the process, as a share of one processor: a process \
             with several threads can exceed 100.",
        )
        .from("`PID/stat`: `utime` + `stime`")
        .differs("In steps of the kernel's tick, usually 10 ms; of 100 ns through BPF."),
    w::USER_TIME
        .means(
            "Processor time that the threads of the process spent in the program itself, as a \
             share of one processor.",
        )
        .from("`PID/stat`: `utime`"),
    w::PRIVILEGED_TIME
        .means(
            "Processor time that the kernel spent on behalf of the process, as a share of one \
             processor.",
        )
        .from("`PID/stat`: `stime`"),
    w::ELAPSED_TIME
        .means("How long the process or thread has existed, in seconds.")
        .from("`PID/stat`: `starttime`"),
    w::ID_PROCESS
        .means("The number of the process. When the process has ended, another one may get it.")
        .from("the entry of `/proc`"),
    w::CREATING_PROCESS_ID
        .means(
            "The number of the process's parent. When the parent has ended, this is the process \
             that took its place.",
        )
        .from("`PID/stat`: `ppid`")
        .differs("A process whose parent ended gets another one, usually 1."),
    w::PAGE_FAULTS
        .means("Page faults of all threads of the process a second, most of which need no disk.")
        .from("`PID/stat`: `minflt` + `majflt`"),
    w::VIRTUAL_BYTES
        .means(
            "Size of the process's address space in use, in bytes. Most of it need not be in \
             memory.",
        )
        .from("`PID/stat`: `vsize`"),
    w::THREAD_COUNT
        .means("Threads of the process at this moment.")
        .from("`PID/stat`: `num_threads`"),
    Counter::new(105_000, 105_001, "Major Faults/sec", T::PERF_COUNTER_COUNTER)
        .unit("faults/s")
        .from("`PID/stat`: `majflt`")
        .means("Page faults of the process that had to wait for storage, a second."),
    Counter::new(105_002, 105_003, "Nice Level", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/stat`: `nice`")
        .means(
            "20 more than the nice value of the process's first thread: 0 is the most favoured, \
             20 the usual, 39 the least favoured.",
        ),
    Counter::new(105_004, 105_005, "Real-Time Priority", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/stat`: `rt_priority`")
        .means(
            "Priority of the process's first thread among real-time ones, 1 to 99, where more \
             goes first; 0 for a thread that is not real-time.",
        ),
    Counter::new(105_006, 105_007, "Scheduling Policy", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/stat`: `policy`")
        .means(
            "How the process's first thread is scheduled: 0 normal, 1 first in first out, 2 round \
             robin, 3 batch, 5 idle, 6 deadline, 7 extensible.",
        ),
    w::WORKING_SET
        .means(
            "Memory of the process that is resident at this moment, in bytes, pages that it \
             shares with others included.",
        )
        .from("`PID/statm`: `resident`")
        .differs("`PID/stat` has an estimate only, which may be off by a quarter."),
    w::WORKING_SET_PRIVATE
        .means("The part of Working Set that belongs to the process alone, in bytes.")
        .from("`PID/statm`: `resident` − `shared`")
        .differs("All anonymous pages, those that a child still shares included."),
    w::PRIVATE_BYTES
        .means(
            "Memory that was promised to the process and that it shares with no other, in bytes: \
             its private writable mappings and its stack, used or not.",
        )
        .from("`PID/statm`: `data`")
        .differs("Private writable mappings and the stack, touched or not."),
    w::HANDLE_COUNT
        .means("File descriptors that the process has open. Filled on request.")
        .on_request()
        .unit("descriptors")
        .from("`PID/fd`: `st_size`, before 6.2 its entries")
        .differs("File descriptors."),
    w::VIRTUAL_BYTES_PEAK
        .means(
            "The largest size that the process's address space has had, in bytes. Filled on \
             request.",
        )
        .on_request()
        .from("`PID/status`: `VmPeak`"),
    w::WORKING_SET_PEAK
        .means("The most memory that the process has had at once, in bytes. Filled on request.")
        .on_request()
        .from("`PID/status`: `VmHWM`")
        .differs("The kernel's count of resident pages for it may lag behind Working Set."),
    Counter::new(105_008, 105_009, "Swapped Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("bytes")
        .from("`PID/status`: `VmSwap`")
        .since("2.6.34")
        .means("Private memory of the process that is swapped out, in bytes."),
    Counter::new(105_010, 105_011, "Voluntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `voluntary_ctxt_switches`, all threads")
        .since("2.6.23")
        .means(
            "Switches by which threads of the process gave the processor up to wait for \
             something, a second.",
        ),
    Counter::new(105_012, 105_013, "Involuntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `nonvoluntary_ctxt_switches`, all threads")
        .since("2.6.23")
        .means("Switches by which threads of the process lost the processor to others, a second."),
    Counter::new(105_014, 105_015, "% Run Queue Wait Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/schedstat`: second number, all threads")
        .since("2.6.25")
        .means(
            "Time in which threads of the process were ready to run and had no processor; 100 is \
             one thread all the time.",
        )
        .differs("A wait counts when it ends."),
    Counter::new(105_016, 105_017, "% Block I/O Delay Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/stat`: `delayacct_blkio_ticks`, all threads")
        .since("5.14")
        .means(
            "Time in which threads of the process waited for block devices; 100 is one thread all \
             the time. Takes a kernel that was started with delayacct.",
        )
        .differs(
            "Swapping in is included. Where `delayacct` is switched on after the start, \
             threads that exist already stay at 0.",
        ),
    Counter::new(105_018, 105_019, "Open Descriptors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("descriptors")
        .from("the entries of `PID/fd`")
        .means(
            "File descriptors that the process has open. Before Linux 6.2 they are counted one by \
             one, which takes time, and permission to look at the process.",
        ),
    w::IO_READ_OPERATIONS
        .means(
            "Calls by which the process read from files, pipes and the like, a second; not those \
             of the recv family on sockets. Takes permission to look at the process.",
        )
        .from("`PID/io`: `syscr`")
        .since("2.6.20")
        .differs(CHILDREN),
    w::IO_WRITE_OPERATIONS
        .means(
            "Calls by which the process wrote to files, pipes and the like, a second; not those \
             of the send family on sockets. Takes permission to look at the process.",
        )
        .from("`PID/io`: `syscw`")
        .since("2.6.20")
        .differs(CHILDREN),
    w::IO_DATA_OPERATIONS
        .means(
            "Calls by which the process read or wrote, a second. Takes permission to look at the \
             process.",
        )
        .from("`PID/io`: `syscr` + `syscw`")
        .since("2.6.20")
        .differs(SUM),
    w::IO_READ_BYTES
        .means(
            "Bytes that the process read from files, pipes and the like, a second, whether a disk \
             was needed or not. Takes permission to look at the process.",
        )
        .from("`PID/io`: `rchar`")
        .since("2.6.20")
        .differs(CHILDREN),
    w::IO_WRITE_BYTES
        .means(
            "Bytes that the process wrote to files, pipes and the like, a second, whether they \
             got to a disk or not. Takes permission to look at the process.",
        )
        .from("`PID/io`: `wchar`")
        .since("2.6.20")
        .differs(CHILDREN),
    w::IO_DATA_BYTES
        .means(
            "Bytes that the process read or wrote, a second. Takes permission to look at the \
             process.",
        )
        .from("`PID/io`: `rchar` + `wchar`")
        .since("2.6.20")
        .differs(SUM),
    Counter::new(105_020, 105_021, "Storage Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `read_bytes`")
        .since("2.6.20")
        .means(
            "Bytes that the process caused to be read from block devices, a second. Takes \
             permission to look at the process.",
        )
        .differs("Reads of mapped files are included."),
    Counter::new(105_022, 105_023, "Storage Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `write_bytes`")
        .since("2.6.20")
        .means(
            "Bytes that the process made due to be written to block devices, a second. Takes \
             permission to look at the process.",
        )
        .differs("Counted when a page becomes dirty, or when it is written past the cache."),
    Counter::new(105_024, 105_025, "Cancelled Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `cancelled_write_bytes`")
        .since("2.6.20")
        .means(
            "Bytes due to be written that never were because the process cut or removed the file, \
             a second. Takes permission to look at the process.",
        )
        .differs("Another process may have been counted for writing them."),
];

const ABSENT: &[Absent] = &[
    w::POOL_PAGED_BYTES.absent(NO_POOL),
    w::POOL_NONPAGED_BYTES.absent(NO_POOL),
    w::PAGE_FILE_BYTES_PEAK.absent(NO_PAGE_FILE),
    w::PAGE_FILE_BYTES.absent(NO_PAGE_FILE),
    w::PRIORITY_BASE.absent(
        "Linux schedules by policy and nice value, which have no place on Windows' scale of \
         0 to 31.",
    ),
    w::IO_OTHER_OPERATIONS.absent(NO_OTHER),
    w::IO_OTHER_BYTES.absent(NO_OTHER),
];
