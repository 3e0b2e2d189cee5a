//! Categories, counters and instances by name: in any language, with every character that a
//! name may have.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use perfhive::format::CounterSpec;
use perfhive::recording::ReplaySource;
use perfhive::*;
use perfhive_testkit::real;
use perfhive_testkit::script::{Row, block, titles};

const THINGS: TitleIndex = TitleIndex(5000);
const PARTS: TitleIndex = TitleIndex(5004);

/// A source of two objects: `things` are named instances, `parts` are instances whose
/// parents are among the things. Each instance has a number as its value.
fn source(things: &[&str], parts: &[(u32, &str)]) -> SharedSource {
    let numbers: Vec<[u64; 1]> = (0..).take(things.len()).map(|number| [number]).collect();
    let rows: Vec<Row<'_>> =
        things.iter().zip(&numbers).map(|(name, number)| (*name, None, &number[..])).collect();
    let more: Vec<[u64; 1]> = (1000..).take(parts.len()).map(|number| [number]).collect();
    let parts: Vec<Row<'_>> = parts
        .iter()
        .zip(&more)
        .map(|((of, name), number)| (*name, Some((THINGS, *of)), &number[..]))
        .collect();
    let kind = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
    let one = [CounterSpec::new(TitleIndex(5002), kind)];
    let other = [CounterSpec::new(TitleIndex(5006), kind)];
    let bytes = block("HOST", 1, &[(THINGS, &one, &rows), (PARTS, &other, &parts)]);
    let english = titles(&[
        (5000, "Things (all) #1/x"),
        (5002, "Number#/()"),
        (5004, "Parts"),
        (5006, "Number"),
    ]);
    let german = titles(&[(5000, "Dinge"), (5002, "Nummer"), (5004, "Teile"), (5006, "Zahl")]);
    let source = ReplaySource::new("script:", [("1".to_string(), bytes)]).unwrap();
    let source = source.with_titles(LanguageId::ENGLISH, &english);
    SharedSource::new(source.with_titles(LanguageId::GERMAN, &german))
}

/// Checks that every listed name finds its own row, whichever way it is looked up.
fn check_that_each_name_finds_its_row(
    source: &SharedSource,
    category: &str,
    counter: &str,
    first: u64,
) {
    let mut category = Category::new_in(source, category).unwrap();
    let names = category.instance_names().unwrap();
    let data = category.read().unwrap();
    for (number, name) in (first..).zip(&names) {
        assert!(category.has_instance(name).unwrap(), "{name}");
        let of = |data: Option<InstanceData<'_>>| data.map(|data| data.raw_value().unwrap());
        assert_eq!(of(data.get(counter, name)), Some(number), "{name}");
        let column = data.by_counter().get(counter).unwrap();
        assert_eq!(of(column.get(name)), Some(number), "{name}");
        let mut one = PerformanceCounter::new_in(source, &category.name(), counter, name).unwrap();
        // All readers are at the same sample, which each may have once.
        assert_eq!(one.next_value().unwrap(), number as f64, "{name}");
        assert_eq!(one.instance_name(), name);
        let [mut same] = <[_; 1]>::try_from(category.counters(name).unwrap()).unwrap();
        assert_eq!(same.raw_value().unwrap(), number, "{name}");
    }
}

#[test]
fn every_listed_name_finds_its_row() {
    let things = [
        "a",
        "A",
        "a",
        "a#1",
        "A#1",
        "a#2",
        "a^#1",
        "a/b",
        "a/b#1",
        "a",
        "",
        "",
        "#",
        "##1",
        "/",
        "//",
        "^",
        "^^",
        "(",
        ")",
        "(a)",
        "a)",
        "*",
        "?",
        "a*",
        "_Total",
        "_total",
        "a#0",
        "a#01",
        "\"",
        "\\",
        "\\\\x",
        "%",
        " ",
        " a",
        "Straße",
        "STRASSE",
        "İ",
        "i",
        "ς",
        "Σ",
        "k",
        "\u{212a}",
        "\u{1F600}",
        "n#",
        "n",
        "n",
        "0",
        "1",
    ];
    let parts = [
        (0, "0"),
        (0, "0"),
        (1, "0"),
        (2, "0"),
        (3, "0"),
        (0, "1"),
        (3, "1#1"),
        (7, "b"),
        (10, "x"),
        (12, "/"),
        (14, ""),
        (0, "b"),
        (7, "b#1"),
        (16, "^"),
        (19, "("),
    ];
    let source = source(&things, &parts);
    check_that_each_name_finds_its_row(&source, "things (ALL) #1/X", "number#/()", 0);
    check_that_each_name_finds_its_row(&source, "Teile", "zahl", 1000);
}

#[test]
fn every_function_finds_names_in_every_language() {
    let source = source(&["a"], &[]);
    for name in ["Things (all) #1/x", "DINGE", "5000"] {
        let mut category = Category::new_in(&source, name).unwrap();
        let data = category.read().unwrap();
        for counter in ["Number#/()", "NUMMER", "5002"] {
            assert!(category.has_counter(counter), "{name}, {counter}");
            assert!(data.get(counter, "a").is_some(), "{name}, {counter}");
            assert!(data.by_counter().get(counter).is_some(), "{name}, {counter}");
            PerformanceCounter::new_in(&source, name, counter, "a").unwrap();
        }
        assert!(data.get("Zahl", "a").is_none());
    }
    // A category from the list of all finds the same.
    for mut category in Category::all_in(&source).unwrap().into_iter().take(1) {
        assert!(category.read().unwrap().get("nummer", "a").is_some());
        assert!(category.has_counter("nummer"));
    }
}

#[test]
fn every_name_in_real_data_finds_its_row() {
    let Some(names) = real::text("titles/vista_009_from_pal_SampleLog.txt") else { return };
    let list = format::titles::TitleList::from_text(&names);
    let files = real::files("windows-vista", "_global.bin");
    let source = ReplaySource::new("vista:", files).unwrap();
    let source = SharedSource::new(source.with_titles(LanguageId::ENGLISH, &list));
    let mut found = 0;
    for mut category in Category::all_in(&source).unwrap() {
        let Ok(data) = category.read() else { continue };
        // Only a reader that has had the sample moves the recording on.
        for (place, row) in data.by_instance().iter().enumerate() {
            let name = row.name();
            let own = data.by_instance().get(&name).map(|row| row.identity().cloned());
            assert_eq!(own, Some(row.identity().cloned()), "{}: {name} ({place})", category.name());
            for counter in &row {
                let same = data.get(&counter.counter_name(), &name).unwrap();
                assert_eq!(same.counter_type(), counter.counter_type());
                assert_eq!(same.raw_value().ok(), counter.raw_value().ok());
                found += 1;
            }
        }
    }
    assert!(found > 1000, "{found}");
}
