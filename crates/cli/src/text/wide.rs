//! The output of `--wide`: a line for each sample, with a column for each counter.

use super::escape::{clip, width};
use super::records::Records;
use super::style::Style;
use super::table::{Align, Layout, Table, shortened};
use super::time::local_clock;
use crate::failure::warn;
use crate::output::Output;
use perfhive::{CalendarTime, CookedValue, CounterPath, Identity, PathId, Query, Reading};
use perfhive_view::time::rfc3339;
use perfhive_view::{Detail, Field, Row, RowValue};
use std::collections::HashMap;
use std::time::Duration;

/// A writer of a line for each sample. The columns are those of the first sample that has any: its
/// counters, or those of them that the options choose, and the paths that cannot be read yet.
pub(crate) struct Wide {
    columns: Vec<Column>,
    places: HashMap<Key, usize>,
    records: Option<Records>,
    /// The number of counters without a column, because they appeared after the first sample.
    late: usize,
    /// The number of the next line. It is set back to 0 where the titles are needed again; they stand above line 0
    /// and above the first line of each further page.
    lines: usize,
    /// The number of columns for which titles were printed.
    shown: usize,
    interval: Option<Duration>,
    /// Whether there is one sample alone, so that its row is a whole result: in JSON an array.
    is_single: bool,
}

/// The content of a column. For a path with a wildcard it is the counter of one instance, so that no column has the
/// values of two processes. Otherwise it is the path; its instance may end and come back.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Instance(PathId, u32, u32, Option<Identity>),
    Path(PathId),
    Absent(String),
}

impl Key {
    fn of(query: &Query, reading: &Reading) -> Self {
        if query.path(reading.path).is_some_and(CounterPath::is_wild) {
            let (object, counter) = (reading.object.0, reading.counter.0);
            return Self::Instance(reading.path, object, counter, reading.identity.clone());
        }
        Self::Path(reading.path)
    }
}

/// A column: its path, and for people the two lines of its title and the width of its widest value.
struct Column {
    path: String,
    of: String,
    counter: String,
    width: usize,
}

/// Whether the readings of a query are of more than one machine.
pub(crate) fn has_several_machines(query: &Query) -> bool {
    let readings = query.readings();
    readings.first().is_some_and(|first| readings.iter().any(|one| one.machine != first.machine))
}

/// The least width to which titles are cut, and the least width of a column of values that are not in bytes.
const NARROWEST: usize = 6;
/// The number of blanks before a column.
const GAP: usize = 2;

impl Wide {
    /// A writer without columns yet. `interval` is the time between samples; `None` if it is not known.
    pub(crate) fn new(interval: Option<Duration>) -> Self {
        let (columns, places) = (Vec::new(), HashMap::new());
        let is_single = false;
        Self { columns, places, records: None, late: 0, lines: 0, shown: 0, interval, is_single }
    }

    /// A writer for a single sample.
    pub(crate) fn single() -> Self {
        Self { is_single: true, ..Self::new(None) }
    }

    /// Ends the lines: closes the array if they are a single result in JSON, otherwise adds nothing.
    pub(crate) fn end(self, out: &mut String) {
        if let Some(records) = self.records {
            records.end(out);
        }
    }

    /// Whether the columns have been chosen.
    pub(crate) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Appends the line of a sample. For the first sample, `chosen` and the paths that cannot be read yet
    /// become the columns.
    pub(crate) fn push(
        &mut self,
        out: &mut String,
        output: &Output,
        query: &Query,
        (chosen, absent): (&[&Reading], Vec<Row>),
        time: Option<CalendarTime>,
    ) {
        let is_first = !self.has_columns();
        if is_first {
            let keyed = chosen.iter().map(|one| (Key::of(query, one), Row::new(query, one)));
            let absent = absent.into_iter().map(|row| (Key::Absent(row.path.clone()), row));
            let names_machines = has_several_machines(query);
            for (key, row) in keyed.chain(absent) {
                let next = self.columns.len();
                self.places.entry(key).or_insert_with(|| {
                    self.columns.push(Column::of(&row, names_machines));
                    next
                });
            }
        }
        let mut cells: Vec<Option<Row>> = self.columns.iter().map(|_| None).collect();
        for reading in query.readings() {
            let place = self.places.get(&Key::of(query, reading));
            if let Some(cell) = place.and_then(|place| cells.get_mut(*place)) {
                *cell = Some(Row::new(query, reading));
            }
        }
        let has_none = |one: &&&Reading| !self.places.contains_key(&Key::of(query, one));
        let more = chosen.iter().filter(has_none).count();
        if more > 0 && std::mem::replace(&mut self.late, more) == 0 {
            if output.is_terminal_table() {
                // The warning stands above the titles, which are printed again.
                self.lines = 0;
            } else {
                warn(
                    "counters that came later have no column: the columns are those of the first sample; \
                     a log that `perfhive convert` writes of a recording has them all",
                );
            }
        }
        if output.is_table() {
            self.line_for_people(out, output, &cells, time);
            return;
        }
        let records = self.records.get_or_insert_with(|| {
            let paths = self.columns.iter().map(|column| column.path.as_str());
            let keys = std::iter::once("time").chain(paths);
            if self.is_single { output.records(keys, out) } else { output.stream(keys, out) }
        });
        let time = time.and_then(rfc3339);
        let values = cells.iter().map(|cell| match cell.as_ref().map(|row| &row.value) {
            Some(RowValue::Number(CookedValue::Integer(value))) => Field::Unsigned(*value),
            Some(RowValue::Number(CookedValue::Float(value))) => Field::Float(*value),
            Some(RowValue::Text(text)) => Field::Text(text),
            Some(RowValue::None(_)) | None => Field::None,
        });
        records.row(out, std::iter::once(Field::text(time.as_deref())).chain(values));
    }

    /// Appends the line of a sample in the style of vmstat, with the titles again for each page.
    fn line_for_people(
        &mut self,
        out: &mut String,
        output: &Output,
        cells: &[Option<Row>],
        time: Option<CalendarTime>,
    ) {
        let detail = output.detail(Detail::Brief);
        let shown = |cell: &Option<Row>| match cell {
            Some(row) => match (row.shown(detail), &row.value) {
                (Some(shown), _) if shown.unit.is_empty() => shown.number,
                // The rest of the unit is in the title.
                (Some(shown), _) if matches!(shown.unit.as_str(), "%" | "/s" | "s") => shown.number,
                (Some(shown), _) => format!("{} {}", shown.number, shown.unit),
                (None, RowValue::Text(text)) => text.clone(),
                (None, _) => "-".to_string(),
            },
            None => "-".to_string(),
        };
        let values: Vec<String> = cells.iter().map(shown).collect();
        for (column, value) in self.columns.iter_mut().zip(&values) {
            column.width = column.width.max(width(value));
        }
        let clock = time.and_then(|time| local_clock(time, self.interval)).unwrap_or_default();
        let title = self.title_width(output.screen_width().saturating_sub(width(&clock)));
        let page = output.size().map_or(usize::MAX, |(_, lines)| lines.saturating_sub(3).max(1));
        // Columns that do not fit into the window are left out as a whole, and counted.
        let mut left = output.screen_width().saturating_sub(width(&clock));
        let fits = |column: &&Column| {
            let needed = column.needed(title);
            let fits = needed <= left;
            left = if fits { left - needed } else { 0 };
            fits
        };
        let shown = self.columns.iter().take_while(fits).count().max(1);
        let left_out = self.columns.len().saturating_sub(shown);
        // The titles are printed again: a wide value took a column away, or a wider window added one.
        if std::mem::replace(&mut self.shown, shown) != shown {
            self.lines = 0;
        }
        let columns = self.columns.get(..shown).unwrap_or_default();
        let mut table = Table::new(&[("", Align::Left)]);
        for _ in columns {
            table.column("", Align::Right);
        }
        let notes = [
            (left_out, "more columns"),
            (if output.terminal { self.late } else { 0 }, "counters came later and have no column"),
        ];
        for (count, what) in notes.into_iter().filter(|(count, _)| *count > 0) {
            if self.lines.is_multiple_of(page) {
                let line = format!("… {count} {what}");
                output.palette.push(out, Style::Faint, clip(&line, output.screen_width()).0);
                out.push('\n');
            }
        }
        if self.lines.is_multiple_of(page) {
            for (style, text) in [
                (Style::Faint, Column::of_what as fn(&Column) -> &str),
                (Style::Heading, Column::counter),
            ] {
                table.text(style, "");
                for column in columns {
                    table.text(style, &shortened(text(column), title.max(column.width)));
                }
            }
        }
        self.lines += 1;
        table.text(Style::Faint, &clock);
        values.iter().take(shown).for_each(|value| table.text(Style::Plain, value));
        let mut floors: Vec<(usize, usize)> = vec![(width(&clock), 0)];
        floors.extend(columns.iter().map(|column| (column.needed(title) - GAP, 0)));
        table.keep_widths(&mut floors);
        let layout = Layout { width: output.screen_width(), ..output.layout(false) };
        table.render(out, layout);
    }

    /// The width to which titles are cut: the largest at which as many columns fit into `room` as with titles of the
    /// least width.
    fn title_width(&self, room: usize) -> usize {
        let widest = self.columns.iter().map(Column::title_width).max().unwrap_or(0);
        let fitting = |cut: usize| {
            let ends = self.columns.iter().scan(0, |end, column| {
                *end += column.needed(cut);
                Some(*end)
            });
            ends.take_while(|end| *end <= room).count()
        };
        let most = fitting(NARROWEST);
        (NARROWEST..=widest).rev().find(|cut| fitting(*cut) == most).unwrap_or(NARROWEST)
    }
}

impl Column {
    fn of(row: &Row, names_machine: bool) -> Self {
        let (mut object, counter) = row.local_names.clone();
        if names_machine && !row.machine.is_empty() {
            object = format!(r"\\{}\{object}", row.machine);
        }
        // If the instance does not exist, only the path has its name.
        let typed = || row.path.parse::<CounterPath>().ok()?.instance.map(|one| one.to_string());
        let of = match row.instance.clone().or_else(typed) {
            Some(instance) => format!("{object}({instance})"),
            None => object,
        };
        // The widest scaled amounts are such as `438.5 KiB/s` and `107.8 MiB`.
        let width = match row.quantity.unit {
            unit if unit.ends_with("B/s") => 11,
            unit if unit.ends_with('B') => 9,
            _ => NARROWEST,
        };
        Self { path: row.path.clone(), of, counter, width }
    }

    /// The width of the wider of the title's two lines.
    fn title_width(&self) -> usize {
        width(&self.of).max(width(&self.counter))
    }

    /// The width that the column needs if titles are cut to `cut`.
    fn needed(&self, cut: usize) -> usize {
        GAP + self.width.max(self.title_width().min(cut))
    }

    fn of_what(&self) -> &str {
        &self.of
    }

    fn counter(&self) -> &str {
        &self.counter
    }
}
