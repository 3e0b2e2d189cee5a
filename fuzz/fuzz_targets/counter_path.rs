//! Any text as a counter path: an error with its place, or a path that prints
//! and parses to itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_engine::CounterPath;

fuzz_target!(|text: &str| {
    match text.parse::<CounterPath>() {
        Ok(path) => {
            let printed = path.to_string();
            let again: Result<CounterPath, _> = printed.parse();
            assert_eq!(again.as_ref().ok(), Some(&path), "{printed:?}");
            if let Some(instance) = &path.instance {
                let _ = instance.matches(Some("parent"), text, 1);
                let _ = instance.matches(None, text, 0);
            }
        }
        Err(error) => {
            assert!(error.at() <= text.len());
            assert!(!error.to_string().is_empty());
        }
    }
});
