//! The counters of System, Processor, Process and Thread as Windows defines them: index and help
//! index, English name, type, scale and level of detail. The help texts are perfhive's own.
//!
//! The definitions are those in the blocks of a Windows machine; a test compares them with recorded
//! blocks. The tables that use them add from what each value is made.

use super::Counter;
use perfhive_format::{CounterType as T, DetailLevel};

/// The object System, title index 2.
pub mod system {
    use super::{Counter, DetailLevel, T};

    /// The counter `File Read Operations/sec` of System.
    pub const FILE_READ_OPERATIONS: Counter =
        Counter::new(10, 11, "File Read Operations/sec", T::PERF_COUNTER_COUNTER)
            .unit("operations/s")
            .means(
                "Calls per second with which programs read from files and devices, whether the \
                 cache has the data or not.",
            );
    /// The counter `File Write Operations/sec` of System.
    pub const FILE_WRITE_OPERATIONS: Counter =
        Counter::new(12, 13, "File Write Operations/sec", T::PERF_COUNTER_COUNTER)
            .unit("operations/s")
            .means(
                "Calls per second with which programs write to files and devices, through the \
                 cache or not.",
            );
    /// The counter `File Control Operations/sec` of System.
    pub const FILE_CONTROL_OPERATIONS: Counter =
        Counter::new(14, 15, "File Control Operations/sec", T::PERF_COUNTER_COUNTER)
            .detail(DetailLevel::ADVANCED)
            .unit("operations/s")
            .means(
                "Calls per second on files and devices that neither read nor write, such as \
                 control calls.",
            );
    /// The counter `File Read Bytes/sec` of System.
    pub const FILE_READ_BYTES: Counter =
        Counter::new(16, 17, "File Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .scale(-4)
            .detail(DetailLevel::EXPERT)
            .unit("bytes/s")
            .means(
                "Bytes per second that programs read from files and devices, whether the cache \
                 has the data or not.",
            );
    /// The counter `File Write Bytes/sec` of System.
    pub const FILE_WRITE_BYTES: Counter =
        Counter::new(18, 19, "File Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .scale(-4)
            .detail(DetailLevel::EXPERT)
            .unit("bytes/s")
            .means(
                "Bytes per second that programs write to files and devices, through the cache or \
                 not.",
            );
    /// The counter `File Control Bytes/sec` of System.
    pub const FILE_CONTROL_BYTES: Counter =
        Counter::new(20, 21, "File Control Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .scale(-3)
            .detail(DetailLevel::WIZARD)
            .unit("bytes/s")
            .means("Bytes per second of calls on files and devices that neither read nor write.");
    /// The counter `Context Switches/sec` of System.
    pub const CONTEXT_SWITCHES: Counter =
        Counter::new(146, 147, "Context Switches/sec", T::PERF_COUNTER_COUNTER)
            .scale(-2)
            .detail(DetailLevel::ADVANCED)
            .unit("switches/s")
            .means(
                "Switches from one thread to another on all processors of the machine, a \
                 second.",
            );
    /// The counter `System Calls/sec` of System.
    pub const SYSTEM_CALLS: Counter =
        Counter::new(150, 151, "System Calls/sec", T::PERF_COUNTER_COUNTER)
            .scale(-1)
            .detail(DetailLevel::ADVANCED)
            .unit("calls/s")
            .means(
                "Calls per second from programs to the kernel, on all processors of the machine.",
            );
    /// The counter `File Data Operations/sec` of System.
    pub const FILE_DATA_OPERATIONS: Counter =
        Counter::new(406, 407, "File Data Operations/sec", T::PERF_COUNTER_COUNTER)
            .unit("operations/s")
            .means("Calls per second with which programs read from or write to files and devices.");
    /// The counter `System Up Time` of System.
    pub const SYSTEM_UP_TIME: Counter =
        Counter::new(674, 675, "System Up Time", T::PERF_ELAPSED_TIME)
            .scale(-5)
            .unit("s")
            .means("Time since the machine was started.");
    /// The counter `Processor Queue Length` of System.
    pub const PROCESSOR_QUEUE_LENGTH: Counter =
        Counter::new(44, 45, "Processor Queue Length", T::PERF_COUNTER_RAWCOUNT)
            .scale(1)
            .detail(DetailLevel::WIZARD)
            .unit("threads")
            .means(
                "Threads that are ready to run and wait for a processor, for all processors \
                 together. If there are more than two for each processor for a long time, the \
                 machine has too few processors.",
            );
    /// The counter `Processes` of System.
    pub const PROCESSES: Counter = Counter::new(248, 249, "Processes", T::PERF_COUNTER_RAWCOUNT)
        .scale(1)
        .detail(DetailLevel::WIZARD)
        .unit("processes")
        .means("Processes at this moment, Idle included.");
    /// The counter `Threads` of System.
    pub const THREADS: Counter = Counter::new(250, 251, "Threads", T::PERF_COUNTER_RAWCOUNT)
        .scale(1)
        .detail(DetailLevel::WIZARD)
        .unit("threads")
        .means("Threads of the whole machine at this moment, including the threads of Idle.");
    /// The counter `Alignment Fixups/sec` of System.
    pub const ALIGNMENT_FIXUPS: Counter =
        Counter::new(686, 687, "Alignment Fixups/sec", T::PERF_COUNTER_COUNTER)
            .detail(DetailLevel::WIZARD)
            .unit("fixups/s")
            .means("Faults per second of unaligned access that the kernel repaired.");
    /// The counter `Exception Dispatches/sec` of System.
    pub const EXCEPTION_DISPATCHES: Counter =
        Counter::new(688, 689, "Exception Dispatches/sec", T::PERF_COUNTER_COUNTER)
            .detail(DetailLevel::WIZARD)
            .unit("exceptions/s")
            .means("Exceptions per second that the kernel dispatched.");
    /// The counter `Floating Emulations/sec` of System.
    pub const FLOATING_EMULATIONS: Counter =
        Counter::new(690, 691, "Floating Emulations/sec", T::PERF_COUNTER_COUNTER)
            .detail(DetailLevel::WIZARD)
            .unit("emulations/s")
            .means(
                "Floating-point instructions per second that the kernel executed in place of the \
                 processor.",
            );
    /// The counter `% Registry Quota In Use` of System.
    pub const REGISTRY_QUOTA_IN_USE: Counter =
        Counter::new(1350, 1351, "% Registry Quota In Use", T::PERF_RAW_FRACTION)
            .detail(DetailLevel::ADVANCED)
            .unit("%");
}

/// The object Processor, title index 238.
pub mod processor {
    use super::{Counter, DetailLevel, T};

    /// The counter `% Processor Time` of Processor.
    pub const PROCESSOR_TIME: Counter =
        Counter::new(6, 7, "% Processor Time", T::PERF_100NSEC_TIMER_INV).unit("%").means(
            "Share of time in which the processor was not idle. It is measured as the time in \
             which the idle thread did not run.",
        );
    /// The counter `% User Time` of Processor.
    pub const USER_TIME: Counter = Counter::new(142, 143, "% User Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .means("Share of time that the processor spent in programs.");
    /// The counter `% Privileged Time` of Processor.
    pub const PRIVILEGED_TIME: Counter =
        Counter::new(144, 145, "% Privileged Time", T::PERF_100NSEC_TIMER)
            .detail(DetailLevel::ADVANCED)
            .unit("%")
            .means(
                "Share of time that the processor spent in the kernel, including interrupts and \
                 deferred procedure calls.",
            );
    /// The counter `Interrupts/sec` of Processor.
    pub const INTERRUPTS: Counter =
        Counter::new(148, 149, "Interrupts/sec", T::PERF_COUNTER_COUNTER)
            .scale(-2)
            .unit("interrupts/s")
            .means("Hardware interrupts per second that the processor handled.");
    /// The counter `% DPC Time` of Processor.
    pub const DPC_TIME: Counter = Counter::new(696, 339, "% DPC Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .means(
            "Share of time that the processor spent on deferred procedure calls. It is \
                 part of % Privileged Time.",
        );
    /// The counter `% Interrupt Time` of Processor.
    pub const INTERRUPT_TIME: Counter =
        Counter::new(698, 397, "% Interrupt Time", T::PERF_100NSEC_TIMER)
            .detail(DetailLevel::ADVANCED)
            .unit("%")
            .means(
                "Share of time that the processor spent on hardware interrupts. It is part of \
                 % Privileged Time.",
            );
    /// The counter `DPCs Queued/sec` of Processor.
    pub const DPCS_QUEUED: Counter =
        Counter::new(1334, 1335, "DPCs Queued/sec", T::PERF_COUNTER_COUNTER)
            .detail(DetailLevel::ADVANCED)
            .unit("calls/s");
    /// The counter `DPC Rate` of Processor.
    pub const DPC_RATE: Counter = Counter::new(1336, 1337, "DPC Rate", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::ADVANCED)
        .unit("calls");
    /// The counter `% Idle Time` of Processor.
    pub const IDLE_TIME: Counter = Counter::new(1746, 1747, "% Idle Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::WIZARD)
        .unit("%")
        .means("Share of time in which the processor was idle.");
    /// The counter `% C1 Time` of Processor.
    pub const C1_TIME: Counter = Counter::new(1748, 1749, "% C1 Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::WIZARD)
        .unit("%");
    /// The counter `% C2 Time` of Processor.
    pub const C2_TIME: Counter = Counter::new(1750, 1751, "% C2 Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::WIZARD)
        .unit("%");
    /// The counter `% C3 Time` of Processor.
    pub const C3_TIME: Counter = Counter::new(1752, 1753, "% C3 Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::WIZARD)
        .unit("%");
    /// The counter `C1 Transitions/sec` of Processor.
    pub const C1_TRANSITIONS: Counter =
        Counter::new(1754, 1755, "C1 Transitions/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::WIZARD)
            .unit("transitions/s");
    /// The counter `C2 Transitions/sec` of Processor.
    pub const C2_TRANSITIONS: Counter =
        Counter::new(1756, 1757, "C2 Transitions/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::WIZARD)
            .unit("transitions/s");
    /// The counter `C3 Transitions/sec` of Processor.
    pub const C3_TRANSITIONS: Counter =
        Counter::new(1758, 1759, "C3 Transitions/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::WIZARD)
            .unit("transitions/s");
}

/// The object Process, title index 230.
pub mod process {
    use super::{Counter, DetailLevel, T};

    /// The counter `% Processor Time` of Process.
    pub const PROCESSOR_TIME: Counter =
        Counter::new(6, 189, "% Processor Time", T::PERF_100NSEC_TIMER).unit("%").means(
            "Processor time of all threads of the process; 100 is one processor. A process with \
             several threads may exceed 100.",
        );
    /// The counter `% User Time` of Process.
    pub const USER_TIME: Counter = Counter::new(142, 157, "% User Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .means(
            "Processor time that the process spent in its program and libraries, not in \
                 the kernel.",
        );
    /// The counter `% Privileged Time` of Process.
    pub const PRIVILEGED_TIME: Counter =
        Counter::new(144, 159, "% Privileged Time", T::PERF_100NSEC_TIMER)
            .detail(DetailLevel::ADVANCED)
            .unit("%")
            .means("Processor time that the kernel spent on behalf of the process.");
    /// The counter `Virtual Bytes Peak` of Process.
    pub const VIRTUAL_BYTES_PEAK: Counter =
        Counter::new(172, 173, "Virtual Bytes Peak", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .detail(DetailLevel::EXPERT)
            .unit("bytes")
            .means("Largest Virtual Bytes since the process was started.");
    /// The counter `Virtual Bytes` of Process.
    pub const VIRTUAL_BYTES: Counter =
        Counter::new(174, 175, "Virtual Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .detail(DetailLevel::EXPERT)
            .unit("bytes")
            .means(
                "Size of the address space that the process uses, in bytes, whether memory is \
                 assigned to it or not.",
            );
    /// The counter `Page Faults/sec` of Process.
    pub const PAGE_FAULTS: Counter =
        Counter::new(28, 177, "Page Faults/sec", T::PERF_COUNTER_COUNTER)
            .scale(-1)
            .unit("faults/s")
            .means(
                "Page faults of all threads of the process a second, most of which need no \
                 disk.",
            );
    /// The counter `Working Set Peak` of Process.
    pub const WORKING_SET_PEAK: Counter =
        Counter::new(178, 179, "Working Set Peak", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-5)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes")
            .means("Largest Working Set since the process was started.");
    /// The counter `Working Set` of Process.
    pub const WORKING_SET: Counter =
        Counter::new(180, 181, "Working Set", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-5)
            .unit("bytes")
            .means(
                "Memory of the process that is resident, in bytes, including pages that it shares \
                 with other processes.",
            );
    /// The counter `Page File Bytes Peak` of Process.
    pub const PAGE_FILE_BYTES_PEAK: Counter =
        Counter::new(182, 183, "Page File Bytes Peak", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes")
            .means("Largest Page File Bytes since the process was started.");
    /// The counter `Page File Bytes` of Process.
    pub const PAGE_FILE_BYTES: Counter =
        Counter::new(184, 185, "Page File Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-6)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes")
            .means("Memory that the process has reserved in paging files, in bytes.");
    /// The counter `Private Bytes` of Process.
    pub const PRIVATE_BYTES: Counter =
        Counter::new(186, 187, "Private Bytes", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-5)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes")
            .means(
                "Committed memory that the process cannot share with other processes, in bytes.",
            );
    /// The counter `Thread Count` of Process.
    pub const THREAD_COUNT: Counter =
        Counter::new(680, 681, "Thread Count", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("threads")
            .means("Threads of the process at this moment.");
    /// The counter `Priority Base` of Process.
    pub const PRIORITY_BASE: Counter =
        Counter::new(682, 683, "Priority Base", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("number")
            .means(
                "Base priority, 0 to 31, from which the kernel computes the priority at each \
                 moment.",
            );
    /// The counter `Elapsed Time` of Process.
    pub const ELAPSED_TIME: Counter = Counter::new(684, 685, "Elapsed Time", T::PERF_ELAPSED_TIME)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("s")
        .means("Time since the process or thread was started.");
    /// The counter `ID Process` of Process.
    pub const ID_PROCESS: Counter = Counter::new(784, 785, "ID Process", T::PERF_COUNTER_RAWCOUNT)
        .scale(-1)
        .unit("number")
        .means(
            "Number of the process. After the process has ended, another process may get the \
             number.",
        );
    /// The counter `Creating Process ID` of Process.
    pub const CREATING_PROCESS_ID: Counter =
        Counter::new(1410, 1411, "Creating Process ID", T::PERF_COUNTER_RAWCOUNT)
            .scale(-1)
            .unit("number")
            .means(
                "Number of the process that created this process. The creator may have ended, and \
                 another process may have its number.",
            );
    /// The counter `Pool Paged Bytes` of Process.
    pub const POOL_PAGED_BYTES: Counter =
        Counter::new(56, 57, "Pool Paged Bytes", T::PERF_COUNTER_RAWCOUNT)
            .scale(-5)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes")
            .means("Pageable kernel memory that the process is charged for, in bytes.");
    /// The counter `Pool Nonpaged Bytes` of Process.
    pub const POOL_NONPAGED_BYTES: Counter =
        Counter::new(58, 59, "Pool Nonpaged Bytes", T::PERF_COUNTER_RAWCOUNT)
            .scale(-5)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes")
            .means(
                "Kernel memory that is never paged out and that the process is charged for, in \
                 bytes.",
            );
    /// The counter `Handle Count` of Process.
    pub const HANDLE_COUNT: Counter =
        Counter::new(952, 953, "Handle Count", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("handles")
            .means("Handles that all threads of the process have open at this moment.");
    /// The counter `IO Read Operations/sec` of Process.
    pub const IO_READ_OPERATIONS: Counter =
        Counter::new(1412, 1413, "IO Read Operations/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("operations/s")
            .means("Read operations per second of the process on files, devices and the network.");
    /// The counter `IO Write Operations/sec` of Process.
    pub const IO_WRITE_OPERATIONS: Counter =
        Counter::new(1414, 1415, "IO Write Operations/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("operations/s")
            .means("Write operations per second of the process on files, devices and the network.");
    /// The counter `IO Data Operations/sec` of Process.
    pub const IO_DATA_OPERATIONS: Counter =
        Counter::new(1416, 1417, "IO Data Operations/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("operations/s")
            .means("Read and write operations of the process together, per second.");
    /// The counter `IO Other Operations/sec` of Process.
    pub const IO_OTHER_OPERATIONS: Counter =
        Counter::new(1418, 1419, "IO Other Operations/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("operations/s")
            .means(
                "Operations per second of the process that neither read nor write, such as \
                 control calls.",
            );
    /// The counter `IO Read Bytes/sec` of Process.
    pub const IO_READ_BYTES: Counter =
        Counter::new(1420, 1421, "IO Read Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes/s")
            .means("Bytes per second that the process read from files, devices and the network.");
    /// The counter `IO Write Bytes/sec` of Process.
    pub const IO_WRITE_BYTES: Counter =
        Counter::new(1422, 1423, "IO Write Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes/s")
            .means("Bytes per second that the process wrote to files, devices and the network.");
    /// The counter `IO Data Bytes/sec` of Process.
    pub const IO_DATA_BYTES: Counter =
        Counter::new(1424, 1425, "IO Data Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes/s")
            .means("Bytes that the process read and wrote together, per second.");
    /// The counter `IO Other Bytes/sec` of Process.
    pub const IO_OTHER_BYTES: Counter =
        Counter::new(1426, 1427, "IO Other Bytes/sec", T::PERF_COUNTER_BULK_COUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("bytes/s")
            .means("Bytes per second of operations of the process that neither read nor write.");
    /// The counter `Working Set - Private` of Process.
    pub const WORKING_SET_PRIVATE: Counter =
        Counter::new(1478, 1479, "Working Set - Private", T::PERF_COUNTER_LARGE_RAWCOUNT)
            .scale(-5)
            .unit("bytes")
            .means(
                "The part of Working Set that other processes do not share and cannot share, in \
                 bytes.",
            );
}

/// The object Thread, title index 232.
pub mod thread {
    use super::{Counter, DetailLevel, T};

    /// The counter `% Processor Time` of Thread.
    pub const PROCESSOR_TIME: Counter =
        Counter::new(6, 191, "% Processor Time", T::PERF_100NSEC_TIMER)
            .unit("%")
            .means("Processor time of the thread; 100 is one whole processor.");
    /// The counter `% User Time` of Thread.
    pub const USER_TIME: Counter = Counter::new(142, 193, "% User Time", T::PERF_100NSEC_TIMER)
        .detail(DetailLevel::ADVANCED)
        .unit("%")
        .means(
            "Processor time that the thread spent in its program and libraries, not in the \
                 kernel.",
        );
    /// The counter `% Privileged Time` of Thread.
    pub const PRIVILEGED_TIME: Counter =
        Counter::new(144, 195, "% Privileged Time", T::PERF_100NSEC_TIMER)
            .detail(DetailLevel::ADVANCED)
            .unit("%")
            .means("Processor time that the kernel spent on behalf of the thread.");
    /// The counter `Context Switches/sec` of Thread.
    pub const CONTEXT_SWITCHES: Counter =
        Counter::new(146, 197, "Context Switches/sec", T::PERF_COUNTER_COUNTER)
            .means("Switches per second from this thread to another.")
            .scale(-2)
            .detail(DetailLevel::ADVANCED)
            .unit("switches/s");
    /// The counter `Elapsed Time` of Thread.
    pub const ELAPSED_TIME: Counter = Counter::new(684, 685, "Elapsed Time", T::PERF_ELAPSED_TIME)
        .scale(-4)
        .detail(DetailLevel::ADVANCED)
        .unit("s")
        .means("Time since the process or thread was started.");
    /// The counter `Priority Current` of Thread.
    pub const PRIORITY_CURRENT: Counter =
        Counter::new(694, 695, "Priority Current", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("number")
            .means(
                "Priority of the thread at this moment, 0 to 31: its base priority plus the \
                 amount that the kernel added.",
            );
    /// The counter `Priority Base` of Thread.
    pub const PRIORITY_BASE: Counter =
        Counter::new(682, 683, "Priority Base", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::ADVANCED)
            .unit("number")
            .means(
                "Base priority, 0 to 31, from which the kernel computes the priority at each \
                 moment.",
            );
    /// The counter `Start Address` of Thread.
    pub const START_ADDRESS: Counter =
        Counter::new(706, 707, "Start Address", T::PERF_COUNTER_RAWCOUNT_HEX)
            .detail(DetailLevel::WIZARD)
            .unit("address")
            .means("Address of the function with which the thread began.");
    /// The counter `Thread State` of Thread.
    pub const THREAD_STATE: Counter =
        Counter::new(46, 47, "Thread State", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::WIZARD)
            .unit("state")
            .means(
                "State of the thread at this moment: 0 initialized, 1 ready, 2 running, 3 \
                 standby, 4 terminated, 5 waiting, 6 transition, 7 ready without a processor \
                 chosen.",
            );
    /// The counter `Thread Wait Reason` of Thread.
    pub const THREAD_WAIT_REASON: Counter =
        Counter::new(336, 337, "Thread Wait Reason", T::PERF_COUNTER_RAWCOUNT)
            .detail(DetailLevel::WIZARD)
            .unit("reason")
            .means(
                "Reason for which the thread waits, or waited last, as a number of KWAIT_REASON; \
                 6 means that its own program asked to wait.",
            );
    /// The counter `ID Process` of Thread.
    pub const ID_PROCESS: Counter = Counter::new(784, 785, "ID Process", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("number")
        .means(
            "Number of the process. After the process has ended, another process may get the \
             number.",
        );
    /// The counter `ID Thread` of Thread.
    pub const ID_THREAD: Counter = Counter::new(804, 805, "ID Thread", T::PERF_COUNTER_RAWCOUNT)
        .detail(DetailLevel::EXPERT)
        .unit("number")
        .means(
            "Number of the thread. After the thread has ended, another thread may get the number.",
        );
}
