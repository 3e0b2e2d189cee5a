//! Definition files of real providers.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_contract::{Functions, InstanceKind, ProviderDefinition};
use perfhive_format::{CounterType, LanguageId};
use perfhive_libraries::definition::{DefinitionError, parse_ini, parse_manifest};
use perfhive_libraries::hive::{Hive, Scope};
use perfhive_testkit::real;
use std::path::{Path, PathBuf};

/// The files, each with its definitions and warnings.
fn all() -> Vec<(String, Vec<ProviderDefinition>, Vec<DefinitionError>)> {
    let headers = real::files("providers", ".h");
    let mut found = Vec::new();
    for (name, bytes) in real::files("providers", ".ini") {
        let read = parse_ini(Path::new(&name), &bytes, None, |wanted| {
            // Some are stored under a longer name.
            let header = headers.iter().find(|(name, _)| name.ends_with(wanted));
            let (name, bytes) = header.unwrap_or_else(|| panic!("{name}: no {wanted}"));
            Ok((PathBuf::from(name), bytes.clone()))
        });
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        found.push((name, vec![read.value], read.warnings));
    }
    for (name, bytes) in real::files("providers", ".man") {
        let read = parse_manifest(Path::new(&name), &bytes, None);
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        found.push((name, read.value, read.warnings));
    }
    found
}

fn name(definition: &ProviderDefinition, language: u16, offset: u32) -> Option<&str> {
    let texts = definition.titles.iter().find(|one| one.language == LanguageId(language))?;
    texts.names.iter().find(|(at, _)| *at == offset).map(|(_, name)| name.as_str())
}

#[test]
fn real_definition_files_are_read() {
    for (file, definitions, warnings) in all() {
        let one = &definitions[0];
        let warnings: Vec<&str> = warnings.iter().map(DefinitionError::message).collect();
        match file.trim_start_matches("providers/") {
            "perfgen.ini" => {
                assert_eq!((one.name.as_str(), one.objects.as_slice()), ("PERFGEN", &[0][..]));
                assert_eq!(name(one, 9, 8), Some("Constant Value"));
                assert_eq!(one.last_offset(), 8);
                assert_eq!(warnings, [""; 0]);
            }
            "AppMem.ini" => {
                assert_eq!((one.name.as_str(), one.objects.as_slice()), ("APPMEM", &[][..]));
                // Blanks at the end of a line do not count.
                assert_eq!(name(one, 9, 6), Some("Memory Allocs/Sec"));
                assert_eq!(one.last_offset(), 14);
                assert!(warnings[0].contains("[objects]"), "{warnings:?}");
            }
            "msdocs_MyApplication.ini" => {
                assert_eq!(
                    (one.name.as_str(), one.objects.as_slice()),
                    ("MyApplication", &[0, 6][..])
                );
                assert_eq!(name(one, 0x00c, 2), Some("Octets Envoyés"));
                assert_eq!(name(one, 9, 8), Some("Bytes Served"));
                assert_eq!(warnings, [""; 0]);
            }
            "gas.man" => {
                assert_eq!(one.name, "Global Aggregate Sample");
                let [object] = one.declared.as_slice() else { panic!("{one:?}") };
                assert_eq!(object.instances, InstanceKind::GlobalAggregate);
                let [.., base, fraction] = object.counters.as_slice() else { panic!("{one:?}") };
                assert_eq!(fraction.base, Some(base.id));
                assert_eq!(fraction.counter_type, CounterType::PERF_RAW_FRACTION);
                assert!(base.no_display);
                assert_eq!(warnings, [""; 0]);
            }
            "node_perfctr_provider.man" => {
                // It has no providerName.
                assert_eq!(one.name, "NodeCounterProvider");
                assert_eq!(name(one, 9, 16), Some("%Time in GC"));
                let [object] = one.declared.as_slice() else { panic!("{one:?}") };
                assert_eq!(object.counters.len(), 10);
                assert_eq!(object.counters[5].counter_type, CounterType::PERF_COUNTER_BULK_COUNT);
                assert_eq!((object.counters[5].scale, object.counters[0].scale), (-3, 0));
                assert_eq!(warnings, [""; 0]);
            }
            other => panic!("{other} is new: say what it holds"),
        }
    }
}

#[test]
fn real_providers_are_registered_together_and_unregistered() {
    let mut hive = Hive::new(Scope::System);
    let library = Some(PathBuf::from("/usr/lib/x.so"));
    let functions = Functions { library, ..Functions::default() };
    let definitions: Vec<ProviderDefinition> =
        all().into_iter().flat_map(|(_, all, _)| all).collect();
    for definition in &definitions {
        let (one, _) = hive.register(definition, &functions).unwrap();
        assert_eq!(one.last_counter - one.first_counter, definition.last_offset());
        assert_eq!(one.objects.len(), definition.objects.len());
    }
    let (again, faults) = Hive::parse(Scope::System, hive.to_text().as_bytes());
    assert_eq!((&again, faults), (&hive, vec![]));
    for definition in &definitions {
        assert_eq!(hive.unregister(&definition.name).unwrap().name, definition.name);
    }
    assert_eq!((hive.services().count(), hive.last_counter()), (0, 1846));
    assert!(!hive.to_text().contains("[Perflib\\"), "no name is left");
}

/// The manual's example can be copied as it is.
#[test]
fn example_of_the_manual_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/registration.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let part = |fence: &str| {
        let (_, rest) = manual.split_once(fence).unwrap();
        rest.split_once("```").unwrap().0.as_bytes().to_vec()
    };
    let header = |name: &str| {
        assert_eq!(name, "gauges.h");
        Ok((name.into(), part("```c\n")))
    };
    let read = parse_ini(Path::new("gauges.ini"), &part("```ini\n"), None, header).unwrap();
    let one = &read.value;
    assert_eq!((one.name.as_str(), one.objects.as_slice()), ("Gauges", &[0][..]));
    assert_eq!((name(one, 9, 2), name(one, 7, 2)), (Some("Level"), Some("Füllstand")));
}

#[test]
fn truncated_and_altered_files_do_not_panic() {
    let header = b"#define A 0\n#define B 2\n".to_vec();
    let parse = |name: &str, bytes: &[u8], header: &[u8]| {
        let _ = parse_ini(Path::new(name), bytes, None, |_| Ok(("x.h".into(), header.to_vec())));
        let _ = parse_manifest(Path::new(name), bytes, None);
    };
    for ending in [".ini", ".h", ".man"] {
        for (name, bytes) in real::files("providers", ending) {
            for at in (0..bytes.len()).step_by(23) {
                parse(&name, &bytes[..at], &header);
                let mut changed = bytes.clone();
                changed[at] ^= 0x55;
                parse(&name, &changed, &header);
                parse(
                    "x.ini",
                    b"[info]\ndrivername=x\nsymbolfile=y\n[text]\nA_009_NAME=a\n",
                    &changed,
                );
            }
        }
    }
}
