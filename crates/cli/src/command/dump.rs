//! `perfhive dump`: every field of a raw data block, sound or damaged.

mod meaning;
mod page;
mod walk;

use crate::args::{Dump, Global};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::session::warn_about_titles;
use crate::text::records::Records;
use page::Page;
use perfhive::{TitleDatabase, TitleSet, language_of_titles, read_block, read_titles};
use perfhive_view::Field;
use std::sync::Arc;
use walk::{Item, Kind, Walk};

pub(super) fn run(global: &Global, args: &Dump) -> Outcome {
    let bytes = read_block(&args.file)?;
    if bytes.is_empty() {
        return Err(Failure::Source(format!("{}: the file is empty", args.file.display())));
    }
    let titles = titles(global)?;
    let output = Output::new(global);
    let mut text = String::new();
    let findings = if output.is_table() {
        let mut page = Page::new(output.palette);
        let findings = Walk::new(&bytes, &titles).run(&mut |item| page.item(&mut text, item));
        page.end(&mut text, bytes.len(), &findings);
        findings
    } else {
        let mut records = output.records(KEYS, &mut text);
        let findings =
            Walk::new(&bytes, &titles).run(&mut |item| record(&mut records, &mut text, item));
        records.end(&mut text);
        findings
    };
    output.write(&text)?;
    let Some(first) = findings.damages.first() else {
        return Ok(Exit::Done);
    };
    let more = match findings.damages.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Err(Failure::Source(format!("{}: {first}{more}", args.file.display())))
}

/// The names of the title lists on the command line.
fn titles(global: &Global) -> Result<TitleSet, Failure> {
    let mut databases = Vec::new();
    for file in &global.titles {
        warn_about_titles(file, global.quiet)?;
        let list = read_titles(file)?;
        let language = language_of_titles(file);
        databases.push(Arc::new(TitleDatabase::new(language, &list, &list)));
    }
    // The wanted language first: it is the one that is shown.
    databases.sort_by_key(|database| Some(database.language()) != global.language);
    Ok(TitleSet::new(databases))
}

const KEYS: [&str; 11] = [
    "kind",
    "offset",
    "size",
    "hex",
    "structure",
    "field",
    "value",
    "meaning",
    "object",
    "instance",
    "counter",
];

/// Bytes that one row shows at most.
const MOST_HEX: usize = 256;

fn record(records: &mut Records, out: &mut String, item: &Item<'_>) {
    let hex = page::hex(item.bytes.get(..MOST_HEX).unwrap_or(item.bytes), "");
    let kind = match item.kind {
        Kind::Structure => "structure",
        Kind::Field => "field",
        Kind::Bytes => "bytes",
        Kind::Damage => "damage",
    };
    let value = match item.number {
        Some(number) => match (u64::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => Field::Unsigned(number),
            (_, Ok(number)) => Field::Signed(number),
            _ => Field::None,
        },
        None if item.text.is_empty() => Field::None,
        None => Field::Text(&item.text),
    };
    let optional = |text: &'_ str| !text.is_empty();
    records.row(
        out,
        [
            Field::Text(kind),
            Field::Unsigned(item.offset as u64),
            Field::Unsigned(item.size as u64),
            if item.bytes.is_empty() { Field::None } else { Field::Text(&hex) },
            Field::text(Some(item.structure).filter(|text| optional(text))),
            Field::text(Some(&*item.field).filter(|text| optional(text))),
            value,
            Field::text(Some(&*item.meaning).filter(|text| optional(text))),
            Field::text(item.place.object.as_deref()),
            Field::text(item.place.instance.as_deref()),
            Field::text(item.counter.as_deref()),
        ],
    );
}
