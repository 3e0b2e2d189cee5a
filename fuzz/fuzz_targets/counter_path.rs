//! Any text as a counter path: an error with its place, or a path that prints
//! and parses to itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_engine::{CounterPath, Identity, InstanceLabel};

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
                let identities = [
                    Identity::Thread { process: 4, id: 8, start: 0 },
                    Identity::Process { id: 4, start: 0 },
                ];
                let _ = instance.among(&labels, &identities).count();
            }
        }
        Err(error) => {
            assert!(error.at() <= text.len());
            assert!(!error.to_string().is_empty());
        }
    }
});
