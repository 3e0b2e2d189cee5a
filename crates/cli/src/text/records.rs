//! Writes rows for programs: JSON, CSV, TSV.
//!
//! Numbers are exact: whole numbers with all their digits, others in the shortest form that reads back
//! as the same double.

use super::escape::{escape_from, is_unsafe};
use perfhive_view::Field;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};

/// The format of rows.
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

/// A writer of rows that have the same keys.
pub(crate) struct Records {
    shape: Shape,
    keys: Vec<String>,
    rows: u64,
    /// Whether the rows go to a terminal, so that control characters in names are escaped.
    guarded: bool,
}

impl Records {
    /// Begins rows with these keys. CSV and TSV begin with a line that has the keys.
    pub(crate) fn begin<K: AsRef<str>>(
        shape: Shape,
        guarded: bool,
        keys: impl IntoIterator<Item = K>,
        out: &mut String,
    ) -> Self {
        let keys: Vec<String> = keys.into_iter().map(|key| key.as_ref().to_string()).collect();
        let records = Self { shape, keys, rows: 0, guarded };
        if matches!(shape, Shape::Csv | Shape::Tsv) {
            records.line(out, &mut records.keys.iter().map(|key| Field::Text(key)));
        }
        records
    }

    /// Adds a row; its fields are in the order of the keys.
    pub(crate) fn row<'a>(
        &mut self,
        out: &mut String,
        fields: impl IntoIterator<Item = Field<'a>>,
    ) {
        if self.shape == Shape::JsonArray {
            out.push_str(if self.rows == 0 { "[\n" } else { ",\n" });
        }
        self.line(out, &mut fields.into_iter());
        self.rows += 1;
    }

    /// Appends a row as a line. The iterator is dynamic so that this is compiled once for all kinds
    /// of rows.
    fn line<'a>(&self, out: &mut String, fields: &mut dyn Iterator<Item = Field<'a>>) {
        let start = out.len();
        match self.shape {
            Shape::JsonArray | Shape::JsonLines => push_json(out, &self.keys, fields),
            Shape::Csv => push_csv(out, fields),
            Shape::Tsv => push_tsv(out, fields),
        }
        if self.guarded {
            escape_from(out, start);
        }
        if self.shape != Shape::JsonArray {
            out.push('\n');
        }
    }

    /// Ends the rows; a JSON array is closed.
    pub(crate) fn end(self, out: &mut String) {
        if self.shape == Shape::JsonArray {
            out.push_str(if self.rows == 0 { "[]\n" } else { "\n]\n" });
        }
    }
}

/// A field that is serialized as JSON; infinities and NaN become null.
struct JsonField<'a>(Field<'a>);

impl Serialize for JsonField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Field::Bool(value) => serializer.serialize_bool(value),
            Field::Unsigned(value) => serializer.serialize_u64(value),
            Field::Signed(value) => serializer.serialize_i64(value),
            Field::Float(value) => serializer.serialize_f64(value),
            Field::Text(text) => serializer.serialize_str(text),
            Field::None => serializer.serialize_none(),
        }
    }
}

/// A JSON format that escapes unsafe characters, so that strings cannot control a terminal.
struct Guarded;

impl serde_json::ser::Formatter for Guarded {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for piece in fragment.split_inclusive(is_unsafe) {
            let plain = piece.trim_end_matches(is_unsafe);
            writer.write_all(plain.as_bytes())?;
            for unit in piece.get(plain.len()..).unwrap_or_default().encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Appends a value as JSON, with strings that cannot control a terminal.
pub(crate) fn push_value(out: &mut String, value: &impl Serialize) {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Guarded);
    let _ = value.serialize(&mut serializer);
    out.push_str(&String::from_utf8_lossy(&text));
}

fn push_json<'a>(out: &mut String, keys: &[String], fields: impl IntoIterator<Item = Field<'a>>) {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Guarded);
    let entries = keys.iter().zip(fields).map(|(key, field)| (key, JsonField(field)));
    // Texts and numbers can be serialized, and writing to memory cannot fail.
    let _ = serializer.collect_map(entries);
    out.push_str(&String::from_utf8_lossy(&text));
}

/// The text of a field for CSV and TSV; empty for no value, for infinities and for NaN.
fn plain(field: Field<'_>) -> Cow<'_, str> {
    match field {
        Field::Bool(value) => value.to_string().into(),
        Field::Unsigned(value) => value.to_string().into(),
        Field::Signed(value) => value.to_string().into(),
        // The shortest text, with an exponent for very large and very small numbers.
        Field::Float(value) if value.is_finite() => format!("{value:?}").into(),
        Field::Text(text) => text.into(),
        Field::None | Field::Float(_) => "".into(),
    }
}

/// Appends a line of CSV (RFC 4180), without a line end.
fn push_csv<'a>(out: &mut String, fields: impl IntoIterator<Item = Field<'a>>) {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and the writer accepts a first row of any length.
    let _ = writer.write_record(fields.into_iter().map(|field| plain(field).into_owned()));
    let line = writer.into_inner().unwrap_or_default();
    out.push_str(String::from_utf8_lossy(&line).trim_end_matches('\n'));
}

/// Appends a line of TSV, without a line end; tabs, line breaks and backslashes are escaped by a
/// backslash.
fn push_tsv<'a>(out: &mut String, fields: impl IntoIterator<Item = Field<'a>>) {
    for (place, field) in fields.into_iter().enumerate() {
        if place > 0 {
            out.push('\t');
        }
        for c in plain(field).chars() {
            match c {
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\\' => out.push_str("\\\\"),
                c => out.push(c),
            }
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
