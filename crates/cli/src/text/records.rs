//! Rows for programs: JSON, CSV, TSV.
//!
//! Numbers are exact: whole numbers with all their digits, others in the
//! shortest form that reads back as the same double.

use super::escape::{escape_from, is_unsafe};
use perfhive_view::{Field, Row};
use std::fmt::Write as _;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One array of objects.
    JsonArray,
    /// One object a line.
    JsonLines,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
}

/// Writes rows of the same keys.
pub(crate) struct Records {
    shape: Shape,
    keys: Vec<String>,
    rows: u64,
    /// Whether a terminal shows the rows, so that names must not drive it.
    guarded: bool,
}

impl Records {
    /// Begins the rows.
    pub(crate) fn begin<K: AsRef<str>>(
        shape: Shape,
        guarded: bool,
        keys: impl IntoIterator<Item = K>,
        out: &mut String,
    ) -> Self {
        let keys: Vec<String> = keys.into_iter().map(|key| key.as_ref().to_string()).collect();
        let mut records = Self { shape, keys, rows: 0, guarded };
        if matches!(shape, Shape::Csv | Shape::Tsv) {
            for (place, key) in records.keys.iter().enumerate() {
                records.separate(out, place);
                records.push_text(out, key);
            }
            out.push('\n');
        }
        records.rows = 0;
        records
    }

    /// Adds a row; its fields are in the order of the keys.
    pub(crate) fn row<'a>(
        &mut self,
        out: &mut String,
        fields: impl IntoIterator<Item = Field<'a>>,
    ) {
        match (self.shape, self.rows) {
            (Shape::JsonArray, 0) => out.push_str("[\n{"),
            (Shape::JsonArray, _) => out.push_str(",\n{"),
            (Shape::JsonLines, _) => out.push('{'),
            _ => {}
        }
        for (place, (field, key)) in fields.into_iter().zip(&self.keys).enumerate() {
            self.separate(out, place);
            if matches!(self.shape, Shape::JsonArray | Shape::JsonLines) {
                push_json(out, key);
                out.push(':');
            }
            self.push(out, field);
        }
        out.push_str(match self.shape {
            Shape::JsonArray => "}",
            Shape::JsonLines => "}\n",
            Shape::Csv | Shape::Tsv => "\n",
        });
        self.rows += 1;
    }

    /// Adds the rows of readings.
    pub(crate) fn readings(&mut self, out: &mut String, rows: &[Row]) {
        for row in rows {
            let type_name = row.counter_type.map(|one| one.to_string());
            self.row(out, row.fields(type_name.as_deref()));
        }
    }

    /// Ends the rows.
    pub(crate) fn end(self, out: &mut String) {
        if self.shape == Shape::JsonArray {
            out.push_str(if self.rows == 0 { "[]\n" } else { "\n]\n" });
        }
    }

    fn separate(&self, out: &mut String, place: usize) {
        if place > 0 {
            out.push(if self.shape == Shape::Tsv { '\t' } else { ',' });
        }
    }

    fn push(&self, out: &mut String, field: Field<'_>) {
        // Writing to a string cannot fail.
        let _ = match field {
            Field::Bool(value) => write!(out, "{value}"),
            Field::Unsigned(value) => write!(out, "{value}"),
            Field::Signed(value) => write!(out, "{value}"),
            // The shortest form, with an exponent where it is far from 1: a
            // number of JSON as well.
            Field::Float(value) if value.is_finite() => write!(out, "{value:?}"),
            Field::Text(text) => {
                self.push_text(out, text);
                Ok(())
            }
            Field::None | Field::Float(_) => {
                out.push_str(match self.shape {
                    Shape::JsonArray | Shape::JsonLines => "null",
                    Shape::Csv | Shape::Tsv => "",
                });
                Ok(())
            }
        };
    }

    fn push_text(&self, out: &mut String, text: &str) {
        let start = out.len();
        match self.shape {
            Shape::JsonArray | Shape::JsonLines => push_json(out, text),
            Shape::Csv => push_csv(out, text),
            Shape::Tsv => push_tsv(out, text),
        }
        if self.guarded {
            escape_from(out, start);
        }
    }
}

/// A JSON string. What a terminal might obey is escaped as well.
fn push_json(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if is_unsafe(c) => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
            }
            c => {
                out.push(c);
                Ok(())
            }
        };
    }
    out.push('"');
}

/// A field of RFC 4180: in quotes where it has to be.
fn push_csv(out: &mut String, text: &str) {
    let edge = |c: char| c == ' ' || c == '\t';
    if !text.contains([',', '"', '\n', '\r']) && !text.starts_with(edge) && !text.ends_with(edge) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for (place, piece) in text.split('"').enumerate() {
        if place > 0 {
            out.push_str("\"\"");
        }
        out.push_str(piece);
    }
    out.push('"');
}

/// A field that has neither tabs nor line breaks.
fn push_tsv(out: &mut String, text: &str) {
    if !text.contains(['\t', '\n', '\r', '\\']) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(shape: Shape, guarded: bool, rows: &[&[Field<'_>]]) -> String {
        let mut out = String::new();
        let mut records = Records::begin(shape, guarded, ["a", "b,c"], &mut out);
        for row in rows {
            records.row(&mut out, row.iter().copied());
        }
        records.end(&mut out);
        out
    }

    #[test]
    fn json_rows_read_back_exactly() {
        let rows: &[&[Field<'_>]] = &[
            &[Field::Unsigned(u64::MAX), Field::Float(0.1 + 0.2)],
            &[Field::Text("q\"\\\n\x1b\u{9b}\u{e0001}ü"), Field::Float(f64::NAN)],
            &[Field::Float(1e300), Field::Bool(true)],
        ];
        let text = written(Shape::JsonArray, false, rows);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json[0]["a"].as_u64(), Some(u64::MAX));
        assert_eq!(json[0]["b,c"].as_f64(), Some(0.1 + 0.2));
        assert_eq!(json[1]["a"], "q\"\\\n\x1b\u{9b}\u{e0001}ü");
        assert!(json[1]["b,c"].is_null());
        assert_eq!(json[2]["a"].as_f64(), Some(1e300));
        assert!(!text.contains(['\x1b', '\u{9b}']));
        assert_eq!(written(Shape::JsonArray, false, &[]), "[]\n");
        let lines = written(Shape::JsonLines, false, rows);
        assert_eq!(lines.lines().count(), 3);
        assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[test]
    fn csv_and_tsv_quote_and_escape() {
        let rows: &[&[Field<'_>]] = &[
            &[Field::Text("one, \"two\"\n"), Field::None],
            &[Field::Text("\\x\ty"), Field::Signed(-1)],
        ];
        let csv = "a,\"b,c\"\n\"one, \"\"two\"\"\n\",\n\\x\ty,-1\n";
        assert_eq!(written(Shape::Csv, false, rows), csv);
        let tsv = "a\tb,c\none, \"two\"\\n\t\n\\\\x\\ty\t-1\n";
        assert_eq!(written(Shape::Tsv, false, rows), tsv);
        let guarded = written(Shape::Csv, true, rows);
        assert!(guarded.contains("\"one, \"\"two\"\"\\n\","), "{guarded}");
    }
}
