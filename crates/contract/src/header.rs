//! The C header of the contract, generated from the same tables as the code.

use perfhive_format::CounterType;
use perfhive_format::winperf::{
    FACETS, FieldLayout, PERF_COUNTER_BLOCK, PERF_COUNTER_DEFINITION, PERF_DATA_BLOCK,
    PERF_INSTANCE_DEFINITION, PERF_OBJECT_TYPE, SYSTEMTIME, StructLayout,
};
use std::fmt::Write as _;

/// The text of the header before the structures.
const HEAD: &str = include_str!("header/head.h");
/// The text of the header behind the counter types.
const FUNCTIONS: &str = include_str!("header/functions.h");

/// The text of the C header `perfhive_provider.h`.
#[must_use]
pub fn c_header() -> String {
    let mut out = HEAD.to_string();
    let layouts = [
        SYSTEMTIME::LAYOUT,
        PERF_DATA_BLOCK::LAYOUT,
        PERF_OBJECT_TYPE::LAYOUT,
        PERF_COUNTER_DEFINITION::LAYOUT,
        PERF_INSTANCE_DEFINITION::LAYOUT,
        PERF_COUNTER_BLOCK::LAYOUT,
    ];
    for layout in &layouts {
        structure(&mut out, layout);
    }
    out.push_str("/* ---- Counter types: facets, joined by | ---- */\n\n");
    for (name, value, doc) in FACETS {
        comment(&mut out, "", doc);
        define(&mut out, name, *value);
    }
    out.push_str("\n/* ---- Counter types by their names ---- */\n\n");
    for info in CounterType::named() {
        let formula = match info.formula {
            "" => String::new(),
            formula => format!(" Shown as {formula}."),
        };
        comment(&mut out, "", &[&format!(" {}.{formula}", info.meaning)]);
        define(&mut out, info.winperf, info.counter_type.0);
    }
    out.push_str(FUNCTIONS);
    out
}

fn define(out: &mut String, name: &str, value: u32) {
    let _ = writeln!(out, "#define {name} 0x{value:08X}u");
}

/// Writes the lines of a Rust doc comment as one C comment.
fn comment(out: &mut String, indent: &str, doc: &[&str]) {
    // Lines of a doc comment begin with a blank; its code marks are Rust's.
    let text = doc.concat().replace(['`', '[', ']'], "");
    let text = text.trim();
    let _ = writeln!(out, "{indent}/* {text} */");
}

/// Writes a structure, and the assertions of its size and of its members' offsets.
fn structure(out: &mut String, layout: &StructLayout) {
    comment(out, "", layout.doc);
    let name = layout.name;
    let _ = writeln!(out, "typedef struct _{name} {{");
    let mut end = 0;
    for field in layout.fields {
        if field.offset > end {
            let _ = writeln!(out, "    BYTE Padding{end}[{}];", field.offset - end);
        }
        end = member(out, field);
    }
    let _ = writeln!(out, "}} {name}, *P{name};");
    let _ = writeln!(out, "PERFHIVE_ASSERT(sizeof({name}) == {}, {name}_size);", layout.size);
    for field in layout.fields {
        let _ = writeln!(
            out,
            "PERFHIVE_ASSERT(offsetof({name}, {0}) == {1}, {name}_{0});",
            field.name, field.offset
        );
    }
    out.push('\n');
}

/// Writes one member of a structure behind its comment. Returns the offset of the member's end in
/// bytes.
fn member(out: &mut String, field: &FieldLayout) -> usize {
    comment(out, "    ", field.doc);
    let (kind, size, suffix) = match field.kind {
        "u16" => ("WORD", 2, ""),
        "i32" => ("LONG", 4, ""),
        "i64" => ("LARGE_INTEGER", 8, ""),
        "WCHAR4" => ("WCHAR", 8, "[4]"),
        "SYSTEMTIME" => ("SYSTEMTIME", SYSTEMTIME::SIZE, ""),
        _ => ("DWORD", 4, ""),
    };
    let _ = writeln!(out, "    {kind} {}{suffix};", field.name);
    field.offset + size
}
