//! Any bytes as samples of a recording.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| perfhive_recording::fuzz_samples(bytes));
