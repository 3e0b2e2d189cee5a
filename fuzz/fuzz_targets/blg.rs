//! Any bytes as a binary log of perfmon.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| perfhive_recording::fuzz_log(bytes));
