//! perfmon's text logs: PDH-CSV and PDH-TSV.
//!
//! The first line has a banner and the path of each column, every further line a time and a value
//! for each column. What is known of the form is in the manual's page `cli.md`; no program of
//! Windows is needed to read or write it.

mod header;
mod number;
mod objects;
mod path;
mod reader;
mod text;
mod writer;

pub(crate) use header::is_text_log;
pub use header::text_log_columns;
pub(crate) use reader::TextLog;
pub use writer::{TextForm, TextLines, TextLogWriter, TextZone};

/// The forms of text logs: the separator of the columns, and the name of the form in the banner.
const FORMS: [(u8, &str); 2] = [(b',', "PDH-CSV"), (b'\t', "PDH-TSV")];
