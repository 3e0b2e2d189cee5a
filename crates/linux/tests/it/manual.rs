//! Tests that the table of counters agrees with the providers, with Windows and
//! with the manual.

use perfhive_engine::{Cost, Numbering, ObjectDescription};
use perfhive_format::{DataBlock, LanguageId, TitleIndex, titles::TitleList};
use perfhive_linux::{Availability, CounterDoc, ProcRoot, counter_table, object_table, providers};
use perfhive_testkit::real;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

fn objects() -> Vec<ObjectDescription> {
    let described = providers(&ProcRoot::default()).into_iter().map(|p| p.describe());
    let mut all = Vec::new();
    for description in described {
        assert_eq!(description.numbering, Numbering::Windows);
        all.extend(description.objects);
    }
    all
}

/// Whether an index is perfhive's, not Windows'.
fn is_own(index: TitleIndex) -> bool {
    index.0 >= 100_000
}

fn is_present(doc: &CounterDoc) -> bool {
    matches!(doc.availability, Availability::Present { .. })
}

#[test]
fn the_table_and_the_providers_agree_in_both_directions() {
    let mut offered = BTreeSet::new();
    for object in objects() {
        for counter in object.counters.iter().filter(|c| !c.counter_type.is_base()) {
            let on_request = object.on_request.contains(&counter.name);
            offered.insert((object.spec.name, counter.name, counter.counter_type.0, on_request));
        }
        assert!(object.on_request.iter().all(|c| object.counters.iter().any(|o| o.name == *c)));
    }
    let documented: BTreeSet<_> = counter_table()
        .iter()
        .filter_map(|doc| match doc.availability {
            Availability::Present { on_request, .. } => {
                Some((doc.object, doc.counter, doc.counter_type.0, on_request))
            }
            Availability::Absent { .. } => None,
        })
        .collect();
    assert_eq!(offered, documented);
    let offered: BTreeSet<_> = objects().iter().map(|object| object.spec.name).collect();
    let documented: BTreeSet<_> = object_table().iter().map(|object| object.index).collect();
    assert_eq!(offered, documented);
}

#[test]
fn real_windows_blocks_have_the_same_definitions() {
    let table = counter_table();
    let objects = objects();
    let mut seen = 0;
    for file in ["s00_o7_2", "s00_o2_4", "s00_o6_238", "s00_o5_230", "s00_o3_510", "s00_o1_638"] {
        let Some(bytes) = real::file(&format!("windows-vista/{file}.bin")) else {
            return;
        };
        let block = DataBlock::parse(&bytes).unwrap();
        let theirs = block.objects().next().unwrap();
        let ours = objects.iter().find(|o| o.spec.name == theirs.name_index()).unwrap();
        assert_eq!(ours.spec.help, theirs.help_index());
        assert_eq!(ours.spec.detail, theirs.detail_level());
        assert_eq!(ours.spec.has_instances, theirs.has_instances());
        let mut known: Vec<_> =
            table.iter().filter(|doc| doc.object == theirs.name_index() && !doc.is_own()).collect();
        let mut bases = ours.counters.iter().filter(|c| c.counter_type.is_base());
        for counter in theirs.counters() {
            let our = if counter.counter_type().is_base() {
                bases.find(|c| c.name == counter.name_index())
            } else {
                let at = known.iter().position(|doc| doc.counter == counter.name_index());
                let doc = known.remove(at.unwrap_or_else(|| panic!("{:?}", counter.raw())));
                assert_eq!(doc.counter_type, counter.counter_type(), "{}", doc.name);
                ours.counters.iter().find(|c| c.name == doc.counter && is_present(doc))
            };
            let Some(our) = our else { continue };
            assert_eq!(our.counter_type, counter.counter_type(), "{our:?}");
            assert_eq!(our.help, counter.help_index(), "{our:?}");
            assert_eq!(our.scale, counter.default_scale(), "{our:?}");
            assert_eq!(our.detail, counter.detail_level(), "{our:?}");
            assert_eq!(our.size, counter.size(), "{our:?}");
            seen += 1;
        }
        assert_eq!(known, Vec::<&CounterDoc>::new(), "Windows has no such counters");
    }
    assert_eq!(seen, 67);
}

#[test]
fn names_are_those_of_windows() {
    let Some(text) = real::text("titles/vista_009_from_pal_SampleLog.txt") else {
        return;
    };
    let theirs = TitleList::from_text(&text);
    let name_of = |index: TitleIndex| {
        let title = theirs.titles.iter().find(|title| title.index == index);
        title.map(|title| title.text.clone()).unwrap_or_default()
    };
    for doc in counter_table() {
        if !doc.is_own() {
            assert_eq!(doc.name, name_of(doc.counter));
        }
    }
    for object in object_table().iter().filter(|object| !is_own(object.index)) {
        assert_eq!(object.name, name_of(object.index));
    }
    for provider in providers(&ProcRoot::default()) {
        let titles = provider.titles();
        let english = titles.iter().find(|t| t.language == LanguageId::ENGLISH).unwrap();
        for title in english.names.titles.iter().filter(|title| !is_own(title.index)) {
            assert_eq!(title.text, name_of(title.index), "{}", title.index);
        }
        assert!(titles.iter().any(|t| t.language == LanguageId::GERMAN));
    }
}

/// Whether an index belongs to names about memory maps, which the list of German names does not have.
fn is_unlisted(index: TitleIndex) -> bool {
    matches!(index.0, 708..=802 | 816 | 1408)
}

/// The German names are those of Windows with the same English name.
#[test]
fn german_names_are_those_of_windows() {
    let Some(text) = real::text("titles/pal_CounterLang.xml") else {
        return;
    };
    let mut theirs = BTreeSet::new();
    for line in text.lines() {
        let attribute = |name: &str| {
            let rest = line.split_once(&format!(" {name}=\""))?.1;
            let value = rest.split_once('"')?.0.replace("&amp;amp;", "&").replace("&amp;", "&");
            // Some quotation marks are doubled.
            Some(value.replace("&quot;&quot;", "\""))
        };
        if let (Some(english), Some(german)) = (attribute("enUS"), attribute("deDE")) {
            theirs.insert((english, german));
        }
    }
    for provider in providers(&ProcRoot::default()) {
        let titles = provider.titles();
        let of = |language| titles.iter().find(|t| t.language == language).unwrap();
        let (english, german) = (of(LanguageId::ENGLISH), of(LanguageId::GERMAN));
        for title in &english.names.titles {
            let same = german.names.titles.iter().find(|other| other.index == title.index);
            let pair = (title.text.clone(), same.unwrap().text.clone());
            // Of perfhive's own names, those that Windows has as well.
            let is_windows = theirs.iter().any(|(english, _)| *english == pair.0);
            if is_windows || !(is_own(title.index) || is_unlisted(title.index)) {
                assert!(theirs.contains(&pair), "{pair:?}");
            }
        }
    }
}

#[test]
fn the_manual_is_this_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/linux-counters.md");
    let text = manual();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == text, "{} is out of date: run this test with UPDATE=1", path.display());
}

const HEAD: &str = "\
# Windows' counters on Linux, and Linux' own

<!-- Made from the providers' table by a test of perfhive-linux; UPDATE=1 rewrites it. -->

This page lists the counters of Windows' objects that perfhive fills on Linux, with their sources; the
counters that it leaves out, with the reason; and the counters that only Linux has. Indexes, counter types
and units are those of Windows. Indexes from 100000 are perfhive's own: for counters that Windows does not
have, or for which it has different indexes on each machine. Files without a leading `/` are below `/proc`.

**No counter is 0 because its value is unknown.** If the kernel does not have a counter, it is missing in the
definitions of the object (for example, an old kernel has no `MemAvailable`). If a value cannot be read for
one instance, it is missing in that instance only.

- *Reads*: what one collection of the object reads. Nothing is read that no requested object needs.
- *On request*: filled only if a reader asks for the counter, because reading it costs extra.
- *Costly*: part of `Costly` instead of `Global`, or collected if it is named.
- *Since*: the first kernel that has it, if not every kernel on which perfhive runs.
- Rates need two samples. Counts of 32 bits wrap, and the difference is right across the wrap;
  other numbers that do not fit saturate.
";

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn manual() -> String {
    let mut text = HEAD.to_string();
    for object in object_table() {
        writeln!(text, "\n## {} {}\n", object.name, object.index).unwrap();
        if !object.note.is_empty() {
            writeln!(text, "{}\n", object.note).unwrap();
        }
        let costly = if object.cost == Cost::Costly { " *Costly.*" } else { "" };
        writeln!(text, "*Reads* {}.{costly}\n", object.reads).unwrap();
        text.push_str("| Counter | Type, unit | From | Meaning; what is different here |\n");
        text.push_str("|---|---|---|---|\n");
        let mut absent = String::new();
        for doc in &object.counters {
            let kind = doc.counter_type.winperf_name().unwrap();
            let (counter, name) = (doc.counter, cell(doc.name));
            match doc.availability {
                Availability::Present { unit, source, on_request, since, meaning, difference } => {
                    let mut from = cell(source);
                    if on_request {
                        from.push_str("; *on request*");
                    }
                    if !since.is_empty() {
                        write!(from, "; *since {since}*").unwrap();
                    }
                    let mut meaning = cell(meaning);
                    if !difference.is_empty() {
                        write!(meaning, " **Here:** {}", cell(difference)).unwrap();
                    }
                    writeln!(text, "| {counter} {name} | `{kind}`, {unit} | {from} | {meaning} |")
                        .unwrap();
                }
                Availability::Absent { reason } => {
                    writeln!(absent, "| {counter} {name} | `{kind}` | {} |", cell(reason)).unwrap();
                }
            }
        }
        if !absent.is_empty() {
            write!(text, "\nAbsent:\n\n| Counter | Type | Why |\n|---|---|---|\n{absent}").unwrap();
        }
    }
    text
}

/// The unit of bytes is not in the counter type: the unit found by the name is that of the table.
#[test]
fn units_known_by_name_are_those_of_the_table() {
    use perfhive_engine::unit_of;
    let amounts = [
        ("bytes", "B"),
        ("bytes/s", "B/s"),
        ("KB", "KiB"),
        ("KB/s", "KiB/s"),
        ("MB", "MiB"),
        ("%", "%"),
    ];
    let mut wrong = Vec::new();
    for doc in counter_table() {
        let Availability::Present { unit, .. } = doc.availability else { continue };
        let known = unit_of(doc.counter_type, doc.object_name, doc.name);
        let wanted = amounts.iter().find(|(table, _)| *table == unit).map(|(_, known)| *known);
        let is_amount = amounts.iter().any(|(_, amount)| *amount == known);
        if wanted.is_some_and(|wanted| wanted != known) || wanted.is_none() && is_amount {
            wrong.push(format!("{}\\{}: {unit} is taken for {known:?}", doc.object_name, doc.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
