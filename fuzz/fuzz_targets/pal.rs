//! Any text as a file of PAL's thresholds, with the scripts in it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| perfhive_view::report::fuzz_pal(text));
