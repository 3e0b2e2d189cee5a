//! The tables of the objects that the native functions fill: their counters, and the missing
//! counters with the reason.

use perfhive_engine::Cost;
use perfhive_engine::standard::windows::{process, processor, system, thread};
use perfhive_engine::standard::{Absent, Counter, CounterDoc, Object, ObjectDoc, counters_of};
use perfhive_format::CounterType;

pub(super) static OBJECTS: [&Object; 4] = [&SYSTEM, &PROCESSOR, &PROCESS, &THREAD];

/// The documentation of the objects that the native functions fill.
#[must_use]
pub fn object_table() -> Vec<ObjectDoc> {
    OBJECTS.into_iter().map(ObjectDoc::of).collect()
}

/// The documentation of every counter of the objects in [`object_table`], filled or absent, object by
/// object. Bases are left out.
#[must_use]
pub fn counter_table() -> Vec<CounterDoc> {
    OBJECTS.into_iter().flat_map(counters_of).collect()
}

pub(super) static SYSTEM: Object = Object {
    index: 2,
    help: 3,
    name: "System",
    meaning: "Counters of the whole machine that belong to no single processor, process or device.",
    note: "",
    reads: "`SystemPerformanceInformation`, `SystemTimeOfDayInformation`, \
        `SystemExceptionInformation`, and the list of processes",
    cost: Cost::Global,
    has_instances: false,
    brings: &[],
    counters: &[
        system::FILE_READ_OPERATIONS.from("`IoReadOperationCount`"),
        system::FILE_WRITE_OPERATIONS.from("`IoWriteOperationCount`"),
        system::FILE_CONTROL_OPERATIONS.from("`IoOtherOperationCount`"),
        system::FILE_READ_BYTES.from("`IoReadTransferCount`"),
        system::FILE_WRITE_BYTES.from("`IoWriteTransferCount`"),
        system::FILE_CONTROL_BYTES.from("`IoOtherTransferCount`"),
        system::CONTEXT_SWITCHES.from("`ContextSwitches`"),
        system::SYSTEM_CALLS.from("`SystemCalls`"),
        system::FILE_DATA_OPERATIONS.from("`IoReadOperationCount` + `IoWriteOperationCount`"),
        system::SYSTEM_UP_TIME.from("`BootTime`"),
        system::PROCESSOR_QUEUE_LENGTH
            .from("threads with `ThreadState` 1 or 7, without the threads of Idle")
            .differs("Deferred ready threads are counted, because they also wait for a processor."),
        system::PROCESSES.from("the entries of the list"),
        system::THREADS.from("`NumberOfThreads`, summed"),
        system::ALIGNMENT_FIXUPS.from("`AlignmentFixupCount`"),
        system::EXCEPTION_DISPATCHES.from("`ExceptionDispatchCount`"),
        system::FLOATING_EMULATIONS.from("`FloatingEmulationCount`"),
    ],
    absent: &[system::REGISTRY_QUOTA_IN_USE.absent(
        "Since Windows XP the registry has no quota. Windows still returns a number, but it \
         means little.",
    )],
};

const NO_INTERRUPT_INFORMATION: &str = "The value is only in `SystemInterruptInformation`. Windows \
    documents these bytes as unpredictable, and Wine returns them so.";
const NO_C_STATES: &str = "The value is only in `SystemProcessorIdleInformation`. Windows has changed this \
    structure several times.";

pub(super) static PROCESSOR: Object = Object {
    index: 238,
    help: 239,
    name: "Processor",
    meaning: "What each processor of the machine spends its time on.",
    note: "There is one instance for each processor of the group in which the program runs. On a machine \
        with at most 64 processors, these are all processors. `_Total` is the average of times and the \
        sum of counts.",
    reads: "`SystemProcessorPerformanceInformation`",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    counters: &[
        processor::PROCESSOR_TIME.from("`IdleTime`"),
        processor::USER_TIME.from("`UserTime`"),
        processor::PRIVILEGED_TIME.from("`KernelTime` − `IdleTime`"),
        processor::IDLE_TIME.from("`IdleTime`"),
        processor::INTERRUPTS.from("`InterruptCount`"),
        processor::DPC_TIME.from("`DpcTime`"),
        processor::INTERRUPT_TIME.from("`InterruptTime`"),
    ],
    absent: &[
        processor::DPCS_QUEUED.absent(NO_INTERRUPT_INFORMATION),
        processor::DPC_RATE.absent(NO_INTERRUPT_INFORMATION),
        processor::C1_TIME.absent(NO_C_STATES),
        processor::C2_TIME.absent(NO_C_STATES),
        processor::C3_TIME.absent(NO_C_STATES),
        processor::C1_TRANSITIONS.absent(NO_C_STATES),
        processor::C2_TRANSITIONS.absent(NO_C_STATES),
        processor::C3_TRANSITIONS.absent(NO_C_STATES),
    ],
};

pub(super) static PROCESS: Object = Object {
    index: 230,
    help: 231,
    name: "Process",
    meaning: "Processes: their processor time, memory, threads, and their reading and writing.",
    note: "Instances are the processes, in the order of the kernel's list, and `_Total`, which is their sum. \
        As in the registry, the name of an instance is the name of its image without `.exe`. Idle and \
        System have no start time; they show the start time of the machine.",
    reads: "`SystemProcessInformation`, one call for all processes and threads",
    cost: Cost::Global,
    has_instances: true,
    brings: &[],
    // The order of `processes::values`. Counters without a value in `_Total` are last.
    counters: &[
        process::PROCESSOR_TIME.from("`UserTime` + `KernelTime`"),
        process::USER_TIME.from("`UserTime`"),
        process::PRIVILEGED_TIME.from("`KernelTime`"),
        process::ELAPSED_TIME.from("`CreateTime`"),
        process::ID_PROCESS.from("`UniqueProcessId`"),
        process::CREATING_PROCESS_ID.from("`InheritedFromUniqueProcessId`"),
        process::THREAD_COUNT.from("`NumberOfThreads`"),
        process::VIRTUAL_BYTES_PEAK.from("`PeakVirtualSize`"),
        process::VIRTUAL_BYTES.from("`VirtualSize`"),
        process::PAGE_FAULTS.from("`PageFaultCount`"),
        process::WORKING_SET_PEAK.from("`PeakWorkingSetSize`"),
        process::WORKING_SET.from("`WorkingSetSize`"),
        process::WORKING_SET_PRIVATE.from("`WorkingSetPrivateSize`").since("Windows Vista"),
        process::PAGE_FILE_BYTES_PEAK.from("`PeakPagefileUsage`"),
        process::PAGE_FILE_BYTES.from("`PagefileUsage`"),
        process::PRIVATE_BYTES.from("`PrivatePageCount`"),
        process::POOL_PAGED_BYTES.from("`QuotaPagedPoolUsage`"),
        process::POOL_NONPAGED_BYTES.from("`QuotaNonPagedPoolUsage`"),
        process::HANDLE_COUNT.from("`HandleCount`"),
        process::IO_READ_OPERATIONS.from("`ReadOperationCount`"),
        process::IO_WRITE_OPERATIONS.from("`WriteOperationCount`"),
        process::IO_DATA_OPERATIONS.from("`ReadOperationCount` + `WriteOperationCount`"),
        process::IO_OTHER_OPERATIONS.from("`OtherOperationCount`"),
        process::IO_READ_BYTES.from("`ReadTransferCount`"),
        process::IO_WRITE_BYTES.from("`WriteTransferCount`"),
        process::IO_DATA_BYTES.from("`ReadTransferCount` + `WriteTransferCount`"),
        process::IO_OTHER_BYTES.from("`OtherTransferCount`"),
        process::PRIORITY_BASE.from("`BasePriority`"),
    ],
    absent: NONE,
};

const NONE: &[Absent] = &[];

/// The counter Start Address, 8 bytes wide: addresses have the width of the program's pointers,
/// which is 8 bytes on all but old machines.
const START_ADDRESS: Counter = Counter::new(
    thread::START_ADDRESS.index,
    thread::START_ADDRESS.help,
    thread::START_ADDRESS.name,
    CounterType::PERF_COUNTER_LARGE_RAWCOUNT_HEX,
)
.detail(thread::START_ADDRESS.detail)
.unit(thread::START_ADDRESS.unit)
.means(thread::START_ADDRESS.meaning);

pub(super) static THREAD: Object = Object {
    index: 232,
    help: 233,
    name: "Thread",
    meaning: "Threads of processes: their processor time, priorities and states.",
    note: "A request for Thread returns Process as well, because the parent of each instance is its process. \
        The name of an instance is the position of the thread among the threads of its process, counted \
        from 0.",
    reads: "with Process, from the same answer",
    cost: Cost::Global,
    has_instances: true,
    brings: &[230],
    // The order of `threads::values`. Counters without a value in `_Total` are last.
    counters: &[
        thread::PROCESSOR_TIME.from("`UserTime` + `KernelTime`"),
        thread::USER_TIME.from("`UserTime`"),
        thread::PRIVILEGED_TIME.from("`KernelTime`"),
        thread::ELAPSED_TIME.from("`CreateTime`"),
        thread::ID_PROCESS.from("`ClientId.UniqueProcess`"),
        thread::ID_THREAD.from("`ClientId.UniqueThread`"),
        thread::CONTEXT_SWITCHES.from("`ContextSwitches`"),
        thread::PRIORITY_CURRENT.from("`Priority`"),
        thread::PRIORITY_BASE.from("`BasePriority`"),
        START_ADDRESS.from("`StartAddress`").differs(
            "8 bytes wide, as on 64-bit Windows; it may be 0 for the kernel's own threads.",
        ),
        thread::THREAD_STATE
            .from("`ThreadState`")
            .differs("7 means that the thread is ready and not yet assigned to a processor."),
        thread::THREAD_WAIT_REASON.from("`WaitReason`"),
    ],
    absent: NONE,
};

#[cfg(test)]
mod tests {
    use super::*;
    use perfhive_engine::standard::Availability;

    #[test]
    fn every_counter_of_windows_is_listed_once() {
        let documents = object_table();
        for (object, count) in documents.iter().zip([17, 15, 28, 12]) {
            assert_eq!(object.counters.len(), count, "{}", object.name);
            for counter in &object.counters {
                let same = object.counters.iter().filter(|c| c.counter == counter.counter);
                assert_eq!(same.count(), 1, "{}", counter.name);
                match counter.availability {
                    Availability::Present { unit, source, meaning, .. } => {
                        let texts = [unit, source, meaning];
                        assert!(texts.iter().all(|text| !text.is_empty()), "{}", counter.name);
                    }
                    Availability::Absent { reason } => assert!(reason.ends_with('.')),
                }
            }
        }
        assert_eq!(counter_table().len(), 72);
    }
}
