//! The tables of the objects Thread (title index 232) and Thread V2.

use super::{Absent, Counter, Object, PROCESS, PROCESS_V2};
use perfhive_engine::Cost;
use perfhive_engine::standard::{self, windows::thread as w};
use perfhive_format::{CounterType as T, DetailLevel};

/// The number of counters that every thread has, even a thread of Idle and `_Total`.
pub(crate) const COMMON_COUNTERS: usize = 8;

pub(crate) static THREAD: Object = Object {
    index: 232,
    help: 233,
    name: "Thread",
    meaning: "Counters of each thread, under its number within its process. _Total is the sum of \
         all.",
    note: "Process is always collected with Thread: the parent of each instance is its process. The name of an \
         instance is the thread's number within its process, counted from 0 in the order of thread IDs. `Idle` \
         has a thread for each processor, as on Windows, with the idle time of that processor and the thread ID \
         0. The threads of `Idle` have no context switches and no waiting. The parent of `_Total` is the `_Total` \
         of Process, and the `_Total` of Thread has the processor times and page faults of that instance, \
         including those of threads that ended.",
    reads: "with Process, for each thread `PID/task/TID/stat`; on request `status` and `schedstat` beside it",
    cost: Cost::Global,
    has_instances: true,
    brings: &[PROCESS.index],
    counters: COUNTERS,
    absent: ABSENT,
};

pub(crate) static THREAD_V2: Object = Object {
    index: standard::THREAD_V2,
    help: standard::THREAD_V2 + 1,
    name: "Thread V2",
    meaning: "Counters of each thread, under the name and number of its process and its own number: \
         name:1234/1240. The name stays when other threads begin or end.",
    note: "The values are those of Thread, of the same collection. The parent of an instance is its process in \
         Process V2, and its name is the thread ID. The threads of `Idle:0` have the numbers of their processors. \
         The object is not part of `Global`, which already has every thread once.",
    reads: "nothing beyond what Thread reads",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[PROCESS.index, THREAD.index, PROCESS_V2.index],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    w::PROCESSOR_TIME
        .means("Processor time of the thread, as a share of one processor.")
        .from("`PID/task/TID/stat`: `utime` + `stime`")
        .differs("In steps of the kernel's tick, usually 10 ms; of 100 ns through BPF."),
    w::USER_TIME
        .means(
            "Processor time that the thread spent in the program itself, as a share of one \
             processor.",
        )
        .from("`PID/task/TID/stat`: `utime`"),
    w::PRIVILEGED_TIME
        .means(
            "Processor time that the kernel spent on behalf of the thread, as a share of one \
             processor.",
        )
        .from("`PID/task/TID/stat`: `stime`"),
    w::ELAPSED_TIME
        .means("How long the process or thread has existed, in seconds.")
        .from("`PID/task/TID/stat`: `starttime`"),
    w::ID_PROCESS
        .means("The number of the process. When the process has ended, another one may get it.")
        .from("the entry of `/proc`"),
    w::ID_THREAD
        .means("The number of the thread. When the thread has ended, another one may get it.")
        .from("the entry of `PID/task`")
        .differs("The first thread of a process has the number of the process."),
    Counter::new(28, 105_101, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
        .scale(-1)
        .unit("faults/s")
        .from("`PID/task/TID/stat`: `minflt` + `majflt`")
        .means("Page faults of this thread, a second, whether storage was needed or not."),
    Counter::new(105_000, 105_103, "Major Faults/sec", T::PERF_COUNTER_COUNTER)
        .unit("faults/s")
        .from("`PID/task/TID/stat`: `majflt`")
        .means("Page faults of the thread that had to wait for storage, a second."),
    w::CONTEXT_SWITCHES
        .on_request()
        .from("`PID/task/TID/status`: `voluntary_ctxt_switches` + `nonvoluntary_ctxt_switches`")
        .since("2.6.23")
        .means(
            "Switches from this thread to another, a second: those by which it gave the processor \
             up, and those by which it lost it.",
        )
        .differs("Idle's threads have none."),
    Counter::new(105_010, 105_105, "Voluntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `voluntary_ctxt_switches`")
        .since("2.6.23")
        .means(
            "Switches by which the thread gave the processor up to wait for something, a second.",
        ),
    Counter::new(105_012, 105_107, "Involuntary Context Switches/sec", T::PERF_COUNTER_COUNTER)
        .scale(-2)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("switches/s")
        .from("`PID/task/TID/status`: `nonvoluntary_ctxt_switches`")
        .since("2.6.23")
        .means("Switches by which the thread lost the processor to another, a second."),
    Counter::new(105_014, 105_109, "% Run Queue Wait Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/schedstat`: second number")
        .since("2.6.25")
        .means("Time in which the thread was ready to run and had no processor.")
        .differs("A wait counts when it ends."),
    Counter::new(105_016, 105_111, "% Block I/O Delay Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("%")
        .from("`PID/task/TID/stat`: `delayacct_blkio_ticks`")
        .since("5.14")
        .means(
            "Time in which the thread waited for block devices. Takes a kernel that was started \
             with delayacct.",
        )
        .differs(
            "Swapping in is included. Where `delayacct` is switched on after the start, \
             threads that exist already stay at 0.",
        ),
    w::THREAD_STATE
        .means(
            "What the thread does: 0 initialized, 1 ready, 2 running or about to, 3 standby, 4 \
             terminated, 5 waiting, 6 transition, 7 unknown. Linux tells only what corresponds to \
             2, 4, 5 and 7.",
        )
        .from("`PID/task/TID/stat`: `state`")
        .differs(
            "2 for `R`, whether the thread has a processor or waits for one; 5 for `S`, `D`, \
             `I`, `T`, `t`, `P` and `K`; 4 for `Z`, `X` and `x`; 7 for any other. Idle's threads \
             and `_Total` have none.",
        ),
    Counter::new(105_002, 105_113, "Nice Level", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `nice`")
        .means(
            "20 more than the nice value of the thread: 0 is the most favoured, 20 the usual, 39 \
             the least favoured.",
        ),
    Counter::new(105_004, 105_115, "Real-Time Priority", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `rt_priority`")
        .means(
            "Priority of the thread among real-time ones, 1 to 99, where more goes first; 0 for \
             a thread that is not real-time.",
        ),
    Counter::new(105_006, 105_117, "Scheduling Policy", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `policy`")
        .means(
            "How the thread is scheduled: 0 normal, 1 first in first out, 2 round robin, 3 batch, \
             5 idle, 6 deadline, 7 extensible.",
        ),
    Counter::new(105_118, 105_119, "Last Processor", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .on_request()
        .unit("number")
        .from("`PID/task/TID/stat`: `processor`")
        .means("Number of the processor that the thread has, or had last."),
];

const ABSENT: &[Absent] = &[
    w::THREAD_WAIT_REASON.absent(
        "Linux names the kernel function that a thread waits in (`wchan`), where it is allowed \
         to, which is not one of Windows' reasons.",
    ),
    w::PRIORITY_BASE.absent(
        "Linux schedules by policy and nice value, which have no place on Windows' scale of \
         0 to 31.",
    ),
    w::PRIORITY_CURRENT.absent(
        "Linux schedules by policy and nice value, which have no place on Windows' scale of \
         0 to 31.",
    ),
    w::START_ADDRESS.absent("Linux does not keep the function that a thread began with."),
];
