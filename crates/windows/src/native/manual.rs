//! The page of the manual, generated from the table.

use super::table::object_table;
use perfhive_engine::standard::Availability;
use std::fmt::Write as _;

const HEAD: &str = "\
# Counters by Windows' native functions

<!-- Made from the provider's table by a test of perfhive-windows; UPDATE=1 rewrites it. -->

This page lists the counters of the four objects of `native:`. On Windows, `local:` shows these
objects while the registry lacks them. The values are fields of the structures that
`NtQuerySystemInformation` returns. Indexes, counter types and units are Windows' own.

A counter is left out if the system does not fill its field. A field counts as not filled if it is 0
for every process or thread, or if it is a count since the start that is still 0. States of threads
are left out if no thread is running.
";

fn manual() -> String {
    let mut text = HEAD.to_string();
    for object in object_table() {
        let _ = write!(text, "\n## {} {}\n\n", object.name, object.index);
        if !object.note.is_empty() {
            let _ = write!(text, "{}\n\n", object.note);
        }
        let _ = write!(text, "*Reads* {}.\n\n", object.reads);
        text += "| Counter | Type, unit | From | Meaning; what is different here |\n|---|---|---|---|\n";
        let mut absent = String::new();
        for counter in &object.counters {
            let kind = counter.counter_type;
            let name = format!("{} {}", counter.counter, counter.name);
            match counter.availability {
                Availability::Present { unit, source, since, meaning, difference, .. } => {
                    let since =
                        if since.is_empty() { String::new() } else { format!("; *since {since}*") };
                    let here = match difference {
                        "" => String::new(),
                        difference => format!(" **Here:** {difference}"),
                    };
                    let _ = writeln!(
                        text,
                        "| {name} | `{kind}`, {unit} | {source}{since} | {meaning}{here} |"
                    );
                }
                Availability::Absent { reason } => {
                    let _ = writeln!(absent, "| {name} | `{kind}` | {reason} |");
                }
            }
        }
        if !absent.is_empty() {
            let _ = write!(text, "\nAbsent:\n\n| Counter | Type | Why |\n|---|---|---|\n{absent}");
        }
    }
    text
}

#[test]
fn the_manual_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/native-counters.md");
    let made = manual();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(written == made, "{path} is not what the table says; UPDATE=1 rewrites it");
}
