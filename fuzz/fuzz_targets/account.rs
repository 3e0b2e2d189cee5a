//! Any bytes as the account of a provider: a record that is read can be written, and reads
//! back to the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_libraries::account_text;

fuzz_target!(|data: &[u8]| {
    if let Some(text) = account_text(data) {
        assert_eq!(account_text(text.as_bytes()).as_deref(), Some(&*text));
    }
});
