//! The files of version 1 from which the counters are read, for the objects that both versions of
//! control groups have.

use super::*;

const USAGE: Source = Source {
    file: File::AcctUsage,
    form: FileFormat::Number(&[(index_of!(table::CGROUP, "% Processor Time"), nanos)]),
};
const PARTS: Source = Source {
    file: File::AcctStat,
    form: FileFormat::Lines(&[
        (index_of!(table::CGROUP, "% User Time"), b"user", ticks),
        (index_of!(table::CGROUP, "% Privileged Time"), b"system", ticks),
    ]),
};
const THROTTLED: Source = Source {
    file: File::CpuStat,
    form: FileFormat::Lines(&[
        (index_of!(table::CGROUP, "CPU Periods/sec"), b"nr_periods", same),
        (index_of!(table::CGROUP, "CPU Throttled Periods/sec"), b"nr_throttled", same),
        (index_of!(table::CGROUP, "% CPU Throttled Time"), b"throttled_time", nanos),
    ]),
};
const BYTES: Source = Source {
    file: File::MemoryUsage,
    form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Memory Bytes")),
};
const LIMIT: Source = Source {
    file: File::MemoryLimit,
    form: FileFormat::Limit(index_of!(CGROUP_MEMORY, "Memory Limit Bytes")),
};

pub(in crate::cgroup) const CGROUP: &[Source] = &[
    USAGE,
    PARTS,
    Source { file: File::Procs, form: FileFormat::Count(index_of!(table::CGROUP, "Processes")) },
    TASKS,
    THROTTLED,
    Source {
        file: File::PidsMax,
        form: FileFormat::Single(index_of!(table::CGROUP, "Tasks Limit")),
    },
];

pub(in crate::cgroup) const MEMORY: &[Source] = &[
    Source {
        file: File::MemoryStat,
        form: FileFormat::Lines(&[
            (index_of!(CGROUP_MEMORY, "Anonymous Bytes"), b"total_rss", same),
            (index_of!(CGROUP_MEMORY, "File Bytes"), b"total_cache", same),
            (index_of!(CGROUP_MEMORY, "Shared Memory Bytes"), b"total_shmem", same),
            (index_of!(CGROUP_MEMORY, "Mapped File Bytes"), b"total_mapped_file", same),
            (index_of!(CGROUP_MEMORY, "Dirty File Bytes"), b"total_dirty", same),
            (index_of!(CGROUP_MEMORY, "Writeback File Bytes"), b"total_writeback", same),
            (index_of!(CGROUP_MEMORY, "Page Faults/sec"), b"total_pgfault", same),
            (index_of!(CGROUP_MEMORY, "Major Faults/sec"), b"total_pgmajfault", same),
            (index_of!(CGROUP_MEMORY, "Swap Bytes"), b"total_swap", same),
        ]),
    },
    BYTES,
    Source {
        file: File::MemoryFailures,
        form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Limit Events")),
    },
    Source {
        file: File::OomControl,
        form: FileFormat::Lines(&[(
            index_of!(CGROUP_MEMORY, "Out of Memory Kills"),
            b"oom_kill",
            same,
        )]),
    },
    Source {
        file: File::MemoryMost,
        form: FileFormat::Single(index_of!(CGROUP_MEMORY, "Memory Peak Bytes")),
    },
    LIMIT,
];

pub(in crate::cgroup) const CONTAINER: &[Source] = &[USAGE, PARTS, BYTES, TASKS, THROTTLED, LIMIT];

pub(in crate::cgroup) const JOB: &[Source] = &[
    Source {
        file: File::AcctUsage,
        form: FileFormat::Number(&[(JOB_TIMES[0], nanos), (JOB_TOTALS[0], nano_millis)]),
    },
    Source {
        file: File::AcctStat,
        form: FileFormat::Lines(&[
            (JOB_TIMES[1], b"user", ticks),
            (JOB_TIMES[2], b"system", ticks),
            (JOB_TOTALS[1], b"user", tick_millis),
            (JOB_TOTALS[2], b"system", tick_millis),
        ]),
    },
    Source { file: File::MemoryStat, form: FileFormat::Lines(&[(PAGES, b"total_pgfault", same)]) },
];
