//! `perfhive dump`: prints every field of a raw data block, sound or damaged.

mod meaning;
mod page;
mod walk;

use crate::args::{Dump, Global};
use crate::failure::{Exit, Failure, Outcome, of_source};
use crate::output::Output;
use crate::session::warn_about_titles;
use crate::text::escape::{Escaped, shell_word};
use crate::text::records::Records;
use crate::text::style::Style;
use page::Page;
use perfhive::recording::{language_of_titles, read_block, read_titles};
use perfhive::{OpenOptions, SourceAddress, TitleDatabase, TitleSet};
use perfhive_view::Field;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walk::{Item, Kind, Walk};

pub(super) fn run(global: &Global, args: &Dump) -> Outcome {
    let files = files(&args.file)?;
    let titles = titles(global, &args.file)?;
    let output = Output::new(global);
    let mut text = String::new();
    let mut records = (!output.is_table()).then(|| output.records(KEYS, &mut text));
    let mut damages: Vec<String> = Vec::new();
    for file in &files {
        let name = file.display().to_string();
        let address = SourceAddress::file(&name).to_string();
        if file.is_file() && !is_block(file) && OpenOptions::new().open(&address).is_ok() {
            let word = shell_word(&address);
            let what = format_args!(
                "is no raw data block, which dump takes apart; perfhive info tells what it holds, \
                 perfhive enum -s {word} its raw values"
            );
            return Err(Failure::Usage(of_source(&name, what)));
        }
        let bytes = read_block(file)?;
        if bytes.is_empty() {
            return Err(Failure::Source(format!("{name}: the file is empty")));
        }
        let walk = Walk::new(&bytes, &titles);
        let findings = match &mut records {
            Some(records) => walk.run(&mut |item| record(records, &mut text, &name, item)),
            None => {
                if files.len() > 1 {
                    output.palette.push(&mut text, Style::Name, &Escaped(&name).to_string());
                    text.push('\n');
                }
                let mut page = Page::new(output.palette);
                let findings = walk.run(&mut |item| page.item(&mut text, item));
                page.end(&mut text, bytes.len(), &findings);
                findings
            }
        };
        damages.extend(findings.damages.iter().map(|damage| format!("{name}: {damage}")));
        // Each block is written at once, since a folder may have many blocks.
        output.write(&std::mem::take(&mut text))?;
    }
    if let Some(records) = records {
        records.end(&mut text);
    }
    output.write(&text)?;
    let Some(first) = damages.first() else {
        return Ok(Exit::Done);
    };
    let more = match damages.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Err(Failure::Source(format!("{first}{more}")))
}

/// The path itself if it is no folder, or the data blocks in the folder, ordered by name; a failure
/// if the folder has none or cannot be read.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed =
        |why: &dyn std::fmt::Display| Failure::Source(format!("{}: {why}", path.display()));
    let entries = std::fs::read_dir(path).map_err(|error| failed(&error))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.is_file() && is_block(file));
    files.sort();
    if files.is_empty() {
        return Err(failed(&"has no data block, which begins with \"PERF\" in UTF-16"));
    }
    Ok(files)
}

/// Whether a file begins with the signature of a data block.
fn is_block(file: &Path) -> bool {
    const SIGNATURE: [u8; 8] = *b"P\0E\0R\0F\0";
    let mut start = [0; SIGNATURE.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == SIGNATURE
}

/// The title lists of a capture, if the path is its folder or a block in it; empty for any other path.
fn lists_beside(path: &Path) -> Vec<PathBuf> {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let Some(folder) = folder.filter(|folder| folder.join("manifest.jsonl").is_file()) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_list = |file: &PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with("_names.bin") || name.ends_with("_help.bin"))
    };
    entries.map(|entry| entry.path()).filter(is_list).collect()
}

/// The titles from the lists that the command line names, and from those of the capture at `path`.
fn titles(global: &Global, path: &Path) -> Result<TitleSet, Failure> {
    let mut databases = Vec::new();
    for file in global.titles.iter().chain(&lists_beside(path)) {
        warn_about_titles(file, global.quiet)?;
        let list = read_titles(file)?;
        let language = language_of_titles(file);
        databases.push(Arc::new(TitleDatabase::new(language, &list, &list)));
    }
    // The wanted language comes first, because the first one is shown.
    databases.sort_by_key(|database| Some(database.language()) != global.language);
    Ok(TitleSet::new(databases))
}

const KEYS: [&str; 12] = [
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
    "file",
];

/// The most bytes of an item that a row has in hexadecimal.
const MOST_HEX: usize = 256;

fn record(records: &mut Records, out: &mut String, file: &str, item: &Item<'_>) {
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
            Field::Text(file),
        ],
    );
}
