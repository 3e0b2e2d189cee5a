//! Thread 232.

use super::process::{DELAY, NICE, POLICY, REAL_TIME};
use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

/// Counters that every thread has, Idle's and `_Total` included.
pub(crate) const COMMON_COUNTERS: usize = 8;

pub(crate) static THREAD: Object = Object {
    index: 232,
    help: 233,
    name: "Thread",
    note: "Process comes along with Thread: the parent of each instance is its process. An instance's \
         name is the thread's number within its process, from 0, by ascending thread number. `Idle` \
         has a thread for each processor, as on Windows: its processor time is the idle time of that \
         processor, its thread number 0. Of context switches and waiting, Idle's threads have none. \
         The parent of `_Total` is Process' `_Total`.",
    reads: "with Process, for each thread `PID/task/TID/stat`; on request `status` and `schedstat` beside it",
    cost: Cost::Global,
    has_instances: true,
    brings: &[230],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(6, 191, "% Processor Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`PID/task/TID/stat`: `utime` + `stime`")
        .means("Processor time of the thread.")
        .differs("In steps of the kernel's tick, usually 10 ms; of 100 ns through BPF."),
    Counter::new(142, 193, "% User Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`PID/task/TID/stat`: `utime`")
        .means("Processor time in the program itself."),
    Counter::new(144, 195, "% Privileged Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .from("`PID/task/TID/stat`: `stime`")
        .means("Processor time in the kernel on behalf of the thread."),
    Counter::new(684, 685, "Elapsed Time", T::PERF_ELAPSED_TIME)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("s")
        .from("`PID/task/TID/stat`: `starttime`")
        .means("Time since the thread was started."),
    Counter::new(784, 785, "ID Process", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("number")
        .from("the entry of `/proc`")
        .means("Number of the process that the thread belongs to."),
    Counter::new(804, 805, "ID Thread", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("number")
        .from("the entry of `PID/task`")
        .means("Number of the thread; another thread may get it later.")
        .differs("The first thread of a process has the number of the process."),
    Counter::new(28, 105_101, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .unit("faults/s")
        .from("`PID/task/TID/stat`: `minflt` + `majflt`")
        .means("Page faults of the thread."),
    Counter::new(105_000, 105_103, "Major Faults/sec", T::PERF_COUNTER_COUNTER)
        .unit("faults/s")
        .from("`PID/task/TID/stat`: `majflt`")
        .means("Page faults of the thread that had to wait for storage."),
    Counter::new(146, 197, "Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `voluntary_ctxt_switches` + `nonvoluntary_ctxt_switches`")
        .since("2.6.23")
        .means("Switches from this thread to another. Idle's threads have none here."),
    Counter::new(105_010, 105_105, "Voluntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `voluntary_ctxt_switches`")
        .since("2.6.23")
        .means("Switches by which the thread gave the processor up, to wait."),
    Counter::new(105_012, 105_107, "Involuntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `nonvoluntary_ctxt_switches`")
        .since("2.6.23")
        .means("Switches by which the thread lost the processor to another."),
    Counter::new(105_014, 105_109, "% Run Queue Wait Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/schedstat`: second number")
        .since("2.6.25")
        .means(
            "Time in which the thread was ready and had no processor. A wait counts when it ends.",
        ),
    Counter::new(105_016, 105_111, "% Block I/O Delay Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/stat`: `delayacct_blkio_ticks`")
        .since("5.14")
        .means(DELAY),
    Counter::new(46, 47, "Thread State", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::WIZARD)
        .unit("state")
        .from("`PID/task/TID/stat`: `state`")
        .means(
            "0 initialized, 1 ready, 2 running, 3 standby, 4 terminated, 5 waiting, \
             6 transition, 7 unknown.",
        )
        .differs(
            "2 for `R`, which does not tell whether the thread has a processor or waits for \
             one; 5 for `S`, `D`, `I`, `T`, `t`, `P` and `K`; 4 for `Z`, `X` and `x`; 7 for any \
             other. Idle's threads and `_Total` have none.",
        ),
    Counter::new(105_002, 105_113, "Nice Level", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `nice`")
        .means(NICE),
    Counter::new(105_004, 105_115, "Real-Time Priority", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `rt_priority`")
        .means(REAL_TIME),
    Counter::new(105_006, 105_117, "Scheduling Policy", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `policy`")
        .means(POLICY),
    Counter::new(105_118, 105_119, "Last Processor", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `processor`")
        .means("The processor that the thread has, or had last."),
];

const ABSENT: &[Absent] = &[
    absent(
        336,
        "Thread Wait Reason",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux names the kernel function that a thread waits in (`wchan`), where it is allowed \
         to, which is not one of Windows' reasons.",
    ),
    absent(
        682,
        "Priority Base",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux schedules by policy and nice value, which have no place on Windows' scale of \
         0 to 31.",
    ),
    absent(
        694,
        "Priority Current",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux schedules by policy and nice value, which have no place on Windows' scale of \
         0 to 31.",
    ),
    absent(
        706,
        "Start Address",
        T::PERF_COUNTER_RAWCOUNT_HEX,
        "Linux does not keep the function that a thread began with.",
    ),
];
