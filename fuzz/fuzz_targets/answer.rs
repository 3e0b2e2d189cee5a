//! Any answer of the process that a provider's library runs in: its packet, and the
//! memory that it shares. The library may have written over both.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (packet, memory) = input;
    perfhive_libraries::fuzzing::answer(packet, memory);
});
