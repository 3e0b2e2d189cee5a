//! Any text as a counter path: an error with its place, or a path that prints
//! and parses to itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_engine::{CounterPath, InstanceLabel};

fuzz_target!(|text: &str| {
    match text.parse::<CounterPath>() {
        Ok(path) => {
            let printed = path.to_string();
            let again: Result<CounterPath, _> = printed.parse();
            assert_eq!(again.as_ref().ok(), Some(&path), "{printed:?}");
            if let Some(instance) = &path.instance {
                let label = |parent: Option<&str>, order| InstanceLabel {
                    parent: parent.map(Into::into),
                    name: text.into(),
                    order,
                };
                let labels = [label(Some("parent"), 1), label(None, 0)];
                let spelling = instance.spelling(&labels);
                let _ = labels.iter().filter(|label| instance.matches(spelling, label)).count();
            }
        }
        Err(error) => {
            assert!(error.at() <= text.len());
            assert!(!error.to_string().is_empty());
        }
    }
});
