//! Any bytes as a file of published counters: decoding never fails but with a
//! reason, and what it gives is in proportion to the bytes and consistent.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_shm::decode;

fuzz_target!(|data: &[u8]| {
    let contents = match decode(data) {
        Ok(contents) => contents,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.offset().is_none_or(|offset| offset < (2 << 20)));
            return;
        }
    };
    let definition = &contents.definition;
    assert!(!definition.name().trim().is_empty());
    let counters: Vec<_> = definition.counters().collect();
    assert!(!counters.is_empty());
    let mut values = 0;
    for (name, kind, base) in counters {
        assert!(!name.trim().is_empty());
        assert_eq!(kind.needs_base(), base.is_some());
        assert!(!kind.is_base() && base.is_none_or(|base| base.is_base()));
        values += 1 + usize::from(base.is_some());
    }
    // Each instance has a slot and bytes of its own for every value.
    assert!(contents.instances.len() * (16 + 8 * values) <= data.len());
    assert!(definition.has_instances() || contents.instances.len() <= 1);
    for instance in &contents.instances {
        assert_eq!(instance.values.len(), values);
        // What is not UTF-8 becomes a character of three bytes.
        assert!(instance.name.len() <= 3 * 1024 && !instance.name.contains('\0'));
    }
});
