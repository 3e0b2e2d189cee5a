//! Any bytes as a hive: reading never fails, the result can be written and read again, and
//! registering keeps the indexes of providers apart.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_contract::{Functions, ProviderDefinition, Texts};
use perfhive_format::LanguageId;
use perfhive_libraries::hive::{Hive, Scope};

fuzz_target!(|data: &[u8]| {
    let (mut hive, faults) = Hive::parse(Scope::System, data);
    let lines = data.split(|byte| *byte == b'\n').count();
    for fault in &faults {
        assert!((1..=lines).contains(&(fault.line as usize)), "{fault}");
    }
    assert_written(&hive);

    let mut definition = ProviderDefinition::new("Fuzzed");
    definition.titles = vec![Texts {
        language: LanguageId::ENGLISH,
        names: vec![(0, "Object".into()), (2, "Counter".into())],
        help: Vec::new(),
    }];
    let functions = Functions { library: Some("/x.so".into()), ..Functions::default() };
    if let Ok((one, _)) = hive.register(&definition, &functions) {
        let span = one.first_counter..=one.last_help;
        for other in hive.services().filter(|other| other.name != one.name) {
            let apart = other.last_counter.max(other.last_help) < *span.start()
                || other.first_counter.min(other.first_help) > *span.end();
            assert!(apart, "{other:?}");
        }
        assert_written(&hive);
        assert_eq!(hive.unregister("fuzzed").as_ref(), Ok(&one));
    }
});

/// The text of a hive reads as the same registrations, without faults. (Warnings are about the text
/// that was read, of which ignored lines are not written again.)
fn assert_written(hive: &Hive) {
    let text = hive.to_text();
    let (again, faults) = Hive::parse(Scope::System, text.as_bytes());
    assert_eq!(faults, Vec::new());
    assert!(again.services().eq(hive.services()), "{again:?} {hive:?}");
    assert_eq!(again.to_text(), text);
}
