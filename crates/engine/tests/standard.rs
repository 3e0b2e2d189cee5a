//! The tables of Windows' objects against blocks recorded on Windows.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive_engine::Frame;
use perfhive_engine::standard::Counter;
use perfhive_engine::standard::windows::{process, processor, system};
use perfhive_testkit::real;

/// The counters of Process that are compared.
const PROCESS: &[Counter] = &[
    process::PROCESSOR_TIME,
    process::USER_TIME,
    process::PRIVILEGED_TIME,
    process::VIRTUAL_BYTES_PEAK,
    process::VIRTUAL_BYTES,
    process::PAGE_FAULTS,
    process::WORKING_SET_PEAK,
    process::WORKING_SET,
    process::PAGE_FILE_BYTES_PEAK,
    process::PAGE_FILE_BYTES,
    process::PRIVATE_BYTES,
    process::THREAD_COUNT,
    process::PRIORITY_BASE,
    process::ELAPSED_TIME,
    process::ID_PROCESS,
    process::CREATING_PROCESS_ID,
    process::POOL_PAGED_BYTES,
    process::POOL_NONPAGED_BYTES,
    process::HANDLE_COUNT,
    process::IO_READ_OPERATIONS,
    process::IO_WRITE_OPERATIONS,
    process::IO_DATA_OPERATIONS,
    process::IO_OTHER_OPERATIONS,
    process::IO_READ_BYTES,
    process::IO_WRITE_BYTES,
    process::IO_DATA_BYTES,
    process::IO_OTHER_BYTES,
    process::WORKING_SET_PRIVATE,
];
const PROCESSOR: &[Counter] = &[
    processor::PROCESSOR_TIME,
    processor::USER_TIME,
    processor::PRIVILEGED_TIME,
    processor::INTERRUPTS,
    processor::DPC_TIME,
    processor::INTERRUPT_TIME,
    processor::DPCS_QUEUED,
    processor::DPC_RATE,
    processor::IDLE_TIME,
    processor::C1_TIME,
    processor::C2_TIME,
    processor::C3_TIME,
    processor::C1_TRANSITIONS,
    processor::C2_TRANSITIONS,
    processor::C3_TRANSITIONS,
];
const SYSTEM: &[Counter] = &[
    system::FILE_READ_OPERATIONS,
    system::FILE_WRITE_OPERATIONS,
    system::FILE_CONTROL_OPERATIONS,
    system::FILE_READ_BYTES,
    system::FILE_WRITE_BYTES,
    system::FILE_CONTROL_BYTES,
    system::CONTEXT_SWITCHES,
    system::SYSTEM_CALLS,
    system::FILE_DATA_OPERATIONS,
    system::SYSTEM_UP_TIME,
    system::PROCESSOR_QUEUE_LENGTH,
    system::PROCESSES,
    system::THREADS,
    system::ALIGNMENT_FIXUPS,
    system::EXCEPTION_DISPATCHES,
    system::FLOATING_EMULATIONS,
    system::REGISTRY_QUOTA_IN_USE,
];

#[test]
fn object_definitions_equal_those_in_recorded_windows_blocks() {
    for (file, ours) in [
        ("windows-vista/s01_o5_230.bin", PROCESS),
        ("windows-vista/s01_o6_238.bin", PROCESSOR),
        ("windows-vista/s01_o7_2.bin", SYSTEM),
    ] {
        let Some(bytes) = real::file(file) else { return };
        let frame = Frame::new(bytes, 1).unwrap();
        let object = frame.object(0).unwrap();
        let mut seen = 0;
        for theirs in object.counters().filter(|counter| !counter.counter_type().is_base()) {
            let index = theirs.name_index();
            let found = ours.iter().find(|known| known.index == index.0);
            let known = found.unwrap_or_else(|| panic!("{file}: no definition of {index}"));
            assert_eq!(known.help, theirs.help_index().0, "{}", known.name);
            assert_eq!(known.kind, theirs.counter_type(), "{}", known.name);
            assert_eq!(known.scale, theirs.default_scale(), "{}", known.name);
            assert_eq!(known.detail, theirs.detail_level(), "{}", known.name);
            seen += 1;
        }
        assert_eq!(seen, ours.len(), "{file}");
    }
}
