//! The table of the object Objects (title index 260).

use crate::table::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::CounterType as T;

const NO_OBJECTS: &str = "Programs on Linux make these in their own memory; the kernel learns only of those that \
     threads wait for, and counts none.";

pub(crate) static OBJECTS_OF_WINDOWS: Object = Object {
    index: 260,
    help: 261,
    name: "Objects",
    meaning: "Counts of what the kernel holds for programs at this moment.",
    note: "In a container whose `/proc` has no `sys/fs`, the counters from 100300 are missing.",
    reads: "`loadavg`, `stat`, three files of `sys/fs`, one listing of `/proc`",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: COUNTERS,
    absent: ABSENT,
};

const COUNTERS: &[Counter] = &[
    Counter::new(248, 249, "Processes", T::PERF_COUNTER_RAWCOUNT)
        .unit("processes")
        .from("the numeric entries of `/proc`, and Idle")
        .means(
            "Processes at this moment, Idle included. Processes that this /proc hides are not \
             counted.",
        )
        .differs("Only processes that this mount of `/proc` shows (PID namespace, `hidepid`)."),
    Counter::new(250, 251, "Threads", T::PERF_COUNTER_RAWCOUNT)
        .unit("threads")
        .from("`loadavg`: fourth field; `stat`: one idle thread for each `cpuN` line")
        .means(
            "Threads of the whole machine at this moment, with one idle thread for each \
             processor.",
        )
        .differs("Always of the whole machine, in a PID namespace too."),
    Counter::new(100_300, 100_301, "Open Files", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("files")
        .from("`sys/fs/file-nr`: first number")
        .means("Files, sockets and the like that are open, each as often as it was opened."),
    Counter::new(100_302, 100_303, "Open File Limit", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("files")
        .from("`sys/fs/file-nr`: third number")
        .means("How many files may be open on the whole machine."),
    Counter::new(100_304, 100_305, "Inodes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("inodes")
        .from("`sys/fs/inode-nr`: first number")
        .means("Files and folders of which the kernel holds a description in memory."),
    Counter::new(100_306, 100_307, "Unused Inodes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("inodes")
        .from("`sys/fs/inode-nr`: second number")
        .means("Inodes in memory that are unused and can be given up."),
    Counter::new(100_308, 100_309, "Directory Entries", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("entries")
        .from("`sys/fs/dentry-state`: first number")
        .means("Names of files and folders that the kernel holds in memory."),
    Counter::new(100_310, 100_311, "Unused Directory Entries", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("entries")
        .from("`sys/fs/dentry-state`: second number")
        .means("Directory entries in memory that are unused and can be given up."),
];

const ABSENT: &[Absent] = &[
    absent(252, "Events", T::PERF_COUNTER_RAWCOUNT, NO_OBJECTS),
    absent(
        254,
        "Semaphores",
        T::PERF_COUNTER_RAWCOUNT,
        "Those of POSIX are in the memory of programs, where the kernel does not count them; the \
         few of System V would be a part for the whole.",
    ),
    absent(256, "Mutexes", T::PERF_COUNTER_RAWCOUNT, NO_OBJECTS),
    absent(
        258,
        "Sections",
        T::PERF_COUNTER_RAWCOUNT,
        "Linux counts mappings for each process alone, and no sections that they \
             belong to.",
    ),
];
