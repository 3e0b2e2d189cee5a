//! The dump as text for people.

use super::walk::{Findings, Item, Kind};
use crate::text::escape::{Escaped, width};
use crate::text::style::{Palette, Style};
use perfhive_view::number::push_grouped;
use std::fmt::Write as _;

/// The number of bytes of a field that a line shows.
const BYTES: usize = 8;
/// The number of bytes of unknown data that a line shows.
const PLAIN_BYTES: usize = 16;
/// The most lines of unknown data that are shown.
const PLAIN_LINES: usize = 8;
/// The width of the column of field names, in columns of the terminal.
const FIELD: usize = 24;

pub(super) struct Page {
    palette: Palette,
    begun: bool,
}

/// The bytes in hexadecimal, with `gap` between them.
pub(super) fn hex(bytes: &[u8], gap: &str) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for (place, byte) in bytes.iter().enumerate() {
        let gap = if place == 0 { "" } else { gap };
        // Writing to a string cannot fail.
        let _ = write!(text, "{gap}{byte:02x}");
    }
    text
}

impl Page {
    pub(super) fn new(palette: Palette) -> Self {
        Self { palette, begun: false }
    }

    /// Prints an item of the block.
    pub(super) fn item(&mut self, out: &mut String, item: &Item<'_>) {
        match item.kind {
            Kind::Structure => self.heading(out, item),
            Kind::Field => self.field(out, item),
            Kind::Bytes => self.bytes(out, item),
            Kind::Damage => {
                let line = format!("! {:#08x}  {}", item.offset, Escaped(&item.text));
                self.palette.push(out, Style::Bad, &line);
                out.push('\n');
            }
        }
    }

    fn heading(&mut self, out: &mut String, item: &Item<'_>) {
        if std::mem::replace(&mut self.begun, true) {
            out.push('\n');
        }
        self.palette.push(out, Style::Heading, item.structure);
        let mut about = format!("  at {:#x}", item.offset);
        if item.size > 0 {
            about.push_str(", ");
            push_grouped(&mut about, item.size as u64);
            about.push_str(" bytes");
        }
        self.palette.push(out, Style::Faint, &about);
        if !item.text.is_empty() {
            out.push_str("  ");
            self.palette.push(out, Style::Name, &Escaped(&item.text).to_string());
        }
        out.push('\n');
    }

    fn field(&self, out: &mut String, item: &Item<'_>) {
        let (first, rest) = item.bytes.split_at(item.bytes.len().min(BYTES));
        self.start(out, item.offset, &hex(first, " "), 3 * BYTES - 1);
        let name = Escaped(&item.field).to_string();
        out.push_str(&name);
        out.extend(std::iter::repeat_n(' ', FIELD.saturating_sub(width(&name)) + 1));
        match item.number {
            Some(number) => {
                let _ = write!(out, "{number}");
            }
            None => {
                let _ = write!(out, "{}", Escaped(&item.text));
            }
        }
        if !item.meaning.is_empty() {
            out.push_str("  ");
            self.palette.push(out, Style::Faint, &Escaped(&item.meaning).to_string());
        }
        while out.ends_with(' ') {
            out.pop();
        }
        out.push('\n');
        for (line, bytes) in rest.chunks(BYTES).enumerate() {
            self.start(out, item.offset + (line + 1) * BYTES, &hex(bytes, " "), 0);
            while out.ends_with(' ') {
                out.pop();
            }
            out.push('\n');
        }
    }

    /// Prints unknown data in hexadecimal and ASCII.
    fn bytes(&self, out: &mut String, item: &Item<'_>) {
        let mut about = format!("  {:#08x}  ", item.offset);
        push_grouped(&mut about, item.size as u64);
        let _ = write!(about, " bytes {}", item.text);
        self.palette.push(out, Style::Attention, &about);
        out.push('\n');
        for (line, bytes) in item.bytes.chunks(PLAIN_BYTES).take(PLAIN_LINES).enumerate() {
            self.start(
                out,
                item.offset + line * PLAIN_BYTES,
                &hex(bytes, " "),
                3 * PLAIN_BYTES - 1,
            );
            out.extend(bytes.iter().map(|byte| match byte {
                b' '..=b'~' => char::from(*byte),
                _ => '.',
            }));
            out.push('\n');
        }
        if let Some(more) = item.size.checked_sub(PLAIN_BYTES * PLAIN_LINES).filter(|n| *n > 0) {
            let mut text = "  ".to_string();
            push_grouped(&mut text, more as u64);
            self.palette.push(out, Style::Faint, &format!("{text} more"));
            out.push('\n');
        }
    }

    fn start(&self, out: &mut String, offset: usize, hex: &str, columns: usize) {
        out.push_str("  ");
        self.palette.push(out, Style::Faint, &format!("{offset:#08x}"));
        let _ = write!(out, "  {hex:<columns$}  ");
    }

    /// Prints the verdict on the whole block.
    pub(super) fn end(&self, out: &mut String, size: usize, findings: &Findings) {
        let mut text = String::new();
        push_grouped(&mut text, size as u64);
        let damages = findings.damages.len();
        text.push_str(match damages {
            0 => " bytes, no structure damaged",
            1 => " bytes, damaged in one place",
            _ => " bytes, damaged in several places",
        });
        match findings.valueless {
            0 => {}
            1 => text.push_str("; one counter without a value"),
            count => {
                text.push_str("; ");
                push_grouped(&mut text, count as u64);
                text.push_str(" counters without a value");
            }
        }
        out.push('\n');
        self.palette.push(out, if damages == 0 { Style::Faint } else { Style::Bad }, &text);
        out.push('\n');
    }
}
