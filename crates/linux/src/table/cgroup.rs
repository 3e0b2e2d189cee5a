//! The tables of the objects Cgroup, of a control group's memory, IO, pressure and processes, of
//! containers, and of Job Object.

use super::{Absent, Counter, Object, absent};
use perfhive_engine::Cost;
use perfhive_format::{CounterType as T, DetailLevel};

pub(crate) static OBJECTS: &[&Object] = &[
    &CGROUP,
    &CGROUP_MEMORY,
    &CGROUP_IO,
    &CGROUP_PRESSURE,
    &CGROUP_PROCESS,
    &CONTAINER,
    &CONTAINER_PROCESS,
    &JOB_OBJECT,
];

const LIMIT: &str = "No value where there is no limit, nor for the limits that follow it in the same counter \
     block.";
const DEVICES: &str = "All devices together: a device that lies on another (LVM, RAID, encryption) counts, and so \
     does the one below it.";

pub(crate) static CGROUP: Object = Object {
    index: 104_000,
    help: 104_001,
    name: "Cgroup",
    meaning: "Control groups of Linux under their paths; each includes the groups in \
         it. Processor time, tasks, and limits.",
    note: "Instances are the control groups, each before the groups in it. The name is the path below the mount \
         point, such as `/system.slice/ssh.service`; `/` is the root. Every group includes the groups in it, so \
         that there is no `_Total`.\
         \n\nThe groups are those of version 2, whose files are given below as sources. If version 1 has the \
         controller of processors or memory, its groups are read instead, from all its hierarchies, by their \
         paths: times from `cpuacct.usage` and `cpuacct.stat` (in ticks), memory from `memory.usage_in_bytes` and \
         the `total_` words of `memory.stat`, limits from `memory.limit_in_bytes`. Input and output, pressure and \
         CPU Limit need version 2.\
         \n\nA group has memory, input and output, and pressure each only if the controller for it is on. Each \
         controller has its own object, with the groups that have the controller as instances, so that a \
         controller that is off hides no other values. If no group has a controller, its object is missing, and a \
         fault says so. Groups beyond 65,536, and groups more than 64 levels deep, are left out with a fault. \
         Symbolic links are not followed.",
    reads: "`self/mountinfo` once, the folders of all groups, and for each group `cpu.stat` and \
        `pids.current`, kept open as far as the budget of descriptors allows",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[],
    counters: &[
        usage(104_101)
            .means("Processor time of the processes in the control group; 100 is one processor."),
        user(104_103).means("Processor time of the control group in the programs themselves."),
        privileged(104_105).means("Processor time of the control group in the kernel."),
        id(104_107).means("Number of the control group, unique as long as it is there."),
        Counter::new(104_022, 104_023, "Descendants", T::PERF_COUNTER_RAWCOUNT)
            .on_request()
            .unit("groups")
            .from("`cgroup.stat`: `nr_descendants`")
            .since("4.14")
            .means("Groups in the control group, at all levels."),
        Counter::new(248, 104_109, "Processes", T::PERF_COUNTER_RAWCOUNT)
            .on_request()
            .unit("processes")
            .from("lines of `cgroup.procs`")
            .means("Processes in the control group itself, not in groups in it."),
        tasks(104_111)
            .means("Processes and their further threads in the control group and those in it."),
        Counter::new(104_026, 104_027, "Populated", T::PERF_COUNTER_RAWCOUNT)
            .on_request()
            .unit("0 or 1")
            .from("`cgroup.events`: `populated`")
            .means("1 where the control group or one in it has a process, otherwise 0."),
        Counter::new(104_028, 104_029, "Frozen", T::PERF_COUNTER_RAWCOUNT)
            .on_request()
            .unit("0 or 1")
            .from("`cgroup.events`: `frozen`")
            .since("5.2")
            .means("1 where all processes of the control group are held up, otherwise 0."),
        periods(104_113).means(
            "Periods of the control group's limit on processor time that went by while there was \
                 something to do, a second.",
        ),
        throttled_periods(104_115).means(
            "Periods in which the control group used its limit on processor time up, a second.",
        ),
        throttled_time(104_117).means(
            "Time in which the limit on processor time held the control group up, added up over \
                 processors.",
        ),
        Counter::new(104_038, 104_039, "CPU Weight", T::PERF_COUNTER_RAWCOUNT)
            .on_request()
            .unit("number")
            .from("`cpu.weight`")
            .means(
                "Share of processor time that the control group gets among its neighbours, 1 to \
                 10000; 100 is the usual.",
            ),
        Counter::new(104_040, 104_041, "Tasks Limit", T::PERF_COUNTER_RAWCOUNT)
            .on_request()
            .unit("tasks")
            .from("`pids.max`")
            .since("4.3")
            .means("Most processes and threads that the control group may have.")
            .differs(LIMIT),
        cpu_limit(104_119)
            .means("Limit on the control group's processor time in percent of one processor."),
    ],
    absent: &[],
};

pub(crate) static CGROUP_MEMORY: Object = Object {
    index: 104_002,
    help: 104_003,
    name: "Cgroup Memory",
    meaning: "Memory of those control groups that have the memory controller.",
    note: "Instances are the groups of Cgroup that have the memory controller. The root has none of the totals, and \
         is an instance only if counters from `memory.stat` are requested.",
    reads: "as Cgroup, and for each group `memory.current`, `memory.swap.current` and `memory.events`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[],
    counters: &[
        memory_stat(104_200, "Anonymous Bytes", "`memory.stat`: `anon`")
            .means("Memory of programs that belongs to no file, in bytes."),
        memory_stat(104_202, "File Bytes", "`memory.stat`: `file`")
            .means("Pages of files in the cache, shared memory included, in bytes."),
        memory_stat(104_204, "Shared Memory Bytes", "`memory.stat`: `shmem`")
            .means("Shared memory and files of tmpfs, in bytes."),
        memory_stat(104_206, "Mapped File Bytes", "`memory.stat`: `file_mapped`")
            .means("Pages of files that are mapped into address spaces, in bytes."),
        memory_stat(104_208, "Dirty File Bytes", "`memory.stat`: `file_dirty`")
            .means("Changed pages of files that are still to be written, in bytes."),
        memory_stat(104_210, "Writeback File Bytes", "`memory.stat`: `file_writeback`")
            .means("Pages of files that are being written, in bytes."),
        memory_stat(104_212, "Socket Bytes", "`memory.stat`: `sock`")
            .means("Buffers of network connections, in bytes."),
        memory_stat(104_214, "Slab Bytes", "`memory.stat`: `slab`")
            .means("The kernel's own small objects, in bytes."),
        memory_stat(104_216, "Kernel Bytes", "`memory.stat`: `kernel`")
            .since("5.18")
            .means("Memory of the kernel for the control group, in bytes.")
            .differs("Slab, stacks, page tables and others."),
        Counter::new(28, 104_219, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
            .scale(-1)
            .on_request()
            .unit("faults/s")
            .from("`memory.stat`: `pgfault`")
            .means(
                "Page faults of the control group, a second, whether storage was needed or not.",
            ),
        Counter::new(105_000, 104_221, "Major Faults/sec", T::PERF_COUNTER_COUNTER)
            .on_request()
            .unit("faults/s")
            .from("`memory.stat`: `pgmajfault`")
            .means("Page faults of the control group that had to wait for storage, a second."),
        memory(104_223)
            .means("Memory that the control group uses, cache included, in bytes.")
            .differs("What the kernel holds for the group is included."),
        swap(104_225).means("Memory of the control group that is swapped out, in bytes."),
        event(104_234, "High Events", "`memory.events`: `high`").means(
            "How often processes were held up because the control group was above its high limit, \
                 since it was made.",
        ),
        event(104_236, "Limit Events", "`memory.events`: `max`").means(
            "How often the control group was about to go beyond its memory limit, since it was \
                 made.",
        ),
        event(104_238, "Out of Memory Events", "`memory.events`: `oom`").means(
            "How often memory could not be had within the limit, since the control group was \
                 made.",
        ),
        event(104_240, "Out of Memory Kills", "`memory.events`: `oom_kill`")
            .since("4.13")
            .means("Processes of the control group that were killed because no memory was left."),
        Counter::new(104_242, 104_243, "Memory Peak Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .on_request()
            .unit("bytes")
            .from("`memory.peak`")
            .since("5.19")
            .means("Most memory that the control group used so far, in bytes."),
        memory_limit(104_227).means("Most memory that the control group may use, in bytes."),
        Counter::new(104_246, 104_247, "Memory High Limit Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .on_request()
            .unit("bytes")
            .from("`memory.high`")
            .means("Memory beyond which processes of the control group are held up, in bytes.")
            .differs(LIMIT),
        Counter::new(104_248, 104_249, "Swap Limit Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .on_request()
            .unit("bytes")
            .from("`memory.swap.max`")
            .means("Most memory of the control group that may be swapped out, in bytes.")
            .differs(LIMIT),
    ],
    absent: &[],
};

pub(crate) static CGROUP_IO: Object = Object {
    index: 104_004,
    help: 104_005,
    name: "Cgroup IO",
    meaning: "Input and output of those control groups that have the io controller.",
    note: "Instances are the groups of Cgroup that have the io controller.",
    reads: "as Cgroup, and for each group `io.stat`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[],
    counters: &[
        bytes_read(104_301)
            .means("Bytes that the control group read from block devices, a second."),
        bytes_written(104_303)
            .means("Bytes that the control group wrote to block devices, a second."),
        reads(104_305)
            .means("Operations by which the control group read from block devices, a second."),
        writes(104_307)
            .means("Operations by which the control group wrote to block devices, a second."),
        Counter::new(104_308, 104_309, "Discarded Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .scale(-4)
            .unit("bytes/s")
            .from("`io.stat`: `dbytes`")
            .since("4.19")
            .means("Bytes that the control group told block devices to forget, a second.")
            .differs(DEVICES),
        Counter::new(104_310, 104_311, "Discards/sec", T::PERF_COUNTER_COUNTER)
            .unit("operations/s")
            .from("`io.stat`: `dios`")
            .since("4.19")
            .means(
                "Operations by which the control group told block devices to forget something, a \
                 second.",
            )
            .differs(DEVICES),
    ],
    absent: &[],
};

pub(crate) static CGROUP_PRESSURE: Object = Object {
    index: 104_006,
    help: 104_007,
    name: "Cgroup Pressure",
    meaning: "How long tasks of control groups had to wait for processors, memory, or input and \
         output.",
    note: "Instances are the groups of Cgroup for which the kernel measures pressure: how long tasks of the group \
         had to wait for processors, memory, or input and output. *Some* is the time in which at least one task \
         waited. *Full* is the time in which all tasks that had something to do waited. The root of all groups \
         has no % Full CPU Pressure: it has no meaning for a whole machine, and the kernel prints 0 for it (since \
         5.19).",
    reads: "as Cgroup, and for each group `cpu.pressure`, `memory.pressure`, `io.pressure` and `irq.pressure`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[],
    counters: &[
        pressure(104_402, "% Some CPU Pressure", "`cpu.pressure`: `some`, `total`")
            .means("Time in which some task of the control group waited for a processor."),
        pressure(104_406, "% Some Memory Pressure", "`memory.pressure`: `some`, `total`")
            .means("Time in which some task of the control group waited for memory."),
        pressure(104_408, "% Full Memory Pressure", "`memory.pressure`: `full`, `total`")
            .means("Time in which all tasks of the control group waited for memory."),
        pressure(104_410, "% Some IO Pressure", "`io.pressure`: `some`, `total`")
            .means("Time in which some task of the control group waited for input or output."),
        pressure(104_412, "% Full IO Pressure", "`io.pressure`: `full`, `total`")
            .means("Time in which all tasks of the control group waited for input or output."),
        pressure(104_414, "% Full IRQ Pressure", "`irq.pressure`: `full`, `total`")
            .since("6.1")
            .means("Time in which interrupts kept tasks of the control group from running."),
        pressure(104_404, "% Full CPU Pressure", "`cpu.pressure`: `full`, `total`")
            .since("5.13")
            .means("Time in which all tasks of the control group waited for a processor."),
    ],
    absent: &[],
};

pub(crate) static CGROUP_PROCESS: Object = Object {
    index: 104_008,
    help: 104_009,
    name: "Cgroup Process",
    meaning: "The processes in control groups; the parent of each is its group.",
    note: "Cgroup is always collected with this object: the parent of each instance is the group of the process. \
         Instances are the processes by ascending process ID, with their names in Process; ID Process identifies \
         the process there. The processes of the root are included. If a group is divided by threads, its \
         processes belong to the group above it that has the processes.",
    reads: "as Cgroup, and for each group `cgroup.procs`, for each process `PID/stat`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[CGROUP.index],
    counters: &[
        process_id(104_501).means("The number of the process in the control group."),
        id(104_503).means(
            "Number of the control group that the process is in, unique as long as it is there.",
        ),
    ],
    absent: &[],
};

pub(crate) static CONTAINER: Object = Object {
    index: 104_010,
    help: 104_011,
    name: "Container",
    meaning: "Control groups that a container runtime made, as their paths tell.",
    note: "Instances are the control groups with a path as container runtimes make it. The name is `runtime/id`, \
         with the first 12 digits of the identifier, such as `docker/f4d3b90bea15`. The paths are \
         `docker-ID.scope` and `docker/ID`, `libpod-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`, \
         `nerdctl-ID`, `kubepods/.../ID`, `ecs/.../ID`, other groups with a name of 64 hexadecimal digits \
         (`container/id`), and `buildkit/ID`. The name is `runtime/name` for `lxc/NAME`, `lxc.payload.NAME`, \
         `machine.slice/machine-NAME.scope` (`machine/NAME`, which includes virtual machines of libvirt) and \
         `systemd-nspawn@NAME.service` (`nspawn/NAME`). perfhive does not ask the runtimes. ID Cgroup identifies \
         the group. Without containers, the object has no instances.",
    reads: "the folders of all groups, and for each container `cpu.stat`, `memory.current`, \
        `pids.current`, `io.stat` and `memory.swap.current`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[],
    counters: &[
        usage(104_601)
            .means("Processor time of the processes in the container; 100 is one processor."),
        user(104_603).means("Processor time of the container in the programs themselves."),
        privileged(104_605).means("Processor time of the container in the kernel."),
        id(104_607)
            .means("Number of the container's control group, unique as long as it is there."),
        memory(104_609)
            .means("Memory that the container uses, cache included, in bytes.")
            .differs("What the kernel holds for the container is included."),
        tasks(104_611).means("Processes and their further threads in the container."),
        bytes_read(104_613).means("Bytes that the container read from block devices, a second."),
        bytes_written(104_615).means("Bytes that the container wrote to block devices, a second."),
        reads(104_617)
            .means("Operations by which the container read from block devices, a second."),
        writes(104_619)
            .means("Operations by which the container wrote to block devices, a second."),
        periods(104_621).means(
            "Periods of the container's limit on processor time that went by while there was \
                 something to do, a second.",
        ),
        throttled_periods(104_623)
            .means("Periods in which the container used its limit on processor time up, a second."),
        throttled_time(104_625).means(
            "Time in which the limit on processor time held the container up, added up over \
                 processors.",
        ),
        swap(104_627).means("Memory of the container that is swapped out, in bytes."),
        memory_limit(104_629).means("Most memory that the container may use, in bytes."),
        cpu_limit(104_631)
            .means("Limit on the container's processor time in percent of one processor."),
    ],
    absent: &[],
};

pub(crate) static CONTAINER_PROCESS: Object = Object {
    index: 104_012,
    help: 104_013,
    name: "Container Process",
    meaning: "The processes in containers; the parent of each is its container.",
    note: "Container is always collected with this object: the parent of each instance is the innermost container \
         of the process, in any of the container's groups. Instances are the processes in containers by ascending \
         process ID, with their names in Process. ID Cgroup is that of the group itself.",
    reads: "as Container, and for each group in a container `cgroup.procs`, for each process `PID/stat`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[CONTAINER.index],
    counters: &[
        process_id(104_701).means("The number of the process in the container."),
        id(104_703).means(
            "Number of the control group within the container that the process is in, unique as \
             long as it is there.",
        ),
    ],
    absent: &[],
};

pub(crate) static JOB_OBJECT: Object = Object {
    index: 1500,
    help: 1501,
    name: "Job Object",
    meaning: "Processor time and page faults of groups of processes: on Linux, of the control \
         groups under their paths.",
    note: "Instances are those of Cgroup: a control group, like a job, is a set of processes that is counted and \
         limited together, and may contain further groups. Page faults need the memory controller. The processes \
         of a group are in Cgroup Process, which takes the place of Windows' Job Object Details.",
    reads: "as Cgroup, and for each group `cpu.stat` and `memory.stat`",
    cost: Cost::Costly,
    has_instances: true,
    brings: &[],
    counters: JOB_COUNTERS,
    absent: NO_JOB,
};

const JOB_COUNTERS: &[Counter] = &[
    Counter::new(1502, 1503, "Current % Processor Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `usage_usec`")
        .means("Processor time of the processes in the group; 100 is one processor."),
    Counter::new(1504, 1505, "Current % User Mode Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `user_usec`")
        .means("Processor time of the group in the programs themselves."),
    Counter::new(1506, 1507, "Current % Kernel Mode Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `system_usec`")
        .means("Processor time of the group in the kernel."),
    Counter::new(1522, 1523, "Total mSec - Processor", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("ms")
        .from("`cpu.stat`: `usage_usec`")
        .means(
            "Processor time of the group since it was made, in milliseconds, with that of \
            processes that ended.",
        ),
    Counter::new(1524, 1525, "Total mSec - User Mode", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("ms")
        .from("`cpu.stat`: `user_usec`")
        .means("Processor time of the group in programs since it was made, in milliseconds."),
    Counter::new(1526, 1527, "Total mSec - Kernel Mode", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .unit("ms")
        .from("`cpu.stat`: `system_usec`")
        .means("Processor time of the group in the kernel since it was made, in milliseconds."),
    Counter::new(104_020, 104_801, "ID Cgroup", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("number")
        .from("the folder's inode")
        .means("Number of the control group behind the job, unique as long as it is there."),
    Counter::new(1514, 1515, "Pages/Sec", T::PERF_COUNTER_COUNTER)
        .unit("faults/s")
        .from("`memory.stat`: `pgfault`")
        .means("Page faults of the processes in the group, a second.")
        .differs("Without a value where the group has no memory controller."),
];

const NO_PERIOD: &str = "A control group has no time limit whose period could begin anew.";
const NO_COUNT: &str = "A control group lists its own processes, not those of the groups in it, and \
    forgets those that ended; see Cgroup: Processes and Tasks.";
const NO_JOB: &[Absent] = &[
    absent(1508, "This Period mSec - Processor", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PERIOD),
    absent(1510, "This Period mSec - User Mode", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PERIOD),
    absent(1512, "This Period mSec - Kernel Mode", T::PERF_COUNTER_LARGE_RAWCOUNT, NO_PERIOD),
    absent(1516, "Process Count - Total", T::PERF_COUNTER_RAWCOUNT, NO_COUNT),
    absent(1518, "Process Count - Active", T::PERF_COUNTER_RAWCOUNT, NO_COUNT),
    absent(1520, "Process Count - Terminated", T::PERF_COUNTER_RAWCOUNT, NO_COUNT),
];

const fn usage(help: u32) -> Counter {
    Counter::new(6, help, "% Processor Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `usage_usec`")
        .since("4.15")
}

const fn user(help: u32) -> Counter {
    Counter::new(142, help, "% User Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `user_usec`")
        .since("4.15")
}

const fn privileged(help: u32) -> Counter {
    Counter::new(144, help, "% Privileged Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `system_usec`")
        .since("4.15")
}

const fn id(help: u32) -> Counter {
    Counter::new(104_020, help, "ID Cgroup", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("number")
        .from("the folder's inode")
}

const fn process_id(help: u32) -> Counter {
    Counter::new(784, help, "ID Process", T::PERF_COUNTER_RAWCOUNT)
        .scale(-1)
        .unit("number")
        .from("`cgroup.procs`")
}

const fn tasks(help: u32) -> Counter {
    Counter::new(104_030, help, "Tasks", T::PERF_COUNTER_RAWCOUNT)
        .unit("tasks")
        .from("`pids.current`")
        .since("4.3")
}

const fn periods(help: u32) -> Counter {
    Counter::new(104_032, help, "CPU Periods/sec", T::PERF_COUNTER_COUNTER)
        .unit("periods/s")
        .from("`cpu.stat`: `nr_periods`")
}

const fn throttled_periods(help: u32) -> Counter {
    Counter::new(104_034, help, "CPU Throttled Periods/sec", T::PERF_COUNTER_COUNTER)
        .unit("periods/s")
        .from("`cpu.stat`: `nr_throttled`")
}

const fn throttled_time(help: u32) -> Counter {
    Counter::new(104_036, help, "% CPU Throttled Time", T::PERF_100NSEC_TIMER)
        .unit("%")
        .from("`cpu.stat`: `throttled_usec`")
}

const fn cpu_limit(help: u32) -> Counter {
    Counter::new(104_042, help, "CPU Limit", T::PERF_COUNTER_RAWCOUNT)
        .on_request()
        .unit("%")
        .from("`cpu.max`: quota / period")
        .differs(LIMIT)
}

const fn memory(help: u32) -> Counter {
    Counter::new(104_230, help, "Memory Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`memory.current`")
}

const fn swap(help: u32) -> Counter {
    Counter::new(104_232, help, "Swap Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .unit("bytes")
        .from("`memory.swap.current`")
}

const fn memory_limit(help: u32) -> Counter {
    Counter::new(104_244, help, "Memory Limit Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .on_request()
        .unit("bytes")
        .from("`memory.max`")
        .differs(LIMIT)
}

const fn memory_stat(index: u32, name: &'static str, source: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_COUNTER_LARGE_RAWCOUNT)
        .scale(-6)
        .on_request()
        .unit("bytes")
        .from(source)
}

const fn event(index: u32, name: &'static str, source: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_COUNTER_RAWCOUNT).unit("events").from(source)
}

const fn bytes_read(help: u32) -> Counter {
    Counter::new(105_020, help, "Storage Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .unit("bytes/s")
        .from("`io.stat`: `rbytes`")
        .differs(DEVICES)
}

const fn bytes_written(help: u32) -> Counter {
    Counter::new(105_022, help, "Storage Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
        .scale(-4)
        .unit("bytes/s")
        .from("`io.stat`: `wbytes`")
        .differs(DEVICES)
}

const fn reads(help: u32) -> Counter {
    Counter::new(104_304, help, "Storage Reads/sec", T::PERF_COUNTER_COUNTER)
        .unit("operations/s")
        .from("`io.stat`: `rios`")
        .differs(DEVICES)
}

const fn writes(help: u32) -> Counter {
    Counter::new(104_306, help, "Storage Writes/sec", T::PERF_COUNTER_COUNTER)
        .unit("operations/s")
        .from("`io.stat`: `wios`")
        .differs(DEVICES)
}

const fn pressure(index: u32, name: &'static str, source: &'static str) -> Counter {
    Counter::new(index, index + 1, name, T::PERF_100NSEC_TIMER).unit("%").from(source).since("4.20")
}
