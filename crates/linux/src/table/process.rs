//! Process 230.

use super::{Absent, Counter, Object};
use perfhive_engine::Cost;
use perfhive_engine::standard::windows::process as w;
use perfhive_format::{CounterType as T, DetailLevel};

const NO_POOL: &str = "Linux does not account kernel memory to processes.";
const NO_PAGE_FILE: &str = "Linux promises memory to mappings, not to processes; how much of a \
    process was swapped out (`VmSwap`) is something else.";
const NO_OTHER: &str = "Linux counts reads and writes of a process only.";
const CHILDREN: &str = "Calls of the read and write family on any descriptor, met by the cache or \
    not; those of the send and recv family on sockets, and access to mapped files, do not count. \
    What ended children did is added when the process waits for them.";
const SUM: &str = "Sum of reads and writes, see there.";

pub(super) const NICE: &str = "20 more than the nice value, as counters have no sign: 0 is nice −20, \
    the most favoured, 20 the usual nice 0, 39 nice 19.";
pub(super) const REAL_TIME: &str = "1 to 99, where more goes first; 0 of what is not scheduled in real \
    time.";
pub(super) const POLICY: &str = "0 normal, 1 first in first out, 2 round robin, 3 batch, 5 idle, \
    6 deadline, 7 extensible.";
pub(super) const DELAY: &str = "Time in which threads waited for block devices, swapping in included; \
    100 is one thread all the time. Only where the kernel was started with `delayacct`: where that is \
    switched on later, threads that are there already stay at 0.";

/// Counters from `stat`, at the front of the counter block. What can be missing
/// for one process stands behind it, in groups: the schedule, `statm`, the
/// size of `fd`, `status`, sums over the threads, a listing of `fd`, and last
/// `io`, which takes a permission.
pub(crate) const STAT_COUNTERS: usize = 10;
/// Counters of the schedule.
pub(crate) const SCHEDULE_COUNTERS: usize = 3;
/// Counters from `statm`.
pub(crate) const STATM_COUNTERS: usize = 3;
/// Peaks from `status`.
pub(crate) const PEAK_COUNTERS: usize = 2;
/// Counters from `io`.
pub(crate) const IO_COUNTERS: usize = 9;

pub(crate) static PROCESS: Object = Object {
    index: 230,
    help: 231,
    name: "Process",
    note: "Instances are `Idle`, the processes by ascending number, and `_Total`. An instance's name is \
         the command's (`comm`); a byte in it that is no UTF-8 becomes the UTF-16 unit 0xDC00 + byte, \
         so that different names stay different. `Idle` has the number 0, the idle time of all \
         processors as its processor time, and as many threads as processors are on. `_Total` is the \
         sum of all instances that have the value, `Idle` included. Processes that `/proc` hides \
         (another PID namespace, `hidepid`) are not there.\n\n\
         The counters from `PID/io` take permission to trace the process (an ordinary user's own \
         processes); for others they have no value. Those are then not in `_Total` either.\n\n\
         Where the BPF reader is used ([manual](cli.md#processes-through-bpf)), all values are those \
         of the kernel's structures that `/proc` tells, with two differences: processor times are in \
         steps of 100 ns, up to the last tick or switch of each processor, and Working Set is exact \
         before Linux 6.17 too.",
    reads: "`stat`, one listing of `/proc`, and for each process `PID/stat`, `PID/statm` and `PID/io`, kept open \
        (of a process with one thread that has not run since the collection before, as \
        `PID/schedstat` says from Linux 5.9 on, only that and `PID/statm`: the others would say \
        what they said, or did so a tick ago); \
        on request the size or the entries of `PID/fd`, `PID/status`, and of each thread `status`, \
        `schedstat` and `stat`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    w::PROCESSOR_TIME
        .from("`PID/stat`: `utime` + `stime`")
        .differs("In steps of the kernel's tick, usually 10 ms; of 100 ns through BPF."),
    w::USER_TIME.from("`PID/stat`: `utime`"),
    w::PRIVILEGED_TIME.from("`PID/stat`: `stime`"),
    w::ELAPSED_TIME.from("`PID/stat`: `starttime`"),
    w::ID_PROCESS.from("the entry of `/proc`"),
    w::CREATING_PROCESS_ID
        .from("`PID/stat`: `ppid`")
        .differs("A process whose parent ended gets another one, usually 1."),
    w::PAGE_FAULTS.from("`PID/stat`: `minflt` + `majflt`"),
    w::VIRTUAL_BYTES.from("`PID/stat`: `vsize`"),
    w::THREAD_COUNT.from("`PID/stat`: `num_threads`"),
    Counter::new(105_000, 105_001, "Major Faults/sec", T::PERF_COUNTER_COUNTER)
        .unit("faults/s")
        .from("`PID/stat`: `majflt`")
        .means("Page faults of all threads of the process that had to wait for storage."),
    Counter::new(105_002, 105_003, "Nice Level", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/stat`: `nice`")
        .means(NICE),
    Counter::new(105_004, 105_005, "Real-Time Priority", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/stat`: `rt_priority`")
        .means(REAL_TIME),
    Counter::new(105_006, 105_007, "Scheduling Policy", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/stat`: `policy`")
        .means(POLICY),
    w::WORKING_SET
        .from("`PID/statm`: `resident`")
        .differs("`PID/stat` has an estimate only, which may be off by a quarter."),
    w::WORKING_SET_PRIVATE
        .from("`PID/statm`: `resident` − `shared`")
        .differs("All anonymous pages, those that a child still shares included."),
    w::PRIVATE_BYTES
        .from("`PID/statm`: `data`")
        .differs("Private writable mappings and the stack, touched or not."),
    w::HANDLE_COUNT
        .on_request()
        .unit("descriptors")
        .from("`PID/fd`: `st_size`")
        .since("6.2")
        .differs("File descriptors."),
    w::VIRTUAL_BYTES_PEAK.on_request().from("`PID/status`: `VmPeak`"),
    w::WORKING_SET_PEAK
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
        .means("Private memory of the process that is swapped out; not that of shared memory."),
    Counter::new(105_010, 105_011, "Voluntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `voluntary_ctxt_switches`, all threads")
        .since("2.6.23")
        .means("Switches by which a thread of the process gave the processor up, to wait."),
    Counter::new(105_012, 105_013, "Involuntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `nonvoluntary_ctxt_switches`, all threads")
        .since("2.6.23")
        .means("Switches by which a thread of the process lost the processor to another."),
    Counter::new(105_014, 105_015, "% Run Queue Wait Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/schedstat`: second number, all threads")
        .since("2.6.25")
        .means(
            "Time in which threads of the process were ready and had no processor; 100 is one \
             thread all the time. A wait counts when it ends.",
        ),
    Counter::new(105_016, 105_017, "% Block I/O Delay Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/stat`: `delayacct_blkio_ticks`, all threads")
        .since("5.14")
        .means(DELAY),
    Counter::new(105_018, 105_019, "Open Descriptors", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("descriptors")
        .from("the entries of `PID/fd`")
        .means(
            "File descriptors that the process has open, counted one by one where the kernel is \
             older than 6.2, which takes time and permission; else as Handle Count.",
        ),
    w::IO_READ_OPERATIONS.from("`PID/io`: `syscr`").since("2.6.20").differs(CHILDREN),
    w::IO_WRITE_OPERATIONS.from("`PID/io`: `syscw`").since("2.6.20").differs(CHILDREN),
    w::IO_DATA_OPERATIONS.from("`PID/io`: `syscr` + `syscw`").since("2.6.20").differs(SUM),
    w::IO_READ_BYTES.from("`PID/io`: `rchar`").since("2.6.20").differs(CHILDREN),
    w::IO_WRITE_BYTES.from("`PID/io`: `wchar`").since("2.6.20").differs(CHILDREN),
    w::IO_DATA_BYTES.from("`PID/io`: `rchar` + `wchar`").since("2.6.20").differs(SUM),
    Counter::new(105_020, 105_021, "Storage Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `read_bytes`")
        .since("2.6.20")
        .means(
            "Bytes that the process caused to be read from block devices, mapped files included.",
        ),
    Counter::new(105_022, 105_023, "Storage Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `write_bytes`")
        .since("2.6.20")
        .means(
            "Bytes that the process made the cache owe to block devices, counted when a page \
             becomes dirty, or written past the cache.",
        ),
    Counter::new(105_024, 105_025, "Cancelled Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `cancelled_write_bytes`")
        .since("2.6.20")
        .means(
            "Bytes owed to block devices that were never written, because the process cut or \
             removed the file; another process may have been counted for writing them.",
        ),
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
