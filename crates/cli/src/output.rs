//! The output of a command. Each result is written at once.

use crate::args::{Format, Global, When};
use crate::failure::Failure;
use crate::text::records::{Records, Shape};
use crate::text::style::{Palette, Style};
use crate::text::table::Layout;
use crate::text::time::local;
use crate::unfinished::{created, refuse_for_text, refuse_input, write_whole};
use perfhive::{CalendarTime, SourceAddress};
use perfhive_view::{Detail, KEYS, LOCAL_KEYS, Row};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// The format, the colours and the place of the output of a command.
pub(crate) struct Output {
    /// The format of the result.
    pub(crate) format: Format,
    /// The colours of the output, which may be none.
    pub(crate) palette: Palette,
    /// Whether the result goes to a terminal.
    pub(crate) terminal: bool,
    /// Whether the terminal understands escape sequences.
    pub(crate) escapes: bool,
    /// The file that takes the result instead of standard output, and its name; `None` for standard output. The file is
    /// created at the first text, so that a command that fails before then leaves an existing file as it is.
    file: Option<(OnceCell<File>, PathBuf)>,
    /// Whether numbers are scaled (KiB, MiB and so on); `None` if the command line does not say.
    scaled: Option<bool>,
    /// Whether rows for programs also have the names of the language that the command line chooses. The language of
    /// the environment does not change the data.
    localised: bool,
}

/// Whether the terminal understands escape sequences; `false` if TERM is `dumb`. On Windows this function switches them
/// on, and is `false` if the console does not have them, as before Windows 10.
fn understands_escapes() -> bool {
    #[cfg(windows)]
    if anstyle_query::windows::enable_ansi_colors() == Some(false) {
        return false;
    }
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The width of tables that are not cut off: more than any line has.
const UNLIMITED: usize = 1 << 20;
/// The greatest width of running text.
const READABLE: usize = 100;

impl Output {
    /// The output that the command line asks for, with the abilities of standard output.
    pub(crate) fn new(global: &Global) -> Self {
        let terminal = io::stdout().is_terminal();
        let escapes = terminal && understands_escapes();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let colours = match global.color {
            When::Always => true,
            When::Never => false,
            When::Auto => escapes && !set("NO_COLOR"),
        };
        let scaled = match (global.human, global.raw) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let format = global.format;
        let palette = Palette(colours);
        let localised = global.language.is_some();
        Self { format, palette, terminal, escapes, file: None, scaled, localised }
    }

    /// The layout of a table on standard error, for a command that leaves standard output to another program. The
    /// table is not cut off.
    #[cfg(target_os = "linux")]
    pub(crate) fn layout_of_error(global: &Global) -> Layout {
        let terminal = io::stderr().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let auto = terminal && understands_escapes() && !no_color;
        let colours = global.color == When::Always || global.color == When::Auto && auto;
        Layout { palette: Palette(colours), titles: true, indent: 0, width: UNLIMITED }
    }

    /// The output to the given file, or to standard output for `None` and `-`. Where the command line names no
    /// format, a file name that ends in `.csv`, `.tsv`, `.json` or `.jsonl` chooses the format. Fails if the file is what is read.
    pub(crate) fn to(global: &Global, file: Option<&Path>) -> Result<Self, Failure> {
        let output = Self::new(global);
        let Some(path) = file.filter(|path| *path != Path::new("-")) else { return Ok(output) };
        let read = global.source.parse().map(|at: SourceAddress| at.files()).unwrap_or_default();
        refuse_input(&read, path)?;
        let palette = Palette(global.color == When::Always);
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        let format = match ending.to_str().filter(|_| !global.has_format) {
            Some("csv") => Format::Csv,
            Some("tsv") => Format::Tsv,
            Some("json" | "jsonl") => Format::Json,
            _ => output.format,
        };
        let file = Some((OnceCell::new(), path.to_path_buf()));
        Ok(Self { format, palette, terminal: false, escapes: false, file, ..output })
    }

    /// The precision with which a table shows numbers: `usual`, unless the command line asks for
    /// raw values.
    pub(crate) fn detail(&self, usual: Detail) -> Detail {
        if self.scaled == Some(false) { Detail::Raw } else { usual }
    }

    /// Whether rows for programs are scaled (KiB, MiB and so on).
    pub(crate) fn scales(&self) -> bool {
        self.scaled == Some(true)
    }

    /// Whether the result is a table for people.
    pub(crate) fn is_table(&self) -> bool {
        self.format == Format::Table
    }

    /// Whether the result is a table on a terminal.
    pub(crate) fn is_terminal_table(&self) -> bool {
        self.is_table() && self.terminal
    }

    /// The columns and lines of the terminal; `None` if the result goes to no terminal, or if its size is unknown.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        let (terminal_size::Width(columns), terminal_size::Height(lines)) =
            terminal_size::terminal_size_of(io::stdout()).filter(|_| self.terminal)?;
        (columns > 0 && lines > 0).then_some((columns.into(), lines.into()))
    }

    /// The width of the terminal in columns; without one, what COLUMNS says, unless the result goes
    /// to a file. `None` if neither tells.
    fn columns(&self) -> Option<usize> {
        self.size().map(|(columns, _)| columns).or_else(|| {
            if self.file.is_some() {
                return None;
            }
            let columns = std::env::var("COLUMNS").ok()?.parse().ok()?;
            (columns > 0).then_some(columns)
        })
    }

    /// The width at which running text is broken: that of the terminal or what COLUMNS says, 80 columns if neither
    /// tells, and at most [`READABLE`].
    pub(crate) fn reading_width(&self) -> usize {
        self.columns().map_or(80, |columns| columns.min(READABLE))
    }

    /// The width at which a table that is redrawn in place is cut off: that of the terminal or what COLUMNS says, or
    /// [`UNLIMITED`] if neither tells.
    pub(crate) fn screen_width(&self) -> usize {
        self.columns().unwrap_or(UNLIMITED)
    }

    /// The layout of a table that is not cut off: the terminal wraps long lines. Its titles are printed if `titles`
    /// is true.
    pub(crate) fn layout(&self, titles: bool) -> Layout {
        Layout { palette: self.palette, titles, indent: 0, width: UNLIMITED }
    }

    /// The layout of a table with labels that are shortened so that the lines fit the window;
    /// values are not shortened.
    pub(crate) fn layout_of_labels(&self) -> Layout {
        let width = self.size().map_or(UNLIMITED, |(columns, _)| columns);
        Layout { width, ..self.layout(false) }
    }

    /// Adds a heading with the time of the samples, and with the options that choose another time, to a table of
    /// one moment in a recording. Adds nothing for a live source, since its samples are of now, and nothing to rows
    /// for programs, which have the time as a field.
    pub(crate) fn push_moment(&self, out: &mut String, live: bool, time: Option<CalendarTime>) {
        let Some(time) = time.and_then(|time| local(time, None)) else { return };
        if live || !self.is_table() {
            return;
        }
        self.palette.push(out, Style::Heading, &time);
        self.palette.push(out, Style::Faint, "  --begin and --end choose another time");
        out.push_str("\n\n");
    }

    /// The keys of rows of readings: English names, indexes and so on, and the names in the chosen language.
    pub(crate) fn row_keys(&self) -> impl Iterator<Item = &'static str> {
        KEYS.into_iter().chain(self.local(LOCAL_KEYS))
    }

    /// The given keys or fields if the command line chooses a language; otherwise none of
    /// them.
    pub(crate) fn local<T, const N: usize>(
        &self,
        names: [T; N],
    ) -> impl Iterator<Item = T> + use<T, N> {
        names.into_iter().filter({
            let localised = self.localised;
            move |_| localised
        })
    }

    /// Adds rows of readings to records that have the keys of [`row_keys`](Self::row_keys).
    pub(crate) fn readings(&self, records: &mut Records, out: &mut String, rows: &mut [Row]) {
        for row in rows {
            if self.scales() {
                row.scale();
            }
            let type_name = row.type_name();
            let local = self.local(row.local_fields());
            records.row(out, row.fields(type_name.as_deref()).into_iter().chain(local));
        }
    }

    /// Begins rows for programs that form one result; in JSON, an array.
    pub(crate) fn records<K: AsRef<str>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        out: &mut String,
    ) -> Records {
        Records::begin(self.shape(Shape::JsonArray), self.terminal, keys, out)
    }

    /// Begins rows for programs that come one after another, as in `watch`; in JSON, an object a line.
    pub(crate) fn stream<K: AsRef<str>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        out: &mut String,
    ) -> Records {
        Records::begin(self.shape(Shape::JsonLines), self.terminal, keys, out)
    }

    /// The format of rows for programs: `json` for JSON and for tables.
    fn shape(&self, json: Shape) -> Shape {
        match self.format {
            Format::Table | Format::Json => json,
            Format::Csv => Shape::Csv,
            Format::Tsv => Shape::Tsv,
        }
    }

    /// Writes the text as all that the output gets. If writing to a file fails, a file that exists
    /// stays as it is.
    pub(crate) fn write_whole(&self, text: &str) -> Result<(), Failure> {
        match &self.file {
            Some((_, path)) if !text.is_empty() => {
                refuse_for_text(path)?;
                write_whole(path, text)
            }
            _ => self.write(text),
        }
    }

    /// Writes a text to the output, and leaves nothing in a buffer. The first text replaces a file that exists,
    /// except a recording, which is an error.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some((file, path)) = &self.file {
            let mut file = match file.get() {
                Some(file) => file,
                None => {
                    refuse_for_text(path)?;
                    let created = created(path)?;
                    file.get_or_init(|| created)
                }
            };
            let written = file.write_all(text.as_bytes());
            return written
                .map_err(|error| Failure::Source(format!("{}: {error}", path.display())));
        }
        let mut out = io::stdout().lock();
        out.write_all(&self.encoded(text))?;
        out.flush()?;
        Ok(())
    }

    /// The bytes for standard output: UTF-8, except for a pipe on Windows to a reader that expects another code
    /// page. Such a reader gets JSON in ASCII, with escapes, and any other format in its code page.
    #[cfg(windows)]
    fn encoded<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        use perfhive::windows::{TextStream, code_page_of_pipe, encoded};
        let page =
            code_page_of_pipe(TextStream::Output).filter(|_| !self.terminal && !text.is_ascii());
        let bytes = page.and_then(|page| match self.format {
            Format::Json => Some(ascii_json(text).into_bytes()),
            Format::Table | Format::Csv | Format::Tsv => encoded(text, page),
        });
        bytes.map_or(Cow::Borrowed(text.as_bytes()), Cow::Owned)
    }

    #[cfg(not(windows))]
    fn encoded<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        Cow::Borrowed(text.as_bytes())
    }
}

/// The JSON text with escapes for all characters beyond ASCII, which occur in strings only.
#[cfg(any(windows, test))]
fn ascii_json(text: &str) -> String {
    use std::fmt::Write as _;
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            ascii.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(ascii, "\\u{unit:04x}");
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_ascii_has_the_same_value() {
        let text = r#"{"Prozessorzeit für \"ü\"": "𝄞 100 %"}"#;
        let ascii = ascii_json(text);
        assert!(ascii.is_ascii(), "{ascii}");
        let values =
            [text, &ascii].map(|json| serde_json::from_str::<serde_json::Value>(json).ok());
        assert_eq!(values[0], values[1]);
        assert!(values[0].is_some());
    }
}
