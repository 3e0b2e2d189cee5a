//! Process 230.

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
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
    reads: "`stat`, one listing of `/proc`, and for each process `PID/stat`, `PID/statm` and `PID/io`, kept open; \
        on request the size or the entries of `PID/fd`, `PID/status`, and of each thread `status`, \
        `schedstat` and `stat`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(6, 189, "% Processor Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`PID/stat`: `utime` + `stime`")
        .means("Processor time of all threads of the process; 100 is one processor.")
        .differs("In steps of the kernel's tick, usually 10 ms; of 100 ns through BPF."),
    Counter::new(142, 157, "% User Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`PID/stat`: `utime`")
        .means("Processor time in the program itself."),
    Counter::new(144, 159, "% Privileged Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`PID/stat`: `stime`")
        .means("Processor time in the kernel on behalf of the process."),
    Counter::new(684, 685, "Elapsed Time", T::PERF_ELAPSED_TIME)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("s")
        .from("`PID/stat`: `starttime`")
        .means("Time since the process was started."),
    Counter::new(784, 785, "ID Process", T::PERF_COUNTER_RAWCOUNT)
        .scale(-1)
        .unit("number")
        .from("the entry of `/proc`")
        .means("Number of the process; another process may get it later."),
    Counter::new(1410, 1411, "Creating Process ID", T::PERF_COUNTER_RAWCOUNT)
        .scale(-1)
        .unit("number")
        .from("`PID/stat`: `ppid`")
        .means("Number of the process that created this one; it may have ended.")
        .differs("A process whose parent ended gets another one, usually 1."),
    Counter::new(28, 177, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .unit("faults/s")
        .from("`PID/stat`: `minflt` + `majflt`")
        .means("Page faults of all threads of the process."),
    Counter::new(174, 175, "Virtual Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::EXPERT)
        .unit("bytes")
        .from("`PID/stat`: `vsize`")
        .means("Size of the address space in use."),
    Counter::new(680, 681, "Thread Count", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("threads")
        .from("`PID/stat`: `num_threads`")
        .means("Threads at this moment."),
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
    Counter::new(180, 181, "Working Set", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .unit("bytes")
        .from("`PID/statm`: `resident`")
        .means("Memory of the process that is resident, shared pages included.")
        .differs("`PID/stat` has an estimate only, which may be off by a quarter."),
    Counter::new(1478, 1479, "Working Set - Private", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .unit("bytes")
        .from("`PID/statm`: `resident` − `shared`")
        .means("The part of Working Set that no other process has or can have.")
        .differs("All anonymous pages, those that a child still shares included."),
    Counter::new(186, 187, "Private Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes")
        .from("`PID/statm`: `data`")
        .means("Memory that was promised to the process and is not shared.")
        .differs("Private writable mappings and the stack, touched or not."),
    Counter::new(952, 953, "Handle Count", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("descriptors")
        .from("`PID/fd`: `st_size`")
        .since("6.2")
        .means("Handles that the process has open.")
        .differs("File descriptors."),
    Counter::new(172, 173, "Virtual Bytes Peak", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .detail(DetailLevel::EXPERT)
        .on_request()
        .unit("bytes")
        .from("`PID/status`: `VmPeak`")
        .means("Largest Virtual Bytes so far."),
    Counter::new(178, 179, "Working Set Peak", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-5)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("bytes")
        .from("`PID/status`: `VmHWM`")
        .means("Largest Working Set so far.")
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
    Counter::new(1412, 1413, "IO Read Operations/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("operations/s")
        .from("`PID/io`: `syscr`")
        .since("2.6.20")
        .means("Read operations on files, devices and the network.")
        .differs(CHILDREN),
    Counter::new(1414, 1415, "IO Write Operations/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("operations/s")
        .from("`PID/io`: `syscw`")
        .since("2.6.20")
        .means("Write operations on files, devices and the network.")
        .differs(CHILDREN),
    Counter::new(1416, 1417, "IO Data Operations/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("operations/s")
        .from("`PID/io`: `syscr` + `syscw`")
        .since("2.6.20")
        .means("Read and write operations together.")
        .differs(SUM),
    Counter::new(1420, 1421, "IO Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `rchar`")
        .since("2.6.20")
        .means("Bytes read from files, devices and the network.")
        .differs(CHILDREN),
    Counter::new(1422, 1423, "IO Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `wchar`")
        .since("2.6.20")
        .means("Bytes written to files, devices and the network.")
        .differs(CHILDREN),
    Counter::new(1424, 1425, "IO Data Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("bytes/s")
        .from("`PID/io`: `rchar` + `wchar`")
        .since("2.6.20")
        .means("Bytes read and written together.")
        .differs(SUM),
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
    absent(56, "Pool Paged Bytes", T::PERF_COUNTER_RAWCOUNT, NO_POOL),
    absent(58, "Pool Nonpaged Bytes", T::PERF_COUNTER_RAWCOUNT, NO_POOL),
    absent(182, "Page File Bytes Peak", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PAGE_FILE),
    absent(184, "Page File Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PAGE_FILE),
    absent(
        682,
        "Priority Base",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux schedules by policy and nice value, which have no place on Windows' scale of \
         0 to 31.",
    ),
    absent(1418, "IO Other Operations/sec", T::PERF_COUNTER_BULK_COUNT, NO_OTHER),
    absent(1426, "IO Other Bytes/sec", T::PERF_COUNTER_BULK_COUNT, NO_OTHER),
];
