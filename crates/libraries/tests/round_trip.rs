//! Generated definition files read back to the same definition.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use perfhive_contract::{DeclaredCounter, DeclaredObject, InstanceKind, ProviderDefinition, Texts};
use perfhive_format::{CounterType, LanguageId};
use perfhive_libraries::definition::{parse_ini, parse_manifest};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Texts that an `.ini` file can hold: on one line, without blanks or quotation
/// marks at the ends.
fn text() -> impl Strategy<Value = String> {
    "[a-zA-ZäßŠ%/(=;\\[&<🦀]([ -~éж\"']{0,20}[a-z.)>\\]])?"
}

/// Names, and the help texts of some, by offset.
type Named = BTreeMap<u32, (String, Option<String>)>;

fn named() -> impl Strategy<Value = Named> {
    let one = (text(), proptest::option::of(text()));
    proptest::collection::btree_map((0_u32..200).prop_map(|n| 2 * n), one, 1..8)
}

fn texts(language: u16, named: &Named) -> Texts {
    let names = named.iter().map(|(at, (name, _))| (*at, name.clone())).collect();
    let help = named.iter().filter_map(|(at, (_, help))| Some((*at, help.clone()?))).collect();
    Texts { language: LanguageId(language), names, help }
}

fn encoded(text: &str, how: u8) -> Vec<u8> {
    let units = text.encode_utf16();
    match how % 4 {
        0 => text.as_bytes().to_vec(),
        1 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        2 => [0xff, 0xfe].into_iter().chain(units.flat_map(u16::to_le_bytes)).collect(),
        _ => [0xfe, 0xff].into_iter().chain(units.flat_map(u16::to_be_bytes)).collect(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

proptest! {
    #![proptest_config(perfhive_testkit::proptest_config(256))]

    #[test]
    fn ini_files(
        english in named(),
        german in proptest::option::of(named()),
        name in "[A-Za-z][A-Za-z0-9 ._-]{0,20}[a-z]",
        hex in any::<bool>(),
        how in any::<(u8, u8)>(),
    ) {
        let mut ini = format!("[info]\r\ndrivername={name}\r\nsymbolfile=x.h\r\n[languages]\r\n009=E\r\n");
        let mut header = String::from("// offsets\n");
        let mut expected = vec![texts(9, &english)];
        let mut lines = String::new();
        let mut write = |language: &str, named: &Named| {
            for (at, (name, help)) in named {
                let _ = write!(lines, "S_{at}_{language}_NAME = {name}\r\n");
                if let Some(help) = help {
                    let _ = write!(lines, "S_{at}_{language}_HELP={help} \r\n");
                }
            }
        };
        write("009", &english);
        if let Some(german) = &german {
            ini.push_str("007=G\r\n");
            write("007", german);
            expected.insert(0, texts(7, german));
        }
        let offsets: std::collections::BTreeSet<u32> =
            english.keys().chain(german.iter().flat_map(BTreeMap::keys)).copied().collect();
        for at in &offsets {
            let _ = match hex {
                true => writeln!(header, "#define S_{at} {at:#x}"),
                false => writeln!(header, "#define S_{at}\t({at}) /* {at} */"),
            };
        }
        let object = offsets.first().copied().unwrap();
        let _ = write!(ini, "[objects]\r\nS_{object}_009_NAME=\r\n[text]\r\n{lines}");

        let read = parse_ini(Path::new("x.ini"), &encoded(&ini, how.0), None, |_| {
            Ok(("x.h".into(), encoded(&header, how.1)))
        }).unwrap().value;
        prop_assert_eq!(read.name, name);
        prop_assert_eq!(read.objects, vec![object]);
        prop_assert_eq!(read.titles, expected);
    }

    #[test]
    fn manifests(
        sets in proptest::collection::vec((text(), named()), 1..4),
        types in proptest::collection::vec(0..CounterType::named().len(), 8),
        scale in -10_i32..=10,
        kind in 0..InstanceKind::NAMES.len(),
        how in any::<u8>(),
    ) {
        let mut man = String::from("<instrumentationManifest><instrumentation><counters>\n\
            <provider providerName='Made Up'>\n");
        let mut expected = ProviderDefinition::new("Made Up");
        let mut english =
            Texts { language: LanguageId::ENGLISH, names: Vec::new(), help: Vec::new() };
        let (instances, kind) = InstanceKind::NAMES[kind];
        let mut next = 0;
        for (name, counters) in &sets {
            let _ = writeln!(man, "<counterSet guid='{{1}}' instances='{instances}' name=\"{}\">", escaped(name));
            let mut object = DeclaredObject::new(next, "{1}", kind);
            english.names.push((next, name.clone()));
            expected.objects.push(next);
            next += 2;
            for ((id, (name, help)), place) in counters.iter().zip(&types) {
                let info = &CounterType::named()[*place];
                let _ = write!(
                    man, "<counter id='{id}' type='{}' defaultScale='{scale}' name=\"{}\"",
                    info.winperf.to_lowercase(), escaped(name)
                );
                english.names.push((next, name.clone()));
                if let Some(help) = help {
                    let _ = write!(man, " description=\"{}\"", escaped(help));
                    english.help.push((next, help.clone()));
                }
                man.push_str("/>\n");
                let mut counter = DeclaredCounter::new(next, *id, info.counter_type);
                counter.scale = scale;
                counter.no_display = info.counter_type.is_base();
                object.counters.push(counter);
                next += 2;
            }
            man.push_str("</counterSet>\n");
            expected.declared.push(object);
        }
        man.push_str("</provider></counters></instrumentation></instrumentationManifest>");
        expected.titles = vec![english];
        let read = parse_manifest(Path::new("x.man"), &encoded(&man, how), None).unwrap().value;
        prop_assert_eq!(read, vec![expected]);
    }
}
