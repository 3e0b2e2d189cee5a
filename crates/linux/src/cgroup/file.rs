//! The files of a control group that are read.

/// A file in the folder of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    CpuStat,
    CpuWeight,
    CpuMax,
    CpuPressure,
    MemoryStat,
    MemoryCurrent,
    MemoryEvents,
    MemoryPeak,
    MemoryMax,
    MemoryHigh,
    MemoryPressure,
    SwapCurrent,
    SwapMax,
    IoStat,
    IoPressure,
    IrqPressure,
    PidsCurrent,
    PidsMax,
    Events,
    Stat,
    Procs,
    // Files of version 1.
    AcctUsage,
    AcctStat,
    MemoryUsage,
    MemoryLimit,
    MemoryMost,
    MemoryFailures,
    OomControl,
}

impl File {
    pub(super) const COUNT: usize = 28;

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CpuStat => "cpu.stat",
            Self::CpuWeight => "cpu.weight",
            Self::CpuMax => "cpu.max",
            Self::CpuPressure => "cpu.pressure",
            Self::MemoryStat => "memory.stat",
            Self::MemoryCurrent => "memory.current",
            Self::MemoryEvents => "memory.events",
            Self::MemoryPeak => "memory.peak",
            Self::MemoryMax => "memory.max",
            Self::MemoryHigh => "memory.high",
            Self::MemoryPressure => "memory.pressure",
            Self::SwapCurrent => "memory.swap.current",
            Self::SwapMax => "memory.swap.max",
            Self::IoStat => "io.stat",
            Self::IoPressure => "io.pressure",
            Self::IrqPressure => "irq.pressure",
            Self::PidsCurrent => "pids.current",
            Self::PidsMax => "pids.max",
            Self::Events => "cgroup.events",
            Self::Stat => "cgroup.stat",
            Self::Procs => "cgroup.procs",
            Self::AcctUsage => "cpuacct.usage",
            Self::AcctStat => "cpuacct.stat",
            Self::MemoryUsage => "memory.usage_in_bytes",
            Self::MemoryLimit => "memory.limit_in_bytes",
            Self::MemoryMost => "memory.max_usage_in_bytes",
            Self::MemoryFailures => "memory.failcnt",
            Self::OomControl => "memory.oom_control",
        }
    }

    /// The controller of the file: in version 1, only the hierarchy of that controller has the
    /// file. `None` for the files `cgroup.*`, which belong to no controller.
    pub(super) fn controller(self) -> Option<&'static str> {
        let (controller, _) = self.name().split_once('.')?;
        (controller != "cgroup").then_some(controller)
    }

    pub(super) fn bit(self) -> u32 {
        1 << self as u32
    }
}
