//! Any answer of a host process: its packet and its shared memory. The library may have
//! overwritten both.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (packet, memory) = input;
    perfhive_libraries::fuzzing::answer(packet, memory);
});
