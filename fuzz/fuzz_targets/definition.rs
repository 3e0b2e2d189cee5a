//! Any bytes as a definition file: an `.ini` file with its symbol file behind
//! a NUL line, and a manifest. The result can be registered, or is refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use perfhive_contract::{Functions, ProviderDefinition};
use perfhive_libraries::definition::{DefinitionError, parse_ini, parse_manifest};
use perfhive_libraries::hive::{Hive, Scope};
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let place = data.windows(3).position(|bytes| bytes == b"\n\0\n").unwrap_or(data.len());
    let (ini, header) = data.split_at(place);
    let header = header.get(3..).unwrap_or_default();
    let read = parse_ini(Path::new("x.ini"), ini, None, |_| Ok(("x.h".into(), header.to_vec())));
    check(read.map(|read| (vec![read.value], read.warnings.len())));
    let read = parse_manifest(Path::new("x.man"), data, None);
    check(read.map(|read| (read.value, read.warnings.len())));
});

fn check(read: Result<(Vec<ProviderDefinition>, usize), DefinitionError>) {
    let (definitions, warnings) = match read {
        Ok(read) => read,
        Err(error) => return assert!(!error.message().is_empty()),
    };
    assert!(!definitions.is_empty() && warnings <= 202);
    let functions = Functions { library: Some("/x.so".into()), ..Functions::default() };
    for definition in definitions {
        for texts in &definition.titles {
            for list in [&texts.names, &texts.help] {
                assert!(list.is_sorted_by(|(a, _), (b, _)| a < b), "each offset once, in order");
                assert!(list.iter().all(|(offset, text)| offset % 2 == 0 && !text.is_empty()));
            }
        }
        let mut hive = Hive::new(Scope::User);
        if hive.register(&definition, &functions).is_ok() {
            let text = hive.to_text();
            assert_eq!(Hive::parse(Scope::User, text.as_bytes()), (hive, Vec::new()));
        }
    }
}
